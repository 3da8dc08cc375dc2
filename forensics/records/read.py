"""Read any mix of files, folders and standard input, each by the format that its content shows."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, NamedTuple

from forensics.records.block import Piece, Problem, Source
from forensics.records.block_table import read_block_table
from forensics.records.card_json import read_json_documents
from forensics.records.content import at_least, chain, compression, content, drained, held, is_utf16
from forensics.records.detect import Format, detect
from forensics.records.export import read_export
from forensics.records.exposition import read_exposition
from forensics.records.inside import CONTAINERS, members
from forensics.records.journal_file import MAGIC, Head, head_of
from forensics.records.journal_json import read_journal_json
from forensics.records.journal_native import Seen, outside, read_journal_native
from forensics.records.journal_text import read_journal_text
from forensics.records.journal_verbose import read_journal_verbose
from forensics.records.json_lines import object_of, read_docker_json, read_json_log
from forensics.records.lines import read_text
from forensics.records.narrow import narrowed
from forensics.records.options import HEAD, Options
from forensics.records.prefixed import read_prefixed
from forensics.records.probe_rows import read_probe_rows
from forensics.records.reports import read_report_table, read_requests
from forensics.records.rocm import read_rocm_concise, read_rocm_csv, read_rocm_text
from forensics.records.smi_csv import read_smi_csv
from forensics.records.smi_monitor import read_smi_monitor
from forensics.records.smi_query import read_smi_query, read_smi_xml
from forensics.records.smi_table import read_smi_table
from forensics.records.turn_log import read_turn_log

__all__ = [
    "KEPT",
    "Named",
    "contents",
    "digests",
    "is_inside",
    "is_source",
    "looks",
    "plain_size",
    "read_inputs",
    "readers",
]

Progress = Callable[[int, int], None]


class Named(NamedTuple):
    """A file that is read under another name than its own: a copy that stands for what a report cites."""

    name: str
    path: Path
    modified_us: int | None = None

    def __str__(self) -> str:
        return self.name


class _Input(NamedTuple):
    """A file to read, by the name it is cited under, or what keeps it from being read."""

    name: str
    path: Path | None
    size: int = 0
    modified_us: int | None = None
    problem: Problem | None = None
    journal: Head | None = None


KEPT = frozenset({"case.toml", "expected"})
"""What stands beside the evidence of a recorded case, and says what must come out of it."""

STATELESS = frozenset({"text", "json-log", "docker-json", "cri", "compose", "kubectl", "podman", "docker-times"})
"""Formats of which a line means the same whatever stands before it: reading can begin between two of them."""

CAPTURED = ("versions.json", "nvidia-smi-q-x.json", "units")
"""What stands beside the evidence of a capture, and its manifest."""

_DEEPEST = 2
"""How deep inputs may hold others: an archive, and an archive or text with blocks in it."""

_EXPORT = "export it: journalctl -o export --file=THE_FILE"

_ARCHIVED = 2
"""The state of a journal that nobody writes any more."""


def read_inputs(
    inputs: Sequence[str | Path | Named], on_progress: Progress | None = None, options: Options | None = None
) -> Iterator[Piece | Source]:
    """Yield what each source holds, in order, and then the source itself, complete.

    Native journals take each other's places so that those of one series come in the order of their entries; an entry
    that several of them hold is read once. A source that cannot be used never raises: it comes with a problem of
    severity `error`, and the others go on.

    Args:
        inputs: Files and folders; `-` is standard input. Folders are read whole, in the order of their names.
        on_progress: Called with the bytes read so far and the bytes known to be there.
        options: Bounds and the zone of times that print none.
    """
    options = options or Options()
    found = _in_series(_distinct(item for one in inputs for item in _expand(one, options)))
    last_journal = max((number for number, item in enumerate(found) if item.journal is not None), default=-1)
    seen = Seen()
    total = sum(item.size for item in found)
    done = 0

    def on_read(count: int) -> None:
        nonlocal done
        done += count
        if on_progress is not None:
            on_progress(done, max(total, done))

    for number, item in enumerate(found):
        source = Source(item.name, "unreadable", item.modified_us)
        if item.problem is not None:
            source.problems.append(item.problem)
        elif item.path is None:
            yield from _read(sys.stdin.buffer, source, options, on_read, None, seen)
        elif item.journal is not None and (why := outside(item.journal, options)):
            source.format = "journal-native"
            source.tell("note", f"passed over whole: {why}")
            on_read(item.size)
        else:
            try:
                stream = item.path.open("rb", buffering=0)
            except OSError as error:
                source.problems.append(_unreadable(item.name, error))
            else:
                with stream:
                    yield from _read(stream, source, options, on_read, item.path, seen)
        if number == last_journal:
            _tell_gaps(source, seen, [item.journal for item in found if item.journal is not None])
        yield _finished(source)


def _finished(source: Source) -> Source:
    source.digest.close()
    # In the order of the content, not of the reading: how far ahead that looks is of no interest.
    source.problems.sort(key=lambda problem: (problem.offset is None, problem.offset or 0))
    return source


def _in_series(found: list[_Input]) -> list[_Input]:
    """Order the native journals among the inputs: series by their first entry's time, in each by sequence number."""
    places: list[int] = []
    journals: list[_Input] = []
    for number, item in enumerate(found):
        if item.path is None or item.problem is not None:
            continue
        try:
            if not item.path.is_file():
                continue
            with item.path.open("rb") as stream:
                head = head_of(stream.read(512))
        except OSError:
            continue  # it will be said where it is read
        if isinstance(head, Head):
            places.append(number)
            journals.append(item._replace(journal=head))
    begun: dict[str, int] = {}
    for item in journals:
        assert item.journal is not None
        series = item.journal.series
        begun[series] = min(begun.get(series, item.journal.head_us), item.journal.head_us)

    def order(item: _Input) -> tuple[int, str, int, int]:
        assert item.journal is not None
        head = item.journal
        return begun[head.series], head.series, head.head_seqnum, head.tail_seqnum

    ordered = list(found)
    for place, item in zip(places, sorted(journals, key=order), strict=True):
        ordered[place] = item
    return ordered


