"""Say what each chart of a report shows: bars of cards, memory over time, lives of loads, turns, acceptance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from forensics.amounts import gib
from forensics.bars import Fill
from forensics.chart import Spec, draw, texts
from forensics.over_time import Accepted, Life
from forensics.units import MIB

__all__ = ["OVER_TIME", "SIZES", "Band", "Piece", "acceptance_chart", "bar_chart", "lanes_chart", "memory_chart", "utc"]

SIZES = (("wide", 880), ("narrow", 340))
"""Each chart is drawn twice, so that its letters keep their size; the style sheet shows one."""

OVER_TIME = {
    Fill.WEIGHTS: "weights",
    Fill.CACHE: "cache",
    Fill.STATE: "state",
    Fill.COMPUTE: "compute",
    Fill.OTHER: "other items",
    Fill.RUNTIME: "runtime",
    Fill.UNEXPLAINED: "held, not named",
    Fill.ELSE: "other processes",
    Fill.FREE: "free",
}
"""What the fills of a chart over time stand for."""

LETTER = 6.4
"""Pixels that a letter of a label takes, about."""

GIB = 1024 * MIB


def paint(fill: Fill) -> str:
    """A fill's colour: the style sheet's, hatched for what is not this load's or not named."""
    return f"url(#hatch-{fill})" if fill in (Fill.UNEXPLAINED, Fill.ELSE) else f"var(--{fill})"


def twice(name: str, specs: Iterable[Spec], css: str = "") -> str:
    """The drawings of one chart in both sizes."""
    return "".join(
        draw(spec, name, f"chart {size} {css}".strip()) for spec, (size, _) in zip(specs, SIZES, strict=True)
    )


# -- a card -----------------------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """One amount of a bar."""

    fill: Fill
    name: str
    size_bytes: int
    about: str
    """What is shown when pointed at."""
    place: str
    """Where it leads to on the page."""


STRIP, GAP, THICK = 10, 16, 38
"""Heights: the whole card, the space to it, and what the load holds of it."""


def bar_chart(name: str, pieces: Sequence[Piece], others: int, total: int) -> str:
    """What a load holds of a card, in proportion, under a strip that shows how much of the card that is."""
    return twice(name, (_bar(pieces, others, total, width) for _, width in SIZES), "bar")


