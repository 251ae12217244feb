"""A model's answer made safe and checked: inert text, citations that point at given passages, and refusals told apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from shared.records import Answer, Citation, Evidence, Route, place_of
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.text.refusals import is_refusal
from shared.text.sentences import WORD, content_words, sentences
from shared.wire import MAX_NAME_CHARS

MIN_SUPPORT = 0.5  # share of a sentence's content words that a passage must hold to be cited for it
MIN_RELATIVE_SUPPORT = 0.75  # of the best passage's: a marker that says less of its sentence is moved there
MIN_OTHER_SUPPORT = 0.4  # of the best passage's: what a passage for a sentence's other half says of it at least
MIN_MISSING = 3  # content words of a sentence that no cited passage holds, before another one is looked for
MOST_GATHERED, MIN_NEW = 6, 2  # passages of a sentence that lists what several say, and content words that each of them adds at least
MAX_QUOTE_CHARS = 300
MAX_ANSWER_CHARS = 16_000  # this and what follows: of an answer that comes from elsewhere
MAX_CITATIONS = 64
MAX_EDGES = 100
MAX_REASON_CHARS = 300
MAX_COVERAGE_CHARS = 8_000  # 100 sites and their names
MAX_STEPS = 512

_NUMBER = r"(?:(?:passages?|sources?|documents?|refs?)\s*+)?#?\d{1,99}+"
_LIST = rf"{_NUMBER}(?:\s*+(?:,|;|&|and|-|–)\s*+{_NUMBER})*"
_LABELLED = r"\(\s*+(?:passages?|sources?|documents?|refs?)\s*+#?\d{1,99}+(?:\s*+(?:,|;|&|and|-|–)\s*+#?\d{1,99}+)*\s*+\)"
# "(2)" alone is an enumeration ("(1) open, (2) close") unless a sentence ends behind it
MARKER = re.compile(
    rf"(?<![ \t])[ \t]*+(?:\[\s*+{_LIST}\s*+\]|{_LABELLED}|\(\s*+\d{{1,2}}\s*+\)(?=\s*(?:[.!?]|$)))", re.IGNORECASE | re.MULTILINE
)
LIST_MARKS = " \t\n#*>|-"  # of headings and lists, before a sentence
NUMBER_SHOWN = re.compile(r"\[(\d{1,4})\]")  # the marker of one citation, as an answer that was cited shows it
ENUMERATED = re.compile(r"^\W*\d{1,2}[.)]\s")  # "2) Pumps fail": no figure of the sentence
_BOUND = r"(?!\s+(?:more|less|later|earlier|fewer|longer|higher|lower|greater)\s+than\b|\s+only\b)"
_BOUND_DE = r"(?!\s+(?:mehr|weniger|später|früher|länger|höher)\s+als\b|\s+nur\b)"
NEGATION = re.compile(  # "not more than 5" is a bound, and denies nothing
    rf"\b(?:no(?!\.?\s*\d){_BOUND}|not{_BOUND}|never|none|nobody|nothing|neither|nor|without|cannot|nichts|nicht{_BOUND_DE}|nie|niemals|niemand\w*|kein\w*|weder|ohne"
    r"|pas|jamais|aucune?s?|ni|rien|sans|nunca|jamás|nada|nadie|ningun[oa]?s?|ningún|sin|tampoco)\b|n['’]t\b|[不没未无非]",
    re.IGNORECASE,
)
_AFTER_STOP = re.compile(rf"([.!?])((?:{MARKER.pattern})+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Passage:
    words: frozenset[str]
    sentences: tuple[tuple[int, int], ...]
    said: tuple[frozenset[str], ...]  # content words of each sentence

    def support(self, words: frozenset[str]) -> int:
        """How much of ``words`` one of its sentences says at best; a figure or code counts for three plain words."""
        return max((_weight(words & said) for said in self.said), default=0)


def is_supported(sentence: str, texts: Sequence[str], *, aside: AbstractSet[str] = frozenset()) -> bool:
    """Whether texts together hold ``MIN_SUPPORT`` of a sentence's content words and all its figures, and one denies something if it does.

    A text that denies what the sentence says is not told apart, nor is a figure in words. ``aside``: words that need no support.

    >>> [is_supported(said, ["Two of 9 pumps failed in May."]) for said in ("In May, 9 pumps failed.", "In May, 8 pumps failed.")]
    [True, False]
    >>> is_supported("No pump failed in May.", ["Two pumps failed in May."])
    False
    """
    words, held = content_words(ENUMERATED.sub("", sentence)) - aside, frozenset[str]().union(*map(content_words, texts))
    figures = {word for word in words if any(map(str.isdigit, word))}
    is_denied = bool(NEGATION.search(sentence)) and not any(map(NEGATION.search, texts))
    return bool(words) and figures <= held and len(words & held) >= MIN_SUPPORT * len(words) and not is_denied


def cite(answer: str, evidence: Sequence[Evidence]) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer with markers ``[1] … [k]`` in order of appearance, and what each points at.

    Markers of the model (``[2]``, ``[1, 3]``, ``[Passage 2]``, ``(2)`` at a sentence's end) that number a given passage
    (from 1) stay, all others go. A sentence without one gets the passage that holds most of its content words, if that is
    at least ``MIN_SUPPORT`` of them; a refusal and a sentence that nothing supports get none. Each quote is what its span of the
    passage says, the sentence that shares most words with what it is cited for; it is empty where the passage may not be quoted.
    Markup is made inert, in the text and in quotes.

    >>> passage = Evidence("ward", "d1", "pumps.md", "d1:0", (10, 49), "Old. Pump P-204 was replaced in March.", 0.7)
    >>> text, citations = cite("The pump P-204 was replaced in March [7].", [passage])
    >>> text, citations[0].quote, citations[0].span
    ('The pump P-204 was replaced in March [1].', 'Pump P-204 was replaced in March.', (15, 48))
    """
    citer = Citer(evidence)
    return "".join(citer.add(answer)).strip(), citer.citations()


