"""Weave logs of several writers into one stream, and hold the owners found there against those of each log alone."""

from __future__ import annotations

import functools
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from forensics.catalogue import Catalogue, load_catalogue
from forensics.lives import Load, Mark
from forensics.records import Block, read_inputs
from forensics.scan import Line, Scanner
from forensics.scope import Ownership, assign

__all__ = ["ENVELOPES", "LOGS", "Verdict", "Woven", "alone", "catalogue", "judged", "log_lines", "own", "weave"]

LOGS = Path(__file__).parent.parent / "fixtures" / "logs"
ENVELOPES = ("own pid", "container", "shared pid", "none")
HOST = b"_HOSTNAME=lab\n_BOOT_ID=0b00000000000000000000000000000000\n"


@functools.cache
def catalogue() -> Catalogue:
    """The installed patterns, read once."""
    return load_catalogue()


@functools.cache
def log_lines(name: str) -> tuple[bytes, ...]:
    """The lines of a log under fixtures/logs."""
    return tuple((LOGS / name).read_bytes().removesuffix(b"\n").split(b"\n"))


class Woven(NamedTuple):
    """One line of a stream: the log that wrote it, and its place in that log."""

    log: str
    number: int


def weave(logs: Sequence[str], kind: str, seed: int, by_clock: bool = False) -> list[Woven]:
    """Interleave logs in one of several ways; each log's own lines keep their order.

    Args:
        logs: Names of logs.
        kind: `uniform` (line by line), `blocks` (runs of lines), `staggered` (each begins later than the one before),
            or `truncated` (the first dies in the middle, and only then the others begin).
        seed: Decides everything that is random.
        by_clock: Keep to what lines say of the time since their writer began: no stream contradicts its clocks.
    """
    chance = random.Random(seed)  # noqa: S311
    rest = {name: [Woven(name, number) for number in range(len(log_lines(name)))] for name in logs}
    woven: list[Woven] = []
    if kind == "truncated":
        first = rest[logs[0]]
        woven = first[: chance.randrange(1, len(first))]
        del rest[logs[0]]
    if by_clock:
        return woven + _by_clock(rest, kind, chance)
    if kind == "staggered":
        for name in logs[:-1]:
            head = chance.randrange(0, len(rest[name]))
            woven += rest[name][:head]
            rest[name] = rest[name][head:]
    while rest := {name: lines for name, lines in rest.items() if lines}:
        name = chance.choices(list(rest), [len(lines) for lines in rest.values()])[0]
        run = 1 if kind == "uniform" else chance.choice((1, 2, 5, 20, 80))
        woven += rest[name][:run]
        rest[name] = rest[name][run:]
    return woven


CLOCK = re.compile(rb"(?:\[ *(\d+)\] )?(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) ")


def _by_clock(rest: dict[str, list[Woven]], kind: str, chance: random.Random) -> list[Woven]:
    """Order lines by when they can have been printed: by the time since the writer began, where a line has it."""
    arrivals: list[tuple[float, int, Woven]] = []
    start = longest = 0.0
    for place, (name, lines) in enumerate(rest.items()):
        pace = chance.choice((0.0005, 0.002, 0.02))
        if place:
            start = start + chance.random() * longest if kind == "staggered" else chance.random() * longest / 2
        begun: dict[bytes, float] = {}
        now = start
        flush = chance.choice((0.1, 0.4)) if kind == "blocks" else 0.0
        for one in lines:
            found = CLOCK.match(log_lines(name)[one.number])
            if found is None:
                now += chance.random() * pace
            else:
                tag, minutes, seconds, milli, micro = found.groups()
                clock = int(minutes) * 60 + int(seconds) + int(milli) / 1e3 + int(micro) / 1e6
                if tag not in begun or begun[tag] + clock < now - 1:
                    begun[tag] = now - clock if one is not lines[0] else now  # another process under this tag
                now = max(now, begun[tag] + clock)
            arrivals.append((now + (flush - now % flush if flush else 0), place, one))
        longest = max(longest, now - start)
    return [one for _, _, one in sorted(arrivals, key=lambda arrival: arrival[:2])]


def own(content: bytes) -> Ownership:
    """Read bytes as one file and give their lines to owners."""
    scanner = Scanner(catalogue())
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        lines = [line for piece in read_inputs([file.name]) if isinstance(piece, Block) for line in scanner.scan(piece)]
    return assign(lines, catalogue())


PID = re.compile(rb"pid=\d+")


def same_pids(log: str, line: bytes) -> bytes:
    """A line with the process ids of a container: each log's first process is number 1, its second 2, and so on."""
    order = list(dict.fromkeys(PID.findall(b"\n".join(log_lines(log)))))
    return PID.sub(lambda found: b"pid=%d" % (order.index(found[0]) + 1), line)


