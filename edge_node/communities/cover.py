"""The sentences that say most of what several texts share: a text about them without a model, in their own words."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.text.sentences import sentences

Terms = Callable[[str], Collection[str]]  # the words of a text that carry meaning
Count = Callable[[str], int]  # tokens of a text


@dataclass(frozen=True, slots=True)
class Sentence:
    """What one child says at one place."""

    place: tuple[int, int]  # child, and which of its sentences
    text: str
    terms: frozenset[str]

    def weight(self, weights: Mapping[str, int], said: Collection[str], least: int) -> float:
        """Of its terms, on average over ``least`` at least; one that was said weighs nothing."""
        return sum(weights[term] for term in self.terms if term not in said) / max(len(self.terms), least)


def cover(
    children: Sequence[Sequence[str]], *, max_tokens: int, count: Count, terms: Terms, most: int | None = None, least: int = 1
) -> list[Sentence]:
    """Choose of the sentences of the children, heaviest first, at most ``most`` with ``max_tokens`` tokens in all; blank ones never.

    A greedy cover, after SumBasic (Nenkova and Vanderwende 2005): a term weighs as many children as hold it, and nothing once it was
    said; the sentence whose terms weigh most on average comes next, of equal ones the first, until one says nothing new or does not fit.
    Where no sentence fits, the heaviest one is cut behind a word. An average favours short sentences; one with fewer than ``least`` terms
    weighs as if the others that it lacks were worth nothing.

    >>> from shared.text.sentences import content_words
    >>> said = [["It rains.", "The pumps leak."], ["The pump leaked.", "Gates close."]]
    >>> [one.text for one in cover(said, max_tokens=5, count=lambda text: len(text.split()), terms=content_words)]
    ['The pumps leak.', 'It rains.']
    """
    texts = [((child, place), text) for child, told in enumerate(children) for place, text in enumerate(told) if text.strip()]
    found = [Sentence(place, text, frozenset(terms(text))) for place, text in texts]
    of_child = [set[str]() for _ in children]
    for one in found:
        of_child[one.place[0]] |= one.terms
    weights = Counter(term for held in of_child for term in held)
    if chosen := _chosen(found, weights, max_tokens, count, most, least):
        return chosen
    heaviest = max(found, key=lambda one: one.weight(weights, (), least), default=None)
    text = _cut(heaviest.text, max_tokens, count) if heaviest else ""
    return [replace(heaviest, text=text)] if heaviest and text else []


def node_text(children: Sequence[str], *, max_tokens: int, count: Count, terms: Terms) -> str:
    """Say without a model what the children are about: their ``cover`` in their order, at most ``max_tokens`` tokens; "" if all are blank.

    >>> from shared.text.sentences import content_words
    >>> said = ["It rains. The pumps leak.", "The pump leaked. Gates close."]
    >>> node_text(said, max_tokens=5, count=lambda text: len(text.split()), terms=content_words)
    'It rains. The pumps leak.'
    """
    told = [[" ".join(child[start:end].split()) for start, end in sentences(child)] for child in children]
    chosen = cover(told, max_tokens=max_tokens, count=count, terms=terms)
    return " ".join(one.text for one in sorted(chosen, key=lambda one: one.place))


def _chosen(
    found: Sequence[Sentence], weights: Mapping[str, int], max_tokens: int, count: Count, most: int | None, least: int
) -> list[Sentence]:
    chosen: list[Sentence] = []
    said = set[str]()
    waiting = list(found)
    while waiting and len(chosen) != most:
        weight = [one.weight(weights, said, least) for one in waiting]
        best = waiting.pop(weight.index(max(weight)))
        if best.terms <= said:
            break
        if (tokens := count(best.text)) <= max_tokens:
            chosen.append(best)
            said |= best.terms
            max_tokens -= tokens
        elif chosen:
            break
    return chosen


def _cut(text: str, max_tokens: int, count: Count) -> str:
    words = text.split()
    most = bisect_right(range(1, len(words) + 1), max_tokens, key=lambda number: count(" ".join(words[:number])))
    return " ".join(words[:most])
