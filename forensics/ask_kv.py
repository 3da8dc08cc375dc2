"""Answer how large each cache pool was, what that figure means, what it changed with, and what was refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .answer import Answer, Ask, Section
from .diff import Facts, changes, facts
from .errors import UsageError
from .explain import amount, iso
from .units import MIB

__all__ = ["kv"]

GIB = 1024 * MIB

SHOWN_CHANGES = 8
"""Differences of one pair of loads that the screen lists; the document has all."""

SAME = 0.001
"""Pools that differ by less are told as equal; two starts of one configuration were seen 0.24 % apart."""

LINEAR = 0.02
"""A length that differs from the one in proportion by less is told as in proportion: both amounts are rounded."""

SAME_SIZE = 0.01
"""Pools up to this apart were sized for the same room."""

BANDS = {
    "match": "within 10 %",
    "half": "half of it: K and V may be one",
    "mismatch": "another shape",
}
"""What is said of a size beside its prediction; the bands are club-3090's."""

ELEMENT = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, "bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2}
"""Bytes of an element of a cache, by the type that the log names; `auto` names none."""

COMPILED = (
    "a cold compile cache costs about 5 % of a pool on the first start (reported for one engine, not for this box)"
)


def kv(ask: Ask) -> Answer:
    """Pools over starts, with their meaning and what changed; caches; refusals."""
    pools = _wanted(ask, "SELECT * FROM kv_pools ORDER BY number, sizing")
    refusals = _wanted(ask, "SELECT * FROM kv_refusals ORDER BY number")
    caches = _wanted(ask, "SELECT * FROM kv_caches WHERE k_type IS NOT NULL AND phase <> 'fit' ORDER BY number")
    unowned = ask.rows(
        """
        SELECT line.line_id, line.scope, line.rule, line.candidates, pool.tokens, pool.budget_bytes, pool.concurrency,
            pool.request_tokens
        FROM pool_sized AS pool JOIN line USING (line_id)
        WHERE pool.load_id IS NULL AND pool.believed ORDER BY pool.ordinal
        """
    )
    published, shape = ask.extra.get("published"), _shape(ask.extra.get("shape"))
    ids = [row["load_id"] for row in ask.rows("SELECT DISTINCT load_id FROM kv_pools")]
    known = facts(ask.connection, ids) if len(pools) > 1 else {}
    told = [{**_pool(ask, row, published, known), "expected": _expected(row, shape)} for row in pools]
    refused, described = [_refusal(row) for row in refusals], [_cache(row) for row in caches]
    findings = [finding for pool in told for finding in _findings(pool)]
    findings += [finding for one in refused if (finding := _not_linear(one)) is not None]
    document = {
        "schema": "forensics.kv/1",
        "pools": told,
        "caches": described,
        "refusals": refused,
        "findings": findings,
        "ambiguous": [
            {
                "evidence": row["line_id"],
                "candidates": (row["candidates"] or "").split(),
                "reason": row["rule"],
                "tokens": row["tokens"],
                "concurrency": row["concurrency"],
                "request_tokens": row["request_tokens"],
                **amount("budget", row["budget_bytes"]),
            }
            for row in unowned
        ],
    }
    cited = [line for row in (*pools, *refusals) for line in (row["lines"] or "").split()]
    cited += [row["line_id"] for row in caches]
    cited += [line for finding in findings for line in (*finding["for"], *finding["against"])]
    cited += [row["line_id"] for row in unowned]
    code = 0 if pools or refusals or caches else 3
    return Answer(
        document,
        _verdict(told, refused, described, unowned),
        about=tuple(f"{one['state']}: {one['claim']}" for one in findings),
        sections=tuple(_sections(told, refused, described, unowned)),
        cited=tuple(dict.fromkeys(cited)),
        next=_next(told, refused, unowned),
        code=code,
    )


def _wanted(ask: Ask, sql: str) -> list[dict[str, Any]]:
    return [row for row in ask.rows(sql) if ask.wants(row["load_id"])]


# -- the document -----------------------------------------------------------------------------------------------------


