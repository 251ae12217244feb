"""``POST /retrieval``: passages for Dify, as its contract of external knowledge bases has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from edge_node.answering.answerer import Ask
from edge_node.api.access import ReaderDep, later
from edge_node.api.forms import said, telling
from edge_node.api.sources import uri_of
from shared.errors import NotFound
from shared.http.middleware import while_connected
from shared.http.problems import Told
from shared.records import Evidence, located
from shared.text.inert import inert
from shared.wire import Question

ALL_SITES = "all-sites"  # the knowledge of this site and of those that share with it; an edge's id is that of the site alone
# Dify's own; for others the status stands
CODES = {"no_credentials": 1001, "bad_key": 1002, "bad_token": 1002, "forbidden": 1002, "not_found": 2001}


class RetrievalSetting(BaseModel):
    """How many passages, and how near the question at least. A score is a cosine; what lies below 0 counts as 0."""

    model_config = ConfigDict(allow_inf_nan=False)

    top_k: Annotated[int, Field(ge=1, le=100)]
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class RetrievalBody(BaseModel):
    """What Dify asks for. ``knowledge_id``: this edge's id, or ``all-sites``."""

    knowledge_id: Annotated[str, Field(max_length=200)]
    query: Question
    retrieval_setting: RetrievalSetting
    metadata_condition: dict[str, Any] | None = None


class Record(BaseModel):
    """A passage."""

    content: str
    score: float
    title: str
    metadata: dict[str, Any]


class Records(BaseModel):
    """``POST /retrieval``: best first."""

    records: tuple[Record, ...]


def error_body(told: Told) -> dict[str, Any]:
    """An error as Dify reads it.

    >>> error_body(Told(404, "not_found", "there is no knowledge 'x'", "", {}))
    {'error_code': 2001, 'error_msg': "there is no knowledge 'x'"}
    """
    return {"error_code": CODES.get(told.code, told.status), "error_msg": said(told)}


router = APIRouter(route_class=telling(error_body))


@router.post("/retrieval")
async def retrieval(body: RetrievalBody, reader: ReaderDep, request: Request) -> Records:
    """Passages of this site or, with the knowledge ``all-sites``, of all that may know and let them go: the question leaves then.

    501 for conditions on metadata.
    """
    if body.metadata_condition and body.metadata_condition.get("conditions"):
        raise later("filters by metadata")
    wanted = body.retrieval_setting
    if body.knowledge_id == ALL_SITES:
        found = await while_connected(request, reader.find(Ask(body.query, "cloud"), top_k=wanted.top_k))
        return Records(records=records(found.evidence, wanted))
    if body.knowledge_id != reader.edge:
        raise NotFound("knowledge", body.knowledge_id[:80], next_step=f"use {reader.edge!r} or {ALL_SITES!r}")
    here = await while_connected(request, reader.retrieve(body.query, top_k=wanted.top_k))
    return Records(records=records(here.evidence, wanted))


def records(evidence: Iterable[Evidence], wanted: RetrievalSetting) -> tuple[Record, ...]:
    """The passages with words to show that are near enough."""
    near = [one for one in evidence if one.text and max(one.score, 0.0) >= wanted.score_threshold]
    return tuple(
        Record(
            content=inert(one.text),
            score=max(one.score, 0.0),
            title=inert(located(one.document, one.place)),
            metadata={"site": one.edge, "document_id": one.document_id, "span": one.span, "path": uri_of(one)},
        )
        for one in near[: wanted.top_k]
    )
