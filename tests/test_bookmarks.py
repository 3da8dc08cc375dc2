"""A log that grew is read on from a bookmark, and its case is the one that reading all of it gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cases_on_disk import tables
from test_restarts import bare, compose

from forensics.errors import CaseError
from forensics.ingest import ingest
from forensics.records import Block, Options, read_inputs
from forensics.records.again import Places, read_again

FIXTURES = Path(__file__).parents[1] / "fixtures"
LOG = (FIXTURES / "logs" / "llama-sleep.log").read_text()
FORGED = (FIXTURES / "llama-forged-lines" / "server.log").read_text()
BLOCK = 64 * 1024
"""What is read at once here, a sixty-fourth of the usual."""

CHUNK = BLOCK // 4


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs need not be long to have many blocks."""
    monkeypatch.setattr("forensics.ingest.Options", partial(Options, block_bytes=BLOCK))
    for module in ("records.block", "bookmarks", "ingest"):
        monkeypatch.setattr(f"forensics.{module}.CHUNK", CHUNK)
    monkeypatch.setattr("forensics.bookmarks.BATCH", 100)
    monkeypatch.setattr("forensics.records.again.GAP", 1000)


IDLE = "0.30.000.000 I srv  update_slots: all slots are idle"


def chatter(size: int) -> str:
    """Lines of which few are wanted."""
    lines = (IDLE if number % 300 == 299 else f"chatter of no importance, number {number:08}" for number in range(size))
    return "".join(f"{line}\n" for line in lines)[:size].rpartition("\n")[0] + "\n"


def at(number: int) -> str:
    """The time of a line that is one of ten each second."""
    return f"2026-09-18T{8 + number // 36_000:02}:{number // 600 % 60:02}:{number // 10 % 60:02}.000000001Z"


def stamped(text: str) -> str:
    """`docker logs -t`."""
    return "".join(f"{at(number)} {line}\n" for number, line in enumerate(text.splitlines()))


def split_json(text: str) -> str:
    """What the json-file driver keeps: of a long line two entries, and one of the other output between them."""

    def entry(number: int, text: str, output: str = "stderr") -> str:
        return json.dumps({"log": text, "stream": output, "time": at(number)}) + "\n"

    out: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if number % 7 or len(line) < 20:
            out.append(entry(number, f"{line}\n"))
        else:
            out += [entry(number, line[:9]), entry(number, "beside\n", "stdout"), entry(number, f"{line[9:]}\n")]
    return "".join(out)


def split_cri(text: str) -> str:
    """What a kubelet keeps: of a long line two, and one of the other output between them."""
    out: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if number % 7 or len(line) < 20:
            out.append(f"{at(number)} stdout F {line}\n")
        else:
            out += [f"{at(number)} stdout P {line[:9]}\n", f"{at(number)} stderr F beside\n"]
            out.append(f"{at(number)} stdout F {line[9:]}\n")
    return "".join(out)


def messages(text: str) -> str:
    """A program that prints JSON."""
    return "".join(json.dumps({"level": "info", "msg": line}) + "\n" for line in text.splitlines())


FORMS: list[Callable[[str], str]] = [bare, stamped, split_json, compose, split_cri, messages]


def grown(folder: Path, content: bytes, *sizes: int) -> tuple[str, list[str]]:
    """Let a log grow, bring its case up to date each time; what became of it at last, and tables that are not right."""
    log, case, fresh = folder / "server.log", folder / "grown.case", folder / "fresh.case"
    words = ""
    for size in (*sizes, len(content)):
        log.write_bytes(content[:size])
        words = "".join(one.words for one in ingest([str(log)], case).changes)
    ingest([str(log)], fresh)
    found, right = tables(case), tables(fresh)
    assert right["bookmark"]
    return words, [name for name in right if found[name] != right[name]]


