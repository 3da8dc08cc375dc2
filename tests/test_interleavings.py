"""However the lines of several servers mix in one stream, no line is given to a load that did not write it.

`FORENSICS_SCHEDULES=10000 pytest tests/test_interleavings.py -rP` is the long run; it shows what was owned.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from weaving import ENVELOPES, LOGS, alone, judged, log_lines, weave

SCHEDULES = int(os.environ.get("FORENSICS_SCHEDULES", "0"))
NAMES = sorted(path.name for path in LOGS.glob("*.log"))
KINDS = ("uniform", "blocks", "staggered", "truncated")
TAGGED = ("own pid", "container")

# Nothing in such a stream tells these from other writers; docs/ownership.md names each.
UNPROVABLE = {
    "llama-2023.log": "does not say that it begins",
    "llama-2024.log": "does not say that it begins",
    "llama-forged.log": "an attacker's text imitates other servers",
    "llama-swap-proxy.log": "announces children without their files, and relays none of their lines",
}

streams = st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True)
seeds = st.integers(0, 2**32)


def thorough(examples: int) -> settings:
    return settings(
        max_examples=SCHEDULES // 4 or examples,
        derandomize=not SCHEDULES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("envelope", TAGGED)
@thorough(40)
@given(logs=streams, kind=st.sampled_from(KINDS), seed=seeds)
def test_where_each_line_says_who_wrote_it_nothing_is_lost(
    envelope: str, logs: list[str], kind: str, seed: int
) -> None:
    found = judged(weave(logs, kind, seed), envelope)

    assert found.wrong == []
    assert found.miscounted == []
    assert found.lost == []


@pytest.mark.parametrize("envelope", [one for one in ENVELOPES if one not in TAGGED])
@thorough(60)
@example(["llama-sleep.log", "llama-vision-large.log"], "staggered", 36)
@example(["llama-no-prefix-lv5.log", "llama-killed-then-reloaded.log", "llama-speculating.log"], "truncated", 1)
@example(["vllm-debug.log", "vllm-card-taken.log", "llama-2025.log", "llama-jsonl.log"], "truncated", 15625)
@example(["ollama-a-two-loads.log", "koboldcpp.log", "llama-2025.log"], "truncated", 3097456904)
@example(["llama-sleep.log", "ollama-c-relayed.log", "llama-2025.log"], "truncated", 171333593)
@example(["llama-one-card.log", "llama-default-verbosity.log", "llama-mtp-vision.log"], "staggered", 565342980)
@example(["llama-one-card.log", "llama-oom.log", "llama-sleep.log"], "staggered", 2**32)
@given(logs=streams, kind=st.sampled_from(KINDS), seed=seeds)
def test_where_no_line_says_who_wrote_it_none_is_given_to_another_load(
    envelope: str, logs: list[str], kind: str, seed: int
) -> None:
    assume(not UNPROVABLE.keys() & set(logs))
    assume(sum(log.startswith("ollama") for log in logs) < 2)  # two supervisors of one kind in one unlabelled stream
    found = judged(weave(logs, kind, seed, by_clock=True), envelope)

    if not found.hidden:  # else a text of one server ran on over the beginning of another: those lines are data
        assert found.wrong == []
        assert found.miscounted == []


@pytest.mark.parametrize(
    ("envelope", "least"), [("own pid", 1.0), ("container", 1.0), ("shared pid", 0.7), ("none", 0.7)]
)
def test_much_is_owned_all_the_same(envelope: str, least: float) -> None:
    chance = random.Random(envelope)  # noqa: S311
    names = NAMES if envelope in TAGGED else [name for name in NAMES if name not in UNPROVABLE]
    owned = same = hidden = schedules = 0
    for _ in range(SCHEDULES // 10 or 30):
        logs = chance.sample(names, chance.choice((2, 2, 3, 4)))
        woven = weave(logs, chance.choice(KINDS), chance.randrange(2**32), by_clock=envelope not in TAGGED)
        found = judged(woven, envelope)
        two_supervisors = sum(log.startswith("ollama") for log in logs) > 1
        if envelope in TAGGED or not (found.hidden or two_supervisors):
            assert found.wrong == []
        owned, same, hidden, schedules = (
            owned + found.owned,
            same + found.same,
            hidden + bool(found.hidden),
            schedules + 1,
        )

    print(f"{envelope}: {same / owned:.1%} of the lines owned alone are owned; texts ran on in {hidden} of {schedules}")
    assert same / owned >= least


@pytest.mark.parametrize("log", NAMES)
def test_each_log_alone_is_owned_by_its_own_loads(log: str) -> None:
    truths, _ = alone(log, len(log_lines(log)), "own pid")
    provable = [truth for truth in truths.values() if truth.load is not None]

    assert len(provable) >= (0.3 if log.startswith("ollama") or "swap" in log else 0.5) * len(truths)


def test_two_containers_whose_first_process_is_number_one_are_never_taken_for_each_other() -> None:
    # Both print "(APIServer pid=1)": what a tag says twice, it does not say.
    for seed in (*range(40), 283, 316, 328, 373):
        found = judged(weave(["vllm-one-card.log", "vllm-sleep.log"], KINDS[seed % 3], seed), "none", same_pids=True)

        assert found.wrong == []
        assert found.miscounted == []
