"""Set what a service says it uses against what the cards measured: replay its figure, or name what may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from .units import MIB

__all__ = ["explain_gap"]

GIB = 1024 * MIB

CORE = frozenset({"weights", "kv_cache", "recurrent_state"})
"""What every self-report counts: weights and cache of the target."""

GROWTH = 64 * MIB
"""What pools grow by after requests, without a line: two loads that differ by no more leave the same."""

COARSE = 10**9
"""A report in whole decimal gigabytes may be cut instead of rounded: it stands for a span as wide as this."""

WHY = {
    "overwritten": "a later line took its place in the report",
    "never_matched": "in no line that the report reads",
    "counted_once": "held on each card, in the report once",
    "host": "in the report, on no card",
    "not_held": "in the report, and no amount of the ledger",
    "assumed": "assumed: a later context printed the same component, device and kind on this card",
    "forecast": "forecast; no line of the report's pattern names it",
}


def explain_gap(
    connection: duckdb.DuckDBPyConnection, answer: dict[str, Any], report: tuple[int, int, str], cited: set[str]
) -> None:
    """Fill `self_report`, `gap` and the findings about it.

    Args:
        connection: The case.
        answer: The load's part of the document.
        report: Bytes, rounding bound and origin of the self-report.
        cited: Evidence ids that are printed.
    """
    size, bound, origin = report
    fits, replay = _replay(connection, answer["load_id"], size, bound)
    answer["self_report"] = {**_amount(size), "bound_bytes": bound, "source": origin, "replay": replay}
    cited.update(_replayed_lines(replay))
    cards = [device for device in answer["devices"] if device["where"] == "card"]
    unseen = [device["device"] for device in cards if device["measured_bytes"] is None]
    if unseen or not cards:
        which = f": nothing measured {', '.join(unseen)}." if unseen else ": no card was sampled."
        answer["findings"].append(_finding("The gap to the self-report is not measured" + which, "not measured"))
        return
    gap = sum(device["measured_bytes"] for device in cards) - size
    if fits:
        items = [*_differences(connection, answer["load_id"], fits[0]["algorithm"]), *_runtimes(cards)]
    else:
        items = _candidates(connection, answer)
    answer["gap"] = {**_amount(gap), "items": items, **_sums(gap, items), "alternatives": []}
    for item in items:
        cited.update(item["evidence"])
    if fits:
        answer["findings"].append(_replayed(gap, items, fits, _coarse(size, bound)))
    elif items:
        answer["findings"].append(_claim(gap, items))
        _other_reading(connection, answer, gap, cited)
        _forecast_semantics(connection, answer, gap, items)
    if replay is not None and not fits:
        answer["findings"].append(_unmatched(size, replay) if replay["whole"] else _not_replayed())
    _beside_plain_loads(connection, answer, len(cards), cited)


# -- the replay -------------------------------------------------------------------------------------------------------


def _replay(
    connection: duckdb.DuckDBPyConnection, load_id: str, size: int, bound: int
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Which algorithms give the reported figure from the load's own lines, best first, and what the first one did."""
    sums = _rows(connection, "SELECT * FROM self_report_sums WHERE load_id = ? ORDER BY rank", [load_id])
    if not sums:
        return [], None
    for one in sums:
        one["difference_bytes"] = size - one["size_bytes"]
    span = COARSE if _coarse(size, bound) else 0
    for one in sums:
        one["tolerance_bytes"] += bound
    fits = [
        one
        for one in sums
        if one["whole"] and -one["tolerance_bytes"] - span <= one["difference_bytes"] <= one["tolerance_bytes"]
    ]
    fits.sort(key=lambda one: (abs(one["difference_bytes"]) > one["tolerance_bytes"], one["rank"]))
    shown = fits[0] if fits else sums[0]
    whole = any(one["whole"] for one in sums)
    lines = _rows(
        connection,
        """
        SELECT line_id, part, kind, logged, size_bytes, status, replaced_by FROM self_report_replay
        WHERE load_id = ? AND algorithm = ? ORDER BY ordinal, part, kind
        """,
        [load_id, shown["algorithm"]],
    )
    held = {
        row["line_id"]
        for row in _rows(connection, "SELECT line_id FROM item WHERE load_id = ? AND mark = 'counted'", [load_id])
    }
    return fits, {
        "algorithm": shown["algorithm"],
        "about": shown["about"],
        "matches": bool(fits),
        "whole": whole,
        **(_amount(shown["size_bytes"]) if whole else {"mib": None, "bytes": None}),
        "tolerance_bytes": shown["tolerance_bytes"],
        **{
            status: [_line(row) for row in lines if row["status"] == status]
            for status in ("entered", "overwritten", "never_matched", "host")
        },
        "not_counted": [row["line_id"] for row in lines if row["status"] == "entered" and row["line_id"] not in held],
        "tried": [
            {
                "algorithm": one["algorithm"],
                **_amount(one["size_bytes"]),
                "difference_mib": round(one["difference_bytes"] / MIB, 4),
                "difference_bytes": one["difference_bytes"],
            }
            for one in sums
        ],
    }


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "part": row["part"],
        "kind": row["kind"],
        "device": row["logged"],
        **_amount(row["size_bytes"]),
        "evidence": [row["line_id"]],
        "replaced_by": [row["replaced_by"]] if row["replaced_by"] else [],
    }


