"""Give memory back to the system that nothing uses any more."""

from __future__ import annotations

import ctypes
import gc

import pyarrow as pa

__all__ = ["give_back"]


def give_back() -> None:
    """Return what was freed: Arrow keeps pools of it, and glibc what lies below something that is still held.

    Other C libraries have no such call, and need none.
    """
    gc.collect()  # what was walked through refers to itself: processes to their loads, these to them
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
