"""Forms of many servers and years that no recorded run of ours has: text in, what is held and why it failed out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opened import exited_of, journal, manager_of, opened, rows

from forensics.answer import Ask
from forensics.ask_crashes import crashes
from forensics.ask_loads import loads
from forensics.catalogue import load_catalogue
from forensics.errors import CatalogueError
from forensics.explain import document

CATALOGUE = load_catalogue()

LEDGER = """
    SELECT device.device, place, kind, round(sum(size_bytes) / 1048576, 2)
    FROM item JOIN device USING (process_id, logged)
    WHERE mark = 'counted' GROUP BY ALL ORDER BY ALL
"""


def explain(folder: Path, text: str) -> dict[str, Any]:
    return document(opened(folder, server_log=text), CATALOGUE)


def test_each_rank_of_a_parallel_server_holds_its_amounts_on_its_own_card(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        server_log="""\
[2026-03-02 12:00:01 TP1] Load weight end. type=SomeForCausalLM, avail mem=60.00 GB, mem usage=16.00 GB.
[2026-03-02 12:00:01 TP0] Load weight end. type=SomeForCausalLM, avail mem=60.00 GB, mem usage=15.00 GB.
[2026-03-02 12:00:02 TP0 EP0] KV Cache is allocated. #tokens: 1000, K size: 2.00 GB, V size: 2.00 GB
""",
    )
    assert rows(found, LEDGER) == [
        ("CUDA0", "card", "kv_cache", 4096.0),
        ("CUDA0", "card", "weights", 15360.0),
        ("CUDA1", "card", "weights", 16384.0),
    ]


def test_the_same_tensor_rank_of_two_replicas_is_not_one_card(tmp_path: Path) -> None:
    line = "Load weight end. type=SomeForCausalLM, avail mem=60.00 GB, mem usage=16.00 GB."
    found = opened(tmp_path, server_log=f"[2026-03-02 12:00:01 DP0 TP0] {line}\n[2026-03-02 12:00:02 DP1 TP0] {line}\n")
    assert rows(found, LEDGER) == [
        ("DP0 TP0 (rank)", "card", "weights", 16384.0),
        ("DP1 TP0 (rank)", "card", "weights", 16384.0),
    ]


def test_a_server_with_one_card_and_no_rank_holds_its_memory_on_some_card(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        server_log="[2026-03-02 12:00:02] KV Cache is allocated. #tokens: 1000, K size: 2.00 GB, V size: 2.00 GB\n",
    )
    assert rows(found, LEDGER) == [("unnamed card", "card", "kv_cache", 4096.0)]


def test_what_a_supervised_runner_maps_from_its_file_is_on_no_card(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        server_log="""\
time=2025-08-04T12:00:01.100Z level=INFO source=server.go:400 msg="starting llama server" cmd="/usr/bin/ollama runner \
--model /root/.ollama/models/blobs/sha256-00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff \
--ctx-size 4096 --batch-size 512 --n-gpu-layers 29 --threads 8 --parallel 2 --port 40001"
load_tensors:        ROCm0 model buffer size =  4000.00 MiB
load_tensors:   CPU_Mapped model buffer size =   300.00 MiB
""",
    )
    assert rows(found, LEDGER) == [
        ("CPU_Mapped", "host", "weights", 300.0),
        ("ROCm0", "card", "weights", 4000.0),
    ]


BEFORE_IT = """\
INFO [                    main] build info | tid="1" timestamp=1718000000 build=3100 commit="abcdef01"
llama_model_loader: loaded meta data with 21 key-value pairs and 300 tensors from {file} (version GGUF V3 (latest))
{found}
llm_load_tensors: ggml ctx size =    1.25 MiB
{failed}
llama_model_load: error loading model: unable to allocate backend buffer
llama_load_model_from_file: failed to load model
"""
VULKAN = "ggml_vulkan: Found 1 Vulkan devices:\nVulkan0: AMD Radeon RX 7600 | uma: 0 | fp16: 1 | warp size: 64"
SYCL = "ggml_sycl_init: found 1 SYCL devices:\nfound 1 SYCL devices:"


@pytest.mark.parametrize(
    ("backend", "failed"),
    [
        (VULKAN, "ggml_vulkan: Device memory allocation of size 2684354560 failed."),
        (SYCL, "ggml_backend_sycl_buffer_type_alloc_buffer: can't malloc 2684354560 Bytes memory on device"),
    ],
    ids=["vulkan", "sycl"],
)
def test_a_backend_that_a_load_sets_up_begins_no_other_life(tmp_path: Path, backend: str, failed: str) -> None:
    # Builds of 2024 set a backend up where the load first needs it, behind the head of the file.
    found = opened(tmp_path, server_log=BEFORE_IT.format(file="/srv/m.gguf", found=backend, failed=failed))
    assert rows(found, "SELECT count(DISTINCT process_id), count(DISTINCT load_id) FROM load") == [(1, 1)]
    (one,) = crashes(Ask(found)).document["failures"]
    assert (one["error_class"], one["oom"]["tried_mib"]) == ("out_of_memory", 2560.0)


def test_a_restart_that_says_its_first_words_again_is_another_life(tmp_path: Path) -> None:
    start = BEFORE_IT.format(file="/srv/m.gguf", found=VULKAN, failed="ggml_vulkan: Found 1 Vulkan devices:")
    found = opened(tmp_path, server_log=start)
    assert rows(found, "SELECT count(DISTINCT process_id) FROM line WHERE pattern = 'vulkan_devices_found'") == [(2,)]


@pytest.mark.parametrize(
    "lines",
    [
        """\
