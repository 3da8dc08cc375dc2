"""Pattern files of a user: added to the known ones, checked like them, explained, and never able to stop a run."""

from __future__ import annotations

import json
import re
import time
from functools import partial
from pathlib import Path

import duckdb
import pytest
import regex
from typer.testing import CliRunner

from forensics.case import read_evidence, store
from forensics.catalogue import COMPONENT, load_catalogue
from forensics.cli import app
from forensics.errors import CatalogueError
from forensics.growth import growth
from forensics.opened import open_inputs, ready
from forensics.pattern_checks import explain_line, lint, run_samples
from forensics.question import load_questions
from forensics.safe import LIVE_WORD, PLAIN_WORD
from forensics.scan import TOKENS
from forensics.twins import WITNESS
from forensics.units import _DURATION_STEP

ADDED = """
program = "llama.cpp"
[[pattern]]
name = "house_tweak"
event = "SettingReported"
contains = "house tweak"
regex = '^house tweak (?P<name>\\w+)=(?P<value>\\S+)$'
[[pattern.sample]]
line = "house tweak cache=on"
expect = { name = "cache", value = "on" }
[[pattern.never]]
line = "house tweak cache is on"
"""

OWN = """
program = "house"
title = "House server"
[[pattern]]
name = "weights"
event = "BufferAllocated"
const = { kind = "weights", device = "CUDA0" }
contains = "holding"
regex = '^holding (?P<size_bytes>[\\d.]+) MiB$'
unit.size_bytes = "MiB"
effect.item = { combine = "add", per = "part" }
effect.implies_load = { phase = "allocate" }
[[pattern.sample]]
line = "holding 12.00 MiB"
expect = { kind = "weights", device = "CUDA0", size_bytes = 12582912 }
[[pattern.never]]
line = "holding on"
"""

SLOW = """
program = "slow"
title = "Slow"
[[pattern]]
name = "nested"
const = { what = "nested" }
contains = "aaaa"
regex = '^(a|aa)+$'
[[pattern.sample]]
line = "aaaa"
expect = { what = "nested" }
[[pattern.never]]
line = "aaaab"
"""


@pytest.fixture
def added(tmp_path: Path) -> Path:
    path = tmp_path / "added.toml"
    path.write_text(ADDED)
    return path


def test_every_installed_pattern_is_sound() -> None:
    catalogue = load_catalogue()
    assert lint(catalogue) == []
    count, faults = run_samples(catalogue)
    assert faults == []
    assert count > 1000


@pytest.mark.parametrize(
    ("builds", "said", "fault"),
    [
        ('since = "b900"\nuntil = "b1000"', "from b900 to b1000", None),
        ('since = "0.9.2"\nuntil = "0.10.0"', "from 0.9.2 to 0.10.0", None),
        ('since = "0.33.0-rc2"\nuntil = "0.33.0"', "from 0.33.0-rc2 to 0.33.0", None),
        ('since = "b1000"\nuntil = "b900"', "from b1000 to b900", "until b900 is not later than since b1000"),
        ('since = "0.10.0"\nuntil = "0.10.0"', "from 0.10.0 to 0.10.0", "until 0.10.0 is not later than since 0.10.0"),
        ('until = "b900"', "from the first build the catalogue knows to b900", None),
    ],
)
def test_the_builds_of_a_wording_are_said_and_in_order(
    tmp_path: Path, builds: str, said: str, fault: str | None
) -> None:
    path = tmp_path / "added.toml"
    path.write_text(ADDED.replace("contains =", f"{builds}\ncontains ="))
    catalogue = load_catalogue([path])
    assert [one.what for one in lint(catalogue)] == ([fault] if fault else [])
    assert [one.builds for one in explain_line(catalogue, "house tweak cache=on")][:1] == [said]


