"""The words of a noun phrase around its head, and whether they can stand in a question without their sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edge_node.graph.syntax import Candidate

if TYPE_CHECKING:
    from spacy.tokens import Token

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


def phrase_of(head: Token, *, most: int = MAX_WORDS) -> str:
    """The phrase as written, at most ``most`` tokens long, without asides; empty where it points to another sentence.

    An indefinite one ("a bridge in Leeds that was sold") may lose what follows its noun; a definite one is whole or nothing.
    """
    for left_out in (_ASIDES, _ASIDES_AND_CLAUSES, _ALL_BUT_OF):
        text = _joined(sorted(_tokens(head, left_out)), most)
        if text or is_definite(head):
            return text
    return ""


def is_definite(head: Token) -> bool:
    """Has "the", or somebody's name: one thing is meant."""
    return any((child.dep_ == "det" and child.lower_ == "the") or child.dep_ == "poss" for child in head.children)


def speaks_for_itself(head: Token, candidate: Candidate, *, present: bool) -> bool:
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


def _joined(tokens: list[Token], most: int) -> str:
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
