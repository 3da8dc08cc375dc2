"""The verdict says what is held, what of it is named, and what cannot be said."""

from __future__ import annotations

from typing import Any

import pytest
from report_documents import cpu_only, engine, failed_load, log_only, overnamed, plain, silent, two_cards

from forensics.document import choose_load
from forensics.verdict import verdict

MIB = 1024 * 1024


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
            "Qwen3-0.6B-Q8_0 is on no card: the log names 0.58 GiB of host memory, besides 4.35 GiB "
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
