"""Say in one or two sentences what a load holds, how much of it nothing explains, and what to do next."""

from __future__ import annotations

from typing import NamedTuple

from forensics.amounts import count, gib, mib, plain
from forensics.document import Document, bounds, is_mapped, label, mapping, maps, model_name, size
from forensics.units import MIB

__all__ = ["Holding", "failed", "holding", "listed", "next_step", "verdict"]

LARGE = 1 / 20
"""From this share of what is held on, the unexplained rest leads the verdict."""


class Holding(NamedTuple):
    """What one device of a load holds, as far as it is known."""

    name: str
    """`GPU 0` where the card is known, else the program's name for the device."""
    where: str
    measured: int | None
    named: int
    """What the items add up to."""
    runtime: int
    """The items of part `runtime` among them: bytes that no line mentions."""
    estimated: int
    """Those known only from the program's forecast."""
    unexplained: int | None
    bounds: tuple[int, int]
    """Of the unexplained; a card counts whole MiB, so without bounds it is known to one."""
    bases: frozenset[str]
    """How the runtime items are known."""
    whole_card: bool
    """Measured at the card without a baseline: other holders may be in the figure."""
    logged_items: int

    @property
    def overnamed(self) -> bool:
        """The items name more than the device holds, beyond what roundings allow."""
        return self.unexplained is not None and self.bounds[1] < 0


def holding(device: Document) -> Holding:
    """Add up one device of a load."""
    items = maps(device, "items")
    runtime = [item for item in items if "runtime" in (label(item, "part"), label(item, "kind"))]
    sizes = [size(item) or 0 for item in items]
    measured, named = size(device, "measured"), size(device, "attributed")
    named = sum(sizes) if named is None else named
    unexplained = size(device, "unexplained")
    if unexplained is None and measured is not None:
        unexplained = measured - named
    gpu = label(device, "gpu_index")
    return Holding(
        name=f"GPU {gpu}" if gpu else label(device, "device") or "the card",
        where=label(device, "where") or "card",
        measured=measured,
        named=named,
        runtime=sum(size(item) or 0 for item in runtime),
        estimated=sum(size(item) or 0 for item in items if label(item, "basis") == "estimated"),
        unexplained=unexplained,
        bounds=bounds(device, "unexplained") or ((unexplained or 0) - MIB, (unexplained or 0) + MIB),
        bases=frozenset(filter(None, (label(item, "basis") for item in runtime))),
        whole_card=label(device, "measured_by") == "card",
        logged_items=len(items) - len(runtime),
    )


def failed(load: Document) -> bool:
    """Whether the load never got ready."""
    return bool(mapping(load, "failure")) or (
        label(load, "end_reason") == "failed" and not load.get("ready", label(load, "ready_at"))
    )


def verdict(document: Document, load: Document | None) -> str:
    """The verdict on a load, or on evidence that has none."""
    if load is None:
        found = "was found in this evidence"
        if document.get("loads_in_window") == 0:
            found = "lived in the time that was asked for"
        return f"Cannot attribute: no model load {found}.{_used_anyway(document)}"
    name = model_name(load)
    if failed(load):
        what = label(mapping(load, "failure"), "what").rstrip(".") or "the evidence does not say why"
        return f"{name} never got ready: {what}."
    holdings = [holding(device) for device in maps(load, "devices")]
    cards = [each for each in holdings if each.where not in ("host", "remote")]
    hosts = [each for each in holdings if each.where in ("host", "remote")]
    if not any(each.logged_items for each in holdings):
        return _cannot_attribute(document, load, cards)
    if not cards:
        return _off_card(name, maps(load, "devices"))
    measured = [each for each in cards if each.measured is not None]
    unmeasured = [each for each in cards if each.measured is None and each.named > each.runtime]
    if not measured:
        named = listed([f"{gib(each.named - each.runtime)} on {each.name}" for each in unmeasured])
        return (
            f"The log names {named} for {name}; no card measurement to check against."
            if unmeasured
            else _off_card(name, [device for device in maps(load, "devices") if holding(device) in hosts])
        )
    sentences = [_measured(name, "held" if label(load, "ended_at") else "holds", measured)]
    if unmeasured:
        named = listed([f"{gib(each.named - each.runtime)} on {each.name}" for each in unmeasured])
        sentences.append(f"The log also names {named}, with no measurement to check against.")
    if whole := [each.name for each in measured if each.whole_card]:
        sentences.append(f"{listed(whole)}: the whole card's use, with no baseline, so others' memory may be in it.")
    return " ".join(sentences)


