"""Memories that are told to a read path: no method finds them, and no store keeps them."""

from edge_node.memory.anchors import anchors_of, dice
from edge_node.memory.records import Backing, Recalled, Remembered, Scored, Support, memory_of
from shared.errors import NotFound
from shared.records import Chunk, document_of


def chunk_of(text, *, document_id="d", start=0):
    """A chunk that begins ``start`` characters behind its document's beginning."""
    return Chunk(f"{document_id}:0", document_id, 0, text, start, start + len(text), 9)


def memory_in(chunk, question, answer, *, kind="template", said=None):
    """A memory that rests on the whole chunk, or on ``said``, a part of it."""
    start = chunk.text.index(said) if said else 0
    support = Support(chunk.chunk_id, start, start + len(said or chunk.text))
    return memory_of(kind, question, answer, [support], anchors_of(question, ()))


class Documents:
    """Chunks by id, as ``DocumentStore.chunks`` reads them."""

    def __init__(self, *chunks):
        self.there = {chunk.chunk_id: chunk for chunk in chunks}

    def chunks(self, chunk_ids):
        return {key: (self.there[key], f"{document_of(key)}.md", "") for key in chunk_ids if key in self.there}


class Told:
    """Implements ``memory.service.Memories``: those that a test puts in, or that were learned, each with its vector."""

    def __init__(self, documents):
        self.documents = documents
        self.kept = {}  # memory and vector by id
        self.ratings = {}
        self.barred = set()
        self.doubtful = set()
        self.arrivals = 0
        self.since = []  # of each lesson
        self.asked = []  # k and floor of each look
        self.fails = None

    async def put(self, embedder, *memories):
        for memory in memories:
            self.kept[memory.memory_id] = (memory, (await embedder.embed([memory.question]))[0])

    async def recalled(self, question, vector, *, k, floor, withheld=frozenset(), others=False):
        self.asked.append((k, floor))
        if self.fails is not None:
            raise self.fails
        found = [self._scored(memory, question, float(vector @ near)) for memory, near in self.kept.values()]
        best = sorted((one for one in found if one.score >= floor), key=lambda one: (-one.score, one.memory.memory_id))
        return tuple(Recalled(one, self._backing(one.memory)) for one in best[:k])

    async def rate(self, memory_id, *, right):
        good, bad = self._known(memory_id)
        self.ratings[memory_id] = (good + right, bad + (not right))

    async def learn(self, memory, vector, *, since):
        self.kept[memory.memory_id] = (memory, vector)
        self.since.append(since)

    async def bar(self, memory_id):
        self._known(memory_id)
        self.barred.add(memory_id)

    @property
    def memories(self):
        """As an index has them."""
        return self

    async def page(self, after="", limit=100, withheld=frozenset()):
        ids = sorted(key for key in self.kept if key > after)[:limit]
        return tuple(Remembered(self.kept[key][0], *self.ratings.get(key, (0, 0)), key in self.doubtful, key in self.barred) for key in ids)

    async def counts(self):
        kinds = [memory.kind for memory, _ in self.kept.values()]
        return {kind: kinds.count(kind) for kind in ("template", "model", "learned")}

    def _known(self, memory_id):
        if memory_id not in self.kept:
            raise NotFound("memory", memory_id)
        return self.ratings.get(memory_id, (0, 0))

    def _scored(self, memory, question, cosine):
        shared = dice(anchors_of(question, ()), memory.anchors)
        return Scored(memory, 0.7 * cosine + 0.3 * shared, cosine, shared)

    def _backing(self, memory):
        chunks = self.documents.chunks(sorted({support.chunk_id for support in memory.supports}))

        def sentence(support):
            return chunks[support.chunk_id][0].text[support.start : support.end] if support.chunk_id in chunks else None

        good, bad = self.ratings.get(memory.memory_id, (0, 0))
        return Backing(tuple(map(sentence, memory.supports)), good, bad, memory.memory_id in self.doubtful, memory.memory_id in self.barred)
