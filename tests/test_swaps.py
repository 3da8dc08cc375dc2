"""Which loads took each other's place: the intervals, what is no ping-pong, who asked, why, and what would stop it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import case, screen
from typer.testing import CliRunner

from forensics.answer import Ask
from forensics.ask_swaps import swaps
from forensics.ask_traffic import traffic
from forensics.cli import app

FIXTURES = Path(__file__).parent.parent / "fixtures"
SIX_LINES = """\
2026-08-01T08:11:44+0000 box server[1234]: load_tensors: offloaded 65/65 layers to GPU
2026-08-01T08:12:22+0000 box server[1234]: load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:13:45+0000 box server[1234]: load_tensors: offloaded 65/65 layers to GPU
2026-08-01T08:14:07+0000 box server[1234]: load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:14:37+0000 box server[1234]: load_tensors: offloaded 65/65 layers to GPU
2026-08-01T08:15:04+0000 box server[1234]: load_tensors: offloaded 66/66 layers to GPU
"""
ACCESS = (
    "2026-08-01T08:15:10+0000 box server[1234]: "
    '[GIN] 2026/08/01 - 08:15:10 | 200 |  7.9s | 192.168.3.148 | POST     "/api/chat"\n'
)
ROUTER = """\
0.00.583.316 I srv  llama_server: starting server in router mode. models will be automatically loaded on-demand
0.00.725.988 I srv          load: spawning server instance with name=small on port 35171
0.00.726.024 I srv          load: spawning server instance with args:
0.00.726.029 I srv          load:   --port
0.00.726.030 I srv          load:   35171
0.00.726.031 I srv          load:   --model
0.00.726.031 I srv          load:   /srv/models/small.gguf
[35171] 0.00.296.203 I srv    load_model: loading model '/srv/models/small.gguf'
[35171] 0.00.300.372 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB
[35171] 0.02.182.339 I srv  llama_server: model loaded
0.03.628.675 I srv          join: request for name=large queued at position 1
0.03.628.681 I srv          tick: evicting idle LRU name=small for a queued request
0.03.979.021 I srv           run: instance name=small exited with status 0
0.03.979.232 I srv          load: spawning server instance with name=large on port 58109
[58109] 0.00.296.203 I srv    load_model: loading model '/srv/models/large.gguf'
[58109] 0.00.300.372 I load_tensors:        CUDA0 model buffer size = 14556.50 MiB
[58109] 0.04.182.339 I srv  llama_server: model loaded
[58109] 0.05.495.588 I srv  log_server_r: done request: POST /v1/chat/completions 192.0.2.7 200
0.09.574.139 I srv          tick: evicting idle LRU name=large for a queued request
0.09.995.396 I srv           run: instance name=large exited with status 0
0.09.995.624 I srv          load: spawning server instance with name=small on port 39165
[39165] 0.00.296.203 I srv    load_model: loading model '/srv/models/small.gguf'
[39165] 0.02.182.339 I srv  llama_server: model loaded
0.13.373.466 I srv          tick: evicting idle LRU name=small for a queued request
0.13.708.787 I srv           run: instance name=small exited with status 0
0.13.708.994 I srv          load: spawning server instance with name=large on port 56361
[56361] 0.00.296.203 I srv    load_model: loading model '/srv/models/large.gguf'
[56361] 0.05.182.339 I srv  llama_server: model loaded
"""
"""A router with room for one model: the lines of a recorded run, fewer of them."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    return case(tmp_path_factory.mktemp("router"), {}, FIXTURES / "llama-router-ping-pong")


def journal(text: str, begun: str = "2026-11-30T11:08:", pid: int = 5516) -> str:
    """Each line a second after the one before, as journalctl -o short-iso prints it."""
    return "".join(
        f"{begun}{second:02d}+0000 box server[{pid}]: {line}\n" for second, line in enumerate(text.splitlines())
    )


def episodes(ask: Ask) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = list(swaps(ask).document["episodes"])
    return found


def apart(ask: Ask) -> list[tuple[str, str]]:
    return [(one["identity"], one["why"]) for one in swaps(ask).document["apart"]]


# -- the six lines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", ["", ACCESS], ids=["lines of the runners only", "access lines of their supervisor too"]
)
def test_six_lines_of_offloaded_layers_are_a_ping_pong_of_two_models(tmp_path: Path, more: str) -> None:
    (episode,) = episodes(case(tmp_path, {"journal.txt": SIX_LINES + more}))
    assert (episode["kind"], episode["swaps"], episode["alternates"]) == ("ping_pong", 5, True)
    assert episode["identities"] == ["unknown model, 65/65 layers", "unknown model, 66/66 layers"]
    assert [one["stay_s"] for one in episode["details"]] == [38, 83, 22, 30, 27, None]
    interval = episode["interval_s"]
    assert (interval["mean"], interval["median"], interval["min"], interval["max"]) == (40, 30, 22, 83)
    assert round(interval["cv"], 2) == 0.62
    cycle = episode["cycle_s"]
    assert (cycle["mean"], cycle["median"], cycle["min"], cycle["max"], cycle["cycles"]) == (83.75, 81, 52, 121, 4)
    # 121, 105, 52 and 57 s: their deviation is 34.2
    assert (round(cycle["cv"], 2), episode["span_s"]) == (0.41, 200)


