"""Local search on a graph (KET-RAG §3.2, Alg. 2): lines of seed entities and their relations, then the pieces that they link to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import floor

from edge_node.graph.knowledge_graph import Adjacency, Graph
from shared.records import Entity, Relation
from shared.text.fence import one_line

SEEDS = 10  # entities nearest the question (Alg. 2 l. 1)
LINE_SHARE = 0.5  # of the limit, for lines (Alg. 2 l. 2)
MOST_RELATIONS = 200  # are looked at: an entity may have thousands, of which a few dozen fit
MOST_KEYWORDS = 3  # of a relation, in its line


@dataclass(frozen=True, slots=True)
class Context:
    """Lines of a graph in their order, and pieces, best first."""

    lines: tuple[str, ...]
    pieces: tuple[str, ...]
    tokens: int  # of both


def fitting(keys: Iterable[str], tokens_of: Callable[[str], int], limit_tokens: int) -> dict[str, int]:
    """The keys in their order that fit, with their tokens. Nothing is cut: what does not fit is skipped, and what is smaller may follow.

    >>> fitting("abc", {"a": 5, "b": 9, "c": 4}.__getitem__, 10)
    {'a': 5, 'c': 4}
    """
    taken: dict[str, int] = {}
    left = limit_tokens
    for key in keys:
        if left <= 0:
            break
        if key not in taken and (tokens := tokens_of(key)) <= left:
            taken[key] = tokens
            left -= tokens
    return taken


def part_of(limit_tokens: int, share: float) -> int:
    """A share of a number of tokens, rounded down.

    >>> part_of(100, 0.29), 100 * 0.29 < 29
    (29, True)
    """
    return floor(round(limit_tokens * share, 9))


def lines_within(lines: Sequence[str], budget_tokens: int, count: Callable[[str], int]) -> tuple[str, ...]:
    """The first lines, as many as fit, each of ``count(line)`` tokens.

    >>> lines_within(["one", "two", "three"], 2, lambda line: 1)
    ('one', 'two')
    """
    kept, used = [], 0
    for line in lines:
        used += count(line)
        if used > budget_tokens:
            break
        kept.append(line)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class SearchedGraph:
    """What the search asks of a graph, all of it as the asker may see it."""

    linked_pieces: Callable[[Entity | Relation], Iterable[str]]  # of an element
    tells: Callable[[Entity | Relation], bool]  # whether its line may be shown
    name_of: Callable[[str], str]  # of an entity, by key
    tokens_of: Callable[[str], int]  # of a piece
    cosines_of: Callable[[Sequence[str]], Mapping[str, float]]  # of pieces with the question; pieces that are gone are left out
    count: Callable[[str], int]  # tokens of a line


def relations_of(seeds: Iterable[Entity], graph: Graph, adjacency: Adjacency) -> list[Relation]:
    """The relations of any of the seeds, each once, by name. One that the graph lacks is left out.

    >>> pump = Relation("plant", "pump", "", (), 1.0, ())
    >>> relations_of([Entity("pump", "Pump", "", "", (), 1)], Graph({}, {("plant", "pump"): pump}), {"pump": {"plant": 1.0}}) == [pump]
    True
    """
    pairs = {(min(seed.key, other), max(seed.key, other)) for seed in seeds for other in adjacency.get(seed.key, ())}
    return [graph.relations[pair] for pair in sorted(pairs) if pair in graph.relations]


def local_search(seeds: Sequence[Entity], relations: Iterable[Relation], graph: SearchedGraph, *, limit_tokens: int) -> Context:
    """Alg. 2 l. 2-4 in at most ``limit_tokens``.

    seeds: the entities nearest the question, best first (l. 1). relations: those of any of them; others are left out.
    Lines take at most half of the limit, and relations with a line count as linking (l. 2). Pieces, those with the most links
    first, then the nearer ones, take all that is left (l. 3).
    """
    near = filter(graph.tells, _ordered(relations, {seed.key for seed in seeds}))
    told = {relation_line(relation, graph.name_of): relation for relation in near}
    lines = fitting([*map(entity_line, filter(graph.tells, seeds)), *told], graph.count, part_of(limit_tokens, LINE_SHARE))
    linking: list[Entity | Relation] = [*seeds, *(told[line] for line in lines if line in told)]
    links = Counter(piece for element in linking for piece in set(graph.linked_pieces(element)))
    cosines = graph.cosines_of(list(links))
    nearest = sorted(cosines, key=lambda piece: (-links[piece], -cosines[piece], piece))
    used = sum(lines.values())
    pieces = fitting(nearest, graph.tokens_of, limit_tokens - used)
    return Context(tuple(lines), tuple(pieces), used + sum(pieces.values()))


def entity_line(entity: Entity) -> str:
    """An entity in a context.

    >>> entity_line(Entity("mill", "Mill", "place", "It grinds.", (), 1))
    'Mill: It grinds.'
    """
    return one_line(f"{entity.name}: {entity.description}")


def relation_line(relation: Relation, name_of: Callable[[str], str]) -> str:
    """A relation in a context.

    >>> relation_line(Relation("ann", "mill", "Ann built it.", ("built",), 1.0, ()), str.title)
    'Ann - built - Mill: Ann built it.'
    """
    words = ", ".join(relation.keywords[:MOST_KEYWORDS]) or "related to"
    return one_line(f"{name_of(relation.source)} - {words} - {name_of(relation.target)}: {relation.description}")


def _ordered(relations: Iterable[Relation], seeds: Collection[str]) -> list[Relation]:
    """Those with a seed end: first those that join two seeds, then by weight, then by name (Alg. 2 l. 2)."""

    def seed_ends(one: Relation) -> int:
        return (one.source in seeds) + (one.target in seeds)

    near = (one for one in relations if seed_ends(one))
    return nsmallest(MOST_RELATIONS, near, key=lambda one: (-seed_ends(one), -one.weight, one.source, one.target))
