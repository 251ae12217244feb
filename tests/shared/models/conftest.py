"""Where the default models are, when they were fetched."""

from pathlib import Path

import pytest

from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings


def fetched(name: str) -> Path:
    try:
        return located(model_named(name), ModelSettings().dir)
    except FetchError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def minilm() -> Path:
    return fetched("minilm")


@pytest.fixture(scope="session")
def smoke_weights() -> Path:
    return fetched("smoke") / model_named("smoke").files[0].name
