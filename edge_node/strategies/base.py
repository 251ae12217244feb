"""What every index-and-retrieval strategy of an edge offers, and what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from edge_node.graph.choosing import Chosen, Overlook
from edge_node.graph.reports import Headline, Report
from edge_node.memory.recall import Recalled
from edge_node.memory.records import Memory, Remembered
from edge_node.policy.sharing import Sharing
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.store.replies import RememberingGenerator
from shared.ports import Embedder, FloatArray, Tokenizer
from shared.records import Chunk, ChunkId, EdgeId, Evidence
from shared.retry_budget import RetryBudget

NOTHING_WITHHELD: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Cost:
    """Model use of a step."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Something that was done, but not as well as asked; a person should know, and may retry. Empty ``chunk_id``: the whole document."""

    code: str
    message: str
    chunk_id: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """What ``add`` has done to a document's chunks."""

    cost: Cost = Cost()
    shortfalls: tuple[Shortfall, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a question: passages, best first, and one-line relations."""

    evidence: tuple[Evidence, ...]
    facts: tuple[str, ...] = ()
    unknown: float = 0.0  # share of the question's words that stand nowhere in the documents; 0 where nobody looked


class Progress(Protocol):
    """Is told how far a long step is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """``done`` of ``total`` in the named step."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the common write path must keep for a method; chunks and their vectors are always there."""

    words: bool = False  # an index of the chunks' words
    mentions: bool = False  # spaCy reads every chunk, and the model its share
    graph: bool = False  # mentions merged, embedded, partitioned and summarised for the cloud
    facts: bool = False  # what each sentence says of something, from the parse that finds mentions

    def __or__(self, other: Needs) -> Needs:
        facts = self.facts or other.facts
        return Needs(self.words or other.words, self.mentions or other.mentions, self.graph or other.graph, facts)


@dataclass(frozen=True, slots=True)
class Tools:
    """What a strategy may use."""

    edge: EdgeId
    documents: DocumentStore
    graph: GraphStore
    embedder: Embedder
    generator: RememberingGenerator
    sharing: Sharing
    tokenizer: Tokenizer
    index: str = field(default="nano")  # name of the vector index
    retries: RetryBudget = field(default_factory=RetryBudget)


def silent(step: str, done: int, total: int) -> None:
    """A Progress that tells nobody."""


class IndexStrategy(Protocol):
    """Durable when ``add`` returns; derived parts are renewed by ``settle``. Retrieval is possible at any time between."""

    async def open(self) -> None:
        """Build the in-memory caches from the store."""

    async def add(self, chunks: Sequence[Chunk], progress: Progress) -> Added:
        """Index all chunks of one document and commit what was learnt; adding twice equals adding once."""

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks that are gone from the store; ``settle`` then removes what was derived from them."""

    async def settle(self, progress: Progress) -> None:
        """Bring graph, partition and plain summaries up to date with the chunks that are there, without a language model.

        May be called at any time, also while another call or an ``add`` runs: it waits for its turn.
        """

    async def refine(self, progress: Progress) -> Cost:
        """Let the language model write the texts that need it most, a few at most, each committed by itself. Raises ModelError."""

    @property
    def stale(self) -> int:
        """How many texts the language model should still write."""

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[str] = NOTHING_WITHHELD) -> Retrieval:
        """The passages that may answer, within a token budget; as if the ``withheld`` documents were not there."""

    def counts(self) -> dict[str, int]:
        """What was built: entities, relations, subgraphs, summaries."""

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """``{"entities": […], "relations": […]}`` around an entity, or of highest degree when ``entity`` is empty."""

    async def communities(self, level: int, *, limit: int, after: str = "") -> Sequence[Headline]:
        """The first communities of a level, 0 to 3, by id, behind the id ``after``.

        Raises Conflict where the strategy builds no graph, or there are to be no reports.
        """

    async def report(self, community_id: str) -> Report:
        """What a community is about. Raises NotFound, and Conflict as ``communities``."""

    async def reports(self, asked: Overlook) -> Chosen:
        """What is read for a question about everything, as if the withheld documents were not there. Raises Conflict as ``communities``."""

    def graphml(self) -> str:
        """The whole graph as GraphML. Raises InputError where the strategy has none."""

    # ------------------------------------------------------------ memories (FD-RAG); nothing is remembered where memory is off

    async def recalled(
        self, question: str, vector: FloatArray, *, k: int, floor: float, withheld: frozenset[str] = NOTHING_WITHHELD
    ) -> tuple[Recalled, ...]:
        """The k memories nearest a question with S >= ``floor``, best first, as if the ``withheld`` documents were not there.

        vector (d,): the question's, of norm 1. Those that rest on a deleted document are not among them.
        """

    async def rate(self, memory_id: str, *, right: bool) -> None:
        """Note that somebody found a memory's answer right, or wrong, and so of those that ask and answer the same. Raises NotFound."""

    @property
    def arrivals(self) -> int:
        """How often passages came since the start, as memories know."""

    async def learn(self, memory: Memory, vector: FloatArray, *, since: int) -> None:
        """Remember an answer that was given; its anchors are made here. vector (d,): of its question. Not where its passages are gone.

        ``since``: the ``arrivals`` when it was asked for: a nearer passage that came later makes it doubtful.
        """

    async def bar(self, memory_id: str) -> None:
        """Let a memory, and all that ask and answer the same, now and ever, answer no more; a learned one is deleted. Raises NotFound."""

    async def memories(self, after: str = "", limit: int = 100) -> tuple[Remembered, ...]:
        """The first memories by id whose ids come behind ``after``."""

    async def memory_counts(self) -> dict[str, int]:
        """Memories by kind: template, model, learned; hyperedges of sentences; chunks that wait to be read; {} where off."""
