"""What the cards show joins what the log shows: zones by lives, processes by pid or overlap, devices by bus id."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import duckdb
import pytest
from casing import CATALOGUE, MIB, Rows, case, rows

from forensics.case import read_evidence, store
from forensics.catalogue import load_catalogue
from forensics.opened import ready
from forensics.question import load_questions
from forensics.records import Named
from forensics.telemetry import Card, CardSample, Telemetry

HOUR_US = 3_600_000_000
MIDNIGHT_US = 1_795_996_800_000_000  # 2026-11-30
CARD = "GPU-8f319f5c-9498-a3d5-96d9-63b056d7bc9a"
OTHER = "GPU-e4bfb2d8-a412-9f57-6e61-65fa9d21d6fe"


def journal(*entries: tuple[str, str]) -> str:
    """Lines as journalctl -o short-iso prints them: the pid is a relay's, and nothing of a text is trusted."""
    return "".join(f"2026-11-30T{at}+00:00 gpubox relay[9]: {text}\n" for at, text in entries)


def export(pid: int, *entries: tuple[str, str]) -> str:
    """Entries as journalctl -o export prints them, with the fields that only journald can set."""
    parts = []
    for at, text in entries:
        hours, minutes, seconds = (float(part) for part in at.split(":"))
        time = MIDNIGHT_US + int((hours * 3600 + minutes * 60 + seconds) * 1_000_000)
        parts.append(
            f"__REALTIME_TIMESTAMP={time}\n_BOOT_ID=c25f3c6c47505e16919f26893046764e\n_HOSTNAME=gpubox\n"
            f"_TRANSPORT=stdout\n_PID={pid}\n_COMM=llama-server\n_SYSTEMD_UNIT=llama-server.service\n"
            f"_SYSTEMD_INVOCATION_ID=f43e0a9db485552588614afdcbe07f3e\nMESSAGE={text}\n"
        )
    return "\n".join(parts) + "\n"


def load(begin: str, ready: str, end: str, *devices: str) -> tuple[tuple[str, str], ...]:
    """One load: its lines with their times, HH:MM:SS."""
    held = [(ready, f"0.02.000.000 I load_tensors:        {one} model buffer size =  1000.00 MiB") for one in devices]
    return (
        (begin, "0.00.700.000 I srv    load_model: loading model '/m/alpha.gguf'"),
        *held,
        (ready, "0.03.000.000 I srv  llama_server: model loaded"),
        (ready, "0.03.000.010 I srv  update_slots: all slots are idle"),
        (end, "0.09.000.000 I srv    operator(): operator(): cleaning up before exit..."),
    )


def apps(*samples: tuple[str, str, int, int]) -> str:
    """Samples of processes: time of the day, card, pid, MiB."""
    head = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
    return head + "".join(
        f"2026/11/30 {at}.000, {card}, {pid}, /usr/local/bin/llama-server, {mib} MiB\n"
        for at, card, pid, mib in samples
    )


def every(begin: str, end: str, card: str, pid: int, mib: int) -> tuple[tuple[str, str, int, int], ...]:
    """The same sample each second from a minute's second to another."""
    hour = begin[:-2]
    return tuple((f"{hour}{second:02}", card, pid, mib) for second in range(int(begin[-2:]), int(end[-2:]) + 1))


def gpus(*samples: tuple[str, int, str, str, int]) -> str:
    """Samples of cards: time of the day, index, UUID, bus id, MiB used."""
    head = (
        "timestamp, index, uuid, name, pci.bus_id, memory.total [MiB], memory.used [MiB], memory.free [MiB], "
        "memory.reserved [MiB]\n"
    )
    return head + "".join(
        f"2026/11/30 {at}.000, {index}, {uuid}, NVIDIA H200, {bus}, "
        f"143771 MiB, {used} MiB, {143155 - used} MiB, 616 MiB\n"
        for at, index, uuid, bus, used in samples
    )


LAST = (
    f"SELECT number, device, measured_bytes / {MIB}, measured_by, joined_by, join_scope FROM vram_gap "
    "JOIN load USING (load_id) WHERE moment = 'last' ORDER BY number, device"
)

# -- processes --------------------------------------------------------------------------------------------------------


def test_a_trusted_pid_joins_a_process_to_what_it_holds(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        apps=apps(*every("11:00:02", "11:00:09", CARD, 77, 1600), *every("11:00:02", "11:00:09", CARD, 78, 9000)),
    )
    assert rows(found, LAST) == [
        (1, "CUDA0", 1600.0, "process", "trusted process id; only card that this process holds", "inferred")
    ]


def test_a_process_without_a_trusted_pid_joins_the_only_life_that_overlaps_its_own(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=journal(*load("11:00:11", "11:00:14", "11:00:19", "CUDA0")),
        apps=apps(*every("11:00:01", "11:00:09", CARD, 501, 9000), *every("11:00:12", "11:00:18", CARD, 502, 1600)),
    )
    assert [row[2:5] for row in rows(found, LAST)] == [
        (1600.0, "process", "overlap of lives; only card that this process holds")
    ]


