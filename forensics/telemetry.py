"""Join what the log says to what the cards measured: zones, processes, devices, moments.

A measurement belongs to a process by pid where the log gives a trusted one, by a printed pid whose process name and
life agree, or by lives that overlap and fit no other (`inferred`). A device of a process belongs to a card by PCI bus
id, by being the only card that the process holds, or by bus order; never by its number alone.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from .catalogue import Catalogue, Program
from .clocks import elapsed_us
from .lives import Load, Process
from .records.block import CardSamples, HolderSamples, Source
from .told import UNPLACED

__all__ = ["Card", "CardSample", "Holder", "HolderSample", "Join", "Telemetry", "gather", "join_processes", "lives"]

QUARTER_US = 15 * 60 * 1_000_000
"""Zones differ from UTC by multiples of 15 minutes."""

Times = npt.NDArray[np.int64]
"""Moments in order, µs."""

SLACK_US = 2_500_000
"""How far a life seen in samples may stick out of the life that the log shows."""

EDGE_US = 300_000
COVERED = 0.8
"""A life that is only known by its time needs this share of its samples inside it, give or take an edge."""

SETTLED_US = 1_000_000
"""So long after it got ready a process is listed by whoever looks: it has held its memory for a while."""


BESIDE_US = 2_000_000
"""How near in time a sample that says more makes another one needless: tables print whole seconds."""


NAMELESS = (None, None, None)
"""The identity of a card in a row that names none."""

OTHERS_PRINT = "readings without a time are set aside: of the same card, others print theirs"
NO_CARD = f"rows that name no card and print no time {UNPLACED}: the evidence has cards that they could be of"
SEVERAL = "rows that name no card are of several: each moment has more than one"

Samples = TypeVar("Samples", CardSamples, HolderSamples)


@dataclass(frozen=True, slots=True)
class CardSample:
    """One card at one moment; bytes."""

    at_us: int
    total: int | None
    used: int | None
    free: int | None
    reserved: int | None
    source: str
    root: str
    offset: int
    length: int
    filed: bool = False
    """Whether its time is only that of its file."""


@dataclass(frozen=True, slots=True)
class HolderSample:
    """What one process held on one card at one moment; bytes."""

    at_us: int
    used: int | None
    source: str
    root: str
    offset: int
    length: int
    filed: bool = False


@dataclass(eq=False)
class Card:
    """One GPU and its samples in order of time."""

    uuid: str | None
    index: int | None
    pci_bus_id: str | None
    name: str | None
    driver: str | None
    samples: list[CardSample] = field(default_factory=list)

    def at(self, at_us: int) -> CardSample | None:
        """The last sample at or before a moment."""
        place = bisect_right(self.samples, at_us, key=lambda one: one.at_us)
        return self.samples[place - 1] if place else None

    def near(self, at_us: int, within_us: int = 2_000_000) -> CardSample | None:
        """The sample nearest to a moment, if one is near."""
        place = bisect_left(self.samples, at_us, key=lambda one: one.at_us)
        near = [one for one in self.samples[max(0, place - 1) : place + 1] if abs(one.at_us - at_us) <= within_us]
        return min(near, key=lambda one: abs(one.at_us - at_us), default=None)


@dataclass(eq=False)
class Holder:
    """One process on one card and its samples in order of time: one life, split where the pid is not seen for long."""

    pid: int
    name: str | None
    card: Card
    samples: list[HolderSample] = field(default_factory=list)

    @property
    def is_filed(self) -> bool:
        """Whether its times are only those of files."""
        return any(one.filed for one in self.samples)

    @property
    def first_us(self) -> int:
        """Time of its first sample."""
        return self.samples[0].at_us

    @property
    def last_us(self) -> int:
        """Time of its last sample."""
        return self.samples[-1].at_us

    def between(self, begin_us: int | None, end_us: int | None) -> list[HolderSample]:
        """Samples with begin ≤ time < end."""
        low = 0 if begin_us is None else bisect_left(self.samples, begin_us, key=lambda one: one.at_us)
        high = len(self.samples) if end_us is None else bisect_left(self.samples, end_us, key=lambda one: one.at_us)
        return self.samples[low:high]


@dataclass(frozen=True)
class Join:
    """Which holders are a process, and how that is known."""

    holders: tuple[Holder, ...]
    by: str
    scope: str


@dataclass(eq=False)
class Telemetry:
    """All cards and holders of a case, in UTC."""

    cards: list[Card] = field(default_factory=list)
    holders: list[Holder] = field(default_factory=list)
    zone_us: int = 0
    zone_basis: str = "none needed"
    zoned: set[str] = field(default_factory=set)
    """Names of the sources whose times are UTC as they stand."""

    def card(self, uuid: str | None, pci: str | None, index: int | None) -> Card:
        """The card with that identity, of which it may say more than was known; made if it is new."""
        for card in self.cards:
            if uuid is not None and card.uuid is not None:
                found = card.uuid == uuid
            elif pci is not None and card.pci_bus_id is not None:
                found = same_bus(card.pci_bus_id, pci)
            elif (uuid, pci, index) == NAMELESS:
                found = (card.uuid, card.pci_bus_id, card.index) == NAMELESS
            else:
                found = index is not None and card.index == index
            if found:
                card.uuid = card.uuid or uuid
                card.index = index if card.index is None else card.index
                card.pci_bus_id = card.pci_bus_id or pci
                return card
        card = Card(uuid, index, pci, None, None)
        self.cards.append(card)
        return card


def same_bus(one: str | None, other: str | None) -> bool:
    """Whether two PCI bus ids are the same: domains are printed with four or eight digits."""
    if one is None or other is None:
        return False
    return _bus(one) == _bus(other)


def _bus(text: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in re.split("[:.]", text) if part)


def gather(
    card_sets: Iterable[CardSamples], holder_sets: Iterable[HolderSamples], gap_us: int = 60_000_000
) -> Telemetry:
    """Bring the rows of all telemetry sources together, by card and process; times as printed."""
    telemetry = Telemetry()
    card_sets, holder_sets = list(card_sets), list(holder_sets)
    every: list[CardSamples | HolderSamples] = [*card_sets, *holder_sets]
    telemetry.zoned = {one.source.name for one in every if one.zone_known}
    for cards, row, wall, card in _placed(card_sets, telemetry):
        card.name = card.name or cards.name[row]
        card.driver = card.driver or cards.driver
        card.samples.append(
            CardSample(
                wall,
                cards.total_bytes[row],
                cards.used_bytes[row],
                cards.free_bytes[row],
                cards.reserved_bytes[row],
                cards.source.name,
                cards.source.digest.root,
                cards.offset[row],
                cards.length[row],
                cards.source.is_filed(wall),
            )
        )
    rows: dict[tuple[int, int], list[tuple[HolderSample, str | None]]] = {}
    places: dict[tuple[int, int], Card] = {}
    for holders, row, wall, card in _placed(holder_sets, telemetry):
        pid = holders.pid[row]
        if pid is None:
            continue
        key = (id(card), pid)
        places[key] = card
        sample = HolderSample(
            wall,
            holders.used_bytes[row],
            holders.source.name,
            holders.source.digest.root,
            holders.offset[row],
            holders.length[row],
            holders.source.is_filed(wall),
        )
        rows.setdefault(key, []).append((sample, holders.process[row]))
    for key, samples in rows.items():
        samples.sort(key=lambda one: one[0].at_us)
        holder: Holder | None = None
        for sample, name in samples:
            if (
                holder is None
                or sample.at_us - holder.last_us > gap_us
                or (name and holder.name and name != holder.name)
            ):
                holder = Holder(key[1], name, places[key])
                telemetry.holders.append(holder)
            holder.samples.append(sample)
    for card in telemetry.cards:
        card.samples = _fullest(sorted(card.samples, key=lambda one: one.at_us))
    telemetry.cards.sort(key=lambda one: (one.index is None, one.index or 0, one.uuid or ""))
    telemetry.holders.sort(key=lambda one: (one.first_us, one.pid, one.card.index or 0))
    return telemetry


def _placed(sets: Sequence[Samples], telemetry: Telemetry) -> Iterator[tuple[Samples, int, int, Card]]:
    """Every row that has a time, with its set, that time and its card.

    Rows whose time is only their file's are set aside where others of that card print theirs: a file may have been
    copied, and its time must not set a reading between them. One that names no card is taken where none is known.
    """
    dated: set[int] = set()  # cards of which a row prints its time
    later: list[tuple[bool, Samples, int, int]] = []
    for one in sets:
        pids: Sequence[int | None] = one.pid if isinstance(one, HolderSamples) else [None] * len(one.wall_us)
        nameless = [_identity(one, row) == NAMELESS for row in range(len(one.wall_us))]
        moments = Counter(itertools.compress(zip(one.wall_us, pids, strict=True), nameless))
        for row, wall in enumerate(one.wall_us):
            if wall is None:
                continue
            if one.source.is_filed(wall):
                later.append((nameless[row], one, row, wall))
                continue
            if nameless[row] and moments[wall, pids[row]] > 1:
                _set_aside(one.source, SEVERAL)
                continue
            card = telemetry.card(*_identity(one, row))
            dated.add(id(card))
            yield one, row, wall, card
    named = {id(card) for card in telemetry.cards}
    for unnamed, one, row, wall in sorted(later, key=itemgetter(0)):
        if unnamed and named:
            _set_aside(one.source, NO_CARD)
            continue
        card = telemetry.card(*_identity(one, row))
        if not unnamed:
            named.add(id(card))
        if id(card) in dated:
            _set_aside(one.source, OTHERS_PRINT)
        else:
            yield one, row, wall, card


def _identity(one: CardSamples | HolderSamples, row: int) -> tuple[str | None, str | None, int | None]:
    return one.uuid[row], one.pci_bus_id[row], one.index[row]


def _set_aside(source: Source, why: str) -> None:
    """Count a row that is not taken."""
    for place, one in enumerate(source.problems):
        if one.what == why:
            source.problems[place] = one._replace(count=one.count + 1)
            return
    source.tell("loss", why)


def _fullest(samples: Sequence[CardSample]) -> list[CardSample]:
    """Samples without those that say less than another one of the same seconds: a table beside a query's rows."""
    full = [one.at_us for one in samples if one.free is not None and one.reserved is not None]
    if not full or len(full) == len(samples):
        return list(samples)
    kept = []
    for one in samples:
        place = bisect_left(full, one.at_us - BESIDE_US)
        beside = place < len(full) and full[place] <= one.at_us + BESIDE_US
        if not beside or (one.free is not None and one.reserved is not None):
            kept.append(one)
    return kept


