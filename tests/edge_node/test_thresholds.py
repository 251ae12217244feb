"""Least scores by kind, as settings name them."""

import pytest
from pydantic import ValidationError

from edge_node.build import suited
from edge_node.settings import THRESHOLDS, EdgeSettings, parsed_thresholds


def test_kinds_that_are_not_named_keep_their_own_score():
    assert parsed_thresholds(" learned = 1.5 ") == {**THRESHOLDS, "learned": 1.5}
    assert parsed_thresholds({"model": 0.95}) == {**THRESHOLDS, "model": 0.95}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("", "each kind once"),
        ("template=0.9,template=0.8", "each kind once"),
        ("=0.9", "each kind once"),
        ("template", "must be a number"),
        ("template=high", "must be a number"),
        ("templates=0.9", "there is no kind of memories 'templates': use template, model, learned"),
        ("template=-0.1", "from 0 to 2"),
        ("template=2.1", "from 0 to 2"),
        ("template=nan", "from 0 to 2"),
        (0.9, "as in template=0.92"),
        ({"template": "0.9"}, "as in template=0.92"),
    ],
)
def test_what_cannot_be_meant_is_told(wrong, why):
    with pytest.raises(ValueError, match=why):
        parsed_thresholds(wrong)
    with pytest.raises(ValidationError, match=why):
        EdgeSettings(memory_threshold=wrong)


def test_they_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_MEMORY_THRESHOLD", "template=2,learned=0.9")
    assert EdgeSettings().memory_threshold == {"template": 2.0, "model": 0.92, "learned": 0.9}


@pytest.mark.parametrize("wrong", [{"memory_fast": "maybe"}, {"memory_learn": "all"}, {"memory_cover": -0.1}, {"memory_k": 0}])
def test_settings_of_memories_have_their_ranges(wrong):
    with pytest.raises(ValidationError):
        EdgeSettings(**wrong)


def test_an_embedder_brings_its_own_thresholds_a_given_one_wins_and_unknown_ones_switch_their_step_off():
    plain, given = EdgeSettings(), EdgeSettings(min_nearness=0.6, memory_fast="on")

    def told(settings, fingerprint):
        found = suited(settings, fingerprint)
        return found.min_nearness, found.evidence_threshold, found.memory_fast

    assert told(plain, "all-MiniLM-L6-v2-int8/384/00") == (plain.min_nearness, plain.evidence_threshold, plain.memory_fast)
    assert told(plain, "use-multilingual/512/00") == (0.3, 0.3, "off")
    assert told(plain, "another/7/00") == (-1.0, plain.evidence_threshold, "off")
    assert told(given, "another/7/00")[0::2] == (0.6, "on")
