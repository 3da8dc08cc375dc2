"""Find expressions that take more than in proportion to a line's length: one such line of some MiB would not end.

A sample is cut at many places, something short is put there again and again, and a character that no pattern wants ends
it. An expression that is quadratic or worse on any such line takes longer than its length explains.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

__all__ = ["Growth", "growth"]

PUMPS = (" ", "a", "0", "1.5 ", "x=y ", '"', "(", "a ", "[1]", ",", ": ", "\\", '{"a":1,', "-")
"""What is repeated, beside the last characters before the cut."""

SHORT, LONG = 800, 3200
"""Characters that are put in: if four times as many take more than MOST times as long, they are too many."""

MOST = 8.0

SUSPECT_S = 0.0002
"""A line that takes less is not looked at again: in proportion, it takes a tenth of that."""

TRIES = 5
"""An expression is found at fault if each of so many comparisons says so."""

CUTS = 10


class Growth(NamedTuple):
    """An expression's worst line: the text before, and what is repeated after it."""

    before: str
    repeated: str


def growth(match: Callable[[str], object], samples: Iterable[str]) -> Growth | None:
    """The line on which an expression takes more than in proportion, or None if none of those tried is one."""
    suspects = []
    for before, pump in _lines(samples):
        try:
            suspects.append((_seconds(match, before, pump, SHORT), before, pump))
        except TimeoutError:  # of a user's, which runs under a clock
            return Growth(before, pump)
    for seconds, before, pump in sorted(suspects, reverse=True)[:3]:
        if seconds < SUSPECT_S:
            break
        if all(_is_more(match, before, pump) for _ in range(TRIES)):
            return Growth(before, pump)
    return None


def _is_more(match: Callable[[str], object], before: str, pump: str) -> bool:
    """Whether the long line took more than in proportion this time: on a busy machine a line by itself may."""
    short, long = (min(_seconds(match, before, pump, size) for _ in range(3)) for size in (SHORT, LONG))
    return long > SUSPECT_S and long > short * MOST


def _lines(samples: Iterable[str]) -> Iterator[tuple[str, str]]:
    for sample in samples:
        cuts = sorted(
            {found.start() for found in re.finditer(r"(?<=\W)\w|(?<=\w)\W|(?<=\S)\s", sample)} | {0, len(sample)}
        )
        for cut in [*cuts[:: max(1, len(cuts) // CUTS)], len(sample)]:
            before = sample[:cut]
            yield from ((before, pump) for pump in PUMPS)
            if before:
                yield before, before[-6:]
                yield before, before[-16:]


def _seconds(match: Callable[[str], object], before: str, pump: str, size: int) -> float:
    text = before + pump * (size // len(pump)) + "\x01"
    begun = time.process_time()
    match(text)
    return time.process_time() - begun
