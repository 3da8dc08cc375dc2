"""Each invariant fires: one thing of a sound result is changed, and what is said names just that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opened import cards_csv, holders_csv, journal
from weaving import LOGS

from forensics.case import Evidence, hold, read_evidence
from forensics.catalogue import load_catalogue
from forensics.errors import FaultError
from forensics.lives import Mark, Scope
from forensics.opened import open_inputs
from forensics.question import load_questions

CATALOGUE = load_catalogue()
LOAD = """
build: 9000 (abc) with cc for x86_64-linux-gnu
srv    load_model: loading model '/srv/models/{name}.gguf'
srv    load_model: [spec] estimated memory usage of MTP context is 2250.06 MiB
llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:0a:00.0) - 23525 MiB free
load_tensors:   CPU_Mapped model buffer size =   417.30 MiB
load_tensors:        CUDA0 model buffer size =  5000.00 MiB
llama_context: constructing llama_context
llama_kv_cache:      CUDA0 KV buffer size =  1000.00 MiB
sched_reserve: reserving ...
sched_reserve:      CUDA0 compute buffer size =   500.00 MiB
sched_reserve: reserve took 50.00 ms, sched copies = 4
sched_reserve: reserving ...
sched_reserve:      CUDA0 compute buffer size =   400.00 MiB
sched_reserve: reserve took 50.00 ms, sched copies = 4
srv  llama_server: model loaded
srv    operator(): operator(): cleaning up before exit...
"""
Change = Callable[[Evidence], None]


def change(thing: object, **values: object) -> None:
    """Change a value, also one that is frozen."""
    for name, value in values.items():
        object.__setattr__(thing, name, value)


def sound(folder: Path, *, by_card: bool = False) -> Evidence:
    """Two loads of two processes on one card, one after the other, sampled by process or by card."""
    (folder / "server.log").write_text(
        journal(7, 0, LOAD.format(name="a")) + journal(8, 60, LOAD.format(name="b")), "utf-8"
    )
    # A load has milliseconds from its ready line to its clean-up: the second one is sampled in them.
    if by_card:
        samples = cards_csv((-1, 0, 300), (0.0145, 0, 6900), (60.0145, 0, 7000))
    else:
        samples = holders_csv((0.0145, 0, 7, 6600), (60.0145, 0, 8, 6700))
    (folder / "samples.csv").write_text(samples, "utf-8")
    return read_evidence([folder], CATALOGUE, tz_us=0)


def lines(found: Evidence, text: str) -> list[Any]:
    """Owned lines that hold a text, in order."""
    return [one for one in found.ownership.lines if text in one.line.text]


def item(found: Evidence, text: str, mark: Mark = Mark.COUNTED) -> Any:
    """The first load's amount of a line."""
    return next(one for one in found.ownership.loads[0].items if text in one.line.text and one.mark is mark)


def row(rows: list[Any], at: int = 0, **values: object) -> None:
    """Change a row of the results."""
    rows[at] = replace(rows[at], **values)


def an_older_amount_is_counted(found: Evidence) -> None:
    kept, later = item(found, "CUDA0 model buffer"), lines(found, "KV buffer")[0].line
    change(kept, combine="last")
    change(later, matched=kept.line.matched)
    found.ownership.loads[0].items.append(replace(kept, mark=Mark.SUPERSEDED, line=later))


def the_card_is_called_a_remote_host(found: Evidence) -> None:
    for at, one in enumerate(found.measured.devices):
        if one.device == "CUDA0":
            row(found.measured.devices, at, place="remote")


