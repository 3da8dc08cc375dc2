"""Readers: envelope formats only. Bytes in, blocks of records out; nothing here knows a program."""

from forensics.records.block import NO_TIME, Block, CardSamples, Digest, HolderSamples, Problem, Source, Stream
from forensics.records.options import Options
from forensics.records.read import Named, contents, read_inputs

__all__ = [
    "NO_TIME",
    "Block",
    "CardSamples",
    "Digest",
    "HolderSamples",
    "Named",
    "Options",
    "Problem",
    "Source",
    "Stream",
    "contents",
    "read_inputs",
]
