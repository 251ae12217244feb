"""How long the campaigns of faults are."""

import pytest

from tests.faults.forks import STRACE

SHORT = 10  # kills


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=SHORT, help="points at which an edge is killed (R1); the long run: 3000")


@pytest.fixture
def kills(pytestconfig):
    return pytestconfig.getoption("--kills", default=SHORT)  # not known where pytest was started above this folder


@pytest.fixture
def strace():
    if STRACE is None:
        pytest.skip("strace is not installed: no fault can be put at the nth system call")
