"""Rights inside a site: who lacks a document's label finds nothing of it, by any route; who has it does."""

import contextlib
import json
import re
from dataclasses import dataclass
from functools import partial

import pytest

from edge_node.answering.answerer import Ask
from edge_node.answering.overview import GlobalAsk
from edge_node.api import access
from edge_node.api.console import access as pages
from edge_node.reading import Reader
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator
from shared.telemetry.trace import Trace
from tests.support.both_services import EDGE_BODIES, VALUES, routes_of
from tests.support.federation import PLANT, REFUSAL, federation
from tests.support.issuer import AUDIENCE, running_issuer
from tests.support.raw_asgi import send
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until

SECRET = "Zanzibar Quillfeather"  # stands in the document with a label, and nowhere else
TOGETHER = "The Juniper Ward works with the Cedar Clinic. Nurse Ann Lee leads the Juniper Ward."
HIDDEN = f"{SECRET} leads the Juniper Ward. {SECRET} was dismissed by the Cedar Clinic in 1999. {SECRET} owns Oakmoor House."
QUESTION = "Who was dismissed by the Cedar Clinic?"


def told(prompt):
    """A model that says all that it reads: every passage's words come back."""
    is_there = SECRET in prompt.messages[-1].content
    said = f"{SECRET} was dismissed by the Cedar Clinic" if is_there else "Nurse Ann Lee leads the Juniper Ward"
    return [f"{said} [1, 2]."] * prompt.n


@dataclass
class Site:
    edge: object
    issuer: object
    app: object
    ids: dict

    async def call(self, method, path, *, labels, body=None, accept="application/json", role="dgrag-read"):
        """What a route answers to a reader with these labels."""
        token = self.issuer.token("ec", dgrag_labels=labels, roles=[role])
        headers = [("host", "127.0.0.1"), ("authorization", f"Bearer {token}"), ("accept", accept), *CALLER.items()]
        if body is not None:
            headers.append(("content-type", "application/json"))
        return await send(self.app, method, path, headers=headers, body=b"" if body is None else json.dumps(body).encode())

    async def seen(self, method, path, **of):
        got = await self.call(method, path, **of)
        return got.status, got.body.decode()


@contextlib.asynccontextmanager
async def site(folder, *, with_hidden=True, **settings):
    """An edge with a document for all and one with the label hr; its graph and memories are made."""
    generator = ScriptedGenerator(told, scripted()._first_token)
    with running_issuer() as issuer:
        oidc = {"oidc_issuer": issuer.url, "oidc_audience": AUDIENCE, "requests_per_minute": 1_000_000}
        async with running_edge(folder, strategy="dgrag", memory="plain", generator=generator, **oidc, **settings) as edge:
            app = edge.http._transport.app
            edge.http.headers["authorization"] = f"Bearer {issuer.token(roles=['dgrag-admin'], dgrag_labels=['*'])}"
            ids = {}
            ids["open"] = (await edge.add("ward.md", TOGETHER))["document_id"]
            if with_hidden:
                ids["hidden"] = (await edge.add("dossier-quillfeather.md", HIDDEN, labels=["hr"], title=f"About {SECRET}"))["document_id"]
            await until(lambda: edge.node.strategy.write_path.memories.stale == 0)
            yield Site(edge, issuer, app, ids)


TOOLS = {
    "ask": [{"question": QUESTION, "scope": "local"}],
    "retrieve": [{"question": QUESTION, "top_k": 50}],
    "overview": [{"question": "What are the main events?", "may_leave": "no"}],
    "open_passage": [{"document_id": "hidden"}],
    "entity": [{"name": ""}, {"name": SECRET}],
    "documents": [{}],
    "sites": [{}],
    "would_leave": [{"question": QUESTION}],
}


def is_told(text):
    lowered = text.lower()
    return any(word in lowered for word in ("quillfeather", "zanzibar", "oakmoor"))


async def targets(found):
    """Every route of the edge as a request that makes it tell as much as it can: method, address, body."""
    whole = {"labels": ["*"]}
    reports = json.loads((await found.seen("GET", "/v1/communities", **whole))[1])["communities"]
    memories = json.loads((await found.seen("GET", "/v1/memories", **whole))[1])["memories"]
    job = json.loads((await found.seen("GET", f"/v1/documents/{found.ids['hidden']}", **whole))[1])["job_id"]
    outside = found.edge.node.sharing.outside_ids.of(found.ids["hidden"])
    values = {
        "{document_id}": [found.ids["hidden"], outside],
        "{community_id}": [one[key] for one in reports for key in ("community_id", "outside_id")] or ["none"],
        "{memory_id}": [one["memory_id"] for one in memories] or ["none"],
        "{job_id}": [job],
    }
    queries = {
        "/v1/graph": ["", "?entity=Juniper+Ward&hops=3", "?entity=zanzibar+quillfeather"],
        "/v1/entities": ["", "?q=quill"],
        "/v1/documents": ["", "?name=dossier-quillfeather.md", "?status=indexed&limit=1"],
        "/v1/communities": [f"?level={level}" for level in range(4)],
        "/v1/memories": ["", "?limit=1"],
    }
    routes = [*routes_of(found.app), *(route for route in pages.RULES if "session" not in route[1])]
    for method, path in routes:
        name = next((name for name in values if name in path), None)
        for one in [path] if name is None else [path.replace(name, value) for value in values[name]]:
            for query in queries.get(path, [""]):
                for body in bodies_of(method, path):
                    yield (method, path), re.sub(r"\{\w+\}", lambda match: VALUES.get(match[0][1:-1], "x"), one) + query, body


