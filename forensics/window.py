"""The span of time that a person's options ask about: one meaning for all commands."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["AROUND_US", "Window"]

AROUND_US = 5 * 60 * 1_000_000
"""How far around a moment `--around` looks, to either side."""


class Window(NamedTuple):
    """A span of time, µs UTC; an end that is None is open."""

    since_us: int | None = None
    until_us: int | None = None

    @classmethod
    def of(cls, around_us: int | None, since_us: int | None, until_us: int | None) -> Window | None:
        """The span meant by a moment, a begin and an end; None if none was given. A begin or an end goes first."""
        if since_us is not None or until_us is not None:
            return cls(since_us, until_us)
        if around_us is not None:
            return cls(around_us - AROUND_US, around_us + AROUND_US)
        return None

    def holds(self, at_us: int | None) -> bool:
        """Whether a moment is inside; a line without a wall time cannot be excluded."""
        if at_us is None:
            return True
        return (self.since_us is None or at_us >= self.since_us) and (self.until_us is None or at_us <= self.until_us)

    def touches(self, begun_us: int | None, ended_us: int | None) -> bool:
        """Whether a life reaches into it; a life without times cannot be excluded."""
        if begun_us is None:
            return True
        return (self.until_us is None or begun_us <= self.until_us) and (
            self.since_us is None or ended_us is None or ended_us >= self.since_us
        )
