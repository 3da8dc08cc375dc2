"""Carry lines that only report, kept as columns, through the ownership machine without looking at each.

What such a line gets depends on its sort and on the state of its group. So a line of a sort goes through the machine as
any line does; while nothing changes, all others of that sort get the same. A line that changes something, and the first
of its group, becomes a line like others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .catalogue import Program
from .clocks import judge_columns
from .columns import Rows
from .line import Line
from .lives import Group, Owned, OwnedRows, Process, Rowset
from .records.block import Integers
from .scan import Found
from .writers import form_of, key_of

__all__ = [
    "Steady",
    "condensed",
    "last_order",
    "number_lines",
    "seen_twice",
    "set_clocked",
    "split_off",
    "suspects_of",
    "with_first_clocked",
]

BACK_US = 1_000_000
"""A clock that goes back so far without a beginning is another process's; threads mix their lines by less."""

WINDOW = 4096
"""So many rows are looked at together while their sorts get known."""


def number_lines(found: Iterable[Found]) -> None:
    """Give lines and rows their places among all, in the order of their records."""
    base = 0
    for one in found:
        records = np.array([line.record for line in one.lines], np.int64)
        places = base + np.arange(len(records))
        base += len(records)
        if one.rows is not None:
            places += np.searchsorted(one.rows.record, records)
            one.rows.base, one.rows.between = base - len(records), records
            base += len(one.rows)
        for line, order in zip(one.lines, places.tolist(), strict=True):
            line.order = order


_counted = np.arange(0)


def _all_of(rows: Rows) -> Integers:
    """The places of all rows: of every block a view of the same numbers."""
    global _counted  # noqa: PLW0603
    if len(_counted) < len(rows):
        _counted = np.arange(len(rows))
    return _counted[: len(rows)]


def split_off(
    rows: Sequence[Rows], key_of_sort: Callable[[int], object]
) -> tuple[list[Line], dict[object, list[Rowset]]]:
    """Divide rows by the group of their sort; the first of each group becomes a line, which names the group."""
    firsts: list[Line] = []
    parts: dict[object, list[Rowset]] = {}
    for one in rows:
        present = np.unique(one.sort)
        keys: dict[object, list[int]] = {}
        for sort in present.tolist():
            keys.setdefault(key_of_sort(sort), []).append(sort)
        for key, sorts in keys.items():
            at = _all_of(one) if len(keys) == 1 else np.flatnonzero(np.isin(one.sort, sorts))
            if key not in parts:
                parts[key] = []
                firsts.append(one.line(int(at[0])))
                at = at[1:]
            if len(at):
                parts[key].append(Rowset(one, at))
    return firsts, parts


def suspects_of(
    group: Group, programs: Mapping[str, Program], flags: Callable[[Line], tuple[bool, bool, bool]]
) -> set[int]:
    """Places of lines whose own elapsed clock contradicts the clock of their writer's other lines.

    Writers whose clock shows that several processes write as one are noted in `group.shared`.

    Args:
        group: With its lines and rows.
        programs: For their grammars.
        flags: Whether a line begins a process or a load, says ready, ends a load.
    """
    runs: dict[tuple[str, int | None, str | None, str], list[Line]] = {}
    for line in group.lines:
        elapsed = programs[line.pattern.program].grammar.clock == "elapsed"
        if elapsed and line.carried_by is None and line.clock_us is not None:
            runs.setdefault((*key_of(line), line.prefix.tag, form_of(line)), []).append(line)
    of_sort: dict[int, tuple[str, int | None, str | None, str] | None] = {}
    columns: dict[tuple[str, int | None, str | None, str], list[Rowset]] = {}
    for rows, at in group.parts:
        of_key: set[object] = set()
        keys: dict[tuple[str, int | None, str | None, str], list[int]] = {}
        for sort in np.unique(rows.sort[at]).tolist():
            if sort not in of_sort:
                one = rows.sorts[sort]
                pid = one.stream.pid if one.stream.trusted else None
                elapsed = programs[one.pattern.program].grammar.clock == "elapsed"
                of_sort[sort] = (one.pattern.program, pid, one.tag, one.form) if elapsed else None
            key = of_sort[sort]
            of_key.add(key)
            if key is not None:
                keys.setdefault(key, []).append(sort)
        for key, sorts in keys.items():
            own = at if len(keys) == 1 == len(of_key) else at[np.isin(rows.sort[at], sorts)]
            clocked = rows.clock[own] >= 0
            own = own if clocked.all() else own[clocked]
            if len(own):
                columns.setdefault(key, []).append(Rowset(rows, own))
    suspects: set[int] = set()
    for key in dict.fromkeys((*runs, *columns)):
        lines, more = runs.get(key, []), columns.get(key, [])
        if _goes_on(lines, more):
            continue
        orders = np.concatenate(
            [np.array([one.order for one in lines], np.int64), *(rows.order[at] for rows, at in more)]
        )
        clocks = np.concatenate(
            [np.array([one.clock_us for one in lines], np.int64), *(rows.clock[at] for rows, at in more)]
        )
        marks = np.zeros((3, len(orders)), np.bool_)
        for place, line in enumerate(lines):
            marks[:, place] = flags(line)
        if more:
            sorting = np.argsort(orders, kind="stable")
            orders, clocks, marks = orders[sorting], clocks[sorting], marks[:, sorting]
        back = (clocks[1:] < clocks[:-1] - BACK_US) & ~marks[0][1:]
        if back.any():
            group.restarted.add(key[:3])
        judged = judge_columns(clocks, *marks)
        if judged.shared and key[2] is None:
            group.shared.add(key[:2])
        suspects.update(orders[sorted(judged.foreign)].tolist() if judged.foreign else ())
    return suspects


