"""Sentences, the words that carry meaning, and names: what citing, quoting and narrowing passages all need."""

from __future__ import annotations

import re
from itertools import pairwise

_ABBREVIATIONS = r"Dr Mr Mrs Ms St No vs e\.g i\.e Fig Prof Capt Lt Sgt Rev Mt pp cf [A-Z]"
_ABBREVIATION = "".join(rf"(?<!\b{word})" for word in _ABBREVIATIONS.split()) + r"(?<!\([a-z])"  # "(d. March 851)"
_GOES_ON = (
    r"(?!(?<=(?<![\w.'’/-])[bcd]\.)\s(?:\d{3,4}\b|\d\d?\s[A-Z]|[A-Z]\w+\s\d))"  # "c. 1850", "d. 5 May 1851"
    r"(?!(?<=(?<![\w.'’/-])p\.)\s\d)(?!(?<=\b[Vv]ol\.)\s\d)"  # "p. 7", "vol. 9"
    r"(?!(?<=\bet\sal\.)\s[(a-z])"  # "Kim et al. found", but "Kim et al. The next"
    r"(?!(?:(?<=\b[Mm]ax\.)|(?<=\b[Mm]in\.)|(?<=\b[Aa]pprox\.))\s[a-z\d(])"  # "Max. yield", "approx. 40"
    r"(?!(?<=\b[ap]\.m\.)\s[a-z])"  # "at 5 p.m. on Friday", but "at 5 p.m. They left."
)
_GERMAN = (  # "Nr.", "bzw.", "z. B.", "d.h."
    r"(?<!\b[Nn]r)(?<!\bbzw)(?<!\bca)(?<!\bvgl)(?<!\binkl)(?<!\bggf)(?<!\bevtl)(?<!\b[Ss]tr)(?<!\bAbs)"
    r"(?<!\b[zdu]\.\s[BhaÄ])(?<!\b[zdu]\.[Bha])(?<!\b[zdu](?=\.\s?[BhaÄ]\.))"
)
_MONTHS = "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
_ORDINAL = (  # "am 12. März", "der 2. Stock": no sentence ends behind a German day or rank
    rf"(?!(?:(?<=\b\d\.)|(?<=\b\d\d\.))\s(?:{_MONTHS})\b)"
    r"(?<!(?<!\bI\s)\b[ai]m\s\d\.)(?<!(?<!\bI\s)\b[ai]m\s\d\d\.)"  # but "I am 12. She is older."
    r"(?<!\b(?:vom|zum|der|des|dem|den)\s\d\.)(?<!\b(?:vom|zum|der|des|dem|den)\s\d\d\.)"
)
_SENTENCE_END = re.compile(
    rf"(?:(?:{_ABBREVIATION}{_GERMAN}\.{_GOES_ON}{_ORDINAL}|[!?](?![\"'”’)]*\s+[a-z(]))[\"'”’)]*(?=\s|$)|[。！？][”’」』）]*)\s*|\n+"
)
WORD = re.compile(r"\w+")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")  # Han letters and kana: no blanks stand between their words
_STOP_WORDS = frozenset(
    """
    a about after all also an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it
    its may more most must no not of on or our she should so some such than that the their them then there these they this those to was we
    were what when where which who why will with would you your yes answer passage passages according based question
    """.split()  # noqa: SIM905 - a list would be a page long
)
NUMBER_WORDS = frozenset(  # words of numbers, measures, money and times
    """
    ad afternoon am apr april aug august autumn bc bce billion ce cent centimeter century cm day dec decade december dollar dozen early
    eight eighteen eighth eighty eleven eur euro evening fall feb february fifteen fifth fifty first five foot forty four fourteen fourth
    friday gbp gram half hour hundred inch jan january jul july jun june kg kilogram kilometer km late liter litre mar march may meter
    metre mg mid mile millimeter million minute ml mm monday month morning night nine nineteen ninety ninth noon nov november oct october
    once one ounce percent percentage pm point pound quarter saturday second sep sept september seven seventeen seventh seventy six
    sixteen sixth sixty spring summer sunday ten tenth third thirteen thirty thousand three thursday today tomorrow trillion tuesday
    twelve twenty twice two usd wednesday week weekend winter year yen yesterday zero
    """.split()  # noqa: SIM905 - a list would be a page long
)
# "…, and which …?": a second question that could stand alone
_INTERROGATIVES = (
    r"which|what|who|whom|whose|when|where|why|how"
    r"|welche[rmns]?|was|wer|wem|wen|wessen|wann|wo|woher|wohin|warum|weshalb|wie|wieviele?"
    r"|quel(?:le)?s?|qui|quand|où|pourquoi|comment|combien"
    r"|cuál(?:es)?|qué|quién(?:es)?|cuándo|dónde|cómo|cuánt[oa]s?"
)
_PREPOSITIONS = (
    r"on|at|in|to|from|by|for|with|of|until|till|since|after|before|within|up to"
    r"|bis|seit|ab|von|mit|für|auf|an|bei|nach|vor|zu"
    r"|jusqu'à|depuis|de|à|pour|avec|hasta|desde|con|por|para|en"
)
_AUXILIARIES = r"do|does|did|is|are|was|were|has|have|can|may|must"  # they begin a question behind a comma only
_QUESTION_WORD = re.compile(rf"\b(?:{_INTERROGATIVES})\b", re.IGNORECASE)
_BEGINS_WITH_VERB = re.compile(rf"\W*(?:{_AUXILIARIES}|ist|sind|war|waren|hat|haben|kann|können|darf|muss|soll)\b", re.IGNORECASE)
_SECOND_QUESTION = re.compile(
    rf"(?:,|(?<![\s,]))\s++(?:and|und|sowie|et|y)\s++(?=(?:(?:{_PREPOSITIONS})\s+)?(?:{_INTERROGATIVES})\b)"
    rf"|,\s++and\s++(?=(?:{_AUXILIARIES})\b)",
    re.IGNORECASE,
)
_LISTED_QUESTION = re.compile(rf"{_SECOND_QUESTION.pattern}|,\s++(?=(?:{_INTERROGATIVES})\b)", re.IGNORECASE)
_AFTER_QUESTION = re.compile(r"(?<=[?？])\s++(?=\w)")

