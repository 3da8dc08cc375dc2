"""Commands on a case: the same options everywhere, the same answers as on its inputs, kept up to date by ingest."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from journal_writer import journal as native
from opened import holders_csv, journal
from typer.testing import CliRunner

import forensics
from forensics.asked import QUESTIONS
from forensics.cli import app
from forensics.errors import UsageError
from forensics.ingest import ingest
from forensics.progress import progress

FIXTURES = Path(__file__).parent.parent / "fixtures"

LOAD = """
build_info: b8700-74b8fc17f
srv    load_model: loading model '{}'
load_tensors:        CUDA0 model buffer size =  4000.00 MiB
main: model loaded
"""


def run(*words: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_every_question_takes_the_same_options() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group has them
    shared = "--load --around --since --until --unit --format --evidence --case --tz --patterns --quiet".split()
    for name in ("explain-vram", *QUESTIONS):
        options = {option for parameter in commands[name].params for option in parameter.opts}
        assert [one for one in shared if one not in options] == [], name


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[forensics.Case, forensics.Case]]:
    """A recorded run, read from its files and from a case of them."""
    folder = FIXTURES / "llama-mtp-vision-two-cards-plain"
    case = tmp_path_factory.mktemp("case") / "c.case"
    ingest([str(folder)], case)
    with forensics.open_case(folder) as read, forensics.open_case(case) as kept:
        yield read, kept


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_to_a_case_is_answered_as_from_its_inputs(
    both: tuple[forensics.Case, forensics.Case], name: str
) -> None:
    read, kept = both
    assert kept.ask(name) == read.ask(name)


@pytest.mark.parametrize("at", ["last", "ready", "2026-11-30 11:07:33"])
def test_a_case_explains_each_moment_as_its_inputs_do(both: tuple[forensics.Case, forensics.Case], at: str) -> None:
    read, kept = both
    found = kept.explain_vram(at=at)
    assert found == read.explain_vram(at=at)
    measured = [device["measured_at"] for device in found["loads"][0]["devices"] if device["where"] == "card"]
    assert len(measured) == 2
    assert None not in measured


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two services: one from 08:00:01 to 08:10, the other from 08:20 on."""
    folder = tmp_path_factory.mktemp("services")
    ended = "srv    operator(): operator(): cleaning up before exit..."
    (folder / "one.json").write_text(
        journal(100, 1, LOAD.format("/m/a.gguf"), unit="one.service")
        + journal(100, 600, ended, unit="one.service")
        + journal(
            1, 601, "one.service: Deactivated successfully.", unit="init.scope", UNIT="one.service",
            _TRANSPORT="journal", INVOCATION_ID=f"{100:032x}", SYSLOG_IDENTIFIER="systemd",
        )
    )  # fmt: skip
    (folder / "two.json").write_text(journal(200, 1200, LOAD.format("/m/b.gguf"), unit="two.service"))
    (folder / "apps.csv").write_text(holders_csv((300, 0, 100, 4500), (1300, 0, 200, 4700)))
    case = folder / "c.case"
    ingest([str(folder)], case)
    return case


