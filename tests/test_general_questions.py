"""The questions that any case can be asked: each with a log of a few lines and the rows that must come out."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from opened import BEGIN, CARDS, cards_csv, holders_csv, journal, opened, rows

MIB = 1 << 20
BUS = "0000:01:00.0"

FIRST = f"""
build_info: b8700-74b8fc17f
srv    load_model: loading model '/m/a.gguf'
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) ({BUS}) - 23000 MiB free
load_tensors:        CUDA0 model buffer size =  4000.00 MiB
load_tensors:   CPU_Mapped model buffer size =   100.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   200.00 MiB
llama_kv_cache: size =  200.00 MiB (  4096 cells,  32 layers,  1/1 seqs), K (f16):  100.00 MiB, V (f16):  100.00 MiB
"""

TIMED = """\
slot launch_slot_: id  0 | task 1 | processing task
slot print_timing: id  0 | task 1 | \
prompt eval time =     100.00 ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)
       eval time =    1000.00 ms /    40 tokens (   25.00 ms per token,    40.00 tokens per second)
slot      release: id  0 | task 1 | stop processing: n_tokens = 89, truncated = 0
"""

SECOND = """
build_info: b8710-74b8fc17f
srv    load_model: loading model '/m/b.gguf'
load_tensors:        CUDA0 model buffer size =  1000.00 MiB
main: model loaded
"""


def at(seconds: float) -> int:
    """A moment of the logs, µs UTC."""
    return int(BEGIN.timestamp() * 1_000_000) + round(seconds * 1_000_000)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Two servers after each other in one unit, on a card that is sampled each second."""
    held = [(second, 0, 100, 4500 if second < 20 else 4600) for second in range(5, 31)]
    then = [(second, 0, 200, 1300) for second in range(45, 60)]
    used = [(second, 0, 4510 if second < 31 else 10 if second < 45 else 1310) for second in range(60)]
    return opened(
        tmp_path_factory.mktemp("case"),
        server_json=journal(100, 1, FIRST)
        + journal(100, 5, "main: model loaded")
        + journal(100, 10, TIMED)
        + journal(100, 30, "srv    operator(): operator(): cleaning up before exit...")
        + journal(200, 40, SECOND),
        apps_csv=holders_csv(*held, *then),
        gpu_csv=cards_csv(*used),
    )


def test_it_is_the_case_that_the_tests_below_are_about(case: duckdb.DuckDBPyConnection) -> None:
    assert rows(case, "SELECT number, model, pid, unit, end_reason FROM loads") == [
        (1, "/m/a.gguf", 100, "llm.service", "exit"),
        (2, "/m/b.gguf", 200, "llm.service", "log_ends"),
    ]


