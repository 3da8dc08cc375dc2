"""Run recorded cases again and hold every row and screen against what is kept beside them: `forensics check`."""

from __future__ import annotations

import contextlib
import csv
import io
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from dateutil import parser as dates
from rich.console import Console

from .answer import Ask, answer_table
from .asked import QUESTIONS
from .case import Evidence, read_evidence, store
from .catalogue import Catalogue
from .errors import UsageError
from .expect import Expect, parse_expect, shortfalls
from .explain import document, exit_code
from .moment import add_moment
from .opened import chosen_loads, ready
from .outcome import Failure, Outcome, Place, place_of
from .question import load_questions
from .records.read import KEPT
from .report import render_table
from .safe import visible
from .units import parse_quantity

__all__ = ["VIEWS", "Case", "check_case", "find_cases", "load_case"]

VIEWS = ("loads", "vram_ledger", "vram_gap", "losses")
"""Questions whose rows are kept, one file each."""

CITING = {"vram_ledger": "lines", "vram_gap": "line_id"}
"""Columns of ids, made of content: not to be read, and not kept. The line they name is shown where a row differs."""

UNKEPT = {"loads": "lines"}
"""A count of lines read grows with every wording the catalogue learns: no answer changes by it."""

EXPLAIN = "explain-vram"
WIDTH = 100
KEYS = frozenset("title question also origin cut inputs load around self_report tz_us exit expect".split())
OUR_FILES = KEPT | {"README.md"}


@dataclass(frozen=True)
class Case:
    """One folder of evidence with what must come out of it."""

    folder: Path
    title: str
    question: str
    also: tuple[str, ...]
    inputs: tuple[str, ...]
    load: str | None
    around: str | None
    self_report: str | None
    tz_us: int | None
    exit: int
    expect: tuple[Expect, ...]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def paths(self) -> list[Path]:
        """Its inputs."""
        return [self.folder / name for name in self.inputs]


def find_cases(paths: Sequence[Path]) -> list[Case]:
    """All cases at the paths given: a case's folder, or a folder of cases.

    Raises:
        UsageError: There is none, or a case.toml cannot be used.
    """
    found: list[Case] = []
    for path in paths:
        files = [path / "case.toml"] if (path / "case.toml").is_file() else sorted(path.glob("*/case.toml"))
        if not files:
            raise UsageError(f"{path}: no case here; a case is a folder with a case.toml, see fixtures/README.md")
        found.extend(load_case(file.parent) for file in files)
    return found


def load_case(folder: Path) -> Case:
    """Read a case's case.toml.

    Raises:
        UsageError: It is no TOML, a key is unknown, or an input does not exist.
    """
    file = folder / "case.toml"
    try:
        told = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
    if unknown := set(told) - KEYS:
        raise UsageError(f"{file}: unknown keys {', '.join(sorted(unknown))}; known: {', '.join(sorted(KEYS))}")
    if lacking := {"title", "question", "origin"} - set(told):
        raise UsageError(f"{file}: {', '.join(sorted(lacking))} is missing")
    for name in (told["question"], *told.get("also", ())):
        if name != EXPLAIN and name not in QUESTIONS:
            raise UsageError(f"{file}: no command asks {name!r}; there are {', '.join((EXPLAIN, *QUESTIONS))}")
    inputs = told.get("inputs") or sorted(one.name for one in folder.iterdir() if one.name not in OUR_FILES)
    if absent := [one for one in inputs if not (folder / one).exists()]:
        raise UsageError(f"{file}: no such input: {', '.join(absent)}")
    return Case(
        folder=folder,
        title=told["title"],
        question=told["question"],
        also=tuple(told.get("also", ())),
        inputs=tuple(inputs),
        load=told.get("load"),
        around=told.get("around"),
        self_report=told.get("self_report"),
        tz_us=told.get("tz_us"),
        exit=told.get("exit", 0),
        expect=tuple(
            parse_expect(entry, f"{file}, [[expect]] {number}")
            for number, entry in enumerate(told.get("expect", ()), 1)
        ),
    )


