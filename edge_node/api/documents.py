"""Documents: accepted, listed, deleted, and what they would cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from sse_starlette import EventSourceResponse
from starlette.datastructures import UploadFile

from edge_node.api.access import GuardedRoute, Node, ReaderDep
from edge_node.database.replies import usage
from edge_node.documents.estimate import Estimate
from edge_node.documents.originals import Reread, Rereading
from edge_node.documents.store import MOST_CHARS, Accepted
from edge_node.node import EdgeNode
from edge_node.records import DocumentText, Label, Offered, Share, document_id
from shared.errors import InputError, NotFound
from shared.http.access import is_form
from shared.http.json_shape import check_shape
from shared.http.middleware import while_connected
from shared.records import DocumentId
from shared.text.document_names import as_seen
from shared.wire import MAX_NAME_CHARS

T = TypeVar("T")
MOST_PAGES = 100_000
MOST_MARKED = 2_000  # characters
MIN_WIDTH, MAX_WIDTH = 100, 2_400  # pixels
MAX_ESTIMATED = 1000  # documents in one request
MAX_ESTIMATED_VALUES = 40 * MAX_ESTIMATED  # their labels and all
Labels = Annotated[tuple[Label, ...], Field(max_length=32, fail_fast=True)]
LABELS: TypeAdapter[tuple[str, ...]] = TypeAdapter(Labels)

Source = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
OwnedBy = Annotated[Source | None, Query()]  # the sync that a document must belong to

router = APIRouter(prefix="/v1", route_class=GuardedRoute)
EVENT_EVERY_S = 0.25  # at most: each event asks the store
EVENT_WAIT_S = 15.0  # a comment line at least this often keeps proxies from closing the stream


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
            seen = node.worker.news.changes
            try:
                job = await asyncio.to_thread(_job, node, job_id)
            except NotFound:
                yield {"event": "gone", "data": orjson.dumps({"job_id": job_id}).decode()}
                return
            yield {"event": "progress", "data": orjson.dumps(job).decode()}
            if job["ended_at"] is not None:
                return
            await asyncio.sleep(EVENT_EVERY_S)
            await node.worker.news.next_change(seen, wait_s=EVENT_WAIT_S)

    return EventSourceResponse(events())


@router.post("/jobs/{job_id}/cancel")
async def cancel_job(job_id: str, node: Node) -> dict[str, Any]:
    """Stop a job; its document is parked as ``cancelled``, and a former version of it goes on being served."""
    await node.cancel(job_id)
    return await asyncio.to_thread(_job, node, job_id)


@router.post("/jobs/{job_id}/retry", status_code=202)
async def retry_job(job_id: str, node: Node) -> dict[str, Any]:
    """Try the document of a job again, with a new job: a parked one, or one with a shortfall that another try may mend.

    409 ``conflict``: it would do no better. 410 ``original_dropped``: its file is no longer kept.
    """
    return await asyncio.to_thread(_job, node, await node.retry(job_id))


def _job(node: Node, job_id: str) -> dict[str, Any]:
    """A job with the step it is in, its own or the settle for which it waits, and with seconds until that ends.

    While it runs, its calls and tokens are what the edge's write path has used of the model since it began.
    """
    job = node.queue.get(job_id)
    step, eta_s = node.worker.news.place_of(job_id) if job["ended_at"] is None else (None, None)
    if running := node.worker.news.jobs.get(job_id):
        used = usage(node.queue.database).values()
        for field, total, before in zip(("calls", "tokens_in", "tokens_out"), used, running.used_before, strict=True):
            job[field] += total - before
    if step is None or not step.step:
        return job | {"step": job["status"], "done": 0, "total": 0, "eta_s": None}
    return job | {"step": step.step, "done": step.done, "total": step.total, "eta_s": eta_s}


class DocumentBody(BaseModel):
    """A document that is text already."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    text: str
    title: Annotated[str, Field(max_length=512)] = ""
    labels: Labels | None = None  # null: as they are, and none for a new document
    source: Source | None = None  # the sync that puts it here; null: as it is, and none for new content
    adopt: bool = True  # false: 409 where a document of its name came another way


