"""Answer whether a load speculates, how well, and which lines of other loads only look like evidence about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .amounts import count
from .answer import Answer, Ask, Section
from .block_tables import block_tables, table_section
from .explain import iso
from .refute import every_load, loads_in, looks, window_of
from .spec_document import effects, load_document, models
from .spec_judged import judge
from .spec_screen import SHOWN, many_loads, one_load

__all__ = ["spec"]


def spec(ask: Ask) -> Answer:
    """Say for each load what it was set up to draft, whether it drafts, and how much of that is accepted."""
    window = window_of(ask)
    every = every_load(ask)
    inside = loads_in(ask, every, window)
    wanted = [load for load in (every.values() if ask.loads is not None else inside) if ask.wants(load["load_id"])]
    judged = judge(ask, wanted, every, window)
    document = {
        "schema": "forensics.spec/1",
        "window": None if window is None else {"since": iso(window.since_us), "until": iso(window.until_us)},
        "loads_in_window": len(inside),
        "loads": [load_document(one) for one in judged],
        "models": models(ask, judged),
        "effects": effects(ask, judged),
        "tables": (tables := block_tables(ask)),
    }
    if not judged:
        answer = _nobody(ask, document)
    else:
        cited = list(dict.fromkeys(line for one in judged for line in one.cited))
        code = 0 if any(one.active is not None for one in judged) else 3
        if len(judged) == 1:
            answer = one_load(judged[0], every, document, cited, code, len(inside) if window else None)
        else:
            answer = many_loads(judged, document, cited, code)
    return replace(
        answer,
        sections=(*answer.sections, *map(table_section, tables)),
        cited=(*answer.cited, *(line for table in tables for line in table["evidence"])),
    )


def _nobody(ask: Ask, document: dict[str, Any]) -> Answer:
    """No load shows: say which lines would be evidence if somebody owned them."""
    lines = [line for line in looks(ask, "speculation") if line.load_id is None and not line.suspect]
    document["without_owner"] = [
        {"evidence": line.line_id, "at": iso(line.at_us), "says": line.says, "what": line.what, "reason": line.reason}
        for line in lines
    ]
    if not lines:
        return Answer(document, "No model load begins or shows in this evidence.", code=3)
    return Answer(
        document,
        f"Cannot tell: {count(len(lines), 'line')} about speculation, and no load shows whose "
        f"{'it is' if len(lines) == 1 else 'they are'}.",
        sections=(Section("Without an owner", ("", ""), tuple((line.says, line.what) for line in lines[:SHOWN])),),
        cited=tuple(line.line_id for line in lines),
        next="Add the part of the log in which the load begins.",
        code=3,
    )
