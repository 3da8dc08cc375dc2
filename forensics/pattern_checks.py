"""Look at the catalogues themselves: check them, run their samples, and say why a line is or is not read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from .builds import release
from .catalogue import Catalogue, Pattern, Program
from .errors import CatalogueError
from .growth import growth
from .regexes import PATIENCE_S

__all__ = ["Attempt", "Fault", "explain_line", "lint", "run_samples"]

NEARLY = 0.75
"""Share of a literal that a line must hold, close together, to have nearly the literal."""

CRUMB = 3
"""Characters that a piece of a literal has at least; shorter ones are in every line."""


REMEDY = "let what repeats be possessive (++), or leave one way only to read a text"

PIECE = 120
"""How much of an expression is shown."""


@dataclass(frozen=True)
class Fault:
    """Something wrong with a pattern: where, and what."""

    where: str
    what: str


@dataclass(frozen=True)
class Attempt:
    """How far one pattern got with a line.

    `matched` of the message is what the beginning of the expression takes, `rest` what is left, `failed` the piece of
    the expression that finds nothing there.
    """

    program: str
    pattern: str
    literal: str
    literal_is: str
    prefix: str | None
    message: str | None
    reads: bool
    event: str | None = None
    fields: tuple[tuple[str, Any], ...] = ()
    matched: str = ""
    rest: str = ""
    failed: str = ""
    because: str = ""
    builds: str = ""
    """The builds that print this wording, as far as the file says."""


def lint(catalogue: Catalogue) -> list[Fault]:
    """Faults that do not keep a catalogue from loading: expressions that do not compile, patterns without doubt."""
    return [fault for program in catalogue.programs for fault in _lint(program)]


def _lint(program: Program) -> Iterator[Fault]:
    try:
        program.grammar.regex.compiled()
    except CatalogueError as error:
        yield Fault(f"{program.file}: grammar", str(error))
    lines = [str(pattern.samples[0]["line"]) for pattern in program.patterns[:6]]
    grammar = program.grammar.regex
    match = partial(grammar.compiled().match, timeout=PATIENCE_S) if grammar.bounded else grammar.compiled().match
    if (found := growth(match, lines)) is not None:
        yield Fault(f"{program.file}: grammar", f"takes more than in proportion to a line's length: {found.repeated!r}")
    for pattern in program.patterns:
        try:
            compiled = pattern.regex.compiled()
        except CatalogueError as error:
            yield Fault(pattern.where, str(error))
            continue
        match = partial(compiled.match, timeout=PATIENCE_S) if pattern.regex.bounded else compiled.match
        found = growth(match, _messages(program, pattern))
        if found is not None:
            where = f"{found.repeated!r} again and again after {found.before[-PIECE:]!r}"
            yield Fault(pattern.where, f"takes more than in proportion to a line's length: {where}; {REMEDY}")
        if pattern.regex.groups != frozenset(compiled.groupindex):
            yield Fault(pattern.where, "its groups are not what they look like; name them as (?P<name>…)")
        if pattern.since and pattern.until and release(pattern.until) <= release(pattern.since):
            yield Fault(pattern.where, f"until {pattern.until} is not later than since {pattern.since}")
        if not pattern.nevers:
            yield Fault(pattern.where, "no [[pattern.never]]: a line that looks like it and must not match")


def _builds(program: Program, pattern: Pattern) -> str:
    first = f"from {pattern.since}" if pattern.since else "from the first build the catalogue knows"
    known = f" ({program.newest})" if program.newest else ""
    return f"{first} to {pattern.until}" if pattern.until else f"{first} to the newest it knows{known}"


def _messages(program: Program, pattern: Pattern) -> list[str]:
    """The messages of a pattern's first samples."""
    prefixes = [program.grammar.split(str(sample["line"])) for sample in pattern.samples[:2]]
    return [prefix.message for prefix in prefixes if prefix is not None]


