import json

import pytest

from benchmarks.peers.formats import COMPLETE, answer, names
from benchmarks.stand_ins import Said, say
from edge_node.extraction.model_extraction import glean_prompt, parse_relations, relation_prompt
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.summaries import description_prompt, summary_prompt
from edge_node.strategies.dgrag.search import PROMPT, parse_keywords
from shared.records import Chunk, Entity

PASSAGE = "Osric Vale leads Harrow Mill. The mill is old."
CHUNK = Chunk("d:0", "d", 0, PASSAGE, 0, len(PASSAGE), 10)
SENTENCE = "Osric Vale leads Harrow Mill."


def lightrag(passage: str) -> str:
    """The last message of LightRAG's extraction, in its shape."""
    return f"---Task---\nExtract.\n\n---Input Text---\n```\n{passage}\n```\n\n---Output---\n"


def nano(passage: str) -> str:
    """The end of nano-graphrag's one message, after its examples."""
    return f"Text:\nAn example.\n######\n-Real Data-\n######\nEntity_types: [person]\nText: {passage}\n######################\nOutput:\n"


def fast(passage: str) -> str:
    """The last message of fast-graphrag's extraction, in its shape."""
    return f"# INPUT DATA\n<<DOCUMENT_START>>\n**Document**:\n{passage}\n<<DOCUMENT_END>>\n\nOUTPUT:\n"


def test_lightrag_gets_rows_of_four_and_five_fields():
    said = answer(["system", lightrag(PASSAGE)], say)
    rows = [row.split("<|#|>") for row in said.text.splitlines()]
    assert said.kind == "extract"
    assert rows == [
        ["entity", "Harrow Mill", "concept", SENTENCE],
        ["entity", "Osric Vale", "concept", SENTENCE],
        ["relation", "Osric Vale", "Harrow Mill", "leads", SENTENCE],
        [COMPLETE],
    ]


def test_nano_graphrag_gets_records_in_brackets():
    said = answer([nano(PASSAGE)], say)
    assert said.kind == "extract"
    assert said.text.removesuffix(COMPLETE).split("##") == [
        f'("entity"<|>"Harrow Mill"<|>"concept"<|>"{SENTENCE}")',
        f'("entity"<|>"Osric Vale"<|>"concept"<|>"{SENTENCE}")',
        f'("relationship"<|>"Osric Vale"<|>"Harrow Mill"<|>"{SENTENCE}"<|>1.0)',
    ]


def test_fast_graphrag_gets_a_graph_in_json():
    said = answer(["system", fast(PASSAGE)], say)
    assert said.kind == "extract"
    assert json.loads(said.text) == {
        "entities": [
            {"name": "Harrow Mill", "type": "concept", "desc": SENTENCE},
            {"name": "Osric Vale", "type": "concept", "desc": SENTENCE},
        ],
        "relationships": [{"source": "Osric Vale", "target": "Harrow Mill", "desc": SENTENCE}],
        "other_relationships": [],
    }


def test_an_entity_of_fast_graphrag_without_a_relation_gets_one_to_another_of_its_passage():
    alone = Said([("A", "x", "one"), ("B", "x", "two"), ("C", "x", "three")], [("B", "C", "", "they meet", 1.0)])
    links = [{"source": "A", "target": "B", "desc": "one"}]
    assert json.loads(answer([fast("…")], lambda _: alone).text)["other_relationships"] == links
    assert json.loads(answer([fast("…")], lambda _: Said([("A", "x", "one")], [])).text)["other_relationships"] == []


def test_fast_graphrag_looks_for_what_a_question_names_with_its_type():
    asked = f"… entities relevant to perform information retrieval …\n-EXAMPLE 1-\nQuery: Who?\n-INPUT-\nQuery: {QUESTION}\nOutput:\n"
    said = answer([asked], lambda text: Said([("Orrin Mill", "place", text)], []))
    assert (said.kind, json.loads(said.text)) == ("keywords", {"named": ["[PLACE] Orrin Mill"], "generic": []})