@dataclass(frozen=True)
class Life:
    """When a process lived, as its log shows: µs UTC, None where the log does not say."""

    begin_us: int | None
    end_us: int | None


def lives(processes: Sequence[Process]) -> dict[int, Life]:
    """The life of each process, by id() of it."""
    found: dict[int, Life] = {}
    for process in processes:
        begin = process.first.time_us
        if begin is not None and process.first.prefix.clock and process.parent is None:
            clock = elapsed_us(process.first.prefix.clock[0])
            begin -= min(clock or 0, 60_000_000)
        end = None
        if process.ended is not None:
            end = process.ended.time_us
        else:
            load = process.load
            if load is not None and load.ended is not None and load.end_reason != "sleep":
                end = load.ended.time_us
        found[id(process)] = Life(begin, end)
    return found


def shift(telemetry: Telemetry, offset_us: int, basis: str) -> None:
    """Move all times to UTC that were printed without a zone."""
    telemetry.zone_us, telemetry.zone_basis = offset_us, basis
    if not offset_us:
        return
    zoned = telemetry.zoned
    for card in telemetry.cards:
        moved = [one if one.source in zoned else replace(one, at_us=one.at_us - offset_us) for one in card.samples]
        card.samples = _fullest(sorted(moved, key=lambda one: one.at_us))
    for holder in telemetry.holders:
        holder.samples = sorted(
            (one if one.source in zoned else replace(one, at_us=one.at_us - offset_us) for one in holder.samples),
            key=lambda one: one.at_us,
        )


