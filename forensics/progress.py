"""Show how far a reading has come: on stderr, only at a terminal, and only if it takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

__all__ = ["progress"]

PATIENCE_S = 1.0
"""What is done sooner needs no bar."""


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Give what to call with bytes read and bytes in all; None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = Progress(
        BarColumn(),
        TaskProgressColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    begun = time.monotonic()
    task = bar.add_task("", total=None)

    def on_progress(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - begun > PATIENCE_S:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield on_progress
    finally:
        if bar.live.is_started:
            bar.stop()
