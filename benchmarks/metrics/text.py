"""A text against the accepted answers: ROUGE-L recall (DGRAG §IV-B), claims that are told, exact match, F1 and Coverage (KET-RAG)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rouge_score.rouge_scorer import RougeScorer

from deploy.evaluation.text import YES_NO, claims, is_told, normalised

_ROUGE_L = RougeScorer(["rougeL"], use_stemmer=False)


def rouge_l_recall(answer: str, reference: str) -> float:
    """Share of the reference's words that stand in the answer in the same order, [0, 1] (longest common subsequence).

    Words are runs of a–z and 0–9, not stemmed, as ``rouge-score`` cuts them: other scripts have none and score 0.

    >>> rouge_l_recall("A cat sat there.", "the cat sat on the mat")
    0.3333333333333333
    """
    return float(_ROUGE_L.score(target=reference, prediction=answer)["rougeL"].recall)


def claims_told(question: str, answer: str, reference: str) -> float:
    """Share of the reference's claims that the answer tells, [0, 1]: both by rule, from words (``deploy.evaluation.text``).

    >>> claims_told("What did Ann do?", "She repaired the pump.", "Ann repaired the pump, and she wrote a report.")
    0.5
    """
    told = [is_told(claim, answer, question) for claim in claims(reference)]
    return sum(told) / len(told)


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


def covered(context: str, references: Sequence[str]) -> bool | None:
    """Whether an accepted answer stands in the context, both normalised (KET-RAG's Coverage); None where no answer is known.

    A part of a word counts, as in the authors' own measure, so a yes or no is nearly always covered.

    >>> covered("It was led by G. Stanley Hall.", ["Stanley Hall"]), covered("Nothing.", [])
    (True, None)
    """
    wanted = [text for text in map(normalised, references) if text]
    said = normalised(context) if wanted else ""
    return any(text in said for text in wanted) if wanted else None
