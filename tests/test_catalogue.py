"""Every sample of every pattern, and each way a catalogue can be wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from forensics.catalogue import Pattern, Program, load_catalogue, load_programs
from forensics.errors import CatalogueError
from forensics.units import to_base

CATALOGUE = load_catalogue()
SAMPLES = [
    pytest.param(program, pattern, sample, id=f"{program.name}: {pattern.name} {number}")
    for program in CATALOGUE.programs
    for pattern in program.patterns
    for number, sample in enumerate(pattern.samples)
]
NEVERS = [
    pytest.param(program, pattern, line, id=f"{program.name}: {pattern.name} never {number}")
    for program in CATALOGUE.programs
    for pattern in program.patterns
    for number, line in enumerate(pattern.nevers)
]


def read(program: Program, pattern: Pattern, line: str, record: dict[str, str] | None = None) -> Any:
    prefix = program.grammar.split(line)
    return None if prefix is None else pattern.match(prefix.message, record)


@pytest.mark.parametrize(("program", "pattern", "sample"), SAMPLES)
def test_a_sample_gives_its_event(program: Program, pattern: Pattern, sample: dict[str, Any]) -> None:
    matched = read(program, pattern, sample["line"], sample.get("record"))
    assert matched is not None, f"the pattern does not match its own sample: {sample['line']}"
    got = {name: value for name, value in asdict(matched.event).items() if value is not None}
    expected = dict(sample.get("expect", {}))
    defaults = {name: getattr(pattern.event, name, None) for name in got}
    assert {name: value for name, value in got.items() if name in expected or value != defaults[name]} == expected


@pytest.mark.parametrize(("program", "pattern", "sample"), SAMPLES)
def test_no_other_pattern_of_the_program_takes_the_sample(
    program: Program, pattern: Pattern, sample: dict[str, Any]
) -> None:
    takers = [
        other.name
        for other in program.patterns
        if other is not pattern and other.contains in sample["line"] and read(program, other, sample["line"])
    ]
    assert takers == []


@pytest.mark.parametrize(("program", "pattern", "line"), NEVERS)
def test_a_counter_sample_does_not_match(program: Program, pattern: Pattern, line: str) -> None:
    assert read(program, pattern, line) is None


@pytest.mark.parametrize(
    "pattern",
    [pytest.param(pattern, id=f"{pattern.program}: {pattern.name}") for pattern in CATALOGUE.patterns],
)
def test_every_pattern_has_a_counter_sample(pattern: Pattern) -> None:
    assert pattern.nevers


GOOD = """
program = "toy"
title = "Toy"
[[pattern]]
name = "weights"
event = "BufferAllocated"
const = { kind = "weights" }
contains = "weights ="
regex = '^(?P<device>\\S+) weights = (?P<size_bytes>[\\d.]+) MiB$'
unit.size_bytes = "MiB"
effect.item = { combine = "add", per = "part" }
[[pattern.sample]]
line = "CUDA0 weights = 1.50 MiB"
expect = { device = "CUDA0", kind = "weights", size_bytes = 1572864 }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('event = "BufferAllocated"', 'event = "Nothing"', "unknown event 'Nothing'"),
        ("(?P<device>", "(?P<card>", "group 'card' is no field of BufferAllocated"),
        ("[[pattern.sample]]", "[[pattern.never]]", "no sample"),
        ('line = "CUDA0 weights', 'line = "CUDA0 Weights', "does not contain the literal 'weights ='"),
        ('"MiB"', '"mibs"', "unknown unit 'mibs'"),
        ("regex = '^", "regex = '", "must be anchored with ^"),
        ('combine = "add"', 'combine = "sum"', "item.combine cannot be 'sum'"),
        ("effect.item", "effect.items", "unknown effect 'items'"),
        ('per = "part"', 'every = "part"', "has no argument 'every'"),
        ('kind = "weights"', 'kind = "wishes"', "unknown kind 'wishes'"),
        ("contains", "contain", "unknown key 'contain'"),
        ('name = "weights"', "", "a pattern has no name"),
        ("(?P<device>\\S+)", "(?P<device>\\S+", "bad regular expression"),
        ('title = "Toy"', "", "'title' is missing"),
        ('program = "toy"', "program = ", "not valid TOML"),
        ('program = "toy"', 'program = "toy"\nwriters = "kernel"', "'writers' is a list of names"),
        ('unit.size_bytes = "MiB"', 'unit.size_bytes = { group = "unit" }', "in 'unit', which is no captured key"),
        ('unit.size_bytes = "MiB"', 'unit.size_bytes = { from = "unit" }', "is a name or { group"),
        ('unit.size_bytes = "MiB"', 'unit.device_bytes = "MiB"', "'device_bytes', which is no field"),
    ],
)
def test_a_wrong_catalogue_is_refused_by_name(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CatalogueError, match=r"toy\.toml") as caught:
        load_programs([("toy.toml", GOOD.replace(old, new, 1))])
    assert message in str(caught.value)


def test_a_right_catalogue_gives_its_event_with_the_rounding_of_the_log() -> None:
    (program,) = load_programs([("toy.toml", GOOD)])
    matched = program.patterns[0].match("CUDA0 weights = 1.50 MiB")
    assert matched is not None
    assert matched.bounds == {"size_bytes": 5243}


WITH_UNIT = GOOD.replace("MiB$'", "(?P<unit>\\S+)$'").replace(
    'unit.size_bytes = "MiB"', 'unit.size_bytes = { group = "unit" }\nkeys = ["unit"]'
)


@pytest.mark.parametrize(
    ("line", "size", "bound"),
    [
        ("CUDA0 weights = 8.1 GiB", 8697308774, 53687091),
        ("CUDA0 weights = 787.5 MiB", 825753600, 52429),
        ("CUDA0 weights = 0 B", 0, None),
        # An unsigned underflow, as a scheduler printed it: 2^34 GiB less 0.2.
        ("CUDA0 weights = 17179869183.8 GiB", -214748365, 53687091),
    ],
)
def test_a_unit_may_be_taken_from_the_line(line: str, size: int, bound: int | None) -> None:
    (program,) = load_programs([("toy.toml", WITH_UNIT)])
    matched = program.patterns[0].match(line)
    assert matched is not None
    assert (asdict(matched.event)["size_bytes"], matched.bounds.get("size_bytes")) == (size, bound)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("65.352µs", 0.000065352), ("351.112293ms", 0.351112293), ("7.94s", 7.94), ("2m23.5s", 143.5), ("1h2m3s", 3723.0)],
)
def test_a_duration_carries_its_units(text: str, seconds: float) -> None:
    assert float(to_base(text, "duration")[0]) == seconds


@pytest.mark.parametrize("text", ["", "12", "1m 3", "5 parsecs", "1mm"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        to_base(text, "duration")


def test_an_unknown_unit_in_the_line_is_no_match() -> None:
    (program,) = load_programs([("toy.toml", WITH_UNIT)])
    assert program.patterns[0].match("CUDA0 weights = 8.1 parsecs") is None
