"""Lines that only report are carried as columns: they get what each would get as a line, and say what it would say."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weaving import ENVELOPES, LOGS, catalogue, enveloped, weave

from forensics.case import read_evidence, store
from forensics.clocks import elapsed_us
from forensics.columns import clocks_of, is_plain, read_columns
from forensics.records import Block, Options, read_inputs
from forensics.scan import Found, Scanner
from forensics.schema import TABLES
from forensics.scope import Ownership, assign
from forensics.spool import Spool

NAMES = sorted(path.name for path in LOGS.glob("*.log"))
BUSY = LOGS.parent / "llama-mtp-vision-two-cards-plain" / "server.log"


def owners(found: Ownership) -> list[tuple[Any, ...]]:
    """All that is known of each line, in order."""
    return [
        (
            one.line.order,
            one.line.record,
            one.line.time_us,
            one.line.cursor,
            one.line.pattern.name,
            one.line.matched.event,
            one.process.identity if one.process else None,
            one.load.load_id if one.load else None,
            one.part,
            one.phase,
            one.scope,
            one.rule,
            [load.load_id for load in one.candidates],
            one.suspect,
        )
        for one in found.owned
    ]


def lives(found: Ownership) -> list[tuple[Any, ...]]:
    """All that is known of each process and load."""
    return [
        (
            process.identity,
            process.last.order if process.last else None,
            process.last_clock,
            [
                (load.load_id, load.end_reason, load.may_be, [(phase, line.order) for phase, line in load.phases])
                for load in process.loads
            ],
        )
        for process in found.processes
    ]


def both_ways(content: bytes, block_bytes: int, together: int = 1) -> tuple[Ownership, Ownership]:
    """The owners of lines with columns, blocks of few rows gathered, and with each as a line."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        options = Options(block_bytes=block_bytes)
        blocks = [piece for piece in read_inputs([file.name], options=options) if isinstance(piece, Block)]
    columns, lines = Scanner(catalogue()), Scanner(catalogue())
    spool = Spool(held_bytes=10_000, together=together)
    for block in blocks:
        spool.add(columns.read(block))
    with_columns = assign(spool.found(), catalogue())
    each_a_line = assign([Found(list(lines.scan(block)), None) for block in blocks], catalogue())
    assert {name: dataclasses.astuple(one) for name, one in columns.counts.items()} == {
        name: dataclasses.astuple(one) for name, one in lines.counts.items()
    }
    return with_columns, each_a_line


@settings(max_examples=40, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    logs=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    kind=st.sampled_from(("uniform", "blocks", "staggered", "truncated")),
    envelope=st.sampled_from(ENVELOPES),
    seed=st.integers(0, 2**32),
    block_bytes=st.sampled_from((3_000, 100_000)),
    together=st.sampled_from((1, 30, 16_384)),
)
def test_however_logs_mix_a_line_gets_the_same_owner_as_column_and_as_line(
    logs: list[str], kind: str, envelope: str, seed: int, block_bytes: int, together: int
) -> None:
    columns, lines = both_ways(enveloped(weave(logs, kind, seed), envelope), block_bytes, together)

    assert owners(columns) == owners(lines)
    assert lives(columns) == lives(lines)


def test_what_a_busy_server_prints_is_carried_as_columns() -> None:
    lines = BUSY.read_bytes().splitlines(keepends=True)
    begin = next(number for number, line in enumerate(lines) if b"all slots are idle" in line)
    columns, each = both_ways(b"".join(lines[:begin] + lines[begin:-20] * 5), 4096)

    assert owners(columns) == owners(each)
    assert sum(int((owner >= 0).sum()) for _, owner in columns.rows) > 0.9 * len(lines[begin:-20] * 5) / 2


def test_a_figure_that_no_table_can_hold_is_a_miss() -> None:
    served = "0.01.000.000 I slot print_timing: id  0 | task 7 | n_decoded = 1, tg = 4.00 t/s\n"
    log = (
        "0.00.100.000 I srv  llama_server: initializing ...\n"
        "0.01.000.000 I srv  update_slots: all slots are idle\n"
        "0.01.000.001 I slot      release: id  0 | task 7 | stop processing: n_tokens = 5, truncated = 0\n"
        f"0.01.000.002 I slot      release: id  0 | task {'9' * 30} | stop processing: n_tokens = 5, truncated = 0\n"
    )
    columns, each = both_ways((log + served).encode(), 4096)

    assert owners(columns) == owners(each)
    assert [one.line.pattern.name for one in columns.owned].count("request_released") == 1


@pytest.mark.parametrize("name", [BUSY, LOGS / "llama-jsonl.log", LOGS / "vllm-one-card.log"], ids=lambda one: one.name)
def test_tables_hold_what_the_patterns_themselves_read(name: Path) -> None:
    evidence = read_evidence([name], catalogue(), options=Options(block_bytes=4096))
    connection = duckdb.connect()
    store(evidence, connection)
    for one in evidence.ownership.owned:
        event = one.line.matched.event
        own = [column.name for column in TABLES[event.table][1]][-len(vars(event)) :]
        wanted = ", ".join(f'"{column}"' for column in own)
        row = connection.execute(f'SELECT {wanted} FROM "{event.table}" WHERE ordinal = ?', [one.line.order]).fetchone()
        assert row == tuple(vars(event).values())


@pytest.mark.parametrize(
    "texts",
    [["0.10.182.599", "71.05.000.001"], ["12", None, "0.10.182.599"], ["09-18 08:12:24"], ["1.2.3"], []],
    ids=["usual", "mixed", "wall", "odd", "none"],
)
def test_clocks_read_together_are_those_read_one_by_one(texts: list[str | None]) -> None:
    alone = [None if text is None else elapsed_us(text) for text in texts]
    assert clocks_of(texts).tolist() == [-1 if one is None else one for one in alone]


def test_figures_read_together_are_those_read_one_by_one() -> None:
    timed = next(one for one in catalogue().patterns if one.name == "timed_prompt")
    line = "slot print_timing: id  0 | task 2 | prompt eval time = {} ms / {} tokens ( 8.93 ms per token, 111.93 tokens"
    texts = [("268.01", "30"), ("0.07", "1"), ("1234567.89", "0"), ("9007199254740993.5", "12"), ("3", "٣")]
    messages = [line.format(*one) + " per second)" for one in texts]
    columns = read_columns(timed, [found.groups() for one in messages if (found := timed.regex.match(one))])
    alone = [vars(matched.event) for one in messages if (matched := timed.match(one))]

    assert len(alone) == len(texts)
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        name: [one[name] for one in alone] for name in columns
    }


def test_lines_that_change_whose_the_next_one_is_are_never_columns() -> None:
    programs = {one.name: one for one in catalogue().programs}
    for pattern in catalogue().patterns:
        if is_plain(pattern, programs[pattern.program]):
            assert not pattern.effects.keys() - {"phase"}
            assert pattern.role == "child"
