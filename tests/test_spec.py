"""Whether a load speculates: from its own lines, with the counts summed, the arithmetic checked, and the rest named."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import case
from asking_loads import FIXTURES, asked, case_of, case_text, screen

from forensics.answer import Ask, Question, answer_json
from forensics.ask_spec import spec
from forensics.ask_validity import validity
from forensics.question import check_header, load_questions
from forensics.spec_document import WITH_BONUS

BOTH_TRAPS = pytest.mark.parametrize(
    ("folder", "prod", "plain"),
    [
        ("spec-refutation-router", "prod", "plain"),
        ("spec-refutation-journal", "llama-prod.service", "llama-plain.service"),
    ],
    ids=["a router's tags", "three units"],
)


# -- whose line it is (LS-1, LS-2, LS-3) -------------------------------------------------------------------------------


@BOTH_TRAPS
def test_two_true_lines_of_another_load_do_not_refute_the_load_in_question(folder: str, prod: str, plain: str) -> None:
    answer, loads = asked(case_of(FIXTURES / folder), spec, prod, "2026-09-18 08:12")
    told = loads[prod]
    assert answer.code == 0
    assert (told["active"], told["accepted"], told["drafted"], told["acceptance"]) == (True, 4, 7, 0.571429)
    assert (told["configured"]["method"], told["configured"]["n_max"]) == ("draft-mtp", 4)
    assert told["against"] == []
    assert [(one["name"], [line["what"] for line in one["lines"]]) for one in told["elsewhere"]] == [
        (
            {"plain": "plain", "llama-plain.service": "Qwen3-14B-Q4_0.gguf"}[plain],
            [
                '"no implementations": none is set up',
                '"draft: 0.000 MiB": a prompt-cache save of one request, not an allocation',
            ],
        )
    ]


@BOTH_TRAPS
def test_the_answer_rests_on_lines_of_the_load_alone(folder: str, prod: str, plain: str) -> None:
    connection = case_of(FIXTURES / folder)
    _, loads = asked(connection, spec, prod, "2026-09-18 08:12")
    told = loads[prod]
    owners = connection.execute(
        "SELECT DISTINCT load_id FROM lookalikes WHERE list_contains(?, line_id)", [told["for"]]
    ).fetchall()
    assert owners == [(told["load_id"],)]
    said = connection.execute(
        "SELECT what FROM lookalikes WHERE topic = 'speculation' AND list_contains(?, line_id) ORDER BY ordinal",
        [told["for"]],
    ).fetchall()
    expected = {
        "spec-refutation-router": [
            *["arguments that ask for it"] * 5,
            "creates a draft context",
            *["memory of the mtp context"] * 3,
        ],
        "spec-refutation-journal": [
            "forecasts the memory of the MTP context",
            "creates a draft context",
            *["memory of the mtp context"] * 3,
        ],
    }[folder]
    assert [what for (what,) in said] == [
        *expected,
        "sets up draft-mtp",
        "depth 4",
        "request: 4 of 7 drafted tokens accepted",
    ]


def test_the_screen_names_the_owner_of_each_line_that_is_set_aside() -> None:
    connection = case_of(FIXTURES / "spec-refutation-router")
    answer, _ = asked(connection, spec, "prod", "2026-09-18 08:12")
    shown = screen(connection, answer)
    assert shown.startswith("Yes: prod speculates (draft-mtp, depth 4). 4 of 7 drafted tokens accepted.\n")
    assert "acceptance 57.1 %, mean length 2.33 (bonus token included)" in shown
    assert 'not its own  load 3 (plain): "no implementations": none is set up' in shown
    assert 'load 3 (plain): "draft: 0.000 MiB": a prompt-cache' in shown
    assert "save of one request, not an allocation" in shown
    assert "3 loads in the window" in shown


@BOTH_TRAPS
def test_the_same_lines_are_the_answer_about_the_load_that_owns_them(folder: str, prod: str, plain: str) -> None:
    answer, loads = asked(case_of(FIXTURES / folder), spec, plain, "2026-09-18 08:12")
    told = loads[plain]
    assert (answer.code, told["active"], told["because"]) == (
        0,
        False,
        "its own line says that no speculation is set up",
    )
    assert [(one["number"], [line["what"] for line in one["lines"]]) for one in told["elsewhere"]] == [
        (2, ["request: 4 of 7 drafted tokens accepted"])
    ]


@BOTH_TRAPS
def test_a_window_over_three_loads_is_told_load_by_load(folder: str, prod: str, plain: str) -> None:
    answer, _ = asked(case_of(FIXTURES / folder), spec, around="2026-09-18 08:12")
    assert answer.document["loads_in_window"] == 3
    assert [(one["number"], one["active"]) for one in answer.document["loads"]] == [(1, False), (2, True), (3, False)]
    assert answer.verdict == "1 of 3 loads speculates; 2 do not."


RELAYED = """
time=2026-11-30T11:44:45.769Z level=INFO source=routes.go:1990 msg="server config" env="map[OLLAMA_NUM_PARALLEL:1]"
time=2026-11-30T11:44:45.769Z level=INFO source=server.go:241 msg="using llama-server for model" model=/m/blobs/sha256-a1a1
time=2026-11-30T11:44:45.769Z level=INFO source=llama_server.go:611 msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model /m/blobs/sha256-a1a1 --port 42787 --log-verbosity 4 --no-log-prefix --no-log-timestamps --spec-type draft-mtp --spec-draft-n-max 4"
srv    load_model: loading model '/m/blobs/sha256-a1a1'
spec common_specu: adding speculative implementation 'draft-mtp'
spec common_specu: - n_max=4, n_min=0, p_min=0.00, n_embd=256, backend_sampling=1
srv    load_model: speculative decoding context initialized
srv  llama_server: model loaded
time=2026-11-30T11:44:46.562Z level=INFO source=llama_server.go:1274 msg="llama-server started in 0.79 seconds"
time=2026-11-30T11:44:46.706Z level=INFO source=server.go:241 msg="using llama-server for model" model=/m/blobs/sha256-e5e5
time=2026-11-30T11:44:46.706Z level=INFO source=llama_server.go:611 msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model /m/blobs/sha256-e5e5 --port 53911 --log-verbosity 4 --no-log-prefix --no-log-timestamps --embedding"
srv    load_model: loading model '/m/blobs/sha256-e5e5'
srv  llama_server: model loaded
time=2026-11-30T11:44:47.200Z level=INFO source=llama_server.go:1274 msg="llama-server started in 0.49 seconds"
slot print_timing: id  0 | task 0 | draft acceptance = 0.77273 (   17 accepted /    22 generated), mean len =  3.83
"""  # noqa: E501


def test_an_acceptance_line_that_two_runners_could_have_written_answers_nothing(tmp_path: Path) -> None:
    connection = case_text(tmp_path, RELAYED)
    answer, loads = asked(connection, spec, "sha256-a1a1")
    told = loads["sha256-a1a1"]
    assert answer.code == 3
    assert (told["active"], told["accepted"], told["drafted"]) == (None, None, None)
    assert answer.verdict == "Cannot tell. Two loads could have written one acceptance line, and it does not say which."
    assert [sorted(line["candidates"]) for line in told["ambiguous"]] == [
        sorted(row[0] for row in connection.execute("SELECT load_id FROM load").fetchall())
    ]
    assert (told["leaning"]["load_id"], told["leaning"]["scope"]) == (told["load_id"], "inferred")
    assert told["findings"][0]["state"] == "not established"


def test_a_log_that_begins_after_the_load_says_that_nobody_owns_its_lines(tmp_path: Path) -> None:
    answer, _ = asked(case_text(tmp_path, accepted(9, 4, 7) + "\n"), spec)
    assert (answer.code, answer.document["loads"]) == (3, [])
    assert answer.verdict == "Cannot tell: one line about speculation, and no load shows whose it is."


# -- counts (SP-1 to SP-4, SP-6, X-8, X-13) ----------------------------------------------------------------------------

SERVER = """
0.00.434.525 I ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):
0.00.728.543 I srv    load_model: loading model '/srv/models/Qwen3.6-27B-Q4_0.gguf'
0.09.307.871 I spec common_specu: adding speculative implementation '{method}'
0.09.307.872 I spec common_specu: - n_max={depth}, n_min=0, p_min=0.00, n_embd=5120, backend_sampling=1
0.10.182.339 I srv  llama_server: model loaded
"""


def server(*lines: str, method: str = "draft-mtp", depth: int = 4) -> str:
    """A server that speculates and then prints these lines, a second apart."""
    served = "".join(f"0.{20 + number:02}.000.000 I {line}\n" for number, line in enumerate(lines))
    return SERVER.format(method=method, depth=depth) + served


def accepted(task: int, accepted: int, drafted: int, more: str = "") -> str:
    return (
        f"slot print_timing: id  0 | task {task} | draft acceptance = {accepted / drafted:.5f} "
        f"({accepted:5} accepted / {drafted:5} generated){more}"
    )


ENGINE = """
(APIServer pid=1139) INFO 11-30 11:52:17 [api_utils.py:273] non-default args: {{'model': '/srv/models/Qwen3-8B', 'speculative_config': {{'method': 'mtp', 'num_speculative_tokens': {depth}}}}}
(APIServer pid=1139) INFO:     Application startup complete.
(APIServer pid=1139) INFO 11-30 11:54:26 [loggers.py:273] Engine 000: Avg prompt throughput: 955.0 tokens/s, Avg generation throughput: 31.4 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%
"""  # noqa: E501


def engine(*metrics: str, depth: int) -> str:
    """An engine with drafts, and its lines of metrics ten seconds apart."""
    return ENGINE.format(depth=depth) + "".join(
        f"(APIServer pid=1139) INFO 11-30 11:55:{10 * number:02} [metrics.py:120] SpecDecoding metrics: {line}\n"
        for number, line in enumerate(metrics)
    )


def test_four_of_seven_at_mean_length_2_33_are_three_drafts_with_the_bonus_token(tmp_path: Path) -> None:
    connection = case_text(tmp_path, server(accepted(0, 4, 7, ", mean len =  2.33")))
    _, loads = asked(connection, spec)
    told = loads["1"]
    assert told["acceptance"] == 0.571429
    assert told["drafts"] == 3
    assert (told["mean_len"], told["mean_len_without_bonus"]) == (2.333333, 1.333333)
    assert (told["mean_len_definition"], told["bonus_proved"]) == (WITH_BONUS, True)
    assert [(check["check"], check["holds"], check["note"]) for check in told["checks"]] == [
        ("mean length", True, "1 + 4 / 3 drafts: the bonus token is counted"),
        ("rate", True, "4 accepted / 7 drafted"),
    ]


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("draft acceptance rate = 0.69953 (  149 accepted /   213 generated)", (149, 213, None, None, None)),
        (
            "slot print_timing: id  1 | task 0 | draft acceptance = 0.69953 (  149 accepted /   213 generated)",
            (149, 213, None, None, None),
        ),
        (
            accepted(
                0, 167, 259, ", mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)"
            ),
            (167, 259, 2.92, [0.805, 0.632, 0.483], 87),
        ),
    ],
    ids=["b4984", "b9230", "June 2026"],
)
def test_each_wording_of_an_acceptance_gives_the_same_sample(
    tmp_path: Path, line: str, sample: tuple[object, ...]
) -> None:
    connection = case_text(tmp_path, server(line, depth=3))
    assert connection.execute(
        "SELECT accepted, drafted, mean_length, positions, drafts FROM draft_samples"
    ).fetchall() == [sample]
    assert connection.execute("SELECT count(*) FROM draft_checks WHERE NOT holds").fetchall() == [(0,)]


STATISTICS = (
    "spec common_specu: statistics        draft-mtp: #calls(b,g,a) =    {n}     {n}     {n}, "
    "#gen drafts =     {drafts}, #acc drafts =    27, #gen tokens =    {drafted}, #acc tokens =    {accepted}, "
    "#mean acc len = 3.83, #acc rate/pos = (0.900), dur(b,g,a) = 0.077, 371.009, 0.017 ms"
)


def test_cumulative_lines_are_taken_last_and_compared_never_added(tmp_path: Path) -> None:
    log = server(
        accepted(0, 17, 22, ", mean len =  3.83"),
        STATISTICS.format(n=1, drafts=6, drafted=22, accepted=17),
        accepted(9, 24, 55, ", mean len =  2.60"),
        STATISTICS.format(n=2, drafts=21, drafted=77, accepted=41),
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    told = loads["1"]
    assert (told["accepted"], told["drafted"], told["drafts"]) == (41, 77, 21)
    assert {key: told["cumulative"][key] for key in ("accepted", "drafted", "agrees", "why")} == {
        "accepted": 41,
        "drafted": 77,
        "agrees": True,
        "why": "the requests add up to it",
    }


def test_rates_are_summed_from_counts_and_never_averaged(tmp_path: Path) -> None:
    log = server(accepted(0, 90, 100), accepted(1, 10, 400))
    _, loads = asked(case_text(tmp_path, log), spec)
    assert loads["1"]["acceptance"] == 0.2  # 100 / 500; the mean of 0.9 and 0.025 is 0.4625
    assert loads["1"]["acceptance_range"] == [0.025, 0.9]


def test_acceptance_over_time_is_told_in_steps_of_summed_counts(tmp_path: Path) -> None:
    log = server(*(accepted(task, 1 + task % 2, 10 * (1 + task % 2)) for task in range(38)))
    _, loads = asked(case_text(tmp_path, log), spec)
    assert loads["1"]["over_time"] == [0.1] * 19  # two samples a step: 3 of 30


def test_cumulative_counts_below_the_sum_of_requests_contradict_it(tmp_path: Path) -> None:
    log = server(accepted(0, 17, 22), STATISTICS.format(n=1, drafts=6, drafted=20, accepted=17))
    _, loads = asked(case_text(tmp_path, log), spec)
    assert loads["1"]["cumulative"]["agrees"] is False
    assert [one["doubt"] for one in loads["1"]["doubts"]] == ["totals"]


def test_958_of_1460_at_4_28_agree_with_the_rates_by_position(tmp_path: Path) -> None:
    log = engine(
        "Mean acceptance length: 4.28, Accepted throughput: 95.80 tokens/s, Drafted throughput: 146.00 tokens/s, "
        "Accepted: 958 tokens, Drafted: 1460 tokens, Per-position acceptance rate: 0.880, 0.788, 0.644, 0.534, 0.435, "
        "Avg Draft acceptance rate: 65.6%",
        depth=5,
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    told = loads["1"]
    assert (told["acceptance"], told["drafts"], told["mean_len"]) == (0.656164, 292, 4.280822)
    assert [(check["check"], check["holds"], check["computed"]) for check in told["checks"]] == [
        ("mean length", True, 4.280822),
        ("mean length by position", True, 4.281),
        ("rate", True, 0.656164),
        ("rate by position", True, 0.6562),
    ]
    assert [(row["position"], row["accepted"], row["drafts"]) for row in told["positions"]] == [
        (1, 257, 292),
        (2, 230, 292),
        (3, 188, 292),
        (4, 156, 292),
        (5, 127, 292),
    ]


def test_an_average_of_89_percent_over_positions_that_mean_82_is_found(tmp_path: Path) -> None:
    log = engine(
        "Mean acceptance length: 3.46, Accepted: 246 tokens, Drafted: 300 tokens, "
        "Per-position acceptance rate: 0.930, 0.830, 0.700, Avg Draft acceptance rate: 89.0%",
        depth=3,
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    wrong = [(one["check"], one["printed"], one["computed"]) for one in loads["1"]["checks"] if not one["holds"]]
    assert wrong == [("rate", 0.89, 0.82), ("rate by position", 0.89, 0.82)]
    assert [one["doubt"] for one in loads["1"]["doubts"]] == ["arithmetic", "arithmetic"]


@pytest.mark.parametrize(
    ("length", "counts", "positions", "rate", "depth", "holds"),
    [
        pytest.param(3.70, (270, 300), "0.860, 0.700, 0.560", 90.0, 3, False, id="n=3"),
        # a published row of n=4: its positions add up to 3.12, the 3.07 of its stories; its column is that of its code
        pytest.param(3.55, (255, 400), "0.850, 0.610, 0.400, 0.260", 63.8, 4, False, id="n=4, code from 3.55"),
        pytest.param(3.88, (288, 400), "0.850, 0.610, 0.400, 0.260", 72.0, 4, False, id="n=4, code to 3.88"),
        pytest.param(3.12, (212, 400), "0.850, 0.610, 0.400, 0.260", 53.0, 4, True, id="n=4, its own prompts"),
    ],
)
def test_rates_by_position_of_other_prompts_than_the_mean_length_are_found(
    tmp_path: Path, length: float, counts: tuple[int, int], positions: str, rate: float, depth: int, holds: bool
) -> None:
    log = engine(
        f"Mean acceptance length: {length:.2f}, Accepted: {counts[0]} tokens, Drafted: {counts[1]} tokens, "
        f"Per-position acceptance rate: {positions}, Avg Draft acceptance rate: {rate}%",
        depth=depth,
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    wrong = [(one["check"], one["printed"], one["computed"]) for one in loads["1"]["checks"] if not one["holds"]]
    assert (("mean length by position", length, 3.12) in wrong) is not holds
    assert (wrong == []) is holds


@pytest.mark.parametrize(
    ("length", "rate", "depth", "holds", "note"),
    [
        ("2.76", "45.0", 6, False, "29.3 % at depth 6 if the mean length counts the bonus token, 46.0 % if not"),
        ("5.77", "96.2", 6, True, "79.5 % at depth 6 if the mean length counts the bonus token, 96.2 % if not"),
        ("2.76", "44.0", 4, True, "44.0 % at depth 4 if the mean length counts the bonus token, 69.0 % if not"),
    ],
    ids=["no reading fits 45 %", "without the bonus token", "with it, at depth 4"],
)
def test_without_counts_the_readings_that_fit_are_printed(
    tmp_path: Path, length: str, rate: str, depth: int, holds: bool, note: str
) -> None:
    log = engine(f"Mean acceptance length: {length}, Avg Draft acceptance rate: {rate}%", depth=depth)
    _, loads = asked(case_text(tmp_path, log), spec)
    assert [(one["check"], one["holds"], one["note"]) for one in loads["1"]["checks"]] == [("reading", holds, note)]


def test_a_mean_length_without_the_bonus_token_is_told_apart(tmp_path: Path) -> None:
    # 4 of 7 in 3 drafts: 1.33 is accepted / drafts, 2.33 counts the bonus token
    _, loads = asked(case_text(tmp_path, server(accepted(0, 4, 7, ", mean len =  1.33"))), spec)
    assert [(one["check"], one["holds"], one["note"]) for one in loads["1"]["checks"]] == [
        ("mean length", True, "4 / 3 drafts: the bonus token is not counted"),
        ("rate", True, "4 accepted / 7 drafted"),
    ]


def test_a_mean_length_that_only_drafts_of_full_depth_explain_is_told_by_them(tmp_path: Path) -> None:
    # published as "AL 3.35": 50,512 / 15,088 drafts; with the bonus token it is 4.35
    log = engine(
        "Mean acceptance length: 3.35, Accepted: 50512 tokens, Drafted: 75440 tokens, Avg Draft acceptance rate: 67.0%",
        depth=5,
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    told = loads["1"]
    assert (told["drafts"], told["mean_len"], told["mean_len_without_bonus"]) == (15088, 4.347826, 3.347826)
    assert (told["mean_len_definition"], told["bonus_proved"]) == (WITH_BONUS, False)
    assert told["checks"][0]["note"] == "50512 / 15088 drafts: the bonus token is not counted"


def test_other_definitions_of_an_acceptance_are_converted_where_depth_and_drafts_are_known(tmp_path: Path) -> None:
    # 100 steps of blocks of 16 that commit 639 tokens: 6.39 a step, 39.9 % of the blocks
    log = engine(
        "Mean acceptance length: 6.39, Accepted: 539 tokens, Drafted: 1600 tokens, Avg Draft acceptance rate: 33.7%",
        depth=16,
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    told = loads["1"]
    assert (told["mean_len"], told["committed_per_block"], told["acceptance"]) == (6.39, 0.399375, 0.336875)
    assert (told["drafting"], told["acceptance_definition"].split(":")[0]) == ("full depth", "accepted / drafted")


LUCE = """\
[bench] target = /mnt/models/target.gguf
[bench] draft  = /mnt/models/draft.safetensors
[bench] mode=fast  n_gen=128
prompt                         steps     AL   pct%    tok/s
--------------------------------------------------------------
  has_close_elements              28   4.57   28.8    54.36
  separate_paren_groups           21   6.10   39.0    71.84
  truncate_number                 22   5.82   38.4    69.30
  below_zero                      23   5.57   34.8    66.00
  mean_absolute_deviation         26   4.92   31.2    57.97
  intersperse                     29   4.41   28.4    52.72
  parse_nested_parens             13   9.85   63.5   108.74
  filter_by_substring             23   5.57   35.6    65.75
  sum_product                     15   8.53   59.2    96.55
  rolling_max                     15   8.53   54.2    96.44
