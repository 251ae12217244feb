"""Spanish by rules alone: a run of capitalised words is a name, a noun behind an article is a thing.

spaCy's Spanish model is under the GPL and of another release in the registry, so it is not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from edge_node.extraction.packs.tagged import Piece, Role, Sentence
from edge_node.extraction.packs.words import PackWords, words_of_language
from edge_node.extraction.syntax import CONCEPT
from shared.text.sentences import sentences

LINKS = frozenset({"de", "del", "la", "las", "los", "y"})  # inside a name: "Juan de la Cruz"
NAMING = frozenset({"de", "del", "la", "las", "los"})
ARTICLES = frozenset({"el", "la", "los", "las", "un", "una", "unos", "unas", "del", "al", "su", "sus"})
JOINTS = frozenset({"a", "al", "con", "contra", "de", "del", "desde", "en", "entre", "hacia", "hasta", "para", "por", "sobre", "tras"})
_WORD = re.compile(r"\w[\w’'-]*(?:\.\w+)*|[^\w\s]")
_ENDINGS = re.compile(r"\w+(?:ó|aron|ieron|aba|aban|ía|ían|ado|ada|ados|adas|ido|ida|idos|idas|ará|erá|irá|rán)")  # of most verbs in texts


class SpanishTagger:
    """Implements Tagger; needs nothing that is to be installed."""

    def __init__(self) -> None:
        self._words = words_of_language("es")

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a passage."""
        return [Sentence(start, end, tuple(pieces_of(text, start, end, self._words))) for start, end in sentences(text)]


Words = Sequence[tuple[int, int, str]]


def pieces_of(text: str, start: int, end: int, lists: PackWords) -> list[Piece]:
    """Names, things, verbs and prepositions of a sentence.

    >>> text = "La enfermera Ana Ruiz cambió la bomba de infusión en Sevilla."
    >>> found = pieces_of(text, 0, len(text), words_of_language("es"))
    >>> [(text[piece.start : piece.end], piece.type) for piece in found if piece.type]
    [('Ana Ruiz', 'person'), ('bomba de infusión', 'concept'), ('Sevilla', 'place')]
    """
    words = [(match.start(), match.end(), match.group()) for match in _WORD.finditer(text, start, end)]
    pieces: list[Piece] = []
    row = 0
    while row < len(words):
        behind = _name_end(words, row, lists)
        if behind > row:
            pieces.append(Piece(words[row][0], words[behind - 1][1], "name", _type(words, row, behind, lists)))
        elif (behind := _thing_end(words, row, lists)) > row:
            pieces.append(Piece(words[row][0], words[behind - 1][1], "phrase" if behind > row + 1 else "noun", CONCEPT))
        else:
            behind = row + 1
            pieces.append(Piece(words[row][0], words[row][1], _role(words, row, lists)))
        row = behind
    return pieces


def _role(words: Words, row: int, lists: PackWords) -> Role:
    """Between names a word with a meaning of its own says how they are related, most often as their verb."""
    return "joint" if words[row][2].lower() in JOINTS else "verb" if _is_common(words, row, lists) else "other"


def _is_capital(words: Words, row: int, lists: PackWords) -> bool:
    word = words[row][2]
    small = word.lower()
    if not word[0].isupper() or small in lists.dropped or small in lists.titles:
        return False
    return small not in lists.stop or (row > 0 and word.isupper() and len(word) > 1)


def _name_end(words: Words, row: int, lists: PackWords) -> int:
    """Behind the name that begins here; a single word that opens a sentence is none unless it is a code or all capitals."""
    if not _is_capital(words, row, lists):
        return row
    end = row + 1
    while end < len(words):
        links = 0
        while end + links < len(words) and words[end + links][2] in NAMING and links < 2:
            links += 1
        if end + links >= len(words) or not _is_capital(words, end + links, lists):
            break
        end += links + 1
    word = words[row][2]
    opens = row == 0 or words[row - 1][2] in '¿¡"«“:'
    if end == row + 1 and opens and not any(map(str.isdigit, word)) and not word.isupper() and _may_be_common(words, end):
        return row
    return end


def _may_be_common(words: Words, end: int) -> bool:
    """Whether what follows the first word of a sentence shows no verb: then its capital tells nothing."""
    return end >= len(words) or not (_ENDINGS.fullmatch(words[end][2]) or words[end][2] in ("es", "fue", "entrega", "suministra", "tiene"))


def _thing_end(words: Words, row: int, lists: PackWords) -> int:
    """Behind the thing that begins here: a word behind an article, with "de" and a word more."""
    if row == 0 or words[row - 1][2].lower() not in ARTICLES or not _is_common(words, row, lists):
        return row
    follows = row + 2 < len(words) and words[row + 1][2] == "de" and _is_common(words, row + 2, lists)
    return row + 3 if follows else row + 1


def _is_common(words: Words, row: int, lists: PackWords) -> bool:
    word = words[row][2]
    return word.islower() and len(word) > 3 and word not in lists.stop | lists.dropped | lists.titles


def _type(words: Words, row: int, end: int, lists: PackWords) -> str:
    name = [word.lower().rstrip(".") for _, _, word in words[row:end]]
    before = next((word.lower() for _, _, word in reversed(words[max(0, row - 2) : row]) if word != "."), "")
    if not lists.organizations.isdisjoint(name):
        return "organization"
    if any(map(str.isdigit, "".join(name))):
        return CONCEPT
    if not lists.places.isdisjoint((*name, before)):
        return "place"
    if before in lists.titles:
        return "person"
    if before in lists.where:
        return "place"
    proper = [word for word in name if word not in LINKS]
    return "person" if 1 < len(proper) < 5 else CONCEPT
