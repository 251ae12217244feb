"""What a minimum support costs: how often a question's summaries lead to the right edge, at k = 1, 2 and 3 documents.

``python -m benchmarks.clouds.support_price DATA`` indexes each JSONL file of DATA at an edge of its own, with spaCy and the default
embedder, without a language model, and prints one JSON. A row's context is one document.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.instant_edge import add, settled
from benchmarks.stand_ins import InstantGenerator, Models
from cloud_server.routing.matching import index_key, match
from edge_node.build import Adapters, build_node
from edge_node.egress.policy_file import NAME
from edge_node.settings import EdgeSettings
from shared.index import open_index
from shared.models.build import build_embedder, build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Embedder
from shared.records import EdgeId, Summary

SUPPORTS = (1, 2, 3)
MIN_COSINE = 0.4  # DGRAG §IV-B
BATCH = 32


def contexts(file: Path) -> list[tuple[str, str]]:
    """(name, text) of the different contexts of a file."""
    rows = (json.loads(line) for line in file.open(encoding="utf-8"))
    texts = dict.fromkeys(row["context"] for row in rows)
    return [(f"{file.stem}-{number}.txt", text) for number, text in enumerate(texts)]


async def told(file: Path, folder: Path, embedder: Embedder) -> dict[int, list[Summary]]:
    """The summaries of a file's documents at each support."""
    parts = Adapters(InstantGenerator(Models()), embedder, build_tokenizer(ModelSettings()), None)
    node = build_node(EdgeSettings(id=file.stem, state_dir=folder), parts)
    work = asyncio.create_task(node.run())
    found = {}
    try:
        await settled(node)
        await add(node, contexts(file))
        for support in SUPPORTS:
            (folder / NAME).write_text(f"version = 1\nminimum_support = {support}\n", encoding="utf-8")
            await node.worker.settle()
            found[support] = [summary for summary in node.graph.summaries() if summary.text]
    finally:
        work.cancel()
        await asyncio.wait([work])
        await asyncio.to_thread(node.close)
    return found


async def hits(summaries: dict[str, list[Summary]], data: Path, embedder: Embedder) -> dict[str, Any]:
    """Share of questions whose own edge is among the m matches."""
    index = open_index("numpy", embedder.dimensions)
    for edge, listed in summaries.items():
        for start in range(0, len(listed), BATCH):
            batch = listed[start : start + BATCH]
            keys = [index_key(EdgeId(edge), summary.summary_id) for summary in batch]
            index.put(keys, await embedder.embed([summary.text for summary in batch]))
    row: dict[str, Any] = {"summaries": len(index), "chars": sum(len(s.text) for listed in summaries.values() for s in listed)}
    for m in (1, 5):
        right = []
        for edge in summaries:
            for question in UltraDomain.read(data, [f"{edge}.jsonl"]).questions():
                vector = np.asarray(await embedder.embed([question.text]), dtype=np.float32)
                right.append(edge in {found.edge for found in match(vector, index, m=m, min_cosine=MIN_COSINE, slots=m)})
        row |= {"questions": len(right), f"hit_m{m}": round(sum(right) / len(right), 3)}
    return row


async def measured(files: Sequence[Path]) -> list[dict[str, Any]]:
    """One row for each support."""
    embedder = build_embedder(ModelSettings())
    with tempfile.TemporaryDirectory() as folder:
        found = {file.stem: await told(file, Path(folder) / file.stem, embedder) for file in files}
    return [{"k": k, **await hits({edge: told[k] for edge, told in found.items()}, files[0].parent, embedder)} for k in SUPPORTS]


def main(data: Annotated[Path, typer.Argument(help="folder of UltraDomain JSONL files", exists=True, file_okay=False)]) -> None:
    """Measure, and print the rows."""
    typer.echo(json.dumps(asyncio.run(measured(sorted(data.glob("*.jsonl"))))))


if __name__ == "__main__":
    typer.run(main)
