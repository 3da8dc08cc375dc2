"""Derive every number of a report again from the bytes that it cites, and say of each whether it holds.

Where all sources are found unchanged, the whole report is made again from them and compared, leaf by leaf. Where some
are not, what stands on the others alone is still checked: an amount that a log prints is the sum of its lines, what is
attributed is the sum of its items, what is unexplained is what was measured less that.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from .answer import Answer, Section
from .case import read_evidence, store
from .catalogue import Catalogue, load_catalogue
from .document import Document, label, mapping, maps, model_name, number, size, texts
from .errors import ForensicsError, UsageError
from .explain import SCHEMA, iso
from .looked_at import explained
from .opened import ready
from .printing import parse_self_report
from .provenance import Asked, asked_of, provenance, sources_of
from .question import load_questions
from .records import Named
from .report_json import render_json
from .safe import original
from .sources import Found, State, find_sources, prefix

__all__ = ["Check", "Derived", "compare", "derive", "read_report", "verify"]

SCHEMA_OF_CHECK = "forensics.verify/1"

LINES = frozenset({"evidence", "lines"})
"""Parts of a report that are checked line by line."""

OTHERWISE = "something else comes out"
MOST_SHOWN = 12
ABSENT = object()


@dataclass(frozen=True)
class Check:
    """One leaf of a report: what it says, what comes out again, and what that means."""

    path: str
    said: object
    again: object
    state: State
    why: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is a number; what is none is a statement."""
        return any(isinstance(one, int | float) and not isinstance(one, bool) for one in (self.said, self.again))


def read_report(path: Path) -> dict[str, Any]:
    """Read a report.

    Raises:
        UsageError: It is none.
    """
    try:
        found = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON; give what forensics explain-vram --format json printed") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UsageError(f"{path}: not a report of explain-vram; give what its --format json printed")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose keys stands twice: what we check must be what another reader sees."""
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise UsageError(
                f"not a report: {key!r} stands {times} times in one place, and readers differ in which counts"
            )
    return dict(pairs)


def verify(
    report: dict[str, Any], *, beside: Path, folder: Path | None = None, catalogue: Catalogue | None = None
) -> Answer:
    """Check a report against its sources.

    Args:
        report: The report, as read from JSON.
        beside: The folder it lies in: relative names of sources are looked for there too.
        folder: Where to look for the sources instead, by name and by their bytes.
        catalogue: Programs and patterns, if they are loaded already and the report needs no others.
    """
    return compare(report, derive(report, beside=beside, folder=folder, catalogue=catalogue))


@dataclass(frozen=True)
class Derived:
    """The sources of a report as they are found, and the report made again from those that are unchanged."""

    sources: Sequence[Found]
    again: dict[str, Any] | None
    problem: str


def derive(
    report: Document, *, beside: Path, folder: Path | None = None, catalogue: Catalogue | None = None
) -> Derived:
    """Find the sources of a report and make it again; arguments as those of `verify`."""
    sources = find_sources(sources_of(report), folder, beside)
    return Derived(sources, *_again(report, sources, catalogue))


def compare(report: Document, derived: Derived) -> Answer:
    """Hold a report against what comes out of its sources again."""
    sources, again = derived.sources, derived.again
    whole = bool(sources) and all(one.state == State.VERIFIED for one in sources)
    lines = list(_lines(report, again, sources))
    if whole and again:
        lines += _uncited(report, again)
    checks = list(_compared(report, again) if whole and again else _alone(report, again, sources, lines))
    return _answer(report, sources, lines, checks, derived.problem)


# -- making it again --------------------------------------------------------------------------------------------------


def _again(
    report: Document, sources: Sequence[Found], catalogue: Catalogue | None
) -> tuple[dict[str, Any] | None, str]:
    """The report made again from the sources that are unchanged, or why it cannot be."""
    asked = asked_of(report)
    usable = [one for one in sources if one.state == State.VERIFIED and one.path is not None]
    if not usable:
        return None, "none of its sources is there unchanged"
    try:
        if catalogue is None or asked.patterns:
            catalogue = load_catalogue([Path(one) for one in asked.patterns])
        with tempfile.TemporaryDirectory(prefix="forensics-verify-") as scratch:
            return _made(asked, catalogue, [_named(one, Path(scratch)) for one in usable]), ""
    except ForensicsError as error:
        return None, str(error)


