"""Who owns a line: each sentence on a log small enough to see."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import CATALOGUE, case, items, lives, owners, rows
from opened import journal, opened

from forensics.case import read_evidence

LOAD = """\
0.00.700.000 I srv    load_model: loading model '/m/{model}.gguf'
0.01.500.000 I load_tensors: loading model tensors, this can take a while... (load_mode = mmap)
0.01.600.000 I load_tensors:        CUDA0 model buffer size =  {weights} MiB
0.02.000.000 I llama_context: constructing llama_context
0.02.100.000 I llama_kv_cache:      CUDA0 KV buffer size =  {cache} MiB
0.02.500.000 I srv  llama_server: model loaded
0.02.600.000 I srv  update_slots: all slots are idle
"""
BEGIN = "0.00.438.019 I srv  llama_server: initializing ...\n"
ALPHA = LOAD.format(model="alpha", weights="4914.18", cache="2304.00")
BETA = LOAD.format(model="beta", weights="2118.81", cache="576.00")
CLEANUP = "0.09.589.530 I srv    operator(): operator(): cleaning up before exit...\n"
ALPHA_HOLDS = [(1, "CUDA0", "target", "kv_cache", 2304.0), (1, "CUDA0", "target", "weights", 4914.18)]
BETA_HOLDS = [(2, "CUDA0", "target", "kv_cache", 576.0), (2, "CUDA0", "target", "weights", 2118.81)]


def later(text: str, seconds: int) -> str:
    """The same lines, so many seconds later on the same clock."""
    return "".join(f"0.{int(line[2:4]) + seconds:02}{line[4:]}\n" for line in text.splitlines())


def test_the_lines_of_the_only_writer_are_its_loads(tmp_path: Path) -> None:
    found = case(tmp_path, server=BEGIN + ALPHA + CLEANUP)
    assert lives(found) == [(1, "alpha.gguf", True, "exit")]
    assert items(found) == ALPHA_HOLDS
    assert owners(found, "buffer_allocated") == [(1, "inferred", None)] * 2


SLEEP = """\
0.06.465.557 I que    start_loop: entering sleeping state
0.06.465.821 I srv  handle_sleep: server is entering sleeping state
0.10.660.052 I que    start_loop: exiting sleeping state
0.10.660.060 I srv  handle_sleep: server is exiting sleeping state
"""


ASKED = "{}.500.000 I srv  log_server_r: done request: GET /props 127.0.0.1 200\n"


@pytest.mark.parametrize("asked", ["", ASKED], ids=["nobody asks", "it answers while it loads"])
def test_a_sleep_ends_a_load_and_waking_begins_another_in_the_same_process(tmp_path: Path, asked: str) -> None:
    woken = "".join(f"{line}\n{asked.format(line[:4])}" for line in later(ALPHA, 11).splitlines())
    found = case(tmp_path, server=BEGIN + ALPHA + SLEEP + woken)
    assert lives(found) == [(1, "alpha.gguf", True, "sleep"), (2, "alpha.gguf", True, "log_ends")]
    assert items(found) == ALPHA_HOLDS + [(2, *row[1:]) for row in ALPHA_HOLDS]
    assert rows(found, "SELECT count(DISTINCT process_id) FROM load") == [(1,)]


def test_a_server_that_was_killed_and_started_again_may_sleep_and_wake_without_being_taken_for_two(
    tmp_path: Path,
) -> None:
    found = case(tmp_path, server=BEGIN + later(ALPHA, 8) + BEGIN + ALPHA + SLEEP + later(ALPHA, 11))
    assert lives(found) == [
        (1, "alpha.gguf", True, "unknown"),
        (2, "alpha.gguf", True, "sleep"),
        (3, "alpha.gguf", True, "log_ends"),
    ]
    assert rows(found, "SELECT count(DISTINCT process_id) FROM load") == [(2,)]
    assert rows(found, "SELECT count(*) FROM line WHERE scope = 'ambiguous'") == [(0,)]


def test_a_server_that_was_killed_and_started_again_in_one_file_is_two_loads(tmp_path: Path) -> None:
    found = case(tmp_path, server=BEGIN + later(ALPHA, 8) + BEGIN + BETA + CLEANUP)
    assert [row[:3] for row in lives(found)] == [(1, "alpha.gguf", True), (2, "beta.gguf", True)]
    assert items(found) == ALPHA_HOLDS + BETA_HOLDS


def test_children_of_a_router_are_told_apart_by_port_and_a_port_used_again_is_another_child(tmp_path: Path) -> None:
    def child(port: int, text: str) -> str:
        return "".join(f"[{port:5}] {line}\n" for line in text.splitlines())

    def spawn(clock: str, name: str, port: int) -> str:
        return f"{clock} I srv          load: spawning server instance with name={name} on port {port}\n"

    def exited(clock: str, name: str) -> str:
        return f"{clock} I srv           run: instance name={name} exited with status 0\n"

    found = case(
        tmp_path,
        router="0.00.588.655 I srv  llama_server: listening on http://127.0.0.1:8080\n"
        + spawn("0.00.725.988", "alpha", 35171)
        + child(35171, BEGIN + ALPHA)
        + exited("0.03.979.021", "alpha")
        + spawn("0.03.979.232", "beta", 35171)
        + child(35171, BEGIN + BETA),
    )
    assert [(row[0], row[2]) for row in lives(found)] == [(1, True), (2, True)]
    assert items(found) == ALPHA_HOLDS + BETA_HOLDS
    assert owners(found, "buffer_allocated") == [(1, "exact", None)] * 2 + [(2, "exact", None)] * 2


RESERVED = """\
0.02.200.000 I sched_reserve: reserving ...
0.02.300.000 I sched_reserve:      CUDA0 compute buffer size =  2259.14 MiB
0.02.300.010 I sched_reserve:      CUDA1 compute buffer size =  2169.13 MiB
0.02.310.000 I sched_reserve: reserve took 751.85 ms, sched copies = 4
"""
RESERVED_LESS = """\
0.02.400.000 I sched_reserve: reserving ...
0.02.410.000 I sched_reserve:      CUDA0 compute buffer size =   380.08 MiB
0.02.420.000 I sched_reserve: reserve took 20.12 ms, sched copies = 1
"""


def test_a_later_reservation_replaces_the_whole_earlier_one_on_all_devices(tmp_path: Path) -> None:
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    found = case(tmp_path, server=BEGIN + "".join(head) + RESERVED + RESERVED_LESS + ready + idle)
    assert [row for row in items(found) if row[3] == "compute"] == [(1, "CUDA0", "target", "compute", 380.08)]
    assert rows(found, "SELECT mark, count(*) FROM item WHERE kind = 'compute' GROUP BY mark ORDER BY mark") == [
        ("counted", 1),
        ("superseded", 2),
    ]


def test_the_bracket_of_a_draft_context_closes_and_what_it_holds_is_not_the_targets(tmp_path: Path) -> None:
    draft = """\