def bodies_of(method, path):
    """What is sent: questions about what is hidden, in each mode, whole and as a stream."""
    match method, path:
        case "POST", "/v1/query":
            return [{"question": QUESTION, "mode": m, "stream": s} for m in ("local", "auto", "global") for s in (False, True)]
        case "POST", "/v1/retrieve":
            return [{"question": QUESTION, "top_k": 100}]
        case "POST", "/v1/chat/completions":
            return [{"model": m, "messages": [{"role": "user", "content": QUESTION}], "stream": s}
                    for m in ("dgrag", "dgrag-global") for s in (False, True)]  # fmt: skip
        case "POST", "/api/chat":
            return [{"model": "dgrag", "messages": [{"role": "user", "content": QUESTION}], "stream": s} for s in (False, True)]
        case "POST", "/api/generate":
            return [{"model": "dgrag", "prompt": QUESTION, "stream": False}]
        case "POST", "/retrieval":
            return [{"knowledge_id": "ward", "query": QUESTION, "retrieval_setting": {"top_k": 100, "score_threshold": 0.0}}]
        case "POST", "/mcp":
            return []  # below
        case _:
            return [EDGE_BODIES.get((method, path))]


@pytest.fixture
async def found(tmp_path):
    async with site(tmp_path) as found:
        yield found


async def test_no_route_tells_who_lacks_the_label_of_the_document_and_most_tell_who_has_it(found):
    told_of, seen = set(), set()
    async for route, target, body in targets(found):
        if route[0] in ("DELETE", "PUT") or route in {("POST", "/v1/documents"), ("POST", "/console/documents")}:
            continue
        for labels in ([], ["it"], ["HR"], None):
            status, text = await found.seen(route[0], target, labels=labels, body=body)
            assert not is_told(text), (route, target, status, text[:400])
            assert status != 500, (route, target, text)
        status, text = await found.seen(route[0], target, labels=["hr"], body=body)
        seen.add(route)
        if is_told(text):
            told_of.add(route)
    by_label = {route for route, rule in access.RULES.items() if rule.by_label}
    silent = {("GET", "/v1/caller"), ("GET", "/v1/models"), ("POST", "/v1/embeddings"), ("GET", "/api/version"), ("GET", "/api/tags"),
              ("POST", "/api/show"), ("POST", "/mcp"), ("POST", "/v1/queries/{query_id}/feedback")}  # fmt: skip
    assert by_label - silent == told_of  # null control: each of them has something to hide
    assert seen >= by_label - {("POST", "/mcp")}


def messages(found):
    """MCP's messages that make an edge tell: each tool, the list of documents, and a document."""
    uri = f"dgrag://ward/documents/{found.ids['hidden']}"
    named = {"hidden": found.ids["hidden"]}
    calls = [
        ("tools/call", {"name": tool, "arguments": {key: named.get(value, value) for key, value in one.items()}})
        for tool, several in TOOLS.items()
        for one in several
    ]
    return [*calls, ("resources/list", {}), ("resources/read", {"uri": uri})]


async def test_no_tool_and_no_resource_tells_an_agent_that_lacks_the_label(found):
    silent = []
    for method, params in messages(found):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accept = "application/json, text/event-stream"
        for labels in ([], None):
            status, text = await found.seen("POST", "/mcp", labels=labels, body=body, accept=accept)
            named = text.replace(SECRET, "") if params.get("name") == "entity" else text  # what was asked for may come back
            assert (status, is_told(named)) == (200, False), (method, params, text)
        if not is_told((await found.seen("POST", "/mcp", labels=["hr"], body=body, accept=accept))[1]):
            silent.append(params.get("name", method))
    assert silent == ["sites", "would_leave"]  # null control: the rest has something to hide


