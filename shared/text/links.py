"""Whether one passage leads to another: a second hop is found by a name that the first one tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.records import Evidence
from shared.text.sentences import names_in

MOST_SHARED = 2  # documents that hold a single word which links two passages; a word of more is an everyday one
STEM = 5  # letters by which "Venezuela" and "Venezuelan" are one
_CODE = re.compile(r"\b[A-Z]{1,5}-?\d{2,}\b")
_WORD = re.compile(rf"[^\W\d_]{{{STEM},}}")
_QUALIFIER = re.compile(r"(?<!\s)\s*+\([^()]*+\)\s*+$")


def are_linked(one: Evidence, other: Evidence, known: str, read: Sequence[Evidence]) -> bool:
    """Whether two passages are linked by what ``known``, such as the question, does not name.

    One is titled with what the other names, both hold a name of several words or a code, or a name's single word that few of
    the documents that were ``read`` hold.

    >>> def passage(title: str, text: str) -> Evidence:
    ...     return Evidence(EdgeId("a"), DocumentId(title), title, ChunkId(title), (0, len(text)), text, 0.9, True, title)
    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> mine, state = passage("Mine Creek", "A battle in Kansas."), passage("Laura Kelly", "She is the governor of Kansas.")
    >>> are_linked(mine, state, "Who governs where Mine Creek is?", [mine, state])
    True
    >>> are_linked(mine, state, "Who governs Kansas?", [mine, state])
    False
    """
    titles = [(_QUALIFIER.sub("", first.title), second.text) for first, second in ((one, other), (other, one))]
    if any(title and title in text for title, text in titles):
        return True
    if (_names(one.text) & _names(other.text)) - _names(known):
        return True
    ours, theirs = _single_words(one.text), _single_words(other.text)
    shared = (ours & theirs) | (ours & _single_words(other.title)) | (theirs & _single_words(one.title))
    rare = shared - {word[:STEM] for word in _WORD.findall(known)}
    if not rare:
        return False
    words = [(passage.document_id, _single_words(f"{passage.title}. {passage.text}")) for passage in read]
    holders = ({document for document, held in words if word in held} for word in rare)
    return any(len(documents) <= MOST_SHARED for documents in holders)


def _names(text: str) -> set[str]:
    return {name for name in names_in(text) if " " in name} | set(_CODE.findall(text))


def _single_words(text: str) -> set[str]:
    """The beginnings of the words of its names."""
    names = " ".join(names_in(text))
    return {word[:STEM] for word in _WORD.findall(names) if word[0].isupper()}
