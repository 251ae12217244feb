"""What a question about a table asks for: its words, and which of them must be met."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edge_node.plugins.tables.cells import MONTHS
from edge_node.plugins.tables.vocabulary import DOING, SMALL, UNITS, folded, words_of
from shared.text.language import GERMAN, language_of_question
from shared.text.sentences import questions_in

# reasons, manners, overviews and choices of yes or no: no query answers them
NO_QUERY = re.compile(
    r"^\W*(?:and for\b|and what about\b|what about\b|und für\b|(?:and |und )?(?:why|how (?!many|much|long|often|high|low|large|big|old|far|late)|explain|describe|summari[sz]e|compare the|discuss"
    r"|warum|wieso|weshalb|wie (?!viel|lang|hoch|oft|groß|alt|häufig|teuer|niedrig|spät)|erklär\w*|beschreib\w*|fass\w*"
    r"|(?:is|are|was|were|do|does|did|can|could|should|must|may|has|have|had|will|would|ist|sind|war|waren|darf|muss|soll|kann|hat)\b))",
    re.IGNORECASE,
)
SECOND = re.compile(r"(?:,|;|\band\b|\bund\b|\?)\s+(?:(?:on|at|in|to|from|by|for|with|of|bei|an|in|seit|bis|zu|von|mit|für)\s+)?"
                    r"(?:which|what|who|whom|whose|when|where|why|how|welche\w*|was|wer|wann|wo|warum|wie)\b", re.IGNORECASE)  # fmt: skip
_FOCUS = re.compile(r"\b(?:which|what|welche[mnrs]?|was für)\s+(?!is\b|are\b|was\b|were\b|did\b|do\b|does\b|has\b|have\b)", re.IGNORECASE)
_MONTH = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai|juni|juli|oktober"
    r"|dezember|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|okt|dez)",
    re.IGNORECASE,
)


_QUARTERS = {"fir": 1, "1st": 1, "ers": 1, "sec": 2, "2nd": 2, "zwe": 2, "thi": 3, "3rd": 3, "dri": 3, "fou": 4, "4th": 4, "vie": 4, "las": 4}
_QUARTER = re.compile(
    r"\b(first|1st|second|2nd|third|3rd|fourth|4th|last|erste[ns]?|zweite[ns]?|dritte[ns]?|vierte[ns]?) (?:quarter|quartals?)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A word of a question. ``is_name``: a code, a number, or a name: what stands for one thing, and for no other."""

    word: str
    is_name: bool
    month: int = 0  # 1 to 12 where it names one


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question with the words that say what it is about; ``focus``: what "which" or "how many" asks for, "" where that is not plain."""

    text: str
    words: tuple[Asked, ...]
    focus: str
    language: str

    @property
    def counts(self) -> bool:
        """Whether it asks how many or how much."""
        return re.search(r"\bhow (?:many|much)\b|\bwie\s?viele?\b|\bnumber of\b|\banzahl\b", self.text, re.IGNORECASE) is not None

    @property
    def ranks(self) -> bool:
        """Whether it asks for the most or the least of something."""
        return _RANKS.search(self.text) is not None

    @property
    def lists_all(self) -> bool:
        """Whether it asks for all there is."""
        return re.search(r"\ball\b|\bevery\b|\blist\b|\ball[er]?n?\b|\bliste\b", self.text, re.IGNORECASE) is not None

    @property
    def sums(self) -> bool:
        """Whether it asks for a sum."""
        return re.search(r"\btotals?\b|\bsum\b|\bin all\b|\baltogether\b|\binsgesamt\b|\bsumme\b|\bgesamt\w*", self.text, re.I) is not None


_RANKS = re.compile(
    r"\b(?:\w{3,}(?:est)|most|least|worst|best|maximum|minimum|first|last|fewest|top|meisten?|wenigsten?|erste[rnms]?|letzte[rnms]?"
    r"|(?:höchst|niedrigst|größt|kleinst|längst|kürzest|ältest|neuest|teuerst|billigst|günstigst|frühest|spätest)e?[rnms]?)\b",
    re.IGNORECASE,
)


def question_of(text: str) -> TableQuestion | None:
    """What a question asks, or None where no query answers such a one: it asks why or how, for yes or no, or for two things.

    >>> asked = question_of("How many IS-200 are in stock at Halden?")
    >>> [(one.word, one.is_name) for one in asked.words], asked.focus
    ([('IS-200', True), ('stock', False), ('Halden', True)], 'IS-200')
    >>> question_of("Why is heparin short?"), question_of("Which sets fit, and how many are there?")
    (None, None)
    """
    if NO_QUERY.match(text) or len(questions_in(text)) > 1 or SECOND.search(text) or text.rstrip(" ?").count("?"):
        return None
    language = language_of_question(text)
    text = _QUARTER.sub(lambda found: f"Q{_QUARTERS[found[1][:3].casefold()]}", text)
    found, first = list[Asked](), True
    for word in words_of(text):
        plain = word.casefold()
        if plain not in SMALL and plain not in DOING and (len(word) > 1 or word.isupper() or word.isdigit()):
            found.append(_asked(word, first=first, language=language))
        first = False
    unique = {folded(one.word): one for one in found}
    return TableQuestion(text, tuple(unique.values()), _focus(text), language) if found else None


def _asked(word: str, *, first: bool, language: str) -> Asked:
    month = MONTHS.get(word[:3].casefold(), 0) if _MONTH.fullmatch(word) else 0
    has_digit = any(map(str.isdecimal, word))
    is_capital = word[0].isupper() and not first and (language != GERMAN or word.isupper()) and not month
    is_unit = word.casefold() in UNITS
    return Asked(word, (has_digit or is_capital) and not is_unit, month)


def _focus(text: str) -> str:
    """The first word behind "which" or "how many" that is about something."""
    if found := _FOCUS.search(text):
        return _first_word(text[found.end() :])
    if found := re.search(r"\b(?:how many|how much(?! (?:did|does|do|is|are|was|were|has|have)\b)|wie ?viele?|number of|anzahl der|list(?: all)?(?: the)?|liste?)\s+", text, re.IGNORECASE):
        return _first_word(text[found.end() :])
    return ""


def _first_word(text: str) -> str:
    return next((word for word in words_of(text) if word.casefold() not in SMALL and word.casefold() not in DOING), "")
