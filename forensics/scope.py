"""Give each event to the one model load that owns it, or say why none does.

A state machine that names no program: it sees what a line's pattern declares (`effect`, `role`, `possible_in`) and the
trusted fields of its record. Outer scope is the group of streams of one start of a service; inside it a tag of the
line, a trusted process id, or order while exactly one load can be writing decide. An ambiguous line changes no state.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .catalogue import Catalogue, Program
from .events import (
    ArgumentsReported,
    DeviceSeen,
    LoadReady,
    ModelIdentified,
    Part,
    VerbosityReported,
    VersionReported,
    event_fields,
)
from .line import Line
from .lives import Context, Group, Item, Load, Mark, Owned, OwnedRows, Process, Rowset, Scope
from .records.block import Stream
from .scan import Found
from .steady import Steady, condensed, number_lines, seen_twice, split_off, suspects_of
from .writers import (
    Relay,
    begins_anew,
    blur,
    claimed_twice,
    form_of,
    key_of,
    may_write,
    settle,
    shown_phase,
    strangers,
    twin_parents,
    twins,
    writers_of,
)

__all__ = ["Ownership", "assign"]

MANY = 64
"""So many lives that are over are kept among those whose lines carry no tag, before they are let go."""


@dataclass
class Ownership:
    """What `assign` found out."""

    groups: list[Group] = field(default_factory=list)
    lines: list[Owned] = field(default_factory=list)
    """Lines with their owners, in order."""
    rows: list[OwnedRows] = field(default_factory=list)
    """Lines besides that only report, as columns."""
    owners: list[Owned] = field(default_factory=list)
    """What the rows got: their owners are numbers of these."""

    @property
    def owned(self) -> list[Owned]:
        """All as lines, in order."""
        every = list(self.lines)
        for rows, owner in self.rows:
            every += [replace(self.owners[owner[at]], line=rows.line(at)) for at in np.flatnonzero(owner >= 0).tolist()]
        return sorted(every, key=lambda one: one.line.order)

    def first_and_last(self) -> Iterator[tuple[Group, Owned]]:
        """Of rows alike that got the same the first and the last of each block, with their group."""
        given = {id(rows): owner for rows, owner in self.rows}
        for group in self.groups:
            for rows, at in group.parts:
                own = at[given[id(rows)][at] >= 0]
                owner = given[id(rows)][own]
                keys = rows.sort[own].astype(np.int64) * (len(self.owners) + 1) + owner
                first = np.unique(keys, return_index=True)[1]
                last = len(own) - 1 - np.unique(keys[::-1], return_index=True)[1]
                for place in np.unique(np.concatenate((first, last))).tolist():
                    yield group, replace(self.owners[owner[place]], line=rows.line(int(own[place])))

    def count(self) -> int:
        """How many lines there are."""
        return len(self.lines) + sum(int((owner >= 0).sum()) for _, owner in self.rows)

    def cursors(self) -> set[str | None]:
        """Journal cursors of all lines."""
        return {one.line.cursor for one in self.lines} | {
            one for rows, _ in self.rows if rows.cursors is not None for one in rows.cursors.to_pylist()
        }

    @property
    def processes(self) -> list[Process]:
        """All processes, in order of their first line."""
        return [process for group in self.groups for process in group.processes]

    @property
    def loads(self) -> list[Load]:
        """All loads, in order of their first line inside each group."""
        return [load for process in self.processes for load in process.loads]


WHOLE = re.compile(r"-?\d{1,18}")

SEQUENCE = re.compile(r"s=([0-9a-f]+);i=([0-9a-f]+)")
"""How a journal cursor names the journal and the place in it."""


def assign(found: Iterable[Line] | Sequence[Found], catalogue: Catalogue) -> Ownership:
    """Give each line to its owner.

    Args:
        found: Matched lines of all sources, those of one source in their order; or what the scan found in each block.
        catalogue: The programs, for their grammars.

    Returns:
        Groups with their processes and loads, and one `Owned` for each line.
    """
    blocks = [Found([one], None) if isinstance(one, Line) else one for one in found]
    number_lines(blocks)
    machine = _Machine({program.name: program for program in catalogue.programs})
    lines = [line for one in blocks for line in one.lines]
    rows = [one.rows for one in blocks if one.rows is not None]
    machine.ownership.rows = [OwnedRows(one, np.full(len(one), -1, np.int32)) for one in rows]
    machine.given = {id(one.rows): one for one in machine.ownership.rows}
    if rows:
        firsts, parts = split_off(rows, lambda sort: _key(rows[0].sorts[sort].stream))
        lines = sorted([*lines, *firsts], key=lambda line: line.order)
    for group in _group(lines):
        if rows:
            group.parts = parts.get(group.key, [])
        machine.run(group)
    _number_the_alike(machine.ownership.processes)
    machine.ownership.lines.sort(key=lambda one: one.line.order)
    return machine.ownership


def _number_the_alike(processes: Iterable[Process]) -> None:
    """Tell lives apart that begin with the same words in different sources, so that no two loads have one id."""
    seen: Counter[str] = Counter()
    for process in processes:
        process.alike = seen[process.begins_with]
        seen[process.begins_with] += 1


def _group(lines: Sequence[Line]) -> list[Group]:
    """Collect lines by the start of a service that wrote them; lines about a unit join that unit's group."""
    groups: dict[tuple[Any, ...], Group] = {}
    about: list[Line] = []
    for line in lines:
        stream = line.stream
        if stream.manager or stream.kernel:
            about.append(line)
            continue
        key = _key(stream)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(key, stream)
        group.lines.append(line)
    for line in about:
        stream = line.stream
        key = _key(stream)
        group = groups.get(key)
        if group is None and stream.manager and stream.invocation is None:
            group = _latest_of_unit(groups.values(), stream, line)
        if group is None:
            group = groups[key] = Group(key, stream)
        group.lines.append(line)
    for group in groups.values():
        _sort(group)
    return list(groups.values())


def _sort(group: Group) -> None:
    """Put the lines of a group into the order in which they were written."""
    if len({line.source for line in group.lines}) == 1:
        group.lines.sort(key=lambda one: one.order)
    elif (numbers := _sequence(group.lines)) is not None:
        group.lines.sort(key=lambda one: (numbers[one.order], one.order))
    else:
        group.lines.sort(key=lambda one: (one.time_us or 0, one.order))


def _by_sort(group: Group) -> list[Rowset]:
    """The first row of each sort in a group, alone."""
    found: dict[int, Rowset] = {}
    for rows, at in group.parts:
        sorts, first = np.unique(rows.sort[at], return_index=True)
        for sort, place in zip(sorts.tolist(), first.tolist(), strict=True):
            found.setdefault(sort, Rowset(rows, at[place : place + 1]))
    return list(found.values())


def _flags(line: Line) -> tuple[bool, bool, bool]:
    """Whether a line begins a process or a load, says ready, ends a load."""
    effects = line.pattern.effects
    begins = not effects.keys().isdisjoint({"process", "load"})
    return begins, line.pattern.event is LoadReady, effects.get("end", {}).get("by") == "self"


def _several_lives(lines: Iterable[Line]) -> bool:
    """Whether there may be more than one beginning, so that what stands between them matters."""
    names: list[str] = []
    loads = 0
    for line in lines:
        effects = line.pattern.effects
        begins = "process" in effects or effects.get("load", {}).get("once")
        names += [line.pattern.name] if begins else []
        loads += "load" in effects and not begins
    return loads > 1 or seen_twice(names)