0.02.310.100 I common_speculative_init_result: creating MTP draft context against the target model '/m/alpha.gguf'
0.02.310.200 I llama_context: constructing llama_context
0.02.310.300 I llama_kv_cache:      CUDA1 KV buffer size =  1024.00 MiB
0.02.310.400 I sched_reserve: reserving ...
0.02.310.500 I sched_reserve:      CUDA1 compute buffer size =  1226.06 MiB
0.02.310.600 I sched_reserve: reserve took 671.22 ms, sched copies = 4
0.02.310.700 I clip_ctx: CLIP using CUDA0 backend
0.02.310.800 I load_hparams: model size:         639.55 MiB
0.02.310.900 I reserve_compute_meta:      CUDA0 compute buffer size =    28.30 MiB
"""
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    found = case(tmp_path, server=BEGIN + "".join(head) + RESERVED + draft + ready + idle)
    assert items(found) == [
        (1, "CUDA0", "target", "compute", 2259.14),
        (1, "CUDA0", "target", "kv_cache", 2304.0),
        (1, "CUDA0", "target", "weights", 4914.18),
        (1, "CUDA0", "vision", "compute", 28.3),
        (1, "CUDA0", "vision", "weights", 639.55),
        (1, "CUDA1", "mtp", "compute", 1226.06),
        (1, "CUDA1", "mtp", "kv_cache", 1024.0),
        (1, "CUDA1", "target", "compute", 2169.13),
    ]


def test_two_caches_of_one_device_in_one_context_add_up(tmp_path: Path) -> None:
    second = "0.02.100.500 I llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB\n"  # a model with sliding windows
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    found = case(tmp_path, server=BEGIN + "".join(head) + second + ready + idle)
    assert (1, "CUDA0", "target", "kv_cache", 2816.0) in items(found)


def test_what_a_dry_run_prints_is_planned_and_never_counted(tmp_path: Path) -> None:
    dry = """\
