"""A bundle of a machine: what goes in, what is said to be missing, and that it answers on another machine."""

from __future__ import annotations

import hashlib
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tarfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_model import KV_BYTES, WEIGHTS_BYTES, write_tiny_model
from typer.testing import CliRunner

from forensics.bundle import Bundle, files_of, manifest_of
from forensics.capture import find_services
from forensics.catalogue import Catalogue, load_catalogue, load_programs
from forensics.cli import app
from forensics.errors import CatalogueError
from forensics.processes import Running, running

CATALOGUE = load_catalogue(())
BOOT = "b" * 32
LINES = (
    "0.00.001.000 I build_info: b11434-abcdef012",
    "0.00.583.316 I srv    load_model: loading model '/home/alice/models/Qwen3-8B-Q4_0.gguf'",
    "0.02.171.371 I load_tensors:        CUDA0 model buffer size =  4914.17 MiB",
    "0.03.201.214 I llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB",
    "0.04.182.339 I srv  llama_server: model loaded",
    "0.05.000.000 I srv  log_server_r: done request: POST /v1/chat/completions 192.168.3.148 200",
)
START = 1_796_036_880_000_000
"""2026-11-30 11:08:00 UTC."""


def export(lines: tuple[str, ...] = LINES) -> str:
    """The lines as journal entries of one service, a second after each other."""
    return "".join(
        f"__CURSOR=s=1;i={number}\n__REALTIME_TIMESTAMP={START + (1 + number) * 1_000_000}\n_BOOT_ID={BOOT}\n"
        f"_HOSTNAME=box7\n_MACHINE_ID={'a' * 32}\n_TRANSPORT=stdout\n_PID=5226\n_COMM=llama-server\n"
        f"_SYSTEMD_UNIT=llm.service\n_SYSTEMD_INVOCATION_ID={'c' * 32}\nSYSLOG_IDENTIFIER=llama-server\n"
        f"MESSAGE={line}\n\n"
        for number, line in enumerate(lines)
    )


UNIT = """\
# /etc/systemd/system/llm.service
[Service]
User=alice
Environment=HF_TOKEN=hf_abcdefghijklmnop
ExecStart=/usr/local/bin/llama-server --port PORT --api-key hunter2secret -m /home/alice/models/Qwen3-8B-Q4_0.gguf
"""

JOURNALCTL = """\
case "$*" in
  *"-F _COMM"*) echo llama-server; echo sshd ;;
  *"-F "*) ;;
  *"-o export"*) cat "$BOX/journal.export" ;;
  *) [ ! -e "$BOX/hint" ] || echo "Hint: You are currently not seeing messages from other users and the system." >&2 ;;
esac
"""
SYSTEMCTL = """\
case "$1" in
  --version) echo "systemd 252 (252.39)" ;;
  list-units) echo "llm.service loaded active running LLM"; echo "ssh.service loaded active running OpenSSH" ;;
  show) case "$*" in
    *llm.service*) sed -n 's/^\\(ExecStart\\|Environment\\)=/\\1=/p' "$BOX/unit" ;;
    *) echo "ExecStart={ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd -D ; }" ;;
  esac ;;
  cat) cat "$BOX/unit" ;;
  status) echo "llm.service - LLM"; echo "  5226 /usr/local/bin/llama-server --api-key hunter2secret" ;;
esac
"""
NVIDIA_SMI = """\
case "$*" in
  "-q -x") echo "<?xml version='1.0'?>"; echo "<nvidia_smi_log></nvidia_smi_log>" ;;
  *query-gpu*)
    echo "timestamp, index, uuid, pci.bus_id, name, driver_version, memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB], utilization.gpu [%], power.draw [W]"
    for s in 01 07 09; do echo "2026/11/30 11:08:$s.000, 0, GPU-1, 00000000:00:06.0, NVIDIA H200, 580.159.04, 143771 MiB, 616 MiB, 7820 MiB, 135335 MiB, 0 %, 75.00 W"; done
    exec sleep 60 ;;
  *compute-apps*)
    echo "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]"
    for s in 07 09; do echo "2026/11/30 11:08:$s.001, GPU-1, 5226, /usr/local/bin/llama-server, 7812 MiB"; done
    exec sleep 60 ;;
esac
"""  # noqa: E501


