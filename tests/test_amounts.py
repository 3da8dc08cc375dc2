"""How exact a printed figure is: as many decimals as its basis and its bounds bear out, and bounds that stay true."""

from __future__ import annotations

import pytest

from forensics.amounts import clock, count, decimals, duration, mib, numbers, plain, span
from forensics.units import MIB


@pytest.mark.parametrize(
    ("basis", "limits", "places"),
    [
        ("logged", None, 2),
        ("derived", None, 2),
        ("estimated", None, 2),
        ("measured", None, 0),
        ("logged", (0, MIB), 0),
        ("logged", (0, MIB - 2), 1),
        ("logged", (0, MIB // 10 + 1), 1),
        ("logged", (0, MIB // 10 - 1), 2),
        ("measured", (5 * MIB, 5 * MIB + 1), 2),
    ],
)
def test_a_figure_has_the_decimals_that_its_bounds_bear_out(
    basis: str, limits: tuple[int, int] | None, places: int
) -> None:
    assert decimals(basis, limits) == places


@pytest.mark.parametrize(
    ("limits", "signed", "text"),
    [
        ((MIB // 2, 2 * MIB), False, "0–2"),
        ((MIB, 2 * MIB), False, "1–2"),
        ((MIB, 2 * MIB - 1), False, "1.00–2.00"),
        ((-3 * MIB // 2, MIB // 2), True, "−2 … +1"),
        ((0, 0), True, "0.00 … 0.00"),
    ],
)
def test_bounds_are_rounded_outwards_so_that_they_stay_true(limits: tuple[int, int], signed: bool, text: str) -> None:
    assert span(limits, signed) == text


@pytest.mark.parametrize(
    ("size_bytes", "places", "text"),
    [
        (MIB // 2, 0, "0"),  # halfway: to the even one
        (3 * MIB // 2, 0, "2"),
        (MIB // 2 + 1, 0, "1"),
        (MIB // 2 - 1, 0, "0"),
        (-5 * MIB // 2, 0, "−2"),
        (-1, 0, "0"),
        (-MIB - MIB // 100, 2, "−1.01"),
        (MIB + MIB // 1000, 2, "1.00"),
        (12 * MIB, 2, "12.00"),
    ],
)
def test_an_amount_is_rounded_to_the_nearest_and_a_zero_has_no_sign(size_bytes: int, places: int, text: str) -> None:
    assert mib(size_bytes, places) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 MiB"),
        (1, "less than 1 MiB"),
        (MIB // 2 - 1, "less than 1 MiB"),
        (1 - MIB // 2, "less than 1 MiB"),
        (MIB // 2, "0 MiB"),
        (600 * MIB, "600 MiB"),
        (1024 * MIB - 1, "1024 MiB"),
        (1024 * MIB, "1.00 GiB"),
        (-1024 * MIB, "−1.00 GiB"),
    ],
)
def test_a_size_in_prose_is_in_gib_from_one_on_and_never_nothing(size_bytes: int, text: str) -> None:
    assert plain(size_bytes) == text


def test_small_numbers_are_words() -> None:
    numbers = [count(number, "card") for number in (-1, 0, 1, 2, 10, 11)]
    assert numbers == ["-1 cards", "no cards", "one card", "two cards", "ten cards", "11 cards"]


@pytest.mark.parametrize(
    ("text", "after", "printed"),
    [
        ("2026-11-30T11:07:31.900Z", "", "2026-11-30 11:07:31 UTC"),
        ("2026-11-30T11:07:31", "", "2026-11-30 11:07:31 UTC"),
        ("2026-11-30T11:07:31+00:00", "2026-11-30T10:00:00Z", "11:07:31"),
        ("2026-11-30T11:07:31+02:00", "2026-11-30T10:00:00Z", "2026-11-30 11:07:31 +0200"),
        ("2026-12-01T11:07:31Z", "2026-11-30T10:00:00Z", "2026-12-01 11:07:31 UTC"),
        ("soon", "2026-11-30T10:00:00Z", "soon"),
    ],
)
def test_a_time_has_its_date_and_zone_where_an_earlier_one_had_others(text: str, after: str, printed: str) -> None:
    assert clock(text, after) == printed


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        ("2026-11-30T10:00:00.040Z", "0.0 s"),
        ("2026-11-30T10:00:59.940Z", "59.9 s"),
        ("2026-11-30T10:01:00Z", "1 min 0 s"),
        ("2026-11-30T10:59:59Z", "59 min 59 s"),
        ("2026-11-30T11:00:00Z", "1 h 0 min"),
        ("2026-11-30T12:34:56Z", "2 h 34 min"),
        ("", ""),
    ],
)
def test_a_duration_has_the_units_that_its_length_asks_for(ended: str, text: str) -> None:
    assert duration("2026-11-30T10:00:00Z", ended) == text
    assert duration(ended, "") == ""


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ([7], "7"),
        ([2, 1], "1 and 2"),
        ([1, 2, 3], "1–3"),
        ([14, *range(2, 12), 2], "2–11 and 14"),
        ([1, 3, 5], "1, 3 and 5"),
    ],
)
def test_numbers_in_a_row_are_told_by_their_ends(found: list[int], text: str) -> None:
    assert numbers(found) == text