class Part(BaseModel):
    """Which characters of a text."""

    start: Annotated[int, Field(ge=0, lt=2**53)] = 0
    end: Annotated[int | None, Field(ge=0, lt=2**53)] = None  # null: as many as one reply holds

    @model_validator(mode="after")
    def _begins_before_it_ends(self) -> Part:
        if self.end is not None and self.start > self.end:
            raise ValueError("start is behind end")
        return self


class FileName(BaseModel):
    """What is told of a file in a form: as in a JSON body."""

    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    source: Source | None = None
    adopt: bool = True


@dataclass(frozen=True, slots=True)
class Receipt:
    """A committed document. ``share``: how much of it may leave by the policy's labels as they are now, before its exceptions."""

    document_id: DocumentId
    job_id: str
    duplicate: bool
    ended_jobs: tuple[str, ...]
    labels: tuple[str, ...]
    share: Share
    unnamed_labels: tuple[str, ...]  # that the policy does not name: they let nothing leave
    replaces: bool  # another content of the same name, once this is indexed


class LabelsBody(BaseModel):
    """The labels of a document; none: an empty list."""

    model_config = ConfigDict(extra="forbid")

    labels: Labels


class NameBody(BaseModel):
    """The name of a document."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document with its labels. ``share``: how much of it may leave under them, before exceptions."""

    document_id: DocumentId
    labels: tuple[str, ...]
    share: Share
    unnamed_labels: tuple[str, ...]  # that the policy does not name: they let nothing leave


class RereadBody(BaseModel):
    """Which documents are read again; none of the three: those that newer parsers would read anew."""

    model_config = ConfigDict(extra="forbid")

    document: Annotated[str, Field(max_length=MAX_NAME_CHARS)] = ""
    format: Annotated[str, Field(max_length=32)] = ""
    all: bool = False

    @model_validator(mode="after")
    def _names_one_thing(self) -> RereadBody:
        if bool(self.document) + bool(self.format) + self.all > 1:
            raise ValueError("name a document, or a format, or all")
        return self


class DocumentsBody(BaseModel):
    """Documents whose cost is asked for."""

    model_config = ConfigDict(extra="forbid")

    documents: Annotated[tuple[DocumentBody, ...], Field(max_length=MAX_ESTIMATED, fail_fast=True)]


UPLOAD_SCHEMA = {"requestBody": {"content": {
    "application/json": {"schema": DocumentBody.model_json_schema()},
    "multipart/form-data": {"schema": {"type": "object", "properties": {
        "file": {"type": "string", "format": "binary"}, "labels": {"type": "string", "description": "with commas between them"},
        "name": {"type": "string", "description": "in the place of the file's name"},
        "source": {"type": "string", "description": "the sync that puts it here"},
        "adopt": {"type": "boolean", "description": "false: 409 where a document of its name came another way"},
    }}},
}}}  # fmt: skip


@router.post("/documents", status_code=202, openapi_extra=UPLOAD_SCHEMA)
async def add_document(request: Request, node: Node) -> Receipt:
    """Accept one document: committed when this answers, indexed soon after."""
    if is_form(request):
        return await accepted(node, await from_form(request))
    offered = await asyncio.to_thread(_document_in, await request.body())
    return await accepted(node, offered)


def _document_in(sent: bytes) -> Offered:
    """The document of a JSON body; in a thread. Raises TooLarge, RequestValidationError."""
    check_shape(sent)
    return _document(_parsed(sent))


def _document(value: Any) -> Offered:
    return from_body(validated(lambda: DocumentBody.model_validate(value)))


def _parsed(sent: bytes) -> Any:
    """The value of a JSON body. The parser of Pydantic takes twice the time, in which no other thread runs."""
    try:
        return orjson.loads(sent)
    except orjson.JSONDecodeError as error:
        fault = {"type": "json_invalid", "loc": ("body",), "msg": f"Invalid JSON: {error.msg}"}
        raise RequestValidationError([fault]) from error


async def accepted(node: EdgeNode, offered: Offered) -> Receipt:
    """Commit a document. Raises as ``EdgeNode.accept``."""
    return await receipt_of(node, await node.accept(offered))


async def receipt_of(node: EdgeNode, taken: Accepted) -> Receipt:
    """What a client learns of an accepted document."""
    share, unnamed = await asyncio.to_thread(node.sharing.of_labels, taken.labels)
    return Receipt(taken.document_id, taken.job_id, taken.duplicate, taken.ended_jobs, taken.labels, share, unnamed, taken.replaces)


