# ruff: noqa: E501  (lines of other programs stand as they are)
"""Telemetry and self-reports in every form: figures in base units, cited by their own bytes, what they lack said."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from reading import Sample, read

from forensics.records import (
    CardSamples,
    HolderSamples,
    Options,
    RequestCounters,
    SelfReports,
    Source,
    read_inputs,
)

MIB = 1024 * 1024
SAVED_S = 1_796_050_000
UUID = "GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a"
FILE_TIME = "the capture prints no time: the file's modification time stands for it"


def columns(sample: Sample) -> dict[str, list[Any]]:
    """The columns of a hand-over in which some row says something."""
    values = sample._asdict() if isinstance(sample, (CardSamples, HolderSamples)) else vars(sample)
    return {
        name: column
        for name, column in values.items()
        if isinstance(column, list) and name not in {"offset", "length"} and any(one is not None for one in column)
    }


def cited(content: bytes, sample: Sample) -> list[bytes]:
    return [content[at : at + size] for at, size in zip(sample.offset, sample.length, strict=True)]


def taken(folder: Path, content: bytes) -> tuple[list[Sample], Source]:
    records, samples, source = read(folder, content, modified_s=SAVED_S)
    assert records == []
    return samples, source


def whats(source: Source) -> list[str]:
    return [problem.what for problem in source.problems]


# -- nvidia-smi -q, as driver 580 prints it, cut to a few of its sections ---------------------------------------------

QUERY = b"""
==============NVSMI LOG==============

Timestamp                                              : Mon Nov 30 14:45:07 2026
Driver Version                                         : 580.159.04
CUDA Version                                           : 13.0

Attached GPUs                                          : 1
GPU 00000000:00:06.0
    Product Name                                       : NVIDIA H200
    MIG Mode
        Current                                        : Disabled
        Pending                                        : Disabled
    GPU UUID                                           : GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a
    FB Memory Usage
        Total                                          : 143771 MiB
        Reserved                                       : 616 MiB
        Used                                           : 1551 MiB
        Free                                           : 141606 MiB
    BAR1 Memory Usage
        Total                                          : 262144 MiB
        Used                                           : 1552 MiB
        Free                                           : 260592 MiB
    Utilization
        GPU                                            : 7 %
        Memory                                         : 0 %
    GPU Power Readings
        Average Power Draw                             : 122.96 W
        Instantaneous Power Draw                       : 123.23 W
    GPU Memory Power Readings
        Average Power Draw                             : 40.84 W
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 521
            Type                          : C
            Name                          : python3
            Used GPU Memory               : 1542 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 522
            Type                          : G
            Name                          : Xorg
            Used GPU Memory               : 4 MiB
    Capabilities
        EGM                                            : disabled
"""


def test_the_long_text_of_nvidia_smi_gives_cards_and_processes(tmp_path: Path) -> None:
    (cards, holders), source = taken(tmp_path, QUERY)
    assert columns(cards) == {
        "wall_us": [1_796_049_907_000_000],
        "uuid": [UUID],
        "pci_bus_id": ["00000000:00:06.0"],
        "name": ["NVIDIA H200"],
        "total_bytes": [143_771 * MIB],
        "used_bytes": [1551 * MIB],
        "free_bytes": [141_606 * MIB],
        "reserved_bytes": [616 * MIB],
        "utilization_ratio": [0.07],
        "power_w": [122.96],
    }
    assert columns(holders) == {
        "wall_us": [1_796_049_907_000_000] * 2,
        "uuid": [UUID] * 2,
        "pci_bus_id": ["00000000:00:06.0"] * 2,
        "pid": [521, 522],
        "process": ["python3", "Xorg"],
        "used_bytes": [1542 * MIB, 4 * MIB],
    }
    assert cited(QUERY, cards)[0].startswith(b"        Total                                          : 143771 MiB")
    assert [text.count(b"Process ID") for text in cited(QUERY, holders)] == [1, 1]
    assert (source.format, source.records, source.problems) == ("nvidia-smi-query", 3, [])


def test_the_long_text_appended_to_itself_gives_two_moments(tmp_path: Path) -> None:
    (cards, holders), _ = taken(tmp_path, QUERY + QUERY.replace(b"14:45:07", b"14:45:08"))
    assert columns(cards)["wall_us"] == [1_796_049_907_000_000, 1_796_049_908_000_000]
    assert columns(holders)["pid"] == [521, 522, 521, 522]


# -- nvidia-smi -q -x -------------------------------------------------------------------------------------------------

XML = b"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
	<timestamp>Mon Nov 30 14:45:07 2026</timestamp>
	<driver_version>580.159.04</driver_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:00:06.0">
		<product_name>NVIDIA H200</product_name>
		<uuid>GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a</uuid>
		<fb_memory_usage>
			<total>143771 MiB</total>
			<reserved>616 MiB</reserved>
			<used>1551 MiB</used>
			<free>141606 MiB</free>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>262144 MiB</total>
			<used>1552 MiB</used>
			<free>260592 MiB</free>
		</bar1_memory_usage>
		<utilization>
			<gpu_util>7 %</gpu_util>
		</utilization>
		<gpu_power_readings>
			<average_power_draw>122.96 W</average_power_draw>
		</gpu_power_readings>
		<processes>
			<process_info>
				<gpu_instance_id>N/A</gpu_instance_id>
				<compute_instance_id>N/A</compute_instance_id>
				<pid>521</pid>
				<type>C</type>
				<process_name>python3</process_name>
				<used_memory>1542 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
"""


