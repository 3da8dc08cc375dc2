"""Load pattern catalogues, refuse wrong ones by name, and match one message to one typed event.

A catalogue is a TOML file a program: how its lines are prefixed (`grammar`), what its lines look like (`pattern`),
what each does to the state of a load (`effect`), and what is special about it as data (devices, remedies, runtime
calibration). docs/patterns.md explains every key.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .errors import CatalogueError
from .events import EVENT_TYPES, Event, Field, Kind, Part, event_fields
from .pattern_files import Files
from .regexes import Regex
from .units import UNITS, round_bytes, to_base, unwrap

__all__ = [
    "Catalogue",
    "Grammar",
    "Matched",
    "Pattern",
    "Prefix",
    "Program",
    "convert",
    "load_catalogue",
    "load_programs",
]

EVENTS: dict[str, type[Event]] = {one.__name__: one for one in EVENT_TYPES}
PHASES = frozenset({"fit", "allocate", "serve", "asleep", "end"})
WITHOUT_LOAD = frozenset({"begin", "route"})
"""Where a line may stand that no load prints: before any, or in the life of a process that only starts others."""
COMBINE = frozenset({"add", "once", "block", "last"})
PER = frozenset({"load", "context", "part"})
REASONS = frozenset("exit sleep killed crashed failed evicted stopped superseded aborted log_ends unknown".split())

EFFECTS: dict[str, frozenset[str]] = {
    "carrier": frozenset({"head", "close", "again", "hint", "plain"}),
    "process": frozenset({"pid"}),
    "load": frozenset({"once", "label", "key", "child", "parallel"}),
    "implies_load": frozenset({"phase", "again_s", "first"}),
    "spawn": frozenset({"key", "label"}),
    "end": frozenset({"by", "reason", "from", "map", "begins"}),
    "phase": frozenset({"to", "from", "map", "after", "shown"}),
    "part": frozenset({"to", "from", "map", "shows"}),
    "context": frozenset(),
    "block": frozenset(),
    "block_end": frozenset(),
    "item": frozenset({"combine", "per", "part", "again", "from", "kind", "basis", "placed"}),
    "set": frozenset({"name", "from", "per", "value", "append"}),
    "use": frozenset({"name", "as"}),
    "due": frozenset({"next", "of"}),
    "discovers": frozenset(),
    "claims": frozenset({"due", "keeps"}),
    "parent_ready": frozenset({"key", "label"}),
    "live_count": frozenset({"from"}),
}
"""The closed list of effects with the arguments each may have. Resist adding: TOML must not become a language."""


@dataclass(frozen=True)
class Prefix:
    """What a grammar took off a line."""

    message: str
    tag: str | None = None
    clock: tuple[str, ...] | None = None
    level: str | None = None
    present: bool = False
    who: str | None = None
    device: str | None = None
    site: str | None = None

    @property
    def component(self) -> str | None:
        """The part of its program that a line is of: what the prefix names, or how the message begins."""
        if self.site is not None:
            return self.site
        found = COMPONENT.match(self.message)
        return None if found is None else " ".join((found["file"] or found["name"]).split())


COMPONENT = re.compile(
    r"(?:level=\w+ source=(?P<file>[\w.]+):\d+ |(?P<name>(?:[a-z]+ +)?~?(?=\w*[A-Za-z]_\w)\w++(?:\(\))?)(?=: | \|))"
)
"""How programs name the part that speaks: a function with an underscore, perhaps behind a short area, or a file."""


@dataclass(frozen=True)
class Envelope:
    """A program's JSON form of a line: which keys hold what its prefix would, and which objects are lines of it."""

    message: str
    when: str
    value: str | None
    clock: str | None
    level: str | None
    levels: Mapping[str, str]
    tag: str | None = None
    who: str | None = None

    def open(self, text: str) -> Prefix | None:
        """Read one object, or None when the text is not a line in this form."""
        if not text.startswith("{"):
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or self.when not in found:
            return None
        if self.value is not None and found[self.when] != self.value:
            return None
        message = found.get(self.message)
        if not isinstance(message, str):
            return None
        clock = found.get(self.clock) if self.clock else None
        return Prefix(
            message=message.encode(errors="replace").decode().removesuffix("\n"),  # half a surrogate pair is no text
            clock=(str(clock),) if isinstance(clock, int) else None,
            level=self.levels.get(str(found.get(self.level))) if self.level else None,
            tag=str(found[self.tag]) if self.tag in found else None,
            who=str(found[self.who]) if self.who in found else None,
            present=True,
        )


