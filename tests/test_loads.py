"""Which model was loaded when: who got ready, how each ended, and what a search in the same window would confuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asking import case
from asking_loads import FIXTURES, asked, case_of, screen

from forensics.ask_loads import loads
from forensics.catalogue import load_catalogue
from forensics.explain import document

SERVED = """\
0.00.434.525 I ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):
0.00.728.543 I srv    load_model: loading model '/m/a.gguf'
0.01.300.372 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB
0.10.182.339 I srv  llama_server: model loaded
0.20.000.000 I slot launch_slot_: id  0 | task 1 | processing task, is_child = 0
"""
CRASH = "/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error\n"
EXIT = "0.30.000.000 I srv    operator(): operator(): cleaning up before exit...\n"


def test_a_load_without_wall_time_that_printed_its_ready_line_got_ready(tmp_path: Path) -> None:
    answer = loads(case(tmp_path, {"server.log": SERVED}))
    assert answer.verdict == "1 load; 1 got ready."
    assert [(one["ready"], one["ready_at"]) for one in answer.document["loads"]] == [(True, None)]


READY = "srv  llama_server: model loaded\n"
ROUTED = """\
0.10.000.000 I srv          load: spawning server instance with name=a on port 50001
[50001] 0.00.728.543 I srv    load_model: loading model '/m/a.gguf'
[50001] 0.10.182.339 I srv  llama_server: model loaded
"""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (SERVED, 9.453796),
        (ROUTED, None),
        (SERVED.replace("0.10.182.339 I srv  llama_server: model loaded\n", READY), None),
        ("".join(SERVED.splitlines(keepends=True)[2:]), None),
    ],
    ids=["its own clock", "two writers' clocks", "a line without a clock", "its beginning is not in the log"],
)
def test_how_long_it_loaded_is_told_by_its_own_clock_where_the_log_has_no_wall_time(
    tmp_path: Path, text: str, seconds: float | None
) -> None:
    (load,) = loads(case(tmp_path, {"server.log": text})).document["loads"]
    assert load["loading_s"] == seconds


def test_a_load_that_printed_none_did_not(tmp_path: Path) -> None:
    answer = loads(case(tmp_path, {"server.log": "".join(SERVED.splitlines(keepends=True)[:3])}))
    assert answer.verdict == "1 load; 0 got ready."


@pytest.mark.parametrize(
    ("last", "reason"), [(CRASH, "crashed"), (EXIT, "exit"), ("", "log_ends")], ids=["crash", "clean-up", "nothing"]
)
def test_how_a_load_ended_is_what_began_its_end_where_the_log_stops_there(
    tmp_path: Path, last: str, reason: str
) -> None:
    answer = loads(case(tmp_path, {"server.log": SERVED + last}))
    assert [one["end_reason"] for one in answer.document["loads"]] == [reason]


def test_a_crash_after_it_got_ready_leaves_the_account_of_what_it_held(tmp_path: Path) -> None:
    found = document(case(tmp_path, {"server.log": SERVED + CRASH}).connection, load_catalogue())
    (load,) = found["loads"]
    assert (load["failure"], [one["device"] for one in load["devices"]]) == (None, ["CUDA0"])


def test_who_asks_for_one_load_is_told_whose_the_other_lines_in_the_window_are() -> None:
    connection = case_of(FIXTURES / "spec-refutation-router")
    answer, told = asked(connection, loads, "prod", "2026-09-18 08:12")
    looked = told["prod"]["looked_at"]
    assert (len(answer.document["loads"]), looked["for_count"], looked["against_count"]) == (1, 5, 0)
    assert [(one["name"], [line["what"] for line in one["lines"]]) for one in looked["elsewhere"]] == [
        ("plain", [*["a load begins"] * 2, *["a load is ready"] * 3])  # the router says so too
    ]
    assert "not its own  load 3 (plain): a load begins" in screen(connection, answer)


def test_two_starts_that_begin_with_the_same_words_are_two_loads(tmp_path: Path) -> None:
    begun = "srv    load_model: loading model '/m/a.gguf'\nload_tensors:        CUDA0 model buffer size ="
    ask = case(tmp_path, {"first.log": f"{begun}  4914.17 MiB\n", "second.log": f"{begun}  4000.00 MiB\n"})
    sql = "SELECT number, size_bytes // 1048576 AS mib FROM vram_ledger JOIN load USING (load_id) ORDER BY number"
    assert ask.rows(sql) == [
        {"number": 1, "mib": 4914},
        {"number": 2, "mib": 4000},
    ]


def test_a_load_of_which_only_the_layers_are_known_is_called_by_them(tmp_path: Path) -> None:
    ask = case(tmp_path, {"server.log": "load_tensors: offloaded 65/65 layers to GPU\n"})
    assert "unknown model, 65/65 layers" in screen(ask.connection, loads(ask), 120)


BEGUN, TARGET = SERVED.splitlines(keepends=True)[1:3]
NAMED = "0.02.100.000 I common_speculative_init_result: loading draft model '/m/small.gguf'\n"
DRAFT = "0.03.100.000 I load_tensors:        CUDA0 model buffer size =   455.73 MiB\n"
ADDED = "0.03.200.000 I spec common_specu: adding speculative implementation 'draft-{method}'\n"
SHARED = (
    "0.03.000.000 I common_speculative_init_result: creating MTP draft context against the target model '/m/a.gguf'\n"
    "0.03.100.000 I llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB\n"
    "0.03.150.000 I sched_reserve:      CUDA0 compute buffer size =   495.00 MiB\n"
)
SIBLING = (
    "0.03.000.000 I done_getting_tensors: partial load — used 23 of 753 tensors in the file "
    "(rest belong to a sibling model on the same .gguf)\n"
)
PROJECTOR = (
    "0.03.000.000 I clip_model_loader: model name:   random-vit\n"
    "0.03.100.000 I clip_ctx: CLIP using CUDA0 backend\n"
    "0.03.200.000 I load_hparams: model size:         639.55 MiB\n"
)
ADAPTER = (
    "0.03.000.000 I llama_adapter_lora_init_impl: loading lora adapter from '/m/lora.gguf' ...\n"
    "0.03.100.000 I llama_adapter_lora_init_impl:      CUDA0 LoRA buffer size =    20.00 MiB\n"
)
ENGINE = (
    "(EngineCore pid=12) INFO 11-30 11:52:39 [core.py:114] Initializing a V1 LLM engine (v0.25.1) with config: "
    "model='/m/a', speculative_config=SpeculativeConfig(method='{method}', model={draft}, num_spec_tokens=3), "
    "max_seq_len=8192\n"
    "(EngineCore pid=12) INFO 11-30 11:52:43 [gpu_model_runner.py:5233] Loading drafter model...\n"
    "(EngineCore pid=12) INFO 11-30 11:52:45 [gpu_model_runner.py:5306] Model loading took 16.38 GiB memory and 1.98 "
    "seconds\n"
)
RANK = (
    "[2025-10-16 10:06:12 TP0] Load weight end. type={type}, dtype=torch.bfloat16, avail mem=62.45 GB, "
    "mem usage={gb} GB.\n"
)
REFUSED = (
    "ValueError: Free memory on device (10.0/79.2 GiB) on startup is less than desired GPU memory utilization (0.9, "
    "71.3 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
)


@pytest.mark.parametrize(
    ("text", "models"),
    [
        (BEGUN, [1]),
        (SERVED + PROJECTOR + ADAPTER, [1]),
        (BEGUN + TARGET + PROJECTOR + ADAPTER, [1]),
        (BEGUN + TARGET + SHARED + ADDED.format(method="mtp"), [1]),
        (BEGUN + TARGET + SIBLING + DRAFT + ADDED.format(method="mtp"), [2]),
        (SIBLING + DRAFT, [2]),
        (BEGUN + NAMED, [2]),
        (BEGUN + TARGET + NAMED + DRAFT, [2]),
        (BEGUN + TARGET + DRAFT, [2]),
        # A head that stands in a file of its own is loaded as a draft, and speculates as a head.
        (BEGUN + TARGET + NAMED + DRAFT + ADDED.format(method="mtp"), [2]),
        (BEGUN + TARGET + ADDED.format(method="eagle3"), [2]),
        (ENGINE.format(method="draft_model", draft="'/m/small'"), [2]),
        (ENGINE.format(method="mtp", draft="'/m/a'"), [2]),
        (ENGINE.format(method="ngram", draft="None"), [1]),
        (RANK.format(type="LlamaForCausalLM", gb=15.27) + RANK.format(type="LlamaForCausalLMEagle3", gb=1.43), [2]),
        (f"ERROR 11-30 11:52:39 [core.py:1100] {REFUSED}", [None]),
        ("load_tensors: offloaded 65/65 layers to GPU\n", [1]),
        (SERVED + NAMED.replace("0.02", "0.25") + EXIT, [1]),
    ],
    ids=[
        "only begun", "projector while it serves", "projector and adapter", "a head's context", "a head's weights",
        "a head, its target cut off", "a draft named", "a draft named and held", "a draft held", "a head's own file",
        "a head by its method", "an engine's draft", "an engine's head", "drafts from the text", "two kinds on a rank",
        "refused", "only layers", "named while it serves",
    ],
)  # fmt: skip
def test_models_with_weights_of_their_own_are_counted(tmp_path: Path, text: str, models: list[int | None]) -> None:
    answer = loads(case(tmp_path, {"server.log": text}))
    assert [one["models"] for one in answer.document["loads"]] == models


def test_a_draft_that_is_named_while_a_server_serves_is_no_part_of_it(tmp_path: Path) -> None:
    ask = case(tmp_path, {"server.log": SERVED + NAMED.replace("0.02", "0.25") + EXIT})
    assert [one["parts"] for one in loads(ask).document["loads"]] == [["target"]]
    assert ask.rows("SELECT configured, draft_model FROM speculation") == [{"configured": None, "draft_model": None}]


@pytest.mark.parametrize(
    ("draft", "row"),
    [(NAMED + DRAFT, ["#", "model", "models"]), (SHARED, ["#", "model", "begun"])],
    ids=["two models", "one"],
)
def test_how_many_models_a_load_holds_is_shown_where_one_holds_several(
    tmp_path: Path, draft: str, row: list[str]
) -> None:
    ask = case(tmp_path, {"server.log": BEGUN + TARGET + draft})
    _, table = screen(ask.connection, loads(ask)).split("\nLoads\n")
    assert table.split()[:3] == row


CARRIED = "main: server is listening on http://0.0.0.0:8008 - starting the main loop"
JOURNALED = {
    "__REALTIME_TIMESTAMP": "1789718400000000",
    "_HOSTNAME": "box",
    "_BOOT_ID": "0" * 32,
    "_PID": "700",
    "_TRANSPORT": "journal",
    "MESSAGE": CARRIED,
}


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (f"deep-seek-1  | {CARRIED}\n" * 2, "deep-seek-1"),
        (f"Nov 30 11:14:55 box llama-server[812]: {CARRIED}\n" * 2, "llama-server"),
        (json.dumps({**JOURNALED, "_SYSTEMD_UNIT": "llm.service", "SYSLOG_IDENTIFIER": "llama-server"}), "llm.service"),
        (json.dumps({**JOURNALED, "SYSLOG_IDENTIFIER": "llama-server"}), "llama-server"),
        (json.dumps({**JOURNALED, "_SYSTEMD_UNIT": "docker.service", "CONTAINER_NAME": "chat"}), "chat"),
        # Any client can send it: what reads as a unit is none.
        (json.dumps({**JOURNALED, "_SYSTEMD_UNIT": "x.service", "CONTAINER_NAME": "llm.service"}), "x.service"),
        (json.dumps({**JOURNALED, "UNIT": "llm.service"}), None),
    ],
    ids=["compose", "syslog", "unit", "identifier", "journald driver", "a unit's name", "a client's word"],
)
def test_what_the_collector_calls_a_writer_names_its_service(tmp_path: Path, text: str, unit: str | None) -> None:
    answer = loads(case(tmp_path, {"server.log": text + "\n"}))
    assert [one["unit"] for one in answer.document["loads"]] == [unit]


START = (
    "time=2026-09-18T08:0{at}:00.000Z level=INFO source=server.go:241 "
    'msg="using llama-server for model" model=/m/blobs/sha256-{blob}\n'
    "time=2026-09-18T08:0{at}:00.000Z level=INFO source=llama_server.go:611 "
    'msg="starting llama-server" cmd="/usr/lib/llama-server --model /m/blobs/sha256-{blob} --port 4000{at} {options}"\n'
    "srv    load_model: loading model '/m/blobs/sha256-{blob}'\n"
    "srv  llama_server: model loaded\n"
    "time=2026-09-18T08:0{at}:02.000Z level=INFO source=images.go:373 "
    'msg="template selection" model=registry.ollama.ai/lab/coder:latest selected=template\n'
)
A, B = "a1" * 32, "b2" * 32


def test_a_load_without_a_time_is_counted_where_it_stands(tmp_path: Path) -> None:
    later = started((B, "-c 4096")).replace("T08", "T09")
    ask = case(tmp_path, {"server.log": started((A, "-c 4096")) + BEGUN + TARGET + later})
    models = [one["model"].rpartition("/")[2] for one in loads(ask).document["loads"]]
    assert models == [f"sha256-{A}", "a.gguf", f"sha256-{B}"]


def started(*starts: tuple[str, str]) -> str:
    return "".join(START.format(at=at, blob=blob, options=options) for at, (blob, options) in enumerate(starts))


@pytest.mark.parametrize(
    ("starts", "identities", "rows"),
    [
        ([(A, "-c 4096"), (A, "-c 4096")], [], []),
        (
            [(A, "-c 4096"), (B, "-c 4096"), (A, "-c 4096")],
            [(f"sha256-{A}", 2), (f"sha256-{B}", 1)],
            ["coder:latest  sha256-a1a1a1a1a1a1  1 3", "              sha256-b2b2b2b2b2b2    2"],
        ),
        (
            [(A, "-c 4096 -np 1"), (A, "-c 8192 -np 1 --embedding")],
            [(f"sha256-{A}", 1), (f"sha256-{A}", 1)],
            ["coder:latest  -c 4096              1", "              -c 8192 --embedding  2"],
        ),
    ],
    ids=["the same again", "other blobs", "other options"],
)
def test_a_name_that_several_identities_share_is_shown_as_such(
    tmp_path: Path, starts: list[tuple[str, str]], identities: list[tuple[str, int]], rows: list[str]
) -> None:
    ask = case(tmp_path, {"server.log": started(*starts)})
    answer = loads(ask)
    _, *told = screen(ask.connection, answer).partition("One name, several identities\n")
    assert [line.rstrip() for line in told[1].splitlines()[1 : len(rows) + 1]] == rows
    assert [
        (identity["model"], len(identity["loads"]))
        for one in answer.document["shared_names"]
        for identity in one["identities"]
    ] == identities
