"""A prompt for questions to a case, as locked down as a single query: .tables, .schema NAME, .quit."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Sequence

import typer

from .errors import QuestionError
from .query import Result
from .query_print import print_result
from .question import Question
from .safe import visible
from .schema import TABLES

__all__ = ["run_shell"]

HELP = """\
NAME or SELECT …;   ask; SQL may have several lines and ends with a semicolon
.tables             list the questions and tables
.schema NAME        what a question or table holds, column by column
.format FORMAT      table, json, csv or md
.quit               leave"""


def run_shell(ask: Callable[[str], Result], questions: Sequence[Question]) -> None:
    """Read questions and print what comes out, until the end of the input or .quit."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # input() keeps a history then
    output = "table"
    typer.echo("Read-only. .tables lists what can be asked, .help the commands.", err=True)
    while True:
        try:
            text = _read()
        except EOFError:
            typer.echo("", err=True)
            return
        except KeyboardInterrupt:
            typer.echo("", err=True)
            continue
        if not text:
            continue
        if text.startswith("."):
            word, _, rest = text.partition(" ")
            if word in {".quit", ".exit"}:
                return
            if word == ".format" and rest.strip() in {"table", "json", "csv", "md"}:
                output = rest.strip()
            else:
                _command(word, rest.strip(), questions)
            continue
        try:
            print_result(ask(text), output)
        except QuestionError as error:
            for line in error.args:
                typer.echo(visible(line), err=True)
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)


def _read() -> str:
    """One command, one name, or SQL up to its semicolon."""
    talks = sys.stdin.isatty()
    text = input("forensics> " if talks else "").strip()
    if text.startswith(".") or text.isidentifier() or not text:
        return text
    while not text.endswith(";"):
        text += "\n" + input("     ...> " if talks else "").rstrip()
    return text


def _command(word: str, name: str, questions: Sequence[Question]) -> None:
    if word == ".tables":
        for question in questions:
            typer.echo(f"{question.signature}  {question.summary}")
        for table, (meaning, _) in TABLES.items():
            typer.echo(f"{table}  {meaning}")
        return
    if word == ".schema":
        found = next((one for one in questions if one.name == name), None)
        if found is not None:
            typer.echo(found.source.rstrip())
            return
        if name in TABLES:
            meaning, columns = TABLES[name]
            typer.echo(meaning)
            for one in columns:
                typer.echo(f"  {one.name}  {one.sql}  {one.meaning}")
            return
        typer.echo(f"{visible(name) or '?'}: no such question or table; .tables lists them", err=True)
        return
    typer.echo(HELP)
