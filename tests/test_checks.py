"""What probes say is kept in their words: contradictions stay open, and what was skipped is no pass (EP-6, EP-7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asking import case, screen

from forensics.ask_validity import validity

# The account gives FAIL_BROKEN, 3135 and 4593 characters, and that a memory gate kept the tool probe from the model in
# production. It prints no file of a probe: the form of the rows is ours (docs/ingest.md).
BROKEN = {"probe": "reasoning chain", "model": "coder", "check": "reasoning", "result": "FAIL_BROKEN"}
SKIPPED = {"probe": "tools", "model": "prod", "check": "tool calls", "result": "SKIP", "reason": "memory gate"}


def rows(*said: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in said)


def measured(amount: float, **more: Any) -> dict[str, Any]:
    return {
        "probe": "bench",
        "model": "coder",
        "check": "reasoning",
        "amount": amount,
        "unit": "characters",
        **more,
    }


def checks(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = validity(case(folder, files)).document["checks"]
    return found


def test_a_failure_and_what_another_probe_measured_stay_open_against_each_other(tmp_path: Path) -> None:
    ask = case(tmp_path, {"probes.jsonl": rows(BROKEN, measured(3135), measured(4593))})
    answer = validity(ask)
    (one,) = answer.document["checks"]["contradictions"]
    assert (one["model"], one["subject"], one["state"]) == ("coder", "reasoning", "not established")
    assert [
        (side["probe"], side["state"], side["results"], side["lowest"], side["highest"], side["n"])
        for side in one["sides"]
    ] == [
        ("reasoning chain", "failed", ["FAIL_BROKEN"], None, None, 1),
        ("bench", "measured", [], 3135, 4593, 2),
    ]
    shown = screen(ask, answer, width=200)
    assert "reasoning of coder: reasoning chain says FAIL_BROKEN; bench measured 3135–4593 characters" in shown
    assert set(answer.cited) == {line for side in one["sides"] for line in side["evidence"]}


def test_the_characters_may_be_those_of_answers_that_a_client_kept(tmp_path: Path) -> None:
    answers = rows(
        *(
            {
                "request": {"think": True},
                "response": {
                    "model": "coder",
                    "message": {"content": "4", "thinking": "t" * characters},
                    "eval_count": 900,
                    "eval_duration": 9_000_000_000,
                    "total_duration": 10_000_000_000,
                },
            }
            for characters in (3135, 4593)
        )
    )
    (one,) = checks(tmp_path, {"probes.jsonl": rows(BROKEN), "answers.jsonl": answers})["contradictions"]
    assert [(side["probe"], side["lowest"], side["highest"]) for side in one["sides"]] == [
        ("reasoning chain", None, None),
        ("answers", 3135, 4593),
    ]


@pytest.mark.parametrize(
    "other",
    [
        measured(0),
        measured(3135, model="coder-twin"),
        measured(3135, check="answers"),
        {**BROKEN, "probe": "bench"},
        {**SKIPPED, "model": "coder", "check": "reasoning"},
    ],
    ids=["nothing measured", "a similar name", "another check", "both say so", "skipped"],
)
def test_what_does_not_say_otherwise_of_the_same_thing_contradicts_nothing(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    found = checks(tmp_path, {"probes.jsonl": rows(BROKEN, other)})
    assert (found["count"], found["contradictions"]) == (2, [])


def test_a_skipped_check_is_shown_with_its_reason_and_is_no_pass(tmp_path: Path) -> None:
    ask = case(tmp_path, {"probes.jsonl": rows(SKIPPED, {**SKIPPED, "model": "coder", "result": "PASS", "reason": ""})})
    answer = validity(ask)
    found = answer.document["checks"]
    assert [(row["model"], row["state"], row["reason"]) for row in found["rows"]] == [
        ("prod", "skipped", "memory gate"),
        ("coder", "passed", ""),
    ]
    shown = screen(ask, answer)
    assert "1 of 2 checks skipped: neither passed nor failed." in shown
    assert "tools  prod   tool calls  skipped  SKIP: memory gate" in shown


VERIFIED = """Running FULL functional test against http://localhost:8020
  model=qwen3.6-27b  container=vllm-qwen36-27b  engine=vllm
[4/10] Tool calling ...
  \x1b[33m⊘\x1b[0m SKIP_TOOLS=1 (expected for default config — see README Known issue) (skipped)
[7/10] Thinking / reasoning mode ...
  \x1b[32m✓\x1b[0m reasoning 3135 chars, content 12 chars (finish=stop)
"""


def test_a_scripts_results_stand_under_the_check_and_the_server_that_it_names(tmp_path: Path) -> None:
    probe = rows({**BROKEN, "model": "qwen3.6-27b"})
    found = checks(tmp_path, {"verify.txt": VERIFIED, "probes.jsonl": probe})
    assert [
        (row["probe"], row["model"], row["subject"], row["state"])
        for row in found["rows"]
        if row["probe"] == "verify-full"
    ] == [
        ("verify-full", "qwen3.6-27b", "tool calling", "skipped"),
        ("verify-full", "qwen3.6-27b", "reasoning", "passed"),
    ]
    assert [side["state"] for side in found["contradictions"][0]["sides"]] == ["failed", "passed"]


def test_a_line_that_is_no_row_of_a_probe_is_counted(tmp_path: Path) -> None:
    ask = case(tmp_path, {"probes.jsonl": rows(BROKEN) + '{"probe": "torn", "res\n'})
    assert ask.rows("SELECT what, count FROM problem") == [{"what": "lines that are no row of a probe", "count": 1}]
    assert ask.rows("SELECT count(*) AS rows FROM checks") == [{"rows": 1}]


def test_a_server_log_has_no_checks(tmp_path: Path) -> None:
    assert checks(tmp_path, {"server.log": "0.00.438.019 I srv  llama_server: initializing ...\n"})["count"] == 0