def _bar(pieces: Sequence[Piece], others: int, total: int, width: int) -> Spec:
    shown = [one for one in pieces if one.size_bytes > 0]
    held = sum(one.size_bytes for one in shown)
    total = max(total, held + others)
    rows, at = [], 0.0
    for one in shown:
        share = one.size_bytes / held if held else 0
        label = one.name if len(one.name) * LETTER + 8 <= share * width else ""
        rows.append(
            {
                "from": at,
                "to": at + share,
                "middle": at + share / 2,
                "label": label,
                "ink": "var(--ink)" if one.fill in (Fill.UNEXPLAINED, Fill.ELSE) else "var(--on)",
                "paint": paint(one.fill),
                "about": one.about,
                "place": _link(one.place),
            }
        )
        at += share
    top = 0 if not total else STRIP + GAP
    layers: list[Spec] = []
    if total:
        mine, theirs = held / total, others / total
        strip = [
            {"from": 0, "to": mine, "paint": "var(--ink)", "about": f"this load: {gib(held)}"},
            {"from": mine, "to": mine + theirs, "paint": paint(Fill.ELSE), "about": f"others: {gib(others)}"},
            {
                "from": mine + theirs,
                "to": 1,
                "paint": "var(--free)",
                "about": f"free or reserved: {gib(total - held - others)}",
            },
        ]
        layers.append(
            {
                "data": {"values": [one for one in texts(strip) if one["to"] > one["from"]]},
                "mark": {"type": "rect", "y": 0, "y2": STRIP},
                "encoding": {
                    **_across(),
                    "fill": {"field": "paint", "type": "nominal", "scale": None},
                    "description": {"field": "about"},
                },
            }
        )
        layers.append(
            {
                "data": {"values": [{"from": 0, "to": 0}, {"from": mine, "to": 1}]},
                "mark": {"type": "rule", "y": STRIP + 2, "y2": top - 2, "stroke": "var(--line)", "aria": False},
                "encoding": _across(),
            }
        )
    layers.append(
        {
            "data": {"values": texts(rows)},
            "mark": {"type": "rect", "y": top, "y2": top + THICK, "stroke": "var(--page)", "strokeWidth": 1.5},
            "encoding": {
                **_across(),
                "fill": {"field": "paint", "type": "nominal", "scale": None},
                "description": {"field": "about"},
                "href": {"field": "place"},
            },
        }
    )
    layers.append(
        {
            "data": {"values": texts([one for one in rows if one["label"]])},
            "mark": {"type": "text", "y": top + THICK / 2, "fontSize": 12, "aria": False},
            "encoding": {
                "x": {"field": "middle", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": None},
                "text": {"field": "label"},
                "color": {"field": "ink", "type": "nominal", "scale": None},
            },
        }
    )
    return {"width": width, "height": top + THICK, "padding": 1, "layer": layers}


def _across() -> Spec:
    scale = {"domain": [0, 1]}
    return {
        "x": {"field": "from", "type": "quantitative", "scale": scale, "axis": None},
        "x2": {"field": "to"},
    }


# -- over time --------------------------------------------------------------------------------------------------------

LEFT, RIGHT = 46, 24
"""Pixels beside the plot, in all charts over time: so they share their times."""


def _time_axis(span: tuple[int, int], width: int, title: str = "UTC") -> Spec:
    seconds = (span[1] - span[0]) / 1e6
    form = "%H:%M:%S" if seconds < 1200 else "%H:%M" if seconds < 40 * 3600 else "%d %b %H:%M"
    return {
        "format": form,
        "tickCount": 8 if width > 500 else 4,
        "title": title,
        "grid": False,
        "labelOverlap": "greedy",
        "labelSeparation": 10,
    }


def _time(span: tuple[int, int], width: int, name: str = "at", title: str = "UTC") -> Spec:
    low, high = span[0] / 1000, max(span[1], span[0] + 1_000_000) / 1000
    return {
        "field": name,
        "type": "temporal",
        "scale": {"type": "utc", "domain": [low, high], "nice": False},
        "axis": _time_axis(span, width, title),
    }


def _left(**more: object) -> Spec:
    return {"minExtent": LEFT, "maxExtent": LEFT, "title": None, **more}


class Band(NamedTuple):
    """One kind of memory of a card over time: steps that hold until the next."""

    fill: Fill
    points: tuple[tuple[int, int, int], ...]
    """Moment in µs UTC, lower and upper edge in bytes."""
    about: str


def memory_chart(
    name: str, span: tuple[int, int], bands: Sequence[Band], card: Sequence[tuple[int, int]], top_bytes: int
) -> str:
    """Bands of memory on top of each other, with what the whole card shows as a line over them."""
    return twice(name, (_memory(span, bands, card, top_bytes, width) for _, width in SIZES))


def _memory(
    span: tuple[int, int], bands: Sequence[Band], card: Sequence[tuple[int, int]], top: int, width: int
) -> Spec:
    y_axis = _left(tickCount=5)
    scale = {"domain": [0, max(top / GIB * 1.05, 0.1)], "nice": False}
    layers: list[Spec] = []
    for band in bands:
        rows = [
            {"at": at / 1000, "low": round(low / GIB, 4), "high": round(high / GIB, 4), "about": band.about}
            for at, low, high in band.points
        ]
        layers.append(
            {
                "data": {"values": texts(rows)},
                "mark": {"type": "area", "interpolate": "step-after", "fill": paint(band.fill)},
                "encoding": {
                    "x": _time(span, width),
                    "y": {"field": "low", "type": "quantitative", "scale": scale, "axis": y_axis},
                    "y2": {"field": "high"},
                    "description": {"field": "about"},
                },
            }
        )
    if card:
        rows = [{"at": at / 1000, "used": round(used / GIB, 4), "about": "what the card shows"} for at, used in card]
        layers.append(
            {
                "data": {"values": texts(rows)},
                "mark": {"type": "line", "interpolate": "step-after", "stroke": "var(--ink)", "strokeWidth": 1.5},
                "encoding": {
                    "x": _time(span, width),
                    "y": {"field": "used", "type": "quantitative", "scale": scale, "axis": y_axis},
                    "description": {"field": "about"},
                },
            }
        )
    return {
        "width": width - LEFT - RIGHT,
        "height": 180 if width > 500 else 150,
        "autosize": "none",
        "padding": {"left": LEFT, "right": RIGHT, "top": 8, "bottom": 36},
        "layer": layers,
    }


SPELLS = {"loading": "url(#hatch-loading)", "serving": "var(--weights)", "asleep": "var(--free)"}
LANE = 44


Lanes = Sequence[tuple[str, Sequence[Life]]]
"""Names of lanes, with the lives on each."""


def lanes_chart(
    name: str, span: tuple[int, int], lanes: Lanes, places: Mapping[str, str], *, numbered: bool = False
) -> str:
    """Lives side by side; with numbers where a lane has several loads.

    Args:
        name: What the chart shows.
        span: The time that it covers.
        lanes: The lanes from top to bottom.
        places: Where on the page a load is, by its id.
        numbered: Put the number of the load into each life.
    """
    return twice(name, (_lanes(span, lanes, places, numbered, width) for _, width in SIZES))


def _lanes(span: tuple[int, int], lanes: Lanes, places: Mapping[str, str], numbered: bool, width: int) -> Spec:
    blocks, heads, numbers = [], [], []
    letters = int((width - LEFT) / LETTER)
    pixel_us = (span[1] - span[0]) / max(width - LEFT, 1) or 1
    for row, (title, lives) in enumerate(lanes):
        label = title if len(title) <= letters else title[: letters - 1] + "…"
        heads.append({"at": span[0] / 1000, "row": row, "label": label})
        for life in lives:
            blocks += [
                {
                    "from": spell.begin_us / 1000,
                    "to": spell.end_us / 1000,
                    "row": row,
                    "paint": SPELLS[spell.what],
                    "about": f"load {life.number}, {life.model.rsplit('/', 1)[-1]}: {spell.what} for "
                    f"{(spell.end_us - spell.begin_us) / 1e6:.1f} s"
                    + (f", then {life.end_reason.replace('_', ' ')}" if spell is life.spells[-1] else ""),
                    "place": _link(places.get(life.load_id)),
                }
                for spell in life.spells
            ]
            if numbered and (life.until_us - life.begun_us) / pixel_us > len(str(life.number)) * LETTER + 6:
                middle = (life.begun_us + life.until_us) / 2000
                numbers.append({"at": middle, "row": row, "label": str(life.number)})
    y: Spec = {"field": "row", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0, "paddingOuter": 0}}
    return {
        "width": width - LEFT - RIGHT,
        "height": {"step": LANE + 8 * numbered},
        "padding": {"left": LEFT, "right": RIGHT, "top": 2, "bottom": 2},
        "layer": [
            {
                "data": {"values": texts(blocks)},
                "mark": {"type": "bar", "height": 16, "yOffset": 8, "stroke": "var(--line)", "strokeWidth": 0.75},
                "encoding": {
                    "x": _time(span, width, "from"),
                    "x2": {"field": "to"},
                    "y": y,
                    "fill": {"field": "paint", "type": "nominal", "scale": None},
                    "description": {"field": "about"},
                    "href": {"field": "place"},
                },
            },
            {
                "data": {"values": texts(heads)},
                "mark": {"type": "text", "align": "left", "yOffset": -10, "fontSize": 12, "aria": False},
                "encoding": {"x": _time(span, width), "y": y, "text": {"field": "label"}},
            },
            {
                "data": {"values": texts(numbers)},
                "mark": {"type": "text", "yOffset": 23, "fontSize": 10, "color": "var(--soft)", "aria": False},
                "encoding": {"x": _time(span, width), "y": y, "text": {"field": "label"}},
            },
        ],
    }


