"""The command line: each command parses, calls one function, renders, and exits."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from dateutil import parser as dates
from dateutil import tz as zones
from rich.console import Console

from . import __version__
from .answer import Answer, Ask, Option, Question, answer_json, answer_markdown, answer_table
from .asked import OPTIONS, QUESTIONS
from .case import read_evidence, store
from .catalogue import Catalogue, load_catalogue
from .diff import diff, pick
from .errors import ForensicsError, UsageError
from .explain import document, exit_code
from .question import install, load_questions
from .regress import as_document, as_text, check_case, find_cases
from .report import render_table
from .report_json import render_json
from .report_markdown import render_markdown
from .units import parse_quantity

__all__ = ["app", "main"]

app = typer.Typer(
    name="forensics",
    help="Where did the VRAM go? Answers from the logs and telemetry of self-hosted LLM servers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"


Inputs = Annotated[
    list[str] | None, typer.Argument(metavar="[INPUT]...", help="Files and folders; - is standard input.")
]
Output = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
WhichLoad = Annotated[str | None, typer.Option("--load", help="A load: its number, id, model or unit.")]
Zone = Annotated[
    str | None, typer.Option("--tz", help="Zone of telemetry times that print none, such as Europe/Berlin.")
]
Around = Annotated[str | None, typer.Option("--around", help="A moment: look at the loads and lines around it.")]
Since = Annotated[str | None, typer.Option("--since", help="Begin of the span to look at.")]
Until = Annotated[str | None, typer.Option("--until", help="End of the span to look at.")]
Unit = Annotated[str | None, typer.Option("--unit", help="Look at one unit only.")]
WithEvidence = Annotated[bool, typer.Option("--evidence", help="Print the lines behind each number.")]
Patterns = Annotated[list[Path] | None, typer.Option("--patterns", help="A pattern file of your own; may repeat.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forensics {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Where did the VRAM go? Answers from the logs and telemetry of self-hosted LLM servers."""
    del version


@app.command("explain-vram")
def explain_vram(
    inputs: Inputs = None,
    load: WhichLoad = None,
    at: Annotated[str, typer.Option("--at", help="A moment: TIME, ready, last or asleep.")] = "last",
    self_report: Annotated[
        str | None, typer.Option("--self-report", help="What the service says it uses, with unit: 24.52GiB; or a file.")
    ] = None,
    output: Output = Format.TABLE,
    evidence: WithEvidence = False,
    tz: Zone = None,
    patterns: Patterns = None,
) -> None:
    """Explain what each load holds on each card: items, basis, and the signed rest."""
    moment, at_us = _moment(at)
    connection, catalogue = _open(inputs, tz, at_us, patterns)
    report = _self_report(self_report)
    only = _which(connection, load)
    found = document(connection, catalogue, moment=moment, self_report=report, only=only)
    _print(found, output, evidence, load)
    raise typer.Exit(exit_code(found))


def _register(name: str, question: Question, summary: str, options: Sequence[Option]) -> None:
    """Make a command of a question: all take the same inputs and options, and some have options of their own."""

    def command(
        inputs: Inputs = None,
        load: WhichLoad = None,
        around: Around = None,
        since: Since = None,
        until: Until = None,
        unit: Unit = None,
        output: Output = Format.TABLE,
        evidence: WithEvidence = False,
        tz: Zone = None,
        patterns: Patterns = None,
        **extra: Any,
    ) -> None:
        connection, _ = _open(inputs, tz, None, patterns)
        ask = Ask(
            connection=connection,
            loads=_which(connection, load),
            around_us=None if around is None else _time(around),
            since_us=None if since is None else _time(since),
            until_us=None if until is None else _time(until),
            unit=unit,
            evidence=evidence,
            extra=extra,
        )
        _answer(ask, question(ask), output)

    # Typer reads the signature: the options of the one question stand in it in the place of **extra.
    shared = [one for one in signature(command, eval_str=True).parameters.values() if one.kind is not one.VAR_KEYWORD]
    own = [
        Parameter(
            one.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[one.type | None, typer.Option(one.flag, help=one.help)],
        )
        for one in options
    ]
    command.__signature__ = Signature([*shared, *own])  # type: ignore[attr-defined]  # what inspect.signature looks for
    command.__annotations__ = {one.name: one.annotation for one in (*shared, *own)}
    app.command(name, help=summary)(command)


for _name, (_question, _summary) in QUESTIONS.items():
    _register(_name, _question, _summary, OPTIONS.get(_name, ()))


class CheckFormat(StrEnum):
    """How the outcome of `check` is printed."""

    TEXT = "text"
    JSON = "json"


@app.command("check")
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Cases, or folders of cases; fixtures without it.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write what comes out over what is kept.")] = False,
    output: Annotated[CheckFormat, typer.Option("--format", help="How to print the outcome.")] = CheckFormat.TEXT,
) -> None:
    """Run recorded cases again: their rows, screens and stated values must be what is kept beside them."""
    catalogue = load_catalogue()
    outcomes = [check_case(case, catalogue, update=update) for case in find_cases(paths or [Path("fixtures")])]
    typer.echo(render_json(as_document(outcomes)) if output is CheckFormat.JSON else as_text(outcomes))
    raise typer.Exit(int(any(one.failures for one in outcomes)))


