"""Vectors of names and relations, where one text that the model cannot embed must not cost the others theirs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shared.errors import ModelReplyError
from shared.ports import Embedder, FloatArray

log = logging.getLogger("dgrag.edge.embed")
BATCH = 32  # a question waits for one batch at most, at the speed of larger ones


async def embed_texts(
    embedder: Embedder, texts: Mapping[str, str], on_batch: Callable[[int], None] | None = None, *, batch: int = BATCH
) -> tuple[list[str], FloatArray]:
    """Return (keys, (n, d) unit rows) of those of ``texts`` (key -> text) that the model can embed; the others are counted in the log.

    ``on_batch`` is told how many are done; ``batch``: texts that are embedded at a time. Raises ModelTimeout and ModelUnavailable.
    """
    waiting = list(texts)
    keys: list[str] = []
    rows = [np.empty((0, embedder.dimensions), dtype=np.float32)]
    for start in range(0, len(waiting), batch):
        if on_batch is not None:
            on_batch(start)
        for group, vectors in await _embedded(embedder, texts, waiting[start : start + batch]):
            keys += group
            rows.append(vectors)
    if len(keys) < len(waiting):
        log.error("%d of %d texts have no vector: the embedding model cannot embed them", len(waiting) - len(keys), len(waiting))
    return keys, np.concatenate(rows)


async def _embedded(embedder: Embedder, texts: Mapping[str, str], keys: Sequence[str]) -> list[tuple[Sequence[str], FloatArray]]:
    """All at once; where that fails, by halves, until what cannot be embedded stands alone and is left out."""
    try:
        return [(keys, await embedder.embed([texts[key] for key in keys]))]
    except ModelReplyError:
        if len(keys) == 1:
            return []
    half = len(keys) // 2
    return [*await _embedded(embedder, texts, keys[:half]), *await _embedded(embedder, texts, keys[half:])]
