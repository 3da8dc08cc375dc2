"""Crashes: one failure for each root, with its request, its memory, what the host says, and counter-examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import exited_of as exited
from opened import journal, opened
from opened import manager_of as manager

from forensics.answer import Answer, Ask
from forensics.ask_crashes import crashes

BEGIN = """
srv    load_model: loading model '/srv/models/{model}.gguf'
llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:0a:00.0) - 23525 MiB free
load_tensors:        CUDA0 model buffer size =  5000.00 MiB
srv  llama_server: model loaded
"""
LAUNCH = """
slot launch_slot_: id  0 | task {task} | processing task, is_child = 0
slot   operator(): id  0 | task {task} | new prompt, n_ctx_slot = 262144, n_keep = 0, task.n_tokens = {tokens}
slot   operator(): id  0 | task {task} | cached n_tokens = 2048, memory_seq_rm [2048, end)
"""
RELEASE = "slot      release: id  0 | task {task} | stop processing: n_tokens = {tokens}, truncated = 0"
INTERNAL = """
CUDA error: an internal operation failed
  current device: 0, in function ggml_cuda_op_mul_mat_cublas at /src/ggml/src/ggml-cuda/ggml-cuda.cu:1337
  cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N)
/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error
"""
ILLEGAL = INTERNAL.replace("an internal operation failed", "an illegal memory access was encountered")


def load(pid: int, seconds: float, model: str, served: tuple[int, ...] = (), failing: int = 0, error: str = "") -> str:
    """A load that serves prompts of some lengths and, perhaps, dies on one more."""
    lines = [BEGIN.format(model=model)]
    for task, tokens in enumerate(served):
        lines += [LAUNCH.format(task=task, tokens=tokens), RELEASE.format(task=task, tokens=tokens + 100)]
    if failing:
        lines += [LAUNCH.format(task=len(served), tokens=failing), error]
    return journal(pid, seconds, "\n".join(line.strip() for line in lines).replace("\n\n", "\n"))


def kernel(seconds: float, message: str) -> str:
    return journal(0, seconds, message, _TRANSPORT="kernel", SYSLOG_IDENTIFIER="kernel")


def ask(folder: Path, *parts: str) -> Answer:
    return crashes(Ask(opened(folder, server_log="".join(parts))))


def claims(answer: Answer) -> str:
    return " ".join(answer.about)


def test_one_dead_process_is_one_failure_and_later_lines_only_follow(tmp_path: Path) -> None:
    answer = ask(tmp_path, load(100, 0, "m", failing=5464, error=INTERNAL), exited(100, 1, "dumped", "6/ABRT"))
    (one,) = answer.document["failures"]
    assert (one["error_class"], one["outcome"]) == ("an internal operation failed", "ended")
    assert one["message"] == "CUDA error: an internal operation failed"
    assert [entry["rank"] for entry in one["followed"]] == ["consequence", "consequence", "consequence"]
    assert answer.verdict == "m (load 1) failed: an internal operation failed; 3 lines only followed."


def test_the_request_in_flight_is_the_one_launched_and_not_released(tmp_path: Path) -> None:
    answer = ask(tmp_path, load(100, 0, "m", served=(30,), failing=5464, error=INTERNAL))
    (one,) = answer.document["failures"]
    assert [(entry["task"], entry["prompt_tokens"], entry["cached_tokens"]) for entry in one["requests"]] == [
        (1, 5464, 2048)
    ]
    assert one["last_texts"][-1].endswith("CUDA error")


def grid(folder: Path) -> Answer:
    """Three builds of one model die on the middle prompt, five of five times; a fourth serves it."""
    parts = []
    pid = 100
    for model, error in (("a-Q4_K_M", INTERNAL), ("b-Q4_K_M", INTERNAL), ("c-Q4_K_M", ILLEGAL)):
        for run in range(5):
            parts.append(load(pid, 100 * pid, model, served=(300, 12000), failing=5464, error=error))
            parts.append(exited(pid, 100 * pid + 1, "dumped", "6/ABRT"))
            pid, _ = pid + 1, run
    parts.append(load(pid, 100 * pid, "d-IQ2_M", served=(5464,) * 5 + (300,) * 3))
    return ask(folder, *parts)


def test_the_grid_shows_models_sizes_and_two_classes_of_error(tmp_path: Path) -> None:
    answer = grid(tmp_path)
    cells = {
        (cell["model"].rsplit("/", 1)[-1], cell["tokens_from"]): (cell["served"], cell["crashed"], cell["classes"])
        for cell in answer.document["grid"]
    }
    assert cells == {
        ("a-Q4_K_M.gguf", 256): (5, 0, []),
        ("a-Q4_K_M.gguf", 4096): (0, 5, ["an internal operation failed"]),
        ("a-Q4_K_M.gguf", 8192): (5, 0, []),
        ("b-Q4_K_M.gguf", 256): (5, 0, []),
        ("b-Q4_K_M.gguf", 4096): (0, 5, ["an internal operation failed"]),
        ("b-Q4_K_M.gguf", 8192): (5, 0, []),
        ("c-Q4_K_M.gguf", 256): (5, 0, []),
        ("c-Q4_K_M.gguf", 4096): (0, 5, ["an illegal memory access was encountered"]),
        ("c-Q4_K_M.gguf", 8192): (5, 0, []),
        ("d-IQ2_M.gguf", 256): (3, 0, []),
        ("d-IQ2_M.gguf", 4096): (5, 0, []),
    }
    assert "2 classes of error, not one" in claims(answer)
    assert answer.verdict == (
        "15 failures: 10 of “an internal operation failed” (a-Q4_K_M, loads 1–5; b-Q4_K_M, loads 6–10); 5 of “an "
        "illegal memory access was encountered” (c-Q4_K_M, loads 11–15)."
    )
    # one sentence for each model, one for the driver, and one for what 15 loads paid
    assert (len(answer.about), len(answer.document["findings"])) == (7, 47)
    assert "supported: 15 loads that followed (2–16) took 0.0 s to load: what was measured with the first" in claims(
        answer
    )


def test_what_a_build_that_works_has_too_is_rejected_as_a_cause(tmp_path: Path) -> None:
    unused = "model has unused tensor blk.40.attn_norm.weight (size = 20480 bytes) -- ignoring"
    parts = []
    for pid, (model, layers) in enumerate(
        (("a-Q4_K_M", 41), ("b-Q4_K_M", 41), ("c-Q4_K_M", 41), ("d-IQ2_M", 41), ("e-Q8_0", 49)), 100
    ):
        text = load(
            pid,
            100 * pid,
            model,
            *(((5464,), 0, "") if model in {"d-IQ2_M", "e-Q8_0"} else ((300,), 5464, INTERNAL)),
        )
        told = f"{unused}\\nload_tensors: offloaded {layers}/{layers} layers to GPU"
        first, second = text.split("\n", 1)
        parts.append(first + "\n" + journal(pid, 100 * pid + 0.0005, *told.split("\\n")) + second)
    document = ask(tmp_path, *parts).document
    assert [(one["name"], one["failed"], one["served"]) for one in document["rejected"]] == [
        ("layers offloaded", "41/41", ["41/41", "49/49"]),
        ("unused tensors", "printed", ["printed"]),
    ]
    (claim,) = [one for one in document["findings"] if one["claim"].startswith("No causes")]
    assert claim["state"] == "contradicted"
    assert claim["claim"] == (
        "No causes by themselves, since loads that served the same size have them too: layers offloaded 41/41, "
        "unused tensors printed."
    )
    assert len(claim["against"]) > 0


def test_counter_examples_stand_beside_the_crash(tmp_path: Path) -> None:
    counter = grid(tmp_path).document["counter_examples"]
    assert [
        (one["model"].rsplit("/", 1)[-1], one["tokens_from"], one["served"]) for one in counter if one["same"] == "size"
    ] == [("d-IQ2_M.gguf", 4096, 5)]
    assert {one["tokens_from"] for one in counter if one["same"] == "model"} == {256, 8192}


def test_what_others_know_of_an_error_is_a_candidate_with_what_would_tell(tmp_path: Path) -> None:
    (one,) = ask(tmp_path, load(100, 0, "m", failing=5464, error=INTERNAL)).document["failures"]
    assert [(entry["class"], entry["separates"], entry["source"]) for entry in one["candidates"]] == [
        (
            "data_dependent_library_failure",
            "the same prompt with -ub 256; another text of the same length",
            "llama.cpp issues 28377 and 23407",
        )
    ]
    assert [finding["state"] for finding in one["findings"]] == ["not established", "supported"]


@pytest.mark.parametrize(("tokens", "known"), [(1213, True), (900, False)], ids=["as in another's log", "too short"])
def test_what_others_know_of_an_error_is_of_prompts_like_theirs(tmp_path: Path, tokens: int, known: bool) -> None:
    (one,) = ask(tmp_path, load(100, 0, "m", failing=tokens, error=INTERNAL)).document["failures"]
    assert ("data_dependent_library_failure" in {entry["class"] for entry in one["candidates"]}) is known


def test_a_drivers_error_carries_the_caveat_that_it_surfaces_late(tmp_path: Path) -> None:
    answer = ask(tmp_path, load(100, 0, "m", failing=5464, error=ILLEGAL))
    assert "the call that is named is where the error surfaced, not where it was made" in claims(answer)


def test_the_next_load_paid_for_the_crash(tmp_path: Path) -> None:
    parts = (load(100, 0, "m", failing=5464, error=INTERNAL), exited(100, 1, "dumped", "6/ABRT"), load(200, 21, "m"))
    (one,) = ask(tmp_path, *parts).document["failures"]
    assert (one["next_load"]["number"], round(one["next_load"]["gap_s"])) == (2, 20)


def test_what_fails_in_the_same_way_each_time_is_told_once_with_all_its_loads(tmp_path: Path) -> None:
    answer = ask(tmp_path, *(load(pid, 10 * pid, "m", failing=900, error=ILLEGAL) for pid in range(100, 104)))
    assert answer.verdict == "4 failures, all of them “an illegal memory access was encountered” (m, loads 1–4)."
    assert [one.split(" failed ")[0] for one in answer.about if " failed " in one] == ["not established: m (loads 1–4)"]
    assert len(answer.document["findings"]) == 2 * 4  # in the document each load has its own
    assert [section.title for section in answer.sections if section.title.startswith("m ")] == ["m (load 1)"]
    assert answer.next.startswith("To establish it: the same requests with CUDA_LAUNCH_BLOCKING=1")


def test_a_kill_from_outside_is_no_crash(tmp_path: Path) -> None:
    answer = ask(tmp_path, load(100, 0, "m", served=(30,)), exited(100, 5, "killed", "9/KILL"))
    (one,) = answer.document["failures"]
    assert (one["error_class"], one["root"], [entry["class"] for entry in one["candidates"]]) == (
        "killed",
        None,
        ["external_kill"],
    )
    assert answer.verdict == "m (load 1) was killed from outside; it did not fail by itself."
    assert "the service manager says 9/KILL" in claims(answer)


def test_an_oom_kill_of_the_host_is_told_by_the_hosts_lines(tmp_path: Path) -> None:
    answer = ask(
        tmp_path,
        load(100, 0, "m", served=(30,)),
        manager(100, 4.9, "llm.service: A process of this unit has been killed by the OOM killer."),
        exited(100, 5, "killed", "9/KILL"),
    )
    (one,) = answer.document["failures"]
    assert "host_oom_kill" in [entry["class"] for entry in one["candidates"]]


def test_a_kernels_error_of_the_loads_card_is_linked_by_the_card(tmp_path: Path) -> None:
    xid = "NVRM: Xid (PCI:0000:0a:00): 31, pid=4242, name=other, Ch 00000008, MMU Fault: ENGINE GRAPHICS"
    elsewhere = xid.replace("0000:0a:00", "0000:2b:00")
    (one,) = ask(
        tmp_path, load(100, 0, "m", failing=5464, error=ILLEGAL), kernel(0.5, xid), kernel(0.6, elsewhere)
    ).document["failures"]
    assert [(entry["what"], entry["number"], entry["how"]) for entry in one["host"]] == [
        ("xid", 31, "card"),
        ("xid", 31, "time"),
    ]
    assert "card_fault" in [entry["class"] for entry in one["candidates"]]


def test_an_engine_that_is_gone_without_a_word_has_no_root(tmp_path: Path) -> None:
    log = journal(
        100,
        0,
        "(APIServer pid=100) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {'model': '/m/q'}",
        "(EngineCore pid=9) INFO 09-18 08:00:09 [core.py:112] Initializing a V1 LLM engine (v0.25.1) with config: "
        "model='/m/q'",
        "(APIServer pid=100) INFO:     Application startup complete.",
        "(APIServer pid=100) WARNING 09-18 08:01:00 [core_client.py:702] [shutdown] MPClient: engine core exited "
        "unexpectedly; starting cleanup",
        "(APIServer pid=100) ERROR 09-18 08:01:00 [async_llm.py:704] AsyncLLM output_handler failed.",
        "(APIServer pid=100) ERROR 09-18 08:01:00 [async_llm.py:704] "
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the "
        "root cause.",
    )
    answer = ask(tmp_path, log)
    (one,) = answer.document["failures"]
    assert (one["error_class"], one["root"]) == ("no_word", None)
    assert [finding["state"] for finding in one["findings"]] == ["not established"]
    assert "3 lines only tell that it was gone" in claims(answer)


TORCH = (
    "(EngineCore pid=9) ERROR 09-18 08:01:00 [core.py:1119] torch.OutOfMemoryError: CUDA out of memory. Tried to "
    "allocate 50.00 MiB. GPU 0 has a total capacity of 23.56 GiB of which 24.50 MiB is free. Including non-PyTorch "
    "memory, this process has 23.20 GiB memory in use. Of the allocated memory 22.10 GiB is allocated by PyTorch, and "
    "700.00 MiB is reserved by PyTorch but unallocated."
)


def test_the_arithmetic_of_an_out_of_memory_is_kept(tmp_path: Path) -> None:
    log = journal(
        100,
        0,
        "(APIServer pid=100) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {'model': '/m/q'}",
        "(EngineCore pid=9) INFO 09-18 08:00:09 [core.py:112] Initializing a V1 LLM engine (v0.25.1) with config: "
        "model='/m/q'",
        "(APIServer pid=100) INFO:     Application startup complete.",
        "(EngineCore pid=9) ERROR 09-18 08:01:00 [core.py:1119] EngineCore encountered a fatal error.",
        TORCH,
    )
    answer = ask(tmp_path, log)
    (one,) = answer.document["failures"]
    oom = one["oom"]
    assert {
        key: round(oom[f"{key}_mib"], 2)
        for key in ("tried", "free", "total", "process", "allocated", "reserved", "others", "outside_allocator")
    } == {
        "tried": 50.00,
        "free": 24.50,
        "total": 24125.44,
        "process": 23756.80,
        "allocated": 22630.40,
        "reserved": 700.00,
        "others": 344.14,
        "outside_allocator": 426.40,
    }
    assert "asked for 50.00 MiB where 24.50 MiB were free" in claims(answer)


REFUSED = """
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 0: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 10345253120
"""


def test_the_same_refusal_over_and_over_is_one_failure(tmp_path: Path) -> None:
    (one,) = ask(tmp_path, load(100, 0, "m", served=(30,), failing=900, error=REFUSED * 4)).document["failures"]
    assert (one["error_class"], one["roots"], one["outcome"]) == ("out_of_memory", 8, "log_ends")


def test_a_refused_allocation_that_the_server_outlives_is_no_crash(tmp_path: Path) -> None:
    text = BEGIN.format(model="m").replace("srv  llama_server", REFUSED.strip() + "\nsrv  llama_server")
    answer = ask(tmp_path, journal(100, 0, text))
    assert [one["outcome"] for one in answer.document["failures"]] == ["survived"]
    assert answer.verdict == "m (load 1) failed: out of memory; it survived."


@pytest.mark.parametrize(
    ("tokens", "mib", "classes"),
    [
        (25600, "138.00", {"cliff_1"}),
        (61000, "50.00", {"cliff_1", "cliff_2a"}),
        (21500, "50.00", {"cliff_2b"}),
        (24000, "38.00", {"cliff_2b"}),
        (26000, "38.00", {"cliff_1", "cliff_2b"}),
        (900, "50.00", set()),
    ],
)
def test_a_signature_makes_candidates_by_amount_and_prompt(
    tmp_path: Path, tokens: int, mib: str, classes: set[str]
) -> None:
    error = REFUSED.replace("9866.00", mib) + ILLEGAL.strip().splitlines()[-1]
    (one,) = ask(tmp_path, load(100, 0, "m", failing=tokens, error=error)).document["failures"]
    assert {entry["class"] for entry in one["candidates"]} - {"device_out_of_memory"} == classes


def test_a_load_over_two_cards_does_not_escape_a_signature(tmp_path: Path) -> None:
    # one page says that two cards escape it; a published run of two cards failed above 60 thousand tokens
    second = "llama_prepare_model_devices: using device CUDA1 (NVIDIA GeForce RTX 3090) (0000:0b:00.0) - 23525 MiB free"
    first = second.replace("CUDA1", "CUDA0").replace("0b", "0a")
    error = REFUSED.replace("9866.00", "50.00") + ILLEGAL.strip().splitlines()[-1]
    text = load(100, 0, "m", failing=61000, error=error).splitlines(keepends=True)
    place = next(number for number, line in enumerate(text) if first in line)
    text.insert(place + 1, text[place].replace(first, second))
    (one,) = ask(tmp_path, *text).document["failures"]
    assert "cliff_2a" in {entry["class"] for entry in one["candidates"]}


def test_a_failure_is_of_the_build_that_it_was_seen_in(tmp_path: Path) -> None:
    # neither the page nor the run names a version of the engine; the pin of the run is one of patches
    error = REFUSED.replace("9866.00", "50.00") + ILLEGAL.strip().splitlines()[-1]
    log = (
        journal(100, -1, "build_info: b11434-a17c3fd38")
        + load(100, 0, "m", failing=61000, error=error)
        + journal(200, 99, "build_info: b11500-0c1d2e3f4")
        + load(200, 100, "n", served=(61000,))
    )
    answer = ask(tmp_path, log)
    (one,) = answer.document["failures"]
    assert (one["number"], one["version"]) == (1, "11434")
    assert ("build", "llama.cpp 11434") in [row for section in answer.sections for row in section.rows]
    assert ("version", "11434", ["11500"]) in [
        (entry["name"], entry["failed"], entry["served"]) for entry in answer.document["separating"]
    ]


def test_a_buffer_that_a_collective_did_not_get_is_the_root_of_what_follows(tmp_path: Path) -> None:
    log = journal(
        100,
        0,
        "(APIServer pid=100) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {'model': '/m/q'}",
        "(EngineCore pid=9) INFO 09-18 08:00:09 [core.py:112] Initializing a V1 LLM engine (v0.25.1) with config: "
        "model='/m/q'",
        "box:11:90 [1] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'",
        "box:11:90 [1] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes",
        "box:11:90 [1] proxy.cc:1143 NCCL WARN Socket recv failed while polling for opId=0x55a51966cc80",
        "(Worker_TP1 pid=11) ERROR 09-18 08:00:20 [multiproc_executor.py:487] RuntimeError: NCCL error: unhandled cuda "
        "error (run with NCCL_DEBUG=INFO for details)",
    )
    (one,) = ask(tmp_path, log).document["failures"]
    assert (one["error_class"], one["message"]) == ("out_of_memory", "Cuda failure 'out of memory'")
    assert [entry["message"] for entry in one["followed"]] == [
        "Failed to CUDA calloc",
        "NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    ]


def test_an_orderly_end_that_its_server_complains_of_is_no_failure(tmp_path: Path) -> None:
    log = journal(
        100,
        0,
        "(APIServer pid=100) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {'model': '/m/q'}",
        "(APIServer pid=100) INFO:     Application startup complete.",
        "(APIServer pid=100) INFO 09-18 08:01:00 [launcher.py:100] [shutdown] API server: shutdown triggered",
        "(APIServer pid=100) ERROR 09-18 08:01:00 [async_llm.py:704] AsyncLLM output_handler failed.",
        "(APIServer pid=100) INFO:     Application shutdown complete.",
    )
    assert ask(tmp_path, log).document["failures"] == []


def test_a_failure_of_no_load_keeps_its_numbers_and_names_nobody(tmp_path: Path) -> None:
    old = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.63 GiB (GPU 0; 44.56 GiB total capacity; "
        "27.91 GiB already allocated; 565.31 MiB free; 27.93 GiB reserved in total by PyTorch) If reserved memory is "
        ">> allocated memory try setting max_split_size_mb\n"
    )
    answer = ask(tmp_path, old)
    (one,) = answer.document["ambiguous"]
    assert [round(one["oom"][f"{key}_mib"], 2) for key in ("tried", "free", "reserved", "others")] == [
        1669.12,
        565.31,
        20.48,
        16463.81,  # 16.08 GiB of other processes, this one's context among them
    ]
    assert (answer.verdict, answer.code) == ("Cannot tell whose: 1 line tells of a failure and belongs to no load.", 3)


def test_a_case_without_failures_says_so(tmp_path: Path) -> None:
    answer = ask(tmp_path, load(100, 0, "m", served=(30,)))
    assert (answer.verdict, answer.code) == ("No load failed in this evidence.", 0)


RECORDS = """
    SELECT program, role, count(*) FROM failure_records GROUP BY program, role, failure, load_id
    ORDER BY min(ordinal)
