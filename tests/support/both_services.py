"""An edge and a cloud in this process, and a valid request for every route of theirs: what hostile tests start from."""

import contextlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

import httpx2
from http_message_signatures import HTTPMessageSignaturesException

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app as create_cloud_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from shared.http.open_mode import CALLER
from shared.identity import make_identity
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.signing import ANY_CLOUD, Signature
from tests.support.raw_asgi import send_request
from tests.support.running_edge import running_edge
from tests.support.signed import join

URL = "http://127.0.0.1"
MANY = 1_000_000  # requests a minute: the door's patience is tested elsewhere

KEY = {"name": "anna", "role": "read", "days": 1.5}  # the first key must be an admin's, so the services stay in open mode
EDGE_BODIES = {
    ("POST", "/v1/keys"): KEY,
    ("PUT", "/v1/policy"): {"text": "version = 1", "base": "0" * 64},
    ("POST", "/v1/calibration"): {"questions": 16, "apply": False},
    ("POST", "/v1/policy/check"): {"text": "version = 1"},
    ("POST", "/v1/documents"): {"name": "a.md", "text": "Juniper Ward.", "title": "A", "labels": ["public"]},
    ("PUT", "/v1/documents/{document_id}/labels"): {"labels": ["public"]},
    ("PUT", "/v1/documents/{document_id}/name"): {"name": "a.txt"},
    ("POST", "/v1/reread"): {"format": "md"},
    ("POST", "/v1/estimate"): {"documents": [{"name": "a.md", "text": "Juniper Ward.", "title": "", "labels": []}]},
    ("POST", "/v1/query"): {"question": "Which ward?", "mode": "local", "stream": False, "n": 1, "allow_escalation": "no", "filters": {}},
    ("POST", "/v1/retrieve"): {"question": "Which ward?", "budget_tokens": 50, "top_k": 3, "mode": "local", "purpose": "treatment"},
    ("POST", "/v1/chat/completions"): {
        "model": "dgrag-local",
        "messages": [{"role": "user", "content": "Which ward?"}],
        "stream": False,
        "temperature": 0.5,
        "max_tokens": 9,
        "n": 1,
    },
    ("POST", "/v1/embeddings"): {"input": ["Which ward?"], "model": "dgrag-embedding", "encoding_format": "float"},
    ("POST", "/api/chat"): {"model": "dgrag-local", "messages": [{"role": "user", "content": "Which ward?"}], "stream": False},
    ("POST", "/api/generate"): {"model": "dgrag-local", "prompt": "Which ward?", "stream": False},
    ("POST", "/api/show"): {"model": "dgrag-local"},
    ("POST", "/retrieval"): {"knowledge_id": "ward", "query": "Which ward?", "retrieval_setting": {"top_k": 3, "score_threshold": 0.0}},
    ("POST", "/mcp"): {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}},
    ("POST", "/v1/queries/{query_id}/feedback"): {"verdict": "right"},
    ("POST", "/v1/import"): {},
    ("POST", "/v1/policy/try"): {"question": "Which ward?", "requester": "bank", "purpose": "treatment"},
}
HEAD = {"epoch": "e1", "seq": 1, "hash": "0" * 64}
PASSAGE = {"document_id": "d", "document": "a.md", "chunk_id": "c", "span": [0, 3], "text": "abc", "score": 0.5, "quotable": True}
STEP = {"step": "retrieve", "ms": 1.0, "calls": 0, "tokens_in": 0, "tokens_out": 0, "bytes_out": 0, "bytes_in": 0}
SUMMARY = {"summary_id": "s", "text": "pumps", "entities": 1, "relations": 1}
MEMORY = {"memory_id": "m", "question": "Which pump?", "answer": "P-204", "direct": True}
JOIN = ("POST", "/v1/edges")
CLOUD_BODIES = {
    ("POST", "/v1/keys"): KEY,
    JOIN: {"edge": "ward", "public_key": "A" * 43 + "=", "invitation": "", "wire_version": 3},
    ("POST", "/v1/edges/{edge}/keys"): {"public_key": "A" * 43 + "=", "proof": "AAAA"},
    ("PUT", "/v1/edges/{edge}/ledger"): HEAD,
    ("PUT", "/v1/edges/{edge}/summaries"): {"epoch": "e1", "base_version": 0, "version": 1, "upserts": [SUMMARY], "removals": ["r"]},
    ("PUT", "/v1/edges/{edge}/memories"): {"epoch": "e1", "base_version": 0, "version": 1, "upserts": [MEMORY], "removals": ["r"]},
    ("POST", "/v1/edges/{edge}/replies/{request_id}"): {"evidence": [PASSAGE], "refused": "", "trace": [STEP]},
    ("POST", "/v1/edges/{edge}/quarantine"): {"reason": "odd"},
    ("POST", "/v1/questions"): {"question": "Which ward?", "purpose": "treatment", "query_id": "q", "m": 3},
    ("POST", "/v1/evidence"): {"question": "Which ward?", "purpose": "treatment", "query_id": "q", "budget_tokens": 50, "top_k": 3},
    ("POST", "/v1/match"): {"question": "Which ward?", "m": 3, "min_score": 0.3},
    ("POST", "/v1/invites"): {"edge": "plant", "ttl_s": 60.0, "replace": False},
}
VALUES = {  # of path parameters
    "edge": "ward",
    "request_id": "r1",
    "document_id": "d1",
    "job_id": "j1",
    "receipt_id": "x1",
    "community_id": "c1",
    "query_id": "q1",
    "memory_id": "m1",
    "number": "1",
    "page": "1",
    "key": "k1",
    "key_id": "k1",
}
QUERIES = {"/v1/edges/{edge}/poll": "wait_s=0"}


