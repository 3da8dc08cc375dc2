"""The bounds and assumptions that every reader works under."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from forensics.records.block import Seam

__all__ = ["HEAD", "MIB", "Known", "Options"]

MIB = 1024 * 1024

HEAD = 64 * 1024
"""Bytes of content that decide a source's format."""


class Known(NamedTuple):
    """What is known of the beginning of a source, so that reading begins behind it: see `Seam`."""

    format: str
    seam: Seam
    records: int
    """Records before the seam."""
    chunks: tuple[str, ...]
    """Digests of the chunks that were taken by then."""


class Options(NamedTuple):
    """How much is held in memory, how far decompression may go, the zone of times that print none, and what is asked.

    `held_bytes` bounds an input that has to be in memory whole: a journal that is still written or was compressed, a
    zip that is no file of its own, a document of JSON or XML (those two have lower bounds of their own as well).
    Span, boots, units and fields (each with the values that are asked for, one of which an entry must have of every
    field) narrow journals, native ones by whole files first, by their header and index; kernel messages of the span are
    always read. Empty sets and None ask for everything. Other sources are read whole.

    `skip` says of a file inside a folder that it is passed over without a word: the program's own.
    `known` has the files, by name, of which the beginning was read before and is left out.
    """

    block_bytes: int = 4 * MIB
    line_bytes: int = 16 * MIB
    output_bytes: int = 64 * 1024 * MIB
    ratio: int = 1000
    ratio_from_bytes: int = 64 * MIB
    held_bytes: int = 2048 * MIB
    tz: tzinfo | None = None
    since_us: int | None = None
    until_us: int | None = None
    boots: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    fields: tuple[tuple[str, frozenset[str]], ...] = ()
    skip: Callable[[Path], bool] | None = None
    known: Mapping[str, Known] = MappingProxyType({})

    @property
    def spans(self) -> bool:
        """Whether only a span of time is asked for."""
        return (self.since_us, self.until_us) != (None, None)

    @property
    def narrows(self) -> bool:
        """Whether less than everything is asked for."""
        return self.spans or bool(self.boots or self.units or self.fields)
