"""Entity names: their normal form, and which strings are no names at all."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from edge_node.graph.words import DETERMINERS, FURNITURE, GENERAL_NOUNS, QUANTIFIERS, STOP_WORDS, VAGUE_ADJECTIVES
from shared.sentences import NUMBER_WORDS

MAX_WORDS = 8
REMEMBERED = 20_000  # names whose normal form is kept: each is asked for ten times on its way into the graph

_POSSESSIVE = re.compile(r"(?<=\w)['’]s?(?=\s|$)")
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_SEPARATORS = re.compile(r"[\s\-‐-―−_/]+")
_PUNCTUATION = re.compile(r"(?<!\d)[.,](?=\d)|(?<=\d)[.,](?!\d)|(?<!\d)[.,](?!\d)|[^\w\s.,%&+#$€£]")
_ADDRESS = re.compile(r"https?:|www\.|://|@|\w\.(?:com|org|net|edu|gov|html?|jpg|png)\b", re.IGNORECASE)
_NUMBER = re.compile(r"[$€£]?\d[\d.,:]*(?:st|nd|rd|th|s|%|bn|m|k)?|%|[ivx]{2,4}")
_FURNITURE = re.compile(
    r"(?:figure|fig|table|chapter|section|equation|eq|box|page|part|appendix|exercise|example|step|unit|module|lesson|question|panel|row"
    r"|column|item|note|line|exhibit|link|credit)s?(?: (?:[\d.,]+[a-z]?|[a-z]|[ivxlc]+))?"
)
_IRREGULAR = {
    "alveoli": "alveolus", "analyses": "analysis", "bronchi": "bronchus", "children": "child", "crises": "crisis", "criteria": "criterion",
    "feet": "foot", "fungi": "fungus", "geese": "goose", "ganglia": "ganglion", "hypotheses": "hypothesis", "men": "man", "mice": "mouse",
    "mitochondria": "mitochondrion", "nuclei": "nucleus", "phenomena": "phenomenon", "stimuli": "stimulus", "teeth": "tooth",
    "women": "woman", "bacteria": "bacterium", "glomeruli": "glomerulus", "lives": "life", "theses": "thesis", "diagnoses": "diagnosis",
}  # fmt: skip
_VAGUE = VAGUE_ADJECTIVES | QUANTIFIERS | STOP_WORDS | NUMBER_WORDS
_SAME_IN_PLURAL = frozenset(
    {"news", "series", "species", "means", "diabetes", "bias", "atlas", "lens", "canvas", "texas", "kansas", "arkansas"}
)


def singular(word: str) -> str:
    """Return the singular of a lower-case English noun; a word that follows no sure rule stays.

    >>> [singular(word) for word in ("batteries", "viruses", "arteries", "axes", "glass", "economics", "nuclei")]
    ['battery', 'virus', 'artery', 'axe', 'glass', 'economics', 'nucleus']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or word in _SAME_IN_PLURAL or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")) and len(word) > 4:
        return word[:-2]
    if len(word) > 5 and word.endswith("uses") and word[-5] not in "aoef":
        return word[:-2]
    if word.endswith("ae") and len(word) > 5:
        return word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ics")):
        return word[:-1]
    return word


@lru_cache(maxsize=REMEMBERED)
def normalise(name: str) -> str:
    """Return an entity's key: equal for spellings of one name, "" when nothing is left (DGRAG §III-B ①).

    Case, accents' encoding, quotes, possessives, punctuation, hyphens, leading determiners and the head noun's plural
    make no difference. Applying it twice changes nothing.

    >>> normalise("The  Infusion-Pumps"), normalise("the body’s cells"), normalise("U.S. Congress"), normalise("“The”")
    ('infusion pump', 'body cell', 'us congress', '')
    """
    key = _INITIALS.sub(lambda match: match[0].replace(".", ""), unicodedata.normalize("NFKC", name).casefold())
    key = _PUNCTUATION.sub(" ", _POSSESSIVE.sub("", _SEPARATORS.sub(" ", key)))
    words = unicodedata.normalize("NFKC", key).split()
    first = 0
    while first < len(words):
        if words[first] in DETERMINERS:
            first += 1
        elif (head := singular(words[-1])) != words[-1]:
            words[-1] = head
        else:
            break
    return " ".join(words[first:])


@cache
def _is_noise_key(key: str) -> bool:
    words = key.split()
    if len(key) < 2 or len(words) > MAX_WORDS or not any(character.isalpha() for character in key):
        return True
    if key in FURNITURE or _FURNITURE.fullmatch(key):
        return True
    if all(word in STOP_WORDS for word in words) or words[-1] == "al":  # "Mauss et al." is a citation
        return True
    singles = [singular(word) for word in words]
    return all(word in NUMBER_WORDS or word in STOP_WORDS or _NUMBER.fullmatch(word) for word in singles)


def is_noise(name: str) -> bool:
    """True for what no index of a book would list: pronouns, numbers, dates, page furniture, addresses, single letters.

    >>> [is_noise(name) for name in ("they", "42 %", "March 2024", "Figure 3.2", "x", "www.example.org")]
    [True, True, True, True, True, True]
    >>> [is_noise(name) for name in ("World War II", "US", "Juniper Ward")]
    [False, False, False]
    """
    if _ADDRESS.search(name):
        return True
    if name in ("US", "IT", "WHO", "U.S."):  # acronyms that lower-case to pronouns
        return False
    return _is_noise_key(normalise(name))


@cache
def is_general(key: str) -> bool:
    """True for a general noun, alone or with vague adjectives: "people", "main idea". Two nouns make a name of their own.

    >>> is_general("main idea"), is_general("nerve cell"), is_general("quality office")
    (True, False, False)
    """
    firm = [word for word in map(singular, key.split()) if word not in _VAGUE]
    return all(word in GENERAL_NOUNS for word in firm) and len(firm) <= 1
