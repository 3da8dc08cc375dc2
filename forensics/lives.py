"""What the ownership machine keeps: groups of streams, processes, loads, contexts, and the items of their ledgers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .columns import Rows
from .events import DeviceSeen, Kind, Part
from .line import Line
from .records.block import Integers, Stream

__all__ = ["Context", "Group", "Item", "Load", "Mark", "Owned", "OwnedRows", "Process", "Rowset", "Scope", "content_id"]


class Scope(StrEnum):
    """How an owner is known."""

    EXACT = "exact"
    INFERRED = "inferred"
    AMBIGUOUS = "ambiguous"


class Mark(StrEnum):
    """What an amount is worth to the ledger."""

    COUNTED = "counted"
    SUPERSEDED = "superseded"
    PLANNED = "planned"
    SUMMARY = "summary"
    ESTIMATED = "estimated"
    CLAIMED = "claimed"
    SUSPECT = "suspect"


@dataclass(eq=False)
class Context:
    """Inside a part, what amounts of one kind replace each other in."""

    number: int
    part: str
    announced: bool = False
    """Whether a line said that it begins; else an amount showed it."""
    blocks: int = 0
    open_block: bool = False
    block_devices: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Item:
    """One amount of a load's ledger on one device."""

    load: Load
    line: Line
    device: str
    part: str
    kind: Kind | None
    size_bytes: int
    bound_bytes: int
    basis: str
    mark: Mark
    context: Context | None
    block: int
    combine: str
    per: str
    writer: str | None
    why: str = ""
    superseded_by: Item | None = None


