"""Read the tables that plain `nvidia-smi` prints: cards and their processes at one moment.

Layouts: three lines a card since driver 450, two before; 79 columns wide, 91 since about 530.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from forensics.records.block import CardSamples, HolderSamples, Problem, Source
from forensics.records.lines import lines
from forensics.records.options import MIB, Options

__all__ = ["is_table", "read_smi_table"]

_TITLE = re.compile(rb"\| NVIDIA-SMI (\S+)\s+(?:Driver|KMD) Version: ?(\S+)")
_DATE = re.compile(rb"(?:\x1b\[[0-9;?]*[A-Za-z])*([A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4})\s*")
_CARD = re.compile(
    rb"""\|\s+(\d{1,9})\s+                      # GPU
    (\S.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM)\s+\|  # name, persistence mode or driver model
    \s+([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s""",
    re.VERBOSE,
)
_LOAD = re.compile(
    rb"""\|.*?\s(\d{1,9}|N/A)W?\s*/\s*(?:\d+|N/A)W?\s*\|  # power: usage/cap
    \s*(\d{1,12})MiB\s*/\s*(\d{1,12})MiB\s*\|                     # memory: used/total
    (?:\s*(\d{1,3})%)?""",
    re.VERBOSE,
)
_PROCESS = re.compile(
    rb"""\|\s+(\d{1,9})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?  # GPU, and GI and CI since driver 450
    (\d{1,18})\s+(C\+G|M\+C|C|G)\s+                             # pid, type
    (.*?)\s+(\S+)\s*\|\s*""",  # name, memory
    re.VERBOSE,
)
_INSTANCE = re.compile(
    rb"""\|\s+(\d{1,9})\s+(\d{1,9})\s+\d{1,9}\s+\d{1,9}\s+\|  # GPU, GI, CI, MIG device
    \s*(\d{1,12})MiB\s*/\s*(\d{1,12})MiB\s*\|""",  # shared memory: used/total
    re.VERBOSE,
)
_USED_HOLDS_RESERVED_BEFORE = 510


def is_table(sample: list[bytes]) -> bool:
    """Whether the first lines are those of such a table."""
    return any(_TITLE.match(line) for line in sample[:4])


def read_smi_table(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[CardSamples | HolderSamples]:
    """Yield all cards and all processes of all tables of a source; a card is cited by its two lines."""
    cards = CardSamples(source, [], False, [], [], [], [], [], [], [], [], [], [], [], [])
    holders = HolderSamples(source, [], False, [], [], [], [], [], [], [], [])
    wall: int | None = None
    buses: dict[int, str] = {}
    driver: str | None = None
    open_card: tuple[int, str, str, int] | None = None  # index, name, bus id, offset
    torn = undated = cut = 0
    instances: set[tuple[int, bytes]] = set()  # of this table: all compute instances of one show the same memory
    for chunk in lines(pieces, source, options.line_bytes):
        data = chunk.data
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            line = data[start:end]
            offset = chunk.base + start
            if open_card is not None:
                index, name, bus, begun = open_card
                open_card = None
                found = _LOAD.match(line)
                if found is None:
                    torn += 1
                else:
                    power, used, total, busy = found.groups()
                    undated += wall is None
                    cards.wall_us.append(wall)
                    cards.index.append(index)
                    cards.uuid.append(None)
                    cards.pci_bus_id.append(bus)
                    cards.name.append(name)
                    cards.total_bytes.append(int(total) * MIB)
                    cards.used_bytes.append(int(used) * MIB)
                    cards.free_bytes.append(None)
                    cards.reserved_bytes.append(None)
                    cards.utilization_ratio.append(None if busy is None else int(busy) / 100)
                    cards.power_w.append(None if power == b"N/A" else float(power))
                    cards.offset.append(begun)
                    cards.length.append(offset + end - start - begun)
                    buses[index] = bus
                continue
            if found := _DATE.match(line):
                wall = _time(found[1].decode())
                buses, instances = {}, set()
            elif found := _TITLE.match(line):
                driver = found[2].decode("utf-8", "replace")
            elif found := _CARD.match(line):
                open_card = int(found[1]), found[2].decode("utf-8", "replace"), found[3].decode().upper(), offset
            elif found := _PROCESS.match(line):
                index = int(found[1])
                holders.wall_us.append(wall)
                holders.uuid.append(None)
                holders.pci_bus_id.append(buses.get(index))
                holders.index.append(index)
                holders.pid.append(int(found[2]))
                holders.process.append(found[4].decode("utf-8", "replace"))
                size = found[5].removesuffix(b"MiB")
                holders.used_bytes.append(
                    int(size) * MIB if size.isdigit() and len(size) < 13 and size != found[5] else None
                )
                cut += found[5].endswith(b"...")
                holders.offset.append(offset)
                holders.length.append(end - start)
            elif (found := _INSTANCE.match(line)) and (int(found[1]), found[2]) not in instances:
                index = int(found[1])
                instances.add((index, found[2]))
                cards.wall_us.append(wall)
                cards.index.append(None)
                cards.uuid.append(f"MIG-{buses.get(index, index)}/{int(found[2])}")
                cards.pci_bus_id.append(None)
                cards.name.append(f"MIG instance {int(found[2])} of GPU {index}")
                cards.total_bytes.append(int(found[4]) * MIB)
                cards.used_bytes.append(int(found[3]) * MIB)
                cards.free_bytes.append(None)
                cards.reserved_bytes.append(None)
                cards.utilization_ratio.append(None)
                cards.power_w.append(None)
                cards.offset.append(offset)
                cards.length.append(end - start)

    def problem(severity: str, what: str, remedy: str, count: int = 1) -> None:
        if count:
            source.problems.append(Problem(source.name, severity, what, remedy, None, count))

    query = "sample with nvidia-smi --query-gpu=timestamp,index,uuid,pci.bus_id,memory.total,memory.used,… --format=csv"
    if cards.offset:
        problem("note", "the table names cards by bus id, and gives neither free nor reserved memory", query)
        major = re.match(r"[0-9]{1,5}(?=\.)", driver or "")
        if major is not None and int(major[0]) < _USED_HOLDS_RESERVED_BEFORE:
            problem("note", f"driver {driver} counts reserved memory as used", "")
    torn += open_card is not None
    problem("loss", "cards whose memory cannot be read", "", torn)
    problem("note", "cards in a table without a date", query, undated)
    # Driver 580 prints 125530MiB as "12553...": not even its length is known.
    problem("loss", "processes whose memory the table cut short", query, cut)
    if cards.offset:
        source.records += len(cards.offset)
        yield cards._replace(driver=driver)
    if holders.offset:
        source.records += len(holders.offset)
        yield holders


def _time(text: str) -> int | None:
    try:
        moment = datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000
