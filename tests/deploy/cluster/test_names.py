"""Edge ids from what the user gave."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.cluster.errors import ClusterError
from deploy.cluster.names import edge_ids, slug
from shared.wire import EDGE_ID_PATTERN


def test_names_come_first_then_stems_then_numbers():
    assert edge_ids(3, names=["north"], stems=["a", "South Plant"]) == ["north", "south-plant", "edge-3"]


def test_equal_stems_are_numbered():
    assert edge_ids(3, stems=["ward", "Ward", "WARD!"]) == ["ward", "ward-2", "ward-3"]


def test_a_stem_without_a_letter_or_digit_gives_a_number():
    assert edge_ids(1, stems=["–"]) == ["edge-1"]


def test_a_stem_that_is_taken_by_a_service_is_numbered():
    assert edge_ids(1, stems=["wan"]) == ["wan-2"]


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "again", "cloud", "model", "wan", "a" * 64, "a\n"])
def test_a_name_that_is_not_valid_is_refused(name: str):
    with pytest.raises(ClusterError, match="cannot be an edge's name"):
        edge_ids(1, names=[name])


def test_a_name_given_twice_is_refused():
    with pytest.raises(ClusterError, match="comes twice"):
        edge_ids(2, names=["a", "a"])


@pytest.mark.parametrize("given_too_many", [{"names": ["a", "b"]}, {"stems": ["a", "b"]}])
def test_more_names_or_data_than_edges_are_refused(given_too_many: dict[str, list[str]]):
    with pytest.raises(ClusterError) as caught:
        edge_ids(1, **given_too_many)
    assert caught.value.next_step == "use --edges 2"


@given(st.lists(st.text(), min_size=1, max_size=8))
def test_every_id_is_valid_and_comes_once(stems: list[str]):
    ids = edge_ids(len(stems), stems=stems)
    assert len(set(ids)) == len(stems)
    assert all(re.fullmatch(EDGE_ID_PATTERN, name) for name in ids)


@given(st.text())
def test_a_slug_of_a_slug_is_itself(text: str):
    assert slug(slug(text)) == slug(text)
