"""Facts: what a sentence says of something, and ④ relations as lines of text, for a model to read beside the passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge_node.extraction.syntax import CONCEPT, TYPES, Lemma, NameCandidate, is_term, phrase_of, speaks_for_itself
from shared.records import Chunk

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


DATE = "date"
NUMBER = "number"

MOST_FACTS = 24  # of one chunk
MOST_SUBJECT_WORDS = 10

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_RELATIVE_TAGS = frozenset({"WDT", "WP"})
_AUXILIARIES = frozenset({"aux", "auxpass"})
_DIRECT = frozenset({"dobj", "attr", "oprd"})
_NOUNS = frozenset({"NOUN", "PROPN"})
_LEADS_ON = frozenset({"to", "into", "as", "from", "for", "with", "against", "of"})  # "moved to Leeds", and when
_CLAUSES = frozenset({"ccomp", "xcomp", "csubj"})
_CONDITIONS = frozenset({"if", "unless", "until", "whether"})
_DOUBTS = frozenset({"allegedly", "apparently", "perhaps", "possibly", "probably", "purportedly", "reportedly", "supposedly"})
_COUNTS = frozenset({"CARDINAL", "QUANTITY", "MONEY", "PERCENT"})
_ASSERTING = frozenset(
    {"are", "been", "being", "can", "did", "do", "does", "had", "has", "have", "is", "may", "must", "was", "were", "will"}
)
_LASTING = frozenset({"based", "bounded", "called", "considered", "headquartered", "known", "located", "named", "situated", "used"})
_BE = frozenset({"am", "are", "be", "been", "being", "is", "was", "were"})
_BRACKETS = re.compile(r"\([^()]*\)")
_LETTER = re.compile(r"[^\W_]")
_NO_LETTERS = re.compile(r"[\W_]+")
_COMMAS = frozenset({",", "–", "—"})
_CLOSING = tuple(".!?\"'”’)]")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a sentence says: subject, verb and object, as they are written there (FD-RAG §4.1, eq. 9).

    ``start`` and ``end``: the sentence in the chunk's text. ``verb`` has its auxiliaries and what stands between it and the
    preposition ("was replaced", "won two cups"); ``lemma`` is the same without the auxiliaries, its verb in the base form.
    ``preposition`` is "" before a direct object. The types are an entity's type, "concept", ``DATE`` or ``NUMBER``.
    """

    chunk_id: str
    start: int
    end: int
    subject: str
    subject_type: str
    verb: str
    lemma: str
    preposition: str
    object: str
    object_type: str
    negated: bool


@dataclass(frozen=True, slots=True)
class _Said:
    """What a clause says: ``verb`` as written, ``lemma`` in the base form, ``present`` where it tells of what is so now."""

    subject: Token
    verb: str
    lemma: str
    preposition: str
    object: Token
    present: bool
    negated: bool = False


def find_facts(doc: Doc, chunk: Chunk, candidates: Mapping[int, NameCandidate], lemma: Lemma, *, most: int = MOST_FACTS) -> list[Fact]:
    """Return at most ``most`` facts of a parsed passage of ``chunk``, in its order; none has a pronoun for an end.

    candidates: as ``syntax.find_candidates`` finds them; a subject is one of them, a name or a definite phrase.
    """
    found: dict[Fact, None] = {}
    for said in _sayings(doc, lemma):
        subject = candidates.get(said.subject.i)
        if subject is None or not (speaks_for_itself(said.subject, subject, present=said.present) or _defines(said)):
            continue
        name, (text, kind) = _full_name(phrase_of(said.subject, most=MOST_SUBJECT_WORDS), subject, candidates), _object(said, candidates)
        sentence = said.object.sent.text.rstrip()
        told = name and text and text != name and sentence.endswith(_CLOSING)  # a caption or a headline is no sentence
        span = span_of(sentence, chunk.text) if told else None
        if span:
            said_of = (said.verb, said.lemma, said.preposition)
            found.setdefault(Fact(chunk.chunk_id, *span, name, subject.type, *said_of, text, kind, said.negated))
            if len(found) == most:
                break
    return list(found)


