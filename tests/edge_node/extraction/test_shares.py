import pytest

from edge_node.extraction.extractor import choose_for_model, count_for_model
from shared.records import Chunk, ChunkId, DocumentId

CHUNKS = [Chunk(ChunkId(f"d:{n}"), DocumentId("d"), n, "text", 0, 4, 1) for n in range(10)]
COUNTS = {ChunkId("d:3"): 9, ChunkId("d:7"): 9, ChunkId("d:1"): 2}


@pytest.mark.parametrize(("share", "n"), [(0, 0), (0.3, 3), (1, 10)])
def test_a_share_in_whole_chunks_is_that_many(share, n):
    assert len(choose_for_model(CHUNKS, share, COUNTS)) == n


@pytest.mark.parametrize(("chunks", "least", "most"), [(1, 0, 1), (4, 0, 1), (7, 1, 2)])
def test_of_many_documents_the_share_is_read_however_short_they_are(chunks, least, most):
    read = [count_for_model(DocumentId(f"document {n}"), chunks, 0.2) for n in range(2000)]
    assert set(read) == {least, most}
    assert sum(read) == pytest.approx(0.2 * chunks * 2000, rel=0.1)


def test_a_share_that_is_no_exact_float_is_not_rounded_up_again():
    """0.1 * 30 is 3.0000000000000004 in floats, and 3 chunks."""
    chunks = [Chunk(ChunkId(f"d:{n}"), DocumentId("d"), n, "", 0, 0, 0) for n in range(30)]
    assert len(choose_for_model(chunks, 0.1, {})) == 3


def test_the_richest_chunks_come_first_and_ties_go_by_ordinal():
    assert choose_for_model(CHUNKS, 0.1, COUNTS) == {"d:3"}
    assert choose_for_model(CHUNKS, 0.4, COUNTS) == {"d:3", "d:7", "d:1", "d:0"}


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_an_error(share):
    with pytest.raises(ValueError, match="expected 0 to 1"):
        choose_for_model(CHUNKS, share, COUNTS)


def test_no_chunks_need_no_model():
    assert choose_for_model([], 1.0, {}) == frozenset()
