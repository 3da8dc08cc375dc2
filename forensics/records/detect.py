"""Tell the format of a source from its first bytes, never from its name."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from forensics.records.block_table import is_block_table
from forensics.records.card_json import has_shape
from forensics.records.exposition import METRIC, STATUS
from forensics.records.inside import is_markdown, is_tar
from forensics.records.journal_file import MAGIC
from forensics.records.journal_text import style_of
from forensics.records.journal_verbose import is_verbose
from forensics.records.json_lines import is_docker, is_log_line, object_of
from forensics.records.prefixed import prefix_of
from forensics.records.probe_rows import is_probe_row
from forensics.records.reports import has_counters, is_report_table
from forensics.records.rocm import is_rocm_concise, is_rocm_csv, is_rocm_text
from forensics.records.smi_columns import Column, header_of, infer_columns
from forensics.records.smi_monitor import is_monitor
from forensics.records.smi_table import is_table
from forensics.records.turn_log import is_turn_header

__all__ = ["Format", "detect"]

_SAMPLE = 200
"""Lines that are looked at."""

_EXPORT_ENTRY = re.compile(rb"^__(?:CURSOR|REALTIME_TIMESTAMP)=", re.MULTILINE)
_EXPORT_FIELD = re.compile(rb"[A-Z_][A-Z0-9_]{0,63}(?:=|\n)")
_CONTROL = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32)) + b"\x7f"

_MAGIC = (
    (b"7z\xbc\xaf\x27\x1c", "archive", "unpack it and give the folder"),
    (b"PAR1", "binary", "give logs, not tables"),
    (b"\x7fELF", "binary", "give logs, not programs"),
    (b"GGUF", "binary", "give logs, not models"),
    (b"\x89PNG", "binary", "give the text, not its picture"),
    (b"\xff\xd8\xff", "binary", "give the text, not its picture"),
    (b"%PDF", "binary", "give the text, not a document"),
)


class Format(NamedTuple):
    """What a source is and, where it is set aside, why and what to do.

    `severity` is empty for a format that is read.
    """

    name: str
    severity: str = ""
    why: str = ""
    remedy: str = ""
    columns: list[Column] | None = None


_HOLE = re.compile(rb"\0{64,}")


def detect(head: bytes, *, whole: bool) -> Format:
    """Name the format of a source.

    Args:
        head: Its first 64 KiB, after decompression.
        whole: The source ends there.
    """
    body = head.removeprefix(b"\xef\xbb\xbf")
    if whole and not body.strip():
        return Format("empty", "note", "it holds nothing" if not body else "it holds only blanks")
    if body.startswith(MAGIC):
        return Format("journal-native")
    for magic, name, remedy in _MAGIC:
        if body.startswith(magic):
            return Format(
                name, "error" if name != "binary" else "note", f"its first bytes are those of: {name}", remedy
            )
    if body.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Format("zip")
    if is_tar(body):
        return Format("tar")
    if _EXPORT_FIELD.match(body.lstrip(b"\n")) and _EXPORT_ENTRY.search(body):
        return Format("journal-export")
    if _is_binary(body, whole=whole):
        return Format("binary", "note", "its bytes are no text", "give the text of a log")
    sample = [line.removesuffix(b"\r") for line in body.split(b"\n")]
    if not whole and len(sample) > 1:
        del sample[-1]
    sample = [line for line in sample[:_SAMPLE] if line.strip()]
    if not sample:
        return Format("text")
    if STATUS.fullmatch(sample[0]) and len(sample) > 1:
        # An answer saved with its status before it is what its body is.
        answer = _json(sample[1:], body.split(b"\n", 1)[1], whole=whole) or _telemetry(sample[1:])
        if answer is not None:
            return answer
    found = _json(sample, body, whole=whole) or _telemetry(sample) or _prefixed(sample)
    if found is not None:
        return found
    return Format("markdown") if is_markdown(body.split(b"\n")) else Format("text")


def _is_binary(body: bytes, *, whole: bool) -> bool:
    # A log that was emptied under its writer begins with a hole of NULs, and a crash leaves one of whole blocks where
    # the file system had not written yet; the rest decides.
    text = _HOLE.sub(b"", body.lstrip(b"\0"))
    if not text:
        return whole
    strange = len(text) - len(text.translate(None, _CONTROL))
    return strange * 20 > len(text)


def _json(sample: list[bytes], body: bytes, *, whole: bool) -> Format | None:
    first = sample[0].lstrip(b" \t\x1e")
    if not first.startswith((b"{", b"[")):
        return None
    entries = [entry for entry in (object_of(line.strip(b"\x1e")) for line in sample) if entry is not None]
    names = set().union(*entries) if entries else set()
    if "__REALTIME_TIMESTAMP" in names or "__CURSOR" in names:
        return Format("journal-json")
    set_aside = Format("json", "note", "it is a JSON document, not a log")
    if not any(is_docker(entry) or is_log_line(entry) for entry in entries):
        if has_shape(body):
            return Format("json-capture")
        if any(has_counters(entry) for entry in entries):
            return Format("request-jsonl")
        if any(is_probe_row(entry) for entry in entries):
            return Format("probe-jsonl")
    if not entries:
        if _is_document(body, whole=whole) or first.startswith((b'{"', b"[{")) or first in (b"{", b"["):
            return set_aside
        return None
    if any(is_docker(entry) for entry in entries):
        return Format("docker-json")
    if any(is_log_line(entry) for entry in entries):
        return Format("json-log")
    return set_aside if object_of(sample[0]) is not None else None


def _is_document(body: bytes, *, whole: bool) -> bool:
    if not whole:
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _telemetry(sample: list[bytes]) -> Format | None:
    first = sample[0]
    if first.startswith((b"# HELP ", b"# TYPE ")) or all(_is_metric(line) for line in sample):
        return Format("metrics")
    if is_turn_header(first):
        return Format("turn-log")
    if any(header_of(line) is not None for line in sample[:3]):
        return Format("nvidia-smi-csv")
    columns = infer_columns(sample[:50])
    if columns is not None:
        return Format("nvidia-smi-csv", columns=columns)
    if is_table(sample):
        return Format("nvidia-smi-table")
    if any(line.startswith(b"==============NVSMI LOG") for line in sample[:5]):
        return Format("nvidia-smi-query")
    if any(line.startswith(b"<nvidia_smi_log>") for line in sample[:5]):
        return Format("nvidia-smi-xml")
    if any(is_monitor(line) for line in sample[:5]):
        return Format("nvidia-smi-monitor")
    if is_rocm_text(sample):
        return Format("rocm-smi-text")
    if any(is_rocm_concise(line) for line in sample[:8]):
        return Format("rocm-smi-concise")
    if any(is_rocm_csv(line) for line in sample[:3]):
        return Format("rocm-smi-csv")
    if is_block_table(sample):
        return Format("block-table")
    if any(is_report_table(line) for line in sample[:3]):
        return Format("loaded-models")
    return None


def _is_metric(line: bytes) -> bool:
    found = METRIC.fullmatch(line)
    return found is not None and (found[1] is not None or b"__name__" in (found[2] or b""))


def _prefixed(sample: list[bytes]) -> Format | None:
    name = "journal-verbose" if is_verbose(sample) else prefix_of(sample) or style_of(sample)
    return None if name is None else Format(name)
