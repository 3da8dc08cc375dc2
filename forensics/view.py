"""Arrange an answer document for the eye: what is said, in which order, whatever it is printed as.

All texts here are as they came from the document. Whoever prints them makes them safe, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from forensics.amounts import clock, decimals, duration, gib, mib, plain, span
from forensics.bars import Fill, Segment, fill_of
from forensics.document import (
    Document,
    bounds,
    choose_load,
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
from forensics.verdict import failed, holding, verdict

__all__ = ["Card", "Cited", "Entry", "OtherLoad", "Row", "View", "view"]

KINDS = {
    "kv_cache": "KV cache",
    "cuda_graphs": "CUDA graphs",
    "non_torch": "outside torch",
    "lora": "LoRA",
}
"""Kinds whose printed name is more than the word with spaces."""

PARTS = ("target", "draft", "mtp", "vision", "audio", "lora", "control_vector", "runtime")

PART_NAMES = {"mtp": "MTP", "lora": "LoRA", "control_vector": "control"}

ENTRIES = 8
"""Entries of one section that a screen shows; the JSON has all."""


class Row(NamedTuple):
    """One amount and how it is known."""

    fill: Fill | None
    kind: str
    part: str
    amount: str
    basis: str
    evidence: str
    note: str


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


class Cited(NamedTuple):
    """One line of the legend."""

    alias: str
    place: str
    time: str
    text: str


@dataclass(frozen=True)
class Card:
    """One device of the load."""

    title: tuple[str, ...]
    figure: str
    segments: tuple[Segment, ...]
    total_bytes: int
    rows: tuple[Row, ...]
    beside: tuple[str, ...]
    """What else is on the card."""
    remark: str
    """How the card was found to be the load's, where that is not certain."""


@dataclass(frozen=True)
class View:
    """Everything a screen shows, top to bottom."""

    verdict: str
    identity: tuple[str, ...]
    notes: tuple[str, ...]
    failure: tuple[Entry, ...]
    cards: tuple[Card, ...]
    elsewhere: tuple[str, ...]
    """Memory that is on no card, and cards that the load is not on."""
    report_title: str
    report_rows: tuple[Row, ...]
    findings: tuple[Entry, ...]
    set_aside: tuple[Entry, ...]
    missing: tuple[Entry, ...]
    other_loads: tuple[OtherLoad, ...]
    next_step: str
    legend: tuple[Cited, ...]


class Aliases:
    """Short names for evidence, in order of appearance: e1, e2, …; c1, … for what is no line but a calibration."""

    def __init__(self, evidence: Document) -> None:
        self.evidence = evidence
        self.names: dict[str, str] = {}

    def of(self, identifiers: list[str], limit: int = 6) -> str:
        """The aliases of some evidence; runs are written as `e5–e9`, and what is over the limit is counted."""
        runs: list[list[str]] = []
        for identifier in identifiers[:limit]:
            name = self.names.get(identifier) or self._name(identifier)
            if runs and name[0] == runs[-1][-1][0] and int(name[1:]) == int(runs[-1][-1][1:]) + 1:
                runs[-1].append(name)
            else:
                runs.append([name])
        shown = [f"{run[0]}–{run[-1]}" if len(run) > 2 else " ".join(run) for run in runs]
        if len(identifiers) > limit:
            shown.append(f"+{len(identifiers) - limit}")
        return " ".join(shown)

    def _name(self, identifier: str) -> str:
        source = label(mapping(self.evidence, identifier), "source")
        letter = "c" if "calibration" in (identifier[:11], source[:11]) else "e"
        number_ = 1 + sum(name[0] == letter for name in self.names.values())
        return self.names.setdefault(identifier, f"{letter}{number_}")

    def legend(self) -> tuple[Cited, ...]:
        """Where each alias points to."""
        return tuple(self._cited(name, mapping(self.evidence, identifier)) for identifier, name in self.names.items())

    def _cited(self, alias: str, cited: Document) -> Cited:
        place = label(cited, "source") or "not in this document"
        if label(cited, "line"):
            place += f":{label(cited, 'line')}"
        elif label(cited, "offset"):
            place += f" at byte {label(cited, 'offset')}"
        return Cited(alias, place, clock(label(cited, "time")), label(cited, "text"))