def test_the_xml_of_nvidia_smi_gives_what_its_text_gives(tmp_path: Path) -> None:
    (cards, holders), source = taken(tmp_path, XML + XML)
    (from_text, _), _ = taken(tmp_path, QUERY)
    assert columns(cards) == {name: column * 2 for name, column in columns(from_text).items()}
    assert columns(holders)["pid"] == [521, 521]
    assert [text[:17] for text in cited(XML + XML, cards)] == [b"<fb_memory_usage>"] * 2
    assert [text[-15:] for text in cited(XML + XML, holders)] == [b"</process_info>"] * 2
    assert len(set(cards.offset)) == 2
    assert source.problems == []


def test_xml_that_declares_entities_is_refused(tmp_path: Path) -> None:
    bomb = XML.replace(b'SYSTEM "nvsmi_device_v13.dtd"', b'[<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]')
    samples, source = taken(tmp_path, bomb + XML)
    assert len(samples[0].offset) == 1
    assert whats(source) == ["documents that are no XML of nvidia-smi"]


def test_xml_cut_short_is_told(tmp_path: Path) -> None:
    samples, source = taken(tmp_path, XML + XML[:900])
    assert len(samples[0].offset) == 1
    assert whats(source) == ["the last document is cut"]


# -- dmon and pmon, as driver 580 prints them -------------------------------------------------------------------------


def test_rows_of_dmon_with_times_give_cards(tmp_path: Path) -> None:
    content = b"""#Date        Time         gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa     fb   bar1   ccpm
#YYYYMMDD    HH:MM:SS     Idx      W      C      C      %      %      %      %      %      %     MB     MB     MB
 20261130    14:44:40       0    122     38     38     50     99      0      0      0      0   1551   1552      0
 20261130    14:44:41       0      -     38     38      -      0      0      0      0      0   1551   1552      0
"""
    (cards,), source = taken(tmp_path, content)
    assert columns(cards) == {
        "wall_us": [1_796_049_880_000_000, 1_796_049_881_000_000],
        "index": [0, 0],
        "used_bytes": [1551 * MIB] * 2,
        "utilization_ratio": [0.5, None],
        "power_w": [122.0, None],
    }
    assert source.problems == []


def test_rows_of_pmon_with_times_give_processes(tmp_path: Path) -> None:
    content = b"""#Date        Time         gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command
#YYYYMMDD    HH:MM:SS     Idx           #    C/G      %      %      %      %      %      %     MB     MB    name
 20261130    14:44:38       0        445     C      0      0      -      -      -      -   1542      0    python3
 20261130    14:44:38       1          -     -      -      -      -      -      -      -      -      -    -
"""
    (holders,), source = taken(tmp_path, content)
    assert columns(holders) == {
        "wall_us": [1_796_049_878_000_000],
        "index": [0],
        "pid": [445],
        "process": ["python3"],
        "used_bytes": [1542 * MIB],
    }
    assert source.problems == []


def test_rows_of_dmon_without_times_are_told_with_the_remedy(tmp_path: Path) -> None:
    content = (
        b"# gpu    pwr  gtemp  mtemp     sm\n# Idx      W      C      C      %\n    0     80     36     38      0\n"
    )
    _, source = taken(tmp_path, content)
    assert [(problem.severity, problem.what, problem.remedy) for problem in source.problems] == [
        ("loss", "rows print no time, and cannot be placed", "record with -o DT"),
        ("note", "rows give no memory", "record with -s um, or use --query-gpu and --query-compute-apps"),
    ]


# -- tables -----------------------------------------------------------------------------------------------------------


def test_instances_of_a_card_are_cards_and_share_one_pool(tmp_path: Path) -> None:
    content = b"""Fri Jun 26 11:59:58 2026
| NVIDIA-SMI 595.71.05              Driver Version: 595.71.05      CUDA Version: 13.2     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   33C    P0            113W /  700W |   16944MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
| MIG devices:                                                                            |
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|  0    2   0   0  |           16925MiB / 71424MiB    | 16      0 |  4   0    1    0    1 |
|  0    2   1   1  |           16925MiB / 71424MiB    | 16      0 |  4   0    1    0    1 |
|  0    9   0   2  |              13MiB /  9728MiB    | 16      0 |  1   0    1    0    0 |
"""
    (cards,), _ = taken(tmp_path, content)
    assert columns(cards)["name"] == [
        "NVIDIA H100 80GB HBM3",
        "MIG instance 2 of GPU 0",
        "MIG instance 9 of GPU 0",
    ]
    assert columns(cards)["used_bytes"] == [16_944 * MIB, 16_925 * MIB, 13 * MIB]
    assert columns(cards)["uuid"] == [None, "MIG-00000000:00:09.0/2", "MIG-00000000:00:09.0/9"]


