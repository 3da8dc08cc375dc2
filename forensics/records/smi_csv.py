"""Read samples that `nvidia-smi --query-gpu` and `--query-compute-apps` print as CSV.

The separator is a comma and one blank; nothing is quoted, so a process name may hold separators (drivers 384–610).
Units stand in the values, in the header with `nounits` too. Times are local and carry no zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from forensics.records.block import CardSamples, HolderSamples, Problem, Source
from forensics.records.lines import lines
from forensics.records.options import Options

__all__ = ["Column", "header_of", "infer_columns", "read_smi_csv"]

_ROWS = 200_000
"""Rows of one hand-over."""

_NAMES = {
    "timestamp": "time",
    "index": "index",
    "gpu": "index",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "pci.bus_id": "pci_bus_id",
    "gpu_bus_id": "pci_bus_id",
    "name": "name",
    "gpu_name": "name",
    "memory.total": "total_bytes",
    "memory.used": "used_bytes",
    "memory.free": "free_bytes",
    "memory.reserved": "reserved_bytes",
    "utilization.gpu": "utilization_ratio",
    "power.draw": "power_w",
    "driver_version": "driver",
    "pid": "pid",
    "process_name": "process",
    "process name": "process",
    "used_gpu_memory": "used_bytes",
    "used_memory": "used_bytes",
    "used": "used_bytes",
}
"""What we call the columns that are used; others are passed over."""

_TELLING = frozenset(
    {
        "memory.total",
        "memory.used",
        "memory.free",
        "memory.reserved",
        "used_gpu_memory",
        "used_memory",
        "gpu_uuid",
        "uuid",
        "utilization.gpu",
        "power.draw",
        "process_name",
        "pci.bus_id",
        "gpu_bus_id",
        "pid",
    }
)
"""Names of which one must be there for a line to be a header."""

_FACTORS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "MB": 2**20, "B": 1}
"""The tool's MB are MiB."""

_ABSENT = frozenset(
    {
        "",
        "N/A",
        "[N/A]",
        "[Not Supported]",
        "Not Supported",
        "[Insufficient Permissions]",
        "Insufficient Permissions",
        "[Requested functionality has been deprecated]",
        "[Function Not Found]",
    }
)
_TIME = re.compile(r"(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:?\d\d)?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f-]+")
_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")


class Column(NamedTuple):
    """A column by our name, None if it is not used, and the unit its header gives."""

    name: str | None
    unit: str | None


def header_of(line: bytes) -> list[Column] | None:
    """Read a line as a header; None if it is none."""
    fields = line.decode("utf-8", "replace").strip().split(", ")
    if len(fields) < 2 and fields[0].partition(" [")[0] not in _TELLING:
        return None
    columns = []
    telling = 0
    for field in fields:
        name, _, unit = field.partition(" [")
        if unit and not unit.endswith("]"):
            return None
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_. ]*", name):
            return None
        telling += name in _TELLING
        columns.append(Column(_NAMES.get(name), unit[:-1] or None))
    if not telling:
        return None
    names = [column.name for column in columns if column.name is not None]
    # Of two columns of one meaning the first is used.
    for at, column in enumerate(columns):
        if column.name is not None and column.name in (other.name for other in columns[:at]):
            columns[at] = column._replace(name=None)
    return columns if names else None


