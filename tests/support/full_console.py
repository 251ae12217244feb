"""Services in this process whose consoles have something to show in every place: two sites of a federation, and its cloud."""

import contextlib
import json
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from edge_node.answering.feedback import Outcome
from edge_node.api.console import ask, sharing
from edge_node.api.memories import FeedbackReply
from edge_node.change import ChangeView
from edge_node.database.backup import Backups, KeptBackup, MadeBackup
from edge_node.documents.jobs import JobQueue
from edge_node.documents.readers.pool import ReaderFault
from edge_node.egress.dry_run import HeldBack, Shown
from edge_node.egress.ledger import EgressRecord
from edge_node.folders.keeper import FolderKeeper, FolderState
from edge_node.folders.records import Problem
from edge_node.node import EdgeNode
from shared.errors import ModelUnavailable, NotFound
from shared.http.keyring import KeyRing
from shared.records import Answer, Citation, Confidence, EdgeId, EdgeReport, GateReport, MemoryReport, Similarity, TraceStep
from shared.wire import EvidenceBody, EvidenceReply
from tests.support.federation import PLANT, WARD, federation
from tests.support.sockets import on_a_socket

POLICY = """version = 1
unlabelled = "never"
questions = "ask"
labels = {public = "full", night = "evidence"}
[[exceptions]]
labels = ["night"]
edges = ["plant"]
purposes = ["treatment"]
share = "never"
[redact]
types = ["people"]
"""
NONE = "version = 1\nunlabelled = 'fall'"
PUMP = "Juniper Ward uses the Maristow Pump. The Maristow Pump has a CX-40 battery pack. Ann Lee leads Juniper Ward."
SHORTFALL = {"code": "model_error", "message": "the model did not answer", "chunk_id": "d1:7"}
SHORT = json.dumps([SHORTFALL, *({"code": "x", "message": f"{n} comments are not in the text", "chunk_id": ""} for n in range(3))])
PROBLEMS = (Problem("a.md", "it cannot be read"),)
FOLDERS = [
    FolderState("/data/reports", "night", "reports/", ran_at=1.0, files=3, left_out=2, problems=PROBLEMS, more_problems=4),
    FolderState("/data/notes", "", "notes/", error="it is gone"),
]
SAMPLES = ("They failed [1].", "The seal leaked [2].")


def full_answer(**changes):
    """An answer with all that one can have: of this site and of another, by way of memory, gate and cloud."""
    home, other = (
        Citation(number, EdgeId(edge), "d1", "report.md", "d1:0", (0, 11), quote, 0.9)
        for number, edge, quote in ((1, "ward", "Juniper Ward"), (2, "plant", "the seal leaked"))
    )
    hidden = Citation(3, EdgeId("plant"), "d2", "kept.md", "d2:0", (0, 11), "", 0.9)
    confidence, similarity = Confidence(1, 2, 0.3, 0.5, 0.4, 0.1, 0.2, 0.5), Similarity(0.5, 0.5, None, 0.5, 0.8)
    gate = GateReport("escalate", "its passages do not suffice", confidence, similarity, SAMPLES, 0)
    memory = MemoryReport("m1", "template", "Which pump?", "P-204", 0.5, 0.5, 0.5, 0.9, "too far")
    edges = (
        EdgeReport(EdgeId("plant"), "evidence", "refused", 12.0, 900, 2, "busy", 1, 2),
        EdgeReport(EdgeId("ward"), "evidence", "answered", 12.0, 900, 2),
    )
    steps = (TraceStep("retrieve", 5.0), TraceStep("gate: confidence", 9.0, 2, 90, 3), TraceStep("cloud", 30.0, 0, 0, 0, 9, 900))
    fields = {"gate": gate, "edges": edges, "memory": memory, "trace": (*steps, TraceStep("cloud: reduce", 3.0, 1, 9, 9))}
    said = {"reason": "one site is away", "coverage": "2 of 3 reports"}
    text = "They failed [1]. The seal leaked [2] [3]."
    return Answer(
        "q1",
        text,
        (home, other, hidden),
        **{"route": "cloud", "closest": (home, other), "unanswered": ("since when?",), **fields, **said, **changes},
    )


ANSWERS = (
    full_answer(),
    full_answer(route="local", degraded=True),
    full_answer(would_ask="Which seal leaked?", answered=False, closest=()),
)
REPLY = EvidenceReply(
    evidence=[EvidenceBody(document_id="d", document="a.md", chunk_id="c", span=(0, 3), text="abc", quotable=one) for one in (True, False)]
)
REFUSED = EvidenceReply(refused="the sharing policy of this site")


class Away:
    """A model's server that is not there."""

    async def reach(self, *, deadline_s):
        raise ModelUnavailable("no model server at http://127.0.0.1:1", next_step="start it")


@dataclass
class Console:
    """A service on a socket, with the key of an admin."""

    app: Any
    url: str
    key: str


