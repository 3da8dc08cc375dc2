"""Cases on disk: made once, brought up to date, never half written, and never somebody else's."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from journal_writer import journal

from forensics.bounds import Bounds
from forensics.case import read_evidence
from forensics.casefile import CASE, attach_case, made_from, read_seal
from forensics.casewrite import write_case
from forensics.catalogue import load_catalogue
from forensics.errors import CaseError, UsageError
from forensics.ingest import ingest
from forensics.opened import open_case, open_inputs
from forensics.question import load_questions
from forensics.records import Options
from forensics.schema import TABLES

LOG = """\
0.00.100.000 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/a.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB
0.00.400.000 I main: model loaded
"""

MORE = """\
0.00.000.100 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/b.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  1000.00 MiB
"""


def tables(case: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, in order, those that keep what questions build on too."""
    with duckdb.connect() as connection:
        assert attach_case(connection, case, load_questions())
        sql = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL"
        names = [str(row[0]) for row in connection.execute(sql, [CASE]).fetchall()]
        assert set(TABLES) < set(names)
        return {name: connection.execute(f'FROM {CASE}."{name}"').fetchall() for name in names}


def amounts(case: Path) -> list[tuple[object, ...]]:
    """Models and what they hold, as a question finds it in a case."""
    return (
        open_case(case)
        .connection.execute(
            "SELECT model, kind, size_bytes FROM vram_ledger JOIN loads USING (load_id) ORDER BY number"
        )
        .fetchall()
    )


A = ("/m/a.gguf", "weights", 4293971149)
B = ("/m/b.gguf", "weights", 1048576000)


def test_a_case_answers_as_its_inputs_do(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG)
    ingest([str(log)], tmp_path / "c.case")
    sql = "FROM vram_ledger"
    assert (
        open_case(tmp_path / "c.case").connection.execute(sql).fetchall()
        == open_inputs([str(log)]).connection.execute(sql).fetchall()
        != []
    )
    assert amounts(tmp_path / "c.case") == [A]


def test_the_same_inputs_give_the_same_tables(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG + MORE)
    found = []
    for seed in ("1", "2"):
        case = tmp_path / f"{seed}.case"
        program = (
            "from pathlib import Path; from forensics.ingest import ingest; "
            f"ingest(['server.log'], Path({str(case)!r}))"
        )
        subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": seed}, check=True
        )
        found.append(tables(case))
    assert found[0] == found[1]


def test_reading_unchanged_inputs_again_leaves_the_file_alone(tmp_path: Path) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    log.write_text(LOG)
    assert ingest([str(log)], case).written
    before = case.stat()
    os.utime(log, (1, 1))  # a new time of the same bytes is no change
    assert not ingest([str(log)], case).written
    assert not ingest([], case).written
    after = case.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)


def test_a_source_that_grew_is_read_in_place_of_its_old_self(tmp_path: Path) -> None:
    log, case, fresh = tmp_path / "server.log", tmp_path / "c.case", tmp_path / "fresh.case"
    log.write_text(LOG)
    ingest([str(log)], case)
    log.write_text(LOG + MORE)
    found = ingest([], case)
    assert [(one.what, one.words) for one in found.changes] == [("grown", f"grew by {len(MORE)} bytes")]
    assert amounts(case) == [A, B]
    ingest([str(log)], fresh)
    assert tables(case) == tables(fresh)


def test_inputs_added_later_are_owned_together_with_the_first(tmp_path: Path) -> None:
    one, two, case, fresh = (tmp_path / name for name in ("one.log", "two.log", "c.case", "fresh.case"))
    one.write_text(LOG)
    two.write_text(MORE)
    ingest([str(one)], case)
    ingest([str(two)], case)
    ingest([str(one), str(two)], fresh)
    assert tables(case) == tables(fresh)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(LOG[:100], "was truncated from 211 to 100 bytes", id="truncated"),
        pytest.param("x" * 500, "was replaced: it begins with other bytes than it did", id="replaced"),
        pytest.param(None, "cannot be read", id="gone"),
    ],
)
def test_bytes_that_are_lost_are_told_and_the_old_case_stays(tmp_path: Path, content: str | None, words: str) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    log.write_text(LOG)
    ingest([str(log)], case)
    before = case.read_bytes()
    log.unlink()
    if content is not None:
        log.write_text(content)
    with pytest.raises(CaseError, match=r"left as it was.*" + words):
        ingest([], case)
    assert case.read_bytes() == before


