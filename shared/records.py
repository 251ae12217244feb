"""The values that travel through the system. Frozen; ids are plain strings with a name.

Where a record is part of a body, pydantic holds foreign ones to the bounds that are noted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Annotated, Literal, NewType

from pydantic import Field

DocumentId = NewType("DocumentId", str)
ChunkId = NewType("ChunkId", str)
EdgeId = NewType("EdgeId", str)
SummaryId = NewType("SummaryId", str)

Count = Annotated[int, Field(ge=0, lt=2**53)]  # JSON's integers: readers and writers disagree about larger ones
Milliseconds = Annotated[float, Field(ge=0, lt=2**53)]
PLAIN = Field(max_length=200, pattern=r"^[\w .:-]*$")  # of names and ids: no markup, no control character

Mark = tuple[int, str]  # from this character of a document on its text stands at this place: "page 12", "Stock, row 17"
Level = Literal["dynamic", "text", 0, 1, 2, 3]  # of reports that a global answer is made of (GraphRAG §2.6); "text": of passages
Route = Literal["memory", "memory+model", "local", "cloud", "global", "degraded"]


# ---------------------------------------------------------------- documents and their graph


@dataclass(frozen=True, slots=True)
class Document:
    """One readable document: what the readers make of a file or of a row of a corpus."""

    document_id: DocumentId
    name: str  # file name, or `doc_id` of a corpus row; replaces an older document of the same name
    title: str
    text: str
    labels: tuple[str, ...] = ()
    places: tuple[Mark, ...] = ()  # in order; empty: the format has neither pages nor rows


@dataclass(frozen=True, slots=True)
class Chunk:
    """A window of a document; ``text == document.text[start:end]`` (characters)."""

    chunk_id: ChunkId  # "<document_id>:<ordinal>"
    document_id: DocumentId
    ordinal: int
    text: str
    start: int
    end: int
    tokens: int
    places: tuple[Mark, ...] = ()  # of its document, those that hold in the window


def place_of(places: Sequence[Mark], span: tuple[int, int]) -> str:
    """Where characters [start, end) of a document stand, in words; "" where its format has no places.

    >>> marks = ((0, "page 1"), (900, "page 2"), (1800, "page 3"))
    >>> place_of(marks, (950, 990)), place_of(marks, (850, 1900)), place_of((), (0, 9))
    ('page 2', 'pages 1-3', '')
    >>> place_of(((0, "Stock, row 2"), (40, "Wards, row 2")), (0, 80))
    'Stock, row 2 to Wards, row 2'
    """
    start, end = span
    pairs = enumerate(places)
    within = [label for row, (at, label) in pairs if label and at < end and (row + 1 == len(places) or places[row + 1][0] > start)]
    if not within or within[0] == within[-1]:
        return within[0] if within else ""
    (head, _, first), (other, _, last) = within[0].rpartition(" "), within[-1].rpartition(" ")
    return f"{head}s {first}-{last}" if head == other and first.isdecimal() else f"{within[0]} to {within[-1]}"


def located(document: str, place: str) -> str:
    """A document's name with the place that is meant.

    >>> located("report.pdf", "page 12"), located("notes.txt", "")
    ('report.pdf, page 12', 'notes.txt')
    """
    return f"{document}, {place}" if place else document


def document_of(chunk_id: str) -> DocumentId:
    """The document of a chunk, which is in its id.

    >>> document_of("5e1f:12")
    '5e1f'
    """
    return DocumentId(chunk_id.rpartition(":")[0])


def is_chunk(identity: str) -> bool:
    """Whether an id is a chunk's, and not a document's.

    >>> is_chunk("5e1f:12"), is_chunk("5e1f")
    (True, False)
    """
    return ":" in identity


def whole_of(chunk_id: str) -> ChunkId:
    """The chunk that a passage is a piece of, by the passage's id; a whole chunk's own.

    >>> whole_of("5e1f:12.3"), whole_of("5e1f:12")
    ('5e1f:12', '5e1f:12')
    """
    document, colon, place = chunk_id.rpartition(":")
    return ChunkId(f"{document}{colon}{place.partition('.')[0]}")


def is_withheld(chunk_id: str, withheld: AbstractSet[str]) -> bool:
    """Whether a passage is among what is withheld, which are ids of documents and of single chunks.

    >>> [is_withheld(chunk, {"5e1f", "ab:1"}) for chunk in ("5e1f:12", "ab:1.3", "ab:2")]
    [True, True, False]
    """
    return bool(withheld) and (document_of(chunk_id) in withheld or whole_of(chunk_id) in withheld)


@dataclass(frozen=True, slots=True)
class EntityMention:
    """One chunk says something about one entity (DGRAG §III-B ①). ``name`` is as written; ``key`` is its normal form."""

    key: str
    name: str
    type: str
    description: str
    chunk_id: ChunkId


@dataclass(frozen=True, slots=True)
class RelationMention:
    """One chunk relates two entities, both given by key; undirected for the graph, directed in the description."""

    source: str
    target: str
    description: str
    keywords: tuple[str, ...]
    strength: float
    chunk_id: ChunkId


@dataclass(frozen=True, slots=True)
class Entity:
    """A view over all mentions of one key (and of its aliases)."""

    key: str
    name: str
    type: str
    description: str
    chunk_ids: tuple[ChunkId, ...]  # sorted, unique
    mentions: int


@dataclass(frozen=True, slots=True)
class Relation:
    """A view over all mentions of one unordered pair; ``source < target``."""

    source: str
    target: str
    description: str
    keywords: tuple[str, ...]
    weight: float  # sum of the mentions' strengths
    chunk_ids: tuple[ChunkId, ...]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of the entity graph (DGRAG §III-B ②); at most the configured number of entities."""

    subgraph_id: str
    entities: tuple[str, ...]  # keys, sorted


