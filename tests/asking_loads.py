"""Ask a question of texts or fixtures, and give its answer and its screen, for the tests of questions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console

from forensics.answer import Answer, Ask, Question, answer_table
from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import chosen_loads, ready
from forensics.question import load_questions
from forensics.regress import load_case

__all__ = ["FIXTURES", "asked", "case_of", "case_text", "moment", "screen"]

FIXTURES = Path(__file__).parent.parent / "fixtures"


CATALOGUE = load_catalogue()


@cache
def case_of(*inputs: Path) -> duckdb.DuckDBPyConnection:
    """Read files, or the inputs of a kept case, as one case; questions only read, so a case is kept."""
    connection = duckdb.connect()
    paths = [path for one in inputs for path in (load_case(one).paths if (one / "case.toml").is_file() else [one])]
    store(read_evidence(paths, CATALOGUE, tz_us=0), connection)
    return ready(connection, load_questions(), None)


def case_text(folder: Path, text: str) -> duckdb.DuckDBPyConnection:
    """Read one log as a case."""
    path = folder / "server.log"
    path.write_text(text.lstrip("\n"), "utf-8")
    return case_of(path)  # tmp_path is another folder in each test


def moment(text: str) -> int:
    """A UTC time in µs."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


def asked(
    connection: duckdb.DuckDBPyConnection, question: Question, load: str | None = None, around: str | None = None
) -> tuple[Answer, dict[str, Any]]:
    """The answer, and the document's loads by the name, number or unit that a person would use."""
    which: Sequence[str] | None = chosen_loads(connection, wanted=load)
    ask = Ask(connection, loads=which, around_us=None if around is None else moment(around))
    answer = question(ask)
    found: dict[str, Any] = {}
    for one in answer.document["loads"]:
        for name in (one["label"], one["unit"], str(one["number"])):
            if name is not None:
                found[name] = one
    return answer, found


def screen(connection: duckdb.DuckDBPyConnection, answer: Answer, width: int = 80) -> str:
    """What a terminal shows."""
    file = io.StringIO()
    answer_table(Ask(connection), answer, Console(file=file, width=width, highlight=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())
