"""Screens, Markdown and JSON of an answer: complete, safe, within their width, the same on every run."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_documents import (
    cpu_only,
    document,
    engine,
    failed_load,
    hostile,
    load,
    log_only,
    overnamed,
    ping_pong,
    plain,
    silent,
    two_cards,
)
from rich.cells import cell_len
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from forensics.amounts import clock, count, duration, gib, mib, span
from forensics.amounts import plain as in_prose
from forensics.bars import Fill, Segment, bar
from forensics.report import render_json, render_markdown, render_table
from forensics.safe import visible

MIB = 1024 * 1024

Json = dict[str, Any]

EVERY = {
    "two cards": two_cards,
    "one card": plain,
    "failed": failed_load,
    "silent": silent,
    "log only": log_only,
    "no card": cpu_only,
    "many loads": ping_pong,
    "engine": engine,
    "over-named": overnamed,
    "hostile": hostile,
}


def screen(answer: Json, width: int = 80, colour: bool = False, encoding: str = "utf-8", **more: Any) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = Console(
        file=file, width=width, force_terminal=colour, color_system="standard" if colour else None, legacy_windows=False
    )
    render_table(answer, console, **more)
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    return file.buffer.getvalue().decode(encoding)


def shown(text: str) -> str:
    """A screen for a snapshot: its escape sequences in letters."""
    return "\n".join(map(visible, text.split("\n")))


# -- the screen -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", [80, 120])
def test_a_load_on_two_cards(snapshot: SnapshotAssertion, width: int, colour: bool) -> None:
    assert shown(screen(two_cards(), width, colour)) == snapshot


@pytest.mark.parametrize(
    "name", ["one card", "failed", "silent", "log only", "no card", "many loads", "engine", "over-named"]
)
def test_a_screen(snapshot: SnapshotAssertion, name: str) -> None:
    assert screen(EVERY[name]()) == snapshot


def test_the_legend_points_to_each_line_and_shows_it(snapshot: SnapshotAssertion) -> None:
    assert screen(failed_load(), evidence=True) == snapshot


def test_a_console_without_unicode_gets_the_same_in_ascii(snapshot: SnapshotAssertion) -> None:
    assert screen(plain(), encoding="ascii") == snapshot


def test_a_load_on_two_cards_fits_a_screen_of_fifty_lines() -> None:
    assert len(screen(two_cards()).splitlines()) < 50


def test_colours_are_never_needed() -> None:
    coloured = screen(two_cards(), colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == screen(two_cards())


@pytest.mark.parametrize("evidence", [False, True], ids=["short", "evidence"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [40, 60, 80, 120, 300])
@pytest.mark.parametrize("name", EVERY)
def test_no_line_is_wider_than_the_console_or_ends_in_spaces(
    name: str, width: int, encoding: str, evidence: bool
) -> None:
    for line in screen(EVERY[name](), width, encoding=encoding, evidence=evidence).splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_nothing_is_cut_without_a_mark(width: int) -> None:
    def letters(text: str) -> str:
        return re.sub(r"[\s·]+", "", text)

    narrow = letters(screen(two_cards(), width))
    for text in (
        "262144 cells, q8_0",
        "worst-case estimate of the vision tower, 669.15 MiB",
        "MTP and runtime",
        "0 … +13",
    ):
        assert letters(text) in narrow


def test_figure_and_unit_stay_on_one_line() -> None:
    for width in range(40, 100):
        assert not re.search(r"[\d.]\n *(MiB|GiB|%)", screen(engine(), width))


def test_the_newest_load_is_shown_in_full_and_the_one_asked_for_instead() -> None:
    older = load(
        [], load_id="0001aaaa", model="older", begun_at="2026-11-15T10:00:00Z", ready_at="2026-11-15T10:00:05Z"
    )
    newer = load(
        [], load_id="0002bbbb", model="newer", begun_at="2026-11-15T11:00:00Z", ready_at="2026-11-15T11:00:05Z"
    )
    answer = document([newer, older])
    assert "· load 0002bbbb\n" in screen(answer)
    assert "  0001aaaa  older  10:00:00  nothing named\n" in screen(answer)
    assert "· load 0001aaaa\n" in screen(answer, load="0001")
    assert "· load 0001aaaa\n" in screen(answer, load="older")
    assert "  0002bbbb  newer  11:00:00  nothing named\n" in screen(answer, load="older")


def test_a_long_list_is_cut_with_a_count_unless_evidence_is_asked_for() -> None:
    answer = document([load([])], set_aside=[{"what": f"thing {number}", "why": "planned"} for number in range(20)])
    assert "  … and 13 more; --evidence and --format json show all\n" in screen(answer)
    assert "  thing 19: planned\n" in screen(answer, evidence=True)


def test_what_was_set_aside_names_its_owner_if_that_is_another_load() -> None:
    other = load([], load_id="0001aaaa", model="other", begun_at="2026-11-15T10:00:00Z")
    entries = [
        {"what": "KV line", "why": "written by another load", "load_id": "0001aaaa", "mib": 512.0},
        {"what": "fit line", "why": "planned", "load_id": "a41f09c2"},
    ]
    text = screen(document([other, load([])], set_aside=entries))
    assert "  KV line, 512.00 MiB: written by another load (of load 0001aaaa, other)\n  fit line: planned\n" in text


def test_a_verdict_and_a_next_step_of_the_document_are_printed_as_they_are() -> None:
    text = screen(document([load([])], verdict="It is so.", next="Do this."))
    assert text.startswith("It is so.\n")
    assert text.endswith("\nNext  Do this.\n")


def test_memory_of_a_neighbour_is_not_counted_as_free_or_as_the_loads() -> None:
    rows = screen(engine()).splitlines()
    cells = next(line for line in rows if line.startswith("█"))
    assert (cells.count("╱"), cells.count("·")) == (12, 32)
    assert "  ╱ besides: pid 900 “python3 -m other.server” 21000 · 13 held by no process" in rows


# -- all of them ------------------------------------------------------------------------------------------------------


def unsafe(text: str) -> set[str]:
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")} - {"\n"}


@pytest.mark.parametrize("name", EVERY)
def test_nothing_printed_can_act(name: str) -> None:
    answer = EVERY[name]()
    for text in (screen(answer, evidence=True), render_markdown(answer), render_json(answer)):
        assert unsafe(text) == set()
    assert unsafe("".join(_strings(json.loads(render_json(answer))))) == set()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container of a document with each key or position in it."""
    if isinstance(value, dict | list):
        for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places(each)


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "x\x1b[2J", "2026-13-45", 3, -1.5, float("nan"), float("inf"), True, [], {}, ["x"], [None]]
).map(deepcopy)  # one list put in two places would make the document contain itself


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(EVERY)), st.data())
def test_no_absent_or_odd_value_stops_a_report(name: str, data: st.DataObject) -> None:
    answer = EVERY[name]()
    for _ in range(data.draw(st.integers(1, 4))):
        all_places = list(places(answer))
        container, key = all_places[data.draw(st.integers(0, len(all_places) - 1))]
        if isinstance(container, dict) and data.draw(st.booleans()):
            container.pop(key, None)
        elif isinstance(container, dict) or key < len(container):
            container[key] = data.draw(ODD)
    text = screen(answer, evidence=True)
    assert text.strip()
    assert max(map(cell_len, text.splitlines())) <= 80
    assert unsafe(text + render_markdown(answer) + render_json(answer)) == set()


