"""Read some records of a log once more, by the places that are cited for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from forensics.records.block import Block, Integers, Source
from forensics.records.detect import Format
from forensics.records.options import Options
from forensics.records.read import readers

__all__ = ["Places", "read_again"]

GAP = 64 * 1024
"""Bytes between two places that are read through sooner than left out."""

BESIDE = 1024
"""So many bytes around a place are read to find where its line begins and ends; then twice as many, and so on."""


class Places(NamedTuple):
    """Records, ascending, and what is cited for each: `lengths[i]` bytes at `offsets[i]` of the source."""

    records: Integers
    offsets: Integers
    lengths: Integers


def read_again(path: Path, kind: str, places: Places, options: Options) -> Iterator[tuple[Block, Integers]]:
    """Yield records that stand at some places of a log, and the number of each.

    A place that holds no such record any more yields none.

    Args:
        path: The log: a file of a format whose lines mean the same whatever stands before them.
        kind: The format.
        places: The records that are wanted.
        options: Bounds.
    """
    order = np.argsort(places.offsets, kind="stable")
    begins = places.offsets[order]
    ends = np.maximum.accumulate(begins + places.lengths[order])
    with path.open("rb", buffering=0) as stream:
        first = done = size = 0
        lines: list[tuple[int, bytes]] = []
        while first < len(order):
            last = _window(begins, ends, first, options.block_bytes)
            at = order[first:last]
            found = _lines_of(stream, places.offsets[at], places.lengths[at])
            lines += found
            size += sum(len(text) for _, text in found)
            first = last
            if size >= options.block_bytes or first == len(order):
                at = np.sort(order[done:first])
                yield from _records(path, kind, lines, Places(*(column[at] for column in places)), options)
                lines, size, done = [], 0, first


def _window(begins: Integers, ends: Integers, first: int, most: int) -> int:
    """How far places lie so close together that they are read at once."""
    until = min(len(begins), first + 1 + int(np.searchsorted(begins[first + 1 :], begins[first] + most, "right")))
    apart = np.flatnonzero(begins[first + 1 : until] > ends[first : until - 1] + GAP)
    if len(apart):
        return first + 1 + int(apart[0])
    while until < len(begins) and begins[until] <= ends[until - 1]:  # one message lies inside of the other
        until += 1
    return until


def _lines_of(stream: BinaryIO, offsets: Integers, lengths: Integers) -> list[tuple[int, bytes]]:
    """The lines that hold what is cited, those that stand together as one text, each with its offset."""
    ends = offsets + lengths
    base, data = _whole_lines(stream, int(offsets.min()), int(ends.max()))
    feeds = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
    starts = np.concatenate((np.zeros(1, np.int64), feeds + 1))
    # What is cited is a message in its line, or lines from one to another; all others are left out.
    many = np.zeros(len(starts) + 1, np.int64)
    np.add.at(many, np.searchsorted(starts, offsets - base, "right") - 1, 1)
    np.add.at(many, np.searchsorted(starts, np.maximum(ends - 1, offsets) - base, "right"), -1)
    edges = np.append(starts, len(data))[np.flatnonzero(np.diff(np.cumsum(many) > 0, prepend=False))].tolist()
    return [(base + begin, data[begin:end]) for begin, end in zip(edges[::2], edges[1::2], strict=True)]


def _records(
    path: Path, kind: str, lines: Sequence[tuple[int, bytes]], places: Places, options: Options
) -> Iterator[tuple[Block, Integers]]:
    begins = np.cumsum([0, *(len(text) for _, text in lines[:-1])])
    shifts = np.array([begin for begin, _ in lines], np.int64) - begins
    order = np.argsort(places.offsets, kind="stable")
    offsets = places.offsets[order]
    text = b"".join(text for _, text in lines)
    for block in readers(Format(kind), Source(str(path), kind), iter((text,)), options, None):
        assert isinstance(block, Block)
        there = block.offsets + shifts[np.searchsorted(begins, block.offsets, "right") - 1]
        at = order[np.minimum(np.searchsorted(offsets, there), len(order) - 1)]
        same = np.flatnonzero((places.offsets[at] == there) & (places.lengths[at] == block.lengths))
        yield (
            replace(
                block,
                starts=block.starts[same],
                ends=block.ends[same],
                offsets=there[same],
                lengths=block.lengths[same],
                times=block.times[same],
                streams=block.streams[same],
                first_record=0,
            ),
            places.records[at[same]],
        )


def _whole_lines(stream: BinaryIO, begin: int, end: int) -> tuple[int, bytes]:
    """The lines from one place of a file to another, and where the first of them begins."""
    beside = BESIDE
    while True:
        base = max(begin - beside, 0)
        stream.seek(base)
        data = stream.read(end + beside - base)
        first = data.rfind(b"\n", 0, begin - base) + 1
        last = data.find(b"\n", max(end - base, 0)) + 1
        ended = len(data) < end + beside - base
        if (first or not base) and (last or ended):
            return base + first, data[first : last or len(data)]
        beside *= 2
