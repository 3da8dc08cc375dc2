"""Every recorded case still gives what is kept beside it: the same function as `forensics check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.catalogue import Catalogue, load_catalogue
from forensics.regress import Case, as_text, check_case, find_cases

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = find_cases([FIXTURES])


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_gives_the_rows_the_screen_and_the_values_that_are_kept(case: Case, catalogue: Catalogue) -> None:
    outcome = check_case(case, catalogue)
    assert not outcome.failures, as_text([outcome])


def test_the_fixtures_stay_small() -> None:
    size = sum(file.stat().st_size for file in FIXTURES.rglob("*") if file.is_file())
    assert size < 4 * 1024 * 1024
