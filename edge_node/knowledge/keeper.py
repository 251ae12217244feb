"""Communities of the graph and reports about them: functions of the present graph, made when asked for (GraphRAG §2.4, §2.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from edge_node.graph.contexts import Child, leaf_context, upper_context
from edge_node.graph.cover import Count
from edge_node.graph.elements import Line, elements_of
from edge_node.graph.hierarchy import Community, Hierarchy, Uppers, finer, fresh_uppers, hierarchy_of, kept_uppers
from edge_node.graph.knowledge_graph import Adjacency, Graph, adjacency_of
from edge_node.graph.quotient import quotient
from edge_node.graph.repair import Parts
from edge_node.graph.reports import Headline, Report, headline, lines_of, plain_report
from edge_node.graph.summaries import part_of
from edge_node.knowledge.settle import Settler
from edge_node.knowledge.view import View
from edge_node.store.mentions import MentionStore
from shared.errors import NotFound
from shared.records import document_of

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The knobs of communities and reports; see EdgeSettings."""

    community_entities: int
    community_tie: float
    report_context_tokens: int
    report_tokens: int
    report_findings: int
    leiden: Literal["igraph", "leidenalg"]
    seed: int

    @classmethod
    def of(cls, settings: EdgeSettings) -> Self:
        """Those of an edge's settings."""
        return cls(**{name: getattr(settings, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class _Moment:
    """The graph that may be told of, and its communities. Made of the first three."""

    view: View
    parts: Parts
    gone: frozenset[str]  # chunks that the view still tells of, and the store has no more
    graph: Graph
    adjacency: Adjacency
    hierarchy: Hierarchy

    def part(self, community: Community) -> Graph:
        """Its entities, and the relations among them."""
        return part_of(self.graph, self.adjacency, community.entities)


@dataclass(frozen=True, slots=True)
class _Written:
    """A report, and all that it follows from."""

    children: tuple[str, ...]
    part: Graph
    degrees: Mapping[str, int]
    below: Mapping[str, Report]  # by id: empty where the community's own elements fit
    report: Report


class Keeper:
    """Communities and plain reports of one edge, one request at a time, in a thread. What was made is kept until the graph makes it differ.

    C0 and C1 stay as they are while parts come and go (``kept_uppers``), for as long as the process runs.
    What a removed document told of is hidden at once: entities and relations that any chunk of it tells of take no part until the next
    settle has merged them again without it.
    """

    def __init__(self, settler: Settler, mentions: MentionStore, options: ReportOptions, count: Count) -> None:
        """``count``: tokens of a text."""
        self._settler = settler
        self._mentions = mentions
        self._options = options
        self._count = count
        self._lock = asyncio.Lock()
        self._moment: _Moment | None = None
        self._uppers: Uppers | None = None
        self._reports: dict[str, Report] = {}  # of the moment
        self._written: dict[str, _Written] = {}  # of former moments too

    async def communities(self, level: int, *, limit: int, after: str = "") -> list[Headline]:
        """The first communities of a level, 0 to 3, by id, whose ids come behind ``after``; none where nothing is indexed."""
        return await self._alone(lambda: self._headlines(level, limit, after))

    async def report(self, community_id: str) -> Report:
        """The report about a community. Raises NotFound, also where its members have changed, as then its id has too."""
        return await self._alone(lambda: self._asked(community_id))

    async def _alone(self, work: Callable[[], T]) -> T:
        async with self._lock:
            thread = asyncio.ensure_future(asyncio.to_thread(work))
            try:
                return await asyncio.shield(thread)
            finally:  # who asked may be gone: the thread is not, and is let finish under the lock
                await asyncio.wait([thread])

    # ------------------------------------------------------------ in the thread

    def _headlines(self, level: int, limit: int, after: str) -> list[Headline]:
        now = self._now()
        ids = [found for found in now.hierarchy.at(level) if found > after][:limit]
        return [headline(community, now.part(community)) for community in map(now.hierarchy.communities.__getitem__, ids)]

    def _asked(self, community_id: str) -> Report:
        now = self._now()
        if community_id not in now.hierarchy.communities:
            step = "its community may have changed: the present ones are under GET /v1/communities, `dgrag communities`"
            raise NotFound("report", community_id, next_step=step)
        return self._report(now, now.hierarchy.communities[community_id])

    def _now(self) -> _Moment:
        view, parts = self._settler.view, self._settler.placer.parts
        told = {*view.told, *(chunk_id for relation in view.graph.relations.values() for chunk_id in relation.chunk_ids)}
        gone = frozenset(told - self._mentions.chunk_documents(told).keys())
        known = self._moment
        if known is not None and known.view is view and known.parts is parts and known.gone == gone:
            return known
        self._moment = now = self._made(view, parts, gone)
        self._reports = {}
        self._written = {key: written for key, written in self._written.items() if key in now.hierarchy.communities}
        return now

    def _made(self, view: View, parts: Parts, gone: frozenset[str]) -> _Moment:
        graph = _without(view.graph, gone) if gone else view.graph
        adjacency = adjacency_of(graph) if gone else view.adjacency
        within = {part: [key for key in keys if key in graph.entities] for part, keys in parts.members.items()}
        members = {part: keys for part, keys in within.items() if keys}  # the partition may be a moment ahead of the view
        home = {key: part for part, keys in members.items() for key in keys}
        weights = quotient(home, graph.relations, view.told, tie=self._options.community_tie)
        fresh = fresh_uppers(members, weights, seed=self._options.seed, method=self._options.leiden)
        self._uppers = fresh if self._uppers is None else kept_uppers(self._uppers, fresh, members, weights)
        leaves = {part: self._leaves(part_of(graph, adjacency, keys)) for part, keys in members.items()}
        return _Moment(view, parts, gone, graph, adjacency, hierarchy_of(self._uppers, leaves))

    def _leaves(self, part: Graph) -> list[tuple[str, ...]]:
        first = {key: entity.chunk_ids[0] for key, entity in part.entities.items()}
        homes = {key: (chunk_id, document_of(chunk_id)) for key, chunk_id in first.items()}
        most, seed, method = self._options.community_entities, self._options.seed, self._options.leiden
        return finer(part, max_entities=most, seed=seed, method=method, homes=homes)

    # ------------------------------------------------------------ reports, those below first

    def _report(self, now: _Moment, community: Community) -> Report:
        community_id = community.community_id
        if community_id not in self._reports:
            part = now.part(community)
            degrees = {key: len(now.adjacency.get(key, ())) for key in part.entities}
            known = self._written.get(community_id)
            if known is None or not self._holds(known, now, community, part, degrees):
                known = self._written[community_id] = self._write(now, community, part, degrees)
            self._reports[community_id] = known.report
        return self._reports[community_id]

    def _holds(self, known: _Written, now: _Moment, community: Community, part: Graph, degrees: Mapping[str, int]) -> bool:
        if (known.report.level, known.children, known.part, known.degrees) != (community.level, community.children, part, degrees):
            return False
        return not known.below or known.below == self._below(now, community)

    def _below(self, now: _Moment, community: Community) -> dict[str, Report]:
        return {child: self._report(now, now.hierarchy.communities[child]) for child in community.children}

    def _write(self, now: _Moment, community: Community, part: Graph, degrees: Mapping[str, int]) -> _Written:
        elements, limit_tokens = elements_of(part, degrees), self._options.report_context_tokens
        lines: Sequence[Line] = leaf_context(elements, limit_tokens=limit_tokens, count=self._count)
        below = self._below(now, community) if len(lines) < len(elements) else {}
        if below:
            children = [Child(key, now.hierarchy.communities[key].entities, lines_of(report)) for key, report in below.items()]
            lines = upper_context(elements, children, limit_tokens=limit_tokens, count=self._count)
        tokens, most = self._options.report_tokens, self._options.report_findings
        report = plain_report(community, part, lines, report_tokens=tokens, most=most, count=self._count)
        return _Written(community.children, part, degrees, below, report)


def _without(graph: Graph, gone: frozenset[str]) -> Graph:
    """Without all that one of these chunks tells of: of which words it is merged cannot be seen."""
    entities = {key: entity for key, entity in graph.entities.items() if gone.isdisjoint(entity.chunk_ids)}
    kept = {pair: relation for pair, relation in graph.relations.items() if gone.isdisjoint(relation.chunk_ids)}
    return Graph(entities, {(a, b): relation for (a, b), relation in kept.items() if a in entities and b in entities})
