"""One document: what is known of it, its text page by page, and a passage of it as an answer cites it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field, model_validator

from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.console.excerpts import PAGE, Excerpt, Window, beside, excerpt, page_of, page_with
from edge_node.api.documents import labels_in, relabelled
from edge_node.node import EdgeNode
from edge_node.policy.shares import MEANING
from edge_node.records import DocumentText
from shared.errors import NotFound
from shared.http.console.pages import pages_of
from shared.records import DocumentId
from shared.text.citations import MOST_GATHERED

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
Place = Annotated[int, Field(ge=0, lt=2**53)]
Also = Annotated[list[Annotated[str, Field(pattern=r"^\d{1,15}-\d{1,15}$")]], Field(max_length=MOST_GATHERED)]


class Span(BaseModel):
    """Characters [start, end) of a document's text; ``also``: other places that say more of the same."""

    start: Place
    end: Place
    also: Also = []

    @model_validator(mode="after")
    def _is_one(self) -> Span:
        if self.start >= self.end:
            raise ValueError("a passage begins before it ends")
        return self

    @property
    def others(self) -> list[tuple[int, int]]:
        """The other places."""
        return places_in(self.also)


class LabelsForm(BaseModel):
    """Labels, with commas between them."""

    labels: Annotated[str, Field(max_length=2_200)] = ""


@router.get("/console/passages/{document_id}")
async def passage(document_id: str, span: Annotated[Span, Query()], request: Request, node: Node) -> HTMLResponse:
    """A passage with what stands beside it, by either id of its document."""
    read, shown = await asyncio.to_thread(_read, node, document_id, beside(span.start, span.end, span.others))
    return pages_of(request).page(request, "own/passage.html", read=read, shown=shown, span=span)


@router.put("/console/documents/{document_id}/labels")
async def change_labels(document_id: str, form: Annotated[LabelsForm, Form()], request: Request, node: Node) -> HTMLResponse:
    """Give a document other labels; what the policy then says of it."""
    told = await relabelled(node, document_id, labels_in(form.labels))
    return pages_of(request).page(
        request, "own/labelled.html", one={"document_id": document_id, "labels": told.labels}, told=told, meaning=MEANING
    )


@router.get("/console/documents/{document_id}")
async def document_page(
    document_id: str,
    request: Request,
    node: Node,
    page: Annotated[int, Query(ge=1, lt=2**40)] = 1,
    start: Annotated[int | None, Query(ge=0, lt=2**53)] = None,
    end: Annotated[int | None, Query(ge=0, lt=2**53)] = None,
    also: Annotated[Also, Query()] = [],  # noqa: B006 - pydantic copies it
) -> HTMLResponse:
    """One document, by either of its ids. ``start`` and ``end``: the page with this span, which is marked, and ``also`` other ones."""
    window = page_of(page - 1) if start is None else page_with(start, max(start, end or 0), places_in(also))
    values = await asyncio.to_thread(_shown, node, document_id, window)
    return pages_of(request).page(request, "own/document.html", **values)


def places_in(written: Iterable[str]) -> list[tuple[int, int]]:
    """Places that an address writes as ``start-end``.

    >>> places_in(["7-12"])
    [(7, 12)]
    """
    return [(int(start), int(end)) for start, _, end in (one.partition("-") for one in written)]


def _shown(node: EdgeNode, document_id: str, window: Window) -> dict[str, Any]:
    view = node.document(document_id)
    values = {"one": view, "outside": node.sharing.outside_ids.of(DocumentId(view["document_id"]))}
    if not view["served"]:
        return values | {"shown": None, "told": None}
    read, shown = _read(node, view["document_id"], window)
    return values | {
        "shown": shown,
        "told": None,
        "page": window.start // PAGE + 1,
        "pages": max(1, -(-read.length // PAGE)),
        "length": read.length,
    }


def _read(node: EdgeNode, document_id: str, window: Window) -> tuple[DocumentText, Excerpt]:
    """Raises NotFound for an unknown document and for a place behind its end, and Conflict where there is no text."""
    read = node.document_text(document_id, start=window.read_from, end=window.read_to)
    if window.place >= max(read.length, 1):
        step = f"the text of {read.name[:80]!r} has {read.length:,} characters"
        raise NotFound("passage", f"{window.place}", next_step=step)
    return read, excerpt(read, window)