def _tell_gaps(source: Source, seen: Seen, heads: list[Head]) -> None:
    for series in seen.series:
        missing, places = seen.gaps(series, [head for head in heads if head.series == series])
        if missing:
            what = f"series {series}: {missing} entries are in none of the journals given, in {places} places"
            source.tell(
                "note", what, "give all journals of the machine, those of users too; else they were lost or vacuumed"
            )


def digests(inputs: Sequence[str | Path], options: Options | None = None) -> Iterator[Source]:
    """Yield the inputs with nothing but their digests, to see whether their bytes are the same as another time.

    What is inside of one has the same bytes if that has; native journals that are passed over whole are so here too.
    """
    options = options or Options()
    for item in _distinct(item for one in inputs for item in _expand(one, options)):
        source = Source(item.name, "unreadable", item.modified_us)
        if item.path is not None and item.problem is None:
            with suppress(OSError), item.path.open("rb", buffering=0) as stream:
                head = head_of(stream.read(512))
                stream.seek(0)
                if not (isinstance(head, Head) and outside(head, options)):
                    drained(content(stream, source, options, lambda _: None))
        source.digest.close()
        yield source


def is_inside(name: str, names: Container[str]) -> bool:
    """Whether a source is inside of another one of those."""
    return any(outer in names for outer in _outer(name))


