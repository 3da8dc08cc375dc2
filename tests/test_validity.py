"""Whether a throughput is a measurement: the trap of two eval times, gates that never fired, caches, company."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking_loads import FIXTURES, asked, case_of, case_text, screen
from timed import BEGIN, DRAFTING, PLAIN, beginning, clock, entry, journal, judged, request

from forensics.answer import Ask
from forensics.ask_validity import validity
from forensics.question import check_header, load_questions

# -- never without acceptance (SP-5) -----------------------------------------------------------------------------------


def test_a_decode_rate_without_acceptance_is_no_measurement(tmp_path: Path) -> None:
    log = journal(
        *beginning("prod", *DRAFTING),
        *request(1, 20, 129.7, drafts=(614, 1000)),
        *request(2, 40, 89.8),
        *request(3, 60, 166.0, drafts=(577, 600)),
    )
    connection = case_text(tmp_path, log)
    answer, loads = asked(connection, validity)
    rows = loads["1"]["rows"]
    assert [
        (row["decode_per_s"], row["acceptance"], row["decode_is_measurement"], row["decode_why"]) for row in rows
    ] == [
        (129.7, 0.614, True, []),
        (89.8, None, False, ["no acceptance rate"]),
        (166.0, 0.961667, False, ["96 % of drafts accepted: text that repeats"]),
    ]
    assert answer.verdict == "1 of 3 decode rates are measurements."
    assert re.search(
        r"1\s+2\s+89\.8\s+\?\s+1000\.0\s+not a measurement \(no acceptance rate\)", screen(connection, answer)
    )


def test_a_load_that_provably_does_not_speculate_needs_no_acceptance(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4))
    _, loads = judged(tmp_path, log)
    row = loads["1"]["rows"][0]
    assert (row["acceptance"], row["speculates"], row["decode_is_measurement"]) == (None, False, True)


# -- which line is which (BV-1, BV-2, BV-15) ---------------------------------------------------------------------------


def test_a_decode_rate_is_never_read_from_the_prompt_eval_time() -> None:
    text = (FIXTURES / "spec-refutation-router" / "router.log").read_text("utf-8")
    naive = re.search(r"eval time =[^,]*, +([\d.]+) tokens per second", text)
    assert naive is not None
    assert naive[1] == "38.80"  # what a pattern for `eval time` finds first
    _, loads = asked(case_of(FIXTURES / "spec-refutation-router"), validity)
    row = loads["prod"]["rows"][0]
    assert (row["decode_per_s"], row["prompt_per_s"]) == (109.8, 38.8)


def test_counters_of_answers_that_nobody_kept_are_said_to_be_missing() -> None:
    answer, _ = asked(case_of(FIXTURES / "spec-refutation-router"), validity)
    assert [one["what"] for one in answer.document["not_measured"]] == ["response counters", "treatment"]


def kept(seconds: float, tokens: int, decode: float, prefill: float = 1000.0, prompt: int = 1000, **more: Any) -> str:
    """An answer as a client kept it, with the server's own counters."""
    timings = {
        "prompt_n": prompt,
        "prompt_ms": 1000 * prompt / prefill,
        "prompt_per_second": prefill,
        "predicted_n": tokens,
        "predicted_ms": 1000 * tokens / decode,
        "predicted_per_second": decode,
    }
    at = int((BEGIN + timedelta(seconds=seconds)).timestamp() * 1_000_000)
    record = {"t": at, "resp": {"model": "plain.gguf", "timings": timings, "content": "text", **more.pop("resp", {})}}
    return json.dumps({**record, **more}) + "\n"


def with_answers(folder: Path, log: str, *answers: str) -> tuple[Any, dict[str, Any]]:
    (folder / "answers.jsonl").write_text("".join(answers))
    (folder / "server.log").write_text(log)
    return asked(case_of(folder), validity)


