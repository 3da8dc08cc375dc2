"""Hold a prefill rate against the limits under which a harness accepts one: no short prompts, no scattered figures."""

from __future__ import annotations

from typing import Any

__all__ = ["prefill_accepted"]

TOKENS = 1000
PER_S = 50.0
CV = 1.0
RULES = {"source": "club-3090, read in 2026-08", "prompt_tokens": TOKENS, "per_s": PER_S, "cv": CV}
"""At least so many tokens of prompt and tokens a second, and a coefficient of variation of at most so much."""


def prefill_accepted(per_s: float | None, cv: float | None, shortest: int | None) -> dict[str, Any]:
    """Whether a rate is a prefill rate by these limits: false if one is missed, none if one cannot be held.

    Args:
        per_s: Tokens a second.
        cv: Coefficient of variation, where there are several.
        shortest: Tokens of the shortest prompt.

    Returns:
        `accepted`, why not, and the limits with their source.
    """
    if per_s is None:
        return {"accepted": None, "why": [], "rules": RULES}
    missed = []
    if shortest is not None and shortest < TOKENS:
        missed.append(f"a prompt of {shortest:,} tokens, under {TOKENS:,}")
    if per_s < PER_S:
        missed.append(f"{per_s:.2f} tok/s, under {PER_S:.0f}")
    if cv is not None and cv > CV:
        missed.append(f"CV {100 * cv:.1f} %, over {100 * CV:.0f} %")
    if missed:
        return {"accepted": False, "why": missed, "rules": RULES}
    unknown = ["no line says how long the prompts were"] if shortest is None else []
    return {"accepted": None if unknown else True, "why": unknown, "rules": RULES}
