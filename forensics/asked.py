"""The commands that ask one question of a case: name, function and what it answers."""

from __future__ import annotations

from .answer import Question
from .ask_loads import loads

__all__ = ["QUESTIONS"]

QUESTIONS: dict[str, tuple[Question, str]] = {
    "loads": (loads, "List the model loads: when each began, got ready and ended, and how."),
}
