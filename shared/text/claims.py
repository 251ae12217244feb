"""What an answer is cited for: passages that hold its values and words, none that says something else (goal S10)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from shared.records import Citation, DocumentId, EdgeId, Evidence
from shared.text.asking import is_foreign
from shared.text.citations import MARKER, NEGATION, Citer
from shared.text.links import are_linked
from shared.text.sentences import WORD, content_words, names_in, sentences
from shared.text.short_answers import asks_to_calculate, verdict_of, without_verdict
from shared.text.support import must_stand, stems
from shared.text.values import Value, units_in, values_held, values_in

MOST_CITED = 3  # passages of one sentence, that the model has not named and that add no value
MOST_IN_ALL = 8  # passages of one sentence: a list of rooms may need one for each
MIN_NEW = 2  # words of a sentence that a further passage adds


def cite_answer(
    question: str, answer: str, evidence: Sequence[Evidence], *, numbered: int | None = None
) -> tuple[str, tuple[Citation, ...]]:
    """The answer with markers ``[1] … [k]``, and what each points at.

    A passage that the model names stands before another one that says as much. What cites a passage supports by itself or
    adds a part, and contradicts nothing (``without_contradicting``). A sentence that no passage says a word of has none.
    ``numbered``: how many of the passages a marker may name; None: all.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> def passage(edge: str, text: str) -> Evidence:
    ...     return Evidence(EdgeId(edge), DocumentId(edge), "d.md", ChunkId(f"{edge}:0"), (0, len(text)), text, 0.9)
    >>> both = passage("a", "The maximum dose is 50 mg."), passage("b", "The maximum dose is 5 mg. Two nurses check it.")
    >>> text, cited = cite_answer("What is the maximum dose?", "5 mg [1][2]", both)
    >>> text, [one.edge for one in cited], cited[0].quote
    ('5 mg [1]', ['b'], 'The maximum dose is 5 mg.')
    """
    texts, citations = cite_answers([(question, answer)], evidence, numbered=numbered)
    return texts[0], citations


def cite_answers(
    answers: Sequence[tuple[str, str]],
    evidence: Sequence[Evidence],
    *,
    numbered: int | None = None,
    documents: Sequence[tuple[EdgeId, DocumentId]] = (),
) -> tuple[list[str], tuple[Citation, ...]]:
    """As ``cite_answer``, of several questions with their answers, which are numbered together; "" where nothing is cited for one.

    ``documents``: for each answer the one that alone may be cited for it.
    """
    citer, texts = Citer(evidence), list[str]()
    for at, (question, answer) in enumerate(answers):
        citable = [row for row, one in enumerate(evidence) if not documents or (one.edge, one.document_id) == documents[at]]
        text, pieces, has_citation = citer.prepared(answer), list[str](), False
        for place, (start, end) in enumerate(sentences(text)):
            sentence = text[start:end]
            bare = MARKER.sub("", sentence)
            about = question if place == 0 else ""
            named = citer.rows_named(sentence)
            valid = [row for row in named if numbered is None or row < numbered]
            rows = supporting_rows(bare, about, evidence, named=valid, among=citable)
            has_citation = has_citation or bool(rows)
            words = content_words(bare)
            pieces.append(citer.cite_rows(bare, rows, words | content_words(about), claim=words))
        texts.append("".join(pieces).strip() if has_citation else "")
    return texts, citer.citations()


def supporting_rows(
    claim: str,
    question: str,
    evidence: Sequence[Evidence],
    *,
    named: Iterable[int] = (),
    among: Iterable[int] | None = None,
) -> list[int]:
    """Rows of evidence that together say most of a claim, which answers ``question``, best first. ``among``: None: all may be.

    Values count before words, and what a model has ``named`` before what it has not. A verdict and a translation share no word with
    what they rest on: there the question's words will do, several of them of a passage that the model has not named.
    """
    sought = _Sought.of(claim, question, evidence, frozenset(named))
    said, values, words, preferred = sought.said, sought.values, sought.words, sought.named
    citable = set(range(len(said))) if among is None else set(among)
    as_much = [row for row in sorted(citable) if said[row].holds(values) and words <= said[row].words]
    usable = citable - (set(as_much) - set(without_contradicting(claim, as_much, evidence)))
    rows = list[int]()
    while len(rows) < MOST_IN_ALL and (gains := sought.gains(rows, usable)):
        rows.append(max(gains, key=lambda row: gains[row].order(is_named=row in preferred, row=row)))
    alike = [row for row in as_much if row not in rows and row in preferred and row in usable]
    return without_contradicting(claim, [*rows, *alike][:MOST_IN_ALL], evidence, question=question, named=preferred)


@dataclass(frozen=True, slots=True)
class _Sought:
    """What a claim needs of passages, which of them the model has named, and what each says."""

    evidence: Sequence[Evidence]
    said: Sequence[_Said]
    named: frozenset[int]
    values: frozenset[Value]
    words: frozenset[str]
    asked: frozenset[str]  # words of the question alone
    names: frozenset[str]  # of the question
    known: str  # the question and the claim: names in them lead from no passage to another
    is_calculated: bool
    may_share_none: bool

    @classmethod
    def of(cls, claim: str, question: str, evidence: Sequence[Evidence], named: frozenset[int]) -> _Sought:
        words, is_calculated = _words_beside_values(claim), asks_to_calculate(question)
        return cls(
            evidence,
            [_Said(one) for one in evidence],
            named,
            values_in(claim),
            words,
            stems(content_words(question)) - words,
            stems(content_words(" ".join(names_in(question)))),
            f"{question}\n{claim}",
            is_calculated,
            may_share_none=is_calculated or verdict_of(claim) is not None or is_foreign(question),
        )

    def gains(self, rows: Sequence[int], usable: set[int]) -> dict[int, _Gain]:
        """What each further row adds to ``rows``, of those that are worth a citation."""
        others = [self.said[row] for row in rows]
        read = frozenset[str]().union(*(other.words for other in others))
        words, asked = self.words - read, self.asked - read
        gains = {row: _Gain.of(self.said[row], others, self.values, words, asked, self.names) for row in usable - {*rows}}
        return {row: gain for row, gain in gains.items() if self._is_worth(row, gain, rows)}

    def _is_worth(self, row: int, gain: _Gain, rows: Sequence[int]) -> bool:
        is_named = row in self.named
        if not rows:
            return gain.is_first(is_named=is_named, may_share_none=self.may_share_none)
        if len(rows) >= MOST_CITED and not is_named and not gain.values:
            return False
        if gain.is_more(is_named=is_named, has_named=bool(self.named & {*rows})):
            return True
        is_term = self.is_calculated and bool(self.asked & self.said[row].words)
        leads = (are_linked(self.evidence[row], self.evidence[other], self.known, self.evidence) for other in rows)
        return is_named and (is_term or any(leads))


def _words_beside_values(claim: str) -> frozenset[str]:
    """The words of a claim, as stems; what has a digit is a value, and counts once."""
    return stems(word for word in content_words(claim) if not any(map(str.isdigit, word)))


@dataclass(frozen=True, slots=True)
class _Gain:
    """What a passage adds to those that are cited: values and words of the claim, words of the question."""

    values: int
    words: int
    asked: int
    names: int  # words of the question's names
    holds: int  # values of the claim, those that others hold too

    @classmethod
    def of(
        cls,
        one: _Said,
        others: Sequence[_Said],
        values: Iterable[Value],
        words: frozenset[str],
        asked: frozenset[str],
        names: frozenset[str],
    ) -> _Gain:
        held = [value for value in values if one.has(value)]
        new = [value for value in held if not any(other.has(value) for other in others)]
        return cls(len(new), len(words & one.words), len(asked & one.words), len(asked & names & one.words), len(held))

    def order(self, *, is_named: bool, row: int) -> tuple[int, int, bool, int, int]:
        """The larger, the sooner it is cited."""
        return self.values, self.words, is_named, self.asked, -row

    @property
    def leads(self) -> bool:
        """Whether it says something of what was asked that the others do not: the way to the answer, as a first hop is."""
        return self.asked > 0

    def is_first(self, *, is_named: bool, may_share_none: bool) -> bool:
        """Whether it is worth a citation, of which there is none so far."""
        if is_named:
            return bool(self.values or self.words) or self.leads
        return bool(self.values or self.words or (may_share_none and self.asked >= MIN_NEW))

    def is_more(self, *, is_named: bool, has_named: bool) -> bool:
        """Whether it is worth one beside others; ``has_named``: a passage that the model named is among these."""
        if is_named:
            return bool(self.values or self.words) or self.leads
        return bool(self.values) or (self.words >= MIN_NEW and not has_named)


def without_contradicting(
    claim: str, rows: Sequence[int], evidence: Sequence[Evidence], *, question: str = "", named: Collection[int] = ()
) -> list[int]:
    """The rows without those that say something else than the claim while another one of them says it.

    That is one that lacks a value and adds no part, one that denies what the claim and the other one state or states what they
    deny, and one that has its words in another order. A part is a value or word of the claim that no other row has, or a value
    together with words of the ``question``; of a passage that the model has ``named`` these words or a name alone.
    """
    said, words, values = {row: _Said(evidence[row]) for row in rows}, _words_beside_values(claim), values_in(claim)
    asked = stems(content_words(question)) - words
    names = stems(content_words(" ".join(names_in(question))))
    is_denied = bool(NEGATION.search(without_verdict(claim)))

    def holds_alone(row: int) -> bool:
        others = [said[other] for other in rows if other != row]
        held = (value for value in values if said[row].has(value))
        return row in named and any(not any(other.has(value) for other in others) for value in held)

    says_as_much = (row for row in rows if not words or said[row].denies(words) == is_denied or holds_alone(row))
    kept = list(says_as_much) or list(rows)
    literal = [row for row in kept if said[row].has_in_order(claim)]

    def adds(row: int) -> bool:
        others = [said[other] for other in kept if other != row]
        read = frozenset[str]().union(*(other.words for other in others))
        gain = _Gain.of(said[row], others, values, words - read, asked - read, names)
        is_part = gain.holds > 0 and gain.asked >= MIN_NEW
        return bool(gain.values or gain.words) or is_part or (row in named and gain.leads)

    def says_less(row: int) -> bool:
        others = [said[other] for other in kept if other != row]
        lacking = [value for value in values if not said[row].has(value)]
        is_held_elsewhere = bool(lacking) and any(other.holds(lacking) for other in others)
        has_fewer_words = any(words & said[row].words < words & other.words for other in others)
        return is_held_elsewhere or has_fewer_words or (bool(literal) and row not in literal)

    def competes(row: int) -> bool:
        """Whether it speaks of what the claim says, with other words or figures."""
        lacking = [value for value in values if not said[row].has(value)]
        has_another_figure = any(said[row].has_another(value) for value in lacking)
        return row not in named or has_another_figure or bool(words & said[row].words)

    return [row for row in kept if adds(row) or not (says_less(row) and competes(row))]


class Bearing:
    """What texts bear of answers to a question: no figure, date, code or name that stands neither in them nor in the question.

    A figure that may have to be worked out need not stand there, and a name in another language has another form.

    >>> bearing = Bearing("Which ward has pumps?", ["Juniper Ward has 12 pumps of Marlow."])
    >>> [bearing.lacks(said) for said in ("Juniper Ward", "Rowan Ward", "Juniper Ward, 13")]
    [False, True, True]
    >>> bearing.part("Juniper Ward [1]. It lost 40 [1].")
    'Juniper Ward [1].'
    """

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        self._text = " ".join([question, *texts])
        self._is_calculated = asks_to_calculate(question)
        self._is_foreign = is_foreign(question)
        self._values = values_held([self._text])
        self._words = stems(content_words(self._text))

    def part(self, answer: str) -> str:
        """The sentences that name nothing which the texts lack; "" where the first one does, which is the answer itself."""
        prepared = Citer.prepared(answer)
        pieces = [prepared[start:end] for start, end in sentences(prepared)]
        kept = [piece for piece in pieces if not self.lacks(MARKER.sub("", piece))]
        return "".join(kept).strip() if kept and kept[0] is pieces[0] else ""

    def lacks(self, sentence: str) -> bool:
        """Whether the texts lack something that a sentence names."""
        if not self._is_calculated and not all(value.is_in(self._values) for value in values_in(sentence)):
            return True
        if self._is_foreign or is_foreign(sentence):
            return False
        names = {word for word in must_stand(sentence, self._text) if not any(map(str.isdigit, word))}
        return not names <= self._words


def closest_passages(question: str, evidence: Sequence[Evidence], *, most: int = 3) -> tuple[Citation, ...]:
    """The sentence of each of the best passages that shares most words with the question, of what may be quoted."""
    best = sorted((one for one in evidence if one.quotable), key=lambda one: -one.score)
    citer = Citer(best[:most])
    words = content_words(question)
    citer.cite_rows("", range(len(citer.evidence)), words)
    return citer.citations()


class _Said:
    """A passage's values and words, with what names its subject."""

    def __init__(self, passage: Evidence) -> None:
        text = passage.text
        self.values = values_held([f"{passage.title}\n{text}"])
        self.words = stems(content_words(f"{passage.title} {passage.document} {passage.edge} {text}"))
        self._units = units_in(f"{passage.title}\n{text}")
        self._sentences = [text[start:end] for start, end in sentences(text)]

    def holds(self, values: Iterable[Value]) -> bool:
        """Whether it has all of them."""
        return all(map(self.has, values))

    def has(self, value: Value) -> bool:
        """Whether it has a value, and its unit: there or in a heading."""
        return value.is_in(self.values) and (not value.unit or value.unit in self._units)

    def has_another(self, value: Value) -> bool:
        """Whether it has a value of the same unit."""
        return bool(value.unit) and any(one.unit == value.unit for one in self.values)

    def denies(self, words: frozenset[str]) -> bool:
        """Whether the sentence that shares most of the words denies something."""
        nearest = max(self._sentences, key=lambda one: len(words & stems(content_words(one))), default="")
        return bool(NEGATION.search(nearest))

    def has_in_order(self, claim: str) -> bool:
        """Whether one sentence has the claim's words in its order."""
        return any(_is_subsequence(_spoken(claim), _spoken(sentence)) for sentence in self._sentences)


def _spoken(text: str) -> list[str]:
    meaning = content_words(text)
    words = (re.sub(r"s$", "", word.casefold()) if len(word) > 3 else word.casefold() for word in WORD.findall(text))
    return [word for word in words if word in meaning or f"{word}s" in meaning]


def _is_subsequence(wanted: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return bool(wanted) and all(word in rest for word in wanted)
