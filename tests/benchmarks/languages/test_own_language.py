"""Each language of the benchmark asks the same about the same: what is compared may differ in the language alone."""

import json

import pytest

from benchmarks.languages.multilingual import DATA, LANGUAGES
from benchmarks.languages.own_language import PAIRS, documents
from shared.text.language import language_of_question


@pytest.mark.parametrize("language", [*LANGUAGES, "en"])
def test_a_language_has_forty_questions_ten_checks_and_prose(language):
    facts = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    held = documents(facts, language)
    assert len({fact[language]["question"] for fact in facts}) == 40
    assert sum(name.startswith("fact-") for name in held) == 40
    assert sum(name.startswith("prose-") for name in held) >= 18
    assert sorted(pair["fact"] for pair in pairs if pair["language"] == language) == list(range(10))
    taken = [language_of_question(fact[language]["question"]) for fact in facts]
    assert taken.count(language) >= 38
