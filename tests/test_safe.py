"""Nothing that a log can hold acts or hides once it is printed."""

from __future__ import annotations

import csv
import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from forensics.safe import (
    excerpt,
    fold,
    for_csv,
    for_html,
    for_markdown,
    for_markdown_block,
    for_terminal,
    original,
    visible,
)

CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]

HOSTILE = [
    "\x1b]8;;http://evil.example/\x07click\x1b]8;;\x07",
    "\x1b]52;c;ZWNobyBwd25lZA==\x07",
    "\x1b[2J\x1b[1;1H\x1b[31mall is well",
    "\x1bP$q q\x1b\\",
    "\x9b31mred by C1\x9b0m",
    "\x9d52;c;eA==\x9c",
    "load\r GPU 0 is empty",
    "one\ntwo\u2028three\u2029four\x85five\x0bsix\x0cseven",
    "user\u202etxt.exe\u202c \u2066isolate\u2069 \u200fmark",
    "zero\u200bwidth\u200d\ufeff\u00ad\u2060join\u180eed",
    "tag\U000e0041\U000e0042 variation\ufe0f\U000e0100 filler\u3164\u115f",
    "Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308algo",
    "\u0301mark on nothing",
    "lone \ud800 surrogate \udfff and byte \udc80",
    "private \ue000 \U0010ffff unassigned \u0378",
    "no\u00a0break\u3000wide",
    "[bold]loud[/bold] [link=http://evil.example]x[/link] [/] [@click=app.quit]y[/]",
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' &lt; &#60;",
    "=cmd|' /C calc'!A0",
    '@SUM(1+1)*cmd|" /C calc"!A0',
    "+1-1",
    "`code` ``more`` ```fence",
    "| a | b |",
    "[text](javascript:alert(1)) ![i](http://evil.example/p.png) <http://evil.example>",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "***",
    "~~~",
    "http://evil.example www.evil.example a@evil.example @everyone #1 :smile:",
    "    indented",
    "trailing\\",
    r"literal \x1b and \\x1b and \n",
    "$x$ and $`y`$",
]


@pytest.mark.parametrize("code", CONTROLS, ids=hex)
def test_every_control_character_is_shown_as_an_escape(code: int) -> None:
    named = {9: r"\t", 10: r"\n", 13: r"\r"}
    expected = named.get(code, f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}")
    assert visible(f"a{chr(code)}b") == f"a{expected}b"


@pytest.mark.parametrize("byte", range(0x80, 0x100), ids=hex)
def test_a_byte_that_is_not_utf_8_is_shown_by_its_value_and_not_taken_for_a_character(byte: int) -> None:
    assert visible(bytes([0x61, byte, 0x62])) == f"a\\x{byte:02x}b"


def test_text_that_prints_as_itself_is_left_alone() -> None:
    line = "load_tensors: CUDA0 model buffer size = 6742.14 MiB — größer, 日本語, e\u0301, हिन्दी"
    assert visible(line) == line
    assert visible(line.encode()) == line


