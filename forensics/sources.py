"""Find the sources that a report cites, and say of each whether its bytes are those that were read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from .provenance import Cited
from .records import contents, is_source
from .records.block import CHUNK

__all__ = ["Found", "State", "find_sources", "prefix", "roots"]


class State(StrEnum):
    """What a check of a number, a line or a source comes to."""

    VERIFIED = "verified"
    TAMPERED = "tampered"
    UNVERIFIABLE = "unverifiable"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True)
class Found:
    """A cited source, and what became of it."""

    cited: Cited
    state: State
    why: str
    path: Path | None = None
    grown: bool = False


def roots(path: Path, sizes: Iterable[int]) -> tuple[dict[int, str], int]:
    """The roots of a file's digests at some sizes, as if it had ended there; and how far it was read.

    Reading stops one piece behind the largest size: a file that grew may have grown without end.
    """
    wanted = sorted(set(sizes))
    is_bounded = bool(wanted)
    chunks: list[str] = []
    found: dict[int, str] = {}
    open_chunk = bytearray()
    size = 0

    def root() -> str:
        rest = [hashlib.sha256(open_chunk).hexdigest()] if open_chunk else []
        return hashlib.sha256("\n".join([*chunks, *rest]).encode()).hexdigest()

    while wanted and wanted[0] == 0:
        found[wanted.pop(0)] = root()
    for piece in contents(path):
        view = memoryview(piece)
        while view:
            room = CHUNK - len(open_chunk)
            if wanted:
                room = min(room, wanted[0] - size)
            open_chunk += view[:room]
            size += len(view[:room])
            view = view[room:]
            if wanted and size == wanted[0]:
                found[wanted.pop(0)] = root()
            if len(open_chunk) == CHUNK:
                chunks.append(hashlib.sha256(open_chunk).hexdigest())
                open_chunk.clear()
            if is_bounded and not wanted and view:
                return found, size + len(view)
        if is_bounded and not wanted and size > max(found):
            return found, size
    found.setdefault(size, root())
    return found, size


def prefix(path: Path, size: int) -> Iterator[bytes]:
    """The first bytes of a file's content."""
    left = size
    for piece in contents(path):
        yield piece[:left]
        left -= len(piece[:left])
        if not left:
            return


def find_sources(cited: Sequence[Cited], folder: Path | None, beside: Path) -> list[Found]:
    """Look for each source under its name, and in a folder by its bytes too.

    Args:
        cited: The sources of a report.
        folder: Where to look instead of where they were, if told.
        beside: The folder of the report.
    """
    index = _Index(folder, cited) if folder is not None else None
    return [_find(one, folder, beside, index) for one in cited]


class _Index:
    """The files of a folder by what is in them."""

    def __init__(self, folder: Path, cited: Sequence[Cited]) -> None:
        self.folder = folder
        self.sizes = {one.size_bytes for one in cited if one.size_bytes is not None}

    @cached_property
    def by_root(self) -> Mapping[tuple[str, int], Path]:
        """Files by root and size; the first in order of names where several are the same."""
        found: dict[tuple[str, int], Path] = {}
        for base, folders, files in os.walk(self.folder):
            folders.sort()
            for file in sorted(files):
                path = Path(base, file)
                if _regular(path):
                    at, _ = roots(path, self.sizes)
                    for size, root in at.items():
                        found.setdefault((root, size), path)
        return found


def _find(cited: Cited, folder: Path | None, beside: Path, index: _Index | None) -> Found:
    names = [folder / cited.name.lstrip("/"), folder / Path(cited.name).name] if folder else [Path(cited.name)]
    outer, mark, inner = cited.name.partition("!")
    if folder is not None and mark:
        names.append(folder / f"{Path(outer).name}!{inner}")
    if folder is None and not Path(cited.name).is_absolute():
        names.append(beside / cited.name)
    differing: Found | None = None
    for path in names:
        if is_source(path):
            found = _compare(cited, path)
            if found.state == State.VERIFIED:
                return found
            differing = differing or found
    if index is not None and cited.size_bytes is not None:
        path_of_same = index.by_root.get((cited.digest, cited.size_bytes))
        if path_of_same is not None:
            return Found(cited, State.VERIFIED, f"found as {path_of_same}", path_of_same, _grown(cited, path_of_same))
    if differing is not None:
        return differing
    where = "it was read from standard input" if cited.name == "-" else "it is not there"
    return Found(cited, State.UNVERIFIABLE, f"{where}; give the folder that holds it with --sources")


def _compare(cited: Cited, path: Path) -> Found:
    sizes = () if cited.size_bytes is None else (cited.size_bytes,)
    at, read = roots(path, sizes)
    size = read if cited.size_bytes is None else cited.size_bytes
    if size not in at:
        return Found(cited, State.TAMPERED, f"it is cut: {read} of {size} bytes are left", path)
    if at[size] != cited.digest:
        return Found(cited, State.TAMPERED, "its bytes are not those that were read", path)
    grown = read > size
    return Found(cited, State.VERIFIED, "it has grown since; what was read is unchanged" if grown else "", path, grown)


def _grown(cited: Cited, path: Path) -> bool:
    return roots(path, (cited.size_bytes or 0,))[1] > (cited.size_bytes or 0)


def _regular(path: Path) -> bool:
    """A regular file: a report must not make us wait at a pipe or read a device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False
