"""The words of a text that carry meaning, each as one term whatever its number: what BM25 counts, and KET-RAG's keywords (§5.1)."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from edge_node.graph.names import singular
from edge_node.graph.words import STOP_WORDS

WORD = re.compile(r"[^\W_]+")


MOST_WORDS = 2**18  # that are remembered


@lru_cache(maxsize=MOST_WORDS)
def _term(word: str) -> str:
    """Empty for a word that carries no meaning."""
    return "" if word in STOP_WORDS else singular(word)


def terms_of(text: str) -> Counter[str]:
    """The terms of a text with their counts.

    >>> sorted(terms_of("The pumps of a ward: a pump leaks.").items())
    [('leak', 1), ('pump', 2), ('ward', 1)]
    """
    counts = Counter(map(_term, WORD.findall(text.casefold())))
    del counts[""]
    return counts


def name_pairs_of(text: str) -> set[str]:
    """Neighbouring words that both begin with a capital or a digit, as one term each: most names hold such a pair, and few other texts do.

    >>> sorted(name_pairs_of("The Maristow Pump of Ward 3 leaks. Ann Lee saw it."))
    ['ann lee', 'maristow pump', 'ward 3']
    """
    words = WORD.findall(text)
    parts = [_term(word.casefold()) if word[0].isupper() or word[0].isdigit() else "" for word in words]
    return {f"{first} {second}" for first, second in pairwise(parts) if first and second}
