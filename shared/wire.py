"""The body of every route between an edge and the cloud. What is not in this file never crosses the line.

There is no field for a chunk, entity or relation *vector*: the cloud embeds released text itself (design §6).
"""

from __future__ import annotations

import unicodedata
from base64 import b64decode, b64encode
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from shared.limits import BreakerState
from shared.records import PLAIN, Answer, Count, Evidence, Summary, SummaryDelta, SummaryId, TraceStep
from shared.telemetry.correlation import FORM

WIRE_VERSION = 6
WIRE_TAKEN = (WIRE_VERSION,)  # by a cloud; from 7 on the former number too, whose bodies stand in tests/contract/wire
WIRE_UNSAID = 5  # of who does not say which one it speaks
EDGE_ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
MAX_QUESTION_CHARS = 4_000
MAX_SUMMARY_CHARS = 8_000
MAX_SUMMARIES = 5_000
MAX_TITLES_CHARS = 2_000  # of the marks of one summary, in base64: 500 marks
MAX_EVIDENCE = 64
MAX_POINT_CHARS = 800  # of a sentence that somebody wrote about a passage
MAX_MORE_CHUNKS = 8
MAX_MEMORIES_ASKED = 8
MAX_TITLES_ASKED = 8
MAX_POLLED = 64  # requests in one answer to a poll
MAX_EVIDENCE_CHARS = 16_000
MAX_NAME_CHARS = 512  # of a document: a path below a folder, so that a file name's 255 bytes are too few
DEADLINE_HEADER = "deadline-ms"  # remaining milliseconds, never a clock time: hosts' clocks differ
AUDIENCE_HEADER = "dgrag-audience"  # the key id of the cloud that a request is for: no other cloud can use it
NDJSON = "application/x-ndjson"
EVIDENCE_BUDGET_TOKENS = 900  # of whole passages, that a cloud asks each edge for by default
POINTS_MAX_BYTES = 6_144  # of a site's reply to a question about everything, by default
EVIDENCE_MIN_SCORE = 0.4  # least cosine of question and passage: the edge's, before it sends one, and the cloud's, before it reads one
MOST_WHOLE = 32  # whole passages of one edge: a cloud embeds each, a hundred a second or so on two cores
HEARTBEAT_S = 0.25  # a cloud that works on a question says so as often; an edge whose patience is less takes it for hung

BLANK = "the question is blank: it has no character that can be seen"

MAX_MEMORIES = 2_000  # of an edge, and of one delta
MAX_MEMORY_QUESTION_CHARS = 300
MAX_MEMORY_ANSWER_CHARS = 120
MEMORY_ID = Field(min_length=1, max_length=64)

MemoryId = Annotated[str, PLAIN, MEMORY_ID]  # an outside id: another than in the edge's store
Version = Annotated[int, Field(ge=0, lt=2**53)]


def is_blank(text: str) -> bool:
    r"""Whether nothing of a text can be seen: it has spaces, control and format characters only.

    >>> is_blank(" \x00\u200b\n"), is_blank(" ? ")
    (True, False)
    """
    return all(unicodedata.category(char) in {"Cc", "Cf", "Zs", "Zl", "Zp"} for char in text)


def _asking(question: str) -> str:
    if is_blank(question):
        raise ValueError(BLANK)
    return question


Task = Literal["evidence", "reports"]
SharedLevel = Literal["dynamic", 0, 1, 2, 3]  # of reports that sites tell of; passages in their place are a yardstick of one site's own
EdgeName = Annotated[str, Field(pattern=EDGE_ID_PATTERN)]
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS), AfterValidator(_asking)]
Purpose = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
PublicKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$")]  # Ed25519, 32 bytes in base64
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # SHA-256


class Wire(BaseModel):
    """Base of all bodies: unknown fields are refused, NaN and Infinity too."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Enrolment(Wire):
    """``POST /v1/edges``, signed with the private half of ``public_key``: an edge joins once, with an operator's invitation."""

    edge: EdgeName
    public_key: PublicKey
    invitation: Annotated[str, Field(max_length=128)] = ""  # empty: only a cloud on loopback without keys takes that
    wire_version: int = WIRE_VERSION


class Rotation(Wire):
    """``POST /v1/edges/{id}/keys``, signed with the present key: a further key; the older ones end after a grace."""

    public_key: PublicKey
    proof: Annotated[str, Field(max_length=128)]  # base64, the new key's signature of "dgrag-rotation:<edge>:<present key id>"