--------------------------------------------------------------
MEAN                                   6.39   41.3    73.97
"""
"""Figures of a run of club-3090 (results/lucebox-dual-gpu-20260504-142832, Apache-2.0), as the bench prints."""


def test_a_benchmarks_own_definitions_reproduce_its_table(tmp_path: Path) -> None:
    answer = spec(case(tmp_path, {"bench.log": LUCE}))
    (table,) = answer.document["tables"]
    assert (table["hold"], len(table["rows"])) == (10, 10)
    assert [(row["steps"], row["mean_length"], row["share"], row["committed"]) for row in table["rows"][:3]] == [
        (28, 4.57, 0.288, 129),
        (21, 6.1, 0.39, 131),
        (22, 5.82, 0.384, 135),
    ]
    # the published mean is one of ten rates; 1280 tokens in 215 steps are 5.95 a step
    assert (table["printed_mean"], round(table["mean_len"], 2), answer.document["loads"]) == (6.39, 5.95, [])
    assert answer.sections[-1].note == (
        "10 of 10 rows hold: AL is tokens / steps, pct is committed / (steps × 16). Its mean of 6.39 is one of rates; "
        "its counts give 5.95 (1280 / 215)."
    )


def test_a_row_of_such_a_table_that_its_counts_do_not_give_is_found(tmp_path: Path) -> None:
    text = LUCE.replace("28   4.57   28.8", "28   4.57   57.6").replace("21   6.10", "21   7.10")
    (table,) = spec(case(tmp_path, {"bench.log": text})).document["tables"]
    assert [row["prompt"] for row in table["rows"] if not row["holds"]] == [
        "has_close_elements",
        "separate_paren_groups",
    ]


def test_drafts_that_were_cut_short_are_told_from_those_of_full_depth(tmp_path: Path) -> None:
    _, loads = asked(case_text(tmp_path, server(accepted(0, 4, 7, ", mean len =  2.33"))), spec)
    assert loads["1"]["drafting"] == "cut short"  # 3 drafts of 4 would be 12 tokens


# -- models and effects (SP-7, SP-8) -----------------------------------------------------------------------------------

CHANGES = {
    "production": (14, 19, 24),
    "mtp-build": (10, 15, 22),
    "a": (-1.6, 0.0, 2.0),
    "b": (0.3, 1.0, 6.3),
    "c": (0.0, 0.1, 0.2),
    "d": (1.5, 2.5, 3.5),
    "e": (-0.4, 0.4, 4.4),
    "f": (-1.0, -0.5, 0.5),
}
"""By how many percent each cell of eight models got faster: two of them draft."""


def two_runs(folder: Path) -> dict[str, str]:
    """Each model served three sizes of prompts in one load, and again in a later one."""
    served = {
        "production": ("draft-mtp", 4, ((29, 100), (67, 100), (40, 100))),
        "mtp-build": ("draft-mtp", 2, ((56, 100), (81, 100), (70, 100))),
    }
    files = {}
    for run in range(2):
        for model, changes in CHANGES.items():
            method, depth, drafts = served.get(model, (None, 0, ()))
            lines = [
                "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):",
                f"srv    load_model: loading model '/srv/models/{model}.gguf'",
            ]
            lines += (
                [
                    f"spec common_specu: adding speculative implementation '{method}'",
                    f"spec common_specu: - n_max={depth}, n_min=0, p_min=0.00, n_embd=5120, backend_sampling=1",
                ]
                if method
                else ["spec common_specu: no implementations specified for speculative decoding"]
            )
            lines.append("srv  llama_server: model loaded")
            for task, change in enumerate(changes):
                lines += timed(task, 100 * (1 + change / 100) ** run, prompt=30 * 10**task)
                if drafts:
                    lines.append(accepted(task, *drafts[task]))
            text = "".join(f"0.{number:02}.000.000 I {line}\n" for number, line in enumerate(lines))
            files[f"{run}-{model}.log"] = text
    return files


def test_depth_and_range_of_acceptance_are_told_by_model_over_its_loads(tmp_path: Path) -> None:
    answer = spec(case(tmp_path, two_runs(tmp_path)))
    assert [
        (one["identity"], one["loads"], one["depths"], one["acceptance_range"]) for one in answer.document["models"]
    ] == [("mtp-build.gguf", 2, [2], [0.56, 0.81]), ("production.gguf", 2, [4], [0.29, 0.67])]


def test_what_got_faster_is_compared_with_what_drafts(tmp_path: Path) -> None:
    ask = case(tmp_path, two_runs(tmp_path))
    answer = spec(ask)
    effects = answer.document["effects"]
    assert effects["state"] == "supported"
    assert effects["drafting"] == {"cells": 6, "lowest": 0.1, "highest": 0.24}
    assert effects["others"] == {"cells": 18, "lowest": -0.016, "highest": 0.063}
    assert {one["identity"] for one in effects["cells"] if one["drafts"]} == {"production.gguf", "mtp-build.gguf"}


def test_a_model_that_got_as_fast_without_drafts_contradicts_it(tmp_path: Path) -> None:
    files = two_runs(tmp_path)
    files["1-c.log"] = files["1-c.log"].replace("100.00 tokens per second", "130.00 tokens per second")
    assert spec(case(tmp_path, files)).document["effects"]["state"] == "contradicted"


# -- doubts (SP-9 to SP-11) --------------------------------------------------------------------------------------------


def timed(task: int, rate: float, tokens: int = 1000, prompt: int = 30) -> tuple[str, str]:
    begin = f"slot print_timing: id  0 | task {task} |"
    prompt_time = f"      33.74 ms / {prompt:5} tokens (    1.12 ms per token,   889.13 tokens per second)"
    decode = f"{1000 * tokens / rate:11.2f} ms / {tokens:5} tokens ({1000 / rate:8.2f} ms per token, {rate:8.2f}"
    return f"{begin} prompt eval time = {prompt_time}", f"{begin}        eval time = {decode} tokens per second)"


def test_speculation_that_is_set_up_and_never_drafts_is_inert(tmp_path: Path) -> None:
    log = server(*timed(0, 64.86), *timed(1, 64.96), *timed(2, 64.90))
    answer, loads = asked(case_text(tmp_path, log), spec)
    told = loads["1"]
    assert (answer.code, told["active"]) == (0, False)
    assert [one["doubt"] for one in told["doubts"]] == ["inert"]
    assert told["because"] == "set up, but none of 3 timed requests drafted"
    assert (told["requests"]["median_per_s"], told["requests"]["cv"]) == (64.9, 0.000775)


def test_a_draft_model_without_an_implementation_is_inert(tmp_path: Path) -> None:
    log = """
