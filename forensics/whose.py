"""Which process wrote a line: by its tag, its trusted process id, or because only one can have written it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .catalogue import Program
from .effects import close
from .line import Line
from .lives import Group, Load, Process, Scope
from .writers import form_of, key_of, may_load, may_write, writers_of

__all__ = ["Owner", "Writers", "identity"]

MANY = 64
"""So many lives that are over are kept among those whose lines carry no tag, before they are let go."""


@dataclass(frozen=True)
class Owner:
    """Who wrote a line, how that is known, and who else could have."""

    process: Process | None
    load: Load | None
    scope: Scope | None
    rule: str
    candidates: tuple[Load, ...] = ()
    suspect: str = ""


class Writers:
    """Finds the process that wrote a line, by its tag, a trusted process id, or because only one can have."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.programs = programs

    def process_line(self, group: Group, line: Line) -> Owner | None:
        """A line that only a beginning process prints: a new life, or one more line of the same beginning."""
        grammar = self.programs[line.pattern.program].grammar
        tag = line.prefix.tag
        if grammar.supervises and line.pattern.role == "parent":
            if key_of(line) not in group.shared:
                for load in self.children(group, line):
                    close(load, line, "unknown")
                self._start_supervisor(group, line)
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
        waiting = waiting if self.by_child(group, line) else []
        if waiting:
            waiting[-1].said.add(name)
            if len(waiting) > 1:
                loads = tuple(one.load for one in waiting if one.load is not None)
                return Owner(None, None, Scope.AMBIGUOUS, "several children are announced, and none is named", loads)
            return Owner(waiting[-1], waiting[-1].load, Scope.INFERRED, "first words of an announced child")
        if self.by_child(group, line) and any(one.discovers for one in group.parents.values() if one.pid == key[1]):
            return Owner(None, None, None, "a child that looks what devices there are begins: of no load")
        newest = group.own.get(key)
        mixed = form_of(line) in group.mixed.get(key[1], ())
        other = key in group.shared or mixed or newest is None or newest.gone
        if newest is not None and not other and not self._another_life(newest, line, clock):
            newest.said.add(name)
            if newest.load is not None and newest.load.open and line.pattern.possible_in == {"begin"}:
                reason = "a process does not begin in the middle of its own clock"
                return Owner(None, None, None, reason, suspect=reason)
            if newest.load is None and (len(lives) > 1 or key[1] in group.supervised):
                return Owner(newest, None, Scope.INFERRED, "newest process of its stream; before any load")
            return None
        for one in lives if key not in group.shared else ():  # else it may be beside one that has last words to say
            # The clock of a server whose lines are made otherwise is another one's.
            alike = one.form in {None, form_of(line)}
            goes_back = alike and clock is not None and one.last_clock is not None and clock < one.last_clock
            if one.parent is None and (one is newest or one.load is not None):
                self._succeed(one, proven=goes_back)
        process = self._new_own(group, line)
        process.said.add(name)
        trusted = line.stream.trusted and len(lives) == 0
        return Owner(process, None, Scope.EXACT if trusted else Scope.INFERRED, "first words of a process")

    def resolve(self, group: Group, line: Line) -> Owner:
        """The process that wrote a line, and the load that it is of; or why that can't be told."""
        grammar = self.programs[line.pattern.program].grammar
        tag = line.prefix.tag
        if tag is not None and grammar.tag_is == "child":
            whose = (key_of(line)[1], tag)
            child = group.children.get(whose)
            if child is None:
                child = group.children[whose] = self.new_process(group, line, tag=tag)
            if child.before is not None and _may_be_last_words(child.before, child, line):
                loads = tuple(one.load for one in (child.before, child) if one.load is not None)
                reason = "the child that had its tag before may have said it last"
                return Owner(None, None, Scope.AMBIGUOUS, reason, loads)
            return self._inside(child, line, Scope.EXACT, "tag of the line")
        if grammar.members == "stream":
            return self._member(group, line)
        if line.pattern.role == "parent" or grammar.supervises:
            process = self.supervisor(group, line)
            meant = self._meant(group, line) if grammar.supervises else None
            if meant is not None:
                return Owner(meant.process, meant, Scope.INFERRED, "the child that its supervisor means")
            named = self._named(group, line)
            if named is not None:
                return Owner(named.process, named, Scope.EXACT, "the child that its supervisor names")
            return self._inside(process, line, Scope.EXACT if line.stream.trusted else Scope.INFERRED, "supervisor")
        return self._untagged(group, line)

    def _meant(self, group: Group, line: Line) -> Load | None:
        """The child that a supervisor's line is about without naming it."""
        pattern = line.pattern
        if key_of(line) in group.shared:
            return None
        alive = self.children(group, line)
        if pattern.possible_in:
            current = self.supervisor(group, line).current
            # One that is gone before it got ready still gets its supervisor's verdict, which `current` waits for.
            if current is not None and (current.open or current.ready is None) and current.phase in pattern.possible_in:
                return current
            alive = [load for load in alive if load.phase in pattern.possible_in]
        elif pattern.effects.get("end", {}).get("by") != "self":
            return None
        return alive[0] if len(alive) == 1 else None

    def _named(self, group: Group, line: Line) -> Load | None:
        """The child that a line of its supervisor names and only reports about."""
        event = line.matched.event
        model = getattr(event, "model", None) or getattr(event, "victim", None)
        if model is None or line.pattern.effects:
            return None
        alive = [load for load in self.children(group, line) if model in {load.label, load.model}]
        return alive[0] if len(alive) == 1 else None

    def _untagged(self, group: Group, line: Line) -> Owner:
        """A line that does not say who of its stream wrote it: by elimination, or ambiguous."""
        key, effects = key_of(line), line.pattern.effects
        form = None if line.pattern.unprefixed and not line.prefix.present else form_of(line)
        relayed = key[1] in group.supervised and form not in group.strange[key[1]]
        lives = [one for one in writers_of(group, key) if relayed or one.parent is None]
        if form is not None:
            lives = [one for one in lives if one.parent is None or self._forms(one.parent) in {None, form}]
        if not lives and not relayed:
            lives = [self._new_own(group, line)]
        if line.pattern.role == "anyone":
            had = [one for one in group.processes if (one.program, one.pid) == key and one.tag is None]
            if relayed or len(had) > 1 or key in group.others:
                return Owner(None, None, None, "nothing of it tells which server wrote it")
        if len(lives) == 1 and not relayed and key not in group.shared:
            only = lives[0]
            if (
                form in {"prefix", "json"}
                and only.form not in {None, form}
                and only.load is not None
                and only.load.open
            ):
                group.changes += key not in group.others
                group.others.add(key)
                return Owner(None, None, None, "made otherwise than its writer's lines")
            if only.load is not None and self.unnamed(group, line) and self._outgrown(only.load, line):
                return Owner(only, None, None, "of a load that began before the log did it could be another's")
            if form == "bare" and only.form == "prefix":
                reason = "without the prefix that its writer's lines have"
                return Owner(None, None, None, reason, suspect=reason)
            if only.load is not None and only.load.phase == "end":
                again = only.load.closing is not None and only.load.closing.pattern is line.pattern
                if again or not may_write(only, line.pattern):
                    return Owner(only, None, None, "its writer's load is ending, and prints no such line any more")
            rule = "trusted process id" if line.stream.trusted else "only writer of its source"
            return self._inside(only, line, Scope.EXACT if line.stream.trusted else Scope.INFERRED, rule)
        if relayed and any(pid == key[1] and (program, pid) in group.shared for program, pid in group.parents):
            loads = tuple(one.load for one in lives if one.load is not None)
            reason = "several supervisors relay through this stream"
            return Owner(None, None, Scope.AMBIGUOUS if loads else None, reason, loads)
        if form is not None and any(one.form not in {None, form} for one in lives):
            lives = [one for one in lives if one.form in {None, form}]
            if not lives:
                reason = "without the prefix that its writers' lines have"
                return Owner(None, None, None, reason, suspect=reason if form == "bare" else "")
        claimed = effects.get("claims")
        if claimed:
            due = claimed["due"]
            owing = [one for one in lives if one.load and due in one.load.due | one.load.may_owe]
            # Who never owed it may print it unasked, unless he has got ready without.
            free = [one for one in lives if may_write(one, line.pattern) and not _asked(one, due)]
            if len(owing) == 1 and all(one is owing[0] for one in free):
                return Owner(owing[0], owing[0].load, Scope.INFERRED, "due from this writer")
        if "load" in effects:
            return self._beginner(group, line, lives)
        fitting = [one for one in lives if may_write(one, line.pattern)]
        if len(fitting) == 1:
            only = fitting[0]
            if only.parent and only.load and self._outgrown(only.load, line):
                reason = "a child that began before the log did could have written it too"
                return Owner(None, None, Scope.AMBIGUOUS, reason, (only.load,))
            rule = "only child that can have written it" if only.parent else "only process that can have written it"
            return Owner(only, only.load, Scope.INFERRED, rule)
        if fitting:
            loads = tuple(one.load for one in fitting if one.load is not None)
            return Owner(None, None, Scope.AMBIGUOUS, "several could have written it, and none says which", loads)
        who = "child of this supervisor" if relayed else "process of this stream"
        return Owner(None, None, None, f"no {who} was in a phase to write it")

    def _outgrown(self, load: Load, line: Line) -> bool:
        """Whether a load that is known from one line in its middle is past what only one at a time prints."""
        if not load.implied or "end" in line.pattern.effects:
            return False
        possible = line.pattern.possible_in
        if possible == load.begun.pattern.possible_in == {"end"}:
            return False  # one more of the last words that are all that is known of it
        return not load.may_be <= {"fit", "allocate"} or bool(possible and not possible & {"fit", "allocate"})

    def unnamed(self, group: Group, line: Line) -> bool:
        """Whether a line could be of any of a supervisor's children, or of a log without prefixes that mixes some."""
        pid, stream = key_of(line)[1], line.stream
        named = stream.identifier is not None or stream.container is not None
        if pid in group.supervised or (not stream.trusted and not named and form_of(line) == "bare"):
            return True
        # A container is called as its owner likes, and mostly after what runs in it.
        inside = (stream.container or "").lower()
        relays = [one for one in self.programs.values() if one.grammar.supervises]
        return any(one.name in inside for one in relays) or (
            stream.identifier is not None
            and any(known.search(stream.identifier) for one in relays for known in one.process_names)
        )

    def _forms(self, parent: Process) -> str | None:
        """The form of the lines of a supervisor's children, if it is known."""
        return self.programs[parent.program].grammar.children

    def _beginner(self, group: Group, line: Line, lives: list[Process]) -> Owner:
        """Whose load begins: a process that has none yet, a child that was announced, or one that wakes."""
        announced = [
            one
            for one in lives
            if one.load is not None and one.load.open and one.load.announced_by_parent and "begin" in one.load.may_be
        ]
        model = getattr(line.matched.event, "model", None)
        if not self.by_child(group, line):
            # Servers of their own write among the children: what loads a file that nobody announced is one of them.
            announced = [one for one in announced if one.load and may_load(one.load.announcements, model)]
        waking = [one for one in lives if one.wakes or (one.load and (one.load.asleep or "asleep" in one.load.may_be))]
        beginning = [one for one in lives if one.load is None and not one.routes]
        able = [*announced, *waking, *beginning]
        named = [one for one in announced if model and one.load and model in {one.load.label, one.load.model}]
        named = named if self.by_child(group, line) else []
        if len(able) == 1:
            return Owner(able[0], able[0].load, Scope.INFERRED, "only one that can begin a load")
        if len(named) == 1:
            return Owner(named[0], named[0].load, Scope.INFERRED, "the file that its supervisor announced")
        if len(announced) > 1:
            loads = tuple(one.load for one in announced if one.load is not None)
            reason = "several children are announced, and none is named"
            return Owner(None, None, Scope.AMBIGUOUS, reason, loads)
        if line.pattern.effects["load"].get("once") and not able:
            again = [one.load for one in lives if one.load and one.load.open and one.load.ready is None]
            if len(again) == 1:
                return Owner(again[0].process, again[0], Scope.INFERRED, "only one whose load begins")
            if again:
                reason = "several could have written it, and none says which"
                return Owner(None, None, Scope.AMBIGUOUS, reason, tuple(again))
        # Which of several beginnings goes on is not known: the load is a process of its own, and no beginning is its.
        for one in beginning if not announced else ():
            one.gone = True
        key = key_of(line)
        if self.by_child(group, line):
            return Owner(None, None, Scope.INFERRED, "a child whose announcement is not in the log")
        process = self._new_own(group, line)
        for _ in beginning[1:] if not announced else ():
            self._new_own(group, line)
        group.own[key] = process
        return Owner(process, None, Scope.INFERRED, "a load of its stream")

    def _inside(self, process: Process, line: Line, scope: Scope, rule: str) -> Owner:
        """The load of a known process that a line belongs to: the one that is open, or the one that just ended."""
        load = process.load
        if load is None:
            return Owner(process, None, scope, f"{rule}; before any load")
        possible = line.pattern.possible_in
        if possible == {"begin"} and load.open and "begin" not in load.may_be:
            return Owner(None, None, None, "only a beginning process prints it, and none begins")
        if possible and load.phase not in possible and load.ended is not None and "end" not in possible:
            return Owner(process, None, scope, f"{rule}; the load has ended")
        return Owner(process, load, scope, rule)

    def _member(self, group: Group, line: Line) -> Owner:
        """A process of a start that has several: known by its tag, else by being of the only start that can write."""
        key = key_of(line)
        tag = None if key in group.shared else identity(line)  # a process id that occurs twice tells nothing either
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
        if len(fitting) == 1:
            process = fitting[0]
            if "load" not in line.pattern.effects:  # else it may begin another start
                self.join(group, process, line, tag)
            return self._inside(process, line, Scope.INFERRED, "only start that can have written it")
        if fitting:
            if tag is not None:
                group.changes += group.may_be_members.get(tag) != fitting
                group.may_be_members[tag] = fitting
            loads = tuple(one.load for one in fitting if one.load)
            return Owner(None, None, Scope.AMBIGUOUS, "several starts could have written it", loads)
        alive = [one for one in starts if one.load is None or one.load.open]
        if starts and not alive and line.prefix.tag is None and "load" not in line.pattern.effects:
            return self._inside(starts[-1], line, Scope.INFERRED, "last start of its stream")
        if alive and "load" not in line.pattern.effects:
            return Owner(None, None, None, "no start of this stream was in a phase to write it")
        process = self.new_process(group, line)
        self.join(group, process, line, tag)
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

    def join(self, group: Group, process: Process, line: Line, tag: str | None) -> None:
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

    def _another_life(self, process: Process, line: Line, clock: int | None) -> bool:
        """Whether a line that only a beginning process prints is not one more line of the beginning of this one."""
        if process.load is None:
            return line.pattern.name in process.said
        if process.load.announced_by_parent and process.first is process.last:
            return False  # the child that its supervisor has just spawned says its first words
        load, name = process.load, line.pattern.name
        loading = load.open and load.ready is None and not load.items
        if loading and line.pattern.possible_in & load.may_be and process.said and name not in process.said:
            return False  # backends that are set up by the load that first needs them
        # A life does not begin in the middle of its own clock: such a line is suspected.
        return clock is None or process.last_clock is None or clock < process.last_clock

    def _succeed(self, process: Process, proven: bool) -> None:
        """Another life begins: this one has ended if that is proven, or if its end was seen to begin."""
        load = process.load
        over = proven or (load is not None and not load.asleep and (load.closing is not None or not load.open))
        if load is not None and load.open and over:
            load.end_reason = load.closing_reason or "unknown"
        process.gone = process.gone or over

    def implausible(self, process: Process, load: Load | None, line: Line) -> str:
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
            and "begin" not in load.may_be
        ):
            return "a load inside a process that already serves, without a sleep before it"
        if clock is not None:
            process.last_clock = clock
        return ""

    def children(self, group: Group, line: Line) -> list[Load]:
        """The open loads of the children of the supervisor that wrote a line."""
        parent = self.supervisor(group, line)
        parent.children = [one for one in parent.children if one.load is None or one.load.open]
        return [one.load for one in parent.children if one.load]

    def supervisor(self, group: Group, line: Line) -> Process:
        """The process that starts others: a supervisor's own lines are its, untagged as they are."""
        key = key_of(line)
        process = group.parents.get(key)
        if process is None:
            grammar = self.programs[line.pattern.program].grammar
            lives = [] if grammar.supervises else writers_of(group, key)
            beginning = [one for one in lives if one.load is None and not one.routes]
            process = beginning[0] if len(beginning) == 1 else self.new_process(group, line)
            process.routes = True
            group.parents[key] = process
            if group.own.get(key) is process:
                del group.own[key]
        return process

    def _start_supervisor(self, group: Group, line: Line) -> None:
        """A supervisor says its first words: what it has said already, another life of it says, of another version."""
        key, name = key_of(line), line.pattern.name
        before = group.parents.get(key)
        if before is not None and name in before.said:
            before.gone = True
            del group.parents[key]
        self.supervisor(group, line).said.add(name)

    def collective(self, line: Line) -> bool:
        """Whether a start of the line's program is several processes, told apart by the tags of their lines."""
        return self.programs[line.pattern.program].grammar.members == "stream"

    def by_child(self, group: Group, line: Line) -> bool:
        """Whether an untagged line can only be of a supervisor's child."""
        pid, form = key_of(line)[1], form_of(line)
        return pid in group.supervised and form not in group.strange[pid] and form not in group.mixed[pid]

    def _new_own(self, group: Group, line: Line) -> Process:
        """Another life of a server that writes its own lines."""
        parent = None
        if self.by_child(group, line):
            parent = next((one for one in group.parents.values() if one.pid == key_of(line)[1]), None)
        process = group.own[key_of(line)] = self.new_process(group, line, parent=parent)
        return process

    def new_process(self, group: Group, line: Line, tag: str | None = None, parent: Process | None = None) -> Process:
        """Another process, whose first line this is."""
        process = Process(
            group=group,
            program=line.pattern.family,
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
        if tag is None and (parent is not None or not self.collective(line)):
            over = [one for one in group.untagged if one.gone or (one.parent and one.load and not one.load.open)]
            if len(over) > MANY:
                group.untagged = [one for one in group.untagged if one not in over]
            group.untagged.append(process)
        return process


def _asked(process: Process, due: str) -> bool:
    """Whether a life prints what is due only after it has said that it will, or not at all."""
    load = process.load
    return load is not None and (due in load.owed or load.may_be <= {"serve", "asleep", "end"})


def _may_be_last_words(before: Process, child: Process, line: Line) -> bool:
    """Whether a line goes on with the clock of the child that had its tag before, and the new one has said nothing."""
    clock, last, possible = line.clock_us, before.last_clock, line.pattern.possible_in
    if child.last is not child.first or (possible and possible <= {"begin", "fit", "allocate"}):
        return False
    return clock is None or last is None or clock >= last


def identity(line: Line) -> str | None:
    """The tag of a line, where it is a process id: a rank does not tell one start from another."""
    tag = line.prefix.tag
    return tag if tag is not None and tag.isdigit() else None
