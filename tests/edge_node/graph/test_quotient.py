from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.partition import MOST_PARTS, quotient
from shared.records import Relation

HOME = {"a": "p", "b": "p", "c": "q", "d": "r"}


def related(**weights):
    return {tuple(pair): Relation(*pair, "", (), weight, ("1",)) for pair, weight in weights.items()}


def test_the_quotient_of_three_chunks_is_that_worked_out_by_hand():
    """The mean relation weighs 3; chunk 1 tells of three parts, chunk 2 of one, chunk 3 of two."""
    told = {"1": ("a", "c", "d"), "2": ("a", "b"), "3": ("c", "d")}
    weights = quotient(HOME, related(ab=3.0, ac=4.5, cd=1.5), told, tie=0.25)
    assert weights == {("p", "q"): 1.5 + 0.125, ("p", "r"): 0.125, ("q", "r"): 0.5 + 0.125 + 0.25}


def test_weights_of_several_relations_between_two_parts_are_added_whatever_their_direction():
    home = {"a": "q", "b": "p", "c": "p", "d": "q"}
    assert quotient(home, related(ab=1.0, cd=3.0), {}, tie=0.25) == {("p", "q"): 2.0}


def test_ten_times_the_weight_everywhere_is_the_same_quotient():
    told = {"1": ("a", "c", "d")}
    assert quotient(HOME, related(ac=10.0, cd=30.0), told, tie=0.25) == quotient(HOME, related(ac=1.0, cd=3.0), told, tie=0.25)


def test_without_a_tie_only_relations_count():
    assert quotient(HOME, related(ab=1.0, ac=1.0), {"1": ("a", "c", "d")}, tie=0.0) == {("p", "q"): 1.0}


def test_no_part_and_one_part_have_no_weights():
    assert quotient({}, {}, {}, tie=0.25) == quotient({"a": "p", "b": "p"}, related(ab=1.0), {"1": ("a", "b")}, tie=0.25) == {}


def test_an_entity_without_a_home_is_passed_over():
    weights = quotient({"a": "p", "c": "q"}, related(ac=1.0, cd=1.0), {"1": ("a", "c", "x"), "2": ("x",)}, tie=0.5)
    assert weights == {("p", "q"): 1.0 + 0.5}


def test_a_chunk_of_very_many_parts_ties_those_that_have_most_entities_in_it():
    home = {f"e{n:02}": f"p{n:02}" for n in range(MOST_PARTS + 1)} | {"again": f"p{MOST_PARTS}"}
    weights = quotient(home, {}, {"1": tuple(home)}, tie=1.0)
    assert {part for pair in weights for part in pair} == {f"p{n:02}" for n in range(MOST_PARTS + 1)} - {f"p{MOST_PARTS - 1}"}
    assert set(weights.values()) == {1 / (MOST_PARTS - 1)}


keys = st.sampled_from("abcdefgh")
homes = st.dictionaries(keys, st.sampled_from("pqrs"))
pairs = st.tuples(keys, keys).filter(lambda pair: pair[0] < pair[1])
relations = st.dictionaries(pairs, st.sampled_from([0.1, 0.7, 3.0]), max_size=12)
tellings = st.dictionaries(st.sampled_from("123456"), st.lists(keys, unique=True))


@settings(max_examples=50, deadline=None)
@given(homes, relations, tellings, st.randoms())
def test_the_order_of_input_makes_no_difference(home, weights, told, chance):
    def shuffled(items):
        return dict(chance.sample(list(items.items()), len(items)))

    given_relations = {pair: Relation(*pair, "", (), weight, ("1",)) for pair, weight in weights.items()}
    again = quotient(
        shuffled(home), shuffled(given_relations), {chunk: chance.sample(t, len(t)) for chunk, t in shuffled(told).items()}, tie=0.3
    )
    assert again == quotient(home, given_relations, told, tie=0.3)
    assert all(a < b and weight > 0 for (a, b), weight in again.items())


@settings(max_examples=50, deadline=None)
@given(homes, tellings)
def test_no_part_gets_more_than_the_tie_from_a_chunk(home, told):
    weights = quotient(home, {}, told, tie=0.25)
    for part in set(home.values()):
        chunks = sum(any(home.get(key) == part for key in entities) for entities in told.values())
        assert sum(weight for pair, weight in weights.items() if part in pair) <= 0.25 * chunks + 1e-9
