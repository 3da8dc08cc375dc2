"""Ask from Python what the command line asks: the same answers, as values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import polars as pl

from .answer import Ask, answer_json
from .asked import OPTIONS, QUESTIONS
from .casefile import is_case
from .errors import UsageError
from .looked_at import explained
from .moment import add_moment
from .opened import Opened, chosen_loads, known_unit, open_inputs, parse_time, parse_window
from .opened import open_case as open_file
from .printing import parse_self_report
from .provenance import Asked, provenance
from .query import Limits, bounded_memory, lock, run_query
from .report_json import render_json
from .window import Window

__all__ = ["Case", "open_case"]

TYPES: dict[str, Any] = {
    "BIGINT": pl.Int64,
    "INTEGER": pl.Int32,
    "DOUBLE": pl.Float64,
    "VARCHAR": pl.String,
    "BOOLEAN": pl.Boolean,
}
"""How columns come over; those of another type as Python's values say."""


def open_case(
    what: str | Path | Sequence[str | Path], *, tz: str | None = None, patterns: Sequence[str | Path] = ()
) -> Case:
    """Open a case that `forensics ingest` wrote, or read logs and samples into one in memory.

    Args:
        what: A case file; or a file, a folder or several of them to read.
        tz: Zone of telemetry times that print none, such as Europe/Berlin; a case file has its own.
        patterns: Pattern files of your own; a case file has its own.

    Raises:
        ForensicsError: It cannot be opened; the message says what to do.
    """
    inputs = [str(what)] if isinstance(what, str | Path) else [str(one) for one in what]
    if len(inputs) == 1 and is_case(Path(inputs[0])):
        if tz is not None or patterns:
            raise UsageError("the zone and the patterns are decided when a case is made: give them to forensics ingest")
        return Case(open_file(Path(inputs[0])))
    return Case(open_inputs(inputs, tz=tz, patterns=[Path(one) for one in patterns]))


class Case:
    """Evidence that was read, ready to be asked; close it, or use it in a `with` block."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._locked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the case."""
        self._opened.connection.close()

    @property
    def loads(self) -> list[dict[str, Any]]:
        """The model loads in order of time, as `forensics loads --format json` has them."""
        return cast("list[dict[str, Any]]", self.ask("loads")["loads"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was met in reading that takes something away from the answers."""
        return self._opened.notes

    @property
    def questions(self) -> dict[str, str]:
        """The views and macros that `query` can ask, with what one row of each is."""
        return {one.signature: one.summary for one in self._opened.questions}

    def explain_vram(
        self,
        *,
        load: str | int | None = None,
        at: str = "last",
        self_report: str | None = None,
        unit: str | None = None,
        around: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> dict[str, Any]:
        """What each load holds on each card: the document of `forensics explain-vram --format json`.

        Args:
            load: A load: its number, id, label, model or unit.
            at: `last`, `ready`, `asleep`, or a time.
            self_report: What the service says it uses, with its unit: 24.52GiB; or a file that says it.
            unit: Only loads of this unit.
            around: Only loads that lived near this time.
            since: Only loads that lived at this time or later.
            until: Only loads that lived at this time or earlier.

        Raises:
            UsageError: There is no such load, or something is no time or amount.
        """
        connection = self._opened.connection
        moment, at_us, window = at, None, parse_window(around, since, until)
        alive = window
        if at not in {"last", "ready", "asleep"}:
            at_us = parse_time(at, "at")
            add_moment(connection, at_us)
            moment, alive = "at", Window(at_us, at_us)
        report = parse_self_report(self_report)
        only = chosen_loads(connection, wanted=_word(load), unit=unit, window=alive)
        catalogue = self._opened.catalogue
        found = explained(connection, catalogue, moment=moment, self_report=report, only=only, window=window)
        asked = Asked(moment, at_us, self_report, None if only is None else tuple(only), window)
        found |= provenance(connection, asked)
        return cast("dict[str, Any]", json.loads(render_json(found)))

    def ask(
        self,
        name: str,
        *,
        load: str | int | None = None,
        unit: str | None = None,
        around: str | None = None,
        since: str | None = None,
        until: str | None = None,
        **extra: object,
    ) -> dict[str, Any]:
        """One of the questions of the command line: what `forensics NAME --format json` prints.

        Args:
            name: loads, swaps, spec, kv, crashes …
            load: A load: its number, id, label, model or unit.
            unit: Only this unit.
            around: A moment: look at the loads and lines around it.
            since: Begin of the span to look at.
            until: End of the span to look at.
            **extra: Options of that question, by the names of its flags: load_time=6.0.

        Raises:
            UsageError: There is no such question, load or option.
        """
        if name not in QUESTIONS:
            raise UsageError(f"{name}: no such question; there are {', '.join(QUESTIONS)}")
        options = {one.flag.removeprefix("--").replace("-", "_"): one.name for one in OPTIONS.get(name, ())}
        if unknown := sorted(set(extra) - set(options)):
            raise UsageError(f"{name} has no option {unknown[0]}; it has {', '.join(options) or 'none of its own'}")
        window = parse_window(around, since, until)
        ask = Ask(
            connection=self._opened.connection,
            loads=chosen_loads(self._opened.connection, wanted=_word(load), unit=unit, window=window),
            around_us=None if around is None else parse_time(around, "around"),
            since_us=None if since is None else parse_time(since, "since"),
            until_us=None if until is None else parse_time(until, "until"),
            unit=None if unit is None else known_unit(self._opened.connection, unit),
            extra={internal: extra.get(flag) for flag, internal in options.items()},
        )
        return cast("dict[str, Any]", json.loads(answer_json(ask, QUESTIONS[name][0](ask))))

    def query(
        self, sql: str, *, rows: int = 1_000_000, seconds_s: float = 60.0, memory_bytes: int = 1 << 30
    ) -> pl.DataFrame:
        """Ask in SQL, read-only and locked down: one SELECT, or the name of a view.

        Args:
            sql: The query.
            rows: Most rows that come back; a warning says if there are more.
            seconds_s: Longest that it may run.
            memory_bytes: Most that queries of this case may take; the first one decides. While one runs, the process
                gets no more than that beside what it holds, and some room for the rows.

        Raises:
            QuestionError: It is not allowed, not right, or did not end in time.
        """
        limits = Limits(rows, seconds_s, memory_bytes)
        if not self._locked:
            lock(self._opened.connection, limits)
            self._locked = True
        with bounded_memory(limits):
            result = run_query(self._opened, sql, limits)
        if result.more:
            warnings.warn(f"only the first {rows} rows of the query came back", stacklevel=2)
        columns: dict[str, pl.Series] = {}
        for place, (name, kind) in enumerate(zip(result.columns, result.types, strict=True)):
            unique = name if name not in columns else f"{name}_{place}"
            columns[unique] = pl.Series(unique, [row[place] for row in result.rows], dtype=TYPES.get(kind))
        return pl.DataFrame(columns)


def _word(load: str | int | None) -> str | None:
    return None if load is None else str(load)
