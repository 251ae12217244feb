"""The sentences behind memories that other sites were told of."""

import pytest

from edge_node.egress.memory_outbox import ToldPassages
from tests.support.telling import Teller


@pytest.fixture
def teller(tmp_path):
    made = Teller(tmp_path)
    yield made
    made.database.close()


def passages(teller):
    return ToldPassages("ward", teller.told, teller.documents)


def told_ids(teller):
    return [memory.memory_id for memory in teller.told.delta(epoch="", version=0).upserts]


async def test_a_told_memory_is_answered_with_its_sentence_where_it_stands(teller):
    chunk_id = teller.mill()
    teller.renewed()
    [found] = await passages(teller).of(told_ids(teller), frozenset())
    assert (found.text, found.span, found.chunk_id, found.edge) == ("Ann Lee b", (0, 9), chunk_id, "ward")


async def test_of_a_withheld_document_nothing_is_shown(teller):
    document = teller.mill().rpartition(":")[0]
    teller.renewed()
    assert await passages(teller).of(told_ids(teller), frozenset([document])) == []


async def test_an_id_that_was_never_told_or_is_withdrawn_shows_nothing(teller):
    teller.mill()
    teller.renewed()
    ids = told_ids(teller)
    teller.obey("")
    teller.renewed()
    inside = [stored.memory.memory_id for stored in teller.memories.all()]
    assert await passages(teller).of([*ids, *inside, "unknown"], frozenset()) == []


async def test_a_deleted_document_shows_nothing_at_once(teller):
    chunk_id = teller.mill()
    teller.renewed()
    ids = told_ids(teller)
    teller.forget(chunk_id)
    assert await passages(teller).of(ids, frozenset()) == []