ggml_vulkan: Device memory allocation of size 2684354560 failed.
ggml_vulkan: Requested buffer size exceeds device memory allocation limit: ErrorOutOfDeviceMemory
""",
        """\
ggml_vulkan: Requested buffer size exceeds device buffer size limit: ErrorOutOfDeviceMemory
ggml_gallocr_reserve_n_impl: failed to allocate Vulkan0 buffer of size 2684354560
""",
    ],
    ids=["said after", "said before"],
)
def test_a_buffer_over_the_drivers_limit_is_not_a_full_card(tmp_path: Path, lines: str) -> None:
    text = f"llama_kv_cache:    Vulkan0 KV buffer size =  1000.00 MiB\n{lines}"
    answer = crashes(Ask(opened(tmp_path, server_log=text)))
    (one,) = answer.document["failures"]
    assert [entry["class"] for entry in one["candidates"]] == ["buffer_limit"]
    (claim,) = answer.about
    assert claim.startswith("supported: ")
    assert "the driver allows none so large" in claim


def test_the_kernels_out_of_memory_killer_is_named_where_the_service_manager_names_it(tmp_path: Path) -> None:
    log = journal(100, 0, "llama_kv_cache:      CUDA0 KV buffer size =  1000.00 MiB")
    log += manager_of(100, 4.9, "llm.service: A process of this unit has been killed by the OOM killer.")
    log += exited_of(100, 5, "killed", "9/KILL")
    answer = crashes(Ask(opened(tmp_path, server_log=log)))
    assert answer.verdict == "unknown model (load 1) was killed by the host's OOM killer; it did not fail by itself."
    assert answer.about[0].startswith("supported: The host ran out of memory: the service manager says")
    assert answer.next.startswith("Add the kernel's journal of that minute")


@pytest.mark.parametrize(
    "path",
    [r"C:\models\some-7b.gguf", r"..\models\some-7b.gguf", r"D:\\models\\some-7b.gguf", "/srv/models/some-7b.gguf"],
)
def test_a_model_is_called_by_its_file_without_folders_of_either_system(tmp_path: Path, path: str) -> None:
    line = f"llama_model_loader: loaded meta data with 2 key-value pairs and 3 tensors from {path} (version GGUF V3)"
    failed = "llama_model_load: error loading model: unable to allocate backend buffer"
    found = opened(tmp_path, server_log=f"{line}\n{failed}\n")
    assert crashes(Ask(found)).verdict.startswith("some-7b (load 1) failed")
    assert "some-7b.gguf" in [cell for section in loads(Ask(found)).sections for row in section.rows for cell in row]


def test_a_load_whose_last_words_are_a_failure_is_not_still_loading(tmp_path: Path) -> None:
    text = """\
llama_model_load_from_file_impl: using device Vulkan0 (AMD Radeon RX 7600) (0000:03:00.0) - 8000 MiB free
load_tensors:      Vulkan0 model buffer size =  4000.00 MiB
ggml_gallocr_reserve_n_impl: failed to allocate Vulkan0 buffer of size 5242880000
graph_reserve: failed to allocate compute buffers
"""
    found = explain(tmp_path, text)
    (load,) = found["loads"]
    assert (load["end_reason"], load["devices"]) == ("log_ends", [])
    failure = load["failure"]
    assert (failure["asked_mib"], failure["there_mib"], failure["there_at"]) == (5000.0, 8000.0, "begin")
    assert found["next"].startswith("Change what the failure names")
    assert "the rest of this load" not in [entry["what"] for entry in found["missing"]]


def test_a_load_that_goes_on_after_a_refusal_has_not_failed(tmp_path: Path) -> None:
    text = """\
