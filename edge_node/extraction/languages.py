"""Which language a passage is in: by it a pack is chosen that finds the names, and what nobody reads is masked closed (goal P5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from edge_node.extraction.few_words import ENOUGH_WORDS, SURELY_ENGLISH, Usual, nowhere, said_in, without_heads, words_of
from shared.text.language import CHINESE, OTHER_SCRIPT, READ, WIDELY_WRITTEN, as_a_whole, by_script, language_of

PIECE_WORDS = 8  # a piece of fewer words is looked at together with the next one: few words say little
MOST_READ = 0.5  # share of a passage's characters from which on it is read as one in another language
_WORD = re.compile(r"[^\W\d_]+")
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
    others = (_most_of(texts, sure) or _whole("\n".join((title, *texts)))) if "" in sure else ""
    return [language or others for language in sure]


def reading_languages(texts: Sequence[str], usual: Usual = nowhere) -> list[str]:
    """The language that each passage of a document is best read in: the one of most of its characters.

    ``languages_of`` asks whether anything is foreign; here a quotation makes no passage foreign. What is too short to tell is in the
    language of most of the document; a document of nothing else is taken as a whole, and ``usual`` tips what its words leave open.

    >>> german = "Die Patientin Anna Schulz wurde am Montag von der Station aufgenommen und erhielt Insulin, bis ihre neue Pumpe kam."
    >>> english = f"The nurse wrote this down in the ward, and by noon all of it was done: {german[:20]}"
    >>> reading_languages([german, "Befund: Anna Schulz", english])
    ['de', 'de', 'en']
    """
    said = [without_heads(text) for text in texts]
    told = [_most_told(text) if len(words_of(text)) >= ENOUGH_WORDS else READ * _is_english(text) for text in said]
    sizes = Counter[str]()
    for text, language in zip(texts, told, strict=True):
        sizes[language] += len(text) if language else 0
    others = ""
    if "" in told:
        others = max(sizes, key=lambda language: (sizes[language], language)) if sizes.total() else said_in("\n".join(said), usual)
    return [by_script(language or others, text) for language, text in zip(told, texts, strict=True)]


def _whole(text: str) -> str:
    """The language of a document none of whose passages tells: it is looked at word by word where it does not look foreign."""
    found = as_a_whole(text)
    return said_in(without_heads(text), for_english=SURELY_ENGLISH) if found == READ else found


def _most_told(text: str) -> str:
    """The language of most of a text; "": it does not tell. An English sentence full of foreign names is English."""
    if _is_english(text):
        return READ
    sizes = Counter[str]()
    for piece in _pieces(text):
        sizes[language_of(piece)] += len(piece)
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


def _surely(text: str) -> str:
    """The language of a text, if it is sure: of its first piece that is not read, else ``READ`` where one is; "": none tells."""
    found = [language_of(piece) for piece in _pieces(text)]
    return next((language for language in found if language not in ("", READ)), READ if READ in found else "")


def _most_of(texts: Sequence[str], sure: Sequence[str]) -> str:
    """The language of the passages that are sure: ``READ`` where it has more than half of their characters; "": there are none."""
    sizes = Counter[str]()
    for text, language in zip(texts, sure, strict=True):
        sizes[language] += len(text) if language else 0
    if sizes[READ] * 2 > sizes.total():
        return READ
    return max((language for language in sizes if language not in ("", READ)), key=lambda language: (sizes[language], language), default="")


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
