"""German by the Hannover Tagger (Wartena 2019), and rules over its tags: every noun has a capital, so a capital makes no name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from edge_node.extraction.packs.tagged import COPULAS, Piece, Sentence
from edge_node.extraction.packs.words import PackWords, words_of_language
from edge_node.extraction.syntax import CONCEPT
from shared.text.sentences import sentences

MODEL = "morphmodel_ger.pgz"
MOST_WORDS = 150  # of a sentence that the tagger reads at once
LEAST_COMPOUND = 9  # letters of a noun that is a phrase in one word
LONGEST_FIRST_NAME = 11  # letters, as of "Maximiliane"
_WORD = re.compile(r"\w[\w’'-]*(?:(?<=\d)[.,]\d+)*|[^\w\s]")
_PROPER = frozenset({"NE", "FM", "XY"})
_GENITIVE = frozenset({"der", "des"})  # "the pump of the ward"
_BEFORE_NOUNS = ("ADJ", "APPRART", "ART", "CARD", "NN", "PD", "PI", "PP")
_PREDICATES = frozenset({"ADJ", "ADV", "PTKVZ", "VV"})
_DROPPED_ENDINGS = ("s", "n", "en", "es")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence, with the first part of its tag (STTS). ``is_listed``: it is a common noun of the tagger's own lexicon."""

    start: int
    end: int
    text: str
    tag: str
    is_listed: bool = False


