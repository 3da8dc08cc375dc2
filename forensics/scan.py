"""Find the records that any pattern could read, in one multi-literal pass, and read them.

No Python runs for lines nobody wants: the literals of all patterns are searched over the block's bytes at once, and
only hit records go on. A hit that no pattern reads is counted; one that carries a size and is read by nothing is kept
as a loss, since a size left unread is how a wrong total begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .carriers import Carriers, clean
from .catalogue import Catalogue, Matched, Pattern, Prefix, Program
from .clocks import wall_us
from .engines import best_engine
from .records.block import NO_TIME, Block, Stream

__all__ = ["Line", "ScanCounts", "Scanner", "Twin", "Unread"]

SIZE_LITERALS: tuple[bytes, ...] = (b" MiB", b"MiB ", b" GiB", b"GiB", b" KiB", b" GB", b" MB", b" bytes")
"""What a line with an amount of memory contains. They are part of the main scan, so that none is left unread."""

SIZE = re.compile(r"\d[\d.,]*\s*(?:[KMGT]i?B|bytes)\b")

DEVICE_LITERALS: tuple[bytes, ...] = (b"CUDA", b"ROCm", b"Vulkan", b"SYCL", b"MUSA", b"CANN", b"MTL", b"cuda:")
"""What a line that names a device contains: part of the main scan too."""

DEVICE = re.compile(r"\b(?:CUDA|ROCm|Vulkan|SYCL|MUSA|CANN|MTL)\d+\b|\bcuda:\d+\b")

TOKENS = re.compile(r"\b\d[\d,]*\s+tokens?\b|\btokens\s*[=:]\s*\d|\bn_tokens\s*=\s*\d")
SAMPLED = 100
"""Token counts stand in most lines: so many records of a block are looked at for one that no pattern reads."""

EXCERPT = 400
"""Characters of a line kept for printing; the bytes stay in the source."""


class Twin(NamedTuple):
    """Where another source holds the same record."""

    source: str
    offset: int
    length: int


@dataclass(slots=True)
class Line:
    """One record that a pattern read: where it stands, who wrote it, what it says."""

    source: str
    record: int
    offset: int
    length: int
    time_us: int | None
    stream: Stream
    prefix: Prefix
    matched: Matched
    text: str
    cursor: str | None = None
    carried_by: int | None = None
    order: int = -1
    twin: Twin | None = None

    @property
    def pattern(self) -> Pattern:
        """The pattern that read it."""
        return self.matched.pattern


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


@dataclass
class ScanCounts:
    """What became of the records of a source: hit = read + unread hits; sized lines are counted apart.

    Placed lines name a device and no size; lines with a token count are those among the sampled records.
    """

    records: int = 0
    bytes: int = 0
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
        self._literals = list(by_literal) + [one for one in (*SIZE_LITERALS, *DEVICE_LITERALS) if one not in by_literal]
        self._patterns: list[list[tuple[int, Pattern, Program]]] = []
        programs = {program.name: program for program in catalogue.programs}
        ranks = {id(pattern): rank for rank, pattern in enumerate(catalogue.patterns)}
        for literal in self._literals:
            self._patterns.append([(ranks[id(one)], one, programs[one.program]) for one in by_literal.get(literal, ())])
        self._size_ids = {number for number, one in enumerate(self._literals) if one in SIZE_LITERALS}
        self._device_ids = {number for number, one in enumerate(self._literals) if one in DEVICE_LITERALS}
        self._engine = best_engine(self._literals)
        self._carriers = Carriers(self._patterns)
        self.counts: dict[str, ScanCounts] = {}

    def scan(self, block: Block) -> Iterator[Line]:
        """Read the wanted records of one block, in order.

        Blocks of one source must come in order: a carrier may span their seam.
        """
        counts = self.counts.setdefault(block.source.name, ScanCounts())
        counts.records += len(block)
        counts.bytes += len(block.data)
        positions, literals = self._engine.hits(block.data)
        if not len(positions) and not self._carriers:
            self._look_for_tokens(block, frozenset(), {}, counts)
            return
        records = np.searchsorted(block.starts, positions, "right") - 1
        inside = (records >= 0) & (positions < block.ends[np.maximum(records, 0)])
        records, literals = records[inside], literals[inside]
        wanted: dict[int, set[int]] = {}
        for record, literal in zip(records.tolist(), literals.tolist(), strict=True):
            wanted.setdefault(record, set()).add(literal)
        carried = self._carriers.carried(block, wanted)
        read: set[int] = set()
        for record in sorted(wanted):
            before = counts.read
            yield from self._read(block, record, wanted[record], carried, counts)
            if counts.read > before:
                read.add(record)
        self._look_for_tokens(block, read, carried, counts)

    def _read(
        self, block: Block, record: int, literals: set[int], carried: Mapping[int, int], counts: ScanCounts
    ) -> Iterator[Line]:
        candidates = sorted({one for number in literals for one in self._patterns[number]}, key=lambda one: one[0])
        text = clean(block.message(record))
        sized = bool(literals & self._size_ids) and SIZE.search(text) is not None
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
            )
        counts.carried += record in carried
        if read:
            counts.read += 1
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
            elif SIZE.search(text) is None and DEVICE.search(text) is None:
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
        if len(counts.unread) >= self.keep_unread:
            counts.unread_dropped += what == "size"
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