def enveloped(woven: Sequence[Woven], envelope: str, containers: bool = False) -> bytes:
    """The bytes of a stream in an envelope; each line becomes exactly one record."""
    if containers:
        return b"".join(same_pids(one.log, log_lines(one.log)[one.number]) + b"\n" for one in woven)
    if envelope == "none":
        return b"".join(log_lines(one.log)[one.number] + b"\n" for one in woven)
    if envelope == "container":
        widest = max(len(one.log) for one in woven)
        return b"".join(
            f"{one.log}-1".ljust(widest + 4).encode() + b"| " + log_lines(one.log)[one.number] + b"\n" for one in woven
        )
    parts: list[bytes] = []
    names = sorted(path.name for path in LOGS.iterdir())
    for place, one in enumerate(woven):
        pid = 700 + names.index(one.log) if envelope == "own pid" else 700
        message = log_lines(one.log)[one.number]
        parts.append(
            b"__REALTIME_TIMESTAMP=%d\n_TRANSPORT=stdout\n_PID=%d\n_SYSTEMD_UNIT=serve.service\n"
            b"_SYSTEMD_INVOCATION_ID=11110000000000000000000000000000\n"
            % (1_790_000_000_000_000 + place * 1000, pid)
            + HOST
            + b"MESSAGE\n"
            + len(message).to_bytes(8, "little")
            + message
            + b"\n\n"
        )
    return b"".join(parts)


@dataclass(frozen=True)
class Truth:
    """What a log alone says of one of its lines: its load, the loads it may be of, its part and whether it counts."""

    load: int | None
    candidates: frozenset[int] = frozenset()
    part: str | None = None
    counted: bool = False


@functools.cache
def alone(log: str, length: int, envelope: str) -> tuple[dict[tuple[int, str], Truth], dict[int, set[int]]]:
    """The owners of the first lines of a log when nothing else is in the stream, and the loads that each line begins.

    Returns:
        By line and pattern what is true of it, and by line the loads that begin with it.
    """
    found = own(enveloped([Woven(log, number) for number in range(length)], envelope))
    numbers = {id(load): number for number, load in enumerate(found.loads)}
    # What a derived amount repeats counts in its place, unless that line is owned as well.
    counted = {
        id(item.line)
        for load in found.loads
        for item in load.items
        if item.mark is Mark.COUNTED or item.basis == "derived"
    }
    truths = {
        (one.line.record, _name(one.line)): Truth(
            None if one.load is None else numbers[id(one.load)],
            frozenset(numbers[id(load)] for load in one.candidates),
            one.part,
            id(one.line) in counted,
        )
        for one in found.owned
    }
    begun: dict[int, set[int]] = {}
    for load in found.loads:
        begun.setdefault(load.begun.record, set()).add(numbers[id(load)])
    return truths, begun


@dataclass
class Verdict:
    """How a stream compares with its logs alone.

    `owned` counts the lines that are owned when their log stands alone, `same` those that still are, and `hidden` those
    that stand inside a text of another log.
    """

    owned: int = 0
    same: int = 0
    hidden: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    miscounted: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Owned lines of the stream per line that is owned when its log stands alone."""
        return self.same / self.owned if self.owned else 1.0


def judged(woven: Sequence[Woven], envelope: str, same_pids: bool = False) -> Verdict:
    """Give the lines of a stream to owners, and compare with each log alone.

    Args:
        woven: The lines.
        envelope: One of ENVELOPES.
        same_pids: Let the logs be of containers, whose process ids are the same.
    """
    lengths: dict[str, int] = {}
    for one in woven:
        lengths[one.log] = lengths.get(one.log, 0) + 1
    truths = {log: alone(log, length, envelope) for log, length in lengths.items()}
    found = own(enveloped(woven, envelope, same_pids))
    verdict = Verdict()
    counted = {id(item.line) for load in found.loads for item in load.items if item.mark is Mark.COUNTED}
    beginning: dict[int, tuple[str, set[int]]] = {}

    def identity(load: Load) -> tuple[str, set[int]]:
        if id(load) not in beginning:
            log, number = woven[load.begun.record]
            own_load = truths[log][0].get((number, _name(load.begun)))
            known = truths[log][1].get(number, set())
            if not known and own_load is not None and own_load.load is not None:
                known = {own_load.load}
            beginning[id(load)] = (log, known)
        return beginning[id(load)]

    for owned in found.owned:
        line = owned.line
        log, number = woven[line.record]
        truth = truths[log][0].get((number, _name(line)), Truth(None))
        verdict.owned += truth.load is not None
        what = f"{log}:{number + 1} {_name(line)}: {line.text[:90]!r} [{owned.rule}]"
        if line.carried_by is not None and woven[line.carried_by].log != log:
            verdict.hidden += 1
        if owned.load is None:
            if truth.load is not None:
                verdict.lost.append(what)
            continue
        whose, loads = identity(owned.load)
        right = {truth.load} if truth.load is not None else truth.candidates
        if whose != log or not (right & loads):
            verdict.wrong.append(f"{what} is load {truth.load} of its log, given to {loads} of {whose}")
            continue
        verdict.same += truth.load is not None
        fixed = "part" in line.pattern.effects.get("item", {})
        if id(line) in counted and (not truth.counted or (truth.part != owned.part and not fixed)):
            verdict.miscounted.append(f"{what} counts as {owned.part}; it is {truth.part}, counted: {truth.counted}")
    return verdict


def _name(line: Line) -> str:
    return f"{line.pattern.program}/{line.pattern.name}"
