import pytest

from cloud_server.registry.edges import EdgeRegistry
from shared.errors import Expelled, NotFound


@pytest.fixture
def registry(database, clock):
    return EdgeRegistry(database, clock)


def test_an_edge_that_enrols_twice_is_one_edge(registry):
    first = registry.enrol("ward")
    assert registry.enrol("ward") == first
    assert (first.epoch, first.version, first.last_seen) == ("", 0, 1000.0)
    assert len(registry.all()) == 1


def test_edges_come_by_name(registry):
    for edge in ("ward", "bank"):
        registry.enrol(edge)
    assert [row.edge for row in registry.all()] == ["bank", "ward"]


def test_an_unknown_edge_is_not_found(registry):
    for call in (registry.get, registry.seen, registry.expel):
        with pytest.raises(NotFound):
            call("nobody")


def test_last_seen_is_exact_but_written_rarely(registry, clock, database):
    registry.enrol("ward")
    clock.seconds += 10
    registry.seen("ward")
    assert registry.get("ward").last_seen == 1010.0
    after_restart = EdgeRegistry(database, clock)
    assert after_restart.get("ward").last_seen == 1000.0
    clock.seconds += 60
    registry.seen("ward")
    assert after_restart.get("ward").last_seen == 1070.0


def test_an_expelled_edge_stays_out_over_a_restart_until_it_is_readmitted(registry, clock, database):
    registry.enrol("ward")
    assert registry.expel("ward") == 0
    after_restart = EdgeRegistry(database, clock)
    for call in (after_restart.get, after_restart.enrol, after_restart.seen, after_restart.admit):
        with pytest.raises(Expelled):
            call("ward")
    registry.readmit("ward")
    assert registry.enrol("ward").version == 0


def test_who_is_set_aside_or_expelled_matches_nothing_until_that_ends(registry):
    for edge in ("ward", "bank", "plant"):
        registry.enrol(edge)
    registry.quarantine("ward", "it lies")
    registry.expel("bank")
    assert registry.barred() == {"ward", "bank"}
    registry.release("ward")
    registry.readmit("bank")
    assert registry.barred() == set()


def test_who_was_not_expelled_cannot_be_readmitted(registry):
    registry.enrol("ward")
    with pytest.raises(NotFound):
        registry.readmit("ward")
