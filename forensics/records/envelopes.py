"""Collect the messages of enveloped lines into blocks: what they say is not what stands in the file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forensics.records.block import Block, Partial, Source, Stream

__all__ = ["Collector"]


class Collector:
    """Messages gathered until a block is full; streams are numbered as they appear."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.table: list[Stream] = []
        self._ids: dict[Stream, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._data: list[bytes] = []
        self._size: list[int] = []
        self._offsets: list[int] = []
        self._lengths: list[int] = []
        self._times: list[int] = []
        self._streams: list[int] = []
        self._cursors: dict[int, str] = {}
        self._fields: dict[int, dict[str, str]] = {}
        self._partials: dict[int, Partial] = {}

    def stream(self, stream: Stream) -> int:
        """The number of a stream in the table."""
        number = self._ids.get(stream)
        if number is None:
            number = self._ids[stream] = len(self.table)
            self.table.append(stream)
        return number

    def add(
        self,
        message: bytes,
        *,
        offset: int,
        length: int,
        time: int,
        stream: int,
        cursor: str | None = None,
        fields: dict[str, str] | None = None,
        partial: Partial | None = None,
    ) -> None:
        """Take one record: its message and the bytes of the source that are cited for it."""
        number = len(self._size)
        if cursor is not None:
            self._cursors[number] = cursor
        if fields is not None:
            self._fields[number] = fields
        if partial is not None:
            self._partials[number] = partial
        self._data.append(message)
        self._size.append(len(message))
        self._offsets.append(offset)
        self._lengths.append(length)
        self._times.append(time)
        self._streams.append(stream)

    def blocks(self) -> Iterator[Block]:
        """A block of what was taken since the last one, if anything was.

        Messages stand in it with a line feed between them.
        """
        if not self._size:
            return
        sizes = np.array(self._size, np.int64)
        after = np.cumsum(sizes + 1)
        data = b"\n".join((*self._data, b""))
        starts = after - sizes - 1
        ends = after - 1
        view = np.frombuffer(data, np.uint8)
        ends = ends - ((sizes > 0) & (view[np.maximum(ends, 1) - 1] == 13))
        block = Block(
            source=self.source,
            data=data,
            starts=starts,
            ends=ends,
            offsets=np.array(self._offsets, np.int64),
            lengths=np.array(self._lengths, np.int64),
            times=np.array(self._times, np.int64),
            streams=np.array(self._streams, np.int32),
            stream_table=self.table,
            first_record=self.source.records,
            cursors=self._cursors,
            fields=self._fields,
            partials=self._partials,
        )
        self.source.records += len(block)
        self._clear()
        yield block