def test_the_counters_of_an_answer_outrank_the_log_and_both_are_shown(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4), *request(2, 60, 44.4, tokens=500))
    # the second answer's counters are of the same request by tokens, time and model, and say another rate
    answer, loads = with_answers(tmp_path, log, kept(44, 1000, 44.4), kept(72, 500, 40.0))
    rows = loads["1"]["rows"]
    assert [
        (row["counters"], row["decode_per_s"], row["log_decode_per_s"], round(row["divergence"], 3)) for row in rows
    ] == [("answer", 44.4, 44.4, 0.0), ("answer", 40.0, 44.4, 0.11)]
    told = answer.document["answers"]
    assert (told["count"], told["matched"], told["diverging"], told["without_request"]) == (2, 2, 1, [])
    assert answer.about[-1] == (
        "Two answers with the server's own counters, taken instead of the log's; the log differs by 11.0 % at most."
    )
    assert answer.document["not_measured"][0]["what"] == "treatment"


def test_an_answer_that_two_requests_could_have_given_is_nobodys(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4), *request(2, 60, 44.4))
    answer, loads = with_answers(tmp_path, log, kept(44, 1000, 44.4))
    assert [row["counters"] for row in loads["1"]["rows"]] == ["log", "log"]
    assert [one["decode_per_s"] for one in answer.document["answers"]["without_request"]] == [44.4]
    assert "One answer fits no logged request, or several: not used." in answer.about


def test_an_answer_of_another_model_is_not_joined_by_tokens_and_time(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4))
    _, loads = with_answers(tmp_path, log, kept(44, 1000, 40.0, resp={"model": "other.gguf"}))
    assert loads["1"]["rows"][0]["counters"] == "log"


def test_recorded_answers_are_those_of_the_requests_that_their_servers_logged(tmp_path: Path) -> None:
    # the first two answers of the recorded run, without their text
    answers = [
        {
            "t": 1796036897191499,
            "resp": {
                "model": "Qwen3-8B-Q4_0",
                "timings": {"prompt_n": 48, "prompt_ms": 29.218, "predicted_n": 24, "predicted_ms": 113.702},
            },
        },
        {
            "t": 1796036903135061,
            "resp": {
                "model": "Qwen3.6-27B-Q4_0",
                "timings": {"prompt_n": 48, "prompt_ms": 195.899, "predicted_n": 24, "predicted_ms": 273.304},
            },
        },
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in answers))
    connection = case_of(FIXTURES / "llama-router-ping-pong", path)
    found = connection.execute(
        "SELECT number, joined_by, answers.model = load.label FROM answers JOIN load USING (load_id) ORDER BY number"
    ).fetchall()
    assert found == [(1, "counts and times", True), (2, "counts and times", True)]


# -- treatment (BV-6) --------------------------------------------------------------------------------------------------


def test_reasoning_that_was_asked_for_and_did_not_come_is_no_treatment(tmp_path: Path) -> None:
    log = journal(*beginning("coder", *PLAIN), *(line for n in range(3) for line in request(n, 20 + 40 * n, 44.4 + n)))
    on: dict[str, Any] = {"request": {"chat_template_kwargs": {"enable_thinking": True}}}
    answer, loads = with_answers(tmp_path, log, *(kept(44 + 40 * n, 1000, 44.4 + n, **on) for n in range(3)))
    assert [row["reasoning"] for row in loads["1"]["rows"]] == ["not treated"] * 3
    assert (
        "Load 1: 3 of 3 requests with reasoning on got no character of it: not treated, and nothing about "
        "reasoning follows from them."
    ) in answer.about


@pytest.mark.parametrize(
    "resp",
    [
        {"reasoning_content": "why"},
        {"content": "<think>why</think>so"},
        {"choices": [{"message": {"reasoning": "why"}}]},
    ],
    ids=["beside", "inside", "in a choice"],
)
def test_reasoning_is_found_where_servers_put_it(tmp_path: Path, resp: dict[str, object]) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4))
    _, loads = with_answers(tmp_path, log, kept(44, 1000, 44.4, resp=resp, request={"think": True}))
    assert loads["1"]["rows"][0]["reasoning"] == "treated"


