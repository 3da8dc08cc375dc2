"""The units that logs print, in base units, with the rounding each printed figure carries."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

__all__ = ["MIB", "UNITS", "parse_quantity", "round_bytes", "to_base", "unwrap"]

MIB = 1024 * 1024

UNITS: dict[str, Decimal] = {
    "B": Decimal(1),
    "bytes": Decimal(1),
    "KiB": Decimal(2**10),
    "MiB": Decimal(2**20),
    "GiB": Decimal(2**30),
    "TiB": Decimal(2**40),
    "kB": Decimal(10**3),
    "KB": Decimal(10**3),
    "MB": Decimal(10**6),
    "GB": Decimal(10**9),
    "TB": Decimal(10**12),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "min": Decimal(60),
    "duration": Decimal(1),
    "percent": Decimal("1e-2"),
}
"""Factor of each unit name to its base unit (bytes, seconds, one). A `duration` carries its units: 1m23.5s, 178.5µs."""

_DURATION_STEP = re.compile(r"(?<!\d)(\d++(?:\.\d++)?+)(h|min|ms|us|µs|ns|m|s)")
_DURATION_SECONDS = {
    "h": Decimal(3600),
    "min": Decimal(60),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}


def to_base(text: str, unit: str, places: int = 0) -> tuple[Decimal, Decimal]:
    """Convert a printed number to base units.

    Args:
        text: Digits as printed, with thousands commas, sign and decimals allowed.
        unit: A key of UNITS.
        places: Decimal places that the program rounds to before it drops trailing zeros; 0 where it does not.

    Returns:
        The value and half of its last printed place, both in base units: "6742.14" MiB is known to ±0.005 MiB.

    Raises:
        ValueError: The text is no number, or not a finite one.
    """
    if unit == "duration":
        return _duration(text), Decimal(0)
    try:
        number = Decimal(text.replace(",", "").strip())
    except InvalidOperation:
        raise ValueError(f"not a number: {text!r}") from None
    if not number.is_finite():
        raise ValueError(f"not a finite number: {text!r}")
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    last_place = min(int(exponent), -places)
    half_place = Decimal(5).scaleb(last_place - 1) if last_place < 0 else Decimal(0)
    factor = UNITS[unit]
    return number * factor, half_place * factor


def _duration(text: str) -> Decimal:
    steps = _DURATION_STEP.findall(text)
    if not steps or "".join(number + unit for number, unit in steps) != text.strip():
        raise ValueError(f"not a duration: {text!r}")
    return sum((Decimal(number) * _DURATION_SECONDS[unit] for number, unit in steps), Decimal(0))


def parse_quantity(text: str) -> tuple[int, int]:
    """Read a size with its unit, such as "24.52GiB" or "12 GB" (decimal), as bytes and rounding bound in bytes.

    Raises:
        ValueError: No number, or no unit of size behind it.
    """
    cleaned = text.strip().replace(" ", "")
    digits = cleaned.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    unit = cleaned[len(digits) :] or "?"
    if unit not in UNITS or not unit.endswith(("B", "bytes")):
        raise ValueError(f"{text!r} has no unit of size; write it as 24.52GiB, 25108MiB or 12GB (decimal)")
    value, bound = to_base(digits, unit)
    return round_bytes(value), round_bytes(bound)


def round_bytes(value: Decimal) -> int:
    """Round to whole bytes, halves to even."""
    return int(value.to_integral_value(rounding=ROUND_HALF_EVEN))


def unwrap(value: int) -> int:
    """Read a whole number that programs compute without sign: from 2^63 on it is a negative one, wrapped at 2^64.

    A scheduler that subtracts more than there is prints "17179869183.8 GiB" (2^34 GiB less 0.2) for -0.2 GiB.
    """
    return value - 2**64 if value >= 2**63 else value
