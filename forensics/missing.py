"""What the evidence lacks for an answer, why, and the flag or file that would have given it; and the one next step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .catalogue import Catalogue

__all__ = ["next_step", "whats_missing"]


def whats_missing(
    connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, answers: Sequence[Mapping[str, Any]], moment: str
) -> list[dict[str, Any]]:
    """What is missing, worst first: `what`, `because`, `remedy`."""
    found: list[dict[str, Any]] = []
    if not answers:
        found.append(
            {
                "what": "a model load",
                "because": "no line in the evidence begins or shows one",
                "remedy": "Give the server's log or journal from its start on.",
            }
        )
    for answer in answers:
        found.extend(_verbosity(connection, catalogue, answer))
        found.extend(_measurement(connection, answer, moment))
    rows = connection.execute(
        "SELECT source_id, what, remedy FROM problem WHERE severity = 'error' ORDER BY source_id"
    ).fetchall()
    found.extend({"what": f"the source {source}", "because": what, "remedy": remedy} for source, what, remedy in rows)
    drifted = connection.execute("SELECT program, component, lines, version, newest FROM format_drift").fetchall()
    found.extend(
        {
            "what": f"{lines} lines of {component}, with a size or a device",
            "because": f"format drift: {program} {version or '(build not printed)'} words them as nothing that is known"
            + (f", up to {newest}" if newest else ""),
            "remedy": "Use a newer catalogue, or add a pattern of your own with --patterns FILE.",
        }
        for program, component, lines, version, newest in drifted
    )
    unread = connection.execute("SELECT count(*), any_value(text) FROM unread WHERE what = 'size'").fetchone()
    if unread and unread[0]:
        found.append(
            {
                "what": f"{unread[0]} lines with a size",
                "because": f"no pattern reads them, such as: {unread[1]}",
                "remedy": "",
            }
        )
    return found


def _verbosity(
    connection: duckdb.DuckDBPyConnection, catalogue: Catalogue, answer: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Lines that a higher log level would have printed, of a load whose beginning is in the log."""
    implied = connection.execute("SELECT implied FROM load WHERE load_id = ?", [answer["load_id"]]).fetchone()
    if implied and implied[0]:
        return [
            {
                "what": "the beginning of this load",
                "because": "the log begins in the middle of it",
                "remedy": "Give the server's log or journal from its start on.",
                "load_id": answer["load_id"],
            }
        ]
    found = []
    for remedy in catalogue.program(answer["engine"]).remedies:
        tables = [_table(name) for name in remedy.get("absent", ())]
        present = any(
            (
                connection.execute(f'SELECT count(*) FROM "{table}" WHERE load_id = ?', [answer["load_id"]]).fetchone()
                or [0]
            )[0]
            for table in tables
        )
        if present or answer["failure"]:
            continue
        level = connection.execute(
            "SELECT verbosity FROM process JOIN load USING (process_id) WHERE load_id = ?", [answer["load_id"]]
        ).fetchone()
        known = level[0] if level else None
        if "level_below" in remedy and known is not None and known.isdigit() and int(known) >= remedy["level_below"]:
            continue
        found.append(
            {
                "what": remedy["what"],
                "because": remedy["because"].format(level=known if known is not None else "not printed"),
                "remedy": remedy["remedy"],
                "load_id": answer["load_id"],
            }
        )
    return found


def _table(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _measurement(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any], moment: str) -> list[dict[str, Any]]:
    on_cards = [device for device in answer["devices"] if device["where"] == "card"]
    if not on_cards or answer["failure"] or any(device["measured_mib"] is not None for device in on_cards):
        return []
    samples = connection.execute("SELECT count(*) FROM holder_sample").fetchone()
    cards = connection.execute("SELECT count(*) FROM card_sample").fetchone()
    joined = connection.execute(
        "SELECT count(*) FROM holder_sample JOIN load USING (process_id) WHERE load_id = ?", [answer["load_id"]]
    ).fetchone()
    if not (samples and samples[0]) and not (cards and cards[0]):
        because = "there is no telemetry in the evidence"
        remedy = (
            "Sample the cards: nvidia-smi --query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_gpu_memory "
            "--format=csv -lms 500 > apps.csv, and --query-gpu=timestamp,index,uuid,name,memory.total,memory.used,"
            "memory.free,memory.reserved for the cards."
        )
    elif joined and joined[0]:
        because = (
            "no sample lies between the moment it got ready and its clean-up"
            if moment == "last"
            else f"no sample shows the moment asked for ({moment})"
        )
        remedy = "Sample more often, or ask for a moment with --at."
    else:
        because = "nothing proves which sampled process or card is its"
        remedy = (
            "Sample processes (nvidia-smi --query-compute-apps) over the server's whole life, and give its journal: "
            "there its pid can be trusted."
        )
    return [{"what": "the measured use", "because": because, "remedy": remedy, "load_id": answer["load_id"]}]


def next_step(found: Mapping[str, Any]) -> str:
    """The one next step for an operator."""
    for entry in found["missing"]:
        if entry["remedy"]:
            return str(entry["remedy"])
    failures = [load["failure"] for load in found["loads"] if load["failure"]]
    if failures and len(failures) == len(found["loads"]):
        return "Ask for less than was there: a shorter context, fewer slots, or a smaller cache type."
    for load in found["loads"]:
        for finding in load["findings"]:
            if finding["state"] == "supported":
                return "Look at the items named above: one of them is not on the card."
    inferred = any(
        item["kind"] == "runtime" and item["basis"] == "inferred"
        for load in found["loads"]
        for device in load["devices"]
        for item in device["items"]
    )
    if inferred:
        return (
            "Nothing is missing. To see the runtime measured instead of inferred, sample the card while the server "
            "sleeps or before it loads."
        )
    return "Nothing is missing."
