"""An edge that was restored from a backup is older than what the cloud knows of it; both agree again (R15)."""

import sqlite3
from contextlib import closing

import httpx

from edge_node.store.backup import back_up, restore
from tests.flows.test_federation import PLANT, WARD, running_cloud
from tests.support.running_edge import running_edge
from tests.support.waiting import until


def known(cloud_folder):
    """What the cloud holds: summary ids and texts."""
    with closing(sqlite3.connect(cloud_folder / "cloud.db")) as connection:
        return set(connection.execute("SELECT summary_id, text FROM summaries"))


def own(edge):
    return {(summary.summary_id, summary.text) for summary in edge.node.graph.summaries()}


async def test_a_restored_edge_syncs_under_a_new_epoch_and_the_cloud_converges(tmp_path):
    async with running_cloud(tmp_path / "cloud", "-") as (_, app):

        def started():
            http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://cloud")
            return running_edge(tmp_path / "ward", strategy="dgrag", cloud=http)

        async with started() as edge:
            await edge.add("ward.md", WARD)
            back_up(tmp_path / "ward", tmp_path / "ward.bak")
            await edge.add("plant.md", PLANT)
            await until(lambda: edge.node.link.in_sync)
            epoch, newest = edge.node.graph.epoch(), own(edge)
            assert known(tmp_path / "cloud") == newest
        restore(tmp_path / "ward.bak", tmp_path / "ward")
        async with started() as edge:
            await until(lambda: edge.node.link.in_sync)
            assert [row["name"] for row in edge.node.documents.list(limit=9)] == ["ward.md"]
            assert edge.node.graph.epoch() != epoch
            assert known(tmp_path / "cloud") == own(edge) != newest
