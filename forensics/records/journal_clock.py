"""Date the lines of journal text: the layouts leave out the year, the zone or both.

A missing year and zone are taken from times that the messages print themselves, where most of them agree, else the
year from the file's modification time and the zone as UTC; either is said.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache

from forensics.records.block import NO_TIME, Source
from forensics.records.lines import lines
from forensics.records.options import Options
from forensics.records.times import ISO, from_iso, micro, to_utc, wall_time, zone_us

__all__ = ["Clock"]

_DATE = re.compile(rb"(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)")
_MONTHS = {
    name: number
    for number, name in enumerate(
        (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"), 1
    )
}
_DAY = 86_400_000_000
_QUARTER = 900_000_000
_ASKED = 4096
_SPARSE = 16
"""How many of the first lines are asked for a time of their own, and of the rest every how manieth."""
_LATE = 5_000_000
"""How long after a program stamped a line the collector may have."""


class Clock:
    """Reads the times of one layout, and remembers what had to be assumed for it."""

    def __init__(
        self,
        source: Source,
        style: str,
        zone: tzinfo | None,
        again: Callable[[], Iterator[bytes]] | None,
        options: Options,
    ) -> None:
        self._source = source
        self._style = style
        self._zone = zone
        self._zone_from = "was given"
        self._year: int | None = None
        self._year_from = ""
        self._relative = 0
        self._month = 0
        self._after: int | None = None
        self._zoneless = self._unread = 0
        if style == "journal-short":
            self._survey(again, options)

    def read(self, found: re.Match[bytes]) -> int:
        """The time of a line in UTC."""
        read: int | None
        if self._style == "journal-short":
            read = self._dated(found)
        elif self._style == "journal-short-iso":
            read = from_iso(found)
        elif self._style == "journal-short-unix":
            read = int(found["second"]) * 1_000_000 + micro(found["fraction"])
        elif self._style == "journal-short-full":
            wall = wall_time(found["second"])
            zone = zone_us(found["zone"])
            if wall is not None and zone is not None:
                read = wall - zone + micro(found["fraction"])
            else:
                read = self._local(wall, micro(found["fraction"]))
        elif self._style == "dmesg-time":
            read = self._local(_wall(found, int(found["year"])), 0)
        else:
            return NO_TIME  # since boot, and when that was is not said
        if read is None:
            self._unread += 1
            return NO_TIME
        return read

    def report(self) -> None:
        """Say what was assumed."""
        tell, export = self._source.tell, "export again with journalctl -o export"
        if self._zone is None:
            tell("note", "times carry no zone and were read as UTC", "give the zone with --tz", None, self._zoneless)
        else:
            tell("note", f"times carry no zone; {self._zone} {self._zone_from}", "", None, self._zoneless)
        if self._year is not None:
            tell("note", f"times carry no year; {self._year} {self._year_from}", export)
        if self._style in {"journal-short-monotonic", "dmesg"}:
            tell("note", "times are those since boot, not of day", export)
        tell("loss", "lines whose time cannot be read", "", None, self._unread)

    def _local(self, wall: int | None, micros: int) -> int | None:
        if wall is None:
            return None
        self._zoneless += 1
        if self._zone is None:
            return wall + micros
        self._after = to_utc(wall, self._zone, None if self._after is None else self._after - 600_000_000)
        return self._after + micros

    def _dated(self, found: re.Match[bytes]) -> int | None:
        month = _MONTHS.get(found["month"], 0)
        if self._year is None:  # nothing was known beforehand: anchor the first line at the clock
            now = self._source.modified_us
            self._year_from = "assumed for the first line from the file's modification time"
            if now is None:
                now = time.time_ns() // 1000
                self._year_from = "assumed for the first line from the clock"
            self._year = _latest_year(found, now)
        self._relative += _turn(self._month, month)
        self._month = month
        return self._local(_wall(found, self._year + self._relative), micro(found["fraction"]))

    def _survey(self, again: Callable[[], Iterator[bytes]] | None, options: Options) -> None:
        """Go through the source once: where does the year turn, and do messages print years and zones themselves?"""
        if again is None:
            return
        votes: Counter[tuple[int, int]] = Counter()  # year of the first line, zone in quarters of an hour
        relative = month = number = 0
        last: re.Match[bytes] | None = None
        inside = re.compile(ISO)
        scratch = Source(self._source.name, self._style)
        for chunk in lines(again(), scratch, options.line_bytes):
            for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
                found = _DATE.match(chunk.data, start, end)
                if found is None:
                    continue
                last = found
                turned = _MONTHS.get(found["month"], 0)
                if turned != month:
                    relative += _turn(month, turned)
                    month = turned
                number += 1
                if number > _ASKED and number % _SPARSE:
                    continue
                printed = inside.search(chunk.data, found.end(), min(end, found.end() + 200))
                moment = None if printed is None else from_iso(printed)
                if printed is None or moment is None:
                    continue
                stamped = int(printed["second"][:4])
                for year in (stamped - 1, stamped, stamped + 1):
                    wall = _wall(found, year)
                    if wall is None or abs(wall - moment) > _DAY * 0.6:
                        continue
                    quarters = round((wall - moment) / _QUARTER)
                    late = wall - moment - quarters * _QUARTER
                    if -1_000_000 <= late <= _LATE:
                        votes[year - relative, quarters] += 1
        if votes:
            (year, quarters), agreeing = votes.most_common(1)[0]
            if agreeing * 2 > votes.total():
                self._year = year
                self._year_from = f"for the first line, as {agreeing} messages print a time of their own"
                if self._zone is None:
                    self._zone = timezone(timedelta(minutes=15 * quarters))
                    self._zone_from = f"as {agreeing} messages print a time with its zone"
                return
        if last is not None and self._source.modified_us is not None:
            self._year = _latest_year(last, self._source.modified_us) - relative
            self._year_from = "assumed for the first line from the file's modification time"


def _turn(before: int, month: int) -> int:
    """How the year changes between two lines: one month back is disorder, more is the next year."""
    if before and month + 1 < before:
        return 1
    return -1 if before == 1 and month == 12 else 0


def _wall(found: re.Match[bytes], year: int) -> int | None:
    return _wall_of(year, *found.group("month", "day", "clock"))


@lru_cache(maxsize=256)
def _wall_of(year: int, month: bytes, day: bytes, clock: bytes) -> int | None:
    return wall_time(b"%04d-%02d-%02d %s" % (year, _MONTHS.get(month, 0), int(day), clock))


def _latest_year(found: re.Match[bytes], until_us: int) -> int:
    """The latest year in which a line's time lies before a moment, a day for zones allowed."""
    year = time.gmtime((until_us + _DAY) // 1_000_000).tm_year
    for candidate in range(year, year - 9, -1):
        wall = _wall(found, candidate)
        if wall is not None and wall <= until_us + _DAY:
            return candidate
    return year
