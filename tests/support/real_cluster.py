"""A cluster of real processes with a real model, by the command that a user types."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.support.models import named_server, no_model

DGRAG = str(Path(sys.executable).with_name("dgrag"))


def a_fetched_model():
    for name in ("small", "standard"):
        try:
            located(model_named("minilm"), ModelSettings().dir)
            located(model_named(name), ModelSettings().dir)
        except FetchError:
            continue
        return name
    return no_model("no default model is fetched: `dgrag model fetch small minilm`")


def which_model():
    """What ``--model`` gets, and the environment that goes with it: DGRAG_TEST_MODEL_URL's server, else a fetched model."""
    if (given := named_server()) is None:
        return a_fetched_model(), {}
    key = {"DGRAG_MODEL_API_KEY": given.api_key.get_secret_value()} if given.api_key else {}
    return given.url, {"DGRAG_MODEL_NAME": given.name, **key}


def dgrag(*arguments, check=True, environment=None):
    words = [DGRAG, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=check, timeout=300, env={**os.environ, **(environment or {})})


@contextmanager
def cluster_of(root, *sites):
    """A cloud, a model server and an edge for each folder of ``root``; what `dgrag up --json` says, with the folder of the state."""
    state, (model, environment) = root / "state", which_model()
    folders = [word for site in sites for word in ("--data", root / site)]
    started = dgrag("up", *folders, "--state", state, "--model", model, "--detach", "--json", environment=environment)
    try:
        yield json.loads(started.stdout) | {"state": state, "root": root}
    finally:
        dgrag("down", "--state", state)
