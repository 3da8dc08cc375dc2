"""What each load was set up to draft, whether it drafts, and which lines say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .amounts import count
from .answer import Ask
from .refute import Looks, Refutation, Window, looks, refutation_document, refute

__all__ = ["Judged", "judge", "unowned_acceptance"]


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
    passes: list[dict[str, Any]]
    refutation: Refutation
    memory: dict[str, Any] | None
    active: bool | None = None
    because: str = ""
    leaning: dict[str, Any] | None = None
    cited: list[str] = field(default_factory=list)


def judge(
    ask: Ask, wanted: Sequence[dict[str, Any]], every: Mapping[str, dict[str, Any]], window: Window | None
) -> list[Judged]:
    """Each wanted load with its rows, and whether it drafts."""
    lines = looks(ask, "speculation")
    setups = {row["load_id"]: row for row in ask.rows("SELECT * FROM speculation")}
    totals = {row["load_id"]: row for row in ask.rows("SELECT * FROM draft_totals")}
    requests = {row["load_id"]: row for row in ask.rows("SELECT * FROM draft_requests")}
    samples = _by_load(ask.rows("SELECT * FROM draft_samples WHERE drafted > 0 OR drafted IS NULL"))
    positions = _by_load(ask.rows("SELECT * FROM draft_positions"))
    checks = _by_load(ask.rows("SELECT * FROM draft_checks"))
    doubts = _by_load(ask.rows("SELECT * FROM draft_doubts"))
    passes = _by_load(ask.rows("SELECT * FROM draft_passes"))
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
            passes=passes.get(load_id, []),
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
    unowned = unowned_acceptance(one)
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


def unowned_acceptance(one: Judged) -> list[Looks]:
    """Acceptance lines that it may have written, beside others."""
    return [line for line in one.refutation.ambiguous if line.says == "for" and "drafted tokens" in line.what]


def _leaning(
    one: Judged, every: Mapping[str, dict[str, Any]], setups: Mapping[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """The only candidate of the ownerless lines that is set up to draft: a lead, no proof."""
    candidates = {load_id for line in unowned_acceptance(one) for load_id in line.candidates}
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
