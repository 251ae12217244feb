"""``python -m edge_node``: environment -> settings -> build -> uvicorn; nothing else reads the environment."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

from edge_node.api.app import open_app
from edge_node.build import Adapters
from edge_node.cloud.client import cloud_http
from edge_node.cloud.membership import Membership
from edge_node.database.commits import only_user
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from edge_node.documents.readers.tessdata import prepared, recognition_of
from edge_node.settings import EdgeSettings
from shared.http.service import Server, check_front, recorder_of, run, warn_of_strangers
from shared.limits import RetryBudget
from shared.models.build import build_embedder, build_former, build_generator, build_tokenizer, made_by, model_http
from shared.models.settings import ModelSettings
from shared.telemetry import logs


def serve() -> None:
    """Run one edge until it is told to stop. Raises ValidationError and DgragError for what cannot work."""
    settings, models = EdgeSettings(), ModelSettings()
    logs.use(settings.log, service="edge", edge=settings.id)
    warn_of_strangers(settings)
    check_front(settings, verb="edge")
    joined = Membership(settings.state_dir).joined_as(settings.id)
    if joined and not settings.cloud_url:
        settings = settings.model_copy(update={"cloud_url": joined.url})
    cloud = cloud_http(settings.cloud_url, ca=settings.cloud_ca, plain_http=settings.cloud_plain_http) if settings.cloud_url else None
    retries = RetryBudget()
    generator = build_generator(models, model_http(models), retries)
    recorder = recorder_of(settings.otlp_url, service="dgrag-edge", instance=settings.id, setting="DGRAG_EDGE_OTLP_URL")
    with only_user(settings.state_dir):
        recognition = prepared(recognition_of(settings.ocr_languages, settings.state_dir, rereads=settings.ocr_rereads))
        limits = ReaderLimits(settings.reader_seconds, settings.reader_memory_bytes)
        reads = ReaderPool(limits, at_once=settings.workers + 1, recognition=recognition)
        embedder = build_embedder(models)
        adapters = generator, embedder, build_tokenizer(models), cloud, reads
        parts = Adapters(*adapters, retries=retries, recorder=recorder, model_server=generator)
        parts = replace(parts, made_by=made_by(models, embedder), former=partial(build_former, models))
        Server(open_app(settings, parts), settings, name=f"edge {settings.id} ({settings.strategy_said})").run()


if __name__ == "__main__":
    sys.exit(run(serve, prefix="DGRAG_EDGE_"))
