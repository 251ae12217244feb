"""From a parsed text to entity candidates and relations between them: no model call (design §5, extraction `nlp`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from edge_node.graph.names import is_general, is_noise, normalise
from edge_node.graph.words import QUANTIFIERS, STOP_WORDS, TRANSPARENT_NOUNS

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

Lemma = Callable[["Token"], str]  # of a verb

TYPES = {
    "PERSON": "person", "NORP": "group", "FAC": "place", "ORG": "organization", "GPE": "place", "LOC": "place", "PRODUCT": "product",
    "EVENT": "event", "WORK_OF_ART": "work", "LAW": "law", "LANGUAGE": "language",
}  # fmt: skip
CONCEPT = "concept"
Standing = Literal["name", "phrase", "noun"]

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "oprd", "dative"})
_RELATIVE_TAGS = frozenset({"WDT", "WP"})
_NOUNS = frozenset({"NOUN", "PROPN"})
_NO_LAST_WORD = frozenset({"PUNCT", "SPACE", "ADP", "DET", "CCONJ", "SCONJ", "PRON", "AUX", "PART"})
_NOUN_PREPOSITIONS = frozenset({"of", "in", "for", "between", "on", "from", "to", "with", "at", "by", "against", "near"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name at one place. ``standing``: a proper name is an entity by itself; phrases and common nouns must earn it."""

    key: str
    name: str
    type: str
    standing: Standing
    root: int  # token number of its head


@dataclass(frozen=True, slots=True)
class Triple:
    """Two candidates (by the token number of their heads) and the words that join them."""

    source: int
    target: int
    phrase: str


def find_candidates(doc: Doc, *, heading: bool) -> dict[int, Candidate]:
    """Return the candidates of a parsed text by the token number of their head; named entities go before noun phrases."""
    found: dict[int, Candidate] = {}
    covered: set[int] = set()  # "House of Representatives" holds no second entity "Representatives"
    for span in doc.ents:
        if span.label_ in TYPES and span.root.pos_ in _NOUNS and not span.text.islower():
            _keep(found, _trimmed(span), TYPES[span.label_], heading=heading)
            covered.update(range(span.start, span.end))
    for span in doc.noun_chunks:
        if span.root.pos_ in _NOUNS and span.root.i not in covered:
            _keep(found, _trimmed(span), CONCEPT, heading=heading)
    return found


def _keep(found: dict[int, Candidate], tokens: Sequence[Token], kind: str, *, heading: bool) -> None:
    if not tokens:
        return
    name = "".join(token.text_with_ws for token in tokens).strip()
    key = normalise(name)
    if not key or is_noise(name) or is_general(key):
        return
    head = _head(tokens)
    proper = not heading and (kind != CONCEPT or head.pos_ == "PROPN" or name.isupper())  # headings capitalise all words
    standing: Standing = "name" if proper else "phrase" if " " in key else "noun"
    found.setdefault(head.i, Candidate(key, " ".join(name.split()), kind, standing, head.i))


def _head(tokens: Sequence[Token]) -> Token:
    first, last = tokens[0].i, tokens[-1].i
    for token in reversed(tokens):
        if not first <= token.head.i <= last or token.head.i == token.i:
            return token
    return tokens[-1]


def _trimmed(span: Span) -> Sequence[Token]:
    """Cut what comes before the last inner punctuation, then leading quantifiers, and a trailing possessive."""
    tokens = list(span)
    while tokens and (tokens[-1].pos_ in _NO_LAST_WORD or tokens[-1].tag_ == "POS"):
        tokens.pop()
    for place in range(len(tokens) - 1, -1, -1):
        if (tokens[place].is_punct and tokens[place].text not in "-–'’.") or tokens[place].is_space:
            del tokens[: place + 1]
            break
    while tokens and _cuttable(tokens[0]):
        tokens.pop(0)
    return tokens