class Citer:
    """``cite``, for an answer that comes in parts, each of whole sentences: numbers go on from one part to the next."""

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        self._evidence = evidence
        self._passages = [_passage(item.text) for item in evidence]
        self._claimed: dict[int, frozenset[str]] = {}  # row -> words of the answer alone, which its quote says first
        self._cited: dict[int, frozenset[str]] = {}  # row of evidence -> words of the first sentence that cites it; insertion order = n

    @property
    def evidence(self) -> Sequence[Evidence]:
        """What is cited."""
        return self._evidence

    @staticmethod
    def prepared(text: str) -> str:
        """Inert text whose markers stand in their sentence: "failed. [1]" becomes "failed [1]."."""
        return _AFTER_STOP.sub(r"\2\1", inert(text))

    def rows_named(self, sentence: str) -> list[int]:
        """The rows of evidence that a model's markers name."""
        return [row for match in MARKER.finditer(sentence) for row in _rows(match[0], len(self._passages))]

    def cite_rows(self, sentence: str, rows: Iterable[int], words: frozenset[str], *, claim: frozenset[str] = frozenset()) -> str:
        """A sentence without markers, marked with these rows.

        ``words``: what the quote of each is to say; ``claim``: those of them that it must not lack, where a sentence has one.
        """
        rows = list(rows)
        for row in rows:
            self._claimed.setdefault(row, claim)
        marks = "".join(f"[{_number(row, words, self._cited)}]" for row in rows)
        return with_marker(sentence, f" {marks}") if marks else sentence

    def add(self, text: str) -> Iterator[str]:
        """The sentences of the next part as ``cite`` gives them, each numbered when it is taken."""
        moved = self.prepared(text)
        for start, end in sentences(moved):
            yield _with_markers(moved[start:end], self._passages, self._cited)

    def gathered(self, sentence: str) -> str:
        """A sentence that lists what several passages say: marked with those that together hold most of its words.

        Each holds at least ``MIN_NEW`` that those before do not; the one with most of these comes next, of equal ones the first.
        """
        bare = MARKER.sub("", sentence)
        missing, rows = content_words(bare), list[int]()
        while len(rows) < MOST_GATHERED and self._passages:
            best = max(range(len(self._passages)), key=lambda row: (len(missing & self._passages[row].words), -row))
            if len(new := missing & self._passages[best].words) < MIN_NEW:
                break
            rows.append(best)
            missing -= new
        marks = "".join(f"[{_number(row, content_words(bare) & self._passages[row].words, self._cited)}]" for row in rows)
        return with_marker(bare, f" {marks}") if marks else bare

    def forget(self, last: int) -> None:
        """Drop the citations behind number ``last``: the sentence that made them is not shown."""
        for row in list(self._cited)[last:]:
            del self._cited[row]

    def rows_of(self, sentence: str) -> list[int]:
        """The rows of evidence that a sentence cites which came of ``add``, each once."""
        numbers = dict.fromkeys(int(number) for number in NUMBER_SHOWN.findall(sentence))
        rows = self.rows
        return [rows[number - 1] for number in numbers if 0 < number <= len(rows)]

    @property
    def rows(self) -> tuple[int, ...]:
        """The row of evidence, from 0, of each citation so far."""
        return tuple(self._cited)

    def citations(self) -> tuple[Citation, ...]:
        """What the markers so far point at."""
        cited = enumerate(self._cited.items(), start=1)
        return tuple(
            _citation(n, self._evidence[row], self._passages[row], words, self._claimed.get(row, frozenset())) for n, (row, words) in cited
        )


