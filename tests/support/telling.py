"""A store with documents, names and memories, and what its sharing policy lets the cloud know of these."""

import numpy as np

from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows
from edge_node.documents.store import DocumentStore
from edge_node.egress.memory_sharing import MemorySharing
from edge_node.egress.policy_file import NAME
from edge_node.graph.store import GraphStore
from edge_node.memory.records import Support, memory_of
from edge_node.memory.store import MemoryStore, StoredMemory
from shared.ports import SystemClock
from shared.records import Chunk, EntityMention
from tests.support.sharing import sharing_of

DIMENSIONS = 4


class Teller:
    """Documents of one chunk; ``policy`` is what stands in the policy file."""

    def __init__(self, folder, policy='[memories]\nshare = "answers"'):
        self.path = folder / "edge.db"
        self.obey(policy)
        self.open()

    def open(self):
        self.database = Database(self.path)
        self.documents, self.graph = DocumentStore(self.database, SystemClock()), GraphStore(self.database)
        self.memories = MemoryStore(self.database, DIMENSIONS)
        self.sharing = sharing_of(self.documents, self.graph)
        self.memory_sharing = MemorySharing.of(self.sharing, self.documents, self.graph)
        self.told = self.memory_sharing.told

    def again(self):
        """The same store in another run."""
        self.database.close()
        self.open()

    def obey(self, text):
        (self.path.parent / NAME).write_text(f"version = 1\n{text}", encoding="utf-8")

    def say(self, text, *names, kind="place", labels=(), name=""):
        """Returns the chunk of a new document with this text, that names some names."""
        document_id = self.documents.accept(name or text, text.encode(), reader="a.md", labels=labels).document_id
        chunk = Chunk(f"{document_id}:0", document_id, 0, text, 0, len(text), 3)
        mentions = [EntityMention(one.lower(), one, kind, "", chunk.chunk_id) for one in names]
        rows = VectorRows((), (), np.empty((0, DIMENSIONS), dtype=np.float32))
        self.graph.mentions.save_chunks([chunk], mentions, [], [], rows)
        return chunk.chunk_id

    def remember(self, question, answer, *chunk_ids, kind="template", doubtful=False):
        """Returns the id of a memory that rests on the first nine characters of some chunks."""
        told = memory_of(kind, question, answer, [Support(chunk_id, 0, 9) for chunk_id in chunk_ids], [])
        self.memories.commit([StoredMemory(told, np.zeros(DIMENSIONS, dtype=np.int16), doubtful=doubtful)])
        return told.memory_id

    def mill(self, question="Who built Orrin Mill?", answer="Ann Lee", **fields):
        """A document that says who built a mill, and a memory of it; returns the chunk."""
        chunk_id = self.say(f"{answer} built Orrin Mill {question}", "Orrin Mill", **fields)
        self.remember(question, answer, chunk_id)
        return chunk_id

    def forget(self, chunk_id):
        return self.documents.remove(chunk_id.rpartition(":")[0]).receipt_id

    def renewed(self):
        """(question, answer, direct) of all that may be told now."""
        self.memory_sharing.renew()
        return self.stored()

    def stored(self):
        rows = self.database.rows("SELECT question, answer, direct FROM shared_memories WHERE removed = 0 ORDER BY question")
        return [tuple(row) for row in rows]

    def drawn(self):
        return {name.name_key: name for name in self.memory_sharing.names.all().values()}
