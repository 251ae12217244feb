"""Merge what edges returned (DGRAG §III-C ⑥): score again, drop, de-duplicate, share the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from shared.ports import FloatArray, Tokenizer
from shared.records import EdgeId, Evidence

DUPLICATE_COSINE = 0.97
EDGE_SHARE = 0.5  # of the budget, for one edge, where several have something to say (reliability goal S10)
MOST_OF_ONE = 2 / 3  # of the budget, with the passage that takes an edge past its share
SURE_SHARE = 0.25  # of the budget: no edge is cut to less because the others said little
CHARS_PER_TOKEN = 12  # more than any prose has: an edge that sends more than it was asked for is not read to the end
MIN_CUT_TOKENS = 32  # a passage is cut to what is left of the budget, but not to less than this


def cosines(vectors: FloatArray, questions: FloatArray) -> FloatArray:
    """The best cosine of each row of ``vectors`` (n, d) with ``questions`` (q, d): (n,), [-1, 1]."""
    return np.asarray(np.clip((vectors @ questions.T).max(axis=1, initial=-1.0), -1.0, 1.0), dtype=np.float32)


def rescore(passages: Sequence[Evidence], vectors: FloatArray, scores: FloatArray, *, min_cosine: float) -> list[Evidence]:
    """The passages worth keeping, best first, each with its row of ``scores`` (n,), the cloud's own cosines; ``vectors``: (n, d).

    Edges report no scores; equal ones stand in the order of edge, document and chunk, so that no edge
    gains by answering first. A passage nearer than ``DUPLICATE_COSINE`` to a better one of its edge is dropped; one of
    another edge only when it has the same words: a forged copy, one figure changed, must not displace what it was made from.
    """
    order = sorted(
        (row for row in range(len(passages)) if scores[row] >= min_cosine),
        key=lambda row: (-scores[row], passages[row].edge, passages[row].document_id, passages[row].chunk_id),
    )
    return distinct(passages, vectors, scores, order)


def distinct(passages: Sequence[Evidence], vectors: FloatArray, scores: FloatArray, order: Sequence[int]) -> list[Evidence]:
    """The passages of ``order``, rows of ``vectors`` (n, d), each with its row of ``scores`` (n,), without duplicates of earlier ones."""
    kept: list[int] = []
    for row in order:
        if not any(_duplicates(passages[row], passages[other], float(vectors[row] @ vectors[other])) for other in kept):
            kept.append(row)
    return [replace(passages[row], score=float(scores[row])) for row in kept]


def within_request(passages: Sequence[Evidence], *, budget_tokens: int) -> list[Evidence]:
    """An edge's first passages, in its order, until they are as long as ``budget_tokens`` of prose could ever be."""
    lengths = accumulate((len(passage.text) for passage in passages), initial=0)
    return [passage for passage, before in zip(passages, lengths, strict=False) if before < budget_tokens * CHARS_PER_TOKEN]


def fill_budget(passages: Sequence[Evidence], tokenizer: Tokenizer, *, budget_tokens: int) -> list[Evidence]:
    """The first passages that fit into ``budget_tokens``, best first; one that does not fit is cut at a token's end.

    When passages of at least two edges came this far, no edge gets more than ``EDGE_SHARE`` of the budget, nor more than all
    others together; but ``SURE_SHARE`` of the budget is sure, or a short passage beside it would shrink a true answer to nothing.
    """
    # a stump that the second cut left out would give another edge too much
    return _shared(passages, tokenizer, budget_tokens, least_cut=MIN_CUT_TOKENS, least_second_cut=1)


def fill_ranked(passages: Sequence[Evidence], tokenizer: Tokenizer, *, budget_tokens: int) -> list[Evidence]:
    """The first passages that fit, whole, in their order; shares count only where the budget is full.

    While others have something to say, an edge has ``EDGE_SHARE`` of the budget, and the passage that it begins within it; what is
    left then goes to the first that fit. Where none fits, the first is cut.
    """
    sizes = [tokenizer.count(passage.text) for passage in passages]
    is_alone = len({passage.edge for passage in passages}) < 2
    kept, left, used = set[int](), budget_tokens, Counter[EdgeId]()
    bounds = [(budget_tokens, budget_tokens)]
    if not is_alone:
        bounds.insert(0, (int(budget_tokens * EDGE_SHARE), int(budget_tokens * MOST_OF_ONE)))
    for share, most in bounds:
        for row, passage in enumerate(passages):
            has_room = used[passage.edge] < share and sizes[row] <= min(left, most - used[passage.edge])
            if row not in kept and has_room:
                kept.add(row)
                left -= sizes[row]
                used[passage.edge] += sizes[row]
    if not kept and passages:
        return [_cut(passages[0], tokenizer.spans(passages[0].text)[budget_tokens - 1][1])]
    return [passages[row] for row in sorted(kept)]


def fill_whole(points: Sequence[Evidence], tokenizer: Tokenizer, *, budget_tokens: int) -> list[Evidence]:
    """As ``fill_budget``, but what does not fit is left out, and so an edge may pass its share by less than one point of another."""
    return _shared(points, tokenizer, budget_tokens, least_cut=budget_tokens + 1, least_second_cut=budget_tokens + 1)


def _shared(
    passages: Sequence[Evidence], tokenizer: Tokenizer, budget_tokens: int, *, least_cut: int, least_second_cut: int
) -> list[Evidence]:
    edges = {passage.edge for passage in passages}
    cap = int(budget_tokens * EDGE_SHARE) if len(edges) > 1 else budget_tokens
    chosen = _first(passages, tokenizer, budget_tokens, dict.fromkeys(edges, cap), least_cut=least_cut)
    used = Counter[EdgeId]()
    for passage in chosen:
        used[passage.edge] += tokenizer.count(passage.text)
    if len(used) < 2:
        return chosen
    sure = max(int(budget_tokens * SURE_SHARE), MIN_CUT_TOKENS)
    fair = {edge: max(used.total() - tokens, sure) for edge, tokens in used.items()}
    return _first(chosen, tokenizer, budget_tokens, fair, least_cut=least_second_cut)


def _first(
    passages: Sequence[Evidence], tokenizer: Tokenizer, budget_tokens: int, cap_of: Mapping[EdgeId, int], *, least_cut: int
) -> list[Evidence]:
    left, left_of = budget_tokens, dict(cap_of)
    chosen: list[Evidence] = []
    for passage in passages:
        allowed = min(left, left_of[passage.edge])
        spans = tokenizer.spans(passage.text)
        if not spans or (len(spans) > allowed and allowed < least_cut):
            continue
        used = min(len(spans), allowed)
        chosen.append(passage if used == len(spans) else _cut(passage, spans[used - 1][1]))
        left -= used
        left_of[passage.edge] -= used
    return chosen


def _duplicates(passage: Evidence, better: Evidence, cosine: float) -> bool:
    same_words = passage.text.split() == better.text.split()
    return same_words or (passage.edge == better.edge and cosine >= DUPLICATE_COSINE)


def _cut(passage: Evidence, end: int) -> Evidence:
    start = passage.span[0]
    return replace(passage, text=passage.text[:end], span=(start, start + end))
