"""Settings to models."""

from __future__ import annotations

import httpx2

from shared.limits import RetryBudget
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.openai_compatible import OpenAIGenerator
from shared.models.settings import ModelSettings
from shared.models.wordpiece import WordPieceTokenizer
from shared.ports import Embedder, Tokenizer
from shared.tls import client_context, is_loopback

DEFAULT_EMBEDDER = "minilm-onnx"


def model_http(settings: ModelSettings) -> httpx2.AsyncClient:
    """The client for the model server; a server on this machine is never asked through the environment's proxy."""
    return httpx2.AsyncClient(
        base_url=settings.url, trust_env=not is_loopback(httpx2.URL(settings.url).host), verify=client_context(settings.ca)
    )


def build_generator(settings: ModelSettings, http: httpx2.AsyncClient, retries: RetryBudget | None = None) -> OpenAIGenerator:
    """The chat model behind ``http``, whose base address is ``settings.url``; ``retries``: as others of this process use it too."""
    return OpenAIGenerator(http, model=settings.name, api_key=settings.key() or None, retries=retries)


def build_embedder(settings: ModelSettings) -> Embedder:
    """The embedder by name. Raises FetchError or SettingsError that says what to run when it is not there."""
    if settings.embedder == DEFAULT_EMBEDDER:
        from shared.models.embedders import OnnxEmbedder  # onnxruntime takes a moment that only this choice should cost

        model = model_named("minilm")
        folder, threads = located(model, settings.dir), settings.embedder_threads
        return OnnxEmbedder.load(folder, threads=threads, runtime=settings.embedder_runtime, probe=model.probe)
    from shared.models.embedders import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder.load(settings.embedder, threads=settings.embedder_threads)


def build_tokenizer(settings: ModelSettings) -> Tokenizer:
    """The counter of tokens, the same for every embedder and chat model. Raises FetchError when it is not there."""
    return WordPieceTokenizer(located(model_named("minilm"), settings.dir) / "tokenizer.json")