def test_the_span_of_the_six_lines_is_three_minutes_and_twenty_seconds_not_four(tmp_path: Path) -> None:
    answer = swaps(case(tmp_path, {"journal.txt": SIX_LINES}))
    assert answer.verdict == "Ping-pong: 2 models took each other's place 5 times in 3 min 20 s."


def test_an_interval_shorter_than_a_load_is_one_that_could_not_have_completed(tmp_path: Path) -> None:
    (episode,) = episodes(case(tmp_path, {"journal.txt": SIX_LINES}, extra={"load_s": 37.7}))
    assert [one["interval_s"] for one in episode["short_intervals"]] == [22, 30, 27]
    assert {one["note"] for one in episode["short_intervals"]} == {"could not have completed, unless page-cache warm"}


BUSY = "".join(
    f"2026-08-01T08:{minute:02d}:{second:02d}+0000 box server[1234]: "
    f'[GIN] 2026/08/01 - 08:{minute:02d}:{second:02d} | 200 |  1.5s | 192.168.3.148 | POST     "/api/chat"\n'
    for minute, second in ((11, 50), (12, 20), (12, 58), (13, 36), (14, 0), (14, 30), (15, 0), (15, 4))
)


@pytest.mark.parametrize(
    ("known", "fits", "because"),
    [
        ({"load_s": 37.7}, False, "the longest pause, 36.5 s, is shorter than one swap of 37.7 s"),
        ({}, None, "no line says how long a load takes; --load-time says it"),
        ({"load_s": 20.0}, None, "a measurement of up to 16.5 s would fit; --measurement says how long yours takes"),
        (
            {"load_s": 20.0, "measure_s": 30.0},
            False,
            "the longest pause, 36.5 s, against a swap of 20.0 s and a measurement of 30.0 s",
        ),
        (
            {"load_s": 20.0, "measure_s": 10.0},
            True,
            "the longest pause, 36.5 s, against a swap of 20.0 s and a measurement of 10.0 s",
        ),
    ],
    ids=["no", "unknown load", "unknown measurement", "too long", "yes"],
)
def test_whether_a_swap_and_a_measurement_fit_a_pause_is_answered(
    tmp_path: Path, known: dict[str, float], fits: bool | None, because: str
) -> None:
    (episode,) = episodes(case(tmp_path, {"journal.txt": SIX_LINES + BUSY}, extra=known))
    assert (episode["requests"]["requests"], episode["fits"]["fits"], episode["fits"]["because"]) == (8, fits, because)


HOUR = datetime(2026, 8, 1, 5, 0, tzinfo=UTC)


def hour(idle: int) -> str:
    """Two models in turn, every other minute, and 1 to 13 requests in each minute that is not one of the idle ones."""
    rows: list[tuple[float, str]] = []
    for turn in range(30):
        at, blob = 120.0 * turn, ("a1a1", "b2b2")[turn % 2]
        evicted = 'msg="llama-server model predicted to exceed available memory, evicting" predicted="21.9 GiB"'
        evicted += (
            ' predicted_num_ctx=262144 num_batch=512 available="6.1 GiB" gpu_free="6.1 GiB" system_free="118.2 GiB"'
        )
        rows += [(at, f"source=sched.go:655 {evicted} system_limited=false")] if turn else []
        rows.append((at, f'source=server.go:241 msg="using llama-server for model" model=/m/blobs/sha256-{blob}'))
        rows.append((at + 37.7, 'source=llama_server.go:1274 msg="llama-server started in 37.70 seconds"'))
    for minute in range(60):
        if minute % 2 and minute // 2 < idle:  # no idle minute beside another
            continue
        times = (13, 1, 2, 5, 1, 3)[minute % 6]
        rows += [(60 * minute + 60 * (place + 0.75) / times, "") for place in range(times)]
    text = ""
    for seconds, row in sorted(rows):
        moment = HOUR + timedelta(seconds=seconds)
        told = f"time={moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z level=INFO {row}"
        asked = f'[GIN] {moment:%Y/%m/%d - %H:%M:%S} | 200 |  1.5s | 192.0.2.31 | POST     "/api/chat"'
        text += f"{moment:%Y-%m-%dT%H:%M:%S.%f}+0000 box ollama[9]: {told if row else asked}\n"
    return text


@pytest.mark.parametrize("idle", [21, 24, 26, 28])
def test_an_hour_with_many_idle_minutes_has_no_gap_for_a_swap_and_a_measurement(tmp_path: Path, idle: int) -> None:
    ask = case(tmp_path, {"journal.txt": hour(idle)}, extra={"measure_s": 90.0})
    (asked,) = traffic(ask).document["hours"]
    assert asked["non_local"]["per_minute"] == {"min": 1, "max": 13}
    assert asked["non_local"]["idle_minutes"] == idle
    (episode,) = episodes(ask)
    assert (episode["swaps"], episode["loads_timed"], round(episode["loading_s"])) == (29, 30, 1131)
    assert round(episode["loading_share"], 2) == 0.32
    fits = episode["fits"]
    assert (fits["swap_s"], fits["fits"], fits["state"]) == (37.7, False, "contradicted")
    assert 60 < fits["pause_s"] < 37.7 + 90
    assert all(one["requests"] for one in episode["details"][:-1])


