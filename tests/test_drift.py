"""What a newer build prints and nobody reads: sizes and devices in all lines, token counts in a sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import case, rows

SERVER = """\
0.00.438.019 I srv  llama_server: initializing ...
0.00.438.030 I cmn  common_param: common_params_print_info: build 12345 (abcdef0) with GNU 14.2 for Linux x86_64
0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'
0.01.600.000 I load_tensors:        CUDA0 model buffer size =  4914.18 MiB
{line}
0.02.500.000 I srv  llama_server: model loaded
"""
DRIFT = "SELECT program, component, lines, version, newest FROM format_drift"


@pytest.mark.parametrize(
    ("line", "drift", "listed"),
    [
        (
            "0.02.000.000 I llama_kv_cache: device CUDA0 holds 2304.00 MiB of KV",
            [("llama.cpp", "llama_kv_cache", 1, "12345", "b11434")],
            [("size", 1)],
        ),
        (
            "0.02.000.000 I sched_reserve: graph goes to CUDA0",
            [("llama.cpp", "sched_reserve", 1, "12345", "b11434")],
            [("device", 1)],
        ),
        ("0.02.000.000 I my_own_tool: arena of 12.5 MiB", [], [("size", 1)]),
        ("0.02.000.000 I llama_kv_cache: nothing of note", [], []),
        ("0.02.000.000 I llama_kv_cache: holds 4096 tokens", [], [("tokens", 1)]),
    ],
    ids=["a size", "a device", "of no component that is known", "without a size or a device", "a token count"],
)
def test_a_wording_of_a_known_component_that_nobody_knows_is_named_with_the_newest_build(
    tmp_path: Path, line: str, drift: list[tuple[object, ...]], listed: list[tuple[str, int]]
) -> None:
    found = case(tmp_path, server=SERVER.format(line=line))
    assert rows(found, DRIFT) == drift
    assert rows(found, "SELECT what, lines FROM unread_templates") == listed


def test_an_engine_names_its_component_by_the_file_that_speaks(tmp_path: Path) -> None:
    line = "(EngineCore pid=1) INFO 11-30 11:14:55 [gpu_worker.py:563] The cache gets 6.87 GiB from now on"
    begun = "(APIServer pid=2) INFO 11-30 11:14:14 [utils.py:278] non-default args: {'model': '/m/a'}"
    assert rows(case(tmp_path, server=f"{begun}\n{line}\n"), DRIFT) == [
        ("vllm", "gpu_worker.py", 1, None, "0.33.0"),
    ]


def test_a_drift_is_among_the_losses_with_what_to_do(tmp_path: Path) -> None:
    found = case(tmp_path, server=SERVER.format(line="0.02.000.000 I llama_kv_cache: CUDA0 holds 2304.00 MiB of KV"))
    assert rows(found, "SELECT severity, what, count, remedy FROM losses WHERE what LIKE 'format drift%'") == [
        (
            "loss",
            (
                "format drift: llama.cpp 12345 prints wordings of llama_kv_cache that are not known; the newest build "
                "that is known is b11434"
            ),
            1,
            "use a newer catalogue, or add a pattern of your own (--patterns FILE)",
        )
    ]


def test_token_counts_are_looked_for_in_some_records_of_each_block(tmp_path: Path) -> None:
    lines = "0.02.000.000 I llama_kv_cache: holds 4096 tokens\n" * 1000
    found = case(tmp_path, server=lines)
    assert rows(found, "SELECT sampled, tokens, tokens_read FROM coverage") == [(100, 100, 0)]
    assert rows(found, "SELECT what, count FROM losses") == [
        ("lines with a token count that no pattern reads, of 100 that were looked at", 100)
    ]
