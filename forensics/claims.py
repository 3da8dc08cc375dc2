"""Hold a figure that somebody states against the two that it comes from: a difference, a change or a ratio.

Figures are texts, since their last places say how well they are known: a statement fails where no values that round to
the two figures give it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from .errors import UsageError
from .units import UNITS, to_base

__all__ = ["Claim", "Judged", "exchanged", "judge", "read_claim"]

FIGURE = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d[\d,]*(?:\.\d+)?) ?(?P<unit>[^\d\s.,+-]\S*)?")
SUFFIXED = re.compile(r"[+-]?[\d.,]+ ?[kKmM]")
"""32K is 32,000 to one and 32,768 to another."""


class Span(NamedTuple):
    """Values that round to a figure, in base units, and what it is of: bytes, seconds, or one."""

    low: Decimal
    high: Decimal
    of: str


@dataclass(frozen=True)
class Claim:
    """What somebody says of two figures."""

    number: int
    says: str
    before: str
    after: str
    kind: str
    stated: str


class Judged(NamedTuple):
    """Whether a claim holds; None where its figures are not exact enough to tell. `got` is what comes out."""

    holds: bool | None
    got: str


def _difference(before: Span, after: Span) -> tuple[Decimal, Decimal]:
    return after.low - before.high, after.high - before.low


def _ratio(before: Span, after: Span) -> tuple[Decimal, Decimal]:
    return after.low / before.high, after.high / before.low


def _change(before: Span, after: Span) -> tuple[Decimal, Decimal]:
    low, high = _ratio(before, after)
    return low - 1, high - 1


KINDS: Mapping[str, Callable[[Span, Span], tuple[Decimal, Decimal]]] = {
    "difference": _difference,
    "change": _change,
    "ratio": _ratio,
}


def read_claim(number: int, told: Mapping[str, object], where: str) -> Claim:
    """A `[[claim]]` row.

    Raises:
        UsageError: A key lacks, is unknown or is no text.
    """
    kinds = [kind for kind in KINDS if kind in told]
    if len(kinds) != 1 or set(told) != {"says", "before", "after", *kinds}:
        raise UsageError(f"{where}: write says, before, after and one of {', '.join(KINDS)}")
    if not all(isinstance(value, str) for value in told.values()):
        raise UsageError(f"{where}: figures are texts: their last places say how well they are known")
    texts = {key: str(value) for key, value in told.items()}
    return Claim(number, texts["says"], texts["before"], texts["after"], kinds[0], texts[kinds[0]])


def judge(claim: Claim, where: str) -> Judged:
    """Whether the stated figure can come from the two.

    Raises:
        UsageError: One of them is no figure.
    """
    figures = (claim.before, claim.after, claim.stated)
    if inexact := [text for text in figures if SUFFIXED.fullmatch(text)]:
        return Judged(None, f"{inexact[0]} is no exact number")
    before, after, stated = (_span(text, where) for text in figures)
    of = before.of if claim.kind == "difference" else ""
    if before.of != after.of or stated.of != of:
        return Judged(False, "its figures are not of one kind")
    if claim.kind != "difference" and min(before.low, after.low) <= 0:
        return Judged(None, "a ratio of nothing, or of less, is none")
    low, high = KINDS[claim.kind](before, after)
    unit = _unit(claim.stated)
    factor = UNITS["percent"] if unit == "%" else UNITS.get(unit, Decimal(1))
    middle = (low + high) / 2
    got = f"{middle:.2f} {unit}" if claim.kind == "ratio" else f"{middle / factor:+.2f} {unit}"
    return Judged(low <= stated.high and stated.low <= high, got.strip())


def exchanged(claims: Sequence[Claim], where: str) -> dict[int, int]:
    """Claims that do not hold, in pairs of a kind: each holds with the figure that is stated of the other."""
    wrong = [claim for claim in claims if judge(claim, where).holds is False]
    fits = {
        (one.number, other.number)
        for one in wrong
        for other in wrong
        if one.kind == other.kind and one is not other and judge(replace(one, stated=other.stated), where).holds
    }
    return {number: other for number, other in sorted(fits) if (other, number) in fits}


def _unit(text: str) -> str:
    found = FIGURE.fullmatch(text.replace("−", "-").strip())
    return (found["unit"] or "") if found else ""


def _span(text: str, where: str) -> Span:
    """The values that round to a figure; one without decimals is known to half of one."""
    found = FIGURE.fullmatch(text.replace("−", "-").strip())
    if found is None:
        raise UsageError(f"{where}: {text!r} is no figure; write it as 23.7, 32.39 GiB, -13 % or 8.2x")
    name = found["unit"] or ""
    unit = {"": "bytes", "%": "percent", "x": "bytes", "×": "bytes"}.get(name, name)
    if unit not in UNITS or unit == "duration":
        raise UsageError(f"{where}: {text!r}: unknown unit {name!r}; known: %, x, {', '.join(UNITS)}")
    value, half = to_base(found["sign"] + found["digits"], unit)
    if "." not in found["digits"] and name not in {"", "B", "bytes"}:
        half = UNITS[unit] / 2
    of = "" if name in {"", "%", "x", "×"} else "s" if unit in {"s", "ms", "us", "µs", "min"} else "bytes"
    return Span(value - half, value + half, of)
