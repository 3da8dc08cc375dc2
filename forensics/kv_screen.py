"""The screen of cache pools: verdict, tables, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .answer import Section
from .budget import written
from .units import MIB

__all__ = ["next_step", "sections", "verdict"]

GIB = 1024 * MIB

SHOWN_CHANGES = 8
"""Differences of one pair of loads that the screen lists; the document has all."""

BANDS = {
    "match": "within 10 %",
    "half": "half of it: K and V may be one",
    "mismatch": "another shape",
}
"""What is said of a size beside its prediction; the bands are club-3090's."""


def verdict(
    pools: Sequence[Mapping[str, Any]],
    refusals: Sequence[Mapping[str, Any]],
    caches: Sequence[Mapping[str, Any]],
    unowned: Sequence[Mapping[str, Any]],
) -> str:
    """The answer in one sentence."""
    sized = [pool for pool in pools if pool["tokens"]]
    parts: list[str] = []
    if len(sized) == 1:
        pool = sized[0]
        parts.append(f"The pool holds {pool['tokens']:,} tokens" + _at_once(pool))
    elif sized:
        chain = f"{sized[0]['tokens']:,}"
        for pool in sized[1:]:
            chain += f" → {pool['tokens']:,}" if pool["earlier"] is None else f" → {pool['tokens']:,} ({_ratios(pool)})"
        parts.append(f"{len(sized)} pools: {chain} tokens")
    if len(refusals) == 1:
        parts.append(f"The start of load {refusals[0]['number']} was refused{_lacked(refusals[0])}")
    elif refusals:
        parts.append(f"{len(refusals)} starts were refused")
    if not sized and caches:
        parts.append(_held(caches))
    if not parts and unowned:
        return f"Cannot tell: {len(unowned)} pool lines belong to no load that the log shows."
    return "; ".join(parts) + "." if parts else "No cache pool, cache or refusal shows in this evidence."


def _lacked(one: Mapping[str, Any]) -> str:
    if one["needed_bytes"] is None or one["available_bytes"] is None:
        return ""
    what = " for its cache" if one["possible_tokens"] else ""
    return f": {one['needed_bytes'] / GIB:.2f} GiB were needed{what}, {one['available_bytes'] / GIB:.2f} were there"


def _held(caches: Sequence[Mapping[str, Any]]) -> str:
    sizes = [one["bytes"] / MIB for one in caches]
    loads = len({one["load_id"] for one in caches})
    if len(caches) == 1:
        cells = "" if caches[0]["cells"] is None else f" {caches[0]['cells']:,} cells in"
        return f"The cache holds{cells} {sizes[0]:.2f} MiB"
    if loads == 1:
        return f"{len(caches)} caches hold {sum(sizes):.2f} MiB"
    return f"{len(caches)} caches of {loads} loads hold {min(sizes):.2f} to {max(sizes):.2f} MiB each"


def _at_once(pool: Mapping[str, Any]) -> str:
    if pool["concurrency"] is None or pool["request_tokens"] is None:
        return ""
    if pool["meaning"] == "legacy":
        return (
            f"; {pool['concurrency']:.2f} requests of {pool['request_tokens']:,} at once, which is not their quotient"
        )
    return f" ÷ {pool['request_tokens']:,} = {pool['concurrency']:.2f} requests at once"


def _ratios(pool: Mapping[str, Any]) -> str:
    past = pool["earlier"]
    words = _percent(past["ratio"])
    if past["first_ratio"] is not None and past["first_ratio"] != past["ratio"]:
        words += f"; {_percent(past['first_ratio'])} over the first"
    return words


def _percent(ratio: float) -> str:
    """A signed change: one place, two below ten percent."""
    places = 1 if abs(ratio) >= 0.1 else 2
    return f"{'−' if ratio < 0 else '+'}{abs(ratio) * 100:.{places}f} %"