def test_a_decode_window_of_no_width_has_no_rate(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 0.0, tokens=1))
    _, loads = judged(tmp_path, log)
    row = loads["1"]["rows"][0]
    assert (row["decode_per_s"], row["decode_why"]) == (None, ["a window of no width has no rate"])


def test_an_answer_cut_below_a_quarter_of_the_tokens_asked_for_is_no_measurement(tmp_path: Path) -> None:
    log = journal(
        *beginning("plain", *PLAIN),
        *request(1, 20, 44.4, tokens=90, stop="EOS, n_gen = 90, n_predict = 400"),
        *request(2, 40, 44.4, tokens=400, stop="limit, n_gen = 400, n_predict = 400"),
    )
    _, loads = judged(tmp_path, log)
    assert [row["decode_why"] for row in loads["1"]["rows"]] == [["only 90 of 400 tokens"], []]


# -- gates (BV-3) ------------------------------------------------------------------------------------------------------


def router(port: int, alias: str, at: float, ready: float, *more: str) -> list[tuple[float, str, int | None]]:
    """A router begins a child: what the router says of it, and what the child says."""
    return [
        (at, f"srv          load: spawning server instance with name={alias} on port {port}", None),
        (at, "srv          load: spawning server instance with args:", None),
        *(
            (at, f"srv          load:   {word}", None)
            for word in ("/usr/local/bin/llama-server", "--port", str(port), *more)
        ),
        (at + 0.1, f"srv    load_model: loading model '/srv/models/{alias}.gguf'", port),
        (at + 0.2, "load_tensors: offloaded 66/66 layers to GPU", port),
        (at + 0.3, "spec common_specu: no implementations specified for speculative decoding", port),
        (ready, "srv  llama_server: model loaded", port),
    ]


def routed(lines: list[tuple[float, str, int | None]]) -> str:
    """The journal of a router: each line of a child behind its port."""
    begun = [(0.0, "srv  llama_server: initializing ...", None)]
    return "".join(
        entry(seconds, f"{'' if port is None else f'[{port}] '}{clock(seconds)} I {line}", 4700, "router.service")
        + "\n"
        for seconds, line, port in sorted(begun + lines, key=lambda one: one[0])
    )


def test_54_cells_lose_three_to_the_load_gate_and_three_to_exceptions(tmp_path: Path) -> None:
    lines = router(40000, "embedder", 1, 2, "--embedding")
    for model in range(9):
        port, at = 41001 + model, 100.0 + 1000 * model
        # three of the nine are loaded by the request that is measured first
        lines += router(port, f"model-{model}", at, at + 37.7)
        first = at + 37.8 if model < 3 else at + 60
        for run in range(6):
            begun = first + 60 * run
            measured = request(run, begun, 44.4, stop="EOS")
            if model in {3, 4, 5} and run == 5:
                cancelled = f"srv          stop: cancel task, id_task = {run}"
                measured = [measured[0], (begun + 1, cancelled), (begun + 1, measured[-1][1])]
            lines += [(seconds, line, port) for seconds, line in measured]
        lines.append((at + 900, f"srv        unload: unloading model instance name=model-{model}", None))
        lines.append((at + 901, f"srv           run: instance name=model-{model} exited with status 0", None))
    answer, loads = judged(tmp_path, routed(lines))
    rows = [row for load in answer.document["loads"] for row in load["rows"]]
    exceptions = [one for load in answer.document["loads"] for one in load["exceptions"]]
    assert (len(rows) + len(exceptions), sum(row["decode_is_measurement"] for row in rows)) == (54, 48)
    assert [(one["gate"], one["fired"], one["state"]) for one in answer.document["gates"]] == [
        ("load time", 3, "fired"),
        ("length limit", 0, "never fired in this data set: unproven"),
        ("empty answer", 0, "never fired in this data set: unproven"),
        ("not on the card", 0, "never fired in this data set: unproven"),
        ("embedding model", 0, "never fired in this data set: unproven"),
        ("foreign load", 0, "never fired in this data set: unproven"),
    ]
    assert [(one["what"], one["why"]) for one in exceptions] == [
        ("cancelled", "the client went away, or stopped it")
    ] * 3
    assert loads["model-0"]["rows"][0]["decode_why"] == ["load time gate: it waited for its model to load, 37.7 s"]
    assert answer.verdict == "48 of 51 decode rates are measurements; three requests ended without one."


