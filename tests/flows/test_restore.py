"""An edge that was restored from a backup is older than what the cloud knows of it; both agree again (R15)."""

import asyncio
import sqlite3
from contextlib import closing

import httpx2
import pytest

from benchmarks.instant_edge import add, instant_edge
from benchmarks.stand_ins import Models
from benchmarks.synthetic import Names, documents
from edge_node.database.backup import back_up
from edge_node.maintenance import restore
from shared.http.open_mode import CALLER
from tests.support.federation import PLANT, WARD, federation_cloud
from tests.support.running_edge import running_edge
from tests.support.waiting import until

PASSAGES = 2_000  # with their entities and relations: more than 20,000 vectors
BACK_S = 30  # the goal


def known(cloud_folder):
    """What the cloud holds: summary ids and texts."""
    with closing(sqlite3.connect(cloud_folder / "cloud.db")) as connection:
        return set(connection.execute("SELECT summary_id, text FROM summaries"))


def own(edge):
    return {(summary.summary_id, summary.text) for summary in edge.node.graph.summaries()}


async def test_a_restored_edge_syncs_under_a_new_epoch_and_the_cloud_converges(tmp_path):
    async with federation_cloud(tmp_path / "cloud") as (_, app):

        def started():
            http = httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")
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


@pytest.mark.long
async def test_twenty_thousand_vectors_are_restored_and_served_within_the_goal(tmp_path):
    models = Models()
    async with instant_edge(tmp_path / "ward", models) as node:
        await add(node, list(documents(Names(), passages=PASSAGES, each=20, prefix="d")))
        counts = node.strategy.counts()
        back_up(tmp_path / "ward", tmp_path / "ward.bak")
    assert PASSAGES + counts["entities"] + counts["relations"] >= 20_000
    async with asyncio.timeout(BACK_S):
        await asyncio.to_thread(restore, tmp_path / "ward.bak", tmp_path / "other")
        async with instant_edge(tmp_path / "other", models) as node:
            assert node.strategy.counts() == counts
            assert (await node.strategy.retrieve("Who supplies whom?", budget_tokens=400, top_k=5)).evidence
