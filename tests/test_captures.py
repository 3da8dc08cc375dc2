"""What services say of themselves beside their logs: stored as it stands, and taken for --self-report from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from casing import case, rows

from forensics.errors import UsageError
from forensics.selfreport import stated_use

MODELS = (
    '{"models":[{"name":"x:latest","size":26330000000,"size_vram":24000000000,"context_length":262144},'
    '{"name":"y:7b","size":10,"size_vram":0}]}'
)
TABLE = """NAME        ID              SIZE     PROCESSOR    CONTEXT    UNTIL
x:latest    0123456789ab    26 GB    100% GPU     262144     4 minutes from now
"""


def test_captures_are_stored_with_where_they_stand(tmp_path: Path) -> None:
    found = case(tmp_path, models=MODELS, metrics="# TYPE a counter\na_total 3\n")
    assert rows(found, 'SELECT kind, model, card_bytes, context, "offset" FROM self_report ORDER BY ALL DESC') == [
        ("loaded", "y:7b", 0, None, 98),
        ("loaded", "x:latest", 24_000_000_000, 262_144, 11),
    ]
    assert rows(found, "SELECT name, value, labels, length FROM request_counter") == [("a_total", 3.0, None, 9)]


@pytest.mark.parametrize(
    ("content", "load", "stated"),
    [
        ("24.52GiB\n", None, (26_328_149_524, 5_368_709, "")),
        (MODELS, "x:latest", (24_000_000_000, 0, ": x:latest")),
        (TABLE, None, (26_500_000_000, 500_000_000, ": x:latest")),
    ],
    ids=["value", "list", "table"],
)
def test_a_self_report_is_read_from_a_file(
    tmp_path: Path, content: str, load: str | None, stated: tuple[int, int, str]
) -> None:
    path = tmp_path / "said"
    path.write_text(content)
    assert stated_use(str(path), load) == (*stated[:2], f"{path}{stated[2]}")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (MODELS, "it lists several models: x:latest (24000000000 B), y:7b (0 B). Give the value of one, or --load"),
        ("some text\n", "it holds neither a size with its unit nor a list of loaded models"),
    ],
    ids=["several", "none"],
)
def test_a_file_that_does_not_say_one_value_is_wrong_use(tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "said"
    path.write_text(content)
    with pytest.raises(UsageError) as raised:
        stated_use(str(path))
    assert str(raised.value) == f"--self-report {path}: {what}"