def _sequence(lines: Sequence[Line]) -> dict[int, int] | None:
    """The journal's sequence numbers, by order, if one journal numbered all lines: its clock may have been set."""
    numbers: dict[int, int] = {}
    series: str | None = None
    for line in lines:
        found = SEQUENCE.match(line.cursor or "")
        if found is None or (series is not None and found[1] != series):
            return None
        series = found[1]
        numbers[line.order] = int(found[2], 16)
    return numbers


def _key(stream: Stream) -> tuple[Any, ...]:
    if stream.trusted and stream.invocation:
        return ("invocation", stream.host, stream.boot, stream.invocation)
    if stream.trusted and stream.unit:
        return ("unit", stream.host, stream.boot, stream.unit)
    if stream.trusted:
        return ("trusted", stream.host, stream.boot, stream.container, stream.identifier, stream.pid, stream.kernel)
    return ("source", stream.source, stream.host, stream.container, stream.identifier, stream.pid)


def _latest_of_unit(groups: Iterable[Group], stream: Stream, line: Line) -> Group | None:
    """The group of a unit that began last before a line that names the unit and no invocation."""
    found: Group | None = None
    for group in groups:
        same = (group.stream.host, group.stream.boot, group.stream.unit) == (stream.host, stream.boot, stream.unit)
        first = group.lines[0].time_us if group.lines else None
        before = first is not None and line.time_us is not None and first <= line.time_us
        if same and before and (found is None or (first or 0) >= (found.lines[0].time_us or 0)):
            found = group
    return found


@dataclass(frozen=True)
class _Owner:
    process: Process | None
    load: Load | None
    scope: Scope | None
    rule: str
    candidates: tuple[Load, ...] = ()
    suspect: str = ""


