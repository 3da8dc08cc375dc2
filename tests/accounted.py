"""Count the lines of logs that carry a size, a token count or a device: typed, listed as unread, or neither.

What a line carries is told by expressions of this file, not by those of the scan. `python tests/accounted.py FOLDER…`
prints the counts that docs/patterns.md states.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import ready
from forensics.question import load_questions
from forensics.records import contents
from forensics.unread import masked

__all__ = ["CARRIES", "Accounts", "accounts"]

CARRIES = {
    "size": re.compile(rb"\d(?:\.\d+)?\s?(?:[KMGT]i?B|kB|bytes)(?![A-Za-z0-9_])"),
    "tokens": re.compile(rb"(?<![\w.])\d[\d,]*\s+tokens?(?!\w)|tokens\s*[=:]\s*\d|#token: \d"),
    "device": re.compile(rb"(?<!\w)(?:(?:CUDA|ROCm|HIP|Vulkan|SYCL|MUSA|CANN|MTL)\d+|cuda:\d+)(?!\w)"),
}
ESCAPES = re.compile(rb"\x1b\[[0-9;]*m")

Accounts = Counter[tuple[str, str]]
"""How many lines by what they carry and what became of them."""


def accounts(logs: Iterable[Path]) -> tuple[Accounts, list[str]]:
    """What became of the lines of some logs, each read alone, and the lines that are neither typed nor listed."""
    catalogue = load_catalogue()
    found: Accounts = Counter()
    neither: list[str] = []
    for log in logs:
        connection = duckdb.connect()
        store(read_evidence([log], catalogue), connection)
        case = ready(connection, load_questions(), None)
        if case.execute("SELECT count(*) FROM scan_count").fetchone() == (0,):
            continue  # a capture, not a log
        typed = [row[0] for row in case.execute('SELECT "offset" FROM line ORDER BY 1').fetchall()]
        listed = {masked(row[0]) for row in case.execute("SELECT text FROM unread").fetchall()}
        for offset, length, line in _lines(log):
            for kind, carries in CARRIES.items():
                if carries.search(line) is None:
                    continue
                # A record may stand behind the prefix of its collector.
                if bisect_left(typed, offset) < bisect_left(typed, offset + length):
                    state = "typed"
                else:
                    state = "listed" if masked(line.decode("utf-8", "replace").strip())[:400] in listed else "neither"
                found[kind, state] += 1
                if state == "neither":
                    neither.append(f"{log.parent.name}/{log.name}@{offset}: {kind}: {line[:200]!r}")
    return found, neither


def _lines(log: Path) -> Iterator[tuple[int, int, bytes]]:
    """Offset, length and text of each line."""
    content = b"".join(contents(log))
    at = 0
    for line in content.split(b"\n"):
        yield at, len(line) + 1, ESCAPES.sub(b"", line)
        at += len(line) + 1


def main(folders: list[str]) -> None:
    """Print the table for all logs under some folders."""
    logs = sorted(path for folder in folders for path in Path(folder).rglob("*.log*"))
    found, neither = accounts(logs)
    for line in neither:
        print(line)
    print(f"{len(logs)} logs")
    for kind in CARRIES:
        states = {state: found[kind, state] for state in ("typed", "listed", "neither")}
        print(kind, sum(states.values()), states)


if __name__ == "__main__":
    main(sys.argv[1:])
