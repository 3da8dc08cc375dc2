"""Archives and reports: what is inside is read as sources of their own, and no name or size inside does any harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics.records import Block, Options, Source, contents, read_inputs

Files = dict[str, bytes]
Read = tuple[list[tuple[str, bytes]], dict[str, Source]]


def tar(files: Files) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size, about.mtime = len(content), 1_796_050_000
            archive.addfile(about, io.BytesIO(content))
    return held.getvalue()


def zipped(files: Files) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


def zstd(content: bytes) -> bytes:
    compressed: bytes = pytest.importorskip("zstandard").compress(content)
    return compressed


def taken(path: Path | str, options: Options | None = None) -> Read:
    """Messages with the name of their source behind the first `!`, and all sources by that name."""
    messages: list[tuple[str, bytes]] = []
    sources: dict[str, Source] = {}
    for part in read_inputs([path], options=options):
        if isinstance(part, Source):
            sources[part.name.partition("!")[2]] = part
        elif isinstance(part, Block):
            messages.extend((part.source.name.partition("!")[2], message) for message in part.messages())
    return messages, sources


def written(folder: Path, content: bytes) -> Path:
    path = folder / "a"
    path.write_bytes(content)
    return path


def whats(source: Source) -> list[str]:
    return [problem.what for problem in source.problems]


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd], ids=["plain", "gz", "bz2", "xz", "zst"]
)
def test_members_are_sources_whatever_the_archive_is_packed_with(
    tmp_path: Path, pack: Callable[[Files], bytes], compress: Callable[[bytes], bytes]
) -> None:
    path = written(tmp_path, compress(pack({"one.log": b"first\n", "d/two.log.gz": gzip.compress(b"second\n")})))
    messages, sources = taken(path)
    assert messages == [("one.log", b"first"), ("d/two.log.gz", b"second")]
    assert [(name, source.format, source.digest.size) for name, source in sources.items()][:2] == [
        ("one.log", "text", 6),
        ("d/two.log.gz", "text", 7),
    ]
    assert sources[""].format == pack.__name__.removesuffix("ped")
    assert [source.problems for source in sources.values()] == [[], [], []]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gz"])
def test_an_archive_of_many_blocks_is_read_to_its_end(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    lines = [b"the %d. of these lines" % number for number in range(40_000)]
    files = {name: b"".join(line + b"\n" for line in lines) for name in ("one.log", "two.log")}
    content = tar(files)
    messages, sources = taken(written(tmp_path, compress(content)), Options(block_bytes=50_000))
    assert messages == [(name, line) for name in files for line in lines]
    assert [whats(source) for source in sources.values()] == [[], [], []]
    assert sources[""].digest.size == len(content)


@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_comes_through_standard_input(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[Files], bytes]
) -> None:
    content = gzip.compress(pack({"one.log": b"first\n"}))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert taken("-")[0] == [("one.log", b"first")]


def test_what_is_cited_inside_can_be_read_again(tmp_path: Path) -> None:
    inner = zipped({"two.log": b"second\nthird\n"})
    path = written(tmp_path, tar({"one.log": b"first\n", "b.zip": inner}))
    assert b"".join(contents(Path(f"{path}!one.log"))) == b"first\n"
    assert b"".join(contents(Path(f"{path}!b.zip!two.log"))) == b"second\nthird\n"
    assert b"".join(contents(Path(f"{path}!b.zip"))) == inner
    assert list(contents(Path(f"{path}!gone.log"))) == []


def test_an_archive_in_an_archive_is_opened_and_one_in_that_is_not(tmp_path: Path) -> None:
    deepest = zipped({"three.log": b"third\n"})
    path = written(tmp_path, tar({"b.zip": zipped({"two.log": b"second\n", "c.zip": deepest})}))
    messages, sources = taken(path)
    assert messages == [("b.zip!two.log", b"second")]
    assert whats(sources["b.zip!c.zip"]) == ["set aside: it is a zip inside of others, 2 deep"]


@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_name_that_climbs_out_is_but_a_name(tmp_path: Path, pack: Callable[[Files], bytes]) -> None:
    names = ["../../etc/x.log", "/etc/passwd", "new\nline\x1b[31m.log"]
    path = written(tmp_path, pack(dict.fromkeys(names, b"x\n")))
    messages, _ = taken(path)
    assert [name for name, _ in messages] == ["../../etc/x.log", "/etc/passwd", "new\\x0aline\\x1b[31m.log"]
    assert sorted(tmp_path.rglob("*")) == [path]


def test_links_and_devices_in_a_tar_are_named(tmp_path: Path) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    messages, sources = taken(written(tmp_path, held.getvalue()))
    assert messages == []
    assert whats(sources["link"]) == ["it is no regular file and was passed over"]


def test_members_of_one_name_are_told_apart(tmp_path: Path) -> None:
    content = tar({"one.log": b"first\n"})[:1024] + tar({"one.log": b"second\n"})
    assert taken(written(tmp_path, content))[0] == [("one.log", b"first"), ("one.log#2", b"second")]


def test_the_time_of_a_member_is_that_in_the_archive(tmp_path: Path) -> None:
    _, sources = taken(written(tmp_path, tar({"one.log": b"first\n"})))
    assert sources["one.log"].modified_us == 1_796_050_000_000_000


def test_a_tar_cut_short_keeps_what_came_out(tmp_path: Path) -> None:
    content = tar({"one.log": b"first\n", "two.log": b"x" * 5000 + b"\n" + b"y" * 5000})
    messages, sources = taken(written(tmp_path, content[: 512 * 6]))
    assert messages[0] == ("one.log", b"first")
    assert any(what.startswith("reading failed: the archive is damaged") for what in whats(sources["two.log"]))


def test_of_a_member_that_is_cut_the_lines_before_are_read(tmp_path: Path) -> None:
    lines = [b"the %d. of these lines" % number for number in range(2_000)]
    content = tar({"one.log": b"".join(line + b"\n" for line in lines)})
    messages, _ = taken(written(tmp_path, content[:30_000]))
    assert len(messages) > 800
    assert [message for _, message in messages[:-1]] == lines[: len(messages) - 1]


def test_a_damaged_member_of_a_zip_keeps_what_came_before_and_the_others(tmp_path: Path) -> None:
    lines = b"".join(b"%d %d\n" % (number, number**3) for number in range(20_000))
    content = bytearray(zipped({"one.log": lines, "two.log": b"second\n"}))
    content[40_000:40_008] = b"\xff" * 8
    messages, sources = taken(written(tmp_path, bytes(content)))
    assert ("two.log", b"second") in messages
    assert any(what.startswith("reading failed: the archive is damaged") for what in whats(sources["one.log"]))


def test_a_zip_without_its_directory_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    messages, sources = taken(written(tmp_path, zipped({"one.log": b"first\n"})[:60]))
    assert messages == []
    assert [(one.severity, one.remedy) for one in sources[""].problems] == [
        ("error", "get an intact copy, or repair it: zip -FF")
    ]


def test_a_bomb_in_a_zip_is_stopped(tmp_path: Path) -> None:
    path = written(tmp_path, zipped({"bomb.log": b"x\n" * 5_000_000, "two.log": b"second\n"}))
    messages, sources = taken(path, Options(ratio=100, ratio_from_bytes=2**20))
    assert sources["bomb.log"].digest.size < 2**22
    stopped = [one for one in sources["bomb.log"].problems if "stopped: " in one.what]
    assert [one.remedy for one in stopped] == ["unpack it by hand if that is what it should be"]
    assert ("two.log", b"second") in messages


def test_all_members_together_are_bounded(tmp_path: Path) -> None:
    files = {f"{number}.log": bytes([97 + number]) * 999_999 + b"\n" for number in range(9)}
    _, sources = taken(written(tmp_path, tar(files)), Options(output_bytes=3 * 2**20))
    assert sum(source.digest.size for name, source in sources.items() if name) < 4 * 2**20


def test_the_blocks_of_a_report_are_sources_each_by_its_content(tmp_path: Path) -> None:
    report = b"""## What happened

