"""Gather rows of telemetry column by column, and settle what they count as used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.options import MIB

__all__ = ["CardRows", "HolderRows", "file_time", "file_time_once"]

ROUNDING = 3 * MIB
"""By how much total = reserved + used + free may miss: each of the four is rounded to a MiB."""


class _Rows:
    """Columns by name, filled row by row; what a row does not say is None."""

    _columns: tuple[str, ...]

    def __init__(self, gathered: Mapping[str | None, list[Any]] | None = None) -> None:
        """Begin without rows, or with columns that were gathered elsewhere, of which `offset` has one value a row."""
        given = gathered or {"offset": []}
        empty = [None] * len(given["offset"])
        self.values: dict[str, list[Any]] = {name: given.get(name) or [*empty] for name in self._columns}

    def __len__(self) -> int:
        return len(self.values["offset"])

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

    def samples(self, source: Source, *, zone_known: bool) -> Iterator[HolderSamples]:
        """All rows as one hand-over, counted; none if there are none."""
        if len(self):
            source.records += len(self)
            yield HolderSamples(source=source, zone_known=zone_known, **self.values)


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


def file_time_once(source: Source) -> Callable[[], int | None]:
    """What gives the time of the file, and says only when it is first needed that it is assumed."""
    return cache(partial(file_time, source))


def file_time(source: Source) -> int | None:
    """The time of a capture that prints none, with the note that it is assumed; None where no file has one."""
    if source.modified_us is None:
        what = "the capture prints no time, and its rows cannot be placed"
        remedy = "save it to a file, or capture a form that prints the time"
        source.tell("loss", what, remedy)
    else:
        what = "the capture prints no time: the file's modification time stands for it"
        source.tell("note", what)
    return source.modified_us
