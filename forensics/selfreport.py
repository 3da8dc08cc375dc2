"""Read what a service says it uses: a value with its unit, or a file that holds one or a list of loaded models."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .errors import UsageError
from .records import SelfReports, read_inputs
from .units import parse_quantity

__all__ = ["stated_use"]

SMALL = 1000
"""Bytes of a file that can hold a bare value."""


class _Stated(NamedTuple):
    model: str
    size: int
    bound: int


def stated_use(text: str, load: str | None = None) -> tuple[int, int, str]:
    """Bytes on cards, how far they reach to either side, and where they are from.

    Args:
        text: A value with its unit, or the path of a file.
        load: What the user calls the load: tells which model is meant where a file lists several.

    Raises:
        UsageError: It is neither, or the file lists several models and nothing says which is meant.
    """
    path = Path(text)
    try:
        if not path.is_file():
            return (*parse_quantity(text), f"--self-report {text}")
        if path.stat().st_size <= SMALL:
            return (*parse_quantity(path.read_text("utf-8").strip()), str(path))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        try:
            is_file = path.is_file()
        except OSError:
            is_file = False
        if not is_file:
            raise UsageError(f"--self-report {text}: {error}") from error
    stated = _listed(path)
    if load is not None and len(stated) > 1:
        stated = [one for one in stated if load in one.model] or stated
    if not stated:
        raise UsageError(f"--self-report {text}: it holds neither a size with its unit nor a list of loaded models")
    if len(stated) > 1:
        names = ", ".join(f"{one.model} ({one.size} B)" for one in stated)
        raise UsageError(f"--self-report {text}: it lists several models: {names}. Give the value of one, or --load")
    return stated[0].size, stated[0].bound, f"{path}: {stated[0].model}"


def _listed(path: Path) -> list[_Stated]:
    found: dict[str, _Stated] = {}
    for piece in read_inputs([path]):
        if not isinstance(piece, SelfReports):
            continue
        for model, kind, on_cards, total, bound in zip(
            piece.model, piece.kind, piece.card_bytes, piece.total_bytes, piece.bound_bytes, strict=True
        ):
            size = total if on_cards is None else on_cards
            if kind == "loaded" and size is not None:
                # Of several captures in one file the last one stands.
                found[model or ""] = _Stated(model or "a model without a name", size, bound)
    return list(found.values())
