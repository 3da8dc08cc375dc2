"""When a load begins and ends: announced, spawned, implied by what only a load prints, closed, replaced, killed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .effects import captured, close, finish
from .events import Part
from .line import Line
from .lives import Group, Load, Mark, Process, Scope
from .whose import Owner, Writers, identity
from .writers import form_of, key_of, shown_phase

__all__ = ["Lifecycle"]


class Lifecycle:
    """Begins and ends loads."""

    def __init__(self, writers: Writers) -> None:
        self.writers = writers

    def begin_load(self, group: Group, line: Line, owner: Owner) -> Owner:
        """A load begins: of the process that says so, or of the child that its supervisor announces."""
        arguments = line.pattern.effects["load"]
        model = captured(line).get("model")
        if arguments.get("child"):
            label = line.matched.keys.get(arguments.get("label", ""), None) or model
            return self._announce(group, line, label, model)
        process = owner.process
        if process is None and self.writers.by_child(group, line) and not owner.candidates:
            parents = [one for one in group.parents.values() if one.pid == key_of(line)[1]]
            parent = parents[-1] if parents else self._relaying(group, key_of(line)[1])
            process = self.writers.new_process(
                group, line, parent=self.writers.new_process(group, line) if parent is None else parent
            )
            return Owner(
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
            return Owner(process, load, owner.scope, owner.rule)
        if arguments.get("once") and load is not None and load.open:
            said = (line.prefix.tag, line.pattern.name)
            if load.ready is None and (said not in load.announcers or not self.writers.collective(line)):
                load.model = load.model or model
                load.announcers.add(said)
                if self.writers.collective(line):
                    self.writers.join(group, process, line, identity(line))
                return Owner(process, load, owner.scope, owner.rule)
            # A process of another trusted id says it too: a second server, beside the first.
            same_writer = (line.prefix.tag is None or line.prefix.tag in process.members) and (
                not line.stream.trusted or line.stream.pid in process.pids
            )
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
        if self.writers.collective(line):
            self.writers.join(group, process, line, identity(line))
        if owner.scope is None:  # of whoever was there before: this is a beginning
            return Owner(process, load, Scope.INFERRED, "a load of its stream")
        return Owner(process, load, owner.scope, owner.rule)

    def _next_start(self, group: Group, line: Line) -> Process:
        """A new start in a stream whose processes share it: the pids of the last one may recur."""
        for tag in [tag for tag, one in group.members.items() if one.load is not None and not one.load.open]:
            del group.members[tag]
        starts = [one for one in group.processes if one.program == line.pattern.family and not one.gone]
        for one in starts[:-1]:
            one.gone = one.load is not None and not one.load.open
        return self.writers.new_process(group, line)

    def _replace_life(self, group: Group, process: Process, line: Line) -> Process:
        """A load begins again without a wake: another life of the program, whose first lines are not in the log."""
        new = self.writers.new_process(group, line, tag=process.tag, parent=process.parent)
        if process.tag is not None:
            group.children[key_of(line)[1], process.tag] = new
        else:
            for key, one in list(group.own.items()):
                if one is process:
                    group.own[key] = new
        process.gone = process.gone or not (process.load and process.load.open)
        return new

    def _announce(self, group: Group, line: Line, label: str | None, model: str | None) -> Owner:
        """A supervisor says what it is about to start."""
        arguments = line.pattern.effects.get("load", {})
        children = self.writers.children(group, line)
        parent = self.writers.supervisor(group, line)
        if arguments.get("once"):
            confirms = "parent_ready" in line.pattern.effects
            for load in reversed(children):
                begun = load.implied and load.items  # it is announced before it allocates: this is of the next one
                open_ = load.closing is None and not begun and (load.ready is None or (confirms and not load.confirmed))
                named = load.label == label or (None in {label, load.label} and key_of(line) not in group.shared)
                if open_ and named:
                    load.announcements += _texts(line)
                    load.label, load.model = load.label or label, load.model or model
                    parent.current, parent.discovers = load, False
                    return Owner(load.process, load, Scope.EXACT, "announced by its supervisor")
            heard = self._listening(group, line) if confirms else None
            if heard is not None:
                heard.parent, heard.label = parent, label
                parent.children.append(heard)
                assert heard.load is not None
                heard.load.label, parent.current = label, heard.load
                heard.load.announcements += _texts(line)
                return Owner(heard, heard.load, Scope.EXACT, "the child that its supervisor names")
        for load in children if key_of(line) not in group.shared else ():
            if label is not None and load.label == label:
                close(load, line, "superseded")
            elif load.ready is None and not arguments.get("parallel"):
                # One load at a time: the one before that never got ready was given up.
                close(load, line, "unknown" if load.implied else "aborted")
        process = self.writers.new_process(group, line, parent=parent)
        process.label = label
        announced = self._open(process, line, model)
        announced.label = label
        announced.announced_by_parent = True
        announced.announcements += _texts(line)
        announced.may_be.add("begin")
        announced.mute = self.writers.programs[parent.program].grammar.spawned
        parent.current, parent.discovers = announced, False
        return Owner(process, announced, Scope.EXACT, "announced by its supervisor")

    def _listening(self, group: Group, line: Line) -> Process | None:
        """Who loaded unannounced, and listens on the port at which a supervisor says that its child answers."""
        port, (_, pid) = getattr(line.matched.event, "port", None), key_of(line)
        programs = self.writers.programs
        found = [
            one
            for one in group.processes
            if (one.port, one.pid, one.parent) == (port, pid, None)
            and one.load is not None
            and one.load.open
            and programs[one.program].grammar.members != "stream"
        ]
        return found[0] if port is not None and len(found) == 1 and key_of(line) not in group.shared else None

    def spawn(self, group: Group, line: Line, owner: Owner) -> Owner:
        """A supervisor starts a child process."""
        arguments = line.pattern.effects["spawn"]
        said = captured(line)
        key = said.get(arguments.get("key", ""))
        label = said.get(arguments.get("label", ""))
        grammar = self.writers.programs[line.pattern.program].grammar
        if grammar.tag_is == "child" and grammar.tag is not None and key is not None:
            process = self.writers.new_process(group, line, tag=str(key), parent=owner.process)
            process.label = None if label is None else str(label)
            whose = (key_of(line)[1], str(key))
            old = group.children.get(whose)
            if old is not None and old.load is not None and old.load.open:
                close(old.load, line, "unknown")
                process.before = old
            group.children[whose] = process
            process.last = line
            load = self._open(process, line, process.label)
            load.label = process.label
            load.announced_by_parent = True
            load.announcements += _texts(line)
            load.may_be.add("begin")
            load.spawned = True
            return Owner(process, load, Scope.EXACT, "spawned by its supervisor")
        waiting = [load for load in self.writers.children(group, line) if load.ready is None]
        if waiting and (label is None or waiting[-1].label in (None, label)):
            load = waiting[-1]
            load.announcements += _texts(line)
            if load.spawned:
                for item in load.items:
                    item.mark, item.why = Mark.SUPERSEDED, "the first attempt of this load was given up"
                load.contexts, load.context, load.outer, load.part = [], None, [], Part.TARGET
                load.unsure.clear()
                load.enter("allocate", line)
                load.may_be.add("begin")  # another process says its first words, and begins to load
                load.process.said.clear()
            load.spawned, load.mute = True, False
            load.label = load.label or (None if label is None else str(label))
            load.process.label = None if key is None else str(key)
            return Owner(load.process, load, Scope.EXACT, "spawned by its supervisor")
        announced = self._announce(group, line, None if label is None else str(label), None)
        assert announced.load is not None
        announced.load.spawned, announced.load.mute = True, False
        announced.load.process.label = None if key is None else str(key)
        return announced

    def imply(self, group: Group, line: Line, owner: Owner) -> Owner:
        """A line that only a load prints, where none is known: the line that began it is not in the log."""
        arguments = line.pattern.effects.get("implies_load")
        process, known = owner.process, owner.load
        rule = "a load must have begun before this source did"
        if known is not None:
            if arguments is None or not self._another(known, line, arguments.get("again_s")):
                return owner
            rule = "printed once a load, and printed again: a load must have begun in between"
            known.end_reason = "unknown"
            if self.writers.collective(line):
                process = self._next_start(group, line)
        elif (arguments is None or arguments.get("first")) and not self._shows_first(group, line, process):
            return owner
        phase = arguments.get("phase", "serve") if arguments else shown_phase(line.pattern)
        if phase is None:
            return owner
        if process is not None and process.routes:
            if any(one.loads for one in group.processes):
                return owner  # of one of those, perhaps
            process = self.writers.new_process(group, line, parent=process)
            load = self._open(process, line, None)
            load.implied, load.phase, load.may_be = True, phase, {phase}
            load.phases[-1] = (phase, line)
            if process.parent is not None:
                process.parent.current = load
            return Owner(process, load, Scope.INFERRED, rule)
        if process is None and self.writers.collective(line):
            process = self.writers.new_process(group, line)
        of_child = process is not None and self._of_a_child(line, process)
        if process is None or process.parent is not None or of_child:
            if process is None:
                parent = self._relaying(group, key_of(line)[1])
            else:
                parent = process if of_child else process.parent
            if parent is None:
                return owner
            process = self.writers.new_process(group, line, parent=parent)
        load = self._open(process, line, None)
        load.implied = not process.said  # a build that announces no load, in a log that has the process's beginning
        load.phase = phase
        load.phases[-1] = (phase, line)
        load.may_be = {phase}
        if self.writers.collective(line):
            self.writers.join(group, process, line, identity(line))
        return Owner(process, load, Scope.INFERRED, rule)

    def _shows_first(self, group: Group, line: Line, process: Process | None) -> bool:
        """Whether a line can be of a load that began before the log did: as long as nothing is known of its writer."""
        key = key_of(line)
        if key in group.shared or (*key, line.prefix.tag) in group.restarted:
            return False
        if process is not None and self._of_a_child(line, process):
            # What its children print of themselves stands in a supervisor's own form: one of them loads at a time, and
            # one that only looks for devices none.
            loading = line.pattern.possible_in <= {"fit", "allocate"} and not process.discovers
            return loading and not any(one.loads for one in group.processes)
        if process is not None and (process.routes or process.loads):
            return False
        if process is None and self.writers.collective(line):
            return line.prefix.who in self.writers.programs[line.pattern.program].grammar.sole
        if process is not None and process.tag is not None:
            # Who has loads of its own has no children that would write tagged lines, and a router whose beginning is
            # here has announced each of them: such a line is in some text.
            return not any(one.tag is None and (one.said if one.routes else one.loads) for one in group.processes)
        if self.writers.unnamed(group, line) or process is None:
            # Children that serve may be several, and a log without prefixes may be a relay's; one loads at a time.
            return line.pattern.possible_in <= {"fit", "allocate"} and not any(one.loads for one in group.processes)
        return line.stream.trusted or not any(one.loads for one in group.processes)

    def _of_a_child(self, line: Line, process: Process) -> bool:
        """Whether a line of a supervisor's form is what one of its children prints."""
        supervises = self.writers.programs[line.pattern.program].grammar.supervises
        return supervises and line.pattern.role == "child" and process.parent is None and process.tag is None

    def _another(self, load: Load, line: Line, again_s: float | None) -> bool:
        """Whether a line that is all that is known of a load, printed again, tells of another load.

        Only in a log that somebody filtered: a load of which anything else is known may print the line for its dry run
        and for its draft model too.
        """
        held = any(item.basis != "derived" for item in load.items)  # else it is of this line's own account
        if again_s is None or not load.implied or not load.open or held:
            return False
        if load.begun.pattern is not line.pattern or load.begun.prefix.tag != line.prefix.tag:
            return False
        begun, now = load.begun.time_us, line.time_us
        return again_s == 0 or (begun is not None and now is not None and now - begun > again_s * 1_000_000)

    def _relaying(self, group: Group, pid: int | None) -> Process | None:
        """The process that relays its children's lines through a stream of this group; it may not have spoken yet."""
        for line in group.lines:
            grammar = self.writers.programs[line.pattern.program].grammar
            spoken = line.carried_by is None and not line.stream.manager and not line.stream.kernel
            if grammar.supervises and spoken and key_of(line)[1] == pid:
                return self.writers.supervisor(group, line)
        return None

    def _open(self, process: Process, line: Line, model: str | None) -> Load:
        load = Load(process=process, number=len(process.loads), begun=line, engine=process.program, model=model)
        load.phases.append((load.phase, line))
        process.loads.append(load)
        process.group.changes += 1
        return load

    def parent_ready(self, group: Group, line: Line) -> list[Load]:
        """A supervisor says that its loading child serves: which it names, if it names one."""
        arguments = line.pattern.effects["parent_ready"]
        said = captured(line)
        named = said.get(arguments.get("label") or arguments.get("key") or "")
        alive = self.writers.children(group, line)
        waiting = [
            load
            for load in alive
            if not load.confirmed
            and (named is None or str(named) in {load.label, load.process.label, load.process.tag})
        ]
        if len(waiting) == 1 and (named is not None or key_of(line) not in group.shared):
            waiting[0].confirmed = True
            if waiting[0].phase != "end":
                waiting[0].enter("serve", line)
            return waiting if named is not None or len(alive) == 1 else []
        return []

    def live_count(self, group: Group, line: Line) -> None:
        """A supervisor says how many of its children live: those that cannot be among them have ended."""
        said = captured(line)
        count = said.get(line.pattern.effects["live_count"]["from"])
        alive = self.writers.children(group, line)
        if count is None or not alive or key_of(line) in group.shared:
            return
        if int(count) == 0:
            for load in alive:
                close(load, line, "unknown")
        elif int(count) == 1:
            for load in alive[:-1]:
                close(load, line, "evicted")

    def end_effect(self, group: Group, line: Line, owner: Owner) -> list[Load]:
        """A line ends the load of its writer, or those that it names, which it returns."""
        arguments = line.pattern.effects["end"]
        said = captured(line)
        reason = _reason(arguments, said)
        by = arguments.get("by", "self")
        loads: list[Load] = []
        if key_of(line) in group.shared and line.pattern.role == "parent" and by not in {"label", "key"}:
            return []
        if by == "self" and owner.load is not None:
            loads = [owner.load]
            parent = owner.load.process.parent
            if parent is not None and parent.current is owner.load and "end" in line.pattern.possible_in:
                parent.current = None  # a verdict: what is said next is of another load
        elif by in {"label", "key"}:
            text = str(said.get(arguments.get("from", "")))
            for wanted in dict.fromkeys((text, *text.split())):
                named = [
                    load
                    for load in self.writers.children(group, line)
                    if wanted in {load.label, load.process.tag, load.process.label}
                ]
                loads += named if len(named) == 1 and named[0] not in loads else []
            if len(loads) == 1 and said.get("pid") is not None:
                loads[0].process.pid = said["pid"]
        elif by == "pid":
            alive = self.writers.children(group, line)
            loads = [load for load in alive if load.process.pid == said.get("pid")]
            # A supervisor that names a pid nobody has introduced means the child it is closing, or its only one.
            loads = loads or [load for load in alive if load.closing is not None] or alive
            loads = loads if len(loads) == 1 else []
        elif by == "children":
            loads = self.writers.children(group, line)
        elif by == "all":
            loads = [one.load for one in group.processes if one.load and one.load.open]
        for load in loads:
            finish(load, line, reason, begins=bool(arguments.get("begins")))
        return loads if by in {"label", "key", "pid"} else []

    def manager(self, group: Group, line: Line) -> Owner:
        """A service manager's or kernel's line: it ends what it names."""
        effects = line.pattern.effects
        arguments = effects.get("end")
        touched: list[Load] = []
        if arguments and arguments.get("by") == "unit":
            said = captured(line)
            reason = _reason(arguments, said)
            for process in group.processes:
                load = process.load
                if process.ended is None and (load is None or load.ended is None or load.end_reason == "sleep"):
                    process.ended = line
                if load is None:
                    continue
                touched.append(load)
                if load.open:
                    final = reason
                    if final == "exit":
                        final = load.closing_reason or final
                    load.ended, load.end_reason = line, final
                    load.closing = load.closing or line
                    load.enter("end", line)
        elif line.stream.manager:
            touched = [one.load for one in group.processes if one.load is not None and one.load.open]
        if len(touched) == 1:
            return Owner(touched[0].process, touched[0], Scope.EXACT, "invocation of the unit")
        only = group.processes[-1] if len(group.processes) == 1 else None
        return Owner(only, None, None, "about the unit, not one load")


def _texts(line: Line) -> list[str]:
    """What a line says: the line, of which a long one is cut, and what its pattern took out of it, which is whole."""
    return [line.text, *(value for value in captured(line).values() if isinstance(value, str))]


def _reason(arguments: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """Why a load ends: what a captured word stands for, else what the pattern says."""
    reason = arguments.get("reason", "unknown")
    return str(arguments.get("map", {}).get(str(said.get(arguments.get("from", ""))), reason))