@dataclass(frozen=True, slots=True)
class Summary:
    """What the cloud learns about one subgraph (DGRAG §III-B ③): text and counts, never chunks, never vectors."""

    summary_id: SummaryId
    text: str
    entities: int
    relations: int
    titles: bytes = b""  # marks of the titles of documents that it tells of (shared.text.marks)


@dataclass(frozen=True, slots=True)
class SummaryDelta:
    """What changed in an edge's summaries since ``base_version``; a snapshot has ``base_version == 0``."""

    epoch: str  # random per store; a restored or recreated store has another
    base_version: int
    version: int
    upserts: tuple[Summary, ...]
    removals: tuple[SummaryId, ...]
    withheld: int = 0  # summaries that the sharing policy keeps at the site; the cloud learns how many, and neither which nor why


# ---------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that may support an answer, with where it stands."""

    edge: EdgeId
    document_id: DocumentId
    document: str
    chunk_id: ChunkId
    span: tuple[int, int]  # characters in the document's text
    text: str
    score: float  # cosine with the question, [-1, 1]
    quotable: bool = True  # False: a model may read it, but its words are not shown as a quote
    title: str = ""  # of its document, where that has one
    point: str = ""  # what somebody wrote about it, for a global answer; empty: it is said as it stands
    report: str = ""  # id of the report that it was told in
    chunk_ids: tuple[ChunkId, ...] = ()  # further passages that say the same
    places: tuple[Mark, ...] = ()  # as of its chunk; none of a passage of another site: its document's name says the place

    @property
    def place(self) -> str:
        """Where it stands in its document, in words."""
        return place_of(self.places, self.span)


@dataclass(frozen=True, slots=True)
class Citation:
    """Marker ``[n]`` of an answer's text, resolved."""

    n: Count
    edge: Annotated[EdgeId, PLAIN]
    document_id: Annotated[DocumentId, PLAIN]
    document: str
    chunk_id: Annotated[ChunkId, PLAIN]
    span: tuple[Count, Count]
    quote: str  # empty: the owning site's policy keeps its words; ask there
    score: float
    report: Annotated[str, PLAIN] = ""  # of a global answer: id of the report that tells of it, at that site
    chunks: Annotated[tuple[Annotated[ChunkId, PLAIN], ...], Field(max_length=8)] = ()  # … and further passages that it rests on
    place: Annotated[str, Field(exclude_if=lambda place: not place)] = ""  # "page 12"; none of another site's: its document's name says it


