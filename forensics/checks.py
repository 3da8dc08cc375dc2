"""Show what probes say of a server beside what others measured: contradictions stay open, skipped is not passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .answer import Ask, Section

__all__ = ["check_notes", "check_sections", "checks"]

SHOWN = 16
"""Rows of a screen's table; the document has all."""

ROW = ("probe", "model", "subject", "state", "result", "amount", "unit", "reason")


def checks(ask: Ask) -> dict[str, Any]:
    """All checks, how they came out, and what two of them say against each other."""
    rows = ask.rows("SELECT * FROM checks")
    return {
        "count": len(rows),
        **{state: sum(row["state"] == state for row in rows) for state in ("passed", "failed", "skipped", "measured")},
        "rows": [{**{key: row[key] for key in ROW}, "evidence": [row["line_id"]]} for row in rows],
        "contradictions": _contradictions(rows),
    }


def _contradictions(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is said against each other of one thing of one model, by whom, each side with its lines."""
    about: dict[tuple[str, str], dict[tuple[str, str], list[Mapping[str, Any]]]] = {}
    for row in rows:
        if row["against"]:
            sides = about.setdefault((row["model"], row["subject"]), {})
            sides.setdefault((row["probe"], row["state"]), []).append(row)
    return [
        {
            "model": model,
            "subject": subject,
            "state": "not established",
            "joined_by": "the name of the model that both print: no proof that it was the same load",
            "sides": [_side(side) for side in sides.values()],
        }
        for (model, subject), sides in about.items()
    ]


def _side(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    amounts = [row["amount"] for row in rows if row["amount"] is not None]
    return {
        "probe": rows[0]["probe"],
        "state": rows[0]["state"],
        "results": list(dict.fromkeys(row["result"] for row in rows if row["result"])),
        "lowest": min(amounts, default=None),
        "highest": max(amounts, default=None),
        "unit": rows[0]["unit"],
        "n": len(rows),
        "evidence": [row["line_id"] for row in rows],
    }


def check_notes(found: Mapping[str, Any]) -> list[str]:
    """A sentence for each contradiction, and one for what was skipped."""
    notes = [
        f"Open: {one['subject']} of {one['model']}: {'; '.join(_said(side) for side in one['sides'])}. "
        "Neither is dropped, and neither is of a load."
        for one in found["contradictions"]
    ]
    if found["skipped"]:
        notes.append(f"{found['skipped']} of {found['count']} checks skipped: neither passed nor failed.")
    return notes


def _said(side: Mapping[str, Any]) -> str:
    if side["state"] == "measured":
        low, high = _number(side["lowest"]), _number(side["highest"])
        return f"{side['probe']} measured {low if low == high else f'{low}–{high}'} {side['unit'] or ''}".rstrip()
    return f"{side['probe']} says {', '.join(side['results'])}"


def _number(value: float) -> str:
    return f"{value:.15g}"


def check_sections(found: Mapping[str, Any]) -> tuple[Section, ...]:
    """The checks as a part of a screen, what passed last; none if there are none."""
    if not found["rows"]:
        return ()
    order = ("failed", "skipped", "told", "measured", "passed")
    rows = sorted(found["rows"], key=lambda row: order.index(row["state"]))
    return (
        Section(
            "Checks by probes, of no load",
            ("probe", "model", "checked", "", "says"),
            tuple(
                (
                    row["probe"] or "",
                    row["model"] or "",
                    row["subject"] or "",
                    row["state"],
                    ": ".join(part for part in (_told(row), row["reason"]) if part),
                )
                for row in rows[:SHOWN]
            ),
            note=f"{len(rows) - SHOWN} more rows in the JSON" if len(rows) > SHOWN else "",
        ),
    )


def _told(row: Mapping[str, Any]) -> str:
    measured = "" if row["amount"] is None else f"{_number(row['amount'])} {row['unit'] or ''}".rstrip()
    result = "" if (row["result"] or "").lower() == row["state"] else row["result"] or ""
    return ", ".join(part for part in (result, measured) if part)