@pytest.fixture
def server() -> Iterator[int]:
    """Something that answers on loopback as a server does."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/props"
            self.send_response(200 if known else 401)
            self.end_headers()
            self.wfile.write(
                b'{"build_info":"b11434-abcdef012","model_path":"/home/alice/models/Qwen3-8B-Q4_0.gguf",'
                b'"cmd":"llama-server --api-key hunter2secret -c 8"}'
            )

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield listening.server_address[1]
    listening.shutdown()
    listening.server_close()


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: int) -> Path:
    """A machine: three tools first in the path that print what they printed on one."""
    tools = tmp_path / "tools"
    tools.mkdir()
    tool(tools, "journalctl", JOURNALCTL)
    tool(tools, "systemctl", SYSTEMCTL)
    tool(tools, "nvidia-smi", NVIDIA_SMI)
    (tmp_path / "journal.export").write_text(export())
    (tmp_path / "unit").write_text(UNIT.replace("PORT", str(server)))
    monkeypatch.setenv("BOX", str(tmp_path))
    monkeypatch.setattr("forensics.capture.running", lambda _: [])  # of the machine that runs the tests
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def taken(box: Path, *options: str) -> Path:
    target = box / "bundle"
    outcome = CliRunner().invoke(app, ["capture", str(target), "--seconds", "0.5", *options])
    assert outcome.exit_code == 0, outcome.output
    return target


def explained(*inputs: str) -> dict[str, Any]:
    outcome = CliRunner().invoke(app, ["explain-vram", *inputs, "--format", "json", "--quiet"])
    assert outcome.exit_code == 0, outcome.output
    found: dict[str, Any] = json.loads(outcome.stdout)
    return found


def figures(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    (load,) = found["loads"]
    (device,) = [one for one in load["devices"] if one["where"] == "card"]
    items = [(one["kind"], one["part"], one["bytes"]) for one in device["items"]]
    return [(device["measured_bytes"], device["attributed_bytes"], device["unexplained_bytes"]), *items]


def everything(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_bundle_holds_what_an_answer_needs_and_says_what_each_file_is(box: Path, server: int) -> None:
    folder = taken(box)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert names == [
        "apps.csv",
        "gpu.csv",
        "journal.export",
        "manifest.json",
        "nvidia-smi-q-x.json",
        f"probes/{server}.models.txt",
        f"probes/{server}.props.txt",
        "units/llm.service.status.txt",
        "units/llm.service.txt",
        "versions.json",
    ]
    manifest = manifest_of(folder)
    assert (manifest["schema"], manifest["anonymized"], manifest["not_read"]) == ("forensics.capture/1", False, [])
    assert manifest["services"] == [{"unit": "llm.service", "programs": ["llama.cpp"], "ports": [server]}]
    for entry in manifest["files"]:
        content = (folder / entry["name"]).read_bytes()
        assert (entry["sha256"], entry["size_bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_answers_on_another_machine(box: Path) -> None:
    folder = taken(box)
    elsewhere = box / "elsewhere"
    shutil.move(folder, elsewhere)
    (measured, *items) = figures(explained(str(elsewhere)))
    assert measured[0] == 7812 * 1024 * 1024
    assert ("weights", "target", 5152880722) in items


def test_who_looks_at_it_elsewhere_is_told_what_it_lacks_and_reads_nothing_that_is_no_evidence(box: Path) -> None:
    tool(box / "tools", "nvidia-smi", "exit 9\n")
    folder = taken(box)
    outcome = CliRunner().invoke(app, ["explain-vram", str(folder)])
    said = [line for line in outcome.stderr.splitlines() if "/probes/" not in line]
    lacks = "the capture lacks, for the reasons in it: nvidia-smi -q -x, the cards"
    assert said == [f"forensics: {folder}/manifest.json: {lacks}."]
    (folder / "manifest.json").write_text('{"schema": "other"}')
    outcome = CliRunner().invoke(app, ["explain-vram", str(folder)])
    assert f"forensics: {folder}/manifest.json: set aside: it is a JSON document, not a log." in outcome.stderr


def test_a_capture_without_evidence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("forensics.capture.running", lambda _: [])
    outcome = CliRunner().invoke(app, ["capture", str(tmp_path / "bundle"), "--seconds", "0"])
    first, *_, last = outcome.stdout.splitlines()
    assert re.fullmatch(r".*/bundle: 1 file, \d+ bytes", first)
    assert last == "Nothing in it is evidence of a server or a card."


def test_secrets_of_units_are_removed(box: Path) -> None:
    text = everything(taken(box) / "units")
    assert "hunter2secret" not in text
    assert "hf_abcdefghijklmnop" not in text
    assert "HF_TOKEN=***" in text
    assert "--api-key *** -m /home/alice" in text


def test_secrets_in_what_a_service_says_of_itself_are_removed(box: Path) -> None:
    text = everything(taken(box) / "probes")
    assert "--api-key *** -c 8" in text
    assert "hunter2secret" not in text


def test_a_service_that_asks_for_a_key_gives_its_status_and_nothing_else(box: Path, server: int) -> None:
    folder = taken(box)
    assert (folder / f"probes/{server}.props.txt").read_text().startswith('200\n{"build_info"')
    assert (folder / f"probes/{server}.models.txt").read_text() == "401\n"


def test_an_anonymized_bundle_names_nobody_and_answers_the_same(box: Path) -> None:
    plain = explained(str(taken(box)))
    shutil.rmtree(box / "bundle")
    folder = taken(box, "--anonymize")
    text = everything(folder)
    assert [one for one in ("alice", "box7", "192.168.3.148", "hunter2secret", "hf_", "a" * 32) if one in text] == []
    assert "Qwen3-8B-Q4_0.gguf" in text
    assert figures(explained(str(folder))) == figures(plain)


def test_an_archive_holds_the_same_folder(box: Path) -> None:
    target = box / "bundle.tar.gz"
    outcome = CliRunner().invoke(app, ["capture", str(target), "--seconds", "0.5", "--quiet"])
    assert outcome.exit_code == 0
    with tarfile.open(target) as archive:
        assert "bundle/manifest.json" in archive.getnames()
        assert {(one.uid, one.uname) for one in archive.getmembers()} == {(0, "")}
        archive.extractall(box / "unpacked", filter="data")
    assert figures(explained(str(box / "unpacked" / "bundle"))) == figures(explained(str(target)))
    assert outcome.stdout.endswith(f"Next  forensics explain-vram {target}\n")


def test_a_reader_without_rights_is_told_which_group_would_give_them(box: Path) -> None:
    (box / "hint").touch()
    folder = taken(box)
    (entry,) = manifest_of(folder)["not_read"]
    assert entry["what"] == "messages of the system and of other users"
    assert entry["why"] == "this user may not read them"
    assert entry["remedy"]


def test_missing_tools_are_said_and_not_fatal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    outcome = CliRunner().invoke(app, ["capture", str(tmp_path / "bundle"), "--seconds", "0"])
    assert outcome.exit_code == 0
    whys = [one["why"] for one in manifest_of(tmp_path / "bundle")["not_read"]]
    assert "systemctl is not installed" in whys
    assert "journalctl is not installed" in whys


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "x").touch()
    outcome = CliRunner().invoke(app, ["capture", str(tmp_path / "bundle")])
    assert "there is something already" in str(outcome.exception)


@pytest.mark.parametrize("name", ["--help", "a b", "x;y", "$(id)"])
def test_a_unit_is_a_name_and_no_option(box: Path, name: str) -> None:
    outcome = CliRunner().invoke(app, ["capture", str(box / "bundle"), f"--unit={name}"])
    assert "that is no name of a unit" in str(outcome.exception)


def test_a_named_unit_is_taken_in_although_no_program_knows_it(box: Path) -> None:

    found = find_services(CATALOGUE, ["ssh"], Bundle(box))
    assert [one.unit for one in found] == ["ssh.service", "llm.service"]


def test_explain_vram_without_inputs_looks_at_this_machine(box: Path) -> None:
    found = explained()
    assert figures(found)[0][0] == 7812 * 1024 * 1024
    assert {one["source"] for one in found["sources"]} == {
        "this machine: journal.export",
        "this machine: gpu.csv",
        "this machine: apps.csv",
    }


def test_without_anything_to_look_at_it_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("forensics.capture.running", lambda _: [])
    outcome = CliRunner().invoke(app, ["explain-vram"])
    assert str(outcome.exception).startswith("no input, and nothing to look at on this machine: give log files")
    assert "journalctl is not installed" in str(outcome.exception)


def test_a_server_that_no_unit_starts_is_explained_by_the_file_that_it_prints_to(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (box / "journal.export").write_text("")
    (box / "server.log").write_text("".join(f"{line}\n" for line in LINES))
    there = Running(5226, ("llama.cpp",), "file", box / "server.log")
    monkeypatch.setattr("forensics.capture.running", lambda _: [there])
    found = explained()
    assert figures(found)[0][0] == 7812 * 1024 * 1024
    assert "this machine: 5226.log" in {one["source"] for one in found["sources"]}


def test_what_could_not_be_read_is_told_unless_nothing_is_to_be(box: Path) -> None:
    tool(box / "tools", "nvidia-smi", "exit 9\n")
    told, quiet = (CliRunner().invoke(app, ["explain-vram", *options]) for options in ([], ["--quiet"]))
    assert "not read: the cards: nvidia-smi: it printed nothing; check the driver\n" in told.stderr
    assert quiet.stderr == ""
    assert (quiet.exit_code, quiet.stdout) == (told.exit_code, told.stdout)


def test_only_what_is_read_is_given_to_an_answer(box: Path) -> None:

    bundle = Bundle(box / "b")
    bundle.folder.mkdir()
    bundle.add("journal.export", b"x", "")
    bundle.add("logs/7.log", b"x", "")
    bundle.add("units/a.txt", b"x", "")
    assert [path.name for path in files_of(bundle)] == ["journal.export", "7.log"]


@pytest.mark.parametrize(
    "probe",
    [
        'path = "props"\nports = [1]\nwhat = "x"',
        'path = "/a b"\nports = [1]\nwhat = "x"',
        'path = "//evil.example/"\nports = [0]\nwhat = "x"',
        'path = "/x"\nports = "8080"\nwhat = "x"',
        'path = "/x"\nports = [8080]',
        'path = "/x"\nports = [8080]\nwhat = "x"\nmethod = "POST"',
    ],
)
def test_a_probe_is_a_path_ports_and_what_it_answers(probe: str) -> None:
    text = (
        'program = "p"\ntitle = "p"\n'
        f"[[probe]]\n{probe}\n"
        '[[pattern]]\nname = "a"\nconst = { what = "a" }\ncontains = "x"\nregex = "^x$"\n'
        '[[pattern.sample]]\nline = "x"\n'
    )
    with pytest.raises(CatalogueError, match="probe"):
        load_programs([("p.toml", text)])


# -- a real server ----------------------------------------------------------------------------------------------------

SERVER = os.environ.get("FORENSICS_LLAMA_SERVER") or shutil.which("llama-server")
START_S = 60


def posted(port: int, path: str, **wanted: Any) -> dict[str, Any]:
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
    asking.request("POST", path, json.dumps(wanted), {"Content-Type": "application/json"})
    told: dict[str, Any] = json.load(asking.getresponse())
    return told


@pytest.fixture
def real_server(box: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server on the CPU that no unit started, that prints to a file and has answered one request."""
    if not SERVER:
        pytest.skip("no llama-server: install one, or name it in FORENSICS_LLAMA_SERVER")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = write_tiny_model(box / "tiny.gguf")
    command = [SERVER, "-m", str(model), "--port", str(port), "--device", "none", "-lv", "4", "-c", "512"]
    with (box / "server.log").open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def mine(catalogue: Catalogue) -> list[Running]:
        return [one for one in running(catalogue) if one.pid == server.pid]

    monkeypatch.setattr("forensics.capture.running", mine)
    for name in ("systemctl", "journalctl", "nvidia-smi"):
        tool(box / "tools", name, "exit 1\n")
    try:
        until = time.monotonic() + START_S
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            except OSError:  # not there yet, or loading
                if server.poll() is not None or time.monotonic() > until:
                    pytest.fail((box / "server.log").read_text())
                time.sleep(0.1)
        assert posted(port, "/completion", prompt="abc", n_predict=4)["tokens_predicted"] == 4
        yield port
    finally:
        server.terminate()
        server.wait(30)


