"""Read which addresses were blocked from when on, and tell which rules held at a time."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import pairwise
from pathlib import Path

from dateutil import parser as dates

from .errors import UsageError

__all__ = ["Rule", "coverage", "read_blocklist"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Rule:
    """One line of a block list: an address, a network, or `non-local` for every address of another machine."""

    subject: str
    since_us: int
    until_us: int | None
    network: Network | None

    def covers(self, address: str, place: str) -> bool:
        """Whether the rule names an address."""
        if self.network is None:
            return place == "non-local"
        try:
            return ipaddress.ip_address(address) in self.network
        except ValueError:
            return False

    def holds(self, at_us: int) -> bool:
        """Whether the rule is in force at a time."""
        return self.since_us <= at_us and (self.until_us is None or at_us < self.until_us)


def read_blocklist(path: Path) -> list[Rule]:
    """Read a block list: on each line an address, a network or `non-local`, since when, and perhaps until when.

    Text behind a `#` is a remark. Times without a zone are UTC.

    Raises:
        UsageError: The file cannot be read, or a line is none of these; the message names file and line.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    rules: list[Rule] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        where = f"{path}:{number}"
        if len(words) not in (2, 3):
            raise UsageError(f"{where}: write ADDRESS SINCE [UNTIL], such as 192.0.2.7 2026-08-01T06:30:00Z")
        network = None if words[0] == "non-local" else _network(words[0], where)
        until = _moment(words[2], where) if len(words) == 3 else None
        rules.append(Rule(words[0], _moment(words[1], where), until, network))
    return rules


def coverage(rules: Sequence[Rule], begun_us: int, until_us: int) -> list[tuple[int, int, tuple[str, ...]]]:
    """Spans between changes of the rules, with the subjects that are blocked in each; spans without any rule too."""
    edges = {begun_us, until_us}
    for rule in rules:
        edges.update(at for at in (rule.since_us, rule.until_us) if at is not None and begun_us < at < until_us)
    ordered = sorted(edges)
    return [(low, high, tuple(rule.subject for rule in rules if rule.holds(low))) for low, high in pairwise(ordered)]


def _network(text: str, where: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise UsageError(f"{where}: neither an address, a network nor non-local: {text}") from error


def _moment(text: str, where: str) -> int:
    try:
        moment = dates.isoparse(text)
    except ValueError as error:
        raise UsageError(f"{where}: this is no time, write it as 2026-08-01T06:30:00Z: {text}") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000)
