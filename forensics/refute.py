"""Sort what a search by words would return into evidence for, against, and lines that are another load's."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .answer import Ask
from .document import last_part
from .explain import iso
from .window import Window

__all__ = [
    "Elsewhere",
    "Looks",
    "Refutation",
    "Window",
    "every_load",
    "loads_in",
    "looks",
    "not_its_own",
    "refutation_document",
    "refute",
    "window_of",
]

DIGEST = re.compile(r"(sha\d+[-:][0-9a-f]{8})[0-9a-f]{24,}")


class Looks(NamedTuple):
    """A line that looks like evidence on a topic."""

    line_id: str
    source: str
    ordinal: int
    at_us: int | None
    load_id: str | None
    candidates: tuple[str, ...]
    reason: str
    suspect: str | None
    says: str
    what: str
    text: str


@dataclass
class Elsewhere:
    """Lines in the window that another load owns: evidence about it, not about the load in question."""

    load: Mapping[str, Any]
    lines: list[Looks] = field(default_factory=list)


@dataclass
class Refutation:
    """The lines on a topic, from the point of view of one load."""

    favouring: list[Looks] = field(default_factory=list)
    against: list[Looks] = field(default_factory=list)
    silent: list[Looks] = field(default_factory=list)
    elsewhere: list[Elsewhere] = field(default_factory=list)
    ambiguous: list[Looks] = field(default_factory=list)
    ownerless: list[Looks] = field(default_factory=list)
    suspected: list[Looks] = field(default_factory=list)

    def cited(self) -> list[str]:
        """Ids of all lines, most telling first."""
        groups: Iterable[Sequence[Looks]] = (
            self.favouring,
            self.against,
            *(one.lines for one in self.elsewhere),
            self.ambiguous,
            self.silent,
            self.ownerless,
            self.suspected,
        )
        return [line.line_id for group in groups for line in group]


def window_of(ask: Ask) -> Window | None:
    """The span asked for, or None if none was."""
    return ask.window


def every_load(ask: Ask) -> dict[str, dict[str, Any]]:
    """All loads by id, in order of time, each with the name that a person calls it and the extent of its lines."""
    rows = ask.rows(
        """
        SELECT loads.*, load.ready_line, said.called, extent.source, extent.first, extent.last
        FROM loads
        JOIN load USING (load_id)
        LEFT JOIN (
            SELECT load_id, arg_max(model, ordinal) AS called
            FROM model_identified WHERE believed AND load_id IS NOT NULL AND what = 'name' GROUP BY load_id
        ) AS said USING (load_id)
        LEFT JOIN (
            SELECT load_id, arg_min(source_id, ordinal) AS source, min(ordinal) AS first, max(ordinal) AS last
            FROM line WHERE load_id IS NOT NULL GROUP BY load_id
        ) AS extent USING (load_id)
        ORDER BY loads.number
        """
    )
    for row in rows:
        row["name"] = _name(row)
    return {row["load_id"]: row for row in rows}


def _name(load: Mapping[str, Any]) -> str:
    label = None if load["label"] and DIGEST.search(load["label"]) else load["label"]
    text = str(label or load["called"] or load["model"] or load["label"] or load["unit"] or "unknown model")
    return DIGEST.sub(r"\1…", last_part(text))


def loads_in(ask: Ask, loads: Mapping[str, dict[str, Any]], window: Window | None) -> list[dict[str, Any]]:
    """Loads whose life reaches into a span, in order of time; all of them if there is no span."""
    return [
        row
        for row in loads.values()
        if ask.unit in (None, row["unit"]) and (window is None or window.touches(row["begun_us"], row["ended_us"]))
    ]


def looks(ask: Ask, topic: str) -> list[Looks]:
    """All lines on a topic, whoever owns them."""
    return [
        Looks(
            line_id=row["line_id"],
            source=row["source_id"],
            ordinal=row["ordinal"],
            at_us=row["at_us"],
            load_id=row["load_id"],
            candidates=tuple((row["candidates"] or "").split()),
            reason=row["reason"],
            suspect=row["suspect"],
            says=row["says"],
            what=row["what"],
            text=row["text"],
        )
        for row in ask.rows("SELECT * FROM lookalikes WHERE topic = ?", [topic])
    ]


def refute(
    lines: Sequence[Looks], load: Mapping[str, Any], loads: Mapping[str, Mapping[str, Any]], window: Window | None
) -> Refutation:
    """Sort the lines on a topic from the point of view of one load.

    The load's own lines count wherever they stand. Of the others, those in the window are named with their owner;
    without a window, those written while the load lived.

    Args:
        lines: Lines on the topic, as `looks` gives them.
        load: The load in question.
        loads: All loads by id.
        window: The span asked for.
    """
    span = window or Window(load["begun_us"], load["ended_us"])

    def near(line: Looks) -> bool:
        """Whether a line stands in the window; in a log without times, between the load's first and last line."""
        if line.at_us is None and load["first"] is not None:
            return bool(line.source == load["source"] and load["first"] <= line.ordinal <= load["last"])
        return span.holds(line.at_us)

    found = Refutation()
    owners: dict[str, Elsewhere] = {}
    for line in lines:
        if line.suspect:
            if near(line):
                found.suspected.append(line)
        elif line.load_id == load["load_id"]:
            own = {"for": found.favouring, "against": found.against}.get(line.says, found.silent)
            own.append(line)
        elif line.load_id is not None:
            if near(line) and line.load_id in loads:
                owners.setdefault(line.load_id, Elsewhere(loads[line.load_id])).lines.append(line)
        elif line.candidates:
            if load["load_id"] in line.candidates and (window is None or window.holds(line.at_us)):
                found.ambiguous.append(line)
        elif near(line):
            found.ownerless.append(line)
    found.elsewhere = sorted(owners.values(), key=lambda one: int(one.load["number"]))
    return found


