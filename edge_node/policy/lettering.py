"""Words that may be names by how they are written, where nobody knows the names (goal P5)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.text.language import READ, is_latin

_LETTERED_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*")
_LETTERED_PARTICLES = frozenset("da de del della der di dos du el la le ten ter van von y".split())  # noqa: SIM905 - a list would be a page long
_LETTER_GAP = re.compile(r"[ \t\u00a0]{1,2}|\. ?")  # between the words of a name
# Thai, Lao, Burmese, Khmer and Han letters, kana, and Hangul as a Shadow shows it: no blanks stand around a name
UNSPACED = "\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{UNSPACED}]")
WITH_CAPITALS = frozenset({READ, "de", "lb"})  # English writes headings so, and German and Luxembourgish all nouns
_OPENING = frozenset(".!?:¿¡\n")  # between a word and the first one of a sentence
LEAST_LETTERS = 2  # one letter of another script is a symbol, as in a formula


def strangely_written(text: str) -> Iterator[tuple[int, int]]:
    """Characters [start, end) of words of a script that is not Latin, and of runs of capitalised words one of which has an accent.

    >>> text = "Dr. María de García saw 张伟 at the café."
    >>> [text[start:end] for start, end in strangely_written(text)]
    ['Dr. María de García', '张伟']
    """
    if text.isascii():
        return
    run: list[tuple[int, int]] = []
    for match in _LETTERED_WORD.finditer(text):
        word = match.group()
        joined = bool(run) and _LETTER_GAP.fullmatch(text, run[-1][1], match.start()) is not None
        if not joined or not (word[0].isupper() or word in _LETTERED_PARTICLES):
            yield from _name(text, run)
            run = []
        if word[0].isupper() or run:
            run.append(match.span())
        if sum(not is_latin(letter) for letter in word if letter.isalpha()) >= LEAST_LETTERS:
            yield match.span()
    yield from _name(text, run)


def _name(text: str, run: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    while run and text[slice(*run[-1])] in _LETTERED_PARTICLES:
        run = run[:-1]
    if run and any(len(word) > 1 and not word.isascii() for word in (text[start:end] for start, end in run)):
        yield run[0][0], run[-1][1]


def capitalised(text: str) -> Iterator[tuple[int, int]]:
    """Characters [start, end) of capitalised words, without a single one that begins a sentence.

    >>> text = "Kiedy przyszedł Jan Kowalski? Jan Nowak też? Dlaczego?"
    >>> [text[start:end] for start, end in capitalised(text)]
    ['Jan Kowalski', 'Jan Nowak']
    """
    run: list[tuple[int, int]] = []
    behind, opens = 0, True
    for start, end in [*(match.span() for match in _LETTERED_WORD.finditer(text)), (len(text), len(text))]:
        is_capital = text[start:end][:1].isupper()
        if run and not (is_capital and _LETTER_GAP.fullmatch(text, run[-1][1], start)):
            if len(run) > 1 or not opens:
                yield run[0][0], run[-1][1]
            run = []
        if is_capital:
            opens = opens if run else behind == 0 or not _OPENING.isdisjoint(text[behind:start])
            run.append((start, end))
        behind = end


def is_unspaced(word: str) -> bool:
    """Whether a word is of a script that is written without blanks."""
    return _UNSPACED.match(word) is not None