@dataclass(frozen=True)
class Grammar:
    """The prefix of a program's lines, and the JSON form of the same lines if it has one."""

    regex: Regex
    tag: str | None
    who: str | None
    device: str | None
    clock: str | None
    level: str | None
    members: str
    supervises: bool
    children: str | None
    spawned: bool
    tag_is: str
    sole: frozenset[str]
    envelope: Envelope | None = None

    def split(self, line: str) -> Prefix | None:
        """Take the prefix off a line, or None when the line is not of this program's making."""
        prefix = self._prefix(line)
        opened = self.envelope.open(prefix.message) if prefix is not None and self.envelope is not None else None
        if prefix is None or opened is None:
            return prefix
        if prefix.tag is None and opened.level is None:
            # A supervisor relays a child's line as a message of its own without a level: the inner line is what counts.
            relayed = self.split(opened.message)
            if relayed is not None and relayed.tag is not None:
                return relayed
        return replace(opened, tag=opened.tag if prefix.tag is None else prefix.tag)

    def _prefix(self, line: str) -> Prefix | None:
        found = self.regex.match(line)
        if found is None:
            return None
        groups = found.groupdict()
        clock = groups.get("clock")
        level = groups.get("level")
        return Prefix(
            message=groups["message"],
            tag=groups.get(self.tag) if self.tag else None,
            clock=(clock,) if clock else None,
            level=level,
            present=bool(clock or level),
            who=groups.get(self.who) if self.who else None,
            device=groups.get(self.device) if self.device else None,
            site=groups.get("site"),
        )


@dataclass(frozen=True)
class Matched:
    """One message, as its pattern reads it."""

    pattern: Pattern
    event: Event
    keys: Mapping[str, str]
    bounds: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Pattern:
    """One wording of one kind of line."""

    program: str
    name: str
    event: type[Event]
    contains: str
    regex: Regex
    fields: Mapping[str, Field]
    units: Mapping[str, str]
    unit_groups: Mapping[str, str]
    places: int
    sums: Mapping[str, tuple[str, ...]]
    constants: Mapping[str, Any]
    from_record: Mapping[str, str]
    keys: frozenset[str]
    effects: Mapping[str, Mapping[str, Any]]
    head: Regex | None
    """Of a carrier: what stands before its text, also where the text seems to close at once."""
    closes: Regex | None
    """Of a carrier: the line that ends its text."""
    again: Regex | None
    """Of a carrier: a line that is printed once for each text, so that another shows that the text had not ended."""
    hints: Regex | None
    """Of a carrier: an earlier line that shows its text to have several lines."""
    denies: Regex | None
    """Of a carrier: an earlier line that shows its text to have one line only, unless it is one of `hints`."""
    possible_in: frozenset[str]
    believed_in: frozenset[str]
    unprefixed: bool
    pasted: bool
    since: str | None
    until: str | None
    role: str
    samples: tuple[Mapping[str, Any], ...]
    nevers: tuple[str, ...]
    where: str
    family: str
    """The program whose processes print it: its own, or the one that it is a fork of."""

    @cached_property
    def required(self) -> frozenset[str]:
        """Fields without which there is no event."""
        declared = fields(self.event)
        return frozenset(one.name for one in declared if one.default is MISSING and one.default_factory is MISSING)

    def match(self, message: str, record_fields: Mapping[str, str] | None = None) -> Matched | None:
        """Read one message, already without its prefix.

        Args:
            message: Text of the message.
            record_fields: Trusted fields of the record, for patterns that take a value from them.

        Returns:
            The event with its rounding bounds, or None if this is not the wording.
        """
        found = self.regex.match(message)
        if found is None:
            return None
        values: dict[str, Any] = dict(self.constants)
        bounds: dict[str, int] = {}
        keys: dict[str, str] = {}
        groups = found.groupdict()
        for name, text in groups.items():
            if text is None:
                continue
            if name in self.keys:
                keys[name] = text
            if name not in self.fields:
                continue
            unit = self.units.get(name)
            if name in self.unit_groups:
                unit = groups[self.unit_groups[name]] or ""
            try:
                values[name], bound = convert(text, self.fields[name], unit, self.places)
            except ValueError:
                return None  # counted by the scan as a hit without a match
            if bound:
                bounds[name] = bound
        for name, parts in self.sums.items():
            try:
                terms = [
                    convert(groups[part], self.fields[name], self.units.get(name), self.places)
                    for part in parts
                    if groups[part] is not None
                ]
            except ValueError:
                return None
            values[name] = sum(value for value, _ in terms)
            if any(bound for _, bound in terms):
                bounds[name] = sum(bound for _, bound in terms)
        for name, source in self.from_record.items():
            text = (record_fields or {}).get(source)
            if text is None:
                continue
            if name in self.fields:
                try:
                    values[name], _ = convert(text, self.fields[name], self.units.get(name))
                except ValueError:
                    continue
            if name in self.keys:
                keys[name] = text
        if not self.required <= values.keys():
            return None  # the wording ends before what it has to say
        return Matched(self, self.event(**values), keys, bounds)


