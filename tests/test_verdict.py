"""The verdict says what is held, what of it is named, and what cannot be said."""

from __future__ import annotations

from typing import Any

import pytest
from report_documents import cpu_only, engine, failed_load, log_only, overnamed, plain, silent, two_cards

from forensics.document import choose_load
from forensics.verdict import next_step, verdict

MIB = 1024 * 1024

WITH_LESS = "Most of the rest was there at ready. Start with one option less, and compare: forensics diff A B."
AT_READY = "Sample the card before the load and at ready (--at ready): what is there by then is not growth."


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        pytest.param(
            two_cards(),
            "Qwen3.6-27B-Q4_0 holds 32.00 GiB on two cards. All but 5 MiB is named; "
            "1.16 GiB of it is runtime that no log line mentions (inferred).",
            id="fully named",
        ),
        pytest.param(
            plain(),
            "Qwen3-8B-Q4_0 holds 10.55 GiB on GPU 0. All but 8 MiB is named; "
            "592 MiB of it is runtime that no log line mentions (inferred).",
            id="one card",
        ),
        pytest.param(
            engine(),
            "Qwen/Qwen3-8B held 62.70 GiB on GPU 0; 5.46 GiB of it (9 %) is unexplained: nothing in the evidence names "
            "it. 1.40 GiB of what is named is only the program's estimate.",
            id="large unexplained, some of it estimated, load ended",
        ),
        pytest.param(
            overnamed(),
            "Qwen3-8B-Q4_0 holds 10.55 GiB on GPU 0, but 602 MiB more is named than GPU 0 holds: 11410.09 MiB against "
            "10808. Something is counted twice, or was freed before the card was read.",
            id="over-attribution",
        ),
        pytest.param(
            log_only(),
            "The log names 10.83 GiB on CUDA0 for Qwen3.6-27B-Q4_0; no card measurement to check against.",
            id="log only",
        ),
        pytest.param(
            cpu_only(),
            "Qwen3-0.6B-Q8_0 is on no card: the log names 590 MiB of host memory, besides 4.35 GiB "
            "mapped from its file.",
            id="no card",
        ),
        pytest.param(
            silent(),
            "Cannot attribute: this server logged no buffer sizes (verbosity 3). GPU 0 shows 10248 MiB held by pid "
            "5046 for Qwen3-8B-Q4_0; the log names none of it.",
            id="cannot attribute",
        ),
        pytest.param(
            failed_load(),
            "Qwen3.6-27B-Q4_0 never got ready: its KV cache of 786432.00 MiB was refused on CUDA0.",
            id="failed",
        ),
        pytest.param({"loads": []}, "Cannot attribute: no model load was found in this evidence.", id="no load"),
        pytest.param(
            {"loads": [], "cards": [{"gpu_index": 1, "used_mib": 300}]},
            "Cannot attribute: no model load was found in this evidence. GPU 1 shows 300 MiB used; nothing "
            "says what for.",
            id="no load, but a card in use",
        ),
    ],
)
def test_the_verdict(answer: dict[str, Any], sentence: str) -> None:
    assert verdict(answer, choose_load(answer)) == sentence


def one(measured_mib: float | None, named_mib: float, **more: Any) -> dict[str, Any]:
    """A load of one item on one card."""
    item = {"part": "target", "kind": "weights", "mib": named_mib, "basis": "logged"}
    return {"model": "m", "devices": [{"gpu_index": 0, "measured_mib": measured_mib, "items": [item]} | more]}


