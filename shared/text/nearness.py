"""Whether a passage is about what is asked at all."""

from __future__ import annotations

from shared.text.sentences import content_words

MIN_NEAR = 0.1  # the cosine of a passage that shares no word with the question; a translation has more


def is_near(cosine: float, question: str, text: str) -> bool:
    """Whether a passage is about what is asked at all: near by meaning, or with a word of the question.

    >>> is_near(0.05, "Which pump failed?", "The pump of Ward 3."), is_near(0.05, "Which pump failed?", "Bakeries borrow money.")
    (True, False)
    """
    return cosine >= MIN_NEAR or not content_words(question).isdisjoint(content_words(text))