def convert(text: str, target: Field, unit: str | None, places: int = 0) -> tuple[Any, int]:
    """Convert a captured text to a field's type, with its rounding bound in base units."""
    if unit is not None:
        if unit not in UNITS:
            raise ValueError(f"not a unit: {unit!r}")
        value, bound = to_base(text, unit, places)
        if target.type is int:
            return _kept(unwrap(round_bytes(value))), round_bytes(bound)
        return _finite(float(value)), 0
    if target.type is int:
        return _kept(int(text.replace(",", ""))), 0
    if target.type is float:
        return _finite(float(text.replace(",", ""))), 0
    if target.type is bool:
        return text.lower() in {"1", "true", "yes", "on", "enabled"}, 0
    if issubclass(target.type, Kind):
        return Kind(text), 0
    return text, 0


def _kept(value: int) -> int:
    """A whole number that the tables can hold; a line with a greater one is not what it looks like."""
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"beyond 64 bits: {value}")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("beyond what a number can be")
    return value


@dataclass(frozen=True, eq=False)
class Program:
    """One catalogue file."""

    name: str
    title: str
    newest: str
    file: str
    grammar: Grammar
    patterns: tuple[Pattern, ...]
    devices: tuple[Mapping[str, Any], ...]
    remedies: tuple[Mapping[str, Any], ...]
    runtimes: tuple[Mapping[str, Any], ...]
    libraries: tuple[Mapping[str, Any], ...]
    process_names: tuple[Regex, ...]
    sites: tuple[str, ...]
    """Public hosts that its lines name: documentation, a registry. They tell nothing of a machine."""
    writers: tuple[str, ...]
    probes: tuple[Mapping[str, Any], ...]
    raw: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @cached_property
    def components(self) -> frozenset[str]:
        """The parts of the program whose wordings the catalogue knows."""
        prefixes = (self.grammar.split(sample["line"]) for one in self.patterns for sample in one.samples)
        return frozenset(one.component for one in prefixes if one is not None and one.component is not None)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """All programs, and their patterns by the literal that the scan looks for."""

    programs: tuple[Program, ...]
    extra: tuple[tuple[str, str], ...] = ()
    """Files that the user brought: name and text."""
    digest: str = ""
    """Of all the files."""

    @classmethod
    def of(cls, texts: Files) -> Catalogue:
        """Read the files.

        Raises:
            CatalogueError: One is wrong; the message names it.
        """
        programs = load_programs([*texts.installed_texts, *texts.extra], len(texts.installed_texts), texts.parsed())
        known = {one.name for one in programs}
        for one in programs:
            if (base := one.raw.get("of", one.name)) not in known:
                raise CatalogueError(f"{one.file}: 'of' names {base!r}, and no such program is known")
        return cls(tuple(programs), texts.extra, texts.digest)

    @property
    def patterns(self) -> list[Pattern]:
        """All patterns, in the order of the files."""
        return [pattern for program in self.programs for pattern in program.patterns]

    def remedies(self, program: str) -> Sequence[Mapping[str, Any]]:
        """What would make a program log more."""
        return self.program(program).remedies

    def slow(self) -> list[Regex]:
        """Expressions of a user that took too long on some line."""
        every = [
            *(one.grammar.regex for one in self.programs),
            *(one.regex for one in self.patterns),
            *(
                kept
                for one in self.patterns
                for kept in (one.head, one.closes, one.again, one.hints, one.denies)
                if kept is not None
            ),
            *(name for one in self.programs for name in one.process_names),
        ]
        return [one for one in every if one.slow]

    def literals(self) -> dict[bytes, list[Pattern]]:
        """Patterns by the bytes of their literal."""
        found: dict[bytes, list[Pattern]] = {}
        for pattern in self.patterns:
            found.setdefault(pattern.contains.encode(), []).append(pattern)
        return found

    def program(self, name: str) -> Program:
        """The program of that name.

        Raises:
            KeyError: There is none.
        """
        for program in self.programs:
            if program.name == name:
                return program
        raise KeyError(name)


