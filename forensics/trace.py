"""Write a timeline as Chrome trace events, which ui.perfetto.dev opens: cards and loads are its processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .safe import visible

__all__ = ["chrome_trace"]

FIRST_LOAD = 1000
"""Number of the process that the first load becomes; the cards come before."""

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
    for number, card in enumerate(cards, 1):
        events += _named(number, card["name"], number)
        # What was sampled once begins and ends at one moment: a counter has one value there.
        for at_us, amount in dict(card["levels"]).items():
            events.append(_counter(number, "used MiB", at_us, amount))
        for holder in card["holders"]:
            for at_us, amount in dict(holder["levels"]).items():
                events.append(_counter(number, f"{visible(holder['name'])} MiB", at_us, amount))
    for number, load in enumerate(loads, FIRST_LOAD):
        events += _named(number, load["name"], number)
        for phase in load["phases"]:
            events.append(
                {
                    "ph": "X",
                    "pid": number,
                    "tid": 1,
                    "ts": phase["from_us"],
                    "dur": max(phase["to_us"] - phase["from_us"], 0),
                    "name": visible(phase["phase"]),
                    "cat": "phase",
                }
            )
    for step in steps:
        events.append(
            {
                "ph": "i",
                "pid": step["card"] + 1,
                "tid": 1,
                "ts": step["at_us"],
                "s": "p",
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


def _counter(number: int, name: str, at_us: int, size_bytes: int) -> Event:
    mib = round(size_bytes / 1048576, 3)
    return {"ph": "C", "pid": number, "ts": at_us, "name": name, "args": {"MiB": mib}}