def view(document: Document, asked: str | None = None) -> View:
    """Arrange a document around one load: the one asked for, or the newest."""
    load = choose_load(document, asked)
    aliases = Aliases(mapping(document, "evidence"))
    shown = load or {}
    devices = maps(shown, "devices")
    on_cards = [device for device in devices if (label(device, "where") or "card") in ("card", "shared")]
    failure = _failure(shown, aliases) if load and failed(load) else ()
    cards = tuple(_card(document, shown, device, aliases) for device in sorted(on_cards, key=_card_order))
    report_title, report_rows = _self_report(shown, aliases)
    findings = tuple(_finding(entry, aliases) for entry in maps(shown, "findings"))
    set_aside = tuple(_set_aside(document, shown, aliases))
    next_step = label(document, "next") or _next_step(document, load)
    return View(
        verdict=label(shown, "verdict") or label(document, "verdict") or verdict(document, load),
        identity=_identity(shown) if load else (),
        notes=_notes(shown),
        failure=failure,
        cards=() if failure and not any(card.rows for card in cards) else cards,
        elsewhere=tuple(_elsewhere(document, load, devices, on_cards)),
        report_title=report_title,
        report_rows=report_rows,
        findings=findings,
        set_aside=set_aside,
        missing=tuple(
            Entry(label(entry, "what"), label(entry, "because"), _unless(next_step, label(entry, "remedy")))
            for entry in maps(document, "missing")
        ),
        other_loads=tuple(
            _other_load(each, label(shown, "begun_at")) for each in maps(document, "loads") if each is not load
        ),
        next_step=next_step,
        legend=aliases.legend(),
    )


def _unless(said: str, text: str) -> str:
    """A remedy that is not the next step already."""
    return "" if text == said else text