load_tensors:        CUDA0 model buffer size =  4000.00 MiB
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 900.00 MiB on device 0: cudaMalloc failed: out of memory
llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
"""
    (load,) = explain(tmp_path, text)["loads"]
    assert load["failure"] is None


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ('GGML_ASSERT: /src/ggml-cuda.cu:200: !"CUDA error"', "aborted"),
        ("GGML_ASSERT: /src/llama.cpp:9000: n_outputs > 0", "assertion"),
    ],
)
def test_an_assertion_of_2024_ends_its_load(tmp_path: Path, line: str, failure: str) -> None:
    found = opened(tmp_path, server_log=f"llm_load_tensors:      CUDA0 buffer size =  4000.00 MiB\n{line}\n")
    assert rows(found, "SELECT end_reason FROM load") == [("crashed",)]
    assert rows(found, "SELECT failure FROM failure_reported") == [(failure,)]


def test_each_backend_that_a_grpc_server_logs_again_is_a_load_by_its_port(tmp_path: Path) -> None:
    one = "5:01PM DBG GRPC(some-7b.gguf-127.0.0.1:40001): stderr "
    other = "5:01PM DBG GRPC(other:q4_k_m-127.0.0.1:40002): stderr "
    found = opened(
        tmp_path,
        server_log=f"""\
{one}llm_load_tensors:      CUDA0 buffer size =  4000.00 MiB
{other}llm_load_tensors:      CUDA0 buffer size =  3000.00 MiB
{one}llama_kv_cache_init:      CUDA0 KV buffer size =   512.00 MiB
{other}CUDA error: out of memory
""",
    )
    held = "SELECT number, round(sum(size_bytes) / 1048576) FROM item JOIN load USING (load_id) GROUP BY ALL ORDER BY 1"
    assert rows(found, held) == [(1, 4512.0), (2, 3000.0)]
    assert rows(found, "SELECT number FROM failures") == [(2,)]


def test_memory_behind_rpc_is_not_called_host_memory(tmp_path: Path) -> None:
    text = """\
load_tensors: RPC[10.0.0.2:50052] model buffer size = 99000.00 MiB
load_tensors:   CPU_Mapped model buffer size = 47104.00 MiB
llama_context:        CPU compute buffer size =   1024.00 MiB
"""
    found = explain(tmp_path, text)
    assert found["loads"][0]["verdict"].endswith(
        "is on other hosts: the log names 96.68 GiB there, and 1.00 GiB of this one, besides 46.00 GiB "
        "mapped from its file."
    )


def test_what_is_inferred_of_a_card_is_not_said_to_be_named_by_the_log(tmp_path: Path) -> None:
    text = "llm_load_tensors:      CUDA0 buffer size =  1024.00 MiB\nllama_new_context_with_model: n_ctx      = 8192\n"
    found = explain(tmp_path, text)
    (load,) = found["loads"]
    assert load["devices"][0]["attributed_mib"] > 1024
    assert load["verdict"].startswith("The log names 1.00 GiB on CUDA0 for ")


def test_a_build_that_the_process_says_before_its_load_is_not_missing(tmp_path: Path) -> None:
    text = """\
