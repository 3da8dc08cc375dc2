"""Print how fast a server's log is read, beside what a plain search for the same literals takes.

Two mixes of about 100 MB each, made of the recorded lines of fixtures/: `quiet`, in which one line in a thousand is one
that a pattern wants, and `serving`, a busy server whose every request prints timings. The peer is ripgrep if it is
installed, else `grep -c -F -f`, on the same file in the same run. Nothing here is a test: machines differ, ratios less.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from forensics.case import read_evidence
from forensics.catalogue import Catalogue, load_catalogue
from forensics.records import Block, read_inputs
from forensics.scan import Scanner

LOG = Path(__file__).parents[2] / "fixtures" / "llama-mtp-vision-two-cards-plain" / "server.log"
MB = 1_000_000
QUIET = b"the quick brown fox jumps over the lazy dog, and nothing of it is about memory, models or requests: line "


def serving(lines: list[bytes]) -> Iterator[bytes]:
    """The load once, then its requests again and again, on a clock that goes on."""
    begin = next(number for number, line in enumerate(lines) if b"update_slots: all slots are idle" in line)
    end = next(number for number, line in enumerate(lines) if b"cleaning up before exit" in line)
    yield from lines[:begin]
    seconds = 30
    while True:
        clock = b"%d.%02d." % divmod(seconds, 60)
        for number, line in enumerate(lines[begin:end]):
            yield clock + b"%03d.%03d" % divmod(number, 1000) + line[12:] if line[:1].isdigit() else line
        seconds += 1


def quiet(lines: list[bytes]) -> Iterator[bytes]:
    """The load once, then lines that nothing wants, with one timing in a thousand."""
    timing = next(line for line in lines if b" eval time =" in line)
    yield from lines[:-1]
    seconds = 30
    while True:
        clock = b"%d.%02d." % divmod(seconds, 60)
        for number in range(999):
            yield clock + b"%03d.000 I " % number + QUIET + b"%d\n" % number
        yield clock + b"999.000" + timing[12:]
        seconds += 1


def write(path: Path, lines: Iterator[bytes], size: int) -> None:
    """Fill a file up to a size, in whole lines."""
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(b"".join(next(lines) for _ in range(1000)))


def timed(work: Callable[[], object], times: int) -> float:
    """The shortest of a few runs, in seconds."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def records_only(path: Path) -> None:
    """Split into records and do nothing with them."""
    for _ in read_inputs([path]):
        pass


def scan_only(path: Path, catalogue: Catalogue) -> None:
    """Split, search and read: everything but ownership."""
    scanner = Scanner(catalogue)
    for piece in read_inputs([path]):
        if isinstance(piece, Block):
            for _ in scanner.scan(piece):
                pass


def peer(path: Path, literals: Path) -> tuple[str, Callable[[], object]]:
    """The plain search for the same literals that this machine has."""
    rg = shutil.which("rg")
    command = [rg, "-a", "-c", "-F", "-f"] if rg else ["grep", "-a", "-c", "-F", "-f"]
    environment = {**os.environ, "LC_ALL": "C"}
    arguments = [*command, str(literals), str(path)]

    def search() -> None:
        # Its output is taken: into /dev/null, grep would stop at the first match.
        subprocess.run(arguments, check=True, capture_output=True, env=environment)

    return Path(command[0]).name, search


def main() -> None:
    """Make both logs, read each, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=100, help="size of each log")
    parser.add_argument("--times", type=int, default=3, help="runs of each, of which the shortest counts")
    chosen = parser.parse_args()
    catalogue = load_catalogue()
    lines = LOG.read_bytes().splitlines(keepends=True)
    print(f"{'mix':8} {'what':22} {'MB/s':>8} {'of peer':>8}")
    with tempfile.TemporaryDirectory() as folder:
        literals = Path(folder) / "literals"
        literals.write_bytes(b"\n".join(one for one in catalogue.literals() if b"\n" not in one) + b"\n")
        for name, mix in (("quiet", quiet), ("serving", serving)):
            path = Path(folder) / f"{name}.log"
            write(path, mix(lines), chosen.mb * MB)
            size = path.stat().st_size / MB
            peer_name, search = peer(path, literals)
            base = size / timed(search, chosen.times)
            steps: tuple[tuple[str, Callable[[], object]], ...] = (
                ("records", lambda path=path: records_only(path)),  # type: ignore[misc]
                ("records and scan", lambda path=path: scan_only(path, catalogue)),  # type: ignore[misc]
                ("all, with ownership", lambda path=path: read_evidence([path], catalogue)),  # type: ignore[misc]
            )
            print(f"{name:8} {peer_name + ', ' + str(len(catalogue.literals())) + ' literals':22} {base:8.0f} {1:8.2f}")
            for what, work in steps:
                rate = size / timed(work, chosen.times)
                print(f"{name:8} {what:22} {rate:8.0f} {rate / base:8.2f}")


if __name__ == "__main__":
    main()
