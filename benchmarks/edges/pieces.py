"""Single pieces of the write side on data of a given size: the partition, its repair, and a commit."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.meters import percentile_ms
from benchmarks.stand_ins import DIMENSIONS
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows
from edge_node.documents.chunking import split
from edge_node.extraction.extractor import per_chunk
from edge_node.extraction.model_extraction import names_for_prompt, relation_prompt
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.graph.partition import Home, partition
from edge_node.graph.repair import Partition, repair
from edge_node.graph.store import GraphStore
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.records import Document, DocumentId

MAX_ENTITIES = 40
DEGREE = 8
COMMITS = 50
VECTORS = 100
CHUNKINGS = ((1200, 100), (200, 30))  # as other systems; as our default
Edges = dict[tuple[str, str], float]


def communities(edges: int, seed: int = 0) -> tuple[list[str], Edges]:
    """A graph of mean degree DEGREE whose nodes keep four of five edges in their community; sizes and degrees follow power laws."""
    rng = np.random.default_rng(seed)
    nodes = 2 * edges // DEGREE
    sizes = np.clip((10 * rng.pareto(1.5, nodes // 20) + 5).astype(int), 5, 400)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    starts = np.append(starts[starts < nodes], nodes)
    inside = np.searchsorted(starts, np.arange(nodes), side="right") - 1
    sources = (nodes * rng.random(2 * edges) ** 1.6).astype(int)
    low, high = starts[inside[sources]], starts[inside[sources] + 1]
    near = low + ((high - low) * rng.random(2 * edges) ** 1.6).astype(int)
    targets = np.where(rng.random(2 * edges) < 0.8, near, rng.integers(0, nodes, 2 * edges))
    found: Edges = {}
    for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
        if a != b and len(found) < edges:
            found[f"n{min(a, b)}", f"n{max(a, b)}"] = 1.0
    return [f"n{i}" for i in range(nodes)], found


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, list[float], list[float]]:
    """(last result, CPU seconds of each, wall seconds of each)."""
    cpu, wall = [], []
    result = None
    for _ in range(repeats):
        c, w = time.process_time(), time.perf_counter()
        result = work()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    return result, cpu, wall


def partitioning(edges: int) -> dict[str, Any]:
    """A full partition of so many edges, and a repair after a document: 15 new entities with two relations each, three gone."""
    names, weights = communities(edges)
    homes: dict[str, Home] = {name: (f"c{i // 5}", f"d{i // 50}") for i, name in enumerate(names)}
    found, cpu, _ = timed(lambda: partition(names, weights, homes, max_entities=MAX_ENTITIES), 3)
    parts = Partition.of({part.subgraph_id: part.entities for part in found})
    adjacency: dict[str, dict[str, float]] = {}
    for (a, b), weight in weights.items():
        adjacency.setdefault(a, {})[b] = weight
        adjacency.setdefault(b, {})[a] = weight
    rng = np.random.default_rng(1)
    new = [f"new{i}" for i in range(15)]
    for name in new:
        for other in rng.choice(names, 2).tolist():
            adjacency.setdefault(name, {})[other] = adjacency.setdefault(other, {})[name] = 1.0
    gone = rng.choice(names, 3).tolist()
    change, repair_cpu, _ = timed(
        lambda: repair(parts, adjacency, new=new, gone=gone, homes=homes | dict.fromkeys(new, ("c", "d")), max_entities=MAX_ENTITIES), 7
    )
    return {
        "edges": len(weights),
        "entities": len(names),
        "parts": len(found),
        "full_cpu_s": round(float(np.median(cpu)), 3),
        "largest_part": max(len(part.entities) for part in found),
        "repair_cpu_p50_ms": percentile_ms(repair_cpu, 50),
        "parts_repaired": len(change.changed),
        "largest_repaired": max(len(part.entities) for part in change.changed),
    }


def commit() -> dict[str, Any]:
    """One transaction with VECTORS vectors, at synchronous FULL."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "edge.db")
        store, number = GraphStore(database), iter(range(10**9))
        vectors = rng.standard_normal((VECTORS, DIMENSIONS), dtype=np.float32)

        def one() -> None:
            keys = tuple(f"entity {next(number)}" for _ in range(VECTORS))
            store.vectors.save("entity", VectorRows(keys, keys, vectors))

        timed(one, 5)
        _, cpu, wall = timed(one, COMMITS)
        database.close()
    return {"vectors": VECTORS, **{f"{n}_p{q}_ms": percentile_ms(v, q) for n, v in (("cpu", cpu), ("wall", wall)) for q in (50, 95)}}


def prompts(documents: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Tokens that extraction by a model would send for (name, text) documents, with spaCy's names in each prompt; by CHUNKINGS."""
    tokenizer, spacy = build_tokenizer(ModelSettings()), SpacyExtractor()
    corpus = sum(tokenizer.count(text) for _, text in documents)
    rows = []
    for size, overlap in CHUNKINGS:
        whole = [Document(DocumentId(name), name, name, text) for name, text in documents]
        chunks = [chunk for document in whole for chunk in split(document, tokenizer, size=size, overlap=overlap)]
        named = per_chunk(spacy.extract(chunks))
        asked = [relation_prompt(c, names_for_prompt(named[c.chunk_id].entities), form="lines") for c in chunks if c.chunk_id in named]
        sent = sum(tokenizer.count(message.content) for prompt in asked for message in prompt.messages)
        rows.append({"chunk_tokens": size, "corpus_tokens": corpus, "calls": len(asked), "sent": sent, "ratio": round(sent / corpus, 3)})
    return rows