0.00.434.525 I ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):
0.00.728.543 I srv    load_model: loading model '/srv/models/large.gguf'
0.03.100.000 I srv    load_model: loading draft model '/srv/models/small.gguf'
0.09.307.871 I spec common_specu: no implementations specified for speculative decoding
0.10.182.339 I srv  llama_server: model loaded
"""
    answer, loads = asked(case_text(tmp_path, log), spec)
    told = loads["1"]
    assert told["active"] is False
    assert told["configured"]["draft_model"] == "/srv/models/small.gguf"
    assert told["because"] == "asked for, but its own line says that none is set up"
    assert answer.verdict.startswith("No: large.gguf is set up to speculate (draft model) and does not;")


def test_a_load_that_timed_requests_without_drafts_does_not_speculate(tmp_path: Path) -> None:
    log = """
0.00.434.525 I ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):
0.00.728.543 I srv    load_model: loading model '/srv/models/plain.gguf'
0.10.182.339 I srv  llama_server: model loaded
""" + "".join(f"0.2{number}.000.000 I {line}\n" for number, line in enumerate(timed(0, 44.4)))
    answer, loads = asked(case_text(tmp_path, log), spec)
    assert (answer.code, loads["1"]["active"]) == (0, False)
    assert loads["1"]["because"] == "none of one timed request drafted"


def test_a_load_that_shows_neither_setup_nor_request_cannot_be_told(tmp_path: Path) -> None:
    log = """
