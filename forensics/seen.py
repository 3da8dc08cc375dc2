"""Remember which large files were found whole, so that each is read through once and not whenever it is opened.

What is remembered is what the system says of the file: device, inode, size and the times of its last changes. Whatever
writes to it afterwards gives it another time, which nobody but the system sets (POSIX, st_ctim).
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["LARGE", "TICK_S", "is_known", "remember"]

LARGE = 4 * 1024 * 1024
"""Bytes from which on it takes longer to read a file than to look it up."""

TICK_S = 0.02
"""What is written twice within a tick of the system's clock has the same time: 10 ms where HZ is 100."""


def remember(path: Path, digest: str) -> None:
    """Note that a file is whole and has a digest; nothing is noted of one that was written to just now.

    Args:
        path: The file.
        digest: Of its content, as it was read.
    """
    with suppress(OSError):
        state = path.stat()
        if state.st_size < LARGE or time.time() - state.st_ctime < TICK_S:
            return
        note = _note(path)
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = note.with_name(f"{note.name}.{os.getpid()}")
        beside.write_text(_state(state, digest), "ascii")
        beside.replace(note)


def is_known(path: Path, digest: str) -> bool:
    """Whether a file is as it was when it was found to be whole and to have a digest."""
    try:
        return _note(path).read_text("ascii") == _state(path.stat(), digest)
    except (OSError, UnicodeDecodeError):
        return False


def _note(path: Path) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    return Path(home, "forensics", f"whole-{name}")


def _state(state: os.stat_result, digest: str) -> str:
    return f"{state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {digest}\n"
