"""Hold an answer against what a case states: `[[expect]]` rows of its case.toml, each a few values in sight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, get_args, get_origin, get_type_hints

import duckdb

from .errors import UsageError
from .units import MIB

__all__ = ["Answered", "Expect", "Shortfall", "parse_expect", "shortfalls"]


class Answered(Protocol):
    """A case as it was answered: its rows, its document at a moment, its screen."""

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The case's tables and questions."""

    def document(self, moment: str, load: int | None = None) -> Mapping[str, Any]:
        """The document of explain-vram at `last`, `ready`, `asleep` or a time, of all loads or of one."""

    def screen(self, question: str) -> str:
        """What the question's command prints."""


@dataclass(frozen=True, kw_only=True)
class Expect:
    """What one row states. Keys that are given are checked; the first ones say what they are about.

    Sizes are MiB as logs and nvidia-smi print them; each holds to half of its last printed place.
    """

    load: int | None = None
    """Number of the load in order of time: what the row is about."""
    device: str | None = None
    """Device of the load, as its log names it."""
    part: str | None = None
    """With `kind`: one item of the device."""
    kind: str | None = None
    at: str = "last"
    """Moment: ready, last, asleep or a time."""

    mib: float | None = None
    """Amount of the item."""
    within_mib: float = 0.005
    """How far off it may be: half of the last printed place."""
    basis: str | None = None
    """How the item is known."""
    absent: bool = False
    """There is no such item, or no such device."""
    logged_mib: float | None = None
    """Sum of the logged items of the device: nothing twice, nothing lost."""
    measured_mib: float | None = None
    measured_by: str | None = None
    max_unexplained_mib: float | None = None
    """Largest rest, of either sign."""

    model: str | None = None
    label: str | None = None
    pid: int | None = None
    layers: str | None = None
    ready: bool | None = None
    end_reason: str | None = None
    cards: list[str] | None = None
    """Names of all devices of the load that are on a card."""
    failure: list[str] | None = None
    """Texts that the load's failure must show."""
    speculation: str | None = None

    loads: int | None = None
    """Number of loads in the evidence."""
    holder: int | None = None
    """Process id that holds the card `gpu_index` beside or as the load; `of_load` 0: of no load in the evidence."""
    gpu_index: int = 0
    of_load: int | None = None
    gap_mib: float | None = None
    named_mib: float | None = None
    estimated_mib: float | None = None
    left_mib: float | None = None
    state: str | None = None
    """State of a finding of the load."""
    says: list[str] | None = None
    """Texts that the screen must show, whatever its line breaks."""
    never_says: list[str] | None = None
    question: str = "explain-vram"
    """Whose screen."""
    table: str | None = None
    """A table or question: rows of it, those of `load` if one is named, with the values of `having`."""
    having: dict[str, Any] | None = None
    count: int | None = None
    """Rows there must be; at least one without it."""


@dataclass(frozen=True)
class Shortfall:
    """What a case states and the answer does not give; the line that shows it, if one does."""

    what: str
    evidence: str | None = None


def _types() -> dict[str, type]:
    """The type that each key has in TOML."""
    found: dict[str, type] = {}
    for name, hint in get_type_hints(Expect).items():
        one = next(part for part in (get_args(hint) if type(None) in get_args(hint) else (hint,)) if part is not None)
        found[name] = get_origin(one) or one
    return found


TYPES = _types()


def parse_expect(entry: Mapping[str, Any], where: str) -> Expect:
    """Read one row.

    Raises:
        UsageError: A key is unknown or of a wrong type; the message says where.
    """
    for key, value in entry.items():
        if key not in TYPES:
            raise UsageError(f"{where}: no row can state {key!r}; known: {', '.join(TYPES)}")
        kind = TYPES[key]
        fits = isinstance(value, bool) if kind is bool else isinstance(value, kind) and not isinstance(value, bool)
        if not fits and not (kind is float and isinstance(value, int)):
            raise UsageError(f"{where}: {key} must be {kind.__name__}, not {value!r}")
    return Expect(**entry)


