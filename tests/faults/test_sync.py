"""R4: summaries arrive at least once and are applied once, whatever befalls the line, the edge or the cloud."""

import tempfile
from pathlib import Path

import pytest

from cloud_server.routing.summaries import SummaryStore
from shared.errors import StaleEpoch
from tests.faults.report import MEMORY
from tests.faults.sync import campaign

pytestmark = pytest.mark.campaign


@pytest.fixture
def folder(monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.BACKOFF_S", (0.0,))
    monkeypatch.setattr("edge_node.cloud.client.PAUSES_S", (0.0, 0.0))
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as made:
        yield Path(made)


async def test_after_faults_at_many_points_the_cloud_has_what_the_edges_have(folder):
    assert await campaign(folder, 25) == {}


@pytest.mark.long
@pytest.mark.parametrize("seed", [8, 9])
async def test_after_faults_at_a_thousand_points_the_cloud_has_what_the_edges_have(folder, seed):
    """In two halves: what a point costs grows with the edges that its cloud knows already."""
    assert await campaign(folder, 500, seed=seed) == {}


async def test_a_cloud_that_takes_old_versions_is_seen_to_differ(folder, monkeypatch):
    """The null control of versions."""
    monkeypatch.setattr(SummaryStore, "fits", lambda store, edge, delta: True)
    assert await campaign(folder, 10, faults=("delay",))


async def test_a_cloud_that_takes_old_epochs_is_seen_to_differ(folder, monkeypatch):
    """The null control of epochs: a cloud that forgets which histories are over."""
    fits = SummaryStore.fits

    def forgetful(store, edge, delta):
        try:
            return fits(store, edge, delta)
        except StaleEpoch:
            return True

    monkeypatch.setattr(SummaryStore, "fits", forgetful)
    monkeypatch.setattr("tests.faults.sync.LATE", (1000,))
    assert await campaign(folder, 10, faults=("delay", "restore edge"), each=10)