def test_a_process_whose_life_two_holders_fit_joins_neither(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=journal(*load("11:00:11", "11:00:14", "11:00:19", "CUDA0")),
        apps=apps(*every("11:00:12", "11:00:18", CARD, 501, 9000), *every("11:00:12", "11:00:18", CARD, 502, 1600)),
    )
    assert rows(found, LAST) == []


def test_a_pid_that_was_not_listed_while_the_process_served_is_not_its(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=journal(*load("11:00:01", "11:00:03", "11:00:19", "CUDA0")),
        other=journal(*load("11:00:09", "11:00:12", "11:00:19", "CUDA0")),
        # While the first served, the looks from 11:00:05 to 11:00:09 listed 501 alone.
        apps=apps(*every("11:00:02", "11:00:18", CARD, 501, 9000), *every("11:00:10", "11:00:18", CARD, 502, 1600)),
    )
    assert [(row[0], row[2]) for row in rows(found, LAST)] == [(1, 9000.0), (2, 1600.0)]


def test_where_nobody_looked_while_one_served_alone_two_lives_stay_apart_from_both_pids(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=journal(*load("11:00:01", "11:00:03", "11:00:19", "CUDA0")),
        other=journal(*load("11:00:09", "11:00:12", "11:00:19", "CUDA0")),
        apps=apps(*every("11:00:13", "11:00:18", CARD, 501, 9000), *every("11:00:13", "11:00:18", CARD, 502, 1600)),
    )
    assert rows(found, LAST) == []


def test_what_a_trusted_pid_holds_is_not_another_processs_too(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:11", "11:00:14", "11:00:19", "CUDA0")),
        other=journal(*load("11:00:11", "11:00:14", "11:00:19", "CUDA0")),
        apps=apps(*every("11:00:12", "11:00:18", CARD, 77, 1600)),
    )
    assert [row[2:5] for row in rows(found, LAST)] == [
        (1600.0, "process", "trusted process id; only card that this process holds")
    ]


def test_a_process_that_loads_nothing_does_not_keep_a_load_from_its_holder(tmp_path: Path) -> None:
    idle = ("11:00:11", "0.00.438.019 I srv  llama_server: initializing ...")
    stops = ("11:00:19", "0.09.000.000 I srv    operator(): operator(): cleaning up before exit...")
    found = case(
        tmp_path,
        server=journal(*load("11:00:11", "11:00:14", "11:00:19", "CUDA0")),
        other=journal(idle, stops),
        apps=apps(*every("11:00:12", "11:00:18", CARD, 502, 1600)),
    )
    assert [row[2] for row in rows(found, LAST)] == [1600.0]


# -- zones ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "offset"),
    [("11:00:", 0), ("13:00:", 2), ("05:30:", -5.5), ("16:45:", 5.75), ("00:00:", -11)],
    ids=["UTC", "+02:00", "-05:30", "+05:45", "-11:00"],
)
def test_the_zone_of_samples_is_the_one_in_which_their_lives_are_those_of_the_log(
    tmp_path: Path, printed: str, offset: float
) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        apps=apps(*every(f"{printed}02", f"{printed}08", CARD, 77, 1600)),
    )
    moments = "SELECT min(at_us) - min(begun_us) FROM holder_sample, load"
    assert rows(found, moments) == [(1_000_000,)]
    assert [row[2] for row in rows(found, LAST)] == [1600.0]
    assert offset * HOUR_US % 900_000_000 == 0


def test_the_nearest_zone_in_which_a_life_begins_after_its_log_does_is_taken(tmp_path: Path) -> None:
    # The clock of the first line says 0.7 s: the process began at 11:00:01.0, as did, in a zone of +02:00, its samples.
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01.7", "11:00:04", "11:59:09", "CUDA0")),
        apps=apps(*every("13:00:01", "13:00:08", CARD, 77, 1600)),
    )
    assert rows(found, "SELECT min(at_us) - min(begun_us) FROM holder_sample, load") == [(-700_000,)]


def test_samples_of_a_process_that_no_log_shows_tell_nothing_of_the_zone(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        apps=apps(*every("13:00:02", "13:00:08", CARD, 99, 1600)),
    )
    assert rows(found, "SELECT min(at_us) - min(begun_us) FROM holder_sample, load") == [(2 * HOUR_US + 1_000_000,)]


@pytest.mark.parametrize(
    ("hour", "printed", "known"), [("18:00", "03:45", 0), ("03:00", "17:15", 0), ("03:00", "17:00", 1)]
)
def test_an_offset_that_no_zone_has_is_not_inferred(tmp_path: Path, hour: str, printed: str, known: int) -> None:
    found = case(
        tmp_path,
        server=export(77, *load(f"{hour}:01", f"{hour}:04", f"{hour}:09", "CUDA0")),
        apps=apps(*every(f"{printed}:02", f"{printed}:08", CARD, 77, 1600)),
    )
    assert len(rows(found, LAST)) == known


