"""Documents and their jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sse_starlette import EventSourceResponse
from starlette.datastructures import UploadFile

from edge_node.api.deps import Node, later
from edge_node.store.documents import Accepted
from shared.errors import InputError, NotFound
from shared.records import DocumentId

T = TypeVar("T")
router = APIRouter(prefix="/v1")
EVENT_WAIT_S = 15.0  # a comment line at least this often keeps proxies from closing the stream
Labels = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=64)], ...], Field(max_length=32)]
LABELS: TypeAdapter[tuple[str, ...]] = TypeAdapter(Labels)


class DocumentBody(BaseModel):
    """A document that is text already."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=512)]
    text: str
    title: Annotated[str, Field(max_length=512)] = ""
    labels: Labels = ()


@router.post("/documents", status_code=202, openapi_extra={"requestBody": {"content": {
    "application/json": {"schema": DocumentBody.model_json_schema()},
    "multipart/form-data": {"schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}},
}}})  # fmt: skip
async def add_document(request: Request, node: Node) -> Accepted:
    """Accept one document: committed when this answers, indexed soon after."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_files=1, max_fields=4) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename:
                raise InputError("the form has no part 'file' with a file name", next_step="send the document as the part 'file'")
            labels = _valid(lambda: LABELS.validate_python(tuple(filter(None, str(form.get("labels", "")).split(",")))))
            return await node.accept(file.filename, await file.read(), reader=file.filename, labels=labels)
    sent = await request.body()
    body = _valid(lambda: DocumentBody.model_validate_json(sent))
    raw = body.text.encode("utf-8", errors="replace")
    return await node.accept(body.name, raw, reader="text.txt", title=body.title, labels=body.labels)


@router.get("/documents")
async def list_documents(
    node: Node,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=512)] = "",
    status: Annotated[str, Query(pattern="^(queued|running|indexed|parked)?$")] = "",
) -> dict[str, Any]:
    """A page of documents by name; ``next`` goes into ``after`` for the page that follows."""
    page = await asyncio.to_thread(node.documents.list, limit=limit, after=after, status=status)
    counts = await asyncio.to_thread(node.documents.counts)
    return {"documents": page, "counts": counts, "next": page[-1]["name"] if len(page) == limit else None}


@router.get("/documents/{document_id}")
async def get_document(document_id: str, node: Node) -> dict[str, Any]:
    """One document with its status, counts and, where parked, the reason."""
    return await asyncio.to_thread(node.documents.get, document_id)


@router.delete("/documents/{document_id}")
async def delete_document(document_id: str, node: Node) -> dict[str, Any]:
    """Remove a document, its share of the graph and its summaries."""
    return {"document_id": document_id, "removed_chunks": await node.remove(DocumentId(document_id))}


@router.get("/jobs/{job_id}")
async def get_job(job_id: str, node: Node) -> dict[str, Any]:
    """What indexing this document has cost so far, and where it stands."""
    return await asyncio.to_thread(_job, node, job_id)


@router.get("/jobs/{job_id}/events")
async def job_events(job_id: str, node: Node) -> EventSourceResponse:
    """Server-sent events ``progress`` until the job has ended, or ``gone`` when its document is deleted meanwhile."""
    await asyncio.to_thread(_job, node, job_id)  # an unknown job is a 404, not an empty stream

    async def events() -> AsyncIterator[dict[str, str]]:
        while True:
            seen = node.worker.now
            try:
                job = await asyncio.to_thread(_job, node, job_id)
            except NotFound:
                yield {"event": "gone", "data": orjson.dumps({"job_id": job_id}).decode()}
                return
            yield {"event": "progress", "data": orjson.dumps(job).decode()}
            if job["status"] in ("indexed", "parked"):
                return
            await node.worker.next_change(seen, wait_s=EVENT_WAIT_S)

    return EventSourceResponse(events())


@router.post("/jobs/{job_id}/{action}")
async def act_on_job(job_id: str, action: Literal["cancel", "retry"]) -> None:
    """Cancel or retry a job."""
    raise later(f"{action} of job {job_id[:64]!r}")


@router.post("/estimate")
async def estimate() -> None:
    """What indexing would cost."""
    raise later("the estimate of an indexing run")


def _valid(validate: Callable[[], T]) -> T:
    try:
        return validate()
    except ValidationError as error:  # this route reads its body itself, as it takes two kinds
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from error


def _job(node: Node, job_id: str) -> dict[str, Any]:
    """A job with the step it is in: its own, or the settle (a step of no job) for which it waits; ``eta_s`` is that step's end."""
    now, eta_s = node.worker.now, node.worker.eta_s
    job = node.documents.job(job_id)
    concerned = now.job_id == job_id or (now.job_id == "" and now.step and job["ended_at"] is None)
    if not concerned:
        return job | {"step": job["status"], "done": 0, "total": 0, "eta_s": None}
    return job | {"step": now.step, "done": now.done, "total": now.total, "eta_s": eta_s}
