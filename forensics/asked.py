"""The commands that ask one question of a case: name, function and what it answers."""

from __future__ import annotations

from .answer import Question
from .ask_loads import loads
from .ask_spec import spec
from .ask_validity import validity

__all__ = ["QUESTIONS"]

QUESTIONS: dict[str, tuple[Question, str]] = {
    "loads": (loads, "List the model loads: when each began, got ready and ended, and how."),
    "spec": (
        spec,
        "Say which loads speculate, how much of what they draft is accepted, and which lines are not theirs.",
    ),
    "validity": (validity, "Say which throughputs are measurements, and why the others are none."),
}