def test_three_crashes_cost_six_cells_since_the_next_request_pays_for_the_load(tmp_path: Path) -> None:
    lines: list[tuple[float, str, int | None]] = []
    for model in range(3):
        port, at, name = 41001 + 10 * model, 100.0 + 1000 * model, f"model-{model}"
        lines += router(port, name, at, at + 37.7)
        lines += [(seconds, line, port) for seconds, line in request(1, at + 60, 44.4)]
        lines.append((at + 120, request(2, at + 120, 44.4)[0][1], port))  # launched, and never timed
        lines.append((at + 125, "/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error", port))
        lines.append((at + 126, f"srv           run: instance name={name} exited with status 134", None))
        lines += router(port + 1, name, at + 130, at + 167.7)
        lines += [(seconds, line, port + 1) for seconds, line in request(3, at + 167.8, 44.4)]
        lines += [(seconds, line, port + 1) for seconds, line in request(4, at + 300, 44.4)]
        lines.append((at + 400, f"srv        unload: unloading model instance name={name}", None))
        lines.append((at + 401, f"srv           run: instance name={name} exited with status 0", None))
    answer, _ = judged(tmp_path, routed(lines))
    rows = [row for load in answer.document["loads"] for row in load["rows"]]
    gated = [row for row in rows if row["decode_why"] == ["load time gate: it waited for its model to load, 37.7 s"]]
    crashed = [one for load in answer.document["loads"] for one in load["exceptions"]]
    assert (len(gated), len(crashed), sum(row["decode_is_measurement"] for row in rows)) == (3, 3, 6)


def test_a_gate_that_could_not_fire_is_not_one_that_did_not(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4))
    answer, _ = judged(tmp_path, log)
    told = {one["gate"]: (one["state"], one["because"]) for one in answer.document["gates"]}
    assert told["embedding model"] == ("could not fire", "no embedding model in this evidence")
    assert told["length limit"] == ("could not fire", "no line says why it stopped")
    assert told["not on the card"] == ("never fired in this data set: unproven", None)


@pytest.mark.parametrize(
    ("gate", "lines"),
    [
        ("length limit", request(1, 20, 44.4, stop="limit, n_gen = 1000, n_predict = 1000")),
        ("empty answer", request(1, 20, 0.0, tokens=0)),
        ("not on the card", [(19.0, ""), *request(1, 20, 44.4)]),
    ],
    ids=["length limit", "empty answer", "not on the card"],
)
def test_each_gate_can_fire(tmp_path: Path, gate: str, lines: list[tuple[float, str]]) -> None:
    began = beginning("plain", *PLAIN)
    if gate == "not on the card":
        began = [(at, line.replace("66/66", "60/66")) for at, line in began]
    answer, _ = judged(tmp_path, journal(*began, *lines))
    assert [one["gate"] for one in answer.document["gates"] if one["fired"]] == [gate]


def test_a_load_that_its_answer_tells_of_fires_the_load_gate(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4))
    answer = {
        "model": "plain.gguf",
        "load_duration": 37_700_000_000,
        "prompt_eval_count": 1000,
        "prompt_eval_duration": 1_000_000_000,
        "eval_count": 1000,
        "eval_duration": round(1000 / 44.4 * 1e9),
    }
    _, loads = with_answers(tmp_path, log, json.dumps(answer) + "\n")
    assert loads["1"]["rows"][0]["decode_why"] == ["load time gate: it waited for its model to load, 37.7 s"]


