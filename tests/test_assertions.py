"""What a file asserts of a user's own logs holds, fails or cannot be told; each rule does each of that once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from forensics.assertions import RULES
from forensics.cli import main

LOG = """\
0.00.600.000 I cmn  common_param: common_params_print_info: build {build} (unknown) with GNU 12.2.0 for Linux x86_64
0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'
0.01.600.000 I load_tensors:        CUDA0 model buffer size =  {weights} MiB
0.01.700.000 I llama_kv_cache: size = 2448.00 MiB ({cells} cells,  36 layers,  1/1 seqs), K (q8_0): 1224.00 MiB, V (q8_0): 1224.00 MiB
0.02.500.000 I srv  llama_server: model loaded
"""  # noqa: E501  # a line is as long as the server makes it
NOW = LOG.format(build=11434, weights="4914.18", cells=32768)
ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Check = Callable[..., Ran]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Check:
    """Run `forensics check` in a folder that holds `server.log`, `before.log` and the assertions."""
    (tmp_path / "server.log").write_text(NOW)
    (tmp_path / "before.log").write_text(NOW)
    (tmp_path / "other.log").write_text("nothing of a server\n")
    monkeypatch.chdir(tmp_path)

    def command(text: str, *arguments: str) -> Ran:
        Path("asserts.toml").write_text(text)
        monkeypatch.setattr(sys, "argv", ["forensics", "check", "asserts.toml", *arguments])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return command


def asserts(row: str, *inputs: Path | str, baseline: str = "") -> str:
    """A file with one row."""
    paths = ", ".join(json.dumps(str(one)) for one in inputs)
    more = f'baseline = "{baseline}"\n' if baseline else ""
    return f"inputs = [{paths}]\n{more}[[assert]]\n{row}\n"


ROUTER = FIXTURES / "spec-refutation-router" / "router.log"
PING_PONG = FIXTURES / "logs" / "router-ping-pong.log"
OOM = FIXTURES / "logs" / "llama-oom.log"
MIXED = FIXTURES / "untagged-interleaved-loads" / "server.log"
CARD = [FIXTURES / "llama-single-card" / name for name in ("journal.export.gz", "gpu.csv", "apps.csv")]

HOLDS = [
    ("max_unexplained_mib = 16", CARD),
    ("max_weights_mib = 4915", ["server.log"]),
    ("min_kv_tokens = 32768", ["server.log"]),
    ('model = "prod"\nmin_acceptance = 0.57', [ROUTER]),
    ("no_ping_pong = true", [ROUTER]),
    ("no_failures = true", ["server.log"]),
    ("no_format_drift = true", ["server.log"]),
    ("no_ambiguous_memory = true", ["server.log"]),
]


@pytest.mark.parametrize(("row", "inputs"), HOLDS, ids=[row.replace("\n", ", ") for row, _ in HOLDS])
def test_what_holds_is_said_to_hold(check: Check, row: str, inputs: list[Path | str]) -> None:
    assert check(asserts(row, *inputs)) == (
        0,
        f"ok  assert 1: {row.splitlines()[-1].replace(' = true', '')}\n1 check, all hold\n",
        "",
    )


FAILS = [
    ("max_unexplained_mib = 1", CARD, "load 1 (Qwen3-8B-Q4_0.gguf), CUDA0", "9.73 MiB unexplained"),
    ("max_weights_mib = 4914", ["server.log"], "load 1 (alpha.gguf)", "4914.18 MiB of weights"),
    ("min_kv_tokens = 32769", ["server.log"], "load 1 (alpha.gguf)", "a cache of 32768 tokens"),
    ('model = "prod"\nmin_acceptance = 0.58', [ROUTER], "load 2 (prod)", "4 of 7 accepted, 0.5714"),
    ('model = "plain"\nmin_acceptance = 0.1', [ROUTER], "load 3 (plain)", "it does not speculate"),
    ("no_ping_pong = true", [PING_PONG], "all loads", "take each other's place, 3 swaps"),
    ("no_failures = true", [OOM], "load 1 (Qwen3.6-27B-Q4_0.gguf)", "out of memory"),
    ("no_ambiguous_memory = true", [MIXED], "2 loads could have written it", "several could have written it"),
]


@pytest.mark.parametrize(("row", "inputs", "about", "got"), FAILS, ids=[row.replace("\n", ", ") for row, *_ in FAILS])
def test_what_does_not_hold_is_said_with_the_line_that_shows_it(
    check: Check, row: str, inputs: list[Path | str], about: str, got: str
) -> None:
    ran = check(asserts(row, *inputs), "--format", "json")
    found = json.loads(ran.out)
    assert (ran.code, ran.err, found["failed"]) == (1, "", 1)
    failure = found["cases"][0]["failures"][0]
    assert failure["where"] == f"asserts.toml, [[assert]] 1: {about}"
    assert got in failure["got"]
    assert failure["offset"] is not None
    assert failure["evidence"].startswith(f"{failure['source']}@{failure['offset']}: ")


def test_a_limit_is_quoted_as_it_was_written(check: Check) -> None:
    ran = check(asserts("min_kv_tokens = 1048577\nmin_acceptance = 0.05", *CARD))
    assert "assert 1: min_kv_tokens = 1048577\n" in ran.out
    assert "assert 1: min_acceptance = 0.05\n" in ran.out


def test_a_wording_that_is_not_known_is_drift(check: Check) -> None:
    new = "0.02.000.000 I load_tensors:        CUDA0 weights take                4.80 GiB of the card\n"
    Path("server.log").write_text(NOW + new)
    ran = check(asserts("no_format_drift = true", "server.log"))
    assert ran.code == 1
    assert "1 lines of load_tensors with a size or a device, in wordings that are not known" in ran.out


UNKNOWN = [
    ("max_unexplained_mib = 1", ["server.log"], "load 1 (alpha.gguf), CUDA0", "the card was not measured"),
    ('model = "beta"\nno_ping_pong = true', ["server.log"], "", "no load shows in the evidence (model beta)"),
    ("max_weights_mib = 1", [FIXTURES / "logs" / "llama-default-verbosity.log"], "", "how much its weights take"),
    ('model = "alpha*"\nmin_acceptance = 0.5', ["server.log"], "", "no line counts what is drafted and accepted"),
    ("max_unexplained_mib = 1", [OOM], "all loads", "no load got as far as to hold memory"),
    ("max_weights_mib = 1", [OOM], "all loads", "no load got as far as to hold memory"),
    ("no_failures = true", ["other.log"], "", "no load shows in the evidence (all loads)"),
    ("no_format_drift = true", ["other.log"], "", "no load shows in the evidence (all loads)"),
    ("no_ambiguous_memory = true", ["other.log"], "", "no load shows in the evidence (all loads)"),
]


@pytest.mark.parametrize(
    ("row", "inputs", "about", "got"), UNKNOWN, ids=[row.replace("\n", ", ") for row, *_ in UNKNOWN]
)
def test_what_the_evidence_cannot_tell_neither_holds_nor_fails(
    check: Check, row: str, inputs: list[Path | str], about: str, got: str
) -> None:
    ran = check(asserts(row, *inputs), "--format", "json")
    found = json.loads(ran.out)
    assert (ran.code, found["passed"], found["failed"], found["unproven"]) == (3, 0, 0, 1)
    unproven = found["cases"][0]["unproven"][0]
    assert about in unproven["where"]
    assert got in unproven["got"]


# -- a baseline -------------------------------------------------------------------------------------------------------


def test_a_load_is_compared_with_its_like_in_the_baseline(check: Check) -> None:
    same = asserts("max_growth_mib = 10\nno_changes = true", "server.log", baseline="before.log")
    assert check(same) == (0, "ok  assert 1: max_growth_mib = 10\nok  assert 1: no_changes\n2 checks, all hold\n", "")
    Path("before.log").write_text(LOG.format(build=11400, weights="4814.18", cells=32768))
    ran = check(same)
    assert ran.code == 1
    assert "MiB, 100.00 more than the baseline" in ran.out
    assert "11400 before, 11434 now" in ran.out
    Path("before.log").write_text(NOW.replace("alpha", "beta"))
    ran = check(same)
    assert ran.code == 3
    assert "the baseline has no such load that got ready" in ran.out


def test_a_load_that_never_got_ready_cannot_be_compared(check: Check) -> None:
    ran = check(asserts("max_growth_mib = 10\nno_changes = true", OOM, baseline="before.log"))
    assert (ran.code, ran.out.count("no load got ready")) == (3, 2)


def test_inputs_and_baseline_of_the_command_line_go_before_those_of_the_file(check: Check) -> None:
    text = asserts("max_growth_mib = 0", "gone.log", baseline="gone.log")
    assert check(text, "--input", "server.log", "--baseline", "before.log").code == 0


# -- what a program reads ---------------------------------------------------------------------------------------------

BOTH = 'inputs = ["server.log"]\n[[assert]]\nmax_weights_mib = 1\nmax_unexplained_mib = 1\nno_failures = true\n'


def test_junit_has_a_test_case_for_each_assertion(check: Check) -> None:
    ran = check(BOTH, "--format", "junit")
    suite = ElementTree.fromstring(ran.out).find("testsuite")  # noqa: S314  # our own output
    assert suite is not None
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    assert [(case.get("name"), [found.tag for found in case]) for case in suite] == [
        ("assert 1: max_weights_mib = 1", ["failure"]),
        ("assert 1: max_unexplained_mib = 1", ["error"]),
        ("assert 1: no_failures", []),
    ]


def test_sarif_points_at_the_line(check: Check) -> None:
    (run,) = json.loads(check(BOTH, "--format", "sarif").out)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "max_weights_mib",
        "max_unexplained_mib",
        "no_failures",
    ]
    fails, unknown = run["results"]
    assert (fails["ruleId"], fails["level"]) == ("max_weights_mib", "error")
    place = fails["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("server.log", 3)
    assert (unknown["ruleId"], unknown["level"]) == ("max_unexplained_mib", "warning")
    assert unknown["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "asserts.toml"


def test_github_gets_an_annotation_on_the_line(check: Check) -> None:
    lines = check(BOTH, "--format", "github").out.splitlines()
    assert lines[0].startswith(
        "::error file=server.log,line=3,title=assert 1%3A max_weights_mib = 1::"
        "asserts.toml, [[assert]] 1: load 1 (alpha.gguf): expected max_weights_mib = 1, got 4914.18 MiB of weights"
    )
    assert lines[1].startswith("::warning file=asserts.toml,title=assert 1%3A max_unexplained_mib = 1::")
    assert lines[-1] == "3 checks, 1 failed, 1 cannot be told"


@pytest.mark.parametrize("output", ["text", "json", "junit", "sarif", "github"])
def test_a_name_in_a_log_is_no_command_and_no_markup(check: Check, output: str) -> None:
    hostile = "/m/a\x1b[2J%0A::error::x<b>\u202e&.gguf"
    Path("server.log").write_text(NOW.replace("/m/alpha.gguf", hostile))
    ran = check(asserts("max_weights_mib = 1", "server.log"), "--format", output)
    assert ran.code == 1
    assert not {"\x1b", "\u202e"} & set(ran.out)
    assert sum(line.startswith("::") for line in ran.out.splitlines()) == (output == "github")
    if output == "junit":
        ElementTree.fromstring(ran.out)  # noqa: S314  # our own output
    if output == "github":
        assert "%250A" in ran.out


# -- files that cannot be used ----------------------------------------------------------------------------------------

WRONG = {
    "no TOML": ("inputs = [", "asserts.toml: "),
    "an unknown key": ("input = []", "asserts.toml: unknown keys input; known: assert, baseline, claim, inputs, tz"),
    "an unknown rule": (
        asserts("max_mib = 1", "server.log"),
        "asserts.toml, [[assert]] 1: unknown keys max_mib; known: ",
    ),
    "nothing asserted": ('inputs = ["server.log"]', "asserts.toml: it asserts nothing; write [[assert]] rows with "),
    "a row without a rule": (
        asserts('unit = "a"', "server.log"),
        "asserts.toml, [[assert]] 1: it asserts nothing; known: ",
    ),
    "a rule switched off": (asserts("no_failures = false", "server.log"), "no_failures is true, or is left out"),
    "a number as text": (asserts('max_weights_mib = "1"', "server.log"), "max_weights_mib must be a number, not '1'"),
    "a number that nothing exceeds": (
        asserts("max_weights_mib = nan", "server.log"),
        "max_weights_mib must be a number, not nan",
    ),
    "a selector as number": (asserts("unit = 1\nno_failures = true", "server.log"), "unit must be a text, not 1"),
    "another moment": (
        asserts('at = "noon"\nno_failures = true', "server.log"),
        "at must be one of asleep, last, ready",
    ),
    "no inputs": ("[[assert]]\nno_failures = true", "asserts.toml: no inputs; name them there"),
    "no baseline": (asserts("no_changes = true", "server.log"), "no_changes compares with a baseline; name it there"),
    "inputs that are no list": (
        'inputs = "a"\n[[assert]]\nno_failures = true',
        "inputs must be a list of paths, not 'a'",
    ),
    "a zone that is no text": ("tz = 1\n[[assert]]\nno_failures = true", "tz must be a text, not 1"),
    "one of two that is not there": (asserts("no_failures = true", "server.log", "gone.log"), "gone.log: it cannot be"),
    "an input that is not there": (asserts("no_failures = true", "gone.log"), "none of the inputs could be read"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(check: Check, name: str) -> None:
    text, message = WRONG[name]
    ran = check(text)
    assert (ran.code, ran.out, message in ran.err) == (2, "", True), ran.err


def test_the_workflow_of_the_docs_asserts_what_can_be_asserted(check: Check) -> None:
    text = (ROOT / "docs" / "check.md").read_text("utf-8")
    example = text.split("```toml\n", 1)[1].split("```", 1)[0]
    Path("before.log").write_text(NOW)
    ran = check(example, "--input", "server.log", "--baseline", "before.log", "--format", "json")
    assert (ran.code, ran.err) == (3, "")  # its service and model are not those of this log
    assert {one["rule"] for one in json.loads(ran.out)["cases"]} == set(RULES)
