"""The tiny twins of GraphRAG's runs with real services and a scripted model: that every part of the way is there, not how well."""

from pathlib import Path

import pytest

from benchmarks.config import ModelsConfig, load_config
from benchmarks.runner import Runner
from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.benchmarks.scripted_server import scripted_server
from tests.support.models import no_model

pytestmark = [pytest.mark.process, pytest.mark.model, pytest.mark.long]  # a minute: CI has fifteen
ROOT = Path(__file__).parents[2]


class Quiet:
    """A progress board that nobody reads."""

    def begin(self, what, total):
        pass

    def at(self, done):
        pass

    def say(self, text):
        pass


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Makes the run of a shipped configuration; its figures."""
    try:
        located(model_named("minilm"), ModelSettings().dir)
    except FetchError:
        no_model("the default embedder is not fetched: `dgrag model fetch minilm`")
    monkeypatch.chdir(ROOT)  # data and questions are named from there

    def made(name):
        with scripted_server() as url:
            config = load_config(ROOT / "benchmarks" / "configs" / f"{name}.toml")
            scripted = config.model_copy(update={"models": ModelsConfig(generator=url), "limit": 1})
            return Runner(scripted, tmp_path / "work", Quiet()).run(tmp_path / "out").figures

    return made


def test_each_condition_answers_and_every_reference_opens(run):
    figures = run("tiny-graphrag")
    metrics = {row["system"]: row["metrics"] for row in figures["systems"]}
    assert [row["errors"] for row in figures["systems"]] == [0, 0, 0]
    for system in ("graphrag-c0", "graphrag-c2", "graphrag-ts"):
        assert metrics[system]["opened"]["mean"] == metrics[system]["referenced"]["mean"] == 1.0
    assert all(row["coverage"].startswith("this site alone") for row in figures["coverage"])
    (index,) = figures["index"]
    assert index["writing_calls"] >= sum(one["by_model"] for one in index["reports"][-1:]) > 0
    assert [one["level"] for one in index["reports"]] == [0, 1, 2]
    assert figures["wins"] == []  # a question about everything has no reference to count claims of


def test_a_federated_answer_names_all_sites_and_every_reference_opens_at_its_own(run):
    figures = run("tiny-graphrag-federated")
    metrics = {row["system"]: row["metrics"] for row in figures["systems"]}
    assert [row["errors"] for row in figures["systems"]] == [0, 0]
    federated = metrics["graphrag-federated"]
    assert federated["opened"]["mean"] == metrics["graphrag-central:read=1500"]["opened"]["mean"] == 1.0
    assert federated["referenced"]["mean"] == 1.0
    assert federated["bytes_moved"]["mean"] > 0
    assert federated["over_slowest"]["mean"] >= 1.0
    told = [row["coverage"] for row in figures["coverage"] if row["system"] == "graphrag-federated"]
    assert len(told) == 1
    assert all(edge in line for line in told for edge in ("harbour", "observatory", "orchard"))
