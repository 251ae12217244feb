"""A real edge process with real HTTP, SQLite and model line, and an embedder that needs no weights.

``python -m tests.faults.edge_process FOLDER PORT MODEL_URL``
"""

import sys
from pathlib import Path

import uvicorn

from edge_node.api.app import create_app
from edge_node.build import Adapters, build_node
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from edge_node.settings import EdgeSettings
from shared.http.service import server_config
from shared.models.build import build_generator, model_http
from shared.models.fake import HashEmbedder, WordTokenizer
from shared.models.settings import ModelSettings


def serve(folder, port, model_url):
    """Run until a signal."""
    settings = EdgeSettings(id="ward", state_dir=Path(folder), port=int(port), strategy="naive", min_nearness=-1.0)
    models = ModelSettings(url=model_url)
    reads = ReaderPool(ReaderLimits(settings.reader_seconds, settings.reader_memory_bytes), at_once=settings.workers + 1)
    node = build_node(settings, Adapters(build_generator(models, model_http(models)), HashEmbedder(), WordTokenizer(), None, reads))
    uvicorn.Server(server_config(create_app(node), settings)).run()


if __name__ == "__main__":
    serve(*sys.argv[1:])
