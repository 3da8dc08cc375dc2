"""Printed amounts become base units with the rounding that each carries."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forensics.units import MIB, parse_quantity, round_bytes, to_base, unwrap


@pytest.mark.parametrize(
    ("text", "unit", "value", "bound"),
    [
        ("6742.14", "MiB", Decimal("6742.14") * MIB, Decimal("0.005") * MIB),
        ("16", "MiB", Decimal(16) * MIB, Decimal(0)),
        ("15.27", "GiB", Decimal("15.27") * 1024 * MIB, Decimal("0.005") * 1024 * MIB),
        ("386,816", "B", Decimal(386816), Decimal(0)),
        ("-0.2", "GiB", Decimal("-0.2") * 1024 * MIB, Decimal("0.05") * 1024 * MIB),
        ("12", "GB", Decimal(12_000_000_000), Decimal(0)),
        ("15.26", "ms", Decimal("0.01526"), Decimal("0.000005")),
        ("13.2", "percent", Decimal("0.132"), Decimal("0.0005")),
    ],
    ids=["two places", "whole", "GiB", "thousands", "negative", "decimal", "time", "share"],
)
def test_a_number_keeps_its_value_and_half_of_its_last_place(
    text: str, unit: str, value: Decimal, bound: Decimal
) -> None:
    assert to_base(text, unit) == (value, bound)


@pytest.mark.parametrize("text", ["", "MiB", "1.2.3", "nan", "inf", "0x10"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        to_base(text, "MiB")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24.52GiB", (26_328_149_524, 5_368_709)),
        ("12 GB", (12_000_000_000, 0)),
        ("25108MiB", (25108 * MIB, 0)),
        ("7bytes", (7, 0)),
    ],
)
def test_a_size_that_a_person_types_needs_its_unit(text: str, size: tuple[int, int]) -> None:
    assert parse_quantity(text) == size


@pytest.mark.parametrize("text", ["24.52", "24.52 GiBs", "much", "", "5 min"])
def test_a_size_without_a_unit_of_size_says_how_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it as 24\.52GiB"):
        parse_quantity(text)


def test_halves_of_bytes_round_to_even() -> None:
    assert [round_bytes(Decimal(text)) for text in ("0.5", "1.5", "2.5")] == [0, 2, 2]


def test_a_number_that_wrapped_below_zero_is_read_as_negative() -> None:
    assert [unwrap(value) for value in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [0, 2**63 - 1, -(2**63), -1]
