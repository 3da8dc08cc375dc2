"""Keep a case in one file that is only ever whole, and open nothing that this program did not write.

A case is a DuckDB file with a seal behind its last block: our mark, the version of the tables, and the digest of every
byte before it. The seal is checked before DuckDB sees the file, since DuckDB trusts the files that it opens. Evidence
of other people travels as records and is read again; a case is for the machine that made it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import duckdb

from . import __version__
from .cache import kept
from .case import Evidence, store
from .errors import CaseError
from .question import install, load_questions
from .schema import SCHEMA_VERSION, TABLES, ddl

__all__ = [
    "CASE",
    "Made",
    "Seal",
    "Was",
    "attach_case",
    "is_case",
    "is_leftover",
    "leftovers",
    "made_from",
    "read_seal",
    "write_case",
]

CASE = "kase"
"""Name of the attached file: its tables are seen through views of their own names."""

MARK = b"\n-- forensics case, tables "
SEAL = re.compile(rb"\n-- forensics case, tables ([0-9a-f]{8}), digest ([0-9a-f]{64})\n")
SEAL_BYTES = len(MARK) + 8 + len(b", digest ") + 64 + 1
PIECE = 1024 * 1024
MEMORY = "160MB"
"""What DuckDB may hold while it writes a case; the rest it puts beside the file."""
ENDINGS = ("", ".wal", ".tmp")
"""What it puts there: the file itself, its log, a folder of what has no room in memory."""
IN_PLACE = "journal-native"
"""The format whose files are not only appended to."""


class Seal(NamedTuple):
    """What stands at the end of a case file: version of its tables, digest of its content."""

    version: str
    digest: str


def read_seal(path: Path, *, any_version: bool = False) -> Seal:
    """Check that a file is a case that this program wrote, whole, with tables of this version; without opening it.

    Args:
        path: The file.
        any_version: Whether tables of another version will do.

    Raises:
        CaseError: It is not; the message says what to do.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.blake2b(digest_size=32)
            left = max(size - SEAL_BYTES, 0)
            while left and (piece := file.read(min(left, PIECE))):
                digest.update(piece)
                left -= len(piece)
            found = SEAL.fullmatch(file.read())
    except OSError as error:
        raise CaseError(f"{path}: cannot read the case: {(error.strerror or str(error)).lower()}") from error
    if found is None:
        raise CaseError(
            f"{path}: this is no case that forensics wrote, so it is not opened: a database file can act on whoever "
            "opens it. Read the logs and samples it was made from: forensics ingest INPUT… --case FILE"
        )
    version = found[1].decode()
    if version != SCHEMA_VERSION and not any_version:
        raise CaseError(
            f"{path}: the case was written by another version of forensics (tables {version}, this one has "
            f"{SCHEMA_VERSION}); forensics ingest --case {path} reads its inputs again"
        )
    if digest.hexdigest() != found[2].decode():
        raise CaseError(
            f"{path}: the case is damaged or was changed by another program; forensics ingest INPUT… --case NEWFILE"
        )
    if path.with_name(path.name + ".wal").exists():
        raise CaseError(f"{path}.wal: another program began to change this case; remove that file if you know whose")
    return Seal(version, found[2].decode())


def is_case(path: Path) -> bool:
    """Whether a file bears the seal; `read_seal` checks it."""
    try:
        with path.open("rb") as file:
            file.seek(-SEAL_BYTES, os.SEEK_END)
            return SEAL.fullmatch(file.read(SEAL_BYTES)) is not None
    except OSError:
        return False


def write_case(path: Path, evidence: Evidence) -> None:
    """Write a case beside its place, make it durable, and put it there in one step.

    Whoever kills this finds the old case or the new one, and perhaps a leftover that the next ingest removes.

    Raises:
        CaseError: It cannot be written there.
    """
    path = Path(os.path.realpath(path))
    new = path.with_name(f".{path.name}.ingest-{os.getpid()}")
    try:
        for old in leftovers(path):
            _remove(old)
        try:
            _empty_case(new)
            with duckdb.connect(new) as connection:
                connection.execute(f"SET TimeZone = 'UTC'; SET memory_limit = '{MEMORY}'")
                store(evidence, connection, empty=True)
                connection.execute("CHECKPOINT")
            _seal(new)
            new.replace(path)
            _sync(path.parent)
        finally:
            for ending in ENDINGS:
                _remove(new.with_name(new.name + ending))
    except OSError as error:
        raise CaseError(f"{path}: cannot write the case: {(error.strerror or str(error)).lower()}") from error
    except duckdb.IOException as error:
        raise CaseError(f"{path}: cannot write the case: {error}") from error


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _empty_case(new: Path) -> None:
    """Begin a case: all tables and questions, with comments, and no rows.

    It takes over a second to make, since each question is bound with all that it names, and is the same each time.
    """
    questions = load_questions()

    def make() -> bytes:
        with duckdb.connect(new) as connection:
            connection.execute(f"BEGIN; {ddl(comments=True)} COMMIT")
            install(connection, questions, comments=True)
            connection.execute("CHECKPOINT")
        return new.read_bytes()

    made_of = "\0".join([__version__, duckdb.__version__, SCHEMA_VERSION, *(one.source for one in questions)])
    new.write_bytes(kept("empty-case", made_of, make))


