"""The screen of speculation: of one load in full, of several as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .amounts import count, plain
from .answer import Answer, Section
from .bars import sparkline
from .explain import iso
from .refute import Looks, not_its_own
from .spec_document import WITH_BONUS, cumulative_counts, draft_memory, over_time
from .spec_judged import Judged, unowned_acceptance

__all__ = ["SHOWN", "many_loads", "one_load"]

SHOWN = 8
"""Rows of a screen's table; the document has all."""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _method(setup: Mapping[str, Any]) -> str:
    if not setup["configured"]:
        return ""
    depth = "" if setup["n_max"] is None else f", depth {setup['n_max']}"
    return f"{setup['method'] or 'draft model'}{depth}"


def one_load(
    one: Judged,
    every: Mapping[str, dict[str, Any]],
    document: dict[str, Any],
    cited: list[str],
    code: int,
    loads: int | None,
) -> Answer:
    """The answer about one load."""
    load, totals = one.load, one.totals
    name = load["name"]
    told = document["loads"][0]
    about: list[str] = []
    if one.active:
        accepted = totals["accepted"] if totals.get("drafted") else totals["total_accepted"]
        drafted = totals["drafted"] or totals["total_drafted"]
        method = _method(one.setup) or "the log does not say how"
        verdict = f"Yes: {name} speculates ({method}). {accepted} of {drafted} drafted tokens accepted."
        parts = [f"acceptance {_percent(accepted / drafted)}"]
        if told["mean_len"] is not None:
            bonus = "bonus token included" if told["mean_len_definition"] == WITH_BONUS else "as printed"
            parts.append(f"mean length {told['mean_len']:.2f} ({bonus})")
        about.append(", ".join(parts))
    elif one.active is False:
        verdict = f"No: {name} does not speculate; {one.because}."
        if one.setup["configured"]:
            verdict = f"No: {name} is set up to speculate ({_method(one.setup)}) and does not; {one.because}."
    elif unowned_acceptance(one):
        lines = unowned_acceptance(one)
        candidates = {load_id for line in lines for load_id in line.candidates}
        verdict = (
            f"Cannot tell. {count(len(candidates), 'load').capitalize()} could have written "
            f"{count(len(lines), 'acceptance line')}, and {'it does' if len(lines) == 1 else 'they do'} not say which."
        )
    else:
        verdict = f"Cannot tell whether {name} speculates: {one.because}."
    ready = iso(load["ready_us"])
    about.insert(
        0,
        " · ".join(
            part
            for part in (
                f"load {load['number']}",
                f"{load['engine']} {load['version'] or ''}".strip(),
                f"ready {ready.replace('T', ' ')[:19]} UTC" if ready else "",
                f"{loads} loads in the window" if loads and loads > 1 else "",
            )
            if part
        ),
    )
    about.extend(_doubt_lines(one))
    about.extend(
        f"{found['state']}: {found['claim']}; {found['because']}."
        for found in told["findings"]
        if found["claim"].startswith("passes") and found["state"] == "contradicted"
    )
    sections = [
        section
        for section in (
            _acceptance(one),
            _passes(one),
            _by_position(one),
            _evidence(one, every, cited),
            _arithmetic(one),
        )
        if section is not None
    ]
    return Answer(document, verdict, tuple(about), tuple(sections), tuple(cited), _next(one), code)


def _doubt_lines(one: Judged) -> list[str]:
    seen: list[str] = []
    for row in one.doubts:
        if row["doubt"] in {"inert", "arithmetic"}:
            continue
        text = f"Doubt: {row['note']}."
        if text not in seen:
            seen.append(text)
    return seen[:4] + ([f"and {len(seen) - 4} more doubts"] if len(seen) > 4 else [])


def _acceptance(one: Judged) -> Section | None:
    rows = [row for row in one.samples if row["drafted"]]
    if not rows:
        return None
    shown = rows[-SHOWN:]
    notes = []
    if len(rows) > len(shown):
        notes.append(f"last {len(shown)} of {len(rows)}")
    if len(rows) > 1:
        notes.append(f"over time {sparkline([row['ratio'] for row in rows])}")
        notes.append(f"{_percent(min(row['ratio'] for row in rows))} to {_percent(max(row['ratio'] for row in rows))}")
    cumulative = cumulative_counts(one.totals)
    if cumulative is not None:
        notes.append(f"cumulative {cumulative['accepted']} of {cumulative['drafted']}: {cumulative['why']}")
    memory = draft_memory(one)
    if memory is not None:
        each = memory["per_accepted_token_mib"]
        per = "" if each is None else f", {each:.4g} MiB for each token accepted so far"
        notes.append(f"drafting holds {plain(memory['bytes'])} on cards{per}")
    return Section(
        "Acceptance",
        ("time", "task", "accepted>", "drafted>", "rate>", "mean length>"),
        tuple(
            (
                (iso(row["at_us"]) or "").replace("T", " ")[11:19],
                row["covers"] if row["task"] is None else str(row["task"]),
                "" if row["accepted"] is None else str(row["accepted"]),
                str(row["drafted"]),
                _percent(row["ratio"]),
                "" if row["mean_length"] is None else f"{row['mean_length']:.2f}",
            )
            for row in shown
        ),
        note="; ".join(notes),
    )