async def from_form(request: Request) -> Offered:
    """The document in a form's part ``file``. Raises InputError."""
    async with request.form(max_files=1, max_fields=5) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise InputError("the form has no part 'file' with a file name", next_step="send the document as the part 'file'")
        labels = labels_in(str(form["labels"])) if "labels" in form else None
        written = {key: str(form[key]) for key in ("name", "source", "adopt") if key in form}
        told, raw = validated(lambda: FileName.model_validate({"name": file.filename} | written)), await file.read()
    name = as_seen(told.name)
    identity = await asyncio.to_thread(document_id, name, raw)  # a digest of many bytes
    return Offered(identity, name, raw, name, labels=labels, source=told.source, adopt=told.adopt)


def from_body(body: DocumentBody) -> Offered:
    """The document of a JSON body."""
    raw = body.text.encode("utf-8", errors="replace")
    name = as_seen(body.name)
    return Offered(document_id(name, raw), name, raw, "text.txt", body.title, body.labels, source=body.source, adopt=body.adopt)


@router.get("/documents")
async def list_documents(
    reader: ReaderDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=MAX_NAME_CHARS)] = "",
    status: Annotated[str, Query(pattern="^(queued|running|indexed|parked)?$")] = "",
    name: Annotated[str, Query(max_length=MAX_NAME_CHARS)] = "",
) -> dict[str, Any]:
    """A page of documents by name; ``next`` goes into ``after`` for the page that follows.

    A new version that waits comes after the one that it ``replaces``.
    """
    page, counts = await reader.documents(limit=limit, after=after, status=status, name=name)
    return {"documents": page, "counts": counts, "next": page[-1]["name"] if len(page) >= limit else None}


@router.get("/documents/{document_id}")
async def get_document(document_id: str, reader: ReaderDep) -> dict[str, Any]:
    """One document with its status, counts and, where parked, the reason; also by the id under which other sites' answers cite it."""
    return await reader.document(document_id)


@router.put("/documents/{document_id}/labels")
async def put_labels(document_id: str, body: LabelsBody, node: Node, source: OwnedBy = None) -> Labelled:
    """Give a document other labels, in the place of those that it has. They count from the next question on.

    What the policy does not let leave under them is withdrawn: summaries and memories that tell of it are made anew, and the cloud drops
    the former ones as soon as it can be reached. A version of its name that waits gets them too, whatever it was sent with. By either id.
    With ``source`` only where it belongs to that sync. 409 ``conflict``: it is damaged, or came another way.
    """
    return await relabelled(node, document_id, body.labels, source=source)


@router.put("/documents/{document_id}/name", status_code=202)
async def put_name(document_id: str, body: NameBody, node: Node, source: OwnedBy = None) -> Receipt:
    """Give a document another name without sending it again: indexed anew under it, while the one of the former name is deleted.

    A document that has the new name already is replaced. With ``source`` only where both names belong to that sync. 409 ``conflict``: it
    is damaged, or came another way.
    """
    return await receipt_of(node, await node.rename(DocumentId(document_id), body.name, source=source))


async def relabelled(node: EdgeNode, identity: str, labels: tuple[str, ...], *, source: str | None = None) -> Labelled:
    """Give a document other labels. Raises NotFound, Conflict."""
    found = await node.label(identity, labels, source=source)
    share, unnamed = await asyncio.to_thread(node.sharing.of_labels, labels)
    return Labelled(found, labels, share, unnamed)


def labels_in(written: str) -> tuple[str, ...]:
    """Labels with commas between them, each once. Raises RequestValidationError."""
    return validated(lambda: LABELS.validate_python(tuple(dict.fromkeys(filter(None, map(str.strip, written.split(",")))))))


@router.get("/documents/{document_id}/text")
async def get_text(document_id: str, reader: ReaderDep, part: Annotated[Part, Query()]) -> DocumentText:
    """The text that was read from a document, at most 20,000 characters of it; ``end`` says where the next part begins.

    By either id. 409 ``conflict``: it is parked, or not indexed yet.
    """
    end = part.start + MOST_CHARS if part.end is None else min(part.end, part.start + MOST_CHARS)
    return await reader.text(document_id, start=part.start, end=end)


