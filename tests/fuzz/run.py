"""Fuzz everything that reads what others wrote: python tests/fuzz/run.py --seconds N [--target T] [--seed S].

Inputs are changed at random from those in the corpus; what meets something new (a format, a pattern, a rule of
ownership, a message) is kept as a further beginning. Each input that breaks a promise is written to the folder of
crashes, once for each place that broke; docs/fuzzing.md says how to go on from there.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from targets import REGRESSIONS, TARGETS, Target

SLICE_S = 5.0
"""CPU seconds for a target before the next one has its turn."""

POOL = 400
"""Inputs that are kept of what met something new."""

MEMORY = 8 << 30
"""Bytes that may be held: an input that takes more is a finding."""


class TookTooLongError(Exception):
    """An input took more CPU time than its target may."""


class Watched:
    """Run an input under a clock; what it raises is told and not passed on."""

    def __init__(self, most_s: float) -> None:
        self.most_s = most_s
        self.broken: str | None = None
        self.place = ""

    def __enter__(self) -> Self:
        signal.signal(signal.SIGVTALRM, self._stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.most_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if kind is None or not issubclass(kind, Exception):
            return False
        self.broken = "".join(traceback.format_exception(error))
        frames = traceback.extract_tb(trace)
        ours = [one for one in frames if "/forensics/" in one.filename] or list(frames)
        inner = ours[-1] if not issubclass(kind, AssertionError) else frames[-1]
        self.place = f"{kind.__name__}-{Path(inner.filename).stem}-{inner.lineno}"
        return True

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        raise TookTooLongError(f"more than {self.most_s} s")


@dataclass
class State:
    """One target's run so far."""

    target: Target
    pool: list[bytes]
    chance: random.Random
    met: set[str] = field(default_factory=set)
    executions: int = 0
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    crashes: Counter[str] = field(default_factory=Counter)
    begun: int = 0
    """How many of the seeds have been run as they are."""

    def next(self) -> bytes:
        """Another input: the seeds first."""
        if self.begun < len(self.pool) and self.executions == self.begun:
            self.begun += 1
            return self.pool[self.begun - 1]
        return self.target.mutate(self.chance.choice(self.pool), self.chance.choice(self.pool), self.chance)

    def step(self, crashes: Path) -> None:
        """Run one input."""
        data = self.next()
        before = time.process_time()
        watched = Watched(self.target.most_s)
        with watched:
            new = self.target.run(data) - self.met
            self.met |= new
            if new and self.executions >= self.begun:
                if len(self.pool) >= POOL:
                    del self.pool[self.chance.randrange(self.begun, len(self.pool))]
                self.pool.append(data)
        if watched.broken is not None:
            if not self.crashes[watched.place]:
                folder = crashes / self.target.name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / watched.place).write_bytes(data)
                (folder / f"{watched.place}.txt").write_text(watched.broken)
            self.crashes[watched.place] += 1
        took = time.process_time() - before
        self.slowest_s = max(self.slowest_s, took)
        self.cpu_s += took
        self.executions += 1


def main() -> int:
    """Run, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to run")
    parser.add_argument("--executions", type=int, help="how many inputs of each target instead: the same on every run")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path, default=Path("fuzz-crashes"), help="folder for inputs that break")
    parser.add_argument("--statistics", type=Path, help="a file to write the figures to, now and then")
    parser.add_argument("--replay", action="store_true", help="run only the kept inputs, as they are")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    names = asked.target or list(TARGETS)
    states = [
        State(TARGETS[name], [*TARGETS[name].seeds(), *regressions(name)], random.Random(f"{asked.seed} {name}"))  # noqa: S311
        for name in names
    ]
    begun = time.monotonic()
    while time.monotonic() - begun < asked.seconds or asked.executions or asked.replay:
        for state in states:
            most = len(state.pool) if asked.replay else asked.executions
            until = state.cpu_s + SLICE_S * state.target.weight
            while (state.executions < most) if most else state.cpu_s < until:
                state.step(asked.crashes)
                if asked.replay and state.executions >= state.begun == len(state.pool):
                    break
                if not most and time.monotonic() - begun >= asked.seconds:
                    break
            tell(states, asked.statistics, begun)
        if asked.executions or asked.replay:
            break
    print(json.dumps(figures(states, begun), indent=1))
    return int(any(state.crashes for state in states))


def regressions(name: str) -> list[bytes]:
    """Inputs that once broke a target."""
    return [path.read_bytes() for path in sorted((REGRESSIONS / name).glob("*"))]


def figures(states: list[State], begun: float) -> dict[str, Any]:
    """Figures of all targets."""
    return {
        "elapsed_s": round(time.monotonic() - begun),
        "executions": sum(state.executions for state in states),
        "crashes": sum(len(state.crashes) for state in states),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "targets": {
            state.target.name: {
                "executions": state.executions,
                "cpu_s": round(state.cpu_s, 1),
                "features": len(state.met),
                "kept": len(state.pool) - state.begun,
                "slowest_s": round(state.slowest_s, 2),
                "crashes": dict(state.crashes),
            }
            for state in states
        },
    }


def tell(states: list[State], path: Path | None, begun: float) -> None:
    """Write the figures."""
    if path is not None:
        path.write_text(json.dumps(figures(states, begun), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
