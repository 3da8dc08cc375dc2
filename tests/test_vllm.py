"""How vLLM's lines begin: every form of tag and header, glued progress bars, and text that only looks like a header."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import case, rows
from weaving import LOGS

from forensics.carriers import clean
from forensics.catalogue import load_catalogue

GRAMMAR = load_catalogue().program("vllm").grammar
BAR = "\rCapturing CUDA graphs (PIECEWISE):  14%|█▍        | 1/7 [00:00<00:00,  8.56it/s]"


@pytest.mark.parametrize(
    ("line", "tag", "who", "message"),
    [
        pytest.param("INFO 12-06 14:55:15 worker.py:232] text", None, None, "text", id="up to 0.7.3"),
        pytest.param("INFO 04-29 22:59:31 [core.py:159] text", None, None, "text", id="untagged"),
        pytest.param(
            "(VllmWorker rank=0 pid=123) INFO 08-14 11:33:20 [a.py:1] text", "123", "VllmWorker", "text", id="0.8"
        ),
        pytest.param(
            "(VllmWorker PP0_TP1 pid=7) INFO 08-14 11:33:20 [a.py:1] text",
            "7",
            "VllmWorker PP0_TP1",
            "text",
            id="0.10.1",
        ),
        pytest.param(
            "(EngineCore_DP0 pid=55) INFO 08-14 11:33:20 [a.py:1] text", "55", "EngineCore_DP0", "text", id="0.10.2"
        ),
        pytest.param(
            "(Worker pid=101) (Worker_TP0 pid=101) INFO 08-14 11:33:20 [a.py:1] text",
            "101",
            "Worker_TP0",
            "text",
            id="0.17 tags twice",
        ),
        pytest.param(
            "(APIServer pid=1) (EngineCore_DP0 pid=55) INFO 08-14 11:33:20 [a.py:1] text",
            "55",
            "EngineCore_DP0",
            "text",
            id="a forked child",
        ),
        pytest.param(
            "(RayWorkerProc pid=31, ip=192.0.2.2) INFO 05-01 16:52:08 [a.py:1] text",
            "31",
            "RayWorkerProc",
            "text",
            id="Ray",
        ),
        pytest.param(
            "(EngineCore pid=5) node7 INFO 08-14 11:33:20 [a.py:1] text",
            "5",
            "EngineCore",
            "text",
            id="prefix, up to 0.30",
        ),
        pytest.param(
            "node7 (EngineCore pid=5) INFO 08-14 11:33:20 [a.py:1] text",
            "5",
            "EngineCore",
            "text",
            id="prefix, from 0.31",
        ),
        pytest.param(
            "(EngineCore pid=726) DEBUG 11-30 11:50:23 [distributed/.../v1/x.py:630] text",
            "726",
            "EngineCore",
            "text",
            id="shortened path",
        ),
        pytest.param(
            "vllm-1  | (Worker_TP0 pid=9) ERROR 06-23 05:08:54 [a.py:1] text", "9", "Worker_TP0", "text", id="compose"
        ),
        pytest.param(
            "(APIServer pid=1) INFO:     Shutting down", "1", "APIServer", "INFO:     Shutting down", id="uvicorn"
        ),
        pytest.param("(EngineCore pid=9) ValueError: text", "9", "EngineCore", "ValueError: text", id="a raw trace"),
        pytest.param("(EngineCore pid=219) ", "219", "EngineCore", "", id="the empty line before a bar"),
    ],
)
def test_each_form_of_prefix_gives_its_writer(line: str, tag: str | None, who: str | None, message: str) -> None:
    prefix = GRAMMAR.split(line)
    assert prefix is not None
    assert (prefix.tag, prefix.who, prefix.message) == (tag, who, message)


@pytest.mark.parametrize(
    "glued",
    [
        pytest.param(f"{BAR}(EngineCore pid=7) INFO 11-30 11:51:15 [a.py:1] text", id="one bar"),
        pytest.param(f"{BAR}{BAR}(EngineCore pid=7) INFO 11-30 11:51:15 [a.py:1] text", id="several bars"),
        pytest.param(
            f"(Worker_TP1 pid=8) {BAR}(EngineCore pid=7) INFO 11-30 11:51:15 [a.py:1] text", id="another's bar"
        ),
        pytest.param(
            "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:10<00:10, 10.99s/it]"
            "(EngineCore pid=7) INFO 11-30 11:51:15 [a.py:1] text",
            id="without a carriage return",
        ),
    ],
)
def test_a_progress_bar_hides_no_line(glued: str) -> None:
    prefix = GRAMMAR.split(glued)
    assert prefix is not None
    assert (prefix.tag, prefix.level, prefix.message) == ("7", "INFO", "text")


@pytest.mark.parametrize(
    "line",
    [
        "(APIServer pid=1) INFO 11-30 11:51:15 [logger.py:39] Received request c-1: prompt: 'x {}', params: S",
        "(APIServer pid=1) ValueError: no such model {}",
        "(APIServer pid=1)   Value error, x [type=a, input_value={{'prompt': '{}'}}]",
        '(APIServer pid=1) INFO:     192.0.2.9:1 - "GET /{} HTTP/1.1" 404 Not Found',
    ],
)
def test_a_header_in_a_clients_text_is_no_header(line: str) -> None:
    forged = "(EngineCore pid=7) INFO 11-30 11:00:00 [gpu_worker.py:538] Available KV cache memory: 99.0 GiB"
    prefix = GRAMMAR.split(line.format(forged))
    assert prefix is not None
    assert prefix.tag == "1"
    assert not prefix.message.startswith("Available")


JSON = (
    '{"asctime": "2026-09-12 08:01:25,412", "levelname": "INFO", "name": "vllm.v1.core.kv_cache_utils", '
    '"processName": "EngineCore", "process": 137, "message": "GPU KV cache size: 212,336 tokens"}'
)


def test_a_line_in_the_json_form_has_the_tag_of_its_process() -> None:
    prefix = GRAMMAR.split(JSON)
    assert prefix is not None
    assert (prefix.message, prefix.tag, prefix.who, prefix.level) == (
        "GPU KV cache size: 212,336 tokens",
        "137",
        "EngineCore",
        "INFO",
    )


def test_a_colour_in_caret_notation_and_a_stamp_of_a_build_server_hide_no_line() -> None:
    line = clean(
        b"[2026-01-26T17:25:37Z] ^[[0;36m(EngineCore_DP0 pid=738)^[[0;0m ^[[31mERROR^[[0m ^[[90m01-26 09:25:37^[[0m "
        b"^[[90m[core.py:935]^[[0m ValueError: Free memory on device cuda:0^M"
    )
    prefix = GRAMMAR.split(line)
    assert prefix is not None
    assert (prefix.message, prefix.tag, prefix.site) == (
        "ValueError: Free memory on device cuda:0",
        "738",
        "core.py",
    )


PROFILE = """\
INFO 04-23 10:00:24 [worker.py:287] model weights take 8.64GiB; non_torch_memory takes 0.15GiB; PyTorch activation \
peak memory takes 0.25GiB; the rest of the memory reserved for KV Cache is 10.74GiB.
"""
HELD = "SELECT device, place, kind, round(size_bytes / 1073741824, 2), lines FROM vram_items WHERE lines IS NOT NULL"


def test_the_account_of_an_engine_is_named_where_it_is_all_that_the_log_has(tmp_path: Path) -> None:
    found = case(tmp_path, vllm=PROFILE)
    assert sorted(one[:4] for one in rows(found, HELD)) == [
        ("unnamed card", "card", "activation_peak", 0.25),
        ("unnamed card", "card", "kv_cache", 10.74),
        ("unnamed card", "card", "non_torch", 0.15),
        ("unnamed card", "card", "weights", 8.64),
    ]


def test_weights_that_their_own_line_tells_are_not_counted_again_from_the_account(tmp_path: Path) -> None:
    own = "INFO 04-23 10:00:20 [model_runner.py:1110] Loading model weights took 8.6400 GB\n"
    found = case(tmp_path, vllm=own + PROFILE)
    assert rows(found, "SELECT pattern, mark FROM item JOIN line USING (line_id) ORDER BY ordinal") == [
        ("weights_v0", "counted"),
        ("profile_v0_parts", "superseded"),
    ]


def test_each_account_of_an_engine_is_of_a_start_of_its_own(tmp_path: Path) -> None:
    rows_of = (
        "INFO 12-13 10:0{}:18 worker.py:243] Memory profiling results:\n"
        "INFO 12-13 10:0{}:18 worker.py:243] model weights take   {}GiB\n"
    )
    found = case(tmp_path, vllm=rows_of.format(0, 0, "14.96") + rows_of.format(1, 1, "7.48"))
    held = "SELECT number, round(size_bytes / 1073741824, 2) FROM vram_ledger JOIN load USING (load_id) ORDER BY number"
    assert rows(found, held) == [(1, 14.96), (2, 7.48)]


def parallel(engines: list[str], workers: list[str], first_pid: int = 20) -> str:
    """A start whose engines and workers go by these names."""
    pids = {name: pid for pid, name in enumerate([*engines, *workers], first_pid)}
    header = "({} pid={}) INFO 11-30 12:00:51 "
    lines = [header.format("APIServer", 1) + "[api_utils.py:273] non-default args: {'model': '/m/a'}"]
    for text, names in (
        ("[core.py:114] Initializing a V1 LLM engine (v0.25.1) with config: model='/m/a', tokenizer='/m/a'", engines),
        ("[model_runner.py:302] Model loading took 7.64 GiB and 1.616609 seconds", workers),
        ("[gpu_worker.py:538] Available KV cache memory: 40.59 GiB", workers),
        ("[kv_cache_utils.py:2146] GPU KV cache size: 591,184 tokens", engines),
        ("[core.py:344] init engine (profile, create kv cache, warmup model) took 23.45 s", engines),
    ):
        lines += [header.format(name, pids[name]) + text for name in names]
    return "\n".join([*lines, "(APIServer pid=1) INFO:     Application startup complete.\n"])


STYLES = {
    "workers with a rank word": (["EngineCore_0"], ["VllmWorker rank=0", "VllmWorker rank=1"]),
    "workers with a rank name": (["EngineCore_0"], ["VllmWorker TP0", "VllmWorker TP1"]),
    "pipeline, 0.10.1": (["EngineCore_0"], ["VllmWorker PP0_TP0", "VllmWorker PP1_TP0"]),
    "tensor parallel": (["EngineCore"], ["Worker_TP0", "Worker_TP1"]),
    "experts": (["EngineCore"], ["Worker_TP0_EP0", "Worker_TP1_EP1"]),
    "pipeline": (["EngineCore"], ["Worker_PP0", "Worker_PP1"]),
    "pipeline and tensor": (["EngineCore"], ["Worker_PP0_TP0", "Worker_PP0_TP1", "Worker_PP1_TP0", "Worker_PP1_TP1"]),
    "context": (["EngineCore"], ["Worker_PCP0_TP0_DCP0", "Worker_PCP1_TP0_DCP0"]),
    "data, engines alone": (["EngineCore_DP0", "EngineCore_DP1"], ["EngineCore_DP0", "EngineCore_DP1"]),
    "data, before 0.10.2": (["EngineCore_0", "EngineCore_1"], ["EngineCore_0", "EngineCore_1"]),
    "data": (["EngineCore_DP0", "EngineCore_DP1"], ["Worker_DP0", "Worker_DP1"]),
    "data, tensor and experts": (
        ["EngineCore_DP0", "EngineCore_DP1"],
        ["Worker_DP0_TP0_EP0", "Worker_DP0_TP1_EP1", "Worker_DP1_TP0_EP2", "Worker_DP1_TP1_EP3"],
    ),
}
OF_WORKERS = (
    f"SELECT number, round(sum(size_bytes) / {1 << 30}, 2) FROM vram_ledger JOIN load USING (load_id) GROUP BY ALL"
)


@pytest.mark.parametrize("style", STYLES)
def test_engines_and_workers_of_one_start_are_one_load_however_they_are_called(tmp_path: Path, style: str) -> None:
    engines, workers = STYLES[style]
    found = case(tmp_path, server=parallel(engines, workers))
    assert rows(found, "SELECT number, ready_line IS NOT NULL, end_reason FROM load") == [(1, True, "log_ends")]
    assert rows(found, "SELECT count(*) FROM line WHERE load_id IS NULL") == [(0,)]
    assert rows(found, OF_WORKERS) == [(1, round(7.64 * len(workers), 2))]


@pytest.mark.parametrize("style", STYLES)
def test_a_container_that_starts_again_is_another_load_though_its_pids_recur(tmp_path: Path, style: str) -> None:
    engines, workers = STYLES[style]
    found = case(tmp_path, server=parallel(engines, workers) * 2)
    assert rows(found, "SELECT number, ready_line IS NOT NULL FROM load ORDER BY number") == [(1, True), (2, True)]
    assert rows(found, f"{OF_WORKERS} ORDER BY number") == [
        (number, round(7.64 * len(workers), 2)) for number in (1, 2)
    ]


@pytest.mark.parametrize("log", ["vllm-sleep", "vllm-draft-model", "vllm-one-card"])
def test_each_start_of_a_container_is_a_load_whatever_its_processes_say_of_themselves(tmp_path: Path, log: str) -> None:
    once = (LOGS / f"{log}.log").read_text("utf-8")
    found = case(tmp_path, server="".join(once.replace(" 11-30 ", f" 12-{day:02} ") for day in range(1, 13)))
    assert rows(found, "SELECT count(*), count(ready_line) FROM load") == [(12, 12)]
    assert rows(found, "SELECT count(*) FROM line WHERE scope = 'ambiguous'") == [(0,)]


def test_a_rank_in_a_tag_is_the_device_of_what_its_writer_holds(tmp_path: Path) -> None:
    places = {
        style: rows(
            case(tmp_path, server=parallel(*STYLES[style])), "SELECT DISTINCT device FROM vram_items ORDER BY 1"
        )
        for style in ("workers with a rank word", "workers with a rank name", "tensor parallel", "experts", "data")
    }
    by_rank = [("CUDA0",), ("CUDA1",)]
    assert places == {
        "workers with a rank word": by_rank,
        "workers with a rank name": by_rank,
        "tensor parallel": by_rank,
        "experts": by_rank,
        "data": [("unnamed card",)],  # which card an engine among several has, its number does not say
    }
