"""What is remembered nearest a question: by hand, and against a search through all of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.memory.anchors import dice
from edge_node.memory.recall import RecallIndex
from edge_node.memory.records import Support, memory_of
from shared.records import document_of
from shared.text.sentences import content_words
from shared.vectors import unit

EAST, NORTH, BETWEEN = unit(np.array([[1, 0], [0, 1], [3, 4]], dtype=np.float32))
ANCHORS = ["mill", "ann", "bridge", "orrin mill", "1881"]


def remembered(question, answer, anchors, *documents):
    return memory_of("template", question, answer, [Support(f"{document}:0", 0, 9) for document in documents or ("d",)], anchors)


BUILT = remembered("Who built Orrin Mill?", "Ann Lee", {"orrin mill", "built", "ann lee"})
BURNT = remembered("When did Orrin Mill burn?", "1881", {"orrin mill", "burn", "1881"}, "e")
SOLD = remembered("What did Bo Ray sell?", "slate", {"bo ray", "sell", "slate"}, "f")


def index_of(*pairs):
    return RecallIndex.of([memory for memory, _ in pairs], np.stack([vector for _, vector in pairs]))


def found(index, vector, anchors, *, k=9, alpha=0.7, floor=0.0, **how):
    return [(one.memory, round(one.score, 4)) for one in index.best(vector, anchors, k=k, alpha=alpha, floor=floor, **how)]


THREE = index_of((BUILT, EAST), (BURNT, BETWEEN), (SOLD, NORTH))


def test_the_score_weighs_meaning_and_anchors():
    """0.7 · 0.6 + 0.3 · 0.4 for the second: cosine of (1, 0) with (3, 4)/5, and 2 · 1/(2 + 3)."""
    best = THREE.best(EAST, {"orrin mill", "built"}, k=2, alpha=0.7, floor=0.0)
    assert [(one.memory, round(one.score, 4), round(one.cosine, 4), one.dice) for one in best] == [
        (BUILT, 0.94, 1.0, 0.8),
        (BURNT, 0.54, 0.6, 0.4),
    ]


@pytest.mark.parametrize(("floor", "left"), [(0.0, [BUILT, BURNT, SOLD]), (0.2, [BUILT, BURNT]), (0.6, [BUILT]), (0.95, []), (2.0, [])])
def test_what_is_below_the_floor_is_left_out(floor, left):
    assert [memory for memory, _ in found(THREE, EAST, {"orrin mill", "built"}, floor=floor)] == left


def test_a_floor_that_is_reached_exactly_is_reached():
    assert found(index_of((BUILT, EAST)), EAST, BUILT.anchors, alpha=0.5, floor=1.0) == [(BUILT, 1.0)]


def test_without_a_shared_anchor_a_floor_above_alpha_is_out_of_reach():
    assert found(THREE, EAST, {"unheard"}, alpha=0.7, floor=0.71) == []
    assert found(THREE, EAST, {"unheard"}, alpha=0.7, floor=0.69) == [(BUILT, 0.7)]
    assert found(THREE, EAST, set(), alpha=0.7, floor=0.69) == [(BUILT, 0.7)]


def test_meaning_alone_and_anchors_alone_decide_at_the_ends_of_alpha():
    assert found(THREE, NORTH, BUILT.anchors, k=1, alpha=1.0) == [(SOLD, 1.0)]
    assert found(THREE, NORTH, BUILT.anchors, k=1, alpha=0.0) == [(BUILT, 1.0)]


def test_equal_scores_stand_in_the_order_of_ids_whichever_came_first():
    twins = [remembered(f"What is {name} Mill?", name, {"mill"}) for name in ("Ann", "Bo", "Cy", "Di")]
    ids = sorted(memory.memory_id for memory in twins)
    for several in (twins, twins[::-1]):
        best = found(index_of(*((memory, EAST) for memory in several)), EAST, {"mill"}, k=3)
        assert [memory.memory_id for memory, _ in best] == ids[:3]


def test_the_same_question_with_the_same_answer_counts_once_and_brings_the_others_along():
    again = remembered("Orrin Mill, who built it?", "ann lee.", {"orrin mill"}, "g")
    other = remembered("Who built Orrin Mill?", "Bo Ray", {"orrin mill", "built"}, "h")
    best = index_of((again, BETWEEN), (BUILT, EAST), (other, EAST)).best(EAST, BUILT.anchors, k=9, alpha=0.7, floor=0)
    assert [(one.memory, one.same) for one in best] == [(BUILT, (again,)), (other, ())]


def test_as_many_answers_as_are_wanted_come_though_one_is_remembered_many_times():
    many = [(remembered("Who built Orrin Mill?", "Ann Lee", {"orrin mill"}, f"g{number}"), EAST) for number in range(40)]
    best = index_of(*many, (SOLD, NORTH)).best(EAST, {"orrin mill"}, k=2, alpha=0.7, floor=0)
    assert [(one.memory.answer, len(one.same)) for one in best] == [("Ann Lee", 39), ("slate", 0)]


def test_a_memory_that_rests_on_a_withheld_document_is_not_there():
    both = remembered("Who sold what Ann built?", "Bo Ray", {"bo ray", "ann"}, "d", "f")
    index = index_of((BUILT, EAST), (both, EAST), (SOLD, NORTH))
    assert {memory for memory, _ in found(index, EAST, {"bo ray"}, withheld=frozenset({"d", "unknown"}))} == {SOLD}
    assert found(index, EAST, {"bo ray"}) == found(index, EAST, {"bo ray"}, withheld=frozenset())


def test_others_that_say_the_same_are_not_told_of_where_they_are_withheld():
    again = remembered("Who built Orrin Mill?", "Ann Lee", {"orrin mill"}, "secret")
    best = index_of((BUILT, EAST), (again, EAST)).best(EAST, BUILT.anchors, k=1, alpha=0.7, floor=0, withheld=frozenset({"secret"}))
    assert [(one.memory, one.same) for one in best] == [(BUILT, ())]


def test_a_question_has_the_names_that_memories_are_found_by():
    assert THREE.anchors_of("Who built the Orrin Mills in 1881?") == {"built", "orrin mill", "1881"}
    assert THREE.anchors_of("Who built Orrin Bridge?") == {"built", "orrin", "bridge"}


def test_a_name_that_only_withheld_or_removed_documents_tell_is_none():
    assert THREE.anchors_of("What did Bo Ray sell?", frozenset({"f"})) == {"bo", "ray", "sell"}
    assert THREE.changed([], np.empty((0, 2), np.float32), [SOLD.memory_id]).anchors_of("Bo Ray?") == {"bo", "ray"}
    assert THREE.anchors_of("Who built Orrin Mill?", frozenset({"d"})) == {"built", "orrin mill"}  # another one tells of it


def test_a_change_leaves_the_index_that_readers_have_as_it_was():
    before = found(THREE, EAST, BUILT.anchors)
    later = THREE.changed([remembered("Who ran it?", "Di", {"di"})], NORTH[None], [BUILT.memory_id, "unknown"])
    assert (len(THREE), len(later)) == (3, 3)
    assert found(THREE, EAST, BUILT.anchors) == before
    assert BUILT not in dict(found(later, EAST, BUILT.anchors))


def test_a_memory_twice_is_there_once_and_one_gone_and_new_is_there_as_it_is_now():
    twice = THREE.changed([BUILT, BUILT], np.stack([NORTH, NORTH]), [])
    assert found(twice, EAST, BUILT.anchors) == found(THREE, EAST, BUILT.anchors)
    moved = THREE.changed([BUILT], NORTH[None], [BUILT.memory_id])
    assert dict(found(moved, NORTH, BUILT.anchors))[BUILT] == 1.0


def test_an_empty_index_finds_nothing():
    empty = THREE.changed([], np.empty((0, 2), np.float32), [memory.memory_id for memory in (BUILT, BURNT, SOLD)])
    for index in (empty, RecallIndex.of([], np.empty((0, 2), np.float32))):
        assert (len(index), found(index, EAST, {"mill"}), index.anchors_of("Orrin Mill?")) == (0, [], {"orrin", "mill"})


@pytest.mark.parametrize(
    "vectors", [np.ones((1, 2), np.float32), np.ones((2, 2), np.float32) / np.sqrt(2), np.full((1, 2), np.nan, np.float32)]
)
def test_vectors_that_are_no_unit_rows_of_the_memories_are_refused(vectors):
    with pytest.raises(ValueError, match="vector"):
        RecallIndex.of([BUILT], vectors)


# ---------------------------------------------------------------- against a search through all of it

VECTORS = st.tuples(*[st.integers(-2, 2)] * 3).filter(any).map(lambda row: unit(np.array([row], np.float32))[0])
MEMORIES = st.builds(
    remembered,
    st.sampled_from(["Who built it?", "Who sold it?", "Who is Ann?"]),
    st.sampled_from(["Ann", "Bo"]),
    st.frozensets(st.sampled_from(ANCHORS), max_size=4),
    st.sampled_from("def"),
)
PAIRS = st.lists(st.tuples(MEMORIES, VECTORS), min_size=1, max_size=12, unique_by=lambda pair: pair[0].memory_id)
SHARES = st.integers(0, 10).map(lambda tenth: tenth / 10)


def searched(pairs, vector, anchors, k, alpha, floor):
    """Scores of the k best answers, by going through every memory."""
    scores = {}
    for memory, own in pairs:
        cosine = min(float((own.astype(np.float64) * vector).sum()), 1)
        scores[memory] = alpha * cosine + (1 - alpha) * dice(anchors, memory.anchors)
    firsts = {}
    for memory in sorted(scores, key=lambda memory: (-scores[memory], memory.memory_id)):
        if scores[memory] >= floor:
            firsts.setdefault((content_words(memory.question), memory.answer), (memory.memory_id, scores[memory]))
    return list(firsts.values())[:k]


def ids(scored):
    return [(one.memory.memory_id, one.score) for one in scored]


@settings(max_examples=150, deadline=None)
@given(
    PAIRS,
    VECTORS,
    st.frozensets(st.sampled_from(ANCHORS)),
    st.integers(1, 4),
    SHARES,
    st.floats(0, 1),
    st.frozensets(st.sampled_from("def")),
)
def test_the_pruned_search_finds_what_going_through_all_finds(pairs, vector, anchors, k, alpha, floor, withheld):
    shown = [(memory, own) for memory, own in pairs if document_of(memory.supports[0].chunk_id) not in withheld]
    best = index_of(*pairs).best(vector, anchors, k=k, alpha=alpha, floor=floor, withheld=withheld)
    assert ids(best) == searched(shown, vector, anchors, k, alpha, floor)


@settings(max_examples=150, deadline=None)
@given(PAIRS, VECTORS, st.frozensets(st.sampled_from(ANCHORS)), st.floats(0, 0.98), st.floats(0.01, 1))
def test_a_floor_above_alpha_prunes_nothing_that_reaches_it(pairs, vector, anchors, alpha, above):
    index, floor = index_of(*pairs), alpha + above * (1 - alpha)
    whole = index.best(vector, anchors, k=99, alpha=alpha, floor=-1)
    assert ids(index.best(vector, anchors, k=99, alpha=alpha, floor=floor)) == ids(one for one in whole if one.score >= floor)


def test_the_nearest_learned_question_is_known_and_forgotten_with_its_memory():
    learned = replace(BURNT, kind="learned")
    index = index_of((BUILT, EAST), (learned, BETWEEN))
    assert round(index.nearest_learned(EAST), 4) == 0.6
    assert index.changed([], np.empty((0, 2), np.float32), [learned.memory_id]).nearest_learned(EAST) == -1


CHANGES = st.lists(
    st.tuples(st.integers(0, 9), st.sets(st.integers(0, 11), max_size=5), st.sets(st.integers(0, 11), max_size=8)), max_size=9
)


def after(changes, pairs):
    """An index after each change, with what is in it then. Each is of the one before it, or now and then of one before that."""
    generations = [(RecallIndex.of([], np.empty((0, 3), np.float32)), {})]
    for back, came, went in changes:
        index, there = generations[-1 if back else len(generations) // 2]
        new = [pairs[at] for at in sorted(came) if at < len(pairs)]
        gone = [pairs[at][0].memory_id for at in went if at < len(pairs)]
        index = index.changed([memory for memory, _ in new], np.array([own for _, own in new], np.float32).reshape(-1, 3), gone)
        left = {name: pair for name, pair in there.items() if name not in gone}
        generations.append((index, {pair[0].memory_id: pair for pair in new} | left))
    return generations


def told_of(index, vector, anchors):
    """All that an index tells."""
    names = sorted(memory.memory_id for memory in index)
    memories, vectors = index.some([*names, "unknown"])
    return (
        *(len(index), names, {one.memory_id for one in index.of_documents({"d", "unknown"})}),
        *([index.alike(name) for name in names], [one.memory_id for one in memories], vectors.tolist()),
        *(index.best(vector, anchors, k=9, alpha=0.7, floor=0.0, withheld=withheld) for withheld in (frozenset(), frozenset({"e"}))),
        *(index.anchors_of("Orrin Mill, Ann", withheld) for withheld in (frozenset(), frozenset({"e"}))),
    )


@settings(max_examples=150, deadline=None)
@given(PAIRS, CHANGES, VECTORS, st.frozensets(st.sampled_from(ANCHORS)))
def test_after_any_comings_and_goings_each_generation_answers_as_a_fresh_one(pairs, changes, vector, anchors):
    for index, there in after(changes, pairs):
        fresh = RecallIndex.of([memory for memory, _ in there.values()], np.array([own for _, own in there.values()]).reshape(-1, 3))
        assert told_of(index, vector, anchors) == told_of(fresh, vector, anchors)


def test_two_changes_of_one_index_know_nothing_of_each_other():
    two = index_of((BUILT, EAST), (BURNT, BETWEEN))
    one, other = two.changed([SOLD], NORTH[None], []), two.changed([remembered("Who is Di?", "Di", {"bo ray"})], NORTH[None], [])
    assert SOLD in dict(found(one, NORTH, SOLD.anchors))
    assert SOLD not in dict(found(other, NORTH, SOLD.anchors))
    assert (len(two), len(one), len(other)) == (2, 3, 3)
    assert two.anchors_of("Bo Ray?") == {"bo", "ray"}


def test_a_change_that_fails_half_way_leaves_no_trace():
    index = index_of((BUILT, EAST), (BURNT, BETWEEN))
    with pytest.raises(AttributeError):
        index.changed([replace(SOLD, answer=None)], NORTH[None], [])
    assert found(index.changed([SOLD], NORTH[None], []), EAST, BUILT.anchors) == found(THREE, EAST, BUILT.anchors)


def test_rows_are_shared_from_one_generation_to_the_next_and_not_copied():
    index = index_of((BUILT, EAST), (BURNT, BETWEEN), (SOLD, NORTH))
    later = index.changed([remembered("Who ran it?", "Di", {"di"})], NORTH[None], [])
    assert np.shares_memory(index.vectors, later.vectors)
    assert (len(index.vectors), len(later.vectors)) == (3, 4)
