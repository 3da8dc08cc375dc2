"""Read JSON documents that hold telemetry or what services say of themselves, by the keys they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from forensics.records.block import CardSamples, HolderSamples, RequestCounters, SelfReports, Source
from forensics.records.content import held
from forensics.records.exposition import Figures
from forensics.records.json_text import JsonText, Placed
from forensics.records.options import MIB, Options
from forensics.records.reports import CounterRows, ReportRows, report_document
from forensics.records.samples import CardRows, HolderRows, file_time_once
from forensics.records.times import micro, wall_time

__all__ = ["has_shape", "read_json_documents"]

_SHAPES: tuple[tuple[bytes, ...], ...] = (
    (b'"gpus"', b'"memory.used"'),
    (b'"device_name"', b'"gpu_util"'),
    (b'"metric"', b'"value'),
    (b'"VRAM Total Used Memory (B)"',),
    (b'"total_vram"',),
    (b'"process_info"', b'"vram'),
    (b'"vram_used"',),
    (b'"models"', b'"size_vram"'),
    (b'"running"', b'"state"', b'"proxy"'),
    (b'"default_generation_settings"',),
    (b'"id"', b'"n_ctx"', b'"is_processing"'),
)
"""Keys that stand together in documents that are read."""

_MOST_BYTES = 256 * MIB
"""As objects it takes some ten times as much."""

_STATUS_LINE = re.compile(rb"(?:HTTP/[0-9.]+ )?[1-5][0-9][0-9](?: [A-Za-z ]+)?\r?\n(?:\r?\n)?")


def has_shape(head: bytes) -> bool:
    """Whether the first bytes of a JSON document show keys of one that is read."""
    return any(all(key in head for key in keys) for keys in _SHAPES)


def read_json_documents(
    source: Source, pieces: Iterator[bytes], options: Options
) -> Iterator[CardSamples | HolderSamples | SelfReports | RequestCounters]:
    """Yield what the documents of a source hold, one after another as they were appended."""
    most = min(options.held_bytes, _MOST_BYTES)
    kept, beyond = held(pieces, most)
    if beyond:
        what = f"the document is longer than {most} bytes: the rest was not read"
        source.tell("loss", what, "query less at once", most)
    content = bytes(kept)
    status = _STATUS_LINE.match(content)
    base = status.end() if status else 0
    base += len(content[base:]) - len(content[base:].removeprefix(b"\xef\xbb\xbf"))
    text = JsonText(content[base:], base)
    reader = _Documents(source, text)
    for found in text.documents():
        reader.take(found)
    if text.rest < len(text.text):
        offset, _ = text.extent(Placed(None, text.rest, text.rest))
        source.tell("loss", "what follows is no JSON document", "", offset)
    yield from reader.all()


class _Documents:
    """Rows of all documents of a source."""

    def __init__(self, source: Source, text: JsonText) -> None:
        self.source = source
        self.text = text
        self.zoned, self.local = (CardRows(), HolderRows()), (CardRows(), HolderRows())
        self.figures = Figures()
        self.reports, self.counters = ReportRows(), CounterRows()
        self.unknown = 0
        self.captured = file_time_once(source)

    def take(self, found: Placed) -> None:
        """Take one document."""
        value = found.value
        readers: tuple[Callable[[Placed], bool], ...] = (
            self._series,
            self._gpus,
            self._devices,
            self._cards_by_name,
            self._listed_cards,
        )
        if any(reader(found) for reader in readers):
            return
        if not isinstance(value, (dict, list)) or not report_document(
            self.text, found, self.captured(), self.reports, self.counters
        ):
            self.unknown += 1

    def all(self) -> Iterator[CardSamples | HolderSamples | SelfReports | RequestCounters]:
        """Everything that was gathered."""
        for (cards, holders), known in ((self.zoned, True), (self.local, False)):
            yield from cards.samples(self.source, zone_known=known)
            yield from holders.samples(self.source, zone_known=known)
        yield from self.figures.samples(self.source)
        yield from self.reports.reports(self.source)
        yield from self.counters.counters(self.source)
        self.source.tell("note", "documents of another shape were passed over", "", None, self.unknown)

    # -- shapes -------------------------------------------------------------------------------------------------------

    def _series(self, found: Placed) -> bool:
        """Answers of a metrics store: vectors and matrices, bare or in their envelope."""
        listed: Placed | None = found
        if isinstance(found.value, dict):
            data = self.text.member(found, "data") if isinstance(found.value.get("data"), dict) else found
            assert data is not None
            listed = self.text.member(data, "result") if isinstance(data.value, dict) else None
        if listed is None or not isinstance(listed.value, list):
            return False
        if not all(isinstance(one, dict) and isinstance(one.get("metric"), dict) for one in listed.value):
            return False
        for one in self.text.elements(listed):
            assert isinstance(one.value, dict)
            labels = {str(key): str(inner) for key, inner in one.value["metric"].items()}
            name = labels.pop("__name__", "value")
            values = self.text.member(one, "values")
            single = self.text.member(one, "value")
            pairs = [*(self.text.elements(values) if values is not None else ()), *([single] if single else [])]
            rest = ",".join(f"{key}={inner}" for key, inner in labels.items()) or None
            for pair in pairs:
                stamped = pair.value
                if not isinstance(stamped, list) or len(stamped) != 2:
                    continue
                try:
                    wall_us, number = round(float(stamped[0]) * 1_000_000), float(stamped[1])
                except (TypeError, ValueError, OverflowError):
                    continue
                extent = self.text.extent(pair)
                if not self.figures.take(name, labels, number, wall_us, *extent):
                    self.counters.add(extent, wall_us, name, number, rest)
        return True

    def _gpus(self, found: Placed) -> bool:
        """Of gpustat --json: MiB, called MB; a local time without a zone (gpustat 1.1, core.py)."""
        value = found.value
        if not isinstance(value, dict) or not isinstance(value.get("gpus"), list):
            return False
        listed = self.text.member(found, "gpus")
        assert listed is not None
        wall_us = _local(value.get("query_time"))
        cards, holders = self.local
        if wall_us is None:
            wall_us = self.captured()
            cards, holders = self.zoned
        for one in self.text.elements(listed):
            gpu = one.value
            if not isinstance(gpu, dict):
                continue
            power = _number(gpu.get("power.draw"))
            busy = _number(gpu.get("utilization.gpu"))
            identity = {"wall_us": wall_us, "index": _int(gpu.get("index")), "uuid": _text(gpu.get("uuid"))}
            cards.add(
                self.text.extent(one),
                **identity,
                name=_text(gpu.get("name")),
                total_bytes=_scaled(gpu.get("memory.total"), MIB),
                used_bytes=_scaled(gpu.get("memory.used"), MIB),
                utilization_ratio=None if busy is None else busy / 100,
                power_w=power,
            )
            processes = self.text.member(one, "processes")
            if processes is None or not isinstance(processes.value, list):
                continue
            for inner in self.text.elements(processes):
                if isinstance(inner.value, dict):
                    holders.add(
                        self.text.extent(inner),
                        **identity,
                        pid=_int(inner.value.get("pid")),
                        process=_text(inner.value.get("command")),
                        used_bytes=_scaled(inner.value.get("gpu_memory_usage"), MIB),
                    )
        return True

    def _devices(self, found: Placed) -> bool:
        """Of nvtop -s: numbers as text, bytes, no time, cards by their order alone (nvtop, src)."""
        value = found.value
        if not isinstance(value, list) or not value:
            return False
        if not all(isinstance(one, dict) and "device_name" in one for one in value):
            return False
        cards, holders = self.zoned
        for index, one in enumerate(self.text.elements(found)):
            device = one.value
            assert isinstance(device, dict)
            busy = _number(device.get("gpu_util"))
            identity = {"wall_us": self.captured(), "index": index}
            cards.add(
                self.text.extent(one),
                **identity,
                name=_text(device.get("device_name")),
                total_bytes=_scaled(device.get("mem_total"), 1),
                used_bytes=_scaled(device.get("mem_used"), 1),
                free_bytes=_scaled(device.get("mem_free"), 1),
                utilization_ratio=None if busy is None else busy / 100,
                power_w=_number(device.get("power_draw")),
            )
            processes = self.text.member(one, "processes")
            for inner in self.text.elements(processes) if processes is not None else ():
                if isinstance(inner.value, dict):
                    holders.add(
                        self.text.extent(inner),
                        **identity,
                        pid=_int(inner.value.get("pid")),
                        process=_text(inner.value.get("cmdline")),
                        used_bytes=_scaled(inner.value.get("gpu_mem_bytes_alloc"), 1),
                    )
        return True

    def _cards_by_name(self, found: Placed) -> bool:
        """Of rocm-smi --json: an object a card, all values text, bytes (rocm_smi_lib, python_smi_tools)."""
        value = found.value
        if not isinstance(value, dict):
            return False
        names = [name for name in value if re.fullmatch(r"card\d+", name) and isinstance(value[name], dict)]
        if not any("VRAM Total Memory (B)" in value[name] for name in names):
            return False
        for name in names:
            one = self.text.member(found, name)
            assert one is not None
            card = value[name]
            busy = _number(card.get("GPU use (%)"))
            bus = _text(card.get("PCI Bus"))
            self.zoned[0].add(
                self.text.extent(one),
                wall_us=self.captured(),
                index=int(name[4:]),
                pci_bus_id=None if bus is None else bus.upper(),
                uuid=_text(card.get("Unique ID")),
                name=_text(card.get("Card Series") or card.get("Card series")),
                total_bytes=_scaled(card.get("VRAM Total Memory (B)"), 1),
                used_bytes=_scaled(card.get("VRAM Total Used Memory (B)"), 1),
                utilization_ratio=None if busy is None else busy / 100,
                power_w=_number(next((card[key] for key in card if "Power (W)" in key), None)),
            )
        return True

    def _listed_cards(self, found: Placed) -> bool:
        """Of amd-smi metric, monitor and process --json: a list of cards, amounts with units (amdsmi_cli)."""
        listed: Placed | None = found
        if isinstance(found.value, dict):
            listed = self.text.member(found, "gpu_data")
        if listed is None or not isinstance(listed.value, list):
            return False
        mine = [one for one in listed.value if isinstance(one, dict) and "gpu" in one]
        known = {"mem_usage", "vram_used", "process_list", "process_info"}
        if not mine or not any(known & one.keys() for one in mine):
            return False
        for one in self.text.elements(listed):
            if isinstance(one.value, dict):
                self._listed_card(one, one.value)
        return True

    def _listed_card(self, one: Placed, card: dict[str, Any]) -> None:
        identity = {"wall_us": self.captured(), "index": _int(card.get("gpu"))}
        memory = card.get("mem_usage")
        amounts = memory if isinstance(memory, dict) else card
        used = _with_unit(amounts.get("used_vram", amounts.get("vram_used")))
        if used is not None:
            usage = card.get("usage")
            busy = _number(usage.get("gfx_activity")) if isinstance(usage, dict) else _number(card.get("gfx"))
            self.zoned[0].add(
                self.text.extent(one),
                **identity,
                total_bytes=_with_unit(amounts.get("total_vram", amounts.get("vram_total"))),
                used_bytes=used,
                free_bytes=_with_unit(amounts.get("free_vram", amounts.get("vram_free"))),
                utilization_ratio=None if busy is None else busy / 100,
            )
        processes = self.text.member(one, "process_list")
        inner = list(self.text.elements(processes)) if processes and isinstance(processes.value, list) else [one]
        for place in inner:
            about = place.value.get("process_info") if isinstance(place.value, dict) else None
            if not isinstance(about, dict):
                continue
            held = about.get("memory_usage")
            size = held.get("vram_mem") if isinstance(held, dict) else about.get("mem_usage")
            self.zoned[1].add(
                self.text.extent(place),
                **identity,
                pid=_int(about.get("pid")),
                process=_text(about.get("name")),
                used_bytes=_with_unit(size),
            )


def _int(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if type(value) is int and abs(value) < 2**62 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value not in {"", "N/A"} else None


def _number(value: object) -> float | None:
    """A number, also as text with a unit behind it, or as an object of value and unit."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str):
        found = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)", value)
        value = float(found[1]) if found else None
    return float(value) if type(value) in {int, float} and 0 <= value < 1e15 else None  # type: ignore[operator,arg-type]


def _scaled(value: object, factor: int) -> int | None:
    number = _number(value)
    return None if number is None else int(number * factor)


def _with_unit(value: object) -> int | None:
    """An amount with its unit; MB are MiB (amdsmi_cli divides by 1024 twice)."""
    unit = "MB"
    if isinstance(value, dict):
        unit, value = str(value.get("unit", unit)), value.get("value")
    elif isinstance(value, str):
        found = re.search(r"[A-Za-z]+", value)
        unit = found[0] if found else unit
    factor = {"B": 1, "KB": 2**10, "KIB": 2**10, "MB": 2**20, "MIB": 2**20, "GB": 2**30, "GIB": 2**30}.get(unit.upper())
    return None if factor is None else _scaled(value, factor)


def _local(value: object) -> int | None:
    """A printed local time as if it were UTC."""
    if not isinstance(value, str):
        return None
    found = re.match(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d+))?$", value)
    if found is None:
        return None
    wall = wall_time(found[1].replace(" ", "T").encode())
    return None if wall is None else wall + micro(found[2].encode() if found[2] else None)
