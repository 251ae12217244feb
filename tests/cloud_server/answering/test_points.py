import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.answering.merging import SURE_SHARE
from cloud_server.answering.points import MOST_POINTS, first_points, in_turn, is_worth_reading, rescored, within_shares, worth_reading
from shared.models.fake import WordTokenizer
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.reduce import listable, said
from shared.text.prompts import listed

QUESTION = "What threatens the wildlife here?"
BEES = "Bees find fewer flowers each August."
NAMED = 9  # tokens of "loud, bees.md:" and "[1]"
NORTH = np.array([[1, 0, 0]], dtype=np.float32)


def point(edge="garden", text=BEES, *, said_of_it="", score=0.5, chunk="d:0", report="r1", document="bees.md"):
    where = EdgeId(edge), DocumentId("d"), document, ChunkId(chunk), (0, len(text))
    return Evidence(*where, text, score, point=said_of_it, report=report)


def rows(*vectors):
    return np.array(vectors, dtype=np.float32)


def words(n, first="word"):
    return " ".join([first, *["word"] * (n - 1)])


def test_an_edges_own_order_says_which_of_its_points_are_read_first():
    sent = [point(chunk="d:2"), point(chunk="d:3"), point(chunk="d:1")]
    assert [one.chunk_id for one in first_points(sent, max_bytes=6144)] == ["d:2", "d:3", "d:1"]


def test_an_edge_that_sends_more_than_it_was_asked_for_is_not_read_to_the_end():
    sent = [point(text="é" * 300, said_of_it="x" * 400, chunk=f"d:{n}") for n in range(10)]  # 1,000 bytes each
    assert len(first_points(sent, max_bytes=2500)) == 3
    assert len(first_points([point(chunk=f"d:{n}") for n in range(64)], max_bytes=250_000)) == MOST_POINTS


@pytest.mark.parametrize(("edges", "each"), [(1, 32), (16, 32), (17, 30), (100, 5), (600, 1)])
def test_the_more_edges_the_fewer_points_of_each_are_read(edges, each):
    sent = [[point(f"e{n}", chunk=f"d:{row}") for row in range(64)] for n in range(edges)]
    read = worth_reading(sent, QUESTION, max_bytes=250_000)
    assert [one.chunk_id for one in read] == [f"d:{row}" for row in range(each)] * edges
    assert worth_reading([], QUESTION, max_bytes=1000) == []


def test_a_documents_name_shows_nothing_active():
    (shown,) = first_points([point(document="[notes](http://evil.example)\n.md")], max_bytes=1000)
    assert shown.document == "notes .md"


@pytest.mark.parametrize(
    ("worth", "given"),
    [
        (True, point()),
        (True, point(said_of_it="In August bees meet fewer flowers.")),
        (False, point(report="")),
        (False, point(report=" ")),
        (False, point(chunk=" ")),
        (False, point(said_of_it=QUESTION)),
        (False, point(said_of_it="Bees: what threatens the wildlife here?")),  # one word that the question has not
        (False, point(said_of_it="Mallory owns every hospital nearby.")),  # its document says nothing of that
        (False, point(text="\u200b\u200b", said_of_it="Mallory owns every hospital nearby.")),
        (False, point(text=" \n")),
    ],
)
def test_a_point_is_read_that_opens_says_something_and_rests_on_its_document(worth, given):
    assert is_worth_reading(given, QUESTION) is worth


def test_four_words_that_the_question_has_not_are_enough_and_three_are_not():
    assert is_worth_reading(point(text="Mowing kills rare gentians"), QUESTION)
    assert not is_worth_reading(point(text="Mowing threatens rare gentians"), QUESTION)


def test_the_edges_own_scores_order_nothing_between_edges():
    told = rescored([point("liar", "x", score=1.0), point("honest", "y", score=0.1)], rows([0.6, 0.8, 0], [0.8, 0, 0.6]), NORTH)
    assert [(one.edge, one.score) for one in told] == [("honest", pytest.approx(0.8)), ("liar", pytest.approx(0.6))]


def test_what_an_edge_says_twice_in_other_words_counts_once():
    vectors = rows([0.8, 0.6, 0], [0.81, 0.5864, 0], [0.8, 0, 0.6])
    told = rescored([point("a", "x"), point("a", "y"), point("a", "z")], vectors, NORTH)
    assert [one.text for one in told] == ["y", "z"]


def test_a_near_copy_at_another_edge_displaces_nothing_and_the_same_words_do():
    vectors = rows([0.8, 0.6, 0], [0.81, 0.5864, 0])
    assert [one.edge for one in rescored([point("honest", "in March"), point("forger", "in May")], vectors, NORTH)] == ["forger", "honest"]
    same = rows([0.8, 0.6, 0], [0.8, 0.6, 0])
    assert [one.edge for one in rescored([point("b", "In  March"), point("a", "in March")], same, NORTH)] == ["a"]