def test_cells_inside_a_ping_pong_are_invalid_and_never_averaged(tmp_path: Path) -> None:
    lines: list[tuple[float, str, int | None]] = []
    for turn in range(4):
        name, port, at = ("small", "large")[turn % 2], 41000 + turn, 100.0 + 60 * turn
        if turn:
            other = ("large", "small")[turn % 2]
            lines.append((at - 1, f"srv          tick: evicting idle LRU name={other} for a queued request", None))
            lines.append((at - 0.5, f"srv           run: instance name={other} exited with status 0", None))
        lines += router(port, name, at, at + 0.5)
        # long after it was ready: it did not wait itself, yet its model came and went around it
        lines += [(seconds, line, port) for seconds, line in request(turn, at + 20, 44.4, tokens=100)]
    answer, _ = judged(tmp_path, routed(lines))
    assert [[row["decode_why"] for row in load["rows"]] for load in answer.document["loads"]] == [
        [[]],
        [["load time gate: measured while 2 models took each other's place"]],
        [["load time gate: measured while 2 models took each other's place"]],
        [[]],
    ]
    assert [load["decode"]["n"] for load in answer.document["loads"]] == [1, 0, 0, 1]


# -- caches and prompts (BV-4, BV-5) -----------------------------------------------------------------------------------


def test_a_prompt_that_a_cache_answered_in_part_has_no_prefill_rate(tmp_path: Path) -> None:
    log = journal(
        *beginning("plain", *PLAIN),
        *request(1, 20, 44.4, 2100.0, prompt=13473),
        *request(2, 60, 44.4, 3100.0, prompt=473, cached=13000),
    )
    _, loads = judged(tmp_path, log)
    told = loads["1"]
    assert [(row["prompt_is_measurement"], row["prompt_why"]) for row in told["rows"]] == [
        (True, []),
        (False, ["13000 tokens came from a cache"]),
    ]
    assert (told["prefill"]["n"], told["prefill"]["median"]) == (1, 2100.0)
    assert told["decode"]["n"] == 2


def test_prompts_of_5464_and_4373_tokens_are_not_the_same_work(tmp_path: Path) -> None:
    log = journal(
        *beginning("plain", *PLAIN),
        *request(1, 20, 44.4, 7766.0, prompt=5464),
        *request(2, 60, 44.4, 7100.0, prompt=4373),
    )
    answer, _ = judged(tmp_path, log)
    assert answer.document["comparability"]["prompt_lengths"] == {
        "shortest": 4373,
        "longest": 5464,
        "difference": 0.249485,
        "comparable": False,
    }
    assert answer.about[0] == ("Prompts of 4373 to 5464 tokens (+25 %): their prefill rates are not of the same work.")


# -- spread and company (BV-7, BV-9, BV-10, BV-14) ---------------------------------------------------------------------


def test_a_statistic_says_what_it_is_and_of_how_many(tmp_path: Path) -> None:
    log = journal(
        *beginning("plain", *PLAIN),
        *(line for task in range(3) for line in request(task, 20 + 40 * task, 109.7 + task / 10)),
    )
    _, loads = judged(tmp_path, log)
    assert loads["1"]["decode"] == {
        "n": 3,
        "statistic": "median of 3",
        "median": 109.8,
        "mean": 109.8,
        "spread": 0.2,
        "cv": 0.000911,
    }


@pytest.mark.parametrize(("begin", "share"), [(26.1, 0.39), (22.8, 0.72)], ids=["39 %", "72 %"])
def test_what_else_ran_is_shown_as_a_gauge_and_invalidates_nothing(tmp_path: Path, begin: float, share: float) -> None:
    # ten seconds of one unit's request, and another unit's request that outlasts it
    log = journal(*beginning("a", *PLAIN), *request(1, 20, 111.1111, tokens=1000), pid=100, unit="a.service") + journal(
        *beginning("b", *PLAIN), *request(1, begin, 50.0, tokens=1000), pid=200, unit="b.service"
    )
    answer, loads = judged(tmp_path, log)
    row = loads["a.service"]["rows"][0]
    assert (row["foreign_share"], row["decode_is_measurement"]) == (pytest.approx(share, abs=1e-4), True)
    assert loads["a.service"]["foreign"]["is"] == "a gauge of what else ran, not of what it cost"
    assert "foreign (gauge)" in screen(case_text(tmp_path, log), answer, width=120)


