"""Draw spans of time as lanes of characters: one row a load or a card, all on one scale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Span", "heights", "lane"]

LEVELS = "▁▂▃▄▅▆▇█"


class Span(NamedTuple):
    """What fills a lane from one time to another; a later span is drawn over an earlier one."""

    from_us: int
    to_us: int
    glyph: str


def lane(spans: Iterable[Span], begun_us: int, until_us: int, cells: int) -> str:
    """Draw spans; what lasts at all is at least one cell, and the longest of a cell wins."""
    scale = max(until_us - begun_us, 1)
    weights: list[dict[str, int]] = [{} for _ in range(cells)]
    for from_us, to_us, glyph in spans:
        first = _cell(from_us, begun_us, scale, cells)
        last = _cell(max(to_us - 1, from_us), begun_us, scale, cells)
        for cell in range(first, last + 1):
            low = begun_us + cell * scale // cells
            share = min(to_us, low + scale // cells) - max(from_us, low)
            weights[cell][glyph] = weights[cell].get(glyph, 0) + max(share, 1)
    return "".join(max(held, key=lambda glyph: held[glyph]) if held else " " for held in weights).rstrip()


def heights(levels: Iterable[tuple[int, int, int]], most: int, begun_us: int, until_us: int, cells: int) -> str:
    """Draw amounts over time as blocks: the highest of each cell, on a scale from nothing to the most."""
    scale = max(until_us - begun_us, 1)
    highest: list[int | None] = [None] * cells
    for from_us, to_us, amount in levels:
        first = _cell(from_us, begun_us, scale, cells)
        for cell in range(first, _cell(max(to_us - 1, from_us), begun_us, scale, cells) + 1):
            highest[cell] = max(highest[cell] or 0, amount)
    return "".join(
        " " if amount is None else "·" if amount <= 0 else LEVELS[min(len(LEVELS) * amount // max(most, 1), 7)]
        for amount in highest
    ).rstrip()


def _cell(at_us: int, begun_us: int, scale: int, cells: int) -> int:
    return min(max((at_us - begun_us) * cells // scale, 0), cells - 1)
