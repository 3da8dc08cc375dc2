"""Arrange an answer document for the eye: what is said, in which order, whatever it is printed as.

All texts here are as they came from the document. Whoever prints them makes them safe, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from forensics.aliases import Aliases, Cited
from forensics.amounts import clock, count, duration, gib, mib, plain
from forensics.bars import Fill
from forensics.card_view import (
    Card,
    Row,
    card_of,
    card_order,
    card_view,
    item_row,
    others_on,
    same_card,
    signed_span,
    together,
)
from forensics.coverage import coverage_line
from forensics.document import (
    Document,
    bounds,
    choose_load,
    is_mapped,
    label,
    mapping,
    maps,
    model_name,
    number,
    quoted,
    short_id,
    size,
    texts,
)
from forensics.verdict import failed, holding, next_step, verdict

__all__ = ["Card", "Cited", "Entry", "Line", "OtherLoad", "Row", "View", "view"]

ENTRIES = 8
"""Entries of one section that a screen shows; the JSON has all."""


class OtherLoad(NamedTuple):
    """A load that is not shown in full."""

    identifier: str
    model: str
    life: str
    end: str
    held: str


class Entry(NamedTuple):
    """One point of a list: what, why, what to do, and its evidence."""

    what: str
    why: str = ""
    remedy: str = ""
    evidence: str = ""


class Line(NamedTuple):
    """Short pieces behind a head."""

    head: str
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """Everything a screen shows, top to bottom."""

    verdict: str
    identity: tuple[str, ...]
    notes: tuple[str, ...]
    failure: tuple[Entry, ...]
    cards: tuple[Card, ...]
    elsewhere: tuple[Line, ...]
    """Memory that is on no card, and cards that the load is not on."""
    report_title: str
    report_rows: tuple[Row, ...]
    findings: tuple[Entry, ...]
    looked_at: tuple[Entry, ...]
    """What a search for this load's lines would return: evidence for, against, and whose the rest is."""
    set_aside: tuple[Entry, ...]
    missing: tuple[Entry, ...]
    other_loads: tuple[OtherLoad, ...]
    next_step: str
    legend: tuple[Cited, ...]
    coverage: str
    """How much of the logs was read; empty if there are none."""


def view(document: Document, asked: str | None = None, aliases: Aliases | None = None) -> View:
    """Arrange a document around one load: the one asked for, or the newest.

    Args:
        document: What `explain-vram` found.
        asked: A load: its id or the beginning of it, its model or its unit.
        aliases: Short names of evidence, to go on with where a page shows several loads.
    """
    load = choose_load(document, asked)
    aliases = aliases or Aliases(mapping(document, "evidence"))
    shown = load or {}
    devices = maps(shown, "devices")
    on_cards = [device for device in devices if (label(device, "where") or "card") in ("card", "shared")]
    failure = _failure(shown, aliases) if load and failed(load) else ()
    cards = tuple(card_view(document, shown, device, aliases) for device in sorted(on_cards, key=card_order))
    cards, said_once = _once(cards)
    report_title, report_rows = _self_report(shown, aliases)
    findings = tuple(_finding(entry, aliases) for entry in maps(shown, "findings"))
    looked_at = tuple(_looked_at(shown, aliases))
    set_aside = tuple(_set_aside(document, shown, aliases))
    advice = label(document, "next") or next_step(document, load)
    return View(
        verdict=label(shown, "verdict") or label(document, "verdict") or verdict(document, load),
        identity=(*_identity(shown), *_in_window(document)) if load else (),
        notes=_notes(shown),
        failure=failure,
        cards=() if failure and not any(card.rows for card in cards) else cards,
        elsewhere=(*said_once, *_elsewhere(document, load, devices, on_cards)),
        report_title=report_title,
        report_rows=report_rows,
        findings=findings,
        looked_at=looked_at,
        set_aside=set_aside,
        # the same of several loads is said once
        missing=tuple(
            dict.fromkeys(
                Entry(label(entry, "what"), label(entry, "because"), _unless(advice, label(entry, "remedy")))
                for entry in maps(document, "missing")
            )
        ),
        other_loads=tuple(
            _other_load(each, label(shown, "begun_at")) for each in maps(document, "loads") if each is not load
        ),
        next_step=advice,
        legend=aliases.legend(),
        coverage=coverage_line(mapping(document, "coverage")),
    )


