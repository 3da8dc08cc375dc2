"""Read lines that a container engine or its front end put a prefix before: time, output, container.

Layouts: the CRI files of a kubelet and of podman's k8s-file, `docker logs -t` and `podman logs -t`, the latter also of
several containers, `docker compose logs` with or without times, `kubectl logs --prefix`. The message is what stands
behind the prefix. A name here is what the front end printed and is not trusted.
Desktop programs (electron-log) put time and level on a line of their own, over the lines of the message, of which the
first stands behind one blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.records.block import NO_TIME, Block, Source, Stream
from forensics.records.lines import lines
from forensics.records.options import Options
from forensics.records.rows import Joined, Rows
from forensics.records.times import ISO, ISO_NANO, from_iso, to_utc, wall_time

__all__ = ["prefix_of", "read_prefixed"]

_COLOUR = rb"(?:\x1b\[[0-9;]*m)*"
_TIME = rb"(?:" + ISO_NANO + rb"(?: |$))?"

_PREFIXES = {
    # kubelet, as the container runtime interface has it: time, output, tags, text
    "cri": re.compile(ISO + rb" (?P<out>stdout|stderr) (?P<tag>[FP])(?::[^ ]*)?(?: |$)"),
    # docker/compose, cmd/formatter/logs.go: "%-<width>s | ", coloured on a terminal; a watched service has ⦿
    "compose": re.compile(
        _COLOUR
        + rb"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?P<pad> +)"
        + _COLOUR
        + rb"(?:\||\xe2\xa6\xbf)"
        + _COLOUR
        + rb"(?: |$)"
        + _COLOUR
        + _TIME
    ),
    "kubectl": re.compile(rb"\[(?P<name>pod/[^\]\s]+)\](?: |$)" + _TIME),
    # podman, libpod/logs/log.go: name or short id, time, text; without the time nothing tells the name from a text
    "podman": re.compile(_COLOUR + rb"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*) " + ISO_NANO + rb"(?: |$)" + _COLOUR),
    "docker-times": re.compile(ISO_NANO + rb"(?: |$)"),
}

_HEAD = re.compile(rb"(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) {1,2}\[(?:DEBUG|INFO|WARN|ERROR)\]$")


def prefix_of(sample: list[bytes]) -> str | None:
    """Tell the prefix that nearly all lines carry."""
    for name, pattern in _PREFIXES.items():
        found = [match for match in map(pattern.match, sample) if match is not None]
        if found and len(found) * 10 >= len(sample) * 9 and (name != "compose" or _is_compose(found)):
            return name
    heads = [place for place, line in enumerate(sample) if _HEAD.match(line)]
    under = [sample[place + 1] for place in heads if place + 1 < len(sample)]
    indented = sum(line.startswith(b" ") for line in under)
    told = len(heads) > 1 and heads[0] < 2 and len(heads) * 20 >= len(sample) and indented * 2 > len(under)
    return "heads" if told else None


def _is_compose(found: list[re.Match[bytes]]) -> bool:
    # All names are padded to the longest and one blank more; any bar behind a word is not enough.
    width = len(found[0]["name"] + found[0]["pad"])
    return all(len(match["pad"]) >= 2 and len(match["name"] + match["pad"]) == width for match in found)


def read_prefixed(source: Source, pieces: Iterator[bytes], options: Options, kind: str) -> Iterator[Block]:
    """Yield the messages behind the prefixes; what is cited is the message, and of a joined one its whole extent.

    Pieces of a long line that a kubelet split are joined (tag P, and F at the last). Lines without a prefix are kept
    whole and counted.
    """
    if kind == "heads":
        yield from _under_heads(source, pieces, options)
        return
    table = [Stream(source.name)]
    names: dict[bytes, int] = {}
    open_lines: dict[bytes, Joined] = {}  # by output: the two interleave
    bare = lost = 0
    first_bare: int | None = None
    match = _PREFIXES[kind].match
    for chunk in lines(pieces, source, options.line_bytes):
        data = chunk.data
        rows = Rows(data, chunk.base)
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            found = match(data, start, end)
            if found is None:
                bare += 1
                first_bare = chunk.base + start if first_bare is None else first_bare
                rows.span(start, end, NO_TIME, 0)
                continue
            begin = found.end()
            time = (from_iso(found) if found["second"] is not None else None) or NO_TIME
            stream = 0
            if kind in {"compose", "kubectl", "podman"}:
                name = found["name"]
                known = names.get(name)
                if known is None:
                    known = names[name] = len(table)
                    table.append(Stream(source.name, container=name.decode("utf-8", "replace")))
                stream = known
            elif kind == "cri":
                out = found["out"]
                joined = open_lines.get(out)
                if joined is not None:
                    joined.add(data[begin:end], chunk.base + end)
                    if found["tag"] == b"F":
                        rows.joined(open_lines.pop(out), stream)
                        lost += joined.lost
                    continue
                if found["tag"] == b"P":
                    open_lines[out] = Joined(
                        data[begin:end], chunk.base + begin, chunk.base + end, time, options.line_bytes
                    )
                    continue
            rows.span(begin, end, time, stream)
        source.seam = None if open_lines else source.seam
        yield from rows.blocks(source, table)
    rows = Rows(b"", 0)
    for joined in sorted(open_lines.values(), key=lambda one: one.begin):
        source.tell("loss", "the end of a split line never came", "", joined.begin)
        rows.joined(joined, 0)
        lost += joined.lost
    yield from rows.blocks(source, table)
    source.tell("note", f"lines without the prefix of {kind} were taken whole", "", first_bare, bare)
    what = f"joined lines were cut at {options.line_bytes} bytes; {lost} bytes are missing"
    source.tell("loss", what, count=bool(lost))


def _under_heads(source: Source, pieces: Iterator[bytes], options: Options) -> Iterator[Block]:
    """Yield the lines of messages whose time stands on a line of its own above; it is local, and has no zone."""
    table = [Stream(source.name)]
    time, first = NO_TIME, False
    for chunk in lines(pieces, source, options.line_bytes):
        rows = Rows(chunk.data, chunk.base)
        for start, end in zip(chunk.starts.tolist(), chunk.ends.tolist(), strict=True):
            head = _HEAD.match(chunk.data[start:end])
            if head is not None:
                wall = wall_time(head["second"])
                time, first = NO_TIME if wall is None or options.tz is None else to_utc(wall, options.tz), True
                continue
            rows.span(start + (first and chunk.data[start : start + 1] == b" "), end, time, 0)
            first = False
        yield from rows.blocks(source, table)
