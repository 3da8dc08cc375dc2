"""Lines of timed requests, for the tests of validity: rates in, journal out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asking_loads import asked, case_text
from opened import BEGIN
from opened import journal as journal_of

from forensics.ask_validity import validity

__all__ = ["BEGIN", "DRAFTING", "PLAIN", "beginning", "clock", "entry", "journal", "judged", "request"]


def entry(seconds: float, line: str, pid: int, unit: str) -> str:
    """A line in the journal of a unit."""
    return journal_of(pid, seconds, line, unit=unit).rstrip("\n")


def beginning(model: str, *more: str) -> list[tuple[float, str]]:
    """A load with all of its layers on the card, ready after ten seconds."""
    lines = [
        "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):",
        f"srv    load_model: loading model '/srv/models/{model}.gguf'",
        "load_tensors: offloaded 66/66 layers to GPU",
        *more,
    ]
    return [*((number / 10, line) for number, line in enumerate(lines)), (10.0, "srv  llama_server: model loaded")]


DRAFTING = (
    "spec common_specu: adding speculative implementation 'draft-mtp'",
    "spec common_specu: - n_max=6, n_min=0, p_min=0.00, n_embd=5120, backend_sampling=1",
)
PLAIN = ("spec common_specu: no implementations specified for speculative decoding",)


def request(
    task: int,
    begun: float,
    decode: float,
    prefill: float = 1000.0,
    *,
    tokens: int = 1000,
    prompt: int = 1000,
    cached: int = 0,
    drafts: tuple[int, int] | None = None,
    stop: str = "",
) -> list[tuple[float, str]]:
    """The lines of one request that is launched at a second; its times follow from its tokens and rates."""
    about = f"id  0 | task {task} |"
    prompt_s, decode_s = prompt / prefill, tokens / decode if decode else 0.0
    over = begun + prompt_s + decode_s
    per_s = f"{decode:8.2f}" if decode else "     inf"
    before = f"{1000 * prompt_s:11.2f} ms / {prompt:5} tokens (    1.00 ms per token, {prefill:8.2f} tokens per second)"
    after = f"{1000 * decode_s:11.2f} ms / {tokens:5} tokens (    1.00 ms per token, {per_s} tokens per second)"
    lines = [
        (begun, f"slot launch_slot_: {about} processing task, is_child = 0"),
        (
            begun,
            f"slot   operator(): {about} new prompt, n_ctx_slot = 9, n_keep = 0, task.n_tokens = {prompt + cached}",
        ),
        (begun, f"slot   operator(): {about} cached n_tokens = {cached}, memory_seq_rm [{cached}, end)"),
        *([(over, f"slot process_toke: {about} stopped by {stop}")] if stop else []),
        (over, f"slot print_timing: {about} prompt eval time = {before}"),
        (over, f"slot print_timing: {about}        eval time = {after}"),
    ]
    if drafts:
        counts = f"({drafts[0]:5} accepted / {drafts[1]:5} generated)"
        lines.append((over, f"slot print_timing: {about} draft acceptance = {drafts[0] / drafts[1]:.5f} {counts}"))
    return [*lines, (over, f"slot      release: {about} stop processing: n_tokens = {prompt + tokens}, truncated = 0")]


def journal(*lines: tuple[float, str], pid: int = 100, unit: str = "llm.service") -> str:
    return "".join(entry(seconds, f"{clock(seconds)} I {line}", pid, unit) + "\n" for seconds, line in lines)


def clock(seconds: float) -> str:
    micro = round(seconds * 1_000_000) + 1_000_000
    minutes, rest = divmod(micro, 60_000_000)
    return f"{minutes}.{rest // 1_000_000:02}.{rest // 1000 % 1000:03}.{rest % 1000:03}"


def judged(folder: Path, text: str) -> tuple[Any, dict[str, Any]]:
    answer, loads = asked(case_text(folder, text), validity)
    return answer, loads