MOST_PARTS = 8  # of a question, each of which is searched for

_TOKEN = re.compile(r"\w[\w'’-]*|[^\w\s]")
_LINKS = frozenset({"of", "the", "and", "de", "van", "von", "la", "du", "al"})  # inside a name, at most MOST_LINKS in a row
MOST_LINKS = 2


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans that cover the text; each sentence ends behind its closing punctuation and the blanks that follow.

    >>> sentences("One. Two!")
    [(0, 5), (5, 9)]
    >>> len(sentences("Max. yield (m³/h): 110. It takes approx. 40 min. Then it stops."))
    3
    >>> [(start, end) for start, end in sentences("Am 12. März kam Nr. 7 zum 2. Mal. Sie ging.")]
    [(0, 34), (34, 43)]
    >>> len(sentences("I am 12. She is in the Museum of Art. It rains."))
    3
    >>> len(sentences("Ermengarde (d. 20 March 851), born c. 795, see p. 7, fled at 5 p.m. on Friday. Prof. Alder et al. agree."))
    2
    >>> len(sentences("Ludwig Elsbett, b. 8 November 1913 in Germany – d. March 28, 2003. He built engines."))
    2
    >>> sentences("泵坏了。换了！")
    [(0, 4), (4, 7)]
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return list(pairwise(sorted({0, *ends, len(text)})))


def spaced(text: str) -> str:
    """The text with all pairs of neighbouring letters in the place of what is written without blanks between words.

    >>> spaced("P-7输液泵 fails"), spaced("泵")
    ('P-7 输液 液泵  fails', ' 泵 ')
    """
    return text if text.isascii() else UNSPACED.sub(_pairs, text)


