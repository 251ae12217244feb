import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.model_extraction import (
    MAX_ENTITIES,
    MAX_RELATIONS,
    ParsedRelations,
    RelationLine,
    as_json,
    as_lines,
    fault_of,
    glean_prompt,
    names_for_prompt,
    parse_relations,
    relation_prompt,
    relation_schema,
)
from shared.records import Chunk, ChunkId, DocumentId, EntityMention

NAMES = ["Marlow Pump", "Rowan Ward", "Blue Store"]
CHUNK = Chunk(ChunkId("d:0"), DocumentId("d"), 0, "Rowan Ward\nkeeps $5 Marlow Pumps.", 0, 33, 6)
KEEPS = RelationLine("Rowan Ward", "keeps", "Marlow Pump")


def items(reply, **options):
    return parse_relations(reply, NAMES, **options).items


@pytest.mark.parametrize(
    "line",
    [
        "Rowan Ward | keeps | Marlow Pump",
        "- Rowan Ward | keeps | Marlow Pump",
        "1. rowan ward|keeps|the marlow pumps",
        "| Rowan Ward | keeps | Marlow Pump |",
        '"Rowan Ward" | `keeps` | **Marlow Pump**',
        "  (Rowan Ward) |  keeps  | <Marlow Pump>  ",
    ],
)
def test_a_line_is_read_in_any_dress(line):
    assert parse_relations(line, NAMES) == ParsedRelations((KEEPS,), 0)


@pytest.mark.parametrize(
    "line",
    [
        "Here are the relations:",
        "Rowan Ward | keeps",
        "Rowan Ward | keeps | Marlow Pump | 5",
        "subject | relation | object",
        "it | keeps | Marlow Pump",
        "Rowan Ward | keeps | 42",
        "Rowan Ward | keeps | people",
        "Rowan Ward |  | Marlow Pump",
        "Marlow Pump | is | must be shielded",
        "Marlow Pump | is | of old",
        "Rowan Ward | 12 | Marlow Pump",
        "Rowan Ward | next to | rowan wards",
        "Rowan Ward | is the only ward in the house that keeps | Marlow Pump",
        " | | ",
        "Rowan Ward | keeps | " + "x" * 200,
    ],
)
def test_a_line_that_cannot_be_used_is_counted(line):
    assert parse_relations(line, NAMES) == ParsedRelations((), 1)


@pytest.mark.parametrize("reply", ["", "\n\n", "NONE", "None."])
def test_nothing_is_read_of_nothing(reply):
    assert parse_relations(reply, NAMES) == ParsedRelations((), 0)


def test_what_follows_a_given_name_is_cut():
    assert items("Rowan Ward by day | keeps | the Marlow Pumps on 10 November") == (KEEPS,)


@pytest.mark.parametrize(
    "line",
    [
        "Rowan Ward | keeps the Marlow Pump",
        "Rowan Ward | keeps Marlow Pump in the Blue Store",
        "- Rowan Ward | keeps a Marlow Pump.",
    ],
)
def test_a_relation_and_its_object_in_one_are_told_apart_by_the_given_name(line):
    """The 1.5B writes half of its lines so where a passage is about one person."""
    assert parse_relations(line, NAMES) == ParsedRelations((KEEPS,), 0)


@pytest.mark.parametrize(
    "line",
    [
        "Rowan Ward | Marlow Pump",
        "Rowan Ward | the Marlow Pump",
        "Rowan Ward | keeps Marlow Pumpkins",
        "Rowan Ward | is part of Rowan Ward",
        "Rowan Ward | is the only one in the house that keeps Marlow Pump",
    ],
)
def test_two_parts_without_a_relation_and_another_given_name_are_counted(line):
    assert parse_relations(line, NAMES) == ParsedRelations((), 1)


def test_a_longer_name_is_not_cut_to_a_given_one():
    assert items("Rowan Ward pharmacist | keeps | Marlow Pump")[0].subject == "Rowan Ward pharmacist"


def test_repeated_lines_count_once():
    assert parse_relations("Rowan Ward | keeps | Marlow Pump\n" * 50, NAMES) == ParsedRelations((KEEPS,), 0)


def test_a_name_that_was_not_given_is_taken_when_it_is_one():
    assert items("Rowan Ward | opened in | Port Tessel") == (RelationLine("Rowan Ward", "opened in", "Port Tessel"),)


def test_no_more_relations_than_the_limit_are_kept():
    reply = "\n".join(f"Rowan Ward | keeps | Pump K{n}" for n in range(MAX_RELATIONS + 9))
    assert len(items(reply)) == MAX_RELATIONS


def test_json_is_read():
    assert items(as_json([KEEPS]), form="json") == (KEEPS,)


