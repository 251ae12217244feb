"""Names in a text, without a model of its language: what is written with a capital."""

from __future__ import annotations

import re

from shared.sentences import content_words

_NAME = re.compile(r"[^\W\d_a-z][\w'’-]*(?:\s+(?:(?:of|the|and|de|van|von|la|du|al)\s+){0,2}[^\W\d_a-z][\w'’-]*)*")


def names_in(text: str) -> list[str]:
    """Runs of capitalised words, each once, without the small word that a sentence begins with. Scripts without capitals have none.

    >>> names_in("Who directed The Lord of the Rings, and where was Peter Jackson born?")
    ['The Lord of the Rings', 'Peter Jackson']
    """
    runs = [run.split() for run in _NAME.findall(text)]
    trimmed = [run[1:] if len(run) > 1 and not content_words(run[0]) and run[0] != "The" else run for run in runs]
    return list(dict.fromkeys(" ".join(run) for run in trimmed if content_words(" ".join(run))))