def test_told_to_forget_a_case_goes_on_without_lost_bytes(tmp_path: Path) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    log.write_text(LOG)
    ingest([str(log)], case)
    log.write_text(MORE)
    assert [one.what for one in ingest([], case, forget=True).changes] == ["lost"]
    assert amounts(case) == [B]


@pytest.mark.parametrize("pack", [False, True], ids=["as it is", "compressed"])
def test_a_rotated_log_is_found_beside_the_new_one(tmp_path: Path, pack: bool) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    log.write_text(LOG)
    ingest([str(log)], case)
    if pack:
        (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(LOG.encode()))
    else:
        log.rename(tmp_path / "server.log.1")
    log.write_text(MORE)
    found = ingest([], case)
    name = tmp_path / ("server.log.1.gz" if pack else "server.log.1")
    assert [one.words for one in found.changes if one.what == "moved"] == [
        f"was rotated or renamed: its bytes are in {name}"
    ]
    assert amounts(case) == [A, B]
    assert made_from(case).inputs == (str(name), str(log))


def written(path: Path, *lines: str) -> None:
    """A native journal with these lines of one process."""
    fields = [b"_PID=7", b"_SYSTEMD_UNIT=llm.service", b"_SYSTEMD_INVOCATION_ID=" + b"7" * 32, b"_TRANSPORT=stdout"]
    entries = [
        (number, number * 1_000_000, [b"MESSAGE=" + line.encode(), *fields]) for number, line in enumerate(lines, 1)
    ]
    path.write_bytes(journal(entries, state=1))


def test_a_native_journal_grows_in_place_and_is_known_by_its_entries(tmp_path: Path) -> None:
    log, case = tmp_path / "system.journal", tmp_path / "c.case"
    lines = LOG.splitlines()
    written(log, *lines)
    ingest([str(log)], case)
    written(log, *lines, "5.00.000.000 I srv    load_model: more")
    assert [one.what for one in ingest([], case).changes] == ["grown"]
    assert amounts(case) == [A]
    written(log, lines[0])
    with pytest.raises(CaseError, match="has lost 3 of the lines that were read from it: journals are vacuumed"):
        ingest([], case)


def test_what_is_inside_of_an_unchanged_archive_and_journals_that_are_passed_over_whole_are_no_change(
    tmp_path: Path,
) -> None:
    case, evidence = tmp_path / "c.case", tmp_path / "evidence"
    evidence.mkdir()
    (tmp_path / "server.log").write_text(LOG)
    with tarfile.open(evidence / "logs.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "server.log", "server.log")
    (evidence / "note.md").write_text(f"# Crash\n\n```\n{MORE}```\n")
    written(evidence / "system.journal", *LOG.splitlines())
    first = ingest([str(evidence)], case, bounds=Bounds.of(since_us=60_000_000))
    assert first.written
    again = ingest([], case)
    assert (again.written, again.sources) == (False, first.sources)
    with (evidence / "note.md").open("a") as note:
        note.write("It was late.\n")
    assert [one.what for one in ingest([], case).changes] == ["grown"]


def test_a_log_and_its_copy_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG)
    (tmp_path / "copy.log").write_text(LOG)
    opened = open_inputs([str(tmp_path), str(tmp_path / "server.log")])
    assert opened.connection.execute("SELECT count(*) FROM loads").fetchall() == [(1,)]
    assert opened.connection.execute("SELECT source_id, what FROM problem").fetchall() == [
        (str(tmp_path / "server.log"), f"it has the same bytes as {tmp_path / 'copy.log'}: read once")
    ]


