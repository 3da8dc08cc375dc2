"""Of a journal, in whatever form, only what is asked for is read: units, boots, a span, trusted fields."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from journals_text import BEGIN, BOOTS, entries, export
from reading import read

from forensics.records import Block, Options, read_inputs

NATIVE = Path(__file__).parent / "journals" / "regular.journal.gz"
PASSED = "entries outside what is asked for were passed over"
UNSAID = "entries do not say what is asked for (unit, boot or time), and were read"


def as_json() -> bytes:
    """The same entries as `journalctl -o json --all` prints them."""
    lines = []
    for fields in entries():
        said: dict[str, object] = {}
        for name, value in fields:
            plain: object = list(value)
            if not any(byte < 32 or byte > 126 for byte in value):
                plain = value.decode()
            said[name] = [said[name], plain] if name in said else plain
        lines.append(json.dumps(said).encode() + b"\n")
    return b"".join(lines)


def as_verbose() -> bytes:
    """The same entries as `journalctl -o verbose --all` prints them, but for the time before each cursor."""
    lines = []
    for fields in entries():
        said = dict(fields)
        time, elapsed = (int(said[f"__{clock}_TIMESTAMP"]) for clock in ("REALTIME", "MONOTONIC"))
        boot = said["_BOOT_ID"].decode()
        lines.append(f"Mon 2026-09-14 06:11:44.000000 UTC [s=5e;i=1;b={boot};m={elapsed:x};t={time:x};x=0]\n".encode())
        for name, value in fields:
            if not name.startswith("__"):
                head = f"    {name}=".encode()
                lines.append(head + value.replace(b"\n", b"\n" + b" " * len(head)) + b"\n")
    return b"".join(lines)


def of_native(options: Options) -> list[tuple[bytes, int]]:
    blocks = [one for one in read_inputs([NATIVE], options=options) if isinstance(one, Block)]
    return [(message, int(block.times[at]) - BEGIN) for block in blocks for at, message in enumerate(block.messages())]


ASKED = {
    "another unit": Options(units=frozenset({"other.service"})),
    "a boot": Options(boots=frozenset({BOOTS[1]})),
    "a span": Options(since_us=BEGIN + 1002, until_us=BEGIN + 1105),
    "a field": Options(fields=(("_COMM", frozenset({"server"})),)),
    "a field that streams do not have": Options(
        fields=(("_SYSTEMD_CGROUP", frozenset({"/system.slice/server.service", "/x"})),)
    ),
    "two fields": Options(fields=(("_COMM", frozenset({"server"})), ("_PID", frozenset({"1"})))),
    "everything at once": Options(
        boots=frozenset({BOOTS[0]}),
        units=frozenset({"server.service"}),
        since_us=BEGIN + 1003,
        fields=(("_PID", frozenset({"4711", "1"})),),
    ),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_all_forms_of_a_journal_are_narrowed_alike(tmp_path: Path, asked: Options) -> None:
    everything = of_native(Options())
    wanted = of_native(asked)
    assert len(wanted) < len(everything)
    for text in (export(entries()), as_json(), as_verbose()):
        records, _, source = read(tmp_path, text, asked)
        assert sorted((one.message, one.time - BEGIN) for one in records) == sorted(wanted)
        told = [one.count for one in source.problems if one.what == PASSED]
        assert sum(told) == len(everything) - len(wanted)
        assert source.records == len(records)


def test_the_kernel_is_always_heard(tmp_path: Path) -> None:
    asked = Options(units=frozenset({"x.service"}), fields=(("_COMM", frozenset({"x"})),))
    killed = b"Out of memory: Killed process 4711 (server)"
    assert [message for message, _ in of_native(asked)] == [killed]
    records, _, _ = read(tmp_path, export(entries()), asked)
    assert [one.message for one in records] == [killed]


def test_what_a_form_does_not_say_is_read_and_counted(tmp_path: Path) -> None:
    text = b"Sep 14 07:31:02 box server[4711]: one\nSep 14 07:31:03 box server[4711]: two\n"
    records, _, source = read(tmp_path, text, Options(units=frozenset({"a.service"})), modified_s=1_789_711_904)
    assert [one.message for one in records] == [b"one", b"two"]
    assert [(one.what, one.count) for one in source.problems if one.what == UNSAID] == [(UNSAID, 2)]


def test_a_file_that_is_no_journal_is_read_whole(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"one\ntwo\n", Options(units=frozenset({"a.service"}), since_us=BEGIN))
    assert [one.message for one in records] == [b"one", b"two"]
    assert source.problems == []