class _Machine:
    """The state while the lines of one group after another go by."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.programs = programs
        self.ownership = Ownership()
        self.given: Mapping[int, OwnedRows] = {}

    # -- one group ----------------------------------------------------------------------------------------------------

    def run(self, group: Group) -> None:
        """Walk the lines of one group."""
        self.ownership.groups.append(group)
        group.supervised = {
            key_of(line)[1]
            for line in group.lines
            if line.carried_by is None and self.programs[line.pattern.program].grammar.supervises
        }
        if len({*(line.source for line in group.lines), *(rows.source for rows, _ in group.parts)}) > 1:
            self._as_lines(group)  # their order is not that of their places
        kinds = [rows.line(int(at[0])) for rows, at in _by_sort(group)]
        drop, undecided = claimed_twice([*group.lines, *kinds])
        group.lines = [line for line in group.lines if line.order not in drop]
        odd = "its clock does not fit its writer's other lines"
        suspects = dict.fromkeys(suspects_of(group, self.programs, _flags), odd)
        self._as_lines(group, suspects)
        parents = (
            line.pattern.name
            for line in group.lines
            if line.pattern.role == "parent" and "process" in line.pattern.effects
        )
        whole = condensed(group) if group.parts and group.supervised and seen_twice(parents) else group.lines
        for pid in group.supervised:
            heard = [one for one in whole if key_of(one)[1] == pid and one.carried_by is None]
            relays = {key_of(one) for one in heard if self.programs[one.pattern.program].grammar.supervises}
            grammars = {program: self.programs[program].grammar for program, _ in relays}
            known = {program: Relay(grammar.children, grammar.spawned) for program, grammar in grammars.items()}
            group.strange[pid], group.mixed[pid] = strangers(heard, known)
            for relay in relays:
                if twin_parents([one for one in heard if one.pattern.role != "parent" or key_of(one) == relay]):
                    group.shared.add(relay)
        self._find_twins(group, suspects)
        steady = Steady(
            group,
            self.ownership.lines,
            lambda line: self._line(group, line, ""),
            self.ownership.owners,
            self.given,
        )
        lines = iter(group.lines)
        line = next(lines, None)
        for last, up_to in steady.stretches():
            while line is not None and line.order < last:
                up_to(line.order)
                self._next(group, line, undecided, suspects)
                steady.forget()
                line = next(lines, None)
            up_to(last + 1)
        while line is not None:
            self._next(group, line, undecided, suspects)
            line = next(lines, None)
        if steady.became_lines:
            group.lines = sorted([*group.lines, *steady.became_lines], key=lambda one: one.order)
        for process in group.processes:
            for load in process.loads:
                if load.open and load.end_reason is None:
                    load.end_reason = load.closing_reason or "log_ends"

    def _next(self, group: Group, line: Line, undecided: Container[int], suspects: Mapping[int, str]) -> None:
        if line.order in undecided:
            self._emit(line, _Owner(None, None, Scope.AMBIGUOUS, "several programs of this stream print such a line"))
        else:
            self._line(group, line, suspects.get(line.order, ""))

    def _as_lines(self, group: Group, orders: Collection[int] | None = None) -> None:
        """Make lines of some rows, or of all."""
        if not group.parts or (orders is not None and not orders):
            return
        parts: list[Rowset] = []
        chosen = None if orders is None else np.array(sorted(orders), np.int64)
        for rows, at in group.parts:
            which = np.ones(len(at), bool) if chosen is None else np.isin(rows.order[at], chosen)
            group.lines += [rows.line(place) for place in at[which].tolist()]
            if not which.all():
                parts.append(Rowset(rows, at[~which]))
        group.parts = parts
        _sort(group)

    def _find_twins(self, group: Group, suspects: Mapping[int, str]) -> None:
        """Note in `group.shared` the writers whose name another process has as well."""
        runs: dict[tuple[str, int | None, str | None], list[Line]] = {}
        lines = condensed(group) if group.parts and _several_lives(group.lines) else group.lines
        for line in lines:
            own = line.pattern.role == "child" and not self._by_child(group, line)
            if own and line.carried_by is None and line.order not in suspects:
                runs.setdefault((*key_of(line), line.prefix.tag), []).append(line)
        for (program, pid, tag), run in runs.items():
            if (tag is None or self._collective(run[0])) and twins(run):
                group.shared.add((program, pid))

    # -- one line -----------------------------------------------------------------------------------------------------

    def _line(self, group: Group, line: Line, suspect: str) -> None:
        if line.carried_by is not None:
            self._emit(
                line, _Owner(None, None, None, "carried text is data"), "inside a text that another line carries"
            )
            return
        if line.stream.manager or line.stream.kernel:
            self._manager(group, line)
            return
        effects = line.pattern.effects
        begun = self._process_line(group, line) if "process" in effects else None
        owner = self._resolve(group, line) if begun is None else begun
        process = owner.process
        suspect = suspect or owner.suspect
        if process is not None and not suspect:
            suspect = self._implausible(process, owner.load, line)
        if suspect:
            if effects.keys() & {"process", "item", "load", "phase", "end", "spawn"}:
                self._emit(line, _Owner(process, None, None, "suspected forgery"), suspect)
                return
            suspect = ""
        if process is not None:
            if "process" not in effects:
                process.last = line
            marks = line.prefix.present and "begin" not in line.pattern.possible_in
            if marks and line.pattern.program not in process.prefixes:
                process.prefixes.add(line.pattern.program)
                group.changes += 1
        if "load" in effects:
            owner = self._begin_load(group, line, owner)
        if "spawn" in effects:
            owner = self._spawn(group, line, owner)
        if owner.scope is not Scope.AMBIGUOUS and not ("load" in effects or "spawn" in effects):
            owner = self._imply(group, line, owner)
        if "item" in effects and owner.load is not None and owner.load.implied and begins_anew(owner.load, line):
            self._finish(owner.load, line, "unknown", begins=False)
            owner = _Owner(
                process, None, None, "amounts begin anew: of another load, or of a draft that is not announced"
            )
        if owner.scope is Scope.AMBIGUOUS:
            target = _target(line, "phase")
            for load in owner.candidates:
                blur(load, line, target)
        else:
            self._apply(group, line, owner)
        self._emit(line, owner, suspect)

    def _emit(self, line: Line, owner: _Owner, suspect: str = "") -> None:
        load = owner.load
        self.ownership.lines.append(
            Owned(
                line=line,
                process=owner.process,
                load=load,
                part=load.part if load else None,
                phase=load.phase if load else None,
                scope=owner.scope,
                rule=owner.rule,
                candidates=owner.candidates,
                suspect=suspect,
            )
        )

    # -- who wrote it -------------------------------------------------------------------------------------------------

    def _resolve(self, group: Group, line: Line) -> _Owner:
        grammar = self.programs[line.pattern.program].grammar
        tag = line.prefix.tag
        if tag is not None and grammar.tag_is == "child":
            whose = (key_of(line)[1], tag)
            child = group.children.get(whose)
            if child is None:
                child = group.children[whose] = self._new_process(group, line, tag=tag)
            return self._inside(child, line, Scope.EXACT, "tag of the line")
        if grammar.members == "stream":
            return self._member(group, line)
        if line.pattern.role == "parent" or grammar.supervises:
            process = self._supervisor(group, line)
            meant = self._meant(group, line) if grammar.supervises else None
            if meant is not None:
                return _Owner(meant.process, meant, Scope.INFERRED, "the child that its supervisor means")
            return self._inside(process, line, Scope.EXACT if line.stream.trusted else Scope.INFERRED, "supervisor")
        return self._untagged(group, line)

    def _meant(self, group: Group, line: Line) -> Load | None:
        """The child that a supervisor's line is about without naming it."""
        pattern = line.pattern
        if key_of(line) in group.shared:
            return None
        alive = self._children(group, line)
        if pattern.possible_in:
            current = self._supervisor(group, line).current
            if current is not None and current.open and current.phase in pattern.possible_in:
                return current
            alive = [load for load in alive if load.phase in pattern.possible_in]
        elif pattern.effects.get("end", {}).get("by") != "self":
            return None
        return alive[0] if len(alive) == 1 else None

    def _children(self, group: Group, line: Line) -> list[Load]:
        """The open loads of the children of the supervisor that wrote a line."""
        parent = self._supervisor(group, line)
        parent.children = [one for one in parent.children if one.load is None or one.load.open]
        return [one.load for one in parent.children if one.load]

    def _untagged(self, group: Group, line: Line) -> _Owner:
        """A line that does not say who of its stream wrote it: by elimination, or ambiguous."""
        key, effects = key_of(line), line.pattern.effects
        form = None if line.pattern.unprefixed and not line.prefix.present else form_of(line)
        relayed = key[1] in group.supervised and form not in group.strange[key[1]]
        lives = [one for one in writers_of(group, key) if relayed or one.parent is None]
        if form is not None:
            lives = [one for one in lives if one.parent is None or self._forms(one.parent) in {None, form}]
        if not lives and not relayed:
            lives = [self._new_own(group, line)]
        if len(lives) == 1 and not relayed and key not in group.shared:
            only = lives[0]
            if (
                form in {"prefix", "json"}
                and only.form not in {None, form}
                and only.load is not None
                and only.load.open
            ):
                return _Owner(None, None, None, "made otherwise than its writer's lines")
            if only.load is not None and self._unnamed(group, line) and self._outgrown(only.load, line):
                return _Owner(only, None, None, "of a load that began before the log did it could be another's")
            rule = "trusted process id" if line.stream.trusted else "only writer of its source"
            return self._inside(only, line, Scope.EXACT if line.stream.trusted else Scope.INFERRED, rule)
        if relayed and any(pid == key[1] and (program, pid) in group.shared for program, pid in group.parents):
            loads = tuple(one.load for one in lives if one.load is not None)
            reason = "several supervisors relay through this stream"
            return _Owner(None, None, Scope.AMBIGUOUS if loads else None, reason, loads)
        if form is not None and any(one.form not in {None, form} for one in lives):
            lives = [one for one in lives if one.form in {None, form}]
            if not lives:
                reason = "without the prefix that its writers' lines have"
                return _Owner(None, None, None, reason, suspect=reason if form == "bare" else "")
        claimed = effects.get("claims")
        if claimed:
            due = claimed["due"]
            owing = [one for one in lives if one.load and due in one.load.due | one.load.may_owe]
            # Who never owed it may print it unasked, unless he has got ready without.
            free = [one for one in lives if may_write(one, line.pattern) and not _asked(one, due)]
            if len(owing) == 1 and all(one is owing[0] for one in free):
                return _Owner(owing[0], owing[0].load, Scope.INFERRED, "due from this writer")
        if "load" in effects:
            return self._beginner(group, line, lives)
        fitting = [one for one in lives if may_write(one, line.pattern)]
        if len(fitting) == 1:
            only = fitting[0]
            if only.parent and only.load and self._outgrown(only.load, line):
                reason = "a child that began before the log did could have written it too"
                return _Owner(None, None, Scope.AMBIGUOUS, reason, (only.load,))
            rule = "only child that can have written it" if only.parent else "only process that can have written it"
            return _Owner(only, only.load, Scope.INFERRED, rule)
        if fitting:
            loads = tuple(one.load for one in fitting if one.load is not None)
            return _Owner(None, None, Scope.AMBIGUOUS, "several could have written it, and none says which", loads)
        who = "child of this supervisor" if relayed else "process of this stream"
        return _Owner(None, None, None, f"no {who} was in a phase to write it")

    def _outgrown(self, load: Load, line: Line) -> bool:
        """Whether a load that is known from one line in its middle is past what only one at a time prints."""
        if not load.implied or "end" in line.pattern.effects:
            return False
        possible = line.pattern.possible_in
        return not load.may_be <= {"fit", "allocate"} or bool(possible and not possible & {"fit", "allocate"})

    def _forms(self, parent: Process) -> str | None:
        """The form of the lines of a supervisor's children, if it is known."""
        return self.programs[parent.program].grammar.children

    def _beginner(self, group: Group, line: Line, lives: list[Process]) -> _Owner:
        """Whose load begins: a process that has none yet, a child that was announced, or one that wakes."""
        announced = [
            one
            for one in lives
            if one.load is not None and one.load.open and one.load.announced_by_parent and "begin" in one.load.may_be
        ]
        waking = [one for one in lives if one.wakes or (one.load and (one.load.asleep or "asleep" in one.load.may_be))]
        beginning = [one for one in lives if one.load is None and not one.routes]
        able = [*announced, *waking, *beginning]
        model = getattr(line.matched.event, "model", None)
        named = [one for one in announced if model and one.load and model in {one.load.label, one.load.model}]
        named = named if self._by_child(group, line) else []
        if len(able) == 1:
            return _Owner(able[0], able[0].load, Scope.INFERRED, "only one that can begin a load")
        if len(named) == 1:
            return _Owner(named[0], named[0].load, Scope.INFERRED, "the file that its supervisor announced")
        if len(announced) > 1:
            loads = tuple(one.load for one in announced if one.load is not None)
            reason = "several children are announced, and none is named"
            return _Owner(None, None, Scope.AMBIGUOUS, reason, loads)
        if line.pattern.effects["load"].get("once") and not able:
            again = [one.load for one in lives if one.load and one.load.open and one.load.ready is None]
            if len(again) == 1:
                return _Owner(again[0].process, again[0], Scope.INFERRED, "only one whose load begins")
            if again:
                reason = "several could have written it, and none says which"
                return _Owner(None, None, Scope.AMBIGUOUS, reason, tuple(again))
        # Which of several beginnings goes on is not known: the load is a process of its own, and no beginning is its.
        for one in beginning if not announced else ():
            one.gone = True
        key = key_of(line)
        if self._by_child(group, line):
            return _Owner(None, None, Scope.INFERRED, "a child whose announcement is not in the log")
        process = self._new_own(group, line)
        for _ in beginning[1:] if not announced else ():
            self._new_own(group, line)
        group.own[key] = process
        return _Owner(process, None, Scope.INFERRED, "a load of its stream")

    def _inside(self, process: Process, line: Line, scope: Scope, rule: str) -> _Owner:
        """The load of a known process that a line belongs to: the one that is open, or the one that just ended."""
        load = process.load
        if load is None:
            return _Owner(process, None, scope, f"{rule}; before any load")
        possible = line.pattern.possible_in
        if possible == {"begin"} and load.open and "begin" not in load.may_be:
            return _Owner(None, None, None, "only a beginning process prints it, and none begins")
        if possible and load.phase not in possible and load.ended is not None and "end" not in possible:
            return _Owner(process, None, scope, f"{rule}; the load has ended")
        return _Owner(process, load, scope, rule)

    def _member(self, group: Group, line: Line) -> _Owner:
        """A process of a start that has several: known by its tag, else by being of the only start that can write."""
        key = key_of(line)
        tag = None if key in group.shared else _identity(line)  # a process id that occurs twice tells nothing either
        if tag is not None and tag in group.members:
            process = group.members[tag]
            self._bind(process, line)
            scope = Scope.EXACT if line.stream.trusted or self._sole(group, process) else Scope.INFERRED
            return self._inside(process, line, scope, "tag of the line")
        starts = [one for one in group.processes if one.program == key[0] and one.parent is None and not one.gone]
        if len(starts) > 1:
            by_pid = [one for one in starts if key[1] in one.pids]
            starts = by_pid or starts
        possible = group.may_be_members.get(tag, starts) if tag is not None else starts
        fitting = [one for one in possible if not one.gone and self._may_start(one, line)]
        if tag is not None and tag not in group.may_be_members:
            fitting = [one for one in fitting if self._has_room(one, line)]
        if len(fitting) == 1 or (fitting and all(one is fitting[0] for one in fitting)):
            process = fitting[0]
            if "load" not in line.pattern.effects:  # else it may begin another start
                self._join(group, process, line, tag)
            return self._inside(process, line, Scope.INFERRED, "only start that can have written it")
        if fitting:
            if tag is not None:
                group.changes += group.may_be_members.get(tag) != fitting
                group.may_be_members[tag] = fitting
            loads = tuple(one.load for one in fitting if one.load)
            return _Owner(None, None, Scope.AMBIGUOUS, "several starts could have written it", loads)
        alive = [one for one in starts if one.load is None or one.load.open]
        if starts and not alive and line.prefix.tag is None and "load" not in line.pattern.effects:
            return self._inside(starts[-1], line, Scope.INFERRED, "last start of its stream")
        if alive and "load" not in line.pattern.effects:
            return _Owner(None, None, None, "no start of this stream was in a phase to write it")
        process = self._new_process(group, line)
        self._join(group, process, line, tag)
        return self._inside(process, line, Scope.INFERRED, "first line of its start")

    def _may_start(self, process: Process, line: Line) -> bool:
        """Whether a start could have written a line, one that announces a load included."""
        load = process.load
        if "load" in line.pattern.effects:
            # What announces a start carries tags in all of its lines or in none of them.
            tagged = line.prefix.tag is not None
            alike = (
                load is None or any((tag is not None) == tagged for tag, _ in load.announcers) or not load.announcers
            )
            return alike and (load is None or (load.open and load.ready is None))
        return load is None or may_write(process, line.pattern)

    def _join(self, group: Group, process: Process, line: Line, tag: str | None) -> None:
        """A process is now known to be of a start."""
        if tag is not None:
            group.changes += group.members.get(tag) is not process or tag in group.may_be_members
            group.members[tag] = process
            group.may_be_members.pop(tag, None)
            self._bind(process, line)
        if line.stream.trusted and line.stream.pid is not None and line.stream.pid not in process.pids:
            process.pids.add(line.stream.pid)
            group.changes += 1

    def _bind(self, process: Process, line: Line) -> None:
        """Note what a member calls itself: of each name with a rank, a start has one."""
        tag, who = line.prefix.tag, line.prefix.who
        if tag is not None and (who is not None or tag not in process.members):
            name = who or process.members.get(tag, "")
            process.group.changes += process.members.get(tag) != name
            process.members[tag] = name

    def _has_room(self, process: Process, line: Line) -> bool:
        """Whether a start can have another member of that name: names with a rank or role are taken once.

        A worker that has not been given its rank yet goes by a bare name, which any number of them share.
        """
        who = line.prefix.who
        if who is None or who not in process.members.values():
            return True
        if who in self.programs[line.pattern.program].grammar.sole:
            return False
        return "load" not in line.pattern.effects and not any(character.isdigit() for character in who)

    def _sole(self, group: Group, process: Process) -> bool:
        return all(one is process for one in group.processes if one.program == process.program)

    def _new_process(self, group: Group, line: Line, tag: str | None = None, parent: Process | None = None) -> Process:
        process = Process(
            group=group,
            program=line.pattern.program,
            first=line,
            number=len(group.processes),
            pid=line.stream.pid if line.stream.trusted and tag is None and parent is None else None,
            tag=tag,
            parent=parent,
        )
        group.processes.append(process)
        group.changes += 1
        if parent is not None:
            parent.children.append(process)
        if tag is None and (parent is not None or not self._collective(line)):
            over = [one for one in group.untagged if one.gone or (one.parent and one.load and not one.load.open)]
            if len(over) > MANY:
                group.untagged = [one for one in group.untagged if one not in over]
            group.untagged.append(process)
        return process

    def _collective(self, line: Line) -> bool:
        """Whether a start of the line's program is several processes, told apart by the tags of their lines."""
        return self.programs[line.pattern.program].grammar.members == "stream"

    def _by_child(self, group: Group, line: Line) -> bool:
        """Whether an untagged line can only be of a supervisor's child."""
        pid, form = key_of(line)[1], form_of(line)
        return pid in group.supervised and form not in group.strange[pid] and form not in group.mixed[pid]

    def _new_own(self, group: Group, line: Line) -> Process:
        """Another life of a server that writes its own lines."""
        parent = None
        if self._by_child(group, line):
            parent = next((one for one in group.parents.values() if one.pid == key_of(line)[1]), None)
        process = group.own[key_of(line)] = self._new_process(group, line, parent=parent)
        return process

    # -- lives --------------------------------------------------------------------------------------------------------

    def _process_line(self, group: Group, line: Line) -> _Owner | None:
        """A line that only a beginning process prints: a new life, or one more line of the same beginning."""
        grammar = self.programs[line.pattern.program].grammar
        tag = line.prefix.tag
        if grammar.supervises and line.pattern.role == "parent":
            if key_of(line) not in group.shared:
                for load in self._children(group, line):
                    self._end(load, line, "unknown")
            return None
        if grammar.members == "stream":
            return None
        clock = line.clock_us
        if tag is not None:
            whose = (key_of(line)[1], tag)
            if whose in group.children and self._another_life(group.children[whose], line, clock):
                self._succeed(group.children.pop(whose), proven=True)
            return None
        key = key_of(line)
        lives = [one for one in writers_of(group, key) if not one.routes]
        name = line.pattern.name
        waiting = [one for one in lives if one.load is not None and "begin" in one.load.may_be and name not in one.said]
        waiting = waiting if self._by_child(group, line) else []
        if waiting:
            waiting[-1].said.add(name)
            if len(waiting) > 1:
                loads = tuple(one.load for one in waiting if one.load is not None)
                return _Owner(None, None, Scope.AMBIGUOUS, "several children are announced, and none is named", loads)
            return _Owner(waiting[-1], waiting[-1].load, Scope.INFERRED, "first words of an announced child")
        newest = group.own.get(key)
        mixed = form_of(line) in group.mixed.get(key[1], ())
        other = key in group.shared or mixed or newest is None or newest.gone
        if newest is not None and not other and not self._another_life(newest, line, clock):
            newest.said.add(name)
            if newest.load is not None and newest.load.open and line.pattern.possible_in == {"begin"}:
                reason = "a process does not begin in the middle of its own clock"
                return _Owner(None, None, None, reason, suspect=reason)
            if newest.load is None and (len(lives) > 1 or key[1] in group.supervised):
                return _Owner(newest, None, Scope.INFERRED, "newest process of its stream; before any load")
            return None
        for one in lives:
            goes_back = clock is not None and one.last_clock is not None and clock < one.last_clock
            if one.parent is None and (one is newest or one.load is not None):
                self._succeed(one, proven=goes_back and key not in group.shared)
        process = self._new_own(group, line)
        process.said.add(name)
        trusted = line.stream.trusted and len(lives) == 0
        return _Owner(process, None, Scope.EXACT if trusted else Scope.INFERRED, "first words of a process")

    def _another_life(self, process: Process, line: Line, clock: int | None) -> bool:
        """Whether a line that only a beginning process prints is not one more line of the beginning of this one."""
        if process.load is None:
            return line.pattern.name in process.said
        if process.load.announced_by_parent and process.first is process.last:
            return False  # the child that its supervisor has just spawned says its first words
        # A life does not begin in the middle of its own clock: such a line is suspected.
        return clock is None or process.last_clock is None or clock < process.last_clock

    def _succeed(self, process: Process, proven: bool) -> None:
        """Another life begins: this one has ended if that is proven, or if its end was seen to begin."""
        load = process.load
        over = proven or (load is not None and not load.asleep and (load.closing is not None or not load.open))
        if load is not None and load.open and over:
            load.end_reason = load.closing_reason or "unknown"
        process.gone = process.gone or over

    def _implausible(self, process: Process, load: Load | None, line: Line) -> str:
        """Why a line cannot be what it looks like, or nothing."""
        effects = line.pattern.effects
        clock = line.clock_us
        moves = "item" in effects or "load" in effects or "spawn" in effects or "end" in effects
        if (
            moves
            and line.pattern.program in process.prefixes
            and not line.prefix.present
            and not line.pattern.unprefixed
        ):
            return "without the prefix that its writer's lines have"
        grammar = self.programs[line.pattern.program].grammar
        if (
            "load" in effects
            and grammar.members == "process"
            and "child" not in effects["load"]
            and load is not None
            and load.open
            and load.phase == "serve"
            and not process.wakes
            and clock is not None
            and not load.announced_by_parent
        ):
            return "a load inside a process that already serves, without a sleep before it"
        if clock is not None:
            process.last_clock = clock
        return ""

    # -- loads --------------------------------------------------------------------------------------------------------

    def _begin_load(self, group: Group, line: Line, owner: _Owner) -> _Owner:
        arguments = line.pattern.effects["load"]
        model = getattr(line.matched.event, "model", None)
        if arguments.get("child"):
            label = line.matched.keys.get(arguments.get("label", ""), None) or model
            return self._announce(group, line, label, model)
        process = owner.process
        if process is None and self._by_child(group, line) and not owner.candidates:
            parents = [one for one in group.parents.values() if one.pid == key_of(line)[1]]
            process = self._new_process(group, line, parent=parents[-1] if parents else self._new_process(group, line))
            return _Owner(
                process,
                self._open(process, line, model),
                Scope.INFERRED,
                "a child whose announcement is not in the log",
            )
        if process is None:
            return owner
        load = process.load
        if load is not None and load.open and load.announced_by_parent and load.phase != "serve":
            load.model = load.model or model
            load.may_be.discard("begin")
            process.form = form_of(line)
            load.names.setdefault("child", model or "")
            return _Owner(process, load, owner.scope, owner.rule)
        if arguments.get("once") and load is not None and load.open:
            said = (line.prefix.tag, line.pattern.name)
            if load.ready is None and (said not in load.announcers or not self._collective(line)):
                load.model = load.model or model
                load.announcers.add(said)
                if self._collective(line):
                    self._join(group, process, line, _identity(line))
                return _Owner(process, load, owner.scope, owner.rule)
            same_writer = line.prefix.tag is None or line.prefix.tag in process.members
            if load.closing or (same_writer and key_of(line) not in group.shared):
                load.end_reason = load.closing_reason or "unknown"
            process = self._next_start(group, line)
        elif arguments.get("once") and load is not None:
            process = self._next_start(group, line)
        elif load is not None and load.open:
            key = (process.program, process.pid)
            if (
                line.prefix.tag is not None
                or load.closing is not None
                or (line.prefix.clock and key not in group.shared)
            ):
                load.end_reason = load.closing_reason or "unknown"
            process = self._replace_life(group, process, line)
        process.wakes = False
        load = self._open(process, line, model)
        load.announcers.add((line.prefix.tag, line.pattern.name))
        process.form = form_of(line)
        if self._collective(line):
            self._join(group, process, line, _identity(line))
        return _Owner(process, load, owner.scope, owner.rule)

    def _next_start(self, group: Group, line: Line) -> Process:
        """A new start in a stream whose processes share it: the pids of the last one may recur."""
        for tag in [tag for tag, one in group.members.items() if one.load is not None and not one.load.open]:
            del group.members[tag]
        starts = [one for one in group.processes if one.program == line.pattern.program and not one.gone]
        for one in starts[:-1]:
            one.gone = one.load is not None and not one.load.open
        return self._new_process(group, line)

    def _replace_life(self, group: Group, process: Process, line: Line) -> Process:
        """A load begins again without a wake: another life of the program, whose first lines are not in the log."""
        new = self._new_process(group, line, tag=process.tag, parent=process.parent)
        if process.tag is not None:
            group.children[key_of(line)[1], process.tag] = new
        else:
            for key, one in list(group.own.items()):
                if one is process:
                    group.own[key] = new
        process.gone = process.gone or not (process.load and process.load.open)
        return new

    def _announce(self, group: Group, line: Line, label: str | None, model: str | None) -> _Owner:
        """A supervisor says what it is about to start."""
        arguments = line.pattern.effects.get("load", {})
        children = self._children(group, line)
        parent = self._supervisor(group, line)
        if arguments.get("once"):
            confirms = "parent_ready" in line.pattern.effects
            for load in reversed(children):
                open_ = load.closing is None and (load.ready is None or (confirms and not load.confirmed))
                named = load.label == label or (None in {label, load.label} and key_of(line) not in group.shared)
                if open_ and named:
                    load.label, load.model = load.label or label, load.model or model
                    parent.current = load
                    return _Owner(load.process, load, Scope.EXACT, "announced by its supervisor")
        for load in children if key_of(line) not in group.shared else ():
            if label is not None and load.label == label:
                self._end(load, line, "superseded")
            elif load.ready is None and not arguments.get("parallel"):
                # One load at a time: the one before that never got ready was given up.
                self._end(load, line, "aborted")
        process = self._new_process(group, line, parent=parent)
        process.label = label
        announced = self._open(process, line, model)
        announced.label = label
        announced.announced_by_parent = True
        announced.may_be.add("begin")
        announced.mute = self.programs[parent.program].grammar.spawned
        parent.current = announced
        return _Owner(process, announced, Scope.EXACT, "announced by its supervisor")

    def _supervisor(self, group: Group, line: Line) -> Process:
        """The process that starts others: a supervisor's own lines are its, untagged as they are."""
        key = key_of(line)
        process = group.parents.get(key)
        if process is None:
            grammar = self.programs[line.pattern.program].grammar
            lives = [] if grammar.supervises else writers_of(group, key)
            beginning = [one for one in lives if one.load is None and not one.routes]
            process = beginning[0] if len(beginning) == 1 else self._new_process(group, line)
            process.routes = True
            group.parents[key] = process
            if group.own.get(key) is process:
                del group.own[key]
        return process

    def _spawn(self, group: Group, line: Line, owner: _Owner) -> _Owner:
        """A supervisor starts a child process."""
        arguments = line.pattern.effects["spawn"]
        captured = {**line.matched.keys, **_fields(line)}
        key = captured.get(arguments.get("key", ""))
        label = captured.get(arguments.get("label", ""))
        grammar = self.programs[line.pattern.program].grammar
        if grammar.tag_is == "child" and grammar.tag is not None and key is not None:
            process = self._new_process(group, line, tag=str(key), parent=owner.process)
            process.label = None if label is None else str(label)
            whose = (key_of(line)[1], str(key))
            old = group.children.get(whose)
            if old is not None and old.load is not None and old.load.open:
                self._end(old.load, line, "unknown")
            group.children[whose] = process
            process.last = line
            load = self._open(process, line, process.label)
            load.label = process.label
            load.announced_by_parent = True
            load.may_be.add("begin")
            load.spawned = True
            return _Owner(process, load, Scope.EXACT, "spawned by its supervisor")
        waiting = [load for load in self._children(group, line) if load.ready is None]
        if waiting and (label is None or waiting[-1].label in (None, label)):
            load = waiting[-1]
            if load.spawned:
                for item in load.items:
                    item.mark, item.why = Mark.SUPERSEDED, "the first attempt of this load was given up"
                load.contexts, load.context, load.outer, load.part = [], None, [], Part.TARGET
                load.unsure.clear()
                load.enter("allocate", line)
            load.spawned, load.mute = True, False
            load.label = load.label or (None if label is None else str(label))
            load.process.label = None if key is None else str(key)
            return _Owner(load.process, load, Scope.EXACT, "spawned by its supervisor")
        announced = self._announce(group, line, None if label is None else str(label), None)
        assert announced.load is not None
        announced.load.spawned, announced.load.mute = True, False
        announced.load.process.label = None if key is None else str(key)
        return announced

    def _imply(self, group: Group, line: Line, owner: _Owner) -> _Owner:
        """A line that only a load prints, where none is known: the line that began it is not in the log."""
        arguments = line.pattern.effects.get("implies_load")
        process, known = owner.process, owner.load
        rule = "a load must have begun before this source did"
        if known is not None:
            if arguments is None or not self._another(known, line, arguments.get("again_s")):
                return owner
            rule = "printed once a load, and printed again: a load must have begun in between"
            known.end_reason = "unknown"
            if self._collective(line):
                process = self._next_start(group, line)
        elif (arguments is None or arguments.get("first")) and not self._shows_first(group, line, process):
            return owner
        phase = arguments.get("phase", "serve") if arguments else shown_phase(line.pattern)
        if phase is None:
            return owner
        if process is None and self._collective(line):
            process = self._new_process(group, line)
        if process is None or process.parent is not None:
            parent = process.parent if process is not None else self._relaying(group)
            if parent is None:
                return owner
            process = self._new_process(group, line, parent=parent)
        load = self._open(process, line, None)
        load.implied = not process.said  # a build that announces no load, in a log that has the process's beginning
        load.phase = phase
        load.phases[-1] = (phase, line)
        load.may_be = {phase}
        if self._collective(line):
            self._join(group, process, line, _identity(line))
        return _Owner(process, load, Scope.INFERRED, rule)

    def _shows_first(self, group: Group, line: Line, process: Process | None) -> bool:
        """Whether a line can be of a load that began before the log did: as long as nothing is known of its writer."""
        key = key_of(line)
        if key in group.shared or (*key, line.prefix.tag) in group.restarted:
            return False
        if process is not None and (process.routes or process.loads):
            return False
        if process is None and self._collective(line):
            return line.prefix.who in self.programs[line.pattern.program].grammar.sole
        if process is not None and process.tag is not None:
            # Who has loads of its own has no children that would write tagged lines, and a router whose beginning is
            # here has announced each of them: such a line is in some text.
            return not any(one.tag is None and (one.said if one.routes else one.loads) for one in group.processes)
        if self._unnamed(group, line) or process is None:
            # Children that serve may be several, and a log without prefixes may be a relay's; one loads at a time.
            return line.pattern.possible_in <= {"fit", "allocate"} and not any(one.loads for one in group.processes)
        return line.stream.trusted or not any(one.loads for one in group.processes)

    def _unnamed(self, group: Group, line: Line) -> bool:
        """Whether a line could be of any of a supervisor's children, or of a log without prefixes that mixes some."""
        pid, name = key_of(line)[1], line.stream.identifier
        if pid in group.supervised or (not line.stream.trusted and name is None and form_of(line) == "bare"):
            return True
        relays = (one for one in self.programs.values() if one.grammar.supervises)
        return name is not None and any(known.search(name) for one in relays for known in one.process_names)

    def _another(self, load: Load, line: Line, again_s: float | None) -> bool:
        """Whether a line that is all that is known of a load, printed again, tells of another load.

        Only in a log that somebody filtered: a load of which anything else is known may print the line for its dry run
        and for its draft model too.
        """
        if again_s is None or not load.implied or not load.open or load.items:
            return False
        if load.begun.pattern is not line.pattern or load.begun.prefix.tag != line.prefix.tag:
            return False
        begun, now = load.begun.time_us, line.time_us
        return again_s == 0 or (begun is not None and now is not None and now - begun > again_s * 1_000_000)

    def _relaying(self, group: Group) -> Process | None:
        """The process that relays its children's lines through this group's stream; it may not have spoken yet."""
        for line in group.lines:
            grammar = self.programs[line.pattern.program].grammar
            if grammar.supervises and line.carried_by is None and not line.stream.manager and not line.stream.kernel:
                return self._supervisor(group, line)
        return None

    def _open(self, process: Process, line: Line, model: str | None) -> Load:
        load = Load(process=process, number=len(process.loads), begun=line, engine=process.program, model=model)
        load.phases.append((load.phase, line))
        process.loads.append(load)
        process.group.changes += 1
        return load

    def _end(self, load: Load, line: Line, reason: str) -> None:
        if load.open:
            load.ended, load.end_reason = line, reason
        elif load.ended is None:
            load.ended = line

    # -- what a line does ---------------------------------------------------------------------------------------------

    def _apply(self, group: Group, line: Line, owner: _Owner) -> None:
        effects = line.pattern.effects
        process, load = owner.process, owner.load
        if process is not None:
            self._learn(process, load, line)
        if "parent_ready" in effects:
            self._parent_ready(group, line)
        if "live_count" in effects:
            self._live_count(group, line)
        if "end" in effects:
            self._end_effect(group, line, owner)
        if "due" in effects and process is not None:
            if effects["due"]["next"] == "load":
                process.wakes = True
            elif load is not None:
                load.due.add(effects["due"]["next"])
                load.owed.add(effects["due"]["next"])
        if load is None:
            return
        settle(load, line)
        if "claims" in effects and not effects["claims"].get("keeps"):
            load.due.discard(effects["claims"]["due"])
            load.may_owe.discard(effects["claims"]["due"])
        if "set" in effects:
            self._set(load, line)
        if "use" in effects:
            line.matched = replace(line.matched, event=self._use(load, line))
        if "part" in effects:
            self._part(load, line)
        if "context" in effects:
            load.context = Context(len(load.contexts), load.part, announced=True)
            load.contexts.append(load.context)
            load.unsure.discard("context")
        if "block" in effects and load.context is not None:
            load.context.blocks += 1
            load.context.open_block = True
            load.context.block_devices = set()
        if "phase" in effects:  # before its amount, which is of the phase that the line begins
            self._phase(load, line)
        if "item" in effects:
            self._item(load, line)
        if "block_end" in effects and load.context is not None:
            load.context.open_block = False

    def _learn(self, process: Process, load: Load | None, line: Line) -> None:
        event = line.matched.event
        if isinstance(event, VersionReported):
            process.version = event.version
            if load is not None and event.model and not load.model:
                load.model = event.model
        elif isinstance(event, VerbosityReported):
            process.verbosity = event.level
        elif isinstance(event, DeviceSeen):
            process.devices.append(event)
        elif isinstance(event, ArgumentsReported):
            process.arguments.append(event.text)
        elif isinstance(event, ModelIdentified) and load is not None:
            load.names.setdefault(event.what, event.model)

    def _phase(self, load: Load, line: Line) -> None:
        target = _target(line, "phase")
        if target is None or (not load.open and target != "asleep"):
            return
        if load.phase == "end" or (load.phase == "serve" and target in {"fit", "allocate"}):
            return
        if target == "serve" and load.phase == "asleep" and not load.open:
            return
        arguments = line.pattern.effects["phase"]
        if arguments.get("shown") and not load.phases[-1][1].pattern.effects.get("phase", {"shown": True}).get("shown"):
            return  # the phase was announced: what a line only shows does not end it
        after = arguments.get("after")
        if after and load.implied and all(phase != after for phase, _ in load.phases):
            self._was_all(load, after)
        load.enter(target, line)

    def _was_all(self, load: Load, phase: str) -> None:
        """The end of a phase whose beginning is not in the log: what the load printed so far was of that phase."""
        load.phases[0] = (phase, load.phases[0][1])
        load.phase = phase
        for item in load.items:
            if phase == "fit" and item.mark is Mark.COUNTED:
                item.mark, item.why = Mark.PLANNED, "printed by a dry run that allocates nothing"
        load.contexts, load.context, load.outer, load.part = [], None, [], Part.TARGET

    def _part(self, load: Load, line: Line) -> None:
        target = _target(line, "part")
        if target is None:
            return
        load.unsure.discard("part")
        if target == "outer":
            load.part = load.outer.pop() if load.outer else Part.TARGET
            own = [one for one in load.contexts if one.part == load.part]
            # Once other contexts exist, a line outside any bracket may be any of theirs.
            load.context = (
                own[-1] if own and len({one.part for one in load.contexts if one.part in _MODELS}) == 1 else None
            )
            return
        if target != load.part:
            load.outer.append(load.part)
            load.part = target
        own = [one for one in load.contexts if one.part == target]
        load.context = own[-1] if own else None

    def _set(self, load: Load, line: Line) -> None:
        arguments = line.pattern.effects["set"]
        captured = {**line.matched.keys, **_fields(line)}
        value = arguments.get("value", captured.get(arguments.get("from", "")))
        if value is None:
            return
        if arguments.get("per") == "writer":
            load.process.writer_variables[line.prefix.tag, arguments["name"]] = value
        elif arguments.get("append"):
            kept = load.variables.setdefault(arguments["name"], [])
            if value not in kept:
                kept.append(value)
        else:
            load.variables[arguments["name"]] = [value]

    def _use(self, load: Load, line: Line) -> Any:
        arguments = line.pattern.effects["use"]
        name, target = arguments["name"], arguments["as"]
        value = load.process.writer_variables.get((line.prefix.tag, name))
        if value is None and load.variables.get(name):
            value = load.variables[name][-1]
        event = line.matched.event
        if value is None or getattr(event, target, None) is not None:
            return event
        text = str(value)
        if event_fields(type(event))[target].type is int:
            return replace(event, **{target: int(text)}) if WHOLE.fullmatch(text) else event
        return replace(event, **{target: text})

    # -- the ledger ---------------------------------------------------------------------------------------------------

    def _item(self, load: Load, line: Line) -> None:
        arguments = line.pattern.effects["item"]
        event = line.matched.event
        size = getattr(event, "size_bytes", None)
        if size is None:
            return
        combine, per = arguments.get("combine", "add"), arguments.get("per", "load")
        part = arguments.get("part", load.part)
        context = load.context
        estimated = arguments.get("basis") == "estimated"
        if per == "context" and context is None and not estimated and not load.contexts:
            context = load.context = Context(0, part)  # builds that do not announce contexts
            load.contexts.append(context)
        elif per == "context" and context is None and part not in {one.part for one in load.contexts} and not estimated:
            context = load.context = Context(len(load.contexts), part)
            load.contexts.append(context)
        device = getattr(event, "device", None) or ""
        item = Item(
            load=load,
            line=line,
            device=device,
            part=part,
            kind=getattr(event, "kind", None),
            size_bytes=size,
            bound_bytes=line.matched.bounds.get("size_bytes", 0),
            basis=arguments.get("basis", "logged"),
            mark=Mark.COUNTED,
            context=context,
            block=context.blocks if context else 0,
            combine=combine,
            per=per,
            writer=line.prefix.tag,
        )
        if estimated:
            item.mark, item.why = Mark.ESTIMATED, "a forecast, not an allocation"
        elif load.phase == "fit":
            item.mark, item.why = Mark.PLANNED, "printed by a dry run that allocates nothing"
        elif load.phase not in line.pattern.believed_in:
            item.mark, item.why = Mark.CLAIMED, f"printed in the phase {load.phase}: shown, not counted"
        elif not load.may_be - {"begin"} <= line.pattern.believed_in:
            item.mark, item.why = Mark.CLAIMED, "lines that several could have written leave its phase open"
        elif ("part" in load.unsure and "part" not in arguments) or (per == "context" and "context" in load.unsure):
            item.mark, item.why = Mark.CLAIMED, "lines that several could have written leave its part open"
        elif per == "context" and context is None:
            item.mark, item.why = Mark.CLAIMED, "several contexts could have printed it"
        else:
            self._combine(load, item)
        load.items.append(item)

    def _combine(self, load: Load, item: Item) -> None:
        """Let a counted amount replace the earlier ones that it repeats."""
        context = item.context
        if item.combine == "block" and context is not None:
            if not context.open_block and item.device in context.block_devices:
                context.blocks += 1
                context.block_devices = set()
            context.block_devices.add(item.device)
            item.block = context.blocks
        for other in load.items:
            same = other.mark is Mark.COUNTED and other.kind == item.kind and other.device == item.device
            if same and (other.basis == "derived") != (item.basis == "derived"):
                table, logged = (other, item) if other.basis == "derived" else (item, other)
                table.mark, table.superseded_by = Mark.SUPERSEDED, logged
                table.why = "computed by the supervisor; the runner itself logged it"
                continue
            if other.mark is not Mark.COUNTED or other.kind != item.kind or not self._same_place(other, item):
                continue
            if item.combine == "block" and other.block != item.block:
                other.mark, other.superseded_by = Mark.SUPERSEDED, item
                other.why = "reserved again: the later block replaces it on all devices"
            elif item.combine == "last" and other.device == item.device and other.writer == item.writer:
                other.mark, other.superseded_by = Mark.SUPERSEDED, item
                other.why = "printed again: the last one counts"
            elif item.combine == "once" and other.device == item.device and other.writer == item.writer:
                item.mark, item.superseded_by = Mark.SUPERSEDED, other
                item.why = "the same amount, printed once more"

    def _same_place(self, other: Item, item: Item) -> bool:
        if other.line.pattern is not item.line.pattern:
            return False
        if item.per == "context":
            return other.context is item.context
        if item.per == "part":
            return other.part == item.part
        return True

    # -- endings ------------------------------------------------------------------------------------------------------

    def _parent_ready(self, group: Group, line: Line) -> None:
        """A supervisor says that its loading child serves."""
        arguments = line.pattern.effects["parent_ready"]
        captured = {**line.matched.keys, **_fields(line)}
        named = captured.get(arguments.get("label") or arguments.get("key") or "")
        waiting = [
            load
            for load in self._children(group, line)
            if not load.confirmed and (named is None or str(named) in {load.label, load.process.label})
        ]
        if len(waiting) == 1 and (named is not None or key_of(line) not in group.shared):
            waiting[0].confirmed = True
            if waiting[0].phase != "end":
                waiting[0].enter("serve", line)

    def _live_count(self, group: Group, line: Line) -> None:
        captured = {**line.matched.keys, **_fields(line)}
        count = captured.get(line.pattern.effects["live_count"]["from"])
        alive = self._children(group, line)
        if count is None or not alive or key_of(line) in group.shared:
            return
        if int(count) == 0:
            for load in alive:
                self._end(load, line, "unknown")
        elif int(count) == 1:
            for load in alive[:-1]:
                self._end(load, line, "evicted")

    def _end_effect(self, group: Group, line: Line, owner: _Owner) -> None:
        arguments = line.pattern.effects["end"]
        captured = {**line.matched.keys, **_fields(line)}
        reason = arguments.get("reason")
        if "map" in arguments:
            reason = arguments["map"].get(str(captured.get(arguments.get("from", ""))), reason)
        reason = reason or "unknown"
        by = arguments.get("by", "self")
        loads: list[Load] = []
        if key_of(line) in group.shared and line.pattern.role == "parent" and by not in {"label", "key"}:
            return
        if by == "self" and owner.load is not None:
            loads = [owner.load]
        elif by in {"label", "key"}:
            text = str(captured.get(arguments.get("from", "")))
            for wanted in dict.fromkeys((text, *text.split())):
                named = [
                    load
                    for load in self._children(group, line)
                    if wanted in {load.label, load.process.tag, load.process.label}
                ]
                loads += named if len(named) == 1 and named[0] not in loads else []
            if len(loads) == 1 and captured.get("pid") is not None:
                loads[0].process.pid = captured["pid"]
        elif by == "pid":
            alive = self._children(group, line)
            loads = [load for load in alive if load.process.pid == captured.get("pid")]
            # A supervisor that names a pid nobody has introduced means the child it is closing, or its only one.
            loads = loads or [load for load in alive if load.closing is not None] or alive
            loads = loads if len(loads) == 1 else []
        elif by == "children":
            loads = self._children(group, line)
        elif by == "all":
            loads = [one.load for one in group.processes if one.load and one.load.open]
        for load in loads:
            self._finish(load, line, reason, begins=bool(arguments.get("begins")))

    def _finish(self, load: Load, line: Line, reason: str, begins: bool) -> None:
        if begins:
            if load.closing is None and load.open:
                load.closing = line
                load.variables.setdefault("closing_reason", [reason])
                load.enter("end", line)
            return
        if load.open:
            if reason == "exit":
                reason = load.closing_reason or reason
            load.closing = load.closing or line
            load.ended, load.end_reason = line, reason
            if reason != "sleep":
                load.enter("end", line)

    def _manager(self, group: Group, line: Line) -> None:
        """A service manager's or kernel's line: it ends what it names."""
        effects = line.pattern.effects
        arguments = effects.get("end")
        touched: list[Load] = []
        if arguments and arguments.get("by") == "unit":
            captured = {**line.matched.keys, **_fields(line)}
            reason = arguments.get("reason")
            if "map" in arguments:
                reason = arguments["map"].get(str(captured.get(arguments.get("from", ""))), reason)
            for process in group.processes:
                load = process.load
                if process.ended is None and (load is None or load.ended is None or load.end_reason == "sleep"):
                    process.ended = line
                if load is None:
                    continue
                touched.append(load)
                if load.open:
                    final = reason or "unknown"
                    if final == "exit":
                        final = load.closing_reason or final
                    load.ended, load.end_reason = line, final
                    load.closing = load.closing or line
                    load.enter("end", line)
        elif line.stream.manager:
            touched = [one.load for one in group.processes if one.load is not None and one.load.open]
        if len(touched) == 1:
            self._emit(line, _Owner(touched[0].process, touched[0], Scope.EXACT, "invocation of the unit"))
        else:
            only = group.processes[-1] if len(group.processes) == 1 else None
            self._emit(line, _Owner(only, None, None, "about the unit, not one load"))


_MODELS = frozenset({Part.TARGET, Part.DRAFT, Part.MTP})


def _target(line: Line, effect: str) -> str | None:
    """Where an effect leads: a fixed phase or part, or what a captured value stands for."""
    arguments = line.pattern.effects.get(effect)
    if arguments is None:
        return None
    target: str | None = arguments.get("to")
    if target is None:
        captured = {**line.matched.keys, **_fields(line)}
        target = arguments["map"].get(str(captured.get(arguments["from"])))
    return target


def _asked(process: Process, due: str) -> bool:
    """Whether a life prints what is due only after it has said that it will, or not at all."""
    load = process.load
    return load is not None and (due in load.owed or load.may_be <= {"serve", "asleep", "end"})


def _identity(line: Line) -> str | None:
    """The tag of a line, where it is a process id: a rank does not tell one start from another."""
    tag = line.prefix.tag
    return tag if tag is not None and tag.isdigit() else None


def _fields(line: Line) -> dict[str, Any]:
    return {name: value for name, value in vars(line.matched.event).items() if value is not None}
