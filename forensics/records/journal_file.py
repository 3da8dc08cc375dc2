"""Find the entries and fields of a native journal file, by its indexes where they are whole and object by object else.

Layout (systemd, JOURNAL_FILE_FORMAT; little-endian, every object at a multiple of 8): a header, then objects of type,
flags and size. An ENTRY lists the offsets of its DATA objects; an ENTRY_ARRAY lists entries and names the next array. A
DATA object holds `FIELD=value`, once for all entries that have it, and names the first entry that has it.
"""

from __future__ import annotations

import importlib
import lzma
import struct
from collections.abc import Iterator
from mmap import mmap
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forensics.records.block import Integers
from forensics.records.journal_hash import MOST_HASHED, siphashes

__all__ = ["MAGIC", "Damage", "Head", "JournalFile", "head_of"]

MAGIC = b"LPKSHHRH"

_HEADER = 208  # up to tail_entry_monotonic, as the first journald wrote it
_XZ, _LZ4, _KEYED, _ZSTD, _COMPACT = 1, 2, 4, 8, 16
_KNOWN = _XZ | _LZ4 | _KEYED | _ZSTD | _COMPACT
_NEXT = 0xFF
"""Bits that the next versions of systemd may use, which took five in ten years; one beyond is damage."""

_DATA, _ENTRY, _ENTRY_ARRAY, _LAST_TYPE = 1, 3, 6, 7
_FLAG_XZ, _FLAG_LZ4, _FLAG_ZSTD = 1, 2, 4

_MOST_ITEMS = 4096
"""Fields of one entry; journald takes 1024 (src/libsystemd/sd-journal/journal-def.h and journald-native.c)."""

_MOST_RESUMES = 100_000
"""How often the walk over objects picks up again behind something that is none."""

_MOST_ROUNDS = 100_000
"""How long a chain of the hash table may be."""

_WIDEST = 64
"""Of how many DATA objects with the most entries the lists of these entries are read in salvage."""


class Head(NamedTuple):
    """What the header says; `state` is 0 offline, 1 online, 2 archived. Sequence numbers are per `series`."""

    flags: int
    state: int
    series: str
    boot: str
    size: int
    entries: int
    head_seqnum: int
    tail_seqnum: int
    head_us: int
    tail_us: int


class Damage(NamedTuple):
    """Something in the structure that is not as it should be."""

    what: str
    offset: int
    count: int = 1  # type: ignore[assignment]


def head_of(start: bytes) -> Head | str:
    """Read the header from the first bytes of a file, or say why that is no journal that can be read."""
    if not start.startswith(MAGIC):
        return "it is no journal"
    if len(start) < _HEADER:
        return "it is shorter than a journal's header"
    (flags,) = struct.unpack_from("<I", start, 12)
    if 0 < flags & ~_KNOWN <= _NEXT:
        return f"it has features that are not known here (flags {flags:#x})"
    size, _ = struct.unpack_from("<QQ", start, 88)
    entries, tail, head, _, head_us, tail_us = struct.unpack_from("<6Q", start, 152)
    series, boot = start[72:88].hex(), start[56:72].hex()
    return Head(flags, start[16], series, boot, size, entries, head, tail, head_us, tail_us)


