"""Answer why models were loaded again and again: who took whose place, at what cost, and what would stop it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .amounts import clock, count, gib
from .answer import Answer, Ask, Section
from .explain import Rows, amount, iso

__all__ = ["swaps"]

KINDS = {
    "ping_pong": "Ping-pong",
    "sequence": "A sequence",
    "reload": "A reload loop",
    "crash_loop": "A crash loop",
}
APART = {
    "woke": "woke from sleep",
    "crashed": "began again after a crash",
    "options": "began again with other options",
    "expired": "began again after its keep-alive was over",
    "restarted": "was stopped and started again",
    "again": "began again, the log does not say why",
    "beside": "was loaded beside the others",
    "free": "was loaded after the one before had gone by itself",
    "evicted": "took another model's place",
    "gone": "took another model's place",
    "presumed": "took another model's place, as it seems",
}
PRESUMED = (
    "That one load ended when the next began is not in the log; it is taken from the order, and from the loads that "
    "came back."
)


def swaps(ask: Ask) -> Answer:
    """Tell the episodes in which loads took each other's place, and the loads that are in none."""
    episodes = [
        row for row in ask.rows("SELECT * FROM swap_episodes ORDER BY episode") if _inside(ask, row) and _unit(ask, row)
    ]
    loads = ask.rows("SELECT * FROM swap_loads ORDER BY episode, number")
    reasons = ask.rows("SELECT * FROM swap_reasons")
    askers = ask.rows("SELECT * FROM swap_askers")
    forecasts = {row["line_id"]: row for row in ask.rows("SELECT * FROM swap_forecasts")}
    idle = {row["episode"]: row for row in ask.rows("SELECT * FROM swap_idle")}
    found = [
        _episode(
            ask,
            row,
            [one for one in loads if one["episode"] == row["episode"]],
            [one for one in reasons if one["episode"] == row["episode"]],
            [one for one in askers if one["episode"] == row["episode"]],
            idle.get(row["episode"]),
            forecasts,
        )
        for row in episodes
    ]
    found = [one for one in found if any(ask.wants(load) for load in one["loads"])]
    apart = _apart(ask)
    document = {"schema": "forensics.swaps/1", "episodes": found, "apart": apart}
    total = sum(ask.wants(row["load_id"]) for row in ask.rows("SELECT load_id FROM load_starts"))
    if not total:
        return Answer(document, "No model load begins or shows in this evidence.", code=3)
    about = [_set_aside(apart)] if apart else []
    if not found:
        verdict = f"No model took another's place again and again: {count(total, 'load')}, none of them in turns."
        return Answer(document, verdict, about=tuple(about))
    about = [*(_verdict(one) for one in found[1:]), *_beyond(ask, episodes), *about]
    sections = [section for one in found for section in _sections(one)]
    cited = tuple(dict.fromkeys(line for one in found for line in one["evidence"]))
    return Answer(
        document, _verdict(found[0]), tuple(about), tuple(sections), cited, next=next((_next(one) for one in found), "")
    )


def _inside(ask: Ask, row: dict[str, Any]) -> bool:
    return ask.window is None or ask.window.touches(row["begun_us"], row["until_us"])


def _beyond(ask: Ask, episodes: Rows) -> list[str]:
    """What to say of episodes that are longer than the span that was asked for."""
    window = ask.window
    return [
        f"Told whole, from {clock(begun)} to {clock(until, begun)}: it reaches beyond the time that was asked for."
        for row in episodes
        if window is not None and not (window.holds(row["begun_us"]) and window.holds(row["until_us"]))
        for begun, until in [(iso(row["begun_us"]) or "", iso(row["until_us"]) or "")]
    ]


def _unit(ask: Ask, row: dict[str, Any]) -> bool:
    return ask.unit is None or str(row["domain"]).split(" ")[-1] == ask.unit


# -- the document -----------------------------------------------------------------------------------------------------


