"""Write small native journals of chosen shape, for what journald itself would hardly write on demand."""

from __future__ import annotations

import struct
from collections.abc import Callable

__all__ = ["SERIES", "journal"]

SERIES = "5e" * 16
BOOT = "b0" * 16

Entry = tuple[int, int, list[bytes]]
"""Sequence number, time and `NAME=value` fields."""

Pack = Callable[[bytes], tuple[int, bytes]]


def journal(
    entries: list[Entry],
    *,
    compact: bool = False,
    state: int = 0,
    flags: int = 0,
    array: int = 4,
    pack: Pack = lambda payload: (0, payload),
) -> bytearray:
    """The bytes of a journal with these entries.

    Args:
        entries: What it holds, in the order of appending.
        compact: Whether offsets are 32 bits wide.
        state: 0 offline, 1 online, 2 archived.
        flags: More incompatible flags.
        array: Entries of one list of entries; several lists are chained.
        pack: Makes the object flags and the stored bytes of a field.
    """
    out = bytearray(272)
    data: dict[bytes, int] = {}
    heads = [0] * 16  # the hash table of DATA objects, with a hash of our own: readers only follow the chains

    def object_(kind: int, object_flags: int, body: bytes) -> int:
        offset = len(out)
        out.extend(struct.pack("<BB6xQ", kind, object_flags, 16 + len(body)) + body)
        out.extend(bytes(-len(out) % 8))
        return offset

    table = object_(4, 0, bytes(256)) + 16
    fields = object_(5, 0, bytes(256)) + 16
    places: list[int] = []
    for seqnum, time, values in entries:
        offsets = []
        for value in values:
            offset = data.get(value)
            if offset is None:
                object_flags, stored = pack(value)
                bucket = len(data) % 16
                extra = bytes(8) if compact else b""
                body = struct.pack("<6Q", 0, heads[bucket], 0, 0, 0, 0) + extra + stored
                offset = data[value] = heads[bucket] = object_(1, object_flags, body)
                struct.pack_into("<Q", out, table + 16 * bucket, offset)
            offsets.append(offset)
        head = struct.pack("<3Q16sQ", seqnum, time, time % 10**9, bytes.fromhex(BOOT), 0)
        items = b"".join(struct.pack("<I", one) if compact else struct.pack("<QQ", one, 0) for one in offsets)
        place = object_(3, 0, head + items)
        places.append(place)
        for offset in offsets:
            named, _, count = struct.unpack_from("<3Q", out, offset + 40)
            struct.pack_into("<3Q", out, offset + 40, named or place, 0, count + 1)
    first = before = 0
    for begin in range(0, len(places), array):
        some = places[begin : begin + array] + [0] * (begin + array - min(begin + array, len(places)))
        listed = object_(6, 0, bytes(8) + struct.pack(f"<{len(some)}{'I' if compact else 'Q'}", *some))
        if before:
            struct.pack_into("<Q", out, before + 16, listed)
        first, before = first or listed, listed
    numbers = [entry[0] for entry in entries]
    times = [entry[1] for entry in entries]
    out[:8] = b"LPKSHHRH"
    struct.pack_into("<IIB", out, 8, 0, flags | 16 * compact, state)
    out[56:72], out[72:88] = bytes.fromhex(BOOT), bytes.fromhex(SERIES)
    struct.pack_into("<8Q", out, 88, 272, len(out) - 272, table, 256, fields, 256, before, 0)
    struct.pack_into("<6Q", out, 152, len(entries), numbers[-1], numbers[0], first, times[0], times[-1])
    return out
