"""The command explain-vram."""

from __future__ import annotations

import duckdb
import typer
from rich.console import Console

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
from .explain import exit_code
from .looked_at import explained
from .opened import chosen_loads, parse_window
from .printing import At, Format, Output, SelfReport, parse_moment, parse_self_report
from .provenance import Asked, provenance
from .report import render_table
from .report_json import render_json
from .report_markdown import render_markdown
from .window import Window

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Make a command of the function of this module."""
    app.command("explain-vram")(explain_command)


def explain_command(
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
        from .cmd_capture import this_machine  # noqa: PLC0415  # reads inputs, as --case does not

        opened = this_machine(at_us=at_us, patterns=patterns or (), quiet=quiet)
    connection = opened.connection
    report = parse_self_report(self_report, load)
    window = parse_window(around, since, until)
    alive = window if at_us is None else Window(at_us, at_us)
    only = chosen_loads(connection, wanted=load, unit=unit, window=alive)
    found = explained(connection, opened.files, moment=moment, self_report=report, only=only, window=window)
    asked = Asked(moment, at_us, self_report, None if only is None else tuple(only), window)
    found |= provenance(connection, asked)
    _print(found, output, evidence, load, connection)
    raise typer.Exit(exit_code(found))


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
        from .cmd_trust import page_of  # noqa: PLC0415  # charts and pages take long to import

        typer.echo(page_of(connection, found, load=load), nl=False)
    else:
        render_table(found, Console(highlight=False), evidence=evidence, load=load)
