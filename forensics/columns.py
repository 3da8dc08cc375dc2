"""Keep lines that come by the million as columns: what a pattern read in them, with no object a line.

A busy server prints the same dozen kinds of lines for each request. None of them changes whose the next line is, so
nothing looks at them one by one: their owner is that of the lines that are alike, and their figures are converted a
column at a time. What comes out is what the pattern itself would give; `Rows.line` makes the line again that it gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .catalogue import Pattern, Program, convert
from .clocks import elapsed_us
from .events import (
    BufferReleased,
    DraftAccepted,
    EngineMeasured,
    Event,
    Field,
    Kind,
    MarkerSeen,
    PromptSaved,
    RequestMoved,
    RequestServed,
    RequestTimed,
    SettingReported,
)
from .line import Line
from .records.block import NO_TIME, Integers, Stream

__all__ = ["EventPart", "RefusedError", "Rows", "Sort", "clocks_of", "is_plain", "read_columns"]

PLAIN_EVENTS: frozenset[type[Event]] = frozenset(
    {
        BufferReleased,
        DraftAccepted,
        EngineMeasured,
        MarkerSeen,
        PromptSaved,
        RequestMoved,
        RequestServed,
        RequestTimed,
        SettingReported,
    }
)
"""Events whose values nothing asks for before they are in their table."""

INTEGER = re.compile(r"(?:-\?)?\\d(?:\+|\{\d+\})|\d+")
DECIMAL = re.compile(r"(?:-\?)?(?:\[\\d\.\]\+|\\d\+\\\.\\d(?:\+|\{\d+\})|\\d\+(?:\(\?:\\\.\\d\+\)\?)?)")
"""Groups that can hold digits only: their texts are converted together."""

SHIFTS = {"s": "", "ms": "e-3", "us": "e-6", "µs": "e-6", "percent": "e-2"}
"""Units that move the decimal point: the text with the exponent behind it is the number in base units, rounded once."""


EventPart = tuple[npt.NDArray[np.int32], dict[str, pa.Array]]
"""Some events of one table: where in the block their lines are, and their values by column."""


class Sort(NamedTuple):
    """What lines have in common that are alike to whoever looks for their owner."""

    pattern: Pattern
    stream: Stream
    tag: str | None
    who: str | None
    form: str


class RefusedError(Exception):
    """Some text is no value of its field: the pattern does not read the line after all."""

    def __init__(self, places: list[int]) -> None:
        super().__init__(f"{len(places)} texts are no values")
        self.places = places


@dataclass(eq=False)
class Rows:
    """Lines of one block, in order, each read by one plain pattern and by nothing else."""

    source: str
    sorts: Sequence[Sort]
    programs: Mapping[str, Program]
    sort: npt.NDArray[np.int32]
    record: Integers
    offset: Integers
    length: Integers
    time: Integers
    clock: Integers
    """µs since the writer began; -1 where the line does not say."""
    text: pa.StringArray
    cursors: pa.StringArray | None
    events: Mapping[str, list[EventPart]]
    """By table: where in the block its lines are, and their values by column."""
    base: int = 0
    """How many lines and rows come before those of this block."""
    between: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    """Records of the same block that are lines and no rows."""

    def __len__(self) -> int:
        return len(self.sort)

    @property
    def order(self) -> Integers:
        """Places among all lines and rows."""
        places = self.base + np.arange(len(self))
        return places + np.searchsorted(self.between, self.record) if len(self.between) else places

    @property
    def last_order(self) -> int:
        """The place of the last row."""
        return self.base + len(self) - 1 + int(np.searchsorted(self.between, self.record[-1]))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        columns = [one for parts in self.events.values() for _, values in parts for one in values.values()]
        return 48 * len(self) + sum(int(one.nbytes) for one in (self.text, *columns))

    def line(self, at: int) -> Line:
        """The line as its pattern reads it."""
        sort = self.sorts[self.sort[at]]
        text = self.text[at].as_py()
        prefix = self.programs[sort.pattern.program].grammar.split(text)
        assert prefix is not None
        matched = sort.pattern.match(prefix.message)
        assert matched is not None
        time = int(self.time[at])
        return Line(
            source=self.source,
            record=int(self.record[at]),
            offset=int(self.offset[at]),
            length=int(self.length[at]),
            time_us=None if time == NO_TIME else time,
            stream=sort.stream,
            prefix=prefix,
            matched=matched,
            text=text,
            cursor=self.cursors[at].as_py() if self.cursors is not None else None,
            order=self.base + at + int(np.searchsorted(self.between, self.record[at])),
        )


def is_plain(pattern: Pattern, program: Program) -> bool:
    """Whether the lines of a pattern only report: what they say changes no owner, and no rule asks for their values."""
    phase = pattern.effects.get("phase", {})
    return (
        pattern.event in PLAIN_EVENTS
        and not pattern.effects.keys() - {"phase"}
        and (not phase or phase == {"to": "serve"})
        and pattern.role == "child"
        and not program.grammar.supervises
        and not (pattern.unit_groups or pattern.sums or pattern.from_record)
        and not any(issubclass(pattern.fields[name].type, Kind) for name in pattern.regex.groups & set(pattern.fields))
    )


def clocks_of(texts: Sequence[str | None]) -> Integers:
    """What `elapsed_us` reads in each text; -1 where that is nothing."""
    if not texts:
        return np.empty(0, np.int64)
    given = pa.array(texts, pa.string())
    usual = pc.match_substring_regex(given, r"^[0-9]{1,6}\.[0-9]{2}\.[0-9]{3}\.[0-9]{3}$")
    if given.null_count == 0 and pc.all(usual).as_py():
        digits = pc.cast(pc.replace_substring(given, ".", ""), pa.int64()).to_numpy()
        seconds, micro = np.divmod(digits, 1_000_000)
        minutes, seconds = np.divmod(seconds, 100)
        return np.asarray((minutes * 60 + seconds) * 1_000_000 + micro, np.int64)
    found = (None if text is None else elapsed_us(text) for text in texts)
    return np.fromiter((-1 if one is None else one for one in found), np.int64, len(texts))


def read_columns(pattern: Pattern, found: Sequence[tuple[str | None, ...]]) -> dict[str, pa.Array]:
    """The values of the events of one pattern, by field.

    Args:
        pattern: A plain pattern.
        found: For each line what all groups of its expression captured.

    Raises:
        RefusedError: A text cannot be converted.
    """
    captured = list(zip(*found, strict=True))
    columns: dict[str, pa.Array] = {}
    refused: set[int] = set()
    for one in _readings(pattern):
        if one.group is None:
            columns[one.about.name] = pa.repeat(pa.scalar(one.default, _arrow(one.about)), len(found))
            continue
        try:
            values = _converted(captured[one.group], one)
        except RefusedError as error:
            refused.update(error.places)
            continue
        if values.null_count and one.about.name in pattern.required:
            refused.update(np.flatnonzero(values.is_null()).tolist())
        columns[one.about.name] = (
            values if one.default is None or not values.null_count else pc.fill_null(values, one.default)
        )
    if refused:
        raise RefusedError(sorted(refused))
    return columns


ARROW: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}


def _arrow(about: Field) -> pa.DataType:
    return ARROW.get(about.type, pa.string())


class _Reading(NamedTuple):
    """Where the values of one field come from, and what makes numbers of their texts all at once, if anything can."""

    about: Field
    default: Any
    group: int | None
    unit: str | None
    together: Callable[[pa.Array], pa.Array] | None


@cache
def _readings(pattern: Pattern) -> tuple[_Reading, ...]:
    groups = pattern.regex.compiled().groupindex
    found: list[_Reading] = []
    for name, about in pattern.fields.items():
        default = pattern.constants.get(name, getattr(pattern.event, name, None))
        unit = pattern.units.get(name)
        inside = _inside(pattern.regex.pattern, name)
        together: Callable[[pa.Array], pa.Array] | None = None
        if about.type is int and unit is None and INTEGER.fullmatch(inside):
            together = _whole
        elif about.type is float and (unit is None or unit in SHIFTS) and DECIMAL.fullmatch(inside):
            together = _shifted("" if unit is None else SHIFTS[unit])
        group = groups[name] - 1 if name in groups else None
        found.append(_Reading(about, getattr(default, "value", default), group, unit, together))
    return tuple(found)


def _inside(expression: str, group: str) -> str:
    """What stands in a group of an expression, without blanks, if no other group is in it."""
    found = re.search(rf"\(\?P<{group}>((?:[^()\\]|\\.|\(\?:[^()]*\))*)\)", expression)
    return re.sub(r"(?<!\\) ", "", found[1]) if found else ""


def _converted(texts: Sequence[str | None], reading: _Reading) -> pa.Array:
    about, unit = reading.about, reading.unit
    if about.type is str and unit is None:
        return pa.array(texts, pa.string())
    if reading.together is not None:
        try:
            return reading.together(pa.array(texts, pa.string()))
        except pa.ArrowInvalid:
            pass  # one of them is no such number: see which
    values: list[Any] = []
    refused: list[int] = []
    known: dict[str, Any] = {}
    for place, text in enumerate(texts):
        if text is not None and text not in known:
            try:
                known[text], _ = convert(text, about, unit)
            except ValueError:
                refused.append(place)
                values.append(None)
                continue
        values.append(None if text is None else known[text])
    if refused:
        raise RefusedError(refused)
    return pa.array(values, _arrow(about))


def _whole(texts: pa.Array) -> pa.Array:
    return pc.cast(texts, pa.int64())


def _shifted(shift: str) -> Callable[[pa.Array], pa.Array]:
    def read(texts: pa.Array) -> pa.Array:
        values = pc.cast(pc.binary_join_element_wise(texts, shift, "") if shift else texts, pa.float64())
        if pc.any(pc.is_inf(values)).as_py():
            raise pa.ArrowInvalid("beyond what a number can be")
        return values

    return read
