"""A cloud in this process, behind a real socket, with fake models."""

import contextlib

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support.sockets import on_a_socket

AT_ONCE = 16  # questions


@contextlib.asynccontextmanager
async def cloud_on_a_socket(folder, *, embedder=None, http="auto", deadline_s=5.0, **changes):
    """A cloud on a free port of this machine: its parts, and its address."""
    settings = CloudSettings(
        state_dir=folder, match_threshold=0.1, evidence_threshold=0.1, verify=False, match_lead=0, match_m=10, edges_k=10, slots_per_edge=1,
        deadline_s=deadline_s, questions_at_once=AT_ONCE, requests_per_minute=1_000_000, **changes,
    )  # fmt: skip
    models = Models(
        embedder or HashEmbedder(256),
        ScriptedGenerator(lambda _: "It was replaced in March [1] [2].", lambda _: {"Yes": -0.1}),
        WordTokenizer(),
    )
    cloud = build_cloud(settings, models)
    async with on_a_socket(create_app(cloud), http=http) as url:
        try:
            yield cloud, url
        finally:
            cloud.mailbox.close()
