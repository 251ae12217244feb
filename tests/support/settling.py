"""A DGRAG strategy on a real store, whose extractor is told by the test what each document says."""

import contextlib

import pytest

from edge_node.database.replies import ReplyCache
from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from edge_node.extraction.extractor import Extracted
from edge_node.extraction.facts import Fact
from edge_node.extraction.names import Definition
from edge_node.graph.store import GraphStore
from edge_node.graph.tools import Tools
from edge_node.records import silent
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import open_strategy
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock
from shared.records import Chunk, EntityMention, RelationMention
from tests.support.sharing import sharing_of

SAID = ("entities", "relations", "definitions", "facts")


class Told:
    """Implements Extracts: what was put under a chunk's id."""

    def __init__(self):
        self.said = {}

    async def extract(self, chunks, progress):
        found = [self.said[chunk.chunk_id] for chunk in chunks]
        parts = {name: tuple(item for said in found for item in getattr(said, name)) for name in SAID}
        return Extracted(**parts)


def said_of(chunk, names, related, definitions, facts=(), kind="concept"):
    """What a chunk says that names ``names``, of the type ``kind``."""
    told = f"is told of, at some length and without haste, in {chunk.text}."
    return Extracted(
        tuple(EntityMention(name.lower(), name, kind, f"{name} {told}", chunk.chunk_id) for name in names),
        tuple(RelationMention(a.lower(), b.lower(), f"{a} has {b}.", ("has",), 1.0, chunk.chunk_id) for a, b in related),
        tuple(Definition(chunk.chunk_id, long.lower(), short.lower()) for long, short in definitions),
        facts=tuple(Fact(chunk.chunk_id, *fact) for fact in facts),
    )


ALL_CHANNELS = "dense,lexical,pagerank,entities,relations"  # so that every kind of vector is kept


class Bench:
    """A strategy with its stores; ``reply`` answers for the model."""

    def __init__(self, folder, embedder, clock, settings):
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, clock or SystemClock())
        self.graph = GraphStore(self.database)
        self.reply = lambda prompt: ""
        self.first_token = lambda prompt: None
        self.model = ScriptedGenerator(lambda prompt: self.reply(prompt), lambda prompt: self.first_token(prompt))
        self.told = Told()
        memories = ReplyCache(self.model, self.database, SystemClock())
        self.tools = Tools(
            "ward",
            self.documents,
            self.graph,
            embedder or HashEmbedder(),
            memories,
            sharing_of(self.documents, self.graph),
            WordTokenizer(),
            "numpy",
        )
        knobs = EdgeSettings(**({"state_dir": folder, "subgraph_entities": 2, "memory": "off"} | settings))
        self.strategy = open_strategy(self.tools, knobs, self.told)
        self.ids = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, folder, *, embedder=None, clock=None, **settings):
        bench = cls(folder, embedder, clock, settings)
        try:
            await bench.strategy.open()
            await bench.settle()
            yield bench
        finally:
            bench.database.close()

    async def add(self, name, names, *, related=(), definitions=(), text="", labels=(), title="", facts=(), kind="concept"):
        """A document of one chunk that names entities and relates some of them; in place of a former one of this name.

        ``facts``: the fields of each but its chunk.
        """
        text = text or f"{name}: {', '.join(names)}; {related}; {definitions}"
        document_id = self.documents.accept(name, text.encode(), reader="a.md", title=title, labels=labels).document_id
        chunk = Chunk(f"{document_id}:0", document_id, 0, text, 0, len(text), 3)
        self.told.said[chunk.chunk_id] = said_of(chunk, names, related, definitions, facts, kind)
        await self.strategy.add([chunk], silent)
        self.ids[name] = document_id
        return document_id

    async def remove(self, name):
        removed = self.documents.remove(self.ids.pop(name)).chunks
        await self.strategy.forget(removed)

    async def settle(self):
        await self.strategy.settle(silent)

    async def refine(self):
        return await self.strategy.refine(silent)

    def graph_now(self):
        return self.strategy.write_path.updater.view.graph

    def parts_now(self):
        return self.strategy.write_path.updater.placer.parts

    def adjacency_now(self):
        return self.strategy.write_path.updater.view.adjacency

    def texts(self):
        return {summary.text for summary in self.graph.summaries()}

    def fingerprint(self):
        """The graph, and which chunks and vectors there are; all of it as the store has it and as questions see it."""
        view, parts = self.strategy.write_path.updater.view, self.parts_now()
        rows = {}
        for kind, index in (("chunk", self.strategy.write_path.passages._index), ("entity", view.entities), ("relation", view.relations)):
            found = self.graph.vectors.load(kind, self.tools.embedder.dimensions)
            rows[kind] = sorted(zip(found.keys, found.text_hashes, found.vectors.tolist(), strict=True))
            assert len(index) == len(found.keys)
            for key, vector in zip(found.keys, found.vectors, strict=True):
                assert index.scores(vector, [key])[0] == pytest.approx(1.0, abs=1e-5), f"the {kind} index has another vector of {key}"
        assert parts.members == self.graph.subgraphs()
        assert self.strategy.write_path.updater._resolver.canonical == {pair.key: pair.canonical for pair in self.graph.aliases()}
        return sorted(view.graph.entities.items()), sorted(view.graph.relations.items()), rows

    def everything_stored(self):
        """Every text in every table."""
        tables = [row["name"] for row in self.database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(str(tuple(row)) for table in tables for row in self.database.rows(f"SELECT * FROM {table}"))
