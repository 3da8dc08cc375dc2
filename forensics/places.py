"""Say where the bytes of a logged device name are, and which card a device is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .catalogue import Catalogue, Program
from .lives import Load, Process
from .regexes import found_in
from .telemetry import Card, Holder, Join, Telemetry, same_bus
from .told import FILED

__all__ = ["Place", "card_of", "place_of", "printers"]


class Place(NamedTuple):
    """What a logged device name stands for in one load."""

    logged: str
    devices: tuple[str, ...]
    where: str
    spread: bool


class Joined(NamedTuple):
    """A card with how it is known."""

    card: Card | None
    holders: tuple[Holder, ...]
    by: str
    scope: str


def place_of(logged: str, programs: Sequence[Program], load: Load) -> Place:
    """What a device name stands for, by the first catalogue that knows it.

    Args:
        logged: The name.
        programs: The program of the load, and those whose lines print the name: a supervisor relays them.
        load: Says which cards a name stands for, where that is several.

    Returns:
        Where it is. A name that no catalogue knows is `shared`: shown, on no card.
    """
    for entry in (entry for program in programs for entry in program.devices):
        if not found_in(entry["regex"], logged):
            continue
        name = entry.get("name", "{}").format(logged)
        if entry.get("spread") == "each":
            members = tuple(str(one) for one in load.variables.get(entry.get("members", ""), ()))
            if members:
                return Place(logged, members, entry["where"], True)
            return Place(logged, (name,), "shared", False)
        return Place(logged, (name,), entry["where"], False)
    return Place(logged, (logged or "unnamed device",), "shared", False)


def printers(logged: str, load: Load, catalogue: Catalogue) -> list[Program]:
    """The program of a load, and those whose lines name one of its devices."""
    names = (load.engine, *(item.line.pattern.program for item in load.items if item.device == logged))
    return [catalogue.program(name) for name in dict.fromkeys(names)]


def _ordinal(device: str) -> int | None:
    found = re.search(r"(\d+)$", device)
    return int(found[1]) if found else None


def card_of(device: str, devices: Sequence[str], process: Process, telemetry: Telemetry, join: Join | None) -> Joined:
    """Which card a device of a process is.

    Args:
        device: The device.
        devices: All devices on cards that the process names, itself included.
        process: The process.
        telemetry: Cards and holders.
        join: The holders that are the process.

    Returns:
        The card, the process's holders on it, and how it is known; no card if nothing proves one.
    """
    found = _card_of(device, devices, process, telemetry, join)
    samples = [one for holder in found.holders for one in holder.samples] or (found.card.samples if found.card else [])
    if any(one.filed for one in samples):
        return found._replace(by=f"{found.by}; {FILED}", scope="inferred")
    return found


def _card_of(device: str, devices: Sequence[str], process: Process, telemetry: Telemetry, join: Join | None) -> Joined:
    nothing = Joined(None, (), "nothing says which card this is", "none")
    mine = join.holders if join else ()

    def on(card: Card) -> tuple[Holder, ...]:
        return tuple(one for one in mine if one.card is card)

    for (tag, name), value in process.writer_variables.items():
        if name != "device" or tag is None or _ordinal(str(value)) != _ordinal(device):
            continue
        workers = [one for one in mine if str(one.pid) == tag]
        if len({id(one.card) for one in workers}) == 1:
            return Joined(workers[0].card, tuple(workers), "process of this rank", "inferred")
    buses = {seen.device: seen.pci_bus_id for seen in process.devices if seen.pci_bus_id}
    if device in buses:
        for card in telemetry.cards:
            if same_bus(card.pci_bus_id, buses[device]):
                return Joined(card, on(card), "PCI bus id", "exact")
    held = list({id(one.card): one.card for one in mine}.values())
    if len(devices) == 1 and len(held) == 1:
        return Joined(held[0], on(held[0]), "only card that this process holds", "inferred")
    seen_devices = [seen.device for seen in process.devices if seen.total_bytes]
    visible = {number for name in (*seen_devices, *devices) if (number := _ordinal(name)) is not None}
    by_index = {card.index: card for card in telemetry.cards if card.index is not None}
    ordinal = _ordinal(device)
    if ordinal is not None and len(by_index) == len(telemetry.cards) == len(visible) and ordinal in by_index:
        known = sorted((bus, one) for one, bus in buses.items())
        if [one for _, one in known] == sorted(buses, key=lambda one: _ordinal(one) or 0):
            # nvidia-smi numbers cards in the order of their bus ids; so does the process, as its own ids show.
            return Joined(by_index[ordinal], on(by_index[ordinal]), "bus order; all cards are visible", "inferred")
    if len(held) == len(devices) and all(card.index is not None for card in held) and ordinal is not None:
        rank = sorted(devices, key=lambda one: _ordinal(one) or 0).index(device)
        card = sorted(held, key=lambda one: one.index or 0)[rank]
        return Joined(card, on(card), "order of its devices and of the cards it holds", "inferred")
    if len(telemetry.cards) == 1 and len(devices) == 1:
        return Joined(telemetry.cards[0], on(telemetry.cards[0]), "only card of the evidence", "inferred")
    return nothing
