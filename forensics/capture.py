"""Take one bundle of evidence from this machine: journal, cards, what services say of themselves, versions, units.

Every tool that is missing and everything that may not be read becomes a line of the manifest with its remedy; nothing
of that is fatal. Nothing is changed: services are asked on loopback only, by what their catalogue declares.
"""

from __future__ import annotations

import grp
import http.client
import json
import os
import platform
import re
import secrets
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import __version__
from .anonymize import Anonymizer, masked
from .bundle import LOGS, Bundle, Service, run
from .catalogue import Catalogue, Program
from .errors import UsageError
from .processes import Running, listening, running
from .report_json import render_json

__all__ = ["SCHEMA", "capture", "collect", "find_services", "line_prefix", "take_outputs"]

SCHEMA = "forensics.capture/1"

EXPORT_S = 900.0
PROBE_S = 2.0
PROBE_BYTES = 4 * 1024 * 1024
SAMPLE_MS = 500
LOG_BYTES = 256 * 1024 * 1024
"""Of a log that is larger, nothing is taken: what a server loaded is told at its beginning."""

CARDS = (
    "timestamp,index,uuid,pci.bus_id,name,driver_version,memory.total,memory.reserved,memory.used,memory.free,"
    "utilization.gpu,power.draw"
)
HOLDERS = "timestamp,gpu_uuid,pid,process_name,used_gpu_memory"

UNIT_NAME = re.compile(r"[\w@:.\\][\w@:.\\-]*")
PORT = re.compile(r"(?:^|\s)(?:--port|-port|--listen|-l|-p)(?:\s+|=)(?:[\w.\[\]*-]*:)?(\d{2,5})\b")
ADDRESS = re.compile(r"\b[A-Z_]*(?:HOST|ADDR|LISTEN|PORT)=\"?(?:\w+://)?(?:[\w.\[\]*-]*:)?(\d{2,5})\b")

HINT = "not seeing messages from other users and the system"
"""What journalctl says to somebody who may read only their own messages."""


# -- the whole --------------------------------------------------------------------------------------------------------