def test_an_episode_beyond_the_time_asked_for_says_that_it_is_told_whole(tmp_path: Path) -> None:
    begun = round(datetime(2026, 8, 1, 8, 13, tzinfo=UTC).timestamp() * 1e6)
    answer = swaps(case(tmp_path, {"journal.txt": SIX_LINES}, since_us=begun))
    assert answer.about == (
        "Told whole, from 2026-08-01 08:11:44 UTC to 08:15:04: it reaches beyond the time that was asked for.",
    )
    assert swaps(case(tmp_path, {}, since_us=begun - 120_000_000)).about == ()


def test_the_command_takes_the_time_of_a_load(tmp_path: Path) -> None:
    (tmp_path / "journal.txt").write_text(SIX_LINES)
    done = CliRunner().invoke(app, ["swaps", str(tmp_path), "--load-time", "37.7"])
    assert (done.exit_code, "22, 30, 27 s: less than the 37.7 s" in done.stdout) == (0, True)


def test_a_load_of_known_length_marks_the_intervals_that_are_shorter(tmp_path: Path) -> None:
    text = """\
2026-08-01T08:10:00+0000 box server[1]: srv    load_model: loading model '/m/a.gguf'
2026-08-01T08:10:37+0000 box server[1]: srv  llama_server: model loaded
2026-08-01T08:12:00+0000 box server[1]: srv    load_model: loading model '/m/b.gguf'
2026-08-01T08:12:22+0000 box server[1]: srv    load_model: loading model '/m/a.gguf'
2026-08-01T08:12:52+0000 box server[1]: srv    load_model: loading model '/m/b.gguf'
"""
    (episode,) = episodes(case(tmp_path, {"journal.txt": text}))
    assert [(one["interval_s"], one["known_load_s"], one["known_from"]) for one in episode["short_intervals"]] == [
        (30, 37, "evidence")
    ]


# -- what is no ping-pong ---------------------------------------------------------------------------------------------


def test_nine_models_loaded_once_each_are_a_sequence(tmp_path: Path) -> None:
    text = "".join(
        f"2026-08-01T08:{layers}:00+0000 box server[1]: load_tensors: offloaded {layers}/{layers} layers to GPU\n"
        for layers in range(40, 49)
    )
    (episode,) = episodes(case(tmp_path, {"journal.txt": text}))
    assert (episode["kind"], len(episode["identities"]), episode["swaps"]) == ("sequence", 9, 8)


def test_one_model_with_changing_options_is_a_reload_loop(tmp_path: Path) -> None:
    text = "".join(
        f"time=2026-08-01T08:0{number}:00.000Z level=INFO source=server.go:241 "
        'msg="using llama-server for model" model=/m/blobs/sha256-a1a1\n'
        f"time=2026-08-01T08:0{number}:01.000Z level=INFO source=llama_server.go:611 "
        f'msg="starting llama-server" cmd="/usr/lib/llama-server --model /m/blobs/sha256-a1a1 --port 4000{number} '
        f'--host 127.0.0.1 -c {context} -np 1"\n'
        f"time=2026-08-01T08:0{number}:09.000Z level=INFO source=llama_server.go:1274 "
        'msg="llama-server started in 8.00 seconds"\n'
        for number, context in enumerate((4096, 8192, 4096, 8192))
    )
    (episode,) = episodes(case(tmp_path, {"server.log": text}))
    assert (episode["kind"], episode["identities"], episode["swaps"]) == ("reload", ["sha256-a1a1"], 0)
    assert (episode["interval_s"]["mean"], episode["cycle_s"]["mean"], episode["loading_s"]) == (60, 120, 36)


def test_another_port_is_no_other_option(tmp_path: Path) -> None:
    text = "".join(
        f"time=2026-08-01T08:0{number}:01.000Z level=INFO source=llama_server.go:611 "
        f'msg="starting llama-server" cmd="/usr/lib/llama-server --model /m/blobs/sha256-a1a1 --port {number} -c 1"\n'
        for number in range(4)
    )
    ask = case(tmp_path, {"server.log": text})
    assert episodes(ask) == []
    assert "options" not in {why for _, why in apart(ask)}


def test_a_server_that_dies_and_begins_again_is_a_crash_loop(tmp_path: Path) -> None:
    life = """\
2026-08-01T08:0{0}:00+0000 box server[{0}]: 0.00.728.543 I srv    load_model: loading model '/m/a.gguf'
2026-08-01T08:0{0}:09+0000 box server[{0}]: 0.09.182.339 I srv  llama_server: model loaded
2026-08-01T08:0{0}:20+0000 box server[{0}]: CUDA error: an illegal memory access was encountered
"""
    text = "".join(life.format(number) for number in range(4))
    (episode,) = episodes(case(tmp_path, {"journal.txt": text}))
    assert (episode["kind"], episode["identities"], len(episode["loads"])) == ("crash_loop", ["a.gguf"], 4)


def test_each_episode_has_its_sentence(tmp_path: Path) -> None:
    life = """\
2026-08-01T08:0{0}:00+0000 box {1}[{0}]: 0.00.728.543 I srv    load_model: loading model '/m/{1}.gguf'
2026-08-01T08:0{0}:09+0000 box {1}[{0}]: 0.09.182.339 I srv  llama_server: model loaded
2026-08-01T08:0{0}:20+0000 box {1}[{0}]: CUDA error: an illegal memory access was encountered
"""
    text = "".join(life.format(number, name) for name in ("a", "b") for number in range(4))
    answer = swaps(case(tmp_path, {"journal.txt": text}))
    assert [one.split(" began ")[0] for one in (answer.verdict, *answer.about)] == [
        "A crash loop: a.gguf",
        "A crash loop: b.gguf",
    ]


