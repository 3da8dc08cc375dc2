"""Find the records that any pattern could read, in one multi-literal pass, and read them.

No Python runs for lines nobody wants: the literals of all patterns are searched over the block's bytes at once, and
only hit records go on. A hit that no pattern reads is counted; one that carries a size and is read by nothing is kept
as a loss, since a size left unread is how a wrong total begins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .catalogue import Catalogue, Pattern, Prefix, Program
from .clocks import wall_us
from .columns import RefusedError, Rows, Sort, clocks_of, is_plain, read_columns
from .engines import best_engine
from .line import Line, Twin
from .records.block import NO_TIME, Block, Integers, Stream
from .regexes import Regex

__all__ = ["Found", "Line", "ScanCounts", "Scanner", "Twin", "Unread"]

SIZE_LITERALS: tuple[bytes, ...] = (b" MiB", b"MiB ", b" GiB", b"GiB", b" KiB", b" GB", b" MB", b" bytes")
"""What a line with an amount of memory contains. They are part of the main scan, so that none is left unread."""

UNIT = re.compile(r"(?:[KMGT]i?B|bytes)\b")
ANSI = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
HINT_RECORDS = 400
"""Behind the nearest line that shows a text to have one line, so far back another may show it to have several."""

CARRIER_RECORDS = 20_000
"""A text that no line closes within so many records is given up: only lines without a prefix are taken for it."""

REOPEN_RECORDS = 4000
"""How far a text may imitate the line that closes it."""

REMEMBERED = 100_000
"""For how many sets of literals and streams it is remembered what is tried on them."""

EXCERPT = 400
"""Characters of a line kept for printing; the bytes stay in the source."""


@dataclass(slots=True)
class Unread:
    """A record that carries a size and that no pattern read."""

    source: str
    offset: int
    length: int
    text: str
    stream: Stream
    level: str | None = None


@dataclass
class ScanCounts:
    """What became of the records of a source: hit = read + unread hits; sized lines are counted apart."""

    records: int = 0
    bytes: int = 0
    hit: int = 0
    read: int = 0
    missed: int = 0
    sized: int = 0
    sized_read: int = 0
    carried: int = 0
    unread: list[Unread] = field(default_factory=list)
    unread_dropped: int = 0


@dataclass
class _OpenCarrier:
    """A text that runs on: who carries it, what closes it, and whether its writer's own lines have a prefix."""

    record: int
    pattern: Pattern
    close: Regex
    program: Program
    prefixed: bool
    reopens: bool
    members: list[int] = field(default_factory=list)
    taken: int = 0


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

    def literals_of(self, record: int) -> list[int]:
        """The literals that a record holds."""
        begin, end = np.searchsorted(self.of, (record, record + 1))
        found: list[int] = self.literals[begin:end].tolist()
        return found


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
        keep_unread: How many unread sized lines to keep as examples; the rest is counted.
    """

    def __init__(self, catalogue: Catalogue, keep_unread: int = 2000) -> None:
        self.catalogue = catalogue
        self.keep_unread = keep_unread
        by_literal = catalogue.literals()
        self._literals = list(by_literal) + [one for one in SIZE_LITERALS if one not in by_literal]
        self._patterns: list[list[tuple[int, Pattern, Program]]] = []
        programs = {program.name: program for program in catalogue.programs}
        ranks = {id(pattern): rank for rank, pattern in enumerate(catalogue.patterns)}
        for literal in self._literals:
            self._patterns.append([(ranks[id(one)], one, programs[one.program]) for one in by_literal.get(literal, ())])
        self._size_ids = {number for number, one in enumerate(self._literals) if one in SIZE_LITERALS}
        self.engine = best_engine(self._literals)
        self._closers: dict[int, Regex] = {
            id(pattern): pattern.closes for pattern in catalogue.patterns if pattern.closes is not None
        }
        self._carrying = np.array(
            [
                number
                for number, patterns in enumerate(self._patterns)
                if any(id(one) in self._closers for _, one, _ in patterns)
            ],
            np.int64,
        )
        self._open: dict[tuple[Stream, str | None], _OpenCarrier] = {}
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
        hits = self._hits(block)
        if hits is None:
            return
        counts = self.counts[block.source.name]
        carried, _ = self._carried(block, hits)
        for record, key in zip(hits.records.tolist(), hits.keys.tolist(), strict=True):
            yield from self._read(block, record, self._named[key], carried, counts)

    def read(self, block: Block) -> Found:
        """Read the wanted records of one block: those that only report as columns, the others as lines.

        Blocks of one source must come in order: a carrier may span their seam.
        """
        hits = self._hits(block)
        if hits is None:
            return Found([], None)
        counts = self.counts[block.source.name]
        carried, carriers = self._carried(block, hits)
        lines: list[Line] = []
        plain = _Plain(self, block)
        data, table, sizes = block.data, block.stream_table, self._size_ids
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
                    counts.hit += 1
                    counts.read += 1
                    if not sizes.isdisjoint(literals) and carries_size(text):
                        counts.sized += 1
                        counts.sized_read += 1
                    continue
            lines += self._read(block, record, literals, carried, counts)
        refused = plain.refused()
        for record in refused:  # a text is no value of its field: whatever else reads the record
            literals = self._named[int(hits.keys[np.searchsorted(hits.records, record)])]
            sized = not self._size_ids.isdisjoint(literals) and carries_size(clean(block.message(record)))
            counts.hit, counts.read = counts.hit - 1, counts.read - 1
            counts.sized, counts.sized_read = counts.sized - sized, counts.sized_read - sized
            lines += self._read(block, record, literals, carried, counts)
        if refused:
            lines.sort(key=lambda line: line.record)
        return Found(lines, plain.rows())

    def _hits(self, block: Block) -> _Hits | None:
        """The records that hold literals, each with the number of its set of literals."""
        counts = self.counts.setdefault(block.source.name, ScanCounts())
        counts.records += len(block)
        counts.bytes += len(block.data)
        positions, literals = self.engine.hits(block.data)
        if not len(positions) and not self._open:
            return None
        records = np.searchsorted(block.starts, positions, "right") - 1
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
            if _may_write(program, stream):
                step = tried.setdefault(program.name, _Step.of(program))
                number = self._plain.get(id(pattern), -1)
                step.patterns.append((_bound(pattern.regex), pattern, number))
        steps = tuple(tried.values())
        if stream.manager or stream.kernel or all(number < 0 for one in steps for _, _, number in one.patterns):
            steps = ()
        if len(self._tried) > REMEMBERED:
            self._tried.clear()
        self._tried[key, stream] = steps
        return steps

    def _read(
        self, block: Block, record: int, literals: frozenset[int], carried: Mapping[int, int], counts: ScanCounts
    ) -> Iterator[Line]:
        candidates = self._candidates.get(literals)
        if candidates is None:
            found = {one for number in literals for one in self._patterns[number]}
            candidates = self._candidates[literals] = sorted(found, key=lambda one: one[0])
        text = clean(block.message(record))
        sized = bool(literals & self._size_ids) and carries_size(text)
        if not candidates and not sized:
            return
        counts.hit += 1
        counts.sized += sized
        prefixes: dict[str, Prefix | None] = {}
        stream = block.stream_table[int(block.streams[record])]
        fields = block.fields.get(record)
        read = False
        taken: set[str] = set()
        for _, pattern, program in candidates:
            if program.name in taken or not _may_write(program, stream):
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
            )
        counts.carried += record in carried
        if read:
            counts.read += 1
            counts.sized_read += sized
        else:
            counts.missed += 1
            if sized and record not in carried:
                self._keep_unread(block, record, text, stream, counts)

    def _keep_unread(self, block: Block, record: int, text: str, stream: Stream, counts: ScanCounts) -> None:
        if len(counts.unread) >= self.keep_unread:
            counts.unread_dropped += 1
            return
        counts.unread.append(
            Unread(
                source=block.source.name,
                offset=int(block.offsets[record]),
                length=int(block.lengths[record]),
                text=text[:EXCERPT],
                stream=stream,
            )
        )

    def _carried(self, block: Block, hits: _Hits) -> tuple[dict[int, int], set[int]]:
        """Which records are the rest of a foreign text, with the record that carries it; and which may carry one.

        A carrier's text runs on over following records of the same writer until one closes it: those are data,
        whatever they look like.
        """
        carried: dict[int, int] = {}
        for carrier in self._open.values():
            carrier.members = []  # they were records of the block before
        starts: dict[int, tuple[Pattern, Program, Prefix, Stream]] = {}
        may = np.isin(hits.literals, self._carrying)
        for record, number in zip(hits.of[may].tolist(), hits.literals[may].tolist(), strict=True):
            for _, pattern, program in self._patterns[number]:
                if id(pattern) not in self._closers or record in starts:
                    continue
                prefix = program.grammar.split(clean(block.message(record)))
                if prefix is not None and pattern.regex.match(prefix.message):
                    stream = block.stream_table[int(block.streams[record])]
                    starts[record] = (pattern, program, prefix, stream)
        if not starts and not self._open:
            return carried, set()
        pending = sorted(starts)
        record = 0 if self._open else pending[0]
        while record < len(block) and (self._open or pending):
            if not self._open and pending:
                record = max(record, pending[0])
            while pending and pending[0] < record:
                pending.pop(0)
            text = clean(block.message(record))
            stream = block.stream_table[int(block.streams[record])]
            for writer, carrier in list(self._open.items()):
                if writer[0] != stream:
                    continue
                prefix = carrier.program.grammar.split(text)
                if prefix is None or prefix.tag != writer[1]:
                    continue
                if not carrier.close.search(prefix.message):
                    carried[record] = carrier.record
                    carrier.taken += 1
                    if prefix.present:
                        carrier.members.append(record)
                    if carrier.taken > CARRIER_RECORDS:
                        for member in carrier.members:
                            carried.pop(member, None)
                        del self._open[writer]
                    continue
                if carrier.prefixed and not prefix.present:
                    carried[record] = carrier.record
                del self._open[writer]
                if carrier.reopens:
                    self._reopen(block, record, writer, carrier, hits, carried)
            if record in starts and record not in carried:
                pattern, program, prefix, stream = starts[record]
                close = self._closers[id(pattern)]
                hinted = self._hinted(block, record, pattern, program, prefix, carried)
                runs_on = not close.search(prefix.message[len(pattern.contains) :])
                if hinted is None:
                    runs_on = runs_on and self._closes(block, record, program, prefix.tag, close)
                elif not hinted:
                    runs_on = False
                if runs_on:
                    self._open[stream, prefix.tag] = _OpenCarrier(
                        record=block.first_record + record,
                        pattern=pattern,
                        close=close,
                        program=program,
                        prefixed=prefix.present,
                        reopens=bool(pattern.effects["carrier"].get("reopens") and hinted),
                    )
            record += 1
        return carried, set(starts)

    def _hinted(
        self, block: Block, record: int, pattern: Pattern, program: Program, prefix: Prefix, carried: Mapping[int, int]
    ) -> bool | None:
        """Whether an earlier line shows that the text has several lines; None if no line says so or the contrary.

        Only a line of the same writer counts, made as its lines are, and not one inside another text.
        """
        if pattern.hints is None:
            return True
        stream = block.streams[record]
        plain: bool | None = None
        for earlier in range(record - 1, max(0, record - CARRIER_RECORDS) - 1, -1):
            if plain is not None and earlier < record - HINT_RECORDS:
                break
            if block.streams[earlier] != stream or earlier in carried:
                continue
            before = program.grammar.split(clean(block.message(earlier)))
            if before is None or (before.tag, before.present) != (prefix.tag, prefix.present):
                continue
            if pattern.hints.search(before.message):
                return True
            if pattern.denies is not None and pattern.denies.search(before.message):
                plain = False
        return plain

    def _closes(self, block: Block, record: int, program: Program, tag: str | None, close: Regex) -> bool:
        """Whether a later line of the writer closes a text; where none does, lines were cut out of the log."""
        for later in range(record + 1, min(record + REOPEN_RECORDS, len(block))):
            if block.streams[later] == block.streams[record]:
                prefix = program.grammar.split(clean(block.message(later)))
                if prefix is not None and prefix.tag == tag and close.search(prefix.message):
                    return True
        return False

    def _reopen(
        self,
        block: Block,
        record: int,
        writer: tuple[Stream, str | None],
        carrier: _OpenCarrier,
        hits: _Hits,
        carried: dict[int, int],
    ) -> None:
        """A text may imitate the line that closes it: the last such line before the load's next phase closes it."""
        members: list[int] = []
        last = 0
        for later in range(record + 1, min(record + REOPEN_RECORDS, len(block))):
            if block.stream_table[int(block.streams[later])] != writer[0]:
                continue
            prefix = carrier.program.grammar.split(clean(block.message(later)))
            if prefix is None or prefix.tag != writer[1] or (carrier.prefixed and prefix.present):
                if carrier.prefixed and prefix is not None and prefix.tag == writer[1]:
                    break  # a line with the writer's own prefix is not the text's
                continue
            if self._moves_phase(hits.literals_of(later), prefix.message):
                break
            members.append(later)
            if carrier.close.search(prefix.message):
                last = len(members)
        carried.update((one, carrier.record) for one in members[:last])

    def _moves_phase(self, literals: Collection[int], message: str) -> bool:
        return any(
            pattern.effects["phase"].get("to") in {"serve", "asleep"} and pattern.regex.match(message)
            for number in literals
            for _, pattern, _ in self._patterns[number]
            if "phase" in pattern.effects
        )


def clean(message: bytes) -> str:
    """Decode a message for reading: colours off, invalid bytes replaced."""
    text = message.decode("utf-8", "replace")
    return ANSI.sub("", text) if "\x1b" in text else text


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