def test_an_empty_document_says_that_it_cannot_tell() -> None:
    assert screen({}) == (
        "Cannot attribute: no model load was found in this evidence.\n"
        "\n"
        "Next  Give the log of the server from its start, or the journal of its unit.\n"
    )


# -- Markdown ---------------------------------------------------------------------------------------------------------


def test_markdown_of_a_load_on_two_cards(snapshot: SnapshotAssertion) -> None:
    assert render_markdown(two_cards()) == snapshot


@pytest.mark.parametrize("name", EVERY)
def test_markdown_has_nothing_in_it_but_what_the_report_put_there(name: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(render_markdown(EVERY[name]()))
    blocks = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}
    assert blocks <= {
        "paragraph",
        "inline",
        "fence",
        "bullet_list",
        "list_item",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= {"text", "code_inline", "strong_open", "strong_close", "softbreak"}


@pytest.mark.parametrize("name", ["two cards", "hostile"])
def test_every_row_of_a_markdown_table_has_seven_cells(name: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(render_markdown(EVERY[name]()))
    rows = [token for token in tokens if token.type == "tr_open"]
    cells = [token for token in tokens if token.type in ("td_open", "th_open")]
    assert len(rows) == 18
    assert len(cells) == 7 * len(rows)


# -- JSON -------------------------------------------------------------------------------------------------------------


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", EVERY)
def test_json_has_the_same_bytes_however_its_keys_came(name: str) -> None:
    answer = EVERY[name]()
    assert render_json(reversed_keys(answer)) == render_json(answer)
    assert render_json(json.loads(json.dumps(answer))) == render_json(answer)


def test_json_of_harmless_text_is_the_document_itself() -> None:
    assert json.loads(render_json(two_cards())) == two_cards()


def test_json_keys_stand_in_the_order_of_the_contract_and_unknown_ones_after_them() -> None:
    answer = {
        "zoo": 1,
        "evidence": {"b": {"text": "t", "source": "s"}, "a": {}},
        "cards": [{"used_bytes": 1, "zoo": 0, "gpu_index": 0, "used_mib": 1.0}],
        "loads": [{"devices": [{"items": [{"bytes": 1, "note": "n", "mib": 1.0, "part": "p"}]}], "load_id": "l"}],
        "schema": "x",
    }
    assert (
        render_json(answer)
        == json.dumps(
            {
                "schema": "x",
                "cards": [{"gpu_index": 0, "used_mib": 1.0, "used_bytes": 1, "zoo": 0}],
                "loads": [
                    {"load_id": "l", "devices": [{"items": [{"part": "p", "mib": 1.0, "bytes": 1, "note": "n"}]}]}
                ],
                "evidence": {"a": {}, "b": {"source": "s", "text": "t"}},
                "zoo": 1,
            },
            indent=2,
        )
        + "\n"
    )


def test_json_has_no_number_that_is_none_and_sorts_what_has_no_order() -> None:
    answer = {"ambiguous": [{"candidates": ["b", "a"]}], "x": float("nan"), "y": -0.0, "z": {"b", "a"}}
    assert json.loads(render_json(answer)) == {
        "ambiguous": [{"candidates": ["a", "b"]}],
        "x": None,
        "y": 0.0,
        "z": ["a", "b"],
    }
    assert "-0" not in render_json(answer)


# -- figures and bars -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (mib(round(6742.14 * MIB)), "6742.14"),
        (mib(-817890), "−0.78"),
        (mib(-1), "0.00"),
        (mib(15002 * MIB, 0), "15002"),
        (gib(32772 * MIB), "32.00 GiB"),
        (in_prose(5 * MIB), "5 MiB"),
        (in_prose(1184 * MIB), "1.16 GiB"),
        (in_prose(1), "less than 1 MiB"),
        (in_prose(0), "0 MiB"),
        (span((586 * MIB, 598 * MIB)), "586–598"),
        (span((-7140804, 5505024), signed=True), "−7 … +6"),
        (span((0, 12666799), signed=True), "0 … +13"),
        (span((-5243, 5243), signed=True), "−0.01 … +0.01"),
        (count(2, "card"), "two cards"),
        (count(1, "card"), "one card"),
        (count(12, "card"), "12 cards"),
        (clock("2026-11-15T11:07:28.4+00:00"), "2026-11-15 11:07:28 UTC"),
        (clock("2026-11-15T11:07:28+01:00"), "2026-11-15 11:07:28 +0100"),
        (clock("2026-11-15T11:07:28Z", after="2026-11-15T11:07:27Z"), "11:07:28"),
        (clock("2026-11-16T00:00:01Z", after="2026-11-15T11:07:27Z"), "2026-11-16 00:00:01 UTC"),
        (clock("yesterday"), "yesterday"),
        (duration("2026-11-15T11:07:17.15Z", "2026-11-15T11:07:27.33Z"), "10.2 s"),
        (duration("2026-11-15T11:07:17Z", "2026-11-15T11:09:27Z"), "2 min 10 s"),
        (duration("", "2026-11-15T11:09:27Z"), ""),
    ],
)
def test_a_figure_in_print(printed: str, expected: str) -> None:
    assert printed == expected


