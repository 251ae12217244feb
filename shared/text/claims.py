"""What an answer is cited for: passages that hold its values and words, none that says something else (goal S10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shared.records import Citation, Evidence
from shared.text.asking import is_foreign
from shared.text.citations import MARKER, NEGATION, Citer
from shared.text.sentences import WORD, content_words, sentences
from shared.text.short_answers import asks_to_calculate, verdict_of
from shared.text.support import must_stand, stems
from shared.text.values import Value, missing_values, values_held, values_in

MOST_CITED = 3  # passages of one sentence
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
    citer, pieces = Citer(evidence), list[str]()
    text = citer.prepared(answer)
    for place, (start, end) in enumerate(sentences(text)):
        sentence = text[start:end]
        bare = MARKER.sub("", sentence)
        about = question if place == 0 else ""
        named = citer.rows_named(sentence)
        valid = [row for row in named if numbered is None or row < numbered]
        rows = supporting_rows(bare, about, evidence, named=valid)
        words = content_words(f"{bare} {about}")
        pieces.append(citer.cite_rows(bare, rows, words))
    return "".join(pieces).strip(), citer.citations()


def supporting_rows(claim: str, question: str, evidence: Sequence[Evidence], *, named: Iterable[int] = ()) -> list[int]:
    """Rows of evidence that together say most of a claim, which answers ``question``, best first.

    Values count before words, and what a model has ``named`` before what it has not. A verdict and a translation share no word with
    what they rest on: there the question's words will do, of a passage that the model has named.
    """
    may_share_none = verdict_of(claim) is not None or is_foreign(question)
    said = [_Said(one) for one in evidence]
    values, words = values_in(claim), stems(content_words(claim))
    asked = stems(content_words(question)) - words
    preferred, rows = frozenset(named), list[int]()
    while len(rows) < MOST_CITED:
        left_values = {value for value in values if not any(value.is_in(said[row].values) for row in rows)}
        left = words - frozenset[str]().union(*(said[row].words for row in rows))

        def gain(row: int, values: Iterable[Value] = left_values, words: frozenset[str] = left) -> tuple[int, int, bool, int, int]:
            held = sum(value.is_in(said[row].values) for value in values)
            return held, len(words & said[row].words), row in preferred, len(asked & said[row].words), -row

        best = max((row for row in range(len(said)) if row not in rows), key=gain, default=None)
        if best is None or not _is_new(gain(best), is_first=not rows, may_share_none=may_share_none):
            break
        rows.append(best)
    alike = [row for row in range(len(said)) if row not in rows and row in preferred and _says_as_much(said[row], values, words)]
    return without_contradicting(claim, [*rows, *alike][:MOST_CITED], evidence)


def without_contradicting(claim: str, rows: Sequence[int], evidence: Sequence[Evidence]) -> list[int]:
    """The rows without those that say something else than the claim while another one of them says it.

    That is one that lacks a value and adds no word, one that denies what the claim and the other one state or states what they
    deny, and one that has its words in another order.
    """
    said, words, values = {row: _Said(evidence[row]) for row in rows}, stems(content_words(claim)), values_in(claim)
    is_denied = bool(NEGATION.search(claim))
    agreeing = [row for row in rows if said[row].denies(words) == is_denied]
    kept = agreeing or list(rows)
    literal = [row for row in kept if said[row].has_in_order(claim)]
    result = list[int]()
    for row in kept:
        others = [other for other in kept if other != row]
        lacks = {value for value in values if not value.is_in(said[row].values)}
        is_held_elsewhere = any(all(value.is_in(said[other].values) for value in lacks) for other in others)
        added = (words & said[row].words) - frozenset[str]().union(*(said[other].words for other in others))
        is_less = any(words & said[row].words < words & said[other].words for other in others)
        is_other_order = bool(literal) and row not in literal
        if (lacks and is_held_elsewhere and not added and not _adds_value(said, row, others, values)) or (
            (is_less or is_other_order) and not added and not _adds_value(said, row, others, values)
        ):
            continue
        result.append(row)
    return result


def unborne(question: str, answer: str, texts: Sequence[str]) -> bool:
    """Whether an answer names a figure, date or code that stands neither in a text nor in the question, or a name.

    A figure that may have to be worked out need not stand there, and a name in another language has another form.

    >>> texts = ["Juniper Ward has 12 pumps of Marlow."]
    >>> [unborne("Which ward has pumps?", said, texts) for said in ("Juniper Ward", "Rowan Ward", "Juniper Ward, 13")]
    [False, True, True]
    """
    known = " ".join([question, *texts])
    if not asks_to_calculate(question) and missing_values(answer, [known]):
        return True
    if is_foreign(question) or is_foreign(answer):
        return False
    names = {word for word in must_stand(answer, known) if not any(map(str.isdigit, word))}
    return not names <= stems(content_words(known))


def borne(question: str, answer: str, texts: Sequence[str]) -> str:
    """Of an answer the sentences that name nothing which the texts lack; "" where the first one does, which is the answer itself.

    >>> borne("Who leads?", "Ada Vale [1]. She sold 40 mills [1].", ["Ada Vale leads."])
    'Ada Vale [1].'
    """
    prepared = Citer.prepared(answer)
    pieces = [prepared[start:end] for start, end in sentences(prepared)]
    kept = [piece for piece in pieces if not unborne(question, MARKER.sub("", piece), texts)]
    return "".join(kept).strip() if kept and kept[0] is pieces[0] else ""


def closest_passages(question: str, evidence: Sequence[Evidence], *, most: int = 3) -> tuple[Citation, ...]:
    """The sentence of each of the best passages that shares most words with the question, of what may be quoted."""
    citer = Citer([one for one in evidence if one.quotable][:most])
    words = content_words(question)
    citer.cite_rows("", range(len(citer.evidence)), words)
    return citer.citations()


class _Said:
    """A passage's values and words, with what names its subject."""

    def __init__(self, passage: Evidence) -> None:
        text = passage.text
        self.values = values_held([f"{passage.title}\n{text}"])
        self.words = stems(content_words(f"{passage.title} {passage.document} {passage.edge} {text}"))
        self._sentences = [text[start:end] for start, end in sentences(text)]

    def denies(self, words: frozenset[str]) -> bool:
        """Whether the sentence that shares most of the words denies something."""
        nearest = max(self._sentences, key=lambda one: len(words & stems(content_words(one))), default="")
        return bool(NEGATION.search(nearest))

    def has_in_order(self, claim: str) -> bool:
        """Whether one sentence has the claim's words in its order."""
        return any(_is_subsequence(_spoken(claim), _spoken(sentence)) for sentence in self._sentences)


def _is_new(gain: tuple[int, int, bool, int, int], *, is_first: bool, may_share_none: bool) -> bool:
    values, words, is_named, asked, _ = gain
    if is_first:
        return bool(values or words or (may_share_none and is_named and asked))
    return bool(values) or words >= (1 if is_named else MIN_NEW)


def _says_as_much(said: _Said, values: frozenset[Value], words: frozenset[str]) -> bool:
    return all(value.is_in(said.values) for value in values) and words <= said.words


def _adds_value(said: dict[int, _Said], row: int, others: Sequence[int], values: frozenset[Value]) -> bool:
    return any(value.is_in(said[row].values) and not any(value.is_in(said[other].values) for other in others) for value in values)


def _spoken(text: str) -> list[str]:
    meaning = content_words(text)
    words = (re.sub(r"s$", "", word.casefold()) if len(word) > 3 else word.casefold() for word in WORD.findall(text))
    return [word for word in words if word in meaning or f"{word}s" in meaning]


def _is_subsequence(wanted: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return bool(wanted) and all(word in rest for word in wanted)
