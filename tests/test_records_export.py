"""Journal exports: entries become records, and only fields that journald added say who wrote them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.records import NO_TIME, Options, Problem, Source, Stream
from forensics.records.export import read_export

Row = tuple[bytes, int, int, int, Stream, str | None, dict[str, str] | None]


def records(content: bytes, block_bytes: int = 4096, line_bytes: int = 1000) -> tuple[list[Row], Source]:
    """Read an export in pieces of a size and flatten its blocks."""
    source = Source("j", "journal-export")
    pieces = (content[at : at + block_bytes] for at in range(0, len(content), block_bytes))
    rows: list[Row] = []
    for block in read_export(source, pieces, Options(line_bytes=line_bytes)):
        assert block.first_record == len(rows)
        for at, message in enumerate(block.messages()):
            offset, length = int(block.offsets[at]), int(block.lengths[at])
            stream = block.stream_table[block.streams[at]]
            rows.append(
                (message, offset, length, int(block.times[at]), stream, block.cursors.get(at), block.fields.get(at))
            )
            assert content[offset : offset + length] == message
    return rows, source


def binary(name: bytes, value: bytes) -> bytes:
    """A field in the length-prefixed form."""
    return name + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"


WRITER = b"_HOSTNAME=box\n_BOOT_ID=b1\n_TRANSPORT=stdout\n_PID=42\n_SYSTEMD_UNIT=a.service\n_SYSTEMD_INVOCATION_ID=i1\n"
WRITER_STREAM = Stream("j", "box", "b1", "a.service", "i1", 42, None, "prog", "stdout", trusted=True)


def test_an_entry_becomes_a_record_of_the_stream_that_journald_names() -> None:
    head = b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1796039350336435\n" + WRITER + b"SYSLOG_IDENTIFIER=prog\nMESSAGE="
    rows, source = records(head + b"hello\n\n")
    assert rows == [(b"hello", len(head), 5, 1796039350336435, WRITER_STREAM, "s=1;i=2", None)]
    assert source.records == 1
    assert source.problems == []


def test_a_binary_message_keeps_its_line_feeds_and_is_cited_by_its_value() -> None:
    head = b"__REALTIME_TIMESTAMP=5\n_PID=42\nMESSAGE\n" + (11).to_bytes(8, "little")
    rows, _ = records(head + b"one\n\n__two=\n_PID=7\n\n")
    assert rows == [(b"one\n\n__two=", len(head), 11, 5, Stream("j", pid=7, trusted=True), None, None)]


def test_an_entry_with_two_messages_makes_two_records() -> None:
    rows, _ = records(b"__REALTIME_TIMESTAMP=5\nMESSAGE=one\nMESSAGE=two\n\n")
    assert [row[0] for row in rows] == [b"one", b"two"]


def test_an_entry_without_a_message_is_counted() -> None:
    rows, source = records(b"__REALTIME_TIMESTAMP=5\n_PID=42\n\n")
    assert rows == []
    assert source.problems == [Problem("j", "note", "entries without a message were passed over")]


def test_an_entry_without_a_time_is_kept_and_counted() -> None:
    rows, source = records(b"__CURSOR=c\nMESSAGE=one\n\n")
    assert [row[3] for row in rows] == [NO_TIME]
    assert source.problems == [Problem("j", "loss", "entries without a readable receive time")]


def test_fields_that_a_client_can_send_never_name_the_writer() -> None:
    forged = b"PID=1\nUNIT=b.service\nINVOCATION_ID=i9\nSYSTEMD_UNIT=b.service\nEXIT_CODE=killed\n"
    rows, _ = records(b"__REALTIME_TIMESTAMP=5\n" + forged + WRITER + b"SYSLOG_IDENTIFIER=prog\nMESSAGE=x\n\n")
    assert [row[4:] for row in rows] == [(WRITER_STREAM, None, None)]


def test_the_manager_speaks_of_the_unit_it_names() -> None:
    manager = b"_TRANSPORT=journal\n_PID=1\n_COMM=systemd\nSYSLOG_IDENTIFIER=systemd\nPRIORITY=4\nCODE_LINE=9\n"
    said = b"UNIT=a.service\nINVOCATION_ID=i1\nEXIT_CODE=killed\nEXIT_STATUS=9\nMESSAGE=Main process exited\n\n"
    rows, _ = records(b"__REALTIME_TIMESTAMP=5\n_SYSTEMD_UNIT=init.scope\n" + manager + said)
    stream = Stream("j", None, None, "a.service", "i1", 1, None, "systemd", "journal", trusted=True, manager=True)
    fields = {"UNIT": "a.service", "INVOCATION_ID": "i1", "EXIT_CODE": "killed", "EXIT_STATUS": "9"}
    assert [row[4:] for row in rows] == [(stream, None, fields)]


def test_process_1_printing_on_its_own_output_is_not_the_manager_speaking() -> None:
    rows, _ = records(b"__REALTIME_TIMESTAMP=5\n_TRANSPORT=stdout\n_PID=1\nUNIT=a.service\nMESSAGE=x\n\n")
    assert [row[4:] for row in rows] == [(Stream("j", pid=1, transport="stdout", trusted=True), None, None)]


def test_a_user_manager_speaks_of_its_units() -> None:
    manager = b"_TRANSPORT=journal\n_PID=900\n_SYSTEMD_UNIT=user@1000.service\n_SYSTEMD_USER_UNIT=init.scope\n"
    rows, _ = records(
        b"__REALTIME_TIMESTAMP=5\n" + manager + b"USER_UNIT=a.service\nUSER_INVOCATION_ID=i1\nMESSAGE=x\n\n"
    )
    stream = Stream("j", None, None, "a.service", "i1", 900, None, None, "journal", trusted=True, manager=True)
    assert [row[4:] for row in rows] == [(stream, None, {"USER_UNIT": "a.service", "USER_INVOCATION_ID": "i1"})]


def test_a_user_unit_is_the_unit_of_what_it_prints() -> None:
    rows, _ = records(
        b"__REALTIME_TIMESTAMP=5\n_SYSTEMD_UNIT=user@1000.service\n_SYSTEMD_USER_UNIT=a.service\nMESSAGE=x\n\n"
    )
    assert [row[4] for row in rows] == [Stream("j", unit="a.service", trusted=True)]


def test_kernel_lines_are_the_kernels() -> None:
    rows, _ = records(b"__REALTIME_TIMESTAMP=5\n_TRANSPORT=kernel\nSYSLOG_IDENTIFIER=kernel\nMESSAGE=NVRM: Xid\n\n")
    assert [row[4] for row in rows] == [Stream("j", identifier="kernel", transport="kernel", trusted=True, kernel=True)]


def test_a_container_name_separates_streams_and_is_not_trusted() -> None:
    rows, _ = records(
        b"__REALTIME_TIMESTAMP=5\n_PID=800\n_SYSTEMD_UNIT=docker.service\nCONTAINER_NAME=c\nMESSAGE=x\n\n"
    )
    assert [row[4] for row in rows] == [Stream("j", unit="docker.service", pid=800, container="c")]


def test_a_cut_export_keeps_whole_entries_and_says_where_it_is_cut() -> None:
    entry = b"__REALTIME_TIMESTAMP=5\n_PID=42\nMESSAGE=one\n\n"
    rows, source = records(entry + b"__REALTIME_TIMESTAMP=6\n_PID=42\nMESSAGE=tw")
    assert [row[0] for row in rows] == [b"one"]
    assert source.problems[0] == Problem(
        "j", "loss", "the last entry is cut", "get a whole copy; its whole fields are used", len(entry)
    )


def test_a_message_of_a_cut_entry_is_used_without_trust_if_it_is_whole() -> None:
    rows, _ = records(b"__REALTIME_TIMESTAMP=6\nMESSAGE=one\n_PID=42\n_SYSTE")
    assert [(row[0], row[4]) for row in rows] == [(b"one", Stream("j", pid=42))]


def test_behind_a_damaged_stretch_reading_goes_on_without_trust() -> None:
    entry = b"__REALTIME_TIMESTAMP=5\n_PID=42\nMESSAGE=one\n\n"
    rows, source = records(entry + b"__REALTIME_TIMESTAMP=6\n_PI\xff\xff=\nMESSAGE=two\n\n" + entry)
    assert [(row[0], row[4].trusted) for row in rows] == [(b"one", True), (b"one", False)]
    what = "43 bytes are no journal entry"
    assert source.problems == [
        Problem("j", "loss", what, "get an intact copy; streams behind it are not trusted", len(entry))
    ]


def test_an_entry_with_an_oversized_field_is_left_out_and_counted() -> None:
    entry = b"__REALTIME_TIMESTAMP=5\n_PID=42\nMESSAGE=one\n\n"
    big = b"__REALTIME_TIMESTAMP=6\n" + binary(b"MESSAGE", b"\n\n" + entry * 50) + b"\n"
    rows, source = records(entry + big + entry, block_bytes=64)
    assert [row[:2] for row in rows] == [(b"one", 39), (b"one", len(entry) + len(big) + 39)]
    assert source.problems == [
        Problem("j", "loss", "an entry with a field of more than 1000 bytes was left out", "", len(entry))
    ]


fields = st.one_of(
    st.sampled_from([b"_PID=1\n", b"_PID=42\n", b"_TRANSPORT=journal\n", b"UNIT=a.service\n", b"\n", b"__CURSOR=c\n"]),
    st.sampled_from(
        [b"__REALTIME_TIMESTAMP=5\n", b"MESSAGE=\r\n", b"MESSAGE=a=b\n", b"bad\n", b"=\n", b"MESSAGE=" + b"y" * 70]
    ),
    st.binary(max_size=60).map(lambda value: binary(b"MESSAGE", value)),
    st.sampled_from(["MESSAGE=ä€😀\r\r\n".encode(), binary(b"MESSAGE", b"\n\n__CURSOR=c\nMESSAGE=forged\n\n")]),
)
exports = st.lists(fields, max_size=25).map(b"".join)


@settings(deadline=None, max_examples=400)
@given(content=exports, block_bytes=st.integers(1, 64), line_bytes=st.integers(1, 80))
def test_reading_in_pieces_equals_reading_at_once(content: bytes, block_bytes: int, line_bytes: int) -> None:
    at_once, whole = records(content, len(content) + 1, line_bytes)
    in_pieces, parts = records(content, block_bytes, line_bytes)
    assert in_pieces == at_once
    assert parts.problems == whole.problems


def test_what_is_no_export_between_entries_costs_only_itself() -> None:
    entry = b"__REALTIME_TIMESTAMP=5\nMESSAGE=one\n\n"
    garbage = b"no field at all, and long " * 80
    rows, source = records(entry + garbage + b"\n\n" + entry, line_bytes=200)
    assert [row[0] for row in rows] == [b"one", b"one"]
    assert [problem.what for problem in source.problems] == [f"{len(garbage) + 2} bytes are no journal entry"]
    value = binary(b"MESSAGE", b"two\n")[:-1]  # without the line feed that ends it
    rows, source = records(entry + b"__REALTIME_TIMESTAMP=5\n" + value + b"x\n\n" + entry)
    assert [row[0] for row in rows] == [b"one", b"one"]
    assert [problem.severity for problem in source.problems] == ["loss"]


def test_a_time_that_no_clock_shows_is_none_and_counted() -> None:
    rows, source = records(b"__REALTIME_TIMESTAMP=-5\nMESSAGE=one\n\n")
    assert [row[3] for row in rows] == [NO_TIME]
    assert source.problems == [Problem("j", "loss", "entries without a readable receive time")]


def test_what_another_process_logs_of_a_users_unit_is_not_the_manager_speaking() -> None:
    user = b"_SYSTEMD_UNIT=user@1000.service\n_SYSTEMD_USER_UNIT=a.service\nUSER_UNIT=b.service\n"
    rows, _ = records(b"__REALTIME_TIMESTAMP=5\n_TRANSPORT=journal\n_PID=42\n" + user + b"MESSAGE=one\n\n")
    stream = Stream("j", unit="a.service", pid=42, transport="journal", trusted=True)
    assert [(row[4], row[6]) for row in rows] == [(stream, None)]


def test_more_names_of_fields_than_are_remembered_are_read_all_the_same() -> None:
    fields = b"".join(b"F%d=x\n" % number for number in range(10_100))
    rows, source = records(b"__REALTIME_TIMESTAMP=5\n" + fields + b"MESSAGE=one\n\n", line_bytes=200_000)
    assert ([row[0] for row in rows], source.problems) == ([b"one"], [])
