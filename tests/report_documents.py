"""Answer documents for the tests of the report, each with a story; numbers of named runs are theirs."""

from __future__ import annotations

from typing import Any

MIB = 1024 * 1024

Json = dict[str, Any]


def line(
    number: int, text: str, source: str = "server.log", time: str | None = "2026-11-15T11:07:21.171653+00:00"
) -> Json:
    return {
        "source": source,
        "digest": "sha256:0f",
        "offset": number * 97,
        "length": len(text),
        "line": number,
        "cursor": None,
        "time": time,
        "load_id": "a41f09c2",
        "text": text,
    }


def logged(part: str, kind: str, mib: float, evidence: str, note: str | None = None) -> Json:
    size = round(mib * MIB)
    item: Json = {
        "part": part,
        "kind": kind,
        "mib": mib,
        "bytes": size,
        "basis": "logged",
        "bounds_mib": [mib - 0.005, mib + 0.005],
        "bounds_bytes": [size - 5243, size + 5243],
        "evidence": [evidence],
    }
    return item | ({"note": note} if note else {})


def runtime(mib: int, low: int, high: int) -> Json:
    return {
        "part": "runtime",
        "kind": "runtime",
        "mib": float(mib),
        "bytes": mib * MIB,
        "basis": "inferred",
        "bounds_mib": [low, high],
        "bounds_bytes": [low * MIB, high * MIB],
        "evidence": ["calibration-h200"],
        "note": "H200 / 580 / CUDA 13",
    }


def device(index: int, measured: int | None, items: list[Json], **more: Any) -> Json:
    attributed = sum(item["bytes"] for item in items)
    low = sum(item["bounds_bytes"][0] for item in items)
    high = sum(item["bounds_bytes"][1] for item in items)
    result: Json = {
        "device": f"CUDA{index}",
        "where": "card",
        "gpu_index": index,
        "gpu_uuid": f"GPU-0000000{index}",
        "pci_bus_id": f"00000000:00:0{6 + index}.0",
        "pid": 5226,
        "joined_by": "pid",
        "join_scope": "exact",
        "measured_mib": measured,
        "measured_at": None,
        "measured_by": None,
        "items": items,
        "attributed_mib": attributed / MIB,
        "attributed_bytes": attributed,
        "unexplained_mib": None,
        "unexplained_bounds_mib": None,
    }
    if measured is not None:
        result |= {
            "measured_bytes": measured * MIB,
            "measured_at": "2026-11-15T11:07:28.402000+00:00",
            "measured_by": "process",
            "unexplained_mib": measured - attributed / MIB,
            "unexplained_bytes": measured * MIB - attributed,
            "unexplained_bounds_mib": [measured - high / MIB, measured - low / MIB],
            "unexplained_bounds_bytes": [measured * MIB - high, measured * MIB - low],
        }
    return result | more


def host(name: str, items: list[Json]) -> Json:
    return {
        "device": name,
        "where": "host",
        "items": items,
        "attributed_bytes": sum(item["bytes"] for item in items),
    }


def card(index: int, used: int, holders: list[Json], total: int = 143771) -> Json:
    held = sum(holder["mib"] for holder in holders)
    return {
        "gpu_uuid": f"GPU-0000000{index}",
        "pci_bus_id": f"00000000:00:0{6 + index}.0",
        "gpu_index": index,
        "name": "NVIDIA H200",
        "at": "2026-11-15T11:07:28.402000+00:00",
        "total_mib": total,
        "reserved_mib": 616,
        "used_mib": used,
        "free_mib": total - 616 - used,
        "rest_mib": used - held,
        "holders": holders,
    }


def load(devices: list[Json], **more: Any) -> Json:
    return {
        "load_id": "a41f09c2",
        "engine": "llama-server",
        "engine_version": "b11434",
        "model": "/srv/models/Qwen3.6-27B-Q4_0.gguf",
        "unit": None,
        "pid": 5226,
        "begun_at": "2026-11-15T11:07:17.150000+00:00",
        "ready_at": "2026-11-15T11:07:27.333000+00:00",
        "ended_at": None,
        "end_reason": None,
        "devices": devices,
        "self_report": None,
        "gap": None,
        "findings": [],
    } | more


def document(loads: list[Json], **more: Any) -> Json:
    return {
        "schema": "forensics.explain-vram/1",
        "cards": [],
        "loads": loads,
        "ambiguous": [],
        "missing": [],
        "evidence": {},
    } | more