def _once(cards: tuple[Card, ...]) -> tuple[tuple[Card, ...], tuple[Line, ...]]:
    """The cards, and what is true of the joining of all of them."""
    remarks = {card.remark for card in cards}
    if len(cards) < 2 or len(remarks) != 1 or remarks == {""}:
        return cards, ()
    head, _, by = cards[0].remark.partition(" by ")
    return tuple(replace(card, remark="") for card in cards), (Line(head[:1].upper() + head[1:], (f"by {by}",)),)


def _unless(said: str, text: str) -> str:
    """A remedy that is not the next step already."""
    return "" if text == said else text


def _identity(load: Document) -> tuple[str, ...]:
    """Who the load is, when it got ready and how it was seen."""
    ready, begun, ended = label(load, "ready_at"), label(load, "begun_at"), label(load, "ended_at")
    pieces = [" ".join(filter(None, (label(load, "engine"), label(load, "engine_version"))))]
    pieces.append("" if label(load, "unit") == label(load, "engine") else label(load, "unit"))
    pieces.append(f"pid {label(load, 'pid')}" if label(load, "pid") else "")
    pieces.append(f"load {short_id(load)}" if short_id(load) else "")
    first = ready or begun
    if ready:
        took = duration(begun, ready)
        pieces.append(f"ready {clock(ready)}" + (f" after {took}" if took else ""))
    elif begun:
        # A line that says ready may have no time of its own.
        pieces.append(f"begun {clock(begun)}" + ("" if load.get("ready") else ", never ready"))
    devices = [device for device in maps(load, "devices") if size(device, "measured") is not None]
    ways = {
        "process": "by process",
        "card_less_baseline": "at the card, less its use before",
        "card": "at the card, no baseline",
    }
    seen = {(label(device, "measured_at"), label(device, "measured_by")) for device in devices}
    told = [
        " ".join(filter(None, ("seen", clock(at, first) if at else "", ways.get(way, way)))) for at, way in sorted(seen)
    ]
    pieces.extend(dict.fromkeys(told))
    if ended:
        reason = label(load, "end_reason").replace("_", " ")
        pieces.append(f"ended {clock(ended, first)}" + (f" ({reason})" if reason else ""))
    return tuple(filter(None, pieces))


def _notes(load: Document) -> tuple[str, ...]:
    summary = mapping(load, "summary")
    speculation = label(summary, "speculation")
    if speculation and not speculation.startswith(("speculat", "no ", "does not")):
        speculation = f"speculates: {speculation}"
    return tuple(filter(None, (speculation, *texts(summary, "notes"))))


def _failure(load: Document, aliases: Aliases) -> tuple[Entry, ...]:
    """What was asked, what was there, how it ended."""
    failure = mapping(load, "failure")
    asked, there = size(failure, "asked"), size(failure, "there")
    at_first = " when the load began" if label(failure, "there_at") == "begin" else ""
    evidence = aliases.of(texts(failure, "evidence"))
    entries = [
        Entry("asked", f"{mib(asked)} MiB" if asked is not None else ""),
        Entry("there", f"{mib(there, 0)} MiB{at_first}" if there is not None else ""),
    ]
    if asked is not None and there is not None and asked > there:
        entries.append(Entry("short by", f"{mib(asked - there)} MiB"))
    entries += [Entry("detail" if first else "", text) for first, text in _firsts(texts(failure, "detail"))]
    took = duration(label(load, "begun_at"), label(load, "ended_at"))
    reason = label(load, "end_reason").replace("_", " ")
    if took or reason:
        entries.append(Entry("ended", ", ".join(filter(None, (f"{took} after its start" if took else "", reason)))))
    entries = [entry for entry in entries if entry.why]
    if evidence:
        entries.append(Entry("lines", evidence))
    return tuple(entries)


