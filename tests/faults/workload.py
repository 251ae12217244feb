"""The life of an edge that the fault tests end, with a model that writes for it. Beside ``on_disk``, it alone knows the product."""

import asyncio
import contextlib
import hashlib
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import httpx2

from edge_node.database.backup import back_up
from edge_node.documents import progress
from edge_node.extraction import nlp
from edge_node.extraction.language_packs import LanguagePacks
from shared.errors import DgragError
from shared.http.problems import status_of
from shared.wire import WIRE_VERSION
from tests.faults.on_disk import WHOLE, opened, shares
from tests.faults.steps import BACKUP, STEPS
from tests.support.hash_model import hash_model
from tests.support.memory import misjudged_parts, unlike_the_store
from tests.support.running_edge import running_edge
from tests.support.settling import ALL_CHANNELS
from tests.support.waiting import until

BY_MODEL = {  # two or three passages a document, half of them read by the model; several parts, no summary of which may be old
    "chunk_tokens": 16,
    "chunk_overlap": 0,
    "extraction_share": 0.5,
    "subgraph_entities": 8,
    "summaries": "model",
    "summary_staleness": 0.0,
    "descriptions": "model",
    "description_chars": 100,
}


@cache
def preload():
    """Live once in the parent: loads, for all children, spaCy and all modules, and learns what each document leaves behind.

    spaCy parses in the children themselves: they must not share a process that their parent has started.
    """
    nlp.parser_of = cache(lambda model, _: LanguagePacks(model))
    with tempfile.TemporaryDirectory() as name:

        def remember(line):
            with opened(Path(name) / "edge.db") as connection:
                WHOLE.update({one: share for one, share in shares(connection).items() if any(share.values())})

        live(Path(name), remember)
    progress.FIRST_WAIT_S = 0.02  # waits after a fault, so that thousands of faults take minutes


def live(folder, say, *, first=0, do=None):
    """Open the edge in ``folder``, wait until it is at rest, ``do`` the steps from ``first`` on (``persist``), and close it."""

    async def life():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))  # strace counts the calls of each thread apart
        async with edge_of(folder, generator=hash_model(say), **BY_MODEL) as edge:
            say("open")
            await rested(edge)
            say("rest")
            for number, step in enumerate(STEPS[first:], first):
                await (do or persist)(edge, step, number, say)
            for words in (*unlike_the_store(edge.node.strategy), *misjudged_parts(edge.node.strategy)):
                say(f"astray {words}")
            graph = edge.node.strategy.neighbourhood("", hops=0, limit=1_000_000)
            say(f"view {hashlib.sha256(json.dumps(graph, sort_keys=True).encode()).hexdigest()[:16]}")

    asyncio.run(life())


REACHED = {"min_free_bytes": 0, "retrieval": ALL_CHANNELS}  # faults are to reach the store, and every kind of vector in it


@contextlib.asynccontextmanager
async def edge_of(folder, **settings):
    """The workload's edge, with a cloud that takes every summary."""
    cloud = Cloud()
    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(cloud.answer), base_url="http://cloud") as line,
        running_edge(folder, strategy="dgrag", cloud=line, **{**REACHED, **settings}) as edge,
    ):
        yield edge


async def rested(edge):
    """Wait until all that was accepted is indexed, and the model has written all that it should."""
    await until(lambda: (now := edge.node.status())["settled"] and not now["stale"] and not now["progress"]["step"])


async def persist(edge, step, number, say):
    """Do a step; refused, wait and try again, as a client would."""
    while True:
        response = await ACTIONS[step.do](edge, step)
        if response is None or response.status_code < 300 or (step.do == "remove" and response.status_code == 404):
            say(f"ack {number}")
            return
        say(f"refused {number} {response.status_code} {response.json()['code']}")
        await asyncio.sleep(0.02)


async def reading(edge, step, number, say):
    """Do a step while another client reads all the time; a read that fails is told: ``unread 500``."""
    reader = asyncio.create_task(_read(edge, say))
    await persist(edge, step, number, say)
    reader.cancel()
    await asyncio.wait([reader])


async def _read(edge, say):
    while True:
        for path in ("/v1/documents", "/v1/status"):
            response = await edge.http.get(path)
            if response.status_code != 200:
                say(f"unread {path} {response.status_code}")
        await edge.node.strategy.retrieve("Who makes the battery pack?", budget_tokens=200, top_k=5)
        await asyncio.sleep(0.01)


async def accept(edge, step):
    return await edge.http.post("/v1/documents", json={"name": step.name, "text": step.text})


async def remove(edge, step):
    return await edge.http.delete(f"/v1/documents/{step.identity}")


async def settled(edge, step):
    await rested(edge)


async def backup(edge, step):
    folder = edge.node.settings.state_dir
    try:
        await asyncio.to_thread(back_up, folder, folder / BACKUP)
    except DgragError as error:
        return httpx2.Response(status_of(error), json={"code": error.code})


ACTIONS = {"accept": accept, "remove": remove, "settled": settled, "backup": backup}


class Cloud:
    """Knows what the protocol needs: the newest version of one edge's summaries."""

    def __init__(self):
        self.known = {"edge": "ward", "epoch": "", "version": 0, "wire_version": WIRE_VERSION}

    async def answer(self, request):
        if request.url.path.endswith("/poll"):
            await asyncio.sleep(3600)
        if request.url.path.endswith("/ledger"):  # it keeps no heads
            return httpx2.Response(404, json={})
        if request.url.path.endswith("/summaries"):
            delta = json.loads(request.content)
            self.known |= {"epoch": delta["epoch"], "version": delta["version"]}
        return httpx2.Response(200, json=self.known)
