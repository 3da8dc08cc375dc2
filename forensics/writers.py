"""Who could have written a line that carries no tag: the lives of its stream, and the phases each may be in.

Several processes can write as one: children that a supervisor relays, servers that a script starts. Whoever could have
written a line is its candidate; only when one is left is the line its own. A line that stays ambiguous may have moved
any of its candidates, so each then may be in more than one phase, and what it prints next is judged by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .catalogue import Pattern
from .events import LoadReady
from .lives import Group, Load, Mark, Process
from .scan import Line

__all__ = ["Key", "blur", "key_of", "may_write", "settle", "twins", "writers_of"]

Key = tuple[str, int | None]


def key_of(line: Line) -> Key:
    """What tells writers of one start apart when their lines have no tag: the program, and a trusted process id."""
    return line.pattern.program, line.stream.pid if line.stream.trusted else None


def writers_of(group: Group, key: Key) -> Iterator[Process]:
    """Lives that write without a tag under one key and that may still write: servers of their own, relayed children."""
    program, pid = key
    for one in group.untagged:
        if one.gone:
            continue
        if one.parent is not None:
            if one.parent.pid == pid and one.load is not None and one.load.open:
                yield one
        elif (one.program, one.pid) == (program, pid):
            yield one


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


def twins(lines: Iterable[Line], clock_of: Callable[[Line], int | None]) -> bool:
    """Whether the lines of one writer show that two processes write under its name.

    A restart announces itself anew and then says everything once, with a clock that begins again. Where a writer
    announces itself twice before it loads, goes on with a later clock, serves before its new start got ready, or gets
    ready twice, an earlier process is still there.

    Args:
        lines: Lines that carry the same tag, or none, of one program and one trusted process id.
        clock_of: The time since its writer began that a line carries, if any.
    """
    said: set[str] = set()
    ready: set[str] = set()
    lives = loads = 0
    last: int | None = None
    for line in lines:
        pattern, clock = line.pattern, clock_of(line)
        name, effects = pattern.name, pattern.effects
        begins = "process" in effects or effects.get("load", {}).get("once")
        if begins and (name in said or not lives):
            forward = clock is not None and last is not None and clock >= last
            if lives and not ready and ("process" in effects) and (forward or not loads):
                return True
            lives, loads, said, ready = lives + 1, 0, {name}, set()
        elif begins:
            said.add(name)
        if "load" in effects and not begins:
            if loads and not ready:
                return True
            loads, ready = loads + 1, set()
        elif effects.get("phase", {}).get("to") == "serve":
            if pattern.event is LoadReady and name in ready and lives > 1:
                return True
            ready.add(name)
        elif lives > 1 and not ready and _serves(pattern):
            return True
        last = clock if clock is not None else last
    return False


def _serves(pattern: Pattern) -> bool:
    serving = bool(pattern.possible_in) and pattern.possible_in <= {"serve", "asleep"}
    return serving or pattern.effects.get("implies_load", {}).get("phase") == "serve"


def settle(load: Load, line: Line) -> None:
    """A line is known to be of this load: it can only be in a phase that prints such a line."""
    possible = line.pattern.possible_in & (load.may_be - {"begin"})
    if not possible or "begin" in line.pattern.possible_in or len(load.may_be) == 1:
        return
    load.may_be = set(possible) | (load.may_be & {"begin"})  # what was announced begins with the line that loads
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
    if effects.get("item", {}).get("combine") in {"block", "last"}:
        for item in load.items:
            if item.mark is Mark.COUNTED and item.line.pattern is line.pattern:
                item.mark, item.why = Mark.CLAIMED, "a later line that several could have written may replace it"
