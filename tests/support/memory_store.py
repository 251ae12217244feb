"""A store with documents of one chunk each, and memories of them."""

import numpy as np

from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows
from edge_node.documents.store import DocumentStore
from edge_node.extraction.facts import Fact
from edge_node.graph.store import GraphStore
from edge_node.memory.records import Support, memory_of
from edge_node.memory.store import IncidenceStore, MemoryStore, StoredMemory
from shared.ports import SystemClock
from shared.records import Chunk

DIMENSIONS = 4


class MemoryBench:
    """Documents whose names are their texts."""

    def __init__(self, folder):
        self.path = folder / "edge.db"
        self.open(Database(self.path))

    def open(self, database):
        self.database = database
        self.documents = DocumentStore(database, SystemClock())
        self.memories = MemoryStore(database, DIMENSIONS)
        self.incidence = IncidenceStore(database)

    def add(self, name):
        document_id = self.documents.accept(name, name.encode(), reader="a.md").document_id
        chunk = Chunk(f"{document_id}:0", document_id, 0, name, 0, len(name), 1)
        GraphStore(self.database).mentions.save_chunks([chunk], [], [], [], VectorRows((), (), np.empty((0, 4), dtype=np.float32)))
        return chunk.chunk_id

    def remove(self, chunk_id):
        self.documents.remove(chunk_id.rpartition(":")[0])

    def counted(self, *tables):
        return [self.database.row(f"SELECT count(*) FROM {table}")[0] for table in tables]


def a_fact(chunk_id, subject="Ünal ☃", **fields):
    said = {"start": 3, "end": 19, "verb": "was built", "lemma": "build", "preposition": "in", "object": "1962", "object_type": "date"}
    return Fact(chunk_id=chunk_id, subject=subject, subject_type="place", **(said | {"negated": False} | fields))


def a_memory(*chunk_ids, question="When was Ünal's mill built?", kind="template", vector=(1, -2, 3, -4), **fields):
    supports = [Support(chunk_id, 3, 19) for chunk_id in chunk_ids]
    told = memory_of(kind, question, "1962", supports, ["mill", "build"])
    return StoredMemory(told, np.array(vector, dtype=np.int16), **fields)


def told_of(stored):
    """What can be compared of a stored memory."""
    return stored.memory, stored.vector.tolist(), stored.model, stored.doubtful
