"""Read what `nvidia-smi -q` prints, as text or as XML: cards and their processes at one moment, several times over.

Driver 580 indents by four blanks a level; keys and values stand around a colon. BAR1 and conf compute memory repeat the
words of the card's memory, so a figure counts only inside its section.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.lines import placed_lines
from forensics.records.options import MIB, Options
from forensics.records.samples import CardRows, HolderRows
from forensics.records.times import printed_date

__all__ = ["read_smi_query", "read_smi_xml"]

_CARD = re.compile(rb"GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*")
_PAIR = re.compile(rb"( *)([^:]*[^: ]) *: ?(.*)")
_SECTION = re.compile(rb"( +)(\S.*?) *")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?(KiB|MiB|GiB|%|W)?")
_FACTORS = {"KiB": 2**10, "MiB": MIB, "GiB": 2**30}
_MEMORY = {"Total": "total_bytes", "Reserved": "reserved_bytes", "Used": "used_bytes", "Free": "free_bytes"}
_POWER = ("Power Draw", "Average Power Draw", "Instantaneous Power Draw")
_DOCUMENT_BYTES = 64 * MIB
_INSTANCES = "MIG devices of the cards were passed over; their processes are there"
_UNDATED = "cards without a timestamp"


def _bytes(text: str) -> int | None:
    found = _AMOUNT.fullmatch(text.strip())
    return int(float(found[1]) * _FACTORS[found[2]]) if found and found[2] in _FACTORS else None


def _number(text: str | None, unit: str) -> float | None:
    found = _AMOUNT.fullmatch(text.strip()) if text else None
    return float(found[1]) if found and found[2] == unit else None


def read_smi_query(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[CardSamples | HolderSamples]:
    """Yield all cards and processes of all moments; a card is cited by its memory section, a process by its lines."""
    reader = _Text()
    for line, (offset, length) in placed_lines(pieces, source, options.line_bytes):
        reader.take(line, offset, offset + length)
    reader.close()
    source.tell("note", _INSTANCES, "", None, reader.instances)
    source.tell("note", _UNDATED, "", None, reader.undated)
    yield from reader.cards.samples(source, zone_known=False, driver=reader.driver)
    yield from reader.holders.samples(source, zone_known=False)


class _Text:
    """Where in the text we are: the sections around the line, the card and the process that are open."""

    def __init__(self) -> None:
        self.cards, self.holders = CardRows(), HolderRows()
        self.driver: str | None = None
        self.wall: int | None = None
        self.instances = self.undated = 0
        self._sections: list[tuple[int, str]] = []
        self._card: dict[str, object] | None = None
        self._process: dict[str, object] | None = None
        self._extent = [0, 0]
        self._process_extent = [0, 0]

    def take(self, line: bytes, begin: int, end: int) -> None:
        """Take the next line."""
        if not line.strip():
            return
        if (found := _CARD.fullmatch(line)) is not None:
            self.close()
            self._card = {"pci_bus_id": found[1].decode().upper(), "wall_us": self.wall}
            self._extent = [begin, end]
            self._sections = []
            return
        pair = _PAIR.fullmatch(line)
        if pair is None:
            section = _SECTION.fullmatch(line)
            if section is None:
                if line.startswith(b"====") and b"NVSMI LOG" in line:
                    self.close()
                return
            depth = len(section[1])
            self._sections = [one for one in self._sections if one[0] < depth]
            self._sections.append((depth, section[2].decode("utf-8", "replace")))
            self.instances += self._sections[-1][1] == "MIG Device"
            return
        depth, key, value = len(pair[1]), pair[2].decode("utf-8", "replace"), pair[3].decode("utf-8", "replace").strip()
        if self._card is None:
            if key == "Timestamp":
                self.wall = printed_date(value)
            elif key == "Driver Version":
                self.driver = value
            return
        self._sections = [one for one in self._sections if one[0] < depth]
        names = [name for _, name in self._sections]
        self._value(names, key, value, begin, end)

    def _value(self, names: list[str], key: str, value: str, begin: int, end: int) -> None:
        card = self._card
        assert card is not None
        if any(name.startswith("MIG Device") for name in names):
            return
        if key in {"GPU instance ID", "Process ID"} and (
            self._process is None or key in self._process or key == "GPU instance ID"
        ):
            self._end_process()
            self._process = {}
            self._process_extent = [begin, end]
        if self._process is not None and key in {
            "GPU instance ID",
            "Compute instance ID",
            "Process ID",
            "Type",
            "Name",
        }:
            self._process[key] = value
            self._process_extent[1] = end
        elif self._process is not None and key == "Used GPU Memory":
            self._process[key] = value
            self._process_extent[1] = end
            self._end_process()
        elif names[:1] == ["FB Memory Usage"] and key in _MEMORY:
            if "total_bytes" not in card and "used_bytes" not in card:
                self._extent[0] = begin
            card[_MEMORY[key]] = _bytes(value)
            self._extent[1] = end
        elif not names:
            name = {"Product Name": "name", "GPU UUID": "uuid"}.get(key)
            if name is not None:
                card[name] = value
        elif names[:1] == ["Utilization"] and key in {"Gpu", "GPU"}:
            busy = _number(value, "%")
            card["utilization_ratio"] = None if busy is None else busy / 100
        elif names[0] in {"GPU Power Readings", "Power Readings"} and key in _POWER:
            power = _number(value, "W")
            if power is not None:
                card.setdefault("power_w", power)

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None or self._card is None or "Process ID" not in process:
            return
        pid = str(process["Process ID"])
        self.holders.add(
            (self._process_extent[0], self._process_extent[1] - self._process_extent[0]),
            wall_us=self.wall,
            pci_bus_id=self._card["pci_bus_id"],
            uuid=self._card.get("uuid"),
            pid=int(pid) if pid.isdecimal() and len(pid) < 19 else None,
            process=process.get("Name"),
            used_bytes=_bytes(str(process.get("Used GPU Memory", ""))),
        )

    def close(self) -> None:
        """End the open card."""
        self._end_process()
        card, self._card = self._card, None
        if card is not None:
            self.undated += card["wall_us"] is None
            self.cards.add((self._extent[0], self._extent[1] - self._extent[0]), **card)


# -- XML --------------------------------------------------------------------------------------------------------------

_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*>")
_END = b"</nvidia_smi_log>"


def read_smi_xml(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[CardSamples | HolderSamples]:
    """Yield all cards and processes of all documents; a card is cited by its memory, a process by its own element."""
    most = min(options.held_bytes, _DOCUMENT_BYTES)
    cards, holders = CardRows(), HolderRows()
    drivers: list[str] = []
    held = bytearray()
    base = broken = undated = instances = 0
    first: int | None = None

    def document(content: bytes, offset: int) -> bool:
        nonlocal undated, instances
        try:
            found = _parsed(content)
        except ValueError:
            return False
        wall = printed_date(found.findtext("timestamp", ""))
        driver = found.findtext("driver_version")
        if driver:
            drivers.append(driver)
        places = _Places(content, offset)
        for gpu in found.iter("gpu"):
            bus = (gpu.get("id") or "").upper() or None
            identity = {"wall_us": wall, "uuid": gpu.findtext("uuid"), "pci_bus_id": bus}
            undated += wall is None
            instances += len(gpu.findall("mig_devices/mig_device"))
            busy = _number(gpu.findtext("utilization/gpu_util"), "%")
            place = places.next(b"<gpu ", b"<gpu ")
            memory = places.within(place, b"<fb_memory_usage>", b"</fb_memory_usage>")
            cards.add(
                memory,
                **identity,
                name=gpu.findtext("product_name"),
                **{
                    f"{name}_bytes": _bytes(gpu.findtext(f"fb_memory_usage/{name}", ""))
                    for name in ("total", "reserved", "used", "free")
                },
                utilization_ratio=None if busy is None else busy / 100,
                power_w=next(
                    (
                        power
                        for one in (
                            "gpu_power_readings/power_draw",
                            "gpu_power_readings/average_power_draw",
                            "gpu_power_readings/instant_power_draw",
                            "power_readings/power_draw",
                        )
                        if (power := _number(gpu.findtext(one), "W")) is not None
                    ),
                    None,
                ),
            )
            for process in gpu.findall("processes/process_info"):
                pid = process.findtext("pid", "").strip()
                holders.add(
                    places.next(b"<process_info>", b"</process_info>"),
                    **identity,
                    pid=int(pid) if pid.isdecimal() and len(pid) < 19 else None,
                    process=process.findtext("process_name"),
                    used_bytes=_bytes(process.findtext("used_memory", "")),
                )
        return True

    for piece in pieces:
        held += piece
        while (at := held.find(_END)) >= 0:
            content = bytes(held[: at + len(_END)])
            if not document(content, base):
                broken += 1
                first = base if first is None else first
            del held[: len(content)]
            base += len(content)
        if len(held) > most:
            broken += 1
            first = base if first is None else first
            base += len(held)
            held.clear()
    source.tell("loss", "the last document is cut", "get a whole copy", base, bool(held.strip()))
    source.tell("loss", "documents that are no XML of nvidia-smi", "", first, broken)
    source.tell("note", _UNDATED, "", None, undated)
    source.tell("note", _INSTANCES, "", None, instances)
    yield from cards.samples(source, zone_known=False, driver=drivers[-1] if drivers else None)
    yield from holders.samples(source, zone_known=False)


def _parsed(content: bytes) -> ET.Element:
    content = _DOCTYPE.sub(
        b"", content[max(content.find(b"<nvidia_smi_log"), 0) :] if b"<!ENTITY" not in content else b""
    )
    if b"<!" in content.replace(b"<!--", b""):
        raise ValueError("it declares entities")
    try:
        return ET.fromstring(content)  # noqa: S314  it declares nothing, as was seen
    except ET.ParseError as error:
        raise ValueError(str(error)) from error


class _Places:
    """Where elements stand in the bytes of a document, one after another."""

    def __init__(self, content: bytes, base: int) -> None:
        self._content = content
        self._base = base
        self._at: dict[bytes, int] = {}

    def next(self, begin: bytes, end: bytes) -> tuple[int, int]:
        """Offset and length of the next element of a kind."""
        start = self._content.find(begin, self._at.get(begin, 0))
        if start < 0:
            return self._base, len(self._content)
        stop = self._content.find(end, start + len(begin))
        stop = len(self._content) if stop < 0 else stop + (len(end) if end != begin else 0)
        self._at[begin] = stop
        return self._base + start, stop - start

    def within(self, place: tuple[int, int], begin: bytes, end: bytes) -> tuple[int, int]:
        """Offset and length of the first element of a kind inside another."""
        start = self._content.find(begin, place[0] - self._base, place[0] - self._base + place[1])
        if start < 0:
            return place
        stop = self._content.find(end, start)
        return self._base + start, (len(self._content) if stop < 0 else stop + len(end)) - start
