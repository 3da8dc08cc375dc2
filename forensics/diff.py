"""Set two loads side by side: what holds more or less memory, to the byte, and what else differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from .answer import Answer, Section
from .catalogue import Catalogue
from .errors import UsageError
from .explain import amount, document, evidence, fetch
from .units import MIB

__all__ = ["Facts", "Side", "changes", "diff", "facts", "pick"]

GIB = 1024 * MIB

NOISE = 64 * MIB
"""Free memory at two starts that differs by less is told as equal."""

SHOWN = 12
"""Differences of settings that the screen lists; the document has all."""

ORDER = (
    "version",
    "model",
    "pool",
    "layers",
    "notice",
    "speculation",
    "cache",
    "device",
    "start_memory",
    "argument",
    "setting",
)
"""Kinds of facts in the order in which they tell most."""

STATE = {
    "version": ("version",),
    "model": ("model", "layers"),
    "configuration": ("argument", "setting"),
    "what was free when it began": ("start_memory",),
}
"""What a state is described by, and the kinds of facts that tell it."""

WHOLE = frozenset({"speculation", "cache"})
"""Kinds whose absence tells something: the load has no such part."""

Side = tuple[duckdb.DuckDBPyConnection, str]
"""A case, and a load of it."""

Facts = Mapping[tuple[str, str, str], Mapping[str, Any]]


def pick(connection: duckdb.DuckDBPyConnection, wanted: str | None) -> str:
    """The load that a person means: a number, an id, `boot:-2`; without a word the last one that got ready.

    Raises:
        UsageError: No load, or more than one, is meant.
    """
    loads = fetch(
        connection,
        "SELECT load_id, number, loads.model, loads.label, unit, ready_line IS NOT NULL AS ready "
        "FROM loads JOIN load USING (load_id, number) ORDER BY number",
    )
    known = ", ".join(f"{row['number']} ({row['model'] or 'unknown model'})" for row in loads) or "none"
    if wanted is None:
        ready = [row for row in loads if row["ready"]] or loads
        if not ready:
            raise UsageError("no model load shows in this evidence")
        return str(ready[-1]["load_id"])
    asked = wanted
    kind, _, place = wanted.rpartition(":")
    if kind in {"boot", "load"} and place.removeprefix("-").isdigit():
        at = int(place)
        if at < 0 and len(loads) >= -at:
            return str(loads[at]["load_id"])
        wanted = place
    exact = [row for row in loads if wanted in {row["load_id"], str(row["number"])}]
    found = exact or [row for row in loads if row["load_id"].startswith(wanted)]
    found = found or [row for row in loads if wanted in {row["model"], row["label"], row["unit"]}]
    if len(found) == 1:
        return str(found[0]["load_id"])
    what = "no such load" if not found else "it means more than one load"
    raise UsageError(f"{asked}: {what}; the evidence shows: {known}")


def facts(connection: duckdb.DuckDBPyConnection, load_ids: Sequence[str]) -> dict[str, Facts]:
    """What is true of each load, by kind, part and name."""
    rows = fetch(
        connection,
        "SELECT * FROM load_facts SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS load_id) AS asked USING (load_id)",
        [list(load_ids)],
    )
    found: dict[str, dict[tuple[str, str, str], Mapping[str, Any]]] = {load_id: {} for load_id in load_ids}
    for row in rows:
        found[row["load_id"]][row["what"], row["part"], row["name"]] = row
    return dict(found)


def changes(before: Facts, after: Facts) -> list[dict[str, Any]]:
    """What differs. A kind that only one of both prints for a part is not compared: silence is no value."""
    both = {key[:2] for key in before} & {key[:2] for key in after}
    found: list[dict[str, Any]] = []
    for key in sorted({*before, *after}, key=lambda key: (ORDER.index(key[0]), key)):
        one, other = before.get(key), after.get(key)
        if one and other and one["value"] == other["value"]:
            continue
        if key[:2] not in both and key[0] not in WHOLE:
            continue
        if key[0] == "start_memory" and one and other and abs(one["size_bytes"] - other["size_bytes"]) < NOISE:
            continue
        found.append(
            {
                "what": key[0],
                "part": key[1],
                "name": key[2] if key[1] == "target" else f"{key[1]} {key[2]}",
                "before": one["value"] if one else None,
                "after": other["value"] if other else None,
                "ratio": other["number"] / one["number"] - 1 if one and other and one["number"] else None,
                "evidence": [row["line_id"] for row in (one, other) if row and row["line_id"]],
            }
        )
    return found


def diff(before: Side, after: Side, catalogue: Catalogue, moment: str = "last") -> Answer:
    """Compare two loads: of one case, or of two."""
    loads = [document(side[0], catalogue, moment=moment, only=[side[1]])["loads"][0] for side in (before, after)]
    known = [facts(side[0], [side[1]])[side[1]] for side in (before, after)]
    changed = changes(known[0], known[1])
    places = _places(loads[0], loads[1])
    rows = [row for place in places for row in _items(*place)]
    devices = [_device(*place) for place in places]
    measured = [device for device in devices if device["delta_bytes"] is not None]
    total = sum(device["delta_bytes"] for device in measured)
    for device in measured:
        # the deltas of the items and of the rest are the measured delta, exactly, on each device
        items = sum(row["delta_bytes"] for row in rows if row["place"] == device["place"])
        assert items + device["unexplained_delta_bytes"] == device["delta_bytes"], device["place"]
    answer: dict[str, Any] = {
        "schema": "forensics.diff/1",
        "before": _who(loads[0]),
        "after": _who(loads[1]),
        **amount("delta", total if measured else None),
        "devices": devices,
        "items": rows,
        "changed": changed,
        "described": (told := _described(*known)),
        "findings": [*([_cause(changed)] if changed else []), *_undescribed(told)],
    }
    cited = [line for row in rows for line in row["evidence"]] + [line for one in changed for line in one["evidence"]]
    if after[0] is not before[0]:
        # the lines of the other case; the printer adds those of the first
        answer["evidence_after"] = evidence(after[0], set(cited))
    return Answer(
        answer,
        _verdict(loads, devices, total, changed),
        about=(*_about(loads), *(f"{one['state']}: {one['claim']}" for one in answer["findings"])),
        sections=tuple(_sections(rows, devices, changed)),
        cited=tuple(dict.fromkeys(cited)),
        next="Change one thing, start again, and compare: only then is a difference its effect."
        if len([one for one in changed if one["what"] != "pool"]) > 1
        else "",
        code=0 if rows or changed else 3,
    )


# -- what holds memory ------------------------------------------------------------------------------------------------

Device = Mapping[str, Any]


def _places(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Device | None, Device | None]]:
    """Devices of both loads, paired by card where the same card is on both sides, else by name."""
    left = {device["device"]: device for device in before["devices"]}
    right = {device["device"]: device for device in after["devices"]}
    cards = {device["gpu_uuid"]: device for device in before["devices"] if device["gpu_uuid"]}
    pairs: list[tuple[str, Device | None, Device | None]] = []
    taken: set[str] = set()
    shared = any(device["gpu_uuid"] in cards for device in after["devices"] if device["gpu_uuid"])
    for name, device in right.items():
        other = cards.get(device["gpu_uuid"]) if shared and device["gpu_uuid"] else left.get(name)
        if other is not None:
            taken.add(other["device"])
        same = other is None or other["device"] == name
        pairs.append((name if same or other is None else f"{other['device']} → {name}", other, device))
    pairs.extend((name, device, None) for name, device in left.items() if name not in taken)
    rank = {"card": 0, "shared": 1, "remote": 2}
    return sorted(pairs, key=lambda pair: (rank.get((pair[1] or pair[2] or {}).get("where", ""), 3), pair[0]))


def _items(place: str, before: Device | None, after: Device | None) -> list[dict[str, Any]]:
    sides = [_by_kind(before), _by_kind(after)]
    where = (after or before or {})["where"]
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        one, other = sides[0].get(key), sides[1].get(key)
        old, new = (one["bytes"] if one else 0), (other["bytes"] if other else 0)
        rows.append(
            {
                "place": place,
                "where": where,
                "part": key[0],
                "kind": key[1],
                **amount("before", old),
                **amount("after", new),
                **amount("delta", new - old),
                "basis": sorted({side["basis"] for side in (one, other) if side}),
                "evidence": [line for side in (one, other) if side for line in side["evidence"]],
            }
        )
    return rows


def _by_kind(device: Device | None) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in device["items"] if device else ():
        key = (item["part"], item["kind"])
        if key in found:
            found[key]["bytes"] += item["bytes"]
            found[key]["evidence"] += item["evidence"]
        else:
            found[key] = {"bytes": item["bytes"], "basis": item["basis"], "evidence": list(item["evidence"])}
    return found


def _device(place: str, before: Device | None, after: Device | None) -> dict[str, Any]:
    """The measured delta of one place and its unexplained part: a load that is not on a measured card holds 0 there."""
    sides = [before, after]
    known = [side for side in sides if side is not None]
    whole = all(side["measured_bytes"] is not None for side in known) and known[0]["where"] == "card"
    measured = [(side["measured_bytes"] if side else 0) for side in sides] if whole else [None, None]
    rests = [(side["unexplained_bytes"] if side else 0) for side in sides] if whole else [None, None]
    return {
        "place": place,
        "where": known[0]["where"],
        **amount("before", measured[0]),
        **amount("after", measured[1]),
        **amount("delta", measured[1] - measured[0] if measured[0] is not None and measured[1] is not None else None),
        **amount("unexplained_before", rests[0]),
        **amount("unexplained_after", rests[1]),
        **amount("unexplained_delta", rests[1] - rests[0] if rests[0] is not None and rests[1] is not None else None),
    }


# -- words ------------------------------------------------------------------------------------------------------------


def _who(load: Mapping[str, Any]) -> dict[str, Any]:
    keys = (
        "load_id",
        "number",
        "engine",
        "engine_version",
        "model",
        "label",
        "unit",
        "begun_at",
        "ready_at",
        "end_reason",
    )
    return {key: load[key] for key in keys}


def _cause(changed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    causes = [one for one in changed if one["what"] != "pool"]
    if len(causes) == 1:
        words = f"{causes[0]['name']} is the one difference that shows: it may explain a change, and need not."
    elif causes:
        words = f"{len(causes)} differences show; which of them made what is not established."
    else:
        words = "Nothing that the logs print differs but the pool: starts of one configuration differ by themselves."
    return {
        "claim": words,
        "state": "not established",
        "for": [line for one in causes for line in one["evidence"]],
        "against": [],
    }


def _described(before: Facts, after: Facts) -> list[dict[str, Any]]:
    """What each side's evidence tells of its state: two states can be compared only where both are described."""
    return [
        {
            "what": what,
            "before": any(key[0] in kinds for key in before),
            "after": any(key[0] in kinds for key in after),
        }
        for what, kinds in STATE.items()
    ]


