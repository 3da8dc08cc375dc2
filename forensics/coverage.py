"""How much of the logs was read, and above all whether a size or a device was not: one line under each answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .document import Document, number

__all__ = ["coverage", "coverage_line"]

COUNTED = "records read size_bytes read_bytes sized sized_read placed placed_read sampled tokens tokens_read".split()
WORST = 10
"""Templates that a document lists; the view unread_templates has all."""


def coverage(cases: Sequence[duckdb.DuckDBPyConnection]) -> dict[str, Any] | None:
    """What became of the lines of all logs of some cases; None if there are none.

    Args:
        cases: Cases with their tables.

    Returns:
        `lines` and `bytes` of all logs and of what a pattern read; `sized` and `placed` lines carry an amount of
        memory, or name a device without one; token counts were looked for in `sampled` lines only. `unread` are the
        wordings with an amount or a device that nothing reads, worst first.
    """
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT" for name in COUNTED)
    rows = [one.execute(f"SELECT count(*), {sums} FROM scan_count").fetchone() or (0,) for one in cases]
    if not sum(row[0] for row in rows):
        return None
    found = {name: sum(row[place] for row in rows if row[0]) for place, name in enumerate(COUNTED, 1)}
    unread = [
        row
        for one in cases
        for row in one.execute(
            f"SELECT what, template, lines, example FROM unread_templates WHERE what <> 'tokens' LIMIT {WORST}"
        ).fetchall()
    ]
    return {
        "lines": found["records"],
        "read_lines": found["read"],
        "bytes": found["size_bytes"],
        **{name: found[name] for name in COUNTED[3:]},
        "unread": [
            {"carries": what, "template": template, "lines": lines, "example": example}
            for what, template, lines, example in unread
        ],
    }


def coverage_line(found: Document | None) -> str:
    """What `coverage` found, in a line; empty if there are no logs."""
    if not found:
        return ""
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
