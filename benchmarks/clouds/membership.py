"""What summaries tell of who is in a site's documents: a simple membership attack (goal P5).

``python -m benchmarks.clouds.membership DATA`` cuts each JSONL file of DATA into documents and gives every second one to an edge. Whoever
reads the edge's summaries scores each document by the share of its pairs of neighbouring words that stand in them, and by its largest
cosine with a summary. The figure is the chance that a document inside has a higher score than one outside: AUC; 0.5: nothing is learnt.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.clouds.support_price import contexts
from benchmarks.instant_edge import add, settled
from benchmarks.stand_ins import InstantGenerator, Models
from edge_node.build import Adapters, build_node
from edge_node.egress.policy_file import NAME
from edge_node.settings import EdgeSettings
from shared.models.build import build_embedder, build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Embedder

SUPPORTS = (1, 2, 3)
WORDS = 300  # of a document
DOCUMENTS = 60  # of a file, half of them inside
REDACT = '[redact]\nidentifiers = ["email", "phone", "iban", "card", "ssn", "record"]\ntypes = ["person", "organization", "place"]\n'
_WORD = re.compile(r"[^\W\d_]{4,}")

Document = tuple[str, str]


def documents(file: Path) -> list[Document]:
    """(name, text) of evenly spread passages of a file, of WORDS words each."""
    words = [word for _, text in contexts(file) for word in text.split()]
    starts = np.linspace(0, max(0, len(words) - WORDS), DOCUMENTS).astype(int)
    return [(f"{file.stem}-{number}.txt", " ".join(words[start : start + WORDS])) for number, start in enumerate(starts)]


def auc(inside: Sequence[float], outside: Sequence[float]) -> float:
    """The chance that one inside has a higher score than one outside; a tie counts half.

    >>> auc([3.0, 1.0], [1.0, 0.0])
    0.875
    """
    pairs = np.subtract.outer(np.asarray(inside), np.asarray(outside))
    return float(((pairs > 0) + 0.5 * (pairs == 0)).mean())


def overlap(text: str, told: str) -> float:
    """The share of a document's pairs of neighbouring words that stand in what is told."""
    pairs = _pairs(text)
    return len(pairs & _pairs(told)) / len(pairs) if pairs else 0.0


def _pairs(text: str) -> set[tuple[str, str]]:
    words = [word.lower() for word in _WORD.findall(text)]
    return set(pairwise(words))


async def attacked(known: Sequence[Document], others: Sequence[Document], told: Sequence[str], embedder: Embedder) -> dict[str, float]:
    """The AUC of each score."""
    everything = "\n".join(told)
    row = {"chars": float(len(everything))}
    row["auc_pairs"] = round(auc(*([overlap(text, everything) for _, text in group] for group in (known, others))), 3)
    summaries = np.asarray(await embedder.embed(list(told)))
    vectors = [np.asarray(await embedder.embed([text for _, text in group])) for group in (known, others)]
    row["auc_cosine"] = round(auc(*((group @ summaries.T).max(axis=1) for group in vectors)), 3)
    return row


async def measured(file: Path, folder: Path, embedder: Embedder) -> list[dict[str, Any]]:
    """One row for each support, without and with redaction."""
    cut = documents(file)
    known, others = cut[::2], cut[1::2]
    node = build_node(
        EdgeSettings(id=file.stem, state_dir=folder),
        Adapters(InstantGenerator(Models()), embedder, build_tokenizer(ModelSettings()), None),
    )
    work = asyncio.create_task(node.run())
    rows = []
    try:
        await settled(node)
        await add(node, known)
        for k in SUPPORTS:
            for redact in ("", REDACT):
                (folder / NAME).write_text(f"version = 1\nminimum_support = {k}\n{redact}", encoding="utf-8")
                await node.worker.settle()
                told = [summary.text for summary in node.graph.summaries() if summary.text]
                rows.append({"file": file.stem, "k": k, "redacted": bool(redact), **await attacked(known, others, told, embedder)})
    finally:
        work.cancel()
        await asyncio.wait([work])
        await asyncio.to_thread(node.close)
    return rows


async def everywhere(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of all files."""
    embedder = build_embedder(ModelSettings())
    with tempfile.TemporaryDirectory() as folder:
        return [row for file in files for row in await measured(file, Path(folder) / file.stem, embedder)]


def main(data: Annotated[Path, typer.Argument(help="folder of UltraDomain JSONL files", exists=True, file_okay=False)]) -> None:
    """Measure, and print the rows."""
    typer.echo(json.dumps(asyncio.run(everywhere(sorted(data.glob("*.jsonl"))))))


if __name__ == "__main__":
    typer.run(main)
