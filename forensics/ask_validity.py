"""Answer whether a throughput is a measurement: with its acceptance, cache, gates, spread and company beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from .amounts import count
from .answer import Answer, Ask
from .blocklist import read_blocklist
from .checks import checks
from .compare_rates import comparability, controls, foreign_effects, four_rates, lengths, rounded
from .errors import UsageError
from .explain import Rows, iso
from .prefill import prefill_accepted
from .refute import every_load, loads_in, window_of
from .validity_screen import validity_answer

__all__ = ["validity"]

JUDGED = """
    SELECT validity_rows.*, proofs.before, proofs.after, proofs.proven, proofs.lines AS idle_lines
    FROM validity_rows LEFT JOIN idle_proofs AS proofs USING (load_id, request) ORDER BY request
"""

GATES = ("load time", "length limit", "empty answer", "not on the card", "embedding model", "foreign load")

POLARITIES = ("either", "wanted", "fails")
"""What stopping on the limit of tokens may mean: nothing, what a fixed length wants, or an answer cut off."""

DIVERGES = 0.01
"""Rates of the log and of the answer that differ by more than this are two figures, not one rounded."""


def validity(ask: Ask) -> Answer:
    """Judge each timed request, then what its load's requests say together."""
    window = window_of(ask)
    every = every_load(ask)
    inside = loads_in(ask, every, window)
    wanted = [load for load in (every.values() if ask.loads is not None else inside) if ask.wants(load["load_id"])]
    rules = ask.extra.get("blocklist")
    blocks = read_blocklist(rules) if rules is not None else []
    asked_gates, stopped = _polarised(ask.rows("SELECT * FROM validity_gates"), ask.extra.get("length_limit"))
    gates = _by_load(asked_gates)
    rows = _by_load(
        [
            {
                **_failing(row, stopped),
                "rules": None
                if rules is None or row["begun_us"] is None
                else [rule.subject for rule in blocks if rule.holds(row["begun_us"])],
            }
            for row in ask.rows(JUDGED)
        ]
    )
    windows = _by_load(ask.rows("SELECT * FROM validity_windows"))
    exceptions = _by_load(ask.rows("SELECT * FROM validity_exceptions"))
    known = controls(ask)
    bursts = ask.rows("SELECT * FROM request_bursts")
    loads = []
    for load in wanted:
        load_id = load["load_id"]
        mine = [row for row in rows.get(load_id, []) if window is None or window.holds(row["begun_us"])]
        keys = {row["request"] for row in mine}
        loads.append(
            _load(
                load,
                mine,
                [gate for gate in gates.get(load_id, []) if gate["request"] in keys],
                next(iter(windows.get(load_id, [])), None),
                [one for one in exceptions.get(load_id, []) if window is None or window.holds(one["at_us"])],
                known[load_id],
                [
                    one
                    for one in bursts
                    if one["load_id"] == load_id and (window is None or window.holds(one["begun_us"]))
                ],
            )
        )
    compared = [one for one in loads if one["rows"]]
    answers = [one for one in ask.rows("SELECT * FROM answers") if window is None or window.holds(one["at_us"])]
    document = {
        "schema": "forensics.validity/1",
        "window": None if window is None else {"since": iso(window.since_us), "until": iso(window.until_us)},
        "loads_in_window": len(inside),
        "loads": loads,
        "length_limit": ask.extra.get("length_limit") or "either",
        "gates": _gates([gate for one in wanted for gate in gates.get(one["load_id"], [])], compared),
        "comparability": comparability(compared),
        "foreign_effects": foreign_effects(ask, {one["load_id"] for one in compared}),
        "answers": _answers(answers, compared),
        "checks": checks(ask),
        "not_measured": _not_measured(answers, compared),
    }
    return validity_answer(document, wanted)


def _polarised(gates: Rows, polarity: str | None) -> tuple[Rows, dict[int, str]]:
    """Gates with what stopping on the limit means here, and the requests that are no measurement by it.

    Raises:
        UsageError: It is none of the three words.
    """
    if polarity is not None and polarity not in POLARITIES:
        raise UsageError(f"--length-limit {polarity}: write {', '.join(POLARITIES[:-1])} or {POLARITIES[-1]}")
    if polarity in {None, "either"}:
        return gates, {}
    wanted = polarity == "wanted"
    found: Rows = []
    for gate in gates:
        if gate["gate"] == "length limit" and gate["fired"] is not None:
            fired = gate["fired"] is not wanted
            why = "stopped before the limit of tokens" if wanted else "stopped on the limit of tokens"
            found.append({**gate, "fired": fired, "invalidates": True, "why": why if fired else None})
        else:
            found.append({**gate, "invalidates": True} if gate["gate"] == "length limit" else gate)
    return found, {
        gate["request"]: f"length limit gate: {gate['why']}"
        for gate in found
        if gate["gate"] == "length limit" and gate["fired"]
    }


