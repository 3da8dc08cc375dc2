"""Explain the memory of loads that somebody asks for, and whose the lines are that only look like theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from .answer import Ask
from .document import texts
from .explain import document, evidence
from .missing import Programs
from .refute import Looks, every_load, loads_in, looks, refutation_document, refute
from .window import Window

__all__ = ["explained"]


def explained(
    connection: duckdb.DuckDBPyConnection,
    programs: Programs,
    *,
    moment: str = "last",
    self_report: tuple[int, int, str] | None = None,
    only: Sequence[str] | None = None,
    window: Window | None = None,
) -> dict[str, Any]:
    """The document of explain-vram as a person asked for it.

    Args:
        connection: A case with its questions installed.
        programs: What knows their remedies: the catalogue, or the texts of its files.
        moment: `last`, `ready`, `asleep` or `at`.
        self_report: Bytes, rounding bound and origin of what the service says it uses.
        only: Load ids that were asked for; None if nothing was, and then nothing can be taken for theirs.
        window: The span asked for; without one each load's own life.

    Returns:
        The document; of loads that were asked for, each says under `looked_at` which lines are evidence about it.

    Raises:
        FaultError: The case contradicts itself.
    """
    found = document(connection, programs, moment=moment, self_report=self_report, only=only)
    if only is None:
        return found
    ask = Ask(connection)
    every = every_load(ask)
    memory, drafting = looks(ask, "memory"), looks(ask, "speculation")
    loads = []
    for load in found["loads"]:
        lines = _confusable(load, memory, drafting)
        loads.append({**load, "looked_at": refutation_document(refute(lines, every[load["load_id"]], every, window))})
    cited = {line for load in loads for line in _cited(load["looked_at"])} - set(found["evidence"])
    return {
        **found,
        "loads": loads,
        "loads_in_window": len(loads_in(ask, every, window)),
        "evidence": {**found["evidence"], **evidence(connection, cited)},
    }


def _confusable(load: Mapping[str, Any], memory: Sequence[Looks], drafting: Sequence[Looks]) -> list[Looks]:
    """Lines about memory, and those of others that would be taken to say whether this load drafts.

    What a draft context holds is believed or not by such lines: of a load that drafts those that deny it, else those
    that speak of it.
    """
    drafts = (load["summary"]["speculation"] or "off") != "off"
    wanted = {"against", "nothing"} if drafts else {"for"}
    others = [line for line in drafting if line.says in wanted and line.load_id != load["load_id"]]
    told = {line.line_id for line in others}
    return sorted([*others, *(line for line in memory if line.line_id not in told)], key=lambda line: line.ordinal)


def _cited(looked: Mapping[str, Any]) -> Iterator[str]:
    yield from texts(looked, "for")
    yield from texts(looked, "against")
    for group in (
        *(one["lines"] for one in looked["elsewhere"]),
        *(looked[key] for key in ("ambiguous", "looks_only", "without_owner", "suspected")),
    ):
        yield from (line["evidence"] for line in group)
