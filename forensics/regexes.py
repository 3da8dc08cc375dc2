"""Regular expressions of catalogues: ours compile when they are first needed, those a user brings may not run long.

An expression can take time without end on a line that nearly matches. Ours are tested against that; a user's runs under
a clock, is given up after a few lines that took too long, and says so.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import regex

from .errors import CatalogueError

__all__ = ["PATIENCE_S", "Regex", "found_in"]

PATIENCE_S = 0.1
"""How long one expression of a user may take for one line."""

CHANCES = 3
"""On how many lines it may take longer before it is given up."""

GROUP = re.compile(r"(?<!\\)(?:\\\\)*\(\?P<(\w+)>")


class Regex:
    """One regular expression: `match` and `search` give what `re` gives.

    Args:
        where: File and pattern, for messages.
        text: The expression.
        bounded: Whether it is a user's, and runs under a clock.

    Raises:
        CatalogueError: It is wrong; one of ours says so when it is first needed, and tests need each of them.
    """

    def __init__(self, where: str, text: str, *, bounded: bool = False) -> None:
        self.where = where
        self.pattern = text
        self.bounded = bounded
        self.slow = 0
        self.skipped = 0
        self._compiled: Any = self._compile() if bounded else None

    def _compile(self) -> Any:
        try:
            return regex.compile(self.pattern) if self.bounded else re.compile(self.pattern)
        except (re.error, regex.error) as error:
            raise CatalogueError(f"{self.where}: bad regular expression: {error}") from error

    @property
    def groups(self) -> frozenset[str]:
        """Names of its groups."""
        if self._compiled is not None:
            return frozenset(self._compiled.groupindex)
        return frozenset(GROUP.findall(self.pattern))

    def compiled(self) -> Any:
        """The expression, compiled."""
        if self._compiled is None:
            self._compiled = self._compile()
        return self._compiled

    def match(self, text: str) -> re.Match[str] | None:
        """What matches at the beginning of a text."""
        if not self.bounded:
            if self._compiled is None:
                self._compiled = self._compile()
            return self._compiled.match(text)  # type: ignore[no-any-return]  # one of two modules, of the same make
        return self._bounded("match", text)

    def search(self, text: str) -> re.Match[str] | None:
        """What matches anywhere in a text."""
        if not self.bounded:
            return self.compiled().search(text)  # type: ignore[no-any-return]
        return self._bounded("search", text)

    def _bounded(self, how: str, text: str) -> re.Match[str] | None:
        if self.slow >= CHANCES:
            self.skipped += 1
            return None
        try:
            return getattr(self._compiled, how)(text, timeout=PATIENCE_S)  # type: ignore[no-any-return]
        except TimeoutError:
            self.slow += 1
            return None


@cache
def _kept(text: str) -> Regex:
    return Regex("", text, bounded=True)


def found_in(expression: str, text: str) -> bool:
    """Whether an expression that stands as data in a catalogue is found in a short text, such as a device's name."""
    return _kept(expression).search(text) is not None
