"""Logs that begin in the middle of a load: what a line proves of a load that nobody saw begin, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import case, items, lives, owners, rows
from opened import journal, opened

POOL = """\
(Worker_TP0 pid=159) INFO 08-21 10:22:38 [gpu_worker.py:563] Available KV cache memory: 11.15 GiB
(EngineCore pid=140) INFO 08-21 10:22:38 [kv_cache_utils.py:2235] GPU KV cache size: 451,603 tokens
"""
POOL_AGAIN = """\
(Worker_TP0 pid=159) INFO 08-21 11:11:50 [gpu_worker.py:563] Available KV cache memory: 11.15 GiB
(EngineCore pid=140) INFO 08-21 11:11:50 [kv_cache_utils.py:2235] GPU KV cache size: 214,135 tokens
"""
LOADS_OF_TOKENS = (
    "SELECT number, tokens FROM pool_sized LEFT JOIN load USING (load_id) WHERE tokens > 0 ORDER BY 2 DESC"
)


def test_a_pool_line_shows_that_a_load_began_before_the_log_did(tmp_path: Path) -> None:
    found = case(tmp_path, server=POOL)
    assert rows(found, "SELECT engine, implied, end_reason FROM load") == [("vllm", True, "log_ends")]
    assert owners(found, "pool_sized") == [(1, "inferred", None)] * 2


def test_what_a_rank_prints_once_a_start_and_prints_again_is_another_start(tmp_path: Path) -> None:
    found = case(tmp_path, server=POOL + POOL_AGAIN)  # the same process ids: a container counts anew
    assert rows(found, LOADS_OF_TOKENS) == [(1, 451603), (2, 214135)]


def test_a_second_process_of_a_name_that_a_start_has_once_is_of_another_start(tmp_path: Path) -> None:
    begun = "(APIServer pid=1) INFO 06-01 10:05:34 [utils.py:278] non-default args: {'model': '/models/a'}\n"
    pools = "".join(
        f"(EngineCore pid={pid}) INFO 06-01 {clock} [kv_cache_utils.py:1733] GPU KV cache size: {tokens} tokens\n"
        for pid, clock, tokens in ((128, "10:07:57", "622,408"), (120, "10:42:30", "620,944"))
    )
    found = case(tmp_path, server=begun + pools)
    assert rows(found, "SELECT number, implied FROM load ORDER BY ALL") == [(1, False), (2, True)]
    assert rows(found, LOADS_OF_TOKENS) == [(1, 622408), (2, 620944)]


def test_a_refusal_is_the_end_of_a_load_that_began_before_the_log_did(tmp_path: Path) -> None:
    refused = (
        "(EngineCore pid=1371) ERROR 09-03 10:01:07 [v1/engine/core.py:1330] ValueError: Free memory on device cuda:0 "
        "(16.9/79.18 GiB) on startup is less than desired GPU memory utilization (0.825, 65.32 GiB). Decrease GPU "
        "memory utilization or reduce GPU memory used by other processes.\n"
    )
    wrapper = "(APIServer pid=1358) RuntimeError: Engine core initialization failed. See root cause above.\n"
    found = case(tmp_path, server=refused + wrapper)
    assert rows(found, "SELECT engine, implied, end_reason FROM load") == [("vllm", True, "failed")]


OOM = """\
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14136.04 MiB on device 0: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 14822711296
graph_reserve: failed to allocate compute buffers
llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers
srv    load_model: failed to load model, '/models/a.gguf'
main: exiting due to model loading error
"""


def test_an_allocation_that_fails_shows_a_load_and_all_lines_of_it_are_one_failure(tmp_path: Path) -> None:
    found = case(tmp_path, server=OOM)
    assert lives(found) == [(1, None, False, "failed")]
    assert rows(found, "SELECT outcome, error_class, roots, followed FROM failures") == [
        ("ended", "out_of_memory", 3, 3)
    ]


DRY = """\
0.01.600.000 I load_tensors:        CUDA0 model buffer size =  4914.18 MiB
0.01.700.000 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
0.01.800.000 I common_fit_params: successfully fit params to free device memory
0.01.900.000 I common_fit_params: fitting params to free memory took 0.66 seconds
"""
REAL = """\
0.02.600.000 I load_tensors:        CUDA0 model buffer size =  4914.18 MiB
0.02.650.000 I llama_context: constructing llama_context
0.02.700.000 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
"""
HOLDS = [(1, "CUDA0", "target", "kv_cache", 2304.0), (1, "CUDA0", "target", "weights", 4914.18)]


def test_what_stands_before_the_end_of_a_dry_run_was_planned_though_its_beginning_is_not_in_the_log(
    tmp_path: Path,
) -> None:
    found = case(tmp_path, server=DRY + REAL)
    assert items(found) == HOLDS
    assert rows(found, "SELECT mark, count(*) FROM item GROUP BY mark ORDER BY mark") == [
        ("counted", 2),
        ("planned", 2),
    ]


def test_amounts_that_begin_anew_in_such_a_load_are_not_added_to_it(tmp_path: Path) -> None:
    bare = "".join(f"{line[15:]}\n" for line in REAL.splitlines())  # of two loads, and what began them was cut out
    found = case(tmp_path, server=bare + bare.replace("4914.18", "2118.81"))
    assert items(found) == HOLDS
    assert [owner for owner, _, _ in owners(found, "buffer_allocated")] == [1, 1, None, None]
    assert rows(found, "SELECT end_reason FROM load") == [("unknown",)]


def test_two_weights_of_one_card_add_up_while_nothing_stands_between_them(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server="""\
load_tensors:        CUDA1 model buffer size =  3313.42 MiB
load_tensors:        CUDA1 model buffer size =   655.73 MiB
llama_kv_cache:      CUDA1 KV buffer size =    80.00 MiB
""",
    )
    assert rows(
        found, "SELECT kind, round(sum(size_bytes) / 1048576, 2) FROM vram_ledger GROUP BY kind ORDER BY 1"
    ) == [
        ("kv_cache", 80.0),
        ("weights", 3969.15),
    ]


ACCEPTED = "slot print_timing: id  0 | task 9 | draft acceptance = 0.57143 (    4 accepted /     7 generated)"


@pytest.mark.parametrize(
    ("line", "load"),
    [
        (f"[50003] 4.48.310.000 I {ACCEPTED}", 1),
        (f"0.48.310.000 I {ACCEPTED}", 1),
        (ACCEPTED, None),
        ("INFO:     Application startup complete.", None),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", None),
    ],
    ids=[
        "a child's, by its port",
        "with the server's prefix",
        "bare: a relay's children print so",
        "any web server's",
        "any",
    ],
)
def test_a_line_shows_a_load_only_if_it_says_enough_of_who_wrote_it(
    tmp_path: Path, line: str, load: int | None
) -> None:
    found = case(tmp_path, server=f"{line}\n")
    assert rows(found, "SELECT number, implied FROM load") == ([] if load is None else [(load, True)])


RELAYED = """\
load_tensors:        CUDA0 model buffer size =  4914.18 MiB
llama_context: constructing llama_context
llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
main: model loaded
{accepted}
time=2026-08-01T10:02:27.423Z level=INFO source=llama_server.go:1274 msg="llama-server started in 5.42 seconds"
"""


def test_a_relayed_child_that_began_before_the_log_did_owns_nothing_that_another_such_child_could_print(
    tmp_path: Path,
) -> None:
    found = case(tmp_path, server=RELAYED.format(accepted=ACCEPTED))
    assert items(found) == HOLDS
    # Who relays it speaks after it.
    parents = "SELECT process.program, parent.program FROM process JOIN process AS parent ON"
    assert rows(found, f"{parents} process.parent_id = parent.process_id") == [("llama.cpp", "ollama")]
    assert rows(found, "SELECT load_id, scope, rule FROM line WHERE event = 'draft_accepted'") == [
        (None, "ambiguous", "a child that began before the log did could have written it too")
    ]


@pytest.mark.parametrize(
    "log",
    [
        f"[50002] 4.48.310.000 I {ACCEPTED}\n[50002] 0.01.310.000 I {ACCEPTED}\n",
        f"4.48.310.000 I {ACCEPTED}\n1.48.310.000 I {ACCEPTED}\n4.49.310.000 I {ACCEPTED}\n",
    ],
    ids=["a port that another child has later", "two servers that write to one file"],
)
def test_a_clock_that_goes_back_without_a_beginning_is_of_several_processes_and_shows_no_load(
    tmp_path: Path, log: str
) -> None:
    found = case(tmp_path, server=log)
    assert rows(found, "SELECT count(*) FROM load") == [(0,)]
    assert rows(found, "SELECT count(*) FROM line WHERE load_id IS NULL") == [(log.count("draft acceptance"),)]


def test_amounts_seconds_apart_in_a_load_that_began_before_the_log_did_are_of_two_loads(tmp_path: Path) -> None:
    weights = "load_tensors:        CUDA0 model buffer size =  {} MiB"
    for seconds, held in ((10, 3969.15), (11, 3313.42)):
        folder = tmp_path / str(seconds)
        folder.mkdir()
        both = journal(41, 0, weights.format("3313.42")) + journal(41, seconds, weights.format(" 655.73"))
        found = opened(folder, box_json=both)
        assert rows(found, "SELECT round(sum(size_bytes) / 1048576, 2) FROM vram_ledger") == [(held,)]


def test_a_member_of_a_start_that_began_before_the_log_did_is_known_by_its_tag(tmp_path: Path) -> None:
    rule = "SELECT rule FROM line WHERE event = 'pool_sized' ORDER BY ordinal"
    again = POOL.splitlines()[1] + "\n"
    assert rows(case(tmp_path, server=again + again), rule) == [
        ("a load must have begun before this source did",),
        ("tag of the line",),
    ]


def test_what_only_a_serving_load_prints_is_not_given_to_a_load_that_was_never_seen_to_get_ready(
    tmp_path: Path,
) -> None:
    bare = "".join(f"{line[15:]}\n" for line in REAL.splitlines())
    found = case(tmp_path, server=f"{bare}{ACCEPTED}\n")
    assert rows(found, "SELECT load_id, rule FROM line WHERE event = 'draft_accepted'") == [
        (None, "of a load that began before the log did it could be another's")
    ]


ASLEEP = """\
INFO 04-23 10:00:24 [worker.py:287] the current vLLM instance can use total_gpu_memory (79.14GiB) x \
gpu_memory_utilization (0.25) = 19.78GiB
INFO 04-23 10:00:24 [worker.py:287] model weights take 8.64GiB; non_torch_memory takes 0.15GiB; PyTorch activation \
peak memory takes 0.25GiB; the rest of the memory reserved for KV Cache is 10.74GiB.
INFO 04-23 10:08:37 [worker.py:145] Sleep mode freed 19.51 GiB memory, 26.31 GiB memory is still in use.
"""


def test_a_sleep_behind_an_allocation_is_nobodys_where_no_line_says_that_the_load_got_ready(tmp_path: Path) -> None:
    # an engine inside of a trainer says no such line, and another start of the same log could have fallen asleep
    found = case(tmp_path, server=ASLEEP)
    assert owners(found, "memory_profiled") == [(1, "inferred", None)] * 2
    assert rows(found, "SELECT load_id, rule FROM line WHERE event = 'buffer_released'") == [
        (None, "no start of this stream was in a phase to write it")
    ]
    ready = ASLEEP.replace("INFO 04-23 10:08:37", "INFO:     Application startup complete.\nINFO 04-23 10:08:37")
    assert owners(case(tmp_path, server=ready), "buffer_released") == [(1, "inferred", None)]


FITTED = (
    "0.00.196.882 I main: printing estimated memory in MiB to stdout (device, model, context, compute) ...\n"
    "CUDA0 6742 4741 2259 \n"
    "host 1280 0 154 \n"
)


def test_the_rows_of_a_fit_are_forecasts_and_show_no_load(tmp_path: Path) -> None:
    found = case(tmp_path, server=FITTED)
    assert rows(found, "SELECT what, device, size_bytes // 1048576 FROM memory_estimated ORDER BY ordinal") == [
        ("fit projection", "CUDA0", 13742),
        ("fit projection", "host", 1434),
    ]
    assert (lives(found), items(found)) == ([], [])


def test_a_plan_behind_the_allocations_of_a_load_is_the_next_loads(tmp_path: Path) -> None:
    # Ollama plans before its runner allocates; what was loaded before the log begins has allocated already.
    stamp = "Nov 19 10:00:{:02} host ollama[1002]: {}\n"
    cache = stamp.format(23, "llama_kv_cache_init:      CUDA0 KV buffer size =   672.00 MiB")
    plan = stamp.format(
        59,
        'time=2024-11-19T10:00:59.083-06:00 level=INFO source=memory.go:343 msg="offload to cuda" '
        'layers.requested=-1 layers.model=101 layers.offload=96 layers.split=16,27,27,26 memory.available="[15.0 GiB]" '
        'memory.required.full="53.1 GiB" memory.required.partial="50.2 GiB"',
    )
    found = case(tmp_path, server=cache + plan)
    assert rows(found, "SELECT number, engine, end_reason FROM load ORDER BY number") == [
        (1, "llama.cpp", "unknown"),
        (2, "ollama", "log_ends"),
    ]


RESERVED = """\
srv    load_model: loading model '/m/alpha.gguf'
{before}sched_reserve:      CUDA0 compute buffer size =   132.02 MiB
sched_reserve:  CUDA_Host compute buffer size =    84.02 MiB
srv    load_model: speculative decoding context initialized
"""


@pytest.mark.parametrize(
    ("before", "parts"),
    [
        pytest.param("", ["draft"] * 2, id="alone"),
        pytest.param("llama_context: constructing llama_context\n", ["target"] * 2, id="of a context that began"),
        pytest.param(
            "llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB\n",
            ["target"] * 3,
            id="beside what may be another's",
        ),
    ],
)
def test_a_reservation_that_is_all_that_is_left_before_a_drafts_context_is_ready_is_the_drafts(
    tmp_path: Path, before: str, parts: list[str]
) -> None:
    found = case(tmp_path, server=RESERVED.format(before=before))
    assert [part for _, _, part, *_ in items(found)] == parts
    lines = "SELECT DISTINCT line.part FROM line JOIN item USING (line_id)"
    assert rows(found, lines) == [(parts[0],)]


OLD = """\
llm_load_tensors: offloaded {offloaded}/35 layers to GPU
llm_load_tensors: VRAM used: {weights} MB
llama_new_context_with_model: n_ctx      = 2048
{vram}llama_new_context_with_model: kv self size  = 1024.00 MB
"""


@pytest.mark.parametrize(
    ("offloaded", "vram", "held"),
    [
        ("0", "", [("CPU", 1024.0)]),
        ("35", "llama_kv_cache_init: VRAM kv self = 1024.00 MB\n", [("CUDA", 1024.0)]),
        ("20", "", []),  # some of it is on the card, and nothing says how much
    ],
    ids=["none", "all", "some"],
)
def test_a_cache_without_a_device_is_the_hosts_where_no_layer_is_on_a_card(
    tmp_path: Path, offloaded: str, vram: str, held: list[tuple[str, float]]
) -> None:
    found = case(tmp_path, server=OLD.format(offloaded=offloaded, weights="0.00", vram=vram))
    caches = "SELECT device, round(size_bytes / 1048576, 2) FROM vram_ledger WHERE kind = 'kv_cache'"
    assert rows(found, caches) == held
