"""Every strategy of an edge: one write path, and one method or several that search what it keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edge_node.graph.choosing import Chosen, Overlook
from edge_node.graph.reports import Headline, Report
from edge_node.graph.views import graphml, neighbourhood
from edge_node.knowledge.keeper import Keeper
from edge_node.knowledge.knowledge import Knowledge
from edge_node.knowledge.shown import Shown
from edge_node.memory.recall import Recalled
from edge_node.memory.records import Memory, Remembered
from edge_node.store.passages import Passages
from edge_node.strategies.base import NOTHING_WITHHELD, Added, Cost, Progress, Retrieval, Tools
from edge_node.strategies.method import Asked, Method
from edge_node.strategies.mixing import fused
from shared.errors import Conflict, InputError
from shared.ports import FloatArray
from shared.records import Chunk, ChunkId, Evidence, whole_of

NO_GRAPH = "the edge's strategy builds no graph"
WITH_GRAPH = "start the edge with the strategy dgrag, ketrag or erarag"


class Indexed:
    """Implements IndexStrategy. ``methods``: each with its share of a question's budget; the shares add up to 1."""

    def __init__(
        self, knowledge: Knowledge, methods: Mapping[Method, float], tools: Tools, unused: Sequence[Callable[[], None]] = ()
    ) -> None:
        """``unused``: delete what methods that are not among these have left in the store, as nobody keeps it up to date."""
        self.knowledge = knowledge
        self.methods = methods
        self._unused = unused
        self._embedder = tools.embedder
        self._tokenizer = tools.tokenizer
        self._renewing = asyncio.Lock()
        self._refining = asyncio.Lock()

    # ------------------------------------------------------------ write path

    async def open(self) -> None:
        """Load models and caches; what a stop left between two steps is made good by the next settle."""
        for clear in self._unused:
            await asyncio.to_thread(clear)
        await self.knowledge.open()
        for method in self.methods:
            await method.open()

    async def add(self, chunks: Sequence[Chunk], progress: Progress) -> Added:
        """Read the chunks of a document, embed them, and commit all that is made of them at once, in place of its former version."""
        found = await self.knowledge.read(chunks, progress)
        rows = await self.knowledge.passages.embed(chunks, progress)
        drafts = [draft for method in self.methods for draft in await method.drafts(chunks, rows, progress)]
        return await self.knowledge.save(chunks, found, rows, drafts, progress)

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks from search at once; what was derived from them follows with ``settle``."""
        await self.knowledge.forget(chunk_ids)
        for method in self.methods:
            await method.forget(chunk_ids)

    async def settle(self, progress: Progress) -> None:
        """Bring everything that is derived up to date with the chunks that are there."""
        async with self._renewing:
            await self.knowledge.settle(progress)
            for method in self.methods:
                await method.renew(progress)

    async def refine(self, progress: Progress) -> Cost:
        """Make a few memories where any wait; else let the language model write a few texts of the first part that has any."""
        remembering = self.knowledge.remembering
        async with self._refining:
            if await remembering.work(progress):  # at once: a model that is away is no reason to wait
                return Cost()
            for part in (self.knowledge.refine, *(method.improve for method in self.methods), remembering.write):
                if (cost := await part(progress)).calls:
                    return cost
        return Cost()

    @property
    def stale(self) -> int:
        """Texts that the model should write, and chunks and memories that wait for idle time."""
        return self.knowledge.stale + self.knowledge.remembering.stale + sum(method.stale for method in self.methods)

    # ------------------------------------------------------------ read path

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[str] = NOTHING_WITHHELD) -> Retrieval:
        """What the methods find, each within its share of the budget; where none finds a passage, the chunks nearest the question."""
        vector = (await self._embedder.embed([question]))[0]
        asked = Asked(question, vector, Shown(withheld), budget_tokens, top_k)
        found = [await method.search(replace(asked, budget_tokens=int(budget_tokens * share))) for method, share in self.methods.items()]
        return await asyncio.to_thread(self._joined, asked, found)

    def _joined(self, asked: Asked, found: Sequence[Retrieval]) -> Retrieval:
        """The passages of all methods in one order, each once, and their lines; what is left of the budget goes to the nearest others."""
        lines = tuple(dict.fromkeys(line for one in found for line in one.facts))
        unknown = self.knowledge.passages.unknown(asked.question, asked.shown.withheld)
        if len(found) == 1 and found[0].evidence:
            return Retrieval(found[0].evidence, lines, unknown)
        count, passages = self._tokenizer.count, dict[str, Evidence]()
        for item in (item for one in found for item in one.evidence):
            known = passages.get(whole_of(item.chunk_id))
            if known is None or len(known.text) < len(item.text):  # a chunk swallows its pieces
                passages[whole_of(item.chunk_id)] = item
        order = fused([list(dict.fromkeys(whole_of(item.chunk_id) for item in one.evidence)) for one in found], list(self.methods.values()))
        near = [item for item in nearest(self.knowledge.passages, asked) if item.chunk_id not in passages]
        kept, left = list[Evidence](), asked.budget_tokens - sum(map(count, lines))
        for item in [*(passages[key] for key in order), *near]:
            if len(kept) < asked.top_k and ((tokens := count(item.text)) <= left or not kept):  # the first is always in
                kept.append(item)
                left -= tokens
        return Retrieval(tuple(kept), lines, unknown)

    # ------------------------------------------------------------ memories

    async def recalled(
        self, question: str, vector: FloatArray, *, k: int, floor: float, withheld: frozenset[str] = NOTHING_WITHHELD
    ) -> tuple[Recalled, ...]:
        """The k memories nearest a question with S >= ``floor``, best first, as if the ``withheld`` documents were not there."""
        return await self.knowledge.remembering.recalled(question, vector, k=k, floor=floor, withheld=withheld)

    async def rate(self, memory_id: str, *, right: bool) -> None:
        """Note that somebody found a memory's answer right, or wrong. Raises NotFound."""
        await self.knowledge.remembering.rate(memory_id, right=right)

    @property
    def arrivals(self) -> int:
        """How often passages came since the start, as memories know."""
        return self.knowledge.remembering.arrivals

    async def learn(self, memory: Memory, vector: FloatArray, *, since: int) -> None:
        """Remember an answer that was given, and asked for at ``since`` ``arrivals``. vector (d,): of its question."""
        await self.knowledge.remembering.learn(memory, vector, since=since)

    async def bar(self, memory_id: str) -> None:
        """Let what a memory says be answered no more; a learned one is deleted. Raises NotFound."""
        await self.knowledge.remembering.bar(memory_id)

    async def memories(self, after: str = "", limit: int = 100) -> tuple[Remembered, ...]:
        """The first memories by id whose ids come behind ``after``."""
        return await self.knowledge.remembering.memories(after, limit)

    async def memory_counts(self) -> dict[str, int]:
        """Memories by kind, and their hyperedges; {} where memory is off."""
        return await self.knowledge.remembering.counts()

    # ------------------------------------------------------------ views

    def counts(self) -> dict[str, int]:
        """What was built: entities, relations, subgraphs, summaries."""
        built = self.knowledge.counts()
        for method in self.methods:
            for name, number in method.counts().items():
                built[name] += number
        return built

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """Entities within ``hops`` of one (by name or key), or those of highest degree; with the relations among them."""
        view = self.knowledge.view
        return neighbourhood(view.graph, view.adjacency, entity, hops=hops, limit=limit)

    async def communities(self, level: int, *, limit: int, after: str = "") -> list[Headline]:
        """The first communities of a level, 0 to 3, by id, behind the id ``after``.

        Raises Conflict where the strategy builds no graph, or there are to be no reports.
        """
        return await self._keeper().communities(level, limit=limit, after=after)

    async def report(self, community_id: str) -> Report:
        """What a community is about. Raises NotFound, and Conflict as ``communities``."""
        return await self._keeper().report(community_id)

    async def reports(self, asked: Overlook) -> Chosen:
        """What is read for a question about everything, as if the withheld documents were not there. Raises Conflict as ``communities``."""
        return await self._keeper().choose(asked)

    def _keeper(self) -> Keeper:
        if not self.knowledge.needs.graph:
            raise Conflict(NO_GRAPH, next_step=WITH_GRAPH)
        if self.knowledge.keeper.is_off:
            raise Conflict("this edge makes no reports", next_step="start the edge with DGRAG_EDGE_REPORTS=extractive, or model")
        return self.knowledge.keeper

    def graphml(self) -> str:
        """The graph for other programs. Raises InputError where the strategy has none."""
        if not self.knowledge.needs.graph:
            raise InputError(NO_GRAPH, next_step=WITH_GRAPH)
        return graphml(self.knowledge.view.graph)


def nearest(passages: Passages, asked: Asked) -> tuple[Evidence, ...]:
    """The chunks nearest the question, within its budget; the first is always in."""
    return passages.read(passages.top(asked.vector, asked.top_k, asked.shown.withheld), budget_tokens=asked.budget_tokens)
