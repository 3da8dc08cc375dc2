"""Two loads side by side: every byte of the measured difference has a row, and nothing is named as its cause."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from opened import cards_csv, holders_csv, journal, opened
from typer.testing import CliRunner

from forensics.catalogue import load_catalogue
from forensics.cli import app
from forensics.diff import diff, pick
from forensics.errors import UsageError
from forensics.units import MIB

LOAD = """
srv    load_model: loading model '/srv/models/m.gguf'
llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:0a:00.0) - {free} MiB free
load_tensors: offloaded {layers}/37 layers to GPU
load_tensors:        CUDA0 model buffer size =  {weights} MiB
llama_context: constructing llama_context
llama_context: n_ctx                 = {n_ctx}
llama_kv_cache:      CUDA0 KV buffer size =  {cache} MiB
llama_kv_cache:        CPU KV buffer size =  {host} MiB
sched_reserve: reserving ...
sched_reserve:      CUDA0 compute buffer size =  120.01 MiB
sched_reserve: reserve took 50.00 ms, sched copies = 1
srv  llama_server: model loaded
"""
FIRST = LOAD.format(free=23525, layers=37, weights="4914.18", n_ctx=16384, cache="2304.00", host="0.00")
SECOND = LOAD.format(free=23525, layers=10, weights="2118.81", n_ctx=16384, cache="576.00", host="1728.00")
LONGER = LOAD.format(free=23525, layers=37, weights="4914.18", n_ctx=32768, cache="4608.00", host="0.00")


def case(folder: Path) -> duckdb.DuckDBPyConnection:
    """Two loads of one file, the second with fewer layers on the card."""
    end = "srv    operator(): operator(): cleaning up before exit..."
    log = journal(100, 0, FIRST) + journal(100, 30, end) + journal(200, 100, SECOND)
    held = ((1, 0, 100, 7932), (20, 0, 100, 7932), (101, 0, 200, 3434), (120, 0, 200, 3434))
    return opened(
        folder,
        server_log=log,
        apps_csv=holders_csv(*held),
        gpu_csv=cards_csv((-1, 0, 0), (99, 0, 0), *((at, card, used + 5) for at, card, _, used in held)),
    )


def test_the_deltas_of_items_and_rest_are_the_measured_delta_exactly(tmp_path: Path) -> None:
    connection = case(tmp_path)
    answer = diff((connection, pick(connection, "1")), (connection, pick(connection, "2")), load_catalogue())
    moved = {
        (row["place"], row["part"], row["kind"]): round(row["delta_mib"], 2)
        for row in answer.document["items"]
        if row["delta_bytes"]
    }
    assert moved == {
        ("CUDA0", "target", "weights"): -2795.37,
        ("CUDA0", "target", "kv_cache"): -1728.00,
        ("CPU", "target", "kv_cache"): 1728.00,
    }
    (card,) = [device for device in answer.document["devices"] if device["where"] == "card"]
    items = sum(row["delta_bytes"] for row in answer.document["items"] if row["place"] == "CUDA0")
    assert card["delta_bytes"] == (3434 - 7932) * MIB
    assert items + card["unexplained_delta_bytes"] == card["delta_bytes"]
    assert answer.verdict == "4.39 GiB less on the cards, +25 MiB of it unexplained; 1 thing differs."


def test_what_differs_is_listed_and_no_cause_is_established(tmp_path: Path) -> None:
    connection = case(tmp_path)
    answer = diff((connection, pick(connection, "1")), (connection, pick(connection, "2")), load_catalogue())
    assert [(one["what"], one["before"], one["after"]) for one in answer.document["changed"]] == [
        ("layers", "37/37", "10/37")
    ]
    # no cause, and the logs have no version: that the builds are the same is not measured
    assert [one["state"] for one in answer.document["findings"]] == ["not established", "not measured"]


def test_loads_of_two_cases_are_compared_and_what_nobody_measured_has_no_delta(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    before = opened(tmp_path / "a", server_log=journal(100, 0, FIRST))
    after = opened(tmp_path / "b", server_log=journal(300, 0, LONGER))
    answer = diff((before, pick(before, None)), (after, pick(after, None)), load_catalogue())
    assert answer.document["delta_bytes"] is None
    assert [(one["name"], one["before"], one["after"]) for one in answer.document["changed"]] == [
        ("n_ctx", "16384", "32768")
    ]
    assert {row["kind"]: round(row["delta_mib"]) for row in answer.document["items"] if row["delta_bytes"]} == {
        "kv_cache": 2304
    }
    texts = {entry["text"] for entry in answer.document["evidence_after"].values()}
    assert "llama_context: n_ctx                 = 32768" in texts


def test_the_command_takes_two_loads_of_a_case_or_two_cases(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    case(tmp_path / "a")
    opened(tmp_path / "b", server_log=journal(300, 0, LONGER))
    of_one = CliRunner().invoke(app, ["diff", "1", "2", str(tmp_path / "a"), "--tz", "+00:00"])
    of_two = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--tz", "+00:00"])
    assert (of_one.exit_code, of_one.output.splitlines()[0]) == (
        0,
        "4.39 GiB less on the cards, +25 MiB of it unexplained; 1 thing differs.",
    )
    assert (of_two.exit_code, of_two.output.splitlines()[0]) == (
        0,
        "No measured difference: not both loads were seen on the cards; 4 things differ.",
    )


@pytest.mark.parametrize(("wanted", "number"), [("1", 1), ("2", 2), ("boot:-2", 1), ("load:-1", 2), (None, 2)])
def test_a_load_is_picked_by_number_or_from_the_end(tmp_path: Path, wanted: str | None, number: int) -> None:
    connection = case(tmp_path)
    found = connection.execute("SELECT number FROM load WHERE load_id = ?", [pick(connection, wanted)]).fetchone()
    assert found == (number,)


@pytest.mark.parametrize("wanted", ["9", "/srv/models/m.gguf", "boot:-5"])
def test_a_name_that_means_no_load_or_several_is_refused(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(UsageError, match=rf"^{wanted}: .*; the evidence shows: 1 .*, 2 "):
        pick(case(tmp_path), wanted)
