"""A query reads the case and nothing else: escapes are refused, endless ones are stopped, and output is inert."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

import forensics
from forensics.cli import app
from forensics.errors import QuestionError
from forensics.ingest import ingest
from forensics.opened import Opened, open_case
from forensics.query import Limits, lock, run_query
from forensics.query_print import print_result

LOG = """\
0.00.100.000 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/=cmd|evil\x1b]0;x\x07.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB
0.00.400.000 I main: model loaded
0.00.000.100 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/b.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  1000.00 MiB
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("case")
    (folder / "server.log").write_text(LOG)
    ingest([str(folder / "server.log")], folder / "it's.case")
    return folder / "it's.case"


@pytest.fixture(scope="module")
def opened(case: Path) -> Opened:
    opened = open_case(case)
    lock(opened.connection)
    return opened


hidden = ["a variable of Python"]
"""What a replacement scan would find by its name."""

ESCAPES = {
    "reads a CSV file": "SELECT * FROM read_csv('/etc/passwd')",
    "reads a file by automatic detection": "SELECT * FROM read_csv_auto('/etc/passwd')",
    "reads a text file": "SELECT * FROM read_text('/etc/passwd')",
    "reads the bytes of a file": "SELECT * FROM read_blob('/etc/passwd')",
    "reads the bytes of the case itself": "SELECT * FROM read_blob('{case}')",
    "reads the case by another door": "SELECT * FROM read_duckdb('{case}')",
    "reads JSON": "SELECT * FROM read_json('/proc/self/environ')",
    "reads Parquet": "SELECT * FROM parquet_scan('/tmp/x.parquet')",
    "names a file as a table": "SELECT * FROM '/etc/passwd'",
    "names a file as a quoted table": 'FROM "/etc/hosts.csv"',
    "lists files": "SELECT * FROM glob('/*')",
    "looks into a file": "SELECT * FROM sniff_csv('/etc/passwd')",
    "reads over the network": "SELECT * FROM 'https://example.org/a.parquet'",
    "reads over the network by a function": "SELECT * FROM read_csv('http://169.254.169.254/latest/meta-data')",
    "reads from object storage": "SELECT * FROM read_parquet('s3://bucket/key')",
    "reads a file in a subquery": "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "reads a file in a CTE": "WITH a AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM a",
    "reads a file in a lateral join": "SELECT * FROM load, LATERAL (SELECT * FROM read_text('/etc/passwd'))",
    "builds a query from text": "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
    "builds a table's name from text": "SELECT * FROM query_table('/etc/passwd')",
    "runs a query from JSON": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "copies to a file": "COPY load TO '{folder}/out.csv'",
    "copies over the case": "COPY (SELECT 1) TO '{case}'",
    "copies over the log of the case": "COPY (SELECT 1) TO '{case}.wal'",
    "copies from a file": "COPY load FROM '/etc/passwd'",
    "exports": "EXPORT DATABASE '{folder}/out'",
    "imports": "IMPORT DATABASE '{folder}/out'",
    "attaches another database": "ATTACH '{folder}/other.duckdb'",
    "attaches in memory": "ATTACH ':memory:' AS other",
    "detaches the case": "DETACH kase",
    "uses another database": "USE kase",
    "installs an extension": "INSTALL httpfs",
    "loads an extension": "LOAD httpfs",
    "loads a library": "LOAD '/tmp/evil.duckdb_extension'",
    "sets an option": "SET threads = 1",
    "opens access again": "SET enable_external_access = true",
    "unlocks the settings": "SET lock_configuration = false",
    "resets an option": "RESET memory_limit",
    "sets a variable": "SET VARIABLE x = 1",
    "runs a pragma": "PRAGMA database_list",
    "sets by a pragma": "PRAGMA threads = 1",
    "calls a function": "CALL pragma_version()",
    "turns logging on": "SELECT * FROM enable_logging()",
    "turns profiling on": "SELECT * FROM enable_profiling()",
    "writes a checkpoint": "CHECKPOINT",
    "writes a checkpoint by a function": "SELECT * FROM force_checkpoint('kase')",
    "creates a table": "CREATE TABLE x AS SELECT 1",
    "creates a macro": "CREATE MACRO f() AS 1",
    "creates a secret": "CREATE SECRET s (TYPE s3)",
    "drops a view": "DROP VIEW loads",
    "inserts": "INSERT INTO measure SELECT * FROM measure",
    "inserts in a CTE": "WITH a AS (INSERT INTO measure SELECT * FROM measure RETURNING 1) SELECT * FROM a",
    "deletes in a CTE": "WITH a AS (DELETE FROM measure RETURNING 1) SELECT * FROM a",
    "updates": "UPDATE load SET model = 'x'",
    "truncates": "TRUNCATE measure",
    "asks twice": "SELECT 1; SELECT 2",
    "hides a second statement in a comment's end": "SELECT 1 /* ; */ ; DROP VIEW loads --",
    "hides a second statement behind a line comment": "SELECT 1 --\n; DROP VIEW loads",
    "hides the statement's kind in a comment": "/* SELECT */ COPY load TO '{folder}/out.csv'",
    "begins a transaction": "BEGIN",
    "commits": "COMMIT",
    "prepares": "PREPARE a AS SELECT 1",
    "executes": "EXECUTE a",
    "explains and runs": "EXPLAIN ANALYZE SELECT 1",
    "reads the environment": "SELECT getenv('HOME')",
    "reads settings": "SELECT current_setting('allowed_paths')",
    "lists settings": "SELECT * FROM duckdb_settings()",
    "lists settings by another name": "SELECT * FROM pg_settings",
    "lists settings by their schema": "SELECT * FROM system.pg_catalog.pg_settings",
    "plans a query that tells of settings": "SELECT json_serialize_plan('SELECT 1', optimize := true)",
    "lists secrets": "SELECT * FROM duckdb_secrets()",
    "looks for a secret": "SELECT * FROM which_secret('s3://x', 's3')",
    "lists files of databases": "SELECT * FROM duckdb_databases()",
    "lists files of databases by a view": "FROM duckdb_databases",
    "lists files of databases by an old view": "SELECT file FROM pragma_database_list",
    "lists files of databases in a summary": "SUMMARIZE duckdb_databases",
    "lists files of databases in a CTE": "WITH a AS (FROM system.main.duckdb_databases) SELECT path FROM a",
    "reads what DuckDB logged": "FROM duckdb_logs",
    "updates extensions": "UPDATE EXTENSIONS",
    "reads Python's variables": "SELECT * FROM hidden",
    "reads memory by its address": "SELECT * FROM arrow_scan(1, 2, 3)",
    "reads objects of Python": "SELECT * FROM pandas_scan(140000000)",
    "calls Python": "SELECT * FROM python_map_function()",
    "writes to a log": "SELECT write_log('x')",
    "sleeps": "SELECT sleep_ms(1000000)",
    "is empty": "  ",
    "is only a comment": "-- nothing",
    "names no table": "no_such_table",
    "is no SQL": "give me everything",
    "nests without end": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_what_is_no_question_to_the_case_is_refused(opened: Opened, case: Path, escape: str) -> None:
    before = sorted((one.name, one.stat().st_mtime_ns) for one in case.parent.iterdir())
    text = escape.replace("{case}", str(case).replace("'", "''")).replace("{folder}", str(case.parent))
    with pytest.raises(QuestionError):
        run_query(opened, text)
    assert sorted((one.name, one.stat().st_mtime_ns) for one in case.parent.iterdir()) == before
    assert len(run_query(opened, "load").rows) == 2


@pytest.mark.parametrize(
    "escape",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "FROM '/etc/passwd'",
        "COPY load TO '/tmp/forensics-escape.csv'",
        "ATTACH '/tmp/forensics-escape.duckdb'",
        "SET lock_configuration = false",
        "SET enable_external_access = true",
        "LOAD '/tmp/evil.duckdb_extension'",
        "SELECT * FROM hidden",
        "UPDATE kase.load SET model = 'x'",
    ],
)
def test_the_lock_alone_holds_without_the_look_at_the_statement(opened: Opened, escape: str) -> None:
    with pytest.raises(duckdb.Error):
        opened.connection.execute(escape).fetchall()


