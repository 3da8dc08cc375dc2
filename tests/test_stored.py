"""What a case keeps of stored questions is what they answer, and is not used where it may not be."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from forensics.casefile import CASE, attach_case
from forensics.casewrite import _seal
from forensics.ingest import ingest
from forensics.opened import open_case
from forensics.question import fill_stored, install, load_questions

QUESTIONS = load_questions()
RECORDED = Path(__file__).parents[1] / "fixtures" / "llama-mtp-vision-two-cards-plain"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "c.case"
    ingest([str(RECORDED / name) for name in ("server.log", "gpu.csv", "apps.csv")], path)
    return path


def rows(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    return repr(connection.execute(f'FROM "{name}"').fetchall())


def test_what_is_kept_is_what_the_questions_answer(case: Path) -> None:
    with duckdb.connect() as connection:
        assert attach_case(connection, case, QUESTIONS)
        connection.execute("SET TimeZone = 'UTC'")
        install(connection, QUESTIONS)  # as views: nothing of what is kept
        stored = [one.name for one in QUESTIONS if one.stored]
        kept = {name: rows(connection, f'{CASE}"."{name}') for name in stored}
        assert [name for name in stored if kept[name] != rows(connection, name)] == []
        assert sum(found != "[]" for found in kept.values()) > 40


def test_a_large_case_keeps_the_same_rows_though_they_are_sorted_apart(case: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.case"
    again.write_bytes(case.read_bytes())
    stored = [one for one in QUESTIONS if one.stored]
    assert sum(one.sorted_rows()[1] is not None for one in stored) > 30
    with duckdb.connect(again) as connection:
        connection.execute("SET TimeZone = 'UTC'; BEGIN")
        kept = {one.name: rows(connection, one.name) for one in stored}
        for one in stored:
            connection.execute(f'DELETE FROM "{one.name}"')
        fill_stored(connection, QUESTIONS, many_lines=1)
        assert [one.name for one in stored if rows(connection, one.name) != kept[one.name]] == []


@pytest.mark.parametrize("many_lines", [1, 300_000])
def test_a_question_that_takes_more_memory_than_it_may_is_answered_all_the_same(
    case: Path, tmp_path: Path, many_lines: int
) -> None:
    again = tmp_path / "again.case"
    again.write_bytes(case.read_bytes())
    stored = [one for one in QUESTIONS if one.stored]
    with duckdb.connect(again) as connection:
        connection.execute("SET TimeZone = 'UTC'; BEGIN")
        kept = {one.name: rows(connection, one.name) for one in stored}
        for one in stored:
            connection.execute(f'DELETE FROM "{one.name}"')
        connection.execute("COMMIT; CHECKPOINT; SET memory_limit = '12MB'; BEGIN")
        fill_stored(connection, QUESTIONS, many_lines=many_lines)
        (limit,) = connection.execute("SELECT current_setting('memory_limit')").fetchone() or ("",)
        assert "GiB" in limit  # it did not do
        assert [one.name for one in stored if rows(connection, one.name) != kept[one.name]] == []


def test_what_other_questions_left_is_not_used(case: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.case"
    other.write_bytes(case.read_bytes())
    with duckdb.connect(other) as connection:
        connection.execute("UPDATE about SET value = 'of another version' WHERE name = 'questions'")
        connection.execute("UPDATE vram_items SET size_bytes = 7")
        connection.execute("CHECKPOINT")
    _seal(other)
    assert rows(open_case(other).connection, "vram_items") == rows(open_case(case).connection, "vram_items")


def test_a_moment_is_worked_out_and_not_taken_from_what_is_kept(case: Path) -> None:
    sql = "SELECT DISTINCT moment FROM vram_gap ORDER BY moment"
    assert ("at",) not in open_case(case).connection.execute(sql).fetchall()
    first, *_ = open_case(case).connection.execute("SELECT min(at_us) FROM measure WHERE moment = 'ready'").fetchall()
    assert ("at",) in open_case(case, at_us=first[0]).connection.execute(sql).fetchall()