def not_its_own(
    found: Refutation,
    numbers: Callable[[Sequence[Looks]], str],
    says: Collection[str] = ("for", "against", "nothing"),
    favouring: str = "",
) -> list[tuple[str, str, str]]:
    """Rows of a screen that name the owner of each line that is set aside, the kinds of one owner's lines once each.

    Args:
        found: The sorted lines.
        numbers: What cites some lines.
        says: What a line must mean for its owner to be listed.
        favouring: What lines that speak for it are called together; empty to name each kind.
    """
    rows: list[tuple[str, str, str]] = []
    for owner in found.elsewhere:
        kinds: dict[str, list[Looks]] = {}
        for line in owner.lines:
            if line.says in says:
                kinds.setdefault(favouring if favouring and line.says == "for" else line.what, []).append(line)
        for what, some in kinds.items():
            whose = f"load {owner.load['number']} ({owner.load['name']})"
            rows.append(("" if rows else "not its own", f"{whose}: {what}", numbers(some)))
    return rows


def refutation_document(found: Refutation, limit: int = 40) -> dict[str, Any]:
    """The sorted lines for a document; each group says how many it holds, and lists at most `limit`."""

    def entry(line: Looks) -> dict[str, Any]:
        return {"evidence": line.line_id, "at": iso(line.at_us), "says": line.says, "what": line.what}

    return {
        "for": [line.line_id for line in found.favouring[:limit]],
        "for_count": len(found.favouring),
        "against": [line.line_id for line in found.against[:limit]],
        "against_count": len(found.against),
        "elsewhere": [
            {
                "load_id": one.load["load_id"],
                "number": one.load["number"],
                "name": one.load["name"],
                "count": len(one.lines),
                "lines": [entry(line) for line in one.lines[:limit]],
            }
            for one in found.elsewhere
        ],
        "ambiguous": [
            {**entry(line), "candidates": list(line.candidates), "reason": line.reason}
            for line in found.ambiguous[:limit]
        ],
        "ambiguous_count": len(found.ambiguous),
        "looks_only": [entry(line) for line in found.silent[:limit]],
        "looks_only_count": len(found.silent),
        "without_owner": [{**entry(line), "reason": line.reason} for line in found.ownerless[:limit]],
        "without_owner_count": len(found.ownerless),
        "suspected": [{**entry(line), "reason": line.suspect} for line in found.suspected[:limit]],
        "suspected_count": len(found.suspected),
    }
