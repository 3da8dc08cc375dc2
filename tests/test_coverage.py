"""What of the logs was read: one line under each answer, in each format; and what was not, by wording, worst first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from accounted import accounts
from asking import screen
from casing import case, rows

from forensics.answer import Ask, answer_json, answer_markdown
from forensics.asked import QUESTIONS
from forensics.coverage import coverage, coverage_line
from forensics.report_html import render_answer_html
from forensics.unread import grouped, masked

READ = """\
0.00.438.019 I srv  llama_server: initializing ...
0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'
0.01.600.000 I load_tensors:        CUDA0 model buffer size =  4914.18 MiB
0.02.500.000 I srv  llama_server: model loaded
"""
UNREAD = """\
0.02.600.000 I my_cache: device CUDA0 holds 2304.00 MiB of KV
0.02.610.000 I my_cache: device CUDA1 holds 1100.50 MiB of KV
0.02.620.000 I my_cache: device CUDA1 holds 12.00 MiB of state
0.02.630.000 I my_arena: 5 GiB for weights
0.02.640.000 I my_graph: runs on CUDA0
"""
PLAIN = "a line without anything of note, which is long enough to count\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (READ, "100 % of lines, 100 % of bytes; no size or device left unread"),
        (READ + PLAIN, "80 % of lines, 79 % of bytes; no size or device left unread"),
        (READ + UNREAD, "44 % of lines, 47 % of bytes; size or device unread: 5 (query losses)"),
        (READ * 300 + PLAIN, "99 % of lines, 99 % of bytes; no size or device left unread"),
        (READ + PLAIN * 3000, "<1 % of lines, <1 % of bytes; no size or device left unread"),
        (PLAIN, "nothing: no line of 1 is of a program that is known"),
        (PLAIN + UNREAD, "nothing: no line of 6 is of a program that is known"),
    ],
    ids=[
        "all of it",
        "not all",
        "sizes and devices unread",
        "never 100 if one is not",
        "never 0 if one is",
        "nothing",
        "another program's",
    ],
)
def test_one_line_says_how_much_was_read_and_whether_a_size_or_a_device_was_not(
    tmp_path: Path, text: str, line: str
) -> None:
    assert coverage_line(coverage([case(tmp_path, server=text)])) == line


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_answer_ends_with_it_in_each_format(tmp_path: Path, name: str) -> None:
    ask = Ask(case(tmp_path, server=READ + UNREAD))
    answer = QUESTIONS[name][0](ask)
    line = "44 % of lines, 47 % of bytes; size or device unread: 5 (query losses)"
    assert screen(ask, answer).rstrip().endswith(f"Read  {line}")
    assert answer_markdown(ask, answer).rstrip().endswith(f"**Read** {line}")
    assert f"Read: {line}" in render_answer_html(answer, coverage_line(ask.coverage()))
    assert json.loads(answer_json(ask, answer))["coverage"] == {
        "lines": 9,
        "read_lines": 4,
        "bytes": len(READ + UNREAD) - 9,
        "read_bytes": len(READ) - 4,
        "sized": 5,
        "sized_read": 1,
        "placed": 1,
        "placed_read": 0,
        "sampled": 9,
        "tokens": 0,
        "tokens_read": 0,
        "unread": [
            {
                "carries": "size",
                "template": "#.#.#.# I my_cache: device CUDA# holds #.# MiB of <*>",
                "lines": 3,
                "example": "0.02.600.000 I my_cache: device CUDA0 holds 2304.00 MiB of KV",
            },
            {
                "carries": "size",
                "template": "#.#.#.# I my_arena: # GiB for weights",
                "lines": 1,
                "example": "0.02.630.000 I my_arena: 5 GiB for weights",
            },
            {
                "carries": "device",
                "template": "#.#.#.# I my_graph: runs on CUDA#",
                "lines": 1,
                "example": "0.02.640.000 I my_graph: runs on CUDA0",
            },
        ],
        "unknown": {"sources": 0, "lines": 0},
    }


def test_a_text_of_no_known_program_beside_a_log_is_counted_apart(tmp_path: Path) -> None:
    found = coverage([case(tmp_path, server=READ, notes="the card has 24 GiB\nand CUDA0 is the first\n")])
    assert found is not None
    assert (found["lines"], found["unread"], found["unknown"]) == (4, [], {"sources": 1, "lines": 2})
    assert coverage_line(found) == "100 % of lines, 100 % of bytes; no size or device left unread"


@pytest.mark.parametrize("form", ["table", "md", "json", "html"])
def test_an_explanation_has_it_too(tmp_path: Path, form: str) -> None:
    (tmp_path / "server.log").write_text(READ + UNREAD)
    command = [sys.executable, "-m", "forensics.cli", "explain-vram", str(tmp_path / "server.log"), "--format", form]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if form == "json":
        assert json.loads(told)["coverage"]["read_lines"] == 4
    else:
        assert "44 % of lines, 47 % of bytes; size or device unread: 5 (query losses)" in told


def test_a_comparison_of_two_cases_counts_the_lines_of_both(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = case(tmp_path / "a", server=READ), case(tmp_path / "b", server=READ + UNREAD)
    found = coverage([one, two])
    assert found is not None
    assert (found["lines"], found["read_lines"], len(found["unread"])) == (13, 8, 3)


def test_without_a_log_there_is_no_such_line(tmp_path: Path) -> None:
    samples = "timestamp, index, memory.used [MiB]\n2026/11/30 11:00:00.000, 0, 100 MiB\n"
    found = case(tmp_path, gpu=samples)
    assert coverage([found]) is None
    assert coverage_line(None) == ""


def test_the_worst_wordings_are_losses_of_their_own(tmp_path: Path) -> None:
    found = case(tmp_path, server=READ + UNREAD)
    assert rows(found, "SELECT severity, what, count FROM losses WHERE what LIKE 'lines with%reads%'") == [
        (
            "loss",
            "lines with a size that no pattern reads: #.#.#.# I my_cache: device CUDA# holds #.# MiB of <*>",
            3,
        ),
        ("loss", "lines with a size that no pattern reads: #.#.#.# I my_arena: # GiB for weights", 1),
        ("note", "lines with a device that no pattern reads: #.#.#.# I my_graph: runs on CUDA#", 1),
    ]


def test_a_wording_without_end_hides_no_other_and_is_counted_to_its_end(tmp_path: Path) -> None:
    flood = "".join(f"arena {number} of {number} MiB\n" for number in range(3000))
    found = case(tmp_path, server=flood + "another wording with 12 MiB in it\n")
    assert rows(found, "SELECT template, lines FROM unread_templates") == [
        ("arena # of # MiB", 3000),
        ("another wording with # MiB in it", 1),
    ]
    assert rows(found, "SELECT count(*) FROM unread") == [(2001,)]


def test_wordings_without_end_are_counted_where_they_are_not_kept(tmp_path: Path) -> None:
    def word(number: int) -> str:
        return "".join(chr(ord("a") + int(digit)) for digit in str(number))

    flood = "".join(f"{word(number)} takes 12 MiB of {word(number * 7)}\n" for number in range(3000))
    found = case(tmp_path, server=flood)
    assert rows(found, "SELECT sum(lines) FROM unread_templates") == [(2500,)]
    assert rows(found, "SELECT count FROM losses WHERE what LIKE '%too many to keep'") == [(500,)]
    assert rows(found, "SELECT sum(count) FROM losses") == [(3000,)]


def test_the_same_lines_make_the_same_templates_in_whatever_order_they_come() -> None:
    lines = [masked(line) for line in UNREAD.splitlines()]
    forward = dict.fromkeys(lines, 1)
    backward = dict.fromkeys(reversed(lines), 1)
    assert grouped(forward) == grouped(backward)
    assert len(set(grouped(forward).values())) == 3


def test_sources_in_another_order_make_the_same_templates(tmp_path: Path) -> None:
    halves = UNREAD.splitlines(keepends=True)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = case(tmp_path / "a", first="".join(halves[:2]), second="".join(halves[2:]))
    two = case(tmp_path / "b", first="".join(halves[2:]), second="".join(halves[:2]))
    wanted = "SELECT template, what, lines FROM unread_templates"
    assert rows(one, wanted) == rows(two, wanted)


@pytest.mark.parametrize(("text", "imported"), [(READ, "False"), (READ + UNREAD, "True")], ids=["nothing", "something"])
def test_the_library_that_groups_is_loaded_only_if_there_is_something_to_group(
    tmp_path: Path, text: str, imported: str
) -> None:
    (tmp_path / "server.log").write_text(text)
    program = (
        "import sys; from forensics.api import open_case; "
        "open_case(sys.argv[1]).ask('loads'); print('drain3' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "server.log")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == imported


# -- every line that carries something is accounted for --------------------------------------------------------------

FIXTURES = Path(__file__).parent.parent / "fixtures"


def test_of_the_lines_of_recorded_runs_with_a_size_tokens_or_a_device_none_is_dropped() -> None:
    found, neither = accounts(sorted((FIXTURES / "logs").glob("*.log")))
    assert neither == []
    for carries in ("size", "tokens", "device"):
        typed, listed = found[carries, "typed"], found[carries, "listed"]
        assert typed >= 0.99 * (typed + listed)
        assert typed > 100


def test_what_no_pattern_reads_is_listed_and_token_counts_are_only_looked_for_in_a_sample(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(READ + UNREAD)
    assert accounts([log])[0] == {
        ("size", "typed"): 1,
        ("size", "listed"): 4,
        ("device", "typed"): 1,
        ("device", "listed"): 4,
    }
    words = ("".join(chr(97 + int(digit)) for digit in f"{number:03}") for number in range(1000))
    log.write_text(READ + "".join(f"0.02.700.000 I my_counter: {word} holds 12 tokens\n" for word in words))
    found, _ = accounts([log])
    assert found["tokens", "typed"] == 0
    assert found["tokens", "listed"] + found["tokens", "neither"] == 1000
    assert 90 <= found["tokens", "listed"] <= 110


def test_asking_a_case_imports_neither_readers_nor_what_they_need(tmp_path: Path) -> None:
    heavy = ("numpy", "pyarrow", "polars", "forensics.records", "forensics.lives")
    asked = f"import sys; import forensics.cmd_explain; print([one for one in {heavy} if one in sys.modules])"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == "[]\n"
