"""How much of the logs was read, and above all whether a size or a device was not: one line under each answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .document import Document, mapping, number

__all__ = ["coverage", "coverage_line"]

COUNTED = "records read size_bytes read_bytes sized sized_read placed placed_read sampled tokens tokens_read".split()
WORST = 10
"""Wordings that a document lists; the view unread_templates has all."""

UNREAD = f"""
    SELECT what, template, sum(1 + more)::BIGINT AS lines, arg_min(text, (source_id, "offset"))
    FROM unread
    WHERE what <> 'tokens' AND source_id IN (SELECT source_id FROM scan_count WHERE read > 0)
    GROUP BY what, template
    ORDER BY what = 'device', lines DESC, template
    LIMIT {WORST}
"""


def coverage(cases: Sequence[duckdb.DuckDBPyConnection]) -> dict[str, Any] | None:
    """What became of the lines of all logs of some cases; None if there are none.

    Args:
        cases: Cases with their tables.

    Returns:
        `lines` and `bytes` of the logs and of what a pattern read; `sized` and `placed` lines carry an amount of
        memory, or name a device without one; token counts were looked for in `sampled` lines only. `unread` are the
        wordings with an amount or a device that nothing reads, worst first. A text of which nothing at all was read
        is no log of a program that is known: it is in `unknown` and nowhere else.
    """
    sums = ", ".join(f"coalesce(sum({name}) FILTER (read > 0), 0)::BIGINT" for name in COUNTED)
    unknown = "count(*) FILTER (read = 0 AND records > 0), coalesce(sum(records) FILTER (read = 0), 0)::BIGINT"
    rows = [one.execute(f"SELECT {sums}, {unknown} FROM scan_count").fetchone() or () for one in cases]
    *told, sources, lines = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0)
    found = dict(zip(COUNTED, told, strict=bool(rows)))
    if not sources and not found.get("records"):
        return None
    return {
        "lines": found["records"],
        "read_lines": found["read"],
        "bytes": found["size_bytes"],
        **{name: found[name] for name in COUNTED[3:]},
        "unread": [
            {"carries": what, "template": template, "lines": many, "example": example}
            for one in cases
            for what, template, many, example in one.execute(UNREAD).fetchall()
        ],
        "unknown": {"sources": sources, "lines": lines},
    }


def coverage_line(found: Document | None) -> str:
    """What `coverage` found, in a line; empty if there are no logs."""
    if not found:
        return ""
    if not _of(found, "lines"):
        return f"nothing: no line of {_of(mapping(found, 'unknown'), 'lines'):,} is of a program that is known"
    share = f"{_share(found, 'lines')} of lines, {_share(found, 'bytes')} of bytes"
    left = sum(_of(found, name) - _of(found, f"{name}_read") for name in ("sized", "placed"))
    if not left:
        return f"{share}; no size or device left unread"
    return f"{share}; size or device unread: {left:,} (query losses)"


def _of(found: Mapping[str, Any], name: str) -> int:
    return int(number(found.get(name)) or 0)


def _share(found: Mapping[str, Any], name: str) -> str:
    """What was read of it, in percent: all is said of nothing less, and none of nothing more."""
    part, whole = _of(found, f"read_{name}"), _of(found, name)
    rounded = round(100 * part / whole) if whole else 0
    if part and not rounded:
        return "<1 %"
    return f"{99 if rounded == 100 and part < whole else rounded} %"