def _passes(one: Judged) -> Section | None:
    """Rates by the tokens of a pass: how fast the target runs, whatever is accepted; one alone compares nothing."""
    if len(one.passes) < 2:
        return None
    return Section(
        "Passes of the target",
        ("task>", "prompt>", "tok/s>", "tokens a pass>", "passes/s>"),
        tuple(
            (
                "" if row["task"] is None else str(row["task"]),
                "" if row["prompt_tokens"] is None else f"{row['prompt_tokens']:,}",
                f"{row['decode_per_s']:.1f}",
                f"{row['tokens_per_pass']:.2f}",
                f"{row['passes_per_s']:.1f}",
            )
            for row in one.passes[-SHOWN:]
        ),
        note=f"last {SHOWN} of {len(one.passes)}" if len(one.passes) > SHOWN else "",
    )


def _by_position(one: Judged) -> Section | None:
    rows = [row for row in one.positions if row["rate"] is not None]
    if not rows:
        return None
    return Section(
        "By position in the draft",
        tuple(f"{row['position']}>" for row in rows),
        (tuple(_percent(row["rate"]) for row in rows),),
    )


def _evidence(one: Judged, every: Mapping[str, dict[str, Any]], cited: list[str]) -> Section | None:
    number = {line: f"e{place}" for place, line in enumerate(cited, 1)}
    found = one.refutation

    def numbers(lines: Sequence[Looks]) -> str:
        known = [number[line.line_id] for line in lines if line.line_id in number]
        return " ".join(known[:3]) + (" …" if len(known) > 3 else "")

    rows: list[tuple[str, str, str]] = []
    undrafted = [] if one.active or not one.requests.get("telling") else (one.requests.get("lines") or "").split()
    for label, lines in (("for", found.favouring), ("against", found.against)):
        kinds: dict[str, list[Looks]] = {}
        for line in lines:
            kinds.setdefault(line.what.split(":")[0], []).append(line)
        for position, (what, some) in enumerate(kinds.items()):
            shown = some[0].what if len(some) == 1 else f"{what} ({len(some)} lines)"
            rows.append((label if position == 0 else "", shown, numbers(some)))
        if label == "against" and undrafted:
            what = f"{count(one.requests['telling'], 'timed request')} without drafts"
            rows.append(("" if lines else label, what, " ".join(number[line] for line in undrafted[:3])))
        elif not lines:
            rows.append((label, "nothing in this load", ""))
    contrary = (
        {"against", "nothing"} if one.active else {"for"} if one.active is False else {"for", "against", "nothing"}
    )
    rows.extend(not_its_own(found, numbers, contrary, "lines that speak of drafting"))
    if found.ambiguous:
        names = sorted(every[load_id]["number"] for line in found.ambiguous for load_id in line.candidates)
        whose = " or ".join(str(number) for number in dict.fromkeys(names))
        what = f"{count(len(found.ambiguous), 'line')} of load {whose}; not used"
        rows.append(("ambiguous", what, numbers(found.ambiguous)))
    if one.leaning is not None:
        rows.append(("leaning", f"load {one.leaning['number']}: {one.leaning['why']}; inferred, not proven", ""))
    if found.suspected:
        rows.append(
            ("suspected", f"{count(len(found.suspected), 'line')} that may be forged", numbers(found.suspected))
        )
    return Section("Evidence", ("", "", ""), tuple(rows))


def _arithmetic(one: Judged) -> Section | None:
    wrong = [row for row in one.checks if not row["holds"]]
    if not one.checks:
        return None
    held = f"{len(one.checks) - len(wrong)} of {len(one.checks)} checks hold"
    if not wrong:
        return Section(
            "Arithmetic", ("",), (), note=f"{held}: rates, mean lengths and positions agree with the counts."
        )
    return Section(
        "Arithmetic",
        ("check", "printed>", "computed>", "how"),
        tuple(
            (
                row["name"],
                f"{row['printed']:.3f}",
                "" if row["computed"] is None else f"{row['computed']:.3f}",
                row["note"],
            )
            for row in wrong[:SHOWN]
        ),
        note=held,
    )


