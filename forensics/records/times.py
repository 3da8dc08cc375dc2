"""Turn printed times into microseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

__all__ = ["ABBREVIATIONS", "ISO", "ISO_NANO", "from_iso", "micro", "printed_date", "to_utc", "wall_time", "zone_us"]

ISO = rb"(?P<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)"
"""RFC 3339, and as systemd 252 prints it: without the colon in the zone."""

ISO_NANO = ISO.replace(b"(?:\\.(?P<fraction>\\d{1,9}))?", b"\\.(?P<fraction>\\d{9})")
"""As container engines print it: always nine places, which hardly any program does itself."""

ABBREVIATIONS = {
    **dict.fromkeys((b"UTC", b"GMT", b"WET"), 0),
    **dict.fromkeys((b"CET", b"WEST"), 60),
    **dict.fromkeys((b"CEST", b"EET"), 120),
    **dict.fromkeys((b"EEST", b"MSK"), 180),
    **dict.fromkeys((b"JST", b"KST"), 540),
    b"EDT": -240,
    b"CDT": -300,
    b"MDT": -360,
    b"PDT": -420,
    b"PST": -480,
}
"""Minutes east of Greenwich of the abbreviations that mean one thing; IST, BST, CST, EST and MST do not."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


@lru_cache(maxsize=4096)
def wall_time(text: bytes) -> int | None:
    """Read `2026-09-18T09:19:30` (or with a blank) as if it were UTC; None if there is no such time."""
    try:
        moment = datetime.fromisoformat(text.decode("ascii")).replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // _MICRO


def printed_date(text: str) -> int | None:
    """Read `Fri Jun 26 11:59:58 2026` as if it were UTC."""
    try:
        moment = datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // _MICRO


@lru_cache(maxsize=256)
def zone_us(zone: bytes) -> int | None:
    """Read `Z`, `+0200`, `+02:00`, `+03` or an abbreviation that means one thing; None for any other."""
    if zone == b"Z":
        return 0
    found = re.fullmatch(rb"([+-])(\d\d):?(\d\d)?", zone)
    if found is None:
        minutes = ABBREVIATIONS.get(zone)
        return None if minutes is None else minutes * 60_000_000
    away = (int(found[2]) * 60 + int(found[3] or 0)) * 60_000_000
    return away if found[1] == b"+" else -away


def micro(fraction: bytes | None) -> int:
    """The digits behind the point of a second, as microseconds."""
    return int(fraction[:6].ljust(6, b"0")) if fraction else 0


def from_iso(found: re.Match[bytes]) -> int | None:
    """The time that a match of ISO names; None if there is no such time."""
    wall = wall_time(found["second"])
    zone = zone_us(found["zone"])
    return None if wall is None or zone is None else wall - zone + micro(found["fraction"])


def to_utc(wall_us: int, zone: tzinfo, after_us: int | None = None) -> int:
    """Give a wall time its zone.

    Of the two times that an hour repeated in autumn can mean, the first is taken, unless it lies before `after_us`.
    """
    naive = (_EPOCH + timedelta(microseconds=wall_us)).replace(tzinfo=zone)
    first = (naive - _EPOCH) // _MICRO
    if after_us is None or first >= after_us:
        return first
    second = (naive.replace(fold=1) - _EPOCH) // _MICRO
    return max(first, second)