def _undescribed(told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A claim where a side leaves its state open: what is not described is not held equal."""
    gaps = {
        side: [one["what"] for one in told if not one[key]]
        for key, side in (("before", "the first"), ("after", "the second"))
    }
    words = [f"{' and '.join(what)} of {side}" for side, what in gaps.items() if what]
    if not words:
        return []
    return [
        {
            "claim": f"Not both states are described: nothing tells {'; nor '.join(words)}. They are not compared as "
            "if all else were equal.",
            "state": "not measured",
            "for": [],
            "against": [],
        }
    ]


def _verdict(
    loads: Sequence[Mapping[str, Any]],
    devices: Sequence[Mapping[str, Any]],
    total: int,
    changed: Sequence[Mapping[str, Any]],
) -> str:
    cards = [device for device in devices if device["where"] == "card"]
    measured = [device for device in cards if device["delta_bytes"] is not None]
    settings = [one for one in changed if one["what"] != "pool"]
    differ = f"{len(settings)} thing{'s' if len(settings) != 1 else ''} differ" + ("s" if len(settings) == 1 else "")
    if measured and len(measured) == len(cards):
        word = "more" if total >= 0 else "less"
        rest = sum(device["unexplained_delta_bytes"] for device in measured)
        return f"{abs(total) / GIB:.2f} GiB {word} on the cards, {rest / MIB:+.0f} MiB of it unexplained; {differ}."
    failed = [load["number"] for load in loads if load["failure"]]
    if failed:
        return f"Load {failed[0]} never held its memory: it failed; {differ}."
    return f"No measured difference: not both loads were seen on the cards; {differ}."


def _about(loads: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{word}  {(load['label'] or load['model'] or 'unknown model').rsplit('/', 1)[-1]} · load {load['number']} · "
        f"{load['engine']} {load['engine_version'] or ''} · "
        f"{(load['begun_at'] or 'no wall time').replace('T', ' ')[:19]}"
        for word, load in zip(("before", "after "), loads, strict=True)
    ]


def _sections(
    rows: Sequence[Mapping[str, Any]], devices: Sequence[Mapping[str, Any]], changed: Sequence[Mapping[str, Any]]
) -> list[Section]:
    sections: list[Section] = []
    for where, title in (("card", "On the cards, MiB"), ("host", "Host memory, MiB"), ("shared", "Shared, MiB")):
        lines: list[tuple[str, ...]] = []
        for device in devices:
            if device["where"] != where:
                continue
            moved = [row for row in rows if row["place"] == device["place"] and row["delta_bytes"]]
            lines += [
                (
                    row["place"],
                    row["kind"].replace("_", " "),
                    row["part"],
                    f"{row['before_bytes'] / MIB:.2f}",
                    f"{row['after_bytes'] / MIB:.2f}",
                    f"{row['delta_bytes'] / MIB:+.2f}",
                )
                for row in moved
            ]
            if device["delta_bytes"] is not None:
                lines.append(_total(device, "unexplained", "unexplained_"))
                lines.append(_total(device, "measured", ""))
        if lines:
            sections.append(Section(title, ("", "kind", "part", "before>", "after>", "change>"), tuple(lines)))
    if changed:
        shown = changed[:SHOWN]
        left = len(changed) - len(shown)
        sections.append(
            Section(
                "Differs",
                ("what", "name", "before", "after", ""),
                tuple(
                    (
                        one["what"].replace("_", " "),
                        one["name"],
                        _short(one["before"]),
                        _short(one["after"]),
                        "" if one["ratio"] is None else f"{one['ratio'] * 100:+.1f} %",
                    )
                    for one in shown
                ),
                f"{left} more in the document" if left else "",
            )
        )
    return sections


def _total(device: Mapping[str, Any], word: str, prefix: str) -> tuple[str, ...]:
    before, after, delta = (device[f"{prefix}{side}_bytes"] for side in ("before", "after", "delta"))
    return (device["place"], word, "", f"{before / MIB:.2f}", f"{after / MIB:.2f}", f"{delta / MIB:+.2f}")


def _short(value: str | None) -> str:
    if value is None:
        return "not printed"
    return value if len(value) <= 24 else value[:23] + "…"
