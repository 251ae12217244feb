"""What is derived from the mentions: aliases, subgraphs, summaries; and what the cloud must learn of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from edge_node.database.outbox import Outbox
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorStore
from edge_node.documents.receipts import postpone
from edge_node.graph.aliases import AliasPair
from edge_node.graph.mentions import KEYS, MentionStore
from shared.errors import StoreError
from shared.records import Subgraph, Summary, SummaryDelta, SummaryId
from shared.sqlite import crc

DELTA_ROWS = 500  # summaries in one delta: the cloud embeds them within one request's deadline
DELTA_CHARS = 1_000_000  # at most 6 bytes each in JSON: under the cloud's 8 MiB a body
OBEYS = "summaries_obey"  # key in meta: policy.release.SummaryRelease.obeys of all present summaries
DRIFT = "changed_since_leiden"  # key in meta: entities and relations that changed since the last full partition


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A summary with what it was made of: the hash of its part, and a number a fact. ``stale``: a model should write a better text."""

    summary: Summary
    input_hash: str
    facts: tuple[int, ...]
    stale: bool


@dataclass(frozen=True, slots=True)
class Settlement:
    """What one settle commits, at once."""

    seq: int  # changes up to this one are done
    keys: Collection[str]  # whose aliases were decided anew …
    aliases: Sequence[AliasPair]  # … with this result
    parts: Sequence[Subgraph]  # new, or with other members
    gone: Collection[str]  # ids of subgraphs that are no more
    told: Sequence[StoredSummary]  # the cloud must learn these
    kept: Sequence[StoredSummary]  # these say what they said before
    descriptions: Collection[str]  # keys whose shortened description is out of date
    drift: int
    obeys: str = ""  # which release all summaries follow, with these