def _replayed_lines(replay: Mapping[str, Any] | None) -> list[str]:
    return [
        line
        for status in ("entered", "overwritten", "never_matched", "host")
        for row in (replay or {}).get(status, ())
        for line in row["evidence"]
    ]


def _coarse(size: int, bound: int) -> bool:
    """Whether a figure is in whole decimal gigabytes, as text tables cut them."""
    return bound == 0 and size % COARSE == 0 and size > 0


# -- what the report lacks --------------------------------------------------------------------------------------------


def _differences(connection: duckdb.DuckDBPyConnection, load_id: str, algorithm: str) -> list[dict[str, Any]]:
    rows = _rows(connection, "SELECT * FROM self_report_gap WHERE load_id = ? AND algorithm = ?", [load_id, algorithm])
    return [_difference(row) for row in rows]


def _difference(row: Mapping[str, Any]) -> dict[str, Any]:
    size, bound = row["size_bytes"], row["bound_bytes"]
    low = 0 if row["basis"] == "estimated" and size > 0 else size - bound
    return {
        "part": row["part"],
        "kind": row["kind"],
        **_amount(size),
        "basis": row["basis"],
        "bounds_mib": [round(low / MIB, 4), round((size + bound) / MIB, 4)],
        "bounds_bytes": [low, size + bound],
        "evidence": [*row["lines"].split(), *(row["replaced_by"] or "").split()],
        "note": WHY[row["why"]],
        "device": row["device"],
        "why": row["why"],
    }


def _runtimes(cards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**_short(item), "device": device["device"], "why": "runtime"}
        for device in cards
        for item in device["items"]
        if item["kind"] == "runtime"
    ]


