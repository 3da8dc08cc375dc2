"""Container logs: the envelope becomes time and container, the message is what remains."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import Record, read

from forensics.records import NO_TIME, Options, Problem, Source, Stream
from forensics.records.json_lines import read_docker_json
from forensics.records.prefixed import read_prefixed

HERE = Stream("f")
T = 1789719104123456  # 2026-09-18T08:11:44.123456Z


def test_docker_json_gives_log_and_time_and_cites_the_entry(tmp_path: Path) -> None:
    line = rb'{"log":"say \"\u00e4\"\n","stream":"stderr","time":"2026-09-18T08:11:44.123456789Z"}' + b"\n"
    records, _, source = read(tmp_path, line * 2)
    message = 'say "ä"'.encode()
    size = len(line) - 1
    assert records == [Record(message, 0, size, T, HERE), Record(message, len(line), size, T, HERE)]
    assert (source.format, source.records, source.problems) == ("docker-json", 2, [])


def test_docker_json_joins_the_pieces_of_each_output(tmp_path: Path) -> None:
    lines = [
        b'{"log":"one ","stream":"stdout","time":"2026-09-18T08:11:44.123456789Z"}',
        b'{"log":"other\\n","stream":"stderr","time":"2026-09-18T08:11:45Z"}',
        b'{"log":"piece\\n","stream":"stdout","time":"2026-09-18T08:11:46Z"}',
    ]
    content = b"\n".join(lines) + b"\n"
    records, _, _ = read(tmp_path, content)
    assert records == [
        Record(b"other", len(lines[0]) + 1, len(lines[1]), 1789719105000000, HERE),
        Record(b"one piece", 0, len(content) - 1, T, HERE),
    ]


def test_docker_json_counts_what_is_no_entry(tmp_path: Path) -> None:
    entry = b'{"log":"one\\n","stream":"stdout","time":"2026-09-18T08:11:46Z"}\n'
    records, _, source = read(tmp_path, entry + b'{"log":"tw\n' + entry)
    assert [record.message for record in records] == [b"one", b"one"]
    what = "lines that are no entry of a container log"
    assert source.problems == [Problem("f", "loss", what, "get an intact copy", len(entry))]


@pytest.mark.parametrize(
    ("line", "name", "record"),
    [
        (
            b"2026-09-18T08:11:44.123456789Z stderr F hello",
            "cri",
            Record(b"hello", 40, 5, T, HERE),
        ),
        (
            b"2026-09-18T10:11:44.123456789+02:00 stdout F hello",
            "cri",
            Record(b"hello", 45, 5, T, HERE),
        ),
        (
            b"2026-09-18T08:11:44.123456789Z hello",
            "docker-times",
            Record(b"hello", 31, 5, T, HERE),
        ),
        (
            b"server-1  | hello",
            "compose",
            Record(b"hello", 12, 5, NO_TIME, Stream("f", container="server-1")),
        ),
        (
            b"server-1  | 2026-09-18T08:11:44.123456789Z hello",
            "compose",
            Record(b"hello", 43, 5, T, Stream("f", container="server-1")),
        ),
        (
            b"\x1b[36mserver-1  | \x1b[0mhello",
            "compose",
            Record(b"hello", 21, 5, NO_TIME, Stream("f", container="server-1")),
        ),
        (
            b"[pod/llm-6d9f/server] hello",
            "kubectl",
            Record(b"hello", 22, 5, NO_TIME, Stream("f", container="pod/llm-6d9f/server")),
        ),
        (
            b"[pod/llm-6d9f/server] 2026-09-18T08:11:44.123456789Z hello",
            "kubectl",
            Record(b"hello", 53, 5, T, Stream("f", container="pod/llm-6d9f/server")),
        ),
        (
            b"2026-09-18T10:11:44.123456789+02:00 hello",
            "docker-times",
            Record(b"hello", 36, 5, T, HERE),
        ),
        (
            b"llm-server 2026-09-18T10:11:44.123456789+02:00 hello",
            "podman",
            Record(b"hello", 47, 5, T, Stream("f", container="llm-server")),
        ),
    ],
    ids="cri cri-zone docker-t compose compose-t compose-colour kubectl kubectl-t podman-t podman-t-names".split(),
)
def test_a_prefix_becomes_time_and_container(tmp_path: Path, line: bytes, name: str, record: Record) -> None:
    records, _, source = read(tmp_path, line + b"\n")
    assert records == [record]
    assert (source.format, source.problems) == (name, [])


def test_an_empty_message_keeps_its_prefix_out(tmp_path: Path) -> None:
    records, _, _ = read(tmp_path, b"server-1  |\nserver-1  | \nserver-1  | x\n")
    assert [record.message for record in records] == [b"", b"", b"x"]


def test_cri_pieces_are_joined_by_output(tmp_path: Path) -> None:
    lines = [
        b"2026-09-18T08:11:44.123456789Z stdout P one ",
        b"2026-09-18T08:11:44.5Z stderr F other",
        b"2026-09-18T08:11:45Z stdout F piece",
    ]
    content = b"\n".join(lines) + b"\n"
    records, _, _ = read(tmp_path, content)
    assert records == [
        Record(b"other", len(lines[0]) + 1 + 32, 5, 1789719104500000, HERE),
        Record(b"one piece", 40, len(content) - 1 - 40, T, HERE),
    ]


def test_a_split_line_whose_end_never_came_is_kept_and_counted(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"2026-09-18T08:11:44.123456789Z stdout P one\n")
    assert records == [Record(b"one", 40, 3, T, HERE)]
    assert source.problems == [Problem("f", "loss", "the end of a split line never came", "", 40)]


def test_a_bar_behind_a_word_is_no_compose_prefix(tmp_path: Path) -> None:
    text = b"print_table: | device | total |\nhost  | 126\nlonger  | 3\n"
    records, _, source = read(tmp_path, text)
    assert [record.message for record in records] == text.splitlines()
    assert source.format == "text"


def test_a_time_with_few_places_is_a_programs_own(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"2026-09-18T08:11:44.123Z INFO hello\n")
    assert [record.message for record in records] == [b"2026-09-18T08:11:44.123Z INFO hello"]
    assert source.format == "text"


def test_lines_without_the_prefix_are_kept_whole_and_counted(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, b"server-1  | hello\n" * 12 + b"Attaching to server-1\n")
    assert records[-1] == Record(b"Attaching to server-1", 12 * 18, 21, NO_TIME, HERE)
    what = "lines without the prefix of compose were taken whole"
    assert source.problems == [Problem("f", "note", what, "", 12 * 18)]


def test_a_json_log_is_opened_where_an_object_is_only_an_envelope(tmp_path: Path) -> None:
    lines = [
        b'{"type":"log","time":883,"level":"info","msg":"srv: one\\ntwo\\n"}',
        b'{"type":"table","data":{"rows":[1]}}',
        b"plain text",
        b'{"level":"INFO","msg":"build","build":2500}',
    ]
    records, _, source = read(tmp_path, b"\n".join(lines) + b"\n")
    assert [record.message for record in records] == [b"srv: one\ntwo", *lines[1:]]
    assert (records[0].offset, records[0].length, records[0].time) == (0, len(lines[0]), NO_TIME)
    assert (source.format, source.problems) == ("json-log", [])


cri = st.lists(
    st.tuples(
        st.sampled_from(
            [
                b"2026-09-18T08:11:44.5Z stdout P ",
                b"2026-09-18T08:11:45.5Z stderr F ",
                b"2026-09-18T08:11:46Z stdout F ",
            ]
        ),
        st.sampled_from([b"", b"one", b"ti\r", "ä€".encode(), b"\xff\0", b"x" * 50]),
        st.sampled_from([b"\n", b"\r\n"]),
    ).map(b"".join)
).map(b"".join)
entries = st.lists(
    st.sampled_from(
        [
            b'{"log":"one","stream":"stdout","time":"2026-09-18T08:11:46Z"}\n',
            b'{"log":"two\\r\\n","stream":"stdout","time":"2026-09-18T08:11:47Z"}\n',
            b'{"log":"other\\n","stream":"stderr","time":"2026-09-18T08:11:48Z"}\r\n',
            b"torn\n",
        ]
    )
).map(b"".join)


def flat(content: bytes, block_bytes: int, kind: str) -> tuple[list[tuple[object, ...]], list[Problem]]:
    source = Source("f", kind)
    pieces = (content[at : at + block_bytes] for at in range(0, len(content), block_bytes))
    options = Options(line_bytes=30)
    blocks = (
        read_docker_json(source, pieces, Options()) if kind == "json" else read_prefixed(source, pieces, options, kind)
    )
    rows: list[tuple[object, ...]] = []
    for block in blocks:
        rows += zip(block.messages(), block.offsets.tolist(), block.lengths.tolist(), block.times.tolist(), strict=True)
    return rows, source.problems


@settings(deadline=None)
@given(content=cri, block_bytes=st.integers(1, 64))
def test_cri_in_pieces_equals_cri_at_once(content: bytes, block_bytes: int) -> None:
    assert flat(content, block_bytes, "cri") == flat(content, len(content) + 1, "cri")


@settings(deadline=None)
@given(content=entries, block_bytes=st.integers(1, 64))
def test_docker_json_in_pieces_equals_docker_json_at_once(content: bytes, block_bytes: int) -> None:
    assert flat(content, block_bytes, "json") == flat(content, len(content) + 1, "json")


def test_blank_lines_in_docker_json_are_no_loss(tmp_path: Path) -> None:
    entry = b'{"log":"one\\n","stream":"stdout","time":"2026-09-18T08:11:46Z"}\n'
    records, _, source = read(tmp_path, entry + b"\n" + entry)
    assert ([record.message for record in records], source.problems) == ([b"one", b"one"], [])


def test_pieces_beyond_a_line_are_cut_and_their_bytes_counted(tmp_path: Path) -> None:
    line = b"2026-09-18T08:11:44.123456789Z stdout %s %s\n"
    pieces = [(b"P", b"one " * 20), (b"P", b"two"), (b"F", b"three")]
    records, _, source = read(tmp_path, b"".join(line % one for one in pieces), Options(line_bytes=120))
    assert [record.message for record in records] == [b"one " * 20 + b"twothree"]
    assert source.problems == []
    records, _, source = read(tmp_path, b"".join(line % one for one in [*pieces[:1], *pieces]), Options(line_bytes=120))
    assert [record.message for record in records] == [(b"one " * 40)[:120]]
    what = "joined lines were cut at 120 bytes; 48 bytes are missing"
    assert source.problems == [Problem("f", "loss", what)]


HEADS = b"""\
2026-09-18 08:11:44  [INFO]
 [LM STUDIO SERVER] one
