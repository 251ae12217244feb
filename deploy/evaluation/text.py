"""A text against the answer that is known: equal words, claims that are told, sentences with a reference. Pure."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence

from shared.text.sentences import content_words, sentences
from shared.text.support import by_words, stems

YES_NO = frozenset({"yes", "no"})
MIN_WORDS = 3  # content words of a sentence that needs a reference; shorter ones are headings and numbers of lists
MARKER = re.compile(r"\[(\d+)\]")
MIN_TOLD = 0.6  # share of a claim's words that an answer must hold; its names and figures must stand there all
FIGURE_WEIGHT = 3  # of a figure, in plain words: "142 km" tells "a length of 142 kilometres"
_PARTS = re.compile(r";\s+|,\s+(?:and|but|while|whereas)\s+|(?<=^yes),\s+|(?<=^no),\s+", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d{3}(?!\d))")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_MINUS = re.compile(r"(?:(?<![\w.)-])[-\u2212\u2013]|\bminus\s+)([$€£]?)(?=\d)", re.IGNORECASE)
_INITIAL = re.compile(r"\b[A-Za-z][.)]\s+(?=\w)")  # "G. Stanley Hall", "c. 1850", "a) pumps"; but "in Ward B. Ann"
# a letter that tells one from another, as in "Ward B": no article, no pronoun, no unit behind a figure, no part of "p.m.", "R&D" or "it's"
_LETTER = re.compile(
    r"(?<![\w.'’°&/])(?<!\d )((?<=\w )[AI]|[B-HJ-Z]|[b-df-hj-np-tvx]|[AI](?!\s+\w)|[a-z](?![\s-]+\w))(?![\w&/]|['’](?!s\b)|\.\w)"
)
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


def claims(reference: str) -> list[str]:
    """What an answer claims, one by one: its sentences, parted at semicolons, at ", and" and the like, and behind a yes or no.

    >>> claims("Juniper Ward reported it, and lot L-7713 caused it. Yes, in 2024.")
    ['Juniper Ward reported it', 'lot L-7713 caused it', 'Yes', 'in 2024']
    """
    parts = (part.strip(" .\n") for start, end in sentences(reference) for part in _PARTS.split(reference[start:end]))
    return [part for part in parts if _is_claim(part)] or [reference]


def _is_claim(part: str) -> bool:
    return bool(content_words(_as_words(part))) or normalised(part) in YES_NO


def is_told(claim: str, answer: str, question: str) -> bool:
    """Whether an answer tells a claim: in the same words, or with all its names and figures and ``MIN_TOLD`` of its words.

    Words that the question has already count only where the claim has no others. A figure in words is not one in digits, and of an answer
    that denies the claim it is not told apart that it does. A claim of nothing but articles and signs is told by what is written alike.
    An answer without any letter of its own may leave out an initial.

    >>> asked, expected = "Which pack replaces the CX-40?", "The CX-42 battery pack replaces the CX-40 battery pack."
    >>> [is_told(expected, said, asked) for said in ("The CX-42 battery pack [1].", "The CX-43 battery pack [1].", "The CX-40 does.")]
    [True, False, False]
    """
    claim = claim if _LETTER.search(answer) else _INITIAL.sub("", claim)
    claim, answer, question = map(_as_words, (claim, MARKER.sub("", answer), question))
    if not normalised(claim):
        return bool(claim) and claim.strip() in (word.rstrip(".,;:!?") or word for word in answer.split())
    if accuracy(answer, [claim]):
        return True
    words = stems(content_words(claim))
    wanted = words - stems(content_words(question)) or words
    told = stems(content_words(answer)) & wanted
    return by_words(claim, [answer], heading=question) is not False and _weight(told) >= MIN_TOLD * _weight(wanted)


def _weight(words: Collection[str]) -> int:
    return sum(FIGURE_WEIGHT if any(map(str.isdigit, word)) else 1 for word in words)


def _as_words(text: str) -> str:
    """What words alone lose, as words: a figure with its sign and its point, and a letter that tells one from another as a figure.

    >>> _as_words("-4.2 of 6,400, in Ward B, a class A ward.")
    'minus4point2 of 6400, in Ward 0B, a class 0A ward.'
    """
    return _LETTER.sub(r"0\1", _MINUS.sub(r"\1minus", _POINT.sub("point", _THOUSANDS.sub("", text))))


def referenced(text: str, known: Collection[int], *, min_words: int = MIN_WORDS) -> tuple[int, int]:
    r"""How many sentences an answer has, and how many of them have a marker of a citation that is there.

    >>> referenced("# Pumps\nThe pump P-204 leaks [1]. The gate is always shut [9]. Ann repaired it in March.", {1})
    (3, 1)
    """
    told = [text[start:end] for start, end in sentences(text)]
    counted = [sentence for sentence in told if len(content_words(MARKER.sub("", sentence))) >= min_words]
    return len(counted), sum(any(int(n) in known for n in MARKER.findall(sentence)) for sentence in counted)


def _contains(said: str, reference: str) -> bool:
    if reference in YES_NO:
        return next((word for word in said.split() if word in YES_NO), "") == reference
    return f" {reference} " in f" {said} " if reference else not said
