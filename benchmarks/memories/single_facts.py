"""How many single facts two short calls answer.

``python -m benchmarks.memories.single_facts SET --url http://127.0.0.1:8090/v1`` (FD-RAG §4.3). SET is a multi-hop folder. Of a
``decomposition`` come ``single``, sub-questions that stand alone; ``absent``, some of these without any paragraph that holds the answer;
and ``later``, sub-questions that follow another, with that one's answer put in. Of a set without one, ``data/sub_facts.jsonl`` asks
``fact``, single facts of its gold paragraphs, and each again as ``absent-fact``; and ``fact-2``, facts of other paragraphs, written later.
``nested`` are whole multi-hop questions. An edge in this process reads the paragraphs with spaCy and the default embedder. One line a
question goes into a journal, so a killed run goes on. The bar is chosen on one half of single, absent and nested for a precision of 90 %,
and judged on the other; then the halves change places. The product's bar is judged on all kinds, with the names that it wants in the
sentence and the questions that it does not try. ``later``, the facts and ``absent-fact`` chose nothing. Each ``fact`` that the product
answers from memory the model is asked as well, the slow way: one answer from the passages, and nobody judges it. ``--only KIND`` asks less.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import WORK, digest
from benchmarks.datasets.passages import CORPUS, QUESTIONS
from benchmarks.datasets.splits import stride
from benchmarks.errors import BenchmarkError
from benchmarks.instant_edge import indexed_of, running, settled
from benchmarks.journal import Journal
from benchmarks.machine import code, machine, prompts
from benchmarks.meters import percentile_ms
from benchmarks.metrics.text import covered, f1
from benchmarks.systems import ONE_ANSWER
from deploy.evaluation.intervals import wilson
from deploy.evaluation.text import accuracy
from edge_node.answering.answerer import Ask
from edge_node.answering.narrowing import SentenceSelector
from edge_node.build import Adapters, build_node
from edge_node.memory.spans import SENTENCES, Span, copied, names_are_there
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import Index
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.catalogue import Certainties, certainties_of
from shared.models.settings import ModelSettings
from shared.ports import Generator
from shared.telemetry.trace import Trace
from shared.text.fence import FENCE_BYTES, Fence
from shared.text.same_question import is_single

Kind = Literal["single", "absent", "nested", "later", "fact", "absent-fact", "fact-2"]
CHOSE = ("single", "absent", "nested")  # a bar
ABSENT: dict[Kind, Kind] = {"single": "absent", "fact": "absent-fact"}
BATCHES: dict[int, Kind] = {1: "fact", 2: "fact-2"}  # of the written facts
MEASURED = cast("Certainties", certainties_of("standard"))
FACTS = Path(__file__).parent.parent / "data" / "sub_facts.jsonl"
STAGE, SLOW, SEED = "span", "slow", 7
TOP_K, DEADLINE_S = 10, 120.0
BUDGET_TOKENS = 20_000
PRECISION = 0.9
SAME = 0.6  # F1 of a span with the answer: "the Anglican Church" for "Anglican Church of England"
REFERENCE = re.compile(r"#(\d+)")  # to the answer of an earlier step, from 1
MOST_ABSENT = 30
ALONE: dict[str, Any] = {name.removeprefix("DGRAG_EDGE_").lower(): value for name, value in ONE_ANSWER.items()}  # of the slow way


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a run. ``hidden``: paragraphs that this question does not find."""

    kind: Kind
    key: str
    question: str
    answers: tuple[str, ...]
    hidden: frozenset[str] = frozenset()


def asked_of(questions: Sequence[dict[str, Any]], texts: dict[str, str], facts: Sequence[dict[str, Any]] = ()) -> list[Asked]:
    """All questions of a set, ``MOST_ABSENT`` of that kind at most, and ``facts``; a sub-question that comes again is asked once.

    Raises BenchmarkError for a fact that its paragraph does not hold.
    """
    found: dict[str, Asked] = {}
    for row in questions:
        steps = row.get("decomposition") or ()
        for step, (question, answer) in zip(steps, with_answers(steps), strict=True):
            key = digest([question.casefold()])
            found.setdefault(key, Asked("later" if "#" in step["question"] else "single", key, question, (answer,)))
    single, later = ([one for one in found.values() if one.kind == kind] for kind in ("single", "later"))
    fact = [_fact(row, texts) for row in facts]
    first = [one for one in fact if one.kind == "fact"]
    absent = [_absent(one, texts) for one in (*stride(single, MOST_ABSENT, seed=SEED), *first)]
    nested = [Asked("nested", row["id"], row["question"], tuple(row["answers"])) for row in questions if row.get("hops", 2) > 1]
    return [*single, *fact, *absent, *nested, *later]


