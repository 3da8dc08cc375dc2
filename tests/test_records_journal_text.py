"""What journalctl prints as text: prefixes become time and stream, and nothing of it is trusted."""

from __future__ import annotations

import io
import sys
import tarfile
import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import Record, read

from forensics.records import NO_TIME, Block, Options, Problem, Source, Stream, read_inputs
from forensics.records.journal_text import read_journal_text

SERVER = Stream("f", "gpu01", pid=4712, identifier="llm-server")
T = 1789715970000000  # 2026-09-18T07:19:30Z
ZONE_NOTE = "times carry no zone and were read as UTC"


@pytest.mark.parametrize(
    ("prefix", "time", "stream"),
    [
        (b"2026-09-18T09:19:30+0200 gpu01 llm-server[4712]: ", T, SERVER),
        (b"2026-09-18T09:19:30+02:00 gpu01 llm-server[4712]: ", T, SERVER),
        (b"2026-09-18T09:19:30.001699+0200 gpu01 llm-server[4712]: ", T + 1699, SERVER),
        (b"2026-09-18T07:19:30Z gpu01 llm-server[4712]: ", T, SERVER),
        (b"Fri 2026-09-18 09:19:30 CEST gpu01 llm-server[4712]: ", T, SERVER),
        (
            b"Fri 2026-09-18 07:19:30 UTC gpu01 a.service[4712]: ",
            T,
            SERVER._replace(identifier="a.service", unit="a.service"),
        ),
        (b"1789715970.001699 gpu01 llm-server[4712]: ", T + 1699, SERVER),
        (b"2026-09-18T09:19:30+0200 llm-server[4712]: ", T, SERVER._replace(host=None)),
        (b"2026-09-18T09:19:30+0200 gpu01 kernel: ", T, Stream("f", "gpu01", identifier="kernel", kernel=True)),
        (
            b"2026-09-18T09:19:30+0200 gpu01 systemd[1]: ",
            T,
            Stream("f", "gpu01", pid=1, identifier="systemd", manager=True),
        ),
    ],
    ids=["iso", "iso-colon", "iso-precise", "iso-utc", "full", "with-unit", "unix", "no-host", "kernel", "manager"],
)
def test_a_prefix_becomes_time_and_stream(tmp_path: Path, prefix: bytes, time: int, stream: Stream) -> None:
    records, _, source = read(tmp_path, prefix + b"slot: id  1 | task 2\n")
    assert records == [Record(b"slot: id  1 | task 2", len(prefix), 20, time, stream)]
    assert source.problems == []


