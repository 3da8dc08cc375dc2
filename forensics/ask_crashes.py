"""Answer why a load died: one failure per root, what followed from it, what the host says, and counter-examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .amounts import numbers
from .answer import Answer, Ask, Section
from .diff import facts
from .document import file_title
from .explain import amount, iso
from .units import MIB

__all__ = ["crashes"]

AROUND_US = 600_000_000
"""How far from a moment that is asked for a failure may be."""

LAST_LINES = 5
SHOWN = 3
"""Failures that the screen shows in full; the document has all."""

DRIVER = "cuda_error"

ASYNCHRONOUS = (
    "The driver reports errors late: the call that is named is where the error surfaced, not where it was made."
)

PAID = "what was measured with its first request paid for this failure."

SELF_TOLD = frozenset({"kv_too_small", "free_memory", "no_blocks", "configuration"})
"""Classes whose own line says why, with its numbers."""

COMPARED = frozenset({"version", "speculation", "cache", "layers", "argument", "setting"})

CAUSES = frozenset({"version", "speculation", "cache", "layers", "notice"})
"""Kinds of what loads have alike that somebody takes for a cause."""

ROLES = {
    "root": ("the root", "{} roots"),
    "follows": ("1 that follows", "{} that follow"),
    "end": ("its end", "{} of its end"),
    "answer": ("a client's answer, inferred", "{} clients' answers, inferred"),
}
"""What a line is of a failure, for one and for several."""

WHO = ("load_id", "number", "failure", "engine", "version", "model", "label", "unit", "outcome")

Row = Mapping[str, Any]


def crashes(ask: Ask) -> Answer:
    """Failures of the loads of a case, one for each root."""
    rows = [row for row in ask.rows(FAILURES) if ask.wants(row["load_id"]) and _asked(ask, row)]
    told = [_failure(ask, row) for row in rows]
    ended = [one for one in told if one["outcome"] != "survived"]
    grid = _grid(ask)
    orphans = ask.rows(ORPHANS)
    counter = _counter_examples(grid)
    separating, shared = _separating(ask, ended, counter)
    findings = [finding for one in ended for finding in one["findings"]]
    findings += _grid_findings(grid, counter, separating, shared)
    unowned = [
        {
            "evidence": row["line_id"],
            "candidates": (row["candidates"] or "").split(),
            "reason": row["rule"],
            "message": row["message"],
            "error_class": row["error_class"],
            "oom": _oom(ask, {**row, "load_id": None}),
            "count": row["times"],
        }
        for row in orphans
    ]
    document = {
        "schema": "forensics.crashes/1",
        "failures": told,
        "grid": grid,
        "counter_examples": counter,
        "separating": separating,
        "rejected": shared,
        "findings": findings,
        "ambiguous": unowned,
    }
    cited = [line for one in told for line in _cited(one)] + [row["line_id"] for row in orphans]
    # what failed in the same way is told once in full, by the first
    shown = list({(one["model"], one["error_class"]): one for one in reversed(ended)}.values())[:SHOWN][::-1]
    return Answer(
        document,
        _verdict(told, ended, unowned),
        about=tuple(_about(ended, findings)),
        sections=tuple(_sections(told, shown, grid, unowned)),
        cited=tuple(dict.fromkeys(cited)),
        next=_next(shown),
        code=0 if told or (not orphans and ask.rows("SELECT 1 FROM load LIMIT 1")) else 3,
    )


FAILURES = """
    SELECT failures.*, load.model, load.label, load.engine, load.end_reason, loads.unit, loads.version
    FROM failures JOIN load USING (load_id) JOIN loads USING (load_id)
    ORDER BY failures.number, failures.failure
"""

ORPHANS = """
    SELECT failing.* EXCLUDE (line_id), line.rule, line.candidates, count(*) AS times,
        arg_min(line.line_id, line.ordinal) AS line_id
    FROM (
        SELECT line_id, message FROM failure_reported
        WHERE believed AND load_id IS NULL AND failure NOT IN ('warning', 'preemption', 'request_failed')
        UNION ALL BY NAME
        SELECT line_id, message, 'out_of_memory' AS error_class, device, size_bytes AS tried_bytes, free_bytes,
            total_bytes, process_bytes, allocated_bytes,
            coalesce(reserved_bytes, reserved_total_bytes - allocated_bytes) AS reserved_bytes,
            total_bytes - free_bytes - coalesce(process_bytes, reserved_total_bytes) AS others_bytes
        FROM allocation_failed WHERE believed AND load_id IS NULL
        UNION ALL BY NAME
        SELECT line_id, message, reason AS error_class FROM start_refused WHERE believed AND load_id IS NULL
    ) AS failing
    JOIN line USING (line_id)
    GROUP BY ALL
    ORDER BY min(line.ordinal)