A_WEIGHTS, A_CACHE, B_WEIGHTS = 4000 * MIB, 200 * MIB, 1000 * MIB


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param(
            "SELECT number, phase, age_s, certain FROM load_at('2026-09-18 08:00:03')",
            [(1, "allocate", 1.999, True)],
            id="load_at: while it loads",
        ),
        pytest.param(
            "SELECT number, phase, age_s, certain FROM load_at('2026-09-18 10:00:12+02')",
            [(1, "serve", 10.999, True)],
            id="load_at: a moment with a zone",
        ),
        pytest.param(
            "SELECT number FROM load_at('2026-09-18 08:00:35')", [], id="load_at: between two lives there is none"
        ),
        pytest.param(
            "SELECT number, certain FROM load_at(TIMESTAMPTZ '2026-09-18 08:00:59+00')",
            [(2, False)],
            id="load_at: after the last line nothing is certain",
        ),
        pytest.param(
            "SELECT gpu_index, pid, used_bytes // 1048576, number FROM holders_at('2026-09-18 08:00:25') "
            "JOIN card USING (card_id) JOIN load USING (load_id)",
            [(0, 100, 4600, 1)],
            id="holders_at",
        ),
        pytest.param(
            "SELECT gpu_index, used_bytes // 1048576, held_bytes // 1048576, rest_bytes // 1048576 "
            "FROM cards_at('2026-09-18 08:00:12')",
            [(0, 4510, 4500, 10)],
            id="cards_at",
        ),
        pytest.param(
            "SELECT device, place, kind, size_bytes FROM ledger_at('2026-09-18 08:00:12') ORDER BY size_bytes",
            [
                ("CPU_Mapped", "host", "weights", 100 * MIB),
                ("CUDA0", "card", "kv_cache", A_CACHE),
                ("CUDA0", "card", "weights", A_WEIGHTS),
            ],
            id="ledger_at",
        ),
        pytest.param(
            "SELECT kind, size_bytes FROM ledger_at('2026-09-18 08:00:01.0045') ORDER BY ALL",
            [("weights", 100 * MIB), ("weights", A_WEIGHTS)],
            id="ledger_at: before the cache was made",
        ),
        pytest.param(
            "SELECT event, phase FROM lines_of((SELECT load_id FROM load WHERE number = 2))",
            [("load_began", "allocate"), ("buffer_allocated", "allocate"), ("load_ready", "serve")],
            id="lines_of",
        ),
        pytest.param(
            "SELECT number, event FROM lines_between('2026-09-18 08:00:29', '2026-09-18 08:00:40')",
            [(1, "load_ended"), (None, "version_reported")],
            id="lines_between: each with its owner or none",
        ),
        pytest.param(
            "SELECT scope, text FROM evidence((SELECT begun_line FROM load WHERE number = 2))",
            [("exact", "srv    load_model: loading model '/m/b.gguf'")],
            id="evidence: a line",
        ),
        pytest.param(
            "SELECT rule, text FROM evidence((SELECT min(line_id) FROM holder_sample WHERE pid = 200))",
            [("telemetry", f"pid 200 (/usr/local/bin/llama-server) holds 1300 MiB on {CARDS[0]}")],
            id="evidence: telemetry",
        ),
        pytest.param(
            "SELECT program, version, unit, pid, lived_s, loads, joined_by, join_scope FROM processes",
            [
                ("llama.cpp", "8700", "llm.service", 100, None, 1, "trusted process id", "exact"),
                ("llama.cpp", "8710", "llm.service", 200, None, 1, "trusted process id", "exact"),
            ],
            id="processes",
        ),
        pytest.param(
            "SELECT logged, place, gpu_index, pid, joined_by FROM devices ORDER BY pid NULLS LAST",
            [
                ("CUDA0", "card", 0, 100, "only card that this process holds"),
                ("CUDA0", "card", 0, 200, "only card that this process holds"),
                ("CPU_Mapped", "host", None, None, None),
            ],
            id="devices",
        ),
        pytest.param(
            "SELECT number, phase, lasted_s FROM phases",
            [(1, "allocate", 3.999), (1, "serve", 25.0), (1, "end", None), (2, "allocate", 0.002), (2, "serve", None)],
            id="phases",
        ),
        pytest.param(
            "SELECT model, loads, ready, median_s FROM loading_times",
            [("/m/a.gguf", 1, 1, 3.999), ("/m/b.gguf", 1, 1, 0.002)],
            id="loading_times",
        ),
        pytest.param(
            "SELECT begun_us, before_ended_us, down_s, end_reason, same_boot FROM restarts",
            [(at(40), None, None, "exit", True)],
            id="restarts: the end of the first was not seen",
        ),
        pytest.param(
            "SELECT requests, prompt_per_s, decode_tokens, decode_per_s FROM throughput",
            [(1, 500.0, 40, 40.0)],
            id="throughput",
        ),
        pytest.param(
            "SELECT number, launched, released, cancelled, timed, served, first_us FROM requests_per_load",
            [(1, 1, 1, 0, 1, 0, at(10))],
            id="requests_per_load",
        ),
        pytest.param(
            "SELECT part, cells, layers, k_type, size_bytes, cell_bytes FROM cache_shapes",
            [("target", 4096, 32, "f16", A_CACHE, 51200.0)],
            id="cache_shapes",
        ),
        pytest.param(
            "SELECT version, first_us, processes, loads FROM version_history",
            [("8700", at(1), 1, 1), ("8710", at(40), 1, 1)],
            id="version_history",
        ),
        pytest.param(
            "SELECT samples, least_bytes // 1048576, most_bytes // 1048576, most_us, least_free_bytes // 1048576 "
            "FROM card_totals",
            [(60, 10, 4510, at(0), 19617)],
            id="card_totals",
        ),
        pytest.param(
            "SELECT count(*), bool_and(holds), max(abs(rest_bytes)) FROM card_identity",
            [(60, True, 0)],
            id="card_identity",
        ),
        pytest.param(
            "SELECT pid, at_us, step_bytes // 1048576, number FROM holder_steps LEFT JOIN load USING (load_id) "
            "ORDER BY at_us",
            [(100, at(5), 4500, 1), (100, at(20), 100, 1), (200, at(45), 1300, 2)],
            id="holder_steps",
        ),
        pytest.param(
            "SELECT number, devices, measured_bytes - attributed_bytes - unexplained_bytes, low_bytes < high_bytes "
            "FROM unexplained_by_load ORDER BY number",
            [(1, 1, 0, True), (2, 1, 0, True)],
            id="unexplained_by_load: exactly",
        ),
        pytest.param(
            "SELECT model, end_reason, loads, ready FROM end_reasons",
            [("/m/a.gguf", "exit", 1, 1), ("/m/b.gguf", "log_ends", 1, 1)],
            id="end_reasons",
        ),
        pytest.param("FROM load_overlaps", [], id="load_overlaps: one had begun to go before the other came"),
        pytest.param(
            "SELECT number, event, lines, exact, inferred FROM lines_by_load WHERE number = 2",
            [(2, "buffer_allocated", 1, 1, 0), (2, "load_began", 1, 1, 0), (2, "load_ready", 1, 1, 0)],
            id="lines_by_load",
        ),
        pytest.param(
            "SELECT device, place, kind, size_bytes FROM host_memory",
            [("CPU_Mapped", "host", "weights", 100 * MIB)],
            id="host_memory",
        ),
        pytest.param(
            "SELECT number, samples, peak_bytes // 1048576, peak_us FROM load_peaks",
            [(1, 26, 4600, at(20)), (2, 15, 1300, at(45))],
            id="load_peaks",
        ),
        pytest.param("FROM sample_gaps", [], id="sample_gaps: none"),
        pytest.param(
            "SELECT program, pattern, lines, loads FROM patterns_met WHERE pattern LIKE 'weights%'",
            [("llama.cpp", "weights_buffer", 2, 2), ("llama.cpp", "weights_mapped", 1, 1)],
            id="patterns_met",
        ),
        pytest.param(
            "SELECT device, description, pci_bus_id, free_bytes // 1048576 FROM devices_seen",
            [("CUDA0", "NVIDIA GeForce RTX 3090", BUS, 23000)],
            id="devices_seen",
        ),
        pytest.param(
            "SELECT records, read_lines, sized, sized_read, sized_ratio, ambiguous, orphans FROM coverage",
            [(17, 17, 6, 6, 1.0, 0, 0)],
            id="coverage",
        ),
        pytest.param(
            "SELECT format, records, read_lines, loads, problems FROM sources",
            [("nvidia-smi-csv", 41, 0, 0, 0), ("nvidia-smi-csv", 60, 0, 0, 0), ("journal-json", 17, 17, 2, 0)],
            id="sources",
        ),
    ],
)
def test_a_question_about_two_servers_after_each_other(
    case: duckdb.DuckDBPyConnection, question: str, expected: list[tuple[object, ...]]
) -> None:
    assert rows(case, question) == expected