def test_a_user_adds_a_wording_to_a_known_program(tmp_path: Path, added: Path) -> None:
    (tmp_path / "server.log").write_text("build_info: b8700-74b8fc17f\nhouse tweak cache=on\n")
    rows = open_inputs([str(tmp_path / "server.log")], patterns=[added]).connection.execute(
        "SELECT name, value FROM setting_reported"
    )
    assert rows.fetchall() == [("cache", "on")]


def test_a_line_that_ends_before_what_its_event_has_to_say_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(ADDED.replace("=(?P<value>\\S+)", "(?:=(?P<value>\\S+))?"), "utf-8")
    (tmp_path / "server.log").write_text("house tweak cache=on\nhouse tweak cache\nhouse tweak b=2\n", "utf-8")
    found = open_inputs([tmp_path / "server.log"], patterns=[tmp_path / "house.toml"]).connection
    assert found.execute("SELECT name, value FROM setting_reported ORDER BY ordinal").fetchall() == [
        ("cache", "on"),
        ("b", "2"),
    ]
    assert found.execute("SELECT hit, read, missed FROM scan_count").fetchall() == [(3, 2, 1)]


def test_a_user_describes_a_program_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "server.log").write_text("holding 4.00 MiB\nholding 2.00 MiB\n")
    rows = open_inputs([str(tmp_path / "server.log")], patterns=[tmp_path / "own.toml"]).connection.execute(
        "SELECT engine, kind, size_bytes FROM vram_ledger JOIN loads USING (load_id)"
    )
    assert rows.fetchall() == [("house", "weights", 6291456)]


