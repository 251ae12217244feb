"""② The model reads what chunks claim about their entities, a few at a time, each committed by itself (GraphRAG §2.2)."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
from collections.abc import Mapping, Sequence

from edge_node.communities.claims import Claim, claims_prompt, names_of, parsed_claims
from edge_node.communities.service import CommunityReports
from edge_node.database.schema import Database
from edge_node.graph.tools import Tools
from edge_node.graph.update import GraphUpdater
from edge_node.graph.view import View
from edge_node.model_task import ModelTask, each, lines_of
from edge_node.records import Cost, Progress
from shared.records import Chunk
from shared.sqlite import crc
from shared.text.fence import FENCE_BYTES, Fence

log = logging.getLogger("dgrag.edge.claims")

store_log = logging.getLogger("dgrag.edge.store")


class ClaimStore:
    """Tables claims and claim_readings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> tuple[Claim, ...]:
        """Every claim, by chunk and as it was read. Damaged ones are left out."""
        found = list[Claim]()
        for row in self._database.stream("SELECT * FROM claims ORDER BY chunk_id, rowid"):
            *fields, checksum = row
            if crc(*fields) == checksum:
                found.append(_claim(row))
            else:
                store_log.error("a damaged claim is left out")
        return tuple(found)

    def readings(self) -> frozenset[str]:
        """The chunks whose claims a model has read."""
        return frozenset(row["chunk_id"] for row in self._database.stream("SELECT chunk_id FROM claim_readings"))

    def save(self, chunk_id: str, claims: Sequence[Claim], *, model: str) -> None:
        """Commit what a model has read in a chunk, in the place of what it had; nothing where the chunk is gone."""
        with self._database.write() as tx:
            if tx.execute("SELECT 1 FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone() is None:
                return
            tx.execute("DELETE FROM claims WHERE chunk_id = ?", (chunk_id,))
            tx.executemany("INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_values, claims))
            tx.execute("INSERT OR REPLACE INTO claim_readings VALUES (?, ?)", (chunk_id, model))

    def clear(self) -> None:
        """Delete all of them."""
        with self._database.write() as tx:
            tx.execute("DELETE FROM claims")
            tx.execute("DELETE FROM claim_readings")


def _values(claim: Claim) -> tuple[str | int, ...]:
    said = (claim.subject, claim.object, claim.type, claim.status, claim.sentence)
    fields = (claim.chunk_id, *said, *claim.span, claim.since, claim.until)
    return (*fields, crc(*fields))


def _claim(row: sqlite3.Row) -> Claim:
    said = (row["subject"], row["object"], row["type"], row["status"], row["description"])
    return Claim(row["chunk_id"], *said, (row["start"], row["end"]), row["since"], row["until"])


class ClaimReader:
    """Each chunk is asked about once, those first that tell of most entities; a reply of no use counts as read.

    What was read stands in the reports of ``reports`` from then on. Where claims are off, nobody is asked, and what was read before goes.
    """

    def __init__(
        self, tools: Tools, updater: GraphUpdater, reports: CommunityReports, *, is_on: bool, deadline_s: float, at_once: int
    ) -> None:
        """``deadline_s``: of one call, of which there are ``at_once`` at a time."""
        self._at_once = at_once
        self._task = ModelTask(tools.generator, log, deadline_s=deadline_s)
        self._documents = tools.documents
        self._mentions = tools.graph.mentions
        self._store = ClaimStore(tools.graph.database)
        self._updater = updater
        self._reports = reports
        self._is_on = is_on
        self._looked_at: View | None = None  # whose chunks stand in ``_unread``, as far as they do
        self._unread: list[str] = []

    @property
    def stale(self) -> int:
        """Chunks that the model should read; until somebody looks what a settle has changed, as many as there may be."""
        if not self._is_on:
            return 0
        view = self._updater.view
        return len(self._unread) if self._looked_at is view else len(view.told)

    async def open(self) -> None:
        """Tell of what was read before."""
        if self._is_on:
            await self._reports.tell(await asyncio.to_thread(self._store.all))
        else:
            await asyncio.to_thread(self._store.clear)

    async def read(self, progress: Progress, *, most: int) -> Cost:
        """Read up to ``most`` chunks. Raises ModelError; what was read is kept."""
        if most <= 0 or not self.stale:
            return Cost()
        await self._look()
        chosen = self._unread[:most]
        chunks = await asyncio.to_thread(self._documents.chunks, chosen)

        async def read(chunk_id: str) -> Cost:
            cost = await self._read(chunks[chunk_id][0]) if chunk_id in chunks else Cost()
            self._unread.remove(chunk_id)
            return cost

        try:
            return await each("read claims", chosen, read, progress, at_once=self._at_once)
        finally:
            await self._reports.tell(await asyncio.to_thread(self._store.all))

    async def _look(self) -> None:
        view = self._updater.view
        if self._looked_at is not view:
            read = await asyncio.to_thread(self._store.readings)
            self._unread = sorted(view.told.keys() - read, key=lambda chunk_id: (-len(view.told[chunk_id]), chunk_id))
            self._looked_at = view

    async def _read(self, chunk: Chunk) -> Cost:
        entities, _ = await asyncio.to_thread(self._mentions.of_chunk, chunk.chunk_id)
        names = names_of(entities)
        claims, cost = await self._asked(chunk, names) if names else ((), Cost())
        await asyncio.to_thread(self._store.save, chunk.chunk_id, claims, model=self._task.model)
        return cost

    async def _asked(self, chunk: Chunk, names: Mapping[str, str]) -> tuple[tuple[Claim, ...], Cost]:
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        prompt = claims_prompt(chunk, names, fence)
        reply, cost = await self._task.ask(prompt, "the model did not read the claims of a chunk")
        if reply is None:
            return (), cost
        parsed = parsed_claims(lines_of(reply, prompt, fence), chunk, names)
        log.debug("%d claims were read in %s, %d lines were of no use", len(parsed.claims), chunk.chunk_id, parsed.unread_lines)
        return parsed.claims, cost
