"""Give each event to the one model load that owns it, or say why none does.

A state machine that names no program: it sees what a line's pattern declares (`effect`, `role`, `possible_in`) and the
trusted fields of its record. Outer scope is the group of streams of one start of a service; inside it a tag of the
line, a trusted process id, or order while exactly one load can be writing decide. An ambiguous line changes no state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .catalogue import Catalogue, Pattern, Program
from .columns import is_plain
from .effects import change, finish, leads_to, learn
from .events import LoadReady
from .groups import collect, one_of_each_sort, put_in_order, service_of
from .lifecycle import Lifecycle
from .line import Line
from .lives import Group, Load, Owned, OwnedRows, Process, Rowset, Scope
from .scan import Found
from .steady import Steady, condensed, number_lines, seen_twice, split_off, suspects_of
from .whose import Owner, Writers
from .writers import Relay, begins_anew, blur, claimed_twice, key_of, strangers, twin_parents, twins

__all__ = ["Ownership", "assign"]


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
        firsts, parts = split_off(rows, lambda sort: service_of(rows[0].sorts[sort].stream))
        lines = sorted([*lines, *firsts], key=lambda line: line.order)
    for group in collect(lines):
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


class _Machine:
    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.programs = programs
        self.writers = Writers(programs)
        self.lifecycle = Lifecycle(self.writers)
        self.ownership = Ownership()
        self.given: Mapping[int, OwnedRows] = {}
        self._plain: dict[Pattern, bool] = {}

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
        kinds = [rows.line(int(at[0])) for rows, at in one_of_each_sort(group)]
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
                before = group.changes
                self._next(group, line, undecided, suspects)
                if group.changes != before or not self._only_reports(line.pattern):
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
                    if load.implied and load.ready is None and load.phase != "end":
                        load.ready = self._last_word(load)
                    load.end_reason = load.closing_reason or "log_ends"

    def _last_word(self, load: Load) -> Line | None:
        """The line that an excerpt ends its load with, if it is one that a load prints when it is complete."""
        last = next((one.line for one in reversed(self.ownership.lines) if one.load is load), None)
        return last if last is not None and last.pattern.event is LoadReady else None

    def _only_reports(self, pattern: Pattern) -> bool:
        if pattern not in self._plain:
            self._plain[pattern] = is_plain(pattern, self.programs[pattern.program])
        return self._plain[pattern]

    def _next(self, group: Group, line: Line, undecided: Container[int], suspects: Mapping[int, str]) -> None:
        if line.order in undecided:
            self._emit(line, Owner(None, None, Scope.AMBIGUOUS, "several programs of this stream print such a line"))
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
        put_in_order(group)

    def _find_twins(self, group: Group, suspects: Mapping[int, str]) -> None:
        """Note in `group.shared` the writers whose name another process has as well."""
        runs: dict[tuple[str, int | None], list[Line]] = {}
        lines = condensed(group) if group.parts and _several_lives(group.lines) else group.lines
        for line in lines:
            own = line.pattern.role == "child" and not self.writers.by_child(group, line)
            of_its_start = line.prefix.tag is None or self.writers.collective(line)
            if own and of_its_start and line.carried_by is None and line.order not in suspects:
                runs.setdefault(key_of(line), []).append(line)
        group.shared.update(key for key, run in runs.items() if twins(run))

    def _line(self, group: Group, line: Line, suspect: str) -> None:
        if line.carried_by is not None:
            self._emit(line, Owner(None, None, None, "carried text is data"), "inside a text that another line carries")
            return
        if line.stream.manager or line.stream.kernel:
            self._emit(line, self.lifecycle.manager(group, line))
            return
        effects = line.pattern.effects
        shared = key_of(line) in group.shared
        if shared and effects.keys() & {"process", "load"}:
            suspect = ""  # nothing says that its clock is of another writer than those that are known to be there
        begun = self.writers.process_line(group, line) if "process" in effects else None
        owner = self.writers.resolve(group, line) if begun is None else begun
        process = owner.process
        suspect = suspect or owner.suspect
        if process is not None and not suspect:
            suspect = self.writers.implausible(process, owner.load, line)
        if suspect and shared:
            for load in owner.candidates or ((owner.load,) if owner.load is not None else ()):
                blur(load, line, leads_to(line, "phase"))
        if suspect and effects.keys() & {"process", "item", "load", "phase", "end", "spawn"}:
            self._emit(line, Owner(process, None, None, "suspected forgery"), suspect)
            return
        if suspect:
            self._emit(line, Owner(process, None, None, suspect))
            return
        if process is not None:
            if "process" not in effects:
                process.last = line
            marks = line.prefix.present and "begin" not in line.pattern.possible_in
            if marks and line.pattern.program not in process.prefixes:
                process.prefixes.add(line.pattern.program)
                group.changes += 1
        if "load" in effects:
            owner = self.lifecycle.begin_load(group, line, owner)
        if "spawn" in effects:
            owner = self.lifecycle.spawn(group, line, owner)
        if owner.scope is not Scope.AMBIGUOUS and not ("load" in effects or "spawn" in effects):
            owner = self.lifecycle.imply(group, line, owner)
        if "item" in effects and owner.load is not None and owner.load.implied and begins_anew(owner.load, line):
            finish(owner.load, line, "unknown", begins=False)
            owner = Owner(
                process, None, None, "amounts begin anew: of another load, or of a draft that is not announced"
            )
        if owner.scope is Scope.AMBIGUOUS:
            target = leads_to(line, "phase")
            for load in owner.candidates:
                blur(load, line, target)
        else:
            owner = self._apply(group, line, owner)
        self._emit(line, owner)

    def _emit(self, line: Line, owner: Owner, suspect: str = "") -> None:
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

    def _apply(self, group: Group, line: Line, owner: Owner) -> Owner:
        """Let a line have its effects; one of a supervisor that moves one child alone is that child's."""
        effects = line.pattern.effects
        process, load = owner.process, owner.load
        if process is not None:
            learn(process, load, line)
        moved: list[Load] = []
        if "parent_ready" in effects:
            moved += self.lifecycle.parent_ready(group, line)
        if "live_count" in effects:
            self.lifecycle.live_count(group, line)
        if "end" in effects:
            moved += self.lifecycle.end_effect(group, line, owner)
        if "discovers" in effects and process is not None:
            process.discovers = True
        if "due" in effects and process is not None:
            if effects["due"]["next"] == "load":
                process.wakes = True
            elif load is not None:
                load.due.add(effects["due"]["next"])
                load.owed.add(effects["due"]["next"])
        if load is None:
            if line.pattern.role != "parent" or len(moved) != 1:
                return owner
            means = effects.get("end", {}).get("by") == "pid" or effects.get("parent_ready") == {}
            scope, rule = (Scope.INFERRED, "means") if means else (Scope.EXACT, "names")
            return Owner(moved[0].process, moved[0], scope, f"the child that its supervisor {rule}")
        for item in change(load, line):
            at = next(one for one in reversed(self.ownership.lines) if one.line is item.line)
            at.part = item.part
        return owner