@pytest.mark.parametrize(("first", "known"), [("13:00:00", 1), ("12:59:59", 0)])
def test_a_life_in_samples_may_stick_out_of_that_in_the_log_by_two_and_a_half_seconds(
    tmp_path: Path, first: str, known: int
) -> None:
    # The clock of the first line says 0.7 s: by its log the process began at 11:00:02.5.
    found = case(
        tmp_path,
        server=export(77, *load("11:00:03.2", "11:00:04", "11:00:09", "CUDA0")),
        apps=apps((first, CARD, 77, 1600), *every("13:00:01", "13:00:08", CARD, 77, 1600)),
    )
    assert len(rows(found, LAST)) == known


@pytest.mark.parametrize(
    ("files", "basis"),
    [
        ({}, "none needed"),
        ({"apps": apps(*every("13:00:02", "13:00:08", CARD, 99, 1600))}, "assumed UTC"),
        ({"gpu": gpus(("13:00:02", 0, CARD, "00000000:06:00.0", 5))}, "assumed UTC"),
        (
            {"apps": apps(*every("13:00:02", "13:00:08", CARD, 77, 1600))},
            "inferred from lives of processes that log and samples both show",
        ),
    ],
    ids=["no samples", "another process", "a card", "its process"],
)
def test_how_the_zone_is_known_is_kept(tmp_path: Path, files: dict[str, str], basis: str) -> None:
    texts = {"server.log": export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0"))}
    for name, text in {**texts, **{f"{name}.csv": text for name, text in files.items()}}.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert read_evidence([tmp_path], load_catalogue()).telemetry.zone_basis == basis


def test_a_zone_that_is_told_is_taken(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        tz_us=2 * HOUR_US,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        apps=apps(*every("13:00:02", "13:00:08", CARD, 77, 1600)),
    )
    assert [row[2] for row in rows(found, LAST)] == [1600.0]


# -- devices ----------------------------------------------------------------------------------------------------------

TWO = load("11:00:01", "11:00:04", "11:00:09", "CUDA0", "CUDA1")


def held(mib_of_card: int, mib_of_other: int) -> str:
    return apps(
        *every("11:00:02", "11:00:08", CARD, 77, mib_of_card), *every("11:00:02", "11:00:08", OTHER, 77, mib_of_other)
    )


def cards(card_bus: str, other_bus: str) -> str:
    return gpus(
        ("11:00:00", 0, CARD, card_bus, 0),
        ("11:00:00", 1, OTHER, other_bus, 0),
        ("11:00:05", 0, CARD, card_bus, 1610),
        ("11:00:05", 1, OTHER, other_bus, 2710),
    )


def joined(found: object) -> Rows:
    return [(row[1], row[2]) for row in rows(found, LAST)]  # type: ignore[arg-type]


def test_a_printed_bus_id_joins_a_device_to_its_card_whatever_its_number(tmp_path: Path) -> None:
    using = tuple(
        (
            "11:00:02",
            f"0.00.800.000 I llama_prepare_model_devices: using device {device} (NVIDIA H200) ({bus}) - 9 MiB free",
        )
        for device, bus in (("CUDA0", "0000:07:00.0"), ("CUDA1", "0000:06:00.0"))
    )
    found = case(
        tmp_path,
        server=export(77, TWO[0], *using, *TWO[1:]),
        gpu=cards("00000000:06:00.0", "00000000:07:00.0"),
        apps=held(1600, 2700),
    )
    assert joined(found) == [("CUDA0", 2700.0), ("CUDA1", 1600.0)]
    assert {row[5] for row in rows(found, LAST)} == {"exact"}


def test_without_bus_ids_devices_are_joined_in_order_and_that_is_inferred(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *TWO),
        gpu=cards("00000000:06:00.0", "00000000:07:00.0"),
        apps=held(1600, 2700),
    )
    assert joined(found) == [("CUDA0", 1600.0), ("CUDA1", 2700.0)]
    assert {row[5] for row in rows(found, LAST)} == {"inferred"}


def test_the_only_card_that_a_process_holds_is_its_only_device_even_if_the_number_says_another(tmp_path: Path) -> None:
    found = case(  # CUDA_VISIBLE_DEVICES=1 makes the second card CUDA0
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        gpu=cards("00000000:06:00.0", "00000000:07:00.0"),
        apps=apps(*every("11:00:02", "11:00:08", OTHER, 77, 2700)),
    )
    assert rows(found, LAST) == [
        (1, "CUDA0", 2700.0, "process", "trusted process id; only card that this process holds", "inferred")
    ]


