"""Each command once: what it prints and its exit code; and what it says of inputs that are bad, beside good ones."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from forensics import __version__
from forensics.asked import QUESTIONS
from forensics.cli import main

FIXTURES = Path(__file__).parent.parent / "fixtures"
GOOD = FIXTURES / "llama-fit-beside-other"
INPUTS = [GOOD / "journal.export.gz", GOOD / "gpu.csv", GOOD / "apps.csv"]
LOG = """\
0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'
0.01.600.000 I load_tensors:          CPU model buffer size =  4914.18 MiB
0.02.500.000 I srv  llama_server: model loaded
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["forensics", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            main()
        captured = capsys.readouterr()
        return Ran(int(exited.value.code or 0), captured.out, captured.err)

    return command


# -- each command -----------------------------------------------------------------------------------------------------


def test_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"forensics {__version__}\n", "")


def test_explain_vram_prints_a_screen_of_80_columns(run: Run) -> None:
    code, out, err = run("explain-vram", *INPUTS)
    assert (code, err) == (0, "")
    assert out.startswith("Qwen3.6-27B-Q4_0 held 15.58 GiB on GPU 0.")
    assert max(len(line) for line in out.splitlines()) <= 80


def test_explain_vram_prints_one_json_document_and_nothing_else(run: Run) -> None:
    code, out, err = run("explain-vram", *INPUTS, "--format", "json")
    document = json.loads(out)
    device = document["loads"][0]["devices"][0]
    assert (code, err, document["schema"]) == (0, "", "forensics.explain-vram/1")
    assert device["measured_bytes"] == device["attributed_bytes"] + device["unexplained_bytes"]
    assert run("explain-vram", *INPUTS, "--format", "json").out == out


def test_explain_vram_prints_markdown(run: Run) -> None:
    code, out, _ = run("explain-vram", INPUTS[0], "--format", "md")
    assert code == 0
    assert "| weights | target | 14350.73 |" in out


def test_explain_vram_without_enough_evidence_is_3(run: Run) -> None:
    code, out, _ = run("explain-vram", FIXTURES / "llama-default-verbosity" / "journal.export.gz")
    assert code == 3
    assert "-lv 4" in out


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_prints_a_screen_and_a_document_of_its_schema(run: Run, name: str) -> None:
    code, out, err = run(name, *INPUTS)
    assert code in {0, 3}
    assert out
    assert err == ""
    assert json.loads(run(name, *INPUTS, "--format", "json").out)["schema"] == f"forensics.{name}/1"
    assert run(name, *INPUTS, "--format", "md").code == code


def test_check_passes_on_a_case_that_is_as_kept(run: Run) -> None:
    assert run("check", FIXTURES / "llama-split-row") == (0, "ok  llama-split-row\n1 case, all as kept\n", "")


def copied_case(tmp_path: Path) -> Path:
    case = tmp_path / "alpha"
    case.mkdir()
    (case / "server.log").write_text(LOG)
    (case / "case.toml").write_text(
        'title = "t"\nquestion = "explain-vram"\norigin = "written"\n'
        '[[expect]]\nload = 1\ndevice = "CPU"\npart = "target"\nkind = "weights"\nmib = 4914.18\n'
    )
    return case


