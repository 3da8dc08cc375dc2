"""Print the rows of a query: every cell visible and inert, and how many loads the rows are about."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from .query import Result
from .report_json import render_json
from .safe import for_csv, for_markdown, for_terminal

__all__ = ["print_result"]

CELL = 200
"""Terminal cells of one value in a table; the other formats give it whole."""

LEGIBLE = 8
"""Terminal cells that a column needs at least, if it has so many: below that words fold into letters."""

NUMBERS = (int, float, Decimal)


def print_result(result: Result, output: str, console: Console | None = None) -> None:
    """Print rows as table, json, csv or md; what is about the result goes to stderr where rows are data."""
    if output == "json":
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
        typer.echo(render_json({"columns": list(result.columns), "rows": rows, "more": result.more}), nl=False)
    elif output == "csv":
        typer.echo(_csv(result), nl=False)
    elif output == "md":
        typer.echo(_markdown(result), nl=False)
    else:
        console = console or Console(highlight=False)
        console.print(_table(result) if _fits(result, console.width) else _records(result))
    for note in notes(result):
        typer.echo(note, err=output != "table")


def notes(result: Result) -> list[str]:
    """What a reader must know about the rows: that there are more, and that they are of several loads."""
    found: list[str] = []
    if not result.rows:
        found.append("(no rows)")
    if result.more:
        found.append(f"(the first {len(result.rows)} rows; there are more: --rows)")
    if result.loads > 1:
        found.append(f"({result.loads} loads in this result)")
    return found


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _table(result: Result) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(result.columns):
        right = all(isinstance(row[place], NUMBERS) or row[place] is None for row in result.rows)
        table.add_column(
            for_terminal(name),
            justify="right" if right and result.rows else "left",
            overflow="fold",
            header_style="dim",
        )
    last: Any = None
    where = result.columns.index("load_id") if result.loads > 1 else None
    for row in _by_load(result):
        if where is not None and last is not None and row[where] != last:
            table.add_row()
        last = None if where is None else row[where]
        table.add_row(*(for_terminal(_short(value)) for value in row))
    return table


def _fits(result: Result, width: int) -> bool:
    """Whether each column of a table would be wide enough to be read."""
    wanted = (
        max(cell_len(_short(value)) for value in (name, *(row[place] for row in result.rows)))
        for place, name in enumerate(result.columns)
    )
    return sum(min(LEGIBLE, cells) + 2 for cells in wanted) <= width + 2


def _records(result: Result) -> Table:
    """Each row as lines of its own: a column's name, and its value."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for number, row in enumerate(_by_load(result) or [("",) * len(result.columns)]):
        if number:
            table.add_row()
        for name, value in zip(result.columns, row, strict=True):
            table.add_row(for_terminal(name), for_terminal(_short(value)))
    return table


def _by_load(result: Result) -> Sequence[tuple[Any, ...]]:
    """Rows in the order that the query asks for; if it asks for none, those of one load together."""
    if result.loads <= 1 or result.ordered:
        return result.rows
    return _grouped(result.rows, result.columns.index("load_id"))


def _grouped(rows: Sequence[tuple[Any, ...]], where: int) -> list[tuple[Any, ...]]:
    """Rows of one load together, in the order in which the loads come first."""
    groups: dict[Any, list[tuple[Any, ...]]] = {}
    for row in rows:
        groups.setdefault(row[where], []).append(row)
    return [row for group in groups.values() for row in group]


def _short(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= CELL else text[:CELL] + "…"


def _csv(result: Result) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([for_csv(name) for name in result.columns])
    writer.writerows([_cell(value) for value in row] for row in result.rows)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    """A number is written as it is: a sign makes no formula of it."""
    if isinstance(value, NUMBERS):
        return str(value)
    return for_csv(_text(value))


def _markdown(result: Result) -> str:
    lines = [
        "| " + " | ".join(for_markdown(name) for name in result.columns) + " |",
        "|" + "|".join("---" for _ in result.columns) + "|",
        *("| " + " | ".join(for_markdown(_text(value)) for value in row) + " |" for row in result.rows),
    ]
    return "\n".join(lines) + "\n"
