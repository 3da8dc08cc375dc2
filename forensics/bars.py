"""Draw what lies on a card as a bar whose cells tell the kinds apart without colour."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

__all__ = ["Fill", "Segment", "bar", "fill_of", "glyph", "sparkline"]


class Fill(StrEnum):
    """What a cell of a bar stands for, in the order in which a bar shows them."""

    WEIGHTS = "weights"
    CACHE = "cache"
    STATE = "state"
    COMPUTE = "compute"
    OTHER = "other"
    RUNTIME = "runtime"
    UNEXPLAINED = "unexplained"
    ELSE = "else"
    FREE = "free"


GLYPHS = {
    Fill.WEIGHTS: ("█", "#"),
    Fill.CACHE: ("▓", "="),
    Fill.STATE: ("▚", ":"),
    Fill.COMPUTE: ("▒", "%"),
    Fill.OTHER: ("░", "+"),
    Fill.RUNTIME: ("▄", "_"),
    Fill.UNEXPLAINED: ("?", "?"),
    Fill.ELSE: ("╱", "/"),
    Fill.FREE: ("·", "."),
}
"""Each fill as a block character, and in ASCII for a console that has none."""

FILLS = {
    "weights": Fill.WEIGHTS,
    "lora": Fill.WEIGHTS,
    "control_vector": Fill.WEIGHTS,
    "kv_cache": Fill.CACHE,
    "encoder_cache": Fill.CACHE,
    "recurrent_state": Fill.STATE,
    "checkpoint": Fill.STATE,
    "compute": Fill.COMPUTE,
    "output": Fill.COMPUTE,
    "activation_peak": Fill.COMPUTE,
    "cuda_graphs": Fill.COMPUTE,
    "runtime": Fill.RUNTIME,
    "non_torch": Fill.RUNTIME,
    "collectives": Fill.RUNTIME,
}


class Segment(NamedTuple):
    """An amount on a card."""

    fill: Fill
    size_bytes: int


def fill_of(kind: str) -> Fill:
    """The fill of a kind of memory."""
    return FILLS.get(kind, Fill.OTHER)


def glyph(fill: Fill, ascii_only: bool = False) -> str:
    """The character of a fill."""
    return GLYPHS[fill][ascii_only]


def bar(segments: Iterable[Segment], total_bytes: int, cells: int) -> list[tuple[Fill, int]]:
    """Share a bar's cells among what lies on a card, in proportion; what is left is free.

    Largest remainders get the odd cells, so the cells always add up. Amounts beyond the total shrink the scale
    rather than the bar.
    """
    sizes = dict.fromkeys(Fill, 0)
    for segment in segments:
        sizes[segment.fill] += max(segment.size_bytes, 0)
    used = sum(sizes.values())
    sizes[Fill.FREE] += max(total_bytes - used, 0)
    total = max(total_bytes, used)
    if total <= 0:
        return []
    shares = {fill: divmod(size_bytes * cells, total) for fill, size_bytes in sizes.items()}
    spare = cells - sum(whole for whole, _ in shares.values())
    by_rest = sorted(Fill, key=lambda fill: -shares[fill][1])
    widths = {fill: shares[fill][0] + (fill in by_rest[:spare]) for fill in Fill}
    return [(fill, width) for fill, width in widths.items() if width]


def sparkline(shares: Iterable[float | None]) -> str:
    """Shares from 0 to 1 as a row of small bars on a fixed scale, so that two rows compare; a gap is a blank."""
    steps = "▁▂▃▄▅▆▇█"
    return "".join(
        " " if share is None else steps[min(len(steps) - 1, max(0, int(share * len(steps))))] for share in shares
    )