def _episode(
    ask: Ask,
    row: dict[str, Any],
    loads: Rows,
    reasons: Rows,
    askers: Rows,
    idle: dict[str, Any] | None,
    forecasts: Mapping[str, dict[str, Any]],
) -> dict[str, Any]:
    given = ask.extra.get("load_s")
    short: list[dict[str, Any]] = []
    for load in loads:
        known = load["known_s"] if load["known_s"] is not None else given
        if load["loading_s"] is None and None not in (known, load["stay_s"]) and load["stay_s"] < known:
            short.append(
                {
                    "load_id": load["load_id"],
                    "interval_s": load["stay_s"],
                    "known_load_s": known,
                    "known_from": "evidence" if load["known_s"] is not None else "given",
                    "note": "could not have completed, unless page-cache warm",
                }
            )
    triggers = _triggers(reasons, forecasts)
    who = _who(askers)
    return {
        "kind": row["kind"],
        "identities": row["identities"],
        "swaps": row["swaps"],
        "alternates": row["alternates"],
        "begun_at": iso(row["begun_us"]),
        "until_at": iso(row["until_us"]),
        "span_s": row["span_s"],
        "interval_s": {
            "mean": row["mean_s"],
            "median": row["median_s"],
            "min": row["min_s"],
            "max": row["max_s"],
            "deviation": row["deviation_s"],
            "cv": row["cv"],
        },
        "cycle_s": {
            **{name: row[f"cycle_{name}_s"] for name in ("mean", "median", "min", "max")},
            "cv": row["cycle_cv"],
            "cycles": row["cycles"],
        },
        "loads": [load["load_id"] for load in loads],
        "loading_s": row["loading_s"],
        "loading_share": row["loading_s"] / row["span_s"] if row["loading_s"] and row["span_s"] else None,
        "loads_timed": row["loads_timed"],
        **amount("loaded", row["loaded_bytes"]),
        "loads_weighed": row["loads_weighed"],
        "triggers": triggers,
        "asked_by": who,
        "short_intervals": short,
        "given_up": [load["load_id"] for load in loads if load["given_up"]],
        "requests": None if idle is None else {key: idle[key] for key in ("requests", "non_local", "pause_s")},
        "fits": _fits(idle, loads, given, ask.extra.get("measure_s")),
        "presumed": any(load["why"] == "presumed" for load in loads),
        "remedy": _remedy(row, loads, triggers),
        "details": [_detail(load) for load in loads],
        "evidence": [load["begun_line"] for load in loads] + [one["line_id"] for one in reasons],
    }


def _fits(
    idle: dict[str, Any] | None, loads: Rows, given: float | None, measure_s: float | None
) -> dict[str, Any] | None:
    """Whether the longest time without a request holds a swap and a measurement: yes, no, or what it would need."""
    if idle is None:
        return None
    known = [load["loading_s"] for load in loads if load["loading_s"] is not None]
    swap_s = max(known, default=given)
    left_s = None if swap_s is None else idle["pause_s"] - swap_s
    answer = {
        "pause_s": idle["pause_s"],
        "swap_s": swap_s,
        "swap_from": None if swap_s is None else "evidence" if known else "given",
        "left_s": left_s,
        "measurement_s": measure_s,
    }
    if left_s is None:
        because = "no line says how long a load takes; --load-time says it"
        return {**answer, "fits": None, "state": "not measured", "because": because}
    if left_s <= 0:
        because = f"the longest pause, {idle['pause_s']:.1f} s, is shorter than one swap of {swap_s:.1f} s"
        return {**answer, "fits": False, "state": "contradicted", "because": because}
    if measure_s is None:
        because = f"a measurement of up to {left_s:.1f} s would fit; --measurement says how long yours takes"
        return {**answer, "fits": None, "state": "not established", "because": because}
    because = f"the longest pause, {idle['pause_s']:.1f} s, against a swap of {swap_s:.1f} s"
    because += f" and a measurement of {measure_s:.1f} s"
    fits = measure_s <= left_s
    return {**answer, "fits": fits, "state": "supported" if fits else "contradicted", "because": because}


def _detail(load: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: load[key] for key in ("load_id", "number", "identity", "options", "swaps", "why")},
        "begun_at": iso(load["begun_us"]),
        "loading_s": load["loading_s"],
        "stay_s": load["stay_s"],
        **amount("weights", load["weights_bytes"]),
        **amount("held", load["held_bytes"]),
        "held_by": load["held_by"],
        "requests": load["requests"],
        "requests_scope": {"line": "exact", "time": "inferred"}.get(load["requests_by"] or ""),
    }


