"""Journal entries as JSON: exact values, whatever shape journalctl gave them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reading import Record, read

from forensics.records import Problem, Stream

STREAM = Stream("f", pid=42, transport="stdout", trusted=True)


def entry(message: object, **more: object) -> bytes:
    fields = {"__REALTIME_TIMESTAMP": "5", "_PID": "42", "_TRANSPORT": "stdout", "MESSAGE": message}
    return json.dumps({**fields, **more}).encode() + b"\n"


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("say ä\ttwo\nlines", ["say ä\ttwo\nlines".encode()]),
        ("[27,91,51]", [b"[27,91,51]"]),
        ([27, 91, 255, 0], [b"\x1b[\xff\0"]),
        ([], [b""]),
        (["one", [116, 119, 111]], [b"one", b"two"]),
    ],
    ids=["text", "text-like-an-array", "bytes", "empty", "several"],
)
def test_a_message_keeps_its_exact_bytes(tmp_path: Path, value: object, messages: list[bytes]) -> None:
    line = entry(value)
    records, _, source = read(tmp_path, line)
    assert records == [Record(message, 0, len(line) - 1, 5, STREAM) for message in messages]
    assert (source.format, source.problems) == ("journal-json", [])


def test_a_message_that_was_not_printed_is_counted_with_the_remedy(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, entry("one") + entry(None) + entry(["two", None]))
    assert [record.message for record in records] == [b"one", b"two"]
    what = "messages were too long to be printed and stand as null"
    remedy = "export again with journalctl --all -o json, or -o export"
    assert source.problems == [Problem("f", "loss", what, remedy, len(entry("one")), 2)]


def test_torn_and_foreign_lines_are_counted(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, entry("one") + b'{"MESSAGE":"tw\n[1]\n' + b"[" * 100_000 + b"\n" + entry("two"))
    assert [record.message for record in records] == [b"one", b"two"]
    what = "lines that are no journal entry"
    assert source.problems == [Problem("f", "loss", what, "get an intact copy", len(entry("one")), 3)]


def test_only_the_manager_speaks_of_other_units(tmp_path: Path) -> None:
    forged = entry("x", UNIT="a.service", INVOCATION_ID="i1")
    said = entry("x", _PID="1", _TRANSPORT="journal", UNIT="a.service", INVOCATION_ID="i1", EXIT_CODE="killed")
    records, _, _ = read(tmp_path, forged + said)
    manager = Stream("f", None, None, "a.service", "i1", 1, None, None, "journal", trusted=True, manager=True)
    assert [record.stream for record in records] == [STREAM, manager]


def test_blank_lines_and_values_that_are_no_text_are_not_taken_for_text(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, entry("one") + b"\n" + entry([300, "two"]) + entry({"a": 1}))
    assert [record.message for record in records] == [b"one", b"two"]
    assert [(problem.severity, problem.count) for problem in source.problems] == [("loss", 2)]


def test_lines_of_the_manager_about_one_unit_are_of_one_stream(tmp_path: Path) -> None:
    manager = {"_PID": "1", "_TRANSPORT": "journal", "UNIT": "a.service"}
    records, _, _ = read(tmp_path, entry("starting", **manager) + entry("started", **manager))
    stream = Stream("f", unit="a.service", pid=1, transport="journal", trusted=True, manager=True)
    assert [record.stream for record in records] == [stream, stream]
