"""The same input gives the same bytes: over locales, zones, widths, hash seeds, thread counts, places and two runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"

PROGRAM = """
import hashlib, json, sys
from typer.testing import CliRunner
from forensics.cli import app
said = {}
for what in (
    "explain-vram json", "explain-vram md", "explain-vram html", "explain-vram table",
    "loads table", "timeline json", "kv json", "crashes md", "validity json", "swaps md",
):
    name, form = what.split()
    result = CliRunner().invoke(app, [name, *sys.argv[1:], "--format", form, "--quiet"])
    assert result.exit_code in (0, 1, 3), (what, result.exception)
    said[what] = hashlib.sha256(result.stdout_bytes).hexdigest()
print(json.dumps(said))
"""

PLAIN = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "COLUMNS": "100"}
OTHERS = {
    "another locale and zone": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Kathmandu"},
    "other hashes and one thread": {
        "PYTHONHASHSEED": "4711",
        "POLARS_MAX_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONUTF8": "1",
    },
    "another width": {"COLUMNS": "57"},
}


def said(inputs: list[str], **environment: str) -> dict[str, str]:
    """The digest of what each command prints in each format."""
    command = [sys.executable, "-c", PROGRAM, *inputs]
    env = {**os.environ, **PLAIN, **environment}
    found = subprocess.run(command, env=env, cwd=FIXTURES, capture_output=True, check=True)
    answers: dict[str, str] = json.loads(found.stdout)
    return answers


@pytest.fixture(scope="module")
def first() -> dict[str, str]:
    return said(["incident-vram-gap"])


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_input_gives_the_same_bytes(name: str, first: dict[str, str]) -> None:
    again = said(["incident-vram-gap"], **OTHERS[name])
    # Only a screen knows how wide it is.
    fits = {what for what in first if name != "another width" or not what.endswith("table")}
    assert {what: again[what] for what in fits} == {what: first[what] for what in fits}
    assert len(fits) >= 8
