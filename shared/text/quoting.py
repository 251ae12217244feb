"""Whether words are a copy of other words, as a model may write them that is asked for a sentence of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from shared.text.sentences import WORD, sentences

COPIED_WORDS = 6  # in a row; shorter runs are names and turns of phrase
COPIED_SHARE = 0.6  # of a sentence's words: of a short one, less is a copy
MIN_COPIED_SENTENCE = 3  # words of a sentence that is a copy wherever it stands whole


def is_copy(said: str, text: str) -> bool:
    """Whether a sentence of ``said`` has a run of ``COPIED_WORDS`` words from ``text``, or one of ``COPIED_SHARE`` of its own words.

    So is what says a whole sentence of ``text``. A run goes on over one changed word; case and punctuation do not count. Not seen is a
    short sentence with a word put in or left out in its middle.

    >>> is_copy("He wrote: the pump failed!", "The pump failed."), is_copy("A failure struck the pump.", "The pump failed.")
    (True, False)
    """
    given, told = _words(text), _words(said)
    runs = ((_run(part, given), len(part)) for part in _parts(said))
    if any(run >= min(COPIED_WORDS, COPIED_SHARE * length) for run, length in runs):
        return True
    return any(_run(part, told) == len(part) >= MIN_COPIED_SENTENCE for part in _parts(text))


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _parts(text: str) -> list[list[str]]:
    return [words for start, end in sentences(text) if (words := _words(text[start:end]))]


def _run(part: Sequence[str], words: Sequence[str]) -> int:
    """How many words of ``part`` stand in ``words`` in one row at best, not counting one that is another there."""
    places = defaultdict[str, list[int]](list)
    for place, word in enumerate(words):
        places[word].append(place)
    same = defaultdict[int, list[int]](list)  # by how far part is moved along words: its rows that agree, in order
    for row, word in enumerate(part):
        for place in places.get(word, ()):
            same[place - row].append(row)
    return max(map(_longest, same.values()), default=0)


def _longest(rows: Sequence[int]) -> int:
    """The most rows without a gap but one of a single row.

    >>> _longest([0, 1, 3, 4, 6])
    4
    """
    best = unbroken = run = 0
    last = -2
    for row in rows:
        if row == last + 1:
            unbroken, run = unbroken + 1, run + 1
        else:
            unbroken, run = 1, unbroken + 1 if row == last + 2 else 1
        best, last = max(best, run), row
    return best