def next_step(document: Document, load: Document | None) -> str:
    """The one thing that would help most."""
    for entry in maps(document, "missing"):
        if label(entry, "remedy"):
            return label(entry, "remedy")
    if load is None:
        return "Give the log of the server from its start, or the journal of its unit."
    if failed(load):
        asked, there = size(mapping(load, "failure"), "asked"), size(mapping(load, "failure"), "there")
        if asked is None or (there is not None and asked <= there):
            return "Change what the failure names, and start it again; --evidence prints its lines."
        return "Ask for less than was there (shorter context, fewer slots, smaller cache type), or free the card first."
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
        grown = [size(device, "growth") for device in maps(load, "devices") if size(device, "measured")]
        if None not in grown and sum(one or 0 for one in grown) * 2 < rest:
            return "Most of the rest was there at ready. Start with one option less, and compare: forensics diff A B."
        return "Sample the card before the load and at ready (--at ready): what is there by then is not growth."
    if any(each.bases == {"inferred"} for each in cards):
        return (
            "Nothing is missing. To see the runtime measured instead of inferred, sample the card "
            "while the server sleeps or before it loads."
        )
    return "Nothing is missing."


def _measured(name: str, holds: str, cards: list[Holding]) -> str:
    """What is held, what of it is named, how well."""
    held = sum(each.measured or 0 for each in cards)
    place = f"on {cards[0].name}" if len(cards) == 1 else f"on {count(len(cards), 'card')}"
    begin = f"{name} {holds} {gib(held)} {place}"
    if over := [each for each in cards if each.overnamed]:
        worst = min(over, key=lambda each: each.unexplained or 0)
        excess = plain(-(worst.unexplained or 0))
        return (
            f"{begin}, but {excess} more is named than {worst.name} holds: {mib(worst.named)} MiB against "
            f"{mib(worst.measured or 0, 0)}. Something is counted twice, or was freed before the card was read."
        )
    rest = sum(each.unexplained or 0 for each in cards)
    low, high = sum(each.bounds[0] for each in cards), sum(each.bounds[1] for each in cards)
    runtime, estimated = sum(each.runtime for each in cards), sum(each.estimated for each in cards)
    bases = frozenset[str]().union(*(each.bases for each in cards))
    share = f"{rest / held:.0%}".replace("%", " %") if held else ""
    if held and rest >= held * LARGE:
        sentence = f"{begin}; {plain(rest)} of it ({share}) is unexplained: nothing in the evidence names it."
        also = f" Another {plain(runtime)} is runtime that no log line mentions" if runtime else ""
    else:
        if mib(rest, 0) == "0" or rest < 0:
            within = max(abs(low), abs(high), abs(rest))
            sentence = f"{begin}. All of it is named, to within {plain(within)}"
        else:
            sentence = f"{begin}. All but {plain(rest)} is named"
        also = f"; {plain(runtime)} of it is runtime that no log line mentions" if runtime else ""
        sentence += "" if also else "."
    if also:
        also += " (inferred)." if bases == {"inferred"} else "."
    doubt = f" {plain(estimated)} of what is named is only the program's estimate." if estimated else ""
    return sentence + also + doubt


def _cannot_attribute(document: Document, load: Document, cards: list[Holding]) -> str:
    """No line names an amount: what the cards show is all there is."""
    lacking = [entry for entry in maps(document, "missing") if label(entry, "load_id") in ("", label(load, "load_id"))]
    because = next((label(entry, "because") for entry in lacking if label(entry, "because")), "").rstrip(".")
    reason = "this server logged no buffer sizes" + (f" ({because})" if because and len(because) <= 40 else "")
    seen = [f"{each.name} shows {mib(each.measured, 0)} MiB" for each in cards if each.measured is not None]
    if not seen:
        return f"Cannot attribute: {reason}, and no card was measured."
    pid = label(load, "pid")
    holder = f" held by pid {pid} for {model_name(load)}" if pid else f" for {model_name(load)}"
    return f"Cannot attribute: {reason}. {listed(seen)}{holder}; the log names none of it."


def _off_card(name: str, devices: list[Document]) -> str:
    """A load that has no card is a complete answer."""
    remote = sum(holding(device).named for device in devices if label(device, "where") == "remote")
    mapped = sum(holding(device).named for device in devices if is_mapped(device))
    held = sum(holding(device).named for device in devices) - remote - mapped
    file = f", besides {plain(mapped)} mapped from its file" if mapped else ""
    if remote and not held:
        return f"{name} is on other hosts: the log names {plain(remote)} there and nothing on a card of this one{file}."
    if remote:
        return f"{name} is on other hosts: the log names {plain(remote)} there, and {plain(held)} of this one{file}."
    return f"{name} is on no card: the log names {plain(held)} of host memory{file}."


def _used_anyway(document: Document) -> str:
    seen = [
        f"GPU {label(card, 'gpu_index') or '?'} shows {mib(used, 0)} MiB used"
        for card in maps(document, "cards")
        if (used := size(card, "used"))
    ]
    return f" {listed(seen)}; nothing says what for." if seen else ""


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
