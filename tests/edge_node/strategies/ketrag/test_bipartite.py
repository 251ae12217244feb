"""Terms, the pieces that hold them, and a vector for each term (KET-RAG Alg. 3 l. 9-15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.ketrag import bipartite
from edge_node.strategies.ketrag.bipartite import Bipartite, ChunkTerms, SubChunk
from shared.vectors import MOST_SUMMED, to_ints, unit

EAST, NORTH = np.eye(2, dtype=np.float32)


def chunk(chunk_id: str, *sentences: tuple[set[str], Any], tokens: int = 10) -> ChunkTerms:
    """A chunk that is one piece; each sentence is its terms and its vector."""
    terms = set().union(*(terms for terms, _ in sentences))
    vectors = np.array([vector for _, vector in sentences], dtype=np.float32).reshape(len(sentences), -1)
    return ChunkTerms(chunk_id, [SubChunk(chunk_id, tokens, terms)], [terms for terms, _ in sentences], to_ints(vectors))


def made_of(*chunks: ChunkTerms) -> Bipartite:
    graph = Bipartite(2)
    graph.put(chunks)
    return graph


def state(graph: Bipartite, query=(0.6, 0.8)) -> dict[str, Any]:
    """All that can be seen of a graph, and the sums themselves."""
    terms = sorted(graph._term_rows)
    return {
        "sums": {term: graph._sums[graph._term_rows[term]].tolist() for term in terms if graph._counts[graph._term_rows[term]]},
        "pieces": {term: sorted(graph.pieces_with(term)) for term in terms},
        "frequencies": {term: graph.frequency(term) for term in terms},
        "tokens": {piece: graph.tokens_of(piece) for piece in sorted(graph._piece_rows)},
        "nearest": [list(graph.nearest(np.array(query, dtype=np.float32), weights=weights)) for weights in ("plain", "idf")],
    }


FIRST = chunk("c1", ({"pump", "filter"}, EAST))
SECOND = chunk("c2", ({"pump"}, NORTH))


def test_a_terms_vector_is_the_mean_of_its_sentences():
    """pump is said by (1, 0) and (0, 1), so it lies between; filter by the first alone."""
    found = dict(made_of(FIRST, SECOND).nearest(EAST))
    assert found["filter"] == pytest.approx(1.0)
    assert found["pump"] == pytest.approx(0.7071, abs=1e-4)


def test_without_the_other_chunk_the_term_points_exactly_as_before():
    graph = made_of(FIRST, SECOND)
    graph.drop(["c2", "never there"])
    assert list(graph.nearest(EAST)) == [("filter", 1.0), ("pump", 1.0)]
    assert state(graph) == state(made_of(FIRST))


def test_terms_and_pieces_know_each_other():
    graph = made_of(FIRST, SECOND)
    assert (sorted(graph.pieces_with("pump")), graph.pieces_with("gate")) == (["c1", "c2"], [])
    assert (graph.frequency("pump"), graph.frequency("gate"), graph.tokens_of("c1"), len(graph)) == (2, 0, 10, 2)


def test_a_chunk_of_several_pieces_goes_as_one():
    parts = [SubChunk("c.0", 4, {"pump"}), SubChunk("c.1", 6, {"filter", "pump"})]
    graph = made_of(SECOND, ChunkTerms("c", parts, [{"pump"}, {"pump", "filter"}], to_ints(np.array([EAST, EAST]))))
    assert sorted(graph.pieces_with("pump")) == ["c.0", "c.1", "c2"]
    graph.drop(["c"])
    assert state(graph) == state(made_of(SECOND))


def test_a_chunk_that_comes_again_replaces_what_it_was():
    graph = made_of(FIRST, SECOND)
    graph.put([chunk("c1", ({"gate"}, NORTH), tokens=3)])
    assert state(graph) == state(made_of(chunk("c1", ({"gate"}, NORTH), tokens=3), SECOND))


def test_rare_terms_come_first_when_they_are_weighed():
    """pump lies as near as gate; of three pieces all say pump, so it counts log(2) / log(4) = a half."""
    graph = made_of(*(chunk(f"c{number}", ({"pump"} | ({"gate"} if number == 2 else set()), EAST)) for number in range(3)))
    assert list(graph.nearest(EAST, weights="plain")) == [("gate", 1.0), ("pump", 1.0)]
    assert list(graph.nearest(EAST, weights="idf")) == [("gate", 1.0), ("pump", 0.5)]


def test_a_term_that_no_sentence_holds_can_be_asked_for_but_is_near_nothing():
    title = ChunkTerms("c", [SubChunk("c", 5, {"orrin mill"})], [], np.zeros((0, 2), dtype=np.int16))
    graph = made_of(title)
    assert graph.pieces_with("orrin mill") == ["c"]
    assert list(graph.nearest(EAST)) == []
    graph.drop(["c"])
    assert graph.pieces_with("orrin mill") == []


def test_a_term_whose_sentences_cancel_out_points_nowhere():
    assert list(made_of(chunk("c", ({"pump"}, EAST), ({"pump"}, -EAST))).nearest(EAST)) == []


def test_an_empty_graph_is_near_nothing():
    assert list(Bipartite(2).nearest(EAST)) == []


def test_sentences_without_their_vectors_are_refused_before_anything_changes():
    graph = made_of(FIRST)
    with pytest.raises(ValueError, match="index it again"):
        graph.put([SECOND, ChunkTerms("c3", [], [{"pump"}], np.zeros((2, 2), dtype=np.int16))])
    assert state(graph) == state(made_of(FIRST))


def test_a_term_of_too_many_sentences_is_no_seed_and_is_exact_again_when_some_are_gone():
    """4,096 times 4,000 is short of 2**24 by 393,216; 500 sentences more, and the sum of the odd ones would be rounded."""
    many = ChunkTerms("many", [SubChunk("many", 9, {"said"})], [{"said"}] * MOST_SUMMED, np.tile(to_ints(EAST), (MOST_SUMMED, 1)))
    odd = ChunkTerms("odd", [SubChunk("odd", 9, {"said"})], [{"said"}] * 501, np.tile(np.array([3_999, 1], dtype=np.int16), (501, 1)))
    graph = made_of(many, odd)
    assert list(graph.nearest(EAST)) == []
    assert graph.frequency("said") == 2
    graph.drop(["many"])
    assert state(graph) == state(made_of(odd))


def test_terms_are_put_in_order_a_few_at_a_time_and_yet_all_come_best_first(monkeypatch):
    monkeypatch.setattr(bipartite, "FIRST_LOOK", 3)
    rows = unit(np.random.default_rng(5).standard_normal((60, 2)).astype(np.float32))
    found = list(made_of(*(chunk(f"c{at}", ({f"t{at:02}"}, row)) for at, row in enumerate(rows))).nearest(EAST))
    assert len(found) == 60
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def test_many_equally_near_terms_come_by_name(monkeypatch):
    monkeypatch.setattr(bipartite, "FIRST_LOOK", 3)
    terms = {f"t{at:02}" for at in range(40)}
    assert [term for term, _ in made_of(chunk("c", (terms, EAST))).nearest(EAST)] == sorted(terms)


words = st.sets(st.sampled_from(["pump", "filter", "gate", "ward"]), max_size=4)
directions = st.floats(0, 6.28).map(lambda angle: np.array([np.cos(angle), np.sin(angle)], dtype=np.float32))
chunks = st.builds(
    lambda number, sentences: chunk(f"c{number}", *sentences),
    st.integers(0, 5),
    st.lists(st.tuples(words, directions), min_size=1, max_size=3),
)
steps = st.lists(st.one_of(st.lists(chunks, max_size=3), st.integers(0, 5)), max_size=8)


@settings(max_examples=25, deadline=None)
@given(steps)
def test_any_history_is_equal_to_a_fresh_graph_bit_for_bit(history):
    graph, there = Bipartite(2), {}
    for step in history:
        if isinstance(step, int):
            graph.drop([f"c{step}"])
            there.pop(f"c{step}", None)
        else:
            graph.put(step)
            there |= {one.chunk_id: one for one in step}
    assert state(graph) == state(made_of(*there.values()))
