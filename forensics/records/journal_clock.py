"""Date the lines of journal text: the layouts leave out the year, the zone or both.

A missing year and zone are taken from times that the messages print themselves, where most of them agree, else the
year from the file's modification time and the zone as UTC; either is said. Months are named in the language of who read
the journal; a name that means two months is settled by the other names of the file, else by those times.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache

from forensics.records.block import NO_TIME, Source
from forensics.records.lines import lines
from forensics.records.months import DOUBTFUL, KNOWN, MONTH, meanings, plain
from forensics.records.options import Options
from forensics.records.times import ISO, from_iso, micro, to_utc, wall_time, zone_us

__all__ = ["Clock"]

_DATE = re.compile(MONTH + rb" +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)")
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
        self._doubtful: Mapping[str, int] = {}
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
            read = self._local(_wall(found, _month(found, {}), int(found["year"])), 0)
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
        month = _month(found, self._doubtful)
        if not month:
            return None
        if self._year is None:  # nothing was known beforehand: anchor the first line at the clock
            now = self._source.modified_us
            self._year_from = "assumed for the first line from the file's modification time"
            if now is None:
                now = time.time_ns() // 1000
                self._year_from = "assumed for the first line from the clock"
            self._year = _latest_year(found, month, now)
        self._relative += _turn(self._month, month)
        self._month = month
        return self._local(_wall(found, month, self._year + self._relative), micro(found["fraction"]))

    def _survey(self, again: Callable[[], Iterator[bytes]] | None, options: Options) -> None:
        """Ask the source itself: where does the year turn, and do messages print years and zones?"""
        if again is None:
            return
        told = _ask(self._source, again, options, {})
        if told.names & DOUBTFUL:
            readings = meanings(told.names)
            each = [_ask(self._source, again, options, reading) for reading in readings]
            proven = [number for number, one in enumerate(each) if one.agreeing() is not None]
            if len(each) == 1 or len(proven) == 1:
                number = proven[0] if proven else 0
                self._doubtful, told = readings[number], each[number]
        if (agreed := told.agreeing()) is not None:
            self._year, quarters, agreeing = agreed
            self._year_from = f"for the first line, as {agreeing} messages print a time of their own"
            if self._zone is None:
                self._zone = timezone(timedelta(minutes=15 * quarters))
                self._zone_from = f"as {agreeing} messages print a time with its zone"
        elif told.last is not None and self._source.modified_us is not None:
            month = _month(told.last, self._doubtful)
            self._year = _latest_year(told.last, month, self._source.modified_us) - told.relative
            self._year_from = "assumed for the first line from the file's modification time"


@dataclass(kw_only=True)
class _Told:
    """What a source says of its own times, with its doubtful months read in one way."""

    votes: Counter[tuple[int, int]] = field(default_factory=Counter)
    """For a year of the first line and a zone in quarters of an hour."""
    names: set[str] = field(default_factory=set)
    relative: int = 0
    """Years from the first line to the last."""
    last: re.Match[bytes] | None = None

    def agreeing(self) -> tuple[int, int, int] | None:
        """The year and zone that most messages print, and how many do."""
        if not self.votes:
            return None
        (year, quarters), agreeing = self.votes.most_common(1)[0]
        return (year, quarters, agreeing) if agreeing * 2 > self.votes.total() else None


def _ask(source: Source, again: Callable[[], Iterator[bytes]], options: Options, doubtful: Mapping[str, int]) -> _Told:
    told = _Told()
    month = number = 0
    inside = re.compile(ISO)
    scratch = Source(source.name, "journal-short")
    for chunk in lines(again(), scratch, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            found = _DATE.match(chunk.data, start, end)
            if found is None:
                continue
            turned = _month(found, doubtful)
            if turned != month or not turned:
                told.names.add(plain(found["month"]))
                if not turned:
                    continue
                told.relative += _turn(month, turned)
                month = turned
            told.last = found
            number += 1
            if number > _ASKED and number % _SPARSE:
                continue
            printed = inside.search(chunk.data, found.end(), min(end, found.end() + 200))
            moment = None if printed is None else from_iso(printed)
            if printed is None or moment is None:
                continue
            stamped = int(printed["second"][:4])
            for year in (stamped - 1, stamped, stamped + 1):
                wall = _wall(found, month, year)
                if wall is None or abs(wall - moment) > _DAY * 0.6:
                    continue
                quarters = round((wall - moment) / _QUARTER)
                late = wall - moment - quarters * _QUARTER
                if -1_000_000 <= late <= _LATE:
                    told.votes[year - told.relative, quarters] += 1
    return told


def _month(found: re.Match[bytes], doubtful: Mapping[str, int]) -> int:
    """The number of a line's month; 0 where its name is unknown or has two meanings."""
    name = plain(found["month"])
    return KNOWN.get(name) or doubtful.get(name, 0)


def _turn(before: int, month: int) -> int:
    """How the year changes between two lines: one month back is disorder, more is the next year."""
    if before and month + 1 < before:
        return 1
    return -1 if before == 1 and month == 12 else 0


def _wall(found: re.Match[bytes], month: int, year: int) -> int | None:
    return _wall_of(year, month, *found.group("day", "clock"))


@lru_cache(maxsize=256)
def _wall_of(year: int, month: int, day: bytes, clock: bytes) -> int | None:
    return wall_time(b"%04d-%02d-%02d %s" % (year, month, int(day), clock))


def _latest_year(found: re.Match[bytes], month: int, until_us: int) -> int:
    """The latest year in which a line's time lies before a moment, a day for zones allowed."""
    year = time.gmtime((until_us + _DAY) // 1_000_000).tm_year
    for candidate in range(year, year - 9, -1):
        wall = _wall(found, month, candidate)
        if wall is not None and wall <= until_us + _DAY:
            return candidate
    return year
