"""No question brings facts of one load beside those of another: joins of owned rows are on the load, process or line.

Each question is parsed by DuckDB. Wherever two relations are joined that both have an owner (a `load_id`, or a
`process_id`), the join must say that the owner is the same, or name the very line; what does not, and why it may, is
listed below.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pytest

from forensics.question import Question, load_questions, parse_question
from forensics.schema import TABLES

KEYS = {"load_id", "process_id", "line_id", "ordinal"}
"""What an owned row is known by, its line's place among all lines included: an equality of one keeps facts together."""


def is_key(name: str) -> bool:
    """Whether a column is a key: one of those above, or a line by the part that it plays, such as `begun_line`."""
    return name in KEYS or name.endswith("_line")


JUSTIFIED: dict[tuple[str, str], str] = {
    ("arguments_of_load", "named beside load_began"): (
        "The port that a list of arguments names is the child's own; host, boot and unit are held equal beside it."
    ),
    ("crash_host", "failing + process beside host"): (
        "Kernel and service manager know no load: what is joined by time alone is only shown where nobody "
        "owns it, and the column `how` says so."
    ),
    ("crash_next", "one + process beside after"): (
        "It is about two loads, the one that failed and the next of its unit."
    ),
    ("load_overlaps", "one beside other"): ("It is about pairs of loads; each column says whose it is."),
    ("load_starts", "placed beside before"): ("It is about a load and the one before it in its domain."),
    ("load_starts", "follows beside after"): ("It is about a load and the one after it in its domain."),
    ("load_starts", "follows + after beside other"): ("It is about a load and those that had gone when it began."),
    ("load_starts", "follows beside other"): ("It is about a load and those that had gone when it began."),
    ("load_times", "said beside starts"): (
        "a supervisor's lines and access lines name no load; the time that it prints is of the load that it "
        "began last, and a line that a load owns keeps that owner."
    ),
    ("soak_turns", "printed beside logged"): (
        "A client's turn is of no load; what it printed and what it logged of a turn are one, by all their figures."
    ),
    ("speculation", "pieces + line beside before"): ("The line before a listed argument is the name of that argument."),
    ("swap_askers", "swap_runs + load beside requests"): (
        "a supervisor's lines and access lines name no load; a request that was being served when a load "
        "began may have asked for it, which `how` calls `covers`."
    ),
    ("swap_loads", "members + load beside requests"): (
        "a supervisor's lines and access lines name no load; those that no load owns are only counted."
    ),
    ("swap_reasons", "swap_runs + load_starts + before beside lines"): (
        "a supervisor's lines and access lines name no load; what it says between two loads of its domain is "
        "shown as said between them."
    ),
    ("validity_gates", "requests beside embedders"): (
        "It is about whether another load of the host was there meanwhile."
    ),
}
"""Joins of owned rows by something else, with the reason why each may be."""


@dataclass
class Relation:
    """What stands after FROM: its columns, and the names they can be told apart by."""

    name: str
    columns: set[str]

    @property
    def owned(self) -> set[str]:
        """Its columns that say who owns a row."""
        return self.columns & {"load_id", "process_id"}


@dataclass
class Scope:
    """The relations that a query can name, and what was found wrong in it."""

    known: dict[str, set[str]]
    faults: list[str] = field(default_factory=list)


def faults_of(question: Question, known: dict[str, set[str]]) -> list[str]:
    """Joins of owned relations that do not say that the owner is the same."""
    text = duckdb.connect().execute("SELECT json_serialize_sql(?)", [question.sql]).fetchall()[0][0]
    tree = json.loads(text)
    assert not tree["error"], (question.name, tree.get("error_message"))
    scope = Scope(known)
    for statement in tree["statements"]:
        columns_of(statement["node"], scope)
    return scope.faults


