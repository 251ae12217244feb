"""④ What a model reads of what was found: whole passages and summaries, best first, and descriptions beside them, those that fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from edge_node.records import PassageSummary, Retrieval
from shared.ports import Embedder, FloatArray, Tokenizer, embed_questions
from shared.records import ChunkId, Evidence
from shared.text.fence import one_line
from shared.text.prompts import grouped
from shared.text.sentences import content_words, questions_in, sentences

WORDS_WEIGHT = 0.5  # of shared words beside the cosine: names and codes mean little to an embedder
LOOKED_AT = 3  # times the budget: so much of what shares most words is embedded, which keeps 98 % of what all of it would (docs/results.md)
SENTENCE_TOKENS = 100  # so many for each sentence that is wanted
BY_PASSAGE = 1e-3  # of a passage's own score, where sentences share as many words


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a passage: ``text == passages[passage].text[start:end]``, ``place`` is its number there."""

    passage: int
    place: int
    start: int
    end: int
    text: str


def units(passages: Sequence[Evidence]) -> list[ScoredSentence]:
    """Every sentence once: overlapping chunks repeat some, and the first one counts."""
    found: dict[str, ScoredSentence] = {}
    for row, passage in enumerate(passages):
        for place, (start, end) in enumerate(sentences(passage.text)):
            text = passage.text[start:end].strip()
            if any(character.isalnum() for character in text):
                begin = passage.text.index(text, start)
                found.setdefault(text, ScoredSentence(row, place, begin, begin + len(text), text))
    return list(found.values())


def shared_words(texts: Sequence[str], questions: Sequence[str]) -> FloatArray:
    """(n, q): the share of each question's content words that stand in each text."""
    asked = [content_words(question) for question in questions]
    said = [content_words(text) for text in texts]
    return np.array([[len(words & wanted) / max(len(wanted), 1) for wanted in asked] for words in said], dtype=np.float32)


def ranked(scores: FloatArray) -> list[int]:
    """Rows of (n, q) scores, the best for each question in turn, so that no part of a compound question goes hungry.

    >>> ranked(np.array([[0.9, 0.0], [0.8, 0.1], [0.0, 0.7]], dtype=np.float32))
    [0, 2, 1]
    """
    columns = np.argsort(-scores, axis=0, kind="stable")
    return list(dict.fromkeys(int(row) for row in columns.reshape(-1)))


def within(order: Sequence[int], sizes: Sequence[int], budget: int) -> list[int]:
    """Rows in their order until the next does not fit; the first is always in."""
    kept: list[int] = []
    used = 0
    for row in order:
        if kept and used + sizes[row] > budget:
            break
        kept.append(row)
        used += sizes[row]
    return kept


def joined(passages: Sequence[Evidence], chosen: Sequence[ScoredSentence], cosines: Sequence[float]) -> tuple[Evidence, ...]:
    """The chosen sentences as passages, neighbours joined, documents best first; score = the best cosine in each."""
    rows = sorted(zip(chosen, cosines, strict=True), key=lambda item: (item[0].passage, item[0].place))
    runs: list[list[tuple[ScoredSentence, float]]] = []
    for unit, cosine in rows:
        last = runs[-1][-1][0] if runs else None
        if last is not None and (last.passage, last.place + 1) == (unit.passage, unit.place):
            runs[-1].append((unit, cosine))
        else:
            runs.append([(unit, cosine)])
    made = []
    for run in runs:
        whole, start, end = passages[run[0][0].passage], run[0][0].start, run[-1][0].end
        span = (whole.span[0] + start, whole.span[0] + end)
        made.append(replace(whole, text=whole.text[start:end], span=span, score=round(max(cosine for _, cosine in run), 4)))
    return tuple(grouped(sorted(made, key=lambda item: -item.score)))


