"""The same lines through two collectors are one stream: counted once, cited twice; two servers never become one."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from forensics.case import Evidence, read_evidence, store
from forensics.catalogue import Catalogue, load_catalogue
from forensics.explain import document
from forensics.opened import ready
from forensics.question import load_questions
from forensics.report_json import render_json
from forensics.scan import Line

FIXTURES = Path(__file__).parent.parent / "fixtures"

BEGIN_US = 1_796_036_851_000_000
"""2026-11-30 11:07:31 UTC."""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


def server(port: int = 8080, shift: int = 0, size: float = 4096.0) -> list[str]:
    """A load, thirty requests and an end, as a server with a clock before its lines prints them."""
    lines = [
        "build_info: b11434-e920c523e",
        "srv    load_model: loading model '/models/a.gguf'",
        "llama_context: constructing llama_context",
        f"load_tensors:        CUDA0 model buffer size = {size:9.2f} MiB",
        "llama_kv_cache:      CUDA0 KV buffer size =  512.00 MiB",
        "sched_reserve:      CUDA0 compute buffer size =  300.00 MiB",
        "srv    load_model: initializing slots, n_slots = 1",
        f"main: server is listening on http://127.0.0.1:{port}",
    ]
    for number in range(30):
        lines.append(
            f"slot print_timing: id  0 | task {number} | prompt eval time = {100 + shift + number}.25 ms / 9 tokens "
            "(    1.00 ms per token,  1000.00 tokens per second)"
        )
        lines.append(
            f"slot      release: id  0 | task {number} | stop processing: n_tokens = {number + shift}, truncated = 0"
        )
    return [f"0.{10 + at // 60:02}.{at % 60:02}0.{100 + shift:03} I {line}" for at, line in enumerate(lines)]


def journal(lines: list[str], unit: str = "a.service", pid: int = 42, first: int = 1) -> bytes:
    """The lines as an export of entries that journald received 50 ms apart."""
    out = bytearray()
    for number, line in enumerate(lines, first):
        head = f"__CURSOR=s=ab;i={number:x};b=b1\n__REALTIME_TIMESTAMP={BEGIN_US + number * 50_000}\n"
        head += f"_HOSTNAME=box\n_BOOT_ID=b1\n_TRANSPORT=stdout\n_PID={pid}\n_SYSTEMD_UNIT={unit}\n"
        out += f"{head}_SYSTEMD_INVOCATION_ID=i{pid}\nSYSLOG_IDENTIFIER=server\nMESSAGE={line}\n\n".encode()
    return bytes(out)


def text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def docker(lines: list[str], late_us: int = 0) -> bytes:
    """The lines as the json-file driver keeps them."""
    out = ""
    for number, line in enumerate(lines, 1):
        moment = datetime(2026, 11, 30, 11, 7, 31, tzinfo=UTC) + timedelta(microseconds=number * 50_000 + late_us)
        stamp = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
        out += json.dumps({"log": f"{line}\n", "stream": "stderr", "time": stamp}) + "\n"
    return out.encode()


def read(folder: Path, catalogue: Catalogue, **files: bytes) -> Evidence:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return read_evidence([folder], catalogue)


def owned(evidence: Evidence) -> list[Line]:
    return [one.line for one in evidence.ownership.owned]


def sources(lines: list[Line]) -> set[str]:
    return {Path(line.source).name for line in lines}


def notes(evidence: Evidence) -> list[str]:
    return [
        problem.what.replace(str(Path(source.name).parent), "F")
        for source in evidence.sources
        for problem in source.problems
        if "counted once" in problem.what or "set aside" in problem.what
    ]


def test_a_log_file_and_the_journal_of_the_same_server_are_one(tmp_path: Path, catalogue: Catalogue) -> None:
    alone = (
        read_evidence([(tmp_path / "j"), *[]], catalogue) if (tmp_path / "j").write_bytes(journal(server())) else None
    )
    assert alone is not None
    both = read(tmp_path, catalogue, k=text(server()))
    assert [line.text for line in owned(both)] == [line.text for line in owned(alone)]
    assert sources(owned(both)) == {"j"}
    assert {Path(line.twin.source).name for line in owned(both) if line.twin} == {"k"}
    assert all(line.twin is not None for line in owned(both))
    assert len(both.ownership.loads) == 1
    assert notes(both) == [f"{len(owned(both))} lines are the same as in F/j: counted once"]


def test_a_twin_is_cited_by_its_own_place(tmp_path: Path, catalogue: Catalogue) -> None:
    both = read(tmp_path, catalogue, j=journal(server()), k=text(server()))
    content = text(server())
    for line in owned(both):
        assert line.twin is not None
        assert content[line.twin.offset : line.twin.offset + line.twin.length].decode() == line.text


def test_what_docker_keeps_and_what_it_prints_are_one(tmp_path: Path, catalogue: Catalogue) -> None:
    both = read(tmp_path, catalogue, a=text(server()), b=docker(server()))
    assert sources(owned(both)) == {"b"}  # it has times
    assert len(both.ownership.loads) == 1


def test_a_compressed_copy_of_a_log_is_one_with_it(tmp_path: Path, catalogue: Catalogue) -> None:
    both = read(tmp_path, catalogue, a=text(server()), b=gzip.compress(text(server())))
    assert (sources(owned(both)), len(both.ownership.loads)) == ({"a"}, 1)


def test_entries_with_the_same_cursor_are_one(tmp_path: Path, catalogue: Catalogue) -> None:
    lines = server()
    both = read(tmp_path, catalogue, a=journal(lines[:40]), b=journal(lines[20:], first=21))
    assert [line.text for line in owned(both)] == lines
    assert len(both.ownership.loads) == 1


def test_a_few_lines_that_only_the_log_has_are_set_aside_and_told(tmp_path: Path, catalogue: Catalogue) -> None:
    lines = server()
    both = read(tmp_path, catalogue, j=journal(lines[:30] + lines[31:]), k=text(lines))
    assert sources(owned(both)) == {"j"}
    assert notes(both)[1] == "1 lines among them are not in F/j: set aside"


def test_a_journal_that_begins_late_gives_its_times_to_the_log_that_is_whole(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    lines = server()
    both = read(tmp_path, catalogue, j=journal(lines[8:], first=9), k=text(lines))
    found = owned(both)
    assert [line.text for line in found] == lines
    assert sources(found) == {"k"}
    assert [line.time_us for line in found[8:]] == [BEGIN_US + number * 50_000 for number in range(9, len(lines) + 1)]
    assert len(both.ownership.loads) == 1


def test_older_runs_in_a_log_stay_beside_the_journal_of_the_last(tmp_path: Path, catalogue: Catalogue) -> None:
    old, new = server(shift=500), server()
    both = read(tmp_path, catalogue, j=journal(new), k=text(old + new))
    assert [(Path(line.source).name, line.text) for line in owned(both) if line.source.endswith("k")] == [
        ("k", line) for line in old
    ]
    assert len(both.ownership.loads) == 2


def test_two_servers_that_load_the_same_model_stay_two(tmp_path: Path, catalogue: Catalogue) -> None:
    both = read(tmp_path, catalogue, j=journal(server()), k=text(server(port=8081, shift=7)))
    assert len(both.ownership.loads) == 2
    assert notes(both) == []


def test_two_logs_without_any_clock_or_duration_stay_two(tmp_path: Path, catalogue: Catalogue) -> None:
    plain = [line.split(" I ", 1)[1] for line in server() if "timing" not in line]
    both = read(tmp_path, catalogue, a=text(plain), b=text([*plain, "and another line"]))
    assert len(both.ownership.loads) == 2


def test_two_units_that_the_journal_vouches_for_stay_two(tmp_path: Path, catalogue: Catalogue) -> None:
    other = journal(server(), unit="b.service", pid=43).replace(b"s=ab", b"s=cd")
    both = read(tmp_path, catalogue, a=journal(server()), b=other)
    assert len(both.ownership.loads) == 2


def test_equal_lines_at_other_times_stay_two(tmp_path: Path, catalogue: Catalogue) -> None:
    both = read(tmp_path, catalogue, j=journal(server()), k=docker(server(), late_us=400_000_000))
    assert len(both.ownership.loads) == 2


def test_rotated_journals_are_one_stream_in_the_order_of_their_numbers_whatever_the_clock(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    lines = server()
    back = journal(lines[5:], first=6).replace(b"TIMESTAMP=1796", b"TIMESTAMP=1795")  # the clock was set back
    (tmp_path / "x").write_bytes(journal(lines))
    alone = read_evidence([tmp_path / "x"], catalogue)
    (tmp_path / "x").unlink()
    both = read(tmp_path, catalogue, a=journal(lines[:5]), b=back)
    assert len(both.ownership.loads) == len(alone.ownership.loads) == 1
    assert [item.size_bytes for item in both.ownership.loads[0].items] == [
        item.size_bytes for item in alone.ownership.loads[0].items
    ]


def busy(missing: int | None = None) -> list[str]:
    """A server that says that it is idle between its other lines, always with the same words; a line left out."""
    idle = "0.10.000.000 I srv  update_slots: all slots are idle"
    found = [idle, idle]
    for number, line in enumerate(server()):
        found += [line, idle, idle] if number % 2 else [line, idle]
    return [line for number, line in enumerate(found) if number != missing]


def test_lines_that_repeat_are_paired_by_their_neighbours(tmp_path: Path, catalogue: Catalogue) -> None:
    both = read(tmp_path, catalogue, j=journal(busy()), k=text(busy()))
    assert len(owned(both)) == len(busy())
    assert all(line.twin is not None for line in owned(both))
    assert notes(both) == [f"{len(busy())} lines are the same as in F/j: counted once"]


def test_of_lines_that_repeat_one_that_a_collector_lost_is_one_line_less(tmp_path: Path, catalogue: Catalogue) -> None:
    whole = busy()
    both = read(tmp_path, catalogue, j=journal(whole), k=text(busy(missing=whole.index(server()[9]))))
    assert [line.text for line in owned(both)] == whole
    assert [line.text for line in owned(both) if line.twin is None] == [server()[9]]


def test_lines_that_differ_in_a_number_between_equal_ones_are_of_two_servers(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    other = [line.replace("n_tokens = 1", "n_tokens = 7") if "release" in line else line for line in server()]
    both = read(tmp_path, catalogue, j=journal(server()), k=text(other))
    assert len(both.ownership.loads) == 2
    assert notes(both) == []


def test_equal_lines_of_which_many_came_at_other_times_are_of_two_servers(tmp_path: Path, catalogue: Catalogue) -> None:
    lines = server()
    late = docker(lines[:40]) + docker(lines[40:], late_us=400_000_000)
    both = read(tmp_path, catalogue, j=journal(lines), k=late)
    assert len(both.ownership.loads) == 2


def test_a_kernel_message_in_two_journals_is_one_and_so_is_a_small_writer_beside_a_twin(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    def entry(pid: int, message: str, transport: str, cursor: str, late_us: int = 0) -> bytes:
        head = f"__CURSOR=s={cursor};i=1;b=b1\n__REALTIME_TIMESTAMP={BEGIN_US + 100_000 + late_us}\n_HOSTNAME=box\n"
        head += f"_BOOT_ID=b1\n_TRANSPORT={transport}\n_PID={pid}\nSYSLOG_IDENTIFIER=x\n"
        return f"{head}MESSAGE={message}\n\n".encode()

    xid = "NVRM: Xid (PCI:0000:01:00): 79, pid=42, name=llama-server, GPU has fallen off the bus."
    both = read(tmp_path, catalogue, a=entry(0, xid, "kernel", "ab"), b=entry(0, xid, "kernel", "cd", 1000))
    assert [line.text for line in owned(both)] == [xid]
    assert notes(both) == ["1 lines are the same as in F/a: counted once"]
    later = entry(0, xid, "kernel", "cd", 60_000_000)
    both = read(tmp_path, catalogue, a=entry(0, xid, "kernel", "ab"), b=later)
    assert [line.text for line in owned(both)] == [xid, xid]


def test_lines_that_no_pattern_reads_are_counted_once_too(tmp_path: Path, catalogue: Catalogue) -> None:
    unknown = "0.10.900.000 I something: holds 17.00 MiB"
    lines = [*server(), unknown]
    both = read(tmp_path, catalogue, j=journal(lines), k=text([*lines, "0.11.0.000 I other: holds 18.00 MiB"]))
    unread = [one.text for counts in both.counts.values() for one in counts.unread]
    assert sorted(unread) == sorted([unknown, "0.11.0.000 I other: holds 18.00 MiB"])


RUNS = ("llama-fit-beside-other", "llama-killed-then-reloaded", "llama-mtp-vision-two-cards", "llama-sleep-idle")
ANSWERS = ("loads", "vram_ledger", "vram_gap", "phases", "failures", "ambiguous_lines", "orphans")
READ = {"coverage", "sources"}


@pytest.mark.parametrize("run", RUNS)
def test_the_folder_of_a_run_gives_the_same_answers_as_its_journal_alone(
    tmp_path: Path, catalogue: Catalogue, run: str
) -> None:
    def answered(folder: Path) -> dict[str, str]:
        connection = duckdb.connect()
        store(read_evidence([folder], catalogue), connection)
        found = ready(connection, load_questions(), None)
        rows = {name: repr(found.execute(f"SELECT * FROM {name}").fetchall()) for name in ANSWERS}
        # What was read of how many files is not the answer, and does differ.
        explained = {name: part for name, part in document(found, catalogue).items() if name not in READ}
        return {name: text.replace(str(folder), "") for name, text in {**rows, "": render_json(explained)}.items()}

    alone, whole = tmp_path / "alone", tmp_path / "whole"
    for folder in (alone, whole):
        folder.mkdir()
        for name in ("journal.export.gz", "gpu.csv", "apps.csv"):
            shutil.copy(FIXTURES / run / name, folder)
    shutil.copy(FIXTURES / f"{run}-plain" / "server.log", whole)
    assert answered(whole) == answered(alone)
