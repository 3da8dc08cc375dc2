"""The command line: each command parses, calls one function, renders, and exits."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.console import Console

from . import __version__, cmd_capture, cmd_case, cmd_formats, cmd_trust
from .answer import Ask, Option, Question
from .asked import OPTIONS, QUESTIONS
from .assertions import check_assertions, is_assertions, load_assertions
from .catalogue import load_catalogue
from .check_formats import CheckFormat, render_outcomes
from .cmd_options import (
    Around,
    CaseFile,
    Inputs,
    Patterns,
    Quiet,
    Since,
    Unit,
    Until,
    WhichLoad,
    WithEvidence,
    Zone,
    open_evidence,
)
from .diff import diff, pick
from .errors import ForensicsError, UsageError
from .explain import exit_code
from .looked_at import explained
from .opened import chosen_loads, known_unit, parse_time, parse_window
from .outcome import Outcome, exit_code_of
from .printing import At, Format, Output, SelfReport, parse_moment, parse_self_report, print_answer
from .provenance import Asked, provenance
from .regress import check_case, find_cases
from .report import render_table
from .report_json import render_json
from .report_markdown import render_markdown
from .safe import visible
from .window import Window

__all__ = ["app", "main"]

app = typer.Typer(
    name="forensics",
    help="Where did the VRAM go? Answers from the logs and telemetry of self-hosted LLM servers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    at: At = "last",
    self_report: SelfReport = None,
    around: Around = None,
    since: Since = None,
    until: Until = None,
    unit: Unit = None,
    output: Output = Format.TABLE,
    evidence: WithEvidence = False,
    case: CaseFile = None,
    tz: Zone = None,
    patterns: Patterns = None,
    quiet: Quiet = False,
) -> None:
    """Explain what each load holds on each card: items, basis, and the signed rest."""
    moment, at_us = parse_moment(at)
    if inputs or case is not None:
        opened = open_evidence(inputs, case, tz=tz, at_us=at_us, patterns=patterns, quiet=quiet)
    else:
        opened = cmd_capture.this_machine(at_us=at_us, patterns=patterns or (), quiet=quiet)
    connection, catalogue = opened.connection, opened.catalogue
    report = parse_self_report(self_report, load)
    window = parse_window(around, since, until)
    alive = window if at_us is None else Window(at_us, at_us)
    only = chosen_loads(connection, wanted=load, unit=unit, window=alive)
    found = explained(connection, catalogue, moment=moment, self_report=report, only=only, window=window)
    asked = Asked(moment, at_us, self_report, None if only is None else tuple(only), window)
    found |= provenance(connection, asked)
    _print(found, output, evidence, load, connection)
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
        case: CaseFile = None,
        tz: Zone = None,
        patterns: Patterns = None,
        quiet: Quiet = False,
        **extra: Any,
    ) -> None:
        connection = open_evidence(inputs, case, tz=tz, patterns=patterns, quiet=quiet).connection
        window = parse_window(around, since, until)
        ask = Ask(
            connection=connection,
            loads=chosen_loads(connection, wanted=load, unit=unit, window=window),
            around_us=None if around is None else parse_time(around, "--around"),
            since_us=None if since is None else parse_time(since, "--since"),
            until_us=None if until is None else parse_time(until, "--until"),
            unit=None if unit is None else known_unit(connection, unit),
            evidence=evidence,
            extra=extra,
        )
        print_answer(ask, question(ask), output)

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


def _note(text: str) -> None:
    typer.echo(visible(f"forensics: {text}"), err=True)


@app.command("check")
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...", help="Cases, folders of cases, and TOML files of assertions; fixtures without it."
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help="What to hold assertions against, in place of their inputs.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="A case or a folder that assertions compare with.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write what comes out of cases over what is kept.")] = False,
    output: Annotated[CheckFormat, typer.Option("--format", help="How to print the outcome.")] = CheckFormat.TEXT,
) -> None:
    """Check assertions about your own logs, or that recorded cases give what is kept beside them."""
    catalogue = load_catalogue()
    outcomes: list[Outcome] = []
    for path in paths or [Path("fixtures")]:
        if is_assertions(path):
            asserted = load_assertions(path)
            asserted = replace(
                asserted, inputs=tuple(inputs or asserted.inputs), baseline=baseline or asserted.baseline
            )
            outcomes += check_assertions(asserted, catalogue, _note)
        else:
            outcomes += [check_case(case, catalogue, update=update) for case in find_cases([path])]
    typer.echo(render_outcomes(outcomes, output))
    raise typer.Exit(exit_code_of(outcomes))


@app.command("diff")
def diff_loads(
    before: Annotated[str, typer.Argument(help="A load (number, id, boot:-2), or without INPUT files or a folder.")],
    after: Annotated[str, typer.Argument(help="The load or the input to compare with it.")],
    inputs: Inputs = None,
    at: Annotated[str, typer.Option("--at", help="A moment of both loads: ready, last or asleep.")] = "last",
    output: Output = Format.TABLE,
    evidence: WithEvidence = False,
    case: CaseFile = None,
    tz: Zone = None,
    patterns: Patterns = None,
    quiet: Quiet = False,
) -> None:
    """Compare two loads of one case, or of two: what holds more or less memory, and what else differs."""
    if at not in {"ready", "last", "asleep"}:
        raise UsageError(f"--at {at}: two loads are compared at ready, last or asleep")
    if inputs or case is not None:
        opened = [open_evidence(inputs, case, tz=tz, patterns=patterns, quiet=quiet)]
        sides = [(opened[0].connection, pick(opened[0].connection, wanted)) for wanted in (before, after)]
    else:
        opened = [open_evidence([side], None, tz=tz, patterns=patterns, quiet=quiet) for side in (before, after)]
        sides = [(one.connection, pick(one.connection, None)) for one in opened]
    ask = Ask(sides[0][0], evidence=evidence, cases=tuple(one.connection for one in opened))
    print_answer(ask, diff(sides[0], sides[1], opened[0].catalogue, at), output)


cmd_case.register(app)
cmd_formats.register(app)
cmd_trust.register(app)
cmd_capture.register(app)


def _print(
    found: dict[str, object],
    output: Format,
    evidence: bool,
    load: str | None,
    connection: duckdb.DuckDBPyConnection,
) -> None:
    if output is Format.JSON:
        typer.echo(render_json(found))
    elif output is Format.MD:
        typer.echo(render_markdown(found, load=load))
    elif output is Format.HTML:
        typer.echo(cmd_trust.page_of(connection, found, load=load), nl=False)
    else:
        render_table(found, Console(highlight=False), evidence=evidence, load=load)


def main() -> None:
    """Run the command line; errors that we know become a line or two on stderr and exit code 2."""
    try:
        app()
    except ForensicsError as error:
        for line in str(error).splitlines():
            typer.echo(f"forensics: {line}", err=True)
        sys.exit(2)
    except RuntimeError as error:
        # What duckdb (1.x, its Python client) makes of Ctrl-C while it works.
        if str(error) != "Query interrupted":
            raise
        typer.echo("Aborted!", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
