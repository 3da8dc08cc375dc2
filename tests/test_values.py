"""Every value that a line of a public case gives comes out: one table, case by case, value by value.

Sizes are in the unit of the line, rounded to its places. What no line of a case says is not in the table.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import ready
from forensics.question import load_questions
from forensics.records import Named

FOLDER = Path(__file__).parent.parent / "fixtures" / "values"
UNITS = """
    CREATE MACRO kb(x) AS round(x / 1024, 1);
    CREATE MACRO mib(x) AS round(x / 1048576, 2);
    CREATE MACRO gib(x) AS round(x / 1073741824, 2);
"""
BUFFERS = "SELECT device, kind, mib(size_bytes) FROM buffer_allocated ORDER BY ordinal"
SETTINGS = "SELECT name, value FROM setting_reported ORDER BY ordinal"
TABLE = """
    SELECT device, mib(total_bytes), mib(free_bytes), mib(self_bytes), mib(model_bytes), mib(context_bytes),
        mib(compute_bytes), mib(unaccounted_bytes)
    FROM breakdown_reported ORDER BY ordinal
"""
FORECASTS = "SELECT what, device, mib(size_bytes), mib(available_bytes) FROM memory_estimated ORDER BY ordinal"
FAILED = "SELECT device, mib(size_bytes), size_bytes FROM allocation_failed ORDER BY ordinal"
POOLS = """
    SELECT number, gib(budget_bytes), tokens, request_tokens, concurrency
    FROM pool_sized LEFT JOIN load USING (load_id) ORDER BY ordinal
"""
LOADS = "SELECT engine, implied, ready_line IS NOT NULL, end_reason FROM load ORDER BY number"
LEFT_FREE = """
    SELECT line.text LIKE '%no changes needed' FROM memory_estimated JOIN line USING (line_id) WHERE what = 'left free'
"""
CARDS = """
    SELECT gpu_index, mib(used_bytes), mib(total_bytes) FROM card_sample JOIN card USING (card_id) ORDER BY at_us, 1
