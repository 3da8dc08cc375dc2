"""Native journals: what journalctl would print of them is read from the file itself, and damage costs what it hit."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from journal_writer import BOOT, SERIES, Entry, Pack, journal
from journals_text import entries, export

from forensics.records import Block, Options, Problem, Source, Stream, read_inputs
from forensics.records.export import read_export
from forensics.records.journal_hash import siphashes

STORED = Path(__file__).parent / "journals"
REMOTE = Path("/lib/systemd/systemd-journal-remote")

Row = tuple[bytes, int, Stream, dict[str, str] | None]
Cited = tuple[bytes, int, int]


def rows_of(parts: list[object]) -> list[Row]:
    """Message, time, stream without its source, and the manager's fields of each record."""
    return [
        (message, int(part.times[at]), part.stream_table[part.streams[at]]._replace(source="j"), part.fields.get(at))
        for part in parts
        if isinstance(part, Block)
        for at, message in enumerate(part.messages())
    ]


def native(*paths: Path, options: Options | None = None) -> tuple[list[Row], list[Source]]:
    parts = list(read_inputs(paths, options=options))
    return rows_of(list(parts)), [part for part in parts if isinstance(part, Source)]


def written(folder: Path, content: bytes | bytearray, name: str = "a.journal") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def problems(source: Source) -> list[tuple[str, str, int]]:
    return [(one.severity, one.what, one.count) for one in source.problems]


def some(count: int, begin: int = 1) -> list[Entry]:
    """Entries of one service, each with a message of its own."""
    writer = [b"_HOSTNAME=box", b"_TRANSPORT=stdout", b"_PID=7", b"_SYSTEMD_UNIT=a.service"]
    numbers = range(begin, begin + count)
    return [(number, 1000 + number, [*writer, b"MESSAGE=line %d" % number]) for number in numbers]


STREAM = Stream("j", "box", BOOT, "a.service", None, 7, None, None, "stdout", trusted=True)


def lines(numbers: range | list[int], stream: Stream = STREAM) -> list[Row]:
    return [(b"line %d" % number, 1000 + number, stream, None) for number in numbers]


@pytest.mark.parametrize("kind", ["regular", "compact"])
@pytest.mark.parametrize("packed", [True, False], ids=["gz", "plain"])
def test_a_journal_gives_the_records_that_its_export_gives(tmp_path: Path, kind: str, packed: bool) -> None:
    path = STORED / f"{kind}.journal.gz"
    if not packed:
        path = written(tmp_path, gzip.decompress(path.read_bytes()))
    exported = rows_of(list(read_export(Source("j", "journal-export"), iter([export(entries())]), Options())))
    rows, (source,) = native(path)
    assert rows == exported
    assert (source.format, source.records) == ("journal-native", 43)
    assert problems(source) == [("note", "entries without a message were passed over", 1)]


@pytest.mark.parametrize("kind", ["regular", "compact"])
def test_a_message_is_cited_by_its_own_bytes_once_and_by_its_entry_then(tmp_path: Path, kind: str) -> None:
    content = gzip.decompress((STORED / f"{kind}.journal.gz").read_bytes())
    cited = [
        (content[offset : offset + length], message, offset)
        for part in read_inputs([written(tmp_path, content)])
        if isinstance(part, Block)
        for message, offset, length in zip(part.messages(), part.offsets, part.lengths, strict=True)
    ]
    assert len({offset for _, _, offset in cited}) == len(cited) == 43
    whole = [message for shown, message, _ in cited if shown.removesuffix(b"\r") == message]
    assert whole.count(b"plain") == 1
    assert b"two" in whole
    assert {shown[0] for shown, message, _ in cited if shown.removesuffix(b"\r") != message} == {3}  # an ENTRY object


def test_cursors_are_those_of_journalctl() -> None:
    block, *_ = read_inputs([STORED / "compact.journal.gz"])
    assert isinstance(block, Block)
    first = block.cursors[0]
    assert first.split(";")[1:5] == ["i=1", f"b={'1' * 32}", "m=4c4b40", "t=65bbbc649c800"]


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("state", [0, 1, 2], ids=["offline", "online", "archived"])
def test_every_state_of_a_journal_is_read(tmp_path: Path, compact: bool, state: int) -> None:
    rows, (source,) = native(written(tmp_path, journal(some(9), compact=compact, state=state)))
    assert rows == lines(range(1, 10))
    open_ = [("note", "it was being written, or was never closed: later entries are not in it", 1)]
    assert problems(source) == (open_ if state == 1 else [])


