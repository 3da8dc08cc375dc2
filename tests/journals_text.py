"""The entries of the journals under tests/journals, as the export text they were made of.

SYSTEMD_JOURNAL_COMPACT=1 systemd-journal-remote -o compact.journal entries.export   (0: regular.journal)
"""

from __future__ import annotations

__all__ = ["entries", "export"]

BOOTS = ("11111111111111111111111111111111", "22222222222222222222222222222222")
BEGIN = 1_789_711_904_000_000

Fields = list[tuple[str, bytes]]

WRITER: Fields = [
    ("_HOSTNAME", b"box"),
    ("_TRANSPORT", b"stdout"),
    ("PRIORITY", b"6"),
    ("_PID", b"4711"),
    ("_COMM", b"server"),
    ("_SYSTEMD_UNIT", b"server.service"),
    ("_SYSTEMD_CGROUP", b"/system.slice/server.service"),
    ("_SYSTEMD_INVOCATION_ID", b"0123456789abcdef0123456789abcdef"),
    ("SYSLOG_IDENTIFIER", b"server"),
]
MANAGER: Fields = [
    ("_HOSTNAME", b"box"),
    ("_TRANSPORT", b"journal"),
    ("_PID", b"1"),
    ("_COMM", b"systemd"),
    ("_SYSTEMD_UNIT", b"init.scope"),
    ("SYSLOG_IDENTIFIER", b"systemd"),
    ("UNIT", b"server.service"),
    ("INVOCATION_ID", b"0123456789abcdef0123456789abcdef"),
]
KERNEL: Fields = [("_HOSTNAME", b"box"), ("_TRANSPORT", b"kernel"), ("SYSLOG_IDENTIFIER", b"kernel")]

AWKWARD = (
    b"plain",
    b"plain",
    b"",
    b"tab\tand line\nfeed",
    b"10%\r 20%\r 30%",
    b"ends with a carriage return\r",
    b"\x1b[31mred\x1b[0m",
    "umlaut ä, emoji \U0001f600".encode(),
    b"not \xe4\xff UTF-8",
    b"nul \x00 inside",
    b"MESSAGE=looks like a field",
)


def entries(repeats: int = 3) -> list[Fields]:
    """All entries, of two boots, with the clock set back an hour in the second."""
    found: list[Fields] = []

    def add(boot: int, us: int, fields: Fields, *messages: bytes) -> None:
        head = [("__REALTIME_TIMESTAMP", b"%d" % (BEGIN + us)), ("_BOOT_ID", BOOTS[boot].encode())]
        head.append(("__MONOTONIC_TIMESTAMP", b"%d" % (5_000_000 + len(found))))
        found.append([*head, *fields, *(("MESSAGE", message) for message in messages)])

    add(0, 0, MANAGER, b"Started server.service - A server.")
    for turn in range(repeats):
        for number, message in enumerate(AWKWARD):
            add(0, 1000 + turn * 100 + number, WRITER, message)
        add(0, 1050 + turn * 100, WRITER, b"turn %d of a long line " % turn + b"abcdefgh%d " % turn * 700)
    add(0, 5000, WRITER, b"two", b"values")
    add(0, 5001, [*WRITER, ("FOO", b"no message")])
    add(0, 5002, KERNEL, b"Out of memory: Killed process 4711 (server)")
    add(0, 5003, [*MANAGER, ("EXIT_CODE", b"killed"), ("EXIT_STATUS", b"9")], b"server.service: Main process exited")
    add(1, 9_000_000, [*WRITER, ("CONTAINER_NAME", b"box1"), ("PID", b"1")], b"a client said that it is process 1")
    add(1, 9_000_000 - 3_600_000_000, WRITER, b"after the clock was set back")
    return found


def export(listed: list[Fields]) -> bytes:
    """The entries in the export format."""
    out = bytearray()
    for fields in listed:
        for name, value in fields:
            if any(byte < 32 and byte != 9 for byte in value):
                out += name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
            else:
                out += name.encode() + b"=" + value + b"\n"
        out += b"\n"
    return bytes(out)
