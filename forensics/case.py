"""Evidence in, a case in DuckDB out: read, scan, own, join, store."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType

import duckdb
import pyarrow as pa

from . import __version__
from .bookmarks import Bookmark, Bookmarks, Kept, OtherBytesError, wanted_tables
from .bounds import EVERYTHING, Bounds
from .catalogue import Catalogue
from .errors import FaultError
from .events import LoadReady
from .invariants import measurement_breaks, ownership_breaks
from .line import between_us
from .lives import Load, content_id
from .measure import Measured, anchor, card_id, measure, telemetry_line_id
from .memory import give_back
from .records import (
    Block,
    CardSamples,
    HolderSamples,
    Named,
    Options,
    Problem,
    RequestCounters,
    SelfReports,
    Source,
    read_inputs,
)
from .regexes import PATIENCE_S
from .scan import Found, ScanCounts, Scanner, Unread
from .schema import SCHEMA_VERSION, TABLES, ddl
from .scope import Ownership, assign
from .spool import Spool
from .tables import arrow_table, line_id, line_tables
from .telemetry import Join, Telemetry, gather, infer_zone, join_processes
from .twins import count_once
from .unread import grouped, masked

__all__ = ["Evidence", "hold", "read_evidence", "store"]


BATCH = 10_000
"""Rows of samples that are made at once."""

MANY = 10_000
"""Lines from which on memory is worth giving back."""

YEARLESS = frozenset({"journal-short"})
"""Formats whose times print no year: when the file was last written says which it is."""


@dataclass
class Evidence:
    """Everything that was read and found, before it becomes tables."""

    catalogue: Catalogue
    sources: list[Source] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """What the analysis met that is no source's."""
    ownership: Ownership = field(default_factory=Ownership)
    telemetry: Telemetry = field(default_factory=Telemetry)
    joins: dict[int, Join] = field(default_factory=dict)
    counts: dict[str, ScanCounts] = field(default_factory=dict)
    measured: Measured = field(default_factory=Measured)
    self_reports: list[SelfReports] = field(default_factory=list)
    request_counters: list[RequestCounters] = field(default_factory=list)
    inputs: tuple[str, ...] = ()
    tz_us: int | None = None
    bounds: Bounds = EVERYTHING
    bookmarks: dict[str, tuple[Bookmark, list[Found]]] = field(default_factory=dict)
    """By source, where reading it can go on, and what was found in it."""

    def let_go(self) -> None:
        """Forget what the tables have: all but sources and problems."""
        self.bookmarks = {}
        self.ownership, self.telemetry, self.measured = Ownership(), Telemetry(), Measured()
        self.joins, self.counts, self.self_reports, self.request_counters = {}, {}, [], []
        give_back()