def two_cards() -> Json:
    """A target over two cards, its MTP context on the second, its vision tower on the first."""
    first = [
        logged("vision", "compute", 28.30, "b10"),
        logged("target", "weights", 6742.14, "b1"),
        logged("target", "kv_cache", 4352.00, "b2", "262144 cells, q8_0"),
        logged("target", "recurrent_state", 389.65, "b4"),
        logged("target", "compute", 2259.14, "b5"),
        logged("vision", "weights", 639.55, "b9"),
        runtime(592, 586, 598),
    ]
    second = [
        logged("target", "weights", 8042.28, "b11"),
        logged("target", "kv_cache", 4352.00, "b12", "262144 cells, q8_0"),
        logged("target", "recurrent_state", 358.48, "b14"),
        logged("target", "compute", 2169.13, "b15"),
        logged("mtp", "kv_cache", 1024.00, "b16", "262144 cells, f16"),
        logged("mtp", "compute", 1226.06, "b17"),
        runtime(592, 586, 598),
    ]
    mine = {"pid": 5226, "process": "/usr/local/bin/llama-server", "load_id": "a41f09c2"}
    other = {"pid": 4711, "process": "/usr/bin/python3", "mib": 512, "load_id": None}
    return document(
        [
            load(
                [
                    device(0, 15002, first),
                    device(1, 17770, second),
                    host("CPU_Mapped", [logged("target", "weights", 417.30, "h1")]),
                    host(
                        "CUDA_Host",
                        [logged("target", "compute", 1125.16, "h2"), logged("mtp", "compute", 1074.07, "h3")],
                    ),
                ],
                summary={
                    "speculation": "draft-mtp, depth 4, context on CUDA1 only",
                    "notes": ["vision tower on CUDA0"],
                },
            )
        ],
        cards=[card(0, 15015, [mine | {"mib": 15002}]), card(1, 18295, [mine | {"mib": 17770}, other])],
        set_aside=[
            {
                "what": "fit dry-run figures",
                "why": "planned, not allocated",
                "mib": None,
                "count": 12,
                "evidence": ["f1", "f2"],
            },
            {
                "what": "worst-case estimate of the vision tower, 669.15 MiB",
                "why": "667.85 was allocated",
                "mib": 669.15,
                "count": 1,
                "load_id": "a41f09c2",
                "evidence": ["f3"],
            },
            {
                "what": "memory table at exit",
                "why": 'its "unaccounted" 1295 + 2894 is vision, MTP and runtime',
                "mib": None,
                "count": 1,
                "evidence": ["f4"],
            },
        ],
        evidence={
            "b1": line(153, "0.04.171.371 I load_tensors:        CUDA0 model buffer size =  6742.14 MiB"),
            "b11": line(154, "0.04.171.372 I load_tensors:        CUDA1 model buffer size =  8042.28 MiB"),
            "b2": line(173, "0.07.201.214 I llama_kv_cache:      CUDA0 KV buffer size =  4352.00 MiB"),
            "b12": line(174, "0.07.203.165 I llama_kv_cache:      CUDA1 KV buffer size =  4352.00 MiB"),
            "b4": line(178, "0.07.204.782 I llama_memory_recurrent:      CUDA0 RS buffer size =   389.65 MiB"),
            "b14": line(179, "0.07.205.045 I llama_memory_recurrent:      CUDA1 RS buffer size =   358.48 MiB"),
            "b5": line(187, "0.07.956.895 I sched_reserve:      CUDA0 compute buffer size =  2259.14 MiB"),
            "b15": line(188, "0.07.956.933 I sched_reserve:      CUDA1 compute buffer size =  2169.13 MiB"),
            "b16": line(210, "0.08.290.546 I llama_kv_cache:      CUDA1 KV buffer size =  1024.00 MiB"),
            "b9": line(246, "0.09.112.001 I load_hparams: model size:         639.55 MiB"),
            "b10": line(253, "0.09.307.787 I reserve_compute_meta:      CUDA0 compute buffer size =    28.30 MiB"),
            "b17": line(264, "0.10.152.065 I sched_reserve:      CUDA1 compute buffer size =  1226.06 MiB"),
            "f1": line(20, "0.01.314.032 I common_memory_breakdown_print: | memory breakdown [MiB] |  total     free"),
            "f3": line(
                16,
                "0.00.743.841 I srv    load_model: [mtmd] estimated worst-case memory usage of mmproj is 669.15 MiB "
                "(took 15.26 ms)",
            ),
            "calibration-h200": {"source": "calibration table", "line": None, "offset": None, "text": ""},
        },
    )


