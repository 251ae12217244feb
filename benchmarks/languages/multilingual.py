"""How well an embedding model finds passages in other languages than English: ``python -m benchmarks.languages.multilingual MODEL …``.

40 invented facts, each as a passage and a question in German, French, Spanish, Chinese and English; the English questions are for
``benchmarks.languages.own_language``. A question is right where its own fact's passage is the nearest of 40. Models are named as
``DGRAG_MODEL_EMBEDDER`` names them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from shared.models.build import build_embedder
from shared.models.settings import ModelSettings
from shared.ports import Embedder, FloatArray, embed_questions

DATA = Path(__file__).parent.parent / "data" / "multilingual.jsonl"
LANGUAGES = ("de", "fr", "es", "zh")


def first_of_own(questions: FloatArray, passages: FloatArray) -> float:
    """The share of questions (n, d) whose nearest passage (n, d) is that of the same row."""
    return float(((questions @ passages.T).argmax(axis=1) == range(len(questions))).mean())


async def measured(embedder: Embedder) -> dict[str, Any]:
    """match@1 by language, in the question's own language and in English, and seconds of a passage."""
    facts = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    english = await embedder.embed([fact["en"]["passage"] for fact in facts])
    found: dict[str, Any] = {"embedder": embedder.fingerprint}
    for language in LANGUAGES:
        questions = await embed_questions(embedder, [fact[language]["question"] for fact in facts])
        own = await embedder.embed([fact[language]["passage"] for fact in facts])
        found[language] = {"own": first_of_own(questions, own), "english": first_of_own(questions, english)}
    long = [" ".join(fact["en"]["passage"] for fact in facts[start : start + 8]) for start in range(0, 40, 4)]
    since, cpu = time.perf_counter(), time.process_time()
    await embedder.embed(long)
    seconds, of_cpu = time.perf_counter() - since, time.process_time() - cpu
    return found | {"s_a_passage": round(seconds / len(long), 4), "cpu_s_a_passage": round(of_cpu / len(long), 4)}


def main() -> None:
    """Measure each model, and tell it as a line of JSON."""
    options = argparse.ArgumentParser()
    options.add_argument("models", nargs="+")
    for name in options.parse_args().models:
        told = asyncio.run(measured(build_embedder(ModelSettings(embedder=name))))
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
