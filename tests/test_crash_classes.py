"""The classes that a failure may belong to, each from its own line and none from another's (CR-7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import journal, opened
from test_crashes import ILLEGAL, load

from forensics.answer import Ask
from forensics.ask_crashes import crashes

START = (
    "(APIServer pid=100) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {'model': '/m/q'}",
    "(EngineCore pid=9) INFO 09-18 08:00:09 [core.py:112] Initializing a V1 LLM engine (v0.25.1) with config: x='m'",
)
ERROR = "(EngineCore pid=9) ERROR 09-18 08:00:41 [core.py:1119] "
KV_FIT = (
    "ValueError: To serve at least one request with the models's max seq len (180000), (3.05 GiB KV cache is needed, "
    "which "
    "is larger than the available KV cache memory (2.17 GiB). Based on the available memory, the estimated maximum "
    "model "
    "length is 111456. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the "
    "engine."
)
NO_BLOCKS = (
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing "
    "the "
    "engine. See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
)
FREE_MEMORY = (
    "ValueError: Free memory on device cuda:0 (22.76/24.0 GiB) on startup is less than desired GPU memory utilization "
    "(0.97, 23.28 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
)
NO_KERNEL = ILLEGAL.replace(
    "an illegal memory access was encountered", "no kernel image is available for execution on the device"
)
NAMED = {"kv_fit", "boot_free_memory", "unsupported", "speculation_illegal_access"}


def classes(folder: Path, log: str) -> list[set[str]]:
    """Classes of each failure, of those that are asked for here."""
    found = crashes(Ask(opened(folder, server_log=log))).document["failures"]
    return [{one["class"] for one in failure["candidates"]} & NAMED for failure in found]


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        pytest.param(KV_FIT, {"kv_fit"}, id="3.05 GiB needed, 2.17 there"),
        pytest.param(NO_BLOCKS, {"kv_fit"}, id="no cache blocks"),
        pytest.param(FREE_MEMORY, {"boot_free_memory"}, id="22.76 of 24.0 GiB free, 23.28 wanted"),
    ],
)
def test_a_refused_start_is_of_the_class_that_its_line_names(tmp_path: Path, refusal: str, expected: set[str]) -> None:
    assert classes(tmp_path, journal(100, 0, *START, ERROR + refusal, unit="vllm.service")) == [expected]


@pytest.mark.parametrize(
    "words",
    [
        "ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75.",
        "  Value error, Model architectures ['Qwen3_5ForCausalLM'] are not supported for now. [type=value_error, x]",
    ],
    ids=["a quantization", "an architecture"],
)
def test_what_a_build_cannot_run_is_of_one_class_whatever_it_is(tmp_path: Path, words: str) -> None:
    assert classes(tmp_path, journal(100, 0, *START, ERROR + words, unit="vllm.service")) == [{"unsupported"}]


@pytest.mark.parametrize(
    "told",
    [
        "[ERROR:genesis.apply_all] [Genesis] FAILED: P56 spec-decode guard — anchor not found",
        "[tolist_cudagraph_fix] Site B (_prefill_attention) anchor NOT FOUND -- patch NOT applied.",
        "[INFO:genesis.apply_all] [Genesis] DRIFT skipped: P56 spec-decode guard",
        "[INFO:genesis.apply_all] [Genesis] applied: P67 TurboQuant multi-query kernel — hook installed",
    ],
    ids=["failed", "not found", "drift", "applied"],
)
def test_a_patch_that_was_not_applied_is_a_candidate_of_its_own_loads_failure(tmp_path: Path, told: str) -> None:
    error = "AssertionError: Workspace is locked but allocation from 'turboquant_attn.py:259' requires 1024.00 MB."
    log = journal(100, 0, START[0], told, *START[1:], ERROR + error, unit="vllm.service")
    (failure,) = crashes(Ask(opened(tmp_path, server_log=log))).document["failures"]
    found = [one for one in failure["candidates"] if one["class"] == "patches_not_applied"]
    assert [len(one["evidence"]) for one in found] == ([] if "] applied:" in told else [1])


LOAD_FAILED = """
srv    load_model: loading model '/srv/models/new.gguf'
llama_model_load: error loading model: {}
llama_model_load_from_file_impl: failed to load model
srv    load_model: failed to load model, '/srv/models/new.gguf'
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("error loading model architecture: unknown model architecture: 'qwen35'", {"unsupported"}),
        ("device CUDA0 does not support split buffers", {"unsupported"}),
        ("missing tensor 'blk.64.attn_norm.weight'", set()),
    ],
    ids=["an architecture", "a mode", "a broken file"],
)
def test_what_a_build_does_not_know_is_told_from_a_file_that_is_broken(
    tmp_path: Path, words: str, expected: set[str]
) -> None:
    assert classes(tmp_path, journal(100, 0, LOAD_FAILED.format(words))) == [expected]


