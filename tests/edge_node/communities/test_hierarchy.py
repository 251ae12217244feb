from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.communities.hierarchy import LEVELS, Uppers, community_id, finer, fresh_uppers, hierarchy_of, kept_uppers
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.partition import partition
from shared.records import Entity, Relation

CLIQUES = dict.fromkeys([*combinations("ABCD", 2), *combinations("WXYZ", 2)], 1.0)


def fresh(parts, weights, seed=7):
    return fresh_uppers(parts, weights, seed=seed, method="graspologic")


def named(parts, root, middle):
    return Uppers(dict(zip(parts, root, strict=True)), dict(zip(parts, middle, strict=True)))


def part_graph(entities, *pairs):
    return Graph(
        {key: Entity(key, key, "", "", ("1",), 1) for key in entities},
        {pair: Relation(*pair, "", (), 1.0, ("1",)) for pair in pairs},
    )


def groups(labels):
    return {frozenset(part for part in labels if labels[part] == label) for label in set(labels.values())}


def test_a_hierarchy_of_four_parts_is_that_worked_out_by_hand():
    """C0: 123, 4. C1: 12, 3, 4. C2: the parts. C3: 1 is divided, the others are not."""
    leaves = {"1": [("a", "b"), ("c",)], "2": [("d", "e")], "3": [("f",)], "4": [("y", "z")]}
    found = hierarchy_of(named("1234", "IIIJ", "iikl"), leaves)
    everything, pair, ab, c, abc, de, f, yz = map(community_id, ["abcdef", "abcde", "ab", "c", "abc", "de", "f", "yz"])
    assert set(found.roots) == {everything, yz}
    levels = [{everything, yz}, {pair, f, yz}, {abc, de, f, yz}, {ab, c, de, f, yz}]
    assert [set(found.at(level)) for level in range(LEVELS)] == levels
    coarsest = {everything: 0, yz: 0, pair: 1, f: 1, abc: 2, de: 2, ab: 3, c: 3}
    assert {own: community.level for own, community in found.communities.items()} == coarsest
    assert found.communities[pair].children == tuple(sorted([abc, de]))
    assert (found.communities[abc].parent, found.communities[f].parent, found.communities[yz].parent) == (pair, everything, "")
    assert found.communities[pair].entities == ("a", "b", "c", "d", "e")
    assert found.of_entity == {"a": ab, "b": ab, "c": c, "d": de, "e": de, "f": f, "y": yz, "z": yz}


def test_one_part_is_the_one_community_above_its_leaves():
    found = hierarchy_of(fresh(["1"], {}), {"1": [("a",), ("b",)]})
    assert found.at(0) == found.at(1) == found.at(2) == found.roots == (community_id("ab"),)
    assert set(found.at(3)) == {community_id("a"), community_id("b")}


def test_nothing_has_an_empty_hierarchy():
    found = hierarchy_of(fresh([], {}), {})
    assert (found.communities, found.roots, found.of_entity, found.at(0), found.at(3)) == ({}, (), {}, (), ())


def test_a_middle_label_under_two_roots_names_two_communities():
    found = hierarchy_of(named("12", "IJ", "ii"), {"1": [("a",)], "2": [("b",)]})
    assert set(found.at(1)) == {community_id("a"), community_id("b")}


def test_a_part_without_labels_is_an_error():
    with pytest.raises(KeyError):
        hierarchy_of(named("1", "I", "i"), {"2": [("a",)]})


def test_two_cliques_of_parts_are_two_roots():
    assert groups(fresh("ABCDWXYZ", {**CLIQUES, ("D", "W"): 0.1}).root) == {frozenset("ABCD"), frozenset("WXYZ")}


def test_what_is_one_root_is_divided_on_the_next_level():
    """Of a ring of twenty triangles Leiden joins neighbours (modularity's resolution limit), and parts them when it sees these alone."""
    triangles = [[f"{n:02}{end}" for end in "abc"] for n in range(20)]
    weights = {pair: 1.0 for triangle in triangles for pair in combinations(triangle, 2)}
    weights |= {tuple(sorted((triangles[n][2], triangles[(n + 1) % 20][0]))): 1.0 for n in range(20)}
    found = fresh([part for triangle in triangles for part in triangle], weights)
    assert len(groups(found.root)) < 20
    assert groups(found.middle) == set(map(frozenset, triangles))