def replace_ports(monkeypatch):
    """What a page asks the node for that would take long, or what seldom comes, answers at once and in full."""
    turns = iter(range(10**6))

    async def answer(*_):
        return ANSWERS[next(turns) % len(ANSWERS)]

    async def removed(*_, **__):
        return receipt()

    async def judged(*_):
        return FeedbackReply(Outcome.noted, "a second verdict makes it count")

    async def shown(*_):
        reply = (REPLY, REFUSED)[next(turns) % 2]
        tried = Shown.of("evidence", reply.model_dump_json().encode(), rule="label public")
        return replace(tried, near=1, held=(HeldBack("label night", 1, ("a.md",)),))

    monkeypatch.setattr(EdgeNode, "ask", answer)
    monkeypatch.setattr(Backups, "make", lambda _: MadeBackup("edge-1.db", 9, 0.1, 2, 5))
    monkeypatch.setattr(Backups, "list", lambda _: [KeptBackup("edge-1.db", 1.0, 9)])
    monkeypatch.setattr(EdgeNode, "remove", removed)
    monkeypatch.setattr(EdgeNode, "receipt", lambda *_: receipt())
    monkeypatch.setattr(ask, "feedback", judged)
    monkeypatch.setattr(sharing, "shown_evidence", shown)


def receipt():
    """Of a deletion that goes on."""
    return {"receipt_id": "r1", "document_id": "d1", "deleted_at": 1.0, "chunks": 2, "erased": False, "cloud": "pending", "reason": "busy"}


@contextlib.asynccontextmanager
async def full_consoles(folder, monkeypatch, *, headers=()):
    """The consoles of a site and of its cloud, and the site's node, as ``replace_ports`` has it answer. ``headers``: of responses."""
    replace_ports(monkeypatch)
    sites = {"ward": (f"{WARD} {PUMP}", "It leaked [1]."), "plant": (PLANT, "The seal leaked [1].")}
    async with federation(folder, cloud_answer="The seal leaked [1].", edge_answers=sites, model_server=Away()) as (edges, lines, cloud):
        ward = edges["ward"]
        await fill_site(ward)
        monkeypatch.setattr(JobQueue, "take_next", lambda *_, **__: None)  # what waits goes on waiting
        monkeypatch.setattr(FolderKeeper, "states", lambda _: FOLDERS)
        cloud.registry.enrol(EdgeId("lab"))
        cloud.registry.expel(EdgeId("lab"))
        cloud.registry.enrol(EdgeId("mill"))
        cloud.registry.quarantine(EdgeId("mill"), "it sends nonsense")
        keys = [admin_key(folder / name) for name in ("ward", "cloud")]
        given = {"lifespan": "off", "headers": list(headers)}
        apps = ward.http._transport.app, lines["ward"]._inner.app
        async with on_a_socket(apps[0], **given) as site, on_a_socket(apps[1], **given) as centre:
            yield Console(apps[0], site, keys[0]), Console(apps[1], centre, keys[1]), ward.node


async def fill_site(edge):
    """Documents of every kind, a policy before this one, questions that were answered and failed, and a ledger that was tampered with."""
    node, served = edge.node, edge.node.documents.list(limit=1)[0]
    node.documents.accept("empty.md", b" ", reader="a.md", labels=["night"])
    node.worker.wake()
    await edge.settled()
    node.reads.faults = (ReaderFault("PDF files", "readers: no room is left on the disk"),)
    node.renewal = SimpleNamespace(change=SimpleNamespace(view=ChangeView("a", "b", words_only=True, total=9, error="it is away")))
    node.models = replace(node.models, untuned=("min_nearness", "memory_fast"))
    node.policies.replace(POLICY, base=node.policies.present().hash, who="anna")
    node.meter.answered(ANSWERS[0], 1.0)
    with contextlib.suppress(NotFound), node.meter.counting_failures():
        raise NotFound("passage", "p1")
    for row in range(60):
        items = (f"{served['document_id']}:0",)
        node.ledger.record(EgressRecord("evidence", "http://cloud", b"{}", "plant", "treatment", f"label {row}", items=items))
    node.documents.accept(served["name"], b"A new version.", reader="a.md")
    node.documents.accept("long.md", b"It is read.", reader="a.md")
    with node.documents.database.write() as tx:
        tx.execute("UPDATE egress SET purpose = 'other' WHERE seq = 2")
        tx.execute("UPDATE documents SET shortfalls = ? WHERE document_id = ?", (SHORT, served["document_id"]))
        tx.execute("UPDATE documents SET status = 'running' WHERE name = 'long.md'")


def admin_key(folder):
    """A token; keys of all states lie beside it."""
    ring, now = KeyRing(folder), time.time()
    for name, days in (("old", 1e-5), ("late", 100.0)):
        ring.add(name, "read", now=now - 9, days=days)
    ring.add("ended", "read", now=now)
    ring.revoke("ended", now=now)
    token = ring.add("anna", "admin", now=now)
    ring.close()
    return token