def _triggers(reasons: Rows, forecasts: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What the supervisor said, once for each cause and reason, with the numbers of every line."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in reasons:
        grouped.setdefault((one["cause"], one["reason"]), []).append(one)
    return [
        {
            "cause": cause,
            "reason": reason,
            "count": len(lines),
            "inputs": [
                {
                    "load_id": one["load_id"],
                    "victim": one["victim"],
                    **amount("predicted", one["predicted_bytes"]),
                    **amount("available", one["available_bytes"]),
                    "available_from": one["available_from"],
                    "detail": one["detail"],
                    "rule": None if one["line_id"] not in forecasts else _rule(forecasts[one["line_id"]]),
                }
                for one in lines
            ],
            "remedy": next((one["remedy"] for one in lines if one["remedy"]), None),
            "evidence": [one["line_id"] for one in lines],
        }
        for (cause, reason), lines in grouped.items()
    ]


def _rule(one: Mapping[str, Any]) -> dict[str, Any]:
    """A prediction beside the supervisor's own rule, as far as the load's lines tell its terms."""
    return {
        **amount("threshold", one["threshold_bytes"]),
        **amount("surcharge", one["surcharge_bytes"]),
        "exceeds": one["exceeds"],
        **{key: one[key] for key in ("num_ctx", "num_batch", "parallel", "layers")},
        **amount("file", one["file_bytes"]),
        "bytes_per_token": one["token_bytes"],
        **amount("reckoned", one["reckoned_bytes"]),
        "agrees": one["agrees"],
        **amount("cache", one["cache_bytes"]),
        "fitting_ctx": one["fitting_ctx"] if one["agrees"] else None,
        "evidence": one["lines"].split(),
    }


def _who(askers: Rows) -> list[dict[str, Any]]:
    """Addresses, with how many loads each may have asked for."""
    grouped: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for one in askers:
        grouped.setdefault((one["address"], one["class"], one["path"], one["how"]), []).append(one)
    return [
        {
            "address": address,
            "class": place,
            "path": path,
            "how": how,
            "loads": sorted({one["load_id"] for one in lines}),
            "evidence": sorted(one["line_id"] for one in lines),
        }
        for (address, place, path, how), lines in sorted(grouped.items())
    ]


def _remedy(row: dict[str, Any], loads: Rows, triggers: Sequence[dict[str, Any]]) -> str:
    """What would stop it, as far as the evidence carries."""
    held: dict[str, int] = {}
    for load in loads:
        if load["held_bytes"]:
            held[load["identity"]] = max(held.get(load["identity"], 0), load["held_bytes"])
    needs = ", ".join(f"{name} held {gib(size)}" for name, size in held.items())
    told = f"; here {needs}." if needs else "."
    said = next((one["remedy"] for one in triggers if one["remedy"]), None)
    if row["kind"] == "ping_pong":
        if sum(load["given_up"] for load in loads) * 2 > len(loads):
            return "Let the callers wait longer than a load takes: each load that they give up is begun again" + told
        if said:
            return str(said).replace("{n}", str(len(row["identities"]))) + told
        return "Keep them loaded side by side, or send each kind of request to a server of its own" + told
    if row["kind"] == "reload":
        return "Let all clients ask for the same options: a server keeps one set of them for each model."
    if row["kind"] == "crash_loop":
        return "Look at why it died, in the lines before each end: ask for the crashes."
    return ""


def _apart(ask: Ask) -> list[dict[str, Any]]:
    """Loads that began for a reason but belong to no episode."""
    rows = ask.rows(
        "SELECT load_starts.*, load.number FROM load_starts JOIN load USING (load_id) "
        "WHERE why <> 'first' AND load_id NOT IN (SELECT load_id FROM swap_runs) ORDER BY load.number"
    )
    return [
        {
            "load_id": row["load_id"],
            "number": row["number"],
            "identity": row["identity"],
            "why": row["why"],
            "at": iso(row["begun_us"]),
        }
        for row in rows
        if ask.wants(row["load_id"]) and _inside(ask, {**row, "until_us": row["begun_us"]}) and _unit(ask, row)
    ]


# -- the screen -------------------------------------------------------------------------------------------------------


def _verdict(episode: dict[str, Any]) -> str:
    models, times = len(episode["identities"]), episode["swaps"]
    span = "" if not episode["span_s"] else f" in {_seconds(episode['span_s'])}"
    loading = ""
    if episode["loading_s"] is not None and episode["loads_timed"] == len(episode["loads"]):
        loading = f"; {_seconds(episode['loading_s'])} of it was loading"
    if episode["kind"] == "ping_pong":
        verb = "took each other's place" if episode["presumed"] else "evicted each other"
        return f"Ping-pong: {models} models {verb} {times} times{span}{loading}."
    if episode["kind"] == "sequence":
        return f"A sequence, no ping-pong: {models} models one after the other{span}, each loaded once{loading}."
    name, loads = episode["identities"][0], len(episode["loads"])
    if episode["kind"] == "reload":
        return (
            f"A reload loop: {name} began {loads} times{span} with changing options; no other model was in it{loading}."
        )
    return f"A crash loop: {name} began {loads} times{span}, each time after the one before had died{loading}."


def _sections(episode: dict[str, Any]) -> list[Section]:
    facts: list[tuple[str, str]] = []
    names = episode["identities"]
    joint = {"ping_pong": " ⇄ ", "sequence": " → "}.get(episode["kind"], ", ")
    facts.append(("models", joint.join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")))
    if episode["alternates"]:
        facts.append(("order", "strictly alternating"))
    if episode["interval_s"]["mean"] is not None:
        facts.append(("interval", _spread(episode["interval_s"], 1)))
    else:
        facts.append(("interval", "not measured: the log has no wall time"))
    if episode["cycle_s"]["mean"] is not None:
        facts.append(("cycle", f"{_spread(episode['cycle_s'], 2)}, from a load of a model to its next"))
    facts.append(("loading", _loading(episode)))
    if not episode["triggers"]:
        facts.append(("why", "not established: no line of a supervisor gives a reason"))
    for one in episode["triggers"]:
        facts.append(("why", f"{one['cause']}: “{one['reason']}” ×{one['count']}{_numbers(one, episode)}"))
        inputs = [row for row in one["inputs"] if row["predicted_bytes"] is not None]
        # Two of them: where models take turns, each has a rule of its own.
        rules = dict.fromkeys(_ruled(row) for row in inputs if row["rule"] is not None)
        facts.extend(("rule", text) for text in list(rules)[:2])
    facts.append(("who", _asked(episode)))
    if episode["requests"]:
        asked = episode["requests"]
        told = f"{asked['requests']} in the span, {asked['non_local']} from other machines"
        facts.append(("requests", f"{told}; longest pause {asked['pause_s']:.1f} s"))
        fits = episode["fits"]
        word = {True: "yes", False: "no", None: fits["state"]}[fits["fits"]]
        facts.append(("room", f"{word}: {fits['because']}"))
    if episode["short_intervals"]:
        short = episode["short_intervals"]
        listed = ", ".join(f"{one['interval_s']:g}" for one in short)
        known = min(one["known_load_s"] for one in short)
        told = f"{listed} s: less than the {known:g} s that such a load takes"
        facts.append(("too short", f"{told}; it could not have completed, unless page-cache warm"))
    if episode["given_up"]:
        told = (
            f"{len(episode['given_up'])} of {len(episode['loads'])} loads: the caller went before the model was ready"
        )
        facts.append(("given up", f"{told}; its time limit is shorter than the load"))
    note = PRESUMED if episode["presumed"] else ""
    about = Section(KINDS[episode["kind"]], ("", ""), tuple(facts), note)
    rows = tuple(
        (
            str(one["number"]),
            one["identity"],
            (one["begun_at"] or "")[11:19],
            "" if one["loading_s"] is None else f"{one['loading_s']:.1f}",
            "" if one["stay_s"] is None else f"{one['stay_s']:.1f}",
            "" if one["weights_bytes"] is None else f"{one['weights_bytes'] / 2**30:.2f}",
            _served(one),
        )
        for one in episode["details"]
    )
    columns = ("#>", "model", "begun", "loading s>", "until next s>", "GiB>", "served>")
    guessed = any(one["requests_scope"] == "inferred" for one in episode["details"])
    return [about, Section("Loads", columns, rows, "~ by time: no line says which load served it" if guessed else "")]


def _numbers(trigger: Mapping[str, Any], episode: Mapping[str, Any]) -> str:
    """The figures of the last line of a reason: predicted, else what the load came to, against what was available."""
    last = trigger["inputs"][-1]
    text = ""
    if last["available_bytes"] is not None:
        held = {one["load_id"]: one["held_bytes"] for one in episode["details"]}.get(last["load_id"])
        if last["predicted_bytes"] is not None:
            text = f", predicted {gib(last['predicted_bytes'])} against {gib(last['available_bytes'])}"
        elif held is not None:
            text = f", {gib(last['available_bytes'])} available for what came to {gib(held)}"
        else:
            text = f", {gib(last['available_bytes'])} available"
    details = dict.fromkeys(one["detail"] for one in trigger["inputs"] if one["detail"] and not one["rule"])
    return text + "".join(f", {one}" for one in details)


def _ruled(row: Mapping[str, Any]) -> str:
    """Why a prediction evicts, what it is made of, and which context would not have."""
    rule = row["rule"]
    over = "over" if rule["exceeds"] else "not over"
    text = f"{gib(row['predicted_bytes'])} is {over} {gib(rule['threshold_bytes'])}, 80 % of what is available"
    if rule["surcharge_bytes"]:
        text += f", with {gib(rule['surcharge_bytes'])} more for its batch of {rule['num_batch']}"
    if rule["reckoned_bytes"] is None:
        return f"{text}; what it is made of the load's lines do not say"
    if not rule["agrees"]:
        return f"{text}; from the load's own file and shape it would be {gib(rule['reckoned_bytes'])}: not established"
    cache = rule["reckoned_bytes"] - rule["file_bytes"]
    text += (
        f": file {gib(rule['file_bytes'])} and a cache of f16 over all {rule['layers']} layers for {rule['num_ctx']:,} "
        f"tokens, {gib(cache)}"
    )
    if rule["cache_bytes"] is not None:
        text += f"; its cache came to {gib(rule['cache_bytes'])}"
    if rule["fitting_ctx"]:
        return f"{text}. A context of {rule['fitting_ctx']:,} would have fit beside the other"
    return f"{text}. No context would have fit beside the other: the file alone is too large"


def _served(load: dict[str, Any]) -> str:
    if load["requests"] is None:
        return ""
    return ("~" if load["requests_scope"] == "inferred" else "") + str(load["requests"])


def _spread(times: Mapping[str, Any], digits: int) -> str:
    """Mean, median and bounds of some times, and how much they vary where there are several."""
    mean, median, low, high = (f"{times[name]:.{digits}f}" for name in ("mean", "median", "min", "max"))
    return f"mean {mean} s, median {median} ({low}–{high})" + ("" if times["cv"] is None else f", CV {times['cv']:.2f}")


def _loading(episode: dict[str, Any]) -> str:
    parts: list[str] = []
    if episode["loading_s"] is None:
        hint = "; --load-time says how long one takes" if episode["kind"] == "ping_pong" else ""
        parts.append(f"time not measured: no line says when a load got ready{hint}")
    else:
        share = "" if episode["loading_share"] is None else f", {episode['loading_share']:.0%} of the span"
        parts.append(
            f"{episode['loading_s']:.1f} s in {episode['loads_timed']} of {len(episode['loads'])} loads{share}"
        )
    if episode["loaded_bytes"]:
        parts.append(f"{gib(episode['loaded_bytes'])} of weights")
    return "; ".join(parts)


def _asked(episode: dict[str, Any]) -> str:
    if not episode["asked_by"]:
        return "not established: no access line covers the begin of a load"
    words = {"covers": "asking while a load began", "first": "the first that a load served"}
    grouped: dict[tuple[str, str, str], set[str]] = {}
    for one in episode["asked_by"]:
        grouped.setdefault((one["address"] or "unknown", one["class"], one["how"]), set()).update(one["loads"])
    said = [f"{who} ({place}) ×{len(loads)}, {words[how]}" for (who, place, how), loads in grouped.items()]
    return "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")


def _next(episode: dict[str, Any]) -> str:
    return str(episode["remedy"])


def _set_aside(apart: list[dict[str, Any]]) -> str:
    counts = Counter(APART[one["why"]] for one in apart)
    told = (
        f"{count(number, 'load')} {'were' + what[3:] if number > 1 and what.startswith('was ') else what}"
        for what, number in counts.items()
    )
    return f"Not in it: {'; '.join(told)}."


def _seconds(value: float) -> str:
    if value < 120:
        return f"{value:.0f} s"
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