@pytest.mark.parametrize(
    "question",
    [
        "load",
        "loads",
        "FROM loads",
        "SELECT count(*) FROM line;",
        "-- how many?\nSELECT count(*) FROM line -- lines",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "WITH RECURSIVE a AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM a WHERE i < 5) FROM a",
        "DESCRIBE loads",
        "SHOW TABLES",
        "SUMMARIZE load",
        "VALUES (1), (2)",
        "SELECT * FROM range(3)",
        "SELECT unnest([1, 2])",
        "FROM measured_at(0)",
        "SELECT * FROM duckdb_columns() LIMIT 1",
        "SELECT model FROM loads UNION SELECT label FROM loads",
    ],
)
def test_questions_are_answered(opened: Opened, question: str) -> None:
    assert run_query(opened, question).columns


@pytest.mark.parametrize(
    "endless",
    [
        "WITH RECURSIVE a AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM a) SELECT count(*) FROM a",
        "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c WHERE a.range + b.range = c.range",
    ],
    ids=["recursion", "cross join"],
)
def test_what_does_not_end_is_stopped(opened: Opened, endless: str) -> None:
    begun = time.monotonic()
    with pytest.raises(QuestionError, match=r"stopped after 0.5 s|needs more than"):
        run_query(opened, endless, Limits(seconds_s=0.5))
    assert time.monotonic() - begun < 20
    assert run_query(opened, "SELECT 1").rows == ((1,),)


def test_a_query_that_takes_too_much_memory_is_stopped(case: Path) -> None:
    opened = open_case(case)
    limits = Limits(memory_bytes=32 << 20)
    lock(opened.connection, limits)
    with pytest.raises(QuestionError, match="needs more than 32 MiB"):
        run_query(opened, "SELECT list(range) FROM range(100000000)", limits)


