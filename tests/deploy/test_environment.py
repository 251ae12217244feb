"""deploy/compose/*.env tell of every setting, and of no other: `make env` writes them anew."""

import os
import re

import pytest
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from deploy.environment import ASSIGNMENT, FILES, FOLDER, assigned, written
from edge_node.settings import EdgeSettings
from shared.models.settings import ModelSettings
from shared.settings import Section
from shared.settings_reference import takes


class Where(Section):
    """Where it is."""

    port: int = Field(80, ge=1, le=99)  # TCP
    words: str = "#1"


class Sample(Where, BaseSettings):
    model_config = SettingsConfigDict(env_prefix="DGRAG_SAMPLE_")

    said: str = Field("x", description="who says it")


def bare(text):
    """The file with every assignment commented out and without values that are set."""
    return [re.sub(r"^#?(DGRAG_\w+)=.*$", r"#\1=", line) for line in text.splitlines()]


@pytest.mark.parametrize("name", FILES)
def test_the_committed_file_is_that_of_the_settings(name):
    committed = (FOLDER / name).read_text()
    fresh = written(FILES[name], values=assigned(committed))
    assert committed == fresh, "run `make env`"


@pytest.mark.parametrize("change", [lambda t: t.replace("#DGRAG_EDGE_SEED=7\n", ""), lambda t: t + "#DGRAG_EDGE_SPEED=7\n",
                                    lambda t: t.replace("_SEED", "_SEEED")])  # fmt: skip
def test_a_missing_a_foreign_and_a_misspelt_name_are_found(change):
    text = (FOLDER / "edge.env").read_text()
    fresh = written(EdgeSettings, values=assigned(text))
    assert change(text) != fresh


@pytest.mark.parametrize("name", FILES)
def test_every_line_can_be_taken_as_it_stands(name, monkeypatch):
    """An empty one says that there is no default: it needs a value."""
    found = [match for line in (FOLDER / name).read_text().splitlines() if (match := ASSIGNMENT.match(line)) and match[2]]
    for one in [one for one in os.environ if one.startswith("DGRAG_")]:
        monkeypatch.delenv(one)  # of whoever runs the tests
    for match in found:
        monkeypatch.setenv(match[1], match[2])
    taken = FILES[name]()
    assert len(taken.model_fields_set) == len(found) > 5
    committed = assigned((FOLDER / name).read_text())
    prefix = FILES[name].model_config["env_prefix"]
    for field, info in FILES[name].model_fields.items():
        if f"{prefix}{field.upper()}" not in committed and info.default_factory is None:
            assert getattr(taken, field) == info.default


def test_what_is_set_stays_set_and_the_rest_is_the_default():
    text = written(Sample, values={"DGRAG_SAMPLE_PORT": "81"})
    where = ["", "## Where it is", "", "# TCP · from 1 to 99", "DGRAG_SAMPLE_PORT=81", "", "#DGRAG_SAMPLE_WORDS=#1"]
    assert text.splitlines()[1:] == [*where, "", "# who says it", "#DGRAG_SAMPLE_SAID=x"]
    assert assigned(text) == {"DGRAG_SAMPLE_PORT": "81"}


def test_a_secret_is_named_and_never_kept():
    text = (FOLDER / "model.env").read_text()
    values = {**assigned(text), "DGRAG_MODEL_API_KEY": "s3cret"}
    assert written(ModelSettings, values=values) == text
    assert "# DGRAG_MODEL_API_KEY, a secret: key for that server" in text


def test_no_path_of_the_machine_that_made_them_is_in_the_files():
    for name in FILES:
        assert not re.search(r"/(home|root|Users)/", (FOLDER / name).read_text())


def test_what_a_setting_takes_is_said_also_where_it_may_be_none():
    assert takes({"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]}) == "above 0"
