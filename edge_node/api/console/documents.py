"""Documents at the console: added, what they would cost, listed while they are indexed, retried, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.documents import accepted, cancel_job, delete_document, from_form, get_job, get_receipt, retry_job
from edge_node.documents.estimate import Estimate
from edge_node.documents.parsers import SUFFIXES
from edge_node.node import EdgeNode
from edge_node.policy.shares import MEANING
from shared.errors import Conflict, InputError, NotFound
from shared.http.console.pages import pages_of
from shared.http.middleware import while_connected
from shared.wire import MAX_NAME_CHARS

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
ON_A_PAGE = 50
MOST_UPLOADS = 200  # whose end a page is told of at once, those sent first: more would be too long an address
AT_ONCE = 1_000  # parked documents that are looked up together
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
Amount = Annotated[int, Field(ge=0, lt=2**53)]
CHANGED = {"HX-Trigger": "changed"}  # the page asks for the list again


class Wanted(BaseModel):
    """Which documents are listed: of a status, with ``part`` in the name, with a label, from the name behind ``after``.

    ``job``: the uploads that have not ended yet.
    """

    status: Literal["", "queued", "running", "indexed", "parked"] = ""
    part: Name = ""
    label: Name = ""
    after: Name = ""
    job: list[str] = []

    @property
    def narrowing(self) -> dict[str, str]:
        """What narrows the list."""
        return {"status": self.status, "part": self.part, "label": self.label}

    def query(self, **other: str) -> str:
        """The same list, or another one, as the end of an address."""
        return urlencode({"status": self.status, "part": self.part, "label": self.label, "after": self.after} | other)


@dataclass(frozen=True, slots=True)
class Row:
    """A document as a row: its view, and where its job is while it is under way."""

    one: dict[str, Any]
    job: dict[str, Any] | None


class Totals(BaseModel):
    """What several documents would cost together."""

    documents: Amount = 0
    duplicates: Amount = 0
    chunks: Amount = 0
    tokens: Amount = 0
    model_calls: Amount = 0
    tokens_in: Amount = 0
    tokens_out: Amount = 0
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def with_(self, one: Estimate) -> Totals:
        """Those and one more.

        >>> Totals(chunks=2, seconds=1.5).with_(Estimate(1, 3, 90, 0, 0, 0, 2.5, 0, (), "defaults")).query()
        'documents=1&duplicates=0&chunks=5&tokens=90&model_calls=0&tokens_in=0&tokens_out=0&seconds=4.0'
        """
        return Totals(**{name: getattr(self, name) + getattr(one, name) for name in type(self).model_fields})

    def query(self) -> str:
        """As the end of the address at which the next document is added to them."""
        return urlencode(self.model_dump())


@router.get("/console/documents")
async def documents_page(wanted: Annotated[Wanted, Query()], request: Request, node: Node) -> HTMLResponse:
    """All documents, and where some are added."""
    listed = await _listed(node, wanted) | {"folders": node.folders.states()}
    most_bytes, suffixes = node.settings.max_document_bytes, sorted(SUFFIXES)
    return pages_of(request).page(request, "own/documents.html", **listed, most_bytes=most_bytes, suffixes=suffixes)


@router.get("/console/documents/folders")
async def folders(request: Request, node: Node) -> HTMLResponse:
    """The folders that the site keeps in step with, as they are now."""
    return pages_of(request).page(request, "own/folders.html", folders=node.folders.states())


@router.get("/console/documents/list")
async def document_list(wanted: Annotated[Wanted, Query()], request: Request, node: Node) -> HTMLResponse:
    """The list alone, and how those uploads ended of which the page does not know it."""
    return pages_of(request).page(request, "own/document_list.html", **await _listed(node, wanted))


@router.post("/console/documents")
async def add(request: Request, node: Node) -> HTMLResponse:
    """Accept one file."""
    offered = await from_form(request)
    return pages_of(request).page(request, "own/upload.html", name=offered.name, told=await accepted(node, offered), meaning=MEANING)


@router.post("/console/documents/estimate")
async def estimate(so_far: Annotated[Totals, Query()], request: Request, node: Node) -> HTMLResponse:
    """What one more file would cost, with those before. Raises InputError for one that cannot be read."""
    found = await while_connected(request, node.estimate([await from_form(request)]))
    for refused in found.unreadable:
        raise InputError(refused.reason, next_step="it is left out")
    return pages_of(request).page(request, "own/estimate.html", totals=so_far.with_(found), basis=found.basis)


@router.post("/console/documents/retry")
async def retry_all(request: Request, node: Node) -> HTMLResponse:
    """Queue all parked documents again."""
    parked = await asyncio.to_thread(_parked_jobs, node)
    ended = [await _retried(node, job_id) for job_id in parked]
    return pages_of(request).page(request, "own/retried.html", headers=CHANGED, number=sum(ended))


@router.post("/console/documents/jobs/{job_id}/retry")
async def retry(job_id: str, node: Node) -> Response:
    """Queue a document again."""
    await retry_job(job_id, node)
    return Response(status_code=204, headers=CHANGED)


@router.post("/console/documents/jobs/{job_id}/cancel")
async def cancel(job_id: str, node: Node) -> Response:
    """Stop a job."""
    await cancel_job(job_id, node)
    return Response(status_code=204, headers=CHANGED)


@router.get("/console/documents/receipts/{receipt_id}")
async def receipt(receipt_id: str, request: Request, node: Node) -> HTMLResponse:
    """What of a deletion is done by now."""
    return pages_of(request).page(request, "own/receipt.html", receipt=await get_receipt(receipt_id, node))


@router.delete("/console/documents/{document_id}")
async def delete(document_id: str, request: Request, node: Node) -> HTMLResponse:
    """Delete a document; its receipt. One that was deleted before has the receipt of then."""
    name = await asyncio.to_thread(_name, node, document_id)
    deleted = await delete_document(document_id, node)
    return pages_of(request).page(request, "own/deleted.html", headers=CHANGED, receipt=deleted, name=name)


def _name(node: EdgeNode, document_id: str) -> str:
    """A document's name; "": it is not there."""
    try:
        return str(node.documents.get(document_id)["name"])
    except NotFound:
        return ""