0.00.743.859 I cmn  common_init_: fitting params to device memory ...
0.00.800.000 I load_tensors:        CUDA0 model buffer size =  9999.00 MiB
0.00.900.000 I llama_kv_cache:      CUDA0 KV buffer size =  8888.00 MiB
0.01.400.000 I common_fit_params: fitting params to free memory took 0.66 seconds
"""
    begin, *rest = ALPHA.splitlines(keepends=True)
    found = case(tmp_path, server=BEGIN + begin + dry + "".join(rest))
    assert items(found) == ALPHA_HOLDS
    assert rows(found, "SELECT mark, count(*) FROM item GROUP BY mark ORDER BY mark") == [
        ("counted", 2),
        ("planned", 2),
    ]


SEARCHED = """\
srv    load_model: loading model '/m/alpha.gguf'
load_tensors:          CPU model buffer size =     0.00 MiB
load_tensors:        CUDA0 model buffer size =     0.00 MiB
load_tensors:        CUDA1 model buffer size =     0.00 MiB
llama_context:  CUDA_Host  output buffer size =     0.95 MiB
llama_kv_cache:      CUDA0 KV buffer size =     0.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =     0.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =    90.40 MiB
llama_memory_recurrent:      CUDA1 RS buffer size =    59.23 MiB
sched_reserve:      CUDA0 compute buffer size =  9952.25 MiB
sched_reserve:      CUDA1 compute buffer size =  6436.28 MiB
load_tensors:          CPU model buffer size =   682.03 MiB
load_tensors:        CUDA0 model buffer size =  8171.01 MiB
load_tensors:        CUDA1 model buffer size =  6618.25 MiB
llama_kv_cache:      CUDA0 KV buffer size =  9216.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =  7168.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =    90.40 MiB
llama_memory_recurrent:      CUDA1 RS buffer size =    59.23 MiB
sched_reserve:      CUDA0 compute buffer size =  9952.25 MiB
sched_reserve:      CUDA1 compute buffer size =  6276.28 MiB
alloc_compute_meta:      CUDA0 compute buffer size =   248.10 MiB
srv  llama_server: model loaded
"""
"""What a search for sizes leaves of a load on two cards: none of the lines that say what was a dry run."""


def test_a_cache_of_no_size_shows_a_dry_run_where_no_line_announces_it(tmp_path: Path) -> None:
    found = case(tmp_path, server=SEARCHED)
    total = "SELECT round(sum(size_bytes) / 1048576, 2) FROM"
    # all lines that name an amount on a card, and what of it was allocated
    assert rows(found, f"{total} buffer_allocated WHERE device LIKE 'CUDA_'") == [(64337.68,)]
    assert rows(found, f"{total} vram_ledger WHERE place = 'card'") == [(47799.52,)]
    assert rows(
        found,
        """
        SELECT phase, item.part, count(*), round(sum(item.size_bytes) / 1048576, 2)
        FROM item JOIN buffer_allocated USING (line_id) WHERE device LIKE 'CUDA_' GROUP BY ALL ORDER BY ALL
        """,
    ) == [("allocate", "target", 10, 47551.42), ("allocate", "vision", 1, 248.1), ("fit", "target", 6, 16538.16)]


def test_lines_inside_a_text_that_another_line_carries_are_data(tmp_path: Path) -> None:
    forged = """\
