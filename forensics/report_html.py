"""Print a document as one HTML page that needs nothing else: no script, no network, no file beside it.

Every text reaches the page through the template's `finalize`, which is `safe.for_html`; every chart through
`chart.texts`. Nothing else writes to it, so a text of a log is escaped exactly once. The page's policy allows one style
sheet, known by its hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from forensics import charts
from forensics.aliases import Aliases, Cited
from forensics.amounts import clock, gib, mib, moment
from forensics.answer import Answer
from forensics.bars import Fill, fill_of
from forensics.card_view import KINDS, Card, Row, card_of
from forensics.document import Document, choose_load, label, last_part, mapping, maps, model_name, size, texts
from forensics.errors import UsageError
from forensics.over_time import NOTHING, Accepted, Life, Memory, OverTime
from forensics.safe import for_html
from forensics.view import View, view

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render_answer_html", "render_html"]

BUCKETS = 400
"""Moments that a chart over time shows of each card; more are joined, and the highest of each is shown."""

MOST_LANES = 24
"""Loads that get a lane of their own; of more, those of one model share it."""

MOST_CHANGES = 120
"""Rows of the table beside a chart."""

CHANGED = charts.GIB // 16
"""A card's use is listed where it changed by this much."""

ALIAS = re.compile(r"\b[ec]\d+\b")


class Drill(NamedTuple):
    """An amount, with the lines behind it."""

    row: Row
    place: str
    lines: tuple[Cited, ...]


@dataclass(frozen=True)
class CardPart:
    """One card of a load on the page."""

    card: Card
    chart: str
    rows: tuple[Drill, ...]


@dataclass(frozen=True)
class LoadPart:
    """One load on the page."""

    load_id: str
    name: str
    number: str
    shown: View
    cards: tuple[CardPart, ...]


class Step(NamedTuple):
    """A logged amount comes or goes."""

    at_us: int
    fill: Fill
    size_bytes: int
    what: str
    load: str
    evidence: str


@dataclass(frozen=True)
class MemoryPart:
    """One card over time."""

    title: str
    chart: str
    fills: tuple[Fill, ...]
    steps: tuple[Step, ...]
    changes: tuple[tuple[int, int, int], ...]
    """Moment, use of the card, and what loads held of it, where the use changed much."""
    joined_s: float
    samples: int
    most_bytes: int
    """The most that the card showed."""


def render_html(
    document: Document,
    series: OverTime = NOTHING,
    *,
    load: str | None = None,
    answers: Mapping[str, Answer] | None = None,
) -> str:
    """The page of a document: the same bytes on every run.

    Args:
        document: What `explain-vram` found.
        series: What to draw over time.
        load: The load to show first and in full; the newest without it.
        answers: Answers to other questions about the same evidence, by name.
    """
    aliases = Aliases(mapping(document, "evidence"))
    first = choose_load(document, load)
    main = view(document, label(first, "load_id") if first else None, aliases)
    parts = [_load(document, each, aliases) for each in maps(document, "loads")]
    parts.sort(key=lambda part: part.load_id != label(first or {}, "load_id"))
    for identifier in mapping(document, "evidence"):
        aliases.of([identifier])
    span = series.span_us
    memory = [_memory(document, series, card, span, aliases) for card in _cards(document, series)] if span else []
    places = {part.load_id: f"load-{part.load_id}" for part in parts if part.load_id}
    return _page(
        "report.html.jinja",
        title=main.verdict,
        main=main,
        loads=parts,
        memory=[part for part in memory if part is not None],
        lanes=_lanes(series, span, places),
        turns=_turns(series, span, places),
        accepted=_accepted(series, span, aliases.names),
        answers=answers or {},
        sources=_sources(document),
        evidence=aliases.legend(),
    )


def render_answer_html(answer: Answer, coverage: str = "") -> str:
    """The page of an answer to any other question, and how much of the logs it rests on."""
    name = label(answer.document, "schema").removeprefix("forensics.").partition("/")[0]
    return _page("answer.html.jinja", title=answer.verdict, name=name, answer=answer, coverage=coverage)


# -- loads and cards --------------------------------------------------------------------------------------------------


def _load(document: Document, load: Document, aliases: Aliases) -> LoadPart:
    load_id = label(load, "load_id")
    shown = view(document, load_id, aliases)
    cards = tuple(_card(card, f"load-{load_id}-card-{place}", aliases) for place, card in enumerate(shown.cards))
    return LoadPart(load_id, model_name(load), label(load, "number"), shown, cards)


