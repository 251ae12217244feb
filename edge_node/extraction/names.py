"""Entity names: their normal form, and which strings are no names at all."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from edge_node.extraction.words import DETERMINERS, FURNITURE, GENERAL_NOUNS, QUANTIFIERS, STOP_WORDS, VAGUE_ADJECTIVES
from shared.records import ChunkId
from shared.text.sentences import NUMBER_WORDS, spaced

MAX_WORDS = 8
REMEMBERED = 20_000  # names whose normal form is kept: each is asked for ten times on its way into the graph

_POSSESSIVE = re.compile(r"(?<=\w)['’]s?(?=\s|$)")
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_TURKISH = (("i\u0307", "i"), ("ı", "i"), ("ş", "s"), ("ğ", "g"), ("ç", "c"))
_SEPARATORS = re.compile(r"[\s\-‐-―−_/]+")
_PUNCTUATION = re.compile(r"(?<!\d)[.,](?=\d)|(?<=\d)[.,](?!\d)|(?<!\d)[.,](?!\d)|[^\w\s.,%&+#$€£]")
_ADDRESS = re.compile(r"https?:|www\.|://|@|\w\.(?:com|org|net|edu|gov|html?|jpg|png)\b", re.IGNORECASE)
_THE = re.compile(r"^[Tt]he ")
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

TITLE = "title"  # type of a mention by a document's title or file name: what it names need not stand in any text

_SHORT = r"([A-Z](?=[a-z0-9&-]{0,39}[A-Z])[A-Za-z0-9&-]{1,40}+)"
_IN_BRACKETS = re.compile(rf"(?<=[ \n])\(\s*+{_SHORT}\s*+\)")  # first: to try the words before it at each place takes thirty times as long
_WORDS_BEFORE = re.compile(r"(?<![\w’'-])(?:[\w’'-]++[ \n]++){1,10}\Z")
_MOST_BEFORE = 400  # characters of ten words
_SHORT_LONG = re.compile(rf"\b{_SHORT}\s*+\(([^()]{{6,90}})\)")
_SKIPPED = frozenset({"of", "and", "the", "for", "in", "on", "to", "a", "an", "or", "by", "with"})

WORD = re.compile(r"[^\W_]+")


MOST_WORDS = 2**18  # that are remembered


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
    >>> [is_noise(name) for name in ("World War II", "the US", "Juniper Ward")]
    [False, False, False]
    """
    if _ADDRESS.search(name):
        return True
    return not _is_acronym(name) and _is_noise_key(normalise(name))


def _is_acronym(name: str) -> bool:
    return _THE.sub("", name) in ("US", "IT", "WHO", "U.S.")  # that lower-case to pronouns


@cache
def is_general(key: str) -> bool:
    """True for a general noun, alone or with vague adjectives: "people", "main idea". Two nouns make a name of their own.

    >>> is_general("main idea"), is_general("nerve cell"), is_general("quality office")
    (True, False, False)
    """
    firm = [word for word in map(singular, key.split()) if word not in _VAGUE]
    return all(word in GENERAL_NOUNS for word in firm) and len(firm) <= 1


def is_entity(name: str) -> bool:
    """Whether a name is one of an entity: neither noise nor a general noun.

    >>> [is_entity(name) for name in ("the US", "us", "main idea", "Juniper Ward")]
    [True, False, False, True]
    """
    return bool(normalise(name)) and not is_noise(name) and (_is_acronym(name) or not is_general(normalise(name)))


def acronym_definitions(text: str) -> frozenset[tuple[str, str]]:
    """Return (long key, short key) for each "Gross Domestic Product (GDP)" and "GDP (gross domestic product)" whose initials fit.

    >>> acronym_definitions("The Gross Domestic Product (GDP) rose. It met the board (SEC).")
    frozenset({('gross domestic product', 'gdp')})
    """
    found = set()
    for before, short in (*words_and_acronyms(text), *((match[2], match[1]) for match in _SHORT_LONG.finditer(text))):
        long = _expansion(before.replace("-", " ").split(), [letter for letter in short.removesuffix("s").casefold() if letter.isalpha()])
        if long and (keys := (normalise(long), normalise(short)))[0] != keys[1]:
            found.add(keys)
    return frozenset(found)


def words_and_acronyms(text: str) -> Iterator[tuple[str, str]]:
    """Yield (up to ten words, acronym) for each acronym in brackets behind words."""
    for match in _IN_BRACKETS.finditer(text):
        if words := _WORDS_BEFORE.search(text, max(0, match.start() - _MOST_BEFORE), match.start()):
            yield words[0], match[1]


def _expansion(words: Sequence[str], initials: Sequence[str]) -> str:
    """The last words whose initials are the acronym's letters; small words between them may or may not count."""
    left = list(initials)
    for place in range(len(words) - 1, -1, -1):
        if left and words[place][0].casefold() == left[-1]:
            left.pop()
            if not left:
                return " ".join(words[place:])
        elif words[place].casefold() not in _SKIPPED:
            return ""
    return ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A chunk says that ``short`` stands for ``long``; both are entity keys."""

    chunk_id: ChunkId
    long: str
    short: str


@lru_cache(maxsize=MOST_WORDS)
def _term(word: str) -> str:
    """Empty for a word that carries no meaning."""
    return "" if word in STOP_WORDS else singular(word)


def terms_of(text: str) -> Counter[str]:
    """The terms of a text with their counts; of scripts that write no blanks between words, pairs of neighbouring letters.

    >>> sorted(terms_of("The pumps of a ward: a pump leaks.").items())
    [('leak', 1), ('pump', 2), ('ward', 1)]
    >>> terms_of("İzmir, Işıl") == terms_of("izmir, IŞIL") == terms_of("izmir, isil")
    True
    """
    counts = Counter(map(_term, WORD.findall(spaced(_folded(text)))))
    del counts[""]
    return counts


def _folded(text: str) -> str:
    """Text in small letters, those of Turkish as people type them on other keyboards."""
    small = text.casefold()
    if small.isascii():
        return small
    for letter, plain in _TURKISH:
        small = small.replace(letter, plain)
    return small


def name_pairs_of(text: str) -> set[str]:
    """Neighbouring words that both begin with a capital or a digit, as one term each: most names hold such a pair, and few other texts do.

    >>> sorted(name_pairs_of("The Maristow Pump of Ward 3 leaks. Ann Lee saw it."))
    ['ann lee', 'maristow pump', 'ward 3']
    """
    words = WORD.findall(text)
    parts = [_term(word.casefold()) if word[0].isupper() or word[0].isdigit() else "" for word in words]
    return {f"{first} {second}" for first, second in pairwise(parts) if first and second}
