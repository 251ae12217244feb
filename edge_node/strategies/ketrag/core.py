"""The model reads the core chunks, most central first; all others keep what spaCy found (KET-RAG §5.1, Alg. 3 l. 8)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from heapq import nsmallest
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.extraction.names import TITLE
from edge_node.extraction.nlp import Extraction
from edge_node.graph.tools import Tools
from edge_node.model_task import each
from edge_node.records import Cost, Progress
from edge_node.strategies.ketrag.knn import tie_of
from shared.records import Chunk

log = logging.getLogger("dgrag.edge.core")
IN_ONE_GO = 8  # chunks of each call at once: a new document must not wait longer

ALPHA = 0.15  # of a teleport; the paper does not say, this is PageRank's own
TOLERANCE = 1e-9
MOST_ROUNDS = 100  # then 0.85**100 = 9e-8 is left


def pagerank(edges: NDArray[np.int64], n: int, *, alpha: float = ALPHA) -> NDArray[np.float64]:
    """Return pi (n,) with pi = alpha/n + (1 - alpha) * pi P, P_ij = 1/degree(i), on an undirected graph (eq. 1). It sums to 1.

    edges (e, 2): rows < n, each pair once, no loops. What an isolated node has goes to all alike. The sums are made in the
    order of the edges, so equal graphs in equal order give equal numbers.

    >>> pagerank(np.array([[0, 1], [0, 2]]), 3).round(3).tolist()
    [0.486, 0.257, 0.257]
    """
    source, target = np.concatenate([edges, edges[:, ::-1]]).T if len(edges) else np.zeros((2, 0), dtype=np.int64)
    degrees = np.bincount(source, minlength=n)
    moved = csr_array((1.0 / degrees[source], (target, source)), shape=(n, n))
    isolated = degrees == 0
    scores = np.full(n, 1.0 / max(n, 1))
    for _ in range(MOST_ROUNDS):
        newer: NDArray[np.float64] = alpha / max(n, 1) + (1 - alpha) * (moved @ scores + scores[isolated].sum() / max(n, 1))
        if np.abs(newer - scores).sum() < TOLERANCE:
            return newer
        scores = newer
    return scores


def core(keys: Sequence[str], scores: NDArray[np.float64], *, share: float) -> tuple[str, ...]:
    """The ceil(share * n) keys of highest score, best first; ``scores[i]`` is that of ``keys[i]`` (Alg. 3 l. 8, KET-RAG-P).

    Of equals the earlier key comes first, so ``keys`` come in an order that is no matter of history: by ``tie_of``. Scores that differ
    by less than about 1e-6 of their mean are equal: an even graph has equal nodes, whose sums differ in the last bit.

    >>> core(["a", "b", "c"], np.array([0.2, 0.6, 0.2]), share=0.3)
    ('b',)
    """
    order = np.argsort(-np.round(scores * len(keys), 6), kind="stable")
    return tuple(keys[place] for place in order[: _count(keys, share)])


def core_uniform(keys: Sequence[str], *, share: float, seed: int) -> tuple[str, ...]:
    """Ceil(share * n) keys as if drawn (§6.1, KET-RAG-U): those of smallest hash, so one more key moves at most one other.

    >>> len(core_uniform(["a", "b", "c"], share=0.5, seed=1))
    2
    """
    return tuple(nsmallest(_count(keys, share), keys, key=lambda key: tie_of(key, seed=seed)))


def _count(keys: Sequence[str], share: float) -> int:
    return ceil(round(share * len(keys), 9))  # 0.1 * 30 is a little more than 3


class CoreReader:
    """Each chunk is asked about once; a reply that is of no use leaves what spaCy found."""

    def __init__(self, tools: Tools, model: ModelExtractor, *, at_once: int) -> None:
        self._documents = tools.documents
        self._mentions = tools.graph.mentions
        self._model = model
        self._at_once = at_once
        self.unread: tuple[str, ...] = ()

    async def look(self, core: Sequence[str]) -> None:
        """See which chunks of the core, most central first, the model has not read."""
        read = await asyncio.to_thread(self._mentions.readings)
        self.unread = tuple(chunk_id for chunk_id in core if chunk_id not in read)

    async def read(self, progress: Progress) -> Cost:
        """Read a few, each committed by itself. Raises ModelTimeout and ModelUnavailable."""
        chosen = self.unread[: IN_ONE_GO * self._at_once]
        chunks = await asyncio.to_thread(self._documents.chunks, chosen)

        async def read(chunk_id: str) -> Cost:
            cost = await self._ask(chunks[chunk_id][0]) if chunk_id in chunks else Cost()
            self.unread = tuple(key for key in self.unread if key != chunk_id)  # another list, where a settle came between
            return cost

        return await each("read the core", chosen, read, progress, at_once=self._at_once)

    async def _ask(self, chunk: Chunk) -> Cost:
        entities, relations = await asyncio.to_thread(self._mentions.of_chunk, chunk.chunk_id)
        named = tuple(mention for mention in entities if mention.type != TITLE)  # a title is not said by the chunk
        found = await self._model.extract(chunk, Extraction(named, relations))
        if found.failure is not None:
            log.warning("the model did not read a core chunk: %s", found.failure.code)
        known = {mention.key for mention in entities}
        further = [mention for mention in found.extraction.entities if mention.key not in known]
        name = self._model.generator.name
        await asyncio.to_thread(self._mentions.save_reading, chunk.chunk_id, further, found.extraction.relations, model=name)
        return Cost(found.calls, found.tokens_in, found.tokens_out)
