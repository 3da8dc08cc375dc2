"""Print how long a large case takes to answer: each view, and `explain-vram --case` from a cold start.

The case is of one server's journal and its cards' samples: eight loads of two models by turns, each with the requests
that a recorded server (fixtures/) logged, again and again with other tasks, times and figures, and one line in a
hundred that nothing wants. Nothing here is a test: machines differ.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench_ingest import LOG, MB, command, timed

from forensics.opened import open_case
from forensics.query import Limits, lock, run_query

LOADS = 8
BEGIN = datetime(2026, 11, 2, 6, 0, 0, tzinfo=UTC)
PAUSE_S = 40
"""Between the end of a process and the begin of the next."""
SAMPLE_S = 30
"""Between two samples of the cards."""
MODELS = (b"Qwen3.6-27B-Q4_0", b"Qwen3.6-27B-Coder-Q4_0")
CARDS = ("GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a", "GPU-e4bfb2d8-a412-9f57-6e61-65fa9d21d6fe")
HELD_MIB = ((15012, 15026), (17778, 17804))
"""By card: as the recorded server held when it was ready, and when it had served."""
VIEW_MS, COMMAND_MS = 200, 500

Template = tuple[int, bytes, tuple[str, ...]]
"""Clock in µs, the line after it as a format, and what goes into it."""


def clock_us(text: bytes) -> int:
    """Read the server's own clock: minutes, seconds, milliseconds, microseconds."""
    minutes, seconds, milli, micro = map(int, text.split(b"."))
    return ((minutes * 60 + seconds) * 1000 + milli) * 1000 + micro


def templates(lines: list[bytes]) -> list[Template]:
    """The lines of one or more requests, with their tasks and figures left open."""
    found: list[Template] = []
    at = counted = 0
    for line in lines:
        if line[:1].isdigit():
            at, line = clock_us(line.split(b" ", 1)[0]), line.split(b" ", 1)[1]  # noqa: PLW2901
        fields: list[str] = []

        def opened(pattern: bytes, name: str, fmt: bytes, text: bytes, fields: list[str] = fields) -> bytes:
            def one(match: re.Match[bytes]) -> bytes:
                fields.append(name if name != "task" else f"task{match[1].decode()}")
                return match[0].replace(match[1], b"\0" + fmt)

            return re.sub(pattern, one, text)

        text = line.rstrip(b"\n").replace(b"%", b"%%")
        if b"draft acceptance" in text:
            text = text.split(b"draft acceptance")[0]
            text = opened(rb"task (\d+)", "task", b"d", text)
            text += b"draft acceptance = \0.5f (\0 5d accepted / \0 5d generated), mean len = \0 5.2f"
            fields += ["rate", "accepted", "generated", "mean"]
        elif b" eval time =" in text and b"prompt eval" not in text:
            text = text.split(b"eval time =")[0]
            text = opened(rb"task (\d+)", "task", b"d", text)
            text += b"eval time = \0 10.2f ms / \0 5d tokens (\0 8.2f ms per token, \0 8.2f tokens per second)"
            fields += ["eval_ms", "tokens", "per_token", "per_second"]
        elif b"acc per pos" in text:
            text = opened(rb"task (\d+)", "task", b"d", text.split(b"acc per pos")[0])
            text += b"     acc per pos = (\0.3f, \0.3f, \0.3f, \0.3f)"
            fields += ["rate"] * 4
        elif b"#calls(b,g,a)" in text:
            text = text.split(b"#calls")[0] + (
                b"#calls(b,g,a) = \0 4d \0 6d \0 6d, #gen drafts = \0 6d, #acc drafts = \0 5d, #gen tokens = \0 6d, "
                b"#acc tokens = \0 5d, #mean acc len = \0.2f, #acc rate/pos = (), dur(b,g,a) = 0.013, 709.108, 0.671 ms"
            )
            counted += 1
            names = ["calls", "drafts", "drafts", "drafts", "drafts", "generated", "accepted", "mean"]
            fields += [f"{name}_of_{counted}" for name in names]
        else:
            text = opened(rb"task (\d+)", "task", b"d", text)
        found.append((at, text.replace(b"\0", b"%"), tuple(fields)))
    return found


