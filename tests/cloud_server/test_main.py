import asyncio
import socket
import sys

import httpx2
import pytest

from cloud_server import __main__ as entry
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support.signed import AsEdges, join


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def eventually(condition):
    """Wait for a server on a real socket, which says nothing when it is there."""
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the condition never came true")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_stopping_releases_held_polls_at_once(tmp_path, monkeypatch, kit):
    """Over a real socket: the poll asks for 30 s, and comes back empty when the server is told to stop."""
    monkeypatch.setattr(entry, "build_embedder", lambda _: HashEmbedder())
    monkeypatch.setattr(entry, "build_tokenizer", lambda _: WordTokenizer())
    monkeypatch.setattr(entry, "build_generator", lambda _, __: ScriptedGenerator(lambda ___: "x"))
    port = free_port()
    server = entry.server(kit.settings_for(tmp_path, port=port), entry.ModelSettings())
    async with httpx2.AsyncClient(headers=CALLER, base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
        serving = asyncio.create_task(server._serve())
        await eventually(lambda: server.started)
        http.auth = AsEdges(server._cloud.credentials.identity.key_id)
        await join(http, "ward", http.auth.identity("ward"))
        held = asyncio.create_task(http.post("/v1/edges/ward/poll?wait_s=30"))
        await eventually(lambda: server._cloud.mailbox.online("ward"))
        server.should_exit = True
        async with asyncio.timeout(25):  # the poll alone would take 30
            assert (await held).json()["requests"] == []
            await serving
