"""Put messages together that a container engine split before it sent them to the journal.

Docker splits at 16 KiB. Since 19.03 each piece has CONTAINER_PARTIAL_ID and _ORDINAL, and the last _LAST=true; before,
CONTAINER_PARTIAL_MESSAGE=true stands on all pieces but the last (daemon/logger/journald).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from forensics.records.block import Block, Partial, Source
from forensics.records.options import Options
from forensics.records.rows import Joined

__all__ = ["PARTIAL_FIELDS", "partial_of", "rejoined"]

PARTIAL_FIELDS = (
    "CONTAINER_PARTIAL_MESSAGE",
    "CONTAINER_PARTIAL_ID",
    "CONTAINER_PARTIAL_ORDINAL",
    "CONTAINER_PARTIAL_LAST",
)


def partial_of(fields: Mapping[str, str | None]) -> Partial | None:
    """What an entry says about being a piece; None if it is whole."""
    identity = fields.get("CONTAINER_PARTIAL_ID")
    going_on = fields.get("CONTAINER_PARTIAL_MESSAGE") == "true"
    if identity is None and not going_on:
        return None
    ordinal = fields.get("CONTAINER_PARTIAL_ORDINAL") or ""
    last = not going_on if identity is None else fields.get("CONTAINER_PARTIAL_LAST") == "true"
    return Partial(identity, int(ordinal) if ordinal.isdecimal() and len(ordinal) < 10 else None, last)


class _Open(Joined):
    """A message whose last piece has not come."""

    def __init__(self, piece: bytes, begin: int, end: int, time: int, limit: int, partial: Partial) -> None:
        super().__init__(piece, begin, end, time, limit)
        self.next = partial.ordinal
        self.gap = partial.ordinal is not None and partial.ordinal != 1
        self.count(partial)

    def count(self, partial: Partial) -> None:
        """See whether a piece is the one that was to come."""
        self.gap |= partial.ordinal != self.next
        self.next = None if partial.ordinal is None else partial.ordinal + 1


def rejoined(blocks: Iterator[Block], source: Source, options: Options, *, extents: bool = True) -> Iterator[Block]:
    """Yield the blocks with split messages whole, each in the place of its last piece, at the time of its first.

    Args:
        blocks: Blocks of one source, with `partials` for pieces.
        source: Takes the problems.
        options: Bounds.
        extents: Cite all bytes from the first piece to the last, else those of the first.
    """
    joiner = _Joiner(source, options, extents=extents)
    for block in blocks:
        if block.partials or joiner.open or joiner.shift:
            joined = joiner.take(block)
            if joined is not None:
                yield joined
        else:
            yield block
    yield from joiner.close()


class _Joiner:
    def __init__(self, source: Source, options: Options, *, extents: bool) -> None:
        self.source = source
        self.limit = options.line_bytes
        self.extents = extents
        self.open: dict[tuple[int, str | None], _Open] = {}
        self.shift = 0  # records that became part of others
        self.last: Block | None = None
        self.gaps = self.lost = 0

    def take(self, block: Block) -> Block | None:
        """The block with what is whole in it."""
        self.last = block
        drop = np.zeros(len(block), bool)
        made: dict[int, _Open] = {}
        streams = block.streams.tolist()
        # Without an id the last piece says nothing: it is the next record of the stream.
        waiting = {stream for stream, identity in self.open if identity is None}
        waiting |= {streams[at] for at, partial in block.partials.items() if partial.identity is None}
        records = range(len(block)) if waiting else sorted(block.partials)
        for at in records:
            partial = block.partials.get(at)
            stream = streams[at]
            if partial is None:
                if stream not in waiting or (stream, None) not in self.open:
                    continue
                partial = Partial(None, None, last=True)
            key = (stream, partial.identity)
            begin, message = int(block.offsets[at]), block.message(at)
            end = begin + int(block.lengths[at])
            joined = self.open.get(key)
            if joined is None:
                joined = self.open[key] = _Open(message, begin, end, int(block.times[at]), self.limit, partial)
            else:
                joined.count(partial)
                joined.add(message, end if self.extents else joined.end)
            if partial.last:
                del self.open[key]
                made[at] = joined
            else:
                drop[at] = True
        return self._without(block, drop, made)

    def _without(self, block: Block, drop: npt.NDArray[np.bool_], made: Mapping[int, _Open]) -> Block | None:
        starts, ends = block.starts.copy(), block.ends.copy()
        offsets, lengths, times = block.offsets.copy(), block.lengths.copy(), block.times.copy()
        more: list[bytes] = []
        size = len(block.data)
        for at, joined in made.items():
            message = b"".join(joined.pieces)
            more.append(message)
            starts[at], ends[at] = size, size + len(message)
            size += len(message)
            offsets[at], lengths[at], times[at] = joined.begin, joined.end - joined.begin, joined.time
            self.gaps += joined.gap
            self.lost += joined.lost
        kept = np.flatnonzero(~drop)
        first = block.first_record - self.shift
        self.shift += len(block) - len(kept)
        if not len(kept):
            return None
        numbers = kept.tolist()
        return replace(
            block,
            data=b"".join((block.data, *more)) if more else block.data,
            starts=starts[kept],
            ends=ends[kept],
            offsets=offsets[kept],
            lengths=lengths[kept],
            times=times[kept],
            streams=block.streams[kept],
            first_record=first,
            cursors={new: block.cursors[old] for new, old in enumerate(numbers) if old in block.cursors},
            fields={new: block.fields[old] for new, old in enumerate(numbers) if old in block.fields},
            partials={},
        )

    def close(self) -> Iterator[Block]:
        """What is left open, as far as it came, and what was met."""
        left = sorted(self.open.items(), key=lambda item: item[1].begin)
        if left and self.last is not None:
            what = "the end of a split message never came"
            self.source.tell("loss", what, "", left[0][1].begin, len(left))
            messages = [b"".join(joined.pieces) for _, joined in left]
            after = np.cumsum([len(message) for message in messages], dtype=np.int64)
            begins = np.array([joined.begin for _, joined in left], np.int64)
            yield replace(
                self.last,
                data=b"".join(messages),
                starts=after - np.array([len(message) for message in messages], np.int64),
                ends=after,
                offsets=begins,
                lengths=np.array([joined.end for _, joined in left], np.int64) - begins,
                times=np.array([joined.time for _, joined in left], np.int64),
                streams=np.array([key[0] for key, _ in left], np.int32),
                first_record=self.source.records - self.shift,
                cursors={},
                fields={},
                partials={},
            )
            self.shift -= len(left)
            self.lost += sum(joined.lost for _, joined in left)
        self.source.records -= self.shift
        self.source.tell("loss", "pieces of split messages are missing", "", None, self.gaps)
        what = f"joined messages were cut at {self.limit} bytes; {self.lost} bytes are missing"
        self.source.tell("loss", what, count=bool(self.lost))
