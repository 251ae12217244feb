"""Every knob of the cloud, with its unit, its default and the paper's section. Read from ``DGRAG_CLOUD_*``, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.settings import Count, FrontSettings, Port, Section, TelemetrySettings, secret_of
from shared.wire import EVIDENCE_BUDGET_TOKENS, EVIDENCE_MIN_SCORE, MAX_MEMORIES, POINTS_MAX_BYTES

PAPER_THRESHOLD = 0.4  # DGRAG §IV-B, both thresholds; a cosine of the paper's embedding model
MATCH_THRESHOLD = 0.25  # of MiniLM: 96 % of 241 textbook questions reach their site, at 0.35 only 91 % (ADR 11); the paper has 0.4
EVIDENCE_THRESHOLD = EVIDENCE_MIN_SCORE  # the paper's; suits MiniLM: answering passages of the samples score 0.56 or more

Cosine = Annotated[float, Field(ge=-1, le=1)]
ReplicaName = Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,62})?$")]
Seconds = Annotated[float, Field(gt=0, le=600)]


class StoreSettings(Section):
    """Where the cloud keeps what it holds: docs/operations.md, "Several clouds over PostgreSQL"."""

    database_url: SecretStr = SecretStr("")  # postgresql://user:password@host/database, of several clouds; empty: a file in state_dir
    database_url_file: Path | None = None  # the same in a file, for who keeps passwords out of the environment
    notices_url: SecretStr = SecretStr(
        ""
    )  # a way to PostgreSQL itself for notices (LISTEN), where database_url leads to a pooler such as PgBouncer
    notices_url_file: Path | None = None  # the same in a file
    replica: ReplicaName = ""  # this cloud's name among several; empty: its host's, with random digits

    def store_url(self) -> str:
        """Of the PostgreSQL; "" for the file. Raises SettingsError for a file that cannot be read."""
        return secret_of(self.database_url, self.database_url_file, "DGRAG_CLOUD_DATABASE_URL_FILE")

    def listening_url(self) -> str:
        """Where notices arrive; "": where the store is. Raises SettingsError as ``store_url``."""
        return secret_of(self.notices_url, self.notices_url_file, "DGRAG_CLOUD_NOTICES_URL_FILE")


class ServiceSettings(TelemetrySettings, FrontSettings):
    """The service, and who may come in."""

    port: Port = 8099
    state_dir: Path = Path(".dgrag/cloud")
    index: Literal["faiss", "numpy", "nano"] = "faiss"
    max_body_bytes: Annotated[int, Field(ge=1024)] = 8 * 2**20
    erase_every_s: Annotated[float, Field(gt=0, le=60)] = 20.0  # so long the bytes of a removed summary may stay in the store's file
    max_poll_s: Annotated[float, Field(ge=0, le=60)] = 30.0  # a poll is held no longer, whatever the edge asks for
    clock_skew_s: Annotated[float, Field(gt=0, le=600)] = 60.0  # between an edge's clock and ours (goal S3)
    rotation_grace_s: Annotated[float, Field(ge=0)] = 3600.0  # so long an edge's former key is still taken
    requests_per_minute: Count = 3000
    oidc_label_claim: str = ""  # a token with labels may do nothing here: which documents have them, only their sites know
    connections_per_address: Annotated[int, Field(ge=0)] = 256  # an edge has about four
    questions_at_once: Count = 16
    searches_at_once: Count = 64  # for passages alone: no model is kept busy, and most of a search waits for edges
    questions_waiting: Annotated[int, Field(ge=0)] = 64  # of each kind of work, half of them of one asker beside others; then 503


class TrustSettings(Section):
    """Edges that fail or lie (goals R6, S10)."""

    breaker_failures: Annotated[int, Field(ge=1)] = 5  # in a row; then an edge is left alone …
    breaker_s: Annotated[float, Field(gt=0)] = 30.0  # … for so long, and probed once
    slots_per_edge: Annotated[int, Field(ge=1)] = 3  # of the m matched summaries, at most, where others match too
    max_summaries_per_edge: Annotated[int, Field(ge=1)] = 20_000


class MemorySettings(Section):
    """What edges let the cloud know of their memories (FD-RAG §6)."""

    memory_bank: bool = True  # False: none is held; of several clouds all have to stop first
    memory_trusted: tuple[str, ...] = ()  # edges whose answers may be given on the word of one site alone, as JSON: ["ward"]
    memory_threshold: Annotated[float, Field(ge=0, le=2)] = 0.92  # of the score from which one answers; above 1: none does
    memory_hint: Cosine = 0.6  # of a question with a memory's from which the memory's edge may know
    max_memories_per_edge: Annotated[int, Field(ge=1, le=MAX_MEMORIES)] = MAX_MEMORIES


class RetrievalSettings(TrustSettings, MemorySettings):
    """Cross-edge retrieval (DGRAG §III-C, step 6, and §IV-B)."""

    match_m: Annotated[int, Field(ge=1, le=100)] = 5  # summaries; the paper's mixed-domain setting
    match_threshold: Cosine = MATCH_THRESHOLD
    match_lead: Annotated[float, Field(ge=0, le=1)] = 0.9  # of the best edge's score, that an edge needs to match for an answer; 0: off
    edges_k: Annotated[int, Field(ge=1, le=100)] = 3
    evidence_threshold: Cosine = EVIDENCE_THRESHOLD
    evidence_budget_tokens: Annotated[int, Field(ge=50, le=100_000)] = EVIDENCE_BUDGET_TOKENS  # suits the 1.5B model; a large one: 4000
    deadline_s: Seconds = 20.0  # of one fan-out
    patience_s: Seconds = 3.0  # that every edge has, however fast the others are; who is later often is left alone for `breaker_s`
    straggler_s: Seconds = 5.0  # that an edge has at least, of whose pace nothing is known; then half of the edges may be enough


class AnswerSettings(Section):
    """What the large model may write, and when it is not asked to."""

    answer_deadline_s: Seconds = 120.0  # of a whole question
    max_answer_tokens: Annotated[int, Field(ge=8)] = 96
    samples: Annotated[int, Field(ge=1, le=8)] = 3  # answers in one batch
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.4
    verify: bool = True  # ask once more, for one token, whether the passages show the answer
    min_sufficiency: Annotated[float, Field(ge=0, le=1)] = 0.45  # P(yes) below which an answer is shown as not certain …
    min_shown: Annotated[float, Field(ge=0, le=1)] = 0.1  # … and below which it is not shown
    min_agreement: Annotated[float, Field(ge=0, le=1)] = 0.7  # share of pairs of samples that say the same, below which it is not certain


class GlobalSettings(Section):
    """Questions about everything (GraphRAG §2.6 over sites)."""

    global_questions_at_once: Annotated[int, Field(ge=1)] = 4  # besides the others; `questions_waiting` wait here too
    global_edges: Annotated[int, Field(ge=1, le=1000)] = 100  # that are asked
    global_deadline_s: Seconds = 200.0  # of the fan-out
    global_straggler_s: Seconds = 60.0  # that an edge has at least: its points take as long as it has reports, and its model is its own
    global_answer_deadline_s: Seconds = 280.0  # of the whole question
    global_reply_bytes: Annotated[int, Field(ge=1000, le=250_000)] = POINTS_MAX_BYTES  # of one edge's points
    global_method: Literal["sentences", "paper"] = "sentences"  # "paper": all points are joined in one call
    global_reduce_tokens: Annotated[int, Field(ge=200, le=100_000)] = 4000  # of the points that the answer is made of; the paper: 8000
    global_answer_tokens: Annotated[int, Field(ge=16, le=4000)] = 320  # by the paper's method


class CloudSettings(GlobalSettings, AnswerSettings, RetrievalSettings, StoreSettings, ServiceSettings, BaseSettings):
    """The cloud's settings."""

    model_config = SettingsConfigDict(env_prefix="DGRAG_CLOUD_", frozen=True)
