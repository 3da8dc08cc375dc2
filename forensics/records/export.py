"""Read streams of the journal export format, as `journalctl -o export` and journal gateways write them.

An entry is a run of fields that ends with an empty line. A field is `NAME=value` or, where the value is not plain text,
the name, a line feed, the length as 64 bits little-endian and the bytes (systemd, JOURNAL_EXPORT_FORMATS).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import numpy as np

from forensics.records.block import NO_TIME, Block, Partial, Source, Stream
from forensics.records.journal import STREAM_FIELDS, is_manager, manager_fields, stream_of
from forensics.records.narrow import PASSED_OVER, has_fields
from forensics.records.options import Options
from forensics.records.partials import PARTIAL_FIELDS, partial_of, rejoined

__all__ = ["read_export"]

_NAME_BYTES = 65  # with the equals sign
_NAME = re.compile(rb"[A-Z0-9_]{1,64}")
_FIELD = re.compile(rb"[A-Z0-9_]{1,64}=")
_KEYS = tuple(name.encode() for name in STREAM_FIELDS)
_KNOWN_NAMES = 10_000


def read_export(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield the messages of all entries; the cited bytes of each are those of its MESSAGE value.

    Those of a message that a container engine split reach from its first piece to its last.

    An entry without MESSAGE makes no record, one with several makes several. An entry with a field of more than
    `options.line_bytes` is left out and counted. Behind a damaged stretch reading goes on at the next entry, but no
    stream is trusted any more: what looks like an entry there may be text that a client sent.
    """
    yield from rejoined(_blocks(source, pieces, options), source, options)


