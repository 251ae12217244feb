"""What the fault tests make an edge do, and what may be on its disk then. The only file here that knows the product.

A workload is a list of steps. Each is acknowledged by a line through a pipe, which outlives the process: ``ack 3``.
"""

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import httpx

from edge_node.ingest import progress
from edge_node.store.backup import back_up
from edge_node.store.database import Database
from edge_node.store.documents import document_id
from shared import sqlite
from shared.errors import DgragError
from shared.http_problems import status_of
from shared.models.fake import HashEmbedder
from tests.support.running_edge import running_edge

WARDS = {
    "ward.md": "Juniper Ward reported the failure of four infusion pumps in March. Each infusion pump used a battery pack of Corvid Cells.",
    "plant.md": "Corvid Cells makes the battery pack in Lund. Lot L-7713 of the battery pack caused the failure of infusion pumps.",
    "bank.md": "Harbour Bank finances Corvid Cells. Harbour Bank lends money to bakeries in Lund. Anna Holm leads Harbour Bank.",
    "trial.md": "Anna Holm met Juniper Ward in May. Doctor Reyes of Juniper Ward tested the infusion pumps against the Halden protocol.",
    "depot.md": "The Malmo depot stores infusion pumps. The Malmo depot delivered spare parts to Juniper Ward and to Doctor Reyes.",
}
BACKUP = "backup.db"
SECOND = "Corvid Cells makes the battery pack in Bergen. Lot L-8000 of the battery pack passed the Halden protocol. Harbour Bank left."


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a client asks for: ``accept``, ``remove``, ``settled`` (everything accepted is indexed) or ``backup``."""

    do: str
    name: str = ""
    text: str = ""

    @property
    def identity(self):
        return str(document_id(self.name, self.text.encode()))


FIRST = {name: Step("accept", name, text) for name, text in WARDS.items()}
STEPS = (  # a backup comes when all is settled, so that it has exactly what must be there
    *list(FIRST.values())[:4],
    Step("settled"),
    FIRST["depot.md"],
    Step("accept", "plant.md", SECOND),
    Step("settled"),
    Step("backup"),
    Step("remove", "bank.md", WARDS["bank.md"]),
    Step("settled"),
)


def allowed(acked):
    """Ids that must be there, and ids that may: the first ``acked`` steps were acknowledged, the next one is under way."""
    must, may = set(), set()
    for number, step in enumerate(STEPS[: acked + 1]):
        done = number < acked
        older = {one.identity for one in STEPS[:number] if one.do == "accept" and one.name == step.name} - {step.identity}
        match step.do:
            case "accept":  # what it replaces may stay until it is indexed
                (must if done else may).add(step.identity)
                may |= older & must
                must -= older
            case "remove":
                must.discard(step.identity)
                (may.discard if done else may.add)(step.identity)
            case "settled" if done:
                may.clear()
    return must, may


# ---------------------------------------------------------------- the life of a child


def preload():
    """Live once in the parent: loads, for all children, spaCy and all modules, and learns what each document leaves behind."""
    with tempfile.TemporaryDirectory() as name:

        def remember(line):
            with opened(Path(name) / "edge.db") as connection:
                WHOLE.update({one: share for one, share in shares(connection).items() if any(share.values())})

        live(Path(name), remember)
    progress.FIRST_WAIT_S = 0.02  # waits after a fault, so that thousands of faults take minutes


def live(folder, say, *, first=0, do=None):
    """Open the edge in ``folder``, wait until it is at rest, ``do`` the steps from ``first`` on (``persist``), and close it."""

    async def life():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))  # strace counts the calls of each thread apart
        async with edge_of(folder) as edge:
            say("open")
            await edge.settled()
            say("rest")
            for number, step in enumerate(STEPS[first:], first):
                await (do or persist)(edge, step, number, say)
            graph = edge.node.strategy.neighbourhood("", hops=0, limit=1_000_000)
            say(f"view {hashlib.sha256(json.dumps(graph, sort_keys=True).encode()).hexdigest()[:16]}")

    asyncio.run(life())


@contextlib.asynccontextmanager
async def edge_of(folder, **settings):
    """The workload's edge, with a cloud that takes every summary."""
    cloud = Cloud()
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(cloud.answer), base_url="http://cloud") as line,
        running_edge(folder, strategy="dgrag", cloud=line, **{"min_free_bytes": 0, **settings}) as edge,  # faults are to reach the store
    ):
        yield edge