"""
MARKERS = "SELECT what, detail FROM marker_seen WHERE detail IS NOT NULL ORDER BY ordinal"

Row = tuple[Any, ...]
VALUES: dict[str, list[tuple[str, list[Row]]]] = {
    "llamacpp-drafter-overwrites-target": [
        (CARDS, [(1, 22992.0, 24576.0)]),
        (
            BUFFERS,
            [
                ("CUDA1", "weights", 3313.42),
                ("CUDA1", "weights", 655.73),
                ("CUDA1", "kv_cache", 80.0),
                ("CUDA1", "compute", 1606.48),
            ],
        ),
        # Added, never the last one: 3313.42 + 655.73.
        ("SELECT mib(sum(size_bytes)) FROM vram_ledger WHERE kind = 'weights'", [(3969.15,)]),
    ],
    "llamacpp-mtp-sibling-partial-load": [
        (
            TABLE,
            [
                ("CUDA0", 7807.0, 7627.0, 5658.0, 2542.0, 2622.0, 493.0, -5478.0),
                ("Host", None, None, 19891.0, 19627.0, 0.0, 264.0, None),
            ],
        ),
        (BUFFERS, [("CPU_Mapped", "weights", 21623.3), ("CUDA0", "weights", 555.21)]),
        ("SELECT offloaded, total FROM layers_offloaded", [(42, 42)]),
        ("SELECT detail FROM marker_seen WHERE what = 'partial_load'", [("23 of 753",)]),
        ("SELECT value FROM setting_reported WHERE name = 'n_ctx'", [("131072",)]),
        # The table is a projection: nothing of it is in the ledger. The mapping is a file's extent.
        ("SELECT mib(sum(size_bytes)) FROM vram_ledger WHERE device = 'CUDA0'", [(555.21,)]),
    ],
    "llamacpp-breakdown-table-three-cards": [
        (
            TABLE,
            [
                ("CUDA0", 24080.0, 9436.0, 14193.0, 13169.0, 38.0, 985.0, 451.0),
                ("CUDA1", 24080.0, 9868.0, 13756.0, 13169.0, 38.0, 548.0, 456.0),
                ("CUDA2", 24080.0, 9868.0, 13756.0, 13169.0, 38.0, 548.0, 456.0),
                ("CPU", 515628.0, None, 72.0, 0.0, 57.0, 15.0, None),
            ],
        ),
    ],
    "llamacpp-fit-two-cards-no-change": [
        (
            TABLE,
            [
                ("CUDA1", 24080.0, 23608.0, 21275.0, 9109.0, 9927.0, 2237.0, -20802.0),
                ("Host", None, None, 4465.0, 515.0, 0.0, 3950.0, None),
            ],
        ),
        (
            (
                "SELECT device, mib(total_bytes), mib(size_bytes), mib(available_bytes), mib(target_bytes) "
                "FROM memory_estimated ORDER BY ordinal"
            ),
            [
                ("CUDA0", 24080.0, 22450.0, 1157.0, 1024.0),
                ("CUDA1", 24080.0, 21275.0, 2332.0, 1024.0),
                (None, None, 43726.0, 47216.0, None),
            ],
        ),
        ("SELECT detail FROM marker_seen WHERE what = 'fit_end'", [("0.35",)]),
        (
            "SELECT detail FROM marker_seen WHERE what = 'fit_decision'",
            [("targets for free memory can be met on all devices, no changes needed",)],
        ),
        ("SELECT count(*) FROM item", [(0,)]),
    ],
    "llamacpp-mmproj-inside-fit-margin": [
        (
            FORECASTS,
            [
                ("mmproj (worst case)", None, 2447.8, None),
                ("device", None, 3287.0, 110100.0),
                ("left free", None, 106812.0, 3471.0),
            ],
        ),
        # Both are wanted on the device, and the margin is 1024 MiB and the tower's whole MiB.
        (
            "SELECT mib(sum(size_bytes)) FROM memory_estimated WHERE what IN ('mmproj (worst case)', 'device')",
            [(5734.8,)],
        ),
        (
            (
                "SELECT mib(max(available_bytes) FILTER (WHERE what = 'left free')) "
                "- floor(mib(max(size_bytes) FILTER (WHERE what LIKE 'mmproj%'))) FROM memory_estimated"
            ),
            [(1024.0,)],
        ),
        (LEFT_FREE, [(True,)]),
    ],
    "llamacpp-router-swap-force-kill": [
        ("SELECT reason, model, seconds_s FROM load_ended", [("killed", "qwen3.6-27b-hf-think-mtp", 10.0)]),
        ("SELECT name, value FROM setting_reported", [("ngram_mod occupancy", "9066/4194304 (0.00)")]),
        # The child's lines are the child's on that port, and the router's word about another model is not.
        (
            "SELECT label, count(*) FROM line JOIN process USING (process_id) WHERE label > '' GROUP BY 1",
            [("50002", 2)],
        ),
    ],
    "llamacpp-oom-line-but-server-lives": [
        (FAILED, [("1", 51748.72, 54262465823), ("CUDA1", 51748.72, 54262464512)]),
        ("SELECT slots, slot_tokens FROM load_ready", [(1, 50176)]),
        ("SELECT outcome FROM failures", [("survived",)]),  # lines at error level, and it gets ready
        ("SELECT message FROM failure_reported LIMIT 1", [("failed to allocate compute buffers",)]),
    ],
    "llamacpp-rocm-oom-says-cuda": [
        (FAILED, [("0", 14136.04, 14822712279), ("ROCm0", 14136.04, 14822711296)]),
        (LOADS, [("llama.cpp", True, False, "failed")]),
        # Five lines and more, one failure; the device is the buffer's.
        ("SELECT outcome, error_class, tried_bytes FROM failures", [("ended", "out_of_memory", 14822712279)]),
        (
            "SELECT message FROM failure_reported WHERE message LIKE '%failed to load model%'",
            [("failed to load model, '/models/Apertus-70B-Instruct-2509-IQ4_XS.gguf'",)],
        ),
        # The device's word for its API is CUDA, and the buffer is the one for prompts.
        (
            "SELECT message FROM failure_reported WHERE message LIKE '% pp %'",
            [("failed to initialize the context: failed to allocate compute pp buffers",)],
        ),
    ],
    "llamacpp-compose-repeated-oom": [
        (
            "SELECT device, mib(size_bytes), size_bytes, count(*) FROM allocation_failed GROUP BY ALL ORDER BY 1",
            [("1", 9866.0, 10345250816, 4), ("CUDA1", 9866.0, 10345253120, 4)],
        ),
        ("SELECT count(*) FROM failures", [(1,)]),
        ("SELECT slot_tokens FROM request_moved WHERE what = 'received'", [(32768,)]),
        ("SELECT count(*) FROM load_ready", [(1,)]),
        ("SELECT DISTINCT unit FROM process", [("deep-seek-1",)]),
        (
            "SELECT count(*) FROM line WHERE event = 'failure_reported' AND text LIKE '%llama_kv_cache_update_impl: %'",
            [(4,)],
        ),
    ],
    "llamacpp-hybrid-recurrent-state": [
        (
            BUFFERS,
            [
                ("ROCm_Host", "output", 2.32),
                ("ROCm0", "kv_cache", 768.0),
                ("ROCm0", "recurrent_state", 301.5),
                ("ROCm0", "compute", 1219.0),
                ("ROCm_Host", "compute", 288.05),
            ],
        ),
        (
            "SELECT mib(size_bytes), cells, layers, sequences, k_type FROM cache_described ORDER BY ordinal",
            [(768.0, 32768, 12, 4, "f16"), (301.5, 4, 48, 4, None)],
        ),
        ("SELECT value FROM setting_reported WHERE name IN ('n_ctx', 'n_seq_max') ORDER BY name", [("32768",), ("4",)]),
        (
            MARKERS,
            [
                ("context_below_training", "n_ctx_seq (32768) < n_ctx_train (262144)"),
                ("graph", " nodes  = 14666 (with bs=2048), 5918 (with bs=1)"),
                ("graph", " splits = 2"),
                ("reserve_end", "1"),
            ],
        ),
        (
            "SELECT mib(sum(size_bytes)) FROM vram_ledger WHERE kind IN ('kv_cache', 'recurrent_state')",
            [(1069.5,)],
        ),
    ],
    "llamacpp-draft-starts-with-1840-free": [
        (
            BUFFERS,
            [
                ("ROCm0", "kv_cache", 4352.0),
                ("ROCm_Host", "output", 0.58),
                ("ROCm0", "compute", 307.0),
                ("ROCm_Host", "compute", 74.01),
            ],
        ),
        (
            "SELECT layers, mib(size_bytes), k_type, mib(k_bytes), mib(v_bytes) FROM cache_described ORDER BY ordinal",
            [(64, None, "q8_0", None, None), (None, 4352.0, "q8_0", 2176.0, 2176.0)],
        ),
        ("SELECT device, mib(free_bytes), part FROM device_seen", [("ROCm0", 1840.0, "draft")]),
        (
            "SELECT model, what FROM model_identified",
            [("/models/Qwen2.5-Coder-0.5B-Instruct-IQ4_XS.gguf", "draft")],
        ),
    ],
    "llamacpp-spec-stats-three-drafters": [
        (
            (
                "SELECT event_scope, method, accepted, drafted, ratio, drafts, drafts_accepted, task "
                "FROM draft_accepted ORDER BY ordinal"
            ),
            [
                ("request", None, 118, 144, 0.81944, None, None, 689),
                ("load", "ngram-map-k", 0, 0, None, 0, 0, None),
                ("load", "ngram-mod", 43, 192, None, 3, 3, None),
                ("load", "draft-mtp", 1135, 1447, None, 727, 632, None),
            ],
        ),
        ("SELECT what, tokens FROM request_timed ORDER BY ordinal", [("prompt", 30), ("decode", 192), ("total", 222)]),
        ("SELECT DISTINCT label FROM line JOIN process USING (process_id)", [("50003",)]),
        (
            (
                "SELECT method, round(accepted / drafted, 3) FROM draft_accepted "
                "WHERE event_scope = 'load' AND drafted > 0 ORDER BY ordinal"
            ),
            [("ngram-mod", 0.224), ("draft-mtp", 0.784)],
        ),
    ],
    "llamacpp-fit-mtp-margin-vulkan": [
        (
            FORECASTS,
            [
                ("MTP context", None, 552.06, None),
                ("device", None, 19692.0, 23075.0),
                ("left free", None, 3383.0, 1576.0),
            ],
        ),
        ("SELECT device, pci_bus_id, mib(free_bytes) FROM device_seen", [("Vulkan0", "0000:c1:00.0", 23525.0)]),
        (
            "SELECT mib(sum(size_bytes)) FROM memory_estimated WHERE what IN ('MTP context', 'device')",
            [(20244.06,)],
        ),
        (
            (
                "SELECT mib(max(available_bytes) FILTER (WHERE what = 'left free')) "
                "- floor(mib(max(size_bytes) FILTER (WHERE what = 'MTP context'))) FROM memory_estimated"
            ),
            [(1024.0,)],
        ),
        (LEFT_FREE, [(True,)]),
    ],
    "llamacpp-2023-wording-no-offload": [
        ("SELECT offloaded, total FROM layers_offloaded", [(0, 35)]),
        (BUFFERS, [("CUDA", "weights", 0.0), ("CPU", "compute", 162.13)]),
        (FORECASTS, [("host memory for weights", "CPU", 4560.96, None)]),
        ("SELECT mib(size_bytes) FROM cache_described", [(1024.0,)]),
        ("SELECT value FROM setting_reported WHERE name = 'n_ctx'", [("2048",)]),
        ("SELECT detail FROM marker_seen WHERE what = 'devices'", [("2",)]),
    ],
    "llamacpp-2024-two-cards-pipeline": [
        ("SELECT offloaded, total FROM layers_offloaded", [(41, 41)]),
        (
            BUFFERS,
            [
                ("CPU", "weights", 1640.62),
                ("CUDA0", "weights", 5434.38),
                ("CUDA1", "weights", 13989.53),
                ("CUDA0", "kv_cache", 1536.0),
                ("CUDA1", "kv_cache", 3584.0),
                ("CUDA_Host", "output", 1.95),
                ("CUDA0", "compute", 672.01),
            ],
        ),
        ("SELECT mib(size_bytes) FROM cache_described", [(5120.0,)]),  # repeats the sum: it is in no ledger
        (
            "SELECT device, mib(sum(size_bytes)) FROM vram_ledger WHERE device LIKE 'CUDA_' GROUP BY 1 ORDER BY 1",
            [("CUDA0", 7642.39), ("CUDA1", 17573.53)],
        ),
        (
            "SELECT value FROM setting_reported WHERE name IN ('n_ctx', 'pipeline parallelism') ORDER BY name",
            [("4096",), ("enabled (n_copies=4)",)],
        ),
    ],
    "llamacpp-compose-plus-router-prefix": [
        (
            "SELECT device, description, mib(total_bytes), label FROM device_seen JOIN process USING (process_id)",
            [("0", "Tesla P40", 22905.0, "50004"), ("1", "Tesla P40", 22905.0, "50004")],
        ),
        ("SELECT detail FROM marker_seen WHERE what = 'devices'", [("2 CUDA devices (Total VRAM: 45811 MiB)",)]),
        ("SELECT model FROM scheduler_decided", [("Gemma4:P40",)]),  # a colon is part of the name
        (
            "SELECT text FROM arguments_reported ORDER BY ordinal",
            [
                ("/models/gemma-4-26B-A4B-it-UD-Q4_K_M.gguf",),
                ("--mmproj",),
                ("/models/mmproj-BF16.gguf",),
                ("--n-gpu-layers",),
                ("auto",),
                ("--parallel",),
                ("2",),
                ("--reasoning",),
                ("on",),
                ("--split-mode",),
                ("layer",),
                ("--tensor-split",),
                ("1,1",),
                ("--ubatch-size",),
                ("2048",),
            ],
        ),
        ("SELECT DISTINCT unit FROM process", [("llama-cuda",)]),
        (
            (
                "SELECT unnest(regexp_extract_all(string_agg(text, ' ' ORDER BY ordinal), '--\\S+ [^-]\\S*')) "
                "FROM arguments_reported"
            ),
            [
                ("--mmproj /models/mmproj-BF16.gguf",),
                ("--n-gpu-layers auto",),
                ("--parallel 2",),
                ("--reasoning on",),
                ("--split-mode layer",),
                ("--tensor-split 1,1",),
                ("--ubatch-size 2048",),
            ],
        ),
    ],
    "ollama-same-model-reloaded": [
        ("SELECT count(*), count(DISTINCT model) FROM load", [(2, 1)]),
        (
            "SELECT device, description, mib(total_bytes), mib(free_bytes) FROM device_seen WHERE device = 'CUDA0'",
            [("CUDA0", "NVIDIA GeForce RTX 3090", 24124.0, 23860.0)],
        ),
        (
            FORECASTS,
            [
                ("mmproj (worst case)", None, 1161.02, None),
                ("mmproj (worst case)", None, 1136.09, None),
                ("MTP context", None, 581.77, None),
            ],
        ),
        (BUFFERS, [("CUDA0", "compute", 132.02), ("CUDA_Host", "compute", 84.02)]),
        # What is reserved just before the speculative decoding context is there is that context's, not the target's.
        ("SELECT DISTINCT part FROM item WHERE mark = 'counted'", [("draft",)]),
        (
            TABLE,
            [
                ("CUDA0", 24124.0, 23860.0, 15946.0, 15364.0, 411.0, 170.0, -15681.0),
                ("Host", None, None, 804.0, 682.0, 0.0, 122.0, None),
            ],
        ),
        (SETTINGS, [("n_ctx_slot", "65536"), ("prompt cache", "enabled, size limit: 8192 MiB")]),
        ("SELECT seconds_s FROM load_ready WHERE seconds_s IS NOT NULL", [(5.42,)]),
        # From one start to the next, by the supervisor's own clock.
        (
            "SELECT round((max(time_us) - min(time_us)) / 1e6, 1) FROM marker_seen WHERE what = 'runner_awaited'",
            [(73.9,)],
        ),
    ],
    "ollama-journald-vision-four-cards": [
        (
            BUFFERS,
            [
                ("CUDA3", "weights", 6520.8),
                ("CUDA0", "kv_cache", 672.0),
                ("CUDA1", "kv_cache", 640.0),
                ("CUDA2", "kv_cache", 640.0),
                ("CUDA3", "kv_cache", 608.0),
            ],
        ),
        ("SELECT mib(sum(size_bytes)) FROM vram_ledger WHERE kind = 'kv_cache'", [(2560.0,)]),
        ("SELECT value FROM setting_reported WHERE name = 'n_ctx'", [("8192",)]),
        (
            "SELECT gib(total_bytes), gib(available_bytes) FROM scheduler_decided WHERE what = 'view' ORDER BY ordinal",
            [(15.8, 6.6), (15.8, 7.4), (15.8, 7.4)],
        ),
        (
            "SELECT count, detail FROM scheduler_decided WHERE what = 'place'",
            [
                (
                    96,
                    (
                        'projector.weights="1.9 GiB" projector.graph="2.8 GiB" layers.requested=-1 layers.model=101 '
                        'layers.offload=96 layers.split=16,27,27,26 memory.available="[15.0 GiB 15.5 GiB 15.5 GiB '
                        '15.5 GiB]" memory.gpu_overhead="0 B"'
                    ),
                )
            ],
        ),
    ],
    "ollama-journald-glued-lines": [
        (
            BUFFERS,
            [
                ("CUDA0", "kv_cache", 896.0),
                ("CUDA_Host", "output", 2.0),
                ("CUDA0", "compute", 424.0),
                ("CUDA_Host", "compute", 22.01),
            ],
        ),
        ("SELECT mib(k_bytes) FROM cache_described", [(448.0,)]),
        ("SELECT seconds_s FROM load_ready", [(0.75,)]),
        (
            # Two in one entry: the driver's library prints no line feed behind its own.
            "SELECT message, count(*), count(DISTINCT ordinal) FROM failure_reported GROUP BY 1 ORDER BY 1",
            [
                ("cuda driver library failed to get device context 46", 2, 2),
                ("error looking up nvidia GPU memory", 2, 2),
            ],
        ),
        (
            "SELECT round(seconds_s, 2) FROM scheduler_decided WHERE what = 'wait' ORDER BY ordinal",
            [(5.0,), (5.25,)],
        ),
    ],
    "ollama-free-memory-underflow": [
        (
            (
                "SELECT description, gib(total_bytes), gib(free_bytes), gib(used_bytes), mib(overhead_bytes) "
                "FROM device_seen ORDER BY ordinal"
            ),
            [
                ("NVIDIA GeForce RTX 5090", 31.8, 15.9, 14.7, 1228.8),
                ("NVIDIA GeForce RTX 3090", 24.0, -0.2, 23.2, 1020.0),  # printed as 17179869183.8 GiB
            ],
        ),
        ("SELECT DISTINCT pid FROM load_ended", [(4001,)]),
        ("SELECT round((max(time_us) - min(time_us)) / 1e6, 2) FROM load_ended", [(0.21,)]),
    ],
    "ollama-ps-12gb-cards-90gb": [
        # "12 GB" is floored: 12.5 ± 0.5. All of it on the cards, as "100% GPU" says.
        (
            "SELECT model, total_bytes, card_bytes, bound_bytes, context, state FROM self_report",
            [("gemma4:31b-mtp", 12_500_000_000, 12_500_000_000, 500_000_000, 262144, "Forever")],
        ),
    ],
    "ollama-ps-24gb-card-20618-mib": [
        (CARDS, [(0, 20618.0, 24576.0)]),
        (
            "SELECT model, total_bytes, card_bytes, bound_bytes, context, state FROM self_report",
            [("DEFAULT/mistral-small-2409-22b:latest", 24_500_000_000, 24_500_000_000, 500_000_000, None, "Forever")],
        ),
    ],
    "ollama-alloc-retry-during-fit": [
        (
            "SELECT device, mib(size_bytes), size_bytes FROM allocation_failed WHERE device LIKE 'CUDA_' ORDER BY 1",
            [("CUDA1", 19123.94, 20052907008), ("CUDA2", 16990.01, 17815312384)],
        ),
        (
            "SELECT text FROM arguments_reported",
            [
                (
                    (
                        "{Operation:alloc LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:Disabled KvSize:262144 "
                        "KvCacheType: NumThreads:16 GPULayers:31[ID:GPU-00000000-0000-0000-0000-000000000001 "
                        "Layers:31(29..59)  ] MultiUserCache:false ProjectorPath: MainGPU:0 UseMmap:false}"
                    ),
                )
            ],
        ),
        ("SELECT count(*) FROM load WHERE end_reason <> 'log_ends'", [(0,)]),  # a try, not an end
        (
            (
                "SELECT name, value FROM configuration WHERE name IN ('Operation', 'GPULayers', 'KvSize', 'Parallel', "
                "'BatchSize', 'FlashAttention', 'MainGPU') ORDER BY name"
            ),
            [
                ("BatchSize", "512"),
                ("FlashAttention", "Disabled"),
                ("GPULayers", "31[ID:GPU-00000000-0000-0000-0000-000000000001 Layers:31(29..59)  ]"),
                ("KvSize", "262144"),
                ("MainGPU", "0"),
                ("Operation", "alloc"),
                ("Parallel", "1"),
            ],
        ),
    ],
    "ollama-journald-runner-cudamalloc": [
        ("SELECT device, size_bytes, mib(size_bytes) FROM allocation_failed", [("CUDA0", 838447104, 799.61)]),
        ("SELECT reason, status FROM load_ended", [("crashed", 2)]),
        (
            "SELECT status, path, round(elapsed_s, 3) FROM request_served",
            [(500, "/api/generate", 3.058)],
        ),
    ],
    "vllm-profile-table-tp1-tp2": [
        (
            (
                "SELECT number, max(gib(total_bytes)), max(utilization_ratio), max(gib(requested_bytes)), "
                "max(gib(weights_bytes)), max(gib(non_torch_bytes)), max(gib(activation_bytes)), max(gib(kv_bytes)) "
                "FROM memory_profiled JOIN load USING (load_id) GROUP BY number ORDER BY number"
            ),
            [
                (1, 79.22, 0.9, 71.29, 14.96, 1.79, 1.26, 53.29),
                (2, 79.22, 0.9, 71.29, 7.48, 3.58, 1.26, None),
            ],
        ),
        # What the second start leaves for its cache is not printed: 71.29 - 7.48 - 3.58 - 1.26.
        (
            (
                "SELECT gib(max(requested_bytes) - max(weights_bytes) - max(non_torch_bytes) - max(activation_bytes)) "
                "FROM memory_profiled JOIN load USING (load_id) WHERE number = 2"
            ),
            [(58.97,)],
        ),
    ],
    "vllm-tp-workers-interleaved-sentences": [
        (
            (
                "SELECT writer, gib(total_bytes), utilization_ratio, gib(requested_bytes), gib(weights_bytes), "
                "gib(non_torch_bytes), gib(activation_bytes), gib(kv_bytes) FROM memory_profiled ORDER BY ordinal"
            ),
            [
                ("1521", None, None, None, 21.21, 0.2, 0.37, 1.57),
                ("1507", 23.58, 0.99, 23.35, None, None, None, None),
                ("1507", None, None, None, 21.21, 0.2, 0.37, 1.57),
                ("1577", 23.58, 0.99, 23.35, None, None, None, None),
                ("1577", None, None, None, 21.21, 0.2, 0.37, 1.57),
            ],
        ),
        ("SELECT writer FROM marker_seen ORDER BY ordinal", [("1507",), ("1577",), ("1493",)]),
    ],
    "vllm-sleep-leaves-others-memory": [
        (
            (
                "SELECT gib(total_bytes), utilization_ratio, gib(requested_bytes), gib(weights_bytes), "
                "gib(non_torch_bytes), gib(activation_bytes), gib(kv_bytes) FROM memory_profiled ORDER BY ordinal"
            ),
            [(79.14, 0.25, 19.78, None, None, None, None), (None, None, None, 8.64, 0.15, 0.25, 10.74)],
        ),
        ("SELECT gib(size_bytes), gib(remaining_bytes) FROM buffer_released", [(19.51, 26.31)]),
        ("SELECT detail FROM marker_seen WHERE what = 'asleep'", [("8.000164",)]),
    ],
    "vllm-card-empty-then-only-16-free": [
        (CARDS, [(5, 0.0, 81559.0)]),
        (
            (
                "SELECT gib(needed_bytes), utilization_ratio, gib(available_bytes), gib(total_bytes), device "
                "FROM start_refused"
            ),
            [(65.32, 0.825, 16.9, 79.18, "0")],
        ),
        (SETTINGS, [("CUDA_VISIBLE_DEVICES", "5")]),  # cuda:0 of the message is this card
        (LOADS, [("vllm", True, False, "failed")]),
        ("SELECT count(*), any_value(error_class) FROM failures", [(1, "free_memory")]),
        ("SELECT gib(total_bytes - available_bytes) FROM start_refused", [(62.28,)]),
    ],
    "vllm-compose-no-cache-blocks": [
        ("SELECT reason FROM start_refused", [("no_blocks",)]),
        ("SELECT count(*) FROM allocation_failed", [(0,)]),
        ("SELECT count(*) FROM failures", [(1,)]),
        ("SELECT DISTINCT unit FROM process", [("vllm-1",)]),
    ],
    "vllm-tp2-graph-estimate": [
        (
            "SELECT writer, gib(size_bytes) FROM memory_estimated ORDER BY ordinal",
            [("448", 0.36), ("447", 0.36)],
        ),
        (POOLS, [(1, 6.87, None, None, None)]),
        ("SELECT detail FROM marker_seen", [("PIECEWISE=16 (largest=16)",)]),
        (
            "SELECT DISTINCT value, detail FROM setting_reported",
            [
                (
                    "0.8200",
                    (
                        "--gpu-memory-utilization=0.8048 without CUDA graph memory profiling. To maintain the same "
                        "effective KV cache size as before, increase --gpu-memory-utilization to 0.8352"
                    ),
                )
            ],
        ),
        ("SELECT count(DISTINCT writer) FROM memory_estimated", [(2,)]),  # both ranks
        # The two shares are 0.36 GiB apart: 0.36 / (0.82 - 0.8048) = 23.7 GiB is the card.
        (
            (
                "SELECT DISTINCT round(gib(memory_estimated.size_bytes) / (value::DOUBLE - "
                "regexp_extract(detail, '=([0-9.]+) ', 1)::DOUBLE), 1) FROM setting_reported, memory_estimated"
            ),
            [(23.7,)],
        ),
    ],
    "vllm-spec-metrics-two-engines": [
        (
            (
                "SELECT writer, mean_length, accepted, drafted, round(ratio, 3), positions FROM draft_accepted "
                "ORDER BY ordinal"
            ),
            [
                ("9001", 2.87, 282, 453, 0.623, "0.821, 0.609, 0.437"),
                ("9002", 2.98, 299, 453, 0.66, "0.821, 0.675, 0.483"),
            ],
        ),
        (
            "SELECT engine, writer, round(kv_usage_ratio, 3), running FROM engine_measured ORDER BY ordinal",
            [(2, "9001", 0.101, 1), (4, "9002", 0.101, 1)],
        ),
        ("SELECT DISTINCT drafts FROM draft_samples", [(151,)]),
    ],
    "vllm-hybrid-concurrency-not-a-quotient": [
        (
            POOLS,
            [
                (1, 9.74, None, None, None),
                (1, None, 67728, None, None),
                (1, None, None, 180000, 1.06),
                (2, 5.98, None, None, None),
                (2, None, 567978, None, None),
                (2, None, None, 131072, 4.33),
            ],
        ),
        ("SELECT round(quotient, 3) FROM kv_pools ORDER BY 1", [(0.376,), (4.333,)]),
    ],
    "vllm-ansi-colours-in-ci-log": [
        (
            "SELECT gib(available_bytes), gib(total_bytes), utilization_ratio, gib(needed_bytes) FROM start_refused",
            [(1.54, 22.05, 0.9, 19.84)],
        ),
        ("SELECT writer FROM start_refused", [("738",)]),
        ("SELECT gib(total_bytes - available_bytes) FROM start_refused", [(20.51,)]),
        ("SELECT text LIKE '%ERROR%' FROM line WHERE event = 'start_refused'", [(True,)]),
    ],
    "vllm-2023-oom-other-process": [
        (
            (
                "SELECT device, gib(size_bytes), gib(total_bytes), gib(allocated_bytes), mib(free_bytes), "
                "gib(reserved_total_bytes) FROM allocation_failed"
            ),
            [("0", 1.63, 44.56, 27.91, 565.31, 27.93)],
        ),
        # What no line gives: 44.56 - 27.93 - 565.31 / 1024.
        ("SELECT gib(total_bytes - reserved_total_bytes - free_bytes) FROM allocation_failed", [(16.08,)]),
    ],
    "sglang-tp8-interleaved": [
        (
            "SELECT writer, tokens, gib(size_bytes) FROM buffer_allocated ORDER BY ordinal",
            [(rank, 2795207, 106.62) for rank in ("TP5", "TP1", "TP3", "TP6")],
        ),
        (
            "SELECT writer, gib(free_after_bytes) FROM memory_profiled ORDER BY ordinal",
            [
                ("TP5", 11.87),
                ("TP1", 11.87),
                ("TP3", 11.87),
                ("TP6", 11.87),
                ("TP7", 12.01),
                ("TP2", 11.78),
                ("TP0", 11.82),
            ],
        ),
    ],
    "llamaswap-vulkan-partial-offload": [
        ("SELECT offloaded, total FROM layers_offloaded", [(15, 49)]),
        (BUFFERS, [("Vulkan0", "weights", 1952.34), ("CPU_Mapped", "weights", 5003.78)]),
        ("SELECT model FROM model_identified", [("Gemma 3 12b It",)]),
        (
            "SELECT value FROM setting_reported WHERE name IN ('model params', 'n_ctx', 'flash_attn') ORDER BY name",
            [("1",), ("11.77 B",), ("16384",)],
        ),
        (
            (
                "SELECT round(sum(size_bytes) FILTER (WHERE device = 'Vulkan0') / sum(size_bytes), 3) "
                "FROM buffer_allocated"
            ),
            [(0.281,)],
        ),
    ],
    "vllm-graphs-outside-the-budget": [
        # Two files, two runs: what the graphs cost is 23859 - 21395 = 2464 on each card; another card's 393 is idle.
        (
            CARDS,
            [
                *((card, 23859.0, 24564.0) for card in (4, 5, 6, 7)),
                (0, 393.0, 24564.0),
                *((card, 21395.0, 24564.0) for card in (4, 5, 6, 7)),
            ],
        ),
        (
            (
                "SELECT gpu_index, mib(max(used_bytes) - min(used_bytes)) FROM card_sample JOIN card USING (card_id) "
                "WHERE gpu_index > 0 GROUP BY 1 ORDER BY 1"
            ),
            [(4, 2464.0), (5, 2464.0), (6, 2464.0), (7, 2464.0)],
        ),
    ],
    "card-used-plus-free-is-not-total": [
        (
            "SELECT mib(total_bytes), mib(used_bytes), mib(free_bytes), mib(rest_bytes) FROM card_identity ORDER BY 2",
            [
                (32607.0, 1547.0, 30641.0, 419.0),
                (32607.0, 1574.0, 30614.0, 419.0),
                (32607.0, 1597.0, 30591.0, 419.0),
                (32607.0, 1612.0, 30576.0, 419.0),
            ],
        ),
        ("SELECT mib(median(used_bytes)) FROM card_identity", [(1585.5,)]),
        ("SELECT count(*) FROM load", [(0,)]),
    ],
    "vllm-tp2-desktop-on-one-card": [
        (CARDS, [(0, 22377.0, 24576.0), (1, 22273.0, 24576.0), (0, 22483.0, 24576.0), (1, 22301.0, 24576.0)]),
        (
            "SELECT pid, name, mib(used_bytes) FROM holder_sample ORDER BY at_us",
            [(1001, "/usr/lib/xorg/Xorg", 77.0), (1001, "/usr/lib/xorg/Xorg", 85.0)],
        ),
        (
            POOLS,
            [
                (1, None, 622408, None, None),
                (1, None, None, 262144, 2.37),
                (2, None, 620944, None, None),
                (2, None, None, 262144, 2.37),
            ],
        ),
        ("SELECT method, n_max FROM speculation WHERE method IS NOT NULL", [("mtp", 3)]),
        (
            (
                "SELECT regexp_extract(text, '''tensor_parallel_size'': (\\d+)', 1), "
                "regexp_extract(text, '''max_model_len'': (\\d+)', 1), "
                "regexp_extract(text, '''kv_cache_dtype'': ''(\\w+)', 1) FROM arguments_reported"
            ),
            [("2", "262144", "fp8_e5m2")],
        ),
        # How far the cards of a pair differ, and what Xorg leaves of that: 104 - 77, 182 - 85.
        (
            (
                "SELECT mib(max(cards.used_bytes) - min(cards.used_bytes)), "
                "mib(max(cards.used_bytes) - min(cards.used_bytes) - any_value(holders.used_bytes)) "
                "FROM card_sample AS cards JOIN holder_sample AS holders USING (at_us) GROUP BY at_us ORDER BY at_us"
            ),
            [(104.0, 27.0), (182.0, 97.0)],
        ),
    ],
    "ollama-reload-each-request-parallel": [
        ("SELECT count(*) FROM load", [(1,)]),
        ("SELECT seconds_s FROM scheduler_decided WHERE what = 'wait'", [(600.0,)]),
        ("SELECT round(loading_s, 2) FROM loads", [(9.65,)]),  # by times without a zone: 10:00:50.451 to 10:01:00.101
        # Its process was started 52 ms after it was announced; ready, it was idle for 85.926 s of its 600.
        (
            (
                "SELECT round((epoch_ms(clock) - lag(epoch_ms(clock)) OVER (ORDER BY ordinal)) / 1000, 3) FROM ("
                "SELECT ordinal, regexp_extract(text, 'time=(\\S+)', 1)::TIMESTAMP AS clock FROM line) "
                "QUALIFY ordinal > min(ordinal) OVER () ORDER BY ordinal"
            ),
            [(0.052,), (9.598,), (0.003,), (85.926,)],
        ),
    ],
    # Pasted beside a program's lines, without the kernel's stamp: read, and linked to nothing.
    "kernel-xid31-llama-bench": [
        (
            "SELECT what, number, device, pid, process, status FROM service_changed",
            [
                (
                    "xid",
                    31,
                    "0000:2b:00",
                    None,
                    None,
                    (
                        "MMU Fault: ENGINE GRAPHICS GPC6 GPCCLIENT_T1_13 faulted @ 0x6f17_04027000. Fault is of type "
                        "FAULT_PDE ACCESS_TYPE_VIRT_WRITE"
                    ),
                )
            ],
        ),
        ("SELECT program, load_id FROM line WHERE event = 'service_changed'", [("kernel", None)]),
        ("SELECT count(*) FROM failures", [(0,)]),
    ],
    "vllm-same-kv-bytes-twice-the-tokens": [
        (
            POOLS,
            [
                (1, 11.15, None, None, None),
                (1, None, 451603, None, None),
                (1, None, None, 147456, 3.06),
                (2, 11.15, None, None, None),
                (2, None, 214135, None, None),
                (2, None, None, 65536, 3.27),
            ],
        ),
        ("SELECT round(max(tokens) / min(tokens), 3) FROM pool_sized", [(2.109,)]),
    ],
}

LIVES = """
    SELECT number, load.engine, implied, ready_line IS NOT NULL, load.end_reason, parts, models
    FROM load JOIN loads USING (load_id, number) ORDER BY number
