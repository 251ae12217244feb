import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.answering.ranking import Pool, bm25, by_parts, ordered, sentences_of, shared_places
from shared.records import ChunkId, DocumentId, EdgeId, Evidence


def passage(edge, text, *, score=0.0, chunk="d:0", title=""):
    return Evidence(EdgeId(edge), DocumentId("d"), "a.md", ChunkId(chunk), (0, len(text)), text, score, title=title)


def pool(*passages, cosines):
    vectors = np.eye(len(passages), dtype=np.float32)
    return Pool(passages, vectors, np.array(cosines, dtype=np.float32))


@pytest.mark.parametrize("claimed", [-1.0, 1.0])
def test_what_a_site_says_of_its_passages_moves_nothing(claimed):
    found = pool(passage("a", "x", score=claimed), passage("b", "y", score=-claimed), cosines=[0.3, 0.5])
    assert ordered(found, "?") == [1, 0]


def test_a_rare_word_of_the_question_counts_more_than_a_common_one():
    scores = bm25(["the pump", "the pump", "the seal"], "pump or seal?")
    assert scores[2] > scores[0] > 0


def test_only_the_first_two_passages_lead_further():
    found = pool(*[passage("a", f"One {n}. Two.") for n in range(3)], cosines=[0.9, 0.8, 0.7])
    assert sentences_of(found, [2, 0, 1]) == [["One 2.", "Two."], ["One 0.", "Two."]]


def test_one_site_has_half_of_the_places_while_another_has_something_near():
    ranked = [passage("a", f"{n}", score=0.9, chunk=f"d:{n}") for n in range(6)] + [
        passage("b", "x", score=0.5),
        passage("b", "y", score=0.1),
    ]
    chosen = shared_places(ranked, k=4, share=0.5, near=0.4)
    assert [one.text for one in chosen] == ["0", "1", "x", "2"]


@pytest.mark.parametrize("others", [[], [passage("b", "far", score=0.1)]])
def test_a_site_that_alone_knows_has_all_places(others):
    ranked = [passage("a", f"{n}", score=0.9, chunk=f"d:{n}") for n in range(4)]
    assert shared_places([*ranked, *others], k=4, share=0.5, near=0.4) == ranked


def test_a_walk_over_names_finds_what_only_another_sites_passage_names():
    """Row 2 shares no word with the question; row 0, which the question names, names it. Row 1 is nearer, and names neither."""
    texts = ["Gold Rain was made by Ann Lee.", "A film about rain and gold.", "Ann Lee lived in Oslo."]
    found = pool(*[passage(edge, text) for edge, text in zip("abc", texts, strict=True)], cosines=[0.6, 0.5, 0.2])
    assert ordered(found, "Where did the maker of Gold Rain live?") == [0, 2, 1]


def test_a_name_counts_where_another_sites_passage_writes_it_as_a_name():
    """Row 1 says "gold rain" in small letters; that it is a name, only row 0 tells."""
    found = pool(passage("a", "Gold Rain"), passage("b", "the gold rain fell"), passage("c", "it fell"), cosines=[0.1, 0.5, 0.5])
    assert ordered(found, "gold rain, where?").index(1) < ordered(found, "gold rain, where?").index(2)


def test_the_longest_name_in_a_question_is_what_it_names():
    """Of "Ann Lee" and "Lee" the question means the first; row 1 holds only the second, and comes last of all equally near."""
    found = pool(passage("a", "of Ann Lee"), passage("b", "of Lee"), cosines=[0.5, 0.5])
    assert ordered(found, "Ann Lee?") == [0, 1]


def test_without_a_name_in_the_question_the_nearest_come_first():
    found = pool(passage("a", "nothing"), passage("b", "Ann Lee."), passage("c", "Ann Lee."), cosines=[0.3, 0.4, 0.5])
    assert ordered(found, "who?") == [2, 1, 0]


def test_passages_without_any_name_are_ordered_by_nearness_and_none_stay_none():
    assert ordered(pool(*[passage("a", f"word {n}") for n in range(3)], cosines=[0.4, 0.3, 0.5]), "who?") == [2, 0, 1]
    assert ordered(pool(cosines=[]), "who?") == []


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6), st.text(max_size=40))
def test_every_passage_has_one_place(texts, question):
    found = pool(*[passage("a", text) for text in texts], cosines=[0.5] * len(texts))
    assert sorted(ordered(found, question)) == list(range(len(texts)))


def test_a_title_is_a_name_in_every_passage_of_its_document():
    """As above, but the third passage says "he" only; its title says who, with a qualifier that no text has."""
    texts = ["Gold Rain was made by ann lee.", "A film about rain and gold.", "He lived in Oslo."]
    cosines = [0.6, 0.5, 0.2]
    untitled = [passage(edge, text) for edge, text in zip("abc", texts, strict=True)]
    titled = [*untitled[:2], passage("c", texts[2], title="Ann Lee (director)")]
    question = "Where did the maker of Gold Rain live?"
    assert ordered(pool(*untitled, cosines=cosines), question) == [0, 1, 2]
    assert ordered(pool(*titled, cosines=cosines), question) == [0, 2, 1]


def test_each_part_of_a_question_has_its_best_passage_among_the_first():
    """Four passages of the first part are nearer than the one of the second."""
    many = [passage("a", f"The pump of ward {n} failed.", chunk=f"d:{n}") for n in range(4)]
    found = pool(*many, passage("b", "A credit of 15 EUR is given."), cosines=[0.9, 0.9, 0.9, 0.9, 0.1])
    first, second = np.zeros(5, dtype=np.float32), np.zeros(5, dtype=np.float32)
    first[:4], second[4] = 0.5, 1.0
    question = "Which pump failed, and which credit is given?"
    assert 4 in by_parts(found, question, np.stack([first, first, second]))[:2]
    assert 4 not in by_parts(found, "Which pump failed?", first[None])[:2]
