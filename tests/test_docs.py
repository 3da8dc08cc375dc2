"""What the README and the pages show is what comes out, and every command is in them.

To write the outputs anew: python tests/test_docs.py.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout, suppress
from pathlib import Path

import pytest

from forensics.cli import app, main

TOP = Path(__file__).parent.parent
README = TOP / "README.md"
PAGES = [README, *sorted((TOP / "docs").glob("*.md"))]
BLOCK = re.compile(r"```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```\n")
FORENSICS = re.compile(r"(?:^|/)forensics (?P<arguments>.*)$")


def shown(page: Path = README) -> Iterator[tuple[str, str]]:
    """Each command of ours that a page shows, and the output under it."""
    for block in BLOCK.finditer(page.read_text("utf-8")):
        found = FORENSICS.search(block["command"])
        if found:
            yield found["arguments"], block["output"]


def printed(arguments: str) -> str:
    """What a command prints from the checkout's top, 80 columns wide."""
    words = [
        path
        for word in shlex.split(arguments)
        for path in (sorted(str(one.relative_to(TOP)) for one in TOP.glob(word)) if "*" in word else [word])
    ]
    os.environ["COLUMNS"] = "80"
    sys.argv = ["forensics", *words]
    with chdir(TOP), redirect_stdout(io.StringIO()) as out, suppress(SystemExit):
        main()
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


SHOWN = [(page.name, *block) for page in PAGES for block in shown(page)]


@pytest.mark.parametrize(
    ("page", "arguments", "output"), SHOWN, ids=[f"{page}-{words.split()[0]}" for page, words, _ in SHOWN]
)
def test_a_command_prints_what_stands_under_it(page: str, arguments: str, output: str) -> None:
    assert printed(arguments) == output


def test_the_readme_shows_an_incident_and_the_main_job() -> None:
    assert [arguments.split()[0] for arguments, _ in shown()] == ["spec", "explain-vram"]


def test_the_readme_has_two_commands_for_a_fresh_machine() -> None:
    commands = re.findall(r"^\$ python3 -m venv .*$", README.read_text("utf-8"), re.MULTILINE)
    assert [re.findall(r"\.venv/bin/(\w+)", command) for command in commands] == [
        ["pip", "forensics"],
        ["pip", "pytest", "ruff", "ruff", "mypy"],
    ]


def test_every_command_is_in_the_readme() -> None:
    table = set(re.findall(r"^\| `([\w-]+)` \|", README.read_text("utf-8"), re.MULTILINE))
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert commands == table


def test_every_command_has_its_section() -> None:
    sections = re.findall(r"^## ([\w-]+)$", (TOP / "docs" / "commands.md").read_text("utf-8"), re.MULTILINE)
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert sorted(sections) == sorted(str(name) for name in commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    linked = re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)
    named = {*linked, *re.findall(r"`((?:docs|fixtures|parsers|queries)/[\w./-]*)`", text)}
    assert [name for name in sorted(named) if not (page.parent / name).exists() and not (TOP / name).exists()] == []


def rewrite() -> None:
    """Write what comes out under each command that a page shows."""

    def block(found: re.Match[str]) -> str:
        ours = FORENSICS.search(found["command"])
        return f"```console\n$ {found['command']}\n{printed(ours['arguments']) if ours else found['output']}```\n"

    for page in PAGES:
        page.write_text(BLOCK.sub(block, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    rewrite()