def shortfalls(expect: Expect, answered: Answered) -> Iterator[Shortfall]:
    """What a row states and the answer does not give."""
    if expect.table is not None:
        yield from _rows(expect, expect.table, answered)
        return
    if expect.says or expect.never_says:
        yield from _screen(expect, answered)
    whole = expect.at == "last" or expect.loads is not None or expect.holder is not None
    found = answered.document(expect.at, None if whole else expect.load)
    if expect.loads is not None and len(found["loads"]) != expect.loads:
        yield Shortfall(f"{expect.loads} loads expected, {len(found['loads'])} found")
    if expect.holder is not None:
        yield from _holder(expect, found)
    if expect.load is None or expect.holder is not None:
        return
    load = next((one for one in found["loads"] if one["number"] == expect.load), None)
    if load is None:
        yield Shortfall(f"there is no load {expect.load}")
        return
    yield from _ready(expect, load, answered)
    yield from _load(expect, load)
    yield from _gap(expect, load)
    if expect.device is not None:
        yield from _device(expect, load)


def _rows(expect: Expect, table: str, answered: Answered) -> Iterator[Shortfall]:
    """Count rows of a table or question."""
    columns = [str(row[0]) for row in answered.connection.execute(f'DESCRIBE "{table}"').fetchall()]
    having = dict(expect.having or {})
    if unknown := set(having) - set(columns):
        raise UsageError(f"{table} has no column {', '.join(sorted(unknown))}; it has {', '.join(columns)}")
    clauses = [f'"{name}" = ?' for name in having]
    values = list(having.values())
    if expect.load is not None:
        clauses.append("load_id = (SELECT load_id FROM load WHERE number = ?)")
        values.append(expect.load)
    where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
    cited = "line_id" if "line_id" in columns else "NULL"
    rows = answered.connection.execute(f'SELECT {cited} FROM "{table}"{where}', values).fetchall()
    if (expect.count is None and not rows) or (expect.count is not None and len(rows) != expect.count):
        wanted = "at least 1" if expect.count is None else str(expect.count)
        of = f" of load {expect.load}" if expect.load is not None else ""
        what = f"{wanted} rows of {table}{of} with {having} expected, {len(rows)} found"
        yield Shortfall(what, rows[0][0] if rows else None)


def _screen(expect: Expect, answered: Answered) -> Iterator[Shortfall]:
    screen = " ".join(answered.screen(expect.question).split())
    for text in expect.says or ():
        if " ".join(text.split()) not in screen:
            yield Shortfall(f"the screen of {expect.question} does not say {text!r}")
    for text in expect.never_says or ():
        if " ".join(text.split()) in screen:
            yield Shortfall(f"the screen of {expect.question} says {text!r}")


def _holder(expect: Expect, found: Mapping[str, Any]) -> Iterator[Shortfall]:
    """A process on a card: what it holds, and which load it is of."""
    numbers = {load["load_id"]: load["number"] for load in found["loads"]}
    cards = [card for card in found["cards"] if card["gpu_index"] == expect.gpu_index]
    holders = [one for card in cards for one in card["holders"] if one["pid"] == expect.holder]
    if not holders:
        yield Shortfall(f"pid {expect.holder} is no holder of GPU {expect.gpu_index}")
        return
    if expect.mib is not None and not _same(holders[0]["mib"], expect.mib):
        yield Shortfall(f"pid {expect.holder} holds {holders[0]['mib']} MiB, {expect.mib} expected")
    owner = numbers.get(holders[0]["load_id"], 0)
    if expect.of_load is not None and owner != expect.of_load:
        yield Shortfall(f"pid {expect.holder} is given to load {owner}, {expect.of_load} expected")


def _ready(expect: Expect, load: Mapping[str, Any], answered: Answered) -> Iterator[Shortfall]:
    """Whether a line says that it got ready; a log without wall time has that line too."""
    if expect.ready is not None:
        sql = "SELECT ready_line FROM load WHERE load_id = ?"
        (line,) = answered.connection.execute(sql, [load["load_id"]]).fetchone() or (None,)
        if (line is not None) != expect.ready:
            yield Shortfall(f"load {expect.load}: ready = {line is not None}, {expect.ready} expected", line)


def _load(expect: Expect, load: Mapping[str, Any]) -> Iterator[Shortfall]:
    name = f"load {expect.load}"
    for key in ("model", "label", "pid", "end_reason"):
        wanted = getattr(expect, key)
        if wanted is not None and load[key] != wanted:
            yield Shortfall(f"{name}: {key} is {load[key]!r}, {wanted!r} expected")
    if expect.layers is not None and f"{expect.layers} layers offloaded" not in load["summary"]["notes"]:
        yield Shortfall(f"{name}: {expect.layers} layers expected, found {load['summary']['notes']}")
    if expect.speculation is not None and load["summary"]["speculation"] != expect.speculation:
        yield Shortfall(f"{name}: speculation {load['summary']['speculation']!r}, {expect.speculation!r} expected")
    if expect.cards is not None:
        cards = [device["device"] for device in load["devices"] if device["where"] == "card"]
        if cards != expect.cards:
            yield Shortfall(f"{name}: devices on cards {cards}, {expect.cards} expected")
    if expect.failure is not None:
        failure = load["failure"]
        if failure is None:
            yield Shortfall(f"{name}: no failure is explained")
            return
        told = " ".join([str(failure["what"]), *map(str, failure["detail"])])
        lines = failure["evidence"]
        for text in expect.failure:
            if text not in told:
                yield Shortfall(f"{name}: its failure does not tell {text!r}: {told}", lines[0] if lines else None)


