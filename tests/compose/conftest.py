"""A cluster of containers for the tests of this folder, where there is an engine."""

import pytest

from tests.support.containers import Compose, said, works

COMPOSES = (("docker", "compose"), ("docker-compose",))
SETTINGS = {
    "COMPOSE_PROFILES": "cpu",
    "DGRAG_MODEL": "small",
    "DGRAG_CLOUD_HOST_PORT": "18099",
    "DGRAG_EDGE_HOST_PORTS": "18110-18141",
}


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
    made = Compose(compose_command, "dgrag-test", SETTINGS)
    made("build")
    try:
        made.up(4)
        made.key = said(*compose_command, "-p", made.project, "run", "--rm", "-T", "setup", "key", environment=SETTINGS)
        yield made
    finally:
        made("down", "--volumes", "--timeout", "5")
