"""Answer whether a soak test passed, by each rule set on its own: growth, retention, empty answers, errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from statistics import median
from typing import Any

from .amounts import count, mib
from .answer import Answer, Ask, Section
from .bars import sparkline
from .explain import Rows, amount

__all__ = ["soak"]

WORST = ("pass", "warn", "unmeasurable", "fail")
"""Results, the worst last: it is the verdict of a rule set."""

FLAT_BYTES = 16 * 1024 * 1024
"""Changes up to this are none: a few blocks of the allocator."""

NAMES = {
    "growth": "memory growth",
    "retention": "rate kept",
    "silent_empty": "empty answers",
    "errors": "failed turns",
    "slow_turns": "turns over 30 s",
    "first_token": "first token, times slower",
    "oscillation": "change between sessions",
}
NO_BASELINE = "UNMEASURABLE: no session was clean with turns behind it; a dead server's use is no baseline"
NOTES = (
    "A pass is no validation of patches: a workload that never needed them passes too. Repeat it without them.",
    "A benchmark can rank two configurations the other way: +37 % in short code, −47 % over many turns was seen.",
)


def soak(ask: Ask) -> Answer:
    """Judge each test by each rule set, and show where these disagree."""
    runs = [row for row in ask.rows("SELECT * FROM soak_runs ORDER BY run") if _wanted(ask, row)]
    verdicts = ask.rows("SELECT * FROM soak_verdicts ORDER BY run, rules, measure")
    turns = ask.rows("SELECT * FROM soak_turns ORDER BY run, place")
    cards = ask.rows("SELECT * FROM soak_cards ORDER BY run, gpu_index")
    strangers = ask.rows("SELECT count(*) AS held FROM holder_sample WHERE process_id IS NULL")[0]["held"]
    found = [
        _run(
            run,
            [row for row in verdicts if row["run"] == run["run"]],
            [row for row in turns if row["run"] == run["run"]],
            bool(strangers),
            [row for row in cards if row["run"] == run["run"]],
        )
        for run in runs
    ]
    benches = _benches(ask.rows("SELECT * FROM soak_benches"))
    document = {
        "schema": "forensics.soak/1",
        "runs": found,
        "benches": benches,
        "rules": ask.rows("SELECT * FROM soak_rules"),
        "notes": list(NOTES),
    }
    if not found:
        return Answer(document, "No turn log of a soak test, and no load with ten timed requests or more.", code=3)
    sections = [section for run in found for section in _sections(run, f", {run['run']}" if len(found) > 1 else "")]
    lines = [line for run in runs for line in (run["cited"] or "").split(" ") if line]
    lines += [line for run in found for one in run["by_card"] for line in one["evidence"]]
    lines += [line for one in benches for line in one["evidence"]]
    cited = tuple(dict.fromkeys(lines))
    notes = (*NOTES[:1], *(_ranked(one) for one in benches))
    return Answer(document, _verdict(found[0]), notes, tuple(sections), cited, next=_next(found))


def _wanted(ask: Ask, run: dict[str, Any]) -> bool:
    return run["basis"] == "turn log" or ask.wants(run["run"])


# -- the document -----------------------------------------------------------------------------------------------------


def _run(run: dict[str, Any], verdicts: Rows, turns: Rows, strangers: bool, cards: Rows) -> dict[str, Any]:
    sessions = _by_session(turns)
    return {
        "run": run["run"],
        "basis": run["basis"],
        "sessions": run["sessions"],
        "turns": run["turns"],
        "errors": run["errors"],
        "silent_empty": {"turns": run["silent_empty"], "ratio": run["silent_empty"] / run["turns"]},
        "slow_turns": run["slow_turns"],
        "baseline": None
        if run["baseline_session"] is None
        else {"session": run["baseline_session"], **amount("", run["baseline_bytes"])},
        "growth_state": "measured" if run["growth_bytes"] is not None else "unmeasurable",
        **amount("growth", run["growth_bytes"]),
        **amount("highest", run["highest_bytes"]),
        "watched_turns": run["watched"],
        "retention": run["retention"],
        "retention_overlapping": run["overlapping"],
        "first_rate": run["first_rate"],
        "last_rate": run["last_rate"],
        "first_token_times": run["first_token"],
        **amount("oscillation", run["oscillation_bytes"]),
        "verdicts": _by_rules(verdicts),
        "by_session": sessions,
        "by_card": [
            {
                "gpu_index": row["gpu_index"],
                **amount("baseline", row["baseline_bytes"]),
                **amount("highest", row["highest_bytes"]),
                **amount("growth", row["growth_bytes"]),
                "turns": row["turns"],
                "evidence": row["lines"].split(),
            }
            for row in cards
        ],
        "hidden": _hidden(run, cards),
        **amount("cards_differ", max((row["differs_bytes"] or 0 for row in cards), default=None)),
        "alternatives": _alternatives(run, sessions, strangers),
    }


def _benches(rows: Rows) -> list[dict[str, Any]]:
    """How the benchmarks of two tests rank them, and how the tests do."""
    return [
        {**{key: value for key, value in row.items() if key != "lines"}, "evidence": row["lines"].split()}
        for row in rows
    ]


def _hidden(run: dict[str, Any], cards: Rows) -> dict[str, Any] | None:
    """The card that grew most, where the sum over all cards grew clearly less than it."""
    grown = [row for row in cards if row["growth_bytes"] is not None]
    most = max(grown, key=lambda row: int(row["growth_bytes"]), default=None)
    if most is None or run["growth_bytes"] is None or most["growth_bytes"] - run["growth_bytes"] <= FLAT_BYTES:
        return None
    return {"gpu_index": most["gpu_index"], **amount("growth", most["growth_bytes"]), "evidence": most["lines"].split()}


def _by_session(turns: Rows) -> list[dict[str, Any]]:
    found = []
    for number in sorted({row["session"] for row in turns}):
        own = [row for row in turns if row["session"] == number]
        rates = [row["tokens_per_s"] for row in own if row["tokens_per_s"] is not None]
        used = [row["used_bytes"] for row in own if row["used_bytes"] is not None]
        found.append(
            {
                "session": number,
                "turns": len(own),
                "failed": sum(row["failed"] for row in own),
                "silent_empty": sum(row["silent_empty"] for row in own),
                "median_rate": median(rates) if rates else None,
                **amount("ended", used[-1] if used else None),
                **amount("highest", max(used, default=None)),
            }
        )
    return found


def _by_rules(verdicts: Rows) -> list[dict[str, Any]]:
    """One verdict a rule set: that of its worst rule."""
    found = []
    for rules, version in dict.fromkeys((row["rules"], row["version"]) for row in verdicts):
        own = [row for row in verdicts if row["rules"] == rules]
        worst = max((row["result"] for row in own), key=WORST.index)
        found.append(
            {
                "rules": rules,
                "version": version,
                "verdict": worst.upper(),
                "measures": [
                    {key: row[key] for key in ("measure", "unit", "value", "fail", "warn", "result")} for row in own
                ],
            }
        )
    return found


def _alternatives(run: dict[str, Any], sessions: Sequence[dict[str, Any]], strangers: bool) -> list[dict[str, str]]:
    """What growth can be beside a leak; each with what this test says of it."""
    if not run["growth_bytes"] or run["growth_bytes"] <= FLAT_BYTES:
        return []
    behind = [
        one["highest_bytes"]
        for one in sessions
        if one["session"] >= run["baseline_session"] and one["highest_bytes"] is not None and not one["failed"]
    ]
    half = behind[len(behind) // 2 :]
    flat = len(half) > 1 and max(half) - min(half) <= FLAT_BYTES
    rising = len(behind) > 2 and all(later > earlier for earlier, later in zip(behind[-3:], behind[-2:], strict=False))
    return [
        {
            "cause": "a leak: each session takes more",
            "state": "contradicted" if flat else "supported" if rising else "not established",
            "because": "the second half of the sessions is flat"
            if flat
            else "the last three sessions rise"
            if rising
            else "neither flat nor rising throughout",
        },
        {
            "cause": "the prefix cache fills in the first session, by 500 to 1500 MiB",
            "state": "not established",
            "because": "the baseline is the end of a clean session, which has filled most of it",
        },
        {
            "cause": "the class of the bus: 240 and 360 MiB have been seen on external cards that kept their rate",
            "state": "not established",
            "because": "the turn log does not say how the card is attached",
        },
        {
            "cause": "another process on the card",
            "state": "not established" if strangers else "not measured",
            "because": "other processes held cards in this evidence"
            if strangers
            else "the figures are of whole cards, and no sample names the holders",
        },
    ]


# -- the screen -------------------------------------------------------------------------------------------------------


def _verdict(run: dict[str, Any]) -> str:
    said = [f"{one['verdict']} by the {one['rules']}{_reason(one)}" for one in run["verdicts"]]
    if len({one["verdict"] for one in run["verdicts"]}) == 1:
        text = f"{run['verdicts'][0]['verdict']} by every rule set{_reason(run['verdicts'][0])}"
    else:
        text = "; ".join(said) + ": the rule sets disagree"
    return f"{run['turns']} turns in {count(run['sessions'], 'session')}: {text}."


def _ranked(one: dict[str, Any]) -> str:
    """How a benchmark and a load test rank the same two."""
    test, other = (_shown(one[key], beside) for key, beside in (("run", one["other"]), ("other", one["run"])))
    by_test = f"{100 * one['soak_change']:+.0f} % over the turns".replace("-", "−")
    text = f"{test} against {other}: {100 * one['bench_change']:+.0f} % in {one['prompts']} by the benchmark, {by_test}"
    if one["inverted"]:
        return f"{text}: the benchmark ranks them the other way. Choose by the work that is to be done."
    return f"{text}."


def _shown(path: str, beside: str) -> str:
    """The folder of a test, by what tells it from the other's."""
    parts, others = path.split("/")[:-1], beside.split("/")[:-1]
    return "/".join(part for part, other in zip_longest(parts, others) if part and part != other) or path