def _fact(row: dict[str, Any], texts: dict[str, str]) -> Asked:
    if not covered(texts.get(row["doc_id"], ""), row["answers"]):
        raise BenchmarkError(f"{row['doc_id']} does not answer {row['question']!r}", next_step="name the set that it was written for")
    return Asked(BATCHES[row.get("batch", 1)], digest([row["question"], row["answers"]]), row["question"], tuple(row["answers"]))


def _absent(one: Asked, texts: dict[str, str]) -> Asked:
    hidden = frozenset(key for key, text in texts.items() if covered(text, one.answers))
    return Asked(ABSENT[one.kind], f"{one.key}-absent", one.question, (), hidden)


def with_answers(steps: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """The question of each step, with the answers of earlier ones put in, and its answer.

    >>> with_answers([{"question": "Who built it?", "answer": "Ann"}, {"question": "When was #1 born?", "answer": "1850"}])
    [('Who built it?', 'Ann'), ('When was Ann born?', '1850')]
    """
    answers = [step["answer"] for step in steps]
    return [(REFERENCE.sub(lambda match: answers[int(match[1]) - 1], step["question"]), step["answer"]) for step in steps]


def bar(rows: Iterable[dict[str, Any]], *, precision: float = PRECISION) -> float:
    """The least certainty at which this share of the answers is right, and more than nothing is answered; above 1: there is none.

    >>> bar([{"certainty": 0.9, "right": True}, {"certainty": 0.5, "right": False}, {"certainty": 0.2, "right": True}])
    0.9
    """
    best, right, count = 1.1, 0, 0
    for certainty, alike in groupby(sorted(rows, key=lambda row: -row["certainty"]), key=itemgetter("certainty")):
        answered = [row["right"] for row in alike]
        right, count = right + sum(answered), count + len(answered)
        if right / count >= precision:
            best = certainty
    return best


def figures(rows: Sequence[dict[str, Any]], slow: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """By kind: what the bars of the halves answer, each half by the bar of the other, and what the product does.

    ``slow``: of facts that the product answered and the model as well; of these, how many each has right.
    """
    kinds = {kind: asked for kind in get_args(Kind) if (asked := [row for row in rows if row["kind"] == kind])}
    chose = [kind for kind in CHOSE if kind in kinds and "single" in kinds]
    first = sorted((row for kind in chose for row in kinds[kind]), key=lambda row: digest([row["key"].removesuffix("-absent")]))
    halves = first[::2], first[1::2]
    bars = [bar(row for row in half if row["certainty"] is not None) for half in halves]
    crossed = [row for half, least in zip(halves, reversed(bars), strict=True) for row in half if _sure(row, least)]
    return {
        "bars": bars,
        "crossed": {kind: _share(kinds[kind], [row for row in crossed if row["kind"] == kind]) for kind in chose},
        "product": {kind: _share(asked, [row for row in asked if _by_product(row)]) for kind, asked in kinds.items()},
        "beside_the_model": _beside(slow, {row["key"]: bool(row["right"]) for row in kinds.get("fact", ())}),
    }


def _beside(slow: Sequence[dict[str, Any]], by_memory: Mapping[str, bool]) -> dict[str, Any]:
    pairs = Counter((by_memory[row["key"]], bool(row["right"])) for row in slow)
    told: dict[str, Any] = {"asked": len(slow), "answered": sum(row["answered"] for row in slow), "both_right": pairs[True, True]}
    told |= {"only_memory_right": pairs[True, False], "only_model_right": pairs[False, True]}
    return told | {f"p{q}_s": percentile_ms([row["seconds"] for row in slow], q) / 1000 for q in (50, 90) if slow}


def _share(asked: Sequence[dict[str, Any]], answered: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """``held``: the sentences hold the answer; ``copied``: the span is right, whether or not it was sure enough."""
    right = [float(row["right"]) for row in answered]
    told: dict[str, Any] = {"asked": len(asked), "held": sum(row["held"] for row in asked), "copied": sum(row["right"] for row in asked)}
    told |= {"answered": len(answered), "right": int(sum(right))}
    told |= {f"p{q}_s": percentile_ms([row["seconds"] for row in asked], q) / 1000 for q in (50, 90)}
    found = wilson(right) if right else None
    return told | ({"precision": [round(one, 3) for one in (found.mean, found.low, found.high)]} if found else {})


def _sure(row: dict[str, Any], least: float) -> bool:
    return row["certainty"] is not None and row["certainty"] >= least


def _by_product(row: dict[str, Any]) -> bool:
    return _sure(row, MEASURED.copied) and row["named"] and is_single(row["question"])


class _Bench:
    """An edge that has read the set, and what copies spans."""

    def __init__(self, index: Index, generator: Generator, selector: SentenceSelector) -> None:
        self._index = index
        self._generator = generator
        self._selector = selector

    async def row(self, asked: Asked) -> dict[str, Any]:
        """What came of one question."""
        began = time.perf_counter()
        found = await self._index.retrieve(asked.question, budget_tokens=BUDGET_TOKENS, top_k=TOP_K + len(asked.hidden))
        passages = [passage for passage in found.evidence if passage.document not in asked.hidden][:TOP_K]
        sentences = await self._selector.best(asked.question, passages, k=SENTENCES)
        span = (
            await copied(self._generator, asked.question, sentences, Fence(secrets.token_hex(FENCE_BYTES)), Trace(), deadline_s=DEADLINE_S)
            if sentences
            else None
        )
        holds = any(covered(one.text, asked.answers) for one in sentences) if asked.answers else False
        return {"kind": asked.kind, "key": asked.key, "seconds": round(time.perf_counter() - began, 3), "held": holds, **_said(span, asked)}


async def _the_slow_way(node: EdgeNode, asked: Asked) -> dict[str, Any]:
    """What the model answers of the passages, once, with nobody to judge it."""
    began = time.perf_counter()
    said = await node.ask(Ask(asked.question, mode="local", memory=False), Trace())
    right = said.answered and accuracy(said.answer, asked.answers) > 0
    told = {"key": asked.key, "answered": said.answered, "right": right, "answer": said.answer}
    return {**told, "seconds": round(time.perf_counter() - began, 3)}


def _said(span: Span | None, asked: Asked) -> dict[str, Any]:
    if span is None:
        return {"certainty": None, "right": False}
    parts = {"probability": span.probability, "stated": span.stated, "cover": span.cover}
    right = bool(asked.answers) and (accuracy(span.text, asked.answers) > 0 or f1(span.text, asked.answers) >= SAME)
    said = {"span": span.text, "sentence": span.sentence.text, "question": asked.question, "answers": asked.answers}
    return {"certainty": span.certainty, "right": right, **parts, "named": names_are_there(asked.question, span.sentence), **said}


async def measured(
    folder: Path, settings: ModelSettings, journal: Journal, state: Path, only: Collection[str] = ()
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Index the set in ``state``, or go on with what is there, and ask what the journal does not hold yet; the rows of both ways.

    ``only``: these kinds, and the slow way where it is named; empty: all.
    """
    lines = _lines(folder / CORPUS)
    texts = {line["doc_id"]: line["text"] for line in lines}
    asked = asked_of(_lines(folder / QUESTIONS), texts, [row for row in _lines(FACTS) if row["set"] == folder.name])
    asked = [one for one in asked if not only or one.kind in only]
    embedder, tokenizer = build_embedder(settings), build_tokenizer(settings)
    async with model_http(settings) as http:
        generator = build_generator(settings, http)
        node = build_node(EdgeSettings(state_dir=state, id="facts", **ALONE), Adapters(generator, embedder, tokenizer, None))
        async with running(node):
            for line in lines:
                name, raw = line["doc_id"], line["text"].encode()
                await node.accept(Offered(document_id(name, raw), name, raw, reader="a.txt", title=line["title"]))
            await settled(node)
            bench = _Bench(indexed_of(node), generator, SentenceSelector(embedder, tokenizer))
            for one in asked:
                if not journal.done(STAGE, one.key):
                    journal.add(STAGE, one.key, await bench.row(one))
            rows = [journal.row(STAGE, one.key) for one in asked]
            slow = not only or SLOW in only
            both = [one for one, row in zip(asked, rows, strict=True) if slow and one.kind == "fact" and _by_product(row)]
            for one in both:
                if not journal.done(SLOW, one.key):
                    journal.add(SLOW, one.key, await _the_slow_way(node, one))
    return rows, [journal.row(SLOW, one.key) for one in both]


def _lines(file: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in file.read_bytes().splitlines()]


def main(
    folder: Annotated[Path, typer.Argument(metavar="SET", exists=True, file_okay=False, help="With corpus.jsonl and questions.jsonl.")],
    url: Annotated[str, typer.Option(help="A model server; `dgrag model serve` starts one.")] = "http://127.0.0.1:8090/v1",
    work: Annotated[Path, typer.Option(help="Where the index and the journal stay.", file_okay=False)] = WORK,
    only: Annotated[list[str] | None, typer.Option(metavar="KIND", help="Ask this kind alone; may be given again, slow too.")] = None,
) -> None:
    """Ask the single facts of a set, and print what came of it as one JSON line."""
    drop_settings_of_the_shell()
    settings = ModelSettings(url=url)
    key = digest([folder.name, settings.name, *(prompts()[f"edge_node/prompts/{name}.md"] for name in ("span", "span_check"))])
    own = work / f"single-facts-{folder.name}-{key}"
    state = work / f"single-facts-{folder.name}"
    state.mkdir(parents=True, exist_ok=True)
    with Journal(own / "journal.jsonl") as journal:
        rows, slow = asyncio.run(measured(folder, settings, journal, state, only or ()))
    typer.echo(orjson.dumps({**code(), "machine": machine(), "set": folder.name, **figures(rows, slow)}))


if __name__ == "__main__":
    typer.run(main)