@pytest.mark.parametrize(
    "greedy", ["SELECT range(300000000)", "SELECT list_resize([1], 300000000, 1)", "SELECT format('{:>2000000000}', 1)"]
)
def test_one_value_cannot_take_the_memory_that_a_query_may_not(case: Path, greedy: str) -> None:
    begun = time.monotonic()
    printed = CliRunner().invoke(app, ["query", greedy, "--case", str(case), "--memory", "64", "--seconds", "5"])
    assert isinstance(printed.exception, QuestionError)
    assert "needs more than 64 MiB" in str(printed.exception)
    assert time.monotonic() - begun < 20
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_the_library_bounds_a_value_as_the_command_does(case: Path) -> None:
    begun = time.monotonic()
    with forensics.open_case(case) as opened, pytest.raises(QuestionError, match="needs more than 64 MiB"):
        opened.query("SELECT range(300000000)", memory_bytes=64 << 20, seconds_s=5)
    assert time.monotonic() - begun < 20
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_rows_are_capped_with_a_notice(opened: Opened, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_query(opened, "SELECT * FROM range(1000000000)", Limits(rows=3))
    assert (result.rows, result.more) == (((0,), (1,), (2,)), True)
    print_result(result, "csv")
    printed = capsys.readouterr()
    assert printed.out == '"range"\n"0"\n"1"\n"2"\n'
    assert printed.err == "(the first 3 rows; there are more: --rows)\n"


def test_a_result_over_several_loads_says_how_many(case: Path) -> None:
    query = "SELECT load_id, kind, size_bytes FROM vram_ledger ORDER BY size_bytes"
    printed = CliRunner().invoke(app, ["query", query, "--case", str(case)]).stdout.splitlines()
    assert printed[-1] == "(2 loads in this result)"
    one = CliRunner().invoke(app, ["query", query + " LIMIT 1", "--case", str(case)]).stdout
    assert "in this result" not in one


def test_rows_of_more_columns_than_a_screen_holds_are_told_column_by_column(case: Path) -> None:
    wide = "SELECT load_id, number, engine, unit, model, begun_us, end_reason, loading_s, layers, lines FROM loads"
    told = CliRunner(env={"COLUMNS": "60"}).invoke(app, ["query", wide, "--case", str(case)]).stdout.splitlines()
    assert [line.split()[0] for line in told if line.strip()] == [
        *["load_id", "number", "engine", "unit", "model", "begun_us", "end_reason", "loading_s", "layers", "lines"] * 2,
        "(2",
    ]
    assert max(len(line) for line in told) <= 60
    table = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["query", wide, "--case", str(case)]).stdout.splitlines()
    assert table[0].split()[:3] == ["load_id", "number", "engine"]


def test_no_row_is_told_and_a_name_that_is_none_points_to_those_that_are(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    print_result(run_query(opened, "SELECT number FROM loads WHERE number = 9"), "table")
    assert capsys.readouterr().out == "number\n(no rows)\n"
    with pytest.raises(QuestionError, match="`forensics questions` lists what can be asked"):
        run_query(opened, "swaps_and_more")


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("table", r"/m/=cmd|evil\x1b]0;x\x07.gguf"),
        ("json", r"/m/=cmd|evil\\x1b]0;x\\x07.gguf"),
        ("csv", r'"/m/=cmd|evil\x1b]0;x\x07.gguf"'),
        ("md", r"`/m/=cmd\|evil\x1b]0;x\x07.gguf`"),
    ],
)
def test_text_of_a_log_is_shown_and_never_acts(case: Path, output: str, shown: str) -> None:
    query = "SELECT model FROM loads ORDER BY number LIMIT 1"
    printed = CliRunner().invoke(app, ["query", query, "--case", str(case), "--format", output]).stdout
    assert shown in printed
    assert "\x1b" not in printed


def test_formulas_are_text_in_csv_and_numbers_stay_numbers(case: Path) -> None:
    query = "SELECT '=1+1' AS a, '-5' AS b, -5 AS c, '@x' AS \"=d\""
    printed = CliRunner().invoke(app, ["query", query, "--case", str(case), "--format", "csv"]).stdout
    assert printed == '"a","b","c","\'=d"\n"\'=1+1","\'-5","-5","\'@x"\n'


def test_the_shell_answers_until_it_is_left_and_is_as_locked(case: Path) -> None:
    commands = "SELECT count(*) AS n\nFROM loads;\n.schema loads\nCOPY load TO '/tmp/x';\n.quit\nSELECT 5;\n"
    printed = CliRunner().invoke(app, ["shell", "--case", str(case)], input=commands)
    assert printed.stdout.startswith("n\n2\n-- stored\n--\n-- One row a model load")
    assert "only SELECT, WITH, FROM, DESCRIBE and SHOW can be asked; this is COPY" in printed.stderr
    assert "SELECT 5" not in printed.stdout
    assert printed.exit_code == 0
