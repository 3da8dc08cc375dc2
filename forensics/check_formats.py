"""Print the outcomes of `forensics check`: for a person, and for what continuous integration reads.

Texts of logs are made visible and inert in each: none of them can be a command, markup or an escape sequence there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from . import __version__
from .outcome import Failure, Outcome
from .report_json import render_json
from .safe import excerpt, visible

__all__ = ["CheckFormat", "as_document", "as_text", "render_outcomes"]

SHOWN = 240
"""Cells of a differing row that a person is shown; JSON has all of it."""

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


class CheckFormat(StrEnum):
    """How the outcome of `check` is printed."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


def render_outcomes(outcomes: Sequence[Outcome], output: CheckFormat) -> str:
    """All outcomes in one format."""
    return RENDERERS[output](outcomes)


def as_text(outcomes: Sequence[Outcome]) -> str:
    """All outcomes for a person: a line a case, and each difference with the line that shows it."""
    parts: list[str] = []
    for one in outcomes:
        updated = f" (rewrote {', '.join(one.rewritten)})" if one.rewritten else ""
        state = "FAIL" if one.failures else "?   " if one.unproven else "ok"
        parts.append(f"{state}  {excerpt(one.name, SHOWN)}{updated}")
        for failure, level in _told(one):
            verb = "got" if level == "error" else "unknown"
            parts.append(f"      {excerpt(failure.where, SHOWN)}")
            parts.append(f"        expected  {excerpt(failure.expected, SHOWN)}")
            parts.append(f"        {verb:8}  {excerpt(failure.got, SHOWN)}")
            if failure.evidence is not None:
                parts.append(f"        shown by  {excerpt(str(failure.evidence), SHOWN)}")
    failed = sum(bool(one.failures) for one in outcomes)
    unproven = sum(bool(one.unproven) and not one.failures for one in outcomes)
    cases = all(one.rule == "recorded-case" for one in outcomes)
    held = "all as kept" if cases else "all hold"
    told = [f"{failed} failed" if failed else "", f"{unproven} cannot be told" if unproven else ""]
    what = ("case" if cases else "check") + ("" if len(outcomes) == 1 else "s")
    parts.append(f"{len(outcomes)} {what}, {', '.join(filter(None, told)) or held}")
    return "\n".join(parts)


def as_document(outcomes: Sequence[Outcome]) -> Mapping[str, Any]:
    """All outcomes as the document of `check --format json`."""
    return {
        "schema": "forensics.check/1",
        "passed": sum(not one.failures and not one.unproven for one in outcomes),
        "failed": sum(bool(one.failures) for one in outcomes),
        "unproven": sum(bool(one.unproven) and not one.failures for one in outcomes),
        "cases": [
            {
                "case": one.name,
                "title": one.title,
                "rule": one.rule,
                "failures": [_failure(failure) for failure in one.failures],
                "unproven": [_failure(failure) for failure in one.unproven],
                "rewritten": one.rewritten,
            }
            for one in outcomes
        ],
    }


def _failure(failure: Failure) -> dict[str, Any]:
    place = failure.evidence
    return {
        "where": failure.where,
        "expected": failure.expected,
        "got": failure.got,
        "evidence": "" if place is None else str(place),
        "source": None if place is None else place.source,
        "offset": None if place is None else place.offset,
        "line": None if place is None else place.line,
    }


def _told(outcome: Outcome) -> list[tuple[Failure, str]]:
    """What does not hold, and what cannot be told, with the level of each."""
    return [(one, "error") for one in outcome.failures] + [(one, "warning") for one in outcome.unproven]


def _sentence(failure: Failure, level: str) -> str:
    shown = "" if failure.evidence is None else f"; shown by {failure.evidence}"
    verb = "got" if level == "error" else "cannot tell:"
    return f"{failure.where}: expected {failure.expected}, {verb} {failure.got}{shown}"


def _as_junit(outcomes: Sequence[Outcome]) -> str:
    """JUnit XML: a test case an outcome; what cannot be told is an error, since nothing was tested."""
    failed = sum(bool(one.failures) for one in outcomes)
    errors = sum(bool(one.unproven) and not one.failures for one in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failed), "errors": str(errors)}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "forensics check", **counts})
    for one in outcomes:
        case = ElementTree.SubElement(suite, "testcase", {"classname": visible(one.file), "name": visible(one.name)})
        kind = "failure" if one.failures else "error"
        if told := _told(one):
            sentences = [visible(_sentence(failure, level)) for failure, level in told]
            found = ElementTree.SubElement(case, kind, {"type": one.rule, "message": sentences[0]})
            found.text = "\n".join(sentences)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def _as_sarif(outcomes: Sequence[Outcome]) -> str:
    """SARIF 2.1.0: a result a failure, at the line that shows it, or in the file that asserts it."""
    results = []
    for one in outcomes:
        for failure, level in _told(one):
            place = failure.evidence
            location: dict[str, Any] = {"artifactLocation": {"uri": quote(place.source if place else one.file)}}
            if place is not None:
                location["region"] = (
                    {"byteOffset": place.offset, "snippet": {"text": place.text}}
                    if place.line is None
                    else {"startLine": place.line, "snippet": {"text": place.text}}
                )
            results.append(
                {
                    "ruleId": one.rule,
                    "level": level,
                    "message": {"text": f"{one.name}: {_sentence(failure, level)}"},
                    "locations": [{"physicalLocation": location}],
                }
            )
    rules = [{"id": rule} for rule in dict.fromkeys(one.rule for one in outcomes)]
    driver = {"name": "forensics", "version": __version__, "rules": rules}
    return render_json(
        {"$schema": SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    )


def _as_github(outcomes: Sequence[Outcome]) -> str:
    """Workflow commands of GitHub Actions, which show as annotations; and the sum."""
    parts = []
    for one in outcomes:
        for failure, level in _told(one):
            place = failure.evidence
            where = f"file={_property(place.source if place else one.file)}"
            if place is not None and place.line is not None:
                where += f",line={place.line}"
            message = visible(_sentence(failure, level)).replace("%", "%25")
            parts.append(f"::{level} {where},title={_property(one.name)}::{message}")
    return "\n".join([*parts, as_text(outcomes).rsplit("\n", 1)[-1]])


def _property(text: str) -> str:
    return visible(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


RENDERERS: Mapping[CheckFormat, Callable[[Sequence[Outcome]], str]] = {
    CheckFormat.TEXT: as_text,
    CheckFormat.JSON: lambda outcomes: render_json(as_document(outcomes)),
    CheckFormat.JUNIT: _as_junit,
    CheckFormat.SARIF: _as_sarif,
    CheckFormat.GITHUB: _as_github,
}