def _pool(ask: Ask, row: Mapping[str, Any], published: int | None, known: Mapping[str, Facts]) -> dict[str, Any]:
    load = ask.rows("SELECT model, unit, begun_us FROM loads WHERE load_id = ?", [row["load_id"]])[0]
    pool: dict[str, Any] = {
        **{key: row[key] for key in ("load_id", "number", "sizing", "service", "engine", "version")},
        "model": load["model"],
        "begun_at": iso(load["begun_us"]),
        "at": iso(row["at_us"]),
        **{
            key: row[key]
            for key in ("tokens", "largest_tokens", "printed", "request_tokens", "concurrency", "quotient")
        },
        "meaning": row["meaning"],
        **amount("budget", row["budget_bytes"]),
        **{
            key: row[key]
            for key in ("bytes_per_token", "kv_dtype", "kv_dtype_from", "tensor_parallel", "compile_cache")
        },
        "bound_card": row["bound_card"],
        "evidence": (row["lines"] or "").split(),
        "published": None,
        "earlier": None,
        "changed": [],
        "binding": None,
    }
    if published is not None and row["tokens"]:
        length = row["request_tokens"]
        pool["published"] = {
            "tokens": published,
            "share": published / row["tokens"],
            "concurrency": published / length if length and row["meaning"] == "quotient" else None,
            "source": "--published",
        }
    history = ask.rows(
        "SELECT * FROM kv_history WHERE load_id = ? AND sizing = ? AND earlier_load_id IS NOT NULL",
        [row["load_id"], row["sizing"]],
    )
    if history:
        past = history[0]
        pool["earlier"] = {
            "load_id": past["earlier_load_id"],
            "number": past["earlier_number"],
            "tokens": past["earlier_tokens"],
            "delta_tokens": past["delta_tokens"],
            "ratio": past["ratio"],
            "first_ratio": past["first_ratio"],
            **amount("delta_per_card", past["delta_bytes"]),
        }
        sides = [known[load_id] for load_id in (past["earlier_load_id"], row["load_id"])]
        pool["changed"] = [one for one in changes(*sides) if one["what"] != "pool"]
    if bound := ask.rows("SELECT * FROM kv_binding WHERE load_id = ? AND stranded_bytes > 0", [row["load_id"]]):
        one = bound[0]
        pool["binding"] = {
            "card": one["tight_card"],
            "cards": one["cards"],
            "roomiest": one["roomy_card"],
            **amount("free", one["tight_bytes"]),
            **amount("stranded", one["stranded_bytes"]),
            "evidence": one["lines"].split(),
        }
    pool["cards"] = None
    if seen := ask.rows("SELECT * FROM cards_at_start WHERE load_id = ?", [row["load_id"]]):
        one = seen[0]
        pool["cards"] = {
            **{key: one[key] for key in ("cards", "before_id", "lost", "lost_cards")},
            "evidence": one["lines"].split(),
        }
    pool["missing_devices"] = _missing_devices(ask, pool) if pool["earlier"] else []
    return pool


def _missing_devices(ask: Ask, pool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What other programs of the box say of devices that they miss, since the load of the pool before began."""
    rows = ask.rows(
        """
        SELECT missing.* FROM missing_devices AS missing
        JOIN load ON load.load_id = ? JOIN process USING (process_id)
        JOIN load AS earlier ON earlier.load_id = ?
        WHERE missing.load_id IS DISTINCT FROM load.load_id AND missing.host IS NOT DISTINCT FROM process.host
            AND missing.at_us >= earlier.begun_us AND (load.ended_us IS NULL OR missing.at_us <= load.ended_us)
        ORDER BY missing.at_us
        """,
        [pool["load_id"], pool["earlier"]["load_id"]],
    )
    return [
        {
            "who": row["unit"] or row["program"],
            "at": iso(row["at_us"]),
            "message": row["message"],
            "evidence": [row["line_id"]],
        }
        for row in rows
    ]


def _shape(text: str | None) -> tuple[int, int, int] | None:
    """Layers, heads and dimension of a head as a person typed them.

    Raises:
        UsageError: It is no such text.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)[x×](\d+)", text)
    if found is None or not all(int(one) for one in found.groups()):
        raise UsageError(f"--shape {text}: write layers, KV heads and dimension of a head, such as 16x4x256")
    return int(found[1]), int(found[2]), int(found[3])


def _expected(row: Mapping[str, Any], shape: tuple[int, int, int] | None) -> dict[str, Any] | None:
    """Bytes of a token on one card that a shape gives, beside those of the pool; cards share the heads."""
    element = ELEMENT.get(row["kv_dtype"] or "")
    if shape is None or element is None or row["bytes_per_token"] is None:
        return None
    layers, heads, dimension = shape
    cards = row["tensor_parallel"] or 1
    expected = layers * max(heads / cards, 1) * dimension * 2 * element
    ratio = expected / row["bytes_per_token"]
    verdict = "match" if 0.9 <= ratio <= 1.1 else "half" if 1.75 <= ratio <= 2.25 else "mismatch"
    return {
        "shape": list(shape),
        "element_bytes": element,
        "cards": cards,
        "bytes_per_token": expected,
        "ratio": ratio,
        "verdict": verdict,
        "source": "--shape",
    }