def test_a_moment_is_measured_as_the_samples_say(case: duckdb.DuckDBPyConnection) -> None:
    for seconds, expected in {
        4.5: [],  # it lives, and nothing was sampled yet
        12.3: [(1, 4500, at(12), 4500, "process", "trusted process id; only card that this process holds", "inferred")],
        25.0: [(1, 4600, at(25), 4500, "process", "trusted process id; only card that this process holds", "inferred")],
        59.9: [(2, 1300, at(59), 1300, "process", "trusted process id; only card that this process holds", "inferred")],
    }.items():
        assert (
            case.execute(
                "SELECT number, measured_bytes // 1048576, at_us, ready_bytes // 1048576, measured_by, "
                "measured.joined_by, join_scope FROM measured_at(?) AS measured JOIN load USING (load_id) "
                "WHERE measured_by = 'process' ORDER BY number DESC LIMIT 1",
                [at(seconds)],
            ).fetchall()
            == expected
        )


def test_without_samples_of_processes_a_moment_is_the_cards_use_less_what_it_had_before(tmp_path: Path) -> None:
    case = opened(
        tmp_path,
        server_json=journal(100, 10, FIRST) + journal(100, 15, "main: model loaded"),
        gpu_csv=cards_csv(*[(second, 0, 300 if second < 11 else 4900) for second in range(30)]),
    )
    sql = "SELECT measured_bytes // 1048576, measured_by, ready_bytes FROM measured_at(?)"
    assert case.execute(sql, [at(20)]).fetchall() == [(4600, "card_less_baseline", None)]
    assert case.execute(sql, [at(5)]).fetchall() == []
    assert case.execute(sql, [at(200)]).fetchall() == []


