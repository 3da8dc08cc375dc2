"""Where reading a log can go on when it has grown, and what was found before that place.

Whose a line is follows from all lines of a case, so owners are found anew whenever one comes; reading and scanning are
not. Between two blocks of a log, where no text is open and none of its lines is awaited, stands a bookmark: a later
reading begins one block before it, takes what was counted by then, and reads of what lies before only the lines that
some pattern read, by their places.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from .casefile import CASE, Made, Was, attach
from .records import CHUNK, Block, Known, Options, Seam, Source, Stream
from .records.again import Places, read_again
from .records.lines import NO_END
from .scan import Found, ScanCounts, Scanner, Unread
from .unread import masked

__all__ = ["Bookmark", "Bookmarks", "Kept", "OtherBytesError", "bookmarks_in", "kept_bookmarks", "wanted_tables"]

SAMPLES = 16
"""So many chunks before a bookmark, the first and the last among them, are held against their digests."""

MEMORY = "64MB"
"""What DuckDB may hold of the case meanwhile."""

BATCH = 60_000
"""Places of lines that are handled at once, about."""

SPAN = 500_000
"""Records among which these are, at most."""


class OtherBytesError(Exception):
    """A log does not hold any more, before its bookmark, what was read there."""


@dataclass(frozen=True)
class Bookmark:
    """Where reading goes on: behind a block that is read once more, of which nothing is looked for."""

    seam: Seam
    """Where that block begins."""
    records: int
    """Records before it."""
    until: int
    """Records before what is new."""
    counts: ScanCounts
    """What was counted by then; the unread lines themselves are counted on."""
    more: tuple[int, ...]
    """How often each of them had come again by then."""
    carried: Mapping[int, int]
    """Records of the block that others carry."""

    def counted(self) -> str:
        """What was counted by then, as text."""
        known: dict[str, Any] = {one.name: getattr(self.counts, one.name) for one in fields(ScanCounts)}
        del known["wordings"]
        unread = zip(self.counts.unread, self.more, strict=True)
        known["unread"] = [asdict(one) | {"stream": one.stream._asdict(), "more": more} for one, more in unread]
        return json.dumps(known)


def _counts(text: str) -> ScanCounts:
    known = json.loads(text)
    unread = [
        Unread(**one | {"stream": Stream(**one["stream"]), "components": tuple(map(tuple, one["components"]))})
        for one in known.pop("unread")
    ]
    counts = ScanCounts(**known | {"programs": Counter(known["programs"])}, unread=unread)
    for one in unread:
        counts.wordings.setdefault((one.what, masked(one.text)), one)
    return counts


class Bookmarks:
    """The last bookmark in each source that is being read.

    Args:
        options: Bounds: blocks are whole where a bookmark can be.
    """

    def __init__(self, options: Options) -> None:
        self._size = options.block_bytes
        self._open: dict[str, _Reading] = {}

    def note(self, scanner: Scanner, block: Block) -> None:
        """See whether reading can go on behind a block that was just read."""
        if not block.source.plain:
            return
        reading = self._open.setdefault(block.source.name, _Reading())
        seam, records = block.source.seam, block.first_record + len(block)
        whole = seam is not None and seam.taken % self._size == seam.taken % CHUNK == 0
        carried = scanner.seam(block) if whole else None
        if reading.before is not None and carried is not None:
            counts = scanner.counts[block.source.name]
            more = tuple(one.more for one in counts.unread)
            reading.last = Bookmark(*reading.before, records, _copy(counts), more, carried)
        reading.before = (seam, records) if seam is not None and whole else None

    def go_on(self, scanner: Scanner, block: Block, kept: Kept) -> None:
        """Take over a bookmark of another time, behind the block that it was put behind.

        Raises:
            OtherBytesError: That block ends elsewhere.
        """
        mark = kept.bookmark
        if block.first_record + len(block) != mark.until or block.source.seam is None:
            raise OtherBytesError(f"{kept.path}: the lines before its bookmark are others")
        scanner.go_on(block, mark.counts, mark.carried)
        last = replace(mark, counts=_copy(mark.counts))
        self._open[block.source.name] = _Reading((block.source.seam, mark.until), last)

    def has(self, source: Source) -> bool:
        """Whether the source is being read."""
        return source.name in self._open

    def of(self, source: Source) -> Bookmark | None:
        """The bookmark of a source that was read to its end.

        There is none where anything was lost or passed over before it, since that is counted up to the end.
        """
        reading = self._open.pop(source.name, None)
        if reading is None or reading.last is None:
            return None
        begin = reading.last.seam.offset
        told = any(one.what != NO_END and (one.offset or 0) < begin for one in source.problems)
        return None if told else reading.last


@dataclass
class _Reading:
    before: tuple[Seam, int] | None = None
    """Where the last block ended, if a bookmark can be behind the next one; and the records before that."""
    last: Bookmark | None = None


def _copy(counts: ScanCounts) -> ScanCounts:
    """What was counted so far."""
    known = {one.name: getattr(counts, one.name) for one in fields(ScanCounts)}
    return ScanCounts(**known | {"programs": counts.programs.copy(), "unread": list(counts.unread)})


# -- in a case --------------------------------------------------------------------------------------------------------


def wanted_tables(source: str, mark: Bookmark, found: Iterable[Found]) -> Iterator[pa.Table]:
    """Batches of the table `wanted`: the places of all lines before a bookmark that some pattern read, in order.

    Args:
        source: The source.
        mark: Its bookmark.
        found: What was found in it, also behind the bookmark.
    """
    held: list[tuple[Any, ...]] = []
    size = 0
    for one in found:
        records, *others = _places(one)
        before = int(np.searchsorted(records, mark.until))
        held.append((records[:before], *(column[:before] for column in others)))
        size += before
        if size >= BATCH:
            yield _wanted(source, held)
            held, size = [], 0
    if size:
        yield _wanted(source, held)


def _places(found: Found) -> tuple[Any, ...]:
    rows = found.rows
    columns = [
        np.array([getattr(line, name) for line in found.lines], np.int64) for name in ("record", "offset", "length")
    ]
    carriers = np.array([-1 if line.carried_by is None else line.carried_by for line in found.lines], np.int64)
    if rows is not None:
        own = rows.record, rows.offset, rows.length
        columns = [np.concatenate(pair) for pair in zip(columns, own, strict=True)]
        carriers = np.concatenate((carriers, np.full(len(rows), -1)))
    at = np.unique(columns[0], return_index=True)[1]
    return *(column[at] for column in columns), carriers[at]


def _wanted(source: str, held: list[tuple[Any, ...]]) -> pa.Table:
    *columns, carriers = (np.concatenate(column) for column in zip(*held, strict=True))
    names = ("record", "offset", "length")
    return pa.table(
        {"source_id": pa.repeat(pa.scalar(source), len(carriers))}
        | dict(zip(names, map(pa.array, columns), strict=True))
        | {"carrier": pa.array(carriers, mask=carriers < 0)}
    )


class Kept(NamedTuple):
    """A bookmark that a case keeps, of a log that still begins with the same bytes."""

    path: Path
    known: Known
    bookmark: Bookmark
    connection: duckdb.DuckDBPyConnection

    def found(self, scanner: Scanner, options: Options) -> Iterator[Found]:
        """What the scan finds before the bookmark, as it did another time.

        Raises:
            OtherBytesError: A line of it is not at its place any more.
        """
        last = -1
        name, until = str(self.path), self.bookmark.until
        (many,) = self.connection.execute(
            f"SELECT count(*) FROM {CASE}.wanted WHERE source_id = ?", [name]
        ).fetchone() or (0,)
        rows = self.connection.execute(
            f"SELECT DISTINCT carrier FROM {CASE}.wanted WHERE source_id = ? AND carrier IS NOT NULL", [name]
        ).fetchall()
        carrying = {row[0] for row in rows}
        # By spans of records: a result is in memory whole, however it is fetched (DuckDB 2.0).
        step = min(until * BATCH // max(many, 1) + 1, SPAN)
        for begin in range(0, until, step):
            columns = self.connection.execute(
                f'SELECT record, "offset", length, coalesce(carrier, -1) AS carrier FROM {CASE}.wanted '
                "WHERE source_id = ? AND record >= ? AND record < ? ORDER BY record",
                [name, begin, begin + step],
            ).fetchnumpy()
            places = Places(*(np.asarray(columns[one]) for one in ("record", "offset", "length")))
            carried = np.asarray(columns["carrier"])
            at = np.flatnonzero(carried >= 0)
            carriers = dict(zip(places.records[at].tolist(), carried[at].tolist(), strict=True))
            read = 0
            for block, numbers in read_again(self.path, self.known.format, places, options):
                if not len(numbers):
                    continue
                if numbers[0] <= last or (np.diff(numbers) <= 0).any():
                    raise OtherBytesError(f"{self.path}: its lines have another order than they had")
                last = int(numbers[-1])
                found = scanner.read_again(block, numbers, carriers, carrying)
                read += len(_places(found)[0])
                yield found
            if read != len(carried):
                gone = len(carried) - read
                raise OtherBytesError(f"{self.path}: {gone} lines that were read are not there any more")


@contextmanager
def kept_bookmarks(case: Path, made: Made) -> Iterator[dict[str, Kept]]:
    """The bookmarks of a case, by source; the case stays open meanwhile."""
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        attach(connection, case)
        yield bookmarks_in(connection, made.sources)


def bookmarks_in(connection: duckdb.DuckDBPyConnection, sources: Mapping[str, Was]) -> dict[str, Kept]:
    """The bookmarks of an attached case in logs that still begin as they did, by source."""
    rows = connection.execute(
        f'SELECT source_id, format, "offset", taken, bookmark.records, until, counts, carried '
        f"FROM {CASE}.bookmark JOIN {CASE}.source USING (source_id)"
    ).fetchall()
    kept: dict[str, Kept] = {}
    for name, kind, offset, taken, records, until, counted, carried in rows:
        seam = Seam(offset, taken)
        known = Known(kind, seam, records, sources[name].chunks[: taken // CHUNK])
        if _begins_so(Path(name), known, sources[name].size):
            counts = _counts(counted)
            more = tuple(one.more for one in counts.unread)
            carriers = {int(record): carrier for record, carrier in json.loads(carried).items()}
            mark = Bookmark(seam, records, until, counts, more, carriers)
            kept[name] = Kept(Path(name), known, mark, connection)
    return kept


def _begins_so(path: Path, known: Known, size: int) -> bool:
    """Whether a file is no smaller than it was, and its known chunks are the same, as far as one looks."""
    try:
        with path.open("rb") as stream:
            about = os.fstat(stream.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size < size:
                return False
            for number in sorted(set(np.linspace(0, len(known.chunks) - 1, SAMPLES, dtype=int).tolist())):
                stream.seek(number * CHUNK)
                if hashlib.sha256(stream.read(CHUNK)).hexdigest() != known.chunks[number]:
                    return False
    except OSError:
        return False
    return True
