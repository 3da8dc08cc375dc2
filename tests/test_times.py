"""Times: a clock that was set is told from a host that slept, and how each line's time is known can be asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import Rows, case, rows
from opened import BEGIN, holders_csv, journal, opened

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


# -- how a time is known -----------------------------------------------------------------------------------------------

BASIS = """
    SELECT regexp_extract(source_id, '[^/]*$'), lines, timed, basis, regexp_replace(assumed, 'year; \\d+', 'year; YEAR')
    FROM time_basis ORDER BY 1
"""
PLAIN = f"{LOADS}\n{READY}\n"
SERVED = "2026-09-18T09:00:00.{}Z {}\n"
HELD = holders_csv((3, 0, 7, 300), *((second, 0, 7, 1600) for second in range(4, 9)))
SHORT = "Sep 18 08:00:01 gpubox llama-server[7]: {}\n"
NO_YEAR = "times carry no year; YEAR assumed for the first line from the file's modification time"
LISTENING = "Listening on 127.0.0.1:11434 (version 0.33.0)"
NO_ZONE = "times carry no zone and were read as UTC"


@pytest.mark.parametrize(
    ("files", "known"),
    [
        ({"server_json": at(0, 100, LOADS)}, [("server.json", 1, 1, "received", None)]),
        ({"server_log": PLAIN}, [("server.log", 2, 0, "none", None)]),
        (
            {"server_log": SERVED.format("000000000", LOADS) + SERVED.format("100000000", READY)},
            [("server.log", 2, 2, "collector", None)],
        ),
        (
            {"server_log": "2026-09-18T09:00:00+02:00 gpubox llama-server[7]: " + PLAIN.splitlines()[0] + "\n"},
            [("server.log", 1, 1, "collector", None)],
        ),
        (
            {"server_log": SHORT.format(LOADS)},
            [("server.log", 1, 1, "collector", f"{NO_YEAR}; {NO_ZONE}")],
        ),
        (
            {"server_log": f'time=2026-08-21T10:00:00Z level=INFO source=routes.go:1 msg="{LISTENING}"\n'},
            [("server.log", 1, 1, "program", None)],
        ),
        (
            {"server_log": PLAIN, "apps_csv": HELD},
            [("apps.csv", 6, 6, "tool", "zone UTC, as told by --tz"), ("server.log", 2, 2, "placed", None)],
        ),
        (
            {"gpu_csv": "index, memory.used [MiB]\n0, 5 MiB\n"},
            [("gpu.csv", 1, 1, "file", "the capture prints no time: the file's modification time stands for it")],
        ),
    ],
    ids=["journal", "no time", "container", "text of a journal", "short", "program", "placed", "file"],
)
def test_how_the_time_of_each_line_is_known_can_be_asked(tmp_path: Path, files: dict[str, str], known: Rows) -> None:
    assert rows(opened(tmp_path, **files), BASIS) == known


def test_how_the_zone_of_samples_is_known_can_be_asked(tmp_path: Path) -> None:
    log = at(0, 100, LOADS) + at(2, 102, READY)
    zone = "SELECT assumed FROM time_basis WHERE basis = 'tool'"
    shifted = HELD.replace(" 08:00", " 10:00")
    assert rows(case(tmp_path, server=log, apps=shifted), zone) == [
        ("zone UTC+02:00, inferred from lives of processes that log and samples both show",)
    ]
    assert rows(case(tmp_path, server="", apps=shifted), zone) == [("zone UTC, assumed UTC",)]
