"""Put rows on disk while a source is read, and give them back as views of the file: memory does not grow with a log."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import replace
from mmap import ACCESS_READ, ALLOCATIONGRANULARITY, mmap
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .columns import EventPart, Rows

__all__ = ["Spool"]

HELD = 32 * 1024 * 1024
"""So many bytes of rows are kept in memory before anything is put on disk: most cases never are."""

NUMBERS = ("sort", "record", "offset", "length", "time", "clock")


class Spool:
    """Rows on their way from the scan to their tables. The file has no name and goes with whoever uses it."""

    def __init__(self, held_bytes: int = HELD) -> None:
        self._room = held_bytes
        self._file: Any = None

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
