"""The options that commands share, and what opens the evidence they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .casefile import is_case
from .errors import UsageError
from .opened import Opened, open_case, open_inputs
from .safe import visible

__all__ = [
    "Around",
    "CaseFile",
    "Inputs",
    "Patterns",
    "Quiet",
    "Since",
    "Unit",
    "Until",
    "WhichLoad",
    "WithEvidence",
    "Zone",
    "open_evidence",
]

Inputs = Annotated[
    list[str] | None, typer.Argument(metavar="[INPUT]...", help="Files and folders; - is standard input.")
]
CaseFile = Annotated[
    Path | None, typer.Option("--case", metavar="FILE", help="A case that `ingest` wrote, instead of inputs.")
]
WhichLoad = Annotated[str | None, typer.Option("--load", help="A load: its number, id, model or unit.")]
Zone = Annotated[
    str | None, typer.Option("--tz", help="Zone of telemetry times that print none, such as Europe/Berlin.")
]
Around = Annotated[str | None, typer.Option("--around", help="A moment: look at the loads and lines around it.")]
Since = Annotated[str | None, typer.Option("--since", help="Begin of the span to look at.")]
Until = Annotated[str | None, typer.Option("--until", help="End of the span to look at.")]
Unit = Annotated[str | None, typer.Option("--unit", help="Look at one unit only.")]
WithEvidence = Annotated[bool, typer.Option("--evidence", help="Print the lines behind each number.")]
Patterns = Annotated[list[Path] | None, typer.Option("--patterns", help="A pattern file of your own; may repeat.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")]


def open_evidence(
    inputs: Sequence[str] | None,
    case: Path | None,
    *,
    tz: str | None = None,
    at_us: int | None = None,
    patterns: Sequence[Path] | None = None,
    quiet: bool = False,
) -> Opened:
    """Open what a command was asked about, with notes and progress on stderr.

    Raises:
        UsageError: There is no input, or the options do not go together.
    """
    if case is None and inputs and len(inputs) == 1 and is_case(Path(inputs[0])):
        case, inputs = Path(inputs[0]), None
    if case is not None:
        if inputs:
            raise UsageError("give inputs or --case FILE, not both; forensics ingest INPUT… --case FILE adds to a case")
        if tz is not None or patterns:
            raise UsageError("--tz and --patterns are decided when a case is made: give them to forensics ingest")
        opened = open_case(case, at_us=at_us)
    elif inputs:
        from .progress import progress  # noqa: PLC0415  # a case is opened without it

        with progress(quiet=quiet) as on_progress:
            opened = open_inputs(inputs, tz=tz, at_us=at_us, patterns=patterns or (), on_progress=on_progress)
    else:
        raise UsageError("no input: give log files, telemetry files or a folder that holds both, or --case FILE")
    if not quiet:
        for note in opened.notes:
            typer.echo(visible(f"forensics: {note}"), err=True)
    return opened