def test_dry_runs_and_a_draft_model_are_no_swaps(tmp_path: Path) -> None:
    text = """\
2026-08-01T08:11:00+0000 box server[1]: 0.00.728.543 I srv    load_model: loading model '/m/a.gguf'
2026-08-01T08:11:01+0000 box server[1]: 0.01.171.362 I load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:11:02+0000 box server[1]: 0.02.171.362 I load_tensors: offloaded 5/5 layers to GPU
2026-08-01T08:11:03+0000 box server[1]: 0.03.171.362 I load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:11:40+0000 box server[1]: 0.40.171.362 I load_tensors: offloaded 5/5 layers to GPU
"""
    ask = case(tmp_path, {"journal.txt": text})
    assert (episodes(ask), apart(ask)) == ([], [])


def test_the_same_lines_without_the_one_that_begins_the_load_are_no_ping_pong_either(tmp_path: Path) -> None:
    text = """\
2026-08-01T08:11:01+0000 box server[1]: load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:11:02+0000 box server[1]: load_tensors: offloaded 5/5 layers to GPU
2026-08-01T08:11:03+0000 box server[1]: load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:11:40+0000 box server[1]: load_tensors: offloaded 5/5 layers to GPU
"""
    assert episodes(case(tmp_path, {"journal.txt": text})) == []


def test_offloaded_layers_of_a_log_that_shows_more_are_one_load(tmp_path: Path) -> None:
    text = """\
2026-08-01T08:11:01+0000 box server[1]: load_tensors: offloaded 66/66 layers to GPU
2026-08-01T08:11:01+0000 box server[1]: load_tensors:        CUDA0 model buffer size =  6742.14 MiB
2026-08-01T08:11:40+0000 box server[1]: load_tensors: offloaded 5/5 layers to GPU
"""
    assert case(tmp_path, {"journal.txt": text}).rows("SELECT count(*) AS loads FROM load") == [{"loads": 1}]


def test_a_model_that_comes_back_after_its_keep_alive_has_expired(tmp_path: Path) -> None:
    text = "".join(
        f"2026-08-01T{at}+0000 box server[1]: load_tensors: offloaded 65/65 layers to GPU\n"
        for at in ("08:00:00", "08:06:00", "08:12:00", "08:18:00")
    )
    ask = case(tmp_path, {"journal.txt": text})
    assert episodes(ask) == []
    assert apart(ask) == [("unknown model, 65/65 layers", "expired")] * 3


def test_models_that_come_minutes_after_each_other_found_the_card_free(tmp_path: Path) -> None:
    text = "".join(
        f"2026-08-01T{at}+0000 box server[1]: load_tensors: offloaded {layers}/{layers} layers to GPU\n"
        for at, layers in (("08:00:00", 65), ("08:10:00", 66), ("08:20:00", 65), ("08:30:00", 66))
    )
    ask = case(tmp_path, {"journal.txt": text})
    assert episodes(ask) == []
    assert [why for _, why in apart(ask)] == ["free"] * 3


def test_a_server_that_sleeps_and_wakes_swaps_nothing(tmp_path: Path) -> None:
    text = journal("""\
0.00.728.543 I srv    load_model: loading model '/m/a.gguf'
0.10.182.339 I srv  llama_server: model loaded
0.20.180.000 I srv  handle_sleep: server is entering sleeping state
0.30.180.000 I srv  handle_sleep: server is exiting sleeping state
0.30.728.543 I srv    load_model: loading model '/m/a.gguf'
0.32.182.339 I srv  llama_server: model loaded
""")
    ask = case(tmp_path, {"journal.txt": text})
    assert (episodes(ask), apart(ask)) == ([], [("a.gguf", "woke")])


def test_a_model_loaded_beside_the_others_breaks_no_ping_pong(tmp_path: Path) -> None:
    text = ROUTER.replace(
        "0.09.574.139 I srv          tick",
        "0.06.000.000 I srv          load: spawning server instance with name=embedder on port 40000\n"
        "[40000] 0.00.296.203 I srv    load_model: loading model '/srv/models/embedder.gguf'\n"
        "[40000] 0.01.182.339 I srv  llama_server: model loaded\n"
        "0.09.574.139 I srv          tick",
    )
    ask = case(tmp_path, {"journal.txt": journal(text)})
    (episode,) = episodes(ask)
    assert (episode["kind"], episode["identities"], episode["swaps"]) == ("ping_pong", ["small", "large"], 3)
    assert apart(ask) == [("embedder", "beside")]


# -- why, who and what it cost ----------------------------------------------------------------------------------------


