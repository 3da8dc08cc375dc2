"""How exact a printed figure is: as many decimals as its basis and its bounds bear out, and bounds that stay true."""

from __future__ import annotations

import pytest

from forensics.amounts import decimals, span
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
