import sys
from types import ModuleType, SimpleNamespace

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.metrics.bertscore import bertscore


class Scores(list):
    def tolist(self):
        return list(self)


class Scorer:
    """Recall is the share of the reference's characters that the answer has; says what it was made with."""

    made = None

    def __init__(self, **settings):
        Scorer.made = settings

    def score(self, answers, references):
        assert all(text.strip() for text in [*answers, *references])
        recalls = [len(set(answer) & set(reference)) / len(set(reference)) for answer, reference in zip(answers, references, strict=True)]
        return None, Scores(recalls), None


@pytest.fixture
def library(monkeypatch):
    """A stand-in for bert-score that knows roberta-large, and for transformers, which knows the folder ``here`` with 6 layers."""

    def configuration(model):
        if model != "here":
            raise OSError("We couldn't connect to the hub.\nCheck your connection.")
        return SimpleNamespace(num_hidden_layers=6)

    parts = {
        "bert_score": {"BERTScorer": Scorer},
        "bert_score.utils": {"model2layers": {"roberta-large": 17}},
        "transformers": {"AutoConfig": SimpleNamespace(from_pretrained=configuration)},
    }
    for name, members in parts.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("library")
def test_each_pair_is_scored_and_a_blank_text_scores_zero_without_the_library():
    recall = bertscore("here")
    assert recall(["ab", " ", "abcd", "x"], ["abcd", "abcd", "ab", ""]) == [0.5, 0.0, 1.0, 0.0]
    assert recall([""], ["a"]) == [0.0]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("model", "layers"), [("roberta-large", 17), ("here", 6)])
def test_the_layer_is_the_librarys_choice_else_the_last(model, layers):
    bertscore(model)
    assert (Scorer.made["model_type"], Scorer.made["num_layers"]) == (model, layers)


@pytest.mark.usefixtures("library")
def test_a_model_that_cannot_be_had_is_a_reason():
    with pytest.raises(BenchmarkError, match=r"no model 'nowhere' \(We couldn't connect to the hub\)$"):
        bertscore("nowhere")


def test_a_library_that_is_not_installed_is_a_reason_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(BenchmarkError) as error:
        bertscore("roberta-large")
    assert "pip install 'dgrag[bertscore]'" in error.value.next_step
