"""``python -m cloud_server``: environment -> settings -> build -> uvicorn."""

from __future__ import annotations

import socket
import sys

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import Cloud, build_cloud
from cloud_server.database.opening import open_ring
from cloud_server.settings import CloudSettings
from shared.http.service import Server, check_front, recorder_of, run, warn_of_strangers
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings
from shared.telemetry import logs
from shared.telemetry.correlation import Recorder


class CloudServer(Server):
    """A server that lets held polls go before it waits for open connections to end."""

    def __init__(self, cloud: Cloud, recorder: Recorder | None = None) -> None:
        super().__init__(create_app(cloud, recorder), cloud.settings, name="the cloud")
        self._cloud = cloud

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Release the polls, then stop as uvicorn does."""
        self._cloud.mailbox.close()
        await super().shutdown(sockets)


def server(settings: CloudSettings, models: ModelSettings) -> CloudServer:
    """Put the server together. Raises StoreError, FetchError and SettingsError."""
    parts = Models(build_embedder(models), build_generator(models, model_http(models)), build_tokenizer(models))
    cloud = build_cloud(settings, parts)
    instance = cloud.settings.replica or "cloud"
    return CloudServer(cloud, recorder_of(settings.otlp_url, service="dgrag-cloud", instance=instance, setting="DGRAG_CLOUD_OTLP_URL"))


def serve() -> None:
    """Run the cloud until it is told to stop. Raises ValidationError and DgragError for what cannot work."""
    settings = CloudSettings()
    logs.use(settings.log, service="cloud")
    warn_of_strangers(settings)
    check_front(settings, verb="cloud", ring=lambda: open_ring(settings.state_dir, settings.store_url()))
    server(settings, ModelSettings()).run()


if __name__ == "__main__":
    sys.exit(run(serve, prefix="DGRAG_CLOUD_"))
