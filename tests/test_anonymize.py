"""What is named no more, what stays, and that the answers stay with it."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.anonymize import Anonymizer, masked, split
from forensics.capture import line_prefix
from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.explain import document
from forensics.opened import ready
from forensics.question import load_questions
from forensics.report_json import render_json

CATALOGUE = load_catalogue(())
PROGRAMS = [one for program in CATALOGUE.programs for one in program.process_names]
SITES = [one for program in CATALOGUE.programs for one in program.sites]


def hidden(text: str, *hosts: str) -> str:
    return Anonymizer(b"key", hosts, PROGRAMS, line_prefix(CATALOGUE), SITES).line(text)


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("loading model '/home/alice/secret project/m.gguf'", ["alice", "secret project"]),
        ("--model /data/acme-corp/models/m.gguf --port 8080", ["acme-corp"]),
        ("done request: POST /v1/chat/completions 192.168.3.148 200", ["192.168.3.148"]),
        ("connection from 2001:db8:85a3::8a2e:370:7334 closed", ["2001:db8"]),
        ("non-default args: {'api_key': ['sk-proj-abcdefghijkl'], 'model': '/srv/acme/Q'}", ["sk-proj", "acme"]),
        ("Environment=HF_TOKEN=hf_abcdefghijklmnop", ["hf_abcdefghijklmnop"]),
        ("Authorization: Bearer abcdef0123456789", ["abcdef0123456789"]),
        ("pulling from https://alice:pw@registry.acme.example/v2/", ["alice", "pw@", "acme"]),
        ("box7 sshd: session opened for user alice", ["box7", "alice"]),
        ("mail bob@acme.example about it", ["bob", "acme"]),
        ("link 52:54:00:ab:cd:ef up", ["52:54:00:ab:cd:ef"]),
        ("--api-key hunter2secret --host box7.acme.example", ["hunter2secret", "box7", "acme"]),
        ("Namespace(api_key=['hunter2secret', 'second2secret'])", ["hunter2secret", "second2secret"]),
        ("loading s3://acme-bucket/m and file:///home/alice/m", ["acme", "alice"]),
        ("BOX7 is up, says Box7.Acme.example at http://BOX7.acme.example/", ["BOX7", "Box7", "Acme", "acme"]),
        (r"loading model 'C:\Users\alice\secret project\m.gguf'", ["alice", "secret project"]),
        (r"C:\Program Files\Acme Corp\x.exe: D:\data/acme\m.gguf", ["Acme", "acme"]),
        (r'{"path":"C:\\Users\\A User\\m","b":"\\\\nas7\\acme\\m.gguf"}', ["A User", "nas7", "acme"]),
        (r"model=\\nas7\acme\m.gguf", ["nas7", "acme"]),
        (r"\\?\C:\Users\alice\m.gguf", ["alice"]),
    ],
)
def test_what_names_people_and_machines_is_gone(line: str, gone: list[str]) -> None:
    assert [one for one in gone if one in hidden(line, "box7.acme.example")] == []


@pytest.mark.parametrize(
    "line",
    [
        "0.04.171.371 I load_tensors:        CUDA0 model buffer size =  6742.14 MiB",
        "12.34.123.123 I srv  llama_server: model loaded",
        "2026-09-18T08:05:27+00:00 gpubox llama-server[4700]: [41001] 0.27.193.228 I sched_reserve: reserving",
        'msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --port 41207 --host 127.0.0.1 -c 262144 -np 1"',
        '{"log":"[41001] 0.27.193.228 I sched_reserve: reserving ...\\n","stream":"stderr"}',
        "print_info: EOS token        = 151645 '<|im_end|>'",
        "srv  llama_server: listening on http://127.0.0.1:8080",
        "using device CUDA0 (NVIDIA H200) (0000:00:06.0) - 142627 MiB free",
        "slot print_timing: n_tokens = 4096, draft acceptance = 0.57143 (    4 accepted /     7 generated)",
        'POST "/api/chat"',
        '"POST /v1/completions HTTP/1.1" 200 OK',
        "/usr/local/bin/llama-server: out of memory",
        "See https://docs.vllm.ai/en/latest and https://ollama.com/library",
        "build_info: b11434-abcdef012, CUDA 13.0.1.2",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        r"general.template = '\\n\\n{{x}}\\nfoo\\nbar' and I:\nfoo, \n\nfoo",
        r"open \\.\pipe\docker_engine of C:\Windows\System32\nvcuda64.dll.bin",
        "2026/11/30 11:08:07.001, GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a, 5226, /usr/local/bin/llama-server, 590 MiB",
    ],
)
def test_what_lines_are_read_by_stays(line: str) -> None:
    assert hidden(line, "box7") == line


def test_one_thing_has_one_name_and_two_have_two() -> None:
    names = Anonymizer(b"key", ["box7"])
    one = names.text("/home/alice/a.gguf 10.1.2.3 box7")
    assert names.text("/home/alice/a.gguf 10.1.2.3 box7") == one
    assert names.text("/home/bob/a.gguf") != names.text("/home/alice/a.gguf")
    assert Anonymizer(b"other", ["box7"]).text("/home/alice/a.gguf") != names.text("/home/alice/a.gguf")
    assert re.fullmatch(r"/home/x[0-9a-f]{8}/a\.gguf 10\.\d+\.\d+\.\d+ host-[0-9a-f]{6}", one)


def test_a_file_of_windows_keeps_its_model_and_its_way_of_writing() -> None:
    assert re.fullmatch(
        r'\{"a":"C:\\\\Users\\\\x\w{8}\\\\my model\.gguf","b":"\\\\\\\\host-\w{6}\\\\x\w{8}\\\\b\.gguf"\}',
        hidden(r'{"a":"C:\\Users\\alice\\my model.gguf","b":"\\\\nas7\\acme\\b.gguf"}'),
    )


def test_a_host_has_one_name_in_any_letter_case_unless_that_is_a_word_that_lines_are_read_by() -> None:
    names = Anonymizer(b"key", ["cuda"], words=["CUDA"])
    assert names.text("cuda: CUDA error") == f"{names.text('cuda')}: CUDA error"
    names.learn("Nas7")
    assert names.text("NAS7 nas7") == " ".join([names.text("Nas7")] * 2)
    assert names.text(r"\\NAS7\data") == rf"\\{names.text('Nas7')}\data"


KEY = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    *("MIIEpAIBAAKCAQEA" + letter * 48 for letter in "xyZ"),
    "S3cretEnd=",
    "-----END RSA PRIVATE KEY-----",
]


def test_a_private_key_is_removed_from_its_first_line_to_its_last() -> None:
    assert masked("\n".join(["a", *KEY, "b"])) == f"a\n{KEY[0]}***{KEY[-1]}\nb"
    assert masked("\n".join(["a", *KEY[:1], *KEY[2:4], "no key."])) == f"a\n{KEY[0]}***\nno key."
    assert masked(r'{"tls": "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"}') == (
        r'{"tls": "-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----\n"}'
    )


@pytest.mark.parametrize(
    "form",
    ["{}", "Nov 30 11:08:07 host prog[1]: {}", '{{"log":"{}\\n","stream":"stderr"}}'],
    ids=["plain", "syslog", "docker"],
)
def test_a_private_key_over_lines_is_replaced_in_them_and_what_stands_between_stays(form: str) -> None:
    other = "0.02.171.371 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB"
    lines = ["before", *KEY[:3], other, *KEY[3:], "MIIEpAIBAAKCAQEAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
    after = Anonymizer(b"key").data("\n".join(map(form.format, lines)).encode()).decode().split("\n")
    assert [after[place] for place in (0, 1, 4, 8, 9)] == [
        form.format(one) for one in ("before", KEY[0], other, KEY[-1], lines[-1])
    ]
    assert not any(piece in line for line in after[2:8] for piece in ("MIIE", "S3cretEnd"))


def test_a_private_key_over_entries_of_a_journal_is_replaced() -> None:
    after = Anonymizer(b"key").data(b"".join(entry(MESSAGE=line, _PID="1") for line in KEY))
    assert b"MIIE" not in after
    assert b"S3cretEnd" not in after
    assert after.count(b"_PID=1\n") == len(KEY)


def test_unit_files_lose_their_secrets_and_nothing_else() -> None:
    unit = (
        "[Service]\nUser=llm\nEnvironment=OLLAMA_HOST=0.0.0.0 HF_TOKEN=hf_abcdefghijklmnop\n"
        'Environment="API_KEY=two words"\nEnvironment=MAX_TOKENS=4096\n'
        "ExecStart=/usr/bin/llama-server --api-key s3cret --port 8080 -m /srv/m.gguf\n"
    )
    assert masked(unit) == (
        "[Service]\nUser=llm\nEnvironment=OLLAMA_HOST=0.0.0.0 HF_TOKEN=***\n"
        'Environment="API_KEY=***"\nEnvironment=MAX_TOKENS=4096\n'
        "ExecStart=/usr/bin/llama-server --api-key *** --port 8080 -m /srv/m.gguf\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "ExecStart=/x --api-key '$' -m /m",
        'ExecStart=/x --api-key "$ and more" -m /m',
        "ExecStart=/x --api_key $",
        "ExecStart=/x --api-key \\\n    $ \\\n    --port 1",
        "ExecStart=/x -hft $",
        "ExecStart=/x --passwd $",
        "ExecStart=/x --ssl-keyfile-password=$",
        "ExecStart=/x -H 'X-Api-Key: $'",
        "Environment=AWS_SESSION_TOKEN=$",
        "Environment=ENCRYPTION_KEY=$",
        "Environment=LLAMA_API_KEY=first,$",
        "Environment='API_KEY=one $'",
        "Environment=DB_PASS=$",
        "Environment=REDIS_URL=redis://:$@cache/0",
        "Environment=REPO=https://$@git.example/x",
        "Environment=HOOK=https://h.example/x?a=1&sig=$",
        "Authorization: Basic $",
        '{"cmd": "x --api-key \\"$\\" -c 1"}',
        "['x', '--api-key', '$', '-c', '1']",
        "{'api_key': ['first', '$'], 'port': 1}",
        "nvapi-$-abcdefghijkl",
        "eyJhbGciOiJIUzI1NiJ9.eyJ$In0.abc",
        "ExecStartPre=/usr/bin/curl -u alice:$ http://127.0.0.1/",
        "ExecStartPre=/usr/bin/curl -su 'alice:two $' http://127.0.0.1/",
        "ExecStartPre=/usr/bin/curl --user \\\n  alice:$ http://127.0.0.1/",
        "ExecStartPre=/usr/bin/curl --proxy-user=alice:$ http://127.0.0.1/",
        "['curl','-u','alice:$','http://127.0.0.1/']",
        '{"cmd": "curl -u \\"alice:$\\" http://127.0.0.1/"}',
        '{"cmd": "[\\"curl\\", \\"--user\\", \\"alice:$\\"]"}',
        "Using ya29.a0AfH6-$_abcdefgh",
        "Using ya29.c.b0Aaekm1-$.....",
    ],
)
def test_a_secret_is_removed_however_it_is_written(line: str) -> None:
    assert "S3cretValue" not in masked(line.replace("$", "S3cretValue"))
    assert (
        "S3cretValue"
        not in Anonymizer(b"key").data(line.replace("\\\n", "").replace("$", "S3cretValue").encode()).decode()
    )


@pytest.mark.parametrize(
    "line",
    [
        "ExecStart=/usr/bin/podman run --user 1000:1000 -u 0:0 image",
        "journalctl -u llama-server.service",
        "python3 -u server.py --host 127.0.0.1:8080",
        "pip install --user git+https://example.org/x",
        "bench -u http://127.0.0.1:8080/v1 -ub 512",
        "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA\n-----END CERTIFICATE-----",
    ],
)
def test_what_only_looks_like_a_secret_stays(line: str) -> None:
    assert masked(line) == line


@pytest.mark.parametrize(
    "text",
    ['{"a": "b --api-key \\"x y\\" c", "api_key": ["p", "q"], "t": "token: \\"x\\", {{ bos_token }}", "key": "v\\\\"}'],
)
def test_json_without_its_secrets_is_json(text: str) -> None:
    kept = json.loads(masked(text))
    assert kept == {"a": 'b --api-key "***" c', "api_key": ["***"], "t": 'token: "***", {{ bos_token }}', "key": "***"}


@pytest.mark.parametrize(
    "piece",
    [
        *("a.", "-", "--key", "key=", "'key", "authorization", "_eyJ", "api_key=['", "://", "token ", "ya29."),
        *("-u ", "-u a", "--user a:", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----- A-", "-----BEGIN A "),
        "\\n" + "A" * 16,
    ],
)
def test_secrets_are_looked_for_in_a_long_line_in_proportion_to_it(piece: str) -> None:
    begun = time.monotonic()
    masked(piece * (200_000 // len(piece)))
    masked("-----BEGIN PRIVATE KEY-----" + piece * (200_000 // len(piece)))
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    "piece",
    [
        "C:\\",
        "C:\\a ",
        r"C:\a\b",
        "\\\\ab\\",
        r" \\ab\c d",
        "a b",
        "A",
        "A=",
        "A ",
        "a:",
        "\\",
        "'C:\\a",
        "BOX7",
    ],
)
def test_names_are_looked_for_in_a_long_line_in_proportion_to_it(piece: str) -> None:
    names = Anonymizer(b"key", ["box7"])
    for begin in ("", r"C:\a", "\\\\ab\\", "'C:\\a"):
        begun = time.monotonic()
        text = begin + piece * (100_000 // len(piece)) + "!"
        names.data(f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----{text}".encode())
        assert time.monotonic() - begun < 10


def entry(**fields: str | bytes) -> bytes:
    out = b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1796036837969224\n"
    for name, value in fields.items():
        if isinstance(value, bytes):
            out += name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
        else:
            out += f"{name}={value}\n".encode()
    return out + b"\n"


def test_a_journal_stays_a_journal_with_the_lengths_of_its_new_texts() -> None:
    before = entry(
        _HOSTNAME="box7", _MACHINE_ID="a" * 32, _BOOT_ID="b" * 32, _PID="5226", MESSAGE=b"on box7\nin /home/alice/x"
    ) + entry(MESSAGE="n = 3")
    after = Anonymizer(b"key").data(before)
    assert b"box7" not in after
    assert b"alice" not in after
    assert b"a" * 32 not in after
    assert b"_BOOT_ID=" + b"b" * 32 in after
    message = re.search(rb"on host-[0-9a-f]{6}\nin /home/x[0-9a-f]{8}/x[0-9a-f]{8}", after)
    assert message is not None
    assert b"MESSAGE\n" + len(message[0]).to_bytes(8, "little") + message[0] + b"\n\n" in after
    assert after.endswith(b"MESSAGE=n = 3\n\n")
    assert after.count(b"\n\n") == before.count(b"\n\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["MESSAGE", "X", "_PID"]), st.binary(max_size=40)), max_size=6))
def test_any_entry_is_written_so_that_it_reads_as_before(fields: list[tuple[str, bytes]]) -> None:
    content = b"__REALTIME_TIMESTAMP=1\n"
    for name, value in fields:
        content += name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
    content += b"\n"
    once = Anonymizer(b"key").data(content)
    assert once.endswith(b"\n\n")
    assert [name for name, _, _ in split(once) if name] == [name for name, _, _ in split(content) if name]


# -- the same answer --------------------------------------------------------------------------------------------------

FIXTURES = sorted(one.parent for one in Path("fixtures").glob("*/case.toml"))[::2]
"""Every second one: what is replaced differs by program and collector, of which each has several."""


LENGTHS = (".coverage.bytes", ".coverage.read_bytes")


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float | None]]:
    """All figures of a document, with where they stand; ids and texts are left out, and how long the texts are."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("evidence", "sources", "asked") and f"{path}.{key}" not in LENGTHS:
                yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers(inner, f"{path}[{place}]")
    elif value is None or isinstance(value, int | float):
        yield path, value