def test_what_is_lost_at_all_is_stored_as_met_once(tmp_path: Path) -> None:
    log, case = tmp_path / "app.log", tmp_path / "c.case"
    log.write_text("".join(f"2026-11-30T00:00:00.00000000{at}Z stdout {'PPF'[at]} {'x' * 30}\n" for at in range(3)))
    write_case(case, read_evidence([str(log)], load_catalogue(), options=Options(line_bytes=80)))
    assert open_case(case).connection.execute("SELECT what, count FROM problem").fetchall() == [
        ("joined lines were cut at 80 bytes; 10 bytes are missing", 1)
    ]


def test_a_case_in_the_folder_of_its_logs_is_no_source_of_itself(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG)
    case = tmp_path / "c.case"
    assert ingest([str(tmp_path)], case).sources == 1
    assert not ingest([], case).written


# -- whose file it is -------------------------------------------------------------------------------------------------


def foreign(path: Path) -> None:
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE load AS SELECT 1 AS load_id")


def test_a_database_that_somebody_else_wrote_is_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "theirs.duckdb"
    foreign(path)
    with pytest.raises(CaseError, match="no case that forensics wrote, so it is not opened"):
        open_case(path)
    with pytest.raises(CaseError, match="no case that forensics wrote"):
        ingest([str(tmp_path / "x.log")], path)


def test_a_foreign_database_with_our_seal_is_turned_away_by_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "theirs.duckdb"
    foreign(path)
    from forensics.casewrite import _seal  # noqa: PLC0415  # what a forger would do

    _seal(path)
    with pytest.raises(CaseError, match="its tables are not those of a case: about, allocation_failed"):
        open_case(path)


def test_a_case_that_was_changed_or_torn_is_turned_away_before_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG)
    case = tmp_path / "c.case"
    ingest([str(tmp_path / "server.log")], case)
    whole = case.read_bytes()
    case.write_bytes(whole[:5000] + b"!" + whole[5001:])
    with pytest.raises(CaseError, match="damaged or was changed"):
        read_seal(case)
    case.write_bytes(whole[:-1])
    with pytest.raises(CaseError, match="no case that forensics wrote"):
        read_seal(case)
    case.write_bytes(whole)
    (tmp_path / "c.case.wal").write_bytes(b"")
    with pytest.raises(CaseError, match="another program began to change this case"):
        read_seal(case)


def test_a_case_of_another_version_is_named_and_read_again_by_ingest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server.log").write_text(LOG)
    case = tmp_path / "c.case"
    monkeypatch.setattr("forensics.casewrite.SCHEMA_VERSION", "01234567")
    ingest([str(tmp_path / "server.log")], case)
    monkeypatch.undo()
    with pytest.raises(
        CaseError, match=r"written by another version of forensics \(tables 01234567, this one has \w+\)"
    ):
        open_case(case)
    assert ingest([], case).written
    assert amounts(case) == [A]


def test_standard_input_makes_no_case(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="save standard input to a file"):
        ingest(["-"], tmp_path / "c.case")


# -- killed at any point ----------------------------------------------------------------------------------------------