@pytest.mark.parametrize(
    ("used", "free", "stored", "notes"),
    [
        (1551, 141_604, 1551, []),
        (2167, 141_604, 1551, ["used memory held what the driver reserves (total = used + free): it was taken out"]),
        (1551, 100_000, 1551, []),
    ],
    ids=["apart", "inside", "neither"],
)
def test_the_identity_says_whether_used_holds_what_is_reserved(
    tmp_path: Path, used: int, free: int, stored: int, notes: list[str]
) -> None:
    head = b"timestamp, index, memory.total [MiB], memory.used [MiB], memory.free [MiB], memory.reserved [MiB]\n"
    row = f"2026/11/30 14:45:09.846, 0, 143771 MiB, {used} MiB, {free} MiB, 616 MiB\n"
    (cards,), source = taken(tmp_path, head + row.encode())
    assert (columns(cards)["used_bytes"], whats(source)) == ([stored * MIB], notes)


# -- JSON of other tools ----------------------------------------------------------------------------------------------


def test_json_of_gpustat_gives_cards_and_processes(tmp_path: Path) -> None:
    content = """{
    "hostname": "box ä", "driver_version": "580.159", "query_time": "2026-11-30T14:45:07.250000",
    "gpus": [
        {"index": 0, "uuid": "GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a", "name": "NVIDIA H200",
         "temperature.gpu": 38, "utilization.gpu": 7, "power.draw": 122, "memory.used": 1551, "memory.total": 143771,
         "processes": [{"username": "u", "command": "python3", "gpu_memory_usage": 1542, "pid": 521}]},
        {"index": 1, "uuid": "GPU-2", "name": "NVIDIA H200", "memory.used": 0, "memory.total": 143771, "processes": []}
    ]
}
""".encode()
    (cards, holders), source = taken(tmp_path, content)
    assert columns(cards) == {
        "wall_us": [1_796_049_907_250_000] * 2,
        "index": [0, 1],
        "uuid": [UUID, "GPU-2"],
        "name": ["NVIDIA H200"] * 2,
        "total_bytes": [143_771 * MIB] * 2,
        "used_bytes": [1551 * MIB, 0],
        "utilization_ratio": [0.07, None],
        "power_w": [122.0, None],
    }
    assert columns(holders)["used_bytes"] == [1542 * MIB]
    assert [text[:12] for text in cited(content, cards)] == [b'{"index": 0,', b'{"index": 1,']
    assert cited(content, holders) == [b'{"username": "u", "command": "python3", "gpu_memory_usage": 1542, "pid": 521}']
    assert source.problems == []


def test_snapshots_of_nvtop_give_cards_at_the_time_of_the_file(tmp_path: Path) -> None:
    content = b"""[
  {"device_name": "NVIDIA GeForce RTX 4080", "gpu_clock": "2805MHz", "temp": "45C", "power_draw": "83W",
   "gpu_util": "7%", "mem_util": "9%", "mem_total": "17171480576", "mem_used": "1545601024", "mem_free": "15625879552",
   "processes": [{"pid": "5021", "cmdline": "ffmpeg", "kind": "compute", "gpu_mem_bytes_alloc": "377487360"}]}
]
"""
    (cards, holders), source = taken(tmp_path, content * 2)
    assert columns(cards)["wall_us"] == [SAVED_S * 1_000_000] * 2
    assert columns(cards)["used_bytes"] == [1_545_601_024] * 2
    assert columns(holders)["pid"] == [5021, 5021]
    assert whats(source) == [FILE_TIME]


def test_json_of_rocm_smi_gives_cards(tmp_path: Path) -> None:
    content = b"""{"card0": {"GPU use (%)": "50", "VRAM Total Memory (B)": "4278190080", "VRAM Total Used Memory (B)": "108814336"},
 "system": {"Driver version": "6.7"}}"""
    (cards,), _ = taken(tmp_path, content)
    assert columns(cards) == {
        "wall_us": [SAVED_S * 1_000_000],
        "index": [0],
        "total_bytes": [4_278_190_080],
        "used_bytes": [108_814_336],
        "utilization_ratio": [0.5],
    }


def test_text_and_csv_of_rocm_smi_give_the_same_cards(tmp_path: Path) -> None:
    text = b"""
============================ ROCm System Management Interface ============================
================================== Memory Usage (Bytes) ==================================
GPU[0]		: VRAM Total Memory (B): 4278190080
GPU[0]		: VRAM Total Used Memory (B): 108814336
GPU[1]		: VRAM Total Memory (B): 4278190080
GPU[1]		: VRAM Total Used Memory (B): 10240
==========================================================================================
"""
    table = b"""device,VRAM Total Memory (B),VRAM Total Used Memory (B)
card0,4278190080,108814336
card1,4278190080,10240
"""
    (from_text,), _ = taken(tmp_path, text)
    (from_table,), _ = taken(tmp_path, table)
    assert columns(from_text) == columns(from_table)
    assert columns(from_text)["used_bytes"] == [108_814_336, 10_240]


