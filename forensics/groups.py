"""Collect lines by the start of a service that wrote them: the outer scope, inside which loads are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .line import Line
from .lives import Group, Rowset
from .records.block import Stream

__all__ = ["collect", "one_of_each_sort", "put_in_order", "service_of"]

SEQUENCE = re.compile(r"s=([0-9a-f]+);i=([0-9a-f]+)")
"""How a journal cursor names the journal and the place in it."""


def collect(lines: Sequence[Line]) -> list[Group]:
    """Collect lines by the start of a service that wrote them; lines about a unit join that unit's group."""
    groups: dict[tuple[Any, ...], Group] = {}
    about: list[Line] = []
    for line in lines:
        stream = line.stream
        if stream.manager or stream.kernel:
            about.append(line)
            continue
        key = service_of(stream)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(key, stream)
        group.lines.append(line)
    for line in about:
        stream = line.stream
        key = service_of(stream)
        group = groups.get(key)
        if group is None and stream.manager and stream.invocation is None:
            group = _latest_of_unit(groups.values(), stream, line)
        if group is None:
            group = groups[key] = Group(key, stream)
        group.lines.append(line)
    for group in groups.values():
        put_in_order(group)
    return list(groups.values())


def put_in_order(group: Group) -> None:
    """Put the lines of a group into the order in which they were written."""
    if len({line.source for line in group.lines}) == 1:
        group.lines.sort(key=lambda one: one.order)
    elif (numbers := _sequence(group.lines)) is not None:
        group.lines.sort(key=lambda one: (numbers[one.order], one.order))
    else:
        group.lines.sort(key=lambda one: (one.time_us or 0, one.order))


def one_of_each_sort(group: Group) -> list[Rowset]:
    """The first row of each sort in a group, alone."""
    found: dict[int, Rowset] = {}
    for rows, at in group.parts:
        sorts, first = np.unique(rows.sort[at], return_index=True)
        for sort, place in zip(sorts.tolist(), first.tolist(), strict=True):
            found.setdefault(sort, Rowset(rows, at[place : place + 1]))
    return list(found.values())


def _sequence(lines: Sequence[Line]) -> dict[int, int] | None:
    """The journal's sequence numbers, by order, if one journal numbered all lines: its clock may have been set."""
    numbers: dict[int, int] = {}
    series: str | None = None
    for line in lines:
        found = SEQUENCE.match(line.cursor or "")
        if found is None or (series is not None and found[1] != series):
            return None
        series = found[1]
        numbers[line.order] = int(found[2], 16)
    return numbers


def service_of(stream: Stream) -> tuple[Any, ...]:
    """What tells one start of a service from another: the invocation, else the unit, else the source and its pid."""
    if stream.trusted and stream.invocation:
        return ("invocation", stream.host, stream.boot, stream.invocation)
    if stream.trusted and stream.unit:
        return ("unit", stream.host, stream.boot, stream.unit)
    if stream.trusted:
        return ("trusted", stream.host, stream.boot, stream.container, stream.identifier, stream.pid, stream.kernel)
    return ("source", stream.source, stream.host, stream.container, stream.identifier, stream.pid)


def _latest_of_unit(groups: Iterable[Group], stream: Stream, line: Line) -> Group | None:
    """The group of a unit that began last before a line that names the unit and no invocation."""
    found: Group | None = None
    for group in groups:
        same = (group.stream.host, group.stream.boot, group.stream.unit) == (stream.host, stream.boot, stream.unit)
        first = group.lines[0].time_us if group.lines else None
        before = first is not None and line.time_us is not None and first <= line.time_us
        if same and before and (found is None or (first or 0) >= (found.lines[0].time_us or 0)):
            found = group
    return found
