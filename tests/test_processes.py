"""Servers that run here: which processes they are, and where what they print can be read."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from forensics.bundle import Bundle, words
from forensics.capture import take_outputs
from forensics.catalogue import load_catalogue
from forensics.processes import Running, running

CATALOGUE = load_catalogue(())
CONTAINER = "ab" * 32


def process(
    root: Path, pid: int, *command: str, comm: str = "x", parent: int = 1, cgroup: str = "/", output: Path | None = None
) -> None:
    """What the kernel says of one process, as far as it is asked."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_text(f"{comm}\n")
    (folder / "cmdline").write_text("\0".join([*command, ""]))
    (folder / "stat").write_text(f"{pid} (a name) with ) in it) S {parent} 1 1 0")
    (folder / "cgroup").write_text(f"0::{cgroup}\n")
    if output is not None:
        (folder / "fd" / "1").symlink_to(output)


def found(root: Path) -> list[tuple[int, str]]:
    return [(one.pid, " ".join(one.programs)) for one in running(CATALOGUE, root)]


@pytest.mark.parametrize(
    ("command", "comm", "program"),
    [
        (("/usr/local/bin/llama-server", "-m", "/m/a.gguf"), "llama-server", "llama.cpp"),
        (("/usr/bin/ollama", "serve"), "ollama", "ollama"),
        (("/usr/bin/python3", "/usr/local/bin/vllm", "serve"), "python3", "vllm"),
        (("python3.12", "-m", "vllm.entrypoints.openai.api_server"), "python3.12", "vllm"),
        (("/venv/bin/python", "-m", "sglang.launch_server"), "python", "sglang"),
    ],
)
def test_a_server_is_known_by_its_command_its_script_or_its_module(
    tmp_path: Path, command: tuple[str, ...], comm: str, program: str
) -> None:
    process(tmp_path, 50, *command, comm=comm)
    assert found(tmp_path) == [(50, program)]


@pytest.mark.parametrize(
    ("command", "comm"),
    [
        (("/usr/bin/vim", "/var/log/llama-server"), "vim"),
        (("tail", "-f", "ollama"), "tail"),
        (("python3", "-c", "import vllm"), "python3"),
        (("/usr/sbin/sshd", "-D"), "sshd"),
        ((), "kworker/0:1"),
        ((), "llama-server"),
    ],
)
def test_who_only_names_a_server_is_none(tmp_path: Path, command: tuple[str, ...], comm: str) -> None:
    process(tmp_path, 50, *command, comm=comm)
    assert found(tmp_path) == []


def test_a_child_of_a_server_is_not_listed_beside_it(tmp_path: Path) -> None:
    process(tmp_path, 50, "/usr/bin/ollama", "serve", comm="ollama")
    process(tmp_path, 51, "/bin/sh", comm="sh", parent=50)
    process(tmp_path, 52, "/usr/lib/ollama/llama-server", comm="llama-server", parent=51)
    process(tmp_path, 60, "/usr/bin/llama-server", comm="llama-server", parent=1)
    assert found(tmp_path) == [(50, "ollama"), (60, "llama.cpp")]


def test_where_a_server_prints_is_told(tmp_path: Path) -> None:
    log, pipe, bus = tmp_path / "server.log", tmp_path / "pipe", tmp_path / "s"
    log.write_text("x\n")
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(bus))
    for pid, output in enumerate((log, pipe, bus, Path("/dev/null"), Path("/dev/zero"), None), 50):
        process(tmp_path, pid, "llama-server", output=output)
    assert [one.where for one in running(CATALOGUE, tmp_path)] == [
        *("file", "pipe", "journal", "nowhere", "terminal", "hidden")
    ]


def test_what_a_container_printed_is_read_where_docker_keeps_it(tmp_path: Path) -> None:
    kept = tmp_path / "var/lib/docker/containers" / CONTAINER / f"{CONTAINER}-json.log"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}\n")
    process(tmp_path, 50, "llama-server", cgroup=f"/system.slice/docker-{CONTAINER}.scope")
    process(tmp_path, 51, "llama-server", cgroup=f"/machine.slice/libpod-{CONTAINER}.scope")
    assert running(CATALOGUE, tmp_path) == [
        Running(50, ("llama.cpp",), "file", kept, "docker", CONTAINER),
        Running(51, ("llama.cpp",), "hidden", None, "libpod", CONTAINER),
    ]


def test_a_server_listens_where_it_holds_the_socket(tmp_path: Path) -> None:
    process(tmp_path, 50, "llama-server", "--port", "9999")
    process(tmp_path, 51, "llama-server")
    (tmp_path / "proc/50/fd/3").symlink_to("socket:[701]")
    (tmp_path / "proc/50/fd/4").symlink_to("socket:[702]")
    (tmp_path / "proc/net").mkdir()
    (tmp_path / "proc/net/tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 701 1 0\n"
        "   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 702 1 0\n"
        "   2: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 703 1 0\n"
    )
    assert [(one.pid, one.ports) for one in running(CATALOGUE, tmp_path)] == [(50, (8080,)), (51, ())]


def printed(pid: int) -> str:
    return f"what pid {pid} (llama.cpp) printed"


def test_a_bundle_has_what_went_to_a_file_and_says_how_to_get_at_the_rest(tmp_path: Path) -> None:
    log, empty = tmp_path / "server.log", tmp_path / "empty.log"
    log.write_text("main: model loaded\n")
    empty.write_text("")
    bundle = Bundle(tmp_path / "bundle")
    one = ("llama.cpp",)
    kept = "logs abababababab > FILE, and give that file"
    take_outputs(
        bundle,
        [
            Running(50, one, "file", log),
            Running(51, one, "file", empty),
            Running(52, one, "file", tmp_path / "gone.log"),
            Running(53, one, "journal"),
            Running(54, one, "pipe"),
            Running(55, one, "terminal"),
            Running(56, one, "hidden", None, "docker", CONTAINER),
            Running(57, one, "pipe", None, "libpod", CONTAINER),
        ],
    )
    assert [(entry["name"], entry["size_bytes"]) for entry in bundle.files] == [("logs/50.log", 19)]
    assert (tmp_path / "bundle/logs/50.log").read_text() == "main: model loaded\n"
    assert words(bundle.not_read) == [
        f"not read: {printed(52)}: no such file or directory; run it with sudo",
        f"not read: {printed(54)}: it goes to another program; give the file or the journal that has it",
        f"not read: {printed(55)}: nothing keeps it; start the server with > FILE 2>&1, or as a unit",
        f"not read: {printed(56)}: this user may not see where it goes; docker {kept}",
        f"not read: {printed(57)}: it goes to another program; podman {kept}",
    ]


def test_of_a_log_that_is_too_large_its_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "server.log"
    log.write_text("x" * 100)
    monkeypatch.setattr("forensics.capture.LOG_BYTES", 99)
    bundle = Bundle(tmp_path / "bundle")
    take_outputs(bundle, [Running(50, ("llama.cpp",), "file", log)])
    assert bundle.files == []
    assert words(bundle.not_read) == [
        f"not read: {printed(50)}: {log} has 100 bytes, more than are taken; give it: explain-vram {log}"
    ]
