"""Print an answer in the format that was asked for, and read the options that say what to answer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .answer import Answer, Ask, answer_json, answer_markdown, answer_table
from .coverage import coverage_line
from .errors import UsageError
from .opened import parse_time
from .safe import visible

__all__ = ["At", "Format", "Output", "SelfReport", "parse_moment", "parse_self_report", "print_answer"]


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"
    HTML = "html"


Output = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
At = Annotated[str, typer.Option("--at", help="A moment: TIME, ready, last or asleep.")]
SelfReport = Annotated[
    str | None, typer.Option("--self-report", help="What the service says it uses, with unit: 24.52GiB; or a file.")
]


def parse_moment(at: str) -> tuple[str, int | None]:
    """A moment by its name, or as `at` with its time in µs UTC."""
    if at in {"last", "ready", "asleep"}:
        return at, None
    try:
        return "at", parse_time(at, "--at")
    except UsageError as error:
        raise UsageError(f"--at {at}: neither ready, last, asleep nor a time") from error


def parse_self_report(text: str | None, load: str | None = None) -> tuple[int, int, str] | None:
    """Bytes, rounding bound and origin of what a service says of itself: as it was typed, or as a file holds it.

    Raises:
        UsageError: It is no amount.
    """
    if text is None:
        return None
    from .selfreport import stated_use  # noqa: PLC0415  # what reads captures takes long to import

    return stated_use(text, load)


def print_answer(ask: Ask, answer: Answer, output: Format) -> None:
    """Print the answer to a question, write the files it was asked for, and exit with its code."""
    for path, text in answer.exports:
        _write(path, text)
    if output is Format.JSON:
        typer.echo(answer_json(ask, answer))
    elif output is Format.MD:
        typer.echo(answer_markdown(ask, answer))
    elif output is Format.HTML:
        from .report_html import render_answer_html  # noqa: PLC0415  # templates take long to import

        typer.echo(render_answer_html(answer, coverage_line(ask.coverage())), nl=False)
    else:
        answer_table(ask, answer, Console(highlight=False))
    raise typer.Exit(answer.code)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    typer.echo(visible(f"forensics: wrote {path}"), err=True)
