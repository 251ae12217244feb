"""The write path reads what is needed of a document, and no more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.extractor import Extracted
from edge_node.records import Needs, silent
from edge_node.settings import EdgeSettings
from edge_node.strategies.write_path import WritePath
from tests.support.memory_store import a_fact
from tests.support.settling import Bench, said_of


@pytest.fixture
async def read(tmp_path):
    """What is read of a document that names a pump, by what is needed."""
    async with Bench.opened(tmp_path) as bench:
        document_id = await bench.add("ward", ["Pump"], title="Deliveries of Rowan Ward")
        chunk = bench.documents.chunks([f"{document_id}:0"])[f"{document_id}:0"][0]
        said = said_of(chunk, ["Pump"], [], [])

        class Told:
            asked = False

            async def extract(self, chunks, progress):
                Told.asked = True
                return Extracted(said.entities, said.relations, facts=(a_fact(chunk.chunk_id),))

        async def run(**needs):
            write_path = WritePath(bench.tools, EdgeSettings(state_dir=tmp_path), Needs(**needs), Told())
            await write_path.open()
            found = await write_path.read([chunk], silent)
            return Told.asked, [one.name for one in found.entities], len(found.facts), write_path.tagger.with_facts

        yield run


async def test_nothing_is_read_where_nothing_is_needed(read):
    assert await read(words=True) == (False, [], 0, False)


async def test_facts_alone_bring_no_mentions_and_no_title(read):
    assert await read(facts=True) == (True, [], 1, True)


async def test_mentions_bring_the_title_and_the_facts_that_the_reader_gives(read):
    asked, names, facts, with_facts = await read(mentions=True)
    assert (asked, names[0], len(names), facts, with_facts) == (True, "Pump", 2, 1, False)


FLAGS = st.builds(Needs, words=st.booleans(), mentions=st.booleans(), graph=st.booleans(), relation_vectors=st.booleans())


@given(FLAGS, FLAGS)
def test_two_methods_need_what_either_of_them_needs(one, other):
    for name in ("words", "mentions", "graph", "relation_vectors"):
        assert getattr(one | other, name) == (getattr(one, name) or getattr(other, name))
