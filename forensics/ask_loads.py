"""Answer which model was loaded when, and how each load ended."""

from __future__ import annotations

from .answer import Answer, Ask, Section
from .explain import iso

__all__ = ["loads"]


def loads(ask: Ask) -> Answer:
    """List the loads of a case, in order of time."""
    rows = [
        row
        for row in ask.rows(
            "SELECT loads.*, load.begun_line, load.ready_line IS NOT NULL AS ready "
            "FROM loads JOIN load USING (load_id) ORDER BY loads.number"
        )
        if ask.wants(row["load_id"])
        and ask.unit in (None, row["unit"])
        and _inside(ask, row["begun_us"], row["ended_us"])
    ]
    document = {
        "schema": "forensics.loads/1",
        "loads_in_window": len(rows),
        "loads": [
            {
                **{
                    key: row[key] for key in ("load_id", "number", "engine", "version", "model", "label", "unit", "pid")
                },
                "begun_at": iso(row["begun_us"]),
                "ready": row["ready"],
                "ready_at": iso(row["ready_us"]),
                "ended_at": iso(row["ended_us"]),
                "end_reason": row["end_reason"],
                "loading_s": row["loading_s"],
                "layers": row["layers"],
                "lines": row["lines"],
            }
            for row in rows
        ],
    }
    if not rows:
        return Answer(document, "No model load begins or shows in this evidence.", code=3)
    ready = sum(row["ready"] for row in rows)
    verdict = f"{len(rows)} load{'s' if len(rows) > 1 else ''}; {ready} got ready."
    section = Section(
        "Loads",
        ("#>", "model", "engine", "begun", "loading s>", "ended", "how", "id"),
        tuple(
            (
                str(row["number"]),
                (row["label"] or row["model"] or "unknown model").rsplit("/", 1)[-1],
                f"{row['engine']} {row['version'] or ''}".strip(),
                (iso(row["begun_us"]) or "no wall time").replace("T", " ")[:19],
                "" if row["loading_s"] is None else f"{row['loading_s']:.1f}",
                (iso(row["ended_us"]) or "").replace("T", " ")[11:19],
                row["end_reason"] or "",
                row["load_id"],
            )
            for row in rows
        ),
    )
    return Answer(document, verdict, sections=(section,), cited=tuple(row["begun_line"] for row in rows))


def _inside(ask: Ask, begun: int | None, ended: int | None) -> bool:
    """Whether a load's life touches the span asked for; a load without times always does."""
    return ask.window is None or ask.window.touches(begun, ended)
