"""The vectors of what edges send, part by part: no edge's many texts keep questions or other edges waiting."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import islice

import numpy as np

from shared.admission import Admission
from shared.parts import parts_of
from shared.ports import FloatArray
from shared.records import EdgeId

Embed = Callable[[Sequence[str]], Awaitable[FloatArray]]

PARTS_AT_ONCE = 2  # of all edges; of one edge one, beside others
PARTS_WAITING = 256
DELTAS_WAITING = 2  # of one edge, which sends one after the other; each may have 8 MiB
PART_CHARS = 6_000  # a quarter of a second on two cores, for which a question may wait
UNFINISHED = 8  # edges whose vectors are kept until their delta comes again


def part_turns() -> Admission:
    """The turns of one embedder."""
    return Admission(at_once=PARTS_AT_ONCE, waiting=PARTS_WAITING)


class DeltaEmbedding:
    """Embeds what edges send. A delta whose sender left goes on where it stopped when it comes again."""

    def __init__(self, embed: Embed, turns: Admission, *, dimensions: int) -> None:
        """``turns``: of all that use the same embedder."""
        self._embed = embed
        self._turns = turns
        self._dimensions = dimensions
        self._deltas: dict[EdgeId, Admission] = {}  # of edges that send one now
        self._unfinished = OrderedDict[EdgeId, dict[bytes, FloatArray]]()  # by digest of the text

    @asynccontextmanager
    async def one_delta(self, edge: EdgeId) -> AsyncIterator[None]:
        """Within, no other delta of the edge is embedded. Raises Overloaded where too many wait already."""
        turns = self._deltas.setdefault(edge, Admission(at_once=1, waiting=DELTAS_WAITING))
        try:
            async with turns.turn(edge):
                yield
        finally:
            if not turns.running and not turns.waiting and self._deltas.get(edge) is turns:
                del self._deltas[edge]

    async def vectors(self, edge: EdgeId, texts: Sequence[str]) -> FloatArray:
        """Rows (n, d) of the texts. Within ``one_delta``. Raises Overloaded, and as the embedder."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = self._begun(edge, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        names, turn = iter(missing), self._turns.turn
        for part in parts_of(list(missing.values()), most_chars=PART_CHARS):
            async with turn(edge, cost=part.cost):
                rows = await self._embed(part.texts)
            known.update(zip(islice(names, len(part.texts)), rows, strict=True))
            turn = self._turns.next_turn
        self.forget(edge)
        return np.stack([known[key] for key in keys]) if keys else np.empty((0, self._dimensions), dtype=np.float32)

    def forget(self, edge: EdgeId) -> None:
        """Begin anew with the next delta of the edge."""
        self._unfinished.pop(edge, None)

    def _begun(self, edge: EdgeId, keys: Sequence[bytes]) -> dict[bytes, FloatArray]:
        """The vectors of a delta that are there; what is added to them stays until ``forget``."""
        former = self._unfinished.pop(edge, {})
        known = self._unfinished[edge] = {key: former[key] for key in keys if key in former}
        if len(self._unfinished) > UNFINISHED:
            self._unfinished.popitem(last=False)
        return known
