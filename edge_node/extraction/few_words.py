"""The language of a text of few words, as a sheet, a short mail or a list: by its words, each counted once, and by the site's others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

from edge_node.extraction.packs.table import PACKS
from edge_node.extraction.packs.words import WITH_LISTS, words_of_language
from edge_node.extraction.parsing import column_names
from edge_node.extraction.words import GENERAL_NOUNS, STOP_WORDS
from shared.text.language import CHINESE, OTHER_SCRIPT, READ, language_of, likelihoods
from shared.text.sentences import NUMBER_WORDS

Usual = Callable[[], str]  # the language of most of a site's passages; "": there is none
ENOUGH_WORDS = 16  # different ones, from which on the pieces of a text tell its language
LONGEST_UNIT = 2  # letters of "mg" and other words that are the same everywhere
OWN_WORD = 2.0  # logarithm of the odds that a word gives which only one language has in its list
OWN_LETTER = 1.0  # of one of these letters, however often it stands there: names have them too
OWN_LETTERS = {"de": "äöüß", "es": "ñ", "fr": "çèêœù"}
KNOWN = 1.0  # of a language that a pack reads
FOR_ENGLISH = 1.0  # where no language is usual: most names of short texts, as "Juniper Ward", look like another one
SURELY_ENGLISH = 5.0  # the same where it decides what leaves: of 2,719 English notes as many stay as without this module
AT_HOME = 1.5  # of the language of most of a site's passages
_HEADS = re.compile(r"^(?:From|To|Cc): .*$|^Date: \w{3}, \d.*$", re.MULTILINE)  # of a mail, as its reader writes them
_ADDRESS = re.compile(r"(?<!\S)[^\s@]{1,80}@\S+|https?://\S+")
_WORD = re.compile(r"[^\W\d_]{2,}")


def nowhere() -> str:
    """A ``Usual`` of a site of which nothing is known."""
    return ""


def without_heads(text: str) -> str:
    """A text without the heads of a mail but its subject, and without addresses: they are English, or in no language."""
    return _ADDRESS.sub("", _HEADS.sub("", text))


def words_of(text: str) -> list[str]:
    r"""The different words of a text in lower case; of a row of a table the names of its columns, and the small words of its cells.

    >>> words_of("Pumpe: P-7; Hersteller: Anna Schulz; Bemerkung: wird ersetzt.\nPumpe: P-9; Hersteller: Nordmed; Bemerkung: neu.")
    ['pumpe', 'hersteller', 'bemerkung', 'wird', 'ersetzt', 'neu']
    """
    found: dict[str, None] = {}
    for line in text.splitlines():
        columns = column_names(line)
        for match in _WORD.finditer(line):
            is_said = not columns or match[0].islower() or any(match.start() in column for column in columns)
            found |= {match[0].lower(): None} if is_said else {}
    return list(found)


def said_in(text: str, usual: Usual = nowhere, *, for_english: float = FOR_ENGLISH) -> str:
    """The language of a text: the likeliest of its words, where a word that only one language lists and a known language count more.

    A text without words is in the site's ``usual`` language, or counts as English.

    >>> said_in("Pumpe: P-7; Charge: L-22; Rückruf am: 2024-03-02."), said_in("Ward: Birke; Pumps: 7; Checked on: 2024-03-02.")
    ('de', 'en')
    >>> said_in("P-7; L-22"), said_in("P-7; L-22", lambda: "de")
    ('en', 'de')
    """
    found = words_of(text) or [match[0].lower() for match in _WORD.finditer(text)]
    words = [word for word in found if len(word) > LONGEST_UNIT or _owners().get(word)]
    if (script := language_of(text)) in (CHINESE, OTHER_SCRIPT):
        return script
    home = usual()
    if not words:
        return home or READ
    scores = {language: math.log(max(odds, 1e-30)) for language, odds in likelihoods(" ".join(words)).items()}
    for language, number in Counter(filter(None, map(_owners().get, words))).items():
        scores[language] += OWN_WORD * number
    for language, letters in OWN_LETTERS.items():
        scores[language] += OWN_LETTER * any(letter in letters for word in words for letter in word)
    scores = {language: score + KNOWN * (language in PACKS) + AT_HOME * (language == home) for language, score in scores.items()}
    scores[READ] += 0.0 if home else for_english
    return max(sorted(scores), key=scores.__getitem__)


@cache
def _owners() -> Mapping[str, str]:
    """By word the one language in whose list it stands; "": it stands in several."""
    found: dict[str, str] = dict.fromkeys(STOP_WORDS | NUMBER_WORDS, READ)
    for language in sorted(WITH_LISTS):
        lists = words_of_language(language)
        for word in lists.stop | lists.dropped | lists.titles | lists.organizations | lists.where:
            found[word] = "" if word in found or word in GENERAL_NOUNS else language
    return found
