"""Every recorded case still gives what is kept beside it: the same function as `forensics check`."""

from __future__ import annotations

import csv
import gzip
from bisect import bisect_right
from pathlib import Path

import pytest

from forensics.case import read_evidence
from forensics.catalogue import Catalogue, load_catalogue
from forensics.check_formats import as_text
from forensics.regress import Case, check_case, find_cases

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = find_cases([FIXTURES])


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_gives_the_rows_the_screen_and_the_values_that_are_kept(case: Case, catalogue: Catalogue) -> None:
    outcome = check_case(case, catalogue)
    assert not outcome.failures, as_text([outcome])


def test_no_line_of_relayed_runners_is_given_to_a_load_that_did_not_write_it(catalogue: Catalogue) -> None:
    folder = FIXTURES / "relayed-runners"
    with gzip.open(folder / "owners.csv.gz", "rt") as file:  # who wrote each byte, by the relay's own account
        written = [(int(row["offset"]), row["writer"]) for row in csv.DictReader(file)]
    starts = [offset for offset, _ in written]
    found = read_evidence([folder / "server.log.gz"], catalogue).ownership
    numbers = {id(load): number for number, load in enumerate(sorted(found.loads, key=lambda one: one.begun.order), 1)}
    wrong, open_, owned, children = [], [], 0, 0
    for one in found.owned:
        writer = written[bisect_right(starts, one.line.offset) - 1][1].split(":")[0]
        if writer == "parent":
            continue
        children += 1
        who = [f"load{numbers[id(load)]}" for load in ([one.load] if one.load else one.candidates)]
        if writer not in who:
            wrong.append((writer, who, one.rule, one.line.text))
        owned += one.load is not None
        if one.load is None and one.line.pattern.possible_in and "serve" not in one.line.pattern.possible_in:
            open_.append(one.line.text)
    assert wrong == []  # neither owner nor, where that cannot be told, among the candidates
    assert open_ == []  # what only a load that is loading can print
    assert (owned, children) == (980, 1186)


def test_the_fixtures_stay_small() -> None:
    size = sum(file.stat().st_size for file in FIXTURES.rglob("*") if file.is_file())
    assert size < 4 * 1024 * 1024
