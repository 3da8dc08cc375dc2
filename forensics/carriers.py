"""Tell which records are the rest of a text that another record carries: those are data, whatever they look like.

A program prints a client's string, a file's name or a piece of a vocabulary as it is, line feeds and all. Lines of such
a text cannot be told from the program's own by themselves; by where they stand they can:

* From the line that opens a text to the line that closes it, the writer's lines are the text's.
* What closes a text is a line that does not open what it closes. A line that is complete in itself closes a text only
  where no such line follows.
* A text that closes at once may have imitated its end: where a later line closes it once more, and lines that would act
  stand between, it had not ended.
* Behind a text of a writer whose lines have a prefix with a clock, lines that would act are the text's where they have
  no prefix, or that of the text to the microsecond.
* A text without an end of its own may hold anything: for a while, lines that would act and are made as the text's are
  not believed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from .catalogue import Pattern, Prefix, Program
from .clocks import elapsed_us
from .records.block import Block, Stream
from .regexes import Regex

__all__ = ["Carriers", "clean"]

ANSI = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
CARET = re.compile(r"\^\[\[[0-9;:]*m|\^M$")
"""Colours, and a carriage return at the end, as terminals and `cat -v` show them: two characters for one byte."""

HINT_RECORDS = 400
"""Behind the nearest line that shows a text to have one line, so far back another may show it to have several."""

CARRIER_RECORDS = 20_000
"""A text that no line closes within so many records is given up: only lines without a prefix are taken for it."""

AGAIN_RECORDS = 4000
"""How far behind its apparent end a text may go on."""

DOUBT_RECORDS = 1000
"""How far behind a text without an end of its own nothing that would act is believed."""

ACTS = frozenset(
    {"process", "load", "implies_load", "spawn", "end", "item", "context", "block", "parent_ready", "live_count"}
)
"""Effects of lines that change what a load is or holds."""

Patterns = Sequence[Sequence[tuple[int, Pattern, Program]]]
"""The patterns of each literal of the scan, by its number."""


class Closing(IntEnum):
    """How a line closes a text."""

    NOT = 0
    COMPLETE = 1
    """It ends as a text would, and is a line in itself: it may be one of the text or one of its writer."""
    BARE = 2
    """It closes what it does not open."""


@dataclass
class _Text:
    """A text of a writer: the record that opens it, and where it ended."""

    record: int
    pattern: Pattern
    close: Regex
    program: Program
    prefix: Prefix
    stream: Stream
    opened: int
    """The same, of its block's."""
    whole: bool
    """It closes in the record that opens it, as far as one can see."""
    end: int
    """The last record of it, of its block's."""
    closer: int | None = None
    """The line of its writer that closed it, where that is none of the text."""
    closed: bool = False
    members: list[int] = field(default_factory=list)
    taken: int = 0

    @property
    def writer(self) -> tuple[Stream, str | None]:
        return self.stream, self.prefix.tag

    @property
    def delimited(self) -> bool:
        """Whether an end of its own closes it, and not whatever its writer prints next."""
        return not self.close.pattern.startswith("^")

    @property
    def endless(self) -> bool:
        """Whether nothing that is printed for it alone shows where it ended."""
        return not self.delimited and self.pattern.again is None

    @property
    def kind(self) -> str:
        """What would close it once more."""
        return (self.pattern.again or self.close).pattern

    def like(self, prefix: Prefix, until: int | None = None) -> bool:
        """Whether a line is made as one of the text would be: bare, or with a clock that is copied or does not fit.

        Args:
            prefix: The prefix of the line.
            until: The least that its writer's clock says behind it, if that is known.
        """
        if not prefix.present or not self.prefix.present or prefix.clock == self.prefix.clock:
            return prefix.present == self.prefix.present
        begun, clock = _elapsed(self.prefix), _elapsed(prefix)
        if begun is None or clock is None:
            return False
        return clock < begun or (until is not None and clock > until)


