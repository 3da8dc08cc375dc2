"""Know the columns of nvidia-smi's CSV: by their header, or by their values where there is none, and read a value.

Units stand in the values, and in the header with `nounits` too (drivers 384–610). Times are local and carry no zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from typing import NamedTuple

__all__ = ["Column", "Token", "header_of", "infer_columns", "is_whole", "reader_of"]

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
        "utilization.gpu",
        "power.draw",
        "process_name",
        "process name",
        "pci.bus_id",
        "gpu_bus_id",
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
_WORDS = frozenset({"[No data]", "[Not Found]", "[Unknown Error]", "[GPU is lost]"})
"""Such words in place of a process name, which may itself be in brackets."""

_TIME = re.compile(r"\d{4}[/-]\d\d[/-]\d\d[ T]\d\d:\d\d:\d\d(?:\.(\d{1,6}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f-]+")
_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")


class Token(NamedTuple):
    """What the tool printed in brackets instead of a value: evidence, if it is more than absence."""

    text: str


class Column(NamedTuple):
    """A column by our name, None if it is not used, and the unit its header gives."""

    name: str | None
    unit: str | None


def header_of(line: bytes) -> list[Column] | None:
    """Read a line as a header; None if it is none."""
    if not line[:1].isalpha():
        return None
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
    named_card = bool(known & {"uuid", "pci_bus_id"})
    if process and (sizes == [len(first) - 1] or (named_card and (first[-1] in _ABSENT or first[-1].isdigit()))):
        at = process[0]
        named[at : at + 3] = [Column("pid", None), Column("process", None), Column("used_bytes", "MiB")]
        return named
    if not sizes:
        return None
    if integers and integers[0] < sizes[0]:
        named[integers[0]] = Column("index", None)
    full = [row for row in table if len(row) == len(first)]
    amounts = [[_amount(row[at]) for at in sizes] for row in full]
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


def _amount(value: str) -> int:
    try:
        return _size(value, "MiB")
    except ValueError:
        return 0


def is_whole(value: str, name: str | None) -> bool:
    """Whether a last value without a line end is surely whole: its unit or bracket is there."""
    if name is None or value.startswith("["):
        return value.endswith("]")
    return value.endswith((" MiB", " %", " W", "]")) or (_UUID.fullmatch(value) is not None and len(value) == 40)


def reader_of(column: Column) -> Callable[[str], object]:
    """Give the function that reads a value of a column.

    It returns None where the tool says that it has no value, a Token for other such words, and raises ValueError for
    what is no value of this column. A time with a zone comes as a tuple of one.
    """
    name = column.name
    read: Callable[[str], object]
    if name == "time":
        read = _time
    elif name in {"index", "pid"}:
        read = _number
    elif name in {"utilization_ratio", "power_w"}:
        read = partial(_float, divisor=100 if name == "utilization_ratio" else 1)
    elif name is not None and name.endswith("_bytes"):
        read = partial(_size, unit=column.unit)
    else:
        read = str.upper if name == "pci_bus_id" else str
    words = _WORDS if name == "process" else None

    def value_of(value: str) -> object:
        value = value.strip()
        if value in _ABSENT:
            return None
        if value.startswith("[") and (words is None or value in words):
            return Token(value)
        return read(value)

    return value_of


def _number(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise ValueError(value)
    return int(value)


@lru_cache(maxsize=64)
def _second(value: str) -> int:
    year, month, day = int(value[:4]), int(value[5:7]), int(value[8:10])
    moment = datetime(year, month, day, int(value[11:13]), int(value[14:16]), int(value[17:]), tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000


def _time(value: str) -> int | tuple[int]:
    """The printed time as if it were UTC, in a tuple where a zone was printed and it is."""
    found = _TIME.fullmatch(value)
    if found is None:
        raise ValueError(value)
    wall = _second(value[:19]) + int((found[1] or "0").ljust(6, "0"))
    if found[2] is None:
        return wall
    zone = found[2].replace(":", "")
    if zone == "Z":
        return (wall,)
    away = (int(zone[1:3]) * 60 + int(zone[3:5])) * 60_000_000
    return (wall - away if zone[0] == "+" else wall + away,)


def _size(value: str, unit: str | None) -> int:
    digits, _, printed = value.partition(" ")
    if not printed and (found := re.fullmatch(r"(\d+)([A-Za-z]+)", digits)):
        digits, printed = found[1], found[2]
    factor = _FACTORS.get(printed or unit or "MiB")
    try:
        amount = Decimal(digits)
    except InvalidOperation:
        raise ValueError(value) from None
    if factor is None or not amount.is_finite() or not 0 <= amount < 2**40:
        raise ValueError(value)
    return int(amount * factor)


def _float(value: str, divisor: int) -> float:
    number = float(value.removesuffix("W" if divisor == 1 else "%"))
    if not 0 <= number < 1e9:
        raise ValueError(value)
    return number / divisor
