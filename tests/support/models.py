"""Which real model a test speaks to, and what it does where there is none."""

import os
from typing import NoReturn

import pytest

from shared.models.settings import ModelSettings


def no_model(why: str) -> NoReturn:
    """Skip; with DGRAG_REQUIRE_MODELS=1, as ``make test`` sets it, fail."""
    if os.environ.get("DGRAG_REQUIRE_MODELS") == "1":
        pytest.fail(f"{why} (DGRAG_REQUIRE_MODELS=1)", pytrace=False)
    pytest.skip(why)


def named_server() -> ModelSettings | None:
    """The server that DGRAG_TEST_MODEL_URL, _NAME and _KEY name; None where no URL is given."""
    given = {field: os.environ.get(f"DGRAG_TEST_MODEL_{end}") for field, end in (("url", "URL"), ("name", "NAME"), ("api_key", "KEY"))}
    return ModelSettings(**{field: value for field, value in given.items() if value}) if given["url"] else None
