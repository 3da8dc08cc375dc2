"""What fuzzing found stays found: each kept input, and the corpus, hold the promises of their target."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))

from mutate import mutate_bytes, mutate_json, mutate_sql, mutate_text
from targets import CORPUS, REGRESSIONS, TARGETS

KEPT = sorted(path for path in REGRESSIONS.glob("*/*") if path.is_file())
READER = sorted((CORPUS / "reader").iterdir())
CASES = sorted((CORPUS / "case").iterdir())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_input_that_once_broke_a_promise_does_not_any_more(path: Path) -> None:
    TARGETS[path.parent.name].run(path.read_bytes())


def test_every_kept_input_is_of_a_target() -> None:
    assert {path.parent.name for path in KEPT} <= set(TARGETS)
    assert len(KEPT) >= 5


@pytest.mark.parametrize("path", READER, ids=lambda path: path.name)
def test_an_input_of_the_corpus_is_read_as_what_it_is(path: Path) -> None:
    name = path.name.rpartition("-")[0]
    inside = {"gzip", "bzip2", "xz", "zstd", "utf16"}  # what they are is told of what is in them
    features = TARGETS["reader"].run(path.read_bytes())
    assert name in inside or name in features


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_a_case_of_the_corpus_has_owners(path: Path) -> None:
    features = TARGETS["owner"].run(path.read_bytes())
    assert any(one.startswith(("exact", "inferred")) for one in features)


@pytest.mark.parametrize(
    ("name", "times"),
    [("reader", 60), ("lines", 60), ("pattern", 60), ("scan", 15), ("owner", 15), ("report", 3), ("query", 15)],
)
def test_some_changed_inputs_hold(name: str, times: int) -> None:
    target = TARGETS[name]
    chance = random.Random(name)  # noqa: S311
    seeds = target.seeds()
    for _ in range(times):
        target.run(target.mutate(chance.choice(seeds), chance.choice(seeds), chance))


def test_the_same_seed_makes_the_same_inputs() -> None:
    data, other = b"== a 1.5 MiB\n" * 9, b'{"a": [1, {"b": "x"}]}'
    for mutate in (mutate_bytes, mutate_text, mutate_json, mutate_sql):
        made = [mutate(data, other, random.Random(seed)) for seed in (1, 1, 2)]  # noqa: S311
        assert made[0] == made[1]
    assert mutate_bytes(data, other, random.Random(3)) != mutate_bytes(data, other, random.Random(4))  # noqa: S311
