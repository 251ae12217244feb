"""A text against the accepted answers: ROUGE-L recall (DGRAG §IV-B), exact match, F1 and Coverage (KET-RAG), accuracy (EraRAG)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from rouge_score.rouge_scorer import RougeScorer

YES_NO = frozenset({"yes", "no"})
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ROUGE_L = RougeScorer(["rougeL"], use_stemmer=False)


def normalised(text: str) -> str:
    """Text as SQuAD's evaluation compares it: lower case, without ASCII punctuation and articles, single blanks.

    >>> normalised("The  Witch of Atlas!")
    'witch of atlas'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def rouge_l_recall(answer: str, reference: str) -> float:
    """Share of the reference's words that stand in the answer in the same order, [0, 1] (longest common subsequence).

    Words are runs of a–z and 0–9, not stemmed, as ``rouge-score`` cuts them: other scripts have none and score 0.

    >>> rouge_l_recall("A cat sat there.", "the cat sat on the mat")
    0.3333333333333333
    """
    return float(_ROUGE_L.score(target=reference, prediction=answer)["rougeL"].recall)


def exact_match(answer: str, references: Sequence[str]) -> float:
    """1.0 if the normalised answer is an accepted one, else 0.0.

    >>> exact_match("The Stanley Hall.", ["G. Stanley Hall", "Stanley Hall"])
    1.0
    """
    return float(normalised(answer) in map(normalised, references))


def f1(answer: str, references: Sequence[str]) -> float:
    """Harmonic mean of the precision and recall of normalised words, best over the references, [0, 1].

    Yes and no are all or nothing, as in HotpotQA's evaluation.

    >>> f1("Stanley Hall was it", ["G. Stanley Hall"])  # precision 2/4, recall 2/3
    0.5714285714285714
    """
    return max((_f1(normalised(answer), normalised(reference)) for reference in references), default=0.0)


def _f1(answer: str, reference: str) -> float:
    if answer == reference:
        return 1.0
    if YES_NO & {answer, reference}:
        return 0.0
    said, wanted = answer.split(), reference.split()
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def accuracy(answer: str, references: Sequence[str]) -> float:
    """1.0 if the answer contains the words of an accepted one, else 0.0 (EraRAG §V).

    For yes and no the answer's first yes or no decides: "no" stands in too many sentences.

    >>> accuracy("It was G. Stanley Hall, in 1892.", ["Stanley Hall"]), accuracy("Yes; there is no doubt.", ["no"])
    (1.0, 0.0)
    """
    said = normalised(answer)
    return float(any(_contains(said, normalised(reference)) for reference in references))


def covered(context: str, references: Sequence[str]) -> bool | None:
    """Whether an accepted answer stands in the context, both normalised (KET-RAG's Coverage); None where no answer is known.

    A part of a word counts, as in the authors' own measure, so a yes or no is nearly always covered.

    >>> covered("It was led by G. Stanley Hall.", ["Stanley Hall"]), covered("Nothing.", [])
    (True, None)
    """
    wanted = [text for text in map(normalised, references) if text]
    said = normalised(context) if wanted else ""
    return any(text in said for text in wanted) if wanted else None


def _contains(said: str, reference: str) -> bool:
    if reference in YES_NO:
        return next((word for word in said.split() if word in YES_NO), "") == reference
    return f" {reference} " in f" {said} " if reference else not said