def read_evidence(
    inputs: Sequence[str | Path | Named],
    catalogue: Catalogue,
    *,
    tz_us: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    options: Options | None = None,
    kept: Mapping[str, Kept] = MappingProxyType({}),
) -> Evidence:
    """Read inputs and give each line to its owner.

    Args:
        inputs: Files and folders; `-` is standard input.
        catalogue: Programs and patterns.
        tz_us: Offset of printed telemetry times from UTC, if the user knows it.
        on_progress: Called with bytes read and bytes in all.
        options: Bounds of the readers.
        kept: Bookmarks of another time, by source: reading goes on there.

    Raises:
        OtherBytesError: A source does not hold any more, before its bookmark, what was read there.
    """
    options = (options or Options())._replace(known={name: one.known for name, one in kept.items()})
    scanner = Scanner(catalogue)
    bookmarks = Bookmarks(options)
    marks: dict[str, Bookmark] = {}
    evidence = Evidence(catalogue, inputs=tuple(str(one) for one in inputs), tz_us=tz_us)
    spool = Spool()
    cards: list[CardSamples] = []
    holders: list[HolderSamples] = []
    for piece in read_inputs(inputs, on_progress=on_progress, options=options):
        if isinstance(piece, Block):
            before = kept.get(piece.source.name)
            if before is not None and piece.first_record == before.known.records:
                for one in before.found(scanner, options):
                    spool.add(one)
                bookmarks.go_on(scanner, piece, before)
            else:
                spool.add(scanner.read(piece))
                bookmarks.note(scanner, piece)
        elif isinstance(piece, CardSamples):
            cards.append(piece)
        elif isinstance(piece, HolderSamples):
            holders.append(piece)
        elif isinstance(piece, SelfReports):
            evidence.self_reports.append(piece)
        elif isinstance(piece, RequestCounters):
            evidence.request_counters.append(piece)
        else:
            evidence.sources.append(piece)
            if piece.name in kept and not bookmarks.has(piece):
                raise OtherBytesError(f"{piece.name}: it ended before its bookmark")
            mark = bookmarks.of(piece)
            if mark is not None:
                marks[piece.name] = mark
    evidence.counts = scanner.counts
    evidence.problems = [
        Problem(
            one.where,
            "loss",
            f"the expression took longer than {PATIENCE_S:g} s on {one.slow} line{'s' if one.slow > 1 else ''}"
            + (f" and was not tried on {one.skipped} more" if one.skipped else ""),
            "repeats inside repeats take that long; make it plainer",
            count=one.slow + one.skipped,
        )
        for one in catalogue.slow()
    ]
    copies = _copies(evidence.sources)
    found = [one for one in spool.found() if one.source not in copies]
    cards = [one for one in cards if one.source.name not in copies]
    holders = [one for one in holders if one.source.name not in copies]
    evidence.self_reports = [one for one in evidence.self_reports if one.source.name not in copies]
    evidence.request_counters = [one for one in evidence.request_counters if one.source.name not in copies]
    for name in copies:
        evidence.counts.pop(name, None)
    if not evidence.problems:  # an expression that took too long was not tried on all lines
        evidence.bookmarks = {
            name: (mark, [one for one in found if one.source == name])
            for name, mark in marks.items()
            if name not in copies
        }
    if len({one.source for one in found if one.source is not None}) < 2:
        evidence.ownership = assign(found, catalogue)
    else:
        lines = [line for one in found for line in one.all()]
        evidence.ownership = assign(count_once(lines, evidence.sources, evidence.counts), catalogue)
    evidence.telemetry = gather(cards, holders)
    processes = evidence.ownership.processes
    known = [*(one.zone_known for one in cards), *(one.zone_known for one in holders)]
    zone_known = bool(known) and all(known)
    infer_zone(evidence.telemetry, processes, tz_us, zone_known)
    evidence.joins = join_processes(evidence.telemetry, processes, catalogue)
    anchor(processes, evidence.telemetry, catalogue, evidence.joins)
    evidence.measured = measure(evidence.ownership.loads, evidence.telemetry, evidence.joins, catalogue)
    hold(evidence)
    return evidence


def hold(evidence: Evidence) -> None:
    """Hold owners, ledgers and measurements against what must be true of them.

    Raises:
        FaultError: One is wrong.
    """
    loads, joins = evidence.ownership.loads, evidence.joins
    found = [
        *ownership_breaks(evidence.ownership),
        *measurement_breaks(loads, evidence.telemetry, joins, evidence.measured, evidence.catalogue),
    ]
    if found:
        raise FaultError(found)


def _copies(sources: Sequence[Source]) -> set[str]:
    """Names of sources whose bytes another one has too: read twice, each of their loads would count twice."""
    first: dict[tuple[str, int], str] = {}
    copies: set[str] = set()
    for source in sources:
        key = (source.digest.root, source.digest.size)
        if source.digest.size and first.setdefault(key, source.name) != source.name:
            copies.add(source.name)
            source.problems.append(Problem(source.name, "note", f"it has the same bytes as {first[key]}: read once"))
    return copies


