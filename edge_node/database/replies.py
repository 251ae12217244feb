"""A model's good replies, kept: a crash, a retry or a second document with the same passage never pays twice (design §4)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, replace

import orjson

from edge_node.database.schema import Database
from shared.errors import DiskFailed, DiskFull
from shared.ports import Clock, Generator, Prompt, Reply
from shared.records import DocumentId
from shared.sqlite import crc

log = logging.getLogger("dgrag.edge.store")
MAX_UNKEPT = 1000  # replies in memory while the disk is full
USAGE = ("model_calls", "tokens_in", "tokens_out")  # running totals in the meta table
Key = tuple[str, str]  # of llm_results: prompt_hash and model


def prompt_hash(prompt: Prompt) -> str:
    """Hash of what is asked: prompt text (so its version too), schema and limits, but not temperature and seed.

    A question that is asked once more, to have another answer, is the same question.
    """
    asked = asdict(replace(prompt, temperature=0.0, seed=None))
    if not prompt.choices:
        del asked["choices"]  # newer than the replies that stores hold
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()


def usage(database: Database) -> dict[str, int]:
    """What the write path has used of the model since the store was made: each reply counts when it comes, whatever follows."""
    return {key: int(database.meta(key, "0")) for key in USAGE}


def delete_unowned(tx: sqlite3.Connection) -> None:
    """Delete replies that belong to no document, part of the caller's transaction."""
    tx.execute(
        "DELETE FROM llm_results WHERE NOT EXISTS (SELECT 1 FROM llm_sources"
        " WHERE llm_sources.input_hash = llm_results.input_hash AND llm_sources.model = llm_results.model)"
    )


def delete_replies(tx: sqlite3.Connection, document_id: DocumentId) -> None:
    """Delete the replies that were made for this document and no other, and the unowned ones, part of the caller's transaction."""
    tx.execute("DELETE FROM llm_sources WHERE document_id = ?", (document_id,))
    delete_unowned(tx)


def not_blank(text: str) -> bool:
    """The least that is asked of a reply."""
    return bool(text.strip())


class ReplyCache:
    """A Generator that answers from the store what it has answered before, and counts what is paid.

    For the write path, where the same question may have the same answer.
    """

    def __init__(self, generator: Generator, database: Database, clock: Clock) -> None:
        self._generator = generator
        self._database = database
        self._clock = clock
        self._disk_failed = False  # the last time that a reply was to be kept
        self._unkept: dict[Key, Reply] = {}  # paid for, but the disk was full: whoever asks again has them from here

    @property
    def name(self) -> str:
        """The model's name."""
        return self._generator.name

    async def generate(
        self,
        prompt: Prompt,
        *,
        deadline_s: float,
        usable: Callable[[str], bool] = not_blank,
        document: DocumentId | None = None,
    ) -> Reply:
        """From the store at no cost, else from the model; a reply that is cut, blank or not ``usable`` is returned but not kept.

        While the disk is full, replies are held in memory: a document waits for space without paying again.
        A reply made for a ``document`` goes with the last such document, others with the next one that is deleted. Raises as the model.
        """
        key = (prompt_hash(prompt), self.name)
        texts = await asyncio.to_thread(self._kept, key, document)
        if texts and all(map(usable, texts)):
            return Reply(texts=texts, tokens_in=0, tokens_out=0, truncated=(False,) * prompt.n)
        reply = self._unkept.get(key)
        if reply is None or not all(map(usable, reply.texts)):
            reply = await self._generator.generate(prompt, deadline_s=deadline_s)
        good = all(text.strip() and usable(text) for text in reply.texts) and not any(reply.truncated)
        try:
            await asyncio.to_thread(self._note, key, reply, document, keep=good)
        except (DiskFull, DiskFailed) as error:
            if not self._disk_failed:
                log.warning("model replies are held in memory: %s", error.code)
            self._disk_failed = True
            if good and len(self._unkept) < MAX_UNKEPT:
                self._unkept[key] = reply
        else:
            self._disk_failed = False
            self._unkept.pop(key, None)
        return reply

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Streams are not kept."""
        return self._generator.stream(prompt, deadline_s=deadline_s)

    def _kept(self, key: Key, document: DocumentId | None) -> tuple[str, ...]:
        """The texts of a kept reply, which is now ``document``'s too; none where there is no reply or it is damaged."""
        # bytes: a damaged text may be no UTF-8
        row = self._database.row("SELECT CAST(reply AS BLOB) AS reply, crc FROM llm_results WHERE input_hash = ? AND model = ?", key)
        if row is None or crc(*key, row["reply"]) != row["crc"]:
            return ()
        owned = "SELECT 1 FROM llm_sources WHERE document_id = ? AND input_hash = ? AND model = ?"
        if document is not None and self._database.row(owned, (document, *key)) is None:
            with self._database.write() as tx:
                _own(tx, key, document)
        return tuple(orjson.loads(row["reply"]))

    def _note(self, key: Key, reply: Reply, document: DocumentId | None, *, keep: bool) -> None:
        """Count a reply and keep it, unless its document was deleted while the model wrote: then nothing of it may stay."""
        with self._database.write() as tx:
            tx.executemany(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + excluded.value",
                zip(USAGE, (1, reply.tokens_in, reply.tokens_out), strict=True),
            )
            if keep and (document is None or _own(tx, key, document)):
                said = orjson.dumps(reply.texts).decode()
                values = (*key, said, self._clock.now(), crc(*key, said))
                tx.execute("INSERT OR REPLACE INTO llm_results VALUES (?, ?, ?, ?, ?)", values)


def _own(tx: sqlite3.Connection, key: Key, document: DocumentId) -> bool:
    """Note that a reply is the document's; False where the document is gone."""
    if tx.execute("SELECT 1 FROM documents WHERE document_id = ?", (document,)).fetchone() is None:
        return False
    tx.execute("INSERT OR IGNORE INTO llm_sources (document_id, input_hash, model) VALUES (?, ?, ?)", (document, *key))
    return True
