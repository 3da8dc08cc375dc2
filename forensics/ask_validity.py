"""Answer whether a throughput is a measurement: with its acceptance, cache, gates, spread and company beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from .amounts import count
from .answer import Answer, Ask, Section
from .blocklist import read_blocklist
from .checks import check_notes, check_sections, checks
from .compare_rates import comparability, controls, foreign_effects, four_rates, lengths, rounded
from .explain import Rows, iso
from .refute import every_load, loads_in, window_of

__all__ = ["validity"]

SHOWN = 12
"""Rows of a screen's table; the document has all."""

JUDGED = """
    SELECT validity_rows.*, proofs.before, proofs.after, proofs.proven, proofs.lines AS idle_lines
    FROM validity_rows LEFT JOIN idle_proofs AS proofs USING (load_id, request) ORDER BY request
"""

NO_MEASUREMENT = "not a measurement"

GATES = ("load time", "length limit", "empty answer", "not on the card", "embedding model", "foreign load")

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
    rows = _by_load(
        [
            {
                **row,
                "rules": None
                if rules is None or row["begun_us"] is None
                else [rule.subject for rule in blocks if rule.holds(row["begun_us"])],
            }
            for row in ask.rows(JUDGED)
        ]
    )
    gates = _by_load(ask.rows("SELECT * FROM validity_gates"))
    windows = _by_load(ask.rows("SELECT * FROM validity_windows"))
    exceptions = _by_load(ask.rows("SELECT * FROM validity_exceptions"))
    known = controls(ask)
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
            )
        )
    compared = [one for one in loads if one["rows"]]
    answers = [one for one in ask.rows("SELECT * FROM answers") if window is None or window.holds(one["at_us"])]
    document = {
        "schema": "forensics.validity/1",
        "window": None if window is None else {"since": iso(window.since_us), "until": iso(window.until_us)},
        "loads_in_window": len(inside),
        "loads": loads,
        "gates": _gates([gate for one in wanted for gate in gates.get(one["load_id"], [])], compared),
        "comparability": comparability(compared),
        "foreign_effects": foreign_effects(ask, {one["load_id"] for one in compared}),
        "answers": _answers(answers, compared),
        "checks": checks(ask),
        "not_measured": _not_measured(answers, compared),
    }
    return _answer(document, wanted)


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
        "prefill": _statistic(prefill),
        "four_rates": four_rates(rows),
        "prompt_lengths": lengths(told),
        "concurrency": _concurrency(rows, windows),
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


def _concurrency(rows: Sequence[Mapping[str, Any]], windows: Mapping[str, Any] | None) -> dict[str, Any]:
    most = max((row["others"] for row in rows), default=0) + 1 if rows else 0
    running = windows["running_most"] if windows else None
    if (running or 0) > 1:
        return {"most": running, "claim": "supported", "because": f"up to {running} requests ran at once"}
    if most > 1:
        beside = sum(row["others"] > 0 for row in rows)
        return {"most": most, "claim": "supported", "because": f"{beside} of {len(rows)} requests ran beside another"}
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


# -- the screen -------------------------------------------------------------------------------------------------------


def _answer(document: dict[str, Any], wanted: Sequence[Mapping[str, Any]]) -> Answer:
    loads = document["loads"]
    rows = [(load, row) for load in loads for row in load["rows"]]
    windows = [load for load in loads if load["windows"]]
    cited = [line for _, row in rows for line in row["evidence"]]
    cited += [line for load in loads for one in load["exceptions"] for line in one["evidence"]]
    cited += [line for load in windows for line in load["windows"]["evidence"]]
    cited += document["foreign_effects"]["evidence"]
    cited += [line for row in document["checks"]["rows"] for line in row["evidence"]]
    cited = list(dict.fromkeys(cited))
    notes = [*_notes(document), *check_notes(document["checks"])]
    checked = check_sections(document["checks"])
    if not rows:
        if windows:
            verdict = "No measurement: the log has only averages over windows, which are no rates of a request."
            shown = (*_windowed(windows), *checked)
            return Answer(document, verdict, tuple(notes), shown, tuple(cited), _next(document), code=0)
        verdict = (
            "Not measured: no request of these loads was timed." if wanted else "No model load shows in this evidence."
        )
        return Answer(document, verdict, tuple(check_notes(document["checks"])), checked, tuple(cited), code=3)
    good = sum(row["decode_is_measurement"] for _, row in rows)
    missed = sum(len(load["exceptions"]) for load in loads)
    verdict = f"{good} of {len(rows)} decode rates are measurements"
    if len(rows) == 1:
        verdict = f"The one decode rate is {'a measurement' if good else NO_MEASUREMENT}"
    verdict += f"; {count(missed, 'request')} ended without one." if missed else "."
    sections = [_cells(loads), _table(rows), _gate_table(document["gates"]), *_windowed(windows), *checked]
    return Answer(document, verdict, tuple(notes), tuple(sections), tuple(cited), _next(document))


