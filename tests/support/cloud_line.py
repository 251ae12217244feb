"""A client of the cloud with a real ledger, whose transport is given by the test."""

import contextlib
import json
from dataclasses import asdict

import httpx2

from edge_node.cloud.client import CloudClient
from edge_node.database.schema import Database
from edge_node.egress.ledger import Ledger
from shared.http.open_mode import CALLER
from shared.limits import Breaker
from shared.ports import SystemClock
from shared.wire import NDJSON

CLOUD = "http://127.0.0.1:9"


class Line:
    """A client, its ledger and its breaker."""

    def __init__(self, folder, transport, *, patience_s=0.9, failures=3, open_s=30.0, clock=None, retries=None):
        self.database = Database(folder / "edge.db")
        self.ledger = Ledger(self.database, SystemClock())
        self.breaker = Breaker(failures, open_s, clock or SystemClock())
        http = httpx2.AsyncClient(headers=CALLER, transport=transport, base_url=CLOUD)
        self.client = CloudClient(http, "ward", self.ledger, self.breaker, patience_s=patience_s, retries=retries)

    def kinds(self):
        return [entry.kind for entry in self.ledger.entries()]


@contextlib.contextmanager
def line(folder, handler, **knobs):
    """``handler``: a transport, or what answers a request."""
    transport = handler if isinstance(handler, httpx2.AsyncBaseTransport) else httpx2.MockTransport(handler)
    made = Line(folder, transport, **knobs)
    try:
        yield made
    finally:
        made.database.close()


def told(answer, *, beats=1):
    """The response to a question: signs of life, then the answer."""
    lines = [{"alive": True}] * beats + [{"answer": asdict(answer)}]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return httpx2.Response(200, content=content, headers={"content-type": NDJSON})
