"""What the evidence lacks for an answer, why, and the flag or file that would have given it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import duckdb

from .amounts import count
from .builds import release
from .told import FILED, UNPLACED

__all__ = ["Programs", "whats_missing"]


class Programs(Protocol):
    """Whoever knows what would make a program log more."""

    def remedies(self, program: str) -> Sequence[Mapping[str, Any]]:
        """The remedies of its pattern file."""


def whats_missing(
    connection: duckdb.DuckDBPyConnection, programs: Programs, answers: Sequence[Mapping[str, Any]], moment: str
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
        for (program,) in connection.execute("SELECT DISTINCT program FROM line ORDER BY program").fetchall():
            found.extend(
                {name: remedy[name] for name in ("what", "because", "remedy")}
                for remedy in programs.remedies(program)
                if "LoadBegan" in remedy.get("absent", ())
            )
    begun = {
        load_id: (implied, level)
        for load_id, implied, level in connection.execute(
            "SELECT load_id, implied, verbosity FROM load JOIN process USING (process_id)"
        ).fetchall()
    }
    printed = _Printed(connection)
    for answer in answers:
        found.extend(_rest(connection, answer))
        found.extend(_verbosity(printed, programs, answer, *begun[answer["load_id"]]))
        found.extend(_measurement(connection, answer, moment))
    rows = connection.execute(
        "SELECT source_id, what, remedy FROM problem WHERE severity = 'error' ORDER BY source_id, what, remedy"
    ).fetchall()
    found.extend({"what": f"the source {source}", "because": what, "remedy": remedy} for source, what, remedy in rows)
    drifted = connection.execute("SELECT program, component, lines, version, newest FROM format_drift").fetchall()
    found.extend(
        {
            "what": f"{count(lines, 'line')} of {component}, with a size or a device",
            "because": f"format drift: {program} {version or '(build not printed)'} prints what no pattern reads"
            + (f"; builds up to {newest} are known" if newest else ""),
            "remedy": "Use a newer release of this tool, or add a pattern of your own with --patterns FILE.",
        }
        for program, component, lines, version, newest in drifted
    )
    unread = connection.execute(
        "SELECT sum(lines)::BIGINT, first(example ORDER BY lines DESC, template) "
        "FROM unread_templates WHERE what = 'size'"
    ).fetchone()
    if unread and unread[0]:
        found.append(
            {
                "what": f"{count(unread[0], 'line')} with a size",
                "because": f"no pattern reads {'it' if unread[0] == 1 else 'them, such as'}: {unread[1]}",
                "remedy": "",
            }
        )
    return found


def _rest(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a load would have printed after the end of its log: it was still loading there."""
    if answer["ready"] or answer["failure"] or answer["end_reason"] != "log_ends":
        return []
    serves = connection.execute(
        """
        SELECT 1 FROM phase WHERE load_id = $1 AND phase IN ('serve', 'asleep', 'end')
        UNION ALL SELECT 1 FROM ambiguous_lines WHERE $1 IN (SELECT unnest(string_split(loads, ' ')))
        """,
        [answer["load_id"]],
    ).fetchone()
    if serves:  # or one of the lines that nobody owns may say so
        return []
    return [
        {
            "what": "the rest of this load",
            "because": "the log ends before it is ready",
            "remedy": "Give the log to its end, or look again when the model is ready.",
            "load_id": answer["load_id"],
        }
    ]


class _Printed:
    """Which loads printed events of a type, or their process before any load: asked once for all of them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._loads: dict[str, set[str | None]] = {}

    def by(self, load_id: str, event: str) -> bool:
        if event not in self._loads:
            rows = self._connection.execute(
                f"""
                SELECT DISTINCT load.load_id
                FROM load JOIN "{_table(event)}" AS event
                    ON event.load_id = load.load_id
                    OR (event.load_id IS NULL AND event.process_id = load.process_id AND event.believed)
                """
            ).fetchall()
            self._loads[event] = {row[0] for row in rows}
        return load_id in self._loads[event]


def _verbosity(
    printed: _Printed, programs: Programs, answer: Mapping[str, Any], implied: bool, level: str | None
) -> list[dict[str, Any]]:
    """Lines that a higher log level would have printed, of a load whose beginning is in the log."""
    if implied:
        return [
            {
                "what": "the beginning of this load",
                "because": "the log begins in the middle of it",
                # of one that failed, its failure is what to begin with
                "remedy": "" if answer["failure"] else "Give the server's log or journal from its start on.",
                "load_id": answer["load_id"],
            }
        ]
    found = []
    for remedy in programs.remedies(answer["engine"]):
        present = any(printed.by(answer["load_id"], name) for name in remedy.get("absent", ()))
        if present or answer["failure"] or not _is_of(remedy, answer["engine_version"]):
            continue
        if "level_below" in remedy and level is not None and level.isdigit() and int(level) >= remedy["level_below"]:
            continue
        found.append(
            {
                "what": remedy["what"],
                "because": remedy["because"].format(level=level if level is not None else "not printed"),
                "remedy": remedy["remedy"],
                "load_id": answer["load_id"],
            }
        )
    return found


def _is_of(remedy: Mapping[str, Any], version: str | None) -> bool:
    """Whether a remedy is for a build, or may be: of one that is not printed nothing is known."""
    build = release(version or "")
    if len(build) == 1:
        return True
    since, until = (release(remedy[name]) if name in remedy else None for name in ("since", "until"))
    return (since is None or since <= build) and (until is None or build <= until)


def _table(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _measurement(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any], moment: str) -> list[dict[str, Any]]:
    on_cards = [device for device in answer["devices"] if device["where"] == "card"]
    if not on_cards or answer["failure"]:
        return []
    measured = [device for device in on_cards if device["measured_mib"] is not None]
    if any((device["joined_by"] or "").endswith(FILED) for device in measured):
        return [
            {
                "what": "the time of the measured use",
                "because": "the capture prints none: its file's modification time stands for it",
                "remedy": "Sample with a time: for nvidia-smi, timestamp is a column to ask for.",
                "load_id": answer["load_id"],
            }
        ]
    if measured:
        return []
    samples = connection.execute("SELECT count(*) FROM holder_sample").fetchone()
    cards = connection.execute("SELECT count(*) FROM card_sample").fetchone()
    joined = connection.execute(
        "SELECT count(*) FROM holder_sample JOIN load USING (process_id) WHERE load_id = ?", [answer["load_id"]]
    ).fetchone()
    unplaced = connection.execute(
        "SELECT source_id, what, remedy FROM problem WHERE severity = 'loss' AND contains(what, ?) AND remedy <> '' "
        "ORDER BY ALL LIMIT 1",
        [UNPLACED],
    ).fetchone()
    if not (samples and samples[0]) and not (cards and cards[0]) and unplaced:
        source, what, remedy = unplaced
        because = f"there is telemetry that cannot be used, in {source}: {what}"
        remedy = f"{remedy[:1].upper()}{remedy[1:]}."
    elif not (samples and samples[0]) and not (cards and cards[0]):
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
