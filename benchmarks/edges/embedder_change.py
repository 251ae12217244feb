"""What a change of an edge's embedding model takes, and what questions take meanwhile.

``python -m benchmarks.edges.embedder_change FILE …``. An edge indexes the files with one real model, is started with another one, and is
asked for passages all the time until that one has taken over. No language model is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from edge_node.build import Adapters, build_node
from edge_node.node import EdgeNode
from edge_node.records import Offered
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_former, build_tokenizer, made_by
from shared.models.fake import ScriptedGenerator
from shared.models.settings import ModelSettings
from shared.records import DocumentId

QUESTIONS = ("Which lot was recalled?", "Who writes the app of the bank?", "What did the ward report in March?", "Wer leitet die Station?")
LOOK_S = 0.05


def node_of(folder: Path, models: ModelSettings) -> EdgeNode:
    """An edge in ``folder`` with the embedder of ``models``."""
    embedder = build_embedder(models)
    generator = ScriptedGenerator(lambda prompt: [""] * prompt.n)
    parts = Adapters(
        *(generator, embedder, build_tokenizer(models), None),
        made_by=made_by(models, embedder),
        former=partial(build_former, models),
    )
    return build_node(EdgeSettings(state_dir=folder, summaries="extractive", reports="off", descriptions="joined"), parts)


async def asked(node: EdgeNode, number: int) -> float:
    """Seconds of one retrieval."""
    since = time.perf_counter()
    await node.strategy.retrieve(f"{QUESTIONS[number % len(QUESTIONS)]} {number}", budget_tokens=500, top_k=10)
    return time.perf_counter() - since


async def measured(folder: Path, files: list[Path], first: str, second: str) -> dict[str, Any]:
    """Seconds of the change, and the median and the worst of the questions before and meanwhile."""
    node = node_of(folder, ModelSettings(embedder=first))
    work = asyncio.create_task(node.run())
    for file in files:
        await node.accept(Offered(DocumentId(file.name), file.name, file.read_bytes(), reader=file.name))
    await node.worker.news.until(lambda: bool(node.status()["settled"]) and node.status()["documents"]["queued"] == 0)
    before = [await asked(node, number) for number in range(40)]
    passages = node.status()["chunks"]
    work.cancel()
    await asyncio.wait([work])
    node.close()
    node = node_of(folder, ModelSettings(embedder=second))
    work, since, during = asyncio.create_task(node.run()), time.perf_counter(), list[float]()
    while node.renewal is not None:
        during.append(await asked(node, len(during)))
        await asyncio.sleep(LOOK_S)
    seconds = time.perf_counter() - since
    after = [await asked(node, number) for number in range(40)]
    work.cancel()
    await asyncio.wait([work])
    node.close()
    told = {"passages": passages, "seconds": round(seconds, 1), "questions meanwhile": len(during)}
    for name, times in (("before", before), ("meanwhile", during), ("after", after)):
        told |= {f"p50 {name}": round(statistics.median(times), 3), f"max {name}": round(max(times), 3)}
    return told


def main() -> None:
    """Measure, and tell it as a line of JSON."""
    options = argparse.ArgumentParser()
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--first", default="minilm-onnx")
    options.add_argument("--second", default="use-multilingual")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = asyncio.run(measured(Path(folder), chosen.files, chosen.first, chosen.second))
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
