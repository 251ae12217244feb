"""The cloud embeds what sites tell it by itself, so sites with different embedding models work together."""

import contextlib

import httpx2

from shared.http.open_mode import CALLER
from shared.models.embedding_server import EmbeddingServer
from shared.models.fake import HashEmbedder
from tests.support.federation import PLANT, REFUSAL, WARD, federation_cloud
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

LOT = "Lot L-7713 caused the failure [1]."
SITES = {"ward": (WARD, HashEmbedder(64)), "plant": (PLANT, HashEmbedder(24))}


@contextlib.asynccontextmanager
async def by_server(folder, embedder):
    """An embedding model behind the real route of another edge."""
    async with running_edge(folder, embedder=embedder) as served:
        served.http.base_url = "http://127.0.0.1/v1/"
        [probe] = await embedder.embed(["probe"])
        yield EmbeddingServer(served.http, model="dgrag-embedding", probe=probe)


async def test_summaries_of_sites_with_different_models_are_matched_and_evidence_comes_from_both(tmp_path):
    async with contextlib.AsyncExitStack() as stack:
        cloud, app = await stack.enter_async_context(federation_cloud(tmp_path / "cloud", LOT))
        served = await stack.enter_async_context(by_server(tmp_path / "server", SITES["plant"][1]))
        edges = {}
        for name, (text, embedder) in SITES.items():
            http = httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")
            chosen = {"strategy": "dgrag", "evidence_threshold": 0.05}
            model = served if name == "plant" else embedder
            line = running_edge(tmp_path / name, id=name, generator=scripted(REFUSAL), embedder=model, cloud=http, **chosen)
            edges[name] = await stack.enter_async_context(line)
            await edges[name].add("report.md", text)
            await until(lambda link=edges[name].node.link: link.in_sync)
        assert {edge.node.models.embedder.dimensions for edge in edges.values()} == {64, 24}
        assert {row.edge: row.summaries for row in cloud.edges()} == {"ward": 1, "plant": 1}
        answer = await edges["ward"].ask("Which lot of the battery pack caused the failure of infusion pumps?")
        assert {report["edge"]: report["evidence"] for report in answer["edges"]}["plant"]
        back = await edges["plant"].ask("Which ward reported the failure of four infusion pumps?")
        assert {report["edge"] for report in back["edges"]} >= {"ward"}
