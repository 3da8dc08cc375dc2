"""What must hold of owners, ledger and measurements whatever was read: each rule again, not the way it was reached.

The machine of `scope.py` decides line by line; here its result is held against what a line itself says (its stream, its
tag, its amount) and against the whole of a load (its span, its repeats, its samples). A break is a fault of this
program, never of the evidence: nothing is answered from a case that has one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .catalogue import Catalogue
from .lives import Group, Item, Load, Mark, Owned, Process, Scope
from .measure import Measured, card_id, telemetry_line_id
from .places import place_of, printers
from .rows import MeasureRow
from .scope import Ownership
from .telemetry import Card, Holder, Join, Telemetry, load_window

__all__ = ["measurement_breaks", "ownership_breaks"]


def ownership_breaks(ownership: Ownership) -> Iterator[str]:
    """What is wrong with owners and ledgers; nothing in a sound case."""
    # Beside rows, lines stand in the order of their places.
    places = {
        line.order: line.order if group.parts else number
        for group in ownership.groups
        for number, line in enumerate(group.lines)
    }
    groups = {line.order: group for group in ownership.groups for line in group.lines}
    of_rows = list(ownership.first_and_last())
    places.update((one.line.order, one.line.order) for _, one in of_rows)
    groups.update((one.line.order, group) for group, one in of_rows)
    known = {id(load) for load in ownership.loads}
    following = {
        id(load): after for process in ownership.processes for load, after in itertools.pairwise(process.loads)
    }
    owners: dict[int, Owned] = {}
    readings: dict[tuple[str, int], Load] = {}
    for one in (*ownership.lines, *(one for _, one in of_rows)):
        where = f"line {one.line.order} ({one.line.text[:60]})"
        if one.line.order in owners:
            yield f"{where} has two owners"
        owners[one.line.order] = one
        if one.load is None:
            continue
        if id(one.load) not in known:
            yield f"{where} belongs to a load that is none of the case's"
            continue
        first = readings.setdefault((one.line.source, one.line.record), one.load)
        if first is not one.load:
            yield f"{where} is read twice and belongs to two loads"
        after = following.get(id(one.load))
        yield from (f"{where} {what}" for what in _owner(one, one.load, after, groups[one.line.order], places))
    for load in ownership.loads:
        where = f"load {load.load_id}"
        yield from (f"{where}: {what}" for what in _span(load, places))
        for item in load.items:
            line = f"{where}: the amount of line {item.line.order} ({item.line.text[:60]})"
            yield from (f"{line} {what}" for what in _item(item, load, owners.get(item.line.order)))
        yield from (f"{where}: {what}" for what in _ledger(load.items, places))


def _owner(one: Owned, load: Load, after: Load | None, group: Group, places: Mapping[int, int]) -> Iterator[str]:
    """What contradicts the owner of a line; `after` is the next load of the same process."""
    line, process = one.line, load.process
    if one.scope not in (Scope.EXACT, Scope.INFERRED):
        yield f"has an owner and the scope {one.scope}"
    if one.suspect or one.candidates or line.carried_by is not None:
        yield "is suspected, carried or of several candidates, and has an owner"
    if one.process is not process:
        yield "belongs to a load of another process"
    if group is not process.group:
        yield "is of another stream than its load"
    elif places[line.order] < places.get(load.begun.order, 0):
        yield "stands before its load begins"
    elif after is not None and places[line.order] > places[after.begun.order]:
        yield "stands after the next load of its process began"
    supervisor = line.pattern.role == "parent" or line.stream.manager or line.stream.kernel
    if process.tag is not None and line.prefix.tag != process.tag and not supervisor:
        yield f"carries the tag {line.prefix.tag}, and its load's process has {process.tag}"
    pids = {process.pid, *process.pids} - {None}
    own = line.stream.trusted and not supervisor and process.parent is None and process.tag is None
    if own and pids and not process.members and line.stream.pid not in pids and line.stream.pid is not None:
        yield "was written by another process id"


def _span(load: Load, places: Mapping[int, int]) -> Iterator[str]:
    """What is wrong with the life of a load."""
    steps = [line for line in (load.begun, load.ready, load.ended) if line is not None]
    numbers = [places[line.order] for line in steps if line.order in places]
    if numbers != sorted(numbers):
        yield "it got ready or ended before it began"
    if load.ended is not None and load.end_reason is None:
        yield "it has ended without a reason"


def _item(item: Item, load: Load, owner: Owned | None) -> Iterator[str]:
    """What contradicts an amount of a ledger."""
    line = item.line
    event: Any = line.matched.event
    if item.load is not load or owner is None or owner.load is not load:
        yield "is in the ledger of another load than its line's"
        return
    arguments = line.pattern.effects["item"]
    field = arguments.get("from", "size_bytes")
    if item.size_bytes != getattr(event, field) or item.bound_bytes != line.matched.bounds.get(field, 0):
        yield "is not what its line says"
    kind = arguments.get("kind", getattr(event, "kind", None))
    if item.device != (getattr(event, "device", None) or "") or item.kind != kind:
        yield "is on another device or of another kind than its line says"
    if item.basis != arguments.get("basis", "logged") and item.basis != "derived":
        yield f"is called {item.basis}, which its pattern does not say"
    if item.part != arguments.get("part", owner.part) and "part" not in line.pattern.effects:
        yield f"is of the part {item.part}, and its line of {owner.part}"
    if item.mark is Mark.COUNTED:
        if item.basis == "estimated":
            yield "is a forecast and is counted"
        if item.superseded_by is not None:
            yield "is counted although another one replaces it"
        if owner.phase not in line.pattern.believed_in and "phase" not in line.pattern.effects:
            yield f"is counted although it was printed in the phase {owner.phase}"


def _ledger(items: Sequence[Item], places: Mapping[int, int]) -> Iterator[str]:
    """Amounts that are counted although they repeat or replace each other."""
    counted = [one for one in items if one.mark is Mark.COUNTED]
    seen: set[tuple[int, str]] = set()
    for one in counted:
        key = (one.line.order, one.device)
        if key in seen:
            yield f"line {one.line.order} is counted twice on {one.device}"
        seen.add(key)
    repeats: dict[tuple[object, ...], list[Item]] = {}
    for one in items:
        where: object = id(one.context) if one.per == "context" else one.part if one.per == "part" else None
        repeats.setdefault((one.line.pattern.where, one.kind, where, one.combine), []).append(one)
    for (_, _, _, combine), same in repeats.items():
        kept = [one for one in same if one.mark is Mark.COUNTED]
        if combine in {"once", "last"}:
            by_writer = [(one.device, one.writer) for one in kept]
            if len(by_writer) != len(set(by_writer)):
                yield f"an amount that replaces itself is counted twice: {kept[-1].line.text[:60]}"
        if combine == "block" and len({one.block for one in kept}) > 1:
            yield f"amounts of two reservations are counted: {kept[-1].line.text[:60]}"
        if combine == "last":
            for one in kept:
                later = [
                    other
                    for other in same
                    if (other.device, other.writer) == (one.device, one.writer)
                    and places[other.line.order] > places[one.line.order]
                    and other.mark is Mark.SUPERSEDED
                ]
                if later:
                    yield f"an older amount is counted instead of the last: {one.line.text[:60]}"
    by_basis = {(one.kind, one.device, one.basis == "derived") for one in counted}
    for kind, device, derived in by_basis:
        if derived and (kind, device, False) in by_basis:
            yield f"{kind} on {device} is counted as its supervisor computed it and as it was logged"


# -- measurements -----------------------------------------------------------------------------------------------------


def measurement_breaks(
    loads: Sequence[Load],
    telemetry: Telemetry,
    joins: Mapping[int, Join],
    measured: Measured,
    catalogue: Catalogue,
) -> Iterator[str]:
    """What is wrong with what joins loads to cards; nothing in a sound case."""
    by_id = {load.load_id: load for load in loads}
    cards = {card_id(card): card for card in telemetry.cards}
    holders: dict[tuple[int, int], list[Holder]] = {}
    for holder in telemetry.holders:
        holders.setdefault((id(holder.card), holder.pid), []).append(holder)
    seen: set[tuple[str, str, str]] = set()
    shown: dict[tuple[str, int | None, int], Process] = {}
    for row in measured.measures:
        where = f"{row.moment} of {row.load_id} on {row.device}"
        key = (row.load_id, row.moment, row.device)
        if key in seen:
            yield f"{where} is measured twice"
        seen.add(key)
        load, card = by_id.get(row.load_id), cards.get(row.card_id)
        if load is None or card is None:
            yield f"{where} is of no load or card of the case"
            continue
        if row.measured_by == "process":
            first = shown.setdefault((row.card_id, row.pid, row.at_us), load.process)
            if first is not load.process:
                yield f"{where} is what another process holds"
            yield from (
                f"{where} {what}"
                for what in _by_process(
                    row, load, joins.get(id(load.process)), holders.get((id(card), row.pid or 0), [])
                )
            )
        else:
            yield from (f"{where} {what}" for what in _by_card(row, load, card))
    once: set[tuple[str, str]] = set()
    for runtime in measured.runtimes:
        if (runtime.load_id, runtime.device) in once:
            yield f"the runtime of {runtime.load_id} on {runtime.device} is there twice"
        once.add((runtime.load_id, runtime.device))
        if not runtime.low_bytes <= runtime.size_bytes <= runtime.high_bytes:
            yield f"the runtime of {runtime.load_id} on {runtime.device} is outside its own bounds"
    processes = {load.process.process_id: load for load in loads}
    for device in measured.devices:
        owner = processes.get(device.process_id)
        if owner is None:
            yield f"{device.device} is of no process of the case"
            continue
        of_process = [
            place_of(device.logged, printers(device.logged, one, catalogue), one)
            for one in loads
            if one.process.process_id == device.process_id
        ]
        bare = device.place == "card" and device.card_id is not None and device.logged == device.device
        if not any(place.where == device.place and device.device in place.devices for place in of_process) and not bare:
            yield f"{device.logged} is called {device.place}, which its name does not say"
        if bare and any(place.where == "host" for place in of_process):
            yield f"{device.logged} is host memory and is put on a card"
        if device.card_id is not None and device.place != "card":
            yield f"{device.logged} is no card's and is put on one"


def _by_process(row: MeasureRow, load: Load, join: Join | None, holders: Sequence[Holder]) -> Iterator[str]:
    """What contradicts a figure of one process."""
    _, ready, closing = load_window(load)
    found = [
        (holder, sample)
        for holder in holders
        for sample in holder.between(row.at_us, row.at_us + 1)
        if telemetry_line_id(sample) == row.line_id
    ]
    if not found:
        yield "cites no sample of that process on that card at that time"
        return
    holder, sample = found[0]
    if join is None or all(one is not holder for one in join.holders):
        yield "is of a process that is not joined to its load"
    if sample.used != row.measured_bytes:
        yield "is not what its sample says"
    if (ready is not None and row.at_us < ready) or (closing is not None and row.at_us >= closing):
        yield "was taken when the load was not there"
    inside = [one.at_us for one in holder.between(ready, closing) if one.used is not None]
    if row.moment == "ready" and inside and row.at_us != inside[0] and not _slept(load):
        yield "is not the first sample after it got ready"
    if row.moment == "last" and inside and row.at_us != inside[-1] and not _slept(load):
        yield "is stale: later samples show the load too"


def _slept(load: Load) -> bool:
    return any(phase == "asleep" for phase, _ in load.phases)


def _by_card(row: MeasureRow, load: Load, card: Card) -> Iterator[str]:
    """What contradicts a figure that a card's use gives."""
    begin, ready, closing = load_window(load)
    mine = [one for one in card.samples if one.at_us == row.at_us and telemetry_line_id(one) == row.line_id]
    if not mine or mine[0].used is None:
        yield "cites no sample of that card at that time"
        return
    if (ready is not None and row.at_us < ready) or (closing is not None and row.at_us >= closing):
        yield "was taken when the load was not there"
    begins = load.process.first.time_us if load.process.first.time_us is not None else begin
    base = card.at(begins - 1) if begins is not None else None
    less = base.used if base is not None else None
    if row.measured_bytes != mine[0].used - (less or 0):
        yield "is not the card's use less what it had before"
    if (row.measured_by == "card_less_baseline") != (less is not None):
        yield "does not say whether the card's use before is taken off"
    inside = [
        one.at_us
        for one in card.samples
        if one.used is not None and (ready is None or one.at_us >= ready) and (closing is None or one.at_us < closing)
    ]
    if row.moment == "last" and inside and row.at_us != inside[-1]:
        yield "is stale: later samples show the load too"
    if row.moment == "ready" and inside and row.at_us != inside[0]:
        yield "is not the first sample after it got ready"
