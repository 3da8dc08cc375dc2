"""Read journal entries printed as JSON, one a line, as `journalctl -o json` does.

A value is a string, null where it was longer than 4096 bytes and `--all` was not given, an array of numbers where it is
no plain text, or an array of several such values (systemd 252, src/shared/logs-show.c).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from forensics.records.block import NO_TIME, Block, Source
from forensics.records.envelopes import Collector
from forensics.records.journal import STREAM_FIELDS, is_manager, manager_fields, stream_of
from forensics.records.lines import lines
from forensics.records.narrow import PASSED_OVER, has_fields
from forensics.records.options import Options
from forensics.records.partials import PARTIAL_FIELDS, partial_of, rejoined

__all__ = ["read_journal_json"]


def read_journal_json(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield the messages of all entries; the whole line of an entry is cited for each, all lines of a joined one."""
    yield from rejoined(_blocks(source, pieces, options), source, options)


def _blocks(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    collector = Collector(source)
    numbers: dict[tuple[object, ...], int] = {}
    broken = silent = unprinted = undated = unasked = 0
    first_broken: int | None = None
    first_unprinted: int | None = None
    for chunk in lines(pieces, source, options.line_bytes):
        data = chunk.data
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            offset = chunk.base + start
            try:
                entry = json.loads(data[start:end])
            except (ValueError, RecursionError):
                entry = None
            if not isinstance(entry, dict):
                if data[start:end].strip(b" \t\r\x1e"):  # json-seq has a record separator before each
                    broken += 1
                    first_broken = offset if first_broken is None else first_broken
                continue
            get = entry.get
            if "MESSAGE" not in entry:
                silent += 1
                continue
            messages = _values(entry["MESSAGE"])
            if options.fields and not has_fields(options, partial(_field, entry)):
                unasked += len(messages)
                continue
            try:
                time = int(get("__REALTIME_TIMESTAMP", ""))
                if not 0 <= time < 2**62:
                    raise ValueError(time)
            except (ValueError, TypeError):
                time = NO_TIME
                undated += 1
            fields: dict[str, str] | None = None
            stream: int | None = None
            if get("_TRANSPORT") == "journal":
                everything = {name: _text(value) for name, value in entry.items()}
                if is_manager(everything):
                    fields = manager_fields(everything)
                    stream = collector.stream(stream_of(source.name, everything))
            if stream is None:
                key = tuple(map(get, STREAM_FIELDS))
                try:
                    stream = numbers.get(key)
                except TypeError:  # a value in an array
                    key = tuple(map(_text, key))
                if stream is None:
                    named = dict(zip(STREAM_FIELDS, map(_text, key), strict=True))
                    stream = numbers[key] = collector.stream(stream_of(source.name, named))
            cursor = _text(get("__CURSOR"))
            piece = None
            if "CONTAINER_PARTIAL_MESSAGE" in entry or "CONTAINER_PARTIAL_ID" in entry:
                piece = partial_of({name: _text(get(name)) for name in PARTIAL_FIELDS})
            for message in messages:
                if message is None:
                    unprinted += 1
                    first_unprinted = offset if first_unprinted is None else first_unprinted
                else:
                    collector.add(
                        message,
                        offset=offset,
                        length=end - start,
                        time=time,
                        stream=stream,
                        cursor=cursor,
                        fields=fields,
                        partial=piece,
                    )
        yield from collector.blocks()
    source.tell("loss", "lines that are no journal entry", "get an intact copy", first_broken, broken)
    source.tell(
        "loss",
        "messages were too long to be printed and stand as null",
        "export again with journalctl --all -o json, or -o export",
        first_unprinted,
        unprinted,
    )
    source.tell("note", "entries without a message were passed over", "", None, silent)
    source.tell("loss", "entries without a readable receive time", "", None, undated)
    source.tell("note", PASSED_OVER, "", None, unasked)


def _field(entry: dict[str, object], name: str) -> str | None:
    return _text(entry.get(name))


def _values(value: object) -> list[bytes | None]:
    """All values of a field as bytes; None for one that was not printed."""
    if isinstance(value, list) and not _is_bytes(value):
        return [_bytes(item) for item in value]
    return [_bytes(value)]


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, list) and _is_bytes(value):
        return bytes(value)
    return None


def _is_bytes(value: list[object]) -> bool:
    return all(type(item) is int and 0 <= item < 256 for item in value)


def _text(value: object) -> str | None:
    """The first value of a field that names something."""
    if value is None or (isinstance(value, str) and value.isascii()):
        return value
    found = _values(value)
    return found[0].decode("utf-8", "replace") if found and found[0] is not None else None