@pytest.mark.parametrize("form", [bare, split_json, compose, split_cri])
def test_a_log_that_grew_is_read_on_and_its_case_is_that_of_the_whole_log(
    tmp_path: Path, form: Callable[[str], str]
) -> None:
    parts = [
        LOG,
        chatter(3 * BLOCK // 4),
        FORGED,
        chatter(BLOCK // 3),
        LOG,
        chatter(BLOCK),
        FORGED,
        chatter(BLOCK // 5),
    ]
    content = form("".join(parts) + LOG).encode()
    size = len(content)
    words, wrong = grown(tmp_path, content, size - 11_111)
    assert words.startswith("grew by 11111 bytes; read on from byte ")
    assert int(words.split()[-1]) > BLOCK // 2
    assert not wrong


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_no_bookmark_stands_inside_a_text(tmp_path: Path, share: float) -> None:
    """Texts that clients sent lie across the end of each block."""
    before = 2 * BLOCK - int(len(FORGED) * share)
    pad = chatter(before - len(LOG))
    content = f"{LOG}{pad}{'-' * (before - len(LOG) - len(pad) - 1)}\n{FORGED}{chatter(BLOCK)}{FORGED}{LOG}".encode()
    words, wrong = grown(tmp_path, content, len(content) - len(LOG) - 5_000)
    assert "read on from byte" in words
    assert not wrong


def test_a_line_that_only_reports_is_still_named_as_the_one_that_carries_another(tmp_path: Path) -> None:
    """A token whose text imitates its own end, and then holds an amount."""
    token = next(line for line in LOG.splitlines(keepends=True) if "BOS token" in line)
    forged = f"{token}load_tensors:        CUDA0 model buffer size =   999.00 MiB\ny'\n"
    content = f"{LOG.replace(token, forged)}{chatter(5 * BLOCK)}{LOG}".encode()
    words, wrong = grown(tmp_path, content, len(content) - 20_000)
    assert "read on from byte" in words
    assert not wrong
    (carrier,) = {row[-2] for row in tables(tmp_path / "grown.case")["line"] if row[-2] is not None}
    assert [row[-1] for row in tables(tmp_path / "grown.case")["line"] if row[0] == carrier] == [token.rstrip("\n")]


def test_lines_with_amounts_that_nothing_reads_are_counted_on(tmp_path: Path) -> None:
    odd = "".join(f"0.30.000.000 I srv  odd: {number} MiB of kind {number % 7}\n" for number in range(5000))
    content = f"{LOG}{odd}{chatter(BLOCK)}{odd}{LOG}".encode()
    words, wrong = grown(tmp_path, content, len(content) - 30_000)
    assert "read on from byte" in words
    assert not wrong
    assert len(tables(tmp_path / "grown.case")["unread"]) >= 2000


def test_what_lies_between_wanted_lines_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    content = bytearray(f"{LOG}{chatter(5 * BLOCK)}".encode())
    log.write_bytes(content)
    ingest([str(log)], case)
    monkeypatch.setattr("forensics.bookmarks.SAMPLES", 2)
    unseen = content.index(b"\nchatter", BLOCK) + 1
    content[unseen : unseen + 7] = b"unheard"
    assert b"\nunheard of no importance" in content
    log.write_bytes(content + LOG.encode())
    (change,) = ingest([str(log)], case).changes
    assert change.words.startswith(f"grew by {len(LOG.encode())} bytes; read on from byte ")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"model loaded", b"model loader"), (b"\nchatter", b" chatter")],
    ids=["known lines", "where lines end in the block before the bookmark"],
)
def test_a_log_that_is_another_where_it_is_known_is_read_whole_and_seen_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes
) -> None:
    monkeypatch.setattr("forensics.bookmarks.SAMPLES", 2)
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    content = f"{chatter(2 * BLOCK - 3000)}{LOG}{chatter(5 * BLOCK)}".encode()
    log.write_bytes(content)
    ingest([str(log)], case)
    begun = int(str(tables(case)["bookmark"][0][1]))
    before = case.read_bytes()
    at = content.index(old, 0 if b"model" in old else begun)
    log.write_bytes(content[:at] + new + content[at + len(old) :] + LOG.encode())
    with pytest.raises(CaseError, match="begins with other bytes than it did"):
        ingest([str(log)], case)
    assert case.read_bytes() == before


