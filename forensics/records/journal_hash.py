"""Tell which values of a native journal are no longer those that were written, by the hash beside each.

Since systemd 246 that is SipHash-2-4 of `FIELD=value`, keyed with the file's id (JOURNAL_FILE_FORMAT, "Hash Tables").
It is there to find values, not to vouch for them, but a flipped bit does not pass it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forensics.records.block import Integers

__all__ = ["MOST_HASHED", "siphashes"]

Words = npt.NDArray[np.uint64]

MOST_HASHED = 1024
"""Bytes of the longest value that is hashed; journald packs those over 512 and packing has a check of its own."""


def siphashes(words: Words, begins: Integers, lengths: Integers, key: bytes) -> Words:
    """SipHash-2-4 of many values at once.

    Args:
        words: The file as little-endian words; each value lies in it whole, its last word too.
        begins: The word at which each value begins.
        lengths: Bytes of each value.
        key: 16 bytes.
    """
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = begins[order], lengths[order]
    blocks = lengths >> 3
    k0, k1 = (np.uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    state = np.empty((4, len(order)), np.uint64)
    for row, (half, constant) in enumerate(
        ((k0, 0x736F6D6570736575), (k1, 0x646F72616E646F6D), (k0, 0x6C7967656E657261), (k1, 0x7465646279746573))
    ):
        state[row] = half ^ np.uint64(constant)
    longest = int(blocks.max(initial=0))
    # Longest first, so those that have a word of a number stand together.
    counts = np.searchsorted(-blocks, -np.arange(longest), "left")
    for number, count in enumerate(counts.tolist()):
        _mix(state[:, :count], words[begins[:count] + number])
    rest = (lengths & 7).astype(np.uint64)
    at = np.minimum(begins + blocks, len(words) - 1)  # where nothing is left the word behind is not looked at
    kept = (np.uint64(1) << (rest * np.uint64(8))) - np.uint64(1)
    _mix(state, (words[at] & kept) | (lengths.astype(np.uint64) << np.uint64(56)))
    state[2] ^= np.uint64(0xFF)
    for _ in range(4):
        _round(*state)
    hashes = np.empty(len(order), np.uint64)
    hashes[order] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return hashes


def _mix(state: Words, word: Words) -> None:
    state[3] ^= word
    _round(*state)
    _round(*state)
    state[0] ^= word


def _round(v0: Words, v1: Words, v2: Words, v3: Words) -> None:
    """One SipRound, in place."""
    v0 += v1
    _turn(v1, 13)
    v1 ^= v0
    _turn(v0, 32)
    v2 += v3
    _turn(v3, 16)
    v3 ^= v2
    v0 += v3
    _turn(v3, 21)
    v3 ^= v0
    v2 += v1
    _turn(v1, 17)
    v1 ^= v2
    _turn(v2, 32)


def _turn(value: Words, left: int) -> None:
    high = value >> np.uint64(64 - left)
    value <<= np.uint64(left)
    value |= high
