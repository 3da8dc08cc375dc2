"""Commands about the catalogues of patterns: formats lint, test, explain."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from .catalogue import Catalogue, load_catalogue
from .errors import CatalogueError
from .opened import user_patterns
from .pattern_checks import Attempt, Fault, explain_line, lint, run_samples
from .pattern_files import Files
from .report_json import render_json
from .safe import for_terminal, visible

__all__ = ["register"]

SHOWN = 8
"""How many patterns `explain` shows; JSON has them all."""


class TextFormat(StrEnum):
    """How an outcome is printed."""

    TEXT = "text"
    JSON = "json"


PatternFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", help="Pattern files of your own; without, the installed ones."),
]
Output = Annotated[TextFormat, typer.Option("--format", help="How to print the outcome.")]
formats = typer.Typer(
    help="Check pattern files, run their samples, or ask why a line is read as it is.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Make commands of the functions of this module."""
    app.add_typer(formats, name="formats")


@formats.command("lint")
def lint_command(files: PatternFiles = None, output: Output = TextFormat.TEXT) -> None:
    """Say what is wrong with pattern files: exit code 1 if anything is."""
    try:
        catalogue = load_catalogue(files or ())
    except CatalogueError as error:
        _tell([Fault("", str(error))], 0, output)
        raise typer.Exit(1) from error
    faults = [one for one in lint(catalogue) if not files or _is_of(one, files)]
    _tell(faults, len(_patterns(catalogue, files)), output)
    raise typer.Exit(int(bool(faults)))


@formats.command("test")
def samples_command(files: PatternFiles = None, output: Output = TextFormat.TEXT) -> None:
    """Read the samples of pattern files: exit code 1 if one does not give what it says."""
    count, faults = run_samples(load_catalogue(files or ()), [str(one) for one in files or ()])
    _tell(faults, count, output, "sample")
    raise typer.Exit(int(bool(faults)))


@formats.command("explain")
def explain_command(
    line: Annotated[str, typer.Argument(help="One line of a log, as it is there; - reads it from standard input.")],
    patterns: Annotated[list[Path] | None, typer.Option("--patterns", help="A pattern file of your own.")] = None,
    output: Output = TextFormat.TEXT,
) -> None:
    """Say which patterns a line meets, and how far each gets: exit code 1 if none reads it."""
    if line == "-":
        line = sys.stdin.readline()
    catalogue = Catalogue.of(Files.installed([*user_patterns(), *(patterns or ())]))
    attempts = explain_line(catalogue, line.rstrip("\r\n"))
    if output is TextFormat.JSON:
        typer.echo(render_json({"line": line, "patterns": [_document(one) for one in attempts]}), nl=False)
    else:
        console = Console(highlight=False, soft_wrap=True)
        for one in _shown(attempts):
            console.print(Text(visible(one).replace(r"\\", "\\")))  # an expression keeps its backslashes
        if not attempts:
            console.print("No pattern's literal is in this line, nor nearly: forensics passes it over.")
    raise typer.Exit(int(not any(one.reads for one in attempts)))


def _patterns(catalogue: Catalogue, files: list[Path] | None) -> list[str]:
    return [one.where for one in catalogue.patterns if not files or _is_of(Fault(one.where, ""), files)]


def _is_of(fault: Fault, files: list[Path]) -> bool:
    return any(fault.where.startswith(f"{one}:") for one in files) or not fault.where


def _tell(faults: list[Fault], count: int, output: TextFormat, what: str = "pattern") -> None:
    if output is TextFormat.JSON:
        found = [{"where": one.where, "what": one.what} for one in faults]
        typer.echo(render_json({"checked": count, "faults": found}), nl=False)
        return
    console = Console(highlight=False, soft_wrap=True)
    for one in faults:
        console.print(for_terminal(f"{one.where}: {one.what}" if one.where else one.what))
    console.print(f"{count} {what}{'' if count == 1 else 's'}, {len(faults)} fault{'' if len(faults) == 1 else 's'}")


def _shown(attempts: list[Attempt]) -> list[str]:
    """A few lines for each attempt: what it is, what was taken, and where it stopped."""
    lines: list[str] = []
    for one in attempts[:SHOWN]:
        lines.append(f"{one.program}: {one.pattern}  {'reads it' if one.reads else 'does not read it'}")
        lines.append(f"    literal   “{one.literal}”: {one.literal_is}")
        lines.append(f"    builds    {one.builds}")
        if one.prefix is not None:
            lines.append(f"    prefix    “{one.prefix}”" if one.prefix else "    prefix    none")
        if one.reads:
            fields = ", ".join(f"{name} = {value}" for name, value in one.fields)
            lines.append(f"    event     {one.event}" + (f": {fields}" if fields else ""))
            continue
        if one.message is not None:
            lines.append(f"    matched   “{one.matched}”" if one.matched else "    matched   nothing")
        if one.rest:
            lines.append(f"    left      “{one.rest}”")
        if one.failed:
            lines.append(f"    failed    {one.failed}")
        lines.append(f"    because   {one.because}")
    if len(attempts) > SHOWN:
        lines.append(f"({len(attempts) - SHOWN} more patterns share a piece of their literal with it: --format json)")
    return lines


def _document(one: Attempt) -> dict[str, object]:
    return {**vars(one), "fields": dict(one.fields)}