class GermanTagger:
    """Implements Tagger with the package HanTa. Raises ImportError where that is not installed."""

    def __init__(self) -> None:
        from HanTa.HanoverTagger import HanoverTagger

        self._tagger: Any = HanoverTagger(MODEL)
        self._nouns = self._tagger.LP_m_t[self._tagger.tag2int["NN"]]
        self._words = words_of_language("de")

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a passage."""
        return [Sentence(start, end, tuple(pieces_of(self._tagged(text, start, end), self._words))) for start, end in sentences(text)]

    def _tagged(self, text: str, start: int, end: int) -> list[Word]:
        found = [(match.start(), match.end(), match.group()) for match in _WORD.finditer(text, start, end)]
        words: list[Word] = []
        for first in range(0, len(found), MOST_WORDS):
            part = found[first : first + MOST_WORDS]
            tags = self._tagger.tag_sent([word for _, _, word in part])
            for place, (_, lemma, tag) in zip(part, tags, strict=True):
                words.append(Word(*place, tag.partition("(")[0], tag == "NN" and lemma.lower() in self._nouns))
        return words


def pieces_of(words: Sequence[Word], lists: PackWords) -> list[Piece]:
    """Names, nouns, verbs and prepositions of a sentence.

    >>> said = [("Frau", "NN"), ("Kohl", "NN"), ("kam", "VV"), ("am", "APPRART"), ("Dienstag", "NN"), ("nach", "APPR"), ("Ulm", "NE")]
    >>> found = pieces_of([Word(n, n + 1, *one) for n, one in enumerate(said)], words_of_language("de"))
    >>> [(piece.start, piece.role, piece.type) for piece in found if piece.type]
    [(1, 'name', 'person'), (6, 'name', 'place')]
    """
    pieces: list[Piece] = []
    row = 0
    while row < len(words):
        end = _name_end(words, row, lists)
        if end > row:
            pieces.append(Piece(words[row].start, words[end - 1].end, "name", _type(words, row, end, lists)))
            row = end
        else:
            pieces.append(Piece(words[row].start, words[row].end, "other") if _is_idle(words, row) else _single(words[row], lists))
            row += 1
    return pieces


def _is_idle(words: Sequence[Word], row: int) -> bool:
    """Whether a form of "sein" only helps an adjective or a participle at the end of its clause: "der Rückruf ist Anna Lee bekannt"."""
    if words[row].text.lower() not in COPULAS:
        return False
    clause = list(takewhile(lambda word: word.text[0].isalnum() and word.tag != "KON", words[row + 1 :]))
    before_noun = takewhile(lambda word: word.tag not in {"NN", "NE"}, clause)
    return bool(clause) and clause[-1].tag in _PREDICATES and not any(word.tag.startswith("APPR") for word in before_noun)


def _name_end(words: Sequence[Word], row: int, lists: PackWords) -> int:
    """Behind the last word of the name that begins with words[row]; row itself: no name begins there."""
    if not _may_name(words[row], lists):
        return row
    titled = _is_titled(words, row, lists)
    of_organization = any(_is(word, lists.organizations) for word in words[row : _run_end(words, row, lists)])
    of_place = _is(words[row], lists.places) and row + 1 < len(words) and _is_proper(words[row + 1], lists)
    is_pair = _is_pair(words, row, lists)
    if not (titled or of_organization or of_place or is_pair or _is_proper(words[row], lists)):
        return row
    if _is(words[row], lists.titles) and (not of_organization or _run_end(words, row, lists) > row + 2):
        return row
    end = row + 1
    while end < len(words) and _may_name(words[end], lists):
        goes_on = titled or of_organization or is_pair or _is_proper(words[end], lists) or not _is_object(words, row)
        if not goes_on or _is(words[end], lists.titles):
            break
        end += 1
    return row if of_organization and end == row + 1 and _is(words[row], lists.organizations) else end


def _run_end(words: Sequence[Word], row: int, lists: PackWords) -> int:
    end = row
    while end < len(words) and _may_name(words[end], lists):
        end += 1
    return end


def _may_name(word: Word, lists: PackWords) -> bool:
    return word.text[0].isupper() and word.tag in {"NN", *_PROPER} and not is_dropped(word.text, lists)


def _is_proper(word: Word, lists: PackWords) -> bool:
    return word.tag in _PROPER and _may_name(word, lists) and not _is(word, lists.titles)


def _is_pair(words: Sequence[Word], row: int, lists: PackWords) -> bool:
    """Two nouns side by side without an article, adjective or number before them are a name whose parts the tagger does not know.

    Of a noun that it knows a name is none: "Hausmeister Anna Lee".
    """
    alone = row == 0 or not words[row - 1].tag.startswith(_BEFORE_NOUNS)
    return alone and not _is_common(words[row]) and _run_end(words, row, lists) - row in (2, 3)


def _is_common(word: Word) -> bool:
    """Whether a noun is no first name: the tagger lists it, or it is a long compound."""
    return word.is_listed or (len(word.text) > LONGEST_FIRST_NAME and "-" not in word.text)


def _is_object(words: Sequence[Word], row: int) -> bool:
    """Behind a verb or a number a noun stands by itself: "lieferte Novabell Kartons"."""
    return row > 0 and words[row - 1].tag[:1] in ("V", "C")


def _is_titled(words: Sequence[Word], row: int, lists: PackWords) -> bool:
    before = [word for word in words[max(0, row - 2) : row] if word.text != "."]
    return bool(before) and _is(before[-1], lists.titles)


def _is(word: Word, listed: frozenset[str]) -> bool:
    return word.text.lower() in listed


def _type(words: Sequence[Word], row: int, end: int, lists: PackWords) -> str:
    name = words[row:end]
    if any(_is(word, lists.organizations) for word in name):
        return "organization"
    if any(_is(word, lists.places) for word in name):
        return "place"
    if any(map(str.isdigit, "".join(word.text for word in name))):
        return CONCEPT
    if _is_titled(words, row, lists):
        return "person"
    if row and words[row - 1].text.lower() in lists.where:
        return "place"
    return "person" if 1 < len(name) < 5 and all(word.text[-1].islower() for word in name) else CONCEPT


def is_dropped(word: str, lists: PackWords) -> bool:
    """Whether a noun is no entity: a time, a measure or a word that names nothing, also in another case of its own.

    >>> lists = words_of_language("de")
    >>> is_dropped("Dienstags", lists), is_dropped("Jahren", lists), is_dropped("Insulin", lists)
    (True, True, False)
    """
    small = word.lower()
    return small in lists.dropped or any(small.removesuffix(ending) in lists.dropped for ending in _DROPPED_ENDINGS)


def _single(word: Word, lists: PackWords) -> Piece:
    if word.tag == "NN" and word.text[0].isupper() and not is_dropped(word.text, lists) and not _is(word, lists.titles):
        return Piece(word.start, word.end, "phrase" if len(word.text) >= LEAST_COMPOUND else "noun", CONCEPT)
    joins = word.tag.startswith("APPR") or (word.tag == "ART" and word.text in _GENITIVE)
    return Piece(word.start, word.end, "verb" if word.tag[:1] == "V" else "joint" if joins else "other")
