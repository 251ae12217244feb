"""The files that a local cluster needs before it can start."""

from __future__ import annotations

from pathlib import Path

from shared.models.catalogue import model_named
from shared.models.fetch import FetchProgress, Sources, fetch
from shared.models.settings import ModelSettings

EMBEDDER = "minilm"


def fetch_embedder(settings: ModelSettings, progress: FetchProgress) -> None:
    """Have the default embedder here, unless the settings name another one. Raises FetchError."""
    if settings.embedder == ModelSettings.model_fields["embedder"].default:
        fetch(model_named(EMBEDDER), settings.dir, progress, sources=Sources(hub_url=settings.hub_url))


def fetch_generator(name: str, settings: ModelSettings, progress: FetchProgress) -> Path:
    """The weights of a chat model, fetched if need be. Raises FetchError, SettingsError for an unknown name."""
    model = model_named(name)
    folder = fetch(model, settings.dir, progress, sources=Sources(hub_url=settings.hub_url))
    return folder / model.files[0].name
