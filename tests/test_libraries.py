"""A library that a server loads with its work is part of its runtime from then on, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import MIB, case, rows
from test_telemetry import CARD, apps, every, export, gpus

FILE = "0.01.000.000 I print_info: file type   = {file_type}"
ATTENTION = "0.02.000.000 I llama_context: flash_attn            = {attention}"
PROMPT = "0.06.000.000 I slot   operator(): id  3 | task 2 | new prompt, n_ctx_slot = 512, n_keep = 0, task.n_tokens = "
RUNTIME = (
    f"SELECT moment, size_bytes / {MIB}, low_bytes / {MIB}, high_bytes / {MIB}, basis, note FROM vram_items "
    "WHERE kind = 'runtime' ORDER BY moment DESC"
)
BARE = (592.0, 586.0, 598.0, "inferred", "as on NVIDIA H200")


def served(file_type: str, attention: str, tokens: int) -> str:
    """A server that is asked for a prompt four seconds after it got ready."""
    return export(
        77,
        ("11:00:01", "0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'"),
        ("11:00:02", FILE.format(file_type=file_type)),
        ("11:00:02", "0.01.500.000 I load_tensors:        CUDA0 model buffer size =  1000.00 MiB"),
        ("11:00:03", ATTENTION.format(attention=attention)),
        ("11:00:04", "0.03.000.000 I srv  llama_server: model loaded"),
        ("11:00:04", "0.03.000.010 I srv  update_slots: all slots are idle"),
        ("11:00:07", f"{PROMPT}{tokens}"),
        ("11:00:12", "0.11.000.000 I srv    operator(): operator(): cleaning up before exit..."),
    )


APPS = apps(*every("11:00:02", "11:00:06", CARD, 77, 1590), *every("11:00:08", "11:00:12", CARD, 77, 1700))
GPU = gpus(("11:00:08", 0, CARD, "00000000:06:00.0", 1700))


@pytest.mark.parametrize(
    ("file_type", "attention", "why"),
    [
        ("F16", "auto", "file type = F16"),
        ("(guessed) BF16", "enabled", "file type = (guessed) BF16"),
        ("all F32", "auto", "file type = all F32"),
        ("Q4_0", "disabled", "flash_attn = disabled"),
        ("F16", "disabled", "file type = F16"),
    ],
)
def test_a_setting_and_a_prompt_that_ask_for_it_make_it_part_of_the_runtime(
    tmp_path: Path, file_type: str, attention: str, why: str
) -> None:
    found = case(tmp_path, server=served(file_type, attention, 17), apps=APPS, gpu=GPU)
    assert rows(found, RUNTIME) == [
        ("ready", *BARE),
        ("last", 692.0, 682.0, 702.0, "inferred", f"as on NVIDIA H200; with cuBLAS ({why})"),
    ]
    (cited,) = rows(
        found, "SELECT len(string_split(lines, ' ')) FROM vram_items WHERE kind = 'runtime' AND moment = 'last'"
    )
    assert cited == (2,)  # the setting and the prompt
    assert rows(found, "SELECT unexplained_bytes / 1048576.0 FROM vram_gap WHERE moment = 'last'") == [(8.0,)]


@pytest.mark.parametrize(
    ("file_type", "attention", "tokens"),
    [("Q4_0", "auto", 4000), ("Q8_0", "enabled", 4000), ("F16", "auto", 16)],
    ids=["quantised", "quantised, with flash attention", "a prompt of 16 tokens"],
)
def test_else_the_runtime_is_the_bare_process(tmp_path: Path, file_type: str, attention: str, tokens: int) -> None:
    found = case(tmp_path, server=served(file_type, attention, tokens), apps=APPS, gpu=GPU)
    assert rows(found, RUNTIME) == [("ready", *BARE), ("last", *BARE)]


def test_on_a_card_where_it_was_not_measured_it_has_no_figure(tmp_path: Path) -> None:
    other = GPU.replace("NVIDIA H200", "NVIDIA L4")
    found = case(tmp_path, server=served("F16", "auto", 4000), apps=APPS, gpu=other)
    assert [row[0] for row in rows(found, "SELECT count(*) FROM library")] == [0]
    assert {row[5] for row in rows(found, RUNTIME)} == {"as on any card"}


@pytest.mark.parametrize("device", ["Vulkan0", "SYCL0", "MTL0"])
def test_a_device_of_another_kind_gets_no_runtime_that_was_measured_with_cuda(tmp_path: Path, device: str) -> None:
    found = case(tmp_path, server=served("Q4_0", "auto", 4).replace("CUDA0", device))
    assert rows(found, "SELECT count(*) FROM runtime") == [(0,)]
    found = case(tmp_path, server=served("Q4_0", "auto", 4))
    assert rows(found, "SELECT count(*) FROM runtime") == [(1,)]
