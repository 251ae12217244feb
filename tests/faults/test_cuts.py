"""R2, R3: the power fails at every system call."""

import pytest

from tests.faults.power_cut import Disk, lost
from tests.faults.report import told

SHARE = 0.05  # of the torn images, drawn with the seed


@pytest.mark.process
@pytest.mark.usefixtures("strace")
def test_a_power_cut_at_one_of_many_system_calls_loses_nothing_that_was_acknowledged():
    report = told("cuts", "--share", SHARE)
    assert report.faults == []
    assert report.points >= 100
    assert report.figures["brought to an end"] >= 5


@pytest.mark.process
@pytest.mark.usefixtures("strace")
def test_without_fsync_such_power_cuts_lose_what_was_acknowledged():
    """The null control."""
    found = told("cuts", "--share", SHARE, "--unsynced", "--until", "lost", "unreadable").found
    assert found["lost"] > 0
    assert found["unreadable"] > 0  # seen, and said, by the count of commits beside the store


@pytest.mark.long
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("seed", range(7, 18))
def test_a_power_cut_at_any_system_call_loses_nothing_whichever_pages_it_tears(seed):
    report = told("cuts", "--seed", seed)
    assert report.faults == []
    assert report.points >= 1000


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
