"""Two states are compared only as far as both are described (EP-5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import journal, opened
from test_diff import FIRST, LONGER

from forensics.answer import Answer
from forensics.catalogue import load_catalogue
from forensics.diff import diff, pick

VERSION = "build: 11434 (abcdef0) with GNU 13.3.0 for Linux x86_64"
BARE = "\n".join(line for line in LONGER.splitlines() if "free" not in line and "n_ctx" not in line)


def compared(folder: Path, first: str, second: str) -> Answer:
    sides = []
    for name, text in (("a", first), ("b", second)):
        (folder / name).mkdir()
        connection = opened(folder / name, server_log=journal(100, 0, text))
        sides.append((connection, pick(connection, None)))
    return diff(sides[0], sides[1], load_catalogue())


@pytest.mark.parametrize(
    ("first", "second", "open_of"),
    [
        pytest.param(f"{VERSION}\n{FIRST}", f"{VERSION}\n{LONGER}", None, id="both told"),
        pytest.param(FIRST, f"{VERSION}\n{LONGER}", "version of the first", id="one has no version"),
        pytest.param(
            f"{VERSION}\n{FIRST}",
            f"{VERSION}\n{BARE}",
            "configuration and what was free when it began of the second",
            id="one says neither its flags nor what was free",
        ),
        pytest.param(FIRST, LONGER, "version of the first; nor version of the second", id="neither has a version"),
    ],
)
def test_a_state_that_a_side_leaves_open_is_named(tmp_path: Path, first: str, second: str, open_of: str | None) -> None:
    answer = compared(tmp_path, first, second)
    told = [one["claim"] for one in answer.document["findings"] if one["state"] == "not measured"]
    expected = (
        f"Not both states are described: nothing tells {open_of}. They are not compared as if all else were equal."
    )
    assert told == ([] if open_of is None else [expected])
