"""Read what `nvidia-smi dmon` and `pmon` print: a row a card or process and sample, columns by the head line.

Without `-o DT` no row says when it was taken. `mem` is the use of the memory's bandwidth, not its occupation; that is
`fb`, of `-s m`, in MiB. Driver 580 puts the date as YYYYMMDD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.records.block import CardSamples, HolderSamples, Problem, Source
from forensics.records.lines import lines
from forensics.records.options import MIB, Options
from forensics.records.samples import CardRows, HolderRows
from forensics.records.times import wall_time

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
    for chunk in lines(pieces, source, options.line_bytes):
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            line = chunk.data[start:end]
            if _HEAD.match(line):
                names = line[1:].decode("utf-8", "replace").lower().split()
                continue
            if not line.strip() or line.startswith(b"#"):
                continue
            # A command may hold blanks, and stands last.
            cells = line.decode("utf-8", "replace").split(None, len(names) - 1) if names else []
            row = dict(zip(names, cells, strict=False))
            if len(cells) < len(names) or not row.get("gpu", "").isdecimal():
                strange += 1
                first = chunk.base + start if first is None else first
                continue
            wall = _time(row)
            undated += wall is None
            index = int(row["gpu"])
            size = _number(row.get("fb"))
            held = None if size is None else int(size * MIB)
            if "pid" in row:
                if not row["pid"].isdecimal():
                    continue  # a card without processes
                bare += held is None
                holders.add(
                    (chunk.base + start, end - start),
                    wall_us=wall,
                    index=index,
                    pid=int(row["pid"]),
                    process=row.get("command", row.get("name", "")).strip() or None,
                    used_bytes=held,
                )
            else:
                bare += held is None
                busy = _number(row.get("sm"))
                cards.add(
                    (chunk.base + start, end - start),
                    wall_us=wall,
                    index=index,
                    used_bytes=held,
                    utilization_ratio=None if busy is None else busy / 100,
                    power_w=_number(row.get("pwr")),
                )
    for severity, what, remedy, count in (
        ("loss", "rows that are no sample", "", strange),
        ("loss", "rows print no time, and cannot be placed", "record with -o DT", undated),
        ("note", "rows give no memory", "record with -s um, or use --query-gpu and --query-compute-apps", bare),
    ):
        if count:
            where = first if what == "rows that are no sample" else None
            source.problems.append(Problem(source.name, severity, what, remedy, where, count))
    if len(cards):
        yield cards.samples(source, zone_known=False)
    if len(holders):
        yield holders.samples(source, zone_known=False)


def _time(row: dict[str, str]) -> int | None:
    date, clock = row.get("date", ""), row.get("time", "")
    if not re.fullmatch(r"\d{8}", date):
        return None
    return wall_time(f"{date[:4]}-{date[4:6]}-{date[6:]}T{clock}".encode())


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d{1,12}(?:\.\d+)?", text) else None
