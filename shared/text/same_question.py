"""Whether two questions ask for the same: a cosine cannot tell "Who founded it?" from "When was it founded?" (beyond FD-RAG §4.2).

Each check is from questions that a sentence encoder takes for one. They say no where in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.text.sentences import NUMBER_WORDS, WORD, content_words, questions_in

_AUXILIARY = r"(?:am|is|are|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)"
_YES_NO = re.compile(rf"\W*(?:[^,?]{{1,80}},\s+)?(?:(?:and|but|so)\s+)?{_AUXILIARY}(?:n['’]t)?\b", re.IGNORECASE)
_NOT_ONE = re.compile(
    r"\b(?:both|either|neither|or|than|same|differ|differences?|different|compared?|respectively|which (?:one )?of|no(?!\.?\s*\d)|not|never"
    r"|without|except)\b|n['’]t\b",
    re.IGNORECASE,
)
_TYPES = {  # the first one that stands in a question says what it asks for; of two that begin there, the one that is first here
    "month": r"(?:which|what) month",
    "year": r"(?:which|what) year",
    "date": r"when|(?:which|what) (?:date|day|decade|century)",
    "place": r"where|(?:which|what) (?:place|city|country|county|state|town|village)",
    "number": r"how (?:many|much)|(?:which|what) number",
    "person": r"who|whom|whose|(?:which|what) person",
    "reason": r"why",
    "manner": r"how",
    "thing": r"what|which",
}
_TYPE = re.compile(r"\b(?:" + "|".join(rf"(?P<{name}>{words})" for name, words in _TYPES.items()) + r")\b", re.IGNORECASE)
_TYPE_WORDS = frozenset({"date", "many", "month", "much", "name", "number", "person", "place", "whom", "whose", "year"})
_TIMES = frozenset({"month", "year", "date"})
_ANY = frozenset({"manner", "thing", ""})  # may ask for something of any type
_MONTH = r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
_FORMS = {  # of an answer
    "month": re.compile(_MONTH, re.IGNORECASE),
    "year": re.compile(r"\b\d{3,4}\b|\b\d+ BCE?\b"),
    "date": re.compile(
        rf"{_MONTH}|\d|\b(?:spring|summer|autumn|winter|century|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b", re.IGNORECASE
    ),
    "number": re.compile(r"\d|\b(?:" + "|".join(sorted(NUMBER_WORDS)) + r")\b", re.IGNORECASE),
}
_FRAME = (re.compile(r"\b(?:do|does|did)\b", re.I), re.compile(r"\b(?:is|are|was|were|be|been|being)\b", re.I), re.compile(r"\bby\b", re.I))
# Words that content words leave out, and that yet tell two questions apart: who came to it or from it, what was or should be, some or all
_TELLING = re.compile(
    r"\b(?:to|into|from|for|with|about|after|can|could|may|must|shall|should|will|would|all|any|more|most|some)\b", re.IGNORECASE
)
_NOW = re.compile(r"\b(?:am|is|are|do|does)\b", re.IGNORECASE)
_THEN = re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE)


def is_word_for_word(question: str, other: str) -> bool:
    """Whether two questions are the same but for case and punctuation.

    >>> [is_word_for_word("Is Leeds older than York?", other) for other in ("is Leeds older, than York", "Is York older than Leeds?")]
    [True, False]
    """
    one, two = (WORD.findall(text.casefold()) for text in (question, other))
    return one == two


def is_single(question: str) -> bool:
    """Whether a question asks for one thing that a sentence can say.

    >>> [is_single(asked) for asked in ("Who built it?", "Was it built by Ann?", "Who built it, Ann or Bo?", "Who did not build it?")]
    [True, False, False, False]
    """
    compound = len(questions_in(question)) > 1 or question.rstrip(" ?").count("?") > 0
    return not (compound or _YES_NO.match(question) or _NOT_ONE.search(question))


def covered(question: str, texts: Sequence[str]) -> float:
    """The share of a question's content words that stand in texts, less those that only name a type; 0 where it has none.

    >>> covered("In what year was Orrin Mill burnt?", ["Orrin Mill was built in 1881."])
    0.6666666666666666
    """
    asked = content_words(question) - _TYPE_WORDS
    said = frozenset[str]().union(*map(content_words, texts))
    return len(asked & said) / max(1, len(asked))


def is_narrower(told: str, question: str) -> bool:
    """Whether a question that was told of has a name or number that ``question`` has not, or all of its words and more.

    >>> is_narrower("What is Orrin Mill known as?", "What is Orrin Mill?"), is_narrower("Who ran the mill?", "Who led the mill?")
    (True, False)
    """
    asked = content_words(question) - _TYPE_WORDS
    return not names_in(told) <= asked or asked < content_words(told) - _TYPE_WORDS


def fits(question: str, told: str, answer: str) -> bool:
    """Whether an answer is of the type that a question asks for, as far as the question ``told`` that it belongs to, and its form, tell.

    A name may answer "who" and "what": "Which company owns it?", "Who owns it?".
    """
    asked, told = _type_of(question), _type_of(told)
    if asked in _FORMS and not _FORMS[asked].search(answer):
        return False
    if {asked, told} == {"person", "thing"}:
        return _is_name(answer)
    return asked == told or (asked in _TIMES and told in _TIMES)


def asks_otherwise(question: str, other: str) -> bool:
    """Whether two questions ask for things of two types that no thing is of both; "what" and "how" may ask for any.

    >>> [asks_otherwise("Where was it built?", other) for other in ("Who built it?", "In which city was it built?", "What is its site?")]
    [True, False, False]
    """
    types = {"date" if kind in _TIMES else kind for kind in map(_type_of, (question, other))} - _ANY
    return len(types) > 1


def names_in(question: str) -> frozenset[str]:
    """The words of a question that are a name's or a number's; its first word's capital says nothing.

    >>> sorted(names_in("Which pumps of Juniper Ward failed in 2024?"))
    ['2024', 'juniper', 'ward']
    """
    words = (word for word in WORD.findall(question)[1:] if word[0].isupper() or word[0].isdigit() or word.casefold() in NUMBER_WORDS)
    return content_words(" ".join(words)) - _TYPE_WORDS


def has_same_names(question: str, other: str) -> bool:
    """Whether each name and number of one question stands in the other.

    >>> [has_same_names("Who led Orrin Mill in 1881?", other) for other in ("In 1881, who ran Orrin Mill?", "Who led Orrin Mill?")]
    [True, False]
    """
    return names_in(question) <= content_words(other) and names_in(other) <= content_words(question)


def is_same_way(question: str, other: str) -> bool:
    """Whether two questions say what they share in one order, of the same time and with the same small words that tell questions apart.

    Where they ask for a person or thing, they must ask for the same end of it too.

    >>> [is_same_way("Who owns Orrin Mill?", asked) for asked in ("What owns Orrin Mill?", "What does Orrin Mill own?")]
    [True, False]
    >>> [is_same_way("Who moved to Leeds?", asked) for asked in ("Who moved from Leeds?", "Who will move to Leeds?")]
    [False, False]
    """
    if _small_words(question) != _small_words(other) or _is_other_time(question, other):
        return False
    shared = content_words(question) & content_words(other)
    frames = _type_of(question) not in ("person", "thing") or [bool(part.search(question)) for part in _FRAME] == [
        bool(part.search(other)) for part in _FRAME
    ]
    return frames and _in_order(question, shared) == _in_order(other, shared)


def _small_words(question: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _TELLING.findall(question)))


def _is_other_time(question: str, other: str) -> bool:
    """Whether one asks what is, and the other one what was; of what has neither form nothing is known."""
    now, then = ((bool(_NOW.search(text)), bool(_THEN.search(text))) for text in (question, other))
    return {now, then} == {(True, False), (False, True)}


def is_other_answer(question: str, told: str, answer: str, other_told: str, other_answer: str) -> bool:
    """Whether another memory answers a question otherwise, and has as many words of it in its own question.

    >>> is_other_answer("Who led it?", "Who led it?", "Ann", "Who led it?", "Bo")
    True
    """
    asked, one, two = content_words(question), content_words(answer), content_words(other_answer)
    as_near = len(asked & content_words(other_told)) >= len(asked & content_words(told))
    return not (one <= two or two <= one) and as_near and fits(question, other_told, other_answer)


def _type_of(question: str) -> str:
    found = _TYPE.search(question)
    return (found.lastgroup or "") if found else ""


def _is_name(answer: str) -> bool:
    words = WORD.findall(answer)
    first = next((word for word in words if word.casefold() != "the"), "")
    return first[:1].isupper()


def _in_order(text: str, words: frozenset[str]) -> list[str]:
    return list(dict.fromkeys(word for part in WORD.findall(text) for word in content_words(part) & words))
