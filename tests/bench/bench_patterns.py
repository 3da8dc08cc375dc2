"""Print how reading slows down with the number of patterns: the same file with 30, with 300 and with all of them.

The first 30 are those of llama.cpp that read most of the file's lines; the others are made up, with literals that share
their words with lines of the file, as real ones do, and match none. The ratio is what counts: it should stay below 1.3.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

from bench_ingest import LOG, MB, MIXES, mixed, read_only, write

from forensics.catalogue import Catalogue, load_catalogue, load_programs
from forensics.records import Block, read_inputs
from forensics.scan import Scanner

PROGRAM = Path(__file__).parents[2] / "parsers" / "llama_cpp.toml"
WORDS = ("slot", "srv", "print_timing", "eval time", "tokens", "task", "processing", "release", "prompt", "load_model")
MADE_UP = """
[[pattern]]
name = "made_up_{number}"
contains = "{first} {second}_{number}: "
regex = '''^{first} {second}_{number}: (?P<detail>\\d+)$'''
const = {{ what = "made_up" }}
[[pattern.sample]]
line = "{first} {second}_{number}: 7"
expect = {{ what = "made_up", detail = "7" }}
"""


def most_used(path: Path, count: int) -> list[str]:
    """Names of the patterns that read most of a file's lines."""
    scanner = Scanner(load_catalogue())
    read: Counter[str] = Counter()
    for piece in read_inputs([path]):
        if isinstance(piece, Block):
            read.update(line.pattern.name for line in scanner.scan(piece) if line.pattern.program == "llama.cpp")
    names = [name for name, _ in read.most_common(count)]
    every = [one["name"] for one in tomllib.loads(PROGRAM.read_text("utf-8"))["pattern"]]
    return names + [one for one in every if one not in names][: count - len(names)]


def catalogue(names: list[str], more: int) -> Catalogue:
    """A catalogue of some patterns of one program, and of made-up ones."""
    head, *patterns = PROGRAM.read_text("utf-8").split("\n[[pattern]]\n")
    kept = [one for one in patterns if one.split('"', 2)[1] in names]
    assert len(kept) == len(names)
    extra = [
        MADE_UP.format(number=number, first=WORDS[number % 10], second=WORDS[number // 10 % 10].replace(" ", "_"))
        for number in range(more)
    ]
    return Catalogue(tuple(load_programs([("bench.toml", "\n[[pattern]]\n".join([head, *kept]) + "".join(extra))])))


def main() -> None:
    """Make a log of each mix, read it with ever more patterns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=50, help="size of each log")
    parser.add_argument("--times", type=int, default=3, help="runs of each, of which the shortest counts")
    chosen = parser.parse_args()
    lines = LOG.read_bytes().splitlines(keepends=True)
    print(f"{'mix':8} {'patterns':>8} {'MB/s':>8} {'of 30':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rare", "serving"):
            path = Path(folder) / f"{name}.log"
            write(path, mixed(lines, MIXES[name]), chosen.mb * MB)
            names = most_used(path, 30)
            catalogues = (catalogue(names, 0), catalogue(names, 270), load_catalogue())
            taken = [float("inf")] * len(catalogues)
            for _ in range(chosen.times):  # in turn, and in time of this process: other work on the machine counts less
                for number, found in enumerate(catalogues):
                    begin = time.process_time()
                    read_only(path, found)
                    taken[number] = min(taken[number], time.process_time() - begin)
            size = path.stat().st_size / MB
            for found, one in zip(catalogues, taken, strict=True):
                print(f"{name:8} {len(found.patterns):8} {size / one:8.1f} {one / taken[0]:8.2f}")


if __name__ == "__main__":
    main()
