"""Load the documented questions of queries/, check their headers, install them as views and macros with comments."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import duckdb

from .errors import QuestionError

__all__ = [
    "Asked",
    "Question",
    "check_header",
    "create_stored",
    "fill_stored",
    "in_order",
    "install",
    "load_questions",
    "mentions",
    "parse_question",
    "questions_digest",
]


@dataclass(frozen=True)
class Question:
    """One documented SQL file: the view's name is the file's."""

    name: str
    summary: str
    caveats: str
    columns: tuple[tuple[str, str, str], ...]
    sql: str
    source: str = ""
    """The file as it is."""
    parameters: tuple[tuple[str, str], ...] | None = None
    """Names and types of what a macro is asked with; None for a view."""
    stored: bool = False
    """Whether its rows are worked out once and kept, instead of whenever it is asked."""

    @property
    def call(self) -> str:
        """What stands after FROM to see its columns."""
        if self.parameters is None:
            return f'"{self.name}"'
        return f'"{self.name}"({", ".join(f"NULL::{kind}" for _, kind in self.parameters)})'

    def sorted_rows(self) -> tuple[str, str | None]:
        """Its SQL without the order, and the order: none to take apart where that needs more than its columns."""
        rows, _, order = self.sql.rpartition("\nORDER BY ")
        words = {*re.findall(r"[\w.]+", order)} - {"ASC", "DESC", "NULLS", "FIRST", "LAST"}
        if not rows or not words <= {name for name, _, _ in self.columns}:
            return self.sql, None
        return rows, order

    @property
    def signature(self) -> str:
        """Its name, for a macro with its parameters."""
        if self.parameters is None:
            return self.name
        return f"{self.name}({', '.join(f'{name} {kind}' for name, kind in self.parameters)})"


def load_questions() -> list[Question]:
    """All installed questions, by name."""
    folder = files("forensics.queries")
    found = [(one.name, one.read_text("utf-8")) for one in folder.iterdir() if one.name.endswith(".sql")]
    return [parse_question(name, text) for name, text in sorted(found)]


def parse_question(file: str, text: str) -> Question:
    """Read a question file: a sentence on what one row is, caveats, the columns, then one SELECT.

    A file whose header opens with `macro (name TYPE, …)` is a macro: a question that must be told a moment or an id.
    One that opens with `stored` is a view whose rows are worked out once and kept: others build on it, or it is slow.

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
    parameters = _parameters(file, paragraphs.pop(0)) if paragraphs and paragraphs[0].startswith("macro") else None
    stored = paragraphs[:1] == ["stored"]
    if stored:
        paragraphs.pop(0)
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
        source=text,
        parameters=parameters,
        stored=stored,
    )


def questions_digest(questions: Iterable[Question]) -> str:
    """What tells whether stored rows are the answers of these questions."""
    texts = "\0".join(f"{one.name}\0{one.sql}" for one in questions)
    return hashlib.sha256(texts.encode()).hexdigest()


def _parameters(file: str, text: str) -> tuple[tuple[str, str], ...]:
    found = re.fullmatch(r"macro \((.*)\)", text)
    pairs = [] if found is None else [one.split() for one in found[1].split(",")]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise QuestionError(f"{file}: a macro begins with its parameters, as in: macro (asked_us BIGINT)")
    return tuple((name, kind) for name, kind in pairs)


def install(
    connection: duckdb.DuckDBPyConnection,
    questions: Iterable[Question],
    *,
    comments: bool = False,
    tables: bool = False,
) -> None:
    """Create the views and macros, in an order in which each finds those that it mentions.

    Args:
        connection: A case.
        questions: What to install.
        comments: Whether to keep what they mean beside them, for whoever opens the database with another program.
        tables: Whether to work out the rows of stored questions now: their views are tables then.

    Raises:
        QuestionError: A question's SQL does not run, or its header and its columns differ.
    """
    waiting = in_order(list(questions))
    while waiting:
        failed: list[tuple[Question, str]] = []
        for question in waiting:
            try:
                connection.execute(_definition(question, tables=tables))
                if comments:
                    connection.execute(_comments(question))
            except duckdb.CatalogException as error:
                failed.append((question, str(error)))
            except duckdb.Error as error:
                raise QuestionError(f"{question.name}.sql: {error}") from error
        if len(failed) == len(waiting):
            question, reason = failed[0]
            raise QuestionError(f"{question.name}.sql: {reason}")
        waiting = [question for question, _ in failed]


