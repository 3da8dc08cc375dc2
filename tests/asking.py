"""Write logs into a folder, make a case of them, and ask: for the tests of questions."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console

from forensics.answer import Answer, Ask, answer_table
from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import ready
from forensics.question import load_questions

__all__ = ["case", "screen"]

CATALOGUE = load_catalogue(())


def case(folder: Path, files: dict[str, str], *more: Path, **asked: Any) -> Ask:
    """A case of some texts by file name, and of more files and folders, opened for questions."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    connection = duckdb.connect()
    store(read_evidence([folder, *more], CATALOGUE), connection)
    return Ask(connection=ready(connection, load_questions(), None), **asked)


def screen(ask: Ask, answer: Answer, width: int = 80) -> str:
    """The screen of an answer, without colour."""
    file = io.StringIO()
    answer_table(ask, answer, Console(file=file, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n"))
