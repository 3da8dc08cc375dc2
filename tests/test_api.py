"""The Python side gives what the command line gives, and its guide is run."""

from __future__ import annotations

import io
import json
import re
from contextlib import chdir, redirect_stdout
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import forensics
from forensics.cli import app
from forensics.errors import QuestionError, UsageError
from forensics.ingest import ingest

TOP = Path(__file__).parent.parent
GUIDE = (TOP / "docs" / "api.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)

LOG = """\
0.00.100.000 I build_info: b9999-abcdef12
0.00.200.000 I srv    load_model: loading model '/m/a.gguf'
0.00.300.000 I load_tensors:        CUDA0 model buffer size =  4095.05 MiB
0.00.400.000 I main: model loaded
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "server.log").write_text(LOG)
    return tmp_path / "server.log"


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_a_block_of_the_guide_prints_what_stands_under_it(code: str, printed: str) -> None:
    out = io.StringIO()
    with chdir(TOP), redirect_stdout(out):
        exec(compile(code, "docs/api.md", "exec"), {"forensics": forensics})  # noqa: S102  # our own guide
    assert out.getvalue() == printed


def test_the_guide_has_an_example_for_each_part() -> None:
    assert len(EXAMPLES) == GUIDE.count("```python") == 5


def test_what_is_promised_is_there() -> None:
    assert all(hasattr(forensics, name) for name in forensics.__all__)
    with pytest.raises(AttributeError):
        _ = forensics.nothing  # type: ignore[attr-defined, unused-ignore]


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a file"])
def test_answers_are_those_of_the_command_line(log: Path, tmp_path: Path, kept: bool) -> None:
    what = log
    if kept:
        what = tmp_path / "c.case"
        ingest([str(log)], what)
    with forensics.open_case(what) as case:
        for command, found in (("explain-vram", case.explain_vram()), ("loads", case.ask("loads"))):
            printed = CliRunner().invoke(app, [command, str(what), "--format", "json"]).stdout
            said = json.loads(printed)
            assert {key: said[key] for key in found} == found


def test_a_query_gives_a_frame_with_the_types_of_its_columns(log: Path) -> None:
    with forensics.open_case(log) as case:
        frame = case.query(
            "SELECT model, size_bytes, TRUE AS b, 1.5::DOUBLE AS d FROM vram_ledger JOIN loads USING (load_id)"
        )
        assert frame.rows() == [("/m/a.gguf", 4293971149, True, 1.5)]
        assert frame.dtypes == [pl.String, pl.Int64, pl.Boolean, pl.Float64]
        assert case.query("SELECT model, number FROM loads WHERE FALSE").dtypes == [pl.String, pl.Int64]
        assert case.query("loads").height == 1
        with pytest.warns(UserWarning, match="only the first 2 rows"):
            assert case.query("SELECT * FROM range(10)", rows=2).height == 2
        with pytest.raises(QuestionError, match="only SELECT"):
            case.query("COPY load TO '/tmp/x'")
        assert case.loads[0]["model"] == "/m/a.gguf"


def test_a_question_or_option_that_is_not_there_is_told_with_those_that_are(log: Path) -> None:
    with forensics.open_case([log]) as case:
        with pytest.raises(UsageError, match=r"nothing: no such question; there are .*loads"):
            case.ask("nothing")
        with pytest.raises(UsageError, match="loads has no option depth; it has none of its own"):
            case.ask("loads", depth=3)
        with pytest.raises(UsageError, match="--load 7: no such load"):
            case.explain_vram(load=7)
        assert "load_at(asked TIMESTAMPTZ)" in case.questions


def test_a_moment_may_be_asked_for_after_the_first_query(tmp_path: Path) -> None:
    folder = TOP / "fixtures" / "llama-single-card"
    ingest([str(folder)], tmp_path / "c.case")
    with forensics.open_case(tmp_path / "c.case") as case:
        at = case.loads[0]["ready_at"]
        assert case.query("SELECT count(*) FROM loads").item() == 1
        (load,) = case.explain_vram(at=at)["loads"]
        (card,) = (one for one in load["devices"] if one["where"] == "card")
        assert card["measured_bytes"] == card["attributed_bytes"] + card["unexplained_bytes"]
        assert card["measured_at"] <= at