def capture(
    target: Path,
    catalogue: Catalogue,
    *,
    units: Sequence[str] = (),
    seconds: float = 5.0,
    anonymize: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Bundle:
    """Write a bundle into a new folder, or into an archive where the name ends in .tar.gz.

    Raises:
        UsageError: There is something already, or nothing can be written there.
    """
    is_archive = target.name.endswith((".tar.gz", ".tgz"))
    if target.exists() and (is_archive or not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: there is something already; name a new folder or archive")
    with tempfile.TemporaryDirectory(prefix="forensics-capture-") as scratch:
        stem = re.sub(r"\.(?:tar\.gz|tgz)$", "", target.name)
        folder = Path(scratch, stem) if is_archive else target
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{target}: cannot write there: {error.strerror or error}") from error
        bundle = collect(folder, catalogue, units=units, seconds=seconds, anonymize=anonymize, tell=tell)
        if is_archive:
            _pack(folder, target)
    return bundle


def collect(
    folder: Path,
    catalogue: Catalogue,
    *,
    units: Sequence[str] = (),
    seconds: float = 5.0,
    anonymize: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Bundle:
    """Fill a folder with evidence of this machine, and its manifest."""
    bundle = Bundle(folder)
    if anonymize:
        programs = [one for program in catalogue.programs for one in program.process_names]
        sites = [one for program in catalogue.programs for one in program.sites]
        hosts = {socket.gethostname(), platform.node()}
        words = [word for literal in catalogue.literals() for word in re.findall(r"\w+", literal.decode())]
        bundle.names = Anonymizer(secrets.token_bytes(32), hosts, programs, line_prefix(catalogue), sites, words)
    for unit in units:
        if not UNIT_NAME.fullmatch(unit):
            raise UsageError(f"--unit {unit}: that is no name of a unit")
    begun = datetime.now(UTC)
    tell("cards")
    sampling = _begin_samples(bundle, seconds)
    tell("services")
    bundle.services = find_services(catalogue, units, bundle)
    bundle.servers = running(catalogue)
    _units(bundle)
    _ask(bundle, catalogue)
    _versions(bundle)
    tell(f"samples for {seconds:g} s")
    _end_samples(bundle, sampling, seconds)
    tell("journal of this boot")
    _journal(bundle, catalogue)
    take_outputs(bundle, bundle.servers)
    manifest = {
        "schema": SCHEMA,
        "made_at": begun.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "made_by": f"forensics {__version__}",
        "anonymized": anonymize,
        "services": [
            {"unit": one.unit, "programs": list(one.programs), "ports": list(one.ports)} for one in bundle.services
        ],
        "files": sorted(bundle.files, key=lambda one: str(one["name"])),
        "not_read": [{"what": one.what, "why": one.why, "remedy": one.remedy} for one in bundle.not_read],
    }
    text = render_json(manifest)
    if bundle.names is not None:
        text = bundle.names.text(text)
    (folder / "manifest.json").write_text(text, "utf-8")
    return bundle


def _pack(folder: Path, target: Path) -> None:
    try:
        with tarfile.open(target, "x:gz") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.add(path, f"{folder.name}/{path.relative_to(folder)}", filter=_nobody)
    except OSError as error:
        raise UsageError(f"{target}: cannot write there: {error.strerror or error}") from error
    target.chmod(0o600)


def _nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry without the user that made it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def line_prefix(catalogue: Catalogue) -> Callable[[str], str | None]:
    """Gives the message of a line that begins as a program of the catalogue begins its lines."""
    grammars = [program.grammar for program in catalogue.programs]

    def message(line: str) -> str | None:
        for grammar in grammars:
            found = grammar.split(line)
            if found is not None and (found.present or found.tag is not None):
                return found.message
        return None

    return message


# -- services ---------------------------------------------------------------------------------------------------------


def find_services(catalogue: Catalogue, units: Sequence[str], bundle: Bundle) -> list[Service]:
    """Units that start a program of the catalogue, or that were named, with the ports that they are told to use."""
    wanted = [unit if "." in unit else f"{unit}.service" for unit in units]
    listed = run(["systemctl", "list-units", "--type=service", "--all", "--plain", "--no-legend", "--no-pager"])
    if listed.failed:
        # Nothing can be named where systemd does not run the machine (sd_booted(3)).
        can_name = not wanted and Path("/run/systemd/system").is_dir()
        bundle.lacks("the list of units", listed.failed, "name them: --unit NAME" if can_name else "")
    names = [line.split()[0] for line in listed.out.decode("utf-8", "replace").splitlines() if line.split()]
    found: list[Service] = []
    for unit in dict.fromkeys([*wanted, *(one for one in names if UNIT_NAME.fullmatch(one))]):
        shown = run(["systemctl", "show", "--no-pager", "--property=ExecStart,Environment", "--", unit])
        text = shown.out.decode("utf-8", "replace")
        programs = tuple(one.name for one in catalogue.programs if _starts(one, unit, text))
        if programs or unit in wanted:
            ports = {int(one) for one in (*PORT.findall(text), *ADDRESS.findall(text)) if 0 < int(one) < 65536}
            found.append(Service(unit, programs, text, tuple(sorted(ports))))
    return found


def _starts(program: Program, unit: str, text: str) -> bool:
    """Whether a unit's command, or its name, is one of a program's."""
    if not program.process_names:
        return False
    stem = unit.removesuffix(".service")
    words = re.findall(r"[^\s;{}\"'=\[\]]+", text)
    if any(one.search(word) for one in program.process_names for word in (stem, *words)):
        return True
    return program.name in (stem, *(Path(word).name for word in words))


def _units(bundle: Bundle) -> None:
    """What each unit is made of, without secrets, and how it is now."""
    for service in bundle.services:
        for verb, name in (("cat", f"units/{service.unit}.txt"), ("status", f"units/{service.unit}.status.txt")):
            options = ["--lines=0"] if verb == "status" else []
            shown = run(["systemctl", verb, "--no-pager", *options, "--", service.unit])
            if shown.failed:
                bundle.lacks(f"unit {service.unit} ({verb})", shown.failed)
                continue
            text = masked(shown.out.decode("utf-8", "replace"))
            bundle.add(name, text.encode(), f"systemctl {verb}, secrets removed")


# -- self-reports -----------------------------------------------------------------------------------------------------


def _ask(bundle: Bundle, catalogue: Catalogue) -> None:
    """Ask what listens on loopback, by the probes that its program declares."""
    open_ports = listening()
    asked: set[tuple[int, str]] = set()
    for program in catalogue.programs:
        found: Sequence[Service | Running] = [*bundle.services, *bundle.servers]
        mine = {port for one in found if program.name in one.programs for port in one.ports}
        for probe in program.probes:
            for port in sorted({*probe["ports"], *mine}):
                if (open_ports is not None and port not in open_ports.values()) or (port, probe["path"]) in asked:
                    continue
                asked.add((port, probe["path"]))
                answer = ask(port, probe["path"])
                if answer is not None:
                    name = f"probes/{port}{probe['path'].replace('/', '.')}.txt"
                    text = masked(answer.decode("utf-8", "surrogateescape"))
                    bundle.add(
                        name,
                        text.encode("utf-8", "surrogateescape"),
                        f"GET {probe['path']} on port {port}: {probe['what']}",
                    )


def ask(port: int, path: str) -> bytes | None:
    """What a server on loopback answers: its status and its text; None if nobody answers there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_S)
    try:
        connection.request("GET", path, headers={"User-Agent": f"forensics/{__version__}", "Connection": "close"})
        answer = connection.getresponse()
        body = answer.read(PROBE_BYTES)
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return f"{answer.status}\n".encode() + (body if answer.status == 200 else b"")


def _versions(bundle: Bundle) -> None:
    """What is installed here, as far as it says so without being started."""
    about: dict[str, Any] = {"forensics": __version__, "kernel": platform.release(), "machine": platform.machine()}
    try:
        about["system"] = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        about["system"] = platform.system()
    first = run(["systemctl", "--version"]).out.decode("utf-8", "replace").splitlines()
    about["systemd"] = first[0] if first else None
    driver = Path("/proc/driver/nvidia/version")
    try:
        about["nvidia"] = driver.read_text("utf-8").splitlines()[0]
    except (OSError, UnicodeDecodeError, IndexError):
        about["nvidia"] = None
    bundle.add("versions.json", render_json(about).encode(), "versions")


# -- cards ------------------------------------------------------------------------------------------------------------


def _begin_samples(bundle: Bundle, seconds: float) -> list[tuple[str, str, subprocess.Popen[bytes], Path]]:
    """Begin to sample cards and the processes on them; in UTC, since these times print no zone."""
    if seconds <= 0:
        return []
    tool = shutil.which("nvidia-smi")
    if tool is None:
        bundle.lacks("the cards", "nvidia-smi is not installed", "install the driver's tools, or sample on the host")
        return []
    begun = []
    for query, columns, name in (("gpu", CARDS, "gpu.csv"), ("compute-apps", HOLDERS, "apps.csv")):
        path = Path(tempfile.mkstemp(prefix="forensics-", suffix=".csv")[1])
        command = [tool, f"--query-{query}={columns}", "--format=csv", "-lms", str(SAMPLE_MS)]
        with path.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  (our own command)
                command,
                stdout=out,
                stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "TZ": "UTC", "LC_ALL": "C"},
            )
        begun.append((name, f"nvidia-smi --query-{query}, every {SAMPLE_MS} ms, UTC", process, path))
    whole = run([tool, "-q", "-x"])
    if whole.failed:
        bundle.lacks("nvidia-smi -q -x", whole.failed)
    else:
        # As JSON: an answer of its own kind, which is no evidence that is read.
        wrapped = {"command": "nvidia-smi -q -x", "output": whole.out.decode("utf-8", "replace").splitlines()}
        bundle.add("nvidia-smi-q-x.json", json.dumps(wrapped, indent=1).encode(), "nvidia-smi -q -x, line by line")
    return begun


def _end_samples(
    bundle: Bundle, sampling: Sequence[tuple[str, str, subprocess.Popen[bytes], Path]], seconds: float
) -> None:
    if sampling:
        time.sleep(seconds)
    for name, what, process, path in sampling:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        content = path.read_bytes()
        path.unlink(missing_ok=True)
        content = content[: content.rfind(b"\n") + 1]  # the last row may be torn
        if content.count(b"\n") > 1 or b"timestamp" in content:
            bundle.add(name, content, what)
        else:
            said = content.decode("utf-8", "replace").strip().splitlines()
            bundle.lacks("the cards", f"nvidia-smi: {said[0] if said else 'it printed nothing'}", "check the driver")


# -- journal ----------------------------------------------------------------------------------------------------------


def _journal(bundle: Bundle, catalogue: Catalogue) -> None:
    """This boot's messages of the services, of their programs wherever they ran, and of the kernel."""
    matches: list[list[str]] = [["_TRANSPORT=kernel"]]
    for service in bundle.services:
        matches += [
            [f"_SYSTEMD_UNIT={service.unit}"],
            [f"_SYSTEMD_USER_UNIT={service.unit}"],
            [f"UNIT={service.unit}", "_PID=1"],
        ]
    for fields in ("_COMM", "SYSLOG_IDENTIFIER", "CONTAINER_NAME"):
        for value in _values(fields):
            if _is_ours(catalogue, value):
                matches.append([f"{fields}={value}"])
    arguments: list[str] = []
    for match in matches:
        arguments += ["+", *match] if arguments else match
    # A large journal goes to a file, not through memory.
    with tempfile.TemporaryFile() as out:
        try:
            done = subprocess.run(  # noqa: S603  (our own command; names were checked or come from the journal)
                ["journalctl", "-b", "-o", "export", "--no-pager", "-q", *arguments],  # noqa: S607
                stdout=out,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                timeout=EXPORT_S,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
            failed = done.stderr.decode("utf-8", "replace").strip() if done.returncode else ""
        except FileNotFoundError:
            failed = "journalctl is not installed"
        except (OSError, subprocess.TimeoutExpired) as error:
            failed = f"journalctl failed: {error}"
        out.seek(0)
        content = out.read()
    if content:
        bundle.add("journal.export", content, "journalctl -b -o export: the services, their programs and the kernel")
    else:
        remedy = "" if any(one.output for one in bundle.servers) else _remedy()
        bundle.lacks("the journal", failed or "it holds no message of a known program in this boot", remedy)
    _may_read(bundle)


def take_outputs(bundle: Bundle, processes: Sequence[Running]) -> None:
    """What servers printed that write neither to the journal nor through one that does."""
    for one in processes:
        what = f"what pid {one.pid} ({', '.join(one.programs)}) printed"
        engine = "podman" if one.engine == "libpod" else "docker"
        asked = None if one.container is None else f"{engine} logs {one.container[:12]} > FILE, and give that file"
        if one.output is not None:
            try:
                size = one.output.stat().st_size
                content = one.output.read_bytes() if size <= LOG_BYTES else b""
            except OSError as error:
                bundle.lacks(what, (error.strerror or str(error)).lower(), asked or "run it with sudo")
                continue
            if content:
                bundle.add(f"{LOGS}/{one.pid}.log", content, f"{what}, to a file")
            elif size:
                path = os.path.realpath(one.output)
                bundle.lacks(what, f"{path} has {size} bytes, more than are taken", f"give it: explain-vram {path}")
        elif one.where == "hidden":
            bundle.lacks(what, "this user may not see where it goes", asked or "run it with sudo")
        elif one.where == "pipe":
            bundle.lacks(what, "it goes to another program", asked or "give the file or the journal that has it")
        elif one.where in {"terminal", "nowhere"}:
            bundle.lacks(what, "nothing keeps it", asked or "start the server with > FILE 2>&1, or as a unit")


def _values(name: str) -> list[str]:
    """The values that a field has in the journal."""
    return [
        one
        for one in run(["journalctl", "-b", "--no-pager", "-F", name]).out.decode("utf-8", "replace").splitlines()
        if one
    ]


def _is_ours(catalogue: Catalogue, value: str) -> bool:
    return any(one.search(value) for program in catalogue.programs for one in program.process_names) or any(
        value == program.name for program in catalogue.programs if program.process_names
    )


def _may_read(bundle: Bundle) -> None:
    """Say plainly whether messages of the system are missing, and what would let us read them."""
    said = run(["journalctl", "-b", "-n", "1", "--no-pager"])
    if HINT in said.error:
        bundle.lacks("messages of the system and of other users", "this user may not read them", _remedy())


def _remedy() -> str:
    """How to be allowed to read the journal."""
    groups = []
    for name in ("systemd-journal", "adm"):
        try:
            grp.getgrnam(name)
        except KeyError:
            continue
        groups.append(name)
    if os.geteuid() == 0 or not groups:
        return "give the log itself: explain-vram FILE, or podman/docker logs CONTAINER > FILE"
    return f"run it with sudo, or once: sudo usermod -aG {groups[0]} $USER, then log in again"