@dataclass(frozen=True, slots=True)
class Confidence:
    """Gate step 1 (DGRAG §III-C ⑤ 1), whether the samples lack information."""

    refusals: int  # samples that say so in words
    samples: int
    sufficiency: float | None  # P(yes) that the passages show the drafted answer; None where nobody asked
    threshold: float
    nearness: float = 1.0  # cosine of the question with the nearest passage
    min_nearness: float = -1.0
    unknown: float = 0.0  # share of the question's words that stand nowhere in the site's documents
    max_unknown: float = 1.0


@dataclass(frozen=True, slots=True)
class Similarity:
    """Gate step 2 (DGRAG §III-C ⑤ 2): agreement of the samples, each part in [0, 1]."""

    cosine: float
    jaccard: float
    semantic: float | None  # share of pairs that say the same, by their values, else by their words
    mean: float
    threshold: float


@dataclass(frozen=True, slots=True)
class GateReport:
    """All that the gate saw and decided."""

    decision: Literal["local", "escalate"]
    reason: str
    confidence: Confidence | None = None
    similarity: Similarity | None = None
    samples: tuple[str, ...] = ()
    selected: int | None = None
    rule: str = ""  # the name of the rule that decided (edge_node/answering/gate_rules.py); empty: all hold, or nothing was looked at


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The memory nearest a question, and why it did not answer (FD-RAG §4.2)."""

    memory_id: Annotated[str, PLAIN]
    kind: Annotated[str, PLAIN]  # template, model, learned
    question: str
    answer: str
    score: float  # alpha cosine + (1 - alpha) dice
    cosine: float  # of both questions
    dice: float  # of their anchors
    threshold: float  # that the score must reach
    why_not: str = ""  # in words; empty: it answered


# skipped: not asked, its breaker is open or it was of no use
EdgeStatus = Literal["answered", "late", "refused", "failed", "offline", "skipped"]
# Why an edge has no reply where its policy has nothing against one: it has enough to do, the time was over, or it broke.
BUSY, OUT_OF_TIME, BROKEN = "busy", "not found in time", "internal"
DENIED = "the sharing policy of this site"  # the beginning of why it has none where its policy has something against one
SUMMARIES_ONLY = f"{DENIED}: it shares summaries only"  # of all documents, or of some of them beside which nothing was found
SOME_SUMMARIES_ONLY = f"{DENIED}: it shares some documents as summaries only"


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """What one edge was asked for and how it answered."""

    edge: Annotated[EdgeId, PLAIN]
    asked_for: Annotated[str, PLAIN]  # "evidence"
    status: EdgeStatus
    ms: Milliseconds
    bytes: Count
    evidence: Count
    reason: str = ""
    reports: Count = 0  # that were read for a global answer …
    reports_there: Count = 0  # … of so many


@dataclass(frozen=True, slots=True)
class TraceStep:
    """Time, calls, tokens and bytes of one step or transfer."""

    step: Annotated[str, PLAIN]
    ms: Milliseconds
    calls: Count = 0
    tokens_in: Count = 0
    tokens_out: Count = 0
    bytes_out: Count = 0
    bytes_in: Count = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question returns, at the edge and at the cloud (design §11)."""

    query_id: str
    answer: str
    citations: tuple[Citation, ...]
    route: Route
    gate: GateReport | None = None
    edges: tuple[EdgeReport, ...] = ()
    partial: bool = False
    degraded: bool = False
    reason: str = ""  # why degraded or partial, in words
    answered: bool = True  # False: nobody's documents answer this, and the text says so
    certain: bool = True  # False, of an answer: it stands in the passages that it cites, but a reader should look
    closest: Annotated[tuple[Citation, ...], Field(max_length=8)] = ()  # without a certain answer: the sentences nearest the question
    unanswered: Annotated[tuple[str, ...], Field(max_length=8)] = ()  # parts of the question to which no answer was found
    coverage: str = ""  # of a global answer: which sites it tells of, and how much of each was read
    asked: str = ""  # the question of its own that a follow-up was taken for; empty: what was answered is the question as it was put
    own_passages: Annotated[Count, Field(exclude_if=lambda count: not count)] = 0  # of the asking site, that the cloud got for it
    would_ask: str = ""  # the question as it would leave this site, if the client says yes to that; empty: nothing waits for a yes
    memory: MemoryReport | None = None  # None: nothing was looked for, or nothing is remembered
    trace: tuple[TraceStep, ...] = field(default=())
