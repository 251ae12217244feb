"""``POST /retrieval``: passages for Dify, as its contract of external knowledge bases has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edge_node.answering.answerer import Ask
from edge_node.api.access import ReaderDep
from edge_node.api.filtering import DATE_CHARS, FiltersBody, filters_of
from edge_node.api.forms import said, telling
from edge_node.api.sources import uri_of
from edge_node.documents.filters import literally
from edge_node.records import Filters
from shared.errors import InputError, NotFound
from shared.http.middleware import while_connected
from shared.http.problems import Told
from shared.records import Evidence, located
from shared.text.inert import inert
from shared.wire import MAX_NAME_CHARS, Question

ALL_SITES = "all-sites"  # the knowledge of this site and of those that share with it; an edge's id is that of the site alone
MEANT: dict[tuple[str, str], tuple[str, Callable[[str], str]]] = {  # what a condition is as a filter, and its value there
    ("label", "is"): ("label", str),
    ("label", "contains"): ("label", str),
    ("language", "is"): ("language", str),
    ("date", "after"): ("since", str),
    ("date", "before"): ("until", lambda text: f"{text}T00:00" if len(text) == DATE_CHARS else text),
    ("path", "is"): ("path", literally),
    ("path", "contains"): ("path", lambda text: f"*{literally(text)}*"),
    ("path", "start with"): ("path", lambda text: f"{literally(text)}*"),
    ("path", "end with"): ("path", lambda text: f"*{literally(text)}"),
}
UNDERSTOOD = f"use, each name once: {', '.join(f'{name} {operator}' for name, operator in MEANT)}"
# Dify's own; for others the status stands
CODES = {"no_credentials": 1001, "bad_key": 1002, "bad_token": 1002, "forbidden": 1002, "not_found": 2001}


class RetrievalSetting(BaseModel):
    """How many passages, and how near the question at least. A score is a cosine; what lies below 0 counts as 0."""

    model_config = ConfigDict(allow_inf_nan=False)

    top_k: Annotated[int, Field(ge=1, le=100)]
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class Condition(BaseModel):
    """One condition on the metadata of a document."""

    name: Annotated[str, Field(max_length=200)] | Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=1)]
    comparison_operator: Annotated[str, Field(max_length=40)]
    value: Annotated[str, Field(max_length=MAX_NAME_CHARS)] | float | None = None


class MetadataCondition(BaseModel):
    """Conditions, which hold together."""

    model_config = ConfigDict(allow_inf_nan=False)

    logical_operator: Literal["and", "or"] = "and"
    conditions: Annotated[list[Condition], Field(max_length=100)] | None = None


class RetrievalBody(BaseModel):
    """What Dify asks for. ``knowledge_id``: this edge's id, or ``all-sites``."""

    knowledge_id: Annotated[str, Field(max_length=200)]
    query: Question
    retrieval_setting: RetrievalSetting
    metadata_condition: MetadataCondition | None = None


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

    Conditions on label, language, date and path narrow what is found at this site; 400 for others, and with ``all-sites``.
    """
    filters = narrowed(body.metadata_condition)
    wanted = body.retrieval_setting
    if body.knowledge_id == ALL_SITES:
        found = await while_connected(request, reader.find(Ask(body.query, "cloud", filters=filters), top_k=wanted.top_k))
        return Records(records=records(found.evidence, wanted))
    if body.knowledge_id != reader.edge:
        raise NotFound("knowledge", body.knowledge_id[:80], next_step=f"use {reader.edge!r} or {ALL_SITES!r}")
    here = await while_connected(request, reader.retrieve(body.query, filters, top_k=wanted.top_k))
    return Records(records=records(here.evidence, wanted))


def narrowed(condition: MetadataCondition | None) -> Filters | None:
    """The filters that conditions mean. Raises InputError for those that no filter means.

    >>> after = Condition(name=["date"], comparison_operator="after", value="2026-01-31")
    >>> narrowed(MetadataCondition(conditions=[after, Condition(name="path", comparison_operator="start with", value="wards/")])).paths
    ('wards/*',)
    """
    if condition is None or not condition.conditions:
        return None
    if condition.logical_operator == "or" and len(condition.conditions) > 1:
        raise InputError("conditions joined by 'or' are not understood", next_step="join them by 'and', or ask for each by itself")
    given = dict[str, str]()
    for one in condition.conditions:
        name = one.name if isinstance(one.name, str) else one.name[0]
        made = MEANT.get((name, one.comparison_operator))
        if made is None or made[0] in given:
            what = "is there twice" if made else "is not understood"
            raise InputError(f"the condition {one.comparison_operator[:40]!r} on {name[:80]!r} {what}", next_step=UNDERSTOOD)
        given[made[0]] = made[1](one.value if isinstance(one.value, str) else _written(one.value))
    try:
        return filters_of(FiltersBody.model_validate(given))
    except ValidationError as error:
        raise InputError("a value of a condition is not understood", next_step="a date is 2026-01-31, or seconds since 1970") from error


def _written(value: float | None) -> str:
    """A number, which is a moment in seconds since 1970, as a date."""
    try:
        return "" if value is None else datetime.fromtimestamp(value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


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
