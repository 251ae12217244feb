"""What it costs clouds to find summaries among very many: ``python -m benchmarks.clouds.matching FILE... [--edges 10000] [--postgres]``.

Summaries are made of the sentences of UltraDomain splits: each of two passages that are near each other, its vector between those that
the default embedder gives these two. A store is filled with them; a fresh process opens it as the cloud does, matches the questions of
the splits, and takes in deltas. Seconds of the embedder are not in it. Prints one JSON line.
``--postgres``: the store is a PostgreSQL from a package. ``--clouds 3``: so many processes open it, one matches alone, then all at once;
no deltas then. ``--graph``: a graph of pgvector is measured beside the cloud's index.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer

from benchmarks.clouds import hnsw
from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from cloud_server.database.opening import open_database
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.matching import index_key
from cloud_server.routing.summaries import SummaryStore
from cloud_server.routing.summary_index import SummaryIndex
from cloud_server.settings import CloudSettings
from shared.index import open_index
from shared.models.build import build_embedder
from shared.models.settings import ModelSettings
from shared.ports import FloatArray, SystemClock
from shared.records import EdgeId, Summary, SummaryDelta, SummaryId
from shared.text.sentences import sentences
from shared.vectors import unit

PASSAGES, SENTENCES = 4_000, 6  # that summaries are mixed of, and sentences of each
FIELD = 60  # passages that an edge tells of: those nearest to one
NOISE = 0.012  # of a coordinate
CHANGED, CHANGES = 1_000, 10  # summaries of a delta, and deltas
WARM_UP = 5
MOST_SUMMARIES = 100_000  # of one edge
OPEN_S = 3600.0  # that a cloud may take for all


@dataclass(frozen=True)
class Field:
    """Real passages with their vectors (n, d), and real questions with theirs (q, d)."""

    passages: list[list[str]]  # sentences
    vectors: FloatArray
    questions: list[str]
    asked: FloatArray

    def summaries(self, edge: int, count: int) -> tuple[tuple[Summary, ...], FloatArray]:
        """What the edge of a number tells, and the vectors (count, d); the same for the same number."""
        rng = np.random.default_rng(edge)
        near = np.argsort(-(self.vectors @ self.vectors[rng.integers(len(self.passages))]))[:FIELD]
        one, two = near[rng.integers(len(near), size=(2, count))]
        share = rng.uniform(0.4, 1.0, size=(count, 1))
        noise = rng.normal(0, NOISE, size=(count, self.vectors.shape[1]))
        vectors = unit(share * self.vectors[one] + (1 - share) * self.vectors[two] + noise)
        texts = (" ".join([*self.passages[a][:3], *self.passages[b][3:]]) for a, b in zip(one, two, strict=True))
        return tuple(Summary(SummaryId(f"s{number}"), text, 5, 8) for number, text in enumerate(texts)), vectors


@dataclass(frozen=True)
class Turns:
    """Of one of several clouds: which it is, of how many, and where they wait for each other."""

    number: int = 0
    clouds: int = 1
    meet: Callable[[], object] = lambda: None

    @property
    def is_first(self) -> bool:
        """Whether it matches alone before all do."""
        return self.number == 0


ALONE = Turns()


class Ready:
    """Gives the vectors that were put into it."""

    def __init__(self, fingerprint: str, dimensions: int) -> None:
        self.fingerprint = fingerprint
        self.dimensions = dimensions
        self.vectors = np.empty((0, dimensions), dtype=np.float32)

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Of as many texts."""
        return self.vectors[: len(texts)]


def read(files: Sequence[Path]) -> tuple[list[list[str]], list[str]]:
    """PASSAGES passages of the splits' texts, evenly spaced, and all questions."""
    rows = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
    passages = [passage for text in dict.fromkeys(row["context"] for row in rows) for passage in _passages(text)]
    few = np.unique(np.linspace(0, len(passages) - 1, min(PASSAGES, len(passages))).astype(int))
    return [passages[number] for number in few], [row["input"] for row in rows]


