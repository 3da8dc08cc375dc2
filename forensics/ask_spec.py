"""Answer whether a load speculates, how well, and which lines of other loads only look like evidence about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .amounts import count, plain
from .answer import Answer, Ask, Section
from .bars import sparkline
from .block_tables import block_tables, table_section
from .explain import iso, mib
from .refute import (
    Looks,
    Refutation,
    Window,
    every_load,
    loads_in,
    looks,
    not_its_own,
    refutation_document,
    refute,
    window_of,
)

__all__ = ["spec"]

WITH_BONUS = "1 + accepted / drafts: the token that every draft gains from the target (bonus token) is counted"
WITHOUT_BONUS = "accepted / drafts: the token that every draft gains from the target (bonus token) is not counted"

SHOWN = 8
"""Rows of a screen's table; the document has all."""

STEPS = 32
"""Steps of the row that shows acceptance over time."""


@dataclass
class Judged:
    """One load with what its lines say."""

    load: dict[str, Any]
    setup: dict[str, Any]
    totals: dict[str, Any]
    requests: dict[str, Any]
    samples: list[dict[str, Any]]
    positions: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    doubts: list[dict[str, Any]]
    refutation: Refutation
    memory: dict[str, Any] | None
    active: bool | None = None
    because: str = ""
    leaning: dict[str, Any] | None = None
    cited: list[str] = field(default_factory=list)


def spec(ask: Ask) -> Answer:
    """Say for each load what it was set up to draft, whether it drafts, and how much of that is accepted."""
    window = window_of(ask)
    every = every_load(ask)
    inside = loads_in(ask, every, window)
    wanted = [load for load in (every.values() if ask.loads is not None else inside) if ask.wants(load["load_id"])]
    judged = _judge(ask, wanted, every, window)
    document = {
        "schema": "forensics.spec/1",
        "window": None if window is None else {"since": iso(window.since_us), "until": iso(window.until_us)},
        "loads_in_window": len(inside),
        "loads": [_document(one) for one in judged],
        "models": _models(ask, judged),
        "effects": _effects(ask, judged),
        "tables": (tables := block_tables(ask)),
    }
    if not judged:
        answer = _nobody(ask, document)
    else:
        cited = list(dict.fromkeys(line for one in judged for line in one.cited))
        code = 0 if any(one.active is not None for one in judged) else 3
        if len(judged) == 1:
            answer = _one(judged[0], every, document, cited, code, len(inside) if window else None)
        else:
            answer = _many(judged, document, cited, code)
    return replace(
        answer,
        sections=(*answer.sections, *map(table_section, tables)),
        cited=(*answer.cited, *(line for table in tables for line in table["evidence"])),
    )


def _nobody(ask: Ask, document: dict[str, Any]) -> Answer:
    """No load shows: say which lines would be evidence if somebody owned them."""
    lines = [line for line in looks(ask, "speculation") if line.load_id is None and not line.suspect]
    document["without_owner"] = [
        {"evidence": line.line_id, "at": iso(line.at_us), "says": line.says, "what": line.what, "reason": line.reason}
        for line in lines
    ]
    if not lines:
        return Answer(document, "No model load begins or shows in this evidence.", code=3)
    return Answer(
        document,
        f"Cannot tell: {count(len(lines), 'line')} about speculation, and no load shows whose "
        f"{'it is' if len(lines) == 1 else 'they are'}.",
        sections=(Section("Without an owner", ("", ""), tuple((line.says, line.what) for line in lines[:SHOWN])),),
        cited=tuple(line.line_id for line in lines),
        next="Add the part of the log in which the load begins.",
        code=3,
    )


# -- what the rows say ------------------------------------------------------------------------------------------------