CONCISE = """\
========================= ROCm System Management Interface =========================
=================================== Concise Info ===================================
Device  Node  IDs              Temp    Power     Partitions          SCLK     MCLK     Fan     Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Edge)  (Socket)  (Mem, Compute, ID)
====================================================================================
0       3     0x66a1,   1      32.0\u00b0C  28.5W     N/A, N/A, 0         1700Mhz  1000Mhz  29.41%  high  190.0W  45%    7%
1       4     0x66a1,   2      32.0\u00b0C  N/A       N/A, N/A, 0         1800Mhz  1000Mhz  0%      high  225.0W  99%    0%
====================================================================================
"""


def test_the_table_of_rocm_smi_gives_cards_and_says_that_their_memory_is_a_share(tmp_path: Path) -> None:
    (cards,), source = taken(tmp_path, CONCISE.encode())
    assert columns(cards) == {
        "wall_us": [SAVED_S * 1_000_000] * 2,
        "index": [0, 1],
        "utilization_ratio": [0.07, 0.0],
        "power_w": [28.5, None],
    }
    assert [(one.severity, one.what, one.count) for one in source.problems] == [
        ("loss", "rows give memory as a share of a total that they do not print: no bytes are known", 2),
        ("note", FILE_TIME, 1),
    ]
    (cards,), source = taken(tmp_path, (CONCISE + CONCISE.replace("   7%", "  88%")).encode())
    assert columns(cards)["utilization_ratio"] == [0.88, 0.0]  # the last of two tables
    assert source.problems[-1].what.startswith("rows of earlier readings print no time")
    old = "GPU  Temp   AvgPwr  SCLK    MCLK     Fan     Perf  PwrCap  VRAM%  GPU%\n0    35.0c  20.0W   808Mhz  96Mhz    0.0%    auto  303.0W   3%   1%\n"
    (cards,), _ = taken(tmp_path, old.encode())
    assert (columns(cards)["utilization_ratio"], columns(cards)["power_w"]) == ([0.01], [20.0])


def test_json_of_amd_smi_gives_cards_and_processes(tmp_path: Path) -> None:
    memory = b"""[{"gpu": 0, "usage": {"gfx_activity": {"value": 12, "unit": "%"}},
  "mem_usage": {"total_vram": {"value": 24560, "unit": "MB"}, "used_vram": {"value": 1000, "unit": "MB"},
                "free_vram": {"value": 23560, "unit": "MB"}}}]"""
    (cards,), _ = taken(tmp_path, memory)
    assert columns(cards)["used_bytes"] == [1000 * MIB]
    assert columns(cards)["utilization_ratio"] == [0.12]
    processes = b"""[{"gpu": 0, "process_list": [{"process_info": {"name": "server", "pid": 77,
  "memory_usage": {"gtt_mem": {"value": 1, "unit": "B"}, "vram_mem": {"value": 1048576000, "unit": "B"}}}}]}]"""
    (holders,), _ = taken(tmp_path, processes)
    assert (columns(holders)["pid"], columns(holders)["used_bytes"]) == ([77], [1000 * MIB])


def test_a_table_of_amd_smi_gives_cards(tmp_path: Path) -> None:
    (cards,), _ = taken(tmp_path, b"timestamp,gpu,vram_used,vram_total\n1796049907,0,1000,24560\n")
    assert columns(cards) == {
        "wall_us": [1_796_049_907_000_000],
        "index": [0],
        "total_bytes": [24_560 * MIB],
        "used_bytes": [1000 * MIB],
    }


# -- metrics ----------------------------------------------------------------------------------------------------------


def test_metrics_of_an_exporter_become_one_row_a_card(tmp_path: Path) -> None:
    labels = (
        b'gpu="0",UUID="GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a",pci_bus_id="00000000:00:06.0",modelName="NVIDIA H200"'
    )
    content = b"# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).\n# TYPE DCGM_FI_DEV_FB_USED gauge\n"
    content += b"".join(
        b"DCGM_FI_DEV_%s{%s} %d\n" % (name, labels, value)
        for name, value in (
            (b"FB_USED", 1551),
            (b"FB_FREE", 141_604),
            (b"FB_RESERVED", 616),
            (b"GPU_UTIL", 7),
            (b"POWER_USAGE", 9_223_372_036_854_775_794),
        )
    )
    (cards,), source = taken(tmp_path, content)
    assert columns(cards) == {
        "wall_us": [SAVED_S * 1_000_000],
        "index": [0],
        "uuid": [UUID],
        "pci_bus_id": ["00000000:00:06.0"],
        "name": ["NVIDIA H200"],
        "total_bytes": [143_771 * MIB],
        "used_bytes": [1551 * MIB],
        "free_bytes": [141_604 * MIB],
        "reserved_bytes": [616 * MIB],
        "utilization_ratio": [0.07],
    }
    assert cited(content, cards)[0].startswith(b"DCGM_FI_DEV_FB_USED{")
    assert whats(source) == [FILE_TIME]


