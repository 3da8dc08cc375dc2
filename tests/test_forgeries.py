"""A text that a server prints as it is may hold lines that look like the server's own: none of them is believed.

Each case puts one attack into one place where a llama-server prints foreign text (a model file's metadata or name, a
request), and compares the owners of all true lines, and the ledger, with those of the same log with a harmless text.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opened import opened, rows
from weaving import log_lines, own

from forensics.lives import Load, Mark
from forensics.scope import Ownership

MIB = 1024 * 1024
FIXTURES = Path(__file__).parent.parent / "fixtures"
FORGED_MIB = (99999, 88888, 77777)
PREFIX = re.compile(r"\d+\.\d\d\.\d{3}\.\d{3} [DIWE] ")

BUFFERS = """load_tensors:        CUDA0 model buffer size = 99999.00 MiB
load_tensors: offloaded 99/99 layers to GPU
llama_kv_cache:      CUDA0 KV buffer size = 77777.00 MiB"""
RESERVATION = """sched_reserve: reserving ...
sched_reserve:      CUDA0 compute buffer size = 88888.00 MiB
sched_reserve: reserve took 2.00 ms, sched copies = 1"""
WAKE = """srv  handle_sleep: server is entering sleeping state
srv  handle_sleep: server is exiting sleeping state
srv    load_model: loading model '/srv/models/other.gguf'
"""
START = """srv  llama_server: initializing ...
cmn  common_param: common_params_print_info: build 11434 (unknown) with GNU 12.2.0 for Linux x86_64
srv    load_model: loading model '/srv/models/other.gguf'
"""
SERVES = """
srv  llama_server: model loaded
srv  llama_server: listening on http://127.0.0.1:8080
srv  update_slots: all slots are idle"""
PAYLOADS = {
    "buffers": BUFFERS,
    "reservation": RESERVATION,
    "another load": "srv    load_model: loading model '/srv/models/other.gguf'\n" + BUFFERS,
    "sleep, wake and load": WAKE + BUFFERS + SERVES,
    "a process that starts": START + BUFFERS + SERVES,
    "an end": (
        "srv    operator(): operator(): cleaning up before exit...\n"
        "srv  llama_server: exiting due to model loading error"
    ),
    "a crash": "/src/ggml/src/ggml-cuda/ggml-cuda.cu:103: CUDA error\nGGML_ASSERT(false) failed",
    "a router's lines": "srv          load: spawning server instance with name=other on port 5555\n[5555] " + BUFFERS,
    "a supervisor's lines": (
        'time=2026-11-30T11:44:45.769Z level=INFO source=llama_server.go:611 msg="starting llama-server" '
        'cmd="/usr/lib/ollama/llama-server --model /m/blobs/sha256-a1 --port 42787"\n'
        'time=2026-11-30T11:44:46.562Z level=INFO source=sched.go:739 msg="loaded runners" count=0\n' + BUFFERS
    ),
    "a service manager's lines": (
        "llama-server.service: Main process exited, code=killed, status=9/KILL\nOut of memory: Killed process 700 "
        "(llama-server) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0\n" + BUFFERS
    ),
}


class Carrier(NamedTuple):
    """A place where text is printed: the true line it stands before, what is around it, how a text imitates its end."""

    before: str
    around: str
    lie: str


LOADING = "load_tensors: loading model tensors"
SERVING = "slot launch_slot_: "
CARRIERS = {
    "special token": Carrier(LOADING, "print_info: LF token              = 198 '{}'", "'"),
    "control token": Carrier(
        LOADING, "load: control token: 128247 '{}' is not marked as EOG", "' is not marked as EOG"
    ),
    "vocabulary": Carrier(LOADING, "load:   - 107 ('{}')", "')"),
    "tensor name": Carrier(
        LOADING, "model has unused tensor {} (size = 4096 bytes) -- ignoring", " (size = 4 bytes) -- ignoring"
    ),
    "chat template": Carrier(LOADING, "srv          init: init: chat template, example_format: '{}'", "'"),
    "chat template, analysed": Carrier(
        LOADING,
        "common_chat_templates_apply_jinja: using differential autoparser\nuser_msg_start: {}\nreasoning_end: ''\n"
        "common_chat_templates_apply_jinja: generated parser:\nparser generation prompt: <|im_start|>assistant\n"
        "srv          init: init: chat template, thinking = 0",
        "\nsrv          init: init: chat template, thinking = 0",
    ),
    "name of a LoRA file": Carrier(
        LOADING, "llama_adapter_lora_init_impl: loading lora adapter from '{}' ...", "' ..."
    ),
    "name of a draft file": Carrier(
        "srv    load_model: initializing, n_slots", "srv    load_model: loading draft model '{}'", "'"
    ),
    "name of a projector file": Carrier(
        "srv    load_model: initializing, n_slots", "srv    load_model: loaded multimodal model, '{}'", "'"
    ),
    "tool type": Carrier(SERVING, "srv  server_chat_: unsupported Responses tool type '{}' skipped", "' skipped"),
    "system prompt": Carrier(
        SERVING, "srv  server_chat_: anthropic string not as expected: {}", "\nsrv  update_slots: all slots are idle"
    ),
    "path": Carrier(SERVING, "srv  log_server_r: done request: GET /{} 127.0.0.1 404", " 127.0.0.1 200"),
    "body": Carrier(
        SERVING,
        "srv  log_server_r: request:  {}\nsrv  log_server_r: response: ok",
        "\nsrv  log_server_r: response: {}",
    ),
    "conversation": Carrier(SERVING, "srv  server_strea: conv_id={} (empty=0)", " (empty=0)"),
    "grammar": Carrier(
        SERVING,
        "parse: error parsing grammar: {}\nllama_grammar_init_impl: failed to parse grammar",
        "\nllama_grammar_init_impl: failed to parse grammar",
    ),
    "generated token": Carrier(
        SERVING,
        "slot process_toke: id  0 | task 44 | n_gen = 40, n_remaining = 0, next token:   198 '{}'",
        "'",
    ),
    "prompt token": Carrier(SERVING, "slot update_slots: id  0 | task 118 | prompt token   4:    271 '{}'", "'"),
    "draft token": Carrier(SERVING, " - seq_id 3, draft candidate   0, pos   0:    271 (   0.950) '{}'", "'"),
}
FORMS = {
    "no prefix": ("llama-no-prefix-q8.log", False),
    "prefix": ("llama-one-card.log", False),
    "prefix, copied": ("llama-one-card.log", True),
}
"""Which log a text stands in, and whether it copies the prefix of the line that carries it."""


class Log(NamedTuple):
    """The lines of a log, and which of them the server itself wrote and no text."""

    lines: list[str]
    mine: list[bool]


def attacked(log: str, carrier: Carrier, text: str, copy: bool = False, clock: str = "") -> Log:
    """A log with a text in one of its places.

    Args:
        log: Its name.
        carrier: The place.
        text: The text.
        copy: Whether the text's lines have a copy of the prefix.
        clock: A guess that takes the place of the time in that copy.
    """
    lines = [line.decode() for line in log_lines(log)]
    place = next(number for number, line in enumerate(lines) if carrier.before in line)
    found = PREFIX.match(lines[place])
    prefix = found[0] if found else ""
    if found and not prefix.endswith("0", 0, -3):  # a microsecond before that line
        prefix = f"{prefix[:-4]}{int(prefix[-4]) - 1}{prefix[-3:]}"
    head, tail = carrier.around.replace("\n", "\n" + prefix).split("{}")
    if copy:
        text = text.replace("\n", "\n" + (f"{clock} I " if clock else prefix))
    block = (prefix + head + text + tail).split("\n")
    rest = lines[place:]
    return Log([*lines[:place], *block, *rest], [True] * place + [False] * len(block) + [True] * len(rest))


def named(log: str, text: str, copy: bool = False) -> Log:
    """A log whose model file has this text for a name in its metadata."""
    made = Log([], [])
    shown = text.replace("\n", "\\n")
    shown = shown[:37] + "..." if len(shown) > 40 else shown
    for line in (one.decode() for one in log_lines(log)):
        found = PREFIX.match(line)
        block = [line]
        if re.search(r"- kv +\d+: +general\.name ", line):
            block = [line.split("= ")[0] + "= " + shown]
        elif "print_info: general.name" in line:
            prefix = found[0] if found and copy else ""
            block = (line.split("= ")[0] + "= " + text.replace("\n", "\n" + prefix)).split("\n")
        made.lines.extend(block)
        made.mine.extend([True] + [False] * (len(block) - 1))
    return made


def forged(found: Ownership) -> list[str]:
    """Amounts that no server allocated, wherever a ledger counts one."""
    return [
        item.line.text
        for load in found.loads
        for item in load.items
        if item.mark is Mark.COUNTED and round(item.size_bytes / MIB) in FORGED_MIB
    ]


def owners(found: Ownership, mine: Sequence[bool]) -> list[tuple[str, int | None, str | None, str | None, bool]]:
    """Pattern, load, part, phase of each line that the server wrote, in order, and whether a ledger counts it."""
    numbers = {id(load): number for number, load in enumerate(found.loads)}
    counted = {id(item.line) for load in found.loads for item in load.items if item.mark is Mark.COUNTED}
    return [
        (
            one.line.pattern.name,
            None if one.load is None else numbers[id(one.load)],
            one.part,
            one.phase,
            id(one.line) in counted,
        )
        for one in found.owned
        if mine[one.line.record]
    ]


def counted(load: Load) -> list[int]:
    """The amounts of a load's ledger, in order."""
    return [item.size_bytes for item in load.items if item.mark is Mark.COUNTED]