SPECULATES = "spec common_specu: adding speculative implementation 'draft-mtp'"


@pytest.mark.parametrize(
    ("error", "speculates", "expected"),
    [
        pytest.param(NO_KERNEL, False, {"unsupported"}, id="no kernel for this card"),
        pytest.param(ILLEGAL, True, {"speculation_illegal_access"}, id="an illegal access of a load that drafts"),
        pytest.param(ILLEGAL, False, set(), id="an illegal access of one that does not"),
    ],
)
def test_an_error_of_the_driver_is_of_a_class_by_its_words_and_by_whether_the_load_drafts(
    tmp_path: Path, error: str, speculates: bool, expected: set[str]
) -> None:
    log = load(100, 0, "m", failing=900, error=error)
    if speculates:
        ready = "srv  llama_server: model loaded"
        assert ready in log
        lines = log.splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if ready in line)
        log = "".join([*lines[:place], lines[place].replace(ready, SPECULATES), *lines[place:]])
    assert classes(tmp_path, log) == [expected]


def test_a_class_is_a_candidate_with_its_source_and_what_would_tell_never_a_cause(tmp_path: Path) -> None:
    log = journal(100, 0, *START, ERROR + KV_FIT, unit="vllm.service")
    answer = crashes(Ask(opened(tmp_path, server_log=log)))
    (failure,) = answer.document["failures"]
    (one,) = [one for one in failure["candidates"] if one["class"] == "kv_fit"]
    assert (one["separates"], one["source"]) == ("a shorter length, or a larger share of the card", "the line itself")


# -- a drafter's allocations that failed, as its daemon published them ------------------------------------------------

DAEMON = """
ggml_cuda_init: found 1 CUDA devices (Total VRAM: 24126 MiB):
[drafter] loaded Qwen3-0.6B BF16: n_layer=28 n_head=16 n_kv=8 n_embd=1024 n_ff=3072 head_dim=128 vocab=151936
[pflash-daemon] ready load=0.553s vocab=151936
[pflash-daemon] compress start tokens={tokens} keep=0.050 lookahead=2 chunk=32 pool=13 path=/tmp/prompt_counted.bin
ggml_backend_cuda_buffer_type_alloc_buffer: allocating {mib} MiB on device 0: cudaMalloc failed: out of memory
alloc_tensor_range: failed to allocate CUDA0 buffer of size {size}
[pflash-daemon] compress failed: forward_qwen3_0p6b: K_curr/V_curr/Q_last alloc failed at layer {layer}
"""


@pytest.mark.parametrize(
    ("mib", "size", "layer"), [("390.62", 409591808, 25), ("507.80", 532471808, 18)], ids=["layer 25", "layer 18"]
)
def test_a_refused_buffer_of_a_drafter_is_told_with_its_size_and_its_layer(
    tmp_path: Path, mib: str, size: int, layer: int
) -> None:
    assert f"{size / 1048576:.2f}" == mib  # the two lines of one refusal agree
    log = journal(100, 0, DAEMON.format(tokens=100000, mib=mib, size=size, layer=layer), unit="pflash.service")
    (failure,) = crashes(Ask(opened(tmp_path, server_log=log))).document["failures"]
    assert (failure["error_class"], round(failure["oom"]["tried_mib"], 2)) == ("out_of_memory", float(mib))
    assert "device_out_of_memory" in {one["class"] for one in failure["candidates"]}
    told = [row["text"] for row in Ask(opened(tmp_path)).rows("SELECT text FROM line ORDER BY ordinal")]
    assert told[-1].endswith(f"alloc failed at layer {layer}")