def infer_zone(telemetry: Telemetry, processes: Sequence[Process], tz_us: int | None, zone_known: bool) -> None:
    """Find the zone of the printed times: from lives that must overlap, else as told, else assumed UTC."""
    if zone_known:
        telemetry.zone_basis = "printed with the times"
        return
    if tz_us is not None:
        shift(telemetry, tz_us, "as told by --tz")
        return
    known = lives(processes)
    votes: dict[int, int] = {}
    for process in processes:
        begin, end = known[id(process)].begin_us, known[id(process)].end_us
        pids = ({process.pid} if process.pid else set()) | {int(tag) for tag in process.members if tag.isdigit()}
        if begin is None:
            continue
        for holder in telemetry.holders:
            if holder.pid not in pids or holder.samples[0].source in telemetry.zoned:
                continue
            for quarters in range(-14 * 4, 14 * 4 + 1):
                offset = quarters * QUARTER_US
                first, last = holder.first_us - offset, holder.last_us - offset
                inside = first >= begin - SLACK_US and (end is None or last <= end + SLACK_US)
                if inside and first - begin < QUARTER_US - SLACK_US:  # one of all: the nearest at which it may begin
                    votes[offset] = votes.get(offset, 0) + 1
    if votes:
        best = max(votes, key=lambda one: (votes[one], -abs(one)))
        shift(telemetry, best, "inferred from lives of processes that log and samples both show")
    elif telemetry.cards or telemetry.holders:
        telemetry.zone_basis = "assumed UTC"


