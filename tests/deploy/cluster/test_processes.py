"""Marks, births and logs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.cluster import child
from deploy.cluster.processes import Mark, birth, ended, rotate, spawn, stop, tail
from tests.support.waiting import eventually

pytestmark = pytest.mark.process


def test_this_process_is_alive_and_keeps_its_birth():
    mine = birth(os.getpid())
    assert mine
    assert Mark(os.getpid(), mine).alive()


def test_another_birth_under_the_same_pid_is_another_process():
    assert not Mark(os.getpid(), "another").alive()
    assert not Mark(os.getpid(), "").alive()


def test_a_zombie_does_not_live():
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, but not collected
    assert birth(process.pid) is None
    process.wait()


def test_a_process_that_never_was_has_no_birth():
    assert birth(2**22 + 1) is None


def test_without_proc_the_birth_comes_from_ps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    fake = tmp_path / "ps"
    fake.write_text("#!/bin/sh\n[ $4 = 7 ] && echo 'Ss   Sat Nov 21 2026'\n[ $4 = 8 ] && echo 'Z    Sat Nov 21 2026'\n[ $4 != 9 ]\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("deploy.cluster.processes.PROC", tmp_path)
    assert [birth(7), birth(8), birth(9)] == ["Sat Nov 21 2026", None, None]


def test_stop_of_nothing_is_nothing():
    assert stop([Mark(os.getpid(), "another")]) == []


def test_a_folder_named_like_a_package_of_ours_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "__init__.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    process = spawn(("-c", "import shared.errors"), {}, tmp_path / "log", outlive_us=False)
    assert process.wait(20) == 0


def test_the_environment_is_added_to_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIVEN_BEFORE", "1")
    words = ("-c", "import os; print(os.environ['GIVEN_BEFORE'], os.environ['GIVEN_NOW'])")
    assert spawn(words, {"GIVEN_NOW": "2"}, tmp_path / "log", outlive_us=True).wait(20) == 0
    assert tail(tmp_path / "log") == "1 2"


def test_the_tail_is_the_last_lines_of_the_log(tmp_path: Path):
    log = tmp_path / "log"
    assert tail(log) == ""
    log.write_text("".join(f"{number}\n" for number in range(100)))
    assert tail(log, lines=2) == "98\n99"
    assert tail(log, since=log.stat().st_size - 3) == "99"


def test_a_child_whose_parent_is_gone_does_not_start():
    assert child.main([str(os.getppid() + 1), "true"]) == 1


def test_a_prefix_becomes_the_command_behind_it(tmp_path: Path):
    words = ("-c", "import os; print(os.environ['GIVEN_BY_THE_PREFIX'], os.getpid())")
    process = spawn(words, {}, tmp_path / "log", outlive_us=True, prefix=("env", "GIVEN_BY_THE_PREFIX=1"))
    assert process.wait(20) == 0
    assert (tmp_path / "log").read_text().split() == ["1", str(process.pid)]


def test_a_log_that_has_grown_is_kept_once_and_begun_anew(tmp_path: Path):
    log = tmp_path / "moon.log"
    rotate(log, most_bytes=10)
    with log.open("a") as writer:
        for text in ("first of all\n", "then the second\n"):
            writer.write(text)
            writer.flush()
            rotate(log, most_bytes=10)
        writer.write("short")
        writer.flush()
        rotate(log, most_bytes=10)
    assert log.read_text() == "short"
    assert (tmp_path / "moon.log.1").read_text() == "then the second\n"


def test_a_child_that_runs_has_no_exit_code_and_one_that_ended_has_it_again_and_again():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True, stderr=subprocess.DEVNULL)
    assert ended(process) is None
    process.kill()
    assert eventually(lambda: ended(process) == -9)
    assert ended(process) == -9
    assert process.stdin
    process.stdin.close()
