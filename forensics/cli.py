"""The command line: each command parses, calls one function, renders, and exits."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from . import __version__
from .errors import ForensicsError, UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["app", "main"]

COMMANDS = {
    "cmd_explain": "explain-vram",
    "cmd_ask": "crashes kv loads swaps timeline traffic soak spec validity",
    "cmd_check": "check diff",
    "cmd_case": "ingest query shell questions",
    "cmd_formats": "formats",
    "cmd_trust": "report verify",
    "cmd_capture": "capture",
}
"""Modules with their commands, in the order in which help lists them. One that is run loads its own module only."""


app: typer.Typer  # made by __getattr__


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forensics {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Where did the VRAM go? Answers from the logs and telemetry of self-hosted LLM servers."""
    del version


def _with(modules: Iterable[str]) -> typer.Typer:
    app = typer.Typer(
        name="forensics",
        help="Where did the VRAM go? Answers from the logs and telemetry of self-hosted LLM servers.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    for name in modules:
        import_module(f"{__package__}.{name}").register(app)
    return app


def __getattr__(name: str) -> typer.Typer:
    """All commands as one Typer application, for whoever wants `app`."""
    if name != "app":
        raise AttributeError(name)
    return _with(COMMANDS)


class _Output(io.FileIO):
    """A stream whose reader may go: what it does not read is dropped, and the exit code stays that of the answer.

    What says how it goes may be lost too, but an answer that a full disk does not take is an error.

    To die by SIGPIPE would leave temporary files, and hide what a check found from whoever reads its first line.
    """

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            # Nothing more can be written, also not what is still held back.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError) or self.fileno() == 2:
                return memoryview(content).nbytes
            raise UsageError(f"what is printed cannot be written: {error.strerror}") from error


def _outlive_readers() -> None:
    """Make the standard streams such outputs, unless they are closed or stand for something else."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream is getattr(sys, f"__{name}__"):
            output = io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False))
            lines = stream.line_buffering
            setattr(sys, name, io.TextIOWrapper(output, stream.encoding, stream.errors, line_buffering=lines))


def main() -> None:
    """Run the command line; errors that we know become a line or two on stderr and exit code 2."""
    _outlive_readers()
    # Reading makes objects by the million, and hardly any in cycles: to look for these took an eighth of the time.
    gc.set_threshold(200_000, 50, 1000)
    asked = [module for module, commands in COMMANDS.items() if sys.argv[1:2] and sys.argv[1] in commands.split()]
    try:
        try:
            _with(asked or COMMANDS)()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ForensicsError as error:
        from .safe import visible  # noqa: PLC0415  # takes long to import

        for line in error.args:
            typer.echo(visible(f"forensics: {line}"), err=True)
        sys.exit(2)
    except RuntimeError as error:
        # What duckdb (1.x, its Python client) makes of Ctrl-C while it works.
        if str(error) != "Query interrupted":
            raise
        typer.echo("Aborted!", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