def test_metrics_of_nvitops_exporter_give_cards_and_processes(tmp_path: Path) -> None:
    place = f'devicename="NVIDIA H200",hostname="10.0.0.5",index="0",uuid="{UUID}"'
    content = f"""# HELP gpu_memory_total_MiB GPU memory total (MiB).
# TYPE gpu_memory_total_MiB gauge
gpu_memory_total_MiB{{{place}}} 143771.0
gpu_memory_used_MiB{{{place}}} 1551.5
gpu_memory_free_MiB{{{place}}} 141603.5
gpu_utilization_Percentage{{{place}}} 7.0
gpu_power_usage_W{{{place}}} 122.25
gpu_fan_speed_Percentage{{{place}}} NaN
process_info_info{{command="python3 -m server \\"x\\"",{place},pid="521",status="running",username="u"}} 1.0
process_gpu_memory_MiB{{{place},pid="521",username="u"}} 1542.0
process_gpu_memory_MiB{{{place},pid="522",username="u"}} NaN
""".encode()
    (cards, holders), source = taken(tmp_path, content)
    assert columns(cards) == {
        "wall_us": [SAVED_S * 1_000_000],
        "index": [0],
        "uuid": [UUID],
        "name": ["NVIDIA H200"],
        "total_bytes": [143_771 * MIB],
        "used_bytes": [int(1551.5 * MIB)],
        "free_bytes": [int(141_603.5 * MIB)],
        "utilization_ratio": [0.07],
        "power_w": [122.25],
    }
    assert columns(holders) == {
        "wall_us": [SAVED_S * 1_000_000],
        "index": [0],
        "uuid": [UUID],
        "pid": [521],
        "process": ['python3 -m server "x"'],
        "used_bytes": [1542 * MIB],
    }
    assert whats(source) == [FILE_TIME, "metrics without a number"]


def test_metrics_with_times_of_their_own_keep_them(tmp_path: Path) -> None:
    content = (
        b'nvidia_smi_memory_used_bytes{uuid="8f319f5c-9498-a3d5-96d9-63b056d7bc9a"} 1.626341376e+09 1796049907250\n'
    )
    content += b'nvidia_smi_compute_app_used_memory_bytes{pid="521",process_name="a b",uuid="8f319f5c"} 1.0e+09 1796049907250\n'
    (cards, holders), source = taken(tmp_path, content)
    assert columns(cards) == {"wall_us": [1_796_049_907_250_000], "uuid": [UUID], "used_bytes": [1551 * MIB]}
    assert (columns(holders)["pid"], columns(holders)["process"]) == ([521], ["a b"])
    assert source.problems == []


def test_the_answer_of_a_metrics_store_gives_a_row_a_card_and_moment(tmp_path: Path) -> None:
    def series(name: str, *values: int) -> str:
        pairs = ",".join(f'[{1_796_049_907 + at}.5,"{value}"]' for at, value in enumerate(values))
        return f'{{"metric":{{"__name__":"{name}","uuid":"8f31"}},"values":[{pairs}]}}'

    result = f"[{series('nvidia_smi_memory_used_bytes', 10, 20)},{series('nvidia_smi_memory_total_bytes', 99, 99)}]"
    whole = f'{{"status":"success","data":{{"resultType":"matrix","result":{result}}}}}'
    for content in (whole.encode(), result.encode()):
        (cards,), _ = taken(tmp_path, content)
        assert columns(cards) == {
            "wall_us": [1_796_049_907_500_000, 1_796_049_908_500_000],
            "uuid": ["GPU-8f31", "GPU-8f31"],
            "total_bytes": [99, 99],
            "used_bytes": [10, 20],
        }
        assert cited(content, cards) == [b'[1796049907.5,"10"]', b'[1796049908.5,"20"]']


def test_other_metrics_are_counters_of_the_server(tmp_path: Path) -> None:
    content = b"""200
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 4163
vllm:num_requests_running{engine="0",model_name="a \\"b\\""} 2.0
vllm:broken NaN
"""
    (counters,), source = taken(tmp_path, content)
    assert columns(counters) == {
        "wall_us": [SAVED_S * 1_000_000] * 2,
        "name": ["llamacpp:prompt_tokens_total", "vllm:num_requests_running"],
        "labels": [None, 'engine=0,model_name=a "b"'],
        "value": [4163.0, 2.0],
    }
    assert isinstance(counters, RequestCounters)
    assert whats(source) == [FILE_TIME, "metrics without a number"]


# -- self-reports -----------------------------------------------------------------------------------------------------


def test_the_models_that_a_service_lists_with_their_sizes(tmp_path: Path) -> None:
    content = b"""{"models":[{"name":"x:latest","model":"x:latest","size":26330000000,"digest":"ab",
 "details":{"format":"gguf"},"expires_at":"2026-09-18T08:16:44.1+02:00","size_vram":24000000000,"context_length":262144},
 {"name":"y","size":10,"size_vram":0}]}"""
    (reports,), source = taken(tmp_path, content)
    assert columns(reports) == {
        "wall_us": [SAVED_S * 1_000_000] * 2,
        "kind": ["loaded", "loaded"],
        "model": ["x:latest", "y"],
        "total_bytes": [26_330_000_000, 10],
        "card_bytes": [24_000_000_000, 0],
        "bound_bytes": [0, 0],
        "context": [262_144, None],
    }
    assert isinstance(reports, SelfReports)
    assert cited(content, reports)[1] == b'{"name":"y","size":10,"size_vram":0}'
    assert whats(source) == [FILE_TIME]