"""
HELD = """
    SELECT number, item.part, logged, item.kind, mib(item.size_bytes)
    FROM item JOIN line USING (line_id) JOIN load ON load.load_id = item.load_id
    WHERE mark = 'counted' ORDER BY ordinal
"""
OWNED = """
    SELECT number, line.part, event, count(*) FROM line LEFT JOIN load USING (load_id)
    WHERE event NOT IN ('buffer_allocated', 'marker_seen') GROUP BY ALL ORDER BY ALL
"""

# Of the public cases that say how many loads they hold or give values by load: the loads in order, whose each counted
# amount is and which part of it, and whose the other lines are. A load is one start of a server: a case that counts a
# draft as a second one has one load here, of two models: `models` summed over the loads is what such a case counts.
LOADS_OF: dict[str, tuple[list[Row], list[Row], list[Row]]] = {
    "llamacpp-drafter-overwrites-target": (
        [(1, "llama.cpp", True, False, "log_ends", "target draft", 2)],
        [
            (1, "target", "CUDA1", "weights", 3313.42),
            (1, "draft", "CUDA1", "weights", 655.73),
            (1, "draft", "CUDA1", "kv_cache", 80.0),
            (1, "draft", "CUDA1", "compute", 1606.48),
        ],
        [],
    ),
    "llamacpp-mtp-sibling-partial-load": (
        [(1, "llama.cpp", True, False, "log_ends", "mtp", 2)],
        [(1, "mtp", "CPU_Mapped", "weights", 21623.3), (1, "mtp", "CUDA0", "weights", 555.21)],
        [
            (1, "mtp", "layers_offloaded", 1),
            (1, "mtp", "setting_reported", 8),
            (1, "target", "memory_estimated", 2),
            (1, "target", "setting_reported", 1),
            (None, None, "breakdown_reported", 2),  # a dry run's or an exit's: its first line is not in the log
        ],
    ),
    "llamacpp-breakdown-table-three-cards": (
        [(1, "llama.cpp", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "breakdown_reported", 4)],
    ),
    "llamacpp-oom-line-but-server-lives": (
        [(1, "llama.cpp", True, True, "log_ends", None, 1)],  # it ends with its slots: it was complete
        [],
        [
            (1, "target", "allocation_failed", 2),
            (1, "target", "failure_reported", 2),
            (1, "target", "load_ready", 1),
        ],
    ),
    "llamacpp-rocm-oom-says-cuda": (
        [(1, "llama.cpp", True, False, "failed", None, 1)],
        [],
        [
            (1, "target", "allocation_failed", 2),
            (1, "target", "failure_reported", 5),
            (1, "target", "load_ended", 1),
        ],
    ),
    "llamacpp-compose-repeated-oom": (
        [(1, "llama.cpp", True, True, "log_ends", None, 1)],  # it serves: its container says that it is no supervisor's
        [],
        [
            (1, "target", "allocation_failed", 8),
            (1, "target", "failure_reported", 4),
            (1, "target", "load_ready", 1),
            (1, "target", "request_moved", 5),
            (1, "target", "request_served", 1),
        ],
    ),
    "llamacpp-draft-starts-with-1840-free": (
        [(1, "llama.cpp", True, False, "log_ends", "target draft", 2)],  # the draft holds nothing yet, and is named
        [
            (1, "target", "ROCm0", "kv_cache", 4352.0),
            (1, "target", "ROCm_Host", "output", 0.58),
            (1, "target", "ROCm0", "compute", 307.0),
            (1, "target", "ROCm_Host", "compute", 74.01),
        ],
        [
            (1, "draft", "device_seen", 1),
            (1, "draft", "model_identified", 1),
            (1, "target", "cache_described", 2),
        ],
    ),
    "llamacpp-2023-wording-no-offload": (
        [(1, "llama.cpp", False, False, "log_ends", "target", 1)],
        # No layer is on a card, so the cache is the host's.
        [
            (1, "target", "CUDA", "weights", 0.0),
            (1, "target", "CPU", "kv_cache", 1024.0),
            (1, "target", "CPU", "compute", 162.13),
        ],
        [
            (1, "target", "cache_described", 1),
            (1, "target", "device_seen", 1),
            (1, "target", "layers_offloaded", 1),
            (1, "target", "memory_estimated", 1),
            (1, "target", "setting_reported", 3),
            (None, None, "device_seen", 2),  # of the process, before it loads
        ],
    ),
    "llamacpp-2024-two-cards-pipeline": (
        [(1, "llama.cpp", True, False, "log_ends", "target", 1)],
        [
            (1, "target", "CPU", "weights", 1640.62),
            (1, "target", "CUDA0", "weights", 5434.38),
            (1, "target", "CUDA1", "weights", 13989.53),
            (1, "target", "CUDA0", "kv_cache", 1536.0),
            (1, "target", "CUDA1", "kv_cache", 3584.0),
            (1, "target", "CUDA_Host", "output", 1.95),
            (1, "target", "CUDA0", "compute", 672.01),
        ],
        [
            (1, "target", "cache_described", 1),
            (1, "target", "layers_offloaded", 1),
            (1, "target", "setting_reported", 7),
            (None, None, "device_seen", 2),
        ],
    ),
    "ollama-same-model-reloaded": (
        # That the first was given up is nowhere in the excerpt.
        [
            (1, "llama.cpp", False, True, "log_ends", "draft", 1),
            (2, "llama.cpp", False, False, "log_ends", None, 1),
        ],
        [(1, "draft", "CUDA0", "compute", 132.02), (1, "draft", "CUDA_Host", "compute", 84.02)],
        [
            (1, "target", "load_began", 1),
            (1, "target", "load_ready", 2),  # its own word and its supervisor's: started in 5.42 seconds
            (1, "target", "memory_estimated", 1),
            (1, "target", "request_moved", 1),
            (1, "target", "setting_reported", 2),
            (2, "target", "load_began", 1),
            (2, "target", "memory_estimated", 2),
            (None, None, "breakdown_reported", 2),  # before the line that begins its dry run
            (None, None, "device_seen", 2),
            (None, None, "verbosity_reported", 1),
        ],
    ),
    "ollama-journald-vision-four-cards": (
        [
            (1, "llama.cpp", True, False, "unknown", "target", 1),
            (2, "ollama", False, False, "log_ends", None, 1),
        ],
        [
            (1, "target", "CUDA3", "weights", 6520.8),
            (1, "target", "CUDA0", "kv_cache", 672.0),
            (1, "target", "CUDA1", "kv_cache", 640.0),
            (1, "target", "CUDA2", "kv_cache", 640.0),
            (1, "target", "CUDA3", "kv_cache", 608.0),
        ],
        [
            (1, "target", "setting_reported", 4),
            (2, "target", "scheduler_decided", 1),
            (None, None, "device_seen", 1),
            (None, None, "scheduler_decided", 3),
        ],
    ),
    "ollama-alloc-retry-during-fit": (
        [(1, "llama.cpp", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "allocation_failed", 4), (1, "target", "arguments_reported", 1)],
    ),
    "llamacpp-hybrid-recurrent-state": (
        [(1, "llama.cpp", True, False, "log_ends", "target", 1)],
        [
            (1, "target", "ROCm_Host", "output", 2.32),
            (1, "target", "ROCm0", "kv_cache", 768.0),
            (1, "target", "ROCm0", "recurrent_state", 301.5),
            (1, "target", "ROCm0", "compute", 1219.0),
            (1, "target", "ROCm_Host", "compute", 288.05),
        ],
        [(1, "target", "cache_described", 2), (1, "target", "setting_reported", 8)],
    ),
    "llamacpp-router-swap-force-kill": (
        [(1, "llama.cpp", True, False, "log_ends", None, 1)],
        [],
        # Which model the port serves is not in the excerpt: that the one that the router kills is it is not known.
        [(1, "target", "request_moved", 1), (1, "target", "setting_reported", 1), (None, None, "load_ended", 1)],
    ),
    "llamacpp-spec-stats-three-drafters": (
        [(1, "llama.cpp", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "draft_accepted", 4), (1, "target", "request_moved", 3), (1, "target", "request_timed", 3)],
    ),
    "llamaswap-vulkan-partial-offload": (
        [(1, "llama.cpp", True, False, "log_ends", "target", 1)],
        [(1, "target", "Vulkan0", "weights", 1952.34), (1, "target", "CPU_Mapped", "weights", 5003.78)],
        [
            (1, "target", "layers_offloaded", 1),
            (1, "target", "model_identified", 1),
            (1, "target", "setting_reported", 9),
        ],
    ),
    "ollama-free-memory-underflow": (
        [(1, "ollama", True, False, "stopped", None, None)],
        [],
        [(1, "target", "load_ended", 2), (None, None, "device_seen", 2)],
    ),
    "ollama-journald-glued-lines": (
        [(1, "llama.cpp", True, True, "log_ends", "target", 1)],
        [
            (1, "target", "CUDA0", "kv_cache", 896.0),
            (1, "target", "CUDA_Host", "output", 2.0),
            (1, "target", "CUDA0", "compute", 424.0),
            (1, "target", "CUDA_Host", "compute", 22.01),
        ],
        [
            (1, "target", "cache_described", 1),
            (1, "target", "load_ready", 1),
            (None, None, "failure_reported", 2),
            (None, None, "scheduler_decided", 2),
        ],
    ),
    "sglang-tp8-interleaved": (
        [(1, "sglang", True, False, "log_ends", "target", 1)],
        [
            (1, "target", "5", "kv_cache", 109178.88),
            (1, "target", "1", "kv_cache", 109178.88),
            (1, "target", "3", "kv_cache", 109178.88),
            (1, "target", "6", "kv_cache", 109178.88),
        ],
        [(1, "target", "memory_profiled", 7)],
    ),
    "vllm-sleep-leaves-others-memory": (
        [(1, "vllm", True, False, "log_ends", "target", 1)],
        [(1, "target", "", "weights", 8847.36)],
        [(1, "target", "memory_profiled", 2), (None, None, "buffer_released", 1)],
    ),
    "vllm-spec-metrics-two-engines": (
        [(1, "vllm", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "draft_accepted", 2), (1, "target", "engine_measured", 2)],
    ),
    "vllm-tp-workers-interleaved-sentences": (
        [(1, "vllm", True, False, "log_ends", "target", 1)],
        # Workers without a rank: each holds its own on a card of its own, which nothing names.
        [
            (1, "target", "pid=1521", "weights", 21719.04),
            (1, "target", "pid=1507", "weights", 21719.04),
            (1, "target", "pid=1577", "weights", 21719.04),
        ],
        [(1, "target", "memory_profiled", 5)],
    ),
    "vllm-tp2-graph-estimate": (
        [(1, "vllm", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "memory_estimated", 2), (1, "target", "pool_sized", 1), (1, "target", "setting_reported", 2)],
    ),
    "vllm-ansi-colours-in-ci-log": (
        [(1, "vllm", True, False, "failed", None, None)],
        [],
        [(1, "target", "start_refused", 1)],
    ),
    "vllm-compose-no-cache-blocks": (
        [(1, "vllm", True, False, "failed", None, None)],
        [],
        [(1, "target", "start_refused", 1)],
    ),
    "ollama-journald-runner-cudamalloc": (
        [(1, "ollama", True, False, "crashed", None, 1)],  # known by its end alone
        [],
        [
            (1, "target", "allocation_failed", 1),
            (1, "target", "load_ended", 1),
            (None, None, "request_served", 1),  # a client's answer names no model
        ],
    ),
    "vllm-profile-table-tp1-tp2": (
        [
            (1, "vllm", True, False, "unknown", "target", 1),
            (2, "vllm", True, False, "log_ends", "target", 1),
        ],
        [(1, "target", "", "weights", 15319.04), (2, "target", "", "weights", 7659.52)],  # 14.96 and 7.48 GiB
        [(1, "target", "memory_profiled", 7), (2, "target", "memory_profiled", 6)],
    ),
    "vllm-card-empty-then-only-16-free": (
        [(1, "vllm", True, False, "failed", None, None)],
        [],
        [
            (1, "target", "failure_reported", 1),
            (1, "target", "start_refused", 1),
            (None, None, "setting_reported", 1),
        ],
    ),
    "vllm-hybrid-concurrency-not-a-quotient": (
        [(1, "vllm", True, False, "log_ends", None, 1), (2, "vllm", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "pool_sized", 3), (2, "target", "pool_sized", 3)],
    ),
    "vllm-tp2-desktop-on-one-card": (
        [(1, "vllm", False, False, "log_ends", None, 1), (2, "vllm", True, False, "log_ends", None, 1)],
        [],
        [
            (1, "target", "arguments_reported", 1),
            (1, "target", "pool_sized", 2),
            (2, "target", "pool_sized", 2),
        ],
    ),
    "ollama-reload-each-request-parallel": (
        [(1, "ollama", False, True, "log_ends", None, 1)],
        [],
        # What names the model is its load's: when it was ready, its ten minutes of keep-alive, the second request.
        [
            (1, "target", "load_began", 1),
            (1, "target", "load_ready", 1),
            (1, "target", "scheduler_decided", 2),
            (None, None, "scheduler_decided", 1),  # how many runners there are
        ],
    ),
    "vllm-same-kv-bytes-twice-the-tokens": (
        [(1, "vllm", True, False, "unknown", None, 1), (2, "vllm", True, False, "log_ends", None, 1)],
        [],
        [(1, "target", "pool_sized", 3), (2, "target", "pool_sized", 3)],
    ),
}


@cache
def opened(name: str) -> duckdb.DuckDBPyConnection:
    """The case of one log and of what was captured beside it: captures print no time, and were saved hour by hour."""
    connection = duckdb.connect()
    paths = sorted(path for path in FOLDER.iterdir() if path.name.partition(".")[0] == name)
    files = [Named(path.name, path, (500_000 + hour) * 3_600_000_000) for hour, path in enumerate(paths)]
    store(read_evidence(files, load_catalogue()), connection)
    connection.execute(UNITS)
    return ready(connection, load_questions(), None)


@pytest.mark.parametrize("name", LOADS_OF)
def test_the_loads_of_a_case_are_these_and_each_value_is_of_its_own(name: str) -> None:
    lives, held, owned = LOADS_OF[name]
    assert opened(name).execute(LIVES).fetchall() == lives
    assert opened(name).execute(HELD).fetchall() == held
    assert opened(name).execute(OWNED).fetchall() == owned


def test_the_pools_and_profiles_of_two_starts_are_in_the_order_of_the_starts() -> None:
    pools = "SELECT number, max(gib(budget_bytes)), max(tokens) FROM pool_sized JOIN load USING (load_id) GROUP BY 1"
    names = ("vllm-hybrid-concurrency-not-a-quotient", "vllm-same-kv-bytes-twice-the-tokens")
    assert [opened(name).execute(f"{pools} ORDER BY 1").fetchall() for name in names] == [
        [(1, 9.74, 67728), (2, 5.98, 567978)],
        [(1, 11.15, 451603), (2, 11.15, 214135)],
    ]


TABLE_OF_VALUES = [
    pytest.param(name, sql, rows, id=f"{name} {number}")
    for name, values in VALUES.items()
    for number, (sql, rows) in enumerate(values, 1)
]


@pytest.mark.parametrize(("name", "sql", "rows"), TABLE_OF_VALUES)
def test_a_value_that_a_line_gives_comes_out(name: str, sql: str, rows: list[Row]) -> None:
    assert opened(name).execute(sql).fetchall() == rows


def test_every_file_is_in_the_table() -> None:
    assert {path.name.partition(".")[0] for path in FOLDER.iterdir()} == {*VALUES, "README"}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_no_line_with_a_size_is_left_unread(name: str) -> None:
    assert opened(name).execute("SELECT text FROM unread").fetchall() == []


XID = (FOLDER / "kernel-xid31-llama-bench.log").read_text().splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (f"[12345.678901] {XID}", 1),
        (f"Nov 30 11:14:55 host kernel: {XID}", 1),
        (XID, 1),
        (f"Nov 30 11:14:55 host llama-server[812]: {XID}", 0),
        (f"llama-1  | {XID}", 0),
        (f"0.01.600.000 I srv  llama_server: {XID}", 0),
    ],
    ids=["dmesg", "journal of the kernel", "pasted", "journal of another", "container of another", "inside a line"],
)
def test_a_kernels_line_is_read_where_nothing_says_that_another_wrote_it(tmp_path: Path, line: str, read: int) -> None:
    (tmp_path / "server.log").write_text(f"{line}\n" * 3)
    connection = duckdb.connect()
    store(read_evidence([tmp_path], load_catalogue()), connection)
    assert connection.execute("SELECT count(*) FROM service_changed WHERE number = 31").fetchone() == (3 * read,)


def test_a_pasted_kernels_line_is_not_linked_to_a_failure(tmp_path: Path) -> None:
    failing = (
        "0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'\n"
        "0.02.500.000 I srv  llama_server: model loaded\n"
        "0.03.000.000 E CUDA error: an illegal memory access was encountered\n"
        "/src/ggml/src/ggml-cuda/ggml-cuda.cu:107: CUDA error\n"
    )
    (tmp_path / "server.log").write_text(f"{failing}{XID}\n")
    connection = duckdb.connect()
    store(read_evidence([tmp_path], load_catalogue()), connection)
    found = ready(connection, load_questions(), None)
    assert found.execute("SELECT count(*) FROM failures").fetchone() == (1,)
    assert found.execute("SELECT count(*) FROM crash_host").fetchone() == (0,)
