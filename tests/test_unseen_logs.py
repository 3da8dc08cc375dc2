"""Forms of many servers and years that no recorded run of ours has: text in, what is held and why it failed out."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import exited_of, journal, manager_of, opened, rows

from forensics.answer import Ask
from forensics.ask_crashes import crashes
from forensics.ask_loads import loads

LEDGER = """
    SELECT device.device, place, kind, round(sum(size_bytes) / 1048576, 2)
    FROM item JOIN device USING (process_id, logged)
    WHERE mark = 'counted' GROUP BY ALL ORDER BY ALL
"""


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