def _goes_on(lines: Sequence[Line], more: Sequence[Rowset]) -> bool:
    """Whether a clock never goes back, so that there is nothing to judge."""
    if not more:
        return False
    left = iter([*lines, None])
    line = next(left)
    latest = -1
    for rows, at in more:
        orders, clocks = rows.order[at], rows.clock[at]
        among: list[Line] = []
        while line is not None and line.order < orders[-1]:
            among.append(line)
            line = next(left)
        if among:
            places = np.searchsorted(orders, [one.order for one in among])
            clocks = np.insert(clocks, places, [one.clock_us or 0 for one in among])
        if clocks[0] < latest or (clocks[1:] < clocks[:-1]).any():
            return False
        latest = int(clocks[-1])
    while line is not None:
        if (line.clock_us or 0) < latest:
            return False
        latest, line = line.clock_us or 0, next(left)
    return True


def seen_twice(names: Iterable[str]) -> bool:
    """Whether any of some names comes more than once."""
    return any(count > 1 for count in Counter(names).values())


def condensed(group: Group) -> list[Line]:
    """All lines of a group that can tell something: of rows alike between two lines, the first and the last."""
    orders = np.array([line.order for line in group.lines], np.int64)
    found = list(group.lines)
    for rows, at in group.parts:
        stretch = np.searchsorted(orders, rows.order[at])
        keys = stretch * len(rows.sorts) + rows.sort[at]
        _, first = np.unique(keys, return_index=True)
        _, last = np.unique(keys[::-1], return_index=True)
        places = np.unique(np.concatenate((first, len(at) - 1 - last)))
        found += [rows.line(place) for place in at[places].tolist()]
    return sorted(found, key=lambda line: line.order)


def last_order(group: Group) -> int:
    """The place of the last line of a group."""
    return max([line.order for line in group.lines[-1:]] + [int(rows.order[at[-1]]) for rows, at in group.parts[-1:]])


ANY = "\0"
"""Stands for all tags, and for none."""


def _clocked(group: Group, first: int, last: int, tag: str | None) -> Iterator[Rowset]:
    """Rows between two places, both included, that say how long their writer has run."""
    for rows, at in group.parts:
        chosen = (rows.order[at] >= first) & (rows.order[at] <= last) & (rows.clock[at] >= 0)
        if tag != ANY:
            sorts = [sort for sort in np.unique(rows.sort[at]).tolist() if rows.sorts[sort].tag == tag]
            chosen &= np.isin(rows.sort[at], sorts)
        if chosen.any():
            yield Rowset(rows, at[chosen])


