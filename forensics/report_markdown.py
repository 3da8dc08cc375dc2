"""Print a document as Markdown that can be pasted into an issue: the same view as the screen, with its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.bars import bar, glyph
from forensics.document import Document
from forensics.safe import for_markdown, for_markdown_block
from forensics.view import Card, Cited, Entry, OtherLoad, Row, view

__all__ = ["render_markdown"]

BAR_CELLS = 72

LONGEST_TEXT = 400
"""Characters of a cited line; JSON has all of it."""


def render_markdown(document: Document, *, load: str | None = None) -> str:
    """The document as Markdown, one line feed at its end."""
    shown = view(document, load)
    blocks: list[str] = [for_markdown(shown.verdict)]
    blocks.append(" · ".join(map(for_markdown, shown.identity)))
    blocks.append(" · ".join(map(for_markdown, shown.notes)))
    blocks.append(_entries("", shown.failure))
    for card in shown.cards:
        blocks += _card(card)
    blocks += (f"{line.head}: " + " · ".join(map(for_markdown, line.pieces)) for line in shown.elsewhere)
    if shown.report_title:
        blocks += [f"**Self-report:** {for_markdown(shown.report_title)}", _table(shown.report_rows)]
    blocks.append(_entries("Findings", shown.findings))
    blocks.append(_entries("For and against", shown.looked_at))
    blocks.append(_entries("Set aside", shown.set_aside))
    blocks.append(_entries("Missing", shown.missing))
    blocks.append(_other_loads(shown.other_loads))
    blocks.append(f"**Next:** {for_markdown(shown.next_step)}")
    blocks.append(f"**Read:** {for_markdown(shown.coverage)}" if shown.coverage else "")
    if shown.legend:
        blocks += ["**Evidence**", for_markdown_block(_legend(shown.legend))]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _card(card: Card) -> Iterator[str]:
    yield f"**{for_markdown(' · '.join((*card.title, card.figure)))}**"
    if card.total_bytes:
        cells = bar(card.segments, card.total_bytes, BAR_CELLS)
        yield for_markdown_block(["".join(glyph(fill) * width for fill, width in cells)])
    yield _table(card.rows)
    yield for_markdown(card.remark)
    if card.beside:
        yield "Besides: " + " · ".join(map(for_markdown, card.beside))


def _table(rows: Iterable[Row]) -> str:
    lines = ["| | kind | part | MiB | known | evidence | note |", "|---|---|---|--:|---|---|---|"]
    for row in rows:
        fill = glyph(row.fill) if row.fill else ""
        texts = (row.kind, row.part, row.amount, row.basis, row.evidence, row.note)
        lines.append(f"| {fill} | " + " | ".join(map(for_markdown, texts)) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _entries(title: str, entries: Iterable[Entry]) -> str:
    lines = []
    for entry in entries:
        text = " ".join(
            filter(None, (for_markdown(entry.why), f"({for_markdown(entry.evidence)})" if entry.evidence else ""))
        )
        what = for_markdown(entry.what)
        lines.append("* " + (f"{what}: {text}" if what and text else what or text))
        if entry.remedy:
            lines[-1] += f" → {for_markdown(entry.remedy)}"
    if not lines:
        return ""
    return "\n".join([f"**{title}**", "", *lines] if title else lines)


def _other_loads(loads: Iterable[OtherLoad]) -> str:
    lines = [
        "* " + ", ".join(for_markdown(text) for text in (f"{load.identifier} {load.model}".strip(), *load[2:]) if text)
        for load in loads
    ]
    return "\n".join(["**Other loads in this evidence**", "", *lines]) if lines else ""


def _legend(legend: Iterable[Cited]) -> Iterator[str]:
    for cited in legend:
        yield "  ".join(filter(None, (cited.alias, cited.place, cited.time, cited.owner)))
        if cited.text:
            cut = len(cited.text) > LONGEST_TEXT
            yield "    " + cited.text[:LONGEST_TEXT] + ("…" if cut else "")