"""
"""Failure lines that no load owns; the same words are one row."""


def _asked(ask: Ask, row: Row) -> bool:
    """Whether a failure is of the unit and span asked for; one without a time always is."""
    if ask.unit is not None and row["unit"] != ask.unit:
        return False
    at = row["at_us"]
    if at is None:
        return True
    if ask.around_us is not None and abs(at - ask.around_us) > AROUND_US:
        return False
    return (ask.since_us is None or at >= ask.since_us) and (ask.until_us is None or at <= ask.until_us)


# -- one failure ------------------------------------------------------------------------------------------------------


def _failure(ask: Ask, row: Row) -> dict[str, Any]:
    key = [row["load_id"], row["failure"]]
    followed = ask.rows(
        """
        SELECT rank, error_class, message, count(*) AS times, min(line_id) AS line_id FROM failure_lines
        WHERE load_id = ? AND ordinal BETWEEN ? AND ? AND line_id IS DISTINCT FROM ?
        GROUP BY rank, error_class, message ORDER BY min(ordinal)
        """,
        [row["load_id"], row["first_ordinal"], row["last_ordinal"], row["root_line"]],
    )
    requests = ask.rows("SELECT * FROM crash_requests WHERE load_id = ? AND failure = ?", key)
    host = ask.rows("SELECT * FROM crash_host WHERE load_id = ? AND failure = ? ORDER BY ordinal", key)
    candidates = ask.rows("SELECT * FROM failure_candidates WHERE load_id = ? AND failure = ?", key)
    after = ask.rows("SELECT * FROM crash_next WHERE load_id = ?", [row["load_id"]])
    records = ask.rows(
        """
        SELECT role, program, count(*) AS times, string_agg(line_id, ' ' ORDER BY ordinal) AS lines
        FROM failure_records WHERE load_id = ? AND failure = ? GROUP BY role, program ORDER BY min(ordinal), role
        """,
        key,
    )
    last = ask.rows(
        "SELECT line_id, text FROM line WHERE load_id = ? AND ordinal <= ? ORDER BY ordinal DESC LIMIT ?",
        [row["load_id"], row["last_ordinal"] if row["last_ordinal"] is not None else 1 << 62, LAST_LINES],
    )
    found: dict[str, Any] = {
        **{key: row[key] for key in WHO},
        "end_reason": row["end_reason"],
        "at": iso(row["at_us"]),
        "error_class": row["error_class"],
        "message": row["message"],
        "root": row["root_line"],
        "roots": row["roots"],
        "followed": [
            {
                "rank": one["rank"] if one["rank"] != "root" else "also",
                "message": one["message"],
                "count": one["times"],
                "evidence": [one["line_id"]],
            }
            for one in followed
        ],
        "records": [
            {
                **{key: one[key] for key in ("role", "program")},
                "count": one["times"],
                "evidence": one["lines"].split(),
            }
            for one in records
        ],
        "requests": [
            {
                **{key: one[key] for key in ("slot", "task", "prompt_tokens", "cached_tokens", "elapsed_s")},
                "evidence": [one["launched_line"]],
            }
            for one in requests
        ],
        "oom": _oom(ask, row),
        "host": [
            {
                **{key: one[key] for key in ("what", "how", "code", "status", "number", "process", "device")},
                "at": iso(one["at_us"]),
                "evidence": [one["line_id"]],
            }
            for one in host
        ],
        "candidates": [
            {
                **{key: one[key] for key in ("class", "about", "separates", "source")},
                "evidence": (one["lines"] or "").split(),
            }
            for one in candidates
        ],
        "next_load": None,
        "last_lines": [one["line_id"] for one in reversed(last)],
        "last_texts": [one["text"] for one in reversed(last)],
        "evidence": (row["lines"] or "").split(),
    }
    if after and found["outcome"] == "ended":
        one = after[0]
        found["next_load"] = {
            "load_id": one["next_load_id"],
            "number": one["next_number"],
            "same_model": one["same_model"],
            "gap_s": one["gap_s"],
            "loading_s": one["loading_s"],
            "evidence": [one["line_id"]],
        }
    found["findings"] = _findings(found) if found["outcome"] != "survived" else []
    return found


def _oom(ask: Ask, row: Row) -> dict[str, Any] | None:
    """The arithmetic of a refused allocation: what was tried, what was there, and who had the rest."""
    if row["tried_bytes"] is None or row["error_class"] in SELF_TOLD:
        return None
    process = row["process_bytes"]
    allocated, reserved = row["allocated_bytes"], row["reserved_bytes"]
    outside = process - allocated - reserved if None not in (process, allocated, reserved) else None
    start = ask.rows(
        """
        SELECT free_bytes FROM start_memory
        WHERE load_id = ? AND origin = 'log' AND regexp_extract(card, '\\d+$') = regexp_extract(?, '\\d+$')
        """,
        [row["load_id"], row["device"] or "none"],
    )
    return {
        "device": row["device"],
        **amount("tried", row["tried_bytes"]),
        **amount("free", row["free_bytes"]),
        **amount("free_at_start", start[0]["free_bytes"] if len(start) == 1 else None),
        **amount("total", row["total_bytes"]),
        **amount("process", process),
        **amount("allocated", allocated),
        **amount("reserved", reserved),
        **amount("others", row["others_bytes"]),
        **amount("outside_allocator", outside),
    }


def _findings(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What ended the load, how well it is known, and what only follows."""
    name = _name(one)
    host = [entry for entry in one["host"] if entry["how"] != "time"]
    lines = [*one["evidence"], *(line for entry in host for line in entry["evidence"])]
    found: list[dict[str, Any]] = []
    signal = next((entry for entry in host if entry["code"] == "killed"), None)
    told = [entry for entry in host if _host_memory(entry)]
    if one["error_class"] == "killed" and told and "KILL" in (signal["status"] if signal else "KILL"):
        says = "the kernel" if any(entry["process"] for entry in told) else "the service manager"
        found.append(
            _finding(
                f"The host ran out of memory: {says} says that the OOM killer killed {name}. No line of its own tells "
                "of a failure.",
                "supported",
                [*one["evidence"], *(line for entry in told for line in entry["evidence"])],
            )
        )
    elif one["error_class"] == "killed":
        who = f"the service manager says {signal['status']}" if signal else "its end says so"
        found.append(
            _finding(
                f"{name} was killed from outside: {who}, and no line of its own tells of a failure. "
                "Who sent the signal is not in this evidence.",
                "supported",
                lines,
            )
        )
    elif one["error_class"] == "exited":
        found.append(
            _finding(
                f"{name} ended by itself: its supervisor says “{one['message']}”, and no line of its own tells why.",
                "supported",
                lines,
            )
        )
    elif one["error_class"] == "no_word":
        found.append(
            _finding(
                f"{name} died and no line can be the cause: {_count(one['followed'], 'line')} only tell that it was "
                "gone. A kill from outside and a death without a word look the same here.",
                "not established",
                lines,
            )
        )
    elif one["error_class"] in SELF_TOLD:
        found.append(_finding(f"{name} says itself why it did not start: {one['message']}", "supported", lines))
    else:
        found.append(_failed(one, name, lines))
        if _asynchronous(one):
            found.append(_finding(ASYNCHRONOUS, "supported", one["evidence"][:1]))
    if (after := one["next_load"]) is not None and after["loading_s"] is not None and after["gap_s"] is not None:
        found.append(
            _finding(
                f"Load {after['number']} followed {after['gap_s']:.1f} s later and took {after['loading_s']:.1f} s to "
                f"load: {PAID}",
                "supported",
                after["evidence"],
            )
        )
    return found


