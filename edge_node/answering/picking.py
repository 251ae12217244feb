"""The map step without a writer: sentences of reports are picked, each judged by one token of the model (GraphRAG §2.6).

The paper's map step writes partial answers and scores them. A small model invents there. Here it invents nothing: a finding is a sentence
of a document, and its score is P(yes) that it tells a piece of what is asked. Which sentences are judged is learnt on the way, as in
Rocchio's relevance feedback: the next ones are near those with a high probability and far from the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edge_node.answering.points import KeyPoint, notes_of
from edge_node.communities.reports import Report
from shared.errors import ModelError
from shared.limits import Deadline
from shared.ports import Embedder, FloatArray, Generator, Prompt
from shared.telemetry.trace import OpenStep, Trace
from shared.text.fence import one_line
from shared.text.prompts import load_prompt
from shared.text.refusals import probability_of

PICK = load_prompt("edge_node", "pick")
PROBE_TOKENS, TOP_LOGPROBS = 1, 10
FIRST, NEXT = 6, 3  # sentences judged before the first feedback, and before each further one
NEWNESS = 0.3  # what being unlike the judged ones counts, beside 1 - NEWNESS for being near the query
PULL, PUSH = 1.0, 0.5  # of the judged sentences above their median and below it, in the next query; Rocchio's beta and gamma
BAR, LEAST = 0.75, 0.3  # share of the best probability, and probability, that a sentence needs to be told


@dataclass(frozen=True, slots=True)
class Picked:
    """Sentences with their probabilities as scores, best first. ``judged``: by the model. ``failure``: of the last call, if it failed."""

    points: tuple[KeyPoint, ...]
    judged: int
    failure: ModelError | None = None


def next_rows(vectors: FloatArray, query: FloatArray, seen: Sequence[int], most: int) -> list[int]:
    """Rows to judge next: near the query and unlike what was seen, one after the other (maximal marginal relevance).

    vectors (n, d) and query (d,) have unit rows. Fewer than ``most`` where no more are left.

    >>> vectors = np.array([[1.0, 0.0], [0.99, 0.14], [0.6, 0.8], [0.0, 1.0]])
    >>> next_rows(vectors, vectors[0], [], 2), next_rows(vectors, vectors[0], [0, 2], 9)
    ([0, 2], [1, 3])
    """
    near, taken, rows = vectors @ query, list(seen), list[int]()
    likest = (vectors @ vectors[taken].T).max(axis=1) if taken else np.zeros(len(vectors))
    for _ in range(min(most, len(vectors) - len(taken))):
        gain = (1 - NEWNESS) * near - NEWNESS * np.maximum(likest, 0.0)
        gain[taken] = -np.inf
        row = int(gain.argmax())
        rows.append(row)
        taken.append(row)
        likest = np.maximum(likest, vectors @ vectors[row])
    return rows


def moved(query: FloatArray, vectors: FloatArray, judged: Mapping[int, float]) -> FloatArray:
    """The query, drawn to the judged rows above their median probability and away from the others (Rocchio 1971), of unit length.

    >>> moved(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), {0: 0.9, 1: 0.1}).round(2).tolist()
    [0.45, 0.89]
    """
    rows, chances = list(judged), np.array(list(judged.values()))
    above = chances > np.median(chances)
    if not above.any():
        return query
    found = query + PULL * vectors[rows][above].mean(axis=0) - PUSH * vectors[rows][~above].mean(axis=0)
    length = float(np.linalg.norm(found))
    return found / length if length else query


def told(judged: Mapping[int, float]) -> list[int]:
    """Rows that are worth telling, best first.

    >>> told({4: 0.5, 2: 0.6, 7: 0.4, 9: 0.1}), told({1: 0.2})
    ([2, 4], [])
    """
    bar = max(LEAST, BAR * max(judged.values(), default=0.0))
    return sorted((row for row, chance in judged.items() if chance >= bar), key=lambda row: (-judged[row], row))


class SentencePicker:
    """Picks sentences of reports for a question. ``most``: sentences that the model judges; ``at_once``: calls side by side."""

    def __init__(self, generator: Generator, embedder: Embedder, *, most: int, at_once: int) -> None:
        self._generator = generator
        self._embedder = embedder
        self._most = most
        self._calls = asyncio.Semaphore(at_once)

    async def pick(self, question: str, vector: FloatArray, reports: Sequence[Report], trace: Trace, deadline: Deadline) -> Picked:
        """The sentences that tell of what is asked. ``vector`` (d,): the question's.

        What was judged counts where time is over or a call fails; nothing is where the server tells no probabilities. Raises the embedder's
        ModelError.
        """
        notes = notes_of(reports)
        if not notes:
            return Picked((), 0)
        judged, failure, query = dict[int, float](), None, vector
        with trace.step("map") as step:
            vectors = await self._embedder.embed([note.finding.text for note in notes])
            while len(judged) < min(self._most, len(notes)) and deadline.left_s() > 0:
                rows = next_rows(vectors, query, list(judged), min(NEXT if judged else FIRST, self._most - len(judged)))
                try:
                    chances = await self._judge(question, {row: notes[row].finding.text for row in rows}, step, deadline)
                except ModelError as error:
                    failure = error
                    break
                if not chances:
                    break
                judged |= chances
                query = moved(vector, vectors, judged)
        points = (KeyPoint(notes[row], notes[row].finding.text, round(judged[row], 2)) for row in told(judged))
        return Picked(tuple(points), len(judged), failure)

    async def _judge(self, question: str, texts: Mapping[int, str], step: OpenStep, deadline: Deadline) -> dict[int, float]:
        """P(yes) of each; nothing where the server tells no probabilities. Raises ModelError."""

        async def chance(text: str) -> float | None:
            prompt = Prompt(PICK.render(question=one_line(question), sentence=one_line(text)), PROBE_TOKENS, top_logprobs=TOP_LOGPROBS)
            async with self._calls:
                reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
            return probability_of(reply.first_token, "yes", ["no"])

        found = zip(texts, await asyncio.gather(*map(chance, texts.values())), strict=True)
        return {row: chance for row, chance in found if chance is not None}