def _failing(row: dict[str, Any], stopped: Mapping[int, str]) -> dict[str, Any]:
    """A request whose rates are no measurement by the gate of the limit."""
    why = stopped.get(row["request"])
    if why is None:
        return row
    return {**row, **{key: f"{row[key]}; {why}" if row[key] else why for key in ("decode_why", "prompt_why")}}


def _by_load(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["load_id"], []).append(row)
    return found


# -- the document -----------------------------------------------------------------------------------------------------


def _load(
    load: Mapping[str, Any],
    rows: Sequence[dict[str, Any]],
    gates: Sequence[dict[str, Any]],
    windows: Mapping[str, Any] | None,
    exceptions: Sequence[dict[str, Any]],
    settings: Mapping[str, Any],
    bursts: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    valid = [row["decode_per_s"] for row in rows if row["decode_why"] is None]
    prefill = [row["prompt_per_s"] for row in rows if row["prompt_why"] is None]
    told = [row["prompt_length"] for row in rows if row["prompt_length"]]
    served = [
        (row["begun_us"] - load["ready_us"]) / 1e6 for row in rows if None not in (row["begun_us"], load["ready_us"])
    ]
    shares = [row["foreign_share"] for row in rows if row["foreign_share"] is not None]
    return {
        **{key: load[key] for key in ("load_id", "number", "engine", "version", "model", "label", "unit", "name")},
        "controls": {
            **settings,
            "cap": sorted({row["limit_tokens"] for row in rows if row["limit_tokens"]}),
            "prompts": sorted({2 ** (length.bit_length() - 1) for length in told}),
        },
        "rows": [_row(row) for row in rows],
        "served_s": rounded(median(served)) if served else None,
        "decode": _statistic(valid),
        "prefill": {
            **(stated := _statistic(prefill)),
            **prefill_accepted(
                stated["median"],
                stated["cv"],
                min((row["prompt_tokens"] for row in rows if row["prompt_why"] is None), default=None),
            ),
        },
        "four_rates": four_rates(rows),
        "prompt_lengths": lengths(told),
        "concurrency": _concurrency(rows, windows, bursts),
        "bursts": [_burst(one) for one in bursts],
        "foreign": {
            "is": "a gauge of what else ran, not of what it cost",
            "lowest": rounded(min(shares)) if shares else None,
            "highest": rounded(max(shares)) if shares else None,
        },
        "windows": None
        if windows is None
        else {
            "count": windows["windows"],
            "prompt_mean": rounded(windows["prompt_mean"]),
            "prompt_cv": rounded(windows["prompt_cv"]),
            "generated_mean": rounded(windows["generated_mean"]),
            "generated_cv": rounded(windows["generated_cv"]),
            "prefix_hits": rounded(windows["prefix_hits"]),
            "prefill": prefill_accepted(windows["prompt_mean"], windows["prompt_cv"], None),
            "measurement": False,
            "because": "averages over windows of seconds are no rates of a request",
            "evidence": (windows["lines"] or "").split(),
        },
        "gates": _gates(gates, rows),
        "exceptions": [
            {
                "task": one["task"],
                "at": iso(one["at_us"]),
                "what": one["what"],
                "why": one["why"],
                "evidence": one["lines"].split(),
            }
            for one in exceptions
        ],
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "at": iso(row["begun_us"]),
        "task": row["task"],
        "decode_per_s": rounded(row["decode_per_s"]),
        "decode_tokens": row["decode_tokens"],
        "acceptance": rounded(row["acceptance"]),
        "speculates": None if row["acceptance"] is None and not row["plain"] else not row["plain"],
        "decode_is_measurement": row["decode_why"] is None,
        "decode_why": (row["decode_why"] or "").split("; ") if row["decode_why"] else [],
        "prompt_per_s": rounded(row["prompt_per_s"]),
        "prompt_tokens": row["prompt_tokens"],
        "prompt_length": row["prompt_length"],
        "cached_tokens": row["cached_tokens"],
        "prompt_is_measurement": row["prompt_why"] is None,
        "prompt_why": (row["prompt_why"] or "").split("; ") if row["prompt_why"] else [],
        "others": row["others"],
        "foreign_share": rounded(row["foreign_share"]),
        "counters": "log" if row["answer"] is None else "answer",
        "log_decode_per_s": rounded(row["log_decode_per_s"]),
        "log_prompt_per_s": rounded(row["log_prompt_per_s"]),
        "divergence": rounded(row["divergence"]),
        "reasoning": row["reasoning"],
        "wall_per_s": rounded(row["wall_per_s"]),
        "idle": {
            "before": row["before"],
            "after": row["after"],
            "proven": row["proven"],
            "evidence": (row["idle_lines"] or "").split(),
        },
        "rules": row["rules"],
        "evidence": row["lines"].split(),
    }


def _answers(answers: Rows, loads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answers with counters: how many are a logged request's, and the rates of those that are none's."""
    strays = [one for one in answers if one["load_id"] is None]
    rows = [row for load in loads for row in load["rows"] if row["counters"] == "answer"]
    return {
        "count": len(answers),
        "matched": len(rows),
        "diverging": sum((row["divergence"] or 0) > DIVERGES for row in rows),
        "largest_divergence": max((row["divergence"] for row in rows if row["divergence"] is not None), default=None),
        "without_request": [
            {
                "at": iso(one["at_us"]),
                "model": one["model"],
                "decode_per_s": rounded(one["decode_per_s"]),
                "decode_tokens": one["decode_tokens"],
                "prompt_per_s": rounded(one["prompt_per_s"]),
                "load_s": rounded(one["load_s"]),
                "evidence": [one["line_id"]],
            }
            for one in strays
        ],
    }


def _not_measured(answers: Rows, loads: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What no input tells, and what would."""
    found = {}
    if not any(row["counters"] == "answer" for load in loads for row in load["rows"]):
        found["response counters"] = (
            "no answer among the inputs is one of these requests: counters of answers (load and eval durations, "
            "cached tokens) outrank these lines"
            if answers
            else "no answers among the inputs: their counters (load and eval durations, cached tokens) outrank "
            "these lines"
        )
    if not any(row["reasoning"] for load in loads for row in load["rows"]):
        found["treatment"] = (
            "no input says which requests asked for reasoning, and how many characters of it came: whether a cell with "
            "reasoning on had any cannot be told"
        )
    return [{"what": what, "because": why} for what, why in found.items()]


def _statistic(values: Sequence[float]) -> dict[str, Any]:
    """Number, median, mean, spread and coefficient of variation, each under its name."""
    return {
        "n": len(values),
        "statistic": f"median of {len(values)}" if values else None,
        "median": rounded(median(values)) if values else None,
        "mean": rounded(fmean(values)) if values else None,
        "spread": rounded(max(values) - min(values)) if len(values) > 1 else None,
        "cv": rounded(stdev(values) / fmean(values)) if len(values) > 2 and fmean(values) else None,
    }


def _burst(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "at": iso(one["begun_us"]),
        "requests": one["requests"],
        **{key: rounded(one[key]) for key in ("shortest_s", "longest_s", "times", "per_s", "alone_per_s")},
        "ran": one["ran"],
        "evidence": one["lines"].split(),
    }


def _concurrency(
    rows: Sequence[Mapping[str, Any]], windows: Mapping[str, Any] | None, bursts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    most = max((row["others"] for row in rows), default=0) + 1 if rows else 0
    running = windows["running_most"] if windows else None
    if (running or 0) > 1:
        return {"most": running, "claim": "supported", "because": f"up to {running} requests ran at once"}
    if most > 1:
        beside = sum(row["others"] > 0 for row in rows)
        return {"most": most, "claim": "supported", "because": f"{beside} of {len(rows)} requests ran beside another"}
    if serial := [one for one in bursts if one["ran"] == "serial"]:
        one = max(serial, key=lambda burst: burst["requests"])
        why = (
            f"{count(one['requests'], 'request')} waited at once, {one['shortest_s']:.1f} to {one['longest_s']:.1f} s, "
            f"{one['times']:.1f} times as long, at the same {one['per_s']:.2f} a second: they ran one after another"
        )
        return {"most": 1, "claim": "contradicted", "because": why}
    if rows:
        why = f"{count(len(rows), 'request')}, never two at once: nothing here measures concurrency"
        return {"most": 1, "claim": "not measured", "because": why}
    return {"most": None, "claim": "not measured", "because": "no timed request"}


def _gates(gates: Sequence[Mapping[str, Any]], rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Each gate over a set of requests: fired, did not, could not; a gate that never fired is unproven."""
    found = []
    for name in GATES:
        mine = [gate for gate in gates if gate["gate"] == name]
        fired = sum(gate["fired"] is True for gate in mine)
        silent = sum(gate["fired"] is False for gate in mine)
        if not mine or not rows:
            state = "no request to judge"
        elif fired:
            state = "fired"
        elif silent:
            state = "never fired in this data set: unproven"
        else:
            state = "could not fire"
        found.append(
            {
                "gate": name,
                "state": state,
                "fired": fired,
                "not_fired": silent,
                "could_not": len(mine) - fired - silent,
                "because": next((gate["why"] for gate in mine if gate["fired"] is None), None),
                "bound": mine[0]["bound"] if mine else None,
                "invalidates": mine[0]["invalidates"] if mine else None,
            }
        )
    return found
