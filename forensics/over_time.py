"""Gather what a report draws over time: memory of each card, lives of the loads, and what was accepted of drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import duckdb

__all__ = ["Accepted", "Life", "Memory", "OverTime", "Spell", "over_time"]


class Memory(NamedTuple):
    """One card at one moment; bytes."""

    at_us: int
    used: int | None
    """The whole card, if it was sampled."""
    loads: int
    """What the processes that the log shows hold of it."""
    others: int
    """What other processes hold of it."""


class Spell(NamedTuple):
    """A span of a load's life in one phase; µs UTC."""

    what: str
    """loading, serving or asleep."""
    begin_us: int
    end_us: int


@dataclass(frozen=True)
class Life:
    """One load over time."""

    load_id: str
    number: int
    model: str
    begun_us: int
    until_us: int
    """Its end, the begin of its clean-up where that is all the log shows, or the end of the evidence."""
    spells: tuple[Spell, ...]
    end_reason: str


class Accepted(NamedTuple):
    """What was accepted of the drafts of one request or interval."""

    load_id: str
    at_us: int
    accepted: int | None
    drafted: int | None
    ratio: float
    covers: str
    line_id: str


@dataclass(frozen=True)
class OverTime:
    """Everything that a report draws over time; empty where the evidence has no wall time."""

    memory: dict[str, list[Memory]]
    """By card: its UUID, else its PCI bus id, else its index."""
    lives: tuple[Life, ...]
    accepted: tuple[Accepted, ...]
    models: dict[str, str]
    """Model of each load, by load id."""

    @property
    def span_us(self) -> tuple[int, int] | None:
        """From the first to the last moment that is drawn."""
        times = [one.at_us for samples in self.memory.values() for one in samples]
        times += [end for life in self.lives for end in (life.begun_us, life.until_us)]
        times += [one.at_us for one in self.accepted]
        return (min(times), max(times)) if times else None


NOTHING = OverTime({}, (), (), {})


def over_time(connection: duckdb.DuckDBPyConnection) -> OverTime:
    """Read a case's series."""
    memory: dict[str, list[Memory]] = {}
    rows = connection.execute(
        """
        SELECT card_id, at_us, max(used_bytes), coalesce(sum(held_bytes) FILTER (process_id IS NOT NULL), 0)::BIGINT,
            coalesce(sum(held_bytes) FILTER (process_id IS NULL), 0)::BIGINT
        FROM memory_over_time GROUP BY card_id, at_us ORDER BY card_id, at_us
        """
    ).fetchall()
    for card, at, used, loads, others in rows:
        memory.setdefault(card, []).append(Memory(at, used, loads, others))
    last = connection.execute(
        "SELECT max(moment) FROM (SELECT max(time_us) AS moment FROM line UNION ALL SELECT max(at_us) FROM card_sample)"
    ).fetchone()
    end = last[0] if last else None
    accepted = [
        Accepted(*row)
        for row in connection.execute(
            """
            SELECT load_id, at_us, accepted, drafted, coalesce(ratio, printed_ratio), covers, line_id FROM draft_samples
            WHERE at_us IS NOT NULL AND coalesce(ratio, printed_ratio) IS NOT NULL
            """
        ).fetchall()
    ]
    models = dict(connection.execute("SELECT load_id, coalesce(label, model, 'unknown model') FROM loads").fetchall())
    return OverTime(memory, tuple(_lives(connection, end)), tuple(accepted), models)


def _lives(connection: duckdb.DuckDBPyConnection, end: int | None) -> list[Life]:
    phases: dict[str, list[tuple[str, int]]] = {}
    for load_id, phase, at in connection.execute(
        "SELECT load_id, phase, at_us FROM phase WHERE at_us IS NOT NULL ORDER BY load_id, at_us, number"
    ).fetchall():
        phases.setdefault(load_id, []).append((phase, at))
    found = []
    for load_id, number, model, begun, ready, closing, ended, reason in connection.execute(
        """
        SELECT load_id, number, coalesce(model, label, 'unknown model'), begun_us, ready_us, closing_us, ended_us,
            coalesce(end_reason, '')
        FROM loads WHERE begun_us IS NOT NULL ORDER BY number
        """
    ).fetchall():
        until = max(begun, ended or closing or end or begun)
        found.append(
            Life(load_id, number, model, begun, until, _spells(begun, ready, until, phases.get(load_id, [])), reason)
        )
    return found


def _spells(begun: int, ready: int | None, until: int, phases: list[tuple[str, int]]) -> tuple[Spell, ...]:
    """Loading until it is ready, then serving, with the spans in which it sleeps inside its life."""
    if ready is None:
        return (Spell("loading", begun, until),)
    spells = [Spell("loading", begun, ready)]
    state, since = "serving", ready
    for phase, at in phases:
        now = "asleep" if phase == "asleep" else "serving"
        if at <= ready or at >= until or now == state:
            continue
        spells.append(Spell(state, since, at))
        state, since = now, at
    spells.append(Spell(state, since, until))
    return tuple(spells)
