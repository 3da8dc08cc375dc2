"""Open what an input holds inside: the members of a tar or zip archive, the fenced blocks of a Markdown text.

Nothing is written to disk, and a member's name is but a label: whatever path it spells, no file is opened by it.
"""

from __future__ import annotations

import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, Protocol, cast

from forensics.records.block import Source
from forensics.records.content import EndedEarlyError, at_least, drained, held
from forensics.records.options import Options

__all__ = ["CONTAINERS", "Member", "is_markdown", "is_tar", "members"]

CONTAINERS = frozenset({"tar", "zip", "markdown"})
"""Formats that hold others."""

_MOST_MEMBERS = 10_000
_PIECE = 8192
"""Bytes of a member that are asked for at once: of one that is cut short, what is left of the last is lost."""
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)
"""What the libraries raise on damage, encryption and methods they do not know."""

_FENCE = re.compile(rb"([ \t]*)(`{3,}|~{3,})[^\r\n`]*\r?\n?")
_LONGEST_FENCE = 64 * 1024
"""A longer line opens and closes nothing, so that lines need not be held."""

_HEADING = re.compile(rb"#{1,6} +\S")


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class Member(NamedTuple):
    """Something inside, to be read before the next one is taken; `stream` is None where it is not read, for `why`."""

    name: str
    stream: BinaryIO | None
    modified_us: int | None = None
    why: str = ""


class _Budget:
    """How much may still come out of an archive."""

    def __init__(self, options: Options) -> None:
        self.left = options.output_bytes
        self.options = options


class _Stream(io.RawIOBase):
    """A member as a stream that fails as files do, and ends where too much comes out."""

    def __init__(self, inner: _Readable, budget: _Budget, packed: int | None = None) -> None:
        self._inner = inner
        self._budget = budget
        self._packed = packed
        self._made = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        options = self._budget.options
        try:
            data = self._inner.read(min(size, _PIECE) if size >= 0 else _PIECE)
        except _DAMAGE as error:
            raise EndedEarlyError(
                f"the archive is damaged, or locked: {error}", "get an intact copy, or unpack it"
            ) from error
        self._made += len(data)
        self._budget.left -= len(data)
        too_dense = self._packed is not None and self._made > options.ratio * max(self._packed, 1)
        if self._budget.left < 0 or (too_dense and self._made > options.ratio_from_bytes):
            why = f"stopped: {self._made} bytes came out of it"
            raise EndedEarlyError(why, "unpack it by hand if that is what it should be")
        return data


class _Pieces:
    """Pieces of content as a stream, as far as `tarfile` asks for one: so many bytes at a time."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        if len(self._held) < size:  # not by `chain`: when that is let go of, it closes what it was given
            self._held = memoryview(bytes(self._held) + at_least(self._pieces, size - len(self._held)))
        data, self._held = self._held[:size], self._held[size:]
        return bytes(data)


def is_tar(head: bytes) -> bool:
    """Whether the first block is the header of a member: by its mark, or by its checksum where it has none."""
    if head[257:262] == b"ustar":
        return True
    block = head[:512]
    if len(block) < 512 or not block[0]:
        return False
    try:
        stated = int(block[148:156].split(b"\0", 1)[0].strip() or b"0", 8)
    except ValueError:
        return False
    return stated == sum(block[:148]) + 8 * 32 + sum(block[156:])


def is_markdown(lines: list[bytes]) -> bool:
    """Whether lines are a text with fenced blocks that begins with a heading, a fence or front matter.

    A log may print headings and fences too, but does not begin so.
    """
    begin = next((line for line in lines if line.strip()), b"")
    if not (_HEADING.match(begin) or _FENCE.fullmatch(begin) or begin.rstrip() == b"---"):
        return False
    return any(_FENCE.fullmatch(line) for line in lines)


def members(
    kind: str, source: Source, pieces: Iterator[bytes], options: Options, path: Path | None
) -> Iterator[Member]:
    """Yield what is inside, in order; names that repeat are numbered. All pieces are taken, for the digest.

    Args:
        kind: One of CONTAINERS.
        source: Takes the problems.
        pieces: The content.
        options: Bounds.
        path: The file itself, if its bytes are the content.
    """
    if kind == "markdown":
        yield from _blocks(source, pieces, options)
        return
    inner = _tar(source, pieces, options) if kind == "tar" else _zip(source, pieces, options, path)
    seen: dict[str, int] = {}
    for count, member in enumerate(inner):
        if count >= _MOST_MEMBERS:
            what = f"it has more than {_MOST_MEMBERS} members: the rest was not read"
            source.tell("loss", what, "unpack what matters and give that")
            break
        name = re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", member.name) or "unnamed"
        seen[name] = seen.get(name, 0) + 1
        yield member._replace(name=name if seen[name] == 1 else f"{name}#{seen[name]}")
    drained(pieces)


def _tar(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Member]:
    budget = _Budget(options)
    made = 0
    try:
        with tarfile.open(fileobj=cast(IO[bytes], _Pieces(pieces)), mode="r|") as archive:
            for about in archive:
                modified = int(about.mtime * 1_000_000) if 0 <= about.mtime < 2**40 else None
                made += 1
                if about.isdir():
                    continue
                inner = archive.extractfile(about) if about.isreg() else None
                if inner is None:
                    yield Member(about.name, None, modified, "it is no regular file and was passed over")
                else:
                    yield Member(about.name, cast(BinaryIO, _Stream(inner, budget)), modified)
    except (*_DAMAGE, OSError) as error:
        what = f"the archive is damaged or cut: {error}; {made} members came out before"
        source.tell("loss", what, "get an intact copy; what came out is used")


def _zip(source: Source, pieces: Iterator[bytes], options: Options, path: Path | None) -> Iterator[Member]:
    budget = _Budget(options)
    file: BinaryIO
    if path is not None:
        drained(pieces)
        file = path.open("rb")
    else:
        kept, beyond = held(pieces, options.held_bytes)
        if beyond:
            what = f"the archive is longer than {options.held_bytes} bytes and cannot be held"
            source.tell("error", what, "unpack it and give the folder")
            return
        file = io.BytesIO(kept)
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except (*_DAMAGE, OSError) as error:
            what = f"the archive is damaged or cut: {error}"
            source.tell("error", what, "get an intact copy, or repair it: zip -FF")
            return
        with archive:
            for about in archive.infolist():
                if about.filename.endswith("/"):
                    continue
                modified = _unix_time(about.extra)
                if about.external_attr >> 16 & 0o170000 not in {0, 0o100000}:
                    yield Member(about.filename, None, modified, "it is no regular file and was passed over")
                    continue
                try:
                    inner = archive.open(about)
                except (*_DAMAGE, OSError) as error:
                    yield Member(about.filename, None, modified, f"it cannot be read: {error}")
                    continue
                with inner:
                    stream = _Stream(cast(_Readable, inner), budget, about.compress_size)
                    yield Member(about.filename, cast(BinaryIO, stream), modified)


def _unix_time(extra: bytes) -> int | None:
    """The time of the last change in UTC, which a zip file has only in an extra field; its own times have no zone."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == 0x5455 and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            (seconds,) = struct.unpack_from("<i", extra, 5)
            return int(seconds) * 1_000_000
        extra = extra[4 + size :]
    return None