def _named(found: Found, scratch: Path) -> Named:
    """A source under its cited name; of one that has grown, a copy of what was there."""
    assert found.path is not None
    modified = found.cited.modified_us
    if not found.grown:
        return Named(found.cited.name, found.path, modified)
    with tempfile.NamedTemporaryFile(dir=scratch, delete=False) as copy:
        for piece in prefix(found.path, found.cited.size_bytes or 0):
            copy.write(piece)
    return Named(found.cited.name, Path(copy.name), modified)


def _made(asked: Asked, catalogue: Catalogue, inputs: Sequence[Named]) -> dict[str, Any]:
    if asked.moment not in {"last", "ready", "asleep", "at"}:
        raise UsageError(f"the report was asked for at {asked.moment!r}, which is no moment")
    made_of = duckdb.connect()
    store(read_evidence(inputs, catalogue, tz_us=asked.tz_us), made_of)
    connection = ready(made_of, load_questions(), asked.at_us)
    found = explained(
        connection,
        catalogue,
        moment=asked.moment,
        self_report=parse_self_report(asked.self_report),
        only=None if asked.loads is None else list(asked.loads),
        window=asked.window,
    )
    # What every line says, cited or not: a report may cite one that this does not.
    lines = _all_lines(connection)
    made: dict[str, Any] = json.loads(render_json({**found, **provenance(connection, asked), "lines": lines}))
    return made