def test_the_cards_that_a_process_holds_among_others_are_its_devices_in_their_order(tmp_path: Path) -> None:
    first, *both = "GPU-00000000-0000-4000-8000-000000000001", OTHER, CARD  # in the order of their indexes
    three = [("11:00:02", at, card, f"00000000:0{at + 1}:00.0", 5) for at, card in enumerate((first, *both))]
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0", "CUDA1")),
        gpu=gpus(*three),
        apps=apps(*every("11:00:02", "11:00:08", CARD, 77, 1600), *every("11:00:02", "11:00:08", OTHER, 77, 2700)),
    )
    assert [(device, mib, by.partition("; ")[2]) for _, device, mib, _, by, _ in rows(found, LAST)] == [
        ("CUDA0", 2700.0, "order of its devices and of the cards it holds"),
        ("CUDA1", 1600.0, "order of its devices and of the cards it holds"),
    ]


def test_cards_are_one_by_uuid_else_by_bus_id_else_by_number() -> None:
    telemetry = Telemetry()
    first = telemetry.card(None, "00000000:06:00.0", 0)
    assert telemetry.card(None, "0000:06:00.0", 1) is first
    assert telemetry.card(None, "00000000:07:00.0", 0) is not first
    assert telemetry.card(CARD, None, 0) is first
    other = telemetry.card(OTHER, "00000000:08:00.0", 0)
    assert other not in (first, telemetry.cards[1])
    assert telemetry.card(OTHER, "00000000:09:00.0", 5) is other
    assert telemetry.card(CARD, "00000000:08:00.0", 7) is not other
    assert telemetry.card(None, None, 9) is telemetry.card(None, None, 9)
    assert telemetry.card(None, None, None) is telemetry.card(None, None, None)