def test_the_table_of_loaded_models_with_what_its_figures_can_mean(tmp_path: Path) -> None:
    content = b"""NAME              ID              SIZE      PROCESSOR          CONTEXT    UNTIL
x:latest          0123456789ab    26 GB     100% GPU           262144     4 minutes from now
y:7b              0123456789ac    5.5 GB    12%/88% CPU/GPU    4096       Forever
z                 0123456789ad    900 MB    100% CPU           4096       Stopping...
"""
    (reports,), _ = taken(tmp_path, content)
    assert columns(reports) == {
        "wall_us": [SAVED_S * 1_000_000] * 3,
        "kind": ["loaded"] * 3,
        "model": ["x:latest", "y:7b", "z"],
        "total_bytes": [26_500_000_000, 5_500_000_000, 900_500_000],
        "card_bytes": [26_500_000_000, 4_840_000_000, 0],
        "bound_bytes": [500_000_000, 50_000_000, 500_000],
        "context": [262_144, 4096, 4096],
        "state": ["4 minutes from now", "Forever", "Stopping..."],
    }


def test_the_models_that_a_proxy_runs(tmp_path: Path) -> None:
    content = b'{"running":[{"model":"a","state":"ready","cmd":"server -m a","proxy":"http://localhost:5800","ttl":0}]}'
    (reports,), _ = taken(tmp_path, content)
    assert columns(reports)["kind"] == ["running"]
    assert (columns(reports)["model"], columns(reports)["state"]) == (["a"], ["ready"])


def test_the_settings_and_slots_of_a_server(tmp_path: Path) -> None:
    settings = b'200\n{"default_generation_settings":{"n_ctx":4096},"total_slots":4,"model_path":"/m/a.gguf"}'
    (reports, counters), _ = taken(tmp_path, settings)
    assert (columns(reports)["model"], columns(reports)["context"]) == (["/m/a.gguf"], [4096])
    assert (columns(counters)["name"], columns(counters)["value"]) == (["total_slots"], [4.0])
    slots = b'200\n[{"id":0,"n_ctx":262144,"speculative":false,"is_processing":true}]'
    (counters,), _ = taken(tmp_path, slots)
    assert columns(counters)["name"] == ["slot.n_ctx", "slot.speculative", "slot.is_processing"]
    assert columns(counters)["labels"] == ["slot=0"] * 3
    assert cited(slots, counters)[0] == slots[5:-1]


def test_the_counters_of_answers_one_a_line(tmp_path: Path) -> None:
    content = rb"""{"t": 1796036870877313, "code": 200, "model": null, "resp": "{\"content\":\"x\",\"timings\":{\"prompt_n\":9,\"draft_n\":4}}"}
{"t": 1796036871, "code": 200, "resp": {"model":"m","usage":{"prompt_tokens":7,"details":{"cached":3}}}}
{"t": 1796036872, "code": 500, "resp": "no"}
"""
    (counters,), source = taken(tmp_path, content)
    assert columns(counters) == {
        "wall_us": [1_796_036_870_877_313] * 4 + [1_796_036_871_000_000] * 2,
        "name": [
            "timings.prompt_n",
            "timings.draft_n",
            "answer.content_chars",
            "answer.reasoning_chars",
            "usage.prompt_tokens",
            "usage.details.cached",
        ],
        "labels": [None] * 4 + ["model=m"] * 2,
        "value": [9.0, 4.0, 1.0, 0.0, 7.0, 3.0],
    }
    assert [(problem.what, problem.count) for problem in source.problems] == [
        ("lines without counters were passed over", 1)
    ]


# -- what is incomplete, strange or of another form -------------------------------------------------------------------


def test_the_long_text_with_lines_of_no_use_gives_the_same_cards(tmp_path: Path) -> None:
    strange = QUERY.replace(b"    MIG Mode\n", b"    Product Brand     : NVIDIA\n    MIG Mode\n").replace(
        b"    GPU Power Readings\n        Average Power Draw                             : 122.96 W\n",
        b"    GPU Power Readings\n        Average Power Draw                             : N/A\n",
    )
    (cards, _), source = taken(tmp_path, b"a warning of a wrapper\n" + strange)
    assert (columns(cards)["name"], columns(cards)["power_w"]) == (["NVIDIA H200"], [123.23])
    assert source.problems == []


def test_the_memory_of_mig_devices_is_not_taken_for_the_cards(tmp_path: Path) -> None:
    devices = b"""    MIG Devices
        MIG Device
            Index                                      : 0
            FB Memory Usage
                Total                                  : 71424 MiB
                Used                                   : 16925 MiB
"""
    content = QUERY.replace(b"    BAR1 Memory Usage\n", devices + b"    BAR1 Memory Usage\n")
    (cards, _), source = taken(tmp_path, content.replace(b"Mon Nov 30", b"Mon Foo 30"))
    assert columns(cards)["total_bytes"] == [143_771 * MIB]
    assert [(problem.what, problem.count) for problem in source.problems] == [
        ("MIG devices of the cards were passed over; their processes are there", 1),
        ("cards without a timestamp", 1),
    ]


