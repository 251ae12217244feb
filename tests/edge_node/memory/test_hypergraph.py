"""A hypergraph at one moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.memory.hypergraph import ChunkUnits, Hypergraph, Rows, cut_spans, some_rows, tells, together


def part(chunk_id, *rows, text_hash="h"):
    """A chunk whose units are ten characters each; a row is {hyperedge: share}, largest first."""
    width = max((len(row) for row in rows), default=0)
    columns = [[*row, *[0] * (width - len(row))] for row in rows]
    values = [[*row.values(), *[0] * (width - len(row))] for row in rows]
    placed = Rows(np.array(columns, np.int64).reshape(len(rows), width), np.array(values, np.float32).reshape(len(rows), width))
    spans = tuple((10 * n, 10 * n + 10) for n in range(len(rows)))
    return ChunkUnits(chunk_id, text_hash, spans, np.eye(4, dtype=np.float32)[: len(rows)], placed)


TWO = [part("b:0", {7: 0.6, 2: 0.4}, {2: 1.0}), part("a:0", {2: 0.9, 7: 0.1})]


def graph(*parts):
    return Hypergraph.of(parts, 4)


def test_units_stand_in_the_order_of_their_chunks():
    found = graph(*TWO)
    assert (found.chunk_ids, found.first) == (("a:0", "b:0", "b:0"), {"a:0": 0, "b:0": 1})
    assert (len(found), found.hyperedges) == (3, 2)


@given(st.permutations(TWO))
def test_the_order_in_which_chunks_came_plays_no_part(parts):
    one, two = graph(*parts), graph(*TWO)
    assert (one.chunk_ids, one.keys) == (two.chunk_ids, two.keys)
    assert np.array_equal(one.rows.columns, two.rows.columns)


def test_what_is_in_no_hyperedge_yet_is_left_out():
    assert len(graph(ChunkUnits("a:0", "h", ((0, 5),), np.eye(4, dtype=np.float32)[:1]))) == 0


def test_an_empty_hypergraph_has_no_hyperedges():
    found = graph()
    assert (len(found), found.hyperedges, list(found.members()), found.row_of("a:0", 0, 5)) == (0, 0, [], None)


def test_members_come_with_their_largest_shares_first():
    assert [(number, rows.tolist()) for number, rows in graph(*TWO).members()] == [(2, [2, 0, 1]), (7, [1, 0])]


@pytest.mark.parametrize(("span", "row"), [((0, 9), 1), ((8, 13), 2), ((10, 20), 2), ((40, 50), None)])
def test_the_unit_of_a_place_is_the_one_that_holds_most_of_it(span, row):
    assert graph(*TWO).row_of("b:0", *span) == row


def test_a_chunk_without_units_has_no_place():
    assert graph(*TWO, part("c:0")).row_of("c:0", 0, 5) is None
    assert graph(*TWO).row_of("unknown:0", 0, 5) is None


def test_a_set_of_units_is_named_by_what_they_are_not_by_their_numbers():
    alone, among = graph(part("b:0", {1: 1.0})), graph(part("b:0", {5: 1.0}), part("a:0", {5: 1.0}))
    assert alone.name_of(np.array([0])) == among.name_of(np.array([1]))
    assert among.name_of(np.array([0, 1])) == among.name_of(np.array([1, 0])) != among.name_of(np.array([1]))


def test_another_text_of_a_chunk_has_another_name():
    assert part("a:0", {1: 1.0}).names() != part("a:0", {1: 1.0}, text_hash="other").names()


def test_rows_together_can_be_taken_apart():
    one, two = TWO[0].rows, TWO[1].rows
    both = together([one, two])
    assert np.array_equal(some_rows(both, slice(0, 2)).columns, one.columns)
    assert np.array_equal(some_rows(both, slice(2, 3)).values, two.values)


def test_a_unit_is_a_sentence_that_has_a_letter():
    text = "One. 12.\n\nTwo!"
    assert [text[slice(*span)].strip() for span in cut_spans(text) if tells(text[slice(*span)])] == ["One.", "Two!"]
