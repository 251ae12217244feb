"""What an edge replies, as far as its REST has no record of it elsewhere; fields of a later release are passed over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from shared.records import EdgeReport, Evidence, Relation, TraceStep


class FoundSummary(BaseModel):
    """A text about several passages; ``chunk_ids`` are those of them that are nearest the question."""

    text: str
    chunk_ids: tuple[str, ...]


class RetrieveReply(BaseModel):
    """Best first. A passage of another site that is not to be quoted comes without its text."""

    evidence: tuple[Evidence, ...]
    facts: tuple[str, ...] = ()
    summaries: tuple[FoundSummary, ...] = ()  # of EraRAG's tree
    edges: tuple[EdgeReport, ...] = ()
    degraded: bool = False  # the cloud is away: these are the passages of this site alone
    reason: str = ""
    trace: tuple[TraceStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A document that is stored, and will be indexed: ``Client.wait`` waits for that."""

    document_id: str
    job_id: str
    duplicate: bool = False  # the same bytes were there already
    ended_jobs: tuple[str, ...] = ()  # of former versions that are indexed no more
    labels: tuple[str, ...] = ()
    share: str = ""  # how much of it may leave: never, summary, evidence, full
    unnamed_labels: tuple[str, ...] = ()  # that the sharing policy does not name: they let nothing leave


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document with its labels; ``share`` and ``unnamed_labels`` as in ``Receipt``."""

    document_id: str
    labels: tuple[str, ...]
    share: str = ""
    unnamed_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """How far a document is. ``status``: queued, running, indexed or parked; the last one with its reason."""

    job_id: str
    document_id: str
    name: str
    status: str
    code: str = ""  # a stable word for the reason
    reason: str = ""
    next_step: str = ""
    step: str = ""
    done: int = 0
    total: int = 0
    eta_s: float | None = None
    ended_at: float | None = None  # seconds since the epoch
    calls: int = 0  # of the model
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A document of an edge, and how it stands there."""

    document_id: str
    name: str
    status: str  # queued, running, indexed, parked
    title: str = ""
    labels: tuple[str, ...] = ()
    source: str = ""  # the sync that put it there; "": it came another way
    bytes: int = 0
    code: str = ""
    reason: str = ""
    next_step: str = ""
    shortfalls: tuple[dict[str, Any], ...] = ()  # what could not be read of it
    can_retry: bool = False  # another try may do better
    has_original: bool = True  # its file as it came is still there
    parsers: tuple[str, ...] = ()  # that read it, each with its version
    languages: tuple[dict[str, Any], ...] = ()  # of its passages, each with the pack that reads them, most passages first
    created_at: float = 0.0  # seconds since the epoch
    job_id: str = ""
    replaces: str | None = None  # id of the version that is served until this one is indexed
    served: bool = False
    chunks: int | None = None  # of one document that was asked for
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents by name; ``next`` goes into ``after`` for the page that follows, None: this is the last one."""

    documents: tuple[Document, ...]
    counts: dict[str, int]  # of all, by status
    next: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentText:
    """Characters [start, end) of the ``length`` that were read from a document."""

    document_id: str
    name: str
    title: str
    start: int
    end: int
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """A receipt. ``erased``: no byte is left in the store's files; ``cloud``: whether the cloud has forgotten too."""

    receipt_id: str
    document_id: str
    deleted_at: float  # seconds since the epoch
    chunks: int
    erased: bool
    cloud: str


@dataclass(frozen=True, slots=True)
class Deletions:
    """The receipts of one document, newest first."""

    receipts: tuple[Deletion, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """What the graph has of a name."""

    key: str
    name: str
    type: str
    description: str
    chunk_ids: tuple[str, ...]
    mentions: int
    degree: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An entity with those around it, the nearest first; both empty for a name that the graph does not have."""

    entities: tuple[Node, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verdict has changed: learned, counted, noted or nothing."""

    outcome: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether questions can come, and why not. ``faults``: kinds of documents that cannot be read now."""

    ready: bool = False
    reason: str = ""
    next_step: str = ""
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudLine:
    """An edge's line to its cloud."""

    url: str = ""
    connected: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """An edge. ``settled``: nothing waits, and what the cloud should know it knows."""

    edge: str
    settled: bool
    strategy: str = ""
    documents: dict[str, int] = field(default_factory=dict)  # by status
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    failed: str = ""
    outdated: int = 0  # documents that newer parsers would read anew
    shortfalls: dict[str, int] = field(default_factory=dict)  # documents by the code of what of them was not read
    cloud: CloudLine = CloudLine()


@dataclass(frozen=True, slots=True)
class Sites:
    """The own site, its line to the cloud, and what the other sites said that the answers to this client asked."""

    home: str
    documents: int
    cloud: CloudLine
    others: tuple[EdgeReport, ...]
