"""The document of explain-vram: why a load failed, what lacks, what was set aside, each from a log of a few lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from opened import BEGIN, cards_csv, holders_csv, journal, opened

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.explain import document, exit_code
from forensics.opened import ready
from forensics.question import load_questions
from forensics.records import Named

CATALOGUE = load_catalogue()
LLAMA = "srv    load_model: loading model '/srv/models/a.gguf'"
VLLM = "INFO 07-24 18:08:01 [core.py:58] Initializing a V1 LLM engine (v0.9.2) with config: model='Qwen/Qwen3-8B', x=1"
REFUSED = (
    "ERROR 07-24 18:09:01 [core.py:515] ValueError: Free memory on device (12.52/23.68 GiB) on startup is less than "
    "desired GPU memory utilization (0.9, 21.31 GiB). Decrease GPU memory utilization or reduce GPU memory used by "
    "other processes."
)
DENIED = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of memory"
)
TORCH = (
    "ERROR 07-24 18:09:01 [core.py:515] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 79.11 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process "
    "has 77.98 GiB memory in use."
)
FAILED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
EXITING = "srv  llama_server: exiting due to model loading error"
BUFFERS = """
srv    load_model: loading model '/srv/models/a.gguf'
llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:0a:00.0) - 23525 MiB free
load_tensors:        CUDA0 model buffer size =  5000.00 MiB
srv  llama_server: model loaded
"""


def explained(folder: Path, moment: str = "last", **files: str) -> dict[str, Any]:
    return document(opened(folder, **files), CATALOGUE, moment=moment)


@pytest.mark.parametrize(
    ("lines", "what", "asked", "there", "detail"),
    [
        pytest.param(
            [VLLM, REFUSED],
            "refused to start: less memory was free than the share it is told to take",
            21.31,
            12.52,
            "needed 21821 MiB; available 12820 MiB; of 24248 MiB on the card; share asked for 0.9",
            id="less free than its share",
        ),
        pytest.param(
            [VLLM, TORCH, TORCH, FAILED],
            "an allocation was refused",
            2.0,
            1.12,
            "2048.00 MiB refused on device 0, 1147 MiB free",
            id="an allocation, with what was free",
        ),
        pytest.param(
            [LLAMA, "main: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080"],
            "refused to start: its configuration is not possible",
            None,
            None,
            "ended 0.0 s after its start (failed)",
            id="no amount at all",
        ),
        pytest.param(
            [LLAMA, DENIED, EXITING],
            "an allocation was refused",
            2.0,
            None,
            "2048.00 MiB refused on device 0",
            id="an allocation",
        ),
        pytest.param(
            [LLAMA, DENIED.replace("2048.00", "14136.04"),
             "ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 14822711296", EXITING],
            "an allocation was refused",
            13.8,
            None,
            "14136.04 MiB refused on ROCm0",
            id="one refusal told twice",
        ),
        pytest.param(
            [LLAMA, "llama_model_load: error loading model: device CUDA0 does not support split buffers",
             EXITING],
            "error loading model: device CUDA0 does not support split buffers",
            None,
            None,
            "ended 0.0 s after its start (failed)",
            id="what it says",
        ),
    ],
)  # fmt: skip
def test_a_failure_is_told_with_the_amounts_that_its_lines_give(
    tmp_path: Path, lines: list[str], what: str, asked: float | None, there: float | None, detail: str
) -> None:
    (load,) = explained(tmp_path, server_log=journal(7, 0, *lines))["loads"]
    failure = load["failure"]

    def gib(size: int | None) -> float | None:
        return None if size is None else round(size / 2**30, 2)

    assert (failure["what"], gib(failure["asked_bytes"]), gib(failure["there_bytes"])) == (
        what,
        asked,
        there,
    )
    assert detail in failure["detail"]
    assert load["devices"] == []


def test_what_was_free_when_an_allocation_was_refused_is_what_the_device_showed(tmp_path: Path) -> None:
    lines = (
        LLAMA,
        "llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:0a:00.0) - 23525 MiB free",
        "load_tensors:        CUDA0 model buffer size =  5000.00 MiB",
        DENIED.replace("2048", "98304"),
        "ggml_backend_buft_alloc_buffer_n_default: failed to allocate CUDA0 buffer of size 103079215104",
        EXITING,
    )
    (load,) = explained(tmp_path, server_log=journal(7, 0, *lines))["loads"]
    assert (load["failure"]["asked_mib"], load["failure"]["there_mib"]) == (98_304.0, 23_525.0)
    assert "before it, 5000.00 MiB for weights (target) on CUDA0; freed" in load["failure"]["detail"]


def test_a_load_that_is_killed_before_it_is_ready_says_that_no_line_says_why(tmp_path: Path) -> None:
    end = journal(
        1, 5, "llm.service: Main process exited, code=killed, status=9/KILL", unit="init.scope", _COMM="systemd",
        SYSLOG_IDENTIFIER="systemd", _PID="1", _TRANSPORT="journal", UNIT="llm.service", INVOCATION_ID=f"{7:032x}",
        EXIT_CODE="killed", EXIT_STATUS="9",
    )  # fmt: skip
    found = explained(tmp_path, server_log=journal(7, 0, LLAMA) + end)
    (load,) = found["loads"]
    assert load["failure"]["what"] == "ended (killed) before it got ready; no line says why"
    assert exit_code(found) == 0


def test_without_a_load_what_lacks_is_the_log_from_its_start(tmp_path: Path) -> None:
    found = explained(tmp_path, server_log="nothing that a pattern reads\n")
    assert [(one["what"], one["remedy"]) for one in found["missing"]] == [
        ("a model load", "Give the server's log or journal from its start on.")
    ]
    assert exit_code(found) == 3


SLOG = "time=2026-08-21T10:00:00.101Z level=INFO msg="
GPUSTACK = (
    "2026-08-21T10:00:00+00:00 - gpustack.worker.serve_manager - INFO - Started model instance a on ports [40012]"
)


@pytest.mark.parametrize(
    ("lines", "what", "flags"),
    [
        (
            ["cmn  common_param: common_params_print_info: verbosity = 3 (adjust with the `-lv N` CLI arg)", LLAMA],
            "buffer sizes",
            ["-lv 4", "LLAMA_ARG_LOG_VERBOSITY=4"],
        ),
        (
            [f'{SLOG[:-4]}source=server.go:241 msg="using llama-server for model" model=/m/blobs/sha256-{"a" * 64}'],
            "ends of loads",
            ["OLLAMA_DEBUG=1"],
        ),
        ([VLLM.replace("0.9.2", "0.21.0")], "the engine's own memory account", ["VLLM_LOGGING_LEVEL=DEBUG", "0.26.0"]),
        (["[INFO] <a> Health check passed on http://localhost:10001/health"], "loads", ["logLevel: debug"]),
        (
            ["[DEBUG] <a> Executing start command: llama-server --port 10001 -m /srv/models/a.gguf, env: "],
            "what the models print",
            ["logToStdout: both", "systemd-cat"],
        ),
        (
            [f'{SLOG}"BackendLoader starting" modelID=a backend=llama-cpp model=a.gguf'],
            "what the backends print",
            ["DEBUG=true", "--debug"],
        ),
        (
            ["2026-08-21 10:00:00.105 [Info] (ProcessManager) Process started successfully, PID: 4711"],
            "what the backends print",
            ["info or debug"],
        ),
        (
            [
                "[2026-08-28 21:19:23] server_args=ServerArgs(model_path='a')",
                "[2026-08-28 21:19:30] Load weight begin.",
            ],
            "what it allocates",
            ["--log-level info"],
        ),
        (["Loading Text Model: /srv/models/a.gguf"], "what the engine prints", ["--debugmode"]),
        ([GPUSTACK], "loads", ["serve/ID.RESTART.log"]),
    ],
    ids="llama.cpp ollama vllm llama-swap-quiet llama-swap localai lemonade sglang koboldcpp gpustack".split(),
)
def test_what_a_program_would_have_logged_is_asked_for_by_its_own_flag(
    tmp_path: Path, lines: list[str], what: str, flags: list[str]
) -> None:
    (tmp_path / "server.log").write_text("".join(f"{line}\n" for line in lines))
    connection = duckdb.connect()
    store(read_evidence([tmp_path / "server.log"], CATALOGUE), connection)
    found = document(ready(connection, load_questions(), None), CATALOGUE)
    (remedy,) = [one["remedy"] for one in found["missing"] if one["what"] == what]
    assert [flag for flag in flags if flag not in remedy] == []


@pytest.mark.parametrize(
    ("version", "asked"),
    [("0.10.2", False), ("0.11.0", True), ("0.25.1", True), ("0.25.2rc1.dev4+g1234567", False), ("0.26.0", False)],
)
def test_a_flag_is_asked_for_only_of_the_builds_that_need_it(tmp_path: Path, version: str, asked: bool) -> None:
    said = f"INFO 07-24 18:08:00 [api_server.py:1893] vLLM API server version {version}"
    (tmp_path / "server.log").write_text(f"{said}\n{VLLM}\n")
    connection = duckdb.connect()
    store(read_evidence([tmp_path / "server.log"], CATALOGUE), connection)
    found = document(ready(connection, load_questions(), None), CATALOGUE)
    assert any("VLLM_LOGGING_LEVEL=DEBUG" in one["remedy"] for one in found["missing"]) == asked


@pytest.mark.parametrize(
    ("moment", "samples", "because"),
    [
        ("last", (), "there is no telemetry in the evidence"),
        ("last", ((0.0005, 0, 7, 100),), "no sample lies between the moment it got ready and its clean-up"),
        ("asleep", ((9, 0, 7, 5600),), "no sample shows the moment asked for (asleep)"),
        ("last", ((9, 0, 8, 5600), (9, 0, 9, 5600)), "nothing proves which sampled process or card is its"),
    ],
    ids=["none", "too early", "another moment", "others"],
)
def test_why_nothing_is_measured_is_said(
    tmp_path: Path, moment: str, samples: tuple[tuple[float, int, int, int], ...], because: str
) -> None:
    files = {"apps_csv": holders_csv(*samples)} if samples else {}
    found = explained(tmp_path, moment, server_log=journal(7, 0, BUFFERS), **files)
    assert [one["because"] for one in found["missing"] if one["what"] == "the measured use"] == [because]


def test_telemetry_that_cannot_be_used_is_not_called_none(tmp_path: Path) -> None:
    nameless = "memory.used [MiB]\n5600 MiB\n5610 MiB\n"
    found = explained(tmp_path, server_log=journal(7, 0, BUFFERS), gpu_csv=nameless)
    (one,) = [one for one in found["missing"] if one["what"] == "the measured use"]
    lost = "rows name no card and print no time: other cards or later readings, they cannot be placed"
    assert one["because"] == f"there is telemetry that cannot be used, in {tmp_path / 'gpu.csv'}: {lost}"
    assert one["remedy"].startswith("Add timestamp to the query: --query-gpu=timestamp,index,uuid")


def test_a_measurement_at_the_time_of_its_file_lacks_its_time(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(journal(7, 0, BUFFERS))
    head, row = holders_csv((9, 0, 7, 5600)).splitlines()
    undated = f"{head.partition(', ')[2]}\n{row.partition(', ')[2]}\n"
    (tmp_path / "apps.csv").write_text(undated)
    saved_us = int(BEGIN.timestamp() * 1_000_000) + 9_000_000
    files = [Named(name, tmp_path / name, saved_us) for name in ("server.log", "apps.csv")]
    connection = duckdb.connect()
    store(read_evidence(files, CATALOGUE), connection)
    found = document(ready(connection, load_questions(), None), CATALOGUE)
    (device,) = found["loads"][0]["devices"]
    assert (device["measured_mib"], device["join_scope"]) == (5600.0, "inferred")
    (one,) = [one for one in found["missing"] if "measured use" in one["what"]]
    assert (one["what"], one["because"]) == (
        "the time of the measured use",
        "the capture prints none: its file's modification time stands for it",
    )


def test_items_that_exceed_what_the_card_shows_are_a_finding_and_so_is_a_rest_beyond_all_items(tmp_path: Path) -> None:
    for used, state, words in (
        (4000, "supported", "MiB on CUDA0 is counted twice, or was freed without a line"),
        (9000, "not established", "MiB on CUDA0 is beyond every item and the runtime; no line names it."),
    ):
        (tmp_path / str(used)).mkdir()
        files = {"server_log": journal(7, 0, BUFFERS), "apps_csv": holders_csv((9, 0, 7, used))}
        (load,) = explained(tmp_path / str(used), **files)["loads"]
        assert [(one["state"], words in one["claim"]) for one in load["findings"]] == [(state, True)]


def test_amounts_of_loads_that_are_not_asked_about_are_set_aside_by_name(tmp_path: Path) -> None:
    other = BUFFERS.replace("a.gguf", "b.gguf")
    connection = opened(tmp_path, server_log=journal(7, 0, BUFFERS) + journal(8, 60, other))
    first, second = (row[0] for row in connection.execute("SELECT load_id FROM load ORDER BY number").fetchall())
    found = document(connection, CATALOGUE, only=[second])
    assert [load["load_id"] for load in found["loads"]] == [second]
    assert [(one["what"], one["why"], one["load_id"]) for one in found["set_aside"]] == [
        ("1 amounts of load 1 (/srv/models/a.gguf)", "they belong to another load", first)
    ]


def test_a_card_that_no_load_was_measured_on_is_shown_as_it_was_last(tmp_path: Path) -> None:
    found = explained(tmp_path, server_log=journal(7, 0, LLAMA), gpu_csv=cards_csv((1, 1, 300), (2, 1, 400)))
    assert [(card["gpu_index"], card["used_mib"], card["rest_mib"], card["holders"]) for card in found["cards"]] == [
        (1, 400.0, None, [])
    ]


def test_a_load_whose_beginning_is_not_in_the_log_and_one_without_amounts(tmp_path: Path) -> None:
    late = "\n".join(BUFFERS.strip().splitlines()[1:])
    connection = opened(tmp_path, server_log=journal(7, 0, late) + journal(8, 60, LLAMA))
    first, second = (row[0] for row in connection.execute("SELECT load_id FROM load ORDER BY number").fetchall())
    found = document(connection, CATALOGUE, only=[first])
    assert [(one["what"], one["because"]) for one in found["missing"] if one.get("load_id") == first][:1] == [
        ("the beginning of this load", "the log begins in the middle of it")
    ]
    assert [one for one in found["set_aside"] if one["load_id"] == second] == []  # it has none to set aside
