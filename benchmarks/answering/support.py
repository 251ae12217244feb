"""Do the passages that answers cite say what the answers say? By an embedder: no service asks one for that, and no check judges itself.

``python -m benchmarks.answering.support benchmarks/results/support.json`` reads the answers beside a result of ``run`` with
``configs/support.toml`` and prints one JSON: for questions asked at the edge that has the answer, and elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from benchmarks.datasets.ultradomain import UltraDomain
from deploy.evaluation.intervals import wilson
from deploy.evaluation.text import MARKER, MIN_WORDS
from shared.models.build import build_embedder
from shared.models.settings import ModelSettings
from shared.ports import Embedder
from shared.text.sentences import content_words, sentences

AROUND = 400  # characters on each side of what a citation quotes: the passage that it stands in
SAID = 0.85  # cosine of a sentence with one or two of a passage, from which they say the same; see ADR 26 for how well that tells


def told(answer: str) -> list[tuple[str, list[int]]]:
    r"""The sentences of an answer, without headings, each with the numbers that it cites.

    >>> told("# Pumps\nThe pump P-204 leaks badly [1]. Ann repaired it in March.")
    [('The pump P-204 leaks badly.', [1]), ('Ann repaired it in March.', [])]
    """
    spans = (answer[start:end] for start, end in sentences(answer))
    found = [(MARKER.sub("", said).replace(" .", ".").strip(), [int(n) for n in MARKER.findall(said)]) for said in spans]
    return [(said, numbers) for said, numbers in found if len(content_words(said)) >= MIN_WORDS]


def windows(text: str) -> list[str]:
    """Each sentence of a text, and each two that follow one another."""
    spans = sentences(text)
    return [text[a:b] for a, b in [*spans, *((first[0], second[1]) for first, second in pairwise(spans))] if text[a:b].strip()]


async def is_said(sentence: str, passages: Sequence[str], embedder: Embedder) -> bool:
    """Whether one place of the passages says about the same."""
    places = [window for passage in passages for window in windows(passage)]
    if not places:
        return False
    vectors = await embedder.embed([sentence, *places])
    return float((vectors[1:] @ vectors[0]).max()) >= SAID


def passage(text: str, span: Sequence[int]) -> str:
    """What stands around a quote."""
    return text[max(0, span[0] - AROUND) : span[1] + AROUND]


async def judged(row: Mapping[str, Any], texts: Mapping[str, str], embedder: Embedder) -> list[tuple[bool, bool]]:
    """For each sentence of an answer, whether it cites something, and whether that says it."""
    cited = {one["n"]: passage(texts[one["document"]], one["span"]) for one in row["citations"]}
    said = told(row["answer"]) if row["answered"] else []
    return [(bool(numbers), await is_said(sentence, [cited[n] for n in numbers if n in cited], embedder)) for sentence, numbers in said]


def shares(rows: Sequence[Mapping[str, Any]], feedback: Sequence[Sequence[tuple[bool, bool]]]) -> dict[str, Any]:
    """The figures of one scenario, each share with Wilson's interval; sentences of one answer count as one draw."""
    answered = [row for row in rows if row["answered"]]
    of = [row["question_id"] for row, one in zip(rows, feedback, strict=True) for _ in one]
    flat = [verdict for one in feedback for verdict in one]
    seconds = sorted(row["seconds"] for row in rows)
    return {
        "questions": len(rows),
        "escalated": asdict(wilson([float(row["escalated"]) for row in rows])),
        "answered": len(answered),
        "answers without a citation": sum(not row["citations"] for row in answered),
        "sentences": len(flat),
        "sentences that cite": _share([cites for cites, _ in flat], of),
        "sentences that a cited passage says": _share([said for _, said in flat], of),
        "calls for support": sum(step["calls"] for row in rows for step in row["steps"] if step["step"].endswith("support")),
        "tokens for support": sum(step["tokens_in"] for row in rows for step in row["steps"] if step["step"].endswith("support")),
        "seconds for support": round(
            sum(step["ms"] for row in rows for step in row["steps"] if step["step"].endswith("support")) / 1000, 1
        ),
        "median seconds": seconds[len(seconds) // 2],
    }


def _share(values: Iterable[bool], of: Sequence[str]) -> dict[str, Any] | None:
    found = [float(value) for value in values]
    return asdict(wilson(found, of=of)) if found else None


async def measured(rows: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> dict[str, Any]:
    """The figures by scenario; rows that failed are counted and left out."""
    embedder, found = build_embedder(ModelSettings()), dict[str, Any]()
    for scenario in ("within", "out"):
        asked = [row for row in rows if row["scenario"] == scenario]
        right = [row for row in asked if not row["error"]]
        feedback = [await judged(row, texts, embedder) for row in right]
        found[scenario] = {"failed": len(asked) - len(right), **(shares(right, feedback) if right else {})}
    return found


def main(
    result: Annotated[Path, typer.Argument(help="of `run benchmarks/configs/support.toml`", exists=True, dir_okay=False)],
    data: Annotated[Path, typer.Option(help="folder of the evaluation data", exists=True, file_okay=False)] = Path("../shared/data"),
) -> None:
    """Print the figures of a run's answers."""
    answers = result.with_suffix(".answers.jsonl").read_bytes().splitlines()
    files = orjson.loads(result.read_bytes())["run"]["config"]["split"][0]["files"]
    corpus = UltraDomain.read(data, files)
    texts = {name: orjson.loads(line)["context"] for name, line in corpus.rows([one.document_id for one in corpus.documents()])}
    typer.echo(json.dumps(asyncio.run(measured([orjson.loads(line) for line in answers], texts)), indent=1))


if __name__ == "__main__":
    typer.run(main)
