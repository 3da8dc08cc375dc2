"""Print how fast a native journal becomes typed rows, beside what `journalctl` prints of it, read by the same program.

The journal holds the lines of a recorded server (fixtures/) as a busy unit leaves them: the load once, its requests
again and again, one line in twelve wanted or as `--mix` says, each entry with twenty fields. systemd-journal-remote
makes it. Nothing here is a test: machines differ, ratios less.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench_ingest import LOG, MB, MIXES, mixed, timed

from forensics.catalogue import Catalogue, load_catalogue
from forensics.records import Block, read_inputs
from forensics.scan import Scanner

REMOTE = Path("/lib/systemd/systemd-journal-remote")
FIELDS = b"".join(
    b"%s=%s\n" % pair
    for pair in (
        *(
            (b"_HOSTNAME", b"box"),
            (b"_TRANSPORT", b"stdout"),
            (b"PRIORITY", b"6"),
            (b"_PID", b"4711"),
            (b"_UID", b"997"),
        ),
        *((b"_GID", b"997"), (b"_COMM", b"llama-server"), (b"_EXE", b"/usr/local/bin/llama-server")),
        *((b"_CMDLINE", b"/usr/local/bin/llama-server -m /srv/models/m.gguf"), (b"_CAP_EFFECTIVE", b"0")),
        *((b"_SYSTEMD_CGROUP", b"/system.slice/llama.service"), (b"_SYSTEMD_UNIT", b"llama.service")),
        *((b"_SYSTEMD_SLICE", b"system.slice"), (b"_SYSTEMD_INVOCATION_ID", b"0123456789abcdef0123456789abcdef")),
        *((b"_STREAM_ID", b"fedcba9876543210fedcba9876543210"), (b"SYSLOG_IDENTIFIER", b"llama-server")),
        *((b"SYSLOG_FACILITY", b"3"), (b"_MACHINE_ID", b"3" * 32), (b"_RUNTIME_SCOPE", b"system")),
    )
)


def entries(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines as the entries of an export."""
    for number, line in enumerate(lines):
        head = b"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n" % (
            1_790_000_000_000_000 + number * 997,
            10_000_000 + number * 997,
        )
        text = line.rstrip(b"\n")
        plain = not any(byte < 32 and byte != 9 for byte in text)
        message = b"MESSAGE=" + text if plain else b"MESSAGE\n" + len(text).to_bytes(8, "little") + text
        yield head + b"_BOOT_ID=" + b"1" * 32 + b"\n" + FIELDS + message + b"\n\n"


def made(folder: Path, count: int, unwanted: int) -> Path:
    """A journal of so many entries."""
    lines = mixed(LOG.read_bytes().splitlines(keepends=True), unwanted)
    text = folder / "in.export"
    with text.open("wb", buffering=1 << 20) as out:
        out.writelines(entries(itertools.islice(lines, count)))
    journals = folder / "journal"
    journals.mkdir()
    arguments = [str(REMOTE), "-o", str(journals / "out.journal"), str(text)]
    subprocess.run(arguments, check=True, capture_output=True)
    text.unlink()
    return journals


def rows(path: Path | str, catalogue: Catalogue) -> int:
    """How many typed rows come out."""
    scanner = Scanner(catalogue)
    for piece in read_inputs([path]):
        if isinstance(piece, Block):
            scanner.read(piece)
    return sum(counts.read for counts in scanner.counts.values())


def piped(journals: Path, form: str, catalogue: Catalogue) -> int:
    """The same of what `journalctl` prints, which is read while it prints."""
    arguments = ["journalctl", "--directory", str(journals), "--no-pager", "-o", form]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        kept = os.dup(0)
        os.dup2(process.stdout.fileno(), 0)
        try:
            return rows("-", catalogue)
        finally:
            os.dup2(kept, 0)
            os.close(kept)


def main() -> None:
    """Make a journal, read it each way, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=500_000)
    parser.add_argument("--mix", choices=sorted(MIXES), default="serving")
    parser.add_argument("--times", type=int, default=2, help="runs of each, of which the shortest counts")
    chosen = parser.parse_args()
    catalogue = load_catalogue()
    with tempfile.TemporaryDirectory() as folder:
        journals = made(Path(folder), chosen.entries, MIXES[chosen.mix])
        size = sum(one.stat().st_size for one in journals.iterdir()) / MB
        print(f"{chosen.entries} entries, {size:.0f} MB, {rows(journals, catalogue)} typed rows")
        print(f"{'':24} {'seconds':>8} {'of CPU':>7} {'entries/s':>10} {'native is':>10}")
        ways = {
            "native": lambda: rows(journals, catalogue),
            "journalctl -o export": lambda: piped(journals, "export", catalogue),
            "journalctl -o json": lambda: piped(journals, "json", catalogue),
        }
        found = {name: timed(way, chosen.times) for name, way in ways.items()}
        for name, (wall, cpu) in found.items():
            ratio = f"{wall / found['native'][0]:.1f} / {cpu / found['native'][1]:.1f}"
            print(f"{name:24} {wall:8.2f} {cpu:7.2f} {chosen.entries / wall:10.0f} {ratio:>10}")
        print("native is so many times as fast by the clock / by CPU, that of journalctl included")


if __name__ == "__main__":
    main()
