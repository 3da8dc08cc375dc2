"""Make Arrow tables of owned lines and their events, a batch at a time, in the order of the lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from .line import Line
from .lives import Owned, OwnedRows, content_id
from .records.block import NO_TIME
from .schema import OWNER_COLUMNS, TABLES
from .scope import Ownership

__all__ = ["arrow_table", "line_id", "line_tables"]

ARROW_TYPES: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
}

BATCH = 32_000
"""Lines that are handed over together."""


def arrow_table(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows of one table as Arrow, in its column order."""
    columns = TABLES[name][1]
    listed = list(rows)
    arrays = [
        pa.array([_plain(row.get(one.name)) for row in listed], type=ARROW_TYPES[one.sql], from_pandas=False)
        for one in columns
    ]
    return pa.Table.from_arrays(arrays, names=[one.name for one in columns])


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def line_id(line: Line, roots: Mapping[str, str]) -> str:
    """Identity of a line: the source's digest and the offset in it."""
    return "E" + content_id(roots.get(line.source, line.source), line.offset)


def _ids(root: str, offsets: Sequence[int]) -> list[str]:
    """What `line_id` gives for many lines of one source."""
    begin = hashlib.sha256(f"{root}\x1f".encode("utf-8", "surrogatepass"))
    found: list[str] = []
    for offset in offsets:
        digest = begin.copy()
        digest.update(b"%d" % offset)
        found.append("E" + digest.hexdigest()[:12])
    return found


def line_tables(ownership: Ownership, roots: Mapping[str, str]) -> Iterator[dict[str, pa.Table]]:
    """Batches of the tables `line`, `twin` and of all events, by name."""
    carriers = {one.line.carried_by for one in ownership.lines if one.line.carried_by is not None}
    places = {(one.line.source, one.line.record): one.line for one in ownership.lines if one.line.record in carriers}
    begin = size = 0
    found: list[dict[str, pa.Table]] = []
    for rows in ownership.rows:
        end = begin
        while end < len(ownership.lines) and ownership.lines[end].line.order <= rows.rows.last_order:
            end += 1
        found += [_of_lines(ownership.lines[begin:end], roots, places), _of_rows(rows, ownership.owners, roots)]
        size += end - begin + len(rows.rows)
        begin = end
        if size >= BATCH:
            yield _together(found)
            found, size = [], 0
    for start in range(begin, len(ownership.lines), BATCH):
        found.append(_of_lines(ownership.lines[start : start + BATCH], roots, places))
        yield _together(found)
        found = []
    if found:
        yield _together(found)


