"""The graph at the console: an entity and what is told of it, the parts that the cloud knows by their summaries, and the communities."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from edge_node.api import communities as rest
from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.console.excerpts import word_start
from edge_node.communities.hierarchy import LEVELS
from edge_node.documents.finding import chunks_with
from edge_node.node import EdgeNode
from edge_node.records import WITH_GRAPH
from shared.http.console.pages import pages_of
from shared.records import ChunkId, Entity, Summary

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
FOUND = 20  # entities that a search shows
DRAWN = 120  # nodes of a drawing: more cannot be read
AT_FIRST = 40  # nodes of the drawing where no entity is chosen
LINES = 400  # edges of a drawing, the heaviest
PAGE = 50
PASSAGES = 10  # of an entity on a page, and of a search
BESIDE = 120  # characters on either side of a word that was looked for
Words = Annotated[str, Query(max_length=200)]
Key = Annotated[str, Query(max_length=512)]
Hops = Annotated[int, Query(ge=1, le=2)]
From = Annotated[int, Query(ge=0, lt=2**31)]


@dataclass(frozen=True, slots=True)
class Place:
    """A passage, and where it stands in its document."""

    document_id: str
    document: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A subgraph with its members, the most often told of first; ``summary``: what the cloud knows of it; None: it is still to be made."""

    subgraph_id: str
    members: tuple[Entity, ...]
    summary: Summary | None


@router.get("/console/graph")
async def graph_page(request: Request, node: Node, q: Words = "", entity: Key = "", hops: Hops = 1, skip: From = 0) -> HTMLResponse:
    """An entity with its neighbourhood, its relations and its passages; where none is chosen, the best connected ones."""
    if not node.strategy.has_graph:
        return pages_of(request).page(request, "own/no_graph.html", with_graph=WITH_GRAPH)
    values = await asyncio.to_thread(_shown, node, entity, hops, skip)
    found = await asyncio.to_thread(node.strategy.named, q, limit=FOUND + 1) if q.strip() else []
    told = await asyncio.to_thread(_with_words, node, q) if q.strip() and not found else []
    return pages_of(request).page(request, "own/graph.html", q=q, hops=hops, skip=skip, found=found, told=told, most=FOUND, **values)


@router.get("/console/graph/subgraphs")
async def subgraphs_page(request: Request, node: Node, skip: From = 0) -> HTMLResponse:
    """The parts of the graph, each with its summary."""
    if not node.strategy.has_graph:
        return pages_of(request).page(request, "own/no_graph.html", with_graph=WITH_GRAPH)
    parts, there = await asyncio.to_thread(_parts, node, skip)
    after = skip + PAGE if skip + PAGE < there else None
    return pages_of(request).page(request, "own/subgraphs.html", parts=parts, there=there, next=after, has_cloud=node.link is not None)


@router.get("/console/graph/communities")
async def communities_page(
    request: Request, node: Node, level: Annotated[int, Query(ge=0, lt=LEVELS)] = 0, after: Annotated[str, Query(max_length=64)] = ""
) -> HTMLResponse:
    """The communities of a level."""
    if not node.strategy.has_graph:
        return pages_of(request).page(request, "own/no_graph.html", with_graph=WITH_GRAPH)
    reply = await rest.communities(node, level, PAGE, after)
    return pages_of(request).page(request, "own/communities.html", reply=reply, level=level, levels=range(LEVELS))


@router.get("/console/graph/reports/{community_id}")
async def report_page(request: Request, node: Node, community_id: str) -> HTMLResponse:
    """The report about a community, each finding with its passages."""
    report = await rest.report(community_id, node)
    chunk_ids = [source.chunk_id for finding in report.findings for source in finding.sources]
    places = await asyncio.to_thread(_places, node, chunk_ids)
    return pages_of(request).page(request, "own/report.html", report=report, places=places)


def _shown(node: EdgeNode, entity: str, hops: int, skip: int) -> dict[str, Any]:
    """What the page of an entity needs; ``centre`` is None where none is chosen, or the chosen one is not there any more."""
    drawn = DRAWN if entity else AT_FIRST
    around = node.strategy.neighbourhood(entity, hops=hops if entity else 0, limit=drawn)
    centre = around["entities"][0] if entity and around["entities"] else None
    names = {one["key"]: one["name"] for one in around["entities"]}
    relations = sorted(around["relations"], key=lambda one: -one["weight"])
    own = [one for one in relations if centre and centre["key"] in (one["source"], one["target"])]
    chunk_ids: Sequence[ChunkId] = centre["chunk_ids"] if centre else ()
    page = chunk_ids[skip : skip + PASSAGES]
    found = _places(node, page)
    return {
        "entity": entity,
        "centre": centre,
        "names": names,
        "others": [one for one in around["entities"] if one is not centre],
        "relations": own,
        "passages": [found[chunk_id] for chunk_id in page if chunk_id in found],
        "next": skip + PASSAGES if skip + PASSAGES < len(chunk_ids) else None,
        "drawn": drawn,
        "drawing": {
            "nodes": [{"id": one["key"], "name": one["name"], "type": one["type"], "degree": one["degree"]} for one in around["entities"]],
            "edges": [_line(one) for one in relations[:LINES]],
            "centre": centre["key"] if centre else "",
        },
    }


def _line(relation: dict[str, Any]) -> dict[str, str]:
    return {"source": relation["source"], "target": relation["target"], "name": ", ".join(relation["keywords"][:2])}


def _places(node: EdgeNode, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, Place]:
    chunks = node.documents.chunks(chunk_ids)
    return {
        ChunkId(chunk_id): Place(chunk.document_id, title or document, chunk.start, chunk.end, chunk.text)
        for chunk_id, (chunk, document, title) in chunks.items()
    }


def _with_words(node: EdgeNode, words: str) -> list[Place]:
    """Passages with words that no entity has in its name, each cut around the first of them."""
    found = _places(node, chunks_with(node.documents.database, words, limit=PASSAGES)).values()
    return [replace(place, text=_around(place.text, words.split()[0])) for place in found]


def _around(text: str, word: str) -> str:
    """A little of a text around a word.

    >>> _around("The pump leaks. " + "It rains. " * 30, "leaks")[:30], _around("A pump.", "PUMP")
    ('The pump leaks. It rains. It r', 'A pump.')
    """
    at = max(0, text.lower().find(word.lower()))
    first, last = word_start(text, max(0, at - BESIDE)), word_start(text, at + BESIDE)
    return f"{'… ' if first else ''}{text[first:last].strip()}{' …' if last < len(text) else ''}"


def _parts(node: EdgeNode, skip: int) -> tuple[list[Part], int]:
    """A page of the parts, the largest first, and how many there are."""
    members = node.graph.subgraphs()
    ids = sorted(members, key=lambda key: (-len(members[key]), key))[skip : skip + PAGE]
    summaries = node.graph.stored_summaries(ids)
    parts = []
    for key in ids:
        stored, known = summaries.get(key), node.strategy.entities(members[key])
        most_told = sorted(known.values(), key=lambda one: (-one.mentions, one.key))
        parts.append(Part(key, tuple(most_told), stored.summary if stored else None))
    return parts, len(members)
