r"""The one boundary where text from logs becomes printable: everything that could act or hide is shown instead.

One scheme serves every format. A character that does not print as itself is written as an escape:

    \t \n \r          the three controls that have a name
    \x1b              any other byte-sized thing: a C0 control, DEL, or a byte that is not UTF-8 (then \x80 or above)
    \u202e \U000e0041 any other character that is invisible, moves text about, or has no agreed look
    \\                a backslash
    \x3a \x23         a colon or number sign with which a build server's command begins (`::error::`, `##[group]`)

Because a backslash is always doubled, an escape in the output can only have come from the character it names:
`original` undoes `visible` exactly. Apply it once, when text is printed; twice would double the backslashes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.text import Text

__all__ = [
    "excerpt",
    "fold",
    "for_csv",
    "for_html",
    "for_markdown",
    "for_markdown_block",
    "for_terminal",
    "original",
    "visible",
]

NAMED = {"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"}

BLANK_BUT_PRINTABLE = frozenset(
    "\u034f"  # combining grapheme joiner
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\u17b4\u17b5"  # Khmer inherent vowels
    "\u180b\u180c\u180d\u180f"  # Mongolian variation selectors
    "\u2800"  # Braille blank
    + "".join(map(chr, range(0xFE00, 0xFE10)))  # variation selectors
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
"""Characters that `str.isprintable` accepts although a reader sees nothing."""

MARKS_IN_A_ROW = 3
"""Combining marks that a letter may carry; real writing needs no more, a stack of them paints over other lines."""

COMMAND = re.compile(
    r"""(?xi)
    : (?= : (?: add-(?:mask|matcher|path) | debug | echo | endgroup | error | group | internal-set-repo-path | notice
              | remove-matcher | save-state | set-(?:env|output) | stop-commands | warning ) (?: \s | :: ) )
    | \# (?= \# (?: vso | teamcity )? \[ )
    """
)
"""What a build server obeys in what a step prints: GitHub's own at a line's beginning, the others anywhere in it."""

ESCAPE = re.compile(r"\\(?:[\\tnr]|(?P<letter>[xuU])(?P<digits>(?<=x)[0-9a-f]{2}|(?<=u)[0-9a-f]{4}|(?<=U)[0-9a-f]{8}))")


def visible(text: str | bytes, ascii_only: bool = False) -> str:
    """Show text with everything that could act or hide written as an escape; the result is one printable line.

    Args:
        text: Bytes are read as UTF-8. In a string, U+DC80 to U+DCFF stand for bytes that were not, as Python's
            `surrogateescape` has it.
        ascii_only: Write every other character as an escape too, for a console that has no more.
    """
    if isinstance(text, str) and text.isascii() and text.isprintable() and "\\" not in text and not _may_order(text):
        return text
    return "".join(_pieces(text, ascii_only))


def _may_order(text: str) -> bool:
    """A quick look for what `COMMAND` would find."""
    return "::" in text or "##" in text


def _pieces(text: str | bytes, ascii_only: bool) -> Iterator[str]:
    """Each character as it is shown."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    commands = {found.start() for found in COMMAND.finditer(text)} if _may_order(text) else ()
    marks = MARKS_IN_A_ROW  # as if the line began in the middle of a full stack: a mark needs a letter to sit on
    for place, character in enumerate(text):
        is_mark = not character.isascii() and unicodedata.category(character) in ("Mn", "Me")
        marks = marks + 1 if is_mark else 0
        shown = character.isprintable() and character not in BLANK_BUT_PRINTABLE and character != "\\"
        if (ascii_only and not character.isascii()) or place in commands:
            shown = False
        if shown and marks <= MARKS_IN_A_ROW:
            if character == " ":
                marks = MARKS_IN_A_ROW
            yield character
        else:
            marks = MARKS_IN_A_ROW
            yield _escape(character)


def _escape(character: str) -> str:
    code = ord(character)
    if character in NAMED:
        return NAMED[character]
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def original(text: str) -> str:
    """Undo `visible`: the string as it was, with `surrogateescape` for bytes that were not UTF-8."""
    return ESCAPE.sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    escape = match[0]
    for character, name in NAMED.items():
        if escape == name:
            return character
    code = int(match["digits"], 16)
    return chr(code + 0xDC00 if match["letter"] == "x" and code >= 0x80 else code)


