"""The document of speculation: a load with its acceptance, and what loads say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .answer import Ask
from .explain import iso, mib
from .refute import refutation_document
from .spec_judged import Judged

__all__ = ["WITH_BONUS", "cumulative_counts", "draft_memory", "effects", "load_document", "models", "over_time"]

WITH_BONUS = "1 + accepted / drafts: the token that every draft gains from the target (bonus token) is counted"
WITHOUT_BONUS = "accepted / drafts: the token that every draft gains from the target (bonus token) is not counted"

APART = 4
"""Prompts so many times as long as others are long beside them."""

SAME = 0.02
"""Passes a second that differ by less are told as equal."""

STEPS = 32
"""Steps of the row that shows acceptance over time."""


def load_document(one: Judged) -> dict[str, Any]:
    """All that is told of one load."""
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
        "acceptance": rounded(totals.get("acceptance")),
        "acceptance_range": None
        if not totals.get("drafted")
        else [rounded(totals["lowest"]), rounded(totals["highest"])],
        "acceptance_definition": "accepted / drafted: sums of counts, never a mean of rates",
        "drafts": totals.get("drafts"),
        **_depth_used(one),
        "depth_rule": _depth_rule(one),
        "passes": [_pass(row) for row in one.passes],
        **_mean_length(one),
        "positions": [
            {
                key: rounded(row[key]) if key == "rate" else row[key]
                for key in ("position", "accepted", "drafts", "rate")
            }
            for row in one.positions
        ],
        "positions_left_out": max((row["left_out"] for row in one.positions), default=0),
        "over_time": [rounded(share) for share in over_time(one.samples)],
        "samples": [_sample(row) for row in one.samples],
        "cumulative": cumulative_counts(totals),
        "requests": {
            "timed": one.requests.get("timed", 0),
            "drafting": one.requests.get("drafted", 0),
            "would_tell": one.requests.get("telling", 0),
            "median_per_s": rounded(one.requests.get("median")),
            "cv": rounded(one.requests.get("spread")),
            "statistics_lines": one.requests.get("windows", 0),
        },
        "checks": [
            {
                "check": row["name"],
                "printed": rounded(row["printed"]),
                "computed": rounded(row["computed"]),
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
        "memory": draft_memory(one),
        "findings": _findings(one),
        **refutation_document(one.refutation),
        "leaning": one.leaning,
    }


def over_time(samples: Sequence[Mapping[str, Any]], steps: int = STEPS) -> list[float]:
    """Acceptance in order of time, in at most so many steps; each is a sum of counts over a sum of counts."""
    rows = [row for row in samples if row["drafted"] and row["accepted"] is not None]
    size = -(-len(rows) // steps) or 1
    groups = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [sum(row["accepted"] for row in group) / sum(row["drafted"] for row in group) for group in groups]


def rounded(value: float | None) -> float | None:
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
            "mean_len": rounded(derived),
            "mean_len_definition": WITH_BONUS,
            "mean_len_basis": "derived",
            "mean_len_without_bonus": rounded(derived - 1),
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
        "committed_per_block": rounded((accepted + drafts) / (drafts * depth)),
    }


def _depth_rule(one: Judged) -> dict[str, Any]:
    """What decides how long a draft is: a fixed depth, a bound of probability, or something that adapts it.

    The last draft of a request may be cut by its end: only what is shorter beyond that tells of another rule.
    """
    setup, totals = one.setup, one.totals
    told = {"n_max": setup["n_max"], "p_min": setup["p_min"]}
    drafts, drafted, depth, samples = totals.get("drafts"), totals.get("drafted"), setup["n_max"], totals.get("samples")
    if not drafts or not drafted or not depth or not samples:
        return {**told, "rule": None, "state": "not measured", "because": "drafts or depth are not known"}
    short = drafts * depth - drafted
    counts = f"{drafted} tokens in {drafts} drafts of up to {depth}"
    if short <= samples * (depth - 1):
        return {
            **told,
            "rule": "fixed",
            "state": "supported",
            "because": f"{counts}: all but the last of a request are full",
        }
    if setup["p_min"]:
        because = f"{counts}, and they end where the probability is under {setup['p_min']:g}"
        return {**told, "rule": "p_min", "state": "supported", "because": because}
    bound = (
        "no bound of probability is set" if setup["p_min"] == 0 else "no line says that a bound of probability is set"
    )
    return {**told, "rule": "adaptive", "state": "not established", "because": f"{counts}, and {bound}"}


def _pass(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": row["task"],
        "prompt_tokens": row["prompt_tokens"],
        **{key: rounded(row[key]) for key in ("decode_per_s", "tokens_per_pass", "passes_per_s")},
        "evidence": row["lines"].split(),
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
        "acceptance": rounded(row["ratio"]),
        "mean_len": row["mean_length"],
        "drafts": row["drafts"],
        "positions": row["positions"],
        "evidence": [row["line_id"], *([row["positions_line"]] if row["positions_line"] else [])],
    }


def cumulative_counts(totals: Mapping[str, Any]) -> dict[str, Any] | None:
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
        "acceptance": rounded(accepted / drafted) if drafted else None,
        "agrees": agrees,
        "why": why,
        "evidence": (totals["total_lines"] or "").split(),
    }


def draft_memory(one: Judged) -> dict[str, Any] | None:
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
    if (slower := _slower_when_longer(one)) is not None:
        found.append(slower)
    return found


def _slower_when_longer(one: Judged) -> dict[str, Any] | None:
    """Whether passes get slower as prompts get longer, as attention makes them; where not, that stays unexplained."""
    rows = [row for row in one.passes if row["prompt_tokens"]]
    if len(rows) < 2:
        return None
    short, long = (pick(rows, key=lambda row: row["prompt_tokens"]) for pick in (min, max))
    if long["prompt_tokens"] < APART * short["prompt_tokens"]:
        return None
    words = (
        f"{long['passes_per_s']:.1f} passes a second on a prompt of {long['prompt_tokens']:,} tokens, "
        f"{short['passes_per_s']:.1f} on one of {short['prompt_tokens']:,}"
    )
    faster = long["passes_per_s"] > short["passes_per_s"] * (1 + SAME)
    lines = [line for row in (short, long) for line in row["lines"].split()]
    return {
        "claim": "passes are no faster on longer prompts",
        "state": "contradicted" if faster else "supported",
        "because": f"{words}: unexplained by these lines" if faster else words,
        "for": [] if faster else lines,
        "against": lines if faster else [],
    }


def models(ask: Ask, judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Depth and range of acceptance of each model that drafted, over all of its loads."""
    if len(judged) < 2:
        return []
    return [
        {
            **{key: row[key] for key in ("model", "identity", "loads", "samples", "accepted", "drafted")},
            "depths": [int(one) for one in (row["depths"] or "").split()],
            "acceptance": rounded(row["acceptance"]),
            "acceptance_range": [rounded(row["lowest"]), rounded(row["highest"])],
        }
        for row in ask.rows("SELECT * FROM draft_models")
    ]


def effects(ask: Ask, judged: Sequence[Judged]) -> dict[str, Any] | None:
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
                "before_per_s": rounded(row["before_per_s"]),
                "per_s": rounded(row["per_s"]),
                "change": rounded(row["change"]),
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
        "lowest": rounded(min(changes)) if changes else None,
        "highest": rounded(max(changes)) if changes else None,
    }
