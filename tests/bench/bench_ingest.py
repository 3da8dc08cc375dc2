"""Print how fast a server's log is read, beside what a plain search for the same literals takes.

Three mixes made of the recorded lines of fixtures/: `rare`, in which one line in two hundred is wanted, `serving` with
one in twelve, and `bulk` with five in eight, a busy server and little else. The peer is ripgrep if it is installed,
else `grep -c -F -f`, on the same file in the same run. Nothing here is a test: machines differ, ratios less.

Of the whole command the most anonymous memory (RssAnon) that was seen is printed too, of the case that it made how long
`explain-vram --case` and the slowest views take, and how long the command takes once more when the log has grown.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from forensics.case import read_evidence
from forensics.casewrite import write_case
from forensics.catalogue import Catalogue, load_catalogue
from forensics.opened import open_case
from forensics.records import Block, read_inputs
from forensics.scan import Scanner

LOG = Path(__file__).parents[2] / "fixtures" / "llama-mtp-vision-two-cards-plain" / "server.log"
MB = 1_000_000
UNWANTED = b"the quick brown fox jumps over the lazy dog, and nothing of it is about memory, models or requests: line "


def mixed(lines: list[bytes], unwanted: int) -> Iterator[bytes]:
    """The load once, then its requests again and again, on a clock that goes on.

    Args:
        lines: Of the recorded server.
        unwanted: How many lines that nothing wants come with each of its requests' lines; of 1000.
    """
    begin = next(number for number, line in enumerate(lines) if b"update_slots: all slots are idle" in line)
    end = next(number for number, line in enumerate(lines) if b"cleaning up before exit" in line)
    yield from lines[:begin]
    micro = 30_000_000
    owed = 0
    while True:
        for line in lines[begin:end]:
            micro += 997
            clock = b"%d.%02d.%03d.%03d" % (
                micro // 60_000_000,
                micro // 1_000_000 % 60,
                micro // 1000 % 1000,
                micro % 1000,
            )
            yield clock + line[12:] if line[:1].isdigit() else line
            owed += unwanted
            while owed >= 1000:
                owed -= 1000
                yield clock + b" D " + UNWANTED + b"%d\n" % micro


MIXES = {"rare": 145_000, "serving": 8_200, "bulk": 170}
"""Unwanted lines for 1000 of the recorded ones, of which 73 in 100 are wanted."""


def write(path: Path, lines: Iterator[bytes], size: int) -> None:
    """Fill a file up to a size, in whole lines, behind what is there."""
    with path.open("ab") as file:
        while file.tell() < size:
            file.write(b"".join(next(lines) for _ in range(1000)))


def timed(work: Callable[[], object], times: int = 1) -> tuple[float, float]:
    """Seconds and CPU seconds, those of children included, of the shortest of a few runs."""
    taken = []
    for _ in range(times):
        begin, before = time.perf_counter(), _cpu()
        work()
        taken.append((time.perf_counter() - begin, _cpu() - before))
    return min(taken)


def _cpu() -> float:
    return sum(
        one.ru_utime + one.ru_stime
        for one in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def records_only(path: Path) -> None:
    """Split into records and do nothing with them."""
    for _ in read_inputs([path]):
        pass


def scan_only(path: Path, catalogue: Catalogue) -> None:
    """Split and search: the literals of all patterns and of sizes."""
    engine = Scanner(catalogue).engine
    for piece in read_inputs([path]):
        if isinstance(piece, Block):
            engine.hits(piece.data)


def read_only(path: Path, catalogue: Catalogue) -> Scanner:
    """Split, search and read: everything but ownership and tables."""
    scanner = Scanner(catalogue)
    for piece in read_inputs([path]):
        if isinstance(piece, Block):
            scanner.read(piece)
    return scanner


def to_case(path: Path, catalogue: Catalogue) -> None:
    """From open to commit."""
    case = path.with_suffix(".case")
    write_case(case, read_evidence([path], catalogue))
    case.unlink()


def command(paths: Sequence[Path], case: Path) -> int:
    """Run the whole command; the most anonymous memory in KiB that was seen."""
    arguments = [sys.executable, "-m", "forensics.cli", "ingest", *map(str, paths), "--case", str(case), "--quiet"]
    most = 0
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as process:
        status = Path("/proc") / str(process.pid) / "status"
        while process.poll() is None:
            if status.exists():
                lines = [line for line in status.read_text().splitlines() if line.startswith("RssAnon")]
                most = max(most, *(int(line.split()[1]) for line in lines), 0)
            time.sleep(0.02)
    return most


def peer(path: Path, literals: Path) -> tuple[str, Callable[[], object]]:
    """The plain search for the same literals that this machine has."""
    rg = shutil.which("rg")
    search = [rg, "-a", "-c", "-F", "-f"] if rg else ["grep", "-a", "-c", "-F", "-f"]
    environment = {**os.environ, "LC_ALL": "C"}
    arguments = [*search, str(literals), str(path)]

    def run() -> None:
        # Its output is taken: into /dev/null, grep would stop at the first match.
        subprocess.run(arguments, check=True, capture_output=True, env=environment)

    return Path(search[0]).name, run


def tell(name: str, what: str, size: float, taken: tuple[float, float], base: float) -> None:
    """One line of the table."""
    rate = size / taken[0]
    print(f"{name:8} {what:26} {rate:7.0f} {size / max(taken[1], 1e-6):9.0f} {rate / base:8.2f}", flush=True)


def questions(case: Path) -> None:
    """How long a case takes to answer."""
    arguments = [sys.executable, "-m", "forensics.cli", "explain-vram", "--case", str(case)]
    taken = timed(lambda: subprocess.run(arguments, check=False, capture_output=True), 3)
    print(f"         explain-vram --case: {taken[0] * 1000:.0f} ms, {taken[1] * 1000:.0f} of CPU")
    opened = open_case(case)
    views: list[tuple[float, str]] = []
    for one in opened.questions:
        if one.parameters is not None:
            continue
        opened.prepare(one.name)
        views.append((timed(lambda one=one: opened.connection.execute(f"FROM {one.name}").fetchall())[0], one.name))  # type: ignore[misc]
    slow = sorted(views, reverse=True)
    print(f"         {sum(one[0] > 0.2 for one in slow)} of {len(slow)} views take over 200 ms: ", end="")
    print(", ".join(f"{name} {seconds * 1000:.0f}" for seconds, name in slow[:8]))


def main() -> None:
    """Make the logs, read each, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=300, help="size of each log")
    parser.add_argument("--times", type=int, default=3, help="runs of each, of which the shortest counts")
    parser.add_argument("--mix", choices=sorted(MIXES), action="append", help="only these")
    chosen = parser.parse_args()
    catalogue = load_catalogue()
    lines = LOG.read_bytes().splitlines(keepends=True)
    print(f"{'mix':8} {'what':26} {'MB/s':>7} {'per CPU s':>9} {'of peer':>8}")
    with tempfile.TemporaryDirectory() as folder:
        literals = Path(folder) / "literals"
        literals.write_bytes(b"\n".join(one for one in catalogue.literals() if b"\n" not in one) + b"\n")
        for name in chosen.mix or MIXES:
            path, case = Path(folder) / f"{name}.log", Path(folder) / f"{name}.case"
            log = mixed(lines, MIXES[name])
            write(path, log, chosen.mb * MB)
            size = path.stat().st_size / MB
            peer_name, search = peer(path, literals)
            taken = timed(search, chosen.times)
            base = size / taken[0]
            tell(name, f"{peer_name}, {len(catalogue.literals())} literals", size, taken, base)
            tell(name, "records", size, timed(lambda path=path: records_only(path), chosen.times), base)  # type: ignore[misc]
            tell(name, "scan", size, timed(lambda path=path: scan_only(path, catalogue), chosen.times), base)  # type: ignore[misc]
            tell(name, "read", size, timed(lambda path=path: read_only(path, catalogue), chosen.times), base)  # type: ignore[misc]
            tell(name, "from open to commit", size, timed(lambda path=path: to_case(path, catalogue)), base)  # type: ignore[misc]
            most = 0

            def whole(path: Path = path, case: Path = case) -> None:
                nonlocal most
                most = command([path], case)

            anew = timed(whole)
            tell(name, "the whole command", size, anew, base)
            print(f"         RssAnon at most {most / 1024:.0f} MiB, case of {case.stat().st_size / MB:.0f} MB")
            (counts,) = read_only(path, catalogue).counts.values()
            print(f"         {counts.records} lines, {counts.hit} hit = {counts.read} read + {counts.missed} missed")
            questions(case)
            write(path, log, path.stat().st_size + MB)
            on = timed(whole)
            print(
                f"         grown by a megabyte: {on[0]:.1f} s, {on[1]:.1f} of CPU, {on[1] / anew[1]:.2f} of the first"
            )
            path.unlink()
            case.unlink()


if __name__ == "__main__":
    main()
