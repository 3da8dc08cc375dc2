"""Read what services say of themselves: loaded models with their sizes, slots, settings, and counters of requests.

A shape is known by its keys, whoever prints it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation

from forensics.records.block import RequestCounters, SelfReports, Source
from forensics.records.json_lines import object_of
from forensics.records.json_text import JsonText, Placed
from forensics.records.lines import placed_lines
from forensics.records.options import Options
from forensics.records.samples import file_time

__all__ = ["CounterRows", "ReportRows", "is_report_table", "read_report_table", "read_requests", "report_document"]

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]i?B|B)")
_SHARE = re.compile(r"(\d+)%(?:/(\d+)%)? (CPU|GPU)(?:/(CPU|GPU))?")
_TITLES = ("NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL")

_BODIES = ("resp", "response", "body", "result", "data")
_TIMES = ("t", "time", "timestamp", "ts", "created", "created_at")
_COUNTERS = ("timings", "usage")
_OWN = frozenset("total_duration load_duration prompt_eval_count prompt_eval_duration eval_count eval_duration".split())
"""Counters that an answer has beside its text, in nanoseconds and tokens."""

_ASKED = ("req", "request", "payload", "params", "asked")
_ANSWERS = ("content", "text", "response")
_REASONING = ("reasoning_content", "reasoning", "thinking")
_THOUGHT = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)
"""Reasoning inside of an answer, where nobody has taken it out."""

_DEEP = 4


class ReportRows:
    """Rows of self-reports by column."""

    def __init__(self) -> None:
        self.wall_us: list[int | None] = []
        self.kind: list[str] = []
        self.model: list[str | None] = []
        self.total_bytes: list[int | None] = []
        self.card_bytes: list[int | None] = []
        self.bound_bytes: list[int] = []
        self.context: list[int | None] = []
        self.state: list[str | None] = []
        self.offset: list[int] = []
        self.length: list[int] = []

    def add(
        self,
        extent: tuple[int, int],
        wall_us: int | None,
        kind: str,
        model: object = None,
        *,
        total: int | None = None,
        card: int | None = None,
        bound: int = 0,
        context: object = None,
        state: object = None,
    ) -> None:
        """Take one row, cited by its extent."""
        self.wall_us.append(wall_us)
        self.kind.append(kind)
        self.model.append(model if isinstance(model, str) else None)
        self.total_bytes.append(total)
        self.card_bytes.append(card)
        self.bound_bytes.append(bound)
        self.context.append(_whole(context))
        self.state.append(state if isinstance(state, str) else None)
        self.offset.append(extent[0])
        self.length.append(extent[1])

    def reports(self, source: Source) -> Iterator[SelfReports]:
        """All rows as one hand-over, counted; none if there are none."""
        if self.offset:
            source.records += len(self.offset)
            yield SelfReports(source=source, **vars(self))


class CounterRows:
    """Rows of counters by column."""

    def __init__(self) -> None:
        self.wall_us: list[int | None] = []
        self.name: list[str] = []
        self.labels: list[str | None] = []
        self.value: list[float] = []
        self.offset: list[int] = []
        self.length: list[int] = []

    def __len__(self) -> int:
        return len(self.offset)

    def add(self, extent: tuple[int, int], wall_us: int | None, name: str, value: object, labels: str | None) -> bool:
        """Take one row, cited by its extent; False if the value is no number."""
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            return False
        self.wall_us.append(wall_us)
        self.name.append(name)
        self.labels.append(labels)
        self.value.append(float(value))
        self.offset.append(extent[0])
        self.length.append(extent[1])
        return True

    def counters(self, source: Source) -> Iterator[RequestCounters]:
        """All rows as one hand-over, counted; none if there are none."""
        if self.offset:
            source.records += len(self.offset)
            yield RequestCounters(source=source, **vars(self))


def _whole(value: object) -> int | None:
    return value if type(value) is int and abs(value) < 2**63 else None


def _amount(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**62 else None


def report_document(
    text: JsonText, found: Placed, wall_us: int | None, reports: ReportRows, counters: CounterRows
) -> bool:
    """Take what one document says of a service; False if its shape is none that is known."""
    value = found.value
    if isinstance(value, dict):
        models = value.get("models")
        if isinstance(models, list) and any(isinstance(one, dict) and "size_vram" in one for one in models):
            _models(text, found, wall_us, reports)
            return True
        running = value.get("running")
        if isinstance(running, list) and all(isinstance(one, dict) and "state" in one for one in running):
            listed = text.member(found, "running")
            for one in text.elements(listed) if listed is not None else ():
                assert isinstance(one.value, dict)
                model = one.value.get("model")
                reports.add(text.extent(one), wall_us, "running", model, state=one.value.get("state"))
            return True
        settings = value.get("default_generation_settings")
        if isinstance(settings, dict):
            reports.add(
                text.extent(found),
                wall_us,
                "settings",
                value.get("model_path") or value.get("model_alias"),
                context=settings.get("n_ctx"),
                state="asleep" if value.get("is_sleeping") is True else None,
            )
            slots = value.get("total_slots")
            counters.add(text.extent(found), wall_us, "total_slots", slots, None)
            return True
    if isinstance(value, list) and value and all(isinstance(one, dict) and "is_processing" in one for one in value):
        for one in text.elements(found):
            assert isinstance(one.value, dict)
            labels = f"slot={one.value.get('id')}"
            for path, number in _numbers(one.value, 1):
                if path != "id":
                    counters.add(text.extent(one), wall_us, f"slot.{path}", number, labels)
        return True
    return False


def _models(text: JsonText, found: Placed, wall_us: int | None, reports: ReportRows) -> None:
    listed = text.member(found, "models")
    for one in text.elements(listed) if listed is not None else ():
        entry = one.value
        if isinstance(entry, dict):
            reports.add(
                text.extent(one),
                wall_us,
                "loaded",
                entry.get("name") or entry.get("model"),
                total=_amount(entry.get("size")),
                card=_amount(entry.get("size_vram")),
                context=entry.get("context_length"),
            )


def is_report_table(line: bytes) -> bool:
    """Whether a line is the title of a table of loaded models."""
    return line.split()[:4] == [b"NAME", b"ID", b"SIZE", b"PROCESSOR"]


def read_report_table(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[SelfReports]:
    """Yield the models of a table NAME, ID, SIZE, PROCESSOR, CONTEXT, UNTIL.

    A printed size stands for all that it can mean: the middle is taken, and how far that reaches is its bound.
    """
    rows = ReportRows()
    names: list[str] = []
    wall_us = file_time(source)
    strange = 0
    for line, extent in placed_lines(pieces, source, options.line_bytes):
        text = line.decode("utf-8", "replace")
        if is_report_table(line):
            names = [name for name in _TITLES if name in text]
            continue
        if not text.strip() or not names:
            continue
        cell = dict(zip(names, re.split(r" {2,}|\t+", text.strip()), strict=False))
        size = _SIZE.fullmatch(cell.get("SIZE", ""))
        if size is None:
            strange += 1
            continue
        total, bound = _cut(size)
        rows.add(
            extent,
            wall_us,
            "loaded",
            cell["NAME"],
            total=total,
            card=_share(total, cell.get("PROCESSOR", "")),
            bound=bound,
            context=int(cell["CONTEXT"]) if cell.get("CONTEXT", "").isdecimal() else None,
            state=cell.get("UNTIL"),
        )
    source.tell("loss", "rows of the table that are none", "", None, strange)
    yield from rows.reports(source)


def _cut(size: re.Match[str]) -> tuple[int, int]:
    """What a printed size can mean: its middle, and how far to either side.

    From ten on the fraction is cut off; below, one place is rounded, and none is printed where there is none.
    """
    number, unit = Decimal(size[1]), _UNITS[size[2]]
    if number != number.to_integral_value() or "." in size[1]:
        return int(number * unit), unit // 20
    if number < 10 or unit == 1:
        return int(number * unit), 0
    return int((number + Decimal("0.5")) * unit), unit // 2


def _share(total: int, text: str) -> int | None:
    found = _SHARE.fullmatch(text)
    if found is None:
        return None
    shares = {found[3]: int(found[1])}
    if found[2] is not None and found[4] is not None:
        shares[found[4]] = int(found[2])
    return total * shares.get("GPU", 0) // 100


# -- requests ---------------------------------------------------------------------------------------------------------


def has_counters(entry: dict[str, object]) -> bool:
    """Whether an object is an answer to a request, or holds one, with the server's own counters."""
    return _answer(entry) is not None


