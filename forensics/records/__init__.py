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
    Seam,
    SelfReports,
    Source,
    Stream,
)
from forensics.records.options import Known, Options
from forensics.records.read import Named, contents, digests, is_source, looks, plain_size, read_inputs, stretch

__all__ = [
    "CHUNK",
    "NO_TIME",
    "Block",
    "CardSamples",
    "Digest",
    "HolderSamples",
    "Known",
    "Named",
    "Options",
    "Piece",
    "Problem",
    "RequestCounters",
    "Seam",
    "SelfReports",
    "Source",
    "Stream",
    "contents",
    "digests",
    "is_source",
    "looks",
    "plain_size",
    "read_inputs",
    "stretch",
]
