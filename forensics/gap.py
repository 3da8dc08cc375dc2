"""Set what a service says it uses against what the cards measured: the gap, its candidates, and what would decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from .units import MIB

__all__ = ["explain_gap"]

CORE = frozenset({"weights", "kv_cache", "recurrent_state"})
"""What every self-report counts: weights and cache of the target."""


def explain_gap(
    connection: duckdb.DuckDBPyConnection, answer: dict[str, Any], report: tuple[int, int, str], cited: set[str]
) -> None:
    """Fill `self_report`, `gap` and the findings about it.

    Args:
        connection: The case.
        answer: The load's part of the document.
        report: Bytes, rounding bound and origin of the self-report.
        cited: Evidence ids that are printed.
    """
    size, bound, origin = report
    answer["self_report"] = {
        "mib": round(size / MIB, 4),
        "bytes": size,
        "bound_bytes": bound,
        "source": origin,
        "replay": None,
    }
    measured = [device["measured_bytes"] for device in answer["devices"] if device["measured_bytes"] is not None]
    if not measured:
        answer["findings"].append(
            {
                "claim": "The gap to the self-report is not measured: no card was sampled.",
                "state": "not measured",
                "amount_mib": None,
                "amount_bytes": None,
                "for": [],
                "against": [],
            }
        )
        return
    gap = sum(measured) - size
    items = _candidates(connection, answer)
    named = sum(item["bytes"] for item in items)
    estimated = sum(item["bytes"] for item in items if item["basis"] == "estimated")
    rest = gap - named
    for item in items:
        cited.update(item["evidence"])
    answer["gap"] = {
        "mib": round(gap / MIB, 4),
        "bytes": gap,
        "items": items,
        "named_mib": round(named / MIB, 4),
        "named_bytes": named,
        "estimated_mib": round(estimated / MIB, 4),
        "estimated_bytes": estimated,
        "unexplained_mib": round(rest / MIB, 4),
        "unexplained_bytes": rest,
    }
    assert gap == named + rest
    if not items:
        return
    answer["findings"].append(_claim(gap, named, estimated, rest, items))


def _candidates(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Items that a self-report may leave out: everything but the target's weights and cache.

    A forecast stands in for a part only while no allocation line of that part is in the log.
    """
    items: list[dict[str, Any]] = []
    for device in answer["devices"]:
        if device["where"] != "card":
            continue
        items.extend(
            {**_short(item), "device": device["device"]}
            for item in device["items"]
            if item["kind"] != "runtime" and not (item["kind"] in CORE and item["part"] == "target")
        )
    allocated = {item["part"] for item in items if item["basis"] != "estimated"}
    rows = connection.execute(
        """
        SELECT item.part, item.size_bytes, item.bound_bytes, item.line_id, estimate.what
        FROM item JOIN memory_estimated AS estimate USING (line_id)
        WHERE item.load_id = ? AND item.mark = 'estimated' ORDER BY estimate.ordinal
        """,
        [answer["load_id"]],
    )
    for part, size, bound, line, what in rows.fetchall():
        if part not in allocated:
            items.append(
                {
                    "part": part,
                    "kind": None,
                    "mib": round(size / MIB, 4),
                    "bytes": size,
                    "basis": "estimated",
                    "bounds_bytes": [0, size + bound],
                    "bounds_mib": [0.0, round((size + bound) / MIB, 4)],
                    "evidence": [line],
                    "note": what,
                    "device": None,
                }
            )
    return items


def _short(item: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("part", "kind", "mib", "bytes", "basis", "bounds_bytes", "bounds_mib", "evidence", "note")
    return {key: item[key] for key in keys}


def _claim(gap: int, named: int, estimated: int, rest: int, items: list[dict[str, Any]]) -> dict[str, Any]:
    gib = 1024 * MIB
    words = (
        f"Up to {named / gib:.2f} of the {gap / gib:.2f} GiB that the self-report lacks can be named; "
        f"{rest / gib:.2f} GiB is left."
    )
    if estimated:
        words += f" {estimated / gib:.2f} GiB of it is only estimated, and a forecast is no allocation."
    lines = [one for item in items for one in item["evidence"]]
    return {
        "claim": words + " That the report leaves out exactly these is not shown by any line.",
        "state": "not established",
        "amount_mib": round(named / MIB, 4),
        "amount_bytes": named,
        "for": lines,
        "against": [],
    }