def load_catalogue(extra: Iterable[Path] = (), texts: Iterable[tuple[str, str]] = ()) -> Catalogue:
    """Load the installed catalogues, and files that a user brings: as paths, or as name and text."""
    return Catalogue.of(Files.installed(extra, texts))


def load_programs(
    sources: Iterable[tuple[str, str]], own: int = 0, parsed: Mapping[str, Any] | None = None
) -> list[Program]:
    """Parse and check catalogue texts, given as (name of file, text).

    A user's file may describe a program of its own, or add patterns to one that is known: it names the program then,
    and has no grammar.

    Args:
        sources: The texts, ours first.
        own: How many of them are ours; the expressions of the others run under a clock.
        parsed: What ours say, if they have been read before.

    Raises:
        CatalogueError: A file is wrong; the message names file and pattern and says what to do.
    """
    programs: dict[str, Program] = {}
    for number, (file, text) in enumerate(sources):
        raw = _raw(file, text, (parsed or {}).get(file) if number < own else None)
        known = programs.get(raw["program"])
        if known is None:
            programs[raw["program"]] = _program(file, raw, bounded=number >= own)
        elif number >= own and "grammar" not in raw:
            programs[raw["program"]] = _added(file, raw, known)
        else:
            raise CatalogueError(
                f"two catalogue files describe the program {raw['program']!r}: {known.file} and {file}; rename one, or "
                "add patterns to it by a file without a grammar"
            )
    return list(programs.values())


PROGRAM_KEYS = frozenset(
    ("program of title newest writers grammar pattern device remedy runtime library process_name site probe").split()
)


def _raw(file: str, text: str, parsed: dict[str, Any] | None = None) -> dict[str, Any]:
    try:
        raw = tomllib.loads(text) if parsed is None else parsed
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{file}: not valid TOML: {error}") from error
    if unknown := sorted(set(raw) - PROGRAM_KEYS):
        raise CatalogueError(f"{file}: unknown key {unknown[0]!r}; known: {', '.join(sorted(PROGRAM_KEYS))}")
    for needed in ("program", "pattern"):
        if needed not in raw:
            raise CatalogueError(f"{file}: the key {needed!r} is missing")
    if not isinstance(raw["pattern"], list):
        raise CatalogueError(f"{file}: 'pattern' is a list: write [[pattern]]")
    return raw


def _added(file: str, raw: Mapping[str, Any], known: Program) -> Program:
    """A known program with patterns that a user adds; nothing else of it changes."""
    if other := sorted(set(raw) - {"program", "title", "pattern"}):
        raise CatalogueError(
            f"{file}: adds patterns to {known.name!r}, which has its own {other[0]!r}; leave that key out"
        )
    family = known.raw.get("of", known.name)
    added = tuple(_pattern(file, known.name, family, known.grammar, entry, bounded=True) for entry in raw["pattern"])
    return replace(known, patterns=_named_once((*known.patterns, *added)))


