"""What each recorded log alone, and each recorded case, gives to its loads is what is kept beside it, load by load.

To write it anew: python tests/test_owners_kept.py; the diff is to be read before it is committed.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from weaving import LOGS, catalogue, log_lines, own

from forensics.case import read_evidence
from forensics.lives import Load, Mark, Owned
from forensics.scope import Ownership

KEPT = LOGS / "owners.csv"
NAMES = sorted(path.name for path in LOGS.glob("*.log"))
CASES = sorted(path.parent.name for path in LOGS.parent.glob("*/case.toml"))
COLUMNS = (
    "log", "load", "engine", "model", "begun", "ready", "ended", "how", "phases", "exact", "inferred", "parts",
    "counted_bytes", "marks", "held", "rules",
)  # fmt: skip


def listed(counts: Counter[str]) -> str:
    return " ".join(f"{name}={number}" for name, number in sorted(counts.items()))


def row(log: str, number: int, load: Load, owned: list[Owned]) -> list[str]:
    """One load: its span by record number, its lines by scope, part and rule, its amounts by mark, what it holds."""
    mine = [one for one in owned if one.load is load]
    scopes = Counter(str(one.scope) for one in mine)
    counted = [item for item in load.items if item.mark is Mark.COUNTED]
    held: Counter[str] = Counter()
    for item in counted:
        held[f"{item.device}/{item.part}/{item.kind}"] += item.size_bytes
    span = [str(line.record) if line is not None else "" for line in (load.begun, load.ready, load.ended)]
    return [
        log,
        str(number),
        load.engine,
        (load.model or load.label or "").rsplit("/", 1)[-1],
        *span,
        load.end_reason or "",
        " ".join(f"{phase}@{line.record}" for phase, line in load.phases),
        str(scopes["exact"]),
        str(scopes["inferred"]),
        listed(Counter(f"{one.part}/{one.phase}" for one in mine)),
        str(sum(item.size_bytes for item in counted)),
        listed(Counter(str(item.mark) for item in load.items)),
        listed(held),
        listed(Counter(one.rule for one in mine)),
    ]


def of_case(name: str) -> Ownership:
    """What the journals and logs of a recorded case give to its loads."""
    inputs = sorted(path for path in (LOGS.parent / name).iterdir() if path.name not in ("case.toml", "expected"))
    return read_evidence(inputs, catalogue()).ownership


def found(log: str) -> list[list[str]]:
    """The loads of a log, and a row for the lines that none of them owns."""
    ownership = of_case(log) if log in CASES else own(b"\n".join(log_lines(log)) + b"\n")
    rows = [row(log, number, load, ownership.owned) for number, load in enumerate(ownership.loads)]
    others = Counter(f"{one.scope}: {one.suspect or one.rule}" for one in ownership.owned if one.load is None)
    processes = Counter(f"process {one.program} {one.version or ''}".strip() for one in ownership.processes)
    return [*rows, [log, "none", *([""] * (len(COLUMNS) - 5)), listed(processes), listed(others), ""]]


def kept() -> list[list[str]]:
    return list(csv.reader(io.StringIO(KEPT.read_text("utf-8"))))[1:]


@pytest.mark.parametrize("log", [*NAMES, *CASES])
def test_the_loads_of_a_log_own_what_they_did(log: str) -> None:
    assert found(log) == [one for one in kept() if one[0] == log]


def rewrite(path: Path = KEPT) -> None:
    """Write what comes out."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([COLUMNS, *(one for log in (*NAMES, *CASES) for one in found(log))])
    path.write_text(out.getvalue(), "utf-8")


if __name__ == "__main__":
    rewrite()
