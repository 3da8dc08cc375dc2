"""The long run: native journals of 200,000 entries against journalctl, and thousands of damaged ones.

FORENSICS_LONG=1 pytest -s tests/test_long_journal.py
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from journals_text import KERNEL, MANAGER, WRITER, Fields, export
from test_records_journal_native import REMOTE, damaged, native, rows_of

from forensics.records import Block, Options, Source, read_inputs
from forensics.records.export import read_export
from forensics.records.journal_file import Head, JournalFile, head_of

pytestmark = [
    pytest.mark.skipif(not os.environ.get("FORENSICS_LONG"), reason="FORENSICS_LONG is not set"),
    pytest.mark.skipif(
        not REMOTE.exists() or shutil.which("journalctl") is None,
        reason="systemd-journal-remote or journalctl is missing",
    ),
]


def generated(count: int) -> Iterator[Fields]:
    """Entries of several writers with about 20 fields, some of them long, binary or in colours."""
    chance = random.Random(count)  # noqa: S311
    us, mono = 1_789_711_904_000_000, 10_000_000
    for number in range(count):
        step = chance.randrange(1, 40_000)
        us, mono = us + step, mono + step
        boot = b"1" * 32 if number < count * 6 // 10 else b"2" * 32
        message = b"slot %d: task %d, n_past = %d, %f tokens per second" % (
            number % 4,
            number,
            chance.randrange(9999),
            chance.random(),
        )
        kind = chance.random()
        if kind < 0.005:
            message = b"\x1b[32mINFO\x1b[0m " + message
        elif kind < 0.01:
            message = b"not \xff\xfe text\n" + message
        elif kind < 0.015:
            message += b" %d" % number * 1500
        elif kind < 0.2:
            message = b"slot %d is idle" % (number % 4)
        fields = WRITER if kind < 0.95 else MANAGER if kind < 0.98 else KERNEL
        more: Fields = [(f"_FIELD_{at}", b"%d" % (number // 10**at % 1000)) for at in range(9) if fields is not KERNEL]
        head: Fields = [("__REALTIME_TIMESTAMP", b"%d" % us), ("__MONOTONIC_TIMESTAMP", b"%d" % mono)]
        yield [*head, ("_BOOT_ID", boot), *fields, *more, ("MESSAGE", message)]


def made(folder: Path, count: int, *, compact: bool) -> list[Path]:
    """Journals that systemd-journal-remote makes of so many entries, in their order."""
    with (folder / "in.export").open("wb") as out:
        for fields in generated(count):
            out.write(export([fields]))
    subprocess.run(
        [str(REMOTE), "-o", str(folder / "out.journal"), str(folder / "in.export")],
        env={**os.environ, "SYSTEMD_JOURNAL_COMPACT": str(int(compact))},
        check=True,
        capture_output=True,
    )
    return sorted(folder.glob("out*.journal"), key=lambda path: path.name == "out.journal")


def listed(printed: bytes) -> Iterator[list[tuple[bytes, bytes]]]:
    """The fields of each entry of an export."""
    at = 0
    entry: list[tuple[bytes, bytes]] = []
    while at < len(printed):
        end = printed.index(b"\n", at)
        equals = printed.find(b"=", at, end)
        if end == at:
            yield entry
            at, entry = at + 1, []
        elif equals >= 0:
            entry.append((printed[at:equals], printed[equals + 1 : end]))
            at = end + 1
        else:
            size = int.from_bytes(printed[end + 1 : end + 9], "little")
            entry.append((printed[at:end], printed[end + 9 : end + 9 + size]))
            at = end + 10 + size


@pytest.mark.parametrize("compact", [False, True], ids=["regular", "compact"])
def test_every_entry_and_field_is_that_of_journalctl(tmp_path: Path, compact: bool) -> None:
    paths = made(tmp_path, 200_000, compact=compact)
    command = ["journalctl", "-q", "--no-pager", "--all", "-o", "export"]
    begun = time.perf_counter()
    printed = subprocess.run([*command, *(f"--file={path}" for path in paths)], check=True, capture_output=True).stdout
    theirs_s = time.perf_counter() - begun
    compared = number = 0
    entries = listed(printed)
    for path in paths:
        content = path.read_bytes()
        head = head_of(content[:512])
        assert isinstance(head, Head)
        file = JournalFile(content, head)
        offsets, vouched = file.entries()
        assert vouched.all()
        assert not file.damage
        for offset in offsets.tolist():
            theirs = [one for one in next(entries) if not one[0].startswith(b"__") and one[0] != b"_BOOT_ID"]
            ours = [one for one in file.fields(offset, 1 << 30) if one[0] != b"_BOOT_ID"]
            assert sorted(ours) == sorted(theirs)
            compared += len(ours)
            number += 1
    assert next(entries, None) is None
    exported = list(read_export(Source("j", "journal-export"), iter([printed]), Options()))
    begun, cpu = time.perf_counter(), time.process_time()
    parts = list(read_inputs(paths))
    ours_s, cpu = time.perf_counter() - begun, time.process_time() - cpu
    assert rows_of(list(parts)) == rows_of(list(exported))
    cursors = [part.cursors[at] for part in parts if isinstance(part, Block) for at in range(len(part))]
    assert cursors == [part.cursors[at] for part in exported for at in range(len(part))]
    print(
        f"\n{number} entries, {compared} fields equal; read in {ours_s:.2f} s ({cpu:.2f} s CPU), "
        f"journalctl alone {theirs_s:.2f} s"
    )


@pytest.mark.parametrize("compact", [False, True], ids=["regular", "compact"])
def test_a_thousand_damaged_journals_are_read_without_a_crash(tmp_path: Path, compact: bool) -> None:
    (path,) = made(tmp_path, 2000, compact=compact)
    content = path.read_bytes()
    content = content.rstrip(b"\0") + bytes(4096)
    counts = []
    slowest = 0.0
    for seed in range(1000):
        target = tmp_path / "damaged.journal"
        target.write_bytes(damaged(content, seed))
        begun = time.perf_counter()
        rows, (source,) = native(target)
        slowest = max(slowest, time.perf_counter() - begun)
        counts.append(len(rows))
        assert len(rows) <= 2000
        assert len(rows) == 2000 or any(one.severity != "note" for one in source.problems)
    counts.sort()
    print(f"\n1000 damaged files: median {counts[500]} of 2000 entries, fewest {counts[0]}, slowest {slowest:.2f} s")
