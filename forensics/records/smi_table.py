"""Read the tables that plain `nvidia-smi` prints: cards and their processes at one moment.

Layouts: three lines a card since driver 450, two before; 79 columns wide, 91 since about 530.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.records.block import CardSamples, HolderSamples, Source
from forensics.records.lines import placed_lines
from forensics.records.options import MIB, Options
from forensics.records.samples import CardRows, HolderRows, Timeless
from forensics.records.times import printed_date

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
    query = "sample with nvidia-smi --query-gpu=timestamp,index,uuid,pci.bus_id,memory.total,memory.used,… --format=csv"
    cards, holders = CardRows(), HolderRows()
    timeless = Timeless(source, query)
    bare_cards, bare_holders = CardRows(), HolderRows()  # of the table that is read, if it has no date
    wall: int | None = None
    titled = False
    count = 0  # of cards
    buses: dict[int, str] = {}
    driver: str | None = None
    open_card: tuple[int, str, str, int] | None = None  # index, name, bus id, offset
    torn = cut = 0
    instances: set[tuple[int, bytes]] = set()  # of this table: all compute instances of one show the same memory
    for line, (offset, length) in placed_lines(pieces, source, options.line_bytes):
        if open_card is not None:
            index, name, bus, begun = open_card
            open_card = None
            found = _LOAD.match(line)
            if found is None:
                torn += 1
                continue
            power, used, total, busy = found.groups()
            count += 1
            (bare_cards if wall is None else cards).add(
                (begun, offset + length - begun),
                wall_us=wall,
                index=index,
                pci_bus_id=bus,
                name=name,
                total_bytes=int(total) * MIB,
                used_bytes=int(used) * MIB,
                utilization_ratio=None if busy is None else int(busy) / 100,
                power_w=None if power == b"N/A" else float(power),
            )
            buses[index] = bus
        elif found := _DATE.match(line):
            wall = printed_date(found[1].decode())
            buses, instances, titled = {}, set(), False
        elif found := _TITLE.match(line):
            driver = found[2].decode("utf-8", "replace")
            if titled:  # the date stands before the title: this table has none
                wall, buses, instances = None, {}, set()
            titled = True
            timeless.take(bare_cards := CardRows(), driver)
            timeless.take(bare_holders := HolderRows())
        elif found := _CARD.match(line):
            open_card = int(found[1]), found[2].decode("utf-8", "replace"), found[3].decode().upper(), offset
        elif found := _PROCESS.match(line):
            size = re.fullmatch(rb"(\d{1,12})MiB", found[5])
            cut += found[5].endswith(b"...")
            (bare_holders if wall is None else holders).add(
                (offset, length),
                wall_us=wall,
                pci_bus_id=buses.get(int(found[1])),
                index=int(found[1]),
                pid=int(found[2]),
                process=found[4].decode("utf-8", "replace"),
                used_bytes=None if size is None else int(size[1]) * MIB,
            )
        elif (found := _INSTANCE.match(line)) and (int(found[1]), found[2]) not in instances:
            index = int(found[1])
            instances.add((index, found[2]))
            count += 1
            (bare_cards if wall is None else cards).add(
                (offset, length),
                wall_us=wall,
                uuid=f"MIG-{buses.get(index, index)}/{int(found[2])}",
                name=f"MIG instance {int(found[2])} of GPU {index}",
                total_bytes=int(found[4]) * MIB,
                used_bytes=int(found[3]) * MIB,
            )
    torn += open_card is not None
    if count:
        source.tell("note", "the table names cards by bus id, and gives neither free nor reserved memory", query)
        major = re.match(r"[0-9]{1,5}(?=\.)", driver or "")
        if major is not None and int(major[0]) < _USED_HOLDS_RESERVED_BEFORE:
            source.tell("note", f"driver {driver} counts reserved memory as used")
    source.tell("loss", "cards whose memory cannot be read", "", None, torn)
    # Driver 580 prints 125530MiB as "12553...": not even its length is known.
    source.tell("loss", "processes whose memory the table cut short", query, None, cut)
    yield from cards.samples(source, zone_known=False, driver=driver)
    yield from holders.samples(source, zone_known=False)
    yield from timeless.samples(dated=len(cards) + len(holders) > 0)
