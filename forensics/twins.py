"""Find lines that two sources hold both, the same stream as two collectors kept it, so that each is counted once.

Entries with the same journal cursor are one. Else two writers are twins only if all of this holds:

* One writer's lines equal the other's in order, over 20 lines or more, or all of the smaller one's if that has six.
* Where they overlap, at least 97 % of the smaller one's lines are equal, and hardly any two lines at the same place
  differ in their numbers only: two servers that do the same print the same words with other figures.
* Five of the equal lines show a time of day, a clock or a duration: no two runs take the same milliseconds.
* Where both have times of their collectors, these differ by the same amount throughout, and by no more than a zone can.
* They are not both trusted and of different units: what the collector vouches for is never given away.

The lines of the better collector stay: trusted fields, then times, then more lines; unless it lacks the begin or the
end of what the other has whole. Only lines that some pattern reads are compared, since only they are counted.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from statistics import median

from .records.block import Source, Stream
from .scan import Line, ScanCounts, Twin, Unread

__all__ = ["count_once"]

RUN = 20
WHOLE = 6
WITNESSES = 5
COVERED = 0.97
STRAY = 0.02
"""Share of lines that one of two twins may have alone."""

SAME_TIME_US = 2_000_000
QUARTER_US = 15 * 60 * 1_000_000
ZONE_US = 5_000_000
"""How far a difference between two collectors' times may lie from a multiple of a quarter of an hour."""

BEGINNING = 30
"""Among how many first lines the one that begins a process must be for them to be its first."""

GAP = 1000
"""Lines between two sure ones that are compared one by one."""

WITNESS = re.compile(r"\d\d:\d\d:\d\d|(?<![\d.])\.*\d[\d.]{2,}+ ?(?:ms|us|µs|s|sec|secs|seconds)\b")
CURSOR = re.compile(r"s=([0-9a-f]+);i=([0-9a-f]+)")


@dataclass(eq=False)
class _Record:
    """One record with the lines that patterns read in it."""

    lines: list[Line]
    text: str

    @property
    def line(self) -> Line:
        return self.lines[0]


@dataclass(eq=False)
class _Writer:
    """What one writer wrote, as one source has it."""

    source: str
    stream: Stream
    records: list[_Record] = field(default_factory=list)
    timed: int = 0

    @property
    def rank(self) -> tuple[bool, bool, bool, int]:
        first = self.records[0].line
        return self.stream.trusted, self.timed * 2 > len(self.records), first.cursor is not None, len(self.records)


@dataclass
class _Match:
    """Pairs of equal records of a better and another writer, by their places, in order."""

    better: _Writer
    other: _Writer
    pairs: list[tuple[int, int]]


@dataclass
class _Aside:
    """What of a source is set aside as another's twin."""

    twins: int = 0
    strays: int = 0
    first_stray: int | None = None


def count_once(lines: Sequence[Line], sources: Sequence[Source], counts: Mapping[str, ScanCounts]) -> list[Line]:
    """Give back each line once, with the address of its twin; what is set aside is said in the sources' problems.

    Args:
        lines: Matched lines of several sources; those of one source in their order.
        sources: Take the notes.
        counts: Their unread lines are counted once too.
    """
    records = _records(lines)
    aside: dict[tuple[str, str], _Aside] = {}
    gone: set[int] = set()  # id() of records
    _by_cursor(records, gone, aside)
    writers = _writers(one for one in records if id(one) not in gone)
    established: dict[tuple[str, str], float | None] = {}
    for match in _matches(writers):
        _settle(match, gone, aside, established)
    _rest(records, gone, aside, established)
    by_name = {source.name: source for source in sources}
    for (kept, other), found in aside.items():
        by_name[other].tell("note", f"{found.twins} lines are the same as in {kept}: counted once")
        what = f"{found.strays} lines among them are not in {kept}: set aside"
        remedy = "read this source alone to count them"
        by_name[other].tell("note", what, remedy, found.first_stray, bool(found.strays))
        _unread_once(counts[kept], counts[other])
    return [line for record in records if id(record) not in gone for line in record.lines]


