"""Turn event types and row types into tables: their columns, and DDL with comments."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from enum import Enum
from typing import Annotated, get_args, get_origin

from .events import EVENT_TYPES, Event
from .rows import ROW_TYPES, Row

__all__ = ["SCHEMA_VERSION", "TABLES", "Column", "ddl"]

OWNER_COLUMNS: dict[str, tuple[str, bool, str]] = {
    "line_id": ("VARCHAR", False, "Line the event was read from."),
    "ordinal": ("BIGINT", False, "Place among all matched lines."),
    "time_us": ("BIGINT", True, "µs since the epoch, UTC."),
    "process_id": ("VARCHAR", True, "Process that wrote it."),
    "load_id": ("VARCHAR", True, "Load that owns it."),
    "part": ("VARCHAR", True, "Part of the load."),
    "phase": ("VARCHAR", True, "Phase of the load."),
    "scope": ("VARCHAR", True, "exact, inferred or ambiguous."),
    "writer": ("VARCHAR", True, "Tag of the line: port, pid or rank."),
    "writer_device": ("VARCHAR", True, "Device that the writer is bound to."),
    "believed": ("BOOLEAN", False, "False for a line that is suspected or is carried text."),
}
"""Columns that every event table has beside its own."""

SQL_TYPES: dict[type, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}


class Column:
    """A column: name, SQL type, whether it may be empty, meaning."""

    __slots__ = ("meaning", "name", "optional", "sql")

    def __init__(self, name: str, sql: str, optional: bool, meaning: str) -> None:
        self.name, self.sql, self.optional, self.meaning = name, sql, optional, meaning


def _columns(declared: type[Event] | type[Row]) -> list[Column]:
    columns: list[Column] = []
    for one in fields(declared):
        hint = one.type  # what was written: the annotations of events and rows are not postponed
        assert get_origin(hint) is Annotated, f"{declared.__name__}.{one.name} has no meaning"
        inner, meaning = get_args(hint)
        alternatives = [part for part in (get_args(inner) or (inner,)) if part is not type(None)]
        kind = alternatives[0]
        sql = "VARCHAR" if issubclass(kind, Enum) else SQL_TYPES[kind]
        columns.append(Column(one.name, sql, len(alternatives) != len(get_args(inner) or (inner,)), meaning))
    return columns


def _tables() -> dict[str, tuple[str, list[Column]]]:
    found: dict[str, tuple[str, list[Column]]] = {}
    for row_type in ROW_TYPES:
        found[row_type.table] = ((row_type.__doc__ or "").strip(), _columns(row_type))
    owner = [Column(name, *about) for name, about in OWNER_COLUMNS.items()]
    for event_type in EVENT_TYPES:
        own = [
            Column("event_scope" if one.name == "scope" else one.name, one.sql, one.optional, one.meaning)
            for one in _columns(event_type)
        ]
        found[event_type.table] = ((event_type.__doc__ or "").strip(), owner + own)
    return found


TABLES: dict[str, tuple[str, list[Column]]] = _tables()
"""Meaning and columns of every table by name."""


SCHEMA_VERSION: str = hashlib.sha256(
    repr([(name, [(one.name, one.sql) for one in columns]) for name, (_, columns) in TABLES.items()]).encode()
).hexdigest()[:8]
"""Made of the tables themselves: a case with others is read again, never guessed at."""


def ddl(*, comments: bool = True) -> str:
    """Statements that create all tables, with a comment on each table and column for whoever opens the database."""
    parts: list[str] = []
    for name, (meaning, columns) in TABLES.items():
        inside = ", ".join(f'"{one.name}" {one.sql}{"" if one.optional else " NOT NULL"}' for one in columns)
        parts.append(f'CREATE TABLE "{name}" ({inside});')
        if not comments:
            continue
        parts.append(f'COMMENT ON TABLE "{name}" IS {_quoted(meaning)};')
        parts.extend(f'COMMENT ON COLUMN "{name}"."{one.name}" IS {_quoted(one.meaning)};' for one in columns)
    return "\n".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
