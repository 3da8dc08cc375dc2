"""Put builds of a program in order."""

from __future__ import annotations

import re

__all__ = ["release"]


def release(build: str) -> tuple[int, ...]:
    """The numbers of a build, to compare it with another of its program; a candidate comes before its release."""
    numbers, candidate, rest = build.partition("+")[0].partition("rc")
    return (*map(int, re.findall(r"\d+", numbers)), -1 if candidate else 0, *map(int, re.findall(r"\d+", rest)))
