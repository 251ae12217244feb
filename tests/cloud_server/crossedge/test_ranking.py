import numpy as np
import pytest

from cloud_server.crossedge.ranking import Pool, bm25, first_order, further_order, fused, sentences_of, shared_places, walked
from shared.records import ChunkId, DocumentId, EdgeId, Evidence


def passage(edge, text, *, score=0.0, chunk="d:0"):
    return Evidence(EdgeId(edge), DocumentId("d"), "a.md", ChunkId(chunk), (0, len(text)), text, score)


def pool(*passages, cosines):
    vectors = np.eye(len(passages), dtype=np.float32)
    return Pool(passages, vectors, np.array(cosines, dtype=np.float32))


def test_a_passage_that_two_lists_put_first_beats_one_that_leads_the_third():
    """RRF with 10: row 0 has 2/10 + 1/11, row 1 has 1/10 + 2/11."""
    assert fused([[0, 1], [0, 1], [1, 0]]) == [0, 1]


def test_each_sites_first_passage_comes_before_anybodys_second_where_nothing_else_tells():
    order = first_order(pool(*[passage("a", "x") for _ in range(3)], passage("b", "x"), cosines=[0.5, 0.5, 0.5, 0.5]), "?")
    assert order.index(3) < order.index(2)


def test_a_rare_word_of_the_question_counts_more_than_a_common_one():
    scores = bm25(["the pump", "the pump", "the seal"], "pump or seal?")
    assert scores[2] > scores[0] > 0


def test_what_the_first_passage_leads_to_rises():
    """Row 2 is far from the question; the lead from row 0 is near to it, and names it."""
    found = pool(
        passage("a", "The film is by Ann Lee."), passage("b", "Rome."), passage("c", "Ann Lee was born in Oslo."), cosines=[0.8, 0.3, 0.1]
    )
    order = first_order(found, "Where was the director of the film born?")
    leads = np.array([[0, 0, 1]], dtype=np.float32)
    further = further_order(found, "Where was the director of the film born?", order, ["The film is by Ann Lee."], leads)
    assert order[0] == 0
    assert further.index(2) < further.index(1)


def test_without_leads_the_order_stays():
    assert further_order(pool(passage("a", "x"), cosines=[0.5]), "?", [0], [], np.empty((0, 1), dtype=np.float32)) == [0]


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
    found = pool(*[passage(edge, text) for edge, text in zip("abc", texts, strict=True)], cosines=[0.6, 0.7, 0.1])
    assert walked(found, "Where did the maker of Gold Rain live?", [1, 0, 2]) == [0, 2, 1]


def test_without_a_name_in_the_question_the_first_passages_are_walked_from():
    found = pool(passage("a", "Ann Lee."), passage("b", "nothing"), passage("c", "Ann Lee."), cosines=[0.5, 0.4, 0.3])
    assert walked(found, "who?", [0, 1, 2])[0] == 0
    assert walked(pool(cosines=[]), "who?", []) == []


def test_passages_without_any_name_keep_their_order():
    found = pool(*[passage("a", f"word {n}") for n in range(3)], cosines=[0.5, 0.4, 0.3])
    assert walked(found, "who?", [2, 0, 1]) == [2, 0, 1]
