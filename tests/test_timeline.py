"""Who held how much when: levels, steps and what names them, lanes, holes, and the trace for Perfetto."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from asking import screen
from asking_loads import FIXTURES, case_of
from opened import cards_csv, holders_csv, journal, opened
from rich.console import Console
from typer.testing import CliRunner

from forensics.answer import Ask, answer_table
from forensics.ask_timeline import timeline
from forensics.cli import app
from forensics.lanes import Span, heights, lane

LOADING = journal(
    4711,
    -0.5,
    """
0.00.438.019 I srv  llama_server: initializing ...
0.00.728.543 I srv    load_model: loading model '/m/coder.gguf'
0.00.802.093 I llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0) - 23871 MiB free
""",
)
WEIGHTS = journal(4711, 1.5, "0.02.171.372 I load_tensors:        CUDA0 model buffer size =  4914.18 MiB")
CACHE = journal(
    4711,
    3.5,
    """
0.04.193.200 I llama_context: constructing llama_context
0.04.201.214 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
0.04.900.000 I srv  llama_server: model loaded
""",
)
ENDING = journal(4711, 20, "0.20.000.000 I srv    operator(): cleaning up before exit...")
HELD = [(second, 0, 4711, amount) for second, amount in enumerate([518, 518, 5434, 5434, 7806, 7806, 7806])]
USED = [(second, 0, amount + 2) for second, _, _, amount in HELD]


def ask(folder: Path, log: str, held: list[Any], used: list[Any], **asked: Any) -> Ask:
    return Ask(
        connection=opened(folder, journal_json=log, apps_csv=holders_csv(*held), gpu_csv=cards_csv(*used)), **asked
    )


def steps(question: Ask) -> list[tuple[float, float, str]]:
    return [(one["change_mib"], one["rest_mib"], one["state"]) for one in timeline(question).document["steps"]]


def test_each_step_is_told_by_the_lines_that_made_it(tmp_path: Path) -> None:
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, USED)
    assert steps(question) == [(518, 518, "runtime"), (4916, 1.82, "named"), (2372, 68, "named")]
    assert [one["items"] for one in timeline(question).document["steps"]] == [None, "target weights", "target kv_cache"]


def test_a_step_that_no_line_tells_is_unexplained(tmp_path: Path) -> None:
    held = [*HELD, (7, 0, 4711, 8806), (8, 0, 4711, 8806)]
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, held, USED)
    assert steps(question)[-1] == (1000, 1000, "unexplained")
    assert timeline(question).verdict.endswith("one step of memory nobody explains.")


def test_a_reservation_that_is_given_back_at_once_is_told_apart(tmp_path: Path) -> None:
    held = [*HELD, (7, 0, 4711, 8806), (8, 0, 4711, 7806)]
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, held, USED)
    assert [state for _, _, state in steps(question)][-2:] == ["passing", "passing"]


def test_an_amount_that_is_told_after_it_was_taken_belongs_to_the_step_of_its_size(tmp_path: Path) -> None:
    held = [(0, 0, 4711, 518), (1, 0, 4711, 5434), (2, 0, 4711, 5434), (3, 0, 4711, 5434), (4, 0, 4711, 7806)]
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, held, USED)
    assert steps(question) == [(518, 518, "runtime"), (4916, 1.82, "named"), (2372, 68, "named")]


def test_memory_of_a_process_without_a_log_is_a_strangers(tmp_path: Path) -> None:
    held = [*HELD, *((second, 1, 99, 300) for second in range(7))]
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, held, USED)
    assert (300, 300, "stranger") in steps(question)


def test_a_holder_that_disappears_gave_back_what_it_held(tmp_path: Path) -> None:
    used = [*USED, *((second, 0, 2) for second in range(7, 14))]
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, used)
    assert steps(question)[-1] == (-7806, -7806, "unexplained")


def test_what_an_engine_takes_again_when_it_wakes_is_what_its_sleep_gave_back() -> None:
    told = [
        (one["state"], one["why"], round(one["change_mib"]))
        for one in timeline(Ask(case_of(FIXTURES / "vllm-sleep-mode"))).document["steps"]
        if one["at"] > "2026-11-30T11:21:00" and one["state"] != "small"
    ]
    assert told == [
        ("released", "asleep", -14468),
        ("released", "asleep", -43530),
        ("woken", None, 56778),
        ("released", "exit", -57978),
    ]


def test_levels_say_which_load_held_how_much_from_when_to_when(tmp_path: Path) -> None:
    (card,) = timeline(ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, USED)).document["cards"]
    assert [(one["from_at"][14:19], one["to_at"][14:19], one["mib"], one["phase"]) for one in card["holders"]] == [
        ("00:00", "00:01", 518, "allocate"),
        ("00:02", "00:03", 5434, "allocate"),
        ("00:04", "00:06", 7806, "serve"),
    ]


def test_snapshots_to_the_second_beside_a_series_make_no_steps(tmp_path: Path) -> None:
    log = LOADING + WEIGHTS + CACHE
    connection = opened(
        tmp_path,
        journal_json=log,
        apps_csv=holders_csv(*HELD),
        snapshot_csv=holders_csv((1.0, 0, 4711, 7806)),
        gpu_csv=cards_csv(*USED),
    )
    assert [state for _, _, state in steps(Ask(connection=connection))] == ["runtime", "named", "named"]


def test_a_pause_of_the_sampling_is_a_hole(tmp_path: Path) -> None:
    used = [*USED, (60, 0, 7808), (61, 0, 7808)]
    (hole,) = timeline(ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, used)).document["holes"]
    assert (hole["kind"], hole["number"], hole["from_at"][14:19], hole["to_at"][14:19]) == (
        "sampling",
        54,
        "00:06",
        "01:00",
    )


def test_pauses_that_follow_each_other_are_told_as_one_on_the_screen(tmp_path: Path) -> None:
    used = [*USED, *((second, 0, 7808) for second in range(6, 12)), (60, 0, 7808), (120, 0, 7808), (121, 0, 7808)]
    answer = timeline(ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, used))
    assert len(answer.document["holes"]) == 2
    (table,) = [section for section in answer.sections if section.title == "Holes in the evidence"]
    assert table.rows == (("08:00:11", "08:02:00", "GPU 0", "2 pauses in a row, the longest of 60 s"),)


def test_a_load_that_no_sample_shows_is_a_hole(tmp_path: Path) -> None:
    connection = opened(tmp_path, journal_json=LOADING + WEIGHTS)
    document = timeline(Ask(connection=connection)).document
    assert [(one["kind"], one["subject"]) for one in document["holes"]] == [
        ("unsampled", document["loads"][0]["load_id"])
    ]


def test_lanes_are_drawn_on_one_scale_with_the_steps_below(tmp_path: Path) -> None:
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, USED)
    assert screen(question, timeline(question)).splitlines() == [
        "One load on one card in 6 s, at most 7.62 GiB used on a card; every step of",
        "memory has an explanation.",
        "",
        "Lanes",
        "                 07:59:59                                    08:00:06",
        "GPU 0 ≤7.62 GiB     ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆█████████████████",
        "1 coder.gguf     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒████████████████████",
        "· dry run   ▒ loading   █ serving   ░ asleep   ▏ ending   ▁▂▃▄▅▆▇█ used of the",
        "card, up to its most",
        "",
        "Steps of memory",
        "at          card   who         change MiB  not named  what the log says",
        "08:00:00.0  GPU 0  coder.gguf        +518        518  runtime, no line names it",
        "08:00:02.0  GPU 0  coder.gguf       +4916          2  target weights",
        "08:00:04.0  GPU 0  coder.gguf       +2372         68  target kv cache",
        "",
        "Read  100 % of lines, 100 % of bytes; no size or device left unread",
    ]


def test_a_console_without_blocks_gets_letters(tmp_path: Path) -> None:
    question = ask(tmp_path, LOADING + WEIGHTS + CACHE, HELD, USED)
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\n")
    answer_table(question, timeline(question), Console(file=file, width=80, color_system=None))
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    assert "1 coder.gguf" in file.buffer.getvalue().decode("ascii")


def test_the_trace_has_cards_and_loads_as_processes_and_memory_as_counters(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    opened(folder, journal_json=LOADING + WEIGHTS + CACHE, apps_csv=holders_csv(*HELD), gpu_csv=cards_csv(*USED))
    target = tmp_path / "trace.json"
    done = CliRunner().invoke(app, ["timeline", str(folder), "--tz", "+00:00", "--perfetto", str(target)])
    assert done.exit_code == 0
    events = json.loads(target.read_text("utf-8"))["traceEvents"]
    named = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert named == ["GPU 0 NVIDIA GeForce RTX 3090", "1 coder.gguf"]
    assert [one["args"]["MiB"] for one in events if one["name"] == "pid 4711"] == [518, 5434, 7806, 0]
    assert [(one["name"], one["dur"]) for one in events if one["ph"] == "X"] == [
        ("allocate", 4001000),
        ("serve", 2498000),
    ]


def test_nothing_with_a_time_is_no_timeline(tmp_path: Path) -> None:
    assert timeline(Ask(connection=opened(tmp_path, server_log="nothing\n"))).code == 3


@pytest.mark.parametrize(
    ("spans", "drawn"),
    [
        ([Span(0, 100, "#")], "##########"),
        ([Span(0, 50, "."), Span(50, 100, "#")], ".....#####"),
        ([Span(20, 21, "!")], "  !"),
        ([Span(90, 500, "#")], "         #"),
        ([], ""),
    ],
    ids=["whole", "two halves", "a moment still shows", "past the end", "nothing"],
)
def test_a_lane_is_in_scale(spans: list[Span], drawn: str) -> None:
    assert lane(spans, 0, 100, 10) == drawn


def test_heights_show_the_highest_of_each_cell() -> None:
    assert heights([(0, 50, 0), (50, 75, 40), (75, 100, 100)], 100, 0, 100, 4) == "··▄█"