def fold(text: str | bytes, cells: int, ascii_only: bool = False) -> list[str]:
    """Cut text into lines of at most so many terminal cells, as it is shown.

    An escape is never torn; words are not either, where a space is in the last third of the line.
    """
    lines: list[str] = []
    line, room, break_at = "", cells, 0
    for piece in _pieces(text, ascii_only):
        width = cell_len(piece)
        if width > room and line:
            cut = break_at if break_at * 3 >= len(line) * 2 else len(line)
            lines.append(line[:cut])
            line, break_at = line[cut:], 0
            room = cells - cell_len(line)
        line += piece
        room -= width
        if piece == " ":
            break_at = len(line)
    return [*lines, line] if line or not lines else lines


def excerpt(text: str | bytes, cells: int, ascii_only: bool = False) -> str:
    """Show the beginning of a text in at most so many terminal cells, with "…" where it was cut."""
    lines = fold(text, cells, ascii_only)
    mark = "..." if ascii_only else "…"
    return lines[0] if len(lines) == 1 else fold(text, cells - len(mark), ascii_only)[0] + mark


def for_terminal(text: str | bytes, style: str = "") -> Text:
    """Make a rich text of it: never markup, so `[bold]` and `[link=…]` are letters."""
    return Text(visible(text), style=style)


def for_html(text: str | bytes) -> str:
    """Make it fit for HTML text and quoted attributes."""
    return html.escape(visible(text), quote=True)


def for_csv(text: str | bytes) -> str:
    """Make it fit for a field that a spreadsheet opens; the writer still quotes (`csv.QUOTE_ALL`).

    What begins like a formula, or like a text that was already marked as none, gets the spreadsheets' text mark.
    """
    shown = visible(text)
    return "'" + shown if shown.lstrip(" ").startswith(tuple("=+-@'|%＝＋－＠")) else shown


SIGNS = frozenset("=·→—–−…×±+/")
"""Words that mean nothing to Markdown inside a line."""

PLAIN_WORD = re.compile(
    r"""(?x)
    [(\"'“]*+
    (?: [+−±-]? [^\W_]++ (?: [.,:'’/×–−-] [^\W_]++ )*+ %?
    |   %
    )
    [\"'”)…]*+ [.,;:]? [\"'”)…]*+
    """
)
"""A word that no dialect of Markdown can read as anything but a word: no colon pair, no scheme, no mark-up."""

LIVE_WORD = re.compile(r":[^\W\d]|//|(?i:\bwww\.)")
"""What PLAIN_WORD lets through and some dialects make a link or an emoji of."""

LIST_MARK = re.compile(r"(?:\d+[.)]|[+-])")


def for_markdown(text: str | bytes) -> str:
    """Make it fit for any place in a line of Markdown, a table cell too.

    Plain words stay as they are, whatever else goes into code spans: there no dialect knows mark-up, HTML, entities,
    links, mentions or emoji.
    """
    result: list[str] = []
    foreign: list[str] = []
    words = visible(text).split(" ")
    for number, word in enumerate(words):
        if word in SIGNS:
            is_plain = number > 0
        elif word:
            is_plain = bool(PLAIN_WORD.fullmatch(word)) and not LIVE_WORD.search(word)
            is_plain = is_plain and (number > 0 or not LIST_MARK.fullmatch(word))
        else:  # two spaces: only a code span keeps them
            is_plain = False
        if is_plain and foreign:
            result.append(_code_span(" ".join(foreign)))
            foreign = []
        if is_plain:
            result.append(word)
        else:
            foreign.append(word)
    if foreign:
        result.append(_code_span(" ".join(foreign)))
    return " ".join(result)


def _code_span(shown: str) -> str:
    if not shown:
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    # A parser takes one space away at each end, unless there is nothing but spaces.
    pad = " " if shown.strip(" ") and (shown.startswith(("`", " ")) or shown.endswith(("`", " "))) else ""
    return fence + pad + shown.replace("|", r"\|") + pad + fence


def for_markdown_block(lines: Iterable[str | bytes]) -> str:
    """Make a code block of lines, with a fence that none of them can close."""
    shown = [visible(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_run, shown), default=0) + 1)
    return "\n".join([fence, *shown, fence])


def _longest_run(shown: str) -> int:
    return max((len(run) for run in re.findall("`+", shown)), default=0)
