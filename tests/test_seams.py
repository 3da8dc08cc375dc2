"""What is read, and whose it is, does not depend on where a log is cut into the blocks that are read at once."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_columns import lives, owners
from test_restarts import bare, compose, json_file, stamped

from forensics.case import read_evidence
from forensics.catalogue import load_catalogue
from forensics.records import Options

CATALOGUE = load_catalogue()
FIXTURES = Path(__file__).parents[1] / "fixtures"
FORGED = "llama-forged.log"
LOGS = sorted(
    path
    for path in (*FIXTURES.glob("*/*.log"), *FIXTURES.glob("*/journal.*"))
    if 3_000 < path.stat().st_size < 200_000 and path.suffix != ".gz" and path.name != FORGED
)


LOOKED_AT = 70_000
"""Bytes at the beginning by which a format is told: they are one block, however small the others are."""


def syslog(text: str) -> str:
    """`journalctl -o short-iso`, in which lines that are further in go on with the message before."""
    return "".join(
        f"2026-09-18T08:{number // 60:02}:{number % 60:02}+00:00 box server[9]: {line}\n"
        for number, line in enumerate(text.splitlines())
    )


def pieces(text: str) -> str:
    """`journalctl -o json` of a container whose engine split some messages."""
    entries: list[dict[str, str]] = []
    for number, line in enumerate(text.splitlines()):
        box = {
            "__REALTIME_TIMESTAMP": str(1_789_711_904_000_000 + number),
            "_TRANSPORT": "journal",
            "_PID": "9",
            "CONTAINER_NAME": "box",
        }
        if number % 3:
            entries.append({**box, "MESSAGE": line})
            continue
        piece = {**box, "CONTAINER_PARTIAL_ID": str(number)}
        half = len(line) // 2
        begin = {"CONTAINER_PARTIAL_ORDINAL": "1", "CONTAINER_PARTIAL_MESSAGE": "true", "MESSAGE": line[:half]}
        end = {"CONTAINER_PARTIAL_ORDINAL": "2", "CONTAINER_PARTIAL_LAST": "true", "MESSAGE": line[half:]}
        entries += [{**piece, **begin}, {**piece, **end}]
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def read(path: Path, block_bytes: int) -> list[object]:
    """What was counted, and all that is known of each process, load and line."""
    evidence = read_evidence([path], CATALOGUE, options=Options(block_bytes=block_bytes))
    counts = [
        (one.records, one.hit, one.read, one.missed, one.sized, one.sized_read, one.carried)
        for one in evidence.counts.values()
    ]
    return [*counts, *lives(evidence.ownership), *owners(evidence.ownership)]


def unlike(path: Path) -> list[tuple[object, object]]:
    """What small blocks make of a file and one large one, where those differ first."""
    small, large = read(path, 9_000), read(path, 4_000_000)
    return [pair for pair in itertools.zip_longest(small, large) if pair[0] != pair[1]][:1]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_log_of_several_starts_is_read_alike_in_small_blocks(tmp_path: Path, log: Path) -> None:
    path = tmp_path / log.name
    once = log.read_bytes() if log.suffix == ".export" else log.read_bytes().rstrip(b"\n") + b"\n"
    path.write_bytes(once * (LOOKED_AT // len(once) + 2))
    assert unlike(path) == []


@pytest.mark.parametrize("form", [bare, stamped, json_file, compose, syslog, pieces])
def test_every_collector_s_log_is_read_alike_in_small_blocks(tmp_path: Path, form: Callable[[str], str]) -> None:
    path = tmp_path / "server.log"
    path.write_text(form((FIXTURES / "logs" / "llama-killed-then-reloaded.log").read_text("utf-8") * 9), "utf-8")
    assert unlike(path) == []


@pytest.mark.parametrize("block_bytes", range(5_000, 30_000, 2_500))
def test_a_text_that_is_cut_adds_no_amount_and_no_load(tmp_path: Path, block_bytes: int) -> None:
    """What of it comes in another block than its end is set aside for another reason."""
    path = tmp_path / FORGED
    path.write_bytes((FIXTURES / "logs" / FORGED).read_bytes() * 8)

    def amounts(block_bytes: int) -> list[list[tuple[object, ...]]]:
        found = read_evidence([path], CATALOGUE, options=Options(block_bytes=block_bytes)).ownership
        return [[(item.kind, item.device, item.size_bytes) for item in load.items] for load in found.loads]

    assert amounts(block_bytes) == amounts(4_000_000)


@pytest.mark.parametrize("block_bytes", [107_176, 119_176, 131_176])
def test_servers_that_one_file_has_by_the_dozen_are_all_loads(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "server.log"
    path.write_bytes((FIXTURES / "llama-killed-then-reloaded-plain" / "server.log").read_bytes() * 16)
    evidence = read_evidence([path], CATALOGUE, options=Options(block_bytes=block_bytes))
    assert len(evidence.ownership.loads) == 32
