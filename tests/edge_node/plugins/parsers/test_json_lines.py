"""JSON and JSON lines as sentences."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.documents.readers import read
from edge_node.plugins.parsers.json_lines import parse_json


def test_records_name_their_fields_and_have_their_rows(place):
    pumps = [{"name": "P-7", "lot": {"no": 22, "open": True}, "tags": ["a", "b"]}, {"name": "P-8"}]
    found = read("a.json", json.dumps({"site": "Tessel", "pumps": pumps}).encode())
    assert found.text == ("site: Tessel.\n\npumps\nname: P-7; lot no: 22; lot open: yes; tags: a, b.\nname: P-8.")
    assert place(found, "P-8") == "pumps, row 2"


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson"])
@pytest.mark.parametrize(
    "source",
    ['{"ward":"Juniper"}\n{"ward":"Cedar"}\n', '{\n"ward": "Juniper"\n}\n{"ward":\n"Cedar"}'],
)
def test_values_one_below_the_other_are_records_whatever_the_suffix(name: str, source: str):
    found = read(name, source.encode())
    assert "ward: Juniper." in found.text
    assert "ward: Cedar." in found.text
    assert found.shortfalls == ()


@pytest.mark.parametrize(
    "source",
    ['{"ward": "Juniper", // the old one\n"beds": 28}', '{"ward": "Juniper",}', "{'ward': 'Juniper'}"],
)
def test_what_is_almost_json_is_read_as_text_with_a_shortfall(source: str):
    found = read("a.json", source.encode())
    assert found.text == source
    assert [code for code, _ in found.shortfalls] == ["not_json"]


def test_a_half_written_line_is_a_shortfall(place):
    source = '{"pump": "P-7", "note": "old\u2028worn"}\n\n{"pump": "P-8"}\n{"pump": "P-9", "lo'
    found = read("log.jsonl", source.encode())
    assert place(found, "pump: P-7; note: old worn.") == "row 1"
    assert place(found, "pump: P-8.") == "row 3"
    assert found.shortfalls == (("part_unread", "not JSON: 1 row, first row 4"),)


def test_what_is_no_json_at_all_is_refused(reason_of):
    assert reason_of("log.ndjson", b"{'pump'\n") == "bad_json"
    assert reason_of("a.json", b"[" * 100_000) == "bad_json"


def test_objects_in_a_list_of_a_record_are_numbered():
    order = {"id": 1, "items": [{"part": "pump", "count": 2}, {"part": "rod", "count": 3}]}
    found = read("a.json", json.dumps([order]).encode())
    assert found.text == ("id: 1; items 1 part: pump; items 1 count: 2; items 2 part: rod; items 2 count: 3.")


def test_records_of_ever_different_fields_cost_no_grid():
    records = [{f"field {number}": number} for number in range(3_000)]
    found = read("a.json", json.dumps(records).encode())
    assert "field 2999: 2999." in found.text


def words_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for each in value.values() for word in words_in(each)]
    if isinstance(value, list):
        return [word for each in value for word in words_in(each)]
    return [value]


_WORDS = st.from_regex(r"[a-z]{3,8}[0-9]", fullmatch=True)
_VALUES = st.recursive(_WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4))


@given(_VALUES)
def test_no_word_of_any_json_is_lost(value: Any):
    words = words_in(value)
    if words:
        text = read("a.json", json.dumps(value).encode()).text
        assert [word for word in words if word not in text] == []


def test_a_file_in_an_old_encoding_is_json_too():
    assert parse_json("a.json", '{"ort": "Köln"}'.encode("cp1252")).blocks[0].text == "ort: Köln."


def test_numbers_stay_as_they_are_written():
    numbers = ["1.50", "0.10", "12345678901234567890.5", "1" * 5_000, "1e400", "-0"]
    records = [f'{{"dose": {each}, "ward": 7}}' for each in numbers]
    found = read("a.json", f"[{', '.join(records)}]".encode())
    assert found.text.split("\n")[:3] == [f"dose: {each}; ward: 7." for each in numbers[:3]]
    assert [row[0] for row in found.tables[0].rows][:2] == [1.5, 0.1]
    assert found.tables[0].rows[4] == ("1e400", 7)


def test_a_name_twice_in_an_object_has_both_values():
    source = '{"ward": "Juniper", "nurse": "Mira", "nurse": "Ada", "bed": {"no": 1}, "bed": {"no": 2}}'
    assert read("a.json", source.encode()).text == ("ward: Juniper; nurse: Mira, Ada.\n\nbed\n\nno: 1.\n\nno: 2.")
