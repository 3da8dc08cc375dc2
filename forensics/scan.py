"""Find the records that any pattern could read, in one multi-literal pass, and read them.

No Python runs for lines nobody wants: the literals of all patterns are searched over the block's bytes at once, and
only hit records go on. A hit that no pattern reads is counted; one that carries a size and is read by nothing is kept
as a loss, since a size left unread is how a wrong total begins.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .carriers import Carriers, clean
from .catalogue import Catalogue, Matched, Pattern, Prefix, Program
from .clocks import wall_us
from .columns import RefusedError, Rows, Sort, clocks_of, is_plain, read_columns
from .engines import best_engine
from .line import Line, Twin
from .records.block import NO_TIME, Block, Integers, Stream
from .regexes import Regex
from .unread import WORDINGS, masked

__all__ = ["Found", "Line", "ScanCounts", "Scanner", "Twin", "Unread"]

SIZE_LITERALS: tuple[bytes, ...] = (b" MiB", b"MiB ", b" GiB", b"GiB", b" KiB", b" GB", b" MB", b" bytes")
"""What a line with an amount of memory contains. They are part of the main scan, so that none is left unread."""

UNIT = re.compile(r"(?:[KMGT]i?B|bytes)\b")

DEVICE_LITERALS: tuple[bytes, ...] = (b"CUDA", b"ROCm", b"Vulkan", b"SYCL", b"MUSA", b"CANN", b"MTL", b"cuda:")
"""What a line that names a device contains: part of the main scan too."""

DEVICE = re.compile(r"\b(?:CUDA|ROCm|Vulkan|SYCL|MUSA|CANN|MTL)\d+\b|\bcuda:\d+\b")

TOKENS = re.compile(r"(?<![\w,])\d[\d,]*+\s++tokens?\b|tokens\s*+[=:]\s*+\d")
SAMPLED = 100
"""Token counts stand in most lines: so many records of a block are looked at for one that no pattern reads."""

REMEMBERED = 100_000
"""For how many sets of literals and streams it is remembered what is tried on them."""

EXCERPT = 400
"""Characters of a line kept for printing; the bytes stay in the source."""


@dataclass(slots=True)
class Unread:
    """A record that carries a size, a device or a token count and that no pattern read."""

    source: str
    offset: int
    length: int
    text: str
    stream: Stream
    what: str = "size"
    components: tuple[tuple[str, str], ...] = ()
    """Programs that have such a component, and the component: the line may be a new wording of it."""
    more: int = 0
    """Later records that are the same but for their digits, and are counted here only."""


@dataclass
class ScanCounts:
    """What became of the records of a source: hit = read + unread hits; sized lines are counted apart.

    Placed lines name a device and no size; lines with a token count are those among the sampled records. Bytes are
    those of messages, without what a collector wraps them in.
    """

    records: int = 0
    bytes: int = 0
    read_bytes: int = 0
    hit: int = 0
    read: int = 0
    missed: int = 0
    sized: int = 0
    sized_read: int = 0
    placed: int = 0
    placed_read: int = 0
    sampled: int = 0
    tokens: int = 0
    tokens_read: int = 0
    programs: Counter[str] = field(default_factory=Counter)
    carried: int = 0
    unread: list[Unread] = field(default_factory=list)
    unread_dropped: int = 0
    wordings: dict[tuple[str, str], Unread] = field(default_factory=dict)
    """The first unread record of each wording, by what it carries and its masked text."""


class Found(NamedTuple):
    """What is wanted of one block: lines in order, and what only reports as columns."""

    lines: list[Line]
    rows: Rows | None

    @property
    def source(self) -> str | None:
        """The source of the block, if anything is wanted of it."""
        return self.lines[0].source if self.lines else self.rows.source if self.rows is not None else None

    def all(self) -> list[Line]:
        """Everything as lines, in order."""
        if self.rows is None:
            return self.lines
        return sorted([*self.lines, *(self.rows.line(at) for at in range(len(self.rows)))], key=lambda one: one.record)


class _Hits(NamedTuple):
    """Records that hold literals, each with the number of its set; and all pairs of record and literal, in order."""

    records: Integers
    keys: Integers
    of: Integers
    literals: Integers

    def wanted(self) -> _Wanted:
        """The literals that each record holds."""
        return _Wanted(self)

    def holding(self, literals: Integers) -> list[int]:
        """Records that hold some of the literals, in order."""
        found: list[int] = np.unique(self.of[np.isin(self.literals, literals)]).tolist()
        return found

    def only(self, literals: Integers) -> list[tuple[int, int]]:
        """Pairs of records and some of the literals."""
        chosen = np.isin(self.literals, literals)
        return list(zip(self.of[chosen].tolist(), self.literals[chosen].tolist(), strict=True))


class _Wanted(Mapping[int, Sequence[int]]):
    """The literals of each record that holds some, without an object for each."""

    def __init__(self, hits: _Hits) -> None:
        self._hits = hits

    def __getitem__(self, record: int) -> Sequence[int]:
        begin, end = np.searchsorted(self._hits.of, (record, record + 1))
        if begin == end:
            raise KeyError(record)
        found: list[int] = self._hits.literals[begin:end].tolist()
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._hits.records.tolist())

    def __len__(self) -> int:
        return len(self._hits.records)


class _Step(NamedTuple):
    """How a program takes the prefix off a line, and which of its patterns are tried on what is left, in order."""

    split: Callable[[str], re.Match[str] | None]
    message: int
    tag: int
    who: int
    clock: int
    level: int
    json: bool
    wall: bool
    patterns: list[tuple[Callable[[str], re.Match[str] | None], Pattern, int]]

    @classmethod
    def of(cls, program: Program) -> _Step:
        """The step of a program, without patterns. A group that it has not is the last of all, which is none."""
        grammar = program.grammar
        groups = grammar.regex.compiled().groupindex

        def place(name: str | None) -> int:
            return groups[name] - 1 if name in groups else -1

        return cls(
            _bound(grammar.regex),
            place("message"),
            place(grammar.tag),
            place(grammar.who),
            place("clock"),
            place("level"),
            grammar.envelope is not None,
            grammar.clock == "wall",
            [],
        )


def _bound(regex: Regex) -> Callable[[str], re.Match[str] | None]:
    if regex.bounded:
        return regex.match
    matching: Callable[[str], re.Match[str] | None] = regex.compiled().match
    return matching


class _Plain:
    """The lines of one block that only report, while they are collected."""

    def __init__(self, scanner: Scanner, block: Block) -> None:
        self._scanner, self._block = scanner, block
        self._taken: list[tuple[int, int, str, str | None]] = []
        """Sort, record, text and clock of each line."""
        self._alike: dict[tuple[int, int, str | None, str | None, str], int] = {}
        self._times: dict[int, int] = {}
        self._found: dict[int, tuple[list[int], list[tuple[str | None, ...]]]] = {}
        self._columns: dict[int, tuple[list[int], dict[str, pa.Array]]] = {}

    def take(self, record: int, stream_number: int, text: str, steps: tuple[_Step, ...]) -> bool:
        """Take a line if one plain pattern reads it and no other program does."""
        taken: tuple[_Step, tuple[str | None, ...], str, re.Match[str], int] | None = None
        for step in steps:
            split = step.split(text)
            if split is None:
                continue
            groups = (*split.groups(), None)
            message = groups[step.message]
            assert message is not None
            if step.json and message.startswith("{"):
                return False
            for match, _, number in step.patterns:
                found = match(message)
                if found is not None:
                    if number < 0 or taken is not None:
                        return False
                    taken = step, groups, message, found, number
                    break
        if taken is None or len(text) > EXCERPT:
            return False
        step, groups, _, found, number = taken
        clock, level = groups[step.clock], groups[step.level]
        form = ("json" if clock and clock.isdigit() else "prefix") if clock or level else "bare"
        alike = number, stream_number, groups[step.tag], groups[step.who], form
        sort = self._alike.get(alike)
        if sort is None:
            stream = self._block.stream_table[stream_number]
            sort = self._alike[alike] = self._scanner.sort_of(number, stream, *alike[2:])
        place = len(self._taken)
        self._taken.append((sort, record, text, clock or None))
        if step.wall and clock and self._block.times[record] == NO_TIME:
            time = wall_us(clock)
            if time is not None:
                self._times[place] = time
        kept = self._found.get(number)
        if kept is None:
            kept = self._found[number] = ([], [])
        kept[0].append(place)
        kept[1].append(found.groups())
        return True

    def refused(self) -> list[int]:
        """Read the values of all lines, and let go of those that have none."""
        gone: list[int] = []
        for number, (places, found) in self._found.items():
            pattern = self._scanner.patterns[number]
            try:
                self._columns[number] = places, read_columns(pattern, found)
            except RefusedError as error:
                bad = set(error.places)
                gone += [places[at] for at in bad]
                kept = [at for at in range(len(places)) if at not in bad]
                if kept:
                    self._columns[number] = (
                        [places[at] for at in kept],
                        read_columns(pattern, [found[at] for at in kept]),
                    )
        self._found.clear()
        if not gone:
            return []
        left = np.ones(len(self._taken), bool)
        left[gone] = False
        records = [self._taken[at][1] for at in gone]
        moved = np.cumsum(left) - 1
        self._columns = {
            number: (moved[places].tolist(), columns) for number, (places, columns) in self._columns.items()
        }
        self._times = {int(moved[place]): time for place, time in self._times.items() if left[place]}
        self._taken = [self._taken[at] for at in np.flatnonzero(left).tolist()]
        return sorted(records)

    def programs(self) -> dict[str, int]:
        """How many lines each program's patterns read."""
        found: dict[str, int] = {}
        for number, (places, _) in self._columns.items():
            program = self._scanner.patterns[number].program
            found[program] = found.get(program, 0) + len(places)
        return found

    def rows(self) -> Rows | None:
        """The lines as columns, if there are any."""
        if not self._taken:
            return None
        block = self._block
        sorts, records, texts, clocks = zip(*self._taken, strict=True)
        at = np.array(records, np.int64)
        times = block.times[at]
        if self._times:
            times[list(self._times)] = list(self._times.values())
        events: dict[str, list[Any]] = {}
        for number, (places, columns) in self._columns.items():
            table = self._scanner.patterns[number].event.table
            events.setdefault(table, []).append((np.array(places, np.int32), columns))
        return Rows(
            source=block.source.name,
            sorts=self._scanner.sorts,
            programs=self._scanner.programs,
            sort=np.array(sorts, np.int32),
            record=at + block.first_record,
            offset=block.offsets[at],
            length=block.lengths[at],
            time=times,
            clock=clocks_of(clocks),
            text=pa.array(texts, pa.string()),
            cursors=pa.array([block.cursors.get(record) for record in records], pa.string()) if block.cursors else None,
            events=events,
        )


