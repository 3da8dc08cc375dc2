"""What is fuzzed: functions of bytes that must hold their promises whatever the bytes are.

Each gives back the features of what it met (formats, patterns, rules …), by which the driver keeps inputs that met
something new. A broken promise is an AssertionError or any other exception: all of them are findings.
"""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
from mutate import mutate_bytes, mutate_json, mutate_sql, mutate_text
from rich.console import Console

from forensics.answer import Ask, answer_json, answer_markdown, answer_table
from forensics.asked import QUESTIONS
from forensics.bookmarks import OtherBytesError, bookmarks_in
from forensics.carriers import clean
from forensics.case import Evidence, read_evidence, store
from forensics.casefile import CASE, Was
from forensics.catalogue import Catalogue, load_catalogue
from forensics.cmd_trust import page_of
from forensics.engines import AhoCorasick, best_engine
from forensics.errors import ForensicsError, QuestionError
from forensics.explain import document
from forensics.line import Line
from forensics.lives import Mark
from forensics.opened import Opened, ready
from forensics.provenance import Asked, provenance
from forensics.query import Limits, bounded_memory, lock, run_query
from forensics.query_print import print_result
from forensics.question import load_questions
from forensics.records import NO_TIME, Block, Options, Source, contents, read_inputs
from forensics.records.content import compression
from forensics.records.lines import read_text
from forensics.report import render_table
from forensics.report_html import render_answer_html, render_html
from forensics.report_json import render_json
from forensics.report_markdown import render_markdown
from forensics.scan import Scanner
from forensics.verify import Derived, compare, derive

__all__ = ["CORPUS", "REGRESSIONS", "TARGETS", "Target"]

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus"
REGRESSIONS = FOLDER / "regressions"

Features = set[str]
Mutate = Callable[[bytes, bytes, random.Random], bytes]

