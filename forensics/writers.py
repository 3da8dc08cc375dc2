"""Who could have written a line that carries no tag: the lives of its stream, and the phases each may be in.

Several processes can write as one: children that a supervisor relays, servers that a script starts. Whoever could have
written a line is its candidate; only when one is left is the line its own. A line that stays ambiguous may have moved
any of its candidates, so each then may be in more than one phase, and what it prints next is judged by all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .catalogue import PHASES, Pattern
from .events import LoadReady
from .items import doubt
from .lives import Group, Load, Process
from .scan import Line

__all__ = [
    "Key",
    "Relay",
    "begins_anew",
    "blur",
    "claimed_twice",
    "form_of",
    "key_of",
    "may_load",
    "may_write",
    "settle",
    "shown_phase",
    "strangers",
    "twin_parents",
    "twins",
    "writers_of",
]

Key = tuple[str, int | None]

AGAIN_US = 10_000_000
"""A load prints its amounts of one kind and device within so much time."""


def key_of(line: Line) -> Key:
    """What tells writers of one start apart when their lines have no tag: the program, and a trusted process id."""
    return line.pattern.family, line.stream.pid if line.stream.trusted else None


def writers_of(group: Group, key: Key) -> Iterator[Process]:
    """Lives that write without a tag under one key and that may still write: servers of their own, relayed children."""
    program, pid = key
    for one in group.untagged:
        if one.gone:
            continue
        if one.parent is not None:
            if one.parent.pid == pid and one.load is not None and one.load.open and not one.load.mute:
                yield one
        elif (one.program, one.pid) == (program, pid):
            yield one


def form_of(line: Line) -> str:
    """How a line is made: a server prints all its lines with a prefix, or none of them, or as JSON."""
    if not line.prefix.present:
        return "bare"
    return "json" if line.prefix.clock and line.prefix.clock[0].isdigit() else "prefix"


def may_write(process: Process, pattern: Pattern) -> bool:
    """Whether a life could print a line of this kind now."""
    possible = pattern.possible_in
    load = process.load
    if load is not None and not load.open and not load.asleep:
        return "end" in possible or (not possible and "end" in pattern.effects)  # the last words of what has ended
    if not possible:
        return True
    if load is None:
        return ("route" if process.routes else "begin") in possible
    return "asleep" in possible if load.asleep else bool(possible & load.may_be)


def twins(lines: Iterable[Line]) -> bool:
    """Whether the lines of one writer show that two processes write under its name.

    A restart announces itself anew and then says everything once, with a clock that begins again. Where a writer
    announces itself twice before it loads, goes on with a later clock, serves before its new start got ready or after
    it ended, gets ready or ends twice, or wakes although it does not sleep, another process is there. So it is where a
    start of several processes does not begin anew with the line that began it before.

    Args:
        lines: Lines of one program and one trusted process id; of a start that has several processes those of all,
            since one says what is true of the others.
    """
    said: set[tuple[str, str | None]] = set()
    ready: set[tuple[str, str | None]] = set()
    ended: dict[str | None, set[str]] = {}
    lives = loads = 0
    asleep = False
    opener: tuple[str, str | None] | None = None
    last: int | None = None
    for line in lines:
        pattern, clock, tag = line.pattern, line.clock_us, line.prefix.tag
        one, effects = (pattern.name, tag), pattern.effects
        begins = "process" in effects or effects.get("load", {}).get("once")
        if begins and (one in said or not lives):
            forward = clock is not None and last is not None and clock >= last
            opener = opener or one
            if tag is not None and one != opener and (tag != opener[1] or opener in said):
                return True
            if lives and not ready and ("process" in effects) and (forward or not loads):
                return True
            lives, loads, said, ready, ended, asleep = lives + 1, 0, {one}, set(), {}, False
        elif begins:
            said.add(one)
        if "load" in effects and not begins:
            if loads and not ready:
                return True
            loads, ready, ended = loads + 1, set(), {}
        elif effects.get("phase", {}).get("to") == "serve":
            if (tag in ended and lives > 1) or (pattern.event is LoadReady and one in ready and lives > 1):
                return True
            ready.add(one)
        elif lives > 1 and (tag in ended or not ready) and _serves(pattern):
            return True
        if pattern.possible_in == {"asleep"} and not asleep and lives > 1:
            return True
        sleeps = effects.get("phase", {}).get("to") == "asleep"
        asleep = sleeps or (asleep and pattern.possible_in != {"asleep"})
        if effects.get("end", {}).get("by") == "self" and not sleeps:
            # A failure may be told twice, by one process of a start of another.
            if lives > 1 and effects["end"].get("reason") == "exit" and pattern.name in ended.get(tag, ()):
                return True
            ended.setdefault(tag, set()).add(pattern.name)
        last = clock if clock is not None else last
    return False


def twin_parents(lines: Iterable[Line]) -> bool:
    """Whether the lines of one supervisor's stream show that two supervisors write to it.

    No child survives its supervisor. So where one starts anew and a child's line, its readiness or its number comes
    before the new one announced as many, the old supervisor is still there.
    """
    said: set[str] = set()
    starts = announced = 0
    for line in lines:
        effects = line.pattern.effects
        if line.pattern.role != "parent":
            if starts > 1 and not announced and line.prefix.tag is None and line.pattern.possible_in:
                return True
            continue
        if "process" in effects:
            if line.pattern.name in said or not starts:
                starts, announced, said = starts + 1, 0, set()
            said.add(line.pattern.name)
        elif effects.get("load", {}).get("child") or "spawn" in effects:
            announced += 1
        elif starts > 1 and not announced and effects.keys() & {"parent_ready", "live_count"}:
            return True
    return False


def claimed_twice(lines: Iterable[Line]) -> tuple[set[int], set[int]]:
    """Lines that patterns of several programs read, since several print the same: which to drop, which to leave open.

    Such a line is of the program that also prints lines of its own in this stream, with its own prefix if one does.

    Returns:
        Orders of readings to drop, and of readings of lines that more than one program here may have printed.
    """
    readings: dict[tuple[str, int], list[Line]] = {}
    for line in lines:
        readings.setdefault((line.source, line.record), []).append(line)
    several = [found for found in readings.values() if len({one.pattern.program for one in found}) > 1]
    if not several:
        return set(), set()
    alone = [found[0] for found in readings.values() if len({one.pattern.program for one in found}) == 1]
    present = {key_of(one) for one in alone}
    prefixed = {key_of(one) for one in alone if one.prefix.present}
    drop: set[int] = set()
    undecided: set[int] = set()
    for found in several:
        keys = {key_of(one) for one in found}
        kept = {program for program, _ in keys & prefixed or keys & present or {key_of(found[0])}}
        drop.update(one.order for one in found if one.pattern.program not in kept)
        if len(kept) > 1:
            undecided.update(one.order for one in found if one.pattern.program in kept)
    return drop, undecided


@dataclass
class _Announced:
    """A child that its supervisor said it would start."""

    texts: list[str]
    spawned: bool
    said: set[str] = field(default_factory=set)
    loaded: bool = False


def may_load(texts: Iterable[str], model: str | None) -> bool:
    """Whether a child that these texts announce can be the one that loads a file; only texts that name files say no."""
    text = "\n".join(texts)
    name = re.split(r"[/\\]", model or "")[-1]
    return not name or name in text or not re.search(r"[/\\][^/\\\s]+[/\\]\S", text)


FORMS = frozenset({"bare", "prefix", "json"})


class Relay(NamedTuple):
    """What is known of a supervisor's children: the form of their lines, and whether a line starts each of them."""

    form: str | None
    spawned: bool


