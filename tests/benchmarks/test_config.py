from pathlib import Path

import pytest

from benchmarks.config import RunConfig, load_config
from benchmarks.errors import BenchmarkError

SPLIT = """
name = "trial"
[[split]]
name = "domain"
kind = "domain"
files = ["*.jsonl"]
routing = true
"""
WITHIN = SPLIT + "within = 1\n"


def loaded(tmp_path: Path, text: str) -> RunConfig:
    file = tmp_path / "run.toml"
    file.write_text(text)
    return load_config(file)


def shipped() -> list[Path]:
    files = sorted((Path(__file__).parents[2] / "benchmarks" / "configs").glob("*.toml"))
    return [file for file in files if file.stem != "descriptions"]


@pytest.mark.parametrize("file", shipped(), ids=lambda file: file.stem)
def test_a_shipped_config_can_be_read_and_is_named_as_its_file(file):
    assert load_config(file).name == file.stem


def test_a_split_has_the_papers_defaults(tmp_path):
    split = loaded(tmp_path, SPLIT).split[0]
    assert (split.m, split.subgraph_entities, split.within) == ((1, 2, 3, 5, 10), (40,), 0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SPLIT + 'systems = ["dgrag", "oracle"]', "there is no system 'oracle'; there are naive"),
        (SPLIT + 'systems = ["dgrag:colour=red"]', "changes nothing that is known"),
        (SPLIT + 'retrieval = ["everywhere"]', "there is no retrieval 'everywhere'"),
        (SPLIT + "within = -2", "split.0.domain.within"),
        (SPLIT + "edges = 3", "Extra inputs are not permitted"),
        (SPLIT.replace('"domain"\nfiles', '"random"\nfiles'), "'domain', 'mixed', 'federated'"),
        (SPLIT + SPLIT.replace('name = "trial"', ""), "two splits have one name"),
        ('name = "trial"\n[environment]\nPATH = "x"', "environment"),
        ("name = ", "is no TOML"),
        ("", "name: Field required"),
        (WITHIN + 'systems = ["dgrag"]\n[models]\ngenerator = "none"', "systems need a language model"),
        ("seed = -1" + SPLIT, "seed: Input should be greater than or equal to 0"),
        (WITHIN + 'systems = ["cloud", "cloud"]', "systems: 'cloud' stands there twice"),
        (SPLIT + 'retrieval = ["local", "local"]', "retrieval: 'local' stands there twice"),
        (SPLIT + "subgraph_entities = [40, 40]", "subgraph_entities: 40 stands there twice"),
        (SPLIT + '[peers]\nsystems = ["dgrag", "dgrag"]', "peers.systems: 'dgrag' stands there twice"),
        (SPLIT + "[peers]\nsizes = [1000, 1000]", "peers.sizes: 1000 stands there twice"),
        (WITHIN + 'systems = ["cloud:match=abc"]', "split 'domain', cloud:match=abc: DGRAG_CLOUD_MATCH_THRESHOLD = abc: Input should be"),
        (WITHIN + 'systems = ["cloud:match=nan"]', "DGRAG_CLOUD_MATCH_THRESHOLD = nan"),
        (SPLIT + 'retrieval = ["local:zz+dense"]', "local:zz+dense: DGRAG_EDGE_RETRIEVAL = zz,dense: Input should be 'dense'"),
        (SPLIT + "subgraph_entities = [1]", "DGRAG_EDGE_SUBGRAPH_ENTITIES = 1: Input should be greater than or equal to 2"),
        (SPLIT + '[environment]\nDGRAG_EDGE_MIN_NEARNESS = "abc"', "DGRAG_EDGE_MIN_NEARNESS = abc: Input should be a valid number"),
        (SPLIT + '[environment]\nDGRAG_EDGE_MIN_NEARNES = "0.5"', "DGRAG_EDGE_MIN_NEARNES = 0.5: no service reads it"),
        (SPLIT + '[environment]\nDGRAG_EDGE_STRATEGY = "mix"', "the strategy mix needs the setting mix"),
        (SPLIT + "[link]\nmbit = inf", "link.mbit: Input should be a finite number"),
        (SPLIT + "[link]\ndelay_ms = inf", "link.delay_ms: Input should be a finite number"),
        (SPLIT.replace('"domain"\nfiles', '"mixed"\nfiles') + "alpha = inf", "alpha: Input should be a finite number"),
        ('name = "a"', "nothing is measured"),
        (SPLIT.replace("routing = true", ""), "nothing is measured"),
        (SPLIT + 'systems = ["dgrag"]', "the systems are asked nothing"),
        (WITHIN + 'systems = ["graphrag-central:read=all"]', "DGRAG_EDGE_GLOBAL_READ_TOKENS = all"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, told):
    with pytest.raises(BenchmarkError) as error:
        loaded(tmp_path, text)
    assert told in error.value.message
    assert "run.toml" in error.value.message
    assert error.value.next_step


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BenchmarkError, match=r"nowhere\.toml cannot be read"):
        load_config(tmp_path / "nowhere.toml")


