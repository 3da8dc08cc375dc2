"""Read the clocks that programs print, and find the lines that a writer's own clock contradicts."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Judged", "Tick", "elapsed_us", "judge", "judge_columns", "local_us", "out_of_order", "wall_us"]

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


LONGEST = 18
"""Digits of a clock that fits 64 bits, whatever they are: thirty thousand years."""


def elapsed_us(text: str) -> int | None:
    """µs since a writer began, from `minutes.seconds.milliseconds.microseconds` or plain µs; None if neither."""
    parts = text.split(".")
    if len(text) > LONGEST or not all(part.isdigit() for part in parts):
        return None
    if len(parts) == 1:
        return int(parts[0])
    if len(parts) != 4:
        return None
    minutes, seconds, milli, micro = (int(part) for part in parts)
    return (minutes * 60 + seconds) * 1_000_000 + milli * 1000 + micro


def wall_us(text: str) -> int | None:
    """µs since the epoch of a printed date and time; None if it is none, or has no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else (moment - EPOCH) // timedelta(microseconds=1)


def local_us(text: str) -> int | None:
    """µs of a printed date and time without a zone, from a beginning that all such times share; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) if moment.tzinfo is None else None


def out_of_order(clocks: Integers) -> Integers:
    """Places whose clock does not fit the others' order.

    A writer's clock only goes forward, so the longest non-decreasing run through all lines is taken as the writer's
    own, and what falls outside it did not come from that clock. Where nothing before is later than anything behind, the
    run goes through both sides: each stretch between such places has a run of its own, and most have one line.
    """
    behind = np.minimum.accumulate(clocks[::-1])[::-1][1:]
    mixed = np.maximum.accumulate(clocks)[:-1] > behind
    edges = np.flatnonzero(np.diff(mixed, prepend=False, append=False))
    strange: list[int] = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        strange += (begin + place for place in _beside_the_run(clocks[begin : end + 1]))
    return np.array(strange, np.int64)


def _beside_the_run(clocks: Integers) -> Iterator[int]:
    """Places that are not in the longest non-decreasing run, in order."""
    tails, tail_index, before = array("q"), array("q"), array("q")
    for index, clock in enumerate(map(int, clocks)):
        place = bisect_right(tails, clock)
        before.append(tail_index[place - 1] if place else -1)
        if place == len(tails):
            tails.append(clock)
            tail_index.append(index)
        else:
            tails[place] = clock
            tail_index[place] = index
    beside = bytearray(b"\1") * len(clocks)
    index = tail_index[-1]
    while index >= 0:
        beside[index] = 0
        index = before[index]
    return (place for place, one in enumerate(beside) if one)


FEW = 3
"""So many lines may contradict a clock and be called foreign; more mean that another writer is there."""


HELD_BACK_US = 1_000_000
"""So long may a pipe or a relay hold back lines before it passes them on."""


class Tick(NamedTuple):
    """One line of a writer: its clock, and whether it begins a process or a load, says ready, or ends a load."""

    clock: int
    begins: bool
    ready: bool
    ends: bool = False


class Judged(NamedTuple):
    """What a sequence of clocks shows: lines that do not belong, and whether several writers share it."""

    foreign: set[int]
    shared: bool


def judge(ticks: Sequence[Tick]) -> Judged:
    """What `judge_columns` says of a few ticks."""
    return judge_columns(
        np.array([one.clock for one in ticks], np.int64),
        *(np.array([one[place] for one in ticks], np.bool_) for place in (1, 2, 3)),
    )


def judge_columns(clocks: Integers, begins: Flags, ready: Flags, ends: Flags) -> Judged:
    """Split a writer's lines into lives where its clock begins again, and see whether each life has one clock.

    A line that begins a process with an earlier clock than the line before it begins a new life, if the clock then goes
    on from there. If after a few such lines the old clock goes on, those few are foreign: a text can hold them. But
    before the old life got ready there is no request whose text could hold them, and a life gets ready once: if it has
    not been by then, or something gets ready after them, another writer began.

    Whether the old writer is gone: a line of its would be ahead of the new clock by all of the old one, so the new
    clock would jump by as much and the new writer be silent for as long. Where no such jump comes before the new life
    got ready, or the old one said that it ends, it is gone; else both may be alive.
    """
    foreign: set[int] = set()
    shared = False
    life = np.empty(0, np.int64)
    starts = np.flatnonzero(begins[1:] & (clocks[1:] < clocks[:-1])) + 1
    lives: list[Integers] = []
    for begin, end in itertools.pairwise([0, *starts.tolist(), len(clocks)]):
        part = np.arange(begin, end)
        if len(life) and len(part):
            last = int(clocks[life].max())
            goes_on = np.flatnonzero(clocks[part] >= last)
            if len(goes_on) and goes_on[0] <= FEW:
                head = int(goes_on[0])
                another = not ready[life].any() or ready[part[head:]].any()
                shared = shared or bool(another)
                foreign.update(() if another else part[:head].tolist())
                life = np.concatenate((life, part if another else part[head:]))
                continue
            if not ends[life].any() and _may_be_both(clocks[part], ready[part], last):
                shared = True
            lives.append(life)
        life = part
    lives.append(life)
    for life in lives:
        own = clocks[life]
        if (own[1:] >= own[:-1]).all():
            continue
        strange = out_of_order(own)
        began = strange[begins[life[strange]]]
        early = len(began) > 0 and not ready[life[: began[0]]].any()
        if early or len(strange) > max(FEW, len(life) // 50):
            shared = True
        else:
            foreign.update(life[strange].tolist())
    shared = (
        shared or len(foreign) > max(FEW, len(clocks) // 50) or _of_one_server(sorted(foreign), clocks, begins, ready)
    )
    return Judged(set() if shared else foreign, shared)


def _of_one_server(foreign: list[int], clocks: Integers, begins: Flags, ready: Flags) -> bool:
    """Whether lines that do not belong are a server's that prints little: its clock goes on from where it begins.

    A text is printed at once. What begins in one place and gets ready in another one, later by its own clock, is none.
    """
    places = np.array(foreign, np.int64)
    own = clocks[places]
    if not len(places) or not begins[places[0]] or (own[1:] < own[:-1]).any():
        return False
    apart = np.flatnonzero(np.diff(places) > 1)
    return len(apart) > 0 and bool(ready[places[apart[0] + 1 :]].any())


def _may_be_both(clocks: Integers, ready: Flags, ahead: int) -> bool:
    """Whether a new life's clock jumps by all of the old one before it got ready."""
    is_ready = np.flatnonzero(ready)
    jumps = np.diff(clocks)[: is_ready[0] if len(is_ready) else None]
    return bool((jumps >= ahead - HELD_BACK_US).any())