def looks(inputs: Sequence[str | Path], options: Options | None = None) -> dict[str, tuple[int, ...]]:
    """What the file system says of each source: while that is the same, its bytes have not been written to."""
    found: dict[str, tuple[int, ...]] = {}
    for item in _distinct(item for one in inputs for item in _expand(one, options or Options())):
        try:
            about = item.path.stat() if item.path is not None else None
        except OSError:
            about = None
        found[item.name] = (
            () if about is None else (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        )
    return found


def plain_size(path: Path) -> int | None:
    """Bytes of a file's content, where they can be told without reading it: None where it is packed or turned."""
    try:
        with path.open("rb", buffering=0) as stream:
            about, head = os.fstat(stream.fileno()), stream.read(16)
    except OSError:
        return None
    return about.st_size if stat.S_ISREG(about.st_mode) and not compression(head) and not is_utf16(head) else None


def _distinct(items: Iterable[_Input]) -> list[_Input]:
    """Each path once, where a folder and a file in it were both given."""
    found: dict[str, _Input] = {}
    for item in items:
        key = item.name if item.path is None else os.path.normpath(item.path.absolute())
        found.setdefault(key, item)
    names = {item.name for item in found.values()}
    # What is inside of another input is read with that.
    return [item for item in found.values() if not is_inside(item.name, names)]


def _outer(name: str) -> Iterator[str]:
    at = name.find("!")
    while at >= 0:
        yield name[:at]
        at = name.find("!", at + 1)


def _expand(given: str | Path | Named, options: Options) -> Iterator[_Input]:
    if isinstance(given, Named):
        found = _look(given.path, given.name, inside=True)
        if found is not None:
            yield found if given.modified_us is None else found._replace(modified_us=given.modified_us)
        return
    name = str(given)
    if name == "-":
        yield _Input("-", None)
        return
    first = _look(Path(given), name)
    if first is not None:
        yield first
        return
    errors: list[OSError] = []
    for folder, folders, files in os.walk(given, onerror=errors.append):
        folders.sort()
        kept = _beside(Path(folder), files)
        for file in sorted((*files, *folders)):
            path = Path(folder, file)
            if file in kept:
                if file in files and kept[file]:
                    problem = Problem(str(path), "note", kept[file])
                    yield _Input(str(path), path, problem=problem)
                continue
            if options.skip is not None and options.skip(path):
                continue
            member = _look(path, str(path), inside=True)
            if member is not None:
                yield member
        folders[:] = [one for one in folders if one not in kept]
    for error in errors:
        where = str(error.filename)
        yield _Input(where, None, problem=_unreadable(where, error))


def _beside(folder: Path, files: Sequence[str]) -> Mapping[str, str]:
    """What stands beside evidence in a folder and is none, and what is to be said of it."""
    if "case.toml" in files:
        return dict.fromkeys(KEPT, "neither a case nor what it expects is read as evidence")
    if "manifest.json" in files:
        try:
            with Path(folder, "manifest.json").open("rb") as file:
                manifest = object_of(file.read(HEAD)) or {}
        except OSError:
            return {}
        if str(manifest.get("schema")).startswith("forensics.capture/"):
            entries = manifest.get("not_read")
            lacks = (
                [str(one.get("what")) for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
            )
            what = f"the capture lacks, for the reasons in it: {', '.join(dict.fromkeys(lacks))}" if lacks else ""
            return {**dict.fromkeys(CAPTURED, ""), "manifest.json": what}
    return {}


def _look(path: Path, name: str, *, inside: bool = False) -> _Input | None:
    """Look at a path; None for a folder, which is walked through. Inside a folder only regular files are opened."""
    try:
        about = path.stat()
        linked = stat.S_ISLNK(path.lstat().st_mode)
    except OSError as error:
        return _Input(name, path, problem=_unreadable(name, error))
    problem = None
    if stat.S_ISDIR(about.st_mode):
        if not (inside and linked):
            return None
        problem = Problem(name, "note", "a link to a folder is not followed", "give that folder itself")
    elif inside and not stat.S_ISREG(about.st_mode):
        problem = Problem(name, "note", "it is no regular file and was passed over")
    return _Input(name, path, about.st_size if problem is None else 0, about.st_mtime_ns // 1000, problem)


def _unreadable(name: str, error: OSError) -> Problem:
    what = (error.strerror or str(error)).lower()
    return Problem(name, "error", f"it cannot be read: {what}", "check the path and its permissions")


def _read(
    stream: BinaryIO,
    source: Source,
    options: Options,
    on_read: Callable[[int], None],
    path: Path | None,
    seen: Seen,
    depth: int = 0,
) -> Iterator[Piece | Source]:
    known = None if path is None else options.known.get(source.name)
    if known is not None:
        source.format, source.begun, source.records, source.plain = known.format, known.seam, known.records, True
        source.digest.go_on(known.chunks, known.seam.taken)
        yield from readers(Format(known.format), source, content(stream, source, options, on_read), options, None)
        return
    pieces = content(stream, source, options, on_read)
    head = at_least(pieces, HEAD)
    rest = next(pieces, b"")
    found = detect(head[:HEAD], whole=not rest and len(head) <= HEAD)
    source.format = found.name
    source.plain = source.plain and source.name == str(path) and found.name in STATELESS
    pieces = chain(head, chain(rest, pieces))
    if found.severity:
        _set_aside(source, found)
        drained(pieces)
        return
    if found.name in CONTAINERS:
        if depth < _DEEPEST:
            yield from _read_inside(found.name, source, pieces, options, path, seen, depth)
            return
        what = f"set aside: it is a {found.name} inside of others, {depth} deep"
        source.tell("loss", what, "unpack it and give what it holds")
        drained(pieces)
        return
    if found.name == "journal-native":
        yield from _read_native(source, head, pieces, options, path, seen)
        if not source.records and not source.problems and not options.narrows:
            source.tell("note", "the journal holds no message")
        return
    again = None if path is None or not path.is_file() else lambda: contents(path, options)
    read = readers(found, source, pieces, options, again)
    yield from narrowed(read, source, options) if options.narrows and found.name.startswith("journal-") else read
    if not source.records and not source.problems:
        what = f"it looks like {found.name}, and nothing in it could be read as that"
        source.tell("note", what, "check whether it was cut or changed")


def _read_inside(
    kind: str,
    source: Source,
    pieces: Iterator[bytes],
    options: Options,
    path: Path | None,
    seen: Seen,
    depth: int,
) -> Iterator[Piece | Source]:
    """Yield what each member of a container holds, and then the member, as a source of its own."""
    plain = path if path is not None and _begins(path, b"PK") else None
    for member in members(kind, source, pieces, options, plain):
        modified = source.modified_us if member.modified_us is None else member.modified_us
        inner = Source(f"{source.name}!{member.name}", "unreadable", modified)
        if member.stream is None:
            inner.tell("note", member.why)
        else:
            yield from _read(member.stream, inner, options, lambda _: None, None, seen, depth + 1)
        yield _finished(inner)


def _read_native(
    source: Source, start: bytes, pieces: Iterator[bytes], options: Options, path: Path | None, seen: Seen
) -> Iterator[Piece]:
    """Read a journal from a map of its file where nobody writes it any more, else from memory.

    A map of a file that gets shorter ends the process.
    """
    head = head_of(start)
    if isinstance(head, str):
        source.tell("error", f"set aside: {head}", _EXPORT)
        drained(pieces)
        return
    buffer: bytearray | mmap
    if path is not None and head.state == _ARCHIVED and _begins(path, MAGIC):
        drained(pieces)
        with path.open("rb") as stream:
            buffer = mmap(stream.fileno(), 0, access=ACCESS_READ)
    else:
        buffer, beyond = held(pieces, options.held_bytes)
        if beyond:
            what = f"the journal was cut at {options.held_bytes} bytes; {beyond} were not read"
            source.tell("loss", what, _EXPORT, options.held_bytes)
    yield from read_journal_native(source, buffer, head, options, seen)


def _begins(path: Path, magic: bytes) -> bool:
    """Whether a file's own bytes, not those that it holds compressed, begin with some."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(magic)) == magic


def contents(path: Path, options: Options | None = None) -> Iterator[bytes]:
    """Yield the bytes that offsets and digests of a source address: decompressed, UTF-16 as UTF-8.

    A path may name what is inside of a file, as sources do: `archive!member`. It ends where reading fails, without a
    word: `read_inputs` has said why.
    """
    options = options or Options()
    base, inner = _split(path)
    try:
        stream = base.open("rb", buffering=0)
    except OSError:
        return
    with stream:
        pieces = content(stream, Source(str(path), "contents"), options, lambda _: None)
        yield from _contents(pieces, inner, options, base)


def stretch(path: Path, begin: int, end: int) -> bytes:
    """The bytes of a source from one offset to another; fewer where it ends before."""
    if plain_size(path) is not None:
        with path.open("rb", buffering=0) as stream:
            stream.seek(begin)
            return stream.read(end - begin)
    found = bytearray()
    at = 0
    for piece in contents(path):
        found += piece[max(begin - at, 0) : max(end - at, 0)]
        at += len(piece)
        if at >= end:
            break
    return bytes(found)


def _contents(pieces: Iterator[bytes], inner: str, options: Options, path: Path | None) -> Iterator[bytes]:
    if not inner:
        yield from pieces
        return
    source = Source(inner, "contents")
    head = at_least(pieces, HEAD)
    rest = next(pieces, b"")
    found = detect(head[:HEAD], whole=not rest and len(head) <= HEAD)
    if found.name not in CONTAINERS:
        return
    plain = path if path is not None and _begins(path, b"PK") else None
    for member in members(found.name, source, chain(head, chain(rest, pieces)), options, plain):
        if member.stream is not None and (inner == member.name or inner.startswith(f"{member.name}!")):
            deeper = content(member.stream, source, options, lambda _: None)
            yield from _contents(deeper, inner[len(member.name) + 1 :], options, None)
            return


def _split(path: Path) -> tuple[Path, str]:
    """The file that a source's path begins with, and the name of what is inside of it; empty for the file itself."""
    name = str(path)
    at = name.find("!")
    while at >= 0 and not path.is_file():
        if Path(name[:at]).is_file():
            return Path(name[:at]), name[at + 1 :]
        at = name.find("!", at + 1)
    return path, ""


def is_source(path: Path) -> bool:
    """Whether a path names a regular file, or what may be inside of one."""
    base, _ = _split(path)
    try:
        return stat.S_ISREG(base.stat().st_mode)
    except (OSError, ValueError):
        return False


def _set_aside(source: Source, found: Format) -> None:
    if any(problem.severity == "error" for problem in source.problems):
        return  # why nothing came out has been said
    source.tell(found.severity, f"set aside: {found.why}", found.remedy)


def readers(
    found: Format,
    source: Source,
    pieces: Iterator[bytes],
    options: Options,
    again: Callable[[], Iterator[bytes]] | None,
) -> Iterator[Piece]:
    """Yield what a source of some format holds; `again` gives its bytes anew, where a reader has to look ahead."""
    match found.name:
        case "journal-export":
            yield from read_export(source, pieces, options)
        case "journal-json":
            yield from read_journal_json(source, pieces, options)
        case "journal-verbose":
            yield from read_journal_verbose(source, pieces, options)
        case "docker-json":
            yield from read_docker_json(source, pieces, options)
        case "json-log":
            yield from read_json_log(source, pieces, options)
        case "cri" | "compose" | "kubectl" | "podman" | "docker-times" | "heads":
            yield from read_prefixed(source, pieces, options, found.name)
        case "turn-log":
            yield from read_turn_log(source, pieces, options)
        case "probe-jsonl":
            yield from read_probe_rows(source, pieces, options)
        case "block-table":
            yield from read_block_table(source, pieces, options)
        case "nvidia-smi-table":
            yield from read_smi_table(source, pieces, options)
        case "nvidia-smi-csv":
            yield from read_smi_csv(source, pieces, options, found.columns)
        case "nvidia-smi-query":
            yield from read_smi_query(source, pieces, options)
        case "nvidia-smi-xml":
            yield from read_smi_xml(source, pieces, options)
        case "nvidia-smi-monitor":
            yield from read_smi_monitor(source, pieces, options)
        case "rocm-smi-text":
            yield from read_rocm_text(source, pieces, options)
        case "rocm-smi-concise":
            yield from read_rocm_concise(source, pieces, options)
        case "rocm-smi-csv":
            yield from read_rocm_csv(source, pieces, options)
        case "metrics":
            yield from read_exposition(source, pieces, options)
        case "json-capture":
            yield from read_json_documents(source, pieces, options)
        case "loaded-models":
            yield from read_report_table(source, pieces, options)
        case "request-jsonl":
            yield from read_requests(source, pieces, options)
        case name if name.startswith(("journal-short", "dmesg")):
            yield from read_journal_text(source, pieces, options, name, again)
        case _:
            yield from read_text(source, pieces, options.line_bytes)