OWNERS: dict[str, tuple[Change, str]] = {
    "two owners": (
        lambda found: found.ownership.lines.append(lines(found, "model loaded")[0]),
        "has two owners",
    ),
    "a load of nobody": (
        lambda found: change(lines(found, "model loaded")[0], load=replace(found.ownership.loads[0])),
        "belongs to a load that is none of the case's",
    ),
    "read twice": (
        lambda found: change(lines(found, "model loaded")[1].line, record=lines(found, "model loaded")[0].line.record),
        "is read twice and belongs to two loads",
    ),
    "no scope": (
        lambda found: change(lines(found, "model loaded")[0], scope=Scope.AMBIGUOUS),
        "has an owner and the scope ambiguous",
    ),
    "another process": (
        lambda found: change(lines(found, "model loaded")[0], process=found.ownership.processes[1]),
        "belongs to a load of another process",
    ),
    "no reason": (
        lambda found: change(found.ownership.loads[0], ended=lines(found, "cleaning up")[0].line, end_reason=None),
        "it has ended without a reason",
    ),
    "another ledger": (
        lambda found: change(item(found, "model buffer"), load=found.ownership.loads[1]),
        "is in the ledger of another load than its line's",
    ),
    "another basis": (
        lambda found: change(item(found, "CUDA0 model buffer"), basis="measured"),
        "is called measured, which its pattern does not say",
    ),
    "a counted forecast": (
        lambda found: change(item(found, "estimated memory", Mark.ESTIMATED), mark=Mark.COUNTED),
        "is a forecast and is counted",
    ),
    "replaced and counted": (
        lambda found: change(item(found, "KV buffer"), superseded_by=item(found, "CUDA0 model buffer")),
        "is counted although another one replaces it",
    ),
    "another phase": (
        lambda found: change(lines(found, "KV buffer")[0], phase="fit"),
        "is counted although it was printed in the phase fit",
    ),
    "counted once by kind": (
        lambda found: found.ownership.loads[0].items.extend(
            [
                replace(item(found, "KV buffer"), combine="once"),
                replace(item(found, "KV buffer"), combine="once", line=item(found, "KV buffer").line),
            ]
        ),
        "an amount that replaces itself is counted twice",
    ),
    "an older one": (an_older_amount_is_counted, "an older amount is counted instead of the last"),
    "computed and logged": (
        lambda found: found.ownership.loads[0].items.append(replace(item(found, "KV buffer"), basis="derived")),
        "kv_cache on CUDA0 is counted as its supervisor computed it and as it was logged",
    ),
}


BY_PROCESS: dict[str, tuple[Change, str]] = {
    "no card": (
        lambda found: row(found.measured.measures, card_id="GPU-x"),
        "is of no load or card of the case",
    ),
    "another's sample": (
        lambda found: found.measured.measures.append(
            replace(found.measured.measures[0], load_id=found.ownership.loads[1].load_id)
        ),
        "is what another process holds",
    ),
    "another amount": (
        lambda found: row(found.measured.measures, measured_bytes=1),
        "is not what its sample says",
    ),
    "no such sample": (
        lambda found: row(found.measured.measures, line_id="T0"),
        "cites no sample of that process on that card at that time",
    ),
    "bounds": (
        lambda found: row(found.measured.runtimes, size_bytes=1 << 40),
        "is outside its own bounds",
    ),
    "no process": (
        lambda found: row(found.measured.devices, process_id="P0"),
        "is of no process of the case",
    ),
    "another place": (the_card_is_called_a_remote_host, "CUDA0 is called remote, which its name does not say"),
    "a card of no card": (the_card_is_called_a_remote_host, "CUDA0 is no card's and is put on one"),
}
BY_CARD: dict[str, tuple[Change, str]] = {
    "another rest": (
        lambda found: row(found.measured.measures, measured_bytes=1),
        "is not the card's use less what it had before",
    ),
    "another word": (
        lambda found: row(found.measured.measures, measured_by="card"),
        "does not say whether the card's use before is taken off",
    ),
    "no such sample": (
        lambda found: row(found.measured.measures, line_id="T0"),
        "cites no sample of that card at that time",
    ),
}


@pytest.mark.parametrize("name", OWNERS)
def test_a_change_of_owners_or_ledgers_is_told(tmp_path: Path, name: str) -> None:
    found = sound(tmp_path)
    what, sentence = OWNERS[name]
    what(found)
    with pytest.raises(FaultError, match=sentence):
        hold(found)


@pytest.mark.parametrize("name", BY_PROCESS)
def test_a_change_of_what_processes_hold_is_told(tmp_path: Path, name: str) -> None:
    found = sound(tmp_path)
    assert [one.measured_by for one in found.measured.measures] == ["process"] * 4
    what, sentence = BY_PROCESS[name]
    what(found)
    with pytest.raises(FaultError, match=sentence):
        hold(found)


@pytest.mark.parametrize("name", BY_CARD)
def test_a_change_of_what_a_card_shows_is_told(tmp_path: Path, name: str) -> None:
    found = sound(tmp_path, by_card=True)
    assert [one.measured_by for one in found.measured.measures] == ["card_less_baseline"] * 4
    what, sentence = BY_CARD[name]
    what(found)
    with pytest.raises(FaultError, match=sentence):
        hold(found)


@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_no_recorded_log_contradicts_itself(log: Path) -> None:
    assert open_inputs([log]).connection.execute("FROM ledger_faults").fetchall() == []


def test_each_table_that_an_amount_may_come_from_is_held_against_the_ledger() -> None:
    tables = {one.event.table for one in CATALOGUE.patterns if "item" in one.effects}
    faults = next(one.sql for one in load_questions() if one.name == "ledger_faults")
    assert tables == {name for name in tables if f"FROM {name} " in faults or f"FROM {name}\n" in faults}
