"""Nothing of a corpus of hostile texts acts in what any command prints, in any format."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_safe import CONTROLS, HOSTILE
from typer.testing import CliRunner

from forensics.asked import QUESTIONS
from forensics.check_formats import CheckFormat
from forensics.cli import app
from forensics.printing import Format
from forensics.safe import original, visible

CORPUS = [
    *HOSTILE,
    *(f"code {chr(code)}0;x{chr(code)}z" for code in CONTROLS),
    *(f"escape \x1b{letter}1;2\x1b\\" for letter in "[]P_^X(c#%=>78MNOZ"),
    *(f"C1 {chr(code)}31mx" for code in range(0x80, 0xA0)),
    *(f"moves {chr(code)}x" for code in (0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F))),
    *(f"isolates {chr(code)}x" for code in (0x2060, *range(0x2066, 0x2070), 0xFEFF, 0xFFF9, 0x1D173, 0xE0001)),
    *("]]><x>", "<![CDATA[x]]>", "--><b>", "<!--", "<title>", "</style><b>", "<svg onload=1>", "&#x1b;[31m", "</pre>"),
    *(
        "::error file=a,line=1::forged",
        "  ::set-output name=a::b",
        "x\n::add-mask::y",
        "::stop-commands::t",
        "::ERROR::x",
    ),
    *(
        "##[error]x",
        "a ##[add-matcher]m.json",
        "##vso[task.setvariable variable=a]b",
        "##teamcity[x]",
        "%0A::warning::x",
    ),
    *('=HYPERLINK("http://e")', "\t=1+1", "\r=1", "-2+3", "@SUM(1)", "'=1", "＝1", "{{7*7}}", "{% x %}", "${jndi:x}"),
    *("$(id)", "`id`", "'; DROP TABLE load; --", "%s%n", r"\x1b[31m", r"\u202e", "javascript:alert(1)", "a\x00b"),
]
BAD = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
ORDER = re.compile(r"(?im)^\s*::(?:error|warning|set-output|add-mask|stop-commands)\b|##(?:vso|teamcity)?\[")
"""What a build server would obey."""
START = datetime(2026, 11, 30, 11, 8, tzinfo=UTC)


def field(name: str, text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return name.encode() + b"\n" + len(raw).to_bytes(8, "little") + raw + b"\n"


def journal() -> bytes:
    """A service that is started again and again, each time with other texts wherever a line holds one."""
    out, at = bytearray(), 0
    texts = [*CORPUS, *CORPUS[:3]]
    for life, place in enumerate(range(0, len(CORPUS), 3)):
        one = texts[place : place + 3]
        for message in (
            "0.00.001.000 I build_info: b11434-abcdef012",
            f"0.00.002.000 I srv    load_model: loading model '/m/{one[0]}.gguf'",
            "0.00.010.000 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB",
            f"0.00.012.000 I load_tensors:        {one[0]} model buffer size =  14.17 MiB",
            f"0.00.015.000 I llama_kv_cache:      {one[1]} KV buffer size =  2304.00 MiB",
            "0.00.020.000 I srv  llama_server: model loaded",
            f"0.01.020.000 I srv  log_server_r: done request: POST /v1/{one[1]} 192.168.3.148 200",
            f"0.01.030.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 99.00 MiB on device 0: {one[0]}",
            f"CUDA error: {one[2]}",
            f"0.01.031.000 E srv    load_model: failed to load model, '/m/{one[0]}.gguf'",
        ):
            at += 200_000
            out += f"__CURSOR=s={at}\n__REALTIME_TIMESTAMP={int(START.timestamp()) * 1_000_000 + at}\n".encode()
            out += f"_BOOT_ID={'b' * 32}\n_PID={5000 + life}\n_TRANSPORT=stdout\n_SYSTEMD_UNIT=llm.service\n".encode()
            out += f"_SYSTEMD_INVOCATION_ID={life:032x}\n".encode()
            out += field("_HOSTNAME", f"box{one[0]}") + field("_COMM", one[1]) + field("MESSAGE", message) + b"\n"
    return bytes(out)


def samples() -> tuple[str, str]:
    """Cards and processes whose names are texts of the corpus too."""
    cards = ["timestamp, index, uuid, name, memory.total [MiB], memory.used [MiB], memory.free [MiB]"]
    holders = ["timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]"]
    for second, text in enumerate(CORPUS):
        at = f"{START + timedelta(seconds=second / 4):%Y/%m/%d %H:%M:%S}.000"
        name = re.sub(r"[\n\r,]", " ", text)
        cards.append(f"{at}, 0, GPU-1, {name}, 143771 MiB, {7000 + second} MiB, {136771 - second} MiB")
        holders.append(f"{at}, GPU-1, {5000 + second // 3}, /opt/{name}, {6900 + second} MiB")
    return "\n".join(cards), "\n".join(holders)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus in a folder whose name is hostile too, and a case made of it."""
    folder = tmp_path_factory.mktemp("hostile") / "in\x1b]0;x\x07\u202e]]>,::error::='\"\n<b>"
    folder.mkdir()
    (folder / "journal.export").write_bytes(journal())
    for name, text in zip(("gpu.csv", "apps.csv"), samples(), strict=True):
        (folder / name).write_text(text, "utf-8", "surrogatepass")
    made = CliRunner().invoke(app, ["ingest", str(folder), "--case", str(folder / "it.case")])
    assert made.exit_code == 0
    assert not acting(made.output)
    return folder


