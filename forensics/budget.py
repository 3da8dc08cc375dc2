"""Replay the budget of a cache pool: which of the load's own lines enter it, and whether they give what is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .units import MIB

__all__ = ["budget_findings", "budget_replays", "written"]

GIB = 1024 * MIB

WORDS = {
    "requested": "asked for",
    "weights": "weights",
    "activation": "peak of activations",
    "non_torch": "non-torch memory",
    "consumed": "what the card lost",
    "allocated": "the allocator's peak",
    "estimate": "estimate of graphs",
}
"""What a term of a sum is called."""


def budget_replays(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Each printed budget with the algorithm that gives it, or the one that should have, and all that were tried."""
    rows = _rows(
        connection,
        """
        SELECT budget_replay.*, load.number FROM budget_replay JOIN load USING (load_id)
        ORDER BY number, budget_line, rank
        """,
    )
    terms = _rows(connection, "SELECT * FROM budget_terms ORDER BY budget_line, algorithm, place")
    return [
        _replay(
            [row for row in rows if row["budget_line"] == line],
            [row for row in terms if row["budget_line"] == line],
        )
        for line in dict.fromkeys(row["budget_line"] for row in rows)
    ]


def budget_findings(replays: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A claim about each budget that its load's own lines do not give."""
    return [_finding(one) for one in replays if one["matches"] is False]


def written(one: Mapping[str, Any]) -> str:
    """The sum as it is written, with what the log does not have."""
    text = _terms(one)
    return text if one["complete"] else f"{text}; not in the log: {_missing(one)}"


def _replay(tried: Sequence[Mapping[str, Any]], terms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What came of one printed budget."""
    known = any(one["expected"] is not None for one in tried)
    due = [one for one in tried if one["expected"]] if known else list(tried)
    fitting = [one for one in due if one["fits"]]
    matches: bool | None = None
    if fitting:
        matches = True
    elif any(one["complete"] for one in due) or (due and all(one["fits"] is False for one in due)):
        matches = False
    shown = next(iter(fitting), None) or next((one for one in due if one["complete"]), None) or (due or tried)[0]
    entered = [one for one in terms if one["algorithm"] == shown["algorithm"] and one["size_bytes"] is not None]
    lines = {one["line_id"] for one in entered}
    aside = {
        (one["term"], one["line_id"]): one
        for one in terms
        if one["line_id"] is not None and one["line_id"] not in lines
    }
    return {
        "load_id": shown["load_id"],
        "number": shown["number"],
        "device": shown["logged"],
        "version": shown["version"],
        **_amount("printed", shown["printed_bytes"]),
        "algorithm": shown["algorithm"],
        "about": shown["about"],
        "release_known": known,
        "matches": matches,
        "complete": shown["complete"],
        **_amount("replayed", shown["size_bytes"]),
        **_amount("difference", shown["difference_bytes"]),
        "tolerance_bytes": shown["tolerance_bytes"],
        "entered": [
            {
                "term": one["term"],
                "sign": one["sign"],
                **_amount("", one["size_bytes"]),
                "basis": one["basis"],
                "evidence": [one["line_id"]] if one["line_id"] else [],
            }
            for one in entered
        ],
        "missing": (shown["missing"] or "").split(),
        "not_entered": [
            {"term": one["term"], **_amount("", one["size_bytes"]), "evidence": [one["line_id"]]}
            for one in aside.values()
        ],
        "others_that_fit": [one["algorithm"] for one in tried if one["complete"] and one["fits"] and one not in due],
        "tried": [
            {
                "algorithm": one["algorithm"],
                "expected": one["expected"],
                "complete": one["complete"],
                **_amount("replayed", one["size_bytes"]),
                **_amount("difference", one["difference_bytes"]),
                "fits": one["fits"],
            }
            for one in tried
        ],
        "evidence": list(dict.fromkeys(shown["lines"].split())),
    }


def _finding(one: Mapping[str, Any]) -> dict[str, Any]:
    words = (
        f"Load {one['number']} prints a budget of {one['printed_bytes'] / GIB:.2f} GiB for its cache, and its own lines"
    )
    state = "supported"
    if not one["complete"]:
        words += f" leave at most {_sum(one)}, before {_missing(one)} are taken off: "
        words += "a line was changed, or is another start's."
    elif one["others_that_fit"]:
        words += (
            f" give {_sum(one)}. Another release's way gives it ({', '.join(one['others_that_fit'])}): the engine is "
        )
        words += "not what it says, or was told to reckon so."
        state = "not established"
    elif one["release_known"]:
        words += f" give {_sum(one)}. No known algorithm gives the figure: a line was changed, or is another start's."
    else:
        words += f" give {_sum(one)}. No known algorithm gives the figure, and how its release "
        words += f"({one['version'] or 'not printed'}) reckons is not known."
        state = "not established"
    return {
        "claim": words,
        "state": state,
        **_amount("amount", one["difference_bytes"]),
        "for": one["evidence"],
        "against": [],
    }


def _sum(one: Mapping[str, Any]) -> str:
    """The sum as it is written: 55.92 − 15.30 (weights) − … = 39.11 GiB."""
    return f"{_terms(one)} = {one['replayed_bytes'] / GIB:.2f} GiB"


def _terms(one: Mapping[str, Any]) -> str:
    text = ""
    for term in one["entered"]:
        sign = "" if not text and term["sign"] > 0 else " + " if term["sign"] > 0 else " − "
        text += f"{sign}{term['bytes'] / GIB:.2f} ({WORDS[term['term']]})"
    return text or "nothing"


def _missing(one: Mapping[str, Any]) -> str:
    return " and ".join(WORDS[term] for term in one["missing"])


def _amount(name: str, value: int | None) -> dict[str, Any]:
    prefix = f"{name}_" if name else ""
    return {f"{prefix}mib": None if value is None else round(value / MIB, 4), f"{prefix}bytes": value}


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
