"""A supervisor's loads over its eras: where each begins and ends, by its own lines and those of its children."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import case, items, lives, rows
from opened import journal, opened

from forensics.answer import Ask
from forensics.ask_crashes import crashes


def said(at: str, level: str, source: str, text: str) -> str:
    """A line of the supervisor."""
    return f"time=2026-08-01T{at}Z level={level} source={source}:1 {text}\n"


def begun(at: str, blob: str, port: int) -> str:
    """A load of era C as far as its child is started."""
    return said(f"{at}.000", "INFO", "server.go", f'msg="using llama-server for model" model=/m/blobs/{blob}') + said(
        f"{at}.010",
        "INFO",
        "llama_server.go",
        f'msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model /m/blobs/{blob} --port {port} -c 4096"',
    )


def child(blob: str, weights: str) -> str:
    """What a child of era C prints until it serves."""
    return (
        f"srv    load_model: loading model '/m/blobs/{blob}'\n"
        f"load_tensors:        CUDA0 model buffer size =  {weights} MiB\n"
        "srv  llama_server: model loaded\n"
    )


def runner(blob: str, pid: int) -> str:
    """How era C names a runner at DEBUG."""
    return (
        f'runner.name=registry.ollama.ai/lab/{blob}:latest runner.inference="[{{ID:0 Library:CUDA}}]" '
        f'runner.size="4.8 GiB" runner.vram="4.8 GiB" runner.parallel=1 runner.pid={pid} '
        f"runner.model=/m/blobs/{blob} runner.num_ctx=4096"
    )


A, B = "sha256-a1a1", "sha256-b2b2"
READY = 'msg="llama-server started in 3.00 seconds"'
LOADED = begun("07:00:00", A, 40001) + child(A, "4914.18") + said("07:00:03.000", "INFO", "llama_server.go", READY)
KILLED = said(
    "07:10:00.200", "ERROR", "llama_server.go", 'msg="llama-server terminated" error="signal: killed" exit=-1'
)

ERA_A = """\
time=2026-05-30T08:00:00.000Z level=INFO source=routes.go:1332 msg="Listening on 127.0.0.1:11434 (version 0.11.4)"
time=2026-05-30T08:00:01.000Z level=INFO source=server.go:438 msg="starting llama server" cmd="/usr/bin/ollama runner \
--model /m/blobs/sha256-a1a1 --ctx-size 8192 --batch-size 512 --n-gpu-layers 29 --threads 8 --parallel 1 --port 40001"
time=2026-05-30T08:00:01.010Z level=INFO source=sched.go:483 msg="loaded runners" count=1
time=2026-05-30T08:00:01.030Z level=INFO source=runner.go:815 msg="starting go runner"
time=2026-05-30T08:00:01.040Z level=INFO source=runner.go:874 msg="Server listening on 127.0.0.1:40001"
load_tensors:        CUDA0 model buffer size =  4914.18 MiB
llama_kv_cache_unified:      CUDA0 KV buffer size =   896.00 MiB
time=2026-05-30T08:00:04.000Z level=INFO source=server.go:637 msg="llama runner started in 3.00 seconds"
"""
UPGRADED = said("06:59:59.000", "INFO", "routes.go", 'msg="Listening on 127.0.0.1:11434 (version 0.30.0)"')


def test_an_upgrade_inside_a_stream_begins_another_era(tmp_path: Path) -> None:
    again = said("07:00:03.480", "INFO", "llama_server.go", READY)  # the scheduler waits a second time
    found = case(tmp_path, server=ERA_A + UPGRADED + LOADED + again)
    assert rows(found, "SELECT number, version, end_reason, loading_s FROM loads ORDER BY number") == [
        (1, "0.11.4", "unknown", 3.0),  # no runner survives its supervisor; a child that listens is no restart
        (2, "0.30.0", "log_ends", 3.0),
    ]
    assert items(found) == [
        (1, "CUDA0", "target", "kv_cache", 896.0),
        (1, "CUDA0", "target", "weights", 4914.18),
        (2, "CUDA0", "target", "weights", 4914.18),
    ]


EXPIRES = (
    said("07:10:00.000", "DEBUG", "sched.go", f'msg="timer expired, expiring to unload" {runner(A, 4711)}')
    + said("07:10:00.010", "DEBUG", "sched.go", f'msg="runner expired event received" {runner(A, 4711)}')
    + said("07:10:00.020", "DEBUG", "sched.go", f'msg="got lock to unload expired event" {runner(A, 4711)}')
    + said("07:10:00.030", "DEBUG", "llama_server.go", 'msg="stopping llama-server" pid=4711')
)
GONE = said("07:10:00.300", "DEBUG", "llama_server.go", 'msg="llama-server stopped" pid=4711')
EVICTS = said(
    "07:10:00.000",
    "DEBUG",
    "sched.go",
    f'msg="resetting model to expire immediately to make room" {runner(A, 4711)} refCount=0',
)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (EXPIRES + KILLED + GONE, "stopped"),
        (EXPIRES + GONE, "stopped"),
        (EVICTS + KILLED + GONE + begun("07:10:01", B, 40002), "evicted"),
        (KILLED, "stopped"),
    ],
    ids=["keep-alive over", "keep-alive over, and no line looked like an error", "eviction", "nothing else is logged"],
)
def test_a_runner_that_its_supervisor_kills_has_ended_in_order(tmp_path: Path, lines: str, reason: str) -> None:
    found = case(tmp_path, server=LOADED + lines)
    assert lives(found)[0] == (1, "sha256-a1a1", True, reason)
    assert rows(found, "SELECT count(*) FROM failures") == [(0,)]
    assert rows(
        found, "SELECT count(*) FROM line JOIN load USING (load_id) WHERE number > 1 AND event = 'load_ended'"
    ) == [(0,)]


DISCOVERS = said("06:59:59.100", "INFO", "runner.go", 'msg="discovering available GPUs..."')
LISTS = said("{}", "INFO", "llama_server.go", 'msg="starting llama-server" cmd="/usr/lib/llama-server --list-devices"')
LOOKS = said(
    "{}", "INFO", "server.go", 'msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine --port 40009"'
)


# At OLLAMA_DEBUG=2 what such a runner prints of itself is relayed too.
RELAYED = LOOKS + said("{}", "INFO", "runner.go", 'msg="starting ollama engine"').replace(
    "\n", "\n" + said("{}", "INFO", "runner.go", 'msg="Server listening on 127.0.0.1:40009"')
)


@pytest.mark.parametrize("looks", [LISTS, LOOKS, RELAYED], ids=["era C", "era B", "era B, with what it prints"])
def test_a_process_that_only_looks_for_cards_is_no_load(tmp_path: Path, looks: str) -> None:
    at_start, later = (looks.replace("{}", at) for at in ("06:59:59.110", "07:05:00.000"))
    alone = case(tmp_path, server=UPGRADED + DISCOVERS + at_start + at_start)
    assert rows(alone, "SELECT count(*) FROM load") == [(0,)]
    found = case(tmp_path, server=UPGRADED + DISCOVERS + at_start + at_start + LOADED + later)
    assert rows(found, "SELECT min(ordinal) FROM line JOIN load USING (load_id)") == rows(
        found, "SELECT min(ordinal) FROM line WHERE event = 'load_began'"
    )
    assert lives(found) == [(1, "sha256-a1a1", True, "log_ends")]
    assert items(found) == [(1, "CUDA0", "target", "weights", 4914.18)]


@pytest.mark.parametrize("how", ["exit status 2", "signal: aborted (core dumped)", "exit status 0xc0000409"])
def test_a_crash_of_which_only_the_supervisor_tells_is_named_by_its_words(tmp_path: Path, how: str) -> None:
    crash = said("07:05:00.000", "ERROR", "llama_server.go", f'msg="llama-server terminated" error="{how}"')
    found = case(tmp_path, server=LOADED + crash)
    assert lives(found) == [(1, "sha256-a1a1", True, "crashed")]
    cited = "SELECT text FROM line WHERE line_id = (SELECT lines FROM failures)"
    assert rows(found, "SELECT error_class, message, root_line, outcome FROM failures") == [
        ("exited", how, None, "ended")
    ]
    assert rows(found, cited) == [(crash.strip(),)]
    answer = crashes(Ask(found))
    assert (
        answer.verdict
        == f"sha256-a1a1 (load 1) ended with “{how}”, as its supervisor says; no line of its own tells why."
    )


DIES = said("07:00:02.000", "ERROR", "server.go", 'msg="llama runner terminated" error="exit status 2"')
VERDICT = said(
    "07:00:02.200",
    "ERROR",
    "sched.go",
    'msg="error loading llama server" error="llama runner process has terminated: cudaMalloc failed: out of memory\\n'
    'ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 838447104"',
)
TOO_LARGE = said(
    "07:01:00.000",
    "WARN",
    "server.go",
    'msg="model request too large for system" requested="90.1 GiB" available=12345 total="62.7 GiB"',
)


@pytest.mark.parametrize(
    "lines", [begun("07:00:00", A, 40001) + DIES, DIES, ""], ids=["announced", "an excerpt", "the verdict alone"]
)
def test_what_the_scheduler_says_of_a_load_whose_runner_is_gone_is_of_that_load(tmp_path: Path, lines: str) -> None:
    found = case(tmp_path, server=lines + VERDICT + TOO_LARGE)
    assert rows(found, "SELECT number, end_reason FROM load") == [(1, "crashed" if DIES in lines else "failed")]
    assert rows(found, "SELECT number, size_bytes FROM allocation_failed JOIN load USING (load_id)") == [(1, 838447104)]
    assert rows(found, "SELECT error_class, tried_bytes, outcome FROM failures") == [
        ("out_of_memory", 838447104, "ended")
    ]
    # What it refuses next is another model, of which nothing was announced.
    assert rows(found, "SELECT load_id FROM start_refused") == [(None,)]


def test_an_end_that_is_all_that_a_log_has_of_a_load_shows_that_it_was_there(tmp_path: Path) -> None:
    stops = said("07:10:00.030", "DEBUG", "llama_server.go", 'msg="stopping llama-server" pid=4711')
    found = case(tmp_path, server=(stops + GONE).replace("T07:10", "T06:50") + LOADED)
    assert lives(found) == [(1, None, False, "stopped"), (2, "sha256-a1a1", True, "log_ends")]
    assert rows(found, "SELECT DISTINCT number FROM load_ended JOIN load USING (load_id)") == [(1,)]
    # Beside a load that is known, it may be another that began before the log did.
    later = begun("07:00:00", A, 40001) + child(A, "4914.18") + begun("07:01:00", B, 40002) + child(B, "2118.81")
    assert [reason for *_, reason in lives(case(tmp_path, server=later + stops + GONE))] == ["log_ends", "log_ends"]


DISCOVERY = (
    "log_info: verbosity = 4 (adjust with the `-lv N` CLI arg)\n"
    "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 24124 MiB):\n"
    "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes, VRAM: 24124 MiB\n"
    "load_backend: loaded CUDA backend from /usr/lib/ollama/libggml-cuda.so\n"
)
"""What a child prints that only looks for devices: at OLLAMA_DEBUG=2 its supervisor relays that too."""


@pytest.mark.parametrize(
    "looks",
    [
        said("07:00:00.000", "INFO", "runner.go", 'msg="discovering available GPUs..."'),
        said("07:00:00.000", "TRACE", "sched.go", 'msg="refreshing GPU list"'),
        said("07:00:00.000", "INFO", "server.go", 'msg="starting runner" cmd="/usr/bin/ollama runner --port 38833"'),
    ],
    ids=["at its start", "before a load", "with a runner"],
)
def test_a_child_that_only_looks_for_devices_is_no_load_and_no_other_server(tmp_path: Path, looks: str) -> None:
    first, second = LOADED, begun("07:05:00", B, 40002) + DISCOVERY + child(B, "1000.00")
    found = case(tmp_path, server=looks + DISCOVERY + DISCOVERY + first + looks + DISCOVERY + second)
    assert rows(found, "SELECT number, model, implied, ready_line IS NOT NULL FROM load ORDER BY number") == [
        (1, f"/m/blobs/{A}", False, True),
        (2, f"/m/blobs/{B}", False, True),
    ]
    of_none = rows(found, "SELECT count(*) FROM line WHERE event = 'device_seen' AND load_id IS NULL")
    assert of_none == [(3,)]  # of the three that only looked; the second load's own is its own
    held = (
        "SELECT number, kind, round(size_bytes / 1048576, 2) FROM vram_ledger JOIN load USING (load_id) ORDER BY number"
    )
    assert rows(found, held) == [(1, "weights", 4914.18), (2, "weights", 1000.0)]


RESIDENT = LOADED + said("07:00:03.500", "INFO", "sched.go", 'msg="loaded runners" count=1')
REQUEST = "slot launch_slot_: id  0 | task {} | processing task, is_child = 0\n"
BOTH = said("07:01:04.000", "INFO", "sched.go", 'msg="loaded runners" count=2')
RESERVED = "sched_reserve:      CUDA0 compute buffer size =   300.00 MiB\n"
LOADS = begun("07:01:00", B, 40002) + child(B, "2118.81").rsplit("srv  llama", 1)[0]
LOADED_BESIDE = said("07:01:03.000", "INFO", "llama_server.go", READY)


@pytest.mark.parametrize(
    ("lines", "owners"),
    [
        ("llama_context: constructing llama_context\nsched_reserve: reserving ...\n" + RESERVED, [2, 2, 2]),
        (RESERVED, [None]),
        (
            "~llama_context:      CUDA0 compute buffer size is 300.0000 MiB, matches expectation of 300.0000 MiB\n",
            [None],
        ),
        ("~llama_io_write_device: allocated 'CUDA0' buffer 37.688 MiB\n", [None]),
        ("llama_kv_cache:      CUDA0 KV buffer size =   576.00 MiB\n", [2]),
        ("srv  llama_server: model loaded\n" + BOTH + REQUEST.format(1), [2, None, None]),
        # Whose word it is that it has loaded is open: its supervisor's closes the load.
        ("srv  llama_server: model loaded\n" + LOADED_BESIDE + BOTH + REQUEST.format(1), [2, 2, None, None]),
    ],
    ids=[
        "a reservation that is due",
        "one that is not",
        "a context's end",
        "a checkpoint",
        "a cache",
        "both serve",
        "its supervisor's word",
    ],
)
def test_of_two_runners_in_one_stream_each_line_is_of_the_one_that_can_print_it_or_of_either(
    tmp_path: Path, lines: str, owners: list[int | None]
) -> None:
    found = case(tmp_path, server=RESIDENT + LOADS + lines)
    told = rows(
        found,
        "SELECT number, scope, len(string_split(candidates, ' ')) FROM line LEFT JOIN load USING (load_id) "
        f"ORDER BY ordinal DESC LIMIT {len(owners)}",
    )[::-1]
    assert [number for number, *_ in told] == owners
    of_either = [(scope, count) for number, scope, count in told if number is None and scope == "ambiguous"]
    assert of_either == [("ambiguous", 2)] * (owners[-1] is None)


def test_a_second_start_for_its_projector_beside_another_runner_is_the_same_load(tmp_path: Path) -> None:
    fails = said(
        "07:01:02.000",
        "WARN",
        "llama_server.go",
        'msg="llama-server startup failed with projector GPU offload; retrying with projector CPU offload" '
        f'model=/m/blobs/{B} error="exit status 1"',
    )
    again = begun("07:01:02", B, 40003).split("\n", 1)[1] + child(B, "2118.81")
    found = case(tmp_path, server=RESIDENT + LOADS + fails + again + LOADED_BESIDE + BOTH)
    assert lives(found) == [(1, A, True, "log_ends"), (2, B, True, "log_ends")]
    assert items(found) == [(1, "CUDA0", "target", "weights", 4914.18), (2, "CUDA0", "target", "weights", 2118.81)]


def test_runners_of_two_starts_of_their_service_are_apart_though_no_line_says_that_it_began_again(
    tmp_path: Path,
) -> None:
    serves = begun("07:00:00", A, 40001) + child(A, "4914.18") + REQUEST.format(1)
    again = begun("07:00:00", A, 40001) + child(A, "4914.18") + REQUEST.format(1)
    found = opened(tmp_path, box_json=journal(900, 0, serves) + journal(901, 60, again))
    assert rows(found, "SELECT number, end_reason FROM load ORDER BY number") == [(1, "log_ends"), (2, "log_ends")]
    of_requests = "SELECT number FROM request_moved LEFT JOIN load USING (load_id) ORDER BY ordinal"
    assert rows(found, of_requests) == [(1,), (2,)]
