"""Commands about cases on disk and the questions in them: ingest, query, shell, questions."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from .bounds import Bounds
from .cmd_options import CaseFile, Inputs, Patterns, Quiet, Zone, open_evidence
from .errors import ForensicsError, QuestionError, UsageError
from .ingest import Ingested, ingest, signature
from .opened import parse_time, parse_zone, problems, user_patterns
from .progress import progress
from .query import Limits, Result, bounded_memory, lock, run_query
from .query_print import print_result
from .question import load_questions
from .report_json import render_json
from .safe import visible
from .shell import run_shell

__all__ = ["register"]


class RowFormat(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


Rows = Annotated[int, typer.Option("--rows", min=1, help="Most rows that are given.")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.1, help="Longest that a query may run.")]
Memory = Annotated[int, typer.Option("--memory", min=16, help="Most MiB that a query may take.")]


def register(app: typer.Typer) -> None:
    """Make commands of the functions of this module."""
    app.command("ingest")(ingest_command)
    app.command("query")(query_command)
    app.command("shell")(shell_command)
    app.command("questions")(questions_command)


def ingest_command(
    inputs: Inputs = None,
    case: CaseFile = None,
    tz: Zone = None,
    patterns: Patterns = None,
    unit: Annotated[list[str] | None, typer.Option("--unit", help="Of journals, read this unit; may repeat.")] = None,
    boot: Annotated[list[str] | None, typer.Option("--boot", help="Of journals, read this boot; may repeat.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Of journals, read what came from then on.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Of journals, read what came up to then.")] = None,
    match: Annotated[
        list[str] | None,
        typer.Option("--match", metavar="FIELD=VALUE", help="Of journals, read entries with this trusted field."),
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Go on without bytes that are lost.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Keep the case up to date until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two looks.")] = 5.0,
    quiet: Quiet = False,
) -> None:
    """Read inputs into a case file, or bring one up to date; every command takes --case FILE then."""
    if case is None:
        raise UsageError("--case FILE: where to keep the case")

    bounds = Bounds.of(
        unit or (),
        boot or (),
        None if since is None else parse_time(since, "--since"),
        None if until is None else parse_time(until, "--until"),
        match or (),
    )

    def once() -> None:
        with progress(quiet=quiet) as on_progress:
            found = ingest(
                inputs or (),
                case,
                patterns=[*user_patterns(), *(one.absolute() for one in patterns or ())],
                tz_us=parse_zone(tz),
                bounds=bounds,
                forget=forget,
                on_progress=on_progress,
            )
        _tell(found, quiet)

    def look() -> object:
        return signature(case, inputs or ())

    seen = look()  # before reading: what is written meanwhile is a change
    once()
    if follow:
        _follow(once, look, seen, interval)
        if not quiet:
            typer.echo("stopped; the case is complete", err=True)


def _follow(once: Callable[[], None], look: Callable[[], object], seen: object, interval: float) -> None:
    """Ingest whenever the inputs have changed, until somebody stops it; an ingest under way is finished first."""
    stop = threading.Event()

    def on_signal(*_: object) -> None:
        stop.set()
        for number, handler in before.items():  # who asks again does not want to wait
            signal.signal(number, handler)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    told = ""
    while not stop.wait(interval):
        now = look()
        if now == seen:
            continue
        try:
            once()
        except ForensicsError as error:
            # A log that is being rotated is not there for a moment: the case stays, and the next look may find it.
            if str(error) != told:
                for line in error.args:
                    typer.echo(visible(f"forensics: {line}"), err=True)
            told = str(error)
        else:
            seen, told = now, ""


def _tell(found: Ingested, quiet: bool) -> None:
    for one in problems(found.evidence.sources, found.evidence.problems) if found.evidence else ():
        typer.echo(visible(f"forensics: {one}"), err=True)
    if quiet:
        return
    for change in found.changes:
        typer.echo(visible(f"{change.source} {change.words}"))
    name = visible(str(found.case))
    sources = f"{found.sources} source{'' if found.sources == 1 else 's'}"
    if not found.written:
        typer.echo(f"{name}: nothing changed in {sources}")
    else:
        typer.echo(f"{name}: {sources}, {found.lines} lines read, {found.loads} load{'' if found.loads == 1 else 's'}")


def query_command(
    query: Annotated[str, typer.Argument(metavar="NAME|SQL", help="A table or view, or one SELECT.")],
    inputs: Inputs = None,
    case: CaseFile = None,
    output: Annotated[RowFormat, typer.Option("--format", help="How to print the rows.")] = RowFormat.TABLE,
    rows: Rows = 1000,
    seconds: Seconds = 30.0,
    memory: Memory = 1024,
    tz: Zone = None,
    patterns: Patterns = None,
    quiet: Quiet = False,
) -> None:
    """Ask a question of your own, read-only: the name of a view, or SQL; `forensics questions` lists the views."""
    opened = open_evidence(inputs, case, tz=tz, patterns=patterns, quiet=quiet)
    limits = Limits(rows, seconds, memory << 20)
    lock(opened.connection, limits)
    with bounded_memory(limits):
        result = run_query(opened, query, limits)
    print_result(result, output.value)


def shell_command(
    inputs: Inputs = None,
    case: CaseFile = None,
    rows: Rows = 1000,
    seconds: Seconds = 30.0,
    memory: Memory = 1024,
    tz: Zone = None,
    patterns: Patterns = None,
    quiet: Quiet = False,
) -> None:
    """Ask one question after the other; as locked down as query."""
    opened = open_evidence(inputs, case, tz=tz, patterns=patterns, quiet=quiet)
    limits = Limits(rows, seconds, memory << 20)
    lock(opened.connection, limits)

    def ask(text: str) -> Result:
        with bounded_memory(limits):
            return run_query(opened, text, limits)

    run_shell(ask, opened.questions)


def questions_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One question, with its SQL.")] = None,
    output: Annotated[RowFormat, typer.Option("--format", help="How to print the list.")] = RowFormat.TABLE,
) -> None:
    """List the questions that a case answers, or print one with its columns and SQL."""
    questions = load_questions()
    if name is None:
        result = Result(
            ("question", "one row is"),
            ("VARCHAR", "VARCHAR"),
            tuple((one.signature, one.summary.rstrip(".")) for one in questions),
        )
        print_result(result, output.value)
        return
    found = next((one for one in questions if one.name == name), None)
    if found is None:
        raise QuestionError(f"{name}: no such question; forensics questions lists them")
    if output is RowFormat.JSON:
        typer.echo(
            render_json(
                {
                    "name": found.name,
                    "parameters": [{"name": one, "type": kind} for one, kind in found.parameters or ()],
                    "summary": found.summary,
                    "caveats": found.caveats,
                    "columns": [{"name": one, "type": kind, "meaning": what} for one, kind, what in found.columns],
                    "sql": found.sql,
                }
            )
        )
        return
    typer.echo(found.source.rstrip())