def test_xml_of_another_layout_is_cited_as_well_as_can_be(tmp_path: Path) -> None:
    other = (
        XML.replace(b"<gpu id", b"<gpu\n id")
        .replace(b"fb_memory_usage", b"framebuffer")
        .replace(b"\t<driver_version>580.159.04</driver_version>\n", b"")
    )
    (cards, _), _ = taken(tmp_path, other)
    assert (columns(cards)["uuid"], cards.offset) == ([UUID], [0])
    assert "used_bytes" not in columns(cards)


def test_xml_that_declares_anything_or_is_too_long_is_refused(tmp_path: Path) -> None:
    declared = XML.replace(b'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">', b"").replace(
        b"<timestamp>", b"<![CDATA[x]]><timestamp>"
    )
    samples, source = taken(tmp_path, declared + XML)
    assert (len(samples[0].offset), whats(source)) == (1, ["documents that are no XML of nvidia-smi"])
    long = XML.replace(b"<timestamp>", b"<!-- " + b"x" * 300_000 + b" --><timestamp>")
    _, samples, source = read(tmp_path, long, Options(held_bytes=100_000, block_bytes=64_000), modified_s=SAVED_S)
    assert (samples, whats(source)) == ([], ["documents that are no XML of nvidia-smi"])


def test_a_table_of_cards_that_is_torn_is_told(tmp_path: Path) -> None:
    content = b"""Fri Jun 26 11:59:58 2026
| NVIDIA-SMI 595.71.05              Driver Version: 595.71.05      CUDA Version: 13.2     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
+-----------------------------------------+------------------------+----------------------+
"""
    samples, source = taken(tmp_path, content)
    assert (samples, whats(source)) == ([], ["cards whose memory cannot be read"])


def test_what_is_odd_in_json_of_gpustat_is_passed_over(tmp_path: Path) -> None:
    content = b"""{"query_time": "yesterday", "gpus": [7,
  {"index": 0, "memory.used": 1551, "memory.total": 143771, "processes": "unknown"},
  {"index": 1, "memory.used": 1, "memory.total": 143771, "processes": ["?", {"pid": 7, "gpu_memory_usage": 5}]}]}"""
    (cards, holders), source = taken(tmp_path, content)
    assert columns(cards)["wall_us"] == [SAVED_S * 1_000_000] * 2
    assert columns(cards)["used_bytes"] == [1551 * MIB, MIB]
    assert (columns(holders)["pid"], columns(holders)["used_bytes"]) == ([7], [5 * MIB])
    assert whats(source) == [FILE_TIME]
    (cards, _), _ = taken(tmp_path, content.replace(b'"yesterday"', b"1796049907"))
    assert columns(cards)["wall_us"] == [SAVED_S * 1_000_000] * 2


def test_what_is_odd_in_lists_of_cards_is_passed_over(tmp_path: Path) -> None:
    devices = b'[{"device_name": "x", "gpu_util": null, "mem_used": "5", "processes": ["?"]}]'
    (cards,), _ = taken(tmp_path, devices)
    assert columns(cards)["used_bytes"] == [5]
    listed = b'["?", {"gpu": 0, "vram_used": "1000 MB", "vram_total": "24 GB"}, {"gpu": 1, "vram_used": "7 parsecs"}]'
    (cards,), _ = taken(tmp_path, b'{"gpu_data": ' + listed + b', "total_vram": 0}')
    assert (columns(cards)["index"], columns(cards)["used_bytes"]) == ([0], [1000 * MIB])
    assert columns(cards)["total_bytes"] == [24 * 1024 * MIB]


def test_series_of_a_metrics_store_may_be_counters_and_hold_what_is_none(tmp_path: Path) -> None:
    content = b"""{"data": {"result": [{"metric": {"__name__": "requests_total", "job": "a"},
  "values": [[1796049907, "4"], [1796049908], [1796049909, "many"], "?"]}]}}"""
    (counters,), source = taken(tmp_path, content)
    assert columns(counters) == {
        "wall_us": [1_796_049_907_000_000],
        "name": ["requests_total"],
        "labels": ["job=a"],
        "value": [4.0],
    }
    assert source.problems == []


def test_documents_of_another_shape_and_what_is_none_are_told(tmp_path: Path) -> None:
    content = b'{"running":[{"model":"a","state":"ready","proxy":"x"}]} {"models": []} [1] "text" 7 }'
    (reports,), source = taken(tmp_path, content)
    assert columns(reports)["model"] == ["a"]
    assert [(problem.what, problem.count, problem.offset) for problem in source.problems] == [
        ("what follows is no JSON document", 1, len(content) - 1),
        (FILE_TIME, 1, None),
        ("documents of another shape were passed over", 4, None),
    ]


def test_a_document_beyond_what_is_held_is_cut_and_that_is_told(tmp_path: Path) -> None:
    content = b'{"running":[{"model":"a","state":"ready","proxy":"x"}]}'
    _, samples, source = read(tmp_path, content * 2, Options(held_bytes=len(content) + 3), modified_s=SAVED_S)
    assert [len(sample.offset) for sample in samples] == [1]
    assert whats(source)[:2] == [
        "what follows is no JSON document",
        f"the document is longer than {len(content) + 3} bytes: the rest was not read",
    ]


