"""A site whose documents each hold canaries that occur nowhere else, and an oracle that knows which of them a policy lets go."""

import contextlib
import json
from base64 import b64encode
from dataclasses import dataclass

import httpx2

from edge_node.answering.answerer import Answerer, Ask
from edge_node.answering.for_others import EvidenceForOthers
from edge_node.answering.narrowing import SentenceSelector
from edge_node.answering.released import ReleasedPassages
from edge_node.answering.search import Search
from edge_node.cloud.client import CloudClient
from edge_node.cloud.sync import LinkState, SummaryReplicator
from edge_node.egress.bodies import reply_body
from edge_node.egress.dry_run import next_sync
from edge_node.egress.ledger import Ledger
from edge_node.egress.policy_file import NAME
from edge_node.settings import AnswerSettings, EdgeSettings
from edge_node.strategies.index import open_strategy
from shared.errors import InputError
from shared.limits import Breaker
from shared.models.fake import HashEmbedder, WordTokenizer
from shared.ports import SystemClock
from shared.records import Answer
from shared.telemetry.trace import Trace
from shared.text.marks import mark_of, packed
from shared.wire import Enrolled, EvidenceRequest
from tests.support.cloud_line import told
from tests.support.settling import Bench

LEVELS = ("never", "summary", "evidence", "full")
LABELS = ("public", "patients", "research")
EDGES = ("ward-1", "ward-2", "bank-1", "operator:ann")
PURPOSES = (None, "treatment", "billing")


@dataclass(frozen=True)
class Canary:
    """A document, its labels, and the words that only it holds."""

    name: str
    labels: tuple[str, ...]
    word: str
    spelling: str  # of an entity that other documents name too, as only this one writes it


def spelling(number, name="nightingale"):
    """A way to write a name, another one for each number.

    >>> spelling(1), spelling(2)
    ('Nightingale', 'nIghtingale')
    """
    return "".join(letter.upper() if number >> place & 1 else letter for place, letter in enumerate(name))


class Site:
    """A bench with documents, and the bytes that would leave it."""

    def __init__(self, bench, strategy):
        self.bench = bench
        self.strategy = strategy
        settings = AnswerSettings(
            samples=1, sample_tokens=8, answer_deadline_s=9.0, cloud_deadline_s=9.0, evidence_threshold=-1.0, reader_threshold=-1.0
        )
        embedder = HashEmbedder()
        self.sharing = bench.tools.releases
        self.sent = []  # the bodies that the client has put on the wire
        self.ledger = Ledger(bench.database, SystemClock())
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._cloud), base_url="http://127.0.0.1:9")
        self.client = CloudClient(http, "ward", self.ledger, Breaker(3, 30.0, SystemClock()), patience_s=9.0)
        self.search = Search(strategy, self.sharing, settings)
        selector = SentenceSelector(embedder, WordTokenizer())
        self.answerer = Answerer(self.search, selector, bench.model, None, self.client, self.sharing)
        self.for_others = EvidenceForOthers(self.search, self.sharing, released=ReleasedPassages(bench.tools, self.sharing))

    def _cloud(self, request):
        self.sent.append(request.content)
        if request.url.path == "/v1/questions":
            return told(Answer("q", "Four.", (), "cloud"))
        body = json.loads(request.content)
        return httpx2.Response(200, text=Enrolled(edge="ward", epoch=body["epoch"], version=body["version"]).model_dump_json())

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, folder, *, naive=False, **settings):
        async with Bench.opened(folder, subgraph_entities=6, **settings) as bench:
            strategy = open_strategy(bench.tools, EdgeSettings(strategy="naive", state_dir=folder)) if naive else bench.strategy
            yield cls(bench, strategy)

    def obey(self, text):
        (self.bench.database.path.parent / NAME).write_text(f"version = 1\n{text}", encoding="utf-8")

    async def add(self, canary):
        words = (canary.spelling, f"{canary.word} unit")
        text = f"{canary.spelling} visits the {canary.word} unit. The {canary.word} pump of {canary.spelling} stopped."
        await self.bench.add(canary.name, words, related=[words], text=text, labels=canary.labels, title=words[1])

    async def load(self):
        await self.strategy.open()

    def sync(self):
        graph = self.bench.graph
        return b"\n".join(next_sync(graph, epoch="", version=-1))

    async def pushed(self):
        """What a cloud that knows nothing is sent by the real client."""
        self.sent.clear()
        state = LinkState(connected=True, reads_titles=True)
        await SummaryReplicator(self.client, self.bench.graph, self.sharing, state).send()
        return b"\n".join(self.sent)

    async def escalated(self, question, client):
        """The body of a question for the cloud alone, as the real client sends it; b"": it does not leave."""
        self.sent.clear()
        with contextlib.suppress(InputError):
            await self.answerer.answer(Ask(question, mode="cloud", escalation=client), Trace())
        return b"\n".join(self.sent)

    async def settle(self):
        await self.bench.settle()

    async def served(self, question, requester="", purpose=None, titles=(), **asked):
        """The reply to a cloud that asks for documents with these ``titles`` besides."""
        marks = b64encode(packed(map(mark_of, titles))).decode()
        told = {"question": question, "requester": requester, "purpose": purpose, "titles": marks, "deadline_ms": 9000, **asked}
        return await self.for_others.evidence(EvidenceRequest(request_id="r1", budget_tokens=400, **told))

    async def reply(self, question, requester="", purpose=None, titles=()):
        return reply_body((await self.served(question, requester, purpose, titles)).reply)