def _records(lines: Sequence[Line]) -> list[_Record]:
    found: list[_Record] = []
    before: tuple[str, int] | None = None
    for line in lines:
        key = line.source, line.record
        if key == before:
            found[-1].lines.append(line)
        else:
            found.append(_Record([line], line.text.strip()))
        before = key
    return found


def _pair(kept: _Record, other: _Record, gone: set[int], aside: dict[tuple[str, str], _Aside]) -> None:
    gone.add(id(other))
    twin = Twin(other.line.source, other.line.offset, other.line.length)
    for line in kept.lines:
        line.twin = twin
    aside.setdefault((kept.line.source, other.line.source), _Aside()).twins += 1


def _by_cursor(records: Iterable[_Record], gone: set[int], aside: dict[tuple[str, str], _Aside]) -> None:
    """Entries that two exports or journals hold both."""
    first: dict[tuple[str, str, int], _Record] = {}
    nth: Counter[tuple[str, str, str]] = Counter()  # an entry may have several messages
    for record in records:
        found = CURSOR.match(record.line.cursor or "")
        if found is None:
            continue
        place = (record.line.source, found[1], found[2])
        key = (found[1], found[2], nth[place])
        nth[place] += 1
        known = first.setdefault(key, record)
        if known is not record and known.line.source != record.line.source:
            _pair(known, record, gone, aside)


def _writers(records: Iterable[_Record]) -> list[_Writer]:
    found: dict[tuple[object, ...], _Writer] = {}
    for record in records:
        stream = record.line.stream
        key: tuple[object, ...]
        if stream.trusted and (stream.invocation or stream.unit):
            key = (stream.boot, stream.invocation or stream.unit, stream.manager)
        else:
            key = (stream.boot, stream.container, stream.identifier, stream.pid, stream.manager)
        writer = found.setdefault((record.line.source, stream.host, *key), _Writer(record.line.source, stream))
        writer.records.append(record)
        writer.timed += record.line.time_us is not None
    return list(found.values())