def _next(one: Judged) -> str:
    if one.active is None and unowned_acceptance(one):
        return "Give each runner its own prefix, unit or container, so that its lines say whose they are."
    if one.active is None and one.setup["configured"]:
        return "Send it one request of some length and look again."
    if one.active is None:
        return "Raise its verbosity so that it prints its setup, or send it a request, and look again."
    if one.active is False and one.setup["configured"]:
        return "Check that the method is named beside the draft model, and that the draft model was found."
    if one.active and not (one.totals.get("accepted") or one.totals.get("total_accepted")):
        return "Nothing of what it drafts is accepted: it pays for drafts and gains none."
    if any(row["doubt"] in {"tiny", "synthetic"} for row in one.doubts):
        return "Measure with real prompts and at least a few hundred drafted tokens before quoting the rate."
    return ""


def _by_model(models: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Only where a model has several loads: else the table of loads says it already."""
    if not any(one["loads"] > 1 for one in models):
        return ()
    return (
        Section(
            "By model",
            ("model", "loads>", "depth>", "accepted>", "rate>", "lowest>", "highest>"),
            tuple(
                (
                    one["identity"],
                    str(one["loads"]),
                    ", ".join(map(str, one["depths"])),
                    f"{one['accepted']}/{one['drafted']}",
                    *(_percent(value) for value in (one["acceptance"], *one["acceptance_range"])),
                )
                for one in models
            ),
        ),
    )


def _faster(effects: Mapping[str, Any] | None) -> tuple[Section, ...]:
    if effects is None:
        return ()
    return (
        Section(
            "Decode rate against the load of the same model before, by size of prompt",
            ("", "cells>", "lowest>", "highest>"),
            tuple(
                (words, str(told["cells"]), _change(told["lowest"]), _change(told["highest"]))
                for words, told in (("loads that draft", effects["drafting"]), ("loads that do not", effects["others"]))
            ),
            note=f"{effects['claim']} — {effects['state']}; {effects['note']}",
        ),
    )


def _change(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.1f} %".replace("-", "−")


def many_loads(judged: Sequence[Judged], document: dict[str, Any], cited: list[str], code: int) -> Answer:
    """The answer about several loads: a row each."""
    active = sum(one.active is True for one in judged)
    inert = sum(one.active is False and bool(one.setup["configured"]) for one in judged)
    plain_loads = sum(one.active is False and not one.setup["configured"] for one in judged)
    unknown = sum(one.active is None for one in judged)
    parts = [f"{active} of {len(judged)} loads {'speculates' if active == 1 else 'speculate'}"]
    parts += [f"{inert} {'is' if inert == 1 else 'are'} set up and never drafted"] if inert else []
    parts += [f"{plain_loads} {'does' if plain_loads == 1 else 'do'} not"] if plain_loads else []
    parts += [f"{unknown} cannot be told"] if unknown else []
    section = Section(
        "Loads",
        ("#>", "model", "set up", "depth>", "drafts", "accepted>", "rate>", "mean>", "over time"),
        tuple(
            (
                str(one.load["number"]),
                one.load["name"],
                one.setup["method"] or {True: "yes", False: "none", None: "?"}[one.setup["configured"]],
                "" if one.setup["n_max"] is None else str(one.setup["n_max"]),
                {True: "yes", False: "no", None: "?"}[one.active],
                f"{one.totals['accepted']}/{one.totals['drafted']}" if one.totals.get("drafted") else "",
                _percent(one.totals.get("acceptance")),
                "" if one.totals.get("mean_length") is None else f"{one.totals['mean_length']:.2f}",
                sparkline(over_time(one.samples, 12)),
            )
            for one in judged
        ),
        note="Each line counts for its own load only; mean lengths include the bonus token.",
    )
    doubts = [(str(one.load["number"]), row["note"]) for one in judged for row in one.doubts]
    sections = [section, *_by_model(document["models"]), *_faster(document["effects"])]
    if doubts:
        sections.append(
            Section(
                "Doubts", ("#>", ""), tuple(doubts[:SHOWN]), note=f"{len(doubts)} in all" if len(doubts) > SHOWN else ""
            )
        )
    unsure = next((one for one in judged if one.active is None), None)
    step = f"forensics spec --load {unsure.load['number']} shows what is missing." if unsure else ""
    return Answer(document, "; ".join(parts) + ".", (), tuple(sections), tuple(cited), step, code)
