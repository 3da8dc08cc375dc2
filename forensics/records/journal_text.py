"""Read what `journalctl` and syslog daemons print as text: time, host, identifier and pid before each message.

Such lines are forgeable: where a message held line feeds, a syslog file shows lines that nobody sent as such, and an
identifier is the client's own word. So no stream from here is trusted. journalctl indents what follows a line feed by
the width of the prefix; those lines are joined again. What it prints as `[19B blob data]` is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from forensics.records.block import NO_TIME, Block, Source, Stream
from forensics.records.journal_clock import Clock
from forensics.records.lines import lines
from forensics.records.options import Options
from forensics.records.rows import Joined, Rows
from forensics.records.times import ISO

__all__ = ["BLOB", "MARKER", "read_journal_text", "style_of"]

_WHO = (
    rb" (?:(?P<host>[^\s\[\]]*[^\s\[\]:]) )?"  # absent with --no-hostname
    rb"(?P<identifier>[^\s\[][^\[]{0,63}?)(?:\[(?P<pid>\d{1,10})\])?:(?: |$)"  # the kernel has no pid
)
_NOBODY = rb"(?P<host>(?!))?(?P<identifier>(?!))?(?P<pid>(?!))?"
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
    # util-linux, dmesg: since boot, or with -T as time of day, and the kernel is the only writer
    "dmesg": re.compile(rb"\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])?(?: |$)" + _NOBODY),
    "dmesg-time": re.compile(
        rb"\[[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{4})\]"
        rb"(?: |$)" + _NOBODY
    ),
}
MARKER = re.compile(
    rb"-- (?:Boot (?P<boot>[0-9a-f]{32})|(?P<reboot>Reboot)|Logs begin at .*|Journal begins at .*|No entries"
    rb"|cursor: .*?)(?: --)?\s*"
)
_UNIT = re.compile(r"\S+\.(?:service|scope|socket|timer|mount|target|slice)")
BLOB = re.compile(rb"\[[0-9.]+[BKMG] blob data\]")


def style_of(sample: list[bytes]) -> str | None:
    """Tell the layout that most lines have, if they look like a collector's and not like a program's own."""
    for name, pattern in _STYLES.items():
        found = [match for match in map(pattern.match, sample) if match is not None]
        if len(found) * 10 < len(sample) * 6 or not found:
            continue
        if name.startswith("dmesg"):
            if len(found) * 10 >= len(sample) * 9:
                return name
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
    clock = Clock(source, style, options.tz, again, options)
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
                assert held is not None  # the prefix of its message gave the width
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
                marker = MARKER.fullmatch(data, start, end)
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
            if BLOB.fullmatch(data, begin, end):
                blobs += 1
                first_blob = chunk.base + begin if first_blob is None else first_blob
            last = begin, end, clock.read(found), stream
        if last is not None:
            held = Joined(
                data[last[0] : last[1]], chunk.base + last[0], chunk.base + last[1], last[2], options.line_bytes
            )
            held_stream = last[3]
        yield from rows.blocks(source, table)
    if held is not None:
        rows = Rows(b"", 0)
        rows.joined(held, held_stream)
        lost += held.lost
        yield from rows.blocks(source, table)

    clock.report()
    export = "export again with journalctl -o export"
    source.tell("note", "lines without the prefix of a journal were taken whole", "", first_bare, bare)
    source.tell("note", "marker lines of journalctl were used and are no records", "", None, markers)
    source.tell("loss", "messages stand as blob data", export, first_blob, blobs)
    source.tell("loss", f"bytes of joined messages over {options.line_bytes} bytes", "", None, lost)


def _stream(source: str, boot: str | None, found: re.Match[bytes]) -> Stream:
    host, pid = found["host"], found["pid"]
    identifier = (found["identifier"] or b"kernel").decode("utf-8", "replace")
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
