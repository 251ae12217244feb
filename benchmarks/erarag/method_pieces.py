"""Single pieces of KET-RAG and EraRAG at a size.

``python -m benchmarks.erarag.method_pieces [--chunks 10000] [--vectors 100000]``. Chunks are made of words drawn by Zipf's law and vectors
drawn at random, so the figures are of cost and say nothing about quality. CPU seconds of this process; set ``OMP_NUM_THREADS=1``. Prints
one JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import typer

from benchmarks.machine import code, machine
from benchmarks.meters import peak_mb, spent
from benchmarks.stand_ins import DIMENSIONS
from edge_node.graph.local_search import Context
from edge_node.strategies.erarag.segments import Bounds, draw_hyperplanes, hash_codes, positions_of
from edge_node.strategies.erarag.tree import EMPTY, Item, changed
from edge_node.strategies.ketrag.bipartite import Bipartite, ChunkTerms, SubChunk
from edge_node.strategies.ketrag.core import core, pagerank
from edge_node.strategies.ketrag.knn import Neighbours, Node
from edge_node.strategies.ketrag.search import by_score, extended, neighbourhood
from shared.ports import FloatArray
from shared.vectors import to_ints, unit

T = TypeVar("T")
WORDS, WORDS_A_SENTENCE, SENTENCES = 30_600, 18, 4  # vocabulary, and of a chunk, as of ketrag_musique
TOKENS, LIMIT = 160, 12_000  # of a chunk; of a context (KET-RAG §6)
MORE = 50  # chunks, passages and questions that are measured one by one
K, BETA = 2, 0.8
BITS, BOUNDS = 32, Bounds(4, 16)


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A chunk: the terms of its sentences, their vectors (4, d), and its own (d,)."""

    chunk_id: str
    terms: list[set[str]]
    sentences: FloatArray
    vector: FloatArray


def drawn(n: int, rng: np.random.Generator) -> list[Drawn]:
    """So many chunks."""
    weights = 1 / (np.arange(1, WORDS + 1) + 20.0)
    weights /= weights.sum()
    words = rng.choice(WORDS, (n, SENTENCES, WORDS_A_SENTENCE), p=weights)
    return [
        Drawn(
            f"d{number}:0",
            [{f"w{word}" for word in sentence} for sentence in words[number]],
            directions(SENTENCES, rng),
            directions(1, rng)[0],
        )
        for number in range(n)
    ]


def directions(n: int, rng: np.random.Generator) -> FloatArray:
    """(n, d) unit rows."""
    return unit(rng.standard_normal((n, DIMENSIONS)).astype(np.float32))


def p50_ms(work: Callable[[T], Any], items: Iterable[T]) -> float:
    """The median of the calls with each of some items."""
    return round(float(np.median([spent(partial(work, item)) for item in items])) * 1000, 3)


def ketrag(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """The keyword graph and the KNN graph of n chunks; one more, one less; one question."""
    chunks = drawn(n + MORE, rng)
    terms = [
        ChunkTerms(one.chunk_id, [SubChunk(one.chunk_id, TOKENS, set().union(*one.terms))], one.terms, to_ints(one.sentences))
        for one in chunks
    ]
    nodes = [Node(one.chunk_id, set().union(*one.terms), to_ints(one.vector)) for one in chunks]
    graph, knn, before = Bipartite(DIMENSIONS), Neighbours(DIMENSIONS, k=K), peak_mb()
    row: dict[str, Any] = {"chunks": n, "keywords_s": round(spent(lambda: graph.put(terms[:n])), 3)}
    matrix, ids = np.stack([one.vector for one in chunks[:n]]), [one.chunk_id for one in chunks[:n]]
    row["retrieve_p50_ms"] = p50_ms(lambda q: asked(graph, q, matrix, ids), directions(MORE, rng))
    row["keywords_one_p50_ms"] = p50_ms(lambda one: graph.put([one]), terms[n:])
    row["keywords_without_one_p50_ms"] = p50_ms(lambda one: graph.drop([one.chunk_id]), terms[n:])
    row["knn_s"] = round(spent(lambda: knn.renew(nodes[:n])), 3)
    row["knn_one_p50_ms"] = p50_ms(lambda one: knn.renew([one]), nodes[n:])
    row["knn_without_one_p50_ms"] = p50_ms(lambda one: knn.renew([], [one.chunk_id]), nodes[n:])
    edges = knn.graph()
    row["pagerank_p50_ms"] = p50_ms(lambda _: core(edges.keys, pagerank(edges.edges, len(edges.keys)), share=BETA), range(7))
    return row | {"memory_mb": round(peak_mb() - before, 1)}


def asked(graph: Bipartite, question: FloatArray, matrix: FloatArray, ids: list[str]) -> Context:
    """Keyword retrieval without embedding (Alg. 4 l. 2-5)."""
    around = neighbourhood((term for term, _ in graph.nearest(question)), graph.pieces_with, graph.tokens_of, limit_tokens=LIMIT)
    cosines = dict(zip(ids, (matrix @ question).tolist(), strict=True))
    return extended(Context((), (), 0), by_score(around, cosines), graph.tokens_of, limit_tokens=LIMIT)


def erarag(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Codes and segments of n passages; one more, one less."""
    vectors, planes = directions(n + MORE, rng), draw_hyperplanes(BITS, DIMENSIONS, rng)
    keys = [f"d{number}:0" for number in range(n + MORE)]
    row: dict[str, Any] = {"passages": n, "hash_s": round(min(spent(lambda: hash_codes(vectors[:n], planes)) for _ in range(3)), 3)}
    positions = positions_of(keys, hash_codes(vectors, planes), bits=BITS).tolist()
    items = [Item(key, position) for key, position in zip(keys, positions, strict=True)]
    began = time.process_time()
    layer = changed(EMPTY, items[:n], (), bounds=BOUNDS).layer
    row["segments_s"] = round(time.process_time() - began, 3)
    row["segments"] = len(layer.starts)
    row["insert_p50_ms"] = p50_ms(lambda one: changed(layer, [one], (), bounds=BOUNDS), items[n:])
    row["remove_p50_ms"] = p50_ms(lambda one: changed(layer, (), {one.key}, bounds=BOUNDS), items[:MORE])
    row["segments_touched"] = float(np.mean([len(changed(layer, [one], (), bounds=BOUNDS).new) for one in items[n:]]))
    return row


def main(
    chunks: Annotated[int, typer.Option(min=100, help="Chunks of KET-RAG's graphs.")] = 10_000,
    vectors: Annotated[int, typer.Option(min=100, help="Passages of EraRAG's tree.")] = 100_000,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="File for the JSON, written over; printed in any case.")] = None,
) -> None:
    """Measure the pieces of both methods."""
    rng = np.random.default_rng(0)
    result = {**code(), "machine": machine(), "ketrag": ketrag(chunks, rng), "erarag": erarag(vectors, rng)}  # the larger one last: peaks
    text = json.dumps(result, indent=1)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
