"""Claims about cache pools: what a figure means, what it changed with, what binds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .units import MIB

__all__ = ["RISK", "findings_of", "not_linear"]

GIB = 1024 * MIB

SAME = 0.001
"""Pools that differ by less are told as equal; two starts of one configuration were seen 0.24 % apart."""

LINEAR = 0.02
"""A length that differs from the one in proportion by less is told as in proportion: both amounts are rounded."""

SAME_SIZE = 0.01
"""Pools up to this apart were sized for the same room."""

RISK = "Standing risk"

COMPILED = "a cold one costs about 5 % of a pool on the first start, as reported for one engine and not for this box"


def findings_of(pool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Claims about one pool."""
    found: list[dict[str, Any]] = []
    tokens, length, printed = pool["tokens"], pool["request_tokens"], pool["concurrency"]
    name = _name(pool)
    if pool["meaning"] == "legacy":
        found.append(
            _finding(
                f"{name}'s {tokens:,} tokens must not be divided by a length: ÷ {length:,} is {pool['quotient']:.2f}, "
                f"and {printed:.2f} is printed. It is the older figure of blocks, of a model that caches some layers "
                "only.",
                "supported",
                pool["evidence"],
            )
        )
    elif pool["meaning"] == "quotient" and printed < 1:
        found.append(
            _finding(
                f"{name} holds less than one request of full length, and that is legal: {tokens:,} ÷ {length:,} = "
                f"{printed:.2f}. A single request ends at about {tokens // 1000}K tokens.",
                "supported",
                pool["evidence"],
            )
        )
    if pool["printed"] > 1 and pool["tokens"] != pool["largest_tokens"]:
        found.append(
            _finding(
                f"{name} prints {pool['printed']} pools, {tokens:,} to {pool['largest_tokens']:,} tokens: of several "
                "ranks the smallest counts; of several starts only one is in the log.",
                "not established",
                pool["evidence"],
            )
        )
    if (published := pool["published"]) is not None:
        words = (
            f"{published['tokens']:,} tokens are published, {tokens:,} were measured at the start of {name}: "
            f"{published['share']:.1%}."
        )
        if published["concurrency"] is not None and printed is not None:
            words += (
                f" {published['tokens']:,} ÷ {length:,} = {published['concurrency']:.2f}; the printed {printed:.2f} is "
                f"{tokens:,} ÷ {length:,}."
            )
        found.append(_finding(words, "supported", pool["evidence"]))
    if (expected := pool["expected"]) is not None:
        found.append(_beside(pool, expected))
    if pool["earlier"] is not None and abs(pool["earlier"]["ratio"]) >= SAME:
        found.append(_cause(pool))
    if pool["earlier"] is not None and abs(pool["earlier"]["ratio"]) < SAME_SIZE and (risk := _risk(pool)):
        found.append(risk)
    if (bound := pool["binding"]) is not None and bound["stranded_bytes"] >= 64 * MIB:
        found.append(
            _finding(
                f"Card {bound['card']} binds {name}'s pool: {bound['free_bytes'] / GIB:.2f} GiB were free on it at the "
                f"start. Up to {bound['stranded_bytes'] / GIB:.2f} GiB more on card {bound['roomiest']} cannot be used "
                "for it.",
                "supported",
                bound["evidence"],
            )
        )
    return found


def _risk(pool: Mapping[str, Any]) -> dict[str, Any] | None:
    """A pool as large as before, though a card is gone or a program of the box misses one."""
    cards, missing = pool["cards"], pool["missing_devices"]
    words, lines = [], list(pool["evidence"])
    if cards is not None and cards["lost"]:
        words.append(
            f"card {cards['lost_cards']} was there when load {pool['earlier']['number']} began and is not now "
            f"({cards['cards']} seen)"
        )
        lines += cards["evidence"]
    words += [f"{one['who']} says “{one['message']}”" for one in missing[:1]]
    if not words:
        return None
    return _finding(
        f"{RISK}: {', and '.join(words)}, yet {_name(pool)}'s pool is sized as if the cards it has were as "
        "clear as before. What ran on the absent card may fall back to these: it fails then, or takes the pool's room "
        "at the next start.",
        "not established",
        [*lines, *(line for one in missing for line in one["evidence"])],
    )


