"""Every answer prints the lines behind it when asked, and those of a claim about one load are that load's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asking_loads import FIXTURES, case_of, case_text, screen
from typer.testing import CliRunner

from forensics.answer import Ask, answer_json
from forensics.asked import QUESTIONS
from forensics.catalogue import load_catalogue
from forensics.cli import app
from forensics.diff import diff
from forensics.explain import document, evidence
from forensics.printing import parse_self_report

CASES = {
    "crashes": "vllm-engine-killed",
    "kv": "vllm-two-cards",
    "loads": "spec-refutation-router",
    "spec": "spec-refutation-router",
    "swaps": "llama-router-ping-pong",
    "timeline": "llama-router-ping-pong",
    "validity": "spec-refutation-router",
}
TEXTS = {
    "soak": "session_id,turn_id,t_ms,vram_mib,ttft_ms,decode_tps,completion_tokens,status,error\n"
    + "".join(f"{session},1,5210,47000,830,81.2,350,200,\n" for session in range(1, 6)),
    "traffic": "2026-08-01T05:00:00+0000 box server[9]: "
    '[GIN] 2026/08/01 - 05:00:00 | 200 |  1.5s | 192.0.2.7 | POST     "/api/chat"\n',
}


def of(name: str, folder: Path) -> duckdb.DuckDBPyConnection:
    return case_of(FIXTURES / CASES[name]) if name in CASES else case_text(folder, TEXTS[name])


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_cites_lines_and_prints_each_with_its_place(name: str, tmp_path: Path) -> None:
    connection = of(name, tmp_path)
    ask = Ask(connection, evidence=True)
    answer = QUESTIONS[name][0](ask)
    found = evidence(connection, set(answer.cited))
    assert answer.cited
    assert set(found) == set(answer.cited)
    assert all(identity in answer_json(ask, answer) for identity in answer.cited)
    assert "Evidence" not in screen(connection, answer).split("Next")[-1]


STATES = {"supported", "contradicted", "not established", "not measured"}


def claimed(node: object, load: str | None = None) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Each claim of a document with its state, and the load that it is part of."""
    if isinstance(node, Mapping):
        load = node.get("load_id", load)
        if {"claim", "state"} <= node.keys():
            yield load, node
        for inner in node.values():
            yield from claimed(inner, load)
    elif isinstance(node, list):
        for inner in node:
            yield from claimed(inner, load)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_claim_has_one_of_four_states_and_rests_on_lines_of_its_load(name: str, tmp_path: Path) -> None:
    connection = of(name, tmp_path)
    for load, one in claimed(QUESTIONS[name][0](Ask(connection)).document):
        assert one["state"] in STATES
        owners = evidence(connection, {*one.get("for", ()), *one.get("against", ())}).values()
        # lines of the host and of supervisors are of no load
        assert load is None or {entry["load_id"] for entry in owners} <= {load, None}


def test_claims_about_memory_and_differences_have_one_of_four_states() -> None:
    catalogue = load_catalogue()
    mtp, router = case_of(FIXTURES / "llama-mtp-vision-two-cards"), case_of(FIXTURES / "llama-router-ping-pong")
    ids = [load for (load,) in router.execute("SELECT load_id FROM loads ORDER BY number LIMIT 2").fetchall()]
    told = [
        *claimed(document(mtp, catalogue, self_report=parse_self_report("23.85GiB"))),
        *claimed(diff((router, ids[0]), (router, ids[1]), catalogue, "last").document),
    ]
    assert {one["state"] for _, one in told} <= STATES
    assert len(told) > 1


@pytest.mark.parametrize("name", ["loads", "explain-vram", "spec"])
def test_the_option_prints_the_lines(name: str) -> None:
    done = CliRunner().invoke(
        app, [name, str(FIXTURES / "spec-refutation-router" / "router.log"), "--evidence", "--quiet"]
    )
    assert done.exit_code == 0
    assert re.search(r"(?m)^ *e1 .*router\.log", done.stdout)


@pytest.mark.parametrize("folder", ["spec-refutation-router", "spec-refutation-journal"])
def test_the_lines_for_and_against_a_claim_about_a_load_are_its_own(folder: str) -> None:
    connection = case_of(FIXTURES / folder)
    for load in QUESTIONS["spec"][0](Ask(connection)).document["loads"]:
        cited = {line for one in load["findings"] for line in (*one["for"], *one["against"])}
        owners = {entry["load_id"] for entry in evidence(connection, cited).values()}
        assert owners <= {load["load_id"], None}  # arguments that a supervisor prints are its own line
