"""Which titles an edge is asked for."""

from cloud_server.answering.untold import Reading, titles_of, untold
from shared.records import EdgeId
from shared.text.marks import mark_of, unpacked
from shared.wire import MAX_TITLES_ASKED

MILL, WARD = EdgeId("mill"), EdgeId("ward")


def test_an_edge_is_asked_for_those_of_its_own_titles_that_count_most_and_that_no_passage_is_about():
    said = [(Reading("", 0.5), [f"far {n}" for n in range(6)]), (Reading("", 1.0), [f"near {n}" for n in range(6)])]
    named = [(text, {name: frozenset({MILL}) for name in names}) for text, names in said]
    asked = titles_of(untold([*named, (Reading("", 1.0), {"oslo": frozenset({WARD})})], {"near 0": {MILL}}), [MILL])
    wanted = [*(f"near {n}" for n in range(1, 6)), *(f"far {n}" for n in range(3))]
    assert (list(asked), set(unpacked(asked[MILL]))) == ([MILL], set(map(mark_of, wanted)))
    assert len(wanted) == MAX_TITLES_ASKED
