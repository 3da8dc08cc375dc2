"""Write a timeline as Chrome trace events, which ui.perfetto.dev opens: cards and loads are its processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .safe import visible

__all__ = ["chrome_trace"]

FIRST_CARD = 100
"""Number of the process that the first card becomes."""

FIRST_LOAD = 1000
"""Number of the process that the first load becomes; the cards come before."""

LANE = 1
"""Number of a process's one thread: no process has it, since such a thread would be shown as the main one."""

Event = dict[str, Any]


def chrome_trace(
    cards: Sequence[Mapping[str, Any]], loads: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]]
) -> str:
    """Give the JSON text.

    Args:
        cards: `name`, `levels` (at_us, bytes) of the whole card, and `holders`: each a `name` and `levels`.
        loads: `name`, and `phases`: each a `phase`, `from_us` and `to_us`.
        steps: `card` (place in `cards`), `at_us` and `text` of what deserves a mark.
    """
    events: list[Event] = []
    for number, card in enumerate(cards, FIRST_CARD):
        events += _named(number, card["name"], number)
        # What was sampled once begins and ends at one moment: a counter has one value there.
        for at_us, amount in dict(card["levels"]).items():
            events.append(_counter(number, "used", at_us, amount))
        for holder in card["holders"]:
            for at_us, amount in dict(holder["levels"]).items():
                events.append(_counter(number, visible(holder["name"]), at_us, amount))
    for number, load in enumerate(loads, FIRST_LOAD):
        events += _named(number, load["name"], number)
        events.append(_lane(number, "phases"))
        for phase in load["phases"]:
            events.append(
                {
                    "ph": "X",
                    "pid": number,
                    "tid": LANE,
                    "ts": phase["from_us"],
                    "dur": max(phase["to_us"] - phase["from_us"], 0),
                    "name": visible(phase["phase"]),
                    "cat": "phase",
                }
            )
    for card in sorted({step["card"] for step in steps}):
        events.append(_lane(FIRST_CARD + card, "unexplained steps"))
    for step in steps:
        events.append(
            {
                "ph": "i",
                "pid": FIRST_CARD + step["card"],
                "tid": LANE,
                "ts": step["at_us"],
                "s": "t",  # marks of a whole process get a row that bears the card's name once more
                "name": visible(step["text"]),
                "cat": "step",
            }
        )
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, ensure_ascii=False, indent=0) + "\n"


def _named(number: int, name: str, order: int) -> list[Event]:
    return [
        {"ph": "M", "pid": number, "name": "process_name", "args": {"name": visible(name)}},
        {"ph": "M", "pid": number, "name": "process_sort_index", "args": {"sort_index": order}},
    ]


def _lane(number: int, name: str) -> Event:
    """Without a name it would be shown as "Thread 1"."""
    return {"ph": "M", "pid": number, "tid": LANE, "name": "thread_name", "args": {"name": name}}


def _counter(number: int, name: str, at_us: int, size_bytes: int) -> Event:
    """A counter is shown under its name and its one argument's: "used MiB"."""
    mib = round(size_bytes / 1048576, 3)
    return {"ph": "C", "pid": number, "ts": at_us, "name": name, "args": {"MiB": mib}}
