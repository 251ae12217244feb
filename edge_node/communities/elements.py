"""What the writer of a report is told of a community: its elements in order of prominence, each sentence once (GraphRAG §2.5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from edge_node.communities.claims import Claim
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.view import fact_lines
from shared.records import ChunkId, Entity, Relation
from shared.text.fence import one_line
from shared.text.sentences import sentences

Element = Entity | Relation | Claim
_NO_CLAIMS: Mapping[str, tuple[Claim, ...]] = MappingProxyType({})
_HEADING = re.compile(r"#{1,6} ")  # as the readers write them


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence, of a description or of a report, and what it rests on."""

    text: str
    chunk_ids: tuple[ChunkId, ...]  # sorted
    elements: tuple[str, ...]  # keys of entities; of relations both ends, with a tab between them


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a context: an element by its name and what is said of it, or one finding of a report, which has no name."""

    name: str
    findings: tuple[Finding, ...]
    chunk_ids: tuple[ChunkId, ...]
    elements: tuple[str, ...]

    @property
    def text(self) -> str:
        """As it is read: the name, then the sentences, where there are any."""
        return ": ".join(filter(None, (self.name, " ".join(finding.text for finding in self.findings))))


def told_sentences(description: str) -> tuple[str, ...]:
    r"""The sentences of a description, each once; headings are none.

    >>> told_sentences("# Pumps\nIt leaks. It  leaks.")
    ('It leaks.',)
    """
    found = dict.fromkeys(one_line(description[start:end]) for start, end in sentences(description))
    return tuple(sentence for sentence in found if sentence and not _HEADING.match(sentence))


def elements_of(
    part: Graph,
    degrees: Mapping[str, int],
    claims: Mapping[str, Sequence[Claim]] = _NO_CLAIMS,
    *,
    split: Callable[[str], Sequence[str]] = told_sentences,
) -> tuple[Line, ...]:
    r"""One line for each entity, relation and claim of a community; a sentence stands in the first line that could tell it.

    By the combined degree of their ends, the relations, each behind its source, its target and the claims about these (GraphRAG §2.5); of
    equal ones the heavier first. Then the entities without a relation, those with most mentions first, which the paper leaves out. A claim
    that says nothing new has no line.
    degrees: relations of each entity in the whole graph, by key; raises KeyError for one that is missing. claims: by the key of their
    subject. split: ``told_sentences``, or one that remembers, as an element is told of on every level.

    >>> ann, mill = (Entity(key, key.title(), "", "Ann built the mill.", (ChunkId("d:0"),), 1) for key in ("ann", "mill"))
    >>> built = Relation("ann", "mill", "Ann built the mill.", ("build",), 1.0, (ChunkId("d:0"),))
    >>> lines = elements_of(Graph({"ann": ann, "mill": mill}, {("ann", "mill"): built}), {"ann": 1, "mill": 1})
    >>> [line.text for line in lines]
    ['Ann: Ann built the mill.', 'Mill', 'Ann - build - Mill']
    >>> lines[0].findings[0].elements
    ('ann', 'mill', 'ann\tmill')
    """
    elements = list(_ordered(part, degrees, claims))
    telling: defaultdict[str, list[int]] = defaultdict(list)
    for row, element in enumerate(elements):
        for sentence in split(element.description):
            telling[sentence].append(row)
    told: defaultdict[int, list[Finding]] = defaultdict(list)
    for sentence, rows in telling.items():
        keys = dict.fromkeys(_key(elements[row]) for row in rows)
        told[rows[0]].append(Finding(sentence, _shared_chunks([elements[row] for row in rows]), tuple(keys)))
    return tuple(
        Line(_name(element, part), tuple(told[row]), element.chunk_ids, (_key(element),))
        for row, element in enumerate(elements)
        if not isinstance(element, Claim) or told[row]
    )


def _ordered(part: Graph, degrees: Mapping[str, int], claims: Mapping[str, Sequence[Claim]]) -> Iterator[Element]:
    def prominence(relation: Relation) -> tuple[int, float, str, str]:
        return -degrees[relation.source] - degrees[relation.target], -relation.weight, relation.source, relation.target

    seen = set[str]()
    for relation in sorted(part.relations.values(), key=prominence):
        new = [key for key in dict.fromkeys((relation.source, relation.target)) if key not in seen]
        seen.update(new)
        yield from (part.entities[key] for key in new)
        yield from (claim for key in new for claim in claims.get(key, ()))
        yield relation
    for entity in sorted(part.entities.values(), key=lambda entity: (-entity.mentions, entity.key)):
        if entity.key not in seen:
            yield entity
            yield from claims.get(entity.key, ())


def _key(element: Element) -> str:
    if isinstance(element, Claim):
        return element.subject
    return element.key if isinstance(element, Entity) else f"{element.source}\t{element.target}"


def _shared_chunks(elements: Sequence[Element]) -> tuple[ChunkId, ...]:
    """Of elements that tell one sentence: it stands in a chunk that all have, or in one of each."""
    chunks = [set(element.chunk_ids) for element in elements]
    return tuple(sorted(set.intersection(*chunks) or set.union(*chunks)))


def _name(element: Element, part: Graph) -> str:
    if isinstance(element, Claim):
        return element.type
    if isinstance(element, Entity):
        return one_line(element.name)
    return one_line(fact_lines([(element.source, element.target)], part, skip_chunks=frozenset())[0])
