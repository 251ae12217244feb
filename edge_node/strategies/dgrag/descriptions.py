"""④ Descriptions of what a question has found in the graph, each with the passages that it is cited from (LightRAG §3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from edge_node.extraction.words import PRONOUNS
from edge_node.graph.knowledge_graph import Pair
from edge_node.graph.passages import Passages
from edge_node.graph.view import View, relation_key
from edge_node.records import PassageSummary
from shared.ports import FloatArray
from shared.records import Entity, Relation
from shared.text.fence import one_line
from shared.text.sentences import WORD, sentences

if TYPE_CHECKING:
    from edge_node.strategies.dgrag.search import RankedChunks

CUT = "…"  # the end of a sentence that was too long for a mention
MOST_BELOW = 16  # passages that a description is cited from: those of its element that are nearest to the question

POINTING = PRONOUNS | {"her", "his", "its", "such", "that", "their", "these", "this", "those"}  # to somebody or something named before


@dataclass(frozen=True, slots=True)
class Describer:
    """Describes what was found, for one who may see every document: a description mixes all that tell of its element (ADR 33)."""

    view: View
    passages: Passages
    vector: FloatArray  # of the question
    count: Callable[[str], int]  # tokens of a line

    def within(self, found: RankedChunks, budget_tokens: int) -> tuple[PassageSummary, ...]:
        """Entities, relations and neighbours in turn, each in their order, as many as fit; one that does not is skipped.

        So is one that says nothing, and one of a document that is gone: until the next settle it stands in the graph.
        """
        kept, left = list[PassageSummary](), budget_tokens
        further = dict.fromkeys(pair for pair in found.near if pair not in found.hits)
        relations, near = self._of_relations(found.hits), self._of_relations(further)
        in_turn = zip_longest(self._of_entities(found.entities), relations, near)
        for description in (one for several in in_turn for one in several if one is not None):
            if left <= 0:
                break
            if (tokens := self.count(description.line)) <= left:
                kept.append(description)
                left -= tokens
        return tuple(kept)

    def _of_entities(self, keys: Iterable[str]) -> Iterator[PassageSummary]:
        entities = self.view.graph.entities
        for key in keys:
            if key in entities:
                yield from self._of(key, entities[key], [entities[key].name], entities[key].name)

    def _of_relations(self, pairs: Iterable[Pair]) -> Iterator[PassageSummary]:
        relations, entities = self.view.graph.relations, self.view.graph.entities
        for pair in pairs:
            if pair in relations:
                one = relations[pair]
                ends = [entities[one.source].name, entities[one.target].name]
                yield from self._of(relation_key(pair), one, ends, " and ".join(ends))

    def _of(self, key: str, element: Entity | Relation, names: Sequence[str], about: str) -> Iterator[PassageSummary]:
        near = self.passages.scores(self.vector, element.chunk_ids)
        if not element.description or len(near) < len(element.chunk_ids):
            return
        below = sorted(near.items(), key=lambda one: (-one[1], one[0]))[:MOST_BELOW]
        passages = self.passages.all_of(below)
        if text := by_itself(element.description, names, [passage.text for passage in passages]):
            is_named = all(name in text for name in names)
            yield PassageSummary(key, text, max(near.values()), passages, "" if is_named else about)


def by_itself(description: str, names: Sequence[str], texts: Sequence[str]) -> str:
    """A description in whole sentences that can be read alone: without those that begin with a word for somebody named before, as "He".

    names: of what is described, which may be such a word. texts: its passages, where a sentence that was cut off is whole. The words are
    English; what a model wrote names both ends of a relation.

    >>> by_itself("He died in 911. Ann Lee built… It is old.", ["Ann Lee"], ["He died in 911. Ann Lee built the mill."])
    'Ann Lee built the mill.'
    >>> by_itself("It is a film of 2017.", ["It"], [])
    'It is a film of 2017.'
    """
    said = description.replace(f"{CUT} ", f"{CUT}\n")
    parts = [_whole(part, texts) for start, end in sentences(said) if (part := said[start:end].strip())]
    words = ((part, WORD.search(part)) for part in parts)
    return " ".join(part for part, word in words if part.startswith(tuple(names)) or word is None or word[0].casefold() not in POINTING)


def _whole(part: str, texts: Sequence[str]) -> str:
    """A sentence as the first of the texts has it that goes on where it was cut off."""
    if not part.endswith(CUT):
        return part
    whole = (one_line(text[start:end]) for text in texts for start, end in sentences(text))
    return next((sentence for sentence in whole if sentence.startswith(part.removesuffix(CUT))), part)
