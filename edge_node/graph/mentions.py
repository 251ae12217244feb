"""What each chunk says: its mentions and definitions, committed with it; and the log of what the next settle must look at."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows, insert_vectors
from edge_node.documents.store import delete_chunks, insert_chunks, purge_others
from edge_node.extraction.names import TITLE, Definition
from edge_node.graph.aliases import EntityName
from shared.errors import NotFound
from shared.records import Chunk, ChunkId, EntityMention, RelationMention, is_withheld
from shared.sqlite import crc, is_text

log = logging.getLogger("dgrag.edge.store")
Pair = tuple[str, str]  # the ends of a relation, the lesser first
# What was read so far, by itself. Keys, types, sentences and the names of chunks are in many rows: with it each stands in memory once.
# Not sys.intern: some Pythons 3.12 never let go of what it was given, and a deleted document's words must go.
Same = dict[str, str]
KEYS = "(SELECT value FROM json_each(?))"
ENTITIES = "SELECT chunk_id, key, name, type, description, crc FROM entity_mentions"


@dataclass(frozen=True, slots=True)
class Changes:
    """Keys and pairs whose mentions changed up to ``seq``; True where one was removed."""

    seq: int
    entities: dict[str, bool]
    relations: dict[Pair, bool]


class MentionStore:
    """Tables entity_mentions, relation_mentions, definitions and changes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save_chunks(
        self,
        chunks: Sequence[Chunk],
        entities: Iterable[EntityMention],
        relations: Iterable[RelationMention],
        definitions: Iterable[Definition],
        rows: VectorRows,
        also: Sequence[Callable[[sqlite3.Connection], None]] = (),
    ) -> tuple[ChunkId, ...]:
        """Commit all chunks of their documents, their mentions and their vectors in one transaction, in place of any former ones.

        ``also`` writes what else belongs to these chunks. Repeating it changes nothing. Returns the chunks of the versions that these
        documents replace. Raises NotFound when their document was removed meanwhile.
        """
        replaced: list[ChunkId] = []
        with self._database.write() as tx:
            for document_id in sorted({chunk.document_id for chunk in chunks}):
                if tx.execute("SELECT 1 FROM documents WHERE document_id = ?", (document_id,)).fetchone() is None:
                    raise NotFound("document", document_id)
                delete_chunks(tx, document_id)
                replaced += purge_others(tx, document_id)
            insert_chunks(tx, chunks)
            tx.executemany("INSERT INTO entity_mentions VALUES (?, ?, ?, ?, ?, ?)", map(_entity_values, entities))
            tx.executemany("INSERT INTO relation_mentions VALUES (?, ?, ?, ?, ?, ?, ?)", map(_relation_values, relations))
            tx.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?)", map(_definition_values, definitions))
            insert_vectors(tx, "chunk", rows)
            for write in also:
                write(tx)
        return tuple(replaced)

    def of_chunk(self, chunk_id: str) -> tuple[tuple[EntityMention, ...], tuple[RelationMention, ...]]:
        """What a chunk says, as far as it is undamaged."""
        entities = self._database.stream(f"{ENTITIES} WHERE chunk_id = ?", (chunk_id,))
        relations = self._database.stream("SELECT * FROM relation_mentions WHERE chunk_id = ?", (chunk_id,))
        return tuple(_entities(entities)), tuple(_relations(relations))

    def save_reading(self, chunk_id: str, entities: Sequence[EntityMention], relations: Sequence[RelationMention], *, model: str) -> None:
        """Commit what a model has said of a chunk: further entities, and relations in the place of all that it had; not if it is gone."""
        with self._database.write() as tx:
            if tx.execute("SELECT 1 FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone() is None:
                return
            tx.execute("DELETE FROM relation_mentions WHERE chunk_id = ?", (chunk_id,))
            tx.executemany("INSERT INTO entity_mentions VALUES (?, ?, ?, ?, ?, ?)", map(_entity_values, entities))
            tx.executemany("INSERT INTO relation_mentions VALUES (?, ?, ?, ?, ?, ?, ?)", map(_relation_values, relations))
            tx.execute("INSERT OR REPLACE INTO core_readings VALUES (?, ?)", (chunk_id, model))

    def readings(self) -> frozenset[str]:
        """The chunks that a model has read as part of the core."""
        return frozenset(row["chunk_id"] for row in self._database.stream("SELECT chunk_id FROM core_readings"))

    def entities(self, keys: Collection[str] | None = None) -> Iterator[EntityMention]:
        """The mentions of some keys, or all, in no order. A damaged row is left out: ``store.check`` has it extracted again."""
        yield from _entities(self._stream(ENTITIES, "key", keys))

    def by_key(self, same: Same) -> Iterator[list[EntityMention]]:
        """All mentions, those of one key together, in the order of the keys."""
        for _, mentions in groupby(_entities(self._database.stream(f"{ENTITIES} ORDER BY key"), same), key=attrgetter("key")):
            yield list(mentions)

    def relations(self, pairs: Collection[Pair] | None = None, same: Same | None = None) -> Iterator[RelationMention]:
        """The mentions of some pairs of keys, in either direction, or all; in no order. Damaged rows are left out."""
        if pairs is None:
            rows = self._database.stream("SELECT * FROM relation_mentions")
        else:
            both = json.dumps([*pairs, *((b, a) for a, b in pairs if a != b)])
            query = (
                "SELECT r.* FROM json_each(?) p CROSS JOIN relation_mentions r"
                " ON r.source = json_extract(p.value, '$[0]') AND r.target = json_extract(p.value, '$[1]')"
            )
            rows = self._database.stream(query, (both,))
        yield from _relations(rows, same)

    def pairs_with(self, keys: Collection[str]) -> set[Pair]:
        """The pairs of keys that are related, with one of ``keys`` among them."""
        query = f"SELECT source, target FROM relation_mentions WHERE source IN {KEYS} UNION SELECT source, target FROM relation_mentions"
        listed = json.dumps(list(keys))
        rows = self._database.rows(f"{query} WHERE target IN {KEYS}", (listed, listed))
        return {(min(row["source"], row["target"]), max(row["source"], row["target"])) for row in rows}

    def keys(self) -> list[str]:
        """Every key that is mentioned."""
        return [row["key"] for row in self._database.stream("SELECT DISTINCT key FROM entity_mentions")]

    def names(self, keys: Collection[str]) -> list[EntityName]:
        """Those of the keys that are mentioned, with a surface form and the number of mentions."""
        query = f"SELECT key, min(name) AS name, count(*) AS n FROM entity_mentions WHERE key IN {KEYS} GROUP BY key"
        return [EntityName(row["key"], row["name"], row["n"]) for row in self._database.rows(query, (json.dumps(list(keys)),))]

    def names_of_types(self, types: Collection[str]) -> frozenset[str]:
        """All spellings of the entities that some mention gives one of these types, in lower or upper case."""
        query = f"""
            WITH typed AS (SELECT DISTINCT key FROM entity_mentions WHERE lower(type) IN {KEYS}),
                roots AS (SELECT coalesce(canonical, typed.key) AS key FROM typed LEFT JOIN aliases ON aliases.key = typed.key)
            SELECT DISTINCT name FROM entity_mentions WHERE key IN (
                SELECT key FROM roots UNION SELECT aliases.key FROM aliases WHERE canonical IN (SELECT key FROM roots))"""
        rows = self._database.rows(query, (json.dumps([kind.lower() for kind in types]),))
        return frozenset(row["name"] for row in rows)

    def common_names(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys whose entities a text writes in lower case: things, as a ward, and not Mr. Ward. A file's name says nothing."""
        query = f"SELECT DISTINCT key FROM entity_mentions WHERE key IN {KEYS} AND name = lower(name) AND type != ?"
        return frozenset(row["key"] for row in self._database.rows(query, (json.dumps(list(keys)), TITLE)))

    def names_of_other_types(self, types: Collection[str]) -> frozenset[str]:
        """All spellings, not all in lower case, to which some mention gives none of these types. A title says nothing."""
        query = f"SELECT DISTINCT name FROM entity_mentions WHERE lower(type) NOT IN {KEYS} AND type != ? AND name != lower(name)"
        return frozenset(row["name"] for row in self._database.rows(query, (json.dumps([kind.lower() for kind in types]), TITLE)))

    def sure_of_other_types(self, keys: Collection[str], types: Collection[str], least: int) -> frozenset[str]:
        """Those of the keys that ``least`` mentions or more give a type, and none one of these."""
        query = f"""
            SELECT key FROM entity_mentions WHERE key IN {KEYS} AND type != ? GROUP BY key
            HAVING count(*) >= ? AND NOT sum(lower(type) IN {KEYS})"""
        values = (json.dumps(list(keys)), TITLE, least, json.dumps([kind.lower() for kind in types]))
        return frozenset(row["key"] for row in self._database.rows(query, values))

    def definitions(self, keys: Collection[str]) -> set[tuple[str, str]]:
        """The (long, short) with one of ``keys`` among them."""
        query = f"SELECT long, short FROM definitions WHERE long IN {KEYS} UNION SELECT long, short FROM definitions WHERE short IN {KEYS}"
        listed = json.dumps(list(keys))
        return {(row["long"], row["short"]) for row in self._database.rows(query, (listed, listed))}

    def definitions_outside(self, keys: Collection[str], withheld: AbstractSet[str]) -> set[tuple[str, str]]:
        """The (long, short) with ``long`` among ``keys`` that some chunk tells of which is not ``withheld``."""
        query = f"SELECT long, short, chunk_id FROM definitions WHERE long IN {KEYS}"
        rows = self._database.rows(query, (json.dumps(list(keys)),))
        return {(row["long"], row["short"]) for row in rows if not is_withheld(row["chunk_id"], withheld)}

    def state(self) -> tuple[int, int]:
        """Two numbers that are others after any change of mentions, definitions or aliases."""
        row = self._database.row(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0) AS last,"
            " coalesce((SELECT min(seq) FROM changes), 0) AS first"
        )
        return (row["last"], row["first"]) if row else (0, 0)

    def chunk_documents(self, chunk_ids: Collection[str]) -> dict[str, str]:
        """Document id of each of the chunks."""
        query = f"SELECT chunk_id, document_id FROM chunks WHERE chunk_id IN {KEYS}"
        return {row["chunk_id"]: row["document_id"] for row in self._database.rows(query, (json.dumps(list(chunk_ids)),))}

    def changes(self) -> Changes:
        """What changed since the last settle. What is no text any more is left out: ``store.mend`` has everything looked at again."""
        seq, entities, relations = 0, dict[str, bool](), dict[Pair, bool]()
        query = "SELECT seq, CAST(source AS BLOB), CAST(target AS BLOB), removed FROM changes ORDER BY seq"
        for row in self._database.stream(query):
            seq, *ends, removed = row
            if not all(map(is_text, ends)):
                log.error("a damaged change is left out")
                continue
            source, target = (end.decode() for end in ends)
            if target:
                relations[source, target] = relations.get((source, target), False) or bool(removed)
            else:
                entities[source] = entities.get(source, False) or bool(removed)
        return Changes(seq, entities, relations)

    def log_changes(self, keys: Collection[str], pairs: Iterable[Pair]) -> None:
        """Have the next settle look at these too."""
        rows = [*((key, "") for key in keys), *pairs]
        if rows:
            with self._database.write() as tx:
                tx.executemany("INSERT INTO changes (source, target, removed) VALUES (?, ?, 0)", rows)

    def _stream(self, query: str, column: str, keys: Collection[str] | None) -> Iterator[sqlite3.Row]:
        if keys is None:
            return self._database.stream(query)
        return self._database.stream(f"{query} WHERE {column} IN {KEYS}", (json.dumps(list(keys)),))


def _entities(rows: Iterable[sqlite3.Row], same: Same | None = None) -> Iterator[EntityMention]:
    once = ({} if same is None else same).setdefault
    for row in rows:
        *fields, checksum = row
        if crc(*fields) == checksum:
            chunk_id, key, name, kind, description = (once(field, field) for field in fields)
            yield EntityMention(key, name, kind, description, ChunkId(chunk_id))
        else:
            log.error("a damaged entity mention is left out")


def _relations(rows: Iterable[sqlite3.Row], same: Same | None = None) -> Iterator[RelationMention]:
    once = ({} if same is None else same).setdefault
    for row in rows:
        *fields, checksum = row
        if crc(*fields) == checksum:
            chunk_id, source, target, description, keywords, strength = fields
            chunk_id, source, target, description = (once(field, field) for field in (chunk_id, source, target, description))
            words = tuple(once(word, word) for word in json.loads(keywords))
            yield RelationMention(source, target, description, words, strength, ChunkId(chunk_id))
        else:
            log.error("a damaged relation mention is left out")


def _entity_values(mention: EntityMention) -> tuple[str | int, ...]:
    fields = (mention.chunk_id, mention.key, mention.name, mention.type, mention.description)
    return (*fields, crc(*fields))


def _definition_values(definition: Definition) -> tuple[str | int, ...]:
    fields = (definition.chunk_id, definition.long, definition.short)
    return (*fields, crc(*fields))


def _relation_values(mention: RelationMention) -> tuple[str | float, ...]:
    keywords = json.dumps(mention.keywords)
    fields = (mention.chunk_id, mention.source, mention.target, mention.description, keywords, float(mention.strength))
    return (*fields, crc(*fields))
