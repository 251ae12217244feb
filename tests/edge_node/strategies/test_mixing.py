"""Several methods beside each other: shares, fusion, and a budget that is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from edge_node.settings import EdgeSettings, parsed_mix
from edge_node.strategies.index import fused


def test_what_two_orders_agree_on_comes_first():
    # b: 0.5/62 + 0.5/61 > a: 0.5/61 > c: 0.5/62
    assert fused([["a", "b"], ["b", "c"]], [0.5, 0.5]) == ["b", "a", "c"]


def test_a_larger_share_tips_the_scales():
    assert fused([["a"], ["b"]], [0.4, 0.6]) == ["b", "a"]


@given(st.lists(st.permutations("abcde"), min_size=2, max_size=4))
def test_the_order_of_the_methods_makes_no_difference(orders):
    shares = list(np.full(len(orders), 1 / len(orders)))
    assert fused(orders, shares) == fused(orders[::-1], shares)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dgrag", "number"),
        ("dgrag=1", "two methods"),
        ("dgrag=0.5,naive=0.6", "add up to 1"),
        ("dgrag=1.5,naive=-0.5", "above 0"),
        ("dgrag=0.5,dgrag=0.5", "each method once"),
        ("dgrag=nan,naive=0.5", "add up to 1"),
        ("", "each method once"),
        ("dgrag=half,naive=0.5", "number"),
    ],
)
def test_a_mix_with_a_mistake_is_refused_in_words(text, said):
    with pytest.raises(ValueError, match=said):
        parsed_mix(text)


def test_a_mix_of_a_method_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="naive"):
        EdgeSettings(strategy="mix", mix="dgrag=0.5,magic=0.5", state_dir=tmp_path)


def test_shares_that_are_no_shares_are_refused_in_a_mapping_too(tmp_path):
    with pytest.raises(ValidationError, match="add up to 1"):
        EdgeSettings(strategy="mix", mix={"dgrag": 0.9, "naive": 0.9}, state_dir=tmp_path)


def test_a_mix_without_methods_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="needs the setting mix"):
        EdgeSettings(strategy="mix", state_dir=tmp_path)


def test_one_method_has_all_of_the_budget(tmp_path):
    assert EdgeSettings(state_dir=tmp_path).methods == {"dgrag": 1.0}
    assert EdgeSettings(strategy="mix", mix="dgrag=0.25,naive=0.75", state_dir=tmp_path).methods == {"dgrag": 0.25, "naive": 0.75}
