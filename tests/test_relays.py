"""Servers that print a llama-server's lines as their own: whose they are, and where their amounts stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import MIB, case, items, lives, rows
from test_vllm import parallel

LEMONADE = """\
2026-08-21 10:00:00.101 [Debug] (ProcessManager) Starting process with filtered output: /opt/llama-server -m /m/a.gguf
2026-08-21 10:00:00.104 [Info] (ProcessManager) Process started successfully, PID: 4711
2026-08-21 10:00:00.105 [Info] (Process) srv    load_model: loading model '/m/a.gguf'
2026-08-21 10:00:01.105 [Info] (Process) load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
2026-08-21 10:00:01.106 [Info] (Process) load_tensors:        CUDA0 model buffer size =  4914.18 MiB
2026-08-21 10:00:09.107 [Info] (Process) srv  llama_server: model loaded
2026-08-21 10:00:09.108 [Info] (WrappedServer) llama-server is ready!
"""
KOBOLD = """\
Welcome to KoboldCpp - Version 1.119
Loading Text Model: /m/a.gguf
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
load_tensors:        CUDA0 model buffer size =  4914.18 MiB
Load Text Model OK: True
"""


@pytest.mark.parametrize(
    ("log", "engine"), [(LEMONADE, "lemonade"), (KOBOLD, "koboldcpp")], ids=["Lemonade", "KoboldCpp"]
)
def test_what_a_relayed_child_holds_is_its_loads_and_stands_on_the_card(tmp_path: Path, log: str, engine: str) -> None:
    found = case(tmp_path, server=log)
    assert rows(found, "SELECT engine, count(*) FROM load GROUP BY engine") == [(engine, 1)]
    assert items(found) == [(1, "CPU_Mapped", "target", "weights", 281.81), (1, "CUDA0", "target", "weights", 4914.18)]
    assert rows(found, 'SELECT device, "place" FROM device ORDER BY device') == [
        ("CPU_Mapped", "host"),
        ("CUDA0", "card"),
    ]


def test_a_stamp_of_another_kind_before_a_childs_line_is_no_relay(tmp_path: Path) -> None:
    line = "2026-08-21 10:00:01.106 [Info] (Router) load_tensors:        CUDA0 model buffer size =  4914.18 MiB\n"
    assert rows(case(tmp_path, server=line), "SELECT count(*) FROM buffer_allocated") == [(0,)]


SUPERVISOR = (
    'time=2026-09-18T07:59:00.000Z level=INFO source=routes.go:1332 msg="Listening on 127.0.0.1:11434 (version 0.13.1)"'
)
SPAWN = (
    'time=2026-09-18T08:00:00.000Z level=INFO source=server.go:400 msg="starting runner" '
    'cmd="/usr/bin/ollama runner --model /b/blobs/sha256-aa --port 40001"'
)
READY = 'time=2026-09-18T08:00:03.000Z level=INFO source=server.go:1289 msg="llama runner started in 3.00 seconds"'
CHILD = """\
srv    load_model: loading model '/b/blobs/sha256-aa'
load_tensors:        CUDA0 model buffer size =  4914.18 MiB
srv  llama_server: model loaded
"""
REQUEST = "slot update_slots: id  3 | task 0 | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 9"


def test_a_child_that_serves_though_its_supervisor_has_just_begun_shows_two_supervisors(tmp_path: Path) -> None:
    one = f"{SUPERVISOR}\n{SPAWN}\n{CHILD}{REQUEST}\n"
    assert items(case(tmp_path, server=one + SUPERVISOR + "\n" + SPAWN + "\n")) == [
        (1, "CUDA0", "target", "weights", 4914.18)
    ]
    found = case(tmp_path, server=f"{one}{SUPERVISOR}\n{REQUEST}\n{SPAWN}\n")  # the old one is still there
    assert items(found) == []
    assert rows(found, "SELECT DISTINCT rule FROM line WHERE scope = 'ambiguous'") == [
        ("several supervisors relay through this stream",)
    ]
    # Which child is ready the line does not say, and there may be one that is not known.
    found = case(tmp_path, server=f"{one}{SUPERVISOR}\n{REQUEST}\n{SPAWN}\n{READY}\n")
    assert [ready for _, _, ready, _ in lives(found)] == [False] * len(lives(found))


def test_a_server_whose_lines_are_made_otherwise_than_a_supervisors_children_are_is_its_own(tmp_path: Path) -> None:
    server = (
        "0.00.700.000 I srv    load_model: loading model '/m/a.gguf'\n"
        "0.01.600.000 I load_tensors:        CUDA0 model buffer size =  2118.81 MiB\n"
    )
    found = case(tmp_path, server=f"{SUPERVISOR}\n{SPAWN}\n{CHILD}{server}{REQUEST}\n")
    held = f"SELECT engine, parent_id IS NULL, round(size_bytes / {MIB}, 2)"
    assert rows(
        found, f"{held} FROM vram_ledger JOIN load USING (load_id) JOIN process USING (process_id) ORDER BY 1"
    ) == [
        ("llama.cpp", True, 2118.81),
        ("ollama", False, 4914.18),
    ]


PROXY = "[INFO] llama-swap listening on http://0.0.0.0:11436"
COMMAND = "[DEBUG] <{0}> Executing start command: llama-server --port 10001 -m /m/{0}.gguf, env: "
STARTING = "[DEBUG] <a> swapState() State transitioned from stopped to starting"
HEALTHY = "[INFO] <{}> Health check passed on http://localhost:10001/health"
EVICTS = '[INFO] matrix: model=b set=large dsl="coder" evict=[a] target=[b] cost=1'


def loaded(name: str) -> str:
    return CHILD.replace("/b/blobs/sha256-aa", f"/m/{name}.gguf").rstrip()


@pytest.mark.parametrize(
    ("lines", "ends", "request_of"),
    [
        ([PROXY, STARTING, COMMAND.format("a"), loaded("a"), HEALTHY.format("a")], ["log_ends"], 1),
        ([PROXY, COMMAND.format("a"), loaded("a"), COMMAND.format("a"), loaded("a")], ["superseded", "log_ends"], 2),
        (
            [PROXY, COMMAND.format("a"), loaded("a"), HEALTHY.format("a"), COMMAND.format("a"), loaded("a")],
            ["superseded", "log_ends"],
            2,
        ),
        (
            [
                *(PROXY, STARTING, COMMAND.format("a"), loaded("a"), HEALTHY.format("a")),
                *(EVICTS, COMMAND.format("b"), loaded("b"), HEALTHY.format("b")),
            ],
            ["evicted", "log_ends"],
            2,
        ),
        (
            [PROXY, COMMAND.format("a"), loaded("a"), PROXY, COMMAND.format("a"), loaded("a")],
            ["unknown", "log_ends"],
            2,
        ),
        (
            [PROXY, COMMAND.format("a"), loaded("a"), COMMAND.format("b"), loaded("b")],
            ["log_ends", "log_ends"],
            None,  # both serve
        ),
    ],
    ids=["three lines of one start", "not confirmed", "confirmed", "evicted", "the proxy itself began again", "beside"],
)
def test_a_proxys_lines_about_a_model_are_of_its_load_until_it_starts_it_again(
    tmp_path: Path, lines: list[str], ends: list[str], request_of: int | None
) -> None:
    found = case(tmp_path, server="\n".join([*lines, REQUEST]) + "\n")
    assert [end for *_, end in lives(found)] == ends
    assert items(found) == [(at, "CUDA0", "target", "weights", 4914.18) for at in range(1, len(ends) + 1)]
    assert rows(found, "SELECT ready_line IS NOT NULL FROM load") == [(True,)] * len(ends)
    last = "SELECT number FROM line LEFT JOIN load USING (load_id) ORDER BY ordinal DESC LIMIT 1"
    assert rows(found, last) == [(request_of,)]


LISTENS = "srv  llama_server: listening on http://127.0.0.1:{}"


@pytest.mark.parametrize(
    ("port", "known"),
    [(10001, [("a", "/m/a.gguf", 1)]), (9999, [(None, "/m/a.gguf", None), ("a", None, None)])],
    ids=["the port that it names", "another"],
)
def test_who_listens_where_a_proxy_finds_its_model_answering_is_its_child_though_no_line_started_it(
    tmp_path: Path, port: int, known: list[tuple[str | None, str | None, int | None]]
) -> None:
    # At its default level a proxy does not say what it starts.
    lines = [PROXY, loaded("a"), LISTENS.format(port), HEALTHY.format("a"), REQUEST]
    found = case(tmp_path, server="\n".join(lines) + "\n")
    of_request = "(SELECT number FROM line LEFT JOIN load USING (load_id) ORDER BY ordinal DESC LIMIT 1)"
    told = f"SELECT label, nullif(model, label), {of_request} FROM load ORDER BY number"
    assert rows(found, told) == known
    assert items(found) == [(1, "CUDA0", "target", "weights", 4914.18)]


@pytest.mark.parametrize(
    ("of", "reason"),
    [(EVICTS, "evicted"), ("[INFO] <a> Unloading model, TTL of 300s reached", "stopped")],
    ids=["evicted", "unloaded"],
)
def test_what_a_proxy_says_later_of_such_a_child_ends_its_load(tmp_path: Path, of: str, reason: str) -> None:
    first = [PROXY, loaded("a"), LISTENS.format(10001), HEALTHY.format("a"), of]
    second = [loaded("b"), LISTENS.format(10002), HEALTHY.format("b").replace("10001", "10002"), REQUEST]
    found = case(tmp_path, server="\n".join([*first, *second]) + "\n")
    told = "SELECT number, label, ready_line IS NOT NULL, end_reason FROM load ORDER BY number"
    assert rows(found, told) == [(1, "a", True, reason), (2, "b", True, "log_ends")]
    assert items(found) == [(number, "CUDA0", "target", "weights", 4914.18) for number in (1, 2)]
    last = "SELECT number FROM line LEFT JOIN load USING (load_id) ORDER BY ordinal DESC LIMIT 1"
    assert rows(found, last) == [(2,)]


def test_an_engine_of_several_processes_that_a_proxy_starts_holds_its_amounts_once(tmp_path: Path) -> None:
    engine = parallel(["EngineCore"], ["Worker_TP0", "Worker_TP1"]).rstrip()
    found = case(tmp_path, server="\n".join([PROXY, COMMAND.format("a"), engine, HEALTHY.format("a")]) + "\n")
    # That they are one start no line says.
    assert rows(found, "SELECT number, engine, ready_line IS NOT NULL FROM load ORDER BY number") == [
        (1, "llama-swap", True),
        (2, "vllm", True),
    ]
    assert items(found) == [(2, device, "target", "weights", 7823.36) for device in ("CUDA0", "CUDA1")]


def test_first_words_of_one_of_two_children_that_were_started_are_of_either(tmp_path: Path) -> None:
    words = "ggml_cuda_init: found 1 CUDA devices:"
    found = case(tmp_path, server="\n".join([PROXY, COMMAND.format("a"), COMMAND.format("b"), words]) + "\n")
    last = "SELECT scope, rule, len(string_split(candidates, ' ')) FROM line ORDER BY ordinal DESC LIMIT 1"
    assert rows(found, last) == [("ambiguous", "several children are announced, and none is named", 2)]


STAMP = "time=2026-09-18T08:00:00.000Z"
ANNOUNCED = f'{STAMP} level=INFO source=server.go:241 msg="using llama-server for model" model=/m/blobs/sha256-a1a1\n'
TRIED = (
    f'{STAMP} level=INFO source=llama_server.go:611 msg="starting llama-server" '
    'cmd="/usr/lib/ollama/llama-server --model /m/blobs/sha256-a1a1 --port 42781"\n'
    "srv    load_model: loading model '/m/blobs/sha256-a1a1'\n"
    "load_tensors:        CUDA0 model buffer size =  4914.18 MiB\n"
)
AGAIN = (
    f'{STAMP} level=WARN source=llama_server.go:812 msg="llama-server startup failed with projector GPU offload; '
    'retrying with projector CPU offload" model=/m/blobs/sha256-a1a1 error="exit status 1"\n'
)


def test_a_second_start_for_its_projector_is_the_same_load_and_counts_its_buffers_once(tmp_path: Path) -> None:
    found = case(tmp_path, server=ANNOUNCED + TRIED + AGAIN + TRIED + "srv  llama_server: model loaded\n")
    assert lives(found) == [(1, "sha256-a1a1", True, "log_ends")]
    assert items(found) == [(1, "CUDA0", "target", "weights", 4914.18)]


WAITS = (
    f'{STAMP} level=DEBUG source=sched.go:334 msg="runner with non-zero duration has gone idle, adding timer" '
    "modelPath=/m/blobs/sha256-{} duration=10m0s\n"
)
STARTED = f'{STAMP} level=INFO source=llama_server.go:1274 msg="llama-server started in 5.42 seconds"\n'
OTHER = (ANNOUNCED + TRIED).replace("a1a1", "b2b2").replace("42781", "42782")
SERVES = "srv  llama_server: model loaded\n"


@pytest.mark.parametrize(("named", "of"), [("a1a1", 1), ("b2b2", 2), ("c3c3", None)])
def test_what_a_supervisor_says_of_a_child_that_it_names_is_of_that_child(
    tmp_path: Path, named: str, of: int | None
) -> None:
    found = case(tmp_path, server=ANNOUNCED + TRIED + SERVES + OTHER + SERVES + WAITS.format(named))
    assert rows(found, "SELECT number FROM scheduler_decided LEFT JOIN load USING (load_id)") == [(of,)]


def test_a_child_whose_announcement_is_not_in_the_log_is_ready_when_its_supervisor_says_so(tmp_path: Path) -> None:
    raw = TRIED.split("\n", 1)[1]
    found = case(tmp_path, server=raw + SERVES + STARTED + raw.replace("a1a1", "b2b2"))
    assert lives(found) == [(1, "sha256-a1a1", True, "log_ends"), (2, "sha256-b2b2", False, "log_ends")]
    assert rows(found, "SELECT number, seconds_s FROM load_ready JOIN load USING (load_id) ORDER BY ordinal") == [
        (1, None),
        (1, 5.42),
    ]


OLDER_KOBOLD = """\
***
Welcome to KoboldCpp - Version 1.76
==========
Loading model: /m/a.gguf
llm_load_tensors:        CUDA0 buffer size =  4914.18 MiB
llama_kv_cache_init:      CUDA0 KV buffer size =   896.00 MiB
Load Text Model OK: True
Embedded Kobold Lite loaded.
Starting Kobold API on port 5001 at http://localhost:5001/api/
"""


def test_a_stream_of_one_front_and_its_engine_is_one_load_and_another_model_another(tmp_path: Path) -> None:
    held = [(1, "CUDA0", "target", "kv_cache", 896.0), (1, "CUDA0", "target", "weights", 4914.18)]
    first = case(tmp_path, server=OLDER_KOBOLD)
    assert lives(first) == [(1, "a.gguf", True, "log_ends")]
    assert items(first) == held
    # Its manager ends the worker and begins another.
    again = OLDER_KOBOLD.replace("a.gguf", "b.gguf").replace("4914.18", "2118.81")
    found = case(tmp_path, server=OLDER_KOBOLD + again)
    assert lives(found) == [(1, "a.gguf", True, "unknown"), (2, "b.gguf", True, "log_ends")]
    assert items(found) == [*held, (2, *held[0][1:]), (2, *held[1][1:4], 2118.81)]


DESKTOP = """\
2026-09-18 08:00:01  [INFO]
 [LM STUDIO SERVER] Success! HTTP server listening on port 1234
{}2026-09-18 08:01:05 [DEBUG]
 llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060 Ti) - 7128 MiB free
