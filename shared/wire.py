"""The body of every route between an edge and the cloud. What is not in this file never crosses the line.

There is no field for a chunk, entity or relation *vector*: the cloud embeds released text itself (design §6).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from shared.records import Evidence, Summary, SummaryDelta, SummaryId, TraceStep

WIRE_VERSION = 1
EDGE_ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
MAX_QUESTION_CHARS = 4_000
MAX_SUMMARY_CHARS = 8_000
MAX_SUMMARIES = 5_000
MAX_EVIDENCE = 64
MAX_EVIDENCE_CHARS = 16_000
MAX_NAME_CHARS = 512
DEADLINE_HEADER = "deadline-ms"  # remaining milliseconds, never a clock time: hosts' clocks differ

EdgeName = Annotated[str, Field(pattern=EDGE_ID_PATTERN)]
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS)]


class Wire(BaseModel):
    """Base of all bodies: unknown fields are refused, NaN and Infinity too."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Enrolment(Wire):
    """``POST /v1/edges``."""

    edge: EdgeName
    wire_version: int = WIRE_VERSION


class Enrolled(Wire):
    """What the cloud knows of the edge's summaries, so that the edge knows what to send."""

    edge: EdgeName
    epoch: str = ""
    version: int = 0


class SummaryBody(Wire):
    """One summary: text and counts."""

    summary_id: Annotated[str, Field(min_length=1, max_length=128)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY_CHARS)]
    entities: Annotated[int, Field(ge=0, le=1_000_000)]
    relations: Annotated[int, Field(ge=0, le=1_000_000)]

    def to_record(self) -> Summary:
        """The record."""
        return Summary(SummaryId(self.summary_id), self.text, self.entities, self.relations)


class DeltaBody(Wire):
    """``PUT /v1/edges/{id}/summaries``."""

    epoch: Annotated[str, Field(min_length=1, max_length=64)]
    base_version: Annotated[int, Field(ge=0, lt=2**53)]
    version: Annotated[int, Field(ge=0, lt=2**53)]
    upserts: Annotated[list[SummaryBody], Field(max_length=MAX_SUMMARIES)] = []
    removals: Annotated[list[Annotated[str, Field(min_length=1, max_length=128)]], Field(max_length=MAX_SUMMARIES)] = []

    @classmethod
    def from_record(cls, delta: SummaryDelta) -> DeltaBody:
        """The body of a delta; a text over the cap is cut. Raises ValidationError."""
        upserts = [
            SummaryBody(summary_id=s.summary_id, text=s.text[:MAX_SUMMARY_CHARS], entities=s.entities, relations=s.relations)
            for s in delta.upserts
        ]
        return cls(
            epoch=delta.epoch, base_version=delta.base_version, version=delta.version, upserts=upserts, removals=list(delta.removals)
        )

    def to_record(self) -> SummaryDelta:
        """The record."""
        return SummaryDelta(
            self.epoch,
            self.base_version,
            self.version,
            tuple(body.to_record() for body in self.upserts),
            tuple(SummaryId(summary_id) for summary_id in self.removals),
        )


class PollBody(Wire):
    """``POST /v1/edges/{id}/poll``: held by the cloud for at most ``wait_s`` seconds."""

    wait_s: Annotated[float, Field(ge=0, le=60)] = 25.0


class EvidenceRequest(Wire):
    """What the cloud asks of an edge, as the answer to its poll."""

    request_id: Annotated[str, Field(min_length=1, max_length=64)]
    question: Question
    budget_tokens: Annotated[int, Field(ge=1, le=100_000)]
    min_score: Annotated[float, Field(ge=-1, le=1)]
    deadline_ms: Annotated[int, Field(ge=0, le=600_000)]


class PollReply(Wire):
    """Requests that wait for this edge; empty when the poll ran out."""

    requests: list[EvidenceRequest] = []


class EvidenceBody(Wire):
    """One passage in a reply. The edge's name is not in it: the cloud takes it from who replied."""

    document_id: Annotated[str, Field(min_length=1, max_length=128)]
    document: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    chunk_id: Annotated[str, Field(min_length=1, max_length=160)]
    span: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]
    text: Annotated[str, Field(min_length=1, max_length=MAX_EVIDENCE_CHARS)]
    score: Annotated[float, Field(ge=-1.01, le=1.01)]

    @classmethod
    def from_record(cls, evidence: Evidence) -> EvidenceBody:
        """The body of a passage; one over the cap is cut at its end, and its span with it."""
        start, end = evidence.span
        return cls(
            document_id=evidence.document_id,
            document=evidence.document[:MAX_NAME_CHARS],
            chunk_id=evidence.chunk_id,
            span=(start, min(end, start + MAX_EVIDENCE_CHARS)),
            text=evidence.text[:MAX_EVIDENCE_CHARS],
            score=evidence.score,
        )


class EvidenceReply(Wire):
    """``POST /v1/edges/{id}/replies/{request_id}``; a refusal has a reason and no evidence."""

    evidence: Annotated[list[EvidenceBody], Field(max_length=MAX_EVIDENCE)] = []
    refused: Annotated[str, Field(max_length=500)] = ""
    trace: Annotated[list[TraceStep], Field(max_length=64)] = []


class QuestionBody(Wire):
    """``POST /v1/questions``: an escalated question."""

    question: Question
    edge: EdgeName | None = None  # who asks; None: an operator
    query_id: Annotated[str, Field(max_length=64)] = ""
    m: Annotated[int, Field(ge=1, le=100)] | None = None  # default: the cloud's setting


class MatchBody(Wire):
    """``POST /v1/match``: summary matching only."""

    question: Question
    m: Annotated[int, Field(ge=1, le=1_000)] = 5


class Match(Wire):
    """One matched summary."""

    edge: str
    summary_id: str
    score: float


class MatchReply(Wire):
    """Best first."""

    matches: list[Match]


class EdgeView(Wire):
    """One row of ``GET /v1/edges``."""

    edge: str
    online: bool  # holds a poll, or did within the last seconds
    last_seen: float  # seconds since the epoch; 0: never
    summaries: int
    epoch: str
    version: int