@dataclass(frozen=True)
class RandomPolicy:
    """A policy as a test knows it, and as a file."""

    unlabelled: str
    labels: dict
    exceptions: tuple  # (labels, edges, purposes, share)
    k: int
    questions: str = "yes"
    masked: tuple = ()  # names
    replies: int = 0  # a day for each requester

    @classmethod
    def drawn(cls, rng, words=()):
        labels = {label: rng.choice(LEVELS) for label in LABELS if rng.random() < 0.8}
        exceptions = []
        for _ in range(rng.randrange(3)):
            named = rng.sample(sorted(labels), rng.randrange(len(labels) + 1))
            edges = rng.sample(["ward-*", "bank-1", "*", "operator:*"], rng.randrange(3))
            purposes = rng.sample(["treatment", "billing"], rng.randrange(2))
            if edges or purposes:
                exceptions.append((named, edges, purposes, rng.choice(LEVELS)))
        masked = tuple(rng.sample(words, 1)) if words and rng.random() < 0.5 else ()
        questions, replies = rng.choice(("yes", "yes", "ask", "no")), rng.choice((0, 0, 0, 1))
        return cls(rng.choice(LEVELS), labels, tuple(exceptions), rng.choice((1, 1, 2)), questions, masked, replies)

    def text(self):
        lines = [f'unlabelled = "{self.unlabelled}"', f"minimum_support = {self.k}", f'questions = "{self.questions}"']
        lines += ["[redact]", f"names = {list(self.masked)}", "[daily]", f"replies = {self.replies}", "[labels]"]
        lines += [f'{label} = "{share}"' for label, share in self.labels.items()]
        for labels, edges, purposes, share in self.exceptions:
            lines += ["[[exceptions]]", f"labels = {list(labels)}", f"edges = {list(edges)}", f"purposes = {list(purposes)}"]
            lines += [f'share = "{share}"']
        return "\n".join(lines)

    def summary(self, labels):
        shares = [self.labels.get(label, "never") for label in labels] or [self.unlabelled]
        return min(map(LEVELS.index, shares))

    def evidence(self, labels, requester, purpose):
        return min(self._one(label, requester, purpose) for label in labels or (None,))

    def lets_leave(self, client):
        return (self.questions == "yes" and client in (None, "yes")) or (self.questions == "ask" and client == "yes")

    def _one(self, label, requester, purpose):
        if label is not None and label not in self.labels:
            return 0
        for labels, edges, purposes, share in self.exceptions:
            stem = [edge.rstrip("*") for edge in edges]
            named = not edges or any(
                requester == edge or (edge.endswith("*") and requester.startswith(s)) for edge, s in zip(edges, stem, strict=True)
            )
            if named and (not purposes or purpose in purposes) and (not labels or label in labels):
                return LEVELS.index(share)
        return LEVELS.index(self.unlabelled if label is None else self.labels[label])