def _blocks(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Member]:
    """The fenced blocks; a block's bytes are its lines without the indentation of its fence."""
    number = 0
    parts = _parts(pieces)
    for part in parts:
        fence = part.fence()
        if fence is None:
            continue
        number += 1
        block = _Block(parts, fence, options.block_bytes)
        yield Member(f"block-{number}", cast(BinaryIO, block), source.modified_us)
        while block.read():  # what its reader left
            pass
        if not block.is_closed:
            source.tell("note", f"block-{number} is not closed: it may be cut")
    source.tell("note", "the text outside of its fenced blocks is no log and was not read")


class _Part(NamedTuple):
    """A line with its end, or a piece of one that is too long for a fence."""

    data: bytes
    begins: bool
    """Whether it is the beginning of a line."""
    whole: bool

    def fence(self) -> re.Match[bytes] | None:
        return _FENCE.fullmatch(self.data) if self.whole else None


def _parts(pieces: Iterator[bytes]) -> Iterator[_Part]:
    held = b""
    begins = True
    for piece in pieces:
        *lines, held = (held + piece).split(b"\n")
        for line in lines:
            yield _Part(line + b"\n", begins, begins and len(line) <= _LONGEST_FENCE)
            begins = True
        if len(held) > _LONGEST_FENCE:
            yield _Part(held, begins, whole=False)
            held, begins = b"", False
    if held:
        yield _Part(held, begins, begins)


class _Block(io.RawIOBase):
    """The lines of a text up to the fence that closes their block, as a stream."""

    def __init__(self, parts: Iterator[_Part], fence: re.Match[bytes], size: int) -> None:
        self._parts = parts
        self._indentation, self._mark = fence[1], fence[2]
        self._size = size
        self._held = b""
        self._ended = False
        self.is_closed = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read at most so many bytes; a block of content where nothing is said."""
        size = self._size if size < 0 else size
        taken = [self._held]
        made = len(self._held)
        while made < size and not self._ended:
            part = next(self._parts, None)
            if part is None:
                self._ended = True
                break
            found = part.fence()
            if found is not None and found[2].startswith(self._mark) and part.data.strip() == found[2]:
                self._ended = self.is_closed = True
                break
            line = _without(part.data, self._indentation) if part.begins else part.data
            taken.append(line)
            made += len(line)
        whole = b"".join(taken)
        self._held = whole[size:]
        return whole[:size]


def _without(line: bytes, indentation: bytes) -> bytes:
    width = 0
    while width < len(indentation) and line[width : width + 1] in (b" ", b"\t"):
        width += 1
    return line[width:]