class Enrolled(Wire):
    """What the cloud knows of the edge's summaries and memories, so that the edge knows what to send."""

    edge: EdgeName
    epoch: Annotated[str, Field(max_length=64)] = ""
    version: Count = 0
    memory_epoch: Annotated[str, Field(max_length=64)] = ""  # "": it holds no memories
    memory_version: Count = 0
    cloud_key: str = ""  # base64 Ed25519: the edge pins it when it joins; it countersigns the heads of the edge's ledger
    wire_version: int = WIRE_UNSAID  # that the cloud speaks
    titles: Annotated[bool, Field(exclude_if=lambda reads: not reads)] = False  # it reads marks of titles; said to who asks for it


class Head(Wire):
    """``PUT /v1/edges/{id}/ledger``: where the chain of the edge's egress ledger stands."""

    epoch: Annotated[str, Field(min_length=1, max_length=64)]
    seq: Annotated[int, Field(ge=1, lt=2**53)]
    hash: Digest


class Countersigned(Wire):
    """The cloud has seen this head at this time. ``signature`` is over ``head_message(edge, head, at)``."""

    head: Head
    at: float  # seconds since the epoch, by the cloud's clock
    signature: str  # base64 Ed25519, by the cloud's key


class Heads(Wire):
    """``GET /v1/edges/{id}/ledger/heads``: what the cloud has countersigned, by epoch and number; none: there are no more."""

    heads: Annotated[list[Countersigned], Field(max_length=1000)]


def head_message(edge: str, head: Head, at: float) -> bytes:
    """The bytes that a cloud signs when it countersigns a head.

    >>> head_message("ward", Head(epoch="e1", seq=3, hash="0" * 64), 5.25)[:25]
    b'dgrag-ledger-head:ward:e1'
    """
    return f"dgrag-ledger-head:{edge}:{head.epoch}:{head.seq}:{head.hash}:{at:.6f}".encode()


class SummaryBody(Wire):
    """One summary: text and counts."""

    summary_id: Annotated[str, Field(min_length=1, max_length=128)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY_CHARS)]
    entities: Annotated[int, Field(ge=0, le=1_000_000)]
    relations: Annotated[int, Field(ge=0, le=1_000_000)]
    titles: Annotated[  # marks in base64, for clouds that have said that they read them
        str, Field(max_length=MAX_TITLES_CHARS, pattern=r"^([A-Za-z0-9+/]{4})*$", exclude_if=lambda marks: not marks)
    ] = ""

    def to_record(self) -> Summary:
        """The record."""
        return Summary(SummaryId(self.summary_id), self.text, self.entities, self.relations, b64decode(self.titles))

    @classmethod
    def from_record(cls, summary: Summary) -> SummaryBody:
        """The body of a summary; a text over the cap is cut, and so are marks. Raises ValidationError."""
        return cls(
            summary_id=summary.summary_id,
            text=summary.text[:MAX_SUMMARY_CHARS],
            entities=summary.entities,
            relations=summary.relations,
            titles=b64encode(summary.titles).decode()[:MAX_TITLES_CHARS],
        )


SummaryName = Annotated[str, Field(min_length=1, max_length=128)]


class DeltaBody(Wire):
    """``PUT /v1/edges/{id}/summaries``."""

    epoch: Annotated[str, Field(min_length=1, max_length=64)]
    base_version: Annotated[int, Field(ge=0, lt=2**53)]
    version: Annotated[int, Field(ge=0, lt=2**53)]
    upserts: Annotated[list[SummaryBody], Field(max_length=MAX_SUMMARIES, fail_fast=True)] = []
    removals: Annotated[list[SummaryName], Field(max_length=MAX_SUMMARIES, fail_fast=True)] = []
    withheld: Annotated[Count, Field(exclude_if=lambda count: not count)] = 0  # as in the record: a number alone

    @classmethod
    def from_record(cls, delta: SummaryDelta) -> DeltaBody:
        """The body of a delta; a text over the cap is cut. Raises ValidationError."""
        return cls(
            epoch=delta.epoch,
            base_version=delta.base_version,
            version=delta.version,
            upserts=[SummaryBody.from_record(summary) for summary in delta.upserts],
            removals=list(delta.removals),
            withheld=delta.withheld,
        )

    def to_record(self) -> SummaryDelta:
        """The record."""
        upserts = tuple(body.to_record() for body in self.upserts)
        return SummaryDelta(self.epoch, self.base_version, self.version, upserts, tuple(map(SummaryId, self.removals)), self.withheld)