def _seal(path: Path) -> None:
    digest = hashlib.blake2b(digest_size=32)
    with path.open("r+b") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
        file.write(MARK + f"{SCHEMA_VERSION}, digest {digest.hexdigest()}\n".encode())
        file.flush()
        os.fsync(file.fileno())


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


def attach_case(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach a case for reading, and give its tables views of their own names.

    Raises:
        CaseError: It is not a case of this program, or not of this version.
    """
    read_seal(path)
    _attach(connection, path)
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = ? AND table_name IN "
        "(SELECT table_name FROM duckdb_tables() WHERE database_name = ?) ORDER BY table_name, column_index",
        [CASE, CASE],
    ).fetchall()
    there: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in rows:
        there.setdefault(table, []).append((column, kind))
    ours = {name: [(one.name, one.sql) for one in columns] for name, (_, columns) in TABLES.items()}
    if there != ours:
        odd = sorted(name for name in {*there, *ours} if there.get(name) != ours.get(name))
        connection.execute(f"DETACH {CASE}")
        raise CaseError(f"{path}: its tables are not those of a case: {', '.join(odd)}")
    for name in TABLES:
        # What was measured is copied, since the moment that somebody asks for is added to it.
        sort = "TABLE" if name == "measure" else "VIEW"
        connection.execute(f'CREATE {sort} "{name}" AS FROM {CASE}."{name}"')


def _attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    place = str(path.absolute()).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{place}' AS {CASE} (READ_ONLY)")
    except duckdb.Error as error:
        raise CaseError(f"{path}: DuckDB cannot open the case: {error}") from error


@dataclass(frozen=True)
class Made:
    """What a case was made from: enough to make it again, or to see that nothing has changed."""

    version: str = SCHEMA_VERSION
    inputs: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    about: Mapping[str, str | None] = field(default_factory=dict)
    sources: Mapping[str, Was] = field(default_factory=dict)

    @property
    def is_current(self) -> bool:
        """Whether its tables are of this version."""
        return self.version == SCHEMA_VERSION


class Was(NamedTuple):
    """A source as the case has it: size, root and chunk digests; of a native journal, cursors of its lines.

    A native journal is written to in place as it grows: only its entries can tell whether it still holds what it held.
    """

    size: int
    root: str
    chunks: tuple[str, ...] = ()
    cursors: frozenset[str] | None = None


def made_from(path: Path) -> Made:
    """Read what a case was made from, whatever the version of its tables.

    Raises:
        CaseError: It is not a case of this program.
    """
    seal = read_seal(path, any_version=True)
    with duckdb.connect() as connection:
        _attach(connection, path)
        try:
            inputs = connection.execute(f"SELECT path FROM {CASE}.input ORDER BY number").fetchall()
            patterns = connection.execute(f"SELECT name, text FROM {CASE}.pattern_file ORDER BY name").fetchall()
            about = connection.execute(f"SELECT name, value FROM {CASE}.about").fetchall()
            sources = connection.execute(
                f"""
                SELECT source_id, any_value(size_bytes), any_value(source.digest),
                    list(chunk.digest ORDER BY chunk.number) FILTER (chunk.number IS NOT NULL), any_value(source.format)
                FROM {CASE}.source LEFT JOIN {CASE}.chunk USING (source_id)
                GROUP BY source_id ORDER BY source_id
                """
            ).fetchall()
            cursors: dict[str, set[str]] = {row[0]: set() for row in sources if row[4] == IN_PLACE}
            if cursors:
                for source, cursor in connection.execute(
                    f"SELECT source_id, cursor FROM {CASE}.line WHERE cursor IS NOT NULL"
                ).fetchall():
                    if source in cursors:
                        cursors[source].add(cursor)
        except duckdb.Error as error:
            raise CaseError(f"{path}: it does not say what it was made from: {error}") from error
    return Made(
        seal.version,
        tuple(row[0] for row in inputs),
        tuple((row[0], row[1]) for row in patterns),
        dict(about),
        {
            row[0]: Was(row[1], row[2], tuple(row[3] or ()), frozenset(cursors[row[0]]) if row[0] in cursors else None)
            for row in sources
        },
    )
