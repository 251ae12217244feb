"""Can a model here say what a text says? ``python -m benchmarks.answering.labels DATA/standin_textbooks --url http://127.0.0.1:8090/v1``.

``data/claims.jsonl`` has answers, and for each claim of the reference answer whether the answer tells it; ``data/support.jsonl`` passages,
and for each sentence whether the passage says it. A model gives P(yes) by one token, and words give a share. AUC: the probability that a
text that says it scores above one that does not, ties counted half; its interval is a bootstrap over the texts. One JSON line is printed.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer

from benchmarks.calibration.roc import roc
from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.errors import BenchmarkError
from benchmarks.machine import code, machine
from deploy.evaluation.text import claims, is_told
from shared.models.build import build_generator, model_http
from shared.models.settings import ModelSettings
from shared.ports import Generator, Prompt
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.text.fence import Fence
from shared.text.prompts import load_prompt
from shared.text.refusals import YES_OR_NO, probability_of
from shared.text.sentences import content_words
from shared.text.support import TOP_LOGPROBS, by_words, probe, stems

LABELS = Path(__file__).parent.parent / "data"
COVERS = load_prompt("benchmarks", "covers")
WANTED_AUC = 0.8
DRAWS, SEED = 1000, 7
DEADLINE_S = 300.0
SHA_CHARS = 8
FENCE = Fence("c0ffee11")  # no passage here is hostile; a constant one leaves a prompt's beginning to the server's cache


@dataclass(frozen=True, slots=True)
class Labelled:
    """A statement, the text that may say it, and whether it does. ``text_id``: what was drawn; several statements share a text."""

    kind: str  # "claims" or "support"
    text_id: str
    question: str
    text: str
    statement: str
    says: bool


def told_share(statement: str, text: str) -> float:
    """The share of a statement's words, without endings, that a text has, [0, 1].

    >>> told_share("Pumps failed twice.", "A pump failed.")
    0.6666666666666666
    """
    words = stems(content_words(statement))
    return len(words & stems(content_words(text))) / len(words) if words else 0.0


def labelled(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Labelled]:
    """All pairs of both files. ``rows``: the data's by question. Raises BenchmarkError where a text is not the one that was labelled."""
    for kind in ("claims", "support"):
        for number, line in enumerate((LABELS / f"{kind}.jsonl").read_bytes().splitlines()):
            told = orjson.loads(line)
            row = rows.get(told["question"])
            if row is None:
                raise BenchmarkError(f"the data has no question {told['question']}", next_step="give the textbooks' folder")
            text = told.get("text") or " ".join(" ".join(row["context"][a:b].split()) for a, b in told["spans"])
            stated = statements(row, told.get("sentences"))
            if fingerprint(text, stated) != told["sha"]:
                raise BenchmarkError(f"{kind}.jsonl, line {number + 1}: the texts are not those that were labelled")
            pairs = zip(stated, told["says"], strict=True)
            yield from (Labelled(kind, f"{kind}/{number}", row["input"], text, one, bool(says)) for one, says in pairs if says is not None)


def statements(row: Mapping[str, Any], sentences: Sequence[str] | None) -> list[str]:
    """The sentences that a file has, or else the claims of the question's reference."""
    return list(sentences) if sentences else claims(row["answers"][0])


def fingerprint(text: str, stated: Sequence[str]) -> str:
    """The first digits of a hash of what was read when it was labelled."""
    return hashlib.sha256("\n".join([text, *stated]).encode()).hexdigest()[:SHA_CHARS]


def prompt_for(pair: Labelled) -> Prompt:
    """Ask for one token: a claim by this benchmark's prompt, a sentence by the product's own."""
    if pair.kind == "claims":
        messages = COVERS.render(answer=" ".join(pair.text.split()), statement=pair.statement.rstrip(".") + ".")
    else:
        passage = Evidence(EdgeId("a"), DocumentId("a"), "", ChunkId("a"), (0, len(pair.text)), pair.text, 0.0)
        messages = probe(pair.statement, [passage], FENCE)
    return Prompt(messages, 1, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)


