"""Communities of the graph, and the reports about them (GraphRAG §2.4, §2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from edge_node.api.access import GuardedRoute, ReaderDep
from edge_node.communities.elements import Finding
from edge_node.communities.hierarchy import LEVELS
from edge_node.communities.reports import Headline
from edge_node.database.public_ids import PublicIds
from edge_node.reading import Reader
from shared.records import ChunkId, DocumentId

router = APIRouter(prefix="/v1", route_class=GuardedRoute)


@dataclass(frozen=True, slots=True)
class CommunityView:
    """Entities that belong together, and how much is told of them."""

    community_id: str
    outside_id: str  # by which other sites know its report
    level: int  # the coarsest that it stands on
    parent: str  # id; empty for one of level 0
    children: tuple[str, ...]
    title: str
    rating: int  # 0 to 10: how much there is about it
    entities: int
    chunks: int


@dataclass(frozen=True, slots=True)
class CommunitiesReply:
    """A page of a level; ``next`` goes into ``after`` for the page that follows."""

    communities: tuple[CommunityView, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class SourceView:
    """A passage that a finding rests on."""

    chunk_id: ChunkId
    outside_id: ChunkId  # by which other sites know it
    document_id: DocumentId
    document: str
    text: str


@dataclass(frozen=True, slots=True)
class FindingView:
    """One sentence of a report, the passages that it rests on, and what of the graph it tells of."""

    text: str
    sources: tuple[SourceView, ...]
    entities: tuple[str, ...]  # keys
    relations: tuple[tuple[str, str], ...]  # the keys of both ends


@dataclass(frozen=True, slots=True)
class ReportView:
    """What a community is about, and how much that matters; the most telling findings first."""

    community_id: str
    outside_id: str  # by which other sites know it
    level: int
    title: str
    summary: str
    rating: int
    reason: str  # of the rating
    findings: tuple[FindingView, ...]
    by_model: bool  # False: all its words are the documents' own


@router.get("/communities")
async def communities(
    reader: ReaderDep,
    level: Annotated[int, Query(ge=0, lt=LEVELS)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=64)] = "",
) -> CommunitiesReply:
    """A page of a level's communities, by id: level 0 has the largest ones, 3 the smallest; each level holds every entity once.

    One that is not divided stands on the next level too. 409 where the edge's strategy builds no graph.
    """
    page = await reader.communities(level, limit=limit, after=after)
    views = tuple(_community(headline, reader.node.sharing.outside_ids) for headline in page)
    return CommunitiesReply(views, page[-1].community.community_id if len(page) >= limit else None)


@router.get("/reports/{community_id}")
async def report(community_id: str, reader: ReaderDep) -> ReportView:
    """The report about a community, with the passages that each finding rests on; by its id, or by the one that other sites know.

    404 where the community has changed: its id follows from its members. 409 where the edge's strategy builds no graph.
    """
    found = await reader.report(community_id)
    outside_ids = reader.node.sharing.outside_ids
    findings = await _findings(reader, outside_ids, found.findings)
    ids = found.community_id, outside_ids.of_report(found.community_id)
    return ReportView(*ids, found.level, found.title, found.summary, found.rating, found.reason, findings, found.by_model)


def _community(headline: Headline, outside_ids: PublicIds) -> CommunityView:
    one = headline.community
    ids = one.community_id, outside_ids.of_report(one.community_id)
    return CommunityView(*ids, one.level, one.parent, one.children, headline.title, headline.rating, len(one.entities), headline.chunks)


async def _findings(reader: Reader, outside_ids: PublicIds, findings: tuple[Finding, ...]) -> tuple[FindingView, ...]:
    """With their passages; without those whose passages were deleted since the report was made."""
    chunks = await reader.chunks(sorted({chunk_id for finding in findings for chunk_id in finding.chunk_ids}))

    def source(chunk_id: ChunkId) -> SourceView:
        chunk, document, _ = chunks[chunk_id]
        return SourceView(chunk_id, outside_ids.of_chunk(chunk_id), chunk.document_id, document, chunk.text)

    kept = [finding for finding in findings if all(chunk_id in chunks for chunk_id in finding.chunk_ids)]
    return tuple(FindingView(finding.text, tuple(map(source, finding.chunk_ids)), *_elements(finding)) for finding in kept)


def _elements(finding: Finding) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    ends = [key.partition("\t")[::2] for key in finding.elements if "\t" in key]
    return tuple(key for key in finding.elements if "\t" not in key), tuple(ends)
