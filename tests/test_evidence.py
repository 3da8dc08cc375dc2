"""Every answer prints the lines behind it when asked, and those of a claim about one load are that load's."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
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


HEAD = re.compile(r"^ *e\d+ +(?P<source>\S+?)(?P<by>@| at byte |:)(?P<place>\d+)(?: .*)?$")
"""How a line of evidence begins: where it stands."""

OWNER = re.compile(r"\bload (\w+)$")

ASKED = {
    **{name: (name, FIXTURES / folder) for name, folder in CASES.items()},
    "crashes of two": ("crashes", FIXTURES / "llama-killed-then-reloaded"),
    "diff": ("diff", "1", "2", FIXTURES / "llama-router-ping-pong"),
    "explain-vram": ("explain-vram", FIXTURES / "llama-mtp-vision-two-cards-plain"),
    "explain-vram of one": ("explain-vram", "--load", "prod", FIXTURES / "spec-refutation-router"),
    "kv of a server without a pool": ("kv", FIXTURES / "llama-single-card"),
    "loads of one": ("loads", "--load", "prod", FIXTURES / "spec-refutation-router"),
    "soak": ("soak", FIXTURES / "soak-against-bench"),
    "spec of one": ("spec", "--load", "prod", FIXTURES / "spec-refutation-router"),
    "timeline of one": ("timeline", "--load", "1", FIXTURES / "llama-router-ping-pong"),
    "traffic": ("traffic", "TEXT"),
    "validity of one": ("validity", "--load", "prod", FIXTURES / "spec-refutation-router"),
}

ROWS = {"soak", "timeline", "timeline of one"}
"""Answers that cite rows of tables too: those are printed in words, and only some lines as they stand."""


def takes_evidence() -> set[str]:
    """The commands that have the option."""
    return {
        str(command.name)
        for command in app.registered_commands
        if command.callback is not None and "evidence" in signature(command.callback).parameters
    }


def test_each_command_that_takes_the_option_is_asked() -> None:
    assert {words[0] for words in ASKED.values()} == takes_evidence()


@pytest.fixture(autouse=True)
def _short_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers name inputs as they were given, and fold what is too long for a screen."""
    monkeypatch.chdir(FIXTURES.parent)


def printed(words: Sequence[object], *more: str) -> str:
    """What a command prints on a console so wide that nothing is folded."""
    given = [str(word).removeprefix(f"{FIXTURES.parent}/") for word in words]
    done = CliRunner().invoke(app, [*given, "--quiet", *more], env={"COLUMNS": "4000"})
    assert done.exit_code in {0, 3}, done.stderr
    return done.stdout


def there(head: re.Match[str]) -> str:
    """What stands in the source where a line of evidence says."""
    raw = Path(head["source"]).read_bytes()
    raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    place = int(head["place"])
    line = raw.split(b"\n")[place - 1] if head["by"] == ":" else raw[place:].split(b"\n", 1)[0]
    return line.decode("utf-8", "replace")


def loads_of(node: object) -> Iterator[str]:
    """The loads that a document names, its evidence left aside."""
    if isinstance(node, Mapping):
        for key, inner in node.items():
            if key == "load_id" and inner:
                yield str(inner)
            if key != "evidence" or not isinstance(inner, Mapping):
                yield from loads_of(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from loads_of(inner)


def texts_of(node: object, part: str = "") -> Iterator[tuple[str, str]]:
    """Each text of a document, and which part of it tells of other loads, if one does."""
    if isinstance(node, Mapping):
        for key, inner in node.items():
            yield from texts_of(inner, key if key in {"elsewhere", "set_aside"} else part)
    elif isinstance(node, list):
        for inner in node:
            yield from texts_of(inner, part)
    elif isinstance(node, str):
        yield part, node


@pytest.mark.parametrize("name", ASKED)
def test_each_command_prints_true_lines_with_their_place_and_their_owner(name: str, tmp_path: Path) -> None:
    words: list[object] = list(ASKED[name])
    if words[-1] == "TEXT":
        words[-1] = tmp_path / "access.log"
        (tmp_path / "access.log").write_text(TEXTS["traffic"], "utf-8")
    lines = printed(words, "--evidence").split("\n")
    named = set(loads_of(json.loads(printed(words, "--format", "json"))))
    heads = [(found, lines[place + 1].strip()) for place, line in enumerate(lines) if (found := HEAD.match(line))]
    true = 0
    for head, text in heads:
        true += "".join(there(head).split())[:80].startswith("".join(text.split())[:80])
        owner = OWNER.search(head[0])
        assert owner is None or owner[1] == "none" or owner[1] in named, head[0]
    assert true
    assert true == len(heads) or name in ROWS


@pytest.mark.parametrize("name", ["explain-vram of one", "kv", "loads of one", "spec of one", "validity of one"])
def test_what_is_asked_of_one_load_rests_on_its_lines_and_shows_others_as_theirs(name: str) -> None:
    document = json.loads(printed(ASKED[name], "--format", "json"))
    (own,) = {load["load_id"] for load in document["loads" if "loads" in document else "pools"]}
    entries = document.pop("evidence")
    mine = {line for part, line in texts_of(document) if part not in {"elsewhere", "set_aside"}} & entries.keys()
    assert mine
    assert {entries[line]["load_id"] for line in mine} <= {None, own}


@pytest.mark.parametrize("folder", ["spec-refutation-router", "spec-refutation-journal"])
def test_the_lines_for_and_against_a_claim_about_a_load_are_its_own(folder: str) -> None:
    connection = case_of(FIXTURES / folder)
    for load in QUESTIONS["spec"][0](Ask(connection)).document["loads"]:
        cited = {line for one in load["findings"] for line in (*one["for"], *one["against"])}
        owners = {entry["load_id"] for entry in evidence(connection, cited).values()}
        assert owners <= {load["load_id"], None}  # arguments that a supervisor prints are its own line