def _identity(load: Document) -> tuple[str, ...]:
    """Who the load is, when it got ready and how it was seen."""
    ready, begun, ended = label(load, "ready_at"), label(load, "begun_at"), label(load, "ended_at")
    pieces = [" ".join(filter(None, (label(load, "engine"), label(load, "engine_version"))))]
    pieces.append(label(load, "unit"))
    pieces.append(f"pid {label(load, 'pid')}" if label(load, "pid") else "")
    pieces.append(f"load {short_id(load)}" if short_id(load) else "")
    first = ready or begun
    if ready:
        took = duration(begun, ready)
        pieces.append(f"ready {clock(ready)}" + (f" after {took}" if took else ""))
    elif begun:
        pieces.append(f"begun {clock(begun)}, never ready")
    devices = [device for device in maps(load, "devices") if size(device, "measured") is not None]
    ways = {
        "process": "by process",
        "card_less_baseline": "at the card, less its use before",
        "card": "at the card, no baseline",
    }
    seen = {(label(device, "measured_at"), label(device, "measured_by")) for device in devices}
    for at, way in sorted(seen):
        pieces.append(" ".join(filter(None, ("seen", clock(at, first) if at else "", ways.get(way, way)))))
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
    evidence = aliases.of(texts(failure, "evidence"))
    entries = [
        Entry("asked", f"{mib(asked)} MiB" if asked is not None else ""),
        Entry("there", f"{mib(there, 0)} MiB" if there is not None else ""),
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


def _card_order(device: Document) -> tuple[bool, float, str]:
    index = number(device.get("gpu_index"))
    return index is None, index or 0, label(device, "device")


def _card_of(document: Document, device: Document) -> Document:
    """The card's own figures at the moment of the device's, joined by what cannot change hands."""
    same = []
    for key in ("gpu_uuid", "pci_bus_id", "gpu_index"):
        if label(device, key):
            same = [card for card in maps(document, "cards") if label(card, key) == label(device, key)]
            break
    at = label(device, "measured_at")
    return next((card for card in same if at and label(card, "at") == at), same[-1] if same else {})


def _card(document: Document, load: Document, device: Document, aliases: Aliases) -> Card:
    card, held = _card_of(document, device), holding(device)
    items = sorted(maps(device, "items"), key=_item_order)
    rows = [_row(item, aliases) for item in items]
    places = max((row.amount[::-1].find(".") for row in rows), default=0)
    if held.unexplained is not None and held.measured is not None:
        evidence = aliases.of(texts(device, "evidence"), limit=2)
        rows.append(
            Row(
                Fill.UNEXPLAINED,
                "over-named" if held.overnamed else "unexplained",
                "",
                mib(held.unexplained, max(places, 0)),
                "",
                evidence,
                _signed_span(bounds(device, "unexplained")),
            )
        )
        if growth := size(device, "growth"):
            rows.append(Row(None, "of it grown", "", mib(growth, 0), "measured", "", "since ready"))
    total = size(card, "total") or size(device, "total")
    gpu = label(device, "gpu_index") or label(card, "gpu_index")
    title = (
        f"GPU {gpu}" if gpu else "",
        label(device, "device"),
        label(device, "pci_bus_id") or label(card, "pci_bus_id") or label(device, "gpu_uuid"),
        label(card, "name") or label(device, "name"),
        "memory shared with the host" if held.where == "shared" else "",
    )
    if held.measured is None:
        figure = f"{mib(held.named)} MiB named, " + ("before it failed" if failed(load) else "not measured")
    else:
        share = f" of {mib(total, 0)}, {held.measured / total:.0%}".replace("%", " %") if total else ""
        figure = f"{mib(held.measured, 0)} MiB{share}"
    segments = [Segment(fill_of(label(item, "kind")), size(item) or 0) for item in items]
    if held.unexplained:
        segments.append(Segment(Fill.UNEXPLAINED, held.unexplained))
    beside, others = _beside(document, load, device, card, held.measured)
    segments.append(Segment(Fill.ELSE, others))
    return Card(
        title=tuple(filter(None, title)),
        figure=figure,
        segments=tuple(segments),
        total_bytes=total or 0,
        rows=tuple(rows),
        beside=beside,
        remark=_remark(device),
    )


def _remark(device: Document) -> str:
    scope, by = label(device, "join_scope"), label(device, "joined_by").replace("_", " ")
    return "" if scope in ("", "exact") else f"card and log joined by {by or 'unknown means'} ({scope})"


def _signed_span(limits: tuple[int, int] | None) -> str:
    return span(limits, signed=True) if limits and limits[0] < limits[1] else ""


def _item_order(item: Document) -> tuple[bool, int, int]:
    part = label(item, "part")
    runtime = "runtime" in (part, label(item, "kind"))
    return runtime, PARTS.index(part) if part in PARTS else len(PARTS), -(size(item) or 0)


def _row(item: Document, aliases: Aliases) -> Row:
    amount, limits = size(item), bounds(item)
    kind, part, basis = label(item, "kind"), label(item, "part"), label(item, "basis")
    places = decimals(basis, limits)
    growth = size(item, "growth")
    notes = [span(limits) if limits and not places else "", label(item, "note")]
    notes.append(f"{mib(growth)} of it grown since ready" if growth else "")
    return Row(
        fill_of(kind),
        KINDS.get(kind, kind.replace("_", " ")),
        "" if part == kind else PART_NAMES.get(part, part.replace("_", " ")),
        "?" if amount is None else mib(amount, places),
        basis,
        aliases.of(texts(item, "evidence"), limit=4),
        ", ".join(filter(None, notes)),
    )


def _beside(
    document: Document, load: Document, device: Document, card: Document, measured: int | None
) -> tuple[tuple[str, ...], int]:
    """Who else is on the card, and how much of its use is not this load's."""
    mine, pid = label(load, "load_id"), label(device, "pid") or label(load, "pid")
    pieces, others, listed = [], 0, False
    by_size = sorted(maps(card, "holders"), key=lambda holder: -(size(holder) or 0))
    for holder in by_size:
        if (mine and label(holder, "load_id") == mine) or (pid and label(holder, "pid") == pid):
            listed = True
            continue
        amount = size(holder)
        others += amount or 0
        program, space, arguments = label(holder, "process").partition(" ")
        process = quoted(program.rsplit("/", 1)[-1] + space + arguments) if program else ""
        owner = next(
            (each for each in maps(document, "loads") if label(each, "load_id") == label(holder, "load_id")), None
        )
        who = " ".join(filter(None, (f"pid {label(holder, 'pid')}" if label(holder, "pid") else "", process)))
        who += f" ({model_name(owner)})" if owner and label(holder, "load_id") else ""
        pieces.append(f"{who or 'another process'} {'?' if amount is None else mib(amount, 0)}")
    if (rest := size(card, "rest")) is not None:
        if not listed and measured is not None:
            rest -= measured  # in no process as far as the card says, but known to be this load's
        if rest:
            pieces.append(f"{mib(rest, 0)} held by no process")
        others += max(rest, 0)
    if (free := size(card, "free")) is not None:
        pieces.append(f"{mib(free, 0)} free")
    if (used := size(card, "used")) is not None and measured is not None:
        others = max(used - measured, 0)
    return tuple(pieces), others


def _elsewhere(
    document: Document, load: Document | None, devices: list[Document], on_cards: list[Document]
) -> Iterable[str]:
    """One line each for the cards together, for what is on no card, and for cards without this load."""
    if len(on_cards) > 1:
        together = "Both" if len(on_cards) == 2 else f"All {len(on_cards)}"
        yield f"{together} cards, MiB: " + " · ".join(_together(on_cards))
    for where, name in (("host", "Host memory, on no card"), ("remote", "On other hosts")):
        pieces = []
        for device in devices:
            if label(device, "where") != where:
                continue
            held = holding(device)
            mapped = label(device, "device").endswith("_Mapped")
            amount = mib(held.named if held.named or held.measured is None else held.measured)
            pieces.append(f"{label(device, 'device')} {amount}" + (" (file, not held)" if mapped else ""))
        if pieces:
            yield f"{name}: " + " · ".join(pieces)
    taken = [_card_of(document, device) for device in on_cards]
    pieces = []
    for card in maps(document, "cards"):
        if any(_same_card(card, each) for each in taken):
            continue
        used, total = size(card, "used"), size(card, "total")
        pieces.append(
            f"GPU {label(card, 'gpu_index') or '?'} {mib(used or 0, 0)}" + (f" of {mib(total, 0)}" if total else "")
        )
        pieces += _beside(document, load or {}, {}, card, None)[0]
    if pieces:
        yield ("Cards without it: " if load else "Cards: ") + " · ".join(pieces)


def _together(devices: list[Document]) -> Iterable[str]:
    """Each kind summed over the cards, largest first."""
    sums: dict[str, int] = {}
    for device in devices:
        for item in maps(device, "items"):
            kind = label(item, "kind")
            sums[kind] = sums.get(kind, 0) + (size(item) or 0)
    for kind in sorted(sums, key=lambda kind: (kind == "runtime", -sums[kind])):
        yield f"{KINDS.get(kind, kind.replace('_', ' '))} {mib(sums[kind])}"
    holdings = [holding(device) for device in devices]
    if all(each.unexplained is not None for each in holdings):
        yield f"unexplained {mib(sum(each.unexplained or 0 for each in holdings))}"


def _same_card(one: Document, other: Document) -> bool:
    for key in ("gpu_uuid", "pci_bus_id", "gpu_index"):
        if label(one, key) and label(other, key):
            return label(one, key) == label(other, key)
    return False


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
    rows = [_row(item, aliases) for item in maps(gap, "items")]
    if (rest := size(gap, "unexplained")) is not None:
        rows.append(
            Row(Fill.UNEXPLAINED, "unexplained", "", mib(rest), "", "", _signed_span(bounds(gap, "unexplained")))
        )
    return title, tuple(rows)


def _finding(entry: Document, aliases: Aliases) -> Entry:
    amount = size(entry, "amount")
    claim = label(entry, "claim") + (f" ({plain(amount)})" if amount is not None else "")
    pro, con = aliases.of(texts(entry, "for")), aliases.of(texts(entry, "against"))
    evidence = " · ".join(filter(None, (f"for {pro}" if pro else "", f"against {con}" if con else "")))
    return Entry(label(entry, "state").replace("_", " ") or "not established", claim, "", evidence)


def _set_aside(document: Document, load: Document, aliases: Aliases) -> Iterable[Entry]:
    """What was not used, why, and whose it is."""
    for entry in maps(document, "set_aside"):
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


def _next_step(document: Document, load: Document | None) -> str:
    """The one thing that would help most."""
    for entry in maps(document, "missing"):
        if label(entry, "remedy"):
            return label(entry, "remedy")
    if load is None:
        return "Give the log of the server from its start, or the journal of its unit."
    if failed(load):
        return "Ask for less than was there, or free the card first."
    holdings = [holding(device) for device in maps(load, "devices")]
    cards = [each for each in holdings if each.where not in ("host", "remote")]
    if not any(each.logged_items for each in holdings):
        return "Raise the server's log level until it prints its buffer sizes, start it again and look again."
    if not cards:
        return "Nothing is missing."
    if any(each.measured is None for each in cards):
        return "Sample the cards while the server runs (nvidia-smi --query-compute-apps) and give the samples too."
    if over := [each.name for each in cards if each.overnamed]:
        return f"Read the rows of {over[0]} with --evidence: one of them names memory that another already names."
    if any(each.whole_card for each in cards):
        return "Sample the cards by process, or once before the server starts, to tell its memory from the others'."
    held, rest = sum(each.measured or 0 for each in cards), sum(each.unexplained or 0 for each in cards)
    if rest * 20 >= held > 0:
        return "Sample the card before the load and at ready (--at ready): what is there by then is not growth."
    if any(each.bases == {"inferred"} for each in cards):
        return (
            "Nothing is missing. To see the runtime measured instead of inferred, sample the card "
            "while the server sleeps or before it loads."
        )
    return "Nothing is missing."