"""
PROXY = """\
[INFO] llama-swap listening on http://:8080
[DEBUG] <prod> Executing start command: /usr/bin/llama-server --port 5800 -m /m/prod.gguf, env: PATH=/usr/bin
srv    load_model: loading model '/m/prod.gguf'
load_tensors:        CUDA0 model buffer size =  5000.00 MiB
srv  llama_server: model loaded
[INFO] <prod> Health check passed on http://localhost:5800/health
CUDA error: an illegal memory access was encountered
  current device: 0, in function ggml_backend_cuda_synchronize at /src/ggml/src/ggml-cuda/ggml-cuda.cu:2981
  cudaStreamSynchronize(cuda_ctx->stream())
/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error
[WARN] <prod> upstream process exited unexpectedly
[INFO] Request 10.0.0.7 "POST /v1/chat/completions HTTP/1.1" 502 68 "curl/8.5.0" 1.2s
"""


def test_a_childs_crash_its_supervisors_word_and_the_clients_answer_are_one_failure(tmp_path: Path) -> None:
    connection = opened(tmp_path, server_log=PROXY)
    assert connection.execute("SELECT count(*) FROM failures").fetchone() == (1,)
    assert connection.execute(RECORDS).fetchall() == [
        ("llama.cpp", "root", 1),
        ("llama.cpp", "follows", 3),
        ("llama-swap", "end", 1),
        ("llama-swap", "answer", 1),
    ]


def test_a_failure_is_shown_with_all_lines_that_tell_of_it(tmp_path: Path) -> None:
    answer = ask(tmp_path, PROXY)
    (one,) = answer.document["failures"]
    assert [(entry["role"], entry["program"], entry["count"]) for entry in one["records"]] == [
        ("root", "llama.cpp", 1),
        ("follows", "llama.cpp", 3),
        ("end", "llama-swap", 1),
        ("answer", "llama-swap", 1),
    ]
    assert (
        "told in",
        "6 lines. llama.cpp: the root, 3 that follow; llama-swap: its end, a client's answer, inferred",
    ) in answer.sections[1].rows
    assert {line for entry in one["records"] for line in entry["evidence"]} <= set(answer.cited)


def test_six_failed_requests_after_one_kill_are_one_failure(tmp_path: Path) -> None:
    begin = PROXY[: PROXY.index("CUDA error: an")]
    answered = PROXY.splitlines(keepends=True)[-1]
    answer = ask(tmp_path, begin + "[WARN] <prod> upstream process exited unexpectedly\n" + answered * 6)
    (one,) = answer.document["failures"]
    assert {entry["role"]: entry["count"] for entry in one["records"]}["answer"] == 6


def test_an_answer_is_of_no_failure_while_another_load_of_the_supervisor_is_alive(tmp_path: Path) -> None:
    other = "[DEBUG] <small> Executing start command: /usr/bin/llama-server -m /m/small.gguf, env: PATH=/usr/bin\n"
    connection = opened(tmp_path, server_log=PROXY.replace("CUDA error: an", other + "CUDA error: an"))
    assert "answer" not in {role for _, role, _ in connection.execute(RECORDS).fetchall()}


def test_an_allocation_that_is_refused_in_three_lines_is_one_failure_with_all_of_them(tmp_path: Path) -> None:
    log = """\
