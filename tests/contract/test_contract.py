"""What is seen from outside is what the golden files say; ``python -m tests.contract.record`` writes them anew."""

import pytest

from tests.contract.product import commands, openapi, prompts, schema, settings, written
from tests.contract.record import GOLDEN


def saved(name):
    """A golden file's text."""
    return (GOLDEN / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "now"), [("openapi", openapi), ("schema", schema)])
def test_both_services_look_as_before(tmp_path, name, now):
    assert written(now(tmp_path)) == saved(name)


@pytest.mark.parametrize(("name", "now"), [("settings", settings), ("commands", commands), ("prompts", prompts)])
def test_what_is_set_called_and_asked_of_a_model_is_as_before(name, now):
    assert written(now()) == saved(name)
