"""Read what probes say of a server: one object a line, each given with its known keys in one order."""

from __future__ import annotations

import json
from collections.abc import Iterator

from forensics.records.block import NO_TIME, Block, Source, Stream
from forensics.records.envelopes import Collector
from forensics.records.json_lines import object_of
from forensics.records.lines import lines
from forensics.records.options import Options

__all__ = ["is_probe_row", "read_probe_rows"]

TEXTS = ("probe", "model", "check", "result", "unit", "reason")
"""Keys in the order in which a row is given, `amount` before its unit. No program's own."""


def is_probe_row(entry: dict[str, object]) -> bool:
    """Whether an object names a probe, and what it says or measured."""
    return isinstance(entry.get("probe"), str) and ("result" in entry or _is_number(entry.get("amount")))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_probe_rows(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield each row as `name="value"` of its known keys, cited by its line."""
    collector = Collector(source)
    stream = collector.stream(Stream(source.name))
    others = 0
    first_other: int | None = None
    for chunk in lines(pieces, source, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            line = chunk.data[start:end]
            if not line.strip():
                continue
            entry = object_of(line)
            if entry is None or not is_probe_row(entry):
                others += 1
                first_other = chunk.base + start if first_other is None else first_other
                continue
            collector.add(_row(entry), offset=chunk.base + start, length=end - start, time=NO_TIME, stream=stream)
        yield from collector.blocks()
    source.tell("loss", "lines that are no row of a probe", "get an intact copy", first_other, others)


def _row(entry: dict[str, object]) -> bytes:
    parts = ["probe result:"]
    for name in TEXTS:
        if name == "unit" and _is_number(entry.get("amount")):
            parts.append(f"amount={entry['amount']}")
        value = entry.get(name)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str):
            parts.append(f"{name}={json.dumps(value, ensure_ascii=False)}")
    return " ".join(parts).encode("utf-8", "surrogatepass")
