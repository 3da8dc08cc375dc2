"""How an answer can be printed."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Format"]


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    MD = "md"
    HTML = "html"
