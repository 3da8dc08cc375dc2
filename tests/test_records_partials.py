"""Messages that docker's journald driver split come out whole, in every form of the journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from journal_writer import journal
from journals_text import export

from forensics.records import Block, Problem, Source, read_inputs

Fields = dict[str, str]
Form = Callable[[list[Fields]], bytes]

BOX = {"_TRANSPORT": "journal", "_PID": "9", "CONTAINER_NAME": "box", "CONTAINER_ID_FULL": "abc"}
OTHER = {**BOX, "CONTAINER_NAME": "other", "CONTAINER_ID_FULL": "def"}


def as_export(entries: list[Fields]) -> bytes:
    listed = [
        [("__REALTIME_TIMESTAMP", b"%d" % (1000 + number)), *((name, value.encode()) for name, value in fields.items())]
        for number, fields in enumerate(entries)
    ]
    return export(listed)


def as_json(entries: list[Fields]) -> bytes:
    return b"".join(
        json.dumps({"__REALTIME_TIMESTAMP": str(1000 + number), **fields}).encode() + b"\n"
        for number, fields in enumerate(entries)
    )


def as_native(entries: list[Fields]) -> bytes:
    return bytes(
        journal(
            [
                (number + 1, 1000 + number, [f"{name}={value}".encode() for name, value in fields.items()])
                for number, fields in enumerate(entries)
            ]
        )
    )


def piece(message: str, ordinal: int, *, last: bool = False, box: Fields = BOX, identity: str = "p1") -> Fields:
    """A piece as Docker since 19.03 sends it."""
    fields = {"CONTAINER_PARTIAL_ID": identity, "CONTAINER_PARTIAL_ORDINAL": str(ordinal)}
    fields["CONTAINER_PARTIAL_LAST"] = "true" if last else "false"
    going_on = {} if last else {"CONTAINER_PARTIAL_MESSAGE": "true"}
    return {**box, **fields, **going_on, "MESSAGE": message}


def taken(folder: Path, content: bytes) -> tuple[list[tuple[str, int]], Source]:
    """Messages with their times, and the source; records are numbered without a gap."""
    path = folder / "f"
    path.write_bytes(content)
    *parts, source = read_inputs([path])
    assert isinstance(source, Source)
    found: list[tuple[str, int]] = []
    for part in parts:
        assert isinstance(part, Block)
        assert (part.first_record, part.partials) == (len(found), {})
        found += [(message.decode(), int(time)) for message, time in zip(part.messages(), part.times, strict=True)]
    assert source.records == len(found)
    source.problems[:] = [problem._replace(source="f", offset=None) for problem in source.problems]
    return found, source


@pytest.mark.parametrize("form", [as_export, as_json, as_native])
def test_pieces_with_an_id_are_joined_across_containers(tmp_path: Path, form: Form) -> None:
    entries = [
        {**BOX, "MESSAGE": "before"},
        piece("one ", 1),
        piece("uno ", 1, box=OTHER, identity="p2"),
        piece("two ", 2),
        piece("dos", 2, last=True, box=OTHER, identity="p2"),
        {**BOX, "MESSAGE": "between"},
        piece("three", 3, last=True),
        {**BOX, "MESSAGE": "behind"},
    ]
    found, source = taken(tmp_path, form(entries))
    assert found == [("before", 1000), ("uno dos", 1002), ("between", 1005), ("one two three", 1001), ("behind", 1007)]
    assert source.problems == []


@pytest.mark.parametrize("form", [as_export, as_json, as_native])
def test_pieces_without_an_id_end_at_the_next_whole_record_of_the_stream(tmp_path: Path, form: Form) -> None:
    going_on = {"CONTAINER_PARTIAL_MESSAGE": "true"}
    entries = [
        {**BOX, **going_on, "MESSAGE": "one "},
        {**OTHER, "MESSAGE": "other"},
        {**BOX, **going_on, "MESSAGE": "two "},
        {**BOX, "MESSAGE": "three"},
        {**BOX, "MESSAGE": "next"},
    ]
    found, source = taken(tmp_path, form(entries))
    assert found == [("other", 1001), ("one two three", 1000), ("next", 1004)]
    assert source.problems == []


@pytest.mark.parametrize("form", [as_export, as_json, as_native])
def test_pieces_that_are_missing_are_told(tmp_path: Path, form: Form) -> None:
    found, source = taken(
        tmp_path, form([piece("one ", 1), piece("three", 3, last=True), piece("open", 1, identity="q")])
    )
    assert found == [("one three", 1000), ("open", 1002)]
    assert source.problems == [
        Problem("f", "loss", "the end of a split message never came"),
        Problem("f", "loss", "pieces of split messages are missing"),
    ]


def test_a_joined_message_of_an_export_is_cited_from_its_first_piece_to_its_last(tmp_path: Path) -> None:
    content = as_export([piece("one ", 1), piece("two", 2, last=True)])
    (tmp_path / "f").write_bytes(content)
    block, _ = read_inputs([tmp_path / "f"])
    assert isinstance(block, Block)
    offset, length = int(block.offsets[0]), int(block.lengths[0])
    assert content[offset : offset + length].startswith(b"one \n")
    assert content[offset : offset + length].endswith(b"MESSAGE=two")


@pytest.mark.parametrize("form", [as_export, as_json, as_native])
def test_a_message_that_is_said_to_be_no_piece_is_whole(tmp_path: Path, form: Form) -> None:
    whole = {**BOX, "CONTAINER_PARTIAL_MESSAGE": "false", "MESSAGE": "whole"}
    messages, source = taken(tmp_path, form([whole, whole]))
    assert (messages, source.problems) == ([("whole", 1000), ("whole", 1001)], [])