def test_a_router_with_room_for_one_model_says_so_in_its_own_lines(tmp_path: Path) -> None:
    ask = case(tmp_path, {"journal.txt": journal(ROUTER)})
    (episode,) = episodes(ask)
    assert (episode["kind"], episode["identities"], episode["swaps"]) == ("ping_pong", ["small", "large"], 3)
    (trigger,) = episode["triggers"]
    assert (trigger["cause"], trigger["count"]) == ("models_max", 3)
    assert [one["victim"] for one in trigger["inputs"]] == ["small", "large", "small"]
    assert episode["details"][0]["options"] == "--model /srv/models/small.gguf"
    assert (episode["loaded_mib"], episode["loads_weighed"]) == (19470.67, 2)
    assert episode["remedy"] == (
        "Allow 2 models at once (--models-max 2); here small held 4.80 GiB, large held 14.22 GiB."
    )
    assert [(one["address"], one["class"], one["how"]) for one in episode["asked_by"]] == [
        ("192.0.2.7", "non-local", "first")
    ]


def test_the_screen_says_who_why_and_what_next(tmp_path: Path) -> None:
    ask = case(tmp_path, {"journal.txt": journal(ROUTER)})
    assert screen(ask, swaps(ask)).splitlines()[:15] == [
        "Ping-pong: 2 models evicted each other 3 times in 26 s; 15 s of it was loading.",
        "",
        "Ping-pong",
        "models    small ⇄ large",
        "order     strictly alternating",
        "interval  mean 8.0 s, median 7.0 (5.0–12.0), CV 0.45",
        "cycle     mean 15.50 s, median 15.50 (12.00–19.00), CV 0.32, from a load of a",
        "          model to its next",
        "loading   15.0 s in 4 of 4 loads, 58% of the span; 19.01 GiB of weights",
        "why       models_max: “least recently used, for a queued request (models_max",
        "          reached)” ×3",
        "who       192.0.2.7 (non-local) ×1, the first that a load served",
        "requests  1 in the span, 1 from other machines; longest pause 16.0 s",
        "room      not established: a measurement of up to 8.0 s would fit; --measurement",
        "          says how long yours takes",
    ]


def test_a_log_and_its_copy_are_read_as_one(tmp_path: Path) -> None:
    ask = case(tmp_path, {"journal.txt": journal(ROUTER), "server.log": ROUTER})
    (episode,) = episodes(ask)
    assert (episode["swaps"], episode["interval_s"]["max"]) == (3, 12)


def test_without_wall_time_order_is_told_and_no_interval(tmp_path: Path) -> None:
    (episode,) = episodes(case(tmp_path, {"server.log": ROUTER}))
    assert (episode["kind"], episode["swaps"], episode["interval_s"]["mean"]) == ("ping_pong", 3, None)


def test_a_supervisor_that_predicts_too_much_is_quoted_with_its_numbers(tmp_path: Path) -> None:
    text = "".join(
        (
            ""
            if not number
            else f"time=2026-08-01T08:0{number}:00.000Z level=INFO source=sched.go:655 "
            'msg="llama-server model predicted to exceed available memory, evicting" predicted="21.9 GiB" '
            'predicted_num_ctx=262144 num_batch=512 available="6.1 GiB" gpu_free="6.1 GiB" system_free="118.2 GiB" '
            "system_limited=false\n"
        )
        + f"time=2026-08-01T08:0{number}:01.000Z level=INFO source=server.go:241 "
        f'msg="using llama-server for model" model=/m/blobs/sha256-{blob}\n'
        f"time=2026-08-01T08:0{number}:09.000Z level=INFO source=llama_server.go:1274 "
        'msg="llama-server started in 8.00 seconds"\n'
        f'[GIN] 2026/08/01 - 10:0{number}:10 | 200 |  9.941988367s |   192.168.3.148 | POST     "/api/chat"\n'
        for number, blob in enumerate(("a1a1", "b2b2", "a1a1", "b2b2"))
    )
    ask = case(tmp_path, {"server.log": text})
    (episode,) = episodes(ask)
    (trigger,) = episode["triggers"]
    assert (trigger["cause"], trigger["count"]) == ("memory", 3)
    assert {(one["predicted_bytes"], one["available_bytes"]) for one in trigger["inputs"]} == {
        (23514945946, 6549825126)
    }
    assert [(one["address"], one["class"], one["how"], len(one["loads"])) for one in episode["asked_by"]] == [
        ("192.168.3.148", "non-local", "covers", 4)
    ]
    assert (episode["loading_s"], episode["requests"]["requests"]) == (32, 4)


def test_the_recorded_router_loads_eight_times_for_seven_swaps(recorded: Ask) -> None:
    (episode,) = episodes(recorded)
    assert (episode["kind"], episode["swaps"], len(episode["loads"])) == ("ping_pong", 7, 8)
    assert episode["identities"] == ["Qwen3-8B-Q4_0", "Qwen3.6-27B-Q4_0"]
    assert [(one["cause"], one["count"]) for one in episode["triggers"]] == [("models_max", 7)]
    assert [round(value, 1) for value in (episode["loading_s"], episode["span_s"])] == [33.3, 38.7]
    assert [round(episode["interval_s"][key], 1) for key in ("mean", "min", "max")] == [4.7, 3.0, 6.7]
    assert [one["requests"] for one in episode["details"]] == [1] * 8
    assert episode["remedy"].endswith("here Qwen3-8B-Q4_0 held 11.03 GiB, Qwen3.6-27B-Q4_0 held 18.64 GiB.")
    assert (episode["asked_by"], episode["short_intervals"]) == ([], [])


