"""From tagged pieces of sentences to a reading: what all packs but the English one share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

from edge_node.extraction.names import is_entity, normalise
from edge_node.extraction.parsing import Passage, Reading, column_names, shortened
from edge_node.extraction.syntax import CONCEPT, NameCandidate, Standing, Triple

VERB, JOINT, OTHER = "verb", "joint", "other"
Role = Literal["name", "phrase", "noun", "verb", "joint", "other"]
MOST_PHRASE = 6  # pieces of the words that join two names
MOST_APART = 12  # pieces between two names that a sentence relates
MOST_BEFORE = 4  # pieces between a preposition and its noun, itself included
GENITIVE = "的"  # stands before the head of a phrase, not behind it
GENITIVES = frozenset({"der", "des", "de", "del", "du", "d'", "d’"})  # they join a noun to another one, not to a verb
COPULAS = frozenset({"ist", "sind", "war", "waren", "est", "sont", "était", "étaient", "es", "son", "era", "eran", "fue", "是"})
NEGATIONS = frozenset({"nicht", "kein", "keine", "keinen", "nie", "pas", "jamais", "no", "nunca"})
LINKS = frozenset({"und", "oder", "sowie", "et", "ou", "y", "e", "o", "和", "与"})
ENDS = frozenset(":;|–—：；")  # of a label or a clause
_BROKEN = re.compile(r"(?<=[^\W\d_][^\W\d_])- (?=[A-ZÄÖÜÉ])")  # a name with a hyphen at the end of a line


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters [start, end) of a passage: a word, a name or a noun phrase.

    ``role``: what stands as an entity by itself ("name"), must earn it ("phrase", "noun"), or joins them. ``type``: of an entity.
    """

    start: int
    end: int
    role: Role
    type: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters [start, end) of a passage, with its pieces in their order."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


class Tagger(Protocol):
    """Knows one language. Made without arguments; raises ImportError where the library or the weights are not installed."""

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a passage."""


class TaggedReader:
    """Reads passages of one language by its tagger. It finds names, phrases and who is named with whom; facts it does not find."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger

    def read(self, passages: Sequence[Passage], *, with_facts: bool) -> list[Reading]:  # noqa: ARG002 - the port's
        """One reading for each passage, in their order."""
        return [self._read(passage) for passage in passages]

    def _read(self, passage: Passage) -> Reading:
        text = passage.text if passage.cells else _BROKEN.sub("-", passage.text)
        told = self._tagger.sentences(text)
        said = reading_of(text, told, heading=passage.is_heading)
        starts = [piece.start for sentence in told for piece in sentence.pieces]
        return said.in_cells(passage, {number: starts[number] for number in said.candidates})

    def phrases(self, question: str) -> list[str]:
        """The names and noun phrases of a question, in its order."""
        found = reading_of(question, self._tagger.sentences(question), heading=False).candidates
        return list(dict.fromkeys(candidate.name for _, candidate in sorted(found.items())))


def reading_of(text: str, sentences: Sequence[Sentence], *, heading: bool) -> Reading:
    """What a passage says: its candidates by the number of their piece, and who is joined to whom within a sentence.

    >>> said = [Sentence(0, 14, (Piece(0, 4, "name", "person"), Piece(5, 10, "verb"), Piece(11, 13, "name", "place")))]
    >>> found = reading_of("Anna kennt Ulm", [Sentence(0, 14, (*said[0].pieces[:2], Piece(11, 14, "name", "place")))], heading=False)
    >>> [(one.name, one.type) for one in found.candidates.values()], found.triples
    ([('Anna', 'person'), ('Ulm', 'place')], [Triple(source=0, target=2, phrase='kennt')])
    """
    columns = column_names(text)
    candidates: dict[int, NameCandidate] = {}
    told: dict[int, str] = {}
    triples: list[Triple] = []
    first = 0
    for sentence in sentences:
        here = {first + row: one for row, one in _candidates(text, sentence, heading=heading) if not _within(one[0], columns)}
        candidates |= {row: NameCandidate(normalise(name), name, kind, standing, row) for row, (_, name, kind, standing) in here.items()}
        told |= dict.fromkeys(here, shortened(text[sentence.start : sentence.end]))
        if not heading:
            triples += _triples(text, sentence.pieces, first, {row: candidates[row] for row in here})
        first += len(sentence.pieces)
    return Reading(candidates, triples, told, [])


def _within(place: int, columns: Sequence[range]) -> bool:
    return any(place in column for column in columns)


def _candidates(text: str, sentence: Sentence, *, heading: bool) -> Iterator[tuple[int, tuple[int, str, str, Standing]]]:
    for row, piece in enumerate(sentence.pieces):
        name = " ".join(text[piece.start : piece.end].split())
        if piece.role in ("name", "phrase", "noun") and is_entity(name):
            is_phrase = piece.role == "phrase" or (heading and piece.type == CONCEPT)
            standing: Standing = "noun" if piece.role == "noun" else "phrase" if is_phrase else "name"
            yield row, (piece.start, name, piece.type, standing)


def _triples(text: str, pieces: Sequence[Piece], first: int, found: Mapping[int, NameCandidate]) -> Iterator[Triple]:
    """Neighbours that a verb or a preposition joins; neighbours alone are related by nothing that is said.

    A verb tells of the head of a phrase, not of the last noun in it ("the pump of the ward"). What stands behind a preposition and
    before the verb is no subject ("für den Rückruf ist Anna Lee zuständig"): then the noun behind the verb is.
    """
    heads: dict[int, int] = {}
    for source, target in pairwise(sorted(found)):
        between = pieces[source - first + 1 : target - first]
        said = [(text[piece.start : piece.end].lower(), piece.role) for piece in between]
        words = [word for word, role in said if role in (VERB, JOINT) or word in NEGATIONS][:MOST_PHRASE]
        if not words or len(said) > MOST_APART or not ENDS.isdisjoint(word for word, _ in said):
            continue
        subject, is_one_clause = heads.get(source, source), all(word[:1].isalnum() and word not in LINKS for word, _ in said)
        phrase, before = " ".join(words), _preposition(text, pieces, subject - first)
        if all(role != VERB for _, role in said):
            heads |= {target: subject} if is_one_clause and GENITIVE not in words else {}
            subject, before = source, ""
        elif COPULAS.issuperset(words) and (not is_one_clause or before in GENITIVES):
            continue
        left, right = (target, subject) if before and before not in GENITIVES else (subject, target)
        if found[left].key != found[right].key:
            yield Triple(left, right, phrase if left == subject else f"{phrase} {before}")


def _preposition(text: str, pieces: Sequence[Piece], row: int) -> str:
    """The preposition that a noun stands behind, with no more than articles and adjectives between them; "": there is none."""
    for piece in reversed(pieces[max(0, row - MOST_BEFORE) : row]):
        word = text[piece.start : piece.end].lower()
        if piece.role == JOINT:
            return "" if word == GENITIVE else word
        if piece.role != OTHER or not word[:1].isalnum() or word in LINKS:
            return ""
    return ""
