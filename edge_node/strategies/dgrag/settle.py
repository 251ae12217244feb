"""①② From mentions to what questions and the cloud see: merged graph, vectors, partition, summaries (DGRAG §III-B).

All of it is a function of the mentions, so adding and removing documents in any order leads to the same graph.
What did not change is not embedded or summarised again: each stored piece carries the hash of what it was made of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from edge_node.graph.aliases import AliasPair, EntityName, acronym_definitions, alias_candidates, canonical_keys, find_aliases
from edge_node.graph.knowledge_graph import Graph, merge, needs_summary
from edge_node.graph.model_summaries import Written, model_description, model_summary
from edge_node.graph.partition import name_subgraphs, partition
from edge_node.graph.summaries import extractive_summary, parts_of
from edge_node.store.graph import VectorKind, VectorRows
from edge_node.store.passages import text_hash
from edge_node.strategies.base import Cost, Progress, Tools
from shared.errors import ModelError, ModelTimeout, ModelUnavailable
from shared.records import EntityMention, Subgraph, Summary, SummaryId

EMBED_BATCH = 256
VECTOR_TEXT_CHARS = 240  # name, and as much of the description as tells what it is; longer texts only cost time
MODEL_DEADLINE_S = 300.0


@dataclass(frozen=True, slots=True)
class SettleOptions:
    """The knobs of this step; see EdgeSettings."""

    descriptions: Literal["joined", "model"]
    description_chars: int
    subgraph_entities: int
    leiden: Literal["igraph", "leidenalg"]
    seed: int
    summaries: Literal["extractive", "model"]


@dataclass(frozen=True, slots=True)
class Settled:
    """The derived state after a settle."""

    graph: Graph
    entities: VectorRows
    relations: VectorRows
    subgraphs: int
    cost: Cost
    unfinished: bool  # the model was away: some texts have their plain form until a later settle


def relation_key(source: str, target: str) -> str:
    """The key of a relation in the vector tables; a tab stands in no entity key."""
    return f"{source}\t{target}"


def entity_texts(graph: Graph) -> dict[str, str]:
    """What is embedded for each entity: name and description."""
    return {key: f"{entity.name}: {entity.description}"[:VECTOR_TEXT_CHARS] for key, entity in graph.entities.items()}


def relation_texts(graph: Graph) -> dict[str, str]:
    """What is embedded for each relation: its ends, keywords and description."""
    texts = {}
    for (source, target), relation in graph.relations.items():
        ends = f"{graph.entities[source].name} {', '.join(relation.keywords[:3])} {graph.entities[target].name}"
        texts[relation_key(source, target)] = f"{ends}: {relation.description}"[:VECTOR_TEXT_CHARS]
    return texts


def summary_hash(part: Graph) -> str:
    """Identity of what a summary is made of: the part's entities and relations with their descriptions."""
    return text_hash(repr(sorted(part.entities.items())) + repr(sorted(part.relations.items())))