def _candidates(connection: duckdb.DuckDBPyConnection, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Items that a self-report may leave out: everything but the target's weights and cache.

    A forecast stands in for a part only while no allocation line of that part is in the log.
    """
    items: list[dict[str, Any]] = []
    for device in answer["devices"]:
        if device["where"] != "card":
            continue
        items.extend(
            {**_short(item), "device": device["device"], "why": "left_out"}
            for item in device["items"]
            if item["kind"] != "runtime" and not (item["kind"] in CORE and item["part"] == "target")
        )
    allocated = {item["part"] for item in items if item["basis"] != "estimated"}
    rows = connection.execute(
        """
        SELECT item.part, item.size_bytes, item.bound_bytes, item.line_id, estimate.what
        FROM item JOIN memory_estimated AS estimate USING (line_id)
        WHERE item.load_id = ? AND item.mark = 'estimated' ORDER BY estimate.ordinal, item.part, item.size_bytes
        """,
        [answer["load_id"]],
    )
    for part, size, bound, line, what in rows.fetchall():
        if part not in allocated:
            items.append(
                {
                    "part": part,
                    "kind": None,
                    **_amount(size),
                    "basis": "estimated",
                    "bounds_bytes": [0, size + bound],
                    "bounds_mib": [0.0, round((size + bound) / MIB, 4)],
                    "evidence": [line],
                    "note": what,
                    "device": None,
                    "why": "left_out",
                }
            )
    return items


def _other_reading(connection: duckdb.DuckDBPyConnection, answer: dict[str, Any], gap: int, cited: set[str]) -> None:
    """The second set of candidates: not left out, but overwritten by a later context's lines."""
    rows = _rows(connection, "SELECT * FROM self_report_overwrite WHERE load_id = ?", [answer["load_id"]])
    others = [_difference(row) for row in rows]
    if not any(one["why"] in {"overwritten", "assumed"} for one in others):
        return
    for item in others:
        cited.update(item["evidence"])
    sums = _sums(gap, others)
    decider = (
        "The lines that the service read, in their order, and its version: replayed, only one reading gives the "
        "figure. Or the figure for each device: the readings differ by card."
    )
    unnamed = [] if any(one["kind"] == "kv_cache" for one in others) else ["kv_cache"]
    answer["gap"]["alternatives"].append(
        {"reading": "overwritten", "items": others, **sums, "unnamed": unnamed, "decided_by": decider}
    )
    names = ", ".join(
        f"{one['part']} {(one['kind'] or 'forecast').replace('_', ' ')} {one['bytes'] / MIB:.2f}"
        + (f" on {one['device']}" if one["device"] else "")
        for one in others
    )
    words = (
        f"Another reading: lines that a later context overwrote ({names} MiB) come to "
        f"{sums['named_bytes'] / GIB:.2f} GiB and leave {sums['unexplained_bytes'] / GIB:.2f}"
    )
    words += ", the target's cache on that card among it, which this log does not name" if unnamed else ""
    answer["findings"].append(
        _finding(
            f"{words}. {decider}",
            "not established",
            sums["named_bytes"],
            [line for one in others for line in one["evidence"]],
        )
    )


def _forecast_semantics(
    connection: duckdb.DuckDBPyConnection, answer: dict[str, Any], gap: int, items: Sequence[Mapping[str, Any]]
) -> None:
    """Read a forecast as one card's share: then the candidates may come to more than the gap."""
    for row in _rows(connection, "SELECT * FROM speculation_forecast WHERE load_id = ?", [answer["load_id"]]):
        total = sum(item["bytes"] for item in items) - row["forecast_bytes"] + row["upper_bytes"]
        if row["cards"] < 2 or total <= gap:
            continue
        answer["findings"].append(
            _finding(
                f"If the forecast of {_mib(row['forecast_bytes'])} MiB holds a cache of {_mib(row['cache_bytes'])} and "
                f"one card's compute, it is {_mib(row['upper_bytes'])} MiB on {row['cards']} cards. The items then "
                f"come to {total / GIB:.2f} GiB, more than the gap of {gap / GIB:.2f}: they cannot all be "
                "additional to the self-report.",
                "not established",
                row["upper_bytes"],
                row["lines"].split(),
            )
        )


# -- over-attribution -------------------------------------------------------------------------------------------------


def _beside_plain_loads(
    connection: duckdb.DuckDBPyConnection, answer: dict[str, Any], cards: int, cited: set[str]
) -> None:
    """Compare what is left with what plain loads on this box leave: less than the least of them is too little.

    More than the most is told too: something holds it that neither the report nor a line of the load names.
    """
    plain = _rows(
        connection,
        "SELECT * FROM vram_rest WHERE NOT speculates AND load_id <> ? AND cards <= ? ORDER BY rest_bytes, number",
        [answer["load_id"], cards],
    )
    if not plain:
        return
    items = answer["gap"]["items"]
    rest = answer["gap"]["unexplained_bytes"] + sum(item["bytes"] for item in items if item["kind"] == "runtime")
    least, most = plain[0]["rest_bytes"], plain[-1]["rest_bytes"]
    less, more = least - rest, rest - most
    if less <= plain[0]["bound_bytes"] and more <= max(plain[-1]["bound_bytes"], GROWTH):
        return
    lines = [line for row in plain for line in row["lines"].split()]
    cited.update(lines)
    span = f"{least / GIB:.2f}" if len(plain) == 1 else f"{least / GIB:.2f} to {most / GIB:.2f}"
    words = f"{rest / GIB:.2f} GiB is left after these items, and plain loads on this box leave {span} GiB: "
    named = [line for item in items for line in item["evidence"]]
    if less > 0:
        words += f"at least {less / GIB:.2f} GiB is counted twice."
        answer["findings"].append(_finding(words, "supported", less, [*lines, *named]))
    else:
        words += f"{more / GIB:.2f} GiB more, which no line of it names."
        answer["findings"].append(_finding(words, "not established", more, [*lines, *named]))


# -- words ------------------------------------------------------------------------------------------------------------


def _replayed(
    gap: int, items: Sequence[Mapping[str, Any]], fits: Sequence[Mapping[str, Any]], coarse: bool
) -> dict[str, Any]:
    lacking = [item for item in items if item["why"] != "runtime"]
    runtime = sum(item["bytes"] for item in items if item["why"] == "runtime")
    sums = _sums(gap, items)
    words = (
        f"The load's own lines give the reported figure: {fits[0]['about']}. "
        f"It lacks {sum(item['bytes'] for item in lacking) / GIB:.2f} GiB that the lines name and "
        f"{runtime / GIB:.2f} GiB of runtime; {sums['unexplained_bytes'] / MIB:.0f} MiB is left."
    )
    rivals = {one["size_bytes"] for one in fits} - {fits[0]["size_bytes"]}
    state = "supported"
    if coarse or rivals:
        others = ", ".join(one["algorithm"].replace("_", " ") for one in fits[1:])
        words += " The figure is too coarse to tell" + (f" it from others that fit: {others}." if others else ".")
        state = "not established"
    evidence = [line for item in lacking for line in item["evidence"]]
    return _finding(words, state, sums["named_bytes"], evidence)


def _unmatched(size: int, replay: Mapping[str, Any]) -> dict[str, Any]:
    tried = ", ".join(f"{one['algorithm'].replace('_', ' ')} {one['bytes'] / GIB:.2f}" for one in replay["tried"])
    return _finding(
        f"No known algorithm gives {size / GIB:.2f} GiB from this load's own lines ({tried} GiB): the service has "
        "another version, read other lines, or tells of another load.",
        "not established",
        evidence=[line for row in replay["entered"] for line in row["evidence"]],
    )


def _not_replayed() -> dict[str, Any]:
    return _finding(
        "The report cannot be replayed: the lines of this load's weights are not in this log.", "not measured"
    )


def _claim(gap: int, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = _sums(gap, items)
    least = sum(item["bounds_bytes"][0] for item in items)
    if least > gap:
        held = sum(item["bytes"] for item in items if item["basis"] != "estimated")
        words = (
            f"The items beyond weights and cache come to {held / GIB:.2f} GiB, and the self-report lacks "
            f"{gap / GIB:.2f}: it does not leave all of them out. "
            f"If it is of this load, at least {(least - gap) / GIB:.2f} GiB of them is in it."
        )
        lines = [line for item in items for line in item["evidence"]]
        return _finding(words, "contradicted", least - gap, against=lines)
    words = (
        f"Up to {sums['named_bytes'] / GIB:.2f} of the {gap / GIB:.2f} GiB that the self-report lacks can be named; "
        f"{sums['unexplained_bytes'] / GIB:.2f} GiB is left."
    )
    if sums["estimated_bytes"]:
        words += f" {sums['estimated_bytes'] / GIB:.2f} GiB of it is only estimated, and a forecast is no allocation."
    words += " That the report leaves out exactly these is not shown by any line."
    return _finding(words, "not established", sums["named_bytes"], [one for item in items for one in item["evidence"]])


def _finding(
    claim: str, state: str, amount: int | None = None, evidence: Iterable[str] = (), against: Iterable[str] = ()
) -> dict[str, Any]:
    return {
        "claim": claim,
        "state": state,
        "amount_mib": None if amount is None else round(amount / MIB, 4),
        "amount_bytes": amount,
        "for": list(dict.fromkeys(evidence)),
        "against": list(against),
    }


# -- small things -----------------------------------------------------------------------------------------------------


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, list(parameters))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _mib(size: int) -> str:
    return f"{size / MIB:.2f}"


def _amount(size: int) -> dict[str, Any]:
    return {"mib": round(size / MIB, 4), "bytes": size}


def _sums(gap: int, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a set of items names of the gap, what of it is only estimated, and the signed rest: they sum exactly."""
    named = sum(item["bytes"] for item in items)
    estimated = sum(item["bytes"] for item in items if item["basis"] == "estimated")
    rest = gap - named
    return {
        "named_mib": round(named / MIB, 4),
        "named_bytes": named,
        "estimated_mib": round(estimated / MIB, 4),
        "estimated_bytes": estimated,
        "unexplained_mib": round(rest / MIB, 4),
        "unexplained_bytes": rest,
    }


def _short(item: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("part", "kind", "mib", "bytes", "basis", "bounds_bytes", "bounds_mib", "evidence", "note")
    return {key: item[key] for key in keys}
