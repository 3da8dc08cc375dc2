"""Say in a report what it was made from and how it was asked for: enough to make it again from the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb

from .document import Document, label, mapping, maps, number, texts
from .safe import original
from .window import Window

__all__ = ["Asked", "Cited", "asked_of", "provenance", "sources_of"]


@dataclass(frozen=True)
class Asked:
    """How a report was asked for."""

    moment: str = "last"
    at_us: int | None = None
    self_report: str | None = None
    loads: tuple[str, ...] | None = None
    window: Window | None = None
    tz_us: int | None = None
    """Zone and pattern files are the case's: they were decided when it was read."""
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cited:
    """A source as a report cites it."""

    name: str
    digest: str
    size_bytes: int | None
    modified_us: int | None


def provenance(connection: duckdb.DuckDBPyConnection, asked: Asked) -> dict[str, Any]:
    """The keys `asked` and `sources` of a document; options that were not used are left out."""
    rows = connection.execute(
        "SELECT source_id, format, size_bytes, digest, records, modified_us FROM source ORDER BY number"
    ).fetchall()
    tz = connection.execute("SELECT value FROM about WHERE name = 'tz_us'").fetchone()
    patterns = connection.execute("SELECT name FROM pattern_file ORDER BY number").fetchall()
    keys = ("source", "format", "size_bytes", "digest", "records", "modified_us")
    options: dict[str, Any] = {
        "moment": asked.moment,
        "at_us": asked.at_us,
        "self_report": asked.self_report,
        "loads": None if asked.loads is None else list(asked.loads),
        "window": None if asked.window is None else list(asked.window),
        "tz_us": int(tz[0]) if tz and tz[0] is not None else None,
        "patterns": [name for (name,) in patterns] or None,
    }
    return {
        "asked": {key: value for key, value in options.items() if value is not None},
        "sources": [{key: value for key, value in zip(keys, row, strict=True) if value is not None} for row in rows],
    }


def asked_of(report: Document) -> Asked:
    """How a report, read from JSON, was asked for."""
    asked = mapping(report, "asked")
    loads = asked.get("loads")
    return Asked(
        moment=label(asked, "moment") or "last",
        at_us=_whole(asked.get("at_us")),
        self_report=original(label(asked, "self_report")) or None,
        loads=tuple(texts(asked, "loads")) if isinstance(loads, list) else None,
        window=_window(asked.get("window")),
        tz_us=_whole(asked.get("tz_us")),
        patterns=tuple(original(one) for one in texts(asked, "patterns")),
    )


def sources_of(report: Document) -> list[Cited]:
    """The sources of a report in the order in which they were read; one without a list names those that it cites."""
    found = [
        Cited(
            original(label(entry, "source")),
            label(entry, "digest"),
            _whole(entry.get("size_bytes")),
            _whole(entry.get("modified_us")),
        )
        for entry in maps(report, "sources")
    ]
    if found:
        return found
    evidence = mapping(report, "evidence")
    entries = [mapping(evidence, each) for each in evidence]
    pairs = {(label(entry, "source"), label(entry, "digest")) for entry in entries if label(entry, "digest")}
    return [Cited(original(name), digest, None, None) for name, digest in sorted(pairs)]


def _window(ends: object) -> Window | None:
    """A span as it was written: two ends in µs UTC, of which one may be open."""
    if not isinstance(ends, list) or len(ends) != 2:
        return None
    return Window(_whole(ends[0]), _whole(ends[1]))


def _whole(value: object) -> int | None:
    found = number(value)
    return None if found is None or found != int(found) else int(found)
