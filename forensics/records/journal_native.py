"""Read native journal files into blocks of messages, with the stream, time and cursor of each.

Nothing is done per entry in Python but to take the bytes of its message. DATA objects are shared by all entries of a
file that hold the same value; each is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from mmap import mmap
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from forensics.records.block import NO_TIME, Block, Integers, Partial, Source, Stream
from forensics.records.journal import STREAM_FIELDS, is_manager, manager_fields, stream_of
from forensics.records.journal_file import Head, JournalFile
from forensics.records.journal_hash import MOST_HASHED
from forensics.records.narrow import PASSED_OVER
from forensics.records.options import Options
from forensics.records.partials import PARTIAL_FIELDS, partial_of, rejoined

__all__ = ["Cursors", "Seen", "outside", "read_journal_native"]

Words = npt.NDArray[np.uint64]
_T = TypeVar("_T")

_ENTRIES = 16_384
_ITEMS = 1_000_000
"""How many entries, and fields of entries, are looked at together."""

_WANTED = tuple(name.encode() for name in STREAM_FIELDS if name != "_BOOT_ID")  # which the entry itself says
_BOOT = b"_BOOT_ID"
_PARTIAL = tuple(name.encode() for name in PARTIAL_FIELDS)
_NAME_BYTES = 66  # the longest name, and the equals sign

_UNSEEN, _MESSAGE, _PACKED, _FIRST = 0, 1, 2, 3
_UNWANTED, _BROKEN = -1, -2
"""What a DATA object is; from _FIRST on the number of a value."""

_SLACK_US = 3_600_000_000
"""The header has the times of the first and the last entry only; between them the clock may have been set."""

_REMEDY = "get an intact copy; what can be read is used"


class Cursors(Mapping[int, str]):
    """The journal cursors of the records of a block, made when they are asked for."""

    def __init__(self, series: str, boots: list[str], boot: Integers, words: Words) -> None:
        self._series = series
        self._boots = boots
        self._boot = boot
        self._words = words  # seqnum, monotonic, realtime, xor hash by record

    def __getitem__(self, record: int) -> str:
        if not 0 <= record < len(self._boot):
            raise KeyError(record)
        seqnum, monotonic, realtime, mixed = self._words[:, record].tolist()
        boot = self._boots[self._boot[record]]
        return f"s={self._series};i={seqnum:x};b={boot};m={monotonic:x};t={realtime:x};x={mixed:x}"

    def __len__(self) -> int:
        return len(self._boot)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._boot)))


class Seen:
    """The entries that were read of each series, so that copies of them are not read again and gaps are found."""

    def __init__(self) -> None:
        self._read: dict[str, list[tuple[Words, Words]]] = {}

    def fresh(self, series: str, seqnums: Words, times: Words) -> npt.NDArray[np.bool_]:
        """Which entries were in no file before, by sequence number and time; they are from now on."""
        new = np.ones(len(seqnums), bool)
        for known, their_times in self._read.get(series, ()):
            at = np.searchsorted(known, seqnums)
            at[at == len(known)] = 0
            new &= (known[at] != seqnums) | (their_times[at] != times)
        order = np.argsort(seqnums[new], kind="stable")
        if len(order):
            self._read.setdefault(series, []).append((seqnums[new][order], times[new][order]))
        return new

    def gaps(self, series: str, heads: Sequence[Head]) -> tuple[int, int]:
        """How many sequence numbers between the first and the last are in no file, and in how many places.

        Numbers that no header admits are damage.
        """
        numbers = np.unique(np.concatenate([known for known, _ in self._read[series]]))
        possible = np.zeros(len(numbers), bool)
        for head in heads:
            possible |= (numbers >= np.uint64(head.head_seqnum)) & (numbers <= np.uint64(head.tail_seqnum))
        numbers = numbers[possible]
        steps = np.diff(numbers) - np.uint64(1)
        return int(steps.sum()), int(np.count_nonzero(steps))

    @property
    def series(self) -> list[str]:
        """Ids of all series of which entries were read."""
        return list(self._read)


def outside(head: Head, options: Options) -> str:
    """Why no entry of a file can be one that is asked for, as far as its header says; empty if some can."""
    if options.since_us is not None and head.tail_us + _SLACK_US < options.since_us and head.state != 1:
        return "it ends before the time asked for"
    if options.until_us is not None and head.head_us - _SLACK_US > options.until_us:
        return "it begins after the time asked for"
    return ""


def read_journal_native(
    source: Source, buffer: bytes | bytearray | mmap, head: Head, options: Options, seen: Seen
) -> Iterator[Block]:
    """Yield the messages of all entries, in the order in which they were appended.

    What is cited is the value of MESSAGE where this entry was the first in the file to have it, else the ENTRY object:
    no two records cite the same bytes. Behind damage, entries that the file's own indexes do not name are not trusted.
    """
    reader = _Reader(source, JournalFile(buffer, head), options)
    if reader.unasked():
        return
    yield from rejoined(reader.blocks(seen), source, options, extents=False)
    reader.report()


class _Entries(NamedTuple):
    """Entries that are looked at together: offsets, streams, and by place what only some have."""

    offsets: Integers
    streams: npt.NDArray[np.int32]
    fields: dict[int, dict[str, str]]
    partials: dict[int, Partial]


def _distinct(numbers: Integers) -> Integers:
    """Each number once, in order: faster than by hashing where many are alike."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    distinct: Integers = ordered[first]
    return distinct


