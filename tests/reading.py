"""Read bytes as one file and flatten what comes out, for the tests of readers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from forensics.records import (
    Block,
    CardSamples,
    HolderSamples,
    Options,
    RequestCounters,
    SelfReports,
    Source,
    Stream,
    read_inputs,
)

__all__ = ["Record", "Sample", "read"]

Sample = CardSamples | HolderSamples | SelfReports | RequestCounters


class Record(NamedTuple):
    message: bytes
    offset: int
    length: int
    time: int
    stream: Stream


def read(
    folder: Path, content: bytes, options: Options | None = None, modified_s: int | None = None
) -> tuple[list[Record], list[Sample], Source]:
    """Write one file named f, read it, and give its records, its samples and the finished source; names become f."""
    path = folder / "f"
    path.write_bytes(content)
    if modified_s is not None:
        os.utime(path, (modified_s, modified_s))
    records: list[Record] = []
    samples: list[Sample] = []
    *parts, source = read_inputs([path], options=options)
    assert isinstance(source, Source)
    for part in parts:
        assert not isinstance(part, Source)
        assert part.source is source
        if not isinstance(part, Block):
            samples.append(part)
            continue
        assert part.first_record == len(records)
        for at, message in enumerate(part.messages()):
            stream = part.stream_table[part.streams[at]]._replace(source="f")
            records.append(Record(message, int(part.offsets[at]), int(part.lengths[at]), int(part.times[at]), stream))
    source.problems[:] = [problem._replace(source="f") for problem in source.problems]
    return records, samples, source
