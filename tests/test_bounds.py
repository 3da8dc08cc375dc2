"""A case may be made of some of a journal, and keeps to that."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from journal_writer import BOOT, journal
from typer.testing import CliRunner

from forensics.bounds import EVERYTHING, Bounds
from forensics.cli import app
from forensics.errors import UsageError
from forensics.ingest import ingest
from forensics.opened import open_case

RUNNER = CliRunner(env={"COLUMNS": "200"})
SECOND = 1_000_000


def served(unit: str, pid: int, model: str, begin: int) -> list[tuple[int, int, list[bytes]]]:
    """One load of a server, a line each second."""
    fields = [b"_TRANSPORT=stdout", b"_COMM=" + unit.encode(), b"_PID=%d" % pid]
    lines = [
        f"0.00.200.000 I srv    load_model: loading model '{model}'",
        "0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB",
        "0.00.400.000 I main: model loaded",
    ]
    return [
        (
            begin + at,
            (begin + at) * SECOND,
            [*fields, f"_SYSTEMD_UNIT={unit}.service".encode(), b"MESSAGE=" + line.encode()],
        )
        for at, line in enumerate(lines)
    ]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "system.journal"
    path.write_bytes(journal([*served("one", 7, "/m/a.gguf", 1), *served("two", 8, "/m/b.gguf", 11)], state=2))
    return path


def models(case: Path) -> list[str]:
    rows = open_case(case).connection.execute("SELECT model FROM loads ORDER BY number").fetchall()
    return [str(row[0]) for row in rows]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((), ["/m/a.gguf", "/m/b.gguf"]),
        (("--unit", "one"), ["/m/a.gguf"]),
        (("--unit", "two.service"), ["/m/b.gguf"]),
        (("--unit", "one", "--unit", "two"), ["/m/a.gguf", "/m/b.gguf"]),
        (("--match", "_PID=8"), ["/m/b.gguf"]),
        (("--match", "_COMM=one", "--match", "_COMM=two", "--match", "_PID=7"), ["/m/a.gguf"]),
        (("--since", "1970-01-01 00:00:08"), ["/m/b.gguf"]),
        (("--until", "1970-01-01 00:00:08"), ["/m/a.gguf"]),
        (("--boot", BOOT), ["/m/a.gguf", "/m/b.gguf"]),
        (("--boot", "3" * 32), []),
    ],
    ids=lambda one: " ".join(one) or "everything",
)
def test_an_ingest_reads_of_a_journal_what_it_is_asked_for(
    log: Path, tmp_path: Path, asked: tuple[str, ...], found: list[str]
) -> None:
    case = tmp_path / "c.case"
    result = RUNNER.invoke(app, ["ingest", str(log), "--case", str(case), *asked])
    assert (result.exit_code, models(case)) == (0, found), result.output


def test_a_case_is_brought_up_to_date_within_its_bounds(log: Path, tmp_path: Path) -> None:
    case = tmp_path / "c.case"
    ingest([str(log)], case, bounds=Bounds.of(units=["one"]))
    assert not ingest([], case).written
    more = [*served("one", 7, "/m/a.gguf", 1), *served("two", 8, "/m/b.gguf", 11), *served("one", 9, "/m/c.gguf", 21)]
    log.write_bytes(journal(more, state=2))
    assert ingest([], case).written
    assert models(case) == ["/m/a.gguf", "/m/c.gguf"]


def test_other_bounds_are_no_update_of_a_case(log: Path, tmp_path: Path) -> None:
    case = tmp_path / "c.case"
    ingest([str(log)], case, bounds=Bounds.of(units=["one"]))
    with pytest.raises(UsageError, match=re.escape('was made with other bounds ({"units": ["one.service"]')):
        ingest([], case, bounds=Bounds.of(units=["two"]))
    assert models(case) == ["/m/a.gguf"]
    assert ingest([], case, bounds=Bounds.of(units=["two"]), forget=True).written
    assert models(case) == ["/m/b.gguf"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: Bounds.of(boots=["-1"]), "--boot -1: not a boot's id, 32 hexadecimal digits"),
        (lambda: Bounds.of(matches=["_PID"]), "--match _PID: not FIELD=VALUE"),
        (lambda: Bounds.of(matches=["_pid=3"]), "--match _pid=3: not FIELD=VALUE"),
        (lambda: Bounds.of(matches=["UNIT=x.service"]), "--match UNIT=x.service: any client can send UNIT"),
        (lambda: Bounds.of(matches=["__CURSOR=x"]), "--match __CURSOR=x: any client can send __CURSOR"),
    ],
)
def test_what_is_no_bound_is_refused_with_what_would_be(asked: Callable[[], Bounds], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        asked()


def test_bounds_come_back_as_they_were_written() -> None:
    bounds = Bounds.of(["b", "a.scope"], [f"{BOOT[:8]}-{BOOT[8:]}"], 5, None, ["_PID=8", "_COMM=a=b"])
    assert tuple(bounds) == (("a.scope", "b.service"), (BOOT,), 5, None, (("_COMM", "a=b"), ("_PID", "8")))
    assert Bounds.from_json(bounds.as_json()) == bounds
    assert Bounds.from_json(None) == EVERYTHING == Bounds.of()
