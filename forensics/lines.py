"""Find lines by their identity: the few that evidence mostly is first, all others only for what is not among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

__all__ = ["lines_by_id", "ordinals"]


def lines_by_id(connection: duckdb.DuckDBPyConnection, wanted: Iterable[str], columns: str) -> list[tuple[Any, ...]]:
    """Columns of lines; ids of which there is no line are left out.

    Args:
        connection: A case.
        wanted: Ids.
        columns: Names of columns of `rare_lines`, of which the first is `line_id`.
    """
    left = set(wanted)
    found: list[tuple[Any, ...]] = []
    for table in ("rare_lines", "line"):
        if left:
            found += connection.execute(
                f"SELECT {columns} FROM {table} SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS line_id) AS wanted "
                "USING (line_id) ORDER BY line_id",
                [sorted(left)],
            ).fetchall()
            left -= {row[0] for row in found}
    return found


def ordinals(connection: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> dict[str, int]:
    """Places of lines among all matched lines."""
    return dict(lines_by_id(connection, wanted, "line_id, ordinal"))