def run_samples(catalogue: Catalogue, files: Sequence[str] = ()) -> tuple[int, list[Fault]]:
    """Read every sample and counter-sample, as tests do; how many there were, and which did not do as they say.

    Args:
        catalogue: All programs: a sample must be read by no other pattern of its program.
        files: Names of the files whose samples are read; all if there are none.
    """
    count = 0
    faults: list[Fault] = []
    for program in catalogue.programs:
        for pattern in program.patterns:
            if files and not any(pattern.where.startswith(f"{file}:") for file in files):
                continue
            for sample in pattern.samples:
                count += 1
                faults.extend(Fault(pattern.where, what) for what in _sample(program, pattern, sample))
            for line in pattern.nevers:
                count += 1
                prefix = program.grammar.split(line)
                if prefix is not None and pattern.match(prefix.message) is not None:
                    faults.append(Fault(pattern.where, f"reads a line that it must not: {line}"))
    return count, faults


def _sample(program: Program, pattern: Pattern, sample: Any) -> Iterator[str]:
    line = sample["line"]
    prefix = program.grammar.split(line)
    if prefix is None:
        yield f"the grammar does not take the sample: {line}"
        return
    matched = pattern.match(prefix.message, sample.get("record"))
    if matched is None:
        yield f"does not read its own sample: {line}"
        return
    got = {name: value for name, value in asdict(matched.event).items() if value is not None}
    expected = dict(sample.get("expect", {}))
    told = {
        name: value for name, value in got.items() if name in expected or value != getattr(pattern.event, name, None)
    }
    if told != expected:
        yield f"gives {told} instead of {expected} from its sample: {line}"
    for other in program.patterns:
        if other is not pattern and other.contains in line and other.match(prefix.message) is not None:
            yield f"its sample is also read by {other.name}: {line}"


def explain_line(catalogue: Catalogue, line: str) -> list[Attempt]:
    """How each pattern whose literal a line has, or nearly has, gets along with it: those that read it first."""
    found: list[Attempt] = []
    for program in catalogue.programs:
        prefix = program.grammar.split(line)
        for pattern in program.patterns:
            literal_is = "there" if pattern.contains in line else _nearly(pattern.contains, line)
            if literal_is is None:
                continue
            attempt = _attempt(program, pattern, line, literal_is, prefix)
            found.append(replace(attempt, builds=_builds(program, pattern)))
    rank = {True: 0, False: 1}

    def near(one: Attempt) -> tuple[object, ...]:
        # a literal of a few letters is in many lines, and says little where nothing follows from it
        return rank[one.reads], not one.matched, one.literal_is != "there", -len(one.matched), one.program, one.pattern

    return sorted(found, key=near)


def _nearly(literal: str, line: str) -> str | None:
    """The pieces of a literal that a line has in one place, if they are most of it."""
    blocks = difflib.SequenceMatcher(None, literal, line, autojunk=False).get_matching_blocks()
    pieces = [one for one in blocks if one.size >= CRUMB]
    if not pieces or sum(one.size for one in pieces) < max(4, NEARLY * len(literal)):
        return None
    if pieces[-1].b + pieces[-1].size - pieces[0].b > len(literal) + CRUMB:
        return None
    told = " and ".join(f"“{literal[one.a : one.a + one.size]}”" for one in pieces)
    return f"only {told} {'is' if len(pieces) == 1 else 'are'} there"