def test_of_the_many_equal_divisions_of_a_ring_the_same_is_found_whatever_the_order():
    parts = [f"{n:02}" for n in range(60)]
    ring = {tuple(sorted((parts[n], parts[n - 1]))): 1.0 for n in range(60)}
    assert fresh(parts[::-1], dict(reversed(ring.items()))) == fresh(parts[7:] + parts[:7], ring) == fresh(parts, ring)


def test_parts_without_weights_stand_alone():
    assert groups(fresh("AB", {}).root) == {frozenset("A"), frozenset("B")}


def test_a_new_part_goes_with_the_neighbour_that_it_shares_most_weight_with():
    before = named("ABCDWXYZ", "IIIIJJJJ", "iiiijjjj")
    weights = {**CLIQUES, ("A", "N"): 1.0, ("N", "Z"): 2.0}
    parts = "ABCDNWXYZ"
    kept = kept_uppers(before, fresh(parts, weights), parts, weights)
    assert kept == named("ABCDWXYZN", "IIIIJJJJJ", "iiiijjjjj")


def test_of_two_equal_neighbours_the_first_by_id_counts():
    before, weights = named("AB", "IJ", "ij"), {("A", "N"): 1.0, ("B", "N"): 1.0}
    assert kept_uppers(before, before_with(before, N=("I", "i")), "NBA", weights).root["N"] == "I"


def before_with(uppers, **labels):
    roots, middles = ({part: pair[place] for part, pair in labels.items()} for place in (0, 1))
    return Uppers(uppers.root | roots, uppers.middle | middles)


def test_a_new_part_without_a_neighbour_keeps_its_fresh_labels_and_a_part_that_is_gone_drops_out():
    before = named("ABCDWXYZ", "IIIIJJJJ", "iiiijjjj")
    weights = {pair: weight for pair, weight in CLIQUES.items() if "D" not in pair}
    again = fresh("ABCNWXYZ", weights)
    kept = kept_uppers(before, again, "ABCNWXYZ", weights)
    assert kept == before_with(named("ABCWXYZ", "IIIJJJJ", "iiijjjj"), N=(again.root["N"], again.middle["N"]))


def test_former_labels_go_where_fresh_ones_are_clearly_better():
    before = named("ABCDWXYZ", "IJIJIJIJ", "ijijijij")
    again = fresh("ABCDWXYZ", CLIQUES)
    assert kept_uppers(before, again, "ABCDWXYZ", CLIQUES) == again


def test_former_labels_stay_where_fresh_ones_are_better_by_less_than_a_hundredth():
    """M belongs a little more to W than to D."""
    weights = {**CLIQUES, ("D", "M"): 1.0, ("M", "W"): 1.01}
    again = fresh("ABCDMWXYZ", weights)
    assert groups(again.root) == {frozenset("ABCD"), frozenset("MWXYZ")}
    before = named("ABCDMWXYZ", "IIIIIJJJJ", "iiiiijjjj")
    assert kept_uppers(before, again, "ABCDMWXYZ", weights) == before


def test_former_labels_go_where_a_middle_community_has_grown_to_more_than_twice_the_largest_fresh_one():
    """The roots are as good as the fresh ones; their middle communities have four parts, and five."""
    again = named("ABCDWXYZ", "IIIIJJJJ", "aabbwwyy")
    before = named("ABCDWXYZ", "KKKKLLLL", "kkkkllll")
    assert kept_uppers(before, again, "ABCDWXYZ", CLIQUES) == before
    larger, weights = before_with(before, N=("K", "k")), CLIQUES | {("A", "N"): 1.0, ("B", "N"): 1.0}
    again = before_with(again, N=("I", "n"))
    assert kept_uppers(larger, again, "ABCDNWXYZ", weights) == again


def test_leaves_are_the_parts_of_a_part():
    part = part_graph("abcxyz", *combinations("abc", 2), *combinations("xyz", 2), ("c", "x"))
    assert finer(part, max_entities=3, seed=7, method="graspologic", homes={}) == [("a", "b", "c"), ("x", "y", "z")]
    assert finer(part, max_entities=6, seed=7, method="graspologic", homes={}) == [tuple("abcxyz")]
    with pytest.raises(ValueError, match="expected 1 or more"):
        finer(part, max_entities=0, seed=7, method="graspologic", homes={})