def _failed(one: Mapping[str, Any], name: str, lines: Sequence[str]) -> dict[str, Any]:
    """What a failure of its own is known to be: an amount that could not fit is; anything else has candidates."""
    if any(entry["class"] == "buffer_limit" for entry in one["candidates"]):
        amount = f"{_mib(one['oom']['tried_bytes'])} MiB" if one["oom"] is not None else "more"
        return _finding(
            f"{name} asked for {amount} in one buffer, and the driver allows none so large, however much is free.",
            "supported",
            lines,
        )
    if (oom := one["oom"]) is not None:
        free, when = oom["free_bytes"], ""
        if free is None:
            free, when = oom["free_at_start_bytes"], " when it began"
        if free is not None and oom["tried_bytes"] > free:
            return _finding(
                f"{name} asked for {_mib(oom['tried_bytes'])} MiB where {_mib(free)} MiB were free{when}."
                + ("" if when else " Why so little was free is another question."),
                "supported",
                lines,
            )
        words = f"{name} was refused {_mib(oom['tried_bytes'])} MiB"
        if free is not None:
            words += f" though {_mib(free)} MiB were free{when}: fragments, or taken since"
    else:
        words = f"{name} failed with “{one['message'] or one['error_class']}”"
    words += "; its cause is not established."
    if one["candidates"]:
        words += " Candidates: "
        words += "; ".join(f"{entry['about']} ({entry['source']})" for entry in one["candidates"]) + "."
    return _finding(words, "not established", lines)


