"""Turn the fields of a journal entry into the stream that wrote it, by trust.

journald adds the fields that begin with an underscore itself; a client can send any other name, `PID=` and `UNIT=`
too. So only the former say who wrote a line, with one exception: what the service manager itself sends about a unit.
"""

from __future__ import annotations

from collections.abc import Mapping

from forensics.records.block import Stream

__all__ = ["STREAM_FIELDS", "is_manager", "manager_fields", "stream_of"]

STREAM_FIELDS = (
    "_HOSTNAME",
    "_BOOT_ID",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_USER_UNIT",
    "_SYSTEMD_INVOCATION_ID",
    "_PID",
    "_TRANSPORT",
    "_COMM",
    "SYSLOG_IDENTIFIER",
    "CONTAINER_NAME",
    "CONTAINER_ID_FULL",
    "CONTAINER_ID",
)
"""The fields that a stream of an ordinary writer is made of."""

_PLAIN = frozenset(
    ("MESSAGE", "PRIORITY", "SYSLOG_FACILITY", "SYSLOG_IDENTIFIER", "CODE_FILE", "CODE_LINE", "CODE_FUNC", "TID")
)
"""Client fields of a manager's entry that say nothing about a unit."""


def is_manager(fields: Mapping[str, str | None]) -> bool:
    """Say whether the service manager wrote an entry.

    Process 1 is nobody else. A user's manager is the only process of the unit init.scope of user@N.service; the user
    could move a process there, but only to lie about units of his own.
    """
    if fields.get("_TRANSPORT") != "journal":
        return False
    if fields.get("_PID") == "1":
        return True
    return fields.get("_SYSTEMD_USER_UNIT") == "init.scope" and _is_user_manager(fields.get("_SYSTEMD_UNIT"))


def manager_fields(fields: Mapping[str, str | None]) -> dict[str, str]:
    """What the manager says about a unit: UNIT, INVOCATION_ID, EXIT_*, JOB_*, UNIT_RESULT, MESSAGE_ID and the like."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and not name.startswith("_") and name not in _PLAIN
    }


def stream_of(source: str, fields: Mapping[str, str | None], *, intact: bool = True) -> Stream:
    """Name the writer of an entry.

    Args:
        source: Name of the source.
        fields: All fields for an entry of the manager, STREAM_FIELDS for others.
        intact: False after a damaged stretch: an entry found again behind it may be text of a message.
    """
    manager = is_manager(fields)
    get = fields.get
    container = None
    if manager:
        user = get("UNIT") is None and get("USER_UNIT") is not None
        unit = get("USER_UNIT") if user else get("UNIT")
        invocation = get("USER_INVOCATION_ID") if user else get("INVOCATION_ID")
    else:
        unit, invocation = get("_SYSTEMD_UNIT"), get("_SYSTEMD_INVOCATION_ID")
        if get("_SYSTEMD_USER_UNIT") is not None and _is_user_manager(unit):
            unit = get("_SYSTEMD_USER_UNIT")
        container = get("CONTAINER_NAME") or get("CONTAINER_ID_FULL") or get("CONTAINER_ID")
    pid = get("_PID")
    known = pid is not None or get("_TRANSPORT") is not None or get("_SYSTEMD_UNIT") is not None
    return Stream(
        source=source,
        host=get("_HOSTNAME"),
        boot=get("_BOOT_ID"),
        unit=unit,
        invocation=invocation,
        pid=int(pid) if pid is not None and pid.isascii() and pid.isdigit() and len(pid) < 19 else None,
        container=container,
        identifier=get("SYSLOG_IDENTIFIER") or get("_COMM"),
        transport=get("_TRANSPORT"),
        # Any client can send CONTAINER_NAME: it separates streams, and must not raise what is believed of them.
        trusted=intact and known and container is None,
        manager=manager,
        kernel=get("_TRANSPORT") == "kernel",
    )


def _is_user_manager(unit: str | None) -> bool:
    return unit is not None and unit.startswith("user@") and unit.endswith(".service")
