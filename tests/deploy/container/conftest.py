"""A cloud in this process, as the steps of the containers call it."""

import asyncio
from types import SimpleNamespace

import httpx2
import pytest

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from deploy.cli import membership
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support.signed import URL


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    """``cloud.http`` is an operator's client; edges reach the cloud by URL."""
    models = Models(HashEmbedder(), ScriptedGenerator(lambda _: "-"), WordTokenizer())
    built = build_cloud(CloudSettings(state_dir=tmp_path / "cloud"), models)
    served = create_app(built)
    monkeypatch.setattr(membership, "cloud_http", lambda url, **_: httpx2.AsyncClient(transport=httpx2.ASGITransport(served), base_url=url))

    def handler(request):
        async def sent():
            async with httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(served), base_url=URL) as http:
                return await http.request(request.method, request.url.path, content=request.content, headers=request.headers)

        answer = asyncio.run(sent())
        return httpx2.Response(answer.status_code, content=answer.content, headers={"content-type": "application/json"})

    with httpx2.Client(transport=httpx2.MockTransport(handler), base_url=URL) as http:
        yield SimpleNamespace(http=http, registry=built.registry, expel=lambda edge: asyncio.run(built.expel(edge)))
    built.close()
    served.state.guard.close()
