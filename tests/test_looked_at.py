"""Who asks where one load's memory is gets its lines for and against, and whose the others are that look like them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asking_loads import CATALOGUE, FIXTURES, case_of, case_text, moment
from typer.testing import CliRunner

from forensics.cli import app
from forensics.looked_at import explained
from forensics.opened import chosen_loads
from forensics.window import Window

ROUTER = FIXTURES / "spec-refutation-router" / "router.log"
TEN_MINUTES = Window(moment("2026-09-18 08:07"), moment("2026-09-18 08:17"))


def asked(folder: str, load: str, window: Window | None = TEN_MINUTES) -> dict[str, Any]:
    connection = case_of(FIXTURES / folder)
    return explained(connection, CATALOGUE, only=chosen_loads(connection, wanted=load), window=window)


def told(*arguments: str) -> str:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["explain-vram", *arguments, "--quiet"]).stdout


@pytest.mark.parametrize(
    ("folder", "prod", "name"),
    [
        ("spec-refutation-router", "prod", "plain"),
        ("spec-refutation-journal", "llama-prod.service", "Qwen3-14B-Q4_0.gguf"),
    ],
    ids=["a router's tags", "three units"],
)
def test_lines_that_deny_a_draft_context_are_named_with_the_load_that_owns_them(
    folder: str, prod: str, name: str
) -> None:
    found = asked(folder, prod)
    assert found["loads_in_window"] == 3
    looked = found["loads"][0]["looked_at"]
    assert (looked["against"], looked["ambiguous"]) == ([], [])
    assert [(one["number"], one["name"]) for one in looked["elsewhere"]] == [(3, name)]
    assert {line["what"] for line in looked["elsewhere"][0]["lines"]} == {
        "an allocation",
        '"no implementations": none is set up',
        '"draft: 0.000 MiB": a prompt-cache save of one request, not an allocation',
    }


def test_the_lines_for_a_load_are_all_of_that_load() -> None:
    found = asked("spec-refutation-router", "prod")
    (load,) = found["loads"]
    assert {found["evidence"][line]["load_id"] for line in load["looked_at"]["for"]} == {load["load_id"]}
    named = {line for device in load["devices"] for item in device["items"] for line in item["evidence"]}
    assert named <= set(load["looked_at"]["for"])


def test_without_a_window_the_loads_own_life_is_looked_at() -> None:
    # the embedding model was loaded before this load began, and the plain one while it served
    looked = asked("spec-refutation-router", "prod", None)["loads"][0]["looked_at"]
    assert [one["number"] for one in looked["elsewhere"]] == [3]


def test_the_screen_names_the_loads_of_the_window_and_the_owner_of_each_line() -> None:
    screen = told(str(ROUTER), "--load", "prod", "--around", "2026-09-18 08:12")
    assert "3 loads in the window" in screen
    assert "  against      nothing in this load\n" in screen
    assert '               load 3 (plain): "no implementations": none is set up' in screen
    assert "they belong to another load" not in screen  # that is said once


def test_who_asks_for_nothing_special_gets_no_such_section() -> None:
    assert "For and against" not in told(str(ROUTER))


def test_what_was_refused_speaks_against_and_what_was_planned_for_nothing(tmp_path: Path) -> None:
    log = """\
0.00.700.000 I srv    load_model: loading model '/m/prod.gguf'
0.00.800.000 I common_init_result: fitting params to device memory, for bugs during this step try to reproduce them with -fit off, or provide --verbose logs if the bug only occurs with -fit on
0.00.900.000 I load_tensors:        CUDA0 model buffer size =     0.00 MiB
0.01.000.000 I sched_reserve:      CUDA0 compute buffer size =   300.00 MiB
0.01.100.000 I common_fit_params: fitting params to free memory took 1.23 seconds
0.01.200.000 I load_tensors:        CUDA0 model buffer size =  5000.00 MiB
0.01.300.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 1: cudaMalloc failed: out of memory
0.01.400.000 I srv  llama_server: model loaded
"""  # noqa: E501  # a line is as long as the server makes it
    connection = case_text(tmp_path, log)
    (load,) = explained(connection, CATALOGUE, only=chosen_loads(connection, wanted="prod.gguf"))["loads"]
    looked = load["looked_at"]
    assert (looked["for_count"], looked["against_count"]) == (1, 1)
    assert [line["what"] for line in looked["looks_only"]] == ["an amount of a dry run, not an allocation"] * 2


def test_a_report_about_one_load_in_a_window_verifies(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    around = ("--load", "prod", "--around", "2026-09-18 08:12")
    report.write_text(told(str(ROUTER), *around, "--format", "json"))
    assert json.loads(report.read_text())["loads_in_window"] == 3
    done = CliRunner().invoke(app, ["verify", str(report)])
    assert (done.exit_code, "tampered" in done.stdout.lower()) == (0, False)
