"""④ Entities that a question names: its longest runs of words that are an entity's key. No model call (after HippoRAG §2.3)."""

from __future__ import annotations

import re
from collections.abc import Callable

from edge_node.graph.names import normalise
from edge_node.graph.words import STOP_WORDS

LONGEST = 12  # words of a name; titles of works are longer than most
_WORD = re.compile(r"[^\s?!,;:\"“”()\[\]]+")


def named_in(question: str, find: Callable[[str], str | None]) -> dict[str, bool]:
    """The entities that a question names, in its order, and whether it writes each as a name: with a capital or a digit.

    find: a key (see ``normalise``) to that of its entity, or None. The first word's capital says nothing.

    >>> known = {"orrin mill", "mill", "who"}
    >>> named_in("Who built Orrin Mill, and which mill is older?", lambda key: key if key in known else None)
    {'orrin mill': True, 'mill': False}
    """
    words = _WORD.findall(question)
    found: dict[str, bool] = {}
    start = 0
    while start < len(words):
        end, entity = _longest(words, start, find)
        if entity is not None:
            telling = words[max(start, 1) : end] if end > 1 else words[:1]
            is_name = any(word[0].isupper() or word[0].isdigit() for word in telling)
            found[entity] = found.get(entity, False) or is_name
        start = end
    return found


def _longest(words: list[str], start: int, find: Callable[[str], str | None]) -> tuple[int, str | None]:
    """Where the longest name that begins here ends, and its entity; else the next word, and None."""
    for end in range(min(len(words), start + LONGEST), start, -1):
        if end == start + 1 and words[start].casefold() in STOP_WORDS:
            break
        key = normalise(" ".join(words[start:end]))
        entity = find(key) if key else None
        if entity is not None:
            return end, entity
    return start + 1, None


def has_names(question: str) -> bool:
    """Whether a question writes names as names: it has a capital behind its first word.

    >>> has_names("who built orrin mill"), has_names("Who built Orrin Mill?")
    (False, True)
    """
    return any(word[0].isupper() for word in _WORD.findall(question)[1:])
