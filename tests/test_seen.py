"""A large file that was found whole is not read through again, unless anything was written to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from forensics.seen import LARGE, TICK_S, is_known, remember


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "large"
    path.write_bytes(bytes(LARGE))
    time.sleep(2 * TICK_S)
    return path


def test_a_file_that_was_found_whole_is_known(large: Path) -> None:
    assert not is_known(large, "abc")
    remember(large, "abc")
    assert is_known(large, "abc")
    assert not is_known(large, "abd")


def test_one_changed_byte_makes_a_file_unknown_even_with_its_old_time(large: Path) -> None:
    remember(large, "abc")
    was = large.stat()
    with large.open("r+b") as file:
        file.write(b"\1")
    os.utime(large, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert not is_known(large, "abc")


def test_another_file_in_its_place_is_unknown(large: Path) -> None:
    remember(large, "abc")
    other = large.with_name("other")
    other.write_bytes(bytes(LARGE))
    other.replace(large)
    assert not is_known(large, "abc")


def test_a_file_written_to_just_now_is_not_remembered(large: Path) -> None:
    large.write_bytes(bytes(LARGE))
    remember(large, "abc")
    assert not is_known(large, "abc")


def test_a_small_file_is_read_through_each_time(large: Path) -> None:
    large.write_bytes(b"small")
    time.sleep(2 * TICK_S)
    remember(large, "abc")
    assert not is_known(large, "abc")
