"""Print a document as JSON: the same bytes on every run, and no text of a log in it that could act."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum

from forensics.document import Document
from forensics.safe import visible

__all__ = ["render_json"]

ORDER = {
    "": "schema verdict next cards loads ambiguous set_aside missing evidence",
    "cards": "gpu_index gpu_uuid pci_bus_id name at total reserved used free rest holders",
    "holders": "pid process size load_id",
    "loads": "load_id engine engine_version model unit pid begun_at ready ready_at ended_at end_reason verdict summary "
    "phases failure devices self_report gap findings",
    "summary": "speculation notes",
    "failure": "what asked there detail evidence",
    "devices": "device where gpu_index gpu_uuid pci_bus_id pid joined_by join_scope measured measured_at measured_by "
    "items attributed unexplained unexplained_bounds growth",
    "items": "part kind size basis bounds growth note evidence",
    "self_report": "size source replay",
    "gap": "size items unexplained unexplained_bounds",
    "findings": "claim state amount for against",
    "ambiguous": "evidence candidates reason",
    "set_aside": "what why count size load_id evidence",
    "missing": "what because remedy",
    "cited": "source digest offset length line cursor time load_id text",
}
"""For each kind of object its keys in the order in which a reader wants them; others follow, sorted.

An amount stands for its two twins, MiB and bytes; `size` for the two that have no other name.
"""

RANKS = {kind: {key: rank for rank, key in enumerate(keys.split())} for kind, keys in ORDER.items()}

UNORDERED = frozenset({"candidates"})
"""Lists whose order means nothing."""


def render_json(document: Document) -> str:
    """The document as JSON text in ASCII, with one line feed at its end."""
    return json.dumps(_ordered(document, ""), indent=2, allow_nan=False) + "\n"


def _ordered(value: object, kind: str) -> object:
    """A value with its keys in order and its texts made safe; its kind is the key that it stands under."""
    if isinstance(value, Mapping):
        is_index = kind == "evidence"  # by id: each entry is one cited line
        keys = sorted(value, key=lambda key: (0, str(key), "") if is_index else _rank(kind, str(key)))
        return {visible(str(key)): _ordered(value[key], "cited" if is_index else str(key)) for key in keys}
    if isinstance(value, set | frozenset) or (isinstance(value, list | tuple) and kind in UNORDERED):
        return sorted((_ordered(entry, kind) for entry in value), key=str)
    if isinstance(value, list | tuple):
        return [_ordered(entry, kind) for entry in value]
    return _plain(value)


def _rank(kind: str, key: str) -> tuple[int, str, str]:
    """Place in the order, then the amount's name, then MiB before bytes."""
    ranks = RANKS.get(kind, {})
    name = key.removesuffix("mib").removesuffix("bytes").removesuffix("_") or "size"
    known = name if name != key and name in ranks else key
    return ranks.get(known, len(ranks)), known, "" if key.endswith("mib") else key


def _plain(value: object) -> object:
    """A scalar as JSON has it."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return (value or 0.0) if math.isfinite(value) else None  # "or": there is no −0.0
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return visible(value if isinstance(value, str | bytes) else str(value))
