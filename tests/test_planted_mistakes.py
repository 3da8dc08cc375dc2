"""A hundred wrong attributions, planted by seed into sound results: an invariant, the case or `verify` must catch them.

Where a mistake is planted: into owners, ledgers and measurements before they become tables (caught by
`forensics/invariants.py`), into the tables of a case (caught by `queries/ledger_faults.sql`), and into a report (caught
by `verify`). Each is made as consistent as whoever makes it could: a line that moves takes its amount along.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics.case import Evidence, hold, read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.errors import FaultError
from forensics.explain import document
from forensics.invariants import measurement_breaks, ownership_breaks
from forensics.lives import Item, Load, Mark, Owned, Scope
from forensics.measure import card_id, telemetry_line_id
from forensics.opened import ready
from forensics.provenance import Asked, provenance
from forensics.question import load_questions
from forensics.report_json import render_json
from forensics.rows import MeasureRow
from forensics.verify import Derived, compare, derive

FIXTURES = Path(__file__).parent.parent / "fixtures"
SOUND = (
    "llama-mtp-vision-two-cards-plain",
    "llama-sleep-idle-plain",
    "llama-killed-then-reloaded",
    "spec-refutation-router",
    "untagged-interleaved-loads",
    "llama-forged-lines",
    "vllm-two-cards",
    "incident-vram-gap",
)
CATALOGUE = load_catalogue()

Undo = Callable[[], None]


class Planted:
    """Changes that are taken back."""

    def __init__(self) -> None:
        self.undone: list[Undo] = []

    def set(self, thing: object, **values: object) -> None:
        before = {name: getattr(thing, name) for name in values}

        def put(what: dict[str, Any]) -> None:
            for name, value in what.items():
                object.__setattr__(thing, name, value)

        self.undone.append(lambda: put(before))
        put(values)

    def fill(self, where: list[Any], content: list[Any]) -> None:
        before = list(where)

        def back() -> None:
            where[:] = before

        self.undone.append(back)
        where[:] = content

    def undo(self) -> None:
        for one in reversed(self.undone):
            one()


@cache
def sound(name: str) -> Evidence:
    """A recorded case, read."""
    inputs = [path for path in (FIXTURES / name).iterdir() if path.name not in ("case.toml", "expected")]
    return read_evidence(sorted(inputs), CATALOGUE)


# -- owners and ledgers -----------------------------------------------------------------------------------------------

Mistake = Callable[[Evidence, random.Random, Planted], bool]


def owned_lines(found: Evidence) -> list[Owned]:
    return [one for one in found.ownership.owned if one.load is not None]


def counted(found: Evidence) -> list[Item]:
    return [item for load in found.ownership.loads for item in load.items if item.mark is Mark.COUNTED]


def another(found: Evidence, load: Load | None, chance: random.Random) -> Load | None:
    others = [one for one in found.ownership.loads if one is not load]
    return chance.choice(others) if others else None


def a_line_is_moved_to_another_load(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    lines = owned_lines(found)
    one = chance.choice(lines) if lines else None
    other = another(found, one.load if one else None, chance)
    if one is None or other is None:
        return False
    planted.set(one, load=other, process=other.process)
    return True


def an_amount_is_moved_with_its_line(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    item = chance.choice(counted(found)) if counted(found) else None
    other = another(found, item.load if item else None, chance)
    if item is None or other is None:
        return False
    for one in found.ownership.owned:
        if one.line is item.line:
            planted.set(one, load=other, process=other.process)
    planted.fill(item.load.items, [one for one in item.load.items if one is not item])
    planted.fill(other.items, [*other.items, item])
    planted.set(item, load=other)
    return True


def an_amount_is_doubled(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    if not counted(found):
        return False
    item = chance.choice(counted(found))
    planted.fill(item.load.items, [*item.load.items, replace(item)])
    return True


def marked(found: Evidence, chance: random.Random, planted: Planted, *marks: Mark) -> bool:
    """Let an amount count that did not."""
    items = [item for load in found.ownership.loads for item in load.items if item.mark in marks]
    if not items:
        return False
    planted.set(chance.choice(items), mark=Mark.COUNTED, superseded_by=None)
    return True


def a_replaced_amount_counts(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    return marked(found, chance, planted, Mark.SUPERSEDED)


def a_forecast_counts(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    return marked(found, chance, planted, Mark.PLANNED, Mark.ESTIMATED)


def a_host_buffer_is_called_vram(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    places = {(row.process_id, row.logged): row.place for row in found.measured.devices}
    host = [one for one in counted(found) if places.get((one.load.process.process_id, one.device)) == "host"]
    cards = [row.device for row in found.measured.devices if row.place == "card"]
    if not host or not cards:
        return False
    planted.set(chance.choice(host), device=chance.choice(cards))
    return True


def a_host_device_is_put_on_a_card(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    host = [row for row in found.measured.devices if row.place == "host"]
    cards = [row.card_id for row in found.measured.devices if row.card_id]
    if not host or not cards:
        return False
    planted.set(chance.choice(host), place="card", card_id=chance.choice(cards))
    return True


def an_amount_is_another(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    if not counted(found):
        return False
    item = chance.choice(counted(found))
    planted.set(item, size_bytes=item.size_bytes + chance.choice((1, -1, 1 << 20, item.size_bytes)))
    return True


def an_amount_is_of_another_part(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    if not counted(found):
        return False
    item = chance.choice(counted(found))
    planted.set(item, part=chance.choice([one for one in ("target", "mtp", "vision", "draft") if one != item.part]))
    return True


def a_load_gets_the_readiness_of_another(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    loads = [one for one in found.ownership.loads if one.ready is not None]
    later = [(one, other) for one in loads for other in loads if one.begun.order > other.begun.order]
    if not later:
        return False
    one, other = chance.choice(later)
    planted.set(one, ready=other.ready)
    return True


def an_ambiguous_line_gets_an_owner(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    open_ = [one for one in found.ownership.owned if one.scope == Scope.AMBIGUOUS and one.candidates]
    if not open_:
        return False
    one = chance.choice(open_)
    load = chance.choice(one.candidates)
    planted.set(one, load=load, process=load.process, scope=Scope.INFERRED)
    return True


def a_suspected_line_is_believed(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    doubted = [one for one in found.ownership.owned if one.suspect and one.load is None]
    loads = found.ownership.loads
    if not doubted or not loads:
        return False
    load = chance.choice(loads)
    planted.set(chance.choice(doubted), load=load, process=load.process, scope=Scope.EXACT, rule="trusted process id")
    return True


# -- measurements -----------------------------------------------------------------------------------------------------


def measures(found: Evidence, by: str = "") -> list[MeasureRow]:
    return [one for one in found.measured.measures if one.measured_by.startswith(by)]


def a_figure_is_stale(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    rows = [one for one in measures(found, "process") if one.moment == "last"]
    if not rows:
        return False
    row = chance.choice(rows)
    earlier = [
        (holder, sample)
        for holder in found.telemetry.holders
        if holder.pid == row.pid and card_id(holder.card) == row.card_id
        for sample in holder.samples
        if sample.at_us < row.at_us and sample.used is not None
    ]
    if not earlier:
        return False
    _, sample = chance.choice(earlier)
    planted.set(row, at_us=sample.at_us, measured_bytes=sample.used, line_id=telemetry_line_id(sample))
    return True


def a_card_total_is_stale(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    rows = measures(found, "card")
    if not rows:
        return False
    row = chance.choice(rows)
    card = next(one for one in found.telemetry.cards if card_id(one) == row.card_id)
    others = [one for one in card.samples if one.at_us != row.at_us and one.used is not None]
    if not others:
        return False
    sample = chance.choice(others)
    planted.set(row, at_us=sample.at_us, measured_bytes=sample.used, line_id=telemetry_line_id(sample))
    return True


def a_figure_is_of_another_process(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    rows = measures(found, "process")
    others = [(row, one) for row in rows for one in found.telemetry.holders if one.pid != row.pid]
    if not others:
        return False
    row, holder = chance.choice(others)
    sample = chance.choice(holder.samples)
    planted.set(
        row,
        pid=holder.pid,
        card_id=card_id(holder.card),
        at_us=sample.at_us,
        measured_bytes=sample.used or 0,
        line_id=telemetry_line_id(sample),
    )
    return True


def a_figure_is_of_another_card(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    rows = [(one, other) for one in measures(found) for other in measures(found) if one.card_id != other.card_id]
    if not rows:
        return False
    row, other = chance.choice(rows)
    planted.set(row, measured_bytes=other.measured_bytes, line_id=other.line_id, at_us=other.at_us)
    return True


def a_figure_is_another_loads(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    rows = [(one, other) for one in measures(found) for other in measures(found) if one.load_id != other.load_id]
    if not rows:
        return False
    row, other = chance.choice(rows)
    planted.set(row, load_id=other.load_id, device=other.device)
    return True


def the_runtime_counts_twice(found: Evidence, chance: random.Random, planted: Planted) -> bool:
    if not found.measured.runtimes:
        return False
    planted.fill(found.measured.runtimes, [*found.measured.runtimes, replace(chance.choice(found.measured.runtimes))])
    return True


IN_RESULTS: tuple[Mistake, ...] = (
    a_line_is_moved_to_another_load,
    an_amount_is_moved_with_its_line,
    an_amount_is_doubled,
    a_replaced_amount_counts,
    a_forecast_counts,
    a_host_buffer_is_called_vram,
    a_host_device_is_put_on_a_card,
    an_amount_is_another,
    an_amount_is_of_another_part,
    a_load_gets_the_readiness_of_another,
    an_ambiguous_line_gets_an_owner,
    a_suspected_line_is_believed,
    a_figure_is_stale,
    a_card_total_is_stale,
    a_figure_is_of_another_process,
    a_figure_is_of_another_card,
    a_figure_is_another_loads,
    the_runtime_counts_twice,
)


def breaks(found: Evidence) -> list[str]:
    """What the invariants say of a result."""
    return [
        *ownership_breaks(found.ownership),
        *measurement_breaks(found.ownership.loads, found.telemetry, found.joins, found.measured, found.catalogue),
    ]


def in_results(number: int) -> tuple[str, list[str]]:
    """Plant a mistake into the result of a case that has room for it: what it is, and what the invariants say."""
    chance = random.Random(number)  # noqa: S311
    mistake = IN_RESULTS[number % len(IN_RESULTS)]
    for name in chance.sample(SOUND, len(SOUND)):
        planted = Planted()
        if mistake(sound(name), chance, planted):
            said = breaks(sound(name))
            planted.undo()
            return f"{mistake.__name__} in {name}", said
    raise AssertionError(f"no case has room for {mistake.__name__}")


# -- the tables of a case ---------------------------------------------------------------------------------------------

QUESTIONS = load_questions()

IN_TABLES = {
    "a line is moved to another load": """
        UPDATE line SET load_id = (SELECT min(load_id) FROM load WHERE load_id != line.load_id)
        WHERE line_id = (SELECT line_id FROM item WHERE mark = 'counted' ORDER BY hash(line_id || $1) LIMIT 1)
    """,
    "an amount is moved to another load": """
        UPDATE item SET load_id = (SELECT min(load_id) FROM load WHERE load_id != item.load_id)
        WHERE line_id = (SELECT line_id FROM item WHERE mark = 'counted' ORDER BY hash(line_id || $1) LIMIT 1)
    """,
    "an amount is doubled": """
        INSERT INTO item SELECT * FROM item WHERE mark = 'counted' ORDER BY hash(line_id || $1) LIMIT 1
    """,
    "an amount is another": """
        UPDATE item SET size_bytes = size_bytes + 1048576
        WHERE line_id = (SELECT line_id FROM item WHERE mark = 'counted' ORDER BY hash(line_id || $1) LIMIT 1)
    """,
    "a forecast or dry run counts": """
        UPDATE item SET mark = 'counted' WHERE line_id = (
            SELECT line_id FROM item WHERE mark IN ('planned', 'estimated') ORDER BY hash(line_id || $1) LIMIT 1
        )
    """,
    "a figure is stale": """
        UPDATE measure SET line_id = old.line_id, at_us = old.at_us, measured_bytes = old.used_bytes
        FROM (
            SELECT sample.* FROM holder_sample AS sample JOIN measure USING (pid, card_id)
            WHERE sample.at_us < measure.at_us AND sample.used_bytes IS NOT NULL AND measure.moment = 'last'
            ORDER BY hash(sample.line_id || $1) LIMIT 1
        ) AS old
        WHERE measure.pid = old.pid AND measure.card_id = old.card_id AND moment = 'last'
    """,
    "a figure is another's": """
        UPDATE measure SET measured_bytes = measured_bytes + 64 * 1048576
        WHERE line_id = (SELECT line_id FROM measure ORDER BY hash(line_id || $1) LIMIT 1)
    """,
    "host memory is put on a card": """
        UPDATE device SET card_id = (SELECT min(card_id) FROM card) WHERE place != 'card'
    """,
    "the runtime counts twice": "INSERT INTO runtime SELECT * FROM runtime ORDER BY hash(load_id || $1) LIMIT 1",
}


@cache
def stored(name: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    store(sound(name), connection)
    return connection


def asked(name: str) -> duckdb.DuckDBPyConnection:
    """A case whose questions are worked out from its tables as they are now; to be rolled back."""
    return ready(stored(name), QUESTIONS, None)


def in_tables(number: int) -> tuple[str, list[str]]:
    """Plant a mistake into the tables of a case: what it is, and what the case says of itself."""
    what = list(IN_TABLES)[number % len(IN_TABLES)]
    sql = IN_TABLES[what]
    for name in ("llama-sleep-idle-plain", "llama-mtp-vision-two-cards-plain"):
        connection = stored(name)
        connection.execute("BEGIN")
        changed = connection.execute(sql, [str(number)] if "$1" in sql else None).fetchall()[0][0]
        said = [str(row) for row in asked(name).execute("SELECT what FROM ledger_faults").fetchall()]
        connection.execute("ROLLBACK")
        if changed:
            break
    assert changed, f"no case has room for: {what}"
    return f"in a case: {what}", said


# -- a report ---------------------------------------------------------------------------------------------------------


@cache
def reported() -> tuple[dict[str, Any], Derived]:
    stored("llama-sleep-idle-plain").execute("BEGIN")
    connection = asked("llama-sleep-idle-plain")
    found = document(connection, CATALOGUE) | provenance(connection, Asked("last", None, None, None))
    connection.execute("ROLLBACK")
    report: dict[str, Any] = json.loads(render_json(found))
    return report, derive(report, beside=FIXTURES, catalogue=CATALOGUE)


def items_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for load in report["loads"] for device in load["devices"] for item in device["items"]]


def in_report(number: int) -> tuple[str, list[str]]:
    """Plant a mistake into a report: what it is, and what `verify` says."""
    chance = random.Random(number)  # noqa: S311
    untouched, derived = reported()
    report = copy.deepcopy(untouched)
    devices = [device for load in report["loads"] for device in load["devices"]]
    kind = number % 6
    if kind == 0:
        giver, taker = chance.sample([one for one in devices if one["items"]], 2)
        taker["items"].append(giver["items"].pop())
    elif kind == 1:
        device = chance.choice([one for one in devices if one["items"]])
        device["items"].append(copy.deepcopy(chance.choice(device["items"])))
    elif kind == 2:
        chance.choice([one for one in devices if one["where"] == "host"])["where"] = "card"
    elif kind == 3:
        chance.choice(items_of(report))["evidence"] = [chance.choice(list(report["evidence"]))]
    elif kind == 4:
        chance.choice(report["cards"])["used_bytes"] -= 1 << 20
    else:
        entry = chance.choice([one for one in report["evidence"].values() if one["load_id"]])
        entry["load_id"] = chance.choice(
            [one["load_id"] for one in report["loads"] if one["load_id"] != entry["load_id"]]
        )
    said = [] if report == untouched else [compare(report, derived).verdict] * (compare(report, derived).code == 4)
    return f"in a report: kind {kind}", said


# -- what is caught ---------------------------------------------------------------------------------------------------

PLACES = (*([in_results] * 64), *([in_tables] * 20), *([in_report] * 16))


def test_at_least_95_of_100_planted_mistakes_are_caught() -> None:
    outcomes = [(number, *place(number)) for number, place in enumerate(PLACES)]
    missed = [(number, what) for number, what, said in outcomes if not said]
    assert len(outcomes) == 100
    assert len(missed) <= 5, missed


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_case_breaks_nothing(name: str) -> None:
    hold(sound(name))
    stored(name).execute("BEGIN")
    assert asked(name).execute("FROM ledger_faults").fetchall() == []
    stored(name).execute("ROLLBACK")


def test_nothing_is_answered_from_a_result_that_contradicts_itself() -> None:
    planted = Planted()
    assert an_amount_is_doubled(sound("incident-vram-gap"), random.Random(0), planted)  # noqa: S311
    with pytest.raises(FaultError, match="contradicts itself"):
        hold(sound("incident-vram-gap"))
    planted.undo()
    connection = stored("vllm-two-cards")
    connection.execute("BEGIN")
    connection.execute(IN_TABLES["an amount is doubled"], ["0"])
    with pytest.raises(FaultError, match="a line is counted twice: load L"):
        document(asked("vllm-two-cards"), CATALOGUE)
    connection.execute("ROLLBACK")
