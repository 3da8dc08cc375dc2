"""Choose the measurement of each load at a named moment, and what its process holds that no line names."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .catalogue import Catalogue
from .events import PoolSized
from .lives import Group, Load, Process, content_id
from .places import Joined, Place, card_of, place_of, printers
from .regexes import found_in
from .rows import CardRow, DeviceRow, LibraryRow, MeasureRow, ProfilePeakRow, RuntimeRow
from .scan import Line
from .steady import last_order, set_clocked, with_first_clocked
from .telemetry import Card, CardSample, Holder, HolderSample, Join, Telemetry, load_window
from .units import MIB

__all__ = ["Measured", "anchor", "card_id", "measure", "telemetry_line_id"]

SETTLE_US = 700_000
"""A sample so soon after a sleep began may still show what is being freed."""


GROWN = 0.9
"""A process whose first sample is less than this share of its most was seen while it loaded."""


@dataclass
class Measured:
    """Rows that join loads to cards."""

    devices: list[DeviceRow] = field(default_factory=list)
    measures: list[MeasureRow] = field(default_factory=list)
    runtimes: list[RuntimeRow] = field(default_factory=list)
    libraries: list[LibraryRow] = field(default_factory=list)
    peaks: list[ProfilePeakRow] = field(default_factory=list)
    cards: list[CardRow] = field(default_factory=list)


def card_id(card: Card) -> str:
    """Identity of a card: UUID, else bus id, else index."""
    return card.uuid or card.pci_bus_id or f"index {card.index}"


def telemetry_line_id(sample: CardSample | HolderSample) -> str:
    """Identity of a row of telemetry: its source's digest and the offset in it."""
    return "T" + content_id(sample.root, sample.offset)


def anchor(processes: Sequence[Process], telemetry: Telemetry, catalogue: Catalogue, joins: dict[int, Join]) -> None:
    """Give wall times to processes whose log has only a clock of its own, where one life in the samples is theirs.

    If the lives in the log and those in the samples are equally many, they are joined in order; else none is.
    """
    for program in catalogue.programs:
        mine = [
            one
            for one in processes
            if one.program == program.name and one.first.time_us is None and one.loads and id(one) not in joins
        ]
        taken = {id(holder) for join in joins.values() for holder in join.holders}
        lives: dict[int, list[Holder]] = {}
        for holder in telemetry.holders:
            named = holder.name is None or any(one.search(holder.name) for one in program.process_names)
            if named and id(holder) not in taken:
                lives.setdefault(holder.pid, []).append(holder)
        if not mine or len(mine) != len(lives):
            continue
        filed = any(holder.is_filed for holders in lives.values() for holder in holders)
        if filed and len(mine) > 1:
            continue  # the time of a file gives no order
        ordered = sorted(lives.values(), key=lambda one: min(holder.first_us for holder in one))
        for process, holders in zip(mine, ordered, strict=True):
            joins[id(process)] = Join(tuple(holders), "order of lives; the log has no wall time", "inferred")
        if filed or not all(_appeared(holders, telemetry) for holders in ordered):
            continue  # it may have run for days before somebody looked; and a file's time is not when memory appeared
        relayed = {id(one.group): one.group for one in mine if one.parent is not None}
        for group in relayed.values():
            _set_group_times(group, joins)
        for process in mine:
            if process.parent is None:
                _set_times(process, joins[id(process)].holders)