part_ids = st.sampled_from("ABCDEFGHIJ")
part_pairs = st.tuples(part_ids, part_ids).filter(lambda pair: pair[0] < pair[1])
quotients = st.dictionaries(part_pairs, st.sampled_from([0.25, 1.0, 3.0]), max_size=20)


def among(weights, parts):
    return {pair: weight for pair, weight in weights.items() if parts.issuperset(pair)}


@st.composite
def graphs(draw):
    """Parts of a graph as the store keeps them, their leaves, and labels for them."""
    names = [f"n{n:02}" for n in range(draw(st.integers(0, 40)))]
    ends = (
        st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] < pair[1]) if len(names) > 1 else st.nothing()
    )
    edges = draw(st.sets(ends, max_size=80)) if len(names) > 1 else set()
    parts = {part.subgraph_id: part.entities for part in partition(names, dict.fromkeys(edges, 1.0), {}, max_entities=8)}
    leaves = {}
    for own, keys in parts.items():
        inside = part_graph(keys, *(pair for pair in edges if set(keys).issuperset(pair)))
        leaves[own] = finer(inside, max_entities=3, seed=7, method="graspologic", homes={})
    home = {key: own for own, keys in parts.items() for key in keys}
    between = {tuple(sorted((home[a], home[b]))): 1.0 for a, b in edges if home[a] != home[b]}
    return names, parts, leaves, fresh(parts, between)


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_each_level_covers_each_entity_once_and_children_make_up_their_parent(graph):
    names, parts, leaves, uppers = graph
    found = hierarchy_of(uppers, leaves)
    for level in range(LEVELS):
        assert sorted(key for own in found.at(level) for key in found.communities[own].entities) == names
    for own, community in found.communities.items():
        assert own == community.community_id == community_id(community.entities)
        inside = [found.communities[child] for child in community.children]
        assert not inside or sorted(key for child in inside for key in child.entities) == list(community.entities)
        assert len(inside) != 1
        assert all(child.parent == own and child.level > community.level for child in inside)
    assert set(found.at(0)) == set(found.roots) == {own for own, community in found.communities.items() if not community.parent}
    assert set(found.at(3)) == set(found.of_entity.values())
    assert all(key in found.communities[own].entities for key, own in found.of_entity.items())
    assert {found.communities[own].entities for own in found.at(2)} == set(parts.values())


@settings(max_examples=50, deadline=None)
@given(graphs(), st.randoms())
def test_the_order_of_parts_leaves_and_entities_makes_no_difference(graph, chance):
    _, _, leaves, uppers = graph
    again = {own: [chance.sample(leaf, len(leaf)) for leaf in chance.sample(pieces, len(pieces))] for own, pieces in leaves.items()}
    assert hierarchy_of(uppers, dict(chance.sample(list(again.items()), len(again)))) == hierarchy_of(uppers, leaves)


@settings(max_examples=50, deadline=None)
@given(st.sets(part_ids), quotients, st.integers(0, 3), st.randoms())
def test_fresh_labels_are_the_same_for_the_same_seed_and_nested(parts, weights, seed, chance):
    weights = among(weights, parts)
    found = fresh(sorted(parts), weights, seed)
    assert fresh(chance.sample(sorted(parts), len(parts)), dict(chance.sample(list(weights.items()), len(weights))), seed) == found
    assert found.root.keys() == found.middle.keys() == parts
    assert all(any(middle <= root for root in groups(found.root)) for middle in groups(found.middle))


@settings(max_examples=50, deadline=None)
@given(st.sets(part_ids), quotients, st.sets(part_ids), quotients)
def test_no_part_is_left_out_and_none_that_was_there_moves_unless_all_labels_are_fresh(old, old_weights, parts, weights):
    before = fresh(old, among(old_weights, old))
    weights = among(weights, parts)
    again = fresh(parts, weights)
    found = kept_uppers(before, again, parts, weights)
    assert found.root.keys() == found.middle.keys() == parts
    stayed = all(found.root[part] == before.root[part] and found.middle[part] == before.middle[part] for part in old & parts)
    assert stayed or found == again


@settings(max_examples=50, deadline=None)
@given(st.sets(part_ids), quotients, st.integers(0, 3))
def test_where_nothing_changed_all_labels_stay(parts, weights, seed):
    weights = among(weights, parts)
    again = fresh(parts, weights, seed)
    before = Uppers(*({part: f"former {label}" for part, label in labels.items()} for labels in (again.root, again.middle)))
    assert kept_uppers(before, again, parts, weights) == before
