"""Cut content into lines at line feeds, on bytes, with nothing per line in Python."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from forensics.records.block import NO_TIME, Block, Integers, Seam, Source, Stream
from forensics.records.content import at_least, chain

__all__ = ["NO_END", "Lines", "block_of", "cells_of", "lines", "placed_lines", "read_text"]

_BOM = b"\xef\xbb\xbf"

NO_END = "the last line has no line end: it may be cut or still being written"
"""What is said of a source that may yet go on."""


class Lines(NamedTuple):
    """Consecutive whole lines: line i is `data[starts[i]:ends[i]]`, and `data[0]` stands at `base` in the source.

    Ends exclude the line feed and one carriage return before it. A carriage return elsewhere is content.
    """

    data: bytes
    base: int
    starts: Integers
    ends: Integers


def lines(pieces: Iterator[bytes], source: Source, line_bytes: int) -> Iterator[Lines]:
    """Yield all lines in order; what comes out does not depend on where the pieces were cut.

    A line over `line_bytes` is cut to it, in bounded memory, and counted as loss. Bytes that are no UTF-8 stay as they
    are and are counted.
    """
    strange, first = 0, None
    for chunk in _cut(pieces, source, line_bytes):
        # Most logs are ASCII, which is told much faster than UTF-8.
        if not chunk.data.isascii():
            spans = [(0, len(chunk.data))]
            if int((chunk.ends - chunk.starts).max(initial=0)) >= line_bytes:  # what was cut off is not looked at
                spans = list(zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True))
            for start, end in spans:
                count, at = _no_utf8(chunk.data[start:end])
                if count and first is None:
                    first = chunk.base + start + at
                strange += count
        yield chunk
    what = f"characters were torn: {strange} sequences of bytes are no UTF-8; they are kept, and shown as escapes"
    source.tell("loss", what, "", first, strange)


def placed_lines(pieces: Iterator[bytes], source: Source, line_bytes: int) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """Yield each line with its extent in the source, offset and length: for formats that have few."""
    for chunk in lines(pieces, source, line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            yield chunk.data[start:end], (chunk.base + start, end - start)


def _no_utf8(data: bytes) -> tuple[int, int]:
    """How many sequences of bytes are no UTF-8, and where the first one is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.decode("utf-8", "replace").count("\ufffd") - data.count(b"\xef\xbf\xbd"), error.start
    return 0, 0


def _cut(pieces: Iterator[bytes], source: Source, line_bytes: int) -> Iterator[Lines]:
    held: list[bytes] = []
    size = 0
    base = taken = source.begun.offset
    cut_lines = cut_bytes = 0
    first_cut: int | None = None
    dropping = False
    first = b"" if base else at_least(pieces, len(_BOM))
    if first.startswith(_BOM):
        base = taken = len(_BOM)
        first = first[len(_BOM) :]
    for piece in chain(first, pieces):
        taken += len(piece)
        source.seam = None
        rest = piece
        if dropping:
            at = rest.find(b"\n")
            gone = len(rest) if at < 0 else at
            cut_bytes += gone
            base += gone
            if at < 0:
                continue
            base += 1
            rest = rest[at + 1 :]
            dropping = False
        at = rest.rfind(b"\n") + 1
        if at:
            data = b"".join((*held, memoryview(rest)[:at])) if held or at < len(rest) else rest
            chunk = _split(data, base)
            if (chunk.ends - chunk.starts > line_bytes).any():
                chunk, lost = _shorten(chunk, line_bytes)
                cut_lines += int(np.count_nonzero(lost))
                cut_bytes += int(lost.sum())
                if first_cut is None:
                    first_cut = base + int(chunk.starts[np.flatnonzero(lost)[0]])
            source.seam = Seam(base + len(data), taken)
            yield chunk
            base += len(data)
            rest = rest[at:]
            held, size = [], 0
        if rest:
            held.append(rest)
            size += len(rest)
        # One byte more than allowed may still be the carriage return of the line end.
        if size > line_bytes + 1:
            data = b"".join(held)[:line_bytes]
            if first_cut is None:
                first_cut = base
            source.seam = None
            # What stands at the cut is content, a carriage return too.
            yield Lines(data, base, np.array([0], np.int64), np.array([len(data)], np.int64))
            cut_lines += 1
            cut_bytes += size - line_bytes
            base += size
            held, size, dropping = [], 0, True
    if held:
        source.seam = None
        chunk, lost = _shorten(_split(b"".join(held), base), line_bytes)
        if lost.any():
            cut_lines += 1
            cut_bytes += int(lost.sum())
            first_cut = base if first_cut is None else first_cut
        yield chunk
    if held or dropping:
        source.tell("note", NO_END)
    what = f"lines of more than {line_bytes} bytes were cut; {cut_bytes} bytes are missing"
    source.tell("loss", what, "", first_cut, cut_lines)


def _split(data: bytes, base: int) -> Lines:
    view = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(view == 10).astype(np.int64, copy=False)
    ends = feeds if data.endswith(b"\n") else np.append(feeds, len(data))
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    last = view[np.maximum(ends, 1) - 1]
    ends = ends - ((last == 13) & (ends > starts))
    return Lines(data, base, starts, ends)


def _shorten(chunk: Lines, line_bytes: int) -> tuple[Lines, Integers]:
    """Cut what is too long; the second value is the bytes lost of each line, its carriage return counted."""
    over = chunk.ends - chunk.starts > line_bytes
    ends = np.where(over, chunk.starts + line_bytes, chunk.ends)
    next_starts = np.append(chunk.starts[1:], len(chunk.data) + (not chunk.data.endswith(b"\n")))
    lost = np.where(over, next_starts - 1 - ends, 0)
    return chunk._replace(ends=ends), lost


def block_of(
    source: Source,
    chunk: Lines,
    table: list[Stream],
    streams: list[int] | None = None,
    times: list[int] | None = None,
) -> Block:
    """Make a block whose records are the given lines and count them."""
    count = len(chunk.starts)
    block = Block(
        source=source,
        data=chunk.data,
        starts=chunk.starts,
        ends=chunk.ends,
        offsets=chunk.starts + chunk.base,
        lengths=chunk.ends - chunk.starts,
        times=np.full(count, NO_TIME) if times is None else np.array(times, np.int64),
        streams=np.zeros(count, np.int32) if streams is None else np.array(streams, np.int32),
        stream_table=table,
        first_record=source.records,
    )
    source.records += count
    return block


def cells_of(line: str) -> list[str]:
    """The cells of a line of a table with commas; none where it is torn so that it has none."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a carriage return inside, or a cell without end
        return []


def read_text(source: Source, pieces: Iterator[bytes], line_bytes: int) -> Iterator[Block]:
    """Read a log without envelope: each line is a message of one stream, without a time."""
    table = [Stream(source.name)]
    for chunk in lines(pieces, source, line_bytes):
        yield block_of(source, chunk, table)