build: 7400 (abcdef012) with GNU 14.2.0 for Linux x86_64
main: loading model
srv    load_model: loading model '/srv/models/m.gguf'
load_tensors:        CUDA0 model buffer size =  4000.00 MiB
"""
    found = explain(tmp_path, text)
    assert "build" not in [entry["what"] for entry in found["missing"]]


LAYOUT = 'time=2025-10-01T12:00:{}+03:00 level=INFO source=runner.go:1170 msg=load request="{{Operation:{} LoraPath:[] '
LAYOUT += "Parallel:1 BatchSize:512 FlashAttention:true KvSize:16384 KvCacheType: NumThreads:16 GPULayers:37[ID:GPU-0 "
LAYOUT += 'Layers:37(0..36)] MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}}"\n'
TABLE = "time=2025-10-01T12:00:31.934+03:00 level=INFO source=device.go:210 "
TABLE += 'msg="model weights" device=CUDA0 size="24.0 GiB"\n'


@pytest.mark.parametrize(("operation", "mark"), [("alloc", "planned"), ("commit", "counted")])
def test_what_a_runner_says_shows_a_load_where_the_log_begins_behind_its_start(
    tmp_path: Path, operation: str, mark: str
) -> None:
    found = opened(tmp_path, server_log=LAYOUT.format("29.834", "fit") + LAYOUT.format("31.834", operation) + TABLE)
    assert rows(found, "SELECT engine, implied FROM load") == [("ollama", True)]
    assert rows(found, "SELECT mark, round(size_bytes / 1073741824, 1) FROM item") == [(mark, 24.0)]


def test_a_supervisors_own_word_of_a_child_shows_no_second_load(tmp_path: Path) -> None:
    start = 'time=2025-10-01T12:00:28.000+03:00 level=INFO source=server.go:380 msg="starting runner" '
    start += (
        'cmd="/usr/local/bin/ollama runner --ollama-engine --model /root/blobs/sha256-00112233445566778899aabbccddeeff'
    )
    start += '00112233445566778899aabbccddeeff --port 40003"\n'
    found = opened(
        tmp_path, server_log=start + LAYOUT.format("29.834", "fit") + LAYOUT.format("31.834", "commit") + TABLE
    )
    assert rows(found, "SELECT count(*), bool_or(implied) FROM load") == [(1, False)]


def test_what_a_fork_words_otherwise_is_of_the_same_process_and_load_as_the_rest(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        server_log="""\
Tensor blk.7.ffn_up_exps.weight buffer type overriden to CUDA3
llm_load_tensors:      CUDA0 buffer size =  4000.00 MiB
Computed blk.7.attn_kv_b.weight as 512 x 4096 and stored in buffer CUDA0
checkpoint_alloc_shadows:      CUDA0 split shadow buffer =    64.00 MiB
""",
    )
    assert rows(found, "SELECT count(*), any_value(engine) FROM load") == [(1, "llama.cpp")]
    assert rows(found, "SELECT count(DISTINCT process_id), count(load_id) FROM line") == [(1, 4)]
    assert rows(found, LEDGER) == [("CUDA0", "card", "checkpoint", 64.0), ("CUDA0", "card", "weights", 4000.0)]


def test_a_fork_of_an_unknown_program_is_refused(tmp_path: Path) -> None:
    text = 'program = "x"\ntitle = "x"\nof = "nobody"\n[[pattern]]\nname = "a"\nconst = { what = "a" }\n'
    text += "contains = 'aaa'\nregex = '^aaa$'\n[[pattern.sample]]\nline = 'aaa'\nexpect = { what = 'a' }\n"
    text += "[[pattern.never]]\nline = 'aaab'\n"
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(CatalogueError, match="'of' names 'nobody'"):
        load_catalogue([tmp_path / "x.toml"])


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("(VllmWorkerProcess pid=501) INFO 04-01 12:00:00 [model_runner.py:1] ", "pid=501 (worker)"),
        ("(VllmWorker rank=2 pid=502) INFO 07-01 12:00:00 [gpu_model_runner.py:1800] ", "CUDA2"),
        ("INFO 07-01 12:00:00 [gpu_model_runner.py:1800] ", "unnamed card"),
    ],
)
def test_workers_that_say_no_rank_have_a_card_each(tmp_path: Path, line: str, device: str) -> None:
    found = opened(tmp_path, server_log=f"{line}Model loading took 8.00 GiB and 9.6 seconds\n")
    assert rows(found, LEDGER) == [(device, "card", "weights", 8192.0)]


def test_a_cache_that_holds_too_few_tokens_is_a_refusal_with_both_counts(tmp_path: Path) -> None:
    text = """\
INFO 01-02 12:00:00 llm_engine.py:72] Initializing an LLM engine with config: model='org/Model-7B', seed=0)
ValueError: The model's max seq len (16384) is larger than the maximum number of tokens that can be stored \
in KV cache (9000). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.
"""
    found = opened(tmp_path, server_log=text)
    assert rows(found, "SELECT model, end_reason FROM load") == [("org/Model-7B", "failed")]
    refused = rows(found, "SELECT reason, requested_tokens, possible_tokens FROM start_refused")
    assert refused == [("kv_too_small", 16384, 9000)]
