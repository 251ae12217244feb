"""Beside one key that asks for all it can get, another one is answered: at every entrance of both services."""

import asyncio
from itertools import count

import pytest

from cloud_server.api import access as cloud_access
from edge_node.api import access as edge_access
from shared.http.access import Caller
from shared.models.fake import HashEmbedder
from tests.support.both_services import SERVICES, as_json
from tests.support.running_edge import scripted

GREEDY, QUESTIONS = 40, 20  # at once by one key, more than run and wait; one after the other by another
LEAST = 0.95
NUMBER = count()


class SlowEmbedder(HashEmbedder):
    """Lets others come between, many times."""

    async def embed(self, texts):
        for _ in range(30):
            await asyncio.sleep(0)
        return await super().embed(texts)


def slow_model():
    model = scripted()
    generate = model.generate

    async def slowly(prompt, *, deadline_s):
        for _ in range(30):
            await asyncio.sleep(0)
        return await generate(prompt, deadline_s=deadline_s)

    model.generate = slowly
    return model


def question():
    """Another one each time: what memory answers needs no turn."""
    return f"Who reported failure number {next(NUMBER)} of the infusion pumps?"


def chat(model="dgrag-local"):
    return {"model": model, "messages": [{"role": "user", "content": question()}], "stream": False}


EDGE = {
    "/v1/query": lambda: {"question": question(), "mode": "local"},
    "/v1/query of everything": lambda: {"question": question(), "mode": "global", "allow_escalation": "no"},
    "/v1/retrieve": lambda: {"question": question()},
    "/v1/retrieve of all sites": lambda: {"question": question(), "mode": "cloud"},
    "/v1/chat/completions": chat,
    "/v1/embeddings": lambda: {"input": [question()] * 3, "model": "dgrag-embedding"},
    "/api/chat": chat,
    "/api/generate": lambda: {"model": "dgrag-local", "prompt": question(), "stream": False},
    "/retrieval": lambda: {
        "knowledge_id": "ward",
        "query": question(),
        "retrieval_setting": {"top_k": 3, "score_threshold": 0.0},
    },
    "/mcp": lambda: {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "retrieve", "arguments": {"question": question()}},
    },
}
CLOUD = {
    "/v1/questions": lambda: {"question": question(), "purpose": "treatment", "query_id": "q"},
    "/v1/questions of everything": lambda: {"question": question(), "purpose": "treatment", "query_id": "q", "mode": "global"},
    "/v1/evidence": lambda: {"question": question(), "purpose": "treatment", "query_id": "q", "budget_tokens": 50, "top_k": 3},
    "/v1/match": lambda: {"question": question(), "m": 3},
}
ENTRANCES = [("edge", entrance) for entrance in EDGE] + [("cloud", entrance) for entrance in CLOUD]


CHEAP = {"/v1/queries/{query_id}/feedback", "/api/show"}  # they neither search nor ask a model


def test_all_routes_with_which_a_reader_has_work_done_are_tried():
    of_readers = {
        (name, path)
        for name, rules in (("edge", edge_access.RULES), ("cloud", cloud_access.RULES))
        for (method, path), rule in rules.items()
        if method == "POST" and "read" in rule.roles and path not in CHEAP
    }
    assert of_readers == {(name, entrance.partition(" ")[0]) for name, entrance in ENTRANCES}


def is_served(got):
    """Whether it had its turn; 409: this site has no reports, as is said after that. An agent's tool says all in a 200."""
    return got.status in (200, 409) and b"asked here at once" not in got.body


async def share_served(folder, name, entrance):
    """Which share of the questions of one key is answered beside a greedy one, and how often that was refused."""
    settings = {"model": slow_model(), "embedder": SlowEmbedder(), "questions_at_once": 4, "questions_waiting": 16, "searches_at_once": 4}
    if name == "edge":
        settings |= {"searches_elsewhere_at_once": 4, "searches_waiting": 16}
    path, make = entrance.partition(" ")[0], {**EDGE, **CLOUD}[entrance]
    async with SERVICES[name](folder, **settings) as service:
        ring = service.app.state.guard._keys
        keys = {one: ring.add(one, role, now=0.0) for one, role in (("ops", "admin"), ("greedy", "read"), ("anna", "read"))}
        refused, stop = 0, asyncio.Event()

        async def ask(key):
            shown = {"authorization": f"Bearer {keys[key]}", "accept": "application/json, text/event-stream"}
            return await service.call("POST", path, content=as_json(make()), headers=shown.items())

        async def greedily():
            nonlocal refused
            while not stop.is_set():
                got = await ask("greedy")  # outside the sum: it would lose what others count meanwhile
                refused += not is_served(got)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(greedily()) for _ in range(GREEDY)]
        for _ in range(50):
            await asyncio.sleep(0)
        answers = [await ask("anna") for _ in range(QUESTIONS)]
        stop.set()
        await asyncio.gather(*tasks)
    return sum(map(is_served, answers)) / QUESTIONS, refused


@pytest.mark.parametrize(("name", "entrance"), ENTRANCES)
async def test_beside_a_greedy_key_another_one_is_answered(tmp_path, name, entrance):
    served, _ = await share_served(tmp_path, name, entrance)
    assert served >= LEAST


@pytest.mark.parametrize(("name", "entrance"), ENTRANCES)
async def test_null_control_without_askers_another_key_is_refused(tmp_path, monkeypatch, name, entrance):
    monkeypatch.setattr(Caller, "asker", "everybody")
    served, refused = await share_served(tmp_path, name, entrance)
    assert served < LEAST
    assert refused > 0
