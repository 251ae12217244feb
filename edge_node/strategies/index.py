"""The index of an edge: one write path, and one method or several that search what it keeps."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from importlib import import_module
from math import fsum
from operator import or_
from typing import Any

from edge_node.communities.store import ReportStore
from edge_node.database.vectors import VectorRows
from edge_node.extraction.extractor import Extracted, Extracts
from edge_node.graph.passages import Passages
from edge_node.graph.tools import Tools
from edge_node.graph.view import Visibility, graphml, named, neighbourhood
from edge_node.memory.store import IncidenceStore, MemoryStore
from edge_node.records import NO_GRAPH, NOTHING_WITHHELD, WITH_GRAPH, Added, Cost, Progress, Retrieval, Turn, at_once
from edge_node.settings import EdgeSettings
from edge_node.strategies.erarag.store import TreeStore
from edge_node.strategies.method import Method, MethodQuery
from edge_node.strategies.write_path import WritePath
from shared.errors import InputError
from shared.ports import embed_questions
from shared.records import Chunk, ChunkId, Entity, Evidence, whole_of

DAMPING = 60  # of reciprocal-rank fusion (Cormack et al. 2009)

METHODS = {
    "naive": "edge_node.strategies.naive:Naive",
    "ketrag": "edge_node.strategies.ketrag.strategy:KETRAG",
    "erarag": "edge_node.strategies.erarag.strategy:EraRAG",
    "graphrag": "edge_node.strategies.graphrag:GraphRAG",
    "fdrag": "edge_node.strategies.fdrag:FDRAG",
    "dgrag": "edge_node.strategies.dgrag.strategy:DGRAG",
}


def fused(orders: Sequence[Sequence[str]], shares: Sequence[float]) -> list[str]:
    """All keys of some orders, best first: by the sum of share / (60 + rank), ranks from 1; ties by key.

    >>> fused([["a", "b"], ["b", "c"]], [0.5, 0.5])
    ['b', 'a', 'c']
    """
    votes: defaultdict[str, list[float]] = defaultdict(list)
    for order, share in zip(orders, shares, strict=True):
        for rank, key in enumerate(order, start=1):
            votes[key].append(share / (DAMPING + rank))
    scores = {key: fsum(of_key) for key, of_key in votes.items()}  # exact: whichever method comes first
    return sorted(scores, key=lambda key: (-scores[key], key))


class Index:
    """Implements Indexer and Retriever. ``methods``: each with its share of a question's budget; the shares add up to 1."""

    def __init__(
        self, write_path: WritePath, methods: Mapping[Method, float], tools: Tools, unused: Sequence[Callable[[], None]] = ()
    ) -> None:
        """``unused``: delete what methods that are not among these have left in the store, as nobody keeps it up to date."""
        self.write_path = write_path
        self.methods = methods
        self.reports = write_path.reports
        self.memories = write_path.memories
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
        await self.write_path.open()
        for method in self.methods:
            await method.open()

    async def add(self, chunks: Sequence[Chunk], progress: Progress, turn: Turn = at_once) -> Added:
        """Read the chunks of a document, embed them, and commit all that is made of them together, in place of its former version.

        Up to its ``turn`` nothing depends on what other documents have left in the store.
        """
        found, rows = await self._read_and_embed(chunks, progress)
        drafts = [draft for method in self.methods for draft in await method.drafts(chunks, rows, progress)]
        await turn()
        return await self.write_path.save(chunks, found, rows, drafts, progress)

    async def _read_and_embed(self, chunks: Sequence[Chunk], progress: Progress) -> tuple[Extracted, VectorRows]:
        """Both at once, as the parser is another process; progress tells of one after the other."""
        is_read = False

        def told(step: str, done: int, total: int) -> None:
            if is_read:
                progress(step, done, total)

        embedding = asyncio.create_task(self.write_path.passages.embed(chunks, told))
        try:
            found = await self.write_path.read(chunks, progress)
            is_read = True
            return found, await embedding
        finally:
            embedding.cancel()

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide chunks from search at once; what was derived from them follows with ``settle``."""
        await self.write_path.forget(chunk_ids)
        for method in self.methods:
            await method.forget(chunk_ids)

    async def settle(self, progress: Progress) -> None:
        """Bring everything that is derived up to date with the chunks that are there."""
        async with self._renewing:
            await self.write_path.settle(progress)
            for method in self.methods:
                await method.renew(progress)

    async def whole(self, progress: Progress) -> None:
        """Settle, and make the memories that wait: all that needs no language model."""
        await self.settle(progress)
        async with self._refining:
            while await self.write_path.memories.work(progress):
                pass

    async def retire(self) -> None:
        """Write nothing with a vector any more, and read none from the store, which gets those of another model; go on answering."""
        await self.write_path.retire()

    async def refine(self, progress: Progress) -> Cost:
        """Make a few memories where any wait; else let the language model write a few texts of the first part that has any."""
        memories = self.write_path.memories
        async with self._refining:
            if await memories.work(progress):  # at once: a model that is away is no reason to wait
                return Cost()
            for part in (self.write_path.refine, *(method.improve for method in self.methods), memories.write):
                if (cost := await part(progress)).calls:
                    return cost
        return Cost()

    @property
    def stale(self) -> int:
        """Texts that the model should write, and chunks and memories that wait for idle time."""
        return self.write_path.stale + self.write_path.memories.stale + sum(method.stale for method in self.methods)

    # ------------------------------------------------------------ read path

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int, withheld: frozenset[str] = NOTHING_WITHHELD) -> Retrieval:
        """What the methods find, each within its share of the budget; where none finds a passage, the chunks nearest the question."""
        vector = (await embed_questions(self._embedder, [question]))[0]
        asked = MethodQuery(question, vector, Visibility(withheld), budget_tokens, top_k)
        found = [await method.search(replace(asked, budget_tokens=int(budget_tokens * share))) for method, share in self.methods.items()]
        return await asyncio.to_thread(self._joined, asked, found)

    def _joined(self, asked: MethodQuery, found: Sequence[Retrieval]) -> Retrieval:
        """The passages of all methods in one order, each once, their lines and summaries; the budget's rest goes to the nearest others."""
        lines = tuple(dict.fromkeys(line for one in found for line in one.facts))
        summaries = tuple(summary for one in found for summary in one.summaries)
        descriptions = tuple(one for retrieval in found for one in retrieval.descriptions)
        unknown = self.write_path.passages.unknown(asked.question, asked.shown.withheld)
        if len(found) == 1 and found[0].evidence:
            return Retrieval(found[0].evidence, lines, summaries, unknown, descriptions)
        count, passages = self._tokenizer.count, dict[str, Evidence]()
        for item in (item for one in found for item in one.evidence):
            known = passages.get(whole_of(item.chunk_id))
            if known is None or len(known.text) < len(item.text):  # a chunk swallows its pieces
                passages[whole_of(item.chunk_id)] = item
        order = fused([list(dict.fromkeys(whole_of(item.chunk_id) for item in one.evidence)) for one in found], list(self.methods.values()))
        near = [item for item in nearest(self.write_path.passages, asked) if item.chunk_id not in passages]
        kept, left = list[Evidence](), asked.budget_tokens - sum(map(count, [*lines, *(summary.text for summary in summaries)]))
        for item in [*(passages[key] for key in order), *near]:
            if len(kept) < asked.top_k and ((tokens := count(item.text)) <= left or not kept):  # the first is always in
                kept.append(item)
                left -= tokens
        return Retrieval(tuple(kept), lines, summaries, unknown, descriptions)

    # ------------------------------------------------------------ views

    def counts(self) -> dict[str, int]:
        """What was built: entities, relations, subgraphs, summaries."""
        built = self.write_path.counts()
        for method in self.methods:
            for name, number in method.counts().items():
                built[name] += number
        return built

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """Entities within ``hops`` of one (by name or key), or those of highest degree; with the relations among them."""
        view = self.write_path.view
        return neighbourhood(view.graph, view.adjacency, entity, hops=hops, limit=limit)

    def named(self, words: str, *, limit: int) -> list[dict[str, Any]]:
        """Entities whose names hold these words, the nearest names first; without any words those of highest degree."""
        view = self.write_path.view
        return named(view.graph, view.adjacency, words, limit=limit)

    def entities(self, keys: Iterable[str]) -> dict[str, Entity]:
        """Those of the keys that are in the graph."""
        graph = self.write_path.view.graph
        return {key: graph.entities[key] for key in keys if key in graph.entities}

    @property
    def has_graph(self) -> bool:
        """Whether one of the methods builds a graph."""
        return self.write_path.needs.graph

    def graphml(self) -> str:
        """The graph for other programs. Raises InputError where the strategy has none."""
        self.require_graph()
        return graphml(self.write_path.view.graph)

    def require_graph(self) -> None:
        """Raises InputError where none of the methods builds one."""
        if not self.has_graph:
            raise InputError(NO_GRAPH, next_step=WITH_GRAPH)


