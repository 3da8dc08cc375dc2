"""Explain a load that never got ready: what was asked for, what was there, and what the program said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import duckdb

from .units import MIB

__all__ = ["explain_failure"]

ENDED_BADLY = frozenset({"failed", "crashed", "killed", "aborted"})


def explain_failure(
    connection: duckdb.DuckDBPyConnection, load: Mapping[str, Any], cited: set[str]
) -> dict[str, Any] | None:
    """The failure of a load that did not get ready, with all numbers its lines give; None if it got ready.

    The first line that can be a root cause is the cause; wrappers and consequences follow it.
    """
    load_id = load["load_id"]
    if load["ready"] or not (load["end_reason"] in ENDED_BADLY or _last_words(connection, load)):
        return None
    refused = _rows(connection, "SELECT * FROM start_refused WHERE load_id = ? AND believed ORDER BY ordinal", load_id)
    denied = _rows(
        connection,
        "SELECT * FROM allocation_failed WHERE load_id = ? AND believed AND phase != 'fit' ORDER BY ordinal",
        load_id,
    )
    told = _rows(
        connection,
        """
        SELECT * FROM failure_reported
        WHERE load_id = ? AND believed AND failure != 'warning' AND (phase IS NULL OR phase != 'fit') ORDER BY ordinal
        """,
        load_id,
    )
    roots = [row for row in told if row["rank"] == "root"] or told
    found: dict[str, Any] = {
        "what": _what(refused, denied, roots, load),
        "asked_mib": None,
        "asked_bytes": None,
        "there_mib": None,
        "there_bytes": None,
        "there_at": None,
        "detail": [],
        "evidence": [row["line_id"] for row in (*refused, *denied, *roots)][:12],
    }
    asked, there = _amounts(connection, load_id, refused, denied)
    found.update(asked_bytes=asked, there_bytes=there)
    found["there_at"] = None if there is None else "refusal" if refused or _told_free(denied) else "begin"
    found.update(asked_mib=_mib(asked), there_mib=_mib(there))
    found["detail"] = _detail(connection, load, refused, denied, roots)
    cited.update(found["evidence"])
    return found


def _last_words(connection: duckdb.DuckDBPyConnection, load: Mapping[str, Any]) -> bool:
    """Whether a load was still loading where its log ends, and a failure that can be a root is the last it says."""
    if load["end_reason"] != "log_ends":
        return False
    return bool(
        _rows(
            connection,
            """
            SELECT 1 FROM failures
            WHERE load_id = $1 AND outcome = 'log_ends' AND root_line IS NOT NULL
                AND last_ordinal = (SELECT max(ordinal) FROM line WHERE load_id = $1)
                AND NOT EXISTS (SELECT 1 FROM phase WHERE load_id = $1 AND phase IN ('serve', 'asleep', 'end'))
            """,
            load["load_id"],
        )
    )


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, load_id: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, [load_id])
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _mib(value: int | None) -> float | None:
    return None if value is None else round(value / MIB, 4)


def _what(
    refused: list[dict[str, Any]], denied: list[dict[str, Any]], roots: list[dict[str, Any]], load: Mapping[str, Any]
) -> str:
    reasons = {
        "free_memory": "refused to start: less memory was free than the share it is told to take",
        "kv_too_small": "refused to start: the cache that fits is smaller than one request of the length asked for",
        "no_blocks": "refused to start: no memory was left for any cache block",
        "configuration": "refused to start: its configuration is not possible",
    }
    if refused:
        return reasons.get(refused[0]["reason"], refused[0]["message"] or "refused to start")
    if denied:
        last = [row["message"] for row in roots if row["message"] and row["rank"] == "root"]
        return "an allocation was refused" + (f": {last[0]}" if last else "")
    if roots:
        return str(roots[0]["message"])
    return f"ended ({load['end_reason']}) before it got ready; no line says why"


def _amounts(
    connection: duckdb.DuckDBPyConnection, load_id: str, refused: list[dict[str, Any]], denied: list[dict[str, Any]]
) -> tuple[int | None, int | None]:
    if refused:
        first = refused[0]
        return first["needed_bytes"], first["available_bytes"]
    if not denied:
        return None, None
    asked = max((row["size_bytes"] for row in denied if row["size_bytes"] is not None), default=None)
    if known := _told_free(denied):
        return asked, known[0]
    names = {str(row["device"]) for row in denied if row["device"]}
    seen = _rows(
        connection,
        """
        SELECT device, free_bytes, pci_bus_id, ordinal FROM device_seen
        WHERE (load_id = ? OR process_id = (SELECT process_id FROM load WHERE load_id = $1)) AND free_bytes IS NOT NULL
        ORDER BY ordinal DESC, device
        """.replace("?", "$1"),
        load_id,
    )
    there = next((row["free_bytes"] for row in seen if row["device"] in names), None)
    return asked, there


def _refused(size_bytes: int | None) -> str:
    return "an unknown amount" if size_bytes is None else f"{size_bytes / MIB:.2f} MiB"


def _is_ordinal(number: str, device: str | None) -> bool:
    """Whether a device's name ends in a number that stands for it alone."""
    return device is not None and not device.isdigit() and re.fullmatch(rf"\D*{number}", device) is not None