2026-09-18 08:11:45 [DEBUG]
 load_tensors: two
load_tensors: three
  indented: four
2026-09-18 08:11:46 [ERROR]
five
"""
MESSAGES = [b"[LM STUDIO SERVER] one", b"load_tensors: two", b"load_tensors: three", b"  indented: four", b"five"]


def test_lines_under_a_time_and_a_level_lose_the_blank_before_the_first(tmp_path: Path) -> None:
    records, _, source = read(tmp_path, HEADS)
    assert source.format == "heads"
    assert [record.message for record in records] == MESSAGES
    # What is cited is the line without that blank; the time has no zone, and is none.
    assert {HEADS[record.offset : record.offset + record.length] == record.message for record in records} == {True}
    assert {record.time for record in records} == {NO_TIME}


def test_the_time_above_lines_is_theirs_where_its_zone_is_said() -> None:
    source = Source("f", "heads")
    blocks = list(read_prefixed(source, iter([HEADS]), Options(tz=UTC), "heads"))
    seconds = [time // 1_000_000 - 1789719104 for block in blocks for time in block.times.tolist()]
    assert seconds == [0, 1, 1, 1, 2]


def test_a_log_that_only_holds_such_a_line_is_plain_text(tmp_path: Path) -> None:
    content = b"one\ntwo\n2026-09-18 08:11:45 [DEBUG]\n three\n" + b"four\n" * 40
    _, _, source = read(tmp_path, content)
    assert source.format == "text"


@given(block_bytes=st.integers(1, 200), times=st.integers(1, 3))
def test_lines_under_times_in_pieces_equal_those_at_once(block_bytes: int, times: int) -> None:
    assert flat(HEADS * times, block_bytes, "heads") == flat(HEADS * times, 1 << 20, "heads")