def not_linear(one: Mapping[str, Any]) -> dict[str, Any] | None:
    """A length that would fit, where it is another than in proportion to what is there."""
    length, fits, needed, there = (
        one[key] for key in ("requested_tokens", "possible_tokens", "needed_bytes", "available_bytes")
    )
    if not (length and fits and needed and there):
        return None
    share = length * there / needed
    if abs(share / fits - 1) < LINEAR:
        return None
    return _finding(
        f"What load {one['number']} needs is not in proportion to its length: {there / GIB:.2f} of {needed / GIB:.2f} "
        f"GiB are {share:,.0f} of {length:,} tokens, and {fits:,} fit. No length is to be reckoned from another.",
        "supported",
        one["evidence"],
    )


def _beside(pool: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes of a token beside what the model's shape gives."""
    layers, heads, dimension = expected["shape"]
    over = f" over {expected['cards']} cards" if expected["cards"] > 1 else ""
    words = (
        f"{_name(pool)} takes {pool['bytes_per_token']:,.0f} B a token on each card; {layers} layers × {heads} heads × "
        f"{dimension} × 2 × {expected['element_bytes']} B{over} are {expected['bytes_per_token']:,.0f}: "
        f"{expected['verdict']} ({expected['ratio']:.2f} times it)."
    )
    words += {
        "match": "",
        "half": " K and V may be one, or the type is another than the log says.",
        "mismatch": " Other layers share the pool, or shape or type are not those.",
    }[expected["verdict"]]
    if pool["meaning"] == "quotient":
        words += " The figure moves with the length of a request, where tokens are computed from it."
    state = "supported" if expected["verdict"] == "match" else "not established"
    return _finding(words, state, pool["evidence"])


def _cause(pool: Mapping[str, Any]) -> dict[str, Any]:
    """What a change of a pool went with: never one cause, always the alternatives."""
    past = pool["earlier"]
    direction = "more" if past["delta_tokens"] > 0 else "fewer"
    words = f"{_name(pool)} has {abs(past['delta_tokens']):,} tokens {direction} than load {past['number']}"
    if past["delta_per_card_bytes"] is not None:
        words += f", {abs(past['delta_per_card_bytes']) / GIB:.2f} GiB on each card"
    words += "."
    differs = [_change(one) for one in pool["changed"]]
    if differs:
        more = f" and {len(differs) - 3} more" if len(differs) > 3 else ""
        words += f" With it changed: {', '.join(differs[:3])}{more}."
    compiled = [one for one in pool["changed"] if one["name"] == "compile_cache"]
    unknown = [
        what
        for what, kinds in (
            ("what was free when they began", {"start_memory"}),
            ("the version", {"version"}),
            ("flags", {"argument", "setting"}),
        )
        if not any(one["what"] in kinds for one in pool["changed"] if one not in compiled)
    ]
    if not compiled and pool["compile_cache"] is None:
        words += f" Not excluded: the compile cache, which the log does not tell ({COMPILED})."
    if len(pool["changed"]) == 1:
        words += " One difference is enough to go with a change, not to explain it: the cause is not established."
    elif differs:
        words += " Which of them did it is not established."
    else:
        words += " What did it is not established."
    if unknown:
        words += f" No difference shows in {', '.join(unknown)}."
    lines = [line for one in pool["changed"] for line in one["evidence"]]
    return _finding(words, "not established", [*pool["evidence"], *lines])


def _finding(claim: str, state: str, lines: Sequence[str]) -> dict[str, Any]:
    return {"claim": claim, "state": state, "for": list(dict.fromkeys(lines)), "against": []}


def _change(one: Mapping[str, Any]) -> str:
    return f"{one['name']} {one['before'] or 'not printed'} → {one['after'] or 'not printed'}"


def _name(pool: Mapping[str, Any]) -> str:
    return f"Load {pool['number']}" + (f" (sizing {pool['sizing']})" if pool["sizing"] > 1 else "")
