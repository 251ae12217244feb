"""Replicas of one service share a volume: each has to be a site of its own, also after a kill."""

import subprocess
import sys

import pytest

from deploy.cluster.errors import ClusterError
from deploy.container.edge_start import claimed

pytestmark = pytest.mark.process

HOLDS = "import os, sys; from pathlib import Path; from deploy.container.edge_start import claimed; slot = claimed(Path(sys.argv[1]), 4)"
SAYS = "print(slot.number, flush=True); sys.stdin.read()"
SLEEPER = "import sys; print('other program', flush=True); sys.stdin.read()"
TURNS = f"print(slot.number, flush=True); os.execv(sys.executable, [sys.executable, '-c', {SLEEPER!r}])"


@pytest.fixture
def replicas(tmp_path):
    """Starts processes that hold a slot each; returns one with its number."""
    started = []

    def start(then=SAYS):
        command = [sys.executable, "-c", f"{HOLDS}; {then}", str(tmp_path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_each_takes_the_lowest_free_slot(tmp_path):
    slots = [claimed(tmp_path, 3) for _ in range(3)]
    assert [slot.edge for slot in slots] == ["edge-1", "edge-2", "edge-3"]


def test_one_more_than_there_are_places_is_told_which_setting_says_so(tmp_path):
    held = claimed(tmp_path, 1)
    with pytest.raises(ClusterError, match="all 1 places") as caught:
        claimed(tmp_path, held.number)
    assert "DGRAG_EDGES" in caught.value.next_step


def test_the_place_of_a_process_that_was_killed_is_taken_again_and_the_others_keep_theirs(tmp_path, replicas):
    first, number = replicas()
    second, other = replicas()
    assert (number, other) == (1, 2)
    first.kill()
    first.wait()
    assert [claimed(tmp_path, 4).number, replicas()[1]] == [1, 3]
    assert second.poll() is None


def test_a_slot_is_kept_by_what_the_process_turns_into(tmp_path, replicas):
    process, number = replicas(TURNS)
    assert process.stdout.readline() == "other program\n"
    assert (number, claimed(tmp_path, 4).number) == (1, 2)