def store(evidence: Evidence, connection: duckdb.DuckDBPyConnection, *, empty: bool = False) -> None:
    """Write all tables of a case, which are already there where it is an empty one."""
    if evidence.ownership.count() > MANY:  # to look for what nothing uses takes longer than to store a small case
        give_back()
    # In one transaction: else DuckDB writes what is inserted twice, to its log and to the tables.
    connection.execute("BEGIN" if empty else f"BEGIN; {ddl(comments=False)}")
    for name, rows in _rows(evidence).items():
        if rows:
            _insert(connection, name, arrow_table(name, rows))
    for name, told in itertools.groupby(_telemetry_rows(evidence), key=itemgetter(0)):
        while some := [row for _, row in itertools.islice(told, BATCH)]:
            _insert(connection, name, arrow_table(name, some))
    for source, (mark, found) in evidence.bookmarks.items():
        for places in wanted_tables(source, mark, found):
            _insert(connection, "wanted", places)
    for batch in line_tables(evidence.ownership, {one.name: one.digest.root for one in evidence.sources}):
        for name, arrow in batch.items():
            _insert(connection, name, arrow)
    connection.execute("COMMIT")


def _insert(connection: duckdb.DuckDBPyConnection, name: str, arrow: pa.Table) -> None:
    # Not by a name of its own: duckdb (2.0) keeps what was registered until the transaction ends.
    connection.from_arrow(arrow).insert_into(f'"{name}"')


def _rows(evidence: Evidence) -> dict[str, list[dict[str, object]]]:
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}
    rows["input"] = [{"number": number, "path": path} for number, path in enumerate(evidence.inputs)]
    rows["pattern_file"] = [
        {"number": number, "name": name, "text": text} for number, (name, text) in enumerate(evidence.catalogue.extra)
    ]
    rows["about"] = [
        {"name": "schema", "value": SCHEMA_VERSION},
        {"name": "program", "value": __version__},
        {"name": "catalogue", "value": evidence.catalogue.digest},
        {"name": "tz_us", "value": None if evidence.tz_us is None else str(evidence.tz_us)},
        {"name": "bounds", "value": None if evidence.bounds == EVERYTHING else evidence.bounds.as_json()},
    ]
    telemetry = evidence.telemetry
    if telemetry.cards or telemetry.holders:
        zone = timezone(timedelta(microseconds=telemetry.zone_us))
        rows["about"].append({"name": "zone of samples", "value": f"{zone}, {telemetry.zone_basis}"})
    newest = {one.name: one.newest for one in evidence.catalogue.programs if one.newest}
    rows["about"].extend({"name": f"newest {name}", "value": build} for name, build in newest.items())
    roots = {source.name: source.digest.root for source in evidence.sources}
    for place, source in enumerate(evidence.sources):
        rows["source"].append(
            {
                "number": place,
                "source_id": source.name,
                "format": source.format,
                "size_bytes": source.digest.size,
                "digest": source.digest.root,
                "records": source.records,
                "modified_us": source.modified_us if source.format in YEARLESS or source.filed else None,
            }
        )
        rows["chunk"].extend(
            {"source_id": source.name, "number": number, "digest": digest}
            for number, digest in enumerate(source.digest.chunks)
        )
    rows["bookmark"] = [
        {
            "source_id": name,
            "offset": mark.seam.offset,
            "taken": mark.seam.taken,
            "records": mark.records,
            "until": mark.until,
            "counts": mark.counted(),
            "carried": json.dumps(mark.carried),
        }
        for name, (mark, _) in evidence.bookmarks.items()
    ]
    rows["problem"] = [
        {
            "source_id": problem.source,
            "severity": problem.severity,
            "what": problem.what,
            "remedy": problem.remedy,
            "count": problem.count,
        }
        for problems in (*(source.problems for source in evidence.sources), evidence.problems)
        for problem in problems
    ]
    templates = _templates(evidence)
    for name, counts in evidence.counts.items():
        rows["scan_count"].append(
            {
                "source_id": name,
                "records": counts.records,
                "size_bytes": counts.bytes,
                "read_bytes": counts.read_bytes,
                "hit": counts.hit,
                "read": counts.read,
                "missed": counts.missed,
                "sized": counts.sized,
                "sized_read": counts.sized_read,
                "placed": counts.placed,
                "placed_read": counts.placed_read,
                "sampled": counts.sampled,
                "tokens": counts.tokens,
                "tokens_read": counts.tokens_read,
                "unread_dropped": counts.unread_dropped,
                "carried": counts.carried,
            }
        )
        rows["unread"].extend(
            {
                "line_id": "E" + content_id(roots.get(name, name), one.offset),
                "source_id": name,
                "offset": one.offset,
                "length": one.length,
                "what": one.what,
                **_component(one, counts),
                "template": templates.get(masked(one.text), masked(one.text)),
                "more": one.more,
                "text": one.text,
            }
            for one in counts.unread
        )
    _life_rows(rows, evidence, roots)
    for row in (
        *evidence.measured.devices,
        *evidence.measured.measures,
        *evidence.measured.runtimes,
        *evidence.measured.libraries,
        *evidence.measured.peaks,
        *evidence.measured.cards,
    ):
        rows[row.table].append(dict(vars(row)))
    _capture_rows(rows, evidence)
    return rows