def _interval_us(holders: Sequence[Holder]) -> int:
    """How long it is from one sample to the next."""
    gaps = sorted(b.at_us - a.at_us for a, b in itertools.pairwise(holders[0].samples))
    return gaps[len(gaps) // 2] if gaps else 1_000_000


def _appeared(holders: Sequence[Holder], telemetry: Telemetry) -> bool:
    """Whether the samples show a process come, and were not begun when it had long been there.

    A look before did not list it, or a card held less than it does; or its first sample is of a part of its memory.
    """
    first = min(holder.first_us for holder in holders)
    before = first - _interval_us(holders)
    if any(one.first_us < before for one in telemetry.holders):
        return True
    for holder in holders:
        used = [one.used for one in holder.samples if one.used is not None]
        if not used:
            continue
        less = any(one.at_us < before and one.used is not None and one.used < used[0] for one in holder.card.samples)
        if less or used[0] < GROWN * max(used):
            return True
    return False


def _earliest_zero(lines: Sequence[Line], holders: Sequence[Holder]) -> int | None:
    """When a writer's own clock was zero, at the earliest: its memory appears between two samples, the later the first.

    The clock of the first line about a device tells when it had touched a card.
    """
    first = min(holder.first_us for holder in holders)
    clocks = [(clock, one) for one in lines if (clock := one.clock_us) is not None]
    if not clocks:
        return None
    touched = next((clock for clock, one in clocks if one.pattern.event.table == "device_seen"), clocks[0][0])
    return first - _interval_us(holders) - touched


def _set_times(process: Process, holders: Sequence[Holder]) -> None:
    """Place a process's own clock in wall time."""
    last = process.last.order if process.last else process.first.order
    group = process.group
    lines = [one for one in group.lines if process.first.order <= one.order <= last]
    zero = _earliest_zero(with_first_clocked(lines, group, process.first.order, last), holders)
    if zero is None:
        return
    for line in lines:
        clock = line.clock_us
        if clock is not None:
            line.time_us = zero + clock
    set_clocked(group, process.first.order, last, zero)


def _set_group_times(group: Group, joins: Mapping[int, Join]) -> None:
    """Place a supervisor's clock by all its children at once, and each child's by the line that spawned it."""
    children = [one for one in group.processes if one.parent is not None and one.tag is not None]
    spans: list[tuple[Process, int, list[Line], int]] = []
    for place, child in enumerate(children):
        later = [one.first.order for one in children[place + 1 :] if one.tag == child.tag]
        end = later[0] if later else last_order(group) + 1
        own = [one for one in group.lines if one.prefix.tag == child.tag and child.first.order < one.order < end]
        spawned = child.first.clock_us
        if spawned is not None:
            spans.append((child, spawned, own, end - 1))
    zeros = [
        zero - spawned
        for child, spawned, own, last in spans
        if id(child) in joins
        and (
            zero := _earliest_zero(
                with_first_clocked(own, group, child.first.order + 1, last, child.tag), joins[id(child)].holders
            )
        )
        is not None
    ]
    if not zeros:
        return
    zero = max(zeros)
    for line in group.lines:
        clock = line.clock_us
        if clock is not None and line.prefix.tag is None:
            line.time_us = zero + clock
    set_clocked(group, 0, last_order(group), zero, None)
    for child, spawned, own, last in spans:
        for line in own:
            clock = line.clock_us
            if clock is not None:
                line.time_us = zero + spawned + clock
        set_clocked(group, child.first.order + 1, last, zero + spawned, child.tag)


def measure(
    loads: Sequence[Load],
    telemetry: Telemetry,
    joins: Mapping[int, Join],
    catalogue: Catalogue,
) -> Measured:
    """Join loads to cards and pick samples at `last`, `ready`, `asleep`; queries/measured_at.sql picks others.

    Args:
        loads: All loads.
        telemetry: Cards and holders in UTC.
        joins: Holders of each process, by id() of it.
        catalogue: Programs, for device names and calibration.
    """
    found = Measured(
        cards=[
            CardRow(
                card_id=card_id(one),
                gpu_uuid=one.uuid,
                gpu_index=one.index,
                pci_bus_id=one.pci_bus_id,
                name=one.name,
                driver=one.driver,
            )
            for one in telemetry.cards
        ]
    )
    seen: set[tuple[str, str, str]] = set()
    for load in loads:
        places = [place_of(name, printers(name, load, catalogue), load) for name in _names(load)]
        on_cards = sorted({device for place in places if place.where == "card" for device in place.devices})
        join = joins.get(id(load.process))
        cards: dict[str, Joined] = {
            device: card_of(device, on_cards, load.process, telemetry, join) for device in on_cards
        }
        for device, joined in _bare(load, join, cards).items():
            cards[device] = joined
            places.append(Place(device, (device,), "card", False))
        for place in places:
            for device in place.devices:
                key = (load.process.process_id, place.logged, device)
                if key in seen:
                    continue
                seen.add(key)
                found.devices.append(_device_row(load, place, device, cards.get(device)))
        for device, joined in cards.items():
            if joined.card is not None:
                _measure_device(found, load, device, joined, join, telemetry)
                _runtime(found, load, device, joined, catalogue)
                _libraries(found, load, device, joined.card, catalogue)
                _profile_peak(found, load, device, joined)
            elif any(item.mark == "counted" for item in load.items):
                _calibrated(found, load, device, None, catalogue)
    return found


def _names(load: Load) -> list[str]:
    """Device names of a load's ledger, and of the ranks that its writers are bound to."""
    names = {item.device for item in load.items if item.mark == "counted"}
    bound = {str(value) for (_, name), value in load.process.writer_variables.items() if name == "device"}
    if bound:
        names.discard("")
    return sorted(names | bound)


def _bare(load: Load, join: Join | None, cards: Mapping[str, Joined]) -> dict[str, Joined]:
    """Cards that the process holds without any item of the log: bare contexts."""
    if join is None or load.ready is None or any(one.card is None for one in cards.values()):
        return {}
    known = {id(one.card) for one in cards.values()}
    begin, _, end = load_window(load)
    found: dict[str, Joined] = {}
    for holder in join.holders:
        if id(holder.card) in known or not holder.between(begin, end):
            continue
        known.add(id(holder.card))
        name = f"GPU {holder.card.index}" if holder.card.index is not None else card_id(holder.card)
        found[name] = Joined(holder.card, (holder,), join.by, join.scope)
    return found


def _device_row(load: Load, place: Place, device: str, joined: Joined | None) -> DeviceRow:
    buses = {seen.device: seen.pci_bus_id for seen in load.process.devices if seen.pci_bus_id}
    card = joined.card if joined else None
    pids = {holder.pid for holder in joined.holders} if joined else set()
    return DeviceRow(
        process_id=load.process.process_id,
        logged=place.logged,
        device=device,
        place=place.where,
        spread=place.spread,
        card_id=card_id(card) if card else None,
        pid=pids.pop() if len(pids) == 1 else None,
        pci_bus_id=buses.get(device) or (card.pci_bus_id if card else None),
        joined_by=joined.by if joined and card else None,
        join_scope=joined.scope if joined and card else None,
    )


def _measure_device(
    found: Measured,
    load: Load,
    device: str,
    joined: Joined,
    join: Join | None,
    telemetry: Telemetry,
) -> None:
    begin, ready, closing = load_window(load)
    card = joined.card
    assert card is not None
    scope = "exact" if joined.scope == "exact" and join is not None and join.scope == "exact" else "inferred"
    by = f"{join.by}; {joined.by}" if join else joined.by
    if joined.holders:

        def pick(samples: list[HolderSample], last: bool) -> HolderSample | None:
            usable = [one for one in samples if one.used is not None]
            return (usable[-1] if last else usable[0]) if usable else None

        served = [one for holder in joined.holders for one in holder.between(ready, closing)] if load.ready else []
        asleep = _asleep(load)
        awake = [one for one in served if not any(low <= one.at_us < high for low, high in asleep)]
        first = pick(awake, last=False)
        chosen = {"last": pick(awake, last=True), "ready": first}
        if asleep:
            low, high = asleep[-1]
            chosen["asleep"] = pick([one for one in served if low + SETTLE_US <= one.at_us < high], last=True)
        for moment, sample in chosen.items():
            if sample is None or sample.used is None:
                continue
            holder = next(one for one in joined.holders if sample in one.samples)
            found.measures.append(
                MeasureRow(
                    load_id=load.load_id,
                    moment=moment,
                    device=device,
                    card_id=card_id(card),
                    pid=holder.pid,
                    at_us=sample.at_us,
                    measured_bytes=sample.used,
                    measured_by="process",
                    joined_by=by,
                    join_scope=scope,
                    rounding_bytes=MIB // 2,
                    ready_bytes=first.used if first else None,
                    line_id=telemetry_line_id(sample),
                )
            )
        return
    if any(one.card is card for one in telemetry.holders):
        return  # processes were sampled and none of them is provably this one: the card's total would be a guess
    _measure_card(found, load, device, card, by, begin, ready, closing)


def _measure_card(
    found: Measured,
    load: Load,
    device: str,
    card: Card,
    by: str,
    begin: int | None,
    ready: int | None,
    closing: int | None,
) -> None:
    """Without figures by process: the card's use, less what it had before the load."""
    begins = load.process.first.time_us if load.process.first.time_us is not None else begin
    inside = [
        (one, one.used)
        for one in card.samples
        if one.used is not None and (ready is None or one.at_us >= ready) and (closing is None or one.at_us < closing)
    ]
    if not inside or (load.ready is None and not load.items):
        return
    base = card.at(begins - 1) if begins is not None else None
    less = base.used if base is not None else None
    for moment, (sample, used) in (("last", inside[-1]), ("ready", inside[0])):
        found.measures.append(
            MeasureRow(
                load_id=load.load_id,
                moment=moment,
                device=device,
                card_id=card_id(card),
                pid=None,
                at_us=sample.at_us,
                measured_bytes=used - (less or 0),
                measured_by="card_less_baseline" if less is not None else "card",
                joined_by=by,
                join_scope="inferred",
                rounding_bytes=MIB,
                ready_bytes=None,
                line_id=telemetry_line_id(sample),
            )
        )


def _asleep(load: Load) -> list[tuple[int, int]]:
    """Spans in which a load that sleeps inside its life is asleep: µs UTC."""
    spans: list[tuple[int, int]] = []
    since: int | None = None
    for phase, line in load.phases:
        if line.time_us is None:
            continue
        if phase == "asleep":
            since = line.time_us
        elif since is not None:
            spans.append((since, line.time_us))
            since = None
    if since is not None:
        spans.append((since, 1 << 62))
    return spans


def _profile_peak(found: Measured, load: Load, device: str, joined: Joined) -> None:
    """The highest sample before the engine's line that sizes its pool: weights, runtime and the peak of profiling."""
    sized = next(
        (
            one.time_us
            for one in load.process.group.lines
            if one.order > load.begun.order and one.pattern.event is PoolSized and one.time_us is not None
        ),
        None,
    )
    if sized is None or load.begun.time_us is None:
        return
    samples = [
        sample
        for holder in joined.holders
        for sample in holder.between(load.begun.time_us, sized)
        if sample.used is not None
    ]
    if samples:
        peak = max(samples, key=lambda one: one.used or 0)
        found.peaks.append(
            ProfilePeakRow(
                load_id=load.load_id,
                device=device,
                peak_bytes=peak.used or 0,
                line_id=telemetry_line_id(peak),
            )
        )


def _runtime(found: Measured, load: Load, device: str, joined: Joined, catalogue: Catalogue) -> None:
    """The bare process: measured while a load of it sleeps, else from the calibration table."""
    for one in load.process.loads:
        if one.end_reason != "sleep" or one.ended is None or one.ended.time_us is None:
            continue
        following = [other for other in load.process.loads if other.number > one.number]
        end = following[0].begun.time_us if following else None
        if end is None and load.process.ended is not None:
            end = load.process.ended.time_us
        samples = [
            sample
            for holder in joined.holders
            for sample in holder.between(one.ended.time_us + SETTLE_US, end)
            if sample.used is not None
        ]
        if samples:
            sample = samples[-1]
            size = sample.used or 0
            found.runtimes.append(
                RuntimeRow(
                    load_id=load.load_id,
                    device=device,
                    size_bytes=size,
                    low_bytes=size - MIB // 2,
                    high_bytes=size + MIB // 2,
                    basis="measured",
                    origin="the same process while it slept without a load",
                    note="measured while it slept",
                    line_id=telemetry_line_id(sample),
                )
            )
            return
    _calibrated(found, load, device, joined.card, catalogue)


def _measured_on(entry: Mapping[str, Any], card: Card | None) -> bool:
    """Whether a figure of the catalogue was measured on such a card."""
    if not found_in(entry["card"], (card.name if card else None) or ""):
        return False
    return card is None or card.driver is None or found_in(f"^(?:{entry['driver']})", card.driver)


def _libraries(found: Measured, load: Load, device: str, card: Card, catalogue: Catalogue) -> None:
    """What its settings may have it load later: whether they do is asked when settings and requests are in tables."""
    for entry in catalogue.program(load.engine).libraries:
        if not _measured_on(entry, card):
            continue
        low, high = int(entry["low_mib"]) * MIB, int(entry["high_mib"]) * MIB
        for setting, value in entry["settings"].items():
            found.libraries.append(
                LibraryRow(
                    load_id=load.load_id,
                    device=device,
                    name=entry["name"],
                    setting=setting,
                    value=value,
                    from_tokens=entry["from_tokens"],
                    size_bytes=(low + high) // 2,
                    low_bytes=low,
                    high_bytes=high,
                    origin=f"calibration for {entry['card']}, {entry['engine']}: {entry['origin']}",
                )
            )


def _calibrated(found: Measured, load: Load, device: str, card: Card | None, catalogue: Catalogue) -> None:
    for entry in catalogue.program(load.engine).runtimes:
        if not _measured_on(entry, card) or not found_in(entry.get("device", ""), device):
            continue
        low, high = int(entry["low_mib"]) * MIB, int(entry["high_mib"]) * MIB
        which = entry["card"].replace(".*", "any card")
        found.runtimes.append(
            RuntimeRow(
                load_id=load.load_id,
                device=device,
                size_bytes=(low + high) // 2,
                low_bytes=low,
                high_bytes=high,
                basis="inferred",
                origin=f"calibration for {which}, {entry['engine']}: {entry['origin']}",
                note=f"as on {which}",
                line_id=None,
            )
        )
        return
