"""Questions that ask what several documents say of one thing: "according to the board and according to the report"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.text.language import READ, language_of_question
from shared.text.sentences import questions_in

_WHETHER = re.compile(
    r"\b(?:documents?|sources?|sites?|reports?|figures|dokumente?|quellen?|berichte?|angaben)\b(?![^?]{0,60}\bof (?:19|20)\d\d)[^?]{0,60}?"
    r"\b(?:agree(?!\s+(?:to|on|upon|with)\b)|differ|contradict|überein|widersprechen|name the same|nennen dieselben?)\b",
    re.IGNORECASE,
)
_SOURCES = re.compile(
    r"(?:,\s?)?\b(?P<by>according to|laut|selon|según)\s[^?]{1,80}?\s(?:and|und|et|y)\s(?P=by)\b[^?]*"
    r"|(?:,\s?)?\bby\b[^?,]{1,40}\b(?:figures|reports?|records?|accounts?)\b[^?]{0,20}?\band by\b[^?]*",
    re.IGNORECASE,
)
_SAID = {  # of one document; of documents that say the same, and of those that do not
    READ: ("According to {}: {}", "They say the same.", "They do not say the same."),
    "de": ("Laut {}: {}", "Die Angaben stimmen überein.", "Die Angaben stimmen nicht überein."),
    "fr": ("Selon {} : {}", "Les sources disent la même chose.", "Les sources ne disent pas la même chose."),
    "es": ("Según {}: {}", "Las fuentes dicen lo mismo.", "Las fuentes no dicen lo mismo."),
}


def compares(question: str) -> bool:
    """Whether a question asks what several documents say of one thing.

    >>> compares("When did it fail? Do the documents agree?"), compares("Which reports does the committee agree to publish?")
    (True, False)
    >>> compares("By how much do the figures of 2024 and 2025 differ?")
    False
    """
    return bool(_WHETHER.search(question) or _SOURCES.search(question))


def compared(question: str) -> str:
    """What each document is to be asked; "" where the question asks nothing but whether they agree.

    >>> compared("Since when is it back, according to the board and according to the report?")
    'Since when is it back?'
    >>> compared("When did it fail? Do the documents agree?")
    'When did it fail?'
    >>> compared("How many were told, by our own figures and by the press?"), compared("Do the reports agree?")
    ('How many were told?', '')
    """
    whole, *parts = questions_in(question)
    left = [part for part in parts or [whole] if not _WHETHER.search(part)]
    return " ".join(_SOURCES.sub("", part).strip() for part in left)


def side_by_side(question: str, said: Sequence[tuple[str, str]], *, is_same: bool) -> str:
    """What each of these documents says, and whether that is the same.

    >>> side_by_side("Seit wann läuft die Pumpe laut A und laut B?", [("a.md", "Am 5. Mai."), ("b.md", "Am 6. Mai.")], is_same=False)
    'Laut a.md: Am 5. Mai. Laut b.md: Am 6. Mai. Die Angaben stimmen nicht überein.'
    """
    one, same, different = _SAID.get(language_of_question(question), _SAID[READ])
    return " ".join([*(one.format(document, answer) for document, answer in said), same if is_same else different])
