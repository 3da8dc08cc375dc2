"""Rows of published benchmarks: which gates can fire, which baseline is the row's own, and what a statistic is of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from asking_loads import case_text
from test_validity import configured, routed, router
from timed import PLAIN, beginning, journal, judged, request

from forensics.answer import Ask
from forensics.ask_validity import validity

# -- the pattern of a health check (BV-1) ------------------------------------------------------------------------------

HEALTH = re.compile(r"eval time =[^,]*\(.*tokens per second\)")
"""club-3090's health.sh, for a decode rate."""


def test_the_pattern_of_a_health_check_takes_the_prompt_for_the_decode_rate(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 109.8, 38.8, prompt=1000))
    taken = [re.findall(r"([\d.]+) tokens per second", found[0]) for found in HEALTH.finditer(log)]
    assert taken == [["38.80"], ["109.80"]]  # both lines: the first is the prompt's
    _, loads = judged(tmp_path, log)
    assert [(row["decode_per_s"], row["prompt_per_s"]) for row in loads["1"]["rows"]] == [(109.8, 38.8)]


# -- gates (BV-3) ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone_at", "fires"), [(50.0, True), (None, False)], ids=["gone before the request", "still there"]
)
def test_an_embedding_model_that_was_not_loaded_then_fires_its_gate(
    tmp_path: Path, gone_at: float | None, fires: bool
) -> None:
    lines = router(40000, "embedder", 1, 2, "--embedding")
    if gone_at is not None:
        lines.append((gone_at, "srv        unload: unloading model instance name=embedder", None))
        lines.append((gone_at + 1, "srv           run: instance name=embedder exited with status 0", None))
    lines += router(41001, "m", 100.0, 137.7)
    lines += [(seconds, line, 41001) for seconds, line in request(1, 300.0, 44.4)]
    answer, loads = judged(tmp_path, routed(lines))
    assert ("embedding model" in [one["gate"] for one in answer.document["gates"] if one["fired"]]) is fires
    why = ["embedding model gate: the embedding model was not loaded"] if fires else []
    assert loads["m"]["rows"][0]["decode_why"] == why


def test_another_loads_request_for_most_of_the_time_fires_the_gate_of_foreign_load(tmp_path: Path) -> None:
    log = journal(*beginning("a", *PLAIN), *request(1, 20, 100.0), pid=100, unit="a.service") + journal(
        *beginning("b", *PLAIN), *request(1, 21, 50.0, tokens=2000), pid=200, unit="b.service"
    )
    answer, loads = judged(tmp_path, log)
    assert "foreign load" in [one["gate"] for one in answer.document["gates"] if one["fired"]]
    # a gauge: it fires, and the row stays a measurement
    assert [row["decode_is_measurement"] for row in loads["a.service"]["rows"]] == [True]


def test_the_first_request_of_a_load_that_its_supervisor_began_fires_the_gate_of_load_time(tmp_path: Path) -> None:
    lines = router(41001, "m", 100.0, 137.7)
    lines += [(seconds, line, 41001) for seconds, line in request(1, 137.8, 44.4)]
    lines += [(seconds, line, 41001) for seconds, line in request(2, 300.0, 44.4)]
    answer, _ = judged(tmp_path, routed(lines))
    (gate,) = [one for one in answer.document["gates"] if one["gate"] == "load time"]
    assert (gate["fired"], gate["not_fired"], gate["bound"]) == (1, 1, 1.0)


# -- what a statistic is of (BV-7) -------------------------------------------------------------------------------------


def test_the_median_of_five_and_the_mean_of_five_are_two_figures_with_their_variation(tmp_path: Path) -> None:
    rates = (100.0, 101.0, 102.0, 103.0, 109.0)
    log = journal(
        *beginning("plain", *PLAIN),
        *(line for task, rate in enumerate(rates) for line in request(task, 20 + 40 * task, rate)),
    )
    _, loads = judged(tmp_path, log)
    assert loads["1"]["decode"] == {
        "n": 5,
        "statistic": "median of 5",
        "median": 102.0,
        "mean": 103.0,
        "spread": 9.0,
        "cv": 0.034326,
    }


# -- controls (BV-11, TR-3) --------------------------------------------------------------------------------------------

THREE = ("192.0.2.14", "192.0.2.31", "192.0.2.77")


def test_rows_under_the_old_rule_of_three_addresses_are_marked_with_what_else_ran(tmp_path: Path) -> None:
    # two of nine ran while three addresses were blocked, at most a tenth of their time beside another's requests
    blocked = "".join(f"{address} 2026-09-18T07:00:00Z 2026-09-18T08:02:00Z\n" for address in THREE)
    (tmp_path / "blocked").write_text(blocked + "non-local 2026-09-18T08:02:00Z\n")
    (tmp_path / "case").mkdir()
    own = journal(
        *beginning("plain", *PLAIN),
        *(line for task in range(9) for line in request(task, 20 + 55 * task, 50.0)),  # 21 s each
        unit="plain.service",
    )
    # two seconds of each of the first two
    other = journal(
        *beginning("other", *PLAIN),
        *(line for task in range(2) for line in request(task, 30 + 55 * task, 50.0, 1000.0, prompt=500, tokens=75)),
        pid=200,
        unit="other.service",
    )
    answer = validity(Ask(case_text(tmp_path / "case", own + other), extra={"blocklist": tmp_path / "blocked"}))
    (load,) = [one for one in answer.document["loads"] if one["unit"] == "plain.service"]
    assert [row["rules"] for row in load["rows"]] == [list(THREE)] * 2 + [["non-local"]] * 7
    shares = [row["foreign_share"] for row in load["rows"]]
    assert [0 < share <= 0.10 for share in shares] == [True] * 2 + [False] * 7
    # four: the other unit's two as well
    assert answer.about[-1] == (
        "Measured under different rules of what is blocked: 4 under 192.0.2.14 and 192.0.2.31 and 192.0.2.77, 7 under "
        "non-local. Compare within one of them."
    )


