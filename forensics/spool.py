"""Gather what is found while a source is read: rows of small blocks together, many rows on disk.

Those on disk are views of a file without a name: memory does not grow with a log.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from mmap import ACCESS_READ, ALLOCATIONGRANULARITY, mmap
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .columns import EventPart, Rows
from .scan import Found

__all__ = ["Spool"]

HELD = 32 * 1024 * 1024
"""So many bytes of rows are kept in memory before anything is put on disk: most cases never are."""

TOGETHER = 16_384
"""Rows from which on a block is worth the columns that are made of it; those of fewer wait for the blocks after it."""

NUMBERS = ("sort", "record", "offset", "length", "time", "clock")


class Spool:
    """Rows on their way from the scan to their tables. The file has no name and goes with whoever uses it."""

    def __init__(self, held_bytes: int = HELD, together: int = TOGETHER) -> None:
        self._room = held_bytes
        self._together = together
        self._file: Any = None
        self._done: list[Found] = []
        self._waiting: list[Found] = []
        self._rows = 0

    def add(self, one: Found) -> None:
        """Take what was found in the next block, which may be nothing."""
        if one.source is None:
            return
        if self._waiting and one.source != self._waiting[0].source:
            self._gather()
        self._waiting.append(one)
        self._rows += 0 if one.rows is None else len(one.rows)
        if self._rows >= self._together:
            self._gather()

    def found(self) -> list[Found]:
        """All that was taken, in order; several blocks of a source as one."""
        self._gather()
        return self._done

    def _gather(self) -> None:
        if self._waiting:
            lines = [line for one in self._waiting for line in one.lines]
            rows = [one.rows for one in self._waiting if one.rows is not None]
            self._done.append(Found(lines, self.keep(_joined(rows)) if rows else None))
        self._waiting, self._rows = [], 0

    def keep(self, rows: Rows) -> Rows:
        """The same rows, on disk if there are many."""
        self._room -= rows.nbytes
        if self._room >= 0:
            return rows
        whole, *parts = _batches(rows)
        sink = pa.BufferOutputStream()
        places: list[int] = []
        for batch in (whole, *parts):
            places.append(sink.tell())
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
        view = self._write(sink.getvalue())
        names = [table for table, found in rows.events.items() for _ in found]
        return _with_views(rows, _Parts(names, places[1:], view), _read(view, places[0]))

    def _write(self, data: pa.Buffer) -> memoryview:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="forensics-")  # noqa: SIM115  # as long as there are views
        place = self._file.seek(0, 2)
        place += -place % ALLOCATIONGRANULARITY
        self._file.seek(place)
        self._file.write(data)
        self._file.flush()
        return memoryview(mmap(self._file.fileno(), data.size, access=ACCESS_READ, offset=place))


def _joined(several: Sequence[Rows]) -> Rows:
    """Rows of blocks that follow each other in a source, as those of one block."""
    first, *others = several
    if not others:
        return first
    cursors = None
    if any(one.cursors is not None for one in several):
        none = (pa.nulls(len(one), pa.string()) for one in several)
        cursors = pa.concat_arrays(
            [other if one.cursors is None else one.cursors for one, other in zip(several, none, strict=True)]
        )
    parts: dict[str, list[EventPart]] = {}
    begin = 0
    for one in several:
        for table, found in one.events.items():
            parts.setdefault(table, []).extend((at + begin, columns) for at, columns in found)
        begin += len(one)
    numbers: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in several]) for name in NUMBERS}
    return replace(
        first,
        **numbers,
        text=pa.concat_arrays([one.text for one in several]),
        cursors=cursors,
        events={
            table: [
                (
                    np.concatenate([at for at, _ in found]).astype(np.int32, copy=False),
                    {name: pa.concat_arrays([columns[name] for _, columns in found]) for name in found[0][1]},
                )
            ]
            for table, found in parts.items()
        },
    )


def _batches(rows: Rows) -> list[pa.RecordBatch]:
    whole = {name: pa.array(getattr(rows, name)) for name in NUMBERS}
    whole["text"] = rows.text
    if rows.cursors is not None:
        whole["cursors"] = rows.cursors
    found = [pa.RecordBatch.from_pydict(whole)]
    for parts in rows.events.values():
        found += [pa.RecordBatch.from_pydict({"\0places": pa.array(at), **columns}) for at, columns in parts]
    return found


class _Parts(Mapping[str, list[EventPart]]):
    """Events by table, made anew whenever they are looked at: a log has hundreds of thousands of columns."""

    def __init__(self, names: list[str], places: list[int], view: memoryview) -> None:
        self._places: dict[str, array[int]] = {}
        for name, place in zip(names, places, strict=True):
            self._places.setdefault(name, array("q")).append(place)
        self._view = view

    def __getitem__(self, table: str) -> list[EventPart]:
        return [_part(_read(self._view, place)) for place in self._places[table]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _read(view: memoryview, place: int) -> pa.RecordBatch:
    return pa.ipc.open_stream(pa.py_buffer(view[place:])).read_next_batch()


def _part(batch: pa.RecordBatch) -> EventPart:
    columns = {name: batch[name] for name in batch.schema.names}
    at: npt.NDArray[np.int32] = columns.pop("\0places").to_numpy(zero_copy_only=True)
    return at, columns


def _with_views(rows: Rows, events: Mapping[str, list[EventPart]], whole: pa.RecordBatch) -> Rows:
    numbers = {name: whole[name].to_numpy(zero_copy_only=True) for name in NUMBERS}
    cursors = None if rows.cursors is None else whole["cursors"]
    return replace(rows, text=whole["text"], cursors=cursors, events=events, **numbers)
