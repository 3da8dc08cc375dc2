"""Answer which model was loaded when, and how each load ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .amounts import count
from .answer import Answer, Ask, Section
from .document import DIGEST, last_part
from .explain import Rows, iso
from .refute import Looks, Refutation, every_load, looks, not_its_own, refutation_document, refute

__all__ = ["loads"]


def loads(ask: Ask) -> Answer:
    """List the loads of a case, in order of time."""
    rows = [
        row
        for row in ask.rows(
            "SELECT loads.*, load.begun_line, load.ready_line IS NOT NULL AS ready "
            "FROM loads JOIN load USING (load_id) ORDER BY loads.number"
        )
        if ask.wants(row["load_id"])
        and ask.unit in (None, row["unit"])
        and _inside(ask, row["begun_us"], row["ended_us"])
    ]
    # Who asks for some loads only is told whose the other lines are that a search for them would return.
    lines = looks(ask, "life") if ask.loads is not None else []
    every = every_load(ask) if ask.loads is not None else {}
    sorted_lines = {row["load_id"]: refute(lines, every[row["load_id"]], every, ask.window) for row in rows if every}
    shared = _shared(ask, rows)
    document = {
        "schema": "forensics.loads/1",
        "loads_in_window": len(rows),
        "loads": [
            {
                **{
                    key: row[key] for key in ("load_id", "number", "engine", "version", "model", "label", "unit", "pid")
                },
                "begun_at": iso(row["begun_us"]),
                "ready": row["ready"],
                "ready_at": iso(row["ready_us"]),
                "ended_at": iso(row["ended_us"]),
                "end_reason": row["end_reason"],
                "loading_s": row["loading_s"],
                "layers": row["layers"],
                "parts": (row["parts"] or "").split(),
                "models": row["models"],
                "lines": row["lines"],
                **(
                    {"looked_at": refutation_document(sorted_lines[row["load_id"]])}
                    if row["load_id"] in sorted_lines
                    else {}
                ),
            }
            for row in rows
        ],
        "shared_names": shared,
    }
    if not rows:
        return Answer(document, "No model load begins or shows in this evidence.", code=3)
    ready = sum(row["ready"] for row in rows)
    verdict = f"{len(rows)} load{'s' if len(rows) > 1 else ''}; {ready} got ready."
    section, about = _listed(rows)
    cited = [row["begun_line"] for row in rows]
    sections = (section, _names(shared, rows)) if shared else (section,)
    if len(sorted_lines) != 1:
        return Answer(document, verdict, about, sections, tuple(cited))
    (found,) = sorted_lines.values()
    cited = list(dict.fromkeys((*cited, *found.cited())))
    return Answer(document, verdict, about, (*sections, _evidence(found, cited)), tuple(cited))


def _listed(rows: Rows) -> tuple[Section, tuple[str, ...]]:
    """A row a load; what is the same for all of them is said once, above."""
    engines = [f"{row['engine']} {row['version'] or ''}".strip() for row in rows]
    begun = [(iso(row["begun_us"]) or "").replace("T", " ")[:19] for row in rows]
    ended = [(iso(row["ended_us"]) or "").replace("T", " ")[:19] for row in rows]
    days = {one[:10] for one in (*begun, *ended) if one}
    day = days.pop() if len(days) == 1 else ""
    columns: dict[str, list[str]] = {
        "#>": [str(row["number"]) for row in rows],
        "model": [_called(row) for row in rows],
        "models>": ["" if row["models"] is None else str(row["models"]) for row in rows],
        "engine": engines,
        "begun": [one.removeprefix(f"{day} ") or "no wall time" for one in begun],
        "loading s>": ["" if row["loading_s"] is None else f"{row['loading_s']:.1f}" for row in rows],
        "ended": [
            one.removeprefix(f"{day} ") if day or one[:10] != other[:10] else one[11:]
            for one, other in zip(ended, begun, strict=True)
        ],
        "how": [row["end_reason"] or "" for row in rows],
        "id": [row["load_id"] for row in rows],
    }
    if not any(row["models"] not in (None, 1) for row in rows):
        del columns["models>"]
    common = [columns.pop("engine")[0]] if len(set(engines)) == 1 else []
    common += [f"{day} UTC"] if day else []
    shown = tuple(zip(*columns.values(), strict=True))
    return Section("Loads", tuple(columns), shown), (" · ".join(common),) if common else ()


def _shared(ask: Ask, rows: Rows) -> list[dict[str, Any]]:
    """Names of these loads that stand for several identities of the case, and what each of those is."""
    shown = {row["load_id"] for row in rows}
    names: dict[str, list[dict[str, Any]]] = {}
    for row in ask.rows("SELECT name, model, options, loads FROM shared_names"):
        loads = row["loads"].split()
        names.setdefault(row["name"], []).append({"model": row["model"], "options": row["options"], "loads": loads})
    return [
        {"name": name, "identities": found}
        for name, found in names.items()
        if any(load in shown for one in found for load in one["loads"])
    ]


def _names(shared: Sequence[Mapping[str, Any]], rows: Rows) -> Section:
    """What each name that several identities share stands for: the file, where files differ, and options that do."""
    number = {row["load_id"]: str(row["number"]) for row in rows}
    shown: list[tuple[str, ...]] = []
    for one in shared:
        found = one["identities"]
        models = {identity["model"] for identity in found}
        started = [_options(identity["options"]) for identity in found]
        known = [options for options in started if options is not None]
        for place, (identity, options) in enumerate(zip(found, started, strict=True)):
            own = [] if options is None else [text for text in options if not all(text in other for other in known)]
            told = [_short(identity["model"])] if len(models) > 1 else []
            differ = any(identity["model"] == other["model"] for other in found if other is not identity)
            if options is None:
                told.append("options not in the log")
            elif differ:
                told.append(" ".join(own) or "no option of its own")
            loads = " ".join(number.get(load, "…") for load in identity["loads"])
            shown.append(("" if place else _short(one["name"]), " · ".join(told), loads))
    return Section("One name, several identities", ("name", "stands for", "#>"), tuple(shown))


def _options(text: str | None) -> list[str] | None:
    """The options of a command line, each with its values."""
    return None if text is None else re.findall(r"(?:^|(?<=\s))-\S+(?:\s+(?!-)\S+)*", text)


def _short(name: str) -> str:
    """A name without its folders, a digest without its end."""
    last = last_part(name)
    digest = DIGEST.fullmatch(last)
    return digest["short"] if digest else last


def _evidence(found: Refutation, cited: list[str]) -> Section:
    number = {line: f"e{place}" for place, line in enumerate(cited, 1)}

    def numbers(lines: Sequence[Looks]) -> str:
        return " ".join(number[line.line_id] for line in lines[:3]) + (" …" if len(lines) > 3 else "")

    rows = [
        ("its own" if not place else "", one.what, number[one.line_id]) for place, one in enumerate(found.favouring)
    ]
    rows += not_its_own(found, numbers)
    if found.ambiguous:
        told = f"{count(len(found.ambiguous), 'line')} that several loads could have written; not used"
        rows.append(("ambiguous", told, numbers(found.ambiguous)))
    return Section("Evidence", ("", "", ""), tuple(rows))


def _called(row: Mapping[str, Any]) -> str:
    """The name of a load; where only the count of its layers is known, that count, which is no identity."""
    if row["label"] or row["model"]:
        return _short(str(row["label"] or row["model"]))
    return "unknown model" if row["layers"] is None else f"unknown model, {row['layers']} layers"


def _inside(ask: Ask, begun: int | None, ended: int | None) -> bool:
    """Whether a load's life touches the span asked for; a load without times always does."""
    return ask.window is None or ask.window.touches(begun, ended)
