"""Group lines that no pattern reads, so that a wording is one row however often it is printed, and with what names."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["WORDINGS", "grouped", "masked"]

WORDINGS = 500
"""So many masked lines are grouped, the most frequent; of the rest each is a template of its own."""

KEYED = 6
"""Depth of the tree: lines with as many words and the same first three (clock, level, component) are compared."""

ALIKE = 0.6
"""Share of words that lines of one wording have in common, at least: one name in a short sentence may differ."""

DIGITS = re.compile(r"\d+")


def masked(text: str) -> str:
    """A line with each run of digits as one mark."""
    return DIGITS.sub("#", text)


def grouped(lines: Mapping[str, int]) -> dict[str, str]:
    """The template of each masked line.

    The same for the same lines, in whatever order they came: Drain's tree depends on the order, so it is fed sorted.

    Args:
        lines: Masked lines, each with how often it was met.
    """
    if len(lines) < 2:
        return {one: one for one in lines}
    from drain3.drain import Drain  # noqa: PLC0415  # 80 ms, most of it a pickler that it brings along: only if wanted

    often = sorted(lines, key=lambda one: (-lines[one], one))
    tree = Drain(depth=KEYED, sim_th=ALIKE)
    clusters = {one: tree.add_log_message(one)[0] for one in sorted(often[:WORDINGS])}
    return {one: clusters[one].get_template() if one in clusters else one for one in lines}