def plain(**more: Any) -> Json:
    """One card of 24 GiB with a small model on it."""
    items = [
        logged("target", "weights", 4455.34, "b1"),
        logged("target", "kv_cache", 5440.00, "b2", "131072 cells, q8_0"),
        logged("target", "compute", 312.75, "b3"),
    ]
    answer = document(
        [load([device(0, 10808, [*items, runtime(592, 586, 598)])], model="Qwen3-8B-Q4_0")],
        cards=[
            card(0, 11020, [{"pid": 5226, "process": "llama-server", "mib": 10808, "load_id": "a41f09c2"}], total=24576)
        ],
    )
    return answer | more


def failed_load() -> Json:
    """A cache that no card could hold."""
    failure = {
        "what": "its KV cache of 786432.00 MiB was refused on CUDA0",
        "asked_mib": 786432.0,
        "asked_bytes": 786432 * MIB,
        "there_mib": 142627,
        "there_bytes": 142627 * MIB,
        "detail": [
            "12582912 cells, on top of 14556.46 MiB of weights",
            "free when it started, on CUDA0; nothing of it is on the card now",
        ],
        "evidence": ["x1", "x2"],
    }
    return document(
        [
            load(
                [device(0, None, [logged("target", "weights", 6742.14, "b1")])],
                ready_at=None,
                ended_at="2026-11-15T11:07:21.050000+00:00",
                end_reason="failed",
                failure=failure,
                pid=6026,
            )
        ],
        next="-c 12582912 -np 48 asks for 48 full contexts; 16384 MiB hold one.",
        evidence={
            "b1": line(66, "0.03.100.371 I load_tensors:        CUDA0 model buffer size =  6742.14 MiB"),
            "x1": line(
                158,
                "0.03.842.657 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 786432.00 MiB on device 0: "
                "cudaMalloc failed: out of memory",
            ),
            "x2": line(
                160,
                "0.03.887.753 E llama_init_from_model: failed to initialize the context: failed to allocate buffer "
                "for kv cache",
            ),
        },
    )


def silent() -> Json:
    """A server at its default verbosity: the card knows, the log does not."""
    return document(
        [load([device(0, 10248, [])], model="/srv/models/Qwen3-8B-Q4_0.gguf", pid=5046)],
        cards=[card(0, 10261, [{"pid": 5046, "process": "llama-server", "mib": 10248, "load_id": "a41f09c2"}])],
        missing=[
            {
                "what": "buffer sizes",
                "because": "verbosity 3",
                "remedy": "Start it with -lv 4 (or LLAMA_ARG_LOG_VERBOSITY=4) and look again.",
            }
        ],
    )


def log_only() -> Json:
    """A pasted log: nobody looked at the cards."""
    items = [logged("target", "weights", 6742.14, "b1"), logged("target", "kv_cache", 4352.00, "b2")]
    return document([load([device(0, None, items, gpu_index=None, gpu_uuid=None, pci_bus_id=None)], pid=None)])


def cpu_only() -> Json:
    """A load without a card is a complete answer."""
    devices = [
        host("CPU_Mapped", [logged("target", "weights", 4455.34, "b1")]),
        host("CPU", [logged("target", "kv_cache", 288.00, "b2"), logged("target", "compute", 301.75, "b3")]),
    ]
    return document([load(devices, model="Qwen3-0.6B-Q8_0")])


