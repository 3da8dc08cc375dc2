"""Write a case to one file that is only ever whole: the old one is there until the new one takes its place."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

from . import __version__
from .cache import kept
from .case import Evidence, store
from .casefile import MARK, PIECE
from .errors import CaseError
from .question import Question, create_stored, fill_stored, install, load_questions, questions_digest
from .schema import SCHEMA_VERSION, ddl
from .seen import LARGE, TICK_S, remember

__all__ = ["is_leftover", "leftovers", "write_case"]

MEMORY = "128MB"
"""What DuckDB may hold while it writes a case; the rest it puts beside the file."""
ANSWERING_MEMORY = "208MB"
"""What it may hold while it works out what the case keeps of questions."""
ENDINGS = ("", ".wal", ".tmp")
"""What it puts there: the file itself, its log, a folder of what has no room in memory."""


def write_case(path: Path, evidence: Evidence) -> None:
    """Write a case beside its place, make it durable, and put it there in one step.

    Whoever kills this finds the old case or the new one, and perhaps a leftover that the next ingest removes. The
    evidence is let go of as soon as the tables have it: what questions build on takes room too. DuckDB (2.0) has one
    thread: a second one takes a tenth more CPU and no less time for these inserts, and sorts in memory of its own.

    Raises:
        CaseError: It cannot be written there.
    """
    path = Path(os.path.realpath(path))
    new = path.with_name(f".{path.name}.ingest-{os.getpid()}")
    try:
        for old in leftovers(path):
            _remove(old)
        try:
            questions = load_questions()
            _empty_case(new, questions)
            with duckdb.connect(new) as connection:
                connection.execute(f"SET TimeZone = 'UTC'; SET threads = 1; SET memory_limit = '{MEMORY}'")
                store(evidence, connection, empty=True)
            evidence.let_go()
            with duckdb.connect(new) as connection:  # which holds nothing of what was written
                connection.execute(f"SET TimeZone = 'UTC'; SET threads = 1; SET memory_limit = '{ANSWERING_MEMORY}'")
                connection.execute("BEGIN")
                fill_stored(connection, questions)
                connection.execute("INSERT INTO about VALUES ('questions', ?)", [questions_digest(questions)])
                connection.execute("COMMIT; CHECKPOINT")
            digest = _seal(new)
            new.replace(path)
            _sync(path.parent)
            if path.stat().st_size >= LARGE:
                time.sleep(2 * TICK_S)
                remember(path, digest)
        finally:
            for ending in ENDINGS:
                _remove(new.with_name(new.name + ending))
    except OSError as error:
        raise CaseError(f"{path}: cannot write the case: {(error.strerror or str(error)).lower()}") from error
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise CaseError(f"{path}: cannot write the case: {str(error).splitlines()[0]}") from error


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _empty_case(new: Path, questions: Sequence[Question]) -> None:
    """Begin a case: all tables and questions, with comments, and no rows.

    It takes long to make, since each question is bound with all that it names, and is the same each time.
    """

    def make() -> bytes:
        with duckdb.connect(new) as connection:
            connection.execute(f"BEGIN; {ddl(comments=True)} COMMIT")
            create_stored(connection, questions, comments=True)
            install(connection, [one for one in questions if not one.stored], comments=True)
            connection.execute("CHECKPOINT")
        return new.read_bytes()

    made_of = "\0".join([__version__, duckdb.__version__, SCHEMA_VERSION, *(one.source for one in questions)])
    new.write_bytes(kept("empty-case", made_of, make))


def _seal(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=32)
    with path.open("r+b") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
        file.write(MARK + f"{SCHEMA_VERSION}, digest {digest.hexdigest()}\n".encode())
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def is_leftover(path: Path, case: Path) -> bool:
    """Whether a file is what an ingest of that case works on, or left behind when it was killed."""
    endings = "|".join(map(re.escape, ENDINGS))
    return any(
        one.parent == case.parent and re.fullmatch(rf"\.{re.escape(case.name)}\.ingest-\d+({endings})", one.name)
        for one in (path, path.parent)  # what has no room in memory is in a folder
    )


def leftovers(case: Path) -> list[Path]:
    """Files that killed ingests of a case left beside it."""
    found: list[Path] = []
    for one in sorted(case.parent.glob(f".{_literal(case.name)}.ingest-*")):
        number = re.search(r"ingest-(\d+)", one.name)
        if is_leftover(one, case) and number and not _lives(int(number[1])):
            found.append(one)
    return found


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
