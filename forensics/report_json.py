"""Print a document as JSON: the same bytes on every run, and no text of a log in it that could act."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum

from forensics.document import Document
from forensics.safe import visible

__all__ = ["render_json"]

ORDER = re.findall(
    r"\w+",
    """
schema verdict next cards loads ambiguous set_aside missing evidence
load_id engine engine_version model unit pid begun_at ready_at ended_at end_reason summary phases failure devices
self_report gap findings
device where gpu_index gpu_uuid pci_bus_id name joined_by join_scope measured_mib measured_bytes measured_at measured_by
items attributed_mib attributed_bytes unexplained_mib unexplained_bytes unexplained_bounds_mib unexplained_bounds_bytes
at total_mib total_bytes reserved_mib reserved_bytes used_mib used_bytes free_mib free_bytes rest_mib rest_bytes holders
process part kind mib bytes basis bounds_mib bounds_bytes growth_mib growth_bytes note
claim state amount_mib amount_bytes for against
what why because remedy count asked_mib asked_bytes there_mib there_bytes detail speculation notes candidates reason
source digest offset length line cursor time text replay
""",
)
"""Keys in the order in which a reader wants them, within whatever object they stand; others follow, sorted."""

RANK = {key: rank for rank, key in enumerate(ORDER)}

UNORDERED = frozenset({"candidates"})
"""Lists whose order means nothing."""


def render_json(document: Document) -> str:
    """The document as JSON text in ASCII, one line feed at its end."""
    return json.dumps(_ordered(document, ""), indent=2, allow_nan=False) + "\n"


def _ordered(value: object, key: str) -> object:
    """A value with keys in order and texts made safe."""
    if isinstance(value, Mapping):
        # Evidence is keyed by ids: their order is their own.
        keys = sorted(value, key=str) if key == "evidence" else sorted(value, key=_rank)
        return {visible(str(name)): _ordered(value[name], str(name)) for name in keys}
    if isinstance(value, set | frozenset) or (isinstance(value, list | tuple) and key in UNORDERED):
        return sorted((_ordered(entry, "") for entry in value), key=str)
    if isinstance(value, list | tuple):
        return [_ordered(entry, "") for entry in value]
    return _plain(value)


def _rank(key: object) -> tuple[int, str]:
    return RANK.get(str(key), len(RANK)), str(key)


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