def test_fast_graphrag_gets_descriptions_in_json_and_keeps_every_fact():
    said = answer(["… generating a summary of the data provided below …\nCurrent:\nIt is old.\nIt leads.\n\nUpdated:\n"], say)
    assert (said.kind, json.loads(said.text)) == ("summary", {"description": "It is old. It leads."})
    said = answer(["… maintaining a list of facts …\nFacts:\n0, A leads B\n1, A led B\n\nOuput:\n"], say)
    assert (said.kind, json.loads(said.text)) == ("merge", {"grouped_facts": []})


def test_the_edge_gets_lines_that_its_own_parser_reads():
    given = ["Osric Vale", "Harrow Mill"]
    said = answer([message.content for message in relation_prompt(CHUNK, given, form="lines").messages], say)
    parsed = parse_relations(said.text, given)
    assert said.kind == "extract"
    assert [(item.subject, item.relation, item.object) for item in parsed.items] == [("Osric Vale", "leads", "Harrow Mill")]
    assert parsed.unread_lines == 0


def test_nothing_was_ever_missed():
    prompt = relation_prompt(CHUNK, ["Osric Vale"], form="lines")
    assert answer(["…", "Based on the last extraction task, identify …"], say).text == COMPLETE
    assert answer(["…", "MANY entities were missed in the last extraction."], say).text == COMPLETE
    assert answer(["…", "It appears some entities may have still been missed. Answer YES | NO"], say).text == "no"
    known = parse_relations("Osric Vale | leads | Harrow Mill", ["Osric Vale", "Harrow Mill"]).items
    assert answer([message.content for message in glean_prompt(prompt, known, form="lines").messages], say).text == "NONE"


QUESTION = "Which company supplied the Orrin Mill?"


def test_keywords_have_two_levels_in_each_form():
    edge = answer([message.content for message in PROMPT.render(question=QUESTION)], say)
    assert parse_keywords(edge.text, QUESTION).low == ("Orrin Mill",)
    assert parse_keywords(edge.text, QUESTION).high == ("company", "supplied")
    rival = answer([f'"high_level_keywords" …\n---Real Data---\nUser Query: {QUESTION}\n\n---Output---\nOutput:'], say)
    assert json.loads(rival.text) == {"high_level_keywords": ["company", "supplied"], "low_level_keywords": ["Orrin Mill"]}
    assert edge.kind == rival.kind == "keywords"


def test_a_question_without_names_is_its_own_keyword():
    assert json.loads(answer(["Question: who is it"], say).text) == {"low": ["who is it"], "high": ["who is it"]}


def test_summaries_and_reports_are_told_from_each_other():
    part = Graph({"a": Entity("a", "Ann", "person", "x", ("d:0",), 1)}, {})
    assert answer([message.content for message in summary_prompt(part).messages], say).kind == "report"
    assert answer([message.content for message in description_prompt("Ann", ["leads"]).messages], say).kind == "summary"
    report = answer(["Write a comprehensive report of a community … <report_title> … -----Relationships-----\n1,A,B"], say)
    assert report.kind == "report"
    assert json.loads(report.text)["summary"] == "1,A,B"
    merged = answer(['Ann Name: x\n\nDescription List:\n\n```\n{"Description": "leads"}\n```\n\n---Output---\n'], say)
    assert (merged.kind, "leads" in merged.text) == ("summary", True)


def test_what_nobody_asks_gets_an_answer_all_the_same():
    assert answer(["Good day."], say).kind == "other"


@pytest.mark.parametrize("ask", [lightrag, nano, fast])
def test_marks_of_a_format_inside_a_text_do_not_end_a_field(ask):
    wild = Said([('A "B" (C)', "concept", "x <|#|> y ## z | (w)")], [])
    said = answer([ask("…")], lambda _: wild).text
    assert "A 'B' [C]" in said
    assert said.count("##") == said.count("(w)") == 0


def test_a_passage_may_hold_a_fence_of_its_own():
    seen: list[str] = []
    answer([lightrag("one\n```\ntwo")], lambda text: seen.append(text) or Said([], []))
    assert seen == ["one\n```\ntwo"]


def test_a_name_loses_the_stop_words_in_front_of_it():
    assert names("The Orrin Mill was sold by Ann") == ["Orrin Mill", "Ann"]
