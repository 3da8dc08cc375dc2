"""Read samples that `nvidia-smi --query-gpu` and `--query-compute-apps` print as CSV.

The separator is a comma and one blank; nothing is quoted, so a process name may hold separators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.lines import lines
from forensics.records.options import Options
from forensics.records.samples import CardRows, HolderRows, Timeless
from forensics.records.smi_columns import Column, Token, header_of, is_whole, reader_of

__all__ = ["read_smi_csv"]

_ROWS = 200_000
"""Rows of one hand-over."""

_REMEDY = "add timestamp to the query: --query-gpu=timestamp,index,uuid,…, --query-compute-apps=timestamp,gpu_uuid,…"

_REPEATING = 4096
"""Values of a column that are remembered as read: most repeat."""


def read_smi_csv(
    source: Source, pieces: Iterator[bytes], options: Options, columns: list[Column] | None
) -> Iterator[CardSamples | HolderSamples]:
    """Yield samples, a new batch where the columns change.

    Args:
        source: Takes problems and the count of rows.
        pieces: The content.
        options: Bounds.
        columns: What was inferred for samples without a header, else None.
    """
    rows = _Rows(source)
    if columns is not None:
        rows.use(columns)
        names = ", ".join(column.name or "?" for column in columns)
        rows.problem("note", f"no header; the columns were inferred: {names}", "record with --format=csv", 0)
    lost = rejected = 0
    first_lost: int | None = None
    sample = ""
    for chunk in lines(pieces, source, options.line_bytes):
        data = chunk.data
        last = len(chunk.starts) - 1
        for number, (start, end) in enumerate(zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True)):
            line = data[start:end]
            if not line.strip():
                continue
            offset = chunk.base + start
            header = header_of(line)
            if header is not None:
                if header != rows.columns or not rows.times:  # without times, another header is another reading
                    yield from rows.batch()
                    rows.use(header)
                continue
            open_end = number == last and not data.endswith(b"\n")
            if not rows.add(line.decode("utf-8", "replace"), offset, end - start, open_end=open_end):
                rejected += 1
                if open_end:
                    rows.problem("loss", "the last row is cut", "", offset)
                    continue
                lost += 1
                if first_lost is None:
                    first_lost, sample = offset, line[:80].decode("utf-8", "replace")
            if rows.count >= _ROWS:
                yield from rows.batch()
    yield from rows.batch()
    yield from rows.timeless.samples(dated=rows.dated, among=rows.among)
    if lost:
        rows.problem("loss", f"rows that are no sample, the first: {sample!r}", "", first_lost, lost)
    for token, count in rows.tokens.items():
        rows.problem("note", f"{token} stands where a value belongs", "", None, count)
    if not source.records and not rejected:
        rows.problem("note", "a header without rows: nothing was running, or it was hidden from the tool", "", 0)


class _Rows:
    """Rows of one column set, gathered column by column."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens: dict[str, int] = {}
        self.timeless = Timeless(source, _REMEDY)
        self.dated = False
        self.among = 0  # rows without a time, of batches in which one prints it
        self.use([])

    def use(self, columns: list[Column]) -> None:
        """Take rows of these columns from now on."""
        self.columns = columns
        self._names = [column.name for column in columns]
        self._readers = [reader_of(column) for column in columns]
        self._known: list[dict[str, object]] = [{} for _ in columns]
        self._process = self._names.index("process") if "process" in self._names else None
        self._clear()

    def _clear(self) -> None:
        self._gathered: list[list[Any]] = [[] for _ in self._names]
        self._offset: list[int] = []
        self._length: list[int] = []
        self.times = self._zoned = 0

    @property
    def count(self) -> int:
        return len(self._offset)

    def problem(self, severity: str, what: str, remedy: str, offset: int | None, count: int = 1) -> None:
        self.source.tell(severity, what, remedy, offset, count)

    def add(self, line: str, offset: int, length: int, *, open_end: bool) -> bool:
        """Take one row; False if it is none, or was cut."""
        values = line.split(", ")
        spare = len(values) - len(self._names)
        if spare:
            at = self._process
            if spare < 0 or at is None:
                return False
            # A process name with separators: the columns before and behind it are sure.
            values[at : at + spare + 1] = [", ".join(values[at : at + spare + 1])]
        if open_end and not is_whole(values[-1], self._names[-1]):
            return False
        row: list[object] = []
        try:
            for value, known, name, read in zip(values, self._known, self._names, self._readers, strict=True):
                if name is None:
                    cell = None
                elif value in known:
                    cell = known[value]
                else:
                    cell = read(value)
                    if name != "time" and len(known) < _REPEATING:
                        known[value] = cell
                row.append(cell)
        except ValueError:
            return False
        for at, cell in enumerate(row):
            if type(cell) is Token:
                self.tokens[cell.text] = self.tokens.get(cell.text, 0) + 1
                row[at] = None
            elif self._names[at] == "time" and cell is not None:
                self.times += 1
                if type(cell) is tuple:
                    self._zoned += 1
                    row[at] = cell[0]
        for gathered, cell in zip(self._gathered, row, strict=True):
            gathered.append(cell)
        self._offset.append(offset)
        self._length.append(length)
        return True

    def batch(self) -> Iterator[CardSamples | HolderSamples]:
        """Hand over what was gathered; what prints no time is kept till the end."""
        by_name: dict[str | None, list[Any]] = dict(zip(self._names, self._gathered, strict=True))
        by_name |= {"wall_us": by_name.get("time", []), "offset": self._offset, "length": self._length}
        zoned = self.times > 0 and self._zoned == self.times
        rows = HolderRows(by_name) if "process" in by_name or "pid" in by_name else CardRows(by_name)
        driver = next((one for one in by_name.get("driver", ()) if one is not None), None)
        if self.times:
            self.dated = True
            self.among += self.count - self.times
            if isinstance(rows, HolderRows):
                yield from rows.samples(self.source, zone_known=zoned)
            else:
                yield from rows.samples(self.source, zone_known=zoned, driver=driver)
        elif self.columns:
            self.timeless.take_last(rows, driver)
        self._clear()
