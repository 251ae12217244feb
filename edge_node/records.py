"""Records that every part of an edge speaks in: what was offered, done, found and spent; no part is imported."""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Literal, Protocol, TypeAlias

from pydantic import AfterValidator, Field

from shared.ports import Prompt, Reply
from shared.records import Chunk, ChunkId, DocumentId, Evidence

Share = Literal["never", "summary", "evidence", "full"]  # how much of a document a sharing policy lets leave
Kind = Literal["template", "model", "learned"]  # made from a fact, written by a model, or taken from an answer that was given

NOTHING_WITHHELD: frozenset[str] = frozenset()
NO_GRAPH = "the edge's strategy builds no graph"
WITH_GRAPH = "start the edge with the strategy dgrag, ketrag or erarag"


def _label(text: str) -> str:
    if "," in text or text != text.strip():
        raise ValueError("a label has no comma, which stands between two, and no blanks around it")
    return text


LABEL_PATTERN = r"^[^\s,]([^,]*[^\s,])?$"  # what ``_label`` takes, for the schema
Label = Annotated[str, Field(min_length=1, max_length=64, json_schema_extra={"pattern": LABEL_PATTERN}), AfterValidator(_label)]


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
class PassageSummary:
    """A text about several passages, as EraRAG's nodes have it. A model may read it; what it says of it is cited from the passages.

    ``passages``: of those that it is about, the nearest to the question, nearest first.
    """

    summary_id: str
    text: str
    score: float  # cosine with the question; of a description, that of the nearest of its passages
    passages: tuple[Evidence, ...]
    about: str = ""  # of a description that does not name it: what it describes

    @property
    def line(self) -> str:
        """The text as a prompt has it: behind what it is about, if that is to be said.

        >>> PassageSummary("mill", "It grinds.", 0.5, (), "Orrin Mill").line
        'Orrin Mill: It grinds.'
        """
        return f"{self.about}: {self.text}" if self.about else self.text


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a question: passages, best first, one-line relations, summaries, nearest first, and descriptions.

    ``descriptions``: of entities and relations that were found, what was found first in front; beside the budget, as a reader cuts them.
    """

    evidence: tuple[Evidence, ...]
    facts: tuple[str, ...] = ()
    summaries: tuple[PassageSummary, ...] = ()
    unknown: float = 0.0  # share of the question's words that stand nowhere in the documents; 0 where nobody looked
    descriptions: tuple[PassageSummary, ...] = ()

    @property
    def nearness(self) -> float:
        """The best score of a passage, or of one below a description; -1 where there is none."""
        return max([*(item.score for item in self.evidence), *(item.score for item in self.descriptions)], default=-1.0)

    @property
    def written(self) -> tuple[PassageSummary, ...]:
        """What is no document's own text, in the order of a prompt."""
        return (*self.summaries, *self.descriptions)

    @property
    def citable(self) -> tuple[Evidence, ...]:
        """The passages, then those that only a summary or a description is about."""
        below = (passage for text in self.written for passage in text.passages)
        return tuple(dict.fromkeys([*self.evidence, *below]))


