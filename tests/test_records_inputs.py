"""Inputs of every kind: what can be read is read, what cannot becomes a problem, and the others go on."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import threading
from pathlib import Path

import pytest
from reading import read

from forensics.records import (
    Block,
    Named,
    Options,
    Piece,
    Problem,
    Source,
    contents,
    digests,
    looks,
    read_inputs,
)


def names(parts: list[Piece | Source]) -> list[tuple[str, str, int]]:
    return [(part.name, part.format, part.records) for part in parts if isinstance(part, Source)]


def read_sources(folder: Path) -> list[Source]:
    return [part for part in read_inputs([folder]) if isinstance(part, Source)]


def test_a_folder_is_read_whole_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.log").write_bytes(b"x\n")
    (tmp_path / "b" / "one.log").write_bytes(b"x\ny\n")
    (tmp_path / "z.txt").write_bytes(b"x\n")
    assert names(list(read_inputs([tmp_path]))) == [
        (f"{tmp_path}/z.txt", "text", 1),
        (f"{tmp_path}/b/one.log", "text", 2),
        (f"{tmp_path}/b/two.log", "text", 1),
    ]


def test_a_path_that_does_not_exist_is_a_problem_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x\n")
    parts = list(read_inputs([tmp_path / "gone", tmp_path / "a.log"]))
    gone = f"{tmp_path}/gone"
    assert names(parts) == [(gone, "unreadable", 0), (f"{tmp_path}/a.log", "text", 1)]
    assert parts[0].problems == [  # type: ignore[union-attr]
        Problem(gone, "error", "it cannot be read: no such file or directory", "check the path and its permissions")
    ]


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert names(list(read_inputs(["-"]))) == [("-", "text", 2)]


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x\n" * 1000)
    (tmp_path / "b.log").write_bytes(b"x\n" * 500)
    seen: list[tuple[int, int]] = []
    list(read_inputs([tmp_path], lambda done, total: seen.append((done, total))))
    assert seen[-1] == (3000, 3000)


@pytest.mark.parametrize(
    ("content", "name", "severity"),
    [
        (b"", "empty", "note"),
        (b" \n\n", "empty", "note"),
        (b'{"a": 1,\n "b": [2]}\n', "json", "note"),
        (b'{"index":0,"content":"x"}\n{"index":1,"content":"y"}\n', "json", "note"),
        (b'200\n[{"id":0}]', "json", "note"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", "note"),
        (bytes(range(256)) * 10, "binary", "note"),
        (b"\0" * 5000, "binary", "note"),
        (b"LPKSHHRH\0\0\0\0", "journal-native", "error"),
    ],
    ids=["empty", "blank", "json", "jsonl", "saved-answer", "png", "bytes", "nul", "native"],
)
def test_what_is_no_log_is_set_aside_with_the_reason(tmp_path: Path, content: bytes, name: str, severity: str) -> None:
    records, samples, source = read(tmp_path, content)
    assert (records, samples) == ([], [])
    assert (source.format, [problem.severity for problem in source.problems]) == (name, [severity])
    assert source.problems[0].what.startswith("set aside: ")
    assert source.digest.size == len(content)


@pytest.mark.parametrize("hole", [b"\n" * 70_000, b"\0" * 70_000])
def test_a_log_behind_a_long_hole_is_a_log(tmp_path: Path, hole: bytes) -> None:
    records, _, source = read(tmp_path, hole + b"\nfirst line\n")
    assert (source.format, records[-1].message) == ("text", b"first line")


def test_a_log_with_nuls_and_a_hole_before_it_is_a_log(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"\0" * 300 + b"first line of the log\nsecond\0 line\n")
    assert source.format == "text"
    assert [record.message for record in records] == [b"\0" * 300 + b"first line of the log", b"second\0 line"]


def test_utf16_is_read_and_offsets_address_it_as_utf8(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, "one\r\nzwei ä\r\n".encode("utf-16"))
    assert [(record.message, record.offset) for record in records] == [(b"one", 0), ("zwei ä".encode(), 5)]
    assert source.problems == [Problem("f", "note", "the input is UTF-16; offsets address its text as UTF-8", "", 0)]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_input_is_read_and_digested_as_what_it_holds(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    content = (b"one" * 33 + b"\n") * 12_000
    records, _, source = read(tmp_path, compress(content[:12]) + compress(content[12:]))
    assert len(records) == 12_000
    chunks = [hashlib.sha256(content[at : at + 2**20]).hexdigest() for at in range(0, len(content), 2**20)]
    assert (source.digest.chunks, source.digest.size, source.problems) == (chunks, len(content), [])


def test_a_cut_gzip_keeps_what_came_out_and_says_where(tmp_path: Path) -> None:
    content = b"".join(b"%d %d\n" % (number, number**3) for number in range(20_000))
    packed = gzip.compress(content)
    cut = len(packed) // 2
    records, _, source = read(tmp_path, packed[:cut])
    assert b"\n".join(record.message for record in records) == content[: source.digest.size]
    assert source.digest.size > len(content) // 3
    what = f"the gzip stream is cut after {cut} bytes; {source.digest.size} bytes came out of it"
    assert source.problems[0] == Problem(
        "f", "loss", what, "get a whole copy; what came out is used", source.digest.size
    )


@pytest.mark.parametrize("block_bytes", [1000, 4 * 2**20])
def test_a_damaged_gzip_keeps_all_that_came_out_before(tmp_path: Path, block_bytes: int) -> None:
    content = b"".join(b"%d %d\n" % (number, number**3) for number in range(20_000))
    packed = bytearray(gzip.compress(content))
    middle = len(packed) // 2
    packed[middle : middle + 8] = b"\xff" * 8
    records, _, source = read(tmp_path, bytes(packed), Options(block_bytes=block_bytes))
    got = b"\n".join(record.message for record in records)
    assert content.startswith(got[: len(content) // 3])
    assert source.problems[0].severity == "loss"
    assert source.problems[0].what.startswith("damaged gzip stream: ")
    assert source.problems[0].offset == source.digest.size


def test_bytes_behind_a_gzip_stream_are_counted(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, gzip.compress(b"one\n") + b"trailing")
    assert [record.message for record in records] == [b"one"]
    assert [problem.what for problem in source.problems] == ["bytes that are no gzip follow the gzip stream"]


def test_padding_behind_a_gzip_stream_is_nothing(tmp_path: Path) -> None:
    _, _, source = read(tmp_path, gzip.compress(b"one\n") + b"\0" * 100)
    assert source.problems == []


def test_a_bomb_is_stopped(tmp_path: Path) -> None:
    packed = gzip.compress((b"x" * 99 + b"\n") * 30_000, 9)
    _, _, source = read(tmp_path, packed, Options(block_bytes=2**16, ratio=100, ratio_from_bytes=2**20))
    assert 2**20 < source.digest.size < 2**20 + 2**17
    assert [problem.what[:21] for problem in source.problems if problem.severity == "loss"] == ["decompression stopped"]


def test_zstd_without_its_module_is_an_error_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    _, _, source = read(tmp_path, b"\x28\xb5\x2f\xfd\x00\x00")
    what = "the input is zstd and no decompressor is installed"
    assert source.problems == [Problem("f", "error", what, "pip install zstandard, or unpack it", 0)]


def test_links_and_pipes_in_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "gone")
    (tmp_path / "b").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "c")
    assert [(source.name, source.problems[0].what) for source in read_sources(tmp_path)] == [
        (f"{tmp_path}/a", "it cannot be read: no such file or directory"),
        (f"{tmp_path}/b", "a link to a folder is not followed"),
        (f"{tmp_path}/c", "it is no regular file and was passed over"),
    ]


def test_of_a_recorded_case_the_evidence_is_read_and_not_what_must_come_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "expected").mkdir()
    for name in ("a.log", "case.toml", "expected/explain.txt"):
        (tmp_path / name).write_bytes(b"CUDA0 holds 7 MiB\n")
    log, case = read_sources(tmp_path)
    assert (case.name, case.records, log.name, log.records) == (f"{tmp_path}/case.toml", 0, f"{tmp_path}/a.log", 1)
    assert case.problems == [Problem(case.name, "note", "neither a case nor what it expects is read as evidence")]


def test_cited_bytes_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress("one\ntwo\n".encode("utf-16")))
    block, source = read_inputs([tmp_path / "a.gz"])
    assert isinstance(block, Block)
    assert isinstance(source, Source)
    again = b"".join(contents(tmp_path / "a.gz"))
    assert [again[at : at + size] for at, size in zip(block.offsets, block.lengths, strict=True)] == [b"one", b"two"]


def test_utf16_in_single_bytes_and_cut_inside_a_unit_loses_only_that(tmp_path: Path) -> None:
    content = "one ä\n".encode("utf-16")
    records, _, source = read(tmp_path, content + b"x", Options(block_bytes=1))
    assert [record.message for record in records] == ["one ä".encode(), "\ufffd".encode()]
    assert Problem("f", "loss", "code units that are no UTF-16", "get an intact copy") in source.problems


def test_the_bytes_of_sources_alone_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x\n")
    (tmp_path / "left.log").write_bytes(b"y\n")
    options = Options(skip=lambda path: path.name == "left.log")
    (source,) = digests([tmp_path], options=options)
    assert (source.name, source.digest.chunks) == (f"{tmp_path}/a.log", [hashlib.sha256(b"x\n").hexdigest()])
    (before,) = looks([tmp_path], options).items()
    assert (before[0], before[1][2]) == (f"{tmp_path}/a.log", 2)
    (tmp_path / "a.log").write_bytes(b"z\n")
    assert looks([tmp_path], options) != dict([before])
    assert looks(["-", tmp_path / "gone"]) == {"-": (), f"{tmp_path}/gone": ()}


def test_what_is_given_under_another_name_is_cited_by_that(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x\n")
    found = list(read_inputs([Named("server.log", tmp_path / "a.log", 5), Named("folder", tmp_path)]))
    assert [(one.name, one.modified_us) for one in found if isinstance(one, Source)] == [("server.log", 5)]


def test_a_stream_that_is_given_itself_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"Nov 19 10:03:03 box prog[7]: one\n",))
    writer.start()
    parts = list(read_inputs([pipe]))
    writer.join()
    assert names(parts) == [(str(pipe), "journal-short", 1)]


def test_a_folder_that_cannot_be_listed_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "a.log").write_bytes(b"x\n")
    listing = os.scandir

    def refuse(path: str) -> object:  # root, as which tests may run, is refused nothing
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    *_, shut = read_inputs([tmp_path])
    assert isinstance(shut, Source)
    what = "it cannot be read: permission denied"
    assert shut.problems == [Problem(f"{tmp_path}/shut", "error", what, "check the path and its permissions")]


def test_a_capture_in_which_nothing_could_be_read_is_told(tmp_path: Path) -> None:
    _, samples, source = read(tmp_path, b"==============NVSMI LOG==============\n\nAttached GPUs : 0\n")
    assert samples == []
    what = "it looks like nvidia-smi-query, and nothing in it could be read as that"
    assert source.problems == [Problem("f", "note", what, "check whether it was cut or changed")]


def test_a_long_json_document_is_known_by_its_beginning(tmp_path: Path) -> None:
    _, _, source = read(tmp_path, b"[\n1,\n" + b"2,\n" * 40_000 + b"3]\n")
    assert (source.format, source.problems[0].what) == ("json", "set aside: it is a JSON document, not a log")
    records, _, source = read(tmp_path, b"[1] main: it begins with a bracket\n" * 4000)
    assert (source.format, len(records)) == ("text", 4000)