def infer_columns(rows: list[bytes]) -> list[Column] | None:
    """Tell the columns of samples without a header from their values; None if they are no such samples.

    Sizes are told apart by total = reserved + used + free. That order cannot tell used from free: used stands first in
    every documented example.
    """
    table = [row.decode("utf-8", "replace").rstrip("\r").split(", ") for row in rows]
    table = [row for row in table if len(row) >= 3]
    if not table or len(table) * 2 < len(rows):
        return None
    first = table[0]
    named: list[Column] = []
    sizes: list[int] = []
    for at, value in enumerate(first):
        name = unit = None
        if _TIME.fullmatch(value):
            name = "time"
        elif _UUID.fullmatch(value):
            name = "uuid"
        elif _BUS.fullmatch(value):
            name = "pci_bus_id"
        elif re.fullmatch(r"\d+ MiB", value):
            sizes.append(at)
        elif re.fullmatch(r"\d+(?:\.\d+)? %", value):
            name = "utilization_ratio"
        elif re.fullmatch(r"\d+\.\d+ W", value):
            name = "power_w"
        elif value.startswith(("NVIDIA ", "Tesla ")):
            name = "name"
        if name is not None and name in (column.name for column in named):
            name = None
        named.append(Column(name, unit))
    known = {column.name for column in named}
    if not known & {"time", "uuid", "pci_bus_id", "name"}:
        return None
    integers = [at for at, value in enumerate(first) if value.isascii() and value.isdigit()]
    # pid, process name, memory at the end of the row: a list of processes
    process = [at for at in integers if at + 2 == len(first) - 1 and not first[at + 1].isdigit()]
    if process and (sizes == [len(first) - 1] or first[-1] in _ABSENT or first[-1].isdigit()):
        at = process[0]
        named[at : at + 3] = [Column("pid", None), Column("process", None), Column("used_bytes", "MiB")]
        return named
    if not sizes:
        return None
    if integers and integers[0] < sizes[0]:
        named[integers[0]] = Column("index", None)
    full = [row for row in table if len(row) == len(first)]
    amounts = [[_size(row[at], "MiB") or 0 for at in sizes] for row in full]
    total = max(range(len(sizes)), key=lambda at: amounts[0][at])
    if len(sizes) > 1:
        named[sizes[total]] = Column("total_bytes", "MiB")
    others = [at for at in range(len(sizes)) if at != total] if len(sizes) > 1 else [0]
    if len(others) == 3:
        spread = [(max(column) - min(column), column[0]) for column in zip(*amounts, strict=True)]
        reserved = min(others, key=lambda at: (spread[at][0], not 0 < spread[at][1] < 2**30, at))
        named[sizes[reserved]] = Column("reserved_bytes", "MiB")
        others.remove(reserved)
    for at, name in zip(others, ("used_bytes", "free_bytes"), strict=False):
        named[sizes[at]] = Column(name, "MiB")
    return named


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
        rows.columns = columns
        names = ", ".join(column.name or "?" for column in columns)
        rows.problem("note", f"no header; the columns were inferred: {names}", "record with --format=csv", 0)
    lost = 0
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
                if header != rows.columns:
                    yield from rows.batch()
                    rows.columns = header
                continue
            open_end = number == last and not data.endswith(b"\n")
            if not rows.add(line.decode("utf-8", "replace"), offset, end - start, open_end=open_end):
                if open_end:
                    rows.problem("loss", "the last row is cut", "", offset)
                    continue
                lost += 1
                if first_lost is None:
                    first_lost, sample = offset, line[:80].decode("utf-8", "replace")
            if rows.count >= _ROWS:
                yield from rows.batch()
    yield from rows.batch()
    if lost:
        rows.problem("loss", f"rows that are no sample, the first: {sample!r}", "", first_lost, lost)
    for token, count in rows.tokens.items():
        rows.problem("note", f"{token} stands where a value belongs", "", None, count)
    if not source.records:
        rows.problem("note", "a header without rows: nothing was running, or it was hidden from the tool", "", 0)


