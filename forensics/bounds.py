"""What of the journals a case is made from: some units, boots, a span, trusted fields; and the same again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from .errors import UsageError
from .records import Options

__all__ = ["EVERYTHING", "Bounds"]


class Bounds(NamedTuple):
    """What is read of journals, sorted; empty and None stand for everything. `fields` are pairs of name and value.

    Of each field that is named an entry must have one of the values, as for journalctl.
    """

    units: tuple[str, ...] = ()
    boots: tuple[str, ...] = ()
    since_us: int | None = None
    until_us: int | None = None
    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        units: Sequence[str] = (),
        boots: Sequence[str] = (),
        since_us: int | None = None,
        until_us: int | None = None,
        matches: Sequence[str] = (),
    ) -> Bounds:
        """What a user asked for; a unit without a suffix is a service.

        Raises:
            UsageError: A boot is no id, a match no FIELD=VALUE, or of a field that clients can send.
        """
        return cls(
            tuple(sorted({one if "." in one else f"{one}.service" for one in units})),
            tuple(sorted({_boot(one) for one in boots})),
            since_us,
            until_us,
            tuple(sorted({_match(one) for one in matches})),
        )

    @classmethod
    def from_json(cls, text: str | None) -> Bounds:
        """What `as_json` wrote."""
        if text is None:
            return EVERYTHING
        said = json.loads(text)
        return cls(
            tuple(said["units"]),
            tuple(said["boots"]),
            said["since_us"],
            said["until_us"],
            tuple((name, value) for name, value in said["fields"]),
        )

    def as_json(self) -> str:
        """One line that tells these bounds from all others."""
        return json.dumps(self._asdict())

    def options(self, options: Options) -> Options:
        """The readers' options, with these bounds."""
        by_field: dict[str, set[str]] = {}
        for name, value in self.fields:
            by_field.setdefault(name, set()).add(value)
        return options._replace(
            units=frozenset(self.units),
            boots=frozenset(self.boots),
            since_us=self.since_us,
            until_us=self.until_us,
            fields=tuple((name, frozenset(values)) for name, values in by_field.items()),
        )


EVERYTHING = Bounds()


def _boot(text: str) -> str:
    plain = text.replace("-", "").lower()
    if re.fullmatch(r"[0-9a-f]{32}", plain) is None:
        raise UsageError(f"--boot {text}: not a boot's id, 32 hexadecimal digits; journalctl --list-boots has them")
    return plain


def _match(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or re.fullmatch(r"[A-Z0-9_]{1,64}", name) is None:
        raise UsageError(f"--match {text}: not FIELD=VALUE, as in _COMM=NAME")
    if not name.startswith("_") or name.startswith("__"):
        raise UsageError(f"--match {text}: any client can send {name}; fields that journald adds begin with one _")
    return name, value
