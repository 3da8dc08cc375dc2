"""The scan: which records are looked at, what is kept of those that no pattern reads, and what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.catalogue import load_catalogue
from forensics.engines import AhoCorasick, best_engine
from forensics.records import Block, read_inputs
from forensics.scan import Found, ScanCounts, Scanner

CATALOGUE = load_catalogue()
BUFFER = "load_tensors:        CUDA0 model buffer size =  5000.00 MiB"


def scanned(folder: Path, *lines: str, scanner: Scanner | None = None) -> tuple[list[Found], ScanCounts]:
    path = folder / "server.log"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    scanner = scanner or Scanner(CATALOGUE)
    found = [scanner.read(part) for part in read_inputs([path]) if isinstance(part, Block)]
    return found, scanner.counts[str(path)]


@pytest.mark.parametrize("content", [b"", b"nothing of note", b"a MiB of bytes", b"size = 1 MiB, 2 MiB\nsize = 3 MiB"])
def test_both_engines_give_a_place_inside_each_literal(content: bytes) -> None:
    literals = [b" MiB", b"size =", b"= 3"]
    for engine in (AhoCorasick(literals), best_engine(literals)):
        positions, numbers = (one.tolist() for one in engine.hits(content))
        assert positions == sorted(positions)
        assert sorted(numbers) == [at for at, one in enumerate(literals) for _ in range(content.count(one))]
        for at, number in zip(positions, numbers, strict=True):
            size = len(literals[number])
            assert literals[number] in content[max(0, at - size + 1) : at + size]


def test_a_log_of_which_nothing_is_wanted_is_counted_and_its_token_counts_are_looked_for(tmp_path: Path) -> None:
    found, counts = scanned(tmp_path, "nothing of note", "it holds 4096 tokens")
    assert [(one.lines, one.rows, one.source) for one in found] == [([], None, None)]
    assert (counts.records, counts.hit, counts.tokens, counts.tokens_read) == (2, 0, 1, 0)
    assert [(one.what, one.text) for one in counts.unread] == [("tokens", "it holds 4096 tokens")]


def test_of_lines_that_no_pattern_reads_the_first_are_kept_and_the_others_counted(tmp_path: Path) -> None:
    lines = [f"arena {number} takes 17.00 MiB" for number in range(5)]
    _, counts = scanned(tmp_path, *lines, scanner=Scanner(CATALOGUE, keep_unread=2))
    assert [(one.text, one.more) for one in counts.unread] == [(lines[0], 3), (lines[1], 0)]
    assert (counts.sized, counts.sized_read, counts.unread_dropped) == (5, 0, 0)


def test_a_line_whose_figure_no_table_can_hold_is_a_miss_and_the_others_of_its_wording_are_read(tmp_path: Path) -> None:
    wording = "slot print_timing: id  0 | task 1 | prompt eval time = {}.25 ms / 9 tokens (    1.00 ms per token,  "
    wording += "1000.00 tokens per second)"
    load = ["srv    load_model: loading model '/m/a.gguf'", BUFFER, "srv  llama_server: model loaded"]
    found, counts = scanned(tmp_path, *load, wording.format(100), wording.format("9" * 400))
    assert counts.missed == 1
    texts = [line.text for one in found for line in one.all()]
    assert texts == [*load, wording.format(100)]
    only, counts = scanned(tmp_path, *load, wording.format("9" * 400))
    assert [line.text for one in only for line in one.all()] == load
    assert counts.missed == 1