It died, see `server.log`:

```text
first line
second line
```

1. The card:

   ~~~
   timestamp, index, memory.total [MiB], memory.used [MiB]
   2026/11/30 14:45:09.846, 0, 143771 MiB, 1551 MiB
   ~~~

```
not closed
"""
    path = written(tmp_path, report)
    messages, sources = taken(path)
    assert messages == [("block-1", b"first line"), ("block-1", b"second line"), ("block-3", b"not closed")]
    assert {name: source.format for name, source in sources.items()} == {
        "block-1": "text",
        "block-2": "nvidia-smi-csv",
        "block-3": "text",
        "": "markdown",
    }
    assert whats(sources[""]) == [
        "block-3 is not closed: it may be cut",
        "the text outside of its fenced blocks is no log and was not read",
    ]
    assert b"".join(contents(Path(f"{path}!block-2"))).startswith(b"timestamp, index")


def test_a_log_that_prints_markdown_is_a_log(tmp_path: Path) -> None:
    messages, sources = taken(written(tmp_path, b"main: starting\n# Title\n```\ncode\n```\n"))
    assert (len(messages), sources[""].format) == (5, "text")


def test_folders_links_and_old_fields_in_a_zip(tmp_path: Path) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("d/", b"")
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, b"/etc/passwd")
        dated = zipfile.ZipInfo("d/one.log")
        other = struct.pack("<HHB", 0x7875, 1, 1)  # ids of owners, as Info-ZIP adds
        stamp = (
            (0x5455).to_bytes(2, "little") + (5).to_bytes(2, "little") + b"\1" + (1_796_050_000).to_bytes(4, "little")
        )
        dated.extra = other + stamp
        archive.writestr(dated, b"first\n")
    messages, sources = taken(written(tmp_path, held.getvalue()))
    assert messages == [("d/one.log", b"first")]
    assert list(sources) == ["link", "d/one.log", ""]
    assert whats(sources["link"]) == ["it is no regular file and was passed over"]
    assert sources["d/one.log"].modified_us == 1_796_050_000_000_000


def test_folders_in_a_tar_are_no_sources(tmp_path: Path) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        folder = tarfile.TarInfo("d")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    _, sources = taken(written(tmp_path, held.getvalue()))
    assert list(sources) == [""]


def test_a_zip_that_cannot_be_held_is_refused_and_still_digested(tmp_path: Path) -> None:
    content = zipped({"one.log": b"first\n"})
    messages, sources = taken(written(tmp_path, gzip.compress(content)), Options(held_bytes=50))
    assert messages == []
    assert whats(sources[""]) == ["the archive is longer than 50 bytes and cannot be held"]
    assert sources[""].digest.size == len(content)


def test_members_beyond_the_most_are_not_read(tmp_path: Path) -> None:
    messages, sources = taken(written(tmp_path, zipped({f"{number}.log": b"x\n" for number in range(10_001)})))
    assert len(messages) == 10_000
    assert whats(sources[""]) == ["it has more than 10000 members: the rest was not read"]


def test_a_block_without_its_end_or_a_line_end_is_whole(tmp_path: Path) -> None:
    report = b"# It died\n\n```\nfirst line\nsecond line\n```\n```\nthird"
    messages, sources = taken(written(tmp_path, report), Options(held_bytes=16))
    assert messages == [("block-1", b"first line"), ("block-1", b"second line"), ("block-2", b"third")]
    assert whats(sources[""]) == [
        "block-2 is not closed: it may be cut",
        "the text outside of its fenced blocks is no log and was not read",
    ]


