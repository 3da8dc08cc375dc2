"""Readers: envelope formats only. Bytes in, blocks of records out; nothing here knows a program."""

from forensics.records.block import (
    CHUNK,
    NO_TIME,
    Block,
    CardSamples,
    Digest,
    HolderSamples,
    Piece,
    Problem,
    RequestCounters,
    SelfReports,
    Source,
    Stream,
)
from forensics.records.options import Options
from forensics.records.read import Named, contents, digests, is_source, looks, read_inputs

__all__ = [
    "CHUNK",
    "NO_TIME",
    "Block",
    "CardSamples",
    "Digest",
    "HolderSamples",
    "Named",
    "Options",
    "Piece",
    "Problem",
    "RequestCounters",
    "SelfReports",
    "Source",
    "Stream",
    "contents",
    "digests",
    "is_source",
    "looks",
    "read_inputs",
]