def columns_of(node: dict[str, Any], outer: Scope) -> set[str]:
    """The columns that a query gives; its joins are looked at on the way."""
    scope = Scope(dict(outer.known), outer.faults)
    for entry in node["cte_map"]["map"]:
        value = entry["value"]
        inner = value.get("query_node") or value["query"]["node"]
        scope.known[entry["key"].lower()] = set(value.get("aliases", ())) or columns_of(inner, scope)
        if inner["type"] == "RECURSIVE_CTE_NODE":
            scope.known[entry["key"].lower()] = columns_of(inner, scope)
    if node["type"] in {"SET_OPERATION_NODE", "RECURSIVE_CTE_NODE"}:
        parts = node.get("children") or [node["left"], node["right"]]
        if node["type"] == "RECURSIVE_CTE_NODE":
            parts = [node["left"], node["right"]]
            scope.known[node["cte_name"].lower()] = columns_of(parts[0], scope)
        return set().union(*(columns_of(part, scope) for part in parts))
    relations = relations_of(node["from_table"], node.get("where_clause"), scope)
    for expression in (*node["select_list"], node.get("where_clause"), node.get("having"), node.get("qualify")):
        for inner in subqueries(expression):
            columns_of(inner, scope)
    return set(selected(node["select_list"], relations))


def selected(select_list: list[dict[str, Any]], relations: list[Relation]) -> Iterator[str]:
    for one in select_list:
        if one["class"] == "STAR":
            left_out = {str(name).lower() for name in one["exclude_list"]}
            for relation in relations:
                if not one["relation_name"] or one["relation_name"].lower() == relation.name:
                    yield from relation.columns - left_out
        elif one["alias"]:
            yield one["alias"].lower()
        elif one["class"] == "COLUMN_REF":
            yield one["column_names"][-1].lower()


def subqueries(expression: Any) -> Iterator[dict[str, Any]]:
    """Queries inside an expression, outermost first."""
    if isinstance(expression, dict):
        if expression.get("class") == "SUBQUERY":
            yield expression["subquery"]["node"]
        else:
            for value in expression.values():
                yield from subqueries(value)
    elif isinstance(expression, list):
        for value in expression:
            yield from subqueries(value)


def relations_of(table: dict[str, Any], where: Any, scope: Scope) -> list[Relation]:
    kind = table["type"]
    if kind == "JOIN":
        left = relations_of(table["left"], where, scope)
        right = relations_of(table["right"], where, scope)
        conditions = [table["condition"], where] if table["ref_type"] == "CROSS" else [table["condition"]]
        same = {one for one in table["using_columns"] if is_key(one.lower())}
        together = bool(same) or any(equal_key(left, right, one) for one in conditions)
        mine, theirs = (set().union(*(one.owned for one in side)) for side in (left, right))
        if mine and theirs and not together:
            names = (" + ".join(one.name for one in side) for side in (left, right))
            scope.faults.append(" beside ".join(names))
        return [*left, *right]
    alias = table["alias"].lower()
    if kind == "BASE_TABLE":
        name = table["table_name"].lower()
        return [Relation(alias or name, scope.known.get(name, set()))]
    if kind == "TABLE_FUNCTION":
        name = table["function"]["function_name"].lower()
        return [Relation(alias or name, scope.known.get(name, set()))]
    if kind == "SUBQUERY":
        return [Relation(alias, columns_of(table["subquery"]["node"], scope))]
    return []


def equal_key(left: list[Relation], right: list[Relation], condition: Any) -> bool:
    """Whether a condition says that an owner, or a line, of the one side is that of the other."""
    if not isinstance(condition, dict):
        return False
    if condition["type"] == "CONJUNCTION_AND":
        return any(equal_key(left, right, one) for one in condition["children"])
    if condition["type"] not in {"COMPARE_EQUAL", "COMPARE_NOT_DISTINCT_FROM"}:
        return False
    of_left, of_right = ({one.name for one in side} for side in (left, right))
    if any(one.get("function_name") in {"+", "-", "*", "/"} for one in (condition["left"], condition["right"])):
        return False  # the line before a line is another line
    found = [set(references(condition["left"])), set(references(condition["right"]))]
    return any(
        any(is_key(name) and whose in {None, *mine} for whose, name in one)
        and any(whose in {None, *theirs} for whose, _ in other)
        for one, other in (found, found[::-1])
        for mine, theirs in ((of_left, of_right), (of_right, of_left))
    )


