"""The commands that ask one question of a case: name, function and what it answers."""

from __future__ import annotations

from pathlib import Path

from .answer import Option, Question
from .ask_kv import kv
from .ask_loads import loads
from .ask_spec import spec
from .ask_swaps import swaps
from .ask_timeline import timeline

__all__ = ["OPTIONS", "QUESTIONS"]

QUESTIONS: dict[str, tuple[Question, str]] = {
    "kv": (kv, "List cache pools over starts: what the figures mean, what changed with them, what was refused."),
    "loads": (loads, "List the model loads: when each began, got ready and ended, and how."),
    "swaps": (swaps, "Tell which models took each other's place, how often, at what cost, and what would stop it."),
    "timeline": (
        timeline,
        "Show who held how much on which card when, which steps no line explains, and where evidence is missing.",
    ),
    "spec": (
        spec,
        "Say which loads speculate, how much of what they draft is accepted, and which lines are not theirs.",
    ),
}

OPTIONS: dict[str, tuple[Option, ...]] = {
    "swaps": (Option("load_s", float, "--load-time", "Seconds that a load is known to take, where the log has none."),),
    "timeline": (Option("perfetto", Path, "--perfetto", "Write the timeline here, for ui.perfetto.dev."),),
    "kv": (Option("published", int, "--published", "Tokens that an application was told of the pool."),),
}
"""Options that a question has beside those of all; they come to it in `Ask.extra`."""
