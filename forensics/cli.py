"""The command line: each command parses, calls one function, renders, and exits."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from . import __version__
from .errors import ForensicsError

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


def main() -> None:
    """Run the command line; errors that we know become a line or two on stderr and exit code 2."""
    asked = [module for module, commands in COMMANDS.items() if sys.argv[1:2] and sys.argv[1] in commands.split()]
    try:
        _with(asked or COMMANDS)()
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
