"""What each effect of a pattern does: a program of a few wordings, a log of a few lines, the ledger and the lives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forensics.case import Evidence, read_evidence
from forensics.catalogue import Catalogue, load_programs
from forensics.units import MIB

HEAD = """
program = "toy"
title = "Toy"
device = [{ regex = "^CUDA", where = "card" }]
"""
LOADED = [
    ("begin", "load begins (?P<model>\\S+)", 'event = "LoadBegan"', "effect.load = { once = true }", "load begins m"),
    ("ready", "load is ready", 'event = "LoadReady"', 'effect.phase = "serve"', "load is ready"),
]


STATES = """
effect.phase = { from = "state", map = { dreaming = "asleep", up = "serve" } }
effect.part = { from = "state", map = { seeing = "vision" } }
"""


def amount(name: str, effect: str) -> tuple[str, ...]:
    """A wording of an amount: NAME DEVICE SIZE MiB."""
    return (
        name,
        f"{name} (?P<device>\\S+) (?P<size_bytes>[\\d.]+) MiB",
        'event = "BufferAllocated"',
        f'const = {{ kind = "kv_cache" }}\nunit.size_bytes = "MiB"\npossible_in = ["fit", "allocate"]\n{effect}',
        f"{name} CUDA0 1 MiB",
    )


SUPERVISOR = """
[grammar]
supervises = true
regex = '(?s)^(?:\\[(?P<port>\\d+)\\] )?(?P<message>.*)$'
tag = "port"
"""


def toy(*wordings: tuple[str, ...], grammar: str = "") -> Catalogue:
    """A catalogue of one program: name, expression, event, effects and sample of each wording."""
    text = HEAD + grammar
    for name, regex, event, effects, sample in wordings:
        what = "" if "event" in event else f'const = {{ what = "{name}" }}'
        literal = " ".join(regex.split(" (?P")[0].split())
        text += f"""