def _templates(evidence: Evidence) -> dict[str, str]:
    """The template of each wording with an amount or a device that no pattern reads; token counts are only masked."""
    lines: Counter[str] = Counter()
    for counts in evidence.counts.values():
        for one in counts.unread:
            if one.what != "tokens":
                lines[masked(one.text)] += 1 + one.more
    return grouped(lines)


def _component(unread: Unread, counts: ScanCounts) -> dict[str, str | None]:
    """The program that most lines of the source are of, among those that have such a component."""
    known = max(unread.components, key=lambda one: counts.programs[one[0]], default=None)
    if known is None or not counts.programs[known[0]]:
        return {"program": None, "component": None}
    return {"program": known[0], "component": known[1]}


def _capture_rows(rows: dict[str, list[dict[str, object]]], evidence: Evidence) -> None:
    """What services said of themselves, column by column as it was read."""
    for table, pieces in (("self_report", evidence.self_reports), ("request_counter", evidence.request_counters)):
        for piece in pieces:
            columns = {name: column for name, column in vars(piece).items() if name != "source"}
            for number, offset in enumerate(piece.offset):
                row: dict[str, object] = {name: column[number] for name, column in columns.items()}
                row["line_id"] = "S" + content_id(piece.source.digest.root, offset)
                row["source_id"] = piece.source.name
                row["at_us"] = row.pop("wall_us")
                rows[table].append(row)


def _clocked(load: Load) -> int | None:
    """How long it loaded by its writer's own clock, where the log has both ends: what else it served by is later."""
    if load.implied or load.ready is None or load.ready.pattern.event is not LoadReady:
        return None
    return between_us(load.begun, load.ready)


def _in_order(loads: Sequence[Load]) -> list[Load]:
    """Loads by time; one whose line has none comes behind the one before it in its source."""
    latest: dict[str, int] = {}
    at: dict[int, int] = {}
    for load in sorted(loads, key=lambda one: one.begun.order):
        at[id(load)] = latest[load.begun.source] = load.begun.time_us or latest.get(load.begun.source, 0)
    return sorted(loads, key=lambda one: (at[id(one)], one.begun.order))


