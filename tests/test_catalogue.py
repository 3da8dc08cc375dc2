"""Every sample of every pattern, and each way a catalogue can be wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from forensics.catalogue import Pattern, Prefix, Program, load_catalogue, load_programs
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


SHARED = {
    # Several engines stand on the same libraries, which print the same in each: a torch without memory, a web server.
    ("sglang", "listening", "vllm"),
    ("sglang", "out_of_memory", "vllm"),
    ("vllm", "out_of_memory", "sglang"),
    ("vllm", "exception", "sglang"),
    # ggml's, which a daemon that stands on it prints beside its own.
    ("llama.cpp", "cuda_devices_found", "pflash"),
    ("llama.cpp", "device_with_ordinal", "pflash"),
    ("llama.cpp", "allocation_failed", "pflash"),
    ("llama.cpp", "buffer_failed", "pflash"),
}


@pytest.mark.parametrize(
    "program", [pytest.param(program, id=program.name) for program in CATALOGUE.programs if program.patterns]
)
def test_no_line_of_another_program_is_taken(program: Program) -> None:
    takers = {
        (program.name, pattern.name, other.name)
        for other in CATALOGUE.programs
        if other is not program
        for sample in (sample for one in other.patterns for sample in one.samples)
        for pattern in program.patterns
        if pattern.contains in sample["line"] and read(program, pattern, sample["line"])
    }
    assert takers == {one for one in SHARED if one[0] == program.name}


FOREIGN = ("whisper_backend_init: {}", '10.0.0.7 - - "GET /{} HTTP/1.1" 404', "user wrote: {}")
"""Another component, another program, a client: what a line says is not theirs to say."""


@pytest.mark.parametrize(
    "pattern", [pytest.param(pattern, id=f"{pattern.program}: {pattern.name}") for pattern in CATALOGUE.patterns]
)
def test_a_sample_in_another_components_line_is_not_taken(pattern: Pattern) -> None:
    program = CATALOGUE.program(pattern.program)
    for sample in pattern.samples:
        prefix = program.grammar.split(sample["line"])
        assert prefix is not None
        assert [form for form in FOREIGN if read(program, pattern, form.format(prefix.message))] == []


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
        ('program = "toy"', "", "the key 'program' is missing"),
        ('program = "toy"', 'program = "toy"\ncolour = 1', "unknown key 'colour'"),
        ("[[pattern]]", "[grammar]\nregex = '(?P<rest>.*)'\n[[pattern]]", "the regex needs a group 'message'"),
        ("[[pattern]]", "[grammar]\ncolour = 1\n[[pattern]]", "grammar: unknown key 'colour'"),
        ("[[pattern]]", "[[probe]]\npath = '/x'\n[[pattern]]", "a probe has the keys path, ports and what"),
        ("[[pattern]]", "[[probe]]\npath = 'x y'\nports = [1]\nwhat = 'x'\n[[pattern]]", "the path of a probe is"),
        ("[[pattern]]", "[[probe]]\npath = '/x'\nports = [0]\nwhat = 'x'\n[[pattern]]", "a list of port numbers"),
        ('contains = "weights ="', 'contains = ""', "'contains' is missing"),
        ('const = { kind = "weights" }', 'const = { colour = "red" }', "constant for 'colour', which is no field"),
        ("(?P<size_bytes>[\\d.]+)", "[\\d.]+", "BufferAllocated needs 'size_bytes'"),
        ("effect.item", 'possible_in = ["sometimes"]\neffect.item', "possible_in: unknown phase 'sometimes'"),
        ("effect.item = {", 'effect.carrier = { head = "x" }\neffect.item = {', "says what line closes it: close"),
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


JSON_FORM = """
[grammar]
regex = '(?s)^(?:\\[(?P<port>\\d+)\\] )?(?:(?P<clock>\\d+\\.\\d+) )?(?:(?P<level>[IE]) )?(?P<message>.*)$'
tag = "port"
clock = "elapsed"
json = { when = "type", is = "log", message = "msg", clock = "time", level = "level", levels = { info = "I" } }
[[pattern]]
"""
WITH_JSON = GOOD.replace("[[pattern]]", JSON_FORM, 1)


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        pytest.param(
            r'{"type":"log","time":671,"level":"info","msg":"a \"b\"\nc\n"}',
            Prefix('a "b"\nc', clock=("671",), level="I", present=True),
            id="unescaped, without the newline that ended it",
        ),
        pytest.param("0.5 I text", Prefix("text", clock=("0.5",), level="I", present=True), id="the text form still"),
        pytest.param(
            r'{"type":"log","time":9,"level":"none","msg":"[8081] {\"type\":\"log\",\"time\":7,\"level\":\"info\",'
            r'\"msg\":\"weights\\n\"}\n"}',
            Prefix("weights", tag="8081", clock=("7",), level="I", present=True),
            id="a relayed line in JSON, both in JSON",
        ),
        pytest.param(
            r'{"type":"log","time":9,"level":"none","msg":"[8081] 0.7 I weights\n"}',
            Prefix("weights", tag="8081", clock=("0.7",), level="I", present=True),
            id="a relayed line in text",
        ),
        pytest.param(
            r'[8081] {"type":"log","time":7,"level":"info","msg":"weights\n"}',
            Prefix("weights", tag="8081", clock=("7",), level="I", present=True),
            id="a relayed line in JSON, relayed as text",
        ),
        pytest.param(
            r'{"type":"log","time":9,"level":"info","msg":"[8081] 0.7 I weights\n"}',
            Prefix("[8081] 0.7 I weights", clock=("9",), level="I", present=True),
            id="a message with a level that looks relayed is not",
        ),
        pytest.param(
            r'{"type":"log","msg":"half \ud800"}',
            Prefix("half ?", present=True),
            id="half a surrogate pair is replaced",
        ),
        pytest.param('{"type":"log","time":9', Prefix('{"type":"log","time":9'), id="a torn object is text"),
        pytest.param('{"type":"other","msg":"x"}', Prefix('{"type":"other","msg":"x"}'), id="another type is text"),
        pytest.param('{"type":"log","msg":7}', Prefix('{"type":"log","msg":7}'), id="a message that is no text"),
    ],
)
def test_a_line_in_the_json_form_gives_what_its_text_form_would(line: str, prefix: Prefix) -> None:
    (program,) = load_programs([("toy.toml", WITH_JSON)])
    assert program.grammar.split(line) == prefix


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('message = "msg", ', "", "json: the key 'message' is missing"),
        ("when =", "if =", "json: the key 'when' is missing"),
        ("level =", "grade =", "json: unknown key 'grade'"),
        ('contains = "weights ="', "contains = 'weights \"a\"'", "would be missed in the JSON form"),
    ],
)
def test_a_wrong_json_form_is_refused_by_name(old: str, new: str, message: str) -> None:
    assert old in WITH_JSON
    with pytest.raises(CatalogueError, match=r"toy\.toml") as caught:
        load_programs([("toy.toml", WITH_JSON.replace(old, new, 1))])
    assert message in str(caught.value)


UNIT_BY_GROUP = GOOD.replace("MiB$'", "(?P<size_unit>\\S+)$'").replace(
    'unit.size_bytes = "MiB"', 'unit.size_bytes = { group = "size_unit" }\nkeys = ["size_unit"]'
)


@pytest.mark.parametrize(
    ("line", "size_bytes", "bound"),
    [
        ("CUDA0 weights = 1.50 MiB", 1572864, 5243),
        ("CUDA0 weights = 1.50 GiB", 1610612736, 5368709),
        ("CUDA0 weights = 512 bytes", 512, None),
    ],
)
def test_a_line_may_name_the_unit_of_each_number(line: str, size_bytes: int, bound: int | None) -> None:
    (program,) = load_programs([("toy.toml", UNIT_BY_GROUP)])
    matched = program.patterns[0].match(line)
    assert matched is not None
    assert matched.event.size_bytes == size_bytes  # type: ignore[attr-defined]
    assert matched.bounds.get("size_bytes") == bound


def test_a_line_with_an_unknown_unit_is_not_read() -> None:
    (program,) = load_programs([("toy.toml", UNIT_BY_GROUP)])
    assert program.patterns[0].match("CUDA0 weights = 1.50 parsecs") is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{ group = "size_unit" }', '{ group = "other_unit" }', "comes from the group 'other_unit'"),
        ('{ group = "size_unit" }', "{ column = 1 }", "the unit of 'size_bytes' is a name or"),
        ('unit.size_bytes = { group = "size_unit" }', 'unit.sizes = { group = "size_unit" }', "no field of"),
        ('keys = ["size_unit"]', "", "group 'size_unit' is no field"),
    ],
)
def test_a_wrong_unit_by_group_is_refused_by_name(old: str, new: str, message: str) -> None:
    assert old in UNIT_BY_GROUP
    with pytest.raises(CatalogueError, match=r"toy\.toml") as caught:
        load_programs([("toy.toml", UNIT_BY_GROUP.replace(old, new, 1))])
    assert message in str(caught.value)


def test_a_grammar_may_name_its_writer() -> None:
    grammar = "[grammar]\nregex = '^(?:\\((?P<who>\\w+)\\) )?(?P<message>.*)$'\nwho = \"who\"\n[[pattern]]"
    (program,) = load_programs([("toy.toml", GOOD.replace("[[pattern]]", grammar, 1))])
    prefix = program.grammar.split("(Worker_TP0) CUDA0 weights = 1.50 MiB")
    assert prefix is not None
    assert (prefix.who, prefix.message) == ("Worker_TP0", "CUDA0 weights = 1.50 MiB")


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
def test_a_wrapped_negative_size_is_read_as_negative(line: str, size: int, bound: int | None) -> None:
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


def test_a_dropped_zero_widens_no_bound() -> None:
    (program,) = load_programs([("toy.toml", GOOD.replace("unit.size_bytes", "places = 2\nunit.size_bytes"))])
    bounds = [program.patterns[0].match(f"CUDA0 weights = {text} MiB") for text in ("1.5", "1.50", "1.500")]
    assert [one.bounds["size_bytes"] for one in bounds if one is not None] == [5243, 5243, 524]


SUM = GOOD.replace("(?P<size_bytes>[\\d.]+) MiB$'", "(?P<k>[\\d.]+) MiB(?: \\+ (?P<v>[\\d.]+) MiB)?$'").replace(
    "unit.size_bytes", 'keys = ["k", "v"]\nsum.size_bytes = ["k", "v"]\nunit.size_bytes'
)


@pytest.mark.parametrize(
    ("line", "size_bytes", "bound"),
    [
        ("CUDA0 weights = 1.50 MiB + 0.50 MiB", 2097152, 10486),
        ("CUDA0 weights = 1.50 MiB", 1572864, 5243),
    ],
)
def test_a_field_may_be_the_sum_of_what_a_line_lists(line: str, size_bytes: int, bound: int) -> None:
    (program,) = load_programs([("toy.toml", SUM)])
    matched = program.patterns[0].match(line)
    assert matched is not None
    assert matched.event.size_bytes == size_bytes  # type: ignore[attr-defined]
    assert matched.bounds == {"size_bytes": bound}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('sum.size_bytes = ["k", "v"]', 'sum.sizes = ["k", "v"]', "sum for 'sizes', which is no field"),
        ('sum.size_bytes = ["k", "v"]', 'sum.size_bytes = ["k", "w"]', "has the group 'w'"),
    ],
)
def test_a_wrong_sum_is_refused_by_name(old: str, new: str, message: str) -> None:
    assert old in SUM
    with pytest.raises(CatalogueError, match=r"toy\.toml") as caught:
        load_programs([("toy.toml", SUM.replace(old, new, 1))])
    assert message in str(caught.value)


def test_a_grammar_may_name_the_device_of_its_writer() -> None:
    grammar = "[grammar]\nregex = '^(?:\\(TP(?P<rank>\\d+)\\) )?(?P<message>.*)$'\ndevice = \"rank\"\n[[pattern]]"
    (program,) = load_programs([("toy.toml", GOOD.replace("[[pattern]]", grammar, 1))])
    prefix = program.grammar.split("(TP3) CUDA0 weights = 1.50 MiB")
    assert prefix is not None
    assert prefix.device == "3"


def test_a_program_that_two_files_describe_is_refused_and_one_that_is_not_there_is_no_program() -> None:
    with pytest.raises(CatalogueError, match="by a file without a grammar"):
        load_programs([("toy.toml", GOOD), ("other.toml", GOOD.replace("[[pattern]]", "[grammar]\n[[pattern]]", 1))])
    with pytest.raises(KeyError, match="nothing"):
        CATALOGUE.program("nothing")


@pytest.mark.parametrize(
    ("value", "read"),
    [("yes", True), ("0", False), ("1e999", None), ("0.25", 0.25)],
    ids=["true", "false", "too-large", "number"],
)
def test_a_value_is_read_as_its_field_is_or_the_line_is_not_read(value: str, read: float | bool | None) -> None:
    name = "active" if isinstance(read, bool) else "ratio"
    text = f"""
program = "toy"
title = "Toy"
[[pattern]]
name = "one"
event = "{"SpeculationConfigured" if isinstance(read, bool) else "DraftAccepted"}"
contains = "value"
regex = '^value (?P<{name}>\\S+)$'
[[pattern.sample]]
line = "value 1"
"""
    (program,) = load_programs([("toy.toml", text)])
    matched = program.patterns[0].match(f"value {value}")
    assert (None if matched is None else getattr(matched.event, name)) == read