def strangers(lines: Iterable[Line], relays: Mapping[str, Relay]) -> tuple[set[str], set[str]]:
    """Whether all that a supervisor's stream holds can be its children's.

    Each announced child says its first words once and begins one load, of the file that was announced. What begins
    otherwise is another server that writes to the same stream; but while a supervisor looks what devices there are,
    children begin that load nothing.

    Args:
        lines: What was written under one trusted process id, or none.
        relays: The supervisors that relay untagged lines there, by program.

    Returns:
        The forms of lines in which only others write, and those in which children write and others too.
    """
    waiting: dict[tuple[str, str], _Announced] = {}
    good: set[str] = set()
    bad: set[str] = set()
    announced = False
    discovering: set[str] = set()
    wakes: Counter[str] = Counter()
    for line in lines:
        pattern = line.pattern
        effects, event = pattern.effects, line.matched.event
        model = getattr(event, "model", None)
        form = form_of(line)
        if pattern.role == "parent":
            load = effects.get("load", {})
            if pattern.program not in relays:
                continue
            if "discovers" in effects:
                discovering.add(pattern.program)
            if load.get("child") or "spawn" in effects:
                announced = True
                discovering.discard(pattern.program)
                label = str(line.matched.keys.get(effects.get("spawn", load).get("label", ""), model))
                known = waiting.get((pattern.program, label))
                again = known is not None and (known.spawned if "spawn" in effects else model is None and known.said)
                if known is None or again:
                    if not load.get("parallel"):
                        waiting = {which: one for which, one in waiting.items() if which[0] != pattern.program}
                    known = waiting[pattern.program, label] = _Announced([], False)
                known.spawned = known.spawned or "spawn" in effects
                known.texts += [line.text, model or ""]
            continue
        if line.prefix.tag is not None:
            continue
        started = [
            one
            for (program, _), one in waiting.items()
            if relays[program].form in {None, form} and (one.spawned or not relays[program].spawned)
        ]
        if "process" in effects:
            fits = [one for one in started if pattern.name not in one.said and not one.loaded]
            if fits:
                fits[0].said.add(pattern.name)
            elif any(relays[program].form in {None, form} for program in discovering):
                continue
        elif "load" in effects:
            fits = [one for one in started if not one.loaded and may_load(one.texts, model)]
            if fits:
                fits[0].loaded = True
            elif wakes[form]:
                wakes[form] -= 1
                continue
        else:
            wakes[form] += effects.get("due", {}).get("next") == "load"
            continue
        (good if fits else bad).add(form)
    made = {relay.form for relay in relays.values()}
    unable = set() if None in made else {form for form in FORMS if form not in made}
    if not announced:
        return unable, set()
    # Where no child was ever seen to begin, children may print no such line and write in any form.
    return (unable | (bad - good), bad & good) if good else (set(unable), bad - unable)


