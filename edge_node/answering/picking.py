"""The map step without a writer: sentences of reports are picked, each judged by one token of the model (GraphRAG §2.6).

The paper's map step writes partial answers and scores them. A small model invents there. Here it invents nothing: a finding is a sentence
of a document, and its score is P(yes) that it tells a piece of what is asked. Which sentences are judged is learnt on the way, as in
Rocchio's relevance feedback: the next ones are near those with a high probability and far from the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from edge_node.answering.points import KeyPoint, notes_of
from edge_node.communities.reports import Report, stands_alone
from shared.errors import ModelError
from shared.limits import Deadline
from shared.ports import Embedder, FloatArray, Generator, Prompt, embed_questions
from shared.reduce import SPEAKING
from shared.telemetry.trace import OpenStep, Trace
from shared.text.citations import MAX_QUOTE_CHARS
from shared.text.fence import one_line
from shared.text.prompts import load_prompt
from shared.text.refusals import YES_OR_NO, probability_of
from shared.text.sentences import content_words

PICK = load_prompt("edge_node", "pick")
PROBE_TOKENS, TOP_LOGPROBS = 1, 10
FIRST, NEXT = 6, 2  # sentences judged before the first feedback, and before each further one
NEWNESS = 0.4  # what being unlike the judged ones counts, beside 1 - NEWNESS for being near the query
PULL, PUSH = 1.0, 0.5  # of the judged sentences above their median and below it, in the next query; Rocchio's beta and gamma
CONTRAST = "contrast"  # the step
ANYTHING = "What do the documents say?"  # a model says Yes to some sentences whatever is asked
BAR = 0.44  # of ``contrasted``, from which a sentence is told; chosen by eye on some 70 sentences of the sample sites
LEAST = 0.3  # P(yes) below which no contrast makes a sentence worth telling: the paper drops what scores 0
FRAME = SPEAKING | content_words(  # "How often do the news articles mention this?"
    "reported found given listed noted named told data corpus news article articles category categories story often frequent frequency"
    " frequently recurring dominant prevalent top most trend trends name names people person companies company organisations organizations"
    " places countries cities published"
)
REMEMBERED = 4096  # sentences whose P(yes) to ``ANYTHING`` is known


@dataclass(frozen=True, slots=True)
class Picked:
    """Sentences with their probabilities as scores, best first. ``judged``: by the model. ``failure``: of the last call, if it failed."""

    points: tuple[KeyPoint, ...]
    judged: int
    failure: ModelError | None = None


def subject(question: str) -> str:
    """A question without the words that speak about documents; as it is, where no others are left.

    >>> subject("What are the main problems reported across the sites?"), subject("What are the main topics?")
    ('What are the problems the?', 'What are the main topics?')
    """
    words = question.rstrip(" ?").split()
    kept = [word for word in words if not content_words(word) or content_words(word) - FRAME]
    return question if is_about_all(question) else f"{' '.join(kept)}?"


def is_about_all(question: str) -> bool:
    """Whether a question names no subject.

    >>> is_about_all("What are the most common themes in the news articles?"), is_about_all("What are the main themes in sports?")
    (True, False)
    """
    return not any(content_words(word) - FRAME for word in question.split())


def next_rows(vectors: FloatArray, query: FloatArray, seen: Sequence[int], most: int) -> list[int]:
    """Rows to judge next: near the query and unlike what was seen, one after the other (maximal marginal relevance).

    vectors (n, d) and query (d,) have unit rows. Fewer than ``most`` where no more are left.

    >>> vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> next_rows(vectors, np.array([0.8, 0.6]), [], 2), next_rows(vectors, np.array([0.8, 0.6]), [0, 2], 9)
    ([0, 2], [1])
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


def contrasted(asked: float, anything: float) -> float:
    """P(yes) to a question, less what the same sentence has whatever is asked: the difference of log odds, as a probability.

    >>> contrasted(0.5, 0.5), round(contrasted(0.6, 0.9), 2)
    (0.5, 0.14)
    """
    low, high = 1e-6, 1 - 1e-6
    asked, anything = min(max(asked, low), high), min(max(anything, low), high)
    return 1 / (1 + (1 - asked) / asked * anything / (1 - anything))