class JournalFile:
    """The objects of one file in memory or mapped; nothing of it is believed before it was checked.

    `damage` gathers what was met. Offsets are those of objects, in bytes.
    """

    def __init__(self, buffer: bytes | bytearray | mmap, head: Head) -> None:
        self.buffer = memoryview(buffer)
        self.head = head
        self.size = len(buffer)
        self.u64 = np.frombuffer(buffer, "<u8", self.size // 8)
        self.u32 = np.frombuffer(buffer, "<u4", self.size // 4)
        self.compact = bool(head.flags & _COMPACT)
        self.payload = 72 if self.compact else 64
        self.step = 4 if self.compact else 16
        self.damage: list[Damage] = []
        if head.flags & ~_KNOWN:
            self.damage.append(Damage("the header's flags are damaged: those that are known are taken", 12))
        self.unpacked = Unpacker()

    # -- entries ------------------------------------------------------------------------------------------------------

    def entries(self) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Offsets of all entries in the order they were appended, and which of them the file itself vouches for.

        What is found only by picking up behind damage may be text that a client sent, made to look like an entry.
        """
        chained = self._sane_entries(self._array_chain(self._word(176), report=True), report=True)
        if not self.damage and len(chained) >= self.head.entries:
            return chained, np.ones(len(chained), bool)
        walked, sure = self._walk()
        vouched = [chained, self._sane_entries(self._indexed()), self._sane_entries(walked[:sure])]
        known = np.unique(np.concatenate(vouched))
        every = self._sane_entries(np.union1d(known, self._sane_entries(walked[sure:])))
        return every, np.isin(every, known, assume_unique=True)

    def _word(self, offset: int) -> int:
        return int(self.u64[offset >> 3])

    def _array_chain(self, offset: int, *, report: bool = False) -> Integers:
        """All entry offsets of a chain of arrays, up to where it is broken or bites its tail."""
        found: list[npt.NDArray[np.integer]] = []
        seen: set[int] = set()
        while offset:
            whole = self._object(offset, _ENTRY_ARRAY, 24)
            if not whole or offset in seen:
                if report:
                    what = "the list of entries runs in a circle" if offset in seen else "the list of entries is broken"
                    self.damage.append(Damage(what, min(offset, self.size)))
                break
            seen.add(offset)
            begin, end = offset + 24, offset + whole
            found.append(self.u32[begin >> 2 : end >> 2] if self.compact else self.u64[begin >> 3 : end >> 3])
            offset = self._word(offset + 16)
        if not found:
            return np.empty(0, np.int64)
        offsets = np.concatenate(found).astype(np.int64)
        used: Integers = offsets[offsets != 0]  # others are allocated ahead
        return used

    def _object(self, offset: int, kind: int, least: int) -> int:
        """The size of an object of a kind; 0 if there is none at that offset."""
        if offset & 7 or not 0 < offset <= self.size - 16:
            return 0
        word = self._word(offset)
        size = self._word(offset + 8)
        return size if word & 0xFF == kind and least <= size <= self.size - offset else 0

    def _sane_entries(self, offsets: Integers, *, report: bool = False) -> Integers:
        """Those offsets where an ENTRY stands, in order."""
        good = offsets[(offsets > 0) & (offsets & 7 == 0) & (offsets <= self.size - 64)]
        at = good >> 3
        size = self.u64[at + 1].astype(np.int64)
        whole = (self.u64[at] & np.uint64(0xFF)) == _ENTRY
        whole &= (size >= 64) & (size <= self.size - good) & ((size - 64) % self.step == 0)
        whole &= size <= 64 + self.step * _MOST_ITEMS
        lost = len(offsets) - int(np.count_nonzero(whole))
        where = good[~whole][:1]
        order = np.argsort(good[whole], kind="stable")
        good, size = good[whole][order], size[whole][order]
        # One that reaches into the next has a wrong size, and what it lists is not its own.
        into = np.zeros(len(good), bool)
        into[:-1] = (good[:-1] + size[:-1] > good[1:]) & (good[:-1] != good[1:])
        lost += int(np.count_nonzero(into))
        where = np.append(where, good[into][:1])
        if lost and report:
            self.damage.append(Damage("entries are broken", int(where.min()) if len(where) else 0, lost))
        return np.unique(good[~into])

    def _indexed(self) -> Integers:
        """Entries that DATA objects name, found through the hash table: where a client cannot put anything."""
        begin, size = self._word(104), self._word(112)
        if begin & 7 or not 0 < begin <= self.size or size > self.size - begin:
            return np.empty(0, np.int64)
        frontier = self.u64[begin >> 3 : (begin + size) >> 3 : 2].astype(np.int64)
        seen = np.zeros(self.size // 8 + 1, bool)
        found: list[Integers] = []
        for _ in range(_MOST_ROUNDS):
            frontier = np.unique(self._sane_data(frontier))
            frontier = frontier[~seen[frontier >> 3]]
            if not len(frontier):
                break
            seen[frontier >> 3] = True
            found.append(frontier)
            frontier = self.u64[(frontier >> 3) + 3].astype(np.int64)
        if not found:
            return np.empty(0, np.int64)
        data = np.concatenate(found)
        at = data >> 3
        named = [self.u64[at + 5].astype(np.int64)]
        widest = np.argsort(self.u64[at + 7], kind="stable")[-_WIDEST:]
        named.extend(self._array_chain(offset) for offset in self.u64[at[widest] + 6].astype(np.int64).tolist())
        return np.unique(np.concatenate(named))

    def _sane_data(self, offsets: Integers) -> Integers:
        good: Integers = offsets[(offsets > 0) & (offsets & 7 == 0) & (offsets <= self.size - self.payload)]
        at = good >> 3
        size = self.u64[at + 1].astype(np.int64)
        whole = ((self.u64[at] & np.uint64(0xFF)) == _DATA) & (size >= self.payload) & (size <= self.size - good)
        sane: Integers = good[whole]
        return sane

    def _walk(self) -> tuple[Integers, int]:
        """Go from object to object; the entries met, and how many of them before the first break."""
        found: list[int] = []
        sure = -1
        candidates: Integers | None = None
        resumes = 0
        offset = self.head.size
        read = struct.Struct("<QQ").unpack_from
        while 0 < offset <= self.size - 16 and offset & 7 == 0:
            word, size = read(self.buffer, offset)
            if 0 < word & 0xFF <= _LAST_TYPE and not word >> 11 and 16 <= size <= self.size - offset:
                if word == _ENTRY:
                    found.append(offset)
                offset += (size + 7) & ~7
                continue
            if candidates is None:
                sure = len(found)
                candidates = self._candidates(offset)
                if len(candidates):  # else the rest was allocated ahead and not used yet
                    self.damage.append(Damage("what should be an object is none", offset))
            place = int(np.searchsorted(candidates, offset, "right"))
            if place == len(candidates):
                break
            resumes += 1
            if resumes > _MOST_RESUMES:
                self.damage.append(Damage("too much is broken; the rest was not searched object by object", offset))
                break
            offset = int(candidates[place])
        return np.array(found, np.int64), len(found) if sure < 0 else sure

    def _candidates(self, begin: int) -> Integers:
        """Where behind an offset something stands that could be a DATA or ENTRY object."""
        begin >>= 3
        words = self.u64[begin:-1]
        sizes = self.u64[begin + 1 :]
        kind = words & np.uint64(0xFF)
        room = np.uint64(self.size) - np.arange(begin, begin + len(words), dtype=np.uint64) * np.uint64(8)
        good = ((kind == _DATA) | (words == _ENTRY)) & ((words >> np.uint64(11)) == 0)
        good &= (sizes >= 64) & (sizes <= room)
        return (np.flatnonzero(good) + begin) * 8

    # -- fields -------------------------------------------------------------------------------------------------------

    def data_offsets(self, entry: int) -> list[int]:
        """Offsets of the DATA objects of one entry, as it lists them."""
        end = entry + self._word(entry + 8)
        if self.compact:
            return [int(one) for one in self.u32[(entry + 64) >> 2 : end >> 2]]
        return [int(one) for one in self.u64[(entry + 64) >> 3 : end >> 3 : 2]]

    def fields(self, entry: int, most: int) -> Iterator[tuple[bytes, bytes]]:
        """All fields of one entry that can be read, in its order; slow, for the few entries of which all are wanted."""
        for offset in self.data_offsets(entry):
            value = self.value(offset, most)
            if value is not None:
                name, equals, rest = value.partition(b"=")
                if equals:
                    yield name, rest

    def value(self, offset: int, most: int) -> bytes | None:
        """`FIELD=value` of a DATA object; None if it is broken, of more than `most` bytes, or cannot be unpacked."""
        size = self._object(offset, _DATA, self.payload)
        if not size:
            return None
        packed = bytes(self.buffer[offset + self.payload : offset + size])
        flags = (self._word(offset) >> 8) & 7
        return self.unpacked.whole(packed, flags, most) if flags else packed

    def altered(self, data: Integers) -> npt.NDArray[np.bool_]:
        """Which DATA objects that are not packed, by offset / 8, hold another value than was written.

        Not told of values over 1 KiB, and of files without keyed hashes (systemd before 246, or set so).
        """
        altered = np.zeros(len(data), bool)
        if not self.head.flags & _KEYED:
            return altered
        length = self.u64[data + 1].astype(np.int64) - self.payload
        begin = data + self.payload // 8
        told = np.flatnonzero((length <= MOST_HASHED) & (begin + (length + 7) // 8 <= len(self.u64)))
        key = bytes(self.buffer[24:40])
        hashes = siphashes(self.u64, begin[told], length[told], key)
        altered[told] = hashes != self.u64[data[told] + 2]
        return altered

    def values_of(self, field: bytes) -> set[bytes] | None:
        """All values that a field has in the file, by its index; None where that is broken or holds no field at all."""
        seen = False
        for offset, whole in self._field_objects():
            if not whole:
                return None
            seen = True
            if self.buffer[offset + 40 : offset + whole] == field:
                return self._listed(self._word(offset + 32), len(field) + 1)
        return set() if seen else None

    def names(self) -> set[bytes]:
        """Names of the fields that the file has values of, as far as its index of them is whole."""
        return {bytes(self.buffer[offset + 40 : offset + whole]) for offset, whole in self._field_objects() if whole}

    def _field_objects(self) -> Iterator[tuple[int, int]]:
        """Offset and size of all FIELD objects; a size of 0 where a chain of them is broken."""
        begin, size = self._word(120), self._word(128)
        if begin & 7 or not 0 < begin <= self.size or size > self.size - begin:
            yield 0, 0
            return
        seen: set[int] = set()
        for head in self.u64[begin >> 3 : (begin + size) >> 3 : 2].tolist():
            offset = head
            while offset:
                whole = 0 if offset in seen else self._object(offset, 2, 40)
                yield offset, whole
                if not whole:
                    break
                seen.add(offset)
                offset = self._word(offset + 24)

    def _listed(self, offset: int, skip: int) -> set[bytes] | None:
        values: set[bytes] = set()
        seen: set[int] = set()
        while offset:
            value = self.value(offset, 1 << 16)
            if value is None or offset in seen:
                return None
            seen.add(offset)
            values.add(value[skip:])
            offset = self._word(offset + 32)
        return values


class Unpacker:
    """Unpacks values of DATA objects; remembers what it could not, and how much came out."""

    def __init__(self) -> None:
        self.made = 0
        self.missing: set[str] = set()
        self._modules: dict[str, ModuleType | None] = {}

    def _module(self, name: str, package: str) -> ModuleType | None:
        if name not in self._modules:
            try:
                self._modules[name] = importlib.import_module(name)
            except ImportError:
                self._modules[name] = None
                self.missing.add(package)
        return self._modules[name]

    def begin(self, packed: bytes, flags: int, size: int) -> bytes | None:
        """The first bytes of a packed value; None if they do not come out."""
        return self._unpack(packed, flags, size, cut=True)

    def whole(self, packed: bytes, flags: int, most: int) -> bytes | None:
        """A packed value; None if it does not come out or has more than `most` bytes."""
        value = self._unpack(packed, flags, most, cut=False)
        if value is not None:
            self.made += len(value)
        return value

    def _unpack(self, packed: bytes, flags: int, most: int, *, cut: bool) -> bytes | None:
        unpack = {_FLAG_XZ: self._xz, _FLAG_LZ4: self._lz4, _FLAG_ZSTD: self._zstd}.get(flags)
        value = None if unpack is None else unpack(packed, most + (not cut))
        return None if value is None or len(value) > most else value

    def _xz(self, packed: bytes, most: int) -> bytes | None:
        try:
            inner = lzma.LZMADecompressor(memlimit=1 << 28)
            value = inner.decompress(packed, most)
        except lzma.LZMAError:
            return None
        return value if inner.eof or len(value) == most else None

    def _zstd(self, packed: bytes, most: int) -> bytes | None:
        module = self._module("zstandard", "zstandard")
        if module is None:
            return None
        parts: list[bytes] = []
        try:
            with module.ZstdDecompressor(max_window_size=1 << 28).stream_reader(packed) as reader:
                while most > 0 and (part := reader.read(most)):
                    parts.append(part)
                    most -= len(part)
        except module.ZstdError:
            return None
        return b"".join(parts)

    def _lz4(self, packed: bytes, most: int) -> bytes | None:
        module = self._module("lz4.block", "lz4")
        if module is None or len(packed) < 8:
            return None
        # The block format unpacks whole or not at all.
        size = int.from_bytes(packed[:8], "little")
        if size > 1 << 28 or size > 255 * len(packed) + 64:
            return None
        try:
            value: bytes = module.decompress(packed[8:], uncompressed_size=size)
        except (module.LZ4BlockError, ValueError, MemoryError):
            return None
        return value[:most]
