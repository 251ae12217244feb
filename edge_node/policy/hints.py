"""The text of a hint: known names exchanged, digits blotted out, and nothing left that could be a name nobody found (goals P3, P5)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from edge_node.extraction.names import normalise
from edge_node.extraction.words import DETERMINERS, GENERAL_NOUNS, STOP_WORDS
from edge_node.policy.redaction import MASK
from edge_node.policy.rules import NAME_KINDS, Level, NameKind
from edge_node.policy.surrogates import ReleasedName, key_of
from shared.records import DocumentId, EntityMention, document_of
from shared.text.sentences import NUMBER_WORDS

Draw = Callable[[str, NameKind], ReleasedName | None]  # of a name and its kind; None: it may not be drawn

LONGEST = 12  # words of a name
_TOKEN = re.compile(r"[^\s?!,;:\"“”()\[\]]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"@|://|\bwww\.")
_MASKED = re.compile(rf"(?:\[\w+\])?{MASK}+")
_PLAIN = re.compile(r"[\w\s.,;:'\"!?&()-]*")  # no digit or mask that was blotted out
_OPENING = DETERMINERS | frozenset(  # words of which a question's first one says nothing by its capital
    """
    after are at before by did do does during for from had has have how if in into is of on to under was were when where while who whom with
    """.split()  # noqa: SIM905 - a list would be a page long
)
_COMMON = (STOP_WORDS | GENERAL_NOUNS) - NUMBER_WORDS


@dataclass(frozen=True, slots=True)
class Known:
    """A name that a site knows: the kind of thing it mostly is, and how many documents tell of it that may be told of."""

    kind: str
    support: int


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text. key: of the known name that it is; "": none."""

    text: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a site knows, by ``key_of``; ``openings``: their first words."""

    known: Mapping[str, Known]
    openings: frozenset[str]

    @classmethod
    def of(cls, mentions: Iterable[EntityMention], levels: Mapping[DocumentId, Level]) -> Names:
        """All spellings, each by itself. levels: what may be told of each document; of one that is missing: nothing."""
        kinds, documents = defaultdict[str, Counter[str]](Counter), defaultdict[str, set[DocumentId]](set)
        for mention in mentions:
            key, document = key_of(mention.name), document_of(mention.chunk_id)
            kinds[key][mention.type.lower()] += 1
            if levels.get(document, Level.NEVER) >= Level.SUMMARY:
                documents[key].add(document)
        known = {key: Known(_mostly(counts), len(documents[key])) for key, counts in kinds.items() if key}
        return cls(known, frozenset(_stem(key.split()[0]) for key in known))

    def pieces(self, text: str) -> list[TextPart]:
        """The text cut at the known names in it, the longest where one is in another; a possessive's ending is no part of a name.

        >>> names = Names({"ann lee": Known("person", 1)}, frozenset({"ann"}))
        >>> [piece.text for piece in names.pieces("What did Ann Lee's ward buy?")]
        ['What did ', 'Ann Lee', "'s ward buy?"]
        """
        places = [match.span() for match in _TOKEN.finditer(text)]
        stems = [_stem(text[start:end]) for start, end in places]
        found, row, done = list[TextPart](), 0, 0
        while row < len(places):
            past, key = self._longest(text, places, stems, row)
            if key:
                start, end = places[row][0], _without_ending(text, places[past - 1][1])
                found += [TextPart(text[done:start]), TextPart(text[start:end], key)]
                done = end
            row = past
        return [piece for piece in (*found, TextPart(text[done:])) if piece.text]

    def _longest(self, text: str, places: Sequence[tuple[int, int]], stems: Sequence[str], row: int) -> tuple[int, str]:
        """The token behind the longest name that begins with a token, and its key; else the next token, and ""."""
        opening = next((stem for stem in stems[row : row + LONGEST] if stem), "")  # determiners before it are part of the name
        if opening in self.openings:
            for past in range(min(len(places), row + LONGEST), row, -1):
                written = text[places[row][0] : places[past - 1][1]]
                key = key_of(written)
                if key in self.known and not _is_stop_word(written):
                    return past, key
        return row + 1, ""


def shortened(masked: str) -> str:
    """The text with each mask as one character: how long the masked thing was is told to nobody.

    >>> shortened("Who is [name]███?")
    'Who is █?'
    """
    return _MASKED.sub(MASK, masked)


def exchanged(
    pieces: Iterable[TextPart], names: Names, kinds: Collection[NameKind], draw: Draw
) -> tuple[list[TextPart], list[ReleasedName]] | None:
    """The pieces with surrogates for names of these kinds, and without digits elsewhere; None: a name may not be drawn.

    Only surrogates have a key in the result: that of the ledger.
    """
    told, drawn = list[TextPart](), list[ReleasedName]()
    for piece in pieces:
        kind = next((kind for kind in kinds if piece.key and kind == names.known[piece.key].kind), None)
        if kind is None:
            told.append(TextPart("".join("#" if character.isnumeric() else character for character in piece.text)))
            continue
        name = draw(piece.text, kind)
        if name is None:
            return None
        drawn.append(name)
        told.append(TextPart(name.surrogate, name.name_key))
    return told, drawn


def could_name(pieces: Sequence[TextPart]) -> bool:
    """Whether anything outside the pieces with a key could be a name or an address: a letter that is no small one.

    The first word of all is let through if it is one that begins questions. Letters without case could be anything.

    >>> [could_name([TextPart(text)]) for text in ("Who built the mill?", "Orrin built what?", "Who is iBo?", "mail a@b?")]
    [False, True, True, True]
    """
    for row, piece in enumerate(pieces):
        if piece.key:
            continue
        words = _LETTERS.findall(piece.text)
        if row == 0 and words and words[0].istitle() and words[0].casefold() in _OPENING:
            words = words[1:]
        if _ADDRESS.search(piece.text) or not all(unicodedata.category(letter) == "Ll" for word in words for letter in word):
            return True
    return False


def is_telling_nothing(pieces: Sequence[TextPart]) -> bool:
    """Whether all outside the pieces with a key are common words: what an answer must be to stand in a hint.

    >>> [is_telling_nothing([TextPart("the "), TextPart("Ann Lee", "k"), TextPart(text)]) for text in (" group", " cholera", " of ####")]
    [True, False, False]
    """
    rest = [piece.text for piece in pieces if not piece.key]
    return all(_PLAIN.fullmatch(text) and all(word in _COMMON for word in _LETTERS.findall(text)) for text in rest)


def _mostly(counts: Counter[str]) -> str:
    """The most frequent kind; of several those that can be exchanged first, by the alphabet."""
    return min(counts, key=lambda kind: (-counts[kind], kind not in NAME_KINDS, kind))


def _stem(word: str) -> str:
    return normalise(word).partition(" ")[0]


def _is_stop_word(written: str) -> bool:
    """True for "Who", which is no name, as "WHO" and "US" are."""
    return written.casefold() in STOP_WORDS and (written.islower() or written.istitle())


def _without_ending(text: str, end: int) -> int:
    while text[end - 1] in ".'’":
        end -= 1
    return end - 2 if text[:end].endswith(("'s", "’s")) else end