PART = re.compile(rb"^==> ([\w.-]{1,40}) <==\n", re.MULTILINE)
"""How an input for a case holds several files: as `head` and `tail` print them."""

ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What no output may hold, but for line feeds."""

TAGS = frozenset(
    "html head meta title style body a svg defs pattern rect header p h1 h2 h3 small b nav ul li main section article "
    "span div table caption thead tbody tr th td details summary ol code figure figcaption dl dt dd footer br "
    "g path line text".split()
)


@dataclass(frozen=True)
class Target:
    """One function of bytes, how its inputs are changed, and what to begin with."""

    name: str
    run: Callable[[bytes], Features]
    mutate: Mutate
    seeds: Callable[[], list[bytes]]
    weight: int = 1
    """Its share of the time."""
    most_s: float = 10.0
    """CPU seconds that one input may take."""


@cache
def catalogue() -> Catalogue:
    """The installed patterns."""
    return load_catalogue()


@cache
def scratch() -> Path:
    """A folder for inputs, kept until the process ends."""
    return Path(tempfile.mkdtemp(prefix="forensics-fuzz-"))


def corpus(*folders: str) -> list[bytes]:
    """Inputs kept in the repository."""
    return [path.read_bytes() for folder in folders for path in sorted((CORPUS / folder).iterdir())]


def template(text: str) -> str:
    """A message without what differs from one input to the next."""
    return re.sub(r"'[^']*'|\d+|0x\w+", "#", text)[:60]


# -- readers ----------------------------------------------------------------------------------------------------------

LINEWISE = ("cri", "compose", "kubectl", "docker-times", "docker-json", "json-log", "journal-short", "dmesg")
"""Formats of which each line that is not blank is a record or is told of."""


def reader(data: bytes) -> Features:
    """Read bytes as a file: every record lies in the source, no byte is lost without a word."""
    path = scratch() / "input"
    path.write_bytes(data)
    features: Features = set()
    whole = list(read_inputs([path]))
    for source, pieces in by_source(whole):
        accounted(source, pieces, b"".join(contents(Path(source.name))) if "!" not in source.name else None)
        features.add(source.format)
        features.update(f"{source.format}: {one.severity} {template(one.what)}" for one in source.problems)
        features.update(f"{source.format} {type(one).__name__} {min(size(one), 3)}" for one in pieces)
    if compression(data[:16]) is None:  # of a damaged stream comes out what was decompressed before
        small = list(read_inputs([path], options=Options(block_bytes=997)))
        assert told(whole) == told(small), "what comes out depends on where the pieces were cut"
    return features


def by_source(pieces: Iterable[Any]) -> Iterator[tuple[Source, list[Any]]]:
    """Each source with what came of it; a container comes after what is inside of it."""
    waiting: dict[int, list[Any]] = {}
    for piece in pieces:
        if isinstance(piece, Source):
            yield piece, waiting.pop(id(piece), [])
        else:
            waiting.setdefault(id(piece.source), []).append(piece)
    assert not waiting, "pieces of a source that never came"


def size(piece: Any) -> int:
    return len(piece) if isinstance(piece, Block) else len(piece.offset)


def told(pieces: Iterable[Any]) -> list[Any]:
    """What came out, without the seams of blocks."""
    found: list[Any] = []
    for source, parts in by_source(pieces):
        for part in parts:
            if isinstance(part, Block):
                columns = (part.messages(), part.offsets.tolist(), part.lengths.tolist(), part.times.tolist())
                streams = [part.stream_table[one] for one in part.streams]
                numbers = range(part.first_record, part.first_record + len(part))
                cursors = [part.cursors.get(one) for one in range(len(part))]
                found += zip(*columns, streams, numbers, cursors, strict=True)
            else:
                values = part._asdict() if hasattr(part, "_asdict") else vars(part)
                # One row each: a table may be cut into several.
                lists = {name: column for name, column in values.items() if isinstance(column, list)}
                found += [
                    (type(part).__name__, *row) for row in zip(*(map(repr, one) for one in lists.values()), strict=True)
                ]
        found.append((source.format, source.digest.root, source.digest.size, source.records, tuple(source.problems)))
    return found


def accounted(source: Source, pieces: Sequence[Any], content: bytes | None) -> None:
    """Hold what came of a source against its bytes."""
    # What is found and not handed over is told of as lost.
    lost = sum(one.count for one in source.problems if one.severity == "loss")
    assert 0 <= source.records - sum(map(size, pieces)) <= lost
    assert all(one.count < 1 << 63 for one in source.problems), "a count that no table can hold"
    records = 0
    covered: list[tuple[int, int]] = []
    for piece in pieces:
        if isinstance(piece, Block):
            count = len(piece)
            assert piece.first_record == records
            records += count
            columns = (piece.ends, piece.offsets, piece.lengths, piece.times, piece.streams)
            assert all(len(one) == count for one in columns)
            assert (piece.starts >= 0).all()
            assert (piece.starts <= piece.ends).all()
            assert (piece.ends <= len(piece.data)).all()
            assert (piece.lengths >= 0).all()
            assert ((piece.streams >= 0) & (piece.streams < len(piece.stream_table))).all()
            assert ((piece.times == NO_TIME) | (abs(piece.times) < 1 << 62)).all()
            assert not piece.partials
            covered += zip(piece.offsets.tolist(), piece.lengths.tolist(), strict=True)
            if source.format == "text" and content is not None:
                for number, (offset, length) in enumerate(covered[-count:] if count else ()):
                    assert content[offset : offset + length] == piece.message(number)
        else:
            covered += zip(piece.offset, piece.length, strict=True)
    assert all(offset >= 0 and offset + length <= source.digest.size for offset, length in covered)
    if content is None:
        return
    assert source.digest.size == len(content), "the digest is of other bytes than offsets address"
    lost = any(one.severity != "note" for one in source.problems)
    rest = np.frombuffer(content, np.uint8).copy()
    for offset, length in covered:
        rest[offset : offset + length] = 32
    if source.format == "text" and not lost:
        assert not rest.tobytes().strip(b"\r\n \xef\xbb\xbf"), "bytes of a text in no record"
    elif source.format.startswith(LINEWISE) and not source.problems:
        at = 0
        spans = sorted(covered)
        for line in content.split(b"\n"):
            end = at + len(line)
            touched = any(offset <= end and offset + length >= at for offset, length in spans)
            assert touched or not line.strip(), ("a line in no record, and no word of it", line[:80])
            at = end + 1
    elif content.strip() and not covered and source.format not in ("zip", "tar", "markdown"):
        assert source.problems, "nothing was read of it, and no word says so"


# -- scan and patterns ------------------------------------------------------------------------------------------------


def pattern_seeds() -> list[bytes]:
    """The sample lines of every pattern, and the lines that look like them."""
    return [
        line.encode()
        for pattern in catalogue().patterns
        for line in (*(str(one["line"]) for one in pattern.samples), *pattern.nevers)
    ]


def pattern(data: bytes) -> Features:
    """Try every pattern on every line: what matches gives an event of the right types, soon."""
    features: Features = set()
    for raw in data.split(b"\n")[:4]:
        text = clean(raw)
        for program in catalogue().programs:
            prefix = program.grammar.split(text)
            if prefix is None:
                continue
            for one in program.patterns:
                for message in {prefix.message, text}:
                    matched = one.match(message, {"UNIT": text, "_PID": text, "EXIT_STATUS": text})
                    if matched is None:
                        continue
                    features.add(one.where)
                    for name, value in vars(matched.event).items():
                        assert value is None or isinstance(value, int | float | str | bool), (name, value)
                        if isinstance(value, int) and name.endswith("_bytes"):
                            assert -(1 << 63) <= value < 1 << 63, (name, value)
                    assert all(bound >= 0 for bound in matched.bounds.values())
    return features


@cache
def engines() -> tuple[Any, Any]:
    """The engine that is always there, and the fastest that is installed."""
    literals = list(catalogue().literals())
    return AhoCorasick(literals), best_engine(literals)


def scan(data: bytes) -> Features:
    """Scan bytes as a text: the counts add up, both engines find the same, and each line lies where it says."""
    plain, fast = ({*zip(*map(list, engine.hits(data)), strict=True)} for engine in engines())
    literals = list(catalogue().literals())

    def ends(found: set[tuple[int, int]], *, inclusive: bool) -> set[tuple[int, int]]:
        return {(int(place) + inclusive, int(one)) for place, one in found}

    differ = type(engines()[0]) is not type(engines()[1])
    begins = {(int(place) - (len(literals[int(one)]) - 1 if differ else 0), int(one)) for place, one in fast}
    assert ends(plain, inclusive=False) in (begins, ends(fast, inclusive=True), ends(fast, inclusive=False))
    scanner = Scanner(catalogue())
    source = Source("text", "text")
    lines = [
        line for block in read_text(source, iter([data[:3000], data[3000:]]), 1 << 20) for line in scanner.scan(block)
    ]
    features = {line.pattern.where for line in lines} | {
        f"carried {line.pattern.name}" for line in lines if line.carried_by
    }
    if source.records:
        counts = scanner.counts["text"]
        assert counts.records == source.records
        assert counts.hit == counts.read + counts.missed
        assert counts.sized >= counts.sized_read
        assert counts.read == len({line.record for line in lines})
        unread = counts.sized - counts.sized_read
        kept = sum(one.what != "tokens" for one in counts.unread)  # records with tokens only are sampled, not counted
        assert kept + counts.unread_dropped <= unread + counts.placed - counts.placed_read
    for line in lines:
        assert 0 <= line.offset <= line.offset + line.length <= len(data)
        assert line.carried_by is None or line.carried_by < line.record
    return features


# -- ownership and accounting -----------------------------------------------------------------------------------------


def evidence_of(data: bytes) -> Evidence:
    """Read an input as a case of one or more files."""
    folder = Path(tempfile.mkdtemp(dir=scratch()))
    names = PART.split(data)
    parts = list(zip(names[1::2], names[2::2], strict=True)) or [(b"server.log", data)]
    if names[0] and len(names) > 1:
        parts.append((b"first.log", names[0]))
    for number, (name, part) in enumerate(parts):
        path = folder / (name.decode().strip(".") or "x")
        (path if not path.exists() else folder / f"{number}-{path.name}").write_bytes(part)
    found = read_evidence([folder], catalogue())
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    return found


def owned(found: Evidence) -> Features:
    """Hold owners against the rules: one owner or a reason, nothing doubled, nothing of what is only said."""
    ownership = found.ownership
    loads = {id(load) for load in ownership.loads}
    features: Features = set()
    owners: dict[int, Any] = {}
    for one in ownership.owned:
        assert one.line.order not in owners, "a line that came out twice"
        owners[one.line.order] = one
        assert one.rule
        if one.scope == "ambiguous":
            assert one.load is None
        if one.load is not None:
            assert one.scope in ("exact", "inferred")
            assert id(one.load) in loads
            assert not one.suspect
        if one.line.carried_by is not None:
            assert one.load is None
        features.add(f"{one.scope} {template(one.rule)} {one.suspect}")
    for load in ownership.loads:
        features.add(f"{load.engine} {load.phase} {load.end_reason} {load.implied}")
        counted: set[tuple[int, str]] = set()
        for item in load.items:
            features.add(f"{load.engine} {item.part} {item.kind} {item.mark} {template(item.why)}")
            owner = owners[item.line.order]
            assert owner.load is load, "an amount of another load's line"
            if item.mark is Mark.COUNTED:
                assert (item.line.order, item.device) not in counted, "an amount counted twice"
                counted.add((item.line.order, item.device))
                assert item.superseded_by is None
        assert load.ended is None or load.end_reason is not None
    return features


def owner(data: bytes) -> Features:
    """Give the lines of a case to owners."""
    return owned(evidence_of(data))


def grown(data: bytes) -> Features:
    """Read a log that grew, on from a bookmark: what is found, and whose it is, is what reading it at once gives."""
    path = scratch() / "grown.log"
    options = Options(block_bytes=2048)
    dice = random.Random(data)  # noqa: S311
    cut = len(data) - dice.randrange(len(data) // 3 + 1)
    with (
        duckdb.connect() as case,
        patch("forensics.records.read.HEAD", 1024),
        patch("forensics.records.block.CHUNK", 512),
        patch("forensics.bookmarks.CHUNK", 512),
    ):
        path.write_bytes(data[:cut])
        before = read_evidence([path], catalogue(), options=options)
        case.execute(f"ATTACH ':memory:' AS {CASE}; USE {CASE}")
        store(before, case)
        sources = {one.name: Was(one.digest.size, one.digest.root, tuple(one.digest.chunks)) for one in before.sources}
        path.write_bytes(data)
        kept = bookmarks_in(case, sources)
        whole = read_evidence([path], catalogue(), options=options)
        with suppress(OtherBytesError):
            on = read_evidence([path], catalogue(), options=options, kept=kept)
            assert found_of(on) == found_of(whole), "a log that is read on from a bookmark is another"
    return {f"{one.format} {bool(kept)} {len(whole.bookmarks)}" for one in whole.sources} | owned(whole)


def found_of(evidence: Evidence) -> list[Any]:
    """What was found in sources, with owners."""

    def told(line: Line) -> Line:
        assert line.clock_us is None or line.clock_us >= 0  # which it keeps from then on, and is part of what it is
        return line

    carriers = {one.line.carried_by for one in evidence.ownership.lines if one.line.carried_by is not None}
    return [
        [
            (one.name, one.format, one.records, one.digest.root, one.digest.size, one.problems)
            for one in evidence.sources
        ],
        evidence.counts,
        {
            name: (mark, [told(line) for one in found for line in one.all() if line.record < mark.until])
            for name, (mark, found) in evidence.bookmarks.items()
        },
        # A line that carries another is named by it, so it must not be a row.
        sorted(carriers & {one.line.record for one in evidence.ownership.lines}),
        [
            (told(one.line), one.load and one.load.load_id, one.scope, one.rule, one.suspect)
            for one in evidence.ownership.owned
        ],
    ]


def stored(found: Evidence) -> duckdb.DuckDBPyConnection:
    """The case as tables with its questions."""
    connection = duckdb.connect()
    store(found, connection)
    return ready(connection, load_questions(), None)


def account(data: bytes) -> Features:
    """Answer a case at each moment: per device, what is measured is what is attributed and the rest."""
    found = evidence_of(data)
    features = owned(found)
    connection = stored(found)
    for moment in ("last", "ready", "asleep"):
        answer = document(connection, catalogue(), moment=moment)
        for load in answer["loads"]:
            features.add(f"{moment} {template(load['verdict'] or '')}")
            features.update(f"finding {one['state']} {template(one['claim'])}" for one in load["findings"])
            features.update(f"failure {load['failure']['what']}" for _ in range(bool(load["failure"])))
            for device in load["devices"]:
                items = sum(item["bytes"] for item in device["items"])
                assert device["attributed_bytes"] == items
                if device["measured_bytes"] is not None:
                    assert device["measured_bytes"] == items + device["unexplained_bytes"]
                lines = [
                    (one, item["part"], item["kind"], item["note"])
                    for item in device["items"]
                    for one in item["evidence"]
                ]
                assert len(lines) == len(set(lines)), "a line twice behind one amount"
                owners = {answer["evidence"][one]["load_id"] for one, *_ in lines}
                assert owners <= {load["load_id"]}, "a line of another load behind an amount"
        features.update(f"missing {template(one['what'])}" for one in answer["missing"])
    connection.close()
    return features


# -- screens ----------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The elements and handlers of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update((name, (value or "")[:12]) for name, value in attrs)


def inert(text: str, what: str) -> None:
    """No control, no invisible character, in a page no element that is not ours."""
    found = ACTS.search(text)
    assert found is None, (what, found[0], text[max(0, found.start() - 40) : found.end() + 20])
    if what == "html":
        page = Tags(text)
        assert page.tags <= TAGS, page.tags - TAGS
        assert not any(name.startswith("on") for name, _ in page.attributes)
        links = {value for name, value in page.attributes if name in ("href", "src")}
        assert all(link.startswith("#") for link in links), links


def on_screen(draw: Callable[[Console], None], width: int = 100, encoding: str = "utf-8") -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    draw(Console(file=out, width=width, highlight=False, legacy_windows=False))
    out.flush()
    out.seek(0)
    return out.read()


def drawn(answer: dict[str, Any]) -> Features:
    """Render a document in every format."""
    for width, encoding in ((100, "utf-8"), (32, "ascii")):
        for evidence in (False, True):
            inert(on_screen(partial(render_table, answer, evidence=evidence), width, encoding), "screen")
    text = render_json(answer)
    inert(text, "json")
    json.loads(text)
    inert(render_markdown(answer), "markdown")
    inert(render_html(answer), "html")
    return {f"key {key}" for key in answer}


def render(data: bytes) -> Features:
    """Read a case, answer all questions about it, and print each answer in each format."""
    found = evidence_of(data)
    connection = stored(found)
    answer = document(connection, catalogue())
    drawn(answer | provenance(connection, Asked("last", None, None, None)))
    inert(page_of(connection, answer, load=None), "html")
    features = owned(found)
    names = sorted(QUESTIONS)
    for name in (names[len(data) % len(names)], names[len(data) // 7 % len(names)]):
        ask = Ask(connection=connection, evidence=True)
        with suppress(ForensicsError):
            said = QUESTIONS[name][0](ask)
            features.add(f"{name} {said.code} {template(said.verdict)}")
            inert(on_screen(partial(answer_table, ask, said)), f"{name} screen")
            inert(answer_markdown(ask, said), f"{name} markdown")
            inert(render_answer_html(said), "html")
            inert(answer_json(ask, said), f"{name} json")
    connection.close()
    return features


@cache
def report() -> tuple[bytes, Derived]:
    """A report of a recorded case, and what comes out of its sources again."""
    folder = scratch() / "report"
    folder.mkdir()
    data = (CORPUS / "case" / "llama-mtp-vision-two-cards-plain.txt").read_bytes()
    names = PART.split(data)
    for name, part in zip(names[1::2], names[2::2], strict=True):
        (folder / name.decode()).write_bytes(part)
    connection = stored(read_evidence([folder], catalogue()))
    found = document(connection, catalogue()) | provenance(connection, Asked("last", None, None, None))
    text = render_json(found)
    derived = derive(json.loads(text), beside=folder, catalogue=catalogue())
    assert compare(json.loads(text), derived).code == 0
    return text.encode(), derived


def report_seeds() -> list[bytes]:
    """Reports to change."""
    made = [report()[0]]
    for name in ("ollama-c-relayed", "vllm-sleep-mode", "llama-oom", "router-ping-pong"):
        connection = stored(evidence_of((CORPUS / "case" / f"{name}.txt").read_bytes()))
        made.append(render_json(document(connection, catalogue())).encode())
        connection.close()
    return made


def changed_report(data: bytes) -> Features:
    """Print a changed report, and verify it: renderers take any document, and a change never verifies."""
    with suppress(ValueError, RecursionError):
        answer = json.loads(data)
        if isinstance(answer, dict):
            whole, derived = report()
            checked = compare(answer, derived)
            assert checked.code != 0 or answer == json.loads(whole), "a changed report verifies"
            shown = partial(answer_table, Ask(duckdb.connect(), cases=()), checked)
            inert(on_screen(shown), "verify screen")
            return drawn(answer)
    return set()


# -- queries ----------------------------------------------------------------------------------------------------------

SECRET = "fuzz-canary-81b2"  # noqa: S105


@cache
def asked_case() -> tuple[Opened, Path]:
    """A locked case, and a file beside it that no query may reach."""
    outside = scratch() / "outside.csv"
    outside.write_text(f"a\n{SECRET}\n")
    data = (CORPUS / "case" / "incident-vram-gap.txt").read_bytes()
    opened = Opened(stored(evidence_of(data)), catalogue(), load_questions())  # type: ignore[arg-type]
    lock(opened.connection, LIMITS)
    return opened, outside


LIMITS = Limits(rows=50, seconds_s=2.0, memory_bytes=256 << 20)


def query_seeds() -> list[bytes]:
    """Questions, and escapes."""
    outside = asked_case()[1]
    views = [
        f"SELECT {', '.join(name for name, _, _ in one.columns[:6])} FROM {one.name}"
        for one in load_questions()
        if one.parameters is None
    ]
    return [text.encode() for text in views] + [
        line.replace(b"{outside}", str(outside).encode()) for line in (CORPUS / "query.sql").read_bytes().splitlines()
    ]


def query(data: bytes) -> Features:
    """Ask a locked case: nothing outside is read or written, nothing in it changes, and it ends."""
    opened, outside = asked_case()
    before = sorted(outside.parent.iterdir())
    text = data.decode("utf-8", "replace")
    try:
        with bounded_memory(LIMITS):
            result = run_query(opened, text, LIMITS)
    except QuestionError as error:
        return {template(str(error))[:30]}
    assert len(result.rows) <= LIMITS.rows
    if SECRET not in text:
        assert SECRET not in repr(result.rows), "it read a file"
    assert sorted(outside.parent.iterdir()) == before, "it wrote a file"
    assert outside.read_text() == f"a\n{SECRET}\n"
    assert opened.connection.execute("SELECT count(*) FROM load").fetchall()[0][0] == 1
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()) as out:
        for output in ("table", "csv", "json", "md"):
            print_result(result, output)
    inert(out.getvalue().replace("\r\n", "\n"), "rows")
    return {"answered", *result.types}


TARGETS: dict[str, Target] = {
    one.name: one
    for one in (
        Target("reader", reader, mutate_bytes, lambda: corpus("reader"), 4),
        Target("lines", reader, mutate_text, lambda: corpus("reader"), 2),
        Target("pattern", pattern, mutate_bytes, pattern_seeds, 2, 2.0),
        Target("scan", scan, mutate_text, lambda: [*corpus("case"), b"\n".join(pattern_seeds()[::9])], 1),
        Target("owner", owner, mutate_text, lambda: corpus("case"), 3),
        Target("grown", grown, mutate_text, lambda: corpus("case", "reader"), 3),
        Target("account", account, mutate_text, lambda: corpus("case"), 4, 30.0),
        Target("render", render, mutate_text, lambda: corpus("case"), 4, 60.0),
        Target("report", changed_report, mutate_json, report_seeds, 3, 20.0),
        Target("query", query, mutate_sql, query_seeds, 2),
    )
}
