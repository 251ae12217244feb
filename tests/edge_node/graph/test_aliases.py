import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.names import acronym_definitions, words_and_acronyms
from edge_node.extraction.words import opposed
from edge_node.graph.aliases import AliasPair, EntityName, canonical_keys, find_aliases
from edge_node.graph.spellings import alike_pairs, compatible


def named(*keys: str, mentions: int = 1) -> list[EntityName]:
    return [EntityName(key, key, mentions) for key in keys]


def same_direction(*keys: str):
    return {key: np.array([1.0, 0.0], dtype=np.float32) for key in keys}


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("The Gross Domestic Product (GDP) rose.", ("gross domestic product", "gdp")),
        ("GDP (gross domestic product) rose.", ("gross domestic product", "gdp")),
        ("the Food and Drug Administration (FDA)", ("food and drug administration", "fda")),
        ("the Department of Energy (DOE)", ("department of energy", "doe")),
        ("Collateralized mortgage obligations (CMOs) fell.", ("collateralized mortgage obligation", "cmo")),
        ("attention-deficit hyperactivity disorder (ADHD)", ("attention deficit hyperactivity disorder", "adhd")),
    ],
)
def test_an_acronym_beside_its_words_is_a_definition(text, pair):
    assert acronym_definitions(text) == {pair}


@given(
    st.lists(st.sampled_from(["Gross", "Domestic", "Product", " ", "\n", "(", ".", "-x", "’s", " (GDP) ", "(GDP)"]), max_size=40).map(
        "".join
    )
)
def test_the_words_before_an_acronym_are_those_that_one_expression_for_both_would_find(text):
    both = re.compile(r"((?:[\w’'-]+[ \n]+){1,10})\(\s*(GDP)\s*\)")
    assert list(words_and_acronyms(text)) == [(match[1], match[2]) for match in both.finditer(text)]


@pytest.mark.parametrize("text", ["It met the board (SEC).", "a bank (the Fed)", "Smith (2001)", "", "( GDP )", "old pumps (see Figure 2)"])
def test_words_whose_initials_do_not_fit_define_nothing(text):
    assert acronym_definitions(text) == frozenset()


def test_an_acronym_joins_the_name_that_is_mentioned_more():
    names = [EntityName("gross domestic product", "gross domestic product", 2), EntityName("gdp", "GDP", 9)]
    assert find_aliases(names, {("gross domestic product", "gdp")}) == [AliasPair("gross domestic product", "gdp", "acronym", 1.0)]


def test_an_acronym_with_two_meanings_joins_neither():
    names = [*named("world health organization", "white house office"), EntityName("who", "WHO", 3)]
    assert find_aliases(names, {("world health organization", "who"), ("white house office", "who")}) == []


def test_a_word_that_only_looks_like_an_acronym_joins_nothing():
    names = [*named("intellectual disability"), EntityName("id", "id", 5)]
    assert find_aliases(names, {("intellectual disability", "id")}) == []


def test_a_definition_of_an_unknown_name_is_ignored():
    assert find_aliases(named("blood"), {("gross domestic product", "gdp")}) == []


def test_a_space_within_a_word_makes_no_other_thing():
    assert canonical_keys(find_aliases(named("blood stream", "bloodstream"))) == {"blood stream": "bloodstream"}


def test_an_initial_may_be_left_out_of_a_name():
    names = [EntityName("louis d brandeis", "Louis D. Brandeis", 1), EntityName("louis brandeis", "Louis Brandeis", 1)]
    assert canonical_keys(find_aliases(names)) == {"louis d brandeis": "louis brandeis"}