0.00.700.000 I srv    load_model: loading model '/m/prod.gguf'
0.01.364.245 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 1: cudaMalloc failed: out of memory
0.01.364.250 E ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 10345253120
0.01.364.260 E graph_reserve: failed to allocate compute buffers
0.01.364.300 E srv    load_model: failed to load model, '/m/prod.gguf'
0.01.364.400 E srv  llama_server: exiting due to model loading error
"""  # noqa: E501
    connection = opened(tmp_path, server_log=log)
    assert connection.execute("SELECT tried_bytes, roots, followed FROM failures").fetchall() == [
        (10_345_250_816, 2, 3)
    ]
    assert connection.execute(RECORDS).fetchall() == [("llama.cpp", "root", 1), ("llama.cpp", "follows", 4)]
    told = "SELECT text FROM failure_records JOIN line USING (line_id) ORDER BY failure_records.ordinal"
    assert [row[0] for row in connection.execute(told).fetchall()] == log.splitlines()[1:]


def test_the_root_of_a_vllm_failure_and_its_wrappers_are_one_failure_with_all_of_them(tmp_path: Path) -> None:
    log = f"""\
(APIServer pid=100) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {{'model': '/m/q'}}
(EngineCore pid=9) INFO 09-18 08:00:09 [core.py:112] Initializing a V1 LLM engine (v0.25.1) with config: model='/m/q'
(APIServer pid=100) INFO:     Application startup complete.
(EngineCore pid=9) ERROR 09-18 08:01:00 [core.py:1119] EngineCore encountered a fatal error.
{TORCH}
(APIServer pid=100) ERROR 09-18 08:01:00 [async_llm.py:704] AsyncLLM output_handler failed.
(APIServer pid=100) ERROR 09-18 08:01:00 [async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore \
encountered an issue. See stack trace (above) for the root cause.
(APIServer pid=100) INFO:     127.0.0.1:42598 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error
"""
    connection = opened(tmp_path, server_log=log)
    assert connection.execute("SELECT error_class, roots, followed FROM failures").fetchall() == [
        ("out_of_memory", 1, 3)
    ]
    assert connection.execute(RECORDS).fetchall() == [("vllm", "follows", 3), ("vllm", "root", 1)]
    told = "SELECT text FROM failure_records JOIN line USING (line_id) ORDER BY failure_records.ordinal"
    assert [row[0] for row in connection.execute(told).fetchall()] == log.splitlines()[3:7]
