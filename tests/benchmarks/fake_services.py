"""A cluster without processes: one HTTP server stands for the cloud and every edge, and knows who was asked what."""

import itertools
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.cluster import Cluster

STEP = {"step": "samples", "ms": 1.0, "calls": 1, "tokens_in": 100, "tokens_out": 10, "bytes_out": 0, "bytes_in": 0}
ANSWER = {"answered": True, "route": "local", "trace": [STEP], "edges": []}
CITATION = {"n": 1, "edge": "harbour", "document_id": "d1", "document": "dock.md", "chunk_id": "d1:0", "span": [0, 9], "report": "r1"}
REPORT = {"findings": [{"text": "The dock is closed.", "sources": [{"chunk_id": "5:0", "outside_id": "d1:0"}]}]}
COMMUNITIES = {"0": ["c1"], "1": ["c1", "c2"], "2": ["c2"]}  # by level
SITE = {"edge": "harbour", "status": "answered", "ms": 1.0, "bytes": 10, "reports": 2, "reports_there": 5}


class Services:
    """What was started and asked, and how it is answered. Matches come in the order ``harbour, orchard``."""

    def __init__(self):
        self.starts = []  # (state, environment)
        self.asked = []  # (path, body)
        self.opens = []  # paths
        self.added = []  # (edge, documents)
        self.copies = []
        self.running = False
        self.url = ""
        self.gate = {"decision": "local"}
        self.away = False  # the cloud
        self.failing = 0  # so many of the next questions get a 503
        self.stale = []  # of the next looks at an edge's status; then nothing is
        self.settings = {}  # of what runs
        self.answers = itertools.repeat("In January.")
        self.together = None  # a barrier: so many questions must be here before one is answered

    def said(self, path, body):
        self.asked.append((path, body))
        if path.endswith("/v1/match"):
            return {"matches": [{"edge": edge, "summary_id": edge, "score": 0.5} for edge in ("harbour", "orchard")][: body["m"]]}
        if path.endswith(("/v1/retrieve", "/v1/evidence")):
            item = {"document": "d1", "text": "The dock is closed in January.", "score": 0.9}
            reports = (
                [{"edge": "orchard", "status": "answered"}, {"edge": "mill", "status": "skipped"}]
                if body.get("mode") == "cloud" or path.endswith("/v1/evidence")
                else []
            )
            return {"evidence": [item, item], "facts": [], "edges": reports, "degraded": self.away, "reason": "away" if self.away else ""}
        if path == "/model/chat/completions":
            choice = {"index": 0, "message": {"role": "assistant", "content": next(self.answers)}, "finish_reason": "stop"}
            return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 3}}
        if body.get("mode") == "global":
            sites = [] if body.get("allow_escalation") == "no" else [SITE]
            told = f"The dock is closed in winter [1]. {next(self.answers)}"
            return ANSWER | {
                "answer": told,
                "route": "global",
                "citations": [CITATION],
                "edges": sites,
                "coverage": "harbour (2 of 5 reports)",
            }
        if self.together:
            self.together.wait(timeout=30)
        return ANSWER | {"answer": next(self.answers), "gate": self.gate}

    def opened(self, path):
        """What ``GET`` gives: one document, and one report that rests on it."""
        self.opens.append(path)
        if "/v1/communities" in path:
            ids = COMMUNITIES[path.partition("level=")[2][0]]
            return {"communities": [{"community_id": one} for one in ids], "next": None}
        if "/v1/reports/c" in path:
            by_model = self.settings.get("DGRAG_EDGE_REPORTS") == "model" and not path.endswith("/c2")  # a text of no use
            findings = [{"text": text} for text in ("The dock is closed.", "It freezes in winter.")[: 1 + by_model]]
            return {"title": "Dock", "by_model": by_model, "findings": findings}
        return {"/harbour/v1/documents/d1": {}, "/harbour/v1/reports/r1": REPORT}.get(path)

    def fleet(self, work, generator, http, environment, *_):
        return FakeFleet(self, work, environment)


class FakeFleet:
    """Implements what the runner uses of Fleet."""

    def __init__(self, services, work, environment):
        self._services = services
        self._work = work
        self._environment = environment

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self._services.running = False

    def state(self, name):
        return self._work / "clusters" / name

    async def up(self, name, edges, environment):
        self._services.starts.append((name, dict(environment)))
        self._services.settings = {**self._environment, **environment}
        self._services.running = True
        for edge in edges:
            (self.state(name) / "edges" / edge).mkdir(parents=True, exist_ok=True)
        (self.state(name) / "cloud").mkdir(parents=True, exist_ok=True)
        (self.state(name) / "cloud" / "cloud.db").write_bytes(b"x" * 10)
        return Cluster(f"{self._services.url}/cloud", {edge: f"{self._services.url}/{edge}" for edge in edges})

    async def down(self):
        self._services.running = False

    async def add(self, edge, file):
        self._services.added.append((edge, file.read_text().count("\n")))
        running, _ = self._services.starts[-1]
        (self.state(running) / "edges" / edge / "edge.db").write_bytes(b"x" * 100)

    async def status(self, url):
        counts = dict.fromkeys(("chunks", "tokens", "entities", "relations", "subgraphs", "summaries"), 1)
        by_model = self._services.settings.get("DGRAG_EDGE_REPORTS") == "model"
        counts |= {"model_calls": 3 * by_model, "tokens_in": 1 + 90 * by_model, "tokens_out": 1 + 30 * by_model}
        waiting = self._services.stale.pop(0) if self._services.stale else 0
        memory = {"template": 4, "waiting": waiting, "fast": "on", "looked": 0}
        return {"documents": {"indexed": 2}, "busy_s": 1.5, "stale": waiting, "settled": True, "memory": memory, **counts}

    def copy(self, source, name):
        self._services.copies.append((source, name))
        self.state(name).mkdir(parents=True)

    async def model(self):
        return f"{self._services.url}/model"

    model_key = ""

    async def model_name(self):
        return "fake"


@contextmanager
def running_services():
    """Services behind a real port."""
    services = Services()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = services.said(self.path, body)
            services.failing -= (fails := services.failing > 0)
            self._send(503 if fails else 200, said)

        def do_GET(self):
            said = services.opened(self.path)
            self._send(404 if said is None else 200, said or {})

        def _send(self, status, said):
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        services.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield services
        finally:
            server.shutdown()
            thread.join()