def _firsts(values: list[str]) -> Iterable[tuple[bool, str]]:
    return ((position == 0, value) for position, value in enumerate(values))


def _elsewhere(
    document: Document, load: Document | None, devices: list[Document], on_cards: list[Document]
) -> Iterable[Line]:
    """One line each for the cards together, for what is on no card, and for cards without this load."""
    if len(on_cards) > 1:
        word = "Both" if len(on_cards) == 2 else f"All {len(on_cards)}"
        yield Line(f"{word} cards, MiB", tuple(together(on_cards)))
    for where, head in (("host", "Host memory, on no card"), ("remote", "On other hosts")):
        pieces = []
        for device in devices:
            if label(device, "where") != where:
                continue
            held = holding(device)
            amount = mib(held.named if held.named or held.measured is None else held.measured)
            pieces.append(f"{label(device, 'device')} {amount}" + (" (file, not held)" if is_mapped(device) else ""))
        if pieces:
            yield Line(head, tuple(pieces))
    taken = [card_of(document, device) for device in on_cards]
    pieces = []
    for card in maps(document, "cards"):
        if any(same_card(card, each) for each in taken):
            continue
        used, total = size(card, "used"), size(card, "total")
        holders = others_on(document, load or {}, {}, dict(card) | {"free_mib": None, "free_bytes": None}, None)[0]
        piece = f"GPU {label(card, 'gpu_index') or '?'}: {'?' if used is None else mib(used, 0)}"
        piece += f" of {mib(total, 0)} MiB" if total else " MiB"
        pieces.append(piece + (f" ({', '.join(holders)})" if holders else ""))
    if pieces:
        yield Line("Cards without it" if load else "Cards", tuple(pieces))


def _self_report(load: Document, aliases: Aliases) -> tuple[str, tuple[Row, ...]]:
    """What the service says of itself, and what it leaves out."""
    report, gap = mapping(load, "self_report"), mapping(load, "gap")
    said = size(report)
    if said is None:
        return "", ()
    title = f"{label(report, 'source') or 'the service'} says {gib(said)}"
    if (replayed := size(mapping(report, "replay"))) is not None:
        title += f", its own lines replay to {gib(replayed)}"
    if (amount := size(gap)) is not None:
        title += f"; a gap of {plain(amount)}"
    rows = [item_row(item, aliases) for item in maps(gap, "items")]
    if (rest := size(gap, "unexplained")) is not None:
        rows.append(
            Row(Fill.UNEXPLAINED, "unexplained", "", mib(rest), "", "", signed_span(bounds(gap, "unexplained")))
        )
    return title, tuple(rows)


def _finding(entry: Document, aliases: Aliases) -> Entry:
    amount = size(entry, "amount")
    claim = label(entry, "claim") + (f" ({plain(amount)})" if amount is not None else "")
    pro, con = aliases.of(texts(entry, "for")), aliases.of(texts(entry, "against"))
    evidence = " · ".join(filter(None, (f"for {pro}" if pro else "", f"against {con}" if con else "")))
    return Entry(label(entry, "state").replace("_", " ") or "not established", claim, "", evidence)


def _in_window(document: Document) -> tuple[str, ...]:
    """How many loads live in the span that was asked about, where it is more than the one."""
    loads = number(document.get("loads_in_window")) or 0
    return (f"{loads:.0f} loads in the window",) if loads > 1 else ()


