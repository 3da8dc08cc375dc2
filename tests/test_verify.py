"""A report holds if every number, statement and line comes out again from the bytes it cites; any change is caught."""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from test_formats import ADDED
from typer.testing import CliRunner

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.cli import app
from forensics.explain import document
from forensics.provenance import Asked, provenance
from forensics.question import install, load_questions
from forensics.report_json import render_json
from forensics.verify import compare, derive, read_report, verify

CATALOGUE = load_catalogue(())
Json = dict[str, Any]

LOG = """\
2026-11-30T11:08:01+0000 box llama-server[5226]: 0.00.001.000 I build_info: b11434-abcdef012
2026-11-30T11:08:01+0000 box llama-server[5226]: 0.00.583.316 I srv    load_model: loading model '/srv/models/Qwen3-8B-Q4_0.gguf'
2026-11-30T11:08:03+0000 box llama-server[5226]: 0.02.171.371 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB
2026-11-30T11:08:03+0000 box llama-server[5226]: 0.02.171.372 I load_tensors:   CPU_Mapped model buffer size =   333.84 MiB
2026-11-30T11:08:04+0000 box llama-server[5226]: 0.03.201.214 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
2026-11-30T11:08:04+0000 box llama-server[5226]: 0.03.301.214 I sched_reserve:      CUDA0 compute buffer size =   120.01 MiB
2026-11-30T11:08:05+0000 box llama-server[5226]: 0.04.182.339 I srv  llama_server: model loaded
"""  # noqa: E501
CARDS = "timestamp, index, uuid, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]\n" + "".join(
    f"2026/11/30 11:08:{second:02d}.000, 0, GPU-1, NVIDIA H200, 143771 MiB, {used} MiB, {143771 - used} MiB\n"
    for second, used in ((0, 0), (2, 600), (4, 5500), (6, 7940), (8, 7941))
)
HOLDERS = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n" + "".join(
    f"2026/11/30 11:08:{second:02d}.001, GPU-1, 5226, /usr/local/bin/llama-server, {used} MiB\n"
    for second, used in ((2, 590), (4, 5490), (6, 7930), (8, 7932))
)


def run(*arguments: str) -> tuple[int, Json]:
    outcome = CliRunner().invoke(app, [*arguments, "--format", "json"])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.exit_code, json.loads(outcome.stdout)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three sources, and the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("case").mkdir()
    Path("case/journal.txt").write_text(LOG)
    Path("case/gpu.csv").write_text(CARDS)
    Path("case/apps.csv").write_text(HOLDERS)
    return tmp_path


def report(*options: str) -> Json:
    if not options:
        connection = duckdb.connect()
        store(read_evidence(["case"], CATALOGUE), connection)
        install(connection, load_questions())
        found = document(connection, CATALOGUE) | provenance(connection, Asked())
        return dict(json.loads(render_json(found)))
    code, found = run("explain-vram", "case", *options)
    assert code == 0
    return found


def keep(found: Json, name: str = "report.json") -> Path:
    path = Path(name)
    path.write_text(json.dumps(found))
    return path


def outcome(found: Json, *options: str) -> tuple[int, Json]:
    return run("verify", str(keep(found)), *options) if options else checked(found)


def checked(found: Json) -> tuple[int, Json]:
    """The outcome without a command line: much faster."""
    path = keep(found)
    answer = verify(read_report(path), beside=path.parent, catalogue=CATALOGUE)
    return answer.code, dict(answer.document)


def states(answer: Json, group: str) -> set[str]:
    return {state for state, count in answer["counts"][group].items() if count}


# -- what holds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [(), ("--at", "ready"), ("--at", "2026-11-30 11:08:06.5"), ("--load", "1"), ("--tz", "UTC")],
    ids=["as it is", "at ready", "at a time", "one load", "with a zone"],
)
def test_an_untouched_report_holds(case: Path, options: tuple[str, ...]) -> None:
    found = report(*options)
    assert found["loads"][0]["devices"][0]["measured_bytes"] is not None
    code, answer = outcome(found)
    assert (code, answer["verified"]) == (0, True)
    for group in ("numbers", "statements", "lines", "sources"):
        assert states(answer, group) == {"verified"}


def test_the_screen_says_how_much_was_checked(case: Path) -> None:
    path = keep(report())
    shown = CliRunner().invoke(app, ["verify", str(path)])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("The report holds: ")
    assert "lines of 3 sources" in " ".join(shown.stdout.split())


