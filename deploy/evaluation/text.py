"""A text against the answer that is known: equal words, claims that are told, sentences with a reference. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence

from shared.text.sentences import content_words, sentences

YES_NO = frozenset({"yes", "no"})
MIN_WORDS = 3  # content words of a sentence that needs a reference; shorter ones are headings and numbers of lists
MARKER = re.compile(r"\[(\d+)\]")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Text as SQuAD's evaluation compares it: lower case, without ASCII punctuation and articles, single blanks.

    >>> normalised("The  Witch of Atlas!")
    'witch of atlas'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def accuracy(answer: str, references: Sequence[str]) -> float:
    """1.0 if the answer contains the words of an accepted one, else 0.0 (EraRAG §V).

    For yes and no the answer's first yes or no decides: "no" stands in too many sentences.

    >>> accuracy("It was G. Stanley Hall, in 1892.", ["Stanley Hall"]), accuracy("Yes; there is no doubt.", ["no"])
    (1.0, 0.0)
    """
    said = normalised(answer)
    return float(any(_contains(said, normalised(reference)) for reference in references))


def referenced(text: str, known: Collection[int]) -> tuple[int, int]:
    r"""How many sentences an answer has, and how many of them have a marker of a citation that is there.

    >>> referenced("# Pumps\nThe pump P-204 leaks [1]. The gate is always shut [9]. Ann repaired it in March.", {1})
    (3, 1)
    """
    told = [text[start:end] for start, end in sentences(text)]
    counted = [sentence for sentence in told if len(content_words(MARKER.sub("", sentence))) >= MIN_WORDS]
    return len(counted), sum(any(int(n) in known for n in MARKER.findall(sentence)) for sentence in counted)


def _contains(said: str, reference: str) -> bool:
    if reference in YES_NO:
        return next((word for word in said.split() if word in YES_NO), "") == reference
    return f" {reference} " in f" {said} " if reference else not said
