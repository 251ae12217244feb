"""Local search (KET-RAG Alg. 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.local_search import MOST_RELATIONS, SearchedGraph, entity_line, local_search, relation_line
from shared.records import Entity, Relation


def entity(key: str, description: str = "") -> Entity:
    return Entity(key, key, "thing", description, (), 1)


def relation(source: str, target: str, weight: float = 1.0) -> Relation:
    return Relation(source, target, "", (), weight, ())


def all_tell(element: Entity | Relation) -> bool:
    return True


def searched(
    links: Mapping[str, list[str]], *, sizes: Mapping[str, int], line_tokens: Mapping[str, int], nearness: Mapping[str, float] = {}
):
    """``links``: pieces by an entity's key or by a relation's ends, joined; ``line_tokens``: by what a line begins with."""

    def linked_pieces(element: Entity | Relation) -> list[str]:
        key = element.key if isinstance(element, Entity) else f"{element.source}-{element.target}"
        return links.get(key, [])

    def count(line: str) -> int:
        return next(tokens for start, tokens in line_tokens.items() if line.startswith(start))

    return SearchedGraph(
        linked_pieces, all_tell, str, sizes.__getitem__, lambda pieces: {piece: nearness.get(piece, 0.5) for piece in pieces}, count
    )


TWO = searched(
    {"a": ["p1", "p2"], "b": ["p1"], "a-b": ["p1"], "c-d": ["p3"]},
    sizes={"p1": 30, "p2": 30, "p3": 30},
    line_tokens={"a:": 20, "b:": 20, "a - related to - b": 10, "a - related to - c": 10, "c - related to - d": 1},
)
RELATIONS = [relation("c", "d", 9.0), relation("a", "c", 5.0), relation("a", "b")]


def test_lines_take_half_and_pieces_with_the_most_links_the_rest():
    """20 + 20 + 10 is half of 100, so (a, c) stays out, and (c, d) touches no seed; p1 has three links, and p2 would make 110."""
    found = local_search([entity("a"), entity("b")], RELATIONS, TWO, limit_tokens=100)
    assert found.lines == ("a:", "b:", "a - related to - b:")
    assert found.pieces == ("p1",)
    assert found.tokens == 80


def test_with_a_larger_limit_the_heavier_relation_of_one_seed_and_the_second_piece_follow():
    found = local_search([entity("a"), entity("b")], RELATIONS, TWO, limit_tokens=120)
    assert found.lines == ("a:", "b:", "a - related to - b:", "a - related to - c:")
    assert (found.pieces, found.tokens) == (("p1", "p2"), 120)


def test_what_must_not_be_told_has_no_line_and_the_seeds_still_find_their_pieces():
    found = local_search([entity("a"), entity("b")], RELATIONS, replace(TWO, tells=lambda element: False), limit_tokens=60)
    assert (found.lines, found.pieces, found.tokens) == ((), ("p1", "p2"), 60)


def test_a_relation_that_must_not_be_told_leaves_its_room_to_the_next():
    graph = replace(TWO, tells=lambda element: isinstance(element, Entity) or element.target != "b")
    assert local_search([entity("a"), entity("b")], RELATIONS, graph, limit_tokens=100).lines == ("a:", "b:", "a - related to - c:")


def test_equally_linked_pieces_come_by_cosine_and_then_by_id():
    graph = searched({"a": ["p3", "p2", "p1"]}, sizes=dict.fromkeys(["p1", "p2", "p3"], 1), line_tokens={"a:": 1}, nearness={"p3": 0.9})
    assert local_search([entity("a")], [], graph, limit_tokens=10).pieces == ("p3", "p1", "p2")


def test_a_piece_that_is_gone_is_left_out():
    graph = replace(TWO, cosines_of=lambda pieces: {"p2": 0.1})
    assert local_search([entity("a")], [], graph, limit_tokens=100).pieces == ("p2",)


def test_an_empty_graph_finds_nothing():
    found = local_search([], RELATIONS, TWO, limit_tokens=100)
    assert (found.lines, found.pieces, found.tokens) == ((), (), 0)


def test_of_a_hub_only_the_first_relations_are_counted():
    counted: list[str] = []

    def count(line: str) -> int:
        counted.append(line)
        return 1_000_000

    hub = [relation("a", f"x{number:04}") for number in range(5_000)]
    local_search([entity("a")], hub, replace(TWO, count=count), limit_tokens=100)
    assert len(counted) == 1 + MOST_RELATIONS


def test_a_line_is_one_line_whatever_a_document_says():
    assert entity_line(entity("a", "A mill.\n[2] Ward\u2028closed.")) == "a: A mill. [2] Ward closed."
    said = Relation("a", "b", "It\nturns.", ("drives\r\n",), 1.0, ())
    assert relation_line(said, lambda key: f"The\n{key}") == "The a - drives - The b: It turns."


def test_a_line_says_name_and_description():
    assert entity_line(Entity("orrin mill", "Orrin Mill", "place", "A mill.", (), 1)) == "Orrin Mill: A mill."


keys = st.sampled_from("abcdef")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(keys, unique=True, max_size=4),
    st.lists(st.tuples(keys, keys, st.integers(1, 3)), max_size=8),
    st.dictionaries(keys, st.lists(st.sampled_from(["p1", "p2", "p3"])), max_size=6),
    st.integers(0, 60),
)
def test_no_limit_is_ever_exceeded(seeds, triples, links, limit):
    relations = list({(min(a, b), max(a, b)): relation(min(a, b), max(a, b), float(w)) for a, b, w in triples if a != b}.values())
    sizes = {"p1": 7, "p2": 11, "p3": 13}
    graph = SearchedGraph(
        lambda element: links.get(element.key, []) if isinstance(element, Entity) else [],
        all_tell,
        str,
        sizes.__getitem__,
        lambda p: dict.fromkeys(p, 0.5),
        len,
    )
    found = local_search([entity(key) for key in seeds], relations, graph, limit_tokens=limit)
    told = sum(map(len, found.lines))
    assert told <= limit / 2
    assert told + sum(sizes[piece] for piece in found.pieces) == found.tokens <= limit
    assert len(set(found.pieces)) == len(found.pieces)


@pytest.mark.parametrize("limit", [0, 1])
def test_no_room_is_no_error(limit):
    assert local_search([entity("a")], RELATIONS, TWO, limit_tokens=limit).tokens == 0
