"""Open a case file, and nothing that this program did not write.

A case is a DuckDB file with a seal behind its last block: our mark, the version of the tables, and the digest of every
byte before it. The seal is checked before DuckDB sees the file, since DuckDB trusts the files that it opens. Evidence
of other people travels as records and is read again; a case is for the machine that made it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import duckdb

from .errors import CaseError
from .question import Question, questions_digest
from .schema import SCHEMA_VERSION, TABLES
from .seen import is_known, remember

__all__ = [
    "CASE",
    "Made",
    "Seal",
    "Was",
    "attach",
    "attach_case",
    "is_case",
    "made_from",
    "read_seal",
]

CASE = "kase"
"""Name of the attached file: its tables are seen through views of their own names."""

MARK = b"\n-- forensics case, tables "
SEAL = re.compile(rb"\n-- forensics case, tables ([0-9a-f]{8}), digest ([0-9a-f]{64})\n")
SEAL_BYTES = len(MARK) + 8 + len(b", digest ") + 64 + 1
PIECE = 1024 * 1024
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
            file.seek(max(size - SEAL_BYTES, 0))
            found = SEAL.fullmatch(file.read())
            digest = "" if found is None else found[2].decode()
            known = is_known(path, digest)
            if found is not None and not known:
                digest = _digest(file, size - SEAL_BYTES)
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
    if digest != found[2].decode():
        raise CaseError(
            f"{path}: the case is damaged or was changed by another program; forensics ingest INPUT… --case NEWFILE"
        )
    if path.with_name(path.name + ".wal").exists():
        raise CaseError(f"{path}.wal: another program began to change this case; remove that file if you know whose")
    if not known:
        remember(path, digest)
    return Seal(version, digest)


def _digest(file: BinaryIO, size: int) -> str:
    """Digest of the first bytes of a file."""
    digest = hashlib.blake2b(digest_size=32)
    file.seek(0)
    while size and (piece := file.read(min(size, PIECE))):
        digest.update(piece)
        size -= len(piece)
    return digest.hexdigest()


def is_case(path: Path) -> bool:
    """Whether a file bears the seal; `read_seal` checks it."""
    try:
        with path.open("rb") as file:
            file.seek(-SEAL_BYTES, os.SEEK_END)
            return SEAL.fullmatch(file.read(SEAL_BYTES)) is not None
    except OSError:
        return False


def attach_case(connection: duckdb.DuckDBPyConnection, path: Path, questions: Sequence[Question]) -> bool:
    """Attach a case for reading, and give its tables views of their own names.

    Returns:
        Whether the rows that it keeps of stored questions are those of these questions.

    Raises:
        CaseError: It is not a case of this program, or not of this version.
    """
    read_seal(path)
    attach(connection, path)
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = ? AND table_name IN "
        "(SELECT table_name FROM duckdb_tables() WHERE database_name = ?) ORDER BY table_name, column_index",
        [CASE, CASE],
    ).fetchall()
    there: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in rows:
        there.setdefault(table, []).append((column, kind))
    ours = {name: [(one.name, one.sql) for one in columns] for name, (_, columns) in TABLES.items()}
    digest = None
    if there.get("about") == ours["about"]:
        found = connection.execute(f"SELECT value FROM {CASE}.about WHERE name = 'questions'").fetchone()
        digest = found[0] if found else None
    kept = digest == questions_digest(questions)
    if kept:
        ours |= {one.name: [(name, kind) for name, kind, _ in one.columns] for one in questions if one.stored}
    else:  # those of another version of the program: nothing reads them
        there = {name: columns for name, columns in there.items() if name in ours}
    if there != ours:
        odd = sorted(name for name in {*there, *ours} if there.get(name) != ours.get(name))
        connection.execute(f"DETACH {CASE}")
        raise CaseError(f"{path}: its tables are not those of a case: {', '.join(odd)}")
    views = [name for name in TABLES if name != "measure"]
    # What was measured is copied, since the moment that somebody asks for is added to it.
    connection.execute(
        f"CREATE TABLE measure AS FROM {CASE}.measure;"
        + "".join(f'CREATE VIEW "{name}" AS FROM {CASE}."{name}";' for name in views)
    )
    return kept


def attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach a file that is known for a case, as it is."""
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
        attach(connection, path)
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