KILLS = int(os.environ.get("FORENSICS_KILLS", "10"))
TURNS = max(KILLS // 4, 5)
"""How many times the log of the proof repeats its requests: an ingest that is killed often is to be a long one."""

RECORDED = Path(__file__).parents[1] / "fixtures" / "llama-mtp-vision-two-cards-plain" / "server.log"

INGESTS = """
import os, signal, sys, time
from pathlib import Path
from forensics.ingest import ingest

for line in sys.stdin:
    seconds, log, path = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        ingest([log], Path(path))
        os._exit(0)
    if float(seconds):
        time.sleep(float(seconds))
        os.kill(child, signal.SIGKILL)  # it is not waited for yet, so nobody else can have its number
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Ingests one after the other, each in a process of its own that is killed, without its time to import."""


def of_turns(recorded: str, turns: int) -> str:
    """A recorded log whose requests come again and again, on a clock that goes on."""
    lines = recorded.splitlines(keepends=True)
    begin = next(number for number, line in enumerate(lines) if "all slots are idle" in line)
    end = next(number for number, line in enumerate(lines) if "cleaning up before exit" in line)
    out = lines[:begin]
    for turn in range(turns):
        minute = turn + 1  # the requests take 13 s
        out += [f"{minute}{line[line.index('.') :]}" if line[0].isdigit() else line for line in lines[begin:end]]
    return "".join(out)


def test_kill_9_leaves_the_old_case_or_the_new_one_and_the_next_ingest_ends_as_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    """Killed at random moments of an ingest, every other one of which has an old case to bring up to date.

    FORENSICS_KILLS=200 pytest -n0 -s tests/test_cases_on_disk.py -k kill_9
    """
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    whole = of_turns(RECORDED.read_text(), TURNS)
    log.write_text(whole[: whole.index("\n", len(whole) // 2) + 1])
    ingest([str(log)], case)
    old, start = tables(case), case.read_bytes()
    log.write_text(whole + LOG)
    ingest([str(log)], tmp_path / "undisturbed.case")
    new = tables(tmp_path / "undisturbed.case")
    assert [len(found["load"]) for found in (old, new)] == [1, 2]
    pipe = subprocess.PIPE
    met: Counter[str] = Counter()
    with subprocess.Popen([sys.executable, "-c", INGESTS], stdin=pipe, stdout=pipe, text=True) as ingests:
        assert ingests.stdin is not None
        assert ingests.stdout is not None

        def run(kill_after_s: float) -> tuple[int, float]:
            begun = time.monotonic()
            print(kill_after_s, log, case, sep="\t", file=ingests.stdin, flush=True)
            assert ingests.stdout is not None
            return int(ingests.stdout.readline()), time.monotonic() - begun

        for _ in range(2):  # the first one waits for the imports
            case.write_bytes(start)
            code, whole_s = run(0)
            assert code == 0
        assert tables(case) == new
        dice = random.Random(1)  # noqa: S311  # any moments will do, the same ones every time
        while met["killed"] < KILLS:
            if met["killed"] % 2:
                case.write_bytes(start)
            else:
                case.unlink()
            had = case.exists()
            code, _ = run(dice.uniform(0.001, whole_s))
            if not code:  # it was over before
                met["over before"] += 1
                assert met["over before"] < 2 * KILLS
                continue
            assert code == -signal.SIGKILL
            met["killed"] += 1
            met["files left beside"] += len(list(tmp_path.glob(".c.case.*")))
            if case.exists():
                found = tables(case)
                assert found == new or (had and found == old)
                met["the new case" if found == new else "the old case"] += 1
            else:
                assert not had
                met["no case yet"] += 1
            ingest([str(log)], case)
            assert tables(case) == new
            assert sorted(one.name for one in tmp_path.iterdir()) == ["c.case", "server.log", "undisturbed.case"]
        ingests.stdin.close()
    rows = sum(map(len, new.values()))
    print(f"\nan ingest of {len(whole)} bytes, {whole_s:.1f} s, {rows} rows in {len(new)} tables: {dict(met)}")


def test_what_a_killed_ingest_had_no_room_for_in_memory_is_no_input_and_goes(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG)
    case = tmp_path / "a.case"
    left = tmp_path / ".a.case.ingest-999999.tmp"
    left.mkdir()
    (left / "duckdb_temp_storage-0.tmp").write_text(MORE)

    found = ingest([str(tmp_path)], case)

    assert (found.sources, found.loads) == (1, 1)
    assert not left.exists()


def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "server.log").write_text(LOG)
    ingest([str(tmp_path / "server.log")], tmp_path / "a.case")
    made = (one for one in (tmp_path / "cache" / "forensics").iterdir() if not one.name.startswith("whole-"))
    before = {one: one.read_bytes() for one in made}
    for one, whole in before.items():
        one.write_bytes(whole[:5000] + b"damage" + whole[5006:])
    ingest([str(tmp_path / "server.log")], tmp_path / "b.case")

    assert len(before) == 2
    assert tables(tmp_path / "a.case") == tables(tmp_path / "b.case")
    assert all(one.read_bytes()[5000:5006] != b"damage" for one in before)


def test_without_a_cache_a_case_is_made_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no folder"))
    (tmp_path / "server.log").write_text(LOG)
    ingest([str(tmp_path / "server.log")], tmp_path / "a.case")

    assert amounts(tmp_path / "a.case") == [A]
