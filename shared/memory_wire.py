"""What crosses the line between an edge and the cloud of what an edge remembers: questions and answers, and no vector (as ``wire``)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from shared.records import PLAIN
from shared.wire import Wire

MAX_MEMORIES = 2_000  # of an edge, and of one delta
MAX_MEMORY_QUESTION_CHARS = 300
MAX_MEMORY_ANSWER_CHARS = 120
MEMORY_ID = Field(min_length=1, max_length=64)

MemoryId = Annotated[str, PLAIN, MEMORY_ID]  # an outside id: another than in the edge's store
Version = Annotated[int, Field(ge=0, lt=2**53)]


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
    upserts: Annotated[tuple[MemoryBody, ...], Field(max_length=MAX_MEMORIES)] = ()
    removals: Annotated[tuple[MemoryId, ...], Field(max_length=MAX_MEMORIES)] = ()


class Feedback(Wire):
    """``POST /v1/queries/{id}/feedback`` of an edge: what whoever asked says of an answer. It stays there: the cloud takes none."""

    verdict: Literal["right", "wrong"]
