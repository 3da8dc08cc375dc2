"""Commands that look at this machine: capture, and explain-vram without inputs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .bundle import Bundle, files_of, words
from .capture import capture, collect
from .catalogue import load_catalogue
from .cmd_options import Quiet
from .errors import UsageError
from .opened import Opened, open_inputs
from .records import Named
from .safe import visible

__all__ = ["register", "this_machine"]

LOOK_S = 1.5
"""How long the cards are sampled for an answer about this machine: a few samples, so that one is whole."""


def register(app: typer.Typer) -> None:
    """Make commands of the functions of this module."""
    app.command("capture")(capture_command)


def capture_command(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an archive: NAME.tar.gz.")],
    unit: Annotated[
        list[str] | None, typer.Option("--unit", help="A unit to take in, besides those that are found; may repeat.")
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0, max=3600, help="How long to sample the cards.")] = 5.0,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace users, hosts, addresses, paths and secrets; numbers stay.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Take one bundle of evidence from this machine: journal, cards, self-reports, versions and units."""

    def tell(text: str) -> None:
        if not quiet:
            typer.echo(f"forensics: {text} …", err=True)

    bundle = capture(target, load_catalogue(), units=unit or (), seconds=seconds, anonymize=anonymize, tell=tell)
    _say(bundle, target)


def _say(bundle: Bundle, target: Path) -> None:
    count, size = len(bundle.files), sum(one["size_bytes"] for one in bundle.files)
    typer.echo(visible(f"{target}: {count} file{'s' * (count > 1)}, {size} bytes"))
    for entry in sorted(bundle.files, key=lambda one: str(one["name"])):
        typer.echo(visible(f"  {entry['name']}: {entry['what']}"))
    for text in words(bundle.not_read):
        typer.echo(visible(f"  {text}"))
    if not bundle.services and not bundle.servers:
        typer.echo("  No known server was found, by a unit or a process; name its unit: --unit NAME.")
    if not any(files_of(bundle)):
        typer.echo("Nothing in it is evidence of a server or a card.")
    else:
        typer.echo(visible(f"Next  forensics explain-vram {target}"))


def this_machine(*, at_us: int | None = None, patterns: Sequence[Path] = (), quiet: bool = False) -> Opened:
    """Evidence of this machine, taken now and opened like any other.

    Raises:
        UsageError: There is nothing to look at; the message says what may not be read and how it could be.
    """
    folder = Path(tempfile.mkdtemp(prefix="forensics-live-"))
    try:
        if not quiet:
            typer.echo("forensics: no input: looking at this machine …", err=True)
        bundle = collect(folder, load_catalogue(patterns), seconds=LOOK_S)
        inputs = [Named(f"this machine: {path.name}", path) for path in files_of(bundle)]
        if not inputs:
            what = "no input, and nothing to look at on this machine: give log files, telemetry files, a folder that "
            raise UsageError(f"{what}holds both, or --case FILE", *words(bundle.not_read))
        opened = open_inputs(inputs, at_us=at_us, patterns=patterns)
        for text in () if quiet else (*words(bundle.not_read), *opened.notes):
            typer.echo(visible(f"forensics: {text}"), err=True)
        return opened
    finally:
        shutil.rmtree(folder, ignore_errors=True)
