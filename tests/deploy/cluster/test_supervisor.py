"""No process is left behind, and none that is not ours is touched."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from deploy.cluster.errors import ChildCrashError, ClusterError
from deploy.cluster.lifecycle import supervised, take_down, wait_ready
from deploy.cluster.local import ByProcess
from deploy.cluster.names import Ports
from deploy.cluster.processes import CODE_ROOT, Mark, birth, wait_gone
from deploy.cluster.services import Service
from deploy.cluster.state import ClusterState, Member, StateDir
from tests.support.waiting import HANGS_S, eventually

pytestmark = pytest.mark.process

HERE = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("foreground", HERE / "foreground.py")
assert spec
assert spec.loader
foreground = importlib.util.module_from_spec(spec)
spec.loader.exec_module(foreground)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[StateDir]:
    made = StateDir(tmp_path / "state")
    yield made
    down(made)


def down(directory: StateDir) -> list[Member]:
    return take_down(directory)


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with httpx2.Client(trust_env=False) as made:
        yield made


def ports(count: int) -> list[int]:
    taker = Ports()
    return [taker.take(23_400) for _ in range(count)]


def run_foreground(directory: StateDir, *arguments: str) -> subprocess.Popen[bytes]:
    """A supervisor with two fakes, in its own process; returns once both answer."""
    numbers = [str(port) for port in ports(2)]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "foreground.py"), str(directory.root), *numbers, *arguments],
        env={**os.environ, "PYTHONPATH": str(CODE_ROOT)},
    )
    until(lambda: (directory.root / "ready").exists() or process.poll() is not None)
    return process


def until(condition: Callable[[], bool], *, seconds: float = HANGS_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def marks_of(directory: StateDir) -> list[Mark]:
    state = directory.load()
    assert state
    assert state.keeper
    marks = [*state.marks(), state.keeper]
    assert len(marks) == 3
    assert all(mark.alive() for mark in marks)
    return marks


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_supervisor_leaves_no_process_and_no_state(directory: StateDir, number: signal.Signals):
    process = run_foreground(directory)
    marks = marks_of(directory)
    process.send_signal(number)
    assert process.wait(120) == 128 + number
    assert not any(mark.alive() for mark in marks)
    assert not directory.file.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
def test_children_die_with_a_supervisor_that_is_killed_hard(directory: StateDir):
    process = run_foreground(directory)
    marks = marks_of(directory)
    process.kill()
    process.wait(120)
    assert wait_gone(marks, patience_s=HANGS_S)
    assert down(directory) == []


def test_a_detached_cluster_lives_on_and_down_stops_it(directory: StateDir):
    process = run_foreground(directory, "--detach")
    assert process.wait(120) == 0
    marks = marks_of(directory)
    assert [member.mark for member in down(directory)] == marks[:2]
    assert wait_gone(marks, patience_s=HANGS_S)
    assert down(directory) == []


def test_down_ends_a_foreground_supervisor_too_which_says_so_and_has_not_failed(directory: StateDir, capfd: pytest.CaptureFixture[str]):
    process = run_foreground(directory)
    marks = marks_of(directory)
    until_reaped = down(directory)
    assert len(until_reaped) == 2
    assert process.wait(120) == 0
    assert capfd.readouterr().err.splitlines()[-1] == "stopping, as `dgrag down` asked"
    assert not any(mark.alive() for mark in marks)


def test_down_never_kills_a_process_that_got_a_pid_of_ours(directory: StateDir):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        old = Mark(stranger.pid, "another boot/1")
        directory.save(ClusterState(supervisor=old, members=(Member("edge", "ward", "http://127.0.0.1:1", old),)))
        assert down(directory) == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_up_twice_is_refused_while_the_first_one_runs(directory: StateDir):
    run_foreground(directory, "--detach").wait(120)
    with pytest.raises(ClusterError, match="running already"), supervised(ByProcess(directory), detached=True):
        pytest.fail("it started twice")
    assert len(marks_of(directory)) == 3


def test_a_folder_that_another_up_works_in_is_refused(directory: StateDir):
    with directory.lock(), pytest.raises(ClusterError, match="running already"), supervised(ByProcess(directory), detached=True):
        pytest.fail("it started twice")


def test_state_of_a_cluster_that_has_died_is_no_obstacle(directory: StateDir):
    directory.save(ClusterState(members=(Member("edge", "ward", "http://127.0.0.1:1", Mark(1, "another boot/1")),)))
    with supervised(ByProcess(directory, detached=False), detached=False) as runtime:
        assert runtime.state.members == ()


def test_a_cluster_whose_services_are_all_between_two_starts_is_up(directory: StateDir):
    mine = Mark(os.getpid(), birth(os.getpid()) or "")
    directory.save(ClusterState(keeper=mine))
    with pytest.raises(ClusterError, match="running already"), supervised(ByProcess(directory), detached=True):
        pytest.fail("it started twice")
    directory.forget()


def test_a_crash_during_the_start_tells_the_log_and_stops_the_rest(directory: StateDir, http: httpx2.Client):
    good, bad = ports(2)
    services = [foreground.fake(good), foreground.fake(bad, "--crash", name="moon")]
    with pytest.raises(ChildCrashError) as caught:
        start_and_wait(directory, services, http)
    assert (caught.value.name, caught.value.exit_code) == ("moon", 3)
    assert caught.value.tail == "line one\ncannot read the moon"
    assert Ports().take(good) == good
    assert not directory.file.exists()


def test_what_a_service_left_in_its_group_is_stopped_with_it(directory: StateDir, http: httpx2.Client):
    with running(directory, foreground.fake(ports(1)[0], "--child"), http=http) as runtime:
        mark = runtime.state.marks()[0]
        assert len(foreground.group(mark.pid)) == 2
    assert eventually(lambda: foreground.group(mark.pid) == [])  # killed, but the kernel takes its time


def test_a_paused_service_is_stopped_too(directory: StateDir, http: httpx2.Client):
    with running(directory, foreground.fake(ports(1)[0]), http=http) as runtime:
        member = runtime.state.members[0]
        runtime.inflict("pause", member)
    assert member.mark
    assert not member.mark.alive()


def test_watch_tells_of_each_service_that_ends_and_returns_when_none_will_start_again(
    directory: StateDir, http: httpx2.Client, tmp_path: Path
):
    told: list[str] = []
    with running(directory, foreground.fake(ports(1)[0], "--damaged-later", str(tmp_path / "been"), name="moon"), http=http) as runtime:
        runtime.inflict("kill", runtime.state.members[0])
        runtime.watch(told.append)
    assert told[-1] == "moon exited with 5, and is not started again: its data is damaged"


def test_a_member_that_is_not_ours_is_recorded_and_never_stopped(directory: StateDir, http: httpx2.Client):
    runtime = ByProcess(directory)
    service = foreground.fake(ports(1)[0])
    with supervised(runtime, detached=True):
        runtime.keep((service,), (Member("model", "big", "http://gpu:8000/v1"),))
        wait_ready(runtime, [service], http, lambda service: None)
    state = directory.load()
    assert state
    assert (state.members[0].name, state.members[0].mark, len(state.marks())) == ("big", None, 1)
    assert [member.role for member in runtime.stop()] == ["edge"]


def test_a_process_that_waits_too_long_for_readiness_is_named(directory: StateDir, http: httpx2.Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("deploy.cluster.lifecycle.READY_DEADLINE_S", 0.0)
    service = replace(foreground.fake(ports(1)[0]), ready_url="http://127.0.0.1:9/ready")
    with pytest.raises(ClusterError, match=service.name):
        start_and_wait(directory, [service], http)


def test_a_service_that_answers_before_it_is_written_down_is_waited_for(
    directory: StateDir, http: httpx2.Client, monkeypatch: pytest.MonkeyPatch
):
    states = iter([ClusterState()] * 4)
    written = ByProcess.state.fget
    assert written
    with running(directory, foreground.fake(ports(1)[0]), http=http) as runtime:
        monkeypatch.setattr(ByProcess, "state", property(lambda self: next(states, None) or written(self)))
        wait_ready(runtime, runtime.directory.charge().services, http, lambda service: None)
    assert next(states, None) is None


@contextmanager
def running(directory: StateDir, service: Service, *, http: httpx2.Client) -> Iterator[ByProcess]:
    runtime = ByProcess(directory, detached=False)
    with supervised(runtime, detached=False):
        runtime.keep((service,))
        wait_ready(runtime, [service], http, lambda service: None)
        yield runtime


def start_and_wait(directory: StateDir, services: Sequence[Service], http: httpx2.Client) -> None:
    runtime = ByProcess(directory)
    with supervised(runtime, detached=True):
        runtime.keep(tuple(services))
        wait_ready(runtime, services, http, lambda service: None)
