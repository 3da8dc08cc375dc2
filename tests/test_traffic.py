"""Who asked how often, from where, and what a block of addresses did: counted from access lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from asking import case, screen

from forensics.ask_traffic import traffic
from forensics.blocklist import Rule, coverage, read_blocklist
from forensics.errors import UsageError

FIVE = datetime(2026, 8, 1, 5, 0, tzinfo=UTC)
BUSY = (1, 13, 2, 5, 1, 3)
"""Requests from other machines in the busy minutes of an hour: 1 to 13."""


def access(at: datetime, address: str, path: str = "/api/chat", method: str = "POST") -> str:
    return (
        f"{at:%Y-%m-%dT%H:%M:%S}+0000 box server[9]: "
        f'[GIN] {at:%Y/%m/%d - %H:%M:%S} | 200 |  1.5s | {address} | {method:7s} "{path}"\n'
    )


def hour(begin: datetime, idle: int) -> str:
    """An hour in which the first minutes are idle and the others have the numbers of BUSY in turn."""
    return "".join(
        access(begin + timedelta(minutes=minute, seconds=second), "192.0.2.31")
        for minute in range(idle, 60)
        for second in range(BUSY[minute % len(BUSY)])
    )


def test_four_hours_have_one_to_thirteen_requests_a_minute_and_some_twenty_idle_minutes(tmp_path: Path) -> None:
    idle = (21, 24, 26, 28)
    text = "".join(hour(FIVE + timedelta(hours=number), minutes) for number, minutes in enumerate(idle))
    document = traffic(
        case(
            tmp_path,
            {"journal.txt": text},
            since_us=int(FIVE.timestamp() * 1e6),
            until_us=int(FIVE.timestamp() * 1e6) + 14_399_000_000,
        )
    ).document
    assert document["classes"]["non-local"]["per_minute"] == {"min": 1, "max": 13}
    assert [one["non_local"]["idle_minutes"] for one in document["hours"]] == [21, 24, 26, 28]


LOADS = (
    "time={:%Y-%m-%dT%H:%M:%S}.000Z level=INFO source=server.go:241 "
    'msg="using llama-server for model" model=/m/blobs/sha256-a1a1\n'
)


@pytest.mark.parametrize(
    ("zone", "later", "known"),
    [(0, True, True), (345, True, True), (-480, True, True), (345, False, False)],
    ids=["UTC", "UTC+05:45", "UTC−08:00", "no line behind them: any zone west of it would do"],
)
def test_a_local_time_counts_in_the_zone_that_fits_the_lines_around(
    tmp_path: Path, zone: int, later: bool, known: bool
) -> None:
    # a server's own log without any collector: its scheduler's lines have a zone, its access lines have none
    served = "".join(
        f"[GIN] {at + timedelta(minutes=zone):%Y/%m/%d - %H:%M:%S} | 200 |  1.5s |   192.0.2.31 | POST     "
        '"/api/chat"\n'
        for minute in range(24, 60)
        for second in range(BUSY[minute % len(BUSY)])
        for at in [FIVE + timedelta(minutes=minute, seconds=second)]
    )
    text = LOADS.format(FIVE + timedelta(minutes=23, seconds=50)) + served
    text += LOADS.format(FIVE + timedelta(minutes=60, seconds=10)) if later else ""
    document = traffic(case(tmp_path, {"server.log": text})).document
    total = 6 * sum(BUSY)
    assert (document["time_local"], document["time_inferred"]) == ((total, 0) if known else (0, total))
    assert document["classes"]["non-local"]["per_minute"] == (
        {"min": 1, "max": 13} if known else {"min": total, "max": total}
    )


def test_addresses_are_local_or_another_machines(tmp_path: Path) -> None:
    text = "".join(
        access(FIVE + timedelta(seconds=number), address)
        for number, address in enumerate(("127.0.0.1", "::1", "192.168.3.148", "203.0.113.9", "192.168.3.148"))
    )
    document = traffic(case(tmp_path, {"journal.txt": text})).document
    assert {one["address"]: (one["class"], one["requests"]) for one in document["addresses"]} == {
        "127.0.0.1": ("local", 1),
        "::1": ("local", 1),
        "192.168.3.148": ("non-local", 2),
        "203.0.113.9": ("non-local", 1),
    }


def test_health_checks_are_no_model_requests(tmp_path: Path) -> None:
    text = access(FIVE, "192.0.2.7") + access(FIVE, "192.0.2.7", "/api/tags", "GET")
    (one,) = traffic(case(tmp_path, {"journal.txt": text})).document["addresses"]
    assert (one["requests"], one["others"]) == (1, 1)


def test_a_block_is_verified_for_each_address(tmp_path: Path) -> None:
    text = "".join(
        access(FIVE + timedelta(minutes=minute), address)
        for minute, address in ((0, "192.0.2.14"), (1, "192.0.2.31"), (9, "192.0.2.14"), (30, "127.0.0.1"))
    )
    blocklist = tmp_path / "blocked"
    blocklist.write_text(
        "192.0.2.14 2026-08-01T05:05:00Z  # the notebook\n"
        "192.0.2.31 2026-08-01T05:05:00Z\n"
        "192.0.2.99 2026-08-01T05:05:00Z\n"
    )
    folder = tmp_path / "case"
    folder.mkdir()
    document = traffic(case(folder, {"journal.txt": text}, extra={"blocklist": blocklist})).document
    assert [(one["address"], one["before"], one["after"], one["state"], one["says"]) for one in document["blocks"]] == [
        ("192.0.2.14", 1, 1, "contradicted", "not effective, or a second service on that host: not separated"),
        ("192.0.2.31", 1, 0, "supported", "effective, as far as this log shows: it asked before and not after"),
        ("192.0.2.99", 0, 0, "not established", "not established: it asks neither before nor after"),
    ]


def test_silence_no_longer_than_before_proves_no_block(tmp_path: Path) -> None:
    text = "".join(access(FIVE + timedelta(minutes=minute), "192.0.2.14") for minute in (0, 20)) + access(
        FIVE + timedelta(minutes=30), "127.0.0.1"
    )
    blocklist = tmp_path / "blocked"
    blocklist.write_text("192.0.2.14 2026-08-01T05:25:00Z\n")
    folder = tmp_path / "case"
    folder.mkdir()
    (one,) = traffic(case(folder, {"journal.txt": text}, extra={"blocklist": blocklist})).document["blocks"]
    assert (one["state"], one["after"]) == ("not established", 0)


def test_a_request_that_was_being_answered_when_the_block_began_did_not_come_through_it(tmp_path: Path) -> None:
    text = access(FIVE, "192.0.2.14") + access(FIVE + timedelta(seconds=60), "127.0.0.1")
    blocklist = tmp_path / "blocked"
    blocklist.write_text("192.0.2.14 2026-08-01T04:59:59Z\n")
    folder = tmp_path / "case"
    folder.mkdir()
    (one,) = traffic(case(folder, {"journal.txt": text}, extra={"blocklist": blocklist})).document["blocks"]
    assert one["after"] == 0


def test_a_rule_for_all_other_machines_covers_each_address_that_asks(tmp_path: Path) -> None:
    text = access(FIVE, "192.0.2.14") + access(FIVE, "127.0.0.1") + access(FIVE + timedelta(minutes=9), "203.0.113.9")
    blocklist = tmp_path / "blocked"
    blocklist.write_text("non-local 2026-08-01T05:05:00Z\n")
    folder = tmp_path / "case"
    folder.mkdir()
    document = traffic(case(folder, {"journal.txt": text}, extra={"blocklist": blocklist})).document
    assert [(one["address"], one["after"]) for one in document["blocks"]] == [("192.0.2.14", 0), ("203.0.113.9", 1)]


def test_rules_cover_time_from_one_change_to_the_next(tmp_path: Path) -> None:
    file = tmp_path / "blocked"
    file.write_text("192.0.2.14 1970-01-01T00:00:10Z 1970-01-01T00:00:30Z\nnon-local 1970-01-01T00:00:20Z\n")
    assert coverage(read_blocklist(file), 0, 40_000_000) == [
        (0, 10_000_000, ()),
        (10_000_000, 20_000_000, ("192.0.2.14",)),
        (20_000_000, 30_000_000, ("192.0.2.14", "non-local")),
        (30_000_000, 40_000_000, ("non-local",)),
    ]


def test_a_network_covers_its_addresses_only(tmp_path: Path) -> None:
    file = tmp_path / "blocked"
    file.write_text("192.168.0.0/16 1970-01-01T00:00:10Z\n")
    (rule,) = read_blocklist(file)
    assert isinstance(rule, Rule)
    assert [rule.covers(address, "non-local") for address in ("192.168.3.148", "192.0.2.1", "unknown")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "text",
    ["192.0.2.14", "somewhere 2026-08-01T05:05:00Z", "192.0.2.14 yesterday"],
    ids=["no time", "no address", "no date"],
)
def test_a_line_of_a_block_list_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "blocked"
    file.write_text(f"# remark\n{text}\n")
    with pytest.raises(UsageError, match=r"blocked:2: "):
        read_blocklist(file)


def test_the_screen_tells_machines_hours_and_the_block(tmp_path: Path) -> None:
    text = access(FIVE, "192.0.2.14") + access(FIVE + timedelta(minutes=1), "127.0.0.1")
    ask = case(tmp_path, {"journal.txt": text})
    assert screen(ask, traffic(ask)).splitlines() == [
        "1 model request from other machines, 1 in a busy minute, 1 of 2 minutes idle; 1",
        "from this one.",
        "",
        "Addresses",
        "address     class      model requests  a minute  others  first     last",
        "127.0.0.1   local                   1         1       0  05:01:00  05:01:00",
        "192.0.2.14  non-local               1         1       0  05:00:00  05:00:00",
        "",
        "Hours",
        "from   model requests  a min  idle",
        "05:00  ██                  1     1",
        "Each column is a minute, the highest of 1. Idle: minutes without any from other",
        "machines.",
        "",
        "Read  100 % of lines, 100 % of bytes; no size or device left unread",
    ]


def test_the_minutes_of_an_hour_stand_in_one_row_of_a_screen(tmp_path: Path) -> None:
    ask = case(tmp_path, {"journal.txt": hour(FIVE, 0)})
    (row,) = [line for line in screen(ask, traffic(ask)).splitlines() if line.startswith("05:00 ")]
    assert (len(row), row.split()[2:]) == (80, ["1–13", "0"])


def test_without_access_lines_nobody_can_be_named(tmp_path: Path) -> None:
    assert traffic(case(tmp_path, {"server.log": "nothing\n"})).code == 3
