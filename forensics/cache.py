"""Keep what is made the same way each time and takes long: in the user's cache, or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["kept"]


def kept(name: str, made_of: str, make: Callable[[], bytes]) -> bytes:
    """What `make` makes of some texts, from the cache if it is there and whole.

    Args:
        name: What it is, for whoever looks into the cache.
        made_of: All that it depends on: other texts, other content.
        make: Makes it.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(home, "forensics", f"{name}-{_digest(made_of.encode()).decode()[:16]}")
    try:
        whole = path.read_bytes()
    except OSError:
        whole = b""
    if len(whole) > SIZE and whole[:SIZE] == _digest(whole[SIZE:]):
        return whole[SIZE:]
    made = make()
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.write_bytes(_digest(made) + made)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return made


SIZE = 64


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