def test_short_precise_prints_the_time_to_the_microsecond_without_its_year(tmp_path: Path) -> None:
    line = b"Sep 18 07:19:30.001699 gpu01 llm-server[4712]: slot: id  1 | task 2\n"
    records, _, source = read(tmp_path, line, modified_s=T // 1_000_000 + 60)
    assert records == [Record(b"slot: id  1 | task 2", 47, 20, T + 1699, SERVER)]
    assert (source.format, [one.severity for one in source.problems]) == ("journal-short", ["note", "note"])


def test_cat_prints_messages_alone_which_are_a_plain_log(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"slot: id  1 | task 2\n\nslot: id  1 | task 3\n")
    assert [(one.message, one.time, one.stream) for one in records] == [
        (b"slot: id  1 | task 2", NO_TIME, Stream("f")),
        (b"", NO_TIME, Stream("f")),
        (b"slot: id  1 | task 3", NO_TIME, Stream("f")),
    ]
    assert (source.format, source.problems) == ("text", [])


def test_times_since_boot_are_no_times_of_day(tmp_path: Path) -> None:
    lines = b"[ 1606.987223] gpu01 llm-server[4712]: one\n[ 1607.026875 <    0.039652 >] gpu01 llm-server[4712]: two\n"
    records, _, source = read(tmp_path, lines)
    assert [(record.message, record.time) for record in records] == [(b"one", NO_TIME), (b"two", NO_TIME)]
    what = "times are those since boot, not of day"
    assert source.problems == [Problem("f", "note", what, "export again with journalctl -o export")]


def test_kernel_messages_alone_are_the_kernels(tmp_path: Path) -> None:
    kernel = Stream("f", identifier="kernel", kernel=True)
    records, _, source = read(
        tmp_path, b"[    1.607123] NVRM: loading\n[ 1606.987223] NVRM: Xid (PCI:0000:01:00): 31\n"
    )
    assert [(record.message, record.time, record.stream) for record in records] == [
        (b"NVRM: loading", NO_TIME, kernel),
        (b"NVRM: Xid (PCI:0000:01:00): 31", NO_TIME, kernel),
    ]
    assert source.format == "dmesg"


def test_kernel_messages_with_their_time_of_day_are_dated(tmp_path: Path) -> None:
    line = b"[Fri Sep 18 09:19:30 2026] NVRM: Xid (PCI:0000:01:00): 31\n"
    records, _, _ = read(tmp_path, line, Options(tz=ZoneInfo("Europe/Berlin")))
    assert [(record.message, record.time) for record in records] == [(b"NVRM: Xid (PCI:0000:01:00): 31", T)]


def test_indented_lines_belong_to_the_message_before_them(tmp_path: Path) -> None:
    prefix = b"2026-09-18T09:19:30+0200 gpu01 llm-server[4712]: "
    content = prefix + b"Traceback:\n" + b" " * len(prefix) + b"  File\n" + prefix + b"next\n"
    records, _, _ = read(tmp_path, content)
    assert records == [
        Record(b"Traceback:\n  File", len(prefix), 10 + 1 + len(prefix) + 6, T, SERVER),
        Record(b"next", len(content) - 5, 4, T, SERVER),
    ]


def test_a_marker_begins_a_boot(tmp_path: Path) -> None:
    line = b"2026-09-18T09:19:30+0200 gpu01 llm-server[4712]: x\n"
    boot = b"795b929e9a9a80fdea7b5bf55eb561a4"
    records, _, source = read(tmp_path, line * 3 + b"-- Boot " + boot + b" --\n" + line)
    assert [record.stream.boot for record in records] == [None, None, None, boot.decode()]
    what = "marker lines of journalctl were used and are no records"
    assert source.problems == [Problem("f", "note", what)]


def test_blob_data_is_counted_as_lost(tmp_path: Path) -> None:
    _, _, source = read(tmp_path, b"2026-09-18T09:19:30+0200 gpu01 llm-server[4712]: [19B blob data]\n")
    export = "export again with journalctl -o export"
    assert source.problems == [Problem("f", "loss", "messages stand as blob data", export, 49)]


def test_a_programs_own_times_are_no_prefix_of_a_journal(tmp_path: Path) -> None:
    text = b"2026-09-18T09:19:30+0200 INFO loader: one\n2026-09-18T09:19:30+0200 WARN loader: two\n"
    records, _, source = read(tmp_path, text)
    assert [record.message for record in records] == text.splitlines()
    assert source.format == "text"


def test_the_year_comes_from_the_modification_time_and_turns_in_january(tmp_path: Path) -> None:
    lines = b"Dec 31 23:59:59 box prog[7]: old\nJan  1 00:00:01 box prog[7]: new\n"
    records, _, source = read(tmp_path, lines, modified_s=1767400000)  # 2026-01-03
    assert [record.time for record in records] == [1767225599000000, 1767225601000000]
    year = "times carry no year; 2025 assumed for the first line from the file's modification time"
    assert source.problems == [
        Problem("f", "note", ZONE_NOTE, "give the zone with --tz", None, 2),
        Problem("f", "note", year, "export again with journalctl -o export"),
    ]


def test_a_line_a_month_back_is_disorder_and_not_a_year(tmp_path: Path) -> None:
    lines = b"Sep  1 00:00:00 box prog[7]: one\nAug 31 23:59:59 box prog[7]: two\nSep  1 00:00:01 box prog[7]: three\n"
    records, _, _ = read(tmp_path, lines, modified_s=1789715970)
    assert [record.time - records[0].time for record in records] == [0, -1_000_000, 1_000_000]


def test_year_and_zone_come_from_times_that_messages_print(tmp_path: Path) -> None:
    lines = (
        b"Nov 19 10:03:03 host prog[1002]: time=2024-11-19T10:03:03.647-06:00 level=INFO\n"
        b"Nov 19 10:03:04 host prog[1002]: plain\n"
    )
    records, _, source = read(tmp_path, lines, modified_s=1789715970)
    assert [record.time for record in records] == [1732032183000000, 1732032184000000]
    assert [problem.what for problem in source.problems] == [
        "times carry no zone; UTC-06:00 as 1 messages print a time with its zone",
        "times carry no year; 2024 for the first line, as 1 messages print a time of their own",
    ]


def test_a_given_zone_is_used_and_the_repeated_hour_told_apart_by_order(tmp_path: Path) -> None:
    lines = (
        b"Oct 25 02:59:59 box prog[7]: summer\n"
        b"Oct 25 02:00:01 box prog[7]: winter\n"
        b"Oct 25 03:00:00 box prog[7]: winter\n"
    )
    records, _, _ = read(tmp_path, lines, Options(tz=ZoneInfo("Europe/Berlin")), modified_s=1795000000)
    assert [record.time for record in records] == [1792889999000000, 1792890001000000, 1792893600000000]


def test_an_abbreviation_that_means_several_zones_is_not_guessed(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"Fri 2026-09-18 07:19:30 IST gpu01 llm-server[4712]: x\n")
    assert [record.time for record in records] == [T]
    assert source.problems == [Problem("f", "note", ZONE_NOTE, "give the zone with --tz")]


pieces_of = st.lists(
    st.sampled_from(
        [
            b"1789715970.001699 a p[1]: one\n",
            b"1789715971.001699 a kernel: two\r\n",
            b" " * 26 + b"more\n",
            b" " * 26 + b"\n",
            b" " * 24 + b"more\r\n",
            b"-- Reboot --\n",
            b"\n",
            b"bare",
            b"\xff\0",
        ]
    )
).map(b"".join)


@settings(deadline=None)
@given(content=pieces_of, block_bytes=st.integers(1, 64), line_bytes=st.integers(20, 60))
def test_reading_in_pieces_equals_reading_at_once(content: bytes, block_bytes: int, line_bytes: int) -> None:
    def flat(size: int) -> tuple[list[tuple[object, ...]], list[Problem]]:
        source = Source("f", "journal-short-unix")
        pieces = (content[at : at + size] for at in range(0, len(content), size))
        rows: list[tuple[object, ...]] = []
        for block in read_journal_text(source, pieces, Options(line_bytes=line_bytes), source.format, None):
            streams = [block.stream_table[number] for number in block.streams]
            rows += zip(
                block.messages(),
                block.offsets.tolist(),
                block.lengths.tolist(),
                block.times.tolist(),
                streams,
                strict=True,
            )
        return rows, source.problems

    assert flat(block_bytes) == flat(len(content) + 1)


def test_without_a_file_time_the_year_comes_from_the_clock_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"Dec 31 23:59:59 box prog[7]: old\nJan  1 00:00:01 box prog[7]: new\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    *blocks, source = read_inputs(["-"])
    assert isinstance(source, Source)
    first, second = (at for block in blocks if isinstance(block, Block) for at in block.times.tolist())
    assert second - first == 2_000_000
    assert 0 <= time.time() - first / 1e6 < 367 * 86_400
    assert "assumed for the first line from the clock" in source.problems[1].what


def test_inside_an_archive_the_year_comes_from_the_time_of_the_member(tmp_path: Path) -> None:
    content = b"Dec 30 10:00:00 box prog[7]: x\n"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("a.log")
        member.size, member.mtime = len(content), 1_767_400_000  # 2026-01-03
        archive.addfile(member, io.BytesIO(content))
    block, source, _ = read_inputs([tmp_path / "a.tar"])
    assert isinstance(block, Block)
    assert isinstance(source, Source)
    assert block.times.tolist() == [1_767_088_800_000_000]  # 2025-12-30
    year = "times carry no year; 2025 assumed for the first line from the file's modification time"
    assert [problem.what for problem in source.problems] == [ZONE_NOTE, year]


def test_a_line_of_the_future_is_of_the_year_before_the_file(tmp_path: Path) -> None:
    records, _, _ = read(tmp_path, b"Dec 30 10:00:00 box prog[7]: x\n" * 3, modified_s=1_767_400_000)
    assert [record.time for record in records] == [1_767_088_800_000_000] * 3


@pytest.mark.parametrize(
    "line",
    [
        b"Feb 31 10:00:00 box prog[7]: x\n",
        b"Foo 12 10:00:00 box prog[7]: x\n",
        b"2026-13-01T10:00:00Z box prog[7]: x\n",
        b"Fri 2026-02-31 10:00:00 UTC box prog[7]: x\n",
    ],
    ids=["no-day", "no-month", "iso", "full"],
)
def test_a_time_that_does_not_exist_is_no_time_and_counted(tmp_path: Path, line: bytes) -> None:
    records, _, source = read(tmp_path, line)
    assert [(record.message, record.time) for record in records] == [(b"x", NO_TIME)]
    assert Problem("f", "loss", "lines whose time cannot be read") in source.problems


def test_times_in_messages_that_contradict_each_other_say_nothing_of_year_and_zone(tmp_path: Path) -> None:
    lines = (
        b"Nov 19 10:03:03 host prog[7]: time=2024-11-19T10:03:03-06:00\n"
        b"a line without a prefix\n"
        b"Nov 19 10:03:04 host prog[7]: time=2023-11-19T10:03:04+02:00\n"
        b"Nov 19 10:03:05 host prog[7]: it was ready at 2024-11-19T10:10:00Z\n"
    )
    records, _, source = read(tmp_path, lines, modified_s=1_789_715_970)
    assert records[0].time == 1_763_546_583_000_000  # 2025-11-19T10:03:03Z
    assert ZONE_NOTE in [problem.what for problem in source.problems]


def test_a_given_zone_stays_where_messages_print_another(tmp_path: Path) -> None:
    lines = b"Nov 19 10:03:03 host prog[7]: time=2024-11-19T10:03:03-06:00\n"
    records, _, source = read(tmp_path, lines, Options(tz=ZoneInfo("Europe/Berlin")), modified_s=1_789_715_970)
    assert [record.time for record in records] == [1_732_006_983_000_000]  # 10:03:03 in Berlin, of the year printed
    assert source.problems[0].what == "times carry no zone; Europe/Berlin was given"


def test_markers_that_begin_no_boot_leave_the_one_that_is(tmp_path: Path) -> None:
    line = b"2026-09-18T09:19:30+0200 gpu01 llm-server[4712]: x\n"
    boot = b"795b929e9a9a80fdea7b5bf55eb561a4"
    content = line * 3 + b"-- Boot " + boot + b" --\n-- Journal begins at Mon 2026-09-14 --\n" + line
    records, _, source = read(tmp_path, content)
    assert [record.stream.boot for record in records] == [None, None, None, boot.decode()]
    assert source.problems[0].count == 2


def test_lines_of_which_few_look_like_the_kernels_are_a_plain_log(tmp_path: Path) -> None:
    content = b"[    1.607123] NVRM: loading\n[    1.707123] NVRM: loaded\nserver: ready\n"
    records, _, source = read(tmp_path, content)
    assert source.format == "text"
    assert [record.message for record in records] == content.splitlines()