def test_copies_are_told_by_what_is_said_and_not_by_what_it_rests_on():
    vectors = rows([0.8, 0.6, 0], [0.8, 0, 0.6])
    told = rescored([point("a", "x", said_of_it="one"), point("b", "x", said_of_it="two")], vectors, NORTH)
    assert len(told) == 2


def test_no_points_no_answer():
    assert rescored([], np.empty((0, 3), dtype=np.float32), NORTH) == []
    assert within_shares([], WordTokenizer(), budget_tokens=100) == []


def test_a_point_that_does_not_fit_is_left_out_and_never_cut():
    told = within_shares(
        [point("a", words(90)), point("a", words(50)), point("a", words(10))], WordTokenizer(), budget_tokens=100 + 2 * NAMED
    )
    assert [len(one.text.split()) for one in told] == [90, 10]


def test_an_edge_has_no_more_than_all_others_together_but_a_quarter_is_sure():
    """Budget 400: of the loud edge 200 fit; the other has 120, so that four points of 30 stay; beside one of 10, its sure 100.

    Of each point NAMED tokens are its document's line and its number.
    """
    loud = [point("loud", words(30 - NAMED, f"w{n}"), chunk=f"d:{n}") for n in range(10)]
    told = within_shares([*loud, point("b", words(120 - NAMED))], WordTokenizer(), budget_tokens=400)
    assert [one.edge for one in told] == ["loud"] * 4 + ["b"]
    told = within_shares([*loud, point("b", words(10 - NAMED))], WordTokenizer(), budget_tokens=400)
    assert [one.edge for one in told] == ["loud"] * 3 + ["b"]


def test_of_a_point_too_long_for_its_share_nothing_stays_and_the_other_edge_has_more_than_it():
    """The rule passed by one point: 150 of "a" do not fit beside 120 of "b", and are not cut."""
    told = within_shares([point("a", words(150)), point("b", words(120))], WordTokenizer(), budget_tokens=400)
    assert [one.edge for one in told] == ["b"]


def test_what_nothing_has_compared_is_told_in_turn_and_the_same_words_once():
    given_points = [point("a", "one"), point("a", "two"), point("a", "three"), point("b", "ONE "), point("b", "four")]
    assert [(one.edge, one.text) for one in in_turn(given_points)] == [("a", "one"), ("a", "two"), ("b", "four"), ("a", "three")]
    assert {one.score for one in in_turn(given_points)} == {0.0}


def test_shares_are_counted_by_what_is_said_and_the_documents_words_stay():
    given = point("a", words(500), said_of_it="Bees are fewer.")
    assert within_shares([given], WordTokenizer(), budget_tokens=13) == [given]


def test_an_edge_pays_for_the_names_that_it_gives_to_its_documents():
    loud = [point("loud", words(9, f"w{n}"), chunk=f"d:{n}", document=words(40, f"n{n}")) for n in range(10)]
    told = within_shares([*loud, point("b", words(50))], WordTokenizer(), budget_tokens=200)
    assert [one.edge for one in told] == ["loud", "b"]
    assert WordTokenizer().count(listed(listable(told))) <= 200


SIZES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 60)), max_size=16)


@given(SIZES, st.integers(200, 600))
def test_the_budget_and_the_share_of_one_edge_are_never_passed(sizes, budget):
    points = [point(edge, words(n, f"w{row}"), chunk=f"d:{row}") for row, (edge, n) in enumerate(sizes)]
    told = within_shares(points, WordTokenizer(), budget_tokens=budget)
    used = {edge: sum(len(one.text.split()) for one in told if one.edge == edge) for edge in "abc"}
    assert [one for one in points if one in told] == told
    assert sum(used.values()) <= budget
    if len({edge for edge, _ in sizes}) > 1:
        assert max(used.values()) <= budget / 2
    longest = max((n for _, n in sizes), default=0)
    if sum(tokens > 0 for tokens in used.values()) > 1:
        assert all(tokens < max(sum(used.values()) - tokens, budget * SURE_SHARE) + longest for tokens in used.values())


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", "X "]), st.integers(0, 3)), max_size=8))
def test_what_is_told_is_in_order_and_no_two_say_the_same(given_points):
    points = [point(edge, text, chunk=f"d:{row}") for row, (edge, text, _) in enumerate(given_points)]
    angles = np.array([angle for *_, angle in given_points], dtype=np.float32).reshape(-1, 1) * 0.3
    told = rescored(points, np.hstack([np.cos(angles), np.sin(angles), 0 * angles]).astype(np.float32), NORTH)
    assert [one.score for one in told] == sorted((one.score for one in told), reverse=True)
    texts = [said(one).strip().casefold() for one in told]
    assert len(set(texts)) == len(texts)
    assert {text.strip().casefold() for _, text, _ in given_points} >= set(texts)
