"""Marks of names: short hashes by which a cloud finds the sites that have a document about a thing, whose name it has read elsewhere.

A mark tells nobody a name. Who guesses one, from a list of names, learns whether its mark is there; so short is it that of six million
wrong guesses about a hundred are there as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import groupby

from shared.text.language import GERMAN, language_of_question
from shared.text.sentences import WORD, content_words

MARK_BYTES = 3
LONGEST = 12  # words of a name; titles of works are longer than most


def plain(name: str) -> str:
    """The words of a name, in lower case.

    >>> plain("Orrin-Mill (1998 film)")
    'orrin mill 1998 film'
    """
    return " ".join(WORD.findall(name.casefold()))


def mark_of(name: str) -> int:
    """The mark of a name. Case and punctuation make no difference.

    >>> mark_of("Orrin Mill (film)") == mark_of("ORRIN MILL: film"), mark_of("Orrin Mill") < 2 ** (8 * MARK_BYTES)
    (True, True)
    """
    return int.from_bytes(blake2b(plain(name).encode("utf-8", "surrogatepass"), digest_size=MARK_BYTES).digest())


def about(question: str, title: str) -> str:
    """A question as it is put to one document: with its title, and without the words that name other things.

    In German any noun has a capital, so that only two such words in a row name something.

    >>> about("Where was the director of Gold Rain born?", "Ann Lee")
    'Ann Lee: Where was the director of born?'
    >>> about("Wann wurde das Patent von Helga Rain erteilt?", "Ann Lee")
    'Ann Lee: Wann wurde das Patent von erteilt?'
    """
    first, *rest = question.split() or [""]
    least = 2 if language_of_question(question) == GERMAN else 1
    runs = ((is_capital, list(words)) for is_capital, words in groupby(rest, key=lambda word: word[0].isupper()))
    return " ".join([f"{title}:", first, *(word for is_capital, words in runs if not is_capital or len(words) < least for word in words)])


def packed(marks: Iterable[int]) -> bytes:
    r"""Different marks in a row, in an order that tells nothing.

    >>> packed([258, 1, 258])
    b'\x00\x00\x01\x00\x01\x02'
    """
    return b"".join(mark.to_bytes(MARK_BYTES) for mark in sorted(set(marks)))


def unpacked(marks: bytes) -> list[int]:
    """The reverse; what is left at the end and is no whole mark counts as none.

    >>> unpacked(packed([258, 1]))
    [1, 258]
    """
    return [int.from_bytes(marks[at : at + MARK_BYTES]) for at in range(0, len(marks) - MARK_BYTES + 1, MARK_BYTES)]


def names_among(text: str, known: Callable[[str], bool]) -> list[str]:
    """The known names in a text, each once: runs that begin and end with a capital or a digit, the longest first, none within another.

    The word that a text begins with is no name alone, and neither is one without a meaning of its own.

    >>> names_among("Who made Gold of the Rhine in Oslo?", {"gold of the rhine", "rhine", "oslo"}.__contains__)
    ['gold of the rhine', 'oslo']
    """
    words = WORD.findall(text)
    low = [word.casefold() for word in words]
    ends = [at for at, word in enumerate(words) if word[0].isupper() or word[0].isdigit()]
    found, after = dict[str, None](), 0
    for place, start in enumerate(ends):
        if start < after:
            continue
        near = ends[place : bisect_left(ends, start + LONGEST, place)]
        for end in reversed(near):
            run = " ".join(low[start : end + 1])
            if (end > start or (start > 0 and content_words(run))) and known(run):
                found[run], after = None, end + 1
                break
    return list(found)
