"""The commands that hold one thing against another: check for CI, and diff of two loads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .answer import Ask
from .assertions import check_assertions, is_assertions, load_assertions
from .catalogue import load_catalogue
from .check_formats import CheckFormat, render_outcomes
from .cmd_options import CaseFile, Inputs, Patterns, Quiet, WithEvidence, Zone, open_evidence
from .diff import diff, pick
from .errors import UsageError
from .outcome import Outcome, exit_code_of
from .printing import Format, Output, print_answer
from .regress import check_case, find_cases
from .safe import visible

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Make commands of the functions of this module."""
    app.command("check")(check_command)
    app.command("diff")(diff_command)


def _note(text: str) -> None:
    typer.echo(visible(f"forensics: {text}"), err=True)


def check_command(
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


def diff_command(
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
