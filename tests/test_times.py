"""Times: a clock that was set is told from a host that slept, and how each line's time is known can be asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import Rows, rows
from opened import BEGIN, journal, opened

from forensics.answer import Ask
from forensics.ask_timeline import timeline

BOOT = "0000000000000000000000000000b007"
LOADS = "0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'"
READY = "0.02.500.000 I srv  llama_server: model loaded"
IDLE = "0.02.500.010 I srv  update_slots: all slots are idle"
ENTRY, EXIT = "PM: suspend entry (deep)", "PM: suspend exit"
CHANGES = "SELECT kind, change_us / 1000000, len(string_split(lines, ' ')) FROM clock_changes"


def at(wall_s: float, elapsed_s: float, text: str, *, kernel: bool = False, boot: str = BOOT) -> str:
    """One entry, received at a time of the wall clock and at one since boot."""
    wall_us = int(BEGIN.timestamp() * 1_000_000) + int(wall_s * 1_000_000)
    cursor = f"s=5e;i=1;b={boot};m={int(elapsed_s * 1_000_000):x};t={wall_us:x};x=0"
    fields = {"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel"} if kernel else {}
    return journal(0 if kernel else 7, wall_s, text, __CURSOR=cursor, _BOOT_ID=boot, **fields)


@pytest.mark.parametrize(
    ("entries", "changes"),
    [
        ([at(0, 100, LOADS), at(5, 105, READY)], []),
        ([at(0, 100, LOADS), at(5, 105, READY), at(-3590, 110, IDLE)], [("step", -3600, None)]),
        (
            [
                at(0, 100, LOADS),
                at(5, 105, ENTRY, kernel=True),
                at(605, 106, EXIT, kernel=True),
                at(610, 111, READY),
            ],
            [("suspended", 599, 2)],
        ),
        (
            [at(0, 100, LOADS), at(5, 105, ENTRY, kernel=True), at(610, 111, READY)],
            [("suspended", 599, 1)],
        ),
        (
            [at(-9, 91, ENTRY, kernel=True), at(-8, 92, EXIT, kernel=True), at(0, 100, LOADS), at(610, 111, READY)],
            [("step", 599, None)],
        ),
        ([at(0, 100, LOADS), at(610, 111, READY)], [("unclear", 599, None)]),
        ([at(0, 100, LOADS), at(7201, 7300, READY)], []),
        ([at(0, 100, LOADS), at(610, 4, READY, boot="b" * 32)], []),
        ([at(5, 105, READY), at(0, 100, LOADS)], []),
    ],
    ids=[
        "none",
        "set back",
        "slept",
        "slept, and the resume is not logged",
        "set ahead where the system logs its sleeps",
        "ahead, and nothing says why",
        "slewed",
        "another boot",
        "out of order",
    ],
)
def test_a_clock_that_was_set_is_told_from_a_host_that_slept(tmp_path: Path, entries: list[str], changes: Rows) -> None:
    assert rows(opened(tmp_path, journal_json="".join(entries)), CHANGES) == changes


def test_what_happened_to_the_clock_is_a_hole_of_the_timeline(tmp_path: Path) -> None:
    log = at(0, 100, LOADS) + at(5, 105, READY) + at(-3590, 110, IDLE)
    answer = timeline(Ask(connection=opened(tmp_path, journal_json=log)))
    (hole,) = [one for one in answer.document["holes"] if one["kind"] == "step"]
    assert (hole["subject"], hole["number"]) == ("box", -3600)
    (section,) = [one for one in answer.sections if one.title == "Holes in the evidence"]
    assert [row[3] for row in section.rows if row[2] == "box"] == ["the clock was set by -3600 s"]