def test_a_log_that_is_gone_or_shorter_is_not_read_on(tmp_path: Path) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    log.write_text(LOG + chatter(3 * BLOCK))
    ingest([str(log)], case)
    log.write_text(LOG + chatter(2 * BLOCK))
    with pytest.raises(CaseError, match="was truncated"):
        ingest([str(log)], case)
    log.unlink()
    with pytest.raises(CaseError, match="cannot be read: no such file"):
        ingest([str(log)], case)


def test_a_log_that_was_emptied_and_written_anew_is_not_read_on(tmp_path: Path) -> None:
    log, case = tmp_path / "server.log", tmp_path / "c.case"
    log.write_text(LOG + chatter(3 * BLOCK))
    ingest([str(log)], case)
    log.write_text(chatter(4 * BLOCK) + LOG)
    with pytest.raises(CaseError, match="begins with other bytes than it did"):
        ingest([str(log)], case)
    evidence = ingest([str(log)], case, forget=True).evidence
    assert evidence is not None
    assert not evidence.sources[0].begun.offset


def test_beside_another_source_that_holds_the_same_lines_both_are_read_on(tmp_path: Path) -> None:
    logs = [tmp_path / "server.log", tmp_path / "server-json.log"]
    case, fresh = tmp_path / "c.case", tmp_path / "f.case"
    end = (FIXTURES / "logs" / "llama-one-card.log").read_text()
    text = LOG + chatter(5 * BLOCK // 2) + end
    for grown in (text.removesuffix(end), text):
        logs[0].write_text(grown)
        logs[1].write_text(split_json(grown))
        found = ingest([str(log) for log in logs], case)
    ingest([str(log) for log in logs], fresh)
    assert ["read on from byte" in one.words for one in found.changes] == [True, True]
    assert tables(case) == tables(fresh)
    assert tables(case)["twin"]


def test_other_patterns_read_all_lines_again(tmp_path: Path) -> None:
    log, case, mine = tmp_path / "server.log", tmp_path / "c.case", tmp_path / "mine.toml"
    log.write_text(LOG + chatter(5 * BLOCK // 2))
    ingest([str(log)], case)
    mine.write_text(
        'program = "llama.cpp"\n[[pattern]]\nname = "mine"\nevent = "MarkerSeen"\nconst = { what = "mine" }\n'
        "contains = \"number 00000\"\nregex = '^chatter of no importance, number 00000\\d+$'\n"
        '[[pattern.sample]]\nline = "chatter of no importance, number 00000001"\n'
    )
    with log.open("a") as end:
        end.write("chatter\n")
    (change,) = ingest([str(log)], case, patterns=[mine]).changes
    assert change.words == "grew by 8 bytes"


@settings(deadline=None, max_examples=60)
@given(
    text=st.lists(
        st.sampled_from(["alpha", "", "a\rb", "beta " * 30, "é", "\t", "gamma " * 500]), min_size=1, max_size=60
    ),
    form=st.sampled_from(FORMS),
    chosen=st.data(),
)
def test_records_that_are_read_again_by_their_places_are_the_same(
    text: list[str], form: Callable[[str], str], chosen: st.DataObject
) -> None:
    import tempfile  # noqa: PLC0415

    with tempfile.NamedTemporaryFile() as file:
        file.write(form("\n".join(text) + "\n").encode())
        file.flush()
        whole = [one for one in read_inputs([file.name]) if isinstance(one, Block)]
        every = {
            block.first_record + number: (
                int(block.offsets[number]),
                int(block.lengths[number]),
                block.message(number),
                int(block.times[number]),
                block.stream_table[int(block.streams[number])],
            )
            for block in whole
            for number in range(len(block))
        }
        wanted = sorted(chosen.draw(st.sets(st.sampled_from(sorted(every)), min_size=1))) if every else []
        if not wanted:
            return
        places = Places(
            *(np.array(column, np.int64) for column in zip(*((n, *every[n][:2]) for n in wanted), strict=True))
        )
        again = {
            int(record): (
                int(block.offsets[number]),
                int(block.lengths[number]),
                block.message(number),
                int(block.times[number]),
                block.stream_table[int(block.streams[number])],
            )
            for block, records in read_again(Path(file.name), whole[0].source.format, places, Options(block_bytes=64))
            for number, record in enumerate(records)
        }
    assert again == {number: every[number] for number in wanted}
