"""Names in a text, without a model of its language: what is written with a capital."""

from __future__ import annotations

import re

from shared.sentences import content_words

_TOKEN = re.compile(r"\w[\w'’-]*|[^\w\s]")
_LINKS = frozenset({"of", "the", "and", "de", "van", "von", "la", "du", "al"})  # inside a name, at most MOST_LINKS in a row
MOST_LINKS = 2


def names_in(text: str) -> list[str]:
    """Runs of capitalised words, each once, without the small word that a sentence begins with. Scripts without capitals have none.

    >>> names_in("große Küche in São Paulo"), names_in("机器学习是什么")
    (['Küche', 'São Paulo'], [])

    >>> names_in("Who directed The Lord of the Rings, and where was Peter Jackson born?")
    ['The Lord of the Rings', 'Peter Jackson']
    """
    trimmed = [run[1:] if len(run) > 1 and not content_words(run[0]) and run[0] != "The" else run for run in _runs(text)]
    return list(dict.fromkeys(" ".join(run) for run in trimmed if content_words(" ".join(run))))


def _runs(text: str) -> list[list[str]]:
    runs: list[list[str]] = []
    run: list[str] = []
    links: list[str] = []
    for token in [*_TOKEN.findall(text), ""]:
        if token[:1].isupper():
            run += [*links, token]
            links = []
        elif run and token in _LINKS and len(links) < MOST_LINKS:
            links.append(token)
        else:
            runs += [run] if run else []
            run, links = [], []
    return runs