def test_patterns_kept_in_the_folder_of_settings_are_always_read(
    tmp_path: Path, added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "config" / "forensics" / "patterns.d"
    folder.mkdir(parents=True)
    added.rename(folder / "house.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "server.log").write_text("house tweak cache=on\n")
    rows = open_inputs([str(tmp_path / "server.log")]).connection.execute("SELECT name FROM setting_reported")
    assert rows.fetchall() == [("cache",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('process_name = ["x"]\n' + ADDED, "leave that key out", id="changes the program"),
        pytest.param(ADDED.replace("house_tweak", "weights_buffer"), "the name is used twice", id="takes a name"),
        pytest.param(ADDED.replace("(?P<name>", "(?P<nam>"), "group 'nam' is no field", id="unknown field"),
        pytest.param(ADDED.replace("\\w+", "(\\w+"), "bad regular expression", id="bad expression"),
        pytest.param("program = 1\npattern = 2", "'pattern' is a list", id="no list"),
        pytest.param("not toml", "not valid TOML", id="no TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(CatalogueError, match=message) as refused:
        load_catalogue([path])
    assert str(path) in str(refused.value)


def test_an_expression_that_takes_too_long_is_given_up_and_told(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "server.log").write_text(("a" * 60 + "b\n") * 50)
    begun = time.monotonic()
    opened = open_inputs([str(tmp_path / "server.log")], patterns=[tmp_path / "slow.toml"])
    assert time.monotonic() - begun < 30
    assert opened.connection.execute("SELECT severity, what, count FROM problem").fetchall() == [
        ("loss", "the expression took longer than 0.1 s on 3 lines and was not tried on 47 more", 50)
    ]
    assert "slow.toml: pattern 'nested'" in opened.notes[0]


GROWING = {
    "two ways to read a text": (r"^(a|aa)+$", "aaaa"),
    "two repeats of one thing": (r"^size +=? *\d+$", "size = 5"),
    "a search before a search": (r"^a .*b=\d+.*c=\d+$", "a b=1 c=2"),
}


@pytest.mark.parametrize("name", GROWING)
def test_an_expression_that_takes_more_than_in_proportion_is_found(name: str) -> None:
    expression, sample = GROWING[name]
    bounded = partial(regex.compile(expression).match, timeout=0.1)
    assert growth(bounded, [sample]) is not None


@pytest.mark.parametrize(
    ("expression", "method", "sample"),
    [
        (COMPONENT, "match", "llama_model_loader: a"),
        (LIVE_WORD, "search", "www.a//b:c"),
        (PLAIN_WORD, "fullmatch", "(it's 1.5/2%)."),
        (TOKENS, "search", "takes 4,096 tokens: 5"),
        (WITNESS, "search", "took 1.25.5 ms at 12:30:00"),
        (_DURATION_STEP, "findall", "1h2m3.5s"),
    ],
    ids=["component", "live word", "plain word", "tokens", "witness", "duration"],
)
def test_the_program_s_own_expressions_take_time_in_proportion_to_a_log_s_text(
    expression: re.Pattern[str], method: str, sample: str
) -> None:
    again = regex.compile(expression.pattern, regex.VERBOSE if expression.flags & re.VERBOSE else 0)
    assert growth(partial(getattr(again, method), timeout=0.1), [sample, "aaaa", "a_b_c", "1,1.1"]) is None


@pytest.mark.parametrize("expression", [r"^size +(?:= *)?\d+$", r'^a(?: \w++=(?>"[^"]*+"(?!\S)|\S++))*+ end$'])
def test_one_that_leaves_one_way_to_read_a_text_is_not(expression: str) -> None:
    assert growth(re.compile(expression).match, ["size = 5", 'a k="v" end']) is None


def test_lint_names_the_pattern_and_what_was_repeated(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW.replace("'^(a|aa)+$'", "'^aaaa(?P<detail>(a|aa)*)$'"))
    faults = [one for one in lint(load_catalogue([tmp_path / "slow.toml"])) if "slow.toml" in one.where]
    assert any("more than in proportion" in one.what for one in faults)


# -- explain ----------------------------------------------------------------------------------------------------------


def test_explain_names_the_pattern_that_reads_a_line_with_its_fields() -> None:
    first = explain_line(
        load_catalogue(), "0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB"
    )[0]
    assert (first.program, first.pattern, first.reads, first.prefix) == (
        "llama.cpp",
        "weights_buffer",
        True,
        "0.00.300.000 I ",
    )
    assert dict(first.fields) == {"kind": "weights", "size_bytes": 4293971149, "device": "CUDA0"}


def test_explain_says_where_an_expression_stops() -> None:
    first = explain_line(load_catalogue(), "load_tensors:        CUDA0 model buffer size =  4095.05 GB")[0]
    assert (first.pattern, first.reads, first.matched, first.rest, first.failed) == (
        "weights_buffer",
        False,
        "load_tensors:        CUDA0 model buffer size =  4095.05 ",
        "GB",
        "MiB",
    )


def test_explain_finds_the_pattern_whose_literal_is_nearly_there() -> None:
    first = explain_line(load_catalogue(), "load_tensors: CUDA0 model buffer sizes = 1 MiB")[0]
    assert (first.pattern, first.literal_is, first.matched) == (
        "weights_buffer",
        "only “buffer size” is there",
        "load_tensors: CUDA0 model buffer size",
    )


def test_explain_says_when_a_grammar_does_not_take_the_line(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN + "[grammar]\nregex = '^> (?P<message>.*)$'\n")
    first = next(one for one in explain_line(load_catalogue([path]), "holding 12.00 MiB") if one.program == "house")
    assert (first.reads, first.because) == (False, "the grammar of the program does not take the line")


def test_the_commands_print_it_and_exit_by_it(tmp_path: Path, added: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["formats", *words])
        return result.exit_code, result.stdout

    newest = load_catalogue().program("llama.cpp").newest
    assert run("lint", str(added)) == (0, "1 pattern, 0 faults\n")
    assert run("test", str(added)) == (0, "2 samples, 0 faults\n")
    code, printed = run("explain", "house tweak cache=on", "--patterns", str(added))
    assert code == 0
    assert printed.startswith(
        "llama.cpp: house_tweak  reads it\n    literal   “house tweak”: there\n"
        f"    builds    from the first build the catalogue knows to the newest it knows ({newest})\n"
    )
    assert run("explain", "good morning\x1b]0;x\x07")[0] == 1
    assert json.loads(run("explain", "house tweak \x1b]", "--patterns", str(added), "--format", "json")[1])["line"] == (
        r"house tweak \x1b]"
    )
    (tmp_path / "bad.toml").write_text(ADDED.replace('value = "on"', 'value = "off"'))
    code, printed = run("test", str(tmp_path / "bad.toml"))
    assert code == 1
    assert "gives {'name': 'cache', 'value': 'on'} instead of {'name': 'cache', 'value': 'off'}" in printed


IMAGES = """\
layout: flux-dev on cuda:2
unet resident on cuda:2, 6.20 GiB
vae resident on cuda:2, 0.31 GiB
text_encoder resident on cpu, 9.10 GiB
ready after 11.8 s
"""


def test_the_example_of_an_image_server_does_what_the_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "patterns.md").read_text("utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    brought = load_catalogue(texts=[("image-server.toml", text)])
    assert lint(brought) == []
    assert run_samples(brought, ["image-server.toml"])[1] == []
    (tmp_path / "server.log").write_text(IMAGES)
    stored = duckdb.connect()
    store(read_evidence([tmp_path], brought), stored)
    connection = ready(stored, load_questions(), None)
    assert connection.execute("SELECT engine, model, ready_line IS NOT NULL FROM load").fetchall() == [
        ("image server", "flux-dev", True)
    ]
    ledger = "SELECT device, round(sum(size_bytes) / 1073741824, 2) FROM vram_ledger GROUP BY device ORDER BY device"
    assert connection.execute(ledger).fetchall() == [("cpu", 9.1), ("cuda:2", 6.51)]


@pytest.mark.parametrize(
    ("line", "pattern", "literal_is", "left"),
    [
        (
            "llama_kv_cache:      CUDA0 KV bufer size =  12.00 MiB",
            "kv_buffer",
            "only “ KV bu” and “fer size =” are there",
            "er size =  12.00 MiB",
        ),
        ("GPU KV cach size: 212,336 tokens", "pool_tokens", "only “ KV cach” and “ size: ” are there", None),
    ],
    ids=["a letter is missing in a word", "at the end of one"],
)
def test_a_line_with_a_slip_in_the_literal_is_held_against_the_pattern_that_it_meant(
    line: str, pattern: str, literal_is: str, left: str | None
) -> None:
    first = explain_line(load_catalogue(), line)[0]
    assert (first.pattern, first.literal_is, first.reads) == (pattern, literal_is, False)
    assert left is None or first.rest == left


def test_a_line_may_come_from_standard_input() -> None:
    line = "srv  llama_server: model loaded\n"
    piped = CliRunner().invoke(app, ["formats", "explain", "-"], input=line)
    assert (piped.exit_code, piped.stdout) == (
        0,
        CliRunner().invoke(app, ["formats", "explain", line.rstrip()]).stdout,
    )


def test_a_wrong_name_of_an_event_gets_the_right_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN.replace("BufferAllocated", "BuferAllocated"))
    with pytest.raises(CatalogueError, match="unknown event 'BuferAllocated'; did you mean BufferAllocated\\?"):
        load_catalogue([tmp_path / "own.toml"])


@pytest.mark.parametrize(
    ("effect", "message"),
    [("", None), ('effect.end = { by = "self", reason = "exit" }\n', "a pasted line may be anybody's")],
    ids=["without an effect", "with one"],
)
def test_a_pattern_of_pasted_lines_has_no_effect(tmp_path: Path, effect: str, message: str | None) -> None:
    text = ADDED.replace('program = "llama.cpp"', 'program = "kernel"').replace(
        "[[pattern.sample]]", f"pasted = true\n{effect}[[pattern.sample]]"
    )
    (tmp_path / "own.toml").write_text(text)
    if message is None:
        load_catalogue([tmp_path / "own.toml"])
    else:
        with pytest.raises(CatalogueError, match=message):
            load_catalogue([tmp_path / "own.toml"])