def test_samples_of_rocm_smi_appended_to_each_other_are_two_moments_of_each_card(tmp_path: Path) -> None:
    text = b"""GPU[0]		: VRAM Total Memory (B): 4278190080
GPU[0]		: VRAM Total Used Memory (B): 10240
GPU[1]		: VRAM Total Memory (B): 4278190080
"""
    (cards,), _ = taken(tmp_path, text + text.replace(b"10240", b"20480"))
    assert (columns(cards)["index"], columns(cards)["used_bytes"]) == ([0, 0], [10_240, 20_480])


def test_rows_of_rocm_smi_that_are_no_card_are_counted_and_the_driver_row_is_not(tmp_path: Path) -> None:
    table = b"""device,VRAM Total Memory (B),VRAM Total Used Memory (B)

card0,4278190080,N/A
system,,
warning,,
"""
    (cards,), source = taken(tmp_path, table)
    assert (columns(cards)["total_bytes"], "used_bytes" in columns(cards)) == ([4_278_190_080], False)
    assert [(problem.what, problem.count) for problem in source.problems] == [
        (FILE_TIME, 1),
        ("rows that are no sample", 1),
    ]


def test_figures_of_mig_instances_are_not_taken_for_the_cards(tmp_path: Path) -> None:
    content = b"""# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0"} 1551
DCGM_FI_DEV_FB_USED{gpu="0",GPU_I_ID="2"} 700
"""
    (cards,), source = taken(tmp_path, content)
    assert columns(cards)["used_bytes"] == [1551 * MIB]
    assert whats(source) == [FILE_TIME, "figures of MIG instances were passed over"]


def test_a_capture_through_standard_input_has_no_time_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{"running":[{"model":"a","state":"ready","proxy":"x"}]}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    reports, source = read_inputs(["-"])
    assert isinstance(reports, SelfReports)
    assert isinstance(source, Source)
    assert reports.wall_us == [None]
    assert [(problem.what, problem.remedy) for problem in source.problems] == [
        (
            "the capture prints no time, and its rows cannot be placed",
            "save it to a file, or capture a form that prints the time",
        )
    ]


def test_what_is_odd_among_loaded_models_is_passed_over_or_counted(tmp_path: Path) -> None:
    (reports,), _ = taken(tmp_path, b'{"models":["?",{"name":"x","size":-1,"size_vram":"much"}]}')
    assert (columns(reports)["model"], "total_bytes" in columns(reports)) == (["x"], False)
    table = b"""
NAME    ID    SIZE      PROCESSOR    UNTIL
x       01    9 GB      somewhere    Forever

y       02    large     100% GPU     Forever
z       03    512 B     100% GPU     Forever
"""
    (reports,), source = taken(tmp_path, table)
    assert columns(reports) == {
        "wall_us": [SAVED_S * 1_000_000] * 2,
        "kind": ["loaded"] * 2,
        "model": ["x", "z"],
        "total_bytes": [9_000_000_000, 512],
        "card_bytes": [None, 512],
        "bound_bytes": [0, 0],
        "state": ["Forever"] * 2,
    }
    assert whats(source) == [FILE_TIME, "rows of the table that are none"]


def test_answers_of_several_interfaces_give_their_counters_with_length_reasoning_and_limit(tmp_path: Path) -> None:
    content = b"""{"created_at":"2026-09-18T08:12:24.1234567+02:00","model":"m","response":"<think>hm</think> yes","done_reason":"length","eval_count":5,"eval_duration":9,"load_duration":1,"req":{"think":true}}
{"timestamp":"yesterday","result":{"created":1796036871,"choices":[{"finish_reason":"stop","message":{"content":"yes","reasoning":"hm"}}],"usage":{"completion_tokens":3}},"request":"{\\"chat_template_kwargs\\":{\\"enable_thinking\\":false}}","params":{"think":true}}
{"t":12,"usage":{"total_tokens":2},"payload":{"prompt":"x"}}

{"usage":{"total_tokens":"many"}}
{"resp":{"resp":{"resp":{"resp":{"resp":{"usage":{"total_tokens":9}}}}}}}
broken
"""
    (counters,), source = taken(tmp_path, content)
    assert list(zip(counters.name, counters.value, counters.wall_us, strict=True)) == [  # type: ignore[union-attr]
        *(
            (name, value, 1_789_711_944_123_456)
            for name, value in (
                ("eval_count", 5.0),
                ("eval_duration", 9.0),
                ("load_duration", 1.0),
                ("answer.content_chars", 3.0),
                ("answer.reasoning_chars", 2.0),
                ("answer.limited", 1.0),
                ("asked.reasoning", 1.0),
            )
        ),
        *(
            (name, value, 1_796_036_871_000_000)
            for name, value in (
                ("usage.completion_tokens", 3.0),
                ("answer.content_chars", 3.0),
                ("answer.reasoning_chars", 2.0),
                ("answer.limited", 0.0),
                ("asked.reasoning", 0.0),
            )
        ),
        ("usage.total_tokens", 2.0, None),
    ]
    assert [(problem.what, problem.count) for problem in source.problems] == [
        ("lines that are no object", 1),
        ("lines without counters were passed over", 2),
        ("answers without a time", 2),
    ]