def supporting(text: str, claim: str) -> list[tuple[int, int]]:
    """The spans of those sentences of a text that together say most of a claim, the one that says most first; none: none says any of it.

    >>> text = "Pump P-204 failed. It rained. Marlow replaced the pump in March."
    >>> [text[slice(*span)] for span in supporting(text, "P-204 failed and was replaced by Marlow in March [1].")]
    ['Pump P-204 failed.', 'Marlow replaced the pump in March.']
    """
    passage, missing, found = _passage(text), content_words(MARKER.sub("", claim)), list[tuple[int, int]]()
    while missing and len(found) < MOST_GATHERED:
        best = max(range(len(passage.said)), key=lambda row: (_weight(missing & passage.said[row]), -row))
        new = missing & passage.said[best]
        if len(new) < (MIN_NEW if found else 1):
            break
        found.append(passage.sentences[best])
        missing -= new
    return found


def checked_answer(answer: Answer, *, route: Route = "cloud") -> Answer:
    """An answer that somebody else wrote, as one may show it: inert text of bounded length, markers and citations that agree.

    A marker without its citation goes, and so does a citation that no marker names; numbers are again 1 to k in order of appearance.
    What only this site can say of itself, its gate, its memories and what it would ask elsewhere, is not taken from there; that a cloud
    answered from memory is.
    """
    known = {citation.n: citation for citation in answer.citations[:MAX_CITATIONS]}
    numbers: dict[int, int] = {}

    def renumbered(match: re.Match[str]) -> str:
        named = [row + 1 for row in _rows(match[0], MAX_CITATIONS) if row + 1 in known]
        found = dict.fromkeys(numbers.setdefault(n, len(numbers) + 1) for n in named)
        return (" " if match[0][0] in " \t" else "") + "".join(f"[{n}]" for n in found) if found else ""

    text = MARKER.sub(renumbered, inert(answer.answer[:MAX_ANSWER_CHARS])).strip()
    return replace(
        answer,
        answer=text,
        citations=tuple(_shown(replace(known[n], n=new)) for n, new in numbers.items()),
        edges=tuple(replace(report, reason=_line(report.reason)) for report in answer.edges[:MAX_EDGES]),
        reason=_line(answer.reason),
        coverage=one_line(inert(answer.coverage[:MAX_COVERAGE_CHARS])),
        closest=tuple(_shown(one) for one in answer.closest),
        unanswered=tuple(map(_line, answer.unanswered)),
        route=answer.route if (answer.route, route) == ("memory", "cloud") else route,
        gate=None,
        memory=None,
        asked="",
        would_ask="",
        trace=answer.trace[:MAX_STEPS],
    )


def _shown(citation: Citation) -> Citation:
    """A citation whose words are inert and of bounded length."""
    name, place = (_line(text)[:MAX_NAME_CHARS] for text in (citation.document, citation.place))
    return replace(citation, quote=inert(citation.quote[:MAX_QUOTE_CHARS]), document=name, place=place)


def _line(text: str) -> str:
    return one_line(inert(text[:MAX_REASON_CHARS]))


def _with_markers(sentence: str, passages: Sequence[_Passage], cited: dict[int, frozenset[str]]) -> str:
    """One sentence with its markers checked and renumbered; ``cited`` learns what it cites."""
    bare = MARKER.sub("", sentence)
    words = content_words(bare)
    if not MARKER.search(sentence) or not any(_rows(match[0], len(passages)) for match in MARKER.finditer(sentence)):
        row = None if is_refusal(bare) else _best_passage(words, passages)
        return bare if row is None else with_marker(bare, f" [{_number(row, words, cited)}]")

    used: list[int] = []

    def renumbered(match: re.Match[str]) -> str:
        rows = _checked(_rows(match[0], len(passages)), words, passages)
        used.extend(rows)
        numbers = [_number(row, words, cited) for row in rows]
        return (" " if match.start() else "") + "".join(f"[{n}]" for n in dict.fromkeys(numbers)) if numbers else ""

    marked = MARKER.sub(renumbered, sentence)
    missing = words - frozenset().union(*(passages[row].words for row in used))
    other = _best_passage(missing, passages) if len(missing) >= MIN_MISSING else None
    if other is None or passages[other].support(words) < MIN_OTHER_SUPPORT * max(passage.support(words) for passage in passages):
        return marked  # what is missing is a name or two that any passage may hold, not a second fact
    return with_marker(marked, f"[{_number(other, missing, cited)}]")