async def _listed(node: EdgeNode, wanted: Wanted) -> dict[str, Any]:
    views, following, counts = await asyncio.to_thread(_views, node, wanted)
    rows = [Row(one, await _under_way(node, one["job_id"]) if one["status"] == "running" else None) for one in views]
    uploads = {job_id: await _under_way(node, job_id) for job_id in wanted.job[-MOST_UPLOADS:]}
    ended = {job_id: found for job_id, found in uploads.items() if found is None or found["ended_at"] is not None}
    return {
        "rows": rows,
        "wanted": wanted,
        "next": following,
        "counts": counts,
        "at_work": bool(counts["queued"] or counts["running"] or ended),  # once some have ended, the page asks for those behind them
        "ended": ended,
        "most_uploads": MOST_UPLOADS,
    }


def _views(node: EdgeNode, wanted: Wanted) -> tuple[list[dict[str, Any]], str, dict[str, int]]:
    views = node.documents.list(limit=ON_A_PAGE, after=wanted.after, **wanted.narrowing)
    last = views[-1]["name"] if len(views) >= ON_A_PAGE else ""
    more = last and node.documents.list(limit=1, after=last, **wanted.narrowing)
    return views, wanted.query(after=last) if more else "", node.documents.counts()


async def _under_way(node: EdgeNode, job_id: str) -> dict[str, Any] | None:
    """A job with its progress; None: it has gone with its document."""
    try:
        return await get_job(job_id, node)
    except NotFound:
        return None


def _parked_jobs(node: EdgeNode) -> Sequence[str]:
    found, page = list[str](), node.documents.list(limit=AT_ONCE, status="parked")
    while page:
        found += [one["job_id"] for one in page]
        page = node.documents.list(limit=AT_ONCE, after=page[-1]["name"], status="parked")
    return found


async def _retried(node: EdgeNode, job_id: str) -> bool:
    """Whether a job waits again; another may have retried or deleted it meanwhile."""
    try:
        await node.retry(job_id)
    except (Conflict, NotFound):
        return False
    return True