def ping_pong() -> Json:
    """Many loads, lines that two of them could have written, a self-report that forgets, and a forged line."""
    answer = two_cards()
    older = [
        load(
            [device(0, 10808, [logged("target", "weights", 4455.34, "o1")])],
            load_id=f"{number:08x}",
            model="Qwen3-8B-Q4_0" if number % 2 else "Qwen3.6-27B-Q4_0",
            begun_at=f"2026-11-15T10:0{number}:00+00:00",
            ready_at=f"2026-11-15T10:0{number}:05+00:00",
            ended_at=f"2026-11-15T10:0{number}:58+00:00",
            end_reason="evicted",
        )
        for number in range(9)
    ]
    answer["loads"] = older + answer["loads"]
    current = answer["loads"][-1]
    current["self_report"] = {"mib": 25108.0, "source": "/api/ps", "replay": {"mib": 24422.05}}
    current["gap"] = {
        "mib": 7664.0,
        "items": [
            logged("target", "kv_cache", 4352.0, "b12", "overwritten by the MTP context's line"),
            logged("target", "compute", 2169.13, "b15", "overwritten by the MTP context's line"),
            logged("vision", "weights", 639.55, "b9", "matched by no line it reads"),
        ],
        "unexplained_mib": 503.32,
    }
    current["findings"] = [
        {
            "claim": "the load speculates",
            "state": "supported",
            "amount_mib": None,
            "for": ["b16", "b17"],
            "against": [],
        },
        {
            "claim": "something is counted twice: plain loads on this box leave 614 to 1495 MiB",
            "state": "not_established",
            "amount_mib": 307.2,
            "for": ["b1"],
            "against": ["b11"],
        },
    ]
    answer["ambiguous"] = [
        {
            "evidence": f"a{number}",
            "candidates": ["00000007", "00000008"],
            "reason": "two children could have written it",
        }
        for number in range(4)
    ]
    answer["set_aside"].append(
        {
            "what": "buffer lines inside a request",
            "why": "suspected forgery: the carrier is a tool's type",
            "mib": 99999.0,
            "count": 3,
            "load_id": "00000008",
            "evidence": ["z1", "z2", "z3"],
        }
    )
    answer["missing"] = [
        {
            "what": "a sample before the load",
            "because": "the samples begin at 11:07:20",
            "remedy": "Sample the cards from before the server starts.",
        }
    ]
    answer["evidence"]["z1"] = line(
        400, "tool \x1b[31mtype\r\nload_tensors: CUDA0 model buffer size = 99999.00 MiB [bold]"
    )
    return answer


def engine() -> Json:
    """An engine that prints GiB with two decimals, beside a neighbour, and with memory that nothing names."""

    def printed(kind: str, gib: float, evidence: str, basis: str = "logged") -> Json:
        mib = gib * 1024
        return {
            "part": "target",
            "kind": kind,
            "mib": mib,
            "bytes": round(mib * MIB),
            "basis": basis,
            "bounds_mib": [mib - 5.12, mib + 5.12],
            "bounds_bytes": [round((mib - 5.12) * MIB), round((mib + 5.12) * MIB)],
            "evidence": [evidence],
        }

    items = [
        printed("weights", 15.27, "w"),
        printed("kv_cache", 40.02, "k"),
        printed("activation_peak", 1.4, "a", "estimated"),
        printed("cuda_graphs", 0.29, "g"),
        printed("non_torch", 0.26, "n"),
    ]
    neighbour = {"pid": 900, "process": "python3 -m other.server", "mib": 21000, "load_id": None}
    return document(
        [
            load(
                [
                    device(
                        0,
                        64200,
                        items,
                        growth_mib=37.0,
                        measured_by="card_less_baseline",
                        join_scope="inferred",
                        joined_by="overlap_of_lives",
                    )
                ],
                engine="vLLM",
                engine_version="0.25.1",
                model="Qwen/Qwen3-8B",
                unit="vllm.service",
                ended_at="2026-11-16T01:00:00+00:00",
                end_reason="killed",
            )
        ],
        cards=[card(0, 85213, [neighbour], total=143771)],
    )


def overnamed() -> Json:
    """A sum that the card refutes."""
    answer = plain()
    answer["loads"][0]["devices"][0]["items"].append(logged("draft", "weights", 610.0, "b7"))
    answer["loads"][0]["devices"] = [device(0, 10808, answer["loads"][0]["devices"][0]["items"])]
    return answer


def hostile() -> Json:
    """Every text of the document is an attack."""
    attack = "\x1b]52;c;eA==\x07[bold]x[/bold]\u202e|`=1+1</script>\r\n# h"
    answer = two_cards()
    trusted = {"where", "part", "kind", "basis", "load_id", "evidence", "gpu_uuid", "join_scope"}

    def poison(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: value if key in trusted else poison(value) for key, value in node.items()}
        if isinstance(node, list):
            return [poison(value) for value in node]
        return f"{node}{attack}" if isinstance(node, str) else node

    for name in ("loads", "cards", "set_aside"):
        answer[name] = poison(answer[name])
    for cited in answer["evidence"].values():
        cited["text"] += attack
    answer["missing"] = [{"what": attack, "because": attack, "remedy": attack}]
    return answer
