"""The texts of all pattern files, and of what they say the little that is asked for without reading the patterns."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from .cache import kept
from .errors import CatalogueError

__all__ = ["Files"]


@dataclass(frozen=True)
class Files:
    """The texts of all catalogue files, not read yet: installed ones, and those that a user brought."""

    installed_texts: tuple[tuple[str, str], ...]
    extra: tuple[tuple[str, str], ...]

    @classmethod
    def installed(cls, extra: Iterable[Path] = (), texts: Iterable[tuple[str, str]] = ()) -> Files:
        """The installed files, and files that a user brings: as paths, or as name and text."""
        folder = files("forensics.parsers")
        own = [(one.name, one.read_text("utf-8")) for one in folder.iterdir() if one.name.endswith(".toml")]
        brought = list(texts)
        for path in extra:
            try:
                brought.append((str(path), path.read_text("utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise CatalogueError(f"{path}: cannot read the pattern file: {error}") from error
        return cls(tuple(sorted(own)), tuple(brought))

    @cached_property
    def digest(self) -> str:
        """Of all texts: a case is as old as the patterns that it was read with."""
        texts = (text for one in (*self.installed_texts, *self.extra) for text in one)
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def parsed(self) -> Mapping[str, Any]:
        """The installed files as data; to read TOML takes most of the time that a short answer does."""

        def make() -> bytes:
            return json.dumps({name: tomllib.loads(text) for name, text in self.installed_texts}).encode()

        found: Mapping[str, Any] = json.loads(kept("patterns", self._made_of, make))
        return found

    def remedies(self, program: str) -> Sequence[Mapping[str, Any]]:
        """What would make a program log more."""

        def make() -> bytes:
            return json.dumps({one["program"]: one.get("remedy", []) for one in self.parsed().values()}).encode()

        found: dict[str, list[Mapping[str, Any]]] = json.loads(kept("remedies", self._made_of, make))
        for _, text in self.extra:
            brought = tomllib.loads(text)
            found.setdefault(brought["program"], brought.get("remedy", []))
        return found[program]

    @cached_property
    def _made_of(self) -> str:
        return "\0".join(map("\0".join, self.installed_texts))
