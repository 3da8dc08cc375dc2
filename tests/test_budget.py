"""The budget of a cache pool, reckoned again from the load's own lines: which entered, and whether they give it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asking_loads import FIXTURES, case_of
from opened import cards_csv, holders_csv, journal, opened

from forensics.answer import Answer, Ask
from forensics.ask_kv import kv
from forensics.catalogue import load_catalogue
from forensics.explain import document

LOG = """
{share}
(EngineCore pid=9) INFO 09-18 08:00:09 [core.py:112] Initializing a V1 LLM engine (v{version}) with config: model='/m/q'
(EngineCore pid=9) INFO 09-18 08:00:20 [gpu_model_runner.py:5306] Model loading took 15.3 GiB memory and 1.98 seconds
{lines}
"""
PROFILED = """
(EngineCore pid=9) DEBUG 09-18 08:00:21 [gpu_worker.py:373] worker requested memory: 55.92GiB
(EngineCore pid=9) DEBUG 09-18 08:00:39 [gpu_worker.py:537] Memory profiling takes 46.98 seconds. Total non KV cache \
memory: 16.81GiB; torch peak memory increase: 1.29GiB; non-torch forward increase memory: 0.22GiB; weights memory: \
15.3GiB.
"""
ESTIMATED = """
(EngineCore pid=9) INFO 09-18 08:00:38 [gpu_model_runner.py:6639] Estimated CUDA graph memory: 0.15 GiB total
"""
NOT_APPLIED = """
(EngineCore pid=9) WARNING 09-18 08:00:38 [gpu_worker.py:570] CUDA graph memory profiling is disabled \
(VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0). Without it, CUDA graph memory is not accounted for during KV cache \
allocation.
"""
AVAILABLE = """
(EngineCore pid=9) INFO 09-18 08:00:40 [gpu_worker.py:538] Available KV cache memory: {budget} GiB
"""
CONSUMED = """
(EngineCore pid=9) INFO 09-18 08:00:45 [gpu_worker.py:1063] Free memory on device (23.16/23.57 GiB) on startup. \
Desired GPU memory utilization is (0.92, 21.68 GiB). Actual usage is 15.92 GiB for consumed memory (weights + \
non-torch), 1.31 GiB for peak activation, and 0.31 GiB for CUDAGraph memory. Replace \
gpu_memory_utilization config with `--kv-cache-memory=4292729216` (4.0 GiB) to fit into requested memory, or \
`--kv-cache-memory=5877142651` (5.47 GiB) to fully utilize gpu memory. Current kv cache memory in use is 4.45 GiB.
"""
SHARE_LESS_PEAK = """
INFO 12-06 14:55:15 worker.py:232] Memory profiling results: total_gpu_memory=7.92GiB initial_memory_usage=0.37GiB \
peak_torch_memory=0.71GiB memory_usage_post_profile=0.39GiB non_torch_memory=0.15GiB kv_cache_size={budget}GiB \
gpu_memory_utilization=0.90
"""


SHARE = "(APIServer pid=1) INFO 09-18 08:00:00 [api_utils.py:273] non-default args: {'gpu_memory_utilization': 0.9}"


def ask(folder: Path, version: str, lines: str, *, share: str = "", **files: str) -> Answer:
    log = LOG.format(share=share, version=version, lines=lines)
    return kv(Ask(opened(folder, vllm_log=journal(100, 0, log), **files)))


def replays(answer: Answer) -> list[tuple[float, bool | None, str]]:
    """Of each printed budget: GiB, whether its lines give it, and by which algorithm."""
    found: list[dict[str, Any]] = answer.document["replays"]
    return [(round(one["printed_mib"] / 1024, 2), one["matches"], one["algorithm"]) for one in found]


def test_the_budget_of_a_recorded_start_is_what_its_own_lines_give() -> None:
    answer = kv(Ask(case_of(FIXTURES / "vllm-debug-level")))
    assert replays(answer) == [(39.11, True, "parts")] * 2  # as budget, and in the account at the end
    first = answer.document["replays"][0]
    assert [(one["term"], one["sign"], round(one["mib"] / 1024, 2)) for one in first["entered"]] == [
        ("requested", 1, 55.92),
        ("weights", -1, 15.3),
        ("activation", -1, 1.29),
        ("non_torch", -1, 0.22),
    ]
    assert round(first["replayed_mib"] / 1024, 2) == 39.11
    assert all(one["evidence"] for one in first["entered"])
    assert [one for one in answer.about if "budget" in one] == []


@pytest.mark.parametrize(
    ("budget", "matches"), [("39.11", True), ("39.13", True), ("39.20", False), ("38.96", False), ("49.11", False)]
)
def test_a_budget_that_was_changed_is_found_by_the_lines_it_is_made_of(
    tmp_path: Path, budget: str, matches: bool
) -> None:
    answer = ask(tmp_path, "0.25.1", PROFILED + AVAILABLE.format(budget=budget))
    assert replays(answer) == [(float(budget), matches, "parts")]
    told = [one for one in answer.about if "prints a budget" in one]
    expected = (
        f"supported: Load 1 prints a budget of {budget} GiB for its cache, and its own lines give 55.92 (asked for) − "
        "15.30 (weights) − 1.29 (peak of activations) − 0.22 (non-torch memory) = 39.11 GiB. No known algorithm gives "
        "the figure: a line was changed, or is another start's."
    )
    assert told == ([] if matches else [expected])


def test_a_changed_budget_is_a_finding_of_explain_vram_too(tmp_path: Path) -> None:
    log = journal(100, 0, LOG.format(share="", version="0.25.1", lines=PROFILED + AVAILABLE.format(budget="49.11")))
    (load,) = document(opened(tmp_path, vllm_log=log), load_catalogue())["loads"]
    (found,) = [one for one in load["findings"] if "prints a budget" in one["claim"]]
    assert (found["state"], round(found["amount_mib"] / 1024, 2), len(found["for"])) == ("supported", 10.0, 3)


@pytest.mark.parametrize(
    ("version", "lines", "budget", "algorithm"),
    [
        pytest.param("0.17.1", PROFILED, "39.11", "parts", id="0.9 to 0.19"),
        pytest.param("0.20.0", PROFILED + ESTIMATED, "38.96", "parts_and_estimate", id="0.20 to 0.26: estimate off"),
        pytest.param("0.25.1", PROFILED + ESTIMATED + NOT_APPLIED, "39.11", "parts", id="estimate left out"),
        pytest.param(
            "0.27.1", ESTIMATED.replace("0.15", "0.38") + CONSUMED, "4.45", "consumed_estimate_in_peak", id="0.27"
        ),
    ],
)
def test_each_era_takes_its_own_terms_off(
    tmp_path: Path, version: str, lines: str, budget: str, algorithm: str
) -> None:
    answer = ask(tmp_path, version, lines + AVAILABLE.format(budget=budget))
    assert {*replays(answer)} == {(float(budget), True, algorithm)}
    assert [one for one in answer.about if "prints a budget" in one] == []


def test_an_estimate_that_did_not_enter_is_shown_as_that(tmp_path: Path) -> None:
    answer = ask(tmp_path, "0.25.1", PROFILED + ESTIMATED + NOT_APPLIED + AVAILABLE.format(budget="39.11"))
    (one,) = answer.document["replays"]
    assert [(aside["term"], round(aside["mib"] / 1024, 2)) for aside in one["not_entered"]] == [("estimate", 0.15)]


def test_a_replay_cites_its_lines_in_the_order_of_its_sum(tmp_path: Path) -> None:
    log = LOG.format(share="", version="0.25.1", lines=PROFILED + ESTIMATED + AVAILABLE.format(budget="38.96"))
    asked = Ask(opened(tmp_path, vllm_log=journal(100, 0, log)))
    texts = {row["line_id"]: row["text"].partition("] ")[2][:20] for row in asked.rows("FROM line")}
    found = asked.rows("SELECT lines FROM budget_replay WHERE algorithm = 'parts_and_estimate'")
    assert [[texts[one] for one in row["lines"].split()] for row in found] == [
        ["Available KV cache m", "worker requested mem", "Memory profiling tak", "Estimated CUDA graph"]
    ]


def test_a_budget_of_another_releases_way_is_told_and_not_established(tmp_path: Path) -> None:
    # 0.25 takes the estimate of graphs off; here it was not, and no line says that it was left out
    answer = ask(tmp_path, "0.25.1", PROFILED + ESTIMATED + AVAILABLE.format(budget="39.11"))
    assert replays(answer) == [(39.11, False, "parts_and_estimate")]
    (told,) = [one for one in answer.about if "prints a budget" in one]
    assert told.startswith("not established: ")
    assert "Another release's way gives it (parts)" in told


@pytest.mark.parametrize(("budget", "matches"), [("6.27", True), ("6.87", False)])
def test_the_oldest_account_is_the_share_less_the_allocators_peak(tmp_path: Path, budget: str, matches: bool) -> None:
    start = "INFO 12-06 14:55:10 llm_engine.py:249] Initializing an LLM engine (v0.6.4.post1) with config: model='x'"
    answer = kv(Ask(opened(tmp_path, vllm_log=journal(100, 0, start + SHARE_LESS_PEAK.format(budget=budget)))))
    assert replays(answer) == [(float(budget), matches, "share_less_peak")]


@pytest.mark.parametrize(("version", "said"), [("0.41.0", "0.41.0"), ("1.2.0", "1.2.0")])
def test_of_a_release_that_nobody_read_no_known_algorithm_gives_the_figure(
    tmp_path: Path, version: str, said: str
) -> None:
    answer = ask(tmp_path, version, PROFILED + AVAILABLE.format(budget="37.05"))
    assert [one[:2] for one in replays(answer)] == [(37.05, False)]
    (told,) = [one for one in answer.about if "prints a budget" in one]
    assert told.startswith("not established: ")
    assert told.endswith(f"No known algorithm gives the figure, and how its release ({said}) reckons is not known.")


def test_where_terms_are_not_printed_nothing_is_replayed_and_the_rest_is_said(tmp_path: Path) -> None:
    files = {
        "gpu_csv": cards_csv((-5, 0, 300), (60, 0, 20300)),
        "apps_csv": holders_csv((60, 0, 100, 20000), name="vllm"),
    }
    answer = ask(tmp_path, "0.25.1", AVAILABLE.format(budget="5.01"), share=SHARE, **files)
    (one,) = answer.document["replays"]
    assert (one["matches"], one["missing"]) == (None, ["activation", "non_torch"])
    (section,) = [one for one in answer.sections if one.title.startswith("Budget")]
    assert section.rows == (
        (
            "1",
            "5.01",
            "at most",
            "5.91",
            "21.21 (asked for) − 15.30 (weights); not in the log: peak of activations and non-torch memory",
        ),
    )


def test_a_budget_beyond_what_the_share_leaves_is_found_without_the_missing_terms(tmp_path: Path) -> None:
    files = {
        "gpu_csv": cards_csv((-5, 0, 300), (60, 0, 20300)),
        "apps_csv": holders_csv((60, 0, 100, 20000), name="vllm"),
    }
    answer = ask(tmp_path, "0.25.1", AVAILABLE.format(budget="7.50"), share=SHARE, **files)
    assert [one["matches"] for one in answer.document["replays"]] == [False]
    (told,) = [one for one in answer.about if "prints a budget" in one]
    assert "leave at most 21.21 (asked for) − 15.30 (weights) = 5.91 GiB, before peak of activations and" in told


def test_a_pool_that_was_given_by_hand_has_no_budget_to_replay(tmp_path: Path) -> None:
    by_hand = (
        "(EngineCore pid=9) INFO 09-11 16:26:47 [gpu_worker.py:381] Initial free memory 10.04 GiB, reserved 0.49 GiB "
        "memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling. This does not "
        "respect the gpu_memory_utilization config."
    )
    assert ask(tmp_path, "0.25.1", by_hand).document["replays"] == []
