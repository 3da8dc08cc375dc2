"""Answer who held how much on which card when, which steps no line explains, and where the evidence has holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from .amounts import count, gib, mib
from .answer import Answer, Ask, Section
from .explain import Rows, amount, iso
from .lanes import Span, heights, lane
from .trace import chrome_trace
from .window import Window

__all__ = ["timeline"]

GLYPHS = {"fit": "·", "allocate": "▒", "serve": "█", "asleep": "░", "end": "▏"}
LEGEND = "· dry run   ▒ loading   █ serving   ░ asleep   ▏ ending   ▁▂▃▄▅▆▇█ used of the card, up to its most"
CELLS = 52
STEPS_SHOWN = 16
WORDS = {
    "named": "named",
    "runtime": "runtime, no line names it",
    "small": "small",
    "passing": "given back at once",
    "released": "given back",
    "woken": "taken again (woke)",
    "stranger": "of a process without a log",
    "unexplained": "nobody explains it",
}


def timeline(ask: Ask) -> Answer:
    """Tell the loads and the memory of the cards over time."""
    loads = _loads(ask)
    cards = _cards(ask)
    steps = [row for row in ask.rows("SELECT * FROM memory_steps") if _shown(ask, row)]
    holes = [row for row in ask.rows("SELECT * FROM evidence_holes") if _shown(ask, row, whole=True)]
    names = {load["load_id"]: load["identity"] for load in loads}
    times = [time for load in loads for time in (load["from_us"], load["to_us"])]
    times += [at for card in cards for at, _ in card["levels"]]
    document = {
        "schema": "forensics.timeline/1",
        "begun_at": iso(min(times, default=None)),
        "until_at": iso(max(times, default=None)),
        "cards": [_card(card) for card in cards],
        "loads": [_load(load) for load in loads],
        "steps": [_step(step) for step in steps],
        "holes": [
            {
                "kind": row["kind"],
                "subject": row["subject"],
                "from_at": iso(row["from_us"]),
                "to_at": iso(row["to_us"]),
                "number": row["number"],
            }
            for row in holes
        ],
    }
    if not times:
        return Answer(document, "Nothing in this evidence has a time: no load, no sample of a card.", code=3)
    begun, until = _window(ask, min(times), max(times))
    counted = Counter(step["state"] for step in steps)
    sections = [_lanes(loads, cards, begun, until)]
    if steps:
        sections.append(_table(steps, names, cards))
    if holes:
        sections.append(_hole_table(holes, names, cards))
    cited = tuple(
        dict.fromkeys(
            line
            for step in sorted(steps, key=lambda one: one["state"] != "unexplained")
            for line in (step["line_id"], *(step["lines"] or "").split(" "))
            if line
        )
    )
    exports: tuple[tuple[Path, str], ...] = ()
    if wanted := ask.extra.get("perfetto"):
        exports = ((Path(wanted), _trace(loads, cards, steps)),)
    return Answer(
        document,
        _verdict(loads, cards, counted, until - begun),
        sections=tuple(sections),
        cited=cited,
        next=_next(counted, holes, cards),
        exports=exports,
    )


def _shown(ask: Ask, row: dict[str, Any], whole: bool = False) -> bool:
    """Whether a row lies in the span, and is of a load, asked for; `whole`: it is of no load."""
    if not whole and ask.loads is not None and row["load_id"] not in ask.loads:
        return False
    known = [row[key] for key in ("from_us", "at_us", "to_us") if row.get(key) is not None]
    return ask.window is None or not known or ask.window.touches(min(known), max(known))


def _window(ask: Ask, begun: int, until: int) -> tuple[int, int]:
    """The span asked for, or the whole."""
    asked = ask.window or Window()
    return (
        begun if asked.since_us is None else asked.since_us,
        until if asked.until_us is None else asked.until_us,
    )


# -- what there is ----------------------------------------------------------------------------------------------------


def _loads(ask: Ask) -> Rows:
    """Loads with their phases."""
    found: dict[str, dict[str, Any]] = {}
    ends = {row["load_id"]: row["end_reason"] for row in ask.rows("SELECT * FROM loads")}
    for row in ask.rows("SELECT * FROM load_spans"):
        if not (ask.wants(row["load_id"]) and ask.unit in (None, row["unit"]) and _shown(ask, row)):
            continue
        load = found.setdefault(
            row["load_id"],
            {
                **{key: row[key] for key in ("load_id", "number", "identity", "unit", "pid", "from_us")},
                "end_reason": ends[row["load_id"]],
                "phases": [],
            },
        )
        load["phases"].append({key: row[key] for key in ("phase", "from_us", "to_us")})
        load["to_us"] = row["to_us"]
    return list(found.values())


def _cards(ask: Ask) -> Rows:
    """Cards with the amounts used on them, and their holders."""
    used = [row for row in ask.rows("SELECT * FROM card_levels") if _shown(ask, row, whole=True)]
    held = [row for row in ask.rows("SELECT * FROM holder_levels") if _shown(ask, row)]
    found: Rows = []
    for card in ask.rows("SELECT * FROM card ORDER BY gpu_index NULLS LAST, card_id"):
        own = [row for row in used if row["card_id"] == card["card_id"]]
        card["levels"] = [(row["from_us"], row["used_bytes"]) for row in own]
        if own:
            card["levels"].append((own[-1]["to_us"], own[-1]["used_bytes"]))
        card["total_bytes"] = max((row["total_bytes"] or 0 for row in own), default=0)
        card["held"] = [row for row in held if row["card_id"] == card["card_id"]]
        card["name_"] = f"GPU {card['gpu_index']}" if card["gpu_index"] is not None else card["card_id"][:12]
        if own or card["held"]:
            found.append(card)
    return found


def _card(card: dict[str, Any]) -> dict[str, Any]:
    return {
        "gpu_index": card["gpu_index"],
        "gpu_uuid": card["gpu_uuid"],
        "pci_bus_id": card["pci_bus_id"],
        "name": card["name"],
        **amount("total", card["total_bytes"] or None),
        "used": [{"at": iso(at), **amount("", used)} for at, used in card["levels"]],
        "holders": [
            {
                "pid": row["pid"],
                "process": row["name"],
                "load_id": row["load_id"],
                "phase": row["phase"],
                "from_at": iso(row["from_us"]),
                "to_at": iso(row["to_us"]),
                **amount("", row["used_bytes"]),
            }
            for row in card["held"]
        ],
    }


def _load(load: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: load[key] for key in ("load_id", "number", "identity", "unit", "pid", "end_reason")},
        "begun_at": iso(load["from_us"]),
        "until_at": iso(load["to_us"]),
        "phases": [
            {"phase": one["phase"], "from_at": iso(one["from_us"]), "to_at": iso(one["to_us"])}
            for one in load["phases"]
        ],
    }


def _step(step: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: step[key] for key in ("card_id", "pid", "load_id", "state", "items", "why")},
        "from_at": iso(step["from_us"]),
        "at": iso(step["at_us"]),
        **amount("change", step["change_bytes"]),
        **amount("after", step["after_bytes"]),
        **amount("named", step["named_bytes"]),
        **amount("rest", step["rest_bytes"]),
        "evidence": [step["line_id"], *(line for line in (step["lines"] or "").split(" ") if line)],
    }


# -- the screen -------------------------------------------------------------------------------------------------------


def _verdict(loads: Rows, cards: Rows, counted: Counter[str], span_us: int) -> str:
    seconds = span_us / 1e6
    span = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    most = max((used for card in cards for _, used in card["levels"]), default=None)
    held = "no card was sampled" if most is None else f"at most {gib(most)} used on a card"
    what = f"{count(len(loads), 'load').capitalize()} on {count(len(cards), 'card')} in {span}, {held}"
    if not sum(counted.values()):
        return what + "."
    if counted["unexplained"]:
        return f"{what}; {count(counted['unexplained'], 'step')} of memory nobody explains."
    return f"{what}; every step of memory has an explanation."


def _lanes(loads: Rows, cards: Rows, begun: int, until: int) -> Section:
    rows: list[tuple[str, str]] = []
    for card in cards:
        most = max([used for _, used in card["levels"]] + [row["used_bytes"] for row in card["held"]], default=0)
        spans = _stretches(card["levels"]) or [
            (row["from_us"], row["to_us"] + 1, row["used_bytes"]) for row in card["held"]
        ]
        rows.append((f"{card['name_']} ≤{gib(most)}", heights(spans, most, begun, until, CELLS)))
    for load in loads:
        spans_ = [Span(one["from_us"], one["to_us"], GLYPHS.get(one["phase"], "█")) for one in load["phases"]]
        rows.append((_cut(f"{load['number']} {load['identity']}", 24), lane(spans_, begun, until, CELLS)))
    first, last = (iso(begun) or "")[11:19], (iso(until) or "")[11:19]
    axis = f"{first}{last.rjust(CELLS - len(first))}"
    return Section("Lanes", ("", axis), tuple(rows), LEGEND)


def _stretches(levels: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    return [(at, after, used) for (at, used), (after, _) in pairwise(levels)]


def _cut(name: str, cells: int) -> str:
    return name if len(name) <= cells else name[: cells - 1] + "…"


def _table(steps: Rows, names: dict[str, str], cards: Rows) -> Section:
    worth = [step for step in steps if step["state"] != "small"]
    shown = sorted(
        sorted(worth, key=lambda one: (one["state"] != "unexplained", -abs(one["change_bytes"])))[:STEPS_SHOWN],
        key=lambda one: (one["at_us"], one["card_id"]),
    )
    card_names = {card["card_id"]: card["name_"] for card in cards}
    rows = tuple(
        (
            (iso(step["at_us"]) or "")[11:21],
            card_names.get(step["card_id"], ""),
            _cut(names.get(step["load_id"] or "", f"pid {step['pid']}"), 16),
            ("+" if step["change_bytes"] > 0 else "") + mib(step["change_bytes"], 0),
            "" if step["state"] in {"released", "woken"} else mib(step["rest_bytes"], 0),
            _said(step),
        )
        for step in shown
    )
    small = sum(step["state"] == "small" for step in steps)
    notes = []
    if len(worth) > len(shown):
        notes.append(f"{len(worth) - len(shown)} more steps are in the JSON.")
    if small:
        notes.append(f"{count(small, 'change').capitalize()} of less than 96 MiB left out.")
    columns = ("at", "card", "who", "change MiB>", "not named>", "what the log says")
    return Section("Steps of memory", columns, rows, " ".join(notes))


def _said(step: dict[str, Any]) -> str:
    """What the log says of a step: its items by part, and what of it they leave open."""
    parts: dict[str, list[str]] = {}
    for item in (step["items"] or "").split(", "):
        part, _, kind = item.partition(" ")
        if kind:
            parts.setdefault(part, []).append(kind.replace("_", " "))
    items = "; ".join(f"{part} {', '.join(kinds)}" for part, kinds in parts.items())
    if step["state"] == "named":
        return items
    if step["state"] == "woken":
        return WORDS["woken"]
    told = WORDS[step["state"]] + (f" ({step['why']})" if step["why"] else "")
    return f"{items}; the rest: {told}" if items else told


def _hole_table(holes: Rows, names: dict[str, str], cards: Rows) -> Section:
    card_names = {card["card_id"]: card["name_"] for card in cards}
    words = {
        "sampling": "not sampled for {number} s",
        "suppressed": "{number} messages dropped by the journal",
        "unsampled": "no sample of a card shows it",
        "timeless": "{number} lines without any wall time",
        "suspended": "the host slept for {number} s",
        "step": "the clock was set by {number} s",
        "unclear": "the clock went {number} s ahead: it was set, or the host slept",
    }
    found: dict[tuple[str, str, str], list[str]] = {}
    for pauses in _chained(holes):
        first, last = pauses[0], pauses[-1]
        told = words[first["kind"]].format(number=max((row["number"] or 0 for row in pauses), key=abs))
        if len(pauses) > 1:
            told = f"{len(pauses)} pauses in a row, the longest of {max(row['number'] for row in pauses)} s"
        key = ((iso(first["from_us"]) or "")[11:19], (iso(last["to_us"]) or "")[11:19], told)
        who = card_names.get(first["subject"]) or names.get(first["subject"]) or first["subject"]
        found.setdefault(key, []).append(who)
    rows = tuple((begun, until, ", ".join(who), told) for (begun, until, told), who in found.items())
    return Section("Holes in the evidence", ("from", "to", "what", ""), rows)


def _chained(holes: Rows) -> list[Rows]:
    """Pauses of the sampling of one card that follow each other, together; every other hole alone."""
    chains: list[Rows] = []
    open_: dict[str, Rows] = {}
    for row in holes:
        chain = open_.get(row["subject"]) if row["kind"] == "sampling" else None
        if chain is not None and chain[-1]["to_us"] == row["from_us"]:
            chain.append(row)
            continue
        chains.append([row])
        if row["kind"] == "sampling":
            open_[row["subject"]] = chains[-1]
    return chains


def _next(counted: Counter[str], holes: Rows, cards: Rows) -> str:
    kinds = {row["kind"] for row in holes}
    if not cards:
        return "Sample the cards beside the log: nvidia-smi --query-compute-apps and --query-gpu, once a second."
    if "suppressed" in kinds:
        return "Raise the journal's rate limit for this unit, so that no message is dropped."
    if "unsampled" in kinds or "sampling" in kinds:
        return "Sample the cards from before the first load to after the last, once a second."
    if counted["unexplained"]:
        return "Ask explain-vram at the time of a step that nobody explains (--at TIME)."
    return ""


# -- the trace --------------------------------------------------------------------------------------------------------


def _trace(loads: Rows, cards: Rows, steps: Rows) -> str:
    places = {card["card_id"]: place for place, card in enumerate(cards)}
    traced = [
        {
            "name": f"{card['name_']} {card['name'] or ''}".strip(),
            "levels": card["levels"],
            "holders": [
                {"name": f"pid {pid}", "levels": _levels([row for row in card["held"] if row["pid"] == pid])}
                for pid in sorted({row["pid"] for row in card["held"]})
            ],
        }
        for card in cards
    ]
    marks = [
        {
            "card": places[step["card_id"]],
            "at_us": step["at_us"],
            "text": f"{mib(step['change_bytes'], 0)} MiB: {WORDS[step['state']]}",
        }
        for step in steps
        if step["state"] == "unexplained" and step["card_id"] in places
    ]
    return chrome_trace(
        traced, [{"name": f"{load['number']} {load['identity']}", "phases": load["phases"]} for load in loads], marks
    )


def _levels(held: Rows) -> list[tuple[int, int]]:
    """Begin of each stretch of a holder, and nothing behind its last."""
    ordered = sorted(held, key=lambda row: row["from_us"])
    found = [(row["from_us"], row["used_bytes"]) for row in ordered]
    return [*found, (ordered[-1]["to_us"] + 1, 0)] if found else []
