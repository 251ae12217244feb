"""The bodies of ``POST /v1/evidence``: passages of all sites for a reader's own model."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from shared.records import ChunkId, DocumentId, EdgeId, EdgeReport, Evidence, TraceStep, located
from shared.text.inert import inert
from shared.wire import MAX_EVIDENCE_CHARS, EdgeName, EvidenceBody, Purpose, Question, Wire

MAX_FOUND = 200  # passages
MAX_EDGES = 100
SEARCH_TOKENS, MAX_SEARCH_TOKENS = 4_000, 20_000  # of the passages together


class SearchBody(Wire):
    """``POST /v1/evidence``: a question whose passages are wanted, for the asker's own model."""

    question: Question
    purpose: Purpose | None = None
    query_id: Annotated[str, Field(max_length=64)] = ""
    budget_tokens: Annotated[int, Field(ge=1, le=MAX_SEARCH_TOKENS)] = SEARCH_TOKENS
    top_k: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 20


class FoundPassage(EvidenceBody):
    """A passage with the edge that it is of; ``score``: the cosine of its text, as it was released, with the question, by the cloud."""

    edge: EdgeName
    score: Annotated[float, Field(ge=-1.01, le=1.01)]
    text: Annotated[str, Field(max_length=MAX_EVIDENCE_CHARS)]

    @classmethod
    def of(cls, evidence: Evidence) -> FoundPassage:
        """The body of a passage, without its words where they are not to be quoted."""
        shown = replace(evidence, document=located(evidence.document, evidence.place))
        if not evidence.quotable:
            shown = replace(shown, text="", title="")
        return cls(**{name: getattr(shown, name) for name in cls.model_fields})

    def to_record(self) -> Evidence:
        """The record."""
        ids = DocumentId(self.document_id), self.document, ChunkId(self.chunk_id)
        return Evidence(EdgeId(self.edge), *ids, self.span, self.text, self.score, self.quotable, self.title)


class Found(Wire):
    """What all sites know of a question: passages, best first, and what became of each edge that was to be asked.

    ``text`` is empty where a site's policy lets a model read a passage, but nobody quote it: ask there.
    """

    evidence: Annotated[tuple[FoundPassage, ...], Field(max_length=MAX_FOUND)] = ()
    edges: Annotated[tuple[EdgeReport, ...], Field(max_length=MAX_EDGES)] = ()
    reason: Annotated[str, Field(max_length=1_000)] = ""  # who gave no answer and why; why nobody was asked
    trace: Annotated[tuple[TraceStep, ...], Field(max_length=256)] = ()


class FindLine(Wire):
    """As ``AskLine``, of ``POST /v1/evidence``: exactly one of ``found`` and ``problem`` stands in the last line."""

    alive: bool = True
    found: Found | None = None
    problem: dict[str, str | int] | None = None


def checked_found(found: Found) -> Found:
    """What somebody else found, as one may show it: no markup that becomes active. A passage's words stay as they are: a model reads them.

    >>> checked_found(Found(reason="see [this](http://x.example)")).reason
    'see this'
    """
    return found.model_copy(
        update={"reason": inert(found.reason), "edges": [replace(one, reason=inert(one.reason)) for one in found.edges]}
    )