def _judge(
    ask: Ask, wanted: Sequence[dict[str, Any]], every: Mapping[str, dict[str, Any]], window: Window | None
) -> list[Judged]:
    lines = looks(ask, "speculation")
    setups = {row["load_id"]: row for row in ask.rows("SELECT * FROM speculation")}
    totals = {row["load_id"]: row for row in ask.rows("SELECT * FROM draft_totals")}
    requests = {row["load_id"]: row for row in ask.rows("SELECT * FROM draft_requests")}
    samples = _by_load(ask.rows("SELECT * FROM draft_samples WHERE drafted > 0 OR drafted IS NULL"))
    positions = _by_load(ask.rows("SELECT * FROM draft_positions"))
    checks = _by_load(ask.rows("SELECT * FROM draft_checks"))
    doubts = _by_load(ask.rows("SELECT * FROM draft_doubts"))
    memory = _by_load(
        ask.rows(
            """
            SELECT load_id, sum(size_bytes)::BIGINT AS size_bytes, sum(bound_bytes)::BIGINT AS bound_bytes,
                string_agg(DISTINCT part, ', ' ORDER BY part) AS parts,
                string_agg(lines, ' ' ORDER BY device, kind) AS lines
            FROM vram_ledger WHERE part IN ('mtp', 'draft') AND place = 'card' GROUP BY load_id
            """
        )
    )
    judged = []
    for load in wanted:
        load_id = load["load_id"]
        one = Judged(
            load=load,
            setup=setups[load_id],
            totals=totals.get(load_id, {}),
            requests=requests.get(load_id, {}),
            samples=samples.get(load_id, []),
            positions=positions.get(load_id, []),
            checks=checks.get(load_id, []),
            doubts=doubts.get(load_id, []),
            refutation=refute(lines, load, every, window),
            memory=next(iter(memory.get(load_id, [])), None),
        )
        one.active, one.because = _active(one)
        if one.active is None:
            one.leaning = _leaning(one, every, setups)
        one.cited = _cited(one)
        judged.append(one)
    return judged


def _by_load(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["load_id"], []).append(row)
    return found


def _active(one: Judged) -> tuple[bool | None, str]:
    """Whether it drafts, and why; None where its own lines do not say."""
    setup, requests = one.setup, one.requests
    drafted = one.totals.get("drafted") or one.totals.get("total_drafted") or 0
    unowned = _unowned_acceptance(one)
    inert = next((doubt["note"] for doubt in one.doubts if doubt["doubt"] == "inert"), None)
    if drafted:
        return True, "its own lines count drafted tokens"
    if inert is not None and (setup["said_off"] or setup["refused"]):
        return False, inert
    if setup["said_off"]:
        return False, "its own line says that no speculation is set up"
    if setup["configured"] is False:
        return False, "its arguments ask for none"
    if unowned:
        return None, f"{count(len(unowned), 'acceptance line')} could be its, and nothing says whose"
    if inert is not None:
        return False, inert
    if requests.get("telling"):
        return False, f"none of {count(requests['telling'], 'timed request')} drafted"
    if one.load["ready_line"] is None and one.load["end_reason"] in {"failed", "crashed", "aborted", "killed"}:
        return None, "it never got ready"
    if setup["configured"]:
        return None, "set up, but no request of it shows"
    return None, "no line of it says what it was set up with, and no request of it shows"


def _unowned_acceptance(one: Judged) -> list[Looks]:
    return [line for line in one.refutation.ambiguous if line.says == "for" and "drafted tokens" in line.what]