class SentencePicker:
    """Picks sentences of reports for a question. ``at_once``: calls side by side."""

    def __init__(self, generator: Generator, embedder: Embedder, *, at_once: int) -> None:
        self._generator = generator
        self._embedder = embedder
        self._calls = asyncio.Semaphore(at_once)
        self._anything = dict[bytes, float]()  # P(yes) of a sentence whatever is asked, by its digest; the oldest first

    async def pick(self, question: str, reports: Sequence[Report], trace: Trace, deadline: Deadline, *, most: int) -> Picked:
        """The sentences that tell of what is asked: ``most`` are judged, and the better half of them at most is told.

        What was judged counts where time is over, or where a call fails and later ones do not. Nothing is judged where the server tells no
        probabilities. Raises the embedder's ModelError.
        """
        whole = [note for note in notes_of(reports) if len(note.finding.text) <= MAX_QUOTE_CHARS]  # one that would be cut says half
        notes = [note for note in whole if stands_alone(note.finding.text)] or whole  # no headlines, and nothing to click on
        if not notes:
            return Picked((), 0)
        texts = [note.finding.text for note in notes]
        with trace.step("map") as step:
            [asked] = await embed_questions(self._embedder, [subject(question)])
            vectors = await self._embedder.embed(texts)
            judged, failure = await self._explored(question, texts, asked, vectors, step, deadline, most=most)
        better = sorted((row for row in judged if judged[row] >= LEAST), key=lambda row: (-judged[row], row))
        best = better[: (most + 1) // 2]
        with trace.step(CONTRAST) as step:
            try:
                anything = await self._whatever({row: texts[row] for row in best}, step, deadline)
            except ModelError as error:
                return Picked((), 0, error)
        lifted = {row: round(contrasted(judged[row], anything[row]), 2) for row in best if row in anything}
        told = sorted((row for row in lifted if lifted[row] >= BAR), key=lambda row: (-lifted[row], row))
        return Picked(tuple(KeyPoint(notes[row], texts[row], lifted[row]) for row in told), len(judged), failure)

    async def _explored(
        self, question: str, texts: Sequence[str], asked: FloatArray, vectors: FloatArray, step: OpenStep, deadline: Deadline, *, most: int
    ) -> tuple[dict[int, float], ModelError | None]:
        """P(yes) of the rows that were judged, and the failure that ended it, if one did."""
        judged, query = dict[int, float](), asked
        while len(judged) < min(most, len(texts)) and deadline.left_s() > 0:
            rows = next_rows(vectors, query, list(judged), min(NEXT if judged else FIRST, most - len(judged)))
            try:
                chances = await self._judge(question, {row: texts[row] for row in rows}, step, deadline)
            except ModelError as error:
                return judged, error
            if not chances:
                break
            judged |= chances
            query = moved(asked, vectors, judged)
        return judged, None

    async def _whatever(self, texts: Mapping[int, str], step: OpenStep, deadline: Deadline) -> dict[int, float]:
        """P(yes) of each, whatever is asked. Raises ModelError."""
        keys = {row: blake2b(text.encode(), digest_size=16).digest() for row, text in texts.items()}
        unknown = {row: texts[row] for row, key in keys.items() if key not in self._anything}
        for row, chance in (await self._judge(ANYTHING, unknown, step, deadline)).items():
            self._anything[keys[row]] = chance
        found = {row: self._anything[key] for row, key in keys.items() if key in self._anything}
        while len(self._anything) > REMEMBERED:
            del self._anything[next(iter(self._anything))]
        return found

    async def _judge(self, question: str, texts: Mapping[int, str], step: OpenStep, deadline: Deadline) -> dict[int, float]:
        """P(yes) of each; nothing where the server tells no probabilities. Raises ModelError."""

        async def chance(text: str) -> float | None:
            prompt = Prompt(
                PICK.render(question=one_line(question), sentence=one_line(text)),
                PROBE_TOKENS,
                top_logprobs=TOP_LOGPROBS,
                choices=YES_OR_NO,
            )
            async with self._calls:
                reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
            return probability_of(reply.first_token, "yes", ["no"])

        found = zip(texts, await asyncio.gather(*map(chance, texts.values())), strict=True)
        return {row: chance for row, chance in found if chance is not None}