def test_a_report_made_of_compressed_sources_holds(case: Path) -> None:
    with gzip.open("case/journal.txt.gz", "wb") as file:
        file.write(LOG.encode())
    Path("case/journal.txt").unlink()
    assert outcome(report())[0] == 0


def test_a_source_that_has_grown_still_bears_what_was_read_of_it(case: Path) -> None:
    found = report()
    with Path("case/journal.txt").open("a") as log:
        log.write(LOG.replace("4914.17", "9999.99").replace("11:08:", "11:19:"))
    with Path("case/apps.csv").open("a") as holders:
        holders.write("2026/11/30 11:09:00.001, GPU-1, 5226, /usr/local/bin/llama-server, 9000 MiB\n")
    code, answer = outcome(found)
    assert code == 0
    assert [one["why"] for one in answer["sources"] if one["source"] == "case/journal.txt"] == [
        "it has grown since; what was read is unchanged"
    ]


def test_sources_that_moved_are_found_by_their_bytes(case: Path) -> None:
    found = report()
    Path("elsewhere").mkdir()
    for number, name in enumerate(("journal.txt", "gpu.csv", "apps.csv")):
        Path("case", name).rename(f"elsewhere/renamed-{number}")
    code, answer = outcome(found)
    assert (code, states(answer, "sources")) == (4, {"unverifiable"})
    code, answer = outcome(found, "--sources", "elsewhere")
    assert (code, states(answer, "sources")) == (0, {"verified"})


def test_a_journal_without_years_holds_when_its_copy_has_a_newer_date(case: Path) -> None:
    def short(line: str) -> str:
        return "Nov 30 " + line[11:19] + line[24:]

    Path("case/journal.txt").write_text("".join(map(short, LOG.splitlines(keepends=True))))
    os.utime("case/journal.txt", (1_796_040_000, 1_796_040_000))
    found = report()
    assert found["loads"][0]["begun_at"].startswith("2026-11-30")
    os.utime("case/journal.txt", (1_900_000_000, 1_900_000_000))
    assert outcome(found)[0] == 0