def lz4_block(payload: bytes) -> tuple[int, bytes]:
    block = pytest.importorskip("lz4.block")
    return 2, len(payload).to_bytes(8, "little") + block.compress(payload, store_size=False)


def zstd_frame(payload: bytes) -> tuple[int, bytes]:
    return 4, pytest.importorskip("zstandard").compress(payload)


@pytest.mark.parametrize(
    "packer", [lambda payload: (1, lzma.compress(payload)), lz4_block, zstd_frame], ids=["xz", "lz4", "zstd"]
)
def test_packed_fields_are_unpacked(tmp_path: Path, packer: Pack) -> None:
    rows, (source,) = native(written(tmp_path, journal(some(5), pack=packer)))
    assert (rows, problems(source)) == (lines(range(1, 6)), [])


@pytest.mark.parametrize("packer", [zstd_frame, lz4_block], ids=["zstandard", "lz4"])
def test_a_missing_library_is_a_loss_with_its_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    packer: Pack,
) -> None:
    package = "zstandard" if packer is zstd_frame else "lz4"
    content = journal(some(5), pack=lambda one: packer(one) if one == b"MESSAGE=line 3" else (0, one))
    monkeypatch.setitem(sys.modules, "zstandard" if packer is zstd_frame else "lz4.block", None)
    rows, (source,) = native(written(tmp_path, content))
    assert rows == lines([1, 2, 4, 5])
    assert f"pip install {package}" in [one.remedy.partition(",")[0] for one in source.problems]
    assert ("loss", "messages cannot be read", 1) in problems(source)


def test_unknown_features_are_refused_with_the_remedy(tmp_path: Path) -> None:
    rows, (source,) = native(written(tmp_path, journal(some(3), flags=64)))
    what = "set aside: it has features that are not known here (flags 0x40)"
    assert rows == []
    assert source.problems == [Problem(source.name, "error", what, "export it: journalctl -o export --file=THE_FILE")]


def test_flags_that_no_version_can_have_are_damage(tmp_path: Path) -> None:
    rows, (source,) = native(written(tmp_path, journal(some(3), flags=0x40_0040)))
    assert rows == lines(range(1, 4))
    assert problems(source) == [("loss", "the header's flags are damaged: those that are known are taken", 1)]


# -- several journals -------------------------------------------------------------------------------------------------


def test_rotated_journals_come_in_the_order_of_their_entries_whatever_their_names(tmp_path: Path) -> None:
    written(tmp_path, journal(some(3, begin=7)), "a.journal")
    written(tmp_path, journal(some(3, begin=1), state=2), "b.journal")
    written(tmp_path, journal(some(3, begin=4), state=2), "c.journal")
    rows, sources = native(tmp_path)
    assert rows == lines(range(1, 10))
    assert [Path(source.name).name for source in sources] == ["b.journal", "c.journal", "a.journal"]


def test_an_entry_in_two_journals_is_read_once_and_counted(tmp_path: Path) -> None:
    written(tmp_path, journal(some(6)), "a.journal")
    written(tmp_path, journal(some(6, begin=4)), "copy.journal~")
    rows, (_, copy) = native(tmp_path)
    assert rows == lines(range(1, 10))
    assert problems(copy) == [("note", "entries that a journal read before holds too were read once", 3)]


def test_sequence_numbers_that_no_journal_holds_are_told(tmp_path: Path) -> None:
    written(tmp_path, journal(some(3)), "a.journal")
    written(tmp_path, journal(some(3, begin=10)), "b.journal")
    _, (_, last) = native(tmp_path)
    assert problems(last) == [("note", f"series {SERIES}: 6 entries are in none of the journals given, in 1 places", 1)]


def test_a_journal_outside_the_time_asked_for_is_not_opened(tmp_path: Path) -> None:
    hours = [(number, number * 3_600_000_000, [b"MESSAGE=at %d" % number]) for number in range(1, 9)]
    written(tmp_path, journal(hours[:4], state=2), "a.journal")
    written(tmp_path, journal(hours[4:]), "b.journal")
    rows, (first, second) = native(tmp_path, options=Options(since_us=6 * 3_600_000_000))
    assert [row[0] for row in rows] == [b"at 6", b"at 7", b"at 8"]
    assert problems(first) == [("note", "passed over whole: it ends before the time asked for", 1)]
    assert problems(second) == [("note", "entries outside what is asked for were passed over", 1)]


