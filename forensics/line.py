"""One record that a pattern read, with all that stages after the scan want to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .catalogue import Matched, Pattern, Prefix
from .clocks import elapsed_us, local_us
from .records.block import Stream

__all__ = ["Line", "Twin", "between_us"]

UNREAD = -1
"""A clock that nobody has asked for yet."""


class Twin(NamedTuple):
    """Where another source holds the same record."""

    source: str
    offset: int
    length: int


@dataclass(slots=True)
class Line:
    """One record that a pattern read: where it stands, who wrote it, what it says."""

    source: str
    record: int
    offset: int
    length: int
    time_us: int | None
    stream: Stream
    prefix: Prefix
    matched: Matched
    text: str
    cursor: str | None = None
    carried_by: int | None = None
    order: int = -1
    twin: Twin | None = None
    more: tuple[Matched, ...] = ()
    """What else the record says: a message that is glued behind another, which ends without a line feed."""
    _clock: int | None = UNREAD

    @property
    def clock_us(self) -> int | None:
        """µs since its writer began, if the line says so."""
        if self._clock == UNREAD:
            self._clock = elapsed_us(self.prefix.clock[0]) if self.prefix.clock else None
        return self._clock

    @property
    def pattern(self) -> Pattern:
        """The pattern that read it."""
        return self.matched.pattern


def between_us(first: Line, last: Line) -> int | None:
    """µs from one line to a later one of the same writer, by the clock that it prints; None if that does not tell."""
    if first.source != last.source or first.stream != last.stream or first.prefix.tag != last.prefix.tag:
        return None
    begun, ended = (
        one.clock_us if one.clock_us is not None or not one.prefix.clock else local_us(one.prefix.clock[0])
        for one in (first, last)
    )
    return ended - begun if begun is not None and ended is not None and ended >= begun else None
