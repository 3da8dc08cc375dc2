"""Read metrics in the Prometheus text format: figures of cards by the names that exporters give them, and counters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from forensics.records.block import CardSamples, HolderSamples, RequestCounters, Source
from forensics.records.lines import placed_lines
from forensics.records.options import MIB, Options
from forensics.records.reports import CounterRows
from forensics.records.samples import CardRows, HolderRows, file_time_once

__all__ = ["METRIC", "STATUS", "Figures", "read_exposition"]

_NUMBER = rb"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"

METRIC = re.compile(
    rb"([A-Za-z_:][A-Za-z0-9_:]*)?(?:\{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\})? +"
    rb"([-+]?" + _NUMBER + rb"|NaN|[-+]?Inf)(?: +(-?" + _NUMBER + rb"))?"
)
"""Name, labels, value, time: in ms, or in OpenMetrics in seconds."""

STATUS = re.compile(rb"(?:HTTP/[0-9.]+ )?[1-5][0-9][0-9](?: [A-Za-z ]+)?")
"""The first line of an answer that was saved with its status."""

_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')

_BLANK_FROM = 9_223_372_036_854_775_792
"""From here on a value of DCGM says that there is none (dcgm_fields.h)."""

_CARD: dict[str, tuple[str, float]] = {
    # dcgm-exporter, etc/default-counters.csv: MiB, %, W
    "DCGM_FI_DEV_FB_TOTAL": ("total_bytes", MIB),
    "DCGM_FI_DEV_FB_USED": ("used_bytes", MIB),
    "DCGM_FI_DEV_FB_FREE": ("free_bytes", MIB),
    "DCGM_FI_DEV_FB_RESERVED": ("reserved_bytes", MIB),
    "DCGM_FI_DEV_GPU_UTIL": ("utilization_ratio", 0.01),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1),
    # nvidia_gpu_exporter
    "nvidia_smi_memory_total_bytes": ("total_bytes", 1),
    "nvidia_smi_memory_used_bytes": ("used_bytes", 1),
    "nvidia_smi_memory_free_bytes": ("free_bytes", 1),
    "nvidia_smi_memory_reserved_bytes": ("reserved_bytes", 1),
    "nvidia_smi_utilization_gpu_ratio": ("utilization_ratio", 1),
    "nvidia_smi_power_draw_watts": ("power_w", 1),
    # nvitop-exporter 1.7.2
    "gpu_memory_total_MiB": ("total_bytes", MIB),
    "gpu_memory_used_MiB": ("used_bytes", MIB),
    "gpu_memory_free_MiB": ("free_bytes", MIB),
    "gpu_utilization_Percentage": ("utilization_ratio", 0.01),
    "gpu_power_usage_W": ("power_w", 1),
}
_HOLDER = {"nvidia_smi_compute_app_used_memory_bytes": 1.0, "process_gpu_memory_MiB": float(MIB)}
_COMMAND = "process_info_info"
"""nvitop-exporter says here alone what a process is called."""

Place = tuple[int | None, str | None, str | None, str | None]


class _Figure(NamedTuple):
    value: float
    offset: int
    length: int


class Figures:
    """Figures of cards, gathered by card and time until a row is made of them."""

    def __init__(self) -> None:
        self.cards: dict[Place, dict[str, _Figure]] = {}
        self.names: dict[Place, str] = {}
        self.holders: list[tuple[Place, int | None, str | None, _Figure]] = []
        self.commands: dict[tuple[Place, int | None], str] = {}
        self.instances = 0

    def take(
        self, name: str, labels: dict[str, str], value: float, wall_us: int | None, offset: int, length: int
    ) -> bool:
        """Take a figure; False if it is none of a card."""
        known = _CARD.get(name)
        factor = _HOLDER.get(name)
        command = labels.get("command") if name == _COMMAND else None
        if known is None and factor is None and command is None:
            return False
        if not math.isfinite(value) or value < 0 or value >= _BLANK_FROM:
            return True  # the exporter's way of saying that there is no value
        uuid = labels.get("UUID") or labels.get("uuid")
        if uuid is not None and not uuid.startswith(("GPU-", "MIG-")):
            uuid = f"GPU-{uuid}"
        index = labels.get("gpu") or labels.get("index")
        bus = labels.get("pci_bus_id")
        place = (wall_us, uuid, index if index is not None and index.isdecimal() else None, bus and bus.upper())
        if "GPU_I_ID" in labels:
            self.instances += 1
            return True
        if known is not None:
            column, factor = known
            self.cards.setdefault(place, {})[column] = _Figure(value * factor, offset, length)
            if model := labels.get("modelName") or labels.get("devicename"):
                self.names[place] = model
            return True
        pid = labels.get("pid", "")
        holder = int(pid) if pid.isdecimal() and len(pid) < 19 else None
        if command is not None:
            self.commands[place, holder] = command
        elif factor is not None:
            self.holders.append((place, holder, labels.get("process_name"), _Figure(value * factor, offset, length)))
        return True

    def samples(self, source: Source) -> Iterator[CardSamples | HolderSamples]:
        """All rows, each cited by its figure of used memory, else its first."""
        cards, holders = CardRows(), HolderRows()
        for place, figures in self.cards.items():
            wall_us, uuid, index, bus = place
            cited = figures.get("used_bytes") or next(iter(figures.values()))
            values: dict[str, object] = {
                name: figure.value if name in {"utilization_ratio", "power_w"} else round(figure.value)
                for name, figure in figures.items()
            }
            free, used, kept = (values.get(name) for name in ("free_bytes", "used_bytes", "reserved_bytes"))
            if (
                "total_bytes" not in values
                and isinstance(free, int)
                and isinstance(used, int)
                and isinstance(kept, int)
            ):
                values["total_bytes"] = free + used + kept  # by the identity that the exporter's figures hold
            cards.add(
                (cited.offset, cited.length),
                wall_us=wall_us,
                uuid=uuid,
                index=None if index is None else int(index),
                pci_bus_id=bus,
                name=self.names.get(place),
                **values,
            )
        for place, pid, process, figure in self.holders:
            wall_us, uuid, index, bus = place
            holders.add(
                (figure.offset, figure.length),
                wall_us=wall_us,
                uuid=uuid,
                index=None if index is None else int(index),
                pci_bus_id=bus,
                pid=pid,
                process=process or self.commands.get((place, pid)),
                used_bytes=round(figure.value),
            )
        yield from cards.samples(source, zone_known=True)
        yield from holders.samples(source, zone_known=True)
        source.tell("note", "figures of MIG instances were passed over", "", None, self.instances)


def read_exposition(
    source: Source, pieces: Iterator[bytes], options: Options
) -> Iterator[CardSamples | HolderSamples | RequestCounters]:
    """Yield the rows of cards, and all other figures as counters. Without times the file's own stands for them."""
    figures, counters = Figures(), CounterRows()
    captured = file_time_once(source)
    strange = blank = 0
    for line, extent in placed_lines(pieces, source, options.line_bytes):
        if not line.strip() or line.startswith(b"#"):
            continue
        if not counters and not figures.cards and STATUS.fullmatch(line):
            continue  # an answer saved with its status before it
        found = METRIC.fullmatch(line.strip())
        labels = {} if found is None else _labels(found[2])
        name = labels.pop("__name__", "") if found is None or found[1] is None else found[1].decode()
        if found is None or not name:
            strange += 1
            continue
        wall_us = _stamp(found[4], captured)
        value = float(found[3])
        if figures.take(name, labels, value, wall_us, *extent):
            continue
        text = ",".join(f"{key}={inner}" for key, inner in labels.items()) or None
        blank += not counters.add(extent, wall_us, name, value, text)
    yield from figures.samples(source)
    yield from counters.counters(source)
    source.tell("loss", "lines that are no metric", "", None, strange)
    source.tell("note", "metrics without a number", "", None, blank)


def _labels(text: bytes | None) -> dict[str, str]:
    if not text:
        return {}
    return {
        found[1]: re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], found[2])
        for found in _LABEL.finditer(text.decode("utf-8", "replace"))
    }


def _stamp(printed: bytes | None, captured: Callable[[], int | None]) -> int | None:
    if printed is None:
        return captured()
    number = float(printed)
    # Milliseconds; OpenMetrics prints seconds. Of this century one has 13 digits and the other 10.
    micros = number * 1000 if abs(number) >= 10**11 else number * 1_000_000
    return int(micros) if abs(micros) < 2**62 else None