async def test_labels_are_held_as_a_whole_and_a_change_of_them_counts_at_once(found):
    text = f"/v1/documents/{found.ids['hidden']}/text"
    assert (await found.call("GET", text, labels=["hr"])).status == 200
    await found.edge.add("dossier-quillfeather.md", HIDDEN, labels=["hr", "board"], title=f"About {SECRET}")
    assert (await found.call("GET", text, labels=["hr"])).status == 404
    assert (await found.call("GET", text, labels=["hr", "board", "it"])).status == 200
    unknown = await found.call("GET", "/v1/documents/unknown/text", labels=["hr"])
    hidden = await found.call("GET", text, labels=["hr"])
    assert json.loads(hidden.body)["detail"].replace(found.ids["hidden"], "unknown") == json.loads(unknown.body)["detail"]
    await found.edge.add("dossier-quillfeather.md", HIDDEN, labels=[], title=f"About {SECRET}")
    assert (await found.call("GET", text, labels=[])).status == 200


async def test_a_route_that_looks_at_no_labels_is_shut_to_readers_with_labels_whatever_their_role(found):
    shut = [route for route, rule in access.RULES.items() if not rule.by_label and "anyone" not in rule.roles]
    refused = [await found.call(method, path.replace("{", "").replace("}", ""), labels=["hr"], role="dgrag-admin") for method, path in shut]
    assert {got.status for got in refused} == {403}
    assert (await found.call("GET", "/v1/status", labels=["*"])).status == 200


def test_a_route_that_looks_at_labels_gets_the_edge_through_a_readers_eyes_only(found):
    whole = {"/v1/caller", "/v1/embeddings", "/v1/queries/{query_id}/feedback"}  # these tell of no document
    for included in found.app.routes:
        for route in getattr(getattr(included, "original_router", None), "routes", [included]):
            rules = [access.RULES.get((method, route.path)) for method in getattr(route, "methods", ())]
            if any(rule and rule.by_label for rule in rules) and route.path not in whole:
                assert access.get_node not in {one.call for one in route.dependant.dependencies}, route.path


async def test_a_learned_answer_is_for_those_who_may_read_what_it_rests_on(tmp_path):
    async with site(tmp_path, memory_fast="on", memory_threshold={"template": 0.5, "model": 0.5, "learned": 0.5}) as found:
        body = {"question": QUESTION, "mode": "local"}
        first = json.loads((await found.seen("POST", "/v1/query", labels=["hr"], body=body | {"memory": False}))[1])
        assert is_told(first["answer"])
        judged = await found.call(
            "POST", f"/v1/queries/{first['query_id']}/feedback", labels=["*"], role="dgrag-admin", body={"verdict": "right"}
        )
        assert json.loads(judged.body)["outcome"] == "learned"
        again = json.loads((await found.seen("POST", "/v1/query", labels=["hr"], body=body))[1])
        assert (again["route"], is_told(again["answer"])) == ("memory", True)
        assert not is_told((await found.seen("POST", "/v1/query", labels=["it"], body=body))[1])


