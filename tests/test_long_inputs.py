"""The long run: lines of 1 GiB and compression bombs of 10 GiB, each through the whole command.

FORENSICS_LONG=1 pytest -n0 -s tests/test_long_inputs.py
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forensics.opened import open_case

pytestmark = pytest.mark.skipif(not os.environ.get("FORENSICS_LONG"), reason="FORENSICS_LONG is not set")

MIB = 1024 * 1024
GIB = 1024 * MIB

MOST_MIB = 400
"""Anonymous memory that the command may hold."""

MOST_S = 300
"""What it may take on a busy machine; alone it is a tenth of that."""

LINE = b"0.00.100.000 I build_info: b9999-abcdef12\n"
LOAD = (
    LINE
    + b"""\
0.00.200.000 I srv    load_model: loading model '/m/a.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB
0.00.400.000 I main: model loaded
"""
)


def ingested(path: Path, what: str) -> list[tuple[str, str, int]]:
    """Severity, words and count of what the ingest of a file met; says what it took, and that it was little."""
    case, said = path.with_suffix(".case"), path.with_suffix(".said")
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    most = 0
    with (
        said.open("w") as out,
        subprocess.Popen(
            [sys.executable, "-m", "forensics.cli", "ingest", str(path), "--case", str(case)], stdout=out, stderr=out
        ) as command,
    ):
        status = Path("/proc") / str(command.pid) / "status"
        while command.poll() is None:
            found = re.search(r"RssAnon:\s+(\d+)", status.read_text())
            most = max(most, int(found[1]) // 1024 if found else 0)
            time.sleep(0.02)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"\n{what}: file of {path.stat().st_size} bytes, {seconds:.1f} s ({cpu:.1f} of CPU), RssAnon {most} MiB")
    assert command.returncode == 0
    rows = open_case(case).connection.execute("SELECT severity, what, count FROM problem ORDER BY ALL").fetchall()
    # What is lost stands on the screen too.
    assert any(row[0] != "note" for row in rows) == said.read_text().startswith("forensics:")
    path.unlink()
    for row in rows[:5]:
        print(*row)
    assert (seconds < MOST_S, most < MOST_MIB) == (True, True)
    return [(str(row[0]), str(row[1]), int(row[2])) for row in rows]


def repeated(piece: bytes, size: int) -> Iterator[bytes]:
    """A piece again and again, so many bytes."""
    whole = piece * (MIB // len(piece) + 1)
    for _ in range(size // len(whole)):
        yield whole
    yield whole[: size % len(whole)]


LINES: dict[str, tuple[bytes, bytes, bytes]] = {
    "one letter": (LOAD, b"x", b"\n" + LINE),
    "no line end": (LOAD, b"x", b""),
    "no byte before it": (b"", b"x", b"\n" + LOAD),
    "zero bytes": (LOAD, b"\0", b"\n" + LINE),
    "carriage returns": (LOAD, b"\r", b"\n" + LINE),
    "what is looked for": (LOAD, b" CUDA0 model buffer size =  4095.05 MiB,", b"\n" + LINE),
    "torn characters": (LOAD, b"\xe4\xff", b"\n" + LINE),
    "open braces": (LOAD, b'{"a":[', b"\n" + LINE),
    "a journal's export": (
        b"__REALTIME_TIMESTAMP=1\n_PID=7\nMESSAGE=first\n\n__REALTIME_TIMESTAMP=2\nMESSAGE=",
        b"x",
        b"\n\n",
    ),
    "a journal's JSON": (b'{"__REALTIME_TIMESTAMP":"1","MESSAGE":"first"}\n{"MESSAGE":"', b"x", b'"}\n'),
    "a container's log": (
        b'{"log":"first\\n","stream":"stdout","time":"2026-11-30T00:00:00.000000001Z"}\n{"log":"',
        b"x",
        b'\\n","stream":"stdout","time":"2026-11-30T00:00:00.000000002Z"}\n',
    ),
    "a container's pieces": (
        b"2026-11-30T00:00:00.000000001Z stdout F first\n",
        b"2026-11-30T00:00:00.000000002Z stdout P " + b"x" * 16384 + b"\n",
        b"\n",
    ),
    "a table of a card": (b"timestamp, index, memory.used [MiB]\n2026/11/30 14:45:09.846, 0, 1 MiB\n", b"1,", b"\n"),
    "a block of a report": (b"# Report\n\n```text\n" + LOAD, b"x", b"\n```\n"),
}
"""What stands before it, what it is made of, what comes then."""


@pytest.mark.parametrize("kind", LINES)
def test_a_line_of_a_gibibyte_ends_soon_in_little_memory_and_is_told(tmp_path: Path, kind: str) -> None:
    before, piece, after = LINES[kind]
    path = tmp_path / "a.log"
    with path.open("wb") as out:
        out.write(before)
        out.writelines(repeated(piece, GIB))
        out.write(after)
    met = ingested(path, f"a line of 1 GiB, {kind}")
    assert [one for one in met if one[0] in ("loss", "error")] != []


Pack = Callable[[bytes], bytes]


def zstd(content: bytes) -> bytes:
    packed: bytes = pytest.importorskip("zstandard").compress(content, 19)
    return packed


PACKERS: dict[str, Pack] = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("piece", [b"x", b"0.00.100.000 D no\n"], ids=["letter", "lines"])
def test_a_bomb_of_ten_gibibytes_is_stopped_and_told(tmp_path: Path, packer: str, piece: bytes) -> None:
    path = tmp_path / "a.log"
    packed = PACKERS[packer](piece * (64 * MIB // len(piece)))
    with path.open("wb") as out:
        out.write(PACKERS[packer](LOAD))
        out.writelines(packed for _ in range(10 * GIB // (64 * MIB)))
    met = ingested(path, f"10 GiB as {packer}")
    told = [what for severity, what, _ in met if severity == "loss" and "decompression stopped" in what]
    # What stays under the ratio is no bomb by any rule: it is read whole.
    assert bool(told) == (1000 * len(packed) * 160 < 10 * GIB)


@pytest.mark.parametrize("inside", ["a member", "many members", "an archive in it"])
def test_a_bomb_in_an_archive_is_stopped_and_told(tmp_path: Path, inside: str) -> None:
    path = tmp_path / "a.zip"
    bomb = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
    with bomb:
        bomb.writestr("a.log", LOAD)
        if inside == "an archive in it":
            bomb.writestr("b.log.xz", lzma.compress(bytes(64 * MIB)) * 160)
        for number in range({"a member": 1, "many members": 200}.get(inside, 0)):
            with bomb.open(f"{number}.log", "w", force_zip64=True) as member:
                for piece in repeated(b"x", GIB if inside == "a member" else 10 * MIB):
                    member.write(piece)
    met = ingested(path, f"a bomb in an archive, {inside}")
    if inside != "many members":  # each is below what is let pass, and all of them are read
        assert [what for severity, what, _ in met if severity == "loss" and re.search("stopped: ", what)] != []
