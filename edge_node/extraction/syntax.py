"""From a parsed text to entity candidates and relations between them: no model call (design §5, extraction `nlp`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from edge_node.extraction.names import is_entity, normalise
from edge_node.extraction.words import QUANTIFIERS, STOP_WORDS, TRANSPARENT_NOUNS

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token


if TYPE_CHECKING:
    from spacy.tokens import Token


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

MAX_WORDS = 18

_MAY_BE_ASIDES = frozenset({"relcl", "acl", "appos"})
_ASIDES = frozenset({"advcl", "parataxis", "dep", "npadvmod"})
_ASIDES_AND_CLAUSES = _ASIDES | _MAY_BE_ASIDES
_ALL_BUT_OF = _ASIDES_AND_CLAUSES | {"prep"}
_POINTING = frozenset({"PRP", "PRP$", "EX"})  # to something outside the phrase
_RELATIVE = frozenset({"WP", "WP$", "WDT", "WRB"})  # point into it, unless it begins with them
_POINTING_WORDS = frozenset(
    """
    another any best current earlier each either every final first following former he here her his it its key last later latest latter main
    major neither new next no only other others overall own previous recent remaining same second she such that their there these third this
    those whole
    """.split()  # noqa: SIM905 - a list would be a page long
)
# "the video game" is the one before; what it is called stands in another sentence
_NAMED_ELSEWHERE = frozenset(
    """
    agreement album area article attack author band book building business campaign case chain chart city club company country couple court
    crew deal diagram district election event example exchange family figure film firm game government graph group house image investment
    island king law league magazine man market match method model movie name newspaper novel office official organization park party picture
    plan player police president press program project race report result road role room school season series show side site song state
    station store story study system table team title town village war way woman year
    """.split()  # noqa: SIM905 - a list would be a page long
)
_QUOTES = {'"': '"', "“": "”", "‘": "’"}


@dataclass(frozen=True, slots=True)
class NameCandidate:
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


def find_candidates(doc: Doc, *, heading: bool) -> dict[int, NameCandidate]:
    """Return the candidates of a parsed text by the token number of their head; named entities go before noun phrases."""
    found: dict[int, NameCandidate] = {}
    covered: set[int] = set()  # "House of Representatives" holds no second entity "Representatives"
    for span in doc.ents:
        if span.label_ in TYPES and span.root.pos_ in _NOUNS and not span.text.islower():
            _keep(found, _trimmed(span), TYPES[span.label_], heading=heading)
            covered.update(range(span.start, span.end))
    for span in doc.noun_chunks:
        if span.root.pos_ in _NOUNS and span.root.i not in covered:
            _keep(found, _trimmed(span), CONCEPT, heading=heading)
    return found


def _keep(found: dict[int, NameCandidate], tokens: Sequence[Token], kind: str, *, heading: bool) -> None:
    if not tokens:
        return
    name = "".join(token.text_with_ws for token in tokens).strip()
    if not is_entity(name):
        return
    key = normalise(name)
    head = _head(tokens)
    proper = not heading and (kind != CONCEPT or head.pos_ == "PROPN" or name.isupper())  # headings capitalise all words
    standing: Standing = "name" if proper else "phrase" if " " in key else "noun"
    found.setdefault(head.i, NameCandidate(key, " ".join(name.split()), kind, standing, head.i))


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


def find_triples(doc: Doc, candidates: Mapping[int, NameCandidate], lemma: Lemma) -> list[Triple]:
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


def _arguments(token: Token, candidates: Mapping[int, NameCandidate]) -> Iterator[int]:
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


def phrase_of(head: Token, *, most: int = MAX_WORDS) -> str:
    """The phrase as written, at most ``most`` tokens long, without asides; empty where it points to another sentence.

    An indefinite one ("a bridge in Leeds that was sold") may lose what follows its noun; a definite one is whole or nothing.
    """
    for left_out in (_ASIDES, _ASIDES_AND_CLAUSES, _ALL_BUT_OF):
        text = _phrase_text(sorted(_tokens(head, left_out)), most)
        if text or is_definite(head):
            return text
    return ""


def is_definite(head: Token) -> bool:
    """Has "the", or somebody's name: one thing is meant."""
    return any((child.dep_ == "det" and child.lower_ == "the") or child.dep_ == "poss" for child in head.children)