def _cuttable(token: Token) -> bool:
    word = token.lower_
    if token.is_punct or token.like_num or token.pos_ in ("DET", "PRON", "ADV", "CCONJ", "SCONJ", "NUM", "PART"):
        return True
    return (word in QUANTIFIERS and token.pos_ != "PROPN") or word in STOP_WORDS


def find_triples(doc: Doc, candidates: Mapping[int, Candidate], lemma: Lemma) -> list[Triple]:
    """Return who does what to whom: subject-verb-object with passives, prepositions, copulas, conjunctions; apposition; noun-of-noun."""
    found: dict[Triple, None] = {}
    for source, target, phrase in _joined(doc, lemma):
        for left in _arguments(source, candidates):
            for right in _arguments(target, candidates):
                if candidates[left].key != candidates[right].key:
                    found.setdefault(Triple(left, right, phrase))
    return list(found)


def _joined(doc: Doc, lemma: Lemma) -> Iterator[tuple[Token, Token, str]]:
    for token in doc:
        dep = token.dep_
        if dep in _SUBJECTS:
            source = _antecedent(token)
            for verb in _verbs(token.head):
                yield from ((source, target, phrase) for target, phrase in _objects(verb, lemma))
        elif dep == "acl" and token.pos_ == "VERB":
            yield from ((token.head, target, phrase) for target, phrase in _objects(token, lemma))
        elif dep == "appos" and token.head.pos_ in _NOUNS:
            yield token.head, token, "is"
        elif dep == "poss" and token.head.pos_ in _NOUNS:
            yield token.head, token, "of"
        elif dep == "pobj" and token.head.head.pos_ in _NOUNS and token.head.lower_ in _NOUN_PREPOSITIONS:
            yield token.head.head, token, token.head.lower_


def _antecedent(subject: Token) -> Token:
    """For the *that* in "the corridor that joins", the noun that the relative clause hangs on."""
    verb = subject.head
    return verb.head if subject.tag_ in _RELATIVE_TAGS and verb.dep_ == "relcl" else subject


def _verbs(verb: Token) -> Iterator[Token]:
    """The verb, and those that share its subject: coordinated ones without a subject, and open complements."""
    yield verb
    for child in verb.children:
        if child.dep_ in ("conj", "xcomp") and child.pos_ in ("VERB", "AUX") and not any(c.dep_ in _SUBJECTS for c in child.children):
            yield from _verbs(child)


def _objects(verb: Token, lemma: Lemma) -> Iterator[tuple[Token, str]]:
    phrase = _verb_phrase(verb, lemma)
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            yield child, phrase
        elif child.dep_ in ("prep", "agent"):
            yield from ((noun, f"{phrase} {child.lower_}") for noun in child.children if noun.dep_ == "pobj")
        elif child.dep_ == "acomp":
            for prep in child.children:
                yield from ((noun, f"{phrase} {child.lower_} {prep.lower_}") for noun in prep.children if noun.dep_ == "pobj")


def _verb_phrase(verb: Token, lemma: Lemma) -> str:
    passive = any(child.dep_ == "auxpass" for child in verb.children) or (verb.dep_ == "acl" and verb.tag_ == "VBN")
    word = verb.lower_ if passive else lemma(verb)
    negation = "not " if any(child.dep_ == "neg" for child in verb.children) else ""
    particle = "".join(f" {child.lower_}" for child in verb.children if child.dep_ == "prt")
    return f"{negation}{'is' if word == 'be' else word}{particle}"


def _arguments(token: Token, candidates: Mapping[int, Candidate]) -> Iterator[int]:
    """The candidates that a word stands for: itself and what is coordinated with it; "a kind of X" stands for X."""
    if token.i in candidates:
        yield token.i
    elif token.lower_.rstrip("s") in TRANSPARENT_NOUNS:
        for prep in token.children:
            if prep.lower_ == "of":
                yield from (found for noun in prep.children if noun.dep_ == "pobj" for found in _arguments(noun, candidates))
    for child in token.children:
        if child.dep_ == "conj" and child.pos_ in _NOUNS:
            yield from _arguments(child, candidates)