def _gap(expect: Expect, load: Mapping[str, Any]) -> Iterator[Shortfall]:
    wanted = {
        "mib": expect.gap_mib,
        "named_mib": expect.named_mib,
        "estimated_mib": expect.estimated_mib,
        "unexplained_mib": expect.left_mib,
    }
    if any(value is not None for value in wanted.values()):
        gap = load["gap"]
        if gap is None:
            yield Shortfall(f"load {expect.load}: no gap to a self-report is shown")
        else:
            for key, value in wanted.items():
                if value is not None and not _same(gap[key], value):
                    yield Shortfall(f"load {expect.load}: gap {key} is {gap[key]}, {value} expected")
    if expect.state is not None and expect.state not in {one["state"] for one in load["findings"]}:
        yield Shortfall(f"load {expect.load}: no finding is {expect.state!r}")


def _device(expect: Expect, load: Mapping[str, Any]) -> Iterator[Shortfall]:
    name = f"load {expect.load}, {expect.device}, {expect.at}"
    device = next((one for one in load["devices"] if one["device"] == expect.device), None)
    if device is None:
        if not expect.absent:
            yield Shortfall(f"{name}: the load has no such device")
        return
    if expect.kind is not None or expect.part is not None:
        yield from _item(expect, device, name)
    elif expect.absent:
        yield Shortfall(f"{name}: the load has that device")
    seen = device["measured_evidence"][0] if device["measured_evidence"] else None
    if expect.logged_mib is not None:
        logged = [item for item in device["items"] if item["basis"] in {"logged", "derived"}]
        total = sum(item["bytes"] for item in logged) / MIB
        # Each printed amount is off by up to half of its last place, and they add up.
        if abs(total - expect.logged_mib) > 0.005 * (len(logged) + 1):
            shown = " + ".join(f"{item['mib']:.2f} {item['part']} {item['kind']}" for item in logged)
            yield Shortfall(f"{name}: logged {total:.2f} MiB, {expect.logged_mib} expected: {shown}", _first(logged))
    if expect.measured_mib is not None and not _same(device["measured_mib"], expect.measured_mib):
        yield Shortfall(f"{name}: measured {device['measured_mib']} MiB, {expect.measured_mib} expected", seen)
    if expect.measured_by is not None and device["measured_by"] != expect.measured_by:
        yield Shortfall(f"{name}: measured by {device['measured_by']}, {expect.measured_by} expected", seen)
    if expect.max_unexplained_mib is not None:
        rest = device["unexplained_mib"]
        if rest is None or abs(rest) > expect.max_unexplained_mib:
            yield Shortfall(f"{name}: unexplained {rest} MiB, at most {expect.max_unexplained_mib} expected", seen)


def _item(expect: Expect, device: Mapping[str, Any], name: str) -> Iterator[Shortfall]:
    items = [
        item for item in device["items"] if expect.part in {None, item["part"]} and expect.kind in {None, item["kind"]}
    ]
    what = f"{name}: {expect.part or 'any part'} {expect.kind or 'any kind'}"
    if expect.absent:
        if items:
            yield Shortfall(f"{what}: none expected, found {items[0]['mib']} MiB", _first(items))
        return
    if len(items) != 1:
        yield Shortfall(f"{what}: one item expected, found {len(items)}", _first(items))
        return
    item = items[0]
    if expect.mib is not None and not _same(item["mib"], expect.mib, expect.within_mib):
        yield Shortfall(f"{what} is {item['mib']} MiB, {expect.mib} expected", _first(items))
    if expect.basis is not None and item["basis"] != expect.basis:
        yield Shortfall(f"{what} is {item['basis']}, {expect.basis} expected", _first(items))


def _first(items: list[Mapping[str, Any]]) -> str | None:
    return next((line for item in items for line in item["evidence"]), None)


def _same(value: float | None, wanted: float, within: float = 0.005) -> bool:
    """Whether an amount is the one stated."""
    return value is not None and abs(value - wanted) <= within + 1e-5
