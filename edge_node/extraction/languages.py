"""Which language a passage is in: by it a pack is chosen that finds the names, and what nobody reads is masked closed (goal P5)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

READ = "en"  # what spaCy's en_core_web_sm reads, and what few words, codes and tables count as
CHINESE = "zh"
NEARLY_READ = frozenset({READ, "pcm"})  # Nigerian Pidgin, for which English dates are taken
NO_LANGUAGE = "zxx"  # formulas, codes
OTHER_SCRIPT = "other"  # a script that the detector does not read; for what leaves it is of no matter which language
_WRITTEN_SO = "am ar be bg bn el fa gu he hi hy ja ka kk km kn ko ky lo mk ml mn mr ne or pa ps ru si sr ta te th ug uk ur"
IN_OTHER_SCRIPTS = frozenset(_WRITTEN_SO.split())
WIDELY_WRITTEN = frozenset("ca cs da de es et fi fr hr hu id it lt lv ms nb nl nn no pl pt ro sk sl sq sv sw tr vi".split())  # noqa: SIM905
PIECE_WORDS = 8  # a piece of fewer words is looked at together with the next one: few words say little
LEAST_SURE = 0.3  # probability of a language from which on a piece is in it; tables and codes stay below
LEAST_ODDS = 30.0  # of a widely written language against English, from which on few words are in it; English notes stay below
MOST_STRANGE = 0.3  # share of letters of other scripts; formulas stay below
MOST_READ = 0.5  # share of a passage's characters from which on it is read as one in another language
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_NOT_CHINESE = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")  # kana and Hangul stand beside Han letters
_ENGLISH = re.compile(r"\b(?:the|of|is|are|was|were|what|which|who|whom|whose|when|where|why|how|does|did|has|have|and)\b", re.IGNORECASE)
_ENGLISH_WORDS = frozenset({"and", "are", "by", "from", "his", "the", "which", "with"})  # that hardly any other language writes so
_MORE_ENGLISH = frozenset({"is", "of", "was"})
LEAST_ENGLISH = 0.07  # of a passage's words, from which on it is English with foreign names
_END = re.compile(r"[.!?。！？…|]+\s*|\n+")


def languages_of(title: str, texts: Sequence[str]) -> list[str]:
    """The language code of each passage of a document; ``READ`` only where no piece of the passage or the title is in another language.

    A passage that is too short to tell is in the language of the most of its document, and a document without any that tells is taken as
    a whole. Where that does not tell either, few words, names, codes and tables count as read, unless English is far less likely than
    another language. All is a function of the one document.

    >>> languages_of("", ["The pump was replaced by María García on Monday morning.", "Befund: Anna Schulz"])
    ['en', 'en']
    >>> languages_of("", ["Die Patientin Anna Schulz wurde am Montag von der Station aufgenommen.", "Befund: Anna Schulz"])
    ['de', 'de']
    """
    of_title = _surely(title)
    if of_title not in ("", READ):
        return [of_title] * len(texts)
    sure = [_surely(text) for text in texts]
    others = (_most_of(texts, sure) or _as_a_whole("\n".join((title, *texts)))) if "" in sure else ""
    return [language or others for language in sure]


def reading_languages(texts: Sequence[str]) -> list[str]:
    """The language that each passage of a document is best read in: the one of most of its characters.

    ``languages_of`` asks whether anything is foreign; here a quotation makes no passage foreign. What does not tell is in the language of
    most of the document.

    >>> german = "Die Patientin Anna Schulz wurde am Montag von der Station aufgenommen."
    >>> reading_languages([german, "Befund: Anna Schulz", f"The nurse wrote this down in the ward: {german[:20]}"])
    ['de', 'de', 'en']
    """
    told = [_most_told(text) for text in texts]
    sizes = Counter[str]()
    for text, language in zip(texts, told, strict=True):
        sizes[language] += len(text) if language else 0
    others = max(sizes, key=lambda language: (sizes[language], language), default="") if sizes.total() else _as_a_whole("\n".join(texts))
    return [_by_script(language or others, text) for language, text in zip(told, texts, strict=True)]


def _by_script(language: str, text: str) -> str:
    """The language itself in the place of ``OTHER_SCRIPT``, where one that is written so is the most likely one.

    >>> _by_script(OTHER_SCRIPT, "Пациент Иван Петров поступил в отделение в понедельник."), _by_script("de", "Anna")
    ('ru', 'de')
    """
    if language != OTHER_SCRIPT:
        return language
    likely = _likely(text)
    best = max(likely, key=likely.__getitem__)
    return best if best in IN_OTHER_SCRIPTS else OTHER_SCRIPT


def _most_told(text: str) -> str:
    """The language of most of a text; "": it does not tell. An English sentence full of foreign names is English."""
    if _is_english(text):
        return READ
    sizes = Counter[str]()
    for piece in _pieces(text):
        sizes[_language_of(piece)] += len(piece)
    del sizes[""]
    language = max(sorted(sizes), key=sizes.__getitem__, default="")
    is_known = language in WIDELY_WRITTEN or language in (CHINESE, OTHER_SCRIPT)
    return language if not language or (is_known and sizes[language] > MOST_READ * len(text)) else READ


def _is_english(text: str) -> bool:
    """Whether a text has so many of English's own small words as only English has.

    >>> [_is_english(text) for text in ("Kauf dir was is a film by Géza von Cziffra.", "Hier spielten The Band und andere.")]
    [True, False]
    """
    words = [word.lower() for word in _WORD.findall(text)]
    own = sum(word in _ENGLISH_WORDS for word in words)
    return own > 0 and own + sum(word in _MORE_ENGLISH for word in words) >= max(2, LEAST_ENGLISH * len(words))


def language_of_question(question: str) -> str:
    """The language of a few words; English unless they are clearly in another one.

    >>> [language_of_question(text) for text in ("Wer hat die Pumpe ersetzt?", "谁更换了泵？", "Who is María de la Cruz?", "P-7")]
    ['de', 'zh', 'en', 'en']
    """
    return READ if _ENGLISH.search(question) else _by_script(_as_a_whole(question), question)


def _surely(text: str) -> str:
    """The language of a text, if it is sure: of its first piece that is not read, else ``READ`` where one is; "": none tells."""
    found = [_language_of(piece) for piece in _pieces(text)]
    return next((language for language in found if language not in ("", READ)), READ if READ in found else "")


def _most_of(texts: Sequence[str], sure: Sequence[str]) -> str:
    """The language of the passages that are sure: ``READ`` where it has more than half of their characters; "": there are none."""
    sizes = Counter[str]()
    for text, language in zip(texts, sure, strict=True):
        sizes[language] += len(text) if language else 0
    if sizes[READ] * 2 > sizes.total():
        return READ
    return max((language for language in sizes if language not in ("", READ)), key=lambda language: (sizes[language], language), default="")


def _as_a_whole(text: str) -> str:
    found = _language_of(text)
    likely = {} if found else _likely(text)
    widely = max(sorted(WIDELY_WRITTEN & likely.keys()), key=likely.__getitem__, default=READ)
    return found or (widely if _is_strange(likely) else READ)


def _pieces(text: str) -> Iterator[str]:
    """The text in stretches of whole sentences, or cells of a table, of at least ``PIECE_WORDS`` words; the rest is with the last one."""
    start, last, words, before = 0, 0, 0, ""
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        words += len(_WORD.findall(text, last, end))
        last = end
        if words >= PIECE_WORDS:
            if before:
                yield before
            before, start, words = text[start:end], end, 0
    yield before + text[start:]


def _language_of(piece: str) -> str:
    """The language of a piece; "": it does not tell."""
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
    return language if len(words) >= PIECE_WORDS or _is_strange(likely) else ""


def _is_chinese(text: str) -> bool:
    """Whether its letters of another script are Han letters, and it is no Japanese or Korean."""
    return _HAN.search(text) is not None and _NOT_CHINESE.search(text) is None


def _is_strange(likely: Mapping[str, float]) -> bool:
    return max((likely[language] for language in WIDELY_WRITTEN & likely.keys()), default=0.0) >= LEAST_ODDS * likely.get(READ, 1.0)


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