def test_only_the_units_asked_for_and_the_kernel_are_read(tmp_path: Path) -> None:
    kernel = (4, 1004, [b"_TRANSPORT=kernel", b"MESSAGE=Xid"])
    other = (5, 1005, [b"_TRANSPORT=stdout", b"_SYSTEMD_UNIT=b.service", b"MESSAGE=other"])
    path = written(tmp_path, journal([*some(3), kernel, other]))
    rows, (source,) = native(path, options=Options(units=frozenset({"a.service"})))
    assert [row[0] for row in rows] == [b"line 1", b"line 2", b"line 3", b"Xid"]
    assert problems(source) == [("note", "entries outside what is asked for were passed over", 1)]


def test_only_the_boots_asked_for_are_read() -> None:
    rows, _ = native(STORED / "regular.journal.gz", options=Options(boots=frozenset({"2" * 32})))
    assert [row[0] for row in rows] == [b"a client said that it is process 1", b"after the clock was set back"]
    _, (other,) = native(STORED / "regular.journal.gz", options=Options(boots=frozenset({"3" * 32})))
    assert problems(other) == [("note", "passed over whole: it holds nothing of the boots asked for", 1)]


def test_a_journal_that_begins_after_the_time_asked_for_is_not_opened(tmp_path: Path) -> None:
    hours = [(number, number * 3_600_000_000, [b"MESSAGE=at %d" % number]) for number in range(1, 9)]
    written(tmp_path, journal(hours[:4], state=2), "a.journal")
    written(tmp_path, journal(hours[4:]), "b.journal")
    rows, (first, second) = native(tmp_path, options=Options(until_us=3 * 3_600_000_000))
    assert [row[0] for row in rows] == [b"at 1", b"at 2", b"at 3"]
    assert problems(first) == [("note", "entries outside what is asked for were passed over", 1)]
    assert problems(second) == [("note", "passed over whole: it begins after the time asked for", 1)]


def test_a_journal_of_other_units_alone_is_passed_over_whole(tmp_path: Path) -> None:
    rows, _ = native(STORED / "regular.journal.gz", options=Options(units=frozenset({"other.service"})))
    assert [row[0] for row in rows] == [b"Out of memory: Killed process 4711 (server)"]
    content = bytearray(gzip.decompress((STORED / "regular.journal.gz").read_bytes()))
    at = content.find(b"_TRANSPORT=kernel")
    content[at : at + 17] = b"_TRANSPORT=syslog"  # else it would be read for the kernel's messages
    rows, (source,) = native(written(tmp_path, content), options=Options(units=frozenset({"other.service"})))
    assert (rows, problems(source)) == ([], [("note", "passed over whole: it holds nothing of the units asked for", 1)])


def test_many_writers_stay_apart(tmp_path: Path) -> None:
    writers = [
        (number, 1000 + number, [b"_PID=%d" % number, b"_SYSTEMD_UNIT=%d.service" % number, b"MESSAGE=x"])
        for number in range(1, 400)
    ]
    rows, (source,) = native(written(tmp_path, journal(writers, array=400)))
    assert [(row[2].pid, row[2].unit) for row in rows] == [(n, f"{n}.service") for n in range(1, 400)]
    assert problems(source) == []


def test_a_field_that_says_that_a_message_is_whole_makes_it_no_piece(tmp_path: Path) -> None:
    whole = [b"CONTAINER_PARTIAL_MESSAGE=false", b"MESSAGE=whole"]
    piece = [b"CONTAINER_PARTIAL_MESSAGE=true", b"MESSAGE=one "]
    rows, (source,) = native(written(tmp_path, journal([(1, 1, whole), (2, 2, piece), (3, 3, [b"MESSAGE=two"])])))
    assert ([row[0] for row in rows], problems(source)) == ([b"whole", b"one two"], [])