[[pattern]]
name = "{name}"
{event}
{what}
contains = "{literal}"
regex = '^{regex}$'
{effects}
[[pattern.sample]]
line = "{sample}"
"""
    return Catalogue(tuple(load_programs([("toy.toml", text)])))


def read(folder: Path, catalogue: Catalogue, *lines: str) -> Evidence:
    path = folder / "toy.log"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return read_evidence([path], catalogue)


def ledger(found: Evidence) -> list[tuple[str, float, str]]:
    """Amounts of all loads: device, MiB, mark."""
    return [
        (item.device, item.size_bytes / MIB, item.mark.value) for load in found.ownership.loads for item in load.items
    ]


def lives(found: Evidence) -> list[tuple[Any, ...]]:
    """Loads: model, phases, how each ended."""
    return [
        (load.model or load.label, [phase for phase, _ in load.phases], load.end_reason)
        for load in found.ownership.loads
    ]


@pytest.mark.parametrize(
    ("effect", "marks"),
    [
        ('effect.item = { combine = "add" }', ["counted", "counted", "counted"]),
        ('effect.item = { combine = "last" }', ["superseded", "counted", "counted"]),
        ('effect.item = { combine = "once" }', ["counted", "superseded", "counted"]),
        ('effect.item = { combine = "block", per = "context" }', ["superseded", "counted", "counted"]),
        ('effect.item = { combine = "last", per = "part" }', ["superseded", "counted", "counted"]),
        ('effect.item = { basis = "estimated" }', ["estimated", "estimated", "estimated"]),
    ],
)
def test_an_amount_that_repeats_on_a_device_combines_as_its_wording_says(
    tmp_path: Path, effect: str, marks: list[str]
) -> None:
    catalogue = toy(*LOADED, amount("pool", effect))
    found = read(tmp_path, catalogue, "load begins m", "pool CUDA0 3 MiB", "pool CUDA0 4 MiB", "pool CUDA1 5 MiB")
    assert ledger(found) == [
        ("CUDA0", 3.0, marks[0]),
        ("CUDA0", 4.0, marks[1]),
        ("CUDA1", 5.0, marks[2]),
    ]


@pytest.mark.parametrize(
    ("effect", "why"),
    [
        ('combine = "last"', "printed again: the last one counts"),
        ('combine = "once"', "the same amount, printed once more"),
        ('combine = "block", per = "context"', "reserved again: the later block replaces it on all devices"),
    ],
)
def test_why_an_amount_does_not_count_is_said_with_what_counts_instead(tmp_path: Path, effect: str, why: str) -> None:
    catalogue = toy(*LOADED, amount("pool", f"effect.item = {{ {effect} }}"))
    found = read(tmp_path, catalogue, "load begins m", "pool CUDA0 3 MiB", "pool CUDA0 4 MiB")
    (counted,) = (one for one in found.ownership.loads[0].items if one.mark.value == "counted")
    (other,) = (one for one in found.ownership.loads[0].items if one.mark.value == "superseded")
    assert (other.why, other.superseded_by is counted) == (why, True)


@pytest.mark.parametrize("order", [("table", "pool"), ("pool", "table")])
def test_what_is_logged_replaces_what_a_supervisor_computed_of_it(tmp_path: Path, order: tuple[str, str]) -> None:
    catalogue = toy(
        *LOADED,
        amount("table", 'effect.item = { combine = "add", basis = "derived" }'),
        amount("pool", 'effect.item = { combine = "add" }'),
    )
    found = read(tmp_path, catalogue, "load begins m", f"{order[0]} CUDA0 3 MiB", f"{order[1]} CUDA0 3 MiB")
    marks = {name: item.mark.value for item in found.ownership.loads[0].items for name in [item.line.text.split()[0]]}
    assert marks == {"table": "superseded", "pool": "counted"}


def test_amounts_of_a_part_without_a_context_of_its_own_get_one(tmp_path: Path) -> None:
    context = ("context", "context made", "", "effect.context = true", "context made")
    drafting = ("drafting", "now drafting", "", 'effect.part = "draft"', "now drafting")
    back = ("back", "done drafting", "", 'effect.part = "outer"', "done drafting")
    catalogue = toy(
        *LOADED, context, drafting, back, amount("pool", 'effect.item = { combine = "last", per = "context" }')
    )
    found = read(
        tmp_path,
        catalogue,
        "load begins m",
        "context made",
        "pool CUDA0 1 MiB",
        "now drafting",
        "pool CUDA0 2 MiB",
        "pool CUDA0 3 MiB",
        "done drafting",
        "pool CUDA0 4 MiB",
    )
    items = [(item.part, item.size_bytes / MIB, item.mark.value) for item in found.ownership.loads[0].items]
    assert items == [
        ("target", 1.0, "counted"),
        ("draft", 2.0, "superseded"),
        ("draft", 3.0, "counted"),
        ("target", 4.0, "claimed"),  # of the target's context or the draft's: nothing says which
    ]


def test_an_amount_after_the_end_of_a_block_begins_another_block_on_all_devices(tmp_path: Path) -> None:
    context = ("context", "context made", "", "effect.context = true", "context made")
    opens = ("opens", "reserving now", "", "effect.block = {}", "reserving now")
    closes = ("closes", "reserved it", "", "effect.block_end = {}", "reserved it")
    pool = amount("pool", 'effect.item = { combine = "block", per = "context" }')
    catalogue = toy(*LOADED, context, opens, closes, pool)
    block = ("reserving now", "pool CUDA0 1 MiB", "pool CUDA1 2 MiB", "pool CUDA0 3 MiB")
    found = read(tmp_path, catalogue, "load begins m", "context made", *block, "reserved it", "pool CUDA0 4 MiB")
    assert ledger(found) == [
        ("CUDA0", 1.0, "superseded"),
        ("CUDA1", 2.0, "superseded"),
        ("CUDA0", 3.0, "superseded"),
        ("CUDA0", 4.0, "counted"),
    ]
    found = read(tmp_path, catalogue, "load begins m", "context made", *block)
    assert [mark for *_, mark in ledger(found)] == ["counted"] * 3


def test_what_is_said_of_a_block_or_part_before_there_is_a_context_changes_nothing(tmp_path: Path) -> None:
    opens = ("opens", "reserving now", "", "effect.block = {}", "reserving now")
    closes = ("closes", "reserved it", "", "effect.block_end = {}", "reserved it")
    back = ("back", "done drafting", "", 'effect.part = "outer"', "done drafting")
    pool = amount("pool", 'effect.item = { combine = "block", per = "context" }')
    lines = ("load begins m", "reserving now", "reserved it", "done drafting", "pool CUDA0 1 MiB")
    found = read(tmp_path, toy(*LOADED, opens, closes, back, pool), *lines)
    assert ledger(found) == [("CUDA0", 1.0, "counted")]
    assert [item.part for item in found.ownership.loads[0].items] == ["target"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [("stopped by signal 9", "killed"), ("stopped by signal 15", "stopped"), ("stopped by signal 3", "unknown")],
)
def test_a_captured_value_may_say_how_a_load_ended(tmp_path: Path, line: str, reason: str) -> None:
    stopped = (
        "stopped",
        "stopped by signal (?P<signal>\\d+)",
        'keys = ["signal"]',
        'effect.end = { by = "all", from = "signal", map = { 9 = "killed", 15 = "stopped" } }',
        "stopped by signal 9",
    )
    found = read(tmp_path, toy(*LOADED, stopped), "load begins m", "load is ready", line)
    assert lives(found) == [("m", ["allocate", "serve", "end"], reason)]


def test_a_phase_or_part_that_a_value_does_not_name_stays_as_it_was(tmp_path: Path) -> None:
    state = (
        "state",
        "state is (?P<state>\\S+)",
        'keys = ["state"]',
        STATES,
        "state is up",
    )
    catalogue = toy(*LOADED, state, amount("pool", 'effect.item = { combine = "add" }'))
    found = read(
        tmp_path,
        catalogue,
        "load begins m",
        "state is odd",
        "pool CUDA0 1 MiB",
        "state is seeing",
        "pool CUDA0 2 MiB",
        "state is up",
        "state is dreaming",
        "state is up",
    )
    (load,) = found.ownership.loads
    assert [item.part for item in load.items] == ["target", "vision"]
    assert [phase for phase, _ in load.phases] == ["allocate", "serve", "asleep", "serve"]


def test_a_version_may_name_the_model_of_a_load_that_has_none(tmp_path: Path) -> None:
    version = (
        "version",
        "version (?P<version>\\S+) of (?P<model>\\S+)",
        'event = "VersionReported"',
        "",
        "version 1 of m",
    )
    begin = ("bare", "load starts", 'event = "LoadBegan"', "effect.load = { once = true }", "load starts")
    found = read(tmp_path, toy(begin, LOADED[1], version), "load starts", "version 1 of m", "load is ready")
    assert lives(found) == [("m", ["allocate", "serve"], "log_ends")]
    assert [process.version for process in found.ownership.processes] == ["1"]


def test_the_end_of_a_dry_run_whose_beginning_is_not_in_the_log_makes_all_before_it_planned(tmp_path: Path) -> None:
    fitted = ("fitted", "dry run done", "", 'effect.phase = { to = "allocate", after = "fit" }', "dry run done")
    pool = amount("pool", 'effect.item = { combine = "add" }\neffect.implies_load = { phase = "allocate" }')
    found = read(
        tmp_path, toy(*LOADED, fitted, pool), "pool CUDA0 1 MiB", "dry run done", "pool CUDA0 2 MiB", "load is ready"
    )
    assert ledger(found) == [("CUDA0", 1.0, "planned"), ("CUDA0", 2.0, "counted")]
    assert lives(found) == [(None, ["fit", "allocate", "serve"], "log_ends")]


def test_a_dry_run_that_is_only_known_by_its_end_leaves_what_was_replaced_replaced(tmp_path: Path) -> None:
    fitted = ("fitted", "dry run done", "", 'effect.phase = { to = "allocate", after = "fit" }', "dry run done")
    pool = amount("pool", 'effect.item = { combine = "last" }\neffect.implies_load = { phase = "allocate" }')
    found = read(tmp_path, toy(*LOADED, fitted, pool), "pool CUDA0 1 MiB", "pool CUDA0 2 MiB", "dry run done")
    assert ledger(found) == [("CUDA0", 1.0, "superseded"), ("CUDA0", 2.0, "planned")]


def test_a_value_is_set_where_it_is_printed_and_kept_once(tmp_path: Path) -> None:
    member = (
        "member",
        "member (?P<card>CUDA\\d+)?.*",
        'keys = ["card"]',
        'effect.set = { name = "members", from = "card", append = true }',
        "member CUDA0",
    )
    lines = ("load begins m", "member CUDA0", "member of nothing", "member CUDA1", "member CUDA0")
    found = read(tmp_path, toy(*LOADED, member), *lines)
    assert found.ownership.loads[0].variables == {"members": ["CUDA0", "CUDA1"]}


def test_an_amount_that_a_line_leaves_out_is_none(tmp_path: Path) -> None:
    released = (
        "released",
        "released (?P<device>\\S+)(?: (?P<size_bytes>\\d+) MiB)?",
        'event = "AllocationFailed"',
        'unit.size_bytes = "MiB"\neffect.item = { combine = "add" }',
        "released CUDA0 1 MiB",
    )
    found = read(tmp_path, toy(*LOADED, released), "load begins m", "released CUDA0", "released CUDA0 3 MiB")
    assert ledger(found) == [("CUDA0", 3.0, "counted")]


CHILDREN = (
    (
        "child",
        "child (?P<model>\\S+) starts",
        'event = "LoadBegan"',
        'role = "parent"\neffect.load = { child = true, parallel = true }',
        "child m starts",
    ),
    (
        "alive",
        "alive: (?P<count>\\d+)",
        'keys = ["count"]',
        'role = "parent"\neffect.live_count = { from = "count" }',
        "alive: 0",
    ),
    (
        "gone",
        "child (?P<label>\\S+) with pid (?P<pid>\\d+) is gone",
        'event = "LoadEnded"\nkeys = ["label"]\nconst = { reason = "stopped" }',
        'role = "parent"\neffect.end = { by = "label", from = "label", reason = "stopped" }',
        "child m with pid 7 is gone",
    ),
)


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("alive: 0", [("a", "unknown"), ("b", "unknown")]),
        ("alive: 1", [("a", "evicted"), ("b", "log_ends")]),
        ("alive: 2", [("a", "log_ends"), ("b", "log_ends")]),
        ("child a with pid 7 is gone", [("a", "stopped"), ("b", "log_ends")]),
        ("child c with pid 7 is gone", [("a", "log_ends"), ("b", "log_ends")]),
    ],
)
def test_what_a_supervisor_says_of_its_children_ends_those_and_no_others(
    tmp_path: Path, line: str, ends: list[tuple[str, str]]
) -> None:
    catalogue = toy(*CHILDREN, grammar=SUPERVISOR)
    found = read(tmp_path, catalogue, "child a starts", "child b starts", line)
    assert [(model, end) for model, _, end in lives(found)] == ends


def test_a_child_that_is_gone_has_the_pid_that_its_supervisor_names(tmp_path: Path) -> None:
    found = read(tmp_path, toy(*CHILDREN, grammar=SUPERVISOR), "child a starts", "child a with pid 7 is gone")
    assert [load.process.pid for load in found.ownership.loads] == [7]


def test_a_load_that_sleeps_is_not_woken_by_a_line_that_only_a_serving_one_prints(tmp_path: Path) -> None:
    sleeps = (
        "sleeps",
        "falls asleep",
        "",
        'effect.end = { by = "self", reason = "sleep" }\neffect.phase = "asleep"',
        "falls asleep",
    )
    found = read(tmp_path, toy(*LOADED, sleeps), "load begins m", "load is ready", "falls asleep", "load is ready")
    assert lives(found) == [("m", ["allocate", "serve", "asleep"], "sleep")]


@pytest.mark.parametrize(
    ("effect", "second", "ends"),
    [
        ("child = true, parallel = true", "b", ["log_ends", "log_ends"]),
        ("child = true, parallel = true", "a", ["superseded", "log_ends"]),
        ("child = true", "b", ["aborted", "log_ends"]),
        ("child = true", "a", ["superseded", "log_ends"]),
    ],
)
def test_a_child_that_is_announced_anew_is_the_end_of_the_one_of_that_name_or_that_was_still_loading(
    tmp_path: Path, effect: str, second: str, ends: list[str]
) -> None:
    name, regex, event, _, sample = CHILDREN[0]
    announces = (name, regex, event, f'role = "parent"\neffect.load = {{ {effect} }}', sample)
    catalogue = toy(announces, *CHILDREN[1:], grammar=SUPERVISOR)
    found = read(tmp_path, catalogue, "child a starts", f"child {second} starts")
    assert [end for *_, end in lives(found)] == ends


STOPS = (
    CHILDREN[0],
    (
        "stopping",
        "stopping (?P<label>\\S+) with pid (?P<pid>\\d+)",
        'event = "LoadEnded"\nkeys = ["label"]\nconst = { reason = "stopped" }',
        'role = "parent"\neffect.end = { by = "label", from = "label", reason = "stopped", begins = true }',
        "stopping m with pid 7",
    ),
    (
        "exited",
        "exited: (?P<pid>\\d+)",
        'event = "LoadEnded"\nconst = { reason = "exit" }',
        'role = "parent"\neffect.end = { by = "pid", reason = "exit" }',
        "exited: 7",
    ),
)


@pytest.mark.parametrize(
    ("stopped", "ended"),
    [
        (["stopping a with pid 7", "stopping b with pid 8", "exited: 8"], ["b"]),
        (["stopping a with pid 7", "stopping b with pid 8", "exited: 7"], ["a"]),
        (["stopping b with pid 8", "exited: 9"], ["b"]),  # the one that is closing
        (["exited: 9"], []),
        (["stopping a with pid 7", "stopping b with pid 8", "exited: 9"], []),
    ],
)
def test_a_child_whose_process_id_has_exited_has_ended_and_no_other(
    tmp_path: Path, stopped: list[str], ended: list[str]
) -> None:
    found = read(tmp_path, toy(*STOPS, grammar=SUPERVISOR), "child a starts", "child b starts", *stopped)
    loads = found.ownership.loads
    assert [load.label for load in loads if load.ended is not None] == ended
    assert {load.end_reason for load in loads if load.ended is not None} <= {"stopped"}


def test_the_only_child_has_ended_when_a_process_id_that_nobody_has_named_has_exited(tmp_path: Path) -> None:
    found = read(tmp_path, toy(*STOPS, grammar=SUPERVISOR), "child a starts", "exited: 9")
    assert [(load.label, load.end_reason) for load in found.ownership.loads] == [("a", "exit")]


def test_a_child_that_is_named_only_when_it_is_started_is_the_one_that_was_announced(tmp_path: Path) -> None:
    announced = (
        "announced",
        "a child will start",
        'event = "LoadBegan"',
        'role = "parent"\neffect.load = { child = true }',
        "a child will start",
    )
    started = (
        "started",
        "started (?P<label>\\S+) on port (?P<port>\\d+)",
        'keys = ["label", "port"]',
        'role = "parent"\neffect.spawn = { key = "port", label = "label" }',
        "started m on port 1",
    )
    catalogue = toy(announced, started, CHILDREN[2], grammar="\n[grammar]\nsupervises = true\n")
    found = read(tmp_path, catalogue, "a child will start", "started m on port 1", "child m with pid 7 is gone")
    assert [(load.label, load.process.label, load.end_reason) for load in found.ownership.loads] == [
        ("m", "1", "stopped")
    ]
    found = read(tmp_path, catalogue, "a child will start", "started m on port 1", "started n on port 2")
    assert [load.label for load in found.ownership.loads] == ["m", "n"]