def _attempt(program: Program, pattern: Pattern, line: str, literal_is: str, prefix: Any) -> Attempt:
    if prefix is None:
        return Attempt(
            program.name,
            pattern.name,
            pattern.contains,
            literal_is,
            None,
            None,
            reads=False,
            because="the grammar of the program does not take the line",
        )
    taken = line[: len(line) - len(prefix.message)] if line.endswith(prefix.message) else ""
    matched = pattern.match(prefix.message)
    if matched is not None and literal_is == "there":
        event = {name: value for name, value in asdict(matched.event).items() if value is not None}
        return Attempt(
            program.name,
            pattern.name,
            pattern.contains,
            literal_is,
            taken,
            prefix.message,
            reads=True,
            event=pattern.event.__name__,
            fields=tuple(event.items()),
            matched=prefix.message,
        )
    if matched is not None:
        return Attempt(
            program.name,
            pattern.name,
            pattern.contains,
            literal_is,
            taken,
            prefix.message,
            reads=False,
            matched=prefix.message,
            because="the expression would read it, but the scan never offers a line without the literal",
        )
    begun, failed = _furthest(pattern.regex.pattern, prefix.message)
    because = "the expression finds nothing for the piece that failed"
    if pattern.regex.match(prefix.message) is not None:
        begun, failed, because = prefix.message, "", "the expression matches, but a number or unit in it cannot be read"
    return Attempt(
        program.name,
        pattern.name,
        pattern.contains,
        literal_is,
        taken,
        prefix.message,
        reads=False,
        matched=begun,
        rest=prefix.message[len(begun) :],
        failed=failed,
        because=because,
    )


def _furthest(expression: str, message: str) -> tuple[str, str]:
    """What of a message the longest beginning of an expression takes, and the piece after it, which takes nothing."""
    flags = re.match(r"\(\?[aiLmsux]+\)", expression)
    head = flags[0] if flags else ""
    pieces = _pieces(expression[len(head) :], "x" in head)
    best, failed = "", _named(pieces, 0) if pieces else ""
    for count in range(1, len(pieces) + 1):
        try:
            found = re.match(head + "".join(pieces[:count]), message)
        except re.error:
            continue  # a piece that needs the next one, such as one side of an alternative
        if found is None:
            failed = _named(pieces, count - 1)
            # An earlier piece may have taken too much: then what failed is still the first piece that cannot follow.
            break
        best = found[0]
        failed = _named(pieces, count) if count < len(pieces) else ""
    return best, failed.strip()


def _named(pieces: Sequence[str], at: int) -> str:
    """A piece of an expression in one line, without its remarks; a letter with those that follow it."""
    end = at + 1
    while end < len(pieces) and re.fullmatch(r"\w", pieces[at]) and re.fullmatch(r"\w", pieces[end]):
        end += 1
    text = " ".join(re.sub(r"(?<!\\)#.*", "", "".join(pieces[at:end])).split())
    return text if len(text) <= PIECE else text[:PIECE] + "…"


def _pieces(expression: str, verbose: bool) -> Sequence[str]:
    """The expression cut where nothing is open: literals, classes and groups with their repeats."""
    pieces: list[str] = []
    at = 0
    while at < len(expression):
        end = _end_of_piece(expression, at, verbose)
        if pieces and expression[at] == "|":
            return [expression]  # alternatives of the whole: it cannot be cut
        pieces.append(expression[at:end])
        at = end
    return pieces


def _end_of_piece(expression: str, at: int, verbose: bool) -> int:
    character = expression[at]
    if verbose and character == "#":
        end = expression.find("\n", at)
        return len(expression) if end < 0 else end + 1
    if character == "\\":
        at += 2
    elif character == "[":
        at += 2 if expression[at + 1 : at + 2] == "^" else 1
        at += 1 if expression[at : at + 1] == "]" else 0
        while at < len(expression) and expression[at] != "]":
            at += 2 if expression[at] == "\\" else 1
        at += 1
    elif character == "(":
        at = _end_of_group(expression, at, verbose)
    else:
        at += 1
    repeat = re.compile(r"[*+?]|\{\d*,?\d*\}").match(expression, at)
    if repeat:
        at = repeat.end()
        if expression[at : at + 1] in {"?", "+"}:
            at += 1
    return at


def _end_of_group(expression: str, at: int, verbose: bool) -> int:
    at += 1
    while at < len(expression) and expression[at] != ")":
        at = _end_of_piece(expression, at, verbose)
    return at + 1