def _serves(pattern: Pattern) -> bool:
    serving = bool(pattern.possible_in) and pattern.possible_in <= {"serve", "asleep"}
    return serving or pattern.effects.get("implies_load", {}).get("phase") == "serve"


def shown_phase(pattern: Pattern) -> str | None:
    """The phase of a load of which nothing is known but that it printed such a line; None if it proves no load.

    What may come without the program's prefix may be of another program, and what a parent prints is of no load.
    """
    possible = pattern.possible_in
    if pattern.unprefixed or pattern.role == "parent" or not possible <= PHASES:
        return None
    likely = next((one for one in ("allocate", "serve", "asleep") if one in possible), None)
    return likely or (next(iter(possible)) if len(possible) == 1 else None)


def begins_anew(load: Load, line: Line) -> bool:
    """Whether an amount begins a load's ledger anew: seconds later, or behind contexts that were there already.

    Somebody may have cut the lines in between out of the log, with the line that began the next load among them.
    """
    arguments = line.pattern.effects.get("item", {})
    part, device = arguments.get("part", load.part), getattr(line.matched.event, "device", None) or ""
    if arguments.get("combine", "add") != "add":
        return False
    for other in load.items:
        if other.line.pattern is not line.pattern or other.part != part or other.device != device:
            continue
        begun, now = other.line.time_us, line.time_us
        if begun is not None and now is not None and now - begun > AGAIN_US:
            return True
        if other.per == "context":
            return load.context is not None and other.context is load.context and not load.context.announced
        if any(one.part == part for one in load.contexts):
            return True
    return False


def settle(load: Load, line: Line) -> None:
    """A line is known to be of this load: it can only be in a phase that prints such a line."""
    possible = line.pattern.possible_in & (load.may_be - {"begin"})
    if not possible or "begin" in line.pattern.possible_in or len(load.may_be) == 1:
        return
    left = set(possible) | (load.may_be & {"begin"})
    if left != load.may_be:
        load.process.group.changes += 1
    load.may_be = left  # what was announced begins with the line that loads
    if len(load.may_be) == 1 and load.open:
        load.enter(next(iter(possible)), line)


def blur(load: Load, line: Line, target: str | None) -> None:
    """A line may have been of this load: note what it may have changed.

    Args:
        load: One of several candidates.
        line: The ambiguous line.
        target: The phase that the line leads to, if it leads to one.
    """
    effects = line.pattern.effects
    if target is not None and not (load.may_be <= {"serve", "end"} and target in {"fit", "allocate"}):
        load.process.group.changes += target not in load.may_be
        load.may_be.add(target)
    if "end" in effects:
        load.may_be.add("end")
    if "part" in effects:
        load.unsure |= {"part", "context"}
    if "context" in effects or "block" in effects or "block_end" in effects:
        load.unsure.add("context")
    if "set" in effects:
        load.variables.pop(effects["set"]["name"], None)
    if "due" in effects:
        load.may_owe.add(effects["due"]["next"])
    if "item" in effects:
        doubt(load, line)