def _card(card: Card, place: str, aliases: Aliases) -> CardPart:
    rows = tuple(
        Drill(row, f"{place}-row-{number}", _lines(row.cited, aliases)) for number, row in enumerate(card.rows)
    )
    pieces = [
        charts.Piece(
            segment.fill,
            drill.row.kind if drill.row.part in ("", "target") else f"{drill.row.kind}, {drill.row.part}",
            segment.size_bytes,
            " ".join(filter(None, (drill.row.kind, drill.row.part, drill.row.amount, "MiB", drill.row.basis))),
            drill.place,
        )
        for drill, segment in zip(rows, card.segments[:-1], strict=False)
        if drill.row.fill == segment.fill
    ]
    others = sum(segment.size_bytes for segment in card.segments if segment.fill == Fill.ELSE)
    name = f"What the load holds on {' '.join(card.title)}: {card.figure}"
    chart = charts.bar_chart(name, pieces, others, card.total_bytes) if pieces else ""
    return CardPart(card, chart, rows)


def _lines(identifiers: Sequence[str], aliases: Aliases) -> tuple[Cited, ...]:
    aliases.of(list(identifiers), limit=len(identifiers))
    return aliases.cited(identifiers)


# -- over time --------------------------------------------------------------------------------------------------------


def _card_key(card: Document) -> str:
    """As the tables name a card."""
    index = label(card, "gpu_index")
    return label(card, "gpu_uuid") or label(card, "pci_bus_id") or (f"index {index}" if index else "")


def _cards(document: Document, series: OverTime) -> list[str]:
    """Cards with samples or with items of a load; a device that no card is known for stands by its name."""
    keys = [_card_key(card) for card in maps(document, "cards")]
    for load in maps(document, "loads"):
        for device in maps(load, "devices"):
            if label(device, "where") in ("card", "shared"):
                keys += [_device_key(document, device)]
    return [key for key in dict.fromkeys((*keys, *series.memory)) if key]


def _device_key(document: Document, device: Document) -> str:
    return _card_key(card_of(document, device)) or _card_key(device) or f"{label(device, 'device')}, card unknown"


def _title(document: Document, key: str) -> str:
    for card in maps(document, "cards"):
        if _card_key(card) == key:
            index = label(card, "gpu_index")
            return " ".join(filter(None, (f"GPU {index}" if index else "", label(card, "name")))) or key
    return key


def _memory(
    document: Document, series: OverTime, key: str, span: tuple[int, int] | None, aliases: Aliases
) -> MemoryPart | None:
    """One card over time: the items of the loads on it as steps, what is held and not named, and what others hold."""
    samples = series.memory.get(key, [])
    steps = _steps(document, series, key, aliases)
    if span is None or (not steps and not any(one.used or one.loads or one.others for one in samples)):
        return None
    title = _title(document, key)
    seen = max((max(one.used or 0, one.loads + one.others) for one in samples), default=0)
    if not steps and seen < CHANGED:
        return MemoryPart(title, "", (), (), (), 0.0, len(samples), seen)
    drawn, joined_s = _thin(samples)
    levels = _levels(steps, drawn, span)
    order = [fill for fill in Fill if any(fill in level for _, level in levels)]
    lower = dict.fromkeys((at for at, _ in levels), 0)
    bands, top = [], 0
    for fill in order:
        points, most = [], 0
        for at, level in levels:
            low = lower[at]
            lower[at] = high = low + level.get(fill, 0)
            points.append((at, low, high))
            most, top = max(most, high - low), max(top, high)
        bands.append(charts.Band(fill, tuple(_turning(points)), f"{charts.OVER_TIME[fill]}: up to {gib(most)}"))
    card = [(one.at_us, one.used) for one in drawn if one.used is not None]
    top = max([top, *(used for _, used in card)])
    return MemoryPart(
        title=title,
        chart=charts.memory_chart(f"Memory of {title} over time", span, bands, card, top),
        fills=tuple(order),
        steps=tuple(steps),
        changes=tuple(_changes(samples)),
        joined_s=joined_s,
        samples=len(samples),
        most_bytes=seen,
    )