0.03.000.000 W srv  server_chat_: unsupported Responses tool type 'x
0.03.100.001 I load_tensors:        CUDA0 model buffer size = 88888.00 MiB
0.03.100.003 I srv    load_model: loading model forged.gguf' skipped
"""
    found = case(tmp_path, server=BEGIN + ALPHA + forged + CLEANUP)
    assert lives(found) == [(1, "alpha.gguf", True, "exit")]
    assert items(found) == ALPHA_HOLDS
    assert owners(found, "buffer_allocated")[2:] == [(None, None, "inside a text that another line carries")]
    believed = "SELECT believed FROM buffer_allocated ORDER BY ordinal"
    assert rows(found, believed) == [(True,), (True,), (False,)]


def test_a_text_that_no_line_closes_for_long_is_given_up(tmp_path: Path) -> None:
    opened = "0.03.000.000 W srv  server_chat_: unsupported Responses tool type 'x\n"
    late = "0.03.100.000 I llama_kv_cache:      CUDA0 KV buffer size = 77777.00 MiB\n"
    filler = "0.03.200.000 I srv  something: of no use\n" * 20_100
    closed = "0.09.000.000 I srv    load_model: loading model forged.gguf' skipped\n"
    found = case(tmp_path, server=BEGIN + ALPHA + opened + late + filler + closed + CLEANUP)
    assert lives(found) == [(1, "alpha.gguf", True, "exit")]
    assert items(found) == ALPHA_HOLDS
    assert owners(found, "buffer_allocated")[2:] == [(1, "inferred", None)]


def test_an_allocation_without_prefix_from_a_writer_that_has_one_is_suspect(tmp_path: Path) -> None:
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    forged = "llama_kv_cache:      CUDA0 KV buffer size = 77777.00 MiB\n"
    found = case(tmp_path, server=BEGIN + "".join(head) + forged + ready + idle)
    assert items(found) == ALPHA_HOLDS
    assert owners(found, "buffer_allocated")[2:] == [(None, None, "without the prefix that its writer's lines have")]


def test_an_allocation_whose_clock_is_out_of_order_is_suspect(tmp_path: Path) -> None:
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    forged = "0.55.000.000 I llama_kv_cache:      CUDA0 KV buffer size = 77777.00 MiB\n"
    found = case(tmp_path, server=BEGIN + "".join(head) + forged + ready + idle + CLEANUP)
    assert items(found) == ALPHA_HOLDS
    assert owners(found, "buffer_allocated")[2:] == [(None, None, "its clock does not fit its writer's other lines")]


def test_an_allocation_after_it_got_ready_is_a_claim_and_not_counted(tmp_path: Path) -> None:
    late = "0.03.000.000 I llama_kv_cache:      CUDA0 KV buffer size = 77777.00 MiB\n"
    found = case(tmp_path, server=BEGIN + ALPHA + late)
    assert items(found) == ALPHA_HOLDS


def test_a_line_that_two_loads_could_have_written_is_ambiguous_and_names_both(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server="""\
srv    load_model: loading model '/m/alpha.gguf'
srv    load_model: loading model '/m/beta.gguf'
load_tensors:        CUDA0 model buffer size =  4914.18 MiB
""",
    )
    assert items(found) == []
    assert owners(found, "buffer_allocated") == [(None, "ambiguous", None)]
    candidates = "SELECT len(string_split(candidates, ' ')) FROM line WHERE event = 'buffer_allocated'"
    assert rows(found, candidates) == [(2,)]


def test_timings_below_a_head_of_their_own_take_its_task(tmp_path: Path) -> None:
    # Until b9229 a request's timings came as one message of several lines, and only the first of them says whose.
    timings = (
        "slot print_timing: id  0 | task 7 | \n"
        "prompt eval time =     421.11 ms /    72 tokens (    5.85 ms per token,   170.98 tokens per second)\n"
        "       eval time =    1011.92 ms /    33 tokens (   30.66 ms per token,    32.61 tokens per second)\n"
        "      total time =    1433.03 ms /   105 tokens\n"
    )
    bare = "".join(f"{line[15:]}\n" for line in (BEGIN + ALPHA).splitlines())
    assert rows(
        case(tmp_path, log=bare + timings), "SELECT what, tokens, task FROM request_timed ORDER BY ordinal"
    ) == [
        ("prompt", 72, 7),
        ("decode", 33, 7),
        ("total", 105, 7),
    ]


def test_a_managers_line_that_names_no_invocation_ends_the_newest_start_of_its_unit(tmp_path: Path) -> None:
    load = (
        "0.00.200.000 I srv    load_model: loading model '/m/a.gguf'",
        "0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB",
    )
    manager = {"_PID": "1", "_TRANSPORT": "journal", "UNIT": "llm.service", "_SYSTEMD_UNIT": "init.scope"}
    found = opened(
        tmp_path,
        box_json=journal(41, 0, *load)
        + journal(42, 100, *load)
        + journal(1, 200, "llm.service: Main process exited, code=killed, status=9/KILL", **manager),
    )
    assert rows(found, "SELECT begun_us < 1789718460000000, end_reason FROM load ORDER BY number") == [
        (True, "log_ends"),
        (False, "killed"),
    ]


def test_two_servers_of_one_unit_are_told_apart_by_the_process_ids_of_their_journal(tmp_path: Path) -> None:
    # What each server of several processes prints is tagged by its rank alone, which the other has as well.
    unit = {"_SYSTEMD_INVOCATION_ID": f"{1:032x}"}
    one = journal(
        41,
        0,
        "[2026-09-18 08:00:00] server_args=ServerArgs(model_path='org/One', tp_size=1)",
        "[2026-09-18 08:00:02 TP0] Load weight begin. avail mem=77.75 GB",
        "[2026-09-18 08:00:12 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, "
        "avail mem=62.45 GB, mem usage=15.30 GB.",
        **unit,
    )
    other = journal(
        42,
        60,
        "[2026-09-18 08:01:00] server_args=ServerArgs(model_path='org/Two', tp_size=1)",
        "[2026-09-18 08:01:02 TP0] Load weight begin. avail mem=77.75 GB",
        **unit,
    )
    ends = journal(41, 120, "[2026-09-18 08:02:00] SIGTERM received. Draining requests and shutting down...", **unit)
    found = opened(tmp_path, box_json=one + other + ends)
    whose = "SELECT model, string_agg(pattern, ' ' ORDER BY ordinal) FROM line JOIN load USING (load_id) GROUP BY ALL"
    assert rows(found, f"{whose} ORDER BY model") == [
        ("org/One", "arguments load_begins weights drain_begins"),
        ("org/Two", "arguments load_begins"),
    ]


def test_one_more_buffer_of_weights_on_a_device_is_of_a_second_model_and_so_is_what_follows(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server="""\
load_tensors:   CPU_Mapped model buffer size =   400.00 MiB
load_tensors:   CPU_Mapped model buffer size =   100.00 MiB
load_tensors:        CUDA1 model buffer size =  3313.42 MiB
load_tensors:        CUDA1 model buffer size =   655.73 MiB
llama_kv_cache:      CUDA1 KV buffer size =    80.00 MiB
sched_reserve:      CUDA1 compute buffer size =  1606.48 MiB
""",
    )
    assert items(found) == [
        (1, "CPU_Mapped", "target", "weights", 500.0),
        (1, "CUDA1", "draft", "compute", 1606.48),
        (1, "CUDA1", "draft", "kv_cache", 80.0),
        (1, "CUDA1", "draft", "weights", 655.73),
        (1, "CUDA1", "target", "weights", 3313.42),
    ]
    assert rows(found, "SELECT parts FROM loads") == [("target draft",)]


def test_a_table_that_is_printed_at_exit_shows_one_load_where_it_is_all_that_is_left(tmp_path: Path) -> None:
    table = """\
