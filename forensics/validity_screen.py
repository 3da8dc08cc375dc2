"""The screen of validity: which rates are measurements, which gates fired, and what keeps loads from comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .amounts import count, numbers
from .answer import Answer, Section
from .checks import check_notes, check_sections

__all__ = ["validity_answer"]

SHOWN = 12
"""Rows of a screen's table; the document has all."""

NO_MEASUREMENT = "not a measurement"


def validity_answer(document: dict[str, Any], wanted: Sequence[Mapping[str, Any]]) -> Answer:
    """The document as an answer."""
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
            note=_windows_note(loads),
        ),
    )


def _windows_note(loads: Sequence[Mapping[str, Any]]) -> str:
    """Why a prompt figure of windows is no prefill rate even by the limits of those who take some."""
    missed = {why: load["windows"]["prefill"] for load in loads for why in load["windows"]["prefill"]["why"]}
    if not missed:
        return ""
    return f"As prefill rates, by the limits of {next(iter(missed.values()))['rules']['source']}: {', '.join(missed)}."


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
    notes += _each(
        (load["number"], f"{load['concurrency']['because']}.")
        for load in document["loads"]
        if load["concurrency"]["claim"] == "contradicted"
        or (len(load["rows"]) > 1 and load["concurrency"]["claim"] == "not measured")
    )
    notes += _each(
        (load["number"], _no_prefill(load["prefill"]))
        for load in document["loads"]
        if load["prefill"]["accepted"] is False
    )
    for load in document["loads"]:
        if load["windows"] and (hits := load["windows"]["prefix_hits"]):
            told = f"Load {load['number']}: up to {_share(hits)} of its prompts came from a prefix cache: "
            notes.append(told + "its prompt figures are not those of whole prompts.")
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


def _no_prefill(told: Mapping[str, Any]) -> str:
    return f"its prefill rate is none by the limits of {told['rules']['source']}: {', '.join(told['why'])}."


def _each(told: Iterable[tuple[int, str]]) -> list[str]:
    """What is said of loads, once for all of which the same is."""
    grouped: dict[str, list[int]] = {}
    for number, words in told:
        grouped.setdefault(words, []).append(number)
    return [
        f"Load {of[0]}: {words}" if len(of) == 1 else f"Loads {numbers(of)}, each: {words}"
        for words, of in grouped.items()
    ]


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
    hits = any(load["windows"] and load["windows"]["prefix_hits"] for load in document["loads"])
    if hits or any(row["cached_tokens"] for row in rows):
        return "Put a nonce in front of each prompt, so that no cache answers a part of it."
    if rows and max(load["decode"]["n"] for load in document["loads"]) < 3:
        return "Repeat each cell at least three times: one run has no spread."
    if any(gate["state"] == "could not fire" for gate in document["gates"]):
        return "Gates that could not fire prove nothing: log what they need."
    return ""
