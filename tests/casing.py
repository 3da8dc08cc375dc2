"""Make a case of a few texts and read its rows back, for the tests of ownership and joins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import ready
from forensics.question import load_questions

__all__ = ["CATALOGUE", "MIB", "Rows", "case", "items", "lives", "owners", "rows"]

MIB = 1024 * 1024
Rows = list[tuple[Any, ...]]
CATALOGUE = load_catalogue()


def case(
    folder: Path, *, tz_us: int | None = None, at_us: int | None = None, **files: str
) -> duckdb.DuckDBPyConnection:
    """Write each text as NAME.log, or NAME.csv if it begins like one, read them all, and store the case."""
    paths: list[Path] = []
    for name, text in files.items():
        path = folder / f"{name}.{'csv' if text.startswith('timestamp') else 'log'}"
        path.write_text(text, "utf-8")
        paths.append(path)
    connection = duckdb.connect()
    store(read_evidence(paths, CATALOGUE, tz_us=tz_us), connection)
    return ready(connection, load_questions(), at_us)


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> Rows:
    """All rows of a query."""
    return connection.execute(sql).fetchall()


def items(connection: duckdb.DuckDBPyConnection) -> Rows:
    """What each load holds: its number, device, part, kind, MiB."""
    return rows(
        connection,
        f"""
        SELECT number, device, part, kind, round(size_bytes / {MIB}, 2)
        FROM vram_ledger JOIN load USING (load_id) ORDER BY number, device, part, kind
        """,
    )


def lives(connection: duckdb.DuckDBPyConnection) -> Rows:
    """Each load: number, last part of its model's name, whether it got ready, how it ended."""
    return rows(
        connection,
        """
        SELECT number, regexp_extract(model, '[^/]*$'), ready_line IS NOT NULL, end_reason FROM load ORDER BY number
        """,
    )


def owners(connection: duckdb.DuckDBPyConnection, event: str) -> Rows:
    """Lines of an event in order: the number of their load, how that is known, and why they are suspected."""
    return rows(
        connection,
        f"""
        SELECT number, scope, suspect FROM line LEFT JOIN load USING (load_id) WHERE event = '{event}' ORDER BY ordinal
        """,
    )