def _passages(text: str) -> Iterator[list[str]]:
    said = [text[start:end].strip() for start, end in sentences(text) if end - start > 30]
    for start in range(0, len(said) - SENTENCES, SENTENCES):
        yield said[start : start + SENTENCES]


async def embedded(passages: list[list[str]], questions: list[str]) -> tuple[Field, str]:
    """With the vectors of the default embedder, and its fingerprint."""
    embedder = build_embedder(ModelSettings())
    vectors = await embedder.embed([" ".join(passage) for passage in passages])
    return Field(passages, vectors, questions, await embedder.embed(questions)), embedder.fingerprint


def fill(folder: Path, url: str, field: Field, fingerprint: str, edges: int, each: int) -> None:
    """A store as the cloud writes it."""
    database = open_database(folder, url)
    registry, store = EdgeRegistry(database, SystemClock()), SummaryStore(database, SystemClock(), max_per_edge=MOST_SUMMARIES)
    asyncio.run(store.embed_by(Ready(fingerprint, field.vectors.shape[1])))
    for edge in range(edges):
        registry.enrol(_name(edge))
        summaries, vectors = field.summaries(edge, each)
        store.apply(_name(edge), SummaryDelta("e", 0, 1, summaries, ()), vectors)
    database.close()


def measured(folder: Path, url: str, field: Field, fingerprint: str, index: str, *, edges: int = 0, turns: Turns = ALONE) -> dict[str, Any]:
    """Open the store and match; of one cloud alone also how it takes in deltas, beside those of so many ``edges``."""
    return asyncio.run(_measured(folder, url, field, fingerprint, index, edges, turns))


async def _measured(folder: Path, url: str, field: Field, fingerprint: str, index: str, edges: int, turns: Turns) -> dict[str, Any]:
    before_mb, began, database = _memory_mb("VmRSS"), time.perf_counter(), open_database(folder, url)
    registry, embedder = EdgeRegistry(database, SystemClock()), Ready(fingerprint, field.vectors.shape[1])
    store = SummaryStore(database, SystemClock(), max_per_edge=MOST_SUMMARIES)
    summaries = SummaryIndex(registry, store, open_index(index, embedder.dimensions), embedder)
    await summaries.open()
    found: dict[str, Any] = {"summaries": len(summaries), "open_s": round(time.perf_counter() - began, 1)}
    await asyncio.to_thread(turns.meet)
    if turns.is_first:
        found |= await _matched(summaries, field)
    if turns.clouds > 1:
        await asyncio.to_thread(turns.meet)
        found["at_once"] = await _matched(summaries, field)
    found |= {"before_mb": before_mb, "rss_mb": _memory_mb("VmRSS"), "most_mb": _memory_mb("VmHWM")}
    if turns.clouds == 1:
        found |= await _updates(summaries, embedder, field, edges)
    database.close()
    return found


async def _matched(summaries: SummaryIndex, field: Field) -> dict[str, float]:
    """One question after another."""
    knobs, matching, edges_found = _knobs(), list[float](), list[int]()
    for question, vector in zip(field.questions, field.asked, strict=True):
        asked = time.perf_counter()
        found = await summaries.match(question, vector[None], **knobs)
        matching.append(time.perf_counter() - asked)
        edges_found.append(len({one.edge for one in found}))
    times = {f"match_p{q}_ms": percentile_ms(matching[WARM_UP:], q) for q in (50, 95)}
    rate = {"questions_a_second": round(len(matching) / sum(matching), 1)}
    return {**times, **rate, "mean_edges_matched": round(float(np.mean(edges_found)), 2)}


def _knobs() -> Any:
    settings = CloudSettings()
    limits = {"m": settings.match_m, "min_cosine": settings.match_threshold}
    return {**limits, "slots": settings.slots_per_edge, "lead": settings.match_lead}


