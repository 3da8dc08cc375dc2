"""The interface between readers and the scan: blocks of bytes with offset, length and stream columns.

A reader never makes an object a line. It hands over one buffer and columns that say where the messages lie in it,
where each record stands in its source, when it was written and by which stream.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "CHUNK",
    "NO_TIME",
    "Block",
    "CardSamples",
    "Digest",
    "HolderSamples",
    "Integers",
    "Partial",
    "Piece",
    "Problem",
    "RequestCounters",
    "Seam",
    "SelfReports",
    "Source",
    "Stream",
]

CHUNK = 1024 * 1024
"""Bytes per digested chunk of a source."""

NO_TIME = np.iinfo(np.int64).min
"""The time of a record that has none."""

MOST = np.iinfo(np.int64).max
"""What a count can be, in a column of a table."""

Integers = npt.NDArray[np.int64]


class Stream(NamedTuple):
    """One writer's output as the collector delimited it.

    `trusted` says that the fields were added by the collector and cannot be forged by the writer.
    `pid` is the process that made the write: under a supervisor that relays its children, the supervisor's.
    `manager` marks lines that the service manager itself wrote about `unit` and `invocation`; `kernel` the kernel's.
    """

    source: str
    host: str | None = None
    boot: str | None = None
    unit: str | None = None
    invocation: str | None = None
    pid: int | None = None
    container: str | None = None
    identifier: str | None = None
    transport: str | None = None
    trusted: bool = False
    manager: bool = False
    kernel: bool = False

    @property
    def service(self) -> str | None:
        """What the collector calls its service: its container (whose unit is the engine's), unit or identifier.

        A client can send a container's name itself: one that reads as a unit's name is not taken for one.
        """
        if self.container is not None and not self.container.endswith((".service", ".scope", ".slice")):
            return self.container
        return self.unit or (None if self.manager or self.kernel else self.identifier)


class Seam(NamedTuple):
    """A place between two lines of a source that all lines before it have been given out at.

    `offset` is where the next line begins, `taken` how many bytes had been read by then.
    """

    offset: int
    taken: int


BEGINNING = Seam(0, 0)


class Partial(NamedTuple):
    """What the collector says about a record that is a piece of a message: whose, which, and whether the last."""

    identity: str | None
    ordinal: int | None
    last: bool


class Problem(NamedTuple):
    """Something that a reader met and what it means for the answers.

    `severity` is `note`, `loss` (bytes or records are missing) or `error` (the source could not be used).
    """

    source: str
    severity: str
    what: str
    remedy: str = ""
    offset: int | None = None
    count: int = 1  # type: ignore[assignment]


BESIDE = 8
"""So many pieces may wait to be digested while the next are read."""


@cache
def _beside() -> ThreadPoolExecutor:
    """The thread that digests, in the order in which it is given bytes: hashing takes as long as looking for lines."""
    return ThreadPoolExecutor(1, "digest")


class Digest:
    """Digests of the 1 MiB chunks of a source, as read (after decompression), and their root.

    What is read in pieces of a chunk or more is digested beside the reading; `close` waits for it.
    """

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.size = 0
        self._open = hashlib.sha256()
        self._taken = 0
        self._waiting: deque[Future[None]] = deque()

    def go_on(self, chunks: Sequence[str], size: int) -> None:
        """Take the first bytes of the source, a number of whole chunks, as digested before."""
        assert size == len(chunks) * CHUNK
        self.chunks, self.size = list(chunks), size

    def update(self, data: bytes | memoryview) -> None:
        """Take the next bytes of the source, in order."""
        self.size += len(data)
        if len(data) < CHUNK and not self._waiting:
            self._take(data)
            return
        self._waiting.append(_beside().submit(self._take, data))
        while len(self._waiting) > BESIDE:
            self._waiting.popleft().result()

    def _take(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            piece = view[: CHUNK - self._taken]
            self._open.update(piece)
            self._taken += len(piece)
            view = view[len(piece) :]
            if self._taken == CHUNK:
                self._end()

    def _end(self) -> None:
        self.chunks.append(self._open.hexdigest())
        self._open, self._taken = hashlib.sha256(), 0

    def close(self) -> None:
        """Digest what is left, once."""
        while self._waiting:
            self._waiting.popleft().result()
        if self._taken:
            self._end()

    @property
    def root(self) -> str:
        """Digest of the chunk digests."""
        return hashlib.sha256("\n".join(self.chunks).encode()).hexdigest()


@dataclass
class Source:
    """One input: a file, a member of an archive (`archive!member`), or standard input.

    `digest` and `problems` are complete once the source has been read to its end. `filed` says that `modified_us`
    stands for the time of rows that print none. `begun` is where its reading began: what is before it was read another
    time. `seam` is where the next block begins, if a later reading can begin there too; `plain` says that the source is
    a file with just those bytes.
    """

    name: str
    format: str
    modified_us: int | None = None
    digest: Digest = field(default_factory=Digest)
    problems: list[Problem] = field(default_factory=list)
    records: int = 0
    filed: bool = False
    begun: Seam = BEGINNING
    seam: Seam | None = None
    plain: bool = False

    def tell(self, severity: str, what: str, remedy: str = "", offset: int | None = None, count: int = 1) -> None:
        """Keep something that was met `count` times, unless that is never."""
        if count:
            times = min(int(count), MOST)  # True is stored as 1, and a damaged header may tell of any number
            self.problems.append(Problem(self.name, severity, what, remedy, offset, times))

    def is_filed(self, wall_us: int | None) -> bool:
        """Whether the time of a row is only that of its file."""
        return self.filed and wall_us == self.modified_us

    @property
    def is_unread(self) -> bool:
        """Whether nothing of it could be used; of an empty input, all was."""
        severities = {one.severity for one in self.problems}
        return "error" in severities or self.format == "binary" or ("loss" in severities and not self.digest.size)


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive records of one source.

    The message of record i is `data[starts[i]:ends[i]]`, without its line end; messages that were put together lie
    behind the others, so `starts` need not ascend. It is cited as `lengths[i]` bytes at
    `offsets[i]` of the source (after decompression), which for plain text and exports are the message's own bytes, for
    JSON envelopes the whole record's, and for native journals the message's own bytes in the first entry that has them
    and the ENTRY object in others. `times` are µs since the epoch, UTC, as the collector received the record
    (`NO_TIME` if unknown). `streams[i]` indexes `stream_table`. `cursors` and `fields` are sparse, by record number:
    the journal cursor, and the trusted fields of lines by the service manager. So are `partials`, for records that are
    pieces of a message; what `read_inputs` yields has none.
    """

    source: Source
    data: bytes
    starts: Integers
    ends: Integers
    offsets: Integers
    lengths: Integers
    times: Integers
    streams: npt.NDArray[np.int32]
    stream_table: list[Stream]
    first_record: int = 0
    cursors: Mapping[int, str] = field(default_factory=dict)
    fields: dict[int, dict[str, str]] = field(default_factory=dict)
    partials: dict[int, Partial] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starts)

    def message(self, index: int) -> bytes:
        """The bytes of one message."""
        return self.data[self.starts[index] : self.ends[index]]

    def messages(self) -> Iterator[bytes]:
        """All messages in order: for tests and small sources, not for the scan."""
        return (self.data[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True))


