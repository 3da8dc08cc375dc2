"""Commands that make an answer trusted: a page to keep and to pass on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from .answer import Answer, Ask
from .asked import QUESTIONS
from .catalogue import Catalogue
from .errors import UsageError
from .explain import document, evidence, exit_code
from .over_time import over_time
from .report_html import render_html

__all__ = ["Opening", "page_of", "register"]

MOST_POINTS = 400
"""Requests whose lines are in the page's evidence."""

Case = tuple[duckdb.DuckDBPyConnection, Catalogue]


@dataclass(frozen=True)
class Opening:
    """How the command line opens a case and reads its options."""

    case: Callable[[list[str] | None, str | None, int | None, list[Path] | None], Case]
    moment: Callable[[str], tuple[str, int | None]]
    self_report: Callable[[str | None, str | None], tuple[int, int, str] | None]
    which: Callable[[duckdb.DuckDBPyConnection, str | None], list[str] | None]


def register(app: typer.Typer, opening: Opening) -> None:
    """Add the commands."""

    @app.command("report")
    def report(
        inputs: Annotated[
            list[str] | None, typer.Argument(metavar="[INPUT]...", help="Files and folders; - is standard input.")
        ] = None,
        file: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("forensics.html"),
        load: Annotated[str | None, typer.Option("--load", help="The load to show first: number, id, model.")] = None,
        at: Annotated[str, typer.Option("--at", help="A moment: TIME, ready, last or asleep.")] = "last",
        self_report: Annotated[
            str | None, typer.Option("--self-report", help="What the service says it uses: 24.52GiB; or a file.")
        ] = None,
        tz: Annotated[str | None, typer.Option("--tz", help="Zone of telemetry times that print none.")] = None,
        patterns: Annotated[list[Path] | None, typer.Option("--patterns", help="A pattern file of your own.")] = None,
    ) -> None:
        """Write one HTML page that needs nothing else: the VRAM answer, charts over time, and the other questions."""
        moment, at_us = opening.moment(at)
        connection, catalogue = opening.case(inputs, tz, at_us, patterns)
        shown = opening.which(connection, load)
        found = document(connection, catalogue, moment=moment, self_report=opening.self_report(self_report, load))
        page = page_of(connection, found, load=shown[-1] if shown else None, answers=answers_of(connection))
        _write(file, page)
        typer.echo(f"{file}: {len(page.encode()) / 1024:.0f} KiB", err=True)
        raise typer.Exit(exit_code(found))


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