def acting(text: str) -> set[str]:
    """Characters and orders that would act."""
    return {one for one in text if one != "\n" and unicodedata.category(one) in BAD} | set(ORDER.findall(text))


def run(*words: str) -> str:
    """What a command prints, on both streams."""
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in (0, 1, 3)
    assert done.stdout
    assert not acting(done.output)
    return done.stdout


def test_the_corpus_is_large_and_reaches_the_answers(evidence: Path) -> None:
    assert len(set(CORPUS)) >= 200
    rows = json.loads(
        run("query", "SELECT text FROM line", str(evidence / "it.case"), "--rows", "9999", "--format", "json")
    )
    read = original("\n".join(row["text"] for row in rows["rows"]))
    assert (
        sum(text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape") in read for text in CORPUS) >= 200
    )


@pytest.mark.parametrize("name", ["explain-vram", *QUESTIONS])
def test_an_answer_is_inert_in_every_format(evidence: Path, name: str) -> None:
    for form in Format:
        run(name, str(evidence / "it.case"), "--format", form.value)
    run(name, str(evidence / "it.case"), "--evidence")


@pytest.mark.parametrize("form", ["table", "json", "csv", "md"])
def test_rows_are_inert_in_every_format(evidence: Path, form: str) -> None:
    for view in ("loads", "line", "source", "card_sample", "holder_sample"):
        run("query", view, str(evidence / "it.case"), "--format", form, "--rows", "300")


def test_a_line_that_is_explained_is_inert() -> None:
    text = " ".join(re.sub(r"[\n\r\ud800-\udfff]", " ", one) for one in CORPUS)
    run("formats", "explain", f"0.00.002.000 I srv    load_model: loading model '/m/{text}.gguf'")


def test_a_page_a_trace_a_comparison_and_a_check_of_a_report_are_inert(evidence: Path, tmp_path: Path) -> None:
    case = str(evidence / "it.case")
    run("report", case, "-o", "-")
    trace = tmp_path / "trace\x1b]0;x\x07.json"
    run("timeline", case, "--perfetto", str(trace))
    assert not acting(trace.read_text("utf-8"))
    for form in Format:
        run("diff", "1", "2", case, "--format", form.value)
    (tmp_path / "report.json").write_text(run("explain-vram", case, "--format", "json"), "utf-8")
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "report.json"), "--format", "json"])
    assert not acting(done.output)


@pytest.mark.parametrize("form", CheckFormat)
def test_what_a_check_says_is_inert_in_every_format(evidence: Path, tmp_path: Path, form: CheckFormat) -> None:
    rules = (
        "no_failures = true\nno_format_drift = true\nmax_unexplained_mib = 1\nmax_weights_mib = 1\nmin_kv_tokens = 9\n"
    )
    asserts = tmp_path / "asserts.toml"
    asserts.write_text(f"inputs = [{json.dumps(str(evidence))}]\n[[assert]]\n{rules}", "utf-8")
    done = CliRunner().invoke(app, ["check", str(asserts), "--format", form.value])
    assert done.exit_code == 1
    told = done.stdout
    if form is CheckFormat.GITHUB:  # its own orders begin its lines; nothing in them begins another
        ours = re.compile(r"^::(?:error|warning) file=[^:]*,title=[^:]*::", re.MULTILINE)
        told = ours.sub("", told)
    assert not acting(told)
    if form is CheckFormat.JUNIT:
        assert len(list(ElementTree.fromstring(told).iter("testcase"))) == 5  # noqa: S314  (ours)
    if form is CheckFormat.SARIF:
        texts = [one["message"]["text"] for one in json.loads(told)["runs"][0]["results"]]
        assert any(visible(CORPUS[0]) in text for text in texts)  # escaped, and once
