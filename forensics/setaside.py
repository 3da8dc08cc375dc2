"""What was not used as evidence for a load, and why: planned, replaced, estimated, claimed, forged, or another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .units import MIB

__all__ = ["set_aside"]

WORDS = {
    "planned": "dry-run figures",
    "superseded": "figures that a later line replaces",
    "estimated": "forecasts",
    "claimed": "amounts printed where they cannot be believed",
    "summary": "summaries of amounts that are counted already",
    "suspect": "amounts suspected to be forged",
}


def set_aside(
    connection: duckdb.DuckDBPyConnection,
    answers: Sequence[Mapping[str, Any]],
    loads: Sequence[Mapping[str, Any]],
    cited: set[str],
) -> list[dict[str, Any]]:
    """Groups of lines that look like evidence and were not used, with their number, amount and owner."""
    found: list[dict[str, Any]] = []
    for answer in answers:
        found.extend(_items(connection, answer))
        found.extend(_tables(connection, answer))
    found.extend(_suspects(connection))
    others = [load for load in loads if load["load_id"] not in {one["load_id"] for one in answers}]
    for load in others:
        rows = connection.execute(
            "SELECT line_id FROM item WHERE load_id = ? AND mark = 'counted' ORDER BY at_us", [load["load_id"]]
        ).fetchall()
        if rows:
            found.append(
                {
                    "what": f"{len(rows)} amounts of load {load['number']} ({load['model'] or 'unknown model'})",
                    "why": "they belong to another load",
                    "mib": None,
                    "bytes": None,
                    "count": len(rows),
                    "load_id": load["load_id"],
                    "evidence": [row[0] for row in rows[:4]],
                }
            )
    for entry in found:
        cited.update(entry["evidence"])
    return found


def _items(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = connection.execute(
        """
        SELECT
            item.mark, item.why, item.part, count(*), sum(item.size_bytes)::BIGINT,
            list(item.line_id ORDER BY line.ordinal)
        FROM item JOIN line USING (line_id)
        WHERE item.load_id = ? AND item.mark != 'counted'
        GROUP BY item.mark, item.why, item.part ORDER BY min(line.ordinal)
        """,
        [answer["load_id"]],
    ).fetchall()
    found = []
    for mark, why, part, count, size, lines in rows:
        allocated = connection.execute(
            """
            SELECT sum(size_bytes)::BIGINT FROM item JOIN device USING (process_id, logged)
            WHERE load_id = ? AND part = ? AND mark = 'counted' AND place = 'card'
            """,
            [answer["load_id"], part],
        ).fetchone()
        reason = why
        if mark == "estimated" and allocated and allocated[0]:
            reason = f"{why}; {allocated[0] / MIB:.2f} MiB was allocated"
        found.append(
            {
                "what": f"{WORDS.get(mark, mark)} ({part})",
                "why": reason,
                "mib": round(size / MIB, 4) if mark in {"estimated", "claimed"} else None,
                "bytes": size if mark in {"estimated", "claimed"} else None,
                "count": count,
                "load_id": answer["load_id"],
                "evidence": list(lines[:6]),
            }
        )
    return found


def _tables(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The program's own memory table: a check of the target's totals, never an addition."""
    rows = connection.execute(
        """
        SELECT device, unaccounted_bytes, line_id FROM breakdown_reported
        WHERE load_id = ? AND believed AND phase = 'end' AND unaccounted_bytes IS NOT NULL ORDER BY ordinal
        """,
        [answer["load_id"]],
    ).fetchall()
    if not rows:
        return []
    rest = " + ".join(f"{row[1] / MIB:.0f}" for row in rows)
    return [
        {
            "what": f'memory table at exit: its "unaccounted" {rest}',
            "why": "it holds the runtime, drafts, vision and other processes; the table sums what is counted here",
            "mib": None,
            "bytes": None,
            "count": len(rows),
            "load_id": answer["load_id"],
            "evidence": [row[2] for row in rows],
        }
    ]


def _suspects(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Lines that look like evidence and are suspected to be forged, by the line that carries them."""
    rows = connection.execute(
        """
        SELECT line.suspect, carrier.line_id, carrier.text, count(*), list(line.line_id ORDER BY line.ordinal)
        FROM line LEFT JOIN line AS carrier ON carrier.line_id = line.carrier
        WHERE line.suspect IS NOT NULL
        GROUP BY line.suspect, carrier.line_id, carrier.text ORDER BY min(line.ordinal)
        """
    ).fetchall()
    return [
        {
            "what": "lines suspected to be forged",
            "why": why if carrier is None else f"they are part of a text: {text[:120]}",
            "mib": None,
            "bytes": None,
            "count": count,
            "load_id": None,
            "carrier": carrier,
            "evidence": [*([carrier] if carrier else []), *lines[:6]],
        }
        for why, carrier, text, count, lines in rows
    ]