def _checked(rows: Sequence[int], words: frozenset[str], passages: Sequence[_Passage]) -> list[int]:
    """Rows fit to be cited, not just those that a model happens to number.

    Each says about as much of the sentence as the best passage does, or something of it that the best one does not.
    """
    support = [passage.support(words) for passage in passages]
    best = max(range(len(passages)), key=lambda row: (support[row], -row))
    more = words - passages[best].words
    fit = [
        row for row in rows if support[row] >= (MIN_OTHER_SUPPORT if more & passages[row].words else MIN_RELATIVE_SUPPORT) * support[best]
    ]
    return fit if fit or not rows else [best]


def _weight(words: frozenset[str]) -> int:
    return sum(3 if any(character.isdigit() for character in word) else 1 for word in words)


def _number(row: int, words: frozenset[str], cited: dict[int, frozenset[str]]) -> int:
    cited.setdefault(row, words)
    return list(cited).index(row) + 1


def _rows(marker: str, passages: int) -> list[int]:
    """Rows of evidence that a marker names; ``[1-3]`` names three."""
    rows: list[int] = []
    for first, last in re.findall(r"(\d+)(?:\s*[-–]\s*#?(\d+))?", marker):
        rows.extend(range(int(first) - 1, min(int(last or first), passages)))
    return [row for row in rows if 0 <= row < passages]


def with_marker(sentence: str, marker: str) -> str:
    """Put a marker before the sentence's closing punctuation.

    >>> with_marker("Pumps fail. ", " [1]")
    'Pumps fail [1]. '
    """
    body = sentence.rstrip()
    stop = len(body.rstrip(".!?:"))
    return body[:stop] + marker + sentence[stop:]


def _best_passage(words: frozenset[str], passages: Sequence[_Passage]) -> int | None:
    """The passage that holds at least half of the words; a word that many passages hold tells less than one that few do."""
    weight = {word: 1 / max(1, sum(word in passage.words for passage in passages)) for word in words}
    total = sum(weight.values())
    shares = [sum(weight[word] for word in words & passage.words) / total for passage in passages] if words else []
    best = max(range(len(shares)), key=lambda row: (shares[row], -row), default=None)
    return best if best is not None and shares[best] >= MIN_SUPPORT else None


def _citation(n: int, item: Evidence, passage: _Passage, words: frozenset[str], claim: frozenset[str]) -> Citation:
    def fit(span: tuple[int, int]) -> tuple[int, int, int]:
        said = content_words(item.text[slice(*span)])
        return _weight(claim & said), _weight(words & said), -span[0]

    start, end = max(passage.sentences, key=fit)
    start, end = _shortened(item.text, start, end, words)
    offset = item.span[0]
    span = (offset + start, offset + end)
    quote = item.text[start:end] if item.quotable else ""
    return _shown(
        Citation(n, item.edge, item.document_id, item.document, item.chunk_id, span, quote, item.score, place=place_of(item.places, span))
    )


def _shortened(text: str, start: int, end: int, words: frozenset[str]) -> tuple[int, int]:
    """Cut a long sentence to the window of ``MAX_QUOTE_CHARS`` that begins at a word and holds most of ``words``."""
    if end - start <= MAX_QUOTE_CHARS:
        return start, end
    starts = [match.start() for match in WORD.finditer(text, start, end)] or [start]
    found = {at: len(words & content_words(text[at : min(at + MAX_QUOTE_CHARS, end)])) for at in starts[::8]}
    best = max(found, key=lambda at: (found[at], -at))
    stop = min(best + MAX_QUOTE_CHARS, end)
    if stop < end and " " in text[best + 1 : stop]:
        stop = text.rindex(" ", best + 1, stop)
    return best, stop


def _passage(text: str) -> _Passage:
    spans = []
    for start, end in sentences(text):
        piece = text[start:end].rstrip()
        begin = start + len(piece) - len(piece.lstrip(LIST_MARKS))  # a quote shows no heading or list marks
        if begin < start + len(piece):
            spans.append((begin, start + len(piece)))
    places = tuple(spans) or ((0, min(len(text), MAX_QUOTE_CHARS)),)
    return _Passage(content_words(text), places, tuple(content_words(text[start:end]) for start, end in places))