def whole(
    found: Sequence[Retrieval], budget_tokens: int, count: Callable[[str], int]
) -> tuple[tuple[Evidence, ...], tuple[PassageSummary, ...]]:
    """Whole passages and summaries within the budget, of what was found for each part of a question.

    The first is always in; what does not fit is left out, and something shorter may follow. Where there are summaries, both compete by
    their scores, as passages and nodes do in EraRAG's collapsed search (Alg. 2 l. 2).
    """
    passages = in_turn(*(one.evidence for one in found))
    summaries = list({summary.summary_id: summary for one in found for summary in one.summaries}.values())
    candidates: list[Evidence | PassageSummary] = [*passages, *summaries]
    if summaries:
        candidates.sort(key=lambda one: -one.score)
    kept, left = list[Evidence | PassageSummary](), budget_tokens
    for one in candidates:
        tokens = count(one.text)
        if tokens <= left or not kept:
            kept.append(one)
            left -= tokens
    read = grouped([one for one in kept if isinstance(one, Evidence)])
    return tuple(read), tuple(one for one in kept if isinstance(one, PassageSummary))


@dataclass(frozen=True, slots=True)
class _Scored:
    """Sentences with their tokens, cosines and scores: (n, q), for each part of the question."""

    sentences: list[ScoredSentence]
    sizes: list[int]
    cosines: FloatArray
    scores: FloatArray


class SentenceSelector:
    """Narrows passages with an embedder and counts with a tokenizer."""

    def __init__(self, embedder: Embedder, tokenizer: Tokenizer) -> None:
        self._embedder = embedder
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._tokenizer.count(text)

    async def best(self, question: str, passages: Sequence[Evidence], *, k: int) -> list[Evidence]:
        """The k sentences of ``passages`` that are nearest to the question, best first, each by itself."""
        found = await self._scored(question, passages, most_tokens=LOOKED_AT * k * SENTENCE_TOKENS)
        chosen = ranked(found.scores)[:k] if found.sentences else []
        return [made for row in chosen for made in joined(passages, [found.sentences[row]], [float(found.cosines[row].max())])]

    async def _scored(self, question: str, passages: Sequence[Evidence], *, most_tokens: int) -> _Scored:
        """The sentences that share most words with the question, with how near they are."""
        found, questions = units(passages), questions_in(question)
        if not found:
            return _Scored([], [], np.empty((0, len(questions)), np.float32), np.empty((0, len(questions)), np.float32))
        shared, sizes = shared_words([unit.text for unit in found], questions), [self._tokenizer.count(unit.text) for unit in found]
        near = np.array([[passages[unit.passage].score] for unit in found], dtype=np.float32)
        likely = within(ranked(shared + np.float32(BY_PASSAGE) * near), sizes, most_tokens)
        asked = await embed_questions(self._embedder, questions)
        cosines = np.clip(await self._embedder.embed([found[row].text for row in likely]) @ asked.T, -1.0, 1.0)
        scores = cosines + np.float32(WORDS_WEIGHT) * shared[likely]
        return _Scored([found[row] for row in likely], [sizes[row] for row in likely], cosines, scores)


def fitting(
    found: Sequence[Sequence[PassageSummary]], budget_tokens: int, count: Callable[[str], int]
) -> tuple[tuple[PassageSummary, ...], int]:
    """Which descriptions a model reads beside the passages, each sentence once, within a share of the context (DGRAG §III-C).

    What was found for each part of a question, in turn, with those of its sentences that fit and were not said; and their tokens.

    >>> told = [PassageSummary(name, text, 0.5, (), name) for name, text in [("Mill", "It is old."), ("Barn", "It is old. It stands.")]]
    >>> kept, tokens = fitting([told], 9, lambda text: len(text.split()))
    >>> [one.line for one in kept], tokens
    (['Mill: It is old.', 'Barn: It stands.'], 7)
    """
    kept, said, left = list[PassageSummary](), "", budget_tokens
    for description in (one for several in zip_longest(*found) for one in several if one is not None):
        text = ""
        for start, end in sentences(description.text):
            sentence = one_line(description.text[start:end])
            longer = f"{text} {sentence}".strip()
            if sentence and sentence not in said and count(replace(description, text=longer).line) <= left:
                text = longer
        if text:
            kept.append(replace(description, text=text))
            left -= count(kept[-1].line)
            said = f"{said}\n{text}"
    return tuple(kept), budget_tokens - left


def in_turn(*found: Sequence[Evidence]) -> list[Evidence]:
    """The first of each, the second of each, and so on, each passage once with its best score: whoever reads some has the best of all."""
    best = dict[ChunkId, Evidence]()
    for one in (one for turn in zip_longest(*found) for one in turn if one is not None):
        if one.chunk_id not in best or best[one.chunk_id].score < one.score:
            best[one.chunk_id] = one
    return list(best.values())