def acceptance_chart(name: str, span: tuple[int, int], points: Sequence[Accepted], places: Mapping[str, str]) -> str:
    """The share of drafted tokens that was accepted, request by request, with the share over all."""
    return twice(name, (_acceptance(span, points, places, width) for _, width in SIZES))


def _acceptance(span: tuple[int, int], points: Sequence[Accepted], places: Mapping[str, str], width: int) -> Spec:
    rows = [
        {
            "at": one.at_us / 1000,
            "ratio": one.ratio,
            "about": f"{one.covers}: "
            + (f"{one.accepted} of {one.drafted} drafted tokens, " if one.drafted is not None else "")
            + f"{one.ratio:.1%} accepted",
            "place": _link(places.get(one.line_id)),
        }
        for one in points
    ]
    y = {
        "field": "ratio",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": _left(format="%", tickCount=5),
    }
    layers: list[Spec] = [
        {
            "data": {"values": texts(rows)},
            "mark": {"type": "point", "filled": True, "size": 45, "color": "var(--cache)", "opacity": 0.85},
            "encoding": {
                "x": _time(span, width),
                "y": y,
                "description": {"field": "about"},
                "href": {"field": "place"},
            },
        }
    ]
    counted = [one for one in points if one.accepted is not None and one.drafted]
    if counted:
        share = sum(one.accepted or 0 for one in counted) / sum(one.drafted or 0 for one in counted)
        layers.append(
            {
                "data": {"values": [{"ratio": share, "about": f"over all requests with counts: {share:.1%}"}]},
                "mark": {"type": "rule", "stroke": "var(--ink)", "strokeDash": [5, 4]},
                "encoding": {"y": y, "description": {"field": "about"}},
            }
        )
    return {
        "width": width - LEFT - RIGHT,
        "height": 110,
        "autosize": "none",
        "padding": {"left": LEFT, "right": RIGHT, "top": 8, "bottom": 36},
        "layer": layers,
    }


def _link(place: str | None) -> str | None:
    """A link to a place on the page, or none."""
    return f"#{place}" if place else None


def utc(at_us: int) -> str:
    """A moment to the second."""
    return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d %H:%M:%S}"
