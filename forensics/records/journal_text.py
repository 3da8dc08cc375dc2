"""Read what `journalctl` and syslog daemons print as text: time, host, identifier and pid before each message.

Such lines are forgeable: where a message held line feeds, a syslog file shows lines that nobody sent as such, and an
identifier is the client's own word. So no stream from here is trusted. journalctl indents what follows a line feed by
the width of the prefix; those lines are joined again. What it prints as `[19B blob data]` is lost.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone, tzinfo

from forensics.records.block import NO_TIME, Block, Problem, Source, Stream
from forensics.records.lines import lines
from forensics.records.options import Options
from forensics.records.rows import Joined, Rows
from forensics.records.times import ISO, from_iso, micro, to_utc, wall_time, zone_us

__all__ = ["read_journal_text", "style_of"]

_WHO = (
    rb" (?:(?P<host>[^\s\[\]]*[^\s\[\]:]) )?"  # absent with --no-hostname
    rb"(?P<identifier>[^\s\[][^\[]{0,63}?)(?:\[(?P<pid>\d{1,10})\])?:(?: |$)"  # the kernel has no pid
)
_STYLES = {
    # systemd 252, `-o`: short and short-precise (and classic syslog), short-iso*, short-full and with-unit, short-unix,
    # short-monotonic and short-delta
    "journal-short": re.compile(
        rb"(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?" + _WHO
    ),
    "journal-short-iso": re.compile(ISO + _WHO),
    "journal-short-full": re.compile(
        rb"[A-Z][a-z]{2} (?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))? (?P<zone>\S+)" + _WHO
    ),
    "journal-short-unix": re.compile(rb"(?P<second>\d{9,11})\.(?P<fraction>\d{6})" + _WHO),
    "journal-short-monotonic": re.compile(rb"\[ *\d+\.\d{6}(?: [^\]]*)?\]" + _WHO),
}
_MARKER = re.compile(
    rb"-- (?:Boot (?P<boot>[0-9a-f]{32})|(?P<reboot>Reboot)|Logs begin at .*|Journal begins at .*|No entries"
    rb"|cursor: .*?)(?: --)?\s*"
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"), 1
    )
}
_UNIT = re.compile(r"\S+\.(?:service|scope|socket|timer|mount|target|slice)")
_BLOB = re.compile(rb"\[[0-9.]+[BKMG] blob data\]")
_DAY = 86_400_000_000
_QUARTER = 900_000_000
_LATE = 5_000_000
"""How long after a program stamped a line the collector may have."""


def style_of(sample: list[bytes]) -> str | None:
    """Tell the layout that most lines have, if they look like a collector's and not like a program's own."""
    for name, pattern in _STYLES.items():
        found = [match for match in map(pattern.match, sample) if match is not None]
        if len(found) * 10 < len(sample) * 6 or not found:
            continue
        (_, same_host), *_ = Counter(match["host"] for match in found).most_common(1)
        named = sum(match["pid"] is not None or match["identifier"] == b"kernel" for match in found)
        if same_host * 10 >= len(found) * 9 and named * 2 >= len(found):
            return name
    return None


def read_journal_text(
    source: Source,
    pieces: Iterator[bytes],
    options: Options,
    style: str,
    again: Callable[[], Iterator[bytes]] | None,
) -> Iterator[Block]:
    """Yield the messages behind the prefixes; a message of several lines is cited by its whole extent.

    Args:
        source: Takes problems and the count of records.
        pieces: The content.
        options: Bounds, and the zone of times that print none.
        style: What `style_of` said.
        again: Gives the content a second time, to find the year of times without one; None if it cannot be had.
    """
    match = _STYLES[style].match
    clock = _Clock(source, style, options.tz, again, options)
    table = [Stream(source.name)]
    numbers: dict[tuple[object, ...], int] = {}
    boot: str | None = None
    boots = bare = markers = lost = blobs = 0
    first_bare: int | None = None
    first_blob: int | None = None
    held: Joined | None = None  # the last message, while lines may still belong to it
    held_stream = width = 0
    for chunk in lines(pieces, source, options.line_bytes):
        data = chunk.data
        rows = Rows(data, chunk.base)
        last: tuple[int, int, int, int] | None = None  # the same, while it is a span of this chunk
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            found = match(data, start, end)
            if found is None and width and end - start >= width and not data[start : start + width].strip(b" "):
                if last is not None:
                    held = Joined(
                        data[last[0] : last[1]], chunk.base + last[0], chunk.base + last[1], last[2], options.line_bytes
                    )
                    held_stream, last = last[3], None
                if held is not None:
                    held.add(b"\n" + data[start + width : end], chunk.base + end)
                    continue
            if last is not None:
                rows.span(*last)
                last = None
            if held is not None:
                rows.joined(held, held_stream)
                lost += held.lost
                held = None
            if found is None:
                marker = _MARKER.fullmatch(data, start, end)
                width = 0
                if marker is not None:
                    markers += 1
                    if marker["boot"] is not None:
                        boot = marker["boot"].decode()
                    elif marker["reboot"] is not None:
                        boots += 1
                        boot = f"after reboot {boots}"
                    continue
                bare += 1
                first_bare = chunk.base + start if first_bare is None else first_bare
                rows.span(start, end, NO_TIME, 0)
                continue
            begin = found.end()
            width = begin - start
            key = (boot, found["host"], found["identifier"], found["pid"])
            stream = numbers.get(key)
            if stream is None:
                stream = numbers[key] = len(table)
                table.append(_stream(source.name, boot, found))
            if _BLOB.fullmatch(data, begin, end):
                blobs += 1
                first_blob = chunk.base + begin if first_blob is None else first_blob
            last = begin, end, clock.read(found), stream
        if last is not None:
            held = Joined(
                data[last[0] : last[1]], chunk.base + last[0], chunk.base + last[1], last[2], options.line_bytes
            )
            held_stream = last[3]
        block = rows.block(source, table)
        if block is not None:
            yield block
    if held is not None:
        rows = Rows(b"", 0)
        rows.joined(held, held_stream)
        lost += held.lost
        block = rows.block(source, table)
        if block is not None:
            yield block

    def problem(severity: str, what: str, remedy: str, offset: int | None, count: int) -> None:
        if count:
            source.problems.append(Problem(source.name, severity, what, remedy, offset, count))

    clock.report()
    export = "export again with journalctl -o export"
    problem("note", "lines without the prefix of a journal were taken whole", "", first_bare, bare)
    problem("note", "marker lines of journalctl were used and are no records", "", None, markers)
    problem("loss", "messages stand as blob data", export, first_blob, blobs)
    problem("loss", f"bytes of joined messages over {options.line_bytes} bytes", "", None, lost)


def _stream(source: str, boot: str | None, found: re.Match[bytes]) -> Stream:
    host, pid = found["host"], found["pid"]
    identifier = found["identifier"].decode("utf-8", "replace")
    # with-unit prints the unit where others print the identifier: system unit, slash, user unit
    unit = identifier.rpartition("/")[2]
    return Stream(
        source=source,
        host=None if host is None else host.decode("utf-8", "replace"),
        boot=boot,
        unit=unit if _UNIT.fullmatch(unit) else None,
        pid=None if pid is None else int(pid),
        identifier=identifier,
        manager=identifier == "systemd" and pid == b"1",
        kernel=identifier == "kernel" and pid is None,
    )


class _Clock:
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
        else:
            return NO_TIME  # since boot, and when that was is not said
        if read is None:
            self._unread += 1
            return NO_TIME
        return read

    def report(self) -> None:
        """Say what was assumed."""

        def note(what: str, remedy: str, count: int = 1) -> None:
            self._source.problems.append(Problem(self._source.name, "note", what, remedy, None, count))

        if self._zoneless:
            if self._zone is None:
                note("times carry no zone and were read as UTC", "give the zone with --tz", self._zoneless)
            else:
                note(f"times carry no zone; {self._zone} {self._zone_from}", "", self._zoneless)
        if self._year is not None:
            note(f"times carry no year; {self._year} {self._year_from}", "export again with journalctl -o export")
        if self._style == "journal-short-monotonic":
            note("times are those since boot, not of day", "export again with journalctl -o export")
        if self._unread:
            self._source.problems.append(
                Problem(self._source.name, "loss", "lines whose time cannot be read", "", None, self._unread)
            )

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
        relative = month = 0
        last: re.Match[bytes] | None = None
        match = _STYLES[self._style].match
        inside = re.compile(ISO)
        scratch = Source(self._source.name, self._style)
        for chunk in lines(again(), scratch, options.line_bytes):
            for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
                found = match(chunk.data, start, end)
                if found is None:
                    continue
                number = _MONTHS.get(found["month"], 0)
                relative += _turn(month, number)
                month, last = number, found
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
        if last is None:
            return
        if votes:
            (year, quarters), agreeing = votes.most_common(1)[0]
            if agreeing * 2 > votes.total():
                self._year = year
                self._year_from = f"for the first line, as {agreeing} messages print a time of their own"
                if self._zone is None:
                    self._zone = timezone(timedelta(minutes=15 * quarters))
                    self._zone_from = f"as {agreeing} messages print a time with its zone"
                return
        if self._source.modified_us is not None:
            self._year = _latest_year(last, self._source.modified_us) - relative
            self._year_from = "assumed for the first line from the file's modification time"


def _turn(before: int, month: int) -> int:
    """How the year changes between two lines: one month back is disorder, more is the next year."""
    if before and month + 1 < before:
        return 1
    return -1 if before == 1 and month == 12 else 0


def _wall(found: re.Match[bytes], year: int) -> int | None:
    month = _MONTHS.get(found["month"], 0)
    return wall_time(b"%04d-%02d-%02d %s" % (year, month, int(found["day"]), found["clock"]))


def _latest_year(found: re.Match[bytes], until_us: int) -> int:
    """The latest year in which a line's time lies before a moment, a day for zones allowed."""
    year = time.gmtime((until_us + _DAY) // 1_000_000).tm_year
    for candidate in range(year, year - 9, -1):
        wall = _wall(found, candidate)
        if wall is not None and wall <= until_us + _DAY:
            return candidate
    return year