def _cache(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: row[key] for key in ("load_id", "number", "part", "cells", "layers", "sequences", "k_type", "v_type")},
        **amount("", row["size_bytes"]),
        **amount("predicted", row["predicted_bytes"]),
        "agrees": row["agrees"],
        "verdict": row["verdict"],
        "bytes_per_token": row["bytes_per_token"],
        "evidence": [row["line_id"]],
    }


def _refusal(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: row[key] for key in ("load_id", "number", "reason", "device", "requested_tokens", "possible_tokens")},
        **amount("needed", row["needed_bytes"]),
        **amount("available", row["available_bytes"]),
        **amount("short", row["short_bytes"]),
        **amount("total", row["total_bytes"]),
        "utilization_ratio": row["utilization_ratio"],
        "printed": row["printed"],
        "message": row["message"],
        "evidence": row["lines"].split(),
    }


# -- findings ---------------------------------------------------------------------------------------------------------


def _findings(pool: Mapping[str, Any]) -> list[dict[str, Any]]:
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
        f"Standing risk: {', and '.join(words)}, yet {_name(pool)}'s pool is sized as if the cards it has were as "
        "clear as before. What ran on the absent card may fall back to these: it fails then, or takes the pool's room "
        "at the next start.",
        "not established",
        [*lines, *(line for one in missing for line in one["evidence"])],
    )


def _not_linear(one: Mapping[str, Any]) -> dict[str, Any] | None:
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
    unknown = [
        what
        for what, kinds in (
            ("what was free when they began", {"start_memory"}),
            ("the version", {"version"}),
            ("flags", {"argument", "setting"}),
        )
        if not any(one["what"] in kinds for one in pool["changed"])
    ]
    compiled = [one for one in pool["changed"] if one["name"] == "compile_cache"]
    if not compiled and pool["compile_cache"] is None:
        words += f" Not excluded: the compile cache, which the log does not tell ({COMPILED})."
    if len(pool["changed"]) == 1:
        words += " One difference is enough to go with a change, not to explain it: the cause is not established."
    else:
        words += " Which of them did it is not established."
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


# -- the screen -------------------------------------------------------------------------------------------------------


def _verdict(
    pools: Sequence[Mapping[str, Any]],
    refusals: Sequence[Mapping[str, Any]],
    caches: Sequence[Mapping[str, Any]],
    unowned: Sequence[Mapping[str, Any]],
) -> str:
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
    if refusals:
        parts.append(f"{len(refusals)} start{'s' if len(refusals) > 1 else ''} refused")
    if not sized and caches:
        parts.append(f"{len(caches)} cache{'s' if len(caches) > 1 else ''} described")
    if not parts and unowned:
        return f"Cannot tell: {len(unowned)} pool lines belong to no load that the log shows."
    return "; ".join(parts) + "." if parts else "No cache pool, cache or refusal shows in this evidence."


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


def _sections(
    pools: Sequence[Mapping[str, Any]],
    refusals: Sequence[Mapping[str, Any]],
    caches: Sequence[Mapping[str, Any]],
    unowned: Sequence[Mapping[str, Any]],
) -> list[Section]:
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


def _next(
    pools: Sequence[Mapping[str, Any]], refusals: Sequence[Mapping[str, Any]], unowned: Sequence[Mapping[str, Any]]
) -> str:
    for one in reversed(refusals):
        if one["possible_tokens"]:
            return (
                f"A length of {one['possible_tokens']:,} would fit, as the program estimates; "
                f"{one['requested_tokens']:,} lack {one['short_bytes'] / GIB:.2f} GiB."
            )
        if one["reason"] == "free_memory" and one["short_bytes"]:
            return f"Free {one['short_bytes'] / GIB:.2f} GiB on the card, or ask for a smaller share of it."
    if any(pool["earlier"] for pool in pools):
        return "Start once more with nothing changed: what moves then is not what you changed."
    if unowned and not pools:
        return "Give the log from the start of the server: its first lines say which load the pool belongs to."
    return ""
