"""Answer who asked how often, from this machine or another, and whether a block of addresses did what it should."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from .amounts import count
from .answer import Answer, Ask, Section
from .bars import sparkline
from .blocklist import Rule, coverage, read_blocklist
from .explain import Rows, iso
from .window import Window

__all__ = ["traffic"]

MINUTE = 60_000_000
HOUR = 60 * MINUTE
SEEN = "not effective, or a second service on that host: not separated"
UNSEEN = "effective, as far as this log shows: it asked before and not after"
NEVER = "not established: it asks neither before nor after"
EARLY = "not established: it has been quiet before for as long as this log goes on after"


def traffic(ask: Ask) -> Answer:
    """Tell requests a minute by address and class, and what became of blocked addresses."""
    rows = [row for row in ask.rows("SELECT * FROM traffic") if _unit(ask, row)]
    timed = [row for row in rows if row["minute_us"] is not None]
    low, high = _window(ask, timed)
    inside = [row for row in timed if low <= row["minute_us"] + MINUTE - 1 and row["minute_us"] <= high]
    path = ask.extra.get("blocklist")
    rules = read_blocklist(Path(path)) if path else []
    addresses = _addresses(inside, low, high)
    hours = _hours(inside, low, high)
    blocks = _blocks(ask, rules)
    spans = coverage(rules, low, high) if rules and low < high else []
    untimed = sum(row["requests"] for row in rows if row["minute_us"] is None)
    document = {
        "schema": "forensics.traffic/1",
        "begun_at": iso(low) if inside else None,
        "until_at": iso(high) if inside else None,
        "requests": sum(row["requests"] for row in inside),
        "model_requests": sum(row["model_requests"] for row in inside),
        "without_time": untimed,
        "time_inferred": sum(row["inferred"] for row in inside),
        "time_local": sum(row["stamped"] for row in inside),
        "classes": _classes(inside, low, high),
        "addresses": addresses,
        "hours": hours,
        "minutes": [
            {"at": iso(minute), **dict(sorted(held.items()))} for minute, held in sorted(_minutes(inside).items())
        ],
        "blocks": blocks,
        "coverage": [{"from_at": iso(one), "to_at": iso(two), "blocked": list(held)} for one, two, held in spans],
    }
    if not rows:
        return Answer(document, "No access line in this evidence says who asked.", code=3)
    sections = [_address_section(addresses)]
    if hours:
        sections.append(_hour_section(hours, inside))
    if blocks:
        sections.append(_block_section(blocks))
    if len(spans) > 1:
        sections.append(_coverage_section(spans))
    cited = tuple(
        dict.fromkeys([*(line for one in blocks for line in one["evidence"]), *(r["line_id"] for r in inside)])
    )
    return Answer(
        document, _verdict(document, blocks), _about(document), tuple(sections), cited, next=_next(document, blocks)
    )


def _unit(ask: Ask, row: dict[str, Any]) -> bool:
    return ask.unit is None or str(row["domain"]).split(" ")[-1] == ask.unit


def _window(ask: Ask, timed: Rows) -> tuple[int, int]:
    """The span asked for, else from the first access line to the last."""
    asked = ask.window or Window()
    begun = min((row["first_us"] for row in timed), default=0)
    until = max((row["last_us"] for row in timed), default=0)
    return (
        begun if asked.since_us is None else asked.since_us,
        until if asked.until_us is None else asked.until_us,
    )


# -- counting ---------------------------------------------------------------------------------------------------------


def _asked(row: dict[str, Any]) -> int:
    """What counts: requests to a model."""
    return int(row["model_requests"])


def _minutes(rows: Rows) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for row in rows:
        if _asked(row):
            held = found.setdefault(row["minute_us"], {})
            held[row["class"]] = held.get(row["class"], 0) + _asked(row)
    return found


def _rate(rows: Rows, low: int, high: int) -> dict[str, Any]:
    """Requests a minute over busy minutes, and how many minutes of the span are idle."""
    minutes: dict[int, int] = {}
    for row in rows:
        if _asked(row):
            minutes[row["minute_us"]] = minutes.get(row["minute_us"], 0) + _asked(row)
    whole = max(high // MINUTE - low // MINUTE + 1, 1)
    return {
        "requests": sum(minutes.values()),
        "per_minute": {"min": min(minutes.values()), "max": max(minutes.values())} if minutes else None,
        "busy_minutes": len(minutes),
        "idle_minutes": max(whole - len(minutes), 0),
        "minutes": whole,
    }


def _classes(rows: Rows, low: int, high: int) -> dict[str, Any]:
    return {
        place: _rate([row for row in rows if row["class"] == place], low, high)
        for place in sorted({row["class"] for row in rows})
    }


def _addresses(rows: Rows, low: int, high: int) -> list[dict[str, Any]]:
    found = []
    for address, place in sorted({(row["address"], row["class"]) for row in rows}):
        own = [row for row in rows if row["address"] == address]
        found.append(
            {
                "address": address,
                "class": place,
                **_rate(own, low, high),
                "others": sum(row["requests"] - row["model_requests"] for row in own),
                "refused": sum(row["refused"] for row in own),
                "first_at": iso(min(row["first_us"] for row in own)),
                "last_at": iso(max(row["last_us"] for row in own)),
            }
        )
    return sorted(found, key=lambda one: (-one["requests"], one["address"]))


def _hours(rows: Rows, low: int, high: int) -> list[dict[str, Any]]:
    """Each hour of the span, as far as the span reaches into it."""
    found = []
    for hour in range(low // HOUR * HOUR, high + 1, HOUR) if rows else ():
        begun, until = max(hour, low), min(hour + HOUR - 1, high)
        own = [row for row in rows if hour <= row["minute_us"] < hour + HOUR]
        found.append(
            {
                "from_at": iso(begun),
                "hour_us": hour,
                "local": _rate([row for row in own if row["class"] == "local"], begun, until),
                "non_local": _rate([row for row in own if row["class"] == "non-local"], begun, until),
            }
        )
    return found


def _blocks(ask: Ask, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """For each blocked address: what it asked before and after its block took effect. Each address on its own."""
    if not rules:
        return []
    asked = [row for row in ask.rows("SELECT * FROM requests") if row["time_us"] is not None and _unit(ask, row)]
    known = {row["address"]: row["class"] for row in asked}
    found = []
    for rule in rules:
        named = [address for address, place in sorted(known.items()) if rule.covers(address, place)]
        single = rule.network is not None and rule.network.num_addresses == 1
        for address in named or ([rule.subject] if single else []):
            own = [row for row in asked if row["address"] == address]
            # A request that was being answered when the block began is none that came through it.
            after = [
                row for row in own if rule.holds(row["begun_us"] if row["begun_us"] is not None else row["time_us"])
            ]
            before = [row for row in own if row["time_us"] < rule.since_us]
            state, says = _judged(rule, before, after, max(row["time_us"] for row in asked))
            found.append(
                {
                    "address": address,
                    "rule": rule.subject,
                    "since_at": iso(rule.since_us),
                    "until_at": iso(rule.until_us),
                    "before": len(before),
                    "after": len(after),
                    "first_after_at": iso(min((row["time_us"] for row in after), default=None)),
                    "last_after_at": iso(max((row["time_us"] for row in after), default=None)),
                    "paths": sorted({row["path"] or "" for row in after}),
                    "state": state,
                    "says": says,
                    "evidence": [row["line_id"] for row in after[:20]],
                }
            )
    return found


def _judged(rule: Rule, before: Rows, after: Rows, ends_us: int) -> tuple[str, str]:
    """What a block did to one address; its silence proves something only where it is longer than it ever was before."""
    if after:
        return "contradicted", SEEN
    if not before:
        return "not established", NEVER
    times = [*sorted(row["time_us"] for row in before), rule.since_us]
    longest = max(after_us - before_us for before_us, after_us in pairwise(times))
    watched = min(ends_us, rule.until_us or ends_us) - rule.since_us
    return ("supported", UNSEEN) if watched > longest else ("not established", EARLY)


def _span(rate: dict[str, int] | None) -> str:
    if rate is None:
        return ""
    return str(rate["max"]) if rate["min"] == rate["max"] else f"{rate['min']}–{rate['max']}"


def _first(*times: int | None) -> int:
    return next(time for time in times if time is not None)


# -- the screen -------------------------------------------------------------------------------------------------------


def _verdict(document: dict[str, Any], blocks: Sequence[dict[str, Any]]) -> str:
    others = document["classes"].get("non-local")
    local = document["classes"].get("local")
    parts = []
    if others and others["requests"]:
        rate = others["per_minute"]
        parts.append(
            f"{others['requests']} model request{'' if others['requests'] == 1 else 's'} from other machines, "
            f"{_span(rate)} in a busy minute, "
            f"{others['idle_minutes']} of {others['minutes']} minutes idle"
        )
    if local and local["requests"]:
        parts.append(f"{local['requests']} from this one")
    text = "; ".join(parts) or "Nobody asks a model for anything"
    if broken := [one for one in blocks if one["after"]]:
        text += f". {_plural(len(broken)).capitalize()} still asked"
    return text[:1].upper() + text[1:] + "."


def _plural(number: int) -> str:
    return count(number, "blocked address").replace("addresss", "addresses")


def _about(document: dict[str, Any]) -> tuple[str, ...]:
    lines = []
    if document["time_local"]:
        lines.append(
            f"{count(document['time_local'], 'access line').capitalize()} with a local time only: its zone is the one "
            "that fits the lines around."
        )
    if document["time_inferred"]:
        lines.append(
            f"{document['time_inferred']} access lines have no time of their own: they have that of the line before."
        )
    if document["without_time"]:
        lines.append(f"{document['without_time']} requests without any time are in no minute.")
    return tuple(lines)


def _address_section(addresses: Sequence[dict[str, Any]]) -> Section:
    rows = tuple(
        (
            one["address"] or "unknown",
            one["class"],
            str(one["requests"]),
            _span(one["per_minute"]),
            str(one["others"]),
            (one["first_at"] or "")[11:19],
            (one["last_at"] or "")[11:19],
        )
        for one in addresses[:20]
    )
    note = f"{len(addresses) - 20} more addresses are in the JSON." if len(addresses) > 20 else ""
    columns = ("address", "class", "model requests>", "a minute>", "others>", "first", "last")
    return Section("Addresses", columns, rows, note)


def _hour_section(hours: Sequence[dict[str, Any]], inside: Rows) -> Section:
    held = _minutes(inside)
    most = max((sum(minute.values()) for minute in held.values()), default=0)
    rows = []
    for one in hours[:24]:
        shares = [
            sum(held.get(one["hour_us"] + minute * MINUTE, {}).values()) / most if most else 0.0 for minute in range(60)
        ]
        drawn = sparkline(share or None for share in shares).rstrip()
        others = one["non_local"]
        rows.append((one["from_at"][11:16], drawn, _span(others["per_minute"]), str(others["idle_minutes"])))
    note = f"Each column is a minute, the highest of {most}. Idle: minutes without any from other machines."
    return Section("Hours", ("from", "model requests", "a min>", "idle>"), tuple(rows), note)


def _block_section(blocks: Sequence[dict[str, Any]]) -> Section:
    rows = tuple(
        (one["address"], (one["since_at"] or "")[11:19], str(one["before"]), str(one["after"]), one["says"])
        for one in blocks
    )
    return Section("Blocked addresses", ("address", "since", "before>", "after>", "so the block is"), rows)


def _coverage_section(spans: Sequence[tuple[int, int, tuple[str, ...]]]) -> Section:
    rows = tuple(
        ((iso(low) or "")[11:19], (iso(high) or "")[11:19], ", ".join(held) or "nothing blocked")
        for low, high, held in spans
    )
    return Section("Rules in force", ("from", "to", "blocked"), rows)


def _next(document: dict[str, Any], blocks: Sequence[dict[str, Any]]) -> str:
    if any(one["after"] for one in blocks):
        return "Look on the host of the address for a second client or a proxy, before the block itself is blamed."
    if document["without_time"] and not document["requests"]:
        return "Read the journal instead of the plain log: it gives each access line a time."
    return ""
