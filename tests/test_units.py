"""Printed amounts become base units with the rounding that each carries."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forensics.catalogue import load_catalogue
from forensics.units import MIB, parse_quantity, round_bytes, to_base, unwrap


@pytest.mark.parametrize(
    ("text", "unit", "value", "bound"),
    [
        ("6742.14", "MiB", Decimal("6742.14") * MIB, Decimal("0.005") * MIB),
        ("16", "MiB", Decimal(16) * MIB, Decimal(0)),
        ("15.27", "GiB", Decimal("15.27") * 1024 * MIB, Decimal("0.005") * 1024 * MIB),
        ("386,816", "B", Decimal(386816), Decimal(0)),
        ("-0.2", "GiB", Decimal("-0.2") * 1024 * MIB, Decimal("0.05") * 1024 * MIB),
        ("12", "GB", Decimal(12_000_000_000), Decimal(0)),
        ("15.26", "ms", Decimal("0.01526"), Decimal("0.000005")),
        ("13.2", "percent", Decimal("0.132"), Decimal("0.0005")),
    ],
    ids=["two places", "whole", "GiB", "thousands", "negative", "decimal", "time", "share"],
)
def test_a_number_keeps_its_value_and_half_of_its_last_place(
    text: str, unit: str, value: Decimal, bound: Decimal
) -> None:
    assert to_base(text, unit) == (value, bound)


@pytest.mark.parametrize("text", ["", "MiB", "1.2.3", "nan", "inf", "0x10"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        to_base(text, "MiB")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24.52GiB", (26_328_149_524, 5_368_709)),
        ("12 GB", (12_000_000_000, 0)),
        ("25108MiB", (25108 * MIB, 0)),
        ("7bytes", (7, 0)),
    ],
)
def test_a_size_that_a_person_types_needs_its_unit(text: str, size: tuple[int, int]) -> None:
    assert parse_quantity(text) == size


@pytest.mark.parametrize("text", ["24.52", "24.52 GiBs", "much", "", "5 min"])
def test_a_size_without_a_unit_of_size_says_how_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it as 24\.52GiB"):
        parse_quantity(text)


GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("line", "field", "size", "bound"),
    [
        ("ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 838447104", "size_bytes", 838447104, 0),
        (
            ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14136.04 MiB on device 0: cudaMalloc failed: out "
            "of memory"),
            "size_bytes",
            14136.04 * MIB,
            0.005 * MIB,
        ),
        ("print_info: file size   = 14.85 GiB (4.84 BPW) ", "size_bytes", 14.85 * GIB, 0.005 * GIB),
        ("print_info: file size   = 604.15 MiB (8.50 BPW)", "size_bytes", 604.15 * MIB, 0.005 * MIB),
        ("INFO 12-13 10:00:18 model_runner.py:1096] Loading model weights took 14.9888 GB", "size_bytes", 14.9888 * GIB,
         0.00005 * GIB),
        ("[2025-10-16 10:06:22 TP5] Memory pool end. avail mem=11.87 GB", "free_after_bytes", 11.87 * GIB, 0.005 * GIB),
        (
            ('time=2026-11-30T11:44:45.772Z level=INFO source=sched.go:480 msg="system memory" total="125.7 GiB" '
            'free="118.2 GiB" free_swap="8.0 GiB"'),
            "free_bytes",
            118.2 * GIB,
            0.05 * GIB,
        ),
        (
            ('time=2026-11-30T11:44:46.706Z level=INFO source=sched.go:671 msg="updated VRAM based on existing loaded '
            'models" gpu=0 library=CUDA total="23.6 GiB" available="787.5 MiB"'),
            "available_bytes",
            787.5 * MIB,
            0.05 * MIB,
        ),
        ("(EngineCore pid=1) INFO 05-04 10:05:57 [kv_cache_utils.py:1713] GPU KV cache size: 1,567,978 tokens",
         "tokens", 1567978, 0),
        ("load_tensors:        CUDA1 model buffer size =   655.73 MiB", "size_bytes", 655.73 * MIB, 0.005 * MIB),
        (
            ("common_params_fit_impl:   - CUDA0 (NVIDIA GeForce RTX 4090):  24080 total,  22450 used,   1157 free vs. "
            "target of   1024"),
            "available_bytes",
            1157 * MIB,
            0,
        ),
        (
            ("common_memory_breakdown_print: |   - CUDA0 (RTX 3090)   | 24124 = 23860 + (15946 = 15364 +     411 +     "
            "170) +      -15681 |"),
            "unaccounted_bytes",
            -15681 * MIB,
            0,
        ),
        (
            # 2^44 MiB less 15681: computed without sign
            ("common_memory_breakdown_print: |   - CUDA0 (RTX 3090)   | 24124 = 23860 + (15946 = 15364 +     411 +     "
            "170) + 17592186028735 |"),
            "unaccounted_bytes",
            -15681 * MIB,
            0,
        ),
        (
            ("(EngineCore pid=1) DEBUG 11-30 11:14:55 [v1/.../gpu_worker.py:1] Free memory after profiling: -0.31 GiB "
            "(total), -1.02 GiB (within requested)"),
            "free_after_bytes",
            -0.31 * GIB,
            0.005 * GIB,
        ),
        (
            ('time=2025-06-05T10:00:36.072-05:00 level=DEBUG source=gpu.go:441 msg="updating cuda memory data" '
            'gpu=GPU-00000000-0000-0000-0000-000000000002 name="NVIDIA GeForce RTX 3090" overhead="1020.0 MiB" '
            'before.total="24.0 GiB" before.free="21.2 GiB" now.total="24.0 GiB" now.free="17179869183.8 GiB" '
            'now.used="23.2 GiB"'),
            "free_bytes",
            -0.2 * GIB,
            0.05 * GIB,
        ),
    ],
    ids=[
        "bytes", "MiB of two places", "the larger unit, GiB", "the larger unit, MiB", "GB that means GiB",
        "GB that means GiB, SGLang", "GiB of one place", "MiB of one place", "thousands", "right-aligned", "columns",
        "negative", "wrapped MiB", "negative GiB", "wrapped GiB",
    ],
)  # fmt: skip
def test_a_number_is_read_as_its_program_means_it(line: str, field: str, size: float, bound: float) -> None:
    read = [
        matched
        for program in load_catalogue().programs
        for pattern in program.patterns
        if pattern.contains in line and (prefix := program.grammar.split(line)) is not None
        if (matched := pattern.match(prefix.message)) is not None
    ]
    assert [(getattr(one.event, field), one.bounds.get(field, 0)) for one in read] == [(round(size), round(bound))]


def test_halves_of_bytes_round_to_even() -> None:
    assert [round_bytes(Decimal(text)) for text in ("0.5", "1.5", "2.5")] == [0, 2, 2]


def test_a_number_that_wrapped_below_zero_is_read_as_negative() -> None:
    assert [unwrap(value) for value in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [0, 2**63 - 1, -(2**63), -1]
