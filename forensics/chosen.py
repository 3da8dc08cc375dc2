"""Say which loads a person means by a word."""

from __future__ import annotations

import duckdb

from .errors import UsageError

__all__ = ["which"]


def which(connection: duckdb.DuckDBPyConnection, wanted: str | None) -> list[str] | None:
    """Ids of the loads that a person means: by number, id, label, model or unit; None for all.

    Raises:
        UsageError: No load is meant; the message names those that are there.
    """
    if wanted is None:
        return None
    rows = connection.execute("SELECT load_id, number, model, label, unit FROM loads ORDER BY number").fetchall()
    exact = [row[0] for row in rows if wanted in {row[0], str(row[1]), row[2], row[3], row[4]}]
    part = [row[0] for row in rows if row[0].startswith(wanted) or wanted in (row[2] or "") or wanted in (row[3] or "")]
    if found := exact or part:
        return found
    known = ", ".join(f"{row[1]} ({row[2] or 'unknown model'})" for row in rows) or "none"
    raise UsageError(f"--load {wanted}: no such load; the evidence shows: {known}")