def test_recorded_runners_that_evict_each_other_are_told_from_the_one_beside_them(tmp_path: Path) -> None:
    ask = case(tmp_path, {}, FIXTURES / "relayed-runners" / "server.log.gz")
    (episode,) = episodes(ask)
    assert (episode["kind"], episode["swaps"], len(episode["identities"])) == ("ping_pong", 4, 2)
    assert [why for _, why in apart(ask)] == ["beside"]
    assert [(one["cause"], one["count"]) for one in episode["triggers"]] == [("memory", 4)]


def test_without_any_load_the_question_cannot_be_answered(tmp_path: Path) -> None:
    assert swaps(case(tmp_path, {"server.log": "nothing of interest\n"})).code == 3


# -- the supervisor's own rule ----------------------------------------------------------------------------------------

SHAPED = """\
time=2026-08-01T08:0{0}:01.000Z level=INFO source=server.go:241 \
msg="using llama-server for model" model=/m/blobs/sha256-{1}
time=2026-08-01T08:0{0}:01.000Z level=INFO source=llama_server.go:611 \
msg="starting llama-server" cmd="/usr/lib/llama-server --model /m/blobs/sha256-{1} --port 4000{0} -c {2} -np 1 -b 512"
print_info: n_embd                = 5120
print_info: n_layer               = 64
print_info: n_layer_all           = 65
print_info: n_head                = 24
print_info: n_head_kv             = 4
print_info: file size   = 14.85 GiB (4.84 BPW)
load_tensors: offloaded 66/66 layers to GPU
load_tensors:        CUDA0 model buffer size =  7684.92 MiB
load_tensors:        CUDA1 model buffer size =  7521.48 MiB
llama_context: constructing llama_context
llama_kv_cache:      CUDA0 KV buffer size =  4352.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =  4352.00 MiB
time=2026-08-01T08:0{0}:09.000Z level=INFO source=llama_server.go:1274 msg="llama-server started in 8.00 seconds"
"""
EVICTS = (
    "time=2026-08-01T08:0{0}:00.000Z level=INFO source=sched.go:655 "
    'msg="llama-server model predicted to exceed available memory, evicting" predicted="{1} GiB" '
    'predicted_num_ctx={2} num_batch={3} available="{4} GiB" gpu_free="{4} GiB" system_free="118.2 GiB" '
    "system_limited=false\n"
)


def ruled(
    folder: Path, predicted: str, available: str, *, context: int = 262144, batch: int = 512
) -> tuple[dict[str, Any], list[str]]:
    """The rule of the last eviction of two models that take turns, and what the screen says of it."""
    text = "".join(
        ("" if not number else EVICTS.format(number, predicted, context, batch, available))
        + SHAPED.format(number, blob, context)
        for number, blob in enumerate(("a1a1", "b2b2", "a1a1", "b2b2"))
    )
    answer = swaps(case(folder, {"server.log": text}))
    (episode,) = answer.document["episodes"]
    (trigger,) = episode["triggers"]
    assert (episode["kind"], trigger["cause"]) == ("ping_pong", "memory")
    rule: dict[str, Any] = trigger["inputs"][-1]["rule"]
    return rule, [row[1] for row in answer.sections[0].rows if row[0] == "rule"]


def test_a_prediction_is_a_cache_of_f16_over_all_layers_far_beyond_what_is_allocated(tmp_path: Path) -> None:
    # 65 layers × 4 heads × 213 (5120 / 24) × 2 × 2 B = 221,520 B a token: 54.08 GiB at 262,144, beside 14.85 of file
    rule, told = ruled(tmp_path, "68.9", "46.0")
    assert (rule["num_ctx"], rule["layers"], rule["bytes_per_token"], rule["agrees"]) == (262144, 65, 221520, True)
    assert [round(rule[key] / 1024, 2) for key in ("file_mib", "reckoned_mib", "cache_mib", "threshold_mib")] == [
        14.85,
        68.93,
        8.5,
        36.8,
    ]
    assert (rule["exceeds"], rule["fitting_ctx"]) == (True, 106395)
    (text,) = told
    assert text == (
        "68.90 GiB is over 36.80 GiB, 80 % of what is available: file 14.85 GiB and a cache of f16 over all 65 layers "
        "for 262,144 tokens, 54.08 GiB; its cache came to 8.50 GiB. A context of 106,395 would have fit beside the "
        "other"
    )


def test_the_context_that_is_said_to_fit_is_under_the_threshold_and_one_more_token_is_not(tmp_path: Path) -> None:
    rule, _ = ruled(tmp_path, "68.9", "46.0")
    least = rule["file_bytes"] + rule["fitting_ctx"] * rule["bytes_per_token"]
    assert least <= rule["threshold_bytes"] < least + rule["bytes_per_token"]


@pytest.mark.parametrize(
    ("predicted", "available", "context", "batch", "exceeds"),
    [
        pytest.param("68.9", "86.5", 262144, 512, False, id="under 80 % of what is available"),
        pytest.param("68.9", "85.5", 262144, 512, True, id="over it, though less than what is available"),
        pytest.param("68.9", "86.5", 262144, 1024, True, id="over it with 768 MiB for a batch of 1024"),
        pytest.param("68.9", "88.0", 262144, 2048, True, id="over it with 2 GiB for a batch of 2048"),
    ],
)
def test_the_threshold_is_80_percent_with_a_surcharge_for_large_batches(
    tmp_path: Path, predicted: str, available: str, context: int, batch: int, exceeds: bool
) -> None:
    rule, _ = ruled(tmp_path, predicted, available, context=context, batch=batch)
    assert (rule["exceeds"], rule["surcharge_bytes"]) == (exceeds, {512: 0, 1024: 768 << 20, 2048: 2 << 30}[batch])


