"""Read the turn log of a load test: a table whose rows are turns of sessions, each given with its columns' names."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.records.block import NO_TIME, Block, Source, Stream
from forensics.records.envelopes import Collector
from forensics.records.lines import cells_of, lines
from forensics.records.options import Options

__all__ = ["is_turn_header", "read_turn_log"]

KEYS = ("session_id", "turn_id")
"""The columns that every turn log begins with."""


def _cells(line: bytes) -> list[str]:
    return cells_of(line.decode("utf-8", "replace").rstrip("\r\n"))


def is_turn_header(line: bytes) -> bool:
    """Whether a line names the columns of a turn log."""
    return line.startswith(b"session_id,turn_id,") and all(cell.isidentifier() for cell in _cells(line))


def read_turn_log(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield each row as `name=value` of its cells, in their order, cited by its bytes.

    A header in the middle begins another table: logs of several runs that were put together.
    """
    collector = Collector(source)
    stream = collector.stream(Stream(source.name))
    names: list[str] = []
    torn = 0
    first_torn: int | None = None
    for chunk in lines(pieces, source, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            line = chunk.data[start:end].removeprefix(b"\xef\xbb\xbf")
            if not line.strip():
                continue
            if is_turn_header(line):
                names = _cells(line)
                continue
            cells = _cells(line)
            if len(cells) != len(names):
                torn += 1
                first_torn = chunk.base + start if first_torn is None else first_torn
                continue
            message = " ".join(f"{name}={cell}" for name, cell in zip(names, cells, strict=True)).encode("utf-8")
            collector.add(message, offset=chunk.base + start, length=end - start, time=NO_TIME, stream=stream)
        yield from collector.blocks()
    what = "rows with another number of cells than the header has"
    source.tell("loss", what, "get an intact copy", first_torn, torn)
