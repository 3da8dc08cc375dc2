"""However the lines of several servers mix in one stream, no line is given to a load that did not write it."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weaving import LOGS, judged, weave

SCHEDULES = int(os.environ.get("FORENSICS_SCHEDULES", "60"))
NAMES = sorted(path.name for path in LOGS.glob("*.log"))
KINDS = ("uniform", "blocks", "staggered", "truncated")

several = st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True)
seeds = st.integers(0, 2**32)
thorough = settings(
    max_examples=SCHEDULES, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("envelope", ["container"])
@thorough
@given(logs=several, seed=seeds)
def test_no_line_is_given_to_a_load_that_did_not_write_it(envelope: str, kind: str, logs: list[str], seed: int) -> None:
    found = judged(weave(logs, kind, seed), envelope)

    assert found.wrong == []
    assert found.miscounted == []
    assert found.lost == []