def test_json_that_was_cut_off_keeps_what_is_whole():
    whole = as_json([KEEPS, RelationLine("Rowan Ward", "fills", "Blue Store")])
    assert items(whole[: whole.index("fills")], form="json") == (KEEPS,)


@pytest.mark.parametrize("reply", ["no JSON at all", '[{"a": 1}]', '{"source": 5, "relation": null, "target": []}', "{broken}"])
def test_json_that_cannot_be_used_is_counted(reply):
    assert parse_relations(reply, NAMES, form="json") == ParsedRelations((), 1)


def test_an_empty_json_list_is_no_failure():
    assert parse_relations('{"relations": []}', NAMES, form="json") == ParsedRelations((), 0)


@given(st.text(max_size=200), st.sampled_from(["lines", "json"]))
def test_no_reply_raises(reply, form):
    parsed = parse_relations(reply, NAMES, form=form)
    assert all(item.subject and item.relation and item.object for item in parsed.items)


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["keeps", "fills"]), st.sampled_from(NAMES)), max_size=6, unique=True),
    st.sampled_from([as_lines, as_json]),
)
def test_what_was_written_is_read_again(rows, write):
    lines = [RelationLine(*row) for row in rows if row[0] != row[2]]
    assert items(write(lines), form="json" if write is as_json else "lines") == tuple(lines)


def test_the_prompt_holds_the_passage_on_one_line_and_the_names():
    prompt = relation_prompt(CHUNK, NAMES, form="lines")
    assert "Passage: Rowan Ward keeps $5 Marlow Pumps." in prompt.messages[-1].content
    assert "Marlow Pump; Rowan Ward; Blue Store" in prompt.messages[-1].content
    assert prompt.schema is None


def test_the_json_prompt_bounds_all_that_the_model_may_write():
    schema = relation_prompt(CHUNK, NAMES, form="json").schema
    row = schema["properties"]["relations"]["items"]
    assert row["properties"]["source"]["enum"] == row["properties"]["target"]["enum"] == NAMES
    assert row["properties"]["relation"]["maxLength"] > 0
    assert schema["properties"]["relations"]["maxItems"] == MAX_RELATIONS
    json.dumps(relation_schema(NAMES))


@pytest.mark.parametrize("form", ["lines", "json"])
def test_a_follow_up_shows_what_is_known(form):
    asked = relation_prompt(CHUNK, NAMES, form=form)
    prompt = glean_prompt(asked, [KEEPS], form=form)
    assert prompt.messages[: len(asked.messages)] == asked.messages
    assert prompt.messages[-2].role == "assistant"
    assert "keeps" in prompt.messages[-2].content
    assert "missing" in prompt.messages[-1].content
    assert prompt.schema == asked.schema


def test_a_prompt_names_each_key_once_and_not_too_many():
    mentions = [EntityMention(f"k{n // 2}", f"Name {n}", "concept", "", ChunkId("d:0")) for n in range(200)]
    names = names_for_prompt(mentions)
    assert names[:2] == ("Name 0", "Name 2")
    assert len(names) == MAX_ENTITIES


CUT_JSON = '{"relations": [{"source": "Ann", "rela'
ENDS = ["Ann", "Mill"]


@pytest.mark.parametrize(
    ("reply", "form"),
    [
        ("Ann | works at | Mill", "lines"),
        ("Here you are:\nAnn | works at | Mill", "lines"),
        ("NONE", "lines"),
        ("No relations found.", "lines"),
        ("n/a", "lines"),
        ('{"relations": []}', "json"),
        ('{"relations": [{"source": "Ann", "relation": "works at", "target": "Mill"}, {"sou', "json"),
    ],
)
def test_a_relation_or_a_plain_none_is_usable(reply, form):
    assert fault_of(reply, ENDS, form=form) == ""


@pytest.mark.parametrize(
    ("reply", "form", "fault"),
    [
        ("", "lines", "blank"),
        (" \n" * 300, "lines", "blank"),
        ("I'm sorry, I am unable to say.", "lines", "refusal"),
        ("Ann works at Mill.", "lines", "form"),
        ("Ann | Mill", "lines", "form"),
        ("none of them matters much", "lines", "form"),
        (CUT_JSON, "json", "form"),
        (CUT_JSON + "\n" * 300, "json", "form"),
        ('{"relations": NaN}', "json", "form"),
        ('{"answer": []}', "json", "form"),
        ("[" * 100_000, "json", "refusal"),
        ("{}", "json", "refusal"),
    ],
)
def test_what_holds_no_relation_is_not_usable(reply, form, fault):
    assert fault in fault_of(reply, ENDS, form=form)


@given(st.text(max_size=200), st.sampled_from(["lines", "json"]))
def test_no_text_of_a_model_is_an_error(reply, form):
    assert isinstance(fault_of(reply, ENDS, form=form), str)
