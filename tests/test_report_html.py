"""A page of an answer: complete in itself, the same on every run, and nothing a log says can act in it."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_documents import (
    cpu_only,
    engine,
    failed_load,
    hostile,
    log_only,
    overnamed,
    ping_pong,
    plain,
    silent,
    two_cards,
)
from test_report import ODD, places, unsafe
from test_safe import HOSTILE
from typer.testing import CliRunner

from forensics.answer import Answer, Section
from forensics.cli import app
from forensics.document import Document
from forensics.over_time import Accepted, Life, Memory, OverTime, Spell
from forensics.report_html import render_answer_html, render_html
from forensics.safe import visible

MIB = 1024 * 1024
EVERY: dict[str, Any] = {
    "two cards": two_cards,
    "plain": plain,
    "failed": failed_load,
    "silent": silent,
    "log only": log_only,
    "cpu only": cpu_only,
    "ping-pong": ping_pong,
    "engine": engine,
    "over-named": overnamed,
    "hostile": hostile,
    "empty": dict,
}

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """What a browser would make of a page, as far as these tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


ALLOWED = set(
    "html head meta title style body a svg defs pattern rect header p h1 h2 h3 small b nav ul li main section article "
    "span div table caption thead tbody tr th td details summary ol code figure figcaption dl dt dd footer br "
    "g path line text".split()
)


def series() -> OverTime:
    """A card that fills while a load comes up, and two drafting requests."""
    second = 1_000_000
    start = 1_796_036_840 * second
    life = Life(
        "a41f09c2",
        1,
        "/srv/models/Qwen3.6-27B-Q4_0.gguf",
        start,
        start + 20 * second,
        (Spell("loading", start, start + 8 * second), Spell("serving", start + 8 * second, start + 20 * second)),
        "exit",
    )
    samples = [
        Memory(start + step * second, min(step, 8) * 1900 * MIB, min(step, 8) * 1875 * MIB, 0) for step in range(21)
    ]
    accepted = (
        Accepted("a41f09c2", start + 12 * second, 4, 7, 4 / 7, "request", "b1"),
        Accepted("a41f09c2", start + 15 * second, 30, 40, 0.75, "request", "b2"),
    )
    return OverTime({"GPU-00000000-0000-0000-0000-000000000000": samples}, (life,), accepted, {"a41f09c2": life.model})


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: render_html(make(), series()) for name, make in EVERY.items()}