def _told_free(denied: list[dict[str, Any]]) -> list[int]:
    """What was free on the device, by the lines of the refusal."""
    return [row["free_bytes"] for row in denied if row["free_bytes"] is not None]


def _detail(
    connection: duckdb.DuckDBPyConnection,
    load: Mapping[str, Any],
    refused: list[dict[str, Any]],
    denied: list[dict[str, Any]],
    roots: list[dict[str, Any]],
) -> list[str]:
    detail: list[str] = []
    for row in refused:
        pieces = []
        if row["needed_bytes"] is not None:
            pieces.append(f"needed {row['needed_bytes'] / MIB:.0f} MiB")
        if row["available_bytes"] is not None:
            pieces.append(f"available {row['available_bytes'] / MIB:.0f} MiB")
        if row["total_bytes"] is not None:
            pieces.append(f"of {row['total_bytes'] / MIB:.0f} MiB on the card")
        if row["utilization_ratio"] is not None:
            pieces.append(f"share asked for {row['utilization_ratio']:g}")
        if row["requested_tokens"] is not None:
            pieces.append(f"length asked for {row['requested_tokens']} tokens")
        if row["possible_tokens"] is not None:
            pieces.append(f"length that would fit {row['possible_tokens']} tokens, as it estimates")
        if pieces and "; ".join(pieces) not in detail:
            detail.append("; ".join(pieces))
    sizes = [_refused(row["size_bytes"]) for row in denied]
    for row, size in zip(denied, sizes, strict=True):
        device = row["device"] or "a device"
        if device.isdigit():
            # The runtime's own ordinal: of one refusal, the lines that follow name the device.
            others = zip(denied, sizes, strict=True)
            if any(same == size and _is_ordinal(device, other["device"]) for other, same in others):
                continue
            device = f"device {device}"
        sentence = f"{size} refused on {device}"
        if row["free_bytes"] is not None:
            sentence += f", {row['free_bytes'] / MIB:.0f} MiB free"
        if sentence not in detail:
            detail.append(sentence)
    held = _rows(
        connection,
        """
        SELECT device.device, part, kind, sum(size_bytes)::BIGINT AS size_bytes
        FROM item JOIN device USING (process_id, logged)
        WHERE load_id = ? AND mark = 'counted' AND place != 'host' GROUP BY ALL ORDER BY ALL
        """,
        load["load_id"],
    )
    detail.extend(
        f"before it, {row['size_bytes'] / MIB:.2f} MiB for {row['kind']} ({row['part']}) on {row['device']}; freed"
        for row in held
    )
    cells = _rows(
        connection,
        """
        SELECT value FROM setting_reported WHERE load_id = ? AND believed AND name = 'n_ctx' AND phase != 'fit'
        ORDER BY ordinal DESC LIMIT 1
        """,
        load["load_id"],
    )
    detail.extend(f"context asked for: {row['value']} cells" for row in cells)
    detail.extend(str(row["message"]) for row in roots[:4] if row["message"] and row["message"] not in detail)
    if load["begun_us"] is not None and load["ended_us"] is not None:
        detail.append(
            f"ended {(load['ended_us'] - load['begun_us']) / 1e6:.1f} s after its start ({load['end_reason']})"
        )
    return detail
