"""What a node of the tree says: sentences of its children, or a model's summary of them (EraRAG §III-C, Alg. 1 l. 13)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from shared.fence import Fence, one_line
from shared.ports import Prompt
from shared.prompts import load_prompt
from shared.sentences import sentences

Terms = Callable[[str], Collection[str]]  # the words of a text that carry meaning
Count = Callable[[str], int]  # tokens of a text


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: tuple[int, int]  # child, and where in it
    text: str
    terms: frozenset[str]

    def weight(self, weights: Mapping[str, int], said: Collection[str]) -> float:
        """Of its terms, on average; one that was said weighs nothing."""
        return sum(weights[term] for term in self.terms if term not in said) / len(self.terms) if self.terms else 0.0


def node_text(children: Sequence[str], *, max_tokens: int, count: Count, terms: Terms) -> str:
    """Say without a model what the children are about, in sentences of theirs, at most ``max_tokens`` tokens; "" if all are blank.

    A greedy cover, after SumBasic (Nenkova and Vanderwende 2005): a term weighs as many children as hold it, and nothing once it was
    said; the sentence whose terms weigh most on average comes next, of equal ones the first, until one says nothing new or does not fit.
    They stand in the children's order. Where no sentence fits, the heaviest one is cut behind a word.

    >>> from shared.sentences import content_words
    >>> said = ["It rains. The pumps leak.", "The pump leaked. Gates close."]
    >>> node_text(said, max_tokens=5, count=lambda text: len(text.split()), terms=content_words)
    'It rains. The pumps leak.'
    """
    found = _sentences_of(children, terms)
    of_child = [set[str]() for _ in children]
    for one in found:
        of_child[one.place[0]] |= one.terms
    weights = Counter(term for held in of_child for term in held)
    if chosen := _cover(found, weights, max_tokens, count):
        return " ".join(one.text for one in sorted(chosen, key=lambda one: one.place))
    heaviest = max(found, key=lambda one: one.weight(weights, ()), default=None)
    return _cut(heaviest.text, max_tokens, count) if heaviest else ""


def segment_prompt(children: Sequence[str], fence: Fence, *, max_tokens: int, max_chars: int) -> Prompt:
    """Ask a model for a summary of at most ``max_tokens``; every child may take an equal part of ``max_chars`` (Alg. 1 l. 13).

    The children are foreign text, of several authors: they stand in the frame, each on one line.
    """
    room = max_chars // max(1, len(children))
    passages = fence.around("\n".join(f"- {one_line(child)[:room]}" for child in children))
    return Prompt(load_prompt("edge_node.strategies.erarag", "summarise_segment").render(passages=passages), max_tokens=max_tokens)


def _sentences_of(children: Sequence[str], terms: Terms) -> list[_Sentence]:
    spans = [(number, child, span) for number, child in enumerate(children) for span in sentences(child)]
    texts = [((number, start), " ".join(child[start:end].split())) for number, child, (start, end) in spans]
    return [_Sentence(place, text, frozenset(terms(text))) for place, text in texts if text]


def _cover(found: Sequence[_Sentence], weights: Mapping[str, int], max_tokens: int, count: Count) -> list[_Sentence]:
    chosen: list[_Sentence] = []
    said = set[str]()
    waiting = list(found)
    while waiting:
        weight = [one.weight(weights, said) for one in waiting]
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
