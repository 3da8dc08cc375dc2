"""Arrange one card of a load: its title, its bar, its rows, and what else is on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from forensics.aliases import Aliases
from forensics.amounts import decimals, mib, span
from forensics.bars import Fill, Segment, fill_of
from forensics.document import Document, bounds, label, maps, model_name, number, quoted, size, texts
from forensics.verdict import failed, holding

__all__ = [
    "Card",
    "Row",
    "card_of",
    "card_order",
    "card_view",
    "item_row",
    "others_on",
    "same_card",
    "signed_span",
    "together",
]

KINDS = {
    "kv_cache": "KV cache",
    "cuda_graphs": "CUDA graphs",
    "non_torch": "outside torch",
    "lora": "LoRA",
}
"""Kinds whose printed name is more than the word with spaces."""

PARTS = ("target", "draft", "mtp", "vision", "audio", "lora", "control_vector", "runtime")

PART_NAMES = {"mtp": "MTP", "lora": "LoRA", "control_vector": "control"}


class Row(NamedTuple):
    """One amount and how it is known."""

    fill: Fill | None
    kind: str
    part: str
    amount: str
    basis: str
    evidence: str
    note: str
    cited: tuple[str, ...] = ()
    """Ids of all lines behind it; `evidence` names the first few."""


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


def card_order(device: Document) -> tuple[bool, float, str]:
    """By the card's index; devices without one follow by name."""
    index = number(device.get("gpu_index"))
    return index is None, index or 0, label(device, "device")


def card_of(document: Document, device: Document) -> Document:
    """The card's own figures at the moment of the device's, joined by what cannot change hands."""
    same = []
    for key in ("gpu_uuid", "pci_bus_id", "gpu_index"):
        if label(device, key):
            same = [card for card in maps(document, "cards") if label(card, key) == label(device, key)]
            break
    at = label(device, "measured_at")
    return next((card for card in same if at and label(card, "at") == at), same[-1] if same else {})


def card_view(document: Document, load: Document, device: Document, aliases: Aliases) -> Card:
    """Arrange one device of a load with the card that it is."""
    card, held = card_of(document, device), holding(device)
    items = sorted(maps(device, "items"), key=_item_order)
    rows = [item_row(item, aliases) for item in items]
    places = max((row.amount[::-1].find(".") for row in rows), default=0)
    if held.unexplained is not None and held.measured is not None:
        evidence = aliases.of(texts(device, "evidence"), limit=2)
        notes = [signed_span(bounds(device, "unexplained"))]
        if growth := size(device, "growth"):
            notes.append(f"{mib(growth, 0)} since ready")
        rows.append(
            Row(
                Fill.UNEXPLAINED,
                "over-named" if held.overnamed else "unexplained",
                "",
                mib(held.unexplained, max(places, 0)),
                "",
                evidence,
                ", ".join(filter(None, notes)),
                tuple(texts(device, "measured_evidence")),
            )
        )
    total = size(card, "total") or size(device, "total")
    gpu = label(device, "gpu_index") or label(card, "gpu_index")
    title = (
        f"GPU {gpu}" if gpu else "",
        label(device, "device"),
        label(device, "pci_bus_id") or label(card, "pci_bus_id") or label(device, "gpu_uuid"),
        label(card, "name") or label(device, "name"),
        "on which card is not told" if held.where == "shared" else "",
    )
    if held.measured is None:
        runtime = f" and {mib(held.runtime, 0)} runtime" if held.runtime else ""
        figure = f"{mib(held.named - held.runtime)} MiB named{runtime}, "
        figure += "before it failed" if failed(load) else "not measured"
    else:
        share = f" of {mib(total, 0)}, {held.measured / total:.0%}".replace("%", " %") if total else ""
        figure = f"{mib(held.measured, 0)} MiB{share}"
    segments = [Segment(fill_of(label(item, "kind")), size(item) or 0) for item in items]
    if held.unexplained:
        segments.append(Segment(Fill.UNEXPLAINED, held.unexplained))
    beside, others = others_on(document, load, device, card, held.measured)
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


def signed_span(limits: tuple[int, int] | None) -> str:
    """Bounds of a rest, or empty where they say nothing."""
    return span(limits, signed=True) if limits and limits[0] < limits[1] else ""


def _item_order(item: Document) -> tuple[bool, int, int]:
    part = label(item, "part")
    runtime = "runtime" in (part, label(item, "kind"))
    return runtime, PARTS.index(part) if part in PARTS else len(PARTS), -(size(item) or 0)


def item_row(item: Document, aliases: Aliases) -> Row:
    """One item of the ledger as a row."""
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
        tuple(texts(item, "evidence")),
    )


def others_on(
    document: Document, load: Document, device: Document, card: Document, measured: int | None
) -> tuple[tuple[str, ...], int]:
    """Who else is on the card, and how much of its use is not this load's."""
    mine, pid = label(load, "load_id"), label(device, "pid") or label(load, "pid")
    pieces, others, listed = [], 0, False
    by_size = sorted(maps(card, "holders"), key=lambda holder: -(size(holder) or 0))
    for holder in by_size:
        owned_by = label(holder, "load_id")
        if owned_by == mine if owned_by else pid and label(holder, "pid") == pid:
            listed = True
            continue
        amount = size(holder)
        others += amount or 0
        program, space, arguments = label(holder, "process").partition(" ")
        process = quoted(program.rsplit("/", 1)[-1] + space + arguments) if program else ""
        owner = next(
            (each for each in maps(document, "loads") if owned_by and label(each, "load_id") == owned_by), None
        )
        who = " ".join(filter(None, (f"pid {label(holder, 'pid')}" if label(holder, "pid") else "", process)))
        who += f" ({model_name(owner)})" if owner else ""
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


def same_card(one: Document, other: Document) -> bool:
    """Whether two samples are of one card, by the best key that both have."""
    for key in ("gpu_uuid", "pci_bus_id", "gpu_index"):
        if label(one, key) and label(other, key):
            return label(one, key) == label(other, key)
    return False


def together(devices: list[Document]) -> Iterable[str]:
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
