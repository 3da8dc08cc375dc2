"""Read the clocks that programs print, and find the lines that a writer's own clock contradicts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["elapsed_us", "out_of_order"]


def elapsed_us(text: str) -> int | None:
    """µs since a writer began, from `minutes.seconds.milliseconds.microseconds` or plain µs; None if neither."""
    parts = text.split(".")
    if not all(part.isdigit() for part in parts):
        return None
    if len(parts) == 1:
        return int(parts[0])
    if len(parts) != 4:
        return None
    minutes, seconds, milli, micro = (int(part) for part in parts)
    return (minutes * 60 + seconds) * 1_000_000 + milli * 1000 + micro


def out_of_order(clocks: Sequence[int]) -> set[int]:
    """Indices whose clock does not fit the others' order.

    A writer's clock only goes forward, so the longest non-decreasing run through all lines is taken as the writer's
    own, and what falls outside it did not come from that clock.
    """
    tails: list[int] = []
    tail_index: list[int] = []
    before: list[int] = [-1] * len(clocks)
    for index, clock in enumerate(clocks):
        place = bisect_right(tails, clock)
        before[index] = tail_index[place - 1] if place else -1
        if place == len(tails):
            tails.append(clock)
            tail_index.append(index)
        else:
            tails[place] = clock
            tail_index[place] = index
    kept: set[int] = set()
    index = tail_index[-1] if tail_index else -1
    while index >= 0:
        kept.add(index)
        index = before[index]
    return set(range(len(clocks))) - kept