def _steps(document: Document, series: OverTime, key: str, aliases: Aliases) -> list[Step]:
    """When each item of each load on a card came and went: it stands while its load is not asleep."""
    lives = {life.load_id: life for life in series.lives}
    steps: list[Step] = []
    for load in maps(document, "loads"):
        life = lives.get(label(load, "load_id"))
        if life is None:
            continue
        for device in maps(load, "devices"):
            if label(device, "where") not in ("card", "shared") or _device_key(document, device) != key:
                continue
            for item in maps(device, "items"):
                amount = size(item)
                if amount:
                    evidence = texts(item, "evidence")
                    begin = _begin(document, evidence, life, label(item, "kind"))
                    kind = label(item, "kind")
                    name = " ".join((KINDS.get(kind, kind.replace("_", " ")), label(item, "part")))
                    who = f"{life.number} {model_name(load)}"
                    cited = aliases.of(evidence, limit=2)
                    for up, down in _awake(life, begin):
                        steps.append(Step(up, fill_of(kind), amount, name, who, cited))
                        steps.append(Step(down, fill_of(kind), -amount, name, who, ""))
    return sorted(steps, key=lambda one: (one.at_us, one.load, -one.size_bytes, one.what))


def _begin(document: Document, evidence: Iterable[str], life: Life, kind: str) -> int:
    """When an item's last line was written, inside the life; the runtime is there from the begin."""
    if kind == "runtime":
        return life.begun_us
    times = [
        int(found.timestamp() * 1_000_000)
        for each in evidence
        if (found := moment(label(mapping(mapping(document, "evidence"), each), "time")))
    ]
    return min(max([life.begun_us, *times]), life.until_us)


def _awake(life: Life, begin: int) -> Iterable[tuple[int, int]]:
    since = begin
    for spell in life.spells:
        if spell.what == "asleep" and spell.end_us > since:
            if spell.begin_us > since:
                yield since, spell.begin_us
            since = spell.end_us
    if life.until_us > since:
        yield since, life.until_us


def _levels(
    steps: Sequence[Step], samples: Sequence[Memory], span: tuple[int, int]
) -> list[tuple[int, dict[Fill, int]]]:
    """What lies on a card at each moment at which anything changes."""
    times = sorted({one.at_us for one in steps} | {one.at_us for one in samples} | set(span))
    named: dict[Fill, int] = {}
    levels: list[tuple[int, dict[Fill, int]]] = []
    by_process = any(one.loads or one.others for one in samples)
    step = sample = 0
    for at in times:
        while step < len(steps) and steps[step].at_us <= at:
            named[steps[step].fill] = named.get(steps[step].fill, 0) + steps[step].size_bytes
            step += 1
        while sample < len(samples) and samples[sample].at_us <= at:
            sample += 1
        level = {fill: amount for fill, amount in named.items() if amount}
        if sample:
            seen, total = samples[sample - 1], sum(named.values())
            if seen.loads > total:
                level[Fill.UNEXPLAINED] = seen.loads - total
            # Where no process was sampled, all that is not named may be anybody's.
            rest = seen.others if by_process or seen.used is None else max(seen.used - max(seen.loads, total), 0)
            if rest:
                level[Fill.ELSE] = rest
        levels.append((at, level))
    return levels


def _thin(samples: Sequence[Memory]) -> tuple[list[Memory], float]:
    """At most so many moments, each the highest of its interval; and the interval in seconds, or 0."""
    if len(samples) <= BUCKETS:
        return list(samples), 0.0
    begin, end = samples[0].at_us, samples[-1].at_us
    width = (end - begin) // BUCKETS + 1
    kept: dict[int, Memory] = {}
    for one in samples:
        place = (one.at_us - begin) // width
        best = kept.get(place)
        if best is None or (one.used or 0, one.loads) > (best.used or 0, best.loads):
            kept[place] = one
    return list(kept.values()), width / 1e6


def _turning(points: Sequence[tuple[int, int, int]]) -> Iterable[tuple[int, int, int]]:
    """Points at which an edge moves, and the last."""
    before: tuple[int, int] | None = None
    for place, (at, low, high) in enumerate(points):
        if (low, high) != before or place == len(points) - 1:
            yield at, low, high
        before = low, high


def _changes(samples: Sequence[Memory]) -> Iterable[tuple[int, int, int]]:
    before: int | None = None
    for one in samples:
        seen = one.used if one.used is not None else one.loads + one.others
        if before is None or abs(seen - before) >= CHANGED:
            before = seen
            yield one.at_us, seen, one.loads


def _lanes(series: OverTime, span: tuple[int, int] | None, places: Mapping[str, str]) -> str:
    if span is None or not series.lives:
        return ""
    if len(series.lives) > MOST_LANES:
        lanes = list(_by_model(series).items())
        return charts.lanes_chart("Loads over time, by model", span, lanes, places, numbered=True)
    lanes = [(f"{life.number} · {_short(life.model)}", [life]) for life in series.lives]
    return charts.lanes_chart("Loads over time", span, lanes, places)


