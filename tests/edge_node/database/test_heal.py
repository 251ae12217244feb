"""An edge whose derived rows were damaged ends with the same graph as one that was never damaged (R10)."""

import sqlite3
from contextlib import closing

import pytest

from tests.support.releases import store_of_release
from tests.support.running_edge import running_edge

GRAPH = (
    "SELECT chunk_id, text FROM chunks ORDER BY 1",
    "SELECT kind, key, vector FROM vectors ORDER BY 1, 2",
    "SELECT chunk_id, key, name FROM entity_mentions ORDER BY 1, 2, 3",
    "SELECT chunk_id, source, target FROM relation_mentions ORDER BY 1, 2, 3",
    "SELECT key, canonical FROM aliases ORDER BY 1",
    "SELECT value FROM subgraphs, json_each(entities) ORDER BY 1",  # repaired parts may be others than new ones, but hold the same
    "SELECT count(*) = (SELECT count(*) FROM subgraphs) FROM summaries WHERE NOT removed AND text NOT LIKE '%forged%'",
    "SELECT name, status FROM documents ORDER BY 1",
)


async def healed(folder, *damage):
    """The whole graph after a start on a store with that damage, once all is settled."""
    path = store_of_release("v1", folder)
    async with running_edge(folder, strategy="dgrag", chunk_tokens=16, chunk_overlap=0) as edge:
        await edge.settled()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("crc", -1, lambda *fields: 0)
        for statement in damage:
            connection.execute(statement)
    async with running_edge(folder, strategy="dgrag", chunk_tokens=16, chunk_overlap=0) as edge:
        await edge.settled()
        return [[tuple(row) for row in edge.node.documents.database.rows(query)] for query in GRAPH]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = zeroblob(256) WHERE kind = 'entity'",
        "UPDATE vectors SET key = key || 'x' WHERE kind = 'relation'",
        "UPDATE vectors SET vector = zeroblob(256) WHERE kind = 'chunk'",
        "UPDATE subgraphs SET entities = '[]'",
        "UPDATE subgraphs SET subgraph_id = 'x'",
        "UPDATE summaries SET text = 'forged'",
        "UPDATE entity_mentions SET name = 'forged' WHERE rowid % 2",
        "UPDATE relation_mentions SET source = 'forged'",
        "UPDATE chunks SET text = 'forged' WHERE ordinal = 1",
        "UPDATE aliases SET canonical = 'forged'",
    ],
)
async def test_the_graph_is_as_if_nothing_had_happened(tmp_path, damage):
    assert await healed(tmp_path / "damaged", damage) == await healed(tmp_path / "sound")
