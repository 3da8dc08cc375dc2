"""Open the evidence that a command is asked about: inputs that are read now, or a case that was read before."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import duckdb
from dateutil import parser as dates
from dateutil import tz as zones

from . import __version__
from .casefile import CASE, attach_case, is_case
from .errors import UsageError
from .moment import add_moment
from .pattern_files import Files
from .question import Asked, Question, load_questions
from .window import Window

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .records import Named, Problem, Source

__all__ = [
    "Opened",
    "chosen_loads",
    "open_case",
    "open_inputs",
    "parse_time",
    "parse_window",
    "parse_zone",
    "user_patterns",
]


@dataclass
class Opened:
    """A case with its questions, ready to be asked."""

    connection: duckdb.DuckDBPyConnection
    files: Files
    questions: list[Question]
    notes: tuple[str, ...] = ()
    read_with: Catalogue | None = None

    def prepare(self, text: str) -> None:
        """Install the questions that a text names, before a transaction that may not."""
        cast("Asked", self.connection).prepare(text)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The programs and patterns; to read them takes a moment, and not every command wants them."""
        if self.read_with is not None:
            return self.read_with
        from .catalogue import Catalogue  # noqa: PLC0415  # what reads patterns takes long to import

        return Catalogue.of(self.files)


def user_patterns() -> list[Path]:
    """Pattern files that a user keeps for all runs: `forensics/patterns.d/*.toml` in the folder of settings."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return sorted(Path(home, "forensics", "patterns.d").glob("*.toml"))


def open_inputs(
    inputs: Sequence[str | Path | Named],
    *,
    tz: str | None = None,
    at_us: int | None = None,
    patterns: Sequence[Path] = (),
    on_progress: Callable[[int, int], None] | None = None,
) -> Opened:
    """Read inputs into a case in memory.

    Args:
        inputs: Files and folders; `-` is standard input.
        tz: Zone of telemetry times that print none.
        at_us: A moment that is asked for.
        patterns: Pattern files of the user.
        on_progress: Called with bytes read and bytes in all.

    Raises:
        UsageError: None of them could be read.
    """
    from .case import read_evidence, store  # noqa: PLC0415  # a case that was read before needs none of this
    from .catalogue import Catalogue  # noqa: PLC0415

    files = Files.installed([*user_patterns(), *patterns])
    catalogue = Catalogue.of(files)
    found = read_evidence(inputs, catalogue, tz_us=parse_zone(tz), on_progress=on_progress)
    if not found.sources:
        given = ", ".join(map(str, inputs))
        raise UsageError(f"{given}: there is no file in it; give a server's log or journal, and telemetry")
    if all(one.is_unread for one in found.sources):
        raise UsageError(*problems(found.sources), "none of the inputs could be read")
    connection = duckdb.connect()
    store(found, connection)
    questions = load_questions()
    notes = tuple(problems(found.sources, found.problems))
    return Opened(ready(connection, questions, at_us), files, questions, notes, read_with=catalogue)


def open_case(path: Path, *, at_us: int | None = None) -> Opened:
    """Open a case file for reading.

    Args:
        path: The file.
        at_us: A moment that is asked for.

    Raises:
        CaseError: It is not a case of this program and version.
    """
    connection = duckdb.connect()
    questions = load_questions()
    kept = CASE if attach_case(connection, path, questions) else None
    patterns = connection.execute("SELECT name, text FROM pattern_file ORDER BY number").fetchall()
    about = dict(connection.execute("SELECT name, value FROM about").fetchall())
    files = Files.installed(texts=patterns)
    notes: tuple[str, ...] = ()
    if (about.get("program"), about.get("catalogue")) != (__version__, files.digest):
        notes = (f"{path}: read by another forensics than this one; forensics ingest --case {path} renews it",)
    return Opened(ready(connection, questions, at_us, kept), files, questions, notes)


def open_any(inputs: Sequence[str | Path], *, tz: str | None = None) -> Opened:
    """Open a case file, if that is all that is given, or read inputs.

    Raises:
        UsageError: None of them could be read.
    """
    if len(inputs) == 1 and is_case(Path(inputs[0])):
        return open_case(Path(inputs[0]))
    return open_inputs(inputs, tz=tz)


def problems(sources: Sequence[Source], others: Sequence[Problem] = ()) -> list[str]:
    """What readers and the analysis met that takes something away from the answers, a line each."""
    told = [
        problem
        for source in sources
        for problem in source.problems
        # A source that gave nothing says why, even where that is no loss: it may be the wrong file.
        if problem.severity != "note" or not source.records
    ]
    return [f"{one.source}: {one.what}. {one.remedy}".rstrip() for one in (*told, *others)]


def ready(
    connection: duckdb.DuckDBPyConnection,
    questions: Sequence[Question],
    at_us: int | None,
    kept: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection to a case that answers questions by name, at a moment if one is asked for.

    Args:
        connection: The case.
        questions: What can be asked.
        at_us: The moment, µs UTC.
        kept: Where the case keeps the rows of stored questions, if it does.
    """
    connection.execute("SET TimeZone = 'UTC'")
    asked = cast("duckdb.DuckDBPyConnection", Asked(connection, questions, kept))
    if at_us is not None:
        add_moment(asked, at_us)
    return asked


