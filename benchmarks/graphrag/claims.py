"""Claims that the model reads in real text.

``python -m benchmarks.graphrag.claims SET --documents 10 --rows claims.jsonl`` (GraphRAG §2.2). SET is a folder of ``corpus.jsonl``. An
edge reads some of its documents with spaCy and the default embedder, and the model writes the claims of each chunk. Each claim goes into
ROWS with the sentence of the chunk that says most of it, for somebody to read by eye. One JSON line is printed at the end: how many lines
could be read, what was kept, and what it took.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.datasets.passages import CORPUS
from benchmarks.datasets.splits import stride
from benchmarks.instant_edge import add, running
from benchmarks.machine import code, machine
from edge_node.build import Adapters, build_node
from edge_node.communities.claim_reader import ClaimStore
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings

SEED = 7


def read_from(node: EdgeNode) -> list[dict[str, Any]]:
    """Each claim that an edge has, beside what its chunk says."""
    claims = ClaimStore(node.documents.database).all()
    chunks = node.documents.chunks([claim.chunk_id for claim in claims])
    return [
        {
            "subject": claim.subject,
            "object": claim.object,
            "type": claim.type,
            "claim": claim.description,
            "says": chunks[claim.chunk_id][0].text[slice(*claim.span)],
        }
        for claim in claims
    ]


async def measured(documents: list[tuple[str, str]], models: ModelSettings, state: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The claims of some documents, and what they took."""
    async with model_http(models) as http:
        settings = EdgeSettings(state_dir=state, id="claims", claims="model", reports="extractive", memory="off")
        node = build_node(settings, Adapters(build_generator(models, http), build_embedder(models), build_tokenizer(models), None))
        async with running(node):
            began = time.perf_counter()
            await add(node, documents)
            await node.worker.settle()
            await node.worker.news.until(lambda: node.worker.idle and not node.strategy.stale)
            rows = await asyncio.to_thread(read_from, node)
            chunks = node.documents.totals()
    return rows, {"documents": len(documents), "claims": len(rows), "seconds": round(time.perf_counter() - began, 1), **chunks}


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="With corpus.jsonl.")],
    rows: Annotated[Path, typer.Option(help="Where the claims go, one JSON line each.", dir_okay=False)],
    url: Annotated[str, typer.Option(help="A model server; `dgrag model serve` starts one.")] = "http://127.0.0.1:8090/v1",
    documents: Annotated[int, typer.Option(min=1, help="Evenly spaced.")] = 10,
) -> None:
    """Read the claims of some documents, keep them for the eye, and print what they took as one JSON line."""
    drop_settings_of_the_shell()
    lines = [orjson.loads(line) for line in (folder / CORPUS).read_bytes().splitlines()]
    texts = [(line["doc_id"], f"{line.get('title') or ''}\n{line['text']}".strip()) for line in lines]
    with tempfile.TemporaryDirectory() as state:
        found, told = asyncio.run(measured(list(stride(texts, documents, seed=SEED)), ModelSettings(url=url), Path(state)))
    rows.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in found))
    typer.echo(orjson.dumps({**code(), "machine": machine(), "set": folder.name, **told}))


if __name__ == "__main__":
    typer.run(main)