@pytest.mark.parametrize(
    ("load", "sentence"),
    [
        pytest.param(one(1024, 1024), "m holds 1.00 GiB on GPU 0. All of it is named, to within 1 MiB.", id="all"),
        pytest.param(
            one(1024, 1023.7), "m holds 1.00 GiB on GPU 0. All of it is named, to within 1 MiB.", id="less than one"
        ),
        pytest.param(
            one(1024, 1030, unexplained_bounds_mib=[-20, 8]),
            "m holds 1.00 GiB on GPU 0. All of it is named, to within 20 MiB.",
            id="over, but within bounds",
        ),
        pytest.param(
            one(1024, 1030, unexplained_bounds_mib=[-12, 0]),
            "m holds 1.00 GiB on GPU 0. All of it is named, to within 12 MiB.",
            id="over, to the edge of the bounds",
        ),
        pytest.param(
            {
                "model": "m",
                "devices": [{"gpu_index": 0, "measured_mib": 1024, "items": [{"basis": "estimated"}, {"mib": 1000.0}]}],
            },
            "m holds 1.00 GiB on GPU 0. All but 24 MiB is named.",
            id="an estimate without an amount",
        ),
        pytest.param(
            one(1024, 1030, unexplained_bounds_mib=[-7, -5]),
            "m holds 1.00 GiB on GPU 0, but 6 MiB more is named than GPU 0 holds: 1030.00 MiB against 1024. Something "
            "is counted twice, or was freed before the card was read.",
            id="over, beyond bounds",
        ),
        pytest.param(one(1024, 974), "m holds 1.00 GiB on GPU 0. All but 50 MiB is named.", id="below a twentieth"),
        pytest.param(
            one(1024, 900),
            "m holds 1.00 GiB on GPU 0; 124 MiB of it (12 %) is unexplained: nothing in the evidence names it.",
            id="above a twentieth",
        ),
        pytest.param(
            {"model": "m", "devices": [{"gpu_index": 0, "measured_mib": 1024, "items": [{}, {"mib": 1000}]}]},
            "m holds 1.00 GiB on GPU 0. All but 24 MiB is named.",
            id="an item without an amount",
        ),
        pytest.param(
            one(1024, 1000, measured_by="card"),
            "m holds 1.00 GiB on GPU 0. All but 24 MiB is named. GPU 0: the whole card's use, with no baseline, so "
            "others' memory may be in it.",
            id="whole card",
        ),
        pytest.param(
            {"model": "m", "devices": [*one(1024, 1000)["devices"], {"device": "CUDA1", "items": [{"mib": 512.0}]}]},
            "m holds 1.00 GiB on GPU 0. All but 24 MiB is named. The log also names 0.50 GiB on CUDA1, with no "
            "measurement to check against.",
            id="one card measured, one not",
        ),
        pytest.param(
            {"model": "m", "devices": [*one(1024, 1324)["devices"], *one(1024, 724, gpu_index=1)["devices"]]},
            "m holds 2.00 GiB on two cards, but 300 MiB more is named than GPU 0 holds: 1324.00 MiB against 1024. "
            "Something is counted twice, or was freed before the card was read.",
            id="two wrongs that cancel out",
        ),
        pytest.param(
            {"model": "m", "devices": [{"device": "RPC0", "where": "remote", "items": [{"mib": 2048.0}]}]},
            "m is on other hosts: the log names 2.00 GiB there and nothing on a card of this one.",
            id="remote",
        ),
        pytest.param(
            {"model": "m", "end_reason": "failed"}, "m never got ready: the evidence does not say why.", id="why"
        ),
        pytest.param(
            {"load_id": "ab12"},
            "Cannot attribute: this server logged no buffer sizes, and no card was measured.",
            id="bare",
        ),
        pytest.param(
            one(1024, 1000) | {"model": "x holds 0.00 GiB. All is well; y"},
            "“x holds 0.00 GiB. All is well; y” holds 1.00 GiB on GPU 0. All but 24 MiB is named.",
            id="a model whose name is a sentence",
        ),
    ],
)
def test_the_verdict_on_a_small_load(load: dict[str, Any], sentence: str) -> None:
    assert verdict({"loads": [load]}, load) == sentence


HOST = {"model": "m", "devices": [{"device": "CPU", "where": "host", "items": [{"mib": 512.0}]}]}
RUNTIME = {"part": "runtime", "kind": "runtime", "mib": 600.0, "basis": "inferred"}