class Progress(Protocol):
    """Is told how far a long step is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """``done`` of ``total`` in the named step."""


Turn: TypeAlias = Callable[[], Awaitable[None]]  # returns when what comes first has ended


@dataclass(frozen=True, slots=True)
class Needs:
    """What the common write path must keep for a method; chunks and their vectors are always there."""

    words: bool = False  # an index of the chunks' words
    mentions: bool = False  # spaCy reads every chunk, and the model its share
    graph: bool = False  # mentions merged, partitioned and summarised for the cloud
    entity_vectors: bool = False  # of the graph's entities, by name and description
    relation_vectors: bool = False  # of its relations
    facts: bool = False  # what each sentence says of something, from the parse that finds mentions
    hyperedges: bool = False  # sentences and passages in groups (FD-RAG §4.1)

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(mine or others for mine, others in zip(astuple(self), astuple(other), strict=True)))


def silent(step: str, done: int, total: int) -> None:
    """A Progress that tells nobody."""


async def at_once() -> None:
    """A Turn that nobody waits for."""


def document_id(name: str, raw: bytes) -> DocumentId:
    """Id of this content under this name, so that sending it twice changes nothing."""
    return DocumentId(hashlib.sha256(name.encode() + b"\0" + raw).hexdigest()[:24])


@dataclass(frozen=True, slots=True)
class Offered:
    """A document as a client has it; ``reader``: the name whose suffix chooses the reader."""

    document_id: DocumentId
    name: str
    raw: bytes
    reader: str
    title: str = ""
    labels: tuple[str, ...] | None = None  # None: as they are
    created_at: float | None = None  # when it came to the site where it was before, in seconds since the epoch; None: now
    source: str | None = None  # the sync that puts it here; None: as it is, and none of a new one
    adopt: bool = True  # also where a document of its name came another way


Cell: TypeAlias = str | int | float | None  # None: empty; a date or a time of a sheet is text


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a document, as its reader saw it. Row k of ``rows`` stands in row ``first_row + k``; a blank one is empty.

    A reader of any format may fill it. ``name``: of the sheet, or of the file in a file; "" where there is one table and no name.
    """

    name: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    first_row: int

    def place(self, row: int) -> str:
        """Where row k of ``rows`` stands, in the words of the readers.

        >>> Table("Stock", ("Ward", "Beds"), (("Juniper", 28),), 2).place(0)
        'Stock, row 2'
        """
        number = f"row {self.first_row + row}"
        return f"{self.name}, {number}" if self.name else number


@dataclass(frozen=True, slots=True)
class DocumentText:
    """Characters [start, end) of the ``length`` that were read from a document: where passages' spans point."""

    document_id: DocumentId
    name: str
    title: str
    start: int
    end: int
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Reason:
    """As it is stored with a parked document; ``failed_chunk``: the chunk that could not be done, if it was one."""

    code: str
    reason: str
    next_step: str
    failed_chunk: str = ""


class Indexer(Protocol):
    """Adds and removes chunks. Durable when ``add`` returns; derived parts are renewed by ``settle``."""

    async def open(self) -> None:
        """Build the in-memory caches from the store."""

    async def add(self, chunks: Sequence[Chunk], progress: Progress, turn: Turn = at_once) -> Added:
        """Index all chunks of one document and commit what was learnt when its ``turn`` has come; adding twice equals adding once."""

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


class Retriever(Protocol):
    """Finds passages. Possible at any time, also between an ``add`` and the ``settle`` that follows."""

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[str] = NOTHING_WITHHELD) -> Retrieval:
        """The passages that may answer, within a token budget; as if the ``withheld`` documents were not there."""


@dataclass(frozen=True, slots=True)
class Without:
    """A Retriever that never sees the hidden documents."""

    retriever: Retriever
    hidden: frozenset[str]

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[str] = NOTHING_WITHHELD) -> Retrieval:
        """As the port says."""
        return await self.retriever.retrieve(question, budget_tokens=budget_tokens, top_k=top_k, withheld=withheld | self.hidden)


class CachedGenerator(Protocol):
    """A ``Generator`` of the write path: what it has answered before is kept, so that nothing is paid for twice."""

    @property
    def name(self) -> str:
        """The model's name."""

    async def generate(
        self, prompt: Prompt, *, deadline_s: float, usable: Callable[[str], bool] = ..., document: DocumentId | None = None
    ) -> Reply:
        """As the port says. A reply that is not ``usable`` is returned and not kept; one for a ``document`` is deleted with it."""

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """As the port says; streams are not kept."""


@dataclass(frozen=True, slots=True)
class Filters:
    """All that is given must hold; of several labels, languages or paths one must.

    ``languages``: that of the most of the document. ``paths``: names with ``*`` and ``?``, or folders. ``since``, ``until``: the document
    came to this site in [since, until), in seconds since the epoch.
    """

    labels: frozenset[str] = frozenset()
    languages: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    since: float = -math.inf
    until: float = math.inf