llama_print_memory_breakdown: memory breakdown:      total   free     self   model   context   compute    unaccounted
llama_print_memory_breakdown:   - CUDA0 (RTX 4090):  24080 = 9436 + (14193 = 13169 +      38 +     985) +         451
llama_print_memory_breakdown:   - CUDA1 (RTX 4090):  24080 = 9868 + (13756 = 13169 +      38 +     548) +         456
"""
    owned = "SELECT number, device, self_bytes // 1048576 FROM breakdown_reported JOIN load USING (load_id)"
    assert rows(case(tmp_path, once=table), f"{owned} ORDER BY device") == [(1, "CUDA0", 14193), (1, "CUDA1", 13756)]
    assert rows(case(tmp_path, twice=table + table), f"{owned} WHERE device = 'CUDA0' ORDER BY number") == [
        (1, "CUDA0", 14193),
        (2, "CUDA0", 14193),
    ]


def test_a_killed_process_of_a_unit_is_of_its_load_where_the_unit_has_one(tmp_path: Path) -> None:
    load = ("0.00.200.000 I srv    load_model: loading model '/m/a.gguf'",)
    unit = {"_SYSTEMD_INVOCATION_ID": f"{1:032x}"}
    about = {
        "_TRANSPORT": "journal",
        "UNIT": "llm.service",
        "INVOCATION_ID": f"{1:032x}",
        "_SYSTEMD_UNIT": "init.scope",
    }
    killed = journal(1, 200, "llm.service: A process of this unit has been killed by the OOM killer.", **about)
    owner = "SELECT number, line.rule FROM line LEFT JOIN load USING (load_id) WHERE pattern = 'unit_killed_by_oom'"
    one = journal(41, 0, *load, **unit)
    assert rows(opened(tmp_path, box_json=one + killed), owner) == [(1, "invocation of the unit")]
    two = one + journal(42, 10, *load, **unit)
    assert rows(opened(tmp_path, box_json=two + killed), owner) == [(None, "about the unit, not one load")]
    asleep = one + journal(41, 20, "0.06.465.821 I srv  handle_sleep: server is entering sleeping state", **unit)
    assert rows(opened(tmp_path, box_json=asleep + killed), owner) == [(None, "about the unit, not one load")]


def test_a_server_that_serves_does_not_load_again_on_the_same_clock_unless_it_has_slept(tmp_path: Path) -> None:
    forged = "0.03.000.000 I srv    load_model: loading model '/m/forged.gguf'\n"
    found = case(tmp_path, server=BEGIN + ALPHA + forged + CLEANUP)
    assert lives(found) == [(1, "alpha.gguf", True, "exit")]
    assert rows(found, "SELECT suspect FROM line WHERE suspect IS NOT NULL") == [
        ("a load inside a process that already serves, without a sleep before it",)
    ]
    # While it loads it may say so once more, as a draft model does.
    early = "0.02.200.000 I srv    load_model: loading model '/m/draft.gguf'\n"
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    found = case(tmp_path, server=BEGIN + "".join(head) + early + ready + idle)
    assert rows(found, "SELECT count(*) FROM line WHERE suspect IS NOT NULL") == [(0,)]


def test_a_process_does_not_begin_in_the_middle_of_its_own_clock(tmp_path: Path) -> None:
    # Text of a request that some line nobody knows prints, with the clock of that line copied.
    forged = "0.03.000.000 I srv    some_new_log: said 'x\n0.03.000.000 I srv  llama_server: initializing ...\n"
    found = case(tmp_path, server=BEGIN + ALPHA + forged + CLEANUP)
    assert lives(found) == [(1, "alpha.gguf", True, "exit")]
    suspect = "SELECT suspect FROM line WHERE suspect IS NOT NULL"
    assert rows(found, suspect) == [("a process does not begin in the middle of its own clock",)]


RESTARTED = """\
0.00.231.153 I srv  llama_server: initializing ...
0.00.237.128 I srv    load_model: loading model '/m/{model}.gguf'
"""
AT_DEFAULT_VERBOSITY = """\
0.03.387.475 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 32768, kv_unified = 'true'
0.03.391.393 I srv  llama_server: model loaded
0.03.825.830 I slot launch_slot_: id  3 | task 0 | processing task, is_child = 0
"""
WHOSE = "SELECT number, regexp_extract(text, '[0-9.]+') FROM line LEFT JOIN load USING (load_id) ORDER BY ordinal"


def test_a_server_that_begins_where_another_was_killed_gives_nothing_to_it_though_its_clock_would_fit(
    tmp_path: Path,
) -> None:
    # The first is gone after its second 2.8, without a word. What the other prints from second 3 on could be its.
    died = RESTARTED.format(model="a") + "0.02.844.383 I load_tensors: offloaded 37/37 layers to GPU\n"
    found = case(tmp_path, server=died + RESTARTED.format(model="b") + AT_DEFAULT_VERBOSITY)
    owned = [(load, clock) for load, clock in rows(found, WHOSE) if clock >= "0.03"]
    assert [load for load, _ in owned] == [None] * 3


def test_a_server_that_begins_where_another_said_that_it_ends_owns_what_comes_then(tmp_path: Path) -> None:
    ended = RESTARTED.format(model="a") + CLEANUP.replace("0.09.589.530", "0.02.844.383")
    found = case(tmp_path, server=ended + RESTARTED.format(model="b") + AT_DEFAULT_VERBOSITY)
    assert [load for load, clock in rows(found, WHOSE) if clock >= "0.03"] == [2] * 3


def test_an_amount_without_a_prefix_where_two_servers_with_one_write_is_suspect_and_of_neither(tmp_path: Path) -> None:
    died = RESTARTED.format(model="a") + "0.02.844.383 I load_tensors: offloaded 37/37 layers to GPU\n"
    both = died + RESTARTED.format(model="b") + AT_DEFAULT_VERBOSITY.splitlines()[0] + "\n"
    found = case(tmp_path, server=both + LATE.format(""))
    assert owners(found, "buffer_allocated") == [(None, None, "without the prefix that its writers' lines have")]
    assert items(found) == []


def test_what_begins_before_a_second_ready_line_is_another_server_and_no_forgery(
    tmp_path: Path,
) -> None:
    # Which of the two serves the last request, nothing says.
    first = RESTARTED.format(model="a") + "0.00.659.624 I srv  llama_server: model loaded\n"
    request = "0.01.420.631 I slot launch_slot_: id  1 | task 3 | processing task, is_child = 0\n"
    found = case(tmp_path, server=first + request + RESTARTED.format(model="b") + AT_DEFAULT_VERBOSITY)
    assert [model for _, model, *_ in lives(found)] == ["a.gguf", "b.gguf"]
    assert rows(found, "SELECT count(*) FROM line WHERE suspect IS NOT NULL") == [(0,)]
    assert [load for load, clock in rows(found, WHOSE) if clock >= "0.03"] == [2, 2, None]


def test_a_line_that_tells_nothing_of_its_writer_is_owned_only_where_one_server_writes(tmp_path: Path) -> None:
    begin = "srv    load_model: loading model '/m/{}.gguf'\n"
    table = '{"type":"fit_memory_breakdown","data":{"unit":"MiB","rows":[]}}\n'
    owner = "SELECT number FROM line LEFT JOIN load USING (load_id) WHERE pattern = 'breakdown_json'"
    assert rows(case(tmp_path, one=begin.format("a") + table), owner) == [(1,)]
    assert rows(case(tmp_path, two=begin.format("a") + begin.format("b") + table), owner) == [(None,)]
    other = (
        '{"type":"log","time":3671,"level":"info","msg":"cmn  common_init_: fitting params to device memory ...\\n"}\n'
    )
    assert rows(case(tmp_path, three=begin.format("a") + other + table), owner) == [(None,)]


def test_a_server_that_wakes_beside_another_is_not_taken_for_it(tmp_path: Path) -> None:
    # One that fell asleep, one that began and served meanwhile: neither says who of them prints under their one name.
    sleeps = "0.06.465.821 I srv  handle_sleep: server is entering sleeping state\n"
    wakes = "0.10.660.060 I srv  handle_sleep: server is exiting sleeping state\n"
    found = case(tmp_path, server=BEGIN + ALPHA + sleeps + BEGIN + BETA + wakes)
    assert [load for load, clock in rows(found, WHOSE) if clock == "0.10.660.060"] == [1]
    assert [model for _, model, *_ in lives(found)] == ["alpha.gguf", "beta.gguf"]


def test_the_first_words_under_a_trusted_process_id_that_another_server_has_too_are_only_inferred(
    tmp_path: Path,
) -> None:
    # A script's children write to one pipe, and the journal knows the script: its pid tells nobody apart.
    found = opened(tmp_path, box_json=journal(41, 0, BEGIN, BEGIN, *ALPHA.splitlines()))
    begins = "SELECT scope, rule FROM line WHERE text LIKE '%initializing ...' ORDER BY ordinal"
    assert rows(found, begins) == [("exact", "first words of a process"), ("inferred", "first words of a process")]


ROUTER = "0.00.588.655 I srv  llama_server: listening on http://127.0.0.1:8080\n"
SPAWNS = "0.0{}.725.988 I srv          load: spawning server instance with name={} on port 35171\n"
EXITED = "0.03.979.021 I srv           run: instance name=alpha exited with status 0\n"
LATE = "{}llama_kv_cache:      CUDA0 KV buffer size = 77777.00 MiB\n"


def of_port(text: str) -> str:
    """The lines of a router's child, as the router prints them."""
    return "".join(f"[35171] {line}\n" for line in text.splitlines())