def chosen_loads(
    connection: duckdb.DuckDBPyConnection,
    *,
    wanted: str | None = None,
    unit: str | None = None,
    window: Window | None = None,
) -> list[str] | None:
    """Ids of the loads that a person means: by number, id, label, model or unit, and by what their life touches.

    A load without times is never left out for its time.

    Returns:
        The ids, or None if nothing was asked for.

    Raises:
        UsageError: There is no such load.
    """
    if wanted is None and unit is None and window is None:
        return None
    rows = connection.execute(
        "SELECT load_id, number, model, label, unit, begun_us, ended_us FROM loads ORDER BY number"
    ).fetchall()
    known = ", ".join(f"{row[1]} ({row[3] or row[2] or 'unknown model'})" for row in rows) or "none"
    found = rows
    if wanted is not None:
        exact = [row for row in rows if wanted in {row[0], str(row[1]), row[2], row[3], row[4]}]
        part = [row for row in rows if row[0].startswith(wanted) or any(wanted in (one or "") for one in row[2:4])]
        found = exact or part
        if not found:
            raise UsageError(f"--load {wanted}: no such load; the evidence shows: {known}")
    if unit is not None:
        unit = known_unit(connection, unit)
        found = [row for row in found if row[4] == unit]
    return [row[0] for row in found if window is None or window.touches(row[5], row[6])]


def known_unit(connection: duckdb.DuckDBPyConnection, unit: str) -> str:
    """A unit by the name that a person types: without its suffix it is a service.

    Raises:
        UsageError: The evidence does not show it.
    """
    rows = connection.execute("SELECT DISTINCT unit FROM line WHERE unit IS NOT NULL ORDER BY unit").fetchall()
    units = [row[0] for row in rows]
    for name in (unit, f"{unit}.service"):
        if name in units:
            return name
    raise UsageError(f"--unit {unit}: no such unit; the evidence shows: {', '.join(units) or 'none'}")


def parse_window(around: str | None, since: str | None, until: str | None) -> Window | None:
    """The span that a person's options mean.

    Raises:
        UsageError: One of them is no time, or the end is before the begin.
    """
    begin = None if since is None else parse_time(since, "--since")
    end = None if until is None else parse_time(until, "--until")
    if begin is not None and end is not None and end < begin:
        raise UsageError(f"--until {until} is before --since {since}")
    return Window.of(None if around is None else parse_time(around, "--around"), begin, end)


def parse_time(text: str, option: str) -> int:
    """A time that a person typed, in µs UTC; without a zone it is taken as UTC.

    Raises:
        UsageError: It is no time.
    """
    try:
        moment = dates.parse(text, default=datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {text}: not a time: {error}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000)


def parse_zone(name: str | None) -> int | None:
    """Offset from UTC in µs of a zone given by name or as ±HH:MM.

    Raises:
        UsageError: There is no such zone.
    """
    if name is None:
        return None
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if found:
        sign = -1 if found[1] == "-" else 1
        return sign * (int(found[2]) * 60 + int(found[3])) * 60_000_000
    zone = zones.gettz(name)
    if zone is None:
        raise UsageError(f"--tz {name}: no such zone; write it as Europe/Berlin or +02:00")
    offset = datetime.now(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() * 1_000_000)