Envelope = Callable[[list[str]], bytes]


def plain(lines: list[str]) -> bytes:
    return "\n".join([*lines, ""]).encode()


def compose(lines: list[str]) -> bytes:
    return "\n".join([*(f"server-1  | {line}" for line in lines), ""]).encode()


def journal(lines: list[str]) -> bytes:
    return b"".join(
        b"__REALTIME_TIMESTAMP=%d\n_TRANSPORT=stdout\n_PID=700\n_HOSTNAME=lab\n_SYSTEMD_UNIT=llama-server.service\n"
        b"_SYSTEMD_INVOCATION_ID=11110000000000000000000000000000\nMESSAGE=%b\n\n"
        % (1_790_000_000_000_000 + at, line.encode())
        for at, line in enumerate(lines)
    )


ENVELOPES: dict[str, Envelope] = {"plain": plain, "compose": compose, "journal": journal}

calmly = functools.cache(own)
"""The same for a log with a harmless text, which many attacks are held against."""


def check(hostile: Log, harmless: Log, envelope: Envelope = plain) -> None:
    """Hold a log with an attack against the same log with a harmless text."""
    found = own(envelope(hostile.lines))
    calm = calmly(envelope(harmless.lines))

    assert forged(found) == []
    assert len(found.loads) == len(calm.loads)
    assert owners(found, hostile.mine) == owners(calm, harmless.mine)
    assert any(one.suspect for one in found.owned)


