"""A memory is named by what it says and by the sentences that say so."""

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.memory.records import Support, memory_id_of, memory_of

SUPPORTS = st.lists(st.builds(Support, st.sampled_from(["d:0", "d:1", "e:0"]), st.integers(0, 99), st.integers(100, 199)), min_size=1)
TEXTS = st.text(max_size=20)


@given(TEXTS, TEXTS, SUPPORTS, st.randoms())
def test_the_order_of_supports_and_a_repetition_play_no_part(question, answer, supports, chance):
    moved = [*supports, chance.choice(supports)]
    chance.shuffle(moved)
    one, other = memory_of("model", question, answer, supports, ["a"]), memory_of("model", question, answer, moved, ["a"])
    assert one == other
    assert list(one.supports) == sorted(set(supports))
    assert one.memory_id == memory_id_of("model", question, answer, one.supports)


@pytest.mark.parametrize(
    "other",
    [
        ("learned", "Who?", "Ann", [Support("d:0", 0, 9)]),
        ("model", "Who", "?Ann", [Support("d:0", 0, 9)]),
        ("model", "Who?", "Ben", [Support("d:0", 0, 9)]),
        ("model", "Who?", "Ann", [Support("d:0", 0, 8)]),
        ("model", "Who?", "Ann", [Support("d:1", 0, 9)]),
        ("model", "Who?", "Ann", [Support("d:0", 0, 9), Support("d:1", 0, 9)]),
    ],
)
def test_whatever_else_is_said_has_another_id(other):
    assert memory_id_of(*other) != memory_id_of("model", "Who?", "Ann", [Support("d:0", 0, 9)])


def test_the_words_that_it_is_found_by_are_not_part_of_its_id():
    one = memory_of("model", "Who?", "Ann", [Support("d:0", 0, 9)], ["a", "b", "a"])
    assert one.anchors == {"a", "b"}
    assert replace(one, anchors=frozenset()).memory_id == memory_of("model", "Who?", "Ann", one.supports, []).memory_id


def test_half_a_character_of_a_damaged_text_has_an_id_too():
    assert len(memory_id_of("learned", "\ud800?", "Ann", [])) == 16


def test_a_memory_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        memory_of("model", "Who?", "Ann", [], []).answer = "Ben"
