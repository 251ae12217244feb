"""The language of a piece of text, and of a question: one detector for sites and cloud."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

READ = "en"  # what spaCy's en_core_web_sm reads, and what few words, codes and tables count as
CHINESE = "zh"
GERMAN = "de"
NEARLY_READ = frozenset({READ, "pcm"})  # Nigerian Pidgin, for which English dates are taken
NO_LANGUAGE = "zxx"  # formulas, codes
OTHER_SCRIPT = "other"  # a script that the detector does not read; for what leaves it is of no matter which language
_NOT_LATIN = "am ar be bg bn el fa gu he hi hy ja ka kk km kn ko ky lo mk ml mn mr ne or pa ps ru si sr ta te th ug uk ur"
IN_OTHER_SCRIPTS = frozenset(_NOT_LATIN.split())
WIDELY_WRITTEN = frozenset("ca cs da de es et fi fr hr hu id it lt lv ms nb nl nn no pl pt ro sk sl sq sv sw tr vi".split())  # noqa: SIM905
FEW_WORDS = 8  # a piece of fewer words is in a widely written language only where English is far less likely
LEAST_SURE = 0.3  # probability of a language from which on a piece is in it; tables and codes stay below
LEAST_KIN = 0.1  # probability of a widely written language from which on a piece in a small relative of it, as Aragonese, counts as in it
LEAST_ODDS = 30.0  # of a widely written language against English, from which on few words are in it; English notes stay below
MOST_STRANGE = 0.3  # share of letters of other scripts; formulas stay below
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_NOT_CHINESE = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")  # kana and Hangul stand beside Han letters
_ENGLISH = re.compile(  # words that hardly any other language writes so: German has "was", Portuguese "do", French "on", Dutch "is"
    r"\b(?:the|which|what|who|whom|whose|when|where|why|how|does|did|and|with|from|this|that|there|these|those|their|tell|give|show|find|list"
    r"|compare|describe|explain|summari[sz]e)\b",
    re.IGNORECASE,
)


_ASKING = {  # words that a question begins with in that language alone
    GERMAN: r"welche[mnrs]?|wer|wem|wen|wessen|wann|wo|woher|wohin|wie|wieso|weshalb|warum|wofür|womit|wodurch|wieviele?",
    "fr": r"quel(?:le)?s?|quand|où|pourquoi|comment(?!\s+on\b)|combien|qu['’]est-ce|est-ce",
    "es": r"¿\s?\w{1,40}|qué|cuál(?:es)?|quién(?:es)?|cuándo|dónde|cómo|cuánt[ao]s?",
}
_BEGINS = {language: re.compile(rf"\A\W{{0,5}}?(?:{words})(?!\w)", re.IGNORECASE) for language, words in _ASKING.items()}


def language_of_question(question: str) -> str:
    """The language of a few words; English unless they are clearly in another one.

    >>> [language_of_question(text) for text in ("Was hat das Teleskop entdeckt?", "谁更换了泵？", "Who is María de la Cruz?", "P-7")]
    ['de', 'zh', 'en', 'en']
    >>> [language_of_question(text) for text in ("Welche Charge hat die Pumpe Velora 3?", "Quel lot a la pompe Velora 3 ?")]
    ['de', 'fr']
    """
    if _ENGLISH.search(question):
        return READ
    begun = next((language for language, words in _BEGINS.items() if words.match(question)), "")
    return begun or by_script(as_a_whole(question), question)


def language_of(piece: str) -> str:
    """The language of a piece; "": it does not tell. Short Spanish looks Aragonese, and short German Luxembourgish.

    >>> language_of("El doctor Yasmina Abascal se mudó a Zaragoza después de la inspección.")
    'es'
    """
    words = _WORD.findall(piece)
    letters = [letter for word in words for letter in word]
    if sum(not is_latin(letter) for letter in letters) > MOST_STRANGE * len(letters):
        return CHINESE if _is_chinese(piece) else OTHER_SCRIPT
    likely = _likely(piece)
    language = max(likely, key=likely.__getitem__)
    if likely[language] < LEAST_SURE or language == NO_LANGUAGE:
        return ""
    if language in NEARLY_READ:
        return READ
    is_strange, kin = _is_strange(likely), _likeliest_widely_written(likely)
    if is_strange and likely[kin] >= LEAST_KIN:
        language = kin
    return language if len(words) >= FEW_WORDS or is_strange else ""


def as_a_whole(text: str) -> str:
    """The language of a short text; English where no widely written language is far likelier."""
    found = language_of(text)
    likely = {} if found else _likely(text)
    return found or (_likeliest_widely_written(likely) if _is_strange(likely) else READ)


def by_script(language: str, text: str) -> str:
    """The language itself in the place of ``OTHER_SCRIPT``, where one that is written so is the most likely one.

    >>> by_script(OTHER_SCRIPT, "Пациент Иван Петров поступил в отделение в понедельник."), by_script("de", "Anna")
    ('ru', 'de')
    """
    if language != OTHER_SCRIPT:
        return language
    likely = _likely(text)
    best = max(likely, key=likely.__getitem__)
    return best if best in IN_OTHER_SCRIPTS else OTHER_SCRIPT


def _is_chinese(text: str) -> bool:
    """Whether its letters of another script are Han letters, and it is no Japanese or Korean."""
    return _HAN.search(text) is not None and _NOT_CHINESE.search(text) is None


def _likeliest_widely_written(likely: Mapping[str, float]) -> str:
    return max(sorted(WIDELY_WRITTEN & likely.keys()), key=likely.__getitem__, default=READ)


def _is_strange(likely: Mapping[str, float]) -> bool:
    return max((likely[language] for language in WIDELY_WRITTEN & likely.keys()), default=0.0) >= LEAST_ODDS * likely.get(READ, 1.0)


def likelihoods(text: str) -> dict[str, float]:
    """How likely English and each widely written language is."""
    likely = _likely(text)
    return {language: likely[language] for language in sorted(WIDELY_WRITTEN | {READ}) if language in likely}


def _likely(text: str) -> dict[str, float]:
    """The probability of each language."""
    return {str(language): float(probability) for language, probability in _identifier().rank(text)}


@cache
def is_latin(letter: str) -> bool:
    """Whether a letter is of the Latin script.

    >>> is_latin("ş"), is_latin("Ж"), is_latin("张")
    (True, False, False)
    """
    return letter.isascii() or unicodedata.name(letter, "").startswith(("LATIN", "FEMININE", "MASCULINE"))


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