def span_of(sentence: str, text: str) -> tuple[int, int] | None:
    r"""Where a sentence stands in the text that it was cleaned from: white space, markup and what is in brackets may differ.

    >>> text = "It **rains** (see Figure 2) in\nLeeds. So be it."
    >>> start, end = span_of("It rains in Leeds.", text); text[start:end]
    'It **rains** (see Figure 2) in\nLeeds.'
    """
    start = text.find(sentence)
    if start >= 0:
        return start, start + len(sentence)
    bare = _BRACKETS.sub(lambda match: " " * len(match[0]), text)
    wanted = _NO_LETTERS.sub("", _BRACKETS.sub("", sentence))
    first = _NO_LETTERS.sub("", bare).find(wanted)
    if not wanted or first < 0:
        return None
    places = [match.start() for match in _LETTER.finditer(bare)]
    end = places[first + len(wanted) - 1] + 1
    while end < len(text) and text[end] in _CLOSING:
        end += 1
    return places[first], end


def _sayings(doc: Doc, lemma: Lemma) -> Iterator[_Said]:
    for token in doc:
        dep = token.dep_
        if dep in _SUBJECTS:
            for verb in _verbs(token.head):
                yield from _of_verb(_antecedent(token), verb, lemma)
        elif dep in ("acl", "relcl") and token.tag_ == "VBN" and not any(child.dep_ in _SUBJECTS for child in token.children):
            for verb in _verbs(token):
                yield from _of_verb(_owner(token.head), verb, lemma)
        elif dep == "appos":
            yield from _of_apposition(token)


def _of_apposition(token: Token) -> Iterator[_Said]:
    """One end is a name, the other says what it is: "Ann Lee, the head of the ward", "the head of the ward, Ann Lee"."""
    named, kind = (token.head, token) if token.tag_ == "NN" else (token, token.head)
    before = token.left_edge.i - 1
    set_off = before >= 0 and token.doc[before].text in _COMMAS
    whole = any(child.dep_ in ("det", "poss") for child in kind.children)
    listed = any(child.dep_ == "conj" for end in (named, kind) for child in end.children)  # "the wall, the fall, and the end"
    if set_off and whole and not listed and named.pos_ == "PROPN" and kind.tag_ == "NN" and kind.text.islower():
        yield _Said(named, "is", "be", "", kind, present=True)


def _antecedent(subject: Token) -> Token:
    """For the *that* in "the corridor that joins", the noun that the relative clause hangs on."""
    verb = subject.head
    return _owner(verb.head) if subject.tag_ in _RELATIVE_TAGS and verb.dep_ == "relcl" else subject


def _owner(noun: Token) -> Token:
    """What a noun is said of: a clause on "film" in "Loom is a film directed by Ann Lee" speaks of Loom."""
    if noun.dep_ == "attr":
        return next((_antecedent(child) for child in noun.head.children if child.dep_ in _SUBJECTS), noun)
    return noun.head if noun.dep_ == "appos" and noun.tag_ == "NN" and noun.head.pos_ == "PROPN" else noun


def _verbs(verb: Token) -> Iterator[Token]:
    """The verb, and those coordinated with it that have no subject of their own."""
    yield verb
    for child in verb.children:
        if child.dep_ == "conj" and child.pos_ in ("VERB", "AUX") and not any(each.dep_ in _SUBJECTS for each in child.children):
            yield from _verbs(child)


def _of_verb(subject: Token, verb: Token, lemma: Lemma) -> Iterator[_Said]:
    children = list(verb.children)
    auxiliaries = _auxiliaries(verb, subject)
    if auxiliaries is None or any(child.dep_ in _CLAUSES for child in children) or not _is_asserted(verb):
        return
    added = "".join(f" {child.lower_}" for child in children if child.dep_ == "prt")
    added += "".join(f" {child.text}" for child in children if child.dep_ == "acomp" and child.i > verb.i)
    written = " ".join((*auxiliaries, verb.lower_)) + added
    base = ("be" if verb.lower_ in _BE else lemma(verb)) + added
    present = verb.tag_ in ("VBZ", "VBP") or auxiliaries[:1] in (("is",), ("are",))
    negated = any(child.dep_ == "neg" for child in children)
    for child in children:
        if child.dep_ in _DIRECT or (child.dep_ == "npadvmod" and child.ent_type_ == "DATE"):
            yield _Said(subject, written, base, "", child, present, negated)
    for preposition in (each for child in children for each in (child, *(child.children if child.dep_ == "acomp" else ()))):
        between = _between(children, preposition) if preposition.dep_ in ("prep", "agent") else None
        if between is not None:
            for noun in preposition.children:
                if noun.dep_ == "pobj":
                    yield _Said(subject, written + between, base + between, preposition.lower_, noun, present, negated)


