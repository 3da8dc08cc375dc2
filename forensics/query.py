"""Run one question of a user's own on a case, read-only and locked down: no files, no network, no end of time or rows.

Four locks, each of which would hold alone against most of what a query could try: DuckDB has no access to anything
outside and its settings are locked; the statement must be one SELECT that names only tables, views and functions that
read; it runs in a read-only transaction; and time, rows and memory are bounded.
"""

from __future__ import annotations

import json
import re
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from .errors import QuestionError
from .opened import Opened
from .question import Question

__all__ = ["Limits", "Result", "bounded_memory", "lock", "run_query", "tree_nodes"]

ROOM = 512 << 20
ROW = 2 << 10
"""Bytes beside what a query may take: threads, and each row as Python's objects."""

SYSTEM = ("duckdb_", "pg_", "pragma_")
"""How DuckDB's views of itself begin: some tell of files and settings, as the functions of their names do."""

READS = frozenset(
    "duckdb_columns duckdb_functions duckdb_keywords duckdb_schemas duckdb_tables duckdb_types duckdb_views "
    "generate_series histogram histogram_values json_each json_tree pragma_show pragma_table_info range repeat "
    "repeat_row summary test_all_types unnest".split()
)
"""Functions that may stand after FROM, beside the macros of the case: they reach nothing but the case."""

REFUSED = frozenset(
    "currval current_setting getenv getvariable json_execute_serialized_sql json_serialize_plan nextval setseed setval "
    "sleep_ms txid_current write_log".split()
)
"""Functions in expressions that tell about the machine, change something, only wait, or plan a query unseen."""

CASES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""What a statement, and each query in it, may be."""


@dataclass(frozen=True)
class Limits:
    """How much a query may give and take."""

    rows: int = 10_000
    seconds_s: float = 30.0
    memory_bytes: int = 1 << 30


@dataclass(frozen=True)
class Result:
    """Rows with their columns; `more` says that the query has more rows than were asked for."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
    ordered: bool = False
    """Whether the query says in which order its rows come."""

    @property
    def loads(self) -> int:
        """How many loads the rows are about, as far as a column says."""
        if "load_id" not in self.columns:
            return 0
        place = self.columns.index("load_id")
        return len({row[place] for row in self.rows if row[place] is not None})


