"""What the writer of a report is told of a community: its elements in order of prominence, each sentence once (GraphRAG §2.5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edge_node.graph.facts import fact_lines
from edge_node.graph.knowledge_graph import Graph
from shared.fence import one_line
from shared.records import ChunkId, Entity, Relation
from shared.sentences import sentences

Element = Entity | Relation
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


def elements_of(part: Graph, degrees: Mapping[str, int]) -> tuple[Line, ...]:
    r"""One line for each entity and relation of a community; a sentence stands in the first line that could tell it.

    By the combined degree of their ends, the relations, each behind its source and its target (GraphRAG §2.5); of equal ones the heavier
    first. Then the entities without a relation, those with most mentions first, which the paper leaves out.
    degrees: relations of each entity in the whole graph, by key; raises KeyError for one that is missing.

    >>> ann, mill = (Entity(key, key.title(), "", "Ann built the mill.", (ChunkId("d:0"),), 1) for key in ("ann", "mill"))
    >>> built = Relation("ann", "mill", "Ann built the mill.", ("build",), 1.0, (ChunkId("d:0"),))
    >>> lines = elements_of(Graph({"ann": ann, "mill": mill}, {("ann", "mill"): built}), {"ann": 1, "mill": 1})
    >>> [line.text for line in lines]
    ['Ann: Ann built the mill.', 'Mill', 'Ann - build - Mill']
    >>> lines[0].findings[0].elements
    ('ann', 'mill', 'ann\tmill')
    """
    ordered = _ordered(part, degrees)
    telling: defaultdict[str, list[str]] = defaultdict(list)
    for key, element in ordered.items():
        for sentence in _sentences(element):
            telling[sentence].append(key)
    told: defaultdict[str, list[Finding]] = defaultdict(list)
    for sentence, keys in telling.items():
        told[keys[0]].append(Finding(sentence, _shared_chunks([ordered[key] for key in keys]), tuple(keys)))
    return tuple(Line(_name(element, part), tuple(told[key]), element.chunk_ids, (key,)) for key, element in ordered.items())


def _ordered(part: Graph, degrees: Mapping[str, int]) -> dict[str, Element]:
    def prominence(relation: Relation) -> tuple[int, float, str, str]:
        return -degrees[relation.source] - degrees[relation.target], -relation.weight, relation.source, relation.target

    found: dict[str, Element] = {}
    for relation in sorted(part.relations.values(), key=prominence):
        for key in (relation.source, relation.target):
            found.setdefault(key, part.entities[key])
        found[f"{relation.source}\t{relation.target}"] = relation
    for entity in sorted(part.entities.values(), key=lambda entity: (-entity.mentions, entity.key)):
        found.setdefault(entity.key, entity)
    return found


def _sentences(element: Element) -> list[str]:
    """Of its description, each once; headings are none."""
    text = element.description
    found = dict.fromkeys(one_line(text[start:end]) for start, end in sentences(text))
    return [sentence for sentence in found if sentence and not _HEADING.match(sentence)]


def _shared_chunks(elements: Sequence[Element]) -> tuple[ChunkId, ...]:
    """Of elements that tell one sentence: it stands in a chunk that all have, or in one of each."""
    chunks = [set(element.chunk_ids) for element in elements]
    return tuple(sorted(set.intersection(*chunks) or set.union(*chunks)))


def _name(element: Element, part: Graph) -> str:
    if isinstance(element, Entity):
        return one_line(element.name)
    return one_line(fact_lines([(element.source, element.target)], part, skip_chunks=frozenset())[0])