def test_check_update_writes_what_comes_out_and_a_change_is_shown_with_its_line(run: Run, tmp_path: Path) -> None:
    case = copied_case(tmp_path)
    assert run("check", case).code == 1
    assert run("check", case, "--update").code == 0
    assert run("check", tmp_path).code == 0
    (case / "server.log").write_text(LOG.replace("4914.18", "4914.19"))
    code, out, _ = run("check", case)
    assert code == 1
    assert "expected/vram_ledger.csv, line 2" in out
    assert "shown by  server.log@64: 0.01.600.000 I load_tensors:" in out
    assert "[[expect]] 1" in out
    found = json.loads(run("check", case, "--format", "json").out)
    assert (found["schema"], found["passed"], found["failed"]) == ("forensics.check/1", 0, 1)
    assert run("check", case, "--update").code == 1  # what is stated is not rewritten


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("title = ", "case.toml: "),
        ('title = "t"', "case.toml: origin, question is missing"),
        ('title = "t"\nquestion = "why"\norigin = "o"', "no command asks 'why'"),
        ('title = "t"\nquestion = "loads"\norigin = "o"\ninputs = ["gone.log"]', "no such input: gone.log"),
        ('title = "t"\nquestion = "loads"\norigin = "o"\ncolour = 1', "unknown keys colour"),
        ('title = "t"\nquestion = "loads"\norigin = "o"\n[[expect]]\nmb = 1', "no row can state 'mb'"),
        ('title = "t"\nquestion = "loads"\norigin = "o"\n[[expect]]\nmib = "1"', "mib must be float, not '1'"),
    ],
    ids=["no TOML", "keys missing", "no command", "no input", "unknown key", "unknown statement", "wrong type"],
)
def test_check_says_what_is_wrong_with_a_case(run: Run, tmp_path: Path, toml: str, message: str) -> None:
    case = copied_case(tmp_path)
    (case / "case.toml").write_text(toml)
    code, _, err = run("check", case)
    assert (code, message in err) == (2, True), err


def test_check_without_a_case_says_where_it_looked(run: Run, tmp_path: Path) -> None:
    assert run("check", tmp_path) == (
        2,
        "",
        f"forensics: {tmp_path}: no case here; a case is a folder with a case.toml, see fixtures/README.md\n",
    )