@dataclass(eq=False)
class Load:
    """One model load: the unit of ownership."""

    process: Process
    number: int
    begun: Line
    engine: str
    model: str | None = None
    label: str | None = None
    implied: bool = False
    announced_by_parent: bool = False
    spawned: bool = False
    mute: bool = False
    """Whether its process has yet to be started: nothing can be its output."""
    phase: str = "allocate"
    may_be: set[str] = field(default_factory=lambda: {"allocate"})
    """Phases it may be in: more than one after lines that several loads could have written."""
    unsure: set[str] = field(default_factory=set)
    """What such a line may have changed: its part, its context."""
    part: str = Part.TARGET
    outer: list[str] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    context: Context | None = None
    items: list[Item] = field(default_factory=list)
    ready: Line | None = None
    confirmed: bool = False
    """Whether its supervisor said that it is ready."""
    closing: Line | None = None
    ended: Line | None = None
    end_reason: str | None = None
    phases: list[tuple[str, Line]] = field(default_factory=list)
    variables: dict[str, list[Any]] = field(default_factory=dict)
    announcers: set[tuple[str | None, str]] = field(default_factory=set)
    """Who said what to announce it: each says each once."""
    announcements: list[str] = field(default_factory=list)
    """Texts of its supervisor's lines that announce it, and what they name."""
    due: set[str] = field(default_factory=set)
    may_owe: set[str] = field(default_factory=set)
    owed: set[str] = field(default_factory=set)
    """All that was ever due: what it prints only after it has said so."""
    names: dict[str, str] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether it has not ended yet."""
        return self.ended is None and self.end_reason is None

    @property
    def closing_reason(self) -> str | None:
        """What the line that began its clean-up gave as the reason; none if none did begin."""
        return None if self.closing is None else str(self.variables.get("closing_reason", ["exit"])[0])

    def enter(self, phase: str, line: Line) -> None:
        """Be in a phase from this line on."""
        if self.may_be != {phase} or phase != self.phase or (phase == "serve" and self.ready is None):
            self.process.group.changes += 1
        self.may_be = {phase}
        if phase != self.phase:
            self.phase = phase
            self.phases.append((phase, line))
        if phase == "serve" and self.ready is None:
            self.ready = line

    def turn_to(self, part: str) -> None:
        """Be about a part from this line on, until it is closed."""
        if part != self.part:
            self.outer.append(self.part)
            self.part = part
        own = [one for one in self.contexts if one.part == part]
        self.context = own[-1] if own else None

    @property
    def asleep(self) -> bool:
        """Whether its memory is released while its process lives on and may load again."""
        return self.end_reason == "sleep" and self.phase == "asleep"

    @cached_property
    def load_id(self) -> str:
        """Identity derived from content: the stream, and the line that begins it."""
        return "L" + content_id(self.process.identity, self.begun.offset, self.begun.text, self.number)


@dataclass(eq=False)
class Process:
    """One life of a program."""

    group: Group
    program: str
    first: Line
    number: int
    pid: int | None = None
    pids: set[int] = field(default_factory=set)
    """Trusted process ids that wrote its lines."""
    tag: str | None = None
    label: str | None = None
    parent: Process | None = None
    children: list[Process] = field(default_factory=list)
    version: str | None = None
    verbosity: str | None = None
    devices: list[DeviceSeen] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    writer_variables: dict[tuple[str | None, str], Any] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    current: Load | None = None
    """The load that it, a supervisor, announced last."""
    last_clock: int | None = None
    prefixes: set[str] = field(default_factory=set)
    port: int | None = None
    """Where it says that it listens."""
    wakes: bool = False
    said: set[str] = field(default_factory=set)
    """Patterns by which it announced itself: each is printed once by a beginning process."""
    form: str | None = None
    """How its lines are made, known from the line that begins its load on."""
    alike: int = 0
    """How many lives before it begin with the same words."""
    gone: bool = False
    before: Process | None = None
    """The child that had its tag when it was spawned, where no line says that it is gone."""
    discovers: bool = False
    """Whether it, a supervisor, looks what devices there are: by children that print and load nothing."""
    routes: bool = False
    """Whether it serves no model of its own but starts others that do."""
    ended: Line | None = None
    last: Line | None = None

    @property
    def load(self) -> Load | None:
        """The latest load."""
        return self.loads[-1] if self.loads else None

    @property
    def begins_with(self) -> str:
        """Who it is and what it says first: the same for two starts whose logs tell neither pid nor time."""
        stream = self.first.stream
        if stream.trusted:
            where = f"{stream.host}|{stream.boot}|{stream.invocation or stream.unit}|{stream.pid}|{self.tag}"
        else:
            where = f"{stream.container}|{stream.identifier}|{stream.pid}|{self.tag}"
        return f"{where}|{self.number}|{self.first.text}"

    @cached_property
    def identity(self) -> str:
        """What tells this life from all others, in any collection of evidence."""
        return self.begins_with + (f"|{self.alike}" if self.alike else "")

    @cached_property
    def process_id(self) -> str:
        """Identity derived from content."""
        return "P" + content_id(self.identity)


class Rowset(NamedTuple):
    """Rows of one block that are of one group, by their places."""

    rows: Rows
    at: Integers


@dataclass(eq=False)
class Group:
    """The streams that one start of a service writes to: the outer scope."""

    key: tuple[Any, ...]
    stream: Stream
    lines: list[Line] = field(default_factory=list)
    supervised: set[int | None] = field(default_factory=set)
    """Trusted process ids (or none) of supervisors that relay their children's output untagged."""
    strange: dict[int | None, set[str]] = field(default_factory=dict)
    """Forms of lines in such a supervisor's stream that its children do not write."""
    mixed: dict[int | None, set[str]] = field(default_factory=dict)
    """Forms in which its children write, and others too."""
    processes: list[Process] = field(default_factory=list)
    untagged: list[Process] = field(default_factory=list)
    """Lives whose lines carry no tag, in order of their beginning."""
    own: dict[tuple[str, int | None], Process] = field(default_factory=dict)
    """The newest of them by program and trusted process id."""
    parents: dict[tuple[str, int | None], Process] = field(default_factory=dict)
    """Processes that start others and serve no model of their own."""
    children: dict[tuple[int | None, str], Process] = field(default_factory=dict)
    members: dict[str, Process] = field(default_factory=dict)
    """Processes of a start by their tag."""
    may_be_members: dict[str, list[Process]] = field(default_factory=dict)
    """Starts that the process with a tag may belong to, while there are several."""
    restarted: set[tuple[str, int | None, str | None]] = field(default_factory=set)
    """Writers, with their tag, whose clock goes back without a line that begins a process."""
    others: set[tuple[str, int | None]] = field(default_factory=set)
    """Writers without a tag under whose name lines are made otherwise than theirs: somebody else is there."""
    shared: set[tuple[str, int | None]] = field(default_factory=set)
    """Writers (program, trusted pid) whose lines show that several processes write as one."""
    parts: list[Rowset] = field(default_factory=list)
    """Lines besides that only report, as columns: in order, of the one source that all lines come from."""
    changes: int = 0
    """How often a line that only reports has changed what the next one's owner may depend on."""


@dataclass(eq=False, slots=True)
class Owned:
    """An event with its owner, or with the reason why it has none."""

    line: Line
    process: Process | None
    load: Load | None
    part: str | None
    phase: str | None
    scope: Scope | None
    rule: str
    candidates: tuple[Load, ...] = ()
    suspect: str = ""


class OwnedRows(NamedTuple):
    """Rows with the numbers of their owners in a list of such; -1 for what is not of these rows any more."""

    rows: Rows
    owner: npt.NDArray[np.int32]


def content_id(*parts: Iterable[Any] | str | int | None) -> str:
    """A short id made of content, the same wherever and whenever it is computed."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
