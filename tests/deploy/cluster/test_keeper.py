"""A keeper of fakes: what ends is started again, what is stuck is ended, and nothing outlives it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from deploy.cluster.local import ByProcess
from deploy.cluster.names import Ports
from deploy.cluster.processes import wait_gone
from deploy.cluster.services import Service
from deploy.cluster.state import ClusterState, Member, StateDir, SupervisorPlan
from deploy.cluster.supervisor import Patience, Supervisor, is_unwell
from tests.support.waiting import HANGS_S, eventually

pytestmark = pytest.mark.process

spec = importlib.util.spec_from_file_location("foreground", Path(__file__).parents[1] / "foreground.py")
assert spec
assert spec.loader
foreground = importlib.util.module_from_spec(spec)
spec.loader.exec_module(foreground)
IMPATIENT = Patience(every_s=0.05, timeout_s=1.0, misses=2)  # a busy machine answers within a second, once in two calls


@pytest.fixture
def directory(tmp_path: Path) -> StateDir:
    return StateDir(tmp_path / "state")


@pytest.fixture
def keep(directory: StateDir) -> Iterator:
    """Run a keeper of services in a thread, until the test ends; returns it once all answer."""
    keepers = []

    def started(*services: Service, patience: Patience | None = None) -> Supervisor:
        keeper = Supervisor(directory, SupervisorPlan(services), time.monotonic, patience)
        thread = threading.Thread(target=keeper.run)
        thread.start()
        keepers.append((keeper, thread))
        assert eventually(lambda: all(answers(service) for service in services))
        return keeper

    yield started
    for keeper, thread in keepers:
        keeper.end()
        thread.join()
    assert not member_marks_alive(directory)


def service(*flags: str) -> Service:
    return foreground.fake(Ports().take(23_600), *flags, name="moon")


def answers(asked: Service) -> bool:
    try:
        return httpx2.get(asked.ready_url, timeout=1.0).is_success
    except httpx2.TransportError:
        return False


def state(directory: StateDir) -> ClusterState:
    return directory.load() or ClusterState()


def only(directory: StateDir) -> Member:
    """The member of a cluster of one; its state file is written anew now and then."""
    found: list[Member] = []

    def read() -> bool:
        found[:] = state(directory).members
        return bool(found)

    assert eventually(read)
    return found[0]


def pid(directory: StateDir) -> int:
    mark = only(directory).mark
    assert mark
    return mark.pid


def member_marks_alive(directory: StateDir) -> bool:
    return any(mark.alive() for mark in state(directory).marks())


def test_a_service_that_is_killed_comes_back_and_its_log_says_why(directory: StateDir, keep):
    moon = service()
    keep(moon)
    first = pid(directory)
    os.kill(first, signal.SIGKILL)
    assert eventually(lambda: only(directory).restarts == 1 and answers(moon))
    assert (only(directory).last_exit, only(directory).given_up) == (-signal.SIGKILL, "")
    assert pid(directory) != first
    assert "keeper: moon was killed by signal 9; start 2 follows" in directory.log("moon").read_text()


def test_what_a_killed_service_left_in_its_group_is_gone_before_the_next_one(directory: StateDir, keep):
    moon = service("--child")
    keep(moon)
    first = pid(directory)
    os.kill(first, signal.SIGKILL)
    assert eventually(lambda: only(directory).restarts == 1)
    assert foreground.group(first) == []


def test_damaged_data_is_told_and_not_tried_again_until_somebody_says_so(directory: StateDir, keep, tmp_path: Path):
    moon = service("--damaged-later", str(tmp_path / "been"))
    keeper = keep(moon)
    os.kill(pid(directory), signal.SIGKILL)
    assert eventually(lambda: bool(only(directory).given_up))
    assert (only(directory).last_exit, only(directory).given_up) == (5, "its data is damaged")
    assert "is not started again: its data is damaged" in directory.log("moon").read_text()
    (tmp_path / "been").unlink()
    keeper.hurry()
    assert eventually(lambda: not only(directory).given_up and answers(moon))


@pytest.mark.parametrize("how", ["--stuck-once", "--broken-once"])
def test_a_service_that_answers_no_call_or_says_that_it_is_broken_is_killed_and_comes_back(directory, keep, tmp_path: Path, how: str):
    moon = service(how, str(tmp_path / "been"))
    keep(moon, patience=IMPATIENT)
    assert eventually(lambda: only(directory).restarts == 1 and answers(moon))
    assert only(directory).last_exit == -signal.SIGKILL


def test_a_paused_service_is_silent_and_not_killed_for_it(directory: StateDir, keep):
    moon = service()
    keep(moon, patience=IMPATIENT)
    first = pid(directory)
    os.kill(first, signal.SIGSTOP)
    for _ in range(3):
        assert is_unwell(moon.health_url, timeout_s=1.0)
    os.kill(first, signal.SIGCONT)
    assert eventually(lambda: answers(moon))
    assert (pid(directory), only(directory).restarts) == (first, 0)


def test_a_service_that_cannot_even_be_started_waits_its_turn(directory: StateDir, keep, monkeypatch: pytest.MonkeyPatch):
    from deploy.cluster import supervisor as module

    moon, real, refused = service(), module.spawn, []

    def spawn_at_second_try(*given, **named):
        if not refused:
            refused.append(given)
            raise BlockingIOError("no more processes")
        return real(*given, **named)

    monkeypatch.setattr(module, "spawn", spawn_at_second_try)
    keep(moon)
    assert (only(directory).restarts, only(directory).last_exit) == (1, os.EX_OSERR)


def test_a_state_that_cannot_be_written_does_not_end_what_runs(directory: StateDir, keep, monkeypatch: pytest.MonkeyPatch):
    moon = service()
    keep(moon)

    def full(state):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(directory, "save", full)
        os.kill(pid(directory), signal.SIGKILL)
        assert eventually(lambda: not answers(moon))
        assert eventually(lambda: answers(moon))


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_no_child_is_left_where_the_keeper_of_a_detached_cluster_is_killed(directory: StateDir, tmp_path: Path):
    runtime = ByProcess(directory)
    runtime.keep((service(), replace(service("--child"), name="sun")))
    assert eventually(lambda: len(state(directory).running()) == 2)
    marks, keeper = state(directory).marks(), state(directory).keeper
    assert keeper
    os.kill(keeper.pid, signal.SIGKILL)
    assert wait_gone(marks, patience_s=HANGS_S)
    assert not state(directory).is_up()
    assert runtime.stop() == []
    assert not directory.file.exists()


def test_the_plan_of_a_keeper_holds_no_key(directory: StateDir, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DGRAG_MODEL_API_KEY", "canary")
    runtime = ByProcess(directory)
    runtime.keep((service(),))
    try:
        assert "canary" not in directory.plan_file.read_text()
    finally:
        runtime.stop()


def test_a_keeper_without_a_plan_ends_in_one_line(tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-m", "deploy.cluster.supervisor", str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 1
    assert "plan.json cannot be read" in ended.stderr.splitlines()[-1]