# -- wrong use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no input, and nothing to look at on this machine: give log files"),
        (["server.log", "--at", "soonish"], "--at soonish: neither ready, last, asleep nor a time"),
        (["server.log", "--tz", "Mars"], "--tz Mars: no such zone; write it as Europe/Berlin or +02:00"),
        (["server.log", "--self-report", "24.52"], "--self-report 24.52: '24.52' has no unit of size"),
        (["server.log", "--load", "beta"], "--load beta: no such load; the evidence shows: 1 (/m/alpha.gguf)"),
        (["server.log", "--patterns", "gone.toml"], "gone.toml"),
    ],
    ids=["no input", "no time", "no zone", "no unit", "no load", "no patterns"],
)
def test_wrong_use_is_2_with_one_line_that_says_what_to_write(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    (tmp_path / "server.log").write_text(LOG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # the machine may have a card
    code, out, err = run("explain-vram", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


# -- bad inputs -------------------------------------------------------------------------------------------------------

APPS = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n2026/11/30 11:07:18.130, GPU-8f319f5c-9498"


def test_a_log_that_ends_while_a_model_loads_asks_for_its_rest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cut.log").write_text("".join(LOG.splitlines(keepends=True)[:1]))
    found = run("explain-vram", tmp_path / "cut.log")
    assert found.code == 3
    assert "the rest of this load: the log ends before it is ready" in found.out
    assert "Next  Give the log to its end, or look again when the model is ready." in found.out
    (tmp_path / "cut.log").write_text(LOG)
    assert "the rest of this load" not in run("explain-vram", tmp_path / "cut.log").out


def test_the_next_step_of_a_failure_is_about_memory_only_if_memory_was_refused(run: Run) -> None:
    logs = FIXTURES / "logs"
    assert "Next  Ask for less than was there" in run("explain-vram", logs / "llama-oom.log").out
    other = run("explain-vram", logs / "vllm-wrong-configuration.log").out
    assert "Next  Change what the failure names, and start it again" in other


BAD: dict[str, tuple[bytes, int, str]] = {
    "empty.log": (b"", 3, "empty.log: set aside: it holds nothing."),
    "binary.log": (bytes(range(256)) * 64, 2, "binary.log: set aside: its bytes are no text. give the text of a log"),
    "cut.log.gz": (
        gzip.compress(os.urandom(4000).hex().encode())[:2000],
        3,
        "cut.log.gz: the gzip stream is cut after 2000 bytes",
    ),
    "no-gzip.log.gz": (gzip.compress(b"some text")[:10], 2, "no-gzip.log.gz: the gzip stream is cut after 10 bytes"),
    "nul.log": (b"a line\0\0\0\n" * 20, 2, "nul.log: set aside: its bytes are no text"),
    "long.log": (b"x" * (50 << 20) + b"\nend\n", 3, "long.log: lines of more than 16777216 bytes were cut"),
    "strange.log": (b"a line \xff\n" * 20, 3, "strange.log: characters were torn: 20 sequences"),
    "cut.csv": (APPS.encode(), 3, "cut.csv: the last row is cut"),
}
"""What a bad file holds, the exit code when there is nothing else, and what is said of it."""


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_with_what_is_wrong_and_a_good_one_beside_it_is_used(
    run: Run, tmp_path: Path, name: str
) -> None:
    content, code, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    alone = run("explain-vram", tmp_path / name)
    assert (alone.code, message in alone.err) == (code, True), alone.err
    (tmp_path / "server.log").write_text(LOG)
    both = run("explain-vram", tmp_path)
    assert (both.code, message in both.err) == (0, True), both.err
    assert "4.80 GiB of host memory" in both.out


def test_a_path_that_does_not_exist_is_2_alone_and_a_good_one_beside_it_is_used(run: Run, tmp_path: Path) -> None:
    gone = tmp_path / "gone.log"
    message = f"forensics: {gone}: it cannot be read: no such file or directory. check the path and its permissions\n"
    assert run("explain-vram", gone) == (2, "", message + "forensics: none of the inputs could be read\n")
    (tmp_path / "server.log").write_text(LOG)
    code, out, err = run("explain-vram", gone, tmp_path / "server.log")
    assert (code, err) == (0, message)
    assert "4.80 GiB of host memory" in out


def test_a_file_that_cannot_be_opened_is_2_alone_and_a_good_one_beside_it_is_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as closed:  # nobody may open it, not even root
        closed.bind("secret.log")
        message = (
            "forensics: secret.log: it cannot be read: no such device or address. check the path and its permissions"
        )
        code, _, err = run("explain-vram", "secret.log")
        assert (code, err.splitlines()[0]) == (2, message)
        Path("server.log").write_text(LOG)
        assert run("explain-vram", "secret.log", "server.log").code == 0


def test_a_folder_without_files_is_2_and_named(run: Run, tmp_path: Path) -> None:
    assert run("explain-vram", tmp_path) == (
        2,
        "",
        f"forensics: {tmp_path}: there is no file in it; give a server's log or journal, and telemetry\n",
    )


@pytest.mark.parametrize("name", [*QUESTIONS, "explain-vram"])
def test_a_time_in_which_nothing_lived_is_3_and_says_when_something_did(run: Run, name: str) -> None:
    folder = "relayed-runners/server.log.gz" if name == "traffic" else "llama-oom"
    code, out, _ = run(name, FIXTURES / folder, "--around", "2026-11-29T09:00", "--quiet")
    told = " ".join(out.split())
    assert code == 3
    if name == "explain-vram":
        assert told.startswith("Cannot attribute: no model load lived in the time that was asked for.")
    else:
        assert told.startswith("Nothing in the time that was asked for: this evidence has ")
        assert "alive from 2026-11-30 11:" in told


def test_a_folder_of_files_that_are_no_logs_is_3_and_says_what_to_give(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    code, out, _ = run("explain-vram", tmp_path)
    assert code == 3
    assert "no model load was found in this evidence" in out
    assert "Give the server's log or journal from its start on." in out


@pytest.mark.parametrize(
    "line",
    [b"\0" * 4096, b"\xff\xfe\xc3\x28 \xed\xa0\x80", b"x" * (50 * 1024 * 1024), b"MiB " * 1000],
    ids=["NUL bytes", "invalid UTF-8", "a line of 50 MiB", "a line of units"],
)
def test_a_line_that_is_no_text_changes_nothing_of_the_lines_around_it(run: Run, tmp_path: Path, line: bytes) -> None:
    first, *rest = LOG.encode().splitlines(keepends=True)
    (tmp_path / "server.log").write_bytes(first + line + b"\n" + b"".join(rest))
    code, out, _ = run("explain-vram", tmp_path / "server.log")
    assert code == 0
    assert "4.80 GiB of host memory" in out


def test_bytes_of_a_name_that_are_no_text_are_shown_and_never_passed_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(LOG.encode().replace(b"alpha", b"al\x1b]0;x\x07\xff\x00pha"))
    code, out, _ = run("explain-vram", tmp_path / "server.log")
    assert code == 0
    assert "\x1b" not in out
    assert "\x00" not in out
    assert r"\x00" in out


@pytest.mark.parametrize(
    "words",
    [
        ("explain-vram", "NAME"),
        ("loads", "--case", "NAME"),
        ("loads", INPUTS[0], "--tz", "NAME"),
        ("loads", INPUTS[0], "--load", "NAME"),
        ("loads", INPUTS[0], "--around", "NAME"),
        ("explain-vram", INPUTS[0], "--self-report", "NAME"),
        ("explain-vram", INPUTS[0], "--patterns", "NAME"),
        ("verify", "NAME"),
        ("check", "NAME"),
        ("questions", "NAME"),
        ("query", "SELECT 'NAME", INPUTS[0]),
        ("report", INPUTS[0], "-o", "NAME/page.html"),
        ("capture", "/proc/NAME"),
    ],
    ids=lambda words: " ".join(str(one) for one in words if one not in INPUTS),
)
def test_what_an_error_quotes_is_shown_and_makes_no_line_of_its_own(run: Run, words: tuple[str | Path, ...]) -> None:
    name = "x\x1b]0;pwned\x07\x9b31m\u202e\n::error::y"
    code, out, err = run(*(one.replace("NAME", name) if isinstance(one, str) else one for one in words))
    assert (code, out) == (2, "")
    assert all(line.isprintable() for line in err.split("\n"))
    assert r"x\x1b]0;pwned\x07\u009b31m\u202e" in err
    assert not any(line.removeprefix("forensics: ").startswith("::") for line in err.splitlines())


def test_an_error_of_several_lines_keeps_them(run: Run) -> None:
    code, _, err = run("query", "SELECT nothing FROM loads", *INPUTS, "--quiet")
    assert code == 2
    assert err.splitlines()[-2:] == [
        "forensics: LINE 1: SELECT nothing FROM loads",
        "forensics:                ^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("forensics ex", {"explain-vram"}),
        ("forensics timeline --perf", {"--perfetto"}),
        ("forensics formats ", {"explain", "lint"}),
    ],
)
def test_a_shell_completes_commands_and_options(typed: str, offered: set[str]) -> None:
    asked = {"_FORENSICS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    program = "import sys; from forensics.cli import main; sys.argv[0] = 'forensics'; main()"
    shown = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert offered <= set(shown.stdout.split())


# -- a reader that goes -----------------------------------------------------------------------------------------------

PROGRAM = [sys.executable, "-c", "from forensics.cli import main; main()"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["explain-vram", GOOD, "--quiet"], 0),
        (["explain-vram", GOOD, "--quiet", "--format", "json"], 0),
        (["explain-vram", FIXTURES / "llama-default-verbosity", "--quiet"], 3),
        (["query", "SELECT * FROM line", GOOD, "--quiet"], 0),
        (["query", "SELECT repeat('x', 1000) FROM range(1000)", GOOD, "--quiet", "--format", "csv"], 0),
        (["explain-vram", "/nowhere"], 2),
    ],
)
@pytest.mark.parametrize("read", [0, 1])
def test_who_reads_no_further_changes_neither_the_exit_code_nor_what_is_said(
    arguments: list[str | Path], code: int, read: int
) -> None:
    asked = subprocess.Popen([*PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert asked.stdout is not None
    assert asked.stderr is not None
    asked.stdout.read(read)
    asked.stdout.close()
    said = asked.stderr.read().decode()
    asked.stderr.close()
    assert asked.wait() == code
    assert [line for line in said.splitlines() if not line.startswith(("forensics: ", "(the first "))] == []


def test_errors_that_nobody_reads_leave_the_exit_code() -> None:
    asked = subprocess.Popen([*PROGRAM, "explain-vram", "/nowhere"], stderr=subprocess.PIPE)
    assert asked.stderr is not None
    asked.stderr.close()
    assert asked.wait() == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_answer_that_does_not_fit_on_the_disk_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [*PROGRAM, "explain-vram", str(GOOD), "--quiet"]
        asked = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert asked.returncode == 2
    assert asked.stderr == b"forensics: what is printed cannot be written: No space left on device\n"
