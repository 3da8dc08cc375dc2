"""Set throughputs side by side: which of four rates each is, what differs between loads, which is whose baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any

from .answer import Ask

__all__ = ["COMPARABLE", "comparability", "controls", "foreign_effects", "four_rates", "lengths", "rounded"]

COMPARABLE = 0.10
"""Prompts that differ by more than this in length are not the same work."""

APART = 0.25
"""Shares of foreign time from so far apart on are two conditions."""

NO_COST = 0.02
"""Rates whose median moves by less between them were not moved by it."""

SOAKED = 0.05
"""Cold and heat-soaked starts of one configuration differ by 4 to 5 % (club-3090 issue 178)."""

COLD_S, WARM_S = 600, 1800
"""Seconds after it got ready up to which cards are taken for cold, and from which on for heat-soaked."""

KNOBS = ("engine", "version", "context", "kv_dtype", "method", "depth", "cap", "prompts")
"""What must be the same in two loads, but for the one thing that a difference of their rates is ascribed to."""


def rounded(value: float | None) -> float | None:
    """A figure to six places."""
    return None if value is None else round(float(value), 6)


def controls(ask: Ask) -> dict[str, dict[str, Any]]:
    """The settings of each load that throughput depends on."""
    rows = ask.rows("SELECT * FROM rate_controls")
    return {row.pop("load_id"): row for row in rows}


def four_rates(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Four rates that are not each other: of decoding, of a request's whole time, of a stream, and of all together."""
    timed = [
        row for row in rows if None not in (row["begun_us"], row["ended_us"]) and row["ended_us"] > row["begun_us"]
    ]
    beside = [row for row in timed if row["others"]]
    decode = [row["decode_per_s"] for row in rows if row["decode_why"] is None]
    wall = [row["decode_tokens"] / ((row["ended_us"] - row["begun_us"]) / 1e6) for row in timed]
    streams = [row["decode_per_s"] for row in beside if row["decode_per_s"] is not None]
    together = None
    if beside:
        spans = _together(beside)
        together = max(sum(row["decode_tokens"] for row in one) / (_span(one) / 1e6) for one in spans)
    return {
        "decode_per_s": rounded(median(decode)) if decode else None,
        "wall_per_s": rounded(median(wall)) if wall else None,
        "per_stream_per_s": rounded(median(streams)) if streams else None,
        "aggregate_per_s": rounded(together),
        "streams": max((row["others"] for row in beside), default=0) + 1 if timed else None,
    }


def _together(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Requests that overlap, in one run each: none of a run ends before the next of it begins."""
    runs: list[list[Mapping[str, Any]]] = []
    until = None
    for row in sorted(rows, key=lambda one: int(one["begun_us"])):
        if until is None or row["begun_us"] >= until:
            runs.append([])
        runs[-1].append(row)
        until = max(until or 0, row["ended_us"])
    return runs


def _span(rows: Sequence[Mapping[str, Any]]) -> int:
    return int(max(row["ended_us"] for row in rows) - min(row["begun_us"] for row in rows))


def lengths(found: Sequence[int]) -> dict[str, Any] | None:
    """Shortest and longest prompt, and whether they are the same work."""
    if not found:
        return None
    difference = max(found) / min(found) - 1
    return {
        "shortest": min(found),
        "longest": max(found),
        "difference": rounded(difference),
        "comparable": difference <= COMPARABLE,
    }


def comparability(loads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What differs between the loads whose rates stand beside each other, and the baseline that each one has."""
    found = [row["prompt_length"] for load in loads for row in load["rows"] if row["prompt_length"]]
    differences = []
    if len(loads) > 1:
        for name in KNOBS:
            values = {str(load["controls"][name]) for load in loads}
            if len(values) > 1:
                differences.append({"what": name, "values": sorted(values)})
    return {
        "prompt_lengths": lengths(found),
        "differences": differences,
        "one_knob": len(differences) <= 1 if len(loads) > 1 else None,
        "baselines": [one for place in range(1, len(loads)) if (one := _baseline(loads, place)) is not None],
    }


def _baseline(loads: Sequence[Mapping[str, Any]], place: int) -> dict[str, Any] | None:
    """The earlier load of the model that differs in the fewest things; a single thing that differs tells its effect."""
    mine = loads[place]
    rated = [one for one in loads[:place] if one["model"] == mine["model"] and one["decode"]["median"]]
    if not rated or not mine["decode"]["median"]:
        return None

    def differing(other: Mapping[str, Any]) -> list[str]:
        return [name for name in KNOBS if str(other["controls"][name]) != str(mine["controls"][name])]

    # of equally near ones the latest
    nearest = min(reversed(rated), key=lambda one: len(differing(one)))
    differs = differing(nearest)
    others = [one for one in rated if one is not nearest and len(differing(one)) > len(differs)]
    return {
        "load_id": mine["load_id"],
        "number": mine["number"],
        "baseline_id": nearest["load_id"],
        "baseline_number": nearest["number"],
        "change": rounded(mine["decode"]["median"] / nearest["decode"]["median"] - 1),
        "differs": differs,
        "attributable": differs[0] if len(differs) == 1 else None,
        "warmth": _warmth(mine, nearest),
        "not_baselines": [
            {
                "load_id": one["load_id"],
                "number": one["number"],
                "change": rounded(mine["decode"]["median"] / one["decode"]["median"] - 1),
                "differs": differing(one),
            }
            for one in others
        ],
    }


def _warmth(mine: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
    """How long two loads had been ready when they were measured: cards get slower as they get warm.

    No log tells a temperature; what is taken for cold or warm here is time alone.
    """
    after, before = mine["served_s"], baseline["served_s"]
    apart = None if None in (after, before) else min(after, before) <= COLD_S and max(after, before) >= WARM_S
    change = abs(mine["decode"]["median"] / baseline["decode"]["median"] - 1)
    return {
        "served_s": after,
        "baseline_served_s": before,
        "cold_against_warm": apart,
        "may_explain": None if apart is None else apart and change <= SOAKED,
    }


def foreign_effects(ask: Ask, loads: Collection[str]) -> dict[str, Any]:
    """Whether what else ran cost anything: cells that were measured under two shares of foreign time."""
    rows = [
        row
        for row in ask.rows("SELECT * FROM foreign_effects")
        if row["load_id"] in loads and abs(row["share"] - row["before_share"]) >= APART
    ]
    # from more company to less, whichever came first
    gains = [
        row["change"] if row["share"] < row["before_share"] else row["before_per_s"] / row["per_s"] - 1 for row in rows
    ]
    more = [max(row["share"], row["before_share"]) for row in rows]
    less = [min(row["share"], row["before_share"]) for row in rows]
    state = "not measured"
    if rows:
        state = "not established"
    if len(rows) > 2 and min(gains) > NO_COST:
        state = "supported"
    elif len(rows) > 2 and abs(median(gains)) <= NO_COST:
        state = "contradicted"
    return {
        "claim": "what else ran slows these requests",
        "state": state,
        "cells": len(rows),
        "more": [rounded(min(more)), rounded(max(more))] if rows else None,
        "less": [rounded(min(less)), rounded(max(less))] if rows else None,
        "median_gain": rounded(median(gains)) if rows else None,
        "lowest_gain": rounded(min(gains)) if rows else None,
        "highest_gain": rounded(max(gains)) if rows else None,
        "evidence": [line for row in rows for line in row["lines"].split()],
    }