@pytest.mark.parametrize(("a", "b"), [("hepatitis b virus", "hepatitis virus"), ("hemoglobin", "hemoglobin s"), ("lawrence", "lawrence v")])
def test_a_letter_that_is_no_initial_tells_two_things_apart(a, b):
    assert find_aliases(named(a, b), vectors=same_direction(a, b)) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("brackwel work", "brackwell work"),
        ("democratic republic of congo", "democratic republic of the congo"),
        ("external and internal iliac artery", "internal and external iliac artery"),
        ("department of justice", "justice department"),
        ("national security adviser", "national security advisor"),
    ],
)
def test_a_slip_a_small_word_and_the_order_of_what_is_joined_are_candidates(a, b):
    assert [pair[:2] for pair in alike_pairs([b, a])] == [(a, b)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("trade deficit", "us trade deficit"),
        ("low unemployment rate", "lower unemployment rate"),
        ("south africa", "south african"),
        ("development economics", "development economist"),
        ("behaviorism", "behaviorist"),
        ("oxygen transport", "transport oxygen"),
        ("lc worker", "lm worker"),
    ],
)
def test_another_word_ending_or_order_is_another_thing(a, b):
    assert alike_pairs([a, b]) == []


def test_two_letters_are_two_things():
    assert (
        find_aliases(
            named("antihemolytic factor b", "antihemolytic factor c"),
            vectors=same_direction("antihemolytic factor b", "antihemolytic factor c"),
        )
        == []
    )


def test_one_letter_within_a_word_needs_vectors_to_be_joined():
    names = named("brackwell work", "brackwel work")
    assert find_aliases(names) == []
    assert canonical_keys(find_aliases(names, vectors=same_direction("brackwell work", "brackwel work"))) == {
        "brackwell work": "brackwel work"
    }


def test_names_far_in_meaning_stay_apart():
    vectors = {"mesencephalon": np.array([1, 0], dtype=np.float32), "metencephalon": np.array([0, 1], dtype=np.float32)}
    assert find_aliases(named("mesencephalon", "metencephalon"), vectors=vectors) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("ward number 11", "ward number 12"),
        ("battery pack cx 40", "battery pack cx 42"),
        ("hypertensive kidney disease", "hypotensive kidney disease"),
        ("anterior communicating artery", "posterior communicating artery"),
        ("preganglionic neurons", "postganglionic neurons"),
        ("unconditioned stimulus", "conditioned stimulus"),
        ("afferent arteriole", "efferent arteriole"),
        ("sympathetic nervous system", "parasympathetic nervous system"),
    ],
)
def test_numbers_and_opposites_keep_names_apart(a, b):
    assert not compatible(a, b, "spelling")
    assert find_aliases(named(a, b), vectors=same_direction(a, b)) == []


def test_opposites_do_not_meet_by_a_third_name():
    keys = ("conditioned stimulus", "nconditioned stimulus", "unconditioned stimulus")
    merged = canonical_keys(find_aliases(named(*keys), vectors=same_direction(*keys)))
    assert merged
    assert merged.get("conditioned stimulus", "conditioned stimulus") != merged.get("unconditioned stimulus", "unconditioned stimulus")


def test_plain_differences_are_no_opposites():
    assert not opposed("nerve cell", "nerve fibre")
    assert not opposed("aorta", "aorta")


KEYS = [
    "blood stream",
    "bloodstream",
    "blood streams",
    "lung cancer",
    "lungcancer",
    "gdp",
    "gross domestic product",
    "ward 1 east",
    "ward 2 east",
]


@given(st.permutations(KEYS), st.lists(st.integers(1, 3), min_size=len(KEYS), max_size=len(KEYS)))
def test_the_order_of_names_makes_no_difference(order, mentions):
    names = [EntityName(key, key.upper(), n) for key, n in zip(KEYS, mentions, strict=True)]
    definitions = {("gross domestic product", "gdp")}
    shuffled = sorted(names, key=lambda name: order.index(name.key))
    assert find_aliases(shuffled, definitions) == find_aliases(names, definitions)


@given(st.lists(st.text("abc 12", min_size=1, max_size=12), max_size=30, unique=True), st.randoms())
def test_an_alias_leads_to_a_name_that_is_no_alias(keys, chance):
    names = [EntityName(key, key, chance.randint(1, 3)) for key in keys if key.strip()]
    pairs = find_aliases(names)
    chance.shuffle(names)
    assert find_aliases(names) == pairs
    merged = canonical_keys(pairs)
    assert not set(merged) & set(merged.values())


def test_no_names_have_no_aliases():
    assert find_aliases([]) == []