def references(expression: Any) -> Iterator[tuple[str | None, str]]:
    """Columns that an expression names, each with its relation if that is said."""
    if isinstance(expression, dict):
        if expression.get("class") == "COLUMN_REF":
            names = [name.lower() for name in expression["column_names"]]
            yield (names[-2] if len(names) > 1 else None), names[-1]
        for value in expression.values():
            yield from references(value)
    elif isinstance(expression, list):
        for value in expression:
            yield from references(value)


QUESTIONS = load_questions()
KNOWN = {
    **{name: {column.name for column in columns} for name, (_, columns) in TABLES.items()},
    **{one.name: {name for name, _, _ in one.columns} for one in QUESTIONS},
}


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.name for one in QUESTIONS])
def test_owned_rows_are_joined_by_their_owner(question: Question) -> None:
    faults = set(faults_of(question, KNOWN))
    assert faults == {fault for name, fault in JUSTIFIED if name == question.name}


def test_each_exception_says_why() -> None:
    assert {name for name, _ in JUSTIFIED} <= {one.name for one in QUESTIONS}
    assert all(len(reason) > 40 for reason in JUSTIFIED.values())


@pytest.mark.parametrize(
    ("sql", "faults"),
    [
        pytest.param("SELECT * FROM draft_accepted JOIN load USING (load_id)", [], id="on the load"),
        pytest.param("SELECT * FROM draft_accepted AS a JOIN load AS b ON a.load_id = b.load_id", [], id="spelled out"),
        pytest.param("SELECT * FROM device JOIN load USING (process_id)", [], id="on the process"),
        pytest.param("SELECT * FROM load JOIN line ON line.line_id = load.begun_line", [], id="on a line"),
        pytest.param("SELECT * FROM load, line WHERE load.load_id = line.load_id", [], id="in WHERE"),
        pytest.param("SELECT * FROM measure JOIN card USING (card_id)", [], id="a card has no owner"),
        pytest.param(
            "SELECT * FROM draft_accepted AS a JOIN load AS b ON a.time_us BETWEEN b.begun_us AND b.ended_us",
            ["a beside b"],
            id="by a window of time",
        ),
        pytest.param("SELECT * FROM draft_accepted, load", ["draft_accepted beside load"], id="not at all"),
        pytest.param(
            "WITH a AS (SELECT load_id FROM item), b AS (SELECT * FROM item) SELECT * FROM a JOIN b USING (part)",
            ["a beside b"],
            id="in steps",
        ),
        pytest.param(
            "SELECT (SELECT max(x) FROM (SELECT * FROM item AS a CROSS JOIN line AS b) AS c) FROM load",
            ["a beside b"],
            id="in a subquery",
        ),
        pytest.param(
            "SELECT * FROM item AS a JOIN item AS b ON a.load_id = a.load_id", ["a beside b"], id="with itself"
        ),
        pytest.param(
            "SELECT * FROM item AS a JOIN item AS b ON a.load_id = b.load_id OR a.part = b.part",
            ["a beside b"],
            id="or by something else",
        ),
        pytest.param(
            "SELECT * FROM item AS a JOIN line AS b ON a.line_id = split_part(b.text, ' ', 1)",
            [],
            id="in a list of lines",
        ),
        pytest.param(
            "SELECT * FROM line AS a JOIN line AS b ON a.ordinal = b.ordinal - 1", ["a beside b"], id="the line before"
        ),
    ],
)
def test_a_join_by_anything_else_is_found(sql: str, faults: list[str]) -> None:
    question = parse_question("x.sql", f"-- One row.\n--\n-- a  BIGINT  It.\n{sql}")
    assert faults_of(question, KNOWN) == faults
