"""The closed word lists of the languages that a pack reads, from ``words.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class PackWords:
    """Words of one language, in lower case. ``stop``: words without a meaning of their own, for its pack, and for what a question asks."""

    dropped: frozenset[str]
    titles: frozenset[str] = frozenset()
    organizations: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    where: frozenset[str] = frozenset()
    stop: frozenset[str] = frozenset()


WITH_LISTS = frozenset({"de", "es", "fr", "zh"})


@cache
def words_of_language(language: str) -> PackWords:
    """The lists of a language. Raises KeyError where there are none.

    >>> "dienstag" in words_of_language("de").dropped
    True
    """
    lists = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))[language]
    return PackWords(**{name: frozenset(words.split()) for name, words in lists.items()})


def stop_words(language: str) -> frozenset[str]:
    """The words of a language without a meaning of their own; none where there is no list.

    >>> "wie" in stop_words("de"), stop_words("tlh")
    (True, frozenset())
    """
    return words_of_language(language).stop if language in WITH_LISTS else frozenset()
