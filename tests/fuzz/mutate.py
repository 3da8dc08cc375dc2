"""Change inputs at random: bytes, numbers, lines, and whole JSON documents; the same seed gives the same change."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["HOSTILE", "LONGEST", "mutate_bytes", "mutate_json", "mutate_sql", "mutate_text"]

LONGEST = 64 * 1024
"""Bytes of an input: what is longer only takes longer."""

NUMBER = re.compile(rb"\d+(?:\.\d+)?")

NUMBERS = (
    b"0 -0 -1 1 0.00 0.01 0.005 1e308 nan inf 18446744073709551615 9223372036854775807 9223372036854775808 "
    b"17592186042155.37 4294967296 253402300800000000 99999999999999999999999999 1.7976931348623157e309 -4095.05"
).split()

HOSTILE: tuple[bytes, ...] = (
    b"\x00",
    b"\x07",
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    b"\x1b]8;;http://x.invalid\x1b\\",
    b"\x9b31m",
    b"\xc2\x9b31m",
    b"\r",
    b"\x0b",
    b"\x0c",
    b"\x85",
    b"\x7f",
    b"\xff\xfe",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    "\u202e\u2066\u200b\u2028\ufeff\U000e0041".encode(),
    "e\u0301\u0301\u0301\u0301\u0301\u0301".encode(),
    b"[bold]",
    b"[/]",
    b"[link=http://x.invalid]x[/link]",
    b"<script>alert(1)</script>",
    b"\"'><img src=x onerror=alert(1)>",
    b"&lt;&#x1b;",
    b"|x|`y`**z**",
    b"](javascript:alert(1))",
    b"=cmd|' /C calc'!A0",
    b"{{7*7}}",
    b"%s%n{}{0}",
    b"'; DROP TABLE load; --",
    b"MiB",
    b" MiB",
    b"GiB",
    b"buffer size =",
    b"\n\n",
    b"\t",
    b",",
    b'"',
    b"\\",
    b"{",
    b"[",
    b"\xef\xbb\xbf",
    b"!",
    b"..",
    b"pid=",
)
"""What breaks readers and screens: controls, what is no UTF-8, mark-up of all kinds, pieces of formats."""


def mutate_bytes(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change some bytes, numbers or stretches; `other` is another input to take stretches from."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        place = chance.randrange(len(changed) + 1)
        length = chance.choice((1, 1, 2, 4, 16, 64, 400))
        match chance.randrange(10):
            case 0 if changed:
                changed[min(place, len(changed) - 1)] ^= 1 << chance.randrange(8)
            case 1:
                changed[place:place] = chance.choice(HOSTILE)
            case 2:
                del changed[place : place + length]
            case 3:
                changed[place:place] = changed[place : place + length] * chance.choice((1, 2, 30))
            case 4:
                start = chance.randrange(len(other) + 1)
                changed[place:place] = other[start : start + length]
            case 5:
                start = chance.randrange(len(other) + 1)
                changed[place : place + length] = other[start : start + length]
            case 6 | 7:
                _renumber(changed, chance)
            case 8:
                changed[place : place + length] = bytes(chance.randrange(256) for _ in range(length))
            case _ if chance.random() < 0.2:
                del changed[place:]
    return bytes(changed[:LONGEST])


def _renumber(data: bytearray, chance: random.Random) -> None:
    found = list(NUMBER.finditer(bytes(data)))
    if found:
        one = chance.choice(found)
        data[one.start() : one.end()] = chance.choice(NUMBERS)


def mutate_text(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change lines of a text: leave out, repeat, move, exchange, weave in another's; and bytes in them."""
    lines = data.splitlines(keepends=True)
    others = other.splitlines(keepends=True)
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(lines) + 1)
        length = chance.choice((1, 1, 2, 5, 20))
        match chance.randrange(9):
            case 0:
                del lines[place : place + length]
            case 1:
                lines[place:place] = lines[place : place + length] * chance.choice((1, 1, 3))
            case 2:
                taken = lines[place : place + length]
                del lines[place : place + length]
                to = chance.randrange(len(lines) + 1)
                lines[to:to] = taken
            case 3:
                chunk = lines[place : place + length]
                chance.shuffle(chunk)
                lines[place : place + length] = chunk
            case 4:
                start = chance.randrange(len(others) + 1)
                lines[place:place] = others[start : start + length]
            case 5:
                lines = _woven(lines, others, chance)
            case _ if lines:
                at = min(place, len(lines) - 1)
                lines[at] = mutate_bytes(lines[at], other, chance)
    return b"".join(lines)[:LONGEST]


def _woven(lines: list[bytes], others: Sequence[bytes], chance: random.Random) -> list[bytes]:
    """Two texts line by line, each in its own order."""
    rest, woven = [list(reversed(lines)), list(reversed(others))], list[bytes]()
    while rest := [one for one in rest if one]:
        woven.append(chance.choice(rest).pop())
    return woven


ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 63,
    -(1 << 70),
    1e308,
    0.1,
    "",
    "x",
    [],
    {},
    ["x"],
    [None],
    {"x": None},
    "1970-01-01T00:00:00.000Z",
    "0001-01-01T00:00:00Z",
)


def mutate_json(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change values of a JSON document; what is none is taken from the other."""
    try:
        document = json.loads(data)
    except ValueError:
        return other
    for _ in range(chance.choice((1, 2, 4, 10))):
        places = list(_places(document))
        if not places:
            break
        container, key = chance.choice(places)
        value = container[key]
        match chance.randrange(6):
            case 0:
                container[key] = chance.choice(ODD)
            case 1:
                del container[key]
            case 2 if isinstance(value, str):
                at = chance.randrange(len(value) + 1)
                hostile = chance.choice(HOSTILE).decode("utf-8", "surrogateescape")
                container[key] = value[:at] + hostile + value[at:]
            case 3 if isinstance(value, int | float) and not isinstance(value, bool):
                container[key] = chance.choice((-value, value * 1024, value + 1, value / 3, 1 << 64))
            case 4 if isinstance(value, list):
                container[key] = value * chance.choice((2, 5))
            case 5:
                source, taken = chance.choice(places)
                if isinstance(source, dict) and taken in source:
                    container[key] = json.loads(json.dumps(source[taken]))
            case _:
                container[key] = "x" * chance.choice((1, 100, 5000))
    return json.dumps(document).encode()


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Each container with each key in it."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            waiting.append(one[key])
    return found


TOKEN = re.compile(rb"'[^']*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)


def mutate_sql(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change the words of a query, with words of another."""
    words, others = TOKEN.findall(data), TOKEN.findall(other)
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(words) + 1)
        length = chance.choice((1, 2, 6))
        start = chance.randrange(len(others) + 1)
        match chance.randrange(6):
            case 0:
                del words[place : place + length]
            case 1:
                words[place:place] = others[start : start + length]
            case 2:
                words[place : place + length] = others[start : start + length]
            case 3:
                words[place:place] = words[place : place + length] * chance.choice((1, 40))
            case 4:
                words[place:place] = [b"(", *others, b")"]
            case _:
                words = [mutate_bytes(b"".join(words), other, chance)]
    return b"".join(words)[:LONGEST]
