"""Which model was loaded when: who got ready, how each ended, and what a search in the same window would confuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import case

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
