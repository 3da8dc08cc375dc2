"""Limits of a prefill rate, prefix caches, and requests that waited at once (BV-4, BV-10, BV-14)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from asking_loads import case_text
from timed import BEGIN, PLAIN, beginning, entry, journal, judged, request

from forensics.answer import Ask
from forensics.ask_validity import validity
from forensics.errors import UsageError


def windows_log(prompts: tuple[float, ...], hits: tuple[float, ...] = (0.0,)) -> str:
    """Statistics lines of a server, ten seconds each."""
    head = "(APIServer pid=1) INFO 09-12 08:10:"
    return f"{head}00 [api_utils.py:273] non-default args: {{'model': '/srv/models/Qwen3-8B'}}\n" + "".join(
        f"{head}{10 + number} [loggers.py:273] Engine 000: Avg prompt throughput: {prompt} tokens/s, "
        "Avg generation throughput: 31.4 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, "
        f"Prefix cache hit rate: {hits[number % len(hits)]}%\n"
        for number, prompt in enumerate(prompts)
    )


@pytest.mark.parametrize(
    ("prompts", "why"),
    [
        # what was pasted as data: PP 2.00, CV 55.9 %, of prompts of 15 tokens
        pytest.param((1.5, 1.5, 1.5, 1.5, 4.0), ["2.00 tok/s, under 50"], id="2 tok/s"),
        pytest.param((10.0, 10.0, 10.0, 10.0, 10.0, 600.0), ["CV 222.3 %, over 100 %"], id="scattered"),
        pytest.param((900.0, 950.0, 1000.0), ["no line says how long the prompts were"], id="lengths are not known"),
    ],
)
def test_averages_over_windows_are_held_against_the_limits_of_a_prefill_rate(
    tmp_path: Path, prompts: tuple[float, ...], why: list[str]
) -> None:
    answer, loads = judged(tmp_path, windows_log(prompts))
    told = loads["1"]["windows"]["prefill"]
    assert (told["accepted"] in {None, False}, told["why"]) == (True, why)
    assert answer.sections[0].note == f"As prefill rates, by the limits of club-3090, read in 2026-08: {why[0]}."


@pytest.mark.parametrize(
    ("prompt", "prefill", "accepted", "why"),
    [
        pytest.param(15, 2.0, False, ["a prompt of 15 tokens, under 1,000", "2.00 tok/s, under 50"], id="15 tokens"),
        pytest.param(999, 2100.0, False, ["a prompt of 999 tokens, under 1,000"], id="999 tokens"),
        pytest.param(1000, 2100.0, True, [], id="1000 tokens"),
        pytest.param(4000, 49.0, False, ["49.00 tok/s, under 50"], id="49 tok/s"),
    ],
)
def test_a_prefill_rate_of_a_short_prompt_is_none_by_the_limits_of_a_harness(
    tmp_path: Path, prompt: int, prefill: float, accepted: bool, why: list[str]
) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4, prefill, prompt=prompt))
    answer, loads = judged(tmp_path, log)
    assert (loads["1"]["prefill"]["accepted"], loads["1"]["prefill"]["why"]) == (accepted, why)
    assert any("its prefill rate is none" in one for one in answer.about) is not accepted


def test_prefill_rates_that_scatter_by_more_than_their_mean_are_none(tmp_path: Path) -> None:
    rates = (100.0, 100.0, 100.0, 100.0, 4000.0)
    log = journal(
        *beginning("plain", *PLAIN),
        *(line for task, rate in enumerate(rates) for line in request(task, 20 + 60 * task, 44.4, rate)),
    )
    _, loads = judged(tmp_path, log)
    assert loads["1"]["prefill"]["why"] == ["CV 198.2 %, over 100 %"]


@pytest.mark.parametrize(("hits", "told"), [((0.0, 25.0, 81.3), True), ((0.0,), False)], ids=["hits", "none"])
def test_a_prefix_cache_that_answered_is_told_beside_the_prompt_figures(
    tmp_path: Path, hits: tuple[float, ...], told: bool
) -> None:
    answer, loads = judged(tmp_path, windows_log((900.0, 1800.0, 2700.0), hits))
    assert loads["1"]["windows"]["prefix_hits"] == hits[-1] / 100
    note = "Load 1: up to 81.3 % of its prompts came from a prefix cache: "
    note += "its prompt figures are not those of whole prompts."
    assert (note in answer.about) is told
    assert answer.next.startswith("Put a nonce in front of each prompt") is told


def access(*waits: float, begun: str = "08:01:00") -> str:
    """Access lines of requests that all came at one moment, each written when it ended."""
    hours, minutes, seconds = (int(part) for part in begun.split(":"))
    start = BEGIN.replace(hour=hours, minute=minutes, second=seconds)
    rows = []
    for wait in sorted(waits):
        over = start + timedelta(seconds=wait)
        line = f'[GIN] {over:%Y/%m/%d - %H:%M:%S} | 200 | {wait:.6f}s |   192.0.2.7 | POST     "/v1/chat/completions"'
        rows.append(entry((over - BEGIN).total_seconds(), line, 100, "ollama.service") + "\n")
    return "".join(rows)


SERVED = (
    'time=2026-09-18T08:00:00.000Z level=INFO source=server.go:241 msg="using llama-server for model" model=/m/a1a1',
    'time=2026-09-18T08:00:09.000Z level=INFO source=llama_server.go:1274 msg="llama-server started in 8.00 seconds"',
)


@pytest.mark.parametrize(
    ("waits", "ran", "claim"),
    [
        pytest.param(tuple(10.0 * place for place in range(1, 9)), "serial", "contradicted", id="eight times the wait"),
        pytest.param((10.0, 10.4, 10.9, 11.0, 11.2, 11.5, 11.9, 12.0), "at_once", "not measured", id="all wait alike"),
        pytest.param((10.0, 20.0, 20.5, 21.0, 22.0, 40.0, 41.0, 42.0), "unclear", "not measured", id="two by two"),
    ],
)
def test_eight_requests_that_take_eight_times_the_wait_at_a_flat_rate_ran_one_after_another(
    tmp_path: Path, waits: tuple[float, ...], ran: str, claim: str
) -> None:
    log = "".join(entry(number, line, 100, "ollama.service") + "\n" for number, line in enumerate(SERVED))
    _, loads = judged(tmp_path, log + access(*waits))
    (burst,) = loads["1"]["bursts"]
    assert (burst["requests"], burst["ran"], loads["1"]["concurrency"]["claim"]) == (8, ran, claim)
    told = (
        "eight requests waited at once, 10.0 to 80.0 s, 8.0 times as long, at the same 0.10 a second: they ran one "
        "after another"
    )
    assert (loads["1"]["concurrency"]["because"] == told) is (ran == "serial")


def test_requests_that_came_one_by_one_are_no_burst(tmp_path: Path) -> None:
    log = "".join(entry(number, line, 100, "ollama.service") + "\n" for number, line in enumerate(SERVED))
    one_by_one = "".join(access(8.0, begun=f"08:0{minute}:00") for minute in range(1, 9))
    _, loads = judged(tmp_path, log + one_by_one)
    assert loads["1"]["bursts"] == []


# -- what stopping on the limit means (X-6) ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("polarity", "measurements", "fired", "why"),
    [
        pytest.param(None, [True, True], 1, None, id="said by nobody: either"),
        pytest.param("either", [True, True], 1, None, id="either"),
        pytest.param("fails", [False, True], 1, "length limit gate: stopped on the limit of tokens", id="cut off"),
        pytest.param(
            "wanted", [True, False], 1, "length limit gate: stopped before the limit of tokens", id="a fixed length"
        ),
    ],
)
def test_whether_an_answer_should_stop_on_the_limit_is_configured(
    tmp_path: Path, polarity: str | None, measurements: list[bool], fired: int, why: str | None
) -> None:
    limit = "limit, n_decoded = 1000, n_predict = 1000"
    log = journal(
        *beginning("plain", *PLAIN),
        *request(1, 20, 44.4, stop=limit),
        *request(2, 60, 44.4, stop="EOS token"),
    )
    answer = validity(Ask(case_text(tmp_path, log), extra={"length_limit": polarity}))
    (load,) = answer.document["loads"]
    assert [row["decode_is_measurement"] for row in load["rows"]] == measurements
    (gate,) = [one for one in answer.document["gates"] if one["gate"] == "length limit"]
    assert (gate["fired"], gate["not_fired"], gate["invalidates"]) == (fired, 1, why is not None)
    said = [text for row in load["rows"] for text in row["decode_why"]]
    assert said == ([] if why is None else [why])
    assert load["decode"]["n"] == sum(measurements)


def test_another_word_for_it_is_refused(tmp_path: Path) -> None:
    log = journal(*beginning("plain", *PLAIN), *request(1, 20, 44.4))
    with pytest.raises(UsageError, match="either, wanted or fails"):
        validity(Ask(case_text(tmp_path, log), extra={"length_limit": "good"}))