# -- the row's own baseline (BV-12, BV-13) -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cited", "own", "rate", "published", "holds"),
    [
        pytest.param(78.2, 82.0, 78.5, 0.4, -4.3, id="narrative: −4.3 %, not +0.4"),
        pytest.param(127.0, 125.0, 122.7, -3.4, -1.8, id="code: −1.8 %, not −3.4"),
    ],
)
def test_each_column_of_a_row_is_held_against_its_own_configuration(
    tmp_path: Path, cited: float, own: float, rate: float, published: float, holds: float
) -> None:
    log = (
        configured(100, 0, 32768, "f16", cited)
        + configured(200, 1000, 262144, "q8_0", own)
        + configured(300, 2000, 262144, "q8_0", rate)
    )
    answer, _ = judged(tmp_path, log)
    one = answer.document["comparability"]["baselines"][1]
    assert (one["baseline_number"], round(100 * one["change"], 1), one["differs"]) == (2, holds, [])
    assert [round(100 * other["change"], 1) for other in one["not_baselines"]] == [published]


@pytest.mark.parametrize(
    ("matched", "rate", "mismatched_gain", "matched_gain"),
    [
        pytest.param(141.4, 157.0, 57.0, 11.0, id="+57 % is +11"),
        pytest.param(148.1, 160.0, 60.0, 8.0, id="+60 % is +8"),
    ],
)
def test_a_gain_shrinks_to_that_over_the_matching_configuration(
    tmp_path: Path, matched: float, rate: float, mismatched_gain: float, matched_gain: float
) -> None:
    log = (
        configured(100, 0, 32768, "f16", 100.0)
        + configured(200, 1000, 262144, "q8_0", matched)
        + configured(300, 2000, 131072, "q8_0", rate)
    )
    answer, _ = judged(tmp_path, log)
    one = answer.document["comparability"]["baselines"][1]
    assert (one["baseline_number"], round(100 * one["change"], 1), one["attributable"]) == (2, matched_gain, "context")
    assert [round(100 * other["change"], 1) for other in one["not_baselines"]] == [mismatched_gain]


def knobs(pid: int, at: float, build: str, context: int, cache: str, depth: int, cap: int, prompt: int) -> str:
    """A load with everything that a rate depends on, and one request."""
    half = "4352.00 MiB"
    shape = (
        f"llama_kv_cache: size = 8704.00 MiB (262144 cells,  16 layers,  1/1 seqs), K ({cache}): {half}, V ({cache})"
    )
    lines = beginning(
        "m",
        "llama_context: constructing llama_context",
        f"llama_context: n_ctx                 = {context}",
        f"{shape}: {half}",
        "spec common_specu: adding speculative implementation 'draft-mtp'",
        f"spec common_specu: - n_max={depth}, n_min=0, p_min=0.00, n_embd=5120, backend_sampling=1",
    )
    stop = f"limit, n_gen = {cap}, n_predict = {cap}"
    asked = request(1, 20, 80.0, tokens=cap, prompt=prompt, drafts=(600, 1000), stop=stop)
    return journal(
        *((at + seconds, line) for seconds, line in [(-0.1, f"build_info: {build}"), *lines, *asked]), pid=pid
    )


SAME = ("b11434-a17c3fd38", 262144, "q8_0", 4, 800, 1000)


@pytest.mark.parametrize(
    ("place", "value", "name"),
    [
        (0, "b11500-0c1d2e3f4", "version"),
        (1, 131072, "context"),
        (2, "f16", "kv_dtype"),
        (3, 2, "depth"),
        (4, 400, "cap"),
        (5, 4373, "prompts"),
    ],
    ids=["build", "context", "cache type", "k", "cap", "prompt set"],
)
def test_each_thing_that_a_rate_depends_on_is_named_where_it_differs(
    tmp_path: Path, place: int, value: object, name: str
) -> None:
    other = [*SAME[:place], value, *SAME[place + 1 :]]
    answer, _ = judged(tmp_path, knobs(100, 1, *SAME) + knobs(200, 1000, *other))  # type: ignore[arg-type]
    found = answer.document["comparability"]
    assert ([one["what"] for one in found["differences"]], found["one_knob"]) == ([name], True)
    assert [(one["differs"], one["attributable"]) for one in found["baselines"]] == [([name], name)]


def test_no_difference_is_ascribed_to_one_of_several_things(tmp_path: Path) -> None:
    other = ("b11500-0c1d2e3f4", 131072, "f16", 2, 400, 4373)
    answer, _ = judged(tmp_path, knobs(100, 1, *SAME) + knobs(200, 1000, *other))
    found = answer.document["comparability"]
    assert [one["what"] for one in found["differences"]] == [
        "version",
        "context",
        "kv_dtype",
        "depth",
        "cap",
        "prompts",
    ]
    assert found["one_knob"] is False
    assert [one["attributable"] for one in found["baselines"]] == [None]