class GraphStore(Outbox[SummaryDelta]):
    """Tables aliases, subgraphs, descriptions, and summaries, the outbox; ``mentions`` and ``vectors`` are what they rest on."""

    table, newest, dropped = "summaries", "version", "tombstones_dropped"

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.mentions = MentionStore(database)
        self.vectors = VectorStore(database)

    def aliases(self) -> list[AliasPair]:
        """What entity resolution decided. Damaged rows are left out."""
        rows = self.database.rows("SELECT * FROM aliases")
        return [
            AliasPair(row["key"], row["canonical"], row["reason"], row["score"])
            for row in rows
            if crc(row["key"], row["canonical"]) == row["crc"]
        ]

    def subgraphs(self) -> dict[str, tuple[str, ...]]:
        """Members by subgraph id. Damaged rows are left out: their entities are placed anew."""
        rows = self.database.rows("SELECT * FROM subgraphs")
        return {
            row["subgraph_id"]: tuple(json.loads(row["entities"])) for row in rows if crc(row["subgraph_id"], row["entities"]) == row["crc"]
        }

    def summaries(self) -> list[Summary]:
        """The present summaries, by id. Raises StoreError for a damaged one."""
        rows = self.database.rows("SELECT * FROM summaries WHERE removed = 0 ORDER BY summary_id")
        for row in rows:
            if crc(row["summary_id"], row["text"]) != row["crc"]:
                raise StoreError(f"summary {row['summary_id']} is damaged on disk", next_step="restart the edge: it is written again")
        return [_summary(row) for row in rows]

    def stored_summaries(self, ids: Collection[str]) -> dict[str, StoredSummary]:
        """Those of the ids that have a present, undamaged summary."""
        query = f"SELECT * FROM summaries WHERE removed = 0 AND summary_id IN {KEYS}"
        rows = self.database.rows(query, (json.dumps(list(ids)),))
        return {
            row["summary_id"]: StoredSummary(_summary(row), row["input_hash"], tuple(json.loads(row["facts"])), bool(row["stale"]))
            for row in rows
            if crc(row["summary_id"], row["text"]) == row["crc"]
        }

    def summary_ids(self) -> set[str]:
        """Ids of the present summaries."""
        return {row["summary_id"] for row in self.database.rows("SELECT summary_id FROM summaries WHERE removed = 0")}

    def blank_summaries(self) -> tuple[int, int]:
        """How many of the present summaries tell nothing, as nothing of their parts may leave; and how many there are."""
        row = self.database.row("SELECT count(*) FILTER (WHERE trim(text) = '') AS blank, count(*) AS n FROM summaries WHERE removed = 0")
        return (row["blank"], row["n"]) if row else (0, 0)

    def telling_of(self, facts: Collection[int]) -> set[str]:
        """Ids of the present summaries that were made of one of these facts at least."""
        query = f"SELECT DISTINCT summary_id FROM summaries, json_each(facts) WHERE removed = 0 AND json_each.value IN {KEYS}"
        return {row["summary_id"] for row in self.database.rows(query, (json.dumps(list(facts)),))} if facts else set()

    def drop_derived(self) -> None:
        """Forget graph, vectors and summaries, which nobody keeps up to date any more; the cloud learns it. The mentions stay."""
        if not any(self.database.row(f"SELECT 1 FROM {table}") for table in ("subgraphs", "aliases", "descriptions", "changes")):
            return
        with self.database.write() as tx:
            tx.execute("DELETE FROM vectors WHERE kind != 'chunk'")
            gone = json.dumps([row["summary_id"] for row in tx.execute("SELECT summary_id FROM summaries WHERE removed = 0")])
            _write_summaries(tx, (), (), gone)
            for table in ("subgraphs", "aliases", "descriptions", "changes"):
                tx.execute(f"DELETE FROM {table}")

    def drop_descriptions(self) -> None:
        """Forget the shortened descriptions; the next settle shows the whole ones."""
        if self.database.row("SELECT 1 FROM descriptions") is not None:
            with self.database.write() as tx:
                _look_again(tx, [row["key"] for row in tx.execute("SELECT key FROM descriptions")])
                tx.execute("DELETE FROM descriptions")

    def stale_ids(self) -> list[str]:
        """Ids of the summaries that a model should write, longest stale first."""
        rows = self.database.rows("SELECT summary_id FROM summaries WHERE stale = 1 AND removed = 0 ORDER BY version, summary_id")
        return [row["summary_id"] for row in rows]

    def mark_all_stale(self) -> None:
        """Let a model write every summary: they were made without one so far."""
        with self.database.write() as tx:
            tx.execute("UPDATE summaries SET stale = 1 WHERE removed = 0")

    def drift(self) -> int:
        """Entities and relations that changed since the last full partition."""
        return int(self.database.meta(DRIFT, "0"))

    def commit(self, settlement: Settlement) -> None:
        """Write what a settle made, and strike the changes that it was made for off the log.

        What is in no subgraph any more becomes a tombstone; the version rises by one if, and only if, the cloud has something to learn.
        """
        with self.database.write() as tx:
            tx.execute(f"DELETE FROM aliases WHERE key IN {KEYS}", (json.dumps(list(settlement.keys)),))
            tx.executemany(
                "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?, ?, ?)",
                [(pair.key, pair.canonical, pair.reason, pair.score, crc(pair.key, pair.canonical)) for pair in settlement.aliases],
            )
            gone = json.dumps(list(settlement.gone))
            tx.execute(f"DELETE FROM subgraphs WHERE subgraph_id IN {KEYS}", (gone,))
            tx.executemany("INSERT OR REPLACE INTO subgraphs VALUES (?, ?, ?)", map(_subgraph_values, settlement.parts))
            tx.execute(f"DELETE FROM descriptions WHERE key IN {KEYS}", (json.dumps(list(settlement.descriptions)),))
            _write_summaries(tx, settlement.told, settlement.kept, gone)
            tx.execute("DELETE FROM changes WHERE seq <= ?", (settlement.seq,))
            tx.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(DRIFT, str(settlement.drift)), (OBEYS, settlement.obeys)])

    def save_summary(self, stored: StoredSummary, *, asked_for: str) -> bool:
        """Commit what the model wrote for the part with hash ``asked_for``; False if the stored one is not of that part any more."""
        with self.database.write() as tx:
            query = "SELECT input_hash FROM summaries WHERE summary_id = ? AND removed = 0"
            row = tx.execute(query, (stored.summary.summary_id,)).fetchone()
            if row is None or row["input_hash"] != asked_for:
                return False
            _write_summaries(tx, [stored], [], "[]")
        return True

    # ------------------------------------------------------------ descriptions

    def descriptions(self, keys: Collection[str]) -> dict[str, tuple[str, str]]:
        """(hash of the descriptions it stands for, text) of those keys whose description the model has shortened."""
        rows = self.database.rows(f"SELECT * FROM descriptions WHERE key IN {KEYS}", (json.dumps(list(keys)),))
        return {
            row["key"]: (row["input_hash"], row["text"]) for row in rows if crc(row["key"], row["input_hash"], row["text"]) == row["crc"]
        }

    def save_description(self, key: str, input_hash: str, text: str) -> None:
        """Commit a shortened description, of an entity or of a relation by both ends with a tab between; the next settle shows it."""
        with self.database.write() as tx:
            tx.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?, ?, ?)", (key, input_hash, text, crc(key, input_hash, text)))
            _look_again(tx, [key])

    def delta(self, *, epoch: str, version: int) -> SummaryDelta:
        """What a cloud that knows ``version`` of ``epoch`` must learn, or the first page of it; a snapshot if nothing can follow that.

        When a page is full, the other rows get a version of their own, above the newest: a delta of the next page, like any
        later change. So every page is complete for its version, a cut between two pages needs no care, and a row that is
        stamped but not yet asked for is at worst sent twice.
        """
        with self.database.write() as tx:  # one view of versions and rows, and no change between reading and stamping
            since = self.since(tx, epoch=epoch, version=version)
            changed = "SELECT * FROM summaries WHERE version > ? AND (? OR NOT removed) ORDER BY version, summary_id"
            rows = tx.execute(changed, (since.base, since.base)).fetchall()
            page = rows[: _page_rows([len(row["text"]) for row in rows])]
            if rest := rows[len(page) :]:
                later = self.next_version(tx)
                tx.executemany("UPDATE summaries SET version = ? WHERE summary_id = ?", [(later, row["summary_id"]) for row in rest])
                postpone(tx, from_version=rest[0]["version"], to_version=later)
            withheld = tx.execute("SELECT count(*) FROM summaries WHERE removed = 0 AND trim(text) = ''").fetchone()[0]
        told = [row for row in page if not row["removed"] and row["text"].strip()]
        upserts = tuple(_summary(row) for row in told)
        known = {row["summary_id"] for row in told}
        removals = tuple(SummaryId(row["summary_id"]) for row in page if row["summary_id"] not in known) if since.base else ()
        return SummaryDelta(since.epoch, since.base, since.newest, upserts, removals, withheld)