def test_a_device_is_the_only_card_of_the_evidence_if_it_is_the_only_device(tmp_path: Path) -> None:
    gpu = gpus(("11:00:00", 3, CARD, "00000000:06:00.0", 0), ("11:00:05", 3, CARD, "00000000:06:00.0", 1910))
    found = case(tmp_path, server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")), gpu=gpu)
    assert rows(found, "SELECT device, card_id, joined_by, pci_bus_id FROM device") == [
        ("CUDA0", CARD, "only card of the evidence", "00000000:06:00.0")
    ]
    found = case(tmp_path, server=export(77, *TWO), gpu=gpu)
    assert rows(found, "SELECT device, card_id FROM device ORDER BY device") == [("CUDA0", None), ("CUDA1", None)]


def test_what_is_spread_over_cards_that_the_log_does_not_name_is_on_none_of_them(tmp_path: Path) -> None:
    spread = load("11:00:01", "11:00:04", "11:00:09", "Meta()")
    found = case(tmp_path, server=export(77, *spread), apps=apps(*every("11:00:02", "11:00:08", CARD, 77, 1600)))
    assert rows(found, 'SELECT logged, device, "place", spread FROM device ORDER BY logged')[-1] == (
        *("Meta()", "Meta()", "shared", False),
    )
    held = f"SELECT device, \"place\", size_bytes / {MIB} FROM vram_ledger WHERE kind = 'weights'"
    assert rows(found, held) == [("Meta()", "shared", 1000.0)]


def test_a_sample_stands_for_a_moment_that_is_no_more_than_two_seconds_away() -> None:
    taken = [CardSample(at * 1_000_000, None, at, None, None, "", "", 0, 0) for at in (10, 13, 20)]
    card = Card(CARD, 0, None, None, None, taken)
    near = [card.near(int(at * 1_000_000)) for at in (7.9, 8, 11, 12, 15.1, 18, 22, 22.1)]
    assert [one and one.used for one in near] == [None, 10, 10, 13, None, 20, 20, None]


def test_cards_alone_are_read_less_what_they_held_before(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        gpu=gpus(("11:00:00", 0, CARD, "00000000:06:00.0", 300), ("11:00:05", 0, CARD, "00000000:06:00.0", 1910)),
    )
    assert [row[1:4] for row in rows(found, LAST)] == [("CUDA0", 1610.0, "card_less_baseline")]


def test_a_sample_of_the_moment_at_which_a_process_begins_is_not_from_before_it(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        gpu=gpus(("11:00:01", 0, CARD, "00000000:06:00.0", 300), ("11:00:05", 0, CARD, "00000000:06:00.0", 1910)),
    )
    assert [row[1:4] for row in rows(found, LAST)] == [("CUDA0", 1910.0, "card")]


def test_a_card_without_a_sample_before_the_load_is_said_to_be_the_cards_whole_use(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        gpu=gpus(("11:00:05", 0, CARD, "00000000:06:00.0", 1910)),
    )
    assert [row[1:4] for row in rows(found, LAST)] == [("CUDA0", 1910.0, "card")]


def test_of_two_cards_of_which_nothing_says_which_is_a_device_none_is_taken(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        gpu=cards("00000000:06:00.0", "00000000:07:00.0"),
    )
    assert rows(found, LAST) == []
    assert rows(found, "SELECT device, card_id, joined_by, join_scope FROM device") == [("CUDA0", None, None, None)]


def test_samples_before_it_is_ready_and_after_its_clean_up_began_are_not_what_it_holds(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:07", "CUDA0")),
        apps=apps(
            ("11:00:02", CARD, 77, 500),
            ("11:00:05", CARD, 77, 1600),
            ("11:00:06", CARD, 77, 1612),
            ("11:00:08", CARD, 77, 90),
        ),
    )
    moments = f"SELECT moment, measured_bytes / {MIB}, growth_bytes / {MIB} FROM vram_gap ORDER BY moment"
    assert rows(found, moments) == [("last", 1612.0, 12.0), ("ready", 1600.0, 0.0)]


def test_a_table_beside_the_rows_of_a_query_adds_what_the_card_is_and_takes_nothing_away(tmp_path: Path) -> None:
    query = (
        "timestamp, index, uuid, memory.total [MiB], memory.used [MiB], memory.free [MiB], memory.reserved [MiB]\n"
        f"2026/11/30 11:00:00.900, 0, {CARD}, 1000 MiB, 300 MiB, 600 MiB, 100 MiB\n"
    )
    table = (
        "Mon Nov 30 11:00:01 2026\n"
        "| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |\n"
        "|   0  NVIDIA H200                    Off |   00000000:00:06.0 Off |                    0 |\n"
        "| N/A   30C    P0             77W /  700W |     300MiB /   1000MiB |      0%      Default |\n"
    )
    found = case(tmp_path, gpu=query, table=table)
    assert rows(found, "SELECT pci_bus_id, gpu_uuid FROM card") == [("00000000:00:06.0", CARD)]
    assert rows(found, "SELECT free_bytes // 1048576 FROM card_sample") == [(600,)]


@pytest.mark.parametrize(("at", "kept"), [("07.000", 1), ("07.001", 2), ("03.000", 1), ("02.999", 2)])
def test_a_table_is_needless_beside_a_row_that_says_more_within_two_seconds(tmp_path: Path, at: str, kept: int) -> None:
    query = gpus(("11:00:05", 0, CARD, "00000000:00:06.0", 5)).replace("11:00:05.000", f"11:00:{at}")
    found = case(tmp_path, table=TABLE.format(second="05", first=1600, other=5), query=query)
    seen = "SELECT count(*) FROM card_sample JOIN card USING (card_id) WHERE pci_bus_id = '00000000:00:06.0'"
    assert rows(found, seen) == [(kept,)]


def test_a_table_that_is_read_before_the_rows_of_a_query_is_of_the_same_card(tmp_path: Path) -> None:
    query = (
        "timestamp, index, uuid, memory.total [MiB], memory.used [MiB], memory.free [MiB]\n"
        f"2026/11/30 11:00:05.900, 0, {CARD}, 1000 MiB, 300 MiB, 600 MiB\n"
    )
    found = case(tmp_path, a=TABLE.format(second="05", first=1600, other=5), b=query)
    seen = "SELECT pci_bus_id, gpu_uuid, count(*) FROM card_sample JOIN card USING (card_id) GROUP BY ALL ORDER BY 1"
    # Both stay: what the query says is not all that a table could add to.
    assert rows(found, seen) == [("00000000:00:06.0", CARD, 2), ("00000000:00:07.0", None, 1)]


def test_children_of_a_router_whose_log_has_no_wall_time_are_placed_by_their_memory(tmp_path: Path) -> None:
    router = Path(__file__).parent.parent / "fixtures" / "llama-router-ping-pong"
    entries = gzip.decompress((router / "journal.export.gz").read_bytes()).split(b"\n\n")
    own = [entry for entry in entries if b"_TRANSPORT=stdout" in entry]
    plain = tmp_path / "router.log"
    plain.write_bytes(b"\n".join(re.findall(rb"^MESSAGE=(.*)$", b"\n".join(own), re.MULTILINE)) + b"\n")
    samples = [router / "apps.csv", router / "gpu.csv"]
    found = [read_evidence([log, *samples], load_catalogue()) for log in (plain, router / "journal.export.gz")]
    begun = [[load.begun.time_us or 0 for load in one.ownership.loads] for one in found]
    assert len(begun[0]) == 8
    assert max(abs(one - other) for one, other in zip(*begun, strict=True)) < 2_000_000
    measured = [[(row.moment, row.device, row.measured_bytes) for row in one.measured.measures] for one in found]
    assert measured[0] == measured[1]
    times = [[line.line.time_us or 0 for line in one.ownership.owned if line.line.prefix.tag] for one in found]
    assert len(times[0]) > 8
    assert max(abs(one - other) for one, other in zip(*times, strict=True)) < 2_000_000


@pytest.mark.parametrize(
    ("sample", "basis", "mib"),
    [("11:00:05", "inferred", None), ("11:00:06", "measured", 586.0)],
    ids=["half a second after it fell asleep", "later"],
)
def test_what_a_process_holds_while_it_sleeps_is_its_runtime_once_all_is_freed(
    tmp_path: Path, sample: str, basis: str, mib: float | None
) -> None:
    awake = load("11:00:01", "11:00:04", "", "CUDA0")[:-1]
    sleeps = ("11:00:04.5", "0.03.500.000 I srv  handle_sleep: server is entering sleeping state")
    found = case(
        tmp_path,
        tz_us=0,
        server=export(77, *awake, sleeps),
        apps=apps(("11:00:04", CARD, 77, 1600), (sample, CARD, 77, 586)),
        gpu=gpus(("11:00:00", 0, CARD, "00000000:06:00.0", 0)),
    )
    assert rows(found, "SELECT basis FROM runtime") == [(basis,)]
    measured = f"SELECT size_bytes / {MIB}, low_bytes / {MIB}, high_bytes / {MIB} FROM runtime WHERE basis = 'measured'"
    assert rows(found, measured) == ([] if mib is None else [(mib, mib - 0.5, mib + 0.5)])


# -- samples that say less --------------------------------------------------------------------------------------------

TABLE = """\
Mon Nov 30 11:00:{second} 2026
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
|   0  NVIDIA H200                    Off |   00000000:00:06.0 Off |                    0 |
| N/A   30C    P0             77W /  700W |    {first}MiB / 143771MiB |      0%      Default |
|   1  NVIDIA H200                    Off |   00000000:00:07.0 Off |                    0 |
| N/A   30C    P0             77W /  700W |    {other}MiB / 143771MiB |      0%      Default |
|    0   N/A  N/A              77      C   /usr/local/bin/llama-server             {first}MiB |
"""


def test_cards_without_a_uuid_are_told_apart_by_their_bus_ids(tmp_path: Path) -> None:
    tables = TABLE.format(second="05", first=1600, other=5) + TABLE.format(second="06", first=1612, other=5)
    found = case(tmp_path, server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")), table=tables)
    seen = f"SELECT pci_bus_id, gpu_index, count(*), max(used_bytes) / {MIB} FROM card_sample JOIN card USING (card_id)"
    assert rows(found, f"{seen} GROUP BY ALL ORDER BY ALL") == [
        ("00000000:00:06.0", 0, 2, 1612.0),
        ("00000000:00:07.0", 1, 2, 5.0),
    ]
    assert [row[2] for row in rows(found, LAST)] == [1612.0]


def test_cards_that_only_have_numbers_are_told_apart_by_them(tmp_path: Path) -> None:
    head = "#Date        Time         gpu    pwr     sm     fb\n#YYYYMMDD    HH:MM:SS     Idx      W      %     MB\n"
    dmon = head + "".join(
        f" 20261130    11:00:0{at}       {card}    100      0   {card}5\n" for at in (1, 2) for card in (0, 1)
    )
    found = case(tmp_path, dmon=dmon)
    counted = "SELECT gpu_index, count(*) FROM card_sample JOIN card USING (card_id) GROUP BY ALL ORDER BY ALL"
    assert rows(found, counted) == [(0, 2), (1, 2)]


def test_a_row_that_names_no_process_is_none_of_a_process(tmp_path: Path) -> None:
    found = case(tmp_path, apps=apps().rstrip() + f"\n2026/11/30 11:00:01.000, {CARD}, [N/A], x, 9 MiB\n")
    assert rows(found, "SELECT count(*) FROM holder_sample") == [(0,)]
    assert rows(found, "SELECT what FROM problem WHERE severity = 'loss'") == [
        ("rows of processes name no process, and are not used",)
    ]


# -- captures that print no time -------------------------------------------------------------------------------------

SAVED_US = MIDNIGHT_US + 11 * HOUR_US + 6_000_000  # 11:00:06
ONE_LOAD = export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0"))
ONE_APP = f"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n{CARD}, 77, llama-server, 1600 MiB\n"
ONE_CARD = f"index, uuid, memory.used [MiB]\n0, {CARD}, 1650 MiB\n"
USED = f"SELECT gpu_uuid, at_us, used_bytes // {MIB} FROM card_sample JOIN card USING (card_id) ORDER BY ALL"


def saved(folder: Path, at_us: int = SAVED_US, **files: str) -> duckdb.DuckDBPyConnection:
    """A case of files that were all last written at one moment."""
    names: list[str | Path | Named] = []
    for name, text in files.items():
        path = folder / name
        path.write_text(text, "utf-8")
        names.append(Named(name, path, at_us))
    connection = duckdb.connect()
    store(read_evidence(names, CATALOGUE), connection)
    return ready(connection, load_questions(), None)


def losses(found: duckdb.DuckDBPyConnection) -> Rows:
    """What was lost of which source."""
    return rows(found, "SELECT source_id, what FROM problem WHERE severity = 'loss' ORDER BY ALL")


def test_a_capture_without_times_measures_at_the_time_of_its_file_and_says_so(tmp_path: Path) -> None:
    found = saved(tmp_path, server=ONE_LOAD, apps=ONE_APP)
    by = "trusted process id; only card that this process holds; read at the time of its file"
    assert rows(found, LAST) == [(1, "CUDA0", 1600.0, "process", by, "inferred")]
    assert rows(found, "SELECT at_us FROM holder_sample") == [(SAVED_US,)]


def test_a_file_that_was_written_after_the_load_measures_nothing_of_it(tmp_path: Path) -> None:
    found = saved(tmp_path, SAVED_US + HOUR_US, server=ONE_LOAD, apps=ONE_APP)
    assert rows(found, LAST) == []


def test_the_time_of_a_file_sets_no_reading_between_those_that_print_theirs(tmp_path: Path) -> None:
    printed = gpus(("11:00:05", 0, CARD, "00000000:00:06.0", 5), ("11:00:07", 0, CARD, "00000000:00:06.0", 6))
    found = saved(tmp_path, a_saved=ONE_CARD, gpu=printed)
    assert rows(found, USED) == [(CARD, SAVED_US - 1_000_000, 5), (CARD, SAVED_US + 1_000_000, 6)]
    assert losses(found) == [
        ("a_saved", "readings without a time are set aside: of the same card, others print theirs")
    ]


def test_the_time_of_a_file_stands_for_a_card_of_which_no_other_row_prints_one(tmp_path: Path) -> None:
    printed = gpus(("11:00:05", 1, OTHER, "00000000:00:07.0", 5))
    found = saved(tmp_path, a_saved=ONE_CARD, gpu=printed)
    assert rows(found, USED) == [(CARD, SAVED_US, 1650), (OTHER, SAVED_US - 1_000_000, 5)]
    assert losses(found) == []


def test_a_row_without_time_and_card_is_of_no_card_where_one_is_known(tmp_path: Path) -> None:
    found = saved(tmp_path, a_saved="memory.used [MiB]\n7 MiB\n", gpu=ONE_CARD)
    assert rows(found, USED) == [(CARD, SAVED_US, 1650)]
    what = "rows that name no card and print no time cannot be placed: the evidence has cards that they could be of"
    assert losses(found) == [("a_saved", what)]
    alone = saved(tmp_path, a_saved="memory.used [MiB]\n7 MiB\n")
    assert (rows(alone, USED), losses(alone)) == ([(None, SAVED_US, 7)], [])


def test_rows_that_name_no_card_are_of_one_card_unless_a_moment_has_two(tmp_path: Path) -> None:
    row = "2026/11/30 11:00:0{}.000, {} MiB, 9 MiB\n"
    head = "timestamp, memory.used [MiB], memory.total [MiB]\n"
    found = saved(tmp_path, one=head + row.format(6, 5) + row.format(7, 6))
    assert rows(found, USED) == [(None, SAVED_US, 5), (None, SAVED_US + 1_000_000, 6)]
    found = saved(tmp_path, one=head + row.format(6, 5) + row.format(6, 6) + row.format(7, 7))
    assert rows(found, USED) == [(None, SAVED_US + 1_000_000, 7)]
    what = "rows that name no card are of several: each moment has more than one"
    assert rows(found, "SELECT what, count FROM problem") == [(what, 2)]


def test_the_time_of_a_file_does_not_tell_when_a_log_without_wall_time_was_written(tmp_path: Path) -> None:
    entries = "".join(f"{text}\n" for _, text in load("", "", "", "CUDA0"))
    found = saved(tmp_path, server=entries, apps=ONE_APP)
    assert rows(found, "SELECT begun_us, ready_us FROM load") == [(None, None)]
    by = "order of lives; the log has no wall time; only card that this process holds; read at the time of its file"
    assert rows(found, LAST) == [(1, "CUDA0", 1600.0, "process", by, "inferred")]


def test_the_time_of_a_file_gives_processes_no_order(tmp_path: Path) -> None:
    entries = "".join(f"{text}\n" for _, text in load("", "", "", "CUDA0"))
    two = ONE_APP + f"{CARD}, 78, llama-server, 1700 MiB\n"
    assert rows(saved(tmp_path, one=entries, two=entries.replace("alpha", "beta"), apps=two), LAST) == []


def test_times_that_print_their_zone_are_taken_as_they_are(tmp_path: Path) -> None:
    zoned = apps(*every("13:00:02", "13:00:08", CARD, 77, 1600)).replace(".000,", ".000+02:00,")
    found = case(tmp_path, server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")), apps=zoned)
    assert [row[2] for row in rows(found, LAST)] == [1600.0]


def test_an_earlier_process_with_the_same_pid_is_another(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        tz_us=0,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        apps=apps(*every("10:30:02", "10:30:08", CARD, 77, 9000), *every("11:00:02", "11:00:08", CARD, 77, 1600)),
    )
    assert [row[2] for row in rows(found, LAST)] == [1600.0]
    assert rows(found, "SELECT count(*) FROM holder_sample WHERE process_id IS NULL") == [(7,)]


def test_a_process_whose_name_the_tool_does_not_know_may_be_any(tmp_path: Path) -> None:
    unnamed = apps(*every("11:00:12", "11:00:18", CARD, 502, 1600)).replace(
        "/usr/local/bin/llama-server", "[Not Found]"
    )
    found = case(tmp_path, server=journal(*load("11:00:11", "11:00:14", "11:00:19", "CUDA0")), apps=unnamed)
    assert [row[4] for row in rows(found, LAST)] == ["overlap of lives; only card that this process holds"]
    other = unnamed.replace("[Not Found]", "/usr/bin/blender")
    found = case(tmp_path, server=journal(*load("11:00:11", "11:00:14", "11:00:19", "CUDA0")), apps=other)
    assert rows(found, LAST) == []


def test_a_card_that_was_sampled_before_the_load_alone_measures_nothing(tmp_path: Path) -> None:
    found = case(
        tmp_path,
        server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")),
        gpu=gpus(("11:00:00", 0, CARD, "00000000:06:00.0", 300)),
    )
    assert rows(found, LAST) == []
    assert rows(found, "SELECT card_id IS NOT NULL, joined_by FROM device") == [
        (True, "bus order; all cards are visible")
    ]


def test_a_log_without_any_clock_stays_without_times_even_where_one_life_fits(tmp_path: Path) -> None:
    bare = "".join(f"{text.split(' I ', 1)[1]}\n" for _, text in load("", "", "", "CUDA0"))
    found = case(tmp_path, server=bare, apps=apps(*every("11:00:02", "11:00:08", CARD, 77, 1600)))
    assert rows(found, "SELECT begun_us, ready_us FROM load") == [(None, None)]
    assert [row[4] for row in rows(found, LAST)] == [
        "order of lives; the log has no wall time; only card that this process holds"
    ]


def test_a_clock_of_its_own_is_placed_where_the_memory_appears(tmp_path: Path) -> None:
    entries = [text for _, text in load("", "", "", "CUDA0")]
    plain = "\n".join([*entries[:2], "a line without a clock: load_tensors: offloaded 1/1 layers to GPU", *entries[2:]])
    grown = apps(("11:00:02", CARD, 77, 518), *every("11:00:03", "11:00:08", CARD, 77, 1600))
    found = case(tmp_path, server=plain + "\n", apps=grown)
    ready = "SELECT ready_us - begun_us FROM load"
    assert rows(found, ready) == [(2_300_000,)]  # as the clock before its lines says
    assert [row[2] for row in rows(found, LAST)] == [1600.0]


@pytest.mark.parametrize("used", [1600, 2000])
def test_a_process_that_was_there_before_anybody_looked_is_measured_and_not_placed_in_time(
    tmp_path: Path, used: int
) -> None:
    plain = "\n".join(text for _, text in load("", "", "", "CUDA0")[:-1])
    found = case(
        tmp_path,
        server=plain + "\n",
        apps=apps(*every("11:00:02", "11:00:08", CARD, 77, 1600)),
        gpu=gpus(("11:00:00", 0, CARD, "00000000:06:00.0", used)),
    )
    assert rows(found, "SELECT begun_us, ready_us FROM load") == [(None, None)]
    assert [row[2:4] for row in rows(found, LAST)] == [(1600.0, "process")]


def test_two_cards_without_bus_ids_in_the_log_are_joined_by_the_order_of_those_it_holds(tmp_path: Path) -> None:
    third = "GPU-00000000-0000-4000-8000-000000000003"
    found = case(
        tmp_path,
        server=export(77, *TWO),
        gpu=gpus(
            ("11:00:00", 0, third, "00000000:05:00.0", 0),
            ("11:00:00", 1, CARD, "00000000:06:00.0", 0),
            ("11:00:00", 2, OTHER, "00000000:07:00.0", 0),
        ),
        apps=held(1600, 2700),
    )
    assert joined(found) == [("CUDA0", 1600.0), ("CUDA1", 2700.0)]
    assert {row[4] for row in rows(found, LAST)} == {
        "trusted process id; order of its devices and of the cards it holds"
    }


def test_the_runtime_on_a_card_with_another_driver_is_not_taken_from_the_table(tmp_path: Path) -> None:
    found = case(tmp_path, server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")), table=TABLE.format(
        second="05", first=1600, other=5).replace("580.159.04", "999.1.01"))  # fmt: skip
    other = rows(found, "SELECT basis, note FROM runtime")
    found = case(tmp_path, server=export(77, *load("11:00:01", "11:00:04", "11:00:09", "CUDA0")), table=TABLE.format(
        second="05", first=1600, other=5))  # fmt: skip
    assert (other, rows(found, "SELECT basis, note FROM runtime")) == (
        [("inferred", "as on any card")],
        [("inferred", "as on NVIDIA H200")],
    )
