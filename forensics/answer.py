"""What every question gives back: the document that is the contract, and the screen that a person reads.

A question is a function from a case to an `Answer`. Texts in it are raw, as logs hold them; the renderers make them
visible and inert.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .coverage import coverage, coverage_line
from .explain import evidence as evidence_of
from .report_json import render_json
from .safe import for_markdown, for_terminal, visible
from .window import Window

__all__ = ["Answer", "Ask", "Option", "Question", "Section", "answer_json", "answer_markdown", "answer_table"]


@dataclass(frozen=True)
class Section:
    """One table of a screen. A column whose name ends in `>` is aligned to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    `document` is what `--format json` prints; `verdict` is one sentence; `about` are lines under it; `cited` are the
    ids of the lines behind it, most telling first; `next` is the one next step.
    """

    document: Mapping[str, Any]
    verdict: str
    about: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    cited: tuple[str, ...] = ()
    next: str = ""
    code: int = 0
    exports: tuple[tuple[Path, str], ...] = ()
    """Files to write beside, as text."""


@dataclass(frozen=True)
class Ask:
    """What was asked: a case, and which loads, span and unit of it."""

    connection: duckdb.DuckDBPyConnection
    loads: Sequence[str] | None = None
    around_us: int | None = None
    since_us: int | None = None
    until_us: int | None = None
    unit: str | None = None
    evidence: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    cases: Sequence[duckdb.DuckDBPyConnection] | None = None
    """Cases whose logs the answer rests on, where that is not this one alone."""

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """Rows of a query as dicts."""
        cursor = self.connection.execute(sql, list(parameters))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def coverage(self) -> dict[str, Any] | None:
        """What became of the lines of the logs; None if there are none."""
        return coverage((self.connection,) if self.cases is None else self.cases)

    @property
    def window(self) -> Window | None:
        """The span asked for, or None if none was."""
        return Window.of(self.around_us, self.since_us, self.until_us)

    def wants(self, load_id: str | None) -> bool:
        """Whether a load is among those asked for."""
        return self.loads is None or load_id in self.loads


Question = Callable[[Ask], Answer]

ASCII_SIGNS = str.maketrans(
    {
        "·": ".",
        "−": "-",
        "–": "-",
        "—": "-",
        "…": "~",
        "×": "x",
        "→": "->",
        "⇄": "<>",
        "≤": "<=",
        "“": '"',
        "”": '"',
        **dict(zip("▁▂▃▄▅▆▇█▒░▏", "1234567#%+|", strict=True)),
    }
)
"""Our own signs and blocks for a console without them."""


@dataclass(frozen=True)
class Option:
    """An option that one question has beside those of all."""

    name: str
    type: type
    flag: str
    help: str


def _evidence(ask: Ask, answer: Answer) -> dict[str, Any]:
    return evidence_of(ask.connection, set(answer.cited)) if answer.cited else {}


def answer_json(ask: Ask, answer: Answer) -> str:
    """The document with its evidence, as JSON text: the same bytes on every run."""
    more = {"coverage": ask.coverage(), "evidence": _evidence(ask, answer), "next": answer.next}
    return render_json({**answer.document, **more})


def answer_table(ask: Ask, answer: Answer, console: Console) -> None:
    """Print the screen."""
    ascii_only = console.options.ascii_only

    def shown(text: str, style: str = "") -> Text:
        if ascii_only:
            return Text(visible(text.translate(ASCII_SIGNS), ascii_only=True), style=style)
        return for_terminal(text, style)

    console.print(shown(answer.verdict, "bold"))
    for line in answer.about:
        console.print(shown(line))
    for section in answer.sections:
        console.print()
        console.print(shown(section.title, "bold"))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(any(section.columns)))
        for column in section.columns:
            right = column.endswith(">")
            table.add_column(
                shown(column.rstrip(">")), justify="right" if right else "left", overflow="fold", header_style="dim"
            )
        for row in section.rows:
            table.add_row(*(shown(cell) for cell in row))
        console.print(table)
        if section.note:
            console.print(shown(section.note))
    if ask.evidence and answer.cited:
        console.print()
        console.print(Text("Evidence", style="bold"))
        found = _evidence(ask, answer)
        for number, identity in enumerate(answer.cited, 1):
            if identity in found:
                entry = found[identity]
                where = f"{entry['source']}@{entry['offset']}"
                head = f"e{number}  {where}  {entry['time'] or ''}  load {entry['load_id'] or 'none'}"
                console.print(shown(head))
                console.print(shown("    " + entry["text"]))
    if answer.next:
        console.print()
        console.print(Text("Next  ", style="bold") + shown(answer.next))
    if read := coverage_line(ask.coverage()):
        console.print()
        console.print(shown(f"Read  {read}", "dim"))


def answer_markdown(ask: Ask, answer: Answer) -> str:
    """The screen as Markdown."""
    parts = [for_markdown(answer.verdict), *(for_markdown(line) for line in answer.about)]
    for section in answer.sections:
        parts.append(f"## {for_markdown(section.title)}")
        if section.rows:
            rows = [
                "| " + " | ".join(for_markdown(column.rstrip(">")) for column in section.columns) + " |",
                "|" + "|".join("---:" if column.endswith(">") else "---" for column in section.columns) + "|",
                *("| " + " | ".join(for_markdown(cell) for cell in row) + " |" for row in section.rows),
            ]
            parts.append("\n".join(rows))
        if section.note:
            parts.append(for_markdown(section.note))
    if ask.evidence:
        found = _evidence(ask, answer)
        parts.extend(
            f"- e{number} {for_markdown(visible(found[identity]['source']))}@{found[identity]['offset']}, "
            f"load {found[identity]['load_id'] or 'none'}: {for_markdown(found[identity]['text'])}"
            for number, identity in enumerate(answer.cited, 1)
            if identity in found
        )
    if answer.next:
        parts.append(f"**Next** {for_markdown(answer.next)}")
    if read := coverage_line(ask.coverage()):
        parts.append(f"**Read** {for_markdown(read)}")
    return "\n\n".join(parts) + "\n"