def _host_memory(entry: Mapping[str, Any]) -> bool:
    """Whether a line of the host says that its OOM killer ended the load."""
    return entry["what"] in {"oom_killed", "oom_chosen"} or entry["status"] == "oom-kill"


def _mib(size: int) -> str:
    return f"{size / MIB:.2f}"


def _asynchronous(one: Mapping[str, Any]) -> bool:
    message = (one["message"] or "").lower()
    return " error: " in f" {message}" and one["oom"] is None and "out of memory" not in message


def _finding(claim: str, state: str, lines: Sequence[str]) -> dict[str, Any]:
    return {"claim": claim, "state": state, "for": list(dict.fromkeys(lines)), "against": []}


def _cited(one: Mapping[str, Any]) -> list[str]:
    lines = [*([one["root"]] if one["root"] else []), *one["evidence"]]
    told = (*one["records"], *one["requests"], *one["host"], *([one["next_load"]] if one["next_load"] else []))
    for entry in told:
        lines += entry["evidence"]
    return [*lines, *one["last_lines"]]


# -- the grid ---------------------------------------------------------------------------------------------------------


def _grid(ask: Ask) -> list[dict[str, Any]]:
    rows = ask.rows("SELECT * FROM crash_grid ORDER BY model, tokens_from")
    return [{**row, "classes": row["classes"].split(", ") if row["classes"] else []} for row in rows]


def _counter_examples(grid: Sequence[Row]) -> list[dict[str, Any]]:
    """Cells that were served and never crashed, beside those that crashed: same size, or same model."""
    failed = [cell for cell in grid if cell["crashed"]]
    sizes, models = {cell["tokens_from"] for cell in failed}, {cell["model"] for cell in failed}
    return [
        {
            "model": cell["model"],
            "tokens_from": cell["tokens_from"],
            "tokens_below": cell["tokens_below"],
            "served": cell["served"],
            "same": "size" if cell["model"] not in models else "model",
        }
        for cell in grid
        if not cell["crashed"] and cell["served"] and (cell["model"] in models or cell["tokens_from"] in sizes)
    ]


