"""What a line does to the process and the load that own it, once it is known whose it is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from .events import (
    ArgumentsReported,
    DeviceSeen,
    Kind,
    LoadReady,
    ModelIdentified,
    Part,
    ProcessStarted,
    VerbosityReported,
    VersionReported,
    event_fields,
)
from .items import add_item
from .line import Line
from .lives import Context, Item, Load, Mark, Process
from .writers import settle

__all__ = ["captured", "change", "close", "finish", "leads_to", "learn"]

WHOLE = re.compile(r"-?\d{1,18}")

_MODELS = frozenset({Part.TARGET, Part.DRAFT, Part.MTP})


def change(load: Load, line: Line) -> list[Item]:
    """Let a line change what is known of its load.

    Returns:
        Amounts of earlier lines of which it shows that they are of another part.
    """
    effects = line.pattern.effects
    moved: list[Item] = []
    settle(load, line)
    if "claims" in effects and not effects["claims"].get("keeps"):
        load.due.discard(effects["claims"]["due"])
        load.may_owe.discard(effects["claims"]["due"])
    if "set" in effects:
        _set(load, line)
    if "use" in effects:
        line.matched = replace(line.matched, event=_use(load, line))
    if "item" in effects:
        _bind(load, line)
    if "part" in effects:
        moved = _part(load, line)
    if "context" in effects:
        load.context = Context(len(load.contexts), load.part, announced=True)
        load.contexts.append(load.context)
        load.unsure.discard("context")
    if "block" in effects and load.context is not None:
        load.context.blocks += 1
        load.context.open_block = True
        load.context.block_devices = set()
    if "phase" in effects:  # before its amount, which is of the phase that the line begins
        _phase(load, line)
    if "item" in effects:
        add_item(load, line)
    if "block_end" in effects and load.context is not None:
        load.context.open_block = False
    return moved


def learn(process: Process, load: Load | None, line: Line) -> None:
    """Note what a line says of the process: version, verbosity, devices, arguments, names of its model."""
    event = line.matched.event
    if isinstance(event, ProcessStarted):
        process.version = event.version or process.version
    elif isinstance(event, VersionReported):
        process.version = event.version
        if load is not None and event.model and not load.model:
            load.model = event.model
    elif isinstance(event, VerbosityReported):
        process.verbosity = event.level
    elif isinstance(event, DeviceSeen):
        process.devices.append(event)
    elif isinstance(event, ArgumentsReported):
        process.arguments.append(event.text)
    elif isinstance(event, LoadReady) and line.pattern.role != "parent":
        process.port = event.port or process.port
    elif isinstance(event, ModelIdentified) and load is not None:
        load.names.setdefault(event.what, event.model)


def _phase(load: Load, line: Line) -> None:
    target = leads_to(line, "phase")
    if target is None or (not load.open and target != "asleep"):
        return
    if load.phase == "end" or (load.phase == "serve" and target in {"fit", "allocate"}):
        return
    arguments = line.pattern.effects["phase"]
    if arguments.get("shown") and not load.phases[-1][1].pattern.effects.get("phase", {"shown": True}).get("shown"):
        return  # the phase was announced: what a line only shows does not end it
    held = any(one.kind is Kind.WEIGHTS and one.mark is Mark.COUNTED and one.size_bytes for one in load.items)
    if arguments.get("shown") and target == "fit" and held:
        return  # a dry run comes before weights are held
    after = arguments.get("after")
    if after and load.implied and all(phase != after for phase, _ in load.phases):
        _was_all(load, after)
    load.enter(target, line)


def _was_all(load: Load, phase: str) -> None:
    """The end of a phase whose beginning is not in the log: what the load printed so far was of that phase."""
    load.phases[0] = (phase, load.phases[0][1])
    load.phase = phase
    for item in load.items:
        if phase == "fit" and item.mark is Mark.COUNTED:
            item.mark, item.why = Mark.PLANNED, "printed by a dry run that allocates nothing"
    load.contexts, load.context, load.outer, load.part = [], None, [], Part.TARGET


def _part(load: Load, line: Line) -> list[Item]:
    target = leads_to(line, "part")
    if target is None:
        return []
    load.unsure.discard("part")
    if target != "outer":
        load.turn_to(target)
        return []
    shows = line.pattern.effects["part"].get("shows")
    moved = _was_of(load, load.context, shows) if shows and load.context and not load.outer else []
    load.part = load.outer.pop() if load.outer else Part.TARGET
    own = [one for one in load.contexts if one.part == load.part]
    # Once other contexts exist, a line outside any bracket may be any of theirs.
    load.context = own[-1] if own and len({one.part for one in load.contexts if one.part in _MODELS}) == 1 else None
    return moved


def _was_of(load: Load, context: Context, part: str) -> list[Item]:
    """The end of a part whose beginning is not in the log: a reservation of which nothing else is known was its last.

    Not where a line said that the context begins, nor where it holds anything but compute: that may be another's.
    """
    held = [item for item in load.items if item.context is context]
    if context.announced or any(item.kind is not Kind.COMPUTE for item in held):
        return []
    context.part = part
    for item in held:
        item.part = part
    return held


def _set(load: Load, line: Line) -> None:
    arguments = line.pattern.effects["set"]
    value = arguments.get("value", captured(line).get(arguments.get("from", "")))
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


def _bind(load: Load, line: Line) -> None:
    """Give an amount that names no device that of its writer's tag, unless a line of that writer named it another."""
    event: Any = line.matched.event
    tag = line.prefix.tag
    if line.prefix.device is None or getattr(event, "device", "") is not None:
        return
    bound = load.process.writer_variables.setdefault((tag, "device"), line.prefix.device)
    line.matched = replace(line.matched, event=replace(event, device=str(bound)))


def _use(load: Load, line: Line) -> Any:
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


def close(load: Load, line: Line, reason: str) -> None:
    """End a load at a line, for a reason; one that has ended keeps its reason."""
    if load.open:
        load.ended, load.end_reason = line, reason
    elif load.ended is None:
        load.ended = line


def finish(load: Load, line: Line, reason: str, begins: bool) -> None:
    """End a load in order: its clean-up begins, or is over."""
    if begins:
        if load.closing is None and load.open:
            load.closing = line
            load.variables.setdefault("closing_reason", [reason])
            load.enter("end", line)
        return
    if load.open:
        why = load.closing_reason
        if why is not None and (reason == "exit" or (reason == "stopped" and why != "exit")):
            reason = why  # who stops it said before why it has to go
        load.closing = load.closing or line
        load.ended, load.end_reason = line, reason
        if reason != "sleep":
            load.enter("end", line)


def leads_to(line: Line, effect: str) -> str | None:
    """Where an effect leads: a fixed phase or part, or what a captured value stands for."""
    arguments = line.pattern.effects.get(effect)
    if arguments is None:
        return None
    target: str | None = arguments.get("to")
    if target is None:
        target = arguments["map"].get(str(captured(line).get(arguments["from"])))
    return target


def captured(line: Line) -> dict[str, Any]:
    """What a line says: its keys, and the fields of its event that are not empty."""
    fields = {name: value for name, value in vars(line.matched.event).items() if value is not None}
    return {**line.matched.keys, **fields}