def test_a_backslash_is_doubled_so_that_an_escape_always_means_a_character() -> None:
    assert visible("\\x1b") == "\\\\x1b"
    assert visible("\x1b") == "\\x1b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", r"a\u202eb"),
        ("a\u200bb", r"a\u200bb"),
        ("\ufeffa", r"\ufeffa"),
        ("a\U000e0041", r"a\U000e0041"),
        ("a\u3164b", r"a\u3164b"),
        ("a\ufe0f", r"a\ufe0f"),
        ("a\ud800", r"a\ud800"),
        ("a\u00a0b", r"a\u00a0b"),
        ("a\u0301\u0301\u0301\u0301b", "a\u0301\u0301\u0301\\u0301b"),
        (" \u0301", r" \u0301"),
    ],
    ids=["bidi", "zero width", "byte order mark", "tag", "filler", "variation", "surrogate", "blank", "stack", "mark"],
)
def test_what_hides_or_moves_text_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_line_has_nothing_left_that_acts(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert original(shown) == text


@given(st.text(st.characters(codec=None)))
def test_every_text_comes_back_from_what_was_shown(text: str) -> None:
    assert visible(text).isprintable()
    assert original(visible(text)) == text


@given(st.binary())
def test_all_bytes_come_back_from_what_was_shown(raw: bytes) -> None:
    assert original(visible(raw)).encode("utf-8", "surrogateescape") == raw


@given(st.text())
def test_a_console_without_unicode_gets_ascii_that_means_the_same(text: str) -> None:
    shown = visible(text, ascii_only=True)
    assert shown.isascii()
    assert original(shown) == text


@given(st.text(), st.integers(10, 40))
def test_folding_loses_nothing_and_tears_no_escape(text: str, cells: int) -> None:
    assert "".join(fold(text, cells)) == visible(text)
    assert "".join(map(original, fold(text, cells))) == text


def test_an_excerpt_is_marked_where_it_was_cut_and_never_inside_an_escape() -> None:
    assert excerpt("buffer\x1bsize", 20) == r"buffer\x1bsize"
    assert excerpt("buffer\x1bsize", 10) == "buffer…"
    assert excerpt("buffer\x1bsize", 11) == r"buffer\x1b…"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_rich_prints_a_hostile_line_as_letters(text: str) -> None:
    file = io.StringIO()
    Console(file=file, width=1000, force_terminal=True, color_system="truecolor").print(for_terminal(text))
    assert file.getvalue() == visible(text) + "\n"


def _inline_texts(markdown: str) -> tuple[set[str], str]:
    """The kinds of inline things a parser finds, and the text a reader sees."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(f"first {markdown}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    return {child.type for child in children}, "".join(child.content for child in children)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_markdown_of_a_hostile_line_is_words_and_code(text: str) -> None:
    kinds, seen = _inline_texts(for_markdown(text))
    assert kinds <= {"text", "code_inline"}
    assert seen.replace(r"\|", "|") == "first " + visible(text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_markdown_of_a_hostile_line_stays_one_paragraph_at_the_beginning_of_a_line_too(text: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(for_markdown(text))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_markdown_of_a_hostile_line_stays_in_its_table_cell(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {for_markdown(text)} | end |"
    cells = [token for token in MarkdownIt("gfm-like", {"linkify": False}).parse(table) if token.type == "inline"]
    assert [cell.content for cell in cells[:2]] == ["a", "b"]
    assert len(cells) == 4
    assert cells[3].content == "end"


@given(st.text(st.characters(codec=None)))
def test_markdown_of_any_text_is_words_and_code(text: str) -> None:
    kinds, _ = _inline_texts(for_markdown(text))
    assert kinds <= {"text", "code_inline"}


def test_markdown_of_prose_stays_readable() -> None:
    sentence = "Qwen3.6-27B-Q4_0 holds 32.00 GiB on two cards. All but 5 MiB (0.1 %) is named; ready 11:07:28 UTC."
    assert for_markdown(sentence) == (
        "`Qwen3.6-27B-Q4_0` holds 32.00 GiB on two cards. All but 5 MiB (0.1 %) is named; ready 11:07:28 UTC."
    )


def test_a_markdown_block_cannot_be_closed_by_a_line_of_it() -> None:
    assert for_markdown_block(["a", "````", "b\n```"]) == "`````\na\n````\nb\\n```\n`````"


def test_html_is_text() -> None:
    assert for_html("</script>\x1b & \"x\" 'y'") == "&lt;/script&gt;\\x1b &amp; &quot;x&quot; &#x27;y&#x27;"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "  =1", "'=1", "|calc", "%x", "＝1"])
def test_a_csv_field_that_looks_like_a_formula_is_marked_as_text(text: str) -> None:
    assert for_csv(text) == "'" + text


def test_a_csv_field_never_breaks_its_row() -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerow([for_csv('a"b,c\r\n=cmd;=cmd'), for_csv("plain")])
    assert file.getvalue() == '"a""b,c\\r\\n=cmd;=cmd","plain"\r\n'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error file=a::b", r"\x3a:error file=a::b"),
        ("at  ::set-output name=a::b", r"at  \x3a:set-output name=a::b"),
        ("x::ADD-MASK::y", r"x\x3a:ADD-MASK::y"),
        ("a ##[group]b", r"a \x23#[group]b"),
        ("##vso[task.complete]", r"\x23#vso[task.complete]"),
        ("std::vector::push ## heading ::1 fe80::1", "std::vector::push ## heading ::1 fe80::1"),
    ],
)
def test_an_order_to_a_build_server_is_shown_and_other_colons_are_left_alone(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert original(shown) == text
    assert "".join(fold(text, 12)) == shown
