"""Who may have written lines that all look alike: what shows a second server, a second supervisor, a stranger."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import CATALOGUE

from forensics.case import read_evidence
from forensics.line import Line
from forensics.writers import Relay, strangers, twin_parents, twins

BEGINS = "srv  llama_server: initializing ..."
BUILD = "cmn  common_init: build_info: b11434-e920c523e"
LOADS = "srv    load_model: loading model '/m/a.gguf'"
READY = "srv  llama_server: model loaded"
SERVES = "slot update_slots: id  3 | task 0 | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 9"
LAUNCHES = "slot launch_slot_: id  3 | task 0 | processing task, is_child = 0"
SLEEPS = "srv  handle_sleep: server is entering sleeping state"
WAKES = "srv  handle_sleep: server is exiting sleeping state"
ENDS = "srv    operator(): operator(): cleaning up before exit..."
LISTENS = (
    'time=2026-09-18T07:59:00.000Z level=INFO source=routes.go:1332 msg="Listening on 127.0.0.1:11434 (version 0.13.1)"'
)
STARTS = (
    'time=2026-09-18T08:00:00.000Z level=INFO source=server.go:400 msg="starting runner" '
    'cmd="/usr/bin/ollama runner --model /b/blobs/sha256-aa --port 40001"'
)
ANNOUNCES = (
    'time=2026-09-18T07:59:59.000Z level=DEBUG source=sched.go:220 msg="loading first model" model=/b/blobs/sha256-aa'
)
STARTED = 'time=2026-09-18T08:00:03.000Z level=INFO source=server.go:1289 msg="llama runner started in 3.00 seconds"'


def written(folder: Path, *lines: str) -> list[Line]:
    """The lines of one file, as patterns read them."""
    path = folder / "server.log"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    found = [one.line for one in read_evidence([path], CATALOGUE).ownership.owned]
    assert len(found) == len(lines)
    return found


def clocked(*lines: str, at: int = 0) -> list[str]:
    """Lines with the prefix of a server whose clock goes on by a second for each."""
    return [f"0.{at + number:02}.000.000 I {line}" for number, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("lines", "two"),
    [
        pytest.param([BEGINS, LOADS, READY, SERVES, ENDS], False, id="one server"),
        pytest.param([BEGINS, LOADS, READY, ENDS, BEGINS, LOADS, READY, SERVES], False, id="a restart"),
        pytest.param([BEGINS, LOADS, BEGINS, LOADS, READY], False, id="a start that failed, and another"),
        pytest.param([BEGINS, BEGINS, LOADS, READY], True, id="begins twice before it loads"),
        pytest.param([BEGINS, LOADS, LOADS, READY], True, id="loads twice before it is ready"),
        pytest.param([BEGINS, LOADS, READY, LOADS, READY], False, id="loads again when it was ready"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, LOADS, READY, READY], True, id="ready twice after a restart"),
        pytest.param([BEGINS, LOADS, READY, READY], False, id="ready twice in the only life that is known"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, SERVES], True, id="serves before its new start is ready"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, LOADS, READY, ENDS, SERVES], True, id="serves after its end"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, LOADS, READY, ENDS, LAUNCHES], True, id="a task after its end"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, LOADS, READY, LAUNCHES, LAUNCHES], False, id="two tasks"),
        pytest.param([BEGINS, LOADS, READY, ENDS, SERVES], False, id="serves after the end of the only life"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, LOADS, READY, WAKES], True, id="wakes and did not sleep"),
        pytest.param([BEGINS, LOADS, READY, BEGINS, LOADS, READY, SLEEPS, WAKES], False, id="sleeps and wakes"),
        pytest.param(
            [BEGINS, LOADS, READY, BEGINS, LOADS, READY, SLEEPS, SERVES, WAKES], False, id="a task before it wakes"
        ),
        pytest.param(
            [BEGINS, LOADS, READY, BEGINS, LOADS, READY, SLEEPS, WAKES, WAKES], True, id="wakes twice from one sleep"
        ),
    ],
)
def test_what_one_server_cannot_print_shows_a_second_one_under_its_name(
    tmp_path: Path, lines: list[str], two: bool
) -> None:
    assert twins(written(tmp_path, *lines)) is two


def test_a_beginning_whose_clock_goes_on_is_of_another_server_and_one_whose_clock_begins_anew_a_restart(
    tmp_path: Path,
) -> None:
    first = clocked(BEGINS, LOADS)
    assert twins(written(tmp_path, *first, *clocked(BEGINS, LOADS))) is False
    assert twins(written(tmp_path, *first, *clocked(BEGINS, LOADS, at=2))) is True
    assert twins(written(tmp_path, *first, *clocked(BEGINS, LOADS, at=1))) is True  # not a microsecond back
    # The clock of the last line counts that has one.
    assert twins(written(tmp_path, *first, READY, *clocked(BEGINS, LOADS, at=2))) is False


def test_a_server_that_is_announced_by_its_load_and_starts_again_is_not_two(tmp_path: Path) -> None:
    begun = "INFO 11-30 11:00:0{} [utils.py:278] non-default args: {{'model': '/models/a'}}"
    assert twins(written(tmp_path, begun.format(1), begun.format(9))) is False


@pytest.mark.parametrize(
    ("lines", "two"),
    [
        pytest.param([LISTENS, STARTS, STARTED, BEGINS], False, id="one"),
        pytest.param([LISTENS, STARTS, STARTED, LISTENS, STARTS, STARTED, SERVES], False, id="a restart"),
        pytest.param([LISTENS, STARTS, LISTENS, SERVES], True, id="a child serves that the new one has not started"),
        pytest.param([LISTENS, STARTS, LISTENS, STARTED], True, id="a child is ready that the new one has not started"),
        pytest.param([LISTENS, SERVES], False, id="a child that began before the log did"),
        pytest.param([LISTENS, LISTENS, STARTS, SERVES], False, id="a child of the new one"),
    ],
)
def test_what_one_supervisor_cannot_relay_shows_a_second_one(tmp_path: Path, lines: list[str], two: bool) -> None:
    assert twin_parents(written(tmp_path, *lines)) is two


FIRST_WORDS = "ggml_cuda_init: found 1 CUDA devices:"
LOADS_BLOB = "srv    load_model: loading model '/b/blobs/sha256-aa'"


@pytest.mark.parametrize(
    ("lines", "only_others", "both"),
    [
        pytest.param([LISTENS], {"prefix", "json"}, set(), id="nothing began"),
        pytest.param(
            [LISTENS, STARTS, FIRST_WORDS, LOADS_BLOB], {"prefix", "json"}, set(), id="the child that was announced"
        ),
        pytest.param(
            [LISTENS, FIRST_WORDS, LOADS_BLOB], {"prefix", "json"}, set(), id="announced before the log began"
        ),
        pytest.param([LISTENS, ANNOUNCES, LOADS_BLOB], {"prefix", "json"}, {"bare"}, id="announced and not started"),
        pytest.param([LISTENS, ANNOUNCES, STARTS, LOADS_BLOB], {"prefix", "json"}, set(), id="announced and started"),
        pytest.param([LISTENS, STARTS, LOADS], {"prefix", "json"}, {"bare"}, id="a load of another file"),
        pytest.param(
            [LISTENS, STARTS, LOADS_BLOB, LOADS], {"prefix", "json"}, {"bare"}, id="one load of each announced child"
        ),
        pytest.param([LISTENS, STARTS, FIRST_WORDS, FIRST_WORDS], {"prefix", "json"}, {"bare"}, id="first words once"),
        pytest.param(
            [LISTENS, STARTS, LOADS_BLOB, FIRST_WORDS], {"prefix", "json"}, {"bare"}, id="first words before the load"
        ),
        pytest.param([LISTENS, STARTS, LOADS_BLOB, WAKES, LOADS], {"prefix", "json"}, set(), id="a load after a wake"),
        pytest.param(
            [LISTENS, STARTS, LOADS_BLOB, *clocked(LOADS)], {"prefix", "json"}, set(), id="a form no child has"
        ),
    ],
)
def test_what_begins_otherwise_than_a_supervisor_announced_is_a_strangers(
    tmp_path: Path, lines: list[str], only_others: set[str], both: set[str]
) -> None:
    relays = {"ollama": Relay("bare", True)}
    assert strangers(written(tmp_path, *lines), relays) == (only_others, both)


def test_children_of_a_supervisor_that_says_nothing_of_their_lines_may_write_in_any_form(tmp_path: Path) -> None:
    relays = {"ollama": Relay(None, True)}
    lines = [LISTENS, STARTS, LOADS_BLOB, *clocked(LOADS)]
    assert strangers(written(tmp_path, *lines), relays) == ({"prefix"}, set())
    assert strangers(written(tmp_path, LISTENS, STARTS, *clocked(LOADS)), relays) == (set(), {"prefix"})


def test_what_another_program_announces_is_not_of_the_supervisor_that_is_asked_about(tmp_path: Path) -> None:
    lines = written(tmp_path, LISTENS, STARTS, LOADS)
    assert strangers(lines, {"llama-swap": Relay(None, False)}) == (set(), set())


def test_a_child_that_no_line_starts_may_begin_when_it_is_announced(tmp_path: Path) -> None:
    lines = written(tmp_path, LISTENS, ANNOUNCES, LOADS_BLOB)
    assert strangers(lines, {"ollama": Relay("bare", False)}) == ({"prefix", "json"}, set())
    assert strangers(lines, {"ollama": Relay("bare", True)}) == ({"prefix", "json"}, {"bare"})
