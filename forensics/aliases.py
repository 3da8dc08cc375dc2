"""Give evidence short names in order of appearance, and say where each points to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from forensics.amounts import clock
from forensics.document import Document, label, mapping

__all__ = ["Aliases", "Cited"]


class Cited(NamedTuple):
    """One line of the legend."""

    alias: str
    place: str
    time: str
    text: str
    owner: str
    """The load that the line is of, or nothing."""


class Aliases:
    """Short names for evidence, in order of appearance: e1, e2, …; c1, … for what is no line but a calibration."""

    def __init__(self, evidence: Document) -> None:
        self.evidence = evidence
        self.names: dict[str, str] = {}

    def of(self, identifiers: list[str], limit: int = 6) -> str:
        """The aliases of some evidence; runs are written as `e5–e9`, and what is over the limit is counted."""
        runs: list[list[str]] = []
        for identifier in identifiers[:limit]:
            name = self.names.get(identifier) or self._name(identifier)
            if runs and name[0] == runs[-1][-1][0] and int(name[1:]) == int(runs[-1][-1][1:]) + 1:
                runs[-1].append(name)
            else:
                runs.append([name])
        shown = [f"{run[0]}–{run[-1]}" if len(run) > 2 else " ".join(run) for run in runs]
        if len(identifiers) > limit:
            shown.append(f"+{len(identifiers) - limit}")
        return " ".join(shown)

    def _name(self, identifier: str) -> str:
        source = label(mapping(self.evidence, identifier), "source")
        letter = "c" if "calibration" in (identifier[:11], source[:11]) else "e"
        number_ = 1 + sum(name[0] == letter for name in self.names.values())
        return self.names.setdefault(identifier, f"{letter}{number_}")

    def legend(self) -> tuple[Cited, ...]:
        """Where each alias points to."""
        return tuple(self._cited(name, mapping(self.evidence, identifier)) for identifier, name in self.names.items())

    def cited(self, identifiers: Iterable[str]) -> tuple[Cited, ...]:
        """Where some evidence points to, in its order; what has no name yet gets one."""
        return tuple(
            self._cited(self.names.get(identifier) or self._name(identifier), mapping(self.evidence, identifier))
            for identifier in identifiers
        )

    def _cited(self, alias: str, cited: Document) -> Cited:
        place = label(cited, "source") or "not in this document"
        if label(cited, "line"):
            place += f":{label(cited, 'line')}"
        elif label(cited, "offset"):
            place += f" at byte {label(cited, 'offset')}"
        owner = label(cited, "load_id")
        return Cited(alias, place, clock(label(cited, "time")), label(cited, "text"), owner and f"load {owner}")