def _together(found: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """One table of each name, in the order of the lines."""
    parts: dict[str, list[pa.Table]] = {}
    for one in found:
        for name, table in one.items():
            parts.setdefault(name, []).append(table)
    whole: dict[str, pa.Table] = {}
    for name, tables in parts.items():
        if len({table.schema for table in tables}) > 1:
            tables = [_without_dictionaries(table) for table in tables]  # noqa: PLW2901
        table = pa.concat_tables(tables)
        if len(tables) > 1 and "ordinal" in table.column_names:
            places = table["ordinal"].to_numpy()
            if not (places[1:] > places[:-1]).all():
                table = _without_dictionaries(table).take(pa.array(np.argsort(places, kind="stable")))
        whole[name] = table
    return whole


def _without_dictionaries(table: pa.Table) -> pa.Table:
    return table.cast(
        pa.schema(
            [
                pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
                for one in table.schema
            ]
        )
    )


def _of_lines(
    owned: Sequence[Owned], roots: Mapping[str, str], places: Mapping[tuple[str, int], Line]
) -> dict[str, pa.Table]:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    lines = rows.setdefault("line", []) if owned else []
    for one in owned:
        line = one.line
        pattern, stream = line.pattern, line.stream
        identity = line_id(line, roots)
        load_id = one.load.load_id if one.load else None
        process_id = one.process.process_id if one.process else None
        bound = one.process.writer_variables.get((line.prefix.tag, "device")) if one.process else None
        carrier = None if line.carried_by is None else places.get((line.source, line.carried_by))
        lines.append(
            (
                identity,
                line.source,
                line.offset,
                line.length,
                line.record,
                line.order,
                line.time_us,
                line.cursor,
                stream.host,
                stream.boot,
                stream.service,
                pattern.program,
                pattern.name,
                pattern.event.table,
                process_id,
                load_id,
                one.part,
                one.phase,
                one.scope,
                one.rule,
                " ".join(load.load_id for load in one.candidates) or None,
                one.suspect or None,
                None if carrier is None else line_id(carrier, roots),
                line.text,
            )
        )
        if line.twin is not None:
            twin = line.twin
            rows.setdefault("twin", []).append((identity, twin.source, twin.offset, twin.length))
        for matched in (line.matched, *line.more):
            rows.setdefault(matched.pattern.event.table, []).append(
                (
                    identity,
                    line.order,
                    line.time_us,
                    process_id,
                    load_id,
                    one.part,
                    one.phase,
                    one.scope,
                    line.prefix.tag,
                    None if bound is None else str(bound),
                    not one.suspect and line.carried_by is None,
                    *vars(matched.event).values(),
                )
            )
    found: dict[str, pa.Table] = {}
    for name, listed in rows.items():
        columns = TABLES[name][1]
        arrays = [
            pa.array(values, ARROW_TYPES[one.sql], from_pandas=False)
            for one, values in zip(columns, zip(*listed, strict=True), strict=True)
        ]
        found[name] = pa.Table.from_arrays(arrays, names=[one.name for one in columns])
    return found


def _of_rows(owned: OwnedRows, owners: Sequence[Owned], roots: Mapping[str, str]) -> dict[str, pa.Table]:
    rows = owned.rows
    there = np.flatnonzero(owned.owner >= 0)
    if not len(there):
        return {}
    whole = len(there) == len(rows)

    def chosen(values: Any) -> Any:
        return values if whole else values.take(pa.array(there)) if isinstance(values, pa.Array) else values[there]

    sort, owner = chosen(rows.sort), chosen(owned.owner)
    sorts, of_sort = np.unique(sort, return_inverse=True)
    known = [rows.sorts[one] for one in sorts.tolist()]
    numbers, of_owner = np.unique(owner, return_inverse=True)
    owning = [owners[one] for one in numbers.tolist()]

    def by(values: Sequence[Any], places: Any) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(values, pa.string()))

    def all_are(value: Any) -> pa.Array:
        return by([value], np.zeros(len(there), np.int32))

    offsets = chosen(rows.offset)
    times = chosen(rows.time)
    pairs, of_pair = np.unique(sort.astype(np.int64) * len(owners) + owner, return_inverse=True)
    devices = []
    for one in pairs.tolist():
        process = owners[one % len(owners)].process
        bound = process.writer_variables.get((rows.sorts[one // len(owners)].tag, "device")) if process else None
        devices.append(None if bound is None else str(bound))
    columns: dict[str, pa.Array] = {
        "line_id": pa.array(_ids(roots.get(rows.source, rows.source), offsets.tolist()), pa.string()),
        "source_id": all_are(rows.source),
        "offset": pa.array(offsets),
        "length": pa.array(chosen(rows.length)),
        "record": pa.array(chosen(rows.record)),
        "ordinal": pa.array(chosen(rows.order)),
        "time_us": pa.array(times, mask=times == NO_TIME),
        "cursor": all_are(None) if rows.cursors is None else chosen(rows.cursors),
        "host": by([one.stream.host for one in known], of_sort),
        "boot": by([one.stream.boot for one in known], of_sort),
        "unit": by([one.stream.service for one in known], of_sort),
        "program": by([one.pattern.program for one in known], of_sort),
        "pattern": by([one.pattern.name for one in known], of_sort),
        "event": by([one.pattern.event.table for one in known], of_sort),
        "process_id": by([one.process.process_id if one.process else None for one in owning], of_owner),
        "load_id": by([one.load.load_id if one.load else None for one in owning], of_owner),
        "part": by([one.part for one in owning], of_owner),
        "phase": by([one.phase for one in owning], of_owner),
        "scope": by([one.scope for one in owning], of_owner),
        "rule": by([one.rule for one in owning], of_owner),
        "candidates": by([" ".join(load.load_id for load in one.candidates) or None for one in owning], of_owner),
        "suspect": all_are(None),
        "carrier": all_are(None),
        "text": chosen(rows.text),
        "writer": by([one.tag for one in known], of_sort),
        "writer_device": by(devices, of_pair),
        "believed": pa.repeat(pa.scalar(True), len(there)),
    }
    found = {
        "line": pa.Table.from_arrays(
            [columns[one.name] for one in TABLES["line"][1]], [one.name for one in TABLES["line"][1]]
        )
    }
    moved = np.full(len(rows), -1, np.int64)
    moved[there] = np.arange(len(there))
    for name, parts in rows.events.items():
        declared = TABLES[name][1]
        tables: list[pa.Table] = []
        at: list[Any] = []
        for places, values in parts:
            left = np.flatnonzero(moved[places] >= 0)
            own = (
                list(values.values())
                if len(left) == len(places)
                else [one.take(pa.array(left)) for one in values.values()]
            )
            at.append(moved[places[left]])
            tables.append(pa.Table.from_arrays(own, [one.name for one in declared[len(OWNER_COLUMNS) :]]))
        where = np.concatenate(at)
        if not len(where):
            continue
        sorting = np.argsort(where, kind="stable")
        figures = pa.concat_tables(tables).take(pa.array(sorting))
        where = pa.array(where[sorting])
        found[name] = pa.Table.from_arrays(
            [*(columns[one].take(where) for one in OWNER_COLUMNS), *figures.columns], [one.name for one in declared]
        )
    return found