async def persist(edge, step, number, say):
    """Do a step; refused, wait and try again, as a client would."""
    while True:
        response = await ACTIONS[step.do](edge, step)
        if response is None or response.status_code < 300 or (step.do == "remove" and response.status_code == 404):
            say(f"ack {number}")
            return
        say(f"refused {number} {response.status_code} {response.json()['code']}")
        await asyncio.sleep(0.02)


async def boast(edge, step, number, say):
    """Count a step as acknowledged before it is answered: the null control of everything that counts acknowledgements."""
    say(f"ack {number}")
    await persist(edge, step, number, lambda line: None)


async def reading(edge, step, number, say):
    """Do a step while another client reads all the time; a read that fails is told: ``unread 500``."""
    reader = asyncio.create_task(_read(edge, say))
    await persist(edge, step, number, say)
    reader.cancel()
    await asyncio.wait([reader])


async def _read(edge, say):
    while True:
        for path in ("/v1/documents", "/v1/status"):
            response = await edge.http.get(path)
            if response.status_code != 200:
                say(f"unread {path} {response.status_code}")
        await edge.node.strategy.retrieve("Who makes the battery pack?", budget_tokens=200, top_k=5)
        await asyncio.sleep(0.01)


async def accept(edge, step):
    return await edge.http.post("/v1/documents", json={"name": step.name, "text": step.text})


async def remove(edge, step):
    return await edge.http.delete(f"/v1/documents/{step.identity}")


async def settled(edge, step):
    await edge.settled()


async def backup(edge, step):
    folder = edge.node.settings.state_dir
    try:
        await asyncio.to_thread(back_up, folder, folder / BACKUP)
    except DgragError as error:
        return httpx.Response(status_of(error), json={"code": error.code})


ACTIONS = {"accept": accept, "remove": remove, "settled": settled, "backup": backup}


class Cloud:
    """Knows what the protocol needs: the newest version of one edge's summaries."""

    def __init__(self):
        self.known = {"edge": "ward", "epoch": "", "version": 0}

    async def answer(self, request):
        if request.url.path.endswith("/poll"):
            await asyncio.sleep(3600)
        if request.url.path.endswith("/summaries"):
            delta = json.loads(request.content)
            self.known |= {"epoch": delta["epoch"], "version": delta["version"]}
        return httpx.Response(200, json=self.known)


# ---------------------------------------------------------------- what is on the disk

SHARES = {  # what a document leaves behind, whole or not at all
    "chunks": "SELECT chunk_id, ordinal, text FROM chunks WHERE document_id = ?",
    "entities": "SELECT key, name, type, description FROM entity_mentions JOIN chunks USING (chunk_id) WHERE document_id = ?",
    "relations": "SELECT source, target, r.description FROM relation_mentions r JOIN chunks USING (chunk_id) WHERE document_id = ?",
    "vectors": "SELECT key, hex(vector) FROM vectors JOIN chunks ON key = chunk_id WHERE kind = 'chunk' AND document_id = ?",
}
WHOLE = {}  # the shares of each document, once indexed; see preload
DERIVED = {
    "documents": "SELECT document_id, name, status, code FROM documents",
    "vectors": "SELECT kind, key, hex(vector) FROM vectors",
    "aliases": "SELECT key, canonical FROM aliases",
}


@contextlib.contextmanager
def opened(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        yield connection


def digest(connection, sql, *arguments):
    """Hash of a query's rows, whatever their order; empty for none."""
    rows = sorted(map(repr, connection.execute(sql, arguments)))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16] if rows else ""


def shares(connection):
    """What each document has left behind."""
    ids = [row[0] for row in connection.execute("SELECT document_id FROM documents")]
    return {one: {name: digest(connection, sql, one) for name, sql in SHARES.items()} for one in ids}