class _Rows:
    """Rows of one column set, gathered column by column."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.columns: list[Column] | None = None
        self.tokens: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.zoned = 0
        self.timed = 0
        self.driver: str | None = None
        self.texts: dict[str, list[str | None]] = {
            name: [] for name in ("uuid", "pci_bus_id", "name", "process", "driver")
        }
        self.numbers: dict[str, list[int | None]] = {
            name: [] for name in ("time", "index", "pid", "total_bytes", "used_bytes", "free_bytes", "reserved_bytes")
        }
        self.ratios: dict[str, list[float | None]] = {name: [] for name in ("utilization_ratio", "power_w")}
        self.offset: list[int] = []
        self.length: list[int] = []

    def problem(self, severity: str, what: str, remedy: str, offset: int | None, count: int = 1) -> None:
        self.source.problems.append(Problem(self.source.name, severity, what, remedy, offset, count))

    def add(self, line: str, offset: int, length: int, *, open_end: bool) -> bool:
        """Take one row; False if it is none, or was cut."""
        columns = self.columns
        if columns is None:
            return False
        values = line.split(", ")
        spare = len(values) - len(columns)
        if spare < 0:
            return False
        if spare:
            at = next((at for at, column in enumerate(columns) if column.name == "process"), None)
            if at is None:
                return False
            # A process name with separators: the columns before and behind it are sure.
            values[at : at + spare + 1] = [", ".join(values[at : at + spare + 1])]
        if open_end and not _complete(values[-1], columns[-1].name):
            return False
        row: dict[str, Any] = {}
        for (name, unit), raw in zip(columns, values, strict=True):
            if name is None:
                continue
            value = raw.strip()
            if value in _ABSENT:
                continue
            if value.startswith("["):
                self.tokens[value] = self.tokens.get(value, 0) + 1
                continue
            read: object
            if name == "time":
                read = _time(value)
                if read is not None:
                    self.timed += 1
                    self.zoned += isinstance(read, tuple)
                    read = read[0] if isinstance(read, tuple) else read
            elif name in ("index", "pid"):
                read = int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
            elif name.endswith("_bytes"):
                read = _size(value, unit)
            elif name == "utilization_ratio":
                read = _float(value.removesuffix("%"), 100)
            elif name == "power_w":
                read = _float(value.removesuffix("W"), 1)
            else:
                read = value.upper() if name == "pci_bus_id" else value
            if read is None:
                return False
            row[name] = read
        kinds: tuple[dict[str, list[Any]], ...] = (self.texts, self.numbers, self.ratios)
        for kind in kinds:
            for name, gathered in kind.items():
                gathered.append(row.get(name))
        self.offset.append(offset)
        self.length.append(length)
        self.count += 1
        return True

    def batch(self) -> Iterator[CardSamples | HolderSamples]:
        """Hand over what was gathered."""
        if not self.count:
            return
        numbers, texts = self.numbers, self.texts
        zoned = bool(self.timed) and self.zoned == self.timed
        self.source.records += self.count
        if "process" in (column.name for column in self.columns or ()) or any(numbers["pid"]):
            yield HolderSamples(
                source=self.source,
                wall_us=numbers["time"],
                zone_known=zoned,
                uuid=texts["uuid"],
                pci_bus_id=texts["pci_bus_id"],
                index=numbers["index"],
                pid=numbers["pid"],
                process=texts["process"],
                used_bytes=numbers["used_bytes"],
                offset=self.offset,
                length=self.length,
            )
        else:
            yield CardSamples(
                source=self.source,
                wall_us=numbers["time"],
                zone_known=zoned,
                index=numbers["index"],
                uuid=texts["uuid"],
                pci_bus_id=texts["pci_bus_id"],
                name=texts["name"],
                total_bytes=numbers["total_bytes"],
                used_bytes=numbers["used_bytes"],
                free_bytes=numbers["free_bytes"],
                reserved_bytes=numbers["reserved_bytes"],
                utilization_ratio=self.ratios["utilization_ratio"],
                power_w=self.ratios["power_w"],
                offset=self.offset,
                length=self.length,
                driver=next((driver for driver in texts["driver"] if driver is not None), None),
            )
        self._clear()


def _complete(value: str, name: str | None) -> bool:
    """Whether a last value without a line end is surely whole: its unit or bracket is there."""
    if name is None or value.startswith("["):
        return value.endswith("]")
    return value.endswith((" MiB", " %", " W", "]")) or (_UUID.fullmatch(value) is not None and len(value) == 40)


def _time(value: str) -> int | tuple[int] | None:
    """The printed time as if it were UTC, in a tuple where a zone was printed and it is."""
    found = _TIME.fullmatch(value)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    wall = int(moment.timestamp()) * 1_000_000 + int((found[7] or "0").ljust(6, "0"))
    if found[8] is None:
        return wall
    zone = found[8].replace(":", "")
    if zone == "Z":
        return (wall,)
    away = (int(zone[1:3]) * 60 + int(zone[3:5])) * 60_000_000
    return (wall - away if zone[0] == "+" else wall + away,)


def _size(value: str, unit: str | None) -> int | None:
    digits, _, printed = value.partition(" ")
    if not printed and (found := re.fullmatch(r"(\d+)([A-Za-z]+)", digits)):
        digits, printed = found[1], found[2]
    factor = _FACTORS.get(printed or unit or "MiB")
    try:
        amount = Decimal(digits)
    except InvalidOperation:
        return None
    if factor is None or not amount.is_finite() or not 0 <= amount < 2**40:
        return None
    return int(amount * factor)


def _float(value: str, divisor: int) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number / divisor if 0 <= number < 1e9 else None
