"""Whether words are a copy of other words, as a model may write them that is asked for a sentence of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from shared.text.sentences import WORD, sentences

COPIED_WORDS = 6  # in a row; shorter runs are names and turns of phrase
COPIED_SHARE = 0.6  # of a sentence's words: of a short one, less is a copy
MIN_COPIED_SENTENCE = 3  # words of a sentence that is a copy wherever it stands whole


def is_copy(said: str, text: str) -> bool:
    """Whether ``said`` has a run of ``COPIED_WORDS`` words from ``text``, or a sentence of it one of ``COPIED_SHARE`` of its own words.

    So is what says a whole sentence of ``text``. A run goes on over one changed word; case, punctuation and the ends of sentences do not
    count. Not seen is a short sentence with a word put in or left out in its middle. Linear in the lengths of both.

    >>> is_copy("He wrote: the pump failed!", "The pump failed."), is_copy("A failure struck the pump.", "The pump failed.")
    (True, False)
    """
    told, given = _words(said), _words(text)
    parts = [(part, min(COPIED_WORDS, ceil(COPIED_SHARE * len(part)))) for part in _parts(said)]
    runs = {length: _runs(given, length) for length in {COPIED_WORDS, *(length for _, length in parts)}}
    if any(not runs[length].isdisjoint(_runs(part, length)) for part, length in [(told, COPIED_WORDS), *parts]):
        return True
    short = {tuple(part) for part in _parts(text) if MIN_COPIED_SENTENCE <= len(part) < COPIED_WORDS}  # a longer one is a run
    return any(not short.isdisjoint(_rows(told, length)) for length in {len(part) for part in short})


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _parts(text: str) -> list[list[str]]:
    return [words for start, end in sentences(text) if (words := _words(text[start:end]))]


def _rows(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    """So many words in a row, from each place."""
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def _runs(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    """The same, and each longer row with nothing for one of its inner words.

    >>> sorted(_runs(["a", "b", "c"], 2))
    [('a', '', 'c'), ('a', 'b'), ('b', 'c')]
    """
    blank = {(*row[:gap], "", *row[gap + 1 :]) for row in _rows(words, length + 1) for gap in range(1, length)}
    return blank | _rows(words, length)
