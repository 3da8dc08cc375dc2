"""Read an answer document tolerant of what it lacks: an absent or odd value is None or empty, never an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from forensics.units import MIB

__all__ = [
    "DIGEST",
    "Document",
    "bounds",
    "choose_load",
    "file_title",
    "is_mapped",
    "label",
    "last_part",
    "mapping",
    "maps",
    "model_name",
    "number",
    "quoted",
    "short_id",
    "size",
    "texts",
]

Document = Mapping[str, Any]

PLAIN_NAME = re.compile(r"[\w.:/@+-]+")

BEYOND = 1e300
"""No amount, time or share: what is as great leaves the range of numbers when it is multiplied."""

LONGEST_NAME = 60
"""Characters of a name in prose; JSON has all of it."""


def mapping(node: Document, key: str) -> Document:
    """The object under a key, or an empty one."""
    value = node.get(key)
    return value if isinstance(value, Mapping) else {}


def maps(node: Document, key: str) -> list[Document]:
    """The objects in the list under a key."""
    value = node.get(key)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def label(node: Document, key: str) -> str:
    """The text under a key; a number as text; else empty."""
    value = node.get(key)
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def texts(node: Document, key: str) -> list[str]:
    """The texts in the list under a key; a single text is a list of one."""
    value = node.get(key)
    if isinstance(value, str):
        return [value] if value else []
    return [entry for entry in value if isinstance(entry, str) and entry] if isinstance(value, list | tuple) else []


def number(value: object) -> float | None:
    """A number with which can be reckoned, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < BEYOND else None


def size(node: Document, name: str = "") -> int | None:
    """An amount in bytes: the exact twin where there is one, else from MiB."""
    prefix = f"{name}_" if name else ""
    exact = number(node.get(f"{prefix}bytes"))
    if exact is not None:
        return round(exact)
    rounded = number(node.get(f"{prefix}mib"))
    return None if rounded is None else round(rounded * MIB)


def bounds(node: Document, name: str = "") -> tuple[int, int] | None:
    """The bounds of an amount in bytes, lower first."""
    prefix = f"{name}_" if name else ""
    for unit, factor in (("bytes", 1), ("mib", MIB)):
        pair = node.get(f"{prefix}bounds_{unit}")
        if isinstance(pair, list | tuple) and len(pair) == 2:
            low, high = number(pair[0]), number(pair[1])
            if low is not None and high is not None:
                return round(min(low, high) * factor), round(max(low, high) * factor)
    return None


def choose_load(document: Document, asked: str | None = None) -> Document | None:
    """The load to show in full: the one asked for by id (or its beginning), model or unit, else the newest."""
    loads = maps(document, "loads")
    if asked:
        for load in reversed(loads):
            if asked in (label(load, "load_id"), label(load, "model"), label(load, "unit")):
                return load
        for load in reversed(loads):
            if label(load, "load_id").startswith(asked) or asked in label(load, "model"):
                return load
    return max(enumerate(loads), key=lambda pair: (label(pair[1], "begun_at"), pair[0]))[1] if loads else None


def quoted(name: str) -> str:
    """A name for a sentence of ours: in quotes if it could be read as part of the sentence, cut if it is endless."""
    if len(name) > LONGEST_NAME:
        name = name[:LONGEST_NAME] + "…"
    return name if PLAIN_NAME.fullmatch(name) else f"“{name}”"


DIGEST = re.compile(r"(?P<short>sha256[-:][0-9a-f]{12})[0-9a-f]*")
"""A blob's name, and enough of it to tell it from others."""


WINDOWS = re.compile(r"(?:[A-Za-z]:|\.{1,2})?\\")
"""How a path of Windows begins, where a name that only has a backslash in it does not."""


def last_part(path: str) -> str:
    """A path without its folders, of either system."""
    return path.rsplit("\\" if WINDOWS.match(path) else "/", 1)[-1]


def file_title(path: str) -> str:
    """A file's name without folders and suffix; of a blob, enough of it to tell it from others."""
    name = last_part(path).removesuffix(".gguf")
    digest = DIGEST.fullmatch(name)
    return digest["short"] if digest else name


def model_name(load: Document) -> str:
    """The model's name without its folders and suffix, or what else names the load."""
    name = label(load, "model")
    if name.startswith("/") or name.endswith(".gguf") or WINDOWS.match(name):
        name = last_part(name).removesuffix(".gguf")
    if digest := DIGEST.fullmatch(name):  # a name for machines: what its supervisor calls it is one for people
        called = label(load, "label").rsplit("/", 1)[-1]
        name = digest["short"] if not called or DIGEST.fullmatch(called) else called
    name = name or label(load, "unit")
    return quoted(name) if name else f"Load {short_id(load)}" if short_id(load) else "The load"


def is_mapped(device: Document) -> bool:
    """Whether a device is no memory held but the extent of a file."""
    return label(device, "device").endswith("_Mapped")


def short_id(load: Document) -> str:
    """Enough of a load's id to ask for it."""
    return label(load, "load_id")[:12]
