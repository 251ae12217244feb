"""Merge what edges returned (DGRAG §III-C ⑥): score again, drop, de-duplicate, share the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shared.ports import FloatArray, Tokenizer
from shared.records import Evidence

DUPLICATE_COSINE = 0.97
EDGE_SHARE = 0.5  # of the budget, for one edge, where several have something to say (reliability goal S10)
MIN_CUT_TOKENS = 32  # a passage is cut to what is left of the budget, but not to less than this


def rescore(passages: Sequence[Evidence], vectors: FloatArray, questions: FloatArray, *, min_cosine: float) -> list[Evidence]:
    """The passages worth keeping, best first, each with the best cosine of its row of ``vectors`` (n, d) with ``questions`` (q, d).

    Scores that edges report play no part; equal scores stand in the order of edge, document and chunk, so that no edge
    gains by answering first. A passage nearer than ``DUPLICATE_COSINE`` to a better one is dropped.
    """
    scores = np.clip((vectors @ questions.T).max(axis=1), -1.0, 1.0)
    order = sorted(
        (row for row in range(len(passages)) if scores[row] >= min_cosine),
        key=lambda row: (-scores[row], passages[row].edge, passages[row].document_id, passages[row].chunk_id),
    )
    kept: list[int] = []
    for row in order:
        if not kept or float((vectors[kept] @ vectors[row]).max()) < DUPLICATE_COSINE:
            kept.append(row)
    return [replace(passages[row], score=float(scores[row])) for row in kept]


def fill_budget(passages: Sequence[Evidence], tokenizer: Tokenizer, *, budget_tokens: int) -> list[Evidence]:
    """The first passages that fit into ``budget_tokens``, best first; one that does not fit is cut at a token's end.

    No edge gets more than ``EDGE_SHARE`` of the budget when passages of at least two edges came this far.
    """
    several = len({passage.edge for passage in passages}) > 1
    cap = int(budget_tokens * EDGE_SHARE) if several else budget_tokens
    left, left_of = budget_tokens, dict.fromkeys((passage.edge for passage in passages), cap)
    chosen: list[Evidence] = []
    for passage in passages:
        allowed = min(left, left_of[passage.edge])
        spans = tokenizer.spans(passage.text)
        if not spans or (len(spans) > allowed and allowed < MIN_CUT_TOKENS):
            continue
        used = min(len(spans), allowed)
        chosen.append(passage if used == len(spans) else _cut(passage, spans[used - 1][1]))
        left -= used
        left_of[passage.edge] -= used
    return chosen


def _cut(passage: Evidence, end: int) -> Evidence:
    start = passage.span[0]
    return replace(passage, text=passage.text[:end], span=(start, start + end))