def in_order(questions: Sequence[Question]) -> list[Question]:
    """Questions after those that they read; a step may have the name of a question, so this is only a good guess."""
    known = mentions(questions)
    by_name = {one.name: one for one in questions}
    found: dict[str, Question] = {}
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name in begun:
            return
        begun.add(name)
        for other in known[name]:
            visit(other)
        found[name] = by_name[name]

    for name in known:
        visit(name)
    return list(found.values())


def mentions(questions: Sequence[Question]) -> dict[str, list[str]]:
    """For each question, the others that it reads."""
    names = {one.name for one in questions}
    return {one.name: sorted(_read_by(one) & names - {one.name}) for one in questions}


def _read_by(question: Question) -> set[str]:
    """Names of what a question reads, its own steps among them."""
    return set(re.findall(r'\b(?:FROM|JOIN)\s+"?(\w+)', question.sql))


def create_stored(connection: duckdb.DuckDBPyConnection, questions: Iterable[Question], *, comments: bool) -> None:
    """Create the tables of stored questions, without rows."""
    for one in questions:
        if one.stored:
            inside = ", ".join(f'"{name}" {kind}' for name, kind, _ in one.columns)
            connection.execute(f'CREATE TABLE "{one.name}" ({inside})')
            if comments:
                connection.execute(_comments(one, stored=True))


MANY_LINES = 300_000
"""From so many lines on, rows are worked out first and sorted then: at once, DuckDB (2.0) holds both and runs out."""


def fill_stored(
    connection: duckdb.DuckDBPyConnection, questions: Sequence[Question], *, many_lines: int = MANY_LINES
) -> None:
    """Work out the rows of stored questions, each after those that it builds on.

    Where the memory that the connection may hold does not do, it may hold as much as the machine has: a log in which
    one request has ten thousand lines takes more than most of its size, and is no reason to make no case of it.

    Args:
        connection: A case in a transaction: of many lines, what is worked out is committed as it goes on.
        questions: All of them.
        many_lines: From so many lines on, room is saved.

    Raises:
        QuestionError: A question's SQL does not run.
    """
    (lines,) = connection.execute("SELECT count(*) FROM line").fetchone() or (0,)
    many = lines >= many_lines
    waiting = [one for one in in_order(questions) if one.stored]
    try:
        _fill(connection, waiting, many)
    except duckdb.OutOfMemoryException:
        connection.execute("ROLLBACK; RESET memory_limit; BEGIN")
        _fill(connection, waiting, many)


def _fill(connection: duckdb.DuckDBPyConnection, waiting: list[Question], many: bool) -> None:
    """Fill the tables of some questions, in order; those that are committed are taken off the list."""
    for one in list(waiting):
        rows, order = one.sorted_rows() if many else (one.sql, None)
        try:
            if order is None:
                connection.execute(f'INSERT INTO "{one.name}" {rows}')
            else:
                connection.execute(f"CREATE TEMP TABLE unsorted AS {rows}")
                connection.execute(f'INSERT INTO "{one.name}" FROM unsorted ORDER BY {order}')
                connection.execute("DROP TABLE unsorted")
            if many:
                connection.execute("COMMIT; BEGIN")  # or all inserted rows stay in memory
                waiting.remove(one)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise QuestionError(f"{one.name}.sql: {error}") from error


