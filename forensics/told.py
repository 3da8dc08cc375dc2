"""Words by which one stage tells what another asks for, by themselves: asking a case needs none of the readers."""

from __future__ import annotations

__all__ = ["FILED", "UNPLACED"]

FILED = "read at the time of its file"
"""What is said of a measurement whose time no row prints."""

UNPLACED = "cannot be placed"
"""What is told of rows whose time nothing gives."""