def _answer(ask: Ask, answer: Answer, output: Format) -> None:
    """Print the answer to a question, and exit with its code."""
    for path, text in answer.exports:
        _write(path, text)
    if output is Format.JSON:
        typer.echo(answer_json(ask, answer))
    elif output is Format.MD:
        typer.echo(answer_markdown(ask, answer))
    else:
        answer_table(ask, answer, Console(highlight=False))
    raise typer.Exit(answer.code)


@app.command("diff")
def diff_loads(
    before: Annotated[str, typer.Argument(help="A load (number, id, boot:-2), or without INPUT files or a folder.")],
    after: Annotated[str, typer.Argument(help="The load or the input to compare with it.")],
    inputs: Inputs = None,
    at: Annotated[str, typer.Option("--at", help="A moment of both loads: ready, last or asleep.")] = "last",
    output: Output = Format.TABLE,
    evidence: WithEvidence = False,
    tz: Zone = None,
    patterns: Patterns = None,
) -> None:
    """Compare two loads of one case, or of two: what holds more or less memory, and what else differs."""
    if at not in {"ready", "last", "asleep"}:
        raise UsageError(f"--at {at}: two loads are compared at ready, last or asleep")
    if inputs:
        connection, catalogue = _open(inputs, tz, None, patterns)
        sides = [(connection, pick(connection, wanted)) for wanted in (before, after)]
    else:
        opened = [_open([side], tz, None, patterns) for side in (before, after)]
        catalogue = opened[0][1]
        sides = [(connection, pick(connection, None)) for connection, _ in opened]
    _answer(Ask(sides[0][0], evidence=evidence), diff(sides[0], sides[1], catalogue, at), output)


def _open(
    inputs: list[str] | None, tz: str | None, at_us: int | None, patterns: list[Path] | None
) -> tuple[duckdb.DuckDBPyConnection, Catalogue]:
    if not inputs:
        raise UsageError("no input: give log files, telemetry files or a folder that holds both")
    catalogue = load_catalogue(patterns or ())
    found = read_evidence(inputs, catalogue, tz_us=_zone(tz), at_us=at_us)
    for source in found.sources:
        for problem in source.problems:
            if problem.severity != "note":
                typer.echo(f"forensics: {source.name}: {problem.what}. {problem.remedy}".rstrip(), err=True)
    errors = [one for one in found.sources if any(problem.severity == "error" for problem in one.problems)]
    if found.sources and len(errors) == len(found.sources):
        raise UsageError("none of the inputs could be read")
    connection = duckdb.connect()
    store(found, connection)
    install(connection, load_questions())
    return connection, catalogue


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    typer.echo(f"forensics: wrote {path}", err=True)


def _moment(at: str) -> tuple[str, int | None]:
    if at in {"last", "ready", "asleep"}:
        return at, None
    return "at", _time(at)


def _time(text: str) -> int:
    """A time that a person typed, in µs UTC; without a zone it is taken as UTC."""
    try:
        moment = dates.parse(text, default=datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--at {text}: neither ready, last, asleep nor a time: {error}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000)


def _zone(name: str | None) -> int | None:
    """Offset from UTC in µs of a zone given by name or as ±HH:MM."""
    if name is None:
        return None
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if found:
        sign = -1 if found[1] == "-" else 1
        return sign * (int(found[2]) * 60 + int(found[3])) * 60_000_000
    zone = zones.gettz(name)
    if zone is None:
        raise UsageError(f"--tz {name}: no such zone; write it as Europe/Berlin or +02:00")
    offset = datetime.now(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() * 1_000_000)


def _self_report(text: str | None) -> tuple[int, int, str] | None:
    if text is None:
        return None
    path = Path(text)
    try:
        if path.is_file():
            size, bound = parse_quantity(path.read_text("utf-8").strip())
            return size, bound, str(path)
        size, bound = parse_quantity(text)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"--self-report {text}: {error}") from error
    return size, bound, f"--self-report {text}"


def _which(connection: duckdb.DuckDBPyConnection, wanted: str | None) -> list[str] | None:
    """Ids of the loads that a person means: by number, id, label, model or unit."""
    if wanted is None:
        return None
    rows = connection.execute("SELECT load_id, number, model, label, unit FROM loads ORDER BY number").fetchall()
    exact = [row[0] for row in rows if wanted in {row[0], str(row[1]), row[2], row[3], row[4]}]
    part = [row[0] for row in rows if row[0].startswith(wanted) or wanted in (row[2] or "") or wanted in (row[3] or "")]
    if found := exact or part:
        return found
    known = ", ".join(f"{row[1]} ({row[2] or 'unknown model'})" for row in rows) or "none"
    raise UsageError(f"--load {wanted}: no such load; the evidence shows: {known}")


def _print(found: dict[str, object], output: Format, evidence: bool, load: str | None) -> None:
    if output is Format.JSON:
        typer.echo(render_json(found))
    elif output is Format.MD:
        typer.echo(render_markdown(found, load=load))
    else:
        render_table(found, Console(highlight=False), evidence=evidence, load=load)


def main() -> None:
    """Run the command line; errors that we know become one line on stderr and exit code 2."""
    try:
        app()
    except ForensicsError as error:
        typer.echo(f"forensics: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
