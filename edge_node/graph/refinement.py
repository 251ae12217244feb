"""② What a language model makes better: summaries of subgraphs, descriptions that are too long. One text at a time, each committed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.merging import descriptions_hash
from edge_node.graph.store import StoredSummary
from edge_node.graph.summaries import described, description_prompt, summarised, summary_prompt
from edge_node.graph.tools import Tools
from edge_node.graph.update import GraphUpdater, facts_of, summary_hash
from edge_node.graph.view import pair_of
from edge_node.model_task import ModelTask, each
from edge_node.records import Cost, Progress
from edge_node.settings import GraphSettings

log = logging.getLogger("dgrag.edge.refine")
IN_ONE_GO = 8  # texts of each call at once: a new document must not wait longer


class SummaryRefiner:
    """Asks the model for what the graph updater left plain or stale. A text whose subject changes meanwhile is thrown away."""

    def __init__(self, tools: Tools, updater: GraphUpdater, settings: GraphSettings) -> None:
        self._task = ModelTask(tools.generator, log, deadline_s=settings.model_deadline_s)
        self._store = tools.graph
        self._releases = tools.releases
        self._updater = updater
        self._settings = settings
        self.stale = 0  # texts that the model should still write

    async def count(self) -> None:
        """Look how many texts there are to write."""
        summaries = await self._stale_summaries()
        self.stale = len(summaries) + len(self._updater.wanted_descriptions)

    async def refine(self, progress: Progress, *, most: int) -> Cost:
        """Write up to ``most`` texts: descriptions first, as summaries rest on them. Raises ModelError; what was written is kept."""
        calls = self._settings.idle_calls
        descriptions = list(self._updater.wanted_descriptions.items())[:most]
        summaries = (await self._stale_summaries())[: most - len(descriptions)]
        cost = await each("shorten descriptions", descriptions, self._describe, progress, at_once=calls)
        if descriptions:
            await self._updater.settle(progress)
        cost += await each("write summaries", summaries, self._summarise, progress, at_once=calls)
        await self.count()
        return cost

    async def _stale_summaries(self) -> list[str]:
        return await asyncio.to_thread(self._store.stale_ids) if self._settings.summaries == "model" else []

    async def _describe(self, missing: tuple[str, str]) -> Cost:
        key, wanted = missing
        name = _name_of(key, self._updater.view.graph)
        texts = await asyncio.to_thread(self._updater.descriptions_of, key)
        if not name or descriptions_hash(texts) != wanted:
            return Cost()  # a document came or went that no settle has seen yet
        reply, cost = await self._task.ask(description_prompt(name, texts), "the model did not shorten a description")
        text = described(reply, texts, max_chars=self._settings.description_chars)
        async with self._updater.lock:
            if self._updater.wanted_descriptions.get(key) == wanted:
                await asyncio.to_thread(self._store.save_description, key, wanted, text)
        return cost

    async def _summarise(self, subgraph_id: str) -> Cost:
        async with self._updater.lock:  # between two settles: what is stored is of the part that is shown
            found = await asyncio.to_thread(self._part, subgraph_id)
        if found is None:
            return Cost()
        stored, part, mask = found
        reply, cost = await self._task.ask(summary_prompt(part), f"the model gave no summary of {subgraph_id}")
        text = mask(summarised(reply, part))
        summary = replace(stored.summary, text=text, entities=len(part.entities), relations=len(part.relations))
        better = StoredSummary(summary, stored.input_hash, facts_of(part), stale=False)
        async with self._updater.lock:
            await asyncio.to_thread(self._store.save_summary, better, asked_for=stored.input_hash)
        return cost

    def _part(self, subgraph_id: str) -> tuple[StoredSummary, Graph, Callable[[str], str]] | None:
        """The stored summary, the part as the cloud may know it, and what masks its text; None where it is gone or holds nothing."""
        release = self._releases.summaries()
        stored, part = self._store.stored_summaries([subgraph_id]).get(subgraph_id), self._updater.released_part(subgraph_id, release)
        if stored is None or part is None or summary_hash(part) != stored.input_hash:  # the next settle sees that
            return None
        return stored, part, release.redactor.mask


def _name_of(key: str, graph: Graph) -> str:
    """What an entity is called, or a relation by its ``relation_key``; "" where it is gone."""
    if pair_of(key) in graph.relations:
        source, target = (graph.entities[end].name for end in pair_of(key))
        return f"the relation between {source} and {target}"
    return graph.entities[key].name if key in graph.entities else ""
