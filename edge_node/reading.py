"""What one caller reads of an edge: all of it, or as if the documents with a label that the caller lacks were not there.

Every route that tells of documents to callers with labels goes through here, and a test holds that it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from edge_node.answering.answerer import Ask, SearchResult
from edge_node.answering.overview import GlobalAsk
from edge_node.communities.reports import Headline, Report
from edge_node.documents.originals import OriginalFile
from edge_node.graph.knowledge_graph import Adjacency, Graph
from edge_node.graph.view import graphml, named, neighbourhood
from edge_node.memory.records import Remembered
from edge_node.node import EdgeNode
from edge_node.records import DocumentText, Filters, Retrieval
from shared.errors import NotFound
from shared.records import Answer, Chunk, is_withheld
from shared.reduce import OnText, ignore_text
from shared.telemetry.trace import Trace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reader:
    """One caller's view. ``labels``: those of documents that it may read, besides documents without any; None: it reads all.

    The labels of documents are looked at anew for each call, those of a version that waits too, and again once all is read.
    """

    node: EdgeNode
    labels: frozenset[str] | None
    asker: str = ""  # with whom turns are shared, as ``Caller.asker``

    @property
    def edge(self) -> str:
        """The edge's name."""
        return self.node.settings.id

    async def _withheld(self) -> frozenset[str]:
        return await asyncio.to_thread(self.node.sharing.beyond, self.labels)

    async def _read(self, work: Callable[[frozenset[str]], Awaitable[T]]) -> T:
        return await self.node.read_by(self.labels, work)

    # ------------------------------------------------------------ questions

    def check_turn(self, ask: Ask | GlobalAsk) -> None:
        """As ``EdgeNode.check_turn``."""
        self.node.check_turn(replace(ask, asker=self.asker))

    async def ask(self, ask: Ask | GlobalAsk, trace: Trace, on_text: OnText = ignore_text, on_asked: OnText = ignore_text) -> Answer:
        """As ``EdgeNode.ask``, from what the caller may read."""
        return await self.node.ask(replace(ask, labels=self.labels, asker=self.asker), trace, on_text, on_asked)

    async def title(self, topic: str) -> str:
        """As ``EdgeNode.title``: nothing is read for it."""
        return await self.node.title(topic)

    async def retrieve(
        self, question: str, filters: Filters | None = None, *, budget_tokens: int | None = None, top_k: int | None = None
    ) -> Retrieval:
        """Passages of the site itself. Raises Conflict as ``EdgeNode.read_by``, and as ``EdgeNode.search``."""
        asked = Ask(question, "local", labels=self.labels, filters=filters, asker=self.asker)
        return await self._read(lambda _: self.node.search(asked, budget_tokens=budget_tokens, top_k=top_k))

    async def matches_nothing(self, filters: Filters | None) -> bool:
        """Whether there are filters, and questions find no document that matches them and that the caller may read."""
        return filters is not None and await asyncio.to_thread(self.node.sharing.matches_nothing, self.labels, filters)

    async def find(self, ask: Ask, *, budget_tokens: int | None = None, top_k: int | None = None) -> SearchResult:
        """Passages of all sites. Raises Conflict as ``EdgeNode.read_by``, and as ``EdgeNode.search_everywhere``."""
        asked = replace(ask, labels=self.labels, asker=self.asker)
        return await self._read(lambda _: self.node.search_everywhere(asked, budget_tokens=budget_tokens, top_k=top_k))

    # ------------------------------------------------------------ documents

    async def documents(self, *, limit: int, after: str, status: str, name: str) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """A page of documents by name, and how many there are by status."""
        store, withheld, now = self.node.documents, None, await self._withheld()
        while withheld != now:
            withheld = now
            page = await asyncio.to_thread(store.list, limit=limit, after=after, status=status, name=name, withheld=withheld)
            counts = await asyncio.to_thread(store.counts, withheld)
            now = await self._withheld()
        return page, counts

    async def document(self, identity: str) -> dict[str, Any]:
        """One document's view. Raises NotFound, also for one that the caller may not read: it is not to learn which there are."""
        view = await asyncio.to_thread(self.node.document, identity)
        if view["document_id"] in await self._withheld():
            raise NotFound("document", identity)
        return view

    async def text(self, identity: str, *, start: int, end: int) -> DocumentText:
        """A part of a document's text. Raises NotFound, and Conflict where there is no text."""
        await self.document(identity)
        text = await asyncio.to_thread(self.node.document_text, identity, start=start, end=end)
        await self.document(identity)  # it may have got labels meanwhile
        return text

    async def original(self, identity: str) -> OriginalFile:
        """A document's file as it came. Raises NotFound, OriginalDropped, Conflict."""
        await self.document(identity)
        file = await self.node.original(identity)
        await self.document(identity)  # it may have got labels meanwhile
        return file

    async def page_image(self, identity: str, page: int, *, span: tuple[int, int] | None, width: int) -> bytes:
        """A page of it as PNG, with characters [start, end) of the document's text marked.

        Raises as ``original``, as ``EdgeNode.page_image``, and as ``text`` where there is a span.
        """
        file = await self.original(identity)
        mark = ""
        if span is not None:
            mark = (await self.text(identity, start=span[0], end=span[1])).text
        image = await self.node.page_image(file, page, mark=mark, width=width, asker=self.asker)
        await self.document(identity)
        return image

    async def chunks(self, chunk_ids: Sequence[str]) -> dict[str, tuple[Chunk, str, str]]:
        """Chunks by id with name and title of their document; without those that are gone, or that the caller may not read."""
        found = await asyncio.to_thread(self.node.documents.chunks, list(chunk_ids))
        withheld = await self._withheld()
        return {chunk_id: chunk for chunk_id, chunk in found.items() if not is_withheld(chunk_id, withheld)}

    # ------------------------------------------------------------ what was made of them

    async def _graph(self) -> tuple[Graph, Adjacency]:
        return await self._read(self._graph_without)

    async def _graph_without(self, withheld: frozenset[str]) -> tuple[Graph, Adjacency]:
        if not withheld:
            view = self.node.strategy.write_path.view
            return view.graph, view.adjacency
        return await self.node.strategy.reports.graph(withheld)

    async def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """As ``graph.view.neighbourhood``."""
        graph, adjacency = await self._graph()
        return await asyncio.to_thread(neighbourhood, graph, adjacency, entity, hops=hops, limit=limit)

    async def named(self, words: str, *, limit: int) -> list[dict[str, Any]]:
        """As ``graph.view.named``."""
        graph, adjacency = await self._graph()
        return await asyncio.to_thread(named, graph, adjacency, words, limit=limit)

    async def graphml(self) -> str:
        """The graph for other programs. Raises InputError where the strategy has none."""
        self.node.strategy.require_graph()
        graph, _ = await self._graph()
        return await asyncio.to_thread(graphml, graph)

    async def communities(self, level: int, *, limit: int, after: str) -> list[Headline]:
        """As ``CommunityReports.communities``."""
        reports = self.node.strategy.reports
        return await self._read(lambda withheld: reports.communities(level, limit=limit, after=after, withheld=withheld))

    async def report(self, community_id: str) -> Report:
        """As ``CommunityReports.report``."""
        return await self._read(lambda withheld: self.node.strategy.reports.report(community_id, withheld))

    async def memories(self, after: str, limit: int) -> tuple[Remembered, ...]:
        """The first memories by id behind ``after``; only those all of whose documents the caller may read."""
        return await self._read(lambda withheld: self.node.strategy.memories.page(after, limit, withheld))