def _all_lines(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Every line that a pattern reads and every sample, with the amount in it."""
    found: dict[str, Any] = {}
    for line_id, source, offset, length, time, text, amount in connection.execute(
        """
        SELECT line.line_id, line.source_id, line."offset", line.length, line.time_us, line.text, sum(item.size_bytes)
        FROM line LEFT JOIN item USING (line_id) GROUP BY ALL
        """
    ).fetchall():
        found[line_id] = _line(source, offset, length, time, text, amount)
    for line_id, source, offset, length, time, text, amount in connection.execute(
        """
        SELECT line_id, source_id, telemetry_row."offset", telemetry_row.length, telemetry_row.at_us,
            telemetry_row.text, used_bytes
        FROM telemetry_row
        LEFT JOIN (
            SELECT line_id, used_bytes FROM card_sample UNION ALL SELECT line_id, used_bytes FROM holder_sample
        ) USING (line_id)
        """
    ).fetchall():
        found[line_id] = _line(source, offset, length, time, text, amount)
    return found


def _line(source: str, offset: int, length: int, time: int | None, text: str, amount: int | None) -> dict[str, Any]:
    return {
        "source": source,
        "offset": offset,
        "length": length,
        "time": iso(time),
        "text": text,
        "bytes": None if amount is None else int(amount),
    }


# -- comparing --------------------------------------------------------------------------------------------------------


def _lines(report: Document, again: Document | None, sources: Sequence[Found]) -> Iterator[Check]:
    """Each cited line: is it where the report says, and does it say that?"""
    states = {one.cited.name: one for one in sources}
    ours = mapping(again or {}, "evidence")
    every = mapping(again or {}, "lines")
    evidence = mapping(report, "evidence")
    for identifier in evidence:
        said = mapping(evidence, identifier)
        path = f"evidence.{identifier}"
        source = states.get(original(label(said, "source")))
        if source is None and not label(said, "digest") and identifier in ours:
            same = said == ours[identifier]  # it stands for no line: a calibration
            yield Check(path, said, ours[identifier], State.VERIFIED if same else State.TAMPERED)
        elif source is None:
            yield Check(path, said, None, State.TAMPERED, "it cites a source that the report does not list")
        elif source.state != State.VERIFIED:
            yield Check(path, said, None, source.state, f"{source.cited.name}: {source.why}")
        elif label(said, "digest") != source.cited.digest:
            yield Check(path, said, None, State.TAMPERED, "its digest is not that of its source")
        elif identifier in ours and all(one.state == State.VERIFIED for one in sources):
            same = said == ours[identifier]
            yield Check(path, said, ours[identifier], State.VERIFIED if same else State.TAMPERED, _differ(same))
        else:
            found = mapping(every, identifier)
            keys = ("source", "offset", "length", "time", "text")
            same = bool(found) and all(said.get(key) == found.get(key) for key in keys)
            yield Check(path, said, found or None, State.VERIFIED if same else State.TAMPERED, _differ(same))


def _uncited(report: Document, again: Document) -> Iterator[Check]:
    """Lines that the report should cite and does not."""
    evidence = mapping(report, "evidence")
    for identifier, ours in mapping(again, "evidence").items():
        if identifier not in evidence:
            yield Check(f"evidence.{identifier}", None, ours, State.TAMPERED, "it is missing from the report")


def _differ(same: bool) -> str:
    return "" if same else "its bytes say something else"


def _compared(report: Document, again: Document) -> Iterator[Check]:
    """Every leaf of a report against the same leaf of the one that was made again."""
    mine = dict(_leaves({key: value for key, value in report.items() if key not in LINES}))
    theirs = dict(_leaves({key: value for key, value in again.items() if key not in LINES}))
    typed = {f"{path}.{key}" for path in _typed(report) for key in ("mib", "bytes", "bound_bytes")}
    for path in {**mine, **theirs}:
        said, other = mine.get(path, ABSENT), theirs.get(path, ABSENT)
        if said is ABSENT:
            yield Check(path, None, other, State.TAMPERED, "it is missing from the report")
        elif other is ABSENT:
            yield Check(path, said, None, State.TAMPERED, "nothing in the evidence gives it")
        elif said != other or isinstance(said, bool) != isinstance(other, bool):
            yield Check(path, said, other, State.TAMPERED, OTHERWISE)
        elif path in typed:
            yield Check(path, said, other, State.NO_EVIDENCE, "a person typed it")
        else:
            yield Check(path, said, other, State.VERIFIED)


def _typed(report: Document) -> Iterator[str]:
    """Self-reports that stand on nothing but what was typed."""
    for place, load in enumerate(maps(report, "loads")):
        if label(mapping(load, "self_report"), "source").startswith("--self-report"):
            yield f"loads[{place}].self_report"


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Each value of a document that holds no other, by its path; an empty object or list is one too."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{place}]")
    else:
        yield path, value


def _alone(
    report: Document, again: Document | None, sources: Sequence[Found], lines: Sequence[Check]
) -> Iterator[Check]:
    """Without all sources: what stands on unchanged lines alone, and the sums of the report itself."""
    known = {one.path.removeprefix("evidence."): one for one in lines}
    every = mapping(again or {}, "lines")
    done: dict[str, Check] = {}
    for place, load in enumerate(maps(report, "loads")):
        for number_, device in enumerate(maps(load, "devices")):
            path = f"loads[{place}].devices[{number_}]"
            for check in _device(path, device, known, every):
                done[check.path] = check
    broken = [one for one in sources if one.state == State.TAMPERED]
    why = "a source is not what it was" if broken else "a source is missing"
    for path, said in _leaves({key: value for key, value in report.items() if key not in LINES}):
        yield done.get(path) or Check(path, said, None, State.UNVERIFIABLE, why)


def _device(path: str, device: Document, known: Mapping[str, Check], every: Document) -> Iterator[Check]:
    """The amounts of one device: items from their lines, sums from the items."""
    worst = State.VERIFIED
    total = 0
    for place, item in enumerate(maps(device, "items")):
        state, again, why = _item(item, known, every)
        yield from _twins(f"{path}.items[{place}]", "", item, state, again, why)
        worst = _worse(worst, state)
        total += size(item) or 0
    attributed = size(device, "attributed")
    state = State.TAMPERED if attributed != total else worst
    yield from _twins(path, "attributed_", device, state, total, "it is not the sum of its items")
    measured = size(device, "measured")
    if measured is None:
        return
    cited = texts(device, "measured_evidence")
    amounts = [number(mapping(every, one).get("bytes")) for one in cited]
    state = _lines_state(cited, known)
    if state == State.VERIFIED and label(device, "measured_by") == "process" and amounts != [measured]:
        state = State.TAMPERED
    yield from _twins(path, "measured_", device, state, amounts[0] if amounts else None, "its sample says another")
    rest = measured - total
    state = State.TAMPERED if size(device, "unexplained") != rest else _worse(worst, state)
    yield from _twins(path, "unexplained_", device, state, rest, "it is not what is measured less its items")


def _item(item: Document, known: Mapping[str, Check], every: Document) -> tuple[State, int | None, str]:
    cited = texts(item, "evidence")
    if not cited:
        return State.NO_EVIDENCE, None, "it cites no line"
    state = _lines_state(cited, known)
    amounts = [number(mapping(every, one).get("bytes")) for one in cited]
    if state != State.VERIFIED or label(item, "basis") != "logged" or None in amounts:
        return (State.UNVERIFIABLE if state == State.VERIFIED else state), None, "it does not stand on its lines alone"
    again = int(sum(one or 0 for one in amounts))
    if again != size(item):
        return State.TAMPERED, again, "it is not the sum of its lines"
    return State.VERIFIED, again, ""


def _lines_state(cited: Sequence[str], known: Mapping[str, Check]) -> State:
    if not cited:
        return State.NO_EVIDENCE
    state = State.VERIFIED
    for one in cited:
        state = _worse(state, known[one].state if one in known else State.TAMPERED)
    return state


def _worse(one: State, two: State) -> State:
    order = (State.VERIFIED, State.NO_EVIDENCE, State.UNVERIFIABLE, State.TAMPERED)
    return max(one, two, key=order.index)


def _twins(path: str, name: str, node: Document, state: State, again: int | float | None, why: str) -> Iterator[Check]:
    """An amount in bytes and in MiB."""
    for unit in ("bytes", "mib"):
        key = f"{name}{unit}"
        if key in node:
            other = None if again is None else again if unit == "bytes" else round(again / (1024 * 1024), 4)
            found = state
            if state == State.VERIFIED and other is not None and node[key] != other:
                found = State.TAMPERED
            yield Check(f"{path}.{key}", node[key], other, found, "" if found == State.VERIFIED else why)


# -- saying it --------------------------------------------------------------------------------------------------------


def _answer(
    report: Document, sources: Sequence[Found], lines: Sequence[Check], checks: Sequence[Check], problem: str
) -> Answer:
    numbers = [one for one in checks if one.is_number]
    statements = [one for one in checks if not one.is_number]
    everything = [*(one.state for one in sources), *(one.state for one in (*lines, *checks))]
    fine = bool(sources) and all(one == State.VERIFIED for one in everything)
    answer: dict[str, Any] = {
        "schema": SCHEMA_OF_CHECK,
        "verified": fine,
        "counts": {
            kind: {state.value: sum(one.state == state for one in group) for state in State}
            for kind, group in (
                ("numbers", numbers),
                ("statements", statements),
                ("lines", lines),
                ("sources", sources),
            )
        },
        "sources": [
            {
                "source": one.cited.name,
                "state": one.state.value,
                "why": one.why,
                "found_as": None if one.path is None else str(one.path),
                "digest": one.cited.digest,
                "size_bytes": one.cited.size_bytes,
            }
            for one in sources
        ],
        "numbers": [_entry(one) for one in numbers],
        "statements": [_entry(one) for one in statements if one.state != State.VERIFIED],
        "lines": [_entry(one) for one in lines],
    }
    order = (State.TAMPERED, State.UNVERIFIABLE, State.NO_EVIDENCE)
    off = [one for one in (*numbers, *lines, *statements) if one.state != State.VERIFIED]
    off.sort(key=lambda one: order.index(one.state))
    sections = [
        Section(
            "Sources",
            ("state", "source", "what of it"),
            tuple((one.state.value, one.cited.name, one.why) for one in sources),
        )
    ]
    if off:
        more = len(off) - MOST_SHOWN
        sections.append(
            Section(
                "What does not hold" if any(one.state == State.TAMPERED for one in off) else "What cannot be checked",
                ("state", "what", "said", "comes out", "why"),
                tuple(
                    (
                        one.state.value,
                        _place(report, one.path),
                        _short(one.said),
                        _short(one.again),
                        one.why.replace(OTHERWISE, ""),
                    )
                    for one in off[:MOST_SHOWN]
                ),
                f"… and {more} more; --format json lists all" if more > 0 else "",
            )
        )
    return Answer(
        answer,
        _verdict(sources, lines, numbers, statements),
        about=tuple(filter(None, (problem, _own_patterns(report)))),
        sections=tuple(sections),
        next=_next(sources, everything),
        code=0 if fine else 4,
    )


def _own_patterns(report: Document) -> str:
    """Files of patterns that are not ours: what they read is true to the bytes, and means what they say it means."""
    files = asked_of(report).patterns
    return f"read with patterns of {', '.join(files)}, as the report asks: look at what they read" if files else ""


def _entry(check: Check) -> dict[str, Any]:
    return {
        "path": check.path,
        "said": _raw(check.said),
        "again": _raw(check.again),
        "state": check.state.value,
        "why": check.why,
    }


def _raw(value: object) -> object:
    """A value of a report as it was before it was printed: whoever prints it again makes it safe again."""
    if isinstance(value, str):
        return original(value)
    if isinstance(value, Mapping):
        return {key: _raw(inner) for key, inner in value.items()}
    return [_raw(inner) for inner in value] if isinstance(value, list) else value


def _short(value: object) -> str:
    """A value for a table."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return original(label(value, "text"))[:60]
    return str(_raw(value))[:60]


def _verdict(
    sources: Sequence[Found], lines: Sequence[Check], numbers: Sequence[Check], statements: Sequence[Check]
) -> str:
    def count(group: Sequence[Check] | Sequence[Found], state: State, noun: str) -> str:
        amount = sum(one.state == state for one in group)
        return f"{amount} {noun}{'' if amount == 1 else 's'}" if amount else ""

    if not sources:
        return "Cannot verify: the report cites no source."
    groups = ((numbers, "number"), (statements, "statement"), (lines, "line"), (sources, "source"))
    tampered = [text for group, noun in groups if (text := count(group, State.TAMPERED, noun))]
    if tampered:
        return f"The report does not hold: {_listed(tampered)} not what the report says."
    missing = count(sources, State.UNVERIFIABLE, "source")
    held = sum(one.state == State.VERIFIED for one in numbers)
    if missing:
        return f"Cannot verify all of it: {missing} missing; {held} of {len(numbers)} numbers hold without."
    if bare := count(numbers, State.NO_EVIDENCE, "number"):
        return f"All that stands on evidence holds; {bare} of the report {'has' if bare[:2] == '1 ' else 'have'} none."
    return (
        f"The report holds: {len(numbers)} numbers and {len(statements)} statements come out again from "
        f"{len(lines)} lines of {len(sources)} sources."
    )


def _listed(names: Sequence[str]) -> str:
    joined = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{joined} {'is' if len(names) == 1 and names[0].startswith('1 ') else 'are'}"


def _next(sources: Sequence[Found], states: Sequence[State]) -> str:
    if any(one.state == State.UNVERIFIABLE for one in sources):
        return (
            "Give the folder that holds the missing sources: --sources DIR finds them by their bytes, under any name."
        )
    if any(one.state == State.TAMPERED for one in sources):
        return "Get the sources as they were, from a backup or a capture, and verify against those."
    if State.TAMPERED in states:
        return "Make the report anew from the sources: they are unchanged."
    return ""


def _place(report: Document, path: str) -> str:
    """A path in words: which load, device and item."""
    found = re.match(r"loads\[(\d+)\](?:\.devices\[(\d+)\](?:\.items\[(\d+)\])?)?\.?(.*)", path)
    if found is None:
        return path
    loads = maps(report, "loads")
    if int(found[1]) >= len(loads):
        return path
    load = loads[int(found[1])]
    words = [model_name({**load, "model": original(label(load, "model"))})]
    devices = maps(load, "devices")
    if found[2] and int(found[2]) < len(devices):
        device = devices[int(found[2])]
        words.append(label(device, "device"))
        items = maps(device, "items")
        if found[3] and int(found[3]) < len(items):
            item = items[int(found[3])]
            words.append(f"{label(item, 'kind')} {label(item, 'part')}")
    return " · ".join(filter(None, (*words, found[4])))
