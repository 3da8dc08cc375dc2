"""Load the documented questions of queries/, check their headers, and install them as views with comments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

import duckdb

from .errors import QuestionError

__all__ = ["Question", "install", "load_questions", "parse_question"]


@dataclass(frozen=True)
class Question:
    """One documented SQL file: the view's name is the file's."""

    name: str
    summary: str
    caveats: str
    columns: tuple[tuple[str, str, str], ...]
    sql: str


def load_questions() -> list[Question]:
    """All installed questions, by name."""
    folder = files("forensics.queries")
    found = [(one.name, one.read_text("utf-8")) for one in folder.iterdir() if one.name.endswith(".sql")]
    return [parse_question(name, text) for name, text in sorted(found)]


def parse_question(file: str, text: str) -> Question:
    """Read a question file: a sentence on what one row is, caveats, the columns, then one SELECT.

    Raises:
        QuestionError: The header is missing a part; the message names the file.
    """
    header: list[str] = []
    body: list[str] = []
    for line in text.splitlines():
        if not body and line.startswith("--"):
            header.append(line[2:].strip())
        elif body or line.strip():
            body.append(line)
    paragraphs = [part.strip() for part in "\n".join(header).split("\n\n") if part.strip()]
    if len(paragraphs) < 2:
        raise QuestionError(f"{file}: the header needs a sentence on what one row is, and the columns")
    columns: list[tuple[str, str, str]] = []
    for line in paragraphs[-1].split("\n"):
        found = re.match(r"(\w+)\s+([A-Z]+(?:\[\])?)\s+(\S.*)$", line)
        if found is None:
            raise QuestionError(f"{file}: this is no column line (name, TYPE, meaning): {line!r}")
        columns.append((found[1], found[2], found[3]))
    if not body:
        raise QuestionError(f"{file}: there is no SELECT below the header")
    return Question(
        name=file.removesuffix(".sql"),
        summary=" ".join(paragraphs[0].split()),
        caveats=" ".join(" ".join(paragraphs[1:-1]).split()),
        columns=tuple(columns),
        sql="\n".join(body).strip().rstrip(";"),
    )


def install(connection: duckdb.DuckDBPyConnection, questions: Iterable[Question]) -> None:
    """Create the views, in an order in which each finds the views that it mentions.

    Raises:
        QuestionError: A question's SQL does not run, or its header and its columns differ.
    """
    waiting = list(questions)
    while waiting:
        failed: list[tuple[Question, str]] = []
        for question in waiting:
            try:
                connection.execute(f'CREATE OR REPLACE VIEW "{question.name}" AS {question.sql}')
            except duckdb.CatalogException as error:
                failed.append((question, str(error)))
                continue
            except duckdb.Error as error:
                raise QuestionError(f"{question.name}.sql: {error}") from error
            _comment(connection, question)
        if len(failed) == len(waiting):
            question, reason = failed[0]
            raise QuestionError(f"{question.name}.sql: {reason}")
        waiting = [question for question, _ in failed]


def _comment(connection: duckdb.DuckDBPyConnection, question: Question) -> None:
    about = f"{question.summary} {question.caveats}".strip().replace("'", "''")
    connection.execute(f"COMMENT ON VIEW \"{question.name}\" IS '{about}'")


def check_header(connection: duckdb.DuckDBPyConnection, question: Question) -> list[str]:
    """Differences between what a header says and what the view has: empty if it tells the truth."""
    actual = [(str(row[0]), str(row[1])) for row in connection.execute(f'DESCRIBE "{question.name}"').fetchall()]
    said = [(name, kind) for name, kind, _ in question.columns]
    return [f"{question.name}.sql says {one}, the view has {two}" for one, two in _pairs(said, actual) if one != two]


def _pairs(
    said: list[tuple[str, str]], actual: list[tuple[str, str]]
) -> list[tuple[tuple[str, str] | None, tuple[str, str] | None]]:
    longest = max(len(said), len(actual))
    return [
        (said[index] if index < len(said) else None, actual[index] if index < len(actual) else None)
        for index in range(longest)
    ]