def without_prefix(text: str) -> str:
    return "".join(f"{line[15:]}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("log", "names"),
    [
        (
            ROUTER
            + SPAWNS.format(0, "alpha")
            + of_port(BEGIN + ALPHA)
            + SPAWNS.format(4, "beta")
            + of_port(BEGIN + BETA),
            ("alpha", "beta"),
        ),
        (ROUTER + of_port(BEGIN + ALPHA) + of_port(BEGIN + BETA), ("alpha.gguf", "beta.gguf")),
        (of_port(without_prefix(ALPHA) + without_prefix(BETA)), ("alpha.gguf", "beta.gguf")),
    ],
    ids=["spawned again", "its first words again", "a load again, without a clock"],
)
def test_a_child_that_begins_again_on_a_port_is_another_and_the_one_before_is_gone(
    tmp_path: Path, log: str, names: tuple[str, str]
) -> None:
    found = case(tmp_path, server=log)
    assert lives(found) == [(1, names[0], True, "unknown"), (2, names[1], True, "log_ends")]
    assert items(found) == ALPHA_HOLDS + BETA_HOLDS
    assert rows(found, "SELECT count(DISTINCT process_id) FROM load") == [(2,)]
    assert {(scope, suspect) for _, scope, suspect in owners(found, "buffer_allocated")} == {("exact", None)}