class Carriers:
    """The texts that are open in the streams of a source.

    Args:
        by_literal: The patterns of each literal of the scan, by its number.
    """

    def __init__(self, by_literal: Patterns) -> None:
        self._by_literal = by_literal
        self._carriers = {
            number: [(pattern, program) for _, pattern, program in patterns if pattern.closes is not None]
            for number, patterns in enumerate(by_literal)
            if any(pattern.closes is not None for _, pattern, _ in patterns)
        }
        self.acting = frozenset(
            number for number, patterns in enumerate(by_literal) if any(_acts(pattern) for _, pattern, _ in patterns)
        )
        """Literals of lines that would act."""
        self._open: dict[tuple[Stream, str | None], _Text] = {}
        self._closers: set[int | None] = set()
        """Records of the block that close what had one line: they close no other text once more."""
        self._before: _Here | None = None
        """The last block of which anything was wanted: it says whether a text behind it has several lines."""
        self.openers: Collection[int] = ()
        """Records of the last block that carry others, or may carry some of the next block."""

    def __bool__(self) -> bool:
        """Whether a text is open."""
        return bool(self._open)

    def seam(self, block: Block) -> Mapping[int, int] | None:
        """The carried records of the last block, if that and the block are all that the next block depends on."""
        here = self._before
        return here.carried if here is not None and here.block is block and not self._open else None

    def go_on(self, block: Block, carried: Mapping[int, int]) -> None:
        """Stand behind a block of which `seam` gave the carried records another time."""
        self._before = _Here(block, {}, self._by_literal, carried, None)

    def carried(
        self,
        block: Block,
        wanted: Mapping[int, Iterable[int]],
        may_open: Iterable[tuple[int, int]],
        may_act: Callable[[], Sequence[int]],
    ) -> dict[int, int]:
        """Which records are the rest of a foreign text, and the record that carries it.

        Blocks of one source must come in order: a text may span their seam.

        Args:
            block: The records.
            wanted: The literals that each record holds.
            may_open: Those of them that are in a pattern of a line that carries a text.
            may_act: Gives the records that hold an acting literal.
        """
        for text in self._open.values():
            text.members = []  # they were records of the block before
        carried: dict[int, int] = {}
        before = (
            self._before.leave() if self._before is not None and self._before.block.source is block.source else None
        )
        self._before = here = _Here(block, wanted, self._by_literal, carried, before)
        openers = self._openers(here, may_open)
        self.openers, self._closers = (), set()
        if not openers and not self._open:
            return carried
        texts = self._run(here, openers, carried)
        acting = [one for one in may_act() if one not in carried and here.acts(one)] if texts else []
        if acting:
            self._behind(here, texts, acting, carried)
        carrying = {*carried.values(), *(text.record for text in self._open.values())}
        self.openers = {record for record, text in openers.items() if text.record in carrying}
        return carried

    def _openers(self, here: _Here, may_open: Iterable[tuple[int, int]]) -> dict[int, _Text]:
        found: dict[int, _Text] = {}
        for record, number in may_open:
            for pattern, program in self._carriers.get(number, ()):
                text = here.opener(record, pattern, program) if record not in found else None
                if text is not None:
                    found[record] = text
        return found

    # -- texts that are seen to run on ---------------------------------------------------------------------------------

    def _run(self, here: _Here, openers: Mapping[int, _Text], carried: dict[int, int]) -> list[_Text]:
        """Follow each text to the line that closes it."""
        texts: list[_Text] = [text for text in openers.values() if text.whole]
        pending = sorted(record for record, text in openers.items() if not text.whole)
        record = 0 if self._open else (pending[0] if pending else len(here.block))
        while record < len(here.block) and (self._open or pending):
            if not self._open and pending:
                record = max(record, pending[0])
            while pending and pending[0] < record:
                pending.pop(0)
            for writer, text in list(self._open.items()):
                if here.stream(record) != writer[0]:
                    continue
                prefix = here.prefix(record, text.program)
                if prefix is None or prefix.tag != writer[1]:
                    continue
                more, whose = self._goes_on(here, record, text, prefix)
                if whose:
                    carried[record] = text.record
                    text.end = record
                    text.taken += 1
                    if prefix.present:
                        text.members.append(record)
                if text.taken > CARRIER_RECORDS:
                    for member in text.members:
                        carried.pop(member, None)
                    more = False
                if not more:
                    del self._open[writer]
                    text.closer = None if whose else record
                    texts.append(text)
            if pending and pending[0] == record and record not in carried:
                text = openers[record]
                if self._runs_on(here, record, text):
                    self._open[text.writer] = text
                elif text.pattern.hints is None:
                    texts.append(text)
                else:
                    self._closers.add(here.closed_by(record, text))
            record += 1
        return sorted((one for one in texts if one.opened not in carried), key=lambda one: one.end)

    def _goes_on(self, here: _Here, record: int, text: _Text, prefix: Prefix) -> tuple[bool, bool]:
        """Whether a text goes on behind a line of its writer, and whether the line is part of it."""
        closing = here.closing(record, text)
        if text.prefix.present and not prefix.present:
            text.closed = text.closed or closing is not Closing.NOT
            return True, True
        if text.closed:
            return False, False
        if closing is Closing.NOT:
            return True, True
        if not text.delimited:
            return False, False
        if closing is Closing.BARE:
            return False, True
        return (True, True) if here.closes_bare(record, text) else (False, False)

    def _runs_on(self, here: _Here, record: int, text: _Text) -> bool:
        """Whether a text that opens here has more lines; where none closes it, lines were cut out of the log."""
        hinted = self._hinted(here, record, text)
        if hinted is None:
            return here.closed_by(record, text) is not None
        if hinted and text.pattern.hints is None and here.closed_by(record, text) is None:
            text.closed = True  # only lines without a prefix are the text's
            return text.prefix.present
        return hinted

    def _hinted(self, here: _Here, record: int, text: _Text) -> bool | None:
        """Whether an earlier line shows that the text has several lines; None if no line says so or the contrary.

        Only a line of the same writer counts, made as its lines are, and not one inside another text.
        """
        if text.pattern.hints is None:
            return True
        hint, denial = here.hinted(record, text)
        oldest = record - CARRIER_RECORDS
        if hint is not None and hint >= oldest and (denial is None or denial < hint or hint >= record - HINT_RECORDS):
            return True
        return False if denial is not None and denial >= oldest else None

    # -- texts that had ended, as far as one could see -----------------------------------------------------------------

    def _behind(self, here: _Here, texts: Sequence[_Text], acting: Sequence[int], carried: dict[int, int]) -> None:
        """Find lines that would act and are part of a text that seemed to have ended."""
        firm = set(carried)
        by_writer: dict[tuple[Stream, str | None], list[_Text]] = {}
        for text in texts:
            by_writer.setdefault(text.writer, []).append(text)
        for (stream, _), own in by_writer.items():
            unsure: list[int] = []
            place = 0
            near: list[_Text] = []
            for record in acting:
                while place < len(own) and own[place].end < record:
                    near.append(own[place])
                    place += 1
                near = [one for one in near if record - one.end <= AGAIN_RECORDS]
                prefix = here.by(record, near[-1]) if near and record not in carried else None
                if prefix is None or here.stream(record) != stream:
                    continue
                fails = here.fails(record)
                if near[-1].prefix.present and not fails and self._copied(here, near[-1], record, carried):
                    continue
                endless = [
                    one
                    for one in near
                    if one.endless and record - one.end <= DOUBT_RECORDS and one.like(prefix, here.least(record, one))
                ]
                if endless and not fails:
                    carried[record] = endless[-1].record
                else:
                    unsure.append(record)
            if unsure:
                self._closed_again(here, own, unsure, firm, carried)

    def _copied(self, here: _Here, text: _Text, record: int, carried: dict[int, int]) -> bool:
        """Whether a line is one of a run behind a text that have no prefix of their own, or a copy of the text's."""
        run: list[int] = []
        for later in range(text.end + 1, len(here.block)):
            prefix = here.by(later, text)
            if prefix is not None and prefix.present and prefix.clock != text.prefix.clock:
                break
            if prefix is not None:
                run.append(later)
        if record not in run:
            return False
        carried.update((one, text.record) for one in run if one not in carried)
        return True

    def _closed_again(
        self, here: _Here, texts: Sequence[_Text], unsure: Sequence[int], firm: set[int], carried: dict[int, int]
    ) -> None:
        """Where a line closes what no line opened, the nearest text that it would close had not ended before it."""
        known = {one.closer for one in texts} | firm | self._closers
        acting = set(unsure)
        kinds = list({one.kind: one for one in texts}.values())
        seen = 0
        for first in unsure:
            for record in range(max(first + 1, seen), min(first + AGAIN_RECORDS, len(here.block))):
                seen = record + 1
                if record in known or here.by(record, kinds[0]) is None:
                    continue
                kind = next((one.kind for one in kinds if here.closes_again(record, one)), None)
                if kind is None:
                    continue
                # A line that would act may be part of the text itself, and then opens none.
                open_ = [one for one in texts if one.kind == kind and one.end < record <= one.end + AGAIN_RECORDS]
                text = next((one for one in reversed(open_) if one.opened not in acting), open_[-1] if open_ else None)
                if text is None:
                    continue
                last = self._last(here, record, text)
                until = here.least(last, text)
                between = unsure[bisect_right(unsure, text.end) : bisect_right(unsure, last)]
                if any(here.may_be_of(one, text, until) for one in between):
                    parts = [one for one in range(text.end + 1, last + 1) if here.may_be_of(one, text, until)]
                    carried.update((one, text.record) for one in parts if one not in carried)

    def _last(self, here: _Here, record: int, text: _Text) -> int:
        """The last record of a text that a line has closed again: that line, or the one before what comes next."""
        if text.delimited:
            return record
        for later in range(record, min(record + AGAIN_RECORDS, len(here.block))):
            if here.by(later, text) is not None and here.closing(later, text) is not Closing.NOT:
                return later - 1
        return record


