"""Bring a case up to date with its inputs: see what grew, moved or was lost, and read again if anything did.

Ownership is a matter of all lines of a case together, so a case is never patched: if one byte is new, all sources are
read, and the new case takes the place of the old one in one step. What an old source said must still be there, at its
place or under another name; if it is gone, the old case stays until it is told to forget.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from . import __version__
from .bookmarks import OtherBytesError, kept_bookmarks
from .bounds import EVERYTHING, Bounds
from .case import Evidence, read_evidence
from .casefile import Made, Was, made_from
from .casewrite import is_leftover, write_case
from .catalogue import Catalogue, load_catalogue
from .errors import CaseError, UsageError
from .records import CHUNK, Digest, Options, Source, contents, digests, is_inside, looks, plain_size, stretch

__all__ = ["Change", "Ingested", "ingest", "signature"]

Progress = Callable[[int, int], None]

IN_PLACE = frozenset({"tar", "zip", "markdown"})
"""Formats of which a later state does not begin with the bytes of an earlier one; what is inside is told by itself."""

SIBLINGS = 50
"""How many files beside a lost one are looked through for its bytes."""


class Change(NamedTuple):
    """What became of one source since the case was made: new, grown, moved, lost or gone unread; and in words."""

    source: str
    what: str
    words: str


@dataclass(frozen=True)
class Ingested:
    """What an ingest found and did."""

    case: Path
    written: bool
    changes: tuple[Change, ...] = ()
    sources: int = 0
    loads: int = 0
    lines: int = 0
    evidence: Evidence | None = None


def ingest(
    inputs: Sequence[str],
    case: Path,
    *,
    patterns: Sequence[Path] = (),
    tz_us: int | None = None,
    bounds: Bounds = EVERYTHING,
    forget: bool = False,
    on_progress: Progress | None = None,
) -> Ingested:
    """Make a case, or bring one up to date.

    Args:
        inputs: Files and folders to add to those that the case knows.
        case: The case file.
        patterns: Pattern files of the user, beside those of the case.
        tz_us: Zone of telemetry times that print none; that of the case if none is given.
        bounds: What to read of journals; what the case was made from if that is everything.
        forget: Whether to go on without the bytes of sources that are lost.
        on_progress: Called with bytes read and bytes in all.

    Raises:
        CaseError: The file is no case of this program, or what it was made from is lost.
        UsageError: There is nothing to read, or the case was made with other bounds.
    """
    case = Path(os.path.realpath(case))
    made = made_from(case) if case.exists() else Made()
    if "-" in inputs:
        raise UsageError("a case reads its inputs again when they grow: save standard input to a file and give that")
    wanted = tuple(dict.fromkeys((*made.inputs, *(str(Path(one).absolute()) for one in inputs))))
    if not wanted:
        raise UsageError("no input: give the log files, telemetry files or folders that the case is made from")
    catalogue = load_catalogue(*_patterns(made, patterns))
    if tz_us is None and made.about.get("tz_us") is not None:
        tz_us = int(made.about["tz_us"] or 0)
    before = Bounds.from_json(made.about.get("bounds"))
    if made.sources and bounds not in {EVERYTHING, before} and not forget:
        raise UsageError(
            f"{case}: the case was made with other bounds ({before.as_json()}): give none to keep them, another file "
            "for --case, or --forget to read it anew with these"
        )
    bounds = before if bounds == EVERYTHING else bounds
    options = bounds.options(Options(skip=lambda path: path.absolute() == case or is_leftover(path.absolute(), case)))
    same_way = bool(made.sources) and bounds == before and _same_way(made, catalogue, tz_us)
    if (
        same_way
        and made.inputs == wanted
        and not any(_is_longer(Path(name), was) for name, was in made.sources.items())
    ):
        now = {one.name: (one.digest.size, one.digest.root) for one in digests(wanted, options)}
        was = {n: (one.size, one.root) for n, one in made.sources.items() if not is_inside(n, made.sources)}
        if now == was:
            return Ingested(case, written=False, sources=len(made.sources))

    read = partial(read_evidence, catalogue=catalogue, tz_us=tz_us, on_progress=on_progress, options=options)

    def read_on() -> Evidence:
        if same_way:
            with kept_bookmarks(case, made) as kept, suppress(OtherBytesError):
                return read(wanted, kept=kept)
        return read(wanted)

    evidence = read_on()
    changes, moved = _compare(made.sources, evidence)
    if moved:
        # What was rotated away comes before what took its place: that is the order it was written in.
        wanted = tuple(one for name in wanted for one in (*moved.get(name, ()), name))
        evidence = read_on()
        changes, _ = _compare(made.sources, evidence)
    lost = [one for one in changes if one.what == "lost"]
    if lost and not forget:
        raise CaseError(
            f"{case}: left as it was, since bytes that it was made from are gone: "
            + "; ".join(f"{one.source} {one.words}" for one in lost)
            + ". Give the file that has them now, or go on without them: --forget"
        )
    if all(one.is_unread for one in evidence.sources):
        raise UsageError("none of the inputs could be read")
    evidence.bounds = bounds
    loads, lines = len(evidence.ownership.loads), evidence.ownership.count()
    write_case(case, evidence)
    return Ingested(
        case,
        written=True,
        changes=tuple(changes),
        sources=len(evidence.sources),
        loads=loads,
        lines=lines,
        evidence=evidence,
    )


def _patterns(made: Made, given: Sequence[Path]) -> tuple[list[Path], list[tuple[str, str]]]:
    """Pattern files to read with: those given now and those of the case, as they are now; as they were if they left."""
    paths = {str(path): path for path in (*(Path(name) for name, _ in made.patterns), *given)}
    here = [path for name, path in sorted(paths.items()) if path in given or path.is_file()]
    gone = [(name, text) for name, text in made.patterns if Path(name) not in here]
    return here, gone


def signature(case: Path, inputs: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """What the file system says of all inputs of a case: the same as before means that nothing was written to them."""
    case = Path(os.path.realpath(case))
    known = made_from(case).inputs if case.exists() else ()
    wanted = tuple(dict.fromkeys((*known, *(str(Path(one).absolute()) for one in inputs))))
    return looks(wanted, Options(skip=lambda path: path.absolute() == case or is_leftover(path.absolute(), case)))


def _same_way(made: Made, catalogue: Catalogue, tz_us: int | None) -> bool:
    """Whether reading the same bytes again would give the same case."""
    return (
        made.is_current
        and made.about.get("program") == __version__
        and made.about.get("catalogue") == catalogue.digest
        and made.about.get("tz_us") == (None if tz_us is None else str(tz_us))
    )


def _is_longer(path: Path, was: Was) -> bool:
    """Whether a file shows by its size alone that it grew."""
    size = plain_size(path)
    return size is not None and size > was.size


def _compare(before: Mapping[str, Was], evidence: Evidence) -> tuple[list[Change], dict[str, tuple[str, ...]]]:
    """What became of each source, and files to read too because they hold bytes that are lost from their place."""
    sources = evidence.sources
    now = {one.name: one for one in sources}
    cursors = evidence.ownership.cursors()
    changes: list[Change] = []
    moved: dict[str, tuple[str, ...]] = {}
    for name, was in before.items():
        source = now.get(name)
        if was.cursors is not None:
            changes.extend(_of_journal(name, was, was.cursors - cursors, source))
            continue
        if source is not None and _begins_with(source, was):
            if source.digest.size > was.size:
                words = f"grew by {source.digest.size - was.size} bytes"
                begun = f"; read on from byte {source.begun.offset}" if source.begun.offset else ""
                changes.append(Change(name, "grown", words + begun))
            continue
        if source is not None and source.format in IN_PLACE:
            changes.append(Change(name, "grown", f"was written to in place: {source.digest.size} bytes now"))
            continue
        elsewhere = next((one for one in sources if one.name != name and _begins_with(one, was)), None)
        if elsewhere is not None:
            changes.append(Change(name, "moved", f"was rotated or renamed: its bytes are in {elsewhere.name}"))
            continue
        if was.size == 0:
            continue
        sibling = _sibling(Path(name), was)
        if sibling is not None:
            moved[name] = (*moved.get(name, ()), sibling)
        changes.append(Change(name, "lost", _how_lost(source, was)))
    changes.extend(
        Change(name, "new", f"is new: {source.digest.size} bytes")
        for name, source in now.items()
        if name not in before and before
    )
    return changes, moved


def _of_journal(name: str, was: Was, missing: frozenset[str | None], source: Source | None) -> Iterator[Change]:
    """What became of a native journal: its entries may have gone to another file, and that is no loss."""
    if missing:
        lines = f"{len(missing)} of the lines that were read from it"
        yield Change(name, "lost", f"has lost {lines}: journals are vacuumed by age and size")
    elif source is None:
        yield Change(name, "moved", "was rotated: all lines that were read from it are in other journals")
    elif source.digest.root != was.root:
        yield Change(name, "grown", f"was written to: it has {source.digest.size} bytes")


def _how_lost(source: Source | None, was: Was) -> str:
    if source is None:
        return "is not there any more"
    errors = [one.what for one in source.problems if one.severity == "error"]
    if errors:
        return errors[0]
    if source.digest.size < was.size:
        return f"was truncated from {was.size} to {source.digest.size} bytes"
    return "was replaced: it begins with other bytes than it did"


def _begins_with(source: Source, was: Was) -> bool:
    """Whether a source holds at its beginning all that another one held."""
    if source.digest.size < was.size or was.size == 0:
        return source.digest.size == was.size
    if source.digest.size == was.size:
        return source.digest.root == was.root
    whole, rest = divmod(was.size, CHUNK)
    if source.digest.chunks[:whole] != list(was.chunks[:whole]):
        return False
    return (
        not rest or hashlib.sha256(stretch(Path(source.name), was.size - rest, was.size)).hexdigest() == was.chunks[-1]
    )


def _prefix_root(path: Path, size: int) -> str:
    """Root digest of the first bytes of a file."""
    digest = Digest()
    for piece in contents(path):
        digest.update(memoryview(piece)[: size - digest.size])
        if digest.size >= size:
            break
    digest.close()
    return digest.root


def _sibling(lost: Path, was: Was) -> str | None:
    """A file beside a lost one, named after it, that begins with its bytes: what rotation leaves."""
    try:
        beside = sorted(one for one in lost.parent.iterdir() if one.name.startswith(lost.stem) and one != lost)
    except OSError:
        return None
    for path in beside[:SIBLINGS]:
        if path.is_file() and _prefix_root(path, was.size) == was.root:
            return str(path)
    return None
