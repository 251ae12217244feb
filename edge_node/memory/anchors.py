"""Anchors: the names, numbers and other words that carry meaning by which a question and a memory meet (FD-RAG §4.2, eq. 12)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from edge_node.extraction.names import normalise, singular, terms_of

Openings = Mapping[str, AbstractSet[int]]  # by the first word of a name: how many words names that begin so have

_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_INITIALS = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\.)")  # the dots within "U.S."
_WORD = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|[^\W_]+")


def anchors_of(text: str, names: Iterable[str]) -> frozenset[str]:
    """Return the anchors of a text: those of ``names`` that it holds, the longest runs first, its numbers, and its other words singly.

    Case, plurals and possessives make no difference. A name of one word is a word like others.

    >>> sorted(anchors_of("Who built Orrin Mills, and the mill's 1,200 looms?", ["the Orrin Mill", "Orrin"]))
    ['1200', 'built', 'loom', 'mill', 'orrin mill']
    """
    known = {name_of(name) for name in names}
    return anchors_among(text, openings_of(known), known.__contains__)


def anchors_among(text: str, openings: Openings, is_known: Callable[[str], bool]) -> frozenset[str]:
    """As ``anchors_of``, for names too many to be gone through: ``is_known`` tells of an anchor whether it is one."""
    words, found, rest, at = _words(text), set[str](), list[str](), 0
    while at < len(words):
        length = _longest(words, at, openings, is_known)
        if length:
            found.add(" ".join(words[at : at + length]))
        elif words[at][0].isdigit():
            found.add(words[at])
        else:
            rest.append(words[at])
        at += max(1, length)
    return frozenset(found | terms_of(" ".join(rest)).keys())


def name_of(name: str) -> str:
    """The anchor of a name.

    >>> name_of("The Orrin-Mills"), name_of("St. Ann's Head")
    ('orrin mill', 'st ann head')
    """
    return " ".join(_words(normalise(name)))


def openings_of(anchors: Iterable[str]) -> dict[str, set[int]]:
    """What ``anchors_among`` needs of the names among anchors: those of two words or more."""
    found = defaultdict[str, set[int]](set)
    for anchor in anchors:
        first, blank, more = anchor.partition(" ")
        if blank:
            found[first].add(2 + more.count(" "))
    return dict(found)


def dice(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """Return 2|a ∩ b| / (|a| + |b|), in [0, 1]; 0 for two empty sets (FD-RAG eq. 12).

    >>> dice({"orrin mill", "built"}, {"orrin mill", "built", "1881"})
    0.8
    """
    return 2 * len(a & b) / max(1, len(a) + len(b))


def _words(text: str) -> list[str]:
    found = _WORD.findall(_INITIALS.sub("", _POSSESSIVE.sub("", text.casefold())))
    return [singular(word.replace(",", "")) for word in found]


def _longest(words: Sequence[str], at: int, openings: Openings, is_known: Callable[[str], bool]) -> int:
    lengths = sorted(openings.get(words[at], ()), reverse=True)
    return next((length for length in lengths if at + length <= len(words) and is_known(" ".join(words[at : at + length]))), 0)
