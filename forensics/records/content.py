"""Give the content of an input as pieces of bytes: decompressed, UTF-16 turned into UTF-8, and digested.

Offsets and digests of a source address what comes out here.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import importlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import BinaryIO, Protocol

from forensics.records.block import Source
from forensics.records.options import MIB, Options

__all__ = ["EndedEarlyError", "at_least", "chain", "compression", "content", "drained", "held", "is_utf16"]

_LZMA_MEMORY = 512 * MIB
"""What a dictionary may take: an xz header can ask for 4 GiB."""

_INPUT = 64 * 1024
"""Compressed bytes taken at once: bounds what a damaged stretch can hide."""


class EndedEarlyError(OSError):
    """A stream that stops for a reason of its own, and what to do about it."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(errno.EIO, why)
        self.remedy = remedy


class _Decompressor(Protocol):
    """What bz2 and lzma offer and the others are made to."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _ZlibObject(Protocol):
    """What zlib makes, and does not name."""

    @property
    def unconsumed_tail(self) -> bytes: ...
    def copy(self) -> _ZlibObject: ...
    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


class _Gzip:
    """One gzip member; the bytes before a damaged spot come out before the error does."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._failed = ""
        self._full = False

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        # A full output can leave more inside zlib although all input was taken.
        return not self._inner.unconsumed_tail and not self._failed and not self._full

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._failed:
            raise zlib.error(self._failed)
        data = self._inner.unconsumed_tail + data
        before = self._inner.copy()
        try:
            out = self._inner.decompress(data, max(max_length, 0))
        except zlib.error as error:
            self._failed = str(error)
            return _before_damage(before, data)
        self._full = len(out) == max_length
        return out


def _before_damage(inner: _ZlibObject, data: bytes) -> bytes:
    """All that comes out of a damaged piece: zlib keeps to itself what it made in the call that fails."""
    made = bytearray()
    before = inner
    try:
        for position in range(len(data)):
            before = inner.copy()
            made += inner.decompress(data[position : position + 1])
    except zlib.error:
        fed = data[position : position + 1]
        try:
            while out := before.decompress(fed, 1):
                made += out
                fed = before.unconsumed_tail
        except zlib.error:
            pass
    return bytes(made)


class _Zstd:
    """A frame of the `zstandard` module, which has no bound on output: fed in small pieces instead."""

    def __init__(self, module: ModuleType) -> None:
        self._inner = module.ZstdDecompressor(max_window_size=2**31).decompressobj()
        self._input = b""
        self._output = b""

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof) and not self._output

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data) + self._input

    @property
    def needs_input(self) -> bool:
        return not self._input and not self._output

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._input += data
        if not self._output and self._input and not self._inner.eof:
            self._output, self._input = self._inner.decompress(self._input[:1024]), self._input[1024:]
        size = len(self._output) if max_length < 0 else max_length
        out, self._output = self._output[:size], self._output[size:]
        return out


def compression(head: bytes) -> str | None:
    """Name the compression that the first bytes of an input announce."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    return None


def is_utf16(head: bytes) -> bool:
    """Whether the first bytes of a text are the byte order mark of UTF-16."""
    return head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and head[:4] != codecs.BOM_UTF32_LE


def content(stream: BinaryIO, source: Source, options: Options, on_read: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the content of an open input in order, at most a block at a time.

    What goes wrong is put into `source.problems`; what came out before stays.

    Args:
        stream: The input, opened for reading bytes.
        source: Takes the digest and the problems.
        options: Bounds.
        on_read: Called with the count of each read from `stream`.
    """
    pieces = _raw(stream, source, options.block_bytes, on_read)
    if source.begun.taken:
        yield from _going_on(stream, pieces, source, on_read)
        return
    first = at_least(pieces, 16)
    pieces = chain(first, pieces)
    kind = compression(first)
    if kind is not None:
        pieces = _decompressed(pieces, kind, source, options)
        first = at_least(pieces, 2)
        pieces = chain(first, pieces)
    if is_utf16(first):
        pieces = _from_utf16(pieces, source)
    source.plain = kind is None and not is_utf16(first)
    for piece in pieces:
        for start in range(0, len(piece), options.block_bytes):
            part = piece[start : start + options.block_bytes]
            source.digest.update(part)
            yield part
    source.digest.close()