@pytest.mark.parametrize("mode", ["global", "cloud"])
async def test_a_question_that_goes_through_the_cloud_brings_nothing_home_that_its_asker_may_not_read(tmp_path, monkeypatch, mode):
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\nquestions = "yes"\nunlabelled = "full"\nminimum_support = 1\n[labels]\nhr = "full"\n')
    sites = {"ward": (TOGETHER, REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=sites, policy_file=policy) as (edges, _, _cloud):
        ward = edges["ward"]
        await ward.add("dossier.md", HIDDEN, labels=["hr"])
        await until(lambda: ward.node.link.in_sync)

        async def told_to(labels):
            reader = Reader(ward.node, labels)
            if mode == "cloud":
                return str((await reader.find(Ask(QUESTION, "cloud"))).evidence)
            return str(await reader.ask(GlobalAsk("What are the main events?"), Trace()))

        assert is_told(await told_to(frozenset({"hr"})))
        assert is_told(await told_to(None))
        assert not is_told(await told_to(frozenset()))
        monkeypatch.setattr(ward.node.sharing, "asking_for", lambda labels: contextlib.nullcontext())
        assert is_told(await told_to(frozenset()))  # null control: the cloud asks this site too, as if all its readers asked


class Meanwhile(HashEmbedder):
    """What ``happens`` comes once, between a question's vector and the search with it."""

    happens = None

    async def embed(self, texts):
        vectors = await super().embed(texts)
        if QUESTION in texts and self.happens:
            happens, self.happens = self.happens, None
            await happens()
        return vectors


async def test_a_search_in_which_a_document_comes_or_gets_a_label_is_refused_to_who_lacks_it_and_to_nobody_else(tmp_path):
    embedder, left = Meanwhile(), f"{SECRET} was dismissed by the Cedar Clinic."
    async with site(tmp_path, with_hidden=False, embedder=embedder) as found:

        async def searched(path, body, happens, *, reader):
            embedder.happens = happens
            got = await found.call("POST", path, labels=reader, body=body)
            assert embedder.happens is None, path
            return got.status, is_told(got.body.decode())

        searches = [
            ("/v1/retrieve", {"question": QUESTION, "top_k": 100}),
            ("/retrieval", {"knowledge_id": "all-sites", "query": QUESTION, "retrieval_setting": {"top_k": 100}}),
        ]
        for n, (path, body) in enumerate(searches):
            for labels, reader, status in ((["hr"], [], 409), (["hr"], ["hr"], 200), ([], ["it"], 200)):
                name = f"{n}-{labels}-{reader}.md"
                added = partial(found.edge.add, name, left, labels=labels)
                assert await searched(path, body, added, reader=reader) == (status, status == 200), (path, labels, reader)
                (document,) = found.edge.node.documents.list(limit=1, name=name)
                address = f"/v1/documents/{document['document_id']}"
                relabelled = partial(found.edge.http.put, f"{address}/labels", json={"labels": ["hr"]})
                await found.edge.http.put(f"{address}/labels", json={"labels": []})
                assert (await searched(path, body, relabelled, reader=reader))[0] == (200 if "hr" in reader else 409)
                assert (await found.edge.http.delete(address)).status_code == 200


async def test_what_is_made_while_a_document_gets_a_label_is_kept_from_who_lacks_it(found, monkeypatch):
    reports, labels = found.edge.node.strategy.reports, f"/v1/documents/{found.ids['open']}/labels"
    for name, path in (("graph", "/v1/graph.graphml"), ("communities", "/v1/communities?level=0")):
        with monkeypatch.context() as patch:
            made = getattr(reports, name)

            async def relabelled(*of, made=made, **more):
                result = await made(*of, **more)
                await found.edge.http.put(labels, json={"labels": ["it"]})
                return result

            patch.setattr(reports, name, relabelled)
            assert (await found.call("GET", path, labels=[])).status == 409
        await found.edge.http.put(labels, json={"labels": []})
        assert (await found.call("GET", path, labels=[])).status == 200  # null control


async def test_nothing_of_an_answer_is_heard_before_it_is_certain_that_its_asker_may_read_it(found, monkeypatch):
    overview, happens = found.edge.node.overview, []
    answer, labels = overview.answer, f"/v1/documents/{found.ids['open']}/labels"

    async def late(*of):
        made = await answer(*of)
        for labels_now in happens:
            await found.edge.http.put(labels, json={"labels": labels_now})
        return made

    monkeypatch.setattr(overview, "answer", late)
    body = {"question": "What are the main events?", "mode": "global", "stream": True}

    async def streamed():
        return (await found.seen("POST", "/v1/query", labels=[], body=body))[1]

    assert "Ann Lee" in await streamed()  # null control: in pieces, once it is certain
    happens.append(["hr"])
    refused = await streamed()
    assert ("Lee" in refused, "meanwhile" in refused) == (False, True)
    happens.clear()
    heard = []
    whole = await Reader(found.edge.node, None).ask(GlobalAsk(body["question"]), Trace(), heard.append)
    assert (bool(heard), whole.answered) == (True, True)  # who may read all hears the sentences as they are written
    heard.clear()
    assert (await Reader(found.edge.node, frozenset({"hr"})).ask(GlobalAsk(body["question"]), Trace(), heard.append)).answered
    assert heard == []


async def views(found, labels):
    """What a reader gets of everything that is made of documents, without ids and times of this one store."""

    async def body(method, path, sent=None):
        return json.loads((await found.seen(method, path, labels=labels, body=sent))[1])

    retrieved = await body("POST", "/v1/retrieve", {"question": QUESTION, "top_k": 100})
    listed, held = await body("GET", "/v1/documents"), await body("GET", "/v1/communities")
    graphml = (await found.seen("GET", "/v1/graph.graphml", labels=labels))[1]
    return {
        "passages": [(one["text"], one["score"]) for one in retrieved["evidence"]],
        "facts": retrieved["facts"],
        "graph": await body("GET", "/v1/graph"),
        "names": await body("GET", "/v1/entities"),
        "graphml": sorted(line for line in graphml.splitlines() if "<edge " not in line),  # which end is named first depends on order
        "documents": [[one["name"] for one in listed["documents"]], listed["counts"], listed["next"]],
        "communities": [{**one, "outside_id": ""} for one in held["communities"]],
        "memories": [(one["question"], one["answer"]) for one in (await body("GET", "/v1/memories"))["memories"]],
    }


async def test_all_is_as_if_the_hidden_document_had_never_been_there(found, tmp_path):
    async with site(tmp_path / "bare", with_hidden=False) as bare:
        expected = await views(bare, ["*"])
        assert all(expected[name] for name in expected if name != "facts")
        assert await views(found, []) == expected
        assert await views(found, ["hr"]) != expected