class Answers:
    """A case, answered: rows, screens, and the document at any moment."""

    def __init__(self, case: Case, catalogue: Catalogue) -> None:
        self.case = case
        self.catalogue = catalogue
        # Sources are named as from inside the case, so that no path of the machine at hand gets into an answer.
        with contextlib.chdir(case.folder):
            self.evidence: Evidence = read_evidence(case.inputs, catalogue, tz_us=case.tz_us)
        connection = duckdb.connect()
        store(self.evidence, connection)
        self.connection = ready(connection, load_questions(), None)
        self._documents: dict[tuple[str, int | None], dict[str, Any]] = {}

    def document(self, moment: str, load: int | None = None) -> dict[str, Any]:
        """The document of explain-vram at a moment (last, ready, asleep or a time), of all loads or of one."""
        key = (moment, load)
        if key not in self._documents:
            name = moment if moment in {"last", "ready", "asleep"} else "at"
            if name == "at":
                add_moment(self.connection, _time_us(moment, self.case))
            report = None
            if self.case.self_report is not None:
                report = (*parse_quantity(self.case.self_report), f"--self-report {self.case.self_report}")
            sql = "SELECT load_id FROM load WHERE number = ?"
            only = None if load is None else [row[0] for row in self.connection.execute(sql, [load]).fetchall()]
            self._documents[key] = document(self.connection, self.catalogue, moment=name, self_report=report, only=only)
        return self._documents[key]

    def screen(self, question: str) -> str:
        """What a question's command prints, 100 columns wide and without colour.

        Less its last line: how much of a log is read changes with each pattern, and what is not read is in `losses`.
        """
        console = Console(file=io.StringIO(), width=WIDTH, color_system=None, highlight=False, legacy_windows=False)
        with console.capture() as captured:
            if question == EXPLAIN:
                render_table({**self.document("last"), "coverage": None}, console)
            else:
                ask = self._ask()
                answer_table(ask, QUESTIONS[question][0](ask), console)
        return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())

    def exit(self) -> int:
        """The exit code of the question's command."""
        if self.case.question == EXPLAIN:
            return exit_code(self.document("last"))
        return QUESTIONS[self.case.question][0](self._ask()).code

    def _ask(self) -> Ask:
        around = None if self.case.around is None else _time_us(self.case.around, self.case)
        chosen = chosen_loads(self.connection, wanted=self.case.load)
        return Ask(self.connection, loads=chosen, around_us=around, cases=())

    def rows(self, view: str) -> tuple[list[str], list[tuple[tuple[str, ...], str | None]]]:
        """Columns and rows of a question, as kept: loads by number, without ids; and a line behind each row."""
        cursor = self.connection.execute(f'SELECT * FROM "{view}"')
        names = [str(column[0]) for column in cursor.description or ()]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        loads = self.connection.execute("SELECT load_id, number, begun_line FROM load").fetchall()
        numbers = {load_id: number for load_id, number, _ in loads}
        begun = {load_id: line for load_id, _, line in loads}
        citing = CITING.get(view)
        shown = [name for name in names if name not in {citing, UNKEPT.get(view)}]
        kept: list[tuple[tuple[str, ...], str | None]] = []
        for row in sorted(found, key=lambda one: numbers.get(one.get("load_id"), 0)):
            values = (numbers.get(row[name]) if name == "load_id" else row[name] for name in shown)
            cited = str(row[citing] or "").split() if citing else []
            line = cited[0] if cited else begun.get(row.get("load_id"))
            kept.append((tuple("" if value is None else visible(str(value)) for value in values), line))
        return ["load" if name == "load_id" else name for name in shown], kept

    def place(self, line_id: str | None) -> Place | None:
        """Where a cited line is, and what it says."""
        return place_of(self.connection, [line_id])


def _time_us(moment: str, case: Case) -> int:
    try:
        found = dates.isoparse(moment)
    except ValueError as error:
        raise UsageError(f"{case.folder / 'case.toml'}: {moment!r} is neither a moment nor a time") from error
    if found.tzinfo is None:
        raise UsageError(f"{case.folder / 'case.toml'}: the time {moment!r} has no zone")
    return int(found.timestamp() * 1_000_000)


def check_case(case: Case, catalogue: Catalogue, *, update: bool = False) -> Outcome:
    """Answer a case and compare.

    Args:
        case: The case.
        catalogue: Programs and patterns.
        update: Write what came out over what is kept. What `[[expect]]` rows state is never changed.
    """
    outcome = Outcome(case.name, case.title, "recorded-case", str(case.folder / "case.toml"))
    answers = Answers(case, catalogue)
    for name, text, lines in _files(answers):
        file = case.folder / "expected" / name
        kept = file.read_text("utf-8") if file.is_file() else None
        if kept == text:
            continue
        if update:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
            outcome.rewritten.append(name)
        else:
            outcome.failures.append(_difference(answers, name, kept, text, lines))
    code = answers.exit()
    if code != case.exit:
        outcome.failures.append(Failure("exit code", str(case.exit), str(code)))
    for number, expect in enumerate(case.expect, 1):
        for short in shortfalls(expect, answers):
            where = f"case.toml, [[expect]] {number}"
            outcome.failures.append(Failure(where, _words(expect), short.what, answers.place(short.evidence)))
    return outcome


def _files(answers: Answers) -> Iterator[tuple[str, str, Sequence[str | None]]]:
    """Each file that is kept: name, content, and the line behind each of its lines."""
    for view in VIEWS:
        names, rows = answers.rows(view)
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        lines: list[str | None] = []
        for cells, line in ((tuple(names), None), *rows):
            before = text.getvalue().count("\n")
            writer.writerow(cells)
            lines.extend([line] * (text.getvalue().count("\n") - before))
        yield f"{view}.csv", text.getvalue(), lines
    for question in (answers.case.question, *answers.case.also):
        name = "explain.txt" if question == EXPLAIN else f"{question}.txt"
        yield name, answers.screen(question), ()


def _difference(answers: Answers, name: str, kept: str | None, text: str, lines: Sequence[str | None]) -> Failure:
    """The first line that differs."""
    where = f"expected/{name}"
    if kept is None:
        return Failure(where, "nothing is kept yet: --update writes it", text.split("\n", 1)[0])
    old, new = kept.split("\n"), text.split("\n")
    at = next(place for place in range(max(len(old), len(new))) if old[place : place + 1] != new[place : place + 1])
    expected = old[at] if at < len(old) else "(no more lines)"
    got = new[at] if at < len(new) else "(no more lines)"
    line = lines[at] if at < len(lines) else None
    return Failure(f"{where}, line {at + 1}", expected, got, answers.place(line))


def _words(expect: Expect) -> str:
    """What a row states, without what it leaves open."""
    plain = Expect()
    told = {name: value for name, value in vars(expect).items() if value != getattr(plain, name)}
    return ", ".join(f"{name} = {value!r}" for name, value in told.items())
