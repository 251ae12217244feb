"""Embedding models in this process behind the port ``Embedder``, the check of their vectors, and the fingerprint of a vector space."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from shared.errors import ModelReplyError, SettingsError
from shared.idle import HeldWhileUsed
from shared.models.settings import EmbedderRuntime
from shared.ports import Embedder, FloatArray, embed_questions
from shared.vectors import checked, unit

GROUP = 16  # texts a turn: a question waits for one turn of an indexing job, not for all of it

PROBE = "The pump at ward 7 was replaced on 3 March; who signed the report?"

MAX_TOKENS = 256  # what the model was trained on; the rest of a longer text is not seen

BATCH = 16

STEP = 16  # OpenVINO prepares each length once, and keeps that: 16 lengths take 250 MB less than 256, and as long

SAME_SPACE = 0.999  # cosine of two vectors of PROBE, made of the same weights by two programs, or on two kinds of processor

IDLE_S = 600.0  # seconds without a text after which the weights are let go; to read them again takes 0.3 s

Encode = Callable[[Sequence[str]], FloatArray]
MeanState = Callable[[list[int]], FloatArray]  # token ids of one text to the mean of its last hidden states (d,)


def fingerprint(name: str, probe: FloatArray) -> str:
    """``name/dimension/hash`` of the unit vector (d,) of ``PROBE``, rounded to hundredths, which hides noise in the last digits.

    >>> fingerprint("tiny", np.array([0.6, 0.8], dtype=np.float32))
    'tiny/2/be3cf2bf897a'
    """
    rounded = np.rint(probe * 100).astype(np.int8)
    return f"{name}/{probe.shape[0]}/{hashlib.sha256(rounded.tobytes()).hexdigest()[:12]}"


class LocalEmbedder:
    """The port over a blocking ``encode``: texts to (n, d) rows of any length but zero, text by text the same in any company.

    One worker thread: calls take turns instead of fighting for the cores that the model uses by itself. The model is held while it is used.
    """

    def __init__(self, name: str, load: Callable[[], Encode], known: FloatArray | None = None) -> None:
        """``known``: the vector (d,) of ``PROBE``; where ours is as good as the same, the fingerprint is that vector's."""
        self._model = HeldWhileUsed(load, idle_s=IDLE_S)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="embedder")
        probe = unit(self._encoded([PROBE]))[0]
        self._model.close()
        if known is not None and known.shape == probe.shape and float(known @ probe) >= SAME_SPACE:
            probe = known
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
        rows = [await loop.run_in_executor(self._worker, self._encoded, clean[at : at + GROUP]) for at in range(0, len(clean), GROUP)]
        return unit(np.concatenate(rows)) if rows else np.zeros((0, self._dimensions), dtype=np.float32)

    def _encoded(self, texts: Sequence[str]) -> FloatArray:
        with self._model.used() as encode:
            return encode(texts)


class OnnxEmbedder(LocalEmbedder):
    """Mean of the last hidden states, as in the model's own pooling configuration; run by OpenVINO or onnxruntime, a text on each core.

    OpenVINO takes half the time for a passage (docs/results.md); it is x86's and ARM's, and an optional extra.
    """

    @classmethod
    def load(cls, folder: Path, *, threads: int = 2, runtime: EmbedderRuntime = "auto", probe: str = "") -> Self:
        """Load ``model.onnx`` and ``tokenizer.json`` from ``folder``; ``probe``: of the catalogue.

        Raises SettingsError where ``runtime`` is not installed.
        """
        pool = ThreadPoolExecutor(threads, thread_name_prefix="encoder")

        def load_model() -> Encode:
            weights, is_needed = folder / "model.onnx", runtime == "openvino"
            mean_state = _by_onnxruntime(weights) if runtime == "onnxruntime" else _by_openvino(weights, threads, is_needed=is_needed)
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(MAX_TOKENS)
            return partial(_encode, mean_state, tokenizer, pool)

        known = unit(np.frombuffer(b64decode(probe), dtype="<f2").astype(np.float32)[None])[0] if probe else None
        return cls("all-MiniLM-L6-v2-int8", load_model, known)


