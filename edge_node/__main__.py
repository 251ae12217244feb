"""``python -m edge_node``: environment -> settings -> build -> uvicorn; nothing else reads the environment."""

from __future__ import annotations

import logging
import sys

import httpx
import uvicorn
from pydantic import ValidationError

from edge_node.app import create_app
from edge_node.build import Parts, build_node
from edge_node.settings import EdgeSettings
from shared.errors import DgragError, SettingsError
from shared.loopback import is_loopback
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings

CONNECT_S = 5.0


def main() -> int:
    """Run one edge until it is stopped; returns the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings, models = EdgeSettings(), ModelSettings()
        if not is_loopback(settings.host):
            raise SettingsError(
                f"{settings.host} is not a loopback address, and there are no credentials yet",
                next_step="set DGRAG_EDGE_HOST=127.0.0.1; put an authenticating proxy in front to serve others",
            )
        cloud = httpx.AsyncClient(base_url=settings.cloud_url, timeout=CONNECT_S) if settings.cloud_url else None
        parts = Parts(build_generator(models, model_http(models)), build_embedder(models), build_tokenizer(models), cloud)
        app = create_app(build_node(settings, parts))
    except (DgragError, ValidationError) as error:
        logging.critical("%s%s", error, f" – {error.next_step}" if isinstance(error, DgragError) and error.next_step else "")
        return 1
    uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning", timeout_graceful_shutdown=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
