"""An embedding model in this process, behind the port ``Embedder``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shared.models.fingerprint import PROBE, fingerprint
from shared.ports import FloatArray
from shared.vectors import unit

GROUP = 16  # texts a turn: a question waits for one turn of an indexing job, not for all of it


class LocalEmbedder:
    """The port over a blocking ``encode``: texts to (n, d) rows of any length but zero, text by text the same in any company.

    One worker thread: calls take turns instead of fighting for the cores that the model uses by itself.
    """

    def __init__(self, name: str, encode: Callable[[Sequence[str]], FloatArray]) -> None:
        self._encode = encode
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="embedder")
        probe = unit(encode([PROBE]))[0]
        self._fingerprint = fingerprint(name, probe)
        self._dimensions = int(probe.shape[0])

    @property
    def fingerprint(self) -> str:
        """Name, dimension and hash of the probe's vector."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, d) float32 rows of norm 1."""
        clean = [text.encode("utf-8", "replace").decode() for text in texts]  # half a surrogate pair is no text to a tokenizer
        loop = asyncio.get_running_loop()
        rows = [await loop.run_in_executor(self._worker, self._encode, clean[at : at + GROUP]) for at in range(0, len(clean), GROUP)]
        return unit(np.concatenate(rows)) if rows else np.zeros((0, self._dimensions), dtype=np.float32)