def _look_again(tx: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Have the next settle look at these entities and relations."""
    ends = [key.partition("\t")[::2] for key in keys]
    tx.executemany("INSERT INTO changes (source, target, removed) VALUES (?, ?, 0)", ends)


def _page_rows(chars: Sequence[int]) -> int:
    """How many rows with texts of so many characters fit into one delta; at least one."""
    total = 0
    for row, length in enumerate(chars):
        total += length
        if row and (row >= DELTA_ROWS or total > DELTA_CHARS):
            return row
    return len(chars)


def _summary(row: sqlite3.Row) -> Summary:
    return Summary(SummaryId(row["summary_id"]), row["text"], row["entities"], row["relations"], row["titles"])


def _write_summaries(tx: sqlite3.Connection, told: Sequence[StoredSummary], kept: Sequence[StoredSummary], gone: str) -> None:
    """``gone``: JSON list of ids."""
    tx.executemany(
        "UPDATE summaries SET input_hash = ?, facts = ?, stale = ? WHERE summary_id = ?",
        [(s.input_hash, json.dumps(s.facts), s.stale, s.summary.summary_id) for s in kept],
    )
    lost = tx.execute(f"SELECT count(*) FROM summaries WHERE removed = 0 AND summary_id IN {KEYS}", (gone,)).fetchone()[0]
    if not told and not lost:
        return
    version = GraphStore.next_version(tx)
    tx.execute(
        "UPDATE summaries SET removed = 1, text = '', titles = x'', crc = 0, facts = '[]', stale = 0, version = ?"
        f" WHERE removed = 0 AND summary_id IN {KEYS}",
        (version, gone),
    )
    tx.executemany(
        "INSERT OR REPLACE INTO summaries (summary_id, text, crc, input_hash, entities, relations, version, facts, stale, titles)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_summary_values(stored, version) for stored in told],
    )


def _summary_values(stored: StoredSummary, version: int) -> tuple[str | int | bytes, ...]:
    summary = stored.summary
    key, text = summary.summary_id, summary.text
    return (
        key, text, crc(key, text), stored.input_hash, summary.entities, summary.relations, version, json.dumps(stored.facts), stored.stale,
        summary.titles,
    )  # fmt: skip


def _subgraph_values(subgraph: Subgraph) -> tuple[str | int, ...]:
    entities = json.dumps(subgraph.entities)
    return subgraph.subgraph_id, entities, crc(subgraph.subgraph_id, entities)
