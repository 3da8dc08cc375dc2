"""A bundle of evidence while it is filled: files with their digests, what could not be read, services found."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .anonymize import Anonymizer
from .errors import UsageError
from .processes import Running

__all__ = ["LOGS", "Bundle", "NotRead", "Ran", "Service", "files_of", "manifest_of", "run", "words"]

TOOL_S = 60.0
"""Longest that a tool may take; an export of a large journal has its own bound."""

LOGS = "logs"
"""Folder of a bundle for what servers printed into files."""


@dataclass(frozen=True)
class NotRead:
    """Something that is not in a bundle: what, why, and how it would be."""

    what: str
    why: str
    remedy: str = ""


@dataclass(frozen=True)
class Service:
    """A service of this machine that a program of the catalogue may be."""

    unit: str
    programs: tuple[str, ...]
    command: str
    ports: tuple[int, ...]


@dataclass
class Bundle:
    """A bundle as it is being filled."""

    folder: Path
    files: list[dict[str, Any]] = field(default_factory=list)
    not_read: list[NotRead] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    servers: Sequence[Running] = ()
    names: Anonymizer | None = None

    def add(self, name: str, content: bytes, what: str) -> None:
        """Put a file into the bundle; what names people and machines is replaced first, if that was asked for."""
        if self.names is not None:
            content = self.names.data(content)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        self.files.append({"name": name, "sha256": digest, "size_bytes": len(content), "what": what})

    def lacks(self, what: str, why: str, remedy: str = "") -> None:
        """Note what could not be read."""
        self.not_read.append(NotRead(what, why, remedy))


@dataclass(frozen=True)
class Ran:
    """What a tool printed."""

    out: bytes
    error: str
    failed: str
    """Why there is nothing, or empty."""


def run(command: Sequence[str], limit_s: float = TOOL_S) -> Ran:
    """Run a tool of the system; that it is missing or fails is an answer too."""
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
    try:
        done = subprocess.run(  # noqa: S603  (our own commands; unit names are checked)
            list(command), capture_output=True, timeout=limit_s, check=False, env=environment, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return Ran(b"", "", f"{command[0]} is not installed")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Ran(b"", "", f"{command[0]} failed: {error}")
    said = done.stderr.decode("utf-8", "replace").strip()
    failed = ""
    if done.returncode and not done.stdout:
        # The first line is the cause, as a rule; what follows from it stands below.
        failed = f"{command[0]} ended with {done.returncode}: {(said.splitlines() or ['no message'])[0].rstrip('.')}"
    return Ran(done.stdout, said, failed)


def files_of(bundle: Bundle) -> Iterator[Path]:
    """The files of a bundle that hold evidence which is read."""
    for entry in bundle.files:
        name = str(entry["name"])
        if name in ("journal.export", "gpu.csv", "apps.csv") or name.startswith(f"{LOGS}/"):
            yield bundle.folder / name


def manifest_of(folder: Path) -> Mapping[str, Any]:
    """The manifest of a bundle.

    Raises:
        UsageError: There is none.
    """
    try:
        found = json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: there is no manifest of a bundle in it") from error
    return dict(found)


def words(not_read: Iterable[NotRead]) -> list[str]:
    """What was not read, a line each."""
    return [f"not read: {one.what}: {one.why}" + (f"; {one.remedy}" if one.remedy else "") for one in not_read]
