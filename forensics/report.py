"""Print the answer to "where did the memory go": a screen for a terminal; Markdown and JSON live beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from forensics.bars import Fill, bar, glyph
from forensics.document import Document
from forensics.report_json import render_json
from forensics.report_markdown import render_markdown
from forensics.safe import excerpt, fold, visible
from forensics.view import ENTRIES, Card, Entry, OtherLoad, Row, View, view

__all__ = ["Screen", "render_json", "render_markdown", "render_table"]

STYLES = {
    Fill.WEIGHTS: "blue",
    Fill.CACHE: "magenta",
    Fill.STATE: "cyan",
    Fill.COMPUTE: "green",
    Fill.OTHER: "bright_blue",
    Fill.RUNTIME: "yellow",
    Fill.UNEXPLAINED: "bold red",
    Fill.ELSE: "bright_black",
    Fill.FREE: "bright_black",
}
"""Colours help and are never needed: each fill has a character of its own."""

ASCII_SIGNS = str.maketrans({"·": "|", "−": "-", "–": "-", "—": "-", "…": "...", "×": "x", "→": "->"})
"""Our own signs for a console without them."""

LEAST_NAME = 12
"""Cells that a model's name keeps in a line of its own."""

LEAST_WIDTH, MOST_WIDTH = 40, 120
NOTE_WIDTH = 18
"""A note narrower than this goes under its row instead."""

GAPS = (2, 2, 1, 1, 2)
"""Spaces behind each column of a row: kind, part, amount, basis, evidence."""

EXCERPT_LINES = 4
"""Lines of one cited text that the legend shows; the JSON has all."""

KEPT_TOGETHER = re.compile(r"(?<=[\d.]) (?=(?:MiB|GiB|s|h|min|%|UTC)\b|%)|(?<=\bGPU) (?=\d)|(?<=\bpid) (?=\d)")
"""Spaces at which no line is broken."""


def render_table(document: Document, console: Console, *, evidence: bool = False, load: str | None = None) -> None:
    """Print a document's screen at the console's width.

    Args:
        document: What `explain-vram` found (design: the JSON contract).
        console: Decides width, colour and whether block characters can be shown.
        evidence: Add the legend: where each alias points to, and the line itself.
        load: The load to show in full: an id or its beginning, a model or a unit. The newest without it.
    """
    console.print(Screen(view(document, load), evidence), crop=False, no_wrap=True, overflow="ignore", highlight=False)


class Screen:
    """A document's view as lines of a terminal."""

    def __init__(self, shown: View, evidence: bool) -> None:
        self.view = shown
        self.evidence = evidence

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        painter = Painter(min(max(options.max_width, LEAST_WIDTH), MOST_WIDTH), options.ascii_only)
        blank = False
        for line in painter.screen(self.view, self.evidence):
            line.no_wrap, line.overflow = True, "ignore"
            line.rstrip()
            if line.plain or not blank:
                yield line
            blank = not line.plain