def lock(connection: duckdb.DuckDBPyConnection, limits: Limits | None = None) -> None:
    """Shut a connection in: nothing outside can be reached from it, and no setting can be changed any more."""
    limits = limits or Limits()
    held = connection.execute("SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory()").fetchall()[0][0]
    for setting in (
        "SET python_enable_replacements = false",  # else FROM name would find Python's variables
        "SET temp_directory = ''",
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET allow_community_extensions = false",
        "SET TimeZone = 'UTC'",
        f"SET memory_limit = '{(int(held) + limits.memory_bytes) >> 20}MiB'",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(setting)


@contextmanager
def bounded_memory(limits: Limits) -> Iterator[None]:
    """Let the process hold no more than a query may take beside what it holds now.

    DuckDB counts tables and groups against its own limit, but not what one value takes while it is made: `range(3e8)`
    or `repeat('x', 1e9)` took gigabytes and a minute. Where the system does not say what is held, nothing is bounded.
    """
    status = Path("/proc/self/status")
    held = re.search(r"^VmData:\s+(\d+) kB", status.read_text() if status.exists() else "", re.MULTILINE)
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    known = [one for one in (before, hard) if one != resource.RLIM_INFINITY]
    if held is None:
        yield
        return
    most = min([int(held[1]) * 1024 + limits.memory_bytes + ROOM + limits.rows * ROW, *known])
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def run_query(opened: Opened, text: str, limits: Limits | None = None) -> Result:
    """Run a question by its name, or one SELECT.

    Args:
        opened: A case whose connection is locked.
        text: Name of a table or view, a macro with what it is asked, or SQL.
        limits: Bounds.

    Raises:
        QuestionError: It is not allowed, not right, or did not end in time.
    """
    limits = limits or Limits()
    if re.fullmatch(r"\s*\w+\s*", text):
        text = f'FROM "{text.strip()}" LIMIT {limits.rows + 1}'  # else all are put in order for the first few
    elif re.match(r"\s*(?!(?:select|values)\b)\w+\s*\(", text, re.IGNORECASE):
        text = f"FROM {text}"  # a macro, with what it is asked
    connection = opened.connection
    ordered = _check(connection, text, opened.questions)
    opened.prepare(text)
    timer = threading.Timer(limits.seconds_s, connection.interrupt)
    timer.start()
    try:
        connection.execute("BEGIN TRANSACTION READ ONLY")
        cursor = connection.execute(text)
        names = tuple(column[0] for column in cursor.description or ())
        types = tuple(str(column[1]) for column in cursor.description or ())
        rows = cursor.fetchmany(limits.rows + 1)
    except duckdb.InterruptException as error:
        raise QuestionError(
            f"the query was stopped after {limits.seconds_s:g} s; ask for less, or --seconds"
        ) from error
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise QuestionError(f"the query needs more than {limits.memory_bytes >> 20} MiB and was stopped") from error
    except duckdb.CatalogException as error:
        raise QuestionError(f"{error}\n`forensics questions` lists what can be asked") from error
    except duckdb.Error as error:
        raise QuestionError(*str(error).split("\n")) from error
    finally:
        timer.cancel()
        timer.join()
        _roll_back(connection)
    return Result(names, types, tuple(rows[: limits.rows]), len(rows) > limits.rows, ordered)


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        return  # there was nothing to end: the query failed before it began


def _check(connection: duckdb.DuckDBPyConnection, text: str, questions: list[Question]) -> bool:
    """Refuse whatever is not one SELECT over tables, views and functions that read.

    Returns:
        Whether it says in which order its rows come.

    Raises:
        QuestionError: It is refused; the message says what for.
    """
    try:
        statements = connection.extract_statements(text)
    except duckdb.Error as error:
        raise QuestionError(*str(error).split("\n")) from error
    if len(statements) != 1:
        raise QuestionError(f"one statement at a time: there are {len(statements)}")
    try:
        kind = statements[0].type.name
    except ValueError:  # DuckDB 2.0 has kinds that its Python client does not know
        kind = "another kind of statement"
    if kind != "SELECT":
        raise QuestionError(f"only SELECT, WITH, FROM, DESCRIBE and SHOW can be asked; this is {kind}")
    try:
        serialized = connection.execute("SELECT json_serialize_sql(?)", [statements[0].query]).fetchall()[0][0]
        tree = json.loads(serialized)
    except (duckdb.Error, RecursionError) as error:
        raise QuestionError(f"the query cannot be checked, so it is not run: {error}") from error
    if tree.get("error"):
        raise QuestionError(f"only queries that read can be asked: {tree.get('error_message')}")
    macros = {one.name.lower() for one in questions if one.parameters is not None}
    for node in tree_nodes(tree["statements"]):
        sort = str(node.get("type", ""))
        name = str(node.get("function_name", "")).lower()
        if sort.endswith("_NODE") and sort not in CASES:
            raise QuestionError(f"only queries that read can be asked; this holds a {sort.removesuffix('_NODE')}")
        if sort == "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", "")).lower()
            if name not in READS and name not in macros:
                raise QuestionError(f"{name}() cannot be asked: it does not read the case")
        elif sort == "BASE_TABLE":
            name = str(node.get("table_name", "")).lower()
            if name.startswith(SYSTEM) and name not in READS:
                raise QuestionError(f"{name} cannot be asked: it does not read the case")
        elif name in REFUSED:
            raise QuestionError(f"{name}() cannot be asked: it does not read the case")
    modifiers = tree["statements"][0]["node"].get("modifiers", ())
    return any(one.get("type") == "ORDER_MODIFIER" for one in modifiers)


def tree_nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All objects of a tree, without recursion: how deep a query nests is its author's choice."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