2026-09-18 08:01:06 [DEBUG]
 load_tensors:        CUDA0 model buffer size =  4914.18 MiB
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
2026-09-18 08:01:15 [DEBUG]
 llama_context: constructing llama_context
2026-09-18 08:01:15 [DEBUG]
 llama_kv_cache_unified:      CUDA0 KV buffer size =   896.00 MiB
"""
CONFIGURED = "2026-09-18 08:01:05 [DEBUG]\n [LM Studio] Resolved GPU config options:\n  Num Offload Layers: max\n"
CALLED = (
    "2026-09-18 08:01:05 [DEBUG]\n LlamaV4::load called with model path: /m/a.gguf\n"
    "LlamaV4::load config: n_parallel=4\n"
)


@pytest.mark.parametrize(
    "before", ["", CONFIGURED, CALLED, CONFIGURED + CALLED], ids=["an excerpt", "0.3", "0.4", "0.4 in full"]
)
def test_a_desktop_programs_log_of_one_model_is_one_load(tmp_path: Path, before: str) -> None:
    found = case(tmp_path, server=DESKTOP.format(before))
    assert rows(found, "SELECT number FROM load") == [(1,)]
    assert items(found) == [
        (1, "CPU_Mapped", "target", "weights", 281.81),
        (1, "CUDA0", "target", "kv_cache", 896.0),
        (1, "CUDA0", "target", "weights", 4914.18),
    ]


def test_which_of_two_models_a_desktop_program_unloads_its_log_does_not_say(tmp_path: Path) -> None:
    again = DESKTOP.format(CALLED.replace("a.gguf", "b.gguf")).split("\n", 2)[2]
    unloads = "2026-09-18 09:00:00  [INFO]\n [Client=lms-cli][Endpoint=unloadModel] Unloading model: lab/small\n"
    found = case(tmp_path, server=DESKTOP.format(CALLED) + again + unloads)
    assert [reason for *_, reason in lives(found)] == ["log_ends", "log_ends"]
    one = case(tmp_path, server=DESKTOP.format(CALLED) + unloads)
    assert [reason for *_, reason in lives(one)] == ["stopped"]