# -- what is caught ---------------------------------------------------------------------------------------------------


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each key or position in it."""
    if isinstance(value, dict | list):
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from leaves(inner)


def changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + chance.choice([1, -1, 1024, 0.0001])
    if isinstance(value, str):
        place = chance.randrange(len(value) + 1)
        return value[:place] + chance.choice("x0 ") + value[place:]
    if value is None:
        return chance.choice([0, "x", 1.5])
    return chance.choice([None, [], 0] if value else [["x"], {"x": 1}])


def test_any_single_change_of_a_report_is_caught(case: Path) -> None:
    untouched = report("--at", "last")
    derived = derive(untouched, beside=case, catalogue=CATALOGUE)
    assert compare(untouched, derived).code == 0
    for seed in range(120):
        found = copy.deepcopy(untouched)
        chance = random.Random(seed)  # noqa: S311
        container, key = chance.choice([(one, name) for one, name in leaves(found) if name != "schema"])
        if isinstance(container, dict) and chance.random() < 0.15:
            del container[key]
        else:
            container[key] = changed(container[key], chance)
        if found.get("asked") != untouched["asked"] or found.get("sources") != untouched["sources"]:
            assert checked(found)[0] == 4, (seed, key)
        else:
            assert compare(found, derived).code == 4, (seed, key)


def test_the_number_that_was_changed_is_named_with_what_comes_out(case: Path) -> None:
    found = report()
    item = found["loads"][0]["devices"][0]["items"][0]
    assert (item["kind"], item["mib"]) == ("weights", 4914.17)
    item["mib"] = 4000.0
    code, answer = outcome(found)
    assert code == 4
    assert [one for one in answer["numbers"] if one["state"] != "verified"] == [
        {
            "path": "loads[0].devices[0].items[0].mib",
            "said": 4000.0,
            "again": 4914.17,
            "state": "tampered",
            "why": "something else comes out",
        }
    ]
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["verify", "report.json"])
    assert "The report does not hold: 1 number is not what the report says." in " ".join(shown.stdout.split())
    assert "Qwen3-8B-Q4_0 · CUDA0 · weights target · mib" in " ".join(shown.stdout.split())


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SOURCES: dict[str, Callable[[], object]] = {
    "a digit of a line": lambda: Path("case/journal.txt").write_text(LOG.replace("4914.17", "4914.18")),
    "the first byte": lambda: flip(Path("case/journal.txt"), 0),
    "the last byte": lambda: flip(Path("case/apps.csv"), len(HOLDERS) - 1),
    "a byte of the cards": lambda: flip(Path("case/gpu.csv"), 200),
    "a line less": lambda: Path("case/journal.txt").write_text(LOG[: LOG.rindex("2026-")]),
    "a byte less": lambda: Path("case/gpu.csv").write_text(CARDS[:-1]),
    "nothing left": lambda: Path("case/apps.csv").write_text(""),
    "a line put in": lambda: Path("case/journal.txt").write_text(LOG.replace("MiB\n", "MiB\nx\n", 1)),
    "two sources exchanged": lambda: (
        Path("case/gpu.csv").write_text(HOLDERS),
        Path("case/apps.csv").write_text(CARDS),
    ),
    "gone": lambda: Path("case/journal.txt").unlink(),
    "all gone": lambda: shutil.rmtree("case"),
    "a pipe in its place": lambda: pipe(Path("case/gpu.csv")),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_changed_cut_or_missing_source_is_caught(case: Path, name: str) -> None:
    found = report()
    SOURCES[name]()
    code, answer = checked(found)
    assert (code, answer["verified"]) == (4, False)
    assert states(answer, "sources") != {"verified"}


def test_without_one_source_what_stands_on_the_others_still_holds(case: Path) -> None:
    found = report()
    Path("case/apps.csv").unlink()
    code, answer = outcome(found)
    assert code == 4
    by_path = {one["path"]: one["state"] for one in answer["numbers"]}
    device = "loads[0].devices[0]"
    assert by_path[f"{device}.items[0].bytes"] == "verified"
    assert by_path[f"{device}.items[0].mib"] == "verified"
    assert by_path[f"{device}.measured_bytes"] == "unverifiable"
    runtime = [place for place, item in enumerate(found["loads"][0]["devices"][0]["items"]) if not item["evidence"]]
    assert [by_path[f"{device}.items[{place}].bytes"] for place in runtime] == ["no evidence"] * len(runtime)


@pytest.mark.parametrize("key", ["bytes", "mib"])
def test_an_amount_changed_in_a_report_with_a_missing_source_is_caught_by_its_lines(case: Path, key: str) -> None:
    found = report()
    Path("case/apps.csv").unlink()
    found["loads"][0]["devices"][0]["items"][0][key] += 1
    _, answer = outcome(found)
    by_path = {one["path"]: one["state"] for one in answer["numbers"]}
    assert by_path[f"loads[0].devices[0].items[0].{key}"] == "tampered"
    if key == "bytes":
        assert by_path["loads[0].devices[0].attributed_bytes"] == "tampered"


def test_a_self_report_that_a_person_typed_has_no_evidence(case: Path) -> None:
    found = report("--self-report", "5.5GiB")
    code, answer = outcome(found)
    assert code == 4
    assert {one["path"].rpartition(".")[0] for one in answer["numbers"] if one["state"] != "verified"} == {
        "loads[0].self_report"
    }


def test_a_report_that_names_a_device_as_its_source_reads_nothing_of_it(case: Path) -> None:
    found = report()
    found["sources"][0]["source"] = "/dev/zero"
    code, answer = outcome(found)
    assert (code, "unverifiable" in states(answer, "sources")) == (4, True)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "forensics.loads/1"}', "[" * 100_000, "not json"])
def test_what_is_no_report_is_refused(case: Path, text: str) -> None:
    Path("odd.json").write_text(text)
    refused = CliRunner().invoke(app, ["verify", "odd.json"])
    assert refused.exit_code != 0
    assert "odd.json: not" in str(refused.exception)


def test_a_number_that_stands_twice_is_refused_since_readers_differ_in_which_counts(case: Path) -> None:
    Path("twice.json").write_text(json.dumps(report()).replace('"mib": 4914.17', '"mib": 4000.0, "mib": 4914.17', 1))
    refused = CliRunner().invoke(app, ["verify", "twice.json"])
    assert str(refused.exception).startswith("not a report: 'mib' stands 2 times in one place")


def test_patterns_that_the_report_brings_are_named(case: Path) -> None:
    Path("mine.toml").write_text(ADDED)
    keep(report("--patterns", "mine.toml"))
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["verify", "report.json"])
    assert shown.exit_code == 0
    assert "read with patterns of mine.toml, as the report asks: look at what they read" in shown.stdout


def test_texts_of_a_report_come_back_as_letters(case: Path) -> None:
    found = copy.deepcopy(report())
    found["loads"][0]["model"] = "\x1b[2J<script>"
    keep(found)
    shown = CliRunner().invoke(app, ["verify", "report.json"])
    assert "\x1b" not in shown.stdout
    assert r"\x1b[2J<script>" in shown.stdout.replace("\n", "")