def _cells(loads: Sequence[Mapping[str, Any]]) -> Section:
    return Section(
        "By load",
        ("#>", "model", "decode tok/s>", "n>", "spread>", "CV>", "prefill tok/s>", "n>", "foreign (gauge)>"),
        tuple(
            (
                str(load["number"]),
                load["name"],
                _rate(load["decode"]["median"]),
                str(load["decode"]["n"]),
                _rate(load["decode"]["spread"]),
                _share(load["decode"]["cv"]),
                _rate(load["prefill"]["median"]),
                str(load["prefill"]["n"]),
                _share(load["foreign"]["highest"], 0),
            )
            for load in loads
            if load["rows"]
        ),
        note="Medians of the rows that are measurements; spread is largest less smallest.",
    )


def _table(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Section:
    # what is none comes first: that is what an operator has to see
    order = sorted(rows, key=lambda pair: pair[1]["decode_is_measurement"] and pair[1]["prompt_is_measurement"])
    shown = order[:SHOWN]
    note = f"{len(rows) - len(shown)} more rows in the JSON" if len(rows) > len(shown) else ""
    return Section(
        "Rows",
        ("#>", "task>", "decode>", "acceptance>", "prefill>", ""),
        tuple(
            (
                str(load["number"]),
                "" if row["task"] is None else str(row["task"]),
                _rate(row["decode_per_s"]),
                "no drafts" if row["speculates"] is False else _share(row["acceptance"]) or "?",
                _rate(row["prompt_per_s"]),
                _reasons(row),
            )
            for load, row in shown
        ),
        note=note,
    )


def _reasons(row: Mapping[str, Any]) -> str:
    parts = []
    if not row["decode_is_measurement"]:
        parts.append(f"{NO_MEASUREMENT} ({'; '.join(row['decode_why'])})")
    only = [why for why in row["prompt_why"] if why not in row["decode_why"]]
    if only:
        parts.append(f"prefill {NO_MEASUREMENT} ({'; '.join(only)})")
    return "; ".join(parts)


def _gate_table(gates: Sequence[Mapping[str, Any]]) -> Section:
    return Section(
        "Gates",
        ("gate", "fired>", "not>", "could not>", ""),
        tuple(
            (
                gate["gate"],
                str(gate["fired"]),
                str(gate["not_fired"]),
                str(gate["could_not"]),
                gate["because"] if gate["state"] == "could not fire" else gate["state"] if not gate["fired"] else "",
            )
            for gate in gates
        ),
    )


def _windowed(loads: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    if not loads:
        return ()
    return (
        Section(
            "Averages over windows: no rates, not used",
            ("#>", "windows>", "prompt>", "CV>", "generation>", "CV>"),
            tuple(
                (
                    str(load["number"]),
                    str(load["windows"]["count"]),
                    _rate(load["windows"]["prompt_mean"], 2),
                    _share(load["windows"]["prompt_cv"]),
                    _rate(load["windows"]["generated_mean"], 2),
                    _share(load["windows"]["generated_cv"]),
                )
                for load in loads
            ),
        ),
    )


def _rate(value: float | None, places: int = 1) -> str:
    return "" if value is None else f"{value:.{places}f}"


def _share(value: float | None, places: int = 1) -> str:
    return "" if value is None else f"{100 * value:.{places}f} %"


def _notes(document: Mapping[str, Any]) -> list[str]:
    notes = []
    lengths = document["comparability"]["prompt_lengths"]
    if lengths and not lengths["comparable"]:
        more = f" (+{100 * lengths['difference']:.0f} %)" if lengths["difference"] < 2 else ""
        notes.append(
            f"Prompts of {lengths['shortest']} to {lengths['longest']} tokens{more}: "
            "their prefill rates are not of the same work."
        )
    differences = [one["what"] for one in document["comparability"]["differences"]]
    if len(differences) == 1:
        notes.append(f"The loads differ in {differences[0]}, beside their models.")
    elif differences:
        notes.append(f"The loads differ in {', '.join(differences)}: none of these alone explains a difference.")
    notes.extend(
        f"Load {load['number']}: {load['concurrency']['because']}."
        for load in document["loads"]
        if len(load["rows"]) > 1 and load["concurrency"]["claim"] == "not measured"
    )
    told = document["answers"]
    if told["matched"]:
        most = told["largest_divergence"]
        fitting = count(told["matched"], "answer").capitalize()
        text = f"{fitting} with the server's own counters, taken instead of the log's"
        notes.append(text + ("." if most is None else f"; the log differs by {100 * most:.1f} % at most."))
    if told["without_request"]:
        strays = len(told["without_request"])
        verb = "fits" if strays == 1 else "fit"
        notes.append(f"{count(strays, 'answer').capitalize()} {verb} no logged request, or several: not used.")
    notes.extend(
        _against(one, other) for one in document["comparability"]["baselines"] for other in one["not_baselines"][:1]
    )
    notes.extend(
        _warm(one) for one in document["comparability"]["baselines"] if one["warmth"]["may_explain"] and one["change"]
    )
    if (foreign := document["foreign_effects"])["cells"]:
        notes.append(_beside_others(foreign))
    under: dict[tuple[str, ...], int] = {}
    for load in document["loads"]:
        for row in load["rows"]:
            if row["rules"] is not None:
                under[tuple(row["rules"])] = under.get(tuple(row["rules"]), 0) + 1
    if len(under) > 1:
        parts = ", ".join(f"{number} under {' and '.join(rules) or 'no rule'}" for rules, number in under.items())
        notes.append(f"Measured under different rules of what is blocked: {parts}. Compare within one of them.")
    for load in document["loads"]:
        asked = [row for row in load["rows"] if row["reasoning"]]
        missed = sum(row["reasoning"] == "not treated" for row in asked)
        if missed:
            notes.append(
                f"Load {load['number']}: {missed} of {len(asked)} requests with reasoning on got no character "
                "of it: not treated, and nothing about reasoning follows from them."
            )
    for load in document["loads"]:
        for one in load["exceptions"][:3]:
            task = "" if one["task"] is None else f" task {one['task']}"
            notes.append(f"Load {load['number']}{task} {one['what']}: {one['why']}.")
    return notes


def _warm(one: Mapping[str, Any]) -> str:
    """A change that is no larger than what cold and warm cards differ by."""
    minutes = sorted(one["warmth"][key] / 60 for key in ("served_s", "baseline_served_s"))
    return (
        f"Load {one['number']} against load {one['baseline_number']}, {_signed(one['change'])}: one was measured "
        f"{minutes[0]:.0f} min after it got ready, the other {minutes[1]:.0f}. Cold and heat-soaked cards differ by as "
        "much (4–5 %)."
    )


def _beside_others(foreign: Mapping[str, Any]) -> str:
    """What the gauge of foreign load came to where a cell was measured under two readings of it."""
    cells = f"{foreign['cells']} cell{'s' if foreign['cells'] > 1 else ''}"
    more, less = (
        f"{100 * low:.0f}" + (f" to {100 * high:.0f} %" if round(100 * low) != round(100 * high) else " %")
        for low, high in (foreign["more"], foreign["less"])
    )
    moved = f"{_signed(foreign['median_gain'])} at the median"
    if foreign["cells"] > 1:
        moved += f", {_signed(foreign['lowest_gain'])} to {_signed(foreign['highest_gain'])}"
    return (
        f"{foreign['state']}: what else ran slows these requests. {cells} ran beside others for {more} of their time, "
        f"and for {less}: with less of it rates moved by {moved}."
    )


def _signed(share: float) -> str:
    # no sign of a figure that is printed as nothing
    return f"{100 * share + 0.0:+.1f} %".replace("-", "−").replace("−0.0", "+0.0")


def _against(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Which load a rate is to be held against, and which not."""
    near, far = (", ".join(names) or "nothing" for names in (one["differs"], other["differs"]))
    changes = (_signed(share) for share in (one["change"], other["change"]))
    return (
        f"Load {one['number']} is to be held against load {one['baseline_number']} ({next(changes)}; differs: {near}), "
        f"not against load {other['number']} ({next(changes)}; differs: {far})."
    )


def _next(document: Mapping[str, Any]) -> str:
    rows = [row for load in document["loads"] for row in load["rows"]]
    if any("no acceptance rate" in row["decode_why"] for row in rows):
        return "Log the acceptance beside the timings, or run with speculation off, and measure again."
    if any(why.startswith("load time") for row in rows for why in row["decode_why"]):
        return "Warm the model with one request that is not counted, and see that nothing evicts it meanwhile."
    if any(row["cached_tokens"] for row in rows):
        return "Put a nonce in front of each prompt, so that no cache answers a part of it."
    if rows and max(load["decode"]["n"] for load in document["loads"]) < 3:
        return "Repeat each cell at least three times: one run has no spread."
    if any(gate["state"] == "could not fire" for gate in document["gates"]):
        return "Gates that could not fire prove nothing: log what they need."
    return ""
