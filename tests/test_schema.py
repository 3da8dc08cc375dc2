"""Tables are made from types: each type has one, and each field has its meaning as the column's comment."""

from __future__ import annotations

import duckdb
import pytest

from forensics.events import EVENT_TYPES, Event, Kind, event_fields
from forensics.rows import ROW_TYPES
from forensics.schema import OWNER_COLUMNS, TABLES, ddl
from forensics.tables import arrow_table


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(ddl())
    return connection


def test_every_type_has_one_table(empty: duckdb.DuckDBPyConnection) -> None:
    tables = [row[0] for row in empty.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    declared = [*(one.table for one in ROW_TYPES), *(one.table for one in EVENT_TYPES)]
    assert sorted(tables) == sorted(declared)


def test_every_table_and_column_has_a_comment(empty: duckdb.DuckDBPyConnection) -> None:
    assert empty.execute("SELECT table_name FROM duckdb_tables() WHERE comment IS NULL").fetchall() == []
    sql = "SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal"
    assert empty.execute(sql).fetchall() == []


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=[one.table for one in EVENT_TYPES])
def test_an_events_table_has_its_owner_and_its_fields_with_their_meaning(event_type: type[Event]) -> None:
    columns = {column.name: column.meaning for column in TABLES[event_type.table][1]}
    owner = {name: meaning for name, (_, _, meaning) in OWNER_COLUMNS.items()}
    fields = {
        "event_scope" if name == "scope" else name: field.meaning for name, field in event_fields(event_type).items()
    }
    assert columns == owner | fields


def test_names_of_amounts_end_in_their_unit() -> None:
    wrong = [
        f"{table}.{column.name}"
        for table, (_, columns) in TABLES.items()
        for column in columns
        if column.name.endswith(("_mib", "_gib", "_ms", "_mb", "_percent"))
    ]
    assert wrong == []


def test_rows_go_through_arrow_in_the_order_of_the_columns_and_what_lacks_is_null(
    empty: duckdb.DuckDBPyConnection,
) -> None:
    row = {
        "line_id": "E1",
        "ordinal": 3,
        "believed": True,
        "kind": Kind.KV_CACHE,
        "size_bytes": 2_415_919_104,
        "device": "CUDA0",
    }
    empty.register("incoming", arrow_table("buffer_allocated", [row]))
    empty.execute("INSERT INTO buffer_allocated SELECT * FROM incoming")
    sql = "SELECT line_id, ordinal, load_id, kind, size_bytes, device FROM buffer_allocated"
    assert empty.execute(sql).fetchall() == [("E1", 3, None, "kv_cache", 2_415_919_104, "CUDA0")]