def _body(value: object) -> object:
    """A value, or the object that it spells if it is a text of JSON."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _answer(entry: dict[str, object], deep: int = 0) -> dict[str, object] | None:
    if any(isinstance(entry.get(name), dict) for name in _COUNTERS) or len(_OWN & entry.keys()) >= 3:
        return entry
    if deep >= _DEEP:
        return None
    for name in _BODIES:
        body = _body(entry.get(name))
        if isinstance(body, dict) and (found := _answer(body, deep + 1)) is not None:
            return found
    return None


def read_requests(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[RequestCounters]:
    """Yield the counters of all answers, one object a line; a line is cited whole for each of its counters."""
    rows = CounterRows()
    without = broken = undated = 0
    for line, extent in placed_lines(pieces, source, options.line_bytes):
        if not line.strip():
            continue
        entry = object_of(line)
        if entry is None:
            broken += 1
            continue
        answer = _answer(entry)
        if answer is None:
            without += 1
            continue
        wall_us = next((at for name in _TIMES if (at := _time(entry.get(name))) is not None), None)
        wall_us = _time(answer.get("created")) if wall_us is None else wall_us
        undated += wall_us is None
        model = next((one for one in (answer.get("model"), entry.get("model")) if isinstance(one, str)), None)
        labels = None if model is None else f"model={model}"
        before = len(rows)
        for name in _COUNTERS:
            part = answer.get(name)
            if isinstance(part, dict):
                for path, number in _numbers(part, _DEEP):
                    rows.add(extent, wall_us, f"{name}.{path}", number, labels)
        for name in sorted(_OWN & answer.keys()):
            rows.add(extent, wall_us, name, answer[name], labels)
        if len(rows) > before:
            for name, number in (*_about(answer), *_asked(entry)):
                rows.add(extent, wall_us, name, number, labels)
        without += len(rows) == before
    source.tell("loss", "lines that are no object", "", None, broken)
    source.tell("note", "lines without counters were passed over", "", None, without)
    source.tell("note", "answers without a time", "", None, undated)
    yield from rows.counters(source)


def _about(answer: dict[str, object]) -> Iterator[tuple[str, object]]:
    """What an answer is beside its counters: characters of its text and reasoning, and whether a limit cut it."""
    choices = answer.get("choices")
    parts = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else [answer]
    texts: list[str] = []
    reasoning: list[str] = []
    for part in parts:
        message = part.get("message")
        inner = message if isinstance(message, dict) else part
        texts += [one for name in _ANSWERS if isinstance(one := inner.get(name), str)]
        reasoning += [one for name in _REASONING if isinstance(one := inner.get(name), str)][:1]
    thought = [one for text in texts for one in _THOUGHT.findall(text)]
    if texts or reasoning:
        yield "answer.content_chars", sum(len(_THOUGHT.sub("", text).strip()) for text in texts)
        yield "answer.reasoning_chars", sum(len(text.strip()) for text in (*reasoning, *thought))
    stops = {one.get(name) for one in parts for name in ("finish_reason", "stop_type", "done_reason")} - {None, "none"}
    if stops:
        yield "answer.limited", int(bool(stops & {"length", "limit"}))


def _asked(entry: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Whether the request asked for reasoning, where it is kept beside its answer."""
    for name in _ASKED:
        body = _body(entry.get(name))
        if not isinstance(body, dict):
            continue
        template = body.get("chat_template_kwargs")
        for one in (body, template if isinstance(template, dict) else {}):
            for key in ("think", "enable_thinking", "reasoning_effort"):
                if key in one:
                    yield "asked.reasoning", int(one[key] not in {False, "none", None, "false", ""})
                    return


def _numbers(part: dict[str, object], deep: int) -> Iterator[tuple[str, object]]:
    for name, value in part.items():
        if isinstance(value, dict) and deep > 1:
            for path, inner in _numbers(value, deep - 1):
                yield f"{name}.{path}", inner
        else:
            yield name, value


def _time(value: object) -> int | None:
    """A time as µs since the epoch: a number of seconds, ms, µs or ns by its size, or a text with a zone."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value))
        except ValueError:
            return None
        return None if moment.tzinfo is None else int(moment.timestamp() * 1_000_000)
    if type(value) not in {int, float}:
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    for factor in (Decimal(1_000_000), Decimal(1000), Decimal(1), Decimal("0.001")):
        if 10**15 <= number * factor < 10**16:  # from 2001 on
            return int(number * factor)
    return None
