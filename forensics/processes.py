"""Servers that run on this machine, whoever started them, and where what they print goes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .catalogue import Catalogue

__all__ = ["Running", "listening", "running"]

CONTAINER = re.compile(r"(docker|libpod|crio|cri-containerd)[-/](?:conmon-)?([0-9a-f]{64})")
"""A container's engine and id, as the control group of its processes names it."""

DOCKER_LOGS = "var/lib/docker/containers"


@dataclass(frozen=True)
class Running:
    """A process of a known program that no process of the same kind started.

    `where` is `file`, `journal`, `pipe`, `terminal`, `nowhere` or `hidden` (it may not be looked at). `output` is a
    file that can be read for what it printed, under a name that stays when the file is renamed or removed.
    """

    pid: int
    programs: tuple[str, ...]
    where: str
    output: Path | None = None
    engine: str | None = None
    container: str | None = None
    ports: tuple[int, ...] = ()
    """Where it listens, as far as that may be seen."""


def running(catalogue: Catalogue, root: Path = Path("/")) -> list[Running]:
    """Processes of programs that the catalogue knows, by pid, without the children of others among them.

    Args:
        catalogue: Programs, with the names of their processes.
        root: Where the machine's file system is.
    """
    proc = root / "proc"
    found: dict[int, tuple[str, ...]] = {}
    parents: dict[int, int] = {}
    for folder in sorted((one for one in _entries(proc) if one.name.isdigit()), key=lambda one: int(one.name)):
        pid = int(folder.name)
        parents[pid] = _parent(folder)
        names = set(_names(folder))
        programs = tuple(
            program.name
            for program in catalogue.programs
            if program.process_names
            and any(name == program.name or any(one.search(name) for one in program.process_names) for name in names)
        )
        if programs and pid != os.getpid():
            found[pid] = programs
    ports = listening(root) or {}
    return [
        replace(_output(root, pid, programs), ports=tuple(sorted(_ports(proc / str(pid), ports))))
        for pid, programs in found.items()
        if not any(parent in found for parent in _ancestors(pid, parents))
    ]


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(path: Path) -> bytes:
    """A file of the kernel's, or nothing where the process has gone or may not be looked at."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parent(folder: Path) -> int:
    # The name in brackets may hold anything; what follows the last bracket is state and parent (proc(5)).
    after = _read(folder / "stat").rpartition(b")")[2].split()
    return int(after[1]) if len(after) > 1 and after[1].isdigit() else 0


def _ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    seen = {pid}
    while (pid := parents.get(pid, 0)) and pid not in seen:
        seen.add(pid)
        yield pid


def _names(folder: Path) -> Iterator[str]:
    """What a process is called: by itself, by its command, and by the script or module that an interpreter runs."""
    words = _read(folder / "cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
    if words == [""]:
        return  # the kernel's, or dead and not yet waited for (proc(5))
    yield _read(folder / "comm").decode("utf-8", "replace").rstrip("\n")
    yield Path(words[0]).name
    if Path(words[0]).name.startswith("python") and len(words) > 1:
        if words[1] == "-m" and len(words) > 2:
            yield words[2].partition(".")[0]
        elif not words[1].startswith("-"):
            yield Path(words[1]).name


def listening(root: Path = Path("/")) -> dict[str, int] | None:
    """Ports on which something listens here, by the socket's number, or None if that cannot be read."""
    ports: dict[str, int] = {}
    seen = False
    for name in ("tcp", "tcp6"):
        lines = _read(root / "proc/net" / name).decode("ascii", "replace").splitlines()
        seen = seen or bool(lines)
        for columns in map(str.split, lines[1:]):
            if len(columns) > 9 and columns[3] == "0A":  # proc(5): local address, state, inode
                ports[columns[9]] = int(columns[1].rpartition(":")[2], 16)
    return ports if seen else None


def _ports(folder: Path, ports: Mapping[str, int]) -> set[int]:
    """Those ports that are a process's."""
    found = set()
    for path in _entries(folder / "fd"):
        try:
            number = path.readlink().name.removeprefix("socket:[").removesuffix("]")
        except OSError:
            continue
        if number in ports:
            found.add(ports[number])
    return found


def _output(root: Path, pid: int, programs: tuple[str, ...]) -> Running:
    folder = root / "proc" / str(pid)
    named = CONTAINER.search(_read(folder / "cgroup").decode("utf-8", "replace"))
    engine, container = (named[1], named[2]) if named else (None, None)
    if container is not None:
        kept = root / DOCKER_LOGS / container / f"{container}-json.log"
        if engine == "docker" and os.access(kept, os.R_OK):
            return Running(pid, programs, "file", kept, engine, container)
    where, output = "hidden", None
    for number in ("1", "2"):
        path = folder / "fd" / number
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        where = _where(mode, path)
        if where == "file":
            output = path
            break
    return Running(pid, programs, where, output, engine, container)


def _where(mode: int, path: Path) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISSOCK(mode):
        return "journal"
    if stat.S_ISFIFO(mode):
        return "pipe"
    return "nowhere" if path.resolve().name == "null" else "terminal"