def _leaning(
    one: Judged, every: Mapping[str, dict[str, Any]], setups: Mapping[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """The only candidate of the ownerless lines that is set up to draft: a lead, no proof."""
    candidates = {load_id for line in _unowned_acceptance(one) for load_id in line.candidates}
    able = [load_id for load_id in candidates if setups[load_id]["configured"]]
    if len(able) != 1 or len(candidates) < 2:
        return None
    return {
        "load_id": able[0],
        "number": every[able[0]]["number"],
        "why": "the only candidate that is set up to draft",
        "scope": "inferred",
    }


def _cited(one: Judged) -> list[str]:
    """Most telling first: what was counted, what it was set up with, what speaks against, what is another's."""
    found: list[str] = []
    for text in (
        one.totals.get("lines"),
        one.totals.get("total_lines"),
        one.setup["argument_lines"],
        one.setup["for_lines"],
        one.setup["against_lines"],
        *(doubt["lines"] for doubt in one.doubts),
        one.requests.get("lines"),
        one.memory["lines"] if one.memory else None,
    ):
        found.extend((text or "").split())
    shown = refutation_document(one.refutation)
    found.extend(shown["for"] + shown["against"])
    for group in (*(owner["lines"] for owner in shown["elsewhere"]), shown["ambiguous"], shown["looks_only"]):
        found.extend(line["evidence"] for line in group)
    found.extend(line["evidence"] for line in shown["without_owner"] + shown["suspected"])
    found.extend(sample["positions_line"] for sample in one.samples if sample["positions_line"])
    return list(dict.fromkeys(found))


# -- the document -----------------------------------------------------------------------------------------------------


def _document(one: Judged) -> dict[str, Any]:
    load, totals = one.load, one.totals
    return {
        **{key: load[key] for key in ("load_id", "number", "engine", "version", "model", "label", "unit")},
        "begun_at": iso(load["begun_us"]),
        "ready_at": iso(load["ready_us"]),
        "ended_at": iso(load["ended_us"]),
        "end_reason": load["end_reason"],
        "configured": _configured(one.setup),
        "active": one.active,
        "because": one.because,
        "accepted": totals.get("accepted"),
        "drafted": totals.get("drafted"),
        "acceptance": _rounded(totals.get("acceptance")),
        "acceptance_range": None
        if not totals.get("drafted")
        else [_rounded(totals["lowest"]), _rounded(totals["highest"])],
        "acceptance_definition": "accepted / drafted: sums of counts, never a mean of rates",
        "drafts": totals.get("drafts"),
        **_depth_used(one),
        **_mean_length(one),
        "positions": [
            {
                key: _rounded(row[key]) if key == "rate" else row[key]
                for key in ("position", "accepted", "drafts", "rate")
            }
            for row in one.positions
        ],
        "positions_left_out": max((row["left_out"] for row in one.positions), default=0),
        "over_time": [_rounded(share) for share in _over_time(one.samples)],
        "samples": [_sample(row) for row in one.samples],
        "cumulative": _cumulative(totals),
        "requests": {
            "timed": one.requests.get("timed", 0),
            "drafting": one.requests.get("drafted", 0),
            "would_tell": one.requests.get("telling", 0),
            "median_per_s": _rounded(one.requests.get("median")),
            "cv": _rounded(one.requests.get("spread")),
            "statistics_lines": one.requests.get("windows", 0),
        },
        "checks": [
            {
                "check": row["name"],
                "printed": _rounded(row["printed"]),
                "computed": _rounded(row["computed"]),
                "tolerance": float(row["tolerance"]),
                "holds": row["holds"],
                "note": row["note"],
                "evidence": row["line_id"],
            }
            for row in one.checks
        ],
        "doubts": [
            {"doubt": row["doubt"], "note": row["note"], "evidence": (row["lines"] or "").split()} for row in one.doubts
        ],
        "memory": _memory(one),
        "findings": _findings(one),
        **refutation_document(one.refutation),
        "leaning": one.leaning,
    }


def _over_time(samples: Sequence[Mapping[str, Any]], steps: int = STEPS) -> list[float]:
    """Acceptance in order of time, in at most so many steps; each is a sum of counts over a sum of counts."""
    rows = [row for row in samples if row["drafted"] and row["accepted"] is not None]
    size = -(-len(rows) // steps) or 1
    groups = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [sum(row["accepted"] for row in group) / sum(row["drafted"] for row in group) for group in groups]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)


def _configured(setup: Mapping[str, Any]) -> dict[str, Any] | None:
    if setup["configured"] is None:
        return None
    return {
        "method": setup["method"],
        "n_max": setup["n_max"],
        "draft_model": setup["draft_model"],
        "asked": {"method": setup["asked_method"], "n_max": setup["asked_n_max"]},
        "said": {"method": setup["said_method"], "n_max": setup["said_n_max"], "off": setup["said_off"]},
        "synthetic": setup["synthetic"],
        "evidence": " ".join(
            text for text in (setup["argument_lines"], setup["for_lines"], setup["against_lines"]) if text
        ).split(),
    }


def _mean_length(one: Judged) -> dict[str, Any]:
    """The mean length with its definition, and the other definition beside it where the drafts are known."""
    derived = one.totals.get("mean_length")
    counted = [row["bonus"] for row in one.checks if row["bonus"] is not None]
    if derived is not None:
        proved = bool(counted) and all(counted)
        return {
            "mean_len": _rounded(derived),
            "mean_len_definition": WITH_BONUS,
            "mean_len_basis": "derived",
            "mean_len_without_bonus": _rounded(derived - 1),
            "bonus_proved": proved,
        }
    printed = [row["mean_length"] for row in one.samples if row["mean_length"] is not None]
    if len(printed) == 1:
        definition = None
        if counted:
            definition = WITH_BONUS if all(counted) else WITHOUT_BONUS if not any(counted) else None
        return {
            "mean_len": printed[0],
            "mean_len_definition": definition or "as printed; whether the bonus token is counted is not established",
            "mean_len_basis": "logged",
            "mean_len_without_bonus": None,
            "bonus_proved": definition is not None,
        }
    return {
        "mean_len": None,
        "mean_len_definition": "none: the drafts of some samples do not follow from their lines" if printed else None,
        "mean_len_basis": None,
        "mean_len_without_bonus": None,
        "bonus_proved": False,
    }


def _depth_used(one: Judged) -> dict[str, Any]:
    """Whether drafts had their full depth, and the committed share of blocks of that depth, as others define it.

    A draft is cut short where its probability falls below a bound, or where depth adapts.
    """
    drafts, drafted, accepted, depth = (
        one.totals.get("drafts"),
        one.totals.get("drafted"),
        one.totals.get("accepted"),
        one.setup["n_max"],
    )
    if not drafts or not drafted or not depth:
        return {"drafting": None, "committed_per_block": None}
    return {
        "drafting": "full depth" if drafted == drafts * depth else "cut short",
        "committed_per_block": _rounded((accepted + drafts) / (drafts * depth)),
    }


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "at": iso(row["at_us"]),
        "covers": row["covers"],
        "writer": row["writer"],
        "slot": row["slot"],
        "task": row["task"],
        "accepted": row["accepted"],
        "drafted": row["drafted"],
        "acceptance": _rounded(row["ratio"]),
        "mean_len": row["mean_length"],
        "drafts": row["drafts"],
        "positions": row["positions"],
        "evidence": [row["line_id"], *([row["positions_line"]] if row["positions_line"] else [])],
    }


def _cumulative(totals: Mapping[str, Any]) -> dict[str, Any] | None:
    """The last cumulative counts, compared with the sum of the samples and never added to it."""
    if totals.get("total_drafted") is None:
        return None
    drafted, accepted = totals["total_drafted"], totals["total_accepted"]
    mine = totals["drafted"] or 0
    if totals["totals_fall"] or mine > drafted:
        agrees, why = False, "cumulative counts and requests contradict each other"
    elif (mine, totals["accepted"] or 0) == (drafted, accepted):
        agrees, why = True, "the requests add up to it"
    else:
        agrees, why = None, f"{drafted - mine} drafted tokens are of requests that the evidence does not show"
    return {
        "accepted": accepted,
        "drafted": drafted,
        "drafts": totals["total_drafts"],
        "acceptance": _rounded(accepted / drafted) if drafted else None,
        "agrees": agrees,
        "why": why,
        "evidence": (totals["total_lines"] or "").split(),
    }


def _memory(one: Judged) -> dict[str, Any] | None:
    """What drafting holds on cards, and what that is for each token it gained so far."""
    if one.memory is None:
        return None
    size, accepted = one.memory["size_bytes"], one.totals.get("accepted") or one.totals.get("total_accepted")
    return {
        "mib": mib(size),
        "bytes": size,
        "parts": one.memory["parts"],
        "basis": "logged",
        "per_accepted_token_mib": round(size / accepted / 1048576, 4) if accepted else None,
        "evidence": one.memory["lines"].split(),
    }


def _findings(one: Judged) -> list[dict[str, Any]]:
    """The answer as claims: supported, contradicted, or not established."""
    state = {True: "supported", False: "contradicted", None: "not established"}[one.active]
    favouring = [line.line_id for line in one.refutation.favouring]
    against = [line.line_id for line in one.refutation.against]
    if one.active is False:
        against += [line for line in (one.requests.get("lines") or "").split() if line not in against]
    found = [{"claim": "it speculates", "state": state, "because": one.because, "for": favouring, "against": against}]
    found.extend(
        {
            "claim": {
                "inert": "its speculation works",
                "collapse": "its acceptance is steady",
                "arithmetic": "the printed figures are consistent",
                "depth": "it runs at the depth asked for",
                "totals": "the evidence shows all of its requests once",
            }.get(row["doubt"], "its acceptance is that of real work"),
            "state": "contradicted" if row["doubt"] not in {"tiny", "trivial"} else "not established",
            "because": row["note"],
            "for": [],
            "against": (row["lines"] or "").split(),
        }
        for row in one.doubts
    )
    return found


def _models(ask: Ask, judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Depth and range of acceptance of each model that drafted, over all of its loads."""
    if len(judged) < 2:
        return []
    return [
        {
            **{key: row[key] for key in ("model", "identity", "loads", "samples", "accepted", "drafted")},
            "depths": [int(one) for one in (row["depths"] or "").split()],
            "acceptance": _rounded(row["acceptance"]),
            "acceptance_range": [_rounded(row["lowest"]), _rounded(row["highest"])],
        }
        for row in ask.rows("SELECT * FROM draft_models")
    ]


def _effects(ask: Ask, judged: Sequence[Judged]) -> dict[str, Any] | None:
    """Which models got faster from one load to the next, and whether those are the ones that draft."""
    wanted = {one.load["load_id"] for one in judged}
    rows = [
        row
        for row in ask.rows("SELECT * FROM speculation_effects")
        if row["load_id"] in wanted and row["change"] is not None
    ]
    drafting = [row["change"] for row in rows if row["drafts"]]
    others = [row["change"] for row in rows if row["drafts"] is False]
    if not rows:
        return None
    apart = bool(drafting) and bool(others) and min(drafting) > max(others)
    return {
        "claim": "what got faster is what drafts",
        "state": "not measured" if not drafting or not others else "supported" if apart else "contradicted",
        "drafting": _range(drafting),
        "others": _range(others),
        "cells": [
            {
                **{
                    key: row[key]
                    for key in ("load_id", "before_id", "identity", "tokens_from", "drafts", "before_drafts")
                },
                "before_per_s": _rounded(row["before_per_s"]),
                "per_s": _rounded(row["per_s"]),
                "change": _rounded(row["change"]),
                "requests": row["requests"],
                "evidence": row["lines"].split(),
            }
            for row in rows
        ],
        "note": "that they go together is no proof of a cause: what else differs between the loads, diff says",
    }


def _range(changes: Sequence[float]) -> dict[str, Any]:
    return {
        "cells": len(changes),
        "lowest": _rounded(min(changes)) if changes else None,
        "highest": _rounded(max(changes)) if changes else None,
    }


# -- the screen -------------------------------------------------------------------------------------------------------


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _method(setup: Mapping[str, Any]) -> str:
    if not setup["configured"]:
        return ""
    depth = "" if setup["n_max"] is None else f", depth {setup['n_max']}"
    return f"{setup['method'] or 'draft model'}{depth}"


def _one(
    one: Judged,
    every: Mapping[str, dict[str, Any]],
    document: dict[str, Any],
    cited: list[str],
    code: int,
    loads: int | None,
) -> Answer:
    load, totals = one.load, one.totals
    name = load["name"]
    told = document["loads"][0]
    about: list[str] = []
    if one.active:
        accepted = totals["accepted"] if totals.get("drafted") else totals["total_accepted"]
        drafted = totals["drafted"] or totals["total_drafted"]
        method = _method(one.setup) or "the log does not say how"
        verdict = f"Yes: {name} speculates ({method}). {accepted} of {drafted} drafted tokens accepted."
        parts = [f"acceptance {_percent(accepted / drafted)}"]
        if told["mean_len"] is not None:
            bonus = "bonus token included" if told["mean_len_definition"] == WITH_BONUS else "as printed"
            parts.append(f"mean length {told['mean_len']:.2f} ({bonus})")
        about.append(", ".join(parts))
    elif one.active is False:
        verdict = f"No: {name} does not speculate; {one.because}."
        if one.setup["configured"]:
            verdict = f"No: {name} is set up to speculate ({_method(one.setup)}) and does not; {one.because}."
    elif _unowned_acceptance(one):
        lines = _unowned_acceptance(one)
        candidates = {load_id for line in lines for load_id in line.candidates}
        verdict = (
            f"Cannot tell. {count(len(candidates), 'load').capitalize()} could have written "
            f"{count(len(lines), 'acceptance line')}, and {'it does' if len(lines) == 1 else 'they do'} not say which."
        )
    else:
        verdict = f"Cannot tell whether {name} speculates: {one.because}."
    ready = iso(load["ready_us"])
    about.insert(
        0,
        " · ".join(
            part
            for part in (
                f"load {load['number']}",
                f"{load['engine']} {load['version'] or ''}".strip(),
                f"ready {ready.replace('T', ' ')[:19]} UTC" if ready else "",
                f"{loads} loads in the window" if loads and loads > 1 else "",
            )
            if part
        ),
    )
    about.extend(_doubt_lines(one))
    sections = [
        section
        for section in (_acceptance(one), _by_position(one), _evidence(one, every, cited), _arithmetic(one))
        if section is not None
    ]
    return Answer(document, verdict, tuple(about), tuple(sections), tuple(cited), _next(one), code)


def _doubt_lines(one: Judged) -> list[str]:
    seen: list[str] = []
    for row in one.doubts:
        if row["doubt"] in {"inert", "arithmetic"}:
            continue
        text = f"Doubt: {row['note']}."
        if text not in seen:
            seen.append(text)
    return seen[:4] + ([f"and {len(seen) - 4} more doubts"] if len(seen) > 4 else [])


def _acceptance(one: Judged) -> Section | None:
    rows = [row for row in one.samples if row["drafted"]]
    if not rows:
        return None
    shown = rows[-SHOWN:]
    notes = []
    if len(rows) > len(shown):
        notes.append(f"last {len(shown)} of {len(rows)}")
    if len(rows) > 1:
        notes.append(f"over time {sparkline([row['ratio'] for row in rows])}")
        notes.append(f"{_percent(min(row['ratio'] for row in rows))} to {_percent(max(row['ratio'] for row in rows))}")
    cumulative = _cumulative(one.totals)
    if cumulative is not None:
        notes.append(f"cumulative {cumulative['accepted']} of {cumulative['drafted']}: {cumulative['why']}")
    memory = _memory(one)
    if memory is not None:
        each = memory["per_accepted_token_mib"]
        per = "" if each is None else f", {each:.4g} MiB for each token accepted so far"
        notes.append(f"drafting holds {plain(memory['bytes'])} on cards{per}")
    return Section(
        "Acceptance",
        ("time", "task", "accepted>", "drafted>", "rate>", "mean length>"),
        tuple(
            (
                (iso(row["at_us"]) or "").replace("T", " ")[11:19],
                row["covers"] if row["task"] is None else str(row["task"]),
                "" if row["accepted"] is None else str(row["accepted"]),
                str(row["drafted"]),
                _percent(row["ratio"]),
                "" if row["mean_length"] is None else f"{row['mean_length']:.2f}",
            )
            for row in shown
        ),
        note="; ".join(notes),
    )


def _by_position(one: Judged) -> Section | None:
    rows = [row for row in one.positions if row["rate"] is not None]
    if not rows:
        return None
    return Section(
        "By position in the draft",
        tuple(f"{row['position']}>" for row in rows),
        (tuple(_percent(row["rate"]) for row in rows),),
    )


def _evidence(one: Judged, every: Mapping[str, dict[str, Any]], cited: list[str]) -> Section | None:
    number = {line: f"e{place}" for place, line in enumerate(cited, 1)}
    found = one.refutation

    def numbers(lines: Sequence[Looks]) -> str:
        known = [number[line.line_id] for line in lines if line.line_id in number]
        return " ".join(known[:3]) + (" …" if len(known) > 3 else "")

    rows: list[tuple[str, str, str]] = []
    undrafted = [] if one.active or not one.requests.get("telling") else (one.requests.get("lines") or "").split()
    for label, lines in (("for", found.favouring), ("against", found.against)):
        kinds: dict[str, list[Looks]] = {}
        for line in lines:
            kinds.setdefault(line.what.split(":")[0], []).append(line)
        for position, (what, some) in enumerate(kinds.items()):
            shown = some[0].what if len(some) == 1 else f"{what} ({len(some)} lines)"
            rows.append((label if position == 0 else "", shown, numbers(some)))
        if label == "against" and undrafted:
            what = f"{count(one.requests['telling'], 'timed request')} without drafts"
            rows.append(("" if lines else label, what, " ".join(number[line] for line in undrafted[:3])))
        elif not lines:
            rows.append((label, "nothing in this load", ""))
    contrary = (
        {"against", "nothing"} if one.active else {"for"} if one.active is False else {"for", "against", "nothing"}
    )
    rows.extend(not_its_own(found, numbers, contrary, "lines that speak of drafting"))
    if found.ambiguous:
        names = sorted(every[load_id]["number"] for line in found.ambiguous for load_id in line.candidates)
        whose = " or ".join(str(number) for number in dict.fromkeys(names))
        what = f"{count(len(found.ambiguous), 'line')} of load {whose}; not used"
        rows.append(("ambiguous", what, numbers(found.ambiguous)))
    if one.leaning is not None:
        rows.append(("leaning", f"load {one.leaning['number']}: {one.leaning['why']}; inferred, not proven", ""))
    if found.suspected:
        rows.append(
            ("suspected", f"{count(len(found.suspected), 'line')} that may be forged", numbers(found.suspected))
        )
    return Section("Evidence", ("", "", ""), tuple(rows))


def _arithmetic(one: Judged) -> Section | None:
    wrong = [row for row in one.checks if not row["holds"]]
    if not one.checks:
        return None
    held = f"{len(one.checks) - len(wrong)} of {len(one.checks)} checks hold"
    if not wrong:
        return Section(
            "Arithmetic", ("",), (), note=f"{held}: rates, mean lengths and positions agree with the counts."
        )
    return Section(
        "Arithmetic",
        ("check", "printed>", "computed>", "how"),
        tuple(
            (
                row["name"],
                f"{row['printed']:.3f}",
                "" if row["computed"] is None else f"{row['computed']:.3f}",
                row["note"],
            )
            for row in wrong[:SHOWN]
        ),
        note=held,
    )


def _next(one: Judged) -> str:
    if one.active is None and _unowned_acceptance(one):
        return "Give each runner its own prefix, unit or container, so that its lines say whose they are."
    if one.active is None and one.setup["configured"]:
        return "Send it one request of some length and look again."
    if one.active is None:
        return "Raise its verbosity so that it prints its setup, or send it a request, and look again."
    if one.active is False and one.setup["configured"]:
        return "Check that the method is named beside the draft model, and that the draft model was found."
    if one.active and not (one.totals.get("accepted") or one.totals.get("total_accepted")):
        return "Nothing of what it drafts is accepted: it pays for drafts and gains none."
    if any(row["doubt"] in {"tiny", "synthetic"} for row in one.doubts):
        return "Measure with real prompts and at least a few hundred drafted tokens before quoting the rate."
    return ""


def _by_model(models: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Only where a model has several loads: else the table of loads says it already."""
    if not any(one["loads"] > 1 for one in models):
        return ()
    return (
        Section(
            "By model",
            ("model", "loads>", "depth>", "accepted>", "rate>", "lowest>", "highest>"),
            tuple(
                (
                    one["identity"],
                    str(one["loads"]),
                    ", ".join(map(str, one["depths"])),
                    f"{one['accepted']}/{one['drafted']}",
                    *(_percent(value) for value in (one["acceptance"], *one["acceptance_range"])),
                )
                for one in models
            ),
        ),
    )


def _faster(effects: Mapping[str, Any] | None) -> tuple[Section, ...]:
    if effects is None:
        return ()
    return (
        Section(
            "Decode rate against the load of the same model before, by size of prompt",
            ("", "cells>", "lowest>", "highest>"),
            tuple(
                (words, str(told["cells"]), _change(told["lowest"]), _change(told["highest"]))
                for words, told in (("loads that draft", effects["drafting"]), ("loads that do not", effects["others"]))
            ),
            note=f"{effects['claim']} — {effects['state']}; {effects['note']}",
        ),
    )


def _change(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.1f} %".replace("-", "−")


def _many(judged: Sequence[Judged], document: dict[str, Any], cited: list[str], code: int) -> Answer:
    active = sum(one.active is True for one in judged)
    inert = sum(one.active is False and bool(one.setup["configured"]) for one in judged)
    plain_loads = sum(one.active is False and not one.setup["configured"] for one in judged)
    unknown = sum(one.active is None for one in judged)
    parts = [f"{active} of {len(judged)} loads {'speculates' if active == 1 else 'speculate'}"]
    parts += [f"{inert} {'is' if inert == 1 else 'are'} set up and never drafted"] if inert else []
    parts += [f"{plain_loads} {'does' if plain_loads == 1 else 'do'} not"] if plain_loads else []
    parts += [f"{unknown} cannot be told"] if unknown else []
    section = Section(
        "Loads",
        ("#>", "model", "set up", "depth>", "drafts", "accepted>", "rate>", "mean>", "over time"),
        tuple(
            (
                str(one.load["number"]),
                one.load["name"],
                one.setup["method"] or {True: "yes", False: "none", None: "?"}[one.setup["configured"]],
                "" if one.setup["n_max"] is None else str(one.setup["n_max"]),
                {True: "yes", False: "no", None: "?"}[one.active],
                f"{one.totals['accepted']}/{one.totals['drafted']}" if one.totals.get("drafted") else "",
                _percent(one.totals.get("acceptance")),
                "" if one.totals.get("mean_length") is None else f"{one.totals['mean_length']:.2f}",
                sparkline(_over_time(one.samples, 12)),
            )
            for one in judged
        ),
        note="Each line counts for its own load only; mean lengths include the bonus token.",
    )
    doubts = [(str(one.load["number"]), row["note"]) for one in judged for row in one.doubts]
    sections = [section, *_by_model(document["models"]), *_faster(document["effects"])]
    if doubts:
        sections.append(
            Section(
                "Doubts", ("#>", ""), tuple(doubts[:SHOWN]), note=f"{len(doubts)} in all" if len(doubts) > SHOWN else ""
            )
        )
    unsure = next((one for one in judged if one.active is None), None)
    step = f"forensics spec --load {unsure.load['number']} shows what is missing." if unsure else ""
    return Answer(document, "; ".join(parts) + ".", (), tuple(sections), tuple(cited), step, code)
