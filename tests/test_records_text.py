"""Plain text: lines are cut at line feeds, on bytes, and nothing else changes them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics.records import NO_TIME, Block, Options, Problem, Source, Stream, read_inputs
from forensics.records.lines import read_text


def records(content: bytes, block_bytes: int = 4096, line_bytes: int = 1000) -> tuple[list[tuple[object, ...]], Source]:
    """Read text in pieces of a size and flatten its blocks."""
    source = Source("a.log", "text")
    pieces = (content[at : at + block_bytes] for at in range(0, len(content), block_bytes))
    rows: list[tuple[object, ...]] = []
    for block in read_text(source, pieces, line_bytes):
        assert block.first_record == len(rows)
        rows += zip(
            block.messages(),
            block.offsets.tolist(),
            block.lengths.tolist(),
            block.times.tolist(),
            (block.stream_table[number] for number in block.streams),
            strict=True,
        )
    return rows, source


def test_each_line_is_a_record_cited_by_its_own_bytes() -> None:
    rows, source = records(b"one\n\ntwo\r\n")
    stream = Stream("a.log")
    assert rows == [
        (b"one", 0, 3, NO_TIME, stream),
        (b"", 4, 0, NO_TIME, stream),
        (b"two", 5, 3, NO_TIME, stream),
    ]
    assert source.records == 3
    assert source.problems == []


def test_only_a_line_feed_ends_a_line() -> None:
    rows, _ = records("a\rb\x0bc\x0c\x1cd\x85\u2028e\0f\n".encode())
    assert [row[0] for row in rows] == ["a\rb\x0bc\x0c\x1cd\x85\u2028e\0f".encode()]


def test_bytes_that_are_no_utf8_pass_unchanged() -> None:
    rows, _ = records(b"\xff\xfe\x80 bad\n")
    assert [row[0] for row in rows] == [b"\xff\xfe\x80 bad"]


def test_a_byte_order_mark_is_not_part_of_the_first_message() -> None:
    rows, _ = records(b"\xef\xbb\xbfone\ntwo\n", block_bytes=2)
    assert [row[:3] for row in rows] == [(b"one", 3, 3), (b"two", 7, 3)]


def test_a_last_line_without_line_end_is_read_and_noted() -> None:
    rows, source = records(b"one\ntw")
    assert [row[0] for row in rows] == [b"one", b"tw"]
    assert source.problems == [
        Problem("a.log", "note", "the last line has no line end: it may be cut or still being written")
    ]


def test_a_line_over_the_limit_is_cut_and_counted_with_its_offset() -> None:
    rows, source = records(b"one\n" + b"x" * 1500 + b"\ntwo\n", line_bytes=1000)
    assert [row[:3] for row in rows] == [(b"one", 0, 3), (b"x" * 1000, 4, 1000), (b"two", 1505, 3)]
    assert source.problems == [
        Problem("a.log", "loss", "lines of more than 1000 bytes were cut; 500 bytes are missing", "", 4, 1)
    ]


def test_a_line_of_many_megabytes_is_one_record(tmp_path: Path) -> None:
    (tmp_path / "big.log").write_bytes(b"x" * 16_000_000 + b"\nend\n")
    blocks = [part for part in read_inputs([tmp_path / "big.log"]) if isinstance(part, Block)]
    assert [int(length) for block in blocks for length in block.lengths] == [16_000_000, 3]


def test_a_line_without_end_is_cut_and_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "big.log").write_bytes(b"one\n" + b"x" * 50_000_000 + b"\nend\n")
    *blocks, source = read_inputs([tmp_path / "big.log"])
    assert [int(length) for block in blocks if isinstance(block, Block) for length in block.lengths] == [3, 16 << 20, 3]
    assert isinstance(source, Source)
    what = "lines of more than 16777216 bytes were cut; 33222784 bytes are missing"
    assert source.problems == [Problem(source.name, "loss", what, "", 4, 1)]


def test_bytes_that_are_no_utf8_are_counted_and_the_first_is_located(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes("a true \ufffd and ä\n".encode() + b"torn \xc3\nand \xff\xfe\n")
    *_, source = read_inputs([tmp_path / "a.log"])
    assert isinstance(source, Source)
    what = "characters were torn: 3 sequences of bytes are no UTF-8; they are kept, and shown as escapes"
    assert source.problems == [Problem(source.name, "loss", what, "", 23, 3)]


awkward = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"\0", "ä€😀".encode(), b"\xff", b"\xef\xbb\xbf", b"word ", b"x" * 40]),
    max_size=30,
).map(b"".join)


@settings(deadline=None)
@example(content=b"\r\r\r\n", block_bytes=1, line_bytes=1)
@given(content=awkward, block_bytes=st.integers(1, 64), line_bytes=st.integers(1, 60))
def test_reading_in_pieces_equals_reading_at_once(content: bytes, block_bytes: int, line_bytes: int) -> None:
    at_once, whole = records(content, len(content) + 1, line_bytes)
    in_pieces, parts = records(content, block_bytes, line_bytes)
    assert in_pieces == at_once
    assert parts.problems == whole.problems


@given(content=awkward)
def test_every_byte_is_in_a_message_or_a_line_end(content: bytes) -> None:
    rows, _ = records(content)
    text = content.removeprefix(b"\xef\xbb\xbf")
    expected = text.split(b"\n")
    if not expected[-1]:
        del expected[-1]
    assert [row[0] for row in rows] == [line.removesuffix(b"\r") for line in expected]
    for message, offset, length, *_ in rows:
        assert isinstance(offset, int)
        assert isinstance(length, int)
        assert content[offset : offset + length] == message


def test_blocks_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"0123456\n" * 100_000)
    parts = list(read_inputs([tmp_path / "a.log"], options=Options(block_bytes=2**16)))
    blocks = [part for part in parts if isinstance(part, Block)]
    assert sum(map(len, blocks)) == 100_000
    assert max(len(block.data) for block in blocks) <= 3 * 2**16
