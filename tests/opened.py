"""Turn texts into a case, for the tests of questions: files in, tables and views out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import ready
from forensics.question import load_questions

__all__ = ["BEGIN", "cards_csv", "exited_of", "holders_csv", "journal", "manager_of", "opened", "rows"]

BEGIN = datetime(2026, 9, 18, 8, 0, tzinfo=UTC)
CARDS = ("GPU-00000000-0000-4000-8000-00000000000a", "GPU-00000000-0000-4000-8000-00000000000b")


def journal(pid: int, seconds: float, *lines: str, unit: str = "llm.service", **fields: str) -> str:
    """Lines of one process, 1 ms apart, as journalctl -o json prints them; fields replace or add to the usual ones."""
    entries = []
    for number, line in enumerate("\n".join(lines).strip().splitlines()):
        moment = int((BEGIN + timedelta(seconds=seconds)).timestamp() * 1_000_000) + number * 1000
        entry = {
            "__REALTIME_TIMESTAMP": str(moment),
            "__CURSOR": f"s=0;i={moment:x}",
            "_BOOT_ID": "0000000000000000000000000000b007",
            "_HOSTNAME": "box",
            "_PID": str(pid),
            "_SYSTEMD_UNIT": unit,
            "_SYSTEMD_INVOCATION_ID": f"{pid:032x}",
            "_TRANSPORT": "stdout",
            "MESSAGE": line,
        }
        entries.append(json.dumps({**entry, **fields}) + "\n")
    return "".join(entries)


def manager_of(pid: int, seconds: float, message: str, **fields: str) -> str:
    """A line of the service manager about the invocation of a process."""
    own = {"_PID": "1", "_TRANSPORT": "journal", "UNIT": "llm.service", "INVOCATION_ID": f"{pid:032x}"}
    return journal(
        1, seconds, message, unit="init.scope", _COMM="systemd", SYSLOG_IDENTIFIER="systemd", **own, **fields
    )


def exited_of(pid: int, seconds: float, code: str, status: str) -> str:
    return manager_of(
        pid,
        seconds,
        f"llm.service: Main process exited, code={code}, status={status}",
        EXIT_CODE=code,
        EXIT_STATUS=status.partition("/")[0],
    )


def holders_csv(*samples: tuple[float, int, int, int], name: str = "/usr/local/bin/llama-server") -> str:
    """Rows of nvidia-smi --query-compute-apps: (seconds, card, pid, MiB)."""
    return "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n" + "".join(
        f"{_smi(seconds)}, {CARDS[card]}, {pid}, {name}, {mib} MiB\n" for seconds, card, pid, mib in samples
    )


def cards_csv(*samples: tuple[float, int, int]) -> str:
    """Rows of nvidia-smi --query-gpu: (seconds, card, MiB used of 24576)."""
    header = (
        "timestamp, index, uuid, name, memory.total [MiB], memory.used [MiB], memory.free [MiB], memory.reserved [MiB]"
    )
    return (
        header
        + "\n"
        + "".join(
            f"{_smi(seconds)}, {card}, {CARDS[card]}, NVIDIA GeForce RTX 3090, 24576 MiB, {used} MiB, "
            f"{24576 - 449 - used} MiB, 449 MiB\n"
            for seconds, card, used in samples
        )
    )


def _smi(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]


def opened(folder: Path, **files: str) -> duckdb.DuckDBPyConnection:
    """Write files (`server_log` becomes server.log), read them as one case and install the questions."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    connection = duckdb.connect()
    store(read_evidence([folder], load_catalogue(), tz_us=0), connection)
    return ready(connection, load_questions(), None)


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    return connection.execute(sql).fetchall()