@pytest.mark.parametrize(
    ("clock", "number"), [("0.50.000.000", None), ("0.00.100.000", 2)], ids=["goes on", "begins anew"]
)
def test_the_last_words_of_a_child_behind_the_next_ones_spawn_are_not_given_to_the_next_one(
    tmp_path: Path, clock: str, number: int | None
) -> None:
    spawned = ROUTER + SPAWNS.format(0, "alpha") + of_port(BEGIN + ALPHA) + SPAWNS.format(4, "beta")
    words = of_port(f"{clock} I srv    operator(): operator(): cleaning up before exit...")
    found = case(tmp_path, server=spawned + words + of_port(BEGIN + BETA))
    assert rows(found, "SELECT number FROM load_ended LEFT JOIN load USING (load_id)") == [(number,)]
    if number is None:
        assert lives(found) == [(1, "alpha", True, "unknown"), (2, "beta", True, "log_ends")]
        assert items(found) == ALPHA_HOLDS + BETA_HOLDS


def test_what_a_childs_tag_stands_before_when_it_is_gone_is_of_its_process_and_of_no_load(tmp_path: Path) -> None:
    begun = ROUTER + SPAWNS.format(0, "alpha") + of_port(BEGIN + ALPHA)
    found = case(tmp_path, server=begun + EXITED + of_port(LATE.format("0.09.100.000 I ")))
    assert items(found) == ALPHA_HOLDS
    last = "SELECT load_id, process_id IS NOT NULL, rule FROM line ORDER BY ordinal DESC LIMIT 1"
    assert rows(found, last) == [(None, True, "tag of the line; the load has ended")]


@pytest.mark.parametrize("server", [False, True], ids=["a router's child", "a server"])
def test_an_amount_that_lacks_the_prefix_of_its_writers_lines_is_suspect_while_it_loads(
    tmp_path: Path, server: bool
) -> None:
    loading = "".join(f"{line}\n" for line in (BEGIN + ALPHA).splitlines()[:6])
    text = loading + LATE.format("")
    found = case(tmp_path, server=text if server else ROUTER + SPAWNS.format(0, "alpha") + of_port(text))
    assert items(found) == ALPHA_HOLDS
    assert owners(found, "buffer_allocated")[2:] == [(None, None, "without the prefix that its writer's lines have")]


def test_starts_of_a_server_of_several_processes_are_told_apart_though_their_process_ids_recur(tmp_path: Path) -> None:
    start = (
        "(APIServer pid=1) INFO 06-01 10:0{n}:34 [utils.py:278] non-default args: {{'model': '/models/a'}}\n"
        "(EngineCore pid={pid}) INFO 06-01 10:0{n}:57 [kv_cache_utils.py:1733] GPU KV cache size: {n}00,000 tokens\n"
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
    )
    untagged = "INFO 06-01 10:09:57 [kv_cache_utils.py:1733] GPU KV cache size: 7 tokens\n"
    found = case(
        tmp_path, server="".join(start.format(n=n, pid=pid) for n, pid in ((1, 128), (2, 129), (3, 128))) + untagged
    )
    assert [row[2:] for row in lives(found)] == [(False, "failed")] * 3
    owned = "SELECT number, tokens FROM pool_sized LEFT JOIN load USING (load_id) ORDER BY tokens"
    assert rows(found, owned) == [(None, 7), (1, 100000), (2, 200000), (3, 300000)]
    last = "SELECT rule, process_id = (SELECT process_id FROM load WHERE number = 3) FROM line ORDER BY ordinal DESC"
    assert rows(found, last)[0] == ("last start of its stream; the load has ended", True)


def test_lines_that_only_report_are_counted_and_cited_beside_those_that_act(tmp_path: Path) -> None:
    request = "slot update_slots: id  3 | task {0} | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 9"
    served = without_prefix(ALPHA).splitlines() + [request.format(task) for task in range(50)]
    (tmp_path / "box.json").write_text(journal(41, 0, *served), "utf-8")
    ownership = read_evidence([tmp_path / "box.json"], CATALOGUE).ownership
    assert len(ownership.lines) < len(served)  # the rest is kept as columns
    assert ownership.count() == len(ownership.owned) == len(served)
    assert ownership.cursors() == {one.line.cursor for one in ownership.owned}
    assert len(ownership.cursors()) == len(served)
    assert {one.load for one in ownership.owned} == set(ownership.loads)
    assert [one.line.order for one in ownership.owned] == sorted(one.line.order for one in ownership.owned)
    seen = [one.line.text for _, one in ownership.first_and_last()]
    assert sorted(seen) == sorted([served[-51], request.format(0), request.format(49)])