async def _updates(summaries: SummaryIndex, embedder: Ready, field: Field, edges: int) -> dict[str, Any]:
    """Deltas of CHANGED summaries, each the first of an edge that is new, and then again as a change of it."""
    first, again = list[float](), list[float]()
    for number in range(CHANGES):
        edge = _name(edges + number)
        await asyncio.to_thread(summaries._registry.enrol, edge)
        for version, times in ((1, first), (2, again)):
            told, embedder.vectors = field.summaries(edges + 10 * number + version, CHANGED)
            began = time.perf_counter()
            await summaries.accept(edge, SummaryDelta("e", version - 1, version, told, ()))
            times.append(time.perf_counter() - began)
    return {"new_1000_p50_ms": percentile_ms(first, 50), "changed_1000_p50_ms": percentile_ms(again, 50)}


def _name(number: int) -> EdgeId:
    return EdgeId(f"edge-{number}")


def _memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024, 1)


def main(
    files: Annotated[list[Path], typer.Argument(help="Splits of UltraDomain, as JSON lines.", exists=True, dir_okay=False)],
    edges: Annotated[int, typer.Option(min=1, help="Edges of the federation.")] = 10_000,
    each: Annotated[int, typer.Option(min=1, help="Summaries of each.")] = 100,
    index: Annotated[str, typer.Option(help="The vector index: faiss, numpy or nano.")] = CloudSettings.model_fields["index"].default,
    postgres: Annotated[bool, typer.Option("--postgres", help="Over PostgreSQL.")] = False,
    clouds: Annotated[int, typer.Option(min=1, help="Processes over that PostgreSQL.")] = 1,
    graph: Annotated[bool, typer.Option("--graph", help="Measure a graph of pgvector in that PostgreSQL beside the index.")] = False,
) -> None:
    """Fill a store, open it, match and change."""
    if (clouds > 1 or graph) and not postgres:
        raise typer.BadParameter("several clouds and a graph are in a PostgreSQL: give --postgres")
    drop_settings_of_the_shell()
    field, fingerprint = asyncio.run(embedded(*read(files)))
    with tempfile.TemporaryDirectory() as folder, hnsw.server(Path(folder) / "data") if postgres else nullcontext("") as url:
        found = _in_fresh_processes((Path(folder), url, field, fingerprint), index=index, edges=edges, each=each, clouds=clouds)
        if graph:
            batches = (_batch(field, edge, each) for edge in range(edges))
            changes = [_batch(field, edges + number, CHANGED) for number in range(hnsw.CHANGES)]
            found["graph"] = hnsw.compared(url, batches, changes, field.asked, index)
    store = {"store": "postgresql" if postgres else "sqlite", "clouds": clouds}
    typer.echo(orjson.dumps({**code(), "machine": machine(), "edges": edges, "each": each, "index": index, **store, **found}))


def _in_fresh_processes(store: tuple[Path, str, Field, str], *, index: str, edges: int, each: int, clouds: int) -> dict[str, Any]:
    fresh = multiprocessing.get_context("spawn")
    with fresh.Pool(1) as pool:
        pool.apply(fill, (*store, edges, each))
    barrier, told = fresh.Barrier(clouds), fresh.Queue()
    turns = [Turns(number, clouds, barrier.wait) for number in range(clouds)]
    processes = [fresh.Process(target=_tell, args=(told, turn, store, index, edges)) for turn in turns]
    for process in processes:
        process.start()
    found: dict[int, dict[str, Any]] = dict(told.get(timeout=OPEN_S) for _ in processes)
    for process in processes:
        process.join()
    return found[0] if clouds == 1 else {"each_cloud": [found[number] for number in sorted(found)]}


def _tell(told: Any, turns: Turns, store: tuple[Path, str, Field, str], index: str, edges: int) -> None:
    told.put((turns.number, measured(*store, index, edges=edges, turns=turns)))


def _batch(field: Field, edge: int, count: int) -> hnsw.Batch:
    told, vectors = field.summaries(edge, count)
    return [index_key(_name(edge), one.summary_id) for one in told], vectors


if __name__ == "__main__":
    typer.run(main)
