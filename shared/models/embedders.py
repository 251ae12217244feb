"""Embedding models in this process behind the port ``Embedder``, the check of their vectors, and the fingerprint of a vector space."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from shared.errors import ModelReplyError, SettingsError
from shared.ports import Embedder, FloatArray
from shared.vectors import checked, unit

GROUP = 16  # texts a turn: a question waits for one turn of an indexing job, not for all of it

PROBE = "The pump at ward 7 was replaced on 3 March; who signed the report?"

MAX_TOKENS = 256  # what the model was trained on; the rest of a longer text is not seen

BATCH = 16


def fingerprint(name: str, probe: FloatArray) -> str:
    """``name/dimension/hash`` of the unit vector (d,) of ``PROBE``, rounded to hundredths, which hides noise in the last digits.

    >>> fingerprint("tiny", np.array([0.6, 0.8], dtype=np.float32))
    'tiny/2/be3cf2bf897a'
    """
    rounded = np.rint(probe * 100).astype(np.int8)
    return f"{name}/{probe.shape[0]}/{hashlib.sha256(rounded.tobytes()).hexdigest()[:12]}"


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


class OnnxEmbedder(LocalEmbedder):
    """Mean of the last hidden states, as in the model's own pooling configuration."""

    @classmethod
    def load(cls, folder: Path, *, threads: int = 2) -> Self:
        """Load ``model.onnx`` and ``tokenizer.json`` from ``folder``."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a text on each core: two cores on one text take half as long again, and a fifth more of both
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        pool = ThreadPoolExecutor(threads, thread_name_prefix="encoder")
        return cls("all-MiniLM-L6-v2-int8", partial(_encode, session, tokenizer, pool))


def _encode(session: onnxruntime.InferenceSession, tokenizer: Tokenizer, pool: ThreadPoolExecutor, texts: Sequence[str]) -> FloatArray:
    """One run a text: without padding there is nothing to mask, and on two cores it is twice as fast as batches of 32."""
    return np.stack(list(pool.map(partial(_mean_state, session), [encoding.ids for encoding in tokenizer.encode_batch(texts)])))


def _mean_state(session: onnxruntime.InferenceSession, token_ids: list[int]) -> FloatArray:
    ids = np.array([token_ids], dtype=np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    states: FloatArray = session.run(["last_hidden_state"], feed)[0]
    return np.asarray(states[0].mean(axis=0), dtype=np.float32)


class SentenceTransformersEmbedder(LocalEmbedder):
    """The model's own pooling and truncation."""

    @classmethod
    def load(cls, name: str, *, threads: int = 2) -> Self:
        """Load the model ``name`` (a hub name or a folder). Raises SettingsError when the extra or the model is not there."""
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise SettingsError(
                f"the embedder {name!r} needs sentence-transformers", next_step="run `pip install 'dgrag[torch]'`"
            ) from error
        torch.set_num_threads(threads)
        try:
            model = SentenceTransformer(name)
        except (OSError, ValueError) as error:
            raise SettingsError(f"the embedder {name!r} cannot be loaded: {error}", next_step="check its name or path") from error

        def encode(texts: Sequence[str]) -> FloatArray:
            rows: FloatArray = model.encode(list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
            return rows

        return cls(name, encode)


class CheckedEmbedder:
    """The port ``Embedder`` around another one: what is not finite, of norm 1 and of the agreed shape is an error."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        """The inner embedder's."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        """The inner embedder's."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, d) float32 unit rows. Raises ModelReplyError that says what is wrong with them."""
        try:
            return checked(await self._embedder.embed(texts), rows=len(texts), dimensions=self.dimensions)
        except ValueError as error:
            raise ModelReplyError(
                f"the embedding model gave unusable vectors: {error}", next_step="mend or replace the embedding model, then try again"
            ) from error
