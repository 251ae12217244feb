"""Goal R13: when the client goes, the model's work for it stops."""

import asyncio

import pytest

from shared.models.fake import ScriptedGenerator
from tests.support.live_edge import ERAS, agent, live_edge
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

BODIES = {
    "/v1/query": b'{"question": "Who reported it?", "mode": "local"}',
    "/v1/chat/completions": b'{"model": "dgrag-local", "messages": [{"role": "user", "content": "Who reported it?"}]}',
    "/api/chat": b'{"model": "dgrag-local", "messages": [{"role": "user", "content": "Who reported it?"}]}',
}


class HangingGenerator(ScriptedGenerator):
    """Never answers; says when it was asked and when it was given up."""

    def __init__(self):
        super().__init__(lambda prompt: ["-"])
        self.asked, self.given_up = asyncio.Event(), asyncio.Event()

    async def generate(self, prompt, *, deadline_s):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_an_agents_program_that_goes_does_so_too(tmp_path, era):
    async with running_edge(tmp_path, generator=scripted()) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
    model = HangingGenerator()
    async with live_edge(tmp_path, generator=model) as (edge, url), asyncio.timeout(20):

        async def ask():
            async with agent(url, era=era) as client:
                await client.call_tool("ask", {"question": "Who reported it?", "scope": "local"})

        asking = asyncio.create_task(ask())
        await model.asked.wait()
        asking.cancel()
        await model.given_up.wait()
        await asyncio.wait([asking])
        await until(lambda: edge.node.admissions.questions.running == 0)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", list(BODIES))
async def test_a_client_that_goes_takes_its_model_call_along(tmp_path, path, stream):
    async with running_edge(tmp_path, generator=scripted()) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
    model = HangingGenerator()
    async with running_edge(tmp_path, generator=model) as edge:
        body = BODIES[path].removesuffix(b"}") + (b', "stream": true}' if stream else b', "stream": false}')
        serving = asyncio.create_task(call(edge.http._transport.app, path, body, gone_after=model.asked))
        async with asyncio.timeout(20):
            await model.given_up.wait()
            await asyncio.wait([serving])
            assert edge.http._transport.app.state.node.admissions.questions.running == 0


async def call(app, path, body, *, gone_after, content_type=b"application/json"):
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        if messages:
            return messages.pop()
        await gone_after.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        pass

    headers = [(b"host", b"127.0.0.1"), (b"content-type", content_type), (b"x-dgrag", b"1")]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "headers": headers, "state": {},
    }  # fmt: skip
    await app(scope, receive, send)