SANDBOXED = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
FILE_SCHEMA: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}, "description": "the file"}
}
PNG_SCHEMA: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}, "description": "the page"}
}


@router.get("/documents/{document_id}/original", response_class=Response, responses=FILE_SCHEMA)
async def get_original(document_id: str, reader: ReaderDep) -> Response:
    """A document's file as it came, by either id. Shown in a sandbox, or saved where such a file may hold programs.

    410 ``original_dropped``: the site's settings do not let files stay for so long.
    """
    file = await reader.original(document_id)
    headers = {"Content-Type": file.media_type, "Content-Disposition": file.disposition}
    return Response(file.raw, headers=SANDBOXED | headers)


@router.get("/documents/{document_id}/pages/{page}.png", response_class=Response, responses=PNG_SCHEMA)
async def get_page_image(
    document_id: str,
    page: Annotated[int, Path(ge=1, le=MOST_PAGES)],
    reader: ReaderDep,
    span: Annotated[str, Query(pattern=r"^([0-9]{1,9}-[0-9]{1,9})?$")] = "",
    width: Annotated[int, Query(ge=MIN_WIDTH, le=MAX_WIDTH)] = 1_000,
) -> Response:
    """A page of a PDF, or a scan, as a picture, ``width`` pixels wide. By either id.

    ``span``: what is marked, as START-END in characters of the document's text: addresses, which
    logs keep, have no words of it.
    404: it has no such page. 410 ``original_dropped``, as for the file. 422 ``unreadable_document``: it has no pages.
    """
    image = await reader.page_image(document_id, page, span=_span(span), width=width)
    return Response(image, media_type="image/png", headers=SANDBOXED)


def _span(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    start, end = map(int, text.split("-"))
    return start, min(end, start + MOST_MARKED)


@router.post("/reread", status_code=202)
async def reread(body: RereadBody, node: Node) -> Reread:
    """Read documents again from their files, by the parsers as they are now; what reads the same is not indexed anew.

    One by its name or id, those of a format (its suffix), or all; without any of them those that newer parsers would read anew.
    """
    return await node.reread(Rereading(body.document, body.format, body.all))


@router.delete("/documents/{document_id}")
async def delete_document(document_id: str, node: Node, source: OwnedBy = None) -> dict[str, Any]:
    """Delete a document with all that came from it; the receipt says whether every trace is gone, here and in the cloud.

    With ``source`` only where it belongs to that sync. 409 ``conflict``: a document of its name came another way.
    """
    return await node.remove(DocumentId(document_id), source=source)


@router.get("/receipts")
async def list_receipts(document_id: Annotated[str, Query(min_length=1, max_length=64)], node: Node) -> dict[str, Any]:
    """The receipts of one document, newest first: for a client that lost the answer to its deletion."""
    return {"receipts": await asyncio.to_thread(node.receipts_of, document_id)}


@router.get("/receipts/{receipt_id}")
async def get_receipt(receipt_id: str, node: Node) -> dict[str, Any]:
    """The present state of a deletion: ``cloud`` becomes ``confirmed`` once the cloud has forgotten the document too."""
    return await asyncio.to_thread(node.receipt, receipt_id)


@router.post("/estimate", openapi_extra=UPLOAD_SCHEMA)
async def estimate(request: Request, node: Node) -> Estimate:
    """What indexing would cost: of one document, as it would be added, or of ``{"documents": […]}``. Nothing is stored or spent."""
    return await while_connected(request, node.estimate(await _offered(request)))


async def _offered(request: Request) -> list[Offered]:
    if is_form(request):
        return [await from_form(request)]
    return await asyncio.to_thread(_documents_in, await request.body())


def _documents_in(sent: bytes) -> list[Offered]:
    check_shape(sent, max_values=MAX_ESTIMATED_VALUES)
    value = _parsed(sent)
    if not isinstance(value, dict) or "documents" not in value:
        return [_document(value)]
    documents = validated(lambda: DocumentsBody.model_validate(value)).documents
    return [from_body(body) for body in documents]


def validated(validate: Callable[[], T]) -> T:
    """What a route makes of a body that it reads itself. Raises RequestValidationError."""
    try:
        return validate()
    except ValidationError as error:  # this route reads its body itself, as it takes two kinds
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from error