def _going_on(
    stream: BinaryIO, pieces: Iterator[bytes], source: Source, on_read: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield what stands behind the place where reading begins; of it, some bytes had been taken and digested."""
    offset, taken = source.begun
    stream.seek(offset)
    on_read(taken)
    yield from chain(stream.read(taken - offset), iter(()))
    for piece in pieces:
        source.digest.update(piece)
        yield piece
    source.digest.close()


def _raw(stream: BinaryIO, source: Source, size: int, on_read: Callable[[int], None]) -> Iterator[bytes]:
    offset = source.begun.taken
    while True:
        try:
            piece = stream.read(size)
        except OSError as error:
            remedy = error.remedy if isinstance(error, EndedEarlyError) else "check the disk or mount"
            source.tell("loss", f"reading failed: {error.strerror}", remedy, offset)
            return
        if not piece:
            return
        offset += len(piece)
        on_read(len(piece))
        yield piece


def at_least(pieces: Iterator[bytes], size: int) -> bytes:
    """Take pieces until they hold that many bytes or end."""
    first = b""
    while len(first) < size and (piece := next(pieces, b"")):
        first += piece
    return first


def chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Put bytes that were taken back in front."""
    if first:
        yield first
    yield from rest


def held(pieces: Iterator[bytes], most: int) -> tuple[bytearray, int]:
    """Take all pieces and keep the first `most` bytes; the second value is how many were beyond."""
    kept = bytearray()
    beyond = 0
    for piece in pieces:
        room = most - len(kept)
        kept += piece[:room]
        beyond += max(len(piece) - room, 0)
    return kept, beyond


def drained(pieces: Iterator[bytes]) -> None:
    """Take all pieces for nothing but their digest, which is part of the case whatever is read of them."""
    for _ in pieces:
        pass


def _decompressor(kind: str) -> Callable[[], _Decompressor] | None:
    if kind == "gzip":
        return _Gzip
    if kind == "xz":
        return lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)
    if kind == "bzip2":
        return bz2.BZ2Decompressor
    try:
        module = importlib.import_module("zstandard")
    except ImportError:
        return None
    return lambda: _Zstd(module)


def _magic(kind: str) -> bytes:
    return {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ", "bzip2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}[kind]


def _decompressed(pieces: Iterator[bytes], kind: str, source: Source, options: Options) -> Iterator[bytes]:
    """Decompress members one after another, and say exactly where and why it ended early."""

    def problem(severity: str, what: str, remedy: str) -> None:
        source.tell(severity, what, remedy, made)

    made = taken = 0
    make = _decompressor(kind)
    if make is None:
        problem("error", "the input is zstd and no decompressor is installed", "pip install zstandard, or unpack it")
        return
    inner = make()
    errors: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)
    if kind == "zstd":
        errors = (*errors, importlib.import_module("zstandard").ZstdError)
    fresh = True  # between members, where the input may end
    for whole in pieces:
        for start in range(0, len(whole), _INPUT):
            fed = whole[start : start + _INPUT]
            taken += len(fed)
            while fed or not (fresh or inner.needs_input):
                if fresh and not fed.startswith(_magic(kind)[: len(fed)]) and made:
                    if fed.strip(b"\0"):
                        problem("loss", f"bytes that are no {kind} follow the {kind} stream", "check how it was made")
                        return
                    break  # padding, as of tapes
                try:
                    out = inner.decompress(fed, options.block_bytes)
                except errors as error:
                    problem(
                        "loss",
                        f"damaged {kind} stream: {error}; {made} bytes came out before it",
                        "get an intact copy; what came out is used",
                    )
                    return
                fresh, fed = False, b""
                made += len(out)
                if out:
                    yield out
                if made > options.output_bytes or (
                    made > options.ratio_from_bytes and made > options.ratio * max(taken, 1)
                ):
                    problem(
                        "loss",
                        f"decompression stopped: {taken} bytes of {kind} had become {made}",
                        "unpack it by hand if that is what it should be",
                    )
                    return
                if inner.eof:
                    fed, inner, fresh = inner.unused_data, make(), True
    if not fresh:
        problem(
            "loss",
            f"the {kind} stream is cut after {taken} bytes; {made} bytes came out of it",
            "get a whole copy; what came out is used",
        )


def _from_utf16(pieces: Iterator[bytes], source: Source) -> Iterator[bytes]:
    """Turn UTF-16 with a byte order mark (older PowerShell redirections) into UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    bad = 0
    for piece in pieces:
        text = decoder.decode(piece)
        bad += text.count("\ufffd")
        if text:
            yield text.encode("utf-8", "surrogatepass")
    text = decoder.decode(b"", final=True)
    bad += text.count("\ufffd")
    if text:
        yield text.encode("utf-8", "surrogatepass")
    source.tell("note", "the input is UTF-16; offsets address its text as UTF-8", "", 0)
    source.tell("loss", "code units that are no UTF-16", "get an intact copy", None, bad)
