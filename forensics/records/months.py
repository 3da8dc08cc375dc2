"""The names of months that a journal prints in its reader's language, as glibc abbreviates them (`%b`).

`journalctl -o short` prints `avril 23`, `6月 26` or `Haz 27`, whatever language its programs speak. Letters' case and
a last dot changed between versions of glibc, so neither counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

__all__ = ["DAY", "DOUBTFUL", "KNOWN", "MONTH", "meanings", "plain"]

DAY = rb"[A-Za-z\x80-\xff]{1,14}\.?"
"""A weekday, in any language."""
MONTH = rb" ?(?P<month>[A-Za-z\x80-\xff]{2,24}\.?|\d{1,2}(?:\xe6\x9c\x88|\xec\x9b\x94))"
"""A month, in any language: a name, or a number with the sign for month of Chinese and Japanese, or of Korean."""

_TABLE = """
    jan feb mar apr may jun jul aug sep oct nov dec
    jan feb mär apr mai jun jul aug sep okt nov dez
    jän feb mär apr mai jun jul aug sep okt nov dez
    janv févr mars avril mai juin juil août sept oct nov déc
    jan fév mar avr mai jun jui aoû sep oct nov déc
    ene feb mar abr may jun jul ago sep oct nov dic
    gen feb mar apr mag giu lug ago set ott nov dic
    jan fev mar abr mai jun jul ago set out nov dez
    xan feb mar abr mai xuñ xul ago set out nov dec
    gen febr març abr maig juny jul ag set oct nov des
    jan feb mrt apr mei jun jul aug sep okt nov dec
    jan feb mar apr maj jun jul aug sep okt nov dec
    jan feb mars april mai juni juli aug sep okt nov des
    jan feb mar apr maí jún júl ágú sep okt nóv des
    tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu
    jaan veebr märts apr mai juuni juuli aug sept okt nov dets
    jan feb mar apr mai jūn jūl aug sep okt nov dec
    saus vas kov bal geg birž liep rugp rugs spal lapkr gruod
    sty lut mar kwi maj cze lip sie wrz paź lis gru
    led úno bře dub kvě čen čec srp zář říj lis pro
    jan feb mar apr máj jún júl aug sep okt nov dec
    jan febr márc ápr máj jún júl aug szept okt nov dec
    jan feb mar apr maj jun jul avg sep okt nov dec
    sij velj ožu tra svi lip srp kol ruj lis stu pro
    ian feb mar apr mai iun iul aug sep oct nov dec
    яну фев мар апр май юни юли авг сеп окт ное дек
    янв фев мар апр мая июн июл авг сен окт ноя дек
    янв фев мар апр май июн июл авг сен окт ноя дек
    січ лют бер кві тра чер лип сер вер жов лис гру
    јан феб мар апр мај јун јул авг сеп окт нов дец
    ιαν φεβ μαρ απρ μαΐ ιουν ιουλ αυγ σεπ οκτ νοε δεκ
    ιαν φεβ μάρ απρ μάι ιούν ιούλ αύγ σεπ οκτ νοέ δεκ
    oca şub mar nis may haz tem ağu eyl eki kas ara
    ינו פבר מרץ אפר מאי יונ יול אוג ספט אוק נוב דצמ
    jan feb mar apr mei jun jul agu sep okt nov des
    1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月
    1월 2월 3월 4월 5월 6월 7월 8월 9월 10월 11월 12월
"""
_LANGUAGES = [{name: number for number, name in enumerate(row.split(), 1)} for row in _TABLE.strip().splitlines()]
_ALL = {name: {row[name] for row in _LANGUAGES if name in row} for row in _LANGUAGES for name in row}

KNOWN = {name: min(numbers) for name, numbers in _ALL.items() if len(numbers) == 1}
"""The names that mean one month, whatever the language."""
DOUBTFUL = frozenset(_ALL) - frozenset(KNOWN)
"""Those that mean another month in another language: `lis` is November in Poland and October in Croatia."""


@lru_cache(maxsize=256)
def plain(printed: bytes) -> str:
    """A name as this module knows it."""
    return printed.decode("utf-8", "replace").rstrip(".").casefold()


def meanings(names: Iterable[str]) -> list[dict[str, int]]:
    """What the doubtful names of one text can mean: an answer for each reading that a language allows."""
    met = frozenset(names)
    found: list[dict[str, int]] = []
    for row in _LANGUAGES:
        reading = {name: row[name] for name in sorted(met & DOUBTFUL) if name in row}
        if met <= row.keys() and reading not in found:
            found.append(reading)
    return found