class CardSamples(NamedTuple):
    """Rows of card telemetry as equally long columns; None where a row does not say.

    `wall_us` is the printed time read as if it were UTC, in µs: such tools print no zone.
    `zone_known` says that the time carried a zone and `wall_us` is truly UTC.
    """

    source: Source
    wall_us: list[int | None]
    zone_known: bool
    index: list[int | None]  # type: ignore[assignment]
    uuid: list[str | None]
    pci_bus_id: list[str | None]
    name: list[str | None]
    total_bytes: list[int | None]
    used_bytes: list[int | None]
    free_bytes: list[int | None]
    reserved_bytes: list[int | None]
    utilization_ratio: list[float | None]
    power_w: list[float | None]
    offset: list[int]
    length: list[int]
    driver: str | None = None


class HolderSamples(NamedTuple):
    """Rows of per-process telemetry as equally long columns; None where a row does not say."""

    source: Source
    wall_us: list[int | None]
    zone_known: bool
    uuid: list[str | None]
    pci_bus_id: list[str | None]
    index: list[int | None]  # type: ignore[assignment]
    pid: list[int | None]
    process: list[str | None]
    used_bytes: list[int | None]
    offset: list[int]
    length: list[int]


@dataclass(frozen=True, eq=False)
class SelfReports:
    """What services say that they hold or run, as equally long columns; None where a row does not say.

    `kind` is `loaded` (a model with what it is said to take), `running` (a model and its state) or `settings`.
    `total_bytes` is on all devices, `card_bytes` on cards. `bound_bytes` is how far to either side the
    printed figure reaches.
    """

    source: Source
    wall_us: list[int | None]
    kind: list[str]
    model: list[str | None]
    total_bytes: list[int | None]
    card_bytes: list[int | None]
    bound_bytes: list[int]
    context: list[int | None]
    state: list[str | None]
    offset: list[int]
    length: list[int]


@dataclass(frozen=True, eq=False)
class RequestCounters:
    """Figures that a server counts itself, of one request or since its start, as equally long columns."""

    source: Source
    wall_us: list[int | None]
    name: list[str]
    labels: list[str | None]
    value: list[float]
    offset: list[int]
    length: list[int]


Piece = Block | CardSamples | HolderSamples | SelfReports | RequestCounters
"""What a source holds, some of it at a time."""