def test_a_file_that_is_too_large_by_itself_fits_with_no_context(tmp_path: Path) -> None:
    rule, told = ruled(tmp_path, "68.9", "6.1")
    assert rule["fitting_ctx"] == 0
    assert told[0].endswith("No context would have fit beside the other: the file alone is too large")


def test_a_prediction_that_the_loads_lines_do_not_give_names_no_context(tmp_path: Path) -> None:
    rule, told = ruled(tmp_path, "21.9", "6.1")
    assert (rule["agrees"], rule["fitting_ctx"]) == (False, None)
    assert told[0].endswith("from the load's own file and shape it would be 68.93 GiB: not established")


# -- the caller whose patience is shorter than the load ---------------------------------------------------------------


@pytest.mark.parametrize("times", [3, 0], ids=["each side's limit is too short", "all waited"])
def test_callers_that_give_up_before_a_load_is_ready_are_told(tmp_path: Path, times: int) -> None:
    gave_up = (
        "time=2026-08-01T08:0{0}:05.000Z level=WARN source=llama_server.go:1215 "
        'msg="client connection closed before llama-server finished loading, aborting load"\n'
        'time=2026-08-01T08:0{0}:05.100Z level=INFO source=sched.go:690 msg="Load failed" model=/m/blobs/sha256-{1} '
        'error="timed out waiting for llama-server to start: context canceled"\n'
    )
    ready = (
        "time=2026-08-01T08:0{0}:09.000Z level=INFO source=llama_server.go:1274 "
        'msg="llama-server started in 8.00 seconds"\n'
    )
    text = "".join(
        ("" if not number else EVICTS.format(number, "15.7", 4096, 512, "6.1"))
        + SHAPED.format(number, blob, 4096).rsplit("time=", 1)[0]
        + (gave_up if number < times else ready).format(number, blob)
        for number, blob in enumerate(("a1a1", "b2b2", "a1a1", "b2b2"))
    )
    answer = swaps(case(tmp_path, {"server.log": text}))
    (episode,) = answer.document["episodes"]
    assert (episode["kind"], len(episode["given_up"])) == ("ping_pong", times)
    told = [row[1] for row in answer.sections[0].rows if row[0] == "given up"]
    assert told == (
        ["3 of 4 loads: the caller went before the model was ready; its time limit is shorter than the load"]
        if times
        else []
    )
    assert episode["remedy"].startswith("Let the callers wait longer than a load takes") is bool(times)


# -- other supervisors, other reasons ---------------------------------------------------------------------------------


def turns(*rows: str, every_s: int = 30, models: tuple[str, ...] = ("coder", "qwen27"), times: int = 4) -> str:
    """A proxy's lines of loads in turn, as a journal holds them; {1} is the model that comes, {2} the one that goes."""
    text = "2026-08-01T07:59:00+0000 box swap[7]: [INFO] llama-swap listening on http://:8080\n"
    for number in range(times):
        minute, second = divmod(number * every_s, 60)
        come, go = models[number % len(models)], models[(number - 1) % len(models)]
        for offset, row in enumerate(rows if number else rows[-1:]):
            stamp = f"2026-08-01T08:{minute:02d}:{second + offset:02d}+0000 box swap[7]: "
            text += stamp + row.format(number, come, go) + "\n"
    return text


HEALTHY = "[INFO] <{1}> Health check passed on http://localhost:1000{0}/health"
MATRIX = '[INFO] matrix: model={1} set={1}-alone dsl="{1} | small" evict=[{2}] target=[{1}] cost=3'
GROUP = "[DEBUG] group: starting swap for model {1}, evicting [{2}]"
EXCLUSIVE = "[DEBUG] Exclusive mode for group {1}, stopping other process groups"
STOPPING = "[DEBUG] <{2}> Stopping process, current state: ready"


@pytest.mark.parametrize(
    ("rows", "reasons", "told"),
    [
        pytest.param(
            (MATRIX, HEALTHY),
            {"set=coder-alone", "set=qwen27-alone"},
            "exclusive: “set=qwen27-alone” ×2, cost=3",
            id="a matrix names its set and the cost",
        ),
        pytest.param(
            (GROUP, HEALTHY),
            {"group: starting swap"},
            "exclusive: “group: starting swap” ×3",
            id="a group",
        ),
        pytest.param(
            (EXCLUSIVE, STOPPING, HEALTHY),
            {"Exclusive mode for group coder, stopping other process groups"}
            | {"Exclusive mode for group qwen27, stopping other process groups"},
            "exclusive: “Exclusive mode for group qwen27, stopping other process groups” ×2",
            id="an exclusive group, up to v224",
        ),
    ],
)
def test_a_rule_of_what_may_be_loaded_together_is_an_exclusive_cause(
    tmp_path: Path, rows: tuple[str, ...], reasons: set[str], told: str
) -> None:
    answer = swaps(case(tmp_path, {"journal.txt": turns(*rows)}))
    (episode,) = answer.document["episodes"]
    assert (episode["kind"], episode["swaps"], episode["identities"]) == ("ping_pong", 3, ["coder", "qwen27"])
    assert {one["cause"] for one in episode["triggers"]} == {"exclusive"}
    assert {one["reason"] for one in episode["triggers"]} == reasons
    assert told in [row[1] for row in answer.sections[0].rows if row[0] == "why"]
    assert episode["remedy"].startswith("Put these 2 into one set or group whose members may be loaded together")