def turns(*, but: Sequence[tuple[str, str]] = ()) -> list[Any]:
    """Each carrier with each payload once, in each form by turns."""
    return [
        pytest.param(carrier, payload, list(FORMS)[(place + turn) % 3], id=f"{carrier}, {payload}")
        for place, carrier in enumerate(CARRIERS)
        for turn, payload in enumerate(PAYLOADS)
        if (carrier, payload) not in but
    ]


@pytest.mark.parametrize(("carrier", "payload", "form"), turns())
def test_lines_in_a_text_are_data(carrier: str, payload: str, form: str) -> None:
    log, copy = FORMS[form]
    place = CARRIERS[carrier]

    check(attacked(log, place, "x\n" + PAYLOADS[payload], copy), attacked(log, place, "x"))


@pytest.mark.parametrize(("carrier", "payload", "form"), turns(but=[("system prompt", "a crash")]))
def test_a_text_that_imitates_its_own_end_has_not_ended(carrier: str, payload: str, form: str) -> None:
    log, copy = FORMS[form]
    place = CARRIERS[carrier]

    check(attacked(log, place, f"x{place.lie}\n{PAYLOADS[payload]}\ny", copy), attacked(log, place, "x"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_lines_in_a_models_name_are_data(payload: str, form: str) -> None:
    log, copy = FORMS[form]

    check(named(log, "Nice Model\n" + PAYLOADS[payload], copy), named(log, "Nice Model"))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_lines_in_an_alias_that_a_router_prints_are_data_and_give_no_line_to_another_load(payload: str) -> None:
    lines = [line.decode() for line in log_lines("router-ping-pong.log")]
    place = next(number for number, line in enumerate(lines) if "spawning server instance with name=" in line)
    head, tail = re.split("(?<=name=).*(?= on port)", lines[place])
    block = f"{head}x\n{PAYLOADS[payload]}{tail}".split("\n")
    found = own(plain([*lines[:place], *block, *lines[place + 1 :]]))
    calm = calmly(plain(lines))
    before = owners(calm, [number != place for number in range(len(lines))])
    after = owners(found, [True] * place + [False] * len(block) + [True] * (len(lines) - place - 1))

    assert forged(found) == []
    assert [counted(load) for load in found.loads] == [counted(load) for load in calm.loads]
    # Which port stood behind the name is not read: until the child's load begins, its lines have no owner.
    assert {now[1] for one, now in zip(before, after, strict=True) if one[1] != now[1]} == {None}
    assert any(one.suspect for one in found.owned)


@pytest.mark.parametrize("envelope", ["compose", "journal"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("carrier", ["chat template", "tool type", "path", "generated token", "name of a LoRA file"])
def test_no_envelope_makes_a_text_believed(carrier: str, form: str, envelope: str) -> None:
    log, copy = FORMS[form]
    place = CARRIERS[carrier]
    for payload in ("another load", "sleep, wake and load"):
        hostile = attacked(log, place, "x\n" + PAYLOADS[payload], copy)

        check(hostile, attacked(log, place, "x"), ENVELOPES[envelope])


@pytest.mark.parametrize("clock", ["0.00.000.001", "9.59.000.000"])
@pytest.mark.parametrize("carrier", [one for one in CARRIERS if one != "system prompt"])
def test_a_clock_that_a_text_guesses_does_not_fit(carrier: str, clock: str) -> None:
    log, place = "llama-one-card.log", CARRIERS[carrier]
    for text in ("x\n" + PAYLOADS["a process that starts"], f"x{place.lie}\n{PAYLOADS['another load']}\ny"):
        check(attacked(log, place, text, copy=True, clock=clock), attacked(log, place, "x"))


WHOLE = "x' skipped\n{}\nsrv  server_chat_: unsupported Responses tool type 'y"
"""A text that leaves nothing over: each of its lines is complete, and so is what it makes of the line behind it."""


@pytest.mark.parametrize("payload", ["another load", "sleep, wake and load", "a process that starts"])
def test_a_text_of_complete_lines_cannot_copy_a_clock_and_be_believed(payload: str) -> None:
    log, place = "llama-one-card.log", CARRIERS["tool type"]

    check(attacked(log, place, WHOLE.format(PAYLOADS[payload]), copy=True), attacked(log, place, "x"))


# -- what a log without a prefix cannot show ---------------------------------------------------------------------------


def test_without_prefixes_a_life_that_leaves_nothing_over_is_taken_for_a_load_of_its_own() -> None:
    log, place = "llama-no-prefix-q8.log", CARRIERS["tool type"]
    found = own(plain(attacked(log, place, WHOLE.format(PAYLOADS["a process that starts"])).lines))
    calm = calmly(plain(attacked(log, place, "x").lines))

    assert [load.model for load in found.loads] == ["/srv/models/tiny-b2.gguf", "/srv/models/other.gguf"]
    assert counted(found.loads[0]) == counted(calm.loads[0])
    assert [round(size / MIB) for size in counted(found.loads[1])] == [99999, 77777]


def test_without_prefixes_a_crash_behind_a_text_without_an_end_is_believed() -> None:
    log, place = "llama-no-prefix-q8.log", CARRIERS["system prompt"]
    text = f"x{place.lie}\n{PAYLOADS['a crash']}\ny"
    found = own(plain(attacked(log, place, text).lines))

    assert [load.variables["closing_reason"] for load in found.loads] == [["crashed"]]
    assert counted(found.loads[0]) == counted(calmly(plain(attacked(log, place, "x").lines)).loads[0])


def test_a_reservation_while_serving_is_shown_and_not_counted() -> None:
    log, place = "llama-no-prefix-q8.log", CARRIERS["tool type"]
    found = own(plain(attacked(log, place, WHOLE.format(RESERVATION)).lines))

    assert [
        (item.mark, item.why) for load in found.loads for item in load.items if round(item.size_bytes / MIB) == 88888
    ] == [(Mark.CLAIMED, "printed in the phase serve: shown, not counted")]


def test_what_no_log_can_tell_the_card_contradicts(tmp_path: Path) -> None:
    # Nobody knows that this line carries a text, and the times in the text fit: between two requests is time enough.
    folder = FIXTURES / "llama-sleep-idle-plain"
    lines = (folder / "server.log").read_text().split("\n")
    place = next(number for number, line in enumerate(lines) if "entering sleeping state" in line)
    forgery = ["srv   new_feature: x", *(WAKE + BUFFERS + SERVES).split("\n"), "y"]
    lines[place:place] = [f"0.03.{100 + number}.000 I {one}" for number, one in enumerate(forgery)]
    telemetry = {name: (folder / f"{name}.csv").read_text() for name in ("gpu", "apps")}
    connection = opened(tmp_path, server_log="\n".join(lines), gpu_csv=telemetry["gpu"], apps_csv=telemetry["apps"])

    assert rows(
        connection,
        """
        SELECT load.model, round(rest_bytes / 1048576)::BIGINT AS rest_mib
        FROM vram_rest JOIN load USING (load_id) ORDER BY vram_rest.number
        """,
    ) == [
        ("/srv/models/Qwen3-8B-Q4_0.gguf", 594),
        ("/srv/models/other.gguf", -169844),
        ("/srv/models/Qwen3-8B-Q4_0.gguf", 592),
    ]


def entries(texts: Sequence[str], kind: str) -> bytes:
    """Messages of one service as a journal prints its entries: as JSON, or in the export form with lengths."""
    fields = {
        "_HOSTNAME": "lab",
        "_BOOT_ID": "0" * 32,
        "_PID": "700",
        "_TRANSPORT": "stdout",
        "_SYSTEMD_UNIT": "llm.service",
        "_SYSTEMD_INVOCATION_ID": "1" * 32,
    }
    found = b""
    for number, text in enumerate(texts):
        entry = {"__REALTIME_TIMESTAMP": str(1_790_000_000_000_000 + number * 1000), **fields}
        if kind == "json":
            found += (json.dumps({**entry, "MESSAGE": text}) + "\n").encode()
        else:
            message = text.encode()
            found += "".join(f"{name}={value}\n" for name, value in entry.items()).encode()
            found += b"MESSAGE\n" + len(message).to_bytes(8, "little") + message + b"\n\n"
    return found


@pytest.mark.parametrize("kind", ["json", "export"])
@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("head", ["hello", "0.90.000.000 I srv  update_slots: x", ""])
def test_lines_inside_of_one_journal_message_are_of_no_load(tmp_path: Path, kind: str, payload: str, head: str) -> None:
    lines = [line.decode() for line in log_lines("llama-one-card.log")]
    lies = [f"0.90.000.{number:03} I {one}" for number, one in enumerate(PAYLOADS[payload].split("\n"))]
    held = "SELECT number, device, kind, size_bytes FROM vram_ledger JOIN load USING (load_id) ORDER BY ALL"
    lives = "SELECT number, model, end_reason FROM load ORDER BY number"
    told = []
    for name, texts in (("true", lines), ("forged", [*lines[:140], "\n".join([head, *lies]), *lines[140:]])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "server.journal").write_bytes(entries(texts, kind))
        connection = opened(folder)
        told.append((rows(connection, held), rows(connection, lives)))
    assert told[1] == told[0]
    assert len(told[0][0]) > 3
