"""Run the tests and print which branches of the stages they took: python tests/covered.py [TEST…].

Slow (each line is traced, so twice the time of the plain tests), thus no part of them. Processes that tests start are
counted too. What is given is passed on to pytest: a test file or two while a module is being worked on, nothing for the
whole. Exits 1 if tests fail or a group has less than it should.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parent.parent
ENOUGH = 95.0
"""Percent of its branches that the tests take in each group."""

GROUPS: dict[str, tuple[str, ...]] = {
    "records": ("records/*",),
    "scan": ("bookmarks", "catalogue", "columns", "engines", "regexes", "scan", "spool", "units"),
    "events": ("events", "line"),
    "owners": (
        *("carriers", "clocks", "effects", "groups", "invariants", "items", "lifecycle"),
        *("lives", "scope", "steady", "twins", "whose", "writers"),
    ),
    "accounting": (
        *("amounts", "explain", "failures", "gap", "measure", "missing", "moment", "places"),
        *("rows", "selfreport", "setaside", "telemetry", "verdict"),
    ),
}
"""The modules of each stage whose mistakes are wrong answers; docs/fuzzing.md shows what this prints."""


@dataclass
class Taken:
    """The branches of a module or of a group, and those that no test took."""

    branches: int = 0
    missed: tuple[tuple[int, int], ...] = ()

    @property
    def percent(self) -> float:
        """Taken of all, a module without branches has them all."""
        return 100.0 * (self.branches - len(self.missed)) / self.branches if self.branches else 100.0


def measure(tests: list[str], workers: str) -> tuple[int, dict[str, Taken]]:
    """Run tests under coverage: the exit code of pytest, and the branches of each module by its name."""
    with tempfile.TemporaryDirectory() as folder:
        data = {**os.environ, "COVERAGE_FILE": str(Path(folder) / "data")}
        coverage = [sys.executable, "-m", "coverage"]
        run = [*coverage, "run", "-m", "pytest", "-n", workers, *tests]
        code = subprocess.run(run, cwd=TOP, env=data, check=False).returncode
        subprocess.run([*coverage, "combine", "--quiet"], cwd=TOP, env=data, check=True)
        report = Path(folder) / "report.json"
        subprocess.run([*coverage, "json", "--quiet", "-o", report], cwd=TOP, env=data, check=True)
        files = json.loads(report.read_text("utf-8"))["files"]
    return code, {
        name.removeprefix("forensics/").removesuffix(".py"): Taken(
            found["summary"]["num_branches"], tuple((begin, to) for begin, to in found["missing_branches"])
        )
        for name, found in files.items()
    }


def members(group: tuple[str, ...]) -> list[str]:
    """The modules that a group's names stand for.

    Raises:
        ValueError: A name stands for none: it was moved or renamed.
    """
    found = []
    for name in group:
        files = sorted((TOP / "forensics").glob(f"{name}.py"))
        if not files:
            raise ValueError(f"tests/covered.py: no module is named forensics/{name}.py")
        found += [file.relative_to(TOP / "forensics").with_suffix("").as_posix() for file in files]
    return found


def table(modules: dict[str, Taken], *, missed: bool) -> tuple[list[str], bool]:
    """The lines to print, and whether each group has enough."""
    lines, enough = [f"{'group':<12} {'branches':>8} {'missed':>6} {'taken':>7}"], True
    for group, names in GROUPS.items():
        mine = {name: modules[name] for name in members(names)}
        whole = Taken(sum(one.branches for one in mine.values()), tuple(x for one in mine.values() for x in one.missed))
        enough = enough and whole.percent >= ENOUGH
        lines.append(_row(group, whole))
        for name, one in sorted(mine.items(), key=lambda item: -len(item[1].missed)) if missed else ():
            lines.append(_row(f"  {name}", one))
            lines += [f"    {name}.py:{begin} -> {to if to > 0 else 'end'}" for begin, to in one.missed]
    return lines, enough


def _row(name: str, one: Taken) -> str:
    return f"{name:<12} {one.branches:>8} {len(one.missed):>6} {one.percent:>5.1f} %"


def main() -> int:
    """Run, print, and say by the exit code whether it is enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--workers", default="auto", help="processes of pytest-xdist")
    parser.add_argument("--missed", action="store_true", help="each module, and each branch that no test took")
    asked, tests = parser.parse_known_args()
    code, modules = measure(tests, asked.workers)
    lines, enough = table(modules, missed=asked.missed)
    print("\n".join(lines))
    return 1 if code or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