class Scanner:
    """The literals of a catalogue, ready to be searched for.

    Args:
        catalogue: Programs and patterns.
        keep_unread: How many unread lines of a source to keep; of more, those of a new wording. The rest is counted.
    """

    def __init__(self, catalogue: Catalogue, keep_unread: int = 2000) -> None:
        self.catalogue = catalogue
        self.keep_unread = keep_unread
        by_literal = catalogue.literals()
        self._literals = list(by_literal) + [one for one in (*SIZE_LITERALS, *DEVICE_LITERALS) if one not in by_literal]
        self._patterns: list[list[tuple[int, Pattern, Program]]] = []
        programs = {program.name: program for program in catalogue.programs}
        ranks = {id(pattern): rank for rank, pattern in enumerate(catalogue.patterns)}
        for literal in self._literals:
            self._patterns.append([(ranks[id(one)], one, programs[one.program]) for one in by_literal.get(literal, ())])
        self._size_ids = {number for number, one in enumerate(self._literals) if one in SIZE_LITERALS}
        self._device_ids = {number for number, one in enumerate(self._literals) if one in DEVICE_LITERALS}
        self.engine = best_engine(self._literals)
        self._carriers = Carriers(self._patterns)
        self._carrying = np.array(
            [
                number
                for number, patterns in enumerate(self._patterns)
                if any(pattern.closes is not None for _, pattern, _ in patterns)
            ],
            np.int64,
        )
        self._acting = np.array(sorted(self._carriers.acting), np.int64)
        self._weights = np.frombuffer(os.urandom(8 * len(self._literals)), np.uint64)
        """The sum of these tells a set of literals from all others."""
        self._keys: dict[int, int] = {}
        self._named: list[frozenset[int]] = []
        self._candidates: dict[frozenset[int], list[tuple[int, Pattern, Program]]] = {}
        self._tried: dict[tuple[int, Stream], tuple[_Step, ...]] = {}
        self.programs = programs
        self._plain = {
            id(one): number for number, one in enumerate(catalogue.patterns) if is_plain(one, programs[one.program])
        }
        self.patterns = catalogue.patterns
        self.sorts: list[Sort] = []
        self._numbers: dict[tuple[int, Stream, str | None, str | None, str], int] = {}
        self.counts: dict[str, ScanCounts] = {}

    def scan(self, block: Block) -> Iterator[Line]:
        """Read the wanted records of one block, in order, each as a line.

        Blocks of one source must come in order: a carrier may span their seam.
        """
        counts = self.counts.setdefault(block.source.name, ScanCounts())
        hits = self._hits(block, counts)
        if hits is None:
            self._look_for_tokens(block, frozenset(), {}, counts)
            return
        carried = self._carried(block, hits)
        read: set[int] = set()
        for record, key in zip(hits.records.tolist(), hits.keys.tolist(), strict=True):
            before = counts.read
            yield from self._read(block, record, self._named[key], carried, counts)
            if counts.read > before:
                read.add(record)
        self._look_for_tokens(block, read, carried, counts)

    def read(self, block: Block) -> Found:
        """Read the wanted records of one block: those that only report as columns, the others as lines.

        Blocks of one source must come in order: a carrier may span their seam.
        """
        counts = self.counts.setdefault(block.source.name, ScanCounts())
        hits = self._hits(block, counts)
        if hits is None:
            self._look_for_tokens(block, frozenset(), {}, counts)
            return Found([], None)
        carried = self._carried(block, hits)
        found = self._found(block, hits, carried, self._carriers.openers, counts)
        rows = () if found.rows is None else (found.rows.record - block.first_record).tolist()
        read = {line.record - block.first_record for line in found.lines}.union(rows)
        self._look_for_tokens(block, read, carried, counts)
        return found

    def read_again(
        self, block: Block, records: Integers, carriers: Mapping[int, int], carrying: AbstractSet[int]
    ) -> Found:
        """Read records that were read another time, and nothing of what stood between them: see `go_on`.

        Args:
            block: The records alone.
            records: Their numbers in the source.
            carriers: By those, the records that carry some of them.
            carrying: All records of the source that carry one: those are lines, whatever reads them.
        """
        hits = self._hits(block, ScanCounts())
        if hits is None:
            return Found([], None)
        carried = {at: carriers[one] for at, one in enumerate(records.tolist()) if one in carriers}
        openers = [at for at, one in enumerate(records.tolist()) if one in carrying]
        lines, rows = self._found(block, hits, carried, openers, ScanCounts())
        for line in lines:
            line.record = int(records[line.record])
        return Found(lines, None if rows is None else replace(rows, record=records[rows.record]))

    def go_on(self, block: Block, counts: ScanCounts, carried: Mapping[int, int]) -> None:
        """Stand behind a block that was read another time, where no text was open.

        Args:
            block: Its records.
            counts: What had been counted of the source by then.
            carried: What `seam` gave for it.
        """
        self.counts[block.source.name] = counts
        self._carriers.go_on(block, carried)

    def seam(self, block: Block) -> Mapping[int, int] | None:
        """What the next block needs to know of one that was just read: its carried records; None if that is not all."""
        return self._carriers.seam(block)

    def _found(
        self, block: Block, hits: _Hits, carried: Mapping[int, int], carriers: Collection[int], counts: ScanCounts
    ) -> Found:
        lines: list[Line] = []
        plain = _Plain(self, block)
        data, table = block.data, block.stream_table
        apart = {*carried, *carriers, *block.fields}
        tried: dict[int, tuple[_Step, ...]] = {}
        many = len(table)
        at = hits.records
        for record, key, stream, start, end in zip(
            at.tolist(),
            hits.keys.tolist(),
            block.streams[at].tolist(),
            block.starts[at].tolist(),
            block.ends[at].tolist(),
            strict=True,
        ):
            literals = self._named[key]
            steps = tried.get(key * many + stream)
            if steps is None:
                steps = tried[key * many + stream] = self._steps(key, table[stream])
            if steps and record not in apart:
                text = clean(data[start:end])
                if plain.take(record, stream, text, steps):
                    self._count(literals, text, end - start, counts, 1)
                    continue
            lines += self._read(block, record, literals, carried, counts)
        refused = plain.refused()
        for record in refused:  # a text is no value of its field: whatever else reads the record
            literals = self._named[int(hits.keys[np.searchsorted(hits.records, record)])]
            message = block.message(record)
            self._count(literals, clean(message), len(message), counts, -1)
            lines += self._read(block, record, literals, carried, counts)
        if refused:
            lines.sort(key=lambda line: line.record)
        for number, many in plain.programs().items():
            counts.programs[number] += many
        return Found(lines, plain.rows())

    def _count(self, literals: frozenset[int], text: str, length: int, counts: ScanCounts, one: int) -> None:
        """Count a record that a pattern reads, or take it back."""
        counts.hit += one
        counts.read += one
        counts.read_bytes += one * length
        if not self._size_ids.isdisjoint(literals) and carries_size(text):
            counts.sized += one
            counts.sized_read += one
        elif not self._device_ids.isdisjoint(literals) and DEVICE.search(text) is not None:
            counts.placed += one
            counts.placed_read += one

    def _carried(self, block: Block, hits: _Hits) -> dict[int, int]:
        """Which records are the rest of a foreign text, and the record that carries it."""
        return self._carriers.carried(
            block, hits.wanted(), hits.only(self._carrying), lambda: hits.holding(self._acting)
        )

    def _hits(self, block: Block, counts: ScanCounts) -> _Hits | None:
        """The records that hold literals, each with the number of its set of literals."""
        counts.records += len(block)
        counts.bytes += int((block.ends - block.starts).sum())
        positions, literals = self.engine.hits(block.data)
        if not len(positions) and not self._carriers:
            return None
        records = _places(block.starts, positions)
        inside = (records >= 0) & (positions < block.ends[np.maximum(records, 0)])
        many = len(self._literals)
        pairs = np.unique(records[inside] * many + literals[inside])
        records, literals = np.divmod(pairs, many)
        begins = np.flatnonzero(np.diff(records, prepend=-1))
        if not len(begins):
            return _Hits(begins, begins, records, literals)
        sums = np.add.reduceat(self._weights[literals], begins)
        sets, first, which = np.unique(sums, return_index=True, return_inverse=True)
        bounds = np.append(begins, len(records))
        keys = np.empty(len(sets), np.int64)
        for number, (one, at) in enumerate(zip(sets.tolist(), first.tolist(), strict=True)):
            known = self._keys.get(one)
            if known is None:
                known = self._keys[one] = len(self._named)
                self._named.append(frozenset(literals[bounds[at] : bounds[at + 1]].tolist()))
            keys[number] = known
        return _Hits(records[begins], keys[which], records, literals)

    def sort_of(self, pattern: int, stream: Stream, tag: str | None, who: str | None, form: str) -> int:
        """The number of a sort of lines."""
        alike = pattern, stream, tag, who, form
        number = self._numbers.get(alike)
        if number is None:
            number = self._numbers[alike] = len(self.sorts)
            self.sorts.append(Sort(self.patterns[pattern], stream, tag, who, form))
        return number

    def _steps(self, key: int, stream: Stream) -> tuple[_Step, ...]:
        """What is tried on a line with a set of literals in a stream, by program; nothing if none of it is plain."""
        known = self._tried.get((key, stream))
        if known is not None:
            return known
        tried: dict[str, _Step] = {}
        for _, pattern, program in sorted(
            {one for number in self._named[key] for one in self._patterns[number]}, key=lambda one: one[0]
        ):
            if _may_read(pattern, program, stream):
                step = tried.setdefault(program.name, _Step.of(program))
                number = self._plain.get(id(pattern), -1)
                step.patterns.append((_bound(pattern.regex), pattern, number))
        steps = tuple(tried.values())
        if stream.manager or stream.kernel or all(number < 0 for one in steps for _, _, number in one.patterns):
            steps = ()
        if any(pattern.regex.bounded for one in steps for _, pattern, _ in one.patterns):
            steps = ()  # what takes long is tried once
        if len(self._tried) > REMEMBERED:
            self._tried.clear()
        self._tried[key, stream] = steps
        return steps

    def _glued(self, matched: Matched, program: Program) -> tuple[Matched, ...]:
        """What a message says that stands behind another in its record, by the patterns of the same program."""
        text = matched.keys.get("glued")
        prefix = None if text is None else program.grammar.split(text)
        if prefix is None or text is None:
            return ()
        read = (one.match(prefix.message) for one in program.patterns if one.contains in text)
        return tuple(next(([one] for one in read if one is not None and not one.pattern.effects), []))

    def _read(
        self, block: Block, record: int, literals: frozenset[int], carried: Mapping[int, int], counts: ScanCounts
    ) -> Iterator[Line]:
        candidates = self._candidates.get(literals)
        if candidates is None:
            found = {one for number in literals for one in self._patterns[number]}
            candidates = self._candidates[literals] = sorted(found, key=lambda one: one[0])
        text = clean(block.message(record))
        sized = bool(literals & self._size_ids) and carries_size(text)
        placed = not sized and bool(literals & self._device_ids) and DEVICE.search(text) is not None
        if not candidates and not sized and not placed:
            return
        counts.hit += 1
        counts.sized += sized
        counts.placed += placed
        prefixes: dict[str, Prefix | None] = {}
        stream = block.stream_table[int(block.streams[record])]
        fields = block.fields.get(record)
        read = False
        taken: set[str] = set()
        for _, pattern, program in candidates:
            if program.name in taken or not _may_read(pattern, program, stream):
                continue
            if program.name not in prefixes:
                prefixes[program.name] = program.grammar.split(text)
            prefix = prefixes[program.name]
            if prefix is None:
                continue
            matched = pattern.match(prefix.message, fields)
            if matched is None:
                continue
            read = True
            taken.add(program.name)
            counts.programs[program.name] += 1
            time: int | None = int(block.times[record])
            if time == NO_TIME:
                # The collector kept no time; a writer that prints date and zone says it itself.
                time = wall_us(prefix.clock[0]) if program.grammar.clock == "wall" and prefix.clock else None
            yield Line(
                source=block.source.name,
                record=block.first_record + record,
                offset=int(block.offsets[record]),
                length=int(block.lengths[record]),
                time_us=time,
                stream=stream,
                prefix=prefix,
                matched=matched,
                text=text[:EXCERPT],
                cursor=block.cursors.get(record),
                carried_by=carried.get(record),
                more=self._glued(matched, program),
            )
        counts.carried += record in carried
        if read:
            counts.read += 1
            counts.read_bytes += int(block.ends[record] - block.starts[record])
            counts.sized_read += sized
            counts.placed_read += placed
        else:
            counts.missed += 1
            if (sized or placed) and record not in carried:
                self._keep_unread(block, record, text, stream, counts, "size" if sized else "device")

    def _look_for_tokens(
        self, block: Block, read: AbstractSet[int], carried: Mapping[int, int], counts: ScanCounts
    ) -> None:
        """Look at some records of a block, evenly apart, for token counts that no pattern reads."""
        step = max(1, len(block) // SAMPLED)
        for record in range(0, len(block), step):
            counts.sampled += 1
            text = clean(block.message(record))
            if record in carried or TOKENS.search(text) is None:
                continue
            counts.tokens += 1
            if record in read:
                counts.tokens_read += 1
            elif not carries_size(text) and DEVICE.search(text) is None:
                stream = block.stream_table[int(block.streams[record])]
                self._keep_unread(block, record, text, stream, counts, "tokens")

    def _components(self, text: str, stream: Stream) -> tuple[tuple[str, str], ...]:
        """Programs that could have written a line as one of a component that the catalogue knows."""
        found = []
        for program in self.catalogue.programs:
            prefix = program.grammar.split(text) if program.components and _may_write(program, stream) else None
            component = None if prefix is None else prefix.component
            if component is not None and component in program.components:
                found.append((program.name, component))
        return tuple(found)

    def _keep_unread(self, block: Block, record: int, text: str, stream: Stream, counts: ScanCounts, what: str) -> None:
        kept = len(counts.unread)
        wording = what, masked(text[:EXCERPT])
        first = counts.wordings.get(wording)
        if first is not None and kept >= self.keep_unread:
            first.more += 1
            return
        if kept >= self.keep_unread + WORDINGS:
            counts.unread_dropped += what != "tokens"
            return
        counts.unread.append(
            Unread(
                source=block.source.name,
                offset=int(block.offsets[record]),
                length=int(block.lengths[record]),
                text=text[:EXCERPT],
                stream=stream,
                what=what,
                components=self._components(text, stream),
            )
        )
        if first is None:
            counts.wordings[wording] = counts.unread[-1]


def carries_size(text: str) -> bool:
    """Whether a number with a unit of memory is in a text.

    From the unit back to the number: the other way, each digit of each number is where one could begin.
    """
    usual = text.find(" MiB")
    if (
        usual > 0
        and text[usual - 1].isdecimal()
        and not (after := text[usual + 4 : usual + 5]).isalnum()
        and after != "_"
    ):
        return True
    return any(text[: unit.start()].rstrip().rstrip(".,")[-1:].isdecimal() for unit in UNIT.finditer(text))


def _places(starts: Integers, positions: Integers) -> Integers:
    """The record that begins last at or before each position; -1 where none does.

    A message that was put together from pieces, or waited for its next line over a seam, lies behind all others.
    """
    if (starts[1:] >= starts[:-1]).all():
        return np.searchsorted(starts, positions, "right") - 1
    order = np.argsort(starts, kind="stable")
    places = np.searchsorted(starts[order], positions, "right") - 1
    return np.where(places < 0, -1, order[places])


def _may_read(pattern: Pattern, program: Program, stream: Stream) -> bool:
    """Whether a pattern is tried on a line of this stream: a pasted one's writer may be unknown, never another."""
    return _may_write(program, stream) or (pattern.pasted and stream == Stream(stream.source))


def _may_write(program: Program, stream: Stream) -> bool:
    """Whether a line of this stream can be one of the program's, if only some writers print them.

    A supervisor's lines move many loads: where the collector vouches for who writes, it must be the supervisor.
    """
    if program.grammar.supervises and stream.trusted and stream.identifier and program.process_names:
        return any(one.search(stream.identifier) for one in program.process_names)
    return not program.writers or (
        (stream.manager and "manager" in program.writers)
        or (stream.kernel and "kernel" in program.writers)
        or stream.identifier in program.writers
    )