@pytest.mark.parametrize("name", EVERY)
def test_a_page_needs_nothing_but_itself_and_runs_nothing(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert set(page.tags) <= ALLOWED
    assert not [one for one in page.attributes if one[1].startswith("on") or one[1] in {"style", "src", "srcset"}]
    assert all(value.startswith("#") for tag, key, value in page.attributes if key in {"href", "xlink:href"})
    assert {value for value in page.values("fill") if "url" in value} <= {
        "url(#hatch-unexplained)",
        "url(#hatch-else)",
        "url(#hatch-loading)",
    }
    assert page.comments == []


@pytest.mark.parametrize("name", EVERY)
def test_the_policy_of_a_page_allows_its_own_style_sheet_alone(pages: dict[str, str], name: str) -> None:
    style = re.findall(r"<style>(.*?)</style>", pages[name], re.DOTALL)
    assert len(style) == 1
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', pages[name])
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style[0]
    assert "@import" not in style[0]


@pytest.mark.parametrize("name", EVERY)
def test_nothing_in_a_page_can_hide_or_move_text(pages: dict[str, str], name: str) -> None:
    assert unsafe(Page(pages[name]).text) == set()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_line_is_escaped_exactly_once_wherever_it_stands(text: str) -> None:
    answer = two_cards()
    answer["loads"][0]["model"] = f"m {text}"
    answer["loads"][0]["findings"] = [{"claim": text, "state": "supported", "for": ["b1"], "against": []}]
    answer["evidence"]["b1"]["text"] = text
    page = Page(render_html(answer))
    assert set(page.tags) <= ALLOWED
    assert visible(text.strip()) in page.texts  # the line itself in the table of evidence, whole


def test_a_hostile_name_in_a_chart_is_letters() -> None:
    attack = "</title><script>alert(1)</script>\x1b]0;x\x07"
    moved = series()
    (life,) = moved.lives
    named = OverTime(moved.memory, (Life(**{**vars(life), "model": attack}),), moved.accepted, {"a41f09c2": attack})
    page = Page(render_html(two_cards(), named))
    assert set(page.tags) <= ALLOWED
    assert unsafe(page.text) == set()


@pytest.mark.parametrize("name", EVERY)
def test_ids_are_unique_and_every_link_leads_somewhere(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert [one for one, count in Counter(page.ids).items() if count > 1] == []
    targets = {value.removeprefix("#") for value in page.values("href")}
    assert targets - set(page.ids) == set()


def test_a_reader_without_eyes_or_mouse_gets_the_same() -> None:
    text = render_html(two_cards(), series())
    page = Page(text)
    assert page.values("lang") == ["en"]
    assert (page.tags["main"], page.tags["h1"], page.tags["nav"]) == (1, 1, 1)
    assert page.tags["table"] == page.tags["caption"]
    assert page.tags["th"] == len(page.values("scope"))
    charts = re.findall(r'<svg [^>]*class="chart[^>]*>', text)
    assert charts
    assert all('aria-label="' in one and 'role="group"' in one for one in charts)
    # Every piece of a bar says what it is and leads to its row.
    assert '<a href="#load-a41f09c2-card-0-row-0"><path' in text
    assert "<title>weights target 6742.14 MiB logged</title>" in text
    # What scrolls can be scrolled by keyboard, and has a name.
    assert text.count('class="scroll" tabindex="0" role="region" aria-label=') == text.count('class="scroll"')


def test_each_amount_opens_to_the_lines_behind_it() -> None:
    text = render_html(two_cards())
    (row,) = re.findall(r'<tbody id="load-a41f09c2-card-0-row-0">.*?</tbody>', text, re.DOTALL)
    assert "<summary>line e1</summary>" in row
    assert '<a href="#e1">e1</a> <span class="place">server.log:153</span>' in row
    assert "<code>0.04.171.371 I load_tensors:        CUDA0 model buffer size =  6742.14 MiB</code>" in row
    assert re.search(r'<tr id="e1">.*server\.log:153.*6742\.14 MiB', text)


def test_a_page_has_the_same_bytes_on_every_run() -> None:
    assert render_html(two_cards(), series()) == render_html(two_cards(), series())


def test_ten_loads_over_an_hour_of_samples_stay_below_two_megabytes() -> None:
    answer: Any = ping_pong()
    second = 1_000_000
    start = 1_796_036_840 * second
    answer["loads"] = [{**two_cards()["loads"][0], "load_id": f"load{number}"} for number in range(10)]
    lives = tuple(
        Life(
            f"load{number}",
            number + 1,
            f"model-{number % 2}",
            start + number * 360 * second,
            start + (number + 1) * 360 * second,
            (
                Spell("loading", start + number * 360 * second, start + (number * 360 + 20) * second),
                Spell("serving", start + (number * 360 + 20) * second, start + (number + 1) * 360 * second),
            ),
            "evicted",
        )
        for number in range(10)
    )
    samples = [
        Memory(start + step * second // 2, (step * 7919) % 20000 * MIB, (step * 7907) % 19000 * MIB, 100 * MIB)
        for step in range(7200)
    ]
    cards = ("GPU-00000000-0000-0000-0000-000000000000", "GPU-00000000-0000-0000-0000-000000000001")
    page = render_html(answer, OverTime(dict.fromkeys(cards, samples), lives, (), {}))
    assert len(page.encode()) < 2 * MIB
    assert "7200 samples, drawn as the highest of each 9.0 s." in page


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(EVERY)), st.data())
def test_no_absent_or_odd_value_stops_a_page(name: str, data: st.DataObject) -> None:
    answer = EVERY[name]()
    for _ in range(data.draw(st.integers(1, 4)) if answer else 0):
        all_places = list(places(answer))
        container, key = all_places[data.draw(st.integers(0, len(all_places) - 1))]
        if isinstance(container, dict) or key < len(container):
            container[key] = data.draw(ODD)
    page = Page(render_html(answer, series()))
    assert set(page.tags) <= ALLOWED
    assert unsafe(page.text) == set()


def test_the_answer_to_another_question_is_a_page_of_tables() -> None:
    answer = Answer(
        {"schema": "forensics.loads/1"},
        "Two <b>loads</b>.",
        sections=(Section("Loads", ("#>", "model"), (("1", "</td>x"),)),),
        next="Nothing.",
    )
    text = render_answer_html(answer)
    assert '<p class="eyebrow">loads</p>' in text
    assert "<h1>Two &lt;b&gt;loads&lt;/b&gt;.</h1>" in text
    assert '<th scope="col" class="figure">#</th><th scope="col">model</th>' in text
    assert '<td class="figure">1</td><td>&lt;/td&gt;x</td>' in text
    assert set(Page(text).tags) <= ALLOWED


# -- colours ----------------------------------------------------------------------------------------------------------


def palette(css: str) -> list[dict[str, str]]:
    """The colours of light, dark and print, in the order of the style sheet."""
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block)) for block in blocks]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(one * 2 for one in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_letters_and_drawings_have_the_contrast_that_wcag_aa_asks_for() -> None:
    css = re.findall(r"<style>(.*?)</style>", render_html({}), re.DOTALL)[0]
    schemes = palette(css)
    assert len(schemes) == 3
    fills = ("weights", "cache", "state", "compute", "other", "runtime")
    for scheme in schemes:
        for ground in ("page", "panel", "accent"):
            for letters in ("ink", "soft", "link"):
                assert contrast(scheme[letters], scheme[ground]) >= 4.5, (letters, ground)
        for fill in fills:
            assert contrast(scheme["on"], scheme[fill]) >= 4.5, fill
            assert contrast(scheme[fill], scheme["panel"]) >= 3, fill
        for fill in ("unexplained", "else"):
            assert contrast(scheme[fill], scheme["panel"]) >= 3, fill


# -- the command line, and a browser ----------------------------------------------------------------------------------

LOG = """\
2026-11-30T11:08:01+0000 box llama-server[5226]: 0.00.001.000 I build_info: b11434-abcdef012
2026-11-30T11:08:01+0000 box llama-server[5226]: 0.00.583.316 I srv    load_model: loading model '/srv/models/<img src=x onerror=document.title=1>.gguf'
2026-11-30T11:08:03+0000 box llama-server[5226]: 0.02.171.371 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB
2026-11-30T11:08:04+0000 box llama-server[5226]: 0.03.201.214 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
2026-11-30T11:08:05+0000 box llama-server[5226]: 0.04.182.339 I srv  llama_server: model loaded
"""  # noqa: E501
CARDS = "timestamp, index, uuid, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]\n" + "".join(
    f"2026/11/30 11:08:{second:02d}.000, 0, GPU-1, NVIDIA H200, 143771 MiB, {used} MiB, {143771 - used} MiB\n"
    for second, used in ((0, 0), (2, 600), (4, 5500), (6, 7820), (8, 7820))
)


def evidence(folder: Path) -> Path:
    (folder / "journal.txt").write_text(LOG)
    (folder / "gpu.csv").write_text(CARDS)
    return folder


def test_report_writes_a_page_and_explain_vram_prints_one(tmp_path: Path) -> None:
    folder = evidence(tmp_path)
    out = tmp_path / "page.html"
    outcome = CliRunner().invoke(app, ["report", str(folder), "-o", str(out)])
    assert outcome.exit_code == 0
    page = Page(out.read_text("utf-8"))
    assert "Memory of GPU 0 NVIDIA H200" in page.text
    printed = CliRunner().invoke(app, ["explain-vram", str(folder / "journal.txt"), "--format", "html"])
    assert printed.exit_code == 0
    assert printed.stdout.startswith("<!doctype html>")
    assert printed.stdout.endswith("</html>\n")


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("name", ["two cards", "hostile", "every hostile line"])
def test_a_browser_shows_a_page_without_complaint_and_runs_nothing_in_it(
    pages: dict[str, str], name: str, tmp_path: Path
) -> None:
    attack = "<script>document.documentElement.id='ran'</script><img src=x onerror=document.documentElement.id='ran'>"
    if name == "every hostile line":
        answer: Document = two_cards()
        for number, text in enumerate([*HOSTILE, attack]):
            answer["evidence"][f"h{number}"] = {"source": text, "text": text, "time": text, "offset": 1}
            answer["missing"].append({"what": text, "because": text, "remedy": text})
        text = render_html(answer, series())
    else:
        text = pages[name]
    path = tmp_path / "page.html"
    path.write_text(text, "utf-8")
    assert BROWSER is not None
    shown = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in shown.stderr
    assert '<html lang="en">' in shown.stdout
    assert 'id="ran"' not in shown.stdout
    assert "<img" not in shown.stdout
    assert "<script" not in shown.stdout
