"""Gather the records of one chunk of lines, most of them spans of its bytes, some put together from several lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forensics.records.block import Block, Source, Stream

__all__ = ["Joined", "Rows"]


class Rows:
    """Records in the order they were taken; only joined messages are copied."""

    def __init__(self, data: bytes, base: int) -> None:
        self._data = data
        self._base = base
        self._more: list[bytes] = []
        self._size = len(data)
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._offsets: list[int] = []
        self._lengths: list[int] = []
        self._times: list[int] = []
        self._streams: list[int] = []

    def span(self, start: int, end: int, time: int, stream: int) -> None:
        """Take a message that stands in the chunk, and is cited by its own bytes."""
        self._starts.append(start)
        self._ends.append(end)
        self._offsets.append(self._base + start)
        self._lengths.append(end - start)
        self._times.append(time)
        self._streams.append(stream)

    def joined(self, joined: Joined, stream: int) -> None:
        """Take a message put together from pieces, cited by the extent from the first to the last."""
        message = b"".join(joined.pieces)
        self._more.append(message)
        self._starts.append(self._size)
        self._size += len(message)
        self._ends.append(self._size)
        self._offsets.append(joined.begin)
        self._lengths.append(joined.end - joined.begin)
        self._times.append(joined.time)
        self._streams.append(stream)

    def blocks(self, source: Source, table: list[Stream]) -> Iterator[Block]:
        """A block of them, counted, if there are any."""
        if not self._starts:
            return
        block = Block(
            source=source,
            data=b"".join((self._data, *self._more)) if self._more else self._data,
            starts=np.array(self._starts, np.int64),
            ends=np.array(self._ends, np.int64),
            offsets=np.array(self._offsets, np.int64),
            lengths=np.array(self._lengths, np.int64),
            times=np.array(self._times, np.int64),
            streams=np.array(self._streams, np.int32),
            stream_table=table,
            first_record=source.records,
        )
        source.records += len(block)
        yield block


class Joined:
    """A message in pieces, from the first on; bounded, what is beyond is counted in `lost`."""

    def __init__(self, piece: bytes, begin: int, end: int, time: int, limit: int) -> None:
        self.pieces: list[bytes] = []
        self.begin = begin
        self.end = end
        self.time = time
        self.lost = 0
        self._room = limit
        self.add(piece, end)

    def add(self, piece: bytes, end: int) -> None:
        """Take the next piece, which ends at an offset of the source."""
        kept = piece[: self._room]
        self.lost += len(piece) - len(kept)
        self._room -= len(kept)
        if kept:
            self.pieces.append(kept)
        self.end = end