def fingerprint(folder, lines):
    """Documents, their shares, the graph's vectors, and the graph as the edge saw it at its end: equal for equal content.

    Not the partition: it is repaired where something changed, so it depends on the order in which documents came.
    """
    view = next((line for line in lines if line.startswith("view ")), "none")
    with opened(folder / "edge.db") as connection:
        parts = {name: digest(connection, sql) for name, sql in DERIVED.items()}
        return parts | {"view": view} | {identity: repr(sorted(share.items())) for identity, share in shares(connection).items()}


def opens(folder):
    """Open the store as the product does; returns why it cannot."""
    try:
        Database(folder / "edge.db").close()
    except DgragError as error:
        return error.message
    return ""


@contextlib.contextmanager
def unsynced():
    """Stores that are opened within never sync: the null control of a power cut."""
    connect = sqlite.connect

    def careless(*arguments, **named):
        connection = connect(*arguments, **named)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    with patch.object(sqlite, "connect", careless):
        yield


def torn_graph(connection):
    """Where the partition does not cover the entities that have vectors, each once, or a part has no summary."""
    entities = {key for (key,) in connection.execute("SELECT key FROM vectors WHERE kind = 'entity'")}
    parts = {part: json.loads(keys) for part, keys in connection.execute("SELECT subgraph_id, entities FROM subgraphs")}
    told = {part for (part,) in connection.execute("SELECT summary_id FROM summaries WHERE removed = 0")}
    placed = [key for keys in parts.values() for key in keys]
    if sorted(placed) != sorted(entities):
        yield f"{len(placed)} places for {len(entities)} entities"
    if told != parts.keys():
        yield f"{len(told)} summaries for {len(parts)} parts"


async def nearest(edge):
    """Each chunk's id with the id that a search for its own text finds first, and the number of rows in the index."""
    index = edge.node.strategy._passages._index
    with opened(edge.node.documents.database.path) as connection:
        rows = connection.execute("SELECT chunk_id, text FROM chunks").fetchall()
    vectors = await HashEmbedder().embed([text for _, text in rows])
    return {chunk_id: index.top(vector, 1)[0][0] for (chunk_id, _), vector in zip(rows, vectors, strict=True)}, len(index)


def rows(edge):
    """How many documents, chunks and vectors of each kind are on the disk."""
    with opened(edge.node.documents.database.path) as connection:
        (documents,), (chunks,) = (connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("documents", "chunks"))
        return {"documents": documents, "chunks": chunks, **dict(connection.execute("SELECT kind, count(*) FROM vectors GROUP BY kind"))}


def wrong(folder, acked, *, at_rest=True):
    """What is not as ``acked`` acknowledged steps promise: (kind, words) each. ``at_rest``: everything must be indexed."""
    yield from _differences(folder / "edge.db", *allowed(acked), at_rest)
    made = next(number for number, step in enumerate(STEPS) if step.do == "backup")
    if acked > made:
        yield from ((f"{kind} in backup", what) for kind, what in _differences(folder / BACKUP, allowed(made)[0], set(), True))


def _differences(path, must, may, at_rest):
    try:
        with opened(path) as connection:
            check = connection.execute("PRAGMA integrity_check").fetchone()[0]
            if check != "ok":
                yield "unreadable", check
            status = dict(connection.execute("SELECT document_id, status FROM documents"))
            left, graph = shares(connection), list(torn_graph(connection))
    except sqlite3.DatabaseError as error:
        yield "unreadable", str(error)
        return
    if at_rest:
        yield from (("torn graph", words) for words in graph)
    yield from (("lost", one) for one in sorted(must - status.keys()))
    yield from (("returned", one) for one in sorted(status.keys() - must - may))
    yield from (("unfinished", f"{one} is {state}") for one, state in sorted(status.items()) if at_rest and state != "indexed")
    begun = {one: share for one, share in left.items() if any(share.values()) or status[one] == "indexed"}
    yield from (("half", one) for one, share in sorted(begun.items()) if share != WHOLE.get(one))
