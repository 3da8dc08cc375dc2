"""Hold a benchmark's table of drafted blocks against its counts: it is of no load, and defines its rates itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .answer import Ask, Section

__all__ = ["block_tables", "table_section"]

SHOWN = 16
"""Rows of a screen's table; the document has all."""

ROW = ("prompt", "tokens", "steps", "mean_length", "share", "committed", "per_s", "holds")

MEANS = """
    SELECT line.source_id, blocks.mean_length, blocks.line_id
    FROM blocks_measured AS blocks JOIN line USING (line_id) WHERE blocks.steps IS NULL
"""


def block_tables(ask: Ask) -> list[dict[str, Any]]:
    """Each table with its definitions, its rows, how many hold, and the mean of its counts beside the printed one."""
    means = {row["source_id"]: row for row in ask.rows(MEANS)}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in ask.rows("SELECT * FROM block_tables"):
        found.setdefault(row["source_id"], []).append(row)
    return [_table(source, rows, means.get(source)) for source, rows in found.items()]


def _table(source: str, rows: list[dict[str, Any]], mean: Mapping[str, Any] | None) -> dict[str, Any]:
    tokens, steps = sum(row["tokens"] for row in rows), sum(row["steps"] for row in rows)
    return {
        "source": source,
        "mean_len_definition": "tokens / steps: the bonus token is counted",
        "share_definition": "committed / (steps × 16): what was committed of the blocks; not accepted / drafted",
        "rows": [{key: row[key] for key in ROW} for row in rows],
        "hold": sum(row["holds"] for row in rows),
        "tokens": tokens,
        "steps": steps,
        "mean_len": round(tokens / steps, 6) if steps else None,
        "printed_mean": None if mean is None else mean["mean_length"],
        "evidence": [row["line_id"] for row in rows] + ([] if mean is None else [mean["line_id"]]),
    }


def table_section(table: Mapping[str, Any]) -> Section:
    """A table as a part of a screen, what does not hold first."""
    rows = table["rows"]
    note = f"{table['hold']} of {len(rows)} rows hold: AL is tokens / steps, pct is committed / (steps × 16)."
    if table["printed_mean"] is not None and table["mean_len"] is not None:
        note += f" Its mean of {table['printed_mean']:.2f} is one of rates; its counts give {table['mean_len']:.2f}"
        note += f" ({table['tokens']} / {table['steps']})."
    return Section(
        "A benchmark's own table, of no load",
        ("prompt", "tokens>", "steps>", "AL>", "pct>", "committed>", "tok/s>", ""),
        tuple(
            (
                row["prompt"],
                str(row["tokens"]),
                str(row["steps"]),
                f"{row['mean_length']:.2f}",
                f"{100 * row['share']:.1f}",
                str(row["committed"]),
                f"{row['per_s']:.2f}",
                "" if row["holds"] else "does not hold",
            )
            for row in sorted(rows, key=lambda one: bool(one["holds"]))[:SHOWN]
        ),
        note=note,
    )
