"""Read logs in JSON, one object a line: of Docker's json-file driver, or as programs print them themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from forensics.records.block import NO_TIME, Block, Source, Stream
from forensics.records.envelopes import Collector
from forensics.records.lines import lines
from forensics.records.options import Options
from forensics.records.rows import Joined
from forensics.records.times import ISO, from_iso

__all__ = ["is_docker", "is_log_line", "object_of", "read_docker_json", "read_json_log"]

_ISO = re.compile(ISO)

_ENVELOPE = frozenset({"type", "time", "timestamp", "ts", "level", "lvl", "severity", "levelname", "msg", "message"})
"""Keys of an object that is nothing but the envelope of its message."""


def object_of(line: bytes) -> dict[str, object] | None:
    """Read a line as an object; None if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_docker(entry: dict[str, object]) -> bool:
    """Whether an object is an entry of the json-file driver."""
    return isinstance(entry.get("log"), str) and isinstance(entry.get("time"), str)


def is_log_line(entry: dict[str, object]) -> bool:
    """Whether an object is a line of a log in JSON: a message and a level."""
    message = entry.get("msg", entry.get("message"))
    return isinstance(message, str) and any(name in entry for name in ("level", "lvl", "severity", "levelname"))


def read_docker_json(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield the messages of all entries, cited by the extent of their entries.

    The driver splits messages at 16 KiB; only the last piece ends with a line feed. The time is that of the first.
    """
    collector = Collector(source)
    stream = collector.stream(Stream(source.name))
    open_lines: dict[object, Joined] = {}  # by output: the two interleave
    broken = lost = 0
    first_broken: int | None = None

    def add(joined: Joined) -> None:
        nonlocal lost
        lost += joined.lost
        message = b"".join(joined.pieces)
        length = joined.end - joined.begin
        collector.add(message, offset=joined.begin, length=length, time=joined.time, stream=stream)

    for chunk in lines(pieces, source, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            line = chunk.data[start:end]
            entry = object_of(line)
            text = None if entry is None else entry.get("log")
            if entry is None or not isinstance(text, str):
                if line.strip():
                    broken += 1
                    first_broken = chunk.base + start if first_broken is None else first_broken
                continue
            piece = text.encode("utf-8", "surrogatepass")
            whole = piece.endswith(b"\n")
            piece = piece.removesuffix(b"\n")
            out = entry.get("stream")
            out = out if isinstance(out, str) else None
            joined = open_lines.pop(out, None) if open_lines else None
            if joined is None:
                printed = entry.get("time")
                found = _ISO.fullmatch(printed.encode("utf-8", "replace")) if isinstance(printed, str) else None
                time = (from_iso(found) if found is not None else None) or NO_TIME
                if whole and len(piece) <= options.line_bytes:
                    offset = chunk.base + start
                    collector.add(piece, offset=offset, length=end - start, time=time, stream=stream)
                    continue
                joined = Joined(piece, chunk.base + start, chunk.base + end, time, options.line_bytes)
            else:
                joined.add(piece, chunk.base + end)
            if whole:
                add(joined)
            else:
                open_lines[out] = joined
        source.seam = None if open_lines else source.seam
        yield from collector.blocks()
    for joined in sorted(open_lines.values(), key=lambda one: one.begin):
        source.tell("note", "a message without a line end: its last piece may be missing", "", joined.begin)
        add(joined)
    yield from collector.blocks()
    source.tell("loss", "lines that are no entry of a container log", "get an intact copy", first_broken, broken)
    what = f"joined messages were cut at {options.line_bytes} bytes; {lost} bytes are missing"
    source.tell("loss", what, count=bool(lost))


def read_json_log(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield the messages of a log whose program prints JSON, each cited by its whole line.

    An object that says more than message, level and time is itself the message, as is a line that is no object.
    What such a line calls its time is the program's own and stays where it is.
    """
    collector = Collector(source)
    stream = collector.stream(Stream(source.name))
    for chunk in lines(pieces, source, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            message = chunk.data[start:end]
            entry = object_of(message)
            if entry is not None and is_log_line(entry) and entry.keys() <= _ENVELOPE:
                text = entry.get("msg", entry.get("message"))
                assert isinstance(text, str)
                message = text.removesuffix("\n").encode("utf-8", "surrogatepass")
            collector.add(message, offset=chunk.base + start, length=end - start, time=NO_TIME, stream=stream)
        yield from collector.blocks()