@pytest.mark.parametrize(
    ("options", "models"),
    [
        ((), ["/m/a.gguf", "/m/b.gguf"]),
        (("--unit", "one.service"), ["/m/a.gguf"]),
        (("--unit", "two"), ["/m/b.gguf"]),
        (("--since", "2026-09-18 08:15"), ["/m/b.gguf"]),
        (("--until", "2026-09-18 08:15"), ["/m/a.gguf"]),
        (("--since", "2026-09-18 08:11", "--until", "2026-09-18 08:12"), []),
        (("--around", "2026-09-18 08:22"), ["/m/b.gguf"]),
        (("--around", "2026-09-18 08:14"), ["/m/a.gguf"]),
        (("--load", "2", "--unit", "one"), []),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("command", ["loads", "explain-vram"])
def test_unit_and_time_choose_the_same_loads_everywhere(
    services: Path, command: str, options: tuple[str, ...], models: list[str]
) -> None:
    _, out, _ = run(command, "--case", services, "--format", "json", *options)
    assert [load["model"] for load in json.loads(out)["loads"]] == models


def test_a_moment_asks_for_the_loads_that_lived_then(services: Path) -> None:
    code, out, _ = run("explain-vram", "--case", services, "--at", "2026-09-18 08:05:10", "--format", "json")
    ((load,), card) = (found := json.loads(out))["loads"], None
    card = next(device for device in load["devices"] if device["where"] == "card")
    assert (code, load["model"], card["measured_mib"]) == (0, "/m/a.gguf", 4500.0)
    assert found["evidence"][card["measured_evidence"][0]]["source"].endswith("apps.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--unit", "three"), "--unit three: no such unit; the evidence shows: "),
        (("--since", "2026-09-19", "--until", "2026-09-18"), "--until 2026-09-18 is before --since 2026-09-19"),
        (("--around", "noonish"), "--around noonish: not a time"),
        (("--tz", "Europe/Berlin"), "--tz and --patterns are decided when a case is made"),
        (("server.log",), "give inputs or --case FILE, not both"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_asked_is_told(services: Path, words: tuple[str, ...], message: str) -> None:
    for command in ("loads", "explain-vram"):
        with pytest.raises(UsageError) as refused:
            run(command, "--case", services, *words)
        assert message in str(refused.value)


def test_evidence_is_printed_by_every_command_that_has_some(services: Path) -> None:
    for command, line in (("loads", "loading model '/m/a.gguf'"), ("explain-vram", "CUDA0 model buffer size")):
        assert line not in run(command, "--case", services)[1]
        assert line in run(command, "--case", services, "--evidence")[1]


def test_a_case_may_stand_where_inputs_do(services: Path) -> None:
    assert run("loads", services) == run("loads", "--case", services)


def test_two_loads_of_a_case_are_compared(services: Path) -> None:
    code, out, _ = run("diff", "1", "2", "--case", services)
    assert code == 0
    assert "/m/b.gguf" in out


def test_ingest_says_what_it_did(tmp_path: Path) -> None:
    log, case = tmp_path / "server.json", tmp_path / "c.case"
    log.write_text(journal(100, 1, LOAD.format("/m/a.gguf")))
    assert run("ingest", log, "--case", case) == (0, f"{case}: 1 source, 4 lines read, 1 load\n", "")
    assert run("ingest", "--case", case) == (0, f"{case}: nothing changed in 1 source\n", "")
    with log.open("a") as more:
        more.write(journal(200, 100, LOAD.format("/m/b.gguf")))
    code, out, _ = run("ingest", "--case", case)
    assert (code, out.splitlines()[-1]) == (0, f"{case}: 1 source, 8 lines read, 2 loads")
    assert out.startswith(f"{log} grew by ")
    assert run("ingest", "--case", case, "--quiet") == (0, "", "")


def test_ingest_follows_its_inputs_until_it_is_stopped(tmp_path: Path) -> None:
    log, case = tmp_path / "server.json", tmp_path / "c.case"
    log.write_text(journal(100, 1, LOAD.format("/m/a.gguf")))
    program = "from forensics.cli import main; main()"
    words = [sys.executable, "-c", program, "ingest", str(log), "--case", str(case), "--follow", "--interval", "0.1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as follower:
        assert follower.stdout is not None
        assert follower.stderr is not None
        assert follower.stdout.readline() == f"{case}: 1 source, 4 lines read, 1 load\n"
        time.sleep(1)
        with log.open("a") as more:
            more.write(journal(200, 100, LOAD.format("/m/b.gguf")))
        assert follower.stdout.readline().startswith(f"{log} grew by ")
        assert follower.stdout.readline() == f"{case}: 1 source, 8 lines read, 2 loads\n"
        log.rename(tmp_path / "elsewhere.json")  # gone for a moment: the case stays
        assert "left as it was" in follower.stderr.readline()
        (tmp_path / "elsewhere.json").rename(log)
        time.sleep(1)
        follower.send_signal(signal.SIGINT)
        assert follower.stderr.read().splitlines()[-1] == "stopped; the case is complete"
    assert follower.returncode == 0
    assert [json.loads(run("loads", case, "--format", "json")[1])["loads_in_window"]] == [2]


def test_ingest_follows_a_journal_that_is_being_written(tmp_path: Path) -> None:
    log, case = tmp_path / "system.journal", tmp_path / "c.case"
    fields = [b"_PID=7", b"_SYSTEMD_UNIT=llm.service", b"_SYSTEMD_INVOCATION_ID=" + b"7" * 32, b"_TRANSPORT=stdout"]
    lines = [*LOAD.format("/m/a.gguf").strip().splitlines(), *LOAD.format("/m/b.gguf").strip().splitlines()]
    entries = [(at, at * 1_000_000, [b"MESSAGE=" + line.encode(), *fields]) for at, line in enumerate(lines, 1)]
    log.write_bytes(native(entries[:4], state=1))
    program = "from forensics.cli import main; main()"
    words = f"ingest {tmp_path} --case {case} --follow --interval 0.1".split()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", program, *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as follower:
        assert follower.stdout is not None
        assert follower.stderr is not None
        assert follower.stdout.readline() == f"{case}: 1 source, 4 lines read, 1 load\n"
        with log.open("r+b") as writer:
            writer.write(native(entries, state=1))
        assert follower.stdout.readline().startswith(f"{log} ")
        assert follower.stdout.readline() == f"{case}: 1 source, 8 lines read, 2 loads\n"
        follower.send_signal(signal.SIGINT)
        assert follower.stderr.read() == "stopped; the case is complete\n"
    assert follower.returncode == 0


# -- progress and questions -------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_at_a_terminal_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress() as on_progress:
        assert on_progress is not None
        on_progress(1 << 20, 4 << 20)
    assert terminal.getvalue() == ""
    monkeypatch.setattr("forensics.progress.PATIENCE_S", 0)
    with progress() as on_progress:
        assert on_progress is not None
        for done in range(1, 4):
            on_progress(done << 20, 4 << 20)
            time.sleep(0.15)
    shown = terminal.getvalue()
    assert "75%" in shown
    assert re.search(r"\d+(?:\.\d)? [kM]?B/s", shown)  # the rate
    assert re.search(r"\d:\d\d:\d\d", shown)  # and the time left
    with progress(quiet=True) as on_progress:
        assert on_progress is None


def test_progress_is_nothing_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress() as on_progress:
        assert on_progress is None


def test_questions_are_listed_with_what_one_row_is() -> None:
    code, out, _ = run("questions", "--format", "json")
    listed = {row["question"]: row["one row is"] for row in json.loads(out)["rows"]}
    assert code == 0
    assert len(listed) >= 40
    assert listed["loads"] == "One row a model load: what it holds, when it began, got ready and ended, and how"
    assert "load_at(asked TIMESTAMPTZ)" in listed


def test_one_question_is_printed_with_its_columns_and_sql() -> None:
    _, out, _ = run("questions", "load_at")
    assert out.startswith("-- macro (asked TIMESTAMPTZ)\n")
    _, out, _ = run("questions", "loads", "--format", "json")
    assert json.loads(out)["columns"][0] == {"name": "load_id", "type": "VARCHAR", "meaning": "The load."}


def test_a_macro_is_asked_by_its_name_and_a_moment(services: Path) -> None:
    _, out, _ = run("query", "load_at('2026-09-18 08:25')", "--case", services, "--format", "csv")
    assert [line.split(",")[3] for line in out.splitlines()] == ['"model"', '"/m/b.gguf"']


def test_rows_of_several_loads_stand_together_and_are_counted(services: Path) -> None:
    query = "SELECT load_id, what FROM load CROSS JOIN (VALUES ('x'), ('y')) AS v(what)"
    _, out, _ = run("query", query, "--case", services)
    groups = "\n".join(line.rstrip() for line in out.splitlines()).split("\n\n")
    first, second = ([part.split()[-1:] for part in group.splitlines()] for group in groups)
    assert (first, second) == ([["what"], ["x"], ["y"]], [["x"], ["y"], ["result)"]])
    assert out.splitlines()[-1] == "(2 loads in this result)"
    _, ordered, _ = run("query", query + " ORDER BY what", "--case", services)
    assert [line.split()[-1] for line in ordered.splitlines() if line.strip()][1:5] == ["x", "x", "y", "y"]
