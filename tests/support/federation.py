"""A cloud and edges in one process, joined by real HTTP routes over ASGI; each site has one document and a model with one answer."""

import contextlib

import httpx2

from shared.http.open_mode import CALLER
from tests.support.running_cloud import running_cloud
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

REFUSAL = "Insufficient information."
WARD = "Juniper Ward reported the failure of four infusion pumps in March. Each infusion pump used a battery pack."
PLANT = "Lot L-7713 of the battery pack caused the failure of infusion pumps. The seal of lot L-7713 leaked."


class SwitchableTransport(httpx2.AsyncBaseTransport):
    """The line to the cloud: can be cut and healed."""

    def __init__(self, app):
        self._inner = httpx2.ASGITransport(app)
        self.cut = False

    async def handle_async_request(self, request):
        if self.cut:
            raise httpx2.ConnectError("the line is cut", request=request)
        return await self._inner.handle_async_request(request)


@contextlib.asynccontextmanager
async def federation_cloud(folder, answer="-", recorder=None):
    """The cloud's parts and its app."""
    chosen = {"evidence_threshold": 0.05, "deadline_s": 5, "erase_every_s": 0.05}
    async with running_cloud(folder, answer=answer, recorder=recorder, **chosen) as service:
        yield service.cloud, service.app


@contextlib.asynccontextmanager
async def federation(folder, *, cloud_answer, edge_answers, recorders=None, **settings):
    """Edges by name, each with one document and a model that always gives one answer. ``recorders``: by the name of the service."""
    told = recorders or {}
    async with contextlib.AsyncExitStack() as stack:
        cloud, app = await stack.enter_async_context(federation_cloud(folder / "cloud", cloud_answer, told.get("cloud")))
        edges, lines = {}, {}
        for name, (text, answer) in edge_answers.items():
            lines[name] = SwitchableTransport(app)
            http = httpx2.AsyncClient(headers=CALLER, transport=lines[name], base_url="http://127.0.0.1")
            chosen = {"strategy": "dgrag"} | settings
            started = running_edge(folder / name, id=name, generator=scripted(answer), cloud=http, recorder=told.get(name), **chosen)
            edges[name] = await stack.enter_async_context(started)
            await edges[name].add("report.md", text)
            await until(lambda link=edges[name].node.link: link.in_sync)
        yield edges, lines, cloud
