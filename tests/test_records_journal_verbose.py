"""What journalctl -o verbose prints: every field on a line of its own, and no message can look like one."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
from journals_text import entries, export
from reading import Record, read

from forensics.records import Options, Problem, Stream

STORED = Path(__file__).parent / "journals"
BOOT = "795b929e9a9a80fdea7b5bf55eb561a4"
T = 1789715970001699  # 2026-09-18 07:19:30.001699 UTC
CURSOR = f"s=532a9e8f62cc4b0d8c1de6a5f0b1c2d3;i=30d3e;b={BOOT};m=5fc8add7;t={T:x};x=1c460bab28f20807"
HEADER = f"Fri 2026-09-18 09:19:29.900000 CEST [{CURSOR}]\n"  # the sender's time: a tenth of a second before
FIELDS = "    _PID=4712\n    _TRANSPORT=stdout\n    _SYSTEMD_UNIT=llm.service\n    _SYSTEMD_INVOCATION_ID=aa\n"
SERVER = Stream("f", None, BOOT, "llm.service", "aa", 4712, None, None, "stdout", trusted=True)


def test_an_entry_gives_its_message_at_the_time_it_was_received_and_the_trusted_fields(tmp_path: Path) -> None:
    text = f"{HEADER}{FIELDS}    MESSAGE=slot: id  1 | task 2\n    _HOSTNAME=gpu01\n"
    records, _, source = read(tmp_path, text.encode())
    begin = text.index("slot")
    assert records == [Record(b"slot: id  1 | task 2", begin, 20, T, SERVER._replace(host="gpu01"))]
    assert (source.format, source.problems) == ("journal-verbose", [])


def test_lines_of_a_message_are_one_message_and_none_of_them_is_a_field(tmp_path: Path) -> None:
    forged = f"one\n_PID=1\n    _PID=1\n\n{HEADER.strip()}\nlast"
    printed = forged.replace("\n", "\n" + " " * 12)
    text = f"{HEADER}    MESSAGE={printed}\n{FIELDS}{HEADER}{FIELDS}    MESSAGE=two\n"
    records, _, source = read(tmp_path, text.encode())
    assert [(one.message.decode(), one.stream) for one in records] == [(forged, SERVER), ("two", SERVER)]
    cited = text.encode()[records[0].offset : records[0].offset + records[0].length]
    assert cited.decode() == printed
    assert source.problems == []


def test_an_empty_line_of_a_message_may_have_lost_its_blanks_and_one_behind_it_is_none_of_it(tmp_path: Path) -> None:
    text = f"{HEADER}{FIELDS}    MESSAGE=one\n\n            two\n\n{HEADER}{FIELDS}    MESSAGE=three\n\n"
    records, _, source = read(tmp_path, text.encode())
    assert [(one.message, one.stream) for one in records] == [(b"one\n\ntwo", SERVER), (b"three", SERVER)]
    assert source.problems == []
    records, _, _ = read(tmp_path, f"{HEADER}    MESSAGE=one\n{' ' * 14}\n{' ' * 12}\n    _PID=1\n".encode())
    assert [one.message for one in records] == [b"one\n  \n"]


def test_lines_of_another_field_are_no_lines_of_the_message(tmp_path: Path) -> None:
    text = f"{HEADER}{FIELDS}    MESSAGE=one\n    _CMDLINE=bash -c\n             exit 1\n"
    records, _, _ = read(tmp_path, text.encode())
    assert [one.message for one in records] == [b"one"]


def test_only_the_manager_speaks_of_other_units(tmp_path: Path) -> None:
    about = "    UNIT=a.service\n    INVOCATION_ID=i1\n    EXIT_CODE=killed\n    MESSAGE=x\n"
    said = f"{HEADER}    _PID=1\n    _TRANSPORT=journal\n{about}"
    records, _, _ = read(tmp_path, f"{HEADER}{FIELDS}{about}{said}".encode())
    manager = Stream("f", None, BOOT, "a.service", "i1", 1, None, None, "journal", trusted=True, manager=True)
    assert [record.stream for record in records] == [SERVER, manager]


def test_several_messages_and_none(tmp_path: Path) -> None:
    text = f"{HEADER}    MESSAGE=one\n    MESSAGE=two\n{HEADER}    PRIORITY=6\n-- Boot {BOOT} --\n"
    records, _, source = read(tmp_path, f"{text}{HEADER}    MESSAGE=\n".encode())
    assert [one.message for one in records] == [b"one", b"two", b""]
    assert [(one.severity, one.what, one.count) for one in source.problems] == [
        ("note", "entries without a message were passed over", 1),
        ("note", "marker lines of journalctl were used and are no records", 1),
    ]


def test_a_message_that_is_not_printable_is_counted_with_the_remedy(tmp_path: Path) -> None:
    text = f"{HEADER}    MESSAGE=[19B blob data]\n    OTHER=[7B blob data]\n"
    _, _, source = read(tmp_path, text.encode())
    remedy = "export again with journalctl -a -o verbose, or -o export"
    offset = text.index("[19B")
    assert source.problems == [Problem("f", "loss", "messages stand as blob data", remedy, offset)]


def test_behind_a_line_that_journalctl_does_not_print_nothing_is_trusted(tmp_path: Path) -> None:
    entry = f"{HEADER}{FIELDS}    MESSAGE=one\n"
    records, _, source = read(tmp_path, f"{entry * 5}a line of something else\n{entry}".encode())
    assert [one.stream.trusted for one in records] == [True] * 5 + [False]
    what = "lines are of no journal entry"
    remedy = "get an intact copy; streams behind them are not trusted"
    assert source.problems == [Problem("f", "loss", what, remedy, len(entry) * 5)]


def test_a_text_that_begins_inside_an_entry_loses_that_entry_alone(tmp_path: Path) -> None:
    entry = f"{HEADER}{FIELDS}    MESSAGE=one\n            two\n"
    records, _, source = read(tmp_path, f"            two\n{FIELDS}{entry}".encode())
    assert [(one.message, one.stream) for one in records] == [(b"one\ntwo", SERVER)]
    what = "lines are of an entry that begins before the text does"
    assert source.problems == [Problem("f", "loss", what, "", 0, 5)]


def test_pieces_of_a_container_engine_are_put_together(tmp_path: Path) -> None:
    piece = f"{HEADER}    CONTAINER_ID=c1\n    CONTAINER_PARTIAL_ID=p\n    CONTAINER_PARTIAL_ORDINAL={{}}\n"
    text = f"{piece.format(1)}    MESSAGE=one \n{piece.format(2)}    CONTAINER_PARTIAL_LAST=true\n    MESSAGE=two\n"
    records, _, _ = read(tmp_path, text.encode())
    assert [one.message for one in records] == [b"one two"]


def test_what_is_too_long_is_bounded_and_told(tmp_path: Path) -> None:
    text = f"{HEADER}    MESSAGE={'a' * 150}\n{' ' * 12}{'b' * 100}\n"
    records, _, source = read(tmp_path, text.encode(), Options(line_bytes=200))
    assert [one.message for one in records] == [b"a" * 150 + b"\n" + b"b" * 49]
    assert [(one.what, one.count) for one in source.problems] == [("bytes of joined messages over 200 bytes", 51)]


@pytest.mark.skipif(shutil.which("journalctl") is None, reason="journalctl is missing")
@pytest.mark.parametrize("kind", ["regular", "compact"])
def test_what_journalctl_prints_gives_what_its_export_gives(tmp_path: Path, kind: str) -> None:
    journal = tmp_path / "x.journal"
    journal.write_bytes(gzip.decompress((STORED / f"{kind}.journal.gz").read_bytes()))
    command = ["journalctl", "--no-pager", "--all", "-o", "verbose", "--file", str(journal)]
    printed = subprocess.run(command, check=True, capture_output=True).stdout
    found, _, source = read(tmp_path, printed)
    wanted, _, _ = read(tmp_path, export(entries()))
    # A NUL ends what journalctl prints of a value.
    assert [(one.message, one.time, one.stream) for one in found] == [
        (one.message.partition(b"\0")[0], one.time, one.stream) for one in wanted
    ]
    assert [one.what for one in source.problems if one.severity == "loss"] == [
        what for what in [one.what for one in source.problems] if what.startswith("characters were torn")
    ]
