"""Two engines that find many literals in bytes at once, behind one interface: hyperscan where it is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import ahocorasick_rs
import numpy as np

from .records.block import Integers

try:
    import hyperscan
except ImportError:  # the optional extra `fast`
    hyperscan = None  # type: ignore[assignment]

__all__ = ["AhoCorasick", "Engine", "Hyperscan", "best_engine"]


class Engine(Protocol):
    """Finds literals."""

    def hits(self, data: bytes) -> tuple[Integers, Integers]:
        """A position inside each occurrence of each literal, and the number of the literal, in order of position."""
        ...


class AhoCorasick:
    """The engine that is always there: ahocorasick_rs."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        # Left to itself it takes a slower automaton from a hundred literals on; this one's speed does not fall with it.
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            literals, matchkind=ahocorasick_rs.MatchKind.Standard, implementation=ahocorasick_rs.Implementation.DFA
        )

    def hits(self, data: bytes) -> tuple[Integers, Integers]:
        """See Engine."""
        columns = np.array(self._automaton.find_matches_as_indexes(data, overlapping=True), np.int64).reshape(-1, 3)
        return columns[:, 1], columns[:, 0]


class Hyperscan:
    """Vectorscan or Hyperscan: several times as fast."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[re.escape(literal) for literal in literals],
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[0] * len(literals),
        )
        self._scratch = hyperscan.Scratch(self._database)
        self._database.scratch = self._scratch

    def hits(self, data: bytes) -> tuple[Integers, Integers]:
        """See Engine; the position is the last byte of the occurrence."""
        positions: list[int] = []
        numbers: list[int] = []
        keep_position, keep_number = positions.append, numbers.append

        def matched(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            keep_number(number)
            keep_position(end - 1)

        self._database.scan(data, match_event_handler=matched)
        return np.asarray(positions, np.int64), np.asarray(numbers, np.int64)


def best_engine(literals: Sequence[bytes]) -> Engine:
    """The fastest engine that is installed."""
    return AhoCorasick(literals) if hyperscan is None else Hyperscan(literals)