def _separating(
    ask: Ask, ended: Sequence[Row], counter: Sequence[Row]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What all loads that failed on a request have alike: what no counter-example of that size has, what one has."""
    failed = [one["load_id"] for one in ended if one["requests"]]
    models = {one["model"] for one in counter if one["same"] == "size"}
    served = [
        row["load_id"]
        for row in ask.rows("SELECT load_id, coalesce(model, label, 'unknown model') AS model FROM load")
        if row["model"] in models and row["load_id"] not in failed
    ]
    if not failed or not served:
        return [], []
    known = facts(ask.connection, [*failed, *served])
    mine, theirs = [known[load_id] for load_id in failed], [known[load_id] for load_id in served]
    found: list[dict[str, Any]] = []
    shared: list[dict[str, Any]] = []
    for key, row in mine[0].items():
        if any(key not in one or one[key]["value"] != row["value"] for one in mine):
            continue
        others = {one[key]["value"] for one in theirs if key in one}
        told = {"what": key[0], "name": key[2], "failed": row["value"], "served": sorted(others)}
        if key[0] in COMPARED and others and row["value"] not in others:
            found.append(told)
        if key[0] in CAUSES and row["value"] in others:
            lines = [
                one[key]["line_id"] for one in (*mine[:1], *theirs) if key in one and one[key]["value"] == row["value"]
            ]
            shared.append({**told, "evidence": [line for line in lines if line][:4]})
    return found, shared


def _grid_findings(
    grid: Sequence[Row], counter: Sequence[Row], separating: Sequence[Row], shared: Sequence[Row]
) -> list[dict[str, Any]]:
    failed = [cell for cell in grid if cell["crashed"]]
    found: list[dict[str, Any]] = []
    classes = sorted({one for cell in failed for one in cell["classes"]})
    if len(classes) > 1:
        found.append(
            _finding(
                f"{len(classes)} classes of error, not one: {', '.join(f'“{one}”' for one in classes)}.",
                "supported",
                [],
            )
        )
    if failed and counter:
        sizes = [one for one in counter if one["same"] == "size"]
        models = [one for one in counter if one["same"] == "model"]
        parts = []
        if sizes:
            names = ", ".join(f"{file_title(one['model'])} {one['served']} served" for one in sizes)
            parts.append(f"the same size on another model ({names})")
        if models:
            names = ", ".join(
                f"{file_title(one['model'])} at {one['tokens_from']:,}–{one['tokens_below'] - 1:,}: {one['served']}"
                for one in models
            )
            parts.append(f"other sizes on the same model ({names})")
        words = "Counter-examples: " + " and ".join(parts) + ". A cause that holds there too is none."
        if separating:
            words += " Only the failed loads have " + ", ".join(
                f"{one['name']} {one['failed']}" for one in separating[:3]
            )
            words += "."
        found.append(_finding(words, "supported", []))
    if shared:
        names = ", ".join(f"{one['name']} {one['failed']}" for one in shared[:4])
        words = f"No causes by themselves, since loads that served the same size have them too: {names}."
        found.append(
            {**_finding(words, "contradicted", []), "against": [line for one in shared for line in one["evidence"]]}
        )
    return found


# -- the screen -------------------------------------------------------------------------------------------------------


def _title(one: Mapping[str, Any]) -> str:
    return file_title(one["label"] or one["model"] or "unknown model")


def _name(one: Mapping[str, Any]) -> str:
    return f"{_title(one)} (load {one['number']})"


def _about(ended: Sequence[Row], findings: Sequence[Row]) -> list[str]:
    """Claims for the screen: what is claimed of several loads is told once, with all of them."""
    names = {_name(one): one for one in ended}
    grouped: dict[tuple[str, str, str], list[int]] = {}
    for one in findings:
        own = names.get(next((name for name in names if one["claim"].startswith(f"{name} ")), ""))
        title, claim = (_title(own), one["claim"].removeprefix(_name(own))) if own else ("", one["claim"])
        grouped.setdefault((one["state"], title, claim), []).append(own["number"] if own else 0)
    told = [
        f"{state}: {title} (load{'s' * (len(set(of)) > 1)} {numbers(of)}){claim}" if title else f"{state}: {claim}"
        for (state, title, claim), of in grouped.items()
    ]
    paid = [one["next_load"] for one in ended if any(claim["claim"].endswith(PAID) for claim in one["findings"])]
    if len(paid) < 3:
        return told
    spent = (
        f"supported: {len(paid)} loads that followed ({numbers(one['number'] for one in paid)}) took "
        f"{sum(one['loading_s'] for one in paid):.1f} s to load: what was measured with the first request of each paid "
        "for these failures."
    )
    return [*(one for one in told if not one.endswith(PAID)), spent]


def _count(entries: Sequence[Mapping[str, Any]], word: str) -> str:
    total = sum(entry["count"] for entry in entries)
    return f"{total} {word}{'' if total == 1 else 's'}"


def _verdict(told: Sequence[Row], ended: Sequence[Row], orphans: Sequence[Row]) -> str:
    if not told and orphans:
        lines = sum(one["count"] for one in orphans)
        says = "line tells" if lines == 1 else "lines tell"
        return f"Cannot tell whose: {lines} {says} of a failure and belong{'s' if lines == 1 else ''} to no load."
    if not told:
        return "No load failed in this evidence."
    if len(told) == 1:
        return _alone(told[0])
    killed = [one for one in ended if one["error_class"] == "killed"]
    silent = [one for one in ended if one["error_class"] == "no_word"]
    parts: list[str] = []
    for group, word in ((killed, "killed from outside"), (silent, "gone without a word")):
        if group:
            parts.append(f"{len(group)} {word} ({', '.join(_name(one) for one in group[:2])})")
    others = [one for one in ended if one not in killed and one not in silent]
    classes: dict[str, list[Row]] = {}
    for one in others:
        classes.setdefault(one["error_class"], []).append(one)
    for error, group in classes.items():
        whose = {_title(one): [each["number"] for each in group if _title(each) == _title(one)] for one in group}
        names = "; ".join(f"{title}, load{'s' * (len(of) > 1)} {numbers(of)}" for title, of in list(whose.items())[:3])
        names += "; …" * (len(whose) > 3)
        if len(group) == len(told):
            return f"{len(told)} failures, all of them “{error.replace('_', ' ')}” ({names})."
        parts.append(f"{len(group)} of “{error.replace('_', ' ')}” ({names})")
    survived = len(told) - len(ended)
    if survived:
        parts.append(f"{survived} survived")
    total = len(told)
    return f"{total} failure{'s' if total > 1 else ''}: {'; '.join(parts)}."


def _alone(one: Row) -> str:
    """The only failure, in a sentence."""
    name = _name(one)
    if one["error_class"] == "killed" and any(entry["how"] != "time" and _host_memory(entry) for entry in one["host"]):
        return f"{name} was killed by the host's OOM killer; it did not fail by itself."
    if one["error_class"] == "killed":
        return f"{name} was killed from outside; it did not fail by itself."
    if one["error_class"] == "exited":
        return f"{name} ended with “{one['message']}”, as its supervisor says; no line of its own tells why."
    if one["error_class"] == "no_word":
        return f"{name} was gone without a word; {_count(one['followed'], 'line')} only followed."
    what = "did not start" if one["error_class"] in SELF_TOLD else "failed"
    then = "it survived" if one["outcome"] == "survived" else _count(one["followed"], "line") + " only followed"
    return f"{name} {what}: {one['error_class'].replace('_', ' ')}; {then}."


def _sections(told: Sequence[Row], shown: Sequence[Row], grid: Sequence[Row], orphans: Sequence[Row]) -> list[Section]:
    sections: list[Section] = []
    if told:
        sections.append(
            Section(
                "Failures",
                ("load>", "when", "model", "what", "follows>", "then"),
                tuple(
                    (
                        str(one["number"]),
                        (one["at"] or "")[5:19].replace("T", " "),
                        file_title(one["label"] or one["model"] or "unknown model"),
                        one["error_class"].replace("_", " "),
                        str(sum(entry["count"] for entry in one["followed"])),
                        "ended" if one["outcome"] == "ended" else one["outcome"].replace("_", " "),
                    )
                    for one in told
                ),
            )
        )
    for one in shown:
        if rows := _details(one):
            sections.append(Section(_name(one), ("", ""), tuple(rows)))
        if one["last_texts"]:
            sections.append(
                Section(
                    f"Last lines of load {one['number']} that a pattern reads",
                    ("",),
                    tuple((text if len(text) <= 79 else text[:78] + "…",) for text in one["last_texts"]),
                )
            )
    if any(cell["crashed"] for cell in grid):
        sections.append(
            Section(
                "Requests by model and prompt",
                ("model", "tokens>", "served>", "crashed>", "errors"),
                tuple(
                    (
                        file_title(cell["model"]),
                        f"{cell['tokens_from']:,}–{cell['tokens_below'] - 1:,}",
                        str(cell["served"]),
                        str(cell["crashed"]),
                        ", ".join(cell["classes"]),
                    )
                    for cell in grid
                ),
            )
        )
    if orphans:
        sections.append(
            Section(
                "Of no load",
                ("says", "times>", "why"),
                tuple(
                    (
                        _arithmetic(oom) if (oom := one["oom"]) else (one["message"] or "")[:160],
                        str(one["count"]),
                        one["reason"],
                    )
                    for one in orphans[:8]
                ),
                "Shown, never used: no line says which load they belong to.",
            )
        )
    return sections


def _details(one: Row) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if one["message"]:
        rows.append(("root" if one["root"] else "its end", one["message"]))
    if one["version"]:
        # what fails in one build need not fail in another
        rows.append(("build", f"{one['engine']} {one['version']}"))
    for entry in one["requests"]:
        words = f"task {entry['task']}"
        if entry["prompt_tokens"] is not None:
            words += f", prompt of {entry['prompt_tokens']:,} tokens"
        if entry["cached_tokens"] is not None:
            words += f", {entry['cached_tokens']:,} done"
        if entry["elapsed_s"] is not None:
            words += f", for {entry['elapsed_s']:.1f} s"
        rows.append(("in flight", words))
    if (oom := one["oom"]) is not None:
        rows.append(("memory", _arithmetic(oom)))
    for entry in one["host"]:
        words = " ".join(
            str(part)
            for part in (
                entry["what"].replace("_", " "),
                entry["number"],
                entry["code"] if entry["code"] not in {None, entry["what"]} else None,
                entry["status"],
                entry["process"],
                entry["device"],
            )
            if part is not None
        )
        how = "in that minute; no link" if entry["how"] == "time" else f"by {entry['how']}"
        rows.append(("host", f"{words} ({how})"))
    for entry in one["followed"]:
        message = entry["message"] or ""
        if message == one["message"]:
            continue  # the root in other lines: they are counted below
        times = f" ×{entry['count']}" if entry["count"] > 1 else ""
        rows.append((entry["rank"], (message if len(message) <= 160 else message[:159] + "…") + times))
    # What only follows stands above; a root, an end or an answer is told with all that belongs to it.
    if {entry["role"] for entry in one["records"]} - {"follows"}:
        rows.append(("told in", _records(one["records"])))
    for entry in one["candidates"]:
        rows.append(("candidate", f"{entry['about']} ({entry['source']})"))
        rows.append(("told by", entry["separates"]))
    if (after := one["next_load"]) is not None and after["gap_s"] is not None:
        took = "" if after["loading_s"] is None else f", {after['loading_s']:.1f} s to load"
        rows.append(("then", f"load {after['number']}, {after['gap_s']:.1f} s later{took}"))
    return rows


def _records(records: Sequence[Row]) -> str:
    """All lines that tell of one failure: what they are of it, and whose they are."""
    whose: dict[str, list[str]] = {}
    for one in records:
        words = ROLES[one["role"]][one["count"] > 1].format(one["count"])
        whose.setdefault(one["program"] or "unknown program", []).append(words)
    total = sum(one["count"] for one in records)
    parts = "; ".join(f"{program}: {', '.join(words)}" for program, words in whose.items())
    return f"{total} line{'s' if total > 1 else ''}. {parts}"


def _arithmetic(oom: Mapping[str, Any]) -> str:
    pieces = [f"{oom['tried_bytes'] / MIB:.2f} MiB tried"]
    if oom["free_bytes"] is not None:
        of = f" of {oom['total_bytes'] / MIB:.0f}" if oom["total_bytes"] is not None else ""
        pieces.append(f"{oom['free_bytes'] / MIB:.2f} free{of}")
    for key, word in (
        ("free_at_start", "free when it began"),
        ("process", "in the process"),
        ("allocated", "allocated"),
        ("reserved", "reserved and not allocated"),
        ("outside_allocator", "outside the allocator"),
        ("others", "of others"),
    ):
        if oom[f"{key}_bytes"] is not None:
            pieces.append(f"{oom[f'{key}_bytes'] / MIB:.2f} {word}")
    return ", ".join(pieces) + (f", on device {oom['device']}" if oom["device"] else "")


def _next(shown: Sequence[Row]) -> str:
    for one in reversed(shown):
        linked = [entry for entry in one["host"] if entry["how"] != "time" and _host_memory(entry)]
        if one["error_class"] in {"killed", "no_word"} and not any(entry["process"] for entry in linked):
            tells = "which process it chose, and what that held" if linked else "an OOM kill from another"
            return f"Add the kernel's journal of that minute (journalctl -k): only it tells {tells}."
        if linked:
            return (
                "Let the load need less of the host's memory, or give the host more: the kernel chose it for its size."
            )
        limited = any(entry["class"] == "buffer_limit" for entry in one["candidates"])
        if not limited and one["oom"] is not None and any(each["state"] == "supported" for each in one["findings"]):
            return (
                "Ask for less than was there (a shorter context, fewer slots, a smaller cache type), or free the card."
            )
        if one["candidates"]:
            candidate = one["candidates"][0]
            if limited:
                return f"What would help: {candidate['separates']}."
            sort = "To tell the candidates apart" if len(one["candidates"]) > 1 else "To establish it"
            return f"{sort}: {candidate['separates']}."
    return ""
