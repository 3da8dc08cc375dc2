"""Read entries as `journalctl -o verbose` prints them: a line with time and cursor, then each field on its own line.

Fields stand behind four blanks; what follows a line feed in a value is indented by the width of its name, which is
more. So no message can look like a field or like another entry, and streams are trusted as those of an export. The time
is the cursor's: the printed one may be the sender's. What is not printable stands as `[19B blob data]` (systemd 252,
src/shared/logs-show.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.records.block import NO_TIME, Block, Source
from forensics.records.envelopes import Collector
from forensics.records.journal import is_manager, manager_fields, stream_of
from forensics.records.journal_text import BLOB, MARKER
from forensics.records.lines import placed_lines
from forensics.records.narrow import PASSED_OVER, has_fields
from forensics.records.options import Options
from forensics.records.partials import partial_of, rejoined
from forensics.records.rows import Joined

__all__ = ["is_verbose", "read_journal_verbose"]

_HEADER = re.compile(
    rb"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? \S+ "
    rb"\[(?P<cursor>s=[0-9a-f]{1,32};i=[0-9a-f]{1,16};b=(?P<boot>[0-9a-f]{32});m=[0-9a-f]{1,16};"
    rb"t=(?P<time>[0-9a-f]{1,15});x=[0-9a-f]{1,16})\]"
)
_FIELD = re.compile(rb"    (?P<name>[A-Z0-9_]{1,64})=(?P<value>.*)", re.DOTALL)
_VALUE_BYTES = 64 * 1024
"""What is kept of a field that is no message."""
_FIELDS = 1024
"""How many fields an entry may have."""
_RECORDS = 10_000
"""Records of one block."""


def is_verbose(sample: list[bytes]) -> bool:
    """Whether the first lines are those of such entries."""
    headers = sum(_HEADER.fullmatch(line) is not None for line in sample)
    fields = sum(line.startswith(b"    ") for line in sample)
    return headers > 0 and (headers + fields) * 10 >= len(sample) * 6


def read_journal_verbose(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield the messages of all entries; the cited bytes of each reach to the end of its last line."""
    yield from rejoined(_blocks(source, pieces, options), source, options)


def _blocks(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    reader = _Verbose(source, options)
    taken = 0
    for line, (offset, length) in placed_lines(pieces, source, options.line_bytes):
        taken += reader.take(line, offset, offset + length)
        if taken >= _RECORDS:
            yield from reader.collector.blocks()
            taken = 0
    reader.finish()
    yield from reader.collector.blocks()
    reader.report()


class _Verbose:
    """The entry that is being read, and what was met."""

    def __init__(self, source: Source, options: Options) -> None:
        self.source = source
        self.options = options
        self.limit = options.line_bytes
        self.collector = Collector(source)
        self.intact = True
        self.strange = self.early = self.silent = self.blobs = self.lost = self.markers = self.unasked = 0
        self.first_strange: int | None = None
        self.first_blob: int | None = None
        self._header: re.Match[bytes] | None = None
        self._begun = False
        self._clear()

    def _clear(self) -> None:
        self._fields: dict[str, str | None] = {}
        self._messages: list[Joined] = []
        self._width = 0  # of what stands before a value, while its lines may go on
        self._open: Joined | None = None  # the message whose lines go on
        self._empty = 0

    def take(self, line: bytes, offset: int, end: int) -> int:
        """Take one line; say how many records it completed."""
        if not line.strip() and (len(line) < self._width or not self._width):
            self._empty += 1  # of a value whose blanks somebody took away, if another of its lines comes
            return 0
        if self._width and line.startswith(b"     "):
            blanks = len(line) - len(line.lstrip(b" "))
            if self._open is not None:
                self._open.add(b"\n" * (self._empty + 1) + line[min(blanks, self._width) :], end)
            self._empty = 0
            return 0
        self._empty = 0
        if self._header is not None and (found := _FIELD.fullmatch(line)):
            self._field(found, offset, end)
            return 0
        self._width = 0
        if header := _HEADER.fullmatch(line):
            made = self.finish()
            self._header, self._begun = header, True
            return made
        if MARKER.fullmatch(line):
            self.markers += 1
        elif line.startswith(b"    ") and not self._begun:
            self.early += 1
        else:
            # What journalctl prints has no such line: from here on it may be a text that was made to look like it.
            made = self.finish()
            self.strange += 1
            self.first_strange = offset if self.first_strange is None else self.first_strange
            self.intact = False
            return made
        return 0

    def _field(self, found: re.Match[bytes], offset: int, end: int) -> None:
        name, value = found["name"], found["value"]
        begin = offset + found.start("value")
        self._width, self._open = found.start("value"), None
        if BLOB.fullmatch(value):
            self.blobs += name == b"MESSAGE"
            if name == b"MESSAGE" and self.first_blob is None:
                self.first_blob = begin
        if name == b"MESSAGE":
            self._open = Joined(value, begin, end, NO_TIME, self.limit)
            self._messages.append(self._open)
        elif len(self._fields) < _FIELDS:
            self._fields.setdefault(name.decode(), value[:_VALUE_BYTES].decode("utf-8", "replace"))

    def finish(self) -> int:
        """Take the entry that was read, if there is one; say how many records it gave."""
        header, messages, values = self._header, self._messages, self._fields
        self._header = None
        self._clear()
        if header is None:
            return 0
        self.silent += not messages
        values.setdefault("_BOOT_ID", header["boot"].decode())
        if self.options.fields and not has_fields(self.options, values.get):
            self.unasked += len(messages)
            return 0
        stream = self.collector.stream(stream_of(self.source.name, values, intact=self.intact))
        for message in messages:
            self.lost += message.lost
            self.collector.add(
                b"".join(message.pieces),
                offset=message.begin,
                length=message.end - message.begin,
                time=int(header["time"], 16),
                stream=stream,
                cursor=header["cursor"].decode(),
                fields=manager_fields(values) if is_manager(values) else None,
                partial=partial_of(values),
            )
        return len(messages)

    def report(self) -> None:
        """Say what was met."""
        tell = self.source.tell
        export = "export again with journalctl -a -o verbose, or -o export"
        tell("loss", "messages stand as blob data", export, self.first_blob, self.blobs)
        tell("loss", "lines are of an entry that begins before the text does", "", 0, self.early)
        what = "lines are of no journal entry"
        tell("loss", what, "get an intact copy; streams behind them are not trusted", self.first_strange, self.strange)
        tell("loss", f"bytes of joined messages over {self.limit} bytes", "", None, self.lost)
        tell("note", "entries without a message were passed over", "", None, self.silent)
        tell("note", PASSED_OVER, "", None, self.unasked)
        tell("note", "marker lines of journalctl were used and are no records", "", None, self.markers)
