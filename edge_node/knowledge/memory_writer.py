"""Memories by a language model, from the sentences of hyperedges: a few at a time, each committed by itself (FD-RAG §4.1, eq. 10)."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from threading import Lock

from edge_node.knowledge.grouping import Grouping
from edge_node.knowledge.refine import Unkept
from edge_node.knowledge.reporting import said_by
from edge_node.memory.hypergraph import Hypergraph, Span
from edge_node.memory.records import Memory, Support, memory_of
from edge_node.memory.simplex import IntArray
from edge_node.memory.writing import MOST_NOTES, Note, memory_prompt, parsed_memories
from edge_node.store.askings import AskingStore, Standing
from edge_node.strategies.base import Cost, Progress, Tools
from shared.errors import ModelReplyError
from shared.fence import FENCE_BYTES, Fence
from shared.records import document_of

log = logging.getLogger("dgrag.edge.memory")
MOST_OF_PROMPT = 3  # memories
LEAST_NOTES = 2  # of one sentence alone the templates make what there is to make
Keep = Callable[[Sequence[Memory], str], Awaitable[frozenset[str]]]  # commits memories, and which model wrote them; ids of those kept


class MemoryWriter:
    """Asks about hyperedges that no reply was read of yet: those of the most documents first, then those of the most sentences.

    Tokens are spent on what is there now: those of memories that went with their chunks may be written again, and what they said is asked.
    """

    def __init__(self, tools: Tools, grouping: Grouping, keep: Keep, *, tokens_per_1000: int, deadline_s: float) -> None:
        """``tokens_per_1000``: that may be written for 1,000 tokens of documents; ``deadline_s``: of one call."""
        self._model = Unkept(tools.generator)
        self._documents = tools.documents
        self._askings = AskingStore(tools.graph.database)
        self._grouping = grouping
        self._keep = keep
        self._share = tokens_per_1000 / 1000
        self._deadline_s = deadline_s
        self._standing = Standing(0, frozenset())
        self._left = 0  # tokens
        self._counting = Lock()  # a settle counts beside a turn; the later look is what stays
        self._looked_at = -1  # changes of the grouping
        self._waiting: list[tuple[str, IntArray]] = []  # hyperedges by name, with their units; of the moment that was looked at
        self._seen: Hypergraph | None = None

    def load(self) -> None:
        """Read what was spent."""
        self.count()

    def count(self) -> None:
        """Look how many tokens there are to spend on the documents that are there."""
        if not self._share:
            return
        with self._counting:
            self._standing = standing = self._askings.standing()
            self._left = max(0, int(self._share * self._documents.totals()["tokens"]) - standing.tokens)

    @property
    def stale(self) -> int:
        """Tokens that may still be written; 0 where there is nothing to write them about."""
        looked = self._looked_at == self._grouping.changes and not self._grouping.stale
        return 0 if looked and not self._waiting else self._left

    async def write(self, progress: Progress, *, most: int) -> Cost:
        """Ask about up to ``most`` hyperedges; the groups are up to date by then. Raises ModelError; what was written is kept."""
        await asyncio.to_thread(self._look)
        cost, done = Cost(), 0
        while self._waiting and self._left and done < most:
            progress("write memories", done, most)
            name, units = self._waiting[0]
            cost += await self._ask(name, units)
            done += 1
        return cost

    def _look(self) -> None:
        self.count()
        if self._looked_at == self._grouping.changes:
            return
        changes, graph = self._grouping.changes, self._grouping.hypergraph("sentence")
        found = [(graph.name_of(units), units) for _, units in graph.members() if len(units) >= LEAST_NOTES]
        waiting = [one for one in found if one[0] not in self._standing.names]
        self._waiting = sorted(waiting, key=lambda one: (-_documents(graph, one[1]), -len(one[1]), one[0]))
        self._seen, self._looked_at = graph, changes

    async def _ask(self, name: str, units: IntArray) -> Cost:
        notes = await asyncio.to_thread(self._notes, units)
        cost, memories = Cost(), list[Memory]()
        if len(notes) >= LEAST_NOTES:
            fence = Fence(secrets.token_hex(FENCE_BYTES))
            prompt = memory_prompt(notes, fence, most=MOST_OF_PROMPT)
            try:
                reply = await self._model.generate(prompt, deadline_s=self._deadline_s)
            except ModelReplyError as error:  # about these sentences only
                log.warning("the model wrote no memories of hyperedge %s: %s", name, error.code)
                cost = Cost(calls=1)
            else:
                cost = Cost(1, reply.tokens_in, reply.tokens_out)
                parsed = parsed_memories(said_by(reply, prompt, fence), notes, most=MOST_OF_PROMPT)
                if parsed.unread_lines:
                    log.info("%d lines of what the model wrote of hyperedge %s are unread", parsed.unread_lines, name)
                memories = [memory_of("model", one.question, one.answer, one.supports, ()) for one in parsed.memories]
        kept = await self._keep(memories, self._model.name)
        await asyncio.to_thread(self._spend, name, cost, kept or self._read_of(units))
        return cost

    def _notes(self, units: IntArray) -> list[Note]:
        """The sentences of a hyperedge as they stand in the store, those that belong to it most first."""
        graph = self._seen
        if graph is None:
            return []
        rows = units[:MOST_NOTES].tolist()
        texts = self._documents.texts_of({graph.chunk_ids[row] for row in rows})
        return [_note(graph.chunk_ids[row], texts[graph.chunk_ids[row]], graph.spans[row]) for row in rows if graph.chunk_ids[row] in texts]

    def _read_of(self, units: IntArray) -> frozenset[str]:
        """The chunks of the sentences that are read of a hyperedge."""
        graph = self._seen
        return frozenset(graph.chunk_ids[row] for row in units[:MOST_NOTES].tolist()) if graph is not None else frozenset()

    def _spend(self, name: str, cost: Cost, parts: frozenset[str]) -> None:
        self._waiting = [one for one in self._waiting if one[0] != name]
        self._askings.note(name, max(cost.calls, cost.tokens_out), parts)
        self.count()


def _note(chunk_id: str, text: str, span: Span) -> Note:
    told = text[slice(*span)]
    start = span[0] + len(told) - len(told.lstrip())
    return Note(Support(chunk_id, start, start + len(told.strip())), told.strip())


def _documents(graph: Hypergraph, units: IntArray) -> int:
    return len({document_of(graph.chunk_ids[row]) for row in units.tolist()})
