"""Communities of the graph and reports about them, made when they are asked for; what a model wrote is kept (GraphRAG §2.4–§2.6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from threading import Event
from typing import TypeVar

from edge_node.communities.claims import Claim, linked
from edge_node.communities.drafts import DraftWriter, PlainReport, ReportDraft, SentenceCache
from edge_node.communities.elements import Finding
from edge_node.communities.hierarchy import LEVELS, Uppers
from edge_node.communities.named import NamedOften, named_often
from edge_node.communities.reports import Headline, Report, first_chunks
from edge_node.communities.selection import ReportQuery, SelectedReports, by_weight, descended, relevance, told_tokens, within
from edge_node.communities.snapshot import Snapshot, guest_snapshot, own_snapshot
from edge_node.communities.store import ReportStore, StoredReport
from edge_node.graph.knowledge_graph import Adjacency, Graph
from edge_node.graph.passages import Passages
from edge_node.graph.release import graph_without
from edge_node.graph.tools import Tools
from edge_node.graph.update import GraphUpdater
from edge_node.graph.view import View
from edge_node.records import NO_GRAPH, NOTHING_WITHHELD, WITH_GRAPH
from edge_node.settings import CommunitySettings
from shared.errors import Conflict, NotFound, StoreError
from shared.records import Chunk, ChunkId, DocumentId, document_of, is_withheld
from shared.text.fence import one_line

log = logging.getLogger("dgrag.edge.keeper")
T = TypeVar("T")
GUESTS = 4  # sets of withheld documents whose communities are kept
READ_AT_ONCE = 256  # passages
MOST_SAYING = 3  # passages of a finding that say it word for word: each is enough, and a sentence may join three findings


class Abandoned(Exception):
    """Nobody waits any more for what a thread is at."""


class CommunityReports:
    """Communities and reports of one edge, one request at a time, in a thread. What was made is kept until the graph makes it differ.

    Work for somebody who has gone away ends with the report that it is at. C0 and C1 stay as they are while parts come and go
    (``kept_uppers``). What a removed document told of is hidden at once, as if it had never been there, and so is, from who may not see
    them, what withheld documents tell of. Nothing is done in a settle: a report that a model wrote is deleted in the transaction that
    deletes a chunk of its community.
    """

    def __init__(
        self, tools: Tools, updater: GraphUpdater, passages: Passages, settings: CommunitySettings, *, with_graph: bool = True
    ) -> None:
        self._updater = updater
        self._passages = passages
        self._documents = tools.documents
        self._mentions = tools.graph.mentions
        self._store = ReportStore(tools.graph.database)
        self._outside_ids = tools.releases.outside_ids
        self._settings = settings
        self._with_graph = with_graph
        self._count = tools.tokenizer.count
        self._lock = asyncio.Lock()
        self._abandoned = Event()  # nobody waits for the work that has the lock
        self._uppers: Uppers | None = None  # as the store has them; None: not read yet
        self._hidden: tuple[View, tuple[int, int], frozenset[DocumentId]] | None = None  # of a view, and a state of the mentions
        self._reading = SentenceCache.of(self._count)
        self._own: DraftWriter | None = None
        self._claims: tuple[Claim, ...] = ()
        self._guests: dict[frozenset[str], DraftWriter] = {}  # the one that was asked for last is last
        self._looked_at: View | None = None  # whose reports were counted
        self._unwritten = 0

    @property
    def is_off(self) -> bool:
        """Nobody is to see communities and reports."""
        return self._settings.reports == "off"

    def _require(self) -> None:
        if not self._with_graph:
            raise Conflict(NO_GRAPH, next_step=WITH_GRAPH)
        if self.is_off:
            raise Conflict("this edge makes no reports", next_step="start the edge with DGRAG_EDGE_REPORTS=extractive, or model")

    # ------------------------------------------------------------ what is asked

    async def communities(self, level: int, *, limit: int, after: str = "", withheld: frozenset[str] = NOTHING_WITHHELD) -> list[Headline]:
        """The first communities of a level, 0 to 3, by id, whose ids come behind ``after``; as if the withheld documents were not there.

        None where nothing is indexed. Raises Conflict where the edge's method builds no graph, or there are to be no reports.
        """
        self._require()
        return await self._alone(lambda: self._headlines(level, limit, after, withheld))

    async def report(self, community_id: str, withheld: frozenset[str] = NOTHING_WITHHELD) -> Report:
        """The report about a community; by the id that other sites know, too. As if the withheld documents were not there.

        Who sees all documents also gets those that guests were told of lately. Raises NotFound, also where its members have changed, as
        then its id has too; Conflict as ``communities``.
        """
        self._require()
        return await self._alone(lambda: self._asked(community_id, withheld))

    async def graph(self, withheld: frozenset[str]) -> tuple[Graph, Adjacency]:
        """The graph as if the withheld documents were not there; empty where the edge's method builds none."""
        snapshot = (await self._alone(lambda: self._seen_without(withheld))).snapshot
        return snapshot.graph, snapshot.adjacency

    async def choose(self, asked: ReportQuery) -> SelectedReports:
        """The reports to read for a question about everything, as if the withheld documents were not there.

        Those without a finding are not chosen. ``there`` counts those of them that nobody looked at: whether there are findings
        shows only when a report is written. Raises Conflict as ``communities``.
        """
        self._require()
        return await self._alone(lambda: self._passages_for(asked) if asked.level == "text" else self._reports_for(asked))

    async def named(self, asked: ReportQuery, kinds: Collection[str], *, most: int, near: bool) -> tuple[list[NamedOften], int]:
        """The entities of these types that most documents tell of, and how many documents there are, as if the withheld were not there.

        ``near``: those first that are named where the question is near. Raises Conflict as ``communities``.
        """
        self._require()
        return await self._alone(lambda: self._named(asked, kinds, most, near=near))

    # ------------------------------------------------------------ what a model writes

    async def unwritten(self, most: int) -> list[ReportDraft]:
        """The first of the reports that a model should write, the lowest level first; one above another waits for that."""
        return await self._alone(lambda: self._drafts(most)) if self._settings.reports == "model" else []

    async def keep(self, draft: ReportDraft, report: Report) -> None:
        """Commit what was written for a draft, ``draft.plain`` where the model's text is of no use; not if the community changed since."""
        await self._alone(lambda: self._kept(draft, report))

    async def tell(self, claims: tuple[Claim, ...]) -> None:
        """Let reports tell of these claims, and of no others."""
        await self._alone(lambda: self._tell(claims))

    @property
    def stale(self) -> int:
        """Reports that a model should write; until somebody looks what a settle has changed, as many as there may be."""
        if self._settings.reports != "model":
            return 0
        if self._looked_at is self._updater.view:
            return self._unwritten
        return (1 + self._settings.report_finest) * len(self._updater.placer.parts.members)

    async def _alone(self, work: Callable[[], T]) -> T:
        await self._lock.acquire()
        abandoned = self._abandoned = Event()  # this work's own: who comes next may have begun when this is set
        thread = asyncio.ensure_future(asyncio.to_thread(work))
        thread.add_done_callback(self._finished)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            abandoned.set()
            await asyncio.wait([thread])  # it is at a report still; being cancelled again is no harm, as the thread has the lock
            raise

    def _finished(self, thread: asyncio.Task[T]) -> None:
        self._lock.release()
        if not thread.cancelled():
            thread.exception()  # who asked may be gone

    def _go_on(self) -> None:
        if self._abandoned.is_set():
            raise Abandoned

    # ------------------------------------------------------------ in the thread: moments

    def _now(self) -> DraftWriter:
        view, parts = self._updater.view, self._updater.placer.parts
        known, hidden = self._own, self._gone(view)
        if known is not None and known.snapshot.view is view and known.snapshot.parts is parts and known.snapshot.hidden == hidden:
            return known
        if self._uppers is None:
            self._uppers = self._store.uppers()
        snapshot = own_snapshot(view, parts, hidden, self._graph_without(view, hidden), self._uppers, self._settings)
        if not hidden:  # else parts that are hidden would lose their labels
            self._keep_uppers(snapshot.uppers)
        self._reading = SentenceCache.of(self._count)
        return self._renewed(self._claimed(snapshot), {} if known is None else known.written)

    def _gone(self, view: View) -> frozenset[DocumentId]:
        """Documents of chunks that the view tells of, and the store has no more."""
        state = self._mentions.state()
        if self._hidden is None or self._hidden[0] is not view or self._hidden[1] != state:
            told = {*view.told, *(chunk_id for relation in view.graph.relations.values() for chunk_id in relation.chunk_ids)}
            hidden = frozenset(map(document_of, told - self._mentions.chunk_documents(told).keys()))
            self._hidden = view, state, hidden
        return self._hidden[2]

    def _seen_without(self, withheld: frozenset[str]) -> DraftWriter:
        """What somebody sees from whom these documents are withheld."""
        own = self._now()
        if not withheld:
            return own
        view, parts, hidden = own.snapshot.view, own.snapshot.parts, withheld | own.snapshot.hidden
        known = writer = self._guests.pop(withheld, None)
        if writer is None or writer.snapshot.view is not view or writer.snapshot.hidden != hidden:
            snapshot = guest_snapshot(view, parts, hidden, self._graph_without(view, hidden), self._settings)
            former = own.written if known is None else own.written | known.written
            writer = self._writer(
                self._claimed(snapshot), former, staleness=0
            )  # what is withheld does not decide which text is told either
        self._guests[withheld] = writer
        while len(self._guests) > GUESTS:
            del self._guests[next(iter(self._guests))]
        return writer

    def _graph_without(self, view: View, hidden: frozenset[str]) -> Graph:
        return graph_without(view.graph, hidden, dict(view.canonical), self._mentions)  # a settle may change the names that it is given

    def _claimed(self, snapshot: Snapshot) -> Snapshot:
        names = {} if snapshot.hidden else snapshot.view.canonical  # what is hidden may be why two names are one's
        return replace(snapshot, claims=linked(self._claims, snapshot.graph, names))

    def _renewed(self, snapshot: Snapshot, former: Mapping[str, PlainReport]) -> DraftWriter:
        self._own = self._writer(snapshot, former, staleness=self._settings.report_staleness)
        return self._own

    def _writer(self, snapshot: Snapshot, former: Mapping[str, PlainReport], *, staleness: float) -> DraftWriter:
        texts = self._store.texts() if self._settings.reports == "model" else {}
        return DraftWriter(
            snapshot, texts, former, self._settings, self._reading, staleness=staleness, telling=self._telling, go_on=self._go_on
        )

    def _telling(self, finding: Finding) -> tuple[ChunkId, ...]:
        """The first chunks that say a finding word for word; of what a model wrote, which none does, those of its elements."""
        chunks = self._read(list(finding.chunk_ids)) if len(finding.chunk_ids) > 1 else ()
        return tuple(islice((c.chunk_id for c, _ in chunks if finding.text in one_line(c.text)), MOST_SAYING)) or first_chunks(finding)

    def _keep_uppers(self, uppers: Uppers) -> None:
        if uppers != self._uppers:
            try:
                self._store.save_uppers(uppers)
            except StoreError as error:  # the question can be answered all the same
                log.warning("which communities there are could not be kept: %s", error.code)
        self._uppers = uppers

    # ------------------------------------------------------------ in the thread: answers

    def _headlines(self, level: int, limit: int, after: str, withheld: frozenset[str]) -> list[Headline]:
        now = self._seen_without(withheld)
        hierarchy = now.snapshot.hierarchy
        ids = (found for found in hierarchy.at(level) if found > after)
        return [now.headline(hierarchy.communities[found]) for found in islice(ids, limit)]

    def _asked(self, community_id: str, withheld: frozenset[str]) -> Report:
        own = self._seen_without(withheld)
        guests = [
            one
            for one in self._guests.values()
            if not withheld and one.snapshot.view is own.snapshot.view and one.snapshot.hidden >= own.snapshot.hidden
        ]
        for writer in (own, *reversed(guests)):
            communities = writer.snapshot.hierarchy.communities
            outside = (key for key in communities if self._outside_ids.of_report(key) == community_id)
            if (key := community_id if community_id in communities else next(outside, None)) is not None:
                return writer.report(communities[key])
        step = "its community may have changed: the present ones are under GET /v1/communities, `dgrag communities`"
        raise NotFound("report", community_id, next_step=step)

    def _reports_for(self, asked: ReportQuery) -> SelectedReports:
        writer = self._seen_without(asked.withheld)
        hierarchy, told = writer.snapshot.hierarchy, writer.snapshot.told
        cosines = (asked.scores or self._passages.scores)(asked.vector, list({*chain.from_iterable(told.values())}))
        near, floor = writer.snapshot.near(cosines), asked.floor
        if relevance(cosines, cosines) < asked.nearness:
            near, floor = by_weight(writer.snapshot.sizes()), 0.0

        def tokens(key: str) -> int:
            return told_tokens(writer.report(hierarchy.communities[key]), self._reading.count)

        if isinstance(asked.level, int):
            ids = sorted(hierarchy.at(asked.level), key=lambda key: (-near[key], key))
            chosen, there = within(ids, tokens, read_tokens=asked.read_tokens), len(ids)
        else:
            chosen, there = descended(hierarchy, near, tokens, read_tokens=asked.read_tokens, floor=floor)
        reports = [writer.report(hierarchy.communities[key]) for key in chosen]
        found = tuple(report for report in reports if report.findings)
        return SelectedReports(found, there - (len(reports) - len(found)))

    def _named(self, asked: ReportQuery, kinds: Collection[str], most: int, *, near: bool) -> tuple[list[NamedOften], int]:
        now = self._seen_without(asked.withheld).snapshot
        homes = {key: found for found in now.hierarchy.roots for key in now.hierarchy.communities[found].entities}
        scores = partial(asked.scores or self._passages.scores, asked.vector) if near else None
        documents = {document_of(chunk_id) for chunk_id in self._documents.chunk_states()} - now.hidden
        texts = ((chunk.chunk_id, chunk.text) for chunk in self._documents.all_chunks() if not is_withheld(chunk.chunk_id, now.hidden))
        named = named_often(
            now.graph.entities.values(), kinds, texts, most=most, cosines=scores, community_of=lambda key: homes.get(key, "")
        )
        return named, len(documents)

    def _passages_for(self, asked: ReportQuery) -> SelectedReports:
        """Passages in the place of reports, the nearest first."""
        ranked = self._passages.top(asked.vector, self._documents.totals()["chunks"], asked.withheld)
        kept, left = list[Report](), asked.read_tokens
        for chunk, title in self._read([chunk_id for chunk_id, _ in ranked]):
            left -= chunk.tokens if asked.read_tokens else 0
            if left < 0 and kept:
                break
            kept.append(_as_report(chunk, title))
        return SelectedReports(tuple(kept), len(ranked))

    def _read(self, chunk_ids: list[str]) -> Iterator[tuple[Chunk, str]]:
        """Chunks with the names of their documents; without those that were deleted meanwhile."""
        for start in range(0, len(chunk_ids), READ_AT_ONCE):
            batch = chunk_ids[start : start + READ_AT_ONCE]
            found = self._documents.chunks(batch)
            yield from (found[chunk_id][:2] for chunk_id in batch if chunk_id in found)

    # ------------------------------------------------------------ in the thread: a model's texts

    def _tell(self, claims: tuple[Claim, ...]) -> None:
        if claims == self._claims:
            return
        self._claims, self._looked_at = claims, None
        self._guests.clear()
        if self._own is not None:
            self._renewed(self._claimed(self._own.snapshot), self._own.written)

    def _drafts(self, most: int) -> list[ReportDraft]:
        now = self._now()
        if now.snapshot.hidden:  # for a moment: the settle that follows brings most of it back
            return []
        unwritten = now.unwritten()
        self._unwritten, self._looked_at = len(unwritten), now.snapshot.view
        if not unwritten and (unused := now.unused()):
            self._store.drop(unused)
            self._renewed(now.snapshot, now.written)
        return [now.draft(community) for community in now.ready(unwritten)[:most]]

    def _kept(self, draft: ReportDraft, report: Report) -> None:
        now = self._now()
        community = now.snapshot.hierarchy.communities.get(draft.plain.community_id)
        if community is None or now.draft(community) != draft:
            return
        stored = StoredReport(report, draft.facts, draft.made_of)
        if self._store.commit(stored):
            self._unwritten -= 1
            now.keep(stored)


def _as_report(chunk: Chunk, title: str) -> Report:
    findings = (Finding(chunk.text, (chunk.chunk_id,), ()),)
    return Report(chunk.chunk_id, LEVELS, title, "", 0, "", findings, by_model=False, content="")