def test_a_real_server_on_this_machine_is_found_asked_and_explained(box: Path, real_server: int) -> None:
    folder = taken(box)
    status, _, props = (folder / f"probes/{real_server}.props.txt").read_text().partition("\n")
    assert status == "200"
    assert json.loads(props)["model_path"] == str(box / "tiny.gguf")
    (now,) = explained()["loads"]
    (load,) = explained(str(folder))["loads"]
    for one in (now, load):
        assert (one["engine"], one["model"], one["end_reason"]) == ("llama.cpp", str(box / "tiny.gguf"), "log_ends")
        items = {item["kind"]: item["bytes"] for device in one["devices"] for item in device["items"]}
        assert {device["where"] for device in one["devices"]} == {"host"}
        assert items["weights"] == pytest.approx(WEIGHTS_BYTES, abs=0.005 * 2**20)
        assert items["kv_cache"] == pytest.approx(KV_BYTES, abs=0.005 * 2**20)
    outcome = CliRunner().invoke(app, ["validity", str(folder), "--format", "json", "--quiet"])
    (asked,) = json.loads(outcome.stdout)["loads"]
    assert asked["load_id"] == load["load_id"]
    assert [(row["prompt_tokens"], row["decode_tokens"]) for row in asked["rows"]] == [(5, 4)]  # <s>, a blank, a, b, c
