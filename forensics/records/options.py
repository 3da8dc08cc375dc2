"""The bounds and assumptions that every reader works under."""

from __future__ import annotations

from datetime import tzinfo
from typing import NamedTuple

__all__ = ["HEAD", "MIB", "Options"]

MIB = 1024 * 1024

HEAD = 64 * 1024
"""Bytes of content that decide a source's format."""


class Options(NamedTuple):
    """How much is held in memory, how far decompression may go, and the zone of times that print none."""

    block_bytes: int = 4 * MIB
    line_bytes: int = 64 * MIB
    output_bytes: int = 64 * 1024 * MIB
    ratio: int = 1000
    ratio_from_bytes: int = 64 * MIB
    tz: tzinfo | None = None
