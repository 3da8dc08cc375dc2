"""A writer's own clock: how it is read, what does not fit it, and when several writers share a stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.clocks import Tick, elapsed_us, judge, local_us, out_of_order


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("0.00.434.525", 434_525),
        ("0.02.245.694", 2_245_694),
        ("12.00.000.001", 720_000_001),
        ("434525", 434_525),
        ("0.00.434", None),
        ("0.00.434.x", None),
        ("", None),
    ],
)
def test_a_clock_is_minutes_seconds_milliseconds_and_microseconds_or_plain_microseconds(
    text: str, clock: int | None
) -> None:
    assert elapsed_us(text) == clock


@pytest.mark.parametrize(
    ("clocks", "strange"),
    [
        ([1, 2, 3], []),
        ([1, 2, 2, 3], []),
        ([1, 90, 2, 3], [1]),
        ([5, 6, 1, 7], [2]),
        ([1, 90, 2, 3, 100, 101, 4, 102], [1, 6]),
        ([], []),
    ],
    ids=["forward", "equal", "ahead", "behind", "both, far apart", "none"],
)
def test_what_falls_outside_the_longest_forward_run_did_not_come_from_that_clock(
    clocks: list[int], strange: list[int]
) -> None:
    assert out_of_order(np.array(clocks, np.int64)).tolist() == strange


@given(st.lists(st.integers(0, 12), max_size=40))
def test_no_run_that_goes_forward_is_longer_than_what_is_left(clocks: list[int]) -> None:
    strange = set(out_of_order(np.array(clocks, np.int64)).tolist())
    left = [clock for place, clock in enumerate(clocks) if place not in strange]
    longest: list[int] = []  # of the runs that end at each place
    for place, clock in enumerate(clocks):
        longest.append(1 + max((longest[one] for one in range(place) if clocks[one] <= clock), default=0))
    assert left == sorted(left)
    assert len(left) == max(longest, default=0)


def ticks(text: str) -> list[Tick]:
    """Ticks written as clocks in seconds; `b` marks a line that a beginning process prints, `r` one that says ready."""
    return [Tick(int(word.strip("br")) * 1_000_000, "b" in word, "r" in word) for word in text.split()]


@pytest.mark.parametrize(
    ("text", "foreign", "shared"),
    [
        ("b0 10 20r 30", set(), False),
        ("b0 10 20r 30 b0 10 20r", set(), False),
        ("b0 10 20r 30 b0 5 10 20r 30 40", set(), False),
        ("b0 10 20r 30 b1 31 32", {4}, False),
        ("b0 10 b1 11 2 12 3 13 4 14 5 15 6 16 7 17", set(), True),
    ],
    ids=["one life", "a restart", "a restart that lives longer", "a text that holds a beginning", "two writers"],
)
def test_lives_are_split_where_the_clock_begins_again(text: str, foreign: set[int], shared: bool) -> None:
    assert judge(ticks(text)) == (foreign, shared)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1970-01-01T00:00:01.500", 1_500_000),
        ("1970-01-01 00:00:02", 2_000_000),
        ("1970-01-01T00:00:01Z", None),
        ("09-12 08:00:15", None),
        ("0.10.182.339", None),
    ],
    ids=["with fractions", "with a blank", "with a zone: a moment", "without a year", "no date"],
)
def test_a_date_and_time_without_a_zone_tells_how_far_apart_two_lines_are(text: str, found: int | None) -> None:
    assert local_us(text) == found
