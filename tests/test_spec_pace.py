"""How fast a target runs whatever is accepted, what decides how long a draft is, and what a collapse costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asking_loads import asked, case_text
from test_spec import accepted, engine, server, timed

from forensics.answer import Answer
from forensics.ask_spec import spec


def spoken(folder: Path, log: str) -> tuple[Answer, dict[str, Any]]:
    answer, loads = asked(case_text(folder, log), spec)
    return answer, loads["1"]


# -- passes a second (SP-6, X-8) --------------------------------------------------------------------------------------

# Published rates at depth 6: 89.8 tok/s at 2.76 tokens a draft (46 %), 129.7 at 61.4 % after 80K tokens, and 166 at
# 5.77 of 6 on a repeated sentence; the token that a pass gives of its own comes on top.
SHORT = (89.8, 1380, 500)
LONG = (129.7, 1842, 500)
REPEATED = (166.0, 2885, 500)


def run(task: int, told: tuple[float, int, int], prompt: int) -> list[str]:
    """A request at depth 6: tokens a second, accepted tokens, drafts."""
    rate, taken, drafts = told
    length = f", mean len = {1 + taken / drafts:5.2f}"
    return [*timed(task, rate, tokens=taken + drafts, prompt=prompt), accepted(task, taken, 6 * drafts, length)]


def test_a_rate_is_told_as_passes_a_second_too(tmp_path: Path) -> None:
    log = server(*run(1, SHORT, 30), *run(2, LONG, 80000), *run(3, REPEATED, 30), depth=6)
    _, told = spoken(tmp_path, log)
    assert [(round(one["tokens_per_pass"], 2), round(one["passes_per_s"], 1)) for one in told["passes"]] == [
        (3.76, 23.9),
        (4.68, 27.7),
        (6.77, 24.5),
    ]


def test_more_passes_a_second_on_the_longer_prompt_are_left_unexplained(tmp_path: Path) -> None:
    answer, told = spoken(tmp_path, server(*run(1, SHORT, 30), *run(2, LONG, 80000), depth=6))
    (found,) = [one for one in told["findings"] if one["claim"].startswith("passes")]
    assert (found["state"], len(found["against"])) == ("contradicted", 6)
    assert found["because"] == (
        "27.7 passes a second on a prompt of 80,000 tokens, 23.9 on one of 30: unexplained by these lines"
    )
    assert f"contradicted: passes are no faster on longer prompts; {found['because']}." in answer.about


def test_fewer_passes_a_second_on_the_longer_prompt_are_as_it_should_be(tmp_path: Path) -> None:
    answer, told = spoken(tmp_path, server(*run(1, LONG, 30), *run(2, SHORT, 80000), depth=6))
    assert [one["state"] for one in told["findings"] if one["claim"].startswith("passes")] == ["supported"]
    assert not any("passes" in one for one in answer.about)


# -- what decides how long a draft is (SP-4) --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p_min", "taken", "drafted", "drafts", "rule", "state"),
    [
        pytest.param("0.00", 958, 1460, 292, "fixed", "supported", id="all drafts full"),
        pytest.param("0.00", 958, 1457, 292, "fixed", "supported", id="the last cut by the end of the request"),
        pytest.param("0.75", 700, 1000, 292, "p_min", "supported", id="cut where the probability is low"),
        pytest.param("0.00", 700, 1000, 292, "adaptive", "not established", id="shorter, and no bound is set"),
    ],
)
def test_fixed_bounded_and_adaptive_depths_are_told_apart(
    tmp_path: Path, p_min: str, taken: int, drafted: int, drafts: int, rule: str, state: str
) -> None:
    log = server(accepted(0, taken, drafted, f", mean len = {1 + taken / drafts:5.2f}"), depth=5)
    _, told = spoken(tmp_path, log.replace("p_min=0.00", f"p_min={p_min}"))
    assert (told["depth_rule"]["rule"], told["depth_rule"]["state"]) == (rule, state)
    assert told["depth_rule"]["p_min"] == float(p_min)


def test_a_depth_is_not_told_where_drafts_are_not_known(tmp_path: Path) -> None:
    _, told = spoken(tmp_path, server(accepted(0, 700, 1000)))
    assert (told["depth_rule"]["rule"], told["depth_rule"]["state"]) == (None, "not measured")


# -- a collapse and its rates (SP-11) ---------------------------------------------------------------------------------


def test_a_collapse_is_told_with_the_rates_before_and_after(tmp_path: Path) -> None:
    lines = [line for task in range(4) for line in (*timed(task, 85.0), accepted(task, 140, 200))]
    lines += [line for task in range(4, 8) for line in (*timed(task, 24.0), accepted(task, 20, 200))]
    _, told = spoken(tmp_path, server(*lines) + "/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error\n")
    assert [one["note"] for one in told["doubts"]] == [
        (
            "70.0 % accepted before, 10.0 % from here on; decoding at 85.0 tok/s before, 24.0 after; "
            "the load then ended: crashed"
        )
    ]


def test_a_collapse_of_an_engine_is_told_with_its_windows(tmp_path: Path) -> None:
    metrics = "Mean acceptance length: {}, Accepted: {} tokens, Drafted: 300 tokens, Avg Draft acceptance rate: {}%"
    stats = (
        "(APIServer pid=1139) INFO 11-30 11:5{}:{:02} [loggers.py:273] Engine 000: Avg prompt throughput: 0.0 "
        "tokens/s, Avg generation throughput: {} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, "
        "Prefix cache hit rate: 0.0%\n"
    )
    head, *rest = engine(
        *(metrics.format("3.10", 210, "70.0") for _ in range(3)),
        *(metrics.format("1.30", 30, "10.0") for _ in range(3)),
        depth=3,
    ).partition("(APIServer pid=1139) INFO 11-30 11:55:00")
    body = "".join(rest).splitlines(keepends=True)
    log = head.replace("31.4", "82.0") + "".join(
        stats.format(5, 10 * place, 82.0 if place < 3 else 24.0) + line for place, line in enumerate(body)
    )
    _, told = spoken(tmp_path, log)
    (note,) = [one["note"] for one in told["doubts"] if one["doubt"] == "collapse"]
    assert note.startswith("70.0 % accepted before, 10.0 % from here on; windows of ")
    assert note.endswith(" tok/s before, 24.0 after")


# -- a draft model that is not there (SP-9) ---------------------------------------------------------------------------

ENGINE = """
(APIServer pid=1139) INFO 11-30 11:52:17 [api_utils.py:273] non-default args: {{'model': '/m/q', 'speculative_config': \
{{'method': '{method}',{model} 'num_speculative_tokens': 5}}}}
(APIServer pid=1139) INFO:     Application startup complete.
"""
SLOW = (
    "(APIServer pid=1139) INFO 11-30 11:54:{:02} [loggers.py:273] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg "
    "generation throughput: 25.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache "
    "hit rate: 0.0%\n"
)


@pytest.mark.parametrize(
    ("method", "model", "told"),
    [("dflash", " 'model': '/m/drafter',", True), ("mtp", "", False)],
    ids=["a draft model", "the model's own layers"],
)
def test_a_draft_model_that_may_be_missing_is_named_as_what_does_that(
    tmp_path: Path, method: str, model: str, told: bool
) -> None:
    # a missing drafter is silent: about 25 tokens a second where 125 were expected
    log = ENGINE.format(method=method, model=model) + "".join(SLOW.format(10 * place) for place in range(4))
    answer, load = spoken(tmp_path, log)
    assert (load["active"], [one["doubt"] for one in load["doubts"]]) == (False, ["inert"])
    words = "; a draft model that is missing does that without a line of its own"
    assert load["because"].endswith(words) is told
    assert answer.next.endswith("that the draft model was found.")