MOVED: tuple[float, ...] = (
    *(-5.9, -3.1, -2.0, -1.2, -0.9, -0.6, -0.4, -0.3, -0.2, -0.1, -0.1),
    *(0.0,) * 8,
    *(0.1, 0.2, 0.3, 0.4, 0.7, 1.1, 1.8, 2.6, 3.3, 5.0, 8.8),
)
"""By how many percent thirty cells moved, five models at six sizes, when nothing else ran any more."""


def measured_twice(moved: tuple[float, ...]) -> str:
    """Each cell beside another unit's requests for 39 to 72 % of its time, and later alone."""
    text, company = [], [*beginning("other", *PLAIN)]
    sizes = (300, 700, 1500, 3000, 6000, 12000)
    for model in range(5):
        for run in range(2):
            at = 100.0 + 1000 * model + 10000 * run
            lines = [(at + seconds, line) for seconds, line in beginning(f"m{model}", *PLAIN)]
            for place, prompt in enumerate(sizes):
                change = moved[6 * model + place] / 100 if run else 0.0
                begun, rate = at + 20 + 60 * place, 100 * (1 + change)
                # a second of prompt and ten of decoding
                lines += request(place, begun, rate, prompt, prompt=prompt, tokens=round(10 * rate))
                if not run:
                    share = 0.39 + 0.33 * (6 * model + place) / 29
                    company += request(6 * model + place, begun, 50.0, tokens=round(50 * (11 * share - 1)))
            text.append(journal(*lines, pid=1000 + 10 * model + run, unit=f"m{model}.service"))
    return "".join(text) + journal(*company, pid=5000, unit="other.service")


def test_thirty_cells_that_moved_by_nothing_contradict_that_the_gauge_is_a_cost(tmp_path: Path) -> None:
    answer, _ = judged(tmp_path, measured_twice(MOVED))
    told = answer.document["foreign_effects"]
    assert (told["cells"], told["state"]) == (30, "contradicted")
    assert [round(100 * share) for share in (*told["more"], *told["less"])] == [39, 72, 0, 0]
    assert [round(100 * told[f"{name}_gain"], 1) for name in ("median", "lowest", "highest")] == [0.0, -5.9, 8.8]
    assert [one.split(", each: ")[0] for one in answer.about if ", each: " in one] == ["Loads 2–11", "Loads 2–11"]
    assert (
        "contradicted: what else ran slows these requests. 30 cells ran beside others for 39 to 72 % of their time, "
        "and for 0 %: with less of it rates moved by +0.0 % at the median, −5.9 % to +8.8 %."
    ) in answer.about


def test_cells_that_all_got_faster_without_company_support_it(tmp_path: Path) -> None:
    answer, _ = judged(tmp_path, measured_twice((20.0,) * 30))
    assert answer.document["foreign_effects"]["state"] == "supported"


def test_eight_requests_one_after_another_measure_no_concurrency(tmp_path: Path) -> None:
    log = journal(
        *beginning("plain", *PLAIN), *(line for task in range(8) for line in request(task, 20 + 30 * task, 44.4))
    )
    answer, loads = judged(tmp_path, log)
    assert loads["1"]["concurrency"] == {
        "most": 1,
        "claim": "not measured",
        "because": "eight requests, never two at once: nothing here measures concurrency",
    }
    assert answer.about == ("Load 1: eight requests, never two at once: nothing here measures concurrency.",)


def test_requests_that_overlap_are_seen_beside_each_other(tmp_path: Path) -> None:
    lines = sorted([*request(1, 20, 100.0), *request(2, 25, 100.0), *request(3, 90, 100.0)], key=lambda one: one[0])
    _, loads = judged(tmp_path, journal(*beginning("plain", *PLAIN), *lines))
    assert [row["others"] for row in loads["1"]["rows"]] == [1, 1, 0]
    assert loads["1"]["concurrency"]["because"] == "2 of 3 requests ran beside another"