class Painter:
    """Lays a view out in lines of a given width. Every text passes `fold` or `visible` here, exactly once."""

    def __init__(self, width: int, ascii_only: bool) -> None:
        self.width = width
        self.ascii_only = ascii_only

    def screen(self, shown: View, evidence: bool) -> Iterator[Text]:
        """All lines, top to bottom."""
        for line in self.wrap(shown.verdict, self.width):
            yield Text(line, "bold")
        yield Text()
        yield from self.pieces(shown.identity)
        yield from self.pieces(shown.notes, later=2)
        yield Text()
        yield from self.entries("", shown.failure, labels=True)
        yield Text()
        for card in shown.cards:
            yield from self.card(card, shown)
            yield Text()
        for other in shown.elsewhere:
            yield from self.pieces(other.pieces, f"{other.head}: ", 2)
        yield Text()
        if shown.report_title:
            yield from self.hanging("Self-report  ", shown.report_title, 13, 13)
            yield from self.rows(shown.report_rows, shown)
            yield Text()
        yield from self.entries("Findings", shown.findings, labels=True, all_of_them=evidence)
        yield from self.entries("For and against", shown.looked_at, labels=True, all_of_them=evidence)
        yield from self.entries("Set aside", shown.set_aside, all_of_them=evidence)
        yield from self.entries("Missing", shown.missing, all_of_them=evidence)
        yield from self.others(shown.other_loads, evidence)
        yield Text()
        if evidence:
            yield from self.legend(shown)
            yield Text()
        yield from self.hanging("Next  ", shown.next_step, 6, 6)
        if shown.legend and not evidence:
            yield from self.dim(f"--evidence prints the lines behind {shown.legend[0].alias}, …", 6)
        if shown.coverage:
            yield Text()
            yield from (Text(line.plain, "dim") for line in self.hanging("Read  ", shown.coverage, 6, 6))

    # -- words ----------------------------------------------------------------------------------------------------

    def ours(self, text: str) -> str:
        """Our own words and signs, or a sentence with a name from the log in it."""
        return visible(text.translate(ASCII_SIGNS) if self.ascii_only else text, self.ascii_only)

    def wrap(self, text: str, first: int, later: int | None = None) -> list[str]:
        """Break a sentence at spaces, never between a figure and its unit; what fits no line is folded."""
        later = first if later is None else later
        if self.ascii_only:
            text = text.translate(ASCII_SIGNS)
        lines: list[str] = [""]
        for word in _words(text):
            room = (first if len(lines) == 1 else later) - cell_len(lines[-1])
            pieces = fold(word, max(later, 8), self.ascii_only)
            gap = " " if lines[-1] else ""
            if cell_len(gap + pieces[0]) <= room and (len(pieces) == 1 or not gap):
                lines[-1:] = [lines[-1] + gap + pieces[0], *pieces[1:]]
            else:
                lines += pieces
        return lines

    def hanging(self, head: str, text: str, indent: int, later: int) -> Iterator[Text]:
        """A head in bold with its text beside it; further lines are indented."""
        lines = self.wrap(text, self.width - max(indent, len(head)), self.width - later)
        yield Text.assemble((head, "bold"), lines[0])
        for line in lines[1:]:
            yield Text(" " * later + line)

    def pieces(self, pieces: Iterable[str], head: str = "", later: int = 0, joint: str = " · ") -> Iterator[Text]:
        """Short pieces in a row, broken between them; one that fits no line is wrapped."""
        joint, line, fresh = self.ours(joint), self.ours(head), True
        for piece in pieces:
            shown = self.ours(piece)
            joined = line + ("" if fresh else joint) + shown
            if cell_len(joined) <= self.width:
                line = joined
            else:
                if line.strip() and not fresh:
                    yield Text(line)
                    line = " " * later
                first, *rest = self.wrap(piece, self.width - cell_len(line), self.width - later)
                for more in (first, *rest)[:-1]:
                    yield Text(line + more)
                    line = " " * later
                line += (first, *rest)[-1]
            fresh = False
        if line.strip():
            yield Text(line)

    # -- cards ----------------------------------------------------------------------------------------------------

    def card(self, card: Card, shown: View) -> Iterator[Text]:
        """Title, bar, rows, what else is on it."""
        title, figure = "  ".join(map(self.ours, card.title)), self.ours(card.figure)
        gap = self.width - cell_len(title) - cell_len(figure)
        if gap >= 2:
            yield Text.assemble((title, "bold"), " " * gap, (figure, "bold"))
        else:
            yield from (Text(line.plain, "bold") for line in self.pieces((*card.title, card.figure), joint="  "))
        if card.total_bytes:
            line = Text()
            for fill, cells in bar(card.segments, card.total_bytes, self.width):
                line.append(glyph(fill, self.ascii_only) * cells, STYLES[fill])
            yield line
        yield from self.rows(card.rows, shown)
        if card.remark:
            yield from self.hanging("    ", card.remark, 4, 4)
        if card.beside:
            lead = glyph(Fill.ELSE, self.ascii_only)
            yield from self.pieces(card.beside, f"  {lead} besides: ", 4)

    def rows(self, rows: Iterable[Row], shown: View) -> Iterator[Text]:
        """Amounts in columns that line up over the whole screen; what has no room goes under its row."""
        everything = [row for card in shown.cards for row in card.rows] + list(shown.report_rows)
        if not everything:
            return
        point = max((len(row.amount.partition(".")[0]) for row in everything), default=0)
        lines = [self.cells(row, point) for row in everything]
        widths = [max(map(cell_len, column), default=0) for column in zip(*lines, strict=True)]
        fits = 4 + sum(width + gap for width, gap in zip(widths, GAPS, strict=True) if width) <= self.width
        for row in rows:
            weight = "bold" if row.fill == Fill.UNEXPLAINED else ""
            sign, style = (glyph(row.fill, self.ascii_only), STYLES[row.fill]) if row.fill else (" ", "")
            line = Text.assemble("  ", (sign, style), " ")
            cells = self.cells(row, point)
            for cell, width, gap in list(zip(cells, widths, GAPS, strict=True))[: 5 if fits else 3]:
                if width:
                    line.append(cell + " " * (width - cell_len(cell) + gap), weight)
            under = () if fits else (row.basis, row.evidence)
            yield from self._with_note(line, ", ".join(filter(None, (*under, row.note))))

    def cells(self, row: Row, point: int) -> list[str]:
        """The columns of a row; figures have their decimal point at the same place."""
        amount = " " * (point - len(row.amount.partition(".")[0])) + row.amount
        return [
            excerpt(row.kind, 20, self.ascii_only),
            excerpt(row.part, 10, self.ascii_only),
            self.ours(amount),
            excerpt(row.basis, 12, self.ascii_only),
            self.ours(row.evidence),
        ]

    def _with_note(self, line: Text, note: str) -> Iterator[Text]:
        """A row and its note: beside it, or under it where the screen is narrow."""
        if not note:
            yield line
            return
        column = line.cell_len
        if self.width - column < NOTE_WIDTH:
            yield line
            yield from (Text(" " * 6 + text) for text in self.wrap(note, self.width - 6))
            return
        lines = self.wrap(note, self.width - column)
        if len(lines) > 3:
            column, lines = 6, ["", *self.wrap(note, self.width - 6)]
        yield line.append(lines[0])
        yield from (Text(" " * column + text) for text in lines[1:])

    # -- lists ----------------------------------------------------------------------------------------------------

    def entries(
        self, title: str, entries: tuple[Entry, ...], labels: bool = False, all_of_them: bool = True
    ) -> Iterator[Text]:
        """A section of points; a long one is cut with a count of what is not shown."""
        if not entries:
            return
        if title:
            yield Text(title, "bold")
        most = _most(len(entries), all_of_them)
        width = max(cell_len(self.ours(entry.what)) for entry in entries) + 2 if labels else 0
        for entry in entries[:most]:
            text = " ".join(filter(None, (entry.why, f"[{entry.evidence}]" if entry.evidence else "")))
            text += f" → {entry.remedy}" if entry.remedy else ""
            if labels:
                lines = self.wrap(text, self.width - 2 - width)
                yield Text("  " + self.ours(entry.what).ljust(width) + lines[0])
                yield from (Text(" " * (2 + width) + line) for line in lines[1:])
            else:
                line = f"{entry.what}: {text}" if entry.what and text else entry.what or text
                first, *rest = self.wrap(line, self.width - 2, self.width - 4)
                yield Text("  " + first)
                yield from (Text("    " + later) for later in rest)
        yield from self.more(len(entries) - most)

    def others(self, loads: tuple[OtherLoad, ...], all_of_them: bool) -> Iterator[Text]:
        """The other loads, one line each; a model's name gives way where the line is too short."""
        if not loads:
            return
        yield Text("Other loads in this evidence", "bold")
        most = _most(len(loads), all_of_them)
        lines = [[self.ours(text) for text in load] for load in loads[:most]]
        widths = [max(cell_len(line[column]) for line in lines) for column in range(5)]
        over = max(sum(width + 2 for width in widths if width) - self.width, 0)
        widths[1] -= over
        for load, line in zip(loads, lines, strict=False):
            if over and widths[1] < LEAST_NAME:
                yield from self.pieces(filter(None, load), "  ", 4)
                continue
            line[1] = excerpt(load.model, widths[1], self.ascii_only)
            cells = zip(line, widths, strict=True)
            yield Text("  " + "  ".join(text + " " * (width - cell_len(text)) for text, width in cells if width))
        yield from self.more(len(loads) - most)

    def more(self, left: int) -> Iterator[Text]:
        """The mark of a list that was cut."""
        if left > 0:
            yield from self.dim(f"… and {left} more; --evidence and --format json show all", 2)

    def dim(self, text: str, indent: int) -> Iterator[Text]:
        """A remark about the screen itself."""
        for line in self.wrap(text, self.width - indent):
            yield Text(" " * indent + line, "dim")

    def legend(self, shown: View) -> Iterator[Text]:
        """Where each alias points to, and the line itself."""
        if not shown.legend:
            return
        yield Text("Evidence", "bold")
        width = max(len(cited.alias) for cited in shown.legend) + 2
        for cited in shown.legend:
            yield from self.hanging(
                "  " + cited.alias.ljust(width),
                " · ".join(filter(None, (cited.place, cited.time, cited.owner))),
                2 + width,
                2 + width,
            )
            lines = fold(cited.text, self.width - 2 - width, self.ascii_only) if cited.text else []
            for line in lines[:EXCERPT_LINES]:
                yield Text(" " * (2 + width) + line)
            if len(lines) > EXCERPT_LINES:
                yield from self.dim(f"… and {len(lines) - EXCERPT_LINES} more lines of it", 2 + width)


def _most(entries: int, all_of_them: bool) -> int:
    return entries if all_of_them or entries <= ENTRIES else ENTRIES - 1


def _words(text: str) -> list[str]:
    """Split at spaces where a line may break."""
    words, start = [], 0
    kept = {match.start() for match in KEPT_TOGETHER.finditer(text)}
    for position, character in enumerate(text):
        if character == " " and position not in kept:
            words.append(text[start:position])
            start = position + 1
    return [word for word in [*words, text[start:]] if word]
