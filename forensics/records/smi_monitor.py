"""Read what `nvidia-smi dmon` and `pmon` print: a row a card or process and sample, columns by the head line.

Without `-o DT` no row says when it was taken. `mem` is the use of the memory's bandwidth, not its occupation; that is
`fb`, of `-s m`, in MiB. Driver 580 puts the date as YYYYMMDD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.lines import placed_lines
from forensics.records.options import MIB, Options
from forensics.records.samples import CardRows, HolderRows
from forensics.records.times import wall_time
from forensics.told import UNPLACED

__all__ = ["is_monitor", "read_smi_monitor"]

_HEAD = re.compile(rb"#\s*(?:Date\s+)?(?:Time\s+)?gpu\s", re.IGNORECASE)
_UNITS = re.compile(rb"#\s*(?:YYYYMMDD\s+)?(?:HH:MM:SS\s+)?(?:Idx|#)\s", re.IGNORECASE)


def is_monitor(line: bytes) -> bool:
    """Whether a line is the head of such rows."""
    return _HEAD.match(line) is not None


def read_smi_monitor(
    source: Source, pieces: Iterator[bytes], options: Options
) -> Iterator[CardSamples | HolderSamples]:
    """Yield the rows; those of processes where the head has a pid."""
    cards, holders = CardRows(), HolderRows()
    names: list[str] = []
    strange = undated = bare = 0
    first: int | None = None
    for line, extent in placed_lines(pieces, source, options.line_bytes):
        if _HEAD.match(line):
            names = line[1:].decode("utf-8", "replace").lower().split()
            continue
        if not line.strip() or line.startswith(b"#"):
            continue
        # A command may hold blanks, and stands last.
        cells = line.decode("utf-8", "replace").split(None, len(names) - 1)
        row = dict(zip(names, cells, strict=False))
        if len(cells) < len(names) or not row.get("gpu", "").isdecimal():
            strange += 1
            first = extent[0] if first is None else first
            continue
        if not row.get("pid", "0").isdecimal():
            continue  # a card without processes
        wall = _time(row)
        undated += wall is None
        size = _number(row.get("fb"))
        bare += size is None
        identity = {"wall_us": wall, "index": int(row["gpu"]), "used_bytes": None if size is None else int(size * MIB)}
        if "pid" in row:
            process = row.get("command", row.get("name", "")).strip() or None
            holders.add(extent, **identity, pid=int(row["pid"]), process=process)
        else:
            busy = _number(row.get("sm"))
            ratio = None if busy is None else busy / 100
            cards.add(extent, **identity, utilization_ratio=ratio, power_w=_number(row.get("pwr")))
    source.tell("loss", "rows that are no sample", "", first, strange)
    source.tell("loss", f"rows print no time, and {UNPLACED}", "record with -o DT", None, undated)
    query = "record with -s um, or use --query-gpu and --query-compute-apps"
    source.tell("note", "rows give no memory", query, None, bare)
    yield from cards.samples(source, zone_known=False)
    yield from holders.samples(source, zone_known=False)


def _time(row: dict[str, str]) -> int | None:
    date, clock = row.get("date", ""), row.get("time", "")
    if not re.fullmatch(r"\d{8}", date):
        return None
    return wall_time(f"{date[:4]}-{date[4:6]}-{date[6:]}T{clock}".encode())


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d{1,12}(?:\.\d+)?", text) else None