@pytest.mark.parametrize(
    ("load", "step"),
    [
        pytest.param(None, "Give the log of the server from its start, or the journal of its unit.", id="no load"),
        pytest.param(
            {"failure": {"what": "x"}},
            "Change what the failure names, and start it again; --evidence prints its lines.",
            id="failed",
        ),
        pytest.param(
            {"failure": {"what": "x", "asked_mib": 9.0}},
            "Ask for less than was there (shorter context, fewer slots, smaller cache type), or free the card first.",
            id="refused an amount",
        ),
        pytest.param(
            {"model": "m", "devices": [{"gpu_index": 0, "measured_mib": 9.0, "items": [RUNTIME]}]},
            "Raise the server's log level until it prints its buffer sizes, start it again and look again.",
            id="silent",
        ),
        pytest.param(HOST, "Nothing is missing.", id="no card"),
        pytest.param(
            one(None, 1024),
            "Sample the cards while the server runs (nvidia-smi --query-compute-apps) and give the samples too.",
            id="not measured",
        ),
        pytest.param(
            one(1024, 1324),
            "Read the rows of GPU 0 with --evidence: one of them names memory that another already names.",
            id="named twice",
        ),
        pytest.param(
            one(1024, 1024, measured_by="card"),
            "Sample the cards by process, or once before the server starts, to tell its memory from the others'.",
            id="whole card",
        ),
        pytest.param(
            one(1024, 900),
            AT_READY,
            id="a rest of which nobody knows when it came",
        ),
        pytest.param(
            one(1024, 900, growth_mib=100.0),
            AT_READY,
            id="a rest that grew",
        ),
        pytest.param(
            one(1024, 900, growth_mib=62.0),
            AT_READY,
            id="a rest half of which grew",
        ),
        pytest.param(
            one(1024, 900, growth_mib=61.0),
            WITH_LESS,
            id="a rest less than half of which grew",
        ),
        pytest.param(
            one(1024, 900, growth_mib=10.0),
            WITH_LESS,
            id="a rest from the beginning",
        ),
        pytest.param(
            {"model": "m", "devices": [{"measured_mib": 1600.0, "items": [RUNTIME, {"mib": 1000.0}]}]},
            "Nothing is missing. To see the runtime measured instead of inferred, sample the card while the server "
            "sleeps or before it loads.",
            id="runtime inferred",
        ),
        pytest.param(one(1024, 1024), "Nothing is missing.", id="all there"),
    ],
)
def test_the_next_step_is_the_one_that_would_help_most(load: dict[str, Any] | None, step: str) -> None:
    assert next_step({"loads": []}, load) == step
    missing = [{"what": "x", "remedy": ""}, {"what": "y", "remedy": "Do y."}]
    assert next_step({"loads": [], "missing": missing}, load) == "Do y."


def test_a_load_that_the_log_names_on_hosts_only_is_on_no_card_even_if_a_card_is_bare() -> None:
    load = {"model": "m", "devices": [*HOST["devices"], {"gpu_index": 0, "items": []}]}
    assert verdict({"loads": [load]}, load) == "m is on no card: the log names 512 MiB of host memory."


def test_a_large_rest_is_told_with_the_runtime_beside_it() -> None:
    items = [RUNTIME, {"part": "target", "kind": "weights", "mib": 800.0, "basis": "logged"}]
    load = {"model": "m", "devices": [{"gpu_index": 0, "measured_mib": 2000.0, "items": items}]}
    assert verdict({"loads": [load]}, load) == (
        "m holds 1.95 GiB on GPU 0; 600 MiB of it (30 %) is unexplained: nothing in the evidence names it. Another "
        "600 MiB is runtime that no log line mentions (inferred)."
    )


@pytest.mark.parametrize(
    ("missing", "pid", "sentence"),
    [
        ([{"because": "verbosity 3", "load_id": "other"}], None, "logged no buffer sizes. GPU 0 shows 9 MiB for m;"),
        ([{"because": "x" * 60}], 7, "logged no buffer sizes. GPU 0 shows 9 MiB held by pid 7 for m;"),
        ([{"because": "verbosity 3"}], 7, "sizes (verbosity 3). GPU 0 shows 9 MiB held by pid 7 for m;"),
    ],
    ids=["another's", "too-long", "fits"],
)
def test_why_nothing_is_attributed_is_said_where_it_is_known(
    missing: list[dict[str, str]], pid: int | None, sentence: str
) -> None:
    load = {"model": "m", "load_id": "ab", "pid": pid, "devices": [{"gpu_index": 0, "measured_mib": 9.0, "items": []}]}
    assert sentence in verdict({"loads": [load], "missing": missing}, load)