def test_packed_values_beyond_a_line_are_lost_and_those_of_no_use_are_not_missed(tmp_path: Path) -> None:
    values = [b"_SYSTEMD_UNIT=" + b"u" * 3000, b"CODE_FILE=" + b"c" * 3000, b"MESSAGE=short"]
    path = written(
        tmp_path,
        journal([(1, 1, values), (2, 2, [b"MESSAGE=" + b"m" * 3000])], pack=lambda one: (1, lzma.compress(one))),
    )
    rows, (source,) = native(path, options=Options(line_bytes=1000))
    assert [(row[0], row[2].unit, row[2].trusted) for row in rows] == [(b"short", None, False)]
    assert problems(source) == [
        ("loss", "fields of entries cannot be read", 1),
        ("loss", "messages cannot be read", 1),
    ]


def test_a_journal_of_no_messages_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, journal([(1, 1, [b"_PID=7"])]))
    rows, (source,) = native(path)
    assert (rows, problems(source)) == ([], [("note", "entries without a message were passed over", 1)])


def test_a_journal_that_cannot_be_held_is_cut_and_that_is_told(tmp_path: Path) -> None:
    content = journal(some(20))
    half = len(content) // 2
    rows, (source,) = native(written(tmp_path, content), options=Options(held_bytes=half))
    assert rows == lines(range(1, len(rows) + 1))
    what = f"the journal was cut at {half} bytes; {len(content) - half} were not read"
    assert ("loss", what, 1) in problems(source)


