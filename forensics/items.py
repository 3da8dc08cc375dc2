"""The ledger of a load: what an amount counts for, and which earlier ones it replaces."""

from __future__ import annotations

from .events import Kind
from .line import Line
from .lives import Context, Item, Load, Mark

__all__ = ["add_item", "doubt"]


def add_item(load: Load, line: Line) -> None:
    """Enter the amount of a line, with its mark and why it has that mark."""
    arguments = line.pattern.effects["item"]
    event = line.matched.event
    size = getattr(event, arguments.get("from", "size_bytes"), None)
    if size is None:
        return
    combine, per = arguments.get("combine", "add"), arguments.get("per", "load")
    device = getattr(event, "device", None) or ""
    if arguments.get("placed") and not device:
        return
    if load.phase != "fit" and "again" in arguments and _has(load, line, device):
        load.turn_to(arguments["again"])
    part = arguments.get("part", load.part)
    context = load.context
    estimated = arguments.get("basis") == "estimated"
    if per == "context" and context is None and not estimated and not load.contexts:
        context = load.context = Context(0, part)  # builds that do not announce contexts
        load.contexts.append(context)
    elif per == "context" and context is None and part not in {one.part for one in load.contexts} and not estimated:
        context = load.context = Context(len(load.contexts), part)
        load.contexts.append(context)
    item = Item(
        load=load,
        line=line,
        device=device,
        part=part,
        kind=Kind(arguments["kind"]) if "kind" in arguments else getattr(event, "kind", None),
        size_bytes=size,
        bound_bytes=line.matched.bounds.get(arguments.get("from", "size_bytes"), 0),
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
        doubt(load, line, device)
    elif ("part" in load.unsure and "part" not in arguments) or (per == "context" and "context" in load.unsure):
        item.mark, item.why = Mark.CLAIMED, "lines that several could have written leave its part open"
        doubt(load, line, device)
    elif per == "context" and context is None:
        item.mark, item.why = Mark.CLAIMED, "several contexts could have printed it"
    else:
        _combine(load, item)
    load.items.append(item)


def doubt(load: Load, line: Line, device: str | None = None) -> None:
    """Count none of the amounts any more that a line may have replaced: on its device, or on all."""
    if line.pattern.effects["item"].get("combine") not in {"block", "last"}:
        return
    for item in load.items:
        if item.mark is Mark.COUNTED and item.line.pattern is line.pattern and device in {None, item.device}:
            item.mark, item.why = Mark.CLAIMED, "a later line that several could have written may replace it"


def _has(load: Load, line: Line, device: str) -> bool:
    """Whether the part that a line is of has such an amount on this device already."""
    return any(
        other.mark is Mark.COUNTED
        and other.line.pattern is line.pattern
        and other.device == device
        and other.part == load.part
        for other in load.items
    )


def _combine(load: Load, item: Item) -> None:
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
            table.why = "told in a sum or by the supervisor too; what itself logged it counts"
            continue
        if other.mark is not Mark.COUNTED or other.kind != item.kind or not _same_place(other, item):
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


def _same_place(other: Item, item: Item) -> bool:
    if other.line.pattern is not item.line.pattern:
        return False
    if item.per == "context":
        return other.context is item.context
    if item.per == "part":
        return other.part == item.part
    return True
