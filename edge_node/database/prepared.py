"""Vectors of an embedding model that is to take over, in a file of their own beside the store: a stop loses no more than a batch."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from edge_node.database.vectors import Embed, text_hash
from shared import sqlite
from shared.ports import Embedder, FloatArray, embed_questions
from shared.sqlite import crc

FOLDER = "change"  # in the state folder
FILE = "vectors.db"
BATCH = 8  # texts between two commits: a question waits for no more of them
SCHEMA = """
CREATE TABLE prepared (text_hash TEXT PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
QUESTION = "question\0"  # before the text of a question in what is hashed: some models embed it otherwise


class PreparedVectors:
    """Vectors by the hash of their text, of one model; what the folder has of another one is deleted. Raises as ``Database``."""

    def __init__(self, folder: Path, fingerprint: str, dimensions: int) -> None:
        self.folder = folder
        self.dimensions = dimensions
        self._database = sqlite.Database(folder / FILE, migrations=(SCHEMA,))
        if self._database.meta("embedder") != fingerprint:
            with self._database.write() as tx:
                tx.execute("DELETE FROM prepared")
                tx.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (fingerprint,))

    @staticmethod
    def are_of(folder: Path, fingerprint: str) -> bool:
        """Whether the folder has vectors of this model."""
        if not (folder / FILE).is_file():
            return False
        database = sqlite.Database(folder / FILE, migrations=(SCHEMA,))
        try:
            return database.meta("embedder") == fingerprint
        finally:
            database.close()

    def some(self, hashes: Collection[str]) -> dict[str, FloatArray]:
        """The undamaged vectors (d,) of those texts that have one."""
        query = "SELECT * FROM prepared WHERE text_hash IN (SELECT value FROM json_each(?))"
        return {
            row["text_hash"]: np.frombuffer(row["vector"], dtype="<f4").astype(np.float32)
            for row in self._database.rows(query, (json.dumps(list(hashes)),))
            if crc(row["text_hash"], row["vector"]) == row["crc"] and len(row["vector"]) == 4 * self.dimensions
        }

    def save(self, vectors: Mapping[str, FloatArray]) -> None:
        """Commit some, by the hash of their text."""
        blobs = {key: vector.astype("<f4").tobytes() for key, vector in vectors.items()}
        with self._database.write() as tx:
            tx.executemany("INSERT OR REPLACE INTO prepared VALUES (?, ?, ?)", [(key, blob, crc(key, blob)) for key, blob in blobs.items()])

    def close(self) -> None:
        """Close the file, which stays."""
        self._database.close()


def drop_prepared(folder: Path) -> None:
    """Delete what was prepared; nothing happens where nothing was."""
    shutil.rmtree(folder, ignore_errors=True)


class PreparedEmbedder:
    """The port ``Embedder`` around the model that is to take over: each text is embedded once, until ``end``."""

    def __init__(self, embedder: Embedder, prepared: PreparedVectors) -> None:
        self._embedder = embedder
        self.prepared = prepared
        self._is_open = True

    @property
    def fingerprint(self) -> str:
        """The inner embedder's."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        """The inner embedder's."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """As the port says. Raises as the inner embedder, and as ``Database``."""
        return await self._embed(self._embedder.embed, texts, "")

    async def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """As ``embed``."""
        return await self._embed(partial(embed_questions, self._embedder), texts, QUESTION)

    async def _embed(self, embed: Embed, texts: Sequence[str], kind: str) -> FloatArray:
        if not (texts and self._is_open):
            return await embed(texts)
        hashes = [text_hash(kind + text) for text in texts]
        known = await asyncio.to_thread(self.prepared.some, set(hashes))
        missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}
        keys = list(missing)
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            made = dict(zip(batch, await embed([missing[key] for key in batch]), strict=True))
            if self._is_open:
                await asyncio.to_thread(self.prepared.save, made)
            known |= made
        return np.stack([known[key] for key in hashes])

    async def end(self) -> None:
        """Embed without looking from now on, and delete what was prepared."""
        self._is_open = False
        await asyncio.to_thread(self.prepared.close)
        await asyncio.to_thread(drop_prepared, self.prepared.folder)