def test_the_key_follows_what_is_asked_and_not_where_the_data_lies(tmp_path):
    config = loaded(tmp_path, SPLIT)
    assert config.key() == loaded(tmp_path, SPLIT + '[data]\nroot = "elsewhere"').key()
    assert config.key() != config.model_copy(update={"seed": 8}).key()
    assert config.key() != config.model_copy(update={"limit": 3}).key()


@pytest.mark.parametrize("file", ["multihop", "ketrag", "link", "subgraphs"])
def test_a_run_without_answers_starts_no_language_model(file):
    config = load_config(shipped()[0].parent / f"{file}.toml")
    assert config.models.generator == "none"
    assert not any(split.systems for split in config.split)


def test_the_ablations_ask_the_papers_questions_on_its_index():
    paper, ablations = (load_config(shipped()[0].parent / f"{name}.toml").split[0] for name in ("paper", "ablations"))
    assert (ablations.files, ablations.within, ablations.out) == (paper.files, paper.within, paper.out)


def test_a_calibration_makes_only_what_its_thresholds_need(tmp_path):
    text = SPLIT + 'within = 2\nsystems = ["dgrag", "local"]\nmore = { dgrag = 3 }\nstorage = true\nretrieval = ["local"]'
    text += "\nsubgraph_entities = [40, 80]"
    config = loaded(tmp_path, text + "\n[peers]\nenabled = true")
    found = config.calibrating()
    (split,) = found.split
    assert (split.systems, split.routing, split.storage, split.retrieval, split.subgraph_entities) == (
        ("gate-signals",),
        True,
        False,
        (),
        (40,),
    )
    assert not found.peers.enabled
    assert (split.within, split.more) == (2, {"dgrag": 3})  # what the run asks must be known to leave it out
    assert found.key() != config.key()


def test_one_index_may_read_as_much_as_all_the_edges_together():
    config = load_config(shipped()[0].parent / "graphrag-federated.toml")
    (split,) = config.split
    central = next(dict(own) for name, own in split.starts if name.startswith("graphrag-central"))
    edge = int(config.environment["DGRAG_EDGE_GLOBAL_READ_TOKENS"])
    assert int(central["DGRAG_EDGE_GLOBAL_READ_TOKENS"]) == split.clients * edge


@pytest.mark.parametrize(("name", "twin"), [("graphrag", "tiny-graphrag"), ("graphrag-federated", "tiny-graphrag-federated")])
def test_a_tiny_twin_measures_systems_of_the_whole_run_in_the_same_order(name, twin):
    whole, tiny = (load_config(shipped()[0].parent / f"{file}.toml") for file in (name, twin))
    plain = [[system.partition(":")[0] for system in config.split[0].systems] for config in (whole, tiny)]
    assert plain[1] == [system for system in plain[0] if system in plain[1]]
    assert len(plain[1]) > 1
