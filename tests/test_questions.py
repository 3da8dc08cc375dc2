"""Every question says the truth about its columns, and nothing but documented questions is installed."""

from __future__ import annotations

import json

import duckdb
import pytest

from forensics.errors import QuestionError
from forensics.query import tree_nodes
from forensics.question import Question, check_header, in_order, install, load_questions, mentions, parse_question
from forensics.schema import ddl

QUESTIONS = load_questions()
NAMES = [question.name for question in QUESTIONS]


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(ddl())
    install(connection, QUESTIONS, comments=True)
    return connection


@pytest.mark.parametrize("question", QUESTIONS, ids=NAMES)
def test_a_header_names_the_columns_that_the_view_has(question: Question, empty: duckdb.DuckDBPyConnection) -> None:
    assert check_header(empty, question) == []


@pytest.mark.parametrize("question", QUESTIONS, ids=NAMES)
def test_a_view_says_what_one_row_is(question: Question, empty: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT comment FROM duckdb_views() WHERE view_name = $1 "
        "UNION ALL SELECT comment FROM duckdb_functions() WHERE function_name = $1 AND function_type = 'table_macro'"
    )
    assert empty.execute(sql, [question.name]).fetchone() == (f"{question.summary} {question.caveats}".strip(),)


@pytest.mark.parametrize("question", QUESTIONS, ids=NAMES)
def test_a_question_without_rows_is_no_error(question: Question, empty: duckdb.DuckDBPyConnection) -> None:
    rows = empty.execute(f"SELECT * FROM {question.call}").fetchall()
    assert bool(rows) == (question.name == "soak_rules")  # rules stand in the question itself


def test_at_least_forty_questions_are_documented_and_each_row_of_the_rest_has_its_columns() -> None:
    assert len([one for one in QUESTIONS if one.summary and one.columns]) == len(QUESTIONS) >= 40


def test_a_header_that_lies_is_told_column_by_column(empty: duckdb.DuckDBPyConnection) -> None:
    lying = parse_question("loads.sql", "-- One row a load.\n--\n-- load  VARCHAR  The load.\nSELECT 1")
    assert check_header(empty, lying)[0] == "loads.sql says ('load', 'VARCHAR'), the view has ('load_id', 'VARCHAR')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "x.sql: the header needs a sentence on what one row is, and the columns"),
        ("-- One row.\n--\n-- no column\nSELECT 1", "x.sql: this is no column line .name, TYPE, meaning.: 'no column'"),
        ("-- One row.\n--\n-- a  BIGINT  It.\n", "x.sql: there is no SELECT below the header"),
    ],
    ids=["no header", "no column", "no SELECT"],
)
def test_a_question_without_its_header_is_refused(text: str, message: str) -> None:
    with pytest.raises(QuestionError, match=message):
        parse_question("x.sql", text)


def test_sql_that_does_not_run_names_its_file(empty: duckdb.DuckDBPyConnection) -> None:
    broken = parse_question("broken.sql", "-- One row.\n--\n-- a  BIGINT  It.\nSELECT nothing FROM load")
    with pytest.raises(QuestionError, match=r"^broken\.sql: .*nothing"):
        install(empty, [broken])


def test_all_that_a_question_reads_is_found_in_its_sql(empty: duckdb.DuckDBPyConnection) -> None:
    known = mentions(QUESTIONS)
    missed = {}
    for one in QUESTIONS:
        row = empty.execute("SELECT json_serialize_sql(?)", [one.sql]).fetchone()
        assert row is not None
        read = {node["table_name"] for node in tree_nodes(json.loads(row[0])) if node.get("type") == "BASE_TABLE"}
        missed[one.name] = (read & set(NAMES)) - {one.name, *known[one.name]}
    assert {name: found for name, found in missed.items() if found} == {}


def test_each_question_is_worked_out_after_those_that_it_reads() -> None:
    places = {one.name: place for place, one in enumerate(in_order(QUESTIONS))}
    late = [
        (name, other) for name, read in mentions(QUESTIONS).items() for other in read if places[other] > places[name]
    ]
    assert late == []
