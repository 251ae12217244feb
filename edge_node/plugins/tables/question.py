"""What a question about a table asks for: its words, and which of them must be met."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edge_node.plugins.tables.cells import MONTHS
from edge_node.plugins.tables.vocabulary import DOING, SMALL, UNITS, folded, words_of
from shared.text.language import GERMAN, language_of_question
from shared.text.sentences import questions_in


def _words(*alternatives: str) -> str:
    return "(?:" + "|".join(alternatives) + ")"


def _any(*alternatives: str) -> re.Pattern[str]:
    """A pattern for one of several phrases, each of whole words."""
    return re.compile(rf"\b{_words(*alternatives)}\b", re.IGNORECASE)


_AUXILIARY = _words(
    "is|are|was|were|do|does|did|can|could|should|must|may|has|have|had|will|would",
    "ist|sind|war|waren|darf|muss|soll|kann|hat",
)
_HOW = r"how (?!many|much|long|often|high|low|large|big|old|far|late)"
_WIE = r"wie (?!viel|lang|hoch|oft|groß|alt|häufig|teuer|niedrig|spät)"
_REASON = _words(rf"why|{_HOW}", "explain|describe|summari[sz]e|compare the|discuss")
_GRUND = _words(rf"warum|wieso|weshalb|{_WIE}", r"erklär\w*|beschreib\w*|fass\w*")
# no query answers what asks for reasons, manners or overviews, or goes on with another question
NO_QUERY = re.compile(
    r"\W*(?:(?:and for|(?:and )?what about|und für)\b"
    rf"|(?:and |und )?(?:{_REASON}|{_GRUND}|{_AUXILIARY}\b))",
    re.IGNORECASE,
)
_LINK = _words("on|at|in|to|from|by|for|with|of", "bei|an|in|seit|bis|zu|von|mit|für")
_ASKING = _words(
    "which|what|who|whom|whose|when|where|why|how", r"welche\w*|was|wer|wann|wo|warum|wie"
)
SECOND = re.compile(
    rf"(?:,|;|\band\b|\bund\b|\?)\s+(?:{_LINK}\s+)?{_ASKING}\b",
    re.IGNORECASE,
)
_FOCUS = re.compile(
    r"\b(?:which|what|welche[mnrs]?|was für)\s+(?!(?:is|are|was|were|did|do|does|has|have)\b)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:how many|how much(?! (?:did|does|do|is|are|was|were|has|have)\b)|wie ?viele?"
    r"|number of|anzahl der|list(?: all)?(?: the)?|liste?)\s+",
    re.IGNORECASE,
)
_COUNTS = _any("how (?:many|much)", r"wie\s?viele?", "(?:the|total) number of", "anzahl")
_SUMS = _any("totals?|sum|in all|together|altogether", r"insgesamt|zusammen|summe|gesamt\w*")
_ALL = _any("all|every|list", r"all[er]?n?|liste")
_RANKS = _any(
    r"\w{3,}est|most|least|worst|maximum|minimum|first|last|fewest|top",
    "meisten?|wenigsten?|erste[rnms]?|letzte[rnms]?",
    "(?:höchst|niedrigst|größt|kleinst|längst|kürzest|ältest|neuest)e?[rnms]?",
    "(?:teuerst|billigst|günstigst|frühest|spätest)e?[rnms]?",
)
_WHEN = re.compile(r"\W*(?:(?:since|until|by|seit|bis) )?(?:when|wann)\b", re.IGNORECASE)
_WHO = re.compile(r"\W*(?:who|whom|where|wer|wem|wen|wo)\b", re.IGNORECASE)
_MONTH = re.compile(
    r"jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?",
    re.IGNORECASE,
)
_DAY_BEFORE, _DAY_BEHIND = (
    r"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{}\b",
    r"\b{}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)",
)
_BOUND = (
    r"\b(before|after|since|from|until|till|by|vor|nach|seit|ab|bis)\s+"
    r"(?:(?:the|end of|dem|zum|ende)\s+)*(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?{}\b"
)
_BOUNDS = {"before": "before", "vor": "before", "after": "after", "nach": "after"} | {
    "since": "since", "from": "since", "seit": "since", "ab": "since",
    "until": "until", "till": "until", "by": "until", "bis": "until",
}  # fmt: skip
_MOST = re.compile(r"\b(?:most|fewest|meisten|wenigsten)\s+(\w+)", re.IGNORECASE)
_QUARTERS = {"fir": 1, "1st": 1, "ers": 1, "sec": 2, "2nd": 2, "zwe": 2} | {
    "thi": 3, "3rd": 3, "dri": 3, "fou": 4, "4th": 4, "vie": 4,
}  # fmt: skip
_QUARTER = re.compile(
    r"\b(first|1st|second|2nd|third|3rd|fourth|4th|erste[ns]?|zweite[ns]?|dritte[ns]?|vierte[ns]?)"
    r" (?:quarter|quartals?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A word of a question. ``is_name``: a code, a number or a name, which stands for one thing."""

    word: str
    is_name: bool
    month: int = 0  # 1 to 12 where it names one


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question with the words that say what it is about.

    ``focus``: what "which" or "how many" asks for; "" where that is not plain.
    """

    text: str
    words: tuple[Asked, ...]
    focus: str
    language: str

    @property
    def counts(self) -> bool:
        """Whether it asks how many or how much."""
        return _COUNTS.search(self.text) is not None

    @property
    def ranks(self) -> bool:
        """Whether it asks for the most or the least of something."""
        return _RANKS.search(self.text) is not None

    @property
    def sums(self) -> bool:
        """Whether it asks for a sum."""
        return _SUMS.search(self.text) is not None

    @property
    def most_of(self) -> str:
        """What it asks for the most or fewest of, as "machines" in "the most machines"; or ""."""
        found = _MOST.search(self.text)
        return found[1] if found and _says_something(found[1]) else ""

    def bound(self, month: Asked) -> str:
        """How dates are bound by a month that is named: "before", "after", "since", "until", ""."""
        found = re.search(_BOUND.format(re.escape(month.word)), self.text, re.IGNORECASE)
        return _BOUNDS[found[1].casefold()] if found else ""

    @property
    def lists_all(self) -> bool:
        """Whether it asks for all there is."""
        return _ALL.search(self.text) is not None

    @property
    def when(self) -> bool:
        """Whether it asks for a date or time."""
        return _WHEN.match(self.text) is not None

    @property
    def who(self) -> bool:
        """Whether it asks for a person or a place."""
        return _WHO.match(self.text) is not None

    @property
    def days(self) -> dict[int, int]:
        """The days that it names, by month.

        >>> asked = question_of("Which pump failed on 11 February?")
        >>> asked.days if asked else None
        {2: 11}
        """
        found = dict[int, int]()
        for one in self.words:
            if one.month:
                word = re.escape(one.word)
                for pattern in (_DAY_BEHIND, _DAY_BEFORE):
                    if day := re.search(pattern.format(word), self.text, re.IGNORECASE):
                        found[one.month] = int(day[1])
        return found


def question_of(text: str) -> TableQuestion | None:
    """What a question asks for.

    None where no query answers such a one: it asks why, how, for yes or no, or for two things.

    >>> asked = question_of("How many IS-200 are in stock at Halden?")
    >>> [(one.word, one.is_name) for one in asked.words], asked.focus
    ([('IS-200', True), ('stock', False), ('Halden', True)], 'IS-200')
    >>> question_of("Why is heparin short?"), question_of("Which fit, and how many are there?")
    (None, None)
    """
    is_compound = len(questions_in(text)) > 1 or "?" in text.rstrip(" ?")
    if NO_QUERY.match(text) or is_compound or SECOND.search(text):
        return None
    language = language_of_question(text)
    text = _QUARTER.sub(lambda found: f"Q{_QUARTERS[found[1][:3].casefold()]}", text)
    found = dict[str, Asked]()
    for at, word in enumerate(words_of(text)):
        if _says_something(word) or (word == "May" and at > 0):
            found[folded(word)] = _asked(word, first=at == 0, language=language)
    return TableQuestion(text, tuple(found.values()), _focus(text), language) if found else None


def _says_something(word: str) -> bool:
    plain = word.casefold()
    is_letter = len(word) == 1 and not (word.isupper() or word.isdigit())
    return plain not in SMALL and plain not in DOING and not is_letter


def _asked(word: str, *, first: bool, language: str) -> Asked:
    month = MONTHS.get(word[:3].casefold(), 0) if _MONTH.fullmatch(word) else 0
    has_digit = any(map(str.isdecimal, word))
    is_noun = language == GERMAN and not word.isupper()  # these are capitalised, as names are
    is_capital = word[0].isupper() and not first and not is_noun and not month
    is_unit = word.casefold() in UNITS
    return Asked(word, (has_digit or is_capital) and not is_unit, month)


def _focus(text: str) -> str:
    """The first word behind "which" or "how many" that is about something."""
    found = _FOCUS.search(text) or _COUNTED.search(text)
    rest = words_of(text[found.end() :]) if found else []
    return next((word for word in rest if _says_something(word)), "")
