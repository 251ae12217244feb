"""Where the default models are, when they were fetched."""

from pathlib import Path

import pytest

from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.support.models import no_model


def fetched(name: str) -> Path:
    try:
        return located(model_named(name), ModelSettings().dir)
    except FetchError as error:
        no_model(error.message)


@pytest.fixture(scope="session")
def minilm() -> Path:
    return fetched("minilm")


@pytest.fixture(scope="session")
def small_weights() -> Path:
    return fetched("small") / model_named("small").files[0].name