def _pairs(match: re.Match[str]) -> str:
    return f" {' '.join(map(''.join, pairwise(match[0]))) or match[0]} "


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, in lower case and without a plural s.

    >>> sorted(content_words("The pumps of Ward 3 were replaced."))
    ['3', 'pump', 'replaced', 'ward']
    """
    words = (word.casefold() for word in WORD.findall(spaced(text)))
    return frozenset(
        _singular(word) for word in words if word not in _STOP_WORDS and (len(word) > 1 or word.isdigit() or UNSPACED.match(word))
    )


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def questions_in(question: str) -> tuple[str, ...]:
    """The question itself, followed by its parts where it asks two or more things at once.

    A compound question lies between its parts in an embedding space, near the answer of none; each part is searched for too.
    Beyond ``MOST_PARTS`` the last one is the rest of the question: each part costs a search at every site that is asked.

    >>> questions_in("Which ward failed, and which lot caused it?")
    ('Which ward failed, and which lot caused it?', 'Which ward failed?', 'which lot caused it?')
    >>> questions_in("Was war die Ursache, und bis wann gilt es? Stimmt das?")[1:]
    ('Was war die Ursache?', 'bis wann gilt es?', 'Stimmt das?')
    >>> questions_in("For Aldham: how high were the losses, how many leaks were found, and what is its pressure?")[2:]
    ('For Aldham: how many leaks were found?', 'For Aldham: what is its pressure?')
    >>> questions_in("Which pressure does it need? Thanks."), len(questions_in("When I open the valve, what happens?"))
    (('Which pressure does it need? Thanks.',), 1)
    >>> len(questions_in("x, and who " * 300)) <= 1 + MOST_PARTS
    True
    >>> questions_in("Who leads research and development?")
    ('Who leads research and development?',)
    """
    subject, colon, asked = question.partition(": ")
    is_about = bool(colon) and not _QUESTION_WORD.search(subject)
    about = f"{subject}: " if is_about else ""
    parts = list[str]()
    for sentence in _AFTER_QUESTION.split(asked if is_about else question):
        if "?" in sentence or not parts:  # "Thanks." asks nothing
            parts += _clauses(sentence, MOST_PARTS - len(parts))
    if len(parts) == 1:
        return (question,)
    bare = (part.strip(" ,.?") for part in parts)
    return tuple(dict.fromkeys((question, *(f"{about}{part}?" for part in bare if part))))


def _clauses(sentence: str, most: int) -> list[str]:
    """The questions that one sentence asks, joined by "and"; behind a comma alone, where "and" joins the last one."""
    if most < 1:
        return []
    if not _SECOND_QUESTION.search(sentence):
        return [sentence]
    first, *rest = _LISTED_QUESTION.split(sentence, maxsplit=most - 1)
    if rest and not _asks(first):  # "In the ward, who leads it, and since when?"
        first, *rest = [f"{first}, {rest[0]}", *rest[1:]]
    return [first, *rest]


def _asks(text: str) -> bool:
    """Whether a text asks something by itself: it has a question word, or begins with a verb as "Is it" does."""
    return bool(_QUESTION_WORD.search(text) or _BEGINS_WITH_VERB.match(text))


def names_in(text: str) -> list[str]:
    """Runs of capitalised words, each once, without the small word that a sentence begins with. Scripts without capitals have none.

    >>> names_in("große Küche in São Paulo"), names_in("机器学习是什么")
    (['Küche', 'São Paulo'], [])

    >>> names_in("Who directed The Lord of the Rings, and where was Peter Jackson born?")
    ['The Lord of the Rings', 'Peter Jackson']
    """
    trimmed = [run[1:] if len(run) > 1 and not content_words(run[0]) and run[0] != "The" else run for run in _runs(text)]
    return list(dict.fromkeys(" ".join(run) for run in trimmed if content_words(" ".join(run))))


def _runs(text: str) -> list[list[str]]:
    runs: list[list[str]] = []
    run: list[str] = []
    links: list[str] = []
    for token in [*_TOKEN.findall(text), ""]:
        if token[:1].isupper():
            run += [*links, token]
            links = []
        elif run and token in _LINKS and len(links) < MOST_LINKS:
            links.append(token)
        else:
            runs += [run] if run else []
            run, links = [], []
    return runs