def _is_asserted(verb: Token) -> bool:
    """False for what somebody says in the text ("he claims that …"), for conditions and what they lead to, and for doubts."""
    if any(above.dep_ == "ccomp" for above in (verb, *verb.ancestors)) or any(child.lower_ in _DOUBTS for child in verb.children):
        return False
    clauses = [verb, *(child for child in verb.children if child.dep_ == "advcl")]
    return not any(child.dep_ == "mark" and child.lower_ in _CONDITIONS for clause in clauses for child in clause.children)


def _auxiliaries(verb: Token, subject: Token) -> tuple[str, ...] | None:
    """The auxiliaries of a verb, those of a participle that lacks them included; None where it states nothing that lasts.

    "To be sold" and "could be sold" do not, nor what is going on at this moment ("is selling").
    """
    own = tuple(child.lower_ for child in verb.children if child.dep_ in _AUXILIARIES)
    if not own and verb.dep_ == "conj" and verb.tag_ in ("VBN", "VB"):
        return _auxiliaries(verb.head, subject)
    if verb.tag_ == "VBG" or not _ASSERTING.issuperset(own) or not (verb.lower_.isalpha() and verb.lower_.isascii()):
        return None
    if own or verb.tag_ in ("VBD", "VBP", "VBZ"):
        return own
    if verb.tag_ == "VBN" and verb.dep_ in ("acl", "relcl"):
        many = subject.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in subject.children)
        return (("are" if many else "is") if verb.lower_ in _LASTING else ("were" if many else "was"),)
    return None


def _between(children: list[Token], preposition: Token) -> str | None:
    """What belongs to a verb and stands before its preposition: "won two cups" in 1990, "moved to Leeds" in May; None if it points."""
    direct = [child for child in children if child.dep_ in _DIRECT and child.ent_type_ != "DATE"]
    leading = [child for child in children if child.dep_ == "prep" and child.lower_ in _LEADS_ON and child.i < preposition.i]
    for child in (direct or leading)[:1]:
        ends = [child] if direct else [noun for noun in child.children if noun.dep_ == "pobj"]
        phrase = phrase_of(ends[0], most=MOST_SUBJECT_WORDS) if ends else ""
        return (f" {phrase}" if direct else f" {child.lower_} {phrase}") if phrase else None
    return ""


def _defines(said: _Said) -> bool:
    """True for "A price ceiling is a legal maximum price": the one statement about a common noun that holds anywhere."""
    defined = said.verb == "is" and not said.preposition and said.subject.i < said.object.i
    return defined and said.object.pos_ == "NOUN" and is_term(said.subject)


def _full_name(name: str, subject: NameCandidate, candidates: Mapping[int, NameCandidate]) -> str:
    """The one longer name of a person in the passage that begins or ends with a single name: "Max" is Max Ramsay."""
    if " " in name or subject.type != "person":
        return name
    people = {each.name for each in candidates.values() if each.type == "person"} - {name}
    longer = [each for each in people if each.startswith(f"{name} ") or each.endswith(f" {name}")]
    return longer.pop() if len(longer) == 1 else name


def _object(said: _Said, candidates: Mapping[int, NameCandidate]) -> tuple[str, str]:
    """The words of an object, and its type; none for a general noun ("for example"), unless it says what the subject is."""
    token = said.object
    if token.ent_type_ == "DATE":
        return _entity(token), DATE
    if token.ent_type_ in _COUNTS or any(child.dep_ == "nummod" and child.ent_type_ in _COUNTS for child in token.children):
        return phrase_of(token), NUMBER
    if token.i in candidates:
        return phrase_of(token), candidates[token.i].type
    known = token.pos_ in _NOUNS and (token.ent_type_ in TYPES or (said.lemma == "be" and not said.preposition))
    return (phrase_of(token) if known else ""), TYPES.get(token.ent_type_, CONCEPT)


def _entity(token: Token) -> str:
    """The whole named entity that a word is part of."""
    first = last = token.i
    while token.doc[first].ent_iob_ == "I":
        first -= 1
    while last + 1 < len(token.doc) and token.doc[last + 1].ent_iob_ == "I":
        last += 1
    return str(token.doc[first : last + 1].text)