def _reason(verdict: dict[str, Any]) -> str:
    if verdict["verdict"] == "PASS":
        return ""
    worst = [row for row in verdict["measures"] if row["result"] == verdict["verdict"].lower()]
    return " (" + ", ".join(f"{NAMES[row['measure']]} {_value(row)}{_limit(row)}" for row in worst) + ")"


def _limit(row: dict[str, Any]) -> str:
    limit = row["fail"] if row["result"] == "fail" else row["warn"]
    if limit is None or row["result"] not in ("fail", "warn"):
        return ""
    return f", limit {_value({**row, 'value': limit})}"


def _value(row: dict[str, Any]) -> str:
    value = row["value"]
    if value is None:
        return "unmeasurable"
    if row["unit"] == "ratio":
        return f"{value:.1%}"
    if row["unit"] == "MiB":
        return f"{value:.0f} MiB"
    return f"{value:.1f}×" if row["unit"] == "times" else f"{value:.0f}"


def _sections(run: dict[str, Any], named: str) -> list[Section]:
    facts: list[tuple[str, str]] = []
    if run["baseline"] is None:
        facts.append(("growth", NO_BASELINE))
    else:
        held = f"{mib(run['growth_bytes'], 0)} MiB over {run['watched_turns']} turns"
        base = f"{mib(run['baseline']['bytes'], 0)} MiB at the end of session {run['baseline']['session']}"
        facts.append(("growth", f"{held}, from {base}"))
    if run["by_card"]:
        grown = ", ".join(f"{one['gpu_index']}: {_signed(one['growth_bytes'])}" for one in run["by_card"])
        facts.append(("by card", grown))
    if run["hidden"] is not None:
        told = f"card {run['hidden']['gpu_index']} grew {mib(run['hidden']['growth_bytes'], 0)} MiB"
        facts.append(("hidden", f"{told}; the rule sets judge the sum over the cards, in which it does not show"))
    if run["cards_differ_bytes"] and run["cards_differ_bytes"] > FLAT_BYTES:
        told = f"{mib(run['cards_differ_bytes'], 0)} MiB between the turn log and the log of its cards, in some turn"
        facts.append(("differ", told))
    if run["retention"] is None:
        facts.append(("rate kept", "not measured: no turn has a rate"))
    else:
        kept = f"{run['retention']:.1%}: median {run['last_rate']:.1f} by {run['first_rate']:.1f} tokens/s"
        overlap = "; first and last five sessions overlap, so it says little" if run["retention_overlapping"] else ""
        facts.append(("rate kept", kept + overlap))
    facts.append(("failed", str(run["errors"])))
    facts.append(("empty", f"{run['silent_empty']['turns']} of {run['turns']}"))
    used = [one["highest_bytes"] for one in run["by_session"]]
    known = [amount_ for amount_ in used if amount_ is not None]
    if known and max(known) > 0:
        low = min(known) * 0.98
        facts.append(
            ("by session", sparkline(None if one is None else (one - low) / (max(known) - low) for one in used))
        )
    facts.extend(("may be", f"{one['cause']} — {one['state']}: {one['because']}") for one in run["alternatives"])
    title = f"Soak test{named}" if run["basis"] == "turn log" else "Soak, from the server's own lines"
    rows = tuple(
        (one["rules"], one["version"], NAMES[row["measure"]], _value(row), _limits(row), row["result"])
        for one in run["verdicts"]
        for row in one["measures"]
        if row["result"] != "pass" or row["measure"] in ("growth", "retention", "silent_empty", "errors")
    )
    columns = ("rules", "version", "measure", "value>", "limit>", "result")
    return [Section(title, ("", ""), tuple(facts)), Section("By each rule set", columns, rows)]


def _signed(size: int | None) -> str:
    if size is None:
        return "not measured"
    return f"{'−' if size < 0 else '+'}{mib(abs(size), 0)} MiB"


def _limits(row: dict[str, Any]) -> str:
    limit = row["fail"] if row["fail"] is not None else row["warn"]
    sign = "≥" if row["measure"] == "retention" else "≤"
    return "" if limit is None else sign + _value({**row, "value": limit})


def _next(found: Sequence[dict[str, Any]]) -> str:
    if any(run["baseline"] is None for run in found):
        return (
            "Repeat it on a server that answers its first session, and keep the server's log: it says why turns failed."
        )
    if any(run["retention_overlapping"] for run in found):
        return "Run ten sessions or more: then the first five and the last five are not the same."
    return ""