def _blocks(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    reader = _Export(source, options)
    held: list[bytes] = []
    size = want = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < want:
            continue
        rest, want = yield from reader.take(b"".join(held))
        held, size = [rest], len(rest)
        # Without a known length wait for as much again, so that a long value is not searched over and over.
        want = max(want, size + size // 2)
    rest, _ = yield from reader.take(b"".join(held))
    yield from reader.finish(rest)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


class _Export:
    """Where in the stream we are, and what is known of it so far."""

    def __init__(self, source: Source, options: Options) -> None:
        self.source = source
        self.options = options
        self.limit = options.line_bytes
        self.base = 0  # offset of the buffer's first byte in the source
        self.intact = True
        self.skip = 0  # bytes of an oversized binary value still to pass
        self.skip_line = False  # inside an oversized text value
        self.oversized: int | None = None  # offset of the entry being read, if it is left out
        self.lost_from: int | None = None  # offset where the structure broke
        self.streams: dict[tuple[object, ...], int] = {}
        self.table: list[Stream] = []
        self.names: set[bytes] = set(_KEYS)
        self.silent = self.undated = self.unasked = 0
        self._clear()

    def _clear(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.times: list[int] = []
        self.ids: list[int] = []
        self.cursors: dict[int, str] = {}
        self.fields: dict[int, dict[str, str]] = {}
        self.partials: dict[int, Partial] = {}

    def take(self, data: bytes) -> Generator[Block, None, tuple[bytes, int]]:
        """Yield whole entries; return what is left over, and how many bytes are wanted at least to go on."""
        done, want = self._entries(data, 0)
        yield from self._block(data)
        self.base += done
        return data[done:], want

    def finish(self, data: bytes) -> Iterator[Block]:
        """Read the last, cut entry as far as its fields are whole, and report what was met."""
        if self.oversized is not None:
            self.source.tell("loss", "the last entry is cut, in or behind an oversized field", "", self.oversized)
        elif data and self.lost_from is None:
            self.source.tell("loss", "the last entry is cut", "get a whole copy; its whole fields are used", self.base)
            self.intact = False
            data = data[: data.rfind(b"\n") + 1] + b"\n"
            self._entries(data, 0)
        if self.lost_from is not None:
            self._lost(self.base + len(data))
        self.source.tell("note", "entries without a message were passed over", "", None, self.silent)
        self.source.tell("loss", "entries without a readable receive time", "", None, self.undated)
        self.source.tell("note", PASSED_OVER, "", None, self.unasked)
        yield from self._block(data)

    def _entries(self, data: bytes, at: int) -> tuple[int, int]:
        """Read entries from `at`; return where the first unread one begins and the size wanted, 0 if unknown."""
        find = data.find
        size = len(data)
        limit = self.limit
        names = self.names
        if self.skip or self.skip_line:
            at = self._passed(data, at)
            if self.skip or self.skip_line:
                return at, 0
        while True:
            if self.lost_from is not None:
                at = self._resume(data, at)
                if self.lost_from is not None:
                    return at, 0
            if self.oversized is None:
                end = self._plain(data, at)
                if end:
                    at = end
                    continue
            position = at
            spans: list[tuple[int, int]] = []
            values: dict[bytes, bytes] = {}
            while True:
                end = find(b"\n", position)
                if end < 0:
                    if size - position <= limit + _NAME_BYTES:
                        return at, 0
                    if _FIELD.match(data, position) is None:
                        break
                    self._oversize(at)
                    self.skip_line = True
                    return size, 0
                if end == position:
                    break
                equals = find(b"=", position, end)
                name = data[position : equals if equals >= 0 else end]
                if name not in names and not self._is_name(name):
                    break
                if equals >= 0:
                    value, stop = equals + 1, end
                else:
                    value = end + 9
                    if value > size:
                        return at, value - at
                    stop = value + int.from_bytes(data[end + 1 : value], "little")
                if stop - value > limit:
                    self._oversize(at)
                    # What was read of the entry is dropped here, as it is where the value reaches beyond the buffer.
                    spans.clear()
                    values.clear()
                    position = stop + 1
                    if position > size:
                        self.skip = position - size
                        return size, 0
                    continue
                if stop >= size:
                    return at, stop + 1 - at
                if data[stop] != 10:
                    break
                if name == b"MESSAGE":
                    spans.append((value, stop))
                elif name in values and name.startswith(b"__"):
                    break  # two entries run into each other: the end of one and the beginning of the next are missing
                else:
                    values[name] = data[value:stop]
                position = stop + 1
            if end != position:
                self.lost_from = self.base + at if self.oversized is None else self.oversized
                at = position
                continue
            if self.oversized is not None:
                self.source.tell(
                    "loss", f"an entry with a field of more than {limit} bytes was left out", "", self.oversized
                )
                self.oversized = None
            elif spans:
                self._record(spans, values)
            elif values:
                self.silent += 1
            at = end + 1

    def _plain(self, data: bytes, at: int) -> int:
        """Read an entry that has only fields of the simple form, as nearly all have; 0 if it is not one of them.

        The name of a field of the other form is a line without an equals sign, and stands before anything in which an
        empty line could end the entry too early.
        """
        end = data.find(b"\n\n", at)
        if end < 0 or end - at > self.limit:
            return 0
        parts = data[at:end].split(b"\n")
        try:
            values = dict([part.split(b"=", 1) for part in parts])
        except ValueError:
            return 0
        message = values.pop(b"MESSAGE", None)
        if message is None or len(values) != len(parts) - 1 or not values.keys() <= self.names:
            return 0
        start = at if data.startswith(b"MESSAGE=", at) else data.index(b"\nMESSAGE=", at, end) + 1
        start += len(b"MESSAGE=")
        self._record([(start, start + len(message))], values)
        return end + 2

    def _record(self, spans: list[tuple[int, int]], values: dict[bytes, bytes]) -> None:
        get = values.get
        if self.options.fields and not has_fields(self.options, lambda name: _text(get(name.encode()))):
            self.unasked += len(spans)
            return
        try:
            time = int(get(b"__REALTIME_TIMESTAMP", b""))
            if not 0 <= time < 2**62:
                raise ValueError(time)
        except ValueError:
            time = NO_TIME
            self.undated += 1
        key: tuple[object, ...] = (self.intact, *map(get, _KEYS))
        fields = None
        if get(b"_TRANSPORT") == b"journal" and (get(b"_PID") == b"1" or b"_SYSTEMD_USER_UNIT" in values):
            text: dict[str, str | None] = {
                name.decode(): value.decode("utf-8", "replace") for name, value in values.items()
            }
            if is_manager(text):
                fields = manager_fields(text)
                key = (*key, fields.get("UNIT"), fields.get("INVOCATION_ID"))
                key = (*key, fields.get("USER_UNIT"), fields.get("USER_INVOCATION_ID"))
        stream = self.streams.get(key)
        if stream is None:
            if fields is None:
                text = {}
                for name, raw in zip(STREAM_FIELDS, map(get, _KEYS), strict=True):
                    text[name] = _text(raw)
            stream = self.streams[key] = len(self.table)
            self.table.append(stream_of(self.source.name, text, intact=self.intact))
        cursor = get(b"__CURSOR")
        partial = None
        if b"CONTAINER_PARTIAL_MESSAGE" in values or b"CONTAINER_PARTIAL_ID" in values:
            partial = partial_of({name: _text(get(name.encode())) for name in PARTIAL_FIELDS})
        for start, end in spans:
            number = len(self.starts)
            if cursor is not None:
                self.cursors[number] = cursor.decode("utf-8", "replace")
            if fields is not None:
                self.fields[number] = fields
            if partial is not None:
                self.partials[number] = partial
            self.starts.append(start)
            self.ends.append(end)
            self.times.append(time)
            self.ids.append(stream)

    def _oversize(self, at: int) -> None:
        if self.oversized is None:
            self.oversized = self.base + at

    def _is_name(self, name: bytes) -> bool:
        if _NAME.fullmatch(name) is None:
            return False
        if len(self.names) < _KNOWN_NAMES:
            self.names.add(name)
        return True

    def _passed(self, data: bytes, at: int) -> int:
        """Pass the rest of an oversized value."""
        if self.skip_line:
            end = data.find(b"\n", at)
            if end < 0:
                return len(data)
            self.skip_line = False
            return end + 1
        gone = min(self.skip, len(data) - at)
        self.skip -= gone
        return at + gone

    def _resume(self, data: bytes, at: int) -> int:
        """Look for the next entry behind a damaged stretch."""
        found = data.find(b"\n\n__", at)
        if found < 0:
            return max(at, len(data) - 3)
        self._lost(self.base + found + 2)
        return found + 2

    def _lost(self, until: int) -> None:
        start, self.lost_from = self.lost_from, None
        self.intact, self.oversized = False, None
        assert start is not None
        what = f"{until - start} bytes are no journal entry"
        self.source.tell("loss", what, "get an intact copy; streams behind it are not trusted", start)

    def _block(self, data: bytes) -> Iterator[Block]:
        if not self.starts:
            return
        starts = np.array(self.starts, np.int64)
        ends = np.array(self.ends, np.int64)
        lengths = ends - starts
        # A program that writes CRLF: the carriage return stays in the cited bytes and leaves the message.
        view = np.frombuffer(data, np.uint8)
        ends = ends - ((lengths > 0) & (view[np.maximum(ends, 1) - 1] == 13))
        block = Block(
            source=self.source,
            data=data,
            starts=starts,
            ends=ends,
            offsets=starts + self.base,
            lengths=ends - starts,
            times=np.array(self.times, np.int64),
            streams=np.array(self.ids, np.int32),
            stream_table=self.table,
            first_record=self.source.records,
            cursors=self.cursors,
            fields=self.fields,
            partials=self.partials,
        )
        self.source.records += len(block)
        self._clear()
        yield block