def owners(value: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Which load each cited line belongs to, by the load's number."""
    loads = {load["load_id"]: load["number"] for load in value["loads"]}
    lines = value["evidence"].values()
    return sorted((loads.get(one["load_id"], -1), one["time"] or "", one["line"] or 0) for one in lines)


def explained(folder: Path) -> dict[str, Any]:
    case = duckdb.connect()
    store(read_evidence([folder], CATALOGUE), case)
    connection = ready(case, load_questions(), None)
    return dict(json.loads(render_json(document(connection, CATALOGUE))))


def test_a_log_of_windows_with_a_key_in_it_has_the_same_numbers_and_owners(tmp_path: Path) -> None:
    log = [
        r"0.00.583.316 I srv    load_model: loading model 'C:\Users\alice\my models\Qwen3 8B-Q4_0.gguf'",
        *KEY[:3],
        "0.02.171.371 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB",
        *KEY[3:],
        "0.03.201.214 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB",
        "0.04.182.339 I srv  llama_server: model loaded",
    ]
    text = "".join(f"{line}\n" for line in log).encode()
    names = Anonymizer(b"key", (), PROGRAMS, line_prefix(CATALOGUE))
    for folder, content in (("before", text), ("after", names.data(text))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "server.log").write_bytes(content)
    before, after = explained(tmp_path / "before"), explained(tmp_path / "after")
    assert "alice" not in str(after)
    assert [load["model"].rpartition("\\")[2] for load in after["loads"]] == ["Qwen3 8B-Q4_0.gguf"]
    assert list(numbers(after)) == list(numbers(before))
    assert owners(after) == owners(before)


@pytest.mark.parametrize("case", FIXTURES, ids=[one.name for one in FIXTURES])
def test_an_anonymized_case_has_the_same_numbers_and_owners(case: Path, tmp_path: Path) -> None:
    names = Anonymizer(b"key", (), PROGRAMS, line_prefix(CATALOGUE))
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
    for path in sorted(case.iterdir()):
        if path.is_file() and path.name not in ("case.toml", "README.md"):
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            (tmp_path / "before" / path.name).write_bytes(content)
            (tmp_path / "after" / path.name).write_bytes(names.data(content))
    before, after = explained(tmp_path / "before"), explained(tmp_path / "after")
    assert list(numbers(after)) == list(numbers(before))
    assert owners(after) == owners(before)
