"""A question's rows depend on what its tables hold alone: not on the order in which they hold it, nor on threads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import duckdb
import pytest

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.query import tree_nodes
from forensics.question import Question, install, load_questions
from forensics.schema import TABLES

QUESTIONS = load_questions()
FIXTURES = Path(__file__).parents[1] / "fixtures"
CHOSEN = (
    "incident-vram-gap",  # in one case: loads, cards and holders of several boxes beside each other
    "kv-third-card-missing",
    "llama-f16-draft",
    "llama-fit-beside-other",
    "llama-forged-lines",
    "llama-jsonl-log",
    "llama-killed-then-reloaded",
    "llama-mtp-vision-two-cards",
    "llama-no-prefix-debug",
    "llama-oom",
    "llama-router-ping-pong",
    "llama-sleep-idle-plain",
    "llama-window-cache",
    "probes-that-disagree",
    "relayed-runners",
    "soak-against-bench",
    "spec-refutation-router",
    "swaps-changing-options",
    "swaps-crash-loop",
    "swaps-six-lines",
    "untagged-interleaved-loads",
    "values",
    "vllm-debug-level",
    "vllm-draft-model",
    "vllm-kv-too-small",
    "vllm-sleep-mode",
    "vllm-two-cards",
)
ROWLESS = set(
    "answers block_tables clock_changes foreign_effects format_drift ledger_faults soak_cards speculation_forecast "
    "unread_templates".split()
)
"""What none of these has."""

TIES = (
    # Clocks that print whole seconds, ...
    *(
        f'UPDATE "{name}" SET ' + ", ".join(f'"{one}" = "{one}" // 1000000 * 1000000' for one in times)
        for name, (_, columns) in TABLES.items()
        if (times := [one.name for one in columns if one.name.endswith("_us")])
    ),
    # ... cards that two recorders sample, and one of them twice at once, ...
    *(
        f"""
        INSERT INTO {name}
        SELECT * REPLACE (line_id || 'x' AS line_id, "offset" + 1 AS "offset", used_bytes + 1048576 AS used_bytes)
        FROM {name};
        INSERT INTO {name}
        SELECT * REPLACE (line_id || 'y' AS line_id, source_id || 'y' AS source_id, used_bytes + 2097152 AS used_bytes)
        FROM {name}
        """
        for name in ("card_sample", "holder_sample")
    ),
    # ... which name a process otherwise; two processes of a load on one card, ...
    """
    UPDATE holder_sample SET name = name || 'y' WHERE ends_with(line_id, 'y');
    INSERT INTO holder_sample
    SELECT * REPLACE (line_id || 'z' AS line_id, pid + 100000 AS pid, used_bytes // 2 AS used_bytes) FROM holder_sample
    """,
    # ... two names of a device, and lines with several amounts, ...
    """
    INSERT INTO device
    SELECT * REPLACE (logged || '+' AS logged, joined_by || '+' AS joined_by, pci_bus_id || '+' AS pci_bus_id)
    FROM device;
    INSERT INTO item SELECT * REPLACE ('draft' AS part, size_bytes + 1 AS size_bytes) FROM item;
    INSERT INTO item SELECT * REPLACE (logged || '+' AS logged) FROM item
    """,
    # ... pools of ranks that are as large, ...
    """
    UPDATE pool_sized
    SET tokens = tokens // 100000 * 100000, budget_bytes = budget_bytes // 1000000000 * 1000000000, concurrency = 1
    """,
    # ... and times and problems that are told twice.
    """
    INSERT INTO request_timed SELECT * REPLACE (ordinal + 1000000 AS ordinal, tokens + 1 AS tokens) FROM request_timed;
    INSERT INTO problem SELECT * REPLACE (remedy || '+' AS remedy) FROM problem
    """,
)


@pytest.fixture(scope="module", params=["as recorded", "with ties"])
def case(request: pytest.FixtureRequest) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
        store(read_evidence([FIXTURES / name for name in CHOSEN], load_catalogue(()), tz_us=0), connection)
        for statement in TIES if request.param == "with ties" else ():
            connection.execute(statement)
        install(connection, QUESTIONS, tables=True)
        yield connection


def asked_with(connection: duckdb.DuckDBPyConnection, question: Question) -> list[str]:
    """What to select from for a question's rows; a macro is asked of some moments, loads and lines."""
    if question.parameters is None:
        return [f"({question.sql})"]
    kind = question.parameters[0][1]
    if kind == "VARCHAR":
        sql = "(SELECT load_id FROM configuration LIMIT 3) UNION ALL (SELECT line_id FROM holder_sample LIMIT 2)"
        return [f"{question.name}('{name}')" for (name,) in connection.execute(sql).fetchall()]
    sql = "SELECT DISTINCT at_us FROM holder_sample ORDER BY at_us"
    found = connection.execute(sql).fetchall()[::120]
    moments = [str(at) if kind == "BIGINT" else f"make_timestamptz({at})" for (at,) in found]
    return [f"{question.name}({', '.join([*moments[: len(question.parameters) - 1], at])})" for at in moments]


def answers(connection: duckdb.DuckDBPyConnection, asked: dict[str, list[str]]) -> dict[str, list[str]]:
    """The rows of each question, in their order if it promises one."""
    found: dict[str, list[str]] = {}
    for one in QUESTIONS:
        rows = [repr(row) for call in asked[one.name] for row in connection.execute(f"FROM {call}").fetchall()]
        found[one.name] = rows if "\nORDER BY" in one.sql else sorted(rows)
    return found


def test_rows_depend_neither_on_the_order_of_the_rows_that_they_are_made_of_nor_on_threads(
    case: duckdb.DuckDBPyConnection,
) -> None:
    asked = {one.name: asked_with(case, one) for one in QUESTIONS}
    told = answers(case, asked)
    tables = [*TABLES, *(one.name for one in QUESTIONS if one.stored)]
    for seed, threads in ((1, 1), (2, 4)):
        # Each question by itself: what it builds on is as it was, in another order.
        case.execute(f"SET threads = {threads}; ATTACH ':memory:' AS shuffled; USE shuffled")
        for name in tables:
            case.execute(f'CREATE TABLE "{name}" AS FROM memory."{name}" ORDER BY hash(rowid, {seed})')
        install(case, [one for one in QUESTIONS if not one.stored])
        again = answers(case, asked)
        case.execute("USE memory; DETACH shuffled; SET threads = 1")
        other = {
            name: next(pair for pair in zip_longest(told[name], again[name]) if pair[0] != pair[1])
            for name in told
            if told[name] != again[name]
        }
        assert other == {}, (seed, threads)
    assert {name for name, rows in told.items() if not rows} <= ROWLESS


def test_doubles_are_added_up_in_the_order_that_is_asked_for() -> None:
    sql = """
        SELECT sum(x ORDER BY place), sum(x ORDER BY place DESC), avg(x ORDER BY place), avg(x ORDER BY place DESC)
        FROM (VALUES (1, 1e16), (2, -1e16), (3, 1.0)) AS told (place, x)
    """
    assert duckdb.execute(sql).fetchall() == [(1.0, 0.0, 1 / 3, 0.0)]


ORDERED = {"array_agg", "first", "group_concat", "last", "list", "stddev", "stddev_samp", "string_agg"}
"""Aggregates whose value is another in another order."""


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.name for one in QUESTIONS])
def test_what_is_put_together_has_an_order(question: Question) -> None:
    (tree,) = duckdb.execute("SELECT json_serialize_sql(?)", [question.sql]).fetchone() or ("",)
    used = [one for one in tree_nodes(json.loads(tree)) if one.get("type") == "FUNCTION"]
    loose = [one["function_name"] for one in used if not one["order_bys"]["orders"]]
    assert ORDERED.isdisjoint(loose)