def _named_once(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    seen: set[str] = set()
    for pattern in patterns:
        if pattern.name in seen:
            raise CatalogueError(f"{pattern.where}: the name is used twice; each wording has its own")
        seen.add(pattern.name)
    return patterns


def _program(file: str, raw: dict[str, Any], *, bounded: bool) -> Program:
    if "title" not in raw:
        raise CatalogueError(f"{file}: the key 'title' is missing")
    writers = raw.get("writers", [])
    if not isinstance(writers, list) or not all(isinstance(one, str) for one in writers):
        raise CatalogueError(f"{file}: 'writers' is a list of names, such as [\"kernel\"]")
    family = raw.get("of", raw["program"])
    if not isinstance(family, str):
        raise CatalogueError(f"{file}: 'of' is the name of the program that this one is a fork of")
    grammar = _grammar(file, raw.get("grammar", {}), bounded=bounded)
    patterns = _named_once(
        tuple(_pattern(file, raw["program"], family, grammar, entry, bounded=bounded) for entry in raw["pattern"])
    )
    return Program(
        name=raw["program"],
        title=raw["title"],
        newest=raw.get("newest", ""),
        file=file,
        grammar=grammar,
        patterns=patterns,
        devices=tuple(raw.get("device", ())),
        remedies=tuple(raw.get("remedy", ())),
        runtimes=tuple(raw.get("runtime", ())),
        libraries=tuple(raw.get("library", ())),
        process_names=tuple(Regex(file, one, bounded=bounded) for one in raw.get("process_name", ())),
        sites=tuple(map(str, raw.get("site", ()))),
        writers=tuple(writers),
        probes=_probes(file, raw.get("probe", ())),
        raw=raw,
    )


def _grammar(file: str, raw: Mapping[str, Any], *, bounded: bool) -> Grammar:
    raw = dict(raw)
    device = raw.pop("device", None)
    regex = Regex(f"{file}: grammar", raw.get("regex", r"(?s)^(?P<message>.*)$"), bounded=bounded)
    if "message" not in regex.groups:
        raise CatalogueError(f"{file}: grammar: the regex needs a group 'message': what is left of the line")
    known = {"regex", "tag", "members", "supervises", "clock", "tag_is", "json", "who", "children", "spawned", "sole"}
    if unknown := sorted(set(raw) - known):
        raise CatalogueError(f"{file}: grammar: unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return Grammar(
        regex=regex,
        tag=raw.get("tag"),
        who=raw.get("who"),
        device=device,
        clock=raw.get("clock"),
        level="level" if "level" in regex.groups else None,
        members=raw.get("members", "process"),
        supervises=bool(raw.get("supervises", False)),
        children=raw.get("children"),
        spawned=bool(raw.get("spawned", False)),
        tag_is=raw.get("tag_is", "child"),
        sole=frozenset(raw.get("sole", ())),
        envelope=_envelope(file, raw["json"]) if "json" in raw else None,
    )


def _probes(file: str, raw: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Check what a program may be asked on loopback: a path that begins with /, ports, and what it answers."""
    for entry in raw:
        path, ports = entry.get("path"), entry.get("ports")
        where = f"{file}: probe {path!r}"
        if set(entry) != {"path", "ports", "what"}:
            raise CatalogueError(f"{where}: a probe has the keys path, ports and what")
        if not isinstance(path, str) or not re.fullmatch(r"/[\w./-]*", path):
            raise CatalogueError(f"{where}: the path of a probe is letters, digits and ./-_ behind a /")
        if not isinstance(ports, list) or not all(isinstance(one, int) and 0 < one < 65536 for one in ports):
            raise CatalogueError(f"{where}: 'ports' is a list of port numbers")
    return tuple(raw)


def _envelope(file: str, raw: Mapping[str, Any]) -> Envelope:
    for needed in ("message", "when"):
        if needed not in raw:
            raise CatalogueError(f"{file}: grammar: json: the key {needed!r} is missing")
    known = {"message", "when", "is", "clock", "level", "levels", "tag", "who"}
    if unknown := sorted(set(raw) - known):
        raise CatalogueError(f"{file}: grammar: json: unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return Envelope(
        message=raw["message"],
        when=raw["when"],
        value=raw.get("is"),
        clock=raw.get("clock"),
        level=raw.get("level"),
        levels=raw.get("levels", {}),
        tag=raw.get("tag"),
        who=raw.get("who"),
    )


PATTERN_KEYS = frozenset(
    "name event since until contains regex unit const keys record effect possible_in believed_in unprefixed pasted "
    "sample never role bulk note places sum".split()
)
ROLES = frozenset({"child", "parent", "anyone"})
ALLOCATING = frozenset({"item"})


def _pattern(
    file: str, program: str, family: str, grammar: Grammar, raw: Mapping[str, Any], *, bounded: bool
) -> Pattern:
    name = raw.get("name")
    if not name:
        raise CatalogueError(f"{file}: a pattern has no name")
    where = f"{file}: pattern {name!r}"
    if unknown := sorted(set(raw) - PATTERN_KEYS):
        raise CatalogueError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(sorted(PATTERN_KEYS))}")
    event_name = raw.get("event", "MarkerSeen")
    if event_name not in EVENTS:
        meant = "".join(f"; did you mean {one}?" for one in difflib.get_close_matches(event_name, EVENTS, 1))
        raise CatalogueError(f"{where}: unknown event {event_name!r}{meant}; known: {', '.join(sorted(EVENTS))}")
    event = EVENTS[event_name]
    fields_of = event_fields(event)
    if not raw.get("contains"):
        raise CatalogueError(f"{where}: 'contains' is missing: the literal that the scan looks for")
    if grammar.envelope is not None and set(raw["contains"]) & set('"\\\t'):
        raise CatalogueError(
            f"{where}: the literal {raw['contains']!r} would be missed in the JSON form, which escapes it; "
            "choose one without quotes, backslashes and tabs"
        )
    regex = Regex(where, raw.get("regex", ""), bounded=bounded)
    keys = frozenset(raw.get("keys", ()))
    units: dict[str, str] = {}
    unit_groups: dict[str, str] = {}
    constants = dict(raw.get("const", {}))
    from_record: Mapping[str, str] = raw.get("record", {})
    groups = set(regex.groups)
    for group in sorted(groups | set(from_record)):
        if group not in fields_of and group not in keys:
            raise CatalogueError(
                f"{where}: group {group!r} is no field of {event_name} and no declared key; "
                f"fields: {', '.join(fields_of)}"
            )
    for name_, unit in raw.get("unit", {}).items():
        if name_ not in fields_of:
            raise CatalogueError(f"{where}: unit for {name_!r}, which is no field of {event_name}")
        if isinstance(unit, str):
            if unit not in UNITS:
                raise CatalogueError(f"{where}: unknown unit {unit!r}; known: {', '.join(UNITS)}")
            units[name_] = unit
            continue
        if set(unit) != {"group"}:
            raise CatalogueError(f'{where}: the unit of {name_!r} is a name or {{ group = "…" }}')
        if unit["group"] not in groups or unit["group"] not in keys:
            raise CatalogueError(
                f"{where}: the unit of {name_!r} comes from the group {unit['group']!r}: "
                "capture it and declare it in keys"
            )
        unit_groups[name_] = unit["group"]
    for name_, value in constants.items():
        if name_ not in fields_of:
            raise CatalogueError(f"{where}: constant for {name_!r}, which is no field of {event_name}")
        if issubclass(fields_of[name_].type, Kind):
            if value not in set(Kind):
                raise CatalogueError(f"{where}: unknown kind {value!r}; known: {', '.join(Kind)}")
            constants[name_] = Kind(value)
    given = groups | set(constants) | set(from_record)
    sums = _sums(where, raw.get("sum", {}), fields_of, groups & keys)
    given |= set(sums)
    for one in fields_of.values():
        if not one.optional and one.name not in given and not _has_default(event, one.name):
            raise CatalogueError(f"{where}: {event_name} needs {one.name!r}: give a group or a constant for it")
    effects = {key: _effect(where, key, value) for key, value in raw.get("effect", {}).items()}
    head, closes, again, hints, denies = (
        _of_carrier(where, effects, key, bounded) for key in ("head", "close", "again", "hint", "plain")
    )
    if raw.get("pasted") and effects:
        raise CatalogueError(f"{where}: a pasted line may be anybody's, so that it has no effect: take one of them out")
    if "item" in effects and not raw.get("regex", "").replace("(?x)", "").lstrip().startswith("^"):
        raise CatalogueError(f"{where}: an allocation must be anchored with ^ at the start of the message")
    samples = tuple(raw.get("sample", ()))
    if not samples:
        raise CatalogueError(f"{where}: no sample; copy a real line into [[pattern.sample]]")
    for sample in samples:
        if raw["contains"] not in sample.get("line", ""):
            raise CatalogueError(f"{where}: a sample does not contain the literal {raw['contains']!r}")
    for key in ("possible_in", "believed_in"):
        for phase in raw.get(key, ()):
            if phase not in PHASES and not (key == "possible_in" and phase in WITHOUT_LOAD):
                raise CatalogueError(f"{where}: {key}: unknown phase {phase!r}; known: {', '.join(sorted(PHASES))}")
    return Pattern(
        program=program,
        name=name,
        event=event,
        contains=raw["contains"],
        regex=regex,
        fields=fields_of,
        units=units,
        unit_groups=unit_groups,
        places=int(raw.get("places", 0)),
        sums=sums,
        constants=constants,
        from_record=from_record,
        keys=keys,
        effects=effects,
        head=head,
        closes=closes,
        again=again,
        hints=hints,
        denies=denies,
        possible_in=frozenset(raw.get("possible_in", ())),
        believed_in=frozenset(raw.get("believed_in", ("allocate",) if "item" in effects else ())),
        unprefixed=bool(raw.get("unprefixed", False)),
        pasted=bool(raw.get("pasted", False)),
        since=raw.get("since"),
        until=raw.get("until"),
        role=_role(where, raw),
        samples=samples,
        nevers=tuple(one["line"] for one in raw.get("never", ())),
        where=where,
        family=family,
    )


def _of_carrier(where: str, effects: Mapping[str, Mapping[str, Any]], key: str, bounded: bool) -> Regex | None:
    text = effects.get("carrier", {}).get(key)
    if text is None and key == "close" and "carrier" in effects:
        raise CatalogueError(f"{where}: a carrier says what line closes it: close")
    return None if text is None else Regex(f"{where}: {key}", text, bounded=bounded)


def _sums(
    where: str, raw: Mapping[str, Iterable[str]], fields_of: Mapping[str, Field], declared: set[str]
) -> dict[str, tuple[str, ...]]:
    """Check the fields that are sums of captured groups."""
    sums = {name: tuple(parts) for name, parts in raw.items()}
    for name, parts in sums.items():
        if name not in fields_of:
            raise CatalogueError(f"{where}: sum for {name!r}, which is no field of the event")
        for part in parts:
            if part not in declared:
                raise CatalogueError(
                    f"{where}: the sum of {name!r} has the group {part!r}: capture it and declare it in keys"
                )
    return sums


def _has_default(event: type[Event], name: str) -> bool:
    return hasattr(event, name)


def _role(where: str, raw: Mapping[str, Any]) -> str:
    role = raw.get("role", "child")
    if role not in ROLES:
        raise CatalogueError(f"{where}: the role cannot be {role!r}; known: {', '.join(sorted(ROLES))}")
    return str(role)


def _effect(where: str, name: str, value: Any) -> Mapping[str, Any]:
    if name not in EFFECTS:
        raise CatalogueError(f"{where}: unknown effect {name!r}; known: {', '.join(EFFECTS)}")
    arguments: dict[str, Any] = {"to": value} if isinstance(value, str) else dict(value) if value is not True else {}
    if unknown := sorted(set(arguments) - EFFECTS[name]):
        raise CatalogueError(
            f"{where}: effect {name!r} has no argument {unknown[0]!r}; it may have: "
            f"{', '.join(sorted(EFFECTS[name])) or 'none'}"
        )
    checks: tuple[tuple[str, str, frozenset[str]], ...] = (
        ("phase", "to", PHASES),
        ("item", "combine", COMBINE),
        ("item", "per", PER),
        ("end", "reason", REASONS),
        ("item", "again", frozenset(Part)),
        ("item", "kind", frozenset(Kind)),
        ("part", "to", frozenset(Part) | {"outer"}),
    )
    for effect, argument, allowed in checks:
        if name == effect and argument in arguments and arguments[argument] not in allowed:
            raise CatalogueError(
                f"{where}: effect {name}.{argument} cannot be {arguments[argument]!r}; "
                f"known: {', '.join(sorted(allowed))}"
            )
    return arguments
