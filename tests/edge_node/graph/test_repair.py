from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.partition import partition
from edge_node.graph.repair import Partition, applied, modularity, repair, replace_all, worth_replacing

LIMIT = 4
HOMES = {}


def shape(*pairs):
    adjacency = {}
    for a, b in pairs:
        adjacency.setdefault(a, {})[b] = 1.0
        adjacency.setdefault(b, {})[a] = 1.0
    return adjacency


def repaired(parts, adjacency, *, new=(), gone=(), limit=LIMIT, homes=HOMES):
    change = repair(parts, adjacency, new=new, gone=gone, homes=homes, max_entities=limit)
    return change, applied(parts, change, gone=gone)


def test_a_new_entity_joins_the_part_that_it_is_related_to():
    parts = Partition.of({"p": ("a", "b"), "q": ("x", "y")})
    change, after = repaired(parts, shape(("a", "b"), ("x", "y"), ("c", "a")), new=["c"])
    assert after.members == {"p": ("a", "b", "c"), "q": ("x", "y")}
    assert [part.subgraph_id for part in change.changed] == ["p"]


def test_a_new_entity_beside_a_full_part_founds_its_own():
    parts = Partition.of({"p": ("a", "b", "c", "d")})
    _, after = repaired(parts, shape(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")), new=["e"])
    assert after.members["p"] == ("a", "b", "c", "d")
    assert after.home["e"] != "p"


def test_new_entities_without_relations_are_grouped_by_their_document():
    homes = {"a": ("1:0", "1"), "b": ("1:1", "1"), "c": ("2:0", "2")}
    _, after = repaired(Partition.of({}), {}, new=["a", "b", "c"], homes=homes, limit=2)
    assert sorted(after.members.values()) == [("a", "b"), ("c",)]


def test_an_entity_that_is_gone_leaves_its_part_and_an_empty_part_is_gone():
    parts = Partition.of({"p": ("a", "b"), "q": ("x",)})
    change, after = repaired(parts, shape(), gone=["a", "x"])
    assert (after.members, change.gone) == ({"p": ("b",)}, frozenset({"q"}))


def test_a_part_outside_the_change_keeps_its_place_and_is_not_packed_with_a_stranger():
    parts = Partition.of({"p": ("a",), "q": ("x",), "r": ("y",)})
    _, after = repaired(parts, shape(("x", "y"), ("a", "n")), new=["n"])
    assert (after.members["q"], after.members["r"]) == (("x",), ("y",))


def test_a_new_id_is_never_that_of_another_part():
    lonely = partition(["n"], {}, {})[0].subgraph_id
    parts = Partition.of({lonely: ("a", "b", "c", "d")})
    _, after = repaired(parts, {}, new=["n"])
    assert after.home["n"] != lonely


def test_modularity_is_that_of_two_cliques_by_hand():
    adjacency = shape(("a", "b"), ("b", "c"), ("a", "c"), ("x", "y"), ("y", "z"), ("x", "z"), ("c", "x"))
    home = dict.fromkeys("abc", "1") | dict.fromkeys("xyz", "2")
    assert round(modularity(adjacency, home), 6) == round(6 / 7 - 2 * (7 / 14) ** 2, 6)
    assert modularity({}, {}) == 0.0


def test_a_clearly_better_partition_is_worth_new_summaries_and_an_equal_one_is_not():
    adjacency = shape(("a", "b"), ("x", "y"))
    good, bad = Partition.of({"1": ("a", "b"), "2": ("x", "y")}), Partition.of({"1": ("a", "x"), "2": ("b", "y")})
    assert worth_replacing(bad, good, adjacency)
    assert not worth_replacing(good, good, adjacency)


def test_a_full_partition_keeps_the_ids_of_what_stays_together():
    parts = Partition.of({"p": ("a", "b"), "q": ("c",)})
    change = replace_all(parts, partition(["a", "b", "c"], {("a", "b"): 1.0}, {}, max_entities=2))
    assert (change.changed, change.gone) == ((), frozenset())


names = st.sampled_from("abcdefghijkl")
edges = st.lists(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), max_size=20)


@given(st.sets(names), edges, st.sets(names), edges)
@settings(max_examples=150)
def test_whatever_changes_each_entity_is_in_one_part_and_no_part_is_too_large(before, old_edges, after, new_edges):
    def among(pairs, keys):
        return shape(*(pair for pair in pairs if keys.issuperset(pair)))

    weights = {tuple(sorted(pair)): 1.0 for pair in old_edges if before.issuperset(pair)}
    parts = Partition.of({part.subgraph_id: part.entities for part in partition(sorted(before), weights, {}, max_entities=LIMIT)})
    change, now = repaired(parts, among(new_edges, after), new=sorted(after - before), gone=sorted(before - after))
    assert sorted(key for keys in now.members.values() for key in keys) == sorted(after) == sorted(now.home)
    assert all(0 < len(keys) <= LIMIT for keys in now.members.values())
    assert all(now.home[key] == subgraph_id for subgraph_id, keys in now.members.items() for key in keys)
    untouched = parts.members.keys() - change.gone - {part.subgraph_id for part in change.changed}
    assert all(now.members[subgraph_id] == parts.members[subgraph_id] for subgraph_id in untouched)
