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
    ("question", "said"),
    [
        ("In welcher Station lag der Patient?", "auf Deutsch"),
        ("Qui a remplacé la pompe ?", "en français"),
        ("À quelle température conserve-t-on le vaccin ?", "en français"),
        ("Was fehlt dem Drucker?", "auf Deutsch"),
        ("¿Quién cambió la bomba?", "en español"),
        ("谁更换了输液泵？", "用中文"),
        ("Qual é a capital do Brasil?", "language of the question"),
        ("Kto wymienił pompę?", "language of the question"),
        ("Кто заменил насос?", "language of the question"),
    ],
)
def test_a_question_in_another_language_asks_for_an_answer_in_it_and_for_the_refusal_that_is_known(question, said):
    first, line = asked(question).splitlines()
    assert first == question
    assert said in line
    assert "Insufficient information" in line