UNTAGGED = """
srv    load_model: loading model '/m/a.gguf'
srv    load_model: loading model '/m/b.gguf'
load_tensors:        CUDA0 model buffer size =  1000.00 MiB
"""


def test_lines_that_several_loads_could_have_written_name_them(tmp_path: Path) -> None:
    case = opened(tmp_path, server_log=UNTAGGED)
    ((candidates, loads, reason, text),) = rows(case, "SELECT candidates, loads, reason, text FROM ambiguous_lines")
    assert (candidates, reason) == (2, "several could have written it, and none says which")
    assert text == "load_tensors:        CUDA0 model buffer size =  1000.00 MiB"
    assert [(one,) for one in loads.split()] == rows(case, "SELECT load_id FROM loads ORDER BY number")
    assert rows(case, "SELECT * FROM orphans") == []


def test_lines_without_an_owner_and_lines_that_no_pattern_reads_are_listed(tmp_path: Path) -> None:
    lines = """
    srv   prompt_save:  - saving prompt with length 189, total state size = 156.649 MiB (draft: 0.000 MiB)
    arena 1 of size 12.5 MiB
    arena 2 of size 13.5 MiB
    """
    case = opened(tmp_path, server_log="\n".join(one.strip() for one in lines.splitlines()))
    assert rows(case, "SELECT event, reason FROM orphans") == [
        ("prompt_saved", "only writer of its source; before any load")
    ]
    assert rows(case, "SELECT template, lines, sources, example FROM unread_templates") == [
        ("arena # of size #.# MiB", 2, 1, "arena 1 of size 12.5 MiB")
    ]
    assert rows(case, "SELECT sized, sized_read, missed, orphans FROM coverage") == [(3, 1, 2, 1)]
    assert rows(case, "SELECT rule FROM evidence((SELECT line_id FROM unread_templates))") == [("no pattern reads it",)]


FORGED = """
0.00.100.000 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/a.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB
0.00.400.000 I main: model loaded
load_tensors:        CUDA0 model buffer size =  9999.00 MiB
0.00.500.000 I load_tensors:        CUDA0 model buffer size =  8888.00 MiB
"""


def test_what_is_suspected_or_only_claimed_is_shown_and_not_counted(tmp_path: Path) -> None:
    case = opened(tmp_path, server_log=FORGED)
    assert rows(case, "SELECT reason, text FROM suspects") == [
        (
            "without the prefix that its writer's lines have",
            "load_tensors:        CUDA0 model buffer size =  9999.00 MiB",
        )
    ]
    assert rows(case, "SELECT size_bytes // 1048576, mark, why FROM not_counted") == [
        (8888, "claimed", "printed in the phase serve: shown, not counted")
    ]


def test_loads_that_lived_at_the_same_time_are_paired(tmp_path: Path) -> None:
    case = opened(
        tmp_path,
        one_json=journal(100, 1, FIRST, unit="one.service"),
        two_json=journal(200, 5, SECOND, unit="two.service"),
    )
    assert rows(
        case,
        "SELECT one.model, other.model, since_us, until_us, same_process FROM load_overlaps AS pair "
        "JOIN load AS one USING (load_id) JOIN load AS other ON other.load_id = pair.other_id",
    ) == [("/m/a.gguf", "/m/b.gguf", at(5.001), None, False)]


def test_a_hole_in_the_samples_is_told(tmp_path: Path) -> None:
    seconds = [*range(10), *range(60, 70)]
    case = opened(tmp_path, gpu_csv=cards_csv(*[(second, 0, 100) for second in seconds]))
    assert rows(case, "SELECT since_us, until_us, gap_s, usual_s FROM sample_gaps") == [(at(9), at(60), 51.0, 1.0)]