@pytest.mark.parametrize("block_bytes", [1000, 4 * 2**20])
def test_lines_of_a_block_are_not_held_and_come_whole_however_long(tmp_path: Path, block_bytes: int) -> None:
    long = b"    " + b"x" * 70_000 + b"```"
    info = b"```" + b"i" * 70_000  # too long to open a block
    report = b"\n".join([b"# It died", b"", info, b"", b"  ```", b"  first", long, b"```" + long, b"  ```", b""])
    messages, _ = taken(written(tmp_path, report), Options(block_bytes=block_bytes))
    assert messages == [("block-1", b"first"), ("block-1", long[2:]), ("block-1", b"```" + long)]


def test_nothing_is_inside_of_a_plain_text(tmp_path: Path) -> None:
    path = written(tmp_path, b"first\n")
    assert list(contents(Path(f"{path}!one.log"))) == []
    assert list(contents(Path(f"{tmp_path}/gone!one!two.log"))) == []


def test_what_is_inside_of_an_input_is_read_with_it_once(tmp_path: Path) -> None:
    path = written(tmp_path, zipped({"one.log": b"first\n"}))
    parts = list(read_inputs([path, Path(f"{path}!one.log")]))
    assert [part.name.partition("!")[2] for part in parts if isinstance(part, Source)] == ["one.log", ""]
