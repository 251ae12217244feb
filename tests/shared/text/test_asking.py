"""In which language a question wants its answer."""

import pytest

from shared.text.asking import asked, is_foreign


@pytest.mark.parametrize(
    "question",
    [
        "Tell me about Des Moines hospital",
        "List incidents at Los Angeles",
        "Summarise El Paso recalls",
        "Compare von Willebrand results",
        "Who directed Das Boot?",
        "Insulin?",
        "",
    ],
)
def test_an_english_question_with_a_foreign_name_is_asked_as_it_is(question):
    assert not is_foreign(question)
    assert asked(question) == question


@pytest.mark.parametrize(
    "question",
    [
        "In welcher Station lag der Patient?",
        "Qui a remplacé la pompe ?",
        "À quelle température conserve-t-on le vaccin ?",
        "Was fehlt dem Drucker?",
        "Qual é a capital do Brasil?",
        "Kto wymienił pompę?",
        "¿Quién cambió la bomba?",
        "谁更换了输液泵？",
        "Кто заменил насос?",
    ],
)
def test_a_question_in_another_language_asks_for_an_answer_in_it(question):
    assert asked(question).splitlines()[0] == question
    assert "language of the question" in asked(question)
