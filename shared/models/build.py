"""Settings to models."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TypedDict

import httpx2
import numpy as np

from shared.limits import RetryBudget
from shared.models.catalogue import model_named
from shared.models.embedders import SAME_SPACE, LocalEmbedder
from shared.models.embedding_server import EmbeddingServer, probe_of
from shared.models.fetch import located
from shared.models.openai_compatible import OpenAIGenerator
from shared.models.sentence_encoder import SentenceEncoder
from shared.models.settings import ModelSettings
from shared.models.wordpiece import WordPieceTokenizer
from shared.ports import Embedder, Tokenizer
from shared.tls import client_context, is_loopback

DEFAULT_EMBEDDER, ONNX_NAME = "minilm-onnx", "all-MiniLM-L6-v2-int8"  # as settings and as fingerprints name it
MULTILINGUAL = "use-multilingual"
PROBED = "probe"  # key of what ``made_by`` tells
PLACE = {"embedder", "embedder_url", "embedder_question_prefix", "embedder_passage_prefix"}


class _Named(TypedDict):
    model: str
    api_key: str
    passage: str


def model_http(settings: ModelSettings) -> httpx2.AsyncClient:
    """The client for the model server; a server on this machine is never asked through the environment's proxy."""
    return httpx2.AsyncClient(
        base_url=settings.url, trust_env=not is_loopback(httpx2.URL(settings.url).host), verify=client_context(settings.ca)
    )


def build_generator(settings: ModelSettings, http: httpx2.AsyncClient, retries: RetryBudget | None = None) -> OpenAIGenerator:
    """The chat model behind ``http``, whose base address is ``settings.url``; ``retries``: as others of this process use it too."""
    return OpenAIGenerator(
        http, model=settings.name, api_key=settings.key() or None, retries=retries, thinking_tokens=settings.thinking_tokens
    )


def build_embedder(settings: ModelSettings) -> Embedder:
    """The embedder by name, or behind its server.

    Raises FetchError or SettingsError that says what to run when it is not there; ModelError of a server.
    """
    if settings.embedder_url:
        return _embedding_server(settings)
    if settings.embedder == DEFAULT_EMBEDDER:
        from shared.models.embedders import OnnxEmbedder  # onnxruntime takes a moment that only this choice should cost

        model = model_named("minilm")
        folder, threads = located(model, settings.dir), settings.embedder_threads
        return OnnxEmbedder.load(folder, threads=threads, runtime=settings.embedder_runtime, probe=model.probe)
    if settings.embedder == MULTILINGUAL:
        folder = located(model_named(MULTILINGUAL), settings.dir)
        return LocalEmbedder(MULTILINGUAL, lambda: SentenceEncoder(folder))
    from shared.models.embedders import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder.load(settings.embedder, threads=settings.embedder_threads)


def _embedding_server(settings: ModelSettings) -> EmbeddingServer:
    url, key = settings.embedder_url, settings.embedder_key()
    trust_env, verify = not is_loopback(httpx2.URL(url).host), client_context(settings.ca)
    named: _Named = {"model": settings.embedder, "api_key": key, "passage": settings.embedder_passage_prefix}
    with httpx2.Client(base_url=url, trust_env=trust_env, verify=verify) as http:
        probe = probe_of(http, **named)
    http_async = httpx2.AsyncClient(base_url=url, trust_env=trust_env, verify=verify)
    question, batch = settings.embedder_question_prefix, settings.embedder_batch
    return EmbeddingServer(http_async, probe=probe, question=question, batch=batch, **named)


def made_by(settings: ModelSettings, embedder: Embedder) -> str:
    """How ``build_embedder`` finds the embedder of these settings again, and its probe: JSON without a key, kept beside the vectors."""
    probe = b64encode(embedder.probe.astype("<f2").tobytes()).decode() if isinstance(embedder, EmbeddingServer) else ""
    return json.dumps(settings.model_dump(include=PLACE) | {PROBED: probe})


def is_same_model(one: str, other: str) -> bool:
    """Whether two servers, as ``made_by`` tells of them, give the same vectors but for noise, by their probes."""
    if not (one and other):
        return False
    places = [json.loads(place) for place in (one, other)]
    probes = [np.frombuffer(b64decode(place.pop(PROBED)), dtype="<f2").astype(np.float32) for place in places]
    names = [{key: place[key] for key in PLACE - {"embedder_url"}} for place in places]
    return names[0] == names[1] and probes[0].shape == probes[1].shape != (0,) and float(probes[0] @ probes[1]) >= SAME_SPACE


def build_former(settings: ModelSettings, fingerprint: str, place: str) -> Embedder:
    """The embedder that made a store's vectors, by what ``made_by`` told then; "": by its name. Raises as ``build_embedder``.

    The key of the present embedding server is sent to no other one.
    """
    name = fingerprint.rsplit("/", 2)[0]
    update = (
        {key: json.loads(place)[key] for key in PLACE}
        if place
        else {"embedder_url": "", "embedder": DEFAULT_EMBEDDER if name == ONNX_NAME else name}
    )
    if update.get("embedder_url") != settings.embedder_url:
        update |= {"embedder_api_key": None, "embedder_api_key_file": None}
    return build_embedder(ModelSettings(**(settings.model_dump() | update)))


def build_tokenizer(settings: ModelSettings) -> Tokenizer:
    """The counter of tokens, the same for every embedder and chat model. Raises FetchError when it is not there."""
    return WordPieceTokenizer(located(model_named("minilm"), settings.dir) / "tokenizer.json")
