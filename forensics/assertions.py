"""Hold a user's own logs against `[[assert]]` rows of a TOML file, and against a baseline: `forensics check FILE`.

What the evidence cannot tell neither holds nor fails: it is its own outcome, so that silence never passes for a yes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from .answer import Ask
from .ask_crashes import crashes
from .ask_kv import kv
from .ask_spec import spec
from .ask_swaps import swaps
from .catalogue import Catalogue
from .claims import Claim, exchanged, judge, read_claim
from .diff import changes, facts
from .errors import UsageError
from .explain import document, fetch
from .opened import Opened, open_any
from .outcome import Failure, Outcome, place_of
from .units import MIB

__all__ = ["Assertion", "Assertions", "check_assertions", "is_assertions", "load_assertions"]

FILE_KEYS = frozenset({"inputs", "baseline", "tz", "assert", "claim"})
SELECTORS = frozenset({"unit", "model", "at"})
MOMENTS = frozenset({"last", "ready", "asleep"})
ON_CARD = frozenset({"card", "shared"})
NONE_HOLDS = "no load got as far as to hold memory"
NONE_READY = "no load got ready"


@dataclass(frozen=True)
class Assertion:
    """One `[[assert]]` row: which loads it is about, and what must hold of each."""

    number: int
    unit: str | None
    model: str | None
    at: str
    rules: Mapping[str, float | bool]

    @property
    def is_selective(self) -> bool:
        """Whether it names loads."""
        return self.unit is not None or self.model is not None

    @property
    def about(self) -> str:
        """The loads that it names, in words."""
        named = [f"{key} {value}" for key, value in (("unit", self.unit), ("model", self.model)) if value is not None]
        return ", ".join(named) or "all loads"


@dataclass(frozen=True)
class Assertions:
    """A file of assertions; paths are as from where the command runs."""

    file: Path
    inputs: tuple[str, ...]
    baseline: str | None
    tz: str | None
    rows: tuple[Assertion, ...]
    claims: tuple[Claim, ...] = ()


def is_assertions(path: Path) -> bool:
    """Whether a path given to `check` is a file of assertions and not a case."""
    return path.is_file() and path.suffix == ".toml" and path.name != "case.toml"


def load_assertions(file: Path) -> Assertions:
    """Read a file of assertions.

    Raises:
        UsageError: It is no TOML, a key is unknown or of a wrong type, or it asserts nothing.
    """
    try:
        told = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
    _known(told, FILE_KEYS, str(file))
    inputs = told.get("inputs", [])
    if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
        raise UsageError(f"{file}: inputs must be a list of paths, not {inputs!r}")
    for key in ("baseline", "tz"):
        if not isinstance(told.get(key, ""), str):
            raise UsageError(f"{file}: {key} must be a text, not {told[key]!r}")
    rows, claims = told.get("assert", []), told.get("claim", [])
    listed = [*rows, *claims] if isinstance(rows, list) and isinstance(claims, list) else []
    if not listed or not all(isinstance(one, dict) for one in listed):
        raise UsageError(f"{file}: it asserts nothing; write [[assert]] rows with {', '.join(RULES)}")
    baseline = told.get("baseline")
    return Assertions(
        file,
        tuple(str(file.parent / one) for one in inputs),
        None if baseline is None else str(file.parent / baseline),
        told.get("tz"),
        tuple(_row(number, row, f"{file}, [[assert]] {number}") for number, row in enumerate(rows, 1)),
        tuple(read_claim(number, row, f"{file}, [[claim]] {number}") for number, row in enumerate(claims, 1)),
    )


def _known(told: Mapping[str, object], keys: frozenset[str], where: str) -> None:
    if unknown := set(told) - keys:
        raise UsageError(f"{where}: unknown keys {', '.join(sorted(unknown))}; known: {', '.join(sorted(keys))}")


def _row(number: int, told: Mapping[str, Any], where: str) -> Assertion:
    _known(told, SELECTORS | RULES.keys(), where)
    for key in SELECTORS & told.keys():
        if not isinstance(told[key], str):
            raise UsageError(f"{where}: {key} must be a text, not {told[key]!r}")
    rules = {key: value for key, value in told.items() if key in RULES}
    for key, value in rules.items():
        if key.startswith("no_"):
            if value is not True:
                raise UsageError(f"{where}: {key} is true, or is left out; it cannot be {value!r}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise UsageError(f"{where}: {key} must be a number, not {value!r}")  # nothing is more or less than nan
    if not rules:
        raise UsageError(f"{where}: it asserts nothing; known: {', '.join(RULES)}")
    at = told.get("at", "last")
    if at not in MOMENTS:
        raise UsageError(f"{where}: at must be one of {', '.join(sorted(MOMENTS))}, not {at!r}")
    return Assertion(number, told.get("unit"), told.get("model"), at, rules)


class Evidence:
    """One case, with each answer made once and only if something asks for it."""

    def __init__(self, opened: Opened, catalogue: Catalogue) -> None:
        self.connection = opened.connection
        self.catalogue = catalogue
        self._documents: dict[str, Mapping[str, Any]] = {}

    def document(self, moment: str) -> Mapping[str, Any]:
        """The document of explain-vram at a moment."""
        if moment not in self._documents:
            self._documents[moment] = document(self.connection, self.catalogue, moment=moment)
        return self._documents[moment]

    @cached_property
    def loads(self) -> list[dict[str, Any]]:
        """All loads, in order."""
        sql = """
            SELECT load_id, number, loads.model, loads.label, unit, ready_line IS NOT NULL AS ready
            FROM loads JOIN load USING (load_id, number) ORDER BY number
        """
        return fetch(self.connection, sql)

    @cached_property
    def speculation(self) -> Mapping[str, Any]:
        """What `spec` says of each load."""
        return {one["load_id"]: one for one in spec(Ask(self.connection)).document["loads"]}

    @cached_property
    def pools(self) -> Mapping[str, Any]:
        """What `kv` says."""
        return kv(Ask(self.connection)).document

    @cached_property
    def episodes(self) -> Sequence[Mapping[str, Any]]:
        """What `swaps` says."""
        found: Sequence[Mapping[str, Any]] = swaps(Ask(self.connection)).document["episodes"]
        return found

    @cached_property
    def failures(self) -> Sequence[Mapping[str, Any]]:
        """What `crashes` says."""
        found: Sequence[Mapping[str, Any]] = crashes(Ask(self.connection)).document["failures"]
        return found


@dataclass(frozen=True)
class Subject:
    """What one rule of one row is asked of."""

    row: Assertion
    now: Evidence
    loads: Sequence[Mapping[str, Any]]
    before: Evidence | None

    @property
    def ids(self) -> set[str]:
        """Ids of the loads."""
        return {load["load_id"] for load in self.loads}


Said = tuple[bool, str, str, Sequence[str | None]]
"""Whether the evidence can tell, what it is about, what came out, and lines that show it."""


def check_assertions(
    asserted: Assertions, catalogue: Catalogue, tell: Callable[[str], None] = lambda _: None
) -> list[Outcome]:
    """Answer each rule of each row: an outcome each.

    Args:
        asserted: What must hold.
        catalogue: The programs.
        tell: Takes what readers met that takes something away from the answers, a line each.

    Raises:
        UsageError: No input is named, one cannot be read, or a rule compares with a baseline and none is named.
    """
    swapped = exchanged(asserted.claims, str(asserted.file))
    claimed = [_claimed(asserted.file, claim, swapped.get(claim.number)) for claim in asserted.claims]
    if not asserted.rows:
        return claimed
    if not asserted.inputs:
        raise UsageError(f"{asserted.file}: no inputs; name them there (inputs = [...]) or with --input")
    needed = [rule for row in asserted.rows for rule in row.rules if rule in COMPARING]
    if needed and asserted.baseline is None:
        raise UsageError(f"{asserted.file}: {needed[0]} compares with a baseline; name it there or with --baseline")
    now = Evidence(_opened(asserted, asserted.inputs, tell), catalogue)
    before = None
    if asserted.baseline is not None:
        before = Evidence(_opened(asserted, [asserted.baseline], tell), catalogue)
    return claimed + [
        _outcome(asserted.file, Subject(row, now, _chosen(now, row), before), rule, limit)
        for row in asserted.rows
        for rule, limit in row.rules.items()
    ]


def _claimed(file: Path, claim: Claim, other: int | None) -> Outcome:
    """A stated figure beside those that it comes from, and the claim that it changed places with."""
    where = f"{file}, [[claim]] {claim.number}"
    judged = judge(claim, where)
    outcome = Outcome(f"claim {claim.number}: {claim.says}", f"{claim.before} → {claim.after}", "claim", str(file))
    if judged.holds is not True:
        got = judged.got if other is None else f"{judged.got}: it changed places with that of claim {other}"
        failure = Failure(f"{where}: {claim.before} → {claim.after}", f"{claim.kind} {claim.stated}", got, None)
        (outcome.unproven if judged.holds is None else outcome.failures).append(failure)
    return outcome


def _opened(asserted: Assertions, inputs: Sequence[str], tell: Callable[[str], None]) -> Opened:
    """Open inputs; what one of them would have shown cannot be asserted without it."""
    opened = open_any(inputs, tz=asserted.tz)
    for note in opened.notes:
        tell(note)
    sql = "SELECT source_id, what FROM problem WHERE severity = 'error' ORDER BY source_id, what"
    for row in fetch(opened.connection, sql):
        raise UsageError(f"{asserted.file}: {row['source_id']}: {row['what']}")
    return opened


def _chosen(evidence: Evidence, row: Assertion) -> list[dict[str, Any]]:
    return [load for load in evidence.loads if _matches(row.unit, load["unit"]) and _is_model(row.model, load)]


def _matches(wanted: str | None, name: str | None) -> bool:
    return wanted is None or (name is not None and fnmatchcase(name, wanted))


def _is_model(wanted: str | None, load: Mapping[str, Any]) -> bool:
    model = load["model"]
    names = (load["label"], model, None if model is None else model.rsplit("/", 1)[-1])
    return wanted is None or any(_matches(wanted, name) for name in names if name is not None)


def _outcome(file: Path, subject: Subject, rule: str, limit: float | bool) -> Outcome:
    row = subject.row
    asserted = rule if limit is True else f"{rule} = {limit:.15g}"
    outcome = Outcome(f"assert {row.number}: {asserted}", row.about, rule, str(file))
    where = f"{file}, [[assert]] {row.number}"
    said = list(RULES[rule](subject, limit))
    if not subject.loads and not any(known for known, *_ in said):
        # Of nothing, everything holds.
        said = [(False, row.about, f"no load shows in the evidence ({row.about})", ())]
    for known, about, got, lines in said:
        failure = Failure(f"{where}: {about}", asserted, got, place_of(subject.now.connection, lines))
        (outcome.failures if known else outcome.unproven).append(failure)
    return outcome


def _name(load: Mapping[str, Any]) -> str:
    model = load["label"] or load["model"]
    return f"load {load['number']} ({model.rsplit('/', 1)[-1] if model else 'unknown model'})"


# -- rules: each yields what does not hold, and what cannot be told ---------------------------------------------------


def _holding(subject: Subject) -> Iterator[Mapping[str, Any]]:
    """The loads that hold memory: one that failed has given back what it had."""
    for load in subject.now.document(subject.row.at)["loads"]:
        if load["load_id"] in subject.ids and not load["failure"]:
            yield load


def _max_unexplained(subject: Subject, limit: float) -> Iterator[Said]:
    if not any(_holding(subject)):
        yield False, subject.row.about, NONE_HOLDS, ()
    for load in _holding(subject):
        devices = [device for device in load["devices"] if device["where"] in ON_CARD]
        if not devices:
            yield False, _name(load), "no line names a card that it is on", ()
        for device in devices:
            about = f"{_name(load)}, {device['device']}"
            if device["unexplained_mib"] is None:
                yield False, about, "the card was not measured", ()
            elif abs(device["unexplained_mib"]) > limit:
                yield True, about, f"{device['unexplained_mib']:.2f} MiB unexplained", device["measured_evidence"]


def _max_weights(subject: Subject, limit: float) -> Iterator[Said]:
    if not any(_holding(subject)):
        yield False, subject.row.about, NONE_HOLDS, ()
    for load in _holding(subject):
        items = [
            item
            for device in load["devices"]
            for item in device["items"]
            if device["where"] in ON_CARD and item["kind"] == "weights"
        ]
        held = sum(item["bytes"] for item in items) / MIB
        if not items:
            yield False, _name(load), "no line says how much its weights take on a card", ()
        elif held > limit:
            yield True, _name(load), f"{held:.2f} MiB of weights", [line for item in items for line in item["evidence"]]


def _min_acceptance(subject: Subject, limit: float) -> Iterator[Said]:
    asked = 0
    for load in subject.loads:
        found = subject.now.speculation.get(load["load_id"], {})
        if found.get("active") is False and not subject.row.is_selective:
            continue  # a plain model beside; one that is named must speculate
        asked += 1
        if found.get("active") is False:
            yield True, _name(load), "it does not speculate", found["against"] or found["configured"]["evidence"]
        elif found.get("acceptance") is None:
            yield False, _name(load), "no line counts what is drafted and accepted", ()
        elif found["acceptance"] < limit:
            got = f"{found['accepted']} of {found['drafted']} accepted, {found['acceptance']:.4f}"
            yield True, _name(load), got, found["findings"][0]["for"]
    if not asked:
        yield False, subject.row.about, "none of the loads speculates", ()


def _min_kv_tokens(subject: Subject, limit: float) -> Iterator[Said]:
    pools: dict[str, tuple[int, Sequence[str]]] = {}
    for cache in subject.now.pools["caches"]:
        if cache["part"] == "target" and cache["cells"] is not None:
            pools[cache["load_id"]] = (cache["cells"], cache["evidence"])
    for pool in subject.now.pools["pools"]:
        if pool["tokens"] is not None:
            pools[pool["load_id"]] = (pool["tokens"], pool["evidence"])
    for load in subject.loads:
        tokens, lines = pools.get(load["load_id"], (None, ()))
        if tokens is None:
            yield False, _name(load), "no line says how many tokens its cache holds", ()
        elif tokens < limit:
            yield True, _name(load), f"a cache of {tokens} tokens", lines


def _no_ping_pong(subject: Subject, _: float) -> Iterator[Said]:
    for episode in subject.now.episodes:
        if episode["kind"] == "ping_pong" and subject.ids & set(episode["loads"]):
            got = f"{' and '.join(episode['identities'])} take each other's place, {episode['swaps']} swaps"
            yield True, subject.row.about, got, [_begun(subject.now, load) for load in episode["loads"]]


def _begun(evidence: Evidence, load_id: str) -> str | None:
    row = evidence.connection.execute("SELECT begun_line FROM load WHERE load_id = ?", [load_id]).fetchone()
    return None if row is None else row[0]


def _no_failures(subject: Subject, _: float) -> Iterator[Said]:
    names = {load["load_id"]: _name(load) for load in subject.loads}
    for failure in subject.now.failures:
        load_id = failure["load_id"]
        if load_id in names or (load_id is None and not subject.row.is_selective):
            about = names.get(load_id, "no load that is known")
            yield True, about, failure["message"] or failure["error_class"] or "a failure", failure["evidence"]


def _no_format_drift(subject: Subject, _: float) -> Iterator[Said]:
    for row in fetch(subject.now.connection, "SELECT * FROM format_drift"):
        got = f"{row['lines']} lines of {row['component']} with a size or a device, in wordings that are not known"
        yield True, f"{row['program']} {row['version'] or '(build not printed)'}", got, [row["line_id"]]


def _no_ambiguous_memory(subject: Subject, _: float) -> Iterator[Said]:
    for row in fetch(subject.now.connection, "SELECT * FROM ambiguous_memory"):
        loads = set((row["loads"] or "").split())
        if loads & subject.ids or not subject.row.is_selective:
            yield True, f"{len(loads)} loads could have written it", row["reason"] or row["text"], [row["line_id"]]


def _pairs(subject: Subject) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """The newest load of each service and model that got ready, and its like in the baseline."""
    assert subject.before is not None, "asked before anything is read"
    newest = {(load["unit"], load["label"] or load["model"]): load for load in subject.loads if load["ready"]}
    earlier = {(load["unit"], load["label"] or load["model"]): load for load in subject.before.loads if load["ready"]}
    for key, load in newest.items():
        yield load, earlier.get(key)


def _max_growth(subject: Subject, limit: float) -> Iterator[Said]:
    assert subject.before is not None, "asked before anything is read"
    if not any(load["ready"] for load in subject.loads):
        yield False, subject.row.about, NONE_READY, ()
    for load, earlier in _pairs(subject):
        if earlier is None:
            yield False, _name(load), "the baseline has no such load that got ready", ()
            continue
        held, basis, lines = _held(subject.now, load, subject.row.at)
        old, old_basis, _ = _held(subject.before, earlier, subject.row.at)
        if held is None or old is None or basis != old_basis:
            yield False, _name(load), "it was not measured on both sides in the same way", ()
        elif held - old > limit:
            yield True, _name(load), f"{basis} {held:.2f} MiB, {held - old:.2f} more than the baseline", lines


def _held(evidence: Evidence, load: Mapping[str, Any], moment: str) -> tuple[float | None, str, Sequence[str | None]]:
    """What a load holds on all cards: measured if each is, else named."""
    found = next(one for one in evidence.document(moment)["loads"] if one["load_id"] == load["load_id"])
    devices = [device for device in found["devices"] if device["where"] in ON_CARD]
    if not devices:
        return None, "", ()
    measured = [device["measured_mib"] for device in devices]
    if None not in measured:
        return sum(measured), "measured", [line for device in devices for line in device["measured_evidence"]]
    lines = [line for device in devices for item in device["items"] for line in item["evidence"]]
    return sum(device["attributed_mib"] for device in devices), "named", lines


def _no_changes(subject: Subject, _: float) -> Iterator[Said]:
    assert subject.before is not None, "asked before anything is read"
    if not any(load["ready"] for load in subject.loads):
        yield False, subject.row.about, NONE_READY, ()
    for load, earlier in _pairs(subject):
        if earlier is None:
            yield False, _name(load), "the baseline has no such load that got ready", ()
            continue
        old = facts(subject.before.connection, [earlier["load_id"]])[earlier["load_id"]]
        new = facts(subject.now.connection, [load["load_id"]])[load["load_id"]]
        for one in changes(old, new):
            if one["what"] != "start_memory":  # that is the box's, not the load's
                got = f"{one['what']} {one['name']}: {one['before']} before, {one['after']} now"
                yield True, _name(load), got, one["evidence"][-1:]


RULES: Mapping[str, Callable[[Subject, float], Iterator[Said]]] = {
    "max_unexplained_mib": _max_unexplained,
    "max_weights_mib": _max_weights,
    "min_acceptance": _min_acceptance,
    "min_kv_tokens": _min_kv_tokens,
    "no_ping_pong": _no_ping_pong,
    "no_failures": _no_failures,
    "no_format_drift": _no_format_drift,
    "no_ambiguous_memory": _no_ambiguous_memory,
    "max_growth_mib": _max_growth,
    "no_changes": _no_changes,
}
"""What can be asserted. The names are the contract of the file."""
COMPARING = frozenset({"max_growth_mib", "no_changes"})