def _raw_id(value: str) -> bytes:
    """The bytes of an id that a field spells; none if it is no id."""
    try:
        return bytes.fromhex(value)
    except ValueError:
        return b""


def _sizes(parts: list[memoryview | bytes]) -> Integers:
    return np.array([len(part) for part in parts], np.int64)


def _by_record(by_row: dict[int, _T], row: Integers) -> dict[int, _T]:
    """What entries have, by the records made of them."""
    if not by_row:
        return {}
    return {record: by_row[one] for record, one in enumerate(row.tolist()) if one in by_row}


class _Reader:
    """What is known of the DATA objects of one file so far, and what was lost."""

    def __init__(self, source: Source, journal: JournalFile, options: Options) -> None:
        self.source = source
        self.journal = journal
        self.options = options
        self.code = np.zeros(journal.size // 8 + 1, np.int32)
        self.values: list[str] = []
        self.field_of: list[int] = []
        self.table: list[Stream] = []
        self.streams: dict[tuple[object, ...], int] = {}
        # Most journals hold no pieces of messages, and say so.
        self.partial = () if journal.values_of(_PARTIAL[0]) == set() else _PARTIAL
        known = (*_WANTED, _BOOT, *self.partial)
        self.fields = [(name.encode(), values) for name, values in options.fields]
        self.wanted = (*known, *(name for name, _ in self.fields if name not in known))
        self.boots: list[str] = []
        self.boot_numbers: dict[bytes, int] = {}
        self.made = self.found = 0
        self.most = max(options.ratio_from_bytes, options.ratio * journal.size)
        self.lost_fields = self.lost_messages = self.silent = self.undated = self.copies = 0
        self.unasked_for = self.doubtful = self.cut = self.unread = self.other_boots = 0
        self.first_lost: int | None = None
        self.hashed: bool | None = None  # whether hashes can be relied on; not known before the first
        self.names: set[bytes] | None = None
        prefixes = [(name + b"=")[:8] for name in (b"MESSAGE", *self.wanted)]
        self.prefixes = [
            (np.uint64((1 << 8 * len(one)) - 1), np.uint64(int.from_bytes(one, "little"))) for one in prefixes
        ]

    def unasked(self) -> bool:
        """Whether the index of values says that the file holds nothing of what is asked for."""
        asked, has = self.options, self.journal.values_of
        if asked.boots:
            boots = has(b"_BOOT_ID")
            if boots is not None and not {one.decode("ascii", "replace") for one in boots} & asked.boots:
                self.source.tell("note", "passed over whole: it holds nothing of the boots asked for")
                return True
        if asked.units:
            names: set[str] = set()
            for field in (b"_SYSTEMD_UNIT", b"_SYSTEMD_USER_UNIT", b"UNIT", b"USER_UNIT"):
                units = has(field)
                if units is None:
                    return False
                names |= {one.decode("utf-8", "replace") for one in units}
            kernel = has(b"_TRANSPORT")
            if kernel is not None and b"kernel" not in kernel and not names & asked.units:
                self.source.tell("note", "passed over whole: it holds nothing of the units asked for")
                return True
        for field, values in self.fields:
            held, kernel = has(field), has(b"_TRANSPORT")
            if held is None or kernel is None or b"kernel" in kernel:
                return False
            if not {one.decode("utf-8", "replace") for one in held} & values:
                what = f"passed over whole: it holds no {field.decode()} that is asked for"
                self.source.tell("note", what)
                return True
        return False

    def blocks(self, seen: Seen) -> Iterator[Block]:
        """Read all entries, some thousand at a time."""
        journal = self.journal
        entries, vouched = journal.entries()
        self.found = len(entries)
        self.doubtful = int(np.count_nonzero(~vouched))
        words = journal.u64
        at = entries >> 3
        fresh = seen.fresh(journal.head.series, words[at + 2], words[at + 3])
        self.copies = len(entries) - int(np.count_nonzero(fresh))
        asked = fresh & self._in_span(words[at + 3], entries)
        entries, vouched = entries[asked], vouched[asked]
        counts = (words[(entries >> 3) + 1].astype(np.int64) - 64) // journal.step
        items = np.cumsum(counts)
        begin = 0
        while begin < len(entries):
            base = int(items[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(items, base + _ITEMS, "right")))
            end = min(end, begin + _ENTRIES, len(entries))
            yield from self._chunk(entries[begin:end], vouched[begin:end], counts[begin:end])
            begin = end
            if self.made + journal.unpacked.made > self.most:
                self.unread += len(entries) - end
                break

    def _in_span(self, times: Words, entries: Integers) -> npt.NDArray[np.bool_]:
        """Which entries were received in the span, and in one of the boots, that are asked for."""
        options = self.options
        inside = np.ones(len(entries), bool)
        if options.since_us is not None:
            inside &= times >= np.uint64(max(options.since_us, 0))
        if options.until_us is not None:
            inside &= times <= np.uint64(max(options.until_us, 0))
        if options.boots:
            numbers = self._boots(entries)
            wanted = np.array([boot in options.boots for boot in self.boots], bool)
            inside &= wanted[numbers]
        self.unasked_for += len(entries) - int(np.count_nonzero(inside))
        return inside

    def _boots(self, entries: Integers) -> Integers:
        """The number of the boot of each entry."""
        if not len(entries):
            return np.empty(0, np.int64)
        at = (entries >> 3) + 5
        pairs = np.stack((self.journal.u64[at], self.journal.u64[at + 1]), axis=1)
        changes = np.flatnonzero(np.concatenate(([True], (pairs[1:] != pairs[:-1]).any(axis=1))))
        numbers = []
        for raw in pairs[changes].astype("<u8"):
            key = raw.tobytes()
            if key not in self.boot_numbers:
                self.boot_numbers[key] = len(self.boots)
                self.boots.append(key.hex())
            numbers.append(self.boot_numbers[key])
        lengths = np.diff(np.append(changes, len(entries)))
        return np.repeat(np.array(numbers, np.int64), lengths)

    # -- one chunk ----------------------------------------------------------------------------------------------------

    def _chunk(self, entries: Integers, vouched: npt.NDArray[np.bool_], counts: Integers) -> Iterator[Block]:
        journal = self.journal
        row = np.repeat(np.arange(len(entries)), counts)
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = place * journal.step + np.repeat(entries + 64, counts)
        raw = journal.u32[place >> 2] if journal.compact else journal.u64[place >> 3]
        data = raw.astype(np.int64)
        sound = (data > 0) & (data & 7 == 0) & (data <= journal.size - journal.payload)
        broken_rows = row[~sound]
        data, row, place = data[sound] >> 3, row[sound], place[sound]
        self._classify(_distinct(data[self.code[data] == _UNSEEN]))
        code = self.code[data]
        code[~self._agree(data, entries[row], place, code)] = _BROKEN
        broken_rows = np.concatenate((broken_rows, row[code == _BROKEN]))
        if len(broken_rows):
            self.lost_fields += len(broken_rows)
            self._lost_at(int(entries[broken_rows.min()]))
        columns = np.zeros((len(self.wanted), len(entries)), np.int32)
        named = np.flatnonzero(code >= _FIRST)
        if len(named):
            fields = np.array(self.field_of, np.int64)[code[named] - _FIRST]
            columns[fields, row[named]] = code[named]
        messages = np.flatnonzero((code == _MESSAGE) | (code == _PACKED))
        spoken = np.zeros(len(entries), bool)
        spoken[row[messages]] = True
        damaged = np.zeros(len(entries), bool)
        damaged[broken_rows] = True
        self.lost_messages += int(np.count_nonzero(damaged & ~spoken))
        self.silent += int(np.count_nonzero(~damaged & ~spoken))
        # An unread field may have been one that says who wrote it.
        damaged |= self._of_other_boots(entries, columns[len(_WANTED)])
        streams, fields_of = self._streams(entries, vouched & ~damaged, columns[: len(_WANTED)], spoken)
        of = _Entries(entries, streams, fields_of, self._partials(columns[len(_WANTED) + 1 :][: len(self.partial)]))
        if self.options.units or self.fields:
            kept = self._kept(streams, columns)[row[messages]]
            self.unasked_for += len(messages) - int(np.count_nonzero(kept))
            messages = messages[kept]
        yield from self._gather(of, data[messages], row[messages], place[messages])

    def _kept(self, streams: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which entries are of the units, and have the fields, that are asked for; the kernel's are kept."""
        kept = np.ones(len(streams), bool)
        if self.options.units:
            kept &= np.array([stream.unit in self.options.units for stream in self.table], bool)[streams]
        for name, values in self.fields:
            column = columns[self.wanted.index(name)]
            codes = [code for code in np.unique(column[column >= _FIRST]) if self.values[code - _FIRST] in values]
            kept &= np.isin(column, codes)
        kept |= np.array([stream.kernel for stream in self.table], bool)[streams]
        return kept

    def _of_other_boots(self, entries: Integers, said: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which entries have another boot than their field says: nothing else guards the one in the entry."""
        wrong = np.zeros(len(entries), bool)
        boot = self._boots(entries)
        for code in np.unique(said[said >= _FIRST]).tolist():
            number = self.boot_numbers.get(_raw_id(self.values[code - _FIRST]), -1)
            wrong |= (said == code) & (boot != number)
        if wrong.any():
            self.other_boots += int(np.count_nonzero(wrong))
            self._lost_at(int(entries[wrong][0]))
        return wrong

    def _lost_at(self, offset: int) -> None:
        self.first_lost = offset if self.first_lost is None else min(self.first_lost, offset)

    def _agree(self, data: Integers, entry: Integers, place: Integers, code: Integers) -> npt.NDArray[np.bool_]:
        """Which fields are those of their entries: a damaged offset may lead to the value of another entry.

        An item of a regular file repeats the hash of its DATA object; and a value of one entry names that entry.
        """
        words = self.journal.u64
        agree = np.ones(len(data), bool)
        used = np.flatnonzero(code > _UNSEEN)
        at = data[used]
        only = words[at + 7] == 1
        only &= words[at + 5] != entry[used].astype(np.uint64)
        agree[used[only]] = False
        if not self.journal.compact:
            agree[used] &= words[(place[used] >> 3) + 1] == words[at + 2]
        return agree

    def _classify(self, new: Integers) -> None:
        """Look at DATA objects that were not seen before, by offset / 8."""
        journal, words = self.journal, self.journal.u64
        header = words[new]
        size = words[new + 1].astype(np.int64)
        broken = (header & np.uint64(0xFF)) != 1
        broken |= (size <= journal.payload) | (size > journal.size - new * 8)
        packed = ((header >> np.uint64(8)) & np.uint64(0xFF)) != 0
        start = words[np.minimum(new + journal.payload // 8, len(words) - 1)]
        self.code[new] = _UNWANTED
        self.code[new[broken]] = _BROKEN
        mask, wanted = self.prefixes[0]
        message = ~broken & ~packed & (start & mask == wanted) & (size >= journal.payload + 8)
        self.code[new[message]] = _MESSAGE
        maybe = packed.copy()
        for mask, wanted in self.prefixes[1:]:
            maybe |= start & mask == wanted
        # A value of which a bit was flipped looks as good as any.
        looked = np.flatnonzero(~broken & ~packed)
        for at in looked[self._altered(new[looked])].tolist():
            # Its name may be what was hit. If it is one of the file's that nobody wants, it was not.
            name = (journal.value(int(new[at]) * 8, MOST_HASHED) or b"").partition(b"=")[0]
            if name in (b"MESSAGE", *self.wanted) or name not in self._names():
                self.code[new[at]] = _BROKEN
                broken[at] = True
        for number in new[maybe & ~broken & ~message].tolist():
            self.code[number] = self._code_of(number * 8)

    def _names(self) -> set[bytes]:
        if self.names is None:
            self.names = self.journal.names()
        return self.names

    def _altered(self, data: Integers) -> npt.NDArray[np.bool_]:
        """Which DATA objects, by offset / 8, hold another value than was written."""
        altered = np.zeros(len(data), bool) if self.hashed is False else self.journal.altered(data)
        if self.hashed is None:
            # No damage hits most values and leaves all else readable: it hit the key.
            self.hashed = 2 * int(np.count_nonzero(altered)) <= len(altered)
            altered &= self.hashed
        return altered

    def _code_of(self, offset: int) -> int:
        journal = self.journal
        flags = (int(journal.u64[offset >> 3]) >> 8) & 7
        if flags:
            end = offset + int(journal.u64[(offset >> 3) + 1])
            packed = bytes(journal.buffer[offset + journal.payload : end])
            start = journal.unpacked.begin(packed, flags, _NAME_BYTES)
            if start is None:
                return _BROKEN
            name = start.partition(b"=")[0]
            if name == b"MESSAGE":
                return _PACKED
            if name not in self.wanted:
                return _UNWANTED
        value = journal.value(offset, self.options.line_bytes)
        if value is None:
            return _BROKEN
        name, _, rest = value.partition(b"=")
        if name not in self.wanted:
            return _UNWANTED
        self.values.append(rest.decode("utf-8", "replace"))
        self.field_of.append(self.wanted.index(name))
        return _FIRST + len(self.values) - 1

    def _streams(
        self,
        entries: Integers,
        vouched: npt.NDArray[np.bool_],
        columns: npt.NDArray[np.int32],
        spoken: npt.NDArray[np.bool_],
    ) -> tuple[npt.NDArray[np.int32], dict[int, dict[str, str]]]:
        """The stream of each entry, and what the manager says in those that it wrote."""
        boot = self._boots(entries)
        key = boot * 2 + vouched
        bound = len(self.boots) * 2
        wide = _FIRST + len(self.values)
        for column in columns:
            if bound * wide >= 2**62:
                key = np.unique(key, return_inverse=True)[1].reshape(-1)
                bound = len(entries)
            key = key * wide + column
            bound *= wide
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        numbers = np.empty(len(first), np.int32)
        managers: list[int] = []
        for number, at in enumerate(first.tolist()):
            said: dict[str, str | None] = {"_BOOT_ID": self.boots[boot[at]]}
            codes = columns[:, at].tolist()
            said.update(
                (name.decode(), self.values[code - _FIRST] if code else None)
                for name, code in zip(_WANTED, codes, strict=True)
            )
            if is_manager(said):
                managers.append(number)
            numbers[number] = self._number((bool(vouched[at]), boot[at], *codes), said, intact=bool(vouched[at]))
        streams = numbers[which.reshape(-1)]
        fields_of: dict[int, dict[str, str]] = {}
        if managers:
            for at in np.flatnonzero(np.isin(which.reshape(-1), managers) & spoken).tolist():
                everything: dict[str, str | None] = {"_BOOT_ID": self.boots[boot[at]]}
                for name, value in self.journal.fields(int(entries[at]), self.options.line_bytes):
                    everything[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
                said_of = fields_of[at] = manager_fields(everything)
                about = [said_of.get(name) for name in ("UNIT", "INVOCATION_ID", "USER_UNIT", "USER_INVOCATION_ID")]
                stream_key = (int(streams[at]), *about)
                streams[at] = self._number(stream_key, everything, intact=bool(vouched[at]))
        return streams, fields_of

    def _partials(self, columns: npt.NDArray[np.int32]) -> dict[int, Partial]:
        """Which entries are pieces of messages, and which pieces."""
        found: dict[int, Partial] = {}
        if not len(columns):
            return found
        for row in np.flatnonzero(columns.any(axis=0)).tolist():
            codes = columns[:, row].tolist()
            said = {
                name: self.values[code - _FIRST] if code else None
                for name, code in zip(PARTIAL_FIELDS, codes, strict=True)
            }
            partial = partial_of(said)
            if partial is not None:
                found[row] = partial
        return found

    def _number(self, key: tuple[object, ...], said: Mapping[str, str | None], *, intact: bool) -> int:
        number = self.streams.get(key)
        if number is None:
            number = self.streams[key] = len(self.table)
            self.table.append(stream_of(self.source.name, said, intact=intact))
        return number

    def _gather(self, of: _Entries, data: Integers, row: Integers, place: Integers) -> Iterator[Block]:
        """Take the bytes of messages, and make a block whenever enough came together."""
        journal, buffer = self.journal, self.journal.buffer
        begin = data * 8 + journal.payload + 8
        length = journal.u64[data + 1].astype(np.int64) - journal.payload - 8
        over = length > self.options.line_bytes
        self.cut += int(np.count_nonzero(over))
        length = np.minimum(length, self.options.line_bytes)
        packed = self.code[data] == _PACKED
        entry = of.offsets[row]
        own = ~packed & (journal.u64[data + 5].astype(np.int64) == entry)
        again = np.zeros(len(row), bool)
        again[1:] = row[1:] == row[:-1]
        cited = np.where(own, begin, np.where(again, place, entry))
        whole = journal.u64[(entry >> 3) + 1].astype(np.int64)
        extent = np.where(own, length, np.where(again, journal.step, whole))
        if not packed.any():
            yield from self._views(of, begin, length, row, cited, extent)
            return
        taken: list[int] = []
        parts: list[memoryview | bytes] = []
        size = 0
        for number, (at, count, is_packed) in enumerate(
            zip(begin.tolist(), length.tolist(), packed.tolist(), strict=True)
        ):
            part: memoryview | bytes
            if is_packed:
                value = journal.value(at - journal.payload - 8, self.options.line_bytes)
                if value is None:
                    self.lost_messages += 1
                    continue
                part = value[8:]
            else:
                part = buffer[at : at + count]
            taken.append(number)
            parts.append(part)
            size += len(part)
            if size >= self.options.block_bytes:
                chosen = np.array(taken, np.int64)
                yield self._block(of, parts, _sizes(parts), row[chosen], cited[chosen], extent[chosen])
                taken, parts, size = [], [], 0
                if self._is_too_much(row[number + 1 :]):
                    return
        if parts:
            chosen = np.array(taken, np.int64)
            yield self._block(of, parts, _sizes(parts), row[chosen], cited[chosen], extent[chosen])

    def _views(
        self, of: _Entries, begin: Integers, length: Integers, row: Integers, cited: Integers, extent: Integers
    ) -> Iterator[Block]:
        """The same where all messages stand in the file as they are."""
        buffer, until = self.journal.buffer, np.cumsum(length)
        first = 0
        while first < len(row):
            full = (int(until[first - 1]) if first else 0) + self.options.block_bytes
            last = min(int(np.searchsorted(until, full)) + 1, len(row))
            some = slice(first, last)
            pairs = zip(begin[some].tolist(), (begin + length)[some].tolist(), strict=True)
            parts: list[memoryview | bytes] = [buffer[at:end] for at, end in pairs]
            yield self._block(of, parts, length[some], row[some], cited[some], extent[some])
            if last < len(row) and self._is_too_much(row[last:]):
                return
            first = last

    def _is_too_much(self, left: Integers) -> bool:
        """Whether reading stops here, for what the file has become: entries that are left are counted then."""
        if self.made + self.journal.unpacked.made <= self.most:
            return False
        self.unread += len(np.unique(left))
        return True

    def _block(
        self,
        of: _Entries,
        parts: list[memoryview | bytes],
        sizes: Integers,
        row: Integers,
        cited: Integers,
        extent: Integers,
    ) -> Block:
        words = self.journal.u64
        data = b"\n".join((*parts, b""))
        self.made += len(data)
        after = np.cumsum(sizes + 1)
        starts = after - sizes - 1
        ends = after - 1
        # A program that writes CRLF: the carriage return is no part of the message.
        last = np.frombuffer(data, np.uint8)[np.maximum(ends, 1) - 1]
        ends = ends - ((sizes > 0) & (last == 13))
        at = of.offsets[row] >> 3
        received = words[at + 3]
        known = received < np.uint64(2**62)
        self.undated += len(known) - int(np.count_nonzero(known))
        times = np.where(known, received, 0).astype(np.int64)
        times[~known] = NO_TIME
        block = Block(
            source=self.source,
            data=data,
            starts=starts,
            ends=ends,
            offsets=cited,
            lengths=extent,
            times=times,
            streams=of.streams[row],
            stream_table=self.table,
            first_record=self.source.records,
            cursors=Cursors(
                self.journal.head.series,
                self.boots,
                self._boots(of.offsets[row]),
                np.stack((words[at + 2], words[at + 4], received, words[at + 7])),
            ),
            fields=_by_record(of.fields, row),
            partials=_by_record(of.partials, row),
        )
        self.source.records += len(block)
        return block

    # -- what was met -------------------------------------------------------------------------------------------------

    def report(self) -> None:
        """Say what was met and lost."""
        head, tell = self.journal.head, self.source.tell
        for damage in self.journal.damage:
            tell("loss", damage.what, _REMEDY, damage.offset, damage.count)
        missing = head.entries - self.found
        tell("loss", f"of {head.entries} entries {missing} are gone", _REMEDY, None, max(missing, 0))
        tell("note", "entries are there that the header does not count yet", "", None, max(-missing, 0))
        if head.state == 1:
            tell("note", "it was being written, or was never closed: later entries are not in it")
        for package in sorted(self.journal.unpacked.missing):
            what = f"values are packed, and the library to unpack them ({package}) is not installed"
            tell("loss", what, f"pip install {package}, or export with journalctl -o export")
        tell("loss", "fields of entries cannot be read", _REMEDY, self.first_lost, self.lost_fields)
        tell("loss", "messages cannot be read", _REMEDY, self.first_lost, self.lost_messages)
        what = "the file's id does not fit the hashes of its values: those with a flipped bit are not told"
        tell("loss", what, _REMEDY, 24, int(self.hashed is False))
        what = "entries are of another boot than their fields say: their streams are not trusted"
        tell("loss", what, _REMEDY, self.first_lost, self.other_boots)
        tell("loss", "entries without a readable receive time", "", None, self.undated)
        what = "entries behind damage that the file's own lists do not name: their streams are not trusted"
        tell("loss", what, "", None, self.doubtful)
        limit = self.options.line_bytes
        tell("loss", f"messages were cut at {limit} bytes", "", None, self.cut)
        what = f"reading stopped: {self.journal.size} bytes had become {self.most}"
        tell("loss", what, "export with journalctl -o export", None, self.unread)
        tell("note", "entries without a message were passed over", "", None, self.silent)
        tell("note", "entries that a journal read before holds too were read once", "", None, self.copies)
        tell("note", PASSED_OVER, "", None, self.unasked_for)
