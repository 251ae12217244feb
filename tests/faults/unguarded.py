"""The null controls of the campaigns: an edge with one of its protections taken away, and a client that boasts."""

import asyncio
import contextlib
from functools import partial
from threading import Timer
from unittest.mock import patch

from edge_node.database.replies import ReplyCache
from edge_node.documents.store import Accepted
from edge_node.graph.passages import Passages
from edge_node.node import EdgeNode
from edge_node.records import document_id
from shared import sqlite
from tests.faults import workload


async def boast(edge, step, number, say):
    """Count a step as acknowledged before it is sent: the null control of everything that counts acknowledgements."""
    say(f"ack {number}")
    await asyncio.sleep(0.01)
    await workload.persist(edge, step, number, lambda line: None)


@contextlib.contextmanager
def hasty():
    """Edges that answer at once, and commit what they accept a moment later."""
    accept, begun = EdgeNode.accept, set()

    async def commit(self, offered):
        await asyncio.sleep(0.005)
        await accept(self, offered)

    async def answer(self, offered):
        begun.add(asyncio.create_task(commit(self, offered)))  # a task that nobody holds may vanish
        return Accepted(document_id(offered.name, offered.raw), "", duplicate=False)

    with patch.object(EdgeNode, "accept", answer):
        yield


def early():
    """Edges that go on, and say that a document is indexed, before its passages are committed."""
    save = Passages.save

    def soon(self, *of_document):
        Timer(0.2, save, (self, *of_document)).start()

    return patch.object(Passages, "save", soon)


def oblivious():
    """Edges that keep what the model answers, and ask it again all the same."""
    return patch.object(ReplyCache, "_kept", lambda self, key, document: ())


@contextlib.contextmanager
def unsynced():
    """Stores that never sync."""
    connect = sqlite.connect

    def careless(*arguments, **named):
        connection = connect(*arguments, **named)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    with patch.object(sqlite, "connect", careless):
        yield


def life_of(folder, say, *, missing, **named):
    """A life without what is ``missing``."""
    with GUARDS[missing]():
        workload.live(folder, say, **named)


GUARDS = {"commit of documents": hasty, "commit of passages": early, "kept replies": oblivious}
LIVES = {"patience": partial(workload.live, do=boast)} | {missing: partial(life_of, missing=missing) for missing in GUARDS}