def _matches(writers: Sequence[_Writer]) -> list[_Match]:
    """All pairs of twins, longest first."""
    holders: dict[str, set[int]] = {}
    for number, writer in enumerate(writers):
        if len(writer.records) < WHOLE:
            continue
        for text, count in Counter(record.text for record in writer.records).items():
            if count == 1:
                holders.setdefault(text, set()).add(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        if 1 < len(numbers) <= GAP:
            ordered = sorted(numbers)
            shared.update((one, other) for at, one in enumerate(ordered) for other in ordered[at + 1 :])
    found: list[_Match] = []
    for (one, other), _ in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
        match = _compare(writers[one], writers[other])
        if match is not None:
            found.append(match)
    return sorted(found, key=lambda match: -len(match.pairs))


def _compare(one: _Writer, other: _Writer) -> _Match | None:
    if one.source == other.source or _differ(one.stream, other.stream):
        return None
    better, worse = (one, other) if one.rank >= other.rank else (other, one)
    left = [record.text for record in better.records]
    right = [record.text for record in worse.records]
    pairs = _align(left, right)
    smaller = min(len(left), len(right))
    if len(pairs) < RUN and not (len(pairs) >= WHOLE and len(pairs) >= COVERED * smaller):
        return None
    (left_first, right_first), (left_last, right_last) = pairs[0], pairs[-1]
    span = min(left_last - left_first, right_last - right_first) + 1
    if len(pairs) < COVERED * span or _substituted(left, right, pairs) > max(1, len(pairs) // 100):
        return None
    witnesses = {
        left[at]
        for at, _ in pairs
        if better.records[at].line.prefix.clock is not None or WITNESS.search(left[at]) is not None
    }
    if len(witnesses) < WITNESSES or not _in_time(better, worse, pairs):
        return None
    return _Match(better, worse, pairs)


def _differ(one: Stream, other: Stream) -> bool:
    """Whether collectors vouch for two writers that are not the same."""
    if not (one.trusted and other.trusted):
        return False
    fields = [(one.host, other.host), (one.boot, other.boot), (one.unit, other.unit)]
    fields.append((one.invocation, other.invocation))
    return any(mine is not None and theirs is not None and mine != theirs for mine, theirs in fields)


def _align(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of equal texts in the order of both: sure ones first, which each side has once, then those between.

    There is one at least that both sides have once.
    """
    once_left = {text for text, count in Counter(left).items() if count == 1}
    once_right = {text: 1 for text, count in Counter(right).items() if count == 1}
    places = {text: at for at, text in enumerate(right) if text in once_right}
    sure = _rising([(at, places[text]) for at, text in enumerate(left) if text in once_left and text in places])
    first_left, first_right = sure[0]
    head: list[tuple[int, int]] = []
    while first_left and first_right and left[first_left - 1] == right[first_right - 1]:
        first_left, first_right = first_left - 1, first_right - 1
        head.append((first_left, first_right))
    found = head[::-1]
    for (left_at, right_at), (left_to, right_to) in pairwise([*sure, (len(left), len(right))]):
        found.append((left_at, right_at))
        inner_left, inner_right = left[left_at + 1 : left_to], right[right_at + 1 : right_to]
        same = 0
        while same < min(len(inner_left), len(inner_right)) and inner_left[same] == inner_right[same]:
            same += 1
            found.append((left_at + same, right_at + same))
        inner_left, inner_right = inner_left[same:], inner_right[same:]
        between = (left_to, right_to) != (len(left), len(right))
        if between and inner_left and inner_right and len(inner_left) < GAP and len(inner_right) < GAP:
            for block in SequenceMatcher(None, inner_left, inner_right, autojunk=False).get_matching_blocks():
                base_left, base_right = left_at + 1 + same + block.a, right_at + 1 + same + block.b
                found.extend((base_left + step, base_right + step) for step in range(block.size))
    return found


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, sorted by their first places, whose second places rise too."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(tails, place)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [place]
        ends[at : at + 1] = [number]
    found = []
    number = ends[-1] if ends else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _substituted(left: Sequence[str], right: Sequence[str], pairs: Sequence[tuple[int, int]]) -> int:
    """At how many places between equal lines both sides have lines that differ in their digits only."""
    found = 0
    for (left_at, right_at), (left_to, right_to) in pairwise(pairs):
        if left_to - left_at > 1 and right_to - right_at > 1:
            mine = Counter(re.sub(r"\d+", "#", text) for text in left[left_at + 1 : left_to])
            theirs = Counter(re.sub(r"\d+", "#", text) for text in right[right_at + 1 : right_to])
            found += (mine & theirs).total()
    return found


def _in_time(better: _Writer, other: _Writer, pairs: Sequence[tuple[int, int]]) -> bool:
    away = _away(better, other, pairs)
    if not away:
        return True
    usual = median(away)
    if sum(abs(one - usual) <= SAME_TIME_US for one in away) < 0.95 * len(away):
        return False
    return abs(usual - round(usual / QUARTER_US) * QUARTER_US) <= ZONE_US and abs(usual) <= 15 * 4 * QUARTER_US


def _away(better: _Writer, other: _Writer, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """By how much the other's times are later, for all pairs that have both."""
    found = []
    for left, right in pairs:
        mine, theirs = better.records[left].line.time_us, other.records[right].line.time_us
        if mine is not None and theirs is not None:
            found.append(theirs - mine)
    return found


def _settle(
    match: _Match,
    gone: set[int],
    aside: dict[tuple[str, str], _Aside],
    established: dict[tuple[str, str], float | None],
) -> None:
    """Keep one of two twins; lines that either has alone inside the run are set aside with it."""
    better, other = match.better, match.other
    pairs = [
        (left, right)
        for left, right in match.pairs
        if id(better.records[left]) not in gone and id(other.records[right]) not in gone
    ]
    if len(pairs) < max(WHOLE, COVERED * len(match.pairs)):
        return  # most of it has found its twin elsewhere
    lefts, rights = {left for left, _ in pairs}, {right for _, right in pairs}
    alone = [at for at in range(pairs[0][1], pairs[-1][1] + 1) if at not in rights]
    before, behind = other.records[: pairs[0][1]], other.records[pairs[-1][1] + 1 :]
    head = [] if _begins(better.records[pairs[0][0] :]) else [one for one in before if id(one) not in gone]
    tail = [] if _begins(behind) else [one for one in behind if id(one) not in gone]
    few = max(3, int(STRAY * len(pairs)))
    away = _away(better, other, pairs)
    key = better.source, other.source
    if len(alone) + len(head) + len(tail) <= few:
        for left, right in pairs:
            _pair(better.records[left], other.records[right], gone, aside)
        strays = [*(other.records[at] for at in alone), *head, *tail]
        established[key] = median(away) if away else None
    else:
        # The better one lacks what the other has whole: the other's lines stay, with the better one's times.
        for left, right in pairs:
            mine, theirs = better.records[left], other.records[right]
            for line in theirs.lines:
                line.time_us = mine.line.time_us if line.time_us is None else line.time_us
            _pair(theirs, mine, gone, aside)
        strays = [
            better.records[at]
            for at in range(pairs[0][0], pairs[-1][0] + 1)
            if at not in lefts and id(better.records[at]) not in gone
        ]
        key = other.source, better.source
        established[key] = -median(away) if away else None
    for stray in strays:
        gone.add(id(stray))
        found = aside[key]
        found.strays += 1
        found.first_stray = stray.line.offset if found.first_stray is None else found.first_stray


def _begins(records: Sequence[_Record]) -> bool:
    """Whether a process or load begins with these lines, so that what stands before them is another's."""
    if not records:
        return True
    return any(
        "process" in line.pattern.effects or "load" in line.pattern.effects
        for record in records[:BEGINNING]
        for line in record.lines
    )


def _rest(
    records: Sequence[_Record],
    gone: set[int],
    aside: dict[tuple[str, str], _Aside],
    established: Mapping[tuple[str, str], float | None],
) -> None:
    """Lines of small writers in two sources of which others are twins: the same text at the same time.

    So are messages of the kernel, which has one voice.
    """
    waiting: dict[str, list[_Record]] = {}
    for record in records:
        if id(record) not in gone and record.line.twin is None and record.line.time_us is not None:
            waiting.setdefault(record.text, []).append(record)
    for same in waiting.values():
        for at, one in enumerate(same):
            for other in same[at + 1 :]:
                if id(one) in gone or id(other) in gone or one.line.source == other.line.source:
                    continue
                key = (one.line.source, other.line.source)
                usual = established.get(key)
                if usual is None and (back := established.get(key[::-1])) is not None:
                    usual = -back
                kernel = one.line.stream.kernel and other.line.stream.kernel
                if usual is None and not kernel:
                    continue
                if one.line.twin is not None or _differ(one.line.stream, other.line.stream):
                    continue
                assert one.line.time_us is not None
                assert other.line.time_us is not None
                if abs(other.line.time_us - one.line.time_us - (usual or 0)) <= SAME_TIME_US:
                    kept, twin = (one, other) if _rank(one) >= _rank(other) else (other, one)
                    _pair(kept, twin, gone, aside)


def _rank(record: _Record) -> tuple[bool, bool]:
    return record.line.stream.trusted, record.line.cursor is not None


def _unread_once(kept: ScanCounts, other: ScanCounts) -> None:
    """Leave out the unread lines of a source that its twin has unread too."""
    known = Counter(one.text.strip() for one in kept.unread)
    left: list[Unread] = []
    for one in other.unread:
        text = one.text.strip()
        if known[text] > 0:
            known[text] -= 1
        else:
            left.append(one)
    other.unread[:] = left