def _encode(mean_state: MeanState, tokenizer: Tokenizer, pool: ThreadPoolExecutor, texts: Sequence[str]) -> FloatArray:
    """One run a text: without padding there is nothing to mask, and on two cores it is twice as fast as batches of 32."""
    return np.stack(list(pool.map(mean_state, [encoding.ids for encoding in tokenizer.encode_batch(texts)])))


def _feed(token_ids: list[int], step: int = 1) -> dict[str, NDArray[np.int64]]:
    """One row; its length is a multiple of ``step``, and what is more than the text is masked."""
    length = len(token_ids) + -len(token_ids) % step
    ids, mask = np.zeros((1, length), dtype=np.int64), np.zeros((1, length), dtype=np.int64)
    ids[0, : len(token_ids)], mask[0, : len(token_ids)] = token_ids, 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def _mean(states: FloatArray, tokens: int) -> FloatArray:
    return np.asarray(states[0, :tokens].mean(axis=0), dtype=np.float32)


def _by_onnxruntime(weights: Path) -> MeanState:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two cores on one text take half as long again, and a fifth more of both
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    return lambda token_ids: _mean(session.run(["last_hidden_state"], _feed(token_ids))[0], len(token_ids))


def _by_openvino(weights: Path, threads: int, *, is_needed: bool) -> MeanState:
    """Raises SettingsError where it is needed and not installed; where it is not needed, onnxruntime takes its place."""
    modules: dict[str, Any] = sys.modules
    modules["openvino_telemetry"] = None  # it reports each import of openvino to its makers; where it cannot be had, openvino takes a stub
    try:
        import openvino
    except ImportError as error:
        if is_needed:
            step = "run `pip install 'dgrag[openvino]'`, or set DGRAG_MODEL_EMBEDDER_RUNTIME=auto"
            raise SettingsError("the embedder's runtime openvino is not installed", next_step=step) from error
        return _by_onnxruntime(weights)
    shape = {"NUM_STREAMS": threads, "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "THROUGHPUT", "ENABLE_CPU_PINNING": False}
    model = openvino.Core().compile_model(weights, "CPU", shape)
    free = SimpleQueue[Any]()  # a request serves one text at a time
    for _ in range(threads):
        free.put(model.create_infer_request())

    def mean_state(token_ids: list[int]) -> FloatArray:
        request = free.get()
        try:
            return _mean(request.infer(_feed(token_ids, STEP))["last_hidden_state"], len(token_ids))
        finally:
            free.put(request)

    return mean_state


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

        return cls(name, lambda: encode)


class CheckedEmbedder:
    """The port ``Embedder`` around another one: what is not finite, of norm 1 and of the agreed shape is an error."""

    def __init__(self, embedder: Embedder, fingerprint: str = "") -> None:
        """``fingerprint``: of vectors that are known to be the same as the inner embedder's, but for noise."""
        self._embedder = embedder
        self._fingerprint = fingerprint or embedder.fingerprint

    @property
    def fingerprint(self) -> str:
        """As given, else the inner embedder's."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """The inner embedder's."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, d) float32 unit rows. Raises ModelReplyError that says what is wrong with them."""
        return await self._checked(self._embedder.embed(texts), len(texts))

    async def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """As ``embed``."""
        return await self._checked(embed_questions(self._embedder, texts), len(texts))

    async def _checked(self, embedded: Awaitable[FloatArray], rows: int) -> FloatArray:
        try:
            return checked(await embedded, rows=rows, dimensions=self.dimensions)
        except ValueError as error:
            raise ModelReplyError(
                f"the embedding model gave unusable vectors: {error}", next_step="mend or replace the embedding model, then try again"
            ) from error
