"""Gather rows of telemetry column by column, and settle what they count as used."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Self

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.options import MIB
from forensics.told import UNPLACED

__all__ = ["CardRows", "HolderRows", "Timeless", "file_time", "file_time_once"]

ROUNDING = 3 * MIB
"""By how much total = reserved + used + free may miss: each of the four is rounded to a MiB."""


class _Rows:
    """Columns by name, filled row by row; what a row does not say is None."""

    _columns: tuple[str, ...]
    _identity: tuple[str, ...] = ("uuid", "pci_bus_id", "index")

    def __init__(self, gathered: Mapping[str | None, list[Any]] | None = None) -> None:
        """Begin without rows, or with columns that were gathered elsewhere, of which `offset` has one value a row."""
        given = gathered or {"offset": []}
        empty = [None] * len(given["offset"])
        self.values: dict[str, list[Any]] = {name: given.get(name) or [*empty] for name in self._columns}

    def __len__(self) -> int:
        return len(self.values["offset"])

    def last_reading(self) -> int | None:
        """Where the last reading begins, which names nothing twice; None if rows name no card and may be of several."""
        keys = list(zip(*(self.values[name] for name in self._identity), strict=True))
        seen: set[Hashable] = set()
        for row in range(len(keys) - 1, -1, -1):
            if keys[row] in seen:
                return None if set(keys[row][:3]) == {None} else row + 1
            seen.add(keys[row])
        return 0

    def since(self, row: int) -> Self:
        """The rows from one on."""
        return type(self)({name: column[row:] for name, column in self.values.items()})

    def add(self, extent: tuple[int, int], /, **values: object) -> None:
        """Take one row, cited by its extent: offset and length."""
        values.update(offset=extent[0], length=extent[1])
        for name, column in self.values.items():
            column.append(values.get(name))


class CardRows(_Rows):
    """Rows of cards."""

    _columns = tuple(name for name in CardSamples._fields if name not in {"source", "zone_known", "driver"})

    def samples(self, source: Source, *, zone_known: bool, driver: str | None = None) -> Iterator[CardSamples]:
        """All rows as one hand-over, counted; none if there are none."""
        if len(self):
            source.records += len(self)
            yield _settled(CardSamples(source=source, zone_known=zone_known, driver=driver, **self.values))


class HolderRows(_Rows):
    """Rows of processes on cards."""

    _columns = tuple(name for name in HolderSamples._fields if name not in {"source", "zone_known"})
    _identity = (*_Rows._identity, "pid")

    def samples(self, source: Source, *, zone_known: bool) -> Iterator[HolderSamples]:
        """All rows as one hand-over, counted; none if there are none."""
        if len(self):
            source.records += len(self)
            nobodys = sum(pid is None for pid in self.values["pid"])
            source.tell("loss", "rows of processes name no process, and are not used", "", None, nobodys)
            yield HolderSamples(source=source, zone_known=zone_known, **self.values)


class Timeless:
    """Rows of cards or of processes that print no time: the file's stands for that of the last reading.

    A file was last written when its last reading was; when those before it were taken is not known. A reading is of all
    cards or of all processes at once.
    """

    def __init__(self, source: Source, remedy: str) -> None:
        self._source = source
        self._remedy = remedy
        self._last: dict[type, tuple[CardRows | HolderRows, str | None]] = {}
        self._earlier = self._nameless = 0

    def take(self, rows: CardRows | HolderRows, driver: str | None = None) -> None:
        """Take a reading, even an empty one; what was taken of that kind is of an earlier one."""
        before = self._last.pop(type(rows), None)
        self._earlier += len(before[0]) if before else 0
        self._last[type(rows)] = rows, driver

    def take_last(self, rows: CardRows | HolderRows, driver: str | None = None) -> None:
        """Take rows of one or of several readings."""
        begin = rows.last_reading()
        if begin is None:
            self._nameless += len(rows)
        else:
            self._earlier += begin
            self.take(rows.since(begin), driver)

    def samples(self, *, dated: bool, among: int = 0) -> Iterator[CardSamples | HolderSamples]:
        """The last reading, and what is told of all others.

        Args:
            dated: Whether other rows of the source print a time: then the file's is theirs.
            among: How many rows stood among such, and were handed over.
        """
        source = self._source
        captured = file_time_once(source, self._remedy)
        if dated:
            self._earlier += sum(len(rows) for rows, _ in self._last.values())
            self._last.clear()
        for rows, driver in self._last.values():
            if len(rows):
                rows.values["wall_us"] = [captured()] * len(rows)
            if isinstance(rows, CardRows):
                yield from rows.samples(source, zone_known=True, driver=driver)
            else:
                yield from rows.samples(source, zone_known=True)
        source.records += self._earlier + self._nameless
        among += self._earlier if dated else 0
        for count, what in (
            (among, f"rows print no time among others that do, and {UNPLACED}"),
            (self._nameless, f"rows name no card and print no time: other cards or later readings, they {UNPLACED}"),
            (
                0 if dated else self._earlier,
                f"rows of earlier readings print no time, and {UNPLACED}: the file's is that of its last reading",
            ),
        ):
            source.tell("loss", what, self._remedy, None, count)


def _settled(cards: CardSamples) -> CardSamples:
    """Take what the driver reserves out of `used` where it is in it.

    The figures themselves say so: total = reserved + used + free, or total = used + free.
    """
    held = 0
    used = list(cards.used_bytes)
    for row, (total, mine, free, reserved) in enumerate(
        zip(cards.total_bytes, cards.used_bytes, cards.free_bytes, cards.reserved_bytes, strict=True)
    ):
        if total is None or mine is None or free is None or reserved is None or reserved <= ROUNDING:
            continue
        if abs(total - mine - free - reserved) > ROUNDING >= abs(total - mine - free) and mine >= reserved:
            used[row] = mine - reserved
            held += 1
    if not held:
        return cards
    what = "used memory held what the driver reserves (total = used + free): it was taken out"
    cards.source.tell("note", what, "", None, held)
    return cards._replace(used_bytes=used)


def file_time_once(source: Source, remedy: str = "") -> Callable[[], int | None]:
    """What gives the time of the file, and says only when it is first needed that it is assumed."""
    return cache(partial(file_time, source, remedy))


def file_time(source: Source, remedy: str = "") -> int | None:
    """The time of a capture that prints none, with the note that it is assumed; None where no file has one."""
    if source.modified_us is None:
        what = f"the capture prints no time, and its rows {UNPLACED}"
        source.tell("loss", what, remedy or "save it to a file, or capture a form that prints the time")
    else:
        what = "the capture prints no time: the file's modification time stands for it"
        source.tell("note", what, remedy)
        source.filed = True
    return source.modified_us
