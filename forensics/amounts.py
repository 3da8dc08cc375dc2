"""Print sizes, spans, counts and times as people read them; bytes go in, MiB and GiB come out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from forensics.units import MIB

__all__ = ["clock", "count", "decimals", "duration", "gib", "mib", "moment", "numbers", "plain", "span"]

GIB = 1024 * MIB

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _scaled(size_bytes: int, unit: int, places: int, round_to: int = 0) -> str:
    """Divide exactly and round: to nearest (0), down (−1) or up (+1). A zero has no sign."""
    scale = 10**places
    quotient, rest = divmod(size_bytes * scale, unit)
    if round_to > 0:
        quotient += rest > 0
    elif round_to == 0:
        quotient += rest * 2 > unit or (rest * 2 == unit and quotient % 2)
    whole, part = divmod(abs(quotient), scale)
    digits = f"{whole}.{part:0{places}}" if places else str(whole)
    return f"−{digits}" if quotient < 0 else digits


def mib(size_bytes: int, places: int = 2) -> str:
    """MiB without the unit, with a real minus sign."""
    return _scaled(size_bytes, MIB, places)


def gib(size_bytes: int) -> str:
    """GiB with two decimals and the unit."""
    return _scaled(size_bytes, GIB, 2) + " GiB"


def plain(size_bytes: int) -> str:
    """A size in prose: GiB from one GiB on, else whole MiB, and bytes are never rounded away to nothing."""
    if abs(size_bytes) >= GIB:
        return gib(size_bytes)
    if 0 < abs(size_bytes) < MIB // 2:
        return "less than 1 MiB"
    return mib(size_bytes, 0) + " MiB"


def decimals(basis: str, limits: tuple[int, int] | None) -> int:
    """Decimals that a figure's basis and bounds bear out: cards count whole MiB, logs print what they print."""
    if limits is not None:
        half = (limits[1] - limits[0]) / 2 / MIB
        return 0 if half >= 0.5 else 1 if half >= 0.05 else 2
    return 2 if basis in ("logged", "derived", "estimated") else 0


def span(limits: tuple[int, int], signed: bool = False) -> str:
    """Bounds in MiB, rounded outwards so that they stay true: `586–598`, signed `−7 … +5`."""
    places = 0 if limits[1] - limits[0] >= MIB else 2
    low, high = _scaled(limits[0], MIB, places, -1), _scaled(limits[1], MIB, places, +1)
    if not signed:
        return f"{low}–{high}"
    return " … ".join(end if end.startswith("−") or not end.strip("0.") else f"+{end}" for end in (low, high))


def count(amount: int, noun: str) -> str:
    """`one card`, `two cards`, `12 cards`."""
    word = WORDS[amount] if 0 <= amount < len(WORDS) else str(amount)
    return f"{word} {noun}" if amount == 1 else f"{word} {noun}s"


def numbers(found: Iterable[int]) -> str:
    """`7`, `1 and 2`, `2–11 and 14`."""
    runs: list[list[int]] = []
    for one in sorted(set(found)):
        if runs and runs[-1][-1] == one - 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    parts = [part for run in runs for part in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run))]
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def moment(text: str) -> datetime | None:
    """A time of the document, or None where it is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def clock(text: str, after: str = "") -> str:
    """A time to the second with its zone; date and zone are left out where an earlier time on the line had the same."""
    time, earlier = moment(text), moment(after)
    if time is None:
        return text
    zone = "UTC" if not time.utcoffset() else f"{time:%z}"
    if earlier is not None and earlier.utcoffset() == time.utcoffset() and earlier.date() == time.date():
        return f"{time:%H:%M:%S}"
    return f"{time:%Y-%m-%d %H:%M:%S} {zone}"


def duration(begun: str, ended: str) -> str:
    """How long it was from one time to another, or empty."""
    start, end = moment(begun), moment(ended)
    if start is None or end is None:
        return ""
    seconds = (end - start).total_seconds()
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