def test_four_rates_are_four_fields(tmp_path: Path) -> None:
    # four streams of 74 tokens a second each, after prompts of 1.356 s
    lines = sorted(
        (line for task in range(4) for line in request(task, 20, 74.0, 1000 / 1.356, tokens=1000)),
        key=lambda one: one[0],
    )
    _, loads = judged(tmp_path, journal(*beginning("plain", *PLAIN), *lines))
    told = loads["1"]["four_rates"]
    assert (told["decode_per_s"], told["per_stream_per_s"], told["streams"]) == (74.0, 74.0, 4)
    assert (round(told["aggregate_per_s"]), round(told["wall_per_s"])) == (269, 67)


def test_an_idle_server_before_and_after_is_proven_by_its_own_lines(tmp_path: Path) -> None:
    idle = "srv  update_slots: all slots are idle"
    log = journal(
        *beginning("plain", *PLAIN),
        (11.0, idle),
        *request(1, 20, 100.0),
        (32.0, idle),
        *sorted([*request(2, 40, 100.0), *request(3, 45, 100.0)], key=lambda one: one[0]),
        (60.0, idle),
    )
    _, loads = judged(tmp_path, log)
    assert [(row["idle"]["before"], row["idle"]["after"], row["idle"]["proven"]) for row in loads["1"]["rows"]] == [
        (True, True, True),
        (True, True, True),
        (False, True, False),
    ]


# -- what may be compared (BV-11 to BV-13) -----------------------------------------------------------------------------


def configured(pid: int, at: float, context: int, cache: str, rate: float) -> str:
    """One configuration of a model, and its rate."""
    shape = f"llama_kv_cache: size = 8704.00 MiB (262144 cells,  16 layers,  1/1 seqs), K ({cache}): 4352.00 MiB, "
    lines = beginning(
        "m",
        *PLAIN,
        "llama_context: constructing llama_context",
        f"llama_context: n_ctx                 = {context}",
        f"{shape}V ({cache}): 4352.00 MiB",
    )
    text = [(at + seconds, line) for seconds, line in [*lines, *request(1, 20, rate, tokens=100)]]
    return journal(*text, pid=pid, unit="llm.service")


def test_a_gain_over_another_configuration_is_not_one_over_its_own(tmp_path: Path) -> None:
    # +57 % over a load with another context and cache, and +11 % over the one that matches but for its context
    log = (
        configured(100, 0, 32768, "f16", 100.0)
        + configured(200, 1000, 262144, "q8_0", 141.4)
        + configured(300, 2000, 131072, "q8_0", 157.0)
    )
    answer, _ = judged(tmp_path, log)
    (second, third) = answer.document["comparability"]["baselines"]
    assert (second["differs"], second["attributable"]) == (["context", "kv_dtype"], None)
    assert (third["baseline_number"], third["change"], third["attributable"]) == (2, 0.110325, "context")
    assert [(one["number"], one["change"], one["differs"]) for one in third["not_baselines"]] == [
        (1, 0.57, ["context", "kv_dtype"])
    ]
    assert (
        "Load 3 is to be held against load 2 (+11.0 %; differs: context), not against load 1 (+57.0 %; differs: "
        "context, kv_dtype)."
    ) in answer.about


def test_a_similarly_named_model_is_no_baseline(tmp_path: Path) -> None:
    twin = configured(200, 1000, 262144, "q8_0", 82.0).replace("/srv/models/m.gguf", "/srv/models/m-bench.gguf")
    answer, _ = judged(tmp_path, configured(100, 0, 262144, "q8_0", 78.2) + twin)
    assert answer.document["comparability"]["baselines"] == []