def _turns(series: OverTime, span: tuple[int, int] | None, places: Mapping[str, str]) -> str:
    """Lanes by model, where a model came back after another had taken its place."""
    order = [life.model for life in series.lives]
    back = any(model in order[:place] and order[place - 1] != model for place, model in enumerate(order) if place)
    if span is None or not back or len(series.lives) > MOST_LANES:
        return ""
    return charts.lanes_chart("Models taking turns", span, list(_by_model(series).items()), places, numbered=True)


def _by_model(series: OverTime) -> dict[str, list[Life]]:
    lanes: dict[str, list[Life]] = {}
    for life in series.lives:
        lanes.setdefault(_short(life.model), []).append(life)
    return lanes


def _short(model: str) -> str:
    return last_part(model.rstrip("/")).removesuffix(".gguf")


def _accepted(
    series: OverTime, span: tuple[int, int] | None, places: Mapping[str, str]
) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """For each load that drafts: its name, its chart, and its figures."""
    found = []
    numbers = {life.load_id: str(life.number) for life in series.lives}
    for load_id in dict.fromkeys(one.load_id for one in series.accepted):
        mine = _fewer([one for one in series.accepted if one.load_id == load_id])
        name = f"{numbers.get(load_id, '')} · {_short(series.models.get(load_id, load_id))}"
        chart = charts.acceptance_chart(f"Accepted share of drafts, {name}", span or (0, 1), mine, places)
        rows = [
            (
                charts.utc(one.at_us),
                f"{one.accepted} of {one.drafted}" if one.drafted is not None else "",
                f"{one.ratio:.1%}",
            )
            for one in mine
        ]
        found.append((name, chart, rows))
    return found


def _fewer(points: list[Accepted]) -> list[Accepted]:
    """At most so many points: of more, those of an interval are one, by the sums of their counts."""
    if len(points) <= BUCKETS:
        return points
    begin, end = points[0].at_us, max(one.at_us for one in points)
    width = (end - begin) // BUCKETS + 1
    sums: dict[int, tuple[int, int, int]] = {}
    for one in points:
        if one.accepted is not None and one.drafted:
            requests, accepted, drafted = sums.get((one.at_us - begin) // width, (0, 0, 0))
            sums[(one.at_us - begin) // width] = requests + 1, accepted + one.accepted, drafted + one.drafted
    return [
        Accepted(
            points[0].load_id, begin + place * width, accepted, drafted, accepted / drafted, f"{requests} together", ""
        )
        for place, (requests, accepted, drafted) in sums.items()
    ]


def _sources(document: Document) -> list[tuple[str, str]]:
    cited = mapping(document, "evidence")
    pairs = {(label(mapping(cited, each), "source"), label(mapping(cited, each), "digest")) for each in cited}
    return sorted(pair for pair in pairs if pair[0])


# -- the page ---------------------------------------------------------------------------------------------------------


def _page(template: str, **values: object) -> str:
    style = files("forensics.templates").joinpath("report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = _environment()
    rendered = environment.get_template(template).render(
        **values, style=_trusted(style), style_hash=digest, names_over_time=charts.OVER_TIME, most_changes=MOST_CHANGES
    )
    return re.sub(r"\n\s*\n+", "\n", rendered).strip() + "\n"


def _trusted(text: str) -> object:
    """A text that is ours and HTML already: the style sheet and drawings."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(text)  # noqa: S704


def _environment() -> Environment:
    try:
        import jinja2  # noqa: PLC0415
        from markupsafe import Markup  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("an HTML report needs its templates: pip install 'llm-forensics[report]'") from error

    def finalize(value: object) -> object:
        """The one way of a text into the page."""
        if value is None:
            return ""
        return value if isinstance(value, Markup) else Markup(for_html(str(value)))  # noqa: S704

    def linked(text: str) -> Markup:
        """Short names of evidence as links to its table."""
        return Markup(ALIAS.sub(lambda found: f'<a href="#{found[0]}">{found[0]}</a>', for_html(text)))  # noqa: S704

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: files("forensics.templates").joinpath(name).read_text("utf-8")),
        autoescape=True,
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(linked=linked, drawing=_trusted, mib=mib, gib=gib, utc=charts.utc, clock=clock)
    return environment
