"""What a person is told where there is no answer, in the language of the question."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from string import Template
from typing import Literal

from shared.text.language import READ, language_of_question

Sentence = Literal["not_matched", "not_told", "none_of_one", "none_of_many", "unsupported", "passages_of", "not_here", "late", "waits"]


def no_answer(sentence: Sentence, question: str, **values: object) -> str:
    """A sentence in the language of a question; in English where nobody has written it in that language.

    >>> no_answer("not_here", "Wer hat die Brücke gebaut?"), no_answer("passages_of", "Кто построил мост?", number=2, site="ward")
    ('Die Dokumente dieses Standorts beantworten diese Frage nicht.', '2 of ward')
    """
    sentences = _sentences()
    return Template(sentences.get(language_of_question(question), sentences[READ])[sentence]).substitute(values)


@cache
def _sentences() -> dict[str, dict[str, str]]:
    return tomllib.loads(files(__package__).joinpath("no_answer.toml").read_text(encoding="utf-8"))