class EvidenceRequest(Wire):
    """What the cloud asks of an edge, as the answer to its poll."""

    request_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]  # goes into the path of the reply
    question: Question
    requester: Annotated[str, Field(max_length=80)] = ""  # the asking edge, by its key; "operator:<key name>"; the cloud vouches for it
    purpose: Purpose | None = None  # as the asker states it
    budget_tokens: Annotated[int, Field(ge=1, le=100_000)]
    whole: bool = False  # whole passages; False: their best sentences. How near and how many is for the edge to say
    deadline_ms: Annotated[int, Field(ge=0, le=600_000)]
    task: Task = "evidence"  # "reports": points for a global answer, out of this site's reports
    level: SharedLevel = "dynamic"  # of those
    max_bytes: Annotated[int, Field(ge=1_000, le=250_000)] = 250_000  # of the reply
    memories: Annotated[list[Annotated[str, PLAIN]], Field(max_length=MAX_MEMORIES_ASKED)] = []  # told ones, whose passages may answer
    memories_only: bool = False  # those passages, and nothing else
    titles: Annotated[  # marks in base64: question or passages name these documents of it. For edges that read it, as what follows
        str, Field(max_length=4 * MAX_TITLES_ASKED, pattern=r"^([A-Za-z0-9+/]{4})*$", exclude_if=lambda marks: not marks)
    ] = ""
    titles_only: Annotated[bool, Field(exclude_if=lambda only: not only)] = False  # passages about these, and nothing else
    traceparent: Annotated[str, Field(pattern=rf"^({FORM})?$", exclude_if=lambda sent: not sent)] = ""  # for edges that read it


class PollReply(Wire):
    """Requests that wait for this edge; empty when the poll ran out."""

    requests: Annotated[list[EvidenceRequest], Field(max_length=MAX_POLLED)] = []
    withdrawn: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=MAX_POLLED)] = []  # ids: nobody waits for a reply


class EvidenceBody(Wire):
    """One passage in a reply, best first. No score: it would tell how near what is masked in the text is to a question.

    The edge's name is not in it: the cloud takes it from who replied.
    """

    document_id: Annotated[str, PLAIN, Field(min_length=1)]
    document: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    chunk_id: Annotated[str, PLAIN, Field(min_length=1)]
    span: tuple[Count, Count]
    text: Annotated[str, Field(min_length=1, max_length=MAX_EVIDENCE_CHARS)]
    quotable: bool = True  # False: the cloud's model may read it, but no answer shows its words as a quote
    title: Annotated[str, Field(max_length=MAX_NAME_CHARS)] = ""  # of the document: what all its passages are about
    point: Annotated[str, Field(max_length=MAX_POINT_CHARS)] = ""  # as in the record, like what follows
    report: Annotated[str, PLAIN] = ""
    chunk_ids: Annotated[list[Annotated[str, PLAIN]], Field(max_length=MAX_MORE_CHUNKS)] = []

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
            quotable=evidence.quotable,
            title=evidence.title[:MAX_NAME_CHARS],
            point=evidence.point[:MAX_POINT_CHARS],
            report=evidence.report,
            chunk_ids=list(evidence.chunk_ids[:MAX_MORE_CHUNKS]),
        )


class EvidenceReply(Wire):
    """``POST /v1/edges/{id}/replies/{request_id}``; a refusal has a reason and no evidence."""

    evidence: Annotated[list[EvidenceBody], Field(max_length=MAX_EVIDENCE)] = []
    refused: Annotated[str, Field(max_length=500)] = ""
    trace: Annotated[list[TraceStep], Field(max_length=64)] = []
    reports: Count = 0  # read for a global answer …
    reports_there: Count = 0  # … of so many that this requester may be told of
    unread: Count = 0  # reports that were chosen, and not read in time or without failure
    without_model: bool = False  # no model has read them: the points are their sentences nearest the question


class QuestionBody(Wire):
    """``POST /v1/questions``: an escalated question. Who asks is whose key signed it, never a field."""

    question: Question
    purpose: Purpose | None = None
    query_id: Annotated[str, Field(max_length=64)] = ""
    m: Annotated[int, Field(ge=1, le=100)] | None = None  # default: the cloud's setting
    mode: Literal["answer", "global"] = "answer"  # "global": of all sites' reports (GraphRAG §2.6)
    level: SharedLevel = "dynamic"  # of those

    @model_validator(mode="after")
    def _level_is_of_reports(self) -> Self:
        if self.mode != "global" and self.level != "dynamic":
            raise ValueError("level is for mode global only")
        return self