def sections(
    pools: Sequence[Mapping[str, Any]],
    refusals: Sequence[Mapping[str, Any]],
    caches: Sequence[Mapping[str, Any]],
    unowned: Sequence[Mapping[str, Any]],
    replays: Sequence[Mapping[str, Any]],
) -> list[Section]:
    """Pools, what changed between them, caches, refusals, and what no load owns."""
    sections: list[Section] = []
    if pools:
        sections.append(
            Section(
                "Pools",
                ("load>", "begun", "tokens>", "change>", "÷ length>", "at once>", "GiB/card>", "B/token>", "cache"),
                tuple(
                    (
                        str(pool["number"]),
                        (pool["begun_at"] or "")[5:16].replace("T", " "),
                        f"{pool['tokens']:,}" if pool["tokens"] else "none",
                        _percent(pool["earlier"]["ratio"]) if pool["earlier"] else "",
                        f"{pool['request_tokens']:,}" if pool["request_tokens"] else "",
                        "" if pool["concurrency"] is None else f"{pool['concurrency']:.2f}",
                        "" if pool["budget_bytes"] is None else f"{pool['budget_bytes'] / GIB:.2f}",
                        "" if pool["bytes_per_token"] is None else f"{pool['bytes_per_token']:,.0f}",
                        " ".join(filter(None, (_dtype(pool), pool["compile_cache"]))),
                    )
                    for pool in pools
                ),
                _pool_note(pools),
            )
        )
    for pool in pools:
        if pool["changed"]:
            shown = pool["changed"][:SHOWN_CHANGES]
            left = len(pool["changed"]) - len(shown)
            sections.append(
                Section(
                    f"Changed from load {pool['earlier']['number']} to load {pool['number']}",
                    ("what", "name", "before", "after"),
                    tuple(
                        (one["what"].replace("_", " "), one["name"], _short(one["before"]), _short(one["after"]))
                        for one in shown
                    ),
                    f"{left} more in the document" if left else "",
                )
            )
    reckoned = [one for one in replays if any(term["term"] == "requested" for term in one["entered"])]
    if reckoned:
        sections.append(
            Section(
                "Budget, reckoned again from the load's own lines",
                ("load>", "printed GiB>", "", "GiB>", "how"),
                # an account printed at the end of a start says the same again
                tuple(dict.fromkeys(_reckoned(one) for one in reckoned)),
            )
        )
    if caches:
        sections.append(
            Section(
                "Caches",
                ("load>", "part", "cells>", "layers>", "K, V", "MiB>", "predicted>", ""),
                tuple(
                    (
                        str(one["number"]),
                        one["part"] or "",
                        "" if one["cells"] is None else f"{one['cells']:,}",
                        str(one["layers"] or ""),
                        one["k_type"] if one["k_type"] == one["v_type"] else f"{one['k_type']}, {one['v_type']}",
                        f"{one['bytes'] / MIB:.2f}",
                        "" if one["predicted_bytes"] is None else f"{one['predicted_bytes'] / MIB:.2f}",
                        "agrees" if one["agrees"] else BANDS.get(one["verdict"], ""),
                    )
                    for one in caches
                ),
            )
        )
    if refusals:
        sections.append(
            Section(
                "Refused",
                ("load>", "why", "needed GiB>", "there GiB>", "length>", "would fit>"),
                tuple(
                    (
                        str(one["number"]),
                        one["reason"].replace("_", " "),
                        "" if one["needed_bytes"] is None else f"{one['needed_bytes'] / GIB:.2f}",
                        "" if one["available_bytes"] is None else f"{one['available_bytes'] / GIB:.2f}",
                        f"{one['requested_tokens']:,}" if one["requested_tokens"] else "",
                        f"{one['possible_tokens']:,}" if one["possible_tokens"] else "",
                    )
                    for one in refusals
                ),
            )
        )
    if unowned:
        sections.append(
            Section(
                "Of no load",
                ("tokens>", "length>", "at once>", "GiB>", "why"),
                tuple(
                    (
                        f"{row['tokens']:,}" if row["tokens"] else "",
                        f"{row['request_tokens']:,}" if row["request_tokens"] else "",
                        "" if row["concurrency"] is None else f"{row['concurrency']:.2f}",
                        "" if row["budget_bytes"] is None else f"{row['budget_bytes'] / GIB:.2f}",
                        row["rule"],
                    )
                    for row in unowned
                ),
                "Shown, never used: no line says which load they belong to.",
            )
        )
    return sections


def _reckoned(one: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(one["number"]),
        f"{one['printed_bytes'] / GIB:.2f}",
        {True: "agrees", False: "differs", None: "at most"}[one["matches"]],
        "" if one["replayed_bytes"] is None else f"{one['replayed_bytes'] / GIB:.2f}",
        written(one),
    )


def _pool_note(pools: Sequence[Mapping[str, Any]]) -> str:
    notes = []
    if any(pool["kv_dtype_from"] == "configuration" for pool in pools):
        notes.append("* as configured: no line of its own says the type")
    if any(pool["meaning"] == "quotient" and pool["bytes_per_token"] is not None for pool in pools):
        notes.append("B/token is GiB/card ÷ tokens; it moves with the length where tokens are computed from it")
    return "; ".join(notes)


def _dtype(pool: Mapping[str, Any]) -> str:
    if pool["kv_dtype"] is None:
        return ""
    return f"{pool['kv_dtype']}{'' if pool['kv_dtype_from'] == 'line' else '*'}"


def _short(value: str | None) -> str:
    if value is None:
        return "not printed"
    return value if len(value) <= 24 else value[:23] + "…"


def next_step(
    pools: Sequence[Mapping[str, Any]],
    refusals: Sequence[Mapping[str, Any]],
    unowned: Sequence[Mapping[str, Any]],
    risk: bool,
) -> str:
    """What to do next; empty if nothing follows."""
    for one in reversed(refusals):
        if one["possible_tokens"]:
            return (
                f"A length of {one['possible_tokens']:,} would fit, as the program estimates; "
                f"{one['requested_tokens']:,} lack {one['short_bytes'] / GIB:.2f} GiB."
            )
        if one["reason"] == "free_memory" and one["short_bytes"]:
            return f"Free {one['short_bytes'] / GIB:.2f} GiB on the card, or ask for a smaller share of it."
    if risk:
        return (
            "Bring the card back, or start that server again beside what fell back on its cards: a pool sized anew is "
            "smaller, and no risk."
        )
    if any(pool["earlier"] for pool in pools):
        return "Start once more with nothing changed: what moves then is not what you changed."
    if unowned and not pools:
        return "Give the log from the start of the server: its first lines say which load the pool belongs to."
    return ""
