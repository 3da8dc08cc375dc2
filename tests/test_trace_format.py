"""The exported timeline is one that a trace viewer reads: every event as the trace event format asks, phases nested."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from asking_loads import FIXTURES, case_of

from forensics.answer import Ask
from forensics.ask_timeline import timeline

CASES = [
    "llama-router-ping-pong",
    "llama-sleep-idle",
    "llama-fit-beside-other",
    "llama-killed-then-reloaded",
    "llama-mtp-vision-two-cards",
    "vllm-sleep-mode",
    "vllm-two-cards",
    "kv-third-card-missing",
]
NEEDED = {
    "M": {"ph", "pid", "name", "args"},
    "thread_name": {"ph", "pid", "tid", "name", "args"},
    "C": {"ph", "pid", "ts", "name", "args"},
    "X": {"ph", "pid", "tid", "ts", "dur", "name", "cat"},
    "i": {"ph", "pid", "tid", "ts", "s", "name", "cat"},
}
"""Keys of the events that are written, by phase (a thread's name by its own): metadata, counters, complete, instant."""

NANOSECONDS = 2**63
"""A viewer keeps times in nanoseconds, in 64 bits."""


def exported(name: str, folder: Path) -> list[dict[str, Any]]:
    answer = timeline(Ask(case_of(FIXTURES / name), extra={"perfetto": folder / "trace.json"}))
    ((_, text),) = answer.exports
    found = json.loads(text)
    assert set(found) == {"displayTimeUnit", "traceEvents"}
    assert found["displayTimeUnit"] in {"ms", "ns"}
    events: list[dict[str, Any]] = found["traceEvents"]
    return events


@pytest.mark.parametrize("name", CASES)
def test_each_event_has_what_its_phase_needs_and_nothing_a_viewer_drops(name: str, tmp_path: Path) -> None:
    events = exported(name, tmp_path)
    assert {event["ph"] for event in events} >= {"M", "C", "X"}
    for event in events:
        assert set(event) == NEEDED.get(event["name"], NEEDED[event["ph"]]), event
        assert isinstance(event["pid"], int)
        assert isinstance(event["name"], str)
        assert event["name"]
        if event["ph"] != "M":
            assert isinstance(event["ts"], int)
            assert 0 < event["ts"] * 1000 < NANOSECONDS
        if event["ph"] == "C":
            ((unit, value),) = event["args"].items()
            assert (unit, isinstance(value, int | float), value >= 0) == ("MiB", True, True)
        if event["ph"] == "X":
            assert isinstance(event["dur"], int)
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] in {"g", "p", "t"}


@pytest.mark.parametrize("name", CASES)
def test_each_process_is_named_once_and_in_order(name: str, tmp_path: Path) -> None:
    events = exported(name, tmp_path)
    used = {event["pid"] for event in events if event["ph"] != "M"}
    named = [event["pid"] for event in events if event["ph"] == "M" and event["name"] == "process_name"]
    orders = {
        event["pid"]: event["args"]["sort_index"]
        for event in events
        if event["ph"] == "M" and event["name"] == "process_sort_index"
    }
    assert len(named) == len(set(named))
    assert used <= set(named) == set(orders)
    metadata = {event["name"] for event in events if event["ph"] == "M"}
    assert metadata == {"process_name", "process_sort_index", "thread_name"}
    assert all(isinstance(event["args"]["name"], str) for event in events if event["name"] == "process_name")


@pytest.mark.parametrize("name", CASES)
def test_each_lane_is_named_for_what_is_in_it(name: str, tmp_path: Path) -> None:
    events = exported(name, tmp_path)
    names = {"X": "phases", "i": "unexplained steps"}
    wanted = {(event["pid"], event["tid"]): names[event["ph"]] for event in events if event["ph"] in names}
    lanes = [event for event in events if event["name"] == "thread_name"]
    assert {(event["pid"], event["tid"]): event["args"]["name"] for event in lanes} == wanted
    assert len(lanes) == len(wanted)
    # A thread with the number of its process is shown as "main thread".
    assert all(pid != tid for pid, tid in wanted)


def test_a_counter_leaves_its_unit_to_its_argument_since_both_are_shown(tmp_path: Path) -> None:
    events = exported("vllm-two-cards", tmp_path)
    shown = {f"{event['name']} {unit}" for event in events if event["ph"] == "C" for unit in event["args"]}
    assert shown == {"used MiB", "pid 1119 MiB", "pid 1120 MiB"}


@pytest.mark.parametrize("name", CASES)
def test_phases_of_one_lane_follow_each_other_and_never_cross(name: str, tmp_path: Path) -> None:
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in exported(name, tmp_path):
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert lanes
    for spans in lanes.values():
        for (_, until), (begun, _) in pairwise(sorted(spans)):
            assert until <= begun  # a slice that crosses another of its lane is dropped


@pytest.mark.parametrize("name", CASES)
def test_a_counter_has_one_value_at_a_time(name: str, tmp_path: Path) -> None:
    seen = [(event["pid"], event["name"], event["ts"]) for event in exported(name, tmp_path) if event["ph"] == "C"]
    assert len(seen) == len(set(seen))
