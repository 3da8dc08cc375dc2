"""Read a benchmark's table of drafted blocks: rows of prompts, each given with its columns' names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forensics.records.block import NO_TIME, Block, Source, Stream
from forensics.records.envelopes import Collector
from forensics.records.lines import lines
from forensics.records.options import Options

__all__ = ["is_block_table", "read_block_table"]

HEADER = re.compile(rb"^prompt +steps +AL +pct% +(?:\S+ +)*tok/s *$")
ASKED = re.compile(rb"^\[bench\] .*\bn_gen=(\d+)")


def is_block_table(sample: Sequence[bytes]) -> bool:
    """Whether lines are a benchmark's that prints such a table, and say how many tokens it asked for."""
    return any(map(HEADER.match, sample)) and any(map(ASKED.match, sample))


def read_block_table(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield each row as `name=value` of its cells, the tokens asked for before them; other lines as they are.

    The row of means has no steps.
    """
    collector = Collector(source)
    stream = collector.stream(Stream(source.name))
    asked, names = b"", list[bytes]()
    for chunk in lines(pieces, source, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            line = chunk.data[start:end].rstrip(b"\r\n")
            if not line.strip():
                continue
            message, cells = line, line.split()
            if found := ASKED.match(line):
                asked = found[1]
            elif HEADER.match(line):
                names = cells
            elif names and cells[0] == b"MEAN":
                message = _row(asked, [name for name in names if name != b"steps"], cells)
                names = []
            elif names and len(cells) == len(names):
                message = _row(asked, names, cells)
            collector.add(message, offset=chunk.base + start, length=end - start, time=NO_TIME, stream=stream)
        yield from collector.blocks()


def _row(asked: bytes, names: Sequence[bytes], cells: Sequence[bytes]) -> bytes:
    """A row in words; one with another number of cells than columns stays as it is."""
    if len(names) != len(cells):
        return b" ".join(cells)
    pairs = [b"%b=%b" % pair for pair in zip(names, cells, strict=True)]
    return b" ".join([b"drafted blocks: n_gen=%b" % asked, *pairs])
