"""Names that an English detector may miss: by the letters that they are written with, whatever any detector says (goal P5)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edge_node.graph.languages import is_latin

_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*")
_PARTICLES = frozenset("da de del della der di dos du el la le ten ter van von y".split())  # noqa: SIM905 - a list would be a page long
_GAP = re.compile(r"[ \t\u00a0]{1,2}|\. ?")  # between the words of a name
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
    for match in _WORD.finditer(text):
        word = match.group()
        joined = bool(run) and _GAP.fullmatch(text, run[-1][1], match.start()) is not None
        if not joined or not (word[0].isupper() or word in _PARTICLES):
            yield from _name(text, run)
            run = []
        if word[0].isupper() or run:
            run.append(match.span())
        if sum(not is_latin(letter) for letter in word if letter.isalpha()) >= LEAST_LETTERS:
            yield match.span()
    yield from _name(text, run)


def _name(text: str, run: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    while run and text[slice(*run[-1])] in _PARTICLES:
        run = run[:-1]
    if run and any(len(word) > 1 and not word.isascii() for word in (text[start:end] for start, end in run)):
        yield run[0][0], run[-1][1]