def test_a_routers_child_is_ready_when_a_request_goes_to_its_port(tmp_path: Path) -> None:
    def of(port: int, text: str) -> str:
        return "".join(f"[{port}] {line}\n" for line in text.splitlines()[:-2])

    spawn = "0.00.7{}.000 I srv          load: spawning server instance with name={} on port {}\n"
    request = "0.03.357.162 I srv  proxy_reques: proxying request to model beta on port 35172\n"
    begun = ROUTER + spawn.format(25, "alpha", 35171) + spawn.format(35, "beta", 35172)
    found = case(tmp_path, server=begun + of(35171, BEGIN + ALPHA) + of(35172, BEGIN + BETA) + request)
    assert lives(found) == [(1, "alpha", False, "log_ends"), (2, "beta", True, "log_ends")]


def test_a_line_whose_clock_contradicts_its_writers_is_of_no_load_even_where_it_changes_nothing(tmp_path: Path) -> None:
    # A request's text could hold such a line, and so could another server that writes under the same name.
    timing = "0.{}.000.000 I slot print_timing: id  0 | task 0 | graphs reused = 31\n"
    found = case(tmp_path, server=BEGIN + ALPHA + timing.format("03") + timing.format("58") + CLEANUP)
    reused = (
        "SELECT number, rule FROM line LEFT JOIN load USING (load_id) WHERE pattern = 'graphs_reused' ORDER BY record"
    )
    assert rows(found, reused) == [
        (1, "only writer of its source"),
        (None, "its clock does not fit its writer's other lines"),
    ]


RELAY = """\
Welcome to KoboldCpp - Version 1.119
Loading Text Model: /m/alpha.gguf
build: 4589 (eb7cf15a) with gcc-12 (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu
main: HTTP server is listening, hostname: 0.0.0.0, port: 8008, http threads: 15
srv    load_model: loading model '/m/beta.gguf'
"""


def test_what_loads_a_file_that_no_supervisor_announced_is_a_server_of_its_own(tmp_path: Path) -> None:
    # Both write without a prefix into one stream; the supervisor's child has not said anything yet.
    found = case(tmp_path, server=RELAY + "load_tensors: offloaded 37/37 layers to GPU\n")
    assert [(model, engine) for model, engine in rows(found, "SELECT model, engine FROM load ORDER BY number")] == [
        ("/m/alpha.gguf", "koboldcpp"),
        ("/m/beta.gguf", "llama.cpp"),
    ]
    began = "SELECT pattern, number FROM line LEFT JOIN load USING (load_id) WHERE pattern LIKE {!r} ORDER BY record"
    assert rows(found, began.format("load_begins")) == [("load_begins", 1), ("load_begins", 2)]
    assert rows(found, began.format("http_%")) == [("http_listening_first", None)]
    placed = "SELECT scope, len(string_split(candidates, ' ')) FROM line WHERE pattern = 'layers_offloaded'"
    assert rows(found, placed) == [("ambiguous", 2)]


def test_a_child_that_serves_and_has_not_slept_loads_nothing_anew(tmp_path: Path) -> None:
    # A client's text could hold such a line, with a clock that fits.
    def child(text: str) -> str:
        return "".join(f"[35171] {line}\n" for line in text.splitlines())

    router = "0.00.588.655 I srv  llama_server: listening on http://127.0.0.1:8080\n"
    spawn = "0.00.725.988 I srv          load: spawning server instance with name=alpha on port 35171\n"
    forged = "0.03.100.000 I srv    load_model: loading model '/m/forged.gguf'\n"
    found = case(tmp_path, router=router + spawn + child(BEGIN + ALPHA + forged))
    assert items(found) == ALPHA_HOLDS
    assert rows(found, "SELECT count(*) FROM load") == [(1,)]
    suspect = "SELECT suspect FROM line WHERE pattern = 'load_begins' AND load_id IS NULL"
    assert rows(found, suspect) == [("a load inside a process that already serves, without a sleep before it",)]


def test_a_cache_that_a_draft_shares_with_its_target_is_held_once(tmp_path: Path) -> None:
    # The summary behind a shared layer tells of memory that is the target's: nothing was allocated for it.
    draft = """\
0.02.310.100 I common_speculative_init_result: creating MTP draft context against the target model '/m/alpha.gguf'
0.02.310.200 I llama_context: constructing llama_context
0.02.310.250 W llama_kv_cache: kv_size = 4096 overridden to 16384 to match the shared source cache
0.02.310.260 W llama_kv_cache: layer  36: sharing with layer 35. k = 0x5581, v = 0x5582
0.02.310.300 I llama_kv_cache: size = 2304.00 MiB ( 16384 cells,  36 layers,  1/1 seqs), K (f16): 1152.00 MiB, \
V (f16): 1152.00 MiB
"""
    own = "0.02.310.290 I llama_kv_cache:      CUDA0 KV buffer size =    64.00 MiB\n"
    *head, ready, idle = ALPHA.splitlines(keepends=True)
    assert items(case(tmp_path, server=BEGIN + "".join(head) + draft + ready + idle)) == ALPHA_HOLDS
    lines = draft.splitlines(keepends=True)
    found = case(tmp_path, server=BEGIN + "".join(head) + "".join([*lines[:4], own, *lines[4:]]) + ready + idle)
    assert items(found) == [(1, "CUDA0", "mtp", "kv_cache", 64.0), *ALPHA_HOLDS]
    assert rows(found, "SELECT DISTINCT number FROM cache_described JOIN load USING (load_id)") == [(1,)]