def _life_rows(rows: dict[str, list[dict[str, object]]], evidence: Evidence, roots: dict[str, str]) -> None:
    loads = _in_order(evidence.ownership.loads)
    numbers = {id(load): number for number, load in enumerate(loads, 1)}
    for process in evidence.ownership.processes:
        stream = process.first.stream
        join = evidence.joins.get(id(process))
        pids = {holder.pid for holder in join.holders} if join else set()
        rows["process"].append(
            {
                "process_id": process.process_id,
                "program": process.program,
                "version": process.version,
                "verbosity": process.verbosity,
                "host": stream.host,
                "boot": stream.boot,
                "unit": stream.service,
                "pid": process.pid if process.pid is not None else (pids.pop() if len(pids) == 1 else None),
                "label": process.label or process.tag,
                "parent_id": process.parent.process_id if process.parent else None,
                "begun_us": process.first.time_us,
                "ended_us": process.ended.time_us if process.ended else None,
                "arguments": " ".join(process.arguments) or None,
                "joined_by": join.by if join else None,
                "join_scope": join.scope if join else None,
            }
        )
        for load in process.loads:
            rows["load"].append(
                {
                    "load_id": load.load_id,
                    "process_id": process.process_id,
                    "number": numbers[id(load)],
                    "engine": load.engine,
                    "model": load.names.get("path") or load.model or load.names.get("file") or load.label,
                    "label": load.label or load.names.get("name"),
                    "begun_us": load.begun.time_us,
                    "ready_us": load.ready.time_us if load.ready else None,
                    "clocked_us": _clocked(load),
                    "closing_us": load.closing.time_us if load.closing else None,
                    "ended_us": load.ended.time_us if load.ended else None,
                    "end_reason": load.end_reason,
                    "begun_line": line_id(load.begun, roots),
                    "ready_line": line_id(load.ready, roots) if load.ready else None,
                    "ended_line": line_id(load.ended, roots) if load.ended else None,
                    "implied": load.implied,
                }
            )
            rows["phase"].extend(
                {
                    "load_id": load.load_id,
                    "phase": phase,
                    "at_us": line.time_us,
                    "number": number,
                    "line_id": line_id(line, roots),
                }
                for number, (phase, line) in enumerate(load.phases, 1)
            )
            rows["item"].extend(
                {
                    "load_id": load.load_id,
                    "process_id": process.process_id,
                    "line_id": line_id(item.line, roots),
                    "logged": item.device,
                    "part": item.part,
                    "kind": item.kind,
                    "size_bytes": item.size_bytes,
                    "bound_bytes": item.bound_bytes,
                    "basis": item.basis,
                    "mark": item.mark,
                    "why": item.why,
                    "superseded_by": line_id(item.superseded_by.line, roots) if item.superseded_by else None,
                    "at_us": item.line.time_us,
                }
                for item in load.items
            )


def _telemetry_rows(evidence: Evidence) -> Iterator[tuple[str, dict[str, object]]]:
    """Tables and rows of what the cards measured, one by one: there may be a hundred thousand."""
    owner = {id(holder): key for key, join in evidence.joins.items() for holder in join.holders}
    processes = {id(process): process.process_id for process in evidence.ownership.processes}
    for card in evidence.telemetry.cards:
        for one in card.samples:
            yield (
                "card_sample",
                {
                    "line_id": telemetry_line_id(one),
                    "card_id": card_id(card),
                    "at_us": one.at_us,
                    "total_bytes": one.total,
                    "used_bytes": one.used,
                    "free_bytes": one.free,
                    "reserved_bytes": one.reserved,
                    "source_id": one.source,
                    "offset": one.offset,
                    "length": one.length,
                },
            )
    for holder in evidence.telemetry.holders:
        for held in holder.samples:
            yield (
                "holder_sample",
                {
                    "line_id": telemetry_line_id(held),
                    "card_id": card_id(holder.card),
                    "pid": holder.pid,
                    "name": holder.name,
                    "at_us": held.at_us,
                    "used_bytes": held.used,
                    "process_id": processes.get(owner.get(id(holder), 0)),
                    "source_id": held.source,
                    "offset": held.offset,
                    "length": held.length,
                },
            )