def join_processes(telemetry: Telemetry, processes: Sequence[Process], catalogue: Catalogue) -> dict[int, Join]:
    """Which holders are which process, by id() of the process; processes that nothing proves are absent."""
    known = lives(processes)
    joins: dict[int, Join] = {}
    taken: set[int] = set()
    for process in processes:
        life = known[id(process)]
        if process.pid is not None:
            mine = [one for one in telemetry.holders if one.pid == process.pid and _overlaps(one, life)]
            if mine:
                joins[id(process)] = Join(tuple(mine), "trusted process id", "exact")
                taken.update(id(one) for one in mine)
    for process in processes:
        if id(process) in joins or not process.members:
            continue
        program = catalogue.program(process.program)
        life = known[id(process)]
        pids = {int(tag) for tag in process.members if tag.isdigit()}
        mine = [
            one
            for one in telemetry.holders
            if id(one) not in taken and one.pid in pids and _overlaps(one, life) and _named(one, program)
        ]
        if mine:
            joins[id(process)] = Join(tuple(mine), "printed process id; name and life agree", "inferred")
            taken.update(id(one) for one in mine)
    _join_by_life(telemetry, processes, catalogue, known, joins, taken)
    return joins


def _join_by_life(
    telemetry: Telemetry,
    processes: Sequence[Process],
    catalogue: Catalogue,
    known: Mapping[int, Life],
    joins: dict[int, Join],
    taken: set[int],
) -> None:
    """Processes whose pid no line says: by lives that overlap and fit no other."""
    free: dict[int, list[Holder]] = {}
    for holder in telemetry.holders:
        if id(holder) not in taken:
            free.setdefault(holder.pid, []).append(holder)
    waiting = [one for one in processes if id(one) not in joins and one.loads]
    looks = _looks(telemetry)
    fits: dict[int, set[int]] = {}
    for process in waiting:
        life = known[id(process)]
        program = catalogue.program(process.program)
        relayed = process.parent is not None or process.tag is not None
        if life.begin_us is None:
            continue
        for pid, holders in free.items():
            if relayed and process.group.stream.trusted and pid == process.group.stream.pid:
                continue
            named = all(_named(one, program) for one in holders)
            if named and _covered(holders, life) >= COVERED and not _was_missing(holders, process, life, looks):
                fits.setdefault(id(process), set()).add(pid)
    claims: dict[int, list[int]] = {}
    for process_key, pids in fits.items():
        for pid in pids:
            claims.setdefault(pid, []).append(process_key)
    for process in waiting:
        pids = {pid for pid in fits.get(id(process), set()) if claims[pid] == [id(process)]}
        if len(pids) == 1 and len(fits[id(process)]) == 1:
            joins[id(process)] = Join(tuple(free[pids.pop()]), "overlap of lives", "inferred")


def _covered(holders: Sequence[Holder], life: Life) -> float:
    """Which share of the samples of a pid lies inside a life."""
    begin = -(1 << 62) if life.begin_us is None else life.begin_us - EDGE_US
    end = 1 << 62 if life.end_us is None else life.end_us + EDGE_US
    times = [one.at_us for holder in holders for one in holder.samples]
    return sum(begin <= at <= end for at in times) / len(times)


def _looks(telemetry: Telemetry) -> dict[str, Times]:
    """When each source listed processes: one look at the cards lists all of them."""
    times: dict[str, list[int]] = {}
    for holder in telemetry.holders:
        for one in holder.samples:
            times.setdefault(one.source, []).append(one.at_us)
    return {source: np.unique(np.array(at, np.int64)) for source, at in times.items()}


def _was_missing(holders: Sequence[Holder], process: Process, life: Life, looks: Mapping[str, Times]) -> bool:
    """Whether a look at the cards, while a load of the process was there, listed others and not this pid."""
    for source in {one.source for holder in holders for one in holder.samples}:
        seen = np.unique([one.at_us for holder in holders for one in holder.samples if one.source == source])
        for load in process.loads:
            _, ready, closing = load_window(load)
            end = life.end_us if closing is None else closing
            if ready is None or end is None:
                continue
            begin, end = np.searchsorted(looks[source], (ready + SETTLED_US, end - EDGE_US))
            within = looks[source][begin:end]
            after = np.searchsorted(seen, within - EDGE_US)
            if np.any((after == len(seen)) | (seen[np.minimum(after, len(seen) - 1)] > within + EDGE_US)):
                return True
    return False


def _overlaps(holder: Holder, life: Life) -> bool:
    if life.begin_us is not None and holder.last_us < life.begin_us - SLACK_US:
        return False
    return life.end_us is None or holder.first_us <= life.end_us + SLACK_US


def _named(holder: Holder, program: Program) -> bool:
    if holder.name is None or not program.process_names:
        return True
    return any(one.search(holder.name) for one in program.process_names)


def load_window(load: Load) -> tuple[int | None, int | None, int | None]:
    """When a load began, got ready, and began to be cleaned up: µs UTC."""
    ready = load.ready.time_us if load.ready else None
    closing = load.closing or load.ended
    if closing is None:
        later = [one for one in load.process.loads if one.number > load.number]
        closing = later[0].begun if later else None
    return load.begun.time_us, ready, closing.time_us if closing else None
