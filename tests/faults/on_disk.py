"""What is on an edge's disk: what each document left there, and what is not as acknowledgements promise. Beside ``workload``, it alone
knows the product.
"""

import contextlib
import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

from edge_node.database.schema import Database
from shared.errors import DgragError
from tests.faults.report import memory_folder
from tests.faults.steps import BACKUP, STEPS, allowed

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
    "facts": "SELECT chunk_id, ordinal, subject, lemma, object FROM facts",
    "memories": "SELECT memory_id, kind, question, answer, anchors, hex(vector), sources FROM memories",
    "supports of memories": "SELECT memory_id, chunk_id, start, end FROM memory_chunks",
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
    """Documents, their shares, vectors, what is remembered, and the graph as the edge saw it at its end: equal for equal content.

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


def stray_replies(connection):
    """Kept replies of the model that belong to no document."""
    owned = "SELECT 1 FROM llm_sources s JOIN documents USING (document_id) WHERE s.input_hash = r.input_hash AND s.model = r.model"
    for (prompt,) in connection.execute(f"SELECT input_hash FROM llm_results r WHERE NOT EXISTS ({owned})"):
        yield prompt


def kept(folder):
    """Hashes of the prompts whose replies are kept.

    Looks at a copy, and not on the edge's own disk, which may be full: to open a store is to recover it, which an edge must do itself.
    """
    with memory_folder() as copy:
        for file in folder.glob("edge.db*"):
            shutil.copy(file, copy)
        with opened(Path(copy) / "edge.db") as connection, contextlib.suppress(sqlite3.OperationalError):  # killed before it had tables
            return {prompt for (prompt,) in connection.execute("SELECT input_hash FROM llm_results")}
    return set()


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
            left, graph, replies = shares(connection), list(torn_graph(connection)), list(stray_replies(connection))
    except sqlite3.DatabaseError as error:
        yield "unreadable", str(error)
        return
    if at_rest:
        yield from (("torn graph", words) for words in graph)
        yield from (("stray reply", words) for words in replies)
    yield from (("lost", one) for one in sorted(must - status.keys()))
    yield from (("returned", one) for one in sorted(status.keys() - must - may))
    yield from (("unfinished", f"{one} is {state}") for one, state in sorted(status.items()) if at_rest and state != "indexed")
    begun = {one: share for one, share in left.items() if any(share.values()) or status[one] == "indexed"}
    yield from (("half", one) for one, share in sorted(begun.items()) if share != WHOLE.get(one))
