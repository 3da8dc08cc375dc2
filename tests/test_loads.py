"""Which model was loaded when: who got ready, how each ended, and what a search in the same window would confuse."""

from __future__ import annotations

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
