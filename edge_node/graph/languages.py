"""Which language a passage is in: names are found in the languages that the detector reads, and in no other (goal P5)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

READ = "en"  # what spaCy's en_core_web_sm reads
NEARLY_READ = frozenset({READ, "zxx", "pcm"})  # no language (formulas, codes); Nigerian Pidgin, for which English dates are taken
OTHER_SCRIPT = "other"  # a script that the detector does not read; which language is of no matter
PIECE_WORDS = 8  # a piece of fewer words is looked at together with the next one: few words say little
LEAST_SURE = 0.3  # probability of a language from which on a piece is in it; tables and codes stay below
MOST_STRANGE = 0.3  # share of letters of other scripts; formulas stay below
_WORD = re.compile(r"[^\W\d_]+")
_END = re.compile(r"[.!?。！？…|]+\s*|\n+")


def language_of(text: str, title: str = "") -> str:
    """The language code of a passage under its title; ``READ`` only where no piece of them is in another language.

    Names, codes, tables and single words are in no language: alone they count as read.

    >>> language_of("The pump was replaced by María García on Monday morning.")
    'en'
    >>> language_of("The pump was replaced on Monday. Die Patientin Anna Schulz wurde am Montag von der Station aufgenommen.")
    'de'
    """
    found = (_language_of(piece) for part in (title, text) for piece in _pieces(part))
    return next((language for language in found if language != READ), READ)


def _pieces(text: str) -> Iterator[str]:
    """The text in stretches of whole sentences, or cells of a table, of at least ``PIECE_WORDS`` words; the rest is with the last one."""
    ends, start, before = [match.end() for match in _END.finditer(text)], 0, ""
    for end in (*ends, len(text)):
        piece = text[start:end]
        if len(_WORD.findall(piece)) >= PIECE_WORDS:
            if before:
                yield before
            before, start = piece, end
    yield before + text[start:]


def _language_of(piece: str) -> str:
    letters = [letter for word in _WORD.findall(piece) for letter in word]
    if sum(not is_latin(letter) for letter in letters) > MOST_STRANGE * len(letters):
        return OTHER_SCRIPT
    language, sure = _identifier().classify(piece)
    return READ if language in NEARLY_READ or sure < LEAST_SURE else str(language)


@cache
def is_latin(letter: str) -> bool:
    """Whether a letter is of the Latin script.

    >>> is_latin("ş"), is_latin("Ж"), is_latin("张")
    (True, False, False)
    """
    return letter.isascii() or unicodedata.name(letter, "").startswith(("LATIN", "FEMININE", "MASCULINE"))


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
