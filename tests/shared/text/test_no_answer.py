"""Where there is no answer, it is said in the language of the question."""

import tomllib
from importlib.resources import files
from string import Template

import pytest

from edge_node.extraction.packs.table import PACKS
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.running_edge import running_edge, scripted

SENTENCES = tomllib.loads(files("shared.text").joinpath("no_answer.toml").read_text(encoding="utf-8"))
QUESTIONS = {
    "en": "Who painted the ceiling of the theatre?",
    "de": "Wer hat die Decke des Theaters gemalt?",
    "fr": "Qui a peint le plafond du théâtre ?",
    "es": "¿Quién pintó el techo del teatro?",
    "zh": "谁画了剧院的天花板？",
}


def test_each_language_that_a_pack_reads_has_all_sentences_with_the_same_values():
    assert SENTENCES.keys() == PACKS.keys() == QUESTIONS.keys()
    values = {language: {name: Template(said).get_identifiers() for name, said in of_it.items()} for language, of_it in SENTENCES.items()}
    assert all(
        {name: set(found) for name, found in of_it.items()} == {n: set(f) for n, f in values["en"].items()} for of_it in values.values()
    )


@pytest.mark.parametrize("language", QUESTIONS)
async def test_a_site_says_in_the_language_of_the_question_that_it_does_not_answer(tmp_path, language):
    async with running_edge(tmp_path, generator=scripted(REFUSAL)) as edge:
        await edge.add("report.md", WARD)
        answer = await edge.ask(QUESTIONS[language], mode="local")
    assert (answer["answer"], answer["answered"]) == (SENTENCES[language]["not_here"], False)


async def test_a_cloud_says_in_the_language_of_each_question_that_no_site_answers(tmp_path):
    members = {"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(tmp_path, cloud_answer=REFUSAL, edge_answers=members) as (edges, _, _):
        said = {language: (await edges["ward"].ask(question, mode="cloud"))["answer"] for language, question in QUESTIONS.items()}
    names = ("none_of_one", "none_of_many", "unsupported", "not_matched")
    assert {
        language: any(answer.startswith(SENTENCES[language][name].split("$")[0]) for name in names) for language, answer in said.items()
    } == dict.fromkeys(said, True)
    assert len(set(said.values())) == len(said)