def test_a_matrix_names_who_has_to_go(tmp_path: Path) -> None:
    (episode,) = episodes(case(tmp_path, {"journal.txt": turns(MATRIX, HEALTHY)}))
    inputs = [row for one in episode["triggers"] for row in one["inputs"]]
    assert sorted((row["victim"], row["detail"]) for row in inputs) == [
        ("coder", "cost=3"),
        ("coder", "cost=3"),
        ("qwen27", "cost=3"),
    ]


@pytest.mark.parametrize(
    ("every_s", "row"),
    [
        pytest.param(600, "[INFO] <{2}> Unloading model, TTL of 300s reached", id="two models, ten minutes apart"),
        pytest.param(50, "[INFO] <{2}> Unloading model, TTL of 10s reached", id="the next comes a second later"),
    ],
)
def test_a_model_whose_time_to_live_was_over_was_not_evicted(tmp_path: Path, every_s: int, row: str) -> None:
    ask = case(tmp_path, {"journal.txt": turns(row, HEALTHY, every_s=every_s)})
    assert [one["triggers"] for one in episodes(ask)] in ([], [[]])
    assert not any(one["kind"] == "ping_pong" for one in episodes(ask))
    assert {why for _, why in apart(ask)} <= {"free", "expired"}


@pytest.mark.parametrize(
    "models", [("coder", "qwen27", "embedder"), ("coder", "qwen27", "embedder", "vision")], ids=["three", "four"]
)
def test_more_models_than_two_that_return_in_turn_are_a_ping_pong_too(tmp_path: Path, models: tuple[str, ...]) -> None:
    (episode,) = episodes(case(tmp_path, {"journal.txt": turns(MATRIX, HEALTHY, models=models, times=2 * len(models))}))
    assert (episode["kind"], episode["swaps"], episode["alternates"]) == ("ping_pong", 2 * len(models) - 1, False)
    assert episode["identities"] == list(models)
    assert (episode["interval_s"]["mean"], episode["cycle_s"]["mean"]) == (30, 30 * len(models))
    assert episode["remedy"].startswith(f"Put these {len(models)} into one set")


ERA_B = """\
time=2025-11-25T10:0{0}:00.000Z level=INFO source=sched.go:583 msg="updated VRAM based on existing loaded models" \
gpu=GPU-01 library=CUDA total="23.6 GiB" available="{2} GiB"
time=2025-11-25T10:0{0}:00.000Z level=INFO source=sched.go:583 msg="updated VRAM based on existing loaded models" \
gpu=GPU-02 library=CUDA total="23.6 GiB" available="1.5 GiB"
time=2025-11-25T10:0{0}:00.100Z level=INFO source=server.go:1012 \
msg="model requires more gpu memory than is currently available, evicting a model to make space" "loaded layers"=12
"""
ERA_B_LOAD = """\
time=2025-11-25T10:0{0}:02.000Z level=INFO source=server.go:431 msg="starting runner" \
cmd="/usr/local/bin/ollama runner --ollama-engine --model /m/blobs/sha256-{1} --port 3883{0}"
time=2025-11-25T10:0{0}:02.100Z level=INFO source=server.go:757 msg="loading model" "model layers"=65 requested=-1
time=2025-11-25T10:0{0}:03.000Z level=INFO source=ggml.go:494 msg="offloaded 65/65 layers to GPU"
time=2025-11-25T10:0{0}:03.100Z level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="16.1 GiB"
time=2025-11-25T10:0{0}:03.110Z level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="3.1 GiB"
time=2025-11-25T10:0{0}:03.120Z level=INFO source=device.go:262 msg="compute graph" device=CUDA0 size="1.1 GiB"
time=2025-11-25T10:0{0}:03.130Z level=INFO source=device.go:272 msg="total memory" size="20.3 GiB"
time=2025-11-25T10:0{0}:07.000Z level=INFO source=server.go:1388 msg="llama runner started in 5.86 seconds"
"""


def test_an_eviction_without_figures_is_told_with_what_the_supervisor_saw_and_what_the_load_came_to(
    tmp_path: Path,
) -> None:
    text = "".join(
        ("" if not number else ERA_B.format(number, blob, "3.2")) + ERA_B_LOAD.format(number, blob)
        for number, blob in enumerate(("a1a1", "b2b2", "a1a1", "b2b2"))
    )
    answer = swaps(case(tmp_path, {"server.log": text}))
    (episode,) = answer.document["episodes"]
    (trigger,) = episode["triggers"]
    assert (episode["kind"], trigger["cause"], trigger["count"]) == ("ping_pong", "memory", 3)
    assert {
        (one["predicted_mib"], round(one["available_mib"] / 1024, 2), one["available_from"])
        for one in trigger["inputs"]
    } == {(None, 4.7, "view")}
    assert [row[1] for row in answer.sections[0].rows if row[0] == "why"] == [
        (
            "memory: “model requires more gpu memory than is currently available, evicting a model to make space” ×3, "
            "4.70 GiB available for what came to 20.30 GiB"
        )
    ]
