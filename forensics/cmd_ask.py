"""The commands that ask one question of the evidence each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from .amounts import clock, count
from .answer import Answer, Ask, Option, Question
from .asked import OPTIONS, QUESTIONS
from .cmd_options import (
    Around,
    CaseFile,
    Inputs,
    Patterns,
    Quiet,
    Since,
    Unit,
    Until,
    WhichLoad,
    WithEvidence,
    Zone,
    open_evidence,
)
from .explain import iso
from .opened import chosen_loads, known_unit, parse_time, parse_window
from .printing import Format, Output, print_answer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Make a command of each question."""
    for name, (question, summary) in QUESTIONS.items():
        _register(app, name, question, summary, OPTIONS.get(name, ()))


def _register(app: typer.Typer, name: str, question: Question, summary: str, options: Sequence[Option]) -> None:
    """Make a command of a question: all take the same inputs and options, and some have options of their own."""

    def command(
        inputs: Inputs = None,
        load: WhichLoad = None,
        around: Around = None,
        since: Since = None,
        until: Until = None,
        unit: Unit = None,
        output: Output = Format.TABLE,
        evidence: WithEvidence = False,
        case: CaseFile = None,
        tz: Zone = None,
        patterns: Patterns = None,
        quiet: Quiet = False,
        **extra: Any,
    ) -> None:
        connection = open_evidence(inputs, case, tz=tz, patterns=patterns, quiet=quiet).connection
        window = parse_window(around, since, until)
        ask = Ask(
            connection=connection,
            loads=chosen_loads(connection, wanted=load, unit=unit, window=window),
            around_us=None if around is None else parse_time(around, "--around"),
            since_us=None if since is None else parse_time(since, "--since"),
            until_us=None if until is None else parse_time(until, "--until"),
            unit=None if unit is None else known_unit(connection, unit),
            evidence=evidence,
            extra=extra,
        )
        print_answer(ask, _inside(ask, question(ask)), output)

    # Typer reads the signature: the options of the one question stand in it in the place of **extra.
    shared = [one for one in signature(command, eval_str=True).parameters.values() if one.kind is not one.VAR_KEYWORD]
    own = [
        Parameter(
            one.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[one.type | None, typer.Option(one.flag, help=one.help)],
        )
        for one in options
    ]
    command.__signature__ = Signature([*shared, *own])  # type: ignore[attr-defined]  # what inspect.signature looks for
    command.__annotations__ = {one.name: one.annotation for one in (*shared, *own)}
    app.command(name, help=summary)(command)


def _inside(ask: Ask, answer: Answer) -> Answer:
    """The answer, but where the time that was asked for holds nothing: that is no word about the evidence."""
    if ask.window is None or ask.loads or any(section.rows for section in answer.sections):
        return answer
    (lived,) = ask.rows(
        "SELECT count(*) AS loads, min(begun_us) AS begun, max(coalesce(ended_us, begun_us)) AS ended FROM loads"
    )
    begun, ended = iso(lived["begun"]), iso(lived["ended"])
    if begun is None or ended is None:
        return answer
    verdict = (
        f"Nothing in the time that was asked for: this evidence has {count(lived['loads'], 'load')}, alive from "
        f"{clock(begun)} to {clock(ended, begun)}."
    )
    return replace(answer, verdict=verdict, about=(), sections=(), next="", code=3)
