"""What a test does that needs a real model where there is none."""

import os
from typing import NoReturn

import pytest


def no_model(why: str) -> NoReturn:
    """Skip; with DGRAG_REQUIRE_MODELS=1, as ``make test`` sets it, fail."""
    if os.environ.get("DGRAG_REQUIRE_MODELS") == "1":
        pytest.fail(f"{why} (DGRAG_REQUIRE_MODELS=1)", pytrace=False)
    pytest.skip(why)