def test_a_bar_is_proportional_to_the_card() -> None:
    segments = [Segment(Fill.WEIGHTS, 40), Segment(Fill.CACHE, 20), Segment(Fill.WEIGHTS, 10)]
    assert bar(segments, 100, 10) == [(Fill.WEIGHTS, 5), (Fill.CACHE, 2), (Fill.FREE, 3)]


def test_a_negative_rest_takes_no_cell_and_more_than_the_card_shrinks_the_scale() -> None:
    segments = [Segment(Fill.WEIGHTS, 150), Segment(Fill.CACHE, 50), Segment(Fill.UNEXPLAINED, -100)]
    assert bar(segments, 100, 8) == [(Fill.WEIGHTS, 6), (Fill.CACHE, 2)]


@given(
    st.lists(st.tuples(st.sampled_from(Fill), st.integers(-10, 10**12))), st.integers(0, 10**12), st.integers(1, 200)
)
def test_the_cells_of_a_bar_always_add_up(amounts: list[tuple[Fill, int]], total: int, cells: int) -> None:
    drawn = bar([Segment(*amount) for amount in amounts], total, cells)
    assert sum(width for _, width in drawn) in (0, cells)


def test_cards_without_the_load_are_told_with_who_holds_them() -> None:
    cards = [
        {"gpu_index": 2, "used_mib": 0, "total_mib": 24576, "free_mib": 24576},
        {"gpu_index": 3, "used_mib": 310, "total_mib": 24576, "rest_mib": 10}
        | {"holders": [{"pid": 7, "process": "/usr/lib/Xorg", "mib": 300}]},
    ]
    answer = plain()
    answer["cards"] += cards
    expected = (
        "Cards without it: GPU 2: 0 of 24576 MiB\n  GPU 3: 310 of 24576 MiB (pid 7 Xorg 300, 10 held by no process)\n"
    )
    assert expected in screen(answer)
    assert "Cards: GPU 2: 0 of 24576 MiB\n  GPU 3: 310 of 24576 MiB (pid 7" in screen({"cards": cards})


def test_a_holder_of_the_same_process_that_belongs_to_another_load_is_told_as_that_loads() -> None:
    answer = plain()
    answer["loads"].insert(0, load([], load_id="0001aaaa", model="other", begun_at="2026-11-15T10:00:00Z"))
    answer["cards"][0]["holders"].append({"pid": 5226, "process": "server", "mib": 200, "load_id": "0001aaaa"})
    assert "  ╱ besides: pid 5226 server (other) 200 · 212 held by no process" in screen(answer)