def figures(chance: random.Random, task: int, before: Mapping[str, float]) -> dict[str, float]:
    """What the lines of one cycle say, after those of the one before."""
    tokens = chance.randint(40, 400)
    rate = chance.gauss(42.0, 3.0)
    generated = tokens * 4
    accepted = int(generated * min(max(chance.gauss(0.55, 0.1), 0.0), 0.95))
    found: dict[str, float] = {}
    for number in (1, 2):
        for name, more in (("calls", 1), ("drafts", tokens), ("generated", generated), ("accepted", accepted)):
            found[f"{name}_of_{number}"] = before.get(f"{name}_of_2", 0) + number * more
        found[f"mean_of_{number}"] = 1 + found[f"accepted_of_{number}"] / found[f"drafts_of_{number}"]
    return found | {
        "task2": task,
        "task164": task + 162,
        "rate": accepted / generated,
        "accepted": accepted,
        "generated": generated,
        "mean": 1 + 4 * accepted / generated,
        "tokens": tokens,
        "eval_ms": tokens / rate * 1000,
        "per_token": 1000 / rate,
        "per_second": rate,
    }


def unit(at: datetime, text: bytes) -> bytes:
    """What systemd says of the server."""
    return b"%b gpu1 systemd[1]: %b\n" % (at.isoformat(timespec="microseconds").encode(), text)


