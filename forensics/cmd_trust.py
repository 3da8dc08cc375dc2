"""Commands that make an answer trusted: a page to keep and pass on, and a check of a report against its sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from .answer import Answer, Ask
from .asked import QUESTIONS
from .cmd_options import CaseFile, Inputs, Patterns, Quiet, WhichLoad, Zone, open_evidence
from .errors import UsageError
from .explain import document, evidence, exit_code
from .opened import chosen_loads
from .over_time import over_time
from .printing import At, Format, Output, SelfReport, parse_moment, parse_self_report, print_answer
from .report_html import render_html
from .safe import visible
from .verify import read_report, verify

__all__ = ["page_of", "register"]

MOST_POINTS = 400
"""Requests whose lines are in the page's evidence."""


def register(app: typer.Typer) -> None:
    """Make commands of the functions of this module."""
    app.command("report")(report_command)
    app.command("verify")(verify_command)


def report_command(
    inputs: Inputs = None,
    file: Annotated[Path, typer.Option("-o", "--output", help="The page to write; - prints it.")] = Path(
        "forensics.html"
    ),
    load: WhichLoad = None,
    at: At = "last",
    self_report: SelfReport = None,
    case: CaseFile = None,
    tz: Zone = None,
    patterns: Patterns = None,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page that needs nothing else: the VRAM answer, charts over time, and the other questions."""
    moment, at_us = parse_moment(at)
    opened = open_evidence(inputs, case, tz=tz, at_us=at_us, patterns=patterns, quiet=quiet)
    connection = opened.connection
    shown = chosen_loads(connection, wanted=load)
    found = document(connection, opened.catalogue, moment=moment, self_report=parse_self_report(self_report, load))
    page = page_of(connection, found, load=shown[-1] if shown else None, answers=answers_of(connection))
    _write(file, page)
    if not quiet:
        typer.echo(visible(f"{file}: {len(page.encode()) / 1024:.0f} KiB"), err=True)
    raise typer.Exit(exit_code(found))


def verify_command(
    report: Annotated[Path, typer.Argument(help="What explain-vram --format json printed.")],
    sources: Annotated[
        Path | None, typer.Option("--sources", help="Folder to look for the sources in, by name and by bytes.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Derive every number of a report again from the bytes that it cites; exit 4 if any does not hold."""
    if sources is not None and not sources.is_dir():
        raise UsageError(f"--sources {sources}: no such folder")
    answer = verify(read_report(report), beside=report.parent, folder=sources)
    print_answer(Ask(duckdb.connect(), cases=()), answer, output)


def page_of(
    connection: duckdb.DuckDBPyConnection,
    found: Mapping[str, Any],
    *,
    load: str | None,
    answers: Mapping[str, Answer] | None = None,
) -> str:
    """The page of a document, with the lines behind what it draws over time."""
    series = over_time(connection)
    drawn = {one.line_id for one in series.accepted[:MOST_POINTS]}
    cited = {**found["evidence"], **evidence(connection, drawn)}
    return render_html({**found, "evidence": cited}, series, load=load, answers=answers)


def answers_of(connection: duckdb.DuckDBPyConnection) -> dict[str, Answer]:
    """What a case answers to the questions that need no further word; those that it cannot answer are left out."""
    found: dict[str, Answer] = {}
    for name, (question, _) in QUESTIONS.items():
        try:
            answer = question(Ask(connection=connection))
        except UsageError:
            continue  # it asks for something to compare
        if answer.code == 0:
            found[name] = answer
    return found


def _write(file: Path, page: str) -> None:
    if str(file) == "-":
        typer.echo(page, nl=False)
        return
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise UsageError(f"-o {file}: cannot write there: {error.strerror or error}") from error
