"""Answer how large each cache pool was, what that figure means, what it changed with, and what was refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .answer import Answer, Ask
from .budget import budget_findings, budget_replays
from .diff import Facts, changes, facts
from .errors import UsageError
from .explain import amount, iso
from .kv_findings import RISK, findings_of, not_linear
from .kv_screen import next_step, sections, verdict

__all__ = ["kv"]

ELEMENT = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, "bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2}
"""Bytes of an element of a cache, by the type that the log names; `auto` names none."""


def kv(ask: Ask) -> Answer:
    """Pools over starts, with their meaning and what changed; caches; refusals."""
    pools = _wanted(ask, "SELECT * FROM kv_pools ORDER BY number, sizing")
    refusals = _wanted(ask, "SELECT * FROM kv_refusals")
    caches = _wanted(ask, "SELECT * FROM kv_caches WHERE k_type IS NOT NULL AND phase <> 'fit'")
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
    findings = [finding for pool in told for finding in findings_of(pool)]
    replays = [one for one in budget_replays(ask.connection) if ask.wants(one["load_id"])]
    findings += budget_findings(replays)
    findings += [finding for one in refused if (finding := not_linear(one)) is not None]
    document = {
        "schema": "forensics.kv/1",
        "pools": told,
        "caches": described,
        "refusals": refused,
        "replays": replays,
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
    cited += [line for one in replays for line in one["evidence"]]
    cited += [row["line_id"] for row in unowned]
    code = 0 if pools or refusals or caches else 3
    return Answer(
        document,
        verdict(told, refused, described, unowned),
        about=tuple(f"{one['state']}: {one['claim']}" for one in findings),
        sections=tuple(sections(told, refused, described, unowned, replays)),
        cited=tuple(dict.fromkeys(cited)),
        next=next_step(told, refused, unowned, any(one["claim"].startswith(RISK) for one in findings)),
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
        ORDER BY missing.at_us, missing.line_id
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