def _looked_at(load: Document, aliases: Aliases) -> Iterable[Entry]:
    """Lines about the load's memory: its own for and against, and the owner of each that only looks like it."""
    looked = mapping(load, "looked_at")
    if not looked:
        return
    for key, words in (("for", "that name what it holds"), ("against", "of an amount refused or given back")):
        lines = number(looked.get(f"{key}_count")) or 0
        what = f"{count(round(lines), 'line')} {words}" if lines else "nothing in this load"
        yield Entry(key, what, "", aliases.of(texts(looked, key), limit=3))
    head = "not its own"
    for owner in maps(looked, "elsewhere"):
        kinds: dict[str, list[str]] = {}
        for line in maps(owner, "lines"):
            kinds.setdefault(label(line, "what"), []).append(label(line, "evidence"))
        for what, lines_of in kinds.items():
            times = f" ({len(lines_of)} lines)" if len(lines_of) > 1 else ""
            whose = f"load {label(owner, 'number')} ({quoted(label(owner, 'name'))}): {what}{times}"
            yield Entry(head, whose, "", aliases.of(lines_of, limit=3))
            head = ""
    for key, words in (
        ("ambiguous", "that several loads could have written; not used"),
        ("suspected", "may be forged"),
    ):
        if (counted := number(looked.get(f"{key}_count"))) and counted > 0:
            some = [label(line, "evidence") for line in maps(looked, key)]
            yield Entry(key, f"{count(round(counted), 'line')} {words}", "", aliases.of(some, limit=3))


def _set_aside(document: Document, load: Document, aliases: Aliases) -> Iterable[Entry]:
    """What was not used, why, and whose it is; not once more what `_looked_at` says."""
    answered = {label(each, "load_id") for each in maps(document, "loads")}
    looked = bool(mapping(load, "looked_at"))
    for entry in maps(document, "set_aside"):
        if looked and label(entry, "load_id") and label(entry, "load_id") not in answered:
            continue
        what, amount = label(entry, "what"), size(entry)
        times = number(entry.get("count"))
        if times is not None and times != 1 and not what.startswith(f"{times:.0f} "):
            what = f"{times:.0f} {what}"
        if amount is not None and mib(amount) not in what and mib(amount, 0) not in what:
            what += f", {mib(amount)} MiB"
        owner = label(entry, "load_id")
        foreign = owner and owner != label(load, "load_id")
        why = label(entry, "why") + (f" (of {_owner(document, owner)})" if foreign else "")
        yield Entry(what, why, "", aliases.of(texts(entry, "evidence"), limit=3))
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for line in maps(document, "ambiguous"):
        key = label(line, "reason"), tuple(sorted(texts(line, "candidates")))
        groups.setdefault(key, []).append(label(line, "evidence"))
    for (reason, candidates), evidence in groups.items():
        lines = "1 ambiguous line" if len(evidence) == 1 else f"{len(evidence)} ambiguous lines"
        owners = "; could be " + " or ".join(_owner(document, each) for each in candidates) if candidates else ""
        yield Entry(
            lines, f"{reason or 'no owner is provable'}{owners}", "", aliases.of(list(filter(None, evidence)), limit=3)
        )


def _owner(document: Document, load_id: str) -> str:
    load = next((each for each in maps(document, "loads") if label(each, "load_id") == load_id), None)
    return f"load {load_id[:12]}" + (f", {model_name(load)}" if load and label(load, "model") else "")


def _other_load(load: Document, shown_begun: str) -> OtherLoad:
    """A load in one line: who, when, how it ended, what it held."""
    begun, ended = label(load, "begun_at"), label(load, "ended_at")
    life = clock(begun, shown_begun) if begun else ""
    if ended:
        life += f"–{clock(ended, begun)}"
    measured = [size(device, "measured") for device in maps(load, "devices")]
    known = [amount for amount in measured if amount is not None]
    named = sum(holding(device).named for device in maps(load, "devices") if label(device, "where") != "host")
    held = gib(sum(known)) if known else f"{gib(named)} named" if named else "nothing named"
    return OtherLoad(
        short_id(load),
        model_name(load),
        life,
        label(load, "end_reason").replace("_", " "),
        "never ready" if failed(load) else held,
    )