def test_the_baseline_is_the_load_that_matches_not_the_one_that_flatters(tmp_path: Path) -> None:
    # a published row of 78.5 cites 78.2, which is another configuration's; its own baseline is 82
    log = (
        configured(100, 0, 32768, "f16", 78.2)
        + configured(200, 1000, 262144, "q8_0", 82.0)
        + configured(300, 2000, 262144, "q8_0", 78.5)
    )
    answer, _ = judged(tmp_path, log)
    one = answer.document["comparability"]["baselines"][1]
    assert (one["baseline_number"], round(100 * one["change"], 1), one["differs"]) == (2, -4.3, [])
    assert [round(100 * other["change"], 1) for other in one["not_baselines"]] == [0.4]


@pytest.mark.parametrize(
    ("minutes", "rate", "explains"),
    [(60, 95.5, True), (60, 90.0, False), (5, 95.5, False)],
    ids=["−4.5 % an hour later", "−10 % an hour later", "−4.5 % at the same age"],
)
def test_a_change_that_warm_cards_make_too_is_told(tmp_path: Path, minutes: int, rate: float, explains: bool) -> None:
    log = journal(*beginning("m", *PLAIN), *request(1, 60, 100.0, tokens=100), pid=100) + journal(
        *((1000 + at, line) for at, line in beginning("m", *PLAIN)),
        *request(1, 1010 + 60 * minutes, rate, tokens=100),
        pid=200,
    )
    answer, _ = judged(tmp_path, log)
    (one,) = answer.document["comparability"]["baselines"]
    assert (one["differs"], one["warmth"]["may_explain"]) == ([], explains)
    assert any("Cold and heat-soaked cards differ by as much (4–5 %)" in note for note in answer.about) is explains


def test_rows_under_different_rules_of_what_is_blocked_are_marked(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("192.0.2.14 2026-09-18T07:00:00Z\nnon-local 2026-09-18T08:02:00Z\n")
    (tmp_path / "case").mkdir()
    requests = (line for task in range(9) for line in request(task, 20 + 55 * task, 44.4))
    connection = case_text(tmp_path / "case", journal(*beginning("plain", *PLAIN), *requests))
    answer = validity(Ask(connection, extra={"blocklist": tmp_path / "blocked"}))
    assert [len(row["rules"]) for row in answer.document["loads"][0]["rows"]] == [1] * 2 + [2] * 7
    assert (
        "Measured under different rules of what is blocked: 2 under 192.0.2.14, 7 under 192.0.2.14 and non-local. "
        "Compare within one of them."
    ) in answer.about


def test_averages_over_windows_are_no_rates(tmp_path: Path) -> None:
    head = "(APIServer pid=1) INFO 09-12 08:10:"
    log = f"{head}00 [api_utils.py:273] non-default args: {{'model': '/srv/models/Qwen3-8B'}}\n" + "".join(
        f"{head}{10 + number} [loggers.py:273] Engine 000: Avg prompt throughput: {prompt} tokens/s, "
        "Avg generation throughput: 31.4 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, "
        "Prefix cache hit rate: 0.0%\n"
        for number, prompt in enumerate((1.5, 1.5, 1.5, 1.5, 4.0))
    )
    answer, loads = judged(tmp_path, log)
    windows = loads["1"]["windows"]
    assert (windows["prompt_mean"], windows["prompt_cv"], windows["measurement"]) == (2.0, 0.559017, False)
    assert loads["1"]["rows"] == []
    assert answer.verdict == (
        "No measurement: the log has only averages over windows, which are no rates of a request."
    )


def test_a_log_without_timings_is_not_measured(tmp_path: Path) -> None:
    answer, _ = judged(tmp_path, journal(*beginning("plain", *PLAIN)))
    assert (answer.code, answer.verdict) == (3, "Not measured: no request of these loads was timed.")


@pytest.mark.parametrize(
    "name",
    [
        "answers",
        "foreign_effects",
        "idle_proofs",
        "rate_controls",
        "validity_rows",
        "validity_gates",
        "validity_windows",
        "validity_exceptions",
    ],
)
def test_the_header_of_a_view_names_its_columns(name: str) -> None:
    connection = case_of(FIXTURES / "spec-refutation-router")
    found = next(question for question in load_questions() if question.name == name)
    assert check_header(connection, found) == []
