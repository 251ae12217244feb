"""R1: kill -9 at the nth write and at random times, also during recovery."""

import pytest

from tests.faults.report import told
from tests.faults.steps import STEPS, allowed

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("strace")]


def test_an_edge_that_is_killed_anywhere_loses_nothing_and_ends_as_if_it_had_not_been(kills):
    report = told("kills", kills)
    assert report.faults == []
    assert report.points == kills
    assert report.figures["second kills"] >= kills / 5


LOSSES = {  # what is missing -> the loss that must be seen
    "patience": "lost",
    "commit of documents": "lost",
    "commit of passages": "half",
    "kept replies": "paid twice",
}
QUICK = ("kept replies",)  # the others need up to a hundred kills
TRIES = 150  # at most: as many as the protected edge survives


@pytest.mark.parametrize("missing", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in LOSSES])
def test_a_client_or_an_edge_that_lacks_one_thing_is_seen_to_lose_something(missing):
    """The null controls: a client that does not wait for its answer, and edges with one protection taken away."""
    loss = LOSSES[missing]
    assert any(kind.startswith(loss) for kind in told("kills", TRIES, "--without", missing, "--until", loss).found)


@pytest.mark.long
def test_a_thousand_kills_lose_nothing():
    report = told("kills", 1000, "--seed", 8)
    assert report.faults == []


def test_the_bench_expects_what_was_acknowledged_and_allows_what_is_under_way():
    """After the last removal is sent, its document may be there or not; once it is acknowledged, it must not."""
    removal = next(number for number, step in enumerate(STEPS) if step.do == "remove")
    must, may = allowed(removal)
    assert STEPS[removal].identity in may - must
    must, may = allowed(removal + 1)
    assert STEPS[removal].identity not in must | may