class MatchBody(Wire):
    """``POST /v1/match``: summary matching only."""

    question: Question
    m: Annotated[int, Field(ge=1, le=1_000)] = 5
    min_score: Annotated[float, Field(ge=-1, le=1)] | None = None  # cosine; default: that of an answer's. The paper's measure has none: -1


class Match(Wire):
    """One matched summary. ``text``: for admins of the cloud; a site may let a fact stand in summaries that no reader may be told."""

    edge: str
    summary_id: str
    score: float
    text: str = ""


class MatchReply(Wire):
    """The m summaries that a question matches, and the edges that own them, best first. A second opinion is asked besides."""

    matches: list[Match]
    edges: list[str] = []


class AskLine(Wire):
    """A line of the answer to ``POST /v1/questions`` as ``application/x-ndjson``: a sign of life each ``HEARTBEAT_S``, then the end.

    Exactly one of ``answer`` and ``problem`` stands in the last line. Of a global answer come its sentences before, as they are written.
    """

    alive: bool = True
    text: Annotated[str, Field(max_length=MAX_EVIDENCE_CHARS)] | None = None  # its next sentences; "": those so far are not the answer
    answer: Answer | None = None
    problem: dict[str, str | int] | None = None  # RFC 9457, as the body of an error would be


class InviteBody(Wire):
    """``POST /v1/invites``: an operator lets an edge in."""

    edge: EdgeName
    ttl_s: Annotated[float, Field(ge=1, le=3600)] = 3600.0
    replace: bool = False  # the edge is known already and has lost its key


class Invited(Wire):
    """The token is shown once; the cloud keeps its hash."""

    edge: EdgeName
    token: str
    expires: float  # seconds since the epoch


class EdgeView(Wire):
    """One row of ``GET /v1/edges``.

    Of what a site's sharing policy keeps back a cloud is told one number, ``withheld``. Labels, rules and documents stay at the site, whose
    own ``dgrag status`` names them. An asking site is not told even the number.
    """

    edge: str
    online: bool  # holds a poll, or did within the last seconds
    last_seen: float  # seconds since the epoch; 0: never
    synced: float = 0.0  # when summaries of it were last stored, in the same; 0: none is held
    summaries: int
    epoch: str
    version: int
    quarantined: str = ""  # why an operator, or the cloud itself, has set the edge aside; it is not asked
    memories: int = 0  # that it told of, as far as they are held
    held_back: int = 0  # summaries that are not matched: near-duplicates and hubs
    withheld: int = 0  # summaries that the site's own sharing policy keeps there, besides ``summaries``
    reliability: float = 1.0  # share of its recent replies that held something useful, [0, 1]
    ledger: int = 0  # sequence number of the newest countersigned head
    breaker: BreakerState = "closed"  # open: it failed several times in a row, and is not asked; half-open: the next question tries it
    breaker_s: float = 0.0  # until an open one is half open
    asked: float = 1.0  # share of the questions for which it is a candidate that reach it, (0, 1]: less while it is hardly ever of use


class MemoryBody(Wire):
    """One memory. ``direct``: told as documents tell it, and it may answer; else a hint of whom to ask, with names that are not true."""

    memory_id: MemoryId
    question: Annotated[str, Field(min_length=1, max_length=MAX_MEMORY_QUESTION_CHARS)]
    answer: Annotated[str, Field(max_length=MAX_MEMORY_ANSWER_CHARS)] = ""
    direct: bool

    @model_validator(mode="after")
    def _answers_if_it_is_direct(self) -> Self:
        if self.direct and not self.answer.strip():
            raise ValueError("a direct memory must have an answer")
        return self


class MemoryDelta(Wire):
    """``PUT /v1/edges/{id}/memories``: what changed since ``base_version``; a snapshot has ``base_version`` 0."""

    epoch: Annotated[str, Field(min_length=1, max_length=64)]
    base_version: Version
    version: Version
    upserts: Annotated[tuple[MemoryBody, ...], Field(max_length=MAX_MEMORIES, fail_fast=True)] = ()
    removals: Annotated[tuple[MemoryId, ...], Field(max_length=MAX_MEMORIES, fail_fast=True)] = ()


class Feedback(Wire):
    """``POST /v1/queries/{id}/feedback`` of an edge: what whoever asked says of an answer. It stays there: the cloud takes none."""

    verdict: Literal["right", "wrong"]