class Asked:
    """A connection that installs each question when it is first named: all of them take longer than most answers.

    Everything else is the connection's own.

    Args:
        connection: A case.
        questions: What can be asked.
        kept: Where a case file holds the rows of its stored questions, as a name before theirs; they are worked out
            if there is none.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, questions: Sequence[Question], kept: str | None = None
    ) -> None:
        self._connection = connection
        self._questions = questions
        self._waiting = {one.name: one for one in questions}
        self._mentions = mentions(questions)
        self._kept = kept
        self._stale: frozenset[str] = frozenset()

    def execute(self, query: str, parameters: object = None) -> duckdb.DuckDBPyConnection:
        """Install what the query names, and run it."""
        self.prepare(query)
        return self._connection.execute(query, parameters)

    def prepare(self, text: str) -> None:
        """Install what a text names, and what that names in turn; all where it asks what there is."""
        if not self._waiting:
            return
        if re.search(r"\b(show|duckdb_\w+|information_schema)\b", text, re.IGNORECASE):
            names = list(self._waiting)
        else:
            words = set(re.findall(r"\w+", text.lower()))
            names = [name for name in self._waiting if name in words]
        found: dict[str, Question] = {}
        while names:
            name = names.pop()
            if name in self._waiting:
                found[name] = self._waiting.pop(name)
                if not self._is_kept(found[name]):
                    names.extend(self._mentions[name])
        if found:
            install(self._connection, [self._as_kept(one) for one in found.values()], tables=True)

    def changed(self, table: str) -> None:
        """Forget what was worked out from a table that has other rows now."""
        stale = _building_on(frozenset({table}), self._questions)
        for one in self._questions:
            if one.name in stale and one.name not in self._waiting:
                if one.parameters is None:
                    kind = "TABLE" if one.stored and not self._is_kept(one) else "VIEW"
                    self._connection.execute(f'DROP {kind} "{one.name}"')
                self._waiting[one.name] = one
        self._stale |= stale

    def _is_kept(self, question: Question) -> bool:
        return question.stored and self._kept is not None and question.name not in self._stale

    def _as_kept(self, question: Question) -> Question:
        if not self._is_kept(question):
            return question
        return replace(question, sql=f'FROM {self._kept}."{question.name}"', stored=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _building_on(tables: frozenset[str], questions: Sequence[Question]) -> frozenset[str]:
    """Questions whose rows depend on some tables, directly or by others."""
    read = {one.name: _read_by(one) for one in questions}
    found: set[str] = set()
    while more := {name for name, inside in read.items() if name not in found and inside & (tables | found)}:
        found |= more
    return frozenset(found)


def _definition(question: Question, *, tables: bool = False) -> str:
    if question.stored and tables:
        return f'CREATE TABLE "{question.name}" AS {question.sql}'
    if question.parameters is None:
        return f'CREATE OR REPLACE VIEW "{question.name}" AS {question.sql}'
    # Without their types: a parameter that has one takes no text where it wants a time.
    inside = ", ".join(name for name, _ in question.parameters)
    return f'CREATE OR REPLACE MACRO "{question.name}"({inside}) AS TABLE {question.sql}'


def _comments(question: Question, *, stored: bool = False) -> str:
    about = f"{question.summary} {question.caveats}".strip()
    if question.parameters is not None:
        return f'COMMENT ON MACRO TABLE "{question.name}" IS {_quoted(about)}'
    return ";".join(
        [
            f'COMMENT ON {"TABLE" if question.stored and stored else "VIEW"} "{question.name}" IS {_quoted(about)}',
            *(f'COMMENT ON COLUMN "{question.name}"."{name}" IS {_quoted(what)}' for name, _, what in question.columns),
        ]
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def check_header(connection: duckdb.DuckDBPyConnection, question: Question) -> list[str]:
    """Differences between what a header says and what the view has: empty if it tells the truth."""
    actual = [(str(row[0]), str(row[1])) for row in connection.execute(f"DESCRIBE FROM {question.call}").fetchall()]
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