def word_scores(pair: Labelled) -> dict[str, float]:
    """What words say: the rule that decides, and the share of words."""
    if pair.kind == "claims":
        decided = float(is_told(pair.statement, pair.text, pair.question))
    else:
        decided = {True: 1.0, False: 0.0, None: 0.5}[by_words(pair.statement, [pair.text])]
    return {"rule": decided, "share of words": told_share(pair.statement, pair.text)}


def figures(pairs: Sequence[Labelled], scores: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """AUC with its interval for each way to score the pairs of one kind."""
    return {
        "pairs": len(pairs),
        "texts": len({one.text_id for one in pairs}),
        "says": sum(one.says for one in pairs),
        "auc": {way: auc(pairs, found) for way, found in scores.items()},
    }


def auc(pairs: Sequence[Labelled], scores: Sequence[float]) -> dict[str, float]:
    """P(a pair that says it scores above one that does not), and the 95 % interval of a bootstrap over texts."""
    groups = dict[str, list[tuple[bool, float]]]()
    for pair, score in zip(pairs, scores, strict=True):
        groups.setdefault(pair.text_id, []).append((pair.says, score))
    texts, rng = list(groups.values()), np.random.default_rng(SEED)
    drawn = (_auc([texts[at] for at in rng.integers(len(texts), size=len(texts))]) for _ in range(DRAWS))
    low, high = np.percentile([one for one in drawn if one is not None], [2.5, 97.5])
    return {"mean": round(_auc(texts) or 0.0, 3), "low": round(float(low), 3), "high": round(float(high), 3)}


def _auc(texts: Sequence[Sequence[tuple[bool, float]]]) -> float | None:
    flat = [one for text in texts for one in text]
    return roc([score for says, score in flat if says], [score for says, score in flat if not says]).auc


async def measured(pairs: Sequence[Labelled], generator: Generator | None) -> dict[str, Any]:
    """The figures of each kind; without a generator of words alone."""
    found, began = dict[str, Any](), time.perf_counter()
    for kind in ("claims", "support"):
        mine = [pair for pair in pairs if pair.kind == kind]
        by_way = {way: [word_scores(pair)[way] for pair in mine] for way in word_scores(mine[0])}
        if generator:
            replies = [await generator.generate(prompt_for(pair), deadline_s=DEADLINE_S) for pair in mine]
            by_way["model"] = [probability_of(reply.first_token, "yes", ["no"]) or 0.0 for reply in replies]
        found[kind] = figures(mine, by_way)
    return found | {"seconds": round(time.perf_counter() - began, 1)}


async def asked(pairs: Sequence[Labelled], url: str, model: str) -> dict[str, Any]:
    """The figures with the model of a server, or of words alone."""
    if not url:
        return await measured(pairs, None)
    settings = ModelSettings(url=url, name=model)
    async with model_http(settings) as http:
        return {"model": model, **await measured(pairs, build_generator(settings, http))}


def main(
    folder: Annotated[Path, typer.Argument(metavar="TEXTBOOKS", exists=True, file_okay=False, help="With the four textbooks.")],
    url: Annotated[str, typer.Option(help="A model server; none: words alone. `dgrag model serve` starts one.")] = "",
    model: Annotated[str, typer.Option(help="What the server calls it.")] = "standard",
) -> None:
    """Measure both ways on the labels, and print one JSON line."""
    drop_settings_of_the_shell()
    lines = (orjson.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_bytes().splitlines())
    pairs = list(labelled({row["_id"]: row for row in lines}))
    typer.echo(orjson.dumps({**code(), "machine": machine(), **asyncio.run(asked(pairs, url, model))}))


if __name__ == "__main__":
    typer.run(main)