def test_settings_of_a_load_are_those_in_effect(tmp_path: Path) -> None:
    case = opened(
        tmp_path,
        server_log="INFO 12-06 14:55:15 [arg_utils.py:1]\n"
        "(APIServer pid=1) INFO 12-06 14:55:15 [utils.py:233] non-default args: "
        "{'model': 'm', 'gpu_memory_utilization': 0.5}\n"
        "(EngineCore_DP0 pid=5) INFO 12-06 14:55:16 [gpu_model_runner.py:1] Starting to load model m...\n",
    )
    found = rows(case, "SELECT s.name, s.value FROM load, LATERAL (FROM settings_of(load.load_id)) AS s ORDER BY ALL")
    assert ("gpu_memory_utilization", "0.5") in found


@pytest.mark.parametrize(
    ("log", "name", "value"),
    [
        (
            (
                'time=2026-08-01T07:02:26.918Z level=INFO source=llama_server.go:611 msg="starting llama-server" '
                'cmd="/usr/lib/ollama/llama-server --model /m/blobs/sha256-a1a1 --port 42787 -c 4096 -np 1 -c 8192"\n'
            ),
            "-c",
            "8192",
        ),
        (
            (
                "INFO 12-06 14:55:15 [arg_utils.py:1]\n"
                "(APIServer pid=1) INFO 12-06 14:55:15 [utils.py:233] non-default args: "
                "{'model': 'm', 'speculative_config': {'draft': {'depth': 3}, 'model': 'small'}, 'seed': 7}\n"
                "(EngineCore_DP0 pid=5) INFO 12-06 14:55:16 [gpu_model_runner.py:1] Starting to load model m...\n"
            ),
            "model",
            "m",
        ),
    ],
    ids=["a flag that is given twice: its last value", "a name inside another's value: its own"],
)
def test_one_value_of_a_setting_is_in_effect(tmp_path: Path, log: str, name: str, value: str) -> None:
    case = opened(tmp_path, server_log=log)
    found = case.execute("SELECT value FROM configuration WHERE name = ?", [name]).fetchall()
    assert found == [(value,)]


def test_what_the_service_manager_says_is_a_history(tmp_path: Path) -> None:
    manager = {"_PID": "1", "_COMM": "systemd", "_TRANSPORT": "journal", "SYSLOG_IDENTIFIER": "systemd"}
    case = opened(
        tmp_path,
        server_json=journal(100, 1, FIRST)
        + journal(
            1, 30, "llm.service: Deactivated successfully.", UNIT="llm.service", INVOCATION_ID=f"{100:032x}", **manager
        )
        + journal(200, 40, SECOND),
    )
    assert rows(case, "SELECT time_us, what, unit FROM service_history") == [(at(30), "stopped", "llm.service")]
    assert rows(case, "SELECT before_ended_us, down_s, end_reason FROM restarts") == [(at(30), 10.0, "exit")]


TOLD = """
0.00.100.000 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/a.gguf'
0.00.250.000 I srv    load_model: [mtmd] estimated worst-case memory usage of mmproj is 669.15 MiB (took 15.26 ms)
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB
0.00.400.000 I main: model loaded
5.15.180.000 I ~llama_context:      CUDA0 compute buffer size is   6.5176 MiB, matches expectation of   6.5176 MiB
"""


def test_forecasts_and_releases_stand_for_themselves(tmp_path: Path) -> None:
    case = opened(tmp_path, server_log=TOLD)
    assert rows(case, "SELECT size_bytes, fits, phase FROM forecasts") == [(701654630, None, "allocate")]
    assert rows(case, "SELECT device, kind, size_bytes FROM releases") == [("CUDA0", "compute", 6834199)]


def test_what_a_supervisor_decides_is_listed_in_order(tmp_path: Path) -> None:
    line = "[DEBUG] group: starting swap for model coder, evicting [qwen27]"
    case = opened(tmp_path, swap_log=f"llama-swap listening on http://:8080\n{line}\n")
    assert rows(case, "SELECT what, model, victim FROM decisions") == [("evict", "coder", "qwen27")]


def test_problems_are_listed_worst_first(tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b\x08\x00 not gzip")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    case = opened(tmp_path, server_log=TOLD)
    severities = [row[0] for row in rows(case, "SELECT severity FROM problems")]
    assert severities == sorted(severities, key=["error", "loss", "note"].index)
    assert {"error", "loss"} <= set(severities)