class _Here:
    """The records of one block, as the lines that a program may have written; each is read once."""

    def __init__(
        self,
        block: Block,
        wanted: Mapping[int, Iterable[int]],
        by_literal: Patterns,
        carried: Mapping[int, int],
        before: _Here | None,
    ) -> None:
        self.block = block
        self.wanted = wanted
        self._by_literal = by_literal
        self.carried = carried
        self._before = before
        self._prefixes: dict[tuple[int, str], Prefix | None] = {}
        self._bare: dict[tuple[Stream, str | None, str], tuple[int, int | None]] = {}
        self._closed: dict[tuple[Stream, str | None, str, str], tuple[int, int]] = {}
        self._hints: dict[tuple[Stream, str | None, bool, str, str], tuple[list[int], list[int], int]] = {}

    def stream(self, record: int) -> Stream:
        return self.block.stream_table[int(self.block.streams[record])]

    def prefix(self, record: int, program: Program) -> Prefix | None:
        key = (record, program.name)
        if key not in self._prefixes:
            self._prefixes[key] = program.grammar.split(clean(self.block.message(record)))
        return self._prefixes[key]

    def by(self, record: int, text: _Text) -> Prefix | None:
        """The prefix of a record, if the writer of a text wrote it."""
        if self.stream(record) != text.stream:
            return None
        prefix = self.prefix(record, text.program)
        return prefix if prefix is not None and prefix.tag == text.prefix.tag else None

    def may_be_of(self, record: int, text: _Text, until: int | None) -> bool:
        """Whether a record is the writer's and made as a line of the text would be."""
        prefix = self.by(record, text)
        return prefix is not None and (not prefix.present or text.like(prefix, until))

    def least(self, record: int, text: _Text) -> int | None:
        """The least that the clock of a text's writer says behind a record, since the text began."""
        begun = _elapsed(text.prefix)
        if begun is None:
            return None
        prefixes = (self.by(one, text) for one in range(record + 1, min(record + AGAIN_RECORDS, len(self.block))))
        clocks = (_elapsed(prefix) for prefix in prefixes if prefix is not None)
        return min((clock for clock in clocks if clock is not None and clock >= begun), default=None)

    def opener(self, record: int, pattern: Pattern, program: Program) -> _Text | None:
        """The text that a record opens, if it is one of a pattern's."""
        prefix = self.prefix(record, program)
        if prefix is None or pattern.closes is None:
            return None
        whole = False
        if not pattern.regex.match(prefix.message):
            head = pattern.head.match(prefix.message) if pattern.head is not None else None
            if head is None or not pattern.closes.search(prefix.message[head.end() :]):
                return None
            whole = True
        return _Text(
            record=self.block.first_record + record,
            pattern=pattern,
            close=pattern.closes,
            program=program,
            prefix=prefix,
            stream=self.stream(record),
            opened=record,
            whole=whole,
            end=record,
        )

    def closing(self, record: int, text: _Text) -> Closing:
        """How a record closes a text of its writer."""
        prefix = self.prefix(record, text.program)
        if prefix is None or not text.close.search(prefix.message):
            return Closing.NOT
        return Closing.COMPLETE if text.delimited and self._complete(record, prefix, text) else Closing.BARE

    def closes_again(self, record: int, text: _Text) -> bool:
        """Whether a record closes a text, and is nothing else."""
        again = text.pattern.again
        if again is None:
            return text.delimited and self.closing(record, text) is Closing.BARE
        prefix = self.prefix(record, text.program)
        return prefix is not None and again.search(prefix.message) is not None

    def closed_by(self, record: int, text: _Text) -> int | None:
        """The next record of its writer that closes a text which opens at a record, if one is near."""
        key = (text.stream, text.prefix.tag, text.program.name, text.close.pattern)
        found, seen = self._closed.get(key, (-1, 0))
        if found <= record:
            # Records that were looked at for an earlier text of the writer close nothing but what is before them.
            within = range(max(record + 1, seen), min(record + AGAIN_RECORDS, len(self.block)))
            closing = (
                later
                for later in within
                if self.by(later, text) is not None and self.closing(later, text) is not Closing.NOT
            )
            found = next(closing, -1)
            self._closed[key] = found, max(seen, found + 1 if found >= 0 else within.stop)
        return found if record < found < record + AGAIN_RECORDS else None

    def hinted(self, record: int, text: _Text) -> tuple[int | None, int | None]:
        """The last records before one, made as it is, that show that its text has several lines, and that it has one.

        Openers are asked about in their order, so each record is looked at once for all texts of a writer. Records of
        the block before have numbers below zero.
        """
        pattern = text.pattern
        key = (text.stream, text.prefix.tag, text.prefix.present, text.program.name, pattern.name)
        hints, denials, seen = self._hints.get(key, ([], [], 0))
        for earlier in range(seen, record):
            before = self.by(earlier, text)
            if before is None or before.present != text.prefix.present:
                continue
            if pattern.hints is not None and pattern.hints.search(before.message):
                hints.append(earlier)
            elif pattern.denies is not None and pattern.denies.search(before.message):
                denials.append(earlier)
        self._hints[key] = hints, denials, max(seen, record)
        hint = next((one for one in reversed(hints) if one not in self.carried), None)
        denial = next((one for one in reversed(denials) if one not in self.carried), None)
        if self._before is not None and (hint is None or denial is None):
            back = self.block.first_record - self._before.block.first_record
            earlier_hint, earlier_denial = self._before.hinted(len(self._before.block), text)
            hint = earlier_hint - back if hint is None and earlier_hint is not None else hint
            denial = earlier_denial - back if denial is None and earlier_denial is not None else denial
        return hint, denial

    def leave(self) -> _Here:
        """The same records, when the next block has come: without what was looked at, and with none before them."""
        return _Here(self.block, {}, self._by_literal, self.carried, None)

    def closes_bare(self, record: int, text: _Text) -> bool:
        """Whether a later record closes a text and is nothing else."""
        key = (text.stream, text.prefix.tag, text.close.pattern)
        start, found = self._bare.get(key, (len(self.block), None))
        if not start <= record < (start + AGAIN_RECORDS // 2 if found is None else found):
            found = next(
                (
                    later
                    for later in range(record + 1, min(record + AGAIN_RECORDS, len(self.block)))
                    if self.by(later, text) is not None and self.closing(later, text) is Closing.BARE
                ),
                None,
            )
            self._bare[key] = (record, found)
        return found is not None

    def _complete(self, record: int, prefix: Prefix, text: _Text) -> bool:
        """Whether a line that closes a text opens what it closes."""
        if "'" in text.close.pattern and prefix.message.count("'") % 2 == 0:
            return True
        return any(
            pattern.closes is None and pattern.regex.match(prefix.message)
            for number in self.wanted.get(record, ())
            for _, pattern, program in self._by_literal[number]
            if program is text.program
        )

    def acts(self, record: int) -> bool:
        """Whether a record looks like a line that changes what a load is or holds."""
        return any(_acts(pattern) for pattern in self._readers(record))

    def fails(self, record: int) -> bool:
        """Whether a record looks like a failure that comes without the prefix of its writer."""
        return any(pattern.unprefixed for pattern in self._readers(record))

    def _readers(self, record: int) -> Iterator[Pattern]:
        for number in self.wanted.get(record, ()):
            for _, pattern, program in self._by_literal[number]:
                prefix = None if program.writers else self.prefix(record, program)
                if prefix is not None and pattern.regex.match(prefix.message):
                    yield pattern


def _acts(pattern: Pattern) -> bool:
    return bool(pattern.effects.keys() & ACTS) or pattern.effects.get("phase", {}).get("to", "serve") != "serve"


def _elapsed(prefix: Prefix) -> int | None:
    return elapsed_us(prefix.clock[0]) if prefix.clock else None


def clean(message: bytes) -> str:
    """Decode a message for reading: colours off, invalid bytes replaced."""
    text = message.decode("utf-8", "replace")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    return CARET.sub("", text) if "^[[" in text or text.endswith("^M") else text
