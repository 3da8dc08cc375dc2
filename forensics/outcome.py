"""What a check found: how each thing that was asserted came out, and the line that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import duckdb

from .explain import evidence

__all__ = ["Failure", "Outcome", "Place", "exit_code_of", "place_of"]


@dataclass(frozen=True)
class Place:
    """A cited line: where it is, and what it says. Only plain text has line numbers; all have offsets."""

    source: str
    offset: int
    line: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.source}@{self.offset}: {self.text}"


@dataclass(frozen=True)
class Failure:
    """One thing that does not hold: where, what was kept or asserted, what came out, and the line that shows it."""

    where: str
    expected: str
    got: str
    evidence: Place | None = None


@dataclass
class Outcome:
    """What became of one recorded case, or of one assertion.

    `unproven` is what the evidence cannot tell: it neither holds nor fails, and is never taken for either.
    """

    name: str
    title: str
    rule: str
    """What was asserted, as a word: the kind of outcome in SARIF and JUnit."""
    file: str
    """The file that asserts it."""
    failures: list[Failure] = field(default_factory=list)
    unproven: list[Failure] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)


def exit_code_of(outcomes: Iterable[Outcome]) -> int:
    """0 if all holds, 1 if anything does not, 3 if the evidence cannot tell of something."""
    outcomes = list(outcomes)
    if any(one.failures for one in outcomes):
        return 1
    return 3 if any(one.unproven for one in outcomes) else 0


def place_of(connection: duckdb.DuckDBPyConnection, cited: Sequence[str | None]) -> Place | None:
    """The first of the lines named that the case has."""
    known = evidence(connection, {one for one in cited if one})
    first = next((known[one] for one in cited if one in known), None)
    return None if first is None else Place(first["source"], first["offset"], first["line"], first["text"])
