"""Draw a Vega-Lite chart as inert SVG: no script, no address outside, the same bytes on every run.

The drawing is Vega's, made by vl-convert without a browser or a network. What is done to it here: hover texts and
accessible names become `<title>` elements, links may only lead to a place on the same page, fonts are the page's, and
coordinates are cut to two decimals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from forensics.errors import UsageError
from forensics.safe import visible

__all__ = ["PLAIN", "Spec", "draw", "texts"]

Spec = dict[str, Any]

VEGA_LITE = "5.20"
"""The version of the language that the charts are written in; vl-convert carries several."""

PLAIN: Spec = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line)",
        "gridColor": "var(--grid)",
        "tickColor": "var(--line)",
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
    },
    "text": {"color": "var(--ink)"},
}
"""Colours are the style sheet's, so that one drawing serves light, dark and print."""

SVG = "http://www.w3.org/2000/svg"
XLINK = "{http://www.w3.org/1999/xlink}href"
NUMBER = re.compile(r"-?\d+\.\d{3,}")
DROPPED = ("font-family", "stroke-miterlimit", "role", "aria-roledescription")
"""Attributes that the page says better, or that say nothing once there is a title."""


def draw(spec: Mapping[str, Any], name: str, css: str = "") -> str:
    """Draw a chart.

    Args:
        spec: A Vega-Lite specification; every text of a log in it has been through `texts`.
        name: What the chart shows, for those who do not see it.
        css: A class of the drawing.

    Raises:
        UsageError: The drawing library is not installed.
    """
    try:
        import vl_convert  # noqa: PLC0415  (a second and 100 MB that only a report needs)
    except ImportError as error:
        raise UsageError("an HTML report needs its charts: pip install 'llm-forensics[report]'") from error
    drawn = vl_convert.vegalite_to_svg({**spec, "config": PLAIN}, vl_version=VEGA_LITE, allowed_base_urls=[])
    root = ET.fromstring(drawn)  # noqa: S314  (made by the line above)
    _clean(root)
    for key in ("version", "class"):
        root.attrib.pop(key, None)
    root.set("class", css)
    root.set("role", "group")
    root.set("aria-label", visible(name))
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode").replace(f' xmlns="{SVG}"', "", 1)


def _clean(element: ET.Element) -> None:
    link = element.attrib.pop(XLINK, None)
    if link is not None and "#" in link:
        element.set("href", "#" + link.rpartition("#")[2])
    is_mark = element.get("role") == "graphics-symbol" and element.get("aria-hidden") != "true"
    spoken = element.attrib.pop("aria-label", None)
    for key in DROPPED:
        element.attrib.pop(key, None)
    for key in ("d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height"):
        if key in element.attrib:
            element.set(key, NUMBER.sub(lambda found: f"{float(found[0]):.2f}", element.attrib[key]))
    if is_mark and spoken and "mark-group" not in element.get("class", ""):
        title = ET.Element(f"{{{SVG}}}title")
        title.text = spoken
        element.insert(0, title)
    element.attrib.pop("class", None)
    for child in list(element):
        if _is_empty(child):
            element.remove(child)
        else:
            _clean(child)


def _is_empty(element: ET.Element) -> bool:
    """Backgrounds and foregrounds that Vega keeps for clicks."""
    return element.get("class") in ("background", "foreground") or (len(element) == 0 and element.tag.endswith("}g"))


def texts(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of data with every text made visible: the only way for a log's text into a chart."""
    return [{key: visible(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows]
