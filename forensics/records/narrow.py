"""Keep of a journal what is asked for: units, boots, a span of time, trusted fields; and the kernel lines of the span.

A native journal narrows itself, by its index and before any text is made. Here is what its other forms need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from forensics.records.block import NO_TIME, Block, Piece, Source, Stream
from forensics.records.options import Options

__all__ = ["PASSED_OVER", "has_fields", "narrowed"]

PASSED_OVER = "entries outside what is asked for were passed over"
"""What is told of entries that nobody asked for."""


def has_fields(options: Options, value_of: Callable[[str], str | None]) -> bool:
    """Whether an entry has, of each field that is asked for, one of the values; the kernel's has in any case."""
    return value_of("_TRANSPORT") == "kernel" or all(value_of(name) in values for name, values in options.fields)


def narrowed(pieces: Iterable[Piece], source: Source, options: Options) -> Iterator[Piece]:
    """Yield the blocks of a journal with the records of the units, boots and span that are asked for.

    A record whose form names no unit, boot or time is kept, and counted.
    """
    unasked = unsaid = 0
    for piece in pieces:
        if not isinstance(piece, Block):
            yield piece
            continue
        known = np.array([_wanted(stream, options) for stream in piece.stream_table], np.int8)[piece.streams]
        keep = known >= 0
        dated = piece.times != NO_TIME
        if options.since_us is not None:
            keep &= ~dated | (piece.times >= options.since_us)
        if options.until_us is not None:
            keep &= ~dated | (piece.times <= options.until_us)
        unsaid += int(np.count_nonzero(keep & ((known == 0) | (~dated & options.spans))))
        gone = len(keep) - int(np.count_nonzero(keep))
        unasked += gone
        source.records -= gone
        if gone < len(keep):
            yield _only(piece, keep) if gone else piece
    source.tell("note", PASSED_OVER, "", None, unasked)
    what = "entries do not say what is asked for (unit, boot or time), and were read"
    source.tell("note", what, "read the journal itself, or journalctl -o export", None, unsaid)


def _wanted(stream: Stream, options: Options) -> int:
    """1 for a stream that is asked for, -1 for another, 0 where it does not say."""
    asked = [(stream.boot, options.boots)] if options.boots else []
    if options.units and not stream.kernel:
        asked.append((stream.unit, options.units))
    if any(said is not None and said not in wanted for said, wanted in asked):
        return -1
    return 0 if any(said is None for said, _ in asked) else 1


def _only(block: Block, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Block:
    """The block with some of its records."""
    left = {int(old): new for new, old in enumerate(np.flatnonzero(keep))}
    return replace(
        block,
        starts=block.starts[keep],
        ends=block.ends[keep],
        offsets=block.offsets[keep],
        lengths=block.lengths[keep],
        times=block.times[keep],
        streams=block.streams[keep],
        cursors={left[record]: one for record, one in block.cursors.items() if record in left},
        fields={left[record]: one for record, one in block.fields.items() if record in left},
        partials={left[record]: one for record, one in block.partials.items() if record in left},
    )
