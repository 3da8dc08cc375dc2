"""A container's log goes on where it starts again: each start is a load, in each form in which the log is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from casing import items, lives, rows
from opened import opened
from test_vllm import parallel


def bare(text: str) -> str:
    """`docker logs`, and what a shell keeps."""
    return text


def stamped(text: str) -> str:
    """`docker logs -t`."""
    return "".join(
        f"2026-09-18T08:{number // 60:02}:{number % 60:02}.000000001Z {line}\n"
        for number, line in enumerate(text.splitlines())
    )


def json_file(text: str) -> str:
    """What the json-file driver keeps."""
    return "".join(
        json.dumps(
            {
                "log": line + "\n",
                "stream": "stderr",
                "time": f"2026-09-18T08:{number // 60:02}:{number % 60:02}.000000001Z",
            }
        )
        + "\n"
        for number, line in enumerate(text.splitlines())
    )


def compose(text: str) -> str:
    """`docker compose logs`."""
    return "".join(f"llm-1  | {line}\n" for line in text.splitlines())


FORMS: list[Callable[[str], str]] = [bare, stamped, json_file, compose]

NEW = """\
0.00.438.019 I srv  llama_server: initializing ...
0.00.700.000 I srv    load_model: loading model '/m/{model}.gguf'
0.01.600.000 I load_tensors:        CUDA0 model buffer size =  {weights} MiB
0.02.000.000 I llama_context: constructing llama_context
0.02.100.000 I llama_kv_cache:      CUDA0 KV buffer size =  {cache} MiB
0.02.500.000 I srv  llama_server: model loaded
0.02.600.000 I srv  update_slots: all slots are idle
"""
# 2025: no prefix; who begins says so, and says again what it loads.
OLD = """\
main: binding port with default address family
main: HTTP server is listening, hostname: 0.0.0.0, port: 8080, http threads: 15
main: loading model
srv    load_model: loading model '/m/{model}.gguf'
load_tensors:        CUDA0 model buffer size =  {weights} MiB
llama_context: constructing llama_context
llama_kv_cache_unified:      CUDA0 KV buffer size =  {cache} MiB
main: model loaded
main: server is listening on http://0.0.0.0:8080 - starting the main loop
srv  update_slots: all slots are idle
slot launch_slot_: id  0 | task 0 | processing task
"""
FIRST = {"model": "alpha", "weights": "4914.18", "cache": "2304.00"}
SECOND = {"model": "beta", "weights": "2118.81", "cache": "576.00"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("server", [NEW, OLD], ids=["with a clock", "without"])
@pytest.mark.parametrize("again", [SECOND, FIRST], ids=["another model", "the same"])
def test_two_starts_of_a_server_in_one_log_are_two_loads(
    tmp_path: Path, form: Callable[[str], str], server: str, again: dict[str, str]
) -> None:
    found = opened(tmp_path, server_log=form(server.format(**FIRST) + server.format(**again)))
    assert [row[:3] for row in lives(found)] == [(1, "alpha.gguf", True), (2, f"{again['model']}.gguf", True)]
    assert items(found) == [
        (number, "CUDA0", "target", kind, float(one[of]))
        for number, one in ((1, FIRST), (2, again))
        for kind, of in (("kv_cache", "cache"), ("weights", "weights"))
    ]
    # Without a clock nothing says that the first is gone: what the second serves may be the first's.
    open_ = "SELECT DISTINCT event FROM line WHERE scope = 'ambiguous'"
    assert rows(found, open_) == ([] if server is NEW else [("request_moved",)])


@pytest.mark.parametrize("form", FORMS)
def test_two_starts_of_an_engine_in_one_log_are_two_loads(tmp_path: Path, form: Callable[[str], str]) -> None:
    start = parallel(["EngineCore_DP0"], ["EngineCore_DP0"])  # in a container the same process ids come again
    found = opened(tmp_path, server_log=form(start + start.replace("7.64", "15.28")))
    held = "SELECT number, round(size_bytes / 1073741824, 2) FROM vram_ledger JOIN load USING (load_id) ORDER BY number"
    assert rows(found, "SELECT number, ready_line IS NOT NULL FROM load ORDER BY number") == [(1, True), (2, True)]
    assert rows(found, held) == [(1, 7.64), (2, 15.28)]
    assert rows(found, "SELECT count(*) FROM line WHERE scope = 'ambiguous'") == [(0,)]
