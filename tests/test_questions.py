"""Every documented question installs, and its header tells the columns that its view has."""

from __future__ import annotations

import duckdb
import pytest

from forensics.question import Question, check_header, install, load_questions
from forensics.schema import ddl

QUESTIONS = load_questions()


@pytest.fixture(scope="module")
def empty_case() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(ddl())
    install(connection, QUESTIONS)
    return connection


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.name for one in QUESTIONS])
def test_the_header_of_a_question_tells_its_columns(empty_case: duckdb.DuckDBPyConnection, question: Question) -> None:
    assert check_header(empty_case, question) == []
