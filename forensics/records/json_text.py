"""Read JSON documents and say where in the bytes each value stands, so that a row is cited by its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["JsonText", "Placed"]

_BLANK = " \t\r\n"


class Placed(NamedTuple):
    """A value and where it begins and ends, in characters."""

    value: object
    begin: int
    end: int


class JsonText:
    """The text of a source; offsets given out are those of its bytes."""

    def __init__(self, content: bytes, base: int = 0) -> None:
        self.text = content.decode("utf-8", "surrogateescape")
        self._ascii = len(self.text) == len(content)
        self._base = base
        self._decoder = json.JSONDecoder()
        self._known = (0, 0)

    def extent(self, placed: Placed) -> tuple[int, int]:
        """Offset and length in bytes."""
        begin = self._byte(placed.begin)
        return begin + self._base, self._byte(placed.end) - begin

    def _byte(self, index: int) -> int:
        if self._ascii:
            return index
        at, byte = self._known
        if index < at:
            at = byte = 0
        byte += len(self.text[at:index].encode("utf-8", "surrogateescape"))
        self._known = index, byte
        return byte

    def documents(self) -> Iterator[Placed]:
        """All documents, one after another; it ends where something is none. `rest` says where."""
        at = self._pass(0)
        while at < len(self.text) and (found := self._value(at)) is not None:
            yield found
            at = self._pass(found.end, ",")
        self.rest = at

    rest = 0
    """Where the last reading of documents ended."""

    def elements(self, placed: Placed) -> Iterator[Placed]:
        """The elements of a list."""
        at = self._pass(placed.begin + 1)
        while at < placed.end - 1 and (found := self._value(at)) is not None:
            yield found
            at = self._pass(found.end, ",")

    def member(self, placed: Placed, name: str) -> Placed | None:
        """The value of a member of an object, the last where the name repeats."""
        at = self._pass(placed.begin + 1)
        last: Placed | None = None
        while (
            at < placed.end - 1
            and (key := self._value(at)) is not None
            and (found := self._value(self._pass(key.end, ":"))) is not None
        ):
            last = found if key.value == name else last
            at = self._pass(found.end, ",")
        return last

    def _pass(self, at: int, marks: str = "") -> int:
        while at < len(self.text) and (self.text[at] in _BLANK or self.text[at] in marks or self.text[at] == "\x1e"):
            at += 1
        return at

    def _value(self, at: int) -> Placed | None:
        try:
            value, end = self._decoder.raw_decode(self.text, at)
        except (ValueError, RecursionError):
            return None
        return Placed(value, at, end)
