"""R7: a cloud that is down, hung or lying costs a question at most a second, and nothing once the breaker is open."""

import asyncio
import contextlib
import json
import threading

import httpx2
import pytest

from shared.http.open_mode import CALLER
from shared.models.embedders import LocalEmbedder
from shared.models.fake import HashEmbedder
from shared.wire import NDJSON
from tests.support.cloud_socket import cloud_on_a_socket
from tests.support.federation import REFUSAL, WARD
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

pytestmark = pytest.mark.process
QUESTION = "Which lot of the battery pack caused it?"
PATIENCE_S, ADDED_S, BEAT_S = 0.3, 1.0, 0.01
OK = b"HTTP/1.1 200 OK\r\ncontent-type: " + NDJSON.encode() + b"\r\nconnection: close\r\n\r\n"
ALIVE = b'{"alive":true}\n'
LIES = {
    "refuses the connection": None,
    "accepts and says nothing": b"",
    "answers with half a header": b"HTTP/1.1 200 OK\r\ncontent-ty",
    "falls silent after signs of life": OK + ALIVE + ALIVE,
    "sends garbage": b"\x00\xff" * 1000,
    "sends a page of HTML": b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>hello</html>",
    "answers plain JSON": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{}",
    "answers of another schema": OK + json.dumps({"answer": {"text": 7}}).encode() + b"\n",
    "sends lines without an end": OK + b"x" * 10 * 2**20,
    "sends an answer of 10 MB": OK + json.dumps({"answer": {"query_id": "q", "answer": "x" * 10 * 2**20}}).encode() + b"\n",
    "redirects": b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    "fails": b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n",
    "promises more than it sends": b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: 99999\r\n\r\n" + ALIVE,
    "ends without an answer": OK + ALIVE,
}
HANGS = {"accepts and says nothing", "answers with half a header", "falls silent after signs of life", "promises more than it sends"}


@contextlib.asynccontextmanager
async def lying_cloud(name):
    """A port where what ``LIES`` says befalls each connection; yields its URL."""
    lie = LIES[name]

    async def serve(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(lie)
            await writer.drain()
            if name in HANGS:
                await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if lie is None:
        server.close()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()


class Beats:
    """The loop's own time: it counts each turn of ``BEAT_S``, and none while other processes have the machine."""

    def __init__(self):
        self.count = 0

    @property
    def seconds(self):
        return self.count * BEAT_S

    async def run(self):
        while True:
            await asyncio.sleep(BEAT_S)
            self.count += 1


@contextlib.asynccontextmanager
async def beating():
    beats = Beats()
    task = asyncio.create_task(beats.run())
    yield beats
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def asked(edge, beats):
    """The answer, and how long it took by the loop's time."""
    started = beats.seconds
    answer = await edge.ask(QUESTION, mode="cloud")
    return answer, beats.seconds - started


async def idle(link):
    await asyncio.Event().wait()


def questions_sent(edge):
    return [entry.kind for entry in edge.node.ledger.entries(limit=1000)].count("question")


@pytest.mark.parametrize("name", LIES)
async def test_every_question_is_answered_with_the_reason_and_at_once_when_the_breaker_is_open(tmp_path, name, monkeypatch):
    monkeypatch.setattr("edge_node.cloud.link.CloudConnection.run", idle)  # its greetings would open the breaker sooner
    async with (
        beating() as beats,
        lying_cloud(name) as url,
        httpx2.AsyncClient(headers=CALLER, base_url=url, trust_env=False) as http,
        running_edge(tmp_path, id="ward", generator=scripted(REFUSAL), cloud=http, cloud_patience_s=PATIENCE_S, breaker_failures=3) as edge,
    ):
        await edge.add("report.md", WARD)
        waits = [await asked(edge, beats) for _ in range(3)]
        assert edge.node.answerer._cloud._breaker.left_s() > 0
        sent = questions_sent(edge)
        quick = [await asked(edge, beats) for _ in range(10)]
        assert all(
            (answer["route"], answer["degraded"], bool(answer["reason"])) == ("degraded", True, True) for answer, _ in (*waits, *quick)
        )
        assert all(seconds < PATIENCE_S + ADDED_S for _, seconds in waits)
        assert all("tried again in" in answer["reason"] for answer, _ in quick)
        assert (sent, questions_sent(edge)) == (3, 3)  # an open breaker adds nothing: the cloud is not even called


async def test_without_a_breaker_each_question_calls_the_hung_cloud(tmp_path):
    """The null control."""
    name = "accepts and says nothing"
    async with beating() as beats, lying_cloud(name) as url, httpx2.AsyncClient(headers=CALLER, base_url=url, trust_env=False) as http:
        knobs = {"cloud_patience_s": PATIENCE_S, "breaker_failures": 1000}
        async with running_edge(tmp_path, id="ward", generator=scripted(REFUSAL), cloud=http, **knobs) as edge:
            await edge.add("report.md", WARD)
            assert [questions_sent(edge) for _ in range(5) if await asked(edge, beats)] == [1, 2, 3, 4, 5]


SLOW_S = 1.2  # longer than an edge's patience


class Slow:
    """Embeds at its leisure, and remembers what."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        threading.Event().wait(SLOW_S)
        try:
            HashEmbedder().embed(texts).send(None)
        except StopIteration as ended:
            return ended.value


async def test_a_cloud_whose_embedder_takes_longer_than_the_patience_is_waited_for(tmp_path):
    """The null control is a cloud that falls silent, above."""
    slow = Slow()
    async with (
        cloud_on_a_socket(tmp_path / "cloud", embedder=LocalEmbedder("slow", lambda: slow)) as (_, url),
        httpx2.AsyncClient(headers=CALLER, base_url=url, trust_env=False) as http,
        running_edge(tmp_path / "ward", id="ward", generator=scripted(REFUSAL), cloud=http) as edge,
    ):
        await edge.add("report.md", WARD)
        await until(lambda: edge.node.link.in_sync)
        answer = await edge.ask(QUESTION, mode="cloud")
        assert (answer["degraded"], answer["route"]) == (False, "cloud")
        assert QUESTION in slow.texts


async def test_an_edge_that_starts_while_the_cloud_is_down_works_and_what_it_has_to_tell_stays_bounded(tmp_path):
    async with httpx2.AsyncClient(headers=CALLER, base_url="http://127.0.0.1:1", trust_env=False) as http:
        for life in range(2):
            async with running_edge(tmp_path, id="ward", strategy="dgrag", generator=scripted(REFUSAL), cloud=http) as edge:
                for i in range(5):
                    await edge.add("report.md", f"{WARD} This is version {life}{i}, and it names Pump{life}{i} of the Juniper Ward.")
                await until(lambda edge=edge: edge.node.link.state.error != "not connected yet")
                assert (await edge.ask("Which lot?", mode="cloud"))["degraded"]
                rows = edge.node.documents.database.row("SELECT count(*) AS n FROM summaries")["n"]
                assert rows <= 20  # one for each part that is or was, not one for each change
