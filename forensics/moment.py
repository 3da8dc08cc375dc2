"""Add to a case what was measured at a moment that somebody asks for."""

from __future__ import annotations

import duckdb

from .question import Asked

__all__ = ["add_moment"]


def add_moment(connection: duckdb.DuckDBPyConnection | Asked, at_us: int) -> None:
    """Put rows for the moment `at` into the measurements of an open case, in the place of those of another moment.

    Which process is which holder, and which device which card, stands in the case; no owner is decided here.
    """
    connection.execute("DELETE FROM measure WHERE moment = 'at'")
    connection.execute("INSERT INTO measure BY NAME SELECT * FROM measured_at(?)", [at_us])
    if isinstance(connection, Asked):
        connection.changed("measure")