0.00.434.525 I ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):
0.00.728.543 I srv    load_model: loading model '/srv/models/plain.gguf'
0.10.182.339 I srv  llama_server: model loaded
"""
    answer, loads = asked(case_text(tmp_path, log), spec)
    assert (answer.code, loads["1"]["active"], loads["1"]["configured"]) == (3, None, None)


@pytest.mark.parametrize(
    ("accept", "drafted", "doubts"),
    [(21, 21, ["tiny"]), (500, 500, ["trivial"]), (17, 30, [])],
    ids=["21 of 21", "500 of 500", "17 of 30"],
)
def test_a_perfect_acceptance_is_doubted(tmp_path: Path, accept: int, drafted: int, doubts: list[str]) -> None:
    _, loads = asked(case_text(tmp_path, server(accepted(0, accept, drafted))), spec)
    assert [one["doubt"] for one in loads["1"]["doubts"]] == doubts


def test_a_collapse_inside_one_load_is_found_where_it_begins(tmp_path: Path) -> None:
    log = server(*(accepted(task, 140, 200) for task in range(4)), *(accepted(task, 20, 200) for task in range(4, 8)))
    _, loads = asked(case_text(tmp_path, log), spec)
    doubt = loads["1"]["doubts"]
    assert [(one["doubt"], one["note"]) for one in doubt] == [
        ("collapse", "70.0 % accepted before, 10.0 % from here on")
    ]
    assert doubt[0]["evidence"] == loads["1"]["samples"][4]["evidence"]


def test_a_collapse_before_a_death_says_so(tmp_path: Path) -> None:
    log = server(*(accepted(task, 140, 200) for task in range(4)), *(accepted(task, 20, 200) for task in range(4, 8)))
    crash = "/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error\n"
    _, loads = asked(case_text(tmp_path, log + crash), spec)
    assert [one["note"] for one in loads["1"]["doubts"]] == [
        "70.0 % accepted before, 10.0 % from here on; the load then ended: crashed"
    ]


def test_an_acceptance_that_only_wavers_has_not_collapsed(tmp_path: Path) -> None:
    # one load of the second account: 29 to 67 % over its run
    log = server(*(accepted(task, share, 100) for task, share in enumerate((67, 29, 61, 40, 35, 58, 44, 52))))
    _, loads = asked(case_text(tmp_path, log), spec)
    assert (loads["1"]["doubts"], loads["1"]["acceptance_range"]) == ([], [0.29, 0.67])


def test_acceptance_made_up_by_a_switch_is_no_measurement(tmp_path: Path) -> None:
    said = (
        "spec common_specu: synthetic speculative acceptance is enabled for benchmarking; generated output is not valid"
    )
    log = (
        SERVER.format(method="draft-mtp", depth=4).replace("0.10.182.339", f"0.09.400.000 W {said}\n0.10.182.339")
        + f"0.20.000.000 I {accepted(0, 27, 35)}\n"
    )
    _, loads = asked(case_text(tmp_path, log), spec)
    assert [one["doubt"] for one in loads["1"]["doubts"]] == ["synthetic"]


def test_what_drafting_holds_is_told_for_each_token_it_gained() -> None:
    _, loads = asked(case_of(FIXTURES / "spec-refutation-router"), spec, "prod")
    memory = loads["prod"]["memory"]
    assert (memory["mib"], memory["parts"], memory["per_accepted_token_mib"]) == (2250.06, "mtp", 562.515)


# -- the contract ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", [spec, validity], ids=["spec", "validity"])
def test_the_same_case_gives_the_same_bytes(question: Question) -> None:
    ask = Ask(case_of(FIXTURES / "spec-refutation-router"), evidence=True)
    assert answer_json(ask, question(ask)) == answer_json(ask, question(ask))


@pytest.mark.parametrize(
    "name",
    [
        "arguments_of_load",
        "draft_checks",
        "draft_models",
        "draft_doubts",
        "draft_positions",
        "draft_requests",
        "draft_samples",
        "draft_totals",
        "lookalikes",
        "request_rates",
        "speculation",
        "speculation_effects",
    ],
)
def test_the_header_of_a_view_names_its_columns(name: str) -> None:
    connection = case_of(FIXTURES / "spec-refutation-router")
    found = next(question for question in load_questions() if question.name == name)
    assert check_header(connection, found) == []


def test_the_views_of_speculation_use_only_lines_that_a_load_owns(tmp_path: Path) -> None:
    connection = case_text(tmp_path, RELAYED)
    assert connection.execute("SELECT count(*) FROM draft_accepted").fetchall() == [(1,)]
    for view in ("draft_samples", "draft_totals", "draft_checks", "draft_positions"):
        assert connection.execute(f"SELECT count(*) FROM {view}").fetchall() == [(0,)]
