"""A cluster of containers for the tests of this folder, where there is an engine."""

import os

import pytest

from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.support.containers import Compose, said, works
from tests.support.models import no_model

COMPOSES = (("docker", "compose"), ("docker-compose",))
EDGE_PORTS, CLOUD_PORT = "18110-18141", "18099"


@pytest.fixture(scope="session")
def compose_command():
    """Of the two composes the one that is here."""
    if not works("docker", "info"):
        pytest.skip("no Docker engine answers; on Debian tests/compose/engine.sh gets one")
    for command in COMPOSES:
        if works(*command, "version"):
            return command
    return pytest.skip("neither `docker compose` nor `docker-compose` is here")


@pytest.fixture(scope="session")
def cluster(compose_command):
    """A cloud, four edges and the small model, from images that are built now; nothing of it is left afterwards but the images."""
    models = ModelSettings().dir
    try:
        located(model_named("small"), models)
    except FetchError as error:
        no_model(f"{error.message}: {error.next_step}")
    environment = {
        "COMPOSE_PROFILES": "cpu",
        "DGRAG_MODEL": "small",
        "DGRAG_CLOUD_HOST_PORT": CLOUD_PORT,
        "DGRAG_EDGE_HOST_PORTS": EDGE_PORTS,
        "DGRAG_TEST_MODELS": str(models),
        "DGRAG_TEST_USER": str(os.getuid()),
    }
    made = Compose(compose_command, "dgrag-test", environment)
    made("build")
    try:
        made.up(4)
        made.key = said(*compose_command, "-p", made.project, "run", "--rm", "-T", "setup", "key", environment=environment)
        yield made
    finally:
        made("down", "--volumes", "--timeout", "5")
