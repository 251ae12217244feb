"""R2, R3: the power fails at every system call."""

import pytest

from tests.faults.power_cut import Disk, lost
from tests.faults.report import told


@pytest.mark.usefixtures("strace")
def test_a_power_cut_at_any_system_call_loses_nothing_that_was_acknowledged():
    report = told("cuts")
    assert report.faults == []
    assert report.points >= 300
    assert report.figures["brought to an end"] >= 20


@pytest.mark.usefixtures("strace")
def test_without_fsync_the_same_power_cuts_lose_what_was_acknowledged():
    """The null control."""
    found = told("cuts", "--unsynced", "--until", "lost", "unreadable").found
    assert found["lost"] > 0
    assert found["unreadable"] > 0  # seen, and said, by the count of commits beside the store


@pytest.mark.slow
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("seed", range(8, 18))
def test_other_pages_torn_by_other_power_cuts_lose_nothing(seed):
    assert told("cuts", "--seed", seed).faults == []


def replayed(*calls):
    disk = Disk("/edge")
    for name, arguments, result, path in calls:
        disk.call(name, arguments, result, path)
    return disk


def hexed(text):
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


A, B = hexed("/edge/a"), hexed("/edge/b")
OPEN_A = ("openat", f'AT_FDCWD, "{A}", O_RDWR|O_CREAT, 0644', "3", A)


def test_what_was_not_synced_is_lost_and_what_was_is_kept():
    first, second = (
        ("pwrite64", f'3<{A}>, "{hexed("one")}", 3, 0', "3", None),
        ("pwrite64", f'3<{A}>, "{hexed("two")}", 3, 3', "3", None),
    )
    disk = replayed(OPEN_A, first, ("fdatasync", f"3<{A}>", "0", None), second)
    assert disk.files["/edge/a"].content(lost) == b"one"
    assert disk.files["/edge/a"].content(lambda: True) == b"onetwo"


def test_a_rename_is_kept_though_its_data_is_not():
    disk = replayed(OPEN_A, ("write", f'3<{A}>, "{hexed("one")}", 3', "3", None), ("rename", f'"{A}", "{B}"', "0", None))
    assert disk.files["/edge/b"].content(lost) == b""
    assert "/edge/a" not in disk.files


def test_a_sync_that_is_under_way_when_the_power_fails_has_not_happened():
    disk = replayed(OPEN_A, ("write", f'3<{A}>, "{hexed("one")}", 3', "3", None), ("lseek", f"3<{A}>, 0, SEEK_SET", "0", None))
    assert disk.files["/edge/a"].content(lost) == b""
    disk.call("write", f'3<{A}>, "{hexed("two")}", 3', "3", None)
    disk.call("fsync", f"3<{A}>", "0", None)
    assert disk.files["/edge/a"].content(lost) == b"two"
