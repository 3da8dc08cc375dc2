"""What was not used as evidence for a load, and why: planned, replaced, estimated, claimed, forged, or another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .lines import lines_by_id, ordinals
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
    items, tables = _items(connection), _tables(connection)
    for answer in answers:
        found.extend(items.get(answer["load_id"], ()))
        found.extend(tables.get(answer["load_id"], ()))
    found.extend(_suspects(connection))
    others = [load for load in loads if load["load_id"] not in {one["load_id"] for one in answers}]
    counted = dict(
        connection.execute(
            "SELECT item.load_id, list(item.line_id ORDER BY item.at_us, line.ordinal) "
            "FROM item JOIN line USING (line_id) WHERE item.mark = 'counted' GROUP BY item.load_id"
        ).fetchall()
        if others
        else ()
    )
    for load in others:
        rows = counted.get(load["load_id"])
        if rows:
            found.append(
                {
                    "what": f"{len(rows)} amounts of load {load['number']} ({load['model'] or 'unknown model'})",
                    "why": "they belong to another load",
                    "mib": None,
                    "bytes": None,
                    "count": len(rows),
                    "load_id": load["load_id"],
                    "evidence": rows[:4],
                }
            )
    for entry in found:
        cited.update(entry["evidence"])
    return found


def _items(connection: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """By load, amounts that are not counted."""
    rows = connection.execute(
        "SELECT load_id, mark, why, part, size_bytes, line_id FROM item WHERE mark <> 'counted'"
    ).fetchall()
    if not rows:
        return {}
    places = ordinals(connection, {row[5] for row in rows})
    allocated = {
        (load_id, part): size
        for load_id, part, size in connection.execute(
            """
            SELECT load_id, part, sum(size_bytes)::BIGINT FROM item JOIN device USING (process_id, logged)
            WHERE mark = 'counted' AND place = 'card' GROUP BY load_id, part
            """
        ).fetchall()
    }
    groups: dict[tuple[str, str, str, str], list[tuple[int, int, str]]] = {}
    for load_id, mark, why, part, size, line in rows:
        if line in places:
            groups.setdefault((load_id, mark, why, part), []).append((places[line], size, line))
    found: dict[str, list[dict[str, Any]]] = {}
    for (load_id, mark, why, part), listed in sorted(groups.items(), key=lambda one: min(one[1])[0]):
        total = allocated.get((load_id, part))
        size = sum(one[1] for one in listed)
        found.setdefault(load_id, []).append(
            {
                "what": f"{WORDS.get(mark, mark)} ({part})",
                "why": f"{why}; {total / MIB:.2f} MiB was allocated" if mark == "estimated" and total else why,
                "mib": round(size / MIB, 4) if mark in {"estimated", "claimed"} else None,
                "bytes": size if mark in {"estimated", "claimed"} else None,
                "count": len(listed),
                "load_id": load_id,
                "evidence": [line for _, _, line in sorted(listed, key=lambda one: one[0])][:6],
            }
        )
    return found


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """By load, the program's own memory table: a check of the target's totals, never an addition."""
    rows = connection.execute(
        """
        SELECT load_id, list(unaccounted_bytes ORDER BY ordinal), list(line_id ORDER BY ordinal)
        FROM breakdown_reported
        WHERE load_id IS NOT NULL AND believed AND phase = 'end' AND unaccounted_bytes IS NOT NULL GROUP BY load_id
        """
    ).fetchall()
    return {
        load_id: [
            {
                "what": ("rows of the " if len(lines) > 1 else "")
                + f'memory table at exit: its "unaccounted" {" + ".join(f"{size / MIB:.0f}" for size in sizes)}',
                "why": "it holds the runtime, drafts, vision and other processes; the table sums what is counted here",
                "mib": None,
                "bytes": None,
                "count": len(lines),
                "load_id": load_id,
                "evidence": lines,
            }
        ]
        for load_id, sizes, lines in rows
    }


def _suspects(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Lines that look like evidence and are suspected to be forged, by the line that carries them."""
    rows = connection.execute(
        """
        SELECT suspect, carrier, count(*), list(line_id ORDER BY ordinal)
        FROM line WHERE suspect IS NOT NULL GROUP BY suspect, carrier ORDER BY min(ordinal)
        """
    ).fetchall()
    texts = dict(lines_by_id(connection, {row[1] for row in rows if row[1]}, "line_id, text"))
    return [
        {
            "what": "lines suspected to be forged",
            "why": f"they are part of a text: {texts[carrier][:120]}" if carrier in texts else why,
            "mib": None,
            "bytes": None,
            "count": count,
            "load_id": None,
            "carrier": carrier if carrier in texts else None,
            "evidence": [*([carrier] if carrier in texts else []), *lines[:6]],
        }
        for why, carrier, count, lines in rows
    ]
