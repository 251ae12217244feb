import os

from benchmarks.memories.construction import peak_mb


def test_the_most_that_a_group_of_processes_has_held_is_told_and_nothing_of_others():
    assert peak_mb(os.getpgid(0)) > 1
    assert peak_mb(2**22 + 1) == 0.0  # above the highest process id that there can be


def test_a_system_that_tells_nothing_has_no_peak(tmp_path):
    assert peak_mb(os.getpgid(0), tmp_path) == 0.0
    (tmp_path / "1").mkdir()
    assert peak_mb(1, tmp_path) == 0.0  # ended between the two looks


def test_the_largest_process_of_a_group_counts(tmp_path):
    for pid, group, peak in ((1, 7, 2048), (2, 7, 4096), (3, 8, 9999)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (an (odd) name) S 1 {group} {group} 0")
        (tmp_path / str(pid) / "status").write_text(f"Name:\tx\nVmHWM:\t    {peak} kB\n")
    assert peak_mb(7, tmp_path) == 4.0