def with_first_clocked(lines: list[Line], group: Group, first: int, last: int, tag: str | None = ANY) -> list[Line]:
    """Some lines of a group, with the first of such rows among them."""
    for rows, at in _clocked(group, first, last, tag):
        return sorted([*lines, rows.line(int(at[0]))], key=lambda line: line.order)
    return lines


def set_clocked(group: Group, first: int, last: int, zero_us: int, tag: str | None = ANY) -> None:
    """Give all such rows the times that their writer's clock means."""
    for rows, at in _clocked(group, first, last, tag):
        rows.time = rows.time.copy()
        rows.time[at] = zero_us + rows.clock[at]


class Steady:
    """What rows get while the machine walks a group.

    Args:
        group: The group.
        owned: What the machine has found, to which it adds with each line.
        walk: Sends one line through the machine.
        owners: What rows got, in all groups; their owners are numbers of it.
        given: Owners of the rows of each block.
    """

    def __init__(
        self,
        group: Group,
        owned: list[Owned],
        walk: Callable[[Line], None],
        owners: list[Owned],
        given: Mapping[int, OwnedRows],
    ) -> None:
        self._group, self._owned, self._walk, self._owners, self._given = group, owned, walk, owners, given
        self._known = np.empty(0, np.int32)
        self._numbers: dict[tuple[object, ...], int] = {}
        self.became_lines: list[Line] = []

    def forget(self) -> None:
        """Something has changed."""
        self._known[:] = -1

    def stretches(self) -> Iterator[tuple[int, Callable[[int], None]]]:
        """For each part of the group the place of its last row, and what walks its rows up to a place."""
        for rows, at in self._group.parts:
            if len(self._known) < len(rows.sorts):
                self._known = np.full(len(rows.sorts), -1, np.int32)
            done = 0
            orders = rows.order[at]

            def up_to(order: int, rows: Rows = rows, at: Integers = at, orders: Integers = orders) -> None:
                nonlocal done
                end = int(np.searchsorted(orders, order))
                if end > done:
                    self._stretch(rows, at[done:end])
                    done = end

            yield int(orders[-1]), up_to

    def _stretch(self, rows: Rows, at: Integers) -> None:
        given = self._given[id(rows)].owner
        begin = 0
        while begin < len(at):
            window = at[begin : begin + WINDOW]
            owners = self._known[rows.sort[window]]
            unknown = np.flatnonzero(owners < 0)
            end = int(unknown[0]) if len(unknown) else len(window)
            if end:
                given[window[:end]] = owners[:end]
                self._last_words(rows, window[:end], owners[:end])
            begin += end
            if end < len(window):
                self._ask(rows, int(window[end]), given)
                begin += 1

    def _ask(self, rows: Rows, place: int, given: npt.NDArray[np.int32]) -> None:
        """Send one row through the machine as a line."""
        line = rows.line(place)
        before = self._group.changes
        self._walk(line)
        if self._group.changes != before:
            self.forget()
            self.became_lines.append(line)
            return
        owner = self._owned.pop()
        same = (
            *map(id, (owner.process, owner.load, *owner.candidates)),
            *(owner.part, owner.phase, owner.scope, owner.rule, owner.suspect),
        )
        number = self._numbers.setdefault(same, len(self._owners))
        if number == len(self._owners):
            self._owners.append(owner)
        given[place] = self._known[rows.sort[place]] = number

    def _last_words(self, rows: Rows, at: Integers, owners: npt.NDArray[np.int32]) -> None:
        """Each process has said its last line, and read its clock last, in these rows."""
        last: dict[int, tuple[Process, int]] = {}
        clocked: dict[int, tuple[Process, int]] = {}
        clocks = rows.clock[at]
        for owner in np.unique(owners).tolist():
            process = self._owners[owner].process
            if process is None:
                continue
            own = np.flatnonzero(owners == owner)
            timed = own[clocks[own] >= 0]
            place = int(own[-1])
            if id(process) not in last or last[id(process)][1] < place:
                last[id(process)] = process, place
            if len(timed) and (id(process) not in clocked or clocked[id(process)][1] < timed[-1]):
                clocked[id(process)] = process, int(timed[-1])
        for process, place in last.values():
            process.last = rows.line(int(at[place]))
        for process, place in clocked.values():
            process.last_clock = int(clocks[place])
