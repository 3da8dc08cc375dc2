"""Every error that a user can meet.

ForensicsError
├── InputError       a source that cannot be read: what, where, what to do
├── CaseError        a case file that is not ours, is damaged, or is of another version
├── CatalogueError   a pattern file that must not be used as it is
├── QuestionError    a question file whose header lies, or SQL that is not allowed
├── FaultError       a result that contradicts itself: a fault of this program, or a case that was changed
└── UsageError       a request that cannot be carried out as asked
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["CaseError", "CatalogueError", "FaultError", "ForensicsError", "InputError", "QuestionError", "UsageError"]


class ForensicsError(Exception):
    """The base of all errors that are reported to the user without a traceback.

    Each argument is a line of the message. What a line quotes (a file's name, a user's SQL) may hold anything, so a
    line break in it makes no further one, and whoever prints it makes it visible.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class InputError(ForensicsError):
    """A source cannot be read; the other sources still are."""


class CaseError(ForensicsError):
    """A case cannot be opened or written; nothing is guessed from it."""


class CatalogueError(ForensicsError):
    """A pattern file is wrong; nothing is analysed with it."""


class QuestionError(ForensicsError):
    """A question is wrong or its SQL may not run."""


class FaultError(ForensicsError):
    """What was found contradicts itself, so nothing of it is shown."""

    MOST = 5
    """Contradictions that the message lists."""

    def __init__(self, found: Sequence[str]) -> None:
        more = [f"… and {len(found) - self.MOST} more"] if len(found) > self.MOST else []
        what = "the result contradicts itself and is not shown; please report this:"
        super().__init__(what, *found[: self.MOST], *more)


class UsageError(ForensicsError):
    """The command line asks for something that does not exist."""
