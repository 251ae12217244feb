"""The values that the benchmark's stages hand on: what is asked where, what came back, what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Scenario = Literal["within", "out", "mixed"]  # asked at the edge that has the answer; at another one; where the answer is spread


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document of a corpus, without its text."""

    document_id: str  # as the edges know it: `doc_id`, or `context_id` of an UltraDomain row
    domain: str  # file stem; for a federated split the client
    title: str
    chars: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known of its answer."""

    question_id: str
    text: str
    domain: str
    references: tuple[str, ...]  # accepted answers; empty: none is known
    gold: tuple[str, ...] = ()  # ids of all documents that are needed; empty: not known
    kind: str = ""  # the set's own type of question


@dataclass(frozen=True, slots=True)
class Asking:
    """One question put to one edge."""

    question: Question
    edge: str
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Split:
    """Who has which documents, and which question is asked where."""

    name: str
    documents: dict[str, tuple[str, ...]]  # edge -> document ids
    asked: tuple[Asking, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an answer's trace, as ``shared.records.TraceStep`` has it; steps of the cloud are named "cloud: …"."""

    step: str
    ms: float
    calls: int
    tokens_in: int
    tokens_out: int
    bytes_out: int
    bytes_in: int


@dataclass(frozen=True, slots=True)
class EdgeShare:
    """One edge's part in a global answer, as ``shared.records.EdgeReport`` has it."""

    edge: str
    status: str
    ms: float
    bytes: int
    reports: int  # that were read …
    reports_there: int  # … of so many


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference of a global answer, without what it quotes. ``fault``: why it does not open at its edge; empty: it does."""

    n: int
    edge: str
    document_id: str
    document: str
    report: str  # id; empty where a passage was read, and no report
    chunks: tuple[str, ...]  # ids of the passages that it rests on, the quoted one first
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A reference of an answer: where in a document the words stand that it quotes, in characters."""

    n: int
    edge: str
    document: str  # its name there: `document_id` of a SourceDocument
    chunk_id: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """What a global answer rests on (GraphRAG §2.6)."""

    coverage: str
    edges: tuple[EdgeShare, ...]
    sentences: int
    referenced: int  # of the sentences, those with a reference
    cited: tuple[Cited, ...]
    corpus_chars: int = 0  # of all documents of the split


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What a system said to one asking. ``error`` is empty when it answered with status 200, and with all that it needed at hand."""

    split: str
    scenario: Scenario
    system: str
    edge: str
    question_id: str
    question: str
    references: tuple[str, ...]
    answer: str
    answered: bool
    route: str
    seconds: float
    escalated: bool  # the gate sent it on; for systems without a gate False
    gate: dict[str, Any] | None  # GateReport as JSON: all scores
    steps: tuple[Step, ...]
    asked_edges: tuple[str, ...]  # whom the cloud asked
    error: str = ""
    tries: int = 1  # this one included; the ones before failed
    bertscore_recall: float | None = None  # when the run has ended, where the model can be had
    code: str = ""  # that asked and answered: machine.answering_code
    overview: Overview | None = None  # of a global answer
    citations: tuple[Pointer, ...] = ()
    memory: dict[str, Any] | None = None  # MemoryReport as JSON: the memory nearest the question, and why it did not answer


@dataclass(frozen=True, slots=True)
class RetrievalRow:
    """What was retrieved for one question, best first. ``found`` are document ids, each once."""

    split: str
    system: str
    edge: str
    question_id: str
    found: tuple[str, ...]
    covered: bool | None  # an accepted answer stands in the context (KET-RAG's Coverage); None: no reference
    context_tokens: int
    seconds: float
    asked_edges: tuple[str, ...]
    error: str = ""
    owners_asked: float | None = None  # share of the needed documents of which an owner was asked; None: the cloud was asked nothing
    tries: int = 1  # this one included; the ones before failed
    facts_tokens: int = 0  # of the context: lines of a graph or a tree


@dataclass(frozen=True, slots=True)
class RoutingRow:
    """Summary matching of one question at one m (DGRAG §IV-E1): the edges of the m best summaries, best first, without a threshold.

    ``plain``: the m of the highest cosine, as the paper's; else as the cloud matches: also by words, of edges that lead, within slots.
    """

    split: str
    subgraph_entities: int
    m: int
    question_id: str
    owners: tuple[str, ...]  # the edges that have the document: one of them should be found
    edges: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float
    plain: bool = False
    code: str = ""  # that matched: machine.answering_code