@dataclass
class Service:
    """One app, its bodies by route, and who signs where only an edge may call."""

    name: str
    app: Any
    bodies: dict
    auth: httpx2.Auth | None = None
    joining: httpx2.Auth | None = None
    routes: list[tuple[str, str]] = field(default_factory=list)

    def request(self, method, path, *, content=None, query="", headers=()):
        """A request, signed where this service knows an edge."""
        target = f"{URL}{path}" + (f"?{query}" if query else "")
        kind = {"content-type": "application/json"} if content is not None else {}
        request = httpx2.Request(method, target, content=content, headers={**CALLER, **kind, **dict(headers)})
        auth = self.joining if path == "/v1/edges" else self.auth
        if auth is None or not signs(method, path):
            return request
        try:
            return next(auth.auth_flow(request))
        except HTTPMessageSignaturesException:  # nobody can sign that: it comes with the signature of something else
            signed = next(auth.auth_flow(httpx2.Request(method, f"{URL}/v1/edges/ward", content=content, headers=kind)))
            return httpx2.Request(method, target, content=content, headers=signed.headers)

    async def call(self, method, path, *, content=None, query="", headers=()):
        return await send_request(self.app, self.request(method, path, content=content, query=query, headers=headers))


def signs(method, path):
    """Whether an edge is to call this, and not an operator on the same machine."""
    own = re.match(r"/v1/edges/[^/]*($|/(keys|ledger|summaries|memories|poll|replies))", path)
    return bool(own and method != "DELETE") or (method, path) == JOIN


def filled(path):
    """The path with a value for each parameter."""
    return re.sub(r"\{(\w+)\}", lambda match: VALUES[match[1]], path)


def routes_of(app):
    """(method, path template) of every operation that the app describes; what removes comes last."""
    described = [(method.upper(), path) for path, item in app.openapi()["paths"].items() for method in item]
    return sorted(described, key=lambda route: route[0] == "DELETE")


@contextlib.asynccontextmanager
async def edge_service(folder, *, model=None, embedder=None, **settings):
    """An edge ``ward`` with one document, in open mode."""
    models = {"generator": model, "embedder": embedder}
    async with running_edge(folder, requests_per_minute=MANY, **models, **settings) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
        app = edge.http._transport.app
        yield Service("edge", app, EDGE_BODIES, routes=routes_of(app))


@contextlib.asynccontextmanager
async def cloud_service(folder, *, model=None, embedder=None, **settings):
    """A cloud in open mode that knows an edge ``ward`` by its key."""
    generator = model or ScriptedGenerator(lambda prompt: ["Juniper Ward reported it [1]."] * prompt.n)
    models = Models(embedder or HashEmbedder(), generator, WordTokenizer())
    cloud = build_cloud(CloudSettings(state_dir=folder, deadline_s=1, requests_per_minute=MANY, verify=False, **settings), models)
    app = create_cloud_app(cloud)
    identity = make_identity()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url=URL) as http,
    ):
        assert (await join(http, "ward", identity)).status_code == 201
        bodies = CLOUD_BODIES | {JOIN: {**CLOUD_BODIES[JOIN], "public_key": identity.public_key}}
        signature = Signature(identity, cloud.credentials.identity.key_id)
        yield Service("cloud", app, bodies, signature, Signature(identity, ANY_CLOUD), routes_of(app))


SERVICES = {"edge": edge_service, "cloud": cloud_service}


def as_json(value):
    """JSON text of any value, lone surrogates too."""
    return json.dumps(value).encode()
