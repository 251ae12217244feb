"""Memories of one chunk: their anchors, and which of them say the same."""

import numpy as np
import pytest

from edge_node.extraction.facts import Fact
from edge_node.memory.records import Support, memory_of
from edge_node.memory.templates import ANCHORINGS, anchored, asked_of_chunk, names_in, version_of, without_repeats

TEXT = "Orrin Mill was built in 1962. It burnt."
BUILT = Fact("d:0", 0, 29, "Orrin Mill", "place", "was built", "build", "in", "1962", "date", negated=False)


def test_a_memory_rests_on_the_sentence_of_its_fact():
    (memory,) = asked_of_chunk([BUILT, BUILT], TEXT, "question")
    assert (memory.kind, memory.answer, memory.supports) == ("template", "1962", (Support("d:0", 0, 29),))


@pytest.mark.parametrize(("anchoring", "anchors"), [("question", {"orrin mill", "built"}), ("own", {"orrin mill", "built", "1962"})])
def test_a_memory_is_found_by_the_words_that_the_setting_names(anchoring, anchors):
    (memory,) = asked_of_chunk([BUILT], TEXT, anchoring)
    assert memory.anchors == anchors


def test_anchors_play_no_part_in_what_a_memory_is():
    (question,), (own,) = (asked_of_chunk([BUILT], TEXT, anchoring) for anchoring in ANCHORINGS)
    assert question.memory_id == own.memory_id


def test_a_memory_of_several_chunks_is_found_by_the_words_of_all_that_are_there():
    memory = memory_of("model", "Who built it?", "Ann", [Support("d:0", 0, 10), Support("e:0", 0, 3), Support("gone:0", 0, 3)], ())
    assert anchored(memory, ["Orrin Mill"], {"d:0": TEXT, "e:0": "Ann."}, "own").anchors == {"orrin mill", "ann"}


def test_every_anchoring_has_its_own_version_and_none_is_that_of_an_unread_chunk():
    versions = {version_of(anchoring) for anchoring in ANCHORINGS}
    assert len(versions) == len(ANCHORINGS)
    assert min(versions) > 0


def test_only_what_is_written_with_a_capital_is_a_name():
    facts = [Fact("d:0", 0, 1, "Ann", "person", "has", "have", "", "two looms", "concept", negated=False)]
    assert names_in(facts) == {"Ann"}


def memories(*answers):
    return [memory_of("template", f"Question {number}?", answer, [Support("d:0", 0, 1)], ()) for number, answer in enumerate(answers)]


def at(*degrees):
    return np.array([[np.cos(np.radians(degree)), np.sin(np.radians(degree))] for degree in degrees], np.float32)


def test_of_questions_that_are_near_and_answer_the_same_the_first_is_kept():
    assert without_repeats(memories("Ann", "ann", "Ann"), at(0, 10, 40)) == [0, 2]


def test_near_questions_with_other_answers_are_both_kept():
    assert without_repeats(memories("Ann", "Bo"), at(0, 0)) == [0, 1]


def test_what_is_near_only_to_one_that_was_left_out_is_kept():
    assert without_repeats(memories("Ann", "Ann", "Ann"), at(0, 10, 20)) == [0, 2]