def speaks_for_itself(head: Token, candidate: NameCandidate, *, present: bool) -> bool:
    """True for names, and for definite phrases that a reader understands without the sentence before.

    "The spinal cord" is that in a general statement (``present``); in a story, "the old pump" is one told of before.
    """
    if any(child.dep_ == "det" and child.lower_ != "the" for child in head.children):
        return False
    if candidate.standing == "name":
        return True
    if not is_definite(head) or any(child.lower_ in _POINTING_WORDS for child in head.children):
        return False
    if any(token.pos_ == "PROPN" for token in _tokens(head, _ASIDES)):
        return True
    return present and head.tag_ == "NN" and " " in candidate.key and head.lower_ not in _NAMED_ELSEWHERE


def is_term(head: Token) -> bool:
    """True for what a definition defines: "A price ceiling is …", "Narcolepsy is …"."""
    before = [child for child in head.children if child.i < head.i]
    return head.tag_ == "NN" and all(
        child.lower_ in ("a", "an") or (child.dep_ in ("amod", "compound") and child.lower_ not in _POINTING_WORDS) for child in before
    )


def _tokens(head: Token, left_out: frozenset[str]) -> Iterator[Token]:
    for child in head.children:
        dep = "of" if child.dep_ == "prep" and child.lower_ == "of" else child.dep_
        if dep not in left_out and (dep not in _MAY_BE_ASIDES or _is_needed(child, head)):
            yield from _tokens(child, left_out)
    yield head


def _is_needed(clause: Token, head: Token) -> bool:
    """Without a comma before it an apposition names its noun, and a clause says which one is meant."""
    before = clause.left_edge.i - 1
    return clause.i > head.i and not (clause.doc[before].is_punct and clause.doc[before].text not in _QUOTES.values())


def _phrase_text(tokens: list[Token], most: int) -> str:
    while tokens and (tokens[-1].is_space or (tokens[-1].is_punct and tokens[-1].text not in _QUOTES.values())):
        tokens.pop()
    while tokens and tokens[0].is_punct and tokens[0].text not in _QUOTES:
        tokens.pop(0)
    if not tokens or len(tokens) > most or tokens[0].tag_ in _RELATIVE or tokens[-1].i - tokens[0].i != len(tokens) - 1:
        return ""
    if any(
        token.like_url or token.tag_ in _POINTING or (token.pos_ in ("DET", "PRON") and token.lower_ in _POINTING_WORDS) for token in tokens
    ):
        return ""
    text = "".join(token.text_with_ws for token in tokens).strip()
    if any(_is_told_elsewhere(token, tokens) for token in tokens):
        return ""
    if tokens[0].pos_ == "ADV" and not any(token.pos_ == "NUM" for token in tokens):
        return ""  # "equally impressive", "once the tallest tower"
    if tokens[-1].pos_ in ("CCONJ", "ADP") or text.count("(") != text.count(")") or "()" in text or "|" in text:
        return ""
    if any(text.count(left) != text.count(right) or (left == right and text.count(left) % 2) for left, right in _QUOTES.items()):
        return ""
    first = tokens[0]
    if first.is_sent_start and (first.pos_ == "DET" or (first.pos_ in ("ADJ", "NOUN") and not first.ent_type_ and text[1:].islower())):
        return text[0].lower() + text[1:]
    return text


def _is_told_elsewhere(noun: Token, tokens: list[Token]) -> bool:
    """True for "the film"; not for "the film Loom" and "the city of Leeds"."""
    if noun.lower_ not in _NAMED_ELSEWHERE or not any(child.lower_ == "the" for child in noun.children):
        return False
    around = range(noun.left_edge.i, noun.right_edge.i + 1)
    return not any(token.i in around and (token.pos_ in ("PROPN", "NUM") or token.text in _QUOTES) for token in tokens)
