"""The commands that ask one question of a case: name, function and what it answers."""

from __future__ import annotations

from pathlib import Path

from .answer import Option, Question
from .ask_crashes import crashes
from .ask_kv import kv
from .ask_loads import loads
from .ask_soak import soak
from .ask_spec import spec
from .ask_swaps import swaps
from .ask_timeline import timeline
from .ask_traffic import traffic
from .ask_validity import validity

__all__ = ["OPTIONS", "QUESTIONS"]

QUESTIONS: dict[str, tuple[Question, str]] = {
    "crashes": (crashes, "Tell why loads failed: one failure per root, what followed, what the host says."),
    "kv": (kv, "List cache pools over starts: what the figures mean, what changed with them, what was refused."),
    "loads": (loads, "List the model loads: when each began, got ready and ended, and how."),
    "swaps": (swaps, "Tell which models took each other's place, how often, at what cost, and what would stop it."),
    "timeline": (
        timeline,
        "Show who held how much on which card when, which steps no line explains, and where evidence is missing.",
    ),
    "traffic": (traffic, "Count requests a minute by address, and verify a block for each address."),
    "soak": (soak, "Judge a soak test by each rule set: growth, rate kept, empty answers, failed turns."),
    "spec": (
        spec,
        "Say which loads speculate, how much of what they draft is accepted, and which lines are not theirs.",
    ),
    "validity": (validity, "Say which throughputs are measurements, and why the others are none."),
}

OPTIONS: dict[str, tuple[Option, ...]] = {
    "swaps": (
        Option("load_s", float, "--load-time", "Seconds that a load is known to take, where the log has none."),
        Option(
            "measure_s", float, "--measurement", "Seconds that a measurement takes: does it fit a pause, with a swap?"
        ),
    ),
    "timeline": (Option("perfetto", Path, "--perfetto", "Write the timeline here, for ui.perfetto.dev."),),
    "traffic": (Option("blocklist", Path, "--blocklist", "Blocked addresses, one a line: ADDRESS SINCE [UNTIL]."),),
    "validity": (
        Option("blocklist", Path, "--blocklist", "Blocked addresses: rows under different rules are marked."),
        Option(
            "length_limit",
            str,
            "--length-limit",
            "What stopping on the limit of tokens means: either, wanted or fails.",
        ),
    ),
    "kv": (
        Option("published", int, "--published", "Tokens that an application was told of the pool."),
        Option(
            "shape", str, "--shape", "Layers, KV heads and head dimension of the model, as 16x4x256: bytes to expect."
        ),
    ),
}
"""Options that a question has beside those of all; they come to it in `Ask.extra`."""