def test_a_cursor_is_only_there_for_what_the_block_holds(tmp_path: Path) -> None:
    block, _ = read_inputs([written(tmp_path, journal(some(2)))])
    assert isinstance(block, Block)
    assert [number in block.cursors for number in (-1, 0, 1, 2)] == [False, True, True, False]
    assert list(block.cursors) == [0, 1]


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compact", [False, True])
def test_a_journal_cut_short_gives_the_entries_that_are_left(tmp_path: Path, compact: bool) -> None:
    content = journal(some(20), compact=compact)
    rows, (source,) = native(written(tmp_path, content[: len(content) // 2]))
    assert len(rows) > 5
    assert rows == lines(range(1, len(rows) + 1))
    assert ("loss", f"of 20 entries {20 - len(rows)} are gone", 20 - len(rows)) in problems(source)


@pytest.mark.parametrize("compact", [False, True])
def test_a_list_of_entries_that_bites_its_tail_ends(tmp_path: Path, compact: bool) -> None:
    content = journal(some(20), compact=compact)
    (first,) = struct.unpack_from("<Q", content, 176)
    struct.pack_into("<Q", content, first + 16, first)
    rows, (source,) = native(written(tmp_path, content))
    assert rows == lines(range(1, 21))
    assert problems(source) == [("loss", "the list of entries runs in a circle", 1)]


def test_entries_whose_list_is_gone_are_found_by_the_index_of_values(tmp_path: Path) -> None:
    content = journal(some(20))
    struct.pack_into("<Q", content, 176, 8)
    rows, (source,) = native(written(tmp_path, content))
    assert rows == lines(range(1, 21))
    assert problems(source) == [("loss", "the list of entries is broken", 1)]


def test_an_entry_that_only_the_search_behind_damage_finds_is_not_trusted(tmp_path: Path) -> None:
    content = journal(some(20))
    struct.pack_into("<Q", content, 176, 8)  # no list of entries
    struct.pack_into("<Q", content, 104, 1)  # no index of values
    start = content.find(b"MESSAGE=line 9") - 64
    content[start : start + 16] = bytes(16)  # and the objects cannot be walked through
    rows, (source,) = native(written(tmp_path, content))
    doubted = STREAM._replace(trusted=False)
    assert rows == [*lines(range(1, 9)), *lines(range(10, 21), doubted)]
    doubt = "entries behind damage that the file's own lists do not name: their streams are not trusted"
    assert ("loss", doubt, 12) in problems(source)
    assert ("loss", "messages cannot be read", 1) in problems(source)


def test_an_entry_forged_inside_a_message_is_never_read_while_the_lists_are_whole(tmp_path: Path) -> None:
    forged = struct.pack("<BB6xQ3Q16sQ", 3, 0, 80, 99, 1099, 0, bytes(16), 0) + struct.pack("<QQ", 784, 0)
    entry = (2, 1002, [b"_TRANSPORT=stdout", b"MESSAGE=" + forged * 2])
    rows, (source,) = native(written(tmp_path, journal([*some(1), entry])))
    assert [row[0] for row in rows] == [b"line 1", forged * 2]
    assert problems(source) == []


def test_messages_that_many_entries_share_cannot_fill_the_memory(tmp_path: Path) -> None:
    shared = b"MESSAGE=" + b"x" * 100_000
    content = journal([(number, number, [shared]) for number in range(1, 2000)], array=2000)
    options = Options(block_bytes=2**20, ratio=10, ratio_from_bytes=2**20)
    rows, (source,) = native(written(tmp_path, content), options=options)
    assert len(rows) < 50
    assert problems(source) == [
        ("loss", f"reading stopped: {len(content)} bytes had become {10 * len(content)}", 1999 - len(rows))
    ]


def damaged(content: bytes, seed: int) -> bytes:
    """The content with some of its used bytes flipped, a page zeroed, or its end gone, by chance."""
    chance = random.Random(seed)  # noqa: S311
    out = bytearray(content)
    used = len(content.rstrip(b"\0"))
    kind = chance.choice(("flip", "flip", "zero", "cut", "header"))
    if kind == "flip":
        for _ in range(chance.choice((1, 10, 300))):
            out[chance.randrange(used)] = chance.randrange(256)
    elif kind == "zero":
        page = chance.randrange(used) & ~4095
        out[page : page + 4096] = bytes(min(4096, len(out) - page))
    elif kind == "cut":
        del out[chance.randrange(used) :]
    else:
        for _ in range(chance.choice((1, 4))):
            out[chance.randrange(8, 264)] = chance.randrange(256)
    return bytes(out)


@pytest.mark.parametrize("kind", ["regular", "compact"])
@pytest.mark.parametrize("seed", range(20))
def test_damage_never_stops_the_reading(tmp_path: Path, kind: str, seed: int) -> None:
    content = gzip.decompress((STORED / f"{kind}.journal.gz").read_bytes()).rstrip(b"\0") + bytes(4096)
    rows, (source,) = native(written(tmp_path, damaged(content, seed)))
    assert len(rows) <= 43
    assert len(rows) == 43 or any(one.severity != "note" for one in source.problems)


@pytest.mark.skipif(
    not REMOTE.exists() or shutil.which("journalctl") is None, reason="systemd-journal-remote or journalctl is missing"
)
@pytest.mark.parametrize("compact", ["0", "1"])
def test_a_fresh_journal_gives_what_journalctl_exports(tmp_path: Path, compact: str) -> None:
    (tmp_path / "in.export").write_bytes(export(entries(repeats=40)))
    path = tmp_path / "out.journal"
    environment = {**os.environ, "SYSTEMD_JOURNAL_COMPACT": compact}
    command = [str(REMOTE), "-o", str(path), str(tmp_path / "in.export")]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    printed = subprocess.run(
        ["journalctl", "-q", "--no-pager", "--all", "-o", "export", "--file", str(path)],
        check=True,
        capture_output=True,
    ).stdout
    exported = list(read_export(Source("j", "journal-export"), iter([printed]), Options()))
    parts = list(read_inputs([path]))
    assert rows_of(list(parts)) == rows_of(list(exported))
    assert [part.cursors[at] for part in parts if isinstance(part, Block) for at in range(len(part))] == [
        part.cursors[at] for part in exported for at in range(len(part))
    ]


def stored(kind: str) -> bytearray:
    return bytearray(gzip.decompress((STORED / f"{kind}.journal.gz").read_bytes()))


@pytest.mark.parametrize("kind", ["regular", "compact"])
@pytest.mark.parametrize("hit", [1, 8], ids=["name", "value"])
def test_a_flipped_bit_in_who_wrote_it_takes_the_trust_from_all_its_entries(
    tmp_path: Path, kind: str, hit: int
) -> None:
    rows, _ = native(written(tmp_path, stored(kind), "whole.journal"))
    content = stored(kind)
    content[content.find(b"_PID=4711\0") + hit] ^= 2
    found, (source,) = native(written(tmp_path, content))
    theirs = [row[2].pid == 4711 for row in rows]
    assert 5 < sum(theirs) < len(rows)
    assert [row[:2] for row in found] == [row[:2] for row in rows]
    assert [row[2].trusted for row in found] == [
        row[2].trusted and not was for row, was in zip(rows, theirs, strict=True)
    ]
    # One of them has two messages, and one has none.
    assert ("loss", "fields of entries cannot be read", sum(theirs)) in problems(source)


@pytest.mark.parametrize("kind", ["regular", "compact"])
def test_a_flipped_bit_in_what_nobody_asks_for_is_no_loss(tmp_path: Path, kind: str) -> None:
    rows, _ = native(written(tmp_path, stored(kind), "whole.journal"))
    content = stored(kind)
    content[content.find(b"_SYSTEMD_CGROUP=") + 20] ^= 2
    found, (source,) = native(written(tmp_path, content))
    assert found == rows
    assert problems(source) == [("note", "entries without a message were passed over", 1)]


@pytest.mark.parametrize("kind", ["regular", "compact"])
def test_a_message_with_a_flipped_bit_is_lost_and_told(tmp_path: Path, kind: str) -> None:
    rows, _ = native(written(tmp_path, stored(kind), "whole.journal"))
    content = stored(kind)
    content[content.find(b"MESSAGE=plain\0") + 9] ^= 1
    found, (source,) = native(written(tmp_path, content))
    assert [row for row in rows if row not in found] == [row for row in rows if row[0] == b"plain"] != []
    assert len(found) < len(rows)
    assert problems(source)[-2:] == [
        ("loss", "messages cannot be read", len(rows) - len(found)),
        ("note", "entries without a message were passed over", 1),
    ]


def test_an_entry_of_another_boot_than_its_field_says_is_not_trusted(tmp_path: Path) -> None:
    rows, _ = native(written(tmp_path, stored("regular"), "whole.journal"))
    content = stored("regular")
    at = content.find(struct.pack("<Q", rows[0][1]), 300)  # of the first entry; the header has it too
    content[at + 16] ^= 1
    found, (source,) = native(written(tmp_path, content))
    assert found[1:] == rows[1:]
    assert (rows[0][2].trusted, found[0][2].trusted) == (True, False)
    told = "entries are of another boot than their fields say: their streams are not trusted"
    assert ("loss", told, 1) in problems(source)


def test_with_a_damaged_id_values_are_read_unchecked_and_that_is_told(tmp_path: Path) -> None:
    rows, _ = native(written(tmp_path, stored("regular"), "whole.journal"))
    content = stored("regular")
    content[30] ^= 1
    found, (source,) = native(written(tmp_path, content))
    assert found == rows
    told = "the file's id does not fit the hashes of its values: those with a flipped bit are not told"
    assert ("loss", told, 1) in problems(source)


def test_values_of_any_length_have_the_hashes_of_siphash_2_4() -> None:
    # vectors_sip64 of the reference implementation (github.com/veorq/SipHash), of the bytes 00 01 02 … so many.
    words = np.frombuffer(bytes(range(64)), "<u8")
    lengths = np.array([15, 0, 8, 7])
    assert [f"{one:016x}" for one in siphashes(words, np.zeros(4, np.int64), lengths, bytes(range(16)))] == [
        "a129ca6149be45e5",
        "726fdb47dd0e0e31",
        "93f5f5799a932462",
        "ab0200f58b01d137",
    ]


def test_entries_that_reach_into_others_are_broken(tmp_path: Path) -> None:
    content = journal(some(9))
    at = content.find(struct.pack("<BB6xQ", 3, 0, 64 + 5 * 16))
    struct.pack_into("<Q", content, at + 8, 64 + 500 * 16)  # the first entry lists what is behind it
    rows, (source,) = native(written(tmp_path, content))
    assert rows == lines(range(2, 10))
    assert ("loss", "entries are broken", 1) in problems(source)


def test_what_the_manager_says_is_read_without_its_broken_fields(tmp_path: Path) -> None:
    fields = [b"_PID=1", b"_TRANSPORT=journal", b"UNIT=a.service", b"EXIT_STATUS=9", b"no field", b"MESSAGE=died"]
    content = journal([(1, 1, fields)])
    whole, _ = native(written(tmp_path, content))
    assert whole[0][3] == {"UNIT": "a.service", "EXIT_STATUS": "9"}
    at = content.find(b"EXIT_STATUS=9") - 64
    content[at] = 9  # a kind of object that there is not
    rows, (source,) = native(written(tmp_path, content))
    assert (rows[0][2].trusted, rows[0][3]) == (False, {"UNIT": "a.service"})
    assert problems(source) == [("loss", "fields of entries cannot be read", 1)]
