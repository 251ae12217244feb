"""``python -m edge_node``: environment -> settings -> build -> uvicorn; nothing else reads the environment."""

from __future__ import annotations

import sys

import uvicorn

from edge_node.app import open_app
from edge_node.build import Parts
from edge_node.link.cloud_client import cloud_http
from edge_node.settings import EdgeSettings
from edge_node.store.lock import only_user
from shared.models.build import build_embedder, build_generator, build_tokenizer, model_http
from shared.models.settings import ModelSettings
from shared.retry_budget import RetryBudget
from shared.service import run, server_config


def serve() -> None:
    """Run one edge until it is told to stop. Raises ValidationError and DgragError for what cannot work."""
    settings, models = EdgeSettings(), ModelSettings()
    cloud = cloud_http(settings.cloud_url) if settings.cloud_url else None
    retries = RetryBudget()
    generator = build_generator(models, model_http(models), retries)
    parts = Parts(generator, build_embedder(models), build_tokenizer(models), cloud, retries=retries)
    with only_user(settings.state_dir):
        uvicorn.Server(server_config(open_app(settings, parts), host=settings.host, port=settings.port)).run()


if __name__ == "__main__":
    sys.exit(run(serve))
