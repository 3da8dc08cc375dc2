"""Read what rocm-smi and amd-smi print as text or CSV: cards by their order, at a time that only the file has.

Amounts are bytes in rocm-smi (rocm_smi_lib, python_smi_tools) and MiB, called MB, in amd-smi (amdsmi_cli).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.lines import cells_of, placed_lines
from forensics.records.options import MIB, Options
from forensics.records.samples import CardRows, Timeless, file_time, file_time_once

__all__ = [
    "is_rocm_concise",
    "is_rocm_csv",
    "is_rocm_text",
    "read_rocm_concise",
    "read_rocm_csv",
    "read_rocm_text",
]

_LINE = re.compile(r"GPU\[(\d{1,4})\]\s*: (?:\(?[^:]*?\)?\s*)?([A-Z][^:]*?): *(.*?)\s*")
_COLUMNS = {
    "vram total memory (b)": ("total_bytes", 1),
    "vram total used memory (b)": ("used_bytes", 1),
    "gpu use (%)": ("utilization_ratio", 0.01),
    "vram_used": ("used_bytes", MIB),
    "used_vram": ("used_bytes", MIB),
    "vram_total": ("total_bytes", MIB),
    "total_vram": ("total_bytes", MIB),
    "free_vram": ("free_bytes", MIB),
    "vram_free": ("free_bytes", MIB),
    "gfx": ("utilization_ratio", 0.01),
    "gfx%": ("utilization_ratio", 0.01),
    "gfx_activity": ("utilization_ratio", 0.01),
    "power_usage": ("power_w", 1),
    "socket_power": ("power_w", 1),
    "average graphics package power (w)": ("power_w", 1),
    "current socket graphics package power (w)": ("power_w", 1),
}


def is_rocm_text(sample: list[bytes]) -> bool:
    """Whether lines are of rocm-smi --showmeminfo and the like."""
    return any(re.match(rb"GPU\[\d+\]\s*: VRAM Total", line) for line in sample)


def is_rocm_csv(line: bytes) -> bool:
    """Whether a line is the head of such a table."""
    names = [name.strip() for name in line.decode("utf-8", "replace").lower().split(",")]
    if names[0] not in {"device", "gpu", "timestamp"}:
        return False
    return any(_COLUMNS.get(name, ("",))[0] == "used_bytes" for name in names[1:])


_CONCISE = re.compile(rb"(?:Device|GPU)\s.*\sVRAM%\s+GPU%\s*")
_CONCISE_ROW = re.compile(rb"(\d{1,4})\s.*?\s(?:(\d+(?:\.\d+)?)W|N/A)\s.*\s(\d{1,3})%\s+(\d{1,3})%\s*")
"""Index, power, shares of memory and of time in use; what stands between differs by version."""


def is_rocm_concise(line: bytes) -> bool:
    """Whether a line is the head of the table that plain rocm-smi prints."""
    return _CONCISE.fullmatch(line) is not None


def read_rocm_concise(
    source: Source, pieces: Iterator[bytes], options: Options
) -> Iterator[CardSamples | HolderSamples]:
    """Yield a row a card, without its memory: the table gives that as a share, of a total that it does not print."""
    timeless = Timeless(source, "save each table to a file of its own")
    rows = CardRows()
    count = strange = 0
    for line, extent in placed_lines(pieces, source, options.line_bytes):
        if is_rocm_concise(line):
            timeless.take(rows := CardRows())
            continue
        found = _CONCISE_ROW.fullmatch(line)
        if found is None:
            strange += line[:1].isdigit()
            continue
        count += 1
        power = float(found[2]) if found[2] else None
        rows.add(extent, index=int(found[1]), power_w=power, utilization_ratio=int(found[4]) / 100)
    what = "rows give memory as a share of a total that they do not print: no bytes are known"
    source.tell("loss", what, "rocm-smi --showmeminfo vram --json", None, count)
    source.tell("loss", "rows that are no sample", "", None, strange)
    yield from timeless.samples(dated=False)


def read_rocm_text(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[CardSamples]:
    """Yield a row a card; it is cited by the line of its used memory."""
    found: dict[int, dict[str, object]] = {}
    extents: dict[int, tuple[int, int]] = {}
    rows = CardRows()
    wall = file_time(source)

    def close() -> None:
        for index, values in sorted(found.items()):
            if index in extents:
                rows.add(extents[index], wall_us=wall, index=index, **values)
        found.clear()
        extents.clear()

    for line, extent in placed_lines(pieces, source, options.line_bytes):
        matched = _LINE.fullmatch(line.decode("utf-8", "replace"))
        column = _COLUMNS.get(matched[2].lower()) if matched else None
        if matched is None or column is None:
            continue
        index, (name, factor) = int(matched[1]), column
        if name in found.get(index, {}):
            close()  # the next sample of an appended file
        found.setdefault(index, {})[name] = _value(name, matched[3], factor)
        if name == "used_bytes":
            extents[index] = extent
    close()
    yield from rows.samples(source, zone_known=True)


def read_rocm_csv(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[CardSamples]:
    """Yield a row a card and sample; a column of times in whole seconds since the epoch is used where there is one."""
    rows = CardRows()
    names: list[str] = []
    strange = 0
    captured = file_time_once(source)
    for line, extent in placed_lines(pieces, source, options.line_bytes):
        if not line.strip():
            continue
        cells = cells_of(line.decode("utf-8", "replace"))
        if is_rocm_csv(line):
            names = [cell.strip().lower() for cell in cells]
            continue
        row = dict(zip(names, cells, strict=False))
        device = re.fullmatch(r"(?:card)?(\d{1,4})", row.get("device", row.get("gpu", "")).strip())
        if device is None:
            strange += row.get("device") != "system"
            continue
        values: dict[str, object] = {}
        for name, cell in row.items():
            if name in _COLUMNS:
                column, factor = _COLUMNS[name]
                values.setdefault(column, _value(column, cell, factor))
        stamp = row.get("timestamp", "").strip()
        wall = int(stamp) * 1_000_000 if stamp.isdecimal() and len(stamp) == 10 else captured()
        rows.add(extent, wall_us=wall, index=int(device[1]), **values)
    source.tell("loss", "rows that are no sample", "", None, strange)
    yield from rows.samples(source, zone_known=True)


def _value(name: str, text: str, factor: float) -> float | int | None:
    found = re.match(r"\s*(\d{1,18}(?:\.\d+)?)", text)
    if found is None:
        return None
    return int(float(found[1]) * factor) if name.endswith("_bytes") else float(found[1]) * factor