class Settler:
    """Runs the step for one edge."""

    def __init__(self, tools: Tools, options: SettleOptions) -> None:
        self._tools = tools
        self._options = options

    async def settle(self, progress: Progress) -> Settled:
        """Renew everything that the present mentions make different, and commit it."""
        progress("merge", 0, 1)
        entity_mentions = await asyncio.to_thread(self._tools.graph.entity_mentions)
        aliases = await self._aliases(entity_mentions)
        canonical = canonical_keys(aliases)
        graph = await asyncio.to_thread(self._merge, entity_mentions, canonical)
        asking = _Asking()
        graph = await self._shorten(graph, entity_mentions, canonical, asking, progress)
        entities = await self._renew("entity", entity_texts(graph), progress)
        relations = await self._renew("relation", relation_texts(graph), progress)
        progress("partition", 0, 1)
        subgraphs = await asyncio.to_thread(self._partition, graph)
        changed, hashes = await self._summarise(subgraphs, graph, asking, progress)
        rows = [(pair.key, pair.canonical, pair.reason, pair.score) for pair in aliases]
        await asyncio.to_thread(self._tools.graph.save_partition, subgraphs, changed, hashes, rows)
        return Settled(graph, entities, relations, len(subgraphs), asking.cost, asking.away)

    async def _aliases(self, mentions: Sequence[EntityMention]) -> list[AliasPair]:
        """Names that look alike are aliases only if they are near in meaning too, so only those are embedded."""
        names = entity_names(mentions)
        definitions = await asyncio.to_thread(self._definitions)
        alike = await asyncio.to_thread(alias_candidates, [name.key for name in names])
        keys = sorted({key for a, b, _ in alike for key in (a, b)})
        vectors = dict(zip(keys, await self._tools.embedder.embed(keys), strict=True)) if keys else {}
        return await asyncio.to_thread(find_aliases, names, definitions, vectors)

    def _definitions(self) -> set[tuple[str, str]]:
        return {pair for text in self._tools.graph.chunk_texts() for pair in acronym_definitions(text)}

    def _merge(self, entity_mentions: Sequence[EntityMention], canonical: Mapping[str, str]) -> Graph:
        relation_mentions = self._tools.graph.relation_mentions()
        return merge(entity_mentions, relation_mentions, canonical, limit_chars=self._options.description_chars)

    async def _shorten(
        self, graph: Graph, mentions: Sequence[EntityMention], canonical: Mapping[str, str], asking: _Asking, progress: Progress
    ) -> Graph:
        """Let the model merge descriptions that are too long together; an entity it fails on keeps the joined, cut form."""
        if self._options.descriptions == "joined":
            return graph
        limit = self._options.description_chars
        texts: dict[str, list[str]] = {}
        for mention in sorted(mentions, key=lambda mention: (mention.chunk_id, mention.description)):
            texts.setdefault(canonical.get(mention.key, mention.key), []).append(mention.description)
        long = [key for key in graph.entities if needs_summary(texts[key], limit)]
        entities = dict(graph.entities)
        for done, key in enumerate(long):
            progress("shorten descriptions", done, len(long))
            write = partial(
                model_description, self._tools.generator, entities[key].name, texts[key], deadline_s=MODEL_DEADLINE_S, max_chars=limit
            )
            if text := await asking.text(write):
                entities[key] = replace(entities[key], description=text)
        return Graph(entities, graph.relations)

    async def _renew(self, kind: VectorKind, texts: Mapping[str, str], progress: Progress) -> VectorRows:
        """Embed the texts that are new or different, drop vectors of what is gone, commit, return all."""
        embedder, store = self._tools.embedder, self._tools.graph
        stored = await asyncio.to_thread(store.vectors, kind, embedder.dimensions)
        known = dict(zip(stored.keys, stored.text_hashes, strict=True))
        hashes = {key: text_hash(text) for key, text in texts.items()}
        wanted = [key for key in texts if known.get(key) != hashes[key]]
        gone = [key for key in known if key not in texts]
        for start in range(0, len(wanted), EMBED_BATCH):
            progress(f"embed {kind} texts", start, len(wanted))
            keys = wanted[start : start + EMBED_BATCH]
            vectors = await embedder.embed([texts[key] for key in keys])
            rows = VectorRows(tuple(keys), tuple(hashes[key] for key in keys), vectors)
            await asyncio.to_thread(store.save_vectors, kind, rows, drop=())
        if gone:
            nothing = VectorRows((), (), np.empty((0, embedder.dimensions), dtype=np.float32))
            await asyncio.to_thread(store.save_vectors, kind, nothing, drop=gone)
        return await asyncio.to_thread(store.vectors, kind, embedder.dimensions) if wanted or gone else stored

    def _partition(self, graph: Graph) -> list[Subgraph]:
        places = self._tools.graph.chunk_documents()
        homes = {key: (entity.chunk_ids[0], places.get(entity.chunk_ids[0], "")) for key, entity in graph.entities.items()}
        weights = {edge: relation.weight for edge, relation in graph.relations.items()}
        options = self._options
        parts = partition(
            list(graph.entities), weights, homes, max_entities=options.subgraph_entities, seed=options.seed, method=options.leiden
        )
        return name_subgraphs([part.entities for part in parts], self._tools.graph.subgraphs())

    async def _summarise(
        self, subgraphs: Sequence[Subgraph], graph: Graph, asking: _Asking, progress: Progress
    ) -> tuple[list[Summary], dict[str, str]]:
        """Summaries that say something else than the stored ones, and the hashes of what all were made of."""
        known = await asyncio.to_thread(self._tools.graph.summary_hashes)
        stored = {summary.summary_id: summary for summary in await asyncio.to_thread(self._tools.graph.summaries)}
        parts = await asyncio.to_thread(parts_of, graph, subgraphs)
        hashes = {subgraph_id: summary_hash(part) for subgraph_id, part in parts.items()}
        stale = [subgraph_id for subgraph_id in parts if known.get(subgraph_id) != hashes[subgraph_id]]
        changed = []
        for done, subgraph_id in enumerate(stale):
            progress("summarise", done, len(stale))
            part = parts[subgraph_id]
            text = await self._summary(part, asking)
            if text is None:  # without the model: a plain summary until a later settle, which finds another hash and tries again
                text, hashes[subgraph_id] = extractive_summary(part), ""
            summary = Summary(SummaryId(subgraph_id), text, len(part.entities), len(part.relations))
            if summary != stored.get(summary.summary_id):
                changed.append(summary)
        return changed, hashes

    async def _summary(self, part: Graph, asking: _Asking) -> str | None:
        if self._options.summaries == "extractive":
            return extractive_summary(part)
        return await asking.text(partial(model_summary, self._tools.generator, part, deadline_s=MODEL_DEADLINE_S))


class _Asking:
    """The model during one settle: once it is away or hangs, it is not asked again, so that a settle waits for it only once."""

    def __init__(self) -> None:
        self.away = False
        self.cost = Cost()

    async def text(self, write: Callable[[], Awaitable[Written]]) -> str | None:
        """What the model wrote; None where it is away, or where its reply could not be used."""
        if self.away:
            return None
        try:
            written = await write()
        except ModelError as error:
            self.away = isinstance(error, ModelTimeout | ModelUnavailable)
            return None
        self.cost += Cost(1, written.reply.tokens_in, written.reply.tokens_out)
        return written.text


def entity_names(mentions: Sequence[EntityMention]) -> list[EntityName]:
    """Each key with a surface form and its number of mentions."""
    names: dict[str, tuple[str, int]] = {}
    for mention in mentions:
        name, count = names.get(mention.key, (mention.name, 0))
        names[mention.key] = (min(name, mention.name), count + 1)
    return [EntityName(key, name, count) for key, (name, count) in sorted(names.items())]
