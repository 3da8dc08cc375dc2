"""Samples of nvidia-smi: CSV with and without its decorations, and the plain table."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading import Sample, read

from forensics.records import CardSamples, HolderSamples, Problem

MIB = 1024 * 1024
WALL = 1796039348883000  # 2026-11-30 11:49:08.883 as if UTC
UUID = "GPU-66a21749-2c44-33ce-b08c-9b72b51f36d2"
CARD_HEADER = (
    b"timestamp, index, uuid, name, memory.total [MiB], memory.used [MiB], memory.free [MiB], memory.reserved [MiB],"
    b" utilization.gpu [%], power.draw [W]\n"
)
CARD_ROW = (
    b"2026/11/30 11:49:08.883, 0, GPU-66a21749-2c44-33ce-b08c-9b72b51f36d2, NVIDIA H200, 143771 MiB, 56803 MiB,"
    b" 86353 MiB, 616 MiB, 29 %, 80.76 W\n"
)
BARE_ROW = CARD_ROW.replace(b" MiB", b"").replace(b" %", b"").replace(b" W", b"")
APPS_HEADER = b"timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
APPS_ROW = b"2026/11/30 11:49:08.883, GPU-66a21749-2c44-33ce-b08c-9b72b51f36d2, 726, server --a, -b, c, 682 MiB\n"
CUT = Problem("f", "loss", "the last row is cut", "")


def columns(sample: Sample) -> dict[str, object]:
    """All columns of a sample but where its rows stand."""
    assert isinstance(sample, (CardSamples, HolderSamples))
    return {name: value for name, value in sample._asdict().items() if name not in {"source", "offset", "length"}}


CARD = {
    "wall_us": [WALL],
    "zone_known": False,
    "index": [0],
    "uuid": [UUID],
    "pci_bus_id": [None],
    "name": ["NVIDIA H200"],
    "total_bytes": [143771 * MIB],
    "used_bytes": [56803 * MIB],
    "free_bytes": [86353 * MIB],
    "reserved_bytes": [616 * MIB],
    "utilization_ratio": [0.29],
    "power_w": [80.76],
    "driver": None,
}
HOLDER = {
    "wall_us": [WALL],
    "zone_known": False,
    "uuid": [UUID],
    "pci_bus_id": [None],
    "index": [None],
    "pid": [726],
    "process": ["server --a, -b, c"],
    "used_bytes": [682 * MIB],
}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (CARD_HEADER + CARD_ROW, CARD),
        (CARD_HEADER + BARE_ROW, CARD),
        ((CARD_HEADER + CARD_ROW).replace(b"\n", b"\r\n"), CARD),
        ((CARD_HEADER + CARD_ROW).decode().encode("utf-16"), CARD),
        (CARD_ROW, CARD),
        (APPS_HEADER + APPS_ROW, HOLDER),
        (APPS_HEADER + APPS_ROW.replace(b" MiB", b""), HOLDER),
    ],
    ids=["cards", "cards-nounits", "cards-crlf", "cards-utf16", "cards-noheader", "apps", "apps-nounits"],
)
def test_a_row_becomes_a_sample_in_bytes(tmp_path: Path, content: bytes, expected: dict[str, object]) -> None:
    _, samples, source = read(tmp_path, content)
    assert [columns(sample) for sample in samples] == [expected]
    assert (source.format, source.records) == ("nvidia-smi-csv", 1)


def test_a_row_is_cited_by_its_own_bytes(tmp_path: Path) -> None:
    _, (sample,), _ = read(tmp_path, CARD_HEADER + CARD_ROW)
    assert (sample.offset, sample.length) == ([len(CARD_HEADER)], [len(CARD_ROW) - 1])


def test_a_header_in_the_middle_may_change_the_columns(tmp_path: Path) -> None:
    _, samples, source = read(tmp_path, CARD_HEADER + CARD_ROW + CARD_HEADER + CARD_ROW + APPS_HEADER + APPS_ROW)
    assert [(type(sample), len(sample.offset)) for sample in samples] == [(CardSamples, 2), (HolderSamples, 1)]
    assert source.problems == []


def test_inferred_columns_are_said(tmp_path: Path) -> None:
    row = b"2026/11/30 11:49:08.883, GPU-66a21749-2c44-33ce-b08c-9b72b51f36d2, 726, server, 682 MiB\n"
    _, samples, source = read(tmp_path, row)
    assert [columns(sample) for sample in samples] == [{**HOLDER, "process": ["server"]}]
    what = "no header; the columns were inferred: time, uuid, pid, process, used_bytes"
    assert source.problems == [Problem("f", "note", what, "record with --format=csv", 0)]


@pytest.mark.parametrize("token", [b"[N/A]", b"N/A", b"[Not Supported]", b"[Insufficient Permissions]"])
def test_what_the_tool_does_not_say_is_none(tmp_path: Path, token: bytes) -> None:
    _, (sample,), source = read(tmp_path, CARD_HEADER + CARD_ROW.replace(b"29 %", token).replace(b"616 MiB", token))
    assert columns(sample) == {**CARD, "utilization_ratio": [None], "reserved_bytes": [None]}
    assert source.problems == []


def test_a_token_that_is_evidence_is_counted(tmp_path: Path) -> None:
    _, (sample,), source = read(tmp_path, CARD_HEADER + CARD_ROW.replace(b"29 %", b"[GPU is lost]"))
    assert columns(sample) == {**CARD, "utilization_ratio": [None]}
    assert source.problems == [Problem("f", "note", "[GPU is lost] stands where a value belongs")]


@pytest.mark.parametrize("cut", [1, 3, 10, 40])
def test_a_row_cut_at_the_end_is_lost_and_not_read_as_a_smaller_figure(tmp_path: Path, cut: int) -> None:
    content = CARD_HEADER + CARD_ROW + CARD_ROW
    _, (sample,), source = read(tmp_path, content[: -1 - cut])
    assert columns(sample) == CARD
    assert CUT in [problem._replace(offset=None) for problem in source.problems]


def test_a_last_figure_without_unit_and_line_end_may_be_cut(tmp_path: Path) -> None:
    _, (sample,), source = read(tmp_path, CARD_HEADER + BARE_ROW + BARE_ROW[:-1])
    assert columns(sample) == CARD
    assert CUT in [problem._replace(offset=None) for problem in source.problems]


def test_a_last_row_with_its_unit_is_whole(tmp_path: Path) -> None:
    _, (sample,), _ = read(tmp_path, CARD_HEADER + CARD_ROW[:-1])
    assert columns(sample) == CARD


def test_rows_that_are_no_sample_are_counted(tmp_path: Path) -> None:
    _, (sample,), source = read(tmp_path, CARD_HEADER + b"Unable to determine the device handle\n" + CARD_ROW)
    assert columns(sample) == CARD
    what = "rows that are no sample, the first: 'Unable to determine the device handle'"
    assert source.problems == [Problem("f", "loss", what, "", len(CARD_HEADER))]


@pytest.mark.parametrize("row", [b"Unable to determine the device handle\n", CARD_ROW[:20]], ids=["none", "cut"])
def test_rows_of_which_none_is_a_sample_are_not_taken_for_no_rows(tmp_path: Path, row: bytes) -> None:
    _, samples, source = read(tmp_path, CARD_HEADER + row)
    assert samples == []
    assert source.problems[0].severity == "loss"
    assert not any("without rows" in problem.what for problem in source.problems)


def test_a_header_without_rows_is_noted(tmp_path: Path) -> None:
    _, samples, source = read(tmp_path, APPS_HEADER)
    assert samples == []
    what = "a header without rows: nothing was running, or it was hidden from the tool"
    assert source.problems == [Problem("f", "note", what, "", 0)]


TABLE = b"""\
Mon Nov 30 11:49:08 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |
| N/A   35C    P0            121W /  700W |  141495MiB / 143771MiB |     11%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            6565      C   /usr/bin/python3          12553... |
|    0   N/A  N/A            6615    C+G   server with blanks                      15942MiB |
+-----------------------------------------------------------------------------------------+
"""  # noqa: W291
OLD_TABLE = b"""\
Fri Jan  5 10:00:00 2018
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 384.81                 Driver Version: 384.81                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla P100-PCIE...  Off  | 00000000:0C:00.0 Off |                    0 |
| N/A   30C    P0    26W / 250W |   8943MiB / 16276MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0     29720      C   python3                                     8933MiB |
+-----------------------------------------------------------------------------+
"""


def test_a_table_gives_cards_and_their_holders(tmp_path: Path) -> None:
    _, (cards, holders), source = read(tmp_path, TABLE)
    assert columns(cards) == {
        **CARD,
        "wall_us": [WALL - 883_000],
        "uuid": [None],
        "pci_bus_id": ["00000000:00:06.0"],
        "used_bytes": [141495 * MIB],
        "free_bytes": [None],
        "reserved_bytes": [None],
        "utilization_ratio": [0.11],
        "power_w": [121.0],
        "driver": "580.159.04",
    }
    assert columns(holders) == {
        "wall_us": [WALL - 883_000] * 2,
        "zone_known": False,
        "uuid": [None, None],
        "pci_bus_id": ["00000000:00:06.0"] * 2,
        "index": [0, 0],
        "pid": [6565, 6615],
        "process": ["/usr/bin/python3", "server with blanks"],
        "used_bytes": [None, 15942 * MIB],
    }
    assert (source.format, source.records) == ("nvidia-smi-table", 3)
    assert [(problem.severity, problem.what) for problem in source.problems] == [
        ("note", "the table names cards by bus id, and gives neither free nor reserved memory"),
        ("loss", "processes whose memory the table cut short"),
    ]


def test_an_old_table_counts_reserved_memory_as_used(tmp_path: Path) -> None:
    _, (cards, holders), source = read(tmp_path, OLD_TABLE)
    assert isinstance(cards, CardSamples)
    assert cards.used_bytes == [8943 * MIB]
    assert isinstance(holders, HolderSamples)
    assert (holders.pid, holders.process, holders.used_bytes) == ([29720], ["python3"], [8933 * MIB])
    assert source.problems[-1].what == "driver 384.81 counts reserved memory as used"


def test_a_time_with_its_zone_is_kept_as_it_is(tmp_path: Path) -> None:
    zoned = CARD_ROW.replace(b"2026/11/30 11:49:08.883", b"2026-11-30T12:49:08.883+01:00")
    _, (cards,), _ = read(tmp_path, CARD_HEADER + zoned + zoned.replace(b"T12", b"T10").replace(b"+01", b"-01"))
    assert (columns(cards)["wall_us"], columns(cards)["zone_known"]) == ([WALL, WALL], True)
    _, (cards,), _ = read(tmp_path, CARD_HEADER + zoned.replace(b"T12", b"T11").replace(b"+01:00", b"Z"))
    assert (columns(cards)["wall_us"], columns(cards)["zone_known"]) == ([WALL], True)


def test_blank_lines_and_columns_of_no_use_are_passed_over(tmp_path: Path) -> None:
    header = CARD_HEADER.replace(b", power.draw [W]", b", temperature.gpu, memory.used [MiB], power.draw [W]")
    row = CARD_ROW.replace(b", 80.76 W", b", 38, 1 MiB, 80.76 W")
    _, (sample,), source = read(tmp_path, header + b"\n" + row + b"\n")
    assert (columns(sample), source.problems) == (CARD, [])
    _, samples, _ = read(tmp_path, b"index, memory.used [MiB], temperature.gpu\n0, 5 MiB, 38")
    assert samples == []  # the last column has no unit that would show it to be whole


@pytest.mark.parametrize(
    ("row", "names"),
    [
        (
            "00000000:00:06.0, 1, NVIDIA H200, 143771 MiB, 1551 MiB, 141604 MiB, 616 MiB, 29 %, 80.76 W",
            "pci_bus_id, index, name, total_bytes, used_bytes, free_bytes, reserved_bytes, utilization_ratio, power_w",
        ),
        (f"{UUID}, {UUID}, 5 MiB", "uuid, ?, used_bytes"),
        (f"{UUID}, server, 7, server, [N/A]", "uuid, ?, pid, process, used_bytes"),
        (f"{UUID}, 20 MiB, 100 MiB", "uuid, used_bytes, total_bytes"),
    ],
    ids=["card", "twice", "process", "two-sizes"],
)
def test_columns_without_a_header_are_told_by_their_values(tmp_path: Path, row: str, names: str) -> None:
    _, _, source = read(tmp_path, f"{row}\n{row}\n".encode())
    assert source.records == 2
    assert source.problems[0].what == f"no header; the columns were inferred: {names}"


@pytest.mark.parametrize(
    "row",
    ["a, b, 5 MiB", f"{UUID}, 29 %, 80.76 W", "1, 2, 3", f"{UUID}, 5 MiB"],
    ids=["nobody", "no-size", "numbers", "few"],
)
def test_rows_that_name_no_card_or_no_size_are_a_plain_log(tmp_path: Path, row: str) -> None:
    records, samples, source = read(tmp_path, f"{row}\n{row}\n".encode())
    assert (len(records), samples, source.format) == (2, [], "text")


@pytest.mark.parametrize(
    "line",
    [b"memory.used [MiB, index", b"memory.used [MiB], 1st", b"ready, index", b"memory"],
    ids=["bracket", "no-name", "telling-nothing", "alone"],
)
def test_a_line_that_only_begins_like_a_header_is_none(tmp_path: Path, line: bytes) -> None:
    records, samples, source = read(tmp_path, line + b"\nsecond line\n")
    assert (len(records), samples, source.format) == (2, [], "text")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (b"56803 MiB", b"56803 parsecs"),
        (b"56803 MiB", b"many MiB"),
        (b" 0, GPU", b" first, GPU"),
        (b"29 %", b"-1 %"),
        (b"80.76 W", b"1e99 W"),
        (b"2026/11/30", b"2026/13/30"),
        (b"2026/11/30", b"30.11.2026"),
    ],
)
def test_a_value_that_is_none_of_its_column_makes_a_row_no_sample(tmp_path: Path, right: bytes, wrong: bytes) -> None:
    _, (sample,), source = read(tmp_path, CARD_HEADER + CARD_ROW + CARD_ROW.replace(right, wrong))
    assert columns(sample) == CARD
    assert [(problem.severity, problem.what[:24]) for problem in source.problems] == [
        ("loss", "rows that are no sample,")
    ]


def test_a_size_with_its_unit_right_behind_it_is_read(tmp_path: Path) -> None:
    _, (sample,), _ = read(tmp_path, CARD_HEADER + CARD_ROW.replace(b"56803 MiB", b"56803MiB"))
    assert columns(sample) == CARD


# -- captures that print no time -------------------------------------------------------------------------------------

AT = 1_700_000_000
NOW = "index, memory.used [MiB], memory.total [MiB]\n"
ONLY_TIME = "the capture prints no time: the file's modification time stands for it"
EARLIER = "rows of earlier readings print no time, and cannot be placed: the file's is that of its last reading"
NAMELESS = "rows name no card and print no time: other cards or later readings, they cannot be placed"
AMONG = "rows print no time among others that do, and cannot be placed"
LATER_PRINTED = "timestamp, index, memory.used [MiB]\n2026/11/30 11:49:08.883, 0, 9 MiB\n"


def placed(folder: Path, text: str) -> tuple[list[tuple[object, ...]], list[tuple[str, str, int]], int]:
    """The rows of a file last written at AT, each with its time, card, process and MiB, what is told, and the count."""
    _, samples, source = read(folder, text.encode(), modified_s=AT)
    rows: list[tuple[object, ...]] = [
        (
            None if wall is None else wall // 1_000_000,
            sample.index[row],
            sample.pid[row] if isinstance(sample, HolderSamples) else None,
            (sample.used_bytes[row] or 0) // MIB,
        )
        for sample in samples
        if isinstance(sample, (CardSamples, HolderSamples))
        for row, wall in enumerate(sample.wall_us)
    ]
    return rows, [(one.severity, one.what, one.count) for one in source.problems], source.records


@pytest.mark.parametrize(
    ("text", "rows", "told"),
    [
        (
            f"{NOW}0, 5 MiB, 9 MiB\n1, 6 MiB, 9 MiB\n",
            [(AT, 0, None, 5), (AT, 1, None, 6)],
            [("note", ONLY_TIME, 1)],
        ),
        (
            f"{NOW}0, 5 MiB, 9 MiB\n1, 6 MiB, 9 MiB\n0, 7 MiB, 9 MiB\n1, 8 MiB, 9 MiB\n",
            [(AT, 0, None, 7), (AT, 1, None, 8)],
            [("note", ONLY_TIME, 1), ("loss", EARLIER, 2)],
        ),
        (
            f"{NOW}0, 5 MiB, 9 MiB\n1, 6 MiB, 9 MiB\n{NOW}0, 7 MiB, 9 MiB\n",  # card 1 is lost in between
            [(AT, 0, None, 7)],
            [("note", ONLY_TIME, 1), ("loss", EARLIER, 2)],
        ),
        ("memory.used [MiB]\n5 MiB\n", [(AT, None, None, 5)], [("note", ONLY_TIME, 1)]),
        ("memory.used [MiB]\n5 MiB\n6 MiB\n", [], [("loss", NAMELESS, 2)]),
        (
            "gpu, pid, process_name, used_gpu_memory [MiB]\n0, 7, a, 5 MiB\n0, 8, b, 6 MiB\n",
            [(AT, 0, 7, 5), (AT, 0, 8, 6)],
            [("note", ONLY_TIME, 1)],
        ),
        ("pid, process_name, used_gpu_memory [MiB]\n7, a, 5 MiB\n7, a, 6 MiB\n", [], [("loss", NAMELESS, 2)]),
        (
            f"{NOW}0, 5 MiB, 9 MiB\n\ngpu, pid, process name, used\n0, 7, a, 4MiB\n",
            [(AT, 0, None, 5), (AT, 0, 7, 4)],
            [("note", ONLY_TIME, 1)],
        ),
        (f"{NOW}0, 5 MiB, 9 MiB\n{LATER_PRINTED}", [(1796039348, 0, None, 9)], [("loss", AMONG, 1)]),
        (f"{LATER_PRINTED}{NOW}0, 5 MiB, 9 MiB\n", [(1796039348, 0, None, 9)], [("loss", AMONG, 1)]),
        (f"{LATER_PRINTED}[N/A], 0, 5 MiB\n", [(1796039348, 0, None, 9), (None, 0, None, 5)], [("loss", AMONG, 1)]),
    ],
    ids=[
        "one reading of two cards",
        "two readings of two cards",
        "a reading of fewer cards",
        "the only row names no card",
        "rows that name no card",
        "processes",
        "the same process of no card twice",
        "cards, then processes",
        "before a row that prints it",
        "after a row that prints it",
        "a row without it among others",
    ],
)
def test_only_the_last_reading_is_of_the_time_of_its_file(
    tmp_path: Path, text: str, rows: list[tuple[object, ...]], told: list[tuple[str, str, int]]
) -> None:
    assert placed(tmp_path, text) == (rows, told, text.count(" MiB\n") + text.count("4MiB\n"))


def test_a_last_header_without_rows_says_that_what_ran_before_runs_no_more(tmp_path: Path) -> None:
    header = "gpu, pid, process_name, used_gpu_memory [MiB]\n"
    assert placed(tmp_path, f"{header}0, 7, a, 5 MiB\n{header}") == ([], [("loss", EARLIER, 1)], 1)


def bare(table: bytes) -> str:
    return table.decode().split("\n", 1)[1]


LESS = ("note", "the table names cards by bus id, and gives neither free nor reserved memory", 1)
CUT_SHORT = ("loss", "processes whose memory the table cut short", 1)


def test_a_table_without_its_date_is_of_the_time_of_its_file(tmp_path: Path) -> None:
    rows = [(AT, 0, None, 141495), (AT, 0, 6565, 0), (AT, 0, 6615, 15942)]
    assert placed(tmp_path, bare(TABLE)) == (rows, [LESS, CUT_SHORT, ("note", ONLY_TIME, 1)], 3)


def test_of_tables_without_dates_only_the_last_is_placed(tmp_path: Path) -> None:
    idle = "".join(line for line in bare(TABLE).splitlines(keepends=True) if " C" not in line[:50])
    rows, told, count = placed(tmp_path, bare(TABLE) + idle)
    assert (rows, told[2:], count) == ([(AT, 0, None, 141495)], [("note", ONLY_TIME, 1), ("loss", EARLIER, 3)], 4)


@pytest.mark.parametrize("order", [1, -1], ids=["behind", "before"])
def test_a_table_without_its_date_beside_one_with_it_cannot_be_placed(tmp_path: Path, order: int) -> None:
    rows, told, count = placed(tmp_path, "".join([TABLE.decode(), bare(TABLE)][::order]))
    assert {row[0] for row in rows} == {(WALL - 883_000) // 1_000_000}
    assert (len(rows), told[2:], count) == (3, [("loss", AMONG, 3)], 6)