def nearest(passages: Passages, asked: MethodQuery) -> tuple[Evidence, ...]:
    """The chunks nearest the question, within its budget; the first is always in."""
    return passages.read(passages.top(asked.vector, asked.top_k, asked.shown.withheld), budget_tokens=asked.budget_tokens)


def open_strategy(tools: Tools, settings: EdgeSettings, extractor: Extracts | None = None) -> Index:
    """The strategy that the settings name. ``extractor`` takes the place of spaCy and model."""
    kinds = {_method(name): share for name, share in settings.methods.items()}
    needs = reduce(or_, (kind.needs(settings) for kind in kinds))
    facts = settings.memory != "off" and (needs.facts or needs.mentions)  # where nothing is parsed, they are found in idle time
    hyperedges = settings.memory == "model" or (settings.memory != "off" and needs.hyperedges)  # a model writes from them too
    needs = replace(needs, facts=facts, hyperedges=hyperedges)
    write_path = WritePath(tools, settings, needs, extractor)
    database = tools.graph.database  # what nobody keeps up to date says sentences of documents that may be deleted
    unused = [] if "erarag" in settings.methods else [TreeStore(database).clear]
    unused += [] if needs.graph and settings.reports == "model" else [ReportStore(database).clear]
    if write_path.memories.is_off:
        unused.append(MemoryStore(database, tools.embedder.dimensions).clear)
    if not write_path.memories.is_grouped:
        unused.append(IncidenceStore(database).clear)
    return Index(write_path, {kind(tools, write_path, settings): share for kind, share in kinds.items()}, tools, unused)


def _method(name: str) -> type[Method]:
    """The class of a method, imported on use. Raises KeyError for an unknown name."""
    module, _, kind = METHODS[name].partition(":")
    method: type[Method] = getattr(import_module(module), kind)
    return method