def journal(lines: int, lives: list[tuple[datetime, datetime, int]]) -> Iterator[bytes]:
    """The lines of all processes; their begins, ends and pids are added to `lives`."""
    recorded = LOG.read_bytes().splitlines(keepends=True)
    begin = next(place for place, line in enumerate(recorded) if b"get_availabl: id  0" in line)
    end = next(place for place, line in enumerate(recorded) if b"cleaning up before exit" in line)
    head, cycle, tail = templates(recorded[:begin]), templates(recorded[begin:end]), templates(recorded[end:])
    span = cycle[-1][0] - cycle[0][0] + 50_000
    chance = random.Random(1)  # noqa: S311  # figures, no secrets
    start, left = BEGIN, lines
    for number in range(LOADS):
        pid = 5000 + 131 * number
        model = MODELS[number % len(MODELS)]
        budget = left // (LOADS - number)
        left -= budget
        seconds: dict[int, bytes] = {}

        def printed(
            at: int, text: bytes, start: datetime = start, pid: int = pid, seconds: dict[int, bytes] = seconds
        ) -> bytes:
            second, micro = divmod(at, 1_000_000)
            if second not in seconds:
                seconds.clear()
                seconds[second] = (start + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S").encode()
            clock = b"%d.%02d.%03d.%03d " % (second // 60, second % 60, micro // 1000, micro % 1000)
            if text[:2] not in {b"I ", b"W ", b"D "}:
                clock = b""
            return b"%b.%06d+00:00 gpu1 llama-server[%d]: %b%b\n" % (seconds[second], micro, pid, clock, text)

        yield unit(start, b"Started llama.service - Model server.")
        used = 0
        for at, text, names in head:
            yield printed(at, (text % ((0,) * len(names))).replace(MODELS[0], model))
            used += 1
        at, task, shift = head[-1][0], 2, 0
        values: dict[str, float] = {}
        while used < budget - len(tail):
            values = figures(chance, task, values)
            for place, text, names in cycle:
                at = place + shift
                yield printed(at, text % tuple(values[name] for name in names))
                used += 1
                if used % 100 == 0:
                    yield printed(at, b"D que    start_loop: waiting for new tasks, nothing to do %d" % at)
                    used += 1
            shift += span
            task += 400
        ended = start + timedelta(microseconds=at)
        if number < LOADS - 1:
            for _, text, _ in tail:
                yield printed(at, text % ())
            yield unit(ended, b"llama.service: Deactivated successfully.")
        lives.append((start, ended, pid))
        start = ended + timedelta(seconds=PAUSE_S)


def samples(lives: list[tuple[datetime, datetime, int]]) -> tuple[str, str]:
    """What nvidia-smi prints of the cards and of their holders meanwhile."""
    cards = [
        "timestamp, index, uuid, name, memory.total [MiB], memory.used [MiB], memory.free [MiB], memory.reserved [MiB]"
    ]
    holders = ["timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]"]
    at = BEGIN - timedelta(seconds=2 * SAMPLE_S)
    while at < lives[-1][1]:
        life = next((one for one in lives if one[0] + timedelta(seconds=11) <= at < one[1]), None)
        for index, uuid in enumerate(CARDS):
            ready, served = HELD_MIB[index]
            used = 0 if life is None else ready if at < life[0] + timedelta(seconds=60) else served
            stamp = at.strftime("%Y/%m/%d %H:%M:%S.130")
            shown = used + 13 if used else 0
            cards.append(
                f"{stamp}, {index}, {uuid}, NVIDIA H200, 143771 MiB, {shown} MiB, {143156 - shown} MiB, 616 MiB"
            )
            if life is not None:
                holders.append(f"{stamp}, {uuid}, {life[2]}, /usr/local/bin/llama-server, {used} MiB")
        at += timedelta(seconds=SAMPLE_S)
    return "\n".join(cards) + "\n", "\n".join(holders) + "\n"


def make(folder: Path, lines: int) -> None:
    """Write journal and samples."""
    folder.mkdir(parents=True, exist_ok=True)
    lives: list[tuple[datetime, datetime, int]] = []
    with (folder / "journal.log").open("wb", buffering=1 << 20) as file:
        file.writelines(journal(lines, lives))
    cards, holders = samples(lives)
    (folder / "gpu.csv").write_text(cards)
    (folder / "apps.csv").write_text(holders)


def views(case: Path) -> list[tuple[str, float, float, int]]:
    """Name, first and best time in ms, and rows that are given, of each view as `forensics query NAME` asks it."""
    opened = open_case(case)
    limits = Limits(rows=1000, seconds_s=600, memory_bytes=8 << 30)
    lock(opened.connection, limits)
    found: list[tuple[str, float, float, int]] = []
    for one in opened.questions:
        if one.parameters is not None:
            continue
        taken: list[float] = []
        for _ in range(3):
            begin = time.perf_counter()
            rows = len(run_query(opened, one.name, limits).rows)
            taken.append((time.perf_counter() - begin) * 1000)
            if taken[0] > 20 * VIEW_MS:
                break
        found.append((one.name, taken[0], min(taken), rows))
    return found


def main() -> None:
    """Make a case, ask it everything, print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000, help="lines of the journal")
    parser.add_argument("--keep", type=Path, help="folder for log and case, which are used again if they are there")
    parser.add_argument("--all", action="store_true", help="print every view, not only the slowest thirty")
    chosen = parser.parse_args()
    folder = chosen.keep or Path(tempfile.mkdtemp())
    case = folder / "bench.case"
    inputs = [folder / name for name in ("journal.log", "gpu.csv", "apps.csv")]
    try:
        if not all(one.exists() for one in inputs):
            make(folder, chosen.lines)
        if not case.exists():
            size = sum(one.stat().st_size for one in inputs) / MB
            most = 0
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.perf_counter()
            most = command(inputs, case)
            wall = time.perf_counter() - begin
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"ingest of {size:.0f} MB: {wall:.0f} s, {cpu:.0f} s of CPU, RssAnon at most {most / 1024:.0f} MiB")
        print(f"case of {case.stat().st_size / MB:.0f} MB")
        asked = [sys.executable, "-m", "forensics.cli", "explain-vram", "--case", str(case)]
        wall, cpu = timed(lambda: subprocess.run(asked, check=False, capture_output=True), 5)
        print(f"explain-vram --case: {wall * 1000:.0f} ms, {cpu * 1000:.0f} of CPU (goal {COMMAND_MS})")
        times = sorted(views(case), key=lambda one: -one[2])
        print(f"{sum(one[2] > VIEW_MS for one in times)} of {len(times)} views take over {VIEW_MS} ms")
        print(f"{'view':28} {'first, ms':>10} {'best, ms':>10} {'rows':>6}")
        for name, first, best, rows in times if chosen.all else times[:30]:
            print(f"{name:28} {first:10.0f} {best:10.0f} {rows:6}")
    finally:
        if chosen.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
